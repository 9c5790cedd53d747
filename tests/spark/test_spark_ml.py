"""Trees of pyspark.ml: predictions and leaves are Spark's own, at every threshold, beside it, and off the road."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import secateur
from secateur import Tree, from_model
from secateur.adapters import spark_ml
from secateur.errors import InputError, ParameterError, UnsupportedModelError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree

pa = pytest.importorskip("pyarrow", reason="rows go to Spark by pyarrow: pip install 'secateur[spark]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # Spark warns of the version of pandas

N_ROWS = 300


@pytest.fixture(scope="module")
def table() -> dict[str, list[Any]]:
    rng = np.random.default_rng(3)
    age, income = rng.integers(18, 80, N_ROWS), rng.normal(30.0, 9.0, N_ROWS)
    ward, city = rng.choice(["A", "B", "C", "D"], N_ROWS), rng.choice(["Oslo", "Paris", "Rome", "Bern", "Lima"], N_ROWS)
    grade = rng.integers(0, 4, N_ROWS)
    noise = rng.random(N_ROWS)
    score = (age > 50) * 2.0 + (income > 30) + np.isin(ward, ["A", "D"]) * (city == "Rome") * 3 + (grade == 2) + noise
    outcome = np.where(score < 1.2, "low", np.where(score < 2.6, "mid", "high"))
    return {
        "age": [None if k % 11 == 0 else -1 if k % 13 == 0 else int(v) for k, v in enumerate(age)],
        "income": [None if k % 7 == 0 else float(v) for k, v in enumerate(income)],
        "ward": ward.tolist(),
        "city": city.tolist(),
        "grade": [float(v) for v in grade],
        "outcome": outcome.tolist(),
        "weight": [float(v) for v in rng.random(N_ROWS)],
    }


def to_spark(spark: Any, table: dict[str, list[Any]]) -> Any:
    types = {"age": pa.int64(), "income": pa.float64(), "grade": pa.float64(), "weight": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in table])
    return spark.createDataFrame(pa.table(table, schema=schema))


def as_frame(rows: dict[str, list[Any]], tree: Tree) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(rows[name], dtype=object) for name in tree.feature_names or ()})


def probing_rows(tree: Tree, table: dict[str, list[Any]], n_rows: int = 500) -> dict[str, list[Any]]:
    """Rows that hold every threshold, its neighbours, every label, what is not listed and nothing."""
    draw = random.Random(0)
    rows: dict[str, list[Any]] = {}
    for feature, name in enumerate(tree.feature_names or ()):
        levels, columns = tree.categories[feature], tree.columns
        assert columns is not None
        cuts = columns.cuts[feature]
        takes_missing = feature not in columns.asked or bool(tree.accepts_missing[feature])
        if levels is None or cuts is not None:
            limits = list(cuts or tree.threshold[tree.feature == feature])
            if name == "age":  # a whole number to Spark
                limits = [float(math.floor(limit)) for limit in limits]
                tried = [int(v) for limit in limits for v in (limit - 1, limit, limit + 1)] + [-1, 0, 2**40]
            else:
                tried = [v for t in limits for v in (t, math.nextafter(t, math.inf), math.nextafter(t, -math.inf))]
                tried += [0.0, -0.0, 1e300, -1e300, 5e-324]
                tried += [math.nan] if takes_missing and name == "income" else []
            tried += [None] * 3 if takes_missing and None in table[name] else []
        else:
            tried = list(levels)
            if not columns.closed[feature]:
                tried += ["Atlantis"] if isinstance(levels[0], str) else [17.0, 0.5, -1.0]
            if takes_missing and isinstance(levels[0], str):
                tried += [None]
            tried = [float(v) if isinstance(v, int) else v for v in tried]
        rows[name] = [*tried, *(draw.choice(tried) for _ in range(n_rows - len(tried)))]
        draw.shuffle(rows[name])
    return rows


def check(spark: Any, model: Any, tree: Tree, rows: dict[str, list[Any]], column: str = "prediction") -> None:
    """Spark's predictions and leaves of some rows are those of the tree."""
    given = {**rows, "outcome": ["low"] * len(rows["age"])}
    made = model.transform(to_spark(spark, given)).select(column, "leaf").toArrow()
    reached = apply_tree(tree, check_rows(tree, as_frame(rows, tree)))
    own_leaf = np.full(tree.n_nodes, -1)
    own_leaf[tree.is_leaf] = np.arange(tree.n_leaves)  # from left to right, for nodes are numbered in preorder
    assert own_leaf[reached].tolist() == made["leaf"].to_pylist()
    classes = tree.classes if column != "prediction" else np.arange(tree.n_classes)
    assert classes[tree.leaf_class[reached]].tolist() == made[column].to_pylist()


def fit(spark: Any, table: dict[str, list[Any]], stages: list[Any], **options: Any) -> Any:
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import DecisionTreeClassifier
    from pyspark.ml.feature import StringIndexer

    label = StringIndexer(inputCol="outcome", outputCol="y")
    settings = {"labelCol": "y", "leafCol": "leaf", "maxDepth": 6, "seed": 1, **options}
    return Pipeline(stages=[*stages, label, DecisionTreeClassifier(**settings)]).fit(to_spark(spark, table))


