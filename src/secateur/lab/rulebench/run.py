"""Run methods on trees, and learners on rows, over data sets and splits; measure each on the rows left out.

A method is a function of a fitted tree and its training rows, a learner one of the rows alone. What either gives is
:class:`~secateur.Rules`, measured by an audit, or any object with ``predict`` and ``lines``. Splits s = 0, 1, … are
stratified and drawn with ``random_state=s``; every method sees the same trees and rows. A method that raises is a row
of the results, too, with what it said.

Conditions are counted as they read: bounds on one column of one line are one, headings of sections are counted once.
``removed`` alone counts edges of the tree, as the paper does.
"""

from __future__ import annotations

import hashlib
import inspect
import platform
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial, singledispatch
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.datasets import Dataset
from secateur.errors import InputError, ParameterError, did_you_mean
from secateur.lab.lists import count_checks
from secateur.lab.protocol import PACKAGE, Arm, Study, run_arm
from secateur.lab.pruning import prune_until
from secateur.lab.rulebench.data import SOURCES, load_bench
from secateur.lab.rulebench.trees import KINDS, NO_TREE
from secateur.results.statistics import score_shares
from secateur.tree.shares import none_if_nan

if TYPE_CHECKING:
    from secateur.lab.rulebench.results import Results

N_SPLITS = 10
MOST_TRAINING, MOST_TEST = 1600, 1600  # rows, so that unpruned trees of large tables stay readable at all
CHECKED_ROWS = 500  # of the rows left out, for what a person looks at
SOME_SPLITS = 3  # the first ones, on which stability and what a person looks at are measured
BINS = 10  # of probabilities, for the calibration error
NONE = "merging bounds"
PRUNED = "pruned, leaf by leaf"
TOLERANCE = 0.05  # of M1-P and faithful
# Name in tables -> what simplify is asked for.
OURS: dict[str, dict[str, Any]] = {
    NONE: {"method": "none", "each_leaf": True},
    "sibling (M2-P)": {"method": "sibling", "each_leaf": True},
    "redundancy (Izza)": {"method": "redundancy", "each_leaf": True},
    "exact": {"method": "exact", "each_leaf": True},
    "faithful": {"method": "faithful", "each_leaf": True, "tolerance": TOLERANCE},
    "mismatch (M1-P)": {"method": "mismatch", "each_leaf": True, "tolerance": TOLERANCE},
    "budgeted": {"method": "budgeted", "each_leaf": True},
    "quinlan": {"method": "quinlan", "each_leaf": True},
    "list": {},
    "list, budget 1 %": {"budget": 0.01},
    "list, classes only": {"tolerance": 1},
    "list, classes only, 1 section": {"tolerance": 1, "sections": 1},
}
AUDITED = ("removed", "conflict", "macro_dev", "off", "mean_abs_delta_p", "max_abs_delta_p")

Method = Callable[..., Any]


