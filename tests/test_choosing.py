"""How lines are chosen: what a list is made from, what is rejected, and how its budget is picked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines, choose_lines_by_budget
from secateur.errors import InputError, ParameterError

IRIS = load_iris(as_frame=True)
MODEL = DecisionTreeClassifier(max_depth=4, random_state=0).fit(IRIS.data, IRIS.target)


def test_no_rows_are_needed_and_nothing_changes() -> None:
    rules = secateur.simplify(MODEL)
    assert rules.is_exact
    assert rules.predict(IRIS.data).tolist() == MODEL.predict(IRIS.data).tolist()
    assert rules.n_conditions < rules.tree_conditions
    assert rules[0].support is None
    assert rules.lines[-1].support is not None, "the tree knows the rows of its leaves"


def test_evidence_serves_as_rows_do() -> None:
    evidence = secateur.collect_evidence(MODEL, IRIS.data, IRIS.target, method="exact")
    rules = secateur.simplify(MODEL, evidence=evidence)
    whole = secateur.simplify(MODEL, IRIS.data, IRIS.target)
    assert {rule.text: rule.covered_support for rule in rules} == {rule.text: rule.covered_support for rule in whole}
    assert [rule.support for rule in rules] == [None] * len(rules), "only rows tell which line decides them"
    assert rules.lines[-1].support == whole.lines[-1].support
    with pytest.raises(InputError, match="these rules do not have: make them with simplify"):
        secateur.simplify(MODEL, evidence=evidence, budget=0.1)


@pytest.mark.parametrize("method", ["mismatch", "quinlan", "none", "faithful"])
def test_lines_are_chosen_from_rules_of_any_method(method: str) -> None:
    rules = secateur.simplify(MODEL, IRIS.data, IRIS.target, method=method, each_leaf=True)
    found = choose_lines(rules)
    assert len(found) < len(rules)
    for rule in found:
        assert rule.kept_ids == rules[rule.place].kept_ids, "it is the rule of its leaf"
    assert found.verify().ok
    if method in ("none", "faithful"):
        assert found.is_exact
        assert found.audit(IRIS.data, IRIS.target).agreement == 100
    assert found == secateur.simplify(MODEL, IRIS.data, IRIS.target, method=method)
    assert found.each_leaf == rules == rules.each_leaf


def test_what_is_not_understood_is_rejected_in_a_sentence() -> None:
    with pytest.raises(ParameterError, match=r"no setting 'budgett'. Did you mean 'budget'\?"):
        secateur.simplify(MODEL, budgett=0.1)
    with pytest.raises(InputError, match=r"'mismatch' judges deletions by training rows: pass X and y"):
        secateur.simplify(MODEL, method="mismatch")
    with pytest.raises(ParameterError, match="The method 'exact' reads no tolerance: leave tolerance out"):
        secateur.simplify(MODEL, tolerance=0.1, each_leaf=True)
    for sections in (0, -1, 2.0, True, "all"):
        with pytest.raises(ParameterError, match="Expected sections as a whole number from 1 on, or 'auto', found"):
            secateur.simplify(MODEL, sections=sections)
    for form in ({"sections": 2}, {"of": 0}):
        with pytest.raises(ParameterError, match="is for a list: leave it out, or leave out each_leaf=True"):
            secateur.simplify(MODEL, **form, each_leaf=True)
    with pytest.raises(ParameterError, match="'budget' is for a list: leave it out, or leave out each_leaf=True"):
        secateur.simplify(MODEL, IRIS.data, IRIS.target, budget=0.1, each_leaf=True)
    with pytest.raises(ParameterError, match="'otherwise' is for a list: leave it out, or leave out each_leaf=True"):
        secateur.simplify(MODEL, otherwise=0, each_leaf=True)
    with pytest.raises(ParameterError, match="each_leaf"):
        secateur.simplify(MODEL, each_leaf="yes")
    with pytest.raises(ParameterError, match="budget"):
        secateur.simplify(MODEL, budget=2)
    with pytest.raises(ParameterError, match="tolerance"):
        secateur.simplify(MODEL, tolerance=-1)
    forest = RandomForestClassifier(3, random_state=0).fit(IRIS.data, IRIS.target)
    with pytest.raises(InputError, match="is approximated by a list, from rows: pass X, or each_leaf=True"):
        secateur.simplify(forest)
    with pytest.raises(ParameterError, match="is approximated, and 'budget' is for one tree: leave it out"):
        secateur.simplify(forest, IRIS.data, IRIS.target, budget=0.01)
    with pytest.raises(ParameterError, match="and 'facts' is for one tree"):
        secateur.simplify(forest, IRIS.data, IRIS.target, facts=["`petal width (cm)` > 0"])
    unread: list[dict[str, Any]] = [{"method": "budgeted"}, {"domain_knowledge": False}, {"progress": print}]
    unread += [{"method": "mismatch", "tolerance": 0.1}, {"tolerance": 0.1}, {"sample_weight": np.ones(150)}]
    for settings in (*unread, {"max_columns": 2}, {"integers": [0]}, {"rf_tol": 0.1}, {"groups": {"a": [0, 1]}}):
        with pytest.raises(ParameterError, match=f"'{next(iter(settings))}' is for one tree|does not read"):
            secateur.simplify(forest, IRIS.data, IRIS.target, **settings)
    left_out = {"method": "exact", "domain_knowledge": np.True_, "budget": np.float64(0), "sections": "auto"}
    assert secateur.simplify(forest, IRIS.data, IRIS.target, **left_out).fidelity is not None
    with pytest.raises(InputError, match="X was passed without y"):
        secateur.simplify(MODEL, IRIS.data)


def test_several_trees_are_approximated() -> None:
    forest = RandomForestClassifier(10, random_state=0).fit(IRIS.data, IRIS.target)
    rules = secateur.simplify(forest, IRIS.data, IRIS.target, class_names=IRIS.target_names)
    assert rules == secateur.approximate(forest, IRIS.data, IRIS.target, class_names=IRIS.target_names)
    assert "These rules approximate a RandomForestClassifier" in str(rules)


def test_boosted_trees_of_other_libraries_are_approximated_and_one_tree_is_read() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    many, one = (
        lightgbm.LGBMClassifier(n_estimators=n, n_jobs=1, verbose=-1).fit(IRIS.data, IRIS.target > 0) for n in (5, 1)
    )
    assert secateur.simplify(many, IRIS.data, IRIS.target > 0).fidelity is not None
    assert secateur.simplify(one, IRIS.data, IRIS.target > 0).fidelity is None


@pytest.mark.long
def test_tables_give_what_rows_in_memory_give(tmp_path: Path) -> None:
    frame = IRIS.data.assign(species=IRIS.target, weight=1.0 + np.arange(150) % 3)
    path = tmp_path / "iris.parquet"
    frame.to_parquet(path, index=False)
    with duckdb.connect() as database:
        tables: list[Any] = [str(path), frame, (database, f"SELECT * FROM '{path}'")]
        for budget in (0.0, 0.02):
            whole = secateur.simplify(
                MODEL, IRIS.data, IRIS.target, sample_weight=frame["weight"].to_numpy(), budget=budget
            )
            for table in tables:
                found = secateur.simplify(MODEL, table, "species", sample_weight="weight", budget=budget)
                assert found.to_json() == whole.to_json()
                assert found.verify().ok


def test_predictions_are_written_with_the_number_of_otherwise(tmp_path: Path) -> None:
    rules = secateur.simplify(MODEL, IRIS.data, IRIS.target)
    to = tmp_path / "out.parquet"
    assert rules.write_predictions(IRIS.data, to) == 150
    written = pd.read_parquet(to)
    assert written["prediction"].tolist() == rules.predict(IRIS.data).tolist()
    line = rules.apply(IRIS.data)
    assert written["rule"].tolist() == (line + 1).tolist()
    assert written["share"].tolist() == [rules.lines[place].reliability for place in line]
    with duckdb.connect() as database:
        secateur.simplify(MODEL).write_predictions(IRIS.data, (database, "said"))
        found = database.execute("SELECT count(*), count(share) FROM said").fetchone()
        assert found is not None
        assert found[0] == 150


# --- the budget by folds --------------------------------------------------------------------------------------------


def test_the_largest_budget_under_the_ceiling_is_picked() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    found = secateur.select(model, X, y, grid=[0.0, 0.005, 0.02, 0.3], ceiling=0.02, cv=3, progress=False)
    assert (found.parameter, found.method, found.measure, found.ceiling) == ("budget", "exact", "difference", 0.02)
    by_value = {point.value: point for point in found.curve}
    assert by_value[0.0].difference == by_value[0.0].conflict == 0
    assert by_value[0.0].is_allowed
    assert not by_value[0.3].is_allowed
    allowed = [point for point in found.curve if point.is_allowed]
    assert by_value[found.value].removed == max(point.removed for point in allowed)
    assert "difference %" in str(found)
    assert found.to_frame("pandas")["difference"].tolist() == [point.difference for point in found.curve]
    assert found.plot().get_xlabel().startswith("answers that differ from the tree's")
    assert len(secateur.simplify(model.fit(X, y), X, y, budget=found.value)) > 0


def test_a_fold_is_what_one_would_measure_by_hand() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    train, test = np.arange(300), np.arange(300, len(X))

    class Once:
        def split(self, X: Any, y: Any) -> Any:
            return [(train, test)]

    settings: dict[str, Any] = {"grid": [0.02], "ceiling": 1.0, "min_accuracy_change": -1}
    found = secateur.select(model, X, y, **settings, cv=Once(), progress=False)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[train], y[train])
    rules = secateur.simplify(tree, X[train], y[train], budget=0.02)
    differs = rules.predict(X[test]) != tree.predict(X[test])
    point = found.curve[0]
    assert point.difference == pytest.approx(100 * differs.mean())
    assert point.removed == pytest.approx(100 - 100 * rules.n_conditions / rules.tree_conditions)


def test_a_ceiling_that_nothing_keeps_to_warns() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    with pytest.warns(UserWarning, match=r"the mean difference within 0.*'exact' without a budget changes no answer"):
        found = secateur.select(model, X, y, grid=[0.3, 0.4], ceiling=0.0, cv=2, progress=False)
    assert found.value == 0.3


def test_settings_of_another_parameter_are_rejected() -> None:
    data = IRIS.data, IRIS.target
    with pytest.raises(ParameterError, match="'exact' does not read max_conflict; 'budgeted' does"):
        secateur.select(MODEL, *data, max_conflict=0.1)
    with pytest.raises(ParameterError, match="'exact' does not read smoothing; 'budgeted' does"):
        secateur.select(MODEL, *data, smoothing=0)
    with pytest.raises(ParameterError, match=r"'otherwise' is for a list.*over='tolerance'"):
        secateur.select(MODEL, *data, over="tolerance", otherwise=0)
    with pytest.raises(ParameterError, match=r"over as one of budget, .*Did you mean 'budget'\?"):
        secateur.select(MODEL, *data, over="budgett")
    with pytest.raises(ParameterError, match="ceiling"):
        secateur.select(MODEL, *data, ceiling=2)


@pytest.mark.parametrize("budget", [0.01, 0.05])
def test_every_class_that_the_tree_predicts_keeps_a_line(budget: float) -> None:
    """A budget over all rows would give away the rare classes first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8_000, 6))
    risk = X[:, 0] + 0.7 * X[:, 1] + 0.3 * rng.normal(size=len(X))
    y = np.array(["paid", "late 30", "late 60", "default", "lost"])[np.searchsorted([1.6, 2.1, 2.5, 2.8], risk)]
    assert (y == "lost").mean() < 0.02
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    said = model.predict(X)
    rules = secateur.simplify(model, X, y, budget=budget)
    assert {line.prediction for line in rules.lines} == set(said) == set(y)
    for label in set(said):
        assert (rules.predict(X[said == label]) != label).mean() <= budget


