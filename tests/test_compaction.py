"""The function that makes compact rules: what it takes, what it refuses, and how its budget is picked."""

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

IRIS = load_iris(as_frame=True)
MODEL = DecisionTreeClassifier(max_depth=4, random_state=0).fit(IRIS.data, IRIS.target)


def test_no_rows_are_needed_and_nothing_changes() -> None:
    rules = secateur.compact(MODEL)
    assert rules.is_exact
    assert rules.predict(IRIS.data).tolist() == MODEL.predict(IRIS.data).tolist()
    assert rules.n_conditions < rules.source_n_conditions
    assert rules[0].decided_support is None
    assert rules.otherwise_support is not None, "the tree knows the rows of its leaves"


def test_evidence_serves_as_rows_do() -> None:
    evidence = secateur.collect_evidence(MODEL, IRIS.data, IRIS.target, method="exact")
    rules = secateur.compact(MODEL, evidence=evidence)
    whole = secateur.compact(MODEL, IRIS.data, IRIS.target)
    assert {rule.text: rule.support for rule in rules} == {rule.text: rule.support for rule in whole}
    assert rules.otherwise_support == whole.otherwise_support
    with pytest.raises(secateur.InputError, match="does not have: make it with simplify"):
        secateur.compact(MODEL, evidence=evidence, budget=0.1)


@pytest.mark.parametrize("method", ["mismatch", "quinlan", "none", "faithful"])
def test_rules_of_any_method_can_be_compacted(method: str) -> None:
    rules = secateur.simplify(MODEL, IRIS.data, IRIS.target, method=method)
    found = rules.compact()
    assert len(found) < len(rules)
    for rule in found:
        assert rule.kept_ids == rules[rule.source.index].kept_ids, "it is a rule of the set"
    assert found.verify().ok
    if method in ("none", "faithful"):
        assert found.is_exact
        assert found.audit(IRIS.data, IRIS.target).disagreement == 0


def test_what_is_not_understood_is_refused_in_a_sentence() -> None:
    with pytest.raises(secateur.ParameterError, match=r"no argument 'budgett'. Did you mean 'budget'\?"):
        secateur.compact(MODEL, budgett=0.1)
    with pytest.raises(secateur.ParameterError, match=r"starts from 'exact'.*simplify\(...\)\.compact\(\)"):
        secateur.compact(MODEL, method="faithful")
    with pytest.raises(secateur.ParameterError, match="budget"):
        secateur.compact(MODEL, budget=2)
    with pytest.raises(secateur.ParameterError, match="tolerance"):
        secateur.compact(MODEL, tolerance=-1)
    forest = RandomForestClassifier(3, random_state=0).fit(IRIS.data, IRIS.target)
    with pytest.raises(secateur.InputError, match=r"of several trees .* rows: secateur.approximate\(model, X\)"):
        secateur.compact(forest)
    with pytest.raises(secateur.ParameterError, match="is approximated, and budget is for one tree: leave it out"):
        secateur.compact(forest, IRIS.data, IRIS.target, budget=0.01)
    with pytest.raises(secateur.ParameterError, match="and facts is for one tree"):
        secateur.compact(forest, IRIS.data, IRIS.target, facts=["`petal width (cm)` > 0"])
    with pytest.raises(secateur.InputError, match="X was passed without y"):
        secateur.compact(MODEL, IRIS.data)


def test_several_trees_are_approximated() -> None:
    forest = RandomForestClassifier(10, random_state=0).fit(IRIS.data, IRIS.target)
    rules = secateur.compact(forest, IRIS.data, IRIS.target, class_names=IRIS.target_names)
    assert rules == secateur.approximate(forest, IRIS.data, IRIS.target, class_names=IRIS.target_names)
    assert "These rules approximate a RandomForestClassifier" in str(rules)


def test_boosted_trees_of_other_libraries_are_approximated_and_one_tree_is_read() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    many, one = (
        lightgbm.LGBMClassifier(n_estimators=n, n_jobs=1, verbose=-1).fit(IRIS.data, IRIS.target > 0) for n in (5, 1)
    )
    assert secateur.compact(many, IRIS.data, IRIS.target > 0).fidelity is not None
    assert secateur.compact(one, IRIS.data, IRIS.target > 0).fidelity is None


