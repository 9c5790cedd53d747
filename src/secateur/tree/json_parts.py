"""Facts and columns as plain lists and scalars, for the JSON of a tree; the fields are in ``docs/tree-format.md``.

Readers raise a KeyError, TypeError or ValueError for what has the wrong shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from secateur.tree.facts import Claim, Facts, Group, Implication, Order
from secateur.tree.pipeline_columns import Columns
from secateur.tree.readings import Reading
from secateur.tree.regions import Region

__all__ = [
    "columns_from_dict",
    "columns_to_dict",
    "facts_from_dict",
    "facts_to_dict",
    "read_number",
    "read_whole",
    "readings_from_list",
    "readings_to_list",
    "write_number",
]


def facts_to_dict(facts: Facts) -> dict[str, Any]:
    """Turn facts into plain lists and scalars."""
    ordered = [{"feature": one.feature, "codes": list(one.codes), "text": one.text} for one in facts.orders]
    return {
        "integers": list(facts.integers),
        "decimals": [list(pair) for pair in facts.decimals],
        "claims": [_write_claim(claim) for claim in facts.claims],
        "groups": [
            {"name": group.name, "features": list(group.features), "labels": list(group.labels)}
            for group in facts.groups
        ],
        "implications": [
            {"premise": _write_claim(known.premise), "conclusion": _write_claim(known.conclusion)}
            for known in facts.implications
        ],
        **({"orders": ordered} if ordered else {}),  # older versions know no orders, and most trees have none
    }


def facts_from_dict(content: dict[str, Any]) -> Facts:
    """Read the facts that :func:`facts_to_dict` wrote."""
    return Facts(
        integers=tuple(map(read_whole, content["integers"])),
        decimals=tuple((read_whole(feature), read_whole(n_decimals)) for feature, n_decimals in content["decimals"]),
        claims=tuple(map(_read_claim, content["claims"])),
        groups=tuple(
            Group(str(group["name"]), tuple(map(read_whole, group["features"])), tuple(group["labels"]))
            for group in content["groups"]
        ),
        implications=tuple(
            Implication(_read_claim(known["premise"]), _read_claim(known["conclusion"]))
            for known in content["implications"]
        ),
        orders=tuple(
            Order(read_whole(one["feature"]), tuple(map(read_whole, one["codes"])), str(one["text"]))
            for one in content.get("orders", ())
        ),
    )


def columns_to_dict(columns: Columns) -> dict[str, Any]:
    """Turn columns into plain lists and scalars; what makes derived columns stays behind."""
    return {
        "cuts": [None if limits is None else list(limits) for limits in columns.cuts],
        "closed": list(columns.closed),
        "ranges": [None if ends is None else list(map(write_number, ends)) for ends in columns.ranges],
        "derived": list(columns.derived),
        "remarks": list(columns.remarks),
    }


def columns_from_dict(content: dict[str, Any]) -> Columns:
    """Read the columns that :func:`columns_to_dict` wrote."""
    return Columns(
        cuts=tuple(None if limits is None else tuple(map(float, limits)) for limits in content["cuts"]),
        closed=tuple(map(_read_flag, content["closed"])),
        ranges=tuple(None if ends is None else _read_ends(ends) for ends in content["ranges"]),
        derived=tuple(map(str, content["derived"])),
        remarks=tuple(map(str, content["remarks"])),
    )


def _read_ends(ends: list[object]) -> tuple[float, float]:
    if len(ends) == 2 and (low := read_number(ends[0])) <= (high := read_number(ends[1])):
        return low, high
    raise ValueError(f"expected a range as its lower and its upper end, found {ends}")


def readings_to_list(readings: Sequence[Reading | None]) -> list[dict[str, Any] | None]:
    """Turn readings into plain scalars; what is as usual is left out."""
    usual = asdict(Reading(""))
    return [
        None if one is None else {name: value for name, value in asdict(one).items() if value != usual[name]}
        for one in readings
    ]


def readings_from_list(content: Sequence[Any]) -> tuple[Reading | None, ...]:
    """Read the readings that :func:`readings_to_list` wrote."""
    return tuple(None if one is None else _read_reading(dict(one)) for one in content)


def _read_reading(fields: dict[str, Any]) -> Reading:
    first = _read_flag(fields.pop("unit_first", False))
    if not all(isinstance(value, str) for value in fields.values()):
        raise TypeError(f"expected a reading of texts, found {fields!r}")
    return Reading(fields.pop("kind"), unit_first=first, **fields)


def _write_claim(claim: Claim) -> dict[str, Any]:
    low, high, codes, missing = claim.region
    return {
        "subject": claim.subject,
        "low": None if low == -math.inf else write_number(low),
        "high": None if high == math.inf else write_number(high),
        "codes": None if codes is None else sorted(codes),
        "missing": missing,
        "text": claim.text,
    }


def _read_claim(content: dict[str, Any]) -> Claim:
    low, high, codes = content["low"], content["high"], content["codes"]
    region = Region(
        low=-math.inf if low is None else read_number(low),
        high=math.inf if high is None else read_number(high),
        codes=None if codes is None else frozenset(map(read_whole, codes)),
        missing=_read_flag(content["missing"]),
    )
    return Claim(read_whole(content["subject"]), region, str(content["text"]))


def write_number(value: float) -> float | str | None:
    """Write a float as JSON can: infinity as "inf" or "-inf", NaN as null."""
    if math.isnan(value):
        return None
    return str(value) if math.isinf(value) else value


def read_number(value: object) -> float:
    """Read a float, "inf" or "-inf"."""
    if value in ("inf", "-inf"):
        return float(str(value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"expected a number, 'inf' or '-inf', found {value!r}")
    return float(value)


def read_whole(value: object) -> int:
    """Read an int; a bool or a float is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a whole number, found {value!r}")
    return value


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, found {value!r}")
    return value
