"""Case: rules as they are checked, with tree and rows walked anew; Verification: what the checks found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.tree.facts import word_facts
from secateur.verify.boxes import Boxes, Possible, left_codes_of, walk_paths

if TYPE_CHECKING:
    from secateur.tree.tree import Tree
    from secateur.verify.boxes import Paths

    Weights = NDArray[np.float64] | None
    Chunk = tuple[NDArray[Any], NDArray[np.int64], Weights, NDArray[np.float64] | None]
    Domain = tuple[NDArray[Any], NDArray[np.int64]]
    RowReader = Callable[[], Iterable[Chunk]]

SHOWN_FAILURES = 5  # of one kind
MOST_FAILURES = 20  # that are printed: a forest may have many
NOT_RECOUNTED = "not recounted: pass the training rows, verify(X, y), to prove them."
NOT_RECHECKED = "not re-checked: pass its rows, verify(X, y), to prove the certificate."
COUNT_TOLERANCE = 1e-9  # sums of weights may be taken in another order here than where they were counted
# Boxes are made for so many rules at a time that they have about this many sides, and as many links make them.
BOX_SIDES = 1 << 22


@dataclass(frozen=True)
class Verification:
    """What the independent checker found.

    Attributes
    ----------
    ok : bool
        Whether nothing is wrong and every promise was proved again. It says nothing of ``unchecked``.
    failures : tuple of str
        What is wrong or could not be proved, a sentence each.
    checks : tuple of str
        What was checked and holds.
    unchecked : tuple of str
        What people see in the rules and nobody checked, though no promise depends on it. Training rows and the model,
        if they are passed, let more be checked.
    """

    ok: bool
    failures: tuple[str, ...]
    checks: tuple[str, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether nothing is wrong, and everything that people see was checked: "Verified."."""
        return self.ok and not self.unchecked

    @property
    def is_refuted(self) -> bool:
        """Whether something is wrong; else it was only not looked at."""
        return not all(map(_lacks_rows, self.failures))

    @property
    def lacks_rows(self) -> bool:
        """Whether nothing was found wrong, but a promise can only be proved with the training rows."""
        return bool(self.failures) and not self.is_refuted

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
        shown = self.failures[:MOST_FAILURES]
        lines += [f"{'?' if _lacks_rows(failure) else '✗'} {failure}" for failure in shown]
        lines += [f"… and {len(self.failures) - len(shown)} more"] if len(self.failures) > len(shown) else []
        verdict = "NOT verified." if self.is_refuted else "Nothing is wrong, but not everything was checked."
        return "\n".join([*lines, "Verified." if self.is_complete else verdict])


def _lacks_rows(failure: str) -> bool:
    """Whether a promise was not found broken, but not looked at either."""
    return failure.endswith((NOT_RECOUNTED, NOT_RECHECKED))


@dataclass
class Counted:
    """What was counted of the training rows; counts are weights, shape (n_rules, n_classes)."""

    rules: NDArray[np.float64]  # of rows that satisfy each rule's kept conditions
    leaves: NDArray[np.float64]  # of rows that reach each leaf
    n_rows: int = 0
    total: float = 0.0
    in_conflict: float = 0.0  # weight of the rows that rules of different classes cover
    unanswered: int | None = None  # the first row that no rule of the tree's class covers
    against_facts: list[str] = field(default_factory=list)  # facts that a row contradicts, a sentence each
    has_weights: bool = False  # whether some row has another weight than 1
    is_weighed: bool = False  # whether rows came with weights


