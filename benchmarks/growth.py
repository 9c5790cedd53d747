"""How cost grows with rows, leaves, depth and features: a point a size, and the exponent of the fitted power."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import secateur
from benchmarks.answers import agrees, make_list, says_the_same, simplify
from benchmarks.cases import APPLY, FIT, MEMORY, Reference
from benchmarks.problems import Problem, fit_to_first, make_rows, skewed_tree
from benchmarks.race import QUICK, Rounds, peak_bytes, race
from benchmarks.result import Result, quartiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CURVES", "EXPONENT", "Curve", "run_curve"]

EXPONENT = "exponent"
CHECKED_LEAVES = 4
ROUNDS = Rounds(3, 7, 3.0)


def grow_rows(quick: bool) -> Iterator[tuple[int, Problem]]:
    """32 leaves, more and more rows."""
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
    X, y = make_rows(max(sizes), 20)
    model = fit_to_first(X, y)
    for n_rows in sizes:
        yield n_rows, Problem(model, X[:n_rows], y[:n_rows])


def grow_leaves(quick: bool) -> Iterator[tuple[int, Problem]]:
    """Unpruned trees on more and more rows of five columns."""
    for n_rows in (100, 2_000) if quick else (80, 800, 2_500, 8_000, 25_000, 80_000, 250_000, 800_000):
        X, y = make_rows(n_rows, 5, noise=0.8)
        model = DecisionTreeClassifier(random_state=0).fit(X, y)
        yield int(model.get_n_leaves()), Problem(model, X, y)


def grow_depth(quick: bool) -> Iterator[tuple[int, Problem]]:
    """Trees of equally many leaves, from balanced to a chain."""
    no_rows = np.zeros((0, 10), dtype=np.float32), np.zeros(0, dtype=np.int64)
    for share in (0.5, 0.1) if quick else (0.5, 0.1, 0.02, 0.005, 0.0):
        tree = skewed_tree(1_024, share)
        yield tree.depth, Problem(tree, *no_rows)


def grow_rules(quick: bool) -> Iterator[tuple[int, Problem]]:
    """More and more leaves on the same rows, as the paper counts M1-P's cost."""
    X, y = make_rows(2_048 if quick else 65_536, 5, noise=0.8)
    for n_leaves in (16, 64) if quick else (16, 64, 256, 1_024, 4_096, 16_384):
        model = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
        yield int(model.get_n_leaves()), Problem(model, X, y)


def grow_paths(quick: bool) -> Iterator[tuple[int, Problem]]:
    """Trees of equally many leaves with longer and longer paths, on the same rows, three in ten with another class."""
    rng = np.random.default_rng(0)
    X = rng.random((2_048 if quick else 16_384, 10), dtype=np.float32)
    flipped = rng.random(len(X)) < 0.3
    for share in (0.5, 0.1) if quick else (0.5, 0.1, 0.03, 0.01, 0.003):
        tree = skewed_tree(256, share)
        labels = secateur.simplify(tree, method="none", each_leaf=True).predict(X).astype(np.int64)
        yield tree.depth, Problem(tree, X, np.where(flipped, 1 - labels, labels))


def grow_features(quick: bool) -> Iterator[tuple[int, Problem]]:
    """32 leaves on more and more columns."""
    sizes = (5, 20) if quick else (5, 20, 80, 320)
    whole, y = make_rows(100_000, max(sizes))
    for n_features in sizes:
        X = np.ascontiguousarray(whole[:, :n_features])
        yield n_features, Problem(fit_to_first(X, y), X, y)


@dataclass(frozen=True)
class Curve:
    """Methods on problems of growing size; the exponent is fitted to the sizes from ``fitted_from`` on.

    A curve has the name of what grows, or one of its own where two grow the same.
    """

    unit: str
    about: str
    problems: Callable[[bool], Iterator[tuple[int, Problem]]]
    methods: tuple[str, ...]
    reference: Reference | None = None
    fitted_from: int = 0
    bars: dict[str, str] = field(default_factory=dict)  # of the exponent, by method
    own_name: str = ""

    @property
    def name(self) -> str:
        """Name of the case."""
        return f"growth/{self.own_name or self.unit}"


EXACT, LIST = ("sibling", "exact"), "list"
ONE_FIT = Reference(FIT.name, FIT.call, once=True)
CURVES = [
    Curve(
        "rows",
        "20 columns, 32 leaves",
        grow_rows,
        ("mismatch", "quinlan"),
        APPLY,
        100_000,
        {"mismatch": "≤ 1.05"},
    ),
    Curve(
        "leaves",
        "unpruned trees, 5 columns",
        grow_leaves,
        (*EXACT, LIST),
        ONE_FIT,
        900,
        dict.fromkeys(EXACT, "≤ 1.2") | {LIST: "≤ 1.3"},
    ),
    Curve("depth", "1,024 leaves", grow_depth, EXACT),
    # The paper: M1-P is linear in the leaves and quadratic in the length of a path, O(M n_L D²).
    Curve(
        *("leaves", "65,536 rows, 5 columns", grow_rules, ("mismatch",)),
        fitted_from=256,
        bars={"mismatch": "≤ 1.2"},
        own_name="rules",
    ),
    Curve(*("depth", "16,384 rows, 256 leaves", grow_paths, ("mismatch",)), bars={"mismatch": "≤ 2"}, own_name="paths"),
    Curve("features", "100,000 rows, 32 leaves", grow_features, ("mismatch",), APPLY),
]


def run_curve(curve: Curve, quick: bool) -> list[Result]:
    """A result for each method, with its points; each point's answer is checked on a few leaves before it is timed."""
    results = {method: Result(f"{curve.name}/{method}", curve.about) for method in curve.methods}
    reference = curve.reference
    for size, problem in curve.problems(quick):
        for method, result in results.items():
            if method == LIST:
                result.right &= says_the_same(make_list(problem), problem)
            else:
                result.right &= agrees(simplify(method, problem), problem, CHECKED_LEAVES)
        if not all(result.right for result in results.values()):
            return list(results.values())
        calls: dict[Any, Callable[[], object]] = {
            m: partial(make_list if m == LIST else partial(simplify, m), problem) for m in curve.methods
        }
        if reference is not None:
            calls[reference] = partial(reference.call, problem)
        once = [reference] if reference is not None and reference.once else []
        seconds = race(calls, QUICK if quick else ROUNDS, once)
        for method, result in results.items():
            result.seconds = quartiles(seconds[method])
            point: dict[str, Any] = {"size": size, "seconds": result.seconds}
            if reference is not None:
                point["ratio"] = reference.ratio(seconds[method], seconds[reference])
                result.measures[f"{reference.measure}, largest"] = point["ratio"]
            if reference is APPLY:
                point["memory"] = peak_bytes(calls[method]) / problem.X.nbytes
                result.measures[f"{MEMORY}, largest"] = quartiles([point["memory"]])
            result.points.append(point)
    for method, result in results.items():
        first, last = result.points[0]["size"], result.points[-1]["size"]
        result.about += f"; {curve.unit} {first:,} to {last:,}"
        result.measures[EXPONENT] = quartiles([fit_exponent(result.points, curve.fitted_from)])
        if method in curve.bars:
            result.bars = {EXPONENT: curve.bars[method]}
    return list(results.values())


def fit_exponent(points: list[dict[str, Any]], fitted_from: int) -> float:
    """Slope of the logarithm of median seconds over the logarithm of size."""
    large = [point for point in points if point["size"] >= fitted_from]
    used = large if len(large) > 1 else points  # a quick run has no large ones
    sizes, seconds = [point["size"] for point in used], [point["seconds"].median for point in used]
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
