"""Trees of ONNX files predict what onnxruntime predicts."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import Tree
from secateur.adapters import read_onnx
from secateur.errors import FormatError, ParameterError, UnsupportedModelError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree

NUMPY = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64, TensorProto.INT64: np.int64}
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"]
N_FEATURES = 3


def run(model: Any, rows: NDArray[Any]) -> list[Any]:
    """The labels that onnxruntime gives."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = session.get_inputs()
    columns = [rows] if len(found) == 1 else [rows[:, [place]] for place in range(len(found))]
    feed = {one.name: column for one, column in zip(found, columns, strict=True)}
    labels: list[Any] = np.ravel(session.run([session.get_outputs()[0].name], feed)[0]).tolist()
    return labels


def assert_tree_equals_model(tree: Tree, model: Any, rows: NDArray[Any]) -> None:
    leaves = apply_tree(tree, check_rows(tree, rows))
    assert tree.classes[tree.leaf_class[leaves]].tolist() == run(model, rows)


def rows_near(tree: Tree, kind: Any, *, missing: bool, size: int = 400, seed: int = 0) -> NDArray[Any]:
    """At every limit and one step beside it, in float32 and float64; NaN, zeros, tiny and large numbers."""
    generator = np.random.default_rng(seed)
    columns = []
    for feature in range(tree.n_features):
        cuts = tree.threshold[(tree.feature == feature) & np.isfinite(tree.threshold)]
        cuts = cuts[np.abs(cuts) < 1e38]
        if kind == np.int64:
            whole = np.floor(cuts).astype(np.int64)
            far = [2**24 + 1, 2**53, -(2**31) - 5]
            columns.append(generator.choice([*whole, *(whole + 1), *(whole - 1), *far], size=size))
            continue
        near = cuts.astype(np.float32)
        both = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
        wide = [np.nextafter(cuts, side) for side in (-np.inf, np.inf)]
        odd = [0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38, 0.5, *([np.nan] * 3 if missing else [])]
        columns.append(generator.choice([*cuts, *near, *np.concatenate([*both, *wide]), *odd], size=size))
    return np.column_stack(columns).astype(kind)


@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"], [7, 5, -3]])
@pytest.mark.parametrize("depth", [1, 4, None])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_of_skl2onnx_predict_what_onnxruntime_predicts(labels: list[Any], depth: Any, n_classes: int) -> None:
    convert = pytest.importorskip("skl2onnx").to_onnx
    X, y = load_iris(return_X_y=True)
    y = np.array(labels)[
        np.minimum(y, n_classes - 1) if depth else np.random.default_rng(0).integers(0, n_classes, 150)
    ]
    for kind in (np.float32, np.int64):  # onnxruntime rejects what skl2onnx writes for doubles
        rows = (X * 10).astype(kind)
        fitted = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(rows, y)
        for options in (None, {"zipmap": False}):
            model = convert(fitted, rows[:1], options=options and {id(fitted): options})
            tree = read_onnx(model, accepts_missing=True)
            assert tree.classes.tolist() == sorted(np.unique(y).tolist())
            assert tree.dtype == "float32"
            assert_tree_equals_model(tree, model, np.vstack([rows, rows_near(tree, kind, missing=True)]))
            assert tree.children_left.tolist() == fitted.tree_.children_left.tolist()
            assert not read_onnx(model).accepts_missing.any()


def random_tree(generator: np.random.Generator, depth: int) -> list[dict[str, Any]]:
    """Nodes of a random tree in preorder: splits with their children's places, or leaves."""
    nodes: list[dict[str, Any]] = []

    def grow(left_over: int) -> int:
        place = len(nodes)
        nodes.append({})
        if left_over and (place == 0 or generator.random() < 0.8):
            limit = float(np.float32(generator.choice([generator.normal(), 0.0, -0.0, 0.1, 1 / 3, 3.0, 2.0**24])))
            nodes[place] = {
                "feature": int(generator.integers(N_FEATURES)),
                "limit": limit if generator.random() < 0.95 else float(generator.choice([np.inf, -np.inf])),
                "mode": str(generator.choice(MODES)),
                "track": int(generator.integers(2)),
                "passed": grow(left_over - 1),
                "failed": grow(left_over - 1),
            }
        return place

    grow(depth)
    return nodes


