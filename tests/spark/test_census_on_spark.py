"""The census table: Spark gives the rules of the matrix in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rows.census import SERVED, expect, load_census
from rows.kinds import make_table
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import InputError


def test_spark_gives_the_rules_of_the_matrix(data_dir: str, tmp_path: Path, spark: Any) -> None:
    frame = load_census(data_dir)[0][::4]
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(frame.drop(columns="label"), frame["label"])
    make_table("glob", frame, tmp_path)
    df = spark.read.parquet(str(tmp_path))
    for method in (*SERVED, "mismatch-certified"):
        expected, told = expect(frame, model, method)
        found = secateur.simplify(model, df, y="label", method=method, each_leaf=True, **told)
        assert found.to_json() == expected.to_json(), method
    with pytest.raises(InputError, match=f"the {len(frame):,} rows of the DataFrame stay on Spark"):
        secateur.simplify(model, df, y="label", method="budgeted", each_leaf=True)
    rules = secateur.simplify(model, df, y="label", tolerance=0.2, method="faithful", each_leaf=True)
    rows = frame.drop(columns="label")
    assert rules.audit(df, "label") == rules.audit(rows, frame["label"])
    counted = {row["prediction"]: row["count"] for row in rules.predict(df).groupBy("prediction").count().collect()}
    classes, sizes = np.unique(rules.predict(rows), return_counts=True)
    assert counted == dict(zip(classes.tolist(), sizes.tolist(), strict=True))


def test_what_would_bring_rows_to_the_driver_is_rejected(tmp_path: Path, spark: Any) -> None:
    df = spark.createDataFrame([(float(k), k % 2) for k in range(20)], "a double, y int")
    tree = secateur.TreeBuilder(classes=[0, 1], feature_names=["a"])
    root = tree.split("a", 9.5)
    tree.leaf([5, 5], parent=root, side="left")
    tree.leaf([4, 6], parent=root, side="right")
    for each_leaf in (True, False):
        rules = secateur.simplify(tree.build(), df, y="y", method="faithful", each_leaf=each_leaf)
        assert rules.training is None
        assert rules.support.tolist() == [10.0, 10.0]
        for call in (rules.apply, rules.covers, rules.explain, lambda rows, of=rules: of.verify(rows, "y")):
            with pytest.raises(InputError, match="stay on Spark"):
                call(df)
        with pytest.raises(InputError, match="stay on Spark"):
            rules.write_predictions(df, tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())
