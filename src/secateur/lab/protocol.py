"""The paper's class-probability protocol: data sets, splits, procedures, tolerances, and the run of an arm.

Splits s = 0..29 are ``train_test_split(X, y, test_size=0.3, stratify=y, random_state=s)``; the paper's own are not
published, so agreement is statistical. Means go first over splits, then equally over data sets. Splits run in parallel;
a finished one is a file of its own, written whole or not at all, which is used again.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.datasets import Dataset, load
from secateur.errors import FormatError, InputError, SecateurError
from secateur.lab.adapters.iai import read_iai
from secateur.lab.local_search import LocalSearchTreeClassifier
from secateur.methods.contract import MethodName
from secateur.rows.file_bytes import read_whole
from secateur.rows.whole_files import write_whole
from secateur.tree.json import FORMAT, tree_from_dict
from secateur.tree.shares import none_if_nan
from secateur.tree.tree import Tree

DATASETS = ("adult", "backache", "cancer", "EEG", "german", "heart-h", "ionosphere", "spambase")
METHODS: tuple[MethodName, ...] = ("M1-P", "M2-P", "Quinlan", "Izza")
GRID = (0.0, 0.01, 0.03, 0.05, 0.1, 0.2)
N_SPLITS = 30
MAX_DEPTH = 6
MOST_RESTARTS = 50  # of the stand-in's local search
RESTARTS = {"adult": 10}
PACKAGE = Path(str(files("secateur")))
# Rooms, and files here, that show results and do not make them: a split stays finished when they change.
SHOWING = {"cli", "export", "report", "verify"}
TOLD = {"exhibits", "pages", "statistics", "summary"}

# The tolerances that the paper's M1-P numbers correspond to; it picked one a data set by the grid (see summary.py).
TOLERANCES = dict(zip(DATASETS, (0.01, 0.05, 0.2, 0.0, 0.01, 0.1, 0.1, 0.2), strict=True))

# Column of the paper's tables -> metric of an Audit.
METRICS = {
    column: column.rpartition("_")[0]
    for column in (
        *("rule_irc_pct", "irc_per_rule_pct", "delta_accuracy_pp", "conflict_pct"),
        *("abs_delta_p0_pp", "abs_delta_r0_pp", "abs_delta_p1_pp", "abs_delta_r1_pp", "macro_dev_pp"),
        *("removed_pct", "assimilated_pct"),
    )
}


@dataclass(frozen=True)
class Arm:
    """A source of trees."""

    name: str  # "cart", "optimal" or, for trees from files, "saved"
    learner: str  # what our trees are called in tables
    beside: str  # the paper's learner whose columns they are compared with
    title: str  # what the trees are, in words
    trees_dir: Path | None = None  # saved trees, <data set>/<split>.json, to use instead of fitting

    def describe(self, dataset: str, split: int) -> dict[str, Any]:
        """List what a stored split must have in common with a new one to be reused."""
        described: dict[str, Any] = {
            "arm": self.name,
            "secateur": secateur.__version__,
            "sources": digest_sources(),
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
        }
        if self.trees_dir is not None:
            described["tree"] = hashlib.sha256(self._path(dataset, split).read_bytes()).hexdigest()
        return described

    def fit(self, data: Dataset, split: int, X: Any, y: Any) -> Any:
        """Fit a tree to one split of a data set, or read the saved one."""
        model = self.unfitted(data, split)
        return _read_saved(self._path(data.name, split), data) if model is None else model.fit(X, y)

    def unfitted(self, data: Dataset, split: int) -> Any:
        """Make the estimator for a split of a data set; None where trees are saved ones."""
        if self.trees_dir is not None:
            return None
        if self.name == "cart":
            return DecisionTreeClassifier(max_depth=MAX_DEPTH, random_state=split)
        restarts = RESTARTS.get(data.name, MOST_RESTARTS)
        return LocalSearchTreeClassifier(max_depth=MAX_DEPTH, n_restarts=restarts, random_state=split)

    def _path(self, dataset: str, split: int) -> Path:
        path = Path(self.trees_dir or ".") / dataset / f"{split}.json"
        if not path.is_file():
            raise InputError(f"Expected a saved tree at {path}, one file for each split (0.json, 1.json, …).")
        return path


@cache
def digest_sources(package: Path = PACKAGE) -> str:
    """Digest every source file that decides a result: all rooms but those that word, write and show."""
    found = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        where = path.relative_to(package)
        is_told = where.parts[0] == "lab" and where.stem in TOLD
        if where.parts[0] not in SHOWING and not is_told:
            found.update(where.as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


ARMS = {
    "cart": Arm("cart", "CART", "CART", "CART trees of depth 6"),
    "optimal": Arm("optimal", "stand-in", "IAI", "a stand-in for the paper's IAI trees: our own local search, depth 6"),
}


def find_arm(name: str, trees_dir: str | None = None) -> Arm:
    """Find an arm by its name; with a directory, its trees are read instead of fitted."""
    if trees_dir is None:
        return ARMS[name]
    return Arm("saved", "saved trees", "IAI", f"saved trees from {trees_dir}", Path(trees_dir))


def _read_saved(path: Path, data: Dataset) -> Tree:
    """Read a saved tree that fits the data set, without its counts, which the training rows give anew."""
    try:
        tree = _read_tree_file(path)
    except SecateurError as error:
        raise InputError(f"{path}: {error}") from error
    names = tree.feature_names
    if tree.n_features != len(data.feature_names) or (names is not None and names != data.feature_names):
        raise InputError(f"{path} tests other columns than {data.name} has, or has them in another order.")
    if set(tree.classes.tolist()) != {0, 1}:
        raise InputError(f"{path} predicts {tree.classes.tolist()}, but the classes of {data.name} are coded 0 and 1.")
    return replace(tree, counts=None)


def _read_tree_file(path: Path) -> Tree:
    """Read a tree saved as JSON, by secateur or by Interpretable AI, told apart by what is inside."""
    try:
        content = json.loads(read_whole(path))
    except (RecursionError, ValueError) as error:
        raise FormatError(f"{path} cannot be read as JSON: {error}.") from error
    if isinstance(content, dict) and content.get("format") == FORMAT:
        return tree_from_dict(content)
    return read_iai(content)


def split_rows(data: Dataset, split: int) -> tuple[Any, Any, Any, Any]:
    """Split the rows of a data set into training rows, test rows, training labels and test labels."""
    return tuple(train_test_split(data.X, data.y, test_size=0.3, stratify=data.y, random_state=split))


def run_split(arm: Arm, data: Dataset, split: int) -> dict[str, Any]:
    """Fit one tree and measure all procedures on it; M1-P once for each tolerance of the grid."""
    X_train, X_test, y_train, y_test = split_rows(data, split)
    model = arm.fit(data, split, X_train, y_train)
    rows = []
    for method in METHODS:
        for tolerance in GRID if method == "M1-P" else (None,):
            settings: dict[str, Any] = {} if tolerance is None else {"tolerance": tolerance}
            rules = secateur.simplify(model, X_train, y_train, method=method, each_leaf=True, **settings)
            rows.append({"method": method, "tolerance": tolerance, **measure_rules(rules, X_test, y_test)})
    return {"n_rules": len(rules), "rows": rows}


def measure_rules(rules: secateur.Rules, X: Any, y: Any) -> dict[str, float | None]:
    """Measure the columns of the paper's tables; None where one is undefined."""
    audit = rules.audit(X, y)
    return {column: none_if_nan(getattr(audit, metric)) for column, metric in METRICS.items()}


