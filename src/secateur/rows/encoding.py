"""Encode one column as the tree reads it, numbers, codes of labels or codes of cells, also from what files write.

Before that: which columns a tree reads of rows.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, shorten
from secateur.tree.columns import DAY, STEPS, ColumnParser, Columns
from secateur.tree.tree import Label, Tree

EXACT = 2**53  # floats hold every whole number up to here


def read_column(
    tree: Tree, column: Any, feature: int, what: str, *, first: int = 0, asked: bool = True
) -> NDArray[Any]:
    """Read a column of a frame as numbers of the tree's dtype, or as category codes; a split may ask for it."""
    import narwhals as nw

    if tree.columns is not None:
        return read_source(tree, tree.columns, column, feature, first, what)
    if (found := _parse_column(tree, column, feature, first, what)) is not None:
        return found.astype(tree.dtype)
    levels = tree.categories[feature]
    if levels is not None and (not column.dtype.is_numeric() or not all(isinstance(level, str) for level in levels)):
        values = cut_blanks(column.to_list()) if is_trimmed(tree, feature) else column.to_list()
        return _find_codes(values, levels, column.name).astype(tree.dtype)
    if not column.dtype.is_numeric() and column.dtype != nw.Boolean:
        raise InputError(
            f"Column {column.name!r} of {what} holds {column.dtype}, but the tree compares numbers. "
            "Encode it as it was encoded for fitting."
        )
    values, blank = _to_numbers(column)
    if asked and rounds_twice(tree):
        check_whole(values, column.name, what, first)
    with np.errstate(over="ignore"):
        numbers = values.astype(tree.dtype, copy=False)
    if blank is not None:
        numbers[blank] = np.nan
    return recode(numbers, levels)


def read_source(tree: Tree, columns: Columns, column: Any, feature: int, first: int, what: str) -> NDArray[Any]:
    """Read a column of a frame that a pipeline takes, in the tree's terms."""
    import narwhals as nw

    if (found := _parse_column(tree, column, feature, first, what)) is not None:
        return found
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        numbers, blank = _to_numbers(column)
        values = numbers if blank is None else np.where(blank, np.nan, numbers)
    else:
        values = as_objects(cut_blanks(column.to_list()) if is_trimmed(tree, feature) else column.to_list())
    return to_terms(tree, columns, values, str(column.dtype), feature, first, what)


def _parse_column(tree: Tree, column: Any, feature: int, first: int, what: str) -> NDArray[np.float64] | None:
    """Read texts, dates and times as numbers; None if the column has no parser, or holds numbers already."""
    parser = tree.column_parser(feature)
    if parser is None or parser.is_trim or column.dtype.is_numeric():
        return None
    name = tree.feature_name(feature)
    return read_written(to_arrow(column, name, what), parser, name, first=first, what=what)


def read_objects(tree: Tree, values: NDArray[Any], what: str) -> NDArray[Any]:
    """Replace the texts, dates and times in a matrix of objects by the numbers that the tree's column parsers give."""
    import pyarrow as pa

    made = values.astype(object)
    for feature, parser in enumerate(tree.column_parsers):
        if parser is not None and parser.is_trim:
            made[:, feature] = cut_blanks(made[:, feature].tolist())
        elif parser is not None:
            name = tree.feature_name(feature)
            try:
                column = pa.array(made[:, feature], from_pandas=True)
            except (TypeError, ValueError, pa.ArrowException) as error:
                raise InputError(f"Column {name!r} of {what} holds values of several types: make them one.") from error
            made[:, feature] = read_written(column, parser, name, what=what)
    if tree.columns is not None:
        return made
    try:
        return made.astype(np.float64)
    except (TypeError, ValueError):
        return made


def is_trimmed(tree: Tree, feature: int) -> bool:
    """Whether blanks around the texts of a column do not count."""
    parser = tree.column_parser(feature)
    return parser is not None and parser.is_trim


def cut_blanks(values: Sequence[Any]) -> list[Any]:
    """Cut the blanks around texts; what is empty then is missing, and what is no text stays as it is."""
    return [value.strip(" ") or None if isinstance(value, str) else value for value in values]


