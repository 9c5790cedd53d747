"""Exactness under facts, judged by trying every kind of possible row."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import strategies
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

import secateur
from secateur import ParameterError, RuleSet, Tree
from secateur.tree.contract import check_tree
from secateur.tree.facts import NO_FACTS, Claim, Facts, Group, Implication
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
def told_trees(draw: st.DrawFn) -> Tree:
    """Trees with facts about their columns."""
    tree = draw(strategies.trees(n_features=draw(st.integers(2, 4)), max_leaves=9, min_leaves=2))
    numeric = [feature for feature in range(tree.n_features) if tree.categories[feature] is None]
    chosen = draw(st.permutations(numeric))
    size = draw(st.sampled_from([0, 0, *range(2, len(numeric) + 1)]))
    groups = (Group("g", tuple(chosen[:size]), tuple(f"L{k}" for k in range(size))),) if size else ()
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


def with_facts(tree: Tree, facts: Facts) -> Tree:
    """A checked tree that knows the facts."""
    told = replace(tree, facts=facts)
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
    """Whether a row keeps to all facts."""
    for group in facts.groups:
        values = [row[feature] for feature in group.features]
        if any(value not in (0, 1) for value in values) or sum(values) > 1:
            return False
    whole = all(math.isnan(row[feature]) or row[feature] == math.floor(row[feature]) for feature in facts.integers)
    for feature, _ in facts.decimals:
        tenth = float(kind_of(tree)(round(row[feature], 1))) if not math.isnan(row[feature]) else math.nan
        whole = whole and (math.isnan(tenth) or tenth == row[feature])
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


def split_table(tree: Tree, rows: list[Row]) -> dict[int, list[bool]]:
    """For each link whether each row satisfies it."""
    table: dict[int, list[bool]] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        left = [oracles.goes_left(tree, node, row[tree.feature[node]]) for row in rows]
        table[int(tree.children_left[node])] = left
        table[int(tree.children_right[node])] = [not goes for goes in left]
    return table


def delete_by_trying(tree: Tree, possible: list[Row]) -> dict[int, list[int]]:
    """What `exact` must delete: root to leaf, whatever lets in no possible row of another class."""
    table = {link: np.array(held, dtype=bool) for link, held in split_table(tree, possible).items()}
    classes = np.array([oracles.tree_class(tree, row) for row in possible])
    deletion = {}
    for leaf in oracles.leaves(tree):
        path, gone = oracles.path(tree, leaf), []
        for link in path:
            rest = [other for other in path if other not in (*gone, link)]
            covered = np.logical_and.reduce([table[other] for other in rest]) if rest else np.ones(len(possible), bool)
            if (classes[covered] == tree.leaf_class[leaf]).all():
                gone.append(link)
        deletion[leaf] = gone
    return deletion


def simplified(tree: Tree, method: str = "exact", **how: Any) -> RuleSet | None:
    """The rules; None if the facts contradict one another."""
    try:
        return secateur.simplify(tree, method=method, **how)
    except ParameterError as error:
        note(str(error))
        return None


@given(told_trees())
@settings(max_examples=60, deadline=None)
def test_exact_deletes_what_trying_every_possible_row_allows(tree: Tree) -> None:
    rows = all_rows(tree)
    possible = [row for row in rows if is_possible(tree, tree.facts, row)]
    rules = simplified(tree)
    if rules is None:
        assert not possible
        return
    assert possible
    assert {rule.leaf_id: list(rule.deleted_ids) for rule in rules} == delete_by_trying(tree, possible)


@given(told_trees(), st.data(), st.sampled_from([0.0, 0.1, 0.25, 1.0]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_faithful_deletes_what_trying_every_possible_row_allows(
    tree: Tree, data: st.DataObject, tolerance: float, protect: bool
) -> None:
    possible = [row for row in all_rows(tree) if is_possible(tree, tree.facts, row)]
    assume(possible)
    rows = data.draw(st.lists(st.sampled_from(possible), min_size=1, max_size=25))
    labels = data.draw(strategies.lists_of(st.integers(0, tree.n_classes - 1), len(rows)))
    table = {link: np.array(held, dtype=bool) for link, held in split_table(tree, possible).items()}
    classes = np.array([oracles.tree_class(tree, row) for row in possible])

    def implies(_: Tree, links: list[int], class_id: int) -> bool:
        covered = np.logical_and.reduce([np.ones(len(possible), bool), *(table[link] for link in links)])
        return bool((classes[covered] == class_id).all())

    X, y = np.array(rows, dtype=np.float64), np.array(labels)
    settings = {"tolerance": tolerance, "protect": protect}
    rules = secateur.simplify(tree, X, tree.classes[y], method="faithful", **settings)
    expected = oracles.delete_faithful(tree, X, y, None, implies=implies, **settings)
    assert {rule.leaf_id: list(rule.deleted_ids) for rule in rules} == expected
    assert rules.verify()


@given(strategies.trees(n_features=1, categorical=False, min_leaves=4, max_leaves=9))
@settings(max_examples=100, deadline=None)
def test_whole_numbers_are_all_that_an_integer_column_holds(tree: Tree) -> None:
    told = with_facts(tree, Facts(integers=(0,)))
    rules = secateur.simplify(told, method="exact")
    assert {rule.leaf_id: list(rule.deleted_ids) for rule in rules} == delete_by_trying(told, all_rows(told))
    assert rules.verify()


@given(told_trees(), st.sampled_from(["exact", "redundancy"]))
@settings(max_examples=100, deadline=None)
def test_possible_rows_get_one_answer_and_the_verifier_agrees(tree: Tree, method: str) -> None:
    rules = simplified(tree, method)
    assume(rules is not None)
    assert rules is not None
    possible = [row for row in all_rows(tree) if is_possible(tree, tree.facts, row)]
    assume(possible)  # facts that no row can keep to leave nothing to ask about
    X = np.array(possible, dtype=np.float64)
    answers = np.array([oracles.tree_class(tree, row) for row in possible])
    covered = rules.covers(X)
    for rule in rules:
        assert (answers[covered[:, rule.index]] == tree.leaf_class[rule.leaf_id]).all()
    assert rules.verify()
    again = secateur.RuleSet.from_json(rules.to_json())
    assert again == rules
    assert again.tree == rules.tree
    assert again.verify()


@given(told_trees(), st.data())
@settings(max_examples=150, deadline=None)
def test_the_verifier_refutes_one_deletion_too_many(tree: Tree, data: st.DataObject) -> None:
    rules = simplified(tree)
    assume(rules is not None)
    assert rules is not None
    kept = np.flatnonzero(~rules.deleted)
    assume(len(kept))
    entry = data.draw(st.sampled_from(kept.tolist()))
    possible = [row for row in all_rows(tree) if is_possible(tree, tree.facts, row)]
    rule, link = int(rules.paths.rule[entry]), int(rules.paths.links[entry])
    left = [other for other in rules[rule].kept_ids if other != link]
    wrong = any(
        oracles.satisfies(tree, row, left) and oracles.tree_class(tree, row) != tree.leaf_class[rules[rule].leaf_id]
        for row in possible
    )
    assert wrong, "exact leaves nothing that could go"
    deletions = replace(rules.deletions, deleted=rules.deleted.copy(), why=rules.deletions.why.copy())
    deletions.delete(entry, secateur.methods.Why.NO_FOREIGN_LEAF)
    assert not replace(rules, deletions=deletions).verify()


@given(told_trees())
@settings(max_examples=100, deadline=None)
def test_a_witness_is_a_possible_row(tree: Tree) -> None:
    rules = simplified(tree)
    assume(rules is not None)
    assert rules is not None
    possible = [row for row in all_rows(tree) if is_possible(tree, tree.facts, row)]
    for rule in rules:
        for reason in rule.reasons.values():
            if reason.witness_point is None:
                continue
            point = reason.witness_point
            fixed = {f: value_of(tree, f, point[name]) for f in range(tree.n_features) if (name := f"x{f}") in point}
            # Columns that the point leaves out may hold anything that is possible beside it.
            rest = [f for f in range(tree.n_features) if f not in fixed]
            whole = [
                row
                for row in ({**fixed, **dict(zip(rest, values, strict=True))} for values in values_of(tree, rest))
                if is_possible(tree, tree.facts, tuple(row[f] for f in range(tree.n_features)))
            ]
            others = [link for link in rule.kept_ids if link != reason.link_id]
            assert any(
                oracles.walk(tree, full) == reason.witness_leaf and oracles.satisfies(tree, full, others)
                for full in (tuple(row[f] for f in range(tree.n_features)) for row in whole)
            )
    assert possible


def values_of(tree: Tree, features: list[int]) -> list[Row]:
    """All combinations of values of some columns."""
    return list(itertools.product(*(cell_values(tree, feature) for feature in features)))


def value_of(tree: Tree, feature: int, value: Any) -> float:
    """A witness's value as a row holds it."""
    if value is None:
        return math.nan
    levels = tree.categories[feature]
    if levels is None:
        return float(value)
    return float(levels.index(value)) if value in levels else float(len(levels))


