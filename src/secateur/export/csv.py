"""Rules as CSV (RFC 4180), a line for each rule, for people and their spreadsheets.

A spreadsheet runs a text that starts like a formula. Such a text gets an apostrophe in front, which spreadsheets read
as "this is text"; a sign alone or a number is not a formula. Programs should read the JSON instead.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from secateur.rules.wording import join_conditions

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Label

__all__ = ["guard_cell", "rules_to_csv"]

COPIED = ("prediction", "class_name", "support", "reliability", "source_support", "source_reliability")
COLUMNS = ("rule", "conditions", *COPIED, "n_conditions", "n_deleted", "leaf_id")
FORMULA = re.compile(r"\s*[=+\-@]\s*\S|[\t\r]", re.DOTALL)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def rules_to_csv(rules: RuleSet) -> str:
    """Write a line for each rule; what is not known is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for rule in rules:
        cells = [rule.index + 1, join_conditions(rule.conditions), *(getattr(rule, name) for name in COPIED)]
        cells += [len(rule.kept_ids), len(rule.deleted_ids), rule.leaf_id]
        writer.writerow([guard_cell(cell) for cell in cells])
    return file.getvalue()


def guard_cell(cell: Label | None) -> Label | None:
    """Mark a text that a spreadsheet would take for a formula; write whole numbers without a point."""
    if isinstance(cell, str) and FORMULA.match(cell) and not NUMBER.fullmatch(cell):
        return f"'{cell}"
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell
