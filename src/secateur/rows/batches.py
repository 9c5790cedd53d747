"""Record batches in a tree's own terms: rows, class indices and weights."""

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
from secateur.rows.checking import asked_features, check_finite, check_labels, check_rows, check_weights
from secateur.rows.encoding import read_column, read_source
from secateur.rows.labels import as_truth, to_label_types
from secateur.rows.rows import LabelledRows, Rows

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
    """How the batches of a table are read for a tree.

    Attributes
    ----------
    tree : Tree
        With the names of the table's columns.
    source : Source
    y, weight : str or None
        The columns of the labels and of the weights.
    checks_facts : bool
        Whether a row that contradicts a fact of the tree is refused.
    features : collection of int, default=None
        The features that are read; by default those that the tree asks for.
    """

    tree: Tree
    source: Source
    y: str | None = None
    weight: str | None = None
    checks_facts: bool = False
    features: Collection[int] | None = None

    @property
    def columns(self) -> list[str]:
        """The columns that are read: those that the tree asks for, labels and weights."""
        beside = [name for name in (self.y, self.weight) if name is not None]
        return list(dict.fromkeys([*self._features.values(), *beside]))

    def map(self, work: Callable[[LabelledRows], Result]) -> Iterator[Result]:
        """What a function makes of the rows of one batch after the other, with their labels and weights.

        Batches are worked on by several threads; the results come in the order of the rows.
        """
        y = self.y
        if y is None:
            raise InputError("Expected y as the name of the column that holds the labels.")
        return self._map(lambda batch, first: work(self._read_labelled(batch, first, y)), self.columns)

    def map_rows(self, work: Callable[[Any, Rows], Result], columns: list[str] | None = None) -> Iterator[Result]:
        """The same for rows without labels, and the batch that they are of; by default of the columns that are read."""
        chosen = self.columns if columns is None else columns
        return self._map(lambda batch, first: work(batch, self._read_rows(batch, first)), chosen)

    def _map(self, work: Callable[[Any, int], Result], columns: list[str]) -> Iterator[Result]:
        if self.tree.columns is not None and self.tree.columns.derive is not None:
            return starmap(work, self._batches(columns))  # the steps of a pipeline are not made for threads
        return map_stream(lambda pair: work(*pair), self._batches(columns))

    def _batches(self, columns: list[str]) -> Iterator[tuple[Any, int]]:
        """Batches that are not empty and not too large for a tree of many features, and the number of the first row."""
        step = max(1, MOST_CELLS // max(1, self.tree.n_features))
        n_rows = 0
        for batch in self.source.read(columns):
            for first in range(0, batch.num_rows, step):
                yield batch.slice(first, step), n_rows + first
            n_rows += batch.num_rows
        if n_rows == 0:
            raise self.source.refuse_empty()

    def _read_labelled(self, batch: Any, first: int, y: str) -> LabelledRows:
        rows = self._read_rows(batch, first)
        labels = _read_labels(self.tree, batch.column(y), first, f"The column {y!r} of {self.source.inner_name}")
        weights = None
        if self.weight is not None:
            named = f"The column {self.weight!r} of {self.source.inner_name}"
            weights = _read_weights(batch.column(self.weight), batch.num_rows, named, first)
        return LabelledRows(rows, labels, weights)

    def _read_rows(self, batch: Any, first: int) -> Rows:
        tree, name = self.tree, self.source.name
        if tree.columns is not None and tree.columns.derive is not None:  # the pipeline itself must see its rows
            frame = batch.select(list(self._features.values())).to_pandas()
            rows = check_rows(tree, frame, name=name, first=first)
        else:
            # Pages of columns that nobody asks for are never touched, so they take no memory.
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
        """The features that are read, and their columns."""
        tree = self.tree
        names = tree.feature_names or ()
        if tree.columns is not None and tree.columns.derive is not None:
            return dict(enumerate(names[: tree.n_features - len(tree.columns.derived)]))
        asked = asked_features(tree) if self.features is None else self.features
        return {feature: names[feature] for feature in sorted(asked)}

    @cached_property
    def _typed(self) -> dict[int, bool]:
        return whole_by_dtype(self.tree, self.source.schema.empty_table())


def _read_feature(tree: Tree, column: Any, name: str, feature: int, first: int, what: str) -> NDArray[Any]:
    """A column of a batch as numbers or codes; to the tree's dtype they are cast as rows in memory are."""
    import pyarrow as pa

    is_number = _is_number(column.type)
    levels = tree.categories[feature]
    if levels is None and is_number and tree.columns is None:
        numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
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
        return read_column(tree, series, feature, what)
    return read_source(tree, tree.columns, series, feature, first, what)


def _find_distinct(column: Any) -> tuple[Any, NDArray[np.int64]]:
    """The different values of a column, a blank behind them, and the place of each row's value among them."""
    import pyarrow as pa

    if pa.types.is_string_view(column.type):  # which has fewer functions
        column = column.cast(pa.large_string())
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    values = encoded.dictionary
    place = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return pa.concat_arrays([values, pa.nulls(1, values.type)]), place


def _find_truths(values: Any, levels: Any) -> Any:
    """Texts of a file that all stand for truth values, where the tree asks for such; else the values as they are."""
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
    """The class index of each label; texts may stand for numbers, and numbers for texts."""
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
