"""Compare two rule lists by what their rules mean, even if they come from different trees, and by their answers.

A rule is a class and, for each column, the values that it allows; a column that it does not test may hold anything.
Each rule is paired with at most one rule of the other set, by the first of these that fits: the ``same`` class for the
same rows; another class, or value, for the same rows (``class-changed``, ``value-changed``); the same class for more
rows or for fewer (``widened``, ``narrowed``: one rule's region contains the other's); the same class and the same
columns, and in each of them at least half of the smaller region lies in the other, but neither contains the other
(``shifted``). Of several partners, the one that agrees in most columns is taken, then the first. Rules left over were
``removed`` or ``added``. A rule that several leaves of one set have counts once.

Bounds of whole numbers are compared as whole numbers, and cells of a number as intervals. A category that one set does
not list counts there as "any other". Missing values count only in columns where both sets accept them.

By answers, the rows that two lists answer differently are a swap set. Instead of the second list, a policy that
somebody typed or a model may answer the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, shorten
from secateur.results.answer import describe_rows
from secateur.results.policy import Policy
from secateur.results.statistics import LEVEL, find_interval
from secateur.rules.rule import Rule
from secateur.rules.rules import Rules
from secateur.tree.columns import find_cuts, join_cells
from secateur.tree.regions import last_with_decimals
from secateur.tree.tree import Label, Tree
from secateur.words.conditions import Condition, count_of, format_share
from secateur.words.plain_words import ROUNDED, format_amount, join_asked, rounds_a_number

Marks = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]

KINDS = ("same", "class-changed", "value-changed", "widened", "narrowed", "shifted", "removed", "added")


@dataclass(frozen=True)
class RuleChange:
    """How one rule changed.

    Attributes
    ----------
    kind : str
        A name in :data:`KINDS`.
    old, new : Rule or None
        The rule before and after; None where it was added or removed.
    """

    kind: str
    old: Rule | None
    new: Rule | None

    def to_dict(self) -> dict[str, Any]:
        """Give the change as plain values, for JSON."""
        return {"kind": self.kind, "old": _describe(self.old), "new": _describe(self.new)}

    def __str__(self) -> str:
        if self.old is None or self.new is None:
            return f"{self.kind}: {_write(self.old or self.new)}"
        if self.kind == "same":
            moved = "" if describe_rows(self.old) == describe_rows(self.new) else f", now {describe_rows(self.new)}"
            return f"same: {_write(self.old)}{moved}"
        # What differs may lie beyond the numbers that people read: then both are told with all digits.
        exactly = self.old.words == self.new.words
        return f"{self.kind}: {_write(self.old, exactly)}\n  now: {_write(self.new, exactly)}"


@dataclass(frozen=True)
class RulesDifference:
    """What changed between two trainings.

    Attributes
    ----------
    changes : tuple of RuleChange
        One for each pair of rules, and for each rule left over; by kind, then in the order of the rules. A rule that
        several leaves have is one rule. None beside a policy or a model, which rows alone compare.
    notes : tuple of str
        A sentence each where the two sets predict different classes, or one asks for columns that the other lacks.
    otherwise : tuple of str, or None
        Of lists: the class of what no rule covers, before and after.
    is_rounded : bool
        Whether its text shortens a number of a changed rule as far as the rows at hand allow.
    swaps : SwapSet, or None
        Of rows that were passed: which of them change their answer.
    """

    changes: tuple[RuleChange, ...]
    notes: tuple[str, ...] = ()
    otherwise: tuple[str, str] | None = None
    is_rounded: bool = False
    swaps: SwapSet | None = None

    @property
    def is_same(self) -> bool:
        """Whether the two sets have the same rules, and leave the rest to the same class; beside a policy, by rows."""
        if not self.changes and self.swaps is not None:
            return not self.swaps.n_changed
        return self.counts["same"] == len(self.changes) and not self._moves_otherwise

    @property
    def _moves_otherwise(self) -> bool:
        return self.otherwise is not None and self.otherwise[0] != self.otherwise[1]

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of changes of each kind."""
        return {kind: sum(change.kind == kind for change in self.changes) for kind in KINDS}

    def to_dict(self) -> dict[str, Any]:
        """Give the difference as plain values, for JSON."""
        found: dict[str, Any] = {"is_same": self.is_same, "notes": list(self.notes), "counts": self.counts}
        found["changes"] = [change.to_dict() for change in self.changes]
        if self.otherwise is not None:
            found["otherwise"] = dict(zip(("old", "new"), self.otherwise, strict=True))
        if self.swaps is not None:
            found["swaps"] = self.swaps.to_dict()
        return found

    def __str__(self) -> str:
        swapped = [] if self.swaps is None else [str(self.swaps)]
        if not self.changes and swapped:
            return "\n".join([*self.notes, *swapped])
        if self.is_same:
            rest = "" if self.otherwise is None else f", otherwise {self.otherwise[0]}"
            return "\n".join([*self.notes, f"The same {count_of(len(self.changes), 'rule')}{rest}.", *swapped])
        listed = [str(change) for change in self.changes if change.kind != "same"]
        if self.otherwise is not None and self._moves_otherwise:
            listed.append(f"otherwise {self.otherwise[0]}\n  now: otherwise {self.otherwise[1]}")
        counted = ", ".join(f"{number} {kind}" for kind, number in self.counts.items() if number)
        listed += [ROUNDED] if self.is_rounded else []
        return "\n".join([*self.notes, *listed, f"{counted or 'no rule'}.", *swapped])


