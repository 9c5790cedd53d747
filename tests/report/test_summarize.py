"""The summary of a report: plain, complete, and the same as the rules say themselves."""

from __future__ import annotations

import importlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import ListForm, choose_lines
from secateur.report import summarize
from secateur.report.page import render_page
from secateur.results.answer import describe_rows, warn_of_weights
from secateur.tree.columns import Columns
from secateur.words.plain_words import format_asked


def cancer_rules(**settings: Any) -> secateur.Rules:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    return secateur.simplify(model, X, y, **{"method": "faithful", "each_leaf": True, **settings})


def reason_text(summary: dict[str, Any], place: int) -> str:
    return " ".join(summary["phrases"][phrase] for phrase in summary["reasons"][place])


def join_links(summary: dict[str, Any], links: list[int], under: list[int] | None = None) -> list[str]:
    """Kept conditions, put together as the page does it, under a heading of others."""
    above = ",".join(map(str, under or []))
    groups: dict[int, list[int]] = {}
    for link in links:
        groups.setdefault(summary["tree"]["about"][link], []).append(link)
    said = []
    for group in groups.values():
        key = ",".join(map(str, group))
        alone = summary["tree"]["conditions"][group[0]] if len(group) == 1 else summary["merged"][key]
        said.append(summary["merged"].get(f"{above}|{key}", alone))
    return said


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_summary_of_any_rules_is_plain_json_and_says_what_the_rules_say(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, weights = data.draw(strategies.labelled_rows(tree, weights=True))
    method = data.draw(st.sampled_from([name for name in secateur.METHODS if name != "mismatch-certified"]))
    rules = secateur.simplify(tree, X, tree.classes[y], method=method, sample_weight=weights, each_leaf=True)
    summary = summarize(rules)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    for place, rule in enumerate(rules):
        listed = summary["rules"][place]
        assert (listed["links"], listed["leaf"]) == (oracles.path(tree, rule.leaf_id), rule.leaf_id)
        assert listed["deleted"] == list(rule.deleted_ids)
        assert join_links(summary, list(rule.kept_ids)) == list(format_asked(rules, rule.kept_ids))
        assert [reason_text(summary, r) for r in listed["reasons"]] == [r.text for r in rule.reasons.values()]
        assert (listed["support"], listed["hits"]) == (rule.support, rules.counts[place, listed["class"]])
        assert listed["is_rarer"] == (rules.counts[place, listed["class"]] < rules.counts[place].max())
        assert (describe_rows(rule).endswith(listed["aside"]), bool(listed["aside"])) == (True, listed["is_rarer"])
        assert listed["assimilated_into"] == rule.assimilated_into
    effects = summary["diagnosis"]
    diagnosis = secateur.diagnose(tree, X, tree.classes[y], sample_weight=weights)
    for rule, support, hits in zip(rules, effects["support"], effects["hits"], strict=True):
        expected = diagnosis.of_leaf(rule.leaf_id)
        assert support == [row.support_without for row in expected]
        assert [h / n if n else None for h, n in zip(hits, support, strict=True)] == [
            row.reliability_without for row in expected
        ]
    for link in range(1, tree.n_nodes):
        for class_id in range(tree.n_classes):
            sign = summary["tree"]["orientation"][class_id][link]
            words = {"+": "matched", "-": "mismatched", "0": "neutral"}
            assert words[sign] == oracles.orientation(tree, link, class_id)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_list_is_that_of_its_budget(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, weights = data.draw(strategies.labelled_rows(tree, weights=True))
    labels = tree.classes[y]
    own = data.draw(st.sampled_from([0.0, 0.1]))
    rules = secateur.simplify(tree, X, labels, sample_weight=weights, budget=own)
    summary = summarize(rules, budgets=[0.05, 0.3])
    lists = summary["lists"]
    assert [one["budget"] for one in lists] == sorted((one["budget"] for one in lists), reverse=True)
    assert lists[summary["list"]]["budget"] == own
    assert lists[-1]["is_exact"]
    for listed in lists:
        budget = listed["budget"]
        form: dict[str, Any] = {} if budget == own else {"sections": len(rules.sections)}
        made = secateur.simplify(tree, X, labels, sample_weight=weights, budget=budget, **form)
        assert listed["guarantee"] == made.guarantee
        assert listed["n_conditions"] == made.n_conditions
        assert listed["n_rules"] == len(made)
        assert listed["tolerance"] == (made.tolerance if made.keeps_shares else None)
        assert [one["rule"] for one in listed["lines"] if one["rule"] is not None] == made.leaves.tolist()
        assert len(listed["sections"]) == len(made.sections)
        for one, line in zip(listed["lines"], made.lines, strict=True):
            assert one["class"] == line.class_id
            assert one["rows"] == line.support
            assert (one["hits"] / one["rows"] if one["rows"] else None) == line.reliability
            assert one["share"] == line.share
            assert one["words"] == describe_rows(line)
            assert made.sections[one["section"]] == line.section
            heading = listed["sections"][one["section"]]
            assert one["kept"] == list(line.kept_ids)
            assert one["kept"][: len(heading)] == heading
            assert join_links(summary, heading) == list(line.heading)
            assert join_links(summary, one["kept"][len(heading) :], heading) == list(line.asks)
            assert join_links(summary, one["kept"]) == list(format_asked(made, line.kept_ids)), "as a letter says it"
            assert one["leaves"] == list(line.leaf_ids)
            reasons = None if one["reasons"] is None else [reason_text(summary, r) for r in one["reasons"]]
            assert reasons == (None if line.is_otherwise else [r.text for r in line.reasons.values()])
            met = {oracles.walk(tree, row) for row in X[made.apply(X) == line.index]}
            assert set(one["partly"]) == met - set(line.leaf_ids)
        audit = made.audit(X, labels, sample_weight=weights)
        measured = listed["measured"]
        for name in ("accuracy", "delta_accuracy"):
            assert measured[name] == pytest.approx(getattr(audit, name), abs=1e-9)
        differs = made.predict(X) != tree.classes[[tree.leaf_class[oracles.walk(tree, row)] for row in X]]
        assert measured["disagreement"] == pytest.approx(100 * np.average(differs, weights=weights), abs=1e-9)
        limits = [100 - limit for limit in reversed(audit.agreement_interval)]
        assert measured["disagreement_interval"] == pytest.approx(limits, abs=1e-9)


@pytest.mark.long
def test_one_rule_for_each_leaf_and_the_list_chosen_of_them_give_one_page() -> None:
    """A list keeps what it was chosen from."""
    for method in ("exact", "faithful", "quinlan"):
        rules = cancer_rules(method=method)
        chosen = choose_lines(rules)
        assert summarize(rules) == summarize(chosen)
        short = summarize(choose_lines(rules, ListForm(chosen.tolerance, len(chosen.sections)), budget=1.0))
        assert short["rules"] == summarize(chosen)["rules"]
        for name in ("sections", "lines", "measured", "guarantee", "cautions", "faithful", "right"):
            assert short["lists"][-1][name] == summarize(chosen)["lists"][-1][name]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_rows_of_a_split_are_those_that_come_to_it(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    summary = summarize(secateur.simplify(tree, X, tree.classes[y]), budgets=[])
    walked = [{0, *oracles.path(tree, oracles.walk(tree, row))} for row in X]
    reached = {node: [place for place in range(len(X)) if node in walked[place]] for node in range(tree.n_nodes)}
    expected = {node for node in range(tree.n_nodes) if not tree.is_leaf[node] and reached[node]}
    assert {int(node) for node in summary["splits"]} == expected
    for node in range(tree.n_nodes):
        assert summary["tree"]["rows"][node] == len(reached[node])
    for key, split in summary["splits"].items():
        node, counts = int(key), np.array(split["counts"])
        here = reached[node]
        assert -1 not in split["classes"]
        for column, class_id in enumerate(split["classes"]):
            assert counts[:, column].sum() == sum(int(y[row]) == class_id for row in here)
        values = X[here, tree.feature[node]].astype(float)
        left = {
            place for place in here if oracles.path(tree, oracles.walk(tree, X[place])).count(tree.children_left[node])
        }
        known = [place for place, value in zip(here, values, strict=True) if not np.isnan(value)]
        n_left = sum(place in left for place in known)
        if "edges" in split:
            assert len(split["edges"]) - 1 in (len(counts), len(counts) - 1)
            assert counts[: split["line"]].sum() == n_left
        else:
            sides = np.array([bool(side) for side in split["left"]])
            assert counts[: len(sides)][sides].sum() <= n_left


def test_the_page_compares_the_tree_with_always_saying_the_commonest_class() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[::2], y[::2])
    rules = secateur.simplify(model, X[::2], y[::2], class_names=["malignant", "benign"])
    summary = summarize(rules, X[1::2], y[1::2], target="diagnosis")
    answer = summary["answer"]
    assert summary["title"] == "What decides diagnosis"
    assert answer["predicted"].startswith("A decision tree predicts diagnosis: malignant or benign, from ")
    assert answer["class_rows"] == [int((y[::2] == 0).sum()), int((y[::2] == 1).sum())]
    assert answer["tree_accuracy"] == pytest.approx(100 * (model.predict(X[1::2]) == y[1::2]).mean())
    assert answer["guess_accuracy"] == pytest.approx(100 * (y[1::2] == 1).mean())
    (caution,) = summary["lists"][summary["list"]]["cautions"]
    few = [line.index + 1 for line in rules.lines if line.support < 5]
    assert [int(number) for number in re.findall(r"\d+", caution.partition(" fewer than 5 rows")[0])] == few != []
    right = f"{100 * (model.predict(X[1::2]) == y[1::2]).mean():.1f} %"
    guessed = f"{100 * (y[1::2] == 1).mean():.1f} %"
    exact = summary["lists"][summary["list"]]
    trained = f"{100 * (model.predict(X[::2]) == y[::2]).mean():.1f} %"
    assert exact["right"].startswith(
        f"Right for {right} of 284 unseen rows, {trained} in training; always saying benign is right for {guessed}.\n"
        "malignant: finds 95 of 110 unseen (86.4 %); "
    )
    assert exact["interest"] == {
        **{"class": 0, "recall": 100 * 95 / 110, "precision": 100 * 95 / 107, "rows": "284 unseen rows"}
    }
    measured = rules.measure(X[1::2], y[1::2])
    assert [line["words"] for line in exact["lines"]] == [describe_rows(line) for line in measured.lines]
    assert summarize(measured)["lists"][summary["list"]]["lines"] == exact["lines"]
    assert exact["faithful"] == (
        "Compared with the tree, no answer changes, and no probability moves by more than 10 points, for any possible "
        "row."
    )
    short = summary["lists"][0]
    share = f"{short['measured']['disagreement']:.1f} %"
    assert short["faithful"].startswith(
        f"The answer differs from the tree's on {share} of 284 unseen rows; on new rows, 95 % interval "
    )
    made = secateur.simplify(
        model,
        X[::2],
        y[::2],
        class_names=["malignant", "benign"],
        budget=short["budget"],
        sections=len(rules.sections),
    )
    assert short["right"].startswith(
        f"Right for {100 * (made.predict(X[1::2]) == y[1::2]).mean():.1f} % of 284 unseen rows (the tree: {right}), "
        f"{100 * (made.predict(X[::2]) == y[::2]).mean():.1f} % in training; "
        f"always saying benign is right for {guessed}.\n"
    )


def test_the_target_is_found_in_the_labels_and_need_not_be_known() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y)
    assert summarize(rules, X, y)["target"] is None, "the name says nothing"
    assert summarize(rules, X, y.rename("species"))["target"] == "species"
    named = secateur.simplify(model, X, y.rename("species"))
    assert summarize(named, X, y.to_numpy())["title"] == "What decides species"
    assert summarize(rules, X, y)["rows"]["is_training"], "rows that are passed again are the training rows"
    assert summarize(rules, X, y.to_numpy())["title"] == "The rules of a decision tree"


def test_a_tree_no_better_than_a_guess_and_a_class_that_it_never_says_are_told() -> None:
    X = np.arange(100.0)[:, None]
    y = np.array(["good"] * 90 + ["late"] * 7 + ["lost"] * 3)
    tree = secateur.TreeBuilder(classes=["good", "late", "lost"], feature_names=["debt"])
    root = tree.split("debt", 96)
    tree.leaf([90, 6, 0], parent=root, side="left")
    tree.leaf([0, 3, 1], parent=root, side="right")
    rules = secateur.simplify(tree.build(), X, y)
    *_, short, exact = summarize(rules, budgets=[1])["lists"]
    (weighed,) = warn_of_weights(rules)
    assert weighed.startswith("Percentages count rows unweighted.")
    assert exact["cautions"] == [
        weighed,
        "No rule predicts lost (3 of 100 rows): it is nowhere the commonest class.",
        "On the rows measured, the rules are right for 90.0 %, no more often than always saying good (90.0 %).",
        "Line 1 has fewer than 5 rows: its percentage says little.",
    ]
    assert short["cautions"][1] == "No rule predicts late (7 of 100 rows): its rules were left out, within the budget."


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_example_of_a_rule_reaches_its_leaf(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    summary = summarize(secateur.simplify(tree, each_leaf=True))
    fields = summary["form"]["fields"]
    for rule in summary["rules"]:
        box = oracles.box_of(tree, rule["links"])
        if rule["example"] is None:
            assert any(oracles.is_empty(tree, region) for region in box.values())
            continue
        row = np.zeros(tree.n_features)
        for place, field in enumerate(fields):
            entry = rule["example"].get(str(place), field["usual"])
            row[field["features"][0]] = np.nan if entry is None else entry
        assert oracles.walk(tree, row) == rule["leaf"]


def test_the_page_says_why_it_does_not_tell_what_happens_without_a_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = cancer_rules(tolerance=0.1)
    told = summarize(rules)["diagnosis"]
    assert (told["tolerance"], told["note"], len(told["support"])) == (0.1, "", len(rules))
    read = secateur.Rules.from_json(rules.to_json())
    told = summarize(read)["diagnosis"]
    assert (told["support"], told["hits"]) == (None, None)
    assert "not at hand, so what happens without a condition is unknown" in told["note"]
    monkeypatch.setattr("secateur.report.rules.MOST_DIAGNOSED", 10)
    told = summarize(rules)["diagnosis"]
    assert (told["support"], told["hits"]) == (None, None)
    assert f"have {len(rules.deleted)} conditions, and this page carries" in told["note"]


def test_the_slider_takes_other_positions_and_leaves_out_those_that_say_the_same() -> None:
    rules = cancer_rules(method="exact", each_leaf=False)
    assert [one["budget"] for one in summarize(rules, budgets=[0.0, 0.1])["lists"]] == [0.1, 0.0]
    lists = summarize(rules, budgets=[0.01, 0.0100001, 0.1])["lists"]
    assert [one["budget"] for one in lists] == [0.1, 0.01, 0.0]
    assert [one["budget"] for one in summarize(rules, budgets=[])["lists"]] == [0.0]


def test_budgets_that_a_method_exceeds_are_left_out() -> None:
    rules = cancer_rules(method="quinlan")
    summary = summarize(rules)
    assert not summary["lists"][-1]["is_exact"]
    assert all(one["budget"] == 0 or one["measured"]["disagreement"] <= 100 * one["budget"] for one in summary["lists"])


def test_a_large_tree_says_what_its_page_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secateur.report.rules.MOST_CONDITIONS", 10)
    monkeypatch.setattr(sys.modules["secateur.report.summarize"], "FULLY_TOLD", 10)
    rules = cancer_rules(method="exact")
    summary = summarize(rules)
    assert len(summary["lists"]) == 1
    assert "Shorter lists of so many take long to make" in summary["list_note"]
    assert {rule["reasons"] is None for rule in summary["rules"]} == {True}
    assert summary["lists"][0]["lines"][0]["reasons"] is not None, "the list that is shown first has its reasons"


def test_rules_from_a_file_say_what_is_absent_without_rows() -> None:
    stored = secateur.Rules.from_json(cancer_rules().to_json())
    summary = summarize(stored)
    assert len(summary["lists"]) == 1
    assert "are not at hand" in summary["list_note"]
    assert summary["splits"] == {}
    assert summary["rows"]["note"] == "No rows were at hand, so nothing was measured on rows."
    assert summary["rules"][0]["support"] == stored[0].support


def test_rows_that_give_the_stored_counts_are_the_training_rows() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rules = cancer_rules()
    stored = secateur.Rules.from_json(rules.to_json())
    again, direct = summarize(stored, X, y), summarize(rules)
    assert again["rows"]["is_training"]
    assert [one["lines"] for one in again["lists"]] == [one["lines"] for one in direct["lists"]]
    others = summarize(stored, X[::2], y[::2])
    assert not others["rows"]["is_training"]
    assert len(others["lists"]) == 1
    assert others["lists"][0]["measured"]["accuracy"] > 50


def test_a_page_says_that_its_lines_count_other_rows_than_those_passed() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    stored = secateur.Rules.from_json(cancer_rules(method="exact", each_leaf=False).to_json())
    same, others = (summarize(stored, *some)["lists"][0]["cautions"] for some in ((X, y), (X[::2], y[::2])))
    said = (
        "The numbers beside the lines are of the rows that the rules were made with. Those passed now are others: the "
    )
    assert others[0].startswith(said)
    assert not any(one.startswith(said) for one in same)


def test_rows_beside_stored_rules_are_not_called_new() -> None:
    """Half of the training rows: the file does not say which rows the tree has seen."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    stored = secateur.Rules.from_json(cancer_rules(method="exact", each_leaf=False, budget=0.02).to_json())
    seen = summarize(stored, X[::2], y[::2])
    said = [one[name] for one in seen["lists"] for name in ("right", "faithful")]
    assert all("285 rows, some of which the tree may have been fitted to" in words for words in said[:1])
    assert "some of which the tree may have been fitted to" in seen["rows"]["note"]
    assert not any("unseen" in words or "95 % interval" in words for words in said)


def test_a_pipeline_is_asked_in_the_columns_before_it() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(50, 10, 300), "city": rng.choice(["Rome", "Oslo", "Bonn"], 300)})
    y = np.where((X["age"] > 52) & (X["city"] != "Oslo"), "yes", "no")
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
        (KBinsDiscretizer(6, encode="onehot-dense", strategy="uniform"), ["age"]),
    )
    model = make_pipeline(steps, DecisionTreeClassifier(random_state=0)).fit(X, y)
    summary = summarize(secateur.simplify(model, X, y))
    fields = {field["name"]: field for field in summary["form"]["fields"]}
    assert fields["city"]["labels"] == ["Bonn", "Oslo", "Rome"]
    assert fields["age"]["kind"] == "cells"
    assert fields["age"]["cuts"]


def test_columns_of_a_group_share_one_field() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 200)
    X = pd.DataFrame({f"kind_{name}": (kind == code).astype(float) for code, name in enumerate("abc")})
    model = DecisionTreeClassifier(random_state=0).fit(X, kind == 1)
    rules = secateur.simplify(model, X, kind == 1, groups={"kind": list(X)}, method="mismatch", each_leaf=True)
    form = summarize(rules)["form"]
    assert [(field["name"], field["kind"], field["labels"]) for field in form["fields"]] == [
        ("kind", "group", ["a", "b", "c"])
    ]


def field_of(values: np.ndarray, ends: tuple[float, float] | None = None) -> dict[str, Any]:
    """The form's field of a column that a tree splits in the middle."""
    builder = secateur.TreeBuilder(classes=[0, 1], feature_names=["a"], dtype="float64")
    root = builder.split("a", float(np.median(values)))
    builder.leaf([1, 0], parent=root, side="left")
    builder.leaf([0, 1], parent=root, side="right")
    tree = replace(builder.build(), columns=Columns((None,), (False,), (ends,)))
    rules = secateur.simplify(tree, values[:, None], np.arange(len(values)) % 2)
    (field,) = summarize(rules, budgets=[])["form"]["fields"]
    return field


@pytest.mark.parametrize(("value", "ends"), [(1.23444, (1.2344, 2.0)), (1.23456, (1.0, 1.23457))])
def test_a_usual_number_in_few_digits_is_one_that_can_be_used(value: float, ends: tuple[float, float]) -> None:
    field = field_of(np.full(9, value), ends)
    assert ends[0] <= field["usual"] <= ends[1]
    assert (field["lowest"], field["highest"]) == ends


def test_the_usual_number_of_a_long_sorted_table_is_its_median() -> None:
    assert field_of(np.linspace(0, 100, 30_001))["usual"] == pytest.approx(50, abs=0.1)
    assert field_of(np.array([1.0, 2.0, 30.0]))["usual"] == 2


def test_the_documents_name_every_field() -> None:
    text = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8").partition("| Field |")[2]
    named = set(re.findall(r"`(\w+)`", text))
    summary = summarize(cancer_rules(facts=["mean radius is not missing"]), target="diagnosis")
    table = set(re.findall(r"^\| (`.*?) \|", text, flags=re.MULTILINE))
    assert {name for cell in table for name in re.findall(r"`(\w+)`", cell)} == set(summary)
    (listed, *_), field = summary["lists"], summary["form"]["fields"][0]
    records = [listed, listed["lines"][0], listed["measured"], summary["rules"][0]]
    records += [summary["tree"], field, summary["rows"], summary["size"], summary["facts"][0], summary["method"]]
    for record in records:
        assert set(record) - named == set()
    wording = text.partition("A **list** has")[2].partition("\n\n")[0]
    of_interest = {"class", "recall", "precision", "rows"}
    assert set(re.findall(r"`(\w+)`", wording)) == {*listed, *listed["measured"], *of_interest, *listed["top"]}
    wording = text.partition("A **line** has")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", wording)) >= {*listed["lines"][0]}
    assert set(re.findall(r"`(\w+)`", text.partition("A **field** has")[2].partition(" An\n")[0])) >= set(field)


def test_what_is_not_the_rules_of_one_tree_is_rejected() -> None:
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    forest = secateur.simplify(model, X, y, each_leaf=True)
    with pytest.raises(secateur.SecateurError, match=r"found ForestRules\. Of a forest, pass the rules of one"):
        summarize(forest)
    assert summarize(forest[0])["size"]["n_rules"] == len(forest[0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budgets": 0.1}, "Expected budgets as a list"),
        ({"budgets": [0.1, 2]}, "from 0 to 1, found 2"),
        ({"target": 3}, "Expected target as text, found 3"),
        ({"title": 3}, "Expected title as text, found 3"),
        ({"X": [[1.0]]}, "X was passed without y"),
        ({"sample_weight": [1.0]}, "sample_weight was passed without X and y"),
    ],
)
def test_arguments_that_do_not_fit_are_rejected(given: dict[str, Any], message: str) -> None:
    with pytest.raises(secateur.SecateurError, match=message):
        summarize(cancer_rules(), **given)


def test_the_page_says_what_it_was_made_of_and_what_rows_that_were_not_seen_say() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[::2], y[::2])
    rules = secateur.simplify(model, X[::2], y[::2]).measure(X[1::2], y[1::2])
    found = summarize(rules)
    told = " ".join(found["meta"]["told"])
    assert re.search(r"285 training rows, data [0-9a-f]{8} 284 unseen rows tree [0-9a-f]{8} made \d+ \w+ 20\d\d", told)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.import_module("secateur.report.summarize"), "MANY_ROWS", 7)
        assert summarize(rules)["meta"]["told"][0] == found["meta"]["told"][0], "rows are read piece by piece"
    assert found["meta"]["proved"] == "same answers as the tree: proved by an independent checker"
    assert summarize(rules.strike(0))["meta"]["proved"] == "", "an edited list promises nothing for every row"
    other = summarize(secateur.simplify(model, X[1::2], y[1::2]))["meta"]["told"]
    assert other[0] != found["meta"]["told"][0]
    assert other[-2] == found["meta"]["told"][-2], "the same tree"
    used = set(found["columns"]["used"])
    assert used | set(found["columns"]["unused"]) == set(X.columns)
    assert found["columns"]["n"] == 30
    assert found["of"] == 0, "the rarer class is of interest"
    for made, shown in zip([rules], found["lists"][-1:], strict=True):
        assert [line["unseen"] for line in shown["lines"]] == made.unseen_counts.tolist()
        assert [line["counts"] for line in shown["lines"]] == made.counts.tolist()
    assert "284 unseen rows" in found["lists"][-1]["right"]
    assert found["copies"]["text"] == rules.to_text()
    assert found["copies"]["SQL"] == rules.to_sql(plain=True)
    for field in found["form"]["fields"]:
        column = X[::2][field["name"]]
        assert field["seen"][0] == pytest.approx(column.min(), rel=1e-5)
        assert field["seen"][3] == pytest.approx(column.max(), rel=1e-5)


