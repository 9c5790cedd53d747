"""The few functions that walk trees with a rule's box, in plain Python that numba can compile.

Nothing here imports numba: :mod:`secateur.kernels.running` compiles these functions on first use, small trees run
them as they are, and the tests compare both. They index and compare only, so that they accept lists as well as arrays.

A *box* is what a conjunction of conditions allows, feature by feature: an interval ``low < x <= high`` for numbers, a
set of category codes (64 to a word), and whether NaN is allowed. It is narrowed and restored in place.

Compiled code passes a tuple of arrays by copying it whole, which costs more than a step of a walk. So loops take their
arrays out of :class:`Walkable` and :class:`Box` first, and what is called once a step takes plain numbers.
"""

from typing import Any, NamedTuple

NOT_ASKED = -2  # -1 marks a rule that meets no leaf of another class


class Walkable(NamedTuple):
    """The arrays of a tree that a walk reads; lists do as well as arrays."""

    children_left: Any
    children_right: Any
    feature: Any
    upper: Any
    missing_left: Any
    homogeneous: Any
    parent: Any
    is_left: Any
    set_start: Any  # first word of the node's left set in set_words; -1 at a numeric split
    set_words: Any
    word_start: Any  # first word of a feature's set in Box.words, shape (n_features + 1,)
    domain_words: Any  # all codes of each categorical feature
    accepts_missing: Any


class Box(NamedTuple):
    """The box under study, room to restore it during a walk, and what :func:`delete_links` notes of a path."""

    low: Any
    high: Any
    missing: Any
    words: Any
    forks: Any  # nodes whose two sides a walk enters; -1 - node once it is in the right one
    saved_low: Any
    saved_high: Any
    saved_missing: Any
    saved_words: Any  # width words for each fork
    width: Any
    later_low: Any
    later_high: Any
    later_missing: Any
    kept_low: Any
    kept_high: Any
    kept_missing: Any


def cut_low(low, limit, to_left):  # type: ignore[no-untyped-def]
    """The lower end of an interval on one side of a split; the limit NaN of a categorical split leaves it."""
    return limit if not to_left and limit > low else low


def cut_high(high, limit, to_left):  # type: ignore[no-untyped-def]
    """The upper end of an interval on one side of a split; the limit NaN of a categorical split leaves it."""
    return limit if to_left and limit < high else high


def cut_words(words, first, n_words, set_words, start, to_left):  # type: ignore[no-untyped-def]
    """Intersect a feature's category set with one side of a split."""
    for k in range(n_words):
        if to_left:
            words[first + k] &= set_words[start + k]
        else:
            words[first + k] &= ~set_words[start + k]


def copy_words(target, at, source, first, n_words):  # type: ignore[no-untyped-def]
    """Copy a feature's category set."""
    for k in range(n_words):
        target[at + k] = source[first + k]


def narrow(walk, box, node, to_left):  # type: ignore[no-untyped-def]
    """Intersect the box with one side of a split."""
    tested = walk.feature[node]
    box.low[tested] = cut_low(box.low[tested], walk.upper[node], to_left)
    box.high[tested] = cut_high(box.high[tested], walk.upper[node], to_left)
    box.missing[tested] = box.missing[tested] and walk.missing_left[node] == to_left
    if walk.set_start[node] >= 0:
        first = walk.word_start[tested]
        n_words = walk.word_start[tested + 1] - first
        cut_words(box.words, first, n_words, walk.set_words, walk.set_start[node], to_left)


def open_feature(walk, box, tested):  # type: ignore[no-untyped-def]
    """Allow a feature its whole domain."""
    box.low[tested], box.high[tested] = -float("inf"), float("inf")
    box.missing[tested] = walk.accepts_missing[tested]
    first = walk.word_start[tested]
    copy_words(box.words, first, walk.domain_words, first, walk.word_start[tested + 1] - first)


def meet_feature(walk, box, links, begin, end, deleted, tested):  # type: ignore[no-untyped-def]
    """Set a feature of the box to what the rule's kept conditions on it allow."""
    open_feature(walk, box, tested)
    for entry in range(begin, end):
        node = walk.parent[links[entry]]
        if walk.feature[node] == tested and not deleted[entry]:
            narrow(walk, box, node, walk.is_left[links[entry]])


def has_value(walk, box, tested):  # type: ignore[no-untyped-def]
    """Whether the box leaves a feature any value."""
    first, last = walk.word_start[tested], walk.word_start[tested + 1]
    some = box.missing[tested] or (first == last and box.low[tested] < box.high[tested])
    for word in range(first, last):
        some = some or box.words[word] != 0
    return some


