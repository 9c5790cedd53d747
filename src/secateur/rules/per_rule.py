"""Audit each rule on new rows: whether the share of its class is still what it was.

A rule *moved* if Fisher's exact test finds its reliability on these rows different from the one before, after Holm's
correction for the number of rules tested: if no rule had changed, the chance of any false alarm would be at most 5 %,
however many rules there are and however much they overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from secateur.errors import InputError
from secateur.frames import make_frame
from secateur.methods.fisher import fisher_greater
from secateur.rules.intervals import adjust_by_holm, compare_nested, compare_shares, count_effective, find_interval
from secateur.rules.wording import count_of
from secateur.tree.shares import none_if_nan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Label

__all__ = ["FALSE_ALARMS", "HOLDS", "MOVED", "NO_ROWS", "RuleAudit", "RuleAudits", "check_since"]

HOLDS, MOVED, NO_ROWS = "still holds", "moved", "no rows"
FALSE_ALARMS = 0.05  # chance of any, if no rule has changed
SHOWN_RULES = 20
WEIGHTED = (
    "The rules were made with weights, and their sums are taken for numbers of rows. If the weights are far from 1, "
    "compare with an earlier audit instead."
)


@dataclass(frozen=True)
class RuleAudit:
    """One rule on the audited rows. Shares run from 0 to 1; what is not known is None; limits are at the level of 95 %.

    Attributes
    ----------
    rule : int
        Its number, from 1.
    leaf_id : int
        Its leaf.
    prediction : label
        Its class.
    text : str
        What it says.
    training_support, training_reliability : float or None
        (Weighted) training rows that satisfy it, and the share of them in its class.
    d, d_low, d_high : float or None
        D, its training reliability minus its leaf's, and the limits of D; the latter not known for weighted rows.
    support, reliability : float, float or None
        (Weighted) audited rows that satisfy it, whether it decides them or not, and the share of them in its class.
    low, high : float or None
        Limits of the reliability.
    earlier_support, earlier_reliability : float or None
        The same of the earlier audit that it is compared with, if any.
    change, change_low, change_high : float or None
        Its reliability on these rows minus the one on the training rows, or in the earlier audit; and the limits.
    p_value : float or None
        Of Fisher's two-sided exact test of no change, corrected by Holm for the number of rules tested.
    verdict : str
        ``"moved"`` if this is at most 0.05, else ``"still holds"``; ``"no rows"`` if no audited row satisfies the rule,
        or none did before.
    """

    rule: int
    leaf_id: int
    prediction: Label
    text: str
    training_support: float | None
    training_reliability: float | None
    d: float | None
    d_low: float | None
    d_high: float | None
    support: float
    reliability: float | None
    low: float | None
    high: float | None
    earlier_support: float | None
    earlier_reliability: float | None
    change: float | None
    change_low: float | None
    change_high: float | None
    p_value: float | None
    verdict: str

    def __str__(self) -> str:
        lines = [f"Rule {self.rule} {self.verdict}: {self.text}"]
        if self.support and self.reliability is not None:
            now = f"{100 * self.reliability:.1f} % ({100 * self.low:.1f} to {100 * self.high:.1f})"  # type: ignore[operator]
            lines.append(f"  right for {now} of {_count(self.support)}; {self._tell_before()}")
        else:
            lines.append(f"  satisfied by none of these rows; {self._tell_before()}")
        if self.change is not None:
            limits = f"{100 * self.change_low:+.1f} to {100 * self.change_high:+.1f}"  # type: ignore[operator]
            chance = f"; p = {self.p_value:.2g}, corrected" if self.verdict == MOVED else ""
            lines.append(f"  change {100 * self.change:+.1f} points ({limits}){chance}")
        return "\n".join(lines)

    def _tell_before(self) -> str:
        when = "in the earlier audit" if self.earlier_support is not None else "in training"
        support, share = self.training_support, self.training_reliability
        if self.earlier_support is not None:
            support, share = self.earlier_support, self.earlier_reliability
        return (
            f"not known {when}"
            if support is None or share is None
            else (f"{when} {100 * share:.1f} % of {_count(support)}")
        )


class RuleAudits(Sequence[RuleAudit]):
    """A sequence of :class:`RuleAudit`, one for each rule in source order, backed by arrays.

    Made by :meth:`RuleSet.audit`.

    Parameters
    ----------
    rules : RuleSet
    counts : ndarray of float64, shape (n_rules, n_classes)
        (Weighted) audited rows of each class that satisfy each rule.
    squares : ndarray of float64, shape (n_rules,)
        Sums of the squared weights of these rows.
    since : RuleAudits, default=None
        What to compare with; by default the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:400], y[:400])
    >>> rules = secateur.simplify(model, X[:400], y[:400], class_names=["malignant", "benign"])
    >>> found = rules.audit(X[400:], y[400:]).per_rule
    >>> [(one.verdict, int(one.support)) for one in found]
    [('still holds', 116), ('still holds', 15), ('still holds', 38), ('still holds', 38)]
    """

    def __init__(
        self,
        rules: RuleSet,
        counts: NDArray[np.float64],
        squares: NDArray[np.float64],
        since: RuleAudits | None = None,
    ) -> None:
        self.rules, self.counts, self.squares, self.since = rules, counts, squares, since

    @cached_property
    def support(self) -> NDArray[np.float64]:
        """(Weighted) audited rows that satisfy each rule."""
        return self.counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def reliability(self) -> NDArray[np.float64]:
        """Share of them in the rule's class; NaN without rows."""
        return self.rules._share(self.counts)

    @cached_property
    def n_effective(self) -> NDArray[np.float64]:
        """Their effective number: that of rows without weights, or with equal ones, and less with others."""
        return count_effective(self.support, self.squares)

    @cached_property
    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper limits of the reliability, by Clopper and Pearson."""
        return find_interval(self.reliability, self.n_effective)

    @cached_property
    def before(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Reliability and effective rows of each rule in what it is compared with; NaN and 0 where there are none."""
        if self.since is not None:
            return self.since.reliability, self.since.n_effective
        return self.rules.reliability, np.nan_to_num(self.rules.support)

    @cached_property
    def change(self) -> NDArray[np.float64]:
        """Reliability on these rows minus the one before; NaN where either has no rows."""
        return self.reliability - self.before[0]

    @cached_property
    def change_interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper limits of the change, by Newcombe."""
        return compare_shares(self.reliability, self.n_effective, *self.before)

    @cached_property
    def d(self) -> NDArray[np.float64]:
        """Training reliability of each rule minus that of its leaf; NaN where not known."""
        return self.rules.reliability - self.rules.source_reliability

    @cached_property
    def d_interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper limits of D; NaN for weighted training rows."""
        rules = self.rules
        if rules.is_weighted:
            return np.full(len(rules), np.nan), np.full(len(rules), np.nan)
        places = np.arange(len(rules)), rules.paths.leaf_class
        leaf = rules.source_class_counts[places], rules.source_support
        low, high = compare_nested(rules.class_counts[places], rules.support, *leaf)
        return np.where(np.isnan(self.d), np.nan, low), np.where(np.isnan(self.d), np.nan, high)

    @cached_property
    def p_values(self) -> NDArray[np.float64]:
        """P-values of Fisher's two-sided exact test of no change, corrected by Holm; NaN where nothing was tested."""
        share, n_rows = self.before
        tested = np.flatnonzero(~np.isnan(self.change))
        tables = [self.reliability * self.n_effective, self.n_effective, share * n_rows, n_rows]
        tables = [numbers[tested] for numbers in tables]
        if not any(map(_has_fractions, tables)):  # products of shares are near whole numbers
            tables = [np.rint(numbers) for numbers in tables]
        now, then = tables[:2], tables[2:]
        found = np.full(len(self), np.nan)
        found[tested] = np.minimum(2 * np.minimum(fisher_greater(*now, *then), fisher_greater(*then, *now)), 1.0)
        return adjust_by_holm(found)

    @cached_property
    def verdicts(self) -> NDArray[np.str_]:
        """What is said of each rule: ``"still holds"``, ``"moved"`` or ``"no rows"``."""
        return np.where(np.isnan(self.p_values), NO_ROWS, np.where(self.p_values <= FALSE_ALARMS, MOVED, HOLDS))

    @property
    def moved(self) -> list[RuleAudit]:
        """The rules that moved, the least likely by chance first."""
        places = np.flatnonzero(self.verdicts == MOVED)
        return [self[int(place)] for place in places[np.argsort(self.p_values[places], kind="stable")]]

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, index: int) -> RuleAudit: ...
    @overload
    def __getitem__(self, index: slice) -> list[RuleAudit]: ...
    def __getitem__(self, index: int | slice) -> RuleAudit | list[RuleAudit]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place, since = range(len(self))[index], self.since
        numbers: dict[str, NDArray[np.float64]] = {
            "d": self.d,
            "d_low": self.d_interval[0],
            "d_high": self.d_interval[1],
            "reliability": self.reliability,
            "low": self.interval[0],
            "high": self.interval[1],
            "change": self.change,
            "change_low": self.change_interval[0],
            "change_high": self.change_interval[1],
            "p_value": self.p_values,
        }
        return RuleAudit(
            rule=place + 1,
            **self._describe(place),
            support=float(self.support[place]),
            earlier_support=None if since is None else float(since.support[place]),
            earlier_reliability=None if since is None else none_if_nan(since.reliability[place]),
            verdict=str(self.verdicts[place]),
            **{name: none_if_nan(values[place]) for name, values in numbers.items()},  # type: ignore[arg-type]
        )

    def _describe(self, place: int) -> dict[str, Any]:
        """Say what one rule is, and how it did in training."""
        rule = self.rules[place]
        return {
            **{name: getattr(rule, name) for name in ("leaf_id", "prediction", "text")},
            **{f"training_{name}": getattr(rule, name) for name in ("support", "reliability")},
        }

    @property
    def is_weighted(self) -> bool:
        """Whether the rules were made with weights."""
        return self.rules.is_weighted

    def to_frame(self, library: str | None = None) -> Any:
        """Put the audits of the rules into a data frame, one row per rule.

        Parameters
        ----------
        library : {"pandas", "polars"}, default=None
            By default the one that is already imported, else the one that is installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
        """
        rows = self.to_dicts()
        return make_frame({name: [row[name] for row in rows] for name in RuleAudit.__dataclass_fields__}, library)

    def to_dicts(self) -> list[dict[str, Any]]:
        """List the fields of each :class:`RuleAudit` by name, ready for JSON."""
        return [asdict(one) for one in self]

    @property
    def summary(self) -> str:
        """How many rules moved, still hold, and have no rows, in a sentence."""
        n_moved, n_holding, n_empty = (int((self.verdicts == one).sum()) for one in (MOVED, HOLDS, NO_ROWS))
        against = "their training rows" if self.since is None else "the earlier audit"
        said = f"{n_moved:,} of {count_of(len(self), 'rule')} moved against {against}; {n_holding:,} still hold"
        return f"{said}, {n_empty:,} cannot be compared, for want of rows." if n_empty else f"{said}."

    @property
    def notes(self) -> tuple[str, ...]:
        """What to bear in mind, a sentence each."""
        n_tested = int((self.verdicts != NO_ROWS).sum())
        tested = (
            f"A rule moved if Fisher's exact test finds it different, with p at most {FALSE_ALARMS:g} after correction "
            f"for {count_of(n_tested, 'tested rule')} (Holm); the limits in brackets, at 95 %, are of one rule alone."
        )
        if self.since is not None:
            return (tested,)
        optimistic = (
            "Training rows flatter: the rules were fitted to them, so a small fall is usual. To watch for change, "
            "compare with an earlier audit on other rows."
        )
        return (tested, optimistic, WEIGHTED) if self.is_weighted else (tested, optimistic)

    def __str__(self) -> str:
        moved = self.moved
        others = [
            self[int(place)] for place in np.flatnonzero(self.verdicts != MOVED)[: max(SHOWN_RULES - len(moved), 0)]
        ]
        rest = len(self) - len(moved) - len(others)
        more = [f"… and {count_of(rest, 'more rule')}: see to_frame()."] if rest else []
        return "\n".join([self.summary, *self.notes, *map(str, moved), *map(str, others), *more])

    def __repr__(self) -> str:
        return f"<RuleAudits: {self.summary}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RuleAudits) or type(self) is not type(other):
            return NotImplemented
        same = np.array_equal(self.counts, other.counts) and np.array_equal(self.squares, other.squares)
        return same and (self.rules is other.rules or self.rules == other.rules) and self.since == other.since

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is arrays

    def _repr_html_(self) -> str:
        from secateur.export.html import audits_to_html

        return audits_to_html(self)


def check_since(rules: RuleSet, since: Any) -> RuleAudits | None:
    """Take the audits of rules out of an earlier audit, which must be of the same rules."""
    if since is None:
        return None
    earlier = getattr(since, "per_rule", since)
    if not isinstance(earlier, RuleAudits):
        raise InputError(f"Expected since as an earlier audit of these rules, found {type(since).__name__}.")
    then = earlier.rules
    same = then is rules or (np.array_equal(then.deleted, rules.deleted) and then.tree == rules.tree)
    if not same:
        raise InputError("The earlier audit is of other rules: audit these rules on the earlier rows, and pass that.")
    return RuleAudits(earlier.rules, earlier.counts, earlier.squares)  # not what that one was compared with


def _has_fractions(numbers: NDArray[np.float64]) -> bool:
    return bool((np.abs(numbers - np.rint(numbers)) > 1e-6 * np.maximum(numbers, 1.0)).any())


def _count(number: float) -> str:
    """Write a number of rows, which with weights need not be whole."""
    return count_of(number, "row") if number == int(number) else f"{number:,.1f} weighted rows"
