"""Swap sets: the rows that two rule lists answer differently, from what to what, and how often each was right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from secateur.results.statistics import find_interval
from secateur.words.conditions import count_of, read_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.rules import Rules

__all__ = ["Swap", "SwapSet", "compare_answers"]

SHOWN = 5


class Swap(NamedTuple):
    """Rows that change from one answer to another."""

    old: Any
    new: Any
    rows: int
    old_right: int | None  # of them, by the old rules; None without labels
    new_right: int | None
    examples: tuple[int, ...]  # numbers of the first rows, from 1


class Move(NamedTuple):
    """Rows that change their answer, by the line that they leave and the line that they enter, from 1."""

    old_line: int
    new_line: int
    rows: int


@dataclass(frozen=True)
class SwapSet:
    """The rows that two sets of rules answer differently.

    Attributes
    ----------
    n_rows : int
        All rows compared.
    swaps : tuple of Swap
        By answers, the largest first.
    moves : tuple of Move
        The same by lines.
    gain : tuple of float, or None
        Accuracy of the new rules minus that of the old ones, with its lower and upper limits at 95 %, from 0 to 1; None
        without labels. The rows are the same, so only those that one of both gets right count (Clopper and Pearson).
    """

    n_rows: int
    swaps: tuple[Swap, ...]
    moves: tuple[Move, ...]
    gain: tuple[float, float, float] | None

    @property
    def n_changed(self) -> int:
        """Rows that change their answer."""
        return sum(one.rows for one in self.swaps)

    @property
    def still_holds(self) -> bool | None:
        """Whether nothing shows that the new rules are better: the old ones may stay in force; None without labels."""
        return None if self.gain is None else not self.gain[1] > 0

    def to_dict(self) -> dict[str, Any]:
        """Give the same as plain values, for JSON."""
        return {
            "n_rows": self.n_rows,
            "n_changed": self.n_changed,
            "swaps": [one._asdict() for one in self.swaps],
            "moves": [one._asdict() for one in self.moves],
            "gain": self.gain,
            "still_holds": self.still_holds,
        }

    def __str__(self) -> str:
        share = read_share(self.n_changed / self.n_rows)
        told = [f"{self.n_changed:,} of {count_of(self.n_rows, 'row')} ({share}) change their answer."]
        for one in self.swaps[:SHOWN]:
            right = "" if one.old_right is None else f"; right before: {one.old_right:,}, right now: {one.new_right:,}"
            shown = ", ".join(f"{place:,}" for place in one.examples)
            told.append(f"  {one.old} to {one.new}: {count_of(one.rows, 'row')}{right} (such as row {shown})")
        told += [
            f"  from line {one.old_line} to line {one.new_line}: {count_of(one.rows, 'row')}"
            for one in self.moves[:SHOWN]
        ]
        if self.gain is not None:
            gain, low, high = (100 * one for one in self.gain)
            told.append(f"Accuracy changes by {gain:+.2f} points (95 % interval {low:+.2f} to {high:+.2f}).")
            told.append(
                "Nothing shows that the new rules are better on these rows."
                if self.still_holds
                else "The new rules are better on these rows, beyond chance."
            )
        return "\n".join(told)


def compare_answers(old: Rules, new: Rules, X: Any, y: Any = None, X_new: Any = None) -> SwapSet:
    """Compare what two sets of rules answer for the same rows; ``X_new`` are the rows as the new rules take them."""
    rows = X if X_new is None else X_new
    before, after = old.predict(X), new.predict(rows)
    changed = np.flatnonzero(np.asarray([one != other for one, other in zip(before, after, strict=True)], dtype=bool))
    truth = None if y is None else np.asarray(y)
    lines = np.stack([old.apply(X)[changed], new.apply(rows)[changed]]) + 1
    pairs: dict[tuple[Any, Any], list[int]] = {}
    for place in changed.tolist():
        pairs.setdefault((before[place], after[place]), []).append(place)
    swaps = [
        Swap(
            _plain(pair[0]),
            _plain(pair[1]),
            len(places),
            None if truth is None else int((truth[places] == pair[0]).sum()),
            None if truth is None else int((truth[places] == pair[1]).sum()),
            tuple(place + 1 for place in places[:3]),
        )
        for pair, places in pairs.items()
    ]
    kinds, counts = np.unique(lines, axis=1, return_counts=True)
    moves = [Move(one, other, n) for (one, other), n in zip(kinds.T.tolist(), counts.tolist(), strict=True)]
    return SwapSet(
        len(before),
        tuple(sorted(swaps, key=lambda one: -one.rows)),
        tuple(sorted(moves, key=lambda one: -one.rows)),
        None if truth is None else _find_gain(before == truth, after == truth),
    )


def _find_gain(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Find the change of accuracy on the same rows, and its limits, given how many rows only one of both gets right."""
    gained, lost, n_rows = int((after & ~before).sum()), int((before & ~after).sum()), len(before)
    either = gained + lost
    if not either:
        return 0.0, 0.0, 0.0
    low, high = (float(end) for end in find_interval(gained / either, either))
    return (gained - lost) / n_rows, (2 * low - 1) * either / n_rows, (2 * high - 1) * either / n_rows


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
