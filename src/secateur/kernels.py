"""The few functions that walk trees with a rule's box, in plain Python that numba can compile.

Nothing here imports numba: :mod:`secateur.compiled` compiles these functions on first use, small trees run them as
they are, and the tests compare both. They index and compare only, so that they accept lists as well as arrays.

A *box* is what a conjunction of conditions allows, feature by feature: an interval ``low < x <= high`` for numbers, a
set of category codes (64 to a word), and whether NaN is allowed. Its state lives in :class:`Box` arrays that are
narrowed and restored in place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["KERNELS", "Box", "Walkable", "delete_features", "delete_links", "find_witnesses"]


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
    nodes: Any
    phase: Any
    saved_low: Any
    saved_high: Any
    saved_missing: Any
    saved_words: Any
    later_low: Any
    later_high: Any
    later_missing: Any
    kept_low: Any
    kept_high: Any
    kept_missing: Any


def reset_feature(walk, box, feature):  # type: ignore[no-untyped-def]
    """Allow the feature its whole domain."""
    box.low[feature] = -float("inf")
    box.high[feature] = float("inf")
    box.missing[feature] = walk.accepts_missing[feature]
    for word in range(walk.word_start[feature], walk.word_start[feature + 1]):
        box.words[word] = walk.domain_words[word]


def narrow(walk, box, node, to_left):  # type: ignore[no-untyped-def]
    """Intersect the box with one side of a split; say whether the split's feature keeps a value."""
    feature = walk.feature[node]
    if walk.missing_left[node] != to_left:
        box.missing[feature] = False
    start = walk.set_start[node]
    if start < 0:
        limit = walk.upper[node]
        if to_left:
            if limit < box.high[feature]:
                box.high[feature] = limit
        elif limit > box.low[feature]:
            box.low[feature] = limit
    else:
        first = walk.word_start[feature]
        for k in range(walk.word_start[feature + 1] - first):
            if to_left:
                box.words[first + k] &= walk.set_words[start + k]
            else:
                box.words[first + k] &= ~walk.set_words[start + k]
    return has_value(walk, box, feature)


def has_value(walk, box, feature):  # type: ignore[no-untyped-def]
    """Whether the box leaves the feature any value."""
    if box.missing[feature]:
        return True
    first = walk.word_start[feature]
    last = walk.word_start[feature + 1]
    if first == last:
        return box.low[feature] < box.high[feature]
    for word in range(first, last):  # noqa: SIM110  # numba compiles no generator expression here
        if box.words[word] != 0:
            return True
    return False


def save(walk, box, depth, feature):  # type: ignore[no-untyped-def]
    """Remember what the box allows one feature."""
    box.saved_low[depth] = box.low[feature]
    box.saved_high[depth] = box.high[feature]
    box.saved_missing[depth] = box.missing[feature]
    first = walk.word_start[feature]
    for k in range(walk.word_start[feature + 1] - first):
        box.saved_words[depth][k] = box.words[first + k]


def restore(walk, box, depth, feature):  # type: ignore[no-untyped-def]
    """Undo what happened to one feature since :func:`save`."""
    box.low[feature] = box.saved_low[depth]
    box.high[feature] = box.saved_high[depth]
    box.missing[feature] = box.saved_missing[depth]
    first = walk.word_start[feature]
    for k in range(walk.word_start[feature + 1] - first):
        box.words[first + k] = box.saved_words[depth][k]


def find_foreign_leaf(walk, box, start, class_id):  # type: ignore[no-untyped-def]
    """The leftmost leaf of another class at or below a node that meets the box; -1 if there is none.

    Subtrees whose leaves all have the class are skipped. The box is narrowed on the way down, so splits that contradict
    the path above them are seen for what they are, and it is whole again at the end.
    """
    depth = 0
    box.nodes[0] = start
    box.phase[0] = 0
    found = -1
    while depth >= 0:
        node = box.nodes[depth]
        feature = walk.feature[node]
        if box.phase[depth] == 0:
            if walk.homogeneous[node] == class_id:
                depth -= 1
                continue
            if feature < 0:
                found = node
                depth -= 1
                continue
            save(walk, box, depth, feature)
            box.phase[depth] = 1
            if narrow(walk, box, node, True):
                depth += 1
                box.nodes[depth] = walk.children_left[node]
                box.phase[depth] = 0
        elif box.phase[depth] == 1:
            restore(walk, box, depth, feature)
            box.phase[depth] = 2
            if found < 0 and narrow(walk, box, node, False):
                depth += 1
                box.nodes[depth] = walk.children_right[node]
                box.phase[depth] = 0
        else:
            restore(walk, box, depth, feature)
            depth -= 1
    return found


