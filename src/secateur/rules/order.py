"""The order of rules of a method that may overlap: the first that covers a row decides it.

Where rules of different classes meet, the one that ranks higher must stand first, so that whoever reads from top to
bottom finds what :meth:`Rules.predict` would: a class may then be named twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.tree.regions import regions_of_links

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.rules import Rules

__all__ = ["keep_ranking"]

# Of more rules, any two of different classes are taken to meet.
MOST_COMPARED = 512


def keep_ranking(rules: Rules, deleted: NDArray[np.bool_], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Reorder chosen rules minimally so that a higher-ranked rule precedes every rule of another class it overlaps.

    Then the first rule that covers a row is of the class of the one that ranks highest: any other that stands first
    and covers the row too meets it, and would have to stand behind it.
    """
    class_ids = rules.paths.leaf_class[chosen]
    rank = np.empty(len(rules), dtype=np.int64)
    rank[rules.ranking] = np.arange(len(rules))
    goes_first = (class_ids[:, None] != class_ids) & (rank[chosen][:, None] < rank[chosen])
    if len(chosen) <= MOST_COMPARED:
        goes_first &= _find_meetings(rules, deleted, chosen, goes_first | goes_first.T)
    n_before = goes_first.sum(axis=0)
    kept: list[int] = []
    waiting = np.arange(len(chosen))
    while len(waiting):
        ready = waiting[n_before[waiting] == 0]
        same_class = ready[class_ids[ready] == class_ids[kept[-1]]] if kept else ready
        rule = int((same_class if len(same_class) else ready)[0])
        kept.append(rule)
        n_before -= goes_first[rule]
        waiting = waiting[waiting != rule]
    return np.array(kept, dtype=np.int64)


def _find_meetings(
    rules: Rules, deleted: NDArray[np.bool_], chosen: NDArray[np.int64], asked: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Find which of some pairs of rules some row could satisfy both of; facts are left out, which only finds more."""
    tree, paths = rules.tree, rules.paths
    spans = [paths.entries(place) for place in chosen.tolist()]
    regions = [regions_of_links(tree, paths, paths.links[span][~deleted[span]]) for span in spans]
    meets = np.zeros_like(asked)
    for first, second in np.argwhere(np.triu(asked)).tolist():
        one, other = regions[first], regions[second]
        is_apart = any(one[feature].meet(other[feature]).is_empty for feature in one.keys() & other.keys())
        meets[first, second] = meets[second, first] = not is_apart
    return meets
