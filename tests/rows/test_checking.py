from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from secateur import Tree, TreeBuilder, from_model, simplify
from secateur.errors import InputError
from secateur.frames import frame_columns
from secateur.rows import checking, encoding
from secateur.rows.checking import check_labels, check_rows, check_weights, holds_missing
from secateur.rows.encoding import check_whole
from secateur.tree.columns import Columns

MakeFrame = Callable[[dict[str, Any]], Any]

FRAMES: dict[str, MakeFrame] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.fixture(params=FRAMES)
def make_frame(request: pytest.FixtureRequest) -> MakeFrame:
    return FRAMES[request.param]


def numeric(*, n_features: int = 2, named: bool = True, accepts_missing: Any = False, dtype: str = "float32") -> Tree:
    names = [f"f{i}" for i in range(n_features)]
    builder = TreeBuilder(["no", "yes"], names, accepts_missing=accepts_missing, dtype=dtype)
    builder.split("f0", 0.5)
    builder.leaf([3, 1], parent=0, side="left")
    builder.leaf([1, 3], parent=0, side="right")
    tree = builder.build()
    return tree if named else Tree.from_json(tree.to_json().replace(str(names).replace("'", '"'), "null"))


def categorical(levels: list[Any], *, accepts_missing: bool = False) -> Tree:
    builder = TreeBuilder(["no", "yes"], ["kind"], categories={"kind": levels}, accepts_missing=accepts_missing)
    builder.split_categories("kind", levels[:1])
    builder.leaf([3, 1], parent=0, side="left")
    builder.leaf([1, 3], parent=0, side="right")
    return builder.build()


# Arrays.


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint16", "bool"])
def test_numbers_of_every_kind_become_the_dtype_of_the_tree(dtype: str) -> None:
    for wanted in ("float32", "float64"):
        matrix = check_rows(numeric(dtype=wanted), np.array([[0, 1], [1, 0]], dtype=dtype)).matrix
        assert matrix.dtype == wanted
        assert matrix.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_lists_are_rows_too() -> None:
    assert check_rows(numeric(), [[1, 2.5], [3, 4]]).matrix.tolist() == [[1.0, 2.5], [3.0, 4.0]]


