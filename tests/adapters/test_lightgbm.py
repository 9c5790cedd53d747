from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threshold_rows import ZERO_GAP, make_rows, rows_beside

import secateur
from secateur import Tree, from_model
from secateur.errors import InputError, ParameterError, UnsupportedModelError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree

lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed: pip install secateur[lightgbm]")

QUIET = {"verbose": -1, "n_jobs": 1, "min_child_samples": 3, "min_child_weight": 0.0}


def fit_one(X: Any, y: Any, **settings: Any) -> Any:
    fit = {name: settings.pop(name) for name in ("categorical_feature",) if name in settings}
    return lightgbm.LGBMClassifier(n_estimators=1, **QUIET | settings).fit(X, y, **fit)


def labels_of(X: NDArray[Any]) -> NDArray[Any]:
    return np.random.default_rng(1).permutation(np.arange(len(X)) % 2)


def assert_same(tree: Tree, model: Any, rows: Any, **which: int) -> None:
    """Leaf i of LightGBM is node n_leaves - 1 + i, and the class is LightGBM's."""
    reached = apply_tree(tree, check_rows(tree, rows))
    assert (reached - (tree.n_leaves - 1)).tolist() == model.predict(rows, pred_leaf=True, **which).ravel().tolist()
    predicted = model.predict(rows, **which)
    if isinstance(model, lightgbm.Booster):
        predicted = (predicted > 0.5).astype(int)
    assert tree.classes[tree.leaf_class[reached]].tolist() == predicted.tolist()


@pytest.mark.parametrize(
    ("seed", "missing", "settings"),
    [
        (0, 0.0, {}),
        (1, 0.2, {}),
        (2, 0.2, {"use_missing": False}),
        (3, 0.0, {"min_data_in_bin": 1, "max_bin": 1000}),
        (4, 0.2, {"min_data_in_bin": 1, "num_leaves": 60}),
    ],
)
def test_predictions_and_leaves_equal_lightgbms_at_every_threshold(
    seed: int, missing: float, settings: dict[str, Any]
) -> None:
    X = make_rows(seed, missing=missing)
    model = fit_one(X, labels_of(X), **settings)
    shown = from_model(model)
    assert shown.accepts_missing.all() == (missing > 0 and "use_missing" not in settings)
    assert from_model(model, X).accepts_missing.all() == (missing > 0)
    tree = from_model(model, accepts_missing=True)
    assert tree.dtype == "float64"
    assert tree.counts is None
    assert tree.feature_names is None
    rows = rows_beside(tree, X)
    assert_same(tree, model, rows)
    assert_same(from_model(model.booster_, accepts_missing=True), model.booster_, rows)


def test_a_named_tree_of_a_random_forest_votes_as_it_does_alone() -> None:
    X = make_rows(5, missing=0.1)
    settings = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, "n_estimators": 3}
    model = lightgbm.LGBMClassifier(**QUIET | settings).fit(X, labels_of(X))
    trees = [from_model(model, tree=number) for number in range(3)]
    assert len({tree.to_json() for tree in trees}) == 3
    for number, tree in enumerate(trees):
        assert_same(tree, model, rows_beside(tree, X, per_value=2), start_iteration=number, num_iteration=1)
    with pytest.raises(UnsupportedModelError, match=r"has 3 trees\. Name the one to read.*tree=0"):
        from_model(model)
    for wrong in (3, -1, "1", 1.0, True):
        with pytest.raises(ParameterError, match=r"it has 3 trees, numbers 0 to 2"):
            from_model(model, tree=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("threshold", [0.0, -0.0, 1e-36, -1e-36, ZERO_GAP, -ZERO_GAP, 2e-35, -2e-35, 5e-324])
def test_numbers_near_zero_are_zero(threshold: float) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))
    text = fit_one(X, (X[:, 0] > 0).astype(int), num_leaves=2).booster_.model_to_string()
    text = re.sub(r"(?m)^threshold=.*$", f"threshold={threshold!r}", text)
    model = lightgbm.Booster(model_str=re.sub(r"(?m)^tree_sizes=.*\n", "", text))
    tree = from_model(model, accepts_missing=True)
    assert_same(tree, model, rows_beside(tree, X))


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-17, 1e-16, 2.5e-16, 4e-16, 1e-15, 800.0])
def test_a_class_ends_where_lightgbms_rounding_ends_it(value: float) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))
    model = fit_one(X, (X[:, 0] > 0).astype(int), num_leaves=2)
    for leaf, sign in enumerate((1, -1)):
        model.booster_.set_leaf_output(0, leaf, sign * value)
    assert_same(from_model(model), model, X)


