"""How the text of a column is read: as an amount, a percentage, a date, a time of the day, or without blanks around it.

A tree compares numbers. Where a person's column holds ``$1,599.38``, ``21.1%`` or ``15/08/2024``, a column parser says
which number each text means; where a column of categories holds ``" Private"``, that the blank does not count. It is
part of the tree, so that every later table is read alike, however it is stored.
"""

import re
from dataclasses import dataclass
from functools import cached_property

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

    Examples
    --------
    >>> ColumnParser("number", unit="$", unit_first=True, thousands=",").example
    '$1,599.38'
    >>> ColumnParser("date", order="dmy").example
    'dd/mm/yyyy'
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
    def plain_pattern(self) -> str:
        """The same without names of groups, for programs that know none."""
        return re.sub(r"\(\?P<\w+>", "(", self.pattern)

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
        gap = " " if self.unit.isalpha() else ""
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
