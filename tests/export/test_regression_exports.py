"""Regression rules that are written out and run elsewhere give the values of ``predict``, beside every limit too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import secateur

X, Y = load_diabetes(return_X_y=True, as_frame=True)
HOLES = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
TOWNS = X.assign(town=np.where(X.bmi > 0, "Rome", np.where(X.bp > 0, "Oslo", "Bern")))


def make(kind: str, **settings: Any) -> tuple[secateur.Rules, pd.DataFrame]:
    tree = DecisionTreeRegressor(max_depth=4, random_state=0)
    if kind == "towns":
        steps = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
        return secateur.simplify(make_pipeline(steps, tree).fit(TOWNS, Y), TOWNS, Y, **settings), TOWNS
    rows = HOLES if kind == "holes" else X
    return secateur.simplify(tree.fit(rows, Y), rows, Y, **settings), rows


@pytest.fixture(params=["plain", "holes", "towns"])
def kind(request: Any) -> str:
    return str(request.param)


@pytest.fixture(params=[{}, {"each_leaf": True}, {"budget": 0.05}], ids=["list", "each leaf", "budget"])
def settings(request: Any) -> dict[str, Any]:
    return dict(request.param)


def test_python(kind: str, settings: dict[str, Any]) -> None:
    rules, rows = make(kind, **settings)
    said = rules.predict(rows)
    one: dict[str, Any] = {}
    exec(rules.to_python(), one)
    assert [one["predict"](row)[0] for row in rows.to_dict("records")] == said.tolist()
    many: dict[str, Any] = {}
    exec(rules.to_python(vectorized=True), many)
    assert many["predict"](rows)[0].tolist() == said.tolist()


def test_sql(kind: str, settings: dict[str, Any]) -> None:
    duckdb = pytest.importorskip("duckdb")
    rules, rows = make(kind, **settings)
    connection = duckdb.connect()
    connection.register("rows", rows.reset_index())
    said = connection.execute(rules.to_sql()).df().sort_values("index")
    assert said["prediction"].tolist() == rules.predict(rows).tolist()
    assert (said["rule"] - 1).tolist() == rules.apply(rows).tolist()


def test_onnx(settings: dict[str, Any]) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    rules, rows = make("plain", **settings)
    session = runtime.InferenceSession(rules.to_onnx(), providers=["CPUExecutionProvider"])
    given = {one.name: rows[[one.name]].to_numpy(dtype=np.float32) for one in session.get_inputs()}
    assert session.run(["prediction"], given)[0].tolist() == rules.predict(rows.astype(np.float32)).tolist()


def test_pmml(pypmml: Any, settings: dict[str, Any]) -> None:
    rules, rows = make("plain", **settings)
    said = pypmml.Model.fromString(rules.to_pmml()).predict(rows)
    assert said.iloc[:, 0].astype(float).tolist() == rules.predict(rows).tolist()  # the other column is the node


def test_a_solver_finds_no_row_beyond_the_tolerance(kind: str) -> None:
    z3 = pytest.importorskip("z3")
    for form in ({}, {"each_leaf": True}):
        rules, _ = make(kind, **form)
        solver = z3.Solver()
        solver.from_string(rules.to_smtlib())
        assert str(solver.check()) == "unsat"
    loose, _ = make(kind, budget=0.2)
    solver = z3.Solver()
    solver.from_string(loose.to_smtlib())
    assert str(solver.check()) == "sat"


def test_texts_and_tables_carry_value_and_range() -> None:
    rules, _ = make("plain")
    for text in (rules.to_text(), rules.to_markdown(), rules.to_latex(), rules._repr_html_(), rules.plot().svg):
        assert "about" in text
    frame = rules.to_frame()
    assert frame["prediction"].tolist() == [line.prediction for line in rules.lines]
    assert {"least", "largest", "training_mean", "training_spread"} <= set(frame.columns)
    assert "if " in rules.to_text(nested=True)
    assert "leaves" in rules.plot_tree().svg


def test_tables_call_training_numbers_so_and_have_means_of_unseen_targets() -> None:
    rules, rows = make("plain")[0], X[:200]
    targets = np.arange(len(rows)) % 7.0
    measured = rules.measure(rows, targets)
    frame = measured.to_frame()
    assert {"support", "target_mean", "unseen_reliability", "unseen_low"}.isdisjoint(frame.columns)
    line = rules.apply(rows)
    for place in range(rules.n_lines):
        own = targets[line == place]
        assert frame["unseen_support"][place] == len(own)
        assert frame["unseen_mean"][place] == pytest.approx(own.mean() if len(own) else np.nan, nan_ok=True)
        assert frame["unseen_spread"][place] == pytest.approx(own.std() if len(own) else np.nan, nan_ok=True)
        assert (frame["held_up"][place] is None) == (len(own) < 5)
    assert frame["training_mean"].tolist() == [one.target_mean for one in rules.lines]


def test_predictions_are_written_as_numbers_without_a_share(tmp_path: Path, settings: dict[str, Any]) -> None:
    rules, rows = make("plain", **settings)
    assert rules.write_predictions(rows, tmp_path / "said.parquet") == len(rows)
    said = pd.read_parquet(tmp_path / "said.parquet")
    assert said["prediction"].tolist() == rules.predict(rows).tolist()
    assert (said["rule"] - 1).tolist() == rules.apply(rows).tolist()
    assert said["share"].isna().all()


def test_an_audit_of_numbers_shows_their_measures_in_a_notebook() -> None:
    rules, rows = make("plain")
    audit = rules.audit(rows, Y)
    shown = audit._repr_html_()
    assert "nan" not in shown
    assert "unknown" not in shown
    assert "right" not in shown
    assert f"at most {audit.max_distance:.4g}" in shown
    for number in (audit.mae, audit.tree_mae, audit.rmse, audit.tree_rmse, audit.baseline):
        assert f">{number:.4g}<" in shown
