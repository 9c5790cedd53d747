"""Read record batches in a tree's own terms: rows, class indices and weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from secateur.errors import InputError
from secateur.facts.checking import check_facts
from secateur.facts.stating import whole_by_dtype
from secateur.kernels.threads import map_stream
from secateur.rows.checking import check_finite, check_labels, check_rows, check_weights
from secateur.rows.encoding import check_whole, read_column, read_source, rounds_twice
from secateur.rows.labels import as_truth, to_label_types
from secateur.rows.rows import LabelledRows, Rows
from secateur.rows.table_columns import derives, read_features

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from numpy.typing import NDArray

    from secateur.rows.source import Source
    from secateur.tree.tree import Tree

__all__ = ["BatchReader"]

Result = TypeVar("Result")

# Rows times features of the matrix that a batch becomes.
MOST_CELLS = 1 << 26


@dataclass(frozen=True)
class BatchReader:
    """Reads the batches of a table for a tree that names the table's columns."""

    tree: Tree
    source: Source
    y: str | None = None  # the column of the labels
    weight: str | None = None  # the column of the weights
    checks_facts: bool = False  # whether to refuse a row that contradicts a fact of the tree
    features: Collection[int] | None = None  # those to read, by default those that the tree asks for

    @property
    def columns(self) -> list[str]:
        """The columns to read: those of the features, labels and weights."""
        beside = [name for name in (self.y, self.weight) if name is not None]
        return list(dict.fromkeys([*self._features.values(), *beside]))

    def map(self, work: Callable[[LabelledRows], Result]) -> Iterator[Result]:
        """Work on the labelled rows of each batch, in several threads; results come in the order of the rows."""
        return self._map(lambda batch, first: work(self._read_labelled(batch, first)), self.columns)

    def map_weighted(self, work: Callable[[Rows, NDArray[np.float64] | None], Result]) -> Iterator[Result]:
        """Work on the rows of each batch and their weights, in several threads, as :meth:`map` does."""
        return self._map(
            lambda batch, first: work(self._read_rows(batch, first), self._read_weights(batch, first)), self.columns
        )

    def map_rows(self, work: Callable[[Any, Rows], Result], columns: list[str] | None = None) -> Iterator[Result]:
        """Work on the rows of each batch and on the batch itself, of these columns or of those to read."""
        chosen = self.columns if columns is None else columns
        return self._map(lambda batch, first: work(batch, self._read_rows(batch, first)), chosen)

    def _map(self, work: Callable[[Any, int], Result], columns: list[str]) -> Iterator[Result]:
        if derives(self.tree):
            return starmap(work, self._batches(columns))  # the steps of a pipeline are not made for threads
        return map_stream(lambda pair: work(*pair), self._batches(columns))

    def _batches(self, columns: list[str]) -> Iterator[tuple[Any, int]]:
        """Cut batches to a size that suits a tree of many features; give the number of the first row with each."""
        step = max(1, MOST_CELLS // max(1, self.tree.n_features))
        n_rows = 0
        for batch in self.source.read(columns):
            for first in range(0, batch.num_rows, step):
                yield batch.slice(first, step), n_rows + first
            n_rows += batch.num_rows
        if n_rows == 0:
            raise self.source.refuse_empty()

    def _read_labelled(self, batch: Any, first: int) -> LabelledRows:
        rows, named = self._read_rows(batch, first), f"The column {self.y!r} of {self.source.inner_name}"
        labels = _read_labels(self.tree, batch.column(self.y), first, named)
        return LabelledRows(rows, labels, self._read_weights(batch, first))

    def _read_weights(self, batch: Any, first: int) -> NDArray[np.float64] | None:
        if self.weight is None:
            return None
        named = f"The column {self.weight!r} of {self.source.inner_name}"
        return _read_weights(batch.column(self.weight), batch.num_rows, named, first)

    def _read_rows(self, batch: Any, first: int) -> Rows:
        tree, name = self.tree, self.source.name
        if derives(tree):  # the pipeline itself must see its rows
            frame = batch.select(list(self._features.values())).to_pandas()
            rows = check_rows(tree, frame, name=name, first=first)
        else:
            # Pages of columns that are not read are never touched, so they take no memory.
            matrix = np.zeros((batch.num_rows, tree.n_features), dtype=tree.dtype, order="F")
            is_finite = True
            with np.errstate(over="ignore", invalid="ignore"):  # the sum of a column shows whether it is finite
                for feature, column in self._features.items():
                    matrix[:, feature] = _read_feature(tree, batch.column(column), column, feature, first, name)
                    is_finite &= bool(np.isfinite(matrix[:, feature].sum()))
            rows = Rows.of(matrix)
            if not is_finite:
                check_finite(tree, rows, name, first=first, among=np.array(list(self._features), dtype=np.int64))
        if self.checks_facts:
            check_facts(tree, rows, typed=self._typed, name=name, first_row=first)
        return rows

    @cached_property
    def _features(self) -> dict[int, str]:
        """The features to read, and their columns."""
        return {f: (self.tree.feature_names or ())[f] for f in read_features(self.tree, self.features)}

    @cached_property
    def _typed(self) -> dict[int, bool]:
        return whole_by_dtype(self.tree, self.source.schema.empty_table())


def _read_feature(tree: Tree, column: Any, name: str, feature: int, first: int, what: str) -> NDArray[Any]:
    """Read a column of a batch as numbers or codes, which are cast to the tree's dtype like rows in memory."""
    import pyarrow as pa

    is_number = _is_number(column.type)
    levels = tree.categories[feature]
    if levels is None and is_number and tree.columns is None:
        numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        if rounds_twice(tree):
            check_whole(numbers, name, what, first)
        if numbers.dtype.kind in "iub" or (numbers.dtype.kind == "f" and pa.types.is_floating(column.type)):
            return numbers  # whole numbers with blanks would be rounded twice
    by_cell = tree.columns is not None and tree.columns.cuts[feature] is not None
    if is_number and (levels is None or by_cell):
        return _to_terms(tree, column, name, feature, first, what)
    values, place = _find_distinct(column)
    try:
        return _to_terms(tree, _find_truths(values, levels), name, feature, first, what)[place]
    except InputError:
        _to_terms(tree, column, name, feature, first, what)  # which names the row
        raise


def _to_terms(tree: Tree, column: Any, name: str, feature: int, first: int, what: str) -> NDArray[Any]:
    import narwhals as nw
    import pyarrow as pa

    series = nw.from_native(pa.table({name: column}))[name]
    if tree.columns is None:
        return read_column(tree, series, feature, what, first=first)
    return read_source(tree, tree.columns, series, feature, first, what)


def _find_distinct(column: Any) -> tuple[Any, NDArray[np.int64]]:
    """Find the different values of a column, a blank behind them, and the place of each row's value."""
    import pyarrow as pa

    if pa.types.is_string_view(column.type):  # which has fewer functions
        column = column.cast(pa.large_string())
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    values = encoded.dictionary
    place = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return pa.concat_arrays([values, pa.nulls(1, values.type)]), place


def _find_truths(values: Any, levels: Any) -> Any:
    """Read texts as truth values if all of them are, and the tree asks for such; else leave them as they are."""
    import pyarrow as pa

    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    is_asked = levels is None or all(isinstance(level, bool) for level in levels)
    if not is_text or not is_asked:
        return values
    words = [as_truth(value) for value in values.to_pylist() if value is not None]
    return values if None in words else pa.array([*words, None], pa.bool_())


def _is_number(dtype: Any) -> bool:
    import pyarrow as pa

    return any(is_kind(dtype) for is_kind in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean))


