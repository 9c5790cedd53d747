"""`mismatch-certified`: the paper's M1-D, all mismatched conditions of a rule or none.

The complete set Q of mismatched links must pass one joint certificate:

- finite domain: every listed row that satisfies the rule without Q has the rule's class. A rule that no listed row
  satisfies has nothing to show and keeps everything;
- monotone: the user states for each feature whether larger values favour the second class (+1), the first (-1) or
  neither (0). The tree must be monotone in these signs, which is decided for all possible rows; otherwise nothing is
  deleted and two rows are shown. On each feature the conditions in Q, intersected, must restrict only in the direction
  unfavourable to the rule's class: any row that satisfies the rest can then be moved against its class into the whole
  rule, and monotonicity carries the class back (theorem "joint monotone weakening"). NaN is not ordered, so a condition
  that keeps NaN out is never certified this way.

Deciding monotonicity walks the tree once for each leaf of the second class; the rest is linear in all paths together.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.masks import mask_blocks, pack_bits, rows_of_rule, unpack_bits
from secateur.counting.training_evidence import RowEvidence
from secateur.errors import InputError, ParameterError, did_you_mean, shorten
from secateur.facts.checking import check_facts
from secateur.facts.possible_rows import find_ranks
from secateur.methods.contract import Asks, Deletions, Method, Problem, Why, amount
from secateur.methods.monotonicity import decide_monotonicity, describe_contradiction, find_contradiction
from secateur.rows.checking import check_labels, check_rows
from secateur.rows.encoding import find_texts
from secateur.rows.opening import open_rows
from secateur.rows.row_source import GivenRows, ModelTerms
from secateur.tree.facts import NO_FACTS
from secateur.tree.paths import DEFAULT_RF_TOL, Paths
from secateur.tree.tree import Tree

SHOWN_LEVELS = 5
CLIPPED = (
    "The model's class shares were clipped to keep it monotone, so which way a condition points was read from clipped "
    "shares, not from class counts: pass the training rows."
)


def _first_foreign_rows(paths: Paths, domain: RowEvidence, rules: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the first listed row of another class that each rule covers without its mismatched conditions."""
    first = np.full(paths.n_rules, -1, dtype=np.int64)
    for span, masks in mask_blocks(domain.tree, domain.rows):
        foreign = pack_bits(domain.class_ids[span] != np.arange(domain.tree.n_classes)[:, None])
        for rule in rules[first[rules] < 0].tolist():
            found = rows_of_rule(paths, paths.mismatched, rule, masks) & foreign[paths.leaf_class[rule]]
            if found.any():
                first[rule] = span.start + unpack_bits(found, span.stop - span.start).argmax()
    return first


def _is_pair(domain: Any) -> bool:
    return isinstance(domain, (tuple, list)) and len(domain) == 2


def _list_cases(tree: Tree, domain: Any) -> RowEvidence:
    """Check the cases that a caller lists, with their labels."""
    if not _is_pair(domain):
        raise ParameterError("Expected domain as a pair (rows, labels) that lists every case.")
    X, y = _hold_cases(tree, domain)
    rows = check_rows(tree, X, name="domain")
    check_facts(tree, rows, name="domain")
    return RowEvidence(tree, rows, check_labels(tree, y, rows.n_rows, name="domain labels"), None)


def _hold_cases(tree: Tree, domain: Any) -> tuple[Any, Any]:
    """Bring listed cases of any kind into memory."""
    with open_rows(*domain, find_texts=partial(find_texts, tree, domain[1])) as rows:
        return rows.hold(lambda: ModelTerms.of(tree), "Listed cases are checked one by one").given[:2]


def _check_signs(tree: Tree, monotone: Any) -> list[int] | None:
    """List one sign for each feature, in column order; None if there are none."""
    if monotone is None:
        return None
    if tree.n_classes != 2:
        raise ParameterError(
            f"Monotone signs order two classes, but this tree has {tree.n_classes}. Pass a domain instead."
        )
    if hasattr(monotone, "items"):
        names = [tree.feature_name(feature) for feature in range(tree.n_features)]
        strange = [name for name in monotone if name not in names]
        if strange:
            hint = did_you_mean(strange[0], names) or f" The columns are {shorten(names)}."
            raise ParameterError(f"monotone names {strange[0]!r}, which is not a column of the tree.{hint}")
        monotone = [monotone.get(name, 0) for name in names]
    listed = list(monotone) if hasattr(monotone, "__iter__") else monotone
    known: dict[Any, int] = {-1: -1, 0: 0, 1: 1}
    signs = [known.get(s) if np.isscalar(s) else None for s in listed] if isinstance(listed, list) else []
    if len(signs) != tree.n_features or None in signs:
        raise ParameterError(
            f"Expected monotone as one sign of -1, 0 or +1 for each of the {tree.n_features} columns, found {listed!r}."
        )
    fitted = [0] * tree.n_features if tree.monotone is None else tree.monotone.tolist()
    against = next((f for f, sign in enumerate(signs) if sign is not None and sign * fitted[f] < 0), None)
    if against is not None:
        raise ParameterError(
            f"monotone says {signs[against]:+d} for {tree.feature_name(against)!r}, but the tree was fitted with "
            f"{fitted[against]:+d}."
        )
    return [sign for sign in signs if sign is not None]


