"""Rules as a plain SELECT: one CASE as a person would write it, a nested one for each section.

Columns are taken as they are: they must have the types that the rules compare, which the first lines say. Limits are
short: as few digits as keep every training row on its side, where the training rows are known.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from textwrap import wrap
from typing import TypeAlias

import numpy as np
from sqlglot import exp

from secateur.errors import ParameterError
from secateur.export.listing import make_listing
from secateur.export.plain_names import HEAD_WORDS, LINE, FreeNames, head_lines, take_names
from secateur.export.sql_columns import (
    MOST_JOINED,
    AskedTable,
    Node,
    Writer,
    column_of,
    comment,
    find_moment,
    is_beyond,
    is_null,
    join,
    make_name,
    make_number,
    write_for_sqlite,
)
from secateur.export.sql_dialects import LINE_BREAK, SqlDialect, TableName, is_text
from secateur.rules.decision_list import Column, ColumnTest, DecisionList, ListedRule, double_limit, list_sections
from secateur.rules.rules import Rules
from secateur.tree.regions import last_with_decimals
from secateur.tree.tree import Label, Tree
from secateur.words import plain_words

Texts: TypeAlias = Sequence[str]
NO_TIMES = ("spark", "databricks", "clickhouse", "oracle")  # which have no type for times of the day

BY_ROWS = (
    "Limits have as few digits as keep every training row on its side; a new number between two training values may go "
    "the other way than in the model."
)
LIKE_TRAINING = (
    "It answers every training row as the rules do; what they promise for every possible row needs their exact limits, "
    "which SQL that is not plain has."
)
TYPED = "finite numbers (a text gets NULL)"
BY_FACTS = "Limits assume that numbers have no more decimals than the training rows: {}."
BY_TYPE = (
    "Limits have as few digits as decide like the model for every number of float32, and for every number with no more "
    "digits than the limit."
)
EXACT = "Limits decide like the model for every number."


def rules_to_plain_sql(
    rules: Rules, listed: DecisionList, dialect: SqlDialect, table: TableName, prediction: str, blanks: Sequence[str]
) -> str:
    """Write the rules as a SELECT that adds the answer to the rows of a table; listed are the lines that decide."""
    taken = take_names(rules, listed)
    name = taken.take(prediction)
    source = PlainTable(rules, listed, dialect, table, taken, blanks)
    text = source.select(_indent(source.write_case(rules, listed)), name)
    told = [line for words in source.describe() for line in wrap(comment(words, HEAD_WORDS), LINE)]
    promise = LIKE_TRAINING if source.follows_rows else None
    head = head_lines(rules, " by secateur", "--", comment, promise)
    return "\n".join([head, *(f"-- {line}" for line in told), text])


class PlainTable(AskedTable):
    """A table whose columns have the types that the rules compare."""

    def __init__(
        self, rules: Rules, listed: DecisionList, dialect: SqlDialect, table: TableName, taken: FreeNames, blanks: Texts
    ) -> None:
        # Amounts are numbers here.
        is_amount = [one.reading is not None and one.reading.kind == "number" for one in listed.columns]
        columns = [replace(c, reading=None) if own else c for c, own in zip(listed.columns, is_amount, strict=True)]
        super().__init__(columns, dialect, table, taken, blanks)
        self._writer = Writer(dialect.name, pretty=False)
        clock = next((one.name for one in columns if one.reading is not None and one.reading.kind == "clock"), None)
        if clock is not None and dialect.name in NO_TIMES:
            raise ParameterError(
                f"The rules compare {clock!r} with times of the day, and {dialect.full_name} has no type for them: "
                "export SQL without plain, for DuckDB or PostgreSQL, or Python."
            )
        self._decimals = rules.tree.facts.decimals_of
        self._neighbours = plain_words.look_around(rules, _list_limits(rules.tree, columns, listed))
        self._told: dict[str, dict[str, int]] = {}  # what limits were shortened by, and decimals of columns

    @property
    def follows_rows(self) -> bool:
        """Whether limits follow the training rows, so that new rows may be answered differently."""
        return BY_ROWS in self._told

    def write(self, node: Node) -> str:
        """Write a node."""
        return self._writer.write(node)

    def select(self, case: str, name: str) -> str:
        """Write the statement, which names the answer of a CASE beside all columns of the table."""
        every = self.write(column_of(self._source, exp.Star()))
        select = f"SELECT\n{case} AS {self.write(make_name(name))},\n  {every}"
        return f"{select}\nFROM {self.write(self._source_table())}".replace(LINE_BREAK, "\n")

    def value(self, place: int) -> Node:
        """Name a column; SQLite takes an unknown quoted name alone for a text."""
        column = self._columns[place]
        name = make_name(column.name)
        own: Node = column_of(self._source, name) if self._dialect.name == "sqlite" else exp.Column(this=name)
        return exp.Trim(this=own) if column.reading is not None and column.reading.is_trim else own

    def list_blanks(self, column: Column) -> list[str]:
        """List the texts that mean a blank in a column: none but in one of texts."""
        if not is_text(column):
            return []
        cut = [""] if column.reading is not None and column.reading.is_trim else []
        texts = dict.fromkeys([*cut, *super().list_blanks(column)])
        return [text for text in texts if text or self._dialect.name != "oracle"]  # where an empty text is NULL

    def write_case(self, rules: Rules, listed: DecisionList) -> str:
        """Write the CASE of all sections."""
        words = {line.number: comment(f"{line.number}: {line.rows}") for line in make_listing(rules).lines}
        sections = list_sections(rules, listed)
        branches: list[str] = []
        if rejected := [condition for place in range(len(self._columns)) for condition in self._reject(place)]:
            many = len(rejected) > MOST_JOINED
            asked = self.write(join(exp.or_, rejected)) if many else _fill("OR", [self.write(one) for one in rejected])
            branches.append(_write_branch(asked, "NULL", "not decided: a blank, or what the model rejects"))
        for number, (heading, decide) in enumerate(sections, 1):
            own = self._list_branches(decide, words)
            if len(sections) == 1:
                branches += own
            elif number == len(sections):
                branches.append(f"ELSE {_join_case(own)}")
            else:
                asked = self._write_tests(heading).replace("\n", "\n  ")
                branches.append(f"WHEN {asked} THEN {_join_case(own)}")
        if len(branches) == 1 and branches[0].startswith("ELSE "):
            branches = [f"WHEN 1 = 1 THEN {branches[0].removeprefix('ELSE ')}"]
        return _join_case(branches)

    def _list_branches(self, rules: Sequence[ListedRule], words: Mapping[int, str]) -> list[str]:
        """List the branches of the lines of a section, up to the first that asks nothing."""
        branches: list[str] = []
        for rule in rules:
            answer, said = self.write(self.write_label(rule.label)), words[rule.index + 1]
            if not rule.tests:
                return [*branches, f"ELSE {answer} -- {said}"]
            branches.append(_write_branch(self._write_tests(rule.tests), answer, said))
        return branches

    def _write_tests(self, tests: Sequence[ColumnTest]) -> str:
        parts = [part for test in tests for part in self._written.get(test) or self._ask(test)]
        bracketed = (exp.Paren(this=part) if isinstance(part, exp.Connector) else part for part in parts)
        if len(parts) == 1 or len(parts) > MOST_JOINED:
            return self._writer.join_by_and(parts)
        return _fill("AND", [part if isinstance(part, str) else self.write(part) for part in bracketed])

    def _ask(self, test: ColumnTest) -> Sequence[Node | str]:
        """Write what a line asks of one column; texts that mean a blank are asked for beside NULL."""
        blanks = self.list_blanks(self._columns[test.column])
        if not blanks or not test.missing:
            return super()._ask(test)
        parts: Sequence[Node | str] = ()
        if test.unlisted:  # then the texts pass like any other
            others = [label for label in self._columns[test.column].labels or () if label not in test.labels]
            return [exp.or_(self._differs(test.column, others), is_null(self.value(test.column)), copy=False)]
        if test.labels:
            parts = super()._ask(test._replace(missing=False))
        return [exp.or_(*parts, *self._ask_missing(test.column), copy=False)]

    def _is_none_of(self, place: int, labels: Sequence[Label]) -> Node:
        return self._differs(place, [*labels, *self.list_blanks(self._columns[place])])

    def _differs(self, place: int, labels: Sequence[Label]) -> Node:
        excluded = [self.write(self.write_label(label)) for label in labels]
        sign = f"<> {excluded[0]}" if len(excluded) == 1 else f"NOT IN ({', '.join(excluded)})"
        return exp.Var(this=f"{self._values[place]} {sign}")

    def _is_known(self, place: int) -> Node:
        blanks = self.list_blanks(self._columns[place])
        return self._differs(place, blanks) if blanks else exp.Var(this=f"{self._values[place]} IS NOT NULL")

    def _ask_missing(self, place: int) -> list[Node]:
        blanks = self.list_blanks(self._columns[place])
        return [is_null(self.value(place)), *([self.is_in(place, blanks)] if blanks else [])]

    def _reject(self, place: int) -> list[Node]:
        """List what a row must not hold in a column; that numbers are finite is assumed."""
        column = self._columns[place]
        rejected = [] if column.takes_missing else self._ask_missing(place)
        if self._dialect.name == "sqlite" and self._name_kind(column) == TYPED:  # any type may stand in a column
            rejected.append(exp.Var(this=f"typeof({self._values[place]}) IN ('text', 'blob')"))
        if column.labels is not None and not column.takes_unlisted:
            rejected.append(self._is_none_of(place, column.labels))
        elif column.labels is None and (math.isfinite(column.lowest) or math.isfinite(column.highest)):
            rejected.append(is_beyond(self.value(place), *column.ends))
        return rejected

    def _limit(self, limit: float, column: Column) -> Node:
        if column.reading is not None and column.reading.is_moment:
            return self._write_moment(limit, column)
        known = self._neighbours.get(column.feature, {}).get(limit)
        n_decimals = self._decimals.get(column.feature)
        kind = np.dtype(column.dtype).type
        if known is not None:
            self._told[BY_ROWS] = {}
        elif n_decimals is not None:
            last = last_with_decimals(limit, n_decimals, column.dtype)
            known = float(kind(float(last))), float(kind(float(last + Decimal(1).scaleb(-n_decimals))))
            self._told.setdefault(BY_FACTS, {})[column.name] = n_decimals
        if known is not None:
            number = shorten_known(limit, column.dtype, *known, n_decimals=n_decimals)
        else:
            own = limit if column.dtype == "float32" else find_single(limit)
            self._told[EXACT if own is None else BY_TYPE] = {}
            number = Decimal(repr(limit)) if own is None else shorten_unknown(own)
        if self._dialect.name == "sqlite" and (safe := write_for_sqlite(float(number))) != repr(float(number)):
            return make_number(safe)
        is_plain = not number or plain_words.LEAST_PLAIN <= number.adjusted() <= plain_words.MOST_PLAIN
        return make_number(f"{number.normalize():f}" if is_plain else f"{number.normalize():e}")

    def _write_moment(self, limit: float, column: Column) -> Node:
        """Write the first moment beyond a limit, of the type of the column; SQLite has texts."""
        assert column.reading is not None
        moment, types = find_moment(limit, column.reading, column.dtype), exp.DataType.Type
        if column.reading.kind == "clock":
            text, kind = moment.time().isoformat(), types.TIME
        elif column.reading.is_whole_days:
            text, kind = moment.date().isoformat(), types.DATE
        else:
            text, kind = moment.isoformat(sep=" "), types.TIMESTAMP
        literal = exp.Literal.string(text)
        return literal if self._dialect.name == "sqlite" else exp.cast(literal, exp.DataType(this=kind))

    def describe(self) -> Iterator[str]:
        """Say what is assumed of the columns, and how limits were shortened; the statement must be written already."""
        kinds: dict[str, list[str]] = {}
        for column in self._columns:
            kinds.setdefault(self._name_kind(column), []).append(column.name)
        held = "; ".join(f"{kind} in {', '.join(names)}" for kind, names in kinds.items())
        texts = [text for text in self._blanks if text]
        also = f", and so are the texts {', '.join(map(repr, texts))}" if texts else ""
        others = "others" if texts else "texts that stand for one, such as N/A,"
        yield f"It assumes {held}. NULL is a blank{also}; {others} must be NULL."
        for how, decimals in self._told.items():
            yield how.format(", ".join(f"{n or 'none'} in {name}" for name, n in decimals.items()))

    def _name_kind(self, column: Column) -> str:
        is_lite = self._dialect.name == "sqlite"
        if column.reading is not None and column.reading.is_moment:
            shown = {"clock": "hh:mm:ss"}.get(column.reading.kind, "yyyy-mm-dd")
            kind = "times" if column.reading.kind == "clock" else "dates"
            return f"texts such as {shown}" if is_lite else kind
        if column.labels is None:
            return TYPED if is_lite else "finite numbers"
        if is_text(column):
            return "texts"
        return "truth values" if any(isinstance(label, bool) for label in column.labels) else "numbers"


def _indent(text: str) -> str:
    return "  " + text.replace("\n", "\n  ")  # where a carriage return in a name is none of our line breaks


def _fill(word: str, parts: Sequence[str]) -> str:
    """Join conditions by AND or OR, as many in a line as fit."""
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) < LINE:
            lines[-1] += f" {word} {part}"
        else:
            lines.append(f"{word} {part}")
    return "\n".join(lines)


def _write_branch(condition: str, answer: str, words: str) -> str:
    whole = f"WHEN {condition} THEN {answer}"
    if len(whole) > LINE or "\n" in whole:
        whole = f"WHEN {condition}\nTHEN {answer}".replace("\n", "\n  ")
    return f"{whole} -- {words}"


def _join_case(branches: Sequence[str]) -> str:
    """Join branches; an answer that is alone needs no CASE."""
    if len(branches) == 1 and branches[0].startswith("ELSE "):
        return branches[0].removeprefix("ELSE ")
    return "\n".join(["CASE", *map(_indent, branches), "END"])


def shorten_known(limit: float, dtype: str, below: float, above: float, *, n_decimals: int | None = None) -> Decimal:
    """Shorten a limit that only has to keep two values of dtype, and doubles rounded to them, on their sides."""
    kind = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        before = float(np.nextafter(kind(above), kind(-np.inf)))
    low, high = double_limit(below, dtype), double_limit(before, dtype)
    worded = [last_with_decimals(limit, n_decimals, dtype).normalize()] if n_decimals is not None else []
    worded.append(plain_words.shorten_number(limit, dtype, below, above).value)
    found = [number for number in worded if low <= float(number) <= high]
    if n_decimals is not None:  # no double beside a number of so few decimals is rounded to it
        ends = [(Decimal(end), Decimal(f"{end:.{n_decimals}f}")) for end in (below, above)]
        found += [number for number in reversed(worded) if max(ends[0]) <= number < min(ends[1])]
    short = next((number for number in found if plain_words.count_digits(number) <= plain_words.SHORT_ENOUGH), None)
    digits = max(plain_words.FEWEST_DIGITS, Decimal(limit).adjusted() + 1)
    return _find_shortest(low, high, limit, digits) if short is None else short


def shorten_unknown(limit: float) -> Decimal:
    """Shorten a limit of float32 as far as every float32, and every number with no more digits, stays on its side."""
    last = double_limit(limit, "float32")
    return _find_shortest(limit, last, last, 1)  # of equally short ones the last


def find_single(limit: float) -> float | None:
    """Find the float32 that a limit is the last double of, where a pipeline's model rounds to float32; else None."""
    with np.errstate(over="ignore"):
        own = float(np.float32(limit))
    return own if math.isfinite(own) and double_limit(own, "float32") == limit else None


def _find_shortest(low: float, high: float, near: float, digits: int) -> Decimal:
    """Find the shortest decimal that is read as a double from low to high; of equally short ones the nearest."""
    for precision in range(digits, plain_words.MOST_DIGITS + 1):
        tried = {
            Context(prec=precision, rounding=way).create_decimal(Decimal(end))
            for end in (near, low, high)
            if math.isfinite(end)
            for way in (ROUND_FLOOR, ROUND_CEILING, ROUND_HALF_EVEN)
        }
        if fitting := [one for one in tried if low <= float(one) <= high]:
            return min(fitting, key=lambda one: (abs(one - Decimal(near)), one)).normalize()
    return Decimal(near)


def _list_limits(tree: Tree, columns: Sequence[Column], listed: DecisionList) -> dict[int, list[float]]:
    """List the limits of plain numbers by feature, in increasing order."""
    found: dict[int, set[float]] = {}
    for rule in listed.rules:
        for test in rule.tests:
            feature = columns[test.column].feature
            if tree.categories[feature] is None and columns[test.column].reading is None:
                ends = (end for interval in test.intervals for end in interval if math.isfinite(end))
                found.setdefault(feature, set()).update(ends)
    return {feature: sorted(limits) for feature, limits in found.items()}
