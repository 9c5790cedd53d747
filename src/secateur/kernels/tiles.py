"""Count and decide rows by bit masks, 1024 rows at a time, in plain Python that numba compiles.

A *tile* of rows is small enough that its columns and the masks of all its tests stay in the processor's cache. Every
distinct test is made once; its mask holds the rows that go left. A *condition* is a number: twice its test, plus one
for the right side, whose rows are the complement.
"""

from typing import Any, NamedTuple

import numpy as np

TILE_WORDS = 16
TILE_ROWS = 1024
LINE_ROWS = 16
# A rule's rows are split by up to this many tests as masks; by more of them, it pays to look at the rows one by one.
SPLIT_TESTS = 6
# A column with more tests than this is searched for the place of each row's value among their limits; with fewer, every
# row is compared with every limit, many rows at once.
COMPARED_TESTS = 16


class Tests(NamedTuple):
    """The distinct tests of a tree, column by column; of a column, first those of numbers by their limits."""

    slot: Any  # place of a test's mask: tests that are near in the tree have masks that are near in memory
    first: Any  # first test of each column of a block, shape (n_columns + 1,)
    n_limits: Any  # how many tests of numbers a column has
    most_limits: Any  # the most that a column has
    limit: Any
    missing_left: Any
    table_start: Any  # first element of a test of categories in table; -1 elsewhere
    table: Any  # whether a category code goes left
    takes_missing: Any  # whether a column may hold NaN


class RuleConditions(NamedTuple):
    """The conditions of some rules, firm and open; see :mod:`secateur.counting.violations`."""

    firm_offsets: Any
    firm: Any
    longest: Any  # the most firm conditions that a rule has
    shared: Any  # how many of its first firm conditions are also the first ones of the rule before
    open_offsets: Any
    open: Any
    cell: Any  # a rule's first cell, and behind the last rule where cells end
    is_paired: Any  # whether only rows that violate up to two open conditions are told apart


class Room(NamedTuple):
    """Room for a thread to work in; masks have a row of ``TILE_WORDS`` words."""

    buffer: Any  # the tile's columns, shape (n_columns, TILE_ROWS)
    places: Any  # shape (TILE_ROWS,)
    buckets: Any  # shape (most limits of a column, TILE_WORDS)
    masks: Any  # of the tests
    reached: Any  # by depth
    members: Any  # of the classes
    parts: Any  # of a rule, shape (2 ** SPLIT_TESTS, TILE_WORDS)
    prefixes: Any  # of a rule's firm conditions; the first one is empty, so its mask holds all rows


class Preorder(NamedTuple):
    """The nodes of a tree, a node before what is below it."""

    depth: Any
    condition: Any
    beyond: Any  # place after the last node of the subtree
    rule: Any  # the leaf's rule; -1 at an internal node


def count_ones(word):  # type: ignore[no-untyped-def]
    """Number of bits that are set; LLVM knows this sum and makes it one instruction."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


def lowest_bit(word):  # type: ignore[no-untyped-def]
    """Place of the lowest bit that is set."""
    return count_ones(~word & (word - np.uint64(1)))


def flip_of(condition):  # type: ignore[no-untyped-def]
    """The bits to flip in the mask of a condition's test: all for the right side."""
    return np.uint64(0) - np.uint64(condition & 1)


