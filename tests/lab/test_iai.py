from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import secateur
from secateur import Tree, from_model
from secateur.adapters import read_iai
from secateur.errors import FormatError, InputError, ParameterError, UnsupportedModelError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree

MODELS = Path(__file__).parents[1] / "models"
LEVELS = {"town": ["missing", "Bonn", "Lima", "Oslo", "Rome"], "size": ["missing"]}
RANKS = ["small", "medium", "large"]
NUMERIC = ["a", "b", "c"]
NAMES = [*NUMERIC, "town", "size"]


@pytest.fixture
def make_predictor(tmp_path: Path) -> Callable[[dict[str, Any]], Any]:
    """The vendor's own reader, which needs no licence."""
    vendor = pytest.importorskip("interpretableai", reason="interpretableai, the judge of truth here, is not installed")

    def make(content: dict[str, Any]) -> Any:
        path = tmp_path / "learner.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return vendor.Predictor(str(path))

    return make


def leaf(node_id: int, chosen: int, n_classes: int = 3) -> dict[str, Any]:
    probs = [0.0] * n_classes
    probs[chosen - 1] = 1.0
    return {"id": node_id, "split_type": "LEAF", "fit": {"class": chosen, "probs": probs}}


def numeric_split(feature: int, threshold: Any, missing_lower: bool = False) -> dict[str, Any]:
    return {
        "do_parallel": True,
        "do_ordinal": False,
        "parallel_split": {"threshold": threshold},
        "categoric_split": {"feature": feature, "split": [missing_lower]},
        "ordinal_split": {"feature": 0, "split": []},
    }


def categoric_split(feature: int, split: list[bool]) -> dict[str, Any]:
    return {
        **numeric_split(feature, 0.0),
        "do_parallel": False,
        "categoric_split": {"feature": feature, "split": split},
    }


def ordinal_split(feature: int, split: list[bool], missing_lower: bool) -> dict[str, Any]:
    return {
        **categoric_split(feature, [missing_lower]),
        "do_ordinal": True,
        "ordinal_split": {"feature": 1, "split": split},
    }


def inner(node_id: int, mixed: dict[str, Any], lower: int, upper: int) -> dict[str, Any]:
    return {
        "id": node_id,
        "split_type": "MIXED",
        "split_mixed": mixed,
        "lower_child": lower,
        "upper_child": upper,
        "fit": {"class": 1, "probs": []},
    }


def learner(
    nodes: list[dict[str, Any]], *, missing: str = "none", classes: Any = ("no", "so", "yes")
) -> dict[str, Any]:
    features = {
        "feature_names": list(NAMES),
        "categoric_labelmap": [{"levels": list(LEVELS.get(name, ["missing"]))} for name in NAMES],
        "ordinal_labelmap": [{"levels": list(RANKS)}],
        "ordinal_feature_map": {"5": 1},
    }
    return {
        "_julia_type": "OptimalTreeClassifier",
        "missingdatamode": missing,
        "treat_unknown_level_missing": True,
        "tree_": {"nodes": nodes},
        "prb_": {"data": {"features": features, "target": {"classes": {"levels": list(classes)}}}},
    }


def random_nodes(generator: np.random.Generator, depth: int, *, categoric: bool, order: str) -> list[dict[str, Any]]:
    """Nodes of a random tree, numbered in preorder, level by level, or at random."""
    shape: list[Any] = []  # preorder: a split with its children's places, or None for a leaf

    def grow(left_over: int) -> int:
        place = len(shape)
        shape.append(None)
        if left_over and (place == 0 or generator.random() < 0.75):
            shape[place] = (random_split(generator, categoric), grow(left_over - 1), grow(left_over - 1))
        return place

    grow(depth)
    ids = np.arange(1, len(shape) + 1)
    if order == "levels":
        queue = [0]
        for place in queue:
            queue += list(shape[place][1:]) if shape[place] else []
        ids[queue] = np.arange(1, len(shape) + 1)
    elif order == "random":
        ids[1:] = generator.permutation(ids[1:])
    nodes = [
        inner(int(ids[place]), cell[0], int(ids[cell[1]]), int(ids[cell[2]]))
        if cell
        else leaf(int(ids[place]), int(generator.integers(1, 4)))
        for place, cell in enumerate(shape)
    ]
    return sorted(nodes, key=lambda node: node["id"])


