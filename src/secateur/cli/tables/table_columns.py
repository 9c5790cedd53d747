"""Find the columns of a table that hold numbers or dates, but are written as text; take those that a model asks for.

``37,900``, ``$1,599.38``, ``21.1%``, ``15/08/2024`` and ``2024-08-15 10:20`` are such texts. A column is read so if at
least nine in ten of its values can be. The others are told of in one go, for all columns, or taken for blanks.
"""

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.cli.tables.table_file import TableFile, read_table
from secateur.errors import InputError, did_you_mean, shorten
from secateur.rows import encoding
from secateur.rows.whole_files import make_room
from secateur.tree.columns import STEPS, ColumnParser, find_cuts
from secateur.tree.tree import Tree
from secateur.words.conditions import count_of

LOOKED_AT = 500  # different texts that are looked at first, to leave columns of words alone
# A column with this share of cells written as numbers or dates is meant to hold them.
MEANT_SHARE = 0.9
ROUNDING = 1e-9  # of sums of shares
CURRENCIES = ("$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "SEK", "NOK")
UNIT = re.compile("|".join(["%", *map(re.escape, CURRENCIES)]))
SEPARATORS = ((",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."), ("", "."), ("", ","))
MOMENT = re.compile(r"\d{1,4}[-/.:]\d{1,2}")
PLAIN = ColumnParser("number")
SHOWN_CELLS = 10
ROW = "--row"  # what a single row is called
MOST_UNREADABLE = 0.1  # the share of cells that may be blanks; beyond, a column is written in another way


@dataclass(frozen=True)
class Found:
    """The reading of a column, and how sure it is."""

    reading: ColumnParser
    example: str  # a text of the column
    is_ambiguous: bool = False  # whether its dates could have the month first
    odd: NDArray[np.bool_] | None = None  # the cells that it cannot read, if any

    @property
    def is_plain(self) -> bool:
        """Whether these are numbers that need no parser: odd cells alone made them texts."""
        return self.reading == PLAIN

    @property
    def what(self) -> str:
        """What the column holds."""
        what = {"number": "numbers", "clock": "times"}.get(self.reading.kind, "dates")
        return f"{what} such as {self.reading.example}"

    def read(self, values: Any, name: str, table: str) -> NDArray[np.float64]:
        """Read a column; its odd cells become blanks."""
        import pandas as pd

        values = values if self.odd is None else values.mask(self.odd, np.nan)
        if self.is_plain:
            return pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
        # Messages count rows from 1, as people count lines.
        return encoding.read_written(to_array(values, name, table), self.reading, name, first=1, what=table)


@dataclass(frozen=True)
class Unreadable:
    """The cells of a table that cannot be read: blanks where they are few enough, else one report of all columns."""

    table: str  # its name
    allowed: float  # the share of a column's cells that may be taken for blanks
    advice: str = ""  # what else to do about a column
    found: dict[str, tuple[Any, str, int]] = field(default_factory=dict)  # odd cells, what they are among, all cells

    def blank(self, name: str, values: Any, odd: NDArray[np.bool_] | None, what: str) -> Any:
        """Make blanks of the odd cells of a column, and keep them in mind."""
        if odd is None or not odd.any():
            return values
        self.found[name] = values[odd], what, len(values)
        return values.mask(odd, np.nan)

    def settle(self) -> list[str]:
        """Say which cells count as blanks; raise if a column has too many."""
        shares = {name: len(cells) / n_all for name, (cells, _, n_all) in self.found.items()}
        over = [name for name, share in shares.items() if share > self.allowed]
        if not over:
            return [f"Took for blanks what cannot be read: {self._list(list(shares))}."] if shares else []
        if not self.advice and (whole := [name for name in over if shares[name] > MOST_UNREADABLE]):
            told = f"{self.table} is not written as the rules read it: {self._list(whole, is_whole=True)}"
            advice = "Write such cells so, or name a text that means a blank with --missing"
            raise InputError(f"{told}. {advice}; or make rules from a table that is written like this one.")
        enough = math.ceil(1000 * max(shares.values())) / 1000
        advice = f"; {self.advice}" if self.advice else ""
        n_cells = sum(len(self.found[name][0]) for name in over)
        raise InputError(
            f"{count_of(n_cells, 'cell')} of {self.table} cannot be read: {self._list(over)}. Repair "
            f"{'it' if n_cells == 1 else 'them'}; name a text that means a blank with --missing "
            f"{str(self.found[over[0]][0].iloc[0])!r}; take all such cells for blanks with --blank-unreadable "
            f"{enough:g}{advice}."
        )

    def _list(self, names: Sequence[str], *, is_whole: bool = False) -> str:
        """List the first few odd cells of some columns, or of a whole column the first, and count the others."""
        parts = []
        for name in names[:SHOWN_CELLS]:
            cells, what, n_all = self.found[name]
            shown = cells.iloc[: 1 if is_whole else max(1, SHOWN_CELLS // len(names))]
            listed = ", ".join(f"{_shorten(text)!r} (row {row + 1})" for row, text in shown.items())
            rest = f" and {len(cells) - len(shown):,} more" if len(cells) > len(shown) else ""
            among = f"in place of {what}" if is_whole else f"among its {what.partition(' such as ')[0]}"
            parts.append(f"{name!r} holds {listed}{rest} {among} ({len(cells):,} of {n_all:,} cells)")
        n_left = len(names) - len(parts)
        return "; ".join(parts) + (f"; and cells of {count_of(n_left, 'more column')}" if n_left else "")


def _shorten(cell: Any) -> str:
    return str(cell) if len(str(cell)) <= encoding.SHOWN_TEXT else f"{str(cell)[: encoding.SHOWN_TEXT]}…"


def find_reading(values: Any, *, month_first: bool = False) -> Found | None:
    """Find how the texts, dates or times of a column become numbers; None if they are words, or numbers already."""
    import pandas as pd
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
    counted = present.value_counts()
    counts = counted.to_numpy()
    texts = pa.array([str(one).strip(" ") for one in counted.index], type=pa.large_string())
    looked_at, times = texts[:LOOKED_AT], counts[:LOOKED_AT] / counts[:LOOKED_AT].sum()
    candidates = _list_candidates(looked_at.to_pylist(), times, month_first=month_first)
    shares = [(1.0 - times[_find_unfit(looked_at, one)].sum(), one) for one in candidates]
    share, best = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if best is None or share < MEANT_SHARE - ROUNDING:
        best = PLAIN
        unread = pd.to_numeric(pd.Series(counted.index, dtype=object), errors="coerce").isna().to_numpy()
    else:
        unread, beside_plain = _find_unfit(texts, best), encoding.find_unread(texts, PLAIN)
        if best.kind == "number" and not beside_plain.any():
            return None  # a file of typed columns holds digits as text for a reason, such as codes
        best = PLAIN if best.kind == "number" and (unread == beside_plain).all() else best
    n_unread = counts[unread].sum()
    if n_unread > (1.0 - MEANT_SHARE) * len(present) + ROUNDING or (best == PLAIN and not n_unread):
        return None
    odd = values.isin(counted.index[unread]).to_numpy() if n_unread else None
    texts = texts.filter(pa.array(~unread))
    if best.is_moment:
        best = _find_step(texts, best)
    other = replace(best, order={"dmy": "mdy", "mdy": "dmy", "ymd": "ymd"}[best.order])
    is_ambiguous = other != best and not encoding.find_unread(texts, other).any()
    example = str(present.iloc[0] if odd is None else values[~odd].dropna().iloc[0])
    return Found(best, example.strip(" "), is_ambiguous, odd)


def _find_unfit(texts: Any, reading: ColumnParser) -> NDArray[np.bool_]:
    """Mark the texts that a reading cannot read, and bare numbers beside percentages, which may be shares."""
    import pyarrow.compute as pc

    unfit = encoding.find_unread(texts, reading)
    if reading.unit == "%":
        unfit |= ~pc.match_substring(texts, "%").fill_null(True).to_numpy(zero_copy_only=False)
    return unfit


def to_array(values: Any, name: str, table: str) -> Any:
    """Turn a column of a pandas frame into one Arrow array."""
    import pyarrow as pa

    try:
        array = pa.array(values, from_pandas=True)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(f"The column {name!r} of {table} holds values of several types: make them one.") from error
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


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
    cut = {text: own for text, own in zip(texts, encoding.cut_blanks(texts), strict=True) if own != text}
    if not cut:
        return None
    return values.map(lambda text: cut.get(text, text), na_action="ignore").astype(object).fillna(np.nan)


def describe_cut(columns: Sequence[str]) -> list[str]:
    """Name the columns whose blanks were cut, and how to undo it; nothing if of none."""
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
    fine = replace(reading, step="microsecond")
    exact = encoding.read_written(values, fine, "")
    for coarse in [replace(reading, step=step) for step in STEPS if (step, reading.kind) != ("day", "clock")]:
        if np.array_equal(encoding.read_written(values, coarse, ""), exact, equal_nan=True):
            return coarse
    return fine


class Taken(NamedTuple):
    """Rows of a table as a model takes them."""

    X: Any  # the columns that it was fitted on, in its order and of its types
    readings: dict[str, ColumnParser]  # of columns written as text or dates
    notes: list[str]  # what was found by looking, a sentence each


def take_rows(table: TableFile, tree: Tree, beside: Sequence[str] = (), kept: NDArray[np.bool_] | None = None) -> Taken:
    """Take the columns that a tree was fitted on, read as the numbers that it compares; ``beside`` are not for it.

    A tree with readings says how; of one without, such as a saved model, the columns of numbers are looked at, even
    those that the tree does not ask for: a pipeline takes them all. Blanks around texts are cut where no category of
    the tree has any. Cells that cannot be read are told of in one go.
    """
    import pandas as pd

    frame = find_columns(table, encoding.own_names(tree), tree.n_features, beside).copy(deep=False)
    readings: dict[str, ColumnParser] = {}
    found: dict[str, Found] = {}
    cut: list[str] = []
    unreadable = Unreadable(table.name, table.blank_unreadable)
    asked = set(tree.feature[~tree.is_leaf].tolist())
    for feature, column in enumerate(frame.columns):
        levels, kind, values = tree.categories[feature], table.kinds[column], frame[column]
        if kind == "text" and levels and encoding.cut_blanks(levels) == list(levels):
            if (without := cut_column(values)) is not None:
                frame[column], readings[column] = without, ColumnParser("text")
                cut += [column] if tree.column_parser(feature) is None else []
        elif kind in ("text", "date") and levels is None:
            reading, one = tree.column_parser(feature), None
            if reading is not None:
                one = Found(reading, "", odd=encoding.find_unread(to_array(values, column, table.name), reading))
            elif not tree.column_parsers:
                one = find_reading(values, month_first=table.month_first)
                found |= {column: one} if one is not None and not one.is_plain else {}
            if one is not None and (one.odd is None or feature in asked or reading is not None):
                unreadable.blank(column, values, one.odd if feature in asked else None, one.what)
                frame[column] = one.read(values, column, table.name)
                readings |= {} if one.is_plain else {column: one.reading}
        values = frame[column]
        if feature in asked and values.dtype.kind == "O" and not any(isinstance(one, str) for one in levels or ()):
            is_truth = bool(levels) and all(isinstance(one, bool) for one in levels or ())
            are_truths = values.map(encoding.as_truth, na_action="ignore").notna() | values.isna()
            numbers = pd.to_numeric(values, errors="coerce")
            odd = values.map(lambda one: isinstance(one, str)) & (is_truth | numbers.isna())
            odd &= ~are_truths if is_truth or are_truths.all() else True
            what = "truth values such as true" if is_truth else f"numbers such as {PLAIN.example}"
            blanked = unreadable.blank(column, values, odd.to_numpy(dtype=bool), what)
            frame[column] = numbers if not is_truth and (numbers.notna() | blanked.isna()).all() else blanked
    notes = [*describe_cut(cut), *describe_readings(found), *unreadable.settle()]
    rows = to_types(frame if kept is None else frame[kept], tree).reset_index(drop=True)
    unseen = [] if table.name == ROW else _describe_unseen(rows, tree, table.name)  # which its explanation says
    return Taken(rows, readings, [*notes, *unseen])


def find_columns(table: TableFile, names: Sequence[str] | None, n_columns: int | None, beside: Sequence[str]) -> Any:
    """Find the columns that a model was fitted on, by their names or, where it knows none, by their number if any."""
    if names is not None:
        present = list(table.frame.columns)
        absent = [name for name in names if name not in present]
        if absent and len(absent) == len(names):
            raise InputError(
                f"{table.name} has none of the columns that the model was fitted on ({shorten(names)}): is it another "
                "table?"
            )
        if absent:
            raise InputError(
                f"{table.name} does not fit the model: it has no column{'s' * (len(absent) > 1)} {shorten(absent)}, "
                f"which the model was fitted on.{did_you_mean(absent[0], present)}"
            )
        return table.frame[list(names)]
    rest = [column for column in table.frame.columns if column not in beside]
    if n_columns is not None and len(rest) != n_columns:
        raise InputError(
            f"The model was fitted on {n_columns} columns without names, but {table.name} has {len(rest)} "
            f"({shorten(rest)}): leave out those that are not for the model with --drop, and name the column of the "
            "classes with --target."
        )
    return table.frame[rest]


def _describe_unseen(rows: Any, tree: Tree, where: str) -> list[str]:
    """Say which columns of a table hold values that the tree does not know, and that these count as any other."""
    notes = []
    for feature, column in enumerate(rows.columns):
        levels = tree.categories[feature]
        if feature not in encoding.tested_features(tree) or levels is None or find_cuts(tree, feature) is not None:
            continue
        values = rows[column]
        strange = values[values.notna() & ~values.isin(list(levels))]
        if len(strange):
            example = strange.value_counts().index[0]
            notes.append(
                f"{len(strange):,} of {count_of(len(rows), 'row')} of {where} hold a value of {column} that the tree "
                f"does not know, such as {example!r}, and count as any other: it knows {shorten(levels)}."
                f"{did_you_mean(example, map(str, levels))}"
            )
    return notes


def to_types(frame: Any, tree: Tree) -> Any:
    """Give columns the types that the tree expects where that is safe: truth values and digits."""
    typed = frame.copy(deep=False)
    # Behind a pipeline, a column that no split asks for stays what the pipeline was fitted on.
    numbers = set(tree.feature[~tree.is_leaf].tolist()) if tree.columns is not None else set(range(tree.n_features))
    for feature, (column, levels) in enumerate(zip(frame.columns, tree.categories, strict=False)):
        values = frame[column]
        is_text = values.dtype.kind == "O"
        values = values.astype(object) if is_text else values
        if levels is None and is_text and feature in numbers:
            words = values.map(encoding.as_truth, na_action="ignore")
            if values.isna().all() or words.notna().equals(values.notna()):
                typed[column] = words.astype(np.float64)
        elif levels and all(isinstance(level, bool) for level in levels) and is_text:
            typed[column] = values.map(lambda value: encoding.as_truth(value, value), na_action="ignore")
        elif levels and all(isinstance(level, str) for level in levels) and values.dtype.kind in "ifb":
            typed[column] = values.astype(object).map(encoding.as_label, na_action="ignore")
    return typed


def write_labels(model: Any, rows: Any) -> Any:
    """Write numbers as texts where an encoder of a pipeline knows texts, such as codes that no split asks for."""
    typed = rows.copy(deep=False)
    for _, step in getattr(model, "steps", ())[:-1]:
        for _, encoder, columns in getattr(step, "transformers_", ()):
            for column, levels in zip(columns, getattr(encoder, "categories_", ()), strict=False):
                is_text = any(isinstance(level, str) for level in levels)
                if is_text and column in typed and typed[column].dtype.kind in "if":
                    typed[column] = typed[column].astype(object).map(encoding.as_label, na_action="ignore")
    return typed


def parse_row(
    tree: Tree, given: Mapping[str, Any], *, missing: Sequence[str] = (), **how: Any
) -> tuple[dict[str, Any], list[str]]:
    """Read values of a row as a CSV file's are read, with notes; columns that no split asks for may hold anything."""
    import pandas as pd

    names = encoding.own_names(tree) or [tree.feature_name(feature) for feature in range(tree.n_features)]
    strange = [name for name in given if name not in names]
    if strange:
        hint = did_you_mean(strange[0], names)
        raise InputError(f"The rules know no column {strange[0]!r}.{hint} Their columns are {shorten(names)}.")
    is_derived = tree.columns is not None and tree.columns.derived  # from any of the columns
    asked = range(len(names)) if is_derived else encoding.tested_features(tree)
    cells = {name: given[name] for f, name in enumerate(names) if f in asked and given.get(name) is not None}
    written = {name: f"c{place}" for place, name in enumerate(cells)}  # a name in a file has no blanks around it
    text = [written[name] for name in encoding.find_texts(tree) if name in written]
    with make_room() as room:
        with (room / "row").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t").writerows([["row", *written.values()], [1, *cells.values()]])
        read = read_table(room / "row", format="tsv", header=True, missing=missing, text=text)
    frame = pd.DataFrame({name: read.frame[written[name]] if name in written else [np.nan] for name in names})
    kinds = {name: read.kinds[written[name]] if name in written else "empty" for name in names}
    rows, _, notes = take_rows(TableFile(ROW, frame, kinds, (), **how), tree)
    taken = {name: rows[name].astype(object).iloc[0] for name in given}
    return {name: None if encoding.is_missing(value) else value for name, value in taken.items()}, notes
