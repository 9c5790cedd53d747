"""Rules as one SQL statement, which adds the rule, the class and the reliability to the rows of a table.

The statement is flat. The columns that rules ask for are typed once, one CASE finds the first rule that a row
satisfies, and the class and the reliability are read off the number of the rule::

    WITH typed AS (SELECT CAST(...) AS age_number, source.* FROM "rows" AS source),
    decided AS (SELECT CASE WHEN ... THEN 3 WHEN ... THEN 1 END AS "rule", typed.* EXCLUDE (age_number) FROM typed)
    SELECT CASE WHEN "rule" IN (1, 3) THEN 'yes' ... END AS "prediction", ..., decided.* FROM decided

Every node is built as a node of sqlglot's syntax tree, never pasted as text: names and labels cannot become code.
Conditions are joined by AND and OR alone, so that SQL's third truth value, which NULL brings in, counts as no.
"""

from __future__ import annotations

import math
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from secateur.decision_list import double_limit, make_decision_list
from secateur.errors import ParameterError
from secateur.export.plain_names import SHOWN_NAME, FreeNames, is_unicode, plain_name
from secateur.export.sql_dialects import find_dialect
from secateur.export.sql_nodes import (
    Node,
    comment,
    is_beyond,
    is_in,
    is_null,
    make_name,
    make_number,
    own_name,
    when,
    write_for_sqlite,
)
from secateur.reading import read_threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from secateur.decision_list import Column, ColumnTest, DecisionList, ListedRule
    from secateur.export.sql_dialects import SqlDialect
    from secateur.rules import RuleSet
    from secateur.tree import Label

__all__ = ["RESULT_NAMES", "rules_to_sql"]

RESULT_NAMES = ("rule", "prediction", "reliability")
FLOAT32_END = double_limit(float(np.finfo(np.float32).max), "float32")
FLOAT64_END = float(np.finfo(np.float64).max)
FLOAT32_TINY = 2.0**-150  # the largest that float32 rounds to zero
EXACT_INTEGER = 2**53
HEAD_WORDS = 2000
LINE = 110


def rules_to_sql(
    rules: RuleSet,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    names: Sequence[str] = RESULT_NAMES,
) -> str:
    """Write the rules as a SELECT over a table that has the columns of the rows.

    The result has three columns before those of the table: the class, the reliability of the rule that decides, and its
    number, counted from 1. A row that the tree refuses has NULL in all three. NULL, and NaN where
    there is such a number, is a missing value.

    Parameters
    ----------
    rules : RuleSet
    dialect : str, default="duckdb"
        duckdb, postgres, spark, sqlite, tsql (SQL Server), bigquery or snowflake.
    table : str or sequence of str, default="rows"
        Name of the table; dots separate catalog, schema and table. A sequence holds these parts as they are.
    names : sequence of three str, default=("rule", "prediction", "reliability")
        What the added columns are called; underscores are added where a column of the tree has that name.

    Returns
    -------
    str
    """
    return _Statement(rules, find_dialect(dialect), table, names).write()


