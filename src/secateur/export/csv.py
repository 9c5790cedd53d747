"""Rules as CSV (RFC 4180), a line for each rule, for people and their spreadsheets; every cell is in quotes.

A spreadsheet runs a text that starts like a formula. Such a text gets an apostrophe in front, which spreadsheets read
as "this is text"; a sign alone or a number is not a formula. A spreadsheet that separates cells at semicolons or tabs
does not see our quotes and starts a cell inside a text, so what follows one there is guarded alike. Programs should
read the JSON instead.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from secateur.tree.shown_text import INVISIBLE
from secateur.words.conditions import join_conditions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secateur.rules.rule import Rule
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Label

__all__ = ["guard_cell", "rules_to_csv", "write_csv"]

COPIED = ("prediction", "class_name", "support", "reliability", "source_support", "source_reliability")
COLUMNS = ("rule", "conditions", *COPIED, "n_conditions", "n_deleted", "leaf_id")
# Invisible characters and quotes, behind which some spreadsheets look, and what a formula begins with, wide or not.
BEFORE, SIGN = rf'[\s"{INVISIBLE}]', r"[=+\-@\uff1d\uff0b\uff0d\uff20]\s*\S"
FORMULA = re.compile(rf"{BEFORE}*{SIGN}|[\t\r]")
ENDS = r"\t-\r\x1c-\x1e\x85\u2028\u2029"  # of cells and lines
NEXT_CELL = re.compile(rf"([;|{ENDS}])(?=(?:(?![{ENDS}]){BEFORE})*{SIGN})")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def rules_to_csv(rules: RuleSet) -> str:
    """Write a line for each rule; what is not known is empty."""
    return write_csv(COLUMNS, map(_list_cells, rules))


def write_csv(names: Sequence[str], rows: Iterable[Sequence[Label | None]]) -> str:
    """Write a table that no spreadsheet runs."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    writer.writerows([guard_cell(cell) for cell in row] for row in rows)
    return file.getvalue()


def _list_cells(rule: Rule) -> list[Label | None]:
    cells = [rule.index + 1, join_conditions(rule.conditions), *(getattr(rule, name) for name in COPIED)]
    return [*cells, len(rule.kept_ids), len(rule.deleted_ids), rule.leaf_id]


def guard_cell(cell: Label | None) -> Label | None:
    """Mark a text that a spreadsheet would take for a formula; write whole numbers without a point."""
    if isinstance(cell, str):
        is_formula = FORMULA.match(cell) and not NUMBER.fullmatch(cell)
        return ("'" if is_formula else "") + NEXT_CELL.sub(r"\1'", cell)
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell
