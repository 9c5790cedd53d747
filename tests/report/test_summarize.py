"""The summary of a report: plain, complete, and the same as the rules say themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from method_settings import own_settings
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.methods.budgeted import BUDGETS
from secateur.methods.contract import TOLERANCES
from secateur.report import summarize
from secateur.tree.pipeline_columns import Columns


def cancer_rules(**settings: Any) -> secateur.RuleSet:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    return secateur.simplify(model, X, y, **{"method": "layered", **settings})


def reason_text(summary: dict[str, Any], place: int) -> str:
    return " ".join(summary["phrases"][phrase] for phrase in summary["reasons"][place])


def kept_texts(summary: dict[str, Any], rule: int, step: int) -> list[str]:
    """The kept conditions of a rule, put together as the page does it."""
    gone, groups = set(summary["steps"][step]["deleted"][rule]), {}
    for link in summary["rules"][rule]["links"]:
        if link not in gone:
            groups.setdefault(summary["tree"]["about"][link], []).append(link)
    return [
        summary["tree"]["conditions"][links[0]] if len(links) == 1 else summary["merged"][",".join(map(str, links))]
        for links in groups.values()
    ]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_summary_of_any_rules_is_plain_json_and_says_what_the_rules_say(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, weights = data.draw(strategies.labelled_rows(tree, weights=True))
    method = data.draw(st.sampled_from([name for name in secateur.METHODS if name != "mismatch-certified"]))
    rules = secateur.simplify(tree, X, tree.classes[y], method=method, sample_weight=weights)
    summary = summarize(rules)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    step = summary["step"]
    for place, rule in enumerate(rules):
        listed = summary["rules"][place]
        assert kept_texts(summary, place, step) == [condition.text for condition in rule.conditions]
        assert (listed["links"], listed["leaf"]) == (oracles.path(tree, rule.leaf_id), rule.leaf_id)
        assert listed["deleted"] == list(rule.deleted_ids) == summary["steps"][step]["deleted"][place]
        assert [reason_text(summary, r) for r in listed["reasons"]] == [r.text for r in rule.reasons.values()]
        assert (listed["support"], listed["reliability"]) == (rule.support, rule.reliability)
        assert summary["steps"][step]["support"][place] == rule.support
        assert listed["assimilated_into"] == rule.assimilated_into
    effects = summary["diagnosis"]
    diagnosis = secateur.diagnose(tree, X, tree.classes[y], sample_weight=weights)
    for rule, support, hits in zip(rules, effects["support"], effects["hits"], strict=True):
        expected = diagnosis.of_leaf(rule.leaf_id)
        assert support == [row.support_without for row in expected]
        assert [h / n if n else None for h, n in zip(hits, support, strict=True)] == [
            row.reliability_without for row in expected
        ]
        assert summary["steps"][step]["hits"][place] == rules.class_counts[place, listed["class"]]
    for link in range(1, tree.n_nodes):
        for class_id in range(tree.n_classes):
            sign = summary["tree"]["orientation"][class_id][link]
            words = {"+": "matched", "-": "mismatched", "0": "neutral"}
            assert words[sign] == oracles.orientation(tree, link, class_id)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_example_of_a_rule_reaches_its_leaf(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    rules = secateur.simplify(tree, method="exact")
    summary = summarize(rules)
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


@pytest.mark.parametrize("method", ["faithful", "layered", "mismatch"])
def test_every_position_of_the_slider_is_the_rule_set_of_that_tolerance(method: str) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rules = cancer_rules(method=method, **own_settings(method, tolerance=0.02))
    summary = summarize(rules, X[::3], y[::3])
    values = sorted({*TOLERANCES, 0.02})
    meaning = summary["knob"].pop("meaning")
    assert summary["knob"] == {"parameter": "tolerance", "symbol": "ε", "values": values}
    # Nobody may read the tolerance into what `layered` deletes exactly.
    assert ("exact ones, which may move it anywhere" in meaning) == (method == "layered")
    assert summary["knob"]["values"][summary["step"]] == 0.02
    for value, step in zip(summary["knob"]["values"], summary["steps"], strict=True):
        made = secateur.simplify(rules.tree, X, y, method=method, **own_settings(method, tolerance=value))
        audit = made.audit(X[::3], y[::3])
        assert step["deleted"] == [list(rule.deleted_ids) for rule in made]
        assert step["support"] == made.support.tolist()
        assert step["guarantee"] == made.guarantee
        assert step["removed"] == pytest.approx(audit.removed, abs=1e-12)  # summed in another order
        assert step["n_conditions"] == audit.n_conditions - audit.n_deleted
        for name in ("conflict", "accuracy", "delta_accuracy", "agreement"):
            assert step[name] == getattr(audit, name)
        for place, rule in enumerate(made):
            told = step["reasons"].get(str(place), summary["rules"][place]["reasons"])
            assert [reason_text(summary, reason) for reason in told] == [r.text for r in rule.reasons.values()]
            at = summary["steps"].index(step)
            assert kept_texts(summary, place, at) == [condition.text for condition in rule.conditions]


def test_budgeted_slides_over_its_budget() -> None:
    summary = summarize(cancer_rules(method="budgeted"))
    assert summary["knob"]["parameter"] == "budget"
    assert summary["knob"]["values"] == list(BUDGETS)
    removed = [step["removed"] for step in summary["steps"]]
    assert removed[0] < removed[-1]


def test_the_page_says_why_it_does_not_tell_what_happens_without_a_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = cancer_rules(tolerance=0.1)
    told = summarize(rules)["diagnosis"]
    assert (told["tolerance"], told["note"], len(told["support"])) == (0.1, "", len(rules))
    read = secateur.RuleSet.from_json(rules.to_json())
    told = summarize(read)["diagnosis"]
    assert (told["support"], told["hits"]) == (None, None)
    assert "not at hand, so what happens without a condition is unknown" in told["note"]
    monkeypatch.setattr("secateur.report.diagnosing.MOST_DIAGNOSED", 10)
    told = summarize(rules)["diagnosis"]
    assert (told["support"], told["hits"]) == (None, None)
    assert f"have {len(rules.deleted)} conditions, and this page carries" in told["note"]


def test_the_slider_takes_other_values() -> None:
    summary = summarize(cancer_rules(), tolerances=[0.5, 0.0])
    assert summary["knob"]["values"] == [0.0, 0.05, 0.5]


def test_a_method_without_a_knob_says_so() -> None:
    summary = summarize(cancer_rules(method="exact"))
    assert summary["knob"] is None
    assert summary["knob_note"] == "The method exact has no tolerance to move, so there is one set of rules."
    assert len(summary["steps"]) == 1


def test_the_ladder_lists_every_method_and_says_why_one_cannot_run() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = np.vstack([X, X[:1]]), np.append(y, 2)  # two equal rows of different classes
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    summary = summarize(secateur.simplify(model, X, y, method="layered"))
    ladder = {step["method"]: step for step in summary["ladder"]}
    assert list(ladder) == list(secateur.METHODS)
    assert "contradicts itself" in ladder["mismatch-certified"]["problem"]
    assert [name for name, step in ladder.items() if step["is_current"]] == ["layered"]
    for name, step in ladder.items():
        if step["problem"] is None:
            audit = secateur.simplify(model, X, y, method=name).audit(X, y)
            assert step["conflict"] == audit.conflict
            assert step["removed"] == pytest.approx(audit.removed, abs=1e-12)


def test_rules_from_a_file_say_what_is_absent_without_rows() -> None:
    stored = secateur.RuleSet.from_json(cancer_rules().to_json())
    summary = summarize(stored)
    assert summary["knob"] is None
    assert "are not at hand" in summary["knob_note"]
    assert summary["rows"]["note"] == "No rows were at hand, so nothing was measured on rows."
    ladder = {step["method"]: step for step in summary["ladder"]}
    assert ladder["mismatch"]["problem"] == "It judges deletions by training rows, which are not at hand."
    assert ladder["exact"]["removed"] > 0
    assert ladder["exact"]["conflict"] is None
    assert summary["rules"][0]["support"] == stored[0].support


def test_rows_that_give_the_stored_counts_are_the_training_rows() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rules = cancer_rules()
    stored = secateur.RuleSet.from_json(rules.to_json())
    again, direct = summarize(stored, X, y), summarize(rules)
    assert again["rows"]["is_training"]
    assert again["steps"] == direct["steps"]
    others = summarize(stored, X[::2], y[::2])
    assert not others["rows"]["is_training"]
    assert others["knob"] is None
    assert others["steps"][0]["conflict"] is not None


def test_a_pipeline_is_asked_in_the_columns_before_it() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(50, 10, 300), "city": rng.choice(["Rome", "Oslo", "Bonn"], 300)})
    y = np.where((X["age"] > 52) & (X["city"] != "Oslo"), "yes", "no")
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
        (KBinsDiscretizer(6, encode="onehot-dense", strategy="uniform"), ["age"]),
    )
    model = make_pipeline(steps, DecisionTreeClassifier(random_state=0)).fit(X, y)
    summary = summarize(secateur.simplify(model, X, y, method="layered"))
    fields = {field["name"]: field for field in summary["form"]["fields"]}
    assert fields["city"]["labels"] == ["Bonn", "Oslo", "Rome"]
    assert fields["age"]["kind"] == "cells"
    assert fields["age"]["cuts"]


def test_columns_of_a_group_share_one_field() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 200)
    X = pd.DataFrame({f"kind_{name}": (kind == code).astype(float) for code, name in enumerate("abc")})
    model = DecisionTreeClassifier(random_state=0).fit(X, kind == 1)
    rules = secateur.simplify(model, X, kind == 1, groups={"kind": list(X)}, method="layered")
    form = summarize(rules)["form"]
    assert [(field["name"], field["kind"], field["labels"]) for field in form["fields"]] == [
        ("kind", "group", ["a", "b", "c"])
    ]


def test_the_ladder_does_not_take_the_trees_probabilities_for_those_of_rules_made_without_rows() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[::2], y[::2])
    found = summarize(secateur.simplify(model, method="exact"), X[1::2], y[1::2])
    ladder = {step["method"]: step for step in found["ladder"]}
    for name in ("none", "exact"):
        for number in ("auc", "brier", "log_loss", "mean_abs_delta_p", "max_abs_delta_p"):
            assert ladder[name][number] is None
        assert ladder[name]["tree_auc"] > 0.5
    ranked = summarize(secateur.simplify(model, X[::2], y[::2], method="exact"), X[1::2], y[1::2])
    assert all(step["auc"] is not None for step in ranked["ladder"] if step["problem"] is None)


def test_the_ladder_keeps_to_rules_made_without_knowledge_of_the_columns() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 300)
    X = pd.DataFrame({f"kind_{name}": (kind == code).astype(float) for code, name in enumerate("abcd")})
    model = DecisionTreeClassifier(random_state=0).fit(X, kind)
    removed = {}
    for known in (True, False):
        given = {"groups": {"kind": list(X)}, "domain_knowledge": known}
        ladder = summarize(secateur.simplify(model, X, kind, method="sibling", **given))["ladder"]
        exact = secateur.simplify(model, X, kind, method="exact", **given)
        removed[known] = next(step["removed"] for step in ladder if step["method"] == "exact")
        assert removed[known] == pytest.approx(exact.audit(X, kind).removed, abs=1e-12)
    assert removed[True] > removed[False]


def field_of(values: np.ndarray, ends: tuple[float, float] | None = None) -> dict[str, Any]:
    """The form's field of a column that a tree splits in the middle."""
    builder = secateur.TreeBuilder(classes=[0, 1], feature_names=["a"], dtype="float64")
    root = builder.split("a", float(np.median(values)))
    builder.leaf([1, 0], parent=root, side="left")
    builder.leaf([0, 1], parent=root, side="right")
    tree = replace(builder.build(), columns=Columns((None,), (False,), (ends,)))
    rules = secateur.simplify(tree, values[:, None], np.arange(len(values)) % 2, method="layered")
    (field,) = summarize(rules, tolerances=[0.05])["form"]["fields"]
    return field


