"""Read the texts, dates and other types of a database's columns as the rules expect them, as nodes of sqlglot.

A column may have another type than the rules were made from: a database's reader turns Yes and No into truth values,
and codes into numbers. Where only one meaning fits, the statement takes it; else it stops with a sentence about the
column.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from sqlglot import exp

from secateur.errors import ParameterError, shorten
from secateur.export.sql_nodes import Node, is_null, make_number, when
from secateur.tree.columns import MOST_DAYS, STEPS, ColumnParser
from secateur.words.dates import first_beyond

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secateur.export.sql_dialects import SqlDialect
    from secateur.rules.decision_list import Column
    from secateur.tree.tree import Label

    Make = Callable[[], Node]  # a node has one parent, so each use needs its own

DOUBLE, TIMESTAMP = exp.DataType.Type.DOUBLE, exp.DataType.Type.TIMESTAMP
TRUTHS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "on"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "off"), False),
}
YEAR_FIRST = "^([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})"
YEAR_LAST = "^([0-9]{1,2})[-/.]([0-9]{1,2})[-/.]([0-9]{4})"
ZONE = "(Z| ?UTC|[+]00(:?00)?)$"
SHOWN_LABELS = 3


def check_readings(columns: Sequence[Column], dialect: SqlDialect) -> None:
    """Refuse a database for which texts and dates cannot be read as the rules do."""
    strange = next((one for one in columns if one.reading is not None and not one.reading.is_trim), None)
    if strange is not None and strange.reading is not None and not dialect.number_types:
        raise ParameterError(
            f"The rules read {strange.name!r} from texts or dates ({strange.reading.example}), which the statement "
            f"does in DuckDB, PostgreSQL and Spark only, not in {dialect.full_name}: export for one of them, or Python."
        )


def read_text(own: Make, dialect: SqlDialect) -> Node:
    """Write any value as text without blanks around it; an empty one is NULL."""
    text = exp.Trim(this=exp.cast(own(), exp.DataType.build(dialect.text)))
    return exp.Nullif(this=text, expression=exp.Literal.string(""))


def read_number(own: Make, reading: ColumnParser, dialect: SqlDialect) -> Node:
    """Read an amount, a date or a time: a double or a timestamp, NULL where the text is none."""

    def text() -> Node:
        return read_text(own, dialect)

    fits = _matches(text(), reading.plain_pattern, dialect)
    if reading.is_moment:
        moment = _to_moment(text(), reading, dialect)
        return exp.Case(ifs=[when(fits, moment)])
    digits = _replace(text(), f"[^0-9{reading.decimal}-]", "", dialect)
    if reading.decimal != ".":
        digits = exp.Anonymous(
            this="REPLACE", expressions=[digits, exp.Literal.string(reading.decimal), exp.Literal.string(".")]
        )
    # Numbers count as read already.
    is_number = _is_of_type(own(), dialect.number_types, dialect)
    case = exp.Case(ifs=[when(is_number, exp.cast(text(), DOUBLE)), when(fits, exp.cast(digits, DOUBLE))])
    return case


def is_unread(own: Make, value: Node, dialect: SqlDialect) -> Node:
    """Ask whether a row holds something that is not a blank, and that could not be read."""
    return exp.and_(exp.Not(this=is_null(read_text(own, dialect))), is_null(value), copy=False)


def read_moment_limit(limit: float, reading: ColumnParser, dtype: str, dialect: SqlDialect) -> Node:
    """Write the first moment beyond a limit: what is before it has not passed the limit."""
    near = min(max(limit, 0.0), 86_399.0) if reading.kind == "clock" else min(max(limit, -719_161.0), MOST_DAYS)
    ticks = first_beyond(near, reading, dtype) * STEPS[reading.step]
    moment = datetime(1970, 1, 1) + timedelta(microseconds=ticks)
    text = moment.isoformat(sep=" ") if moment.time().isoformat() != "00:00:00" else moment.date().isoformat()
    return exp.cast(exp.Literal.string(text), _moment_type(dialect))


def read_texts_of_other_types(column: Column, own: Make, dialect: SqlDialect, write: Callable[[Label], Node]) -> Node:
    """Write a column of texts: truth values and numbers as the categories that they must be, else as they are."""
    labels = [label for label in column.labels or () if isinstance(label, str)]
    # A column without a value has a type, too, but says nothing with it.
    case = exp.Case(ifs=[when(is_null(own()), exp.Null())], default=exp.cast(own(), exp.DataType.build(dialect.text)))
    unclear = []
    for types, named in ((dialect.truth_type, _name_truths(labels)), (dialect.number_types, _name_numbers(labels))):
        if named is None:
            unclear.append(types)
            continue
        answer = exp.Case(
            ifs=[when(_equals(own(), value, dialect), write(label)) for value, label in named.items()],
            default=exp.cast(own(), exp.DataType.build(dialect.text)),
        )
        case.append("ifs", when(_is_of_type(own(), types, dialect), answer))
    if unclear:
        found = "truth values or numbers" if len(unclear) > 1 else "truth values" if named else "numbers"
        stop = _stop(own, _tell(column, labels, found), dialect)
        case.append("ifs", when(_is_of_type(own(), "|".join(unclear), dialect), stop))
    return case


def _tell(column: Column, labels: list[str], found: str) -> str:
    return (
        f"The column {column.name!r} holds {found}, but the rules compare texts such as "
        f"{shorten(labels[:SHOWN_LABELS])}: read the table with that column as text."
    )


def _name_truths(labels: list[str]) -> dict[bool, str] | None:
    """Find the category that each truth value must be; None if that is not clear."""
    named = [(TRUTHS[label.strip().lower()], label) for label in labels if label.strip().lower() in TRUTHS]
    found = dict(named)
    return found if found and len(found) == len(named) else None


def _name_numbers(labels: list[str]) -> dict[float, str] | None:
    """Find the category that each number must be; None if that is not clear."""
    named = []
    for label in labels:
        try:
            number = Decimal(label.strip())
        except InvalidOperation:
            continue
        if number.is_finite():
            named.append((float(number), label))
    found = dict(named)
    return found if found and len(found) == len(named) else None


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
    # PostgreSQL has no such function; a text that is no number stops it, and it says the text.
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
    """Choose the type of moments that have no time zone."""
    return exp.DataType.Type.TIMESTAMPNTZ if dialect.name == "spark" else TIMESTAMP
