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
    leaf_class: Any
    homogeneous: Any
    parent: Any
    is_left: Any
    set_start: Any  # first word of the node's left set in set_words; -1 at a numeric split
    set_words: Any
    word_start: Any  # first word of a feature's set in Box.words, shape (n_features + 1,)
    domain_words: Any  # all codes of each categorical feature
    accepts_missing: Any


class Box(NamedTuple):
    """The box under study, and room to restore it during a walk no deeper than the tree."""

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


def find_foreign_leaf(walk, box, class_id):  # type: ignore[no-untyped-def]
    """The leftmost leaf of another class that meets the box; -1 if there is none.

    Subtrees whose leaves all have the class are skipped. The box is narrowed on the way down, so splits that contradict
    the path above them are seen for what they are, and it is whole again at the end.
    """
    depth = 0
    box.nodes[0] = 0
    box.phase[0] = 0
    found = -1
    while depth >= 0:
        node = box.nodes[depth]
        feature = walk.feature[node]
        if box.phase[depth] == 0:
            if found >= 0 or walk.homogeneous[node] == class_id:
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
    """Set the box to a rule's kept conditions; the features of other rules are not looked at."""
    for entry in range(begin, end):
        reset_feature(walk, box, walk.feature[walk.parent[links[entry]]])
    for entry in range(begin, end):
        if not deleted[entry]:
            narrow(walk, box, walk.parent[links[entry]], walk.is_left[links[entry]])


def widen_box(walk, box, links, begin, end, deleted, feature):  # type: ignore[no-untyped-def]
    """Rebuild one feature of the box from the rule's kept conditions on it."""
    reset_feature(walk, box, feature)
    for entry in range(begin, end):
        node = walk.parent[links[entry]]
        if not deleted[entry] and walk.feature[node] == feature:
            narrow(walk, box, node, walk.is_left[links[entry]])


def close_box(walk, box, links, begin, end):  # type: ignore[no-untyped-def]
    """Give a rule's features their whole domain back before another rule is looked at."""
    for entry in range(begin, end):
        reset_feature(walk, box, walk.feature[walk.parent[links[entry]]])


def meets_foreign_leaf(walk, box, links, begin, end, class_id):  # type: ignore[no-untyped-def]
    """As :func:`find_foreign_leaf`, but a box that allows some feature no value meets nothing."""
    for entry in range(begin, end):
        if not has_value(walk, box, walk.feature[walk.parent[links[entry]]]):
            return -1
    return find_foreign_leaf(walk, box, class_id)


def delete_links(walk, box, offsets, links, leaf_class, deleted):  # type: ignore[no-untyped-def]
    """Delete single links, root to leaf, while no leaf of another class meets the box of what is left."""
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        build_box(walk, box, links, begin, end, deleted)
        for entry in range(begin, end):
            feature = walk.feature[walk.parent[links[entry]]]
            deleted[entry] = True
            widen_box(walk, box, links, begin, end, deleted, feature)
            if meets_foreign_leaf(walk, box, links, begin, end, leaf_class[rule]) >= 0:
                deleted[entry] = False
                widen_box(walk, box, links, begin, end, deleted, feature)
        close_box(walk, box, links, begin, end)


def delete_features(walk, box, offsets, links, leaf_class, deleted):  # type: ignore[no-untyped-def]
    """Delete all of a path's conditions on a feature at once, features in the order of their first condition."""
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        build_box(walk, box, links, begin, end, deleted)
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
            redundant = meets_foreign_leaf(walk, box, links, begin, end, leaf_class[rule]) < 0
            if redundant:
                for later in range(entry, end):
                    if walk.feature[walk.parent[links[later]]] == feature:
                        deleted[later] = True
            else:
                widen_box(walk, box, links, begin, end, deleted, feature)
        close_box(walk, box, links, begin, end)


def find_witnesses(walk, box, offsets, links, leaf_class, deleted, by_feature, witness):  # type: ignore[no-untyped-def]
    """For each kept condition, the leaf of another class that the rule would meet without it; -1 if none.

    With ``by_feature`` all the rule's conditions on the feature are left out together.
    """
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        build_box(walk, box, links, begin, end, deleted)
        for entry in range(begin, end):
            if deleted[entry]:
                continue
            feature = walk.feature[walk.parent[links[entry]]]
            if by_feature:
                reset_feature(walk, box, feature)
            else:
                deleted[entry] = True
                widen_box(walk, box, links, begin, end, deleted, feature)
                deleted[entry] = False
            witness[entry] = meets_foreign_leaf(walk, box, links, begin, end, leaf_class[rule])
            widen_box(walk, box, links, begin, end, deleted, feature)
        close_box(walk, box, links, begin, end)


KERNELS = (
    reset_feature,
    has_value,
    narrow,
    save,
    restore,
    find_foreign_leaf,
    build_box,
    widen_box,
    close_box,
    meets_foreign_leaf,
    delete_links,
    delete_features,
    find_witnesses,
)
