"""Sentences say what they mean, where readers took them for something else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from typer.testing import CliRunner

import secateur
from secateur.cli.main import app
from secateur.results.answer import compare_with_mean, describe_stated
from secateur.results.measures import describe_ranking, find_highest
from secateur.rules.rules import Rules


def cancer_rules(class_names: list[str] | None = None, **asked: object) -> Rules:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[:300], y[:300])
    return secateur.simplify(model, X[:300], y[:300], class_names=class_names, **asked).measure(X[300:], y[300:])


def test_values_that_are_worse_than_their_mean_are_warned_of() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(random_state=0).fit(X[:300], y[:300])
    rules = secateur.simplify(model, X[:300], y[:300], tolerance=20).measure(X[300:], y[300:])
    guessed = float(np.sqrt(((y[300:] - y[:300].mean()) ** 2).mean()))
    error = float(np.sqrt(((y[300:] - rules.predict(X[300:])) ** 2).mean()))
    assert error > guessed
    text = str(rules)
    assert f"always saying {y[:300].mean():.4g} is off by {guessed:.4g}." in text
    assert f"the rules are off by {error:.4g} (root mean square), more than always saying the mean" in text
    page = rules.report(X[300:], y[300:]).to_html()
    assert "more than always saying the mean" in page


def test_values_that_are_better_than_their_mean_are_not_warned_of() -> None:
    assert not list(compare_with_mean(0.97, 1.0))
    assert "hardly less" in str(next(compare_with_mean(0.99, 1.0)))
    assert "no less" in str(next(compare_with_mean(1.0, 1.0)))
    assert not list(compare_with_mean(0.0, 0.0))


@pytest.mark.parametrize("asked", [{}, {"budget": 0.02}, {"tolerance": 0.3}])
def test_lines_that_state_the_same_are_ranked_together(asked: dict[str, float]) -> None:
    rules = cancer_rules(["malignant", "benign"], **asked)
    told = describe_ranking(rules)
    assert told is not None
    stated = [f"{100 * share:.1f} %" for share in rules.shares[:, 0].tolist()]
    rows = rules.unseen.support
    most = max((share, stated[place]) for place, share in enumerate(rules.shares[:, 0]) if rows[place] >= 5)[1]
    tied = [place for place in range(rules.n_lines) if rows[place] >= 5 and stated[place] == most]
    first, _, rest = told.partition(" the highest probability")
    assert [int(one) for one in first.replace(",", "").split() if one.isdigit()] == [place + 1 for place in tied]
    assert [one.line - 1 for one in find_highest(rules)] == tied
    hits = rules.unseen.counts[tied, 0].sum()
    whose = "their" if len(tied) > 1 else "its"
    assert f", {most}: {hits:g} of {whose} {rows[tied].sum():g} unseen rows are malignant." in rest


def test_what_the_first_lines_hold_is_said_of_the_rows_that_were_counted() -> None:
    builder = secateur.TreeBuilder(classes=["repaid", "default"], feature_names=["late", "age"])
    root = builder.split("late", 0.5)
    builder.leaf([90, 6], parent=root, side="left")
    node = builder.split("age", 30.5, parent=root, side="right")
    builder.leaf([0, 6], parent=node, side="left")
    builder.leaf([2, 6], parent=node, side="right")
    X = np.repeat([[0.0, 20.0], [1.0, 20.0], [1.0, 40.0]], [180, 6, 8], axis=0)
    y = np.repeat(["repaid", "default", "repaid", "default"], [168, 18, 2, 6])
    trained = secateur.simplify(builder.build(), X, y, sections=1)
    for which, rules in (("training", trained), ("unseen", trained.measure(X, y))):
        assert rules.n_lines == 3
        top = int(rules.shares[:, 1].argmax()) + 1
        assert describe_ranking(rules) == (
            f"Line {top} states the highest probability, 100.0 %: 6 of its 6 {which} rows are default. "
            f"The 7.2 % of the {which} rows with the highest probabilities (2 lines) hold 50.0 % of those that are "
            "default."
        )


@pytest.mark.parametrize("n_rows", [4, 5])
def test_a_line_says_whose_rows_are_mostly_of_another_class(n_rows: int) -> None:
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat(["repaid", "default"], 20)
    trained = secateur.simplify(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y), X, y)
    rules = trained.measure(np.repeat([[0.0], [1.0]], [n_rows, 20], axis=0), np.repeat("default", n_rows + 20))
    found = re.findall("; (most of .*? are default)", str(rules))
    assert found == (["most of its unseen rows are default"] if n_rows >= 5 else [])
    turned = secateur.simplify(trained.tree, X, y[::-1])  # counted with other labels than the tree was fitted to
    assert "; most of its rows are default" in str(turned)


def test_after_a_budget_a_line_says_whose_share_it_states() -> None:
    builder = secateur.TreeBuilder(classes=["repaid", "default"], feature_names=["late", "age"])
    root = builder.split("late", 0.5)
    builder.leaf([900, 100], parent=root, side="left")
    node = builder.split("age", 30.5, parent=root, side="right")
    builder.leaf([0, 8], parent=node, side="left")
    builder.leaf([3, 0], parent=node, side="right")
    X = np.repeat([[0.0, 20.0], [1.0, 20.0], [1.0, 40.0]], [1000, 8, 3], axis=0)
    y = np.repeat(["repaid", "default", "default", "repaid"], [900, 100, 8, 3])
    rules = secateur.simplify(builder.build(), X, y, budget=0.01, sections=1)
    (line,) = [one for one in rules.lines if one.prediction == "default"]
    assert line.observed == (11, 8)
    assert describe_stated(line) == "; states 100.0 %, the share of its leaves"
    assert "within 10 points of that of every leaf" in str(rules)
    exact = secateur.simplify(builder.build(), X, y, sections=1)
    assert "share of its leaves" not in str(exact)


def test_labels_that_are_numbers_do_not_run_into_counts() -> None:
    text = str(cancer_rules())
    assert "are 1 and 48.7 % are 0." in text
    assert "of 182 are 0 (" in text or "of 181 are 0 (" in text
    assert "class 0: finds" in text
    assert "of 7 0" not in text
    named = str(cancer_rules(["malignant", "benign"]))
    assert "are malignant (" not in named.split("\n\n")[1]
    assert "malignant: finds" in named


def test_line_and_leaf_are_told_of_the_same_class() -> None:
    X, _ = load_breast_cancer(return_X_y=True)
    rules = cancer_rules(["malignant", "benign"])
    benign = int(np.flatnonzero(rules.predict(X) == 1)[0])
    line, leaf = str(rules.explain(X[benign])).splitlines()[-2:]
    assert "malignant" in line
    assert leaf.startswith("The tree says benign too")
    assert leaf.endswith(" % malignant).")


def test_a_leaf_of_the_same_class_is_kept_out_by_its_share() -> None:
    rules = cancer_rules()
    found = 0
    for rule in rules:
        for reason in rule.reasons.values():
            if reason.witness_leaf is None or rules.tree.leaf_class[reason.witness_leaf] != rule.class_id:
                continue
            counts = rules.leaf_counts[rules.place_of_leaf[reason.witness_leaf]]
            share = f"{100 * counts[rule.class_id] / counts.sum():.1f} %"
            assert f"({rule.class_name} too, but {share} of its rows; the leaves of this line have" in reason.text
            assert "and may differ by 20 points)" in reason.text
            found += 1
    assert found


def test_few_rows_are_no_verdict() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    rules = secateur.simplify(
        DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[:300], y[:300]), X[:300], y[:300]
    )
    for one in rules.audit(X[300:], y[300:]).per_line:
        assert ("too few rows to tell" in str(one)) == (one.verdict == "too few rows to tell")
        assert not (one.has_few_rows and "still holds" in str(one))


def test_what_is_stated_of_another_class_is_not_promised_with_three_classes() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, y)
    kept = "kept within 10 points of each"
    assert kept in str(secateur.simplify(model, X, y))
    assert kept not in str(secateur.simplify(model, X, y, of=1))
    assert kept in str(secateur.simplify(_two(X, y), X, y == 1, of=1))


def _two(X: Any, y: Any) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, y == 1)


def test_the_note_on_classes_follows_the_edits() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y)
    assert not any("No rule predicts" in one for one in rules.remarks)
    place = next(line.index for line in rules.lines if line.class_id == 2)
    edited = rules.answer(place, 1)
    assert any("No rule predicts 2" in one for one in edited.remarks) == (2 not in edited.class_ids)


def test_without_shares_no_line_is_said_to_state_one() -> None:
    X, y = load_iris(return_X_y=True)
    rules = secateur.simplify(_two(X, y), X, y == 1, tolerance=1)
    assert "gives the highest probability" in str(rules) or "give the highest probability" in str(rules)
    assert "states the" not in str(rules)


@pytest.mark.parametrize(("asked", "rows"), [((), " on unseen rows"), (("--holdout", "0"), "")])
def test_the_command_line_says_where_to_look_if_classes_are_no_better_than_a_guess(
    asked: tuple[str, ...], rows: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1_500, 2)).round(2), columns=["a", "b"])
    y = np.where(X["a"] + rng.normal(size=len(X)) > 2, "ill", "well")
    X.assign(outcome=y).to_csv(tmp_path / "table.csv", index=False)
    told = CliRunner().invoke(
        app, ["simplify", str(tmp_path / "table.csv"), "--target", "outcome", "--balanced", "--max-depth", "3", *asked]
    )
    words = " ".join(told.stdout.split())
    sentence = (
        r"The probabilities of the lines still tell rows apart \(AUC 0\.\d\d\): see how often each line was right"
    )
    assert re.findall(rf"{sentence}(.*?)\.", words) == [rows], words


def test_many_lines_that_share_the_highest_probability_are_counted() -> None:
    builder, values = secateur.TreeBuilder(classes=["repaid", "default"], feature_names=["late"]), np.arange(40)
    node = builder.split("late", 0.5)
    for value in range(39):
        builder.leaf([0, 6] if value % 2 else [6, 0], parent=node, side="left")
        side = {"parent": node, "side": "right"}
        node = builder.split("late", value + 1.5, **side) if value < 38 else builder.leaf([0, 6], **side)
    X, y = (
        np.repeat(values, 6)[:, None],
        np.repeat(np.where((values % 2 == 1) | (values == 39), "default", "repaid"), 6),
    )
    rules = secateur.simplify(builder.build(), X, y, sections=1, otherwise="repaid")
    assert len(find_highest(rules)) == 20
    assert (describe_ranking(rules) or "").startswith(
        "Lines 1, 2, 3, 4, 5, 6 and 14 more state the highest probability"
    )