def is_possible(walk, box, links, begin, end):  # type: ignore[no-untyped-def]
    """Whether the box leaves every feature of a rule's path a value."""
    for entry in range(begin, end):  # noqa: SIM110  # numba compiles no generator expression here
        if not has_value(walk, box, walk.feature[walk.parent[links[entry]]]):
            return False
    return True


def find_foreign(walk, box, node, class_id, most):  # type: ignore[no-untyped-def]
    """The leftmost leaf of another class at or below a node that meets the box, else -1, and how many there are.

    The search ends when so many are found, and the box is restored. Subtrees whose leaves all have the class are
    skipped. The box is narrowed on the way down, so splits that contradict the path above them are seen for what they
    are. Where the box meets one side of a split only, it lies in that side already; so only nodes where the walk forks
    change the box and are remembered.
    """
    children_left, children_right, feature, upper = walk.children_left, walk.children_right, walk.feature, walk.upper
    missing_left, homogeneous = walk.missing_left, walk.homogeneous
    set_start, set_words, word_start = walk.set_start, walk.set_words, walk.word_start
    low, high, missing, words, forks = box.low, box.high, box.missing, box.words, box.forks
    saved_low, saved_high, saved_missing = box.saved_low, box.saved_high, box.saved_missing
    saved_words, width = box.saved_words, box.width
    n_forks, leaf, n_found = 0, -1, 0
    while node >= 0 or n_forks > 0:
        if node < 0:
            n_forks -= 1
            fork = forks[n_forks]
            is_left_done = fork >= 0 and n_found < most  # in the end, all that is left is to restore the box
            if fork < 0:
                fork = -1 - fork
            tested = feature[fork]
            low[tested], high[tested] = saved_low[n_forks], saved_high[n_forks]
            missing[tested] = saved_missing[n_forks]
            chosen = set_start[fork]
            first = word_start[tested]
            n_words = word_start[tested + 1] - first
            if chosen >= 0:
                copy_words(words, first, saved_words, n_forks * width, n_words)
            if is_left_done:
                if upper[fork] > low[tested]:
                    low[tested] = upper[fork]
                missing[tested] = missing[tested] and not missing_left[fork]
                if chosen >= 0:
                    cut_words(words, first, n_words, set_words, chosen, False)
                forks[n_forks] = -1 - fork
                n_forks += 1
                node = children_right[fork]
        elif homogeneous[node] == class_id:
            node = -1
        else:
            tested = feature[node]
            if tested < 0:
                leaf = node if n_found == 0 else leaf
                n_found += 1
                node = -1
                continue
            on_left = missing[tested] and missing_left[node]
            on_right = missing[tested] and not missing_left[node]
            chosen = set_start[node]
            first = word_start[tested]
            n_words = word_start[tested + 1] - first
            limit = upper[node]
            if chosen < 0:
                some = low[tested] < high[tested]
                on_left = on_left or (some and low[tested] < limit)
                on_right = on_right or (some and limit < high[tested])
            else:
                for k in range(n_words):
                    on_left = on_left or words[first + k] & set_words[chosen + k] != 0
                    on_right = on_right or words[first + k] & ~set_words[chosen + k] != 0
            if on_left and on_right:
                forks[n_forks] = node
                saved_low[n_forks], saved_high[n_forks] = low[tested], high[tested]
                saved_missing[n_forks] = missing[tested]
                if limit < high[tested]:
                    high[tested] = limit
                missing[tested] = missing[tested] and missing_left[node]
                if chosen >= 0:
                    copy_words(saved_words, n_forks * width, words, first, n_words)
                    cut_words(words, first, n_words, set_words, chosen, True)
                n_forks += 1
            child = children_left[node] if on_left else children_right[node]
            node = child if on_left or on_right else -1
    return leaf, n_found


def find_foreign_leaf(walk, box, node, class_id):  # type: ignore[no-untyped-def]
    """The leftmost leaf of another class at or below a node that meets the box, else -1; the box is restored."""
    return find_foreign(walk, box, node, class_id, 1)[0]


def count_foreign(walk, box, links, begin, end, deleted, left_out, class_id):  # type: ignore[no-untyped-def]
    """How many leaves of another class a rule meets, without one of its entries or, if that is -1, as it is.

    The rule's whole path meets none, so that the walk starts at the first condition that is gone.
    """
    top = end
    for entry in range(end - 1, begin - 1, -1):
        node = walk.parent[links[entry]]
        if deleted[entry] or entry == left_out:
            top = entry
        else:
            narrow(walk, box, node, walk.is_left[links[entry]])
    n_found = 0
    if top < end and is_possible(walk, box, links, begin, end):
        n_found = find_foreign(walk, box, walk.parent[links[top]], class_id, len(walk.parent))[1]
    for entry in range(begin, end):
        open_feature(walk, box, walk.feature[walk.parent[links[entry]]])
    return n_found