def build_box(walk, box, links, begin, end, deleted):  # type: ignore[no-untyped-def]
    """Narrow the whole domain to a rule's kept conditions; say whether a row can satisfy them."""
    for entry in range(begin, end):
        if not deleted[entry]:
            narrow(walk, box, walk.parent[links[entry]], walk.is_left[links[entry]])
    return is_possible(walk, box, links, begin, end)


def is_possible(walk, box, links, begin, end):  # type: ignore[no-untyped-def]
    """Whether the box leaves every feature of the rule's path a value."""
    for entry in range(begin, end):  # noqa: SIM110  # numba compiles no generator expression here
        if not has_value(walk, box, walk.feature[walk.parent[links[entry]]]):
            return False
    return True


def widen_box(walk, box, links, begin, end, deleted, feature):  # type: ignore[no-untyped-def]
    """Rebuild one feature of the box from the rule's kept conditions on it."""
    reset_feature(walk, box, feature)
    for entry in range(begin, end):
        node = walk.parent[links[entry]]
        if walk.feature[node] == feature and not deleted[entry]:
            narrow(walk, box, node, walk.is_left[links[entry]])


def close_box(walk, box, links, begin, end):  # type: ignore[no-untyped-def]
    """Give a rule's features their whole domain back before another rule is looked at."""
    for entry in range(begin, end):
        reset_feature(walk, box, walk.feature[walk.parent[links[entry]]])


def admits(walk, box, links, begin, end, entry, top, possible, class_id):  # type: ignore[no-untyped-def]
    """The leaf of another class that a rule would meet without one more condition, else -1; the box is without it.

    The rule itself meets no such leaf. So only rows on the side that the condition excludes can reach one, and since
    every condition above entry ``top`` is kept, they pass that entry's node: the walk starts there, in what is newly
    admitted.
    """
    node = walk.parent[links[entry]]
    if not narrow(walk, box, node, not walk.is_left[links[entry]]):
        return -1
    if not possible and not is_possible(walk, box, links, begin, end):
        return -1
    return find_foreign_leaf(walk, box, walk.parent[links[min(top, entry)]], class_id)


def note_later(walk, box, links, begin, end):  # type: ignore[no-untyped-def]
    """For each entry of a path, what the later entries on its feature allow; the box is whole before and after."""
    for entry in range(end - 1, begin - 1, -1):
        node = walk.parent[links[entry]]
        feature = walk.feature[node]
        box.later_low[entry - begin] = box.low[feature]
        box.later_high[entry - begin] = box.high[feature]
        box.later_missing[entry - begin] = box.missing[feature]
        narrow(walk, box, node, walk.is_left[links[entry]])
    close_box(walk, box, links, begin, end)


def leave_out(walk, box, links, begin, end, deleted, entry):  # type: ignore[no-untyped-def]
    """Set an entry's feature to what the kept entries before it and all entries after it allow.

    For numbers that is what was noted of the later ones, met with the kept earlier ones; a path that tests one
    feature a thousand times costs no more than one that tests a thousand features. Category sets are met anew.
    """
    feature = walk.feature[walk.parent[links[entry]]]
    if walk.word_start[feature] < walk.word_start[feature + 1]:
        was = deleted[entry]
        deleted[entry] = True
        widen_box(walk, box, links, begin, end, deleted, feature)
        deleted[entry] = was
        return
    box.low[feature] = max(box.kept_low[feature], box.later_low[entry - begin])
    box.high[feature] = min(box.kept_high[feature], box.later_high[entry - begin])
    box.missing[feature] = box.kept_missing[feature] and box.later_missing[entry - begin]