def test_a_matrix_that_fits_is_not_copied() -> None:
    X = np.zeros((4, 2), dtype=np.float32)
    assert np.shares_memory(check_rows(numeric(), X).matrix, X)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_the_rows_of_the_caller_are_never_changed(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X = data.draw(strategies.rows(tree)).astype(tree.dtype)
    before = X.copy()
    check_rows(tree, X)
    assert X.tobytes() == before.tobytes()


def test_values_are_rounded_to_nearest_as_scikit_learn_does() -> None:
    values = np.array([[0.1, 16777217.0]])
    assert check_rows(numeric(), values).matrix.tolist() == [[float(np.float32(0.1)), 16777216.0]]


ARRAY_REJECTIONS: dict[str, tuple[Any, str]] = {
    "one dimension": (
        np.zeros(2),
        r"two dimensions \(rows × columns\), found 1\. Reshape a single row",
    ),
    "three dimensions": (np.zeros((1, 2, 1)), "found 3"),
    "a number": (3.0, "found 0"),
    "a column too few": (np.zeros((3, 1)), "X has 1 columns, but the tree was fitted on 2"),
    "a column too many": (np.zeros((3, 3)), "X has 3 columns, but the tree was fitted on 2"),
    "no rows": (np.zeros((0, 2)), "X has no rows; at least one is needed"),
    "texts": (np.array([["a", "b"]]), "X is an array of <U1, but the tree compares numbers"),
    "objects": (np.array([[1, "b"]], dtype=object), "X is an array of object, but the tree compares numbers"),
    "complex numbers": (np.array([[1j, 2]]), "X is an array of complex128"),
    "dates": (np.array([["2020-01-01"] * 2], dtype="datetime64[D]"), "X is an array of datetime64"),
    "rows of different length": ([[1, 2], [3]], "Expected X as a table of numbers"),
    "infinity": (np.array([[0, 1], [0, math.inf]]), r"infinite value.*in column 'f1' \(row 1\)"),
    "minus infinity": (np.array([[-math.inf, 1]]), r"infinite value.*in column 'f0' \(row 0\)"),
    "too large for float32": (np.array([[0, 1e39]]), r"too large for float32, in column 'f1' \(row 0\)"),
    "NaN": (np.array([[0, 1], [0, 1], [math.nan, 1]]), r"X has a missing value in column 'f0' \(row 2\)"),
}


@pytest.mark.parametrize("case", ARRAY_REJECTIONS)
def test_an_array_that_does_not_fit_is_rejected_with_what_was_found(case: str) -> None:
    X, sentence = ARRAY_REJECTIONS[case]
    with pytest.raises(InputError, match=sentence):
        check_rows(numeric(), X)


def test_what_float32_cannot_hold_a_float64_tree_takes() -> None:
    assert check_rows(numeric(dtype="float64"), np.array([[0.0, 1e39]])).matrix.tolist() == [[0.0, 1e39]]


def test_numbers_whose_sum_overflows_are_not_infinite() -> None:
    X = np.full((10, 2), 3e38)
    assert check_rows(numeric(), X).matrix.shape == (10, 2)


def test_infinities_that_cancel_are_still_found() -> None:
    with pytest.raises(InputError, match=r"infinite value.*'f0' \(row 0\)"):
        check_rows(numeric(), np.array([[math.inf, -math.inf]]))


def test_nan_passes_only_in_the_columns_that_accept_it() -> None:
    tree = numeric(accepts_missing=["f1"])
    assert np.isnan(check_rows(tree, [[0, math.nan]]).matrix[0, 1])
    with pytest.raises(InputError, match="missing value in column 'f0'"):
        check_rows(tree, [[math.nan, math.nan]])


def test_an_infinity_beside_accepted_nan_is_found() -> None:
    with pytest.raises(InputError, match=r"infinite value.*'f1' \(row 1\)"):
        check_rows(numeric(accepts_missing=True), [[math.nan, 1], [0, math.inf]])


def test_the_rows_are_called_what_the_caller_calls_them() -> None:
    with pytest.raises(InputError, match="domain has 3 columns"):
        check_rows(numeric(), np.zeros((1, 3)), name="domain")


def test_columns_without_names_are_called_x0() -> None:
    with pytest.raises(InputError, match="column 'x1'"):
        check_rows(numeric(named=False), [[0, math.inf]])


# Frames.


def test_a_frame_gives_the_matrix_that_an_array_gives(make_frame: MakeFrame) -> None:
    X = np.array([[0.1, 1], [0.7, 0], [1 / 3, 5]])
    expected = check_rows(numeric(), X).matrix
    frame = make_frame({"f0": X[:, 0], "f1": X[:, 1].astype(int)})
    assert check_rows(numeric(), frame).matrix.tobytes(order="C") == expected.tobytes(order="C")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8", "bool"])
def test_columns_of_every_numeric_type_are_read(make_frame: MakeFrame, dtype: str) -> None:
    frame = make_frame({"f0": np.array([0, 1, 1], dtype=dtype), "f1": np.array([1.5, 2.5, 3.5])})
    assert check_rows(numeric(), frame).matrix.tolist() == [[0, 1.5], [1, 2.5], [1, 3.5]]


@pytest.mark.parametrize("dtype", ["Int64", "Int8", "UInt16", "Float64", "boolean"])
def test_nullable_columns_of_pandas_are_read(dtype: str) -> None:
    frame = pd.DataFrame({"f0": pd.array([1, 0, 1], dtype=dtype), "f1": [0.0, 0.0, 0.0]})
    assert check_rows(numeric(), frame).matrix[:, 0].tolist() == [1, 0, 1]
    frame.loc[1, "f0"] = pd.NA
    assert np.isnan(check_rows(numeric(accepts_missing=True), frame).matrix[1, 0])
    with pytest.raises(InputError, match=r"missing value in column 'f0' \(row 1\)"):
        check_rows(numeric(), frame)


@pytest.mark.parametrize("values", [[1, None, 3], [0.5, None, 1.5], [True, None, False]], ids=str)
def test_nulls_are_missing_values(make_frame: MakeFrame, values: list[Any]) -> None:
    if make_frame is pd.DataFrame and isinstance(values[0], bool):
        pytest.skip("pandas makes an object column of bools with None")
    frame = make_frame({"f0": values, "f1": [1.0, 2.0, 3.0]})
    found = check_rows(numeric(accepts_missing=True), frame).matrix[:, 0]
    assert found[[0, 2]].tolist() == [float(values[0]), float(values[2])]
    assert np.isnan(found[1])
    with pytest.raises(InputError, match=r"missing value in column 'f0' \(row 1\)"):
        check_rows(numeric(), frame)


def test_columns_that_hold_no_numbers_are_named(make_frame: MakeFrame) -> None:
    for values in (["a", "b"], [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]):
        with pytest.raises(InputError, match=r"Column 'f1' of X holds .*, but the tree compares numbers"):
            check_rows(numeric(), make_frame({"f0": [1.0, 2.0], "f1": values}))


def test_an_object_column_of_pandas_is_rejected_even_if_it_holds_numbers() -> None:
    frame = pd.DataFrame({"f0": pd.Series([1, 2], dtype=object), "f1": [1.0, 2.0]})
    with pytest.raises(InputError, match="Column 'f0' of X holds Object"):
        check_rows(numeric(), frame)


def test_columns_that_are_missing_and_unexpected_are_listed(make_frame: MakeFrame) -> None:
    frame = make_frame({"f0": [1.0], "g": [1.0]})
    with pytest.raises(InputError, match="The columns of X do not fit the tree: missing 'f1'; unexpected 'g'"):
        check_rows(numeric(), frame)


def test_a_column_too_few_and_a_column_too_many_are_named(make_frame: MakeFrame) -> None:
    with pytest.raises(InputError, match=r"do not fit the tree: missing 'f1'\. Pass the 2 columns"):
        check_rows(numeric(), make_frame({"f0": [1.0]}))
    with pytest.raises(InputError, match=r"do not fit the tree: unexpected 'g'\. Pass the 2 columns"):
        check_rows(numeric(), make_frame({"f0": [1.0], "f1": [1.0], "g": [1.0]}))


def test_columns_out_of_order_are_located(make_frame: MakeFrame) -> None:
    frame = make_frame({"f0": [1.0], "f2": [1.0], "f1": [1.0]})
    with pytest.raises(InputError, match="out of order from column 1 on, where 'f1' should be, not 'f2'"):
        check_rows(numeric(n_features=3), frame)


def test_a_long_list_of_names_is_shortened() -> None:
    frame = pd.DataFrame({f"g{i}": [1.0] for i in range(9)})
    with pytest.raises(InputError, match="unexpected 'g0', 'g1', 'g2', 'g3', 'g4' and 4 more"):
        check_rows(numeric(), frame)


def test_a_tree_without_names_takes_any_names_in_the_right_number(make_frame: MakeFrame) -> None:
    tree = numeric(named=False)
    assert check_rows(tree, make_frame({"a": [1.0], "b": [2.0]})).matrix.tolist() == [[1.0, 2.0]]
    with pytest.raises(InputError, match="X has 1 columns, but the tree was fitted on 2"):
        check_rows(tree, make_frame({"a": [1.0]}))


def test_a_frame_without_rows_is_rejected(make_frame: MakeFrame) -> None:
    with pytest.raises(InputError, match="X has no rows"):
        check_rows(numeric(), make_frame({"f0": np.zeros(0), "f1": np.zeros(0)}))


@pytest.mark.filterwarnings("ignore::polars.exceptions.PerformanceWarning")
def test_a_lazy_frame_is_rejected() -> None:
    with pytest.raises(InputError, match="Expected X as an array or an eager data frame"):
        check_rows(numeric(), pl.DataFrame({"f0": [1.0], "f1": [2.0]}).lazy())


def test_two_columns_of_one_name_are_rejected() -> None:
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(InputError, match="'a'"):
        check_rows(numeric(named=False), frame)


def test_frames_of_every_library_tell_their_names(make_frame: MakeFrame) -> None:
    assert frame_columns(make_frame({"f0": [1], "f1": [2]})) == ["f0", "f1"]


def test_arrays_and_lists_have_no_names() -> None:
    assert frame_columns(np.zeros((1, 2))) is None
    assert frame_columns([[1, 2]]) is None


def test_missing_values_are_seen(make_frame: MakeFrame) -> None:
    assert not holds_missing(make_frame({"f0": [1.0, 2.0], "f1": [1, 2]}))
    assert holds_missing(make_frame({"f0": [1.0, None], "f1": [1, 2]}))
    assert holds_missing(make_frame({"f0": [1.0, math.nan], "f1": [1, 2]}))
    assert holds_missing(np.array([[math.nan]]))
    assert not holds_missing(np.array([[1]]))


# Categories.


def test_an_array_holds_codes_and_whatever_is_no_code_is_unlisted() -> None:
    tree = categorical(["red", "green", "blue"])
    X = np.array([0, 1, 2, 3, 4, -1, 0.5, 1e6])[:, None]
    assert check_rows(tree, X).matrix[:, 0].tolist() == [0, 1, 2, 3, 3, 3, 3, 3]
    assert X[4, 0] == 4


def test_a_frame_holds_labels_and_whatever_is_no_label_is_unlisted(make_frame: MakeFrame) -> None:
    tree = categorical(["red", "green", "blue"])
    assert check_rows(tree, make_frame({"kind": ["blue", "red", "pink", "green"]})).matrix[:, 0].tolist() == [
        2,
        0,
        3,
        1,
    ]


def test_a_categorical_column_of_every_library_holds_labels() -> None:
    tree = categorical(["red", "green"])
    values = ["green", "red", "pink"]
    for frame in (
        pd.DataFrame({"kind": pd.Categorical(values)}),
        pl.DataFrame({"kind": pl.Series(values, dtype=pl.Categorical)}),
        pl.DataFrame({"kind": pl.Series(values, dtype=pl.Enum(values))}),
        pa.table({"kind": pa.array(values).dictionary_encode()}),
    ):
        assert check_rows(tree, frame).matrix[:, 0].tolist() == [1, 0, 2]


def test_labels_that_are_numbers_are_labels_in_a_frame(make_frame: MakeFrame) -> None:
    tree = categorical([10, 20, 1])
    assert check_rows(tree, make_frame({"kind": [20, 10, 1, 0, 30]})).matrix[:, 0].tolist() == [1, 0, 2, 3, 3]


def test_labels_that_are_bools_are_labels_in_a_frame(make_frame: MakeFrame) -> None:
    tree = categorical([True, False])
    assert check_rows(tree, make_frame({"kind": [True, False, True]})).matrix[:, 0].tolist() == [0, 1, 0]


def test_a_missing_label_is_nan_where_the_column_accepts_it(make_frame: MakeFrame) -> None:
    frame = make_frame({"kind": ["red", None, "green"]})
    found = check_rows(categorical(["red", "green"], accepts_missing=True), frame).matrix[:, 0]
    assert found[[0, 2]].tolist() == [0, 1]
    assert np.isnan(found[1])
    with pytest.raises(InputError, match=r"missing value in column 'kind' \(row 1\)"):
        check_rows(categorical(["red", "green"]), frame)


@pytest.mark.parametrize("dtype", ["object", "str", "string", "category"])
def test_a_missing_label_of_every_text_type_of_pandas_is_nan(dtype: str) -> None:
    frame = pd.DataFrame({"kind": pd.Series(["red", None], dtype=dtype)})
    found = check_rows(categorical(["red", "green"], accepts_missing=True), frame).matrix[:, 0]
    assert found[0] == 0
    assert np.isnan(found[1])


def test_a_missing_code_is_nan_where_the_column_accepts_it() -> None:
    X = np.array([[0.0], [math.nan]])
    assert np.isnan(check_rows(categorical(["red", "green"], accepts_missing=True), X).matrix[1, 0])
    with pytest.raises(InputError, match=r"missing value in column 'kind' \(row 1\)"):
        check_rows(categorical(["red", "green"]), X)


# Labels.


def with_classes(classes: list[Any]) -> Tree:
    builder = TreeBuilder(classes, ["x"])
    builder.leaf([1] * len(classes))
    return builder.build()


@pytest.mark.parametrize(
    ("classes", "y", "expected"),
    [
        (["b", "a", "c"], ["a", "c", "b", "a"], [1, 2, 0, 1]),
        (["long label", "a"], np.array(["a", "long label"]), [1, 0]),
        (["a", "b"], np.array(["b", "a"], dtype=object), [1, 0]),
        ([7, 3], [3, 7, 7], [1, 0, 0]),
        ([7, 3], [3.0, 7.0], [1, 0]),
        ([7, 3], np.array([3, 7], dtype=object), [1, 0]),
        ([7, 3], np.array([np.int64(3), np.int64(7)], dtype=object), [1, 0]),
        ([0.5, 1.5], [1.5, 0.5], [1, 0]),
        ([False, True], [True, False], [1, 0]),
        ([True, False], np.array([np.True_, np.False_], dtype=object), [0, 1]),
        (["a", "b"], pd.Series(["b", "a"]), [1, 0]),
        (["a", "b"], pd.Series(["b", "a"], dtype="category"), [1, 0]),
        ([0, 1], pd.array([1, 0], dtype="Int64"), [1, 0]),
        (["a", "b"], pl.Series(["b", "a"]), [1, 0]),
        (["a", "b"], pa.chunked_array([["b"], ["a"]]), [1, 0]),
        (["a", "b"], np.array([["b"], ["a"]]), [1, 0]),
    ],
)
def test_labels_become_class_indices(classes: list[Any], y: Any, expected: list[int]) -> None:
    assert check_labels(with_classes(classes), y, len(expected)).tolist() == expected


LABEL_REJECTIONS: dict[str, tuple[list[Any], Any, str]] = {
    "a new text": (["a", "b"], ["a", "z"], r"y holds the label 'z' \(row 1\), which the model never saw; .* 'a', 'b'"),
    "a longer text": (["a", "b"], ["a", "bb"], r"holds the label 'bb' \(row 1\)"),
    "a new number": ([1, 2], [1, 3], r"y holds the label 3 \(row 1\).* its classes are 1, 2"),
    "a small number": ([1, 2], [0, 1], r"y holds the label 0 \(row 0\)"),
    "a number for a text": (["1", "2"], [1, 2], r"y holds the label 1 \(row 0\)"),
    "a text for a number": ([1, 2], ["1", "2"], r"y holds the label '1' \(row 0\)"),
    "NaN": ([1, 2], [1, math.nan], r"y holds the label nan \(row 1\)"),
    "NaN among texts": (["a", "b"], np.array(["a", math.nan], dtype=object), r"y holds the label nan \(row 1\)"),
    "None": (["a", "b"], ["a", None], r"y holds the label None \(row 1\)"),
    "a list": (["a", "b"], np.array(["a", ["b"]], dtype=object), r"y holds the label \['b'\] \(row 1\)"),
    "too short": (["a", "b"], ["a"], "y has 1 labels, but there are 2 rows. Pass one label per row"),
    "too long": (["a", "b"], ["a"] * 3, "y has 3 labels, but there are 2 rows"),
    "two columns": (["a", "b"], [["a", "b"], ["a", "b"]], r"Expected y as one column of labels, found shape \(2, 2\)"),
    "one label": (["a", "b"], "a", r"Expected y as one column of labels, found shape \(\)"),
    "rows of different length": (["a", "b"], [["a"], ["a", "b"]], "Expected y as one column of labels"),
}


@pytest.mark.parametrize("case", LABEL_REJECTIONS)
def test_labels_that_do_not_fit_are_rejected_with_what_was_found(case: str) -> None:
    classes, y, sentence = LABEL_REJECTIONS[case]
    with pytest.raises(InputError, match=sentence):
        check_labels(with_classes(classes), y, 2)


def test_the_labels_are_called_what_the_caller_calls_them() -> None:
    with pytest.raises(InputError, match="domain labels holds the label 'z'"):
        check_labels(with_classes(["a", "b"]), ["z"], 1, name="domain labels")


# Weights.


def test_weights_become_floats_and_none_stays_none() -> None:
    assert check_weights(None, 3) is None
    for weights in (
        [1, 0, 2],
        (1.0, 0.0, 2.0),
        np.array([1, 0, 2], np.int8),
        pd.Series([1, 0, 2]),
        pl.Series([1, 0, 2]),
    ):
        found = check_weights(weights, 3)
        assert found is not None
        assert found.dtype == np.float64
        assert found.tolist() == [1.0, 0.0, 2.0]


WEIGHT_REJECTIONS: dict[str, tuple[Any, str]] = {
    "negative": ([1, -0.5, 1], "sample_weight must not be negative, but row 1 has -0.5"),
    "all zero": ([0, 0, 0], "sample_weight is zero for every row; at least one row must count"),
    "NaN": ([1, 1, math.nan], "sample_weight must be finite, but row 2 is not"),
    "infinite": ([math.inf, 1, 1], "sample_weight must be finite, but row 0 is not"),
    "too short": ([1, 1], r"Expected one weight for each of the 3 rows, found sample_weight of shape \(2,\)"),
    "a column": ([[1], [1], [1]], r"found sample_weight of shape \(3, 1\)"),
    "a number": (1.0, r"found sample_weight of shape \(\)"),
    "texts": (["a", "b", "c"], "Expected sample_weight as numbers, one per row"),
    "rows of different length": ([[1], [1, 2], [1]], "Expected sample_weight as numbers, one per row"),
}


@pytest.mark.parametrize("case", WEIGHT_REJECTIONS)
def test_weights_that_do_not_fit_are_rejected_with_what_was_found(case: str) -> None:
    weights, sentence = WEIGHT_REJECTIONS[case]
    with pytest.raises(InputError, match=sentence):
        check_weights(weights, 3)


@pytest.mark.parametrize("classes", [[0, 10**13], [-5, 3], [3, 4, 5], [False, True]])
def test_whole_labels_become_class_indices(classes: list[int]) -> None:
    """Labels may be far apart: nothing as long as their range is made."""
    builder = TreeBuilder(classes, ["f0"])
    builder.split("f0", 0.5)
    builder.leaf([1] * len(classes), parent=0, side="left")
    builder.leaf([1] * len(classes), parent=0, side="right")
    labels = np.array(classes * 3)
    assert check_labels(builder.build(), labels, len(labels)).tolist() == list(range(len(classes))) * 3


def test_a_single_number_is_no_table() -> None:
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="two dimensions"):
        simplify(model, 3.0, [1], method="mismatch", each_leaf=True)


