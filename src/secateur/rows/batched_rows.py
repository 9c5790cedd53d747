"""Rows of a table, read a batch at a time, so that it need not fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError
from secateur.limits import MAX_MEMORY, format_bytes
from secateur.rows.batches import BatchReader
from secateur.rows.memory_rows import split_frame
from secateur.rows.row_source import RowSource
from secateur.rows.table_columns import find_beside, fit_tree_to

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from numpy.typing import NDArray

    from secateur.rows.memory_rows import MemoryRows
    from secateur.rows.row_source import Decider, GivenRows, ModelTerms, Result
    from secateur.rows.rows import LabelledRows, Rows
    from secateur.rows.source import Source
    from secateur.tree.tree import Tree

__all__ = ["BatchedRows"]

SHOWN_ROWS = 1_000


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
        """Show a pipeline the first rows: it alone knows what it does with their types."""
        if columns is None:
            return None, None
        batch = self.source.peek([self.source.find(name, "the pipeline was fitted on") for name in columns])
        return None if batch is None else batch.slice(0, SHOWN_ROWS).to_pandas(), None

    def fit(self, tree: Tree, features: Collection[int] | None = None) -> Tree:
        """Name the tree's columns as the table does, and find those that it asks for."""
        return fit_tree_to(tree, self.source, self._beside, features)

    def map(
        self,
        tree: Tree,
        work: Callable[[LabelledRows], Result],
        *,
        checks_facts: bool = False,
        features: Collection[int] | None = None,
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
            raise source.refuse_empty()
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
