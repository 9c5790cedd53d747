from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import secateur
from secateur import Tree, from_model
from secateur.errors import ParameterError, UnsupportedModelError
from secateur.rows.checking import check_labels, check_rows
from secateur.rows.rows import apply_tree, count_classes

pycontree = pytest.importorskip("pycontree", reason="pycontree is not installed: pip install secateur[lab]")

DATA = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}


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


def walk(model: Any, row: NDArray[np.float64]) -> str:
    """The way of one row through the library's own nodes."""
    node, way = model.tree_, ""
    while not node.is_leaf_node():
        lower = row[node.get_split_feature()] <= node.get_split_threshold()
        node, way = (node.get_left(), way + "L") if lower else (node.get_right(), way + "R")
    return way


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("name", DATA)
def test_predictions_and_leaves_equal_pycontrees_at_every_threshold(name: str, depth: int) -> None:
    X, y = DATA[name](return_X_y=True)
    X = X[:, :4]  # its search is exhaustive
    model = pycontree.ConTree(max_depth=depth).fit(X, y)
    tree = from_model(model)
    rows = rows_near(tree, X)
    leaves = apply_tree(tree, check_rows(tree, rows))
    assert tree.classes[tree.leaf_class[leaves]].tolist() == model.predict(rows).tolist()
    assert tree.n_leaves == model.get_num_leaf_nodes()
    ways = [walk(model, row) for row in rows]
    assert len(set(zip(ways, leaves.tolist(), strict=True))) == len(set(ways)) == len(set(leaves.tolist()))
    by_id = [way for _, way in sorted(set(zip(leaves.tolist(), ways, strict=True)))]
    assert by_id == sorted(by_id)  # preorder: left before right


def test_a_value_is_not_rounded_to_the_float32_of_the_threshold() -> None:
    X = np.random.default_rng(0).normal(size=(60, 1)) * 1000
    model = pycontree.ConTree(max_depth=1).fit(X, (X[:, 0] > X[30, 0]).astype(int))
    tree = from_model(model)
    cut = float(tree.threshold[0])
    assert tree.dtype == "float64"
    assert float(np.float32(cut)) == cut
    above = math.nextafter(cut, math.inf)
    assert np.float32(above) == np.float32(cut)
    rows = np.array([[cut], [above]])
    predicted = model.predict(rows).tolist()
    assert predicted[0] != predicted[1]
    assert tree.classes[tree.leaf_class[apply_tree(tree, check_rows(tree, rows))]].tolist() == predicted


def test_counts_are_those_of_the_training_rows() -> None:
    X, y = load_iris(return_X_y=True)
    tree = from_model(pycontree.ConTree(max_depth=3).fit(X, y))
    reached = apply_tree(tree, check_rows(tree, X))
    assert tree.counts is not None
    assert tree.counts.tolist() == count_classes(tree, reached, check_labels(tree, y, len(y)), None).tolist()


def test_labels_that_do_not_start_at_zero_are_kept() -> None:
    X, y = load_iris(return_X_y=True)
    model = pycontree.ConTree(max_depth=2).fit(X, y + 1)
    rules = secateur.simplify(model, X, y + 1, method="exact", each_leaf=True)
    assert from_model(model).classes.tolist() == [1, 2, 3]
    assert rules.predict(X).tolist() == model.predict(X).tolist()
    assert rules.verify().ok


def test_names_come_from_a_frame() -> None:
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert from_model(pycontree.ConTree(max_depth=1).fit(frame, y)).feature_names == ("a", "b", "c", "d")
    assert from_model(pycontree.ConTree(max_depth=1).fit(X, y)).feature_names is None


def test_a_subclass_is_read_like_its_parent() -> None:
    class MyTree(pycontree.ConTree):
        pass

    X, y = load_iris(return_X_y=True)
    assert from_model(MyTree(max_depth=2).fit(X, y)) == from_model(pycontree.ConTree(max_depth=2).fit(X, y))


def test_what_cannot_be_read_is_rejected_with_a_sentence() -> None:
    X, y = load_iris(return_X_y=True)
    model = pycontree.ConTree(max_depth=1)
    with pytest.raises(UnsupportedModelError, match=r"This ConTree is not fitted yet\. Call fit first"):
        from_model(model)
    model.fit(X, y)
    with pytest.raises(UnsupportedModelError, match=r"Expected a fitted ConTree of pycontree, found Tree"):
        from_model(model.tree_)
    with pytest.raises(ParameterError, match=r"accepts_missing=True does not fit: ConTree rejects NaN"):
        from_model(model, accepts_missing=True)
    model.train_y_ = None
    with pytest.raises(UnsupportedModelError, match=r"has lost its training rows"):
        from_model(model)