# Rows of a tree behind a pipeline.


def behind_pipeline(**closed: bool) -> Tree:
    """Tests a number, a text, a whole number as a label and a cell; the column "unused" is never tested."""
    names = ["unused", "size", "city", "code", "heat"]
    categories = {"city": ["Paris", "Rome"], "code": [10, 20], "heat": ["<= 5", "5 < x <= 9"]}
    builder = TreeBuilder(["no", "yes"], names, categories=categories, dtype="float64", accepts_missing=["city"])
    splits = [("size", 1.5), ("city", ["Rome"]), ("code", [20]), ("heat", ["<= 5"])]
    node = 0
    for name, test in splits:
        if isinstance(test, float):
            node = builder.split(name, test, parent=node if name != "size" else None, side="right")
        else:
            node = builder.split_categories(name, test, parent=node, side="right")
        builder.leaf([1, 0], parent=node, side="left")
    builder.leaf([0, 1], parent=node, side="right")
    columns = Columns(
        cuts=(None, None, None, None, (5.0, 9.0)), closed=tuple(closed.get(name, False) for name in names)
    )
    return replace(builder.build(), columns=columns)


SOURCE_ROWS: dict[str, list[Any]] = {
    "unused": [datetime.date(2020, 1, 1)] * 4,
    "size": [1.0, 2.0, 1.5, 3.0],
    "city": ["Rome", "Oslo", None, "Paris"],
    "code": [10, 15, 20, 10],
    "heat": [5.0, 5.5, 9.0, 9.5],
}
SOURCE_TERMS = [[0, 1, 1, 0, 0], [0, 2, 2, 2, 1], [0, 1.5, math.nan, 1, 1], [0, 3, 0, 0, 2]]


