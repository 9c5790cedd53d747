from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threshold_rows import make_rows, rows_beside

import secateur
from secateur import Tree, from_model
from secateur.errors import ParameterError, UnsupportedModelError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree

xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed: pip install secateur[xgboost]")

# From 3.4 on XGBoost says so of classes that it still has, and of dart.
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning", "ignore:.*is deprecated:UserWarning")

SETTINGS = {"n_estimators": 1, "max_depth": 4, "min_child_weight": 0.0, "n_jobs": 1}
SEVERAL = {"objective": "multi:softprob", "num_class": 3, "multi_strategy": "multi_output_tree", "max_depth": 3}


def fit_one(X: Any, y: Any, **settings: Any) -> Any:
    return xgboost.XGBClassifier(**SETTINGS | settings).fit(X, y)


def labels_of(X: NDArray[Any], n_classes: int = 2) -> NDArray[Any]:
    return np.random.default_rng(1).permutation(np.arange(len(X)) % n_classes)


def reached_nodes(model: Any, rows: Any, number: int = 0) -> NDArray[Any]:
    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    matrix = xgboost.DMatrix(rows, enable_categorical=True)
    return booster.predict(matrix, pred_leaf=True).reshape(len(rows), -1)[:, number].astype(int)


def predicted(model: Any, rows: Any) -> list[Any]:
    if not isinstance(model, xgboost.Booster):
        return model.predict(rows).tolist()
    outputs = model.predict(xgboost.DMatrix(rows))
    return (outputs.argmax(axis=1) if outputs.ndim > 1 else (outputs > 0.5).astype(int)).tolist()


def assert_same(tree: Tree, model: Any, rows: Any) -> None:
    """Nodes have the numbers of pred_leaf, and the class is XGBoost's."""
    reached = apply_tree(tree, check_rows(tree, rows))
    assert reached.tolist() == reached_nodes(model, rows).tolist()
    assert tree.classes[tree.leaf_class[reached]].tolist() == predicted(model, rows)


def edit(model: Any, change: Any) -> Any:
    """A booster whose JSON was changed."""
    content = json.loads(model.get_booster().save_raw("json"))
    change(content["learner"])
    return xgboost.Booster(model_file=bytearray(json.dumps(content), "utf-8"))


@pytest.mark.parametrize("method", ["hist", "exact", "approx"])
@pytest.mark.parametrize(("seed", "missing"), [(0, 0.0), (1, 0.2)])
def test_predictions_and_leaves_equal_xgboosts_at_every_threshold(seed: int, missing: float, method: str) -> None:
    X = make_rows(seed, missing=missing)
    model = fit_one(X, labels_of(X), tree_method=method)
    assert from_model(model, X).accepts_missing.all() == (missing > 0 or method == "exact")
    tree = from_model(model, accepts_missing=True)
    assert tree.dtype == "float32"
    assert tree.counts is None
    assert tree.feature_names is None
    rows = rows_beside(tree, X)
    assert_same(tree, model, rows)
    assert_same(from_model(model.get_booster(), accepts_missing=True), model.get_booster(), rows)


def test_pruned_nodes_leave_no_gap() -> None:
    X = make_rows(2)
    model = fit_one(X, labels_of(X), tree_method="exact", gamma=2.0, max_depth=6)
    source = json.loads(model.get_booster().save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"][0]
    tree = from_model(model)
    n_deleted = int(source["tree_param"]["num_deleted"])
    assert n_deleted > 0
    assert tree.n_nodes == int(source["tree_param"]["num_nodes"]) - n_deleted
    rows = rows_beside(tree, X, per_value=1)
    reached, own = apply_tree(tree, check_rows(tree, rows)), reached_nodes(model, rows)
    pairs = sorted(set(zip(own.tolist(), reached.tolist(), strict=True)))
    assert [node for _, node in pairs] == sorted(node for _, node in pairs)
    assert len(pairs) == len(set(own.tolist())) == len(set(reached.tolist()))


def test_splits_between_missing_and_all_numbers() -> None:
    X = np.where(np.random.default_rng(0).random((300, 2)) < 0.3, np.nan, 3e38)
    X[:90] = np.finfo(np.float32).min
    X[90:120] = 0.0
    for y in (np.isnan(X[:, 0]).astype(int), np.isfinite(X[:, 0]).astype(int)):
        model = fit_one(X, y)
        tree = from_model(model, X)
        assert np.inf in tree.threshold
        assert_same(tree, model, X)
    below = edit(model, lambda learner: learner["gradient_booster"]["model"]["trees"][0].update(lowest(learner)))
    reversed_tree = from_model(below, accepts_missing=True)
    assert np.inf in reversed_tree.threshold
    assert_same(reversed_tree, below, X)


def lowest(learner: dict[str, Any]) -> dict[str, Any]:
    """The conditions of a tree whose first split sends no number left."""
    cuts = learner["gradient_booster"]["model"]["trees"][0]["split_conditions"]
    return {"split_conditions": [float(np.finfo(np.float32).min), *cuts[1:]]}


@pytest.mark.parametrize("step", [0, 1, 5, 6, 7, 8, 40])
def test_a_class_ends_where_xgboosts_rounding_ends_it(step: int) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))
    fitted = fit_one(X, (X[:, 0] > 0).astype(int), max_depth=1, base_score=0.5)
    value = step * 2.0**-26

    def change(learner: dict[str, Any]) -> None:
        tree = learner["gradient_booster"]["model"]["trees"][0]
        tree["split_conditions"] = [tree["split_conditions"][0], value, -value]

    model = edit(fitted, change)
    assert_same(from_model(model), model, X)


