"""The columns that rules ask for, typed once in SQL, and what rules ask of them, as nodes of sqlglot's syntax tree.

Every statement about rules is built from these pieces, so that all of them decide alike.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from secateur.export.plain_names import FreeNames, plain_name
from secateur.export.sql_names import check_columns, check_names, is_text, split_table
from secateur.export.sql_nodes import (
    Node,
    column_of,
    is_beyond,
    is_in,
    is_null,
    make_name,
    make_number,
    own_name,
    when,
    write_for_sqlite,
)
from secateur.export.sql_readings import (
    check_readings,
    is_unread,
    read_moment_limit,
    read_number,
    read_text,
    read_texts_of_other_types,
)
from secateur.export.sql_writing import Writer
from secateur.rules.decision_list import Column, ColumnTest, double_limit
from secateur.words.conditions import read_threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from secateur.export.sql_dialects import SqlDialect
    from secateur.tree.tree import Label

DOUBLE = exp.DataType.Type.DOUBLE
FLOAT32_END = double_limit(float(np.finfo(np.float32).max), "float32")
FLOAT64_END = float(np.finfo(np.float64).max)
FLOAT32_TINY = 2.0**-150  # the largest that float32 rounds to zero
EXACT_INTEGER = 2**53
# Why a column refuses a row.
MISSING, STRANGE, UNLISTED = "missing", "strange", "unlisted"


class TypedTable:
    """A table whose columns are typed before anything is asked of them."""

    def __init__(
        self, columns: Sequence[Column], dialect: SqlDialect, table: str | Sequence[str], taken: FreeNames
    ) -> None:
        self._columns = columns
        self._dialect = dialect
        self._path = split_table(table)
        check_names(dialect, self._path)
        check_columns(columns, dialect)
        check_readings(columns, dialect)
        self._typed = [taken.take(plain_name(column)) for column in columns]
        for part in self._path:
            taken.take(part)
        self._source, self._step = taken.take("source"), taken.take("typed")
        self._attach = dialect.attach if dialect.casts and columns else ""
        self._writer = Writer(dialect.name)
        self._limits: dict[tuple[float, int], str] = {}
        self._written: dict[ColumnTest, list[str]] = {}  # tests that come again and again, as text
        # Where the table's own columns are found in a step.
        self._own = self._step if self._attach == "exclude" else self._source

    def attach(self, final: exp.Select, name: str, made: Sequence[Node]) -> exp.Select:
        """Put a step before a statement: the step has a name, and makes columns of the rows."""
        step = exp.select(*made, copy=False)
        typed = exp.select(
            *(
                exp.Alias(this=self._type_column(column), alias=own_name(alias))
                for column, alias in zip(self._columns if self._attach else (), self._typed, strict=False)
            )
        )
        if self._attach == "exclude":
            typed = typed.select(column_of(self._source, exp.Star())).from_(self._source_table(), copy=False)
            final = final.with_(own_name(self._step), as_=typed, copy=False)
            step = step.from_(exp.Table(this=own_name(self._step)), copy=False)
        else:
            step = step.from_(self._source_table(), copy=False)
            if self._attach == "lateral":
                step.append("joins", self._lateral_join(typed))
        if self._dialect.fence == "offset":
            step = step.offset(0, copy=False)
        materialized = True if self._dialect.fence == "materialized" else None
        return final.with_(own_name(name), as_=step, materialized=materialized, copy=False)

    def own_columns(self) -> Node:
        """Name all columns of the table itself, in a step."""
        hidden = [own_name(name) for name in self._typed] if self._attach == "exclude" else []
        return column_of(self._own, exp.Star(except_=hidden) if hidden else exp.Star())

    def write_own(self, place: int) -> Node:
        """Write what a row holds in a column as text, in a step."""
        return exp.cast(self.own_column(self._columns[place].name), exp.DataType.build(self._dialect.text))

    def own_column(self, name: str) -> Node:
        """Name a column of the table itself, in a step."""
        return column_of(self._own, make_name(name))

    def value(self, place: int) -> Node:
        """Name a typed column, in a step; a missing value, NaN too, is NULL."""
        if self._dialect.casts:
            return column_of(self._step, own_name(self._typed[place]))
        column = self._columns[place]
        own = column_of(self._source, make_name(column.name))
        return self._compare_bytes(_cut_blanks(column, own)) if is_text(column) else own

    def find_first(
        self,
        listed: Iterable[tuple[Sequence[ColumnTest], int, str]],
        *,
        refused: Node | None = None,
        default: int | None = None,
    ) -> Node:
        """Write rules (tests, number, words) as a CASE; the first that a row satisfies gives its number."""
        writer, branches, rest = self._writer, [], "" if default is None else str(default)
        if refused is not None:
            branches += writer.write_branch(writer.write(refused), "NULL", "refused: no rule is for such a row")
        for tests, number, words in listed:
            if not tests:  # no later rule can win
                if not branches:
                    return make_number(number)
                rest = writer.write_with(str(number), words)
                break
            asked = [part for test in tests for part in self._written.get(test) or self._ask(test)]
            branches += writer.write_branch(writer.join_by_and(asked), str(number), words)
        return writer.join_case(branches, rest)

    def refuse(self, place: int) -> list[tuple[str, Node]]:
        """List what a row must not hold in a column, each with what is wrong with it."""
        column = self._columns[place]
        refused: list[tuple[str, Node]] = []

        def own() -> Node:
            return self.own_column(column.name)

        if not column.takes_missing:
            refused.append((MISSING, is_null(read_text(own, self._dialect) if _is_read(column) else self.value(place))))
        if is_text(column) and self._dialect.other_types:
            refused.append((STRANGE, self._is_of_type(column, self._dialect.other_types)))
        elif column.reading is not None and _is_read(column):
            refused.append((STRANGE, is_unread(own, self.value(place), self._dialect)))
            if column.reading.is_moment:
                return refused
        elif not self._dialect.casts:
            refused.append((STRANGE, self._is_of_type(column, ("text", "blob"))))
        if column.labels is not None:
            if not column.takes_unlisted:
                refused.append((UNLISTED, exp.Not(this=self.is_in(place, column.labels))))
        elif self._dialect.has_infinity or column.ends != (-FLOAT64_END, FLOAT64_END):
            refused.append((STRANGE, is_beyond(self.value(place), *column.ends)))
        return refused

    def is_in(self, place: int, labels: Iterable[Label]) -> Node:
        """Ask whether a column holds one of some labels."""
        return is_in(self.value(place), [self.write_label(label) for label in labels])

    def write_label(self, label: Label) -> Node:
        """Write a label, or another plain value."""
        if isinstance(label, bool):
            if self._dialect.name == "tsql":
                return exp.cast(make_number(int(label)), exp.DataType.Type.BIT)
            # SQLite would take a column called true for the word.
            return make_number(int(label)) if self._dialect.name == "sqlite" else exp.Boolean(this=label)
        if isinstance(label, str):
            return exp.National(this=label) if self._dialect.name == "tsql" else exp.Literal.string(label)
        return make_number(label) if isinstance(label, int) else self._double(label)

    def _source_table(self) -> Node:
        """Name the table of the rows, with an alias: SQLite takes an unknown quoted name alone for a text."""
        parts = [make_name(part) for part in self._path]
        table = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
        return exp.alias_(table, own_name(self._source), table=True)

    def _lateral_join(self, typed: exp.Select) -> exp.Join:
        subquery = exp.Subquery(this=typed.offset(0) if self._dialect.fence == "offset" else typed)
        alias = exp.TableAlias(this=own_name(self._step))
        if self._dialect.name == "tsql":
            return exp.Join(this=exp.Lateral(this=subquery, alias=alias, cross_apply=True))
        return exp.Join(this=exp.Lateral(this=subquery, alias=alias), kind="CROSS")

    def _type_column(self, column: Column) -> Node:
        """Cast a column to the type that rules ask for; a missing value becomes NULL."""
        dialect = self._dialect

        def own() -> Node:  # a node has one parent, so each use needs its own
            return column_of(self._source, make_name(column.name))

        def double() -> Node:
            return exp.cast(own(), DOUBLE)

        if is_text(column):
            if dialect.truth_type:
                text = read_texts_of_other_types(column, own, dialect, self.write_label)
            else:
                text = exp.cast(own(), exp.DataType.build(dialect.text))
            return self._compare_bytes(_cut_blanks(column, text))
        if column.reading is not None:
            read = read_number(own, column.reading, dialect)
            return read if column.reading.is_moment else self._drop_nan(lambda: read)
        # Bools, and whole numbers that a double would round, stay as they are.
        numbers = [label for label in column.labels or () if not isinstance(label, str)]
        if any(isinstance(label, bool) or abs(label) > EXACT_INTEGER for label in numbers):
            return own()
        if column.labels is not None or column.dtype == "float64" or dialect.single is None:
            return self._drop_nan(double)
        # What four bytes cannot hold stays as it is, to be refused by name and not by an error.
        case = exp.Case(ifs=[when(is_beyond(double(), -FLOAT32_END, FLOAT32_END), double())])
        if dialect.refuses_tiny:
            tiny = exp.Between(this=double(), low=make_number(-FLOAT32_TINY), high=make_number(FLOAT32_TINY))
            case.append("ifs", when(tiny, make_number(0)))
        case.set("default", exp.cast(exp.cast(double(), exp.DataType.build(dialect.single)), DOUBLE))
        return self._drop_nan(lambda: case)

    def _drop_nan(self, make: Callable[[], Node]) -> Node:
        if self._dialect.has_nan == "equal":
            return exp.Nullif(this=make(), expression=exp.cast(exp.Literal.string("NaN"), DOUBLE))
        if self._dialect.has_nan == "unequal":
            return exp.Case(ifs=[when(exp.Not(this=exp.IsNan(this=make())), make())])
        return make()

    def _compare_bytes(self, text: Node) -> Node:
        """Compare a text byte by byte, though its column may say that case does not matter."""
        name = self._dialect.collation
        if not name:
            return text
        return exp.Collate(this=text, expression=exp.to_identifier(name, quoted=name == "C"))

    def _is_of_type(self, column: Column, types: Iterable[str]) -> Node:
        """Ask whether a row of SQLite, where every value has a type of its own, holds one of some types."""
        kind: Node = exp.Anonymous(this=self._dialect.type_of, expressions=[self.own_column(column.name)])
        return exp.In(this=kind, expressions=[exp.Literal.string(name) for name in types])

    def _ask(self, test: ColumnTest) -> Sequence[Node | str]:
        """Write what a rule asks of one column, to be joined by AND; NULL counts as no, unless it is asked for."""
        column = self._columns[test.column]
        parts: list[Node] = []
        for low, high in test.intervals:
            ends = self._ask_ends(test.column, low, high)
            if ends and len(test.intervals) == 1 and not test.missing:
                self._written[test] = ends
                return ends
            is_number = exp.Not(this=is_null(self.value(test.column)))
            parts.append(exp.and_(*(exp.Var(this=end) for end in ends), copy=False) if ends else is_number)
        if test.unlisted:
            others = [label for label in column.labels or () if label not in test.labels]
            excluded = self.is_in(test.column, others) if others else is_null(self.value(test.column))
            parts.append(exp.Not(this=excluded))
        elif test.labels:
            parts.append(self.is_in(test.column, test.labels))
        if test.missing:
            parts.append(is_null(self.value(test.column)))
        return [exp.or_(*parts, copy=False)]

    def _ask_ends(self, place: int, low: float, high: float) -> list[str]:
        """Ask whether a number, date or time lies within limits; of moments, by the first ones beyond them."""
        reading, value = self._columns[place].reading, self._values[place]
        above, up_to = (">=", "<") if reading is not None and reading.is_moment else (">", "<=")
        asked = ((sign, limit) for sign, limit in ((above, low), (up_to, high)) if math.isfinite(limit))
        return [f"{value} {sign} {self._write_limit(limit, place)}" for sign, limit in asked]

    @cached_property
    def _values(self) -> list[str]:
        """The typed columns, written."""
        return [self._writer.write(self.value(place)) for place in range(len(self._columns))]

    def _write_limit(self, limit: float, place: int) -> str:
        """Write a limit of a column, once."""
        key = limit, place
        if key not in self._limits:
            self._limits[key] = self._writer.write(self._limit(limit, self._columns[place]))
        return self._limits[key]

    def _limit(self, limit: float, column: Column) -> Node:
        """Write a limit as the shortest number that decides alike, or as the first moment beyond it."""
        if column.reading is not None and column.reading.is_moment:
            return read_moment_limit(limit, column.reading, column.dtype, self._dialect)
        if column.dtype == "float32" and (self._dialect.single is None or column.reading is not None):
            return self._double(double_limit(limit, column.dtype))
        if not self._dialect.casts:
            return self._double(limit)
        return make_number(read_threshold(limit, column.dtype))

    def _double(self, number: float) -> Node:
        """Write a double so that SQLite, which misreads a few short numbers, reads it right."""
        return make_number(number if self._dialect.casts else write_for_sqlite(number))


def _is_read(column: Column) -> bool:
    """Whether the texts or dates of a column become numbers."""
    return column.reading is not None and not column.reading.is_trim


def _cut_blanks(column: Column, text: Node) -> Node:
    """Cut the blanks around a text, if they do not count in its column; an empty one is NULL."""
    if column.reading is None:
        return text
    return exp.Nullif(this=exp.Trim(this=text), expression=exp.Literal.string(""))
