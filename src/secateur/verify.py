"""The independent checker: proves a rule set's promise again from the tree and the rows.

Nothing here is shared with the code that deletes: only the tree and numpy are imported, paths, boxes and counts are
worked out anew, and exactness is decided by comparing every rule's box with every leaf's box.

All rules go down the tree together. With a node come those whose boxes meet its cell, which is what its path allows; a
rule is dropped where its box and the cell have no value of a feature in common, or where all leaves below have its
class. Boxes and cells are products of one set a feature, so a rule that is dropped for its box meets no leaf below, and
one that arrives at a leaf meets it: every pair is decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from secateur.tree import Tree

__all__ = ["Verification", "verify_rules"]

EXACT = ("none", "sibling", "subtree", "redundancy", "exact")
WITHIN_TOLERANCE = ("mismatch", "layered")
CERTIFIED = ("mismatch-certified",)
BUDGETED = ("budgeted",)
UNPROMISED = ("quinlan",)
EXACT_FIRST = ("layered", "budgeted")
EXACT_KINDS = ("no-foreign-leaf",)
SHOWN_FAILURES = 5
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
        What is wrong, or could not be proved, a sentence each.
    checks : tuple of str
        What was checked and holds.
    unchecked : tuple of str
        What no promise rests on, but was not looked at.
    """

    ok: bool
    failures: tuple[str, ...]
    checks: tuple[str, ...]
    unchecked: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [f"✓ {check}" for check in self.checks]
        lines += [f"– {item}" for item in self.unchecked] + [f"✗ {failure}" for failure in self.failures]
        return "\n".join([*lines, "Verified." if self.ok else "NOT verified."])


def verify_rules(
    tree: Tree,
    record: Mapping[str, Any],
    matrix: NDArray[Any] | None = None,
    class_ids: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
    domain: tuple[NDArray[Any], NDArray[np.int64]] | None = None,
) -> Verification:
    """Check a rule set's record against its tree, and against rows if there are any.

    Parameters
    ----------
    tree : Tree
    record : mapping
        The rule set without its words: ``method``, ``parameters`` and ``digest_ok``; for each rule, in arrays,
        ``leaf_ids``, ``predictions``, ``class_counts`` and ``source_class_counts`` (NaN where not known); for each
        link of each rule, rule after rule and root to leaf, ``links``, ``deleted``, ``kinds`` and ``numbers``, where
        ``links[offsets[i]:offsets[i + 1]]`` are those of rule ``i``.
    matrix : ndarray of shape (n_rows, n_features), default=None
        Training rows in the tree's dtype and codes.
    class_ids : ndarray of int64, shape (n_rows,), default=None
    weights : ndarray of float64, shape (n_rows,), default=None
    domain : tuple of (matrix, class_ids), default=None
        The listed cases of ``mismatch-certified``.

    Returns
    -------
    Verification
    """
    checker = _Checker(tree, record, matrix, class_ids, weights, domain)
    checker.run()
    return Verification(not checker.failures, tuple(checker.failures), tuple(checker.checks), tuple(checker.unchecked))


