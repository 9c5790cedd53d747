from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import secateur
from secateur import Tree, from_model
from secateur.errors import ParameterError, UnsupportedModelError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree

pytest.importorskip("matplotlib", reason="licketysplit imports matplotlib, which is not installed")
licketysplit = pytest.importorskip("licketysplit", reason="licketysplit is not installed: pip install secateur[lab]")

DATA = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}


def binary_problem(seed: int, n_features: int = 6, n_classes: int = 3) -> tuple[NDArray[Any], NDArray[Any]]:
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 2, size=(200, n_features))
    y = (X[:, 0] * 2 + X[:, 1] + generator.integers(0, 2, size=200)) % n_classes
    return X, y


def every_row(n_features: int) -> NDArray[np.int64]:
    """All rows of 0 and 1."""
    return (np.arange(2**n_features)[:, None] >> np.arange(n_features)) & 1


def binarized(max_depth: int = 2, **options: Any) -> Any:
    return make_pipeline(
        licketysplit.ThresholdGuessBinarizer(n_estimators=10, max_depth=max_depth, column_elimination=False),
        licketysplit.LicketySPLITClassifier(**options),
    )


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


def leaf_places(tree: Tree, leaves: NDArray[np.int64]) -> list[int]:
    """The leaves as the library counts them: in the order of the ids."""
    return np.searchsorted(np.flatnonzero(tree.is_leaf), leaves).tolist()


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_predictions_and_leaves_equal_licketysplits_on_every_binary_row(seed: int, depth: int) -> None:
    X, y = binary_problem(seed)
    model = licketysplit.LicketySPLITClassifier(depth_budget=depth, lambda_leaf=0.001).fit(X, y)
    tree = from_model(model, X)
    rows = every_row(X.shape[1])
    leaves = apply_tree(tree, check_rows(tree, rows))
    assert tree.classes[tree.leaf_class[leaves]].tolist() == model.predict(rows).tolist()
    assert leaf_places(tree, leaves) == model._leaf_ids_from_paths(rows).tolist()
    assert set(tree.threshold[~tree.is_leaf].tolist()) <= {0.5}
    assert tree.counts is None


@pytest.mark.parametrize("depth", [2, 4])
@pytest.mark.parametrize("name", DATA)
def test_a_pipeline_is_read_in_terms_of_the_original_columns(name: str, depth: int) -> None:
    X, y = DATA[name](return_X_y=True)
    model = binarized(depth_budget=depth, lambda_leaf=0.001).fit(X, y)
    tree = from_model(model)
    rows = rows_near(tree, X)
    leaves = apply_tree(tree, check_rows(tree, rows))
    assert tree.n_features == X.shape[1]
    assert tree.n_leaves > 1
    assert tree.classes[tree.leaf_class[leaves]].tolist() == model.predict(rows).tolist()
    assert leaf_places(tree, leaves) == model[-1]._leaf_ids_from_paths(model[0].transform(rows)).tolist()
    single = rows.astype(np.float32)
    predicted = tree.classes[tree.leaf_class[apply_tree(tree, check_rows(tree, single))]]
    assert predicted.tolist() == model.predict(single).tolist()


def test_a_pipeline_keeps_the_names_of_a_frame_and_simplifies() -> None:
    data = load_iris(as_frame=True)
    model = binarized(depth_budget=3).fit(data.data, data.target)
    tree = from_model(model)
    assert tree.feature_names == tuple(data.feature_names)
    rules = secateur.simplify(model, data.data, data.target, method="exact", each_leaf=True)
    assert rules.predict(data.data).tolist() == model.predict(data.data).tolist()
    assert rules.verify().ok
    assert from_model(binarized().fit(data.data.to_numpy(), data.target)).feature_names is None


def test_a_tree_of_one_leaf_is_read() -> None:
    X, y = binary_problem(0)
    model = licketysplit.LicketySPLITClassifier(lambda_leaf=1.0).fit(X, y)
    tree = from_model(model)
    assert tree.n_nodes == 1
    assert tree.classes[tree.leaf_class[0]] == model.predict(X)[0]


def test_weights_do_not_change_how_a_tree_is_read() -> None:
    X, y = binary_problem(3)
    model = licketysplit.LicketySPLITClassifier(depth_budget=4).fit(X, y, sample_weight=np.linspace(0.1, 3, len(y)))
    tree = from_model(model)
    rows = every_row(X.shape[1])
    reached = apply_tree(tree, check_rows(tree, rows))
    assert tree.classes[tree.leaf_class[reached]].tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("frame", [False, True])
def test_rows_that_are_not_binary_are_rejected(frame: bool) -> None:
    # The library tests the lowest bit of the whole part: 2.0 counts as 0, and 1.5 as 1.
    X, y = load_iris(return_X_y=True)
    model = licketysplit.LicketySPLITClassifier().fit(X, y)
    with pytest.raises(UnsupportedModelError, match=r"columns of 0 and 1, but column 'x0' holds 5\.1 \(row 0\)"):
        from_model(model, pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"]) if frame else X)


def test_a_leaf_that_defers_is_rejected() -> None:
    X, y = binary_problem(1)
    model = licketysplit.LicketySPLITClassifier(eta_defer=0.0).fit(X, y, bb_pred=y)
    assert min(model.leaf_actions()) < 0
    with pytest.raises(UnsupportedModelError, match=r"has a leaf that defers to another model"):
        from_model(model)


def test_what_cannot_be_read_is_rejected_with_a_sentence() -> None:
    X, y = binary_problem(2)
    with pytest.raises(UnsupportedModelError, match=r"This LicketySPLITClassifier is not fitted yet\. Call fit first"):
        from_model(licketysplit.LicketySPLITClassifier())
    with pytest.raises(UnsupportedModelError, match=r"found LicketySPLITRegressor\. Regression trees have no classes"):
        from_model(licketysplit.LicketySPLITRegressor().fit(X, y))
    with pytest.raises(UnsupportedModelError, match=r"found ThresholdGuessBinarizer\. Pass the fitted classifier"):
        from_model(licketysplit.ThresholdGuessBinarizer())
    with pytest.raises(UnsupportedModelError, match=r"This ThresholdGuessBinarizer is not fitted yet"):
        from_model(binarized())
    scaled = make_pipeline(StandardScaler(), licketysplit.LicketySPLITClassifier())
    with pytest.raises(UnsupportedModelError, match=r"found StandardScaler and LicketySPLITClassifier\. Pass the last"):
        from_model(scaled)
    with pytest.raises(ParameterError, match=r"accepts_missing=True does not fit"):
        from_model(licketysplit.LicketySPLITClassifier().fit(X, y), accepts_missing=True)
    wrong = binarized().fit(*load_iris(return_X_y=True))
    wrong.steps[-1] = ("last", licketysplit.LicketySPLITClassifier().fit(X, y))
    with pytest.raises(UnsupportedModelError, match=r"The binarizer makes \d+ columns, but the tree was fitted on 6"):
        from_model(wrong)
