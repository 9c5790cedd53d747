"""The independent checker: proves a rule set's promise again from the tree and the rows.

Nothing here is shared with the code that deletes: only the tree and numpy are imported, paths, boxes and counts are
worked out anew, and exactness is decided by comparing every rule's box with every leaf's box.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        The rule set without its words: ``method``, ``parameters``, ``digest_ok`` and ``rules``.
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
        self.rules = record["rules"]
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
        if [rule["leaf_id"] for rule in self.rules] != [leaf for leaf, _ in self.paths]:
            broken.append("The rules are not one for each leaf in source order.")
        else:
            for rule, (leaf, path) in zip(self.rules, self.paths, strict=True):
                if sorted(rule["kept_ids"] + rule["deleted_ids"]) != sorted(link for link, _, _ in path):
                    broken.append(f"Kept and deleted links of the rule of leaf {leaf} are not the links of its path.")
                elif rule["prediction"] != self.tree.classes[self.tree.leaf_class[leaf]].item():
                    broken.append(f"The rule of leaf {leaf} predicts {rule['prediction']!r}, but the leaf does not.")
        if not self.record.get("digest_ok", True):
            broken.append("The file was changed after it was written: its digest does not fit its content.")
        self.report("one rule for each leaf, made of its path's conditions, with its class", broken)
        return not broken

    def _check_boxes(self) -> None:
        """No rule's box meets the box of a leaf of another class: every pair is looked at."""
        broken = []
        for rule, (leaf, path) in zip(self.rules, self.paths, strict=True):
            # Layered methods promise exactness of their first layer only; what the second deleted counts as kept here.
            gone = {reason["link_id"] for reason in rule["reasons"] if reason["kind"] in EXACT_KINDS}
            gone = set(rule["deleted_ids"]) if self.method in EXACT else gone & set(rule["deleted_ids"])
            other = self._foreign_leaf(leaf, [step for step in path if step[0] not in gone])
            if other is not None:
                broken.append(
                    f"The rule of leaf {leaf} also covers rows of leaf {other}, which predicts another class: "
                    "its exact deletions do not preserve the tree's predictions."
                )
        self.report("no exact deletion lets a rule meet a leaf of another class (all pairs of boxes compared)", broken)

    def _foreign_leaf(self, leaf: int, steps: list[tuple[int, int, bool]]) -> int | None:
        met = self._leaf_boxes.meet(_Box(self.tree, steps))
        met &= self._leaf_classes != self.tree.leaf_class[leaf]
        return self.paths[int(np.flatnonzero(met)[0])][0] if met.any() else None

    @cached_property
    def _leaf_classes(self) -> NDArray[np.int64]:
        classes: NDArray[np.int64] = self.tree.leaf_class[[leaf for leaf, _ in self.paths]]
        return classes

    @cached_property
    def _leaf_boxes(self) -> _StackedBoxes:
        used = sorted({int(feature) for feature in self.tree.feature if feature >= 0})
        return _StackedBoxes(self.tree, [_Box(self.tree, path) for _, path in self.paths], used)

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
        wrong, outside, n_judged = [], [], 0
        tolerance = self.record["parameters"].get("tolerance", 0.0)
        for rule, (leaf, path) in zip(self.rules, self.paths, strict=True):
            kept = set(rule["kept_ids"])
            now = self._count([step for step in path if step[0] in kept])
            source = self._count(path)
            for name, counted in (("class_counts", now), ("source_class_counts", source)):
                stored = rule[name]
                if stored is not None and not np.allclose(stored, counted, rtol=COUNT_TOLERANCE, atol=COUNT_TOLERANCE):
                    wrong.append(
                        f"The {name} of the rule of leaf {leaf} are {counted.tolist()} on these rows, not {stored}."
                    )
            if self.method in WITHIN_TOLERANCE:
                judged = {r["link_id"] for r in rule["reasons"] if r["kind"] not in EXACT_KINDS} & set(
                    rule["deleted_ids"]
                )
                class_id = self.tree.leaf_class[leaf]
                n_judged += bool(judged)
                moved = _share(now, class_id) - _share(source, class_id)
                if judged and not abs(moved) <= tolerance + COUNT_TOLERANCE:
                    outside.append(
                        f"The rule of leaf {leaf} moved its reliability by {moved:+.4g}, beyond {tolerance:g}."
                    )
        self.report("supports and class counts recounted from the rows", wrong)
        if self.method in WITHIN_TOLERANCE:
            judged_rules = f"{n_judged} of {len(self.rules)} rules lost a condition by the tolerance"
            self.report(
                f"{judged_rules}, and each is within {tolerance:g} of its leaf's reliability (recounted)", outside
            )

    def _check_budget(self) -> None:
        """Rows are covered, those whose rules agree get the tree's class, and few enough are in conflict."""
        if self.matrix is None:
            self.failures.append(
                "The conflicts were not recounted: pass the training rows, verify(X, y), to prove them."
            )
            return
        by_class = np.zeros((self.tree.n_classes, len(self.matrix)), dtype=bool)
        answer = np.zeros(len(self.matrix), dtype=np.int64)
        stated = 0.0
        for rule, (leaf, path) in zip(self.rules, self.paths, strict=True):
            kept = set(rule["kept_ids"])
            class_id = self.tree.leaf_class[leaf]
            by_class[class_id] |= self._training.satisfying([step for step in path if step[0] in kept])
            answer[self._training.satisfying(path)] = class_id
            stated += sum(reason["number"] for reason in rule["reasons"] if reason["kind"] == "within-budget")
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
        broken = []
        listed = _Rows(self.tree, self.domain[0])
        for rule, (leaf, path) in zip(self.rules, self.paths, strict=True):
            if not rule["deleted_ids"]:
                continue
            kept = set(rule["kept_ids"])
            covered = listed.satisfying([step for step in path if step[0] in kept])
            foreign = np.flatnonzero(covered & (self.domain[1] != self.tree.leaf_class[leaf]))
            if len(foreign):
                broken.append(f"The rule of leaf {leaf} covers listed row {foreign[0]}, which has another class.")
        self.report("every shortened rule implies its class on the listed domain", broken)

    def _refuted_by_direction(self, signs: list[int]) -> list[str]:
        broken = []
        for rule, (leaf, path) in zip(self.rules, self.paths, strict=True):
            gone = [step for step in path if step[0] in set(rule["deleted_ids"])]
            box = _Box(self.tree, path)
            moved = {int(self.tree.feature[node]) for _, node, _ in gone}
            if gone and (box.is_empty() or any(not box.has_number(feature) for feature in moved)):
                broken.append(f"No row reaches leaf {leaf}, so no direction certifies its rule.")
                continue
            for _, node, to_left in gone:
                feature = int(self.tree.feature[node])
                favour = signs[feature] * (1 if self.tree.leaf_class[leaf] == 1 else -1)
                takes_missing = bool(self.tree.missing_left[node]) == to_left
                numeric = self.tree.categories[feature] is None
                cuts_nothing = to_left and np.isposinf(self.tree.threshold[node])
                covered = numeric and (cuts_nothing or (favour != 0 and to_left == (favour > 0)))
                if not covered or (self.tree.accepts_missing[feature] and not takes_missing):
                    broken.append(f"The rule of leaf {leaf} lost a condition that the stated directions do not cover.")
                    break
        return broken

    def _count(self, path: list[tuple[int, int, bool]]) -> NDArray[np.float64]:
        inside = self._training.satisfying(path)
        ids = np.zeros(0, dtype=np.int64) if self.class_ids is None else self.class_ids[inside]
        return np.bincount(ids, weights=self.weights[inside], minlength=self.tree.n_classes).astype(np.float64)

    @cached_property
    def _training(self) -> _Rows:
        return _Rows(self.tree, np.zeros((0, self.tree.n_features)) if self.matrix is None else self.matrix)


