"""Store what rules of 30 trees say and count: ``PYTHONPATH=tests python -m net.make_stored_answers``.

The numbers are those of the code at hand, by every method, in both forms. Only numbers and ids are stored, no texts, so
that words may change. Store them anew only where a change of numbers is meant, and say so in the change.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from net import forms, tables
from net.cases import METHODS, WITHOUT_ROWS
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

STORED = Path(__file__).with_name("stored_answers.json.gz")
# What lists were before they had sections and shares: it is not made anew.
LISTS = Path(__file__).with_name("stored_lists.json.gz")
BUDGETS = (0.01, 0.03)
N_ASKED = 150
N_SHOWN = 3  # rows whose probabilities are stored as they are


class Problem(NamedTuple):
    """A tree, its training rows, and other rows that rules of it answer."""

    model: Any
    X: Any
    y: NDArray[Any]
    asked: Any
    truth: NDArray[Any]
    weights: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None  # of the training rows and of the others
    known: dict[str, Any] = {}  # noqa: RUF012  # nobody writes to it
    impossible: Any = None  # rows that contradict the facts
    without_rows: bool = False  # whether rules are made without the training rows, too
    methods: tuple[str, ...] = METHODS


# --- 30 trees ---------------------------------------------------------------------------------------------------------


def blobs(
    seed: int,
    n_classes: int,
    depth: int,
    *,
    missing: float = 0.0,
    weights: str | None = None,
    without_rows: bool = False,
    kind: Any = DecisionTreeClassifier,
    **options: Any,
) -> Problem:
    """Numbers with a pattern in them."""
    rng = np.random.default_rng(seed)
    X, y = make_classification(
        200 + N_ASKED, 6, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, flip_y=0.15, random_state=seed
    )
    X[rng.random(X.shape) < missing] = np.nan
    drawn = {None: None, "whole": rng.integers(0, 4, len(X)) * 1.0, "fractions": rng.random(len(X)) + 0.1}[weights]
    model = kind(max_depth=depth, random_state=seed, **options)
    return fit(model, X, y, drawn, {"accepts_missing": True} if missing else {}, without_rows=without_rows)


def grid(
    seed: int, n_classes: int, depth: int, known: dict[str, Any], *, without_rows: bool = False, **options: Any
) -> Problem:
    """A few whole numbers, so that rows repeat and conditions imply one another."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 6, (300 + N_ASKED, 4)).astype(float), columns=["a", "b", "c", "d"])
    score = X.a + X.b * (X.c > 2) + rng.normal(size=len(X))
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    model = DecisionTreeClassifier(max_depth=depth, random_state=seed, **options)
    problem = fit(model, X, y, None, known, without_rows=without_rows)
    consistent = tuple(method for method in METHODS if method != "mismatch-certified")  # equal rows differ in class
    return problem._replace(impossible=problem.asked * 1.5 - 1 if known else None, methods=consistent)


def told(seed: int, known: str, *, without_rows: bool = False) -> Problem:
    """Groups of columns, whole numbers, implications and missing values."""
    made = tables.make_told(seed, n_asked=N_ASKED)
    truth = np.roll(made.model.predict(made.rows["possible"]), 1)
    stated = {**tables.KNOWN[known], "accepts_missing": True}
    asked, impossible = made.rows["possible"], made.rows["impossible"]
    return Problem(made.model, made.X, made.y, asked, truth, None, stated, impossible, without_rows)


def fit(
    model: Any, X: Any, y: NDArray[Any], weights: NDArray[np.float64] | None, known: dict[str, Any], **more: Any
) -> Problem:
    """Fit a tree to the first rows; the last are asked about."""
    n_rows = len(X) - N_ASKED
    halves = None if weights is None else (weights[:n_rows], weights[n_rows:])
    model.fit(X[:n_rows], y[:n_rows], sample_weight=None if halves is None else halves[0])
    return Problem(model, X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], halves, known, **more)


WHOLE = {"integers": ["a", "b", "c", "d"]}
BETWEEN = {**WHOLE, "facts": ["0 <= a <= 5", "0 <= b <= 5", "c >= 0"]}
balanced = partial(blobs, class_weight="balanced")