def _check_orders(tree: Tree, signs: list[int]) -> None:
    """Reject a sign for categories that have no order: it would say nothing, and seem to."""
    for feature, sign in enumerate(signs):
        levels = tree.categories[feature]
        if sign and levels is not None and find_ranks(tree, feature) is None:
            name = tree.feature_name(feature)
            example = " < ".join([str(level) for level in levels[:SHOWN_LEVELS]] + ["…"] * (len(levels) > SHOWN_LEVELS))
            raise ParameterError(
                f"monotone says {sign:+d} for {name!r}, whose categories have no order: state it with a fact such as "
                f"'{name} is ordered: {example}', smallest first, or leave the sign out."
            )


def _check_consistent(tree: Tree, listed: RowEvidence) -> None:
    """Reject a domain that gives equal rows different labels."""
    if tree.columns is not None:
        return  # rows behind a pipeline are read only as far as the tree asks, so different rows may look equal
    sizes = np.array([np.inf if levels is None else len(levels) for levels in tree.categories])
    # Unlisted categories share one code but need not be equal, so rows that hold one are not compared.
    matrix = listed.rows.matrix
    known = np.flatnonzero(~(matrix >= sizes).any(axis=1))
    _, group = np.unique(np.nan_to_num(matrix[known], nan=np.inf), axis=0, return_inverse=True)
    labels, group = listed.class_ids[known], group.ravel()
    order = np.lexsort((labels, group))
    clash = np.flatnonzero((np.diff(group[order]) == 0) & (np.diff(labels[order]) != 0))
    if len(clash):
        one, other = sorted(known[order[clash[0] : clash[0] + 2]].tolist())
        raise InputError(
            f"The domain contradicts itself: rows {one} and {other} are equal but have different labels. "
            "A deterministic table gives equal rows one label: pass domain=(rows, labels) without such rows, or use "
            "the method 'mismatch'."
        )


