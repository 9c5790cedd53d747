"""The pages about the paper: written from the stored results, and what they say of its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.lab import claims, ensembles, exhibits
from secateur.lab.claims import CLAIMS, Finding, read_verdict
from secateur.lab.documents import FIGURES, PAGES, fill_page, make_blocks, make_index_blocks
from secateur.lab.evidence import Evidence, Measured
from secateur.lab.open_points import OPEN_POINTS
from secateur.lab.readings import LEAF_TIES, SINGLE_CONDITIONS, shorten_by_quinlan

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return Evidence()


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_stored_results_give(name: str, evidence: Evidence) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](evidence)


@pytest.mark.long
def test_the_numbers_of_the_pages_are_the_stored_ones(evidence: Evidence) -> None:
    filled = {
        "reproduction.md": make_blocks(evidence),
        "index.md": make_index_blocks(),
        "approximate.md": ensembles.make_blocks(),
    }
    for name, blocks in filled.items():
        text = (DOCS / name).read_text(encoding="utf-8")
        assert fill_page(text, blocks) == text


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_what_is_drawn(name: str) -> None:
    assert (DOCS / "figures" / name).read_text(encoding="utf-8") == FIGURES[name]()


def test_a_mark_without_a_block_is_an_error() -> None:
    text = "before\n<!-- one: begin -->\nold\n<!-- one: end -->\nafter\n"
    assert fill_page(text, {"one": "new\n"}) == text.replace("old", "new")
    with pytest.raises(ValueError, match=r"blocks without marks: \['two'\]"):
        fill_page(text, {"one": "new", "two": "2"})


def verdict_on(text: str, evidence: Evidence) -> str:
    (claim,) = [claim for claim in CLAIMS if text in claim.text]
    return read_verdict(claim.check(evidence))


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("while keeping aggregate MacroDev below one", "holds for CART; does not hold for stand-in"),
        ("rule conflict below 3 %", "holds for CART; does not hold for stand-in"),
        ("both on backache", "does not hold"),
        ("for each learner", "does not hold"),
        ("At 128 leaves, M1-P requires", "cannot be checked"),
        ("M1-P shortens 72.66 %", "holds"),
        ("non-nested", "holds"),
    ],
)
def test_what_our_data_bear_out_is_said_and_what_they_do_not(text: str, verdict: str, evidence: Evidence) -> None:
    assert verdict_on(text, evidence) == verdict


def test_a_verdict_names_the_arm_that_fails() -> None:
    good, bad, unknown = Finding("CART", "1", True), Finding("stand-in", "2", False), Finding("", "3", None)
    assert read_verdict([good, good]) == "holds"
    assert read_verdict([bad]) == "does not hold"
    assert read_verdict([bad, good]) == "holds for CART; does not hold for stand-in"
    assert read_verdict([unknown]) == "cannot be checked"


def test_a_number_is_near_within_three_standard_errors_or_to_the_last_digit() -> None:
    assert Measured(10, 1).is_near(13)
    assert not Measured(10, 1).is_near(13.1)
    assert Measured(0.004, 0).is_near(0)
    assert not Measured(0.006, 0).is_near(0)
    ratio = Measured(8, 0.8) / Measured(4, 0.4)
    assert (ratio.value, ratio.error) == (2, pytest.approx(2 * np.hypot(0.1, 0.1)))
    gap = Measured(8, 3) - Measured(4, 4)
    assert (gap.value, gap.error) == (4, 5)


def test_the_tables_hold_as_many_numbers_as_the_page_says(evidence: Evidence) -> None:
    for arm, near in {"cart": 286, "optimal": 285}.items():
        cells = evidence.cells(arm)
        assert len(cells) == 288
        assert sum(abs(cell.distance) <= 3 for cell in cells) == near
        assert evidence.count_varying(arm) == 175


def test_our_readings_are_nearer_than_single_conditions_and_about_as_near_as_ties_to_the_leaf(
    evidence: Evidence,
) -> None:
    for fits in evidence.fits.values():
        assert fits["Izza"].rms < fits[SINGLE_CONDITIONS].rms
        assert abs(fits["Quinlan"].rms - fits[LEAF_TIES].rms) < 0.25


def test_every_claim_and_every_open_point_is_told_once() -> None:
    told = [(claim.place, claim.text) for claim in CLAIMS]
    assert len(set(told)) == len(told)
    questions = [point.question for point in OPEN_POINTS]
    assert len(set(questions)) == len(questions)


def rules_by_quinlan() -> tuple[secateur.Rules, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    return secateur.simplify(model, X, y, method="quinlan", each_leaf=True), X, y


def test_quinlan_in_plain_steps_with_ties_to_the_root_is_our_method() -> None:
    rules, X, y = rules_by_quinlan()
    plain = shorten_by_quinlan(rules, X, y, ties="root")
    assert plain.deletions.deleted.tolist() == rules.deletions.deleted.tolist()
    assert np.array_equal(plain.covered_counts, rules.covered_counts)


@pytest.mark.parametrize(("ties", "kept"), [("root", (4,)), ("leaf", (2,))])
def test_of_two_conditions_that_select_the_same_rows_the_ties_say_which_goes(ties: str, kept: tuple[int, ...]) -> None:
    builder = secateur.TreeBuilder(classes=[0, 1], feature_names=["a", "b"])
    root = builder.split("a", 0)
    builder.leaf([5, 0], parent=root, side="left")
    inner = builder.split("b", 0, parent=root, side="right")
    builder.leaf([1, 0], parent=inner, side="left")  # no row below reaches it
    builder.leaf([0, 5], parent=inner, side="right")
    X, y = np.repeat([[-1.0, -1.0], [1.0, 1.0]], 5, axis=0), np.repeat([0, 1], 5)
    rules = shorten_by_quinlan(
        secateur.simplify(builder.build(), X, y, method="quinlan", each_leaf=True), X, y, ties=ties
    )
    assert [rule.kept_ids for rule in rules] == [(1,), (2, 3), kept]
    assert rules[2].support == 5


def test_the_sibling_figure_deletes_a_matched_link_of_the_leaf_that_the_paper_names() -> None:
    rule = exhibits.sibling_rule()
    assert (rule.leaf_id, rule.deleted_ids, rule.kept_ids) == (3, (2,), (3,))
    assert exhibits.sibling_rises(2)
    assert not exhibits.sibling_rises(4)
    assert exhibits.draw_tree(exhibits.sibling_tree(), rule).count(", deleted") == 1


def test_claims_come_from_every_part_of_the_results() -> None:
    assert {claim.place for claim in CLAIMS} == {
        *(claims.SETTING, claims.TABLES_D, claims.SIMPLE, claims.FIDELITY, claims.SCALE, claims.SUMMARY),
        *(claims.DISCUSSION, claims.END, claims.APPENDIX, claims.COST),
    }