def test_lists_of_many_budgets_are_those_of_each_alone() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2_000, 6))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 0).astype(int)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, each_leaf=True)
    budgets = (0.0, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03)  # some are steps on the way to others, some not
    for budget, together in zip(budgets, choose_lines_by_budget(rules, budgets), strict=True):
        assert together.to_json() == choose_lines(rules, budget=budget).to_json()


@pytest.mark.long
def test_many_rules_under_a_budget_are_verified() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 8))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    model = DecisionTreeClassifier(random_state=0, max_leaf_nodes=1_500).fit(X, y)
    rules = secateur.simplify(model, X, y, budget=0.001, tolerance=1, sections=1)
    assert len(rules) > 300
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secateur.rules.lines.FEW_RULES", 300)
        patch.setattr("secateur.verify.lists.FEW_RULES", 300)
        rules = secateur.simplify(model, X, y, budget=0.001, tolerance=1, sections=1)
        assert rules.verify(X, y).failures == ()


def test_of_many_classes_only_the_probability_of_the_answer_is_promised() -> None:
    builder = secateur.TreeBuilder(classes=["a", "b", "c"], feature_names=["x"])
    root = builder.split("x", 0)
    builder.leaf([11, 9, 0], parent=root, side="left")
    builder.leaf([11, 0, 9], parent=root, side="right")
    rules = secateur.simplify(builder.build())
    assert rules.predict_proba([[-1.0], [1.0]])[:, 0] == pytest.approx([0.55, 0.55])
    assert (
        "Compared with the tree, no answer changes, and its probability moves by no more than 10 points"
        in rules.to_text()
    )