@dataclass(frozen=True)
class MismatchCertified(Method):
    """M1-D, certified by listed cases or by stated signs."""

    domain: Any = None
    monotone: Any = None
    rf_tol: float = amount(DEFAULT_RF_TOL)

    name = "mismatch-certified"
    aliases = ("M1-D",)
    strictness = 50
    gives = frozenset(
        {Why.FINITE_DOMAIN, Why.MONOTONE, Why.UNTOUCHED, Why.MATCHED, Why.NEUTRAL, Why.NO_ROWS}
        | {Why.DOMAIN_REFUTES, Why.DIRECTION_REFUTES}
    )
    summary = "deletes all conditions that point away from the rule's class, if one joint certificate holds"
    preserves = "the class, on a certified domain"
    guarantee = (
        "Every rule that was shortened implies its class on the certified domain ({certificate}); nothing is claimed "
        "beyond that domain."
    )
    source = "Hong, Lee, Sim & Hwang (M1-D)"

    def asks_of(self, tree: Tree) -> Asks:
        """Ask for single rows where there is nothing else to certify by."""
        is_stated = self.domain is not None or self.monotone is not None or tree.monotone is not None
        return Asks.NOTHING if is_stated else Asks.ROWS

    def read_once(self, tree: Tree) -> Method:
        """Convert the cases of a domain once."""
        if not _is_pair(self.domain):
            return self  # rejected later, where something is to be certified by it
        X, y = _hold_cases(tree, self.domain)
        return replace(self, domain=(check_rows(tree, X, name="domain").convert(), y))

    @property
    def listed_cases(self) -> GivenRows | None:
        """The domain, as the caller passed it."""
        return GivenRows(self.domain[0], self.domain[1], None) if _is_pair(self.domain) else None

    def prepare(self, problem: Problem) -> Method:
        """Settle which certificate to use."""
        tree, domain, monotone = problem.tree, self.domain, self.monotone
        if domain is not None and monotone is not None:
            raise ParameterError("Pass a domain or monotone signs for mismatch-certified, not both.")
        signs = _check_signs(tree, monotone if monotone is not None or domain is not None else tree.monotone)
        if signs is not None:
            _check_orders(tree if problem.walked is None else replace(tree, facts=NO_FACTS), signs)
            monotonicity = decide_monotonicity(problem, signs)
            monotonicity.refute("the stated signs" if monotone is not None else "the signs it was fitted with")
            return _BySigns(None, signs, self.rf_tol, monotonicity)
        if domain is None and problem.evidence is None:
            raise InputError(
                "The method 'mismatch-certified' needs something to certify by: pass training rows, a domain, or "
                "monotone signs."
            )
        # Weights are ignored: the certificate must hold for each listed row.
        listed = replace(problem.listed_rows, weights=None) if domain is None else _list_cases(tree, domain)
        _check_consistent(tree, listed)
        return _ByCases(domain, None, self.rf_tol, listed)

    def open_conditions(self, problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Leave every mismatched link open."""
        return np.zeros_like(problem.paths.mismatched), problem.paths.mismatched

    def delete(self, problem: Problem) -> Deletions:
        """Delete the complete mismatched set of every rule whose certificate holds."""
        result = Deletions.keep_by_sign(problem.paths)
        self._certify(problem, result)
        return result

    def _certify(self, problem: Problem, result: Deletions) -> None:
        raise RuntimeError("mismatch-certified was not prepared")


def _name_contradiction(problem: Problem, signs: list[int], rows: RowEvidence, words: str) -> tuple[str, ...]:
    found = find_contradiction(problem.tree, signs, rows)
    return () if found is None else (describe_contradiction(problem.tree, found, words, rows.n_rows),)


@dataclass(frozen=True)
class _BySigns(MismatchCertified):
    """Certified by monotone signs, one for each column."""

    monotonicity: Any = None

    def describe(self) -> dict[str, Any]:
        rows = self.monotonicity.describe_rows()
        certificate = f"{rows}, for which the tree was proved to be monotone in the stated signs"
        return {"rf_tol": self.rf_tol, "monotone": self.monotone, "certificate": certificate}

    def remark(self, problem: Problem) -> tuple[str, ...]:
        """Name training rows in memory that contradict the signs; without rows, say whose shares are looked at."""
        rows = problem.evidence
        clipped = () if problem.tree.counts is None or problem.tree.has_own_counts else (CLIPPED,)
        return _name_contradiction(problem, self.monotone, rows, "Rows") if isinstance(rows, RowEvidence) else clipped

    def _certify(self, problem: Problem, result: Deletions) -> None:
        paths = problem.paths
        for rule in np.unique(paths.rule[paths.mismatched]).tolist():
            span = paths.entries(rule)
            tried = np.flatnonzero(paths.mismatched[span]) + span.start
            refuting = self.monotonicity.find_refuting_link(rule, tried)
            if refuting >= 0:
                result.keep(tried, Why.DIRECTION_REFUTES)
                result.node[tried] = refuting
            else:
                result.delete(tried, Why.MONOTONE)


@dataclass(frozen=True)
class _ByCases(MismatchCertified):
    """Certified by listed cases: the training rows, or a domain."""

    listed: Any = None

    def describe(self) -> dict[str, Any]:
        domain = "training rows" if self.domain is None else "listed cases"
        return {"rf_tol": self.rf_tol, "domain": domain, "certificate": f"the {self.listed.n_rows} listed rows"}

    def remark(self, problem: Problem) -> tuple[str, ...]:
        """Name listed cases that contradict the signs that the tree was fitted with."""
        signs = problem.tree.monotone
        if signs is None or problem.tree.n_classes != 2:
            return ()
        return _name_contradiction(problem, signs.tolist(), self.listed, "Listed rows")

    def _certify(self, problem: Problem, result: Deletions) -> None:
        paths, tried = problem.paths, problem.paths.mismatched
        violations = self.listed.count_violations(paths, tried)
        covered, own = violations.counts.sum(axis=1), violations.counts[np.arange(paths.n_rules), paths.leaf_class]
        has_rows = violations.leaf_counts.sum(axis=1) > 0
        refuted = has_rows & (own < covered)
        result.keep(tried & ~has_rows[paths.rule], Why.NO_ROWS)
        certified = tried & (has_rows & ~refuted)[paths.rule]
        result.delete(certified, Why.FINITE_DOMAIN)
        result.after[certified] = covered[paths.rule[certified]]
        against = tried & refuted[paths.rule]
        result.keep(against, Why.DOMAIN_REFUTES)
        rules = paths.rule[against]
        result.node[against] = _first_foreign_rows(paths, self.listed, np.unique(rules))[rules]


METHODS = (MismatchCertified(),)