def test_the_starting_score_counts() -> None:
    X = make_rows(3)
    y = (np.arange(len(X)) % 10 == 0).astype(int)
    model = fit_one(X, y, max_depth=2, learning_rate=0.1)
    tree = from_model(model)
    assert_same(tree, model, X)
    assert tree.leaf_class[tree.is_leaf].max() == 0  # the leaves alone would say otherwise


@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_a_tree_with_a_value_for_each_class(objective: str) -> None:
    X = make_rows(4, missing=0.1)
    y = labels_of(X, 3)
    model = xgboost.train(SEVERAL | {"objective": objective}, xgboost.DMatrix(X, y), 1)
    tree = from_model(model, X)
    rows = rows_beside(tree, X)
    reached = apply_tree(tree, check_rows(tree, rows))
    outputs = model.predict(xgboost.DMatrix(rows))
    assert reached.tolist() == reached_nodes(model, rows).tolist()
    assert tree.leaf_class[reached].tolist() == (outputs.argmax(axis=1) if outputs.ndim > 1 else outputs).tolist()
    assert len(set(tree.leaf_class[reached].tolist())) == 3
    wrapped = fit_one(X, y, multi_strategy="multi_output_tree")
    assert_same(from_model(wrapped, X), wrapped, X)

    def level(learner: dict[str, Any]) -> None:
        tree = learner["gradient_booster"]["model"]["trees"][0]
        tree["leaf_weights"] = [0.25] * len(tree["leaf_weights"])
        learner["learner_model_param"]["base_score"] = "[0E0,0E0,0E0]"

    tied = edit(wrapped, level)
    assert_same(from_model(tied, X), tied, X)


def test_a_named_tree_of_a_random_forest() -> None:
    X = make_rows(5, missing=0.1)
    shares = np.where(np.nan_to_num(X[:, 0]) > 1, 0.7, 0.1)
    y = (np.random.default_rng(0).random(len(X)) < shares).astype(int)
    model = xgboost.XGBRFClassifier(n_estimators=3, max_depth=4, n_jobs=1, random_state=0).fit(X, y)
    source = json.loads(model.get_booster().save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
    with pytest.raises(UnsupportedModelError, match=r"has 3 trees\. Name the one to read.*tree=0"):
        from_model(model)
    start = float(model.get_booster().predict(xgboost.DMatrix(X[:1]), output_margin=True)[0])
    start -= sum(source[k]["split_conditions"][reached_nodes(model, X[:1], k)[0]] for k in range(3))
    for number in range(3):
        tree = from_model(model, tree=number)
        rows = rows_beside(tree, X, per_value=2)
        reached = apply_tree(tree, check_rows(tree, rows))
        assert reached.tolist() == reached_nodes(model, rows, number).tolist()
        values = np.array(source[number]["split_conditions"])[reached]
        margins = start + 3 * values
        assert ((start + values > 0) != (margins > 0)).any()
        assert np.abs(margins).min() > 1e-4
        assert tree.leaf_class[reached].tolist() == (margins > 0).astype(int).tolist()
    single = xgboost.XGBRFClassifier(n_estimators=1, max_depth=4, n_jobs=1).fit(X, y)
    assert_same(from_model(single, X), single, X)


@pytest.mark.parametrize("one_hot", [1, 9])
def test_categorical_columns_of_a_frame_are_read_by_their_labels(one_hot: int) -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "much": generator.normal(size=400),
            "town": pd.Categorical(generator.choice(["Oslo", "Rome", "", "Bern B", "Ulm"], size=400)),
            "code": pd.Categorical(generator.choice([3, 5, -70], size=400)),
        }
    )
    for column in frame:
        frame.loc[generator.random(400) < 0.1, column] = None
    points = 1.0 * frame["town"].isin(["Rome", ""]) + (frame["code"] == 5)
    y = (points + frame["much"].fillna(1) > 1).astype(int)
    model = fit_one(frame, y, enable_categorical=True, max_cat_to_onehot=one_hot)
    tree = from_model(model, frame)
    assert tree.categories == (None, ("", "Bern B", "Oslo", "Rome", "Ulm"), (-70, 3, 5))
    assert set(tree.feature[~tree.is_leaf].tolist()) == {0, 1, 2}
    other_order = frame.assign(town=frame["town"].cat.reorder_categories(["Ulm", "Rome", "Oslo", "Bern B", ""]))
    for rows in (frame, other_order):
        assert_same(tree, model, rows)
    rules = secateur.simplify(model, frame, y, method="exact", each_leaf=True)
    assert rules.predict(frame).tolist() == model.predict(frame).tolist()
    assert rules.verify().ok


