"""Check what each method promised, one promise after another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import shorten
from secateur.verify.boxes import Boxes, find_foreign_leaves
from secateur.verify.count_words import compare_totals, describe_difference
from secateur.verify.monotone import Monotone, check_signs
from secateur.verify.paths import walk_paths
from secateur.verify.placed_rows import PlacedRows
from secateur.verify.possible import Possible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from secateur.tree.tree import Tree

    Chunk = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.float64] | None]
    Domain = tuple[NDArray[Any], NDArray[np.int64]]

__all__ = ["Verification", "tell_other_words", "verify_rules"]


EXACT = ("none", "sibling", "redundancy", "exact", "faithful")
WITHIN_TOLERANCE = ("faithful", "mismatch")
PROTECTING = ("faithful",)
CERTIFIED = ("mismatch-certified",)
BUDGETED = ("budgeted",)
UNPROMISED = ("quinlan",)
EXACT_FIRST = ("budgeted",)
EXACT_KIND = "no-foreign-leaf"
EACH_LEAF = "one rule for each leaf, made of its path's conditions, with its class"
SHOWN_FAILURES = 5
NOT_RECOUNTED = "not recounted: pass the training rows, verify(X, y), to prove them."
NOT_RECHECKED = "not re-checked: pass its rows, verify(X, y), to prove the certificate."
# Sums of weights may be taken in another order here than where they were counted.
COUNT_TOLERANCE = 1e-9
# Boxes are made for so many rules at a time that they have about this many sides.
BOX_SIDES = 1 << 24


@dataclass(frozen=True)
class Verification:
    """What the independent checker found.

    Attributes
    ----------
    ok : bool
        Whether everything that was promised was proved again.
    failures : tuple of str
        What is wrong or could not be proved, a sentence each.
    checks : tuple of str
        What was checked and holds.
    unchecked : tuple of str
        What was not checked, though no promise rests on it.
    """

    ok: bool
    failures: tuple[str, ...]
    checks: tuple[str, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def lacks_rows(self) -> bool:
        """Whether nothing was found wrong, but a promise can only be proved with the training rows."""
        return bool(self.failures) and all(_lacks_rows(failure) for failure in self.failures)

    def __bool__(self) -> bool:
        return self.ok

    def _repr_html_(self) -> str:
        *lines, verdict = str(self).split("\n")
        body = "".join(
            f"<tr><td>{line[0]}</td><td style='text-align:left'>{escape(line[2:])}</td></tr>" for line in lines
        )
        return f"<div><p><b>{escape(verdict)}</b></p><table><tbody>{body}</tbody></table></div>"

    def __str__(self) -> str:
        lines = [f"✓ {check}" for check in self.checks]
        lines += [f"– {item}" for item in self.unchecked]
        lines += [f"{'?' if _lacks_rows(failure) else '✗'} {failure}" for failure in self.failures]
        verdict = "Nothing is wrong, but not everything was checked." if self.lacks_rows else "NOT verified."
        return "\n".join([*lines, "Verified." if self.ok else verdict])


def tell_other_words(record: Mapping[str, Any]) -> list[str]:
    """Say that the sentences of a file by another version were not compared with its numbers."""
    version = record.get("worded_by")
    return [] if version is None else [f"the sentences of the file were written by secateur {version}: not compared"]


def _lacks_rows(failure: str) -> bool:
    """Whether a promise was not found broken, but not looked at either."""
    return failure.endswith((NOT_RECOUNTED, NOT_RECHECKED))


def verify_rules(
    tree: Tree,
    record: Mapping[str, Any],
    matrix: NDArray[Any] | None = None,
    class_ids: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
    domain: Domain | None = None,
    *,
    chunks: Iterable[Chunk] | None = None,
) -> Verification:
    """Check a rule set's record against its tree, and against rows if there are any.

    Parameters
    ----------
    tree : Tree
    record : mapping
        The rule set without its words: ``method``, ``parameters``, ``digest_ok`` and, of a file by another
        version, ``worded_by``; for each rule, in arrays,
        ``leaf_ids``, ``predictions``, ``class_counts`` and ``source_class_counts`` (NaN where not known); for each
        link of each rule, rule after rule and root to leaf, ``links``, ``deleted``, ``kinds`` and ``numbers``, where
        ``links[offsets[i]:offsets[i + 1]]`` are those of rule ``i``.
    matrix : ndarray of shape (n_rows, n_features), default=None
        Training rows in the tree's dtype and codes.
    class_ids : ndarray of int64, shape (n_rows,), default=None
    weights : ndarray of float64, shape (n_rows,), default=None
    domain : tuple of (matrix, class_ids), default=None
        The listed cases of ``mismatch-certified``.
    chunks : iterable of (matrix, class_ids, weights), default=None
        Training rows that come in parts, instead of a matrix.

    Returns
    -------
    Verification
    """
    if matrix is not None and class_ids is not None:
        chunks = [(matrix, class_ids, weights)]
    checker = _Checker(tree, record, chunks, domain)
    checker.run()
    return Verification(not checker.failures, tuple(checker.failures), tuple(checker.checks), tuple(checker.unchecked))


@dataclass
class _Counted:
    """What was counted of the training rows; counts are weights, shape (n_rules, n_classes)."""

    rules: NDArray[np.float64]  # of rows that satisfy each rule's kept conditions
    leaves: NDArray[np.float64]  # of rows that reach each leaf
    n_rows: int = 0
    total: float = 0.0
    in_conflict: float = 0.0  # weight of the rows that rules of different classes cover
    unanswered: int | None = None  # the first row that no rule of the tree's class covers
    against_facts: list[str] = field(default_factory=list)  # facts that a row contradicts, a sentence each


class _Checker:
    def __init__(
        self, tree: Tree, record: Mapping[str, Any], chunks: Iterable[Chunk] | None, domain: Domain | None
    ) -> None:
        self.tree, self.record, self.chunks, self.domain = tree, record, chunks, domain
        self.paths = walk_paths(tree)
        self.leaves = self.paths.leaves
        self.classes: NDArray[np.int64] = tree.leaf_class[self.leaves]
        self.deleted: NDArray[np.bool_] = record["deleted"]
        self.method: str = record["method"]
        self.facts = tree.facts if record["parameters"].get("domain_knowledge", True) else type(tree.facts)()
        self.possible = Possible(tree, self.facts)
        self.failures: list[str] = []
        self.checks: list[str] = []
        self.unchecked: list[str] = []

    def run(self) -> None:
        if not self._structure_holds():
            return
        self.unchecked += tell_other_words(self.record)
        if self.method not in (*EXACT, *WITHIN_TOLERANCE, *CERTIFIED, *BUDGETED, *UNPROMISED):
            self.failures.append(f"There is no check for the method {self.method!r}, so nothing of it is proved.")
        if self.method == "none":
            lost = self.leaves[self._rules_with(self.deleted)].tolist()
            self.report(
                "nothing was deleted",
                [f"The rule of leaf {leaf} lost a condition, although nothing was to be deleted." for leaf in lost],
            )
        if self.method in EXACT or self.method in EXACT_FIRST:
            self._check_boxes()
        if self.method in PROTECTING and self.record["parameters"].get("protect", True):
            self._check_protection()
        if self.method in CERTIFIED:
            self._check_certificate()
        counted = self._count_rows()
        self._check_counts(counted)
        if self.method in BUDGETED:
            self._check_conflict(counted)

    def report(self, what: str, broken: list[str]) -> None:
        if not broken:
            self.checks.append(what)
        self.failures += broken[:SHOWN_FAILURES]
        if len(broken) > SHOWN_FAILURES:
            self.failures.append(f"… and {len(broken) - SHOWN_FAILURES} more of the kind.")

    def expect(self, holds: bool, what: str, failure: str) -> None:
        self.report(what, [] if holds else [failure])

    def _structure_holds(self) -> bool:
        broken = []
        leaves = self.leaves.tolist()
        if self.record["leaf_ids"].tolist() != leaves:
            broken.append("The rules are not one for each leaf in source order.")
        else:
            listed = walked = _cut(self.paths.links, self.paths.offsets)
            if not all(np.array_equal(self.record[name], getattr(self.paths, name)) for name in ("links", "offsets")):
                listed = _cut(self.record["links"], self.record["offsets"])
            labels = self.tree.classes[self.classes].tolist()
            parts = leaves, walked, listed, labels, self.record["predictions"]
            for leaf, path, links, label, said in zip(*parts, strict=True):
                if links != path:
                    broken.append(f"Kept and deleted links of the rule of leaf {leaf} are not the links of its path.")
                elif said != label:
                    broken.append(f"The rule of leaf {leaf} predicts {said!r}, but the leaf does not.")
        if not self.record.get("digest_ok", True):
            broken.append("The file was changed after it was written: its digest does not fit its content.")
        self.report(EACH_LEAF, broken)
        return not broken

    def _check_boxes(self) -> None:
        """Check that no rule's box meets the box of a leaf of another class; every pair is decided."""
        # Of `budgeted` only the exact deletions are promised to be so: the others count as kept here.
        gone = self.deleted if self.method in EXACT else self.deleted & self._is_exact_kind
        n_leaves = len(self.leaves)
        met = np.full(n_leaves, n_leaves)  # the leftmost leaf of another class that a rule meets
        place_of = dict(zip(self.leaves.tolist(), range(n_leaves), strict=True))
        for boxes in self._boxes(~gone, self._all_rules):
            found = find_foreign_leaves(self.tree, self.paths, boxes, self.classes[boxes.rules], self.possible)
            for leaf, rules in found:
                met[rules] = np.minimum(met[rules], place_of[leaf])
        self.report(
            "no exact deletion lets a rule meet a leaf of another class (all pairs of boxes compared)"
            + (f", checked among rows that keep to: {'; '.join(self.possible.words)}" if self.possible.words else ""),
            [
                f"The rule of leaf {self.leaves[rule]} also covers rows of leaf {self.leaves[met[rule]]}, which "
                "predicts another class: its exact deletions do not preserve the tree's predictions."
                for rule in np.flatnonzero(met < n_leaves)
            ],
        )

    def _count_rows(self) -> _Counted | None:
        """Place the rows, a chunk at a time, and count what every promise about them needs."""
        if self.chunks is None:
            return None
        counted = _Counted(*np.zeros((2, len(self.leaves), self.tree.n_classes)))
        for matrix, class_ids, weights in self.chunks:
            rows = PlacedRows(self.tree, matrix)
            heavy = np.ones(rows.n_rows) if weights is None else weights
            by_class = np.zeros((self.tree.n_classes, rows.n_rows), dtype=bool)
            covered, classes = list(by_class), self.classes.tolist()
            for rule, inside in self._covered(rows, self._all_rules):
                covered[classes[rule]][inside] = True
                if weights is None:
                    counted.rules[rule] += np.bincount(class_ids.take(inside), minlength=self.tree.n_classes)
                else:
                    inside = np.sort(inside)  # so that weights are added in the order of the rows
                    counted.rules[rule] += np.bincount(class_ids[inside], heavy[inside], self.tree.n_classes)
            place = rows.leaf_place(self.leaves)
            cells = np.bincount(place * self.tree.n_classes + class_ids, heavy, counted.leaves.size)
            counted.leaves += cells.reshape(counted.leaves.shape)
            if self.possible.words:
                counted.against_facts += self.possible.check_rows(matrix, counted.n_rows)
            answered = by_class[self.classes[place], np.arange(rows.n_rows)]
            if counted.unanswered is None and not answered.all():
                counted.unanswered = counted.n_rows + int(answered.argmin())
            counted.in_conflict += float(heavy[by_class.sum(axis=0) > 1].sum())
            counted.total += float(heavy.sum())
            counted.n_rows += rows.n_rows
        return counted

    def _check_counts(self, counted: _Counted | None) -> None:
        """Check that stored counts are the rows' counts, and that reliabilities lie within the promised tolerance."""
        if counted is None:
            if self.method in WITHIN_TOLERANCE:
                self.failures.append(f"The reliabilities were {NOT_RECOUNTED}")
            else:
                self.unchecked.append("supports and class counts were not recounted: no training rows were passed")
            return
        if self.possible.words:
            self.report("the rows keep to the facts that were given", counted.against_facts)
        now, source = counted.rules, counted.leaves
        recounted = {"class_counts": now, "source_class_counts": source}
        differs = {
            name: ~np.isnan(self.record[name]).any(axis=1)
            & ~np.isclose(self.record[name], again, rtol=COUNT_TOLERANCE, atol=COUNT_TOLERANCE).all(axis=1)
            for name, again in recounted.items()
        }
        self.report(
            "supports and class counts recounted from the rows",
            compare_totals(source, self.record["source_class_counts"])
            + [
                describe_difference(
                    f"The rule of leaf {self.leaves[rule]}",
                    name,
                    self.tree.class_names,
                    again[rule],
                    self.record[name][rule],
                )
                for rule in np.flatnonzero(differs["class_counts"] | differs["source_class_counts"])
                for name, again in recounted.items()
                if differs[name][rule]
            ],
        )
        if self.method in WITHIN_TOLERANCE:
            tolerance = self.record["parameters"].get("tolerance", 0.0)
            judged = self._rules_with(self.deleted)
            moved = _shares(now, self.classes) - _shares(source, self.classes)
            kept = f"{'and each is' if judged.sum() > 1 else 'which is'} within {tolerance:g} of its leaf's reliability"
            lost = f"{judged.sum()} of {len(judged)} rule{'s' * (len(judged) != 1)} lost a condition, {kept}"
            self.report(
                f"{lost} (recounted)" if judged.any() else "no rule lost a condition",
                [
                    f"The rule of leaf {self.leaves[rule]} lost a condition, but no row reaches its leaf, so nothing "
                    "tells what its reliability was."
                    if np.isnan(moved[rule])
                    else f"The rule of leaf {self.leaves[rule]} moved its reliability by {moved[rule]:+.4g}, beyond "
                    f"{tolerance:g}."
                    for rule in np.flatnonzero(judged & ~(np.abs(moved) <= tolerance + COUNT_TOLERANCE))
                ],
            )

    def _check_protection(self) -> None:
        """Check that no condition is gone that points away from its class where all leaves have the class."""
        tree, paths, counts = self.tree, self.paths, self.tree.counts
        if counts is None:
            return  # nothing points anywhere
        own = self.classes[paths.rule]
        lowest, highest = np.full((2, tree.n_nodes), self.classes[0])  # class of the leaves below each node
        lowest[0], highest[0] = self.classes.min(), self.classes.max()
        lowest[paths.links] = highest[paths.links] = own
        np.minimum.at(lowest, paths.links, own)
        np.maximum.at(highest, paths.links, own)
        above = paths.parent[paths.links]
        with np.errstate(invalid="ignore"):  # a node without rows has no share, and points nowhere
            share = counts / counts.sum(axis=1, keepdims=True)
        falls = share[paths.links, own] - share[above, own] < -self.record["parameters"].get("rf_tol", 0.0)
        broken = np.flatnonzero(self.deleted & falls & (lowest == highest)[above])
        self.report(
            "no condition is gone that points away from the class where all leaves have the class",
            [
                f"The rule of leaf {self.leaves[paths.rule[entry]]} lost the condition of link {paths.links[entry]}, "
                "which is protected: it points away from the class where all leaves have the class."
                for entry in broken.tolist()
            ],
        )

    def _check_conflict(self, counted: _Counted | None) -> None:
        """Check that every row is covered by a rule of the tree's class and that conflicts are within the promise."""
        if counted is None:
            self.failures.append(f"The conflicts were {NOT_RECOUNTED}")
            return
        spent = self.record["numbers"][self.record["kinds"] == "within-budget"]
        stated, allowed = float(sum(spent.tolist())), self.record["parameters"]["max_conflict"]
        share = counted.in_conflict / counted.total
        self.expect(
            counted.unanswered is None,
            "every row is covered by a rule of the tree's class",
            f"No rule of the tree's class covers row {counted.unanswered}.",
        )
        found = f"rules of different classes cover {share:.4g} of the rows" if share else "no row is in conflict"
        self.expect(
            share <= allowed + COUNT_TOLERANCE,
            f"{found} (recounted), within the {allowed:g} that may be",
            f"Rules of different classes cover {share:.4g} of the rows, beyond the {allowed:g} that may be.",
        )
        self.expect(
            abs(share - stated) <= COUNT_TOLERANCE,
            "what the deletions are said to have cost adds up to that",
            f"The deletions are said to have cost {stated:.4g} of the rows, but {share:.4g} are in conflict.",
        )
        if "tolerance" in self.record["parameters"]:
            self._check_guard(counted, self.record["parameters"]["tolerance"])
        else:
            self.unchecked.append("reliabilities were not judged: the rules were made before `budgeted` guarded them")

    def _check_guard(self, counted: _Counted, tolerance: float) -> None:
        """Check that rules shortened at the price of conflict are reliable, and say what most of their rows say."""
        judged = self._rules_with(self.deleted & ~self._is_exact_kind)
        fallen = _shares(counted.leaves, self.classes) - _shares(counted.rules, self.classes)
        hits = counted.rules[self._all_rules, self.classes]
        most = counted.rules.max(axis=1)
        broken = []
        for rule in np.flatnonzero(judged).tolist():
            name = f"The rule of leaf {self.leaves[rule]} lost a condition at the price of conflict, but"
            if np.isnan(fallen[rule]):
                broken.append(f"{name} no row reaches its leaf, so nothing tells what its reliability was.")
            elif fallen[rule] > tolerance + COUNT_TOLERANCE:
                broken.append(f"{name} is {fallen[rule]:.4g} less reliable than its leaf, beyond {tolerance:g}.")
            elif hits[rule] < most[rule] * (1 - COUNT_TOLERANCE):
                broken.append(f"{name} its class is not the commonest of its rows.")
        self.report(
            f"{judged.sum()} of {len(judged)} rules lost a condition at the price of conflict; none is more than "
            f"{tolerance:g} less reliable than its leaf, and all state the commonest class of their rows (recounted)",
            broken,
        )
        self.report(
            "no two of them have the same conditions and different classes",
            [
                f"The rules of leaves {self.leaves[one]} and {self.leaves[other]} have the same conditions, but "
                "predict different classes."
                for one, other in self._find_twins(np.flatnonzero(judged))
            ],
        )

    def _find_twins(self, rules: NDArray[np.int64]) -> list[tuple[int, int]]:
        """List pairs of rules of different classes that allow the same values of every feature."""
        first_of: dict[bytes, int] = {}
        pairs = []
        for boxes in self._boxes(~self.deleted, rules):
            # Of a feature that has no number left only NaN counts; and -0.0 becomes 0.0.
            is_empty = boxes.low >= boxes.high
            low = np.where(is_empty, np.inf, boxes.low + 0.0)
            high = np.where(is_empty, -np.inf, boxes.high + 0.0)
            for place, rule in enumerate(boxes.rules.tolist()):
                codes = [codes[place].tobytes() for codes in boxes.codes.values()]
                sides = low[:, place].tobytes(), high[:, place].tobytes(), boxes.missing[:, place].tobytes()
                one = first_of.setdefault(b"".join([*sides, *codes]), rule)
                if self.classes[one] != self.classes[rule]:
                    pairs.append((one, rule))
        return pairs

    def _check_certificate(self) -> None:
        """M1-D: check that the listed domain, or the tree's monotonicity, certifies each shortened rule."""
        signs = self.record["parameters"].get("monotone")
        if signs is not None:
            self._check_monotone(signs)
            return
        unsigned = self._rules_with(self.deleted & (self.record["kinds"].astype(str) == "monotone"))
        self.failures += [
            f"The rule of leaf {self.leaves[rule]} is said to rest on monotonicity, but no signs are stated."
            for rule in np.flatnonzero(unsigned)[:SHOWN_FAILURES]
        ]
        if self.domain is None:
            self.failures.append(f"The domain was {NOT_RECHECKED}")
            return
        labels = self.domain[1]
        refuting = np.full(len(self.leaves), len(labels))  # the first listed row of another class that a rule covers
        widened = np.flatnonzero(self._rules_with(self.deleted))
        for rule, rows in self._covered(PlacedRows(self.tree, self.domain[0]), widened):
            foreign = rows[labels[rows] != self.classes[rule]]
            refuting[rule] = foreign.min(initial=len(labels))
        self.report(
            "every shortened rule implies its class on the listed domain",
            [
                f"The rule of leaf {self.leaves[rule]} covers listed row {refuting[rule]}, which has another class."
                for rule in np.flatnonzero(refuting < len(labels))
            ],
        )
        self._check_sentence(f"the {len(labels)} listed rows")

    def _check_monotone(self, signs: Any) -> None:
        """Check that the tree is monotone in the signs, for all rows or for those that the facts allow."""
        useless = check_signs(self.tree, signs)
        if useless is not None:
            self.failures.append(useless)
            return
        # An order of categories rules out no row: it is part of what the signs say.
        known, among = Possible(self.tree, replace(type(self.facts)(), orders=self.facts.orders)), ""
        monotone = Monotone(self.tree, self.paths, signs, known, self._boxes)
        self.failures += [
            f"A sign is stated for {self.tree.feature_name(feature)!r}, but its categories have no order."
            for feature in monotone.unordered
        ]
        wrong = monotone.find_wrong_order()
        if wrong is not None and self.possible.words:
            among = f", checked among rows that keep to: {'; '.join(self.possible.words)}"
            monotone = Monotone(self.tree, self.paths, signs, self.possible, self._boxes)
            if monotone.too_many is not None:
                self.failures.append(monotone.too_many)
                return
            wrong = monotone.find_wrong_order()
        if wrong is not None:
            self.failures.append(
                f"The tree is not monotone in the stated signs: leaf {wrong[0]} predicts the second class, but a row "
                f"that favours it no less reaches leaf {wrong[1]}, which predicts the first."
            )
            return
        self.checks.append(f"the tree is monotone in the stated signs (all pairs of leaves compared){among}")
        unreached, uncovered = monotone.find_uncovered(self.deleted)
        refuted = {
            rule: f"No row reaches leaf {self.leaves[rule]}, so no direction certifies its rule." for rule in unreached
        }
        for rule in uncovered:
            refuted[rule] = (
                f"The rule of leaf {self.leaves[rule]} lost a condition that the stated directions do not cover."
            )
        self.report(
            "for every row of a shortened rule there is one of its leaf that favours its class no more",
            [refuted[rule] for rule in sorted(refuted)],
        )
        about = f" that keep to the facts {shorten(self.possible.words)}" if among else ""
        self._check_sentence(f"all rows{about}, for which the tree was proved to be monotone in the stated signs")

    def _check_sentence(self, proved: str) -> None:
        """Check that the guarantee speaks of the domain that was proved, and of no other."""
        said = self.record["parameters"].get("certificate")
        self.expect(
            said == proved,
            "the guarantee names the certified domain as it was found here",
            f"The guarantee is said to hold on another domain ({said}) than the one found here ({proved}).",
        )

    @cached_property
    def _is_exact_kind(self) -> NDArray[np.bool_]:
        return np.asarray(self.record["kinds"].astype(str) == EXACT_KIND)

    @cached_property
    def _all_rules(self) -> NDArray[np.int64]:
        return np.arange(len(self.leaves))

    def _rules_with(self, entries: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mark the rules that have one of the marked links."""
        return np.bincount(self.paths.rule[entries], minlength=len(self.leaves)) > 0

    def _covered(self, listed: PlacedRows, rules: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """List rules with the rows that satisfy their kept conditions."""
        paths = self.paths
        # All that reaches the node where a rule's first deleted condition stood satisfies the conditions above it.
        top = self.leaves.copy()
        gone = np.flatnonzero(self.deleted)[::-1]
        top[paths.rule[gone]] = paths.parent[paths.links[gone]]
        for boxes in self._boxes(~self.deleted, rules):
            for place, inside in listed.satisfying(boxes, top[boxes.rules]):
                yield int(boxes.rules[place]), inside

    def _boxes(self, kept: NDArray[np.bool_], rules: NDArray[np.int64]) -> Iterator[Boxes]:
        """Make the boxes of the rules' kept links, for a bounded number of rules at a time."""
        width = 1 + sum(1 + len(levels or ()) for levels in self.tree.categories)
        size = max(1, BOX_SIDES // width)
        for first in range(0, len(rules), size):
            yield Boxes(self.tree, self.paths, kept, rules[first : first + size])


def _cut(links: NDArray[np.int64], offsets: NDArray[np.int64]) -> list[list[int]]:
    """Cut the links into those of each rule."""
    flat = links.tolist()
    return [flat[first:last] for first, last in pairwise(offsets.tolist())]


def _shares(counts: NDArray[np.float64], class_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # a rule without rows has no share
        share: NDArray[np.float64] = counts[np.arange(len(counts)), class_ids] / counts.sum(axis=1)
    return share