class _Statement:
    """One statement while it is written."""

    def __init__(self, rules: RuleSet, dialect: SqlDialect, table: str | Sequence[str], names: Sequence[str]) -> None:
        self._rules = rules
        self._dialect = dialect
        self._listed = listed = make_decision_list(rules)
        self._path = _split_table(table)
        strange = next(
            (part for part in (*self._path, *names) if dialect.name == "bigquery" and set(part) & {"\\", "`"}), None
        )
        if strange is not None:
            raise ParameterError(f"BigQuery has no name such as {strange[:SHOWN_NAME]!r}; choose another.")
        _check_columns(listed, dialect)
        _check_texts(listed, [*self._path, *names])
        taken = FreeNames([*(rules.tree.feature_names or ()), *(column.name for column in listed.columns)])
        if len(names) != len(RESULT_NAMES):
            raise ParameterError(f"Expected a name for each of {', '.join(RESULT_NAMES)}, found {len(names)} names.")
        self._rule, self._prediction, self._reliability = (taken.take(name) for name in names)
        self._typed = [taken.take(plain_name(column)) for column in listed.columns]
        for part in self._path:
            taken.take(part)
        self._source, self._step, self._decided = (taken.take(name) for name in ("source", "typed", "decided"))

    def write(self) -> str:
        """The statement as text."""
        # Our columns come before those of the table, which may have the same names: a database takes the first then.
        final = exp.select(
            self._lookup(lambda rule: rule.label, self._prediction),
            self._lookup(lambda rule: rule.reliability, self._reliability),
            self._star(self._decided),
            copy=False,
        ).from_(self._table(self._decided), copy=False)
        decided = exp.select(self._find_rule(), self._star(self._step_name, hidden=self._exclude), copy=False)
        if self._exclude:
            typed = exp.select(*self._typed_columns(), self._star(self._source)).from_(self._source_table(), copy=False)
            final = final.with_(own_name(self._step), as_=typed, copy=False)
            decided = decided.from_(self._table(self._step), copy=False)
        else:
            decided = decided.from_(self._source_table(), copy=False)
            if self._lateral:
                decided.append("joins", self._lateral_join())
        if self._dialect.fence == "offset":
            decided = decided.offset(0, copy=False)
        materialized = True if self._dialect.fence == "materialized" else None
        final = final.with_(own_name(self._decided), as_=decided, materialized=materialized, copy=False)
        return f"{self._head()}\n{final.sql(dialect=self._dialect.name, pretty=True, copy=False)}"

    @property
    def _exclude(self) -> bool:
        return self._dialect.casts and self._dialect.attach == "exclude" and bool(self._typed)

    @property
    def _lateral(self) -> bool:
        return self._dialect.casts and self._dialect.attach == "lateral" and bool(self._typed)

    @property
    def _step_name(self) -> str:
        """Where the table's own columns are found when the rule is."""
        return self._step if self._exclude else self._source

    def _head(self) -> str:
        """What the statement is, above it."""
        rules = self._rules
        words = f"{len(rules)} rules by secateur, method {rules.method}. {rules.guarantee}"
        lines = [line for part in (words, *rules.remarks) for line in wrap(comment(part, HEAD_WORDS), LINE)]
        return "\n".join(f"-- {line}" for line in lines)

    def _table(self, name: str) -> exp.Table:
        return exp.Table(this=own_name(name))

    def _source_table(self) -> Node:
        """The table of the rows. It gets an alias, because SQLite takes an unknown quoted name alone for a text."""
        parts = [make_name(part) for part in self._path]
        keys = ("this", "db", "catalog")
        table = exp.Table(**dict(zip(keys, reversed(parts), strict=False)))
        return exp.alias_(table, own_name(self._source), table=True)

    def _star(self, table: str, *, hidden: bool = False) -> Node:
        star = exp.Star(except_=[own_name(name) for name in self._typed]) if hidden else exp.Star()
        return exp.Column(this=star, table=own_name(table))

    def _lateral_join(self) -> exp.Join:
        select = exp.select(*self._typed_columns())
        subquery = exp.Subquery(this=select.offset(0) if self._dialect.fence == "offset" else select)
        alias = exp.TableAlias(this=own_name(self._step))
        if self._dialect.name == "tsql":
            return exp.Join(this=exp.Lateral(this=subquery, alias=alias, cross_apply=True))
        return exp.Join(this=exp.Lateral(this=subquery, alias=alias), kind="CROSS")

    def _typed_columns(self) -> list[Node]:
        return [
            exp.Alias(this=self._type_column(column), alias=own_name(name))
            for column, name in zip(self._listed.columns, self._typed, strict=True)
        ]

    def _type_column(self, column: Column) -> Node:
        """A column with the type that rules ask for; what is missing becomes NULL."""
        dialect = self._dialect

        def own() -> Node:
            return exp.Column(this=make_name(column.name), table=own_name(self._source))

        if _is_text(column):
            return self._compare_bytes(exp.cast(own(), exp.DataType.build(dialect.text)))
        if not _is_number(column):  # bools, and whole numbers that a double would round
            return own()

        def double() -> Node:
            return exp.cast(own(), exp.DataType.Type.DOUBLE)

        if column.labels is not None or column.dtype == "float64" or dialect.single is None:
            return self._drop_nan(double)
        rounded = exp.cast(exp.cast(double(), exp.DataType.build(dialect.single)), exp.DataType.Type.DOUBLE)
        # What four bytes cannot hold stays as it is, to be refused by name and not by an error.
        case = exp.Case(ifs=[when(is_beyond(double(), -FLOAT32_END, FLOAT32_END), double())])
        if dialect.refuses_tiny:
            tiny = exp.Between(this=double(), low=make_number(-FLOAT32_TINY), high=make_number(FLOAT32_TINY))
            case.append("ifs", when(tiny, exp.Literal.number("0")))
        case.set("default", rounded)
        return self._drop_nan(lambda: case)

    def _drop_nan(self, make: Callable[[], Node]) -> Node:
        if self._dialect.has_nan == "equal":
            nan = exp.cast(exp.Literal.string("NaN"), exp.DataType.Type.DOUBLE)
            return exp.Nullif(this=make(), expression=nan)
        if self._dialect.has_nan == "unequal":
            return exp.Case(ifs=[when(exp.Not(this=exp.IsNan(this=make())), make())])
        return make()

    def _value(self, place: int) -> Node:
        """A column as a condition names it."""
        if self._dialect.casts:
            return exp.Column(this=own_name(self._typed[place]), table=own_name(self._step))
        column = self._listed.columns[place]
        own = exp.Column(this=make_name(column.name), table=own_name(self._source))
        return self._compare_bytes(own) if _is_text(column) else own

    def _compare_bytes(self, text: Node) -> Node:
        """A text whose column may say that upper and lower case are equal, without that."""
        name = self._dialect.collation
        if not name:
            return text
        return exp.Collate(this=text, expression=exp.to_identifier(name, quoted=name == "C"))

    def _find_rule(self) -> Node:
        """The number of the first rule that a row satisfies."""
        case = exp.Case(ifs=[])
        refused = [part for place in range(len(self._typed)) for part in self._refuse(place)]
        if refused:
            case.append("ifs", when(exp.or_(*refused, copy=False), exp.Null(), "refused: no rule is for such a row"))
        for rule in self._listed.rules:
            number = exp.Literal.number(rule.index + 1)
            if not rule.tests:  # no later rule can win
                if not case.args["ifs"]:
                    return exp.Alias(this=number, alias=make_name(self._rule))
                number.add_comments([comment(rule.text)])
                case.set("default", number)
                break
            tests = [part for test in rule.tests for part in self._ask(test)]
            case.append("ifs", when(exp.and_(*tests, copy=False), number, rule.text))
        return exp.Alias(this=case, alias=make_name(self._rule))

    def _refuse(self, place: int) -> list[Node]:
        """What a row must not hold in a column."""
        column = self._listed.columns[place]
        refused: list[Node] = []
        if not column.takes_missing:
            refused.append(is_null(self._value(place)))
        if _is_text(column) and self._dialect.type_of:
            refused.append(self._is_of_type(column, self._dialect.other_types))
        elif not self._dialect.casts:
            refused.append(self._is_of_type(column, ("text", "blob")))
        if column.labels is not None:
            if not column.takes_unlisted:
                refused.append(exp.Not(this=self._is_in(place, column.labels)))
            return refused
        if self._dialect.has_infinity or column.ends != (-FLOAT64_END, FLOAT64_END):
            refused.append(is_beyond(self._value(place), *column.ends))
        return refused

    def _is_of_type(self, column: Column, types: Iterable[str]) -> Node:
        """Whether a row holds something of one of some types, rather than nothing."""

        def own() -> Node:
            return exp.Column(this=make_name(column.name), table=own_name(self._step_name))

        kind: Node = exp.Anonymous(this=self._dialect.type_of, expressions=[own()])
        if self._dialect.name == "postgres":
            kind = exp.cast(kind, exp.DataType.Type.TEXT)
        listed = exp.In(this=kind, expressions=[exp.Literal.string(name) for name in types])
        if self._dialect.name == "sqlite":  # where every value has a type of its own, and NULL has one too
            return listed
        return exp.and_(exp.Not(this=is_null(own())), listed, copy=False)

    def _ask(self, test: ColumnTest) -> list[Node]:
        """What a rule asks of one column, to be joined by AND; NULL counts as no, unless it is asked for."""
        column = self._listed.columns[test.column]
        parts: list[Node] = []
        for low, high in test.intervals:
            ends: list[Node] = []
            if low > -math.inf:
                ends.append(exp.GT(this=self._value(test.column), expression=self._limit(low, column)))
            if high < math.inf:
                ends.append(exp.LTE(this=self._value(test.column), expression=self._limit(high, column)))
            if len(test.intervals) == 1 and len(ends) == 2 and not test.missing:
                return ends
            parts.append(exp.and_(*ends, copy=False) if ends else exp.Not(this=is_null(self._value(test.column))))
        if test.unlisted:
            others = [label for label in column.labels or () if label not in test.labels]
            excluded = self._is_in(test.column, others) if others else is_null(self._value(test.column))
            parts.append(exp.Not(this=excluded))
        elif test.labels:
            parts.append(self._is_in(test.column, test.labels))
        if test.missing:
            parts.append(is_null(self._value(test.column)))
        return [exp.or_(*parts, copy=False)]

    def _is_in(self, place: int, labels: Iterable[Label]) -> Node:
        return is_in(self._value(place), [self._label(label) for label in labels])

    def _limit(self, limit: float, column: Column) -> Node:
        """A limit as the shortest number that decides alike."""
        if column.dtype == "float32" and self._dialect.single is None:
            return self._double(double_limit(limit, column.dtype))
        if not self._dialect.casts:
            return self._double(limit)
        return make_number(read_threshold(limit, column.dtype))

    def _double(self, number: float) -> Node:
        """A double, written so that SQLite, which misreads a few short numbers, reads it right."""
        return make_number(number if self._dialect.casts else write_for_sqlite(number))

    def _label(self, label: Label) -> Node:
        if isinstance(label, bool):
            if self._dialect.name == "tsql":
                return exp.cast(exp.Literal.number(int(label)), exp.DataType.Type.BIT)
            if self._dialect.name == "sqlite":  # which would take a column called true for the word
                return exp.Literal.number(int(label))
            return exp.Boolean(this=label)
        if isinstance(label, str):
            return exp.National(this=label) if self._dialect.name == "tsql" else exp.Literal.string(label)
        return make_number(label) if isinstance(label, int) else self._double(label)

    def _lookup(self, read: Callable[[ListedRule], Label | None], name: str) -> Node:
        """What follows from the number of the rule, equal answers together."""
        numbers: dict[Label, list[int]] = {}
        for rule in self._listed.rules:
            answer = read(rule)
            if answer is not None:
                numbers.setdefault(answer, []).append(rule.index + 1)
        case: Node = exp.Null()
        if numbers:
            case = exp.Case(ifs=[])
            for answer, of_rules in numbers.items():
                number = exp.Column(this=make_name(self._rule), table=own_name(self._decided))
                listed = is_in(number, [exp.Literal.number(index) for index in sorted(of_rules)])
                case.append("ifs", when(listed, self._label(answer)))
        if name == self._reliability:
            case = exp.Cast(this=case, to=exp.DataType.build("DOUBLE"))
        return exp.Alias(this=case, alias=make_name(name))