def test_rows_behind_a_pipeline_hold_labels_and_become_codes(make_frame: MakeFrame) -> None:
    found = check_rows(behind_pipeline(), make_frame(SOURCE_ROWS)).matrix
    np.testing.assert_array_equal(found, SOURCE_TERMS)


def test_an_array_behind_a_pipeline_is_read_column_by_column() -> None:
    table = np.array(list(SOURCE_ROWS.values()), dtype=object).T
    np.testing.assert_array_equal(check_rows(behind_pipeline(), table).matrix, SOURCE_TERMS)


def test_a_read_of_some_rows_and_columns_is_a_part_of_all() -> None:
    rows = check_rows(behind_pipeline(), pd.DataFrame(SOURCE_ROWS))
    np.testing.assert_array_equal(rows.read(1, 3, np.array([4, 2])), np.array(SOURCE_TERMS)[1:3][:, [4, 2]])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 3, 10, -5]), min_size=1, max_size=5, unique=True),
    st.lists(st.sampled_from([1, 2, 3, 4, 10, -5, 2.5, math.nan]), min_size=1, max_size=20),
    st.sampled_from(["float", "object", "list"]),
)
def test_numbers_as_labels_are_found_as_a_dictionary_finds_them(
    levels: list[int], values: list[Any], kind: str
) -> None:
    builder = TreeBuilder(["no", "yes"], ["k"], categories={"k": levels}, dtype="float64", accepts_missing=True)
    builder.split_categories("k", levels[:1])
    builder.leaf([3, 1], parent=0, side="left")
    builder.leaf([1, 3], parent=0, side="right")
    tree = replace(builder.build(), columns=Columns(cuts=(None,), closed=(False,)))
    table: Any = [[value] for value in values] if kind == "list" else np.array(values, dtype=kind).reshape(-1, 1)
    expected = [
        math.nan if value != value else dict(zip(levels, range(9), strict=False)).get(value, len(levels))
        for value in values
    ]
    np.testing.assert_array_equal(check_rows(tree, table).matrix[:, 0], expected)


