"""Facts travel with their tree, are rejected where they do not fit it, and leave alone what they do not speak of."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import told_trees
from hypothesis import given, settings

from secateur import Tree
from secateur.errors import InvalidTreeError
from secateur.tree.columns import STEPS, ColumnParser
from secateur.tree.contract import check_tree
from secateur.tree.facts import Claim, Facts, Group, Implication, Order, word_facts
from secateur.tree.regions import Region
from secateur.tree.tree import make_tree

PAIR = Group("sex", (0, 1), ("male", "female"))


def patients() -> Tree:
    """A tree over three numbers and a grade of three categories."""
    return make_tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[0.5, math.nan, math.nan],
        leaf_class=[-1, 0, 1],
        classes=["no", "yes"],
        n_features=4,
        categories=[None, None, None, ("low", "middle", "high")],
    )


def implies(subject: int) -> Implication:
    return Implication(Claim(2, Region(low=0.5), "if"), Claim(subject, Region(low=0.5), "then"))


@settings(max_examples=60, deadline=None)
@given(told_trees.ordered_trees(told_trees.told_trees()))
def test_facts_survive_the_round_trip(tree: Tree) -> None:
    back = Tree.from_json(tree.to_json())
    assert back == tree
    assert back.facts == tree.facts


@pytest.mark.parametrize(
    "parser", [ColumnParser("number", "$", True, ",", "."), ColumnParser("date", order="dmy", step="day")]
)
def test_column_parsers_survive_the_round_trip(parser: ColumnParser) -> None:
    tree = replace(patients(), column_parsers=(None, parser, None, ColumnParser("text")))
    check_tree(tree)
    assert Tree.from_json(tree.to_json()).column_parsers == tree.column_parsers


def test_the_steps_of_dates_are_those_of_a_clock() -> None:
    assert {name: timedelta(microseconds=n) for name, n in STEPS.items()} == {
        name: timedelta(**{f"{name}s": 1}) for name in ("day", "minute", "second", "microsecond")
    }


UNFIT: dict[str, tuple[Facts, str]] = {
    "decimals of a feature twice": (Facts(integers=(0,), decimals=((0, 1),)), "about the decimals of one feature"),
    "no decimals": (Facts(decimals=((0, 0),)), "must speak of 1 to"),
    "too many decimals": (Facts(decimals=((0, 400),)), "must speak of 1 to"),
    "decimals of categories": (Facts(integers=(3,)), "about the numbers of feature 3, which is not a numeric"),
    "decimals of nothing": (Facts(integers=(4,)), "about the numbers of feature 4, which is not a numeric"),
    "decimals of feature -1": (Facts(decimals=((-1, 1),)), "about the numbers of feature -1, which is not a numeric"),
    "a feature in two groups": (Facts(groups=(PAIR, Group("g", (1, 2), ("a", "b")))), "a feature is in two groups"),
    "a group of one": (Facts(groups=(Group("g", (0,), ("a",)),)), "the group 'g' needs two columns or more"),
    "a group with a label too few": (Facts(groups=(Group("g", (0, 1), ("a",)),)), "the group 'g' needs two columns"),
    "a group of equal labels": (Facts(groups=(Group("g", (0, 1), ("a", "a")),)), "labels of the group 'g' are not dis"),
    "a claim about nothing": (Facts(claims=(Claim(4, Region(low=0.5), "?"),)), "'\\?' is about a column that does not"),
    "a claim about feature -1": (Facts(claims=(Claim(-1, Region(low=0.5), "?"),)), "is about a column that does not"),
    "numbers of categories": (Facts(claims=(Claim(3, Region(low=0.5), "?"),)), "'\\?' does not fit its column"),
    "categories of a number": (Facts(claims=(Claim(0, Region(codes=frozenset({0})), "?"),)), "does not fit its col"),
    "a category too many": (Facts(claims=(Claim(3, Region(codes=frozenset({4})), "?"),)), "does not fit its column"),
    "a category before all": (Facts(claims=(Claim(3, Region(codes=frozenset({-1})), "?"),)), "does not fit its col"),
    "a label too many": (
        Facts(groups=(PAIR,), claims=(Claim(4, Region(codes=frozenset({3})), "?"),)),
        "does not fit its column",
    ),
    "a claim that leaves nothing": (Facts(claims=(Claim(0, Region(1.0, 1.0), "?"),)), "leaves its column no value"),
    "two orders of one feature": (Facts(orders=(Order(3, (0, 1), "a"), Order(3, (1, 2), "b"))), "two facts order"),
    "an order of numbers": (Facts(orders=(Order(0, (0, 1), "a"),)), "'a' does not fit its column"),
    "an order of nothing": (Facts(orders=(Order(4, (0, 1), "a"),)), "'a' does not fit its column"),
    "an order of feature -1": (Facts(orders=(Order(-1, (0, 1), "a"),)), "'a' does not fit its column"),
    "an order of one": (Facts(orders=(Order(3, (1,), "a"),)), "'a' does not fit its column"),
    "an order of a category twice": (Facts(orders=(Order(3, (1, 1), "a"),)), "'a' does not fit its column"),
    "an order with a category too many": (Facts(orders=(Order(3, (2, 3), "a"),)), "'a' does not fit its column"),
    "an order with a category before all": (Facts(orders=(Order(3, (-1, 0), "a"),)), "'a' does not fit its column"),
    "an implication about one column": (Facts(implications=(implies(2),)), "is about one column alone"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_fact_that_does_not_fit_its_tree_is_rejected(case: str) -> None:
    facts, sentence = UNFIT[case]
    with pytest.raises(InvalidTreeError, match=sentence):
        check_tree(replace(patients(), facts=facts))


def test_facts_at_the_edge_of_what_fits_are_taken() -> None:
    facts = Facts(
        decimals=((2, 1),),
        claims=(Claim(3, Region(codes=frozenset({0, 3})), "grade"), Claim(4, Region(codes=frozenset({0, 2})), "s")),
        groups=(PAIR,),
        implications=(implies(0),),
        orders=(Order(3, (0, 2), "low < high"),),
    )
    taken = told_trees.with_facts(patients(), facts).facts
    assert taken == word_facts(patients(), facts)  # which changes their words alone
    assert (taken.decimals, taken.groups) == (facts.decimals, facts.groups)
    assert [(one.subject, one.region) for one in taken.claims] == [(one.subject, one.region) for one in facts.claims]


@settings(max_examples=60, deadline=None)
@given(told_trees.told_trees())
def test_leaving_out_a_fact_keeps_all_others(tree: Tree) -> None:
    for gone in list_facts(tree.facts):
        fewer = tree.facts.leave_out(gone, tree.n_features)
        if fewer is None:  # other facts speak of the group
            assert isinstance(gone, Group)
            assert any(claim.subject >= tree.n_features for claim in tree.facts.all_claims)
        else:
            check_tree(replace(tree, facts=fewer))
            assert list_facts(fewer) == [fact for fact in list_facts(tree.facts) if fact != gone]


def list_facts(facts: Facts) -> list[Any]:
    return [*facts.claims, *facts.implications, *facts.groups, *facts.decimals_of]


def test_claims_about_a_later_group_follow_it_when_an_earlier_one_goes() -> None:
    other = Group("arm", (2, 3), ("left", "right"))
    about = Claim(5, Region(codes=frozenset({0, 1})), "an arm")
    known = Implication(about, Claim(0, Region(low=0.5), "then"))
    fewer = Facts(groups=(PAIR, other), claims=(about,), implications=(known,)).leave_out(PAIR, 4)
    moved = replace(about, subject=4)
    assert fewer == Facts(groups=(other,), claims=(moved,), implications=(replace(known, premise=moved),))
    assert fewer.leave_out(fewer.implications[0], 4) == Facts(groups=(other,), claims=(moved,))