def _is_text(column: Column) -> bool:
    return column.labels is not None and any(isinstance(label, str) for label in column.labels)


def _is_number(column: Column) -> bool:
    """Whether the column holds numbers that a double can tell apart."""
    return column.labels is None or not any(
        isinstance(label, (str, bool)) or abs(label) > EXACT_INTEGER for label in column.labels
    )


def _split_table(table: str | Sequence[str]) -> list[str]:
    """Catalog, schema and table, as far as they are given."""
    path = table.split(".") if isinstance(table, str) else [str(part) for part in table]
    if not 1 <= len(path) <= 3 or not all(path):
        raise ParameterError(
            f"Expected a table such as 'rows', 'schema.rows' or 'catalog.schema.rows', found {table!r}. "
            "Pass a list of these parts if one of them holds a dot."
        )
    return path


def _check_texts(listed: DecisionList, others: Iterable[str]) -> None:
    """Refuse texts that no database can hold."""
    labels = [label for column in listed.columns for label in column.labels or ()]
    texts = [*others, *labels, *(column.name for column in listed.columns), *(rule.label for rule in listed.rules)]
    for text in texts:
        if isinstance(text, str) and ("\0" in text or not is_unicode(text)):
            raise ParameterError(
                f"The name or label {text[:SHOWN_NAME]!r} holds a character that SQL has no text for; rename it."
            )


