"""Rules as CSV (RFC 4180) or as a data frame, a row for each line; in CSV every cell is in quotes.

A spreadsheet runs a text that starts like a formula. Such a text gets an apostrophe in front, which spreadsheets read
as "this is text"; a sign alone or a number is not a formula. A spreadsheet that separates cells at semicolons or tabs
does not see our quotes and starts a cell inside a text, so what follows one there is guarded alike. Programs should
read the JSON instead.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from secateur.frames import make_frame
from secateur.results.measures import FEW_ROWS, find_expected
from secateur.rules.rules import Rules
from secateur.tree.columns import INVISIBLE
from secateur.tree.shares import none_if_nan
from secateur.tree.tree import Label
from secateur.words.conditions import join_conditions

COPIED = ("prediction", "class_name", "share")
TRAINED = ("support", "reliability", "covered_support", "covered_reliability", "source_support", "source_reliability")
VALUES = ("prediction", "least", "largest")
TRAINED_VALUES = {
    **{"support": "support", "mean": "target_mean", "spread": "target_spread"},
    **{"covered_support": "covered_support", "source_support": "source_support"},
}
# Invisible characters and quotes, behind which some spreadsheets look, and what a formula begins with, wide or not.
BEFORE, SIGN = rf'[\s"{INVISIBLE}]', r"[=+\-@\uff1d\uff0b\uff0d\uff20]\s*\S"
FORMULA = re.compile(rf"{BEFORE}*{SIGN}|[\t\r]")
ENDS = r"\t-\r\x1c-\x1e\x85\u2028\u2029"  # of cells and lines
NEXT_CELL = re.compile(rf"([;|{ENDS}])(?=(?:(?![{ENDS}]){BEFORE})*{SIGN})")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def rules_to_csv(rules: Rules) -> str:
    """Write a row for each line; what is not known is empty."""
    columns = _list_columns(rules)
    numbers = range(1, len(columns["conditions"]) + 1)
    return write_csv(["rule", *columns], zip(numbers, *columns.values(), strict=True))


def rules_to_frame(rules: Rules, library: str | None = None) -> Any:
    """Make a row for each line."""
    columns, lines = _list_columns(rules), rules.lines
    ids = {name: [list(getattr(line, name)) for line in lines] for name in ("kept_ids", "deleted_ids", "leaf_ids")}
    return make_frame({"rule": columns.pop("conditions"), **columns, **ids}, library)


def _list_columns(rules: Rules) -> dict[str, list[Any]]:
    lines = rules.lines
    is_value = rules.tree.is_regression
    trained = TRAINED_VALUES if is_value else dict(zip(TRAINED, TRAINED, strict=True))
    headings = [join_conditions(line.section.heading) if line.section.heading else "" for line in lines]
    conditions = [line.asked if line.is_otherwise else join_conditions(line.conditions) for line in lines]
    return {
        "section": headings,
        "conditions": conditions,
        **{name: [getattr(line, name) for line in lines] for name in (VALUES if is_value else COPIED)},
        **_list_unseen(rules),
        **{f"training_{name}": [getattr(line, own) for line in lines] for name, own in trained.items()},
        "n_conditions": [len(line.conditions) for line in lines],
        "n_deleted": [len(line.deleted_ids) for line in lines],
        "n_leaves": [len(line.leaf_ids) for line in lines],
        "leaf_id": [line.leaf_id for line in lines],
        **_list_agreement(rules),
    }


def _list_unseen(rules: Rules) -> dict[str, list[Any]]:
    """List the unseen rows of each line, the share of them in its class, and what to expect of as many new rows.

    Of values, mean and spread of their targets. Whether a line held up is empty where there are too few rows to tell.
    """
    if rules.unseen is None:
        return {}
    found = [line.unseen or (0, 0) for line in rules.lines]
    is_told = (rules.unseen.support >= FEW_ROWS).tolist()
    fell = zip(rules.did_not_hold_up.tolist(), is_told, strict=True)
    told: dict[str, list[Any]] = {"unseen_support": [rows for rows, _ in found]}
    if rules.tree.is_regression:
        moments = np.full((rules.n_lines, 2), np.nan) if rules.unseen.moments is None else rules.unseen.moments
        told |= {f"unseen_{name}": [*map(none_if_nan, moments[:, n])] for n, name in enumerate(("mean", "spread"))}
    else:
        limits = [one or (None, None) for one in find_expected(rules)]
        told["unseen_reliability"] = [hits / rows if rows else None for rows, hits in found]
        told |= {"unseen_low": [low for low, _ in limits], "unseen_high": [high for _, high in limits]}
    return {**told, "held_up": [not one if is_enough else None for one, is_enough in fell]}


def _list_agreement(rules: Rules) -> dict[str, list[Any]]:
    """List how often each line that approximates a model agrees with it, on held-out rows."""
    if rules.fidelity is None:
        return {}
    found = rules.fidelity.by_rule
    limits = [one.interval or (None, None) for one in found]
    return {
        "held_out_rows": [one.n_rows for one in found],
        "fidelity": [one.share for one in found],
        "fidelity_low": [low for low, _ in limits],
        "fidelity_high": [high for _, high in limits],
    }


def write_csv(names: Sequence[str], rows: Iterable[Sequence[Label | None]]) -> str:
    """Write a table that no spreadsheet runs."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    writer.writerows([guard_cell(cell) for cell in row] for row in rows)
    return file.getvalue()


def guard_cell(cell: Label | None) -> Label | None:
    """Mark a text that a spreadsheet would take for a formula; write whole numbers without a point."""
    if isinstance(cell, str):
        is_formula = FORMULA.match(cell) and not NUMBER.fullmatch(cell)
        return ("'" if is_formula else "") + NEXT_CELL.sub(r"\1'", cell)
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell
