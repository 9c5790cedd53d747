from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur import Tree, TreeBuilder
from secateur.errors import FormatError
from secateur.tree.tree import make_tree

FIELDS = [
    *("dtype", "classes", "class_names", "n_features", "feature_names", "accepts_missing", "categories", "monotone"),
    *("children_left", "children_right", "feature", "threshold", "missing_left", "category_offsets", "category_codes"),
    *("leaf_class", "counts"),
]


def stump(threshold: float = 30.0, **changes: Any) -> Tree:
    parts: dict[str, Any] = {
        "children_left": [1, -1, -1],
        "children_right": [2, -1, -1],
        "feature": [0, -1, -1],
        "threshold": [threshold, math.nan, math.nan],
        "leaf_class": [-1, 0, 1],
        "counts": [[9, 11], [8, 2], [1, 9]],
        "classes": ["no", "yes"],
        "n_features": 1,
        "feature_names": ["age"],
    }
    return make_tree(**parts | changes)


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def written(tree: Tree | None = None, **changes: Any) -> str:
    """The JSON of a tree with some fields changed."""
    return json.dumps(json.loads((tree or stump()).to_json()) | changes)


def test_the_example_of_the_specification_is_read() -> None:
    text = """
    {"format": "secateur-tree", "version": 1, "dtype": "float32",
     "classes": ["no", "yes"], "class_names": ["no", "yes"],
     "n_features": 1, "feature_names": ["age"], "accepts_missing": [false], "categories": [null], "monotone": null,
     "children_left": [1, -1, -1], "children_right": [2, -1, -1], "feature": [0, -1, -1],
     "threshold": [30.0, null, null], "missing_left": [false, false, false],
     "category_offsets": [0, 0, 0, 0], "category_codes": [],
     "leaf_class": [-1, 0, 1], "counts": [[9.0, 11.0], [8.0, 2.0], [1.0, 9.0]]}
    """
    assert Tree.from_json(text) == stump()
    assert json.loads(stump().to_json()) == json.loads(text)


@settings(max_examples=100, deadline=None)
@given(strategies.trees(), st.booleans())
def test_every_tree_survives_the_round_trip_bit_by_bit(tree: Tree, drops_counts: bool) -> None:
    if drops_counts:
        tree = Tree.from_json(written(tree, counts=None))
        assert tree.counts is None
    text = tree.to_json()
    back = Tree.from_json(text)
    assert back == tree
    assert back.threshold.tobytes() == tree.threshold.tobytes()
    if tree.counts is not None and back.counts is not None:
        assert back.counts.tobytes() == tree.counts.tobytes()
    assert back.classes.dtype == tree.classes.dtype
    assert [type(label) for label in back.classes.tolist()] == [type(label) for label in tree.classes.tolist()]
    assert back.categories == tree.categories
    assert back.to_json() == text


@pytest.mark.parametrize(
    "value",
    [5e-324, -5e-324, 2.2250738585072014e-308, 1e308, -1e308, 1.7976931348623157e308, -0.0, 0.1, 1 / 3, math.inf],
)
def test_an_awkward_threshold_survives_bit_by_bit(value: float) -> None:
    for dtype in ("float32", "float64"):
        back = Tree.from_json(stump(value, dtype=dtype, accepts_missing=True).to_json())
        assert bits(back.threshold[0]) == bits(value)


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, allow_infinity=False))
def test_any_threshold_and_any_count_survive_bit_by_bit(threshold: float, count: float) -> None:
    tree = stump(threshold, counts=[[count, 1], [count, 0], [0, 1]])
    back = Tree.from_json(tree.to_json())
    assert back.counts is not None
    assert bits(back.threshold[0]) == bits(threshold)
    assert bits(back.counts[0, 0]) == bits(count)


def test_infinity_and_absence_are_written_as_plain_json() -> None:
    text = stump(math.inf, accepts_missing=True).to_json()
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert found["threshold"] == ["inf", None, None]


