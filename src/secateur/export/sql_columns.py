"""The columns that rules ask for, in SQL, and what rules ask of them, as nodes of sqlglot's syntax tree.

Every statement about rules is built from these pieces, so that all of them decide alike. A column may have another type
than the rules were made from: a database's reader turns Yes and No into truth values, and codes into numbers. Where
only one meaning fits, the statement takes it; else it stops with a sentence about the column.

A tree that nobody pruned asks for tens of thousands of limits in hundreds of thousands of places: as nodes of a syntax
tree they take five times as long as text, where a piece that comes again is written once.

Imported only when SQL is asked for: sqlglot is not loaded before.
"""

from __future__ import annotations

import math
import re
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from sqlglot import Dialect, exp

from secateur.errors import ParameterError, shorten
from secateur.export.plain_names import SHOWN_WORDS, FreeNames, one_line, plain_name
from secateur.export.sql_dialects import (
    LINE_BREAK,
    SqlDialect,
    TableName,
    check_columns,
    check_names,
    is_text,
    split_table,
)
from secateur.rules.decision_list import Column, ColumnTest, double_limit
from secateur.tree.columns import MOST_DAYS, STEPS, ColumnParser
from secateur.tree.tree import Label, Tree
from secateur.words.conditions import first_beyond, format_threshold

Texts = Sequence[str]
Node: TypeAlias = Any  # the base class of sqlglot's nodes was renamed between its versions
Make = Callable[[], Node]  # a node has one parent, so each use needs its own
# Up to so many digits, a decimal becomes the nearest double however a database divides.
SAFE_DIGITS = 15
MOST_DIGITS = 24
MOST_JOINED = 200
IN_A_LINE = 20  # numbers of a long list


def make_name(text: str) -> exp.Identifier:
    """Quote a name, as it is."""
    return exp.to_identifier(text, quoted=True)


def own_name(text: str) -> exp.Identifier:
    """Write a name of our own, which needs no quotes."""
    return exp.to_identifier(text, quoted=False)


def column_of(step: str, column: Node) -> exp.Column:
    """Name a column of a step."""
    return exp.Column(this=column, table=own_name(step))


def named(made: Node, name: str) -> exp.Alias:
    """Give what was made a quoted name."""
    return exp.Alias(this=made, alias=make_name(name))


def make_number(number: float | str) -> Node:
    """Write a number; one of many digits gets an exponent, without which it would be a decimal number."""
    text = (number if isinstance(number, str) else repr(number).removesuffix(".0")).upper()
    digits = sum(character.isdigit() for character in text)
    is_double = "E" in text or digits <= SAFE_DIGITS or "." not in text
    return exp.Literal.number(text if is_double else f"{text}E0")


@lru_cache(maxsize=65536)
def write_for_sqlite(number: float) -> str:
    """Write a double in as few digits as SQLite needs to read it back; older versions misread some, short ones too."""
    with closing(sqlite3.connect(":memory:")) as database:
        written = [repr(number), *(f"{number:.{digits}g}" for digits in range(17, MOST_DIGITS + 1))]
        read = (text for text in written if database.execute(f"SELECT {make_number(text)}").fetchone()[0] == number)
        return next(read, written[1])


def when(condition: Node, answer: Node, words: str = "") -> exp.If:
    """Make a branch of a CASE, with words beside it."""
    if words:
        answer.add_comments([comment(words)])
    return exp.If(this=condition, true=answer)


def join(connect: Callable[..., Node], parts: Sequence[Node]) -> Node:
    """Join conditions by ``exp.and_`` or ``exp.or_``; many in groups, for SQLite takes at most 1,000 levels."""
    while len(parts) > MOST_JOINED:
        groups = [parts[start : start + MOST_JOINED] for start in range(0, len(parts), MOST_JOINED)]
        parts = [exp.Paren(this=connect(*group, copy=False)) for group in groups]
    return connect(*parts, copy=False)


def is_null(value: Node) -> exp.Is:
    """Ask whether a value is NULL."""
    return exp.Is(this=value, expression=exp.Null())