def test_a_line_under_a_heading_reads_as_in_the_list_where_values_are_missing() -> None:
    rng = np.random.default_rng(14)
    X = rng.integers(0, 6, (200, 2)).astype(float)
    y = ((X[:, 0] > 2) * 1 + (X[:, 1] > 3) * (X[:, 0] < 5) + (rng.random(200) < 0.1)) % 3
    X[rng.random(X.shape) < 0.15] = np.nan
    model = DecisionTreeClassifier(max_depth=5, random_state=14).fit(X, y)
    rules = secateur.simplify(model, X, y, sections=3)
    summary = summarize(rules)
    listed = summary["lists"][summary["list"]]
    n_shorter = 0
    for one, line in zip(listed["lines"], rules.lines, strict=True):
        heading = listed["sections"][one["section"]]
        own = one["kept"][len(heading) :]
        assert join_links(summary, own, heading) == list(line.asks)
        assert join_links(summary, one["kept"]) == list(format_asked(rules, line.kept_ids)), "as a letter says it"
        n_shorter += join_links(summary, own) != list(line.asks)
    assert n_shorter > 0, "a heading that lets no value be missing says so for its lines"
    page = re.sub(r"<[^>]*>", "", render_page(summary).partition('type="application/json"')[0])
    told = " ".join(page.split())
    assert all(ask.replace(">", "&gt;").replace("<", "&lt;") in told for line in rules.lines for ask in line.asks)
