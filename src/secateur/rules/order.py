"""The order in which the rules of a list are printed, and decide: by class, and so that the first lines tell most.

Where rules of different classes meet, the one that ranks higher must stand first, so that whoever reads from top to
bottom finds what :meth:`Rules.predict` would: a class may then be named twice.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from secateur.tree.regions import regions_of_links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from secateur.rules.rules import Rules

__all__ = ["keep_ranking", "lift_rare", "order_rules"]

# Of more rules, any two of different classes are taken to meet.
MOST_COMPARED = 512


def order_rules(
    explained: Sequence[NDArray[np.int64]],
    weights: NDArray[np.float64],
    class_ids: NDArray[np.int64],
    n_conditions: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Order rules by class, and within a class by what they add to those before them, largest first.

    ``explained`` lists the things that each rule explains, increasing, and ``weights`` tells how much each thing
    counts. Ties go to the shorter rule, then to source order.
    """
    lengths, order = n_conditions.tolist(), []
    for class_id in np.unique(class_ids).tolist():
        rest = np.array(weights, dtype=np.float64)
        # What a rule adds never grows, so only the first of the heap need be looked at again.
        heap = [
            (-float(rest[explained[rule]].sum()), lengths[rule], rule)
            for rule in np.flatnonzero(class_ids == class_id).tolist()
        ]
        heapq.heapify(heap)
        while heap:
            listed = heap[0]
            rule = listed[2]
            now = (-float(rest[explained[rule]].sum()), lengths[rule], rule)
            if now > listed:
                heapq.heapreplace(heap, now)
                continue
            heapq.heappop(heap)
            order.append(rule)
            rest[explained[rule]] = 0
    return np.array(order, dtype=np.int64)


def keep_ranking(rules: Rules, chosen: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Change an order of chosen rules as little as it takes for those that rank higher to stand before what they meet.

    Then the first rule that covers a row is of the class of the one that ranks highest: any other that stands first
    and covers the row too meets it, and would have to stand behind it.
    """
    class_ids = rules.paths.leaf_class[chosen]
    rank = np.empty(len(rules), dtype=np.int64)
    rank[rules.ranking] = np.arange(len(rules))
    goes_first = (class_ids[:, None] != class_ids) & (rank[chosen][:, None] < rank[chosen])
    if len(chosen) <= MOST_COMPARED:
        goes_first &= _find_meetings(rules, chosen, goes_first | goes_first.T)
    n_before = goes_first.sum(axis=0)
    kept: list[int] = []
    waiting = order
    while len(waiting):
        ready = waiting[n_before[waiting] == 0]
        same_class = ready[class_ids[ready] == class_ids[kept[-1]]] if kept else ready
        rule = int((same_class if len(same_class) else ready)[0])
        kept.append(rule)
        n_before -= goes_first[rule]
        waiting = waiting[waiting != rule]
    return np.array(kept, dtype=np.int64)


def lift_rare(
    order: NDArray[np.int64], class_ids: NDArray[np.int64], count: Callable[[NDArray[np.int64]], NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Move rules up, within their class, whose class is not the commonest of what the rules above leave them to decide.

    What a rule covers is mostly of its class, but what larger rules leave of it need not be: such a line would read as
    if it were wrong. ``count`` gives the rows by class that each rule decides in an order.
    """
    rare = _find_rare(count(order), class_ids)
    while len(rare):
        trials = (
            trial for rule in order[np.isin(order, rare)].tolist() for trial in _list_higher(order, class_ids, rule)
        )
        better = next(
            ((trial, left) for trial in trials if len(left := _find_rare(count(trial), class_ids)) < len(rare)), None
        )
        if better is None:
            return order
        order, rare = better
    return order


def _find_rare(decided: NDArray[np.float64], class_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    own = decided[np.arange(len(class_ids)), class_ids]
    return np.flatnonzero(own < decided[: len(class_ids)].max(axis=1, initial=0))


def _list_higher(order: NDArray[np.int64], class_ids: NDArray[np.int64], rule: int) -> Iterator[NDArray[np.int64]]:
    """List the orders in which a rule stands higher among its neighbours of the same class, the nearest first."""
    place = int(np.flatnonzero(order == rule)[0])
    rest = np.delete(order, place)
    for higher in range(place - 1, -1, -1):
        if class_ids[order[higher]] != class_ids[rule]:
            return
        yield np.insert(rest, higher, rule)


def _find_meetings(rules: Rules, chosen: NDArray[np.int64], asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Find which of some pairs of rules some row could satisfy both of; facts are left out, which only finds more."""
    tree, paths = rules.tree, rules.paths
    spans = [paths.entries(place) for place in chosen.tolist()]
    regions = [regions_of_links(tree, paths, paths.links[span][~rules.deleted[span]]) for span in spans]
    meets = np.zeros_like(asked)
    for first, second in np.argwhere(np.triu(asked)).tolist():
        one, other = regions[first], regions[second]
        is_apart = any(one[feature].meet(other[feature]).is_empty for feature in one.keys() & other.keys())
        meets[first, second] = meets[second, first] = not is_apart
    return meets