def test_categorical_columns_of_a_frame_are_read_by_their_labels() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "how much": generator.normal(size=400),
            "town": pd.Categorical(generator.choice(["Oslo", "Rome", "Þórshöfn", "Bern", "Ulm"], size=400)),
            "size": pd.Categorical(generator.choice(["S", "M", "L"], size=400), ["S", "M", "L"], ordered=True),
            "code": pd.Categorical(generator.choice([3, 5, 70], size=400)),
        }
    )
    for column in frame:
        frame.loc[generator.random(400) < 0.1, column] = None
    points = 1.0 * frame["town"].isin(["Rome", "Ulm"]) + (frame["size"] == "L") + (frame["code"] == 5)
    y = np.where(points + frame["how much"].fillna(1) > 1, "yes", "no")
    model = fit_one(frame, y, min_data_per_group=1, cat_smooth=0.0, cat_l2=0.0, max_cat_to_onehot=2)
    tree = from_model(model, frame)
    assert tree.categories[1:3] == (("Bern", "Oslo", "Rome", "Ulm", "Þórshöfn"), ("S", "M", "L"))
    assert tree.feature_names == tuple(frame.columns)
    assert set(tree.feature[~tree.is_leaf].tolist()) == {0, 1, 2, 3}
    strange = frame.astype({"town": object})
    strange.loc[::3, "town"] = "Paris"
    for rows in (frame, strange.astype({"town": "category"}), strange.iloc[::3].astype({"town": "category"})):
        assert_same(tree, model, rows)
    rules = secateur.simplify(model, frame, y, method="exact", each_leaf=True)
    assert rules.predict(frame).tolist() == model.predict(frame).tolist()
    assert rules.verify().ok
    with pytest.raises(UnsupportedModelError, match=r"not which columns they are of\. Pass the training rows"):
        from_model(model)
    with pytest.raises(InputError, match=r"X has 2 categorical columns, but the model was fitted on 3"):
        from_model(model, frame.astype({"town": object}))
    with pytest.raises(InputError, match=r"out of order"):
        from_model(model, frame[["how much", "size", "town", "code"]])


def test_a_pipeline_is_read_in_the_columns_before_it() -> None:
    X = make_rows(6, missing=0.1)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 2], "town": np.array(["Oslo", "Rome", "Ulm"])[np.arange(len(X)) % 3]})
    y = np.where((frame["a"] > 0) ^ (frame["town"] == "Rome"), "yes", "no")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough", sparse_threshold=1.0
    )
    for settings in ({}, {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}):
        model = make_pipeline(encode, lightgbm.LGBMClassifier(n_estimators=1, **QUIET | settings)).fit(frame, y)
        rules = secateur.simplify(model, frame, y, method="exact", each_leaf=True)
        rows = pd.concat([frame, frame.iloc[::5].assign(town="Bern")], ignore_index=True)
        assert rules.tree.feature_names == ("a", "b", "town")
        assert rules.predict(rows).tolist() == model.predict(rows).tolist()
        assert rules.verify().ok


def test_rules_are_made_and_verified() -> None:
    X = make_rows(7, missing=0.1)
    y = labels_of(X)
    model = fit_one(X, y, num_leaves=12)
    for source in (model, model.booster_):
        rules = secateur.simplify(source, X, y, method="exact", each_leaf=True)
        assert rules.verify().ok
        assert rules.predict(X).tolist() == model.predict(X).tolist()
        assert rules.tree.counts is not None
        assert rules.tree.counts[0].tolist() == [100.0, 100.0]


def test_the_trees_that_predict_uses_are_the_trees_that_count() -> None:
    X = make_rows(8)
    y = labels_of(X)
    train = lightgbm.Dataset(X, y)
    model = lightgbm.train(
        {"objective": "binary", "learning_rate": 1.0, "verbose": -1, "num_threads": 1},
        train,
        20,
        valid_sets=[lightgbm.Dataset(X, 1 - y, reference=train)],
        callbacks=[lightgbm.early_stopping(1, verbose=False)],
        keep_training_booster=True,
    )
    assert model.best_iteration == 1 < model.current_iteration()
    assert_same(from_model(model), model, X)


def test_one_class_and_no_split() -> None:
    X = make_rows(9)
    model = fit_one(X, np.full(len(X), "only"))
    assert_same(from_model(model), model, X)
    assert from_model(model).classes.tolist() == ["only"]


def test_what_cannot_be_read_is_rejected_with_a_sentence() -> None:
    X = make_rows(10)
    y = labels_of(X)
    with pytest.raises(UnsupportedModelError, match=r"This LGBMClassifier is not fitted yet\. Call fit first"):
        from_model(lightgbm.LGBMClassifier())
    boosted = lightgbm.LGBMClassifier(n_estimators=5, **QUIET).fit(X, y)
    for tree in (None, 0):
        with pytest.raises(UnsupportedModelError, match=r"has 5 trees, and each corrects those before it"):
            from_model(boosted, tree=tree)
    assert from_model(fit_one(X, y), tree=0) == from_model(fit_one(X, y))
    with pytest.raises(ParameterError, match=r"found 1: it has one tree, number 0"):
        from_model(fit_one(X, y), tree=1)
    with pytest.raises(UnsupportedModelError, match=r"one tree for each of its 3 classes.*Fit it on two classes"):
        from_model(fit_one(X, np.arange(len(X)) % 3))
    with pytest.raises(UnsupportedModelError, match=r"objective 'binary', .*found 'cross_entropy'"):
        from_model(fit_one(X, y, objective="cross_entropy"))
    with pytest.raises(UnsupportedModelError, match=r"Fit it without linear_tree"):
        from_model(fit_one(X, y, linear_tree=True))
    with pytest.raises(UnsupportedModelError, match=r"'Column_0' holds numbers, but is split by category"):
        from_model(fit_one(np.abs(X[:, :1]), y, categorical_feature=[0], min_data_per_group=1, cat_smooth=0.0))
    gaps = np.random.default_rng(0).choice([-2.0, -1.0, 0.0, 1.0, 2.0], size=(200, 1))
    with pytest.raises(UnsupportedModelError, match=r"'Column_0' treats 0 as missing.*without zero_as_missing"):
        from_model(fit_one(gaps, (gaps[:, 0] == 0).astype(int), zero_as_missing=True))
