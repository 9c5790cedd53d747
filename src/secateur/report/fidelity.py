"""What the page says of rules that approximate a model: how far they say the same, on rows held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secateur.results.cautions import FEW_ROWS
from secateur.results.fidelity import round_outwards, say_fidelity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secateur.results.fidelity import Agreement
    from secateur.rules.compact_rules import CompactRules

__all__ = ["count_agreement", "describe_fidelity", "warn_of_few"]


def describe_fidelity(rules: CompactRules) -> dict[str, Any] | None:
    """Describe the fidelity of an approximation as plain values; None for rules of a tree."""
    found = rules.fidelity
    if found is None:
        return None
    before, after = say_fidelity(rules)
    low, high = round_outwards(found.interval)
    return {
        "model": found.model,
        "n_rows": found.n_rows,
        "share": 100.0 * found.share,
        "interval": [100.0 * low, 100.0 * high],
        "accuracy": None if found.n_right is None else 100.0 * found.n_right / found.n_rows,
        "model_accuracy": None if found.n_model_right is None else 100.0 * found.n_model_right / found.n_rows,
        "first": " ".join(before),
        "after": after,
    }


def count_agreement(by_rule: Sequence[Agreement]) -> list[tuple[float, float, list[float] | None]]:
    """List the held-out rows of each line, those on which the model says the same, and the limits of their share."""
    return [
        (one.n_rows, one.n_same, None if one.interval is None else list(round_outwards(one.interval)))
        for one in by_rule
    ]


def warn_of_few(listed: Mapping[str, Any]) -> list[str]:
    """Warn of the lines of a list that decide few held-out rows."""
    few = [str(place) for place, rule in enumerate(listed["rules"], start=1) if rule["rows"] < FEW_ROWS]
    if not few:
        return []
    which = f"Rule {few[0]} decides" if len(few) == 1 else f"Rules {', '.join(few)} decide"
    return [f"{which} fewer than {FEW_ROWS} held-out rows: too few to tell how often the model says the same."]
