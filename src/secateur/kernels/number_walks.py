"""Walks of trees that test numbers only, none of them missing, in plain Python that numba compiles.

The same as ``delete_links`` and ``count_rows`` of :mod:`secateur.kernels.walks`, several times faster: there is one
interval a feature, and no set or NaN to look at. What a walk reads of a node lies in one piece, 24 bytes of it, so that
a tree of ten thousand nodes stays in the processor's cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["NumberBox", "NumberRows", "count_number_rows", "delete_number_links"]


class NumberBox(NamedTuple):
    """The box of a rule, and room to restore it; numbers are of the tree's dtype."""

    low: Any  # by feature
    high: Any
    kept_low: Any  # what the kept conditions above allow
    kept_high: Any
    later_low: Any  # what the conditions below an entry allow its feature
    later_high: Any
    forks: Any  # nodes of which a walk enters both sides; -1 - node once it is in the right one
    saved: Any  # the end of the interval that a fork cut


class NumberRows(NamedTuple):
    """Rows, and the order of the leaves that they reach, in which every node has a run of them."""

    values: Any  # the value of a feature in a row is at row * step + column_of[feature]
    step: Any
    column_of: Any
    order: Any  # the rows at first[i] to last[i] - 1 pass node i
    first: Any
    last: Any
    class_ids: Any
    weights: Any
    kept_left: Any  # room for a rule's kept links: their sides, columns and limits
    kept_column: Any
    kept_limit: Any


def meets_foreign_leaf(nodes, low, high, forks, saved, node, class_id):  # type: ignore[no-untyped-def]
    """Whether a leaf of another class at or below a node meets the box, which is restored.

    Where all leaves below a node have one other class, the box meets one of them; so the walk ends there, and at a fork
    it looks at both children before it enters one.
    """
    n_forks, found = 0, False
    while node >= 0 or n_forks > 0:
        if node < 0:
            n_forks -= 1
            fork = forks[n_forks]
            if fork >= 0:
                tested = nodes[fork]["feature"]
                high[tested], saved[n_forks] = saved[n_forks], low[tested]
                low[tested] = nodes[fork]["upper"]
                forks[n_forks] = -1 - fork
                n_forks += 1
                node = nodes[fork]["right"]
            else:
                low[nodes[-1 - fork]["feature"]] = saved[n_forks]
        elif nodes[node]["homogeneous"] == class_id:
            node = -1
        elif nodes[node]["homogeneous"] >= 0:
            found = True
            break
        else:
            tested, limit = nodes[node]["feature"], nodes[node]["upper"]
            left, right = nodes[node]["left"], nodes[node]["right"]
            if limit >= high[tested]:
                node = left
            elif limit <= low[tested]:
                node = right
            else:
                only_left, only_right = nodes[left]["homogeneous"], nodes[right]["homogeneous"]
                if (only_left >= 0 and only_left != class_id) or (only_right >= 0 and only_right != class_id):
                    found = True
                    break
                forks[n_forks], saved[n_forks] = node, high[tested]
                high[tested] = limit
                n_forks += 1
                node = left
    while n_forks > 0:
        n_forks -= 1
        fork = forks[n_forks]
        if fork >= 0:
            high[nodes[fork]["feature"]] = saved[n_forks]
        else:
            low[nodes[-1 - fork]["feature"]] = saved[n_forks]
    return found


def is_possible(nodes, low, high, links, begin, end):  # type: ignore[no-untyped-def]
    """Whether the box leaves every feature of a rule's path a number."""
    for entry in range(begin, end):
        tested = nodes[nodes[links[entry]]["parent"]]["feature"]
        if not low[tested] < high[tested]:
            return False
    return True