def test_a_pipeline_that_keeps_everything(spark: Any, table: dict[str, list[Any]]) -> None:
    from pyspark.ml import PipelineModel
    from pyspark.ml.feature import Imputer, IndexToString, OneHotEncoder, StringIndexer, VectorAssembler

    stages = [
        StringIndexer(inputCols=["ward", "city"], outputCols=["w", "c"], handleInvalid="keep"),
        OneHotEncoder(inputCols=["c"], outputCols=["cv"], handleInvalid="keep"),
        Imputer(inputCols=["age"], outputCols=["a"]),
        VectorAssembler(inputCols=["a", "income", "w", "cv", "grade"], outputCol="features", handleInvalid="keep"),
    ]
    clean = {**table, "income": [30.0 if v is None else v for v in table["income"]]}  # Spark fits no NaN
    model = fit(spark, clean, stages)
    labels = model.stages[4].labels
    model = PipelineModel([*model.stages, IndexToString(inputCol="prediction", outputCol="said", labels=labels)])
    tree = from_model(model, to_spark(spark, clean))
    assert tree.feature_names == ("age", "income", "ward", "city", "grade")
    assert tree.classes.tolist() == labels == list(tree.class_names)
    assert tree.columns is not None
    assert tree.accepts_missing[[0, 1, 2, 3]].all()
    check(spark, model, tree, probing_rows(tree, {**table, "ward": [None], "city": [None]}), "said")
    assert tree.counts is not None
    assert tree.counts[0].sum() == N_ROWS
    assert "A missing age counts as" in tree.columns.remarks[0]


@pytest.mark.parametrize("invalid", ["error", "skip"])
def test_a_pipeline_that_rejects(spark: Any, table: dict[str, list[Any]], invalid: str) -> None:
    from pyspark.ml.feature import Imputer, OneHotEncoder, StringIndexer, VectorAssembler

    stages = [
        StringIndexer(inputCols=["ward", "city"], outputCols=["w", "c"], handleInvalid=invalid),
        OneHotEncoder(inputCols=["c"], outputCols=["cv"], dropLast=False),
        Imputer(inputCols=["age", "income"], outputCols=["age", "i"], missingValue=-1.0),
        VectorAssembler(inputCols=["age", "i", "w", "cv"], outputCol="features", handleInvalid=invalid),
    ]
    model = fit(spark, table, stages)
    tree = from_model(model, to_spark(spark, table))
    assert tree.columns is not None
    assert tree.columns.cuts[0] is not None  # -1 is not a number like others
    assert tree.columns.closed[2:] == (True, True)
    rows = probing_rows(tree, table)
    rows["income"] = [None if v is not None and math.isnan(v) else v for v in rows["income"]]
    check(spark, model, tree, rows)
    with pytest.raises(InputError, match="which the pipeline's encoder rejects"):
        check_rows(tree, as_frame({**rows, "ward": ["Atlantis"] * len(rows["ward"])}, tree))
    with pytest.raises(InputError, match="missing value in column 'ward'"):
        check_rows(tree, as_frame({**rows, "ward": [None] * len(rows["ward"])}, tree))


def test_numbers_that_are_indexed_and_indices_that_are_compared(spark: Any, table: dict[str, list[Any]]) -> None:
    from pyspark.ml import PipelineModel
    from pyspark.ml.classification import DecisionTreeClassifier
    from pyspark.ml.feature import StringIndexer, VectorAssembler, VectorIndexer

    table = {
        **table,
        "age": [40 if v is None else v for v in table["age"]],
        "income": [v or 0.0 for v in table["income"]],
    }
    stages = [
        StringIndexer(inputCol="city", outputCol="c", handleInvalid="keep"),
        VectorAssembler(inputCols=["age", "income", "c", "grade"], outputCol="v", handleInvalid="keep"),
        VectorIndexer(inputCol="v", outputCol="features", maxCategories=4, handleInvalid="keep"),
    ]
    model = fit(spark, table, stages)
    tree = from_model(model)
    rows = probing_rows(tree, table)
    rows["grade"][:3] = [math.nan, math.nan, -0.0]
    check(spark, model, tree, rows)
    # Where the vectors do not say that they hold indices, the numbers are compared; rules name labels all the same.
    made = model.transform(to_spark(spark, table)).drop("prediction", "probability", "rawPrediction", "leaf")
    plain = DecisionTreeClassifier(labelCol="y", leafCol="leaf", maxDepth=6).fit(made.withMetadata("features", {}))
    model = PipelineModel([*model.stages[:-1], plain])
    tree = from_model(model)
    assert tree.columns is not None
    assert tree.columns.encoded is not None
    assert {2, 3} <= set(tree.columns.encoded.feature.tolist())
    assert not any(tree.columns.encoded.categories)
    assert [levels and levels[0] for levels in tree.categories] == [None, None, model.stages[0].labels[0], 0]
    check(spark, model, tree, rows)


