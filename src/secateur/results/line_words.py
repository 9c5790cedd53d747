"""The numbers beside a line in words: its rows, the share of its class, and what a reader should mind."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from secateur.results.fidelity import read_agreement
from secateur.rules.rule import Rule
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of, read_count, read_share

__all__ = [
    *("COUNTED_TWICE", "counts_rows_twice", "describe_assimilation", "describe_rarer", "describe_rarer_line"),
    *("describe_rows", "describe_stated", "title_rows"),
]

FIRST_DECIDES = "The first line that holds decides."
SECTION_FIRST = "Find the section of a row; in it, the first line that holds decides."
STATED = (
    "Stated is the share that the list gives a row; the one before it is that of the training rows that the line "
    "decides."
)
COUNTED_TWICE = "A row counts for every rule that it satisfies, so the numbers add up to more than the table."


def describe_rows(line: Rule) -> str:
    """Word the training rows of a line and the share of its class, and say so where most are of another class.

    Of rules that approximate a model: the held-out rows, and the share of them for which the model says the same.
    """
    rules = line._rules
    if rules.fidelity is not None:
        return read_agreement(rules.fidelity, line.index)
    counts = rules.counts[line.index]
    total = float(counts.sum())
    # Without rows, the numbers of one line beside none of the others would only make people wonder.
    if math.isnan(total) or (rules.is_list and not rules.is_ranked and not rules.is_counted):
        return f"rows unknown{describe_stated(line)}"
    if total == 0:
        return f"no row{describe_stated(line)}"
    told = f"{_count_rows(rules, total)}, {read_share(float(counts[line.class_id]) / total)} {line.class_name}"
    return f"{told}{describe_rarer_line(line)}{describe_stated(line)}"


def describe_stated(line: Rule) -> str:
    """Say which share a line states, where it is not that of the rows beside it."""
    share, observed = line.share, line.reliability
    if share is None or (observed is not None and read_share(share) == read_share(observed)):
        return ""
    return f"; stated {read_share(share)}"


def describe_rarer_line(line: Rule) -> str:
    """Say so where most rows of a line are of another class than it states; else say nothing."""
    rules = line._rules
    told = describe_rarer(rules.counts[line.index], line.class_id, rules.tree.class_names)
    covered, share = line.covered_support, line.covered_reliability
    if not told or covered is None or covered == line.support:
        return told
    # What earlier rules leave over may be mostly of another class, although all that the rule covers is not.
    return f"{told} (of {_count_rows(rules, covered)} that it covers, {read_share(share)} {line.class_name})"


def describe_rarer(counts: NDArray[np.float64], class_id: int, names: Sequence[str]) -> str:
    """Say which class most of some rows have, if it is not the one that is stated for them; else say nothing."""
    if not counts[class_id] < counts.max():
        return ""
    commonest = int(counts.argmax())
    most = "most" if counts[commonest] > counts.sum() / 2 else "more"
    return f"; {most} of its rows are {names[commonest]}"


def describe_assimilation(rule: Rule) -> str:
    """Say which ancestor's rule an assimilated rule became."""
    node = f"node {rule.assimilated_into}, an ancestor of its leaf" if rule.assimilated_into else "the root"
    unit = "weight" if rule.is_weighted else "rows"
    return (
        f"assimilated: it is now the rule of {node}, and covers all that comes there ({unit}: "
        f"{read_count(rule.covered_support or 0)} instead of {read_count(rule.source_support or 0)})"
    )


def title_rows(rules: Rules) -> str:
    """Name the rows that :func:`describe_rows` tells of, for the head of a column."""
    if rules.fidelity is not None:
        return "held-out rows"
    return "training rows"


def explain_reading(rules: Rules, shown: Sequence[Rule]) -> list[str]:
    """Say how lines and the numbers beside them are read, where that may be misread."""
    told = []
    if rules.is_list and any(len(section.rules) > 1 for section in rules.sections):
        told.append(SECTION_FIRST if len(rules.sections) > 1 else FIRST_DECIDES)
    told += [STATED] if any(map(describe_stated, shown)) else []
    return [*told, COUNTED_TWICE] if counts_rows_twice(rules) else told


def counts_rows_twice(rules: Rules) -> bool:
    """Whether the rows of the lines add up to more than there are."""
    return bool(np.nansum(rules.support) > np.nansum(rules.leaf_support) * (1 + 1e-9))


def _count_rows(rules: Rules, total: float) -> str:
    if not rules.is_ranked:  # by class or sample weights, if the model was fitted with some
        return f"the model counts {read_count(total)}"
    return f"weight {read_count(total)}" if rules.is_weighted else count_of(total, "row")
