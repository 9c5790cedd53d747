"""Audit each line on new rows: whether the share of its class is still what it was.

The rows of a list's line are those that it decides; with one rule for each leaf, those that satisfy the rule. A line
*moved* if its reliability on these rows differs from the one before by Fisher's exact test, with p (twice the
smaller one-sided p) at most 0.05 after Holm's correction for the number of rules tested. Against an earlier audit on
rows that the tree was not fitted on, any alarm is then false in at most 5 of 100 audits if nothing has changed, however
many lines there are and however much they overlap. Against the training rows it is not: the rules were fitted to them,
and a fall is to be expected. With weights the rows count for Kish's effective number and gamma functions extend the
test, which is then approximate. Where lines predict values, the means of their targets take the place of shares, and
Welch's test that of Fisher's.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError
from secateur.results import statistics
from secateur.results.measures import TOLD, find_flags
from secateur.results.shifts import find_psi
from secateur.rules.rule import ArrayTable, Rule, written_by
from secateur.rules.rules import Rules
from secateur.tree.shares import divide_or_nan, fisher_greater, none_if_nan
from secateur.tree.tree import Label
from secateur.words.conditions import count_class, count_of, count_rows, format_count, format_share, name_class
from secateur.words.plain_words import format_amount

HOLDS, FEW, MOVED = "still holds", "too few rows to tell", "moved"
NO_ROWS, NOT_COMPARABLE = "no rows", "not comparable"
FALSE_ALARMS = 0.05  # chance of any, if no rule has changed
FEW_ROWS = 30  # with fewer, here or before, that a line still holds says little
SHOWN_RULES = 20
COMPARED = (*("d", "d_low", "d_high"), *("reliability", "low", "high"), *("change", "change_low", "change_high"))
OF_VALUES = ("training_mean", "training_spread", "mean", "spread", "mean_error")
OF_CLASSES = ("training_reliability", "d", "d_low", "d_high", "reliability", "low", "high", "earlier_reliability")
MADE_WITHOUT_ROWS = "The rules were made without rows, so their numbers in training are not known."
MADE_FROM_ANSWERS = (
    "The rules approximate a model and were made from its answers, so how often they were right then is not known."
)
MADE_WITH_WEIGHTS = (
    "The rules were made with weights, and sums of weights do not tell how many training rows there were, so changes "
    "against training are not tested."
)
SINCE = "(since=…; --since on the command line)"
COMPARE_WITH_AUDIT = f"Compare with an earlier audit instead {SINCE}."
LIMITS = (
    "The limits in brackets, at 95 %, are of one line alone and not corrected, so a line may still hold although its "
    "limits leave out 0."
)
APPROXIMATE = (
    "Rows with weights count for their effective number (Kish) in the limits and in the test, which gamma functions "
    "extend to numbers that are not whole: with weights, both are approximate."
)


@dataclass(frozen=True)
class LineAudit:
    """One line on the audited rows. Shares run from 0 to 1; what is not known is None; limits are at the level of 95 %.

    Attributes
    ----------
    line : int
        Its number, from 1.
    leaf_id : int or None
        Its leaf; None of "otherwise".
    prediction, class_name : label, str
        Its class, and the name of that; or its value.
    text : str
        What it says, with exact numbers.
    training_support, training_reliability : float or None
        (Weighted) training rows of it, as ``Rule.support`` counts them, and the share of them in its class; None if the
        rules were made without rows.
    d, d_low, d_high : float or None
        With one rule for each leaf: D, its training reliability minus its leaf's, and the limits of D. The latter are
        not known for weighted rows, nor where the leaf has fewer than 5 rows, or the rule fewer than 5 more.
    support, reliability : float, float or None
        (Weighted) audited rows of it, counted alike, and the share of them in its class.
    low, high : float or None
        Limits of the reliability.
    earlier_support, earlier_reliability : float or None
        The same of the earlier audit that it is compared with, if any.
    change, change_low, change_high : float or None
        Its reliability on these rows minus the one on the training rows, or in the earlier audit; and the limits, of
        this line alone. Without an earlier audit, the limits are not known for weighted training rows.
    p_value : float or None
        Of no change: twice the smaller one-sided p of Fisher's exact test, corrected by Holm for the number of lines
        tested. With weights, the effective numbers of rows are tested, and p is approximate.
    verdict : str
        ``"moved"`` if this is at most 0.05, else ``"still holds"``, or ``"too few rows to tell"`` with fewer than 30
        effective ones, here or before; ``"no rows"`` if the line has no audited row; ``"not comparable"`` if some do,
        but none did before, or its numbers before are not known.
    effective_rows, effective_rows_before : float, float or None
        For how many rows the audited ones count, and those it is compared with: their number, or with weights Kish's
        effective number; None where not known.
    training_mean, training_spread, mean, spread, mean_error : float or None
        Of a line that predicts a value: mean and standard deviation of the targets of its training rows and of the
        audited ones, and how far the latter lie from its value on average. ``change`` is then one of means, and p is
        Welch's.
    if_struck : float or None
        The share of its rows that would be right if the line were struck, so that each goes to the next line that
        holds, or to "otherwise"; of values, how far they would lie from the answer on average. None of "otherwise", of
        one rule for each leaf, and where rows are counted by a database.
    flag : str
        What else to mind about it, in a sentence (:func:`secateur.results.measures.find_flags`).
    words : str
        What it says, with the numbers that people read.
    """

    line: int
    leaf_id: int | None
    prediction: Label
    class_name: str
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
    effective_rows: float
    effective_rows_before: float | None
    training_mean: float | None = None
    training_spread: float | None = None
    mean: float | None = None
    spread: float | None = None
    mean_error: float | None = None
    if_struck: float | None = None
    flag: str = ""
    words: str = ""

    @property
    def has_few_rows(self) -> bool:
        """Whether it was tested with fewer than 30 effective rows, here or before."""
        return self.verdict in (FEW, MOVED) and min(self.effective_rows, self.effective_rows_before or 0) < FEW_ROWS

    def __str__(self) -> str:
        rows, scale, unit = _count(self.support, self.effective_rows), 100.0, " points"
        now = "none of these rows"
        if self.mean is not None and self.spread is not None and self.mean_error is not None:
            now = f"{rows}, mean {format_amount(self.mean)}, spread {format_amount(self.spread)}, off by "
            now += f"{format_amount(self.mean_error)} on average"
            scale, unit = 1.0, ""
        elif self.reliability is not None and self.low is not None and self.high is not None:
            limits = f"({100 * self.low:.1f} to {100 * self.high:.1f})"
            now = f"{name_class(self.class_name)}: {100 * self.reliability:.1f} % {limits} of {rows}"
        lines = [f"{self.line}. {self.verdict}: {self.words or self.text}", f"  {now}; {self._tell_before()}"]
        changes = [scale * one for one in (self.change, self.change_low, self.change_high) if one is not None]
        if len(changes) == 3:
            change, low, high = (f"{one:+.1f}" if unit else f"{one:+.4g}" for one in changes)
            chance = f"; p = {self.p_value:.2g}, corrected" if self.verdict == MOVED else ""
            lines.append(f"  change {change}{unit} ({low} to {high}){chance}")
        if self.if_struck is not None:
            then = f"{100 * self.if_struck:.1f} % of its rows would be right"
            if self.mean_error is not None:
                then = f"its rows would be off by {format_amount(self.if_struck)} on average"
            lines.append(f"  if it were struck, {then}")
        return "\n".join([*lines, *([f"  {self.flag}"] if self.flag else [])])

    def _tell_before(self) -> str:
        when, support, share = "in training", self.training_support, self.training_reliability
        if self.earlier_support is not None:
            when, support, share = "in the earlier audit", self.earlier_support, self.earlier_reliability
        if support is None:
            return f"not known {when}"
        if not support:
            return f"no rows {when}"
        rows = _count(support, self.effective_rows_before)
        if share is not None:
            return f"{when} {100 * share:.1f} % of {rows}"
        if self.mean is not None and self.change is not None:
            return f"{when} {rows}, mean {format_amount(self.mean - self.change)}"
        return f"{when} {rows}"


@dataclass(eq=False, repr=False)
class LineAudits(ArrayTable[LineAudit]):
    """A sequence of :class:`LineAudit`, one for each line as they are printed, backed by arrays.

    Made by :meth:`Rules.audit`.

    Parameters
    ----------
    rules : Rules
    counts : ndarray of float64, shape (n_lines, n_classes)
        (Weighted) audited rows of each class of each line.
    squares : ndarray of float64, shape (n_lines,)
        Sums of the squared weights of these rows.
    since : LineAudits, default=None
        What to compare with; by default the training rows.
    is_unseen : bool, default=False
        Whether these are the unseen rows that the rules were measured on.
    moments : ndarray of float64, shape (n_lines, 2), default=None
        Of values: mean and standard deviation of the targets of these rows.
    errors : ndarray of float64, shape (n_lines,), default=None
        Of values: how far the targets lie from the line's value on average.
    struck : ndarray of float64, shape (n_lines,), default=None
        Of a list: how many of these rows would be right, or of values their summed errors, if the line were struck.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:400], y[:400])
    >>> rules = secateur.simplify(model, X[:400], y[:400], class_names=["malignant", "benign"])
    >>> found = rules.audit(X[400:], y[400:]).per_line
    >>> [(one.verdict, int(one.support)) for one in found]
    [('too few rows to tell', 6), ('still holds', 109), ('moved', 54)]
    """

    nouns = "lines"

    rules: Rules
    counts: NDArray[np.float64]
    squares: NDArray[np.float64]
    since: LineAudits | None = None
    _: KW_ONLY
    is_unseen: bool = False
    moments: NDArray[np.float64] | None = None
    errors: NDArray[np.float64] | None = None
    struck: NDArray[np.float64] | None = None

    @classmethod
    def of_unseen(cls, rules: Rules) -> LineAudits | None:
        """Audit the lines on the unseen rows that the rules were measured on, if there are any.

        Parameters
        ----------
        rules : Rules
        """
        found = rules.unseen
        if found is None or (rules.tree.is_regression and found.moments is None):  # of the rules of leaves
            return None
        squares = found.support if found.squares is None else found.squares
        return cls(rules, found.counts, squares, is_unseen=True, moments=found.moments)

    @cached_property
    def support(self) -> NDArray[np.float64]:
        """(Weighted) audited rows of each line."""
        return self.counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def reliability(self) -> NDArray[np.float64]:
        """Share of them in the line's class; NaN without rows, and of values."""
        return self._share(self.counts)

    @cached_property
    def n_effective(self) -> NDArray[np.float64]:
        """Their effective number: that of rows without weights, or with equal ones, and less with others."""
        return statistics.count_effective(self.support, self.squares)

    @cached_property
    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper limits of the reliability, by Clopper and Pearson."""
        return statistics.find_interval(self.reliability, self.n_effective)

    @property
    def level(self) -> NDArray[np.float64]:
        """What is compared: the reliability of each line, or the mean of its targets."""
        return self.reliability if self.moments is None else self.moments[:, 0]

    @cached_property
    def before(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Level and effective rows of each line in what it is compared with.

        NaN and 0 where there are no rows, or where they are not known. Of weighted training rows only the level is
        known.
        """
        if self.since is not None:
            return self.since.level, self.since.n_effective
        known = np.nan_to_num(self._training.sum(axis=1))
        level = self._share(self._training) if self.moments is None else self._training_moments[:, 0]
        return level, np.zeros(len(self)) if self.rules.is_weighted else known

    @cached_property
    def _training(self) -> NDArray[np.float64]:
        """The training rows of each line; NaN where there are none, and of an approximation, which saw no labels."""
        return self.rules.counts if self.is_ranked else np.full(self.rules.counts.shape, np.nan)

    @cached_property
    def _training_moments(self) -> NDArray[np.float64]:
        found = self.rules.target_moments
        return np.full((len(self), 2), np.nan) if found is None else found

    def _share(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.rules.tree.is_regression:
            return np.full(len(counts), np.nan)
        return divide_or_nan(counts[np.arange(len(counts)), self.rules.class_ids], counts.sum(axis=1))

    @cached_property
    def change(self) -> NDArray[np.float64]:
        """Level on these rows minus the one before; NaN where either has no rows."""
        return self.level - self.before[0]

    @cached_property
    def change_interval(self) -> statistics.Limits:
        """Lower and upper limits of the change, by Newcombe, of means by Welch; NaN where rows are not known."""
        if self.moments is None:
            return statistics.compare_shares(self.reliability, self.n_effective, *self.before)
        return self._compared_means[:2]

    @cached_property
    def _compared_means(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        assert self.moments is not None
        then = self._training_moments if self.since is None else self.since.moments
        assert then is not None
        return statistics.compare_means(self.moments, self.n_effective, then, self.before[1])

    @cached_property
    def d(self) -> NDArray[np.float64]:
        """Training reliability of each leaf's rule minus that of its leaf; NaN where not known, and of a list."""
        rules = self.rules
        if rules.is_list or not rules.is_ranked or rules.tree.is_regression:  # a line's rows are not those of one leaf
            return np.full(len(self), np.nan)
        return rules.covered_reliability - rules.leaf_reliability

    @cached_property
    def d_interval(self) -> statistics.Limits:
        """Lower and upper limits of D; NaN where not known."""
        return (self.d, self.d) if np.isnan(self.d).all() else find_limits_of_d(self.rules)

    @cached_property
    def _is_whole(self) -> bool:
        """Whether rows count as whole rows wherever they are tested, so that the test is exact."""
        share, n_rows = self.before
        tables = [self.n_effective, n_rows]
        if self.moments is None:
            tables += [self.reliability * self.n_effective, share * n_rows]
        both = (self.n_effective > 0) & (n_rows > 0)
        tested = np.stack(tables)[:, both]
        return not (np.abs(tested - np.rint(tested)) > 1e-6 * np.maximum(tested, 1.0)).any()

    @cached_property
    def p_values(self) -> NDArray[np.float64]:
        """P-values of no change, by Holm: twice the smaller one-sided p of Fisher's exact test, or Welch's p of values.

        NaN where nothing was tested. With weights, effective numbers of rows are tested, and p is approximate.
        """
        if self.moments is not None:
            return statistics.adjust_by_holm(self._compared_means[2])
        share, n_rows = self.before
        tested = np.flatnonzero((self.n_effective > 0) & (n_rows > 0))
        tables = [self.reliability * self.n_effective, self.n_effective, share * n_rows, n_rows]
        tables = [np.rint(numbers[tested]) if self._is_whole else numbers[tested] for numbers in tables]
        now, then = tables[:2], tables[2:]
        found = np.full(len(self), np.nan)
        found[tested] = np.minimum(2 * np.minimum(fisher_greater(*now, *then), fisher_greater(*then, *now)), 1.0)
        return statistics.adjust_by_holm(found)

    @cached_property
    def verdicts(self) -> NDArray[np.str_]:
        """What is said of each rule, as :class:`LineAudit` says it."""
        tested = np.where(self.p_values <= FALSE_ALARMS, MOVED, np.where(self.has_few_rows, FEW, HOLDS))
        untested = np.where(self.support > 0, NOT_COMPARABLE, NO_ROWS)
        return np.where(np.isnan(self.p_values), untested, tested)

    @property
    def psi(self) -> float:
        """Population stability index of the rows per line, against those before; NaN where they are not known."""
        return find_psi(self.rules.support if self.since is None else self.since.support, self.support)

    @property
    def n_tested(self) -> int:
        """Number of rules that were tested."""
        return int((~np.isnan(self.p_values)).sum())

    @cached_property
    def has_few_rows(self) -> NDArray[np.bool_]:
        """Mark of each rule that was tested with fewer than 30 (effective) rows, here or before."""
        return ~np.isnan(self.p_values) & (np.minimum(self.n_effective, self.before[1]) < FEW_ROWS)

    @property
    def moved(self) -> list[LineAudit]:
        """The rules that moved, the least likely by chance first."""
        places = np.flatnonzero(self.verdicts == MOVED)
        return [self[int(place)] for place in places[np.argsort(self.p_values[places], kind="stable")]]

    @property
    def rarer(self) -> list[LineAudit]:
        """The lines that state a class which is not the commonest of the audited rows counted for them."""
        own = self.counts[np.arange(len(self)), self.rules.class_ids]
        return [self[int(place)] for place in np.flatnonzero(own < self.counts.max(axis=1))]

    @property
    def cautions(self) -> tuple[str, ...]:
        """Which lines state a class that most of these rows do not have: the verdicts do not tell."""
        rarer = self.rarer
        if not rarer:
            return ()
        some = rarer[:SHOWN_RULES]
        told = [f"{format_share(one.reliability or 0)} of {_count(one.support, one.effective_rows)}" for one in some]
        shown = ", ".join(f"{x.line} ({count_class(share, x.class_name)})" for x, share in zip(some, told, strict=True))
        more = f" and {len(rarer) - SHOWN_RULES:,} more" if len(rarer) > SHOWN_RULES else ""
        states = f"line {shown} states" if len(rarer) == 1 else f"lines {shown}{more} state"
        whose = "its" if len(rarer) == 1 else "their"
        return (f"{states[0].upper()}{states[1:]} a class that most of {whose} rows here do not have.",)

    @cached_property
    def if_struck(self) -> NDArray[np.float64]:
        """How right, or of values how far off, the rows of each line would be without it; NaN where not known."""
        return np.full(len(self), np.nan) if self.struck is None else divide_or_nan(self.struck, self.support)

    @cached_property
    def flags(self) -> dict[int, str]:
        """What else to mind about lines, by number."""
        return {one.line: one.text for one in find_flags(self.rules) if one.kind not in TOLD}

    def __len__(self) -> int:
        return len(self.counts)

    def _make(self, place: int) -> LineAudit:
        since, line = self.since, Rule(self.rules, place)
        found = [self.d, *self.d_interval, self.reliability, *self.interval]
        found += [self.change, *self.change_interval, self.p_values, self.if_struck]
        if self.moments is not None:
            found += [*self._training_moments.T, *self.moments.T, *(() if self.errors is None else (self.errors,))]
        numbers = dict(zip((*COMPARED, "p_value", "if_struck", *OF_VALUES), found, strict=False))
        return LineAudit(
            line=place + 1,
            flag=self.flags.get(place + 1, ""),
            **{name: getattr(line, name) for name in ("leaf_id", "prediction", "class_name", "text", "words")},
            training_support=none_if_nan(self._training[place].sum()),
            training_reliability=none_if_nan(self._share(self._training)[place]),
            support=float(self.support[place]),
            earlier_support=None if since is None else float(since.support[place]),
            earlier_reliability=None if since is None else none_if_nan(since.reliability[place]),
            verdict=str(self.verdicts[place]),
            effective_rows=float(self.n_effective[place]),
            effective_rows_before=float(self.before[1][place]) or None,
            **{name: none_if_nan(values[place]) for name, values in numbers.items()},  # type: ignore[arg-type]
        )

    @property
    def is_ranked(self) -> bool:
        """Whether the training rows of the lines, and their labels, are known."""
        return self.rules.is_ranked and self.rules.fidelity is None

    def _list_columns(self) -> dict[str, list[Any]]:
        rows = self.to_dicts()
        names = [name for name in LineAudit.__dataclass_fields__ if name not in self._foreign]
        return {name: [row[name] for row in rows] for name in names}

    @property
    def _foreign(self) -> tuple[str, ...]:
        """Fields that only the other kind of answer has."""
        return OF_VALUES if self.moments is None else OF_CLASSES

    def to_dicts(self) -> list[dict[str, Any]]:
        """List the fields of each :class:`LineAudit` that its kind of answer has by name, ready for JSON."""
        return [{name: value for name, value in asdict(one).items() if name not in self._foreign} for one in self]

    @property
    def summary(self) -> str:
        """What the rules are compared with, and how many moved, still hold, or could not be compared, in a sentence."""
        against = "Against the earlier audit"
        if self.since is not None and self.since.is_unseen:
            against = "Against the unseen rows that the rules were measured on"
        if self.since is None:
            against = f"Against the training rows{', to which the rules were fitted' if self.n_tested else ''}"
        verdicts = (MOVED, HOLDS, FEW, NO_ROWS, NOT_COMPARABLE)
        n_moved, n_sure, n_few, n_empty, n_unknown = (int((self.verdicts == one).sum()) for one in verdicts)
        every = count_of(len(self), "line" if self.rules.is_list else "rule")
        if self.rules.is_list:
            n_rules = len(self.rules)
            every += f" ({count_of(n_rules, 'rule')} and {len(self) - n_rules} × “otherwise”)"
        said = [f"{n_moved:,} of {every} moved" if self.n_tested else f"none of {every} could be tested"]
        if n_sure:
            said.append(f"{n_sure:,} still {'holds' if n_sure == 1 else 'hold'} ({self._tell_holding()})")
        rest = (n_few, "has", "have", FEW), (n_empty, "has", "have", "no rows here")
        for number, has, have, what in (*rest, (n_unknown, "is", "are", "not comparable")):
            said += [f"{number:,} {has if number == 1 else have} {what}"] if number else []
        return f"{against}: {', '.join(said)}."

    def _tell_holding(self) -> str:
        """Say how many rows are behind the rules that still hold and have enough of them to tell."""
        rows = self.n_effective[self.verdicts == HOLDS]
        least, most = (format_count(float(np.round(end))) for end in (rows.min(), rows.max()))
        told = count_of(float(np.round(rows.max())), "row") if least == most else f"{least} to {most} rows"
        return f"{told}{' each' if len(rows) > 1 else ''}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What to bear in mind, a sentence or two each."""
        notes = []
        if self.n_tested:
            limits = f" {LIMITS}" if (self.verdicts == MOVED).any() else ""
            test = "Fisher's exact test" if self.moments is None else "Welch's test of means"
            notes.append(
                "A line moved if chance would hardly make so large a difference: p is at most "
                f"{FALSE_ALARMS:g} by {test}, corrected for {count_of(self.n_tested, 'tested line')}.{limits}"
            )
        few = np.flatnonzero(self.verdicts == FEW)
        if len(few):
            least = np.round(np.minimum(self.n_effective, self.before[1])[few[:SHOWN_RULES]]).tolist()
            told = zip((few[:SHOWN_RULES] + 1).tolist(), least, strict=True)
            shown = ", ".join(f"{rule} ({count_of(n_rows, 'row')})" for rule, n_rows in told)
            more = f" and {len(few) - SHOWN_RULES:,} more" if len(few) > SHOWN_RULES else ""
            notes.append(
                f"With fewer than {FEW_ROWS} rows, here or before, only a large change can be seen: "
                f"{'line' if len(few) == 1 else 'lines'} {shown}{more}."
            )
        if not self._is_whole:
            notes.append(APPROXIMATE)
        if self.since is None and not self.is_ranked:
            why = MADE_WITHOUT_ROWS if self.rules.fidelity is None else MADE_FROM_ANSWERS
            notes.append(f"{why} {COMPARE_WITH_AUDIT}")
        elif self.since is None and self.rules.is_weighted:
            notes.append(f"{MADE_WITH_WEIGHTS} {COMPARE_WITH_AUDIT}")
        elif self.since is None:
            notes.append(
                "Training rows flatter: the rules were fitted to them, and on other rows some do worse although "
                f"nothing has changed. To watch for change, compare with an earlier audit on other rows {SINCE}: if "
                f"nothing has changed since, at most {100 * FALSE_ALARMS:g} of 100 audits find a line that moved."
            )
        return tuple(notes)

    def __str__(self) -> str:
        moved = self.moved
        rest = np.flatnonzero(self.verdicts != MOVED)[: max(SHOWN_RULES - len(moved), 0)]
        others = [self[place] for place in rest.tolist()]
        n_more = len(self) - len(moved) - len(others)
        more = [f"… and {count_of(n_more, 'more line')}: see to_frame()."] if n_more else []
        limits = [LIMITS] if self.n_tested and not moved else []
        return "\n".join([self.summary, *self.notes, *limits, *map(str, moved), *map(str, others), *more])

    def __repr__(self) -> str:
        return f"<LineAudits: {self.summary}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LineAudits):
            return NotImplemented
        same = np.array_equal(self.counts, other.counts) and np.array_equal(self.squares, other.squares)
        if self.moments is not None and other.moments is not None:
            same = same and np.array_equal(self.moments, other.moments, equal_nan=True)
        return same and (self.rules is other.rules or self.rules == other.rules) and self.since == other.since

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is arrays

    _repr_html_ = written_by("html:audits_to_html")


def check_since(rules: Rules, since: Any) -> LineAudits | None:
    """Take the audits of lines out of an earlier audit, which must be of the same rules."""
    if since is None:
        return None
    earlier = getattr(since, "per_line", since)
    if not isinstance(earlier, LineAudits):
        raise InputError(f"Expected since as an earlier audit of these rules, found {type(since).__name__}.")
    then = earlier.rules
    same = then is rules or (
        (then.layout is None) == (rules.layout is None)
        and np.array_equal(then.class_ids, rules.class_ids)
        and np.array_equal(then.leaves, rules.leaves)
        and np.array_equal(then.deleted, rules.deleted)
        and then.tree == rules.tree
    )
    if not same:
        raise InputError("The earlier audit is of other rules: audit these rules on the earlier rows, and pass that.")
    return replace(earlier, since=None, struck=None)  # not what that one was compared with


def find_limits_of_d(rules: Rules) -> statistics.Limits:
    """Find the limits of D, the training reliability of each leaf's rule minus its leaf's, at 95 %; NaN if not known.

    Sums of weights do not tell how many rows there are, and with fewer than 5 rows the interval is too short.
    """
    if rules.is_weighted or not rules.is_ranked:
        return np.full(len(rules), np.nan), np.full(len(rules), np.nan)
    places = np.arange(len(rules)), rules.paths.leaf_class
    leaf, gained = rules.leaf_support, rules.covered_support - rules.leaf_support
    covered = rules.covered_counts[places], rules.covered_support
    is_known = (leaf > 0) & ((gained == 0) | (np.minimum(leaf, gained) >= statistics.LEAST_ROWS_OF_D))
    limits = statistics.compare_nested(*covered, rules.leaf_counts[places], leaf)
    low, high = (np.where(is_known, limit, np.nan) for limit in limits)
    return low, high


def _count(number: float, effective: float | None) -> str:
    """Write a number of rows; with weights, whose effective number is another or not known, their sum."""
    if effective is not None and math.isclose(number, effective, rel_tol=1e-9):
        return count_of(number, "row")
    return count_rows(number, "", is_weighted=True)
