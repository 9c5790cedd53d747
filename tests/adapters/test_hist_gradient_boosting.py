from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import secateur
from secateur import Tree, from_model
from secateur.adapters.reading import is_forest
from secateur.errors import UnsupportedModelError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree

TOWNS = ["Bonn", "Lima", "Oslo", "Rome", "Ulm"]


def fit(X: Any, y: Any, **options: Any) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        **{"max_iter": 1, "learning_rate": 1.0, "min_samples_leaf": 5, **options}
    ).fit(X, y)


def walk(model: Any, X: Any) -> list[int]:
    """The leaf of each row, by the model's own arrays, one row after the other."""
    predictor = model._predictors[0][0]
    encoded = X if model._preprocessor is None else model._preprocessor.transform(X)
    known = {
        column: {int(value) for value in model._bin_mapper.bin_thresholds_[column]}
        for column in np.flatnonzero(model._bin_mapper.is_categorical_)
    }
    leaves = []
    for row in np.asarray(encoded, dtype=np.float64):
        place = 0
        while not (node := predictor.nodes[place])["is_leaf"]:
            value = float(row[node["feature_idx"]])
            left = bool(node["missing_go_to_left"])
            if not math.isnan(value) and node["is_categorical"]:
                bits = "".join(f"{int(word):032b}"[::-1] for word in predictor.raw_left_cat_bitsets[node["bitset_idx"]])
                if bits[int(value)] == "1" or int(value) in known[node["feature_idx"]]:
                    left = bits[int(value)] == "1"
            elif not math.isnan(value):
                left = value <= float(node["num_threshold"])
            place = int(node["left"] if left else node["right"])
        leaves.append(place)
    return leaves


def assert_tree_equals_model(tree: Tree, model: Any, X: Any) -> None:
    leaves = apply_tree(tree, check_rows(tree, X))
    assert leaves.tolist() == walk(model, X)
    assert tree.classes[tree.leaf_class[leaves]].tolist() == model.predict(X).tolist()