def test_a_pipeline_is_read_in_the_columns_before_it() -> None:
    X = make_rows(6, missing=0.1)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 2], "town": np.array(["Oslo", "Rome", "Ulm"])[np.arange(len(X)) % 3]})
    y = ((frame["a"] > 0) ^ (frame["town"] == "Rome")).astype(int)
    for sparse in (False, True):
        encode = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore", sparse_output=sparse), ["town"]),
            remainder="passthrough",
            sparse_threshold=float(sparse),
        )
        model = make_pipeline(encode, xgboost.XGBClassifier(**SETTINGS)).fit(frame, y)
        if sparse:
            for rows in (frame, None):
                with pytest.raises(UnsupportedModelError, match=r"make a sparse matrix.*sparse_output=False"):
                    from_model(model, rows)
            continue
        rules = secateur.simplify(model, frame, y, method="exact", each_leaf=True)
        rows = pd.concat([frame, frame.iloc[::5].assign(town="Bern")], ignore_index=True)
        assert rules.predict(rows).tolist() == model.predict(rows).tolist()
        assert rules.verify().ok


def test_rules_are_made_and_verified() -> None:
    X = make_rows(7, missing=0.1)
    y = labels_of(X)
    model = fit_one(X, y)
    forest = xgboost.XGBRFClassifier(n_estimators=2, max_depth=4, n_jobs=1).fit(X, y)
    several = fit_one(X, labels_of(X, 3), multi_strategy="multi_output_tree")
    for source, wanted, own in (
        (model, y, model),
        (model.get_booster(), y, model),
        (several, labels_of(X, 3), several),
    ):
        rules = secateur.simplify(source, X, wanted, method="exact", each_leaf=True)
        assert rules.verify().ok
        assert rules.predict(X).tolist() == own.predict(X).tolist()
    named = from_model(forest, X, tree=1)
    assert secateur.simplify(named, X, y, method="exact", each_leaf=True).verify().ok


def test_the_trees_that_predict_uses_are_the_trees_that_count() -> None:
    X = make_rows(8)
    y = labels_of(X)
    model = xgboost.XGBClassifier(**SETTINGS | {"n_estimators": 20, "learning_rate": 1.0}, early_stopping_rounds=2)
    model.fit(X, y, eval_set=[(X, 1 - y)], verbose=False)
    assert model.best_iteration == 0
    tree = from_model(model)
    reached = apply_tree(tree, check_rows(tree, X))
    assert tree.leaf_class[reached].tolist() == model.predict(X).tolist()
    with pytest.raises(UnsupportedModelError, match=r"This Booster has 3 trees, and each corrects those before it"):
        from_model(model.get_booster())


