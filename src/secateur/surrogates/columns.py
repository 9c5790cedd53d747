"""Rows of any columns, twice: as the model takes them, and as codes that a tree is grown on.

A number becomes its rank among the values of the rows to learn from, so that a tree is grown the same on any
scale, and every limit lies between two values that occurred. A text, a truth value and a category become one code for
each of the commonest values; all others count as one. Dates, lists and the like are shown to the model alone.

A neighbour of a row takes some of its columns from other rows. It is described by the row that each column comes from,
so both forms of it are gathered, and a column's type and values stay what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.pipelines.probe import take_rows
from secateur.errors import InputError
from secateur.frames import check_unique, frame_columns
from secateur.rows.encoding import as_objects, is_missing
from secateur.tree.tree import Label

MAX_CATEGORIES = 20  # values of a column that are told apart, the commonest


class Table:
    """Rows as a model takes them: an array, or a data frame."""

    def __init__(self, native: Any, names: tuple[str, ...] | None) -> None:
        self.native = native
        self.names = names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.native)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.native.shape[1])

    def take(self, rows: NDArray[np.int64]) -> Table:
        """Take some rows, in this order."""
        return Table(take_rows(self.native, rows), self.names)

    def pick(self, names: Sequence[str]) -> Table:
        """Pick columns by name, in this order."""
        import narwhals as nw

        return Table(nw.from_native(self.native, eager_only=True)[list(names)].to_native(), tuple(names))

    def copy(self) -> Any:
        """Copy the rows for a model: what it changes in them, such as a column that it adds, stays there."""
        if self.names is None or _is_pandas(self.native):
            return self.native.copy()
        import narwhals as nw

        return nw.from_native(self.native, eager_only=True).clone().to_native()

    def mix(self, sources: NDArray[np.int64]) -> Table:
        """Make rows whose columns come from different rows; ``sources`` has a column for each."""
        if self.names is None:
            return Table(self.native[sources, np.arange(self.n_columns)], None)
        if _is_pandas(self.native):
            import pandas as pd

            columns = [
                self.native.iloc[:, place].iloc[sources[:, place]].reset_index(drop=True)
                for place in range(self.n_columns)
            ]
            mixed = pd.concat(columns, axis=1)
            mixed.columns = self.native.columns
            return Table(mixed, self.names)
        import narwhals as nw

        frame = nw.from_native(self.native, eager_only=True)
        gathered = {
            name: frame[name].gather_every(1)[sources[:, place].tolist()] for place, name in enumerate(frame.columns)
        }
        return Table(nw.from_dict(gathered, backend=frame.implementation).to_native(), self.names)

    def column(self, place: int) -> NDArray[Any]:
        """Read a column as numbers with NaN, or as objects."""
        if self.names is None:
            values: NDArray[Any] = self.native[:, place]
            return values if values.dtype.kind != "O" else _read_objects(values)
        import narwhals as nw

        series = nw.from_native(self.native, eager_only=True)[:, place]
        if series.dtype.is_numeric() and not series.dtype.is_decimal():
            numbers = series.cast(nw.Float64) if series.is_null().any() else series
            found: NDArray[Any] = numbers.to_numpy()
            return found if found.dtype.kind in "fiu" else found.astype(np.float64)
        if series.dtype.is_decimal():
            return np.array([np.nan if value is None else float(value) for value in series.to_list()])
        objects = as_objects(series.to_list())
        return objects if series.dtype != nw.Object else _read_objects(objects)


def open_table(X: Any, what: str = "X") -> Table:
    """Open rows in memory; reject what is neither an array nor a data frame."""
    names = frame_columns(X)
    if names is not None:
        check_unique(names, what)
        return Table(X, tuple(names))
    if hasattr(X, "tocsr"):
        raise InputError(f"Expected {what} as an array or data frame, found a sparse matrix: pass {what}.toarray().")
    try:
        matrix = np.asarray(X)
    except ValueError as error:
        raise InputError(
            f"Expected {what} as a table, with the same number of values in each row, found a {type(X).__name__} whose "
            "parts differ in length."
        ) from error
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InputError(f"Expected {what} with rows and columns, found an array of shape {matrix.shape}.")
    if matrix.dtype.kind in "US":
        matrix = matrix.astype(object)
    return Table(matrix, None)


class ColumnCoding(NamedTuple):
    """How the values of a column become codes."""

    kind: str  # "number", "category" or "other"
    values: NDArray[np.float64]  # of numbers: those that occurred, increasing
    labels: tuple[Label, ...]  # of categories: the commonest, in the order of their codes
    holds_missing: bool  # whether some row, of those to learn from or of the others, has no value here

    def encode(self, column: NDArray[Any]) -> NDArray[np.float32]:
        """Give the columns of codes of some rows: one of ranks, or one of zeros and ones for each category."""
        if self.kind == "number":
            numbers = column.astype(np.float64)
            ranks = np.searchsorted(self.values, numbers, side="left").astype(np.float32)
            ranks[np.isnan(numbers)] = np.nan
            return ranks[:, None]
        if self.kind == "other":
            return np.zeros((len(column), 0), dtype=np.float32)
        place = {label: code for code, label in enumerate(self.labels)}
        codes = np.array([_find_code(place, value) for value in column.tolist()], dtype=np.int64)
        return np.column_stack(
            [codes == (MISSING if category == len(self.labels) else category) for category in self.told]
        ).astype(np.float32)

    @property
    def told(self) -> tuple[int, ...]:
        """The codes of categories that have a column; the number of categories for "missing"."""
        named = (1,) if self.labels == (False, True) else range(len(self.labels))
        return (*named, *([len(self.labels)] if self.holds_missing else []))


MISSING, UNLISTED = -1, -2


def _find_code(place: dict[Any, int], value: Any) -> int:
    if is_missing(value):
        return MISSING
    try:
        return place.get(value, UNLISTED)
    except TypeError:  # lists and the like
        return UNLISTED


@dataclass(frozen=True)
class Coding:
    """How the columns of rows become those that a tree is grown on."""

    columns: tuple[ColumnCoding, ...]
    features: NDArray[np.int64]  # the column of the rows that each column of codes comes from
    # The code of the category that a column of codes is about; the number of categories for "missing", -1 for ranks.
    categories: NDArray[np.int64]

    def encode(self, table: Table) -> NDArray[np.float32]:
        """Give the codes of rows, column after column."""
        parts = [one.encode(table.column(place)) for place, one in enumerate(self.columns) if one.kind != "other"]
        width = len(self.features)
        return np.column_stack(parts) if parts else np.zeros((table.n_rows, width), dtype=np.float32)

    def mix(self, codes: NDArray[np.float32], sources: NDArray[np.int64]) -> NDArray[np.float32]:
        """Give the codes of rows whose columns come from different rows."""
        mixed = np.empty((len(sources), codes.shape[1]), dtype=np.float32, order="F")
        for place, feature in enumerate(self.features.tolist()):
            mixed[:, place] = codes[sources[:, feature], place]
        return mixed

    @property
    def is_numeric(self) -> bool:
        """Whether all columns hold numbers."""
        return all(one.kind == "number" for one in self.columns)


def code_columns(building: Table, others: Sequence[Table]) -> Coding:
    """Settle the codes by the rows to learn from; the others only tell whether a column may hold a blank."""
    columns = []
    for place in range(building.n_columns):
        values = [table.column(place) for table in (building, *others)]
        name = f"x{place}" if building.names is None else building.names[place]
        if any(some.dtype.kind == "f" and np.isinf(some).any() for some in values):
            raise InputError(f"Column {name!r} of X holds an infinite value: replace it, or leave its rows out.")
        if not all(_is_alike(values[0], some) for some in values[1:]):
            raise InputError(
                f"Column {name!r} of held_out holds other values than that of X, such as texts where X has numbers: "
                "pass both as the model takes them."
            )
        columns.append(_code_column(values[0], values[1:]))
    features: list[int] = []
    categories: list[int] = []
    for place, one in enumerate(columns):
        coded = [-1] if one.kind == "number" else one.told if one.kind == "category" else []
        features += [place] * len(coded)
        categories += coded
    return Coding(tuple(columns), np.array(features, dtype=np.int64), np.array(categories, dtype=np.int64))


def _is_alike(column: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether values can be compared: numbers with numbers, truth values with truth values; a blank fits anything."""
    if column.dtype.kind in "fiu":
        return other.dtype.kind in "fiub" or all(is_missing(one) or isinstance(one, (bool, int)) for one in other)
    if all(is_missing(one) or isinstance(one, (bool, np.bool_)) for one in column):
        return all(is_missing(one) or one in (False, True) for one in other)
    return True


