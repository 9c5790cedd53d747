"""Facts and columns as plain lists and scalars, for the JSON of a tree; the fields are in ``docs/tree-format.md``."""

from __future__ import annotations

import math
from typing import Any

from secateur.tree.facts import Claim, Facts, Group, Implication
from secateur.tree.pipeline_columns import Columns
from secateur.tree.regions import Region

__all__ = ["columns_from_dict", "columns_to_dict", "facts_from_dict", "facts_to_dict"]


def facts_to_dict(facts: Facts) -> dict[str, Any]:
    """Facts as plain lists and scalars."""
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
    }


def facts_from_dict(content: dict[str, Any]) -> Facts:
    """The facts that :func:`facts_to_dict` wrote; a wrong shape raises a KeyError, TypeError or ValueError."""
    return Facts(
        integers=tuple(_whole(feature) for feature in content["integers"]),
        decimals=tuple((_whole(feature), _whole(n_decimals)) for feature, n_decimals in content["decimals"]),
        claims=tuple(_read_claim(claim) for claim in content["claims"]),
        groups=tuple(
            Group(str(group["name"]), tuple(_whole(feature) for feature in group["features"]), tuple(group["labels"]))
            for group in content["groups"]
        ),
        implications=tuple(
            Implication(_read_claim(known["premise"]), _read_claim(known["conclusion"]))
            for known in content["implications"]
        ),
    )


def columns_to_dict(columns: Columns) -> dict[str, Any]:
    """Columns as plain lists and scalars; what makes derived columns stays behind."""
    return {
        "cuts": [None if limits is None else list(limits) for limits in columns.cuts],
        "closed": list(columns.closed),
        "ranges": [None if ends is None else [_write_end(end) for end in ends] for ends in columns.ranges],
        "derived": list(columns.derived),
        "remarks": list(columns.remarks),
    }


def columns_from_dict(content: dict[str, Any]) -> Columns:
    """The columns that :func:`columns_to_dict` wrote."""
    return Columns(
        cuts=tuple(None if limits is None else tuple(float(x) for x in limits) for limits in content["cuts"]),
        closed=tuple(_flag(closed) for closed in content["closed"]),
        ranges=tuple(None if ends is None else (_read_end(ends[0]), _read_end(ends[1])) for ends in content["ranges"]),
        derived=tuple(str(name) for name in content["derived"]),
        remarks=tuple(str(remark) for remark in content["remarks"]),
    )


def _write_claim(claim: Claim) -> dict[str, Any]:
    low, high, codes, missing = claim.region
    return {
        "subject": claim.subject,
        "low": None if low == -math.inf else _write_end(low),
        "high": None if high == math.inf else _write_end(high),
        "codes": None if codes is None else sorted(codes),
        "missing": missing,
        "text": claim.text,
    }


def _read_claim(content: dict[str, Any]) -> Claim:
    codes = content["codes"]
    region = Region(
        low=-math.inf if content["low"] is None else _read_end(content["low"]),
        high=math.inf if content["high"] is None else _read_end(content["high"]),
        codes=None if codes is None else frozenset(_whole(code) for code in codes),
        missing=_flag(content["missing"]),
    )
    return Claim(_whole(content["subject"]), region, str(content["text"]))


def _write_end(end: float) -> float | str:
    return str(end) if math.isinf(end) else end


def _read_end(end: object) -> float:
    if end in ("inf", "-inf"):
        return float(str(end))
    if isinstance(end, bool) or not isinstance(end, (int, float)):
        raise TypeError(f"expected a number, 'inf' or '-inf', found {end!r}")
    return float(end)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a whole number, found {value!r}")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"expected true or false, found {value!r}")
    return value