@dataclass(frozen=True)
class Study:
    """What is measured on each split."""

    name: str  # directory of its finished splits
    measure: Callable[[Arm, Dataset, int], dict[str, Any]]  # of an arm, a data set and a split; gives "rows"
    settings: Mapping[str, Any] = field(default_factory=dict)  # which finished splits must share to be reused
    load: Callable[[str, str | None], Dataset] = load


PAPER = Study("splits", run_split)


def run_arm(
    arm: Arm,
    datasets: Sequence[str],
    n_splits: int,
    output: Path,
    *,
    n_jobs: int,
    data_dir: str | None,
    progress: Callable[[str], None],
    study: Study = PAPER,
    left_out: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Run all splits of an arm in a study; data sets that cannot be loaded go to ``left_out``, with why, if given."""
    results = []
    todo: list[tuple[Dataset, int]] = []
    for name in datasets:
        missing = []
        for split in range(n_splits):
            found = load_split(output, study, arm, name, split)
            if found is None:
                missing.append(split)
            else:
                results.append(found)
                progress(name)
        try:
            data = study.load(name, data_dir) if missing else None
        except InputError as error:
            if left_out is None:
                raise
            left_out[name] = str(error)
        else:
            todo += [(data, split) for split in missing if data is not None]
    run = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for result in run(delayed(_run_and_save)(study, arm, data, split, output) for data, split in todo):
        results.append(result)
        progress(result["dataset"])
    return sorted(results, key=lambda result: (datasets.index(result["dataset"]), result["split"]))


def _run_and_save(study: Study, arm: Arm, data: Dataset, split: int, output: Path) -> dict[str, Any]:
    return save_split(output, study, arm, data.name, split, study.measure(arm, data, split))


def load_split(output: Path, study: Study, arm: Arm, dataset: str, split: int) -> dict[str, Any] | None:
    """Load a finished split of the same study, arm, versions and sources; None if it must be run."""
    try:
        found = json.loads(_path(output, study, arm, dataset, split).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    wanted = _describe(study, arm, dataset, split)
    return found if isinstance(found, dict) and "rows" in found and wanted.items() <= found.items() else None


def save_split(
    output: Path, study: Study, arm: Arm, dataset: str, split: int, measured: dict[str, Any]
) -> dict[str, Any]:
    """Store a finished split; return what was stored."""
    result = {**_describe(study, arm, dataset, split), **measured}
    write_whole(_path(output, study, arm, dataset, split), json.dumps(result))
    return result


def _describe(study: Study, arm: Arm, dataset: str, split: int) -> dict[str, Any]:
    return {**arm.describe(dataset, split), **study.settings, "dataset": dataset, "split": split}


def _path(output: Path, study: Study, arm: Arm, dataset: str, split: int) -> Path:
    return output / study.name / arm.name / dataset / f"{split:02d}.json"
