"""Choose the rows, labels and columns of a table that a tree is fitted to.

Nothing is left out in silence: a sentence tells of every column and of all rows that are not used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from secateur.cli.tables.table_columns import Unreadable, cut_column, describe_cut, describe_readings, find_reading
from secateur.cli.tables.table_file import TableFile
from secateur.errors import InputError, did_you_mean, shorten
from secateur.results.measures import CODE_NAME, ID_NAME
from secateur.rows.encoding import as_label
from secateur.tree.columns import ColumnParser

# The most different whole numbers that are taken for classes.
MAX_NUMBER_CLASSES = 30
MAX_CLASSES = 200
SHOWN_COLUMNS = 8
# Texts with more than this share of different ones are names of rows, not categories.
DISTINCT_SHARE = 0.5
FEW_CATEGORIES = 20
MOST_TEXTS = 1_000  # columns; scikit-learn looks at each one alone, several times
MAX_DECIMALS = 3
LARGEST = "numbers, which a tree takes up to 3.4e38"
LARGEST_WHOLE = 2.0**53  # beyond this a float cannot tell a whole number from the next
ID_SHARE = 0.1  # with such a name, different values in more than this share of the rows make an identifier
# Texts of usually so many words, and more different ones than categories, are free text.
SENTENCE_WORDS = 5
LEFT_OUT = {
    "date": "durations are not used; make a number of them, such as days",
    "nested": "it holds lists or records",
    "empty": "it holds nothing but blanks",
}
UNFIT_TARGETS = {
    "date": "dates",
    "empty": "nothing but blanks",
    "mixed": "values of several types",
    "nested": "lists or records",
}


@dataclass(frozen=True)
class TrainingTable:
    """Rows and labels to fit a tree to."""

    X: Any = field(repr=False)  # a pandas.DataFrame of the columns that are used
    y: NDArray[Any] = field(repr=False)
    target: str  # the column of the labels, or of the numbers to predict
    categories: tuple[str, ...]  # columns of texts and booleans
    whole: tuple[str, ...]  # columns of whole numbers
    notes: tuple[str, ...] = ()  # what was left out and why, a sentence each
    decimals: Mapping[str, int] = field(default_factory=dict)  # the most decimals of columns of fractions, if few
    filled: tuple[str, ...] = ()  # columns without a blank
    readings: Mapping[str, ColumnParser] = field(default_factory=dict)  # of columns written as text or dates
    is_regression: bool = False  # whether numbers are predicted
    pattern: str = "{}"  # how they are written
    places: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)  # in the table

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Take some of the rows."""
        places = self.places[rows] if len(self.places) else self.places
        return replace(self, X=self.X.iloc[rows].reset_index(drop=True), y=self.y[rows], places=places)


