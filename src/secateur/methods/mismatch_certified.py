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

from secateur.masks import unpack_bits
from secateur.methods.contract import Deletions, Method, Problem, Why
from secateur.regions import Region, domain_of, region_of_link, regions_of_links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secateur.evidence import Evidence

__all__ = ["METHOD", "find_refuting_link"]


def delete(problem: Problem) -> Deletions:
    """Delete the complete mismatched set of every rule whose certificate holds."""
    notes = problem.notes
    result = Deletions.keep_all(notes, Why.UNTOUCHED)
    result.number[:] = notes.shift
    result.keep(notes.matched, Why.MATCHED)
    result.keep(~notes.matched & ~notes.mismatched, Why.NEUTRAL)
    for rule in np.unique(notes.rule[notes.mismatched]).tolist():
        span = notes.entries(rule)
        tried = np.flatnonzero(notes.mismatched[span]) + span.start
        if problem.domain is not None:
            _certify_by_domain(problem, problem.domain, result, rule, tried)
        else:
            _certify_by_direction(problem, result, rule, tried)
    return result


def _certify_by_domain(
    problem: Problem, domain: Evidence, result: Deletions, rule: int, tried: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> None:
    notes = problem.notes
    span = notes.entries(rule)
    if not domain.rows(notes.links[span]).any():
        result.keep(tried, Why.NO_ROWS)
        return
    covered = unpack_bits(domain.rows(notes.links[span][~notes.mismatched[span]]), domain.n_rows)
    foreign = np.flatnonzero(covered & (domain.class_ids != notes.leaf_class[rule]))
    if len(foreign):
        result.keep(tried, Why.DOMAIN_REFUTES)
        result.node[tried] = foreign[0]
    else:
        result.delete(tried, Why.FINITE_DOMAIN)
        result.after[tried] = covered.sum()


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