SOURCE_REJECTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "text for a number": ({"size": list("abcd")}, "Column 'size' of X holds .*, but the tree compares numbers"),
    "number for a text": ({"city": [1, 2, 3, 4]}, "expected text such as 'Paris', found Int64"),
    "text for a numeric label": ({"code": list("abcd")}, "expected a number such as 10, found"),
    "a rejected category": (
        {"city": ["Rome", "Oslo", "Oslo", "Rome"]},
        r"Column 'city' of X holds 'Oslo' \(row 1\), which the pipeline's encoder rejects; its categories are 'Paris'",
    ),
    "a missing number": (
        {"size": [1.0, None, 2.0, 3.0]},
        r"missing value in column 'size' \(row 1\), which the pipeline",
    ),
    "a missing label": ({"code": [10.0, 20.0, None, 10.0]}, r"missing value in column 'code' \(row 2\)"),
    "a missing cell": ({"heat": [1.0, 2.0, 3.0, None]}, r"missing value in column 'heat' \(row 3\)"),
    "an infinite cell": ({"heat": [1.0, 2.0, math.inf, 3.0]}, r"infinite value.*in column 'heat' \(row 2\)"),
    "an infinite number": ({"size": [1.0, 2.0, 3.0, -math.inf]}, r"infinite value.*in column 'size' \(row 3\)"),
}


