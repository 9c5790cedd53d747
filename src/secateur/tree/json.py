"""A Tree as versioned JSON, exact for every float.

Python writes a float as the shortest decimal that reads back to the same bits. JSON has no NaN and no infinity: an
absent threshold is null, and +inf is the text "inf". The fields are specified in ``docs/tree-format.md``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import FormatError, InvalidTreeError
from secateur.tree import json_parts as parts
from secateur.tree.contract import check_tree
from secateur.tree.facts import NO_FACTS
from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FORMAT", "VERSION", "read_header", "tree_from_dict", "tree_from_json", "tree_to_dict", "tree_to_json"]

FORMAT = "secateur-tree"
VERSION = 3
SECOND_VERSION = 2  # of trees with columns or facts, but without readings
PLAIN_VERSION = 1  # of trees without columns and facts, which older releases can read

# The fields that every tree has, in the order in which they are written.
FIELDS = (
    *("dtype", "classes", "class_names", "n_features", "feature_names", "accepts_missing", "categories", "monotone"),
    *("children_left", "children_right", "feature", "threshold", "missing_left", "category_offsets", "category_codes"),
    *("leaf_class", "counts"),
)
# The arrays, apart from classes and thresholds: the dtype, the numpy kinds that are read, and what they are called.
WHOLE, BOOL = (np.int64, "iu", "whole numbers"), (bool, "b", "true or false")
ARRAYS: dict[str, tuple[Any, str, str]] = {
    **dict.fromkeys(("children_left", "children_right", "feature", "leaf_class"), WHOLE),
    **dict.fromkeys(("category_offsets", "category_codes"), WHOLE),
    **dict.fromkeys(("missing_left", "accepts_missing"), BOOL),
    "monotone": (np.int8, "iu", "whole numbers"),
    "counts": (np.float64, "iuf", "numbers"),
}
OPTIONAL = ("monotone", "counts")


def tree_to_json(tree: Tree) -> str:
    """Write a tree as JSON text."""
    return json.dumps(tree_to_dict(tree), ensure_ascii=False, allow_nan=False)


def tree_from_json(text: str) -> Tree:
    """Read JSON text that :func:`tree_to_json` wrote."""
    return tree_from_dict(read_header(text, FORMAT, VERSION))


def read_header(text: str, wanted: str, newest: int) -> dict[str, Any]:
    """Parse JSON and check that it has the wanted format, in a version that we can read."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (TypeError, ValueError, RecursionError) as error:  # a JSONDecodeError is a ValueError
        raise FormatError(
            f"Expected a {wanted} JSON text, but it is not JSON: {error}. Pass the text, not a path."
        ) from error
    return check_header(content, wanted, newest)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it holds {name}, which is no number of JSON")


def check_header(content: object, wanted: str, newest: int) -> dict[str, Any]:
    """Check that parsed JSON has the wanted format, in a version that we can read."""
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
    """Turn a tree into plain lists and scalars, ready for ``json.dumps``."""
    plain = {name: _to_plain(getattr(tree, name)) for name in FIELDS}
    plain["threshold"] = [parts.write_number(limit) for limit in plain["threshold"]]
    if tree.columns is not None:
        plain["columns"] = parts.columns_to_dict(tree.columns)
    if tree.facts:
        plain["facts"] = parts.facts_to_dict(tree.facts)
    version = SECOND_VERSION if len(plain) > len(FIELDS) else PLAIN_VERSION
    if tree.readings:
        version, plain["readings"] = VERSION, parts.readings_to_list(tree.readings)
    return {"format": FORMAT, "version": version, **plain}


def tree_from_dict(content: object) -> Tree:
    """Read a tree from parsed JSON and check every invariant."""
    fields = check_header(content, FORMAT, VERSION)
    try:
        arrays: dict[str, Any] = {
            name: None if name in OPTIONAL and fields[name] is None else _read_array(fields[name], *how)
            for name, how in ARRAYS.items()
        }
        tree = Tree(
            **arrays,
            threshold=np.array([np.nan if x is None else parts.read_number(x) for x in fields["threshold"]]),
            classes=np.array(fields["classes"]),
            n_features=parts.read_whole(fields["n_features"]),
            categories=tuple(None if levels is None else tuple(levels) for levels in fields["categories"]),
            feature_names=None if fields["feature_names"] is None else tuple(map(str, fields["feature_names"])),
            class_names=tuple(map(str, fields["class_names"])),
            dtype=str(fields["dtype"]),
            columns=None if fields.get("columns") is None else parts.columns_from_dict(fields["columns"]),
            facts=NO_FACTS if fields.get("facts") is None else parts.facts_from_dict(fields["facts"]),
            readings=parts.readings_from_list(fields.get("readings") or ()),
        )
    except KeyError as error:
        raise FormatError(f"The tree JSON has no field {error.args[0]!r}; it was cut or edited.") from error
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"A field of the tree JSON has the wrong type: {error}.") from error
    try:
        check_tree(tree)
    except InvalidTreeError as error:
        raise FormatError(f"The tree JSON breaks an invariant. {error}") from error
    return tree


def _to_plain(value: Any) -> Any:
    """Turn arrays and tuples, also within tuples, into lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_to_plain(item) for item in value] if isinstance(value, tuple) else value


def _read_array(values: object, dtype: Any, kinds: str, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in kinds:
        raise TypeError(f"expected {what}, found {array.dtype}")
    return np.array(values, dtype=dtype)