def find_difference(old: Rules, new: Any, X: Any = None, y: Any = None, X_new: Any = None) -> RulesDifference:
    """Compare rules with others, or on rows with a policy or a model, which takes the rows as ``X_new``."""
    if hasattr(new, "is_list"):
        found = compare_rules(old, new)
    elif not hasattr(new, "predict"):
        raise InputError(f"Expected rules, a policy or a model to compare with, found {type(new).__name__}.")
    elif X is None:
        raise InputError("A policy or a model is compared by its answers: pass rows, as X.")
    else:
        found = RulesDifference((), (f"Now: {new}.",) if isinstance(new, Policy) else ())
    return found if X is None else replace(found, swaps=compare_answers(old, new, X, y, X_new))


def compare_rules(old: Rules, new: Rules) -> RulesDifference:
    """Find the rules that were added, removed, widened, narrowed or shifted between two trainings.

    Both are lists, which may also leave the rest to another class, or both have one rule for each leaf.
    """
    if old.is_list != new.is_list:
        raise InputError(
            "A list leaves a class to “otherwise”, so it is compared with a list only: pass two of them, or two with "
            "one rule for each leaf (rules.each_leaf)."
        )
    otherwise = (_word_otherwise(old), _word_otherwise(new)) if old.is_list else None
    sides = _Side(old), _Side(new)
    _reject_strangers(old.tree, new.tree)
    relation = _Relation(*sides)
    alike = sides[0].classes[:, None] == sides[1].classes[None, :]
    free_old, free_new = (_mark_first(side) for side in sides)
    turned = "value-changed" if old.tree.is_regression else "class-changed"
    pairs: list[tuple[str, int, int]] = []
    for kind, fits in (
        ("same", relation.equal & alike),
        (turned, relation.equal & ~alike),
        ("resized", (relation.wider | relation.narrower) & alike),
        ("shifted", relation.overlap & relation.same_columns & alike),
    ):
        for one, other in _pair(fits, relation.n_equal, free_old, free_new):
            name = ("widened" if relation.wider[one, other] else "narrowed") if kind == "resized" else kind
            # Rules that read alike differ only in rows that the facts rule out.
            reads_alike = kind != turned and old[one].text == new[other].text
            pairs.append(("same" if reads_alike else name, one, other))
    changes = [RuleChange(kind, old[one], new[other]) for kind, one, other in pairs]
    changes += [RuleChange("removed", old[index], None) for index in np.flatnonzero(free_old).tolist()]
    changes += [RuleChange("added", None, new[index]) for index in np.flatnonzero(free_new).tolist()]
    changes.sort(key=lambda change: (KINDS.index(change.kind), (change.old or change.new).index))  # type: ignore[union-attr]
    changed = [change for change in changes if change.kind != "same"]
    is_rounded = any(
        rounds_a_number(rules, filter(None, shown))
        for rules, shown in ((old, (change.old for change in changed)), (new, (change.new for change in changed)))
    )
    return RulesDifference(
        tuple(changes), tuple(_describe_strangers(old.tree, new.tree, *sides)), otherwise, is_rounded
    )