def make_classifier(
    nodes: list[dict[str, Any]],
    votes: list[list[tuple[int, float]]],
    labels: list[Any],
    *,
    kind: int = TensorProto.FLOAT,
    ids: Any = None,
    around: Callable[[Any], tuple[list[Any], list[Any]]] | None = None,
    **fields: Any,
) -> Any:
    """A model of one TreeEnsembleClassifier; the votes are those of the leaves, in their order."""
    ids = list(range(len(nodes))) if ids is None else ids
    leaves = [place for place, node in enumerate(nodes) if not node]
    cast = [
        (ids[leaf], chosen, weight) for leaf, listed in zip(leaves, votes, strict=True) for chosen, weight in listed
    ]
    attributes = {
        "nodes_treeids": [0] * len(nodes),
        "nodes_nodeids": ids,
        "nodes_featureids": [node.get("feature", 0) for node in nodes],
        "nodes_modes": [node.get("mode", "LEAF") for node in nodes],
        "nodes_values": [node.get("limit", 0.0) for node in nodes],
        "nodes_truenodeids": [ids[node["passed"]] if node else 0 for node in nodes],
        "nodes_falsenodeids": [ids[node["failed"]] if node else 0 for node in nodes],
        "nodes_missing_value_tracks_true": [node.get("track", 0) for node in nodes],
        "class_treeids": [0] * len(cast),
        "class_nodeids": [node for node, _, _ in cast],
        "class_ids": [chosen for _, chosen, _ in cast],
        "class_weights": [weight for _, _, weight in cast],
        "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s": labels,
        **fields,
    }
    attributes = {name: value for name, value in attributes.items() if value is not None}
    before, after = around([]) if around else ([], [])
    node = helper.make_node(
        "TreeEnsembleClassifier", ["X" if not before else "made"], ["label", "scores"], **attributes
    )
    node.domain = "ai.onnx.ml"
    return make_model([*before, node, *after], after[-1].output[0] if after else "label", labels, kind)


