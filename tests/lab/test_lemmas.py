"""The paper's two lemmas about a split of two classes, on class counts drawn at random."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from secateur.lab.exhibits import find_entropy
from secateur.tree.builder import TreeBuilder
from secateur.tree.paths import trace_paths

# (class 1, class 0) of each child; neither is empty.
CHILD = st.tuples(st.integers(0, 400), st.integers(0, 400)).filter(lambda counts: sum(counts) > 0)


def share(counts: tuple[int, int], class_id: int = 1) -> Fraction:
    return Fraction(counts[1 - class_id], sum(counts))


def add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


@given(CHILD, CHILD)
@example((0, 1), (1, 0))
@example((3, 3), (5, 5))
def test_lemma_1_if_a_class_rises_on_one_side_it_falls_on_the_other(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    parent = share(add(one, other))
    assert (share(one) > parent) == (share(other) < parent)
    assert (share(one) == parent) == (share(other) == parent)


@given(CHILD, CHILD)
@example((9, 1), (61, 29))  # the paper's table: higher, and in its last row lower
@example((63, 7), (7, 23))
@example((8, 0), (2, 4))  # s = p: equal
@example((1, 0), (0, 1))
def test_lemma_2_entropy_of_the_sibling_falls_exactly_when_its_other_share_is_above_the_parents(
    rising: tuple[int, int], sibling: tuple[int, int]
) -> None:
    parent = add(rising, sibling)
    p, q, s = share(parent), share(rising), share(sibling, class_id=0)
    assume(p > Fraction(1, 2))
    assume(q > p)
    ours, above, beside = (find_entropy(*counts) for counts in (parent, rising, sibling))
    assert above < ours
    assert s > 1 - p  # lemma 1; so the two cases below, and equality, are all
    if s == p:
        assert beside == pytest.approx(ours, abs=1e-12)
    else:
        assert (beside < ours) == (s > p)
        assert (beside > ours) == (1 - p < s < p)


@given(CHILD, CHILD)
def test_links_of_a_tree_are_oriented_as_lemma_1_says(one: tuple[int, int], other: tuple[int, int]) -> None:
    builder = TreeBuilder(classes=[0, 1], feature_names=["x"])
    root = builder.split("x", 0)
    builder.leaf([one[1], one[0]], parent=root, side="left")
    builder.leaf([other[1], other[0]], parent=root, side="right")
    shares = trace_paths(builder.build()).share
    assert shares is not None
    rises, falls = shares[1, 1] - shares[0, 1], shares[2, 1] - shares[0, 1]
    assert rises * falls < 0 or abs(rises) < 1e-12 > abs(falls)