def _word_otherwise(rules: Rules) -> str:
    """Word what each section leaves to "otherwise"; of one section, its class."""
    lines = [section.otherwise for section in rules.sections if section.otherwise is not None]
    if len(lines) == 1:
        return lines[0].class_name
    return "; ".join(f"{line.class_name} among {join_asked(line.heading)}" for line in lines)


def _reject_strangers(old: Tree, new: Tree) -> None:
    """Reject rules that have no class, or no column, in common."""
    classes = [(["numbers"] if one.is_regression else [*one.class_names, *map(str, one.classes)]) for one in (old, new)]
    for what, (one, other) in (("classes", classes), ("columns", [list(_list_columns(one)) for one in (old, new)])):
        if {*one}.isdisjoint(other):
            raise InputError(
                f"Expected rules with {what} in common, found {shorten([*dict.fromkeys(one)])} in the old ones and "
                f"{shorten([*dict.fromkeys(other)])} in the new ones: compare two trainings of one table."
            )


def _describe_strangers(old: Tree, new: Tree, old_side: _Side, new_side: _Side) -> Iterator[str]:
    """Say that the two sets have other classes, too, or that one asks for columns that the other does not have."""
    if set(old.class_names) != set(new.class_names):
        yield (
            f"The two predict different classes: {shorten(sorted(old.class_names))} before, "
            f"{shorten(sorted(new.class_names))} now."
        )
    gone, come = (
        [name for name in one.asked if name not in other.levels]
        for one, other in ((old_side, new_side), (new_side, old_side))
    )
    if gone or come:
        sides = (("old", gone), ("new", come))
        told = [f"only the {age} rules ask for {shorten(names)}" for age, names in sides if names]
        yield f"The two have different columns: {', '.join(told)}."


def _mark_first(side: _Side) -> NDArray[np.bool_]:
    """Mark the rules that say what no earlier rule of their set says: several leaves may have one rule."""
    same = _Relation(side, side).equal & (side.classes[:, None] == side.classes[None, :])
    return same.argmax(axis=1) == np.arange(side.n_rules) if side.n_rules else np.zeros(0, dtype=bool)


class _Region(NamedTuple):
    """What one rule allows one column: separate intervals, or labels and whether any other; and missing values."""

    intervals: tuple[tuple[float, float], ...]
    labels: frozenset[Label] | None
    others: bool
    missing: bool


class _Side:
    def __init__(self, rules: Rules) -> None:
        tree = rules.tree
        self.n_rules = len(rules)
        self.classes = np.array([rule.class_name for rule in rules], dtype=object)
        self.levels = _list_columns(tree)
        self.takes_missing = {tree.feature_name(f): bool(tree.accepts_missing[f]) for f in range(tree.n_features)}
        self.asked: dict[str, dict[int, _Region]] = {}
        for place, rule in enumerate(rules):
            for condition in rule.whole_conditions:
                self.asked.setdefault(condition.name, {})[place] = _read_region(tree, condition)

    def collect(self, column: str, anything: Any, read: Callable[[_Region], Any]) -> NDArray[Any]:
        """Read each rule's region of a column into an array; rules that do not ask for it allow anything."""
        found = np.array([anything] * self.n_rules)
        for rule, region in self.asked.get(column, {}).items():
            found[rule] = read(region)
        return found

    def tests(self, column: str) -> NDArray[np.bool_]:
        return self.collect(column, False, lambda _: True)


class _Relation:
    """How the region of each old rule compares with that of each new one, and in how many columns they agree."""

    def __init__(self, old: _Side, new: _Side) -> None:
        shape = (old.n_rules, new.n_rules)
        self.wider, self.narrower, self.overlap, self.same_columns = np.ones((4, *shape), dtype=bool)
        self.n_equal = np.zeros(shape, dtype=np.int64)
        for column in dict.fromkeys([*old.asked, *new.asked]):
            inside, around, meets = _relate_column(column, old, new)
            one, other = old.tests(column)[:, None], new.tests(column)[None, :]
            self.wider &= inside
            self.narrower &= around
            self.overlap &= meets
            self.same_columns &= one == other
            self.n_equal += inside & around & one & other
        self.equal = self.wider & self.narrower
        self.wider &= ~self.equal
        self.narrower &= ~self.equal