def make_training_table(
    table: TableFile,
    target: str,
    *,
    drop: Sequence[str] = (),
    drop_classes: Sequence[str] = (),
    keep: Sequence[str] = (),
    classes: bool = False,
) -> TrainingTable:
    """Settle which rows and columns of a table are used; with ``classes`` the numbers of the target are classes."""
    import pandas as pd

    frame, columns = table.frame, list(table.frame.columns)
    target = find_column(columns, target, table.name)
    dropped, wanted, as_text = (split_names(columns, given, table.name) for given in (drop, keep, table.as_text))
    if target in dropped:
        raise InputError(f"The target {target!r} cannot be left out: name another column with --drop.")
    numbers = None if classes or target in as_text else read_numbers(table, target)
    if numbers is not None and drop_classes:
        raise InputError(
            f"The target {target!r} holds numbers, not classes: leave out --drop-class, or pass --classes."
        )
    read = numbers or read_labels(table, target, drop_classes, as_text=target in as_text)
    if numbers is None:
        _check_classes(read.values, target)
    kept, notes, cut = read.kept, [*read.notes], [target] if read.is_cut else []
    frame = frame[kept]  # its index still numbers the rows, for messages
    asked = [column for column in frame.columns if column != target and column not in dropped]
    n_texts = sum(table.kinds[column] in ("text", "date") for column in asked)
    if n_texts > MOST_TEXTS:
        raise InputError(
            f"{table.name} has {n_texts:,} columns of texts, and at most {MOST_TEXTS:,} are read as categories or "
            "dates: leave columns out with --drop, or fit a tree to some columns and pass it with --model."
        )
    categories, used, found = [], [], {}
    unreadable = Unreadable(table.name, table.blank_unreadable, "keep a column as text with --text, or --drop it")
    frame = frame.copy(deep=False)
    whole = set(table.whole)
    for column in asked:
        kind, everything = table.kinds[column], table.frame[column]
        is_code = kind == "number" and column not in wanted and _is_code(column, everything)
        if is_code and column not in as_text:
            notes.append(
                f"Read {column!r} as categories: its name, and that all its numbers have as many digits, say that it "
                "is a code (--keep reads it as numbers)."
            )
        if (is_code or column in as_text) and kind == "number":
            kind, everything = "text", everything.astype(object).map(as_label, na_action="ignore")
            frame[column] = everything[kept]
        elif kind in ("text", "date") and column not in as_text:
            if kind == "text" and (without := cut_column(everything)) is not None:
                everything, frame[column] = without, without[kept]
                cut.append(column)
            one = find_reading(everything, month_first=table.month_first)
            if one is not None:
                unreadable.blank(column, everything, one.odd, one.what)
                everything = pd.Series(one.read(everything, column, table.name), index=everything.index)
                kind, found[column], frame[column] = "number", one, everything[kept]
                whole |= {column} if one.reading.is_whole_days else set()
        reason = _leave_out(column, frame[column], everything, kind, is_wanted=column in wanted)
        if reason is not None:
            notes.append(f"Left out {column!r}: {reason}.")
            found.pop(column, None)
            cut = [name for name in cut if name != column]
            continue
        used.append(column)
        if kind in ("text", "boolean"):
            categories.append(column)
        else:
            large = np.abs(frame[column].to_numpy(dtype=np.float64)) > np.finfo(np.float32).max  # for a tree
            frame[column] = unreadable.blank(column, frame[column], large, LARGEST)
    notes += unreadable.settle()
    found = {column: one for column, one in found.items() if not one.is_plain}
    if not used:
        raise InputError(f"{table.name} has no column to predict {target!r} from. {' '.join(notes)}".rstrip())
    cut = [column for column in cut if column not in found]  # blanks beside a number go without saying
    notes += [*describe_cut(cut), *describe_readings(found)]
    counted = {
        column: _count_decimals(frame[column].to_numpy(dtype=np.float64))
        for column in used
        if column not in categories
        and column not in whole
        and not (column in found and found[column].reading.is_moment)
    }
    return TrainingTable(
        X=frame[used].reset_index(drop=True),
        y=read.values,
        target=target,
        categories=tuple(categories),
        whole=tuple(column for column in used if column in whole and column not in categories),
        notes=tuple(notes),
        decimals={column: number for column, number in counted.items() if number is not None},
        filled=tuple(column for column in used if not frame[column].isna().any()),
        readings={column: one.reading for column, one in found.items()}
        | {column: ColumnParser("text") for column in cut if column != target},
        is_regression=numbers is not None,
        pattern=read.pattern,
        places=np.flatnonzero(kept),
    )


class Target(NamedTuple):
    """What is to be predicted."""

    kept: NDArray[np.bool_]  # rows that have a label or number
    values: NDArray[Any]  # theirs
    notes: list[str]
    is_cut: bool = False  # whether blanks around labels were cut
    pattern: str = "{}"  # how numbers are written


