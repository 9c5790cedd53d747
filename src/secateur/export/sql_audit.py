"""What an audit counts, as one SQL statement of the same pieces as the rules' own.

Rows are grouped by their class, the rule of their leaf, the rule that decides them, and how rules cover them::

    WITH typed AS (SELECT CAST(...) AS age_number, CAST(...) AS stay_label, source.* FROM "rows" AS source),
    decided AS (SELECT CASE WHEN ... THEN 1 END AS "truth", ... FROM typed)
    SELECT "truth", ..., COUNT(*) AS "n_rows" FROM decided GROUP BY "truth", ...

The result has a few rows for each leaf and class, however many rows the table has.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from sqlglot import exp

from secateur.export.plain_names import FreeNames
from secateur.export.sql_columns import FLOAT64_END, TypedTable
from secateur.export.sql_dialects import find_dialect
from secateur.export.sql_names import check_names
from secateur.export.sql_nodes import Node, column_of, is_beyond, is_null, make_name, make_number, named, own_name, when
from secateur.rules.decision_list import Column, ColumnTest, list_deciding, list_tests, make_column
from secateur.rules.rules import Rules
from secateur.tree.tree import Label

# The columns of the result that rows are grouped by, and what is counted of each group.
GROUPED = ("refused", "truth", "leaf", "rule", "conflict", "covered")
N_ROWS, LABEL, WEIGHT, SQUARES = "n_rows", "label", "weight", "squares"
ODD_WEIGHTS, N_COUNTED = "odd_weights", "n_counted"
N_CLASSES = "n_classes"
UNKNOWN = -1


@dataclass(frozen=True)
class Refusal:
    """A reason to refuse a row."""

    column: Column
    what: str  # "missing", "strange" (a number it must not hold) or "unlisted" (a category it must not hold)


@dataclass(frozen=True)
class AuditStatement:
    """A statement that counts rows for an audit.

    Its result has these columns behind those that were asked for: ``refused`` (index of the first refusal that holds,
    else NULL), ``truth`` (class of the label; -1 for one that is not known, NULL for none), ``leaf``, ``rule``
    (indices of rules), ``conflict``, ``covered`` (0 or 1), ``n_rows``, ``label`` (the least of the group); and with
    weights ``weight`` (their sum), ``squares`` (the sum of their squares), ``odd_weights`` (rows whose weight is
    negative, infinite or missing) and ``n_counted`` (rows whose weight is above 0).
    """

    text: str
    refusals: tuple[Refusal, ...]  # what ``refused`` counts


def audit_to_sql(
    rules: Rules,
    y: str,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    *,
    sample_weight: str | None = None,
    labels: Sequence[Label] | None = None,
    by: Sequence[str] = (),
) -> AuditStatement:
    """Write a SELECT that counts the rows of a table for an audit of the rules.

    The column ``rule`` is the index of a line, ``leaf`` the place of a leaf. ``labels`` says how the column of labels
    writes the classes, where it does not hold the tree's own; columns named by ``by`` come first in the result.

    Examples
    --------
    >>> from secateur import TreeBuilder, simplify
    >>> builder = TreeBuilder(classes=["stay", "go"], feature_names=["rain"])
    >>> root = builder.split("rain", 0.5)
    >>> _ = builder.leaf([2, 8], parent=root, side="left")
    >>> _ = builder.leaf([9, 1], parent=root, side="right")
    >>> statement = audit_to_sql(simplify(builder.build()), "did", table="days")
    >>> [(refusal.column.name, refusal.what) for refusal in statement.refusals]
    [('rain', 'missing'), ('rain', 'strange')]
    """
    opened = _open_table(rules, y, dialect, table, sample_weight, labels, by)
    source, decided, features, columns, known = opened[:5]
    label = len(columns)
    refused, refusals = _find_refusal(source, columns)
    leaves = list_tests(rules, np.zeros_like(rules.deleted), features, np.arange(rules.tree_rules))
    ranked = list_tests(rules, rules.deleted, features, rules.leaves if rules.is_list else rules.ranking)
    deciding = list_deciding(rules, features)
    is_ordered = rules.is_list or rules.is_ordered
    made = {
        "refused": refused,
        "truth": _find_truth(source, label, known),
        "leaf": _find_rule(source, leaves),
        # Without a sure order, the rule of its own leaf decides a row.
        **({"rule": _find_rule(source, deciding)} if is_ordered else {}),
        N_CLASSES: _count_classes(source, ranked, rules.paths.leaf_class.tolist()),
        LABEL: source.value(label),
        **({} if sample_weight is None else {WEIGHT: source.value(label + 1)}),
    }
    step = [*((name, source.own_column(name)) for name in by), *made.items()]

    own = opened.own
    keys = [
        *((name, own(name)) for name in (*by, "refused", "truth", "leaf")),
        ("rule", own("rule" if is_ordered else "leaf")),
        ("conflict", _flag(exp.GT(this=own(N_CLASSES), expression=make_number(1)))),
        ("covered", _flag(exp.GT(this=own(N_CLASSES), expression=make_number(0)))),
    ]
    # SQL Server and PostgreSQL have no least truth value, and it is not needed: both are known.
    least = exp.Null() if all(isinstance(one, bool) for one in known) else exp.Min(this=own(LABEL))
    counted: dict[str, Node] = {N_ROWS: exp.Count(this=exp.Star()), LABEL: least}
    if sample_weight is not None:
        odd = exp.or_(is_null(own(WEIGHT)), is_beyond(own(WEIGHT), 0.0, FLOAT64_END), copy=False)
        counted |= {
            WEIGHT: exp.Sum(this=own(WEIGHT)),
            SQUARES: exp.Sum(this=exp.Mul(this=own(WEIGHT), expression=own(WEIGHT))),
            ODD_WEIGHTS: exp.Sum(this=_flag(odd)),
            N_COUNTED: exp.Sum(this=_flag(exp.GT(this=own(WEIGHT), expression=make_number(0)))),
        }
    grouped = {key.sql(): key.copy() for _, key in keys}  # the rule of the leaf may be there twice
    final = exp.select(*(named(key, name) for name, key in (*keys, *counted.items())), copy=False)
    final = final.from_(exp.Table(this=own_name(decided)), copy=False).group_by(*grouped.values(), copy=False)
    final = source.attach(final, decided, [named(node, name) for name, node in step])
    text = final.sql(dialect=find_dialect(dialect).name, pretty=True, copy=False)
    return AuditStatement(f"-- Rows for an audit of {len(rules)} rules by secateur\n{text}", refusals)


def coverage_to_sql(rules: Rules, asked: Sequence[int], y: str, dialect: str, table: Any, **options: Any) -> str:
    """Write a SELECT that counts the rows of a table by class, for each of some rules those that satisfy it.

    Rows that :func:`audit_to_sql` refuses must not be in the table. The result has the columns of ``by``, then
    ``truth`` (class), and for the k-th rule ``rows_k``, the sum of its rows, and with weights ``squares_k``, that of
    their squared weights.
    """
    opened = _open_table(rules, y, dialect, table, **options)
    found = dict(list_tests(rules, rules.deleted, opened.features, np.array(asked, dtype=np.int64)))
    marks = [(f"rule_{place}", opened.mark(found.get(rule))) for place, rule in enumerate(asked)]

    def add_up(name: str, amount: Node) -> Node:
        passes = exp.EQ(this=opened.own(name), expression=make_number(1))
        return exp.Sum(this=exp.Case(ifs=[when(passes, amount)], default=make_number(0)))

    counted: list[tuple[str, Node]] = []
    for place, (name, _) in enumerate(marks):
        if not opened.is_weighted:
            counted.append((f"rows_{place}", add_up(name, make_number(1))))
        else:
            squared = exp.Mul(this=opened.own(WEIGHT), expression=opened.own(WEIGHT))
            counted += [
                (f"rows_{place}", add_up(name, opened.own(WEIGHT))),
                (f"squares_{place}", add_up(name, squared)),
            ]
    return opened.write(marks, counted)


class _Opened(NamedTuple):
    """A table with its labels and weights, the name of the step that decides its rows, and what the rules ask of it."""

    source: TypedTable
    decided: str
    features: list[int]
    columns: list[Column]
    labels: tuple[Label, ...]
    by: Sequence[str]
    is_weighted: bool
    dialect: str

    def own(self, name: str) -> Node:
        """Name a column of the step."""
        return column_of(self.decided, make_name(name))

    def mark(self, tests: tuple[ColumnTest, ...] | None) -> Node:
        """Mark rows that pass some tests by 1, others by 0; None are the tests of a rule that no row can pass."""
        return make_number(0) if tests is None else self.source.find_first([(tests, 1, "")], default=0)

    def write(self, marks: list[tuple[str, Node]], counted: list[tuple[str, Node]]) -> str:
        """Write the statement that marks rows, groups them by class, and counts each group."""
        label = len(self.columns)
        step: list[tuple[str, Node]] = [(name, self.source.own_column(name)) for name in self.by]
        step.append(("truth", _find_truth(self.source, label, self.labels)))
        step += [(WEIGHT, self.source.value(label + 1))] if self.is_weighted else []
        grouped = [*self.by, "truth"]
        shown = [*((name, self.own(name)) for name in grouped), *counted]
        final = exp.select(*(named(node, name) for name, node in shown), copy=False)
        final = final.from_(exp.Table(this=own_name(self.decided)), copy=False)
        final = final.group_by(*(self.own(name) for name in grouped), copy=False)
        final = self.source.attach(final, self.decided, [named(node, name) for name, node in (*step, *marks)])
        return final.sql(dialect=self.dialect, pretty=True, copy=False)


def _open_table(
    rules: Rules,
    y: str,
    dialect: str,
    table: str | Sequence[str],
    sample_weight: str | None = None,
    labels: Sequence[Label] | None = None,
    by: Sequence[str] = (),
) -> _Opened:
    tree, chosen = rules.tree, find_dialect(dialect)
    known: tuple[Label, ...] = tuple(tree.classes.tolist() if labels is None else labels)
    asked = () if tree.columns is None else tree.columns.asked
    features = sorted({*tree.feature[~tree.is_leaf].tolist(), *asked})
    columns = [make_column(tree, feature) for feature in features]
    # Labels and weights are typed as the columns of the tree are; a missing one is NULL there, too.
    others = [_make_other(y, known), *([] if sample_weight is None else [_make_other(sample_weight, None)])]
    check_names(chosen, by)
    taken = FreeNames([*(tree.feature_names or ()), *(column.name for column in (*columns, *others)), *by])
    source = TypedTable([*columns, *others], chosen, table, taken)
    weighted = sample_weight is not None
    return _Opened(source, taken.take("decided"), features, columns, known, by, weighted, chosen.name)


def _find_refusal(source: TypedTable, columns: Sequence[Column]) -> tuple[Node, tuple[Refusal, ...]]:
    """Find the first reason to refuse a row."""
    case = exp.Case(ifs=[])
    refusals: list[Refusal] = []
    for place, column in enumerate(columns):
        for what, condition in source.refuse(place):
            case.append("ifs", when(condition, make_number(len(refusals)), f"{what}: {column.name}"))
            refusals.append(Refusal(column, what))
    return (case if refusals else exp.cast(exp.Null(), exp.DataType.Type.INT)), tuple(refusals)


def _find_truth(source: TypedTable, place: int, labels: Sequence[Label]) -> Node:
    """Find the class of a row's label."""
    ifs = [when(source.is_in(place, [label]), make_number(class_id)) for class_id, label in enumerate(labels)]
    known = exp.Not(this=is_null(source.value(place)))
    return exp.Case(ifs=[*ifs, when(known, make_number(UNKNOWN))])