def delete_links(walk, box, offsets, links, leaf_class, deleted):  # type: ignore[no-untyped-def]
    """Delete single links, root to leaf, while no leaf of another class meets the box of what is left.

    The rule itself meets no such leaf. So only rows on the side that a condition excludes can reach one, and since
    every condition above the deleted one nearest the root is kept, they pass that one's node: the walk starts there, in
    what is newly admitted.

    What the later conditions of a path allow an entry's feature is noted on the way up, what the kept earlier ones
    allow on the way down; so a path that tests one number a thousand times costs no more than one that tests a thousand
    numbers. Category sets are met anew.
    """
    feature, upper, missing_left, set_start = walk.feature, walk.upper, walk.missing_left, walk.set_start
    parent, is_left, accepts_missing = walk.parent, walk.is_left, walk.accepts_missing
    low, high, missing = box.low, box.high, box.missing
    later_low, later_high, later_missing = box.later_low, box.later_high, box.later_missing
    kept_low, kept_high, kept_missing = box.kept_low, box.kept_high, box.kept_missing
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        possible = True
        for entry in range(end - 1, begin - 1, -1):
            node, to_left = parent[links[entry]], is_left[links[entry]]
            tested = feature[node]
            later_low[entry - begin], later_high[entry - begin] = low[tested], high[tested]
            later_missing[entry - begin] = missing[tested]
            if set_start[node] < 0:
                low[tested] = cut_low(low[tested], upper[node], to_left)
                high[tested] = cut_high(high[tested], upper[node], to_left)
                missing[tested] = missing[tested] and missing_left[node] == to_left
                possible = possible and (missing[tested] or low[tested] < high[tested])
            else:
                narrow(walk, box, node, to_left)
                possible = possible and has_value(walk, box, tested)
        top = end  # the deleted entry nearest the root
        for entry in range(begin, end):
            node, to_left = parent[links[entry]], is_left[links[entry]]
            tested = feature[node]
            deleted[entry] = True
            if set_start[node] >= 0:
                meet_feature(walk, box, links, begin, end, deleted, tested)
                narrow(walk, box, node, not to_left)
                some = has_value(walk, box, tested)
            rest_low = max(kept_low[tested], later_low[entry - begin])
            rest_high = min(kept_high[tested], later_high[entry - begin])
            rest_missing = kept_missing[tested] and later_missing[entry - begin]
            if set_start[node] < 0:
                low[tested] = cut_low(rest_low, upper[node], not to_left)
                high[tested] = cut_high(rest_high, upper[node], not to_left)
                missing[tested] = rest_missing and missing_left[node] != to_left
                some = missing[tested] or low[tested] < high[tested]
            if some and (possible or is_possible(walk, box, links, begin, end)):
                found = find_foreign_leaf(walk, box, parent[links[min(top, entry)]], leaf_class[rule])
                deleted[entry] = found < 0
            low[tested], high[tested], missing[tested] = rest_low, rest_high, rest_missing
            if deleted[entry]:
                top = min(top, entry)
            else:
                kept_low[tested] = cut_low(kept_low[tested], upper[node], to_left)
                kept_high[tested] = cut_high(kept_high[tested], upper[node], to_left)
                kept_missing[tested] = kept_missing[tested] and missing_left[node] == to_left
                low[tested] = cut_low(rest_low, upper[node], to_left)
                high[tested] = cut_high(rest_high, upper[node], to_left)
                missing[tested] = rest_missing and missing_left[node] == to_left
            if set_start[node] >= 0:
                meet_feature(walk, box, links, begin, end, deleted, tested)
        for entry in range(begin, end):
            tested = feature[parent[links[entry]]]
            kept_low[tested], kept_high[tested] = -float("inf"), float("inf")
            low[tested], high[tested] = -float("inf"), float("inf")
            missing[tested] = kept_missing[tested] = accepts_missing[tested]
            if set_start[parent[links[entry]]] >= 0:
                open_feature(walk, box, tested)


def delete_features(walk, box, offsets, links, leaf_class, deleted):  # type: ignore[no-untyped-def]
    """Delete all of a path's conditions on a feature at once, features in the order of their first condition."""
    feature, parent = walk.feature, walk.parent
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        for entry in range(begin, end):
            narrow(walk, box, parent[links[entry]], walk.is_left[links[entry]])
        top = end  # the first condition of the deleted feature nearest the root
        for entry in range(begin, end):
            tested = feature[parent[links[entry]]]
            is_first = True
            for earlier in range(begin, entry):
                is_first = is_first and feature[parent[links[earlier]]] != tested
            if not is_first:
                continue
            open_feature(walk, box, tested)
            found = -1
            if is_possible(walk, box, links, begin, end):
                found = find_foreign_leaf(walk, box, parent[links[min(top, entry)]], leaf_class[rule])
            if found >= 0:
                meet_feature(walk, box, links, begin, end, deleted, tested)
                continue
            top = min(top, entry)
            for later in range(entry, end):
                if feature[parent[links[later]]] == tested:
                    deleted[later] = True
        for entry in range(begin, end):
            open_feature(walk, box, feature[parent[links[entry]]])


