"""Regression trees of every library are read exactly: each row gets the very value that the library predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import secateur
from secateur.errors import SecateurError, UnsupportedModelError

X, Y = load_diabetes(return_X_y=True)
NAMES = [f"c{place}" for place in range(X.shape[1])]
FRAME = pd.DataFrame(X, columns=NAMES)


def probe(tree: secateur.Tree, rows: Any) -> Any:
    """Rows with the values of each threshold, and one float to either side, in turn."""
    found = [np.asarray(rows, dtype=np.float64)]
    kind = np.float32 if tree.dtype == "float32" else np.float64
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        limit = kind(tree.threshold[node])
        for value in (limit, np.nextafter(limit, kind(-np.inf)), np.nextafter(limit, kind(np.inf))):
            more = np.array(rows[:20], dtype=np.float64)
            more[:, tree.feature[node]] = value
            found.append(more)
    return np.concatenate(found)


def check(model: Any, predict: Any, rows: Any = X, **options: Any) -> secateur.Tree:
    """The tree says what the library says, on rows and beside every threshold; its list is within its tolerance."""
    tree = secateur.from_model(model, **options)
    assert tree.is_regression
    exact = secateur.simplify(tree, tolerance=0)
    probes = probe(tree, rows)
    assert np.array_equal(exact.predict(probes), np.asarray(predict(probes), dtype=np.float64))
    rules = secateur.simplify(model, rows, Y)
    assert np.abs(rules.predict(probes) - predict(probes)).max() <= rules.tolerance * (1 + 1e-9)
    assert rules.verify(rows, Y, model=model).ok
    return tree


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "gamma", "poisson", "quantile"])
def test_histogram_boosting_of_one_iteration(loss: str) -> None:
    options: dict[str, Any] = {"quantile": 0.7} if loss == "quantile" else {}
    model = HistGradientBoostingRegressor(max_iter=1, loss=loss, max_leaf_nodes=9, **options).fit(X, Y)
    tree = check(model, model.predict)
    assert tree.counts is not None
    assert tree.counts[0, 0] == len(Y)


def test_boosting_of_several_iterations_is_rejected() -> None:
    with pytest.raises(SecateurError, match="correct one another"):
        secateur.from_model(HistGradientBoostingRegressor(max_iter=2).fit(X, Y))


@pytest.mark.parametrize("objective", ["regression", "regression_l1", "huber", "quantile"])
def test_lightgbm(objective: str) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=1, objective=objective, num_leaves=9, verbose=-1).fit(X, Y)
    check(model, model.predict)
    check(model.booster_, model.predict)


@pytest.mark.parametrize("options", [{"objective": "poisson"}, {"objective": "tweedie"}, {"reg_sqrt": True}])
def test_lightgbm_that_predicts_a_function_of_its_leaves_is_rejected(options: dict[str, Any]) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=1, verbose=-1, **options).fit(X, Y)
    with pytest.raises(UnsupportedModelError, match="without reg_sqrt"):
        secateur.from_model(model)


@pytest.mark.parametrize(
    "objective", ["reg:squarederror", "reg:absoluteerror", "count:poisson", "reg:gamma", "reg:tweedie"]
)
def test_xgboost(objective: str) -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=1, objective=objective, max_depth=4).fit(X, Y)
    check(model, model.predict)
    check(model.get_booster(), model.predict)


@pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning")  # XGBoost says so from 3.4 on
def test_xgboost_forest_of_one_tree() -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRFRegressor(n_estimators=1, max_depth=4).fit(X, Y)
    check(model, model.predict)


@pytest.mark.parametrize("grow", ["SymmetricTree", "Lossguide"])
@pytest.mark.parametrize("loss", ["RMSE", "MAE", "Quantile:alpha=0.7"])
def test_catboost(grow: str, loss: str) -> None:
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(
        iterations=1, depth=3, grow_policy=grow, loss_function=loss, verbose=False, allow_writing_files=False
    ).fit(X, Y)
    check(model, model.predict)


def test_catboost_that_predicts_an_exponential_is_rejected() -> None:
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(iterations=1, loss_function="Poisson", verbose=False, allow_writing_files=False)
    with pytest.raises(UnsupportedModelError, match="for values with one of RMSE"):
        secateur.from_model(model.fit(X, Y))


def test_onnx() -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y)
    written = skl2onnx.to_onnx(model, X[:1].astype(np.float32), target_opset={"": 19, "ai.onnx.ml": 3})
    tree = secateur.adapters.read_onnx(written)
    session = runtime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
    probes = probe(tree, X).astype(np.float32)
    said = session.run(None, {session.get_inputs()[0].name: probes})[0].ravel()
    assert np.array_equal(secateur.simplify(tree, tolerance=0).predict(probes), said.astype(np.float64))


PMML = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><DataDictionary>
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="pay" optype="continuous" dataType="double"/>
</DataDictionary><TreeModel functionName="{kind}" splitCharacteristic="binarySplit">
<MiningSchema><MiningField name="pay" usageType="target"/><MiningField name="age"/></MiningSchema>{targets}
<Node score="20.5" recordCount="9"><True/>
<Node score="12.25" recordCount="4"><SimplePredicate field="age" operator="lessThan" value="30"/></Node>
<Node score="31" recordCount="5"><SimplePredicate field="age" operator="greaterOrEqual" value="30"/></Node>
</Node></TreeModel></PMML>"""


