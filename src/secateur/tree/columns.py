"""What a tree knows of its columns beside its arrays: how names are shown, texts are read, and pipelines make them.

A column may be called anything. In a text for people, a new line in its name would look like another rule, an escape
sequence would colour the terminal, and a mark of direction would turn the words after it round.

A tree compares numbers. Where a person's column holds ``$1,599.38``, ``21.1%`` or ``15/08/2024``, a column parser says
which number each text means; where a column of categories holds ``" Private"``, that the blank does not count. It is
part of the tree, so that every later table is read alike, however it is stored.

A tree behind a pipeline is read as a tree over the columns that go *into* the pipeline. Most are plain numbers or
categories, as in any other tree. ``Columns`` describes the rest: numbers that are asked by cell rather than by
threshold, categories that the pipeline rejects, and columns that only the pipeline itself can make.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.tree.tree import Tree

# Control characters, line separators, marks of direction, joiners of nothing, tags, and halves of characters. Soft
# hyphens and the joiners that Persian, Hindi and emoji are spelled with stay.
INVISIBLE = (
    "\\x00-\\x1f\\x7f-\\x9f\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e"
    "\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff\\U0001d173-\\U0001d17a\\U000e0000-\\U000e007f"
)
_HIDDEN = re.compile(f"[{INVISIBLE}]")


def show_text(text: str) -> str:
    r"""Escape invisible characters, as Python does in quotes."""
    return _HIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


# Microseconds in each step that dates and times are rounded down to.
STEPS = {"day": 86_400_000_000, "minute": 60_000_000, "second": 1_000_000, "microsecond": 1}
DAY = STEPS["day"]
MOST_DAYS = 2_932_000  # in the year 9997
KINDS = ("number", "date", "clock", "text")
ORDERS = ("ymd", "dmy", "mdy")
MONEY = "$€£₹"
SEPARATORS = {"": "", ",": ",", ".": "[.]", "'": "['’]", " ": "[ \u00a0\u202f]"}
CLOCK = "(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?P<part>[.][0-9]{1,6})?)?"
YEAR_FIRST = "(?P<year>[0-9]{4})[-/.](?P<month>[0-9]{1,2})[-/.](?P<day>[0-9]{1,2})"
YEAR_LAST = "(?P<first>[0-9]{1,2})[-/.](?P<then>[0-9]{1,2})[-/.](?P<last>[0-9]{4})"


@dataclass(frozen=True)
class ColumnParser:
    """What the texts of one column mean.

    A date becomes days since 1970-01-01, with a fraction for the time of the day; a clock, a time of the day alone,
    seconds since midnight. A text loses the blanks around it, and one that is empty then is missing.
    """

    kind: str  # one of KINDS
    unit: str = ""  # of a number: the sign beside it, "%" or a currency; 21.1 % is 21.1
    unit_first: bool = False  # whether the sign is written before the number
    thousands: str = ""  # what separates the thousands of a number, if anything
    decimal: str = "."  # what stands before its decimals
    order: str = "ymd"  # of a date whose year comes last; a year of four digits may always come first
    step: str = "day"  # to which dates and times are rounded down

    @property
    def is_moment(self) -> bool:
        """Whether it gives a date or a time."""
        return self.kind in ("date", "clock")

    @property
    def is_trim(self) -> bool:
        """Whether it only cuts the blanks around categories."""
        return self.kind == "text"

    @property
    def is_whole_days(self) -> bool:
        """Whether it gives whole days."""
        return self.kind == "date" and self.step == "day"

    @cached_property
    def pattern(self) -> str:
        """A regular expression for the whole text, blanks around it cut; Python, RE2 and PostgreSQL read it alike."""
        if self.kind == "clock":
            return CLOCK
        if self.kind == "date":
            dates = YEAR_FIRST if self.order == "ymd" else f"(?:{YEAR_FIRST}|{YEAR_LAST})"
            return f"{dates}(?:[T ] ?{CLOCK}(?:Z| ?UTC|[+]00(?::?00)?)?)?"
        point, unit = SEPARATORS[self.decimal], self.unit.replace("$", "[$]")
        grouped = f"[1-9][0-9]{{0,2}}(?:{SEPARATORS[self.thousands]}[0-9]{{3}})+|" if self.thousands else ""
        digits = f"(?:(?:{grouped}[0-9]+)(?:{point}[0-9]+)?|{point}[0-9]+)"
        if not self.unit:
            return f"[-+]?{digits}"
        if self.unit == "%":
            return f"[-+]?{digits}(?: *%)?"
        return f"(?:{unit} *)?[-+]? *(?:{unit} *)?{digits}(?: *{unit})?"

    @property
    def example(self) -> str:
        """How such a text looks."""
        if self.kind == "text":
            return "texts with blanks around them"
        if self.kind == "clock":
            return "hh:mm"
        if self.kind == "date":
            written = {"ymd": "yyyy-mm-dd", "dmy": "dd/mm/yyyy", "mdy": "mm/dd/yyyy"}[self.order]
            return written if self.step == "day" else f"{written} hh:mm"
        number = "21.1" if self.unit == "%" else f"1{self.thousands}599.38"
        number = number.replace(".38", f"{self.decimal}38") if self.unit != "%" else number.replace(".", self.decimal)
        return self.write_unit(number)

    def write_unit(self, number: str) -> str:
        """Put the sign beside a number that is written already; money has two decimals or none."""
        if not self.unit:
            return number
        if self.unit in MONEY and number[-2:-1] == ".":
            number += "0"
        gap = " " if self.unit == "%" or self.unit.isalpha() else ""
        if not self.unit_first:
            return f"{number}{gap}{self.unit}"
        return f"-{self.unit}{gap}{number[1:]}" if number.startswith("-") else f"{self.unit}{gap}{number}"

    def fault(self) -> str | None:
        """Describe what is wrong with it; None if nothing is."""
        if self.kind not in KINDS:
            return f"there is no kind {self.kind!r}"
        if self.order not in ORDERS or self.step not in STEPS:
            return f"{self.order!r} and {self.step!r} are not order and step of dates"
        if self.decimal not in (".", ",") or self.thousands not in SEPARATORS or self.thousands == self.decimal:
            return f"numbers cannot have {self.thousands!r} between thousands and {self.decimal!r} before decimals"
        if not re.fullmatch(r"%|[^\W\d_]{0,3}|[$€£¥₹]", self.unit):
            return f"{self.unit!r} is not the sign of a number"
        return None


BESIDE_A_LIMIT = "may go the other way."  # how a remark ends that says which rows a promise about all rows leaves out


@dataclass(frozen=True)
class Columns:
    """What the rows of a tree behind a pipeline hold: labels in categorical columns, never codes.

    A number that is asked by cell has increasing ``cuts``. Code ``k`` stands for ``cuts[k - 1] < x <= cuts[k]``, the
    first for everything up to ``cuts[0]`` and code ``len(cuts)`` for everything above the last.
    """

    cuts: tuple[tuple[float, ...] | None, ...]  # by feature; None for one that is not asked by cell
    closed: tuple[bool, ...]  # by feature: whether a category that is not listed is rejected
    ranges: tuple[tuple[float, float] | None, ...] = ()  # lowest and highest number that the pipeline has a value for
    derived: tuple[str, ...] = ()  # columns that the pipeline makes and that cannot be inverted: the last features
    remarks: tuple[str, ...] = ()  # sentences for a reader of the rules
    # Features to read from rows beside those that the tree tests: in a forest, those that its other trees test. Other
    # columns may hold anything.
    asked: tuple[int, ...] = field(default=(), compare=False)
    # The tree over the columns that the pipeline makes, and what makes this tree's columns from the rows that the
    # pipeline takes, where they differ; both None where the pipeline is not at hand.
    encoded: Tree | None = field(default=None, compare=False, repr=False)
    derive: Callable[[Any], Any] | None = field(default=None, compare=False, repr=False)


def find_cuts(tree: Tree, feature: int) -> tuple[float, ...] | None:
    """Find the limits of a number that the tree asks by cell; None for every other column."""
    return None if tree.columns is None else tree.columns.cuts[feature]


def is_closed(tree: Tree, feature: int) -> bool:
    """Whether a category that is not listed is rejected."""
    return tree.columns is not None and tree.columns.closed[feature] and tree.columns.cuts[feature] is None


def join_cells(cuts: tuple[float, ...], codes: Iterable[int]) -> tuple[tuple[float, float], ...]:
    """Turn cells of a number, given by increasing codes, into intervals; neighbours are joined."""
    ends = (-math.inf, *cuts, math.inf)
    joined: list[tuple[float, float]] = []
    for code in codes:
        start = joined.pop()[0] if joined and joined[-1][1] == ends[code] else ends[code]
        joined.append((start, ends[code + 1]))
    return tuple(joined)