def is_in(value: Node, listed: Sequence[Node]) -> Node:
    """Ask whether a value is one of those listed."""
    if len(listed) == 1:
        return exp.EQ(this=value, expression=listed[0])
    return exp.In(this=value, expressions=listed)


def is_beyond(value: Node, low: float, high: float) -> exp.Not:
    """Ask whether a number lies outside of two ends."""
    return exp.Not(this=exp.Between(this=value, low=make_number(low), high=make_number(high)))


def comment(words: str, longest: int = SHOWN_WORDS) -> str:
    """Keep words inside a comment: on one line, without the start or the end of another comment."""
    return one_line(words, longest).replace("*/", "* /").replace("/*", "/ *")


class Writer:
    """Write pieces of SQL, and join them."""

    def __init__(self, dialect: str, *, pretty: bool = True) -> None:
        self._generator, self._pretty = Dialect.get_or_raise(dialect).generator(pretty=pretty), pretty

    def write(self, node: Node) -> str:
        """Write a node, which is not copied."""
        text = self._generator.sql(node)  # line breaks in texts stay marked, until the whole statement is written
        return text if self._pretty else text.replace("\n", LINE_BREAK)

    def join_by_and(self, parts: Sequence[Node | str]) -> str:
        """Join conditions; an OR among them gets brackets."""
        if len(parts) > MOST_JOINED:
            return self.write(join(exp.and_, [exp.Var(this=part) if isinstance(part, str) else part for part in parts]))
        written = []
        for part in parts:
            if isinstance(part, exp.Connector) and len(parts) > 1:
                part = exp.Paren(this=part)
            written.append(part if isinstance(part, str) else self.write(part))
        return ("\nAND " if self._is_wide(["AND ".join(written)]) else " AND ").join(written)

    def write_branch(self, condition: str, answer: str, words: str = "") -> list[str]:
        """Write a branch of a CASE, with words beside it."""
        return [f"WHEN {condition}", f"THEN {self.write_with(answer, words)}"]

    def write_with(self, answer: str, words: str) -> str:
        """Write words beside an answer."""
        said = comment(words) if words else ""
        return f"{answer} /* {said} */" if said else answer

    def write_is_in(self, value: str, listed: Sequence[str]) -> str:
        """Ask whether a value is one of those listed; a long list has lines."""
        if len(listed) == 1:
            return f"{value} = {listed[0]}"
        lines = [", ".join(listed[start : start + IN_A_LINE]) for start in range(0, len(listed), IN_A_LINE)]
        return f"{value} IN ({lines[0]})" if len(lines) == 1 else f"{value} IN (\n  " + ",\n  ".join(lines) + "\n)"

    def join_case(self, branches: Sequence[str], default: str = "") -> Node:
        """Join the lines of branches to a CASE."""
        lines = ["CASE", *branches, *([f"ELSE {default}"] if default else []), "END"]
        if not self._is_wide(lines):
            return exp.Var(this=" ".join(lines))
        return exp.Var(this=self._generator.indent("\n".join(lines), skip_first=True, skip_last=True))

    def _is_wide(self, parts: Sequence[str]) -> bool:
        return self._generator.too_wide(parts)


DOUBLE, TIMESTAMP = exp.DataType.Type.DOUBLE, exp.DataType.Type.TIMESTAMP
FLOAT32_END = double_limit(float(np.finfo(np.float32).max), "float32")
FLOAT64_END = float(np.finfo(np.float64).max)
FLOAT32_TINY = 2.0**-150  # the largest that float32 rounds to zero
EXACT_INTEGER = 2**53
# Why a column rejects a row.
MISSING, STRANGE, UNLISTED = "missing", "strange", "unlisted"
TRUTHS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "on"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "off"), False),
}
YEAR_FIRST = "^([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})"
YEAR_LAST = "^([0-9]{1,2})[-/.]([0-9]{1,2})[-/.]([0-9]{4})"
ZONE = "(Z| ?UTC|[+]00(:?00)?)$"
SHOWN_LABELS = 3


