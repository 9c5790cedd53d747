"""Hypothesis strategies: trees of every shape that the contract allows, and rows that probe their thresholds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np
import oracles
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from secateur.tree.tree import Tree, make_tree

# Few values, so that paths repeat and contradict themselves. The last row holds float64 numbers that are no float32:
# 0.1 and 0.1000000001 have no float32 between them, nor have 1.000000001 and 1.000000002; the float32 nearest to 1/3
# is above it, the one nearest to 0.7 below it.
THRESHOLDS = (
    *(-1.0, 0.0, 1.0, 2.0, 3.0),
    *(-0.5, 0.5, 1.5),
    *(0.1, 0.1000000001, 1 / 3, 0.7, 1.000000001, 1.000000002),
)

LEVELS = ("red", "green", "blue", "other")
INT_LABELS = (3, 7, 11, 20)
TEXT_LABELS = ("ant", "bee", "cat", "dog")

T = TypeVar("T")


def lists_of(elements: st.SearchStrategy[T], size: int) -> st.SearchStrategy[list[T]]:
    """Lists of one length."""
    return st.lists(elements, min_size=size, max_size=size)


def label_sets(n_classes: int) -> st.SearchStrategy[list[Any]]:
    """Class labels: numbers, texts or, for two classes, bools."""
    sets: list[list[Any]] = [list(range(n_classes)), list(INT_LABELS[:n_classes]), list(TEXT_LABELS[:n_classes])]
    return st.sampled_from([*sets, [False, True]] if n_classes == 2 else sets)


@st.composite
def trees(
    draw: st.DrawFn,
    *,
    min_leaves: int = 1,
    max_leaves: int = 12,
    n_classes: int | None = None,
    n_features: int | None = None,
    missing: bool | None = None,
    categorical: bool | None = None,
    with_counts: bool = True,
    dtype: str | None = None,
) -> Tree:
    """Checked trees; an argument that is None is drawn.

    Leaves may contradict their own path, classes may tie, leaves may be empty, and now and then ``leaf_class`` is not
    the largest count, as the contract allows. ``missing`` and ``categorical`` say whether features *may* be such.
    """
    n_classes = draw(st.integers(2, 4)) if n_classes is None else n_classes
    n_features = draw(st.integers(1, 4)) if n_features is None else n_features
    missing = draw(st.booleans()) if missing is None else missing
    categorical = draw(st.booleans()) if categorical is None else categorical
    accepts = draw(lists_of(st.booleans(), n_features)) if missing else [False] * n_features
    kinds = ("number", "binary", "category") if categorical else ("number", "number", "binary")
    kind = draw(lists_of(st.sampled_from(kinds), n_features))
    categories = [LEVELS[: draw(st.integers(1, len(LEVELS)))] if k == "category" else None for k in kind]

    n_leaves = draw(st.integers(min_leaves, max_leaves))
    left, right, feature, threshold, missing_left = [-1], [-1], [-1], [math.nan], [False]
    codes: dict[int, list[int]] = {}
    open_leaves = [0]
    while len(open_leaves) < n_leaves:
        node = open_leaves.pop(draw(st.integers(0, len(open_leaves) - 1)))
        children = [len(left), len(left) + 1]
        open_leaves += children
        # Swapped ids make the right child the smaller one: no code may rely on the left one coming first.
        left[node], right[node] = children if draw(st.booleans()) else children[::-1]
        feature[node] = tested = draw(st.integers(0, n_features - 1))
        missing_left[node] = accepts[tested] and draw(st.booleans())
        levels = categories[tested]
        if levels is not None:
            unlisted = len(levels)
            listed = st.sets(st.integers(0, unlisted), min_size=1, max_size=unlisted)  # at most all but one
            codes[node] = sorted(draw(listed))
        elif kind[tested] == "binary":
            threshold[node] = 0.5
        else:
            infinite = (math.inf,) * 5 if accepts[tested] else ()  # leaves the right side to NaN alone
            threshold[node] = draw(st.sampled_from((*THRESHOLDS, *infinite)))
        for column, value in ((left, -1), (right, -1), (feature, -1), (threshold, math.nan), (missing_left, False)):
            column += [value, value]

    if draw(st.booleans()):
        order = _preorder(left, right)
        new_id = {node: i for i, node in enumerate(order)} | {-1: -1}
        left, right = [new_id[left[node]] for node in order], [new_id[right[node]] for node in order]
        feature, threshold = [feature[node] for node in order], [threshold[node] for node in order]
        missing_left = [missing_left[node] for node in order]
        codes = {new_id[node]: listed for node, listed in codes.items()}

    counts, leaf_class = _draw_counts(draw, left, right, n_classes)
    return make_tree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        left_categories=codes,
        categories=categories,
        leaf_class=leaf_class,
        counts=counts if with_counts else None,
        classes=draw(label_sets(n_classes)),
        n_features=n_features,
        accepts_missing=accepts,
        dtype=draw(st.sampled_from(("float32", "float32", "float64"))) if dtype is None else dtype,
    )


def _preorder(left: list[int], right: list[int]) -> list[int]:
    """Node ids in preorder, left child first."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if left[node] >= 0:
            stack += [right[node], left[node]]
    return order


