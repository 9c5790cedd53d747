"""Warn of rules that mean less than they seem to, and say which option may help."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secateur.results.audit import Audit
    from secateur.results.cautions import Caution
    from secateur.rules.rules import Rules

BALANCED = " --balanced lets rare classes count as much as common ones."
BALANCED_GUESS = " That is the price of --balanced, which finds rare classes."
OTHER_COLUMNS = " Other columns may tell more."


def warn_of_rules(rules: Rules, audit: Audit, *, min_rows: int | None, balanced: bool) -> tuple[str, ...]:
    """Find what to warn of, by an audit; ``min_rows`` is the fewest rows in a leaf of a tree that was fitted here."""
    from secateur.results.cautions import FEW_ROWS, find_cautions

    def advise(caution: Caution) -> str:
        if min_rows is None:
            return ""
        if caution.kind == "guess":
            return BALANCED_GUESS if balanced else OTHER_COLUMNS
        if caution.kind == "unpredicted":
            return "" if balanced else BALANCED
        if caution.kind != "few-rows" or min_rows >= FEW_ROWS:
            return ""
        # A line of a short list may decide few rows though each leaf has many.
        return f" --min-rows {FEW_ROWS} {'may avoid that' if rules.is_list else 'avoids them'}."

    found = find_cautions(rules, audit.accuracy / 100, (audit.baseline_class, audit.baseline / 100))
    return tuple(f"{one.text}{advise(one)}" for one in found)