class Case:
    """Rules to check."""

    def __init__(
        self, tree: Tree, record: Mapping[str, Any], read_rows: RowReader | None, domain: Domain | None
    ) -> None:
        self.tree, self.record, self.read_rows, self.domain = tree, record, read_rows, domain
        self.paths = walk_paths(tree)
        self.leaves = self.paths.leaves
        self.classes: NDArray[np.int64] = tree.leaf_class[self.leaves]
        self.deleted: NDArray[np.bool_] = record["deleted"]
        self.method: str = record["method"]
        self.parameters: Mapping[str, Any] = record["parameters"]
        facts = tree.facts if self.parameters.get("domain_knowledge", True) else type(tree.facts)()
        self.facts = word_facts(tree, facts)  # whatever words they came with
        self.possible = Possible(tree, self.facts)
        self.failures: list[str] = []
        self.checks: list[str] = []
        self.unchecked: list[str] = []
        self.counted: Counted | None = None  # the training rows, once they are counted

    def report(self, what: str, broken: list[str]) -> None:
        """Note a check that holds, or the first sentences of what is broken."""
        if not broken:
            self.checks.append(what)
        self.failures += broken[:SHOWN_FAILURES]
        if len(broken) > SHOWN_FAILURES:
            self.failures.append(f"… and {len(broken) - SHOWN_FAILURES} more of the kind.")

    def skip(self, what: str) -> None:
        """Note what people see and was not checked; each once."""
        if what not in self.unchecked:
            self.unchecked.append(what)

    def expect(self, holds: bool, what: str, failure: str) -> None:
        """Note one check."""
        self.report(what, [] if holds else [failure])

    @cached_property
    def all_rules(self) -> NDArray[np.int64]:
        """The places of all leaves."""
        return np.arange(len(self.leaves))

    @cached_property
    def counts_rows(self) -> bool:
        """Whether rows were counted, so that ties are decided exactly; sums of weights are rounded."""
        counts = self.record["leaf_counts"]
        return bool((counts == np.rint(counts)).all())

    @property
    def among(self) -> str:
        """Among which rows boxes are compared, where not among all."""
        return f", checked among rows that satisfy: {'; '.join(self.possible.words)}" if self.possible.words else ""

    def rules_with(self, entries: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Mark the rules that have one of the marked edges."""
        return np.bincount(self.paths.rule[entries], minlength=len(self.leaves)) > 0

    def covered(self, listed: PlacedRows, rules: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """List rules with the rows that satisfy their kept conditions."""
        paths = self.paths
        # All that reaches the node where a rule's first deleted condition stood satisfies the conditions above it.
        top = self.leaves.copy()
        gone = np.flatnonzero(self.deleted)[::-1]
        top[paths.rule[gone]] = paths.parent[paths.links[gone]]
        for boxes in self.make_boxes(~self.deleted, rules):
            for place, inside in listed.satisfying(boxes, top[boxes.rules]):
                yield int(boxes.rules[place]), inside

    def make_boxes(
        self, kept: NDArray[np.bool_], rules: NDArray[np.int64], paths: Paths | None = None
    ) -> Iterator[Boxes]:
        """Make the boxes of the rules' kept edges, for a bounded number of rules at a time."""
        width = 1 + sum(1 + len(levels or ()) for levels in self.tree.categories)
        size = max(1, BOX_SIDES // max(width, int(np.diff(self.paths.offsets).max(initial=0))))
        for first in range(0, len(rules), size):
            yield Boxes(self.tree, paths or self.paths, kept, rules[first : first + size])


def find_shares(counts: NDArray[np.float64], class_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Find the share of each rule's class; NaN without rows."""
    with np.errstate(invalid="ignore"):
        share: NDArray[np.float64] = counts[np.arange(len(counts)), class_ids] / counts.sum(axis=1)
    return share


def find_beyond(
    now: NDArray[np.float64], before: NDArray[np.float64], class_ids: NDArray[np.int64], tolerance: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark the rules whose share of their class fell, or rose, by more than a tolerance; both where there is no share.

    Shares of rows are compared in whole numbers, with the tolerance as the decimal that was written.
    """
    fell, rose = np.ones((2, len(now)), dtype=bool)
    part, whole = Decimal(repr(float(tolerance))).as_integer_ratio()
    for rule, own in enumerate(class_ids.tolist()):
        counts, counts_before = now[rule].tolist(), before[rule].tolist()
        n, n_before = sum(counts), sum(counts_before)
        if not (n > 0 and n_before > 0):
            continue
        moved: float  # a whole number of small parts, where rows are counted
        most: float
        if all(count == int(count) for count in counts + counts_before):
            moved = (int(counts[own]) * int(n_before) - int(counts_before[own]) * int(n)) * whole
            most = part * int(n) * int(n_before)
        else:
            moved, most = counts[own] / n - counts_before[own] / n_before, tolerance + COUNT_TOLERANCE
        fell[rule], rose[rule] = moved < -most, moved > most
    return fell, rose


SHOWN_CLASSES = 5
ROUNDING = 1e-9
WORDS = {"class_counts": "covers", "leaf_counts": "has in its leaf", "decided_counts": "decides", "unseen": "has"}


def describe_difference(
    what: str, name: str, classes: Sequence[str], again: NDArray[np.float64], stated: NDArray[np.float64]
) -> str:
    """Say how many rows of each class something covers or decides, where that is not what it states."""
    differing = np.flatnonzero(~np.isclose(again, stated, rtol=ROUNDING, atol=ROUNDING))
    shown = np.arange(len(classes)) if len(classes) <= SHOWN_CLASSES else differing[:SHOWN_CLASSES]
    counted, told = (
        _join([f"{counts[place]:,.10g} {classes[place]}" for place in shown.tolist()]) for counts in (again, stated)
    )
    return f"{what} {WORDS[name]} {counted} of these rows, but states {told}."


def compare_totals(again: NDArray[np.float64], stated: NDArray[np.float64]) -> list[str]:
    """Say so if these are not as many rows as the rules were made from; both are counted by leaf."""
    if np.isnan(stated).any() or np.isclose(again.sum(), stated.sum(), rtol=ROUNDING, atol=ROUNDING):
        return []
    return [
        f"These {again.sum():,.10g} rows are not the {stated.sum():,.10g} training rows, so their counts must differ: "
        "pass the rows that the rules were made from, or audit the rules on these."
    ]


def _join(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


MOST_KINDS = 1 << 22  # of rows that a test, or their class, tells apart
MERGED_ROWS = 1 << 16  # rows that are looked at together
FEW_LIMITS = 32  # with more, a value is searched for among them


class Kinds(NamedTuple):
    """Rows, one for all that no test of the tree tells apart and that have the same class."""

    matrix: NDArray[Any]
    class_ids: NDArray[np.int64]
    weights: NDArray[np.float64]  # of all rows of a kind
    first: NDArray[np.int64]  # the first of them


def merge_alike(
    tree: Tree,
    limit: NDArray[np.float64],
    matrix: NDArray[Any],
    class_ids: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
) -> Kinds:
    """Merge rows that no test tells apart; where there may be too many kinds, each row stays as it is.

    ``limit`` is the largest number that goes left at each node. A number's place is how many limits of its feature it
    exceeds, a code is its own place, and NaN has the last; the places of all features make the number of a kind.
    """
    asked = [(feature, tree.feature == feature) for feature in np.unique(tree.feature[tree.feature >= 0]).tolist()]
    codes = [tree.categories[feature] for feature, _ in asked]
    limits = [np.unique(limit[nodes]).astype(matrix.dtype) for _, nodes in asked]
    sizes = [2 + len(some if own is None else own) for own, some in zip(codes, limits, strict=True)]
    n_kinds = tree.n_classes * math.prod(sizes)
    if n_kinds > min(MOST_KINDS, 2 * len(matrix)):
        heavy = np.ones(len(matrix)) if weights is None else weights
        return Kinds(matrix, class_ids, heavy, np.arange(len(matrix)))
    kind = np.array(class_ids, dtype=np.int64)
    for begin in range(0, len(matrix), MERGED_ROWS):
        own = kind[begin : begin + MERGED_ROWS]
        for (feature, _), levels, some, size in zip(asked, codes, limits, sizes, strict=True):
            values = np.ascontiguousarray(matrix[begin : begin + MERGED_ROWS, feature])
            missing = np.isnan(values)
            if levels is not None:
                place = np.where(missing, 0, values).astype(np.int64)
            elif len(some) > FEW_LIMITS:
                place = np.searchsorted(some, values)
            else:
                place = np.zeros(len(values), dtype=np.int8)
                for one in some:
                    place += values > one
            place[missing] = size - 1
            own *= size
            own += place
    weight = np.bincount(kind, weights, n_kinds).astype(np.float64)
    first = np.full(n_kinds, -1, dtype=np.int64)
    first[kind[::-1]] = np.arange(len(kind))[::-1]  # of several, the last that is written stays
    found = np.flatnonzero(first >= 0)
    return Kinds(matrix[first[found]], class_ids[first[found]], weight[found], first[found])


class PlacedRows:
    """Rows, where they go in the tree, and which of them satisfy a rule."""

    def __init__(self, tree: Tree, matrix: NDArray[Any]) -> None:
        self.n_rows = len(matrix)
        self.features = np.unique(tree.feature[tree.feature >= 0])
        self.values = np.ascontiguousarray(matrix[:, self.features].T)  # a row for each tested feature
        self.n_missing = np.isnan(self.values).sum(axis=1)
        leaf_of = self._walk(tree)
        # Rows in the order of the leaves that they reach: those that pass a node are the run from first to last.
        lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
        passing = np.bincount(leaf_of, minlength=tree.n_nodes).tolist()
        inner = np.flatnonzero(tree.children_left >= 0).tolist()
        for node in reversed(inner):  # a child's id is larger than its parent's
            passing[node] = passing[lefts[node]] + passing[rights[node]]
        first = [0] * tree.n_nodes
        for node in inner:
            first[lefts[node]] = first[node]
            first[rights[node]] = first[node] + passing[lefts[node]]
        self.first = np.array(first)
        self.last = self.first + passing
        self.order = np.argsort(self.first[leaf_of], kind="stable")

    def leaf_place(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find the place, among the leaves from left to right, of the leaf that each row reaches."""
        place = np.empty(self.n_rows, dtype=np.int64)
        place[self.order] = np.repeat(np.arange(len(leaves)), self.last[leaves] - self.first[leaves])
        return place

    def satisfying(self, boxes: Boxes, top: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """List boxes, by their place among these, with the rows in each; all of them are known to pass its top node.

        Of the rows that pass the node, those are looked up first that the box allows the feature that it narrows most.
        """
        low, high = boxes.low.astype(self.values.dtype), boxes.high.astype(self.values.dtype)
        n_allowed = np.full(low.shape, self.n_rows)
        for row, feature in enumerate(boxes.features.tolist()):
            if feature not in boxes.codes:
                ends = (np.searchsorted(self.sorted[row], end, side="right") for end in (high[row], low[row]))
                n_allowed[row] = np.subtract(*ends)
        n_allowed[~boxes.is_restricted] = self.n_rows + 1
        by_narrowness = n_allowed.argsort(axis=0).T.tolist()
        n_asked = boxes.is_restricted.sum(axis=0).tolist()
        for place, node in enumerate(top.tolist()):
            first, last = self.first[node], self.last[node]
            inside: NDArray[np.int64] | None = None
            for row in by_narrowness[place][: n_asked[place]]:
                column = self.arranged[row, first:last] if inside is None else self.arranged[row].take(inside)
                codes = boxes.codes.get(int(boxes.features[row]))
                if codes is None:
                    held = (column > low[row, place]) & (column <= high[row, place])
                else:
                    held = codes[place][np.nan_to_num(column).astype(np.int64)] & ~np.isnan(column)
                if self.n_missing[row] and boxes.missing[row, place]:
                    held |= np.isnan(column)
                inside = first + held.nonzero()[0] if inside is None else inside[held.nonzero()[0]]
            yield place, self.order[first:last] if inside is None else self.order[inside]

    @cached_property
    def arranged(self) -> NDArray[Any]:
        """The values of each tested feature, with the rows in the order of their leaves."""
        return np.ascontiguousarray(self.values[:, self.order])

    @cached_property
    def sorted(self) -> NDArray[Any]:
        """The values of each tested feature in their own order, NaN last."""
        return np.sort(self.values, axis=1)

    def _walk(self, tree: Tree) -> NDArray[np.int64]:
        """Find the leaf that each row reaches; all rows go down together, a level at a time."""
        is_inner = tree.children_left >= 0
        in_sets = [
            node for node in np.flatnonzero(is_inner).tolist() if tree.categories[tree.feature[node]] is not None
        ]
        marks = [left_codes_of(tree, node) for node in in_sets]
        start = np.full(tree.n_nodes, -1)  # where the marks of a node's codes start; -1 where it asks for a number
        start[in_sets] = np.cumsum([0, *map(len, marks)])[:-1]
        to_left = np.concatenate([np.zeros(0, dtype=bool), *marks])
        row_of = np.searchsorted(self.features, tree.feature)
        at = np.zeros(self.n_rows, dtype=np.int64)
        going = np.arange(self.n_rows if is_inner[0] else 0)
        while len(going):
            nodes = at[going]
            values = self.values[row_of[nodes], going].astype(np.float64)
            left = values <= tree.threshold[nodes]
            if in_sets:
                asks = start[nodes] >= 0
                left[asks] = to_left[start[nodes[asks]] + np.nan_to_num(values[asks]).astype(np.int64)]
            if self.n_missing.any():
                left = np.where(np.isnan(values), tree.missing_left[nodes], left)
            at[going] = nodes = np.where(left, tree.children_left[nodes], tree.children_right[nodes])
            going = going[is_inner[nodes]]
        return at
