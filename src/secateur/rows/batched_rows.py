"""Rows of a table, read a batch at a time in a tree's own terms, so that it need not fit into memory."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError
from secateur.facts.checking import check_facts
from secateur.facts.stating import whole_by_dtype
from secateur.kernels.running import map_stream
from secateur.limits import MAX_MEMORY, format_bytes
from secateur.rows import encoding
from secateur.rows.checking import check_answers, check_finite, check_labels, check_rows, check_weights
from secateur.rows.row_source import Decider, GivenRows, MemoryRows, ModelTerms, Result, RowSource, Work, split_frame
from secateur.rows.rows import LabelledRows, Rows
from secateur.rows.sources import Source, find_beside, fit_tree_to
from secateur.tree.tree import Tree

# Rows times features of the matrix that a batch becomes.
MOST_CELLS = 1 << 26
SHOWN_ROWS = 1_000  # that a pipeline is shown, which alone knows what it does with their types


@dataclass(frozen=True)
class BatchReader:
    """Reads the batches of a table for a tree that names the table's columns."""

    tree: Tree
    source: Source
    y: str | None = None  # the column of the labels
    weight: str | None = None  # the column of the weights
    checks_facts: bool = False  # whether to reject a row that contradicts a fact of the tree
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
        if encoding.derives(self.tree):
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
            raise self.source.make_empty_error()

    def _read_labelled(self, batch: Any, first: int) -> LabelledRows:
        rows, named = self._read_rows(batch, first), f"The column {self.y!r} of {self.source.inner_name}"
        labels, targets = _read_truth(self.tree, batch.column(self.y), first, named)
        return LabelledRows(rows, labels, self._read_weights(batch, first), targets)

    def _read_weights(self, batch: Any, first: int) -> NDArray[np.float64] | None:
        import pyarrow as pa

        if self.weight is None:
            return None
        column, name = batch.column(self.weight), f"The column {self.weight!r} of {self.source.inner_name}"
        if not is_number(column.type) and not pa.types.is_decimal(column.type):
            raise InputError(f"{name} holds {column.type}, but weights are numbers.")
        if column.null_count:
            row = column.is_null().to_numpy(zero_copy_only=False).argmax()
            raise InputError(f"{name} has a blank (row {first + row}): every row needs a weight.")
        return check_weights(column.to_numpy(zero_copy_only=False), len(column), is_part=True, name=name, first=first)

    def _read_rows(self, batch: Any, first: int) -> Rows:
        tree, name = self.tree, self.source.name
        if encoding.derives(tree):  # the pipeline itself must see its rows
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
        return {f: (self.tree.feature_names or ())[f] for f in encoding.read_features(self.tree, self.features)}

    @cached_property
    def _typed(self) -> dict[int, bool]:
        return whole_by_dtype(self.tree, self.source.schema.empty_table())


def _read_feature(tree: Tree, column: Any, name: str, feature: int, first: int, what: str) -> NDArray[Any]:
    """Read a column of a batch as numbers or codes, which are cast to the tree's dtype like rows in memory."""
    import pyarrow as pa

    has_numbers = is_number(column.type)
    levels = tree.categories[feature]
    if levels is None and has_numbers and tree.columns is None:
        numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        if encoding.rounds_twice(tree):
            encoding.check_whole(numbers, name, what, first)
        if numbers.dtype.kind in "iub" or (numbers.dtype.kind == "f" and pa.types.is_floating(column.type)):
            return numbers  # whole numbers with blanks would be rounded twice
    by_cell = tree.columns is not None and tree.columns.cuts[feature] is not None
    if has_numbers and (levels is None or by_cell):
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
    return encoding.read_column(tree, series, feature, what, first=first)


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
    words = [encoding.as_truth(value) for value in values.to_pylist() if value is not None]
    return values if None in words else pa.array([*words, None], pa.bool_())


def is_number(dtype: Any) -> bool:
    """Whether an Arrow type is one of whole numbers, floats or truth values."""
    import pyarrow as pa

    return any(is_kind(dtype) for is_kind in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean))


