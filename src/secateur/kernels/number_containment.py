"""Find the leaves whose region lies in a rule's, for trees that test numbers only, none of them missing.

The same as ``find_contained`` of :mod:`secateur.kernels.containment`, with one interval a feature; numba compiles it
in a third of the time, and it runs faster.
"""

from __future__ import annotations

__all__ = ["find_number_contained"]


def find_number_contained(  # type: ignore[no-untyped-def]
    nodes, is_left, box, region, is_open, open_words, tested_below, ahead, trail, trail_ends, leaf_runs,
    offsets, links, leaf_class, deleted, rule, runs, n_runs,
):  # fmt: skip
    """Note the runs of leaves that lie in each rule, from one rule on, in ``runs[i] = rule, first, last``.

    ``box`` and ``region`` hold the lower and upper ends that the rule and the node allow each feature; ``ahead`` the
    nodes still to be entered and the length of the trail where they branch off; ``trail`` the features that were
    narrowed on the way and whether they were closed, ``trail_ends`` their ends before.
    """
    n_open_words = len(open_words)
    infinity = float("inf")
    while rule < len(leaf_class):
        begin, end = offsets[rule], offsets[rule + 1]
        # Whatever satisfies the rule passes the node of the deleted condition nearest the root.
        top = begin
        while top < end and not deleted[top]:
            top += 1
        is_possible = True
        for entry in range(begin, end):
            if deleted[entry]:
                continue
            link = links[entry]
            split = nodes[link]["parent"]
            tested, upper = nodes[split]["feature"], nodes[split]["upper"]
            side = 1 if is_left[link] else 0
            if (side == 1 and upper < box[1, tested]) or (side == 0 and upper > box[0, tested]):
                box[side, tested] = upper
            if entry < top:
                region[0, tested], region[1, tested] = box[0, tested], box[1, tested]
            is_possible = is_possible and box[0, tested] < box[1, tested]
        n_open = 0
        for entry in range(top, end):
            tested = nodes[nodes[links[entry]]["parent"]]["feature"]
            if deleted[entry] or is_open[tested]:
                continue
            if region[0, tested] < box[0, tested] or region[1, tested] > box[1, tested]:
                is_open[tested] = True
                open_words[tested >> 5] ^= 1 << (tested & 31)
                n_open += 1
        noted = n_runs
        n_ahead = n_trail = start = 0
        if is_possible:
            if end > begin:
                start = nodes[links[top]]["parent"] if top < end else links[end - 1]
            ahead[0, 0], ahead[0, 1], n_ahead = start, 0, 1
        while n_ahead > 0:
            n_ahead -= 1
            node = ahead[n_ahead, 0]
            while n_trail > ahead[n_ahead, 1]:
                n_trail -= 1
                tested = trail[n_trail, 0]
                region[0, tested], region[1, tested] = trail_ends[n_trail, 0], trail_ends[n_trail, 1]
                if trail[n_trail, 1] == 1:
                    is_open[tested] = True
                    open_words[tested >> 5] ^= 1 << (tested & 31)
                    n_open += 1
            own = nodes[node]["homogeneous"]
            if own >= 0 and own != leaf_class[rule]:
                continue
            split = nodes[node]["parent"]
            if node != start and is_open[nodes[split]["feature"]]:
                tested, upper = nodes[split]["feature"], nodes[split]["upper"]
                trail[n_trail, 0], trail[n_trail, 1] = tested, 0
                trail_ends[n_trail, 0], trail_ends[n_trail, 1] = region[0, tested], region[1, tested]
                n_trail += 1
                if is_left[node]:
                    region[1, tested] = min(region[1, tested], upper)
                else:
                    region[0, tested] = max(region[0, tested], upper)
                low, high = region[0, tested], region[1, tested]
                if not max(low, box[0, tested]) < min(high, box[1, tested]):
                    continue
                if low >= box[0, tested] and high <= box[1, tested]:
                    trail[n_trail - 1, 1] = 1
                    is_open[tested] = False
                    open_words[tested >> 5] ^= 1 << (tested & 31)
                    n_open -= 1
            if n_open == 0:
                if n_runs == len(runs):
                    n_runs = -1
                    break
                runs[n_runs, 0] = rule
                runs[n_runs, 1], runs[n_runs, 2] = leaf_runs[0, node], leaf_runs[1, node]
                n_runs += 1
                continue
            may_close = nodes[node]["feature"] >= 0
            for word in range(n_open_words):
                may_close = may_close and open_words[word] & ~tested_below[node, word] == 0
            if may_close:
                ahead[n_ahead, 0], ahead[n_ahead + 1, 0] = nodes[node]["right"], nodes[node]["left"]
                ahead[n_ahead, 1] = ahead[n_ahead + 1, 1] = n_trail
                n_ahead += 2
        for entry in range(begin, end):
            tested = nodes[nodes[links[entry]]["parent"]]["feature"]
            box[0, tested] = region[0, tested] = -infinity
            box[1, tested] = region[1, tested] = infinity
            is_open[tested] = False
        for word in range(n_open_words):
            open_words[word] = 0
        if n_runs < 0:
            return rule, noted
        rule += 1
    return rule, n_runs
