"""What a Spark task does with its rows: check them, count them, and hand on the counts alone.

A task never raises for what it finds in the rows. It emits the sentence that the same rows raise in memory, and the
driver raises it: otherwise Spark would try again, and a person would see a stack of Java.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.tile_arguments import Conditions
from secateur.counting.violations import PatternCounter
from secateur.errors import InputError
from secateur.facts.checking import check_facts
from secateur.rows.checking import check_labels, check_rows, check_weights
from secateur.rows.rows import LabelledRows
from secateur.rules.audit import count_audit
from secateur.rules.rule_set import RuleSet
from secateur.tree.paths import trace_paths
from secateur.tree.tree import Tree

__all__ = ["N_ROWS", "PROBLEM", "SCHEMA", "AuditTask", "CountingTask", "EvidenceTask", "RowReader"]

# What a task emits: a number for a cell, and who says so; or a sentence about the rows.
SCHEMA = "cell bigint, part int, value double, problem string"
N_ROWS, PROBLEM = -1, -2
# Rows that are counted at once: enough that preparing to count does not show.
CHUNK_ROWS = 1 << 17
EMITTED_ROWS = 1 << 16


@dataclass(frozen=True)
class RowReader:
    """Reads the tables that a task gets: features, label, weight if there is one, length if they are vectors.

    Attributes
    ----------
    tree : Tree
        Over the features in the order in which they come.
    has_weights : bool
    vector : str or None
        The column of vectors that the features come from.
    n_numbers : int
        How many numbers each must hold.
    checks_facts : bool
        Whether rows are held against the facts of the tree.
    typed : tuple of int
        Features whose type says already that they hold whole numbers.
    """

    tree: Tree
    has_weights: bool
    vector: str | None
    n_numbers: int
    checks_facts: bool = False
    typed: tuple[int, ...] = ()

    def read(self, table: Any) -> LabelledRows:
        """The rows of a table in the tree's terms, their class ids and their weights."""
        n_features = len(table.column_names) - 1 - self.has_weights - (self.vector is not None)
        if self.vector is not None:
            self._check_lengths(table.column(table.num_columns - 1))
        names = self.tree.feature_names or ()
        X = table.select(range(n_features)).rename_columns(list(names[:n_features]))
        if self.tree.columns is not None and self.tree.columns.derive is not None:
            X = X.to_pandas()  # for the steps of a scikit-learn pipeline
        rows = check_rows(self.tree, X, name="df")
        if self.checks_facts:
            check_facts(self.tree, rows, typed=self.typed, name="df")
        class_ids = self._find_classes(table.column(n_features))
        return LabelledRows(rows, class_ids, self._find_weights(table, n_features + 1))

    def _check_lengths(self, lengths: Any) -> None:
        found = lengths.to_numpy()
        wrong = np.flatnonzero(found != self.n_numbers)
        if len(wrong):
            holds = "no vector" if np.isnan(found[wrong[0]]) else f"a vector of {found[wrong[0]]:g} numbers"
            raise InputError(
                f"Column {self.vector!r} of df holds {holds} (row {wrong[0]}), but the tree was fitted on "
                f"{self.n_numbers}."
            )

    def _find_classes(self, column: Any) -> NDArray[np.int64]:
        import pyarrow as pa

        if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
            return check_labels(self.tree, column.to_numpy(), len(column))
        coded = column.combine_chunks().dictionary_encode()
        if coded.null_count == 0:
            try:
                codes = check_labels(self.tree, coded.dictionary.to_pylist(), len(coded.dictionary))
                found: NDArray[np.int64] = codes[coded.indices.to_numpy()]
                return found
            except InputError:  # the same sentence, but with the number of the row
                pass
        labels = np.empty(len(column), dtype=object)
        labels[:] = column.to_pylist()
        return check_labels(self.tree, labels, len(column))

    def _find_weights(self, table: Any, place: int) -> NDArray[np.float64] | None:
        if not self.has_weights:
            return None
        weights = np.asarray(table.column(place).to_numpy(), dtype=np.float64)
        # Rows of weight 0 may come together by chance; the driver sees whether there are others.
        return check_weights(weights, len(weights), is_part=True)