def _relate_column(column: str, old: _Side, new: _Side) -> Marks:
    """Compare each pair of regions of one column: is the old one inside the new one, is it around it, do they meet."""
    sides = old, new
    levels = [side.levels.get(column) for side in sides]
    both = column in old.levels and column in new.levels
    if both and (levels[0] is None) != (levels[1] is None):  # numbers here, labels there: only "anything" compares
        any_old, any_new = np.meshgrid(~old.tests(column), ~new.tests(column), indexing="ij")
        return any_new, any_old, any_old | any_new
    if levels[0] is None and levels[1] is None:
        inside, around, meets = _relate_numbers(column, old, new)
    else:
        union = list(dict.fromkeys([*(levels[0] or ()), *(levels[1] or ())]))
        inside, around, meets = _relate_sets(*(_list_labels(side, column, union) for side in sides))
    if old.takes_missing.get(column) and new.takes_missing.get(column):
        one, other = (side.collect(column, True, lambda region: region.missing) for side in sides)
        one, other = one[:, None], other[None, :]
        inside, around = inside & (~one | other), around & (one | ~other)
        meets = meets | (inside & around)
    return inside, around, meets


def _relate_numbers(column: str, old: _Side, new: _Side) -> Marks:
    regions = [region for side in (old, new) for region in side.asked.get(column, {}).values()]
    # Between two neighbouring ends, every region holds all numbers or none.
    ends = np.unique([-math.inf, math.inf, *(end for r in regions for interval in r.intervals for end in interval)])

    def hold_pieces(region: _Region) -> Any:
        return sum((low <= ends[:-1]) & (ends[1:] <= high) for low, high in region.intervals)

    every, lengths = np.ones(len(ends) - 1, dtype=np.float32), np.diff(ends)
    lengths[np.isinf(lengths)] = 1e9 * (lengths[np.isfinite(lengths)].sum() or 1.0)
    one, other = (side.collect(column, every, hold_pieces) for side in (old, new))
    return _relate_sets(one, other, lengths)


def _list_labels(side: _Side, column: str, union: Sequence[Label]) -> NDArray[np.float32]:
    """Mark the labels that each rule allows, and in the last place whether it allows any other."""
    own = set(side.levels.get(column) or ())

    def mark(region: _Region) -> list[bool]:
        labels = region.labels or frozenset()
        return [*((label in labels) if label in own else region.others for label in union), region.others]

    return side.collect(column, np.ones(len(union) + 1, dtype=np.float32), mark)


def _relate_sets(old: NDArray[np.float32], new: NDArray[np.float32], sizes: Any = 1.0) -> Marks:
    met, least = (old * sizes) @ new.T, np.minimum.outer((old * sizes).sum(axis=1), (new * sizes).sum(axis=1))
    return old @ (1 - new).T == 0, (1 - old) @ new.T == 0, (met > 0) & (2 * met >= least)


def _read_region(tree: Tree, condition: Condition) -> _Region:
    if condition.categories is not None:
        cuts = find_cuts(tree, condition.feature)
        if cuts is None:
            return _Region((), frozenset(condition.categories), condition.unlisted, condition.missing)
        levels = tree.categories[condition.feature] or ()
        codes = [code for code, label in enumerate(levels) if label in condition.categories]
        codes += [len(levels)] if condition.unlisted else []
        return _Region(join_cells(cuts, codes), None, False, condition.missing)
    low, high = condition.low, condition.high
    n_decimals = tree.facts.decimals_of.get(condition.feature)
    if n_decimals is not None:
        ends = (low, high)
        low, high = (n if math.isinf(n) else float(last_with_decimals(n, n_decimals, tree.dtype)) for n in ends)
    return _Region(((low, high),) if low < high else (), None, False, condition.missing)


def _list_columns(tree: Tree) -> dict[str, tuple[Label, ...] | None]:
    """List the columns and groups that conditions may be about, with the labels of those that are not numbers."""
    columns = {
        tree.feature_name(feature): tree.categories[feature] if find_cuts(tree, feature) is None else None
        for feature in range(tree.n_features)
    }
    return {**columns, **{group.name: group.labels for group in tree.facts.groups}}