def rank_column(values, limits, slot, begin, end, places, buckets, masks):  # type: ignore[no-untyped-def]
    """Make the masks of tests with rising limits: a row goes left from the first limit that is not below its value."""
    for test in range(end - begin):
        for k in range(TILE_WORDS):
            buckets[test, k] = np.uint64(0)
    for row in range(TILE_ROWS):
        places[row] = begin
    size = np.int32(end - begin)
    while size > 1:  # all rows take a step together: one search would wait for itself at every step
        half = np.int32(size >> 1)
        for row in range(TILE_ROWS):
            place = places[row]
            if limits[np.uint32(place + half - 1)] < values[row]:
                place += half
            places[row] = place
        size -= half
    for row in range(TILE_ROWS):
        test, value = places[row] - begin, values[row]
        if limits[begin + test] < value:
            test += 1
        if test < end - begin and value == value:
            buckets[test, row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    for test in range(end - begin):
        to, before = slot[begin + test], max(test - 1, 0)
        for k in range(TILE_WORDS):
            buckets[test, k] |= buckets[before, k]
        for k in range(TILE_WORDS):
            masks[to, k] = buckets[test, k]


def pack_tile(values, at, step, columns, n_rows, tests, buffer, places, buckets, masks, valid):  # type: ignore[no-untyped-def]
    """Put the tile's columns one after another, then pack the left side of every test to bits.

    The first row of ``valid`` becomes the mask of all rows.
    """
    for k in range(TILE_WORDS):
        n_bits = min(64, max(0, n_rows - 64 * k))
        valid[0, k] = ~np.uint64(0) if n_bits == 64 else (np.uint64(1) << np.uint64(n_bits)) - np.uint64(1)
    if step == 1:  # a column lies in one piece
        for column in range(len(columns)):
            for row in range(n_rows):
                buffer[column, row] = values[at + row + columns[column]]
    else:
        for begin in range(0, n_rows, LINE_ROWS):  # what lies in one line of the processor's cache is written together
            for column in range(len(columns)):
                for row in range(begin, min(begin + LINE_ROWS, n_rows)):
                    buffer[column, row] = values[at + row * step + columns[column]]
    for column in range(len(columns)):
        cells = buffer[column]
        begin, end = tests.first[column], tests.first[column + 1]
        beyond = begin + tests.n_limits[column]
        if beyond - begin > COMPARED_TESTS:
            rank_column(cells, tests.limit, tests.slot, begin, beyond, places, buckets, masks)
        else:
            for test in range(begin, beyond):
                limit, to = tests.limit[test], tests.slot[test]
                for k in range(TILE_WORDS):
                    word = np.uint64(0)
                    for bit in range(64):
                        word |= np.uint64(cells[64 * k + bit] <= limit) << np.uint64(bit)
                    masks[to, k] = word
        for test in range(beyond, end):
            start, to = tests.table_start[test], tests.slot[test]
            for k in range(TILE_WORDS):
                word = np.uint64(0)
                for bit in range(64):
                    value = cells[64 * k + bit]
                    if value == value and tests.table[start + np.int64(value)]:
                        word |= np.uint64(1) << np.uint64(bit)
                masks[to, k] = word
        if tests.takes_missing[column]:
            for k in range(TILE_WORDS):
                word = np.uint64(0)
                for bit in range(64):
                    value = cells[64 * k + bit]
                    word |= np.uint64(value != value) << np.uint64(bit)
                for test in range(begin, end):
                    if tests.missing_left[test]:
                        masks[tests.slot[test], k] |= word


def meet_conditions(masks, conditions, begin, end, prefixes, n_known):  # type: ignore[no-untyped-def]
    """Find the rows that satisfy a rule's firm conditions; the masks of the first ``n_known`` prefixes are known.

    Return how many prefixes are known then, and whether any row is left; the search stops where none is.
    """
    for place in range(n_known, end - begin):
        condition = conditions[begin + place]
        test, flip = condition >> 1, flip_of(condition)
        some = np.uint64(0)
        for k in range(TILE_WORDS):
            word = prefixes[place, k] & (masks[test, k] ^ flip)
            prefixes[place + 1, k] = word
            some |= word
        if some == np.uint64(0):
            return place + 1, False
    return end - begin, True


def add_rows(mask, first, last, members, class_ids, weights, row, cells, cell):  # type: ignore[no-untyped-def]
    """Add the (weighted) rows of masks, class by class, to a cell each."""
    for part in range(last - first):
        if len(weights) == 0:
            for class_id in range(len(members)):
                total = 0
                for k in range(TILE_WORDS):
                    total += count_ones(mask[first + part, k] & members[class_id, k])
                cells[cell + part, class_id] += total
        else:
            for k in range(TILE_WORDS):
                word = mask[first + part, k]
                while word != np.uint64(0):
                    found = row + 64 * k + lowest_bit(word)
                    cells[cell + part, class_ids[found]] += weights[found]
                    word &= word - np.uint64(1)


def count_leaves(masks, valid, nodes, reached, members, class_ids, weights, row, leaf_counts):  # type: ignore[no-untyped-def]
    """Add the rows of a tile to the leaves that they reach.

    Paths that begin alike share the work: a node's rows are those of its parent on its side. A subtree that no row
    reaches is skipped.
    """
    for k in range(TILE_WORDS):
        reached[0, k] = valid[0, k]
    node = 0
    while node < len(nodes.depth):
        depth, some = nodes.depth[node], np.uint64(1)
        if depth > 0:
            condition, some = nodes.condition[node], np.uint64(0)
            test, flip = condition >> 1, flip_of(condition)
            for k in range(TILE_WORDS):
                word = reached[depth - 1, k] & (masks[test, k] ^ flip)
                reached[depth, k] = word
                some |= word
        if some == np.uint64(0):
            node = nodes.beyond[node]
            continue
        if nodes.rule[node] >= 0:
            add_rows(reached, depth, depth + 1, members, class_ids, weights, row, leaf_counts, nodes.rule[node])
        node += 1


def count_by_violations(  # type: ignore[no-untyped-def]
    values, origin, step, columns, first, last, class_ids, weights, tests, nodes, rules, room, leaf_counts, cells
):
    """Count the rows of a block by the leaf they reach, and for every rule by the conditions they violate.

    ``first`` and ``last`` are the block's place among all rows. Without weights, an empty array of them is passed.
    """
    buffer, places, buckets, masks = room.buffer, room.places, room.buckets, room.masks
    reached, members, parts, prefixes = room.reached, room.members, room.parts, room.prefixes
    for row in range(first, last, TILE_ROWS):
        n_rows = min(TILE_ROWS, last - row)
        at = origin + (row - first) * step
        pack_tile(values, at, step, columns, n_rows, tests, buffer, places, buckets, masks, prefixes)
        for class_id in range(len(members)):
            for k in range(TILE_WORDS):
                members[class_id, k] = np.uint64(0)
        for bit in range(n_rows):
            members[class_ids[row + bit], bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
        if len(nodes.depth) > 0:
            count_leaves(masks, prefixes, nodes, reached, members, class_ids, weights, row, leaf_counts)
        n_known, is_met = 0, True
        for rule in range(len(rules.shared)):
            # Neighbours share the beginning of their paths: where that holds no row, the rule is not looked at.
            if not is_met and n_known <= rules.shared[rule]:
                continue
            begin, end = rules.firm_offsets[rule], rules.firm_offsets[rule + 1]
            n_known = min(n_known, rules.shared[rule])
            n_known, is_met = meet_conditions(masks, rules.firm, begin, end, prefixes, n_known)
            if not is_met:
                continue
            begin, end, cell = rules.open_offsets[rule], rules.open_offsets[rule + 1], rules.cell[rule]
            if end == begin:
                add_rows(prefixes, n_known, n_known + 1, members, class_ids, weights, row, cells, cell)
            elif rules.is_paired:
                count_pairs(
                    prefixes,
                    n_known,
                    masks,
                    rules.open,
                    begin,
                    end,
                    parts,
                    members,
                    class_ids,
                    weights,
                    row,
                    cells,
                    cell,
                )
            elif is_many(prefixes, n_known, end - begin):
                n_parts = split_rows(prefixes, n_known, masks, rules.open, begin, end, parts)
                add_rows(parts, np.int64(0), n_parts, members, class_ids, weights, row, cells, cell)
            else:
                add_patterns(prefixes, n_known, masks, rules.open, begin, end, class_ids, weights, row, cells, cell)


def is_many(mask, at, n_open):  # type: ignore[no-untyped-def]
    """Whether splitting the mask costs less than looking at its rows one by one."""
    if n_open > SPLIT_TESTS:
        return False
    n_rows = 0
    for k in range(TILE_WORDS):
        n_rows += count_ones(mask[at, k])
    return n_rows * n_open > 16 << n_open


def count_pairs(mask, at, masks, conditions, begin, end, parts, members, class_ids, weights, row, cells, cell):  # type: ignore[no-untyped-def]
    """Count rows by the one or two conditions that they violate; those that violate none or more are not looked at."""
    n_open = end - begin
    for k in range(TILE_WORDS):
        inside = mask[at, k]
        some, several, many = np.uint64(0), np.uint64(0), np.uint64(0)  # violate at least one, two, three conditions
        if inside != np.uint64(0):
            for place in range(begin, end):
                violated = inside & ~(masks[conditions[place] >> 1, k] ^ flip_of(conditions[place]))
                many |= several & violated
                several |= some & violated
                some |= violated
        parts[0, k] = inside & ~some
        parts[1, k] = many
        word = some & ~many
        while word != np.uint64(0):
            bit = lowest_bit(word)
            low, high = -1, -1
            for place in range(begin, end):
                violated = ~(masks[conditions[place] >> 1, k] ^ flip_of(conditions[place]))
                if (violated >> np.uint64(bit)) & np.uint64(1):
                    low, high = high, place - begin
            to = cell + 1 + high if low < 0 else cell + 1 + n_open + high * (high - 1) // 2 + low
            found = row + 64 * k + bit
            cells[to, class_ids[found]] += 1.0 if len(weights) == 0 else weights[found]
            word &= word - np.uint64(1)
    for part in range(2):
        to = cell if part == 0 else cell + 1 + n_open + n_open * (n_open - 1) // 2
        add_rows(parts, part, part + 1, members, class_ids, weights, row, cells, to)


def split_rows(mask, at, masks, conditions, begin, end, parts):  # type: ignore[no-untyped-def]
    """Split the rows of a mask by which conditions they violate; return the number of parts, one for each pattern."""
    for k in range(TILE_WORDS):
        parts[0, k] = mask[at, k]
    n_parts = 1
    for place in range(begin, end):
        test, flip = conditions[place] >> 1, flip_of(conditions[place])
        for part in range(n_parts):
            for k in range(TILE_WORDS):
                word = parts[part, k]
                inside = word & (masks[test, k] ^ flip)
                parts[part, k] = inside
                parts[n_parts + part, k] = word ^ inside
        n_parts *= 2
    return n_parts


def add_patterns(mask, at, masks, conditions, begin, end, class_ids, weights, row, cells, cell):  # type: ignore[no-untyped-def]
    """Add the rows of a mask, one by one, to the cells of the patterns of conditions that they violate."""
    for k in range(TILE_WORDS):
        word = mask[at, k]
        while word != np.uint64(0):
            bit = lowest_bit(word)
            pattern = 0
            for place in range(begin, end):
                violated = ~(masks[conditions[place] >> 1, k] ^ flip_of(conditions[place]))
                pattern |= np.int64((violated >> np.uint64(bit)) & np.uint64(1)) << (place - begin)
            found = row + 64 * k + bit
            cells[cell + pattern, class_ids[found]] += 1.0 if len(weights) == 0 else weights[found]
            word &= word - np.uint64(1)


def cover_block(  # type: ignore[no-untyped-def]
    values, origin, step, columns, n_rows, tests, rules, rank, class_of, room, best, n_covering, class_ids, counts
):
    """Lower ``best`` to the rank of the first rule that covers each row of a block.

    ``n_covering`` gets the number of classes, up to two, whose rules cover a row, and ``counts`` the rows of each class
    that each rule covers; empty arrays ask for neither.
    """
    buffer, places, buckets, masks = room.buffer, room.places, room.buckets, room.masks
    prefixes, by_class = room.prefixes, room.members
    for row in range(0, n_rows, TILE_ROWS):
        n_left = min(TILE_ROWS, n_rows - row)
        pack_tile(values, origin + row * step, step, columns, n_left, tests, buffer, places, buckets, masks, prefixes)
        for class_id in range(len(by_class)):
            for k in range(TILE_WORDS):
                by_class[class_id, k] = np.uint64(0)
        n_known, is_met = 0, True
        for rule in range(len(rules.shared)):
            # Neighbours share the beginning of their paths, as in count_by_violations.
            if not is_met and n_known <= rules.shared[rule]:
                continue
            begin, end = rules.firm_offsets[rule], rules.firm_offsets[rule + 1]
            n_known = min(n_known, rules.shared[rule])
            n_known, is_met = meet_conditions(masks, rules.firm, begin, end, prefixes, n_known)
            if not is_met:
                continue
            for k in range(TILE_WORDS):
                word = prefixes[n_known, k]
                if len(by_class) > 0:
                    by_class[class_of[rule], k] |= word
                while word != np.uint64(0):
                    at = row + 64 * k + lowest_bit(word)
                    best[at] = min(best[at], rank[rule])
                    if len(counts) > 0:
                        counts[rule, class_ids[at]] += 1
                    word &= word - np.uint64(1)
        if len(n_covering) > 0:
            for bit in range(n_left):
                found = 0
                for class_id in range(len(by_class)):
                    if (by_class[class_id, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1):
                        found += 1
                n_covering[row + bit] = min(found, 2)