class _Rows:
    """Rows that satisfy steps of a path; what each split does to each row is kept, packed to bits."""

    def __init__(self, tree: Tree, matrix: NDArray[Any]) -> None:
        self.tree, self.matrix = tree, matrix
        self._lefts: dict[int, NDArray[np.uint8]] = {}

    def satisfying(self, path: list[tuple[int, int, bool]]) -> NDArray[np.bool_]:
        inside = np.packbits(np.ones(len(self.matrix), dtype=bool))
        for _, node, to_left in path:
            if node not in self._lefts:
                self._lefts[node] = np.packbits(self._goes_left(node))
            inside = inside & (self._lefts[node] if to_left else ~self._lefts[node])
        return np.unpackbits(inside, count=len(self.matrix)).astype(bool)

    def _goes_left(self, node: int) -> NDArray[np.bool_]:
        values = self.matrix[:, self.tree.feature[node]].astype(np.float64)
        if self.tree.categories[self.tree.feature[node]] is None:
            left = values <= self.tree.threshold[node]
        else:
            left = np.isin(values, self.tree.left_codes(node))
        goes_left: NDArray[np.bool_] = np.where(np.isnan(values), self.tree.missing_left[node], left)
        return goes_left


class _Box:
    """What a conjunction of (link, node, side) steps allows each feature that it tests."""

    def __init__(self, tree: Tree, path: list[tuple[int, int, bool]]) -> None:
        self.low: dict[int, float] = {}
        self.high: dict[int, float] = {}
        self.codes: dict[int, set[int]] = {}
        self.missing: dict[int, bool] = {}
        for _, node, to_left in path:
            feature = int(tree.feature[node])
            levels = tree.categories[feature]
            takes_missing = bool(tree.missing_left[node]) == to_left
            self.missing[feature] = self.missing.get(feature, bool(tree.accepts_missing[feature])) and takes_missing
            if levels is not None:
                listed = set(tree.left_codes(node).tolist())
                side = listed if to_left else set(range(len(levels) + 1)) - listed
                self.codes[feature] = self.codes.get(feature, side) & side
                continue
            limit = _largest_not_above(float(tree.threshold[node]), tree.dtype)
            self.low.setdefault(feature, -np.inf)
            self.high.setdefault(feature, np.inf)
            if to_left:
                self.high[feature] = min(self.high[feature], limit)
            else:
                self.low[feature] = max(self.low[feature], limit)

    def has_number(self, feature: int) -> bool:
        """Whether the feature is numeric and has a number left."""
        return feature in self.low and self.low[feature] < self.high[feature]

    def is_empty(self) -> bool:
        """Whether some feature has no value left."""
        return any(
            not self.missing[f] and not (self.codes[f] if f in self.codes else self.low[f] < self.high[f])
            for f in self.missing
        )