@given(told_trees())
@settings(max_examples=100, deadline=None)
def test_the_facts_that_a_rule_rests_on_suffice_and_each_is_needed(tree: Tree) -> None:
    rules = simplified(tree)
    assume(rules is not None)
    assert rules is not None
    rows = all_rows(tree)
    stated: dict[str, Any] = {str(fact): fact for fact in (*tree.facts.implications, *tree.facts.claims)}
    stated |= {str(group): group for group in tree.facts.groups}
    stated |= {f"x{feature} is a whole number": feature for feature in tree.facts.integers}
    stated |= {f"x{feature} has at most 1 decimal": feature for feature, _ in tree.facts.decimals}
    assume(len(stated) == sum(len(listed) for listed in vars_of(tree.facts)))
    for rule in rules:
        grounds = rules.facts_used.of_rule(rule.index)
        assert implies(tree, rule, rows, only(tree.facts, [stated[words] for words in grounds]))
        for words in grounds:
            others = [stated[other] for other in grounds if other != words]
            speaks_of_group = any(claim.subject >= tree.n_features for claim in claims_in(others))
            if not (isinstance(stated[words], Group) and speaks_of_group):
                assert not implies(tree, rule, rows, only(tree.facts, others))


def vars_of(facts: Facts) -> list[tuple[Any, ...]]:
    return [facts.integers, facts.decimals, facts.claims, facts.groups, facts.implications]


