"""What keeps a rule honest while a budget is spent, in plain Python that numba can compile.

The guard may refuse an entry that comes to the top of :mod:`secateur.kernels.budget`'s heap: without it the rule would
be too unreliable on the training rows, or say the opposite of a rule with the same conditions. Only a deletion in its
own rule can change the first, and in one of both rules the second.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from secateur.kernels.walks import has_value, meet_feature, narrow, open_feature

__all__ = ["NOT_BLOCKED", "Guard", "find_twin", "stays_reliable"]

NOT_BLOCKED = -1
SUM_TOLERANCE = 1e-9  # sums of weights that were taken in different orders differ by less than this share


class Guard(NamedTuple):
    """What keeps a rule reliable; rules are numbered as leaves are, left to right."""

    tolerance: Any  # how far below its leaf's reliability a rule may end
    leaf_reliability: Any
    counts: Any  # training rows that each rule covers, by their own class; follows the deletions
    blocked_by: Any  # the rule whose change an entry waits for; NOT_BLOCKED if it waits for none
    is_awaited: Any  # whether an entry of another rule may wait for a rule to change
    trial: Any  # the rule's reliability without an entry, when it was last tried


def stays_reliable(accounts, guard, rule, own, entry):  # type: ignore[no-untyped-def]
    """Whether a rule that lets rows in keeps its reliability, and its own class the commonest."""
    admitted, counts = accounts.admitted, guard.counts
    total, most = 0.0, 0.0
    for k in range(len(admitted)):
        total += counts[rule, k] + admitted[k]
        most = max(most, counts[rule, k] + admitted[k])
    hits = counts[rule, own] + admitted[own]
    guard.trial[entry] = hits / total
    return hits >= most and guard.leaf_reliability[rule] - guard.trial[entry] <= guard.tolerance


def implies(walk, box, links, offsets, deleted, rule, other):  # type: ignore[no-untyped-def]
    """Whether all kept conditions of another rule follow from those of a rule."""
    for entry in range(offsets[other], offsets[other + 1]):
        if deleted[entry]:
            continue
        node, to_left = walk.parent[links[entry]], walk.is_left[links[entry]]
        tested = walk.feature[node]
        meet_feature(walk, box, links, offsets[rule], offsets[rule + 1], deleted, tested)
        narrow(walk, box, node, not to_left)
        is_outside = has_value(walk, box, tested)  # some values that the rule allows are on the other side
        open_feature(walk, box, tested)
        if is_outside:
            return False
    return True


def find_twin(walk, box, accounts, guard, offsets, links, leaf_class, deleted, rule):  # type: ignore[no-untyped-def]
    """Find a rule of another class with the same conditions as a rule that lets rows in; -1 if there is none.

    Both would cover the same rows, and both classes would be the commonest of them: so only ties are looked into.
    """
    admitted, counts, own = accounts.admitted, guard.counts, leaf_class[rule]
    slack = SUM_TOLERANCE * (counts[rule, own] + admitted[own])
    is_tied = False
    for k in range(len(admitted)):
        is_tied = is_tied or (k != own and counts[rule, k] + admitted[k] >= counts[rule, own] + admitted[own] - slack)
    if not is_tied:
        return -1
    for twin in range(len(leaf_class)):
        if leaf_class[twin] == own:
            continue
        is_equal = True
        for k in range(len(admitted)):
            is_equal = is_equal and abs(counts[twin, k] - counts[rule, k] - admitted[k]) <= slack
        if (
            is_equal
            and implies(walk, box, links, offsets, deleted, rule, twin)
            and implies(walk, box, links, offsets, deleted, twin, rule)
        ):
            return twin
    return -1
