"""`mismatch-certified`: the paper's M1-D, all mismatched conditions of a rule or none.

The complete set Q of mismatched links must pass one joint certificate:

- finite domain: every listed row that satisfies the rule without Q has the rule's class. A rule that no listed row
  satisfies has nothing to show and keeps everything;
- monotone: the user states for each feature whether larger values favour the second class (+1), the first (-1) or
  neither (0). On each feature the conditions in Q, intersected, must restrict only in the direction unfavourable to the
  rule's class: any row that satisfies the rest can then be moved against its class into the whole rule (theorem "joint
  monotone weakening"). NaN is not ordered, so a condition that keeps NaN out is never certified this way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from secateur.coverage import mask_blocks, rows_of_rule
from secateur.masks import pack_bits, unpack_bits
from secateur.methods.contract import Deletions, Method, Problem, Why
from secateur.regions import Region, domain_of, region_of_link, regions_of_links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.annotation import Annotation
    from secateur.row_evidence import RowEvidence

__all__ = ["METHOD", "find_refuting_link"]


def delete(problem: Problem) -> Deletions:
    """Delete the complete mismatched set of every rule whose certificate holds."""
    notes = problem.notes
    result = Deletions.keep_all(notes, Why.UNTOUCHED)
    result.number[:] = notes.shift
    result.keep(notes.matched, Why.MATCHED)
    result.keep(~notes.matched & ~notes.mismatched, Why.NEUTRAL)
    if problem.domain is not None:
        _certify_by_domain(notes, problem.domain, result)
        return result
    for rule in np.unique(notes.rule[notes.mismatched]).tolist():
        span = notes.entries(rule)
        _certify_by_direction(problem, result, rule, np.flatnonzero(notes.mismatched[span]) + span.start)
    return result


def _certify_by_domain(notes: Annotation, domain: RowEvidence, result: Deletions) -> None:
    tried = notes.mismatched
    tally = domain.tally(notes, tried)
    covered, own = tally.counts.sum(axis=1), tally.counts[np.arange(notes.n_rules), notes.leaf_class]
    has_rows = tally.leaf_counts.sum(axis=1) > 0
    refuted = has_rows & (own < covered)
    result.keep(tried & ~has_rows[notes.rule], Why.NO_ROWS)
    certified = tried & (has_rows & ~refuted)[notes.rule]
    result.delete(certified, Why.FINITE_DOMAIN)
    result.after[certified] = covered[notes.rule[certified]]
    against = tried & refuted[notes.rule]
    result.keep(against, Why.DOMAIN_REFUTES)
    result.node[against] = _first_foreign_rows(notes, domain, np.unique(notes.rule[against]))[notes.rule[against]]


def _first_foreign_rows(notes: Annotation, domain: RowEvidence, rules: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first listed row of another class that each of some rules covers without its mismatched conditions."""
    first = np.full(notes.n_rules, -1, dtype=np.int64)
    for span, masks in mask_blocks(domain.tree, domain.rows):
        foreign = pack_bits(domain.class_ids[span] != np.arange(domain.tree.n_classes)[:, None])
        for rule in rules[first[rules] < 0].tolist():
            found = rows_of_rule(notes, notes.mismatched, rule, masks) & foreign[notes.leaf_class[rule]]
            if found.any():
                first[rule] = span.start + unpack_bits(found, span.stop - span.start).argmax()
    return first


def _certify_by_direction(
    problem: Problem, result: Deletions, rule: int, tried: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> None:
    refuting = find_refuting_link(problem, rule, problem.notes.links[tried].tolist())
    if refuting >= 0:
        result.keep(tried, Why.DIRECTION_REFUTES)
        result.node[tried] = refuting
    else:
        result.delete(tried, Why.MONOTONE)


def find_refuting_link(problem: Problem, rule: int, chosen: Sequence[int]) -> int:
    """A link in the chosen set that the stated monotonicity does not cover; -1 when it covers the whole set."""
    tree, notes = problem.tree, problem.notes
    whole = regions_of_links(tree, notes, notes.links[notes.entries(rule)].tolist())
    if any(region.is_empty for region in whole.values()):
        return int(chosen[0])  # no row reaches this leaf, so there is no row to move to
    for feature, region in regions_of_links(tree, notes, chosen).items():
        if not whole[feature].has_listed_value:
            return int(chosen[0])  # only NaN reaches this leaf, and NaN is not ordered
        favour = int(problem.parameters["monotone"][feature]) * (1 if notes.leaf_class[rule] == 1 else -1)
        if not _restricts_against(region, favour, domain_of(tree, feature)):
            return next(
                link
                for link in chosen
                if tree.feature[notes.parent[link]] == feature
                and not _restricts_against(region_of_link(tree, notes, link), favour, domain_of(tree, feature))
            )
    return -1


def _restricts_against(region: Region, favour: int, domain: Region) -> bool:
    """Whether the region only cuts off values that favour the class."""
    if region.codes is not None or (domain.missing and not region.missing):
        return False
    cuts_low, cuts_high = region.low > -math.inf, region.high < math.inf
    return not (cuts_low and favour >= 0) and not (cuts_high and favour <= 0)


METHOD = Method(
    name="mismatch-certified",
    aliases=("M1-D",),
    summary="deletes all conditions that point away from the rule's class, if one joint certificate holds",
    preserves="the class, on a certified domain",
    guarantee=(
        "Every rule that was shortened implies its class on the certified domain ({certificate}); nothing is claimed "
        "beyond that domain."
    ),
    source="Hong, Lee, Sim & Hwang (M1-D)",
    needs_rows=False,
    is_exact=False,
    witness=None,
    parameters=("domain", "monotone", "rf_tol"),
    delete=delete,
)
