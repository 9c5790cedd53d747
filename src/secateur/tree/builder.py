"""Hand-made trees, node by node.

A child is added after its parent, so ids grow from parent to child as the contract wants, and mistakes are
refused at the call that makes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.errors import InvalidTreeError
from secateur.tree.tree import Label, Tree, make_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["TreeBuilder"]


class TreeBuilder:
    """Build a :class:`Tree` by hand or from a tool that has no adapter.

    Parameters
    ----------
    classes : sequence of labels
        The labels, in the order of the counts given to :meth:`leaf`.
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
        classes: Sequence[Label],
        feature_names: Sequence[str],
        *,
        categories: Mapping[str, Sequence[Label]] | None = None,
        accepts_missing: bool | Sequence[str] = False,
        dtype: str = "float32",
    ) -> None:
        self._classes = list(classes)
        self._names = [str(name) for name in feature_names]
        self._dtype = dtype
        self._categories = {self._feature(name): list(levels) for name, levels in (categories or {}).items()}
        self._accepts = np.zeros(len(self._names), dtype=bool)
        if isinstance(accepts_missing, bool):
            self._accepts[:] = accepts_missing
        else:
            self._accepts[[self._feature(name) for name in accepts_missing]] = True
        self._left: list[int] = []
        self._right: list[int] = []
        self._split_features: list[int] = []
        self._thresholds: list[float] = []
        self._missing_left: list[bool] = []
        self._codes: dict[int, list[int]] = {}
        self._leaf_class: list[int] = []
        self._leaf_counts: dict[int, list[float]] = {}

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
        return self._add(parent, side, feature=column, threshold=limit, missing=missing)

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
        if unlisted not in ("left", "right"):
            raise InvalidTreeError(f"Expected unlisted='left' or unlisted='right', found {unlisted!r}.")
        codes = [levels.index(label) for label in left] + ([len(levels)] if unlisted == "left" else [])
        node = self._add(parent, side, feature=column, missing=missing)
        self._codes[node] = sorted(codes)
        return node

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
            (Weighted) training rows of each class. Give them for all leaves or for none.
        prediction : label, default=None
            The predicted class; by default the one with the largest count, the first of equals.
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
        if prediction is not None and prediction not in self._classes:
            raise InvalidTreeError(f"{prediction!r} is none of the classes {self._classes}.")
        chosen = self._classes.index(prediction) if prediction is not None else int(np.argmax(np.asarray(counts)))
        node = self._add(parent, side, leaf_class=chosen)
        if counts is not None:
            self._leaf_counts[node] = [float(count) for count in counts]
        return node

    def build(self) -> Tree:
        """Check the tree and return it; internal nodes get the sum of their leaves' counts.

        Returns
        -------
        Tree
        """
        leaves = [node for node, chosen in enumerate(self._leaf_class) if chosen >= 0]
        for node in range(len(self._left)):
            if self._leaf_class[node] < 0 and -1 in (self._left[node], self._right[node]):
                side = "left" if self._left[node] < 0 else "right"
                raise InvalidTreeError(f"Node {node} has no {side} child yet; add one before build().")
        if self._leaf_counts and len(self._leaf_counts) < len(leaves):
            bare = next(node for node in leaves if node not in self._leaf_counts)
            raise InvalidTreeError(f"Leaf {bare} has no counts, but others do. Give counts for all leaves or for none.")
        return make_tree(
            children_left=self._left,
            children_right=self._right,
            feature=self._split_features,
            threshold=self._thresholds,
            missing_left=self._missing_left,
            left_categories=self._codes,
            leaf_class=self._leaf_class,
            counts=self._sum_counts() if self._leaf_counts else None,
            classes=self._classes,
            n_features=len(self._names),
            accepts_missing=self._accepts,
            categories=[self._categories.get(column) for column in range(len(self._names))],
            feature_names=self._names,
            dtype=self._dtype,
        )

    def _sum_counts(self) -> list[list[float]]:
        counts = np.zeros((len(self._left), len(self._classes)))
        for node, row in self._leaf_counts.items():
            counts[node] = row
        # A child's id is larger than its parent's, so this backward sweep meets both children first.
        for node in range(len(self._left) - 1, -1, -1):
            if self._leaf_class[node] < 0:
                counts[node] = counts[self._left[node]] + counts[self._right[node]]
        return counts.tolist()

    def _feature(self, name: str) -> int:
        if name not in self._names:
            raise InvalidTreeError(f"There is no column {name!r}; the columns are {self._names}.")
        return self._names.index(name)

    def _add(
        self,
        parent: int | None,
        side: str | None,
        *,
        feature: int = -1,
        threshold: float = float("nan"),
        missing: str = "right",
        leaf_class: int = -1,
    ) -> int:
        if missing not in ("left", "right"):
            raise InvalidTreeError(f"Expected missing='left' or missing='right', found {missing!r}.")
        node = len(self._left)
        self._attach(node, parent, side)
        self._left.append(-1)
        self._right.append(-1)
        self._split_features.append(feature)
        self._thresholds.append(threshold)
        self._missing_left.append(missing == "left")
        self._leaf_class.append(leaf_class)
        return node

    def _attach(self, node: int, parent: int | None, side: str | None) -> None:
        if node == 0:
            if parent is not None:
                raise InvalidTreeError("The first node is the root and has no parent.")
            return
        if parent is None or not 0 <= parent < node:
            raise InvalidTreeError(f"Expected the id of an earlier node (0 to {node - 1}) as parent, found {parent!r}.")
        if self._leaf_class[parent] >= 0:
            raise InvalidTreeError(f"Node {parent} is a leaf and cannot have children.")
        if side not in ("left", "right"):
            raise InvalidTreeError(f"Expected side='left' or side='right', found {side!r}.")
        children = self._left if side == "left" else self._right
        if children[parent] != -1:
            raise InvalidTreeError(f"Node {parent} already has a {side} child, node {children[parent]}.")
        children[parent] = node
