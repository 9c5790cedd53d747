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

from secateur.counting.bit_masks import pack_bits, unpack_bits
from secateur.counting.coverage import mask_blocks, rows_of_rule
from secateur.methods.contract import Deletions, Method, Problem, Why
from secateur.tree.regions import Region, domain_of, region_of_link, regions_of_links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.counting.row_evidence import RowEvidence
    from secateur.tree.paths import Paths

__all__ = ["METHOD", "find_refuting_link"]


def delete(problem: Problem) -> Deletions:
    """Delete the complete mismatched set of every rule whose certificate holds."""
    paths = problem.paths
    result = Deletions.keep_all(paths, Why.UNTOUCHED)
    result.number[:] = paths.shift
    result.keep(paths.matched, Why.MATCHED)
    result.keep(~paths.matched & ~paths.mismatched, Why.NEUTRAL)
    if problem.domain is not None:
        _certify_by_domain(paths, problem.domain, result)
        return result
    for rule in np.unique(paths.rule[paths.mismatched]).tolist():
        span = paths.entries(rule)
        _certify_by_direction(problem, result, rule, np.flatnonzero(paths.mismatched[span]) + span.start)
    return result


def _certify_by_domain(paths: Paths, domain: RowEvidence, result: Deletions) -> None:
    tried = paths.mismatched
    violations = domain.count_violations(paths, tried)
    covered, own = violations.counts.sum(axis=1), violations.counts[np.arange(paths.n_rules), paths.leaf_class]
    has_rows = violations.leaf_counts.sum(axis=1) > 0
    refuted = has_rows & (own < covered)
    result.keep(tried & ~has_rows[paths.rule], Why.NO_ROWS)
    certified = tried & (has_rows & ~refuted)[paths.rule]
    result.delete(certified, Why.FINITE_DOMAIN)
    result.after[certified] = covered[paths.rule[certified]]
    against = tried & refuted[paths.rule]
    result.keep(against, Why.DOMAIN_REFUTES)
    result.node[against] = _first_foreign_rows(paths, domain, np.unique(paths.rule[against]))[paths.rule[against]]


def _first_foreign_rows(paths: Paths, domain: RowEvidence, rules: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first listed row of another class that each of some rules covers without its mismatched conditions."""
    first = np.full(paths.n_rules, -1, dtype=np.int64)
    for span, masks in mask_blocks(domain.tree, domain.rows):
        foreign = pack_bits(domain.class_ids[span] != np.arange(domain.tree.n_classes)[:, None])
        for rule in rules[first[rules] < 0].tolist():
            found = rows_of_rule(paths, paths.mismatched, rule, masks) & foreign[paths.leaf_class[rule]]
            if found.any():
                first[rule] = span.start + unpack_bits(found, span.stop - span.start).argmax()
    return first


def _certify_by_direction(
    problem: Problem, result: Deletions, rule: int, tried: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> None:
    refuting = find_refuting_link(problem, rule, problem.paths.links[tried].tolist())
    if refuting >= 0:
        result.keep(tried, Why.DIRECTION_REFUTES)
        result.node[tried] = refuting
    else:
        result.delete(tried, Why.MONOTONE)


def find_refuting_link(problem: Problem, rule: int, chosen: Sequence[int]) -> int:
    """A link in the chosen set that the stated monotonicity does not cover; -1 when it covers the whole set."""
    tree, paths = problem.tree, problem.paths
    whole = regions_of_links(tree, paths, paths.links[paths.entries(rule)].tolist())
    if any(region.is_empty for region in whole.values()):
        return int(chosen[0])  # no row reaches this leaf, so there is no row to move to
    for feature, region in regions_of_links(tree, paths, chosen).items():
        if not whole[feature].has_listed_value:
            return int(chosen[0])  # only NaN reaches this leaf, and NaN is not ordered
        favour = int(problem.parameters["monotone"][feature]) * (1 if paths.leaf_class[rule] == 1 else -1)
        if not _restricts_against(region, favour, domain_of(tree, feature)):
            return next(
                link
                for link in chosen
                if tree.feature[paths.parent[link]] == feature
                and not _restricts_against(region_of_link(tree, paths, link), favour, domain_of(tree, feature))
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
