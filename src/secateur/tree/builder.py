"""Build trees by hand, node by node.

A child is added after its parent, so ids grow from parent to child as the contract wants, and a mistake is rejected at
the call that makes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from secateur.errors import InvalidTreeError
from secateur.tree.contract import VALUE
from secateur.tree.tree import Label, Tree, make_tree


@dataclass
class _Node:
    feature: int = -1
    threshold: float = float("nan")
    codes: list[int] | None = None  # that go left at a categorical split
    missing_left: bool = False
    leaf_class: int = -1
    counts: list[float] | None = None
    value: float = float("nan")
    left: int = -1
    right: int = -1


class TreeBuilder:
    """Build a :class:`Tree` by hand or from a tool that has no adapter.

    Parameters
    ----------
    classes : sequence of labels, or None
        The labels, in the order of the counts given to :meth:`leaf`; None for a regression tree.
    feature_names : sequence of str
        The columns, in the order of the rows' columns.
    categories : mapping of str to sequence of labels, default=None
        For each categorical column its categories; the other columns are numeric.
    accepts_missing : bool or sequence of str, default=False
        The columns that may hold NaN; True means all of them.
    dtype : {"float32", "float64"}, default="float32"
        The type that values are rounded to before they are compared with a threshold.

    Examples
    --------
    >>> builder = TreeBuilder(
    ...     classes=["stay", "go"],
    ...     feature_names=["rain", "city"],
    ...     categories={"city": ["Oslo", "Rome"]},
    ... )
    >>> root = builder.split("rain", 0.5)
    >>> town = builder.split_categories("city", ["Rome"], parent=root, side="left")
    >>> _ = builder.leaf([1, 9], parent=town, side="left")
    >>> _ = builder.leaf([6, 4], parent=town, side="right")
    >>> _ = builder.leaf([9, 0], parent=root, side="right")
    >>> tree = builder.build()
    >>> tree.n_leaves, tree.counts[0].tolist()
    (3, [16.0, 13.0])
    """

    def __init__(
        self,
        classes: Sequence[Label] | None,
        feature_names: Sequence[str],
        *,
        categories: Mapping[str, Sequence[Label]] | None = None,
        accepts_missing: bool | Sequence[str] = False,
        dtype: str = "float32",
    ) -> None:
        self._is_regression = classes is None
        self._classes: list[Label] = [VALUE] if classes is None else list(classes)
        self._names = [str(name) for name in feature_names]
        self._dtype = dtype
        self._categories = {self._feature(name): list(levels) for name, levels in (categories or {}).items()}
        self._accepts = np.zeros(len(self._names), dtype=bool)
        if isinstance(accepts_missing, bool):
            self._accepts[:] = accepts_missing
        else:
            self._accepts[[self._feature(name) for name in accepts_missing]] = True
        self._nodes: list[_Node] = []

    def split(
        self,
        feature: str,
        threshold: float,
        *,
        parent: int | None = None,
        side: str | None = None,
        missing: str = "right",
    ) -> int:
        """Add a node that sends ``feature <= threshold`` left and everything above it right.

        Parameters
        ----------
        feature : str
        threshold : float
        parent : int, default=None
            Id of the parent; None for the root.
        side : {"left", "right"}, default=None
            Which child of the parent this is.
        missing : {"left", "right"}, default="right"
            Where NaN goes, if the column takes it.

        Returns
        -------
        int
            The new node's id.
        """
        column = self._feature(feature)
        if column in self._categories:
            raise InvalidTreeError(f"{feature!r} is categorical: use split_categories for it.")
        try:
            limit = float(threshold)
        except (TypeError, ValueError):
            raise InvalidTreeError(f"Expected a number as threshold of {feature!r}, found {threshold!r}.") from None
        return self._add(_Node(column, limit, missing_left=_is_left("missing", missing)), parent, side)

    def split_categories(
        self,
        feature: str,
        left: Sequence[Label],
        *,
        parent: int | None = None,
        side: str | None = None,
        missing: str = "right",
        unlisted: str = "right",
    ) -> int:
        """Add a node that sends the categories in ``left`` left and the others right.

        Parameters
        ----------
        feature : str
        left : sequence of labels
        parent : int, default=None
            Id of the parent; None for the root.
        side : {"left", "right"}, default=None
            Which child of the parent this is.
        missing : {"left", "right"}, default="right"
            Where NaN goes, if the column takes it.
        unlisted : {"left", "right"}, default="right"
            Where a value goes that is none of the column's categories.

        Returns
        -------
        int
            The new node's id.
        """
        column = self._feature(feature)
        levels = self._categories.get(column)
        if levels is None:
            raise InvalidTreeError(f"{feature!r} is numeric: list its categories in TreeBuilder(categories=...) first.")
        unknown = [label for label in left if label not in levels]
        if unknown:
            raise InvalidTreeError(f"{feature!r} has no category {unknown[0]!r}; it has {levels}.")
        codes = [levels.index(label) for label in left] + [len(levels)] * _is_left("unlisted", unlisted)
        return self._add(_Node(column, codes=codes, missing_left=_is_left("missing", missing)), parent, side)

    def leaf(
        self,
        counts: Sequence[float] | None = None,
        *,
        prediction: Label | None = None,
        parent: int | None = None,
        side: str | None = None,
    ) -> int:
        """Add a leaf, by its class counts, its class, or both.

        Parameters
        ----------
        counts : sequence of float, default=None
            (Weighted) training rows of each class, of a regression tree ``[rows]``. Give them for all leaves or for
            none.
        prediction : label, default=None
            The predicted class; by default the one with the largest count, the first of equals. Of a regression tree
            the value.
        parent : int, default=None
            Id of the parent; None for a tree of one leaf.
        side : {"left", "right"}, default=None
            Which child of the parent this is.

        Returns
        -------
        int
            The new node's id.
        """
        if counts is None and prediction is None:
            raise InvalidTreeError("A leaf needs counts, a prediction, or both.")
        if counts is not None and len(counts) != len(self._classes):
            raise InvalidTreeError(f"Expected {len(self._classes)} class counts for a leaf, found {len(counts)}.")
        if self._is_regression:
            if isinstance(prediction, (bool, str)) or prediction is None:
                raise InvalidTreeError(
                    f"A leaf of a regression tree needs its value as prediction, found {prediction!r}."
                )
            value, prediction = float(prediction), VALUE
        else:
            value = float("nan")
        if prediction is not None and prediction not in self._classes:
            raise InvalidTreeError(f"{prediction!r} is none of the classes {self._classes}.")
        chosen = self._classes.index(prediction) if prediction is not None else int(np.argmax(np.asarray(counts)))
        return self._add(
            _Node(leaf_class=chosen, counts=None if counts is None else list(map(float, counts)), value=value),
            parent,
            side,
        )

    def build(self) -> Tree:
        """Check the tree and return it; internal nodes get the sum of their leaves' counts."""
        nodes = self._nodes
        for place, node in enumerate(nodes):
            if node.leaf_class < 0 and -1 in (node.left, node.right):
                side = "left" if node.left < 0 else "right"
                raise InvalidTreeError(f"Node {place} has no {side} child yet; add one before build().")
        bare = [place for place, node in enumerate(nodes) if node.leaf_class >= 0 and node.counts is None]
        has_counts = any(node.counts is not None for node in nodes)
        if bare and has_counts:
            raise InvalidTreeError(
                f"Leaf {bare[0]} has no counts, but others do. Give counts for all leaves or for none."
            )
        counts = [np.array(node.counts or [0.0] * len(self._classes)) for node in nodes]
        # A child's id is larger than its parent's, so this backward sweep meets both children first.
        for place, node in reversed(list(enumerate(nodes))):
            if node.leaf_class < 0:
                counts[place] = counts[node.left] + counts[node.right]
        return make_tree(
            children_left=[node.left for node in nodes],
            children_right=[node.right for node in nodes],
            feature=[node.feature for node in nodes],
            threshold=[node.threshold for node in nodes],
            missing_left=[node.missing_left for node in nodes],
            left_categories={place: node.codes for place, node in enumerate(nodes) if node.codes is not None},
            leaf_class=[node.leaf_class for node in nodes],
            counts=counts if has_counts else None,
            values=[node.value for node in nodes] if self._is_regression else None,
            classes=self._classes,
            n_features=len(self._names),
            accepts_missing=self._accepts,
            categories=[self._categories.get(column) for column in range(len(self._names))],
            feature_names=self._names,
            dtype=self._dtype,
        )

    def _feature(self, name: str) -> int:
        if name not in self._names:
            raise InvalidTreeError(f"There is no column {name!r}; the columns are {self._names}.")
        return self._names.index(name)

    def _add(self, node: _Node, parent: int | None, side: str | None) -> int:
        place = len(self._nodes)
        if place == 0 and parent is not None:
            raise InvalidTreeError("The first node is the root and has no parent.")
        if place > 0:
            if parent is None or not 0 <= parent < place:
                raise InvalidTreeError(
                    f"Expected the id of an earlier node (0 to {place - 1}) as parent, found {parent!r}."
                )
            above = self._nodes[parent]
            if above.leaf_class >= 0:
                raise InvalidTreeError(f"Node {parent} is a leaf and cannot have children.")
            name = "left" if _is_left("side", side) else "right"
            if getattr(above, name) != -1:
                raise InvalidTreeError(f"Node {parent} already has a {name} child, node {getattr(above, name)}.")
            setattr(above, name, place)
        self._nodes.append(node)
        return place


def _is_left(name: str, side: object) -> bool:
    if side not in ("left", "right"):
        raise InvalidTreeError(f"Expected {name}='left' or {name}='right', found {side!r}.")
    return side == "left"