class AskedTable:
    """A table, and what rules ask of its columns; those that derive from it say how a column is named and compared."""

    def __init__(
        self, columns: Sequence[Column], dialect: SqlDialect, table: TableName, taken: FreeNames, blanks: Texts = ()
    ) -> None:
        self._columns, self._dialect, self._blanks = columns, dialect, blanks
        self._path = split_table(table)
        check_names(dialect, self._path, [text for text in blanks if text])
        check_columns(columns, dialect)
        for part in self._path:
            taken.take(part)
        self._source = taken.take("source")
        self._writer = Writer(dialect.name)
        self._limits: dict[tuple[float, int], str] = {}
        self._written: dict[ColumnTest, list[str]] = {}  # tests that come again and again, as text

    @abstractmethod
    def value(self, place: int) -> Node:
        """Name a column as it is compared; a missing value is NULL."""

    @abstractmethod
    def _limit(self, limit: float, column: Column) -> Node:
        """Write a limit of a column."""

    def list_blanks(self, column: Column) -> list[str]:
        """List the texts that mean a blank in a column."""
        return [text for text in self._blanks if text not in (column.labels or ())]

    def find_first(
        self,
        listed: Iterable[tuple[Sequence[ColumnTest], int, str]],
        *,
        rejected: Node | None = None,
        default: int | None = None,
    ) -> Node:
        """Write rules (tests, number, words) as a CASE; the first that a row satisfies gives its number."""
        writer, branches, rest = self._writer, [], "" if default is None else str(default)
        if rejected is not None:
            branches += writer.write_branch(writer.write(rejected), "NULL", "rejected: no rule is for such a row")
        for tests, number, words in listed:
            if not tests:  # no later rule can win
                if not branches:
                    return make_number(number)
                rest = writer.write_with(str(number), words)
                break
            branches += writer.write_branch(self._join(tests), str(number), words)
        return make_number(rest) if rest and not branches else writer.join_case(branches, rest)

    def nest(self, tree: Tree, goes_left: Mapping[int, Sequence[ColumnTest] | None], made: dict[int, Node]) -> Node:
        """Write the splits of a tree as a CASE in a CASE, down to what is made of leaves; None is passed by no row."""
        writer = self._writer
        for node in (node for level in reversed(tree.inner_levels) for node in level.tolist()):
            left, right = (made.pop(int(children[node])) for children in (tree.children_left, tree.children_right))
            tests = goes_left[node]
            if tests:
                branch = writer.write_branch(self._join(tests), writer.write(left))
                made[node] = writer.join_case(branch, writer.write(right))
            else:
                made[node] = right if tests is None else left
        return made[0]

    def _join(self, tests: Sequence[ColumnTest]) -> str:
        """Write tests that a row must pass together."""
        return self._writer.join_by_and([part for test in tests for part in self._written.get(test) or self._ask(test)])

    def is_in(self, place: int, labels: Iterable[Label]) -> Node:
        """Ask whether a column holds one of some labels."""
        return is_in(self.value(place), [self.write_label(label) for label in labels])

    def write_label(self, label: Label) -> Node:
        """Write a label, or another plain value."""
        if isinstance(label, bool):
            if self._dialect.name == "tsql":
                return exp.cast(make_number(int(label)), exp.DataType.Type.BIT)
            # SQLite would take a column called true for the word; Oracle has no truth values before version 23.
            as_number = self._dialect.name in ("sqlite", "oracle")
            return make_number(int(label)) if as_number else exp.Boolean(this=label)
        if isinstance(label, str):
            return exp.National(this=label) if self._dialect.name == "tsql" else exp.Literal.string(label)
        return make_number(label) if isinstance(label, int) else self._double(label)

    def _source_table(self) -> Node:
        """Name the table of the rows, with an alias: SQLite takes an unknown quoted name alone for a text."""
        parts = [make_name(part) for part in self._path]
        table = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
        return exp.alias_(table, own_name(self._source), table=True)

    def _ask(self, test: ColumnTest) -> Sequence[Node | str]:
        """Write what a rule asks of one column, to be joined by AND; NULL counts as no, unless it is asked for."""
        column = self._columns[test.column]
        parts: list[Node] = []
        for low, high in test.intervals:
            ends = self._ask_ends(test.column, low, high)
            if ends and len(test.intervals) == 1 and not test.missing:
                self._written[test] = ends
                return ends
            asked = exp.and_(*(exp.Var(this=end) for end in ends), copy=False) if ends else None
            parts.append(self._is_known(test.column) if asked is None else asked)
        if test.unlisted:
            others = [label for label in column.labels or () if label not in test.labels]
            parts.append(self._is_none_of(test.column, others) if others else self._is_known(test.column))
        elif test.labels:
            parts.append(self.is_in(test.column, test.labels))
        if test.missing:
            parts.append(is_null(self.value(test.column)))
        return [exp.or_(*parts, copy=False)]

    def _is_none_of(self, place: int, labels: Sequence[Label]) -> Node:
        return exp.Not(this=self.is_in(place, labels))

    def _is_known(self, place: int) -> Node:
        return exp.Not(this=is_null(self.value(place)))

    def _ask_ends(self, place: int, low: float, high: float) -> list[str]:
        """Ask whether a number, date or time lies within limits; of moments, by the first ones beyond them."""
        reading, value = self._columns[place].reading, self._values[place]
        above, up_to = (">=", "<") if reading is not None and reading.is_moment else (">", "<=")
        asked = ((sign, limit) for sign, limit in ((above, low), (up_to, high)) if math.isfinite(limit))
        return [f"{value} {sign} {self._write_limit(limit, place)}" for sign, limit in asked]

    @cached_property
    def _values(self) -> list[str]:
        return [self._writer.write(self.value(place)) for place in range(len(self._columns))]

    def _write_limit(self, limit: float, place: int) -> str:
        key = limit, place
        if key not in self._limits:
            self._limits[key] = self._writer.write(self._limit(limit, self._columns[place]))
        return self._limits[key]

    def _double(self, number: float) -> Node:
        """Write a double so that SQLite, which misreads a few short numbers, reads it right."""
        return make_number(number if self._dialect.casts else write_for_sqlite(number))


