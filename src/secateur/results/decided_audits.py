"""Audit each line of compact rules on new rows: whether the share of its class, of what it decides, is what it was.

The lines are the rules as they are printed, and "otherwise" after them; every row counts for one of them. The test is
that of :mod:`secateur.results.per_rule`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError
from secateur.results.per_rule import RuleAudits
from secateur.tree.shares import divide_or_nan, none_if_nan
from secateur.words.conditions import count_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.compact_rules import CompactRules

__all__ = ["DecidedAudits", "check_since_compact"]

MADE_FROM_ANSWERS = (
    "The rules approximate a model and were made from its answers, so how often they were right then is not known."
)


class DecidedAudits(RuleAudits):
    """A sequence of :class:`RuleAudit` of the rows that each compact rule, and at the end "otherwise", decides.

    Made by :meth:`CompactRules.audit`. What is said of training rows is about those that the rule decided, too; D is
    not known.

    Parameters
    ----------
    rules : CompactRules
    counts : ndarray of float64, shape (n_rules + 1, n_classes)
        (Weighted) audited rows of each class that each rule, and at the end "otherwise", decides.
    squares : ndarray of float64, shape (n_rules + 1,)
        Sums of the squared weights of these rows.
    since : DecidedAudits, default=None
        What to compare with; by default the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:400], y[:400])
    >>> rules = secateur.compact(model, X[:400], y[:400], class_names=["malignant", "benign"])
    >>> found = rules.audit(X[400:], y[400:]).per_rule
    >>> [(one.verdict, int(one.support)) for one in found]
    [('moved', 49), ('moved', 5), ('still holds', 115)]
    """

    rules: CompactRules  # type: ignore[assignment]

    def __init__(
        self,
        rules: CompactRules,
        counts: NDArray[np.float64],
        squares: NDArray[np.float64],
        since: DecidedAudits | None = None,
    ) -> None:
        super().__init__(rules, counts, squares, since)  # type: ignore[arg-type]

    @cached_property
    def class_ids(self) -> NDArray[np.int64]:
        """Class of each rule, and of "otherwise"."""
        return np.append(self.rules.class_ids, self.rules.otherwise_id)

    @property
    def _class_ids(self) -> NDArray[np.int64]:
        return self.class_ids

    @cached_property
    def reliability(self) -> NDArray[np.float64]:
        """Share of the decided rows in the class of each rule; NaN without rows."""
        return self._share(self.counts)

    @cached_property
    def before(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same in what it is compared with, and the effective rows; NaN and 0 where there are none."""
        if self.since is not None:
            return self.since.reliability, self.since.n_effective
        counts = self._training
        n_rows = np.nan_to_num(counts.sum(axis=1))
        return self._share(counts), np.zeros(len(self)) if self.is_weighted else n_rows

    @cached_property
    def d(self) -> NDArray[np.float64]:
        """Not known: rows that a rule decides are not those of one leaf."""
        return np.full(len(self), np.nan)

    @cached_property
    def d_interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Not known either."""
        return self.d, self.d

    @property
    def is_ranked(self) -> bool:
        """Whether the labels of the rows that each rule decides in training are known."""
        return not bool(np.isnan(self._training[:-1]).any())

    @property
    def _why_unranked(self) -> str:
        return super()._why_unranked if self.rules.fidelity is None else MADE_FROM_ANSWERS

    @property
    def is_weighted(self) -> bool:
        """Whether the rules were made with weights."""
        return self.rules.rules.is_weighted

    @cached_property
    def _training(self) -> NDArray[np.float64]:
        """What each line decided in training; unknown of rules that approximate a model, which saw no labels."""
        counts = self.rules.decided_counts
        return counts if self.rules.fidelity is None else np.full_like(counts, np.nan)

    def _share(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return divide_or_nan(counts[np.arange(len(counts)), self.class_ids], counts.sum(axis=1))

    def _describe(self, place: int) -> dict[str, Any]:
        rules = self.rules
        named: dict[str, Any] = {
            "training_support": none_if_nan(self._training[place].sum()),
            "training_reliability": none_if_nan(self._share(self._training)[place]),
        }
        if place < len(rules):
            rule = rules[place]
            return {**{name: getattr(rule, name) for name in ("leaf_id", "prediction", "class_name", "text")}, **named}
        text = f"otherwise => {rules.otherwise_name}"
        own = {"leaf_id": -1, "prediction": rules.otherwise, "class_name": rules.otherwise_name, "text": text}
        return {**own, **named}

    def _count_lines(self) -> str:
        return f"{count_of(len(self), 'line')} ({count_of(len(self.rules), 'rule')} and “otherwise”)"

    def __repr__(self) -> str:
        return f"<DecidedAudits: {self.summary}>"


def check_since_compact(rules: CompactRules, since: Any) -> DecidedAudits | None:
    """Take the audits of lines out of an earlier audit, which must be of the same compact rules."""
    if since is None:
        return None
    earlier = getattr(since, "per_rule", since)
    if not isinstance(earlier, DecidedAudits):
        raise InputError(f"Expected since as an earlier audit of these compact rules, found {type(since).__name__}.")
    then = earlier.rules
    same = then is rules or (
        np.array_equal(then.chosen, rules.chosen)
        and np.array_equal(then.rules.deleted, rules.rules.deleted)
        and then.otherwise_id == rules.otherwise_id
        and then.tree == rules.tree
    )
    if not same:
        raise InputError("The earlier audit is of other rules: audit these rules on the earlier rows, and pass that.")
    return DecidedAudits(then, earlier.counts, earlier.squares)  # not what that one was compared with