def make_model(nodes: list[Any], output: str, labels: list[Any], kind: int = TensorProto.FLOAT, ml: int = 3) -> Any:
    text = TensorProto.STRING if isinstance(labels[0], str) else TensorProto.INT64
    names = sorted({name for node in nodes for name in node.input if name.startswith("X")})
    widths = [N_FEATURES] if names == ["X"] else [1] * len(names)
    graph = helper.make_graph(
        nodes,
        "tree",
        [helper.make_tensor_value_info(name, kind, [None, width]) for name, width in zip(names, widths, strict=True)],
        [helper.make_tensor_value_info(output, text, None)],
    )
    opsets = [helper.make_opsetid("ai.onnx.ml", ml), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def draw_votes(generator: np.random.Generator, nodes: list[Any], n_classes: int) -> list[list[tuple[int, float]]]:
    found = []
    for node in nodes:
        if not node:
            shares = generator.choice([0.0, 0.25, 0.25, 0.5, 1.0], size=n_classes)
            found.append([(place, float(share)) for place, share in enumerate(shares)])
    return found


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("seed", range(6))
def test_every_mode_track_and_type_equals_onnxruntime(seed: int, kind: int) -> None:
    generator = np.random.default_rng(seed)
    nodes = random_tree(generator, 4)
    votes = draw_votes(generator, nodes, 3)
    ids = None if seed % 2 else generator.permutation(len(nodes)).tolist()
    base = [0.25, 0.0, 0.125] if seed % 3 == 0 else None
    model = make_classifier(nodes, votes, ["x", "y", "z"], kind=kind, ids=ids, base_values=base)
    tree = read_onnx(model)
    missing = kind != TensorProto.INT64 and bool(tree.accepts_missing.all())
    assert missing == (kind != TensorProto.INT64 and any(node.get("track") for node in nodes))
    assert_tree_equals_model(tree, model, rows_near(tree, NUMPY[kind], missing=missing, seed=seed))
    if ids is None:
        leaves = [place for place, node in enumerate(nodes) if not node]
        assert np.flatnonzero(tree.is_leaf).tolist() == leaves


def test_limits_may_be_doubles() -> None:
    nodes = random_tree(np.random.default_rng(3), 3)
    tenth = {"nodes_values": None, "nodes_values_as_tensor": np.array([node.get("limit", 0.0) / 3 for node in nodes])}
    weights = [[(0, 0.25), (1, 0.5), (2, 0.0)] for node in nodes if not node]
    fields = {**tenth, "class_weights": None, "class_weights_as_tensor": np.ravel([[0.25, 0.5, 0.0]] * len(weights))}
    tensors = {
        name: onnx.numpy_helper.from_array(value, name) if name.endswith("tensor") else value
        for name, value in fields.items()
    }
    model = make_classifier(nodes, weights, [0, 1, 2], kind=TensorProto.DOUBLE, **tensors)
    tree = read_onnx(model)
    assert tree.dtype == "float64"
    assert_tree_equals_model(tree, model, rows_near(tree, np.float64, missing=bool(tree.accepts_missing.all())))
    with pytest.raises(UnsupportedModelError, match="as a tensor, but its rows are no doubles"):
        read_onnx(make_classifier(nodes, weights, [0, 1, 2], **tensors))


STUMP = [{"feature": 0, "limit": 1.0, "mode": "BRANCH_LEQ", "passed": 1, "failed": 2}, {}, {}]
ROWS = np.array([[0.0] * N_FEATURES, [2.0] * N_FEATURES], dtype=np.float32)


@pytest.mark.parametrize("chosen", [0, 1])
@pytest.mark.parametrize("base", [None, [0.25], [-0.25]])
@pytest.mark.parametrize("labels", [[0, 1], [5, 3], ["no", "yes"]])
def test_one_column_of_votes_for_two_classes_is_read_as_onnxruntime_reads_it(
    chosen: int, base: list[float] | None, labels: list[Any]
) -> None:
    for post in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"):
        for low, high in ((0.25, 0.75), (-0.25, 0.125), (0.5, 0.5000001), (0.0, -0.0), (0.25, 0.125)):
            votes = [[(chosen, low)], [(chosen, high)]]
            model = make_classifier(STUMP, votes, labels, base_values=base, post_transform=post)
            if chosen and base:
                with pytest.raises(UnsupportedModelError, match="has 1 base_values for 2 classes"):
                    read_onnx(model)
                continue
            assert_tree_equals_model(read_onnx(model), model, ROWS)


def test_votes_for_both_of_two_classes_are_read_where_readers_agree() -> None:
    model = make_classifier(STUMP, [[(0, 1.0), (1, 0.0)], [(0, 0.25), (1, 0.75)]], ["no", "yes"])
    assert_tree_equals_model(read_onnx(model), model, ROWS)
    torn = make_classifier(STUMP, [[(0, 0.75), (1, 0.25)], [(0, 0.25), (1, 0.75)]], ["no", "yes"])
    assert run(torn, ROWS) == ["yes", "yes"]  # although "no" has the larger sum
    with pytest.raises(UnsupportedModelError, match=r"scores \[0.75, 0.25\], from which readers of ONNX make"):
        read_onnx(torn)
    named = make_classifier(STUMP, [[(0, 1.0), (1, 0.0)], [(0, 0.25), (1, 0.75)]], [3, 4])
    assert run(named, ROWS) == [0, 1]  # which are no classes of it
    with pytest.raises(UnsupportedModelError, match=r"votes for both of the classes \[3, 4\]"):
        read_onnx(named)
    silent = make_classifier(STUMP, [[(0, -0.5)], [(1, 1.0), (2, 0.0)]], ["a", "b", "c"])
    assert run(silent, ROWS)[0] == "a"  # the only one with a vote, though below zero
    with pytest.raises(UnsupportedModelError, match="readers of ONNX make different labels"):
        read_onnx(silent)


def test_columns_may_come_one_by_one_and_be_rounded_on_their_way() -> None:
    nodes = random_tree(np.random.default_rng(1), 4)
    votes = draw_votes(np.random.default_rng(1), nodes, 3)

    def before(_: Any) -> tuple[list[Any], list[Any]]:
        joined = helper.make_node("Concat", ["X_a", "X_b", "X_c"], ["joined"], axis=1)
        copied = helper.make_node("Identity", ["joined"], ["copied"])
        return [joined, copied, helper.make_node("Cast", ["copied"], ["made"], to=TensorProto.FLOAT)], []

    for kind in NUMPY:
        model = make_classifier(nodes, votes, ["x", "y", "z"], kind=kind, around=before)
        tree = read_onnx(model, accepts_missing=True)
        assert (tree.dtype, tree.feature_names) == ("float32", ("X_a", "X_b", "X_c"))
        rows = rows_near(tree, np.float64, missing=kind != TensorProto.INT64)
        rows = rows.clip(-1e9, 1e9).astype(NUMPY[kind])
        assert_tree_equals_model(tree, model, rows)


def make_ensemble(after: list[Any], labels: list[Any], **fields: Any) -> Any:
    node = helper.make_node("TreeEnsemble", ["X"], ["scores"], domain="ai.onnx.ml")
    values = {
        "tree_roots": [0],
        "n_targets": 3,
        "nodes_featureids": [0, 2],
        "nodes_modes": np.array([0, 3], dtype=np.uint8),
        "nodes_splits": np.array([1.0, 0.1], dtype=np.float32),
        "nodes_truenodeids": [0, 2],
        "nodes_trueleafs": [1, 1],
        "nodes_falsenodeids": [1, 1],
        "nodes_falseleafs": [0, 1],
        "nodes_missing_value_tracks_true": [0, 1],
        "leaf_targetids": [2, 0, 1],
        "leaf_weights": np.array([1.0, -1.0, 0.5], dtype=np.float32),
        **fields,
    }
    for name, value in values.items():
        if value is not None:
            tensor = onnx.numpy_helper.from_array(value, name) if isinstance(value, np.ndarray) else value
            node.attribute.append(helper.make_attribute(name, tensor))
    return make_model([node, *after], after[-1].output[0] if after else "scores", labels, ml=5)


ARGMAX = helper.make_node("ArgMax", ["scores"], ["place"], axis=1, keepdims=0)


def test_the_newer_operator_is_read_with_its_argmax() -> None:
    encoder = helper.make_node(
        *("LabelEncoder", ["place"], ["name"]),
        keys_int64s=[0, 1, 2],
        values_strings=["red", "green", "blue"],
        domain="ai.onnx.ml",
    )
    for after, labels in (([ARGMAX], [0, 1, 2]), ([ARGMAX, encoder], ["red", "green", "blue"])):
        model = make_ensemble(after, labels)
        tree = read_onnx(model)
        assert (tree.classes.tolist(), tree.n_leaves) == (labels, 3)
        assert_tree_equals_model(tree, model, rows_near(tree, np.float32, missing=True))
    with pytest.raises(UnsupportedModelError, match="gives scores but no label"):
        read_onnx(make_ensemble([], [0]))
    with pytest.raises(UnsupportedModelError, match="transforms its scores"):
        read_onnx(make_ensemble([ARGMAX], [0], post_transform=1))
    with pytest.raises(UnsupportedModelError, match="tests BRANCH_MEMBER, which no threshold says"):
        read_onnx(make_ensemble([ARGMAX], [0], nodes_modes=np.array([0, 6], dtype=np.uint8)))
    with pytest.raises(FormatError, match="9 is none of 3 places"):
        read_onnx(make_ensemble([ARGMAX], [0], nodes_truenodeids=[9, 2]))


def test_a_path_bytes_and_a_proto_hold_the_same_tree(tmp_path: Path) -> None:
    model = make_classifier(STUMP, [[(0, 0.25)], [(0, 0.75)]], ["no", "yes"])
    path = tmp_path / "tree.onnx"
    path.write_bytes(model.SerializeToString())
    assert read_onnx(path) == read_onnx(str(path)) == read_onnx(path.read_bytes()) == read_onnx(model)


def scaled(_: Any) -> tuple[list[Any], list[Any]]:
    scaler = helper.make_node("Scaler", ["X"], ["made"], domain="ai.onnx.ml", offset=[0.0], scale=[2.0])
    return [scaler], []


def relabelled(_: Any) -> tuple[list[Any], list[Any]]:
    return [], [helper.make_node("Not", ["label"], ["other"])]


VOTES = [[(0, 0.25)], [(0, 0.75)]]


def doubled(_: Any) -> tuple[list[Any], list[Any]]:
    """Columns beside themselves, again and again."""
    names = ["X", *(f"made{place}" for place in range(40)), "made"]
    return [helper.make_node("Concat", [one, one], [other], axis=1) for one, other in pairwise(names)], []


def copied(_: Any) -> tuple[list[Any], list[Any]]:
    names = ["X", *(f"made{place}" for place in range(3000)), "made"]
    return [helper.make_node("Identity", [one], [other]) for one, other in pairwise(names)], []


def open_width(model: Any, feature: int) -> Any:
    model.graph.input[0].type.tensor_type.shape.dim[1].Clear()
    listed = next(one for one in model.graph.node[0].attribute if one.name == "nodes_featureids")
    listed.ints[0] = feature
    return model


def test_an_input_that_does_not_say_its_width_ends_with_the_last_column_asked_for() -> None:
    model = open_width(make_classifier(STUMP, VOTES, ["no", "yes"]), 2)
    tree = read_onnx(model)
    assert tree.n_features == 3
    assert_tree_equals_model(tree, model, ROWS)


UNSUPPORTED: dict[str, tuple[Callable[[], Any], str]] = {
    "a scaler": (lambda: make_classifier(STUMP, VOTES, [0, 1], around=scaled), "operator Scaler between its rows"),
    "a changed label": (
        lambda: make_classifier(STUMP, VOTES, [0, 1], around=relabelled),
        "operator Not behind the label",
    ),
    "equality": (
        lambda: make_classifier([{**STUMP[0], "mode": "BRANCH_EQ"}, {}, {}], VOTES, [0, 1]),
        "tests BRANCH_EQ, which no threshold says",
    ),
    "two trees": (
        lambda: make_classifier(STUMP, VOTES, [0, 1], nodes_treeids=[0, 0, 1]),
        "adds up 2 trees, but a Tree is one",
    ),
    "more columns than memory": (
        lambda: open_width(make_classifier(STUMP, VOTES, [0, 1]), 10**12),
        "has 1000000000001 columns; at most 100000 are read",
    ),
    "columns that double": (
        lambda: make_classifier(STUMP, VOTES, [0, 1], around=doubled),
        "columns; at most 100000 are read",
    ),
    "one class": (lambda: make_classifier(STUMP, VOTES, [0]), "one class only"),
    "no tree": (
        lambda: make_model([helper.make_node("Identity", ["X"], ["label"])], "label", [0]),
        "with one TreeEnsembleClassifier or TreeEnsembleRegressor, found Identity",
    ),
    "rules of ours": (
        lambda: onnx.load_model_from_string(
            secateur.simplify(
                DecisionTreeClassifier(max_depth=1).fit(*load_iris(return_X_y=True)), method="none", each_leaf=True
            ).to_onnx()
        ),
        "holds rules that secateur wrote, and no tree",
    ),
}
BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "no limits": (lambda: make_classifier(STUMP, VOTES, [0, 1], nodes_values=None), "has no field 'nodes_values'"),
    "short limits": (lambda: make_classifier(STUMP, VOTES, [0, 1], nodes_values=[1.0]), "not all of one length"),
    "a limit of NaN": (
        lambda: make_classifier([{**STUMP[0], "limit": math.nan}, {}, {}], VOTES, [0, 1]),
        "A limit of the tree of the ONNX model is NaN",
    ),
    "a circle": (
        lambda: make_classifier(STUMP, VOTES, [0, 1], nodes_truenodeids=[0, 0, 0]),
        "is the child of two nodes",
    ),
    "an absent child": (
        lambda: make_classifier(STUMP, VOTES, [0, 1], nodes_truenodeids=[7, 0, 0]),
        "has a child 7, which does not exist",
    ),
    "a vote for nobody": (lambda: make_classifier(STUMP, [[(3, 1.0)], []], [0, 1]), "class 3, which do not exist"),
    "a column that is not there": (
        lambda: make_classifier([{**STUMP[0], "feature": 9}, {}, {}], VOTES, [0, 1]),
        "tests a feature outside 0 to 2",
    ),
    "operators without end": (
        lambda: make_classifier(STUMP, VOTES, [0, 1], around=copied),
        "wrong type or length in a field: maximum recursion",
    ),
    "text": (lambda: b"age,ward\n1,2\n", "the bytes are none, or were cut"),
    "nothing": (lambda: b"", "holds no operator"),
    "half a file": (
        lambda: make_classifier(STUMP, VOTES, [0, 1]).SerializeToString()[:200],
        "the bytes are none, or were cut",
    ),
    "a number": (lambda: 3, "as a path, bytes or a ModelProto, found int"),
    "no file": (lambda: "absent.onnx", "cannot be read"),
}


@pytest.mark.parametrize(("make", "sentence"), UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_cannot_be_read_exactly_is_rejected_by_name(make: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(UnsupportedModelError, match=sentence):
        read_onnx(make())


@pytest.mark.parametrize(("make", "sentence"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_rejected_with_a_sentence(make: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence) as rejected:
        read_onnx(make())
    assert len(str(rejected.value).splitlines()) == 1


def test_a_fitted_tree_and_its_file_give_the_same_rules() -> None:
    convert = pytest.importorskip("skl2onnx").to_onnx
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    read = read_onnx(convert(fitted, X[:1]))
    assert [str(rule) for rule in secateur.simplify(read, X, y, method="mismatch", each_leaf=True)] == [
        str(rule) for rule in secateur.simplify(fitted, X, y, method="mismatch", each_leaf=True)
    ]


def test_without_onnx_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secateur.errors.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"pip install .secateur\[onnx\]."):
        read_onnx(b"")
