"""Trees with facts about their columns, and every kind of row that the facts allow, by slow and obvious means."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import strategies
from hypothesis import assume
from hypothesis import strategies as st

from secateur import Tree
from secateur.facts.groups import label_columns
from secateur.tree.contract import check_tree
from secateur.tree.facts import Claim, Facts, Group, Implication, Order, word_facts
from secateur.tree.regions import Region, domain_of

Row = tuple[float, ...]
ENDS = (-1.0, 0.0, 0.5, 1.0, 2.0, 1 / 3)


def kind_of(tree: Tree) -> Any:
    """The tree's dtype as a function."""
    return np.dtype(tree.dtype).type


@st.composite
def claims(draw: st.DrawFn, tree: Tree, groups: tuple[Group, ...], *, for_all: bool) -> Claim:
    """What one column or group is said to hold."""
    subject = draw(st.integers(0, tree.n_features + len(groups) - 1))
    if subject >= tree.n_features:
        domain = Region(codes=frozenset(range(len(groups[subject - tree.n_features].labels) + 1)))
    else:
        domain = domain_of(tree, subject)
    missing = domain.missing and draw(st.booleans())
    if domain.codes is not None:
        codes = draw(st.sets(st.sampled_from(sorted(domain.codes)), min_size=1))
        return Claim(subject, Region(codes=frozenset(codes), missing=missing), f"claim {subject} {sorted(codes)}")
    if missing and not for_all and draw(st.integers(0, 4)) == 0:
        return Claim(subject, Region(low=math.inf, missing=True), f"claim {subject} is missing")
    low, high = (draw(st.sampled_from((-math.inf, *ENDS))), draw(st.sampled_from((*ENDS, math.inf))))
    low, high = (float(kind_of(tree)(end)) for end in (low, high))
    assume(low < high)
    return Claim(subject, Region(low, high, missing=missing), f"claim {low} < {subject} <= {high}")


@st.composite
def told_trees(
    draw: st.DrawFn, *, n_features: int | None = None, n_classes: int | None = None, min_leaves: int = 2
) -> Tree:
    """Trees with facts about their columns."""
    n_features = draw(st.integers(2, 4)) if n_features is None else n_features
    tree = draw(strategies.trees(n_features=n_features, max_leaves=9, min_leaves=min_leaves, n_classes=n_classes))
    numeric = [feature for feature in range(tree.n_features) if tree.categories[feature] is None]
    chosen = draw(st.permutations(numeric))
    size = draw(st.sampled_from([0, 0, *range(2, len(numeric) + 1)]))
    names = [tree.feature_name(feature) for feature in chosen[:size]]
    groups = (Group("g", tuple(chosen[:size]), tuple(label_columns("g", names))),) if size else ()
    grids = {feature: draw(st.sampled_from((None, None, 0, 1))) for feature in chosen[size:]}
    return with_facts(
        tree,
        Facts(
            integers=tuple(sorted(feature for feature, n_decimals in grids.items() if n_decimals == 0)),
            decimals=tuple(sorted((feature, 1) for feature, n_decimals in grids.items() if n_decimals == 1)),
            claims=tuple(draw(st.lists(claims(tree, groups, for_all=True), max_size=2))),
            groups=groups,
            implications=tuple(
                Implication(first, second)
                for first, second in draw(
                    st.lists(
                        st.tuples(claims(tree, groups, for_all=False), claims(tree, groups, for_all=False)), max_size=2
                    )
                )
                if first.subject != second.subject
            ),
        ),
    )


@st.composite
def ordered_trees(draw: st.DrawFn, trees: st.SearchStrategy[Tree]) -> Tree:
    """Trees of which some categorical columns are ordered, in whole or in part."""
    tree = draw(trees)
    orders = []
    for feature, levels in enumerate(tree.categories):
        if levels is not None and len(levels) > 1 and draw(st.booleans()):
            codes = draw(st.permutations(range(len(levels))))[: draw(st.integers(2, len(levels)))]
            orders.append(
                Order(feature, tuple(codes), f"x{feature} is ordered: {' < '.join(levels[c] for c in codes)}")
            )
    return with_facts(tree, replace(tree.facts, orders=tuple(orders)))


