"""Check the lines of a list: that they speak of everything they should, what they decide, and the budget.

A leaf lies in a rule when no possible row of the leaf fails one of the rule's conditions. So each condition's other
side is met with the boxes of the leaves that the rule is said to stand for: nothing may be left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.verify.boxes import Allowed, Boxes, cut_cell, meet_domains
from secateur.verify.case import COUNT_TOLERANCE, find_beyond, find_shares
from secateur.verify.count_words import describe_difference
from secateur.verify.placed_rows import PlacedRows
from secateur.verify.promises import EXACT
from secateur.verify.verification import NOT_RECOUNTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from secateur.tree.difference import Comparison
    from secateur.verify.case import Case

__all__ = ["check_list"]

PAID_KIND = "decided-otherwise"
RECOUNTED = {
    "class_counts": "class counts of the rules that the budget shortened",
    "decided_counts": "the rows that each line decides",
}


@dataclass(frozen=True)
class _Lines:
    """The lines of a list, as a record states them."""

    stated: Mapping[str, Any]
    written: NDArray[np.int64]  # places of the leaves whose rules are written
    default: int  # class of "otherwise"
    budget: float
    kept: NDArray[np.bool_]  # edges that are left after the budget was spent
    is_exact: bool

    @classmethod
    def of(cls, case: Case) -> _Lines:
        stated = case.record["list"]
        return cls(
            stated=stated,
            written=stated["leaves"],
            default=stated["default"],
            budget=stated["budget"],
            kept=~stated["deleted"],
            is_exact=case.method in EXACT,
        )

    @property
    def limit(self) -> float:
        return self.budget + COUNT_TOLERANCE


def check_list(case: Case, comparison: Comparison | None = None) -> None:
    """Check everything that the lines of a list promise beyond the rules that they were chosen from."""
    lines = _Lines.of(case)
    if lines.stated.get("approximates") and comparison is None:
        case.skip(
            "how often the rules agree with the model that they approximate was measured when they were made, and "
            "cannot be counted again without the model: what is proved is about the surrogate tree"
        )
    if _check_choice(case, lines):
        _check_leaves(case, lines)
        _check_rows(case, lines)


def _check_choice(case: Case, lines: _Lines) -> bool:
    """Check that written rules are those of different leaves, none of them of the class of "otherwise"."""
    broken = []
    if len(np.unique(lines.written)) < len(lines.written):
        broken.append("A rule is written twice.")
    broken += [
        f"The rule of leaf {case.leaves[rule]} is of the class of otherwise, which is not written."
        for rule in lines.written[case.classes[lines.written] == lines.default].tolist()
    ]
    before = ~case.deleted
    changed = np.unique(case.paths.rule[lines.kept != before])
    if not lines.budget and len(changed):
        broken.append(f"The rule of leaf {case.leaves[changed[0]]} is shorter than it was, but there is no budget.")
    if (lines.kept & ~before).any():
        broken.append("A condition is back that was deleted before the rules were chosen.")
    paid = ~lines.kept & before
    if (paid != (np.asarray(lines.stated["kinds"]) == PAID_KIND)).any():
        broken.append("The conditions that are said to be deleted under the budget are not those that were.")
    unwritten = changed[~np.isin(changed, lines.written)]
    broken += [f"The rule of leaf {case.leaves[rule]} was shortened but is not written." for rule in unwritten]
    if len(lines.written) or broken:
        case.report("the written rules are rules of their leaves, none of the class of otherwise", broken)
    return not broken


def _check_leaves(case: Case, lines: _Lines) -> None:
    """Check that leaves lie in the rules said to stand for them, and that no leaf of a written class is forgotten.

    A leaf that lies in no written rule is one that no row reaches or, under a budget, one whose rule was dropped at a
    price within it.
    """
    boxes = Boxes(case.tree, case.paths, np.ones(len(case.paths.links), dtype=bool), case.all_rules)
    is_reached = _are_reached(case, boxes)
    covered = np.zeros(len(case.leaves), dtype=bool)
    broken = []
    for rule, places in zip(lines.written.tolist(), lines.stated["stands_for"], strict=True):
        stands = np.zeros(len(case.leaves), dtype=bool)
        stands[places] = True
        own = np.flatnonzero((case.classes == case.classes[rule]) & is_reached)
        inside = _lie_in(case, lines, boxes, rule, own)
        covered |= inside & stands
        name = case.leaves[rule]
        broken += [
            f"Leaf {leaf} does not lie in the rule of leaf {name}, which is said to stand for it."
            for leaf in case.leaves[stands & ~inside].tolist()
        ]
        broken += [
            f"Leaf {leaf} lies in the rule of leaf {name}, which is not said to stand for it."
            for leaf in case.leaves[inside & ~stands].tolist()
        ]
    if len(lines.written):
        case.report("each rule stands for the leaves that lie in it, condition by condition, and for no other", broken)
    left = (case.classes != lines.default) & ~covered & is_reached
    if not lines.budget:
        case.report(
            "every leaf of a written class lies in a written rule, so all other rows are of the class of otherwise",
            [f"No written rule stands for leaf {leaf}." for leaf in case.leaves[left].tolist()],
        )
        return
    left[lines.written] = False
    before, after, _ = np.asarray(lines.stated["drop_costs"], dtype=np.float64)
    within = (np.minimum(before, after) >= 0) & (after <= lines.limit)
    # Only exact rules begin with nothing spent; dropping others may win rows back.
    within |= (after <= before) & (not lines.is_exact)
    case.report(
        "every leaf of a written class lies in a written rule, or its rule is said to be dropped within the budget",
        [
            f"The rule of leaf {leaf} is not written, and what dropping it cost is not stated or beyond the budget."
            for leaf in case.leaves[left & ~within].tolist()
        ],
    )


def _lie_in(case: Case, lines: _Lines, boxes: Boxes, rule: int, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark those of some leaves that no possible row of fails a condition of a rule."""
    tree, paths = case.tree, case.paths
    span = slice(paths.offsets[rule], paths.offsets[rule + 1])
    for link in paths.links[span][lines.kept[span]].tolist():
        node = int(paths.parent[link])
        feature = int(tree.feature[node])
        whole = Allowed(*case.possible.domain(feature))
        other = {feature: cut_cell(tree, paths, node, not paths.is_left[link], whole)}
        fails = boxes.meet(feature, places, other[feature], case.possible)
        fails[fails] = case.possible.find_states(boxes, places[fails], other, feature)
        fails[fails] = case.possible.find_rows(boxes, places[fails], other)
        places = places[~fails]
    inside = np.zeros(len(case.leaves), dtype=bool)
    inside[places] = True
    return inside