class TypedTable(AskedTable):
    """A table whose columns are typed before anything is asked of them."""

    def __init__(
        self, columns: Sequence[Column], dialect: SqlDialect, table: TableName, taken: FreeNames, blanks: Texts = ()
    ) -> None:
        if dialect.plain_only:
            raise ParameterError(f"For {dialect.full_name} there is plain SQL only: pass plain=True (--plain).")
        check_readings(columns, dialect)
        self._typed = [taken.take(plain_name(column)) for column in columns]
        super().__init__(columns, dialect, table, taken, blanks)
        self._step = taken.take("typed")
        self._attach = dialect.attach if dialect.casts and columns else ""
        # Where the table's own columns are found in a step.
        self._own = self._step if self._attach == "exclude" else self._source

    def attach(self, final: exp.Select, name: str, made: Sequence[Node]) -> exp.Select:
        """Put a step before a statement: the step has a name, and makes columns of the rows."""
        step = exp.select(*made, copy=False)
        typed = exp.select()
        for column, alias in zip(self._columns if self._attach else (), self._typed, strict=False):
            made_of = self._drop_blanks(column, self._source, self._type_column(column))
            typed = typed.select(exp.Alias(this=made_of, alias=own_name(alias)), copy=False)
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
        own = self._drop_blanks(column, self._source, column_of(self._source, make_name(column.name)))
        return self._compare_bytes(_cut_blanks(column, own)) if is_text(column) else own

    def reject(self, place: int) -> list[tuple[str, Node]]:
        """List what a row must not hold in a column, each with what is wrong with it."""
        column = self._columns[place]
        rejected: list[tuple[str, Node]] = []

        def text() -> Node:
            own = read_text(lambda: self.own_column(column.name), self._dialect)
            return self._drop_blanks(column, self._own, own)

        if not column.takes_missing:
            rejected.append((MISSING, is_null(text() if _is_read(column) else self.value(place))))
        if is_text(column) and self._dialect.other_types:
            rejected.append((STRANGE, self._is_of_type(self.own_column(column.name), self._dialect.other_types)))
        elif column.reading is not None and _is_read(column):
            is_unread = exp.and_(exp.Not(this=is_null(text())), is_null(self.value(place)), copy=False)
            rejected.append((STRANGE, is_unread))
            if column.reading.is_moment:
                return rejected
        elif not self._dialect.casts:
            rejected.append((STRANGE, self._is_of_type(self.value(place), ("text", "blob"))))
        if column.labels is not None:
            if not column.takes_unlisted:
                rejected.append((UNLISTED, exp.Not(this=self.is_in(place, column.labels))))
        elif self._dialect.has_infinity or column.ends != (-FLOAT64_END, FLOAT64_END):
            rejected.append((STRANGE, is_beyond(self.value(place), *column.ends)))
        return rejected

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
            text = exp.cast(own(), exp.DataType.build(dialect.text))
            text = read_texts_of_other_types(column, own, dialect, self.write_label) if dialect.truth_type else text
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
        # What four bytes cannot hold stays as it is, to be rejected by name and not by an error.
        case = exp.Case(ifs=[when(is_beyond(double(), -FLOAT32_END, FLOAT32_END), double())])
        if dialect.rejects_tiny:
            tiny = exp.Between(this=double(), low=make_number(-FLOAT32_TINY), high=make_number(FLOAT32_TINY))
            case.append("ifs", when(tiny, make_number(0)))
        case.set("default", exp.cast(exp.cast(double(), exp.DataType.build(dialect.single)), DOUBLE))
        return self._drop_nan(lambda: case)

    def _drop_blanks(self, column: Column, step: str, made: Node) -> Node:
        """Make NULL of what was made of a column of a step, where the column holds a text that means a blank."""
        blanks = self.list_blanks(column)
        if not blanks:
            return made
        own: Node = column_of(step, make_name(column.name))
        own = exp.cast(own, exp.DataType.build(self._dialect.text)) if self._dialect.casts else own
        is_blank = is_in(exp.Trim(this=own), [self.write_label(text) for text in blanks])
        return exp.Case(ifs=[when(is_blank, exp.Null())], default=made)

    def _drop_nan(self, make: Callable[[], Node]) -> Node:
        if self._dialect.has_nan == "equal":
            return exp.Nullif(this=make(), expression=exp.cast(exp.Literal.string("NaN"), DOUBLE))
        if self._dialect.has_nan == "unequal":
            return exp.Case(ifs=[when(exp.Not(this=exp.IsNan(this=make())), make())])
        return make()

    def _compare_bytes(self, text: Node) -> Node:
        """Compare a text byte by byte, though its column may say that case does not matter."""
        name = self._dialect.collation
        return exp.Collate(this=text, expression=exp.to_identifier(name, quoted=name == "C")) if name else text

    def _is_of_type(self, value: Node, types: Iterable[str]) -> Node:
        """Ask whether a row of SQLite, where every value has a type of its own, holds one of some types."""
        kind: Node = exp.Anonymous(this=self._dialect.type_of, expressions=[value])
        return exp.In(this=kind, expressions=[*map(exp.Literal.string, types)])

    def _limit(self, limit: float, column: Column) -> Node:
        """Write a limit as the shortest number that decides alike, or as the first moment beyond it."""
        if column.reading is not None and column.reading.is_moment:
            moment = find_moment(limit, column.reading, column.dtype)
            text = moment.isoformat(sep=" ") if moment.time().isoformat() != "00:00:00" else moment.date().isoformat()
            return exp.cast(exp.Literal.string(text), _moment_type(self._dialect))
        if column.dtype == "float32" and (self._dialect.single is None or column.reading is not None):
            return self._double(double_limit(limit, column.dtype))
        if not self._dialect.casts:
            return self._double(limit)
        return make_number(format_threshold(limit, column.dtype))