def keep_entry(walk, box, links, entry):  # type: ignore[no-untyped-def]
    """Count an entry among the kept earlier ones of its feature."""
    node = walk.parent[links[entry]]
    feature = walk.feature[node]
    if walk.missing_left[node] != walk.is_left[links[entry]]:
        box.kept_missing[feature] = False
    if walk.set_start[node] < 0:
        if walk.is_left[links[entry]]:
            box.kept_high[feature] = min(box.kept_high[feature], walk.upper[node])
        else:
            box.kept_low[feature] = max(box.kept_low[feature], walk.upper[node])


def forget_kept(walk, box, links, begin, end):  # type: ignore[no-untyped-def]
    """Clear what was kept of a path's features before another rule is looked at."""
    for entry in range(begin, end):
        feature = walk.feature[walk.parent[links[entry]]]
        box.kept_low[feature] = -float("inf")
        box.kept_high[feature] = float("inf")
        box.kept_missing[feature] = walk.accepts_missing[feature]


def delete_links(walk, box, offsets, links, leaf_class, deleted):  # type: ignore[no-untyped-def]
    """Delete single links, root to leaf, while no leaf of another class meets the box of what is left."""
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        note_later(walk, box, links, begin, end)
        possible = build_box(walk, box, links, begin, end, deleted)
        top = end  # the deleted entry nearest the root
        for entry in range(begin, end):
            leave_out(walk, box, links, begin, end, deleted, entry)
            if admits(walk, box, links, begin, end, entry, top, possible, leaf_class[rule]) < 0:
                deleted[entry] = True
                top = min(top, entry)
            else:
                keep_entry(walk, box, links, entry)
            leave_out(walk, box, links, begin, end, deleted, entry)
            if not deleted[entry]:
                narrow(walk, box, walk.parent[links[entry]], walk.is_left[links[entry]])
        forget_kept(walk, box, links, begin, end)
        close_box(walk, box, links, begin, end)


def delete_features(walk, box, offsets, links, leaf_class, deleted):  # type: ignore[no-untyped-def]
    """Delete all of a path's conditions on a feature at once, features in the order of their first condition."""
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        build_box(walk, box, links, begin, end, deleted)
        top = end
        for entry in range(begin, end):
            feature = walk.feature[walk.parent[links[entry]]]
            seen = False
            for earlier in range(begin, entry):
                if walk.feature[walk.parent[links[earlier]]] == feature:
                    seen = True
                    break
            if seen:
                continue
            reset_feature(walk, box, feature)
            start = walk.parent[links[min(top, entry)]]
            if is_possible(walk, box, links, begin, end) and (
                find_foreign_leaf(walk, box, start, leaf_class[rule]) >= 0
            ):
                widen_box(walk, box, links, begin, end, deleted, feature)
                continue
            top = min(top, entry)
            for later in range(entry, end):
                if walk.feature[walk.parent[links[later]]] == feature:
                    deleted[later] = True
        close_box(walk, box, links, begin, end)


def find_witnesses(walk, box, offsets, links, leaf_class, deleted, by_feature, witness):  # type: ignore[no-untyped-def]
    """For each kept condition, the leaf of another class that the rule would meet without it; -1 if none.

    The rules themselves meet no such leaf. With ``by_feature`` all the rule's conditions on the feature are left out
    together.
    """
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        possible = build_box(walk, box, links, begin, end, deleted)
        top = begin
        while top < end and not deleted[top]:
            top += 1
        for entry in range(begin, end):
            if deleted[entry]:
                continue
            feature = walk.feature[walk.parent[links[entry]]]
            if by_feature:
                reset_feature(walk, box, feature)
                if is_possible(walk, box, links, begin, end):
                    witness[entry] = find_foreign_leaf(walk, box, 0, leaf_class[rule])
            else:
                deleted[entry] = True
                widen_box(walk, box, links, begin, end, deleted, feature)
                deleted[entry] = False
                witness[entry] = admits(walk, box, links, begin, end, entry, top, possible, leaf_class[rule])
            widen_box(walk, box, links, begin, end, deleted, feature)
        close_box(walk, box, links, begin, end)


KERNELS = (
    reset_feature,
    has_value,
    narrow,
    save,
    restore,
    find_foreign_leaf,
    is_possible,
    build_box,
    widen_box,
    close_box,
    admits,
    note_later,
    leave_out,
    keep_entry,
    forget_kept,
    delete_links,
    delete_features,
    find_witnesses,
)
