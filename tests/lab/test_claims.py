"""The pages about the paper: written from the stored results, and what they say of its claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import regression_peers, unseen_rows
from benchmarks.paper import ensembles, figures
from benchmarks.paper.claims import CLAIMS, Finding, count_verdicts, read_verdict
from benchmarks.paper.documents import PAGES, fill_page, make_blocks, make_index_blocks
from benchmarks.paper.evidence import Evidence
from benchmarks.paper.figures import FIGURES
from benchmarks.paper.open_points import OPEN_POINTS, count_nearest
from benchmarks.paper.readings import LEAF_TIES, SINGLE_CONDITIONS
from benchmarks.paper.stored import load_study
from benchmarks.paper.verdicts import CONTRADICTED, SUPPORTED, UNDECIDED
from secateur.lab.protocol import ARMS, DATASETS

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
        "regression.md": regression_peers.make_blocks(),
        "audit.md": unseen_rows.make_blocks(),
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
        ("MacroDev 0.98 / 0.99", "undecided"),
        ("MacroDev below one", "undecided"),  # the same rule for a number and a bound
        ("rule conflict below 3 %", "stand-in undecided; CART supported"),
        ("M1-D matches the Izza", "undecided"),
        ("approximately 944 times faster", "undecided"),
        ("do not depend on the number of rows", "without rows supported; with rows contradicted"),
        ("M1-P shortens 72.66", "supported"),
        ("non-nested", "supported"),
        ("persist even in modern optimal", "supported"),
    ],
)
def test_what_our_data_bear_out_is_said_and_what_they_do_not(text: str, verdict: str, evidence: Evidence) -> None:
    assert verdict_on(text, evidence) == verdict


def test_a_verdict_names_the_part_that_differs_and_is_counted_by_learner() -> None:
    good, open_, other = (
        Finding("CART", "1", SUPPORTED),
        Finding("stand-in", "2", UNDECIDED),
        Finding("STreeD", "3", CONTRADICTED),
    )
    assert read_verdict([good, good]) == "supported"
    assert read_verdict([open_, good]) == "stand-in undecided; CART supported"
    counted = count_verdicts([good, open_, other, good])
    assert (counted["CART"][SUPPORTED], counted["stand-in"][UNDECIDED], counted[""][CONTRADICTED]) == (2, 1, 1)


def test_the_worst_split_stands_beside_a_mean_that_hides_it(evidence: Evidence) -> None:
    (claim,) = [claim for claim in CLAIMS if "MacroDev below one" in claim.text]
    worst = {dataset: evidence.values("optimal", dataset, "M1-P", "macro_dev_pp").max() for dataset in DATASETS}
    assert (
        f"worst split {max(worst.values()):.1f} ({max(worst, key=lambda d: worst[d])})" in claim.check(evidence)[0].ours
    )


@pytest.mark.long
def test_the_tolerance_of_the_tables_is_the_nearest_in_both_arms() -> None:
    found = {arm: count_nearest(ARMS[arm], load_study("splits", arm)) for arm in ARMS}
    assert found == {"cart": len(DATASETS), "optimal": len(DATASETS)}
    assert count_nearest(ARMS["cart"], load_study("splits", "cart"), in_points=True) == len(DATASETS) - 1  # german: 0


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


def test_the_sibling_figure_deletes_a_matched_link_of_the_leaf_that_the_paper_names() -> None:
    rule = figures.sibling_rule()
    assert (rule.leaf_id, rule.deleted_ids, rule.kept_ids) == (3, (2,), (3,))
    assert figures.sibling_rises(2)
    assert not figures.sibling_rises(4)
    assert figures.draw_tree(figures.sibling_tree(), rule).count(", deleted") == 1


def test_claims_come_from_every_part_of_the_results() -> None:
    places = {place for claim in CLAIMS for place in claim.place.split(", ")}
    assert places == {"Abstract", "4.4", "5.1", "5.2", "5.3", "5.3.1", "5.3.2", "5.3.3", "6", "7", "B"}
