"""The neutral decision tree: read-only parallel arrays with a written contract.

Every adapter ends here and everything else starts here. ``docs/tree-format.md`` specifies the contract;
:mod:`secateur.tree.contract` enforces it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ParameterError
from secateur.tree.columns import ColumnParser, Columns, show_text
from secateur.tree.contract import VALUE, check_tree, require
from secateur.tree.facts import NO_FACTS, Facts

Label = str | int | float | bool
"""What a class label or a category may be: the scalars that JSON can carry exactly."""

SMALL_TREE_NODES = 1_000  # up to this size, plain Python node by node is faster than numpy level by level


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A fitted binary tree, of classes or of values (regression), as parallel arrays.

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
        Whether NaN belongs to the feature's domain. Elsewhere NaN is rejected.
    categories : tuple, length n_features
        None for a numeric feature, else the tuple of its category labels; code ``k`` is the k-th label, and
        code ``len(labels)`` stands for every value that is not listed.
    feature_names : tuple of str, or None
        Column names; None when the source has none.
    class_names : tuple of str
        How the classes are shown; invisible characters are escaped, as Python does in quotes. Of a regression tree, how
        values are: ``"€{}"`` leaves a place for the number, and any other name does nothing.
    dtype : {"float32", "float64"}
        The type that a value is rounded to before it is compared.
    monotone : ndarray of int8, shape (n_features,), or None
        Monotonicity signs that the tree was fitted with: +1 larger values favour the second class, -1 the
        first, 0 neither.
    columns : Columns, or None
        How a person's own columns become the features, where a pipeline stood between them; else None.
    facts : Facts
        Stated facts about the columns.
    column_parsers : tuple of (ColumnParser or None), length n_features or 0
        For a numeric feature whose column holds text or dates: which number each of them means. For one of categories:
        that blanks around its texts do not count. Empty if no column has a parser.
    values : ndarray of float64, shape (n_nodes,), or None
        Of a regression tree: what each leaf predicts, NaN at internal nodes. Such a tree has one class, and ``counts``
        are its rows.

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
    columns: Columns | None = None
    facts: Facts = NO_FACTS
    column_parsers: tuple[ColumnParser | None, ...] = ()
    values: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "class_names", tuple(map(show_text, self.class_names)))

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.children_left)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def is_regression(self) -> bool:
        """Whether leaves predict values, not classes."""
        return self.values is not None

    @property
    def answers(self) -> NDArray[Any]:
        """What each leaf predicts, a label or a value, shape (n_nodes,); at internal nodes nothing that counts."""
        return self.classes[self.leaf_class] if self.values is None else self.values

    def require_classes(self, what: str) -> None:
        """Raise if the tree predicts numbers, for something that is about classes.

        Parameters
        ----------
        what : str
            What was asked for; it begins the message.
        """
        if self.is_regression:
            raise ParameterError(f"{what} needs classes, but these rules predict numbers.")

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

    @property
    def node_depth(self) -> NDArray[np.int64]:
        """Number of edges from the root to each node, shape (n_nodes,)."""
        return self._layout[0]

    @property
    def leaf_runs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the leaves below each node begin and end, counted from left to right, each of shape (n_nodes,)."""
        return self._layout[1:]

    @cached_property
    def _layout(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Depth, first leaf and end of the leaves of each node."""
        depth, first, below = (_lay_out_small if self.n_nodes <= SMALL_TREE_NODES else _lay_out)(self)
        return _read_only(depth), _read_only(first), _read_only(first + below)

    @property
    def depth(self) -> int:
        """Number of edges on the longest path."""
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
        """
        return self.category_codes[self.category_offsets[node] : self.category_offsets[node + 1]]

    @cached_property
    def category_table(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where each categorical split sends each code.

        ``flat[start[i] + code]`` is True when ``code`` goes left at node ``i``; ``start`` is -1 elsewhere.
        """
        start = np.full(self.n_nodes, -1, dtype=np.int64)
        tables = [np.zeros(0, dtype=bool)]
        filled = 0
        for node in np.flatnonzero(self.is_categorical):
            table = np.zeros(len(self.categories[self.feature[node]] or ()) + 1, dtype=bool)
            table[self.left_codes(node)] = True
            start[node] = filled
            filled += len(table)
            tables.append(table)
        return _read_only(start), _read_only(np.concatenate(tables))

    def feature_name(self, feature: int) -> str:
        """Name a column: its own name, or ``x0``, ``x1``, … where the source has none.

        Parameters
        ----------
        feature : int
        """
        return f"x{feature}" if self.feature_names is None else self.feature_names[feature]

    @property
    def has_own_counts(self) -> bool:
        """Whether there are class counts, and not the shares that scikit-learn clips to keep a tree monotone.

        Clipped shares do not add up from children to parents.
        """
        if self.counts is None or self.monotone is None:
            return self.counts is not None
        inner = ~self.is_leaf
        below = self.counts[self.children_left[inner]] + self.counts[self.children_right[inner]]
        return bool(np.allclose(below, self.counts[inner], rtol=1e-9))

    def column_parser(self, feature: int) -> ColumnParser | None:
        """Find the parser of a column's texts; None for a column that holds what the tree compares.

        Parameters
        ----------
        feature : int
        """
        return self.column_parsers[feature] if self.column_parsers else None

    def describe_decimals(self, feature: int) -> str:
        """Describe the stated decimals of a feature's numbers.

        Parameters
        ----------
        feature : int
        """
        parser, name = self.column_parser(feature), self.feature_name(feature)
        if parser is not None and parser.is_whole_days:
            return f"{name} is a date"
        return self.facts.describe_decimals(feature, name)

    def to_json(self) -> str:
        """Write the tree as versioned JSON, exact for every float."""
        from secateur.tree.json import tree_to_json

        return tree_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """Read a tree that :meth:`to_json` wrote, and check every invariant.

        Parameters
        ----------
        text : str
        """
        from secateur.tree.json import tree_from_json

        return tree_from_json(text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return all(is_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is arrays

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # what follows from them can be found again

    def __repr__(self) -> str:
        labels = f"classes {', '.join(self.class_names[:5])}{', …' if self.n_classes > 5 else ''}"
        if self.values is not None:
            labels = f"values {np.nanmin(self.values):.6g} to {np.nanmax(self.values):.6g}"
        leaves = f"{self.n_leaves} {'leaf' if self.n_leaves == 1 else 'leaves'}"
        features = f"{self.n_features} feature{'s' if self.n_features != 1 else ''}"
        return f"<Tree: {leaves}, depth {self.depth}, {features}, {labels}>"


def make_tree(
    *,
    children_left: object,
    children_right: object,
    feature: object,
    threshold: object,
    leaf_class: object = 0,
    classes: object = (VALUE,),
    n_features: int,
    values: object = None,
    counts: object = None,
    missing_left: object = None,
    accepts_missing: object = False,
    left_categories: Mapping[int, Sequence[int]] | None = None,
    categories: Sequence[Sequence[Label] | None] | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    dtype: str = "float32",
    monotone: object = None,
    columns: Columns | None = None,
) -> Tree:
    """Assemble and check a :class:`Tree` from array-likes; the slots that a node does not use get their fixed values.

    The parameters are the tree's attributes, but for ``left_categories``: the codes that go left at each categorical
    split, by node. With ``values``, which those of leaves alone matter of, it is a regression tree, and classes are
    left out. ``missing_left=None`` sends NaN right everywhere; one ``accepts_missing`` holds for all columns.
    """
    left = np.array(children_left, dtype=np.int64)
    leaf = left < 0
    codes_of = left_categories or {}
    arrays: dict[str, Any] = {
        "children_right": np.array(children_right, dtype=np.int64),
        "feature": np.array(feature, dtype=np.int64),
        "threshold": np.array(threshold, dtype=np.float64),
        "leaf_class": np.array(leaf_class if values is None else np.zeros(len(left)), dtype=np.int64),
        "missing_left": np.zeros(len(left), bool) if missing_left is None else np.array(missing_left, dtype=bool),
    }
    if values is not None:
        arrays["values"] = np.array(values, dtype=np.float64)
    for name, column in arrays.items():
        if column.shape != left.shape:
            require(False, f"{name} has shape {column.shape}, but there are {len(left)} nodes")
    arrays["feature"][leaf] = -1
    arrays["threshold"][leaf] = np.nan
    arrays["leaf_class"][~leaf] = -1
    if values is not None:
        arrays["values"][~leaf] = np.nan
    accepts = np.empty(n_features, dtype=bool)
    accepts[:] = accepts_missing
    if accepts.any():
        tested = np.where((arrays["feature"] >= 0) & (arrays["feature"] < n_features), arrays["feature"], n_features)
        arrays["missing_left"] &= np.append(accepts, False)[tested]
    else:
        arrays["missing_left"][:] = False
    ends = np.zeros(len(left) + 1, dtype=np.int64)
    if codes_of:
        arrays["threshold"][list(codes_of)] = np.nan
        ends[np.array(list(codes_of)) + 1] = [len(codes) for codes in codes_of.values()]
        np.cumsum(ends, out=ends)
    labels = np.array(classes)
    plain = _plain_labels(list(classes))  # type: ignore[call-overload]
    require(tuple(labels.tolist()) == plain, f"the classes {plain} are not all of one type")
    names = labels.tolist() if class_names is None else class_names
    tree = Tree(
        children_left=left,
        **arrays,
        category_offsets=ends,
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
        columns=columns,
    )
    check_tree(tree)
    return tree


def _lay_out(tree: Tree) -> tuple[NDArray[np.int64], ...]:
    """Find depth, first leaf and number of leaves of each node, level by level."""
    depth, first = np.zeros((2, tree.n_nodes), dtype=np.int64)
    below = tree.is_leaf.astype(np.int64)
    for inner in reversed(tree.inner_levels):
        below[inner] = below[tree.children_left[inner]] + below[tree.children_right[inner]]
    for number, inner in enumerate(tree.inner_levels):
        left, right = tree.children_left[inner], tree.children_right[inner]
        depth[left] = depth[right] = number + 1
        first[left], first[right] = first[inner], first[inner] + below[left]
    return depth, first, below


def _lay_out_small(tree: Tree) -> tuple[NDArray[np.int64], ...]:
    """Find the same node by node: a child has a larger id than its parent."""
    inner = np.flatnonzero(~tree.is_leaf)
    sides = inner, tree.children_left[inner], tree.children_right[inner]
    splits = list(zip(*(side.tolist() for side in sides), strict=True))
    depth, first, below = [0] * tree.n_nodes, [0] * tree.n_nodes, [1] * tree.n_nodes
    for node, left, right in reversed(splits):
        below[node] = below[left] + below[right]
    for node, left, right in splits:
        depth[left] = depth[right] = depth[node] + 1
        begin = first[left] = first[node]
        first[right] = begin + below[left]
    found = array("q", depth + first + below)  # a third of the time that numpy takes to read a list
    return tuple(np.frombuffer(found, dtype=np.int64).reshape(3, tree.n_nodes))


def round_down(values: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """The largest number of ``dtype`` that does not exceed each value, as float64; NaN stays NaN."""
    if dtype == "float64":
        return np.array(values)
    with np.errstate(over="ignore"):  # beyond float32 a number becomes infinite
        nearest = values.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest.astype(np.float64) > values, below, nearest).astype(np.float64)


def _plain_labels(labels: Sequence[Any]) -> tuple[Label, ...]:
    return tuple(label.item() if isinstance(label, np.generic) else label for label in labels)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def is_same(one: object, other: object) -> bool:
    """Whether two fields of trees are equal; NaN equals NaN in them."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f"))
    return isinstance(one, np.ndarray) == isinstance(other, np.ndarray) and one == other


def pack_codes(left_codes: Mapping[int, NDArray[np.int64]], n_nodes: int) -> dict[str, Any]:
    """Write the codes that go left as a Tree holds them; make_tree takes lists, too slow for millions of codes."""
    lengths = [len(left_codes.get(node, ())) for node in range(n_nodes)]
    return {
        "category_offsets": np.concatenate([[0], np.cumsum(lengths)]),
        "category_codes": np.concatenate([np.zeros(0, dtype=np.int64), *(left_codes[k] for k in sorted(left_codes))]),
    }
