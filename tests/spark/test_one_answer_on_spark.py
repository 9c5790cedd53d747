"""Spark says of every row what its line says, in both forms, also where it contradicts a fact; so does its audit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from drawing import draw
from net import answers, forms
from net.cases import SEEDS, Case, list_cases
from net.tables import Told
from numpy.typing import NDArray

DOORS = ("predict on Spark", "Spark SQL")
METHODS = ("exact", "faithful", "mismatch", "quinlan")
PLACE, OUTCOME = "place of the row", "outcome"


*FROM_ROWS, LEAVES_ALONE, LIST_ALONE = list_cases("facts and groups", methods=METHODS)  # the last two without rows


@pytest.mark.drawn
@pytest.mark.parametrize("case", [*draw(FROM_ROWS, 4), LEAVES_ALONE, LIST_ALONE])
def test_spark_says_what_the_lines_say(spark: Any, case: Case) -> None:
    def find_wrong(_: int, rules: Any, told: Told, rows: pd.DataFrame) -> dict[str, NDArray[np.int64]]:
        by_tree, at = told.model.predict(rows), forms.applied(rules, rows)
        named = rows.assign(**{PLACE: range(len(rows)), OUTCOME: np.roll(by_tree, 1)})
        table = spark.createDataFrame(pa.Table.from_pandas(named, preserve_index=False)).repartition(2).cache()
        table.createOrReplaceTempView("asked")
        answered = rules.predict(table), spark.sql(rules.to_sql("spark", table="asked"))
        said = [one.toArrow().to_pandas().sort_values(PLACE) for one in answered]
        wrong = {
            door: answers.differ_from_lines(rules, at, found["prediction"], found.get("rule"))
            for door, found in zip(DOORS, said, strict=True)
        }
        if case.from_rows:
            there, here = rules.audit(table.drop(PLACE), OUTCOME), rules.audit(rows, named[OUTCOME])
            assert there == here
        table.unpersist()
        return {door: places for door, places in wrong.items() if len(places)}

    case.check(SEEDS[:1], find_wrong)