PROBLEMS: dict[str, Any] = {
    "one leaf of two classes": lambda: blobs(1, 2, 3, min_samples_split=10_000, without_rows=True),
    "one leaf of four classes, weighted": lambda: blobs(2, 4, 3, min_samples_split=10_000, weights="fractions"),
    "one split": lambda: blobs(3, 2, 1, without_rows=True),
    "one split of five classes": lambda: blobs(4, 5, 1),
    "two classes, depth 2": lambda: blobs(5, 2, 2),
    "two classes, depth 4": lambda: blobs(6, 2, 4, without_rows=True),
    "two classes, depth 7": lambda: blobs(7, 2, 7),
    "three classes, depth 3": lambda: blobs(8, 3, 3, without_rows=True),
    "three classes, depth 6": lambda: blobs(9, 3, 6),
    "four classes, depth 5": lambda: blobs(10, 4, 5),
    "five classes, depth 5": lambda: blobs(11, 5, 5),
    "a random tree": lambda: blobs(12, 3, 5, kind=ExtraTreeClassifier),
    "few rows in a leaf": lambda: blobs(13, 2, 6, min_samples_leaf=8),
    "missing values": lambda: blobs(14, 2, 4, missing=0.15),
    "many missing values, three classes": lambda: blobs(15, 3, 5, missing=0.4, without_rows=True),
    "missing values and weights": lambda: blobs(16, 2, 5, missing=0.15, weights="whole"),
    "whole weights, some of them 0": lambda: blobs(17, 2, 5, weights="whole"),
    "weights with fractions, three classes": lambda: blobs(18, 3, 4, weights="fractions", without_rows=True),
    "balanced classes": lambda: balanced(19, 2, 4),
    "balanced classes, four of them": lambda: balanced(20, 4, 5, without_rows=True),
    "balanced and weighted": lambda: balanced(21, 3, 4, weights="whole"),
    "a grid": lambda: grid(22, 2, 6, {}, without_rows=True),
    "a grid of whole numbers": lambda: grid(23, 2, 6, WHOLE, without_rows=True),
    "a grid of four classes between ends": lambda: grid(24, 4, 6, BETWEEN, max_features=2),
    "a deep grid of three classes between ends": lambda: grid(25, 3, 7, BETWEEN, min_samples_leaf=3),
    "groups and facts, not told": lambda: told(27, "nothing"),
    "groups": lambda: told(28, "groups", without_rows=True),
    "facts, three classes": lambda: told(29, "facts", without_rows=True),
    "groups and facts": lambda: told(30, "facts and groups"),
    "groups and facts, three classes": lambda: told(31, "facts and groups", without_rows=True),
}


# --- their rules ------------------------------------------------------------------------------------------------------


def list_rules(problem: Problem) -> Iterator[tuple[str, Any]]:
    """Make the rules of a tree by every method, in both forms, each with a name."""
    known = {**problem.known}
    weighted = {} if problem.weights is None else {"sample_weight": problem.weights[0]}
    training = problem.X, problem.y
    for form, make in forms.FORMS.items():
        for method in problem.methods:
            yield f"{form}, {method}", make(problem.model, *training, method=method, **known, **weighted)
        for method in WITHOUT_ROWS if problem.without_rows else ():
            yield f"{form}, {method} without rows", make(problem.model, method=method, **known)
    make = partial(forms.short_list, problem.model, *training, **known, **weighted)
    for method in ("exact", "sibling"):
        for budget in BUDGETS:
            yield f"short list, {method}, budget {budget}", make(method=method, budget=budget)
    yield "short list, exact, otherwise the last class", make(otherwise=find_last_class(problem))
    yield "short list, exact, classes only", make(tolerance=1)
    yield "short list, exact, at most 8 sections", make(sections=8)