@pytest.mark.parametrize("labels", [[False, True], [1, 2], [0.5, 1.5], ["no", "yes"], ['"ä"', "\n日本"]], ids=str)
def test_labels_keep_their_type(labels: list[Any]) -> None:
    back = Tree.from_json(stump(classes=labels).to_json())
    assert back.classes.tolist() == labels
    assert [type(label) for label in back.classes.tolist()] == [type(label) for label in labels]


def test_signs_names_and_categories_survive() -> None:
    tree = stump(monotone=[-1], class_names=["Nein", "Ja"])
    assert Tree.from_json(tree.to_json()) == tree
    builder = TreeBuilder(["a", "b"], ["town"], categories={"town": ["Oslo", 7, True, 2.5]}, accepts_missing=True)
    root = builder.split_categories("town", ["Oslo", 2.5], missing="left", unlisted="left")
    builder.leaf([1, 2], parent=root, side="left")
    builder.leaf([2, 1], parent=root, side="right")
    tree = builder.build()
    back = Tree.from_json(tree.to_json())
    assert back == tree
    assert [type(level) for level in back.categories[0] or ()] == [str, int, bool, float]


def test_categories_given_as_an_array_can_be_written() -> None:
    builder = TreeBuilder(["a", "b"], ["size"], categories={"size": np.array([10, 20])})
    root = builder.split_categories("size", [10])
    builder.leaf([1, 2], parent=root, side="left")
    builder.leaf([2, 1], parent=root, side="right")
    back = Tree.from_json(builder.build().to_json())
    assert back.categories == ((10, 20),)


def test_what_is_read_is_read_only() -> None:
    back = Tree.from_json(stump().to_json())
    with pytest.raises(ValueError, match="read-only"):
        back.threshold[0] = 0.0


def test_a_newer_version_asks_for_an_upgrade() -> None:
    with pytest.raises(FormatError, match=r"has version 2, but this secateur reads up to version 1\. Upgrade secateur"):
        Tree.from_json(written(version=2))


@pytest.mark.parametrize("version", [0, -1, "1", 1.5, True, None])
def test_a_version_that_is_no_version_is_named(version: object) -> None:
    with pytest.raises(FormatError, match=f"Expected a version number from 1 to 1 .* found {version!r}"):
        Tree.from_json(written(version=version))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (written(format="secateur-rules"), "'secateur-rules'"),
        (json.dumps({"version": 1}), "None"),
        ("[1, 2]", "'list'"),
        ("3", "'int'"),
        ("null", "'NoneType'"),
    ],
)
def test_another_format_is_named(text: str, found: str) -> None:
    with pytest.raises(FormatError, match=f"Expected a JSON object with format 'secateur-tree', found {found}"):
        Tree.from_json(text)


NOT_JSON = {
    "nothing": "",
    "a word": "tree",
    "an open brace": "{",
    "a file that was cut": stump().to_json()[:-20],
    "a number of 5,000 digits": "1" * 5000,
    "100,000 open brackets": "[" * 100_000,
}


@pytest.mark.parametrize("case", NOT_JSON)
def test_what_is_not_json_is_rejected(case: str) -> None:
    with pytest.raises(FormatError, match="Expected a secateur-tree JSON text, but it is not JSON"):
        Tree.from_json(NOT_JSON[case])


@pytest.mark.parametrize("text", [None, 3, b"\xff\xfe\xfa"], ids=repr)
def test_what_is_not_text_is_rejected(text: Any) -> None:
    with pytest.raises(FormatError, match="Expected a secateur-tree JSON text, but it is not JSON"):
        Tree.from_json(text)


@pytest.mark.parametrize("name", FIELDS)
def test_a_missing_field_is_named(name: str) -> None:
    content = json.loads(stump().to_json())
    del content[name]
    with pytest.raises(FormatError, match=f"The tree JSON has no field '{name}'; it was cut or edited"):
        Tree.from_json(json.dumps(content))


def test_the_fields_are_those_of_the_specification() -> None:
    assert sorted(json.loads(stump().to_json())) == sorted([*FIELDS, "format", "version"])


