"""Rows on Spark: evidence, predictions and audits are those of the same rows in memory, and no row leaves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import probing_rows
import pytest
from export.forms import both_forms, probe_in_form
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import TreeBuilder, simplify
from secateur import collect_evidence as collect_in_memory
from secateur.counting.counted_evidence import Evidence
from secateur.errors import InputError, ParameterError

pa = pytest.importorskip("pyarrow", reason="rows go to Spark by pyarrow: pip install 'secateur[spark]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # Spark warns of the version of pandas

SERVED = (None, "exact", "faithful", "mismatch")
N_ROWS = 600


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N_ROWS),
            "in.come": rng.normal(size=N_ROWS),
            "smoker": rng.random(N_ROWS) < 0.3,
            "`x": rng.normal(size=N_ROWS).astype(np.float32),
            "never": rng.normal(size=N_ROWS),
        }
    )
    risk = (frame["age"] > 50) + frame["in.come"] + frame["smoker"] * 1.5 + 0.3 * frame["`x"]
    frame["outcome"] = np.where(risk + rng.normal(size=N_ROWS) * 0.3 > 1, "ill", "well").astype(object)
    frame["weight"] = rng.integers(0, 5, N_ROWS)
    frame["share"] = rng.random(N_ROWS)
    return frame


@pytest.fixture(scope="module")
def features(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=["outcome", "weight", "share"])


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame, features: pd.DataFrame) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=6, random_state=0).fit(features.assign(never=0), frame["outcome"])


@pytest.fixture(scope="module")
def df(spark: Any, frame: pd.DataFrame) -> Any:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    shuffled = table.select(["weight", "`x", "outcome", "age", "never", "smoker", "in.come", "share"])
    return spark.createDataFrame(shuffled).repartition(3).cache()


def assert_same(found: Evidence, expected: Evidence) -> None:
    assert found.digest == expected.digest
    assert (found.n_rows, found.is_weighted, found.method) == (expected.n_rows, expected.is_weighted, expected.method)
    assert np.array_equal(found.leaf_counts, expected.leaf_counts)
    assert np.array_equal(found.cells, expected.cells)


@pytest.mark.parametrize("method", SERVED)
def test_evidence_is_that_of_all_rows_at_once(
    df: Any, model: Any, frame: pd.DataFrame, features: pd.DataFrame, method: str | None
) -> None:
    from secateur.spark import collect_evidence

    found = collect_evidence(model, df, "outcome", method=method)
    assert_same(found, collect_in_memory(model, features, frame["outcome"], method=method))
    assert len(found.tree.facts.integers) == 2
    for name in (method,) if method else ("mismatch", "quinlan", "sibling"):
        for each_leaf in (True, False):
            made = simplify(model, evidence=found, method=name, each_leaf=each_leaf)
            expected = simplify(model, features, frame["outcome"], method=name, each_leaf=each_leaf)
            if each_leaf:
                assert made == expected
            else:  # evidence counts no rows line by line
                assert {rule.text for rule in made} == {rule.text for rule in expected}


def test_weights_and_facts(df: Any, model: Any, frame: pd.DataFrame, features: pd.DataFrame) -> None:
    from secateur.spark import collect_evidence

    known: dict[str, Any] = {"facts": ["18 <= age <= 120"], "class_names": ["sick", "fine"], "method": "faithful"}
    weighed = collect_evidence(model, df, "outcome", sample_weight="weight", **known)
    expected = collect_in_memory(model, features, frame["outcome"], sample_weight=frame["weight"], **known)
    assert_same(weighed, expected)
    # Fractions are added up in the order of the partitions: the same whenever these are.
    shares = [collect_evidence(model, df, "outcome", sample_weight="share", method="exact") for _ in range(2)]
    assert_same(*shares)
    expected = collect_in_memory(model, features, frame["outcome"], sample_weight=frame["share"], method="exact")
    assert np.allclose(shares[0].leaf_counts, expected.leaf_counts, rtol=1e-12)
    with pytest.raises(InputError, match=r"of df contradicts the fact 'age <= 30'"):
        collect_evidence(model, df, "outcome", facts=["age <= 30"])


def test_only_sums_reach_the_driver_and_a_task_that_fails_once_changes_nothing(
    spark: Any, df: Any, model: Any, frame: pd.DataFrame, features: pd.DataFrame, tmp_path: Path, monkeypatch: Any
) -> None:
    from pyspark.sql.classic.dataframe import DataFrame

    from secateur.spark import audit, collect_evidence

    marker = str(tmp_path / "failed")

    def fail_once(batches: Any) -> Any:
        import os

        yield from batches
        if not os.path.exists(marker):
            open(marker, "w").close()
            raise RuntimeError("a worker was lost")

    received: list[tuple[Any, int]] = []
    to_arrow = DataFrame.toArrow

    def watch(self: Any) -> Any:
        table = to_arrow(self)
        received.append((self, table.num_rows))
        return table

    def reject(self: Any, *_: Any, **__: Any) -> Any:
        raise AssertionError("rows were asked for")

    monkeypatch.setattr(DataFrame, "toArrow", watch)
    for name in ("collect", "toPandas", "toLocalIterator", "take", "head", "first", "count"):
        monkeypatch.setattr(DataFrame, name, reject)
    # Every row twenty times, so that rows and counts cannot be mistaken for one another.
    many = df.toDF(*(f"c{k}" for k in range(len(df.columns)))).selectExpr("*", "explode(sequence(1, 20)) as copy")
    many = many.mapInArrow(fail_once, many.schema).toDF(*df.columns, "copy")
    found = collect_evidence(model, many, "outcome", method="exact")
    assert Path(marker).exists()
    expected = collect_in_memory(model, pd.concat([features] * 20), np.tile(frame["outcome"], 20), method="exact")
    assert_same(found, expected)
    (summed, n_received) = received[0]
    assert n_received <= found.n_numbers + 1 < N_ROWS
    plan = summed._jdf.queryExecution().optimizedPlan().toString()
    assert plan.index("Aggregate") < plan.index("MapInArrow")
    assert "never" not in plan.split("MapInArrow")[1].split("\n")[1]  # a column that no split asks for
    rules = simplify(model, evidence=found, method="exact", each_leaf=True)
    assert audit(rules, many, "outcome") == rules.audit(pd.concat([features] * 20), np.tile(frame["outcome"], 20))
    (counted, n_received) = received[1]
    # Sums, rows by leaf, deciding rule and class, and by rule and class: the number of rows does not matter.
    assert n_received <= 4 + len(rules) * (2 + 2 * 2) + len(rules)
    plan = counted._jdf.queryExecution().optimizedPlan().toString()
    assert plan.index("Aggregate") < plan.index("MapInArrow")
    assert plan.count("MapInArrow") == 1  # the one above: nothing of ours runs on the workers
    assert "never" not in plan.split("MapInArrow")[0]


@both_forms
def test_predictions_and_audits_are_those_in_memory(
    df: Any, model: Any, frame: pd.DataFrame, features: pd.DataFrame, form: str
) -> None:
    from pyspark.sql import functions as F

    from secateur.spark import audit, predict

    told: dict[str, Any] = {"tolerance": 0.3, "method": "mismatch", "each_leaf": form == "each leaf"}
    rules = simplify(model, features, frame["outcome"], **told)
    said = predict(rules, df, "said")
    assert said.columns == [*df.columns, "said"]
    rows = said.toArrow().to_pandas()
    assert rows["said"].tolist() == rules.predict(rows[features.columns]).tolist()
    weights = frame["weight"]
    assert audit(rules, df, "outcome", sample_weight="weight") == rules.audit(
        features, frame["outcome"], sample_weight=weights
    )
    some = audit(
        rules, df.withColumn("weight", F.when(F.col("age") > 40, 1).otherwise(0)), "outcome", sample_weight="weight"
    )
    assert 0 < some.n_rows == int((frame["age"] > 40).sum()) < len(frame)  # rows of weight 0 do not count
    assert df.sparkSession.conf.get("spark.sql.codegen.wholeStage") == "true"  # as it was before
    # Fractions are added up in the order of the partitions: the same whenever these are.
    short = DecisionTreeClassifier(max_depth=2).fit(features, frame["outcome"])
    rules = simplify(short, features, frame["outcome"], **{**told, "tolerance": 0.5})
    shares = [audit(rules, df, "outcome", sample_weight="share") for _ in range(2)]
    assert shares[0] == shares[1]
    expected = rules.audit(features, frame["outcome"], sample_weight=frame["share"])
    assert shares[0].macro_dev == pytest.approx(expected.macro_dev, rel=1e-9)


@both_forms
@pytest.mark.parametrize("make", [probing_rows.fitted_probe, probing_rows.closed_probe])
def test_predictions_at_every_limit_and_of_what_is_rejected(spark: Any, make: Any, form: str) -> None:
    from secateur.spark import predict

    probe = probe_in_form(form, make())
    types = {name: pa.string() if probe.is_text(name) else pa.float64() for name in probe.names}
    rows = [*probe.rows, dict.fromkeys(probe.names)]
    table = pa.table({name: pa.array([row[name] for row in rows], type=types[name]) for name in probe.names})
    said = predict(probe.rules, spark.createDataFrame(table)).select("prediction").toArrow()["prediction"].to_pylist()
    assert said == [answer[0] for answer in probe.answers] + [None]
    spark.createDataFrame(table).createOrReplaceTempView("probed")
    found = spark.sql(probe.rules.to_sql("spark", table="probed")).select("rule", "prediction").toArrow().to_pydict()
    assert found["prediction"] == said
    assert found["rule"] == [answer[1] for answer in probe.answers] + [None]


def test_models_of_spark_and_their_vectors(spark: Any, df: Any, frame: pd.DataFrame, features: pd.DataFrame) -> None:
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import DecisionTreeClassifier as SparkTree
    from pyspark.ml.feature import StringIndexer, VectorAssembler

    from secateur.spark import audit, collect_evidence, predict

    plain = df.withColumnRenamed("`x", "x").withColumnRenamed("in.come", "income")
    names = ["age", "income", "smoker", "x"]
    rows = features.rename(columns={"`x": "x", "in.come": "income"})[names]
    stages = [StringIndexer(inputCol="outcome", outputCol="y"), VectorAssembler(inputCols=names, outputCol="features")]
    pipeline = Pipeline(stages=[*stages, SparkTree(labelCol="y", maxDepth=4)]).fit(plain)
    evidence = collect_evidence(pipeline, plain, "outcome")
    assert_same(evidence, collect_in_memory(pipeline, rows, frame["outcome"]))
    rules = simplify(pipeline, evidence=evidence, method="exact", each_leaf=True)
    made = pipeline.transform(plain)
    both = predict(rules, made, "said").select("prediction", "said").toArrow()
    classes = pipeline.stages[0].labels
    assert both["said"].to_pylist() == [classes[int(code)] for code in both["prediction"].to_pylist()]
    # The tree alone reads a column of vectors, and its labels are numbers.
    tree = pipeline.stages[-1]
    found = collect_evidence(tree, made.select("features", "y"), "y")
    matrix, codes = rows.to_numpy(dtype=float), frame["outcome"].map(classes.index).to_numpy()
    assert_same(found, collect_in_memory(tree, matrix, codes))
    rules = simplify(tree, evidence=found, method="faithful", each_leaf=True)
    assert audit(rules, made.select("features", "y"), "y") == rules.audit(matrix, codes)
    said = predict(rules, made.select("features"), "said").toArrow()["said"].to_pylist()
    order = made.select(*names).toArrow().to_pandas().to_numpy(dtype=float)
    assert said == rules.predict(order).tolist()
    short = made.select("features", "y").limit(3)
    with pytest.raises(InputError, match="Column 'features' in partition 0 of df holds a vector of 4 numbers"):
        collect_evidence(_wider(), short, "y")


def _wider() -> Any:
    builder = TreeBuilder(classes=[0, 1], feature_names=[f"f{k}" for k in range(5)])
    root = builder.split("f0", 30)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    return builder.build()


def test_a_pipeline_of_scikit_learn_whose_columns_are_made_in_the_tasks(df: Any, frame: pd.DataFrame) -> None:
    from secateur.spark import audit, collect_evidence

    X = frame[["age", "in.come", "never", "outcome"]].rename(columns={"outcome": "word"})
    steps = make_column_transformer((OneHotEncoder(), ["word"]), (PCA(2, random_state=0), ["age", "in.come", "never"]))
    target = frame["smoker"].to_numpy()
    pipeline = make_pipeline(steps, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, target)
    tree = secateur.from_model(pipeline, X)
    assert tree.columns is not None
    assert tree.columns.derived
    named = df.withColumnRenamed("outcome", "word")
    found = collect_evidence(tree, named, "smoker")
    assert_same(found, collect_in_memory(tree, X, target))
    rules = simplify(tree, evidence=found, method="faithful", each_leaf=True)
    assert audit(rules, named, "smoker") == rules.audit(X, target)


@pytest.fixture(scope="module")
def few(spark: Any, frame: pd.DataFrame) -> Any:
    """Eight rows in one partition, where a job is short."""
    return spark.createDataFrame(pa.Table.from_pandas(frame[:8], preserve_index=False)).coalesce(1).cache()


def test_what_does_not_fit_is_one_sentence(few: Any, model: Any, frame: pd.DataFrame) -> None:
    from pyspark.sql import functions as F

    from secateur.spark import collect_evidence, predict

    rules = simplify(model, method="exact", each_leaf=True)
    cases: list[tuple[Any, str, str]] = [
        (few.withColumnRenamed("share", "AGE"), "outcome", r"df has two columns named 'age' \(Spark ignores case\)"),
        (few.drop("age"), "outcome", r"df has no column 'age', which the tree asks for"),
        (few.withColumn("age", F.lit("old")), "outcome", r"Column 'age' of df holds string, but the tree compares num"),
        (few, "result", r"Expected y as the name of a column of df, found 'result'"),
        (few, "age", r"Column 'age' of df holds bigint, but y must hold labels such as 'ill'"),
        (
            few.withColumn("age", F.when(F.rand(1) < 2, None).cast("int")),
            "outcome",
            r"df has a missing value in column 'age'",
        ),
        (
            few.withColumn("age", F.lit(math.nan)),
            "outcome",
            r"partition 0 of df has a missing value in column 'age' \(row 0\), but as far as the",
        ),
        (few.withColumn("`x", F.lit(math.inf)), "outcome", r"df holds an infinite value"),
        (
            few.withColumn("outcome", F.lit("dead")),
            "outcome",
            r"y in partition \d of df holds the label 'dead' \(row 0\), which",
        ),
        (few.limit(0), "outcome", r"df has no rows; at least one is needed"),
        (
            few.withColumn("age", F.expr("raise_error('disk full')").cast("int")),
            "outcome",
            r"Spark could not do it: .*disk",
        ),
        (frame, "outcome", r"Expected df as a Spark DataFrame, found pandas"),
    ]
    for rows, y, sentence in cases:
        with pytest.raises(InputError, match=sentence) as caught:
            collect_evidence(model, rows, y, method="exact")
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="df has no column 'age'"):
        predict(rules, few.drop("age"))
    with pytest.raises(ParameterError, match="df has a column 'share' already"):
        predict(rules, few, "share")
    with pytest.raises(InputError, match="sample_weight is zero for every row"):
        collect_evidence(model, few.withColumn("weight", F.lit(0)), "outcome", sample_weight="weight", method="exact")
    with pytest.raises(InputError, match="sample_weight in partition 0 of df must not be negative, but row 0"):
        collect_evidence(model, few.withColumn("weight", F.lit(-1)), "outcome", sample_weight="weight", method="exact")
    with pytest.raises(ParameterError, match="looks at rows one by one"):
        collect_evidence(model, few, "outcome", method="budgeted")
    nameless = DecisionTreeClassifier(max_depth=1).fit(frame[["age"]].to_numpy(), frame["outcome"])
    with pytest.raises(InputError, match=r"df has 7 columns beside 'outcome', but the tree was fitted on 1"):
        collect_evidence(nameless, few, "outcome")
    found = collect_evidence(nameless, few.select("age", "outcome"), "outcome")
    assert found.tree.feature_names == ("age",)


def test_rows_that_an_audit_cannot_take_are_counted_and_named(few: Any, frame: pd.DataFrame) -> None:
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions as F

    from secateur.spark import audit

    X = frame[["age", "in.come"]]
    rules = simplify(DecisionTreeClassifier(max_depth=2).fit(X, frame["outcome"]), method="exact", each_leaf=True)
    is_odd = F.col("age") == int(frame["age"][0])
    n_odd = int((frame["age"][:8] == frame["age"][0]).sum())
    label, income = F.col("outcome"), F.col("`in.come`")
    cases: list[tuple[Any, str]] = [
        (
            few.withColumn("age", F.when(~is_odd, F.col("age"))).withColumn("in.come", F.lit(math.inf)),
            rf"df has 8 rows that the rules reject: column 'in.come' holds an infinite value, or one too large for "
            rf"float32, in {8 - n_odd} rows, column 'age' has a missing value, for which the tree was not fitted, in "
            rf"{n_odd} row",
        ),
        (few.withColumn("in.come", F.when(is_odd, math.nan).otherwise(income)), f"reject: .* missing .* {n_odd} row"),
        (few.withColumn("outcome", F.when(is_odd, "dead").otherwise(label)), f"'dead' or others .* in {n_odd} row"),
        (few.withColumn("outcome", F.when(~is_odd, label)), f"y holds no label in {n_odd} row"),
        (few.limit(0), "df has no rows"),
        (few.drop("age"), "df has no column 'age'"),
        (few.withColumn("age", F.expr("raise_error('disk full')").cast("int")), "Spark could not do it: .*disk"),
    ]
    for rows, sentence in cases:
        with pytest.raises(InputError, match=sentence) as caught:
            audit(rules, rows, "outcome")
        assert "\n" not in str(caught.value)
    for weight, sentence in (
        (F.when(~is_odd, 1), f"must be finite and not negative, but {n_odd} row"),
        (F.lit(-0.5), "must be finite and not negative, but 8 rows"),
        (F.lit(0), "sample_weight is zero for every row"),
        (F.lit(1e-200), "^sample_weight holds weights whose squares are too small or too large"),
        (F.lit(1e200), "^sample_weight holds weights whose squares are too small or too large"),
    ):
        with pytest.raises(InputError, match=sentence):
            audit(rules, few.withColumn("weight", weight), "outcome", sample_weight="weight")
    vectors = few.select(array_to_vector(F.array(F.col("age").cast("double"))).alias("v"), F.lit(1).alias("y"))
    with pytest.raises(InputError, match=r"Column 'v' of df holds no vector of 5 numbers, on .* in 8 of its rows"):
        audit(simplify(_wider(), method="exact", each_leaf=True), vectors, "y")
