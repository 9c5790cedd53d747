"""What the net catches today, each with its reason: a test that is listed here must fail, and fail in this way alone.

Whoever repairs one of them deletes its entry; nothing else has to change.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """Why doors disagree, and which of them."""

    reason: str
    doors: tuple[str, ...]


BY_THE_TREE = Fault(
    "on a row that contradicts a fact, predict and written predictions give the tree's class, all others the rule's",
    ("predict", "written predictions"),
)
UNRANKED = Fault(
    "made without rows, predict, apply and explain go by the tree on a row that contradicts a fact, exports by rules",
    ("Python", "numpy", "SQLite", "DuckDB", "PostgreSQL", "predict on Spark", "Spark SQL"),
)

# By form, method, what is known of the columns, and whether rules were made from rows.
ONE_ANSWER: dict[tuple[str, str, str, bool], Fault] = {}

NO_ROUNDING = "prints shortened limits and does not say so"
NO_TWICE = "prints the rows that each rule covers, and does not say that a row may count for several"
NO_WEIGHTS = "prints shares of rows, and does not say that the model weighed them otherwise"
NO_REMARKS = "leaves the remarks out, such as a class that no rule predicts"

# By form, output and caution.
EVERY_CAUTION: dict[tuple[str, str, str], str] = {}
