"""Find the columns of a table that hold numbers or dates, but are written as text.

``37,900``, ``$1,599.38``, ``21.1%``, ``15/08/2024`` and ``2024-08-15 10:20`` are such texts. A column is read so only
if all its values can be; one that is written so but for a few values is refused, with one of them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError
from secateur.rows.encoding import cut_blanks
from secateur.rows.written_values import find_unread, read_written
from secateur.tree.columns import STEPS, ColumnParser
from secateur.tree.tree import Tree

# Different texts that are looked at first, to leave columns of words alone.
LOOKED_AT = 500
# A column of which this share is written as numbers or dates is meant to hold them.
MEANT_SHARE = 0.9
ROUNDING = 1e-9  # of sums of shares
CURRENCIES = ("$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "SEK", "NOK")
UNIT = re.compile("|".join(["%", *map(re.escape, CURRENCIES)]))
SEPARATORS = ((",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."), ("", "."), ("", ","))
MOMENT = re.compile(r"\d{1,4}[-/.:]\d{1,2}")


@dataclass(frozen=True)
class Found:
    """The reading of a column, and how sure it is."""

    reading: ColumnParser
    example: str  # a text of the column
    is_ambiguous: bool = False  # whether its dates could have the month first


def find_reading(values: Any, name: str, *, month_first: bool = False) -> Found | None:
    """Find how the texts, dates or times of a column become numbers; None if they are words, or numbers already.

    Examples
    --------
    >>> import pandas as pd
    >>> find_reading(pd.Series(["$1,599.38", "$12.00", None]), "balance").reading.unit
    '$'
    >>> find_reading(pd.Series(["15/08/2024", "03/01/2023"]), "seen").reading.order
    'dmy'
    >>> find_reading(pd.Series(["north", "south"]), "region") is None
    True
    """
    import pyarrow as pa

    present = values.dropna()
    if not len(present):
        return None
    if values.dtype.kind == "M":  # Arrow's own type
        return Found(_find_step(pa.array(present), ColumnParser("date")), str(present.iloc[0])[:10])
    if values.dtype.kind != "O":
        return None
    if type(present.iloc[0]).__name__ == "time":
        return Found(_find_step(pa.array(present), ColumnParser("clock")), str(present.iloc[0])[:5])
    counted = present.astype(str).str.strip(" ").value_counts()
    texts, counts = pa.array(counted.index, type=pa.large_string()), counted.to_numpy()
    looked_at, times = texts[:LOOKED_AT], counts[:LOOKED_AT] / counts[:LOOKED_AT].sum()
    candidates = _list_candidates(looked_at.to_pylist(), times, month_first=month_first)
    shares = [(1.0 - times[_find_unfit(looked_at, one)].sum(), one) for one in candidates]
    share, best = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if best is None or share < MEANT_SHARE - ROUNDING:
        return None
    if best.kind == "number" and not find_unread(texts, ColumnParser("number")).any():
        return None  # a file of typed columns holds digits as text for a reason, such as codes
    unread = _find_unfit(texts, best)
    if unread.any():
        _refuse_odd(present, name, texts.filter(pa.array(unread)).to_pylist(), counts[unread].sum(), best)
        return None
    if best.is_moment:
        best = _find_step(texts, best)
    other = replace(best, order={"dmy": "mdy", "mdy": "dmy", "ymd": "ymd"}[best.order])
    is_ambiguous = other != best and not find_unread(texts, other).any()
    return Found(best, str(present.iloc[0]).strip(" "), is_ambiguous)


def _find_unfit(texts: Any, reading: ColumnParser) -> NDArray[np.bool_]:
    """Mark the texts that do not speak for a reading: those that it cannot read, and beside percentages bare numbers.

    In later tables a bare 12.5 means 12.5%; among percentages it may be a share that somebody forgot to turn into one.
    """
    import pyarrow.compute as pc

    unfit = find_unread(texts, reading)
    if reading.unit == "%":
        unfit |= ~pc.match_substring(texts, "%").fill_null(True).to_numpy(zero_copy_only=False)
    return unfit


def read_values(values: Any, reading: ColumnParser, name: str, table: str) -> NDArray[np.float64]:
    """Read a column of a pandas frame; messages count rows from 1, as people count lines."""
    import pyarrow as pa

    try:
        array = pa.array(values, from_pandas=True)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(f"The column {name!r} of {table} holds values of several types: make them one.") from error
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return read_written(array, reading, name, first=1, what=table)


def set_readings(tree: Tree, readings: Mapping[str, ColumnParser]) -> Tree:
    """Tell a tree how the columns of its rows are read; what it knows already stays."""
    if tree.column_parsers or not readings:
        return tree
    found = []
    for feature, levels in enumerate(tree.categories):
        reading = readings.get(tree.feature_name(feature))
        found.append(reading if reading is not None and reading.is_trim == (levels is not None) else None)
    return replace(tree, column_parsers=tuple(found)) if any(found) else tree


def cut_column(values: Any) -> Any:
    """Cut the blanks around the texts of a column of a pandas frame; None if there are none."""
    texts = [text for text in values.dropna().unique() if isinstance(text, str)]
    cut = {text: own for text, own in zip(texts, cut_blanks(texts), strict=True) if own != text}
    if not cut:
        return None
    return values.map(lambda text: cut.get(text, text), na_action="ignore").astype(object).fillna(np.nan)


def describe_cut(columns: Sequence[str]) -> list[str]:
    """Say of which columns blanks were cut, and how to undo it; nothing if of none."""
    if not columns:
        return []
    return [f"Cut the blanks around the texts of {', '.join(columns)} (--text COLUMN keeps one as it is written)."]


def describe_readings(found: Mapping[str, Found]) -> list[str]:
    """Say in one sentence what was read as numbers and dates, and how to undo it; nothing if nothing was."""
    if not found:
        return []
    numbers = [f"{name} ({one.example})" for name, one in found.items() if not one.reading.is_moment]
    dates = [f"{name} ({one.reading.example})" for name, one in found.items() if one.reading.is_moment]
    told = [f"as {what} {', '.join(listed)}" for what, listed in (("numbers", numbers), ("dates", dates)) if listed]
    notes = [f"Read {'; '.join(told)} (--text COLUMN keeps one as text)."]
    unsure = [name for name, one in found.items() if one.is_ambiguous]
    if unsure:
        order = found[unsure[0]].reading.order
        first, option = ("month", "without --month-first") if order == "mdy" else ("day", "with --month-first")
        other = "day" if first == "month" else "month"
        notes.append(
            f"No date of {', '.join(unsure)} says whether the day or the month comes first: the {first} is taken to, "
            f"and {option} the {other}."
        )
    return notes


def _list_candidates(texts: Sequence[str], shares: NDArray[np.float64], *, month_first: bool) -> Iterator[ColumnParser]:
    """List the readings that may fit most of some texts, which make up shares of a column; the likeliest first."""

    def are_mostly(marks: Sequence[bool]) -> bool:
        return bool(shares[np.array(marks)].sum() >= MEANT_SHARE - ROUNDING)

    if are_mostly([bool(MOMENT.match(text)) for text in texts]):
        yield ColumnParser("clock")
        yield ColumnParser("date")
        for order in ("mdy", "dmy") if month_first else ("dmy", "mdy"):
            yield ColumnParser("date", order=order)
    if not are_mostly([any(sign in "0123456789" for sign in text) for text in texts]):
        return
    units = {match[0] for text in texts if (match := UNIT.search(text))}
    if len(units) > 1:  # amounts of two currencies do not compare
        return
    unit = next(iter(units), "")
    is_first = bool(unit) and sum(text.lstrip("-+ ").startswith(unit) for text in texts) > len(texts) / 2
    for thousands, decimal in SEPARATORS:
        yield ColumnParser("number", unit=unit, unit_first=is_first, thousands=thousands, decimal=decimal)


def _find_step(values: Any, reading: ColumnParser) -> ColumnParser:
    """Find the largest step that all dates or times are whole numbers of."""
    for step in STEPS:
        coarse = replace(reading, step=step)
        fine = replace(reading, step="microsecond")
        if step == "day" and reading.kind == "clock":
            continue
        if np.array_equal(read_written(values, coarse, ""), read_written(values, fine, ""), equal_nan=True):
            return coarse
    return replace(reading, step="microsecond")


def _refuse_odd(present: Any, name: str, odd: list[str], n_odd: int, reading: ColumnParser) -> None:
    """Refuse a column in which nearly all values are numbers or dates, and name one that is not."""
    if n_odd > (1.0 - MEANT_SHARE) * len(present):
        return
    row = int(present.index[present.astype(str).str.strip(" ") == odd[0]][0])
    what = "numbers" if reading.kind == "number" else "times" if reading.kind == "clock" else "dates"
    raise InputError(
        f"The column {name!r} mixes {what} and texts, such as {odd[0]!r} (row {row + 1}): if that is a blank, pass "
        f"--missing {odd[0]!r}; else repair it, keep the column as text with --text {name!r}, or leave it out with "
        f"--drop {name!r}."
    )
