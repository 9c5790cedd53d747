"""Small pieces of SQL as nodes of sqlglot's syntax tree, and long CASE statements joined from such pieces as text.

A tree that nobody pruned asks for tens of thousands of limits in hundreds of thousands of places: as nodes of a syntax
tree they take five times as long as text, where a piece that comes again is written once. Imported only when SQL is
asked for: sqlglot is not loaded before.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Any, TypeAlias

from sqlglot import Dialect, exp

from secateur.export.plain_names import SHOWN_WORDS, one_line
from secateur.export.sql_dialects import LINE_BREAK

Node: TypeAlias = Any  # the base class of sqlglot's nodes was renamed between its versions
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
