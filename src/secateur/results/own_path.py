"""What a person hears of one row: the values that count, shares with their intervals, and the row's own leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.errors import shorten
from secateur.results.intervals import find_interval
from secateur.words.conditions import count_of, read_count, read_share
from secateur.words.plain_words import join_asked, read_asked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.rules.rule_set import RuleSet

__all__ = ["find_share_interval", "say_own_leaf", "say_share", "tell_share"]


def find_share_interval(rules: RuleSet, counts: NDArray[np.float64], class_id: int) -> tuple[float, float] | None:
    """Find the limits of a class's share at 95 %; None without rows, or where counts are sums of weights."""
    total = float(counts.sum())
    if not total > 0 or rules.is_weighted or not rules.is_ranked:
        return None
    low, high = find_interval(float(counts[class_id]) / total, total)
    return float(low), float(high)


def say_share(rules: RuleSet, counts: NDArray[np.float64], class_id: int) -> str | None:
    """Write the number of training rows, the share of a class among them, and how sure that is; None without rows."""
    total = float(counts.sum())
    if not total > 0:
        return None
    if not rules.is_ranked:
        rows = f"the model's own count of {read_count(total)}"
    elif rules.is_weighted:
        rows = f"training rows of weight {read_count(total)}"
    else:
        rows = count_of(total, "training row")
    words = f"{rows}, {read_share(float(counts[class_id]) / total)} {rules.tree.class_names[class_id]}"
    words += ", not their commonest class" if counts[class_id] < counts.max() else ""
    limits = find_share_interval(rules, counts, class_id)
    return words if limits is None else f"{words}, likely {read_share(limits[0])} to {read_share(limits[1])}"


def tell_share(rules: RuleSet, counts: NDArray[np.float64], class_id: int, where: str) -> list[str]:
    """Say the same in a line; no line without rows."""
    words = say_share(rules, counts, class_id)
    return [] if words is None else [f"  {where}: {words}."]


def say_own_leaf(rules: RuleSet, place: int, absent: Sequence[str] = (), *, differs: bool) -> str:
    """Say where the row ends in the tree itself, and what its own leaf says; every condition is true of the row.

    Where the way there asks for ``absent`` columns, the row ends in one of several leaves, and none is named.
    """
    links = rules.paths.links[rules.paths.entries(place)]
    class_id = int(rules.paths.leaf_class[place])
    name = rules.tree.class_names[class_id]
    where = f"leaf {int(rules.paths.leaf_ids[place])}: {join_asked(read_asked(rules, links))}"
    said = f"But the tree itself says {name}" if differs else f"The tree says {name} too"
    if absent and not differs:
        return f"{said}; in which leaf depends on what is not given: {shorten(absent)}."
    share = say_share(rules, rules.source_class_counts[place], class_id)
    return f"{said}, in {where}." if share is None else f"{said}, in {where} ({share})."