def bench(
    methods: Mapping[str, Method] | None = None,
    *,
    datasets: Sequence[str | Dataset] | None = None,
    trees: Sequence[str] = ("cart-6",),
    splits: int = N_SPLITS,
    output: str | Path | None = None,
    data_dir: str | Path | None = None,
    n_jobs: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Results:
    """Run methods on the data sets and trees of RuleBench.

    Parameters
    ----------
    methods : dict of str to callable, default=None
        Functions by name. One of three arguments gets a fitted tree, its training rows and their labels; one of two the
        rows and labels alone. It returns :class:`~secateur.Rules`, or an object with ``predict(X)`` and ``lines``, a
        sequence of lines, each a sequence of conditions; tuples that begin with the same column count as one
        condition, as ``2 < x ≤ 3`` does in secateur's rules. Where it has ``predict_proba``, too, its probabilities
        are scored. By default all of secateur's.
    datasets : sequence of str or Dataset, default=None
        Names of RuleBench's data sets, or data sets of your own; by default all 80.
    trees : sequence of str, default=("cart-6",)
        Kinds of trees: cart-4, cart-6, cart-unpruned, cart-pruned, streed, contree. Learners need none.
    splits : int, default=10
        Number of splits of each data set.
    output : str or Path, default=None
        Directory in which finished splits are kept and found again; by default none are.
    data_dir : str or Path, default=None
        Directory of the published files and of the wheel of KEEL's data sets; what is not there is downloaded.
    n_jobs : int, default=1
        Number of processes.
    progress : callable, default=None
        Called with the name of the data set after each split.

    Returns
    -------
    Results
        What was measured, and comparisons with what is stored of others on the same splits.

    Examples
    --------
    >>> import secateur
    >>> from secateur.lab import bench
    >>> def mine(tree, X, y):
    ...     return secateur.simplify(tree, X, y, method="mismatch", each_leaf=True, tolerance=0.1)
    >>> found = bench({"mine": mine}, datasets=["iris"], splits=2)
    >>> [row["conditions"] <= row["edges"] for row in found.rows]
    [True, True]
    """
    if isinstance(datasets, str) or isinstance(trees, str) or not isinstance(methods, Mapping | None):
        raise ParameterError("Expected methods as a dict of names and functions, and lists of data sets and trees.")
    chosen = _list_methods() if methods is None else dict(methods)
    own = {data.name: _code(data) for data in datasets or () if isinstance(data, Dataset)}
    names = [data.name if isinstance(data, Dataset) else data for data in (SOURCES if datasets is None else datasets)]
    _reject_unknown(names, {**SOURCES, **own}, "data set")
    _reject_unknown(trees, {name: kind for name, kind in KINDS.items() if name != NO_TREE}, "kind of tree")
    on_trees = {name: method for name, method in chosen.items() if _needs_tree(name, method)}
    learners = {name: method for name, method in chosen.items() if name not in on_trees}
    runs = [(KINDS[tree], on_trees) for tree in trees if on_trees] + ([(KINDS[NO_TREE], learners)] if learners else [])
    results: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        for kind, given in runs:
            results += run_arm(
                *(kind, names, splits, Path(place if output is None else output)),
                n_jobs=n_jobs,
                data_dir=None if data_dir is None else str(data_dir),
                progress=progress or (lambda name: None),
                study=make_study(given, own),
                left_out=left_out,
            )
    if left_out and not results:
        raise InputError(next(iter(left_out.values())))
    from secateur.lab.rulebench.results import Results

    return replace(Results.gather(results), left_out=left_out)


def make_study(methods: Mapping[str, Method], own: Mapping[str, Dataset] | None = None) -> Study:
    """Make the study that measures methods; finished splits are reused for the same ones."""
    digests = {name: _digest(method) for name, method in methods.items()}
    tables = {name: hashlib.sha256(one.X.tobytes() + one.y.tobytes()).hexdigest() for name, one in (own or {}).items()}
    settings = {"methods": digests, "own": tables}
    return Study("rulebench", partial(measure_split, methods=methods), settings, partial(_load, own=dict(own or {})))


def _code(data: Dataset) -> Dataset:
    """Code the classes of a data set 0, 1, … in sorted order."""
    return replace(data, y=np.unique(data.y, return_inverse=True)[1])


def _load(name: str, data_dir: str | None, *, own: Mapping[str, Dataset]) -> Dataset:
    return own[name] if name in own else load_bench(name, data_dir)


def _list_methods() -> dict[str, Method]:
    found: dict[str, Method] = {name: partial(_simplify, settings=settings) for name, settings in OURS.items()}
    return {**found, PRUNED: prune_to_list}


def _simplify(tree: Any, X: Any, y: Any, *, settings: Mapping[str, Any]) -> secateur.Rules:
    return secateur.simplify(tree, X, y, **settings)


def prune_to_list(tree: Any, X: Any, y: Any) -> secateur.Rules | None:
    """Prune a tree of scikit-learn until its rules read no longer than the list; None for other trees."""
    if not isinstance(tree, DecisionTreeClassifier):
        return None
    most = secateur.simplify(tree, X, y).n_conditions
    return _read(prune_until(tree, X, y, lambda pruned: _read(pruned, X, y).n_conditions, most), X, y)


def _read(tree: Any, X: Any, y: Any) -> secateur.Rules:
    return secateur.simplify(tree, X, y, method="none", each_leaf=True)


def _reject_unknown(names: Sequence[str], known: Mapping[str, Any], what: str) -> None:
    strange = next((name for name in names if name not in known), None)
    if not names:
        raise ParameterError(f"Expected at least one {what}, found none.")
    if strange is not None:
        raise ParameterError(f"There is no {what} {strange!r} in RuleBench.{did_you_mean(str(strange), tuple(known))}")


def _needs_tree(name: str, method: Method) -> bool:
    wanted = [
        one
        for one in inspect.signature(method).parameters.values()
        if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    if len(wanted) not in (2, 3):
        raise ParameterError(
            f"Expected {name!r} to be a function of (tree, X, y) or of (X, y), found {len(wanted)} parameters."
        )
    return len(wanted) == 3


def _digest(method: Method) -> str:
    """Digest the file of a method, so that a changed one is run again: it may call what stands beside it."""
    plain = method.func if isinstance(method, partial) else method
    try:
        text = Path(inspect.getsourcefile(plain) or "").read_text(encoding="utf-8") + inspect.getsource(plain)
    except (OSError, TypeError):
        text = repr(plain)
    return hashlib.sha256((text + repr(getattr(method, "keywords", ""))).encode()).hexdigest()[:16]


@cache
def find_commit() -> dict[str, str]:
    """Name the commit of the sources, where they are a checkout."""
    if not (PACKAGE.parents[1] / ".git").exists() or which("git") is None:
        return {}
    asked = ["git", "-C", str(PACKAGE), "rev-parse", "--short=12", "HEAD"]
    return {"commit": subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()}


def split_rows(data: Dataset, split: int) -> tuple[Any, Any, Any, Any]:
    """Split rows 70 to 30, large tables into as many as are allowed."""
    n_training = min(int(0.7 * len(data.y)), MOST_TRAINING)
    n_test = min(len(data.y) - n_training, MOST_TEST)
    return tuple(
        train_test_split(data.X, data.y, train_size=n_training, test_size=n_test, stratify=data.y, random_state=split)
    )


def measure_split(arm: Arm, data: Dataset, split: int, *, methods: Mapping[str, Method]) -> dict[str, Any]:
    """Fit one tree and measure all methods on it; what fails is told."""
    X, X_new, y, y_new = split_rows(data, split)
    drawn = np.random.default_rng(split).integers(0, len(y), len(y))
    found: dict[str, Any] = {"python": platform.python_version(), **find_commit(), "n_rules": 0, "rows": []}
    try:
        model = arm.fit(data, split, X, y)
    except RuntimeError as error:
        return {**found, "rows": [{"method": name, "failed": str(error)} for name in methods]}
    source, of_tree = None, {}
    if model is not None:
        source = _read(model, X, y)
        scored = _score(source.predict(X_new), source.predict_proba(X_new), y_new)
        of_tree = {"leaves": len(source), "edges": source.n_edges, "tree_conditions": source.tree_conditions}
        of_tree |= {f"tree_{name}": value for name, value in scored.items()}
        found |= {"n_rules": len(source)}
    for name, method in methods.items():
        row: dict[str, Any] = {"method": name, "failed": None}
        began = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                text = method(X, y) if model is None else method(model, X, y)
                row["seconds"] = time.process_time() - began
                if text is None and name == PRUNED:  # it prunes trees of scikit-learn alone
                    continue
                row |= of_tree | _measure(text, source, X_new, y_new)
                if "columns" in row and split < SOME_SPLITS:  # of rules of ours
                    row["checks"] = count_checks(text, X_new[:CHECKED_ROWS])
                    if name != PRUNED and model is not None:
                        row["unchanged"] = _count_unchanged(text, method(model, X[drawn], y[drawn]))
        except Exception as error:  # a method of somebody else may raise anything; the run goes on and tells
            row["failed"] = f"{type(error).__name__}: {error}"[:200]
        found["rows"].append(row)
    return found


def _measure(text: Any, source: secateur.Rules | None, X: Any, y: Any) -> dict[str, Any]:
    """Measure what a method gave on the rows left out, beside the tree where there is one."""
    measured: dict[str, Any] = _count_read(text)
    if source is not None and "columns" in measured and text.tree.n_nodes == source.tree.n_nodes:  # not a pruned tree's
        audit = text.audit(X, y)
        measured |= {name: none_if_nan(getattr(audit, name)) for name in AUDITED}
    answers = np.asarray(text.predict(X))
    if answers.shape != y.shape or answers.dtype.kind not in "biuf":
        found = f"{answers.dtype} of shape {answers.shape}"
        raise InputError(f"Expected predict to give a class of those in y for each of {len(y)} rows, found {found}.")
    measured |= _score(answers, text.predict_proba(X) if hasattr(text, "predict_proba") else None, y)
    if source is not None:
        measured["agreement"] = 100 * float(np.mean(answers == source.predict(X)))
    return measured


@singledispatch
def _count_read(text: Any) -> dict[str, int]:
    """Count lines, and conditions as they read: tuples on one column, their first item, are one condition."""
    lines = getattr(text, "lines", None)
    if not isinstance(lines, Sequence) or any(isinstance(one, str) or not isinstance(one, Sequence) for one in lines):
        what = "none" if lines is None else f"{type(lines).__name__} {str(lines)[:40]!r}"
        raise InputError(f"Expected `lines` as a list of lines, each a list of conditions, found {what}.")
    read = [{one[0] if isinstance(one, tuple) and one else (at,) for at, one in enumerate(line)} for line in lines]
    return {"conditions": sum(map(len, read)), "lines": len(lines)}


@_count_read.register
def _(text: secateur.Rules) -> dict[str, int]:
    asked = np.unique(np.concatenate([np.array(line.kept_ids, dtype=np.int64) for line in text.lines]))
    columns = len(np.unique(text.tree.feature[text.paths.parent[asked]]))
    return {"conditions": text.n_conditions, "lines": text.n_lines, "columns": columns}


def _score(answers: NDArray[Any], shares: Any, y: NDArray[Any]) -> dict[str, Any]:
    """Score answers and probabilities: accuracy in percent, AUC, Brier score and calibration error from 0 to 1."""
    scored: dict[str, Any] = {"accuracy": 100 * float(np.mean(answers == y))}
    if shares is None:
        return scored
    shares = np.asarray(shares, dtype=np.float64)
    shares = shares / shares.sum(axis=1, keepdims=True)
    top, right = shares.max(axis=1), shares.argmax(axis=1) == y
    gaps = np.bincount(np.minimum((top * BINS).astype(int), BINS - 1), weights=top - right, minlength=BINS)
    found = score_shares(shares, np.eye(shares.shape[1])[y])
    scored |= {"auc": none_if_nan(found.auc), "brier": found.brier}
    return {**scored, "calibration": float(np.abs(gaps).sum() / len(y))}


def _count_unchanged(rules: secateur.Rules, again: secateur.Rules) -> float:
    """Percentage of lines that read the same, with the same class, when the rows are drawn anew and the tree stays."""
    if not rules.is_list:
        pairs = zip(rules.lines, again.lines, strict=True)
        return 100 * float(np.mean([one.kept_ids == other.kept_ids or one.text == other.text for one, other in pairs]))
    mine, kept = ({(own.kept_ids, own.class_id, own.is_otherwise): own for own in one.lines} for one in (rules, again))
    texts = {line.text for key, line in kept.items() if key not in mine}  # other edges may read the same
    return 100 * float(np.mean([key in kept or line.text in texts for key, line in mine.items()]))
