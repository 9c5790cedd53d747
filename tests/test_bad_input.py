"""What a person may get wrong at the front door: each mistake is one sentence that names what was found."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from drawing import fewer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import Rules, SecateurError, Tree, simplify
from secateur.errors import FormatError, InputError, InvalidTreeError, ParameterError
from secateur.tree.contract import check_tree
from secateur.tree.tree import make_tree

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=NAMES)
MODEL = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
NAMED_MODEL = DecisionTreeClassifier(max_depth=3, random_state=0).fit(FRAME, Y)
TWO_X, TWO_Y = X[50:], Y[50:]
TWO_CLASSES = DecisionTreeClassifier(max_depth=3, random_state=0).fit(TWO_X, TWO_Y)
NOT_NEGATIVE, SHARE = "that is not negative", "from 0 to 1"


def spoiled(value: float, row: int = 7, column: int = 2) -> np.ndarray[Any, Any]:
    rows = X.copy()
    rows[row, column] = value
    return rows


def many_missing() -> np.ndarray[Any, Any]:
    rows = X.copy()
    rows[1::2, 2:] = np.nan
    return rows


def certified(**options: Any) -> Rules:
    return simplify(TWO_CLASSES, TWO_X, TWO_Y, method="mismatch-certified", each_leaf=True, **options)


def tree_json(**changes: Any) -> str:
    return json.dumps(json.loads(secateur.from_model(MODEL).to_json()) | changes)


def rules_json(**changes: Any) -> str:
    return json.dumps(json.loads(simplify(MODEL, X, Y, each_leaf=True).to_json()) | changes)


Mistake = tuple[Callable[[], Any], type[SecateurError], str]

ROWS: dict[str, Mistake] = {
    "NaN where the tree takes none": (
        lambda: simplify(MODEL, many_missing(), Y, each_leaf=True),
        InputError,
        r"X has a missing value in column 'x2' \(row 1\), but as far as the tree shows, it was fitted without",
    ),
    "NaN in a named column": (
        lambda: simplify(NAMED_MODEL, FRAME, Y, each_leaf=True).predict(pd.DataFrame(spoiled(math.nan), columns=NAMES)),
        InputError,
        r"X has a missing value in column 'petal length' \(row 7\)",
    ),
    "a column too few": (
        lambda: simplify(MODEL, X[:, :3], Y, each_leaf=True),
        InputError,
        "X has 3 columns, but .* fitted on 4",
    ),
    "a column too many": (
        lambda: simplify(MODEL, np.column_stack([X, X]), Y, each_leaf=True),
        InputError,
        "X has 8 columns, but the tree was fitted on 4",
    ),
    "a named column missing": (
        lambda: simplify(NAMED_MODEL, FRAME[NAMES[:3]], Y, each_leaf=True),
        InputError,
        r"The columns of X do not fit the tree: missing 'petal width'\.",
    ),
    "a named column unexpected": (
        lambda: simplify(NAMED_MODEL, FRAME.assign(colour=1.0), Y, each_leaf=True),
        InputError,
        r"The columns of X do not fit the tree: unexpected 'colour'\.",
    ),
    "a column renamed": (
        lambda: simplify(NAMED_MODEL, FRAME.rename(columns={"sepal width": "Sepal width"}), Y, each_leaf=True),
        InputError,
        "missing 'sepal width'; unexpected 'Sepal width'",
    ),
    "columns out of order": (
        lambda: simplify(NAMED_MODEL, FRAME[[NAMES[0], NAMES[2], NAMES[1], NAMES[3]]], Y, each_leaf=True),
        InputError,
        "out of order from column 1 on, where 'sepal width' should be, not 'petal length'",
    ),
    "no rows": (
        lambda: simplify(MODEL, X[:0], Y[:0], each_leaf=True),
        InputError,
        "X has no rows; at least one is needed",
    ),
    "an empty list": (lambda: simplify(MODEL, [], [], each_leaf=True), InputError, "Expected X with two dimensions"),
    "an object column": (
        lambda: simplify(NAMED_MODEL, FRAME.astype({"petal width": object}), Y, each_leaf=True),
        InputError,
        "Column 'petal width' of X holds Object, but the tree compares numbers",
    ),
    "a text column": (
        lambda: simplify(NAMED_MODEL, FRAME.assign(**{"petal width": "wide"}), Y, each_leaf=True),
        InputError,
        "Column 'petal width' of X holds String, but the tree compares numbers",
    ),
    "an object array": (
        lambda: simplify(MODEL, X.astype(object), Y, each_leaf=True),
        InputError,
        r"X is an array of object, but the tree compares numbers.* or convert them with astype\(float\)",
    ),
    "a sparse matrix": (
        lambda: simplify(MODEL, scipy.sparse.csr_array(X), Y, each_leaf=True),
        InputError,
        r"X is a sparse matrix; pass X\.toarray\(\)",
    ),
    "one row without its brackets": (
        lambda: simplify(MODEL, X, Y, each_leaf=True).predict(X[0]),
        InputError,
        r"Expected X with two dimensions \(rows × columns\), found 1\. Reshape a single row with \.reshape\(1, -1\)",
    ),
    "rows of different length": (
        lambda: simplify(MODEL, [[1.0, 2, 3, 4], [1.0, 2]], [0, 1], each_leaf=True),
        InputError,
        "Expected X as a table of numbers",
    ),
    "infinity": (
        lambda: simplify(MODEL, spoiled(math.inf), Y, each_leaf=True),
        InputError,
        r"X holds an infinite value, or one too large for float32, in column 'x2' \(row 7\)",
    ),
    "minus infinity": (
        lambda: simplify(MODEL, spoiled(-math.inf), Y, each_leaf=True),
        InputError,
        r"infinite value.*'x2' \(row 7\)",
    ),
    "a number that float32 cannot hold": (
        lambda: simplify(MODEL, spoiled(1e300), Y, each_leaf=True),
        InputError,
        r"too large for float32, in column 'x2' \(row 7\)",
    ),
    "X without y": (
        lambda: simplify(MODEL, X, each_leaf=True),
        InputError,
        "X was passed without y: pass both, or neither",
    ),
    "y without X": (
        lambda: simplify(MODEL, y=Y, each_leaf=True),
        InputError,
        "y was passed without X: pass both, or neither",
    ),
    "a method that needs rows, without rows": (
        lambda: simplify(MODEL, method="mismatch", each_leaf=True),
        InputError,
        "The method 'mismatch' judges deletions by training rows: pass X and y, or use .*exact",
    ),
    "a method by rows without rows": (
        lambda: simplify(MODEL, method="mismatch", each_leaf=True),
        InputError,
        "The method 'mismatch' judges deletions",
    ),
    "quinlan without rows": (
        lambda: simplify(MODEL, method="Quinlan", each_leaf=True),
        InputError,
        "The method 'quinlan' judges",
    ),
    "a certificate without anything to certify by": (
        lambda: simplify(MODEL, method="M1-D", each_leaf=True),
        InputError,
        "'mismatch-certified' needs something to certify by: pass training rows, a domain, or monotone signs",
    ),
}

LABELS: dict[str, Mistake] = {
    "a label the model never saw": (
        lambda: simplify(MODEL, X, np.where(np.arange(150) == 3, 9, Y), each_leaf=True),
        InputError,
        r"y holds the label 9 \(row 3\), which the model never saw; its classes are 0, 1, 2",
    ),
    "names instead of labels": (
        lambda: simplify(MODEL, X, np.array(["setosa", "versicolor", "virginica"])[Y], each_leaf=True),
        InputError,
        r"y holds the label 'setosa' \(row 0\), which the model never saw",
    ),
    "NaN labels": (
        lambda: simplify(MODEL, X, np.where(np.arange(150) == 5, np.nan, Y), each_leaf=True),
        InputError,
        r"y holds the label nan \(row 5\), which the model never saw",
    ),
    "y too short": (
        lambda: simplify(MODEL, X, Y[:149], each_leaf=True),
        InputError,
        "y has 149 labels, but there are 150 rows. Pass one label per row",
    ),
    "y too long": (
        lambda: simplify(MODEL, X[:9], Y, each_leaf=True),
        InputError,
        "y has 150 labels, but there are 9 rows",
    ),
    "y with two columns": (
        lambda: simplify(MODEL, X, np.column_stack([Y, Y]), each_leaf=True),
        InputError,
        r"Expected y as one column of labels, found shape \(150, 2\)",
    ),
    "a label the audit never saw": (
        lambda: simplify(MODEL, X, Y, each_leaf=True).audit(X[:2], [0, 7]),
        InputError,
        r"y holds the label 7 \(row 1\)",
    ),
}

WEIGHTS: dict[str, Mistake] = {
    "negative": (
        lambda: simplify(MODEL, X, Y, sample_weight=np.where(np.arange(150) == 4, -2, 1), each_leaf=True),
        InputError,
        "sample_weight must not be negative, but row 4 has -2",
    ),
    "all zero": (
        lambda: simplify(MODEL, X, Y, sample_weight=np.zeros(150), each_leaf=True),
        InputError,
        "sample_weight is zero for every row; at least one row must count",
    ),
    "NaN": (
        lambda: simplify(MODEL, X, Y, sample_weight=np.where(np.arange(150) == 4, np.nan, 1), each_leaf=True),
        InputError,
        "sample_weight must be finite, but row 4 is not",
    ),
    "too short": (
        lambda: simplify(MODEL, X, Y, sample_weight=[1, 2, 3], each_leaf=True),
        InputError,
        r"Expected one weight for each of the 150 rows, found sample_weight of shape \(3,\)",
    ),
    "a column": (
        lambda: simplify(MODEL, X, Y, sample_weight=np.ones((150, 1)), each_leaf=True),
        InputError,
        r"found sample_weight of shape \(150, 1\)",
    ),
    "texts": (
        lambda: simplify(MODEL, X, Y, sample_weight=["much"] * 150, each_leaf=True),
        InputError,
        "sample_weight as numbers",
    ),
    "without rows": (
        lambda: simplify(MODEL, method="exact", sample_weight=np.ones(150), each_leaf=True),
        InputError,
        "sample_weight was passed without X and y",
    ),
}

PARAMETERS: dict[str, Mistake] = {
    **{
        f"{name}={value!r}": (
            lambda method=method, name=name, value=value: simplify(
                MODEL, X, Y, method=method, each_leaf=True, **{name: value}
            ),
            ParameterError,
            # A tolerance may be in units of a target, so that only a model of classes makes one of 5 too large.
            f"Expected {name} as a number {NOT_NEGATIVE if name == 'tolerance' and value not in (1.01, 5) else SHARE}, "
            f"found {value!r}",
        )
        for method, name in (("mismatch", "tolerance"), ("quinlan", "alpha"), ("budgeted", "max_conflict"))
        for value in (-0.01, 1.01, 5, math.nan, math.inf, "small", None, True)
        if (name, value) != ("tolerance", None)  # which is the method's own
    },
    **{
        f"ties={value!r}": (
            lambda value=value: simplify(MODEL, X, Y, method="quinlan", ties=value, each_leaf=True),
            ParameterError,
            f"Expected ties as 'root' or 'leaf', found {value!r}",
        )
        for value in ("top", None, 1)
    },
    **{
        f"budget={value!r}": (
            lambda value=value: simplify(MODEL, X, Y, budget=value),
            ParameterError,
            f"Expected budget as a number from 0 to 1, found {value!r}",
        )
        for value in (-0.01, 1.01, 5, math.nan, math.inf, "small", None, True)
    },
    **{
        f"smoothing {value!r}": (
            lambda value=value: simplify(MODEL, X, Y, method="budgeted", smoothing=value, each_leaf=True),
            ParameterError,
            f"Expected smoothing as a number that is not negative, found {value!r}",
        )
        for value in (-1, -0.001, math.inf, math.nan, "1000", None, True)
    },
    "a setting that the method does not read": (
        lambda: simplify(MODEL, method="exact", tolerance=0.9, each_leaf=True),
        ParameterError,
        "The method 'exact' reads no tolerance: leave tolerance out, or use 'faithful', 'mismatch' and 'budgeted'",
    ),
    "a setting of one other method": (
        lambda: simplify(MODEL, X, Y, method="mismatch", alpha=0.1, each_leaf=True),
        ParameterError,
        "The method 'mismatch' does not read alpha; 'quinlan' does. Leave alpha out",
    ),
    "a misspelt setting": (
        lambda: simplify(MODEL, X, Y, tolerence=0.9, each_leaf=True),
        ParameterError,
        "There is no setting 'tolerence'. Did you mean 'tolerance'",
    ),
    "a misspelt argument": (
        lambda: simplify(MODEL, X, Y, featur_names=["a"], each_leaf=True),
        ParameterError,
        "There is no setting 'featur_names'. Did you mean 'feature_names'",
    ),
    "a budget without rows": (
        lambda: simplify(MODEL, method="budgeted", each_leaf=True),
        InputError,
        "The method 'budgeted' judges deletions by training rows: pass X and y",
    ),
    "a budget that the method has overdrawn": (
        lambda: simplify(MODEL, X, Y, method="quinlan", alpha=0.0, budget=0.001),
        InputError,
        "The rules of 'quinlan' claim .* % of the rows, of all or of one class, for another class than the tree, or "
        "for two, before anything is spent, beyond the budget of 0.1 %: ",
    ),
    "a tolerance for diagnose": (
        lambda: secateur.diagnose(MODEL, X, Y, tolerance=2),
        ParameterError,
        "Expected tolerance as a number from 0 to 1, found 2",
    ),
    **{
        f"rf_tol={value!r}": (
            lambda value=value: simplify(MODEL, X, Y, method="mismatch", rf_tol=value, each_leaf=True),
            ParameterError,
            f"Expected rf_tol as a number that is not negative, found {value!r}",
        )
        for value in (-1e-9, math.nan, math.inf, "tiny", None, False)
    },
    "rf_tol for diagnose": (
        lambda: secateur.diagnose(MODEL, X, Y, rf_tol=-1),
        ParameterError,
        "Expected rf_tol as a number that is not negative, found -1",
    ),
    "a misspelt method": (
        lambda: simplify(MODEL, X, Y, method="sibbling", each_leaf=True),
        ParameterError,
        "There is no method 'sibbling'. Did you mean 'sibling'",
    ),
    "another misspelt method": (
        lambda: simplify(MODEL, X, Y, method="redundant", each_leaf=True),
        ParameterError,
        "There is no method 'redundant'. Did you mean 'redundancy'",
    ),
    "a misspelt alias": (
        lambda: simplify(MODEL, X, Y, method="Iza", each_leaf=True),
        ParameterError,
        "Did you mean 'redundancy'",
    ),
    "an empty method": (
        lambda: simplify(MODEL, X, Y, method="", each_leaf=True),
        ParameterError,
        "There is no method ''",
    ),
    "a method that is no text": (
        lambda: simplify(MODEL, X, Y, method=None, each_leaf=True),
        ParameterError,
        "Expected the name of a method, found None. Methods: none, sibling",
    ),
    "class names too few": (
        lambda: simplify(MODEL, X, Y, class_names=["a", "b"], each_leaf=True),
        SecateurError,
        "Expected 3 different class_names, .* found .'a', 'b'",
    ),
    "class names that are the labels in another order": (
        lambda: simplify(MODEL, X, Y, class_names=[2, 0, 1]),
        SecateurError,
        "Expected class_names in the order of the labels, .0, 1, 2., found .'2', '0', '1'",
    ),
    "feature names too few": (
        lambda: simplify(MODEL, X, Y, feature_names=["a", "b"], each_leaf=True),
        SecateurError,
        "2 feature names for 4 features",
    ),
    "a feature name twice": (
        lambda: simplify(MODEL, X, Y, feature_names=["a", "b", "b", "d"], each_leaf=True),
        SecateurError,
        "two features have the same name",
    ),
    "a frame with a name twice": (
        lambda: simplify(MODEL, pd.DataFrame(X, columns=["a", "b", "b", "d"]), Y, each_leaf=True),
        SecateurError,
        "'b'",
    ),
    "feature names that contradict the model": (
        lambda: simplify(NAMED_MODEL, FRAME, Y, feature_names=["a", "b", "c", "d"], each_leaf=True),
        ParameterError,
        "The model already names its columns, and feature_names differs",
    ),
}

CERTIFICATES: dict[str, Mistake] = {
    "a domain that contradicts itself": (
        lambda: certified(domain=(np.vstack([TWO_X, TWO_X[4]]), [*TWO_Y, 3 - TWO_Y[4]])),
        InputError,
        r"The domain contradicts itself: rows 4 and 100 are equal but have different labels",
    ),
    "a domain that contradicts itself after rounding": (
        lambda: certified(domain=([[0.1, 1, 1, 1], [0.1 + 1e-12, 1, 1, 1]], [1, 2])),
        InputError,
        "rows 0 and 1 are equal but have different labels",
    ),
    "a domain that contradicts itself in the sign of zero": (
        lambda: certified(domain=([[0.0, 1, 1, 1], [-0.0, 1, 1, 1]], [1, 2])),
        InputError,
        "rows 0 and 1 are equal but have different labels",
    ),
    "a domain that contradicts itself several times": (
        lambda: certified(domain=(np.vstack([TWO_X, TWO_X[[4, 9]]]), [*TWO_Y, 3 - TWO_Y[4], 3 - TWO_Y[9]])),
        InputError,
        r"rows (4 and 100|9 and 101) are equal but have different labels",
    ),
    "training rows that contradict themselves": (
        lambda: simplify(
            TWO_CLASSES,
            np.vstack([TWO_X, TWO_X[0]]),
            [*TWO_Y, 3 - TWO_Y[0]],
            method="mismatch-certified",
            each_leaf=True,
        ),
        InputError,
        "The domain contradicts itself: rows 0 and 100",
    ),
    "a domain without labels": (lambda: certified(domain=TWO_X), ParameterError, r"a pair \(rows, labels\)"),
    "a domain of three": (lambda: certified(domain=(TWO_X, TWO_Y, 1)), ParameterError, r"a pair \(rows, labels\)"),
    "a domain that is a text": (lambda: certified(domain="all"), ParameterError, r"a pair \(rows, labels\)"),
    "a domain of other columns": (
        lambda: certified(domain=(TWO_X[:, :2], TWO_Y)),
        InputError,
        "domain has 2 columns, but the tree was fitted on 4",
    ),
    "a domain with a strange label": (
        lambda: certified(domain=(TWO_X[:2], [1, 5])),
        InputError,
        r"domain labels holds the label 5 \(row 1\), which the model never saw",
    ),
    "a domain with too few labels": (
        lambda: certified(domain=(TWO_X, TWO_Y[:3])),
        InputError,
        "domain labels has 3 labels, but there are 100 rows",
    ),
    "an empty domain": (lambda: certified(domain=(TWO_X[:0], [])), InputError, "domain has no rows"),
    "a domain and signs": (
        lambda: certified(domain=(TWO_X, TWO_Y), monotone=[1, 0, 0, 0]),
        ParameterError,
        "Pass a domain or monotone signs for mismatch-certified, not both",
    ),
    "too few signs": (
        lambda: certified(monotone=[1, 0]),
        ParameterError,
        r"one sign of -1, 0 or \+1 for each of the 4 columns, found \[1, 0\]",
    ),
    "a sign of 2": (lambda: certified(monotone=[1, 0, 2, 0]), ParameterError, r"found \[1, 0, 2, 0\]"),
    "a sign that is a text": (lambda: certified(monotone=["+", 0, 0, 0]), ParameterError, r"found \['\+', 0, 0, 0\]"),
    "signs that are not true": (
        lambda: certified(monotone=[0, 0, 1, 0]),
        ParameterError,
        r"not monotone in the stated signs: leaf \d+ predicts '2' for a row with x2 = .*, but leaf \d+ predicts '1'",
    ),
    "one sign for all": (lambda: certified(monotone=1), ParameterError, "for each of the 4 columns, found 1"),
    "a sign for an unknown column": (
        lambda: certified(monotone={"height": 1}),
        ParameterError,
        r"monotone names 'height', which is not a column of the tree. The columns are 'x0', 'x1', 'x2', 'x3'",
    ),
    "a sign of 3 by name": (lambda: certified(monotone={"x1": 3}), ParameterError, r"found \[0, 3, 0, 0\]"),
    "signs for three classes": (
        lambda: simplify(MODEL, X, Y, method="mismatch-certified", monotone=[1, 0, 0, 0], each_leaf=True),
        ParameterError,
        "Monotone signs order two classes, but this tree has 3. Pass a domain instead",
    ),
}

FILES: dict[str, Mistake] = {
    "a tree of a newer version": (
        lambda: Tree.from_json(tree_json(version=7)),
        FormatError,
        "This secateur-tree JSON has version 7, but this secateur reads up to version 1",
    ),
    "rules of a newer version": (
        lambda: Rules.from_json(rules_json(version=7)),
        FormatError,
        "This secateur-rules JSON has version 7, but this secateur reads up to version 3",
    ),
    "a tree with a broken invariant": (
        lambda: Tree.from_json(tree_json(dtype="float16")),
        FormatError,
        "The tree JSON breaks an invariant. Not a valid tree: dtype must be float32 or float64, found 'float16'",
    ),
    "rules whose tree has a broken invariant": (
        lambda: Rules.from_json(rules_json(tree=json.loads(tree_json(dtype="float16")))),
        FormatError,
        "The tree JSON breaks an invariant. Not a valid tree: dtype must be",
    ),
    "rules for a tree": (
        lambda: Tree.from_json(rules_json()),
        FormatError,
        "Expected a JSON object with format 'secateur-tree', found 'secateur-rules'",
    ),
    "a tree for rules": (
        lambda: Rules.from_json(tree_json()),
        FormatError,
        "Expected a JSON object with format 'secateur-rules', found 'secateur-tree'",
    ),
    "an exact method asked of a broken tree": (
        lambda: simplify(
            replace(secateur.from_model(MODEL), children_left=np.zeros(MODEL.tree_.node_count, dtype=np.int64)),
            method="exact",
            each_leaf=True,
        ),
        InvalidTreeError,
        "Not a valid tree",
    ),
    "a tree that is broken by hand": (
        lambda: check_tree(
            make_tree(
                children_left=[1, -1],
                children_right=[1, -1],
                feature=[0, -1],
                threshold=[0.5, 0],
                leaf_class=[-1, 0],
                classes=["a"],
                n_features=1,
            )
        ),
        InvalidTreeError,
        "node 1 is not the child of exactly one node",
    ),
}

MISTAKES = {
    f"{kind}: {case}": mistake
    for kind, cases in {
        "rows": ROWS,
        "labels": LABELS,
        "weights": WEIGHTS,
        "parameters": PARAMETERS,
        "certificates": CERTIFICATES,
        "files": FILES,
    }.items()
    for case, mistake in cases.items()
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_clear_sentence(case: str) -> None:
    mistake, error, sentence = MISTAKES[case]
    with pytest.raises(SecateurError, match=sentence) as caught:
        mistake()
    assert isinstance(caught.value, error)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith((".", "?", "…"))


@pytest.mark.filterwarnings("ignore::polars.exceptions.PerformanceWarning")
def test_a_lazy_frame_with_labels_beside_it_is_a_mistake() -> None:
    with pytest.raises(InputError, match="Expected y as the name of a column of the table, found ndarray"):
        simplify(NAMED_MODEL, pl.DataFrame(X, schema=NAMES).lazy(), Y, each_leaf=True)


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, np.float32(0.5), np.int64(1)])
def test_the_ends_of_the_range_are_inside_it(value: Any) -> None:
    rules = simplify(MODEL, X, Y, method="mismatch", tolerance=value, each_leaf=True)
    assert rules.parameters["tolerance"] == float(value)


@pytest.mark.parametrize("name", ["M1-P", " Mismatch ", "mismatch", "m1-p"])
def test_a_method_is_found_by_any_of_its_names(name: str) -> None:
    assert simplify(MODEL, X, Y, method=name, each_leaf=True).method == "mismatch"


def test_signs_by_name_and_by_column_are_the_same() -> None:
    by_name = certified(monotone={"x0": 1, "x2": 0})
    assert by_name.parameters["monotone"] == [1, 0, 0, 0]
    assert by_name.to_json() == certified(monotone=np.array([1, 0, 0, 0])).to_json()


def test_a_mistake_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match="There is no method"):
        simplify(MODEL, X, Y, method="nonsense", each_leaf=True)


def test_the_input_is_left_as_it_was() -> None:
    rows, labels, weights = X.copy(), Y.copy(), np.ones(len(Y))
    for method in secateur.METHODS:
        if method != "mismatch-certified":
            simplify(MODEL, rows, labels, method=method, sample_weight=weights, each_leaf=True)
    assert rows.tobytes() == X.tobytes()
    assert labels.tobytes() == Y.tobytes()
    assert (weights == 1).all()
    assert rows.flags.writeable
    assert labels.flags.writeable
    assert weights.flags.writeable


# Frames of three libraries give what an array gives.

COLUMNS = {
    "double": np.round(np.linspace(-1, 1, 120) ** 3, 3),
    "single": np.sin(np.arange(120)).astype(np.float32),
    "whole": (np.arange(120) * 7 % 23).astype(np.int64),
    "flag": np.arange(120) % 3 == 0,
    "small": (np.arange(120) * 5 % 11).astype(np.int8),
}
MATRIX = np.column_stack([column.astype(np.float64) for column in COLUMNS.values()])
TARGET = np.where((COLUMNS["whole"] > 11) ^ COLUMNS["flag"] ^ (COLUMNS["single"] > 0.3), "yes", "no")
FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "nullable pandas": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "arrow-backed pandas": lambda: pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("method", fewer(name for name in secateur.METHODS if name != "mismatch-certified"))
def test_a_frame_gives_the_rules_that_an_array_gives(library: str, method: str) -> None:
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(MATRIX, TARGET)
    frame = FRAMES[library]()
    by_frame = simplify(model, frame, TARGET, method=method, each_leaf=True)
    # A frame also tells which columns hold whole numbers; the tree that it is told to carries that along.
    assert by_frame.tree.facts.integers
    by_array = simplify(by_frame.tree, MATRIX, TARGET, method=method, each_leaf=True)
    assert by_frame.to_json() == by_array.to_json()
    assert by_frame.tree.feature_names == tuple(COLUMNS)
    assert by_frame.predict(frame).tolist() == by_array.predict(MATRIX).tolist()
    assert by_frame.covers(frame).tolist() == by_array.covers(MATRIX).tolist()
    assert str(by_frame.audit(frame, TARGET)) == str(by_array.audit(MATRIX, TARGET))
    assert by_frame.verify().ok


@pytest.mark.parametrize("library", FRAMES)
def test_a_model_fitted_on_a_frame_takes_frames_of_every_library(library: str) -> None:
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(pd.DataFrame(COLUMNS), TARGET)
    rules = simplify(model, FRAMES[library](), TARGET, method="exact", each_leaf=True)
    assert rules.predict(FRAMES[library]()).tolist() == model.predict(pd.DataFrame(COLUMNS)).tolist()


def test_a_large_table_with_one_bad_cell_is_rejected() -> None:
    rows, target = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, target)
    rows[568, 29] = np.inf
    with pytest.raises(InputError, match=r"infinite value.* in column 'x29' \(row 568\)"):
        simplify(model, rows, target, each_leaf=True)
