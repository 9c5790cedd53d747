"""Regression rules on Spark are those of the same rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

import secateur

FRAME = load_diabetes(as_frame=True, scaled=False).frame
X, Y = FRAME.drop(columns="target"), FRAME.target
MODEL = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y)


@pytest.mark.parametrize("weight", [None, "age"])
def test_lists_and_audits_are_those_of_rows_in_memory(spark: Any, weight: str | None) -> None:
    df = spark.createDataFrame(pa.Table.from_pandas(FRAME))
    heavy = None if weight is None else FRAME[weight]
    here, there = (
        secateur.simplify(MODEL, X, Y, sample_weight=heavy),
        secateur.simplify(MODEL, df, "target", sample_weight=weight),
    )
    assert there.tolerance == pytest.approx(here.tolerance, rel=1e-12)
    assert [line.text for line in there.lines] == [line.text for line in here.lines]
    assert np.allclose(there.counts, here.counts)
    assert np.allclose(there.target_moments, here.target_moments, equal_nan=True)
    one, other = (rules.audit(*rows) for rules, rows in ((here, (X, Y)), (there, (df, "target"))))
    assert other.to_dict() == pytest.approx(one.to_dict(), rel=1e-9)
    for here_line, there_line in zip(one.per_line, other.per_line, strict=True):
        assert there_line.support == here_line.support
        assert there_line.mean == (None if here_line.mean is None else pytest.approx(here_line.mean))
    predicted = there.predict(df).select("prediction").toArrow()["prediction"].to_pylist()
    assert predicted == here.predict(X).tolist()


def test_a_tree_of_spark_is_read_exactly(spark: Any) -> None:
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.pipeline import Pipeline
    from pyspark.ml.regression import DecisionTreeRegressor as SparkTree

    df = spark.createDataFrame(pa.Table.from_pandas(FRAME))
    steps = [VectorAssembler(inputCols=list(X.columns), outputCol="v"), SparkTree(featuresCol="v", labelCol="target")]
    model = Pipeline(stages=steps).fit(df)
    tree = secateur.from_model(model, df)
    assert tree.is_regression
    said = model.transform(df).select("prediction").toArrow()["prediction"].to_pylist()
    assert secateur.simplify(tree, tolerance=0).predict(X).tolist() == said
    assert tree.counts is not None
    assert tree.counts[0, 0] == len(Y)
