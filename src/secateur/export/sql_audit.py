"""What an audit counts, as one SQL statement of the same pieces as the rules' own.

Rows are grouped by their class, the class of their leaf, the class that the rules predict, and how rules cover them::

    WITH typed AS (SELECT CAST(...) AS age_number, CAST(...) AS stay_label, source.* FROM "rows" AS source),
    decided AS (SELECT CASE WHEN ... THEN 1 END AS "truth", ... FROM typed)
    SELECT "truth", ..., COUNT(*) AS "n_rows" FROM decided GROUP BY "truth", ...

The result has a few rows for each three classes, however many rows the table has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from secateur.export.plain_names import FreeNames
from secateur.export.sql_columns import FLOAT64_END, TypedTable, check_names
from secateur.export.sql_dialects import find_dialect
from secateur.export.sql_nodes import Node, is_beyond, is_null, make_name, own_name, when
from secateur.rules.decision_list import Column, list_tests, make_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.decision_list import ColumnTest
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Label

__all__ = ["GROUPED", "UNKNOWN", "AuditStatement", "Refusal", "audit_to_sql"]

# The columns of the result that rows are grouped by, and what is counted of each group.
GROUPED = ("refused", "truth", "by_tree", "by_rules", "conflict", "covered")
N_ROWS, LABEL, WEIGHT, ODD_WEIGHTS = "n_rows", "label", "weight", "odd_weights"
N_CLASSES = "n_classes"
UNKNOWN = -1


@dataclass(frozen=True)
class Refusal:
    """A reason to refuse a row.

    Attributes
    ----------
    column : Column
    what : {"missing", "strange", "unlisted"}
        Whether the column holds nothing, a number that it must not hold, or a category that it must not hold.
    """

    column: Column
    what: str


@dataclass(frozen=True)
class AuditStatement:
    """A statement that counts rows for an audit.

    Its result has these columns behind those that were asked for: ``refused`` (index of the first refusal that holds,
    else NULL), ``truth`` (class of the label; -1 for one that is not known, NULL for none), ``by_tree``, ``by_rules``
    (classes), ``conflict``, ``covered`` (0 or 1), ``n_rows``, ``label`` (the least of the group); and with weights
    ``weight`` (their sum) and ``odd_weights`` (rows whose weight is negative, infinite or nothing).

    Attributes
    ----------
    text : str
    refusals : tuple of Refusal
        What ``refused`` counts.
    """

    text: str
    refusals: tuple[Refusal, ...]


def audit_to_sql(
    rules: RuleSet,
    y: str,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    *,
    sample_weight: str | None = None,
    labels: Sequence[Label] | None = None,
    by: Sequence[str] = (),
) -> AuditStatement:
    """Write a SELECT that counts the rows of a table for an audit of the rules.

    Parameters
    ----------
    rules : RuleSet
    y : str
        The column of labels.
    dialect : str, default="duckdb"
        As in :func:`secateur.export.sql.rules_to_sql`.
    table : str or sequence of str, default="rows"
        As in :func:`secateur.export.sql.rules_to_sql`.
    sample_weight : str, default=None
        The column of weights.
    labels : sequence of labels, default=None
        How the column of labels writes the classes, where it does not hold the tree's own.
    by : sequence of str, default=()
        Other columns of the table to group by; they come first in the result.

    Returns
    -------
    AuditStatement

    Examples
    --------
    >>> from secateur import TreeBuilder, simplify
    >>> builder = TreeBuilder(classes=["stay", "go"], feature_names=["rain"])
    >>> root = builder.split("rain", 0.5)
    >>> _ = builder.leaf([2, 8], parent=root, side="left")
    >>> _ = builder.leaf([9, 1], parent=root, side="right")
    >>> statement = audit_to_sql(simplify(builder.build(), method="exact"), "did", table="days")
    >>> [(refusal.column.name, refusal.what) for refusal in statement.refusals]
    [('rain', 'missing'), ('rain', 'strange')]
    """
    return _AuditStatement(rules, y, dialect, table, sample_weight, labels, by).write()


class _AuditStatement:
    """One statement while it is written."""

    def __init__(
        self,
        rules: RuleSet,
        y: str,
        dialect: str,
        table: str | Sequence[str],
        sample_weight: str | None,
        labels: Sequence[Label] | None,
        by: Sequence[str],
    ) -> None:
        tree = rules.tree
        self._rules, self._by = rules, by
        self._dialect = find_dialect(dialect)
        self._labels: tuple[Label, ...] = tuple(tree.classes.tolist() if labels is None else labels)
        asked = () if tree.columns is None else tree.columns.asked
        self._features = sorted({*tree.feature[~tree.is_leaf].tolist(), *asked})
        self._columns = [make_column(tree, feature) for feature in self._features]
        # Labels and weights are typed as the columns of the tree are; nothing is nothing there, too.
        self._label = len(self._columns)
        self._weight = None if sample_weight is None else self._label + 1
        others = [_make_other(y, self._labels)]
        if sample_weight is not None:
            others.append(_make_other(sample_weight, None))
        check_names(self._dialect, by)
        named = [*(column.name for column in (*self._columns, *others)), *by]
        taken = FreeNames([*(tree.feature_names or ()), *named])
        self._table = TypedTable([*self._columns, *others], self._dialect, table, taken)
        self._decided = taken.take("decided")

    def write(self) -> AuditStatement:
        """The statement."""
        refused, refusals = self._find_refusal()
        by_tree = self._find_class(np.zeros_like(self._rules.deleted))
        # Without a ranking, the rule of its own leaf decides a row.
        by_rules = self._find_class(self._rules.deleted) if self._rules.is_ranked else None
        made = [
            *(exp.Alias(this=self._table.own_column(name), alias=make_name(name)) for name in self._by),
            _name(refused, "refused"),
            _name(self._find_truth(), "truth"),
            _name(by_tree, "by_tree"),
            *([] if by_rules is None else [_name(by_rules, "by_rules")]),
            _name(self._count_classes(), N_CLASSES),
            _name(self._table.value(self._label), LABEL),
            *([] if self._weight is None else [_name(self._table.value(self._weight), WEIGHT)]),
        ]
        keys = [
            *((name, self._column(name)) for name in (*self._by, "refused", "truth", "by_tree")),
            ("by_rules", self._column("by_tree" if by_rules is None else "by_rules")),
            ("conflict", self._are_more_than(1)),
            ("covered", self._are_more_than(0)),
        ]
        named = [_name(key, name) for name, key in keys]
        final = exp.select(*named, *self._count(), copy=False)
        final = final.from_(exp.Table(this=own_name(self._decided)), copy=False)
        grouped = {key.sql(): key.copy() for _, key in keys}  # the class of the leaf may stand twice among them
        final = final.group_by(*grouped.values(), copy=False)
        final = self._table.attach(final, self._decided, made)
        text = final.sql(dialect=self._dialect.name, pretty=True, copy=False)
        return AuditStatement(f"-- Rows for an audit of {len(self._rules)} rules by secateur\n{text}", refusals)

    def _column(self, name: str) -> Node:
        return exp.Column(this=make_name(name), table=own_name(self._decided))

    def _are_more_than(self, least: int) -> Node:
        """Whether the rules of more than so many classes cover a row, as 0 or 1: not all databases have bools."""
        more = exp.GT(this=self._column(N_CLASSES), expression=_write(least))
        return exp.Case(ifs=[when(more, _write(1))], default=_write(0))

    def _count(self) -> list[Node]:
        """What is counted of a group."""
        # SQL Server and PostgreSQL have no least truth value, and nobody needs it: both are known.
        least = exp.Null() if _are_bools(self._labels) else exp.Min(this=self._column(LABEL))
        counted = [_name(exp.Count(this=exp.Star()), N_ROWS), _name(least, LABEL)]
        if self._weight is None:
            return counted
        odd = exp.or_(is_null(self._column(WEIGHT)), is_beyond(self._column(WEIGHT), 0.0, FLOAT64_END), copy=False)
        marked = exp.Case(ifs=[when(odd, _write(1))], default=_write(0))
        return [
            *counted,
            _name(exp.Sum(this=self._column(WEIGHT)), WEIGHT),
            _name(exp.Sum(this=marked), ODD_WEIGHTS),
        ]

    def _find_refusal(self) -> tuple[Node, tuple[Refusal, ...]]:
        """The first reason to refuse a row."""
        case = exp.Case(ifs=[])
        refusals: list[Refusal] = []
        for place, column in enumerate(self._columns):
            for what, condition in self._table.refuse(place):
                case.append("ifs", when(condition, _write(len(refusals)), f"{what}: {column.name}"))
                refusals.append(Refusal(column, what))
        return (case if refusals else exp.cast(exp.Null(), exp.DataType.Type.INT)), tuple(refusals)

    def _find_truth(self) -> Node:
        """The class of a row's label."""
        ifs = [
            when(self._table.is_in(self._label, [label]), _write(class_id))
            for class_id, label in enumerate(self._labels)
        ]
        known = exp.Not(this=is_null(self._table.value(self._label)))
        return exp.Case(ifs=[*ifs, when(known, _write(UNKNOWN))])

    def _find_class(self, deleted: NDArray[np.bool_]) -> Node:
        """The class of the first rule that a row satisfies, without the conditions that are deleted."""
        return self._table.find_first(
            ((tests, _write(class_id), "") for class_id, tests in self._list(deleted)), exp.Case(ifs=[])
        )

    def _count_classes(self) -> Node:
        """How many classes have a rule that a row satisfies."""
        by_class: dict[int, list[tuple[ColumnTest, ...]]] = {}
        for class_id, tests in self._list(self._rules.deleted):
            by_class.setdefault(class_id, []).append(tests)
        marks = []
        for listed in by_class.values():
            # A rule that asks nothing is enough.
            covering = listed if all(listed) else [()]
            marks.append(
                self._table.find_first(
                    ((tests, _write(1), "") for tests in covering), exp.Case(ifs=[], default=_write(0))
                )
            )
        total = marks[0]
        for mark in marks[1:]:
            total = exp.Add(this=total, expression=mark)
        return total

    def _list(self, deleted: NDArray[np.bool_]) -> list[tuple[int, tuple[ColumnTest, ...]]]:
        """The class of each rule and what it asks, in the order in which they win."""
        classes = self._rules.paths.leaf_class.tolist()
        return [(classes[index], tests) for index, tests in list_tests(self._rules, deleted, self._features)]


def _make_other(name: str, labels: tuple[Label, ...] | None) -> Column:
    """A column of labels or weights."""
    return Column(
        feature=-1,
        name=name,
        labels=labels,
        dtype="float64",
        takes_missing=True,
        takes_unlisted=True,
        lowest=-math.inf,
        highest=math.inf,
    )


def _are_bools(labels: Sequence[Label]) -> bool:
    return all(isinstance(label, bool) for label in labels)


def _name(made: Node, name: str) -> Node:
    return exp.Alias(this=made, alias=make_name(name))


def _write(number: int) -> Node:
    return exp.Literal.number(number)
