"""Read what files hold as text: the numbers that texts, dates and times of a column mean, truth values and labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError
from secateur.tree.columns import DAY, STEPS, ColumnParser

# A CSV column that holds nothing else holds truth values.
TRUTH_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}

SHOWN_TEXT = 60


def read_written(
    values: Any, parser: ColumnParser, name: str, *, first: int = 0, what: str = "X"
) -> NDArray[np.float64]:
    """Read an Arrow array by a parser: NaN for a blank, an error for what it cannot read.

    Texts must be written as the parser says. Dates and times of Arrow's own types mean themselves, and numbers count
    as read already. Messages call the rows ``what`` and count them from ``first``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from secateur.tree.columns import ColumnParser
    >>> read_written(pa.array(["21/01/1970", None]), ColumnParser("date", order="dmy"), "opened").tolist()
    [20.0, nan]
    >>> read_written(pa.array(["$1,599.38"]), ColumnParser("number", unit="$", thousands=","), "balance").tolist()
    [1599.38]
    """
    numbers, is_read = _read(values, parser)
    if not is_read.all():
        row = int((~is_read).argmax())
        found = str(values[row].as_py())[:SHOWN_TEXT]
        kind = {"number": "numbers such as {}", "clock": "times ({})"}.get(parser.kind, "dates ({})")
        raise InputError(
            f"Column {name!r} of {what} holds {found!r} (row {first + row}), but the rules read it as "
            f"{kind.format(parser.example)}: repair it, or make it a blank."
        )
    return numbers


def find_unread(values: Any, parser: ColumnParser) -> NDArray[np.bool_]:
    """Mark the values of an Arrow array that a parser cannot read; a blank is none of them."""
    return ~_read(values, parser)[1]


def to_arrow(column: Any, name: str, what: str) -> Any:
    """Turn a column of any frame, wrapped by narwhals, into one Arrow array."""
    import pyarrow as pa

    try:
        array = column.to_arrow()
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(f"Column {name!r} of {what} holds values of several types: make them one type.") from error
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _read(values: Any, parser: ColumnParser) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read an Arrow array, and mark what could be read, blanks too."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_dictionary(kind):
        numbers, is_read = _read(values.dictionary, parser)
        codes = values.indices.fill_null(len(numbers)).to_numpy(zero_copy_only=False)
        return np.append(numbers, np.nan)[codes], np.append(is_read, True)[codes]
    blank = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan), blank
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _read_texts(values.cast(pa.large_string()), blank, parser)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
        return np.where(blank, np.nan, numbers), np.ones(len(values), dtype=bool)
    if parser.kind == "date" and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        moments = values.cast(pa.timestamp("us", tz="UTC" if getattr(kind, "tz", None) else None), safe=False)
        ticks = moments.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    elif parser.kind == "clock" and pa.types.is_time(kind):
        ticks = values.cast(pa.time64("us"), safe=False).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    else:
        return np.full(len(values), np.nan), blank
    return np.where(blank, np.nan, _count(ticks, parser)), np.ones(len(values), dtype=bool)


def _read_texts(
    values: Any, blank: NDArray[np.bool_], parser: ColumnParser
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim(values, " ").fill_null("")
    blank = blank | (pc.equal(texts, "").to_numpy(zero_copy_only=False))
    if parser.kind == "number":
        fits = pc.match_substring_regex(texts, f"^(?:{parser.pattern})$").to_numpy(zero_copy_only=False) & ~blank
        digits = pc.replace_substring_regex(texts, f"[^0-9{parser.decimal}-]", "")
        digits = pc.replace_substring(digits, parser.decimal, ".")
        numbers = pc.if_else(pa.array(fits), digits, "nan").cast(pa.float64()).to_numpy(zero_copy_only=False)
        return numbers, fits | blank
    found = pc.extract_regex(texts, f"^(?:{parser.pattern})$")
    fits = found.is_valid().to_numpy(zero_copy_only=False) & ~blank

    def part(name: str) -> NDArray[np.int64]:
        written = found.field(name)
        numbers = pc.if_else(pc.equal(written, ""), "0", written).fill_null("0").cast(pa.int64())
        counted: NDArray[np.int64] = numbers.to_numpy(zero_copy_only=False)
        return counted

    hour, minute, second = part("hour"), part("minute"), part("second")
    fits &= (hour < 24) & (minute < 60) & (second < 60)
    split = found.field("part").fill_null("")
    micro = pc.utf8_rpad(pc.utf8_ltrim(split, "."), 6, "0").cast(pa.int64()).to_numpy(zero_copy_only=False)
    ticks = ((hour * 60 + minute) * 60 + second) * STEPS["second"] + micro
    if parser.kind == "date":
        year, month, day = part("year"), part("month"), part("day")
        if parser.order != "ymd":
            last = part("last")
            own = {"dmy": ("then", "first"), "mdy": ("first", "then")}[parser.order]
            year = np.where(last > 0, last, year)
            month, day = (np.where(last > 0, part(name), known) for name, known in zip(own, (month, day), strict=True))
        fits &= (year > 0) & (month >= 1) & (month <= 12) & (day >= 1)
        months = np.where(fits, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
        days = months.astype("datetime64[D]") + (day - 1)
        fits &= days.astype("datetime64[M]") == months  # there is no 31 June
        ticks = ticks + days.astype(np.int64) * DAY
    return np.where(fits, _count(ticks, parser), np.nan), fits | blank


def _count(ticks: NDArray[np.int64], parser: ColumnParser) -> NDArray[np.float64]:
    """Turn microseconds into days or seconds, rounded down to the parser's step."""
    step = STEPS[parser.step]
    rounded = (ticks // step * step).astype(np.float64)
    return rounded / (STEPS["second"] if parser.kind == "clock" else DAY)


def as_label(value: Any) -> str:
    """Write a value as files do."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


def as_truth(value: Any, default: Any = None) -> Any:
    """Read true, false, 1 or 0 as a truth value; anything else gives the default."""
    word = str(value).strip().lower()
    return word == "1" if word in ("0", "1") else TRUTH_WORDS.get(word, default)


def to_label_types(labels: NDArray[Any], classes: Sequence[Any]) -> NDArray[Any]:
    """Turn a file's labels into the model's classes where they read alike, such as texts into numbers.

    Blanks around a text do not count where it is a class without them only.
    """
    known = {label for label in classes if isinstance(label, str)}
    cut = [one.strip(" ") if isinstance(one, str) and one not in known else one for one in labels.tolist()]
    if any(own is not one and own in known for own, one in zip(cut, labels.tolist(), strict=True)):
        labels = np.array(cut, dtype=object)
    named = {as_label(label): label for label in classes}
    written = [as_label(label) for label in labels.tolist()]
    if all(isinstance(label, bool) for label in classes) or labels.dtype == bool:
        named = {str(label).lower(): label for label in classes}
        written = [text.lower() for text in written]
    kinds = {type(label) for label in classes}
    if {type(label) for label in labels.tolist()} <= kinds or not set(written) <= set(named):
        return labels
    return np.array([named[text] for text in written], dtype=bool if kinds == {bool} else object)