def test_trees_of_vectors(spark: Any, table: dict[str, list[Any]]) -> None:
    from pyspark.ml.classification import RandomForestClassifier
    from pyspark.ml.feature import StringIndexer, VectorAssembler
    from pyspark.ml.linalg import Vectors

    frame = to_spark(
        spark, {**table, "age": [v or 0 for v in table["age"]], "income": [v or 0.0 for v in table["income"]]}
    )
    stages = [StringIndexer(inputCols=["ward", "outcome"], outputCols=["w", "label"])]
    for stage in stages:
        frame = stage.fit(frame).transform(frame)
    frame = VectorAssembler(inputCols=["age", "income", "w", "grade"], outputCol="features").transform(frame)
    forest = RandomForestClassifier(numTrees=2, seed=5, weightCol="weight", maxDepth=7).fit(frame)
    with pytest.raises(UnsupportedModelError, match=r"found RandomForestClassificationModel. Pass one of"):
        from_model(forest)
    for number, model in enumerate(forest.trees):
        tree = from_model(model, accepts_missing=True)
        assert tree.dtype == "float64"
        assert tree.feature_names is None
        assert tree.categories[2] == (0, 1, 2, 3)
        draw = random.Random(number)
        values: list[list[float]] = []
        for feature in range(4):
            limits = tree.threshold[(tree.feature == feature) & ~tree.is_categorical].tolist()
            beside = [math.nextafter(t, s) for t in limits for s in (math.inf, -math.inf)]
            values.append([*limits, *beside, 0.0, -0.0, 1.0, 2.0, 3.0, 4.0, 0.5, -1.0, 1e308, math.nan])
        rows = [[draw.choice(own) for own in values] for _ in range(600)]
        rows += [[own[k % len(own)] for own in values] for k in range(max(map(len, values)))]
        made = model.setLeafCol("leaf").transform(
            spark.createDataFrame([(Vectors.dense(r),) for r in rows], ["features"])
        )
        found = made.select("prediction", "leaf").toArrow()
        reached = apply_tree(tree, check_rows(tree, np.array(rows)))
        assert (np.cumsum(tree.is_leaf) - 1)[reached].tolist() == found["leaf"].to_pylist()
        assert tree.classes[tree.leaf_class[reached]].tolist() == found["prediction"].to_pylist()
        with pytest.raises(InputError, match="fitted without missing values"):
            check_rows(from_model(model), np.array(rows))
    model.setThresholds([0.2, 0.3, 0.5])
    with pytest.raises(UnsupportedModelError, match="predicts by the thresholds"):
        from_model(model)


@pytest.mark.parametrize(("limit", "is_told"), [(3.5, False), (4.0, True), (2.0, True)])
def test_a_surrogate_is_rounded_to_a_type_that_the_pipeline_does_not_tell(limit: float, is_told: bool) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["f0"], dtype="float64")
    root = builder.split("f0", limit)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    fills = spark_ml._cast_fill(3.7, None, "age")
    slot = spark_ml.Slot("age", "ImputerModel", missing=fills, nan=fills)
    if is_told:
        assert spark_ml._decode(builder.build(), [slot]).missing_left[0] == (limit == 4.0)
        return
    with pytest.raises(UnsupportedModelError, match="depends on whether the column holds whole numbers"):
        spark_ml._decode(builder.build(), [slot])
    for kind, goes_left in (("whole", True), ("float64", False)):
        (fill,) = spark_ml._cast_fill(3.7, kind, "age")
        one = spark_ml.Slot("age", "ImputerModel", missing=(fill,), nan=(fill,))
        assert spark_ml._decode(builder.build(), [one]).missing_left[0] == goes_left


def test_what_cannot_be_read_exactly_is_rejected(spark: Any, table: dict[str, list[Any]]) -> None:
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import DecisionTreeClassifier
    from pyspark.ml.feature import Imputer, StandardScaler, VectorAssembler

    with pytest.raises(UnsupportedModelError, match="not fitted yet"):
        from_model(DecisionTreeClassifier())
    with pytest.raises(UnsupportedModelError, match="not fitted yet"):
        from_model(Pipeline(stages=[]))
    stages = [
        Imputer(inputCols=["age", "income"], outputCols=["a", "i"], missingValue=-1.0, strategy="median"),
        VectorAssembler(inputCols=["i", "a"], outputCol="features", handleInvalid="keep"),
    ]
    model = fit(spark, table, stages)
    with pytest.raises(UnsupportedModelError, match=r"null and NaN in column '.*' are not the same"):
        from_model(model)
    with pytest.raises(ParameterError, match="leave accepts_missing out"):
        from_model(model, accepts_missing=True)
    stages[1] = VectorAssembler(inputCols=["i", "a"], outputCol="v")
    scaled = fit(spark, table, [*stages, StandardScaler(inputCol="v", outputCol="features")])
    with pytest.raises(UnsupportedModelError, match="The stage StandardScalerModel is not read"):
        from_model(scaled)
