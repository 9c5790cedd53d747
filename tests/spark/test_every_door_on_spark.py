"""Every function that takes rows, on a Spark DataFrame: what it gives in memory, or a sentence with the way out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from rows import doors

from secateur.errors import InputError

# What is counted or predicted where the rows are; everything else would collect them.
ON_SPARK = (
    *(f"simplify {method}" for method in ("none", "sibling", "redundancy", "exact", "faithful")),
    *("simplify mismatch", "simplify quinlan", "audit", "audit since", "diagnose"),
    *("diagnose pairs and a set", "collect_evidence", "compact", "audit compact rules"),
)
PREDICTING: dict[str, Any] = {
    "predict": doors.RULES,
    "predict by a RuleClassifier": doors.CLASSIFIER,
    "predict by compact rules": doors.SHORT,
}
STAYS = rf"but the {doors.N_ROWS} rows of the DataFrame stay on Spark: pass some of them, such as df\.sample"


def test_every_function_counts_on_spark_or_says_why_not(spark: Any) -> None:
    table = spark.createDataFrame(pa.Table.from_pandas(doors.FRAME, preserve_index=False)).repartition(2).cache()
    alone = table.drop(doors.TARGET)
    for door in doors.DOORS:
        if door in ON_SPARK:
            assert doors.knock(door, table, alone) == doors.expect(door), door
        elif door in PREDICTING:
            said = PREDICTING[door].predict(alone).groupBy("prediction").count().toArrow().to_pydict()
            counted = dict(zip(said["prediction"], said["count"], strict=True))
            assert counted == {label: doors.expect(door).count(label) for label in ("bad", "good")}
        elif door == "the rules' own report":
            assert doors.knock(door, table, alone), "rules from Spark have no rows at hand, and say so"
        else:
            with pytest.raises(InputError, match=STAYS):
                doors.knock(door, table, alone)
    with pytest.raises(InputError, match=STAYS):
        doors.RULES.explain(alone)