def _code_column(column: NDArray[Any], others: Sequence[NDArray[Any]]) -> ColumnCoding:
    nothing = np.zeros(0)
    if column.dtype.kind in "fiu":
        values = np.unique(column.astype(np.float64))
        blank = any(bool(np.isnan(some.astype(np.float64)).any()) for some in (column, *others))
        return ColumnCoding("number", values[np.isfinite(values)], (), blank)
    if column.dtype.kind == "b":
        return ColumnCoding("category", nothing, (False, True), False)
    counted: dict[Any, int] = {}
    has_blank = any(is_missing(value) for some in others for value in some.tolist())
    for value in column.tolist():
        if is_missing(value):
            has_blank = True
        elif isinstance(value, (str, bool, int, float)):
            counted[value] = counted.get(value, 0) + 1
        else:  # a date, a list: rules have no words for it
            return ColumnCoding("other", nothing, (), False)
    if len({type(value) for value in counted}) > 1:
        return ColumnCoding("other", nothing, (), False)
    if counted.keys() <= {False, True} and all(isinstance(value, bool) for value in counted):
        return ColumnCoding("category", nothing, (False, True), has_blank)
    common = sorted(counted, key=lambda value: (-counted[value], value))[:MAX_CATEGORIES]
    return ColumnCoding("category", nothing, tuple(sorted(common)), has_blank)


def _read_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Read objects as numbers where all of them are."""
    listed = values.tolist()
    if all(is_missing(value) or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in listed):
        return np.array([np.nan if is_missing(value) else float(value) for value in listed])
    return values


def _is_pandas(native: Any) -> bool:
    return type(native).__module__.split(".")[0] == "pandas"
