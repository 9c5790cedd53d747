"""Words of facts are made from their numbers: read again, they say the same."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import told_trees
from hypothesis import assume, given, settings

from secateur.errors import FormatError
from secateur.facts.stating import parse_facts, state_facts
from secateur.tree.builder import TreeBuilder
from secateur.tree.facts import NO_FACTS, Claim, Facts, word_facts
from secateur.tree.regions import Region
from secateur.tree.tree import Tree


def small_tree() -> Tree:
    builder = TreeBuilder(
        classes=["no", "yes"], feature_names=["age", "a < b", "city"], categories={"city": ["Oslo", "Rome", "a, b"]}
    )
    root = builder.split("age", 30)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    return builder.build()


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("90 >= age", "age <= 90"),
        ("age < 18", "age < 18"),
        ("age > 17.5", "age > 17.5"),
        ("18.0 <= age < 9e1", "18 <= age < 90"),
        ("age >= 0", "age >= 0"),
        ("0.1 <= age <= 0.30", "0.1 <= age <= 0.3"),
        ("age == 7", "age = 7"),
        ("`a < b` <= 3", "`a < b` <= 3"),
        ("city != Rome", "city != Rome"),
        ("city in {Rome, Oslo}", "city in {Oslo, Rome}"),
        ("city not in {Oslo, 'a, b'}", 'city not in {Oslo, "a, b"}'),
        ("city = Rome implies age > 1", "city = Rome => age > 1"),
    ],
)
def test_a_fact_reads_as_its_numbers_say(sentence: str, words: str) -> None:
    facts = state_facts(small_tree(), None, facts=[sentence]).facts
    assert [str(one) for one in (*facts.claims, *facts.implications)] == [words]


@settings(max_examples=80, deadline=None)
@given(told_trees.told_trees())
def test_words_read_again_say_the_same(tree: Tree) -> None:
    facts = tree.facts
    assert word_facts(tree, facts) == facts
    # A bound of every row leaves missing values open, and only "is not missing" excludes them.
    told = [claim for claim in facts.claims if claim.region.missing or claim.text.endswith(" is not missing")]
    told = [claim for claim in told if " and is not missing" not in claim.text and " is any value" not in claim.text]
    parts = [claim for known in facts.implications for claim in (known.premise, known.conclusion)]
    assume(told or parts)
    bare = replace(tree, facts=NO_FACTS)
    for claim in told:
        if not claim.text.endswith(("is missing", "is true or false")):
            (again,) = parse_facts(bare, facts.groups, [claim.text]).claims
            assert (again.subject, again.region) == (claim.subject, claim.region)
    for known in facts.implications:
        if not any(part.text.endswith(" is any value or missing") for part in (known.premise, known.conclusion)):
            (back,) = parse_facts(bare, facts.groups, [str(known)]).implications
            assert back.premise.region == known.premise.region
            assert back.conclusion.region == known.conclusion.region


@pytest.mark.parametrize("text", ["age <= 150", "Approved.", "age <= 90 ", ""])
def test_other_words_than_those_of_the_numbers_are_rejected(text: str) -> None:
    content = json.loads(state_facts(small_tree(), None, facts=["age <= 90"]).to_json())
    assert content["facts"]["claims"][0]["text"] == "age <= 90"
    content["facts"]["claims"][0]["text"] = text
    with pytest.raises(FormatError, match=r"a fact says '.*', but its numbers say 'age <= 90'; it was edited\.$"):
        Tree.from_json(json.dumps(content))


def test_a_bound_that_also_excludes_missing_values_says_so() -> None:
    facts = word_facts(small_tree(), Facts(claims=(Claim(0, Region(high=90.0), ""),)))
    assert [str(claim) for claim in facts.claims] == ["age <= 90 and is not missing"]


def test_a_field_that_no_tree_has_is_rejected() -> None:
    content = {**json.loads(small_tree().to_json()), "approved": True}
    with pytest.raises(FormatError, match="The tree JSON has a field 'approved' that no version of it has"):
        Tree.from_json(json.dumps(content))
