"""A Tree as versioned JSON, exact for every float.

Python writes a float as the shortest decimal that reads back to the same bits. JSON has no NaN and no
infinity: an absent threshold is null, and +inf is the text "inf". The fields are specified in
``docs/tree-format.md``.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from secateur.errors import FormatError, InvalidTreeError
from secateur.tree.contract import check_tree
from secateur.tree.facts import NO_FACTS
from secateur.tree.json_parts import columns_from_dict, columns_to_dict, facts_from_dict, facts_to_dict
from secateur.tree.tree import Tree

__all__ = ["FORMAT", "VERSION", "read_header", "tree_from_dict", "tree_from_json", "tree_to_dict", "tree_to_json"]

FORMAT = "secateur-tree"
VERSION = 2
PLAIN_VERSION = 1  # of trees without columns and facts, which older releases can read


def tree_to_json(tree: Tree) -> str:
    """Write a tree as JSON text."""
    return json.dumps(tree_to_dict(tree), ensure_ascii=False, allow_nan=False)


def tree_from_json(text: str) -> Tree:
    """Read JSON text that :func:`tree_to_json` wrote."""
    return tree_from_dict(read_header(text, FORMAT, VERSION))


def read_header(text: str, wanted: str, newest: int) -> dict[str, Any]:
    """Parse JSON and make sure that it is of the wanted format, in a version that we can read."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:  # a JSONDecodeError is a ValueError
        raise FormatError(
            f"Expected a {wanted} JSON text, but it is not JSON: {error}. Pass the text, not a path."
        ) from error
    return check_header(content, wanted, newest)


def check_header(content: object, wanted: str, newest: int) -> dict[str, Any]:
    """Make sure that parsed JSON is of the wanted format, in a version that we can read."""
    found = content.get("format") if isinstance(content, dict) else type(content).__name__
    if not isinstance(content, dict) or found != wanted:
        raise FormatError(f"Expected a JSON object with format {wanted!r}, found {found!r}.")
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FormatError(f"Expected a version number from 1 to {newest} in the {wanted} JSON, found {version!r}.")
    if version > newest:
        raise FormatError(
            f"This {wanted} JSON has version {version}, but this secateur reads up to version {newest}. "
            "Upgrade secateur to read it."
        )
    return content


def tree_to_dict(tree: Tree) -> dict[str, Any]:
    """A tree as plain lists and scalars, ready for ``json.dumps``."""
    more: dict[str, Any] = {}
    if tree.columns is not None:
        more["columns"] = columns_to_dict(tree.columns)
    if tree.facts:
        more["facts"] = facts_to_dict(tree.facts)
    return {
        "format": FORMAT,
        "version": VERSION if more else PLAIN_VERSION,
        "dtype": tree.dtype,
        "classes": tree.classes.tolist(),
        "class_names": list(tree.class_names),
        "n_features": tree.n_features,
        "feature_names": None if tree.feature_names is None else list(tree.feature_names),
        "accepts_missing": tree.accepts_missing.tolist(),
        "categories": [None if levels is None else list(levels) for levels in tree.categories],
        "monotone": None if tree.monotone is None else tree.monotone.tolist(),
        "children_left": tree.children_left.tolist(),
        "children_right": tree.children_right.tolist(),
        "feature": tree.feature.tolist(),
        "threshold": [_write_threshold(value) for value in tree.threshold.tolist()],
        "missing_left": tree.missing_left.tolist(),
        "category_offsets": tree.category_offsets.tolist(),
        "category_codes": tree.category_codes.tolist(),
        "leaf_class": tree.leaf_class.tolist(),
        "counts": None if tree.counts is None else tree.counts.tolist(),
        **more,
    }


def tree_from_dict(content: object) -> Tree:
    """The tree in parsed JSON; every invariant is checked."""
    fields = check_header(content, FORMAT, VERSION)
    try:
        tree = Tree(
            children_left=_integers(fields["children_left"]),
            children_right=_integers(fields["children_right"]),
            feature=_integers(fields["feature"]),
            threshold=np.array([_read_threshold(value) for value in fields["threshold"]], dtype=np.float64),
            missing_left=_bools(fields["missing_left"]),
            category_offsets=_integers(fields["category_offsets"]),
            category_codes=_integers(fields["category_codes"]),
            leaf_class=_integers(fields["leaf_class"]),
            counts=None if fields["counts"] is None else _numbers(fields["counts"]),
            classes=np.array(fields["classes"]),
            n_features=_integer(fields["n_features"]),
            accepts_missing=_bools(fields["accepts_missing"]),
            categories=tuple(None if levels is None else tuple(levels) for levels in fields["categories"]),
            feature_names=None if fields["feature_names"] is None else tuple(map(str, fields["feature_names"])),
            class_names=tuple(map(str, fields["class_names"])),
            dtype=str(fields["dtype"]),
            monotone=None
            if fields["monotone"] is None
            else np.array(_integers(fields["monotone"]).tolist(), dtype=np.int8),
            columns=None if fields.get("columns") is None else columns_from_dict(fields["columns"]),
            facts=NO_FACTS if fields.get("facts") is None else facts_from_dict(fields["facts"]),
        )
    except KeyError as error:
        raise FormatError(f"The tree JSON has no field {error.args[0]!r}; it was cut or edited.") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"A field of the tree JSON has the wrong type: {error}.") from error
    try:
        check_tree(tree)
    except InvalidTreeError as error:
        raise FormatError(f"The tree JSON breaks an invariant. {error}") from error
    return tree


def _write_threshold(value: float) -> float | str | None:
    if value != value:
        return None
    return "inf" if value == float("inf") else value


def _read_threshold(value: object) -> float:
    if value is None:
        return float("nan")
    if value == "inf":
        return float("inf")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a threshold must be a number, null or 'inf', found {value!r}")
    return float(value)


def _integers(values: object) -> np.ndarray[Any, np.dtype[np.int64]]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"expected whole numbers, found {array.dtype}")
    return np.array(array, dtype=np.int64)


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a whole number, found {value!r}")
    return value


def _numbers(values: object) -> np.ndarray[Any, np.dtype[np.float64]]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iuf":
        raise TypeError(f"expected numbers, found {array.dtype}")
    return np.array(array, dtype=np.float64)


def _bools(values: object) -> np.ndarray[Any, np.dtype[np.bool_]]:
    array = np.asarray(values)
    if array.size and array.dtype.kind != "b":
        raise TypeError(f"expected true or false, found {array.dtype}")
    return np.array(array, dtype=bool)
