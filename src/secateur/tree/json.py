"""A Tree as versioned JSON, exact for every float.

Python writes a float as the shortest decimal that reads back to the same bits. JSON has no NaN and no infinity: an
absent threshold is null, and +inf is the text "inf". The fields are specified in ``docs/tree-format.md``. Functions
that read parts raise a KeyError, TypeError or ValueError for what has the wrong shape.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import FormatError, InvalidTreeError
from secateur.limits import JSON_MARKS, check_parsed_size
from secateur.tree.columns import ColumnParser, Columns
from secateur.tree.contract import check_tree
from secateur.tree.facts import NO_FACTS, Claim, Facts, Group, Implication, Order, find_false_words
from secateur.tree.regions import Region
from secateur.tree.tree import Tree

FORMAT = "secateur-tree"
VERSION = 1

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
RARE = ("columns", "facts", "column_parsers", "values")  # which are written only if a tree has them


def tree_to_json(tree: Tree) -> str:
    """Write a tree as JSON text."""
    return json.dumps(tree_to_dict(tree), ensure_ascii=False, allow_nan=False)


def tree_from_json(text: str) -> Tree:
    """Read JSON text that :func:`tree_to_json` wrote."""
    return tree_from_dict(read_header(text, FORMAT, VERSION))


def read_header(text: str, wanted: str, newest: int) -> dict[str, Any]:
    """Parse JSON and check that it has the wanted format, in a version that we can read."""
    if isinstance(text, (str, bytes)):
        check_parsed_size(text, JSON_MARKS, f"The {wanted} JSON")
    try:
        content = json.loads(text, parse_constant=_reject_constant)
    except (TypeError, ValueError, RecursionError) as error:  # a JSONDecodeError is a ValueError
        raise FormatError(
            f"Expected a {wanted} JSON text, but it is not JSON: {error}. Pass the text, not a path."
        ) from error
    return check_header(content, wanted, newest)


def _reject_constant(name: str) -> None:
    raise ValueError(f"it holds {name}, which is not a number of JSON")


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
    plain["threshold"] = [_write_number(limit) for limit in plain["threshold"]]
    if tree.columns is not None:
        plain["columns"] = _to_plain(_write_columns(tree.columns))
    if tree.facts:
        plain["facts"] = _to_plain(_write_facts(tree.facts))
    if tree.column_parsers:
        usual = asdict(ColumnParser(""))  # which is left out
        plain["column_parsers"] = [
            None if one is None else {name: value for name, value in asdict(one).items() if value != usual[name]}
            for one in tree.column_parsers
        ]
    if tree.values is not None:
        plain["values"] = [_write_number(value) for value in tree.values.tolist()]
    return {"format": FORMAT, "version": VERSION, **plain}


def tree_from_dict(content: object) -> Tree:
    """Read a tree from parsed JSON and check every invariant."""
    fields = check_header(content, FORMAT, VERSION)
    unknown = next((name for name in fields if name not in (*FIELDS, *RARE, "format", "version")), None)
    if unknown is not None:
        raise FormatError(f"The tree JSON has a field {unknown!r} that no version of it has; it was edited.")
    try:
        arrays: dict[str, Any] = {
            name: None if name in OPTIONAL and fields[name] is None else _read_array(fields[name], *how)
            for name, how in ARRAYS.items()
        }
        tree = Tree(
            **arrays,
            threshold=_read_numbers(fields["threshold"]),
            values=None if fields.get("values") is None else _read_numbers(fields["values"]),
            classes=np.array(fields["classes"]),
            n_features=read_int(fields["n_features"]),
            categories=tuple(None if levels is None else tuple(levels) for levels in fields["categories"]),
            feature_names=None if fields["feature_names"] is None else tuple(map(str, fields["feature_names"])),
            class_names=tuple(map(str, fields["class_names"])),
            dtype=str(fields["dtype"]),
            columns=None if fields.get("columns") is None else _read_columns(fields["columns"]),
            facts=NO_FACTS if fields.get("facts") is None else _read_facts(fields["facts"]),
            column_parsers=tuple(map(_read_parser, fields.get("column_parsers") or ())),
        )
    except KeyError as error:
        raise FormatError(f"The tree JSON has no field {error.args[0]!r}; it was cut or edited.") from error
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"A field of the tree JSON has the wrong type: {error}.") from error
    try:
        check_tree(tree)
    except InvalidTreeError as error:
        raise FormatError(f"The tree JSON breaks an invariant. {error}") from error
    if (false := find_false_words(tree)) is not None:
        raise FormatError(f"In the tree JSON {false}; it was edited.")
    return tree


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: _to_plain(item) for name, item in value.items()}
    return [_to_plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def _read_array(values: object, dtype: Any, kinds: str, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in kinds:
        raise TypeError(f"expected {what}, found {array.dtype}")
    return np.array(values, dtype=dtype)


def _write_facts(facts: Facts) -> dict[str, Any]:
    return {
        "integers": facts.integers,
        "decimals": facts.decimals,
        "claims": [_write_claim(claim) for claim in facts.claims],
        "groups": [asdict(group) for group in facts.groups],
        "implications": [
            {"premise": _write_claim(known.premise), "conclusion": _write_claim(known.conclusion)}
            for known in facts.implications
        ],
        **({"orders": [asdict(order) for order in facts.orders]} if facts.orders else {}),  # most trees have none
    }


def _read_facts(content: dict[str, Any]) -> Facts:
    return Facts(
        integers=tuple(map(read_int, content["integers"])),
        decimals=tuple((read_int(feature), read_int(n_decimals)) for feature, n_decimals in content["decimals"]),
        claims=tuple(map(_read_claim, content["claims"])),
        groups=tuple(
            Group(str(group["name"]), tuple(map(read_int, group["features"])), tuple(group["labels"]))
            for group in content["groups"]
        ),
        implications=tuple(
            Implication(_read_claim(known["premise"]), _read_claim(known["conclusion"]))
            for known in content["implications"]
        ),
        orders=tuple(
            Order(read_int(one["feature"]), tuple(map(read_int, one["codes"])), str(one["text"]))
            for one in content.get("orders", ())
        ),
    )


def _write_columns(columns: Columns) -> dict[str, Any]:
    """List what describes columns; what makes derived ones stays behind."""
    ranges = [None if ends is None else list(map(_write_number, ends)) for ends in columns.ranges]
    names = ("cuts", "closed", "ranges", "derived", "remarks")
    return {name: getattr(columns, name) for name in names} | {"ranges": ranges}


def _read_columns(content: dict[str, Any]) -> Columns:
    return Columns(
        cuts=tuple(None if limits is None else tuple(map(float, limits)) for limits in content["cuts"]),
        closed=tuple(map(_read_flag, content["closed"])),
        ranges=tuple(None if ends is None else _read_ends(ends) for ends in content["ranges"]),
        derived=tuple(map(str, content["derived"])),
        remarks=tuple(map(str, content["remarks"])),
    )


def _read_ends(ends: list[object]) -> tuple[float, float]:
    if len(ends) == 2 and (low := _read_number(ends[0])) <= (high := _read_number(ends[1])):
        return low, high
    raise ValueError(f"expected a range as its lower and its upper end, found {ends}")


def _read_parser(content: Any) -> ColumnParser | None:
    if content is None:
        return None
    fields = dict(content)
    first = _read_flag(fields.pop("unit_first", False))
    if not all(isinstance(value, str) for value in fields.values()):
        raise TypeError(f"expected a column parser of texts, found {fields!r}")
    return ColumnParser(fields.pop("kind"), unit_first=first, **fields)


def _write_claim(claim: Claim) -> dict[str, Any]:
    low, high, codes, missing = claim.region
    return {
        "subject": claim.subject,
        "low": None if low == -math.inf else _write_number(low),
        "high": None if high == math.inf else _write_number(high),
        "codes": None if codes is None else sorted(codes),
        "missing": missing,
        "text": claim.text,
    }


def _read_claim(content: dict[str, Any]) -> Claim:
    low, high, codes = content["low"], content["high"], content["codes"]
    region = Region(
        low=-math.inf if low is None else _read_number(low),
        high=math.inf if high is None else _read_number(high),
        codes=None if codes is None else frozenset(map(read_int, codes)),
        missing=_read_flag(content["missing"]),
    )
    return Claim(read_int(content["subject"]), region, str(content["text"]))


def _write_number(value: float) -> float | str | None:
    """Write a float as JSON can: infinity as "inf" or "-inf", NaN as null."""
    return None if math.isnan(value) else str(value) if math.isinf(value) else value


def _read_number(value: object) -> float:
    if value in ("inf", "-inf"):
        return float(str(value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"expected a number, 'inf' or '-inf', found {value!r}")
    return float(value)


def _read_numbers(values: Sequence[object]) -> NDArray[np.float64]:
    return np.array([np.nan if one is None else _read_number(one) for one in values], dtype=np.float64)


def read_int(value: object) -> int:
    """Read an int; reject bool and float."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a whole number, found {value!r}")
    return value


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, found {value!r}")
    return value
