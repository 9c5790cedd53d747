"""ReliabilitySelect, rule by rule, on masks of all rows, in plain Python that numba compiles.

The candidates of a rule are tried from leaf to root. When one is tried, those nearer to the root all stand, and those
nearer to the leaf that were refused do. So the rows of a trial are what the former leave, which is known for every
candidate beforehand, without those that the refused ones exclude.

Only words of a mask that hold a row of the rule without its candidates are looked at again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from secateur.kernels.tiles import TILE_ROWS, TILE_WORDS, count_ones, flip_of, pack_tile

__all__ = ["Judged", "Masks", "Outcome", "Space", "pack_rows", "select_rules"]


class Masks(NamedTuple):
    """Masks of all rows, which are in the order of their leaves."""

    left: Any  # the rows that go left at each test, shape (n_tests, n_words)
    members: Any  # the rows of each class, shape (n_classes, n_words)


class Judged(NamedTuple):
    """What the rules are judged by."""

    first_row: Any  # the rows of a rule are among those from here
    last_row: Any  # to before here
    leaf_class: Any
    base: Any  # reliability of each leaf
    tolerance: Any


class Outcome(NamedTuple):
    """What came of rules, and of their candidates."""

    joint: Any  # reliability without any candidate
    is_joint: Any  # whether all candidates went together
    counts: Any  # rows of each class, shape (n_rules, n_classes)
    after: Any  # reliability of the trial of each candidate
    is_gone: Any  # whether it was accepted


class Space(NamedTuple):
    """Room for a thread to work in."""

    inside: Any  # rows that satisfy a rule's first conditions, shape (n_words,)
    where: Any  # the words that hold rows of the rule without its candidates
    standing: Any  # of these words, the rows that satisfy its first candidates, shape (longest + 1, n_words)
    refused: Any  # rows that satisfy the candidates that were refused


def pack_rows(values, origin, step, columns, first, last, tests, room, left):  # type: ignore[no-untyped-def]
    """Make the masks of the rows of a block; ``first`` and ``last`` are its place among all rows."""
    for row in range(first, last, TILE_ROWS):
        at = origin + (row - first) * step
        n_rows = min(TILE_ROWS, last - row)
        pack_tile(
            values,
            at,
            step,
            columns,
            n_rows,
            tests,
            room.buffer,
            room.places,
            room.buckets,
            room.masks,
            room.prefixes,
        )
        begin = row >> 6
        for test in range(left.shape[0]):
            for k in range(min(TILE_WORDS, left.shape[1] - begin)):
                left[test, begin + k] = room.masks[test, k]


def narrow(left, conditions, begin, end, first_row, last_row, space):  # type: ignore[no-untyped-def]
    """List the words that hold rows of a rule without its candidates, and these rows; return how many words."""
    if last_row <= first_row:
        return 0
    inside, where, rows = space.inside, space.where, space.standing[0]
    low, high = first_row >> 6, (last_row - 1) >> 6
    for k in range(low, high + 1):
        inside[k] = ~np.uint64(0)
    inside[low] &= ~np.uint64(0) << np.uint64(first_row & 63)
    inside[high] &= ~np.uint64(0) >> np.uint64(63 - ((last_row - 1) & 63))
    for place in range(begin, end):
        mask, flip = left[conditions[place] >> 1], flip_of(conditions[place])
        for k in range(low, high + 1):
            inside[k] &= mask[k] ^ flip
    n_words = 0
    for k in range(low, high + 1):
        where[n_words], rows[n_words] = k, inside[k]
        n_words += int(inside[k] != np.uint64(0))
    return n_words


def count_two(one, other, where, n_words, member):  # type: ignore[no-untyped-def]
    """Count the rows that two masks share, and those of them that belong to a class."""
    n_rows, n_right = 0, 0
    for i in range(n_words):
        word = one[i] & other[i]
        n_rows += count_ones(word)
        n_right += count_ones(word & member[where[i]])
    return n_rows, n_right


def try_candidates(masks, rules, rule, base, tolerance, class_id, space, n_words, outcome):  # type: ignore[no-untyped-def]
    """Try the candidates of a rule together, then one by one; ``refused`` masks what those left exclude."""
    where, standing, refused, member = space.where, space.standing, space.refused, masks.members[class_id]
    begin, end = rules.open_offsets[rule], rules.open_offsets[rule + 1]
    for i in range(n_words):
        refused[i] = ~np.uint64(0)
    n_rows, n_right = count_two(standing[0], refused, where, n_words, member)
    outcome.joint[rule] = n_right / n_rows if n_rows > 0 else np.nan
    outcome.is_joint[rule] = abs(outcome.joint[rule] - base) <= tolerance
    if outcome.is_joint[rule]:
        return
    for place in range(begin, end):
        mask, flip = masks.left[rules.open[place] >> 1], flip_of(rules.open[place])
        before, behind = standing[place - begin], standing[place - begin + 1]
        for i in range(n_words):
            behind[i] = before[i] & (mask[where[i]] ^ flip)
    if base != base:  # no row reaches the leaf
        for i in range(n_words):
            standing[0, i] = standing[end - begin, i]
        return
    for place in range(end - 1, begin - 1, -1):
        n_rows, n_right = count_two(standing[place - begin], refused, where, n_words, member)
        outcome.after[place] = n_right / n_rows
        outcome.is_gone[place] = abs(outcome.after[place] - base) <= tolerance
        if not outcome.is_gone[place]:
            mask, flip = masks.left[rules.open[place] >> 1], flip_of(rules.open[place])
            for i in range(n_words):
                refused[i] &= mask[where[i]] ^ flip


def select_rules(masks, rules, judged, first, last, space, outcome):  # type: ignore[no-untyped-def]
    """Run ReliabilitySelect on some rules, and count the rows of what they become."""
    for rule in range(first, last):
        begin, end = rules.firm_offsets[rule], rules.firm_offsets[rule + 1]
        span = judged.first_row[rule], judged.last_row[rule]
        n_words = narrow(masks.left, rules.firm, begin, end, span[0], span[1], space)
        for i in range(n_words):
            space.refused[i] = ~np.uint64(0)
        if rules.open_offsets[rule + 1] > rules.open_offsets[rule]:
            base, class_id = judged.base[rule], judged.leaf_class[rule]
            try_candidates(masks, rules, rule, base, judged.tolerance, class_id, space, n_words, outcome)
        for class_id in range(len(masks.members)):
            found = count_two(space.standing[0], space.refused, space.where, n_words, masks.members[class_id])
            outcome.counts[rule, class_id] = found[1]