def _check_columns(listed: DecisionList, dialect: SqlDialect) -> None:
    """Refuse columns that no table of the database can have."""
    first: dict[str, str] = {}
    for column in listed.columns:
        if dialect.name == "bigquery" and any(mark in column.name for mark in "\\`"):
            raise ParameterError(f"BigQuery has no column named {column.name[:SHOWN_NAME]!r}; rename it.")
        if not column.name:
            raise ParameterError("A rule asks for a column without a name, which SQL cannot name; rename it.")
        known = column.name.casefold() if dialect.folds_names else column.name
        if known in first:
            raise ParameterError(
                f"The columns {first[known]!r} and {column.name!r} have the same name in {dialect.full_name}, "
                "where case does not matter; rename one of them."
            )
        first[known] = column.name
        kinds = {isinstance(label, str) + 2 * isinstance(label, bool) for label in column.labels or ()}
        if len(kinds) > 1:
            raise ParameterError(
                f"The categories of column {column.name!r} are of several types, but a column of a table has one; "
                "fit the tree on labels of one type."
            )
        if dialect.name == "tsql" and _is_text(column):
            _check_trailing(column)


def _check_trailing(column: Column) -> None:
    """SQL Server compares texts without the blanks at their ends."""
    first: dict[str, Label] = {}
    for label in column.labels or ():
        short = str(label).rstrip(" ")
        if short in first:
            raise ParameterError(
                f"The categories {first[short]!r} and {label!r} of column {column.name!r} are the same in SQL Server, "
                "which does not look at blanks at the end; rename one of them."
            )
        first[short] = label
