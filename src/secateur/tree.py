"""The neutral decision tree: read-only parallel arrays with a written contract.

Every adapter ends here and everything else starts here. The contract is specified in
``docs/tree-format.md``; :func:`check_tree` enforces it and names the invariant that is broken.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InvalidTreeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["SMALL_TREE_NODES", "Label", "Tree", "check_tree", "make_tree"]

Label = str | int | float | bool
"""What a class label or a category may be: the scalars that JSON can carry exactly."""

# Plain Python passes such a tree node by node sooner than numpy does level by level.
SMALL_TREE_NODES = 1_000
COMPARISON_DTYPES = ("float32", "float64")


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A fitted binary classification tree as parallel arrays.

    The i-th element of each node array holds information about node ``i``; node 0 is the root. Node ids
    are the source library's own ids. Build one with :func:`secateur.from_model`,
    :class:`secateur.TreeBuilder` or :meth:`Tree.from_json`; the constructor itself checks nothing.

    Attributes
    ----------
    children_left, children_right : ndarray of int64, shape (n_nodes,)
        Ids of the children; both are -1 at a leaf. Otherwise both are larger than ``i``.
    feature : ndarray of int64, shape (n_nodes,)
        The feature that node ``i`` tests; -1 at a leaf.
    threshold : ndarray of float64, shape (n_nodes,)
        A row goes left when ``dtype(x[feature]) <= threshold``. May be ``+inf`` (every number goes left);
        NaN at a leaf and at a categorical split.
    missing_left : ndarray of bool, shape (n_nodes,)
        Whether NaN goes left; False at a leaf and where ``accepts_missing[feature]`` is False.
    category_offsets : ndarray of int64, shape (n_nodes + 1,)
    category_codes : ndarray of int64
        ``category_codes[category_offsets[i]:category_offsets[i + 1]]`` are the category codes that go left
        at node ``i``, strictly increasing; empty at leaves and numeric splits.
    leaf_class : ndarray of int64, shape (n_nodes,)
        Index into ``classes`` of what the leaf predicts; -1 at an internal node.
    counts : ndarray of float64, shape (n_nodes, n_classes), or None
        (Weighted) number of training rows of each class; None when the source has none.
    classes : ndarray, shape (n_classes,)
        The labels, in the source's order.
    n_features : int
        Number of columns of the rows.
    accepts_missing : ndarray of bool, shape (n_features,)
        Whether NaN belongs to the feature's domain. Elsewhere NaN is refused.
    categories : tuple, length n_features
        None for a numeric feature, else the tuple of its category labels; code ``k`` is the k-th label, and
        code ``len(labels)`` stands for every value that is not listed.
    feature_names : tuple of str, or None
        Column names; None when the source has none.
    class_names : tuple of str
        How the classes read.
    dtype : {"float32", "float64"}
        The type that a value is rounded to before it is compared.
    monotone : ndarray of int8, shape (n_features,), or None
        Monotonicity signs that the tree was fitted with: +1 larger values favour the second class, -1 the
        first, 0 neither.

    Examples
    --------
    >>> from secateur import TreeBuilder
    >>> builder = TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    >>> root = builder.split("age", 30)
    >>> _ = builder.leaf([8, 2], parent=root, side="left")
    >>> _ = builder.leaf([1, 9], parent=root, side="right")
    >>> builder.build()
    <Tree: 2 leaves, depth 1, 1 feature, classes no, yes>
    """

    children_left: NDArray[np.int64]
    children_right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    category_offsets: NDArray[np.int64]
    category_codes: NDArray[np.int64]
    leaf_class: NDArray[np.int64]
    counts: NDArray[np.float64] | None
    classes: NDArray[Any]
    n_features: int
    accepts_missing: NDArray[np.bool_]
    categories: tuple[tuple[Label, ...] | None, ...]
    feature_names: tuple[str, ...] | None
    class_names: tuple[str, ...]
    dtype: str
    monotone: NDArray[np.int8] | None

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.children_left)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Mask of the leaves, shape (n_nodes,)."""
        return _read_only(self.children_left < 0)

    @property
    def n_leaves(self) -> int:
        """Number of leaves, and so of rules."""
        return int(self.is_leaf.sum())

    @cached_property
    def levels(self) -> tuple[NDArray[np.int64], ...]:
        """Node ids by depth: ``levels[d]`` holds the nodes at depth ``d``, left to right."""
        found = []
        frontier = np.zeros(1, dtype=np.int64)
        while len(frontier):
            found.append(_read_only(frontier))
            inner = frontier[self.children_left[frontier] >= 0]
            frontier = np.column_stack([self.children_left[inner], self.children_right[inner]]).ravel()
        return tuple(found)

    @cached_property
    def inner_levels(self) -> tuple[NDArray[np.int64], ...]:
        """The internal nodes of each level that has any, from the root down."""
        return tuple(_read_only(level[~self.is_leaf[level]]) for level in self.levels[:-1])

    @cached_property
    def node_depth(self) -> NDArray[np.int64]:
        """Number of links from the root to each node, shape (n_nodes,)."""
        if self.n_nodes > SMALL_TREE_NODES:
            depth = np.zeros(self.n_nodes, dtype=np.int64)
            for number, level in enumerate(self.levels):
                depth[level] = number
            return _read_only(depth)
        depths = [0] * self.n_nodes
        for node, (left, right) in enumerate(
            zip(self.children_left.tolist(), self.children_right.tolist(), strict=True)
        ):
            if left >= 0:  # a child has a larger id than its parent
                depths[left] = depths[right] = depths[node] + 1
        return _read_only(np.array(depths))

    @property
    def depth(self) -> int:
        """Number of links on the longest path."""
        return int(self.node_depth.max())

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """Each threshold rounded down to ``dtype``, as float64.

        ``dtype(x) <= threshold`` and ``dtype(x) <= upper`` are the same test for every number, and two
        values of ``upper`` enclose a number of ``dtype`` exactly when they differ.
        """
        return _read_only(round_down(self.threshold, self.dtype))

    @property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Mask of the nodes that split by a set of categories, shape (n_nodes,)."""
        return ~self.is_leaf & np.isnan(self.threshold)

    def left_codes(self, node: int | np.integer[Any]) -> NDArray[np.int64]:
        """Category codes that go left at a categorical split.

        Parameters
        ----------
        node : int

        Returns
        -------
        ndarray of int64
        """
        return self.category_codes[self.category_offsets[node] : self.category_offsets[node + 1]]

    @cached_property
    def category_table(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where each categorical split sends each code.

        ``flat[start[i] + code]`` is True when ``code`` goes left at node ``i``; ``start`` is -1 elsewhere.
        """
        start = np.full(self.n_nodes, -1, dtype=np.int64)
        tables: list[NDArray[np.bool_]] = [np.zeros(0, dtype=bool)]
        filled = 0
        for node in np.flatnonzero(self.is_categorical):
            table = np.zeros(len(self.categories[self.feature[node]] or ()) + 1, dtype=bool)
            table[self.left_codes(node)] = True
            start[node] = filled
            filled += len(table)
            tables.append(table)
        return _read_only(start), _read_only(np.concatenate(tables))

    def feature_name(self, feature: int) -> str:
        """The column's name, or ``x0``, ``x1``, … where the source has none.

        Parameters
        ----------
        feature : int

        Returns
        -------
        str
        """
        return f"x{feature}" if self.feature_names is None else self.feature_names[feature]

    def to_json(self) -> str:
        """Write the tree as versioned JSON, exact for every float.

        Returns
        -------
        str
        """
        from secateur.tree_json import tree_to_json

        return tree_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Read a tree that :meth:`to_json` wrote, and check every invariant.

        Parameters
        ----------
        text : str

        Returns
        -------
        Tree
        """
        from secateur.tree_json import tree_from_json

        return tree_from_json(text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return all(_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is arrays

    def __repr__(self) -> str:
        labels = ", ".join(self.class_names[:5]) + (", …" if self.n_classes > 5 else "")
        return (
            f"<Tree: {_count(self.n_leaves, 'leaf', 'leaves')}, depth {self.depth}, "
            f"{_count(self.n_features, 'feature', 'features')}, classes {labels}>"
        )


def make_tree(
    *,
    children_left: object,
    children_right: object,
    feature: object,
    threshold: object,
    leaf_class: object,
    classes: object,
    n_features: int,
    counts: object = None,
    missing_left: object = None,
    accepts_missing: object = False,
    left_categories: Mapping[int, Sequence[int]] | None = None,
    categories: Sequence[Sequence[Label] | None] | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    dtype: str = "float32",
    monotone: object = None,
) -> Tree:
    """Assemble a checked :class:`Tree`; the slots that a node does not use get their fixed values.

    Parameters
    ----------
    children_left, children_right, feature, threshold, leaf_class : array-like of shape (n_nodes,)
    classes : array-like of shape (n_classes,)
    n_features : int
    counts : array-like of shape (n_nodes, n_classes), default=None
    missing_left : array-like of bool of shape (n_nodes,), default=None
        None sends NaN right everywhere.
    accepts_missing : bool or array-like of bool of shape (n_features,), default=False
    left_categories : dict of int to sequence of int, default=None
        The codes that go left, for each categorical split.
    categories : sequence of length n_features, default=None
    feature_names, class_names : sequence of str, default=None
    dtype : {"float32", "float64"}, default="float32"
    monotone : array-like of shape (n_features,), default=None

    Returns
    -------
    Tree
    """
    left = np.array(children_left, dtype=np.int64)
    leaf = left < 0
    codes_of = left_categories or {}
    columns = {
        "children_right": np.array(children_right, dtype=np.int64),
        "feature": np.array(feature, dtype=np.int64),
        "threshold": np.array(threshold, dtype=np.float64),
        "leaf_class": np.array(leaf_class, dtype=np.int64),
        "missing_left": np.zeros(len(left), bool) if missing_left is None else np.array(missing_left, dtype=bool),
    }
    for name, column in columns.items():
        _require(column.shape == left.shape, f"{name} has shape {column.shape}, but there are {len(left)} nodes")
    columns["feature"][leaf] = -1
    columns["threshold"][leaf] = np.nan
    columns["threshold"][list(codes_of)] = np.nan
    columns["leaf_class"][~leaf] = -1
    accepts = np.array(np.broadcast_to(np.asarray(accepts_missing, dtype=bool), (n_features,)))
    tested = np.where((columns["feature"] >= 0) & (columns["feature"] < n_features), columns["feature"], n_features)
    columns["missing_left"] &= np.append(accepts, False)[tested]
    lengths = np.zeros(len(left), dtype=np.int64)
    for node, codes in codes_of.items():
        lengths[node] = len(codes)
    labels = np.array(classes)
    plain = _plain_labels(list(classes))  # type: ignore[call-overload]
    _require(tuple(labels.tolist()) == plain, f"the classes {plain} are not all of one type")
    names = labels.tolist() if class_names is None else class_names
    tree = Tree(
        children_left=left,
        **columns,
        category_offsets=np.concatenate([[0], np.cumsum(lengths)]),
        category_codes=np.array([c for node in sorted(codes_of) for c in sorted(codes_of[node])], dtype=np.int64),
        counts=None if counts is None else np.array(counts, dtype=np.float64),
        classes=labels,
        n_features=int(n_features),
        accepts_missing=accepts,
        categories=tuple(None if c is None else _plain_labels(c) for c in categories or (None,) * n_features),
        feature_names=None if feature_names is None else tuple(str(name) for name in feature_names),
        class_names=tuple(str(name) for name in names),
        dtype=dtype,
        monotone=None if monotone is None else np.array(monotone, dtype=np.int8),
    )
    check_tree(tree)
    return tree


def check_tree(tree: Tree) -> None:
    """Raise :class:`~secateur.errors.InvalidTreeError` naming the first invariant that ``tree`` breaks.

    The arrays are made read-only on the way, so that a tree once checked stays true.

    Parameters
    ----------
    tree : Tree
    """
    for field in fields(tree):
        if isinstance(value := getattr(tree, field.name), np.ndarray):
            _read_only(value)
    _check_labels(tree)
    _check_topology(tree)
    _check_splits(tree)
    _check_category_sets(tree)
    _check_counts(tree)


def round_down(values: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """The largest number of ``dtype`` that does not exceed each value, as float64; NaN stays NaN."""
    if dtype == "float64":
        return np.array(values)
    with np.errstate(over="ignore"):
        nearest = values.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest.astype(np.float64) > values, below, nearest).astype(np.float64)


def _check_labels(tree: Tree) -> None:
    labels = tree.classes
    _require(labels.ndim == 1 and len(labels) > 0, f"classes must be a non-empty list, found shape {labels.shape}")
    plain = labels.tolist()
    _check_scalars(plain, "a class label")
    _require(len(set(plain)) == len(plain), f"the classes {plain} are not distinct")
    _require(len(tree.class_names) == len(plain), f"{len(tree.class_names)} class names for {len(plain)} classes")
    names = tree.feature_names
    _require(
        names is None or len(names) == tree.n_features,
        f"{0 if names is None else len(names)} feature names for {tree.n_features} features",
    )
    twice = next((name for name, times in Counter(names or ()).items() if times > 1), None)
    _require(twice is None, f"two features have the same name, {twice!r}")
    _require(tree.dtype in COMPARISON_DTYPES, f"dtype must be float32 or float64, found {tree.dtype!r}")
    _require(tree.accepts_missing.shape == (tree.n_features,), "accepts_missing must have one entry per feature")
    _require(len(tree.categories) == tree.n_features, "categories must have one entry per feature")
    for feature, levels in enumerate(tree.categories):
        if levels is not None:
            _check_scalars(levels, f"a category of feature {feature}")
            distinct = len(levels) > 0 and len(set(levels)) == len(levels)
            _require(distinct, f"the categories of feature {feature} are empty or not distinct")
    signs = tree.monotone
    _require(
        signs is None or (signs.shape == (tree.n_features,) and bool(np.isin(signs, (-1, 0, 1)).all())),
        "monotone must have one sign of -1, 0 or +1 per feature",
    )


def _check_topology(tree: Tree) -> None:
    left, right = tree.children_left, tree.children_right
    _require(left.ndim == 1, "children_left must be a list with one entry per node")
    _require(len(left) > 0, "a tree needs at least one node")
    n_nodes = len(left)
    for name in ("children_right", "feature", "threshold", "missing_left", "leaf_class"):
        shape = getattr(tree, name).shape
        _require(shape == (n_nodes,), f"{name} has shape {shape}, but there are {n_nodes} nodes")
    leaf = left < 0
    _require_each(leaf == (right < 0), "has one child; a node has two children or none")
    _require_each(~leaf | ((left == -1) & (right == -1)), "is a leaf, so both its children must be -1")
    ids = np.arange(n_nodes)
    _require_each(leaf | ((left > ids) & (right > ids)), "has a child whose id is not larger than its own")
    _require_each(leaf | ((left < n_nodes) & (right < n_nodes)), "has a child that does not exist")
    seen = np.bincount(np.concatenate([left[~leaf], right[~leaf]]), minlength=n_nodes)
    _require_each(seen == (ids > 0), "is not the child of exactly one node (the root: of none)")


def _check_splits(tree: Tree) -> None:
    leaf = tree.is_leaf
    _require_each(~leaf | (tree.feature == -1), "is a leaf, so its feature must be -1")
    in_range = (tree.feature >= 0) & (tree.feature < tree.n_features)
    _require_each(leaf | in_range, f"tests a feature outside 0 to {tree.n_features - 1}")
    _require_each(~leaf | np.isnan(tree.threshold), "is a leaf, so its threshold must be NaN")
    categorical = np.array([levels is not None for levels in tree.categories] + [False])
    on_categories = ~leaf & categorical[tree.feature]
    _require_each(
        leaf | (np.isnan(tree.threshold) == on_categories),
        "needs a threshold for a numeric feature, and a set of categories for a categorical one",
    )
    _require_each(~np.isneginf(tree.threshold), "has the threshold -inf, which no number is below")
    allowed = np.append(tree.accepts_missing, False)[tree.feature] & ~leaf
    _require_each(~tree.missing_left | allowed, "sends NaN left, but its feature takes no missing values")
    _require_each(leaf == (tree.leaf_class >= 0), "must have a class if it is a leaf, and -1 if it is not")
    _require_each(tree.leaf_class < tree.n_classes, f"predicts a class outside 0 to {tree.n_classes - 1}")


def _check_category_sets(tree: Tree) -> None:
    offsets, codes = tree.category_offsets, tree.category_codes
    sound = codes.ndim == 1 and offsets.shape == (tree.n_nodes + 1,) and offsets[0] == 0 and offsets[-1] == len(codes)
    _require(bool(sound), "category_offsets must start at 0, have n_nodes + 1 entries and end at len(category_codes)")
    lengths = np.diff(offsets)
    _require_each(lengths >= 0, "has a category offset smaller than the one before it")
    _require_each(tree.is_categorical | (lengths == 0), "lists categories, but does not split by category")
    for node in np.flatnonzero(tree.is_categorical):
        listed = tree.left_codes(node)
        size = len(tree.categories[tree.feature[node]] or ())
        fine = len(listed) > 0 and bool((np.diff(listed) > 0).all()) and listed[0] >= 0 and listed[-1] <= size
        _require(fine, f"node {node} must list increasing category codes between 0 and {size}, found {listed.tolist()}")
        _require(len(listed) <= size, f"node {node} sends every category left")


def _check_counts(tree: Tree) -> None:
    counts = tree.counts
    if counts is None:
        return
    wanted = (tree.n_nodes, tree.n_classes)
    _require(counts.shape == wanted, f"counts has shape {counts.shape}, expected {wanted}")
    sound = np.isfinite(counts) & (counts >= 0)
    _require_each(np.asarray(sound.all(axis=1)), "has a negative or infinite class count")


def _check_scalars(labels: Sequence[object], what: str) -> None:
    for label in labels:
        plain = isinstance(label, (str, int, float)) and not isinstance(label, np.generic)
        finite = not isinstance(label, float) or np.isfinite(label)
        _require(bool(plain and finite), f"{what} must be a text, finite number or bool, found {label!r}")


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise InvalidTreeError(f"Not a valid tree: {sentence}.")


def _require_each(holds: NDArray[np.bool_], sentence: str) -> None:
    if not holds.all():
        broken = np.flatnonzero(~holds)
        more = f" ({len(broken)} nodes do)" if len(broken) > 1 else ""
        raise InvalidTreeError(f"Not a valid tree: node {broken[0]} {sentence}{more}.")


def _plain_labels(labels: Sequence[Any]) -> tuple[Label, ...]:
    return tuple(label.item() if isinstance(label, np.generic) else label for label in labels)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) != isinstance(other, np.ndarray):
        return False
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and bool(
            np.array_equal(one, other, equal_nan=one.dtype.kind == "f" and other.dtype.kind == "f")
        )
    return one == other


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