def delete_number_links(nodes, is_left, box, offsets, links, leaf_class, deleted):  # type: ignore[no-untyped-def]
    """Delete single links, root to leaf, while no leaf of another class meets the box of what is left.

    Only what a condition excludes can reach such a leaf, and it leaves the path at the deleted condition nearest the
    root: the walk starts there, or on the other side of the condition if none is deleted yet.
    """
    low, high, kept_low, kept_high = box.low, box.high, box.kept_low, box.kept_high
    later_low, later_high, forks, saved = box.later_low, box.later_high, box.forks, box.saved
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        possible = True
        for entry in range(end - 1, begin - 1, -1):
            node = nodes[links[entry]]["parent"]
            tested, limit = nodes[node]["feature"], nodes[node]["upper"]
            later_low[entry - begin], later_high[entry - begin] = low[tested], high[tested]
            if is_left[links[entry]]:
                high[tested] = min(high[tested], limit)
            else:
                low[tested] = max(low[tested], limit)
            possible = possible and low[tested] < high[tested]
        top = end  # the deleted entry nearest the root
        for entry in range(begin, end):
            node, to_left = nodes[links[entry]]["parent"], is_left[links[entry]]
            tested, limit = nodes[node]["feature"], nodes[node]["upper"]
            rest_low = max(kept_low[tested], later_low[entry - begin])
            rest_high = min(kept_high[tested], later_high[entry - begin])
            low[tested] = max(rest_low, limit) if to_left else rest_low
            high[tested] = rest_high if to_left else min(rest_high, limit)
            deleted[entry] = True
            if low[tested] < high[tested] and (possible or is_possible(nodes, low, high, links, begin, end)):
                if top < entry:
                    start = nodes[links[top]]["parent"]
                else:
                    start = nodes[node]["right"] if to_left else nodes[node]["left"]
                deleted[entry] = not meets_foreign_leaf(nodes, low, high, forks, saved, start, leaf_class[rule])
            low[tested], high[tested] = rest_low, rest_high
            if deleted[entry]:
                top = min(top, entry)
            elif to_left:
                kept_high[tested] = min(kept_high[tested], limit)
                high[tested] = min(rest_high, limit)
            else:
                kept_low[tested] = max(kept_low[tested], limit)
                low[tested] = max(rest_low, limit)
        for entry in range(begin, end):
            tested = nodes[nodes[links[entry]]["parent"]]["feature"]
            low[tested] = kept_low[tested] = -np.inf
            high[tested] = kept_high[tested] = np.inf


def count_number_rows(nodes, is_left, box, offsets, links, leaf_class, deleted, rows, counts):  # type: ignore[no-untyped-def]
    """The weight of the rows of each class that each widened rule covers; see ``count_rows``.

    The walk is that of ``meets_foreign_leaf``, but goes on at a leaf. It is written out again: to hand the state of a
    walk to and fro would cost as much as its steps.
    """
    low, high, forks, saved = box.low, box.high, box.forks, box.saved
    values, step, column_of, order = rows.values, rows.step, rows.column_of, rows.order
    first, last, class_ids, weights = rows.first, rows.last, rows.class_ids, rows.weights
    kept_left, kept_column, kept_limit = rows.kept_left, rows.kept_column, rows.kept_limit
    for rule in range(len(leaf_class)):
        begin, end = offsets[rule], offsets[rule + 1]
        top = begin
        while top < end and not deleted[top]:
            top += 1
        if top == end:
            continue
        n_kept = 0
        for entry in range(begin, end):
            if not deleted[entry]:
                node = nodes[links[entry]]["parent"]
                tested, limit = nodes[node]["feature"], nodes[node]["upper"]
                if is_left[links[entry]]:
                    high[tested] = min(high[tested], limit)
                else:
                    low[tested] = max(low[tested], limit)
                if entry > top:
                    kept_left[n_kept], kept_limit[n_kept] = is_left[links[entry]], limit
                    kept_column[n_kept] = column_of[tested]
                    n_kept += 1
        node, n_forks = nodes[links[top]]["parent"], 0
        if not is_possible(nodes, low, high, links, begin, end):
            node = -1
        while node >= 0 or n_forks > 0:
            if node < 0:
                n_forks -= 1
                fork = forks[n_forks]
                if fork >= 0:
                    tested = nodes[fork]["feature"]
                    high[tested], saved[n_forks] = saved[n_forks], low[tested]
                    low[tested] = nodes[fork]["upper"]
                    forks[n_forks] = -1 - fork
                    n_forks += 1
                    node = nodes[fork]["right"]
                else:
                    low[nodes[-1 - fork]["feature"]] = saved[n_forks]
            elif first[node] == last[node]:  # no row passes here
                node = -1
            elif nodes[node]["feature"] < 0:
                for place in range(first[node], last[node]):
                    row = order[place]
                    is_covered = True
                    k = 0
                    while is_covered and k < n_kept:
                        is_covered = (values[row * step + kept_column[k]] <= kept_limit[k]) == kept_left[k]
                        k += 1
                    if is_covered:
                        counts[rule][class_ids[row]] += weights[row]
                node = -1
            else:
                tested, limit = nodes[node]["feature"], nodes[node]["upper"]
                if limit >= high[tested]:
                    node = nodes[node]["left"]
                elif limit <= low[tested]:
                    node = nodes[node]["right"]
                else:
                    forks[n_forks], saved[n_forks] = node, high[tested]
                    high[tested] = limit
                    n_forks += 1
                    node = nodes[node]["left"]
        for entry in range(begin, end):
            tested = nodes[nodes[links[entry]]["parent"]]["feature"]
            low[tested], high[tested] = -np.inf, np.inf


INLINED = (meets_foreign_leaf,)
"""Compiled into its caller: a call would cost as much as the few steps of a walk."""
