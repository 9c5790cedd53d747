"""Check compact rules: that they are right where they speak, that they speak of everything they should, and the budget.

A leaf lies in a rule when no possible row of the leaf fails one of the rule's conditions. So each condition's other
side is met with the boxes of the leaves that the rule is said to stand for: nothing may be left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.verify.boxes import Allowed, Boxes, cut_cell, meet_domains
from secateur.verify.checker import (
    COUNT_TOLERANCE,
    EACH_LEAF,
    EXACT,
    NOT_RECOUNTED,
    SHOWN_FAILURES,
    Verification,
    tell_other_words,
    verify_rules,
)
from secateur.verify.count_words import describe_difference
from secateur.verify.paths import walk_paths
from secateur.verify.placed_rows import PlacedRows
from secateur.verify.possible import Possible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from secateur.tree.tree import Tree
    from secateur.verify.checker import Chunk, Domain

__all__ = ["verify_compact"]

PAID_KIND = "decided-otherwise"


def verify_compact(
    tree: Tree,
    source: Mapping[str, Any],
    record: Mapping[str, Any],
    read_rows: Callable[[], Iterable[Chunk]] | None = None,
    *,
    domain: Domain | None = None,
) -> Verification:
    """Check compact rules against their tree, the rule set that they were chosen from, and rows if there are any.

    Parameters
    ----------
    tree : Tree
    source : mapping
        The rule set that they were chosen from, as :func:`verify_rules` takes it.
    record : mapping
        ``chosen`` (places of the written rules), ``otherwise`` (index of a class), ``budget``, ``tolerance``,
        ``deleted`` and ``kinds`` (one element for each link of each rule of the tree), ``class_counts`` and
        ``decided_counts`` of the written rules (the latter ends with "otherwise"),
        ``stands_for`` (places of leaves, a list for each written rule), ``drop_costs`` (what
        dropping each rule of the tree cost: two shares of mixed rows and one of training rows), ``digest_ok``,
        ``approximates`` (the model that the tree stands in for, None if it does not).
    read_rows : callable, default=None
        Gives the training rows in parts, as often as it is called.
    domain : tuple of (matrix, class_ids), default=None
        The listed cases of ``mismatch-certified``.

    Returns
    -------
    Verification
    """
    first = verify_rules(tree, source, domain=domain, chunks=None if read_rows is None else read_rows())
    checker = _CompactChecker(tree, source, record)
    checker.failures += first.failures
    checker.checks += [f"chosen from {check}" if check == EACH_LEAF else check for check in first.checks]
    checker.unchecked += dict.fromkeys([*first.unchecked, *tell_other_words(record)])
    if record.get("approximates"):
        checker.unchecked.append(
            f"how far the rules say what {record['approximates']} says was measured when they were made, and cannot be "
            "counted again without the model: what is proved is about the surrogate tree"
        )
    if checker.structure_holds():
        checker.check_leaves()
        checker.check_rows(read_rows)
    return Verification(not checker.failures, tuple(checker.failures), tuple(checker.checks), tuple(checker.unchecked))


class _CompactChecker:
    def __init__(self, tree: Tree, source: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        self.tree, self.source, self.record = tree, source, record
        self.paths = walk_paths(tree)
        self.leaves = self.paths.leaves
        self.classes: NDArray[np.int64] = tree.leaf_class[self.leaves]
        self.chosen: NDArray[np.int64] = record["chosen"]
        self.kept: NDArray[np.bool_] = ~record["deleted"]
        facts = tree.facts if source["parameters"].get("domain_knowledge", True) else type(tree.facts)()
        self.possible = Possible(tree, facts)
        self.is_exact = source["method"] in EXACT
        self.failures: list[str] = []
        self.checks: list[str] = []
        self.unchecked: list[str] = []

    def report(self, what: str, broken: list[str]) -> None:
        if not broken:
            self.checks.append(what)
        self.failures += broken[:SHOWN_FAILURES]
        if len(broken) > SHOWN_FAILURES:
            self.failures.append(f"… and {len(broken) - SHOWN_FAILURES} more of the kind.")

    def structure_holds(self) -> bool:
        """Check that written rules are those of different leaves, none of them of the class of "otherwise"."""
        broken = []
        chosen, default = self.chosen, self.record["otherwise"]
        if len(np.unique(chosen)) < len(chosen):
            broken.append("A rule is written twice.")
        broken += [
            f"The rule of leaf {self.leaves[rule]} is of the class of otherwise, which is not written."
            for rule in chosen[self.classes[chosen] == default].tolist()
        ]
        source_kept = ~np.asarray(self.source["deleted"])
        changed = np.unique(self.paths.rule[self.kept != source_kept])
        if not self.record["budget"] and len(changed):
            broken.append(f"The rule of leaf {self.leaves[changed[0]]} is shorter than it was, but there is no budget.")
        if (self.kept & ~source_kept).any():
            broken.append("A condition is back that was deleted before the rules were chosen.")
        paid = ~self.kept & source_kept
        if (paid != (np.asarray(self.record["kinds"]) == PAID_KIND)).any():
            broken.append("The conditions that are said to be deleted under the budget are not those that were.")
        unwritten = changed[~np.isin(changed, chosen)]
        broken += [f"The rule of leaf {self.leaves[rule]} was shortened but is not written." for rule in unwritten]
        if not self.record.get("digest_ok", True):
            broken.append("The file was changed after it was written: its digest does not fit its content.")
        self.report("the written rules are rules of their leaves, none of the class of otherwise", broken)
        return not broken

    def check_leaves(self) -> None:
        """Check that leaves lie in the rules said to stand for them, and that no leaf of a written class is forgotten.

        A leaf that lies in no written rule is one that no row reaches or, under a budget, one whose rule was dropped at
        a price within it.
        """
        everything = np.arange(len(self.leaves))
        boxes = Boxes(self.tree, self.paths, np.ones(len(self.paths.links), dtype=bool), everything)
        is_reached = self._are_reached(boxes)
        covered = np.zeros(len(self.leaves), dtype=bool)
        broken = []
        for rule, places in zip(self.chosen.tolist(), self.record["stands_for"], strict=True):
            stands = np.zeros(len(self.leaves), dtype=bool)
            stands[places] = True
            inside = self._lie_in(boxes, rule, np.flatnonzero((self.classes == self.classes[rule]) & is_reached))
            covered |= inside & stands
            name = self.leaves[rule]
            broken += [
                f"Leaf {leaf} does not lie in the rule of leaf {name}, which is said to stand for it."
                for leaf in self.leaves[stands & ~inside].tolist()
            ]
            broken += [
                f"Leaf {leaf} lies in the rule of leaf {name}, which is not said to stand for it."
                for leaf in self.leaves[inside & ~stands].tolist()
            ]
        self.report("each rule stands for the leaves that lie in it, condition by condition, and for no other", broken)
        left = (self.classes != self.record["otherwise"]) & ~covered & is_reached
        if not self.record["budget"]:
            self.report(
                "every leaf of a written class lies in a written rule, so all other rows are of the class of otherwise",
                [f"No written rule stands for leaf {leaf}." for leaf in self.leaves[left].tolist()],
            )
            return
        left[self.chosen] = False
        before, after, _ = costs = np.asarray(self.record["drop_costs"], dtype=np.float64)
        within = (np.minimum(before, after) >= 0) & (after <= self._limit)
        # Only exact rules begin with nothing spent; dropping others may win rows back.
        within |= (after <= before) & (not self.is_exact)
        self.report(
            "every leaf of a written class lies in a written rule, or its rule is said to be dropped within the budget",
            [
                f"The rule of leaf {leaf} is not written, and what dropping it cost is not stated or beyond the budget."
                for leaf in self.leaves[left & ~within].tolist()
            ],
        )
        if not np.isnan(costs).all():
            self.unchecked.append(
                "what single deletions, kept conditions and dropped rules cost, or would cost, was not recounted: only "
                "what all of them cost together, on the training rows"
            )

    @property
    def _limit(self) -> float:
        budget: float = self.record["budget"]
        return budget + COUNT_TOLERANCE

    def _lie_in(self, boxes: Boxes, rule: int, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark those of some leaves of which no possible row fails a condition of a rule."""
        tree, paths = self.tree, self.paths
        span = slice(paths.offsets[rule], paths.offsets[rule + 1])
        for link in paths.links[span][self.kept[span]].tolist():
            node = int(paths.parent[link])
            feature = int(tree.feature[node])
            whole = Allowed(*self.possible.domain(feature))
            other = {feature: cut_cell(tree, paths, node, not paths.is_left[link], whole)}
            fails = boxes.meet(feature, places, other[feature], self.possible)
            fails[fails] = self.possible.find_states(boxes, places[fails], other, feature)
            fails[fails] = self.possible.find_rows(boxes, places[fails], other)
            places = places[~fails]
        inside = np.zeros(len(self.leaves), dtype=bool)
        inside[places] = True
        return inside

    def _are_reached(self, boxes: Boxes) -> NDArray[np.bool_]:
        """Mark the leaves that a possible row reaches."""
        own = np.arange(len(self.leaves))
        reached = boxes.is_possible & meet_domains(boxes, own, self.possible)
        reached[reached] = self.possible.find_rows(boxes, own[reached], {})
        return reached

    def check_rows(self, read_rows: Callable[[], Iterable[Chunk]] | None) -> None:
        """Recount what the rules cover and decide, the rows decided otherwise, and reliabilities."""
        budget = self.record["budget"]
        if read_rows is None:
            if budget:
                self.failures.append(f"The rows decided otherwise were {NOT_RECOUNTED}")
            else:
                self.unchecked.append(
                    "the rows that each rule decides were not recounted: no training rows were passed"
                )
            return
        n_rules, n_classes = len(self.chosen), self.tree.n_classes
        covered, decided = np.zeros((n_rules, n_classes)), np.zeros((n_rules + 1, n_classes))
        by_leaf = np.zeros((len(self.leaves), n_classes))
        otherwise_weight = total = 0.0
        said = np.append(self.classes[self.chosen], self.record["otherwise"])
        boxes = Boxes(self.tree, self.paths, self.kept, self.chosen)
        for matrix, class_ids, weights in read_rows():
            heavy = np.ones(len(matrix)) if weights is None else weights
            rows = PlacedRows(self.tree, matrix)
            winner = np.full(len(matrix), n_rules)
            inside = dict(rows.satisfying(boxes, np.zeros(n_rules, dtype=np.int64)))
            for place in range(n_rules)[::-1]:  # the first to decide overwrites the later ones
                winner[inside[place]] = place
            for place, some in inside.items():
                ordered = np.sort(some)
                covered[place] += np.bincount(class_ids[ordered], heavy[ordered], n_classes)
            cells = np.bincount(winner * n_classes + class_ids, heavy, decided.size)
            decided += cells.reshape(decided.shape)
            leaf = rows.leaf_place(self.leaves)
            by_leaf += np.bincount(leaf * n_classes + class_ids, heavy, by_leaf.size).reshape(by_leaf.shape)
            otherwise_weight += float(heavy[said[winner] != self.classes[leaf]].sum())
            total += float(heavy.sum())
        self._compare("class_counts", covered)
        self._compare("decided_counts", decided)
        share = otherwise_weight / total if total else 0.0
        said_so = f"{share:.4g} of the rows are decided otherwise than by the tree"
        if budget or self.is_exact:
            within = share <= self._limit
            broken = [] if within else [f"{said_so}, beyond the budget of {budget:g}."]
            self.report(f"{said_so} (recounted), within the budget of {budget:g}", broken)
        else:
            self.unchecked.append(f"{said_so}; their method promises nothing about that")
        if budget:
            self._check_reliability(covered, by_leaf[self.chosen])

    def _compare(self, name: str, again: NDArray[np.float64]) -> None:
        stated = np.asarray(self.record[name], dtype=np.float64)
        known: NDArray[np.bool_] = ~np.asarray(np.isnan(stated).any(axis=1))
        differs = known & ~np.isclose(stated, again, rtol=COUNT_TOLERANCE, atol=COUNT_TOLERANCE).all(axis=1)
        if not known.all():
            told = f"{(~known).sum()} of {len(known)} {name.replace('_', ' ')} are not stated"
            if self.record["budget"]:  # which was spent on rows, so that they were known
                self.failures.append(f"{told[0].upper()}{told[1:]}, although a budget was spent.")
            else:
                self.unchecked.append(f"{told}, so they were not compared")
            if not known.any():
                return
        titles = [f"The rule of leaf {leaf}" for leaf in self.leaves[self.chosen].tolist()] + ["Otherwise"]
        self.report(
            f"{name.replace('_', ' ')} recounted from the rows",
            [
                describe_difference(titles[place], name, self.tree.class_names, again[place], stated[place])
                for place in np.flatnonzero(differs).tolist()
            ],
        )

    def _check_reliability(self, counts: NDArray[np.float64], leaf_counts: NDArray[np.float64]) -> None:
        """Check the guard: rules that lost a condition to the budget stay reliable, and their class the commonest."""
        paid = ~self.kept & ~np.asarray(self.source["deleted"])
        judged = np.bincount(self.paths.rule[paid], minlength=len(self.leaves))[self.chosen] > 0
        own, tolerance = self.classes[self.chosen], self.record["tolerance"]
        place = np.arange(len(own))
        with np.errstate(invalid="ignore"):
            fallen = leaf_counts[place, own] / leaf_counts.sum(axis=1) - counts[place, own] / counts.sum(axis=1)
        unreliable = np.flatnonzero(judged & ~(fallen <= tolerance + COUNT_TOLERANCE))
        outnumbered = np.flatnonzero(judged & (counts[place, own] < counts.max(axis=1) - COUNT_TOLERANCE))
        names = self.leaves[self.chosen]
        self.report(
            f"{judged.sum()} of {len(judged)} written rules lost a condition to the budget; none is more than "
            f"{tolerance:g} less reliable than its leaf, and all state the commonest class of their rows (recounted)",
            [
                f"The rule of leaf {names[k]} is {fallen[k]:.4g} less reliable than its leaf."
                for k in unreliable.tolist()
            ]
            + [
                f"The class of the rule of leaf {names[k]} is not the commonest of its rows."
                for k in outnumbered.tolist()
            ],
        )