class _StackedBoxes:
    """Many boxes side by side, so that one box can be compared with all of them at once."""

    def __init__(self, tree: Tree, boxes: list[_Box], used: list[int]) -> None:
        self.numeric = [feature for feature in used if tree.categories[feature] is None]
        self.listed = [feature for feature in used if tree.categories[feature] is not None]
        self.sizes = {feature: len(tree.categories[feature] or ()) + 1 for feature in self.listed}
        self.accepts = {feature: bool(tree.accepts_missing[feature]) for feature in used}
        self.low = {f: np.array([box.low.get(f, -np.inf) for box in boxes]) for f in self.numeric}
        self.high = {f: np.array([box.high.get(f, np.inf) for box in boxes]) for f in self.numeric}
        self.missing = {f: np.array([box.missing.get(f, self.accepts[f]) for box in boxes]) for f in used}
        self.members = {f: np.array([self._member_row(box, f) for box in boxes]) for f in self.listed}
        self.count = len(boxes)

    def _member_row(self, box: _Box, feature: int) -> NDArray[np.bool_]:
        row = np.ones(self.sizes[feature], dtype=bool)
        if feature in box.codes:
            row[:] = False
            row[list(box.codes[feature])] = True
        return row

    def meet(self, box: _Box) -> NDArray[np.bool_]:
        met = np.ones(self.count, dtype=bool)
        for feature in self.numeric:
            low = np.maximum(self.low[feature], box.low.get(feature, -np.inf))
            some = low < np.minimum(self.high[feature], box.high.get(feature, np.inf))
            met &= some | (self.missing[feature] & box.missing.get(feature, self.accepts[feature]))
        for feature in self.listed:
            some = (self.members[feature] & self._member_row(box, feature)).any(axis=1)
            met &= some | (self.missing[feature] & box.missing.get(feature, self.accepts[feature]))
        return met


def _walk_paths(tree: Tree) -> list[tuple[int, list[tuple[int, int, bool]]]]:
    """Every leaf, left to right, with its path as (link, split node, goes left) steps."""
    found = []
    stack: list[tuple[int, list[tuple[int, int, bool]]]] = [(0, [])]
    while stack:
        node, path = stack.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left < 0:
            found.append((node, path))
            continue
        stack.append((right, [*path, (right, node, False)]))
        stack.append((left, [*path, (left, node, True)]))
    return found


def _largest_not_above(threshold: float, dtype: str) -> float:
    kind = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        value = kind(threshold)
    return float(np.nextafter(value, kind(-np.inf)) if float(value) > threshold else value)


def _share(counts: NDArray[np.float64], class_id: int) -> float:
    total = float(counts.sum())
    return float(counts[class_id]) / total if total > 0 else float("nan")
