"""The columns that rules ask for, typed once in SQL, and what rules ask of them, as nodes of sqlglot's syntax tree.

Every statement about rules is built from these pieces, so that all of them decide alike.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from secateur.errors import ParameterError
from secateur.export.plain_names import SHOWN_NAME, is_unicode, plain_name
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
from secateur.rules.decision_list import double_limit
from secateur.rules.wording import read_threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from secateur.export.plain_names import FreeNames
    from secateur.export.sql_dialects import SqlDialect
    from secateur.rules.decision_list import Column, ColumnTest
    from secateur.tree.tree import Label

__all__ = ["MISSING", "STRANGE", "UNLISTED", "TypedTable", "check_names"]

FLOAT32_END = double_limit(float(np.finfo(np.float32).max), "float32")
FLOAT64_END = float(np.finfo(np.float64).max)
FLOAT32_TINY = 2.0**-150  # the largest that float32 rounds to zero
EXACT_INTEGER = 2**53
# Why a column refuses a row.
MISSING, STRANGE, UNLISTED = "missing", "strange", "unlisted"


class TypedTable:
    """A table whose columns are typed before anything is asked of them.

    Parameters
    ----------
    columns : sequence of Column
        Those that conditions name by their place.
    dialect : SqlDialect
    table : str or sequence of str
        Name of the table; dots separate catalog, schema and table. A sequence holds these parts as they are.
    taken : FreeNames
        Names that are in use; those of the steps are added.
    """

    def __init__(
        self, columns: Sequence[Column], dialect: SqlDialect, table: str | Sequence[str], taken: FreeNames
    ) -> None:
        self._columns = columns
        self._dialect = dialect
        self._path = _split_table(table)
        check_names(dialect, self._path)
        _check_columns(columns, dialect)
        self._typed = [taken.take(plain_name(column)) for column in columns]
        for part in self._path:
            taken.take(part)
        self._source, self._step = taken.take("source"), taken.take("typed")

    def attach(self, final: exp.Select, name: str, made: Sequence[Node]) -> exp.Select:
        """Put a step before a statement that makes columns of the rows.

        Parameters
        ----------
        final : Select
        name : str
            What the statement calls the step.
        made : sequence of nodes
            The columns of the step.

        Returns
        -------
        Select
        """
        step = exp.select(*made, copy=False)
        if self._exclude:
            star = exp.Column(this=exp.Star(), table=own_name(self._source))
            typed = exp.select(*self._typed_columns(), star).from_(self._source_table(), copy=False)
            final = final.with_(own_name(self._step), as_=typed, copy=False)
            step = step.from_(exp.Table(this=own_name(self._step)), copy=False)
        else:
            step = step.from_(self._source_table(), copy=False)
            if self._lateral:
                step.append("joins", self._lateral_join())
        if self._dialect.fence == "offset":
            step = step.offset(0, copy=False)
        materialized = True if self._dialect.fence == "materialized" else None
        return final.with_(own_name(name), as_=step, materialized=materialized, copy=False)

    def own_columns(self) -> Node:
        """All columns of the table itself, in a step."""
        hidden = [own_name(name) for name in self._typed] if self._exclude else []
        star = exp.Star(except_=hidden) if hidden else exp.Star()
        return exp.Column(this=star, table=own_name(self._step_name))

    def own_column(self, name: str) -> Node:
        """A column of the table itself, in a step."""
        return exp.Column(this=make_name(name), table=own_name(self._step_name))

    def value(self, place: int) -> Node:
        """A typed column, in a step; nothing, NaN too, is NULL."""
        if self._dialect.casts:
            return exp.Column(this=own_name(self._typed[place]), table=own_name(self._step))
        column = self._columns[place]
        own = exp.Column(this=make_name(column.name), table=own_name(self._source))
        return self._compare_bytes(own) if _is_text(column) else own

    def find_first(self, listed: Iterable[tuple[Sequence[ColumnTest], Node, str]], before: exp.Case) -> Node:
        """The answer of the first of some rules that a row satisfies.

        Parameters
        ----------
        listed : iterable of (tests, answer, words)
        before : Case
            What is looked at before; NULL, or its default, is the answer for a row that satisfies none.

        Returns
        -------
        node
        """
        for tests, answer, words in listed:
            if not tests:  # no later rule can win
                if not before.args["ifs"]:
                    return answer
                if words:
                    answer.add_comments([comment(words)])
                before.set("default", answer)
                break
            asked = [part for test in tests for part in self._ask(test)]
            before.append("ifs", when(exp.and_(*asked, copy=False), answer, words))
        return before

    def refuse(self, place: int) -> list[tuple[str, Node]]:
        """What a row must not hold in a column, and what is wrong with it."""
        column = self._columns[place]
        refused: list[tuple[str, Node]] = []
        if not column.takes_missing:
            refused.append((MISSING, is_null(self.value(place))))
        if _is_text(column) and self._dialect.type_of:
            refused.append((STRANGE, self._is_of_type(column, self._dialect.other_types)))
        elif not self._dialect.casts:
            refused.append((STRANGE, self._is_of_type(column, ("text", "blob"))))
        if column.labels is not None:
            if not column.takes_unlisted:
                refused.append((UNLISTED, exp.Not(this=self.is_in(place, column.labels))))
            return refused
        if self._dialect.has_infinity or column.ends != (-FLOAT64_END, FLOAT64_END):
            refused.append((STRANGE, is_beyond(self.value(place), *column.ends)))
        return refused

    def is_in(self, place: int, labels: Iterable[Label]) -> Node:
        """Whether a column holds one of some labels."""
        return is_in(self.value(place), [self.write_label(label) for label in labels])

    def write_label(self, label: Label) -> Node:
        """A label, or another plain value."""
        if isinstance(label, bool):
            if self._dialect.name == "tsql":
                return exp.cast(exp.Literal.number(int(label)), exp.DataType.Type.BIT)
            if self._dialect.name == "sqlite":  # which would take a column called true for the word
                return exp.Literal.number(int(label))
            return exp.Boolean(this=label)
        if isinstance(label, str):
            return exp.National(this=label) if self._dialect.name == "tsql" else exp.Literal.string(label)
        return make_number(label) if isinstance(label, int) else self._double(label)

    @property
    def _exclude(self) -> bool:
        return self._dialect.casts and self._dialect.attach == "exclude" and bool(self._typed)

    @property
    def _lateral(self) -> bool:
        return self._dialect.casts and self._dialect.attach == "lateral" and bool(self._typed)

    @property
    def _step_name(self) -> str:
        """Where the table's own columns are found in a step."""
        return self._step if self._exclude else self._source

    def _source_table(self) -> Node:
        """The table of the rows. It gets an alias, because SQLite takes an unknown quoted name alone for a text."""
        parts = [make_name(part) for part in self._path]
        keys = ("this", "db", "catalog")
        table = exp.Table(**dict(zip(keys, reversed(parts), strict=False)))
        return exp.alias_(table, own_name(self._source), table=True)

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
            for column, name in zip(self._columns, self._typed, strict=True)
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

    def _compare_bytes(self, text: Node) -> Node:
        """A text whose column may say that upper and lower case are equal, without that."""
        name = self._dialect.collation
        if not name:
            return text
        return exp.Collate(this=text, expression=exp.to_identifier(name, quoted=name == "C"))

    def _is_of_type(self, column: Column, types: Iterable[str]) -> Node:
        """Whether a row holds something of one of some types, rather than nothing."""
        kind: Node = exp.Anonymous(this=self._dialect.type_of, expressions=[self.own_column(column.name)])
        if self._dialect.name == "postgres":
            kind = exp.cast(kind, exp.DataType.Type.TEXT)
        listed = exp.In(this=kind, expressions=[exp.Literal.string(name) for name in types])
        if self._dialect.name == "sqlite":  # where every value has a type of its own, and NULL has one too
            return listed
        return exp.and_(exp.Not(this=is_null(self.own_column(column.name))), listed, copy=False)

    def _ask(self, test: ColumnTest) -> list[Node]:
        """What a rule asks of one column, to be joined by AND; NULL counts as no, unless it is asked for."""
        column = self._columns[test.column]
        parts: list[Node] = []
        for low, high in test.intervals:
            ends: list[Node] = []
            if low > -math.inf:
                ends.append(exp.GT(this=self.value(test.column), expression=self._limit(low, column)))
            if high < math.inf:
                ends.append(exp.LTE(this=self.value(test.column), expression=self._limit(high, column)))
            if len(test.intervals) == 1 and len(ends) == 2 and not test.missing:
                return ends
            parts.append(exp.and_(*ends, copy=False) if ends else exp.Not(this=is_null(self.value(test.column))))
        if test.unlisted:
            others = [label for label in column.labels or () if label not in test.labels]
            excluded = self.is_in(test.column, others) if others else is_null(self.value(test.column))
            parts.append(exp.Not(this=excluded))
        elif test.labels:
            parts.append(self.is_in(test.column, test.labels))
        if test.missing:
            parts.append(is_null(self.value(test.column)))
        return [exp.or_(*parts, copy=False)]

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


