"""Raw amounts and dates on Spark are read as in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

import secateur
from secateur.tree.columns import ColumnParser


def test_texts_and_timestamps_are_read_as_in_memory(spark: Any) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["opened", "paid"])
    root = builder.split("opened", 18_687.5)
    paid = builder.split("paid", 1_599.38, parent=root, side="left")
    builder.leaf([8, 2], parent=root, side="right")
    builder.leaf([1, 9], parent=paid, side="left")
    builder.leaf([9, 1], parent=paid, side="right")
    how = ColumnParser("date", order="dmy", step="minute"), ColumnParser("number", unit="$", thousands=",")
    tree = replace(builder.build(), column_parsers=how)
    days = [f"{day}/03/2021 {time}" for day in ("01", "02") for time in ("00:00", "11:59", "12:00", "12:01")]
    frame = pd.DataFrame({"opened": days * 3, "paid": ["$1,599.38", "-$5", "1,599.39"] * len(days)})
    frame["truth"] = ["yes", "no"] * (len(frame) // 2)
    rules = secateur.simplify(tree, frame[["opened", "paid"]], frame["truth"].to_numpy(), each_leaf=True)
    wanted = rules.predict(frame).tolist()
    texts = spark.createDataFrame(list(frame.itertuples(index=False, name=None)), list(frame.columns))
    stamps = texts.selectExpr("to_timestamp(opened, 'dd/MM/yyyy HH:mm') AS opened", "paid", "truth")
    for rows in (texts, stamps):
        assert [row["prediction"] for row in rules.predict(rows).collect()] == wanted
        assert rules.audit(rows, "truth").accuracy == rules.audit(frame, "truth").accuracy


def test_blanks_around_texts_do_not_count(spark: Any) -> None:
    levels = {"work": ["Private", "State"]}
    builder = secateur.TreeBuilder(["no", "yes"], feature_names=["work"], categories=levels, accepts_missing=True)
    root = builder.split_categories("work", ["Private"], missing="left")
    builder.leaf([1, 9], parent=root, side="left")
    builder.leaf([8, 2], parent=root, side="right")
    tree = replace(builder.build(), column_parsers=(ColumnParser("text"),))
    work = [" Private", "Private ", "State", " State ", "  ", None] * 4
    frame = pd.DataFrame({"work": work})
    frame["truth"] = ["yes", "no"] * (len(frame) // 2)
    rules = secateur.simplify(tree, frame[["work"]], frame["truth"].to_numpy(), each_leaf=True)
    wanted = rules.predict(frame).tolist()
    assert wanted[:6] == ["yes", "yes", "no", "no", "yes", "yes"]
    rows = spark.createDataFrame(list(zip(work, frame["truth"].tolist(), strict=True)), "work string, truth string")
    assert [row["prediction"] for row in rules.predict(rows).collect()] == wanted
    assert rules.audit(rows, "truth").accuracy == rules.audit(frame, "truth").accuracy
