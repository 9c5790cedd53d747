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
ONE_ANSWER: dict[tuple[str, str, str, bool], Fault] = {
    **{
        ("each leaf", method, known, True): BY_THE_TREE
        for method in ("redundancy", "exact", "faithful")
        for known in ("facts", "groups", "facts and groups")
    },
    **{
        ("each leaf", method, known, False): UNRANKED
        for method in ("redundancy", "exact")
        for known in ("facts", "groups", "facts and groups")
    },
}

NO_ROUNDING = "prints shortened limits and does not say so"
NO_TWICE = "prints the rows that each rule covers, and does not say that a row may count for several"
NO_WEIGHTS = "prints shares of rows, and does not say that the model weighed them otherwise"
NO_REMARKS = "leaves the remarks out, such as a class that no rule predicts"

# By form, output and caution.
EVERY_CAUTION: dict[tuple[str, str, str], str] = {
    ("each leaf", "text", "weighed otherwise"): NO_WEIGHTS,
    ("each leaf", "text with reasons", "weighed otherwise"): NO_WEIGHTS,
    ("each leaf", "Markdown", "rounded"): NO_ROUNDING,
    ("each leaf", "Markdown", "counted twice"): NO_TWICE,
    ("each leaf", "Markdown", "weighed otherwise"): NO_WEIGHTS,
    ("each leaf", "Markdown with reasons", "rounded"): NO_ROUNDING,
    ("each leaf", "Markdown with reasons", "counted twice"): NO_TWICE,
    ("each leaf", "Markdown with reasons", "weighed otherwise"): NO_WEIGHTS,
    ("each leaf", "LaTeX", "mark"): "prints reliability alone, though that of another class is larger",
    ("each leaf", "LaTeX", "rounded"): NO_ROUNDING,
    ("each leaf", "LaTeX", "counted twice"): NO_TWICE,
    ("each leaf", "LaTeX", "weighed otherwise"): NO_WEIGHTS,
    ("each leaf", "LaTeX", "remarks"): NO_REMARKS,
    ("each leaf", "terminal", "rounded"): NO_ROUNDING,
    ("each leaf", "terminal", "counted twice"): NO_TWICE,
    ("each leaf", "terminal", "weighed otherwise"): NO_WEIGHTS,
    ("each leaf", "notebook", "rounded"): NO_ROUNDING,
    ("each leaf", "notebook", "counted twice"): NO_TWICE,
    ("each leaf", "notebook", "weighed otherwise"): NO_WEIGHTS,
    ("each leaf", "picture", "rounded"): NO_ROUNDING,
    ("each leaf", "picture", "counted twice"): NO_TWICE,
    ("each leaf", "picture", "weighed otherwise"): NO_WEIGHTS,
    ("each leaf", "picture", "remarks"): NO_REMARKS,
    ("each leaf", "report", "rounded"): NO_ROUNDING,
    ("each leaf", "report", "counted twice"): NO_TWICE,
    ("each leaf", "report", "weighed otherwise"): NO_WEIGHTS,
    ("short list", "Markdown", "rounded"): NO_ROUNDING,
    ("short list", "Markdown", "weighed otherwise"): NO_WEIGHTS,
    ("short list", "Markdown with reasons", "rounded"): NO_ROUNDING,
    ("short list", "Markdown with reasons", "weighed otherwise"): NO_WEIGHTS,
    ("short list", "LaTeX", "rounded"): NO_ROUNDING,
    ("short list", "LaTeX", "weighed otherwise"): NO_WEIGHTS,
    ("short list", "LaTeX", "remarks"): NO_REMARKS,
    ("short list", "terminal", "rounded"): NO_ROUNDING,
    ("short list", "terminal", "weighed otherwise"): NO_WEIGHTS,
    ("short list", "picture", "rounded"): NO_ROUNDING,
    ("short list", "picture", "remarks"): NO_REMARKS,
    ("short list", "report", "rounded"): NO_ROUNDING,
    ("short list", "report", "weighed otherwise"): NO_WEIGHTS,
}