def random_split(generator: np.random.Generator, categoric: bool) -> dict[str, Any]:
    missing_lower = bool(generator.integers(2))
    kind = generator.integers(3) if categoric else 0
    if kind == 1:
        return categoric_split(4, [missing_lower, *mixed_bools(generator, 4)])
    if kind == 2:
        return ordinal_split(5, mixed_bools(generator, 3), missing_lower)
    feature = int(generator.integers(1, 4))
    cut = float(generator.choice([generator.normal(), 0.1, 0.5, 1 / 3, 1.000000001, 0.0]))
    return numeric_split(feature, cut, missing_lower)


def mixed_bools(generator: np.random.Generator, size: int) -> list[bool]:
    """Not all of them equal."""
    while True:
        drawn = generator.integers(0, 2, size=size).astype(bool).tolist()
        if any(drawn) and not all(drawn):
            return [bool(one) for one in drawn]


def random_frame(
    generator: np.random.Generator, tree: Tree, *, missing: bool = False, n_rows: int = 300
) -> pd.DataFrame:
    """Rows on, one step beside and away from every threshold, with known and unknown levels."""
    columns: dict[str, Any] = {}
    for feature, name in enumerate(NUMERIC):
        cuts = tree.threshold[tree.feature == feature]
        cuts = cuts[np.isfinite(cuts)].tolist()
        near = [math.nextafter(cut, side) for cut in cuts for side in (-math.inf, math.inf)]
        near += [float(np.nextafter(np.float32(cut), np.float32(side))) for cut in cuts for side in (-9, 9)]
        values = generator.choice([0.0, *cuts, *near], size=n_rows)
        columns[name] = np.where(generator.random(n_rows) < 0.3, generator.normal(size=n_rows), values)
        if missing:
            columns[name][generator.random(n_rows) < 0.2] = np.nan
    unknown: list[Any] = ["Atlantis", "missing", None] if missing else []
    for name, levels in (("town", LEVELS["town"][1:]), ("size", RANKS)):
        columns[name] = pd.Series(
            generator.choice(np.array([*levels, *unknown], dtype=object), size=n_rows), dtype=object
        )
    return pd.DataFrame(columns)


def assert_tree_equals_predictor(tree: Tree, predictor: Any, frame: pd.DataFrame, id_shift: int | None = 1) -> None:
    known = frame if any(tree.categories) else frame.drop(columns=["town", "size"]).assign(town=0.0, size=0.0)
    leaves = apply_tree(tree, check_rows(tree, known))
    assert tree.classes[tree.leaf_class[leaves]].tolist() == list(predictor.predict(frame))
    theirs = predictor.apply(frame)
    if id_shift is not None:
        assert (leaves + id_shift).tolist() == theirs
    assert len(set(zip(leaves.tolist(), theirs, strict=True))) == len(set(theirs)) == len(set(leaves.tolist()))