def read_numbers(table: TableFile, target: str, *, always: bool = False) -> Target | None:
    """Read a target of many different numbers, or with ``always`` of any, perhaps with a unit; None if of classes."""
    column, kind, unit = table.frame[target], table.kinds[target], ColumnParser("number")
    notes: list[str] = []
    if kind in ("text", "date"):
        found = find_reading(column, month_first=table.month_first)
        if found is None or (found.is_plain and not always and column.nunique() <= MAX_NUMBER_CLASSES):
            return None
        if found.reading.is_moment:
            raise InputError(
                f"The target {target!r} holds dates or times, and rules predict classes or numbers: make a column of "
                "numbers from it, such as days since a date, and name that, or pass --classes."
            )
        unit = found.reading
        unreadable = Unreadable(table.name, table.blank_unreadable, "take them for classes with --classes")
        unreadable.blank(target, column, found.odd, found.what)
        values = found.read(column, target, table.name)
        notes += unreadable.settle()
    elif kind == "number":
        values = column.to_numpy(dtype=np.float64)
    else:
        return None
    kept = ~np.isnan(values)
    given = values[kept]
    n_different = int(column.nunique())
    is_whole = column.dtype.kind in "iu"
    has_fractions = not is_whole and bool(((np.floor(given) != given) | (np.abs(given) >= LARGEST_WHOLE)).any())
    if not always and not has_fractions and n_different <= MAX_NUMBER_CLASSES:
        return None
    if not np.isfinite(given).all():
        strange = given[~np.isfinite(given)][0]
        raise InputError(f"The target {target!r} holds {strange}: expected finite numbers. Repair it.")
    if n_different < 2:
        raise InputError(f"The target {target!r} has fewer than two different numbers: expected many rows.")
    notes += _note_blanks(kept, target)
    if not always:
        told = f"{n_different:,} different numbers"
        notes.append(f"{target!r} holds {told}, so it is predicted as a number (--classes takes them for classes).")
    sign = unit.unit
    pattern = "{}" if not sign else f"{sign}{{}}" if unit.unit_first else f"{{}} {sign}"
    return Target(kept, given, notes, pattern=pattern)


def _note_blanks(kept: NDArray[np.bool_], target: str) -> list[str]:
    n_blank = int((~kept).sum())
    rows = "row" if n_blank == 1 else "rows"
    return [f"Left out {n_blank:,} {rows} without a value of {target!r}."] if n_blank else []


def find_column(columns: Sequence[str], name: str, where: str) -> str:
    """Find a column by its name, apart from blanks around it, or without names by its place; else suggest one."""
    if name in columns:
        return name
    trimmed = [column for column in columns if column.strip() == name.strip()]
    if len(trimmed) == 1:
        return trimmed[0]
    hint = did_you_mean(name, columns)
    if columns and list(columns) == [f"column_{place + 1}" for place in range(len(columns))]:
        if f"column_{name.strip()}" in columns:
            return f"column_{name.strip()}"
        hint = " Its first line holds no names: name a column by its place, or pass --header if it does."
    listed = shorten(columns)
    if len(columns) > SHOWN_COLUMNS:  # the last is often the column of the classes
        listed = f"{', '.join(map(repr, columns[: SHOWN_COLUMNS - 2]))}, …, {columns[-2]!r} and {columns[-1]!r}"
    raise InputError(f"{where} has no column {name!r}.{hint} Its columns are {listed}.")


def split_names(columns: Sequence[str], given: Sequence[str], where: str) -> list[str]:
    """Find columns by their names; each word is one name, or several separated by commas."""
    found = []
    for word in given:
        names = [word] if word in columns or "," not in word else word.split(",")
        found += [find_column(columns, name, where) for name in names if name.strip()]
    return found


def read_labels(table: TableFile, target: str, drop_classes: Sequence[str] = (), *, as_text: bool = False) -> Target:
    """Find the rows with a label, and their labels; with ``as_text`` these stay as they are written."""
    column, kind = table.frame[target], table.kinds[target]
    without = cut_column(column) if kind == "text" and not as_text else None
    column, is_cut = (column, False) if without is None else (without, True)
    if kind in UNFIT_TARGETS:
        raise InputError(f"The target {target!r} holds {UNFIT_TARGETS[kind]}: expected a class in each row.")
    kept: NDArray[np.bool_] = column.notna().to_numpy()
    notes = _note_blanks(kept, target)
    if drop_classes:
        written = np.array([_write_label(label) for label in column.tolist()], dtype=object)
        strange = [label for label in drop_classes if label not in written[kept]]
        if strange:
            raise InputError(f"The target {target!r} has no class {strange[0]!r} to leave out.")
        unwanted = np.isin(written, list(drop_classes)) & kept
        notes.append(f"Left out {int(unwanted.sum()):,} rows of the classes {', '.join(drop_classes)}.")
        kept = kept & ~unwanted
    if kind != "number":
        return Target(kept, column[kept].to_numpy(dtype=bool if kind == "boolean" else object), notes, is_cut)
    labels = column[kept].to_numpy()
    if labels.dtype.kind != "f" or not ((np.floor(labels) != labels) | (np.abs(labels) >= LARGEST_WHOLE)).any():
        labels = labels.astype(np.int64)
    return Target(kept, labels, notes, is_cut)


