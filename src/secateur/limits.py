"""How much is taken in of an input: every limit, and the environment variable that raises it.

``docs/limits.md`` lists them.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from secateur.errors import FormatError, ParameterError

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
WRITTEN = re.compile(r"(\d+)\s*(?:([KMGT])(?:i?B)?|B)?", re.IGNORECASE)


@dataclass(frozen=True)
class Limit:
    """A limit, which an environment variable changes.

    Examples
    --------
    >>> MAX_MODEL.value
    1073741824
    >>> print(MAX_MODEL.advise())
    set the environment variable SECATEUR_MAX_MODEL, such as SECATEUR_MAX_MODEL=2GiB, to take more
    """

    variable: str
    default: int
    is_bytes: bool
    what: str  # is limited

    @property
    def value(self) -> int:
        """What holds now: the variable's number, if it is set, else the default."""
        text = os.environ.get(self.variable, "").strip()
        if not text:
            return self.default
        found = WRITTEN.fullmatch(text)
        if found is None or int(found[1]) == 0 or (found[2] and not self.is_bytes):
            example = format_bytes(self.default).replace(" ", "") if self.is_bytes else str(self.default)
            raise ParameterError(
                f"Expected the environment variable {self.variable} as a whole number above 0, such as {example}, "
                f"found {text!r}."
            )
        return int(found[1]) * UNITS[(found[2] or "").upper()]

    @property
    def told(self) -> str:
        """What holds now, for a sentence."""
        return format_bytes(self.value) if self.is_bytes else f"{self.value:,}"

    def advise(self, found: int = 0) -> str:
        """How to raise it so that what was found is taken, for the end of a sentence."""
        more = 2 * self.value
        while more < found:
            more *= 2
        shown = format_bytes(more).replace(" ", "") if self.is_bytes and more % UNITS["K"] == 0 else str(more)
        return f"set the environment variable {self.variable}, such as {self.variable}={shown}, to take more"


def format_bytes(n_bytes: float) -> str:
    """Write a number of bytes with the largest unit that fits."""
    for unit, size in reversed(UNITS.items()):
        if unit and n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}iB".replace(".0 ", " ")
    return f"{n_bytes:,.0f} B"


MAX_MODEL = Limit(
    "SECATEUR_MAX_MODEL",
    1 << 30,
    True,
    "a file of a model, a tree, rules or evidence, unpacked, and its text once parsed",
)
MAX_MEMORY = Limit(
    "SECATEUR_MAX_MEMORY", 1 << 30, True, "a table that must be in memory at once, or one batch of an Arrow file"
)
MAX_INPUT = Limit("SECATEUR_MAX_INPUT", 4 << 30, True, "what comes through a pipe, or is copied to another encoding")
MAX_LINE = Limit("SECATEUR_MAX_LINE", 2_000_000, True, "a line of a CSV file")
MAX_COLUMNS = Limit("SECATEUR_MAX_COLUMNS", 20_000, False, "the columns of a table in a file")
MAX_GROWTH = Limit(
    "SECATEUR_MAX_GROWTH", 200, False, "how many times its size a packed file of more than 256 MiB may unpack to"
)
MAX_CONDITIONS = Limit(
    "SECATEUR_MAX_CONDITIONS", 60_000_000, False, "the conditions of the rules of all leaves together"
)
LIMITS = (MAX_MODEL, MAX_MEMORY, MAX_INPUT, MAX_LINE, MAX_COLUMNS, MAX_GROWTH, MAX_CONDITIONS)

# What a character of a text can become in memory, in bytes: a list, an object, one more value, half a text; an element
# and the texts around it, or an attribute.
JSON_MARKS = {"[": 70, "{": 130, ",": 40, '"': 20}
XML_MARKS = {"<": 130, "=": 290}


def check_parsed_size(text: str | bytes, marks: Mapping[str, int], source: str) -> None:
    """Reject a text that would take too much memory once it is parsed: ``[[],[],…]`` grows to twenty times its size."""
    size = len(text)
    for mark, n_bytes in marks.items():
        size += n_bytes * (text.count(mark) if isinstance(text, str) else text.count(mark.encode()))
    check_memory(size, source)


def check_memory(size: int, source: str) -> None:
    """Reject what would take so many bytes of memory, if they are too many."""
    if size > MAX_MODEL.value:
        raise FormatError(
            f"{source} would take up to {format_bytes(size)} of memory once it is parsed, and at most {MAX_MODEL.told} "
            f"are taken for such a file: {MAX_MODEL.advise(size)}."
        )