def _is_read(column: Column) -> bool:
    """Whether the texts or dates of a column become numbers."""
    return column.reading is not None and not column.reading.is_trim


def _cut_blanks(column: Column, text: Node) -> Node:
    """Cut the blanks around a text, if they do not count in its column; an empty one is NULL."""
    if column.reading is None:
        return text
    return exp.Nullif(this=exp.Trim(this=text), expression=exp.Literal.string(""))


def check_readings(columns: Sequence[Column], dialect: SqlDialect) -> None:
    """Reject a database for which texts and dates cannot be read as the rules do."""
    for column in columns:
        reading = column.reading
        if reading is not None and not reading.is_trim and not dialect.number_types:
            typed = "numbers, say numbers=" if reading.kind == "number" else "dates or times, write plain SQL"
            raise ParameterError(
                f"The rules read {column.name!r} from texts or dates ({reading.example}), which the statement does in "
                f"DuckDB, PostgreSQL and Spark only, not in {dialect.full_name}: export for one of them, or Python; if "
                f"the table holds {typed}."
            )


def read_text(own: Make, dialect: SqlDialect) -> Node:
    """Write any value as text without blanks around it; an empty one is NULL."""
    text = exp.Trim(this=exp.cast(own(), exp.DataType.build(dialect.text)))
    return exp.Nullif(this=text, expression=exp.Literal.string(""))