def _draw_counts(
    draw: st.DrawFn, left: list[int], right: list[int], n_classes: int
) -> tuple[NDArray[np.float64], list[int]]:
    """Class counts that add up from the leaves, and the leaves' classes."""
    counts = np.zeros((len(left), n_classes))
    leaf_class = [-1] * len(left)
    # Small numbers tie often. A weight of 0.1 leaves rounding errors in the shares, which rf_tol must absorb.
    weight = draw(st.sampled_from((1.0, 1.0, 0.1)))
    own_classes = draw(st.sampled_from((False, False, False, True)))
    for node in range(len(left)):
        if left[node] < 0:
            counts[node] = draw(lists_of(st.integers(0, 4), n_classes))
            leaf_class[node] = draw(st.integers(0, n_classes - 1)) if own_classes else int(np.argmax(counts[node]))
    counts *= weight
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            counts[node] = counts[left[node]] + counts[right[node]]
    return counts, leaf_class


def _cells(tree: Tree, feature: int) -> st.SearchStrategy[float]:
    """Values of one feature: on, beside and between its thresholds; listed and unlisted codes; NaN where accepted."""
    nan = [math.nan] if tree.accepts_missing[feature] else []
    levels = tree.categories[feature]
    if levels is not None:
        # An unlisted value is its own code, a code that does not exist, or no code at all.
        unlisted = [float(len(levels)), len(levels) + 3.0, -1.0, 0.5]
        return st.sampled_from([*map(float, range(len(levels))), *unlisted, *nan])
    kind = np.dtype(tree.dtype).type
    probes = {0.0, 1.0}
    for node in np.flatnonzero(tree.feature == feature).tolist():
        bound = float(tree.threshold[node])
        if bound < math.inf:
            down = kind(oracles.number_not_above(tree, bound))
            probes.update([bound, float(down), float(np.nextafter(down, kind(-np.inf)))])
            probes.update([float(np.nextafter(down, kind(np.inf))), float(np.nextafter(bound, np.inf))])
    return st.sampled_from([*sorted(probes), *nan]) | st.floats(-4, 4, allow_subnormal=False)


def rows(tree: Tree, min_rows: int = 1, max_rows: int = 40) -> st.SearchStrategy[NDArray[np.float64]]:
    """Matrices of rows that sit on and beside the tree's thresholds."""
    row = st.tuples(*(_cells(tree, feature) for feature in range(tree.n_features)))
    # The length is drawn first, because lists() alone prefers a handful of rows, too few for twelve leaves.
    return (
        st.integers(min_rows, max_rows)
        .flatmap(lambda n_rows: lists_of(row, n_rows))
        .map(lambda drawn: np.array(drawn, dtype=np.float64).reshape(len(drawn), tree.n_features))
    )


@st.composite
def labelled_rows(
    draw: st.DrawFn, tree: Tree, weights: bool = False, min_rows: int = 1, max_rows: int = 40
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[float] | None]:
    """Rows, class indices that often agree with the tree, and whole weights (or None)."""
    X = draw(rows(tree, min_rows, max_rows))
    # A negative draw stands for the tree's own answer: rules that are never right would exercise little.
    drawn = draw(lists_of(st.integers(-2, tree.n_classes - 1), len(X)))
    y = [label if label >= 0 else oracles.tree_class(tree, row) for label, row in zip(drawn, X, strict=True)]
    if not weights:
        return X, np.array(y, dtype=np.int64), None
    smallest = draw(st.integers(0, 1))
    w = draw(lists_of(st.integers(smallest, 3), len(X)))
    if not any(w):
        w[0] = 1
    return X, np.array(y, dtype=np.int64), [float(weight) for weight in w]


class SklearnProblem(NamedTuple):
    """A small data set and a scikit-learn tree that was fitted to it."""

    X: NDArray[np.float32]
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    model: DecisionTreeClassifier | ExtraTreeClassifier


@st.composite
def sklearn_problems(draw: st.DrawFn, *, missing: bool | None = None, weights: bool | None = None) -> SklearnProblem:
    """Fitted scikit-learn trees with their rows; an argument that is None is drawn."""
    missing = draw(st.booleans()) if missing is None else missing
    weights = draw(st.booleans()) if weights is None else weights
    columns = {
        "binary": (0.0, 1.0),
        "few": (0.0, 1.0, 2.0, 3.0),
        "decimal": (-0.3, -0.1, 0.1, 0.2, 0.3, 0.7, 1.1),
    }
    n_features = draw(st.integers(1, 4))
    cells = []
    for _ in range(n_features):
        values = columns[draw(st.sampled_from(sorted(columns)))]
        cells.append(st.sampled_from((*values, math.nan) if missing and draw(st.booleans()) else values))
    n_rows = draw(st.integers(4, 40))
    X = np.array(draw(lists_of(st.tuples(*cells), n_rows)), dtype=np.float32)

    labels = draw(label_sets(draw(st.integers(2, 4))))
    drawn = draw(lists_of(st.sampled_from(labels), n_rows - 2))
    y = np.array([*labels[:2], *drawn])  # at least two classes
    sample_weight = None
    if weights:
        # No zeros: scikit-learn divides by a node's weight.
        sample_weight = np.array(draw(lists_of(st.sampled_from((0.5, 1.0, 2.0, 3.0)), n_rows)))
    model = draw(st.sampled_from((DecisionTreeClassifier, ExtraTreeClassifier)))(
        max_depth=draw(st.sampled_from((None, 1, 2, 3, 5))),
        min_samples_leaf=draw(st.integers(1, 4)),
        random_state=draw(st.integers(0, 9)),
    )
    return SklearnProblem(X, y, sample_weight, model.fit(X, y, sample_weight=sample_weight))
