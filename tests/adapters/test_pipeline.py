from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from drawing import draw, fewer, further
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from library_versions import SKLEARN, make_bins
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import secateur
from secateur import Tree, from_model, simplify
from secateur.adapters import scikit_learn
from secateur.adapters.pipelines import probe, read_behind
from secateur.adapters.pipelines.numbers import Scale
from secateur.errors import InputError, ParameterError, UnsupportedModelError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree

N_ROWS = 2000


def mixed_frame(seed: int = 0, n_rows: int = N_ROWS) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Numbers of several types, texts, bools and blanks, and labels that depend on all of them."""
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": generator.integers(18, 80, n_rows),
            "income": generator.lognormal(8, 1, n_rows).round(2),
            "heat": generator.normal(20, 8, n_rows).astype(np.float32),
            "member": generator.random(n_rows) < 0.5,
            "city": generator.choice(
                ["Paris", "Rome", "Oslo", "Bern", "Ulm", "Kiel"], n_rows, p=[0.4, 0.3, 0.2, 0.06, 0.02, 0.02]
            ),
            "grade": generator.choice(["low", "mid", "high"], n_rows),
            "share": generator.uniform(0, 1, n_rows),
            "visits": generator.integers(0, 12, n_rows).astype(np.int8),
            "when": pd.date_range("2020-01-01", periods=n_rows),
        }
    )
    votes = (
        (frame.age > 40).astype(int)
        + (frame.income > 3000)
        + (frame.heat > 18)
        + frame.member
        + frame.city.isin(["Rome", "Ulm"])
        + (frame.grade == "mid")
        + (frame.share > 0.6)
        + (frame.visits > 5)
    )
    labels = (votes % 3 == 0).to_numpy().astype(np.int64)
    flipped = generator.random(n_rows) < 0.1
    frame.loc[generator.random(n_rows) < 0.1, "income"] = np.nan
    frame.loc[generator.random(n_rows) < 0.1, "city"] = np.nan
    return frame, np.where(flipped, 1 - labels, labels)


def pool_of(tree: Tree, column: int, seen: pd.Series) -> list[Any]:
    """Values of a column that matter: those at limits and beside them, labels, unknown and missing ones, extremes."""
    pool = seen.sample(20, replace=True, random_state=0).tolist()
    levels, cuts = tree.categories[column], tree.columns.cuts[column] if tree.columns is not None else None
    if levels is not None and cuts is None:
        pool += list(levels)
        if not tree.columns.closed[column] and seen.dtype != bool:  # type: ignore[union-attr]
            pool.append("never seen" if isinstance(levels[0], str) else max(levels) + 3)  # type: ignore[operator]
    elif seen.dtype.kind in "iuf":
        limits = tree.threshold[tree.feature == column].tolist() if cuts is None else list(cuts)
        for limit in (limit for limit in limits if math.isfinite(limit)):
            if seen.dtype.kind == "f":
                value = seen.dtype.type(limit)
                pool += [value, np.nextafter(value, -np.inf), np.nextafter(value, np.inf, dtype=seen.dtype)]
            else:
                bounds = np.iinfo(seen.dtype)
                last = math.floor(limit)
                pool += [one for one in (last - 1, last, last + 1) if bounds.min <= one <= bounds.max]
        pool += [-5, 0, 100]
        if seen.dtype.kind == "f":
            pool += [-1e6, 1e-300, 1e6]
    takes_missing = tree.accepts_missing[column] and seen.dtype.kind not in "iub"
    return [value for value in pool if takes_missing or not pd.isna(value)] + [np.nan] * (3 if takes_missing else 0)


def draw_rows(tree: Tree, X: pd.DataFrame, n_rows: int, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    columns = {}
    for place, name in enumerate(X.columns):
        if place in tree.feature:
            pool = pool_of(tree, place, X[name])
            if isinstance(X[name].dtype, pd.CategoricalDtype):
                drawn = pd.Series([pool[k] for k in generator.integers(0, len(pool), n_rows)]).astype("category")
            else:
                drawn = pd.Series(pool, dtype=X[name].dtype)[generator.integers(0, len(pool), n_rows)]
            columns[name] = drawn.reset_index(drop=True)
        else:
            columns[name] = X[name].sample(n_rows, replace=True, random_state=seed).reset_index(drop=True)
    return pd.DataFrame(columns)


def leaves_of(pipe: Any, rows: Any) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pipe[-1].apply(pipe[:-1].transform(rows)).tolist()


def assert_same_leaves(tree: Tree, pipe: Any, rows: Any) -> None:
    assert apply_tree(tree, check_rows(tree, rows)).tolist() == leaves_of(pipe, rows)


def quiet_fit(pipe: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return pipe.fit(X, y)
        except AttributeError as error:
            if SKLEARN >= (1, 8) or "'size'" not in str(error):
                raise
            pytest.skip("scikit-learn before 1.8 does not put sparse columns beside those of polars")


def behind(*parts: Any, tree: Any = None, remainder: str = "drop") -> Pipeline:
    """A pipeline of a ColumnTransformer of (step, columns) pairs and a tree."""
    listed = [(f"part{k}", step, columns) for k, (step, columns) in enumerate(parts)]
    return make_pipeline(ColumnTransformer(listed, remainder=remainder), tree or DecisionTreeClassifier(random_state=0))


def everything(handle_unknown: str) -> Pipeline:
    return behind(
        (StandardScaler(), ["age"]),
        (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), RobustScaler()), ["income"]),
        (MinMaxScaler(), ["heat", "share"]),
        ("passthrough", ["member"]),
        (OneHotEncoder(handle_unknown=handle_unknown, min_frequency=0.05), ["city"]),
        (OrdinalEncoder(categories=[["low", "mid", "high"]]), ["grade"]),
        (make_bins(4, "onehot"), ["visits"]),
        (make_bins(6, "ordinal"), ["age", "share"]),
    )


# The acceptance test.


@pytest.mark.long
@pytest.mark.parametrize("handle_unknown", ["error", "ignore", "infrequent_if_exist", "warn"])
def test_every_row_reaches_the_leaf_that_the_pipeline_sends_it_to(handle_unknown: str) -> None:
    X, y = mixed_frame()
    pipe = quiet_fit(everything(handle_unknown), X, y)
    tree = from_model(pipe, X)
    assert tree.feature_names == tuple(X.columns)
    assert tree.columns is not None
    assert tree.columns.derived == ()
    assert tree.columns.closed[4] == (handle_unknown == "error")
    assert tree.facts.integers == (0, 3)
    assert tree.accepts_missing.tolist() == [name in ("income", "city") for name in X.columns]
    assert tree.categories[4] == ("Bern", "Kiel", "Oslo", "Paris", "Rome", "Ulm")
    assert tree.counts is not None
    assert tree.counts.sum() > 0
    assert_same_leaves(tree, pipe, X)
    assert_same_leaves(tree, pipe, draw_rows(tree, X, 30_000))


@pytest.mark.long
def test_nodes_keep_their_ids_children_classes_and_counts() -> None:
    X, y = mixed_frame()
    pipe = quiet_fit(everything("ignore"), X, y)
    tree, source = from_model(pipe, X), from_model(pipe[-1])
    for name in ("children_left", "children_right", "leaf_class", "counts", "classes"):
        assert getattr(tree, name).tolist() == getattr(source, name).tolist()
    assert tree.dtype == "float64"


@pytest.mark.long
def test_a_pipeline_is_read_without_rows() -> None:
    X, y = mixed_frame()
    pipe = quiet_fit(everything("infrequent_if_exist"), X, y)
    tree, with_rows = from_model(pipe), from_model(pipe, X)
    assert not tree.facts
    assert tree.categories[:6] == with_rows.categories[:6]
    rows = draw_rows(with_rows, X, 20_000)
    heat = X.columns.get_loc("heat")
    same = with_rows.feature != heat  # without rows, nobody knows that this column is float32
    assert tree.feature.tolist() == with_rows.feature.tolist()
    assert np.array_equal(tree.threshold[tree.feature == 0], with_rows.threshold[tree.feature == 0])
    assert same.any()
    wide = rows.assign(heat=rows.heat.astype(np.float64))
    assert_same_leaves(tree, pipe, wide)


def test_a_pipeline_simplifies_and_explains() -> None:
    X, y = mixed_frame()
    pipe = behind(
        (StandardScaler(), ["age", "heat"]),
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
        tree=DecisionTreeClassifier(max_depth=4, random_state=0),
    ).fit(X, y)
    rules = simplify(pipe, X, y, method="none", each_leaf=True)
    assert rules.predict(X).tolist() == pipe.predict(X).tolist()
    exact = simplify(pipe, method="exact", each_leaf=True)
    assert exact.predict(X).tolist() == pipe.predict(X).tolist()
    row = X.iloc[3].to_dict()
    explained = rules.explain(row)
    assert explained.prediction == pipe.predict(X.iloc[[3]])[0]
    assert rules.explain(list(row.values())).prediction == explained.prediction
    assert rules.explain(X.iloc[[3]]).prediction == explained.prediction


@pytest.mark.long
def test_a_large_unpruned_tree_is_read() -> None:
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.normal(size=(30_000, 4)), columns=list("abcd"))
    X["kind"] = generator.choice(list("uvwxyz"), len(X))
    y = generator.integers(0, 2, len(X))
    pipe = behind(
        (StandardScaler(), list("abcd")), (OneHotEncoder(), ["kind"]), tree=DecisionTreeClassifier(random_state=0)
    ).fit(X, y)
    tree = from_model(pipe, X)
    assert tree.n_nodes > 15_000
    assert_same_leaves(tree, pipe, X)


# One kind of step after the other, each compared with the pipeline itself at every limit.

STEPS: dict[str, Callable[[], Pipeline]] = {
    "standard scaler": lambda: behind((StandardScaler(), ["age", "share", "heat"])),
    "standard scaler of float32 alone": lambda: behind((StandardScaler(), ["heat"])),
    "scaler without mean": lambda: behind((StandardScaler(with_mean=False), ["age", "share"])),
    "min-max scaler that clips": lambda: behind((MinMaxScaler(clip=True, feature_range=(-3, 7)), ["age", "share"])),
    "max-abs scaler": lambda: behind((MaxAbsScaler(), ["visits", "share"])),
    "robust scaler": lambda: behind((RobustScaler(), ["heat", "visits"])),
    "scalers in a row": lambda: behind((make_pipeline(StandardScaler(), MinMaxScaler(), RobustScaler()), ["share"])),
    "the same column twice": lambda: behind((StandardScaler(), ["share"]), (MinMaxScaler(), ["share", "age"])),
    "passthrough": lambda: behind(("passthrough", ["age", "member", "heat", "income"])),
    "remainder": lambda: behind(("drop", ["when", "city", "grade"]), remainder="passthrough"),
    "binarizer": lambda: behind((Binarizer(threshold=0.37), ["share"]), ("passthrough", ["age"])),
    "imputer": lambda: behind((SimpleImputer(), ["income", "age"])),
    "imputer with a constant": lambda: behind((SimpleImputer(strategy="constant", fill_value=-1), ["income", "heat"])),
    "imputer and scaler": lambda: behind((make_pipeline(SimpleImputer(), StandardScaler()), ["income", "share"])),
    "scaler and imputer": lambda: behind((make_pipeline(StandardScaler(), SimpleImputer()), ["income", "share"])),
    "clipping scaler and imputer far off": lambda: behind(
        (make_pipeline(MinMaxScaler(clip=True), SimpleImputer(strategy="constant", fill_value=-9)), ["income"])
    ),
    "missing indicator": lambda: make_pipeline(
        ColumnTransformer([("kept", "passthrough", ["income", "share"])]),
        FeatureUnion([("filled", SimpleImputer()), ("blank", MissingIndicator())]),
        DecisionTreeClassifier(random_state=0),
    ),
    "indicator of text alone": lambda: behind((MissingIndicator(), ["city"]), ("passthrough", ["age"])),
    "imputer, indicator and bins": lambda: behind(
        (make_pipeline(SimpleImputer(add_indicator=True), KBinsDiscretizer(4, encode="ordinal")), ["income"])
    ),
    "bins as numbers": lambda: behind((KBinsDiscretizer(7, encode="ordinal", strategy="uniform"), ["age", "share"])),
    "bins, one-hot": lambda: behind((KBinsDiscretizer(7, encode="onehot-dense"), ["age", "share", "heat"])),
    "scaled, then bins, one-hot": lambda: behind(
        (make_pipeline(StandardScaler(), KBinsDiscretizer(5)), ["share"]), ("passthrough", ["share"])
    ),
    "falling function": lambda: behind(
        (FunctionTransformer(np.negative, inverse_func=np.negative), ["share", "heat", "age"])
    ),
    "falling and rising": lambda: behind(
        (FunctionTransformer(np.negative, inverse_func=np.negative), ["share"]), (StandardScaler(), ["share"])
    ),
    "no function": lambda: behind((FunctionTransformer(), ["share", "age"])),
    "sign flipped by a weight": lambda: make_pipeline(
        ColumnTransformer([("a", MinMaxScaler(), ["share", "age"])], transformer_weights={"a": -2.5}),
        DecisionTreeClassifier(random_state=0),
    ),
    "one-hot": lambda: behind((OneHotEncoder(), ["city", "grade", "member"])),
    "one-hot, first dropped": lambda: behind((OneHotEncoder(drop="first"), ["city", "grade", "member"])),
    "one-hot, binary dropped": lambda: behind(
        (OneHotEncoder(drop="if_binary", handle_unknown="ignore"), ["member", "grade"])
    ),
    "one-hot, few categories": lambda: behind(
        (OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist"), ["city", "visits"])
    ),
    "one-hot, few categories and first dropped": lambda: behind(
        (OneHotEncoder(max_categories=3, drop="first", handle_unknown="infrequent_if_exist"), ["city", "visits"])
    ),
    "one-hot of whole numbers": lambda: behind((OneHotEncoder(handle_unknown="ignore"), ["visits", "age"])),
    "one-hot, scaled": lambda: behind(
        (make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()), ["city", "grade"])
    ),
    "imputer and one-hot": lambda: behind(
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["city", "grade"])
    ),
    "ordinal": lambda: behind((OrdinalEncoder(), ["city", "grade"])),
    "ordinal with unknowns": lambda: behind(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2), ["city"])
    ),
    "ordinal with unknown NaN": lambda: behind(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), ["city", "grade"])
    ),
    "ordinal, few categories": lambda: behind((OrdinalEncoder(min_frequency=100, encoded_missing_value=9), ["city"])),
    "ordinal, then imputer": lambda: behind(
        (make_pipeline(OrdinalEncoder(), SimpleImputer(strategy="most_frequent")), ["city"]), ("passthrough", ["age"])
    ),
    "ordinal, then one-hot": lambda: behind((make_pipeline(OrdinalEncoder(), OneHotEncoder()), ["city", "grade"])),
    "ordinal, then bins": lambda: behind(
        (make_pipeline(OrdinalEncoder(), KBinsDiscretizer(2, strategy="uniform")), ["grade"]),
        ("passthrough", ["share"]),
    ),
    "selection": lambda: make_pipeline(
        ColumnTransformer([("n", StandardScaler(), ["age", "share"]), ("c", OneHotEncoder(), ["city", "grade"])]),
        VarianceThreshold(0.05),
        SelectKBest(k=5),
        DecisionTreeClassifier(random_state=0),
    ),
    "columns by type": lambda: make_pipeline(
        ColumnTransformer(
            [
                ("number", SimpleImputer(), make_column_selector(dtype_include=np.number)),
                ("text", OneHotEncoder(handle_unknown="ignore"), make_column_selector(pattern="city|grade")),
            ]
        ),
        DecisionTreeClassifier(random_state=0),
    ),
    "columns by place, slice and mask": lambda: behind(
        (StandardScaler(), [0, -3]),
        (MinMaxScaler(), slice("heat", "member")),
        (OneHotEncoder(), slice(4, 6)),
        (SimpleImputer(), [False, True] + [False] * 7),
    ),
    "pandas between the steps": lambda: make_pipeline(
        ColumnTransformer(
            [("n", StandardScaler(), ["age", "share"]), ("c", OneHotEncoder(sparse_output=False), ["grade"])],
            verbose_feature_names_out=False,
        ).set_output(transform="pandas"),
        ColumnTransformer([("s", MinMaxScaler(), ["share", "grade_mid"])], remainder="passthrough"),
        DecisionTreeClassifier(random_state=0),
    ),
    "polars between the steps": lambda: make_pipeline(
        ColumnTransformer([("n", StandardScaler(), ["age", "share"])]).set_output(transform="polars"),
        MinMaxScaler(),
        DecisionTreeClassifier(random_state=0),
    ),
    "idle steps": lambda: Pipeline(
        [
            ("none", None),
            ("idle", "passthrough"),
            ("columns", ColumnTransformer([("n", StandardScaler(), ["age", "share"])])),
            ("tree", ExtraTreeClassifier(random_state=0)),
        ]
    ),
}


@pytest.mark.drawn
@pytest.mark.parametrize("case", draw(STEPS, 24))
def test_a_step_is_read_exactly(case: str) -> None:
    X, y = mixed_frame(n_rows=600)
    pipe = quiet_fit(STEPS[case](), X, y)
    tree = from_model(pipe, X)
    assert tree.columns is not None
    assert tree.columns.derived == ()
    assert tree.n_leaves > 1
    assert_same_leaves(tree, pipe, X)
    assert_same_leaves(tree, pipe, draw_rows(tree, X, 3_000))
    loaded = Tree.from_json(tree.to_json())
    assert loaded == tree
    assert apply_tree(loaded, check_rows(loaded, X)).tolist() == leaves_of(pipe, X)


LOOSE: dict[str, Callable[[], Pipeline]] = {
    "logarithm": lambda: behind((FunctionTransformer(np.log1p, inverse_func=np.expm1), ["share", "age"])),
    "logarithm without inverse": lambda: behind((FunctionTransformer(np.log), ["share", "age"])),
    "logarithm, then scaler": lambda: behind((make_pipeline(FunctionTransformer(np.log), StandardScaler()), ["share"])),
    "exponential": lambda: behind((FunctionTransformer(np.expm1, inverse_func=np.log1p), ["share", "heat"])),
    "yeo-johnson": lambda: behind((PowerTransformer(), ["age", "share", "heat"])),
    "box-cox": lambda: behind((PowerTransformer(method="box-cox"), ["age", "share"])),
    "quantiles": lambda: behind((QuantileTransformer(n_quantiles=50), ["age", "share"])),
    "normal quantiles": lambda: behind(
        (QuantileTransformer(n_quantiles=50, output_distribution="normal"), ["age", "share"])
    ),
}


@pytest.mark.parametrize("case", fewer(LOOSE))
def test_a_function_is_read_up_to_its_own_rounding(case: str) -> None:
    X, y = mixed_frame(n_rows=600)
    pipe = quiet_fit(LOOSE[case](), X, y)
    tree = from_model(pipe, X)
    assert tree.columns is not None
    assert tree.columns.derived == ()
    assert_same_leaves(tree, pipe, X)
    rows = draw_rows(tree, X, 3_000)
    own = (rows.age > 0) & (rows.share > 0) & (rows.share < 80) & (rows.heat < 80)  # where all of them have a value
    rows = rows[own].reset_index(drop=True)
    if not any("Rounding" in remark for remark in tree.columns.remarks):
        assert_same_leaves(tree, pipe, rows)


# Columns that cannot be inverted.


class Halver(TransformerMixin, BaseEstimator):
    """A transformer that nobody has heard of, and that says nothing of itself."""

    def fit(self, X: Any, y: Any = None) -> Halver:
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(X, dtype=np.float64) / 2


def mix_columns(X: Any) -> NDArray[np.float64]:
    values = np.asarray(X, dtype=np.float64)
    return values + values[:, ::-1]


def fold(X: Any) -> NDArray[np.float64]:
    return np.abs(np.asarray(X, dtype=np.float64) - 0.5)


DERIVED: dict[str, tuple[Callable[[], Pipeline], str]] = {
    "pca": (
        lambda: behind((PCA(2), ["share", "age"]), (OneHotEncoder(), ["grade"])),
        "part0__pca0 and part0__pca1 come from PCA, which cannot be inverted: rules name its outputs.",
    ),
    "polynomials": (
        lambda: behind((PolynomialFeatures(2, interaction_only=True, include_bias=False), ["share", "age"])),
        "from PolynomialFeatures, which cannot be inverted",
    ),
    "nearest neighbours": (
        lambda: behind((KNNImputer(), ["income", "share"])),
        "from KNNImputer, which cannot be inverted",
    ),
    "a function without inverse": (
        lambda: behind((FunctionTransformer(fold), ["share"])),
        "functiontransformer0 comes from FunctionTransformer, which cannot be inverted: rules name its output.",
    ),
    "a function that mixes columns": (
        lambda: behind(
            (FunctionTransformer(mix_columns, inverse_func=mix_columns, check_inverse=False), ["share", "age"])
        ),
        "from FunctionTransformer, which depends on other columns as well",
    ),
    "a function that turns around": (
        lambda: behind(
            (FunctionTransformer(fold, inverse_func=fold, check_inverse=False), ["share"]), ("passthrough", ["age"])
        ),
        "from FunctionTransformer, which neither rises nor falls with the numbers",
    ),
    "a stranger": (lambda: behind((Halver(), ["share", "age"])), "from Halver, which cannot be inverted"),
    "words": (
        lambda: behind((CountVectorizer(), "grade"), ("passthrough", ["age"])),
        "from CountVectorizer, which cannot be inverted",
    ),
    "a number that stands for missing": (
        lambda: behind((SimpleImputer(missing_values=30), ["age"])),
        "from SimpleImputer, which cannot be inverted",
    ),
    "number and category": (
        lambda: behind((OneHotEncoder(handle_unknown="ignore"), ["visits"]), ("passthrough", ["visits"])),
        "from OneHotEncoder, whose column is used as a number, too",
    ),
    "bins that were left out": (
        lambda: make_pipeline(
            ColumnTransformer([("n", KBinsDiscretizer(6, encode="onehot-dense"), ["share"])]),
            SelectKBest(k=3),
            DecisionTreeClassifier(random_state=0),
        ),
        "from KBinsDiscretizer, with some of its bins left out",
    ),
    "everything after a mixture": (
        lambda: make_pipeline(
            ColumnTransformer([("n", StandardScaler(), ["share", "age"])]),
            PCA(),
            MinMaxScaler(),
            DecisionTreeClassifier(random_state=0),
        ),
        "pca0 and pca1 come from PCA",
    ),
}


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("case", fewer(DERIVED))
def test_what_cannot_be_inverted_is_a_column_of_its_own(case: str, library: str) -> None:
    make, remark = DERIVED[case]
    X, y = mixed_frame(n_rows=600)
    rows: Any = X if library == "pandas" else pl.from_pandas(X)
    pipe = quiet_fit(make(), rows, y)
    tree = from_model(pipe, rows)
    assert tree.columns is not None
    assert len(tree.columns.derived) > 0
    assert tree.feature_names == (*X.columns, *tree.columns.derived)
    assert any(remark in sentence for sentence in tree.columns.remarks), tree.columns.remarks
    assert_same_leaves(tree, pipe, rows)
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert_same_leaves(again, pipe, rows)


def test_rules_from_json_need_the_derived_columns_by_name() -> None:
    X, y = mixed_frame()
    pipe = DERIVED["pca"][0]().fit(X, y)
    tree = from_model(pipe, X)
    loaded = Tree.from_json(tree.to_json())
    assert loaded.columns is not None
    assert loaded.columns.derive is None
    with pytest.raises(InputError, match="missing 'part0__pca0', 'part0__pca1'"):
        check_rows(loaded, X)
    assert tree.columns is not None
    assert tree.columns.derive is not None
    whole = tree.columns.derive(X)
    assert list(whole.columns) == list(tree.feature_names or ())
    assert apply_tree(loaded, check_rows(loaded, whole)).tolist() == leaves_of(pipe, X)
    assert apply_tree(tree, check_rows(tree, whole)).tolist() == leaves_of(pipe, X)


def test_a_row_with_derived_columns_is_explained() -> None:
    X, y = mixed_frame()
    pipe = DERIVED["pca"][0]().fit(X, y)
    rules = simplify(pipe, X, y, method="none", each_leaf=True)
    for row in (3, 4):
        assert rules.explain(X.iloc[row].to_dict()).prediction == pipe.predict(X.iloc[[row]])[0]
        assert rules.explain(X.iloc[[row]]).prediction == pipe.predict(X.iloc[[row]])[0]


def test_a_derived_name_that_is_taken_gets_its_step() -> None:
    X, y = mixed_frame()
    pipe = make_pipeline(
        ColumnTransformer([("n", KNNImputer(), ["share", "age"])], verbose_feature_names_out=False),
        DecisionTreeClassifier(random_state=0),
    ).fit(X, y)
    tree = from_model(pipe, X)
    assert tree.columns is not None
    assert tree.columns.derived == ("share (KNNImputer)", "age (KNNImputer)")
    assert_same_leaves(tree, pipe, X)


def test_an_array_gets_names_with_its_derived_columns() -> None:
    X, y = mixed_frame()
    values = X[["share", "age", "heat"]].to_numpy(dtype=np.float64)
    pipe = make_pipeline(FeatureUnion([("pca", PCA(2)), ("own", StandardScaler())]), DecisionTreeClassifier()).fit(
        values, y
    )
    tree = from_model(pipe, values)
    assert tree.feature_names is not None
    assert tree.feature_names[:3] == ("x0", "x1", "x2")
    assert_same_leaves(tree, pipe, values)
    assert_same_leaves(tree, pipe, values.astype(object))
    with pytest.raises(InputError, match="X has 2 columns, but the pipeline was fitted on 3"):
        check_rows(tree, values[:, :2])


def test_target_encoding_is_read_by_category_or_as_its_own_column() -> None:
    X, y = mixed_frame()
    for target in (y, y + X.visits.to_numpy() // 6):  # two classes, then three
        pipe = behind(
            (TargetEncoder(), ["city", "grade"]),
            ("passthrough", ["age"]),
            tree=DecisionTreeClassifier(max_depth=4, random_state=0),
        )
        quiet_fit(pipe, X, target)  # older releases shuffle, newer ones warn that they do
        tree = from_model(pipe, X)
        assert tree.columns is not None
        assert_same_leaves(tree, pipe, X)
        if not tree.columns.derived:
            assert any("TargetEncoder encodes" in remark for remark in tree.columns.remarks)
        rows = X.assign(city=np.where(X.age > 40, "never seen", X.city))
        assert_same_leaves(tree, pipe, rows)


# Libraries and types.


@pytest.mark.long
@pytest.mark.parametrize("handle_unknown", ["ignore", "infrequent_if_exist"])
def test_polars_rows_reach_the_same_leaves(handle_unknown: str) -> None:
    X, y = mixed_frame()
    rows = pl.from_pandas(X)
    pipe = quiet_fit(everything(handle_unknown), rows, y)
    tree = from_model(pipe, rows)
    assert tree.columns is not None
    assert tree.columns.derived == ()
    assert tree.facts.integers == (0, 3)
    assert_same_leaves(tree, pipe, rows)
    assert_same_leaves(tree, pipe, pl.from_pandas(draw_rows(tree, X, 20_000)))
    kinds = rows.with_columns(
        pl.col("city").cast(pl.Categorical), pl.col("grade").cast(pl.Enum(["low", "mid", "high"]))
    )
    pipe = quiet_fit(everything(handle_unknown), kinds, y)
    assert_same_leaves(from_model(pipe, kinds), pipe, kinds)


def test_pandas_types_of_every_kind_are_read() -> None:
    X, y = mixed_frame()
    rows = X.assign(
        age=X.age.astype("Int64"),
        income=X.income.astype("Float64"),
        city=X.city.astype("category"),
        grade=X.grade.astype(object),
        member=X.member.astype("boolean"),
        visits=X.visits.astype("category"),
    )
    pipe = behind(
        (SimpleImputer(), ["age", "income"]),
        (OneHotEncoder(handle_unknown="ignore"), ["city", "grade", "visits"]),
        ("passthrough", ["member"]),
    ).fit(rows, y)
    tree = from_model(pipe, rows)
    assert tree.columns is not None
    assert tree.columns.derived == ()
    assert tree.categories[7] == tuple(range(12))
    assert_same_leaves(tree, pipe, rows)
    blank = rows.assign(age=rows.age.where(rows.age > 30), city=rows.city.where(rows.age < 60))
    assert_same_leaves(tree, pipe, blank)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, object])
def test_an_array_is_read_in_its_own_type(dtype: Any) -> None:
    generator = np.random.default_rng(0)
    X = generator.integers(0, 250, size=(800, 3)).astype(dtype)
    y = ((X[:, 0].astype(float) > 99) ^ (X[:, 1].astype(float) > 31)).astype(int)
    pipe = make_pipeline(
        ColumnTransformer([("n", StandardScaler(), [0, 1]), ("k", OneHotEncoder(handle_unknown="ignore"), [2])]),
        DecisionTreeClassifier(random_state=0),
    ).fit(X, y)
    tree = from_model(pipe, X)
    assert tree.feature_names is None
    assert tree.columns is not None
    assert tree.columns.derived == ()
    assert_same_leaves(tree, pipe, X)
    rows = generator.integers(0, 256, size=(3000, 3)).astype(dtype)
    assert_same_leaves(tree, pipe, rows)
    if dtype in (np.float64, np.float32):
        for place in (0, 1):
            limits = tree.threshold[tree.feature == place].astype(dtype)
            near = rows[: 3 * len(limits)].copy()
            near[:, place] = np.concatenate([limits, np.nextafter(limits, -np.inf), np.nextafter(limits, np.inf)])
            assert_same_leaves(tree, pipe, near)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_that_no_float_holds_are_read(dtype: Any) -> None:
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2**63, size=(500, 2)).astype(dtype)
    y = (X[:, 0] > 2**62).astype(int) ^ (generator.random(500) < 0.2)
    pipe = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)).fit(X, y)
    tree = from_model(pipe, X)
    assert tree.facts.integers == (0, 1)
    assert_same_leaves(tree, pipe, X)
    limits = tree.threshold[tree.feature == 0].astype(dtype)
    near = np.column_stack([np.concatenate([limits - dtype(4096), limits, limits + dtype(4096)])] * 2)
    assert_same_leaves(tree, pipe, near)


def test_an_array_of_texts_and_numbers_is_read() -> None:
    X, y = mixed_frame()
    columns = ["age", "income", "city", "grade"]
    rows = X[columns].to_numpy(dtype=object)
    pipe = make_pipeline(
        ColumnTransformer(
            [
                ("n", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
                ("c", OneHotEncoder(handle_unknown="ignore"), [2, 3]),
            ]
        ),
        DecisionTreeClassifier(random_state=0),
    ).fit(rows, y)
    read = from_model(pipe, rows)
    drawn = draw_rows(read, X[columns].astype({"age": np.float64}), 3000).to_numpy(dtype=object)
    for tree in (read, from_model(pipe)):
        assert tree.categories[2] == ("Bern", "Kiel", "Oslo", "Paris", "Rome", "Ulm")
        assert_same_leaves(tree, pipe, rows)
        assert_same_leaves(tree, pipe, drawn)
    texts = X[["grade", "city"]].fillna("none").to_numpy(dtype=str)
    pipe = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(random_state=0)).fit(texts, y)
    tree = from_model(pipe, texts)
    assert_same_leaves(tree, pipe, texts)
    strange = np.where(texts == "Rome", "a town that nobody knows", texts)
    assert_same_leaves(tree, pipe, strange)


def test_numbers_as_labels_are_labels_and_not_codes() -> None:
    generator = np.random.default_rng(0)
    X = generator.choice([10, 20, 30], size=(300, 1))
    y = (X[:, 0] == 20).astype(int)
    pipe = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier()).fit(X, y)
    tree = from_model(pipe, X)
    assert tree.categories == ((10, 20, 30),)
    for rows in (X, X.astype(float), np.array([[1], [2], [0], [25]]), np.array([[20.5]])):
        assert_same_leaves(tree, pipe, rows)


def test_none_and_nan_may_go_different_ways() -> None:
    X = pd.DataFrame({"kind": pd.Series(["a", "b", None, "c"] * 50, dtype=object)})
    y = np.array([0, 1, 1, 0] * 50)
    pipe = behind((OneHotEncoder(handle_unknown="ignore"), ["kind"])).fit(X, y)
    tree = from_model(pipe, X)
    assert tree.accepts_missing.tolist() == [True]
    assert_same_leaves(tree, pipe, X)
    assert tree.columns is not None
    assert any("None and NaN are not the same in kind" in remark for remark in tree.columns.remarks)


@pytest.mark.parametrize(
    "values",
    [["a", "b"], ["a", None, np.nan], ["a", np.nan, None], [None, "a"], ["a", pd.NaT, None], ["a", pd.NA]],
    ids=str,
)
def test_the_first_blank_of_a_column_is_what_a_look_at_every_cell_finds(values: list[Any]) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "y": range(len(values))})
    found = probe.make_sample(frame, list(frame.columns), ()).markers(0)
    assert [type(one) for one in found] == [type(one) for one in probe._order_markers([np.nan, None], values)]


@pytest.mark.long
def test_a_tree_that_takes_nan_behind_a_scaler_takes_it_in_the_column() -> None:
    X, y = mixed_frame()
    X.loc[X.age > 60, "share"] = np.nan
    pipe = behind((StandardScaler(), ["share", "age"]), (FunctionTransformer(np.log), ["income"])).fit(X, y)
    tree = from_model(pipe, X)
    # A float column takes NaN, a column of whole numbers could, and the logarithm of a negative number is one.
    assert tree.accepts_missing.tolist() == [name in ("share", "age", "income") for name in X.columns]
    assert tree.columns is not None
    assert_same_leaves(tree, pipe, X)
    rows = draw_rows(tree, X, 5000)
    rows["income"] = rows.income.where(rows.income != 0)  # whose logarithm no tree takes
    assert_same_leaves(tree, pipe, rows)


def test_monotone_signs_are_carried_to_the_columns() -> None:
    X, y = mixed_frame()
    pipe = behind(
        (StandardScaler(), ["share", "age"]),
        (FunctionTransformer(np.negative, inverse_func=np.negative), ["heat"]),
        tree=DecisionTreeClassifier(monotonic_cst=[1, -1, 1], max_depth=6, random_state=0),
    ).fit(X, y)
    tree = from_model(pipe, X)
    assert tree.monotone is not None
    assert tree.monotone.tolist() == [{"share": 1, "age": -1}.get(name, 0) for name in X.columns]


@pytest.mark.long
def test_the_trees_of_a_forest_share_their_columns() -> None:
    X, y = mixed_frame()
    pipe = quiet_fit(everything("ignore"), X, y)
    forest = RandomForestClassifier(5, random_state=0).fit(pipe[:-1].transform(X), y)
    encoded = [scikit_learn.read_model(one, None, None, None) for one in forest.estimators_]
    trees = read_behind(pipe[:-1], encoded, X)
    values = pipe[:-1].transform(X)
    for tree, source in zip(trees, forest.estimators_, strict=True):
        assert tree.categories == trees[0].categories
        assert tree.columns == trees[0].columns
        assert apply_tree(tree, check_rows(tree, X)).tolist() == source.apply(values).tolist()


# Random pipelines.


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    numbers = st.sampled_from(
        [
            "passthrough",
            StandardScaler(),
            MinMaxScaler((-1, 2), clip=True),
            RobustScaler(),
            make_pipeline(SimpleImputer(strategy="median"), MaxAbsScaler()),
            SimpleImputer(strategy="constant", fill_value=-7, add_indicator=True),
            make_pipeline(SimpleImputer(), KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")),
            make_pipeline(SimpleImputer(), KBinsDiscretizer(4, encode="ordinal", strategy="uniform"), StandardScaler()),
            FunctionTransformer(np.negative, inverse_func=np.negative, check_inverse=False),
            make_pipeline(SimpleImputer(), Binarizer(threshold=0.25)),
        ]
    )
    texts = st.sampled_from(
        [
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=4, drop="first"),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
            make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
            make_pipeline(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99), StandardScaler()),
        ]
    )
    parts = [(draw(numbers), [name]) for name in draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=4))]
    parts += [(draw(texts), [name]) for name in draw(st.lists(st.sampled_from("uv"), min_size=1, max_size=2))]
    kind = draw(st.sampled_from([DecisionTreeClassifier, ExtraTreeClassifier]))
    return behind(*parts, tree=kind(random_state=draw(st.integers(0, 9))))


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    n_rows = draw(st.integers(8, 40))
    small = st.sampled_from([-2.0, -0.1, 0.0, 0.1, 0.25, 1 / 3, 1.0, 7.5])

    def column(elements: st.SearchStrategy[Any], dtype: Any) -> pd.Series:
        return pd.Series(draw(st.lists(elements, min_size=n_rows, max_size=n_rows)), dtype=dtype)

    words = st.sampled_from(["red", "green", "blue", "a rare one"])
    blanks = draw(st.booleans())
    return pd.DataFrame(
        {
            "a": column(st.integers(-3, 5), np.int64),
            "b": column(small | st.just(math.nan) if blanks else small, np.float64),
            "c": column(small, np.float32),
            "u": column(words | st.just(math.nan) if blanks else words, object),
            "v": column(words, "category"),
        }
    )


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pipelines(), frames(), st.integers(0, 2**32 - 1), st.sampled_from(["pandas", "polars"]))
def test_every_drawn_pipeline_is_read_exactly(pipe: Pipeline, X: pd.DataFrame, seed: int, library: str) -> None:
    def native(frame: pd.DataFrame) -> Any:
        return frame if library == "pandas" else pl.from_pandas(frame)

    y = np.random.default_rng(seed).integers(0, 2, len(X))
    y[:2] = 0, 1
    quiet_fit(pipe, native(X), y)
    tree = from_model(pipe, native(X), accepts_missing=bool(X.b.isna().any()))
    assert tree.columns is not None
    assert tree.columns.derived == ()
    assert_same_leaves(tree, pipe, native(X))
    rows = native(draw_rows(tree, X, 300, seed))
    assert_same_leaves(tree, pipe, rows)
    loaded = Tree.from_json(tree.to_json())
    assert apply_tree(loaded, check_rows(loaded, rows)).tolist() == leaves_of(pipe, rows)


# What does not fit is rejected with one sentence.


def small_pipe() -> tuple[Pipeline, pd.DataFrame, NDArray[np.int64]]:
    X, y = mixed_frame(n_rows=300)
    pipe = behind(
        (StandardScaler(), ["age", "share"]),
        (OneHotEncoder(), ["grade"]),
        tree=DecisionTreeClassifier(max_depth=5, random_state=0),
    )
    return pipe.fit(X, y), X, y


def other_tree(pipe: Pipeline, X: pd.DataFrame, y: NDArray[np.int64]) -> Pipeline:
    wrong = DecisionTreeClassifier().fit(X[["age", "share"]].to_numpy(), y)
    return Pipeline([*pipe.steps[:-1], ("tree", wrong)])


REJECTED_MODELS: dict[str, tuple[Callable[[Pipeline, pd.DataFrame, Any], Any], str]] = {
    "no tree at the end": (
        lambda pipe, X, y: make_pipeline(pipe[0], LogisticRegression()).fit(X, y),
        "Expected a fitted DecisionTreeClassifier, .* or ExtraTreeRegressor of sklearn.tree, found LogisticRegression",
    ),
    "a transformer at the end": (
        lambda pipe, X, y: pipe[:-1],
        "The last step of the pipeline, 'columntransformer', is ColumnTransformer, not a tree",
    ),
    "passthrough at the end": (
        lambda pipe, X, y: Pipeline([("a", pipe[0]), ("b", "passthrough")]),
        "The last step of the pipeline, 'b', is passthrough, not a tree",
    ),
    "no steps": (lambda pipe, X, y: pipe[:0], "The pipeline has no steps"),
    "not fitted": (lambda pipe, X, y: everything("ignore"), "not fitted yet"),
    "a step that is not fitted": (
        lambda pipe, X, y: make_pipeline(ColumnTransformer([("s", StandardScaler(), ["age"])]), pipe[-1]),
        "not fitted yet",
    ),
    "a tree of other columns": (
        other_tree,
        "The steps before the tree make 5 columns, but the tree was fitted on 2. Fit the pipeline as a whole",
    ),
}


@pytest.mark.parametrize("with_rows", [True, False])
@pytest.mark.parametrize("case", REJECTED_MODELS)
def test_a_pipeline_that_cannot_be_read_is_rejected(case: str, with_rows: bool) -> None:
    make, sentence = REJECTED_MODELS[case]
    pipe, X, y = small_pipe()
    with pytest.raises(UnsupportedModelError, match=sentence):
        from_model(make(pipe, X, y), X if with_rows else None)


REJECTED_ROWS: dict[str, tuple[Callable[[pd.DataFrame], Any], str]] = {
    "another order": (
        lambda X: X[X.columns[::-1]],
        "The columns of X do not fit the .*: out of order from column 0 on, where 'age' should be, not 'when'",
    ),
    "a column less": (lambda X: X.drop(columns="grade"), "do not fit the .*: missing 'grade'"),
    "another column": (lambda X: X.assign(extra=1), "do not fit the .*: unexpected 'extra'"),
}
REJECTED_VALUES: dict[str, tuple[Callable[[pd.DataFrame], Any], str]] = {
    "text for a number": (
        lambda X: X.assign(age="old"),
        "Column 'age' of X holds String, but the tree compares numbers",
    ),
    "number for a text": (
        lambda X: X.assign(grade=X.age),
        "Column 'grade' of X does not fit the pipeline: expected text such as 'high', found Int64",
    ),
    "an unknown category": (
        lambda X: X.assign(grade=np.where(X.index == 7, "top", X.grade)),
        r"Column 'grade' of X holds 'top' \(row 7\), which the pipeline's encoder rejects; its categories are 'high', "
        "'low', 'mid'",
    ),
    "a missing number": (
        lambda X: X.assign(share=X.share.where(X.index != 5)),
        r"X has a missing value in column 'share' \(row 5\), which the pipeline and its tree were not fitted to take",
    ),
    "a missing category": (
        lambda X: X.assign(grade=X.grade.where(X.index != 6)),
        r"X has a missing value in column 'grade' \(row 6\)",
    ),
    "an infinite number": (
        lambda X: X.assign(share=X.share.where(X.index != 4, np.inf)),
        r"X holds an infinite value, or one too large for float64, in column 'share' \(row 4\)",
    ),
    "lists": (
        lambda X: X.assign(grade=[["low"]] * len(X)),
        "Column 'grade' holds lists or the like, but the tree tests categories",
    ),
}


@pytest.mark.parametrize("case", fewer([*REJECTED_ROWS, *REJECTED_VALUES]))
def test_rows_that_the_pipeline_would_not_take_are_rejected(case: str) -> None:
    make, sentence = {**REJECTED_ROWS, **REJECTED_VALUES}[case]
    pipe, X, _ = small_pipe()
    tree = from_model(pipe, X)
    with pytest.raises(InputError, match=sentence):
        check_rows(tree, make(X))


@pytest.mark.parametrize("case", REJECTED_ROWS)
def test_a_frame_of_other_columns_is_rejected_before_it_is_encoded(case: str) -> None:
    make, sentence = REJECTED_ROWS[case]
    pipe, X, y = small_pipe()
    with pytest.raises(InputError, match=sentence):
        simplify(pipe, make(X), y, method="mismatch", each_leaf=True)


def test_rows_that_the_steps_reject_are_rejected_in_their_words() -> None:
    pipe, X, y = small_pipe()
    with pytest.raises(InputError, match=r"The pipeline rejects X: .*unknown categories"):
        simplify(pipe, X.assign(grade="top"), y, method="mismatch", each_leaf=True)
    with pytest.raises(InputError, match=r"The pipeline rejects X: .*could not convert string to float"):
        simplify(pipe, X.assign(age="old"), y, method="mismatch", each_leaf=True)


def test_columns_that_the_tree_does_not_test_may_hold_anything() -> None:
    pipe, X, _ = small_pipe()
    tree = from_model(pipe, X)
    strange = X.assign(income=np.inf, city=[["a list"]] * len(X), when="not a date", member=None)
    assert apply_tree(tree, check_rows(tree, strange)).tolist() == leaves_of(pipe, X)


def test_a_step_that_is_not_what_it_looks_like_is_found_on_the_rows() -> None:
    class Drifting(StandardScaler):
        """A scaler that depends on the rows beside a row."""

        def transform(self, X: Any) -> Any:
            return super().transform(X) - (len(X) > 5_000)

    generator = np.random.default_rng(0)
    X = generator.normal(size=(6_000, 1))
    pipe = make_pipeline(Drifting(), DecisionTreeClassifier(max_depth=3)).fit(X, (X[:, 0] > 0).astype(int))
    with pytest.raises(UnsupportedModelError, match=r"sends row \d+ to leaf \d, but its steps as read .* column 'x0'"):
        from_model(pipe, X)


def test_a_single_tree_in_a_pipeline_is_read_as_the_tree() -> None:
    X, y = mixed_frame()
    values = X[["age", "share"]]
    pipe = make_pipeline(DecisionTreeClassifier(random_state=0)).fit(values, y)
    assert from_model(pipe, values) == from_model(pipe[-1], values)


def test_a_single_leaf_tests_nothing() -> None:
    X, _ = mixed_frame()
    pipe = behind((StandardScaler(), ["age"]), (PCA(1), ["share", "heat"])).fit(X, np.zeros(len(X), dtype=int))
    tree = from_model(pipe, X)
    assert tree.n_leaves == 1
    assert apply_tree(tree, check_rows(tree, X)).tolist() == [0] * len(X)


def test_a_pipeline_without_rows_whose_values_cannot_be_guessed_asks_for_them() -> None:
    def strict(X: Any) -> Any:
        if not (np.asarray(X) == 77).any():
            raise ValueError("only 77 will do")
        return X

    X = pd.DataFrame({"a": [77.0, 1.0, 2.0, 3.0] * 5})
    pipe = make_pipeline(FunctionTransformer(strict), DecisionTreeClassifier()).fit(X, [0, 1, 1, 0] * 5)
    with pytest.raises(
        UnsupportedModelError, match=r"No row could be made up .*only 77 will do.*Pass the training rows"
    ):
        from_model(pipe)


def test_a_tree_that_splits_by_categories_itself_is_rejected() -> None:
    X, y = mixed_frame()
    pipe = behind((OneHotEncoder(handle_unknown="ignore"), ["city"])).fit(X, y)
    tree = from_model(pipe, X)
    with pytest.raises(UnsupportedModelError, match="splits by categories itself"):
        read_behind(pipe[:-1], [tree], X)


# skrub.


def table_pipeline(**options: Any) -> Pipeline:
    skrub = pytest.importorskip("skrub", reason="skrub is an optional library")
    return make_pipeline(skrub.TableVectorizer(**options), DecisionTreeClassifier(random_state=0))


@pytest.mark.long
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_vectorizer_is_read_but_for_dates_and_long_texts(library: str) -> None:
    X, y = mixed_frame()
    X["note"] = [f"note {row % 90}" for row in range(len(X))]
    rows: Any = X if library == "pandas" else pl.from_pandas(X)
    pipe = quiet_fit(table_pipeline(), rows, y)
    tree = from_model(pipe, rows)
    assert tree.columns is not None
    assert_same_leaves(tree, pipe, rows)
    assert all(name.startswith(("when_", "note_")) for name in tree.columns.derived)
    assert any("DatetimeEncoder, which cannot be inverted" in remark for remark in tree.columns.remarks)
    tested = {tree.feature_name(feature) for feature in np.unique(tree.feature[tree.feature >= 0]).tolist()}
    assert {"age", "income", "share", "city"} <= tested
    assert set(tree.categories[4] or ()) >= {"Bern", "Kiel", "Oslo", "Paris", "Rome", "Ulm"}


@pytest.mark.long
def test_a_table_vectorizer_of_numbers_and_words_is_read_exactly() -> None:
    X, y = mixed_frame()
    X = X.drop(columns="when")
    pipe = quiet_fit(table_pipeline(), X, y)
    tree = from_model(pipe, X)
    assert tree.columns is not None
    assert tree.columns.derived == ()
    assert_same_leaves(tree, pipe, X)
    assert_same_leaves(tree, pipe, draw_rows(tree, X, 5_000))
    nulls = X.assign(city=np.where(X.age > 50, "N/A", X.city))
    assert_same_leaves(tree, pipe, nulls)


@pytest.mark.long
def test_a_tabular_pipeline_is_read() -> None:
    skrub = pytest.importorskip("skrub", reason="skrub is an optional library")
    X, y = mixed_frame()
    X = X.drop(columns="when")
    pipe = quiet_fit(skrub.tabular_pipeline(DecisionTreeClassifier(random_state=0)), X, y)
    tree = from_model(pipe, X)
    assert tree.columns is not None
    assert tree.columns.derived == ()
    assert_same_leaves(tree, pipe, X)


# Trees of other libraries.


@pytest.mark.parametrize("library", ["pycontree", "pystreed"])
def test_a_tree_of_another_library_is_read_behind_steps_too(library: str) -> None:
    module = pytest.importorskip(library, reason=f"{library} is an optional library")
    X, y = mixed_frame(n_rows=300)
    model = module.ConTree(max_depth=2) if library == "pycontree" else module.STreeDClassifier(max_depth=2)
    pipe = quiet_fit(behind((MinMaxScaler(), ["age", "share", "visits"]), tree=model), X, y)
    tree = from_model(pipe, X)
    rows = draw_rows(tree, X, 2_000)
    reached = apply_tree(tree, check_rows(tree, rows))
    assert tree.classes[tree.leaf_class[reached]].tolist() == pipe.predict(rows).tolist()


# What a first round of use found.


def shop(n_rows: int = 300) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Prices, counts, a flag and blanks."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"p": rng.lognormal(4, 1, n_rows).round(2), "n": rng.integers(0, 40, n_rows)})
    return X, np.where((X["p"] > 60) | (X["n"] > 25), "yes", "no")


@pytest.mark.long
@pytest.mark.drawn
def test_trees_of_a_forest_that_ask_different_columns_read_them_all() -> None:
    X, y = shop()
    for seed in (*range(4), *further(range(4, 12))):
        model = make_pipeline(StandardScaler(), RandomForestClassifier(3, max_depth=1, random_state=seed)).fit(X, y)
        for rules in (
            secateur.simplify(model, X, y, method="exact", each_leaf=True),
            secateur.simplify(model, method="exact", each_leaf=True),
        ):
            np.testing.assert_array_equal(rules.predict(X), model.predict(X))
            np.testing.assert_array_equal(rules.predict_proba(X), model.predict_proba(X))


def test_a_number_that_a_function_has_no_value_for_is_rejected() -> None:
    X, y = shop()
    log = FunctionTransformer(np.log1p, inverse_func=np.expm1)
    prepare = make_column_transformer((log, ["p"]), remainder="passthrough")
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(X, y)
    rules = secateur.simplify(model, X, y, method="exact", each_leaf=True)
    with pytest.raises(InputError, match=r"'p' of X holds -5.0 \(row 0\), for which a function of the pipeline has no"):
        rules.predict(X.assign(p=-5.0))
    again = secateur.Rules.from_json(rules.to_json())
    with pytest.raises(InputError, match="has no value"):
        again.predict(X.assign(p=-5.0))


def test_a_fraction_in_a_column_of_whole_numbers_goes_where_the_pipeline_sends_it() -> None:
    X, y = shop()
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)).fit(X, y)
    rules = secateur.simplify(model, X, y, method="exact", each_leaf=True)
    between = X.assign(n=X["n"] + np.linspace(0, 0.999, len(X)))
    np.testing.assert_array_equal(rules.predict(between), model.predict(between))


@pytest.mark.parametrize("make", [pd.DataFrame, lambda frame: pl.DataFrame(frame.to_dict("list"))])
def test_blanks_are_seen_where_columns_of_different_types_make_an_array_of_objects(make: Any) -> None:
    rng = np.random.default_rng(0)
    blank = np.where(rng.random(200) < 0.1, np.nan, rng.normal(size=200))
    X = make(pd.DataFrame({"a": blank, "flag": rng.random(200) < 0.5, "n": rng.integers(0, 9, 200)}))
    y = (np.nan_to_num(blank) > 0) & (np.asarray(X["n"]) > 2)
    prepare = make_column_transformer(("passthrough", ["flag", "n"]), ("passthrough", ["a"]))
    model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(X, y)
    rules = secateur.simplify(model, X, y, method="exact", each_leaf=True)
    np.testing.assert_array_equal(rules.predict(X), model.predict(X))


def test_without_knowledge_blanks_that_only_rows_show_still_count() -> None:
    rng = np.random.default_rng(3)
    for seed in range(20):
        X = rng.normal(size=(120, 2)).round(1)
        X[rng.random(X.shape) < 0.2] = np.nan
        y = (np.nan_to_num(X[:, 0], nan=-1) > 0) ^ (np.nan_to_num(X[:, 1], nan=1) > 0.5)
        model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=seed)).fit(X, y)
        rules = secateur.simplify(model, X, y, method="exact", domain_knowledge=False, each_leaf=True)
        assert rules.verify()
        assert rules.audit(X, y).conflict == 0


def test_without_knowledge_a_forest_behind_a_pipeline_forgets_its_categories() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": rng.choice(["a", "b", "c", "d"], 300), "n": rng.normal(size=300)})
    y = X["city"].isin(["a", "b"]) ^ (X["n"] > 0.5)
    prepare = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    model = make_pipeline(prepare, RandomForestClassifier(5, random_state=0)).fit(X, y)
    alone = secateur.simplify(model[-1], method="exact", each_leaf=True)
    forgot = secateur.simplify(model, X, y, method="exact", domain_knowledge=False, each_leaf=True)
    told = secateur.simplify(model, X, y, method="exact", each_leaf=True)
    assert [rules.deleted.sum() for rules in forgot] == [rules.deleted.sum() for rules in alone]
    assert sum(one.n_edges for one in told) < sum(one.n_edges for one in forgot)


def test_a_fact_about_a_column_that_the_tree_does_not_ask_is_noted() -> None:
    X, y = shop()
    X["c"] = 5.0
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, y)
    plain = secateur.simplify(model, X, y)
    house = ["c >= 1", "c has 1 decimal", "p <= 1 => c = 5"]
    rules = secateur.simplify(model, X, y, facts=house)
    said = [f"The tree does not ask for the column of the fact {fact!r}." for fact in house]
    assert [remark for remark in rules.remarks if remark not in plain.remarks] == said
    assert f"Note: {said[0]}" in rules.to_text()
    assert (rules.tree.facts, rules.guarantee) == (plain.tree.facts, plain.guarantee)
    with pytest.raises(ParameterError, match="Cannot read the fact 'e >= 1'"):
        secateur.simplify(model, X, y, facts=["e >= 1"])


def test_a_column_that_the_pipeline_drops_may_hold_anything() -> None:
    X, y = shop()
    for unused in (pd.array([None, *range(1, len(X))], dtype="Int64"), pd.date_range("2024", periods=len(X)), "text"):
        wide = X.assign(unused=unused)
        prepare = make_column_transformer((StandardScaler(), ["p", "n"]))
        model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(wide, y)
        rules = secateur.simplify(model, wide, y, method="exact", each_leaf=True)
        assert rules.predict(wide).tolist() == model.predict(wide).tolist()
        assert rules.verify()


@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Int64])
def test_whole_numbers_with_blanks_are_doubles_to_a_pipeline(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    values = [None if k % 9 == 0 else int(value) for k, value in enumerate(rng.integers(0, 250, 300))]
    X = pl.DataFrame({"a": pl.Series(values, dtype=dtype)})
    y = [(value or 0) % 40 > 17 for value in values]
    rows = pl.DataFrame({"a": pl.Series([None, *range(256)], dtype=dtype)})
    for prepare in (
        make_column_transformer((FunctionTransformer(np.sqrt), ["a"])),
        make_pipeline(
            SimpleImputer(strategy="constant", fill_value=0),
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        ),
    ):
        model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(X, y)
        rules = secateur.simplify(model, X, y, method="exact", each_leaf=True)
        assert rules.predict(rows).tolist() == model.predict(rows).tolist()


def test_texts_in_an_array_and_a_column_that_only_the_pipeline_makes() -> None:
    X = np.array([["a", "x"], ["b", "y"], ["c", "x"], ["a", "y"]] * 10)
    y = [0, 1, 1, 0] * 10
    model = make_pipeline(OneHotEncoder(sparse_output=False), PCA(3), DecisionTreeClassifier(random_state=0)).fit(X, y)
    rules = secateur.simplify(model, X, y, method="exact", each_leaf=True)
    assert rules.predict(X).tolist() == y


def test_a_function_that_makes_nan_of_finite_numbers_is_seen() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + 0.5
    y = (X[:, 0] > 0.8) ^ (X[:, 1] < 0)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(FunctionTransformer(np.log), DecisionTreeClassifier(random_state=0)).fit(X, y)
        rules = secateur.simplify(model, X, y, method="exact", each_leaf=True)
        np.testing.assert_array_equal(rules.predict(X), model.predict(X))


def test_a_pipeline_that_ends_in_something_else_says_so() -> None:
    X, y = shop()
    with pytest.raises(UnsupportedModelError, match=r"The last step of the pipeline cannot be read\. .* Logistic"):
        secateur.simplify(
            make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X, y, method="mismatch", each_leaf=True
        )


@pytest.mark.parametrize("seed", range(6))
def test_a_target_encoder_beside_blanks_takes_its_own_training_rows(seed: int) -> None:
    # It encodes the rows that it is fitted on by folds, so the tree's counts of rows do not show that it saw blanks.
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(200) < 0.05, np.nan, rng.normal(50, 10, 200)),
            "ward": rng.choice(list("ABCDE"), 200),
        }
    )
    y = np.where((frame["age"].fillna(80) > 45) ^ (rng.random(200) < 0.1) ^ (frame["ward"] > "B"), "yes", "no")
    steps = make_column_transformer((StandardScaler(), ["age"]), (TargetEncoder(), ["ward"]))
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(frame, y)
    rules = simplify(model, frame, y, each_leaf=True)
    assert rules.predict(frame).tolist() == model.predict(frame).tolist()
    assert rules.verify(frame, y).ok


def test_truth_values_with_blanks_behind_frames_are_taken() -> None:
    rng = np.random.default_rng(0)
    flag = pd.array(rng.choice([True, False, None], 200), dtype="boolean")
    frame = pd.DataFrame({"flag": flag, "x": rng.normal(size=200)})
    y = np.where(frame["flag"].fillna(True).to_numpy(bool) ^ (frame["x"] > 0), "yes", "no")
    steps = make_column_transformer((FunctionTransformer(), ["flag"]), (StandardScaler(), ["x"]))
    steps.set_output(transform="pandas")
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(frame, y)
    rules = simplify(model, frame, y, each_leaf=True)
    assert rules.predict(frame).tolist() == model.predict(frame).tolist()
    assert rules.verify(frame, y).ok


@given(
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from([("float64", "float32"), ("float32", "float32"), ("float64", "float64"), ("float32", "float64")]),
)
def test_the_number_that_a_step_promises_is_the_last_that_rounds_to_the_limit(
    limit: float, kinds: tuple[str, str]
) -> None:
    kind, dtype = kinds
    guess = Scale(np.dtype(kind)).highest_rounding_to(limit, dtype)
    if guess is None:
        assert np.dtype(kind).itemsize < np.dtype(dtype).itemsize or abs(limit) > 3.4e38
        return
    own, to = np.dtype(kind).type, np.dtype(dtype).type
    with np.errstate(over="ignore"):
        after = to(np.nextafter(own(guess), own(np.inf)))
    assert to(own(guess)) <= to(limit) < after


def test_the_guarantee_leaves_out_what_rounding_may_send_the_other_way() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, random_state=0))
    exact = secateur.simplify(model.fit(X, y), X, y)
    assert "Except:" not in exact.guarantee
    small = X.astype("float32")
    rules = secateur.simplify(model.fit(small, y), small, y)
    said = next(remark for remark in rules.remarks if "float32 or smaller in the rows given" in remark)
    assert rules.guarantee.endswith(f" Except: {said}")
    assert secateur.Rules.from_json(rules.to_json()).guarantee == rules.guarantee
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(small, y)
    assert "Except: " in secateur.simplify(forest, small, y, each_leaf=True).guarantee
