"""Evidence that adds up: counts that answer what methods ask of training rows.

For each rule the rows are counted by class and by *which of its conditions they violate*. Whatever a method asks (what
does the rule gain without this condition, and without those two?) is then a sum of counts. Counts of chunks add up, so
rows may come from many files or from many machines.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.training_evidence import (
    Conditions,
    Counter,
    TrainingEvidence,
    ViolationCounts,
    list_patterns,
)
from secateur.errors import FormatError, InputError, ParameterError
from secateur.limits import JSON_MARKS, check_parsed_size
from secateur.rows.file_bytes import check_zip_size, read_whole
from secateur.rows.rows import LabelledRows
from secateur.rows.whole_files import write_whole
from secateur.tree.json import tree_from_json, tree_to_json
from secateur.tree.paths import Paths, trace_paths
from secateur.tree.tree import Tree

FORMAT = "secateur-evidence"
VERSION = 1
MOST_NUMBERS = 1 << 24  # numbers of eight bytes that a summary may hold


class TooLargeError(ParameterError):
    """A summary would hold too many numbers: why, and what to do instead."""

    def __init__(self, why: str, instead: str) -> None:
        super().__init__(f"{why}. Instead, {instead}.")
        self.why = why


@dataclass(frozen=True, eq=False)
class Evidence(TrainingEvidence):
    """Counts of training rows, by rule, class and violated conditions.

    Made by :func:`secateur.collect_evidence`, one for each chunk of rows, and merged. ``simplify(model, evidence=…)``
    gives the rules that ``simplify(model, X, y)`` gives with all rows at once.

    Parameters
    ----------
    tree : Tree
    n_rows : int
        Number of rows that were counted.
    is_weighted : bool
        Whether the counts are sums of weights.
    method : str or None
        The method that it was collected for; None for every method that counts can serve.
    ignored, opened : ndarray of bool, shape (n_entries,)
        Conditions that were not looked at, and conditions that rows are told apart by. Others are firm: a row that
        violates one is not counted for the rule.
    leaf_counts : ndarray of float64, shape (n_rules, n_classes)
        Rows that satisfy all conditions of a rule's path.
    cells : ndarray of float64, shape (n_cells, n_classes)
        Rule after rule, a cell for each set of open conditions, a bit each from the root on.
    """

    tree: Tree
    n_rows: int
    is_weighted: bool
    method: str | None
    ignored: NDArray[np.bool_]
    opened: NDArray[np.bool_]
    leaf_counts: NDArray[np.float64]
    cells: NDArray[np.float64]

    def merge(self, *others: Evidence) -> Evidence:
        """Add up the evidence of other chunks.

        Parameters
        ----------
        *others : Evidence
        """
        for other in others:
            if not isinstance(other, Evidence):
                raise InputError(f"Expected evidence to merge with, found {type(other).__name__}.")
            if other.digest != self.digest or other.method != self.method:
                raise InputError(
                    "The two summaries are of different trees, methods or facts. Collect both with the same tree, "
                    "such as one from secateur.from_model."
                )
        every = (self, *others)
        return replace(
            self,
            n_rows=sum(one.n_rows for one in every),
            is_weighted=any(one.is_weighted for one in every),
            leaf_counts=np.sum([one.leaf_counts for one in every], axis=0),
            cells=np.sum([one.cells for one in every], axis=0),
        )

    def __add__(self, other: Evidence) -> Evidence:
        return self.merge(other)

    @cached_property
    def digest(self) -> str:
        """A hash of the tree and its conditions: two summaries can be merged only if theirs are equal."""
        found = hashlib.sha256(tree_to_json(self.tree).encode())
        found.update(np.packbits(self.ignored).tobytes() + np.packbits(self.opened).tobytes())
        return found.hexdigest()

    def to_numbers(self) -> NDArray[np.float64]:
        """All counts in a row: those of leaves, then those of cells.

        Returns
        -------
        ndarray of float64
        """
        return np.concatenate([self.leaf_counts.ravel(), self.cells.ravel()])

    def to_cells(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Places of the counts that are not zero in :meth:`to_numbers`, and these counts.

        Returns
        -------
        tuple of ndarray of int64 and ndarray of float64
        """
        numbers = self.to_numbers()
        places = np.flatnonzero(numbers)
        return places, numbers[places]

    def to_bytes(self) -> bytes:
        """Write the evidence, as an npz file that :meth:`from_bytes` reads."""
        head = {
            "format": FORMAT,
            "version": VERSION,
            "n_rows": self.n_rows,
            "is_weighted": self.is_weighted,
            "method": self.method,
            "tree": tree_to_json(self.tree),
        }
        text = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
        arrays = {name: getattr(self, name) for name in ("ignored", "opened", "leaf_counts", "cells")}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, head=text, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Evidence:
        """Read evidence that :meth:`to_bytes` wrote.

        Parameters
        ----------
        content : bytes
        """
        try:
            check_zip_size(content, "The evidence")
            with np.load(io.BytesIO(content), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            text = arrays.pop("head").tobytes()
            check_parsed_size(text, JSON_MARKS, "The evidence")
            head = json.loads(text)
            if head["format"] != FORMAT:
                raise FormatError(f"Expected an evidence file, found {head['format']!r}.")
            if head["version"] > VERSION:
                raise FormatError(
                    f"A newer secateur wrote this evidence (version {head['version']}): upgrade secateur."
                )
            tree = tree_from_json(head["tree"])
            read = cls(tree, int(head["n_rows"]), bool(head["is_weighted"]), head["method"], **arrays)
        except FormatError:
            raise
        except Exception as error:
            raise FormatError("This is not an evidence file, or it is damaged.") from error
        _check_shapes(read)
        return read

    def save(self, path: str | PathLike[str]) -> None:
        """Write the evidence to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
        """
        write_whole(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Evidence:
        """Read evidence from a file that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
        """
        return cls.from_bytes(read_whole(path))

    def _answer(self, paths: Paths, conditions: Conditions) -> ViolationCounts:
        unknown = (conditions.deleted | conditions.opened) & ~(self.opened | self.ignored)
        unknown |= self.ignored & ~conditions.deleted
        if (unknown & conditions.among[paths.rule]).any():
            raise ParameterError(
                f"The evidence was collected for the method {self.method!r}, with its default settings and its rf_tol "
                "then, and cannot answer what is asked now. Collect it for this method and rf_tol, or without naming a "
                "method."
            )
        rules, offsets = list_patterns(paths, conditions)
        cells = self._project(paths, conditions, rules, offsets)
        return ViolationCounts(paths, conditions.opened, False, self.leaf_counts, rules, offsets, cells)

    def _project(
        self, paths: Paths, wanted: Conditions, rules: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Add up the cells of rows that violate no firm condition, by the open ones that they violate."""
        every = np.ones(paths.n_rules, dtype=bool)
        own_rules, own_offsets = list_patterns(paths, Conditions(self.ignored, self.opened, every))
        owner = np.repeat(own_rules, np.diff(own_offsets))
        pattern = np.arange(len(owner)) - np.repeat(own_offsets[:-1], np.diff(own_offsets))
        first = np.full(paths.n_rules, -1, dtype=np.int64)
        first[rules] = offsets[:-1]
        entries = np.flatnonzero(self.opened)
        place = _rank_in_rule(paths, entries)
        new_place = np.zeros(len(paths.links), dtype=np.int64)
        new_place[np.flatnonzero(wanted.opened)] = _rank_in_rule(paths, np.flatnonzero(wanted.opened))
        target = first[owner]
        counted = target >= 0
        for bit in range(int(place.max(initial=-1)) + 1):
            entry = np.full(paths.n_rules, -1, dtype=np.int64)  # the open condition of each rule that has this bit
            entry[paths.rule[entries[place == bit]]] = entries[place == bit]
            asked = entry[owner]
            violated = (asked >= 0) & ((pattern >> bit) & 1 == 1)
            is_open = violated & wanted.opened[asked]
            target[is_open] += np.int64(1) << new_place[asked[is_open]]
            counted &= ~violated | is_open | wanted.deleted[asked]
        cells = np.zeros((offsets[-1], self.cells.shape[1]))
        np.add.at(cells, target[counted], self.cells[counted])
        return cells

    @property
    def n_numbers(self) -> int:
        """Number of counts that it holds."""
        return self.cells.size + self.leaf_counts.size

    def __repr__(self) -> str:
        what = "every method that counts can serve" if self.method is None else repr(self.method)
        return f"<Evidence: {self.n_rows:,} rows for {self.leaf_counts.shape[0]} rules, for {what}>"


def _rank_in_rule(paths: Paths, entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the entries that come before each of these in its rule."""
    rule = paths.rule[entries]
    return np.arange(len(entries)) - np.searchsorted(rule, rule)


def check_size(paths: Paths, opened: NDArray[np.bool_], n_classes: int, method: str | None) -> None:
    """Reject a summary that would be too large, and say how large."""
    n_open = paths.count(opened)
    n_numbers = float(np.exp2(n_open.astype(np.float64)).sum() * n_classes)
    if n_numbers > MOST_NUMBERS:
        narrower = "collect it for one method, such as method='mismatch', or " if method is None else ""
        raise TooLargeError(
            f"The evidence of this tree would hold {n_numbers:.3g} numbers, more than the {MOST_NUMBERS:,} that are "
            f"allowed: its longest rule has {n_open.max()} conditions to tell rows apart by",
            f"{narrower}pass rows to simplify",
        )


def _check_shapes(read: Evidence) -> None:
    paths = trace_paths(read.tree, 0.0)
    marks: list[Any] = [read.ignored, read.opened]
    fits = all(mark.shape == (len(paths.links),) and mark.dtype == bool for mark in marks)
    if fits:
        every = np.ones(paths.n_rules, dtype=bool)
        n_cells = list_patterns(paths, Conditions(read.ignored, read.opened, every))[1][-1]
        counts: list[tuple[Any, int]] = [(read.leaf_counts, paths.n_rules), (read.cells, n_cells)]
        fits = all(a.shape == (size, read.tree.n_classes) and a.dtype == np.float64 for a, size in counts)
    if not fits:
        raise FormatError("The arrays of the evidence do not fit its tree: the file was cut or edited.")


@dataclass(frozen=True)
class EvidencePlan:
    """The conditions that rows are counted by, for one method or for all that counts can serve, as in Evidence."""

    tree: Tree
    method: str | None
    ignored: NDArray[np.bool_]
    opened: NDArray[np.bool_]
    features = None  # those that the tree asks for

    def count(self, listed: LabelledRows) -> Evidence:
        """Count some rows."""
        leaf_counts, cells = self._counter.count(listed)
        return self.make_evidence(listed.rows.n_rows, listed.weights is not None, leaf_counts, cells)

    def make_evidence(
        self, n_rows: int, is_weighted: bool, leaf_counts: NDArray[np.float64], cells: NDArray[np.float64]
    ) -> Evidence:
        """Make evidence of counts."""
        return Evidence(self.tree, n_rows, is_weighted, self.method, self.ignored, self.opened, leaf_counts, cells)

    def from_numbers(self, n_rows: int, is_weighted: bool, cells: NDArray[np.int64], sums: NDArray[Any]) -> Evidence:
        """Make evidence of the numbers that are not zero and their places, as ``Evidence.to_numbers`` lists them."""
        shape = self.paths.n_rules, self.tree.n_classes
        n_cells = int(list_patterns(self.paths, self.conditions)[1][-1])
        numbers = np.zeros((self.paths.n_rules + n_cells) * self.tree.n_classes)
        if len(cells) and int(cells.max()) >= len(numbers):
            raise InputError("The workers count other cells than the driver: they run another version of secateur.")
        numbers[cells] = sums
        leaf_counts, counts = np.split(numbers, [shape[0] * shape[1]])
        return self.make_evidence(n_rows, is_weighted, leaf_counts.reshape(shape), counts.reshape(-1, shape[1]))

    def add(self, total: Evidence, part: Evidence) -> Evidence:
        """Add the counts of a further piece, in place."""
        np.add(total.leaf_counts, part.leaf_counts, out=total.leaf_counts)
        np.add(total.cells, part.cells, out=total.cells)
        return replace(total, n_rows=total.n_rows + part.n_rows)

    @cached_property
    def paths(self) -> Paths:
        """The tree's paths; what is counted was settled by others, which knew more of them."""
        return trace_paths(self.tree, 0.0)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # what is kept can be made again

    @property
    def conditions(self) -> Conditions:
        """The same, of every rule."""
        return Conditions(self.ignored, self.opened, np.ones(self.paths.n_rules, dtype=bool))

    @cached_property
    def _counter(self) -> Counter:
        return Counter.of_patterns(self.tree, self.paths, self.conditions)