def _are_reached(case: Case, boxes: Boxes) -> NDArray[np.bool_]:
    """Mark the leaves that a possible row reaches."""
    own = case.all_rules
    reached = boxes.is_possible & meet_domains(boxes, own, case.possible)
    reached[reached] = case.possible.find_rows(boxes, own[reached], {})
    return reached


def _check_rows(case: Case, lines: _Lines) -> None:
    """Recount what the rules cover and decide, the rows that differ from the tree, and reliabilities."""
    if case.read_rows is None:
        if lines.budget:
            case.failures.append(f"The rows that differ from the tree were {NOT_RECOUNTED}")
        return
    n_rules, n_classes = len(lines.written), case.tree.n_classes
    covered, decided = np.zeros((n_rules, n_classes)), np.zeros((n_rules + 1, n_classes))
    by_leaf = np.zeros((len(case.leaves), n_classes))
    differing = total = 0.0
    said = np.append(case.classes[lines.written], lines.default)
    boxes = Boxes(case.tree, case.paths, lines.kept, lines.written)
    for matrix, class_ids, weights in case.read_rows():
        heavy = np.ones(len(matrix)) if weights is None else weights
        rows = PlacedRows(case.tree, matrix)
        winner = np.full(len(matrix), n_rules)
        inside = dict(rows.satisfying(boxes, np.zeros(n_rules, dtype=np.int64)))
        for place in range(n_rules)[::-1]:  # the first to decide overwrites the later ones
            winner[inside[place]] = place
        for place, some in inside.items():
            ordered = np.sort(some)
            covered[place] += np.bincount(class_ids[ordered], heavy[ordered], n_classes)
        cells = np.bincount(winner * n_classes + class_ids, heavy, decided.size)
        decided += cells.reshape(decided.shape)
        leaf = rows.leaf_place(case.leaves)
        by_leaf += np.bincount(leaf * n_classes + class_ids, heavy, by_leaf.size).reshape(by_leaf.shape)
        differing += float(heavy[said[winner] != case.classes[leaf]].sum())
        total += float(heavy.sum())
    # Other rules cover what they covered before the budget was spent, which was recounted.
    spent = case.rules_with(~lines.kept & ~case.deleted)[lines.written]
    _compare(case, lines, "class_counts", covered, spent)
    _compare(case, lines, "decided_counts", decided, np.ones(len(decided), dtype=bool))
    share = differing / total if total else 0.0
    found = f"{share:.4g} of the rows differ from the tree"
    if lines.budget or lines.is_exact:
        within = share <= lines.limit
        broken = [] if within else [f"{found}, beyond the budget of {lines.budget:g}."]
        case.report(f"{found} (recounted), within the budget of {lines.budget:g}", broken)
    else:
        case.checks.append(f"{found} (recounted); their method promises nothing about that")
    if lines.budget:
        _check_reliability(case, lines, covered, by_leaf[lines.written])