def with_facts(tree: Tree, facts: Facts) -> Tree:
    """A checked tree that knows the facts."""
    told = replace(tree, facts=word_facts(tree, facts))
    check_tree(told)
    return told


# --- every kind of possible row ---------------------------------------------------------------------------------------


def cell_values(tree: Tree, feature: int) -> list[float]:
    """One value, or a few, for each piece that splits and facts cut a column into; NaN where the tree takes it."""
    missing = [math.nan] if tree.accepts_missing[feature] else []
    levels = tree.categories[feature]
    if levels is not None:
        return [*map(float, range(len(levels) + 1)), *missing]
    facts = tree.facts
    if feature in facts.group_of:
        return [0.0, 1.0]
    told = [*facts.claims, *(c for known in facts.implications for c in (known.premise, known.conclusion))]
    ends = {end for claim in told if claim.subject == feature for end in claim.region[:2]}
    if feature in facts.decimals_of:
        ends |= {float(threshold) for threshold in tree.threshold[tree.feature == feature]}
        steps = [float(k) for k in range(-4, 6)] if feature in facts.integers else tenths(tree)
        return [*outermost(steps, ends), *missing]
    ends |= {float(limit) for limit in tree.upper[tree.feature == feature]}
    finite = sorted(end for end in ends if math.isfinite(end))
    above = [float(np.nextafter(kind_of(tree)(end), kind_of(tree)(np.inf))) for end in finite]
    return [*sorted({*finite, *above, -100.0, 100.0}), *missing]


def tenths(tree: Tree) -> list[float]:
    """Numbers with one decimal on both sides of everything that a strategy draws, as the tree's dtype holds them."""
    return [float(kind_of(tree)(k / 10)) for k in (-50, *range(-11, 32), 50)]


def outermost(values: list[float], ends: set[float]) -> list[float]:
    """The smallest and the largest value of each piece that the ends cut rising values into; the rest are like them."""
    pieces = [list(piece) for _, piece in itertools.groupby(values, lambda value: sum(end < value for end in ends))]
    return [value for piece in pieces for value in dict.fromkeys((piece[0], piece[-1]))]


def holds(tree: Tree, facts: Facts, claim: Claim, row: Row) -> bool:
    """Whether a claim holds for a row."""
    if claim.subject >= tree.n_features:
        group = facts.groups[claim.subject - tree.n_features]
        ones = [k for k, feature in enumerate(group.features) if row[feature] == 1]
        return (ones[0] if ones else len(group.features)) in (claim.region.codes or ())
    value = row[claim.subject]
    if math.isnan(value):
        return claim.region.missing
    if claim.region.codes is not None:
        return int(value) in claim.region.codes
    return claim.region.low < value <= claim.region.high


def is_possible(tree: Tree, facts: Facts, row: Row) -> bool:
    """Whether a row satisfies all facts."""
    for group in facts.groups:
        values = [row[feature] for feature in group.features]
        if any(value not in (0, 1) for value in values) or sum(values) > 1:
            return False
    whole = all(math.isnan(row[feature]) or row[feature] == math.floor(row[feature]) for feature in facts.integers)
    for feature, n_decimals in facts.decimals:
        value = row[feature]
        whole = whole and (math.isnan(value) or float(kind_of(tree)(round(value, n_decimals))) == value)
    return (
        whole
        and all(holds(tree, facts, claim, row) for claim in facts.claims)
        and all(
            not holds(tree, facts, known.premise, row) or holds(tree, facts, known.conclusion, row)
            for known in facts.implications
        )
    )


def all_rows(tree: Tree) -> list[Row]:
    """A row of every kind, possible or not."""
    return list(itertools.product(*(cell_values(tree, feature) for feature in range(tree.n_features))))