class _Checker:
    def __init__(
        self,
        tree: Tree,
        record: Mapping[str, Any],
        matrix: NDArray[Any] | None,
        class_ids: NDArray[np.int64] | None,
        weights: NDArray[np.float64] | None,
        domain: tuple[NDArray[Any], NDArray[np.int64]] | None,
    ) -> None:
        self.tree, self.record, self.matrix, self.class_ids = tree, record, matrix, class_ids
        self.domain = domain
        self.weights = np.ones(0 if matrix is None else len(matrix)) if weights is None else weights
        self.paths = _walk_paths(tree)
        self.leaves = self.paths.leaves
        self.classes: NDArray[np.int64] = tree.leaf_class[self.leaves]
        self.deleted: NDArray[np.bool_] = record["deleted"]
        self.method: str = record["method"]
        self.failures: list[str] = []
        self.checks: list[str] = []
        self.unchecked: list[str] = []

    def run(self) -> None:
        if not self._structure_holds():
            return
        if self.method not in (*EXACT, *WITHIN_TOLERANCE, *CERTIFIED, *BUDGETED, *UNPROMISED):
            self.failures.append(f"There is no check for the method {self.method!r}, so nothing of it is proved.")
        if self.method in EXACT or self.method in EXACT_FIRST:
            self._check_boxes()
        if self.method in CERTIFIED:
            self._check_certificate()
        self._check_rows()
        if self.method in BUDGETED:
            self._check_budget()

    def report(self, what: str, broken: list[str]) -> None:
        if not broken:
            self.checks.append(what)
            return
        more = len(broken) - SHOWN_FAILURES
        self.failures.extend(broken[:SHOWN_FAILURES] + ([f"… and {more} more of the kind."] if more > 0 else []))

    def _structure_holds(self) -> bool:
        broken = []
        leaves = self.leaves.tolist()
        if self.record["leaf_ids"].tolist() != leaves:
            broken.append("The rules are not one for each leaf in source order.")
        else:
            walked = _cut(self.paths.links, self.paths.offsets)
            listed = _cut(self.record["links"], self.record["offsets"])
            labels = self.tree.classes[self.classes].tolist()
            for leaf, path, links, label, said in zip(
                *(leaves, walked, listed, labels, self.record["predictions"]), strict=True
            ):
                if links != path:
                    broken.append(f"Kept and deleted links of the rule of leaf {leaf} are not the links of its path.")
                elif said != label:
                    broken.append(f"The rule of leaf {leaf} predicts {said!r}, but the leaf does not.")
        if not self.record.get("digest_ok", True):
            broken.append("The file was changed after it was written: its digest does not fit its content.")
        self.report("one rule for each leaf, made of its path's conditions, with its class", broken)
        return not broken

    def _check_boxes(self) -> None:
        """No rule's box meets the box of a leaf of another class: every pair is decided."""
        # Layered methods promise exactness of their first layer only; what the second deleted counts as kept here.
        gone = self.deleted if self.method in EXACT else self.deleted & self._is_exact_kind
        n_leaves = len(self.leaves)
        met = np.full(n_leaves, n_leaves)  # the leftmost leaf of another class that a rule meets
        place_of = dict(zip(self.leaves.tolist(), range(n_leaves), strict=True))
        for boxes in self._boxes(~gone, self._all_rules):
            for leaf, rules in _find_foreign_leaves(self.tree, self.paths, boxes, self.classes[boxes.rules]):
                met[rules] = np.minimum(met[rules], place_of[leaf])
        self.report(
            "no exact deletion lets a rule meet a leaf of another class (all pairs of boxes compared)",
            [
                f"The rule of leaf {self.leaves[rule]} also covers rows of leaf {self.leaves[met[rule]]}, which "
                "predicts another class: its exact deletions do not preserve the tree's predictions."
                for rule in np.flatnonzero(met < n_leaves)
            ],
        )

    def _check_rows(self) -> None:
        """Stored counts are the rows' counts, and reliabilities lie within the promised tolerance."""
        if self.matrix is None or self.class_ids is None:
            if self.method in WITHIN_TOLERANCE:
                self.failures.append(
                    "The reliabilities were not recounted: pass the training rows, verify(X, y), to prove them."
                )
            else:
                self.unchecked.append("supports and class counts were not recounted: no training rows were passed")
            return
        now, source = self._count_rules(self.class_ids), self._count_leaves(self.class_ids)
        recounted = {"class_counts": now, "source_class_counts": source}
        differs = {
            name: ~np.isnan(self.record[name]).any(axis=1)
            & ~np.isclose(self.record[name], counted, rtol=COUNT_TOLERANCE, atol=COUNT_TOLERANCE).all(axis=1)
            for name, counted in recounted.items()
        }
        self.report(
            "supports and class counts recounted from the rows",
            [
                f"The {name} of the rule of leaf {self.leaves[rule]} are {counted[rule].tolist()} on these rows, not "
                f"{self.record[name][rule].tolist()}."
                for rule in np.flatnonzero(differs["class_counts"] | differs["source_class_counts"])
                for name, counted in recounted.items()
                if differs[name][rule]
            ],
        )
        if self.method in WITHIN_TOLERANCE:
            tolerance = self.record["parameters"].get("tolerance", 0.0)
            judged = self._rules_with(self.deleted & ~self._is_exact_kind)
            moved = _shares(now, self.classes) - _shares(source, self.classes)
            self.report(
                f"{judged.sum()} of {len(judged)} rules lost a condition by the tolerance, and each is within "
                f"{tolerance:g} of its leaf's reliability (recounted)",
                [
                    f"The rule of leaf {self.leaves[rule]} moved its reliability by {moved[rule]:+.4g}, beyond "
                    f"{tolerance:g}."
                    for rule in np.flatnonzero(judged & ~(np.abs(moved) <= tolerance + COUNT_TOLERANCE))
                ],
            )

    def _check_budget(self) -> None:
        """Rows are covered, those whose rules agree get the tree's class, and few enough are in conflict."""
        if self.matrix is None:
            self.failures.append(
                "The conflicts were not recounted: pass the training rows, verify(X, y), to prove them."
            )
            return
        by_class = np.zeros((self.tree.n_classes, len(self.matrix)), dtype=bool)
        for rule, rows in self._covered(self._training, self._all_rules):
            by_class[self.classes[rule], rows] = True
        answer = self.classes[self._training.leaf_place(self.leaves)]
        spent = self.record["numbers"][self.record["kinds"] == "within-budget"]
        stated = float(sum(spent.tolist()))
        alone = by_class[answer, np.arange(len(answer))]
        self.report(
            "every row is covered by a rule of the tree's class",
            [] if alone.all() else [f"No rule of the tree's class covers row {np.flatnonzero(~alone)[0]}."],
        )
        budget = self.record["parameters"]["budget"]
        share = float(self.weights[by_class.sum(axis=0) > 1].sum() / self.weights.sum())
        self.report(
            f"rules of different classes cover {share:.4g} of the rows (recounted), within the budget of {budget:g}",
            []
            if share <= budget + COUNT_TOLERANCE
            else [f"Rules of different classes cover {share:.4g} of the rows, beyond the budget of {budget:g}."],
        )
        self.report(
            "what the deletions are said to have cost adds up to that",
            []
            if abs(share - stated) <= COUNT_TOLERANCE
            else [f"The deletions are said to have cost {stated:.4g} of the rows, but {share:.4g} are in conflict."],
        )

    def _check_certificate(self) -> None:
        """M1-D: the listed domain, or the stated directions, certify each shortened rule."""
        signs = self.record["parameters"].get("monotone")
        if signs is not None:
            self.report(
                "every shortened rule is certified by the stated monotonicity", self._refuted_by_direction(signs)
            )
            return
        if self.domain is None:
            self.failures.append(
                "The domain was not re-checked: pass its rows, verify(X, y), to prove the certificate."
            )
            return
        labels = self.domain[1]
        refuting = np.full(len(self.leaves), len(labels))  # the first listed row of another class that a rule covers
        widened = np.flatnonzero(self._rules_with(self.deleted))
        for rule, rows in self._covered(_Rows(self.tree, self.domain[0]), widened):
            foreign = rows[labels[rows] != self.classes[rule]]
            refuting[rule] = foreign.min(initial=len(labels))
        self.report(
            "every shortened rule implies its class on the listed domain",
            [
                f"The rule of leaf {self.leaves[rule]} covers listed row {refuting[rule]}, which has another class."
                for rule in np.flatnonzero(refuting < len(labels))
            ],
        )

    def _refuted_by_direction(self, signs: list[int]) -> list[str]:
        tree, paths = self.tree, self.paths
        gone = np.flatnonzero(self.deleted)
        nodes, to_left = paths.parent[paths.links[gone]], paths.is_left[paths.links[gone]]
        features, rule = tree.feature[nodes], paths.rule[gone]
        favours = np.array(signs)[features] * np.where(self.classes[rule] == 1, 1, -1)
        cuts_nothing = to_left & np.isposinf(tree.threshold[nodes])
        covered = cuts_nothing | ((favours != 0) & (to_left == (favours > 0)))
        covered &= (tree.missing_left[nodes] == to_left) | ~tree.accepts_missing[features]
        stuck = np.zeros(len(gone), dtype=bool)  # where no number can be moved
        for boxes in self._boxes(np.ones(len(paths.links), dtype=bool), self._all_rules):
            here = boxes.place_of[rule] >= 0
            stuck[here] = ~boxes.can_move(boxes.place_of[rule[here]], features[here])
        unreached = set(rule[stuck].tolist())
        return [
            f"No row reaches leaf {self.leaves[broken]}, so no direction certifies its rule."
            if broken in unreached
            else f"The rule of leaf {self.leaves[broken]} lost a condition that the stated directions do not cover."
            for broken in np.unique(rule[stuck | ~covered]).tolist()
        ]

    @cached_property
    def _is_exact_kind(self) -> NDArray[np.bool_]:
        return np.isin(self.record["kinds"].astype(str), EXACT_KINDS)

    @cached_property
    def _all_rules(self) -> NDArray[np.int64]:
        return np.arange(len(self.leaves))

    @cached_property
    def _training(self) -> _Rows:
        return _Rows(self.tree, np.zeros((0, self.tree.n_features)) if self.matrix is None else self.matrix)

    def _rules_with(self, entries: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rules that have one of the marked links."""
        return np.bincount(self.paths.rule[entries], minlength=len(self.leaves)) > 0

    def _count_leaves(self, class_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Weight of the rows of each class that reach each leaf."""
        shape = len(self.leaves), self.tree.n_classes
        cells = self._training.leaf_place(self.leaves) * shape[1] + class_ids
        counts = np.bincount(cells, weights=self.weights, minlength=shape[0] * shape[1])
        return counts.astype(np.float64).reshape(shape)

    def _count_rules(self, class_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Weight of the rows of each class that satisfy each rule's kept conditions."""
        counts = np.zeros((len(self.leaves), self.tree.n_classes))
        for rule, rows in self._covered(self._training, self._all_rules):
            rows = np.sort(rows)  # so that weights are added in the order of the rows
            counts[rule] = np.bincount(class_ids[rows], self.weights[rows], self.tree.n_classes)
        return counts

    def _covered(self, listed: _Rows, rules: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Rules with the rows that satisfy their kept conditions."""
        paths = self.paths
        # All that reaches the node where a rule's first deleted condition stood satisfies the conditions above it.
        top = self.leaves.copy()
        gone = np.flatnonzero(self.deleted)[::-1]
        top[paths.rule[gone]] = paths.parent[paths.links[gone]]
        for boxes in self._boxes(~self.deleted, rules):
            yield from zip(boxes.rules.tolist(), listed.satisfying(boxes, top[boxes.rules]), strict=True)

    def _boxes(self, kept: NDArray[np.bool_], rules: NDArray[np.int64]) -> Iterator[_Boxes]:
        """The boxes of the rules' kept links, for a bounded number of rules at a time."""
        width = 1 + sum(1 + len(levels or ()) for levels in self.tree.categories)
        size = max(1, BOX_SIDES // width)
        for first in range(0, len(rules), size):
            yield _Boxes(self.tree, self.paths, kept, rules[first : first + size])


class _Rows:
    """Rows, where they go in the tree, and which of them satisfy a rule."""

    def __init__(self, tree: Tree, matrix: NDArray[Any]) -> None:
        self.n_rows = len(matrix)
        self.columns = {int(f): np.ascontiguousarray(matrix[:, f]) for f in np.unique(tree.feature[tree.feature >= 0])}
        self.missing = {feature: np.flatnonzero(np.isnan(column)) for feature, column in self.columns.items()}
        # Rows in the order of the leaves that they reach: those that pass a node are the run from first to last.
        self.order = np.arange(len(matrix))
        self.first, self.last = np.zeros((2, tree.n_nodes), dtype=np.int64)
        self.last[0] = len(matrix)
        # A child's id is larger than its parent's: when a node's turn comes, its run is known.
        for node in np.flatnonzero(tree.children_left >= 0).tolist():
            rows = self.rows_at(node)
            left = _goes_left(tree, node, self.columns[int(tree.feature[node])][rows].astype(np.float64))
            middle = self.first[node] + np.count_nonzero(left)
            self.order[self.first[node] : self.last[node]] = np.concatenate([rows[left], rows[~left]])
            for child, first, last in (
                (tree.children_left[node], self.first[node], middle),
                (tree.children_right[node], middle, self.last[node]),
            ):
                self.first[child], self.last[child] = first, last

    def rows_at(self, node: int) -> NDArray[np.int64]:
        """The rows that pass a node."""
        return self.order[self.first[node] : self.last[node]]

    def leaf_place(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each row the place, among the leaves from left to right, of the leaf that it reaches."""
        place = np.empty(self.n_rows, dtype=np.int64)
        place[self.order] = np.repeat(np.arange(len(leaves)), self.last[leaves] - self.first[leaves])
        return place

    def satisfying(self, boxes: _Boxes, top: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """For each box the rows in it, all of which are known to pass its top node.

        They are looked for among the fewest rows that are known to hold them all: those that pass the node, or those
        that the box allows one of its features.
        """
        begin, end = self._intervals(boxes)
        n_allowed = end - begin
        for row, feature in enumerate(boxes.features.tolist()):
            n_allowed[row] += boxes.missing[row] * len(self.missing[feature])
            if feature in boxes.codes:  # a set of codes is no interval: such a feature is never the narrowest
                n_allowed[row] = self.n_rows
        by_number = np.argsort(n_allowed, axis=0)
        for place, node in enumerate(top.tolist()):
            rows = self.rows_at(node)
            tested = [row for row in by_number[:, place].tolist() if boxes.is_restricted[row, place]]
            if tested and n_allowed[tested[0], place] < len(rows):
                narrowest = tested.pop(0)
                feature = int(boxes.features[narrowest])
                rows = self._sorted[feature][begin[narrowest, place] : end[narrowest, place]]
                if boxes.missing[narrowest, place]:
                    rows = np.concatenate([rows, self.missing[feature]])
            for row in tested:
                if not len(rows):
                    break
                rows = rows[boxes.hold(row, place, self.columns[int(boxes.features[row])][rows])]
            yield rows

    def _intervals(self, boxes: _Boxes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the numbers that a box allows a feature begin and end in the feature's sorted rows."""
        begin, end = np.zeros((2, *boxes.low.shape), dtype=np.int64)
        for row, feature in enumerate(boxes.features.tolist()):
            values = self.columns[feature][self._sorted[feature]]
            begin[row] = np.searchsorted(values, boxes.low[row], side="right")
            # NaN is sorted behind all numbers.
            end[row] = np.maximum(begin[row], np.searchsorted(values, boxes.high[row], side="right"))
        return begin, end

    @cached_property
    def _sorted(self) -> dict[int, NDArray[np.int64]]:
        """The rows in the order of each feature."""
        return {feature: np.argsort(column) for feature, column in self.columns.items()}


class _Allowed(NamedTuple):
    """What a cell allows one feature: numbers ``low < x <= high`` or marked category codes, and NaN or not."""

    low: float
    high: float
    codes: NDArray[np.bool_] | None
    missing: bool


class _Boxes:
    """What the kept links of some rules allow each feature that the tree tests.

    Rules are meant by their place among these. ``low``, ``high``, ``missing`` and ``is_restricted`` have a row for each
    tested feature and a column for each rule; a categorical feature's numbers are unbounded and its codes are marked in
    ``codes``, a row for each rule.
    """

    def __init__(self, tree: Tree, paths: _Paths, kept: NDArray[np.bool_], rules: NDArray[np.int64]) -> None:
        self.rules = rules
        self.place_of = np.full(len(paths.leaves), -1, dtype=np.int64)
        self.place_of[rules] = np.arange(len(rules))
        self.features = np.unique(tree.feature[tree.feature >= 0])
        self.row_of = np.full(tree.n_features, -1, dtype=np.int64)
        self.row_of[self.features] = np.arange(len(self.features))
        links = paths.links[kept]
        place = self.place_of[paths.rule[kept]]
        links, place = links[place >= 0], place[place >= 0]
        nodes, to_left = paths.parent[links], paths.is_left[links]
        row, limit = self.row_of[tree.feature[nodes]], paths.limit[nodes]
        shape = len(self.features), len(rules)
        self.low, self.high = np.full(shape, -np.inf), np.full(shape, np.inf)
        numeric = ~np.isnan(limit)
        left, right = numeric & to_left, numeric & ~to_left
        np.minimum.at(self.high, (row[left], place[left]), limit[left])
        np.maximum.at(self.low, (row[right], place[right]), limit[right])
        self.missing = np.repeat(tree.accepts_missing[self.features][:, None], len(rules), axis=1)
        refuses = tree.missing_left[nodes] != to_left
        self.missing[row[refuses], place[refuses]] = False
        self.codes: dict[int, NDArray[np.bool_]] = {}
        has_value = self.missing | (self.low < self.high)
        self.is_restricted = (self.low > -np.inf) | (self.high < np.inf)
        for feature in self.features.tolist():
            if tree.categories[feature] is None:
                continue
            codes = self.codes[feature] = np.ones((len(rules), len(tree.categories[feature] or ()) + 1), dtype=bool)
            tested = np.flatnonzero(tree.feature[nodes] == feature)
            tested = tested[np.argsort(nodes[tested])]
            # A path passes a node once, so the links of one node belong to different rules.
            for same in np.split(tested, np.flatnonzero(np.diff(nodes[tested])) + 1) if len(tested) else ():
                codes[place[same]] &= _left_codes(tree, nodes[same[0]]) == to_left[same][:, None]
            has_value[self.row_of[feature]] = self.missing[self.row_of[feature]] | codes.any(axis=1)
            self.is_restricted[self.row_of[feature]] = ~codes.all(axis=1)
        self.is_restricted |= ~self.missing & tree.accepts_missing[self.features][:, None]
        self.is_possible = np.asarray(has_value.all(axis=0))

    def can_move(self, places: NDArray[np.int64], features: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a possible box has a number of a numeric feature, box by box."""
        rows = self.row_of[features]
        numeric = ~np.isin(features, list(self.codes))
        able: NDArray[np.bool_] = self.is_possible[places] & (self.low[rows, places] < self.high[rows, places])
        return able & numeric

    def meet(self, feature: int, places: NDArray[np.int64], cell: _Allowed) -> NDArray[np.bool_]:
        """Which boxes and the cell have a value of the feature in common."""
        row = self.row_of[feature]
        if cell.codes is None:
            some = np.maximum(self.low[row, places], cell.low) < np.minimum(self.high[row, places], cell.high)
        else:
            some = (self.codes[feature][places] & cell.codes).any(axis=1)
        met: NDArray[np.bool_] = some | self.missing[row, places] if cell.missing else some
        return met

    def hold(self, row: int, place: int, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which values of a feature one box allows."""
        feature = int(self.features[row])
        if feature in self.codes:
            held = self.codes[feature][place][np.nan_to_num(values).astype(np.int64)] & ~np.isnan(values)
        else:
            held = (values > float(self.low[row, place])) & (values <= float(self.high[row, place]))
        allowed: NDArray[np.bool_] = held | np.isnan(values) if self.missing[row, place] else held
        return allowed


def _find_foreign_leaves(
    tree: Tree, paths: _Paths, boxes: _Boxes, classes: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Leaves, each with the rules whose boxes meet its cell though they have another class."""
    only = _only_class_below(tree)
    start = np.flatnonzero(boxes.is_possible & (classes != only[0]))
    todo: list[tuple[int, dict[int, _Allowed], NDArray[np.int64]]] = [(0, {}, start)]
    while todo:
        node, cell, places = todo.pop()
        if tree.children_left[node] < 0:
            yield node, boxes.rules[places]
            continue
        feature = int(tree.feature[node])
        whole = cell.get(feature) or _domain(tree, feature)
        sides = [(int(tree.children_left[node]), True), (int(tree.children_right[node]), False)]
        # A leaf is done next, so that it does not wait, with its rules, for all that lies below its sibling.
        for child, to_left in sorted(sides, key=lambda side: tree.children_left[side[0]] < 0):
            part = _cut_cell(tree, paths, node, to_left, whole)
            met = places[boxes.meet(feature, places, part) & (classes[places] != only[child])]
            if len(met):
                todo.append((child, {**cell, feature: part}, met))


def _only_class_below(tree: Tree) -> NDArray[np.int64]:
    """The class of all leaves below each node; -1 where they differ."""
    only = tree.leaf_class.tolist()
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    for node in range(tree.n_nodes - 1, -1, -1):  # a child's id is larger than its parent's
        if lefts[node] >= 0:
            only[node] = only[lefts[node]] if only[lefts[node]] == only[rights[node]] else -1
    return np.array(only)


def _domain(tree: Tree, feature: int) -> _Allowed:
    levels = tree.categories[feature]
    codes = None if levels is None else np.ones(len(levels) + 1, dtype=bool)
    return _Allowed(-np.inf, np.inf, codes, bool(tree.accepts_missing[feature]))


def _cut_cell(tree: Tree, paths: _Paths, node: int, to_left: bool, whole: _Allowed) -> _Allowed:
    """What one side of a split leaves of what a cell allows the feature."""
    missing = whole.missing and bool(tree.missing_left[node]) == to_left
    if whole.codes is not None:
        return _Allowed(whole.low, whole.high, whole.codes & (_left_codes(tree, node) == to_left), missing)
    limit = float(paths.limit[node])
    low, high = (whole.low, min(whole.high, limit)) if to_left else (max(whole.low, limit), whole.high)
    return _Allowed(low, high, None, missing)


def _left_codes(tree: Tree, node: int | np.integer[Any]) -> NDArray[np.bool_]:
    """For each code of a categorical split's feature whether it goes left."""
    marked = np.zeros(len(tree.categories[tree.feature[node]] or ()) + 1, dtype=bool)
    marked[tree.left_codes(node)] = True
    return marked


def _goes_left(tree: Tree, node: int, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    if tree.categories[tree.feature[node]] is None:
        left = values <= tree.threshold[node]
    else:
        left = np.isin(values, tree.left_codes(node))
    goes_left: NDArray[np.bool_] = np.where(np.isnan(values), tree.missing_left[node], left)
    return goes_left


class _Paths(NamedTuple):
    """Every leaf, left to right, with the links of its path, root to leaf, path after path."""

    leaves: NDArray[np.int64]
    offsets: NDArray[np.int64]  # links[offsets[i]:offsets[i + 1]] lead to leaves[i]
    links: NDArray[np.int64]
    rule: NDArray[np.int64]  # the i of each link
    parent: NDArray[np.int64]  # by node
    is_left: NDArray[np.bool_]
    limit: NDArray[np.float64]  # by node: the largest number of the tree's dtype that goes left


def _walk_paths(tree: Tree) -> _Paths:
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    leaves, offsets, links, path = [], [0], [], [0]
    stack = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        path[depth:] = [node]
        if lefts[node] < 0:
            leaves.append(node)
            links += path[1:]
            offsets.append(len(links))
        else:
            stack += [(rights[node], depth + 1), (lefts[node], depth + 1)]
    inner = np.flatnonzero(tree.children_left >= 0)
    parent, is_left = np.full(tree.n_nodes, -1, dtype=np.int64), np.zeros(tree.n_nodes, dtype=bool)
    parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
    is_left[tree.children_left[inner]] = True
    return _Paths(
        leaves=np.array(leaves),
        offsets=np.array(offsets),
        links=np.array(links, dtype=np.int64),
        rule=np.repeat(np.arange(len(leaves)), np.diff(offsets)),
        parent=parent,
        is_left=is_left,
        limit=_largest_not_above(tree.threshold, tree.dtype),
    )


def _cut(links: NDArray[np.int64], offsets: NDArray[np.int64]) -> list[list[int]]:
    """The links of each rule."""
    flat, ends = links.tolist(), offsets.tolist()
    return [flat[first:last] for first, last in pairwise(ends)]


def _largest_not_above(thresholds: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    kind = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(kind)
        below = np.nextafter(nearest, kind(-np.inf))
    return np.where(nearest.astype(np.float64) > thresholds, below, nearest).astype(np.float64)


def _shares(counts: NDArray[np.float64], class_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    total = counts.sum(axis=1)
    share = np.full(len(counts), np.nan)
    np.divide(counts[np.arange(len(counts)), class_ids], total, out=share, where=total > 0)
    return share
