"""Count rows for the audit of rules; what is counted adds up from any pieces of the rows.

Of values these are sums, for each line and for each leaf: of weights, of what targets lie above its value, of squares
of that, and of its size.
"""

from dataclasses import dataclass, field, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from secateur.counting.masks import MOST_CLASS_MASKS, list_rows, mask_blocks, rows_of_rule
from secateur.counting.targets import sum_targets
from secateur.counting.training_evidence import MASKED_LEAVES, Conditions, count_violations
from secateur.rows.rows import LabelledRows, Rows
from secateur.rules.lines import Placed, count_struck, find_next_lines, place_rows
from secateur.rules.rules import Rules

FEW_CELLS = 1 << 16
Places = NDArray[np.int64]  # of leaves, lines, classes or cells
Sums = NDArray[np.float64]  # of weights, or of what each row adds, and the numbers that are added up


@dataclass(frozen=True, eq=False)
class CellCounts:
    """(Weighted) rows of the cells that are not empty.

    Cells are in increasing order, so that sums over them do not depend on the order of rows.

    Examples
    --------
    >>> one = CellCounts.of(np.array([7, 2, 7]), np.ones(3))
    >>> (one + one).counts.tolist()
    [2.0, 4.0]
    """

    cells: Places
    counts: Sums

    @classmethod
    def of(cls, cells: Places, weights: Sums | None, n_cells: int | None = None) -> Self:
        """Count rows, or add up counts, by their cell; without sorting where there are fewer cells than rows."""
        if n_cells is not None and n_cells <= max(len(cells), FEW_CELLS):
            whole = np.bincount(cells, weights=weights, minlength=n_cells).astype(np.float64)
            found = np.flatnonzero(whole > 0)
            return cls(found, whole[found])
        found, place = np.unique(cells, return_inverse=True)
        counts = np.bincount(place, weights=weights, minlength=len(found)).astype(np.float64)
        kept = counts > 0
        return cls(found[kept], counts[kept])

    def __add__(self, other: Self) -> Self:
        return self.of(np.concatenate([self.cells, other.cells]), np.concatenate([self.counts, other.counts]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellCounts):
            return NotImplemented
        return np.array_equal(self.cells, other.cells) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is arrays


# Sums of weights: of all rows, of those that rules of different classes cover, of those that some rule covers; of the
# squared weights of all rows; and the number of rows whose weight is not 0.
SUMS = ("total", "in_conflict", "covered", "squares", "n_counted")


@dataclass(frozen=True)
class AuditCounts:
    """(Weighted) rows counted for an audit; the counts of parts add up."""

    n_rows: int
    decided: CellCounts  # rows by their leaf, the line that decides them, and their class; see find_cells
    sums: Sums  # the numbers that SUMS names
    by_line: Sums  # rows of each line, by class, shape (n_lines, n_classes): see Rule.support
    squares: Sums  # sums of their squared weights, shape (n_lines,)
    # Of values, for each line, then for each leaf: weights, sums and sums of squares above its value, and of errors;
    # shape (n_lines + n_leaves, 4), of classes (0, 4). With one rule for each leaf, a third part is of the rows that
    # each covers; the first is of those that it decides.
    targets: Sums = field(default_factory=lambda: np.zeros((0, 4)))
    # Of a list, for each line: its rows that would be right, or of values their errors, if it were struck; else empty.
    struck: Sums = field(default_factory=lambda: np.zeros(0))

    def total(self, name: str) -> float:
        """Give one of the sums."""
        return float(self.sums[SUMS.index(name)])

    def to_cells(self) -> tuple[Places, Sums]:
        """List the counts that are not zero, and their places."""
        dense = np.concatenate([self.sums, self.by_line.ravel(), self.squares])
        places = np.flatnonzero(dense)
        return (
            np.concatenate([places, self.decided.cells + len(dense)]),
            np.concatenate([dense[places], self.decided.counts]),
        )

    @classmethod
    def from_cells(cls, rules: Rules, n_rows: int, places: Places, counts: Sums) -> Self:
        """Read what :meth:`to_cells` listed, in any order."""
        shape = len(rules.class_ids), rules.tree.n_classes
        dense = np.zeros(len(SUMS) + shape[0] * (shape[1] + 1))
        is_dense = places < len(dense)
        dense[places[is_dense]] = counts[is_dense]
        sums, by_line, squares = np.split(dense, [len(SUMS), len(SUMS) + shape[0] * shape[1]])
        decided = CellCounts.of(places[~is_dense] - len(dense), counts[~is_dense])
        return cls(n_rows, decided, sums, by_line.reshape(shape), squares)

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def find_cells(rules: Rules, leaf: Places, line: Places, truth: Places) -> Places:
    """Number the cells of rows by their leaf, the line that decides them, and their class."""
    return (leaf * len(rules.class_ids) + line) * rules.tree.n_classes + truth


def n_cells(rules: Rules) -> int:
    """Count these cells."""
    return rules.paths.n_rules * len(rules.class_ids) * rules.tree.n_classes


@dataclass(frozen=True)
class AuditCounter:
    """Count rows for the audit of rules."""

    rules: Rules
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> AuditCounts:
        """Count some rows."""
        rules, (rows, truth, weights) = self.rules, listed[:3]
        shape = rules.n_lines, rules.tree.n_classes
        placed, beside = self._place(rows, truth if weights is None else None)
        leaf, line, conflict, covered = placed
        decided = CellCounts.of(find_cells(rules, leaf, line, truth), weights, n_cells(rules))
        if weights is None:
            by_line, squares = beside, beside.sum(axis=1)
            n_rows = rows.n_rows
            sums = np.array([n_rows, np.count_nonzero(conflict), np.count_nonzero(covered), n_rows, n_rows])
        else:
            with np.errstate(over="ignore", under="ignore"):  # finish_audit rejects weights that cannot be squared
                squared = weights**2
            if rules.is_list:
                by_line = cross(line, truth, weights, shape)
                squares = np.bincount(line, squared, rules.n_lines).astype(np.float64)
            else:
                by_line = self._count_covered(listed)
                squares = self._count_covered(listed._replace(weights=squared)).sum(axis=1)
            marked = weights.sum(), weights[conflict].sum(), weights[covered].sum(), float(squared.sum())
            sums = np.array([*marked, np.count_nonzero(weights)])
        share = np.ones(rows.n_rows) if weights is None else weights
        return AuditCounts(
            rows.n_rows,
            decided,
            sums.astype(np.float64),
            by_line,
            squares,
            _sum_errors(rules, leaf, line, listed, share) if rules.tree.is_regression else np.zeros((0, 4)),
            self._count_struck(listed, line, share) if rules.is_list else np.zeros(0),
        )

    def _count_struck(self, listed: LabelledRows, line: Places, share: Sums) -> Sums:
        """Add up the rows of each line that the next line which holds would answer rightly; of values, its errors."""
        rules, layout = self.rules, self.rules.list_layout
        is_few = rules.tree.n_classes <= MOST_CLASS_MASKS and rules.paths.n_rules <= MASKED_LEAVES
        if is_few and listed.weights is None and listed.targets is None:
            found = count_struck(rules, listed.rows, listed.class_ids)
        else:
            then = find_next_lines(rules, listed.rows, line)
            if listed.targets is not None:
                good = np.abs(listed.targets - rules.answers[then])
            else:
                good = (rules.class_ids[then] == listed.class_ids).astype(np.float64)
            found = np.bincount(line, share * good, rules.n_lines).astype(np.float64)
        found[layout.rest_lines] = np.nan
        return found

    def _place(self, rows: Rows, truth: Places | None) -> tuple[Placed, Sums]:
        """Find where rows are, and count those of each line by class if these are known."""
        rules, layout = self.rules, self.rules.layout
        is_clear = rules.is_clear or rules.tree.is_regression  # no two classes meet
        if layout is None or not is_clear or rules.paths.n_rules <= MASKED_LEAVES:
            return place_rows(rules, rows, truth)
        leaf, line = rules.find_places(rows)
        is_rest = np.zeros(rules.n_lines, dtype=bool)
        is_rest[layout.rest_lines] = True
        counts = np.zeros((rules.n_lines, rules.tree.n_classes))
        if truth is not None:
            counts += cross(line, truth, np.ones(len(line)), counts.shape)
        return Placed(leaf, line, np.zeros(len(line), dtype=bool), ~is_rest[line]), counts

    def _count_covered(self, listed: LabelledRows) -> Sums:
        """Count the rows of each class that satisfy each leaf's rule."""
        rules = self.rules
        widened = rules.paths.count(rules.deleted) > 0
        conditions = Conditions(rules.deleted, np.zeros_like(rules.deleted), widened)
        return count_violations(rules.tree, rules.paths, conditions, listed).counts

    def add(self, total: AuditCounts, part: AuditCounts) -> AuditCounts:
        """Add the counts of a further piece."""
        return total + part


def _sum_errors(rules: Rules, leaf: Places, line: Places, listed: LabelledRows, weight: Sums) -> Sums:
    """Add up what targets lie above the values of lines, then of leaves, and how large that is."""
    assert listed.targets is not None
    found = []
    for place, values in ((line, rules.answers), (leaf, rules.leaf_answers)):
        sizes = np.bincount(place, weight * np.abs(listed.targets - values[place]), len(values))
        found.append(np.column_stack([sum_targets(place, values, listed), sizes]))
    return np.concatenate([*found, *([] if rules.is_list else [_sum_covered(rules, listed, weight)])])


def _sum_covered(rules: Rules, listed: LabelledRows, weight: Sums) -> Sums:
    """Add up the same over the rows that satisfy each leaf's rule; a row may satisfy several."""
    assert listed.targets is not None
    found = np.zeros((rules.n_lines, 4))
    for span, masks in mask_blocks(rules.tree, listed.rows):
        targets, heavy = listed.targets[span], weight[span]
        for rule, value in enumerate(rules.answers.tolist()):
            own = list_rows(rows_of_rule(rules.paths, rules.deleted, rule, masks))
            above = targets[own] - value
            found[rule] += heavy[own] @ np.stack([np.ones(len(own)), above, above**2, np.abs(above)], axis=1)
    return found


def cross(one: Places, other: Places, weights: Sums, shape: tuple[int, ...]) -> Sums:
    """Add up weights by two numbers."""
    table = np.bincount(one * shape[1] + other, weights=weights, minlength=shape[0] * shape[1])
    return table.astype(np.float64).reshape(shape)
