"""Tell whether the first line of a CSV file holds names, by the lines below it.

A name differs from the values below it: a word over numbers, a word that no row repeats, or a year over numbers that
are none. A first line that looks like any other is one.
"""

import csv
import re
from collections.abc import Collection

from secateur.rows.file_faults import long_fields

LOOKED_AT = 1_000  # lines
YEAR = re.compile("(19|20)[0-9]{2}")
DIGITS = frozenset("0123456789")
MARKS = frozenset("+-.,:/%$€£ eET'")


def has_header(text: str, delimiter: str, missing: Collection[str] = ()) -> bool:
    r"""Tell whether the first of some lines holds names; ``missing`` are texts that mean a blank.

    Examples
    --------
    >>> has_header("age,ward\n34,A\n51,B\n", ",")
    True
    >>> has_header("34,A\n51,B\n27,A\n", ",")
    False
    >>> has_header("country,2019,2020\nPeru,1,2\nChile,3,4\n", ",")
    True
    """
    lines = text.lstrip("\r\n").splitlines(keepends=True)[: LOOKED_AT + 1]
    with long_fields():
        try:
            first, *rest = [
                [field.strip() for field in line] for line in csv.reader(lines, delimiter=delimiter) if line
            ]
        except csv.Error:
            return True  # the reading itself says what is wrong
    if len(lines) <= LOOKED_AT and not text.endswith(("\n", "\r")) and len(rest) > 1:
        rest = rest[:-1]  # the bytes that were looked at may end within a line
    if not rest:
        return not all(_is_number(field) for field in first)
    n_words, n_repeated, numbers, n_years = 0, 0, [], 0
    for place, name in enumerate(first):
        below = [line[place] for line in rest if place < len(line) and line[place] not in missing]
        if not below or name in missing:
            continue
        are_numbers = all(map(_is_number, below))
        if are_numbers and not _is_number(name):
            return True  # a word over numbers is a name
        if are_numbers:
            numbers.append(name)
            n_years += YEAR.fullmatch(name) is not None and not any(map(YEAR.fullmatch, below))
        elif 2 * len(set(below)) <= len(below):  # else a value need not come twice
            n_words += 1
            n_repeated += name in below
    if n_words:
        return 2 * n_repeated < n_words
    return n_years == len(numbers) == len(set(numbers))


def _is_number(field: str) -> bool:
    """Whether a field is a number, an amount or a date: it has digits, and nothing but marks beside them."""
    return bool(field) and not DIGITS.isdisjoint(field) and all(sign in DIGITS or sign in MARKS for sign in field)
