"""Case: rules as they are checked, with tree and rows walked anew; Verification: what the checks found."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateur.tree.facts import word_facts
from secateur.tree.tree import Tree
from secateur.verify.boxes import Boxes, Possible, walk_paths
from secateur.verify.masked_rows import MaskedRows, list_rows, split_rows

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
# Masks of rows are kept up to so many bytes, so that the rows are read once.
KEPT_BYTES = 1 << 28


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
        self.against_facts: list[str] = []  # facts that a row contradicts, once the rows were read
        self._masked: list[MaskedRows] | None = None

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

    def mask(self, part: Chunk) -> Iterator[MaskedRows]:
        """Mask rows, a block at a time."""
        return split_rows(self.tree, self.paths, part)

    def read_masked(self) -> Iterator[MaskedRows]:
        """Mask the training rows; who asks again gets the same, unless they are too many to be kept."""
        assert self.read_rows is not None
        for rows in self._masked or ():
            yield rows
            rows.forget()
        if self._masked is not None:
            return
        self.against_facts, kept, n_rows, n_bytes = [], [], 0, 0
        for part in self.read_rows():
            if self.possible.words:
                self.against_facts += self.possible.check_rows(part[0], n_rows)
            n_rows += len(part[0])
            for rows in self.mask(part):
                yield rows
                rows.forget()
                n_bytes += rows.n_bytes
                if n_bytes <= KEPT_BYTES:
                    kept.append(rows)
        self._masked = kept if n_bytes <= KEPT_BYTES else None

    def list_cases(self, kept: NDArray[np.bool_], rules: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
        """List the rows of the domain that satisfy the kept edges of each of some rules."""
        assert self.domain is not None
        found, first = {rule: np.zeros(0, dtype=np.int64) for rule in rules.tolist()}, 0
        for rows in self.mask((*self.domain, None, None)):
            for rule, inside in rows.satisfying(kept, rules):
                found[rule] = np.append(found[rule], first + list_rows(inside))
            first += rows.n_rows
        return found

    def make_boxes(self, kept: NDArray[np.bool_], rules: NDArray[np.int64]) -> Iterator[Boxes]:
        """Make the boxes of the rules' kept edges, for a bounded number of rules at a time."""
        width = 1 + sum(1 + len(levels or ()) for levels in self.tree.categories)
        size = max(1, BOX_SIDES // max(width, int(np.diff(self.paths.offsets).max(initial=0))))
        for first in range(0, len(rules), size):
            yield Boxes(self.tree, self.paths, kept, rules[first : first + size])


def agree(one: ArrayLike, other: ArrayLike) -> Any:
    """Whether sums of weights are the same, one by one, but for their rounding."""
    return np.isclose(one, other, rtol=COUNT_TOLERANCE, atol=COUNT_TOLERANCE)


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
WORDS = {"class_counts": "covers", "leaf_counts": "has in its leaf", "decided_counts": "decides", "unseen": "has"}


def describe_difference(
    what: str, name: str, classes: Sequence[str], again: NDArray[np.float64], stated: NDArray[np.float64]
) -> str:
    """Say how many rows of each class something covers or decides, where that is not what it states."""
    differing = np.flatnonzero(~agree(again, stated))
    shown = np.arange(len(classes)) if len(classes) <= SHOWN_CLASSES else differing[:SHOWN_CLASSES]
    of = "" if all(any(map(str.isalpha, one)) for one in classes) else "of class "  # "2 0" cannot be read
    counted, told = (
        _join([f"{counts[place]:,.10g} {of}{classes[place]}" for place in shown.tolist()]) for counts in (again, stated)
    )
    return f"{what} {WORDS[name]} {counted} of these rows, but states {told}."


def compare_totals(again: NDArray[np.float64], stated: NDArray[np.float64]) -> list[str]:
    """Say so if these are not as many rows as the rules were made from; both are counted by leaf."""
    if np.isnan(stated).any() or agree(again.sum(), stated.sum()):
        return []
    return [
        f"These {again.sum():,.10g} rows are not the {stated.sum():,.10g} training rows, so their counts must differ: "
        "pass the rows that the rules were made from, or audit the rules on these."
    ]


def _join(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
