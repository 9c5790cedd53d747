"""The checker's own proof of monotonicity rejects what is not true, also of columns that facts tie together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from forged_rules import forge
from told_trees import with_facts

import secateur
from secateur import Tree, TreeBuilder
from secateur.methods import Why
from secateur.tree.facts import Claim, Facts, Group, Implication, Order
from secateur.tree.regions import Region

NOT_MONOTONE = "The tree is not monotone in the stated signs: leaf"
ABOVE_ZERO = Region(low=0.0)
GRADES = ("low", "middle", "high")


def find_faults(tree: Tree, signs: Sequence[int], deleted: Sequence[int] = ()) -> list[str]:
    """Check rules without some links that are said to go by monotonicity; the words of the domain do not matter."""
    rules = secateur.simplify(tree, method="none", each_leaf=True)
    gone = np.isin(rules.paths.links, deleted)
    deletions = replace(rules.deletions, deleted=gone, why=np.where(gone, Why.MONOTONE, Why.UNTOUCHED))
    claimed = {"rf_tol": 1e-12, "monotone": list(signs), "certificate": "all rows"}
    nan = np.full_like(rules.covered_counts, np.nan)
    forged = forge(rules, method="mismatch-certified", parameters=claimed, deletions=deletions, covered_counts=nan)
    return [fault for fault in forged.verify().failures if "said to hold on another domain" not in fault]


def split_once(*, rises: bool, by_grade: bool = False) -> Tree:
    """A tree that asks one column, a number or a grade; whether its second class is on the larger side."""
    builder = TreeBuilder(["no", "yes"], ["a", "b", "grade"], categories={"grade": GRADES}, dtype="float64")
    root = builder.split_categories("grade", ["low"]) if by_grade else builder.split("a", 1)
    for side, is_second in (("left", not rises), ("right", rises)):
        builder.leaf([1, 2] if is_second else [2, 1], parent=root, side=side)
    return builder.build()


TIES: dict[str, tuple[bool, Facts]] = {
    "alone": (False, Facts()),
    "tied to a number": (
        False,
        Facts(implications=(Implication(Claim(1, ABOVE_ZERO, "b > 0"), Claim(0, ABOVE_ZERO, "a > 0")),)),
    ),
    "tied to a grade": (
        False,
        Facts(
            implications=(
                Implication(Claim(2, Region(codes=frozenset({2})), "grade = high"), Claim(0, ABOVE_ZERO, "a > 0")),
            )
        ),
    ),
    "an ordered grade": (True, Facts(orders=(Order(2, (0, 1, 2), "low < middle < high"),))),
    "an ordered grade that is tied": (
        True,
        Facts(
            implications=(
                Implication(Claim(2, Region(codes=frozenset({1, 2})), "grade > low"), Claim(0, ABOVE_ZERO, "a > 0")),
            ),
            orders=(Order(2, (0, 1, 2), "low < middle < high"),),
        ),
    ),
}


@pytest.mark.parametrize("case", TIES)
@pytest.mark.parametrize("sign", [1, -1])
def test_only_the_sign_by_which_the_tree_rises_is_taken(case: str, sign: int) -> None:
    by_grade, facts = TIES[case]
    signs = [0, 0, sign] if by_grade else [sign, 0, 0]
    assert find_faults(with_facts(split_once(rises=sign > 0, by_grade=by_grade), facts), signs) == []
    (fault,) = find_faults(with_facts(split_once(rises=sign < 0, by_grade=by_grade), facts), signs)
    assert NOT_MONOTONE in fault


@pytest.mark.parametrize("is_known", [True, False])
def test_a_fall_that_no_possible_row_takes_is_none(is_known: bool) -> None:
    builder = TreeBuilder(["no", "yes"], ["a", "b"])
    root = builder.split("b", 0)
    builder.leaf([2, 1], parent=root, side="right")
    below = builder.split("a", 0, parent=root, side="left")
    builder.leaf([1, 2], parent=below, side="left")
    builder.leaf([2, 1], parent=below, side="right")  # falls, unless no row is here
    fact = Implication(Claim(0, ABOVE_ZERO, "a > 0"), Claim(1, ABOVE_ZERO, "b > 0"))
    tree = with_facts(builder.build(), Facts(implications=(fact,) if is_known else ()))
    faults = find_faults(tree, [1, 0])
    assert faults == [] if is_known else NOT_MONOTONE in faults[0]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_group_rises_only_between_rows_that_can_be(sign: int) -> None:
    """Of two columns of a group at most one is 1: to raise one, the other must fall, which its sign forbids."""
    group = Facts(groups=(Group("g", (0, 1), ("a", "b")),))
    builder = TreeBuilder(["no", "yes"], ["a", "b"])
    root = builder.split("a", 0.5)
    builder.leaf([1, 2], parent=root, side="right")
    below = builder.split("b", 0.5, parent=root, side="left")
    builder.leaf([2, 1], parent=below, side="left")
    builder.leaf([2, 1], parent=below, side="right")
    tree = with_facts(builder.build(), group)
    assert bool(find_faults(tree, [sign, sign])) == (sign < 0)


@pytest.mark.parametrize("missing", [True, False])
def test_a_missing_value_cannot_be_moved_into_a_rule(missing: bool) -> None:
    builder = TreeBuilder(["no", "yes"], ["a"], accepts_missing=missing)
    root = builder.split("a", 5)
    first = builder.leaf([1, 2], parent=root, side="left")
    known = builder.split("a", math.inf if missing else 9, parent=root, side="right")
    builder.leaf([1, 2], parent=known, side="left")
    builder.leaf([2, 1] if missing else [1, 2], parent=known, side="right")
    assert find_faults(builder.build(), [1]) == []
    # Larger numbers have the class of the first leaf; what is missing has not.
    assert bool(find_faults(builder.build(), [1], [first])) == missing


@pytest.mark.parametrize("class_id", [0, 1])
def test_only_a_condition_that_cuts_off_what_favours_the_class_goes(class_id: int) -> None:
    """The middle of a number, between two leaves that both have its class or not: one end of it may go."""
    builder = TreeBuilder(["no", "yes"], ["a"])
    root = builder.split("a", 0)
    builder.leaf([2, 1], parent=root, side="left")
    rest = builder.split("a", 1, parent=root, side="right")
    middle = builder.leaf([2, 1] if class_id == 0 else [1, 2], parent=rest, side="left")
    builder.leaf([1, 2], parent=rest, side="right")
    tree = builder.build()
    assert bool(find_faults(tree, [1], [middle])) == (class_id == 0)
    assert bool(find_faults(tree, [1], [rest])) == (class_id == 1)
