from __future__ import annotations

import json
from pathlib import Path
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
from secateur.errors import InputError, ParameterError, UnsupportedModelError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree

catboost = pytest.importorskip("catboost", reason="catboost is not installed: pip install secateur[catboost]")

SETTINGS = {"iterations": 1, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
GROWTH = ["SymmetricTree", "Depthwise", "Lossguide"]


def fit_one(X: Any, y: Any, **settings: Any) -> Any:
    return catboost.CatBoostClassifier(**SETTINGS | settings).fit(X, y)


def labels_of(X: NDArray[Any], n_classes: int = 2) -> NDArray[Any]:
    return np.random.default_rng(1).permutation(np.arange(len(X)) % n_classes)


def assert_same(tree: Tree, model: Any, rows: Any) -> None:
    """Leaf i of CatBoost is node n_leaves - 1 + i, and the class is CatBoost's."""
    reached = apply_tree(tree, check_rows(tree, rows))
    assert (reached - (tree.n_leaves - 1)).tolist() == model.calc_leaf_indexes(rows).ravel().tolist()
    predicted = model.predict(rows, prediction_type="Class").ravel().tolist()
    assert tree.classes[tree.leaf_class[reached]].tolist() == predicted


def edit(model: Any, folder: Path, change: Any) -> Any:
    """A model whose JSON was changed."""
    path = folder / "model.json"
    model.save_model(str(path), format="json")
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return catboost.CatBoostClassifier().load_model(str(path), format="json")


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize(("seed", "missing", "nan_mode"), [(0, 0.0, "Min"), (1, 0.2, "Min"), (2, 0.2, "Max")])
def test_predictions_and_leaves_equal_catboosts_at_every_threshold(
    seed: int, missing: float, nan_mode: str, growth: str
) -> None:
    X = make_rows(seed, missing=missing)
    model = fit_one(X, labels_of(X), grow_policy=growth, nan_mode=nan_mode, depth=5)
    assert from_model(model).accepts_missing.all() == (missing > 0)
    tree = from_model(model, accepts_missing=True)
    assert tree.dtype == "float32"
    assert tree.counts is None
    assert tree.feature_names is None
    assert_same(tree, model, rows_beside(tree, X))


@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize("loss", ["MultiClass", "MultiClassOneVsAll"])
def test_a_tree_with_a_value_for_each_class(loss: str, growth: str) -> None:
    X = make_rows(3, missing=0.1)
    y = np.array(["low", "middle", "high"])[labels_of(X, 3)]
    if (loss, growth) == ("MultiClassOneVsAll", "SymmetricTree"):
        y = y[::-1]  # no two trees alike
    model = fit_one(X, y, loss_function=loss, grow_policy=growth)
    tree = from_model(model)
    assert tree.classes.tolist() == ["high", "low", "middle"]
    assert_same(tree, model, rows_beside(tree, X, per_value=2))


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-17, 0.1])
@pytest.mark.parametrize(("scale", "bias"), [(1.0, 0.0), (1.0, -0.1), (3.0, -0.3)])
def test_a_class_ends_where_catboosts_rounding_ends_it(value: float, scale: float, bias: float, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))

    def change(content: dict[str, Any]) -> None:
        content["oblivious_trees"][0]["leaf_values"] = [value, -value]
        content["scale_and_bias"] = [scale, [bias]]

    model = edit(fit_one(X, (X[:, 0] > 0).astype(int), depth=1), tmp_path, change)
    assert_same(from_model(model), model, X)


def test_the_first_of_equals_is_predicted(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))

    def change(content: dict[str, Any]) -> None:
        content["oblivious_trees"][0]["leaf_values"] = [0.1, 0.2, 0.2, 0.3, 0.3, 0.3]

    model = edit(fit_one(X, np.arange(60) % 3, depth=1), tmp_path, change)
    tree = from_model(model)
    assert_same(tree, model, X)
    assert tree.leaf_class.tolist() == [-1, 1, 0]