def test_tables_give_what_rows_in_memory_give(tmp_path: Path) -> None:
    frame = IRIS.data.assign(species=IRIS.target, weight=1.0 + np.arange(150) % 3)
    path = tmp_path / "iris.parquet"
    frame.to_parquet(path, index=False)
    with duckdb.connect() as database:
        tables: list[Any] = [str(path), frame, (database, f"SELECT * FROM '{path}'")]
        for budget in (0.0, 0.02):
            whole = secateur.compact(
                MODEL, IRIS.data, IRIS.target, sample_weight=frame["weight"].to_numpy(), budget=budget
            )
            for table in tables:
                found = secateur.compact(MODEL, table, "species", sample_weight="weight", budget=budget)
                assert found.to_json() == whole.to_json()
                assert found.verify().ok


def test_predictions_are_written_with_the_number_of_otherwise(tmp_path: Path) -> None:
    rules = secateur.compact(MODEL, IRIS.data, IRIS.target)
    to = tmp_path / "out.parquet"
    assert rules.write_predictions(IRIS.data, to) == 150
    written = pd.read_parquet(to)
    assert written["prediction"].tolist() == rules.predict(IRIS.data).tolist()
    number = rules.apply(IRIS.data) % (len(rules) + 1) + 1
    assert written["rule"].tolist() == number.tolist()
    share = [*(rule.reliability for rule in rules), rules.otherwise_reliability]
    assert written["reliability"].tolist() == [share[place - 1] for place in number]
    with duckdb.connect() as database:
        secateur.compact(MODEL).write_predictions(IRIS.data, (database, "said"))
        found = database.execute("SELECT count(*), count(reliability) FROM said").fetchone()
        assert found is not None
        assert found[0] == 150


# --- the budget by folds --------------------------------------------------------------------------------------------


def test_the_largest_budget_under_the_ceiling_is_picked() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    found = secateur.select_budget(
        *(model, X, y), form="compact", grid=[0.0, 0.005, 0.02, 0.3], max_disagreement=0.02, cv=3, progress=False
    )
    assert (found.parameter, found.method, found.max_conflict, found.max_disagreement) == (
        *("budget", "compact", None),
        0.02,
    )
    by_value = {point.value: point for point in found.curve}
    assert by_value[0.0].disagreement == 0
    assert by_value[0.0].is_allowed
    assert not by_value[0.3].is_allowed
    allowed = [point for point in found.curve if point.is_allowed]
    assert by_value[found.value].removed == max(point.removed for point in allowed)
    assert "disagreement %" in str(found)
    assert found.to_frame("pandas")["conflict"].isna().all()
    assert found.plot().get_xlabel().startswith("decided otherwise than by the tree")
    assert len(secateur.compact(model.fit(X, y), X, y, budget=found.value)) > 0


def test_a_fold_is_what_one_would_measure_by_hand() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    train, test = np.arange(300), np.arange(300, len(X))

    class Once:
        def split(self, X: Any, y: Any) -> Any:
            return [(train, test)]

    settings: dict[str, Any] = {"form": "compact", "grid": [0.02], "max_disagreement": 1.0, "min_accuracy_change": -1}
    found = secateur.select_budget(model, X, y, **settings, cv=Once(), progress=False)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[train], y[train])
    rules = secateur.compact(tree, X[train], y[train], budget=0.02)
    differs = rules.predict(X[test]) != tree.predict(X[test])
    point = found.curve[0]
    assert point.disagreement == pytest.approx(100 * differs.mean())
    assert point.removed == pytest.approx(100 - 100 * rules.n_conditions / rules.source_n_conditions)


def test_a_ceiling_that_nothing_keeps_to_warns() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    with pytest.warns(UserWarning, match=r"keeps the mean disagreement within 0.*A budget of 0 changes no answer"):
        found = secateur.select_budget(
            *(model, X, y), form="compact", grid=[0.3, 0.4], max_disagreement=0.0, cv=2, progress=False
        )
    assert found.value == 0.3


def test_settings_of_the_other_form_are_refused() -> None:
    data = IRIS.data, IRIS.target
    with pytest.raises(secateur.ParameterError, match="max_conflict is for form='each-leaf'"):
        secateur.select_budget(MODEL, *data, form="compact", max_conflict=0.1)
    with pytest.raises(secateur.ParameterError, match="smoothing is for form='each-leaf'"):
        secateur.select_budget(MODEL, *data, form="compact", smoothing=0)
    with pytest.raises(secateur.ParameterError, match="max_disagreement is for form='compact'"):
        secateur.select_budget(MODEL, *data, max_disagreement=0.1)
    with pytest.raises(secateur.ParameterError, match=r"'each-leaf' or 'compact'.*Did you mean 'compact'\?"):
        secateur.select_budget(MODEL, *data, form="compakt")
    with pytest.raises(secateur.ParameterError, match="max_disagreement"):
        secateur.select_budget(MODEL, *data, form="compact", max_disagreement=2)