def read_number(own: Make, reading: ColumnParser, dialect: SqlDialect) -> Node:
    """Read an amount, a date or a time: a double or a timestamp, NULL where the text is none."""

    def text() -> Node:
        return read_text(own, dialect)

    # Groups without names: databases know no others.
    fits = _matches(text(), re.sub(r"\(\?P<\w+>", "(", reading.pattern), dialect)
    if reading.is_moment:
        return exp.Case(ifs=[when(fits, _to_moment(text(), reading, dialect))])
    digits = _replace(text(), f"[^0-9{reading.decimal}-]", "", dialect)
    if reading.decimal != ".":
        digits = exp.Anonymous(this="REPLACE", expressions=[digits, *map(exp.Literal.string, (reading.decimal, "."))])
    # Numbers count as read already.
    is_number = _is_of_type(own(), dialect.number_types, dialect)
    return exp.Case(ifs=[when(is_number, exp.cast(text(), DOUBLE)), when(fits, exp.cast(digits, DOUBLE))])


def find_moment(limit: float, reading: ColumnParser, dtype: str) -> datetime:
    """Find the first moment beyond a limit: what is before it has not passed the limit."""
    near = min(max(limit, 0.0), 86_399.0) if reading.kind == "clock" else min(max(limit, -719_161.0), MOST_DAYS)
    ticks = first_beyond(near, reading, dtype) * STEPS[reading.step]
    return datetime(1970, 1, 1) + timedelta(microseconds=ticks)


def read_texts_of_other_types(column: Column, own: Make, dialect: SqlDialect, write: Callable[[Label], Node]) -> Node:
    """Write a column of texts: truth values and numbers as the categories that they must be, else as they are."""
    labels = [label for label in column.labels or () if isinstance(label, str)]
    # A column without a value has a type, too, but says nothing with it.
    case = exp.Case(ifs=[when(is_null(own()), exp.Null())], default=exp.cast(own(), exp.DataType.build(dialect.text)))
    # The categories that each truth value, and each number, could be.
    truths = [(TRUTHS[label.strip().lower()], label) for label in labels if label.strip().lower() in TRUTHS]
    numbers = []
    for label in labels:
        with suppress(InvalidOperation):
            if (number := Decimal(label.strip())).is_finite():
                numbers.append((float(number), label))
    unclear = []
    for types, pairs in ((dialect.truth_type, truths), (dialect.number_types, numbers)):
        named = dict(pairs)
        if not named or len(named) < len(pairs):
            unclear.append(types)
            continue
        answer = exp.Case(
            ifs=[when(_equals(own(), value, dialect), write(label)) for value, label in named.items()],
            default=exp.cast(own(), exp.DataType.build(dialect.text)),
        )
        case.append("ifs", when(_is_of_type(own(), types, dialect), answer))
    if unclear:
        one = "truth values" if dialect.truth_type in unclear else "numbers"
        found = "truth values or numbers" if len(unclear) > 1 else one
        stop = _stop(own, _tell(column, labels, found), dialect)
        case.append("ifs", when(_is_of_type(own(), "|".join(unclear), dialect), stop))
    return case