@pytest.mark.parametrize(("value", "ends"), [(1.23444, (1.2344, 2.0)), (1.23456, (1.0, 1.23457))])
def test_a_usual_number_in_few_digits_is_one_that_can_be_used(value: float, ends: tuple[float, float]) -> None:
    field = field_of(np.full(9, value), ends)
    assert ends[0] <= field["usual"] <= ends[1]
    assert (field["lowest"], field["highest"]) == ends


def test_the_usual_number_of_a_long_sorted_table_is_its_median() -> None:
    assert field_of(np.linspace(0, 100, 30_001))["usual"] == pytest.approx(50, abs=0.1)
    assert field_of(np.array([1.0, 2.0, 30.0]))["usual"] == 2


def test_what_is_no_rule_set_is_refused() -> None:
    X, y = load_iris(return_X_y=True)
    forest = secateur.simplify(RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y), X, y, method="layered")
    with pytest.raises(secateur.SecateurError, match="of a forest, one of its rule sets"):
        summarize(forest)
    assert summarize(forest[0])["size"]["n_rules"] == len(forest[0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tolerances": 0.1}, "Expected tolerances as a list"),
        ({"tolerances": []}, "at least one value"),
        ({"tolerances": [0.1, 2]}, "from 0 to 1, found 2"),
        ({"title": 3}, "Expected title as text, found 3"),
        ({"X": [[1.0]]}, "X was passed without y"),
        ({"sample_weight": [1.0]}, "sample_weight was passed without X and y"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(secateur.SecateurError, match=message):
        summarize(cancer_rules(), **given)


def test_tolerances_of_a_method_without_any_are_refused() -> None:
    with pytest.raises(secateur.SecateurError, match="leave tolerances out"):
        summarize(cancer_rules(method="exact"), tolerances=[0.1])
