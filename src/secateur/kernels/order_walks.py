"""The walk that looks for rows in the wrong order, in plain Python that numba can compile, as in ``walks``.

What lies at or above some row of a box is a box again, because rows are compared feature by feature: a feature whose
larger values count as larger loses its upper end, and a set of codes gains the codes above them. So the question
whether a larger row reaches a leaf of another class is the question whether that box meets one.
"""

from secateur.kernels.walks import copy_words, find_foreign_leaf, is_possible, narrow, open_feature


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