def _pair(
    fits: NDArray[np.bool_], shared: NDArray[np.int64], free_old: NDArray[np.bool_], free_new: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """Pair free rules that fit, those that agree in most columns first, and mark them as taken."""
    rows, columns = np.nonzero(fits & free_old[:, None] & free_new[None, :])
    order = np.lexsort((columns, rows, -shared[rows, columns]))
    pairs = []
    for one, other in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if free_old[one] and free_new[other]:
            free_old[one] = free_new[other] = False
            pairs.append((one, other))
    return pairs


def _write(rule: Rule | None, exactly: bool = False) -> str:
    return "" if rule is None else f"{rule.text if exactly else rule.words} ({describe_rows(rule)})"


def _describe(rule: Rule | None) -> dict[str, Any] | None:
    if rule is None:
        return None
    told = {name: getattr(rule, name) for name in ("text", "prediction", "support", "reliability")}
    return {"rule": rule.index + 1, **told}


SHOWN_SWAPS = 5


class Swap(NamedTuple):
    """Rows that change from one answer to another."""

    old: Any
    new: Any
    rows: int
    old_right: int | None  # of them, by the old rules, of values nearer than the new ones; None without labels
    new_right: int | None
    examples: tuple[int, ...]  # numbers of the first rows, from 1


class Move(NamedTuple):
    """Rows that change their answer, by the line that they leave and the line that they enter, from 1."""

    old_line: int
    new_line: int
    rows: int


@dataclass(frozen=True)
class SwapSet:
    """The rows that two sets of rules answer differently."""

    n_rows: int  # all rows compared
    swaps: tuple[Swap, ...]  # by answers, the largest first
    moves: tuple[Move, ...]  # the same by lines; none if one side has no lines
    # Accuracy of the new rules minus that of the old ones, with its limits at 95 %, from 0 to 1; None without labels.
    # The rows are the same, so only those that one of both gets right count (Clopper and Pearson). Of values: by how
    # much the mean absolute error falls, by the paired t-interval.
    gain: tuple[float, float, float] | None
    names: Mapping[Any, str] = field(default_factory=dict, repr=False)  # what answers are called
    apart: tuple[float, float] | None = None  # of values that change: how far, on average and at most

    @property
    def n_changed(self) -> int:
        """Rows that change their answer."""
        return sum(one.rows for one in self.swaps)

    @property
    def still_holds(self) -> bool | None:
        """Whether nothing shows that the new rules are better: the old ones may stay in force; None without labels."""
        return None if self.gain is None else not self.gain[1] > 0

    def to_dict(self) -> dict[str, Any]:
        """Give the same as plain values, for JSON."""
        return {
            **{name: getattr(self, name) for name in ("n_rows", "n_changed")},
            **{name: [one._asdict() for one in getattr(self, name)] for name in ("swaps", "moves")},
            **{name: getattr(self, name) for name in ("apart", "gain", "still_holds")},
        }

    def __str__(self) -> str:
        share = format_share(self.n_changed / self.n_rows)
        told = [f"{self.n_changed:,} of {count_of(self.n_rows, 'row')} ({share}) change their answer."]
        right = "right"
        if self.apart is not None:
            far = [format_amount(one) for one in self.apart]
            told = [f"{told[0][:-1]}, by {far[0]} on average and {far[1]} at most."] if self.n_changed else told
            right = "nearer to the target"
        for one in self.swaps[:SHOWN_SWAPS]:
            was = f"; {right} before: {one.old_right:,}, {right} now: {one.new_right:,}" if self.gain else ""
            shown = ", ".join(f"{place:,}" for place in one.examples)
            old, new = (self.names.get(answer, answer) for answer in (one.old, one.new))
            told.append(f"  {old} to {new}: {count_of(one.rows, 'row')}{was} (such as row {shown})")
        told += _count_further([one.rows for one in self.swaps])
        for move in self.moves[:SHOWN_SWAPS]:
            told.append(f"  from old line {move.old_line} to new line {move.new_line}: {count_of(move.rows, 'row')}")
        told += _count_further([move.rows for move in self.moves])
        if self.gain is not None:
            gain, low, high = self.gain
            changes = [f"{100 * one:+.2f}" for one in self.gain]
            measure = "Accuracy changes by {} points (95 % interval {} to {})."
            if self.apart is not None:
                changes = [f"{0.0 - one:+.4g}" for one in (gain, high, low)]
                measure = "The mean absolute error changes by {} (95 % interval {} to {})."
            told.append(measure.format(*changes))
            sign = "worse" if high < 0 else "better"
            beyond = f"The new rules are {sign} on these rows, beyond chance, if none of them made either list."
            alike = "Nothing shows that the new rules are better on these rows."
            told.append(beyond if high < 0 or not self.still_holds else alike)
        return "\n".join(told)


def _count_further(rows: Sequence[int]) -> list[str]:
    further = rows[SHOWN_SWAPS:]
    return [f"  and {len(further):,} more, with {count_of(sum(further), 'row')}"] if further else []


def compare_answers(old: Rules, new: Any, X: Any, y: Any = None, X_new: Any = None) -> SwapSet:
    """Compare the answers of rules with those of others, a policy or a model, which takes the rows as ``X_new``."""
    rows = X if X_new is None else X_new
    before, after = (np.asarray(one).astype(object) for one in (old.predict(X), new.predict(rows)))
    if len(before) != len(after):
        raise InputError(f"Expected one answer for each of {count_of(len(before), 'row')}, found {len(after):,}.")
    changed = np.flatnonzero((before != after).astype(bool))
    judge = _judge_values if old.tree.is_regression else _judge_classes
    good, gain = (None, None), None
    if y is not None:
        *good, gain = judge(before, after, np.asarray(y).astype(object))  # type: ignore[assignment]
    sides = [np.unique(one[changed], return_inverse=True) for one in (before, after)]
    n_after = len(sides[1][0])
    kinds, pair, counts = np.unique(sides[0][1] * n_after + sides[1][1], return_inverse=True, return_counts=True)
    right = [None if one is None else np.bincount(pair, one[changed], len(kinds)) for one in good]
    order, starts = np.argsort(pair, kind="stable"), np.cumsum(counts) - counts
    swaps = [
        Swap(
            sides[0][0][kind // n_after],
            sides[1][0][kind % n_after],
            int(counts[place]),
            None if right[0] is None else int(right[0][place]),
            None if right[1] is None else int(right[1][place]),
            tuple((changed[order[starts[place] :][: min(3, counts[place])]] + 1).tolist()),
        )
        for place, kind in enumerate(kinds.tolist())
    ]
    moves = []
    if hasattr(new, "lines"):
        lines = np.stack([old.apply(X)[changed], new.apply(rows)[changed]]) + 1
        pairs, counts = np.unique(lines, axis=1, return_counts=True)
        moves = [Move(one, other, n) for (one, other), n in zip(pairs.T.tolist(), counts.tolist(), strict=True)]
    names, apart = dict(zip(old.tree.classes.tolist(), old.tree.class_names, strict=True)), None
    if old.tree.is_regression:
        far = np.abs((after - before)[changed].astype(np.float64))
        names = {value: format_amount(value) for side in sides for value in side[0].tolist()}
        apart = (float(far.mean()), float(far.max())) if len(far) else (0.0, 0.0)
    return SwapSet(
        len(before),
        tuple(sorted(swaps, key=lambda one: (-one.rows, one.examples))),
        tuple(sorted(moves, key=lambda one: -one.rows)),
        gain,
        names,
        apart,
    )


def _judge_classes(before: NDArray[Any], after: NDArray[Any], truth: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Mark the rows that each side answers rightly, and find the change of accuracy by those that one alone does."""
    old, new = ((one == truth).astype(bool) for one in (before, after))
    gained, lost, n_rows = int((new & ~old).sum()), int((old & ~new).sum()), len(old)
    either = gained + lost
    if not either:
        return old, new, (0.0, 0.0, 0.0)
    low, high = ((2 * float(end) - 1) * either / n_rows for end in find_interval(gained / either, either))
    return old, new, ((gained - lost) / n_rows, low, high)


def _judge_values(before: NDArray[Any], after: NDArray[Any], truth: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Mark the rows to whose targets each side is nearer, and find by how much the mean absolute error falls."""
    from scipy.special import stdtrit

    old, new = (np.abs((one - truth).astype(np.float64)) for one in (before, after))
    fall, n_rows = old - new, len(old)
    mean, half = float(fall.mean()), math.inf
    if n_rows > 1:
        half = float(stdtrit(n_rows - 1, (1 + LEVEL) / 2) * fall.std(ddof=1) / math.sqrt(n_rows))
    return old < new, new < old, (mean, mean - half, mean + half)
