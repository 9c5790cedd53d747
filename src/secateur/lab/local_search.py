"""Optimal classification trees by local search, after the published description of Bertsimas and Dunn (2017, 2019).

The objective is the weight of misclassified training rows plus ``cp`` times the total weight for each split. Each
restart starts from a CART tree (the first a plain one, the others with ``max_features="sqrt"``) and sweeps over all
nodes in random order. At each node the best of these replacements of its subtree is taken if it lowers the objective:

- make it a leaf; replace it by its left or its right child;
- for a leaf above the depth limit, or a split above two leaves: the best split into two leaves (Gini breaks ties);
- for a split above deeper children: the split that sends each row to the child that gets it right, children unchanged.

Sweeps stop when one changes nothing. The best restart wins; sibling leaves of one class are then merged. The result
is never worse than the plain CART tree. Cost of a sweep: O(depth × rows × features × log rows).
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from secateur.adapters.reading import Node, grow_nodes, make_from_nodes
from secateur.kernels.running import compile_module
from secateur.lab import local_search_kernel as kernels
from secateur.lab.local_search_kernel import Problem, Workspace
from secateur.rows.rows import Rows, apply_tree, count_classes
from secateur.tree.contract import check_tree
from secateur.tree.tree import Tree

DEEPEST = 12  # slots double with every level
plain: Any = kernels  # its functions have no types


class LocalSearchTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classification tree whose splits are improved together by local search.

    Its objective on the training rows is never worse than that of CART at equal depth, and mostly better.

    Parameters
    ----------
    max_depth : int, default=6
        Depth limit, at most 12.
    cp : float, default=5e-4
        Cost of a split, as a share of the total weight of the rows.
    min_bucket : int, default=1
        Least number of rows in a leaf.
    n_restarts : int, default=10
        Number of starting trees; the first is the plain CART tree.
    max_sweeps : int, default=20
        Most sweeps of one restart.
    n_jobs : int or None, default=None
        Threads, None for one and -1 for all cores; the result does not depend on their number.
    random_state : int, RandomState instance or None, default=None
        Seed of the starting trees and of the order of the nodes.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree.
    classes_ : ndarray of shape (n_classes,)
    objective_ : float
        Misclassified weight plus the cost of the splits, as a share of the total weight.
    cart_objective_ : float
        The same for the plain CART tree that the first restart began with.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only when the rows had column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocalSearchTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> model.objective_ <= model.cart_objective_
    True
    """

    _parameter_constraints = {  # noqa: RUF012  # scikit-learn's own way to declare them
        "max_depth": [Interval(Integral, 1, DEEPEST, closed="both")],
        "cp": [Interval(Real, 0, None, closed="left")],
        "min_bucket": [Interval(Integral, 1, None, closed="left")],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "max_sweeps": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        max_depth: int = 6,
        *,
        cp: float = 5e-4,
        min_bucket: int = 1,
        n_restarts: int = 10,
        max_sweeps: int = 20,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.cp = cp
        self.min_bucket = min_bucket
        self.n_restarts = n_restarts
        self.max_sweeps = max_sweeps
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers, without missing values.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        LocalSearchTreeClassifier
            The fitted estimator.
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float32, order="F")
        check_classification_targets(y)
        self.classes_, class_ids = np.unique(y, return_inverse=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        if not np.isfinite(total):
            raise ValueError("sample_weight is too large: its sum is infinite. Scale it down.")
        counted = weights > 0  # a row without weight is no row
        X, class_ids, weights = X[counted], class_ids[counted], weights[counted]
        random = check_random_state(self.random_state)
        problem = self._encode(X, class_ids, weights)
        seeds = [int(random.randint(np.iinfo(np.int32).max)) for _ in range(self.n_restarts)]

        def restart(number: int) -> tuple[float, float, _Slots]:
            start = DecisionTreeClassifier(
                max_depth=self.max_depth,
                min_samples_leaf=self.min_bucket,
                max_features=None if number == 0 else "sqrt",
                random_state=seeds[number],
            ).fit(X, class_ids, sample_weight=weights)
            slots = _Slots(start.tree_, problem)
            first = slots.objective(problem)
            slots.search(problem, self.max_sweeps, np.random.default_rng(seeds[number]))
            slots.clean(problem)
            return first, slots.objective(problem), slots

        compile_module(kernels)  # once, before threads ask for it
        with ThreadPoolExecutor(effective_n_jobs(self.n_jobs)) as pool:
            done = list(pool.map(restart, range(self.n_restarts)))
        _, objective, best = min(done, key=lambda result: result[1])
        self.objective_ = objective / total
        self.cart_objective_ = done[0][0] / total
        names = getattr(self, "feature_names_in_", None)
        self.tree_ = best.to_tree(problem, self.classes_, None if names is None else names.tolist(), X, weights)
        return self

    def _encode(self, X: NDArray[np.float32], class_ids: NDArray[np.int64], weights: NDArray[np.float64]) -> Problem:
        """Replace each value by its rank among its column's distinct values."""
        distinct, ranks = zip(*(np.unique(column, return_inverse=True) for column in X.T), strict=True)
        return Problem(
            codes=np.ascontiguousarray(np.stack(ranks).astype(np.int32)),
            code_start=np.concatenate([[0], np.cumsum([len(values) for values in distinct])]),
            values=np.concatenate(distinct).astype(np.float64),
            y=class_ids.astype(np.int64),
            weight=weights,
            n_classes=len(self.classes_),
            split_cost=float(self.cp * weights.sum()),
            least_gain=1e-9 * float(weights.mean()),
            min_bucket=int(self.min_bucket),
            n_slots=2 ** (self.max_depth + 1) - 1,
            first_deepest=2**self.max_depth - 1,
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        """
        leaves = self.apply(X)  # which checks that the tree is fitted
        return self.classes_[self.tree_.leaf_class[leaves]]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class shares: those of the training rows in each row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        """
        leaves = self.apply(X)
        counts: NDArray[np.float64] = np.asarray(self.tree_.counts)[leaves]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the leaf id of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        return apply_tree(self.tree_, Rows.of(validate_data(self, X, dtype=np.float32, reset=False)))


class _Slots:
    """A tree in heap slots, on its way from CART to a local optimum."""

    def __init__(self, start: Any, problem: Problem) -> None:
        self.feature = np.full(problem.n_slots, -1, dtype=np.int64)
        self.cut = np.full(problem.n_slots, -1, dtype=np.int64)
        self.threshold = np.zeros(problem.n_slots)
        self.label = np.zeros(problem.n_slots, dtype=np.int64)
        stack = [(0, 0)]
        while stack:
            node, slot = stack.pop()
            self.label[slot] = int(start.value[node, 0].argmax())
            if start.children_left[node] < 0:
                continue
            column = int(start.feature[node])
            values = problem.values[problem.code_start[column] : problem.code_start[column + 1]]
            self.feature[slot] = column
            self.threshold[slot] = start.threshold[node]
            self.cut[slot] = np.searchsorted(values, start.threshold[node], side="right") - 1
            stack.append((int(start.children_left[node]), 2 * slot + 1))
            stack.append((int(start.children_right[node]), 2 * slot + 2))

    def search(self, problem: Problem, max_sweeps: int, rng: np.random.Generator) -> None:
        orders = np.empty((max_sweeps, problem.n_slots), dtype=np.int64)
        for sweep in range(max_sweeps):
            orders[sweep] = rng.permutation(problem.n_slots)
        compile_module(kernels).improve(problem, self._make_room(problem), orders)

    def _make_room(self, problem: Problem) -> Workspace:
        """Give the kernels the tree and room to work; dropped again after use, because it is as long as the rows."""
        n_rows, n_slots, most_codes = len(problem.y), problem.n_slots, int(np.diff(problem.code_start).max())

        def whole(size: int) -> NDArray[np.int64]:
            return np.zeros(size, dtype=np.int64)

        return Workspace(
            **vars(self),  # feature, cut, threshold and label
            **{name: whole(n_rows) for name in ("leaf", "rows", "goal")},
            **{name: np.zeros(n_rows) for name in ("cost_left", "cost_right")},
            **{name: whole(most_codes) for name in ("counts", "present")},
            sizes=whole(n_slots),
            sums=np.zeros((most_codes, problem.n_classes)),
            class_weights=np.zeros((max(n_slots, 2), problem.n_classes)),
        )

    def route(self, problem: Problem) -> NDArray[np.int64]:
        slots = np.zeros(len(problem.y), dtype=np.int64)
        rows = np.arange(len(slots))
        while len(rows := rows[self.feature[slots[rows]] >= 0]):
            at = slots[rows]
            right = problem.codes[self.feature[at], rows] > self.cut[at]
            slots[rows] = 2 * at + 1 + right
        return slots

    def clean(self, problem: Problem) -> None:
        """Give leaves their majority class, drop splits with an empty side, and merge sibling leaves of one class."""
        room, promote = self._make_room(problem), compile_module(kernels).promote
        class_weights = np.zeros((problem.n_slots, problem.n_classes))
        np.add.at(class_weights, (self.route(problem), problem.y), problem.weight)
        self.label[:] = class_weights.argmax(axis=1)
        for slot in range(problem.first_deepest - 1, -1, -1):
            left, right = 2 * slot + 1, 2 * slot + 2
            if self.feature[slot] < 0 or not plain.descends(self, slot, 0):
                continue
            class_weights[slot] = class_weights[left] + class_weights[right]
            empty_left, empty_right = not class_weights[left].any(), not class_weights[right].any()
            leaves = self.feature[left] < 0 and self.feature[right] < 0
            if empty_left or empty_right:
                promote(room, slot, right if empty_left else left, problem.n_slots)
            elif leaves and self.label[left] == self.label[right]:
                self.feature[slot] = -1
            if self.feature[slot] < 0:
                self.label[slot] = class_weights[slot].argmax()

    def objective(self, problem: Problem) -> float:
        """Add up the misclassified weight and the cost of the splits."""
        wrong = self.label[self.route(problem)] != problem.y
        n_splits: int = plain.count_splits(self, 0, problem.n_slots)
        return float(problem.weight[wrong].sum()) + problem.split_cost * n_splits

    def to_tree(
        self,
        problem: Problem,
        classes: NDArray[Any],
        names: list[str] | None,
        X: NDArray[np.float32],
        weights: NDArray[np.float64],
    ) -> Tree:
        """Turn the slots into a Tree, nodes numbered in preorder, with the training rows' class counts."""

        def read(slot: int) -> tuple[Node, dict[str, Any]]:
            if self.feature[slot] < 0:
                return Node(leaf_class=int(self.label[slot])), {}
            test = Node(feature=int(self.feature[slot]), threshold=float(self.threshold[slot]))
            return test, {"left": 2 * slot + 1, "right": 2 * slot + 2}

        named = {"classes": classes.tolist(), "n_features": X.shape[1], "feature_names": names}
        tree = make_from_nodes(grow_nodes(0, read), dtype="float32", **named)
        counted = replace(tree, counts=count_classes(tree, apply_tree(tree, Rows.of(X)), problem.y, weights))
        check_tree(counted)  # also makes the counts read-only
        return counted