@pytest.mark.parametrize("case", SOURCE_REJECTIONS)
def test_rows_that_a_pipeline_would_not_take_are_rejected(case: str, make_frame: MakeFrame) -> None:
    changed, sentence = SOURCE_REJECTIONS[case]
    rows = {**SOURCE_ROWS, "city": ["Rome", "Paris", "Rome", "Paris"], **changed}
    with pytest.raises(InputError, match=sentence):
        check_rows(behind_pipeline(city=True), make_frame(rows))


def test_a_column_without_a_single_value_is_missing_and_not_of_the_wrong_type() -> None:
    rows = pd.DataFrame({**SOURCE_ROWS, "city": np.full(4, np.nan)})
    assert np.isnan(check_rows(behind_pipeline(), rows).matrix[:, 2]).all()


def test_whole_numbers_that_no_float_holds_are_rejected_where_a_split_asks_for_them(tmp_path: Path) -> None:
    # scikit-learn rounds them to float32 at once in a table of whole numbers, and by way of float64 beside floats.
    rng = np.random.default_rng(0)
    base = 2**60
    frame = pd.DataFrame({"time": base + rng.integers(-(2**38), 2**38, 400), "b": rng.normal(size=400)})
    y = np.where(frame["time"] > base + 12_345, "late", "early")
    near = pd.DataFrame({"time": base - 2**35 + np.arange(-200, 201), "b": 0.0})  # half way between two of float32
    sentence = r"Column 'time' of .* holds \d+ \(row \d+\), a whole number beyond 2\^53 that no float holds"
    path = tmp_path / "t.parquet"
    for columns in (["time", "b"], ["time"]):
        floats = frame[columns].astype(float)
        model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(frame[columns], y)
        rules = simplify(model, floats, y, each_leaf=True)
        as_floats = near[columns].astype(float)
        assert rules.predict(as_floats).tolist() == model.predict(as_floats).tolist()
        near[columns].assign(y="late").to_parquet(path)
        for rows in (near[columns], pl.DataFrame(near[columns]), path, near[columns].astype({"time": "Int64"})):
            with pytest.raises(InputError, match=sentence):
                rules.predict(rows)
        with pytest.raises(InputError, match=sentence):
            simplify(model, frame[columns], y, each_leaf=True)
    matrix = near[["time"]].to_numpy()
    rules = simplify(DecisionTreeClassifier(max_depth=2).fit(frame[["time"]].to_numpy(), y), each_leaf=True)
    with pytest.raises(InputError, match=r"Column 'x0' of X holds"):
        rules.predict(matrix)


