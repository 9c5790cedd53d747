"""Enforce the contract of a tree, which ``docs/tree-format.md`` specifies, and name what breaks it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InvalidTreeError
from secateur.tree.regions import MOST_DECIMALS

VALUE = "value"  # the one class of a regression tree

if TYPE_CHECKING:
    from secateur.tree.tree import Tree

COMPARISON_DTYPES = ("float32", "float64")


def check_tree(tree: Tree) -> None:
    """Raise :class:`~secateur.errors.InvalidTreeError` for the first invariant that a tree breaks.

    The arrays become read-only, so that a checked tree stays true.
    """
    freeze_tree(tree)
    _check_labels(tree)
    _check_topology(tree)
    _check_splits(tree)
    _check_category_sets(tree)
    _check_counts(tree)
    _check_values(tree)
    _check_columns(tree)
    _check_facts(tree)
    _check_parsers(tree)


def freeze_tree(tree: Tree) -> None:
    """Make the arrays of a tree read-only."""
    for value in vars(tree).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


def _check_labels(tree: Tree) -> None:
    labels, names, signs, n_features = tree.classes, tree.feature_names, tree.monotone, tree.n_features
    require(labels.ndim == 1 and len(labels) > 0, f"classes must be a non-empty list, found shape {labels.shape}")
    plain = labels.tolist()
    _check_scalars(plain, "a class label")
    require(_are_distinct(plain), f"the classes {plain} are not distinct")
    require(len(tree.class_names) == len(plain), f"{len(tree.class_names)} class names for {len(plain)} classes")
    if names is not None:
        require(len(names) == n_features, f"{len(names)} feature names for {n_features} features")
    twice = next((name for name, times in Counter(names or ()).items() if times > 1), None)
    require(twice is None, f"two features have the same name, {twice!r}")
    require(tree.dtype in COMPARISON_DTYPES, f"dtype must be float32 or float64, found {tree.dtype!r}")
    require(tree.accepts_missing.shape == (n_features,), "accepts_missing must have one entry per feature")
    require(len(tree.categories) == n_features, "categories must have one entry per feature")
    for feature, levels in enumerate(tree.categories):
        if levels is not None:
            _check_scalars(levels, f"a category of feature {feature}")
            distinct = len(levels) > 0 and _are_distinct(levels)
            require(distinct, f"the categories of feature {feature} are empty or not distinct")
    signed = signs is None or (signs.shape == (n_features,) and bool(np.isin(signs, (-1, 0, 1)).all()))
    require(signed, "monotone must have one sign of -1, 0 or +1 per feature")


def _check_topology(tree: Tree) -> None:
    left, right = tree.children_left, tree.children_right
    require(left.ndim == 1, "children_left must be a list with one entry per node")
    require(len(left) > 0, "a tree needs at least one node")
    n_nodes = len(left)
    for name in ("children_right", "feature", "threshold", "missing_left", "leaf_class"):
        if (shape := getattr(tree, name).shape) != (n_nodes,):
            require(False, f"{name} has shape {shape}, but there are {n_nodes} nodes")
    leaf, ids = left < 0, np.arange(n_nodes)
    first, last = np.minimum(left, right), np.maximum(left, right)
    _require_each(leaf == (right < 0), "has one child; a node has two children or none")
    _require_each(first >= -1, "is a leaf, so both its children must be -1")
    _require_each(leaf | (first > ids), "has a child whose id is not larger than its own")
    _require_each(last < n_nodes, "has a child that does not exist")
    seen = np.bincount(np.concatenate([left, right]) + 1, minlength=n_nodes + 1)[1:]  # leaves have none, at -1
    seen[0] += 1
    _require_each(seen == 1, "is not the child of exactly one node (the root: of none)")


def _check_splits(tree: Tree) -> None:
    leaf, feature, is_nan = tree.is_leaf, tree.feature, np.isnan(tree.threshold)
    _require_each((feature == -1) >= leaf, "is a leaf, so its feature must be -1")
    in_range = (feature < tree.n_features) & ((feature >= 0) | leaf)
    _require_each(in_range, f"tests a feature outside 0 to {tree.n_features - 1}")
    _require_each(is_nan >= leaf, "is a leaf, so its threshold must be NaN")
    # A leaf's feature, -1, finds what was added at the end.
    categorical = np.array([levels is not None for levels in tree.categories] + [True])
    needs = "needs a threshold for a numeric feature, and a set of categories for a categorical one"
    _require_each(is_nan == categorical[feature], needs)
    _require_each(tree.threshold != -np.inf, "has the threshold -inf, which no number is below")
    if tree.missing_left.any():
        allowed = np.append(tree.accepts_missing, False)[feature]
        _require_each(~tree.missing_left | allowed, "sends NaN left, but its feature takes no missing values")
    _require_each(leaf == (tree.leaf_class >= 0), "must have a class if it is a leaf, and -1 if it is not")
    _require_each(tree.leaf_class < tree.n_classes, f"predicts a class outside 0 to {tree.n_classes - 1}")


def _check_category_sets(tree: Tree) -> None:
    offsets, codes = tree.category_offsets, tree.category_codes
    plain = codes.shape == (0,) and offsets.shape == (tree.n_nodes + 1,) and not offsets.any()
    if plain and not any(tree.categories):
        return
    sound = codes.ndim == 1 and offsets.shape == (tree.n_nodes + 1,) and offsets[0] == 0 and offsets[-1] == len(codes)
    require(bool(sound), "category_offsets must start at 0, have n_nodes + 1 entries and end at len(category_codes)")
    lengths = np.diff(offsets)
    _require_each(lengths >= 0, "has a category offset smaller than the one before it")
    _require_each(tree.is_categorical | (lengths == 0), "lists categories, but does not split by category")
    # Behind a pipeline one side may be unreachable: what encodes the training rows may encode later ones differently,
    # as a TargetEncoder does.
    is_behind = tree.columns is not None
    for node in np.flatnonzero(tree.is_categorical):
        listed, feature, missing_left = tree.left_codes(node), tree.feature[node], bool(tree.missing_left[node])
        size = len(tree.categories[feature] or ())
        if len(listed):
            fine = bool((np.diff(listed) > 0).all() and listed[0] >= 0 and listed[-1] <= size)
        else:  # a side that only missing values take lists no category
            fine = missing_left or is_behind
        require(fine, f"node {node} must list increasing category codes between 0 and {size}, found {listed.tolist()}")
        may_be_full = (bool(tree.accepts_missing[feature]) and not missing_left) or is_behind
        require(len(listed) <= size or may_be_full, f"node {node} sends every category left")


def _check_counts(tree: Tree) -> None:
    counts, wanted = tree.counts, (tree.n_nodes, tree.n_classes)
    if counts is not None:
        require(counts.shape == wanted, f"counts has shape {counts.shape}, expected {wanted}")
        if not 0 <= counts.min() <= counts.max() < np.inf:  # NaN compares false
            sound = np.isfinite(counts) & (counts >= 0)
            _require_each(np.asarray(sound.all(axis=1)), "has a negative or infinite class count")


def _check_values(tree: Tree) -> None:
    if tree.values is not None:
        found, names = tree.classes.tolist(), tree.class_names
        is_named = names == (VALUE,) or (len(names) == 1 and names[0].count("{}") == 1)  # with a unit, such as "€{}"
        require(found == [VALUE] and is_named, f"a regression tree has the one class {VALUE!r}, found {found}")
        wanted = (tree.n_nodes,)
        require(tree.values.shape == wanted, f"values has shape {tree.values.shape}, expected {wanted}")
        _require_each(np.isfinite(tree.values) == tree.is_leaf, "must have a finite value if it is a leaf, else NaN")


def _check_columns(tree: Tree) -> None:
    columns, n_features = tree.columns, tree.n_features
    if columns is None:
        return
    is_whole = len(columns.cuts) == len(columns.closed) == n_features and len(columns.ranges) in (0, n_features)
    require(is_whole, "columns must describe each feature once")
    last = (tree.feature_names or ())[n_features - len(columns.derived) :] if columns.derived else ()
    require(last == columns.derived, "derived columns must be the last features, by name")
    for feature, levels in enumerate(tree.categories):
        limits = columns.cuts[feature]
        closed = columns.closed[feature]
        require(levels is not None or not closed, f"feature {feature} is closed but has no categories")
        if limits is not None:
            rising = bool(np.isfinite(limits).all() and (np.diff(limits) > 0).all())
            require(rising, f"the cuts of feature {feature} must be increasing numbers")
            fits = levels is not None and len(levels) == len(limits)
            require(fits, f"feature {feature} needs one category for each of its cuts")


def _check_facts(tree: Tree) -> None:
    facts = tree.facts
    if not facts:
        return
    grouped = [feature for group in facts.groups for feature in group.features]
    counted = [*facts.integers, *(feature for feature, _ in facts.decimals)]
    require(_are_distinct(counted), "two facts are about the decimals of one feature")
    in_range = all(0 < n_decimals <= MOST_DECIMALS for _, n_decimals in facts.decimals)
    require(in_range, f"a fact about decimals must speak of 1 to {MOST_DECIMALS} of them")
    for feature in (*counted, *grouped):
        exists = 0 <= feature < tree.n_features and tree.categories[feature] is None
        require(exists, f"a fact is about the numbers of feature {feature}, which is not a numeric feature")
    require(_are_distinct(grouped), "a feature is in two groups")
    for group in facts.groups:
        several = len(group.features) == len(group.labels) > 1
        require(several, f"the group {group.name!r} needs two columns or more, with a label each")
        _check_scalars(group.labels, f"a label of the group {group.name!r}")
        require(_are_distinct(group.labels), f"the labels of the group {group.name!r} are not distinct")
    sizes = [None if levels is None else len(levels) for levels in tree.categories]
    sizes += [len(group.labels) for group in facts.groups]
    for claim in facts.all_claims:
        require(0 <= claim.subject < len(sizes), f"the fact {claim.text!r} is about a column that does not exist")
        size, codes = sizes[claim.subject], claim.region.codes
        fits = (size is None) == (codes is None) and all(0 <= code <= (size or 0) for code in codes or ())
        require(fits, f"the fact {claim.text!r} does not fit its column")
        require(not claim.region.is_empty, f"the fact {claim.text!r} leaves its column no value")
    require(_are_distinct([order.feature for order in facts.orders]), "two facts order the categories of one feature")
    for order in facts.orders:
        size = sizes[order.feature] if 0 <= order.feature < tree.n_features else None
        fits = size is not None and len(order.codes) > 1 and all(0 <= code < size for code in order.codes)
        require(fits and _are_distinct(order.codes), f"the fact {order.text!r} does not fit its column")
    for known in facts.implications:
        require(known.premise.subject != known.conclusion.subject, f"the fact {str(known)!r} is about one column alone")


def _check_parsers(tree: Tree) -> None:
    require(len(tree.column_parsers) in (0, tree.n_features), "column_parsers must have one entry per feature, or none")
    for feature, parser in enumerate(tree.column_parsers):
        if parser is not None:
            levels = tree.categories[feature]
            if parser.is_trim:
                cut = levels is not None and all(isinstance(one, str) and one.strip(" ") == one for one in levels)
                require(cut, f"feature {feature} is read without blanks around texts, but its categories are others")
            else:
                require(levels is None, f"feature {feature} has a column parser, but it does not hold numbers")
            require((fault := parser.fault()) is None, f"the column parser of feature {feature} is wrong: {fault}")


def _are_distinct(values: Sequence[object]) -> bool:
    return len(set(values)) == len(values)


def _check_scalars(labels: Sequence[object], what: str) -> None:
    for label in labels:
        plain = isinstance(label, (str, int, float)) and not isinstance(label, np.generic)
        finite = not isinstance(label, float) or np.isfinite(label)
        require(bool(plain and finite), f"{what} must be a text, finite number or bool, found {label!r}")


def require(holds: bool, sentence: str) -> None:
    """Raise if something that every tree fulfils does not hold."""
    if not holds:
        raise InvalidTreeError(f"Not a valid tree: {sentence}.")


def _require_each(holds: NDArray[np.bool_], sentence: str) -> None:
    if np.count_nonzero(holds) < len(holds):  # several times faster than all() on the small trees that people read
        broken = np.flatnonzero(~holds)
        more = f" ({len(broken)} nodes do)" if len(broken) > 1 else ""
        raise InvalidTreeError(f"Not a valid tree: node {broken[0]} {sentence}{more}.")
