"""Values and labels that engines read differently from memory: they get the same answer, or a sentence."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rows.kinds import KEPT_OPEN

import secateur
from secateur.errors import InputError
from secateur.tree.tree import Tree


def split(column: str, threshold: float, *, classes: Any = ("no", "yes"), dtype: str = "float32") -> Tree:
    """A tree of one split: up to the threshold the first class, above it and where it is missing the second."""
    builder = secateur.TreeBuilder(list(classes), [column], dtype=dtype, accepts_missing=True)
    return finish(builder, builder.split(column, threshold))


def split_texts(column: str, texts: list[str]) -> Tree:
    """A tree of one split: what is listed is the first class."""
    builder = secateur.TreeBuilder(["no", "yes"], [column], categories={column: [*texts, "z"]})
    return finish(builder, builder.split_categories(column, texts))


def finish(builder: secateur.TreeBuilder, root: int) -> Tree:
    builder.leaf([1, 0], parent=root, side="left")
    builder.leaf([0, 1], parent=root, side="right")
    return builder.build()


def tables(table: pa.Table, place: Path) -> dict[str, Any]:
    pq.write_table(table, place / "t.parquet")
    KEPT_OPEN.append(duckdb.connect())
    return {
        "arrow": table,
        "polars": pl.from_arrow(table),
        "lazy frame": pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
        "reader": table.to_reader(1),
        "relation": KEPT_OPEN[-1].from_arrow(table),
        "parquet": place / "t.parquet",
    }


def test_decimals_are_the_nearest_floats(tmp_path: Path) -> None:
    values = [Decimal(k) / 10 for k in range(6_300, 6_500)]
    table = pa.table({"a": pa.array(values, pa.decimal128(10, 1))})
    rules = secateur.simplify(split("a", 636.9, dtype="float64"), method="exact", each_leaf=True)
    expected = ["no" if value <= Decimal("636.9") else "yes" for value in values]
    for kind, one in tables(table, tmp_path).items():
        assert rules.predict(one).tolist() == expected, kind


def test_large_whole_numbers_are_taken_where_floats_hold_them(tmp_path: Path) -> None:
    edge = 2**60 + 2**36  # the middle of two floats of 32 bits
    whole = np.array([edge + 2**9, edge, edge - 2**9])
    rules = secateur.simplify(split("a", float(2**60)), method="exact", each_leaf=True)
    expected = np.where(whole.astype(np.float32) <= np.float32(2**60), "no", "yes").tolist()
    assert expected == ["yes", "no", "no"]
    for some in (whole.tolist(), [*whole.tolist(), None]):
        table = pa.table({"a": pa.array(some, pa.int64())})
        for kind, one in tables(table, tmp_path).items():
            assert rules.predict(one).tolist() == expected + ["yes"] * (len(some) - 3), kind
        # One more rounds up, unless it is a double before: models differ in that, and so it is rejected.
        table = pa.table({"a": pa.array([edge + 1, *some[1:]], pa.int64())})
        for one in tables(table, tmp_path).values():
            with pytest.raises(InputError, match=f"Column 'a' of .* holds {edge + 1} .*beyond 2\\^53 that no float"):
                rules.predict(one)


def test_names_that_differ_in_case_only_are_rejected(tmp_path: Path) -> None:
    rules = secateur.simplify(split("A_1", 0.5), method="exact", each_leaf=True)
    table = pa.table({"a": [0.0], "A": [1.0], "A_1": [0.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text(json.dumps({"a": 0.0, "A": 1.0, "A_1": 0.0}) + "\n")
    for name in ("t.parquet", "t.jsonl"):
        with pytest.raises(InputError, match=r"has the columns 'a' and 'A', which DuckDB does not tell apart"):
            rules.predict(tmp_path / name)
    assert rules.predict(table.select(["A_1"]).to_reader()).tolist() == ["no"]


def test_categories_and_whole_numbers_of_json_are_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rules = secateur.simplify(split_texts("day", ["2020-01-01"]), method="exact", each_leaf=True)
    path.write_text('{"day": "2020-01-01"}\n{"day": "2020-01-02"}\n')
    assert rules.predict(path).tolist() == ["no", "yes"]
    frame = pd.DataFrame({"n": [-3, 5, -1, 4, 2, -7] * 20})
    frame["y"] = np.where(frame["n"] > 0, "yes", "no")
    frame.to_json(path, orient="records", lines=True)
    tree = split("n", 0.5)
    assert secateur.simplify(tree, path, y="y", method="mismatch", each_leaf=True) == secateur.simplify(
        tree, frame, y="y", method="mismatch", each_leaf=True
    )
    assert secateur.simplify(tree, path, y="y", method="mismatch", each_leaf=True).tree.facts.integers == (0,)


@pytest.mark.parametrize("classes", [("1", "1.0"), ("False", "True"), ("inf", "infinity"), ("2020-01-01", "x")])
def test_labels_that_look_like_something_else_stay_texts_in_a_csv(classes: tuple[str, str], tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [0.0, 1.0] * 20})
    frame["y"] = np.where(frame["a"] > 0.5, classes[1], classes[0])
    frame.to_csv(tmp_path / "t.csv", index=False)
    tree = split("a", 0.5, classes=classes)
    rules = secateur.simplify(tree, tmp_path / "t.csv", y="y", method="mismatch", each_leaf=True)
    assert rules == secateur.simplify(tree, frame, y="y", method="mismatch", each_leaf=True)
    assert rules.verify().ok
    assert rules.audit(tmp_path / "t.csv", "y").accuracy == 100.0


def test_texts_of_every_arrow_type_are_labels_and_categories() -> None:
    tree = split_texts("town", ["Rome"])
    for dtype in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        table = pa.table({"town": pa.array(["Rome", "Oslo", "Rome"], pa.string()).cast(pa.string())})
        labels = pa.array(["no", "yes", "no"]).dictionary_encode() if pa.types.is_dictionary(dtype) else None
        table = table.append_column("y", labels if labels is not None else pa.array(["no", "yes", "no"], dtype))
        assert secateur.simplify(
            tree, table.to_reader(), y="y", method="mismatch", each_leaf=True
        ).support.tolist() == [2.0, 1.0]


def test_names_that_are_patterns_to_polars_are_names(tmp_path: Path) -> None:
    frame = pl.DataFrame({"^a$": [0.0, 1.0], "a": [1.0, 0.0], "*": [1.0, 1.0], "y": ["no", "yes"]})
    tree = split("^a$", 0.5)
    expected = secateur.simplify(tree, frame.to_pandas(), y="y", method="mismatch", each_leaf=True)
    assert secateur.simplify(tree, frame, y="y", method="mismatch", each_leaf=True) == expected
    assert secateur.simplify(tree, frame.lazy(), y="y", method="mismatch", each_leaf=True) == expected
    assert expected.predict(frame.lazy()).tolist() == ["no", "yes"]
