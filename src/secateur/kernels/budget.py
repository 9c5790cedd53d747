"""Deletion under a conflict budget, in plain Python that numba can compile; see :mod:`secateur.methods.budgeted`.

What an entry costs is the units of the rows that its deletion would bring into conflict: rows of another class, not in
conflict yet, that violate this one of the rule's kept conditions and no other. They are found by a walk of the tree
with the box of the other conditions down to *blocks* of rows, and *watched*: when a row comes into conflict by another
rule, every entry that watches it gets cheaper.

Entries wait in a binary heap by (cost, further leaves met, entry). A walk stops as soon as its entry is dearer than it
may be to matter now; what was found until then is a lower bound that stays one, for a rule only grows. An entry whose
account is not *settled* is walked again when it comes to the top, with a larger allowance, and further leaves are
counted for entries that tie. So dear conditions, the most of them, are never counted in full.

An entry that :mod:`secateur.kernels.budget_guard` refuses is set aside, *blocked* by a rule, and waits again once that
rule has changed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from secateur.kernels.budget_guard import NOT_BLOCKED, find_twin, stays_reliable
from secateur.kernels.walks import (
    copy_words,
    cut_high,
    cut_low,
    cut_words,
    has_value,
    narrow,
    open_feature,
)

__all__ = ["Accounts", "Rows", "count_kept", "spend"]

HEAP_SIZE, N_WATCHES, N_DELETED, MIXED_SPENT, REAL_SPENT, MODE, N_COUNTERS = 0, 1, 2, 3, 4, 5, 6
WATCH, COUNT, ADMIT, LEAVES = 0, 1, 2, 3
ALLOWANCE_GROWTH = 4


class Rows(NamedTuple):
    """The rows in the order of the leaves that they reach, left to right, so that every node has a run of them."""

    codes: Any  # of :class:`secateur.rows.coded_columns.CodedColumns`, column after column
    first_code: Any  # place of a feature's first row in codes
    limit_code: Any  # of each split: no larger code goes left, missing values apart
    missing_code: Any  # of each split: the code of missing values if they go left, else -1
    first: Any  # rows first[i] to last[i] - 1 pass node i
    last: Any
    table_start: Any  # first element of a categorical split in table; -1 elsewhere
    table: Any  # whether a category code goes left
    is_block: Any  # nodes whose rows are looked at together
    sibling: Any
    n_beyond: Any  # about how many rows satisfy a link
    maps: Any  # bit maps of rows, 64 to a word: values up to some thresholds
    map_of: Any  # the map that holds all rows of a link; -1 if none
    is_flipped: Any  # whether it holds them as zeros
    foreign: Any  # for each class, the bit map of rows that the tree predicts otherwise
    conflict: Any  # the bit map of rows in conflict
    near: Any  # room for the rows of a block
    one_bit: Any  # words with one bit set; none in the last
    from_bit: Any  # words with the bits from one on set
    last_watch: Any  # of each row; -1 if it has none
    trained: Any  # the bit map of training rows
    kind: Any  # rows of a kind are alike in what follows
    mixed: Any  # units of a row of a kind
    real: Any
    label: Any  # the own class of a training row
    weight: Any


class Accounts(NamedTuple):
    """What each entry is known to cost, who watches which row, and the heap."""

    cost: Any  # of a deleted entry, what was paid for it
    real_cost: Any
    further: Any
    is_settled: Any  # whether the cost was counted in full
    is_ranked: Any  # whether the further leaves were counted
    heap: Any  # entries that wait; at the other end those that were deleted, the first one last
    place: Any  # where an entry is in the heap; -1 if nowhere
    first_watch: Any  # an entry's watches before this one are void
    watch_entry: Any
    watch_before: Any  # the row's watch before this one
    kept: Any  # room for the kept entries of a rule
    test_link: Any  # room for what rows are tested by: the other side of an entry first, then kept ones
    test_code: Any  # where the codes of the link's feature begin
    test_limit: Any  # and what the link's split has in Rows
    test_missing: Any
    test_table: Any
    newly: Any  # room for the rows that a deletion brings into conflict
    admitted: Any  # room for the training rows that a deletion lets in, by their own class
    is_on_path: Any  # room for the nodes on a rule's path
    went_left: Any  # room for the forks of a walk: which side went first
    is_open: Any  # whether the other is still to be entered
    inner_low: Any  # and for what the rule itself allows the entry's feature there
    inner_high: Any
    inner_missing: Any
    inner_words: Any
    counters: Any  # HEAP_SIZE and so on; a mode as an argument would be compiled once for each


def is_before(one, other, cost, further):  # type: ignore[no-untyped-def]
    """Whether an entry goes before another."""
    if cost[one] != cost[other]:
        return cost[one] < cost[other]
    if further[one] != further[other]:
        return further[one] < further[other]
    return one < other


def sift(entry, size, heap, place, cost, further):  # type: ignore[no-untyped-def]
    """Move an entry whose key changed to where it belongs."""
    at = place[entry]
    while at > 0 and is_before(entry, heap[(at - 1) // 2], cost, further):
        heap[at] = heap[(at - 1) // 2]
        place[heap[at]] = at
        at = (at - 1) // 2
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and is_before(heap[child + 1], heap[child], cost, further):
            child += 1
        if not is_before(heap[child], entry, cost, further):
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = entry
    place[entry] = at


def find_cost(walk, box, rows, accounts, links, begin, end, deleted, entry, class_id, allowance):  # type: ignore[no-untyped-def]
    """What deleting one entry costs, in mixed units and in real units, and the number of rows.

    The walk stops when the mixed units exceed the allowance. In mode WATCH the rows are watched from then on, in mode
    COUNT nothing is noted. In mode LEAVES the cost is the further leaves met instead. Mode ADMIT is for a deletion that
    may come next: no cost is counted, but the rows are listed, and all training rows that the rule would newly cover
    are added up by their own class.
    """
    children_left, children_right, feature, upper = walk.children_left, walk.children_right, walk.feature, walk.upper
    missing_left, homogeneous, parent, is_left = walk.missing_left, walk.homogeneous, walk.parent, walk.is_left
    set_start, set_words, word_start = walk.set_start, walk.set_words, walk.word_start
    low, high, missing, words, forks = box.low, box.high, box.missing, box.words, box.forks
    saved_low, saved_high, saved_missing = box.saved_low, box.saved_high, box.saved_missing
    saved_words, width = box.saved_words, box.width
    codes, first_code, limit_code, missing_code = rows.codes, rows.first_code, rows.limit_code, rows.missing_code
    test_link, test_code, test_limit = accounts.test_link, accounts.test_code, accounts.test_limit
    test_missing, test_table = accounts.test_missing, accounts.test_table
    maps, map_of, is_flipped, foreign, conflict = rows.maps, rows.map_of, rows.is_flipped, rows.foreign, rows.conflict
    near, one_bit, from_bit, row_words = rows.near, rows.one_bit, rows.from_bit, len(rows.conflict)
    is_block, n_beyond, sibling = rows.is_block, rows.n_beyond, rows.sibling
    nothing = one_bit[64]
    kind, mixed, real, last_watch = rows.kind, rows.mixed, rows.real, rows.last_watch
    table_start, table = rows.table_start, rows.table
    kept, newly, counters, is_on_path = accounts.kept, accounts.newly, accounts.counters, accounts.is_on_path
    trained, label, weight, admitted = rows.trained, rows.label, rows.weight, accounts.admitted
    went_left, is_open = accounts.went_left, accounts.is_open
    watch_entry, watch_before, mode = accounts.watch_entry, accounts.watch_before, counters[MODE]
    first_row, last_row = rows.first, rows.last
    inner_low, inner_high, inner_missing = accounts.inner_low, accounts.inner_high, accounts.inner_missing
    inner_words = accounts.inner_words
    own_node, own_left = parent[links[entry]], is_left[links[entry]]
    own = feature[own_node]
    own_words, own_first = word_start[own + 1] - word_start[own], word_start[own]

    # The box of what stays, on the side that the entry excludes; `inner` is what the rule allows the feature with it.
    top = entry
    for other in range(entry, begin - 1, -1):
        if deleted[other]:
            top = other
    n_kept = 0
    possible = True
    for other in range(begin, end):
        is_on_path[links[other]] = True
        if other != entry and not deleted[other]:
            if other > top:  # rows that reach the walk's first node satisfy the conditions above it
                k = n_kept
                while k > 0 and n_beyond[links[kept[k - 1]]] > n_beyond[links[other]]:
                    kept[k] = kept[k - 1]
                    k -= 1
                kept[k] = other  # the most selective first
                n_kept += 1
            node, to_left = parent[links[other]], is_left[links[other]]
            tested = feature[node]
            if set_start[node] < 0:
                low[tested] = cut_low(low[tested], upper[node], to_left)
                high[tested] = cut_high(high[tested], upper[node], to_left)
                missing[tested] = missing[tested] and missing_left[node] == to_left
                possible = possible and (missing[tested] or low[tested] < high[tested])
            else:
                narrow(walk, box, node, to_left)
                possible = possible and has_value(walk, box, tested)
    for k in range(n_kept + 1):
        link = sibling[links[entry]] if k == 0 else links[kept[k - 1]]
        split = parent[link]
        test_link[k], test_code[k] = link, first_code[feature[split]]
        test_limit[k], test_missing[k], test_table[k] = limit_code[split], missing_code[split], table_start[split]
    inner_low[0] = cut_low(low[own], upper[own_node], own_left)
    inner_high[0] = cut_high(high[own], upper[own_node], own_left)
    inner_missing[0] = missing[own] and missing_left[own_node] == own_left
    if own_words > 0:
        copy_words(inner_words, 0, words, own_first, own_words)
        cut_words(inner_words, 0, own_words, set_words, set_start[own_node], own_left)
    narrow(walk, box, own_node, not own_left)

    cost, real_cost, found = 0, 0, 0
    n_forks = 0
    at = 0  # place of the inner region
    node = -1
    if possible and has_value(walk, box, own):
        node = parent[links[top]]
    while node >= 0:
        if (homogeneous[node] != class_id or mode == ADMIT) and cost <= allowance:
            tested = feature[node]
            if tested >= 0 and (mode == LEAVES or not is_block[node]):
                on_left = missing[tested] and missing_left[node]
                on_right = missing[tested] and not missing_left[node]
                chosen = set_start[node]
                first = word_start[tested]
                n_words = word_start[tested + 1] - first
                if chosen < 0:
                    on_left = on_left or low[tested] < cut_high(high[tested], upper[node], True)
                    on_right = on_right or cut_low(low[tested], upper[node], False) < high[tested]
                else:
                    for k in range(n_words):
                        on_left = on_left or words[first + k] & set_words[chosen + k] != 0
                        on_right = on_right or words[first + k] & ~set_words[chosen + k] != 0
                # Rows are likeliest beside the rule's own path: its side of a fork goes first.
                to_left = on_left and not (on_right and is_on_path[children_right[node]])
                if tested == own or (on_left and on_right):
                    # The inner region narrows with every split of the entry's feature, the box only where both sides
                    # are met.
                    forks[n_forks] = node
                    went_left[n_forks] = to_left
                    is_open[n_forks] = on_left and on_right
                    saved_low[n_forks], saved_high[n_forks] = low[tested], high[tested]
                    saved_missing[n_forks] = missing[tested]
                    low[tested] = cut_low(low[tested], upper[node], to_left)
                    high[tested] = cut_high(high[tested], upper[node], to_left)
                    missing[tested] = missing[tested] and missing_left[node] == to_left
                    if chosen >= 0:
                        copy_words(saved_words, n_forks * width, words, first, n_words)
                        cut_words(words, first, n_words, set_words, chosen, to_left)
                    n_forks += 1
                    if tested == own:
                        inner_low[at + 1] = cut_low(inner_low[at], upper[node], to_left)
                        inner_high[at + 1] = cut_high(inner_high[at], upper[node], to_left)
                        inner_missing[at + 1] = inner_missing[at] and missing_left[node] == to_left
                        if chosen >= 0:
                            copy_words(inner_words, (at + 1) * width, inner_words, at * width, n_words)
                            cut_words(inner_words, (at + 1) * width, n_words, set_words, chosen, to_left)
                        at += 1
                node = children_left[node] if to_left else children_right[node]
                continue
            if mode == LEAVES:
                is_met = inner_missing[at] or (own_words == 0 and inner_low[at] < inner_high[at])
                for k in range(own_words):
                    is_met = is_met or inner_words[at * width + k] != 0
                if not is_met:
                    cost += 1
            else:
                # Maps of coarser thresholds narrow the rows 64 at a time; the rows that are left are looked at.
                begin_word, end_word = first_row[node] // 64, (last_row[node] + 63) // 64
                n_words = end_word - begin_word
                for w in range(n_words):
                    near[w] = foreign[class_id * row_words + begin_word + w] & ~conflict[begin_word + w]
                    if mode == ADMIT:
                        near[w] |= trained[begin_word + w]
                if n_words > 0:
                    near[0] &= from_bit[first_row[node] % 64]
                    if last_row[node] % 64 > 0:
                        near[n_words - 1] &= ~from_bit[last_row[node] % 64]
                some = n_words > 0
                for k in range(n_kept + 1):
                    link = test_link[k]
                    if not some or map_of[link] < 0:
                        continue
                    place = map_of[link] * row_words + begin_word
                    left = nothing
                    if is_flipped[link]:
                        for w in range(n_words):
                            near[w] &= ~maps[place + w]
                            left |= near[w]
                    else:
                        for w in range(n_words):
                            near[w] &= maps[place + w]
                            left |= near[w]
                    some = left != nothing
                for w in range(n_words if some else 0):
                    bit = 0
                    while bit < 64 and near[w] & from_bit[bit] != nothing:
                        row = (begin_word + w) * 64 + bit
                        bit += 1
                        covered = near[w] & one_bit[bit - 1] != nothing and cost <= allowance
                        k = 0
                        while covered and k <= n_kept:
                            code = codes[test_code[k] + row]
                            goes_left = code <= test_limit[k] and (test_table[k] < 0 or table[test_table[k] + code])
                            covered = (goes_left or code == test_missing[k]) == is_left[test_link[k]]
                            k += 1
                        if not covered:
                            continue
                        if mode == ADMIT:
                            word, own_bit = begin_word + w, one_bit[bit - 1]
                            if trained[word] & own_bit != nothing:
                                admitted[label[kind[row]]] += weight[kind[row]]
                            if foreign[class_id * row_words + word] & ~conflict[word] & own_bit != nothing:
                                newly[found] = row
                                found += 1
                            continue
                        cost += mixed[kind[row]]
                        real_cost += real[kind[row]]
                        if mode == WATCH:
                            watch = counters[N_WATCHES]
                            watch_entry[watch] = entry
                            watch_before[watch] = last_watch[row]
                            last_watch[row] = watch
                            counters[N_WATCHES] = watch + 1
                        found += 1
        node = -1
        while n_forks > 0 and node < 0:  # back to the last fork whose other side is still to be entered
            n_forks -= 1
            fork, to_left = forks[n_forks], not went_left[n_forks]
            tested = feature[fork]
            low[tested], high[tested] = saved_low[n_forks], saved_high[n_forks]
            missing[tested] = saved_missing[n_forks]
            chosen = set_start[fork]
            first = word_start[tested]
            n_words = word_start[tested + 1] - first
            if chosen >= 0:
                copy_words(words, first, saved_words, n_forks * width, n_words)
            if tested == own:
                at -= 1
            if is_open[n_forks] and cost <= allowance:
                is_open[n_forks] = False
                n_forks += 1
                low[tested] = cut_low(low[tested], upper[fork], to_left)
                high[tested] = cut_high(high[tested], upper[fork], to_left)
                missing[tested] = missing[tested] and missing_left[fork] == to_left
                if chosen >= 0:
                    cut_words(words, first, n_words, set_words, chosen, to_left)
                if tested == own:
                    inner_low[at + 1] = cut_low(inner_low[at], upper[fork], to_left)
                    inner_high[at + 1] = cut_high(inner_high[at], upper[fork], to_left)
                    inner_missing[at + 1] = inner_missing[at] and missing_left[fork] == to_left
                    if chosen >= 0:
                        copy_words(inner_words, (at + 1) * width, inner_words, at * width, n_words)
                        cut_words(inner_words, (at + 1) * width, n_words, set_words, chosen, to_left)
                    at += 1
                node = children_left[fork] if to_left else children_right[fork]
    for other in range(begin, end):
        is_on_path[links[other]] = False
        tested = feature[parent[links[other]]]
        low[tested], high[tested], missing[tested] = -float("inf"), float("inf"), walk.accepts_missing[tested]
        if set_start[parent[links[other]]] >= 0:
            open_feature(walk, box, tested)
    return cost, real_cost, found


def wait_again(entry, accounts, blocked_by):  # type: ignore[no-untyped-def]
    """Put a blocked entry back into the heap; what it costs is a lower bound still."""
    size = accounts.counters[HEAP_SIZE]
    blocked_by[entry] = NOT_BLOCKED
    accounts.heap[size], accounts.place[entry] = entry, size
    accounts.counters[HEAP_SIZE] = size + 1
    sift(entry, size + 1, accounts.heap, accounts.place, accounts.cost, accounts.further)


def spend(  # type: ignore[no-untyped-def]
    walk, box, rows, accounts, guard, offsets, links, rule_of, leaf_class, deleted, limits
):
    """Delete the cheapest entry that fits until none does; return False when there must be room for more watches first.

    An entry that does not fit never will: rows in conflict stay there, and a rule only grows.
    """
    heap, place, counters = accounts.heap, accounts.place, accounts.counters
    cost, further = accounts.cost, accounts.further
    real_cost, is_settled, is_ranked = accounts.real_cost, accounts.is_settled, accounts.is_ranked
    first_watch, newly = accounts.first_watch, accounts.newly
    watch_entry, watch_before = accounts.watch_entry, accounts.watch_before
    kind, mixed, real, last_watch = rows.kind, rows.mixed, rows.real, rows.last_watch
    counts, admitted, blocked_by = guard.counts, accounts.admitted, guard.blocked_by
    while counters[HEAP_SIZE] > 0:
        entry = heap[0] + 0  # a number of 64 bits, as elsewhere: each type of number would be compiled
        size = counters[HEAP_SIZE]
        rule = rule_of[entry]
        begin, end = offsets[rule], offsets[rule + 1]
        if counters[MIXED_SPENT] + cost[entry] > limits[0]:
            return True
        if not is_settled[entry]:
            if counters[N_WATCHES] + len(kind) > len(watch_entry):
                return False
            allowance = ALLOWANCE_GROWTH * cost[entry]
            for k in range(1, min(size, 3)):
                allowance = max(allowance, cost[heap[k]])
            first_watch[entry] = counters[N_WATCHES]
            counters[MODE] = WATCH
            cost[entry], real_cost[entry], _ = find_cost(
                walk, box, rows, accounts, links, begin, end, deleted, entry, leaf_class[rule], allowance
            )
            is_settled[entry] = cost[entry] <= allowance
            sift(entry, size, heap, place, cost, further)
            continue
        is_tied = False
        for k in range(1, min(size, 3)):
            is_tied = is_tied or cost[heap[k]] == cost[entry]
        if is_tied and not is_ranked[entry]:
            allowance = ALLOWANCE_GROWTH * further[entry]
            for k in range(1, min(size, 3)):
                if cost[heap[k]] == cost[entry]:
                    allowance = max(allowance, further[heap[k]])
            counters[MODE] = LEAVES
            further[entry] = find_cost(
                walk, box, rows, accounts, links, begin, end, deleted, entry, leaf_class[rule], allowance
            )[0]
            is_ranked[entry] = further[entry] <= allowance
            sift(entry, size, heap, place, cost, further)
            continue
        last = heap[size - 1] + 0
        heap[0], place[last], place[entry] = last, 0, -1
        counters[HEAP_SIZE] = size - 1
        if size > 1:
            sift(last, size - 1, heap, place, cost, further)
        if counters[REAL_SPENT] + real_cost[entry] > limits[1]:
            continue
        blocked_by[entry] = rule
        for k in range(len(admitted)):
            admitted[k] = 0
        counters[MODE] = ADMIT
        n_new = find_cost(walk, box, rows, accounts, links, begin, end, deleted, entry, leaf_class[rule], 0)[2]
        if not stays_reliable(accounts, guard, rule, leaf_class[rule], entry):
            continue
        deleted[entry] = True  # for this question
        twin = find_twin(walk, box, accounts, guard, offsets, links, leaf_class, deleted, rule)
        deleted[entry] = False
        if twin >= 0:
            blocked_by[entry] = twin
            guard.is_awaited[twin] = True
            continue
        blocked_by[entry] = NOT_BLOCKED
        counters[MIXED_SPENT] += cost[entry]
        counters[REAL_SPENT] += real_cost[entry]
        counters[N_DELETED] += 1
        heap[len(heap) - counters[N_DELETED]] = entry
        first_watch[entry] = counters[N_WATCHES]  # what was paid stays
        deleted[entry] = True
        for k in range(len(admitted)):
            counts[rule, k] += admitted[k]
        for other in range(begin, end):
            if blocked_by[other] != NOT_BLOCKED:
                wait_again(other, accounts, blocked_by)
            if place[other] >= 0:
                further[other], is_settled[other], is_ranked[other] = 0, False, False
                sift(other, counters[HEAP_SIZE], heap, place, cost, further)
        if guard.is_awaited[rule]:
            guard.is_awaited[rule] = False
            for other in range(len(links)):
                if blocked_by[other] == rule:
                    wait_again(other, accounts, blocked_by)
        for k in range(n_new):
            row = newly[k]
            rows.conflict[row // 64] |= rows.one_bit[row % 64]
            watch = last_watch[row]
            while watch >= 0:
                other = watch_entry[watch] + 0
                if watch >= first_watch[other]:
                    cost[other] -= mixed[kind[row]]
                    real_cost[other] -= real[kind[row]]
                    if place[other] >= 0:
                        sift(other, counters[HEAP_SIZE], heap, place, cost, further)
                watch = watch_before[watch]
    return True


def count_kept(walk, box, rows, accounts, offsets, links, rule_of, leaf_class, deleted, is_open, most):  # type: ignore[no-untyped-def]
    """What deleting each entry that was kept would cost, counted in full."""
    for entry in range(len(links)):
        rule = rule_of[entry]
        if is_open[rule] and not deleted[entry]:
            accounts.counters[MODE] = COUNT
            begin, end = offsets[rule], offsets[rule + 1]
            found = find_cost(walk, box, rows, accounts, links, begin, end, deleted, entry, leaf_class[rule], most)
            accounts.cost[entry], accounts.real_cost[entry] = found[0], found[1]
