"""Whoever reads a rule is told where another class has more of its rows, whatever else is proved of it."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import secateur
from secateur.cli.main import app

MARK = re.compile("; (most|more) of its (unseen )?rows are (ill|well)")


def make_rows(seed: int, n_rows: int = 1_500) -> tuple[pd.DataFrame, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)).round(2), columns=list("abcd"))
    y = np.where(X["a"] + X["b"] * X["c"] + rng.normal(size=n_rows) > 1.2, "ill", "well")
    return X, y


def write_all(rules: secateur.Rules) -> list[str]:
    """The rules as people read them; the lines of a picture are put together."""
    picture = " ".join(re.sub("<[^>]+>", " ", rules.plot().svg).split())
    return [
        rules.to_text(),
        rules.to_text(reasons=True),
        rules.to_markdown(),
        rules.to_latex(),
        rules._repr_html_(),
        picture,
    ]


def is_marked(line: str) -> bool:
    return MARK.search(line) is not None


X, Y = make_rows(0)
BALANCED = DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0).fit(X, Y)


def test_a_list_marks_every_line_that_decides_mostly_rows_of_another_class() -> None:
    n_marked = n_bracketed = 0
    forms: list[dict[str, Any]] = [{}, {"tolerance": 1, "sections": 1}]
    for depth, form in itertools.product((3, 4, 5, 6), forms):
        model = DecisionTreeClassifier(max_depth=depth, class_weight="balanced", random_state=0).fit(X, Y)
        rules = secateur.simplify(model, X, Y, **form)
        text, counts = rules.to_text().splitlines(), rules.decided_counts
        lines = [line for line in text if re.match(r" *\d+\. ", line)]
        assert len(lines) == len(counts)
        for line, own, class_id in zip(lines, counts, rules.class_ids.tolist(), strict=True):
            assert is_marked(line) == bool(own[class_id] < own.max()), line
            n_marked, n_bracketed = n_marked + is_marked(line), n_bracketed + ("it covers" in line)
        for written in write_all(rules):
            assert len(MARK.findall(written)) == sum(map(is_marked, lines))
    assert n_marked > n_bracketed > 0


@pytest.mark.parametrize("method", ["exact", "mismatch", "quinlan", "none"])
def test_rules_of_leaves_are_marked_in_every_text(method: str) -> None:
    rules = secateur.simplify(BALANCED, X, Y, method=method, each_leaf=True)
    own = rules.covered_counts[np.arange(len(rules)), rules.paths.leaf_class]
    rarer = own < rules.covered_counts.max(axis=1)
    assert rarer.any()
    lines = [line for line in rules.to_text().splitlines() if re.match(r" *\d+\. ", line)]
    assert list(map(is_marked, lines)) == rarer.tolist()
    for written in write_all(rules):
        assert len(MARK.findall(written)) == rarer.sum()
    summary = rules.report().summary["rules"]
    assert [rule["is_rarer"] for rule in summary] == rarer.tolist()
    assert len(MARK.findall(rules.report().to_html())) >= rarer.sum()
    winners = rules.apply(X)
    for place in (*np.flatnonzero(rarer[winners])[:2].tolist(), *np.flatnonzero(~rarer[winners])[:2].tolist()):
        told = rules.explain(X.iloc[[place]]).text.splitlines()
        like_it = next(line for line in told if line.startswith("  Rows like it"))
        assert is_marked(like_it) == rarer[winners[place]]


def test_what_the_model_counted_itself_is_not_marked() -> None:
    assert not is_marked(secateur.simplify(BALANCED, method="exact", each_leaf=True).to_text())


def test_an_audit_names_the_lines_that_state_a_rarer_class_now() -> None:
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    for rules in (secateur.simplify(model, X, Y), secateur.simplify(model, X, Y, method="mismatch", each_leaf=True)):
        assert rules.audit(X, Y).per_line.cautions == ()
        few, labels = make_rows(1, 400)
        labels = np.where(few["b"] > 0, "well", labels)
        audit = rules.audit(few, labels).per_line
        found = {one.line for one in audit.rarer}
        own = audit.counts[np.arange(len(audit)), rules.class_ids]
        assert found == set((np.flatnonzero(own < audit.counts.max(axis=1)) + 1).tolist())
        assert found
        (sentence,) = audit.cautions
        assert all(re.search(rf"\b{rule} \(", sentence) for rule in found)


def test_the_command_line_says_that_a_guess_is_right_more_often(tmp_path: Any) -> None:
    table, new = tmp_path / "old.csv", tmp_path / "new.csv"
    X.assign(outcome=Y).to_csv(table, index=False)
    few, labels = make_rows(1, 400)
    few.assign(outcome=np.where(labels == "ill", "well", labels)).assign(
        outcome=lambda rows: np.where(np.arange(len(rows)) < 5, "ill", rows["outcome"])
    ).to_csv(new, index=False)
    rules = tmp_path / "rules.json"
    CliRunner().invoke(app, ["simplify", str(table), "--target", "outcome", "-o", str(rules)])
    found = CliRunner().invoke(app, ["audit", str(rules), str(new), "--target", "outcome"])
    words = " ".join(found.stdout.split())
    assert "Always saying well would be right more often" in words
    assert "rows here do not have" in words


def test_a_row_without_a_column_names_no_leaf_that_depends_on_it() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["a", "b"])
    top = builder.split("a", 0.0)
    inner = builder.split("b", 1.0, parent=top, side="left")
    builder.leaf([30, 0], parent=inner, side="left")
    builder.leaf([8, 2], parent=inner, side="right")
    builder.leaf([1, 20], parent=top, side="right")
    rules = secateur.simplify(builder.build())
    whole, part = rules.explain({"a": -1.0, "b": 0.0}), rules.explain({"a": -1.0})
    assert part.prediction == whole.prediction == "no"
    assert "in leaf" in whole.text
    assert "The tree says no too; in which leaf depends on what is not given: 'b'." in part.text.splitlines()
