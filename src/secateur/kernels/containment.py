"""Find the leaves whose whole region lies in a rule's, in plain Python that numba can compile.

A walk with a rule's box follows the *open* features: those on which the node's own region still reaches beyond the
rule's. Where none is open, everything below lies in the rule: its leaves are a run, which is noted, and the walk turns
back. It also turns back where an open feature is tested nowhere below, for it stays open there.
"""

from typing import Any, NamedTuple

from secateur.kernels.walks import copy_words, cut_high, cut_low, cut_words, is_possible, narrow, open_feature


class Room(NamedTuple):
    """Room for a walk: the node's own region on open features, which are open, and what to restore when it turns."""

    low: Any
    high: Any
    missing: Any
    words: Any
    is_open: Any
    open_words: Any  # the same, 32 features to a word
    tested_below: Any  # the features that are tested at a node or below, so many words each
    ahead: Any  # nodes still to be entered
    ahead_trail: Any  # the length of the trail where they branch off
    trail: Any  # features whose region was narrowed on the way, and what it was before
    trail_low: Any
    trail_high: Any
    trail_missing: Any
    trail_words: Any
    trail_closed: Any  # whether the feature was open before and is not now


def find_contained(  # type: ignore[no-untyped-def]
    walk, box, room, first_leaf, last_leaf, offsets, links, leaf_class, deleted, rule, runs, n_runs
):
    """Note the runs of leaves that lie in each rule, from one rule on, in ``runs[i] = rule, first, last``.

    Subtrees of another class only are left out. Returns the rule to go on with, and the number of runs: there is no
    room for more of them than ``runs`` has.
    """
    feature, upper, parent, is_left, homogeneous = walk.feature, walk.upper, walk.parent, walk.is_left, walk.homogeneous
    left_child, right_child, missing_left = walk.children_left, walk.children_right, walk.missing_left
    set_start, set_words, word_start = walk.set_start, walk.set_words, walk.word_start
    rule_low, rule_high, rule_missing, rule_words = box.low, box.high, box.missing, box.words
    low, high, missing, words, width = room.low, room.high, room.missing, room.words, box.width
    is_open, open_words, tested_below = room.is_open, room.open_words, room.tested_below
    ahead, ahead_trail, trail, trail_low = room.ahead, room.ahead_trail, room.trail, room.trail_low
    trail_high, trail_missing, trail_words = room.trail_high, room.trail_missing, room.trail_words
    trail_closed = room.trail_closed
    n_open_words = len(open_words)
    while rule < len(leaf_class):
        begin, end = offsets[rule], offsets[rule + 1]
        # Whatever satisfies the rule passes the node of the deleted condition nearest the root.
        top = begin
        while top < end and not deleted[top]:
            narrow(walk, box, parent[links[top]], is_left[links[top]])
            narrow(walk, room, parent[links[top]], is_left[links[top]])
            top += 1
        for entry in range(top, end):
            if not deleted[entry]:
                narrow(walk, box, parent[links[entry]], is_left[links[entry]])
        n_open = 0
        for entry in range(top, end):
            tested = feature[parent[links[entry]]]
            if deleted[entry] or is_open[tested]:
                continue
            is_inside = low[tested] >= rule_low[tested] and high[tested] <= rule_high[tested]
            is_inside = is_inside or low[tested] >= high[tested]  # only a missing value is left
            is_inside = is_inside and (rule_missing[tested] or not missing[tested])
            for word in range(word_start[tested], word_start[tested + 1]):
                is_inside = is_inside and words[word] & ~rule_words[word] == 0
            if not is_inside:
                is_open[tested] = True
                open_words[tested >> 5] ^= 1 << (tested & 31)
                n_open += 1
        noted = n_runs
        n_ahead = n_trail = 0
        if is_possible(walk, box, links, begin, end):
            start = 0
            if end > begin:
                start = parent[links[top]] if top < end else links[end - 1]
            ahead[0], ahead_trail[0], n_ahead = start, 0, 1
        while n_ahead > 0:
            n_ahead -= 1
            node = ahead[n_ahead]
            while n_trail > ahead_trail[n_ahead]:
                n_trail -= 1
                tested = trail[n_trail]
                low[tested], high[tested] = trail_low[n_trail], trail_high[n_trail]
                missing[tested] = trail_missing[n_trail]
                first = word_start[tested]
                copy_words(words, first, trail_words, n_trail * width, word_start[tested + 1] - first)
                if trail_closed[n_trail]:
                    is_open[tested] = True
                    open_words[tested >> 5] ^= 1 << (tested & 31)
                    n_open += 1
            if homogeneous[node] >= 0 and homogeneous[node] != leaf_class[rule]:
                continue
            split = parent[node]
            if node != start and is_open[feature[split]]:
                tested, to_left = feature[split], is_left[node]
                first, last = word_start[tested], word_start[tested + 1]
                trail[n_trail], trail_closed[n_trail] = tested, False
                trail_low[n_trail], trail_high[n_trail] = low[tested], high[tested]
                trail_missing[n_trail] = missing[tested]
                copy_words(trail_words, n_trail * width, words, first, last - first)
                n_trail += 1
                low[tested] = cut_low(low[tested], upper[split], to_left)
                high[tested] = cut_high(high[tested], upper[split], to_left)
                missing[tested] = missing[tested] and missing_left[split] == to_left
                meets = missing[tested] and rule_missing[tested]
                lies_within = rule_missing[tested] or not missing[tested]
                if first == last:
                    meets = meets or max(low[tested], rule_low[tested]) < min(high[tested], rule_high[tested])
                    inside = low[tested] >= rule_low[tested] and high[tested] <= rule_high[tested]
                    lies_within = lies_within and (inside or low[tested] >= high[tested])
                else:
                    cut_words(words, first, last - first, set_words, set_start[split], to_left)
                    for word in range(first, last):
                        meets = meets or words[word] & rule_words[word] != 0
                        lies_within = lies_within and words[word] & ~rule_words[word] == 0
                if not meets:
                    continue
                if lies_within:
                    trail_closed[n_trail - 1] = True
                    is_open[tested] = False
                    open_words[tested >> 5] ^= 1 << (tested & 31)
                    n_open -= 1
            if n_open == 0:
                if n_runs == len(runs):
                    n_runs = -1
                    break
                runs[n_runs][0] = rule
                runs[n_runs][1], runs[n_runs][2] = first_leaf[node], last_leaf[node]
                n_runs += 1
                continue
            may_close = feature[node] >= 0
            for word in range(n_open_words):
                may_close = may_close and open_words[word] & ~tested_below[node * n_open_words + word] == 0
            if may_close:
                ahead[n_ahead], ahead[n_ahead + 1] = right_child[node], left_child[node]
                ahead_trail[n_ahead] = ahead_trail[n_ahead + 1] = n_trail
                n_ahead += 2
        for entry in range(begin, end):
            tested = feature[parent[links[entry]]]
            open_feature(walk, box, tested)
            open_feature(walk, room, tested)
            is_open[tested] = False
        for word in range(n_open_words):
            open_words[word] = 0
        if n_runs < 0:
            return rule, noted
        rule += 1
    return rule, n_runs
