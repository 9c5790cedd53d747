"""Trials of ReliabilitySelect from counted rows, in plain Python that numba compiles."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["REFUSED", "TAKEN", "WAITING", "Cells", "try_in_turn"]

REFUSED, TAKEN, WAITING = 0, 1, 2


class Cells(NamedTuple):
    """Rows by violated open conditions; see :class:`secateur.counting.violations.ViolationCounts`."""

    counts: Any  # shape (n_cells, n_classes)
    first: Any  # a rule's first cell
    n_open: Any  # how many open conditions it has
    is_paired: Any


def add_gain(cells, rule, place, gone, gained):  # type: ignore[no-untyped-def]
    """Add to the rows of each class what a rule gains by losing one more open condition.

    ``gone`` are the ones that it has lost: a bit each, or where only pairs are told apart the place of one, else -1.
    """
    first = cells.first[rule]
    if cells.is_paired:
        for class_id in range(len(gained)):
            gained[class_id] += cells.counts[first + 1 + place, class_id]
        if gone >= 0:
            low, high = min(place, gone), max(place, gone)
            cell = first + 1 + cells.n_open[rule] + high * (high - 1) // 2 + low
            for class_id in range(len(gained)):
                gained[class_id] += cells.counts[cell, class_id]
        return
    part = gone & 0
    while True:  # any of the lost ones may be violated, too: every subset of them
        cell = first + ((1 << place) | part)
        for class_id in range(len(gained)):
            gained[class_id] += cells.counts[cell, class_id]
        part = (part - gone) & gone
        if part == 0:
            break


def try_in_turn(cells, offsets, rules, places, leaf_class, base, tolerance, counts, gained, after, what):  # type: ignore[no-untyped-def]
    """Try the candidates of each rule from leaf to root; ``counts`` become those of the rules without what is taken.

    Where only pairs are told apart, candidates wait behind the second that is taken.
    """
    for turn in range(len(rules)):
        rule, n_taken = rules[turn], 0
        gone = rule & 0
        if cells.is_paired:
            gone -= 1
        for at in range(offsets[turn + 1] - 1, offsets[turn] - 1, -1):
            if cells.is_paired and n_taken > 1:
                what[at] = WAITING
                continue
            for class_id in range(len(gained)):
                gained[class_id] = counts[rule, class_id]
            add_gain(cells, rule, places[at], gone, gained)
            total = 0.0
            for class_id in range(len(gained)):
                total += gained[class_id]
            after[at] = gained[leaf_class[rule]] / total
            what[at] = REFUSED
            if abs(after[at] - base[rule]) <= tolerance:
                what[at] = TAKEN
                gone = places[at] if cells.is_paired else gone | (1 << places[at])
                n_taken += 1
                for class_id in range(len(gained)):
                    counts[rule, class_id] = gained[class_id]
