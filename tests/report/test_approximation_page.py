"""The page of rules that approximate a model."""

from __future__ import annotations

import re

import numpy as np
import pytest

import secateur
from secateur.report import summarize
from secateur.report.page import _unbroken
from secateur.results.answer import describe_rows
from secateur.results.statistics import round_outwards


@pytest.fixture(scope="module")
def rules() -> secateur.Rules:
    X = np.random.default_rng(0).normal(size=(300, 3))

    def bend(rows: np.ndarray) -> np.ndarray:
        return np.where((rows[:, 0] > 0) & (rows[:, 1] > 0), "yes", "no")

    return secateur.approximate(bend, X, bend(X), fidelity=0.9)


def test_the_page_counts_held_out_rows_and_agreement(rules: secateur.Rules) -> None:
    summary = summarize(rules)
    assert rules.fidelity is not None
    lines = summary["lists"][summary["list"]]["lines"]
    assert [line["rows"] for line in lines] == [one.n_rows for one in rules.fidelity.by_rule]
    assert [line["hits"] for line in lines] == [one.n_same for one in rules.fidelity.by_rule]
    for line, one in zip(lines, rules.fidelity.by_rule, strict=True):
        if line["limits"] is not None and one.interval is not None:
            assert line["limits"][0] <= one.interval[0] <= one.interval[1] <= line["limits"][1]
    assert summary["fidelity"]["share"] == 100 * rules.fidelity.share
    assert summary["answer"]["predicted"].startswith("These rules approximate the function bend")
    assert summary["title"] == "Rules that approximate the function bend"


def test_the_page_never_says_that_no_answer_changes(rules: secateur.Rules) -> None:
    page = rules.to_html()
    assert "no answer changes" not in page
    assert "Same answer as the model" in page
    assert "held-out rows, the model says the same for" in page
    assert rules.fidelity is not None
    low, high = (100 * limit for limit in round_outwards(rules.fidelity.interval))
    assert f"95&nbsp;% interval {low:.1f} to {high:.1f}&nbsp;%" in page
    said = re.findall(r'<td class="decides">.*?<span>(.*?)</span>', page)
    assert [re.sub("<.*?>", "", one) for one in said] == [_unbroken(describe_rows(line)) for line in rules.lines]
    assert "They are not the model." in page


def test_the_page_of_stored_rules_says_the_same(rules: secateur.Rules) -> None:
    stored = secateur.Rules.from_json(rules.to_json())
    assert summarize(stored)["fidelity"] == summarize(rules)["fidelity"]


def test_the_page_of_a_tree_has_no_fidelity() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    root = builder.split("age", 30)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    assert summarize(secateur.simplify(builder.build()))["fidelity"] is None