def test_whole_numbers_that_floats_hold_are_taken_at_any_size() -> None:
    values = np.array([-(2**63), -(2**53) - 2, -1, 0, 5, 2**53, 2**53 + 2, 2**62 + 2**20], dtype=np.int64)
    frame = pd.DataFrame({"id": values, "b": np.arange(8.0)})
    model = DecisionTreeClassifier(random_state=0).fit(frame, values > 0)
    assert simplify(model, frame, values > 0, each_leaf=True).predict(frame).tolist() == model.predict(frame).tolist()
    for strange in (2**53 + 1, -(2**53) - 1, 2**63 - 1):
        with pytest.raises(InputError, match=f"holds {strange} "):
            check_whole(np.array([0, strange]), "id", "X", 0)
    with pytest.raises(InputError, match=f"holds {2**64 - 1} "):
        check_whole(np.array([0, 2**64 - 1], dtype=np.uint64), "id", "X", 0)


def test_numbers_beyond_floats_in_a_column_that_no_split_asks_for_do_no_harm() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50), "id": 2**60 + np.arange(50)})
    y = frame["a"] > 0
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(frame, y)
    assert simplify(model, frame, y, each_leaf=True).predict(frame).tolist() == y.tolist()


@pytest.mark.parametrize("kind", ["pandas", "array", "polars", "parquet", "csv", "reader"])
def test_blanks_in_a_column_that_no_split_asks_for_show_nothing_in_any_table(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=99), "b": np.where(np.arange(99) % 9 == 0, np.nan, 1.0)})
    y = np.where(frame["a"] > 0, "yes", "no")
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(frame, y)
    whole = frame.assign(y=y)
    whole.to_parquet(tmp_path / "t.parquet")
    whole.to_csv(tmp_path / "t.csv", index=False)
    rows: dict[str, tuple[Any, Any]] = {
        "pandas": (frame, y),
        "array": (frame.to_numpy(), y),
        "polars": (pl.DataFrame(whole), "y"),
        "parquet": (tmp_path / "t.parquet", "y"),
        "csv": (tmp_path / "t.csv", "y"),
        "reader": (pa.Table.from_pandas(whole).to_reader(), "y"),
    }
    rules = simplify(model, *rows[kind], each_leaf=True)
    assert not rules.tree.accepts_missing.any()
    assert [rule.support for rule in rules] == [int((y == "no").sum()), int((y == "yes").sum())]
    if kind != "reader":
        assert rules.predict(rows[kind][0] if kind != "polars" else pl.DataFrame(frame)).tolist() == y.tolist()


def test_columns_of_a_small_table_are_converted_once_and_of_a_large_one_whenever_they_are_read() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=40_000), "y": rng.choice(["a", "b"], 40_000)})
    encode = ColumnTransformer([("y", OneHotEncoder(sparse_output=False), ["y"])], remainder="passthrough")
    labels = (frame["x"] > 0) & (frame["y"] == "a")
    model = make_pipeline(encode, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(frame, labels)
    tree = from_model(model, frame)
    matrices, times = [], []
    for most in (0, checking.HELD_CELLS):
        with (
            mock.patch.object(checking, "HELD_CELLS", most),
            mock.patch.object(encoding, "read_source", side_effect=encoding.read_source) as converted,
        ):
            rows = checking.check_rows(tree, frame)
            parts = [rows.select(*span, np.arange(tree.n_features)) for span in rows.spans()]
            matrices.append(np.concatenate(parts))
        times.append(converted.call_count)
    np.testing.assert_array_equal(*matrices)
    assert times[1] == 2 < times[0]