def _compare(case: Case, lines: _Lines, name: str, again: NDArray[np.float64], compared: NDArray[np.bool_]) -> None:
    if not compared.any():
        return
    stated = np.asarray(lines.stated[name], dtype=np.float64)
    known: NDArray[np.bool_] = ~np.asarray(np.isnan(stated).any(axis=1)) | ~compared
    differs = compared & known & ~np.isclose(stated, again, rtol=COUNT_TOLERANCE, atol=COUNT_TOLERANCE).all(axis=1)
    if not known.all():
        if lines.budget:  # which was spent on rows, so that they were known
            told = f"{(~known).sum()} of {len(known)} {name.replace('_', ' ')} are not stated"
            case.failures.append(f"{told}, although a budget was spent.")
        if not (known & compared).any():
            return
    titles = [f"The rule of leaf {leaf}" for leaf in case.leaves[lines.written].tolist()] + ["Otherwise"]
    case.report(
        f"{RECOUNTED[name]} recounted from the rows{'' if known.all() else ', where they are stated'}",
        [
            describe_difference(titles[place], name, case.tree.class_names, again[place], stated[place])
            for place in np.flatnonzero(differs).tolist()
        ],
    )


def _check_reliability(
    case: Case, lines: _Lines, counts: NDArray[np.float64], leaf_counts: NDArray[np.float64]
) -> None:
    """Check the guard: rules that lost a condition to the budget stay reliable, and their class the commonest."""
    paid = ~lines.kept & ~case.deleted
    judged = case.rules_with(paid)[lines.written]
    if not judged.any():
        return
    own, tolerance = case.classes[lines.written], lines.stated["tolerance"]
    place = np.arange(len(own))
    fallen = find_shares(leaf_counts, own) - find_shares(counts, own)
    unreliable = np.flatnonzero(judged & find_beyond(counts, leaf_counts, own, tolerance)[0])
    outnumbered = np.flatnonzero(judged & (counts[place, own] < counts.max(axis=1) - COUNT_TOLERANCE))
    names = case.leaves[lines.written]
    case.report(
        f"{judged.sum()} of {len(judged)} written rules lost a condition to the budget; none is more than "
        f"{tolerance:g} less reliable than its leaf, and all state the commonest class of their rows (recounted)",
        [f"The rule of leaf {names[k]} is {fallen[k]:.4g} less reliable than its leaf." for k in unreliable.tolist()]
        + [f"The class of the rule of leaf {names[k]} is not the commonest of its rows." for k in outnumbered.tolist()],
    )
