"""Trees that are proved optimal, full and sparse: what the paper's procedures delete from them.

The abstract says that irrelevant conditions persist even in modern optimal sparse tree induction. Two free solvers fit
trees of depth 4 and prove that none of theirs is better: STreeD tests columns at five quantiles, ConTree anywhere. A
full tree pays nothing for a split. Of a sparse one, the price is the one of :data:`COSTS` whose tree is most accurate
on 30 % of the training rows, which are left out for that; the tree is then fitted to all of them.
"""

import warnings
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from statistics import fmean
from typing import Any

from sklearn.model_selection import train_test_split

import secateur
from secateur.datasets import Dataset
from secateur.errors import ParameterError
from secateur.lab.pages import Page
from secateur.lab.protocol import METHODS, TOLERANCES, Arm, Study, measure_rules, split_rows

MAX_DEPTH = 4
COSTS = (0.02, 0.01, 0.005)  # of a split, as a share of the rows; of equally accurate trees the sparsest is taken
N_THRESHOLDS = 5  # of a column, for STreeD
TIME_LIMIT = 900.0  # seconds of one fit; a tree without proof is left out
KINDS = ("full", "sparse")
SOLVERS = {
    "streed": Arm("streed", "STreeD", "IAI", f"trees of depth {MAX_DEPTH} that STreeD proved optimal"),
    "contree": Arm("contree", "ConTree", "IAI", f"trees of depth {MAX_DEPTH} that ConTree proved optimal"),
}


def require_solver(name: str) -> None:
    """Raise if the package of a solver is not installed."""
    if find_spec(f"py{name}") is None:
        raise ParameterError(f"{SOLVERS[name].learner} is not installed: pip install py{name}.")


def measure_sparse(arm: Arm, data: Dataset, split: int) -> dict[str, Any]:
    """Fit a full and a sparse tree to one split and measure all procedures on both; M1-P at the ε of the tables."""
    X_train, X_test, y_train, y_test = split_rows(data, split)
    rows = []
    for kind in KINDS:
        cost = 0.0 if kind == "full" else pick_cost(arm.name, X_train, y_train, split)
        model, is_proved = fit_proved(arm.name, cost, X_train, y_train)
        tree = secateur.from_model(model)
        named = {"tree": kind, "cost": cost, "leaves": tree.n_leaves, "proved": is_proved}
        for method in METHODS:
            settings: dict[str, Any] = {"tolerance": TOLERANCES[data.name]} if method == "M1-P" else {}
            rules = secateur.simplify(tree, X_train, y_train, method=method, each_leaf=True, **settings)
            rows.append({**named, "method": method, **measure_rules(rules, X_test, y_test)})
    return {f"py{arm.name}": version(f"py{arm.name}"), "n_rules": len(rules), "rows": rows}


SPARSE = Study("sparse", measure_sparse)


def pick_cost(solver: str, X: Any, y: Any, split: int, depth: int = MAX_DEPTH, time_limit: float = TIME_LIMIT) -> float:
    """Pick the price of a split by rows that are left out."""
    X_some, X_left, y_some, y_left = train_test_split(X, y, test_size=0.3, stratify=y, random_state=split)
    score = {}
    for cost in COSTS:
        model, _ = fit_proved(solver, cost, X_some, y_some, depth, time_limit)
        score[cost] = (model.predict(X_left) == y_left).mean()
    return max(COSTS, key=lambda cost: score[cost])


def fit_proved(
    solver: str, cost: float, X: Any, y: Any, depth: int = MAX_DEPTH, time_limit: float = TIME_LIMIT
) -> tuple[Any, bool]:
    """Fit a tree; tell whether it was proved optimal within the time limit, in seconds."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if solver == "contree":
            from pycontree import ConTree

            model = ConTree(max_depth=depth, complexity_cost=cost, time_limit=time_limit).fit(X, y)
            return model, not any("time limit" in str(one.message) for one in told)
        from pystreed import STreeDClassifier

        task = "cost-complex-accuracy" if cost else "accuracy"
        settings = {"max_depth": depth, "n_thresholds": N_THRESHOLDS, "time_limit": time_limit}
        model = STreeDClassifier(task, cost_complexity=cost, **settings).fit(X, y)
        return model, bool(model.fit_result.is_optimal())


def list_values(splits: Sequence[dict[str, Any]], kind: str, method: str, column: str) -> dict[str, list[float]]:
    """List a number of every split by data set, of trees that were proved optimal."""
    found: dict[str, list[float]] = {}
    for split in splits:
        for row in split["rows"]:
            if (row["tree"], row["method"], row["proved"]) == (kind, method, True):
                found.setdefault(split["dataset"], []).append(row[column])
    return found


def sparse_page(arm: Arm, splits: Sequence[dict[str, Any]]) -> Page:
    """Show what each procedure deletes from full and from sparse trees, by data set and as a mean."""
    rows = []
    for kind in KINDS:
        leaves = list_values(splits, kind, METHODS[0], "leaves")
        removed = {method: list_values(splits, kind, method, "removed_pct") for method in METHODS}
        for dataset, values in leaves.items():
            numbers = (f"{fmean(removed[method][dataset]):.1f}" for method in METHODS)
            rows.append((dataset, kind, str(len(values)), f"{fmean(values):.1f}", *numbers))
        means = [fmean(fmean(one) for one in found.values()) for found in (leaves, *removed.values())]
        rows.append(("mean", kind, "", *(f"{mean:.1f}" for mean in means)))
    return Page(
        f"Conditions removed from optimal trees, {arm.learner}, %",
        f"{arm.title}; M1-P at the ε of the tables",
        ("data set", "tree", "splits", "leaves", *METHODS),
        tuple(rows),
    )
