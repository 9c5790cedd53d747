"""Lists of rows on Spark: counted, ordered, predicted and audited as in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import InputError


def make_rows() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 8, (240, 4)).astype(float), columns=["a", "b", "c", "d"])
    score = frame.a + frame.b * (frame.c > 3) + rng.normal(size=len(frame))
    return frame.assign(outcome=np.digitize(score, [4, 9]), weight=rng.integers(0, 4, len(frame)).astype(float))


def test_weighted_rows_of_three_classes_give_the_same_rules_and_audit(spark: Any) -> None:
    frame = make_rows()
    X, y, w = frame[["a", "b", "c", "d"]], frame["outcome"], frame["weight"]
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y, sample_weight=w)
    table = spark.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False)).repartition(3).cache()
    whole = secateur.simplify(model, X, y, sample_weight=w)
    rules = secateur.simplify(model, table, "outcome", sample_weight="weight")
    assert rules.to_json() == whole.to_json()
    short = secateur.simplify(model, X, y, sample_weight=w, budget=0.1)
    for found in (whole, short):
        assert found.audit(table, "outcome", sample_weight="weight") == found.audit(X, y, sample_weight=w)
        listed = found.predict(table).select("a", "b", "c", "d", "prediction").collect()
        said = pd.DataFrame([row.asDict() for row in listed])
        assert said["prediction"].tolist() == found.predict(said[["a", "b", "c", "d"]]).tolist()
    with pytest.raises(InputError, match=r"A budget is spent row by row, but the 240 rows .* stay on Spark"):
        secateur.simplify(model, table, "outcome", budget=0.1)
    with pytest.raises(InputError, match=r"apply returns an array in memory, but the 240 rows"):
        whole.apply(table)
    with pytest.raises(InputError, match=r"use rules\.predict\(df\) and rules\.audit"):
        whole.write_predictions(table, "out.parquet")


def test_columns_that_only_a_pipeline_makes_are_counted_in_tasks(spark: Any) -> None:
    frame = make_rows().drop(columns="weight")
    X, y = frame[["a", "b", "c", "d"]], frame["outcome"]
    prepare = make_column_transformer((PCA(2, random_state=0), ["a", "b"]), remainder="passthrough")
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, y)
    table = spark.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False)).repartition(2).cache()
    whole = secateur.simplify(model, X, y)
    rules = secateur.simplify(model, table, "outcome")
    assert {rule.text for rule in rules} == {rule.text for rule in whole}
    assert rules.is_counted
    assert rules.counts.sum() == len(frame)
    assert rules.lines[-1].support == whole.lines[-1].support
    assert whole.audit(table, "outcome") == whole.audit(X, y)


def test_rounded_limits_are_compared_with_the_tree_as_it_was_fitted(spark: Any) -> None:
    rng = np.random.default_rng(0)
    frames = [pd.DataFrame(rng.normal(size=(size, 3)), columns=["a", "b", "c"]) for size in (60, 3_000)]
    X, new = (frame.assign(y=((frame.a > 0.1) & (frame.b < 0.3) | (frame.c > 1)).astype(int)) for frame in frames)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[["a", "b", "c"]], X.y)
    rules = secateur.simplify(model, X[["a", "b", "c"]], X.y).rounded()
    wanted, found = (
        rules.audit(new[["a", "b", "c"]], new.y),
        rules.audit(spark.createDataFrame(pa.Table.from_pandas(new)), "y"),
    )
    assert wanted.agreement < 100
    assert (found.agreement, found.tree_accuracy) == (wanted.agreement, wanted.tree_accuracy)
