"""Grow trees on coded rows, all sizes at once, and turn one of them into a Tree over the rows' own columns.

scikit-learn grows a tree with a limit on its leaves best split first, and numbers the two children of each split as it
makes it. So the first ``2 k - 1`` nodes are the tree of ``k`` leaves: one fit gives every size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.tree.pipeline_columns import Columns
from secateur.tree.tree import make_tree
from secateur.words.numbers import shorten_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.surrogates.columns import Coding
    from secateur.tree.tree import Tree

__all__ = ["GrownTree", "grow"]


@dataclass(frozen=True)
class GrownTree:
    """A tree on codes, of which every first part is a tree too.

    Attributes
    ----------
    source : sklearn.tree._tree.Tree
    class_ids : ndarray of int64
        Places of the classes that occurred among the rows it was grown on, in the order of its counts.
    """

    source: Any
    class_ids: NDArray[np.int64]

    @property
    def n_leaves(self) -> int:
        """Leaves of the whole tree."""
        return int(self.source.n_leaves)

    @property
    def node_class(self) -> NDArray[np.int64]:
        """The commonest class at each node."""
        commonest: NDArray[np.int64] = self.class_ids[self.source.value[:, 0, :].argmax(axis=1)]
        return commonest

    def answer(self, codes: NDArray[np.float32], sizes: Sequence[int]) -> NDArray[np.int64]:
        """Give the class of each row by the tree of each size, shape (n_sizes, n_rows)."""
        parent = np.zeros(self.source.node_count, dtype=np.int64)
        inner = np.flatnonzero(self.source.children_left >= 0)
        for children in (self.source.children_left, self.source.children_right):
            parent[children[inner]] = inner
        reached = self.source.apply(np.ascontiguousarray(codes))
        answers = np.empty((len(sizes), len(codes)), dtype=np.int64)
        for place, size in enumerate(sizes):
            ancestor = np.arange(self.source.node_count)
            while (beyond := ancestor > 2 * size - 2).any():
                ancestor[beyond] = parent[ancestor[beyond]]
            answers[place] = self.node_class[ancestor[reached]]
        return answers

    def to_tree(self, size: int, coding: Coding, classes: Sequence[Any], names: Sequence[str] | None) -> Tree:
        """Make the tree of so many leaves over the columns that the codes came from."""
        source, n_nodes = self.source, min(2 * size - 1, self.source.node_count)
        left, right = (np.array(side[:n_nodes]) for side in (source.children_left, source.children_right))
        cut = left >= n_nodes
        left[cut] = right[cut] = -1
        feature, threshold = np.full(n_nodes, -1), np.full(n_nodes, np.nan)
        missing_left = np.zeros(n_nodes, dtype=bool)
        codes_of: dict[int, list[int]] = {}
        for node in np.flatnonzero(left >= 0).tolist():
            coded = int(source.feature[node])
            feature[node] = coding.features[coded]
            column, category = coding.columns[feature[node]], int(coding.categories[coded])
            if column.kind == "number":
                threshold[node] = find_limit(column.values, float(source.threshold[node]))
                missing_left[node] = bool(source.missing_go_to_left[node])
                continue
            everything = range(len(column.labels) + 1)  # with one code for all that is not listed
            codes_of[node] = [code for code in everything if code != category or category == len(column.labels)]
            missing_left[node] = category != len(column.labels)
        plain = (None,) * len(coding.columns), (False,) * len(coding.columns)
        asked = tuple(np.unique(feature[left >= 0]).tolist())
        return make_tree(
            children_left=left,
            children_right=right,
            feature=feature,
            threshold=threshold,
            missing_left=missing_left,
            leaf_class=self.node_class[:n_nodes],
            classes=classes,
            n_features=len(coding.columns),
            accepts_missing=[one.holds_missing for one in coding.columns],
            left_categories=codes_of,
            categories=[one.labels if one.kind == "category" else None for one in coding.columns],
            feature_names=names,
            dtype="float64",
            columns=None if coding.is_numeric else Columns(*plain, asked=asked),
        )


def grow(
    codes: NDArray[np.float32], answers: NDArray[np.int64], weights: NDArray[np.float64], max_leaves: int, seed: int
) -> GrownTree:
    """Grow a tree on codes, with at most so many leaves; answers are places of classes."""
    from sklearn.tree import DecisionTreeClassifier

    if codes.shape[1] == 0:
        codes = np.zeros((len(codes), 1), dtype=np.float32)
    tree = DecisionTreeClassifier(max_leaf_nodes=max(max_leaves, 2), random_state=seed)
    tree.fit(codes, answers, weights)
    return GrownTree(tree.tree_, tree.classes_)


def find_limit(values: NDArray[np.float64], threshold: float) -> float:
    """Find a short number between the values on either side of a threshold on their ranks.

    Examples
    --------
    >>> find_limit(np.array([1.0, 2.25, 3.5]), 0.5)
    1.625
    """
    if math.isinf(threshold):
        return threshold
    place = math.floor(threshold)
    below, above = float(values[place]), float(values[place + 1])
    middle = below / 2 + above / 2
    if not below <= middle < above:
        return below
    short = float(shorten_number(middle, "float64", below, above).value)
    return short if below <= short < above else middle