def _read_truth(tree: Tree, column: Any, first: int, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Read labels, or the targets of a regression tree, which are numbers."""
    import pyarrow as pa

    if not tree.is_regression:
        return _read_labels(tree, column, first, name), None
    if not is_number(column.type) and not pa.types.is_decimal(column.type):
        raise InputError(f"{name} holds {column.type}, but the tree predicts numbers.")
    return check_answers(tree, column.to_numpy(zero_copy_only=False), len(column), name=name, first=first)


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
    return encoding.to_label_types(encoding.as_objects(values.to_pylist()), tree.classes.tolist())


class BatchedRows(RowSource):
    """An open table, and what the caller passed to open it."""

    def __init__(self, source: Source, given: GivenRows) -> None:
        self.source, self.name, self.is_once = source, source.name, source.is_once
        self.given = None if source.is_once else given  # what is used up cannot be opened again
        self.y = find_beside(source, given.y, "y")
        self._weight = find_beside(source, given.sample_weight, "sample_weight")
        self.is_weighted = self._weight is not None

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if the table knows."""
        return self.source.n_rows

    @property
    def types(self) -> Any:
        """A table without rows."""
        return self.source.schema.empty_table()

    def show(self, model: Any, columns: list[str] | None) -> tuple[Any, Any]:
        """Show a pipeline the first rows."""
        if columns is None:
            return None, None
        batch = self.source.peek([self.source.find(name, "the pipeline was fitted on") for name in columns])
        return None if batch is None else batch.slice(0, SHOWN_ROWS).to_pandas(), None

    def fit(self, tree: Tree, features: Collection[int] | None = None) -> Tree:
        """Name the tree's columns as the table does, and find those that it asks for."""
        return fit_tree_to(tree, self.source, self._beside, features)

    def map(
        self, tree: Tree, work: Work[Result], *, checks_facts: bool = False, features: Collection[int] | None = None
    ) -> Iterator[Result]:
        """Work on the batches, several at a time."""
        self.check_labelled()
        named = self.fit(tree, features)
        return BatchReader(named, self.source, self.y, self._weight, checks_facts, features).map(work)

    def map_unlabelled(
        self, tree: Tree, work: Callable[[Rows, NDArray[np.float64] | None], Result]
    ) -> Iterator[Result]:
        """Work on the batches, several at a time."""
        return BatchReader(self.fit(tree), self.source, weight=self._weight).map_weighted(work)

    def decide(self, tree: Tree, decider: Decider) -> NDArray[Any]:
        """Decide the batches one after the other."""
        reader = BatchReader(self.fit(tree, decider.features), self.source, features=decider.features)
        return np.concatenate(list(reader.map_rows(lambda _, rows: decider(rows))))

    def hold(self, find_terms: Callable[[], ModelTerms], why: str, instead: str = "") -> MemoryRows:
        """Read the whole table, unless it is too large."""
        import pyarrow as pa

        self.check_labelled()
        source, terms = self.source, find_terms()
        own = terms.columns
        names = source.schema.names if own is None else [source.find(name, "the model was fitted on") for name in own]
        columns = list(dict.fromkeys([*names, *self._beside]))
        if source.n_rows is not None:
            size = f"{source.n_rows:,} rows of {len(columns)} columns"
            self._check_size(source.n_rows * len(columns) * 8, size, why, instead)
        batches, n_bytes, n_rows = [], 0, 0
        for batch in source.read(columns):
            batches.append(batch)
            n_bytes, n_rows = n_bytes + batch.nbytes, n_rows + batch.num_rows
            self._check_size(n_bytes, f"more than {n_rows:,} rows of {len(columns)} columns", why, instead)
        if n_rows == 0:
            raise source.make_empty_error()
        return split_frame(pa.Table.from_batches(batches), self.y, self._weight, terms)

    @property
    def _beside(self) -> list[str]:
        return [name for name in (self.y, self._weight) if name is not None]

    def _check_size(self, n_bytes: int, size: str, why: str, instead: str) -> None:
        if n_bytes > MAX_MEMORY.value:
            raise InputError(
                f"{why}, but {self.name} has {size}, {format_bytes(n_bytes)}, and at most {MAX_MEMORY.told} are taken "
                f"into memory. Pass rows in memory{instead}, or {MAX_MEMORY.advise(n_bytes)}."
            )