def _tell(column: Column, labels: list[str], found: str) -> str:
    return (
        f"The column {column.name!r} holds {found}, but the rules compare texts such as "
        f"{shorten(labels[:SHOWN_LABELS])}: read the table with that column as text."
    )


def _equals(own: Node, value: float, dialect: SqlDialect) -> Node:
    text = exp.cast(own, exp.DataType.build(dialect.text))
    if isinstance(value, bool):
        return exp.EQ(this=text, expression=exp.Literal.string(str(value).lower()))
    return exp.EQ(this=exp.cast(text, DOUBLE), expression=make_number(value))


def _is_of_type(own: Node, pattern: str, dialect: SqlDialect) -> Node:
    """Ask for the type of a column, which the database knows before it runs."""
    kind: Node = exp.Anonymous(this=dialect.type_of, expressions=[own])
    return _matches(exp.cast(kind, exp.DataType.Type.TEXT) if dialect.name == "postgres" else kind, pattern, dialect)


def _stop(own: Make, words: str, dialect: SqlDialect) -> Node:
    """Stop the statement with a sentence, for every row that comes here."""
    if dialect.name == "duckdb":
        return exp.Anonymous(this="ERROR", expressions=[exp.Literal.string(words)])
    # PostgreSQL has no such function; a text instead of a number stops it, and it says the text.
    said = exp.DPipe(this=exp.Literal.string(f"{words} Found: "), expression=exp.cast(own(), exp.DataType.Type.TEXT))
    return exp.cast(exp.cast(exp.Paren(this=said), exp.DataType.Type.INT), exp.DataType.Type.TEXT)


def _matches(text: Node, pattern: str, dialect: SqlDialect) -> Node:
    if dialect.name == "duckdb":
        return exp.Anonymous(this="REGEXP_FULL_MATCH", expressions=[text, exp.Literal.string(pattern)])
    return exp.RegexpLike(this=text, expression=exp.Literal.string(f"^(?:{pattern})$"))


def _replace(text: Node, pattern: str, by: str, dialect: SqlDialect) -> Node:
    parts = [pattern, by.replace("\\", "$")] if dialect.name == "spark" else [pattern, by, "g"]  # which replaces all
    return exp.Anonymous(this="REGEXP_REPLACE", expressions=[text, *map(exp.Literal.string, parts)])


def _to_moment(text: Node, reading: ColumnParser, dialect: SqlDialect) -> Node:
    """Bring a date to the order year, month, day, and read it; a time of the day is one of the first day."""
    if reading.kind == "clock":
        text = exp.Paren(this=exp.DPipe(this=exp.Literal.string("1970-01-01 "), expression=text))
    else:
        if reading.order != "ymd":
            text = _replace(text, YEAR_LAST, r"\3-\2-\1" if reading.order == "dmy" else r"\3-\1-\2", dialect)
        text = _replace(_replace(text, YEAR_FIRST, r"\1-\2-\3", dialect), ZONE, "", dialect)
    if dialect.name == "postgres":
        return exp.cast(text, TIMESTAMP)
    return exp.TryCast(this=text, to=exp.DataType(this=_moment_type(dialect)))


def _moment_type(dialect: SqlDialect) -> Node:
    return exp.DataType.Type.TIMESTAMPNTZ if dialect.name == "spark" else TIMESTAMP
