from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import secateur
from secateur import Tree, from_model
from secateur.errors import InputError, ParameterError, UnsupportedModelError
from secateur.rows.checking import check_labels, check_rows
from secateur.rows.rows import apply_tree, count_classes

pytest.importorskip("pandas", reason="pystreed imports pandas, which is not installed")
pystreed = pytest.importorskip("pystreed", reason="pystreed is not installed: pip install secateur[lab]")

DATA = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
TOWNS = ["Oslo", "Rome", "Bonn", "Lima", "Kyiv", "Baku", "it's"]


def rows_near(tree: Tree, X: NDArray[Any], seed: int = 0) -> NDArray[np.float64]:
    """Training rows, random rows, and rows at every threshold and its neighbours in float64 and float32."""
    generator = np.random.default_rng(seed)
    rows = [X, generator.uniform(X.min(axis=0) - 1, X.max(axis=0) + 1, size=(300, X.shape[1]))]
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        cut = float(tree.threshold[node])
        beside = [math.nextafter(cut, side) for side in (-math.inf, math.inf)]
        beside += [float(np.nextafter(np.float32(cut), np.float32(side))) for side in (-np.inf, np.inf)]
        for value in [cut, *beside]:
            based = X[generator.integers(0, len(X), size=40)].astype(np.float64)
            based[:, tree.feature[node]] = value
            rows.append(based)
    return np.vstack(rows)


def walk(model: Any, bits: NDArray[np.int64]) -> str:
    """The way of one binarized row through the library's own nodes."""
    node, way = model.tree_, ""
    while not node.is_leaf_node():
        node, way = (node.right_child, way + "R") if bits[node.feature] else (node.left_child, way + "L")
    return way


def assert_tree_equals_model(tree: Tree, model: Any, rows: Any) -> None:
    leaves = apply_tree(tree, check_rows(tree, rows))
    assert tree.classes[tree.leaf_class[leaves]].tolist() == model.predict(rows).tolist()
    assert tree.n_leaves == model.get_n_leaves()
    ways = [walk(model, bits) for bits in np.asarray(model.binarizer_.transform(rows)).astype(int)]
    pairs = sorted(set(zip(leaves.tolist(), ways, strict=True)))
    assert len(pairs) == len(set(ways)) == len(set(leaves.tolist()))
    assert [way for _, way in pairs] == sorted(way for _, way in pairs)  # the library's own preorder


def mixed_frame(n_rows: int = 150, seed: int = 0) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """A frame whose columns of three kinds are interleaved, and labels that need all of them."""
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "width": generator.normal(size=n_rows),
            "town": generator.choice(TOWNS, n_rows),
            "wet": generator.integers(0, 2, n_rows),
            "door": generator.choice(["open", "shut"], n_rows),
            "height": generator.normal(size=n_rows),
            "cold": generator.integers(0, 2, n_rows).astype(bool),
            "grade": generator.integers(0, 9, n_rows),
        }
    )
    low = frame["town"].isin(["Oslo", "Lima", "Baku"]) ^ (frame["door"] == "open")
    y = (low.astype(int) + (frame["width"] > 0.3) * frame["wet"]).to_numpy() + (frame["grade"] == 5).to_numpy()
    return frame, y.astype(int)


@pytest.mark.parametrize("strategy", ["quantile", "uniform", "tree"])
@pytest.mark.parametrize("name", DATA)
def test_predictions_and_leaves_equal_pystreeds_at_every_threshold(name: str, strategy: str) -> None:
    X, y = DATA[name](return_X_y=True)
    X = X[:, :8]
    model = pystreed.STreeDClassifier(max_depth=3, continuous_binarize_strategy=strategy).fit(X, y)
    tree = from_model(model)
    rows = rows_near(tree, X)
    assert_tree_equals_model(tree, model, rows)
    assert_tree_equals_model(tree, model, rows.astype(np.float32))
    assert (tree.dtype, tree.n_features, tree.feature_names) == ("float64", X.shape[1], None)