def test_pmml() -> None:
    tree = secateur.adapters.read_pmml(PMML.format(kind="regression", targets=""))
    assert secateur.simplify(tree, tolerance=0).predict([[29.99], [30.0]]).tolist() == [12.25, 31.0]
    rescaled = '<Targets><Target field="pay" rescaleFactor="2"/></Targets>'
    with pytest.raises(UnsupportedModelError, match="changes what is predicted"):
        secateur.adapters.read_pmml(PMML.format(kind="regression", targets=rescaled))
    with pytest.raises(UnsupportedModelError, match="classification or regression"):
        secateur.adapters.read_pmml(PMML.format(kind="clustering", targets=""))


@pytest.mark.long
def test_a_pipeline_is_read_in_the_columns_that_go_into_it() -> None:
    frame = FRAME.assign(town=np.where(X[:, 2] > 0, "Rome", np.where(X[:, 3] > 0, "Oslo", "Bern")))
    steps = make_column_transformer((OneHotEncoder(), ["town"]), (StandardScaler(), NAMES[:4]))
    model = make_pipeline(steps, DecisionTreeRegressor(max_depth=5, random_state=0)).fit(frame, Y)
    rules = secateur.simplify(model, frame, Y)
    assert np.abs(rules.predict(frame) - model.predict(frame)).max() <= rules.tolerance * (1 + 1e-9)
    assert rules.verify(model=model).ok
    assert set(rules.tree.feature_names or ()) >= {"town", "c0"}


@pytest.mark.parametrize(
    "how", [{"func": np.log, "inverse_func": np.exp}, {"transformer": QuantileTransformer(n_quantiles=99)}]
)
@pytest.mark.parametrize("is_pipeline", [False, True])
def test_a_transformed_target_is_read_in_its_own_units(how: dict[str, Any], is_pipeline: bool) -> None:
    tree = DecisionTreeRegressor(max_depth=4, random_state=0)
    inner = make_pipeline(StandardScaler(), tree) if is_pipeline else tree
    model = TransformedTargetRegressor(inner, **how).fit(X, Y)
    rules = secateur.simplify(model, X, Y, tolerance=0)
    assert np.array_equal(rules.predict(X), model.predict(X))
    assert secateur.simplify(model, X, Y).tolerance == pytest.approx(Y.std() / 4)


def test_a_target_whose_inverse_depends_on_its_neighbours_is_rejected() -> None:
    centred = FunctionTransformer(inverse_func=lambda y: y - y.mean(), check_inverse=False)
    model = TransformedTargetRegressor(DecisionTreeRegressor(max_depth=3), transformer=centred, check_inverse=False)
    with pytest.raises(UnsupportedModelError, match="one by one"):
        secateur.from_model(model.fit(X, Y))


def test_forests_and_several_outputs_are_rejected() -> None:
    with pytest.raises(SecateurError, match="averaged"):
        secateur.from_model(RandomForestRegressor(n_estimators=2).fit(X, Y), tree=0)
    with pytest.raises(UnsupportedModelError, match="2 outputs"):
        secateur.from_model(DecisionTreeRegressor(max_depth=2).fit(X, np.column_stack([Y, Y])))
