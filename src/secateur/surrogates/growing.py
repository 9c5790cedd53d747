"""Grow trees on coded rows, all sizes at once, and estimate how faithful each size is on rows it was not grown on.

scikit-learn grows a tree with a limit on its leaves best split first, and numbers the two children of each split as it
makes it. So the first ``2 k - 1`` nodes are the tree of ``k`` leaves: one fit gives every size.

A neighbour of a row takes a tenth, a third or more than half of its columns from other rows, one by one. Neighbours
show a tree how the model answers between the rows, which few rows alone do not; each counts less than a row, because
what matters is how the model answers where rows are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.surrogates.columns import Coding
from secateur.tree.columns import Columns
from secateur.tree.tree import Tree, make_tree
from secateur.words.plain_words import shorten_number

NEIGHBOUR_WEIGHT = 0.3  # of a row
RARE, POWERS = 0.1, (0.0, 0.5)  # with a class below this share of the answers, trees are also grown with it weighed up
SWAPPED = (0.1, 0.3, 0.6)  # shares of the columns that come from other rows
SIZES = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64),
    *(80, 96, 112, 128, 160, 192, 224, 256),
)
N_FOLDS = 5
MANY_ROWS = 20_000  # from here on one fold tells enough, and so many rows to grow its trees on


@dataclass(frozen=True)
class GrownTree:
    """A tree on codes; every first part of its nodes is a tree too."""

    source: Any  # a tree_ of scikit-learn
    class_ids: NDArray[np.int64]  # places of the classes of its counts: those among the rows it was grown on

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


def draw_neighbours(
    n_rows: int, n_columns: int, n_neighbours: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw neighbours: the row that each is a neighbour of, and the row that each of its columns comes from."""
    own = np.resize(random.permutation(n_rows), n_neighbours)
    swapped = random.random((n_neighbours, n_columns)) < random.choice(SWAPPED, size=(n_neighbours, 1))
    return own, np.where(swapped, random.integers(n_rows, size=swapped.shape), own[:, None])


def estimate_fidelity(
    codes: NDArray[np.float32],
    answers: NDArray[np.int64],
    neighbours_of: NDArray[np.int64],
    sizes: Sequence[int],
    random: np.random.Generator,
    seed: int,
    power: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate for each size how often a tree says what the model says, by folds.

    The first rows are real, the others neighbours of them. A tree is grown without a fold and without the neighbours of
    its rows, and compared with the model on both. The first result is the share of the real rows alone. The second is
    the mean over classes of F1, so that a rare class counts as much as a common one; it counts neighbours as they
    weigh, and tells sizes apart with less noise: rows that the model was fitted on show what it learned by heart rather
    than what it does.
    """
    n_real, n_classes = len(codes) - len(neighbours_of), int(answers.max()) + 1
    weights = np.append(np.ones(n_real), np.full(len(neighbours_of), NEIGHBOUR_WEIGHT))
    grown_with = weights * weigh_classes(answers, weights, power)
    # Each fold gets its share of every answer.
    order = random.permutation(n_real)
    fold = np.empty(n_real, dtype=np.int64)
    fold[order[np.argsort(answers[order], kind="stable")]] = np.arange(n_real) % N_FOLDS
    of_row = np.append(fold, fold[neighbours_of])
    same, n_seen = np.zeros(len(sizes)), 0
    by_class = np.zeros((3, len(sizes), n_classes))  # weights of what both say, of what the tree says, and the model
    for number in range(1 if n_real > MANY_ROWS else N_FOLDS):
        seen = np.flatnonzero(of_row == number)
        rest = of_row != number
        if n_real > MANY_ROWS:
            chosen = np.zeros(n_real, dtype=bool)
            chosen[random.permutation(n_real)[:MANY_ROWS]] = True
            rest &= np.append(chosen, chosen[neighbours_of])
        grown = grow(codes[rest], answers[rest], grown_with[rest], sizes[-1], seed)
        said, is_real, heavy = grown.answer(codes[seen], sizes), seen < n_real, weights[seen]
        agrees = said == answers[seen]
        same += agrees[:, is_real].sum(axis=1)
        n_seen += int(is_real.sum())
        for place in range(len(sizes)):
            both = np.flatnonzero(agrees[place])
            by_class[0, place] += np.bincount(answers[seen[both]], heavy[both], n_classes)
            by_class[1, place] += np.bincount(said[place], heavy, n_classes)
            by_class[2, place] += np.bincount(answers[seen], heavy, n_classes)
    occurs = by_class[2, 0] > 0
    hits, by_tree, by_model = by_class[:, :, occurs]
    return same / n_seen, (2 * hits / (by_tree + by_model)).mean(axis=1)


def weigh_classes(answers: NDArray[np.int64], weights: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Weigh rare classes up: by 0 not at all, by 1 until all classes weigh the same."""
    sizes = np.bincount(answers, weights)
    share = sizes[answers] / sizes.sum()
    factor: NDArray[np.float64] = share**-power
    return factor