def _find_rule(source: TypedTable, listed: Sequence[tuple[int, tuple[ColumnTest, ...]]]) -> Node:
    """Find the first rule that a row satisfies."""
    return source.find_first((tests, index, "") for index, tests in listed)


def _count_classes(
    source: TypedTable, listed: Sequence[tuple[int, tuple[ColumnTest, ...]]], classes: Sequence[int]
) -> Node:
    """Count the classes that have a rule which a row satisfies."""
    by_class: dict[int, list[tuple[ColumnTest, ...]]] = {}
    for index, tests in listed:
        by_class.setdefault(classes[index], []).append(tests)
    marks = []
    for covering in by_class.values():
        asked = covering if all(covering) else [()]  # a rule that asks nothing is enough
        marks.append(source.find_first(((tests, 1, "") for tests in asked), default=0))
    return _add(marks)


def _add(nodes: Sequence[Node]) -> Node:
    return reduce(lambda one, other: exp.Add(this=one, expression=other), nodes) if nodes else make_number(0)


def _flag(condition: Node) -> Node:
    """Write a condition as 0 or 1: not all databases have bools."""
    return exp.Case(ifs=[when(condition, make_number(1))], default=make_number(0))


def _make_other(name: str, labels: tuple[Label, ...] | None) -> Column:
    """Make a column of labels or weights."""
    return Column(-1, name, labels, "float64", True, True, -math.inf, math.inf)
