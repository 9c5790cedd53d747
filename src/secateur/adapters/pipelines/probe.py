"""Ask a preprocessor questions by sending it rows: tables like the user's own, with chosen values in chosen columns.

A probe has the library, the column names and the types of the rows that the pipeline takes, because steps select
columns by name and compute in the type of their input. Only the columns that a question is about vary; the others
repeat one row that the pipeline is known to take.
"""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, UnsupportedModelError
from secateur.frames import frame_columns
from secateur.rows.encoding import is_missing

# Cells of one encoded block; one-hot columns of many categories make rows wide.
BLOCK_CELLS = 20_000_000
BLOCK_ROWS = 1 << 16
SEARCHED_ROWS = 10_000  # rows searched for one without missing values, and for the numbers of a column


@dataclass(frozen=True)
class Encoder:
    """Run the steps before the tree on rows, and keep only the columns asked for."""

    preprocessor: Any
    width: int  # number of columns that it makes
    dtype: str  # what the tree behind rounds a value to

    def __call__(self, rows: Any, places: Sequence[int]) -> NDArray[np.float64]:
        """Return some columns of the encoded rows, rounded as the tree rounds them; shape (n_rows, n_places)."""
        size = max(1, min(BLOCK_ROWS, BLOCK_CELLS // max(1, self.width)))
        n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        starts = range(0, n_rows, size)
        blocks = [
            self._encode(rows if len(starts) == 1 else take_rows(rows, np.arange(start, min(start + size, n_rows))))
            for start in starts
        ]
        return np.vstack([self._pick(block, places) for block in blocks])

    def _encode(self, rows: Any) -> Any:
        import joblib

        # Probes hold extreme values on purpose, and processes would cost more than they save.
        with warnings.catch_warnings(), np.errstate(all="ignore"), joblib.parallel_config(backend="sequential"):
            warnings.simplefilter("ignore")
            return self.preprocessor.transform(rows)

    def is_sparse(self, rows: Any) -> bool:
        """Tell whether the steps make a sparse matrix of rows."""
        return hasattr(self._encode(rows), "tocsc")

    def _pick(self, encoded: Any, places: Sequence[int]) -> NDArray[np.float64]:
        check_width(encoded.shape[1], self.width)
        chosen = np.asarray(places, dtype=np.int64)
        with np.errstate(over="ignore"):
            if hasattr(encoded, "tocsc"):
                return encoded.tocsc()[:, chosen].toarray().astype(self.dtype).astype(np.float64)  # type: ignore[no-any-return]
            if frame_columns(encoded) is not None:
                import narwhals as nw

                frame = nw.from_native(encoded, eager_only=True)
                picked = [frame[:, int(place)] for place in chosen]  # truth values with blanks would be objects
                cast = [column.cast(nw.Float64) if column.dtype == nw.Boolean else column for column in picked]
                columns = [column.to_numpy().astype(self.dtype) for column in cast]
                return np.column_stack(columns).astype(np.float64) if columns else np.empty((len(frame), 0))
            return np.asarray(encoded)[:, chosen].astype(self.dtype).astype(np.float64)


def check_width(made: int, expected: int) -> None:
    """Reject steps that make another number of columns than the tree was fitted on."""
    if made != expected:
        raise UnsupportedModelError(
            f"The steps before the tree make {made} columns, but the tree was fitted on {expected}. Fit the pipeline "
            "as a whole."
        )


def find_rejected(columns: Sequence[int], ask: Callable[[Sequence[int]], object]) -> list[int]:
    """Find the columns for which a question makes the preprocessor raise, by halving."""
    if not len(columns):
        return []
    try:
        ask(columns)
    except Exception:  # a step may reject a value in any way
        if len(columns) == 1:
            return list(columns)
        half = len(columns) // 2
        return find_rejected(columns[:half], ask) + find_rejected(columns[half:], ask)
    return []


def take_rows(X: Any, chosen: NDArray[np.int64]) -> Any:
    """Take some rows, in the library that they came in."""
    if frame_columns(X) is None:
        return np.asarray(X)[chosen]
    import narwhals as nw

    return nw.from_native(X, eager_only=True)[chosen.tolist()].to_native()


@dataclass(frozen=True)
class Sample:
    """Rows that a pipeline takes, as an array or a narwhals frame of at least one row."""

    table: Any
    base: int  # the row that probes repeat
    is_real: bool  # the rows are the user's own, and not made up

    @property
    def is_frame(self) -> bool:
        """Tell whether the rows are a data frame."""
        return not isinstance(self.table, np.ndarray)

    def kind(self, column: int) -> np.dtype[Any] | None:
        """Find the type of a column's numbers; None where it holds none."""
        if not self.is_frame:
            if self.table.dtype != object:
                return self.table.dtype if self.table.dtype.kind in "fiub" else None
            return _number_kind(self.table[:SEARCHED_ROWS, column].tolist())
        import narwhals as nw

        series = self.table[:, column]
        if column in self.blank_whole:
            return np.dtype(np.float64)
        if series.dtype == nw.Boolean:
            return np.dtype(bool)
        if series.dtype.is_integer() or series.dtype in (nw.Float32, nw.Float64):
            return np.dtype(str(series.dtype).lower())
        if series.dtype.is_decimal():
            return np.dtype(np.float64)
        return _number_kind(series.head(SEARCHED_ROWS).to_list()) if series.dtype == nw.Object else None

    @cached_property
    def blank_whole(self) -> frozenset[int]:
        """List the columns of whole numbers with blanks: to a pipeline, which sees an array, they are doubles."""
        if not self.is_frame:
            return frozenset()
        return frozenset(
            column
            for column, series in enumerate(self.table.iter_columns())
            if series.dtype.is_integer() and bool(series.is_null().any())
        )

    def numbers(self, column: int) -> NDArray[np.float64]:
        """Return the finite numbers of a column."""
        step = max(1, len(self.table) // SEARCHED_ROWS)
        values = self.table[::step, column] if not self.is_frame else self.table[::step][:, column]
        if self.is_frame:
            import narwhals as nw

            native = values.to_numpy()
            values = native if native.dtype.kind in "fiubO" else values.cast(nw.Float64).to_numpy()
        if values.dtype == object:
            values = np.array([np.nan if is_missing(value) else value for value in values.tolist()])
        floats: NDArray[np.float64] = values.astype(np.float64)
        return floats[np.isfinite(floats)] if self.is_real else floats[:0]

    def markers(self, column: int) -> list[Any]:
        """List what stands for a missing value in a column: what the rows hold first, then what else could."""
        nan = float("nan")
        if not self.is_frame:
            held = self.table[:, column].tolist() if self.table.dtype == object else []
            return _order_markers([nan, None] if self.table.dtype == object else [nan], held)
        series = self.table[:, column]
        if self.table.implementation.is_pandas_like():
            # Of objects that are texts, narwhals says that they are texts; only objects can be None and NaN.
            holds_objects = str(self.table.to_native().dtypes.iloc[column]) == "object"
            first = series.filter(series.is_null()).head(1)  # of a million texts, no other is looked at
            return _order_markers([nan, None], first.to_list()) if holds_objects else [nan]
        markers = [None, nan] if bool(series.is_null().any()) else [nan, None]
        return markers if series.dtype.is_float() else [None]

    def label(self, column: int) -> Any:
        """Return a value of a column."""
        values = self.table[:, column].tolist() if not self.is_frame else self.table[:, column].to_list()
        return next((value for value in values if not is_missing(value)), None)

    def build(self, varied: Mapping[int, Sequence[Any] | NDArray[Any]], n_rows: int) -> Any:
        """Build rows in which some columns vary and the others repeat the base row."""
        if not self.is_frame:
            return self._build_array(varied, n_rows)
        if self.table.implementation.is_pandas_like():
            return self._build_pandas(varied, n_rows)
        import narwhals as nw

        frame = self.table[[self.base] * n_rows]
        as_double = [nw.col(self.table.columns[column]).cast(nw.Float64) for column in self.blank_whole]
        frame = frame.with_columns(*as_double) if as_double else frame
        backend = self.table.implementation
        made = []
        for column, values in varied.items():
            name, dtype = self.table.columns[column], self.table[:, column].dtype
            listed = values if isinstance(values, np.ndarray) else list(values)
            try:
                whole = dtype.is_integer() or dtype == nw.Boolean
                is_double = column in self.blank_whole
                if is_double or (isinstance(values, np.ndarray) and values.dtype.kind == "f" and whole):
                    made.append(nw.new_series(name, listed, nw.Float64, backend=backend))
                elif dtype in (nw.Categorical, nw.Enum):
                    made.append(nw.new_series(name, listed, nw.String, backend=backend).cast(nw.Categorical()))
                else:
                    made.append(nw.new_series(name, listed, dtype, backend=backend))
            except Exception:  # a type that cannot hold the value
                made.append(nw.new_series(name, listed, backend=backend))
        return frame.with_columns(*made).to_native()

    def _build_array(self, varied: Mapping[int, Sequence[Any] | NDArray[Any]], n_rows: int) -> NDArray[Any]:
        table = self.table
        dtype = table.dtype
        if dtype.kind in "iub" and any(np.asarray(values).dtype.kind in "fO" for values in varied.values()):
            dtype = np.dtype(np.float64)  # a missing value among whole numbers
        if dtype.kind in "US" and any(is_missing(value) for values in varied.values() for value in list(values)[:1]):
            dtype = np.dtype(object)
        longest = [len(str(value)) for values in varied.values() for value in values] if dtype.kind == "U" else []
        if longest:
            dtype = np.dtype(f"U{max(dtype.itemsize // 4, *longest, 1)}")
        rows = np.empty((n_rows, table.shape[1]), dtype=dtype)
        rows[:] = table[self.base]
        for column, values in varied.items():
            rows[:, column] = values
        return rows

    def _build_pandas(self, varied: Mapping[int, Sequence[Any] | NDArray[Any]], n_rows: int) -> Any:
        pandas = self.table.implementation.to_native_namespace()
        native = self.table.to_native()
        frame = native.iloc[np.full(n_rows, self.base)].reset_index(drop=True)
        for column in self.blank_whole:
            frame.isetitem(column, frame.iloc[:, column].astype(np.float64))
        for column, values in varied.items():
            dtype = native.dtypes.iloc[column]
            frame.isetitem(column, _as_series(pandas, values, np.dtype(float) if column in self.blank_whole else dtype))
        return frame


def _as_series(pandas: Any, values: Any, dtype: Any) -> Any:
    """Make a pandas column of a type, or of the nearest one that holds the values."""
    if str(dtype) == "category":
        return pandas.Series(list(values), dtype=object).astype("category")
    if isinstance(values, np.ndarray) and values.dtype.kind == "f" and getattr(dtype, "kind", "O") in "iub":
        return pandas.Series(values)  # fractions between whole numbers
    holds_missing = not isinstance(values, np.ndarray) and any(is_missing(value) for value in values)
    if holds_missing and isinstance(dtype, np.dtype) and dtype.kind in "iub":
        return pandas.Series(values, dtype=object if dtype.kind == "b" else np.float64)
    try:
        return pandas.Series(values, dtype=dtype)
    except (TypeError, ValueError):
        return pandas.Series(values)


def _number_kind(values: list[Any]) -> np.dtype[Any] | None:
    """Return float64 where objects are all numbers, else None."""
    held = [value for value in values if not is_missing(value)]
    plain = all(isinstance(value, (int, float, np.number, np.bool_)) for value in held)
    return np.dtype(np.float64) if held and plain else None


def _order_markers(markers: list[Any], values: list[Any]) -> list[Any]:
    held = next((value for value in values if is_missing(value)), markers[0])
    return [held, *(one for one in markers if type(one) is not type(held))]


@dataclass(frozen=True)
class Probe:
    """Rows like the user's own, and the steps that they are sent through."""

    sample: Sample
    encoder: Encoder

    def ask_rows(self, varied: Mapping[int, NDArray[Any]], places: Sequence[int]) -> dict[int, NDArray[np.float64]]:
        """Encode rows in which some columns vary; shorter ones repeat their last value."""
        from sklearn import config_context

        n_rows = max(len(values) for values in varied.values())
        padded = {
            column: np.concatenate([values, np.repeat(values[-1:], n_rows - len(values))])
            for column, values in varied.items()
        }
        with config_context(assume_finite=True):  # infinite values pass between two steps
            encoded = self.encoder(self.sample.build(padded, n_rows), places)
        return {place: encoded[:, number] for number, place in enumerate(places)}

    def try_values(self, values: Mapping[int, Any], places: Sequence[int]) -> tuple[list[int], dict[int, float]]:
        """Put a value into each column; return the columns that take theirs, and the encoded columns of these."""

        def ask(columns: Sequence[int]) -> NDArray[np.float64]:
            return self.encoder(self.sample.build({column: [values[column]] for column in columns}, 1), places)

        rejected = set(find_rejected(list(values), ask))
        taken = [column for column in values if column not in rejected]
        return taken, dict(zip(places, ask(taken)[0].tolist(), strict=True)) if taken else {}


def make_sample(X: Any, names: Sequence[str] | None, made_up: Sequence[Any]) -> Sample:
    """Take the user's rows, or one row of made-up values where there are none."""
    if X is None:
        return Sample(_make_up(names, made_up), 0, False)
    if frame_columns(X) is not None:
        import narwhals as nw

        try:
            frame = nw.from_native(X, eager_only=True)
        except TypeError as error:
            raise InputError(f"Expected X as an array or an eager data frame: {error}.") from error
        if not len(frame):
            raise InputError("X has no rows; at least one is needed.")
        head = frame.head(SEARCHED_ROWS)
        blank = np.column_stack([np.asarray(_blank_cells(column)) for column in head.iter_columns()])
        return Sample(frame, int(blank.sum(axis=1).argmin()), True)
    if hasattr(X, "toarray"):
        raise InputError("X is a sparse matrix; pass X.toarray().")
    try:
        table = np.asarray(X)
    except ValueError as error:
        raise InputError(f"Expected X as a table: {error}.") from error
    if table.ndim != 2 or not len(table):
        raise InputError(f"Expected X with two dimensions (rows × columns) and a row at least, found {table.shape}.")
    head = table[:SEARCHED_ROWS]
    if table.dtype == object:
        blank = np.array([[is_missing(value) for value in row] for row in head.tolist()])
    else:
        blank = np.isnan(head) if table.dtype.kind == "f" else np.zeros(head.shape, dtype=bool)
    return Sample(table, int(blank.sum(axis=1).argmin()), True)


def _blank_cells(column: Any) -> NDArray[np.bool_]:
    blank = column.is_null().to_numpy()
    return blank | column.is_nan().fill_null(True).to_numpy() if column.dtype.is_float() else blank  # type: ignore[no-any-return]


def _make_up(names: Sequence[str] | None, values: Sequence[Any]) -> Any:
    if names is None:
        plain = all(isinstance(value, float) for value in values)
        return np.array([list(values)], dtype=np.float64 if plain else object)
    import narwhals as nw

    # Rather the library that is in use already.
    library = import_module("polars" if "polars" in sys.modules and "pandas" not in sys.modules else "pandas")

    columns = {name: [value] for name, value in zip(names, values, strict=True)}
    return nw.from_native(library.DataFrame(columns), eager_only=True)