# A value of a type that the specification does not allow, in each field.
WRONG_TYPES: dict[str, list[Any]] = {
    "classes": [{"no": 1}, 3, [["no"], ["yes", "?"]], ["no", None]],
    "class_names": [3, None],
    "n_features": ["1", 1.5, None, [1], {}],
    "feature_names": [3],
    "accepts_missing": [[0], ["false"], None, [None]],
    "categories": [None, [3], [[["a"], ["b"]]]],
    "monotone": [["+"], [0.5], [300], {}],
    "children_left": [
        None,
        5,
        [1.5, -1, -1],
        ["1", "-1", "-1"],
        [True, False, False],
        [[1], [-1], [-1]],
        [10**30, 1, 1],
    ],
    "children_right": [None, 5, [2.0, -1, -1]],
    "feature": [None, 0, [None, -1, -1]],
    "threshold": [None, 30.0, ["30", None, None], [True, None, None], [[30.0], None, None], [10**400, None, None]],
    "missing_left": [None, True, [0, 0, 0]],
    "category_offsets": [None, 0, [0.0, 0.0, 0.0, 0.0]],
    "category_codes": [None, 5, ["a"]],
    "leaf_class": [None, 1, [-1, 0.0, 1.0]],
    "counts": [[[9, 11], [8], [1, 9]], [["a", "b"]] * 3, {}, 7],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param(name, value, id=f"{name} is {str(value)[:30]}")
        for name, values in WRONG_TYPES.items()
        for value in values
    ],
)
def test_a_field_of_the_wrong_type_is_rejected(name: str, value: Any) -> None:
    text = written(**{name: value})
    with pytest.raises(FormatError, match=r"A field of the tree JSON has the wrong type|breaks an invariant"):
        Tree.from_json(text)


INVARIANTS: dict[str, tuple[Callable[[], str], str]] = {
    "two roots": (lambda: written(children_left=[-1, -1, -1], children_right=[-1, -1, -1]), "node"),
    "a cycle": (lambda: written(children_left=[0, -1, -1]), "node 0 has a child whose id is not larger than its own"),
    "a ghost child": (lambda: written(children_left=[9, -1, -1]), "node 0 has a child that does not exist"),
    "a lost threshold": (lambda: written(threshold=[None, None, None]), "node 0 needs a threshold"),
    "a threshold too many": (lambda: written(threshold=[30.0, 1.0, None]), "node 1 is a leaf, so its threshold must"),
    "a strange dtype": (lambda: written(dtype="int8"), "dtype must be float32 or float64, found 'int8'"),
    "a strange class": (lambda: written(leaf_class=[-1, 0, 2]), "node 2 predicts a class outside 0 to 1"),
    "a negative count": (lambda: written(counts=[[9, 11], [8, 2], [1, -9]]), "node 2 has a negative or infinite"),
    "counts for two nodes": (
        lambda: written(counts=[[9, 11], [8, 2]]),
        r"counts has shape \(2, 2\), expected \(3, 2\)",
    ),
    "equal classes": (lambda: written(classes=["no", "no"]), r"the classes \['no', 'no'\] are not distinct"),
    "no features": (lambda: written(n_features=0), "1 feature names for 0 features"),
    "NaN left": (lambda: written(missing_left=[True, False, False]), "node 0 sends NaN left"),
    "a sign of 2": (lambda: written(monotone=[2]), "monotone must have one sign of -1, 0 or"),
}


@pytest.mark.parametrize("case", INVARIANTS)
def test_a_broken_invariant_is_a_format_error_that_names_it(case: str) -> None:
    make_text, sentence = INVARIANTS[case]
    with pytest.raises(FormatError, match=rf"The tree JSON breaks an invariant\. Not a valid tree: .*{sentence}"):
        Tree.from_json(make_text())


def test_letters_are_written_as_they_are() -> None:
    assert '"größe"' in stump(feature_names=["größe"]).to_json()