def _read_labels(tree: Tree, column: Any, first: int, name: str) -> NDArray[np.int64]:
    """Find the class index of each label; texts may stand for numbers, and numbers for texts."""
    import pyarrow as pa

    if pa.types.is_integer(column.type) and not column.null_count and tree.classes.dtype.kind in "iu":
        return check_labels(tree, column.to_numpy(), len(column), name=name, first=first)
    values, place = _find_distinct(column)
    used = np.unique(place)
    codes = np.full(len(values), -1, dtype=np.int64)
    try:
        codes[used] = check_labels(tree, _as_labels(values.take(pa.array(used)), tree), len(used), name=name)
    except InputError:
        check_labels(tree, _as_labels(column, tree), len(column), name=name, first=first)  # which names the row
        raise
    return codes[place]


def _as_labels(values: Any, tree: Tree) -> NDArray[Any]:
    listed = np.empty(len(values), dtype=object)
    listed[:] = values.to_pylist()
    return to_label_types(listed, tree.classes.tolist())


def _read_weights(column: Any, n_rows: int, name: str, first: int) -> NDArray[np.float64] | None:
    import pyarrow as pa

    if not _is_number(column.type) and not pa.types.is_decimal(column.type):
        raise InputError(f"{name} holds {column.type}, but weights are numbers.")
    if column.null_count:
        row = column.is_null().to_numpy(zero_copy_only=False).argmax()
        raise InputError(f"{name} has a blank (row {first + row}): every row needs a weight.")
    return check_weights(column.to_numpy(zero_copy_only=False), n_rows, is_part=True, name=name, first=first)