@pytest.mark.parametrize(
    "task", ["accuracy", "cost-complex-accuracy", "balanced-accuracy", "f1-score", "accuracy-flex"]
)
def test_every_classification_task_is_read(task: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :6].astype(np.float32)
    model = pystreed.STreeDClassifier(optimization_task=task, max_depth=2).fit(X, y)
    tree = from_model(model)
    assert_tree_equals_model(tree, model, rows_near(tree, X))


def test_counts_are_those_of_the_training_rows() -> None:
    X, y = load_wine(return_X_y=True)
    tree = from_model(pystreed.STreeDClassifier(max_depth=3).fit(X, y))
    routed = count_classes(tree, apply_tree(tree, check_rows(tree, X)), check_labels(tree, y, len(y)), None)
    assert tree.counts is not None
    assert tree.counts.tolist() == routed.tolist()


def test_labels_with_gaps_are_kept_with_their_counts() -> None:
    X, y = load_iris(return_X_y=True)
    labels = np.array([2, 3, 7])[y]
    model = pystreed.STreeDClassifier(max_depth=2).fit(X, labels)
    tree = from_model(model)
    assert tree.classes.tolist() == [2, 3, 7]
    assert tree.counts is not None
    assert tree.counts[0].tolist() == [50, 50, 50]
    rules = secateur.simplify(model, X, labels, method="exact", each_leaf=True)
    assert rules.predict(X).tolist() == model.predict(X).tolist()
    assert rules.verify().ok


def test_columns_of_0_and_1_read_as_up_to_a_half() -> None:
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, size=(80, 5))
    model = pystreed.STreeDClassifier(max_depth=3).fit(X, (X[:, 0] & X[:, 3]) | X[:, 2])
    tree = from_model(model)
    assert set(tree.threshold[~tree.is_leaf].tolist()) == {0.5}
    assert_tree_equals_model(tree, model, (np.arange(32)[:, None] >> np.arange(5)) & 1)


def test_binary_and_numeric_columns_of_an_array_keep_their_places() -> None:
    generator = np.random.default_rng(1)
    X = np.column_stack([generator.normal(size=90), generator.integers(0, 2, 90), generator.normal(size=90)])
    model = pystreed.STreeDClassifier(max_depth=3).fit(X, ((X[:, 2] > 0.2) & (X[:, 1] == 1)).astype(int))
    tree = from_model(model)
    rows = rows_near(tree, X)
    rows[:, 1] = rows[:, 1] > 0.5
    assert_tree_equals_model(tree, model, rows)
    assert set(tree.feature[~tree.is_leaf].tolist()) >= {1, 2}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limit", [None, 8])
def test_a_frame_with_columns_of_every_kind_is_read(limit: int | None, seed: int) -> None:
    frame, y = mixed_frame(seed=seed)
    model = pystreed.STreeDClassifier(max_depth=3, max_num_binary_features=limit).fit(frame, y, categorical=["grade"])
    tree = from_model(model, frame)
    assert tree.feature_names == tuple(frame.columns)
    new, _ = mixed_frame(400, seed=seed + 100)
    new.loc[::7, "town"] = "Atlantis"  # never seen: in no set of towns
    new.loc[::5, "grade"] = 31
    assert_tree_equals_model(tree, model, new)
    assert_tree_equals_model(tree, model, frame)
    rules = secateur.simplify(model, frame, y, method="exact", each_leaf=True)
    assert rules.predict(new).tolist() == model.predict(new).tolist()