def check_names(dialect: SqlDialect, names: Iterable[str], labels: Iterable[Label] = ()) -> None:
    """Refuse names and labels that the database cannot hold.

    Parameters
    ----------
    dialect : SqlDialect
    names : iterable of str
    labels : iterable of labels, default=()
        Other values; those that are no text pass.
    """
    named = list(names)
    strange = next((name for name in named if dialect.name == "bigquery" and set(name) & {"\\", "`"}), None)
    if strange is not None:
        raise ParameterError(f"BigQuery has no name such as {strange[:SHOWN_NAME]!r}; choose another.")
    for text in (*named, *labels):
        if isinstance(text, str) and ("\0" in text or not is_unicode(text)):
            raise ParameterError(
                f"The name or label {text[:SHOWN_NAME]!r} holds a character that SQL has no text for; rename it."
            )


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


def _check_columns(columns: Iterable[Column], dialect: SqlDialect) -> None:
    """Refuse columns that no table of the database can have."""
    first: dict[str, str] = {}
    for column in columns:
        if dialect.name == "bigquery" and any(mark in column.name for mark in "\\`"):
            raise ParameterError(f"BigQuery has no column named {column.name[:SHOWN_NAME]!r}; rename it.")
        check_names(dialect, [column.name], column.labels or ())
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