@dataclass(frozen=True)
class CountingTask(ABC):
    """Counts the rows of one partition; what is counted, a subclass says."""

    reader: RowReader

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Emit the counts of all rows, or a sentence about the first that does not fit."""
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        part = context.partitionId() if context is not None else 0
        # Spark runs a task for each processor, so that more threads would only be in each other's way.
        os.environ.setdefault("LOKY_MAX_CPU_COUNT", str(context.cpus() if context is not None else 1))
        total: dict[int, float] = {}
        n_rows = 0
        try:
            counts = self.start()
            for table in _join_batches(batches):
                self.count(self.reader.read(table), counts)
                n_rows += table.num_rows
            total = self.finish(counts)
        except InputError as error:
            yield _make_batch([PROBLEM], part, [0.0], [_place_row(str(error), n_rows, part)])
            return
        total[N_ROWS] = float(n_rows)
        cells, values = list(total), list(total.values())
        for first in range(0, len(cells), EMITTED_ROWS):
            yield _make_batch(cells[first : first + EMITTED_ROWS], part, values[first : first + EMITTED_ROWS], None)

    @abstractmethod
    def start(self) -> Any:
        """What counts are added to."""

    @abstractmethod
    def count(self, listed: LabelledRows, counts: Any) -> None:
        """Add some rows."""

    @abstractmethod
    def finish(self, counts: Any) -> dict[int, float]:
        """The counts that are not zero."""


@dataclass(frozen=True)
class EvidenceTask(CountingTask):
    """Counts rows by rule, class and violated conditions, as evidence does.

    Attributes
    ----------
    ignored, opened : ndarray of bool
        As in :class:`secateur.Evidence`.
    """

    ignored: NDArray[np.bool_]
    opened: NDArray[np.bool_]

    def start(self) -> Any:
        """What counts, and the counts of leaves and cells."""
        tree = self.reader.tree
        paths = trace_paths(tree, 0.0)
        conditions = Conditions(self.ignored, self.opened, np.ones(paths.n_rules, dtype=bool))
        return {"counter": PatternCounter(tree, paths, conditions), "sums": None}

    def count(self, listed: LabelledRows, counts: Any) -> None:
        """Add some rows."""
        found = counts["counter"].count(listed)
        flat = np.concatenate([part.ravel() for part in found])
        counts["sums"] = flat if counts["sums"] is None else counts["sums"] + flat

    def finish(self, counts: Any) -> dict[int, float]:
        """The counts that are not zero: those of leaves first, then those of cells."""
        if counts["sums"] is None:
            return {}
        places = np.flatnonzero(counts["sums"])
        return dict(zip(places.tolist(), counts["sums"][places].tolist(), strict=True))


@dataclass(frozen=True)
class AuditTask(CountingTask):
    """Counts what an audit needs, in the order in which :meth:`AuditCounts.to_numbers` lists it.

    Attributes
    ----------
    rules : RuleSet
        Over the tree of the reader.
    """

    rules: RuleSet

    def start(self) -> Any:
        """The counts so far."""
        return {"counts": None}

    def count(self, listed: LabelledRows, counts: Any) -> None:
        """Add some rows."""
        found = count_audit(self.rules, listed.rows, listed.class_ids, listed.weights)
        counts["counts"] = found if counts["counts"] is None else counts["counts"] + found

    def finish(self, counts: Any) -> dict[int, float]:
        """The numbers of the counts."""
        return {} if counts["counts"] is None else dict(enumerate(counts["counts"].to_numbers()))


def _join_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of many rows each, from the small ones that Spark sends."""
    import pyarrow as pa

    waiting, n_rows = [], 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            n_rows += batch.num_rows
        if n_rows >= CHUNK_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, n_rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _make_batch(cells: list[int], part: int, values: list[float], problems: list[str] | None) -> Any:
    import pyarrow as pa

    columns = [
        pa.array(cells, type=pa.int64()),
        pa.array([part] * len(cells), type=pa.int32()),
        pa.array(values, type=pa.float64()),
        pa.nulls(len(cells), pa.string()) if problems is None else pa.array(problems, type=pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["cell", "part", "value", "problem"])


def _place_row(sentence: str, n_before: int, part: int) -> str:
    """A sentence about a row of a chunk as one about a row of the partition."""

    def move(match: re.Match[str]) -> str:
        return f"{match[1]} {int(match[2]) + n_before} of partition {part}"

    return re.sub(r"\b([Rr]ow) (\d+)\b", move, sentence, count=1)
