"""How good rules are on rows, by counts alone: how often right, how many of the class of interest they find.

Unseen rows are measured where there are any, else the training rows, and the words say which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.results.statistics import count_classes, count_effective, expect_share, find_area, find_guess
from secateur.rules.rules import Rules
from secateur.tree.shares import divide_or_nan
from secateur.words.conditions import count_of, read_count, read_share

__all__ = [
    *(
        "CaughtLine",
        "Measures",
        "count_shown",
        "describe_ranking",
        "find_expected",
        "find_interest",
        "measure_groups",
        "measure_rules",
    ),
    "rank_lines",
]

# The fewest rows from which a share says something: if a class were as likely as not, five rows would all be of it in
# 3 % of cases, four rows in 6 %.
FEW_ROWS = 5
FIRST_PART = 0.1  # of the rows: what the lines with the highest shares hold of the class of interest


class CaughtLine(NamedTuple):
    """A line among those ranked by their share of the class of interest, highest first."""

    line: int  # from 1
    rows: float
    hits: float  # of them in the class of interest
    rows_so_far: float  # share of all rows, up to this line
    caught_so_far: float  # share of all rows of the class


@dataclass(frozen=True)
class Measures:
    """How good answers are on some rows.

    Attributes
    ----------
    names : sequence of str
        The classes.
    rows : str
        Which rows, such as ``"5,000 unseen rows"``.
    confusion : ndarray of float64, shape (n_classes, n_classes)
        (Weighted) rows by the class that is said and their own class.
    guess : int
        The class that one would say of any row.
    tree_accuracy : float
        How often the tree is right; NaN where not known.
    of : int or None
        The class of interest.
    auc, tree_auc : float
        Area under the ROC curve of that class against the rest; NaN where not known.
    """

    names: Sequence[str]
    rows: str
    confusion: NDArray[np.float64]
    guess: int
    of: int | None
    auc: float
    tree_accuracy: float = math.nan
    tree_auc: float = math.nan
    which: str = ""  # "unseen" or "in training", behind a number of rows

    @property
    def total(self) -> float:
        """(Weighted) rows."""
        return float(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Share of the rows that are answered correctly."""
        return float(np.trace(self.confusion)) / self.total

    @property
    def guess_accuracy(self) -> float:
        """Share of the rows of the class that one would guess."""
        return float(self.confusion[:, self.guess].sum()) / self.total

    def count_of(self, class_id: int) -> tuple[float, float, float]:
        """Count the rows of a class, those named it, and those that are both."""
        found = self.confusion[:, class_id].sum(), self.confusion[class_id].sum(), self.confusion[class_id, class_id]
        return float(found[0]), float(found[1]), float(found[2])

    def to_dict(self) -> dict[str, Any]:
        """List the numbers by name, ready for JSON: None for those that are not known."""
        own, named, hits = (None, None, None) if self.of is None else self.count_of(self.of)
        found = {
            "rows": self.rows,
            "accuracy": self.accuracy,
            "guess": self.names[self.guess],
            "guess_accuracy": self.guess_accuracy,
            "tree_accuracy": self.tree_accuracy,
            "of": None if self.of is None else self.names[self.of],
            "n_of": own,
            "n_named": named,
            "n_found": hits,
            "auc": self.auc,
            "tree_auc": self.tree_auc,
            "confusion": self.confusion.tolist(),
        }
        return {name: None if value != value else value for name, value in found.items()}

    def describe_class(self) -> str | None:
        """Say how many rows of the class of interest are found, and how many of those named are; None without one."""
        if self.of is None:
            return None
        name, (own, named, hits) = self.names[self.of], self.count_of(self.of)
        which = f" {self.which}" if self.which else ""
        if not own:
            return f"None of {self.rows} is {name}."
        area = "" if math.isnan(self.auc) else f" AUC {self.auc:.3f}"
        area += f" (tree {self.tree_auc:.3f})" if area and not math.isnan(self.tree_auc) else ""
        area += "." if area else ""
        if not named:
            return f"{name}: finds none of {read_count(own)}{which}, because no line with a row says so.{area}"
        lift = hits / named / (own / self.total)
        return (
            f"{name}: finds {read_count(hits)} of {read_count(own)}{which} ({read_share(hits / own)}); of "
            f"{read_count(named)} that it names, {read_count(hits)} are {name} ({read_share(hits / named)}, {lift:.3g} "
            f"times the share in all rows).{area}"
        )

    def describe_confusion(self) -> str:
        """Lay out the rows by what is said (down) and what they are (across)."""
        head = ["said \\ is", *self.names]
        body = [[name, *map(read_count, row)] for name, row in zip(self.names, self.confusion.tolist(), strict=True)]
        widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(n) for cell, n in zip(row[1:], widths[1:], strict=True))])
            for row in (head, *body)
        )