def claims_in(facts: list[Any]) -> list[Claim]:
    pairs = [(fact.premise, fact.conclusion) for fact in facts if isinstance(fact, Implication)]
    return [*(fact for fact in facts if isinstance(fact, Claim)), *(claim for pair in pairs for claim in pair)]


def only(facts: Facts, wanted: list[Any]) -> Facts:
    """Some of the facts."""
    return Facts(
        integers=tuple(f for f in facts.integers if any(fact is f for fact in wanted if isinstance(fact, int))),
        decimals=tuple(pair for pair in facts.decimals if pair[0] in [f for f in wanted if isinstance(f, int)]),
        claims=tuple(claim for claim in facts.claims if claim in wanted),
        groups=tuple(group for group in facts.groups if group in wanted),
        implications=tuple(known for known in facts.implications if known in wanted),
    )


def implies(tree: Tree, rule: Any, rows: list[Row], facts: Facts) -> bool:
    """Whether a rule covers no row of another class that keeps to some facts."""
    free = replace(tree, facts=facts)
    tried = all_rows(free) if facts != tree.facts else rows
    return not any(
        is_possible(free, facts, row)
        and oracles.satisfies(tree, row, rule.kept_ids)
        and oracles.tree_class(tree, row) != tree.leaf_class[rule.leaf_id]
        for row in tried
    )


@given(told_trees())
@settings(max_examples=50, deadline=None)
def test_opting_out_deletes_what_a_tree_without_facts_deletes(tree: Tree) -> None:
    plain = secateur.simplify(replace(tree, facts=NO_FACTS), method="exact")
    opted = secateur.simplify(tree, method="exact", domain_knowledge=False)
    assert opted.deleted.tolist() == plain.deleted.tolist()
    assert not opted.facts_used.used
    assert opted.verify()