def find_witnesses(walk, box, offsets, links, leaf_class, deleted, by_feature, witness):  # type: ignore[no-untyped-def]
    """For each kept condition, the leaf of another class that the rule would meet without it; -1 if none.

    The rules themselves meet no such leaf. With ``by_feature`` all the rule's conditions on the feature are left out
    together.
    """
    feature, parent = walk.feature, walk.parent
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        top = end
        for entry in range(end - 1, begin - 1, -1):
            if deleted[entry]:
                top = entry
            else:
                narrow(walk, box, parent[links[entry]], walk.is_left[links[entry]])
        for entry in range(begin, end):
            if deleted[entry]:
                continue
            node = parent[links[entry]]
            start = 0
            if by_feature:
                open_feature(walk, box, feature[node])
            else:
                deleted[entry] = True
                meet_feature(walk, box, links, begin, end, deleted, feature[node])
                deleted[entry] = False
                narrow(walk, box, node, not walk.is_left[links[entry]])
                start = parent[links[min(top, entry)]]
            if is_possible(walk, box, links, begin, end):
                witness[entry] = find_foreign_leaf(walk, box, start, leaf_class[rule])
            meet_feature(walk, box, links, begin, end, deleted, feature[node])
        for entry in range(begin, end):
            open_feature(walk, box, feature[parent[links[entry]]])


def find_met(walk, box, offsets, links, leaf_class, deleted, met):  # type: ignore[no-untyped-def]
    """The leftmost leaf of another class that each rule meets, else -1, in the first place of ``met[rule]``.

    A rule whose place holds NOT_ASKED is passed over.
    """
    parent, is_left, feature = walk.parent, walk.is_left, walk.feature
    for rule in range(len(leaf_class)):
        if met[rule][0] == NOT_ASKED:
            continue
        begin, end = offsets[rule], offsets[rule + 1]
        for entry in range(begin, end):
            if not deleted[entry]:
                narrow(walk, box, parent[links[entry]], is_left[links[entry]])
        if is_possible(walk, box, links, begin, end):
            met[rule][0] = find_foreign_leaf(walk, box, 0, leaf_class[rule])
        for entry in range(begin, end):
            open_feature(walk, box, feature[parent[links[entry]]])


INLINED = (find_foreign, find_foreign_leaf)
"""Compiled into their callers: a call would cost as much as the few steps of a walk."""


def raise_feature(walk, box, tested, sign, above, above_words):  # type: ignore[no-untyped-def]
    """Add to what the box allows a feature whatever lies above one of its values; nothing lies above NaN."""
    if sign > 0 and box.low[tested] < box.high[tested]:
        box.high[tested] = float("inf")
    if sign < 0 and box.low[tested] < box.high[tested]:
        box.low[tested] = -float("inf")
    if above >= 0:
        first = walk.word_start[tested]
        n_words = walk.word_start[tested + 1] - first
        copy_words(box.saved_words, 0, box.words, first, n_words)  # no walk is under way, so there is room
        for word in range(n_words):
            for bit in range(64):
                if (int(box.saved_words[word]) >> bit) & 1:
                    start = above + (64 * word + bit) * n_words
                    for k in range(n_words):
                        box.words[first + k] |= above_words[start + k]


def find_above(walk, box, offsets, links, leaf_class, signs, above_start, above_words, met):  # type: ignore[no-untyped-def]
    """Find the leftmost leaf of the first class that a row above some row of each leaf of the second class reaches.

    It is -1 where there is none, and for leaves of the first class. ``above_start`` has a place in ``above_words`` for
    each feature whose codes are ordered, else -1: a run of words for each code, which mark the codes at or above it.
    """
    for rule in range(len(leaf_class)):
        met[rule][0] = -1
        if leaf_class[rule] != 1:
            continue
        begin, end = offsets[rule], offsets[rule + 1]
        for entry in range(begin, end):
            narrow(walk, box, walk.parent[links[entry]], walk.is_left[links[entry]])
        if is_possible(walk, box, links, begin, end):
            for entry in range(begin, end):
                tested = walk.feature[walk.parent[links[entry]]]
                raise_feature(walk, box, tested, signs[tested], above_start[tested], above_words)
            met[rule][0] = find_foreign_leaf(walk, box, 0, 1)
        for entry in range(begin, end):
            open_feature(walk, box, walk.feature[walk.parent[links[entry]]])