def measure_groups(
    names: Sequence[str],
    rows: str,
    said: NDArray[np.int64],
    shares: NDArray[np.float64],
    counts: NDArray[np.float64],
    *,
    guess: int,
    of: int | None,
) -> Measures:
    """Measure answers that groups of rows share: the class that is said, class shares, and rows by class."""
    confusion = np.zeros((len(names), len(names)))
    np.add.at(confusion, said, counts)
    area = math.nan if of is None else find_area(shares[:, of], counts[:, of], counts.sum(axis=1) - counts[:, of])
    return Measures(names, rows, confusion, guess, of, area)


def measure_rules(rules: Rules) -> Measures | None:
    """Measure a list on unseen rows, else on the training rows; None without rows, and of one rule for each leaf."""
    counts, is_unseen = count_shown(rules)
    if counts is None or not rules.is_list or not counts.sum() > 0 or rules.tree.is_regression:
        return None
    unseen = rules.unseen if is_unseen else None
    by_leaf = rules.leaf_counts if unseen is None else unseen.leaf_counts
    of, said = find_interest(rules), rules.paths.leaf_class
    is_weighted = rules.is_weighted if unseen is None else unseen.is_weighted
    which, total = "unseen" if is_unseen else "training", float(counts.sum())
    rows = f"{which} rows of weight {read_count(total)}" if is_weighted else count_of(total, f"{which} row")
    guess = find_guess(rules, counts.sum(axis=0))
    found = measure_groups(rules.tree.class_names, rows, rules.class_ids, rules.shares, counts, guess=guess, of=of)
    tree = measure_groups(rules.tree.class_names, rows, said, rules.leaf_shares, by_leaf, guess=guess, of=of)
    own = found.auc if rules.is_counted else tree.auc
    which = "unseen" if is_unseen else "in training"
    return replace(found, auc=own, tree_accuracy=tree.accuracy, tree_auc=tree.auc, which=which)


def find_expected(rules: Rules, lines: NDArray[np.int64] | None = None) -> list[tuple[float, float] | None]:
    """Find for some lines what share of their class as many new rows will have, by unseen rows; None where too few."""
    unseen, lines = rules.unseen, np.arange(rules.n_lines) if lines is None else lines
    if unseen is None:
        return [None] * len(lines)
    rows = unseen.support[lines]
    n_rows = rows if unseen.squares is None else count_effective(rows, unseen.squares[lines])
    share = divide_or_nan(unseen.counts[lines, rules.class_ids[lines]], rows)
    low, high = expect_share(np.nan_to_num(share) * n_rows, n_rows)
    limits = zip(low.tolist(), high.tolist(), (n_rows >= FEW_ROWS).tolist(), strict=True)
    return [(one, other) if is_enough else None for one, other, is_enough in limits]


def count_shown(rules: Rules) -> tuple[NDArray[np.float64] | None, bool]:
    """Give the counts that are shown first, unseen ones where there are any, and whether they are."""
    if rules.unseen is not None:
        return rules.unseen.counts, True
    is_known = rules.is_ranked and rules.fidelity is None and not np.isnan(rules.counts).any()
    return (rules.counts if is_known else None), False


def find_interest(rules: Rules) -> int | None:
    """Find the class of interest: the one that was named, or the rarer of two."""
    if rules.making.of is not None or rules.tree.is_regression:
        return rules.making.of
    sizes = count_classes(rules)
    if rules.tree.n_classes != 2 or sizes is None:
        return None
    return int(sizes.argmin()) if sizes[0] != sizes[1] else 1


def rank_lines(rules: Rules) -> list[CaughtLine]:
    """Rank the lines by their share of the class of interest, with what they hold of it up to each."""
    counts, of = count_shown(rules)[0], find_interest(rules)
    if counts is None or of is None or not rules.is_list:
        return []
    order = np.argsort(-rules.shares[:, of], kind="stable")
    rows, hits = counts.sum(axis=1)[order], counts[order, of]
    so_far = divide_or_nan(np.cumsum(rows), np.full(len(rows), rows.sum()))
    caught = divide_or_nan(np.cumsum(hits), np.full(len(hits), hits.sum()))
    listed = zip((order + 1).tolist(), *(one.tolist() for one in (rows, hits, so_far, caught)), strict=True)
    return [CaughtLine(*one) for one in listed]


def describe_ranking(rules: Rules) -> str | None:
    """Say which line has the highest share of the class of interest, and what the first lines hold together."""
    ranked, of = rank_lines(rules), find_interest(rules)
    if of is None or not ranked or not ranked[-1].caught_so_far > 0:
        return None
    name, which = rules.tree.class_names[of], "unseen" if count_shown(rules)[1] else "training"
    first = next((one for one in ranked if one.rows >= FEW_ROWS), None)
    if first is None or not first.hits:
        return None
    told = (
        f"Line {first.line} states the highest probability: {read_count(first.hits)} of its {read_count(first.rows)} "
        f"{which} rows are {name}."
    )
    some = [one for one in ranked if one.rows and one.rows_so_far <= FIRST_PART]
    if len(some) > 1:
        told += (
            f" The {len(some)} lines that state the most hold {read_share(some[-1].rows_so_far)} of the rows and "
            f"{read_share(some[-1].caught_so_far)} of {name}."
        )
    return told