def list_classes_only(problem: Problem) -> Iterator[tuple[str, Any]]:
    """Make the lists in one section that keep classes only, each with a name."""
    weighted = {} if problem.weights is None else {"sample_weight": problem.weights[0]}
    plain = {"exact": {"tolerance": 1, "sections": 1}}
    training = problem.X, problem.y
    for method in problem.methods:
        made = forms.short_list(
            problem.model, *training, method=method, **problem.known, **weighted, **plain.get(method, {})
        )
        yield method, made
    for method in WITHOUT_ROWS if problem.without_rows else ():
        yield (
            f"{method} without rows",
            forms.short_list(problem.model, method=method, **problem.known, **plain.get(method, {})),
        )
    last = problem.model.classes_[-1]
    if last == find_last_class(problem):
        made = forms.short_list(problem.model, *training, otherwise=last, **problem.known, **weighted, **plain["exact"])
        yield "exact, otherwise the last class", made


def find_last_class(problem: Problem) -> Any:
    """The last class that a leaf predicts."""
    return problem.model.predict(problem.X).max()


def describe_tree(problem: Problem) -> str:
    """A digest of the tree, which tells it from one that another release of scikit-learn fits."""
    fitted = problem.model.tree_
    arrays = fitted.children_left, fitted.children_right, fitted.feature, fitted.threshold, fitted.missing_go_to_left
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[:16]


def describe(problem: Problem, rules: Any) -> dict[str, Any]:
    """List the ids and numbers of rules: their lines, the rows beside them, their answers and their audit."""
    weights = None if problem.weights is None else problem.weights[1]
    audit = rules.audit(problem.asked, problem.truth, sample_weight=weights)
    described: dict[str, Any] = {
        "leaves": forms.leaves(rules),
        "kept": forms.kept_links(rules),
        "stands for": forms.stands_for(rules),
        "classes": forms.class_ids(rules),
        "counts": forms.line_counts(rules),
        "covered": forms.covered_counts(rules),
        "of leaves": forms.leaf_counts(rules).sum(axis=0),
        "applied": forms.applied(rules, problem.asked),
        "predicted": find_class_ids(rules, rules.predict(problem.asked)),
        "shares": summarize_shares(rules.predict_proba(problem.asked)),
        "shares of leaves": summarize_shares(rules.predict_proba(problem.asked, of="leaf")),
        "audit": forms.audit_numbers(rules, audit),
        "audited": forms.audited_counts(audit),
        "verdicts": forms.verdicts(audit),
    }
    # Which line answers an impossible row is settled where rows ranked the lines; what predict says of it is not.
    if problem.impossible is not None and forms.has_counts(rules):
        described["applied to impossible rows"] = forms.applied(rules, problem.impossible)
    if rules.is_list:
        described |= forms.layout(rules)
    if np.array_equal(described["covered"], described["counts"], equal_nan=True):
        described["covered"] = None
    if described["stands for"] == [[leaf] for leaf in described["leaves"]]:
        described["stands for"] = None
    if described["predicted"] == [described["classes"][place] for place in described["applied"]]:
        described["predicted"] = None
    return {name: as_json(value) for name, value in described.items()}


def find_class_ids(rules: Any, labels: NDArray[Any]) -> list[int]:
    """The classes of labels, as indices."""
    classes = rules.tree.classes.tolist()
    return [classes.index(label) for label in labels.tolist()]


def summarize_shares(shares: NDArray[np.float64]) -> list[list[float]]:
    """Means of the columns, means that depend on the order of the rows, and the first rows."""
    by_place = np.arange(1, len(shares) + 1)[:, None] / len(shares)
    return [shares.mean(axis=0).tolist(), (shares * by_place).mean(axis=0).tolist(), *shares[:N_SHOWN].tolist()]


def as_json(value: Any) -> Any:
    """Numbers, lists and dicts: whole numbers without a point, and None for NaN."""
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [as_json(one) for one in value]
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else int(value) if float(value).is_integer() else float(value)
    return value


def compute(name: str) -> dict[str, Any]:
    """What rules of one tree say and count."""
    problem: Problem = PROBLEMS[name]()
    return {"tree": describe_tree(problem), **{key: describe(problem, rules) for key, rules in list_rules(problem)}}


def read_stored(path: Path = STORED) -> dict[str, Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def store() -> None:
    text = json.dumps({name: compute(name) for name in PROBLEMS}, separators=(",", ":"), allow_nan=False)
    STORED.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    store()
    print(f"{STORED}: {STORED.stat().st_size:,} bytes")