def test_a_number_that_stands_for_missing() -> None:
    X = np.abs(make_rows(9)[:, [0, 2]]) + 1
    X[::4, 0] = -999
    agreeing = fit_one(X, (X[:, 0] < 3).astype(int), missing=-999, max_depth=1)
    tree = from_model(agreeing)
    reached = apply_tree(tree, check_rows(tree, X))
    assert tree.leaf_class[reached].tolist() == agreeing.predict(X).tolist()
    with pytest.raises(UnsupportedModelError, match=r"'f0' treats -999 as missing.*Write missing values as NaN"):
        from_model(fit_one(X, (X[:, 0] > 2).astype(int) | (X[:, 0] < 0), missing=-999, max_depth=1))
    frame = pd.DataFrame({"code": pd.Categorical((np.arange(len(X)) % 3).astype(str))})
    coded = fit_one(frame, (frame["code"] == "1").astype(int), missing=1, enable_categorical=True)
    with pytest.raises(UnsupportedModelError, match=r"'code' is split by category, and 1 stands for a missing value"):
        from_model(coded)


def test_what_cannot_be_read_is_rejected_with_a_sentence() -> None:
    X = make_rows(10)
    y = labels_of(X)
    with pytest.raises(UnsupportedModelError, match=r"This XGBClassifier is not fitted yet\. Call fit first"):
        from_model(xgboost.XGBClassifier())
    with pytest.raises(UnsupportedModelError, match=r"This Booster is not fitted yet\. Train it first"):
        from_model(xgboost.Booster())
    for tree in (None, 0):
        with pytest.raises(UnsupportedModelError, match=r"has 5 trees, and each corrects those before it"):
            from_model(fit_one(X, y, n_estimators=5), tree=tree)
    with pytest.raises(UnsupportedModelError, match=r"has 4 trees, and each corrects"):
        from_model(fit_one(X, y, n_estimators=2, num_parallel_tree=2), tree=0)
    with pytest.raises(ParameterError, match=r"found 1: it has one tree, number 0"):
        from_model(fit_one(X, y), tree=1)
    with pytest.raises(UnsupportedModelError, match=r"one tree for each class.*multi_strategy='multi_output_tree'"):
        from_model(fit_one(X, labels_of(X, 3)))
    two = xgboost.XGBRegressor(**SETTINGS, multi_strategy="multi_output_tree").fit(X, np.column_stack([y, 1 - y]))
    with pytest.raises(UnsupportedModelError, match=r"one class, found the objective 'reg:squarederror' with 2 target"):
        from_model(two)
    with pytest.raises(UnsupportedModelError, match=r"one class, found the objective 'binary:logistic' with 2 target"):
        from_model(fit_one(X, np.column_stack([y, 1 - y]), multi_strategy="multi_output_tree"))
    with pytest.raises(UnsupportedModelError, match=r"'multi:softprob' on 2 classes\. Fit it with 'binary:logistic'"):
        from_model(xgboost.train(SEVERAL | {"num_class": 2}, xgboost.DMatrix(X, y), 1))
    linear = xgboost.train({"booster": "gblinear", "objective": "binary:logistic"}, xgboost.DMatrix(X, y), 1)
    with pytest.raises(UnsupportedModelError, match=r"fitted with booster='gblinear'"):
        from_model(linear)
    codes = xgboost.DMatrix(np.abs(X[:, :1]), y, feature_types=["c"], enable_categorical=True)
    with pytest.raises(UnsupportedModelError, match=r"'f0' holds numbers, but is split by category"):
        from_model(xgboost.train({"objective": "binary:logistic"}, codes, 1))
    frame = pd.DataFrame({"town": pd.Categorical(np.array(["Köln", "Ulm"])[y])})
    with pytest.raises(UnsupportedModelError, match=r"'town' has a category that is not plain ASCII"):
        from_model(fit_one(frame, y, enable_categorical=True))


def test_trees_that_count_less_than_whole_are_rejected() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    settings = {"booster": "dart", "objective": "binary:logistic", "max_depth": 3}
    model = xgboost.train(settings, xgboost.DMatrix(X, X[:, 0] > 0), 1)
    stored = json.loads(model.save_raw("json"))
    if stored["learner"]["gradient_booster"]["name"] == "gbtree":  # from 3.4 on, with a weight for each round
        assert_same(from_model(model), model, X)
        stored["learner"]["gradient_booster"]["model"]["weight_drop"] = [0.5]
        model = xgboost.Booster(model_file=bytearray(json.dumps(stored), "utf-8"))
    with pytest.raises(UnsupportedModelError, match=r"fitted with booster='dart', which leaves trees out of the sum"):
        from_model(model)
