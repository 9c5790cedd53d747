"""Quinlan's deletion, rule by rule, in plain Python that numba compiles.

A rule keeps a mask of the rows that violate each of its conditions, and a counter for each row of how many it violates.
The counters are bits, too: plane ``b`` holds bit ``b`` of every row's counter, so that adding or removing a condition
is a few bit operations on 64 rows at a time. Rows that violate exactly one condition are what the rule gains without
it. When a condition goes, the rows that violated it and one other join those of the other: a row is looked at once.

Neighbouring rules share the beginning of their paths, and with it masks and counters. Rows come class by class, so
that all rows of a tile of masks have one class; a tile that a class does not fill ends with rows that violate nothing.
"""

import math
from typing import Any, NamedTuple

import numpy as np

# Masks lie in memory block by block: the masks of a block stay in the processor's cache. A block is made of tiles.
BLOCK_WORDS = 128
TILE_WORDS = 64
# A row of few is looked up; of many, masks are counted. This many rows take about as long as one mask.
ROWS_PER_MASK = 1
TINY = 1e-280  # numbers below this have fewer digits, or soon will
KEPT, CERTAINTY_KEPT, NOT_SIGNIFICANT = 0, 1, 2  # what came of an entry


def count_ones(word):  # type: ignore[no-untyped-def]
    """Number of bits that are set; LLVM knows this sum and makes it one instruction."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


def lowest_bit(word):  # type: ignore[no-untyped-def]
    """Place of the lowest bit that is set."""
    return count_ones(~word & (word - np.uint64(1)))


class Rows(NamedTuple):
    """Rows by class, each column as codes: places of numbers among the limits of its tests, or categories."""

    codes: Any  # shape (n_columns, n_blocks * BLOCK_WORDS * 64)
    valid: Any  # which of them are rows, shape (n_blocks, BLOCK_WORDS)
    class_id: Any  # of the rows of each tile, shape (n_blocks, BLOCK_WORDS // TILE_WORDS)


class Rules(NamedTuple):
    """The paths of a tree, and the test that decides each link: that of its parent, in codes."""

    offsets: Any
    links: Any
    leaf_class: Any
    leaf_counts: Any
    column: Any
    limit: Any  # codes of numbers up to this one go left
    missing: Any  # the code of missing values if they go left, else -1
    table_start: Any  # first element of a test of categories in table; -1 elsewhere
    table: Any  # whether a code goes left
    is_left: Any


class Rounds(NamedTuple):
    """What rules are judged by, and room for a thread to work in."""

    limit: Any  # a p-value above it is not significant
    certainty_tolerance: Any
    p_tolerance: Any
    to_leaf: Any  # whether the last of equally good conditions goes, not the first
    doubt: Any  # comparisons of p-values that are closer than this are left to others
    log_gamma: Any  # of 0, 1, 2, …
    violates: Any  # shape (n_blocks, depth, BLOCK_WORDS)
    path_planes: Any  # counters of the whole path, shape (n_blocks, n_planes, BLOCK_WORDS)
    planes: Any  # counters of what is left
    newly: Any  # shape (BLOCK_WORDS,)
    spare: Any
    gained: Any  # rows of each class that violate one condition alone, shape (depth, n_classes)
    left: Any  # places of the conditions that are left
    widened: Any  # what the certainty becomes without each of them
    p: Any
    is_rejected: Any


class Outcome(NamedTuple):
    """What came of each entry, the table that it was last judged by, and what is in doubt."""

    what: Any
    tables: Any  # right and all of the rule, right and all of what it gains, shape (n_entries, 4)
    counts: Any  # shape (n_rules, n_classes)
    is_unsure: Any  # of each rule


def mark_violations(rows, rules, link, violates, place):  # type: ignore[no-untyped-def]
    """Mark the rows that do not go along a link."""
    codes, limit, missing = rows.codes[rules.column[link]], rules.limit[link], rules.missing[link]
    start = rules.table_start[link]
    flip = np.uint64(0) - np.uint64(rules.is_left[link])
    for block in range(len(rows.valid)):
        at = 64 * BLOCK_WORDS * block
        for k in range(BLOCK_WORDS):
            word = np.uint64(0)
            if start < 0:
                for bit in range(64):
                    word |= np.uint64(codes[at + 64 * k + bit] <= limit) << np.uint64(bit)
            else:
                for bit in range(64):
                    word |= np.uint64(rules.table[start + codes[at + 64 * k + bit]]) << np.uint64(bit)
            if missing >= 0:
                for bit in range(64):
                    word |= np.uint64(codes[at + 64 * k + bit] == missing) << np.uint64(bit)
            violates[block, place, k] = (word ^ flip) & rows.valid[block, k]


def mark_others(rows, violates, place):  # type: ignore[no-untyped-def]
    """Mark the rows that do go along a link: they violate its sibling."""
    for block in range(len(rows.valid)):
        for k in range(BLOCK_WORDS):
            violates[block, place, k] ^= rows.valid[block, k]


def count_in(planes, violates, place, carry):  # type: ignore[no-untyped-def]
    """Add a condition to the counters."""
    for block in range(planes.shape[0]):
        for k in range(BLOCK_WORDS):
            carry[k] = violates[block, place, k]
        for b in range(planes.shape[1]):
            for k in range(BLOCK_WORDS):
                old = planes[block, b, k]
                planes[block, b, k] = old ^ carry[k]
                carry[k] = old & carry[k]


def count_out(planes, violates, place, borrow):  # type: ignore[no-untyped-def]
    """Take a condition from the counters."""
    for block in range(planes.shape[0]):
        for k in range(BLOCK_WORDS):
            borrow[k] = violates[block, place, k]
        for b in range(planes.shape[1]):
            for k in range(BLOCK_WORDS):
                new = planes[block, b, k] ^ borrow[k]
                planes[block, b, k] = new
                borrow[k] = new & borrow[k]


def start_rounds(rows, rounds, n_left, n_planes):  # type: ignore[no-untyped-def]
    """Begin with the counters of the whole path, and find the rows that violate one condition alone."""
    path_planes, planes, newly = rounds.path_planes, rounds.planes, rounds.newly
    for block in range(len(rows.valid)):
        for k in range(BLOCK_WORDS):
            word = path_planes[block, 0, k]
            planes[block, 0, k] = word
            newly[k] = word
        for b in range(1, n_planes):
            for k in range(BLOCK_WORDS):
                word = path_planes[block, b, k]
                planes[block, b, k] = word
                newly[k] &= ~word
        add_newly(rows, rounds, block, n_left)


def delete_one(rows, rounds, gone, n_left, n_planes):  # type: ignore[no-untyped-def]
    """Take a condition from the counters; rows that violated it and one other now violate the other alone."""
    violates, planes, newly, borrow = rounds.violates, rounds.planes, rounds.newly, rounds.spare
    for block in range(len(rows.valid)):
        for k in range(BLOCK_WORDS):
            violated = violates[block, gone, k]
            new = planes[block, 0, k] ^ violated
            planes[block, 0, k] = new
            borrow[k] = new & violated
            newly[k] = new & violated
        for b in range(1, n_planes):
            for k in range(BLOCK_WORDS):
                new = planes[block, b, k] ^ borrow[k]
                planes[block, b, k] = new
                borrow[k] = new & borrow[k]
                newly[k] &= ~new
        add_newly(rows, rounds, block, n_left)


def add_newly(rows, rounds, block, n_left):  # type: ignore[no-untyped-def]
    """Add the new rows of a block that violate one condition alone to what is gained without it."""
    newly, left, gained, violates = rounds.newly, rounds.left, rounds.gained, rounds.violates
    for tile in range(BLOCK_WORDS // TILE_WORDS):
        first, n_rows = tile * TILE_WORDS, 0
        for k in range(first, first + TILE_WORDS):
            n_rows += count_ones(newly[k])
        if n_rows == 0:
            continue
        class_id = rows.class_id[block, tile]
        if n_rows > ROWS_PER_MASK * n_left:
            for i in range(n_left):
                place, total = left[i], 0
                for k in range(first, first + TILE_WORDS):
                    total += count_ones(newly[k] & violates[block, place, k])
                gained[place, class_id] += total
            continue
        for k in range(first, first + TILE_WORDS):
            word = newly[k]
            while word != np.uint64(0):
                bit = np.uint64(lowest_bit(word))
                for i in range(n_left):
                    if (violates[block, left[i], k] >> bit) & np.uint64(1):
                        gained[left[i], class_id] += 1
                        break
                word &= word - np.uint64(1)


def log_choose(log_gamma, n, k):  # type: ignore[no-untyped-def]
    """Logarithm of a binomial coefficient."""
    return log_gamma[n + 1] - log_gamma[k + 1] - log_gamma[n - k + 1]


def find_p(log_gamma, table, limit):  # type: ignore[no-untyped-def]
    """P-value of a table, as :func:`secateur.tree.shares.fisher_greater` has it but for the last digits.

    Given a limit of 0 or more, the sum ends as soon as it is plain on which side of it the value lies.
    """
    k, n, other_k, other_n = table[0], table[1], table[2], table[3]
    right, total = k + other_k, n + other_n
    smallest, largest = max(0, right - other_n), min(n, right)
    if k <= smallest:
        return 1.0
    wrong = other_n - right
    upward = k > n * right / total
    start = k if upward else k - 1
    length = largest - start if upward else start - smallest
    log_term = log_choose(log_gamma, n, start) + log_choose(log_gamma, other_n, right - start)
    term = math.exp(log_term - log_choose(log_gamma, total, right))
    tail, i = term, np.float64(start)
    enough = limit * 1.001 if upward else 1.0 - limit * 0.999
    little = limit * 0.999 if upward else 1.0 - limit * 1.001
    for _ in range(length):
        if upward:
            ratio = ((n - i) * (right - i)) / ((i + 1.0) * (wrong + i + 1.0))
            i += 1.0
        else:
            ratio = (i * (wrong + i)) / ((n - i + 1.0) * (right - i + 1.0))
            i -= 1.0
        # The ratios fall along a tail, so what is left is at most a geometric series.
        rest = term * ratio / (1.0 - min(ratio, 0.999999))
        if rest < tail * 1e-17 or (limit >= 0.0 and (tail > enough or tail + rest < little)):
            break
        term *= ratio
        tail += term
    return min(1.0, max(0.0, tail if upward else 1.0 - tail))


def choose(rounds, tables, n_left):  # type: ignore[no-untyped-def]
    """Choose which of the conditions that are left goes, given the tables of all.

    Of the deletable conditions, it is the one that leaves the highest certainty, then the one with the highest p, then
    the one nearest the root or the leaf. -1 if none is deletable, -2 if that depends on the last digits of a p-value.
    """
    left, widened, p, is_rejected = rounds.left, rounds.widened, rounds.p, rounds.is_rejected
    certainty = 0.0
    for i in range(n_left):
        table = tables[left[i]]
        certainty = table[0] / table[1]
        widened[i] = (table[0] + table[2]) / (table[1] + table[3])
        is_rejected[i] = False
    while True:
        highest = -1.0
        for i in range(n_left):
            if not is_rejected[i]:
                highest = max(highest, widened[i])
        if highest < 0.0:
            return -1
        holds, n_tied, chosen = highest >= certainty - rounds.certainty_tolerance, 0, -1
        for i in range(n_left):
            if is_rejected[i] or widened[i] != highest:
                continue
            if not holds:
                found = find_p(rounds.log_gamma, tables[left[i]], rounds.limit)
                if is_close(found, rounds.limit, rounds.doubt):
                    return -2
                is_rejected[i] = found <= rounds.limit
            if not is_rejected[i]:
                n_tied, chosen = n_tied + 1, i
        if n_tied == 1:
            return chosen
        if n_tied > 1:
            break
    highest_p = 0.0
    for i in range(n_left):
        if not is_rejected[i] and widened[i] == highest:
            p[i] = find_p(rounds.log_gamma, tables[left[i]], -1.0)
            highest_p = max(highest_p, p[i])
    bound, chosen = highest_p * (1.0 - rounds.p_tolerance), -1
    for i in range(n_left - 1, -1, -1):
        if not is_rejected[i] and widened[i] == highest:
            if is_close(p[i], bound, rounds.doubt):
                return -2
            if p[i] >= bound and (chosen < 0 or not rounds.to_leaf):
                chosen = i
    return chosen


def is_close(p, bound, doubt):  # type: ignore[no-untyped-def]
    """Whether the last digits of a p-value may decide on which side of a bound it lies, or digits are missing."""
    return abs(p - bound) <= doubt * bound or max(p, bound) < TINY


def bits_of(number):  # type: ignore[no-untyped-def]
    """How many planes a counter up to this number needs."""
    n_bits = 1
    while (number >> n_bits) > 0:
        n_bits += 1
    return n_bits


def shorten_rule(rows, rules, rounds, rule, outcome):  # type: ignore[no-untyped-def]
    """Delete conditions of one rule until none is deletable; return whether every comparison was clear."""
    begin, n_left = rules.offsets[rule], rules.offsets[rule + 1] - rules.offsets[rule]
    gained, left, class_id = rounds.gained, rounds.left, rules.leaf_class[rule]
    counts, tables = outcome.counts[rule], outcome.tables[begin : begin + n_left]
    right, total = np.int64(rules.leaf_counts[rule, class_id]), np.int64(0)
    for other in range(len(counts)):
        counts[other] = rules.leaf_counts[rule, other]
        total += np.int64(counts[other])
    if total == 0:
        return True
    for place in range(n_left):
        left[place] = place
        for other in range(len(counts)):
            gained[place, other] = 0
    start_rounds(rows, rounds, n_left, bits_of(n_left))
    while n_left > 0:
        for i in range(n_left):
            table, more = tables[left[i]], 0
            for other in range(len(counts)):
                more += gained[left[i], other]
            table[0], table[1], table[2], table[3] = right, total, gained[left[i], class_id], more
        chosen = choose(rounds, tables, n_left)
        if chosen < 0:
            return chosen == -1
        place = left[chosen]
        holds = rounds.widened[chosen] >= right / total - rounds.certainty_tolerance
        outcome.what[begin + place] = CERTAINTY_KEPT if holds else NOT_SIGNIFICANT
        right, total = right + tables[place, 2], total + tables[place, 3]
        for other in range(len(counts)):
            counts[other] += gained[place, other]
        for i in range(chosen, n_left - 1):
            left[i] = left[i + 1]
        delete_one(rows, rounds, place, n_left - 1, bits_of(n_left))
        n_left -= 1
    return True


def shorten_rules(rows, rules, rounds, outcome, first, last):  # type: ignore[no-untyped-def]
    """Shorten the rules from ``first`` to before ``last``."""
    offsets, links, planes = rules.offsets, rules.links, rounds.path_planes
    n_before, begin_before = np.int64(0), np.int64(0)
    for rule in range(first, last):
        begin, size = offsets[rule], offsets[rule + 1] - offsets[rule]
        n_shared = np.int64(0)
        while n_shared < min(n_before, size) and links[begin_before + n_shared] == links[begin + n_shared]:
            n_shared += 1
        for place in range(n_shared, n_before):
            count_out(planes, rounds.violates, place, rounds.spare)
        for place in range(n_shared, size):
            if place == n_shared and place < n_before:
                mark_others(rows, rounds.violates, place)  # two paths part at one test
            else:
                mark_violations(rows, rules, links[begin + place], rounds.violates, place)
            count_in(planes, rounds.violates, place, rounds.spare)
        n_before, begin_before = size, begin
        outcome.is_unsure[rule] = not shorten_rule(rows, rules, rounds, rule, outcome)
    for place in range(n_before):  # the counters are at zero again for whoever comes next
        count_out(planes, rounds.violates, place, rounds.spare)