def numbers_near(tree: Tree, feature: int, generator: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Every threshold, the numbers beside it, and numbers of every size."""
    cuts = tree.threshold[tree.feature == feature]
    cuts = cuts[np.isfinite(cuts)]
    near = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), cuts.astype(np.float32)])
    odd = [0.0, -0.0, 5e-324, -1e300, 1e300, math.nextafter(1e300, math.inf), 1.7e308]
    return generator.choice([*near, *odd, *generator.normal(size=5)], size=size)


def sprinkle(generator: np.random.Generator, values: Any, share: float = 0.2) -> Any:
    values[generator.random(len(values)) < share] = np.nan
    return values


@pytest.mark.parametrize("missing", [False, True])
def test_leaves_and_predictions_of_numbers_equal_the_models(missing: bool) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    generator = np.random.default_rng(0)
    if missing:
        X[generator.random(X.shape) < 0.3] = np.nan
    model = fit(X, y)
    tree = from_model(model)
    assert (tree.dtype, tree.counts, bool(tree.accepts_missing.all())) == ("float64", None, missing)
    rows = np.column_stack([numbers_near(tree, feature, generator, 1500) for feature in range(X.shape[1])])
    if missing:
        rows[generator.random(rows.shape) < 0.2] = np.nan
    assert_tree_equals_model(tree, model, np.vstack([rows, X]))
    assert (
        secateur.simplify(model, X, y, method="exact", each_leaf=True).tree
        == secateur.simplify(tree, X, y, method="exact", each_leaf=True).tree
    )


def test_a_split_that_leaves_one_side_to_missing_values_is_read() -> None:
    generator = np.random.default_rng(1)
    X = sprinkle(generator, generator.normal(size=(300, 1)), 0.4)
    model = fit(X, np.isnan(X[:, 0]))
    tree = from_model(model)
    assert np.isinf(tree.threshold[0])
    assert_tree_equals_model(tree, model, np.array([[-1e300], [0.0], [1.7e308], [math.nan]]))


def test_missing_values_are_taken_where_something_shows_that_the_model_was_fitted_with_them() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    assert not from_model(fit(X, y), X).accepts_missing.any()
    told = from_model(fit(X, y), accepts_missing=True)
    holes = X.copy()
    holes[::2, :] = np.nan
    assert_tree_equals_model(told, fit(X, y), holes)
    model = fit(X, y, max_leaf_nodes=2)
    asked = int(from_model(model).feature[0])
    tested = X.copy()
    tested[5, asked] = np.nan
    model = fit(tested, y, max_leaf_nodes=2)
    assert int(from_model(model).feature[0]) == asked
    assert from_model(model, tested).accepts_missing.all()
    untested = X.copy()
    untested[5, (asked + 1) % X.shape[1]] = np.nan  # no split asks for it, so it shows nothing
    assert not from_model(fit(untested, y, max_leaf_nodes=2), untested).accepts_missing.any()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_categories_keep_their_labels(seed: int, missing: bool) -> None:
    generator = np.random.default_rng(seed)
    size = 500
    town = generator.choice(TOWNS, size).astype(object)
    frame = pd.DataFrame(
        {
            "age": generator.normal(size=size),
            "town": pd.Categorical(sprinkle(generator, town) if missing else town),
            "height": generator.normal(size=size),
            "code": pd.Categorical(generator.choice([3, 7, 40, 41], size)),
            "flag": pd.Categorical(generator.choice([False, True], size)),
        }
    )
    votes = (frame["age"] > 0.3).astype(int) + frame["town"].isin(TOWNS[::2]) + (frame["code"] == 40) * 2
    y = np.where(votes + frame["flag"].astype(int) + generator.integers(0, 2, size) > 2, "yes", "no")
    model = fit(frame, y, min_samples_leaf=3)
    tree = from_model(model)
    assert tree.feature_names == tuple(frame.columns)
    assert tree.categories == (None, tuple(TOWNS), None, (3, 7, 40, 41), (False, True))
    tested = from_model(model, accepts_missing=True)
    for number in range(2):
        rows = pd.DataFrame(
            {
                "age": numbers_near(tree, 0, generator, 400),
                "town": generator.choice(np.array([*TOWNS, "Atlantis", "bonn"], dtype=object), 400),
                "height": numbers_near(tree, 2, generator, 400),
                "code": generator.choice([3, 7, 40, 41, 5, -1, 255, 300], 400),
                "flag": generator.choice([False, True], 400),
            }
        )
        if number:
            rows = rows.astype({"code": float})
            for name in ("age", "town", "code"):
                sprinkle(generator, rows[name].array)
        assert_tree_equals_model(tested if number and not missing else tree, model, rows)
    assert secateur.simplify(model, frame, y, method="mismatch", each_leaf=True).verify()


def test_categories_by_mask_of_a_matrix_are_its_own_numbers() -> None:
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.normal(size=400), generator.choice([2.5, 11.0, 40.0, 1e9], 400)])
    y = (X[:, 0] > 0) ^ np.isin(X[:, 1], [11.0, 1e9])
    model = fit(X, y, categorical_features=[1])
    tree = from_model(model, accepts_missing=True)
    assert tree.categories == (None, (2.5, 11.0, 40.0, 1e9))
    rows = np.column_stack(
        [numbers_near(tree, 0, generator, 400), generator.choice([2.5, 11.0, 40.0, 1e9, 0.0, -3.0, 12.0, np.nan], 400)]
    )
    assert_tree_equals_model(tree, model, rows)


def test_a_category_that_is_alone_beside_missing_values_is_read_as_the_model_reads_it() -> None:
    """scikit-learn fills no bitset for such a split, and then reads the first."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"one": pd.Categorical(sprinkle(generator, np.full(200, "a", dtype=object), 0.5))})
    model = fit(frame, frame["one"].isna())
    tree = from_model(model)
    assert_tree_equals_model(tree, model, pd.DataFrame({"one": ["a", None, "b"]}, dtype=object))


def test_the_second_class_needs_a_score_above_zero() -> None:
    X, y = np.repeat([[0.0], [1.0]], 50, axis=0), np.tile([0, 1], 50)
    model = fit(X, y)
    assert model.decision_function(X).tolist() == [0.0] * 100
    tree = from_model(model)
    assert (tree.n_nodes, tree.leaf_class.tolist()) == (1, [0])
    assert_tree_equals_model(tree, model, X)


@pytest.mark.parametrize("signs", [[1, 0, -1], {"c": -1, "a": 1}])
def test_signs_come_with_the_tree(signs: Any) -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(300, 3)), columns=["a", "b", "c"])
    frame["b"] = pd.Categorical(np.where(frame["b"] > 0, "x", "y"))
    tree = from_model(fit(frame, frame["a"] > frame["c"], monotonic_cst=signs))
    assert tree.monotone is not None
    assert tree.monotone.tolist() == [1, 0, -1]


def test_a_pipeline_may_end_in_it() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=1)).fit(X, y)
    tree = from_model(pipeline, X)
    leaves = apply_tree(tree, check_rows(tree, X))
    assert leaves.tolist() == walk(pipeline[-1], pipeline[:-1].transform(X))
    assert not is_forest(pipeline)


def test_what_is_not_one_tree_is_rejected() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(UnsupportedModelError, match=r"has 3 classes, and so a tree for each of them"):
        secateur.simplify(fit(X, y), X, y, method="mismatch", each_leaf=True)
    with pytest.raises(UnsupportedModelError, match=r"adds up 4 trees, .* Fit it with max_iter=1"):
        from_model(fit(X, y == 1, max_iter=4))
    with pytest.raises(UnsupportedModelError, match="is not fitted yet"):
        from_model(HistGradientBoostingClassifier(max_iter=1))
    towns = pl.DataFrame({"town": ["a", "b", None, "c"] * 20}, schema={"town": pl.Categorical})
    with pytest.raises(UnsupportedModelError, match=r"Column 0 .* has None as a category"):
        from_model(fit(towns, [0, 1, 1, 0] * 20))


def test_a_column_of_categories_that_no_split_asks_for_may_hold_them() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "g": pd.Categorical(["same"] * 299 + ["other"])})
    y = (frame["a"] > 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=1, learning_rate=1, max_leaf_nodes=3).fit(frame, y)
    rules = secateur.simplify(model, frame, y, method="exact", each_leaf=True)
    assert set(rules.tree.feature.tolist()) == {-1, 0}
    np.testing.assert_array_equal(rules.predict(frame), model.predict(frame))