def test_leaves_that_no_row_reaches_stay() -> None:
    X = np.arange(60.0).reshape(-1, 1)
    y = (X[:, 0] // 20 == 1).astype(int)
    model = fit_one(X, y)
    tree = from_model(model)
    assert tree.n_leaves == 4 > len(set(apply_tree(tree, check_rows(tree, X)).tolist()))
    assert_same(tree, model, rows_beside(tree, X))
    rules = secateur.simplify(model, X, y, method="exact", each_leaf=True)
    assert rules.verify().ok
    assert rules.predict(X).tolist() == model.predict(X).tolist()


def test_one_hot_splits_are_read_by_the_labels_of_the_rows() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "much": generator.normal(size=400),
            "town": generator.choice(["Oslo", "Rome", "Þórshöfn", "", "3"], size=400),
            "size": pd.Categorical(generator.choice(["S", "M", "L"], size=400)),
        }
    )
    points = 1.0 * frame["town"].isin(["Rome", "3"]) + (frame["size"] == "L")
    y = (points + frame["much"] > 1).astype(int)
    strange = frame.astype({"size": object})
    strange.loc[::3, "town"] = "Paris"
    strange.loc[::4, "size"] = "XL"
    for growth in GROWTH:
        model = fit_one(frame, y, cat_features=["town", "size"], one_hot_max_size=9, grow_policy=growth, depth=5)
        tree = from_model(model, frame)
        assert tree.categories == (None, ("", "3", "Oslo", "Rome", "Þórshöfn"), ("L", "M", "S"))
        assert len(set(tree.feature[~tree.is_leaf].tolist())) == 3
        for rows in (frame, strange):
            assert_same(tree, model, rows)
    rules = secateur.simplify(model, frame, y, method="exact", each_leaf=True)
    assert rules.predict(strange).tolist() == model.predict(strange).tolist()
    assert rules.verify().ok
    with pytest.raises(UnsupportedModelError, match=r"hashes of categories, but not their labels\. Pass the training"):
        from_model(model)
    with pytest.raises(InputError, match=r"X does not hold every category of the column"):
        from_model(model, frame.iloc[:1])
    with pytest.raises(InputError, match=r"The columns of X do not fit the model: out of order"):
        from_model(model, frame[["town", "much", "size"]])
    with pytest.raises(InputError, match=r"CatBoost rejects X: .*NaN"):
        from_model(model, frame.assign(town=np.nan))
    numbered = frame.assign(town=np.arange(400) % 3)
    with pytest.raises(UnsupportedModelError, match=r"'town' has the category 0, .* same as '0'\. Convert"):
        from_model(fit_one(numbered, y, cat_features=["town", "size"], one_hot_max_size=9, depth=5), numbered)


def test_a_categorical_column_that_no_split_tests_may_hold_anything() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"town": generator.choice(["Oslo", "Rome"], size=200), "much": generator.normal(size=200)})
    model = fit_one(frame, (frame["much"] > 0).astype(int), cat_features=["town"], depth=1)
    tree = from_model(model)
    assert tree.feature_names == ("town", "much")
    assert_same(tree, model, frame)


def test_a_pipeline_is_read_in_the_columns_before_it() -> None:
    X = make_rows(6, missing=0.1)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 2], "town": np.array(["Oslo", "Rome", "Ulm"])[np.arange(len(X)) % 3]})
    y = np.where((frame["a"] > 0) ^ (frame["town"] == "Rome"), "yes", "no")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough", sparse_threshold=1.0
    )
    model = make_pipeline(encode, catboost.CatBoostClassifier(**SETTINGS)).fit(frame, y)
    rules = secateur.simplify(model, frame, y, method="exact", each_leaf=True)
    rows = pd.concat([frame, frame.iloc[::5].assign(town="Bern")], ignore_index=True)
    assert rules.predict(rows).tolist() == model.predict(rows).tolist()
    assert rules.verify().ok


def test_rules_are_made_and_verified() -> None:
    X = make_rows(7, missing=0.1)
    y = labels_of(X)
    plain = catboost.CatBoost(SETTINGS | {"loss_function": "Logloss"}).fit(X, y)
    models = [plain, fit_one(X, y, grow_policy="Lossguide"), fit_one(X, labels_of(X, 3))]
    for model, wanted in zip(models, [y, y, labels_of(X, 3)], strict=True):
        rules = secateur.simplify(model, X, wanted, method="exact", each_leaf=True)
        assert rules.verify().ok
        assert rules.predict(X).tolist() == model.predict(X, prediction_type="Class").ravel().tolist()


def test_a_tree_without_a_split() -> None:
    X = np.zeros((20, 1))
    for growth in GROWTH:
        model = fit_one(np.random.default_rng(0).normal(size=(20, 1)), np.arange(20) % 2, grow_policy=growth, depth=0)
        tree = from_model(model)
        assert tree.n_nodes == 1
        assert tree.classes[tree.leaf_class[[0] * 20]].tolist() == model.predict(X).tolist()


def test_what_cannot_be_read_is_rejected_with_a_sentence() -> None:
    X = make_rows(10)
    y = labels_of(X)
    with pytest.raises(UnsupportedModelError, match=r"This CatBoostClassifier is not fitted yet\. Call fit first"):
        from_model(catboost.CatBoostClassifier())
    for tree in (None, 0):
        with pytest.raises(UnsupportedModelError, match=r"has 5 trees, and each corrects those before it"):
            from_model(fit_one(X, y, iterations=5), tree=tree)
    with pytest.raises(ParameterError, match=r"found 1: it has one tree, number 0"):
        from_model(fit_one(X, y), tree=1)
    with pytest.raises(UnsupportedModelError, match=r"one of the losses .*, found 'Poisson' with 0 classes"):
        from_model(catboost.CatBoost(SETTINGS | {"loss_function": "Poisson"}).fit(X, y))
    decided = fit_one(X, y)
    decided.set_probability_threshold(0.7)
    with pytest.raises(UnsupportedModelError, match=r"another probability than 0\.5"):
        from_model(decided)
    frame = pd.DataFrame({"town": np.array(["Oslo", "Rome", "Ulm", "Bern"])[np.arange(len(X)) % 4]})
    with pytest.raises(UnsupportedModelError, match=r"splits by statistics .* raise one_hot_max_size"):
        from_model(fit_one(frame, (frame["town"] == "Ulm").astype(int), cat_features=["town"]), frame)