@pytest.mark.parametrize("order", ["preorder", "levels", "random"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_numeric_trees_equal_the_predictor_at_every_threshold(
    make_predictor: Any, seed: int, depth: int, order: str
) -> None:
    generator = np.random.default_rng([seed, depth])
    content = learner(random_nodes(generator, depth, categoric=False, order=order))
    tree = read_iai(content)
    frame = random_frame(generator, tree)
    assert_tree_equals_predictor(tree, make_predictor(content), frame, None if order == "random" else 1)
    assert (tree.dtype, tree.counts, tree.feature_names) == ("float64", None, tuple(NAMES))
    assert not tree.accepts_missing.any()


@pytest.mark.parametrize("mode", ["none", "separate_class", "always_left"])
@pytest.mark.parametrize("seed", range(8))
def test_categoric_and_ordinal_splits_and_missing_values_equal_the_predictor(
    make_predictor: Any, seed: int, mode: str
) -> None:
    generator = np.random.default_rng(seed)
    content = learner(random_nodes(generator, 4, categoric=True, order="preorder"), missing=mode)
    template = random_frame(generator, read_iai(content))
    tree = read_iai(content, template)
    frame = random_frame(generator, tree, missing=mode != "none")
    for name, feature in (("town", 3), ("size", 4)):
        if tree.categories[feature] is None:  # never tested, so the tree takes numbers there
            frame[name] = 0.0
    assert_tree_equals_predictor(tree, make_predictor(content), frame)
    assert tree.accepts_missing.all() == (mode != "none")


@pytest.mark.parametrize("missing_lower", [False, True])
@pytest.mark.parametrize("threshold", ["Infinity", "-Infinity", math.inf, -math.inf])
def test_infinite_thresholds_leave_one_side_to_missing_values(
    make_predictor: Any, threshold: Any, missing_lower: bool
) -> None:
    nodes = [inner(1, numeric_split(1, threshold, missing_lower), 2, 3), leaf(2, 1), leaf(3, 2)]
    content = learner(nodes, missing="separate_class")
    tree = read_iai(content)
    frame = pd.DataFrame({"a": [-1e300, 0.0, 5.0, math.nan], "b": 0.0, "c": 0.0, "town": 0.0, "size": 0.0})
    leaves = apply_tree(tree, check_rows(tree, frame))
    predictor = make_predictor(content)
    assert (leaves + 1).tolist() == predictor.apply(frame)
    assert tree.classes[tree.leaf_class[leaves]].tolist() == predictor.predict(frame)


def test_a_grid_search_a_path_a_text_a_dict_and_a_predictor_hold_the_same_tree(
    make_predictor: Any, tmp_path: Path
) -> None:
    content = learner(random_nodes(np.random.default_rng(5), 3, categoric=True, order="preorder"))
    before = copy.deepcopy(content)
    tree = read_iai(content)
    wrapped = {"_julia_type": "GridSearch", "lnr": content}
    path = tmp_path / "search.json"
    path.write_text(json.dumps(wrapped), encoding="utf-8")
    for source in (wrapped, path, str(path), json.dumps(wrapped), "\n " + json.dumps(content)):
        assert read_iai(source) == tree
    assert from_model(make_predictor(wrapped)) == tree
    assert content == before


@pytest.mark.parametrize("name", ["iai_numeric.json", "iai_grid_search.json"])
def test_saved_files_equal_the_predictor(make_predictor: Any, name: str) -> None:
    path = MODELS / name
    tree = read_iai(path)
    predictor = make_predictor(json.loads(path.read_text(encoding="utf-8")))
    frame = random_frame(np.random.default_rng(0), tree, missing=bool(tree.accepts_missing.all()))
    for column, feature in (("town", 3), ("size", 4)):
        if tree.categories[feature] is None:
            frame[column] = 0.0
    assert_tree_equals_predictor(tree, predictor, frame)


def test_the_rules_of_a_saved_file_read_as_they_should() -> None:
    rules = secateur.simplify(read_iai(MODELS / "iai_grid_search.json"), method="exact", each_leaf=True)
    assert [rule.text for rule in rules] == [
        "a <= 0.5 and town in {Oslo, Rome} => no",
        "a <= 0.5 and (town not in {Oslo, Rome} or missing) => so",
        "a > 0.5 or missing => yes",
    ]


def test_ids_that_do_not_grow_and_nodes_that_are_not_reached_are_renumbered_in_preorder() -> None:
    root = inner(1, numeric_split(1, 0.5), 4, 2)
    nodes = [root, leaf(2, 2), leaf(3, 3), inner(4, numeric_split(2, 0.5), 5, 6), leaf(5, 1), leaf(6, 3)]
    tree = read_iai(learner(nodes))
    assert tree.n_nodes == 5
    assert (tree.children_left.tolist(), tree.children_right.tolist()) == ([1, 2, -1, -1, -1], [4, 3, -1, -1, -1])
    assert tree.classes[tree.leaf_class[[2, 3, 4]]].tolist() == ["no", "yes", "so"]


def test_columns_follow_the_rows() -> None:
    content = learner([inner(1, numeric_split(3, 0.5), 2, 3), leaf(2, 1), leaf(3, 2)])
    frame = pd.DataFrame({name: [0.0] for name in ["extra", *reversed(NAMES)]})
    tree = read_iai(content, frame)
    assert tree.feature_names == tuple(frame.columns)
    assert tree.feature_name(int(tree.feature[0])) == "c"
    with pytest.raises(InputError, match=r"X has no column 'c', which the IAI JSON names"):
        read_iai(content, frame.drop(columns="c"))
    with pytest.raises(InputError, match=r"X has 2 columns, but the IAI JSON names 5"):
        read_iai(content, np.zeros((4, 2)))
    content["prb_"]["data"]["features"]["feature_names"] = ["", "", "", "", ""]
    assert read_iai(content).feature_names is None


@pytest.mark.parametrize("classes", [[0, 1, 2], [1.5, 2.5, 3.5], ["a", "b", "c"]])
def test_labels_keep_their_type(make_predictor: Any, classes: list[Any]) -> None:
    content = learner(random_nodes(np.random.default_rng(1), 3, categoric=False, order="preorder"), classes=classes)
    tree = read_iai(content)
    assert tree.classes.tolist() == classes
    assert_tree_equals_predictor(tree, make_predictor(content), random_frame(np.random.default_rng(2), tree))


def test_accepts_missing_may_be_narrowed_but_not_widened(make_predictor: Any) -> None:
    nodes = [inner(1, numeric_split(1, 0.5, True), 2, 3), leaf(2, 1), leaf(3, 2)]
    takes_missing = make_predictor(learner(nodes, missing="separate_class"))
    assert from_model(takes_missing).missing_left.tolist() == [True, False, False]
    assert not from_model(takes_missing, accepts_missing=False).accepts_missing.any()
    with pytest.raises(ParameterError, match=r"the learner's missingdatamode is 'none'"):
        from_model(make_predictor(learner(nodes)), accepts_missing=True)


# What is rejected.


def spoiled(change: Callable[[dict[str, Any]], Any], nodes: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    content = learner(nodes or [inner(1, numeric_split(1, 0.5), 2, 3), leaf(2, 1), leaf(3, 2)])
    change(content)
    return content


def node(content: dict[str, Any], node_id: int) -> dict[str, Any]:
    found: dict[str, Any] = content["tree_"]["nodes"][node_id - 1]
    return found


UNSUPPORTED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a hyperplane": (
        lambda c: node(c, 1).update(split_type="HYPERPLANE"),
        r"Node 1 of the IAI JSON has a hyperplane split, .* \(HYPERPLANE\)",
    ),
    "another split": (lambda c: node(c, 1).update(split_type="NEW"), "Node 1 .* has a split of type 'NEW'"),
    "a regressor": (
        lambda c: c.update(_julia_type="OptimalTreeRegressor"),
        "Expected an OptimalTreeClassifier in the IAI JSON, found OptimalTreeRegressor",
    ),
    "feature selection": (
        lambda c: c.update(_julia_type="OptimalFeatureSelectionClassifier"),
        "found OptimalFeatureSelectionClassifier",
    ),
    "a column of numbers and levels": (
        lambda c: node(c, 1).update(split_mixed=categoric_split(4, [False] * 5) | {"do_parallel": True}),
        "Column 'town' of the IAI JSON mixes numbers and levels",
    ),
    "numeric levels": (
        lambda c: (
            c["prb_"]["data"]["features"]["categoric_labelmap"][3].update(levels=["missing", 1, 2]),
            node(c, 1).update(split_mixed=categoric_split(4, [False, True, False])),
        ),
        "Column 'town' of the IAI JSON has the level 1, which is no text",
    ),
    "a split that splits nothing": (
        lambda c: node(c, 1).update(split_mixed=categoric_split(4, [True] * 5)),
        "Node 1 of the IAI JSON sends every level of its column one way",
    ),
    "a test for missing values alone": (
        lambda c: node(c, 1).update(split_mixed=categoric_split(1, [True])),
        "Column 1 of the IAI JSON is tested both as a number and as a level, or only for being missing",
    ),
}

BROKEN: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no type": (lambda c: c.pop("_julia_type"), "it has no field '_julia_type'"),
    "an empty grid search": (lambda c: c.update(_julia_type="GridSearch"), "it has no field 'lnr' with"),
    "no tree": (lambda c: c.pop("tree_"), "The IAI JSON has no field 'tree_'; it was cut or edited"),
    "no nodes": (lambda c: c["tree_"].update(nodes=[]), "Expected a list of nodes in tree_.nodes"),
    "no features": (lambda c: c["prb_"]["data"].pop("features"), "no field 'features'"),
    "no classes": (lambda c: c["prb_"]["data"].pop("target"), "no field 'target'"),
    "mixed classes": (
        lambda c: c["prb_"]["data"]["target"]["classes"].update(levels=["a", 1]),
        "all texts or all numbers",
    ),
    "equal classes": (lambda c: c["prb_"]["data"]["target"]["classes"].update(levels=["a", "a"]), "not distinct"),
    "no class": (lambda c: node(c, 2)["fit"].pop("class"), "no field 'class'"),
    "an unknown class": (lambda c: node(c, 2)["fit"].update({"class": 4}), "Leaf 2 .* predicts class 4 of 3"),
    "no threshold": (lambda c: node(c, 1)["split_mixed"]["parallel_split"].clear(), "no field 'threshold'"),
    "a threshold of text": (
        lambda c: node(c, 1)["split_mixed"]["parallel_split"].update(threshold="high"),
        "Expected a number as a threshold of the IAI JSON, found 'high'",
    ),
    "a threshold of NaN": (
        lambda c: node(c, 1)["split_mixed"]["parallel_split"].update(threshold=math.nan),
        "Expected a number as a threshold of the IAI JSON, found nan",
    ),
    "a threshold without end": (
        lambda c: node(c, 1)["split_mixed"]["parallel_split"].update(threshold=10**400),
        "has the wrong type or length",
    ),
    "no split": (lambda c: node(c, 1).pop("split_mixed"), "no field 'split_mixed'"),
    "a column that does not exist": (
        lambda c: node(c, 1)["split_mixed"]["categoric_split"].update(feature=6),
        "Node 1 of the IAI JSON tests column 6, which does not exist",
    ),
    "a column that is no number": (
        lambda c: node(c, 1)["split_mixed"]["categoric_split"].update(feature="a"),
        "expected a whole number, found 'a'",
    ),
    "a short split": (
        lambda c: node(c, 1).update(split_mixed=categoric_split(4, [False, True])),
        "has the wrong type or length",
    ),
    "wrong ids": (lambda c: node(c, 2).update(id=7), "Expected node 2 of the IAI JSON to have that id, found 7"),
    "a child that does not exist": (lambda c: node(c, 1).update(lower_child=9), "Node 1 .* has the child 9, which"),
    "a circle": (lambda c: node(c, 1).update(lower_child=1), "is the child of two nodes"),
    "a shared child": (lambda c: node(c, 1).update(lower_child=3), "is the child of two nodes"),
    "nodes of the wrong type": (lambda c: c["tree_"].update(nodes=[1, 2]), "has the wrong type or length"),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_a_learner_that_cannot_be_read_exactly_is_rejected_by_name(case: str) -> None:
    change, sentence = UNSUPPORTED[case]
    with pytest.raises(UnsupportedModelError, match=sentence):
        read_iai(spoiled(change))


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_rejected_with_a_sentence(case: str) -> None:
    change, sentence = BROKEN[case]
    content = spoiled(change)
    with pytest.raises(FormatError, match=sentence):
        read_iai(content)
    with pytest.raises(FormatError, match=sentence):
        read_iai(json.dumps(content))


def test_a_file_that_is_no_json_is_rejected_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"Expected the JSON of an IAI learner, but it is not JSON"):
        read_iai('{"_julia_type": ')
    with pytest.raises(FormatError, match=r"as a path, text or dict, found list"):
        read_iai("[]")
    with pytest.raises(FormatError, match=r"found NoneType"):
        read_iai(None)
    with pytest.raises(FormatError, match=r"The IAI JSON cannot be read\. There is no file .*absent\.json"):
        read_iai(tmp_path / "absent.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match=r"The IAI JSON cannot be read"):
        read_iai(str(tmp_path / "binary.json"))


def test_a_licensed_learner_is_sent_to_its_json() -> None:
    class OptimalTreeClassifier:
        pass

    OptimalTreeClassifier.__module__ = "interpretableai.optimaltrees"
    with pytest.raises(
        UnsupportedModelError, match=r"found .*OptimalTreeClassifier\. Write the learner with write_json"
    ):
        from_model(OptimalTreeClassifier())


# What holds for all adapters.


def test_no_adapter_imports_its_library() -> None:
    script = (
        "import sys; import secateur.adapters as a; from importlib import import_module; "
        "print('secateur.lab.adapters.iai' in sys.modules); "
        "[import_module(module) for module in a.ADAPTERS.values()]; a.read_iai; print(*sys.modules)"
    )
    lazy, *loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert lazy == "False"
    assert not set(loaded) & {"licketysplit", "pycontree", "pystreed", "interpretableai", "pandas", "matplotlib"}


def test_the_page_of_adapters_lists_every_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text(encoding="utf-8")
    assert [library for library in secateur.adapters.ADAPTERS if f"`{library}`" not in page] == []