def test_numeric_categories_of_an_array_are_their_own_codes() -> None:
    generator = np.random.default_rng(2)
    X = np.column_stack([generator.choice([2.0, 5.0, 7.0, 11.0], 120), generator.normal(size=120)])
    model = pystreed.STreeDClassifier(max_depth=2).fit(X, np.isin(X[:, 0], [5, 11]).astype(int), categorical=[0])
    tree = from_model(model)
    assert tree.categories[0] == tuple(range(12))
    rows = np.column_stack([np.tile([0, 2, 2.5, 5, 7, 8, 11, 12, 400], 20), generator.normal(size=180)])
    assert_tree_equals_model(tree, model, rows)


def test_a_constant_category_is_no_obstacle() -> None:
    frame, y = mixed_frame()
    frame["same"] = "one"
    model = pystreed.STreeDClassifier(max_depth=2).fit(frame, y)
    assert_tree_equals_model(from_model(model, frame), model, frame)


def test_a_frame_of_one_kind_needs_no_rows_and_one_of_several_does() -> None:
    frame, y = mixed_frame()
    numeric = frame[["width", "height"]]
    assert from_model(pystreed.STreeDClassifier(max_depth=1).fit(numeric, y)).feature_names == ("width", "height")
    model = pystreed.STreeDClassifier(max_depth=1).fit(frame, y)
    with pytest.raises(UnsupportedModelError, match=r"does not keep their order\. Pass the rows, too"):
        from_model(model)
    with pytest.raises(UnsupportedModelError, match=r"does not keep their order"):
        from_model(model, frame.rename(columns={"width": "breadth"}))
    tree = from_model(model, frame)
    with pytest.raises(InputError, match="out of order"):
        check_rows(tree, frame[sorted(frame.columns)])


def test_a_depth_of_zero_gives_one_leaf() -> None:
    X, y = load_iris(return_X_y=True)
    model = pystreed.STreeDClassifier(max_depth=0).fit(X, y)
    assert from_model(model).n_nodes == 1
    assert_tree_equals_model(from_model(model), model, X)


def test_what_cannot_be_read_is_rejected_with_a_sentence() -> None:
    X, y = load_iris(return_X_y=True)
    model = pystreed.STreeDClassifier(max_depth=1)
    with pytest.raises(UnsupportedModelError, match=r"This STreeDClassifier is not fitted yet"):
        from_model(model)
    model.fit(X, y)
    with pytest.raises(ParameterError, match=r"accepts_missing=True does not fit: STreeDClassifier rejects NaN"):
        from_model(model, accepts_missing=True)
    with pytest.raises(UnsupportedModelError, match=r"found STreeDRegressor\. Regression trees have no classes"):
        from_model(pystreed.STreeDRegressor(max_depth=1).fit(X, y.astype(float)))
    with pytest.raises(UnsupportedModelError, match=r"found STreeDSurvivalAnalysis\. Its other tasks"):
        from_model(pystreed.STreeDSurvivalAnalysis())
    with pytest.raises(UnsupportedModelError, match=r"the label 0\.5, which pystreed cuts down to a whole number"):
        from_model(pystreed.STreeDClassifier(max_depth=1).fit(X, y + 0.5))


def test_a_refit_that_found_no_tree_is_rejected() -> None:
    X, y = load_iris(return_X_y=True)
    model = pystreed.STreeDClassifier(max_depth=1).fit(X, y)
    model.min_leaf_node_size = 1000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert hasattr(model, "tree_")  # of the first fit
    with pytest.raises(UnsupportedModelError, match=r"its fit found no tree"):
        from_model(model)


def test_categories_that_a_tree_cannot_hold_are_rejected() -> None:
    frame, y = mixed_frame()
    with pytest.raises(UnsupportedModelError, match=r"Column 'wet' is declared categorical, but holds only 0 and 1"):
        from_model(pystreed.STreeDClassifier(max_depth=1).fit(frame, y, categorical=["wet"]), frame)
    frame["grade"] += 0.5
    with pytest.raises(UnsupportedModelError, match=r"categories of column 'grade' are neither texts nor whole"):
        from_model(pystreed.STreeDClassifier(max_depth=1).fit(frame, y, categorical=["grade"]), frame)