def _to_numbers(column: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Read numbers or bools, and mark blanks among whole numbers, which stay whole so that they are rounded once."""
    import narwhals as nw

    if column.dtype.is_integer() and column.is_null().any():
        kind = np.int64 if column.dtype.is_signed_integer() else np.uint64
        return column.fill_null(0).to_numpy().astype(kind), column.is_null().to_numpy().astype(bool)
    if column.dtype.is_decimal():  # libraries divide by a power of ten in floats, which misses the nearest one
        return np.array([np.nan if value is None else float(value) for value in column.to_list()]), None
    values: NDArray[Any] = column.to_numpy()
    return (values if values.dtype.kind in "fiub" else column.cast(nw.Float64).to_numpy()), None


def rounds_twice(tree: Tree) -> bool:
    """Whether a model may bring whole numbers to float32 in one step or in two; behind a pipeline they are float64."""
    return tree.dtype == "float32" and tree.columns is None


def check_whole(values: NDArray[Any], name: str, what: str, first: int) -> None:
    """Reject whole numbers that no float64 holds.

    scikit-learn rounds them to float32 at once where all columns are whole numbers, and by way of float64 beside a
    column of floats; others always at once. So which side of a split a row takes depends on what stands beside it.
    """
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or len(values) == 0:
        return
    if values.min() >= -EXACT and values.max() <= EXACT:
        return
    floats = values.astype(np.float64)
    end = 2.0**63 if values.dtype.kind == "i" else 2.0**64  # which is no such number itself
    with np.errstate(invalid="ignore"):
        is_held = (floats < end) & (floats.astype(values.dtype) == values)
    if not is_held.all():
        row = int(is_held.argmin())
        raise InputError(
            f"Column {name!r} of {what} holds {values[row]} (row {first + row}), a whole number beyond 2^53 that no "
            "float holds: the model rounds it as the other columns have it. Pass the column as floats, with "
            "astype(float), as it should be rounded."
        )


def frame_numbers(X: Any) -> NDArray[np.float64]:
    """Read a data frame as float64; anything but a number raises a TypeError or ValueError."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    columns = []
    for column in frame.iter_columns():
        if not column.dtype.is_decimal():
            column = column.cast(nw.Float64)
        numbers, blank = _to_numbers(column)
        columns.append(numbers if blank is None else np.where(blank, np.nan, numbers))
    return np.column_stack(columns)


def to_terms(
    tree: Tree, columns: Columns, values: NDArray[Any], found: str, feature: int, first: int, what: str
) -> NDArray[Any]:
    """Turn a column that a pipeline takes into numbers, codes of labels or codes of cells."""
    levels, cuts = tree.categories[feature], columns.cuts[feature]
    name = tree.feature_name(feature)
    if levels is not None and cuts is None:
        codes = _find_fitting_codes(values, levels, name, found, what)
        unlisted = np.flatnonzero(codes == len(levels))
        if columns.closed[feature] and len(unlisted):
            raise InputError(
                f"Column {name!r} of {what} holds {values[unlisted[:1]].tolist()[0]!r} (row {first + unlisted[0]}), "
                f"which the pipeline's encoder rejects; its categories are {shorten(levels)}."
            )
        return codes
    numbers = _find_numbers(values, name, found, what)
    ends = columns.ranges[feature] if columns.ranges else None
    if ends is not None:
        beyond = np.flatnonzero((numbers < ends[0]) | (numbers > ends[1]))
        if len(beyond):
            raise InputError(
                f"Column {name!r} of {what} holds {values[beyond[:1]].tolist()[0]!r} (row {first + beyond[0]}), for "
                f"which a function of the pipeline has no value: it must lie between {ends[0]:.6g} and {ends[1]:.6g}."
            )
    if cuts is None:
        return numbers
    cells = np.searchsorted(cuts, numbers, side="left").astype(np.float64)
    return np.where(np.isfinite(numbers), cells, numbers)


def _find_numbers(values: NDArray[Any], name: str, found: str, what: str) -> NDArray[np.float64]:
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    listed = values.tolist()
    if values.dtype == object and not any(isinstance(value, (str, bytes)) for value in listed):
        with suppress(TypeError, ValueError):
            return np.array([np.nan if is_missing(value) else float(value) for value in listed])
    raise InputError(
        f"Column {name!r} of {what} holds {found}, but the tree compares numbers. Pass the column as the pipeline "
        "takes it."
    )


def _find_fitting_codes(
    values: NDArray[Any], levels: tuple[Label, ...], name: str, found: str, what: str
) -> NDArray[np.float64]:
    """Find the code of each label; reject text where the pipeline takes numbers, and numbers where it takes text."""
    wrong = f"Column {name!r} of {what} does not fit the pipeline: expected {{}}, found {found}."
    has_numbers = any(not isinstance(level, str) for level in levels)
    if values.dtype.kind in "fiub" and not has_numbers and not (values.dtype.kind == "f" and np.isnan(values).all()):
        raise InputError(wrong.format(f"text such as {levels[0]!r}"))
    codes = _find_codes(values.tolist(), levels, name)
    unlisted = values[codes == len(levels)].tolist()
    if unlisted and not any(isinstance(level, str) for level in levels) and all(isinstance(v, str) for v in unlisted):
        is_truth = all(isinstance(level, bool) for level in levels)
        raise InputError(wrong.format("true or false" if is_truth else f"a number such as {levels[0]!r}"))
    return codes


def _find_codes(values: Sequence[Any], levels: tuple[Label, ...], name: str) -> NDArray[np.float64]:
    """Find the code of each label: NaN if it is missing, the code after the last if it is not listed."""
    unlisted = float(len(levels))
    # pandas marks all missing values by one object, which a dict finds at once; others are looked at below.
    code_of: dict[Any, float] = {None: np.nan, np.nan: np.nan}
    code_of |= {label: float(code) for code, label in enumerate(levels)}
    try:
        codes = np.array(list(map(code_of.get, values, repeat(unlisted))), dtype=np.float64)
    except TypeError:
        raise InputError(f"Column {name!r} holds lists or the like, but the tree tests categories.") from None
    codes[[row for row in np.flatnonzero(codes == unlisted).tolist() if is_missing(values[row])]] = np.nan
    return codes


def recode(column: NDArray[Any], levels: tuple[Label, ...] | None) -> NDArray[Any]:
    """Replace numbers that are not category codes by the code of unlisted values."""
    if levels is None:
        return column
    listed = (column >= 0) & (column < len(levels)) & (column == np.floor(column))
    return np.where(listed | np.isnan(column), column, len(levels)).astype(column.dtype)


def category_code(value: Any, levels: tuple[Label, ...]) -> float:
    """Find the code of a category: NaN if it is missing, the code after the last if it is not listed."""
    if is_missing(value):
        return float("nan")
    plain = value.item() if isinstance(value, np.generic) else value
    return float(levels.index(plain)) if plain in levels else float(len(levels))


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Make an array of objects, one for each value, of any type."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def is_missing(value: Any) -> bool:
    """Whether a value marks a missing value: None, NaN, pandas.NA or pandas.NaT."""
    # pandas.NA is neither equal nor unequal to itself, and pandas is not imported here.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


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
        return np.asarray(numbers.to_numpy(zero_copy_only=False))

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
    """Turn a file's labels into the model's classes where they read alike, such as texts into numbers."""
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


def derives(tree: Tree) -> bool:
    """Whether a pipeline at hand must make some of the tree's columns."""
    return tree.columns is not None and tree.columns.derive is not None


def own_features(tree: Tree) -> range:
    """List the features that rows hold themselves, without those that only the pipeline makes."""
    return range(tree.n_features - (0 if tree.columns is None else len(tree.columns.derived)))


def own_names(tree: Tree) -> list[str] | None:
    """List the columns that rows hold themselves; None if the tree does not name them."""
    return None if tree.feature_names is None else list(tree.feature_names[: len(own_features(tree))])


def tested_features(tree: Tree) -> set[int]:
    """Find the features that a split tests, in this tree or in others of its forest."""
    tested = np.unique(tree.feature[~tree.is_leaf]).tolist()
    return {*tested, *(() if tree.columns is None else tree.columns.asked)}


def asked_features(tree: Tree) -> set[int]:
    """Find the features that a split or a fact asks for."""
    return {*tested_features(tree), *tree.facts.features(tree.n_features)}


def read_features(tree: Tree, features: Collection[int] | None = None) -> list[int]:
    """List the features to read: all that a pipeline makes others from, else those given, else those asked for."""
    chosen = own_features(tree) if derives(tree) else asked_features(tree) if features is None else features
    return sorted(chosen)


def find_texts(tree: Tree, y: Any = None) -> list[str]:
    """Find the columns that hold text, even where it looks like numbers; the column of text labels is one."""
    texts = [
        name
        for feature, (name, levels) in enumerate(zip(own_names(tree) or (), tree.categories, strict=False))
        if (levels and all(isinstance(level, str) for level in levels)) or tree.column_parser(feature) is not None
    ]
    is_text = tree.classes.dtype.kind == "U" and not tree.is_regression
    return [*texts, y] if isinstance(y, str) and is_text else texts