def _write_label(label: Any) -> str:
    """Write a label as a person does; pandas stores whole numbers among blanks as fractions."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _check_classes(labels: NDArray[Any], target: str) -> None:
    if len(labels) < 2:
        raise InputError(f"{'One row has' if len(labels) else 'No row has'} a value of {target!r}: expected many rows.")
    values, places = number_labels(labels)
    counts = np.bincount(places)
    if len(values) == 1:
        raise InputError(f"The target {target!r} is {values[0]!s} in every row: at least two classes are needed.")
    if len(values) > MAX_CLASSES or (len(values) > FEW_CATEGORIES and len(values) > DISTINCT_SHARE * len(labels)):
        raise InputError(
            f"The target {target!r} has {len(values):,} different values in {len(labels):,} rows: expected a few "
            "classes. Name another column."
        )
    rare = values[counts == 1]
    if len(rare):
        raise InputError(
            f"The class {rare[0]!s} of {target!r} has only one row, too few for a rule: merge it with another class, "
            f"or leave it out with --drop-class {str(rare[0])!r}."
        )


def number_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """List different labels in order, and the place of each label among them; a million texts take long to sort."""
    import pandas as pd

    places, found = pd.factorize(labels)
    order = np.argsort(found)
    return found[order], np.argsort(order)[places]


def _leave_out(column: str, values: Any, everything: Any, kind: str, *, is_wanted: bool) -> str | None:
    """Say why a column is not used, judged by the rows that are used; None if it is used."""
    present = values.dropna()
    if kind in LEFT_OUT:
        return LEFT_OUT[kind]
    if len(present) == 0:
        return "it is blank in every row that is used"
    if kind == "mixed":
        raise InputError(
            f"The column {column!r} holds values of several types, such as {present.iloc[0]!s}: make them one type, "
            f"or leave the column out with --drop {column!r}."
        )
    n_different = present.nunique()
    if n_different == 1 and len(present) == len(values):
        return f"it has the same value in every row{'' if everything.nunique(dropna=False) == 1 else ' that is used'}"
    if is_wanted:
        return None
    if kind == "text":
        if n_different == len(present) and len(present) > 1:
            return "every row has a different value, like a name or an identifier"
        if n_different > max(FEW_CATEGORIES, DISTINCT_SHARE * len(present)):
            return f"{n_different:,} different texts in {len(present):,} rows are too many for categories, like names"
        words = present.drop_duplicates().astype(str).str.split().str.len().median()
        if n_different > FEW_CATEGORIES and words >= SENTENCE_WORDS:
            return f"it is free text: {n_different:,} different texts, usually of {words:g} words"
    is_code = kind == "text" or (kind == "number" and everything.dtype.kind == "i")
    if is_code and ID_NAME.search(column) and n_different > max(FEW_CATEGORIES, ID_SHARE * len(present)):
        return f"its name and its {n_different:,} different values say that it is an identifier"
    is_numbering = everything.dtype.kind == "i" and len(everything) > FEW_CATEGORIES and everything.is_unique
    if is_numbering and int(everything.max()) - int(everything.min()) + 1 == len(everything):
        return "it only numbers the rows"
    return None


def _is_code(column: str, values: Any) -> bool:
    """Whether a column of whole numbers holds codes, by its name and because all have three or more digits alike."""
    if values.dtype.kind != "i" or CODE_NAME.search(column) is None:
        return False
    digits = {len(str(int(one))) for one in (values.min(), values.max())}
    return len(digits) == 1 and digits.pop() >= 3


def _count_decimals(numbers: NDArray[np.float64]) -> int | None:
    """Count the most decimals of a column's numbers, if they are few; 0 for whole numbers written as fractions."""
    present = numbers[~np.isnan(numbers)]
    if len(np.unique(present[: 10 * FEW_CATEGORIES])) < FEW_CATEGORIES:
        return None  # a handful of values says little
    parts = present[: 10 * FEW_CATEGORIES], present  # most numbers of decimals are ruled out by a few values
    return next((n for n in range(MAX_DECIMALS + 1) if all((np.round(part, n) == part).all() for part in parts)), None)
