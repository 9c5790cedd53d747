"""The same rows give the same rules, predictions and proofs, wherever they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawing import fewer
from polars.testing import assert_frame_equal
from rows.kinds import KINDS, make_table
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import InputError
from secateur.rows import opening

BY_ROWS = ("faithful", "mismatch", "quinlan", "budgeted", "mismatch-certified")
STREAMED = tuple(kind for kind in KINDS if kind not in ("pandas", "polars", "arrow"))


def make_frame(n_rows: int = 3_000, *, missing: bool = False) -> pd.DataFrame:
    """Numbers, whole numbers, a truth value, columns that no tree gets, and labels that are texts."""
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(n_rows, 4)).round(2)
    frame = pd.DataFrame(numbers, columns=["a", "b", "c d", 'e"f'])
    frame["n"] = rng.integers(0, 9, n_rows)
    frame["flag"] = rng.random(n_rows) < 0.5
    score = frame["a"] + frame["b"] * frame["c d"] + 0.2 * frame["n"] - frame["flag"] + rng.normal(size=n_rows)
    frame["weight"] = rng.integers(1, 4, n_rows)
    frame["note"] = rng.choice(["x", "y"], n_rows)
    frame["y"] = np.where(score > 0.5, "yes", "no")
    if missing:
        frame.loc[rng.random(n_rows) < 0.1, "a"] = np.nan
    return frame


FEATURES = ["a", "b", "c d", 'e"f', "n", "flag"]


def fit(frame: pd.DataFrame, **options: Any) -> DecisionTreeClassifier:
    model = DecisionTreeClassifier(max_leaf_nodes=14, random_state=0)
    return model.fit(frame[FEATURES], frame["y"], **options)


@pytest.mark.long
@pytest.mark.parametrize("kind", fewer(KINDS))
def test_every_kind_of_table_gives_the_rules_of_the_rows(kind: str, tmp_path: Path) -> None:
    frame = make_frame()
    model = fit(frame)
    # Methods that need all rows at once take them in one way, which a few kinds of table show.
    for method in BY_ROWS if kind in ("pandas", "reader", "glob") else BY_ROWS[:3]:
        signs = {"monotone": {'e"f': 1}} if method == "mismatch-certified" else {}
        expected = secateur.simplify(model, frame[FEATURES], frame["y"], method=method, each_leaf=True, **signs)
        (tmp_path / method).mkdir()
        table = make_table(kind, frame, tmp_path / method)
        assert (
            secateur.simplify(model, table, y="y", method=method, each_leaf=True, **signs).to_json()
            == expected.to_json()
        ), method


@pytest.fixture(scope="module")
def weighted() -> tuple[pd.DataFrame, Any, secateur.Rules]:
    """Rows with weights, a tree of them, and its rules from memory."""
    frame = make_frame()
    model = fit(frame, sample_weight=frame["weight"])
    rows = {"sample_weight": frame["weight"], "each_leaf": True, **WIDE}
    return frame, model, secateur.simplify(model, frame[FEATURES], frame["y"], **rows)


WIDE: dict[str, Any] = {"method": "mismatch", "tolerance": 0.3}


@pytest.mark.long
@pytest.mark.parametrize("kind", STREAMED)
def test_a_table_is_predicted_audited_and_verified_as_its_rows_are(
    kind: str, weighted: tuple[pd.DataFrame, Any, secateur.Rules], tmp_path: Path
) -> None:
    frame, model, expected = weighted
    rules = secateur.simplify(
        model, make_table(kind, frame, tmp_path), y="y", sample_weight="weight", each_leaf=True, **WIDE
    )
    assert rules.to_json() == expected.to_json()
    assert rules.is_weighted
    table = make_table(kind, frame, tmp_path)
    again = rules.verify(table, "y", sample_weight="weight")
    assert str(again) == str(expected.verify())
    assert again.ok
    if kind == "reader":
        assert rules.training is None  # it is used up
        assert not rules.verify().ok
        table = make_table(kind, frame, tmp_path)
    else:
        assert rules.verify().ok
    rows = frame[FEATURES]
    found = rules.audit(table, "y", sample_weight="weight")
    assert found == expected.audit(rows, frame["y"], sample_weight=frame["weight"])
    assert found.conflict > 0
    np.testing.assert_array_equal(rules.predict(make_table(kind, frame, tmp_path)), expected.predict(rows))
    np.testing.assert_array_equal(rules.apply(make_table(kind, frame, tmp_path)), expected.apply(rows))
    wrong = frame.assign(y=frame["y"].to_numpy()[::-1])
    assert not rules.verify(make_table(kind, wrong, tmp_path), "y", sample_weight="weight").ok


@pytest.mark.parametrize("kind", ["glob", "lazy frame", "csv"])
def test_training_rows_show_whether_a_tree_was_fitted_with_missing_values(kind: str, tmp_path: Path) -> None:
    frame = make_frame(missing=True)
    model = fit(frame)
    expected = secateur.simplify(model, frame[FEATURES], frame["y"], method="mismatch", each_leaf=True)
    assert (
        secateur.simplify(model, make_table(kind, frame, tmp_path), y="y", method="mismatch", each_leaf=True)
        == expected
    )
    other = fit(make_frame())
    with pytest.raises(InputError, match=r"has a missing value in column 'a' \(row \d+\), but as far as the tree"):
        secateur.simplify(other, make_table(kind, frame, tmp_path), y="y", method="mismatch", each_leaf=True)


@pytest.mark.long
def test_a_pipeline_reads_the_columns_that_go_into_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = make_frame()
    frame["town"] = rng.choice(["Rome", "Oslo", "Bern", None], len(frame))
    frame["size"] = rng.choice(["S", "M", "L"], len(frame))
    frame["y"] = np.where((frame["town"] == "Oslo") ^ (frame["size"] == "L"), "yes", frame["y"])
    columns = ["town", "size", "a", "b"]
    for encoder in (OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder()):
        steps = ColumnTransformer([("c", encoder, ["town", "size"])], remainder="passthrough")
        model = make_pipeline(steps, DecisionTreeClassifier(max_leaf_nodes=14, random_state=0))
        model.fit(frame[columns], frame["y"])
        for method in ("mismatch", "budgeted"):
            expected = secateur.simplify(model, frame[columns], frame["y"], method=method, each_leaf=True)
            # Methods that need all rows at once take them in one way.
            for kind in ("arrow", "parquet", "lazy frame", "reader", "csv") if method == "mismatch" else ("parquet",):
                table = make_table(kind, frame, tmp_path)
                is_nan = frame["town"].dtype != object  # what None becomes in pandas 3
                blank = is_nan and kind == "reader" and isinstance(encoder, OrdinalEncoder)
                takes = {"accepts_missing": True} if blank else {}
                assert secateur.simplify(model, table, y="y", method=method, each_leaf=True, **takes) == expected, (
                    kind,
                    method,
                )
        strange = frame.assign(town=np.where(np.arange(len(frame)) == 2_500, "Lima", frame["town"]))
        path = make_table("parquet", strange, tmp_path)
        if isinstance(encoder, OrdinalEncoder):
            with pytest.raises(InputError, match=r"holds 'Lima' \(row 2500\), which the pipeline's encoder rejects"):
                expected.predict(path)
        else:
            np.testing.assert_array_equal(expected.predict(path), expected.predict(strange[columns]))


def test_a_forest_reads_a_table(tmp_path: Path) -> None:
    frame = make_frame(500)
    model = RandomForestClassifier(3, max_depth=4, random_state=0).fit(frame[FEATURES], frame["y"])
    expected = secateur.simplify(model, frame[FEATURES], frame["y"], method="mismatch", each_leaf=True)
    for kind in ("pandas", "parquet", "lazy frame"):
        assert (
            secateur.simplify(model, make_table(kind, frame, tmp_path), y="y", method="mismatch", each_leaf=True)
            == expected
        )


def test_labels_of_a_file_may_be_written_otherwise(tmp_path: Path) -> None:
    frame = make_frame()
    path = tmp_path / "t.csv"
    for labels in (frame["y"] == "yes", (frame["y"] == "yes").astype(int)):
        model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[FEATURES], labels)
        expected = secateur.simplify(model, frame[FEATURES], labels, method="mismatch", each_leaf=True)
        frame.assign(y=labels).to_csv(path, index=False)
        assert secateur.simplify(model, path, y="y", method="mismatch", each_leaf=True) == expected


def test_a_tree_without_names_takes_all_other_columns(tmp_path: Path) -> None:
    frame = make_frame()[["a", "b", "y", "weight"]]
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[["a", "b"]].to_numpy(), frame["y"])
    path = make_table("parquet", frame, tmp_path)
    rules = secateur.simplify(model, path, y="y", sample_weight="weight", method="mismatch", each_leaf=True)
    assert rules == secateur.simplify(
        model, frame[["a", "b"]], frame["y"], sample_weight=frame["weight"], method="mismatch", each_leaf=True
    )
    with pytest.raises(InputError, match=r"fitted on 2 columns without names, but .*t.parquet has 3 beside 'y'"):
        secateur.simplify(model, path, y="y", method="mismatch", each_leaf=True)


def test_columns_that_no_split_asks_for_are_not_read(tmp_path: Path) -> None:
    frame = make_frame()
    model = DecisionTreeClassifier(max_depth=1).fit(frame[["a", "b"]], frame["y"])
    asked = ["a", "b"][model.tree_.feature[0]]
    path = tmp_path / "t.parquet"
    frame[[asked, "y"]].to_parquet(path)
    rules = secateur.simplify(model, path, y="y", method="mismatch", each_leaf=True)
    assert rules == secateur.simplify(model, frame[["a", "b"]], frame["y"], method="mismatch", each_leaf=True)
    read: list[list[str]] = []
    with secateur.rows.opening.open_source(path) as source:
        from dataclasses import replace

        def watch(columns: Any) -> Any:
            read.append(list(columns))
            return source.read(columns)

        secateur.simplify(model, replace(source, read=watch), y="y", method="mismatch", each_leaf=True)
    assert read == [[asked, "y"]]


def test_progress_is_told_after_each_batch(tmp_path: Path) -> None:
    frame = make_frame()
    path = make_table("glob", frame, tmp_path)
    told: list[tuple[int, int | None]] = []
    secateur.simplify(
        fit(frame),
        path,
        y="y",
        progress=lambda done, total: told.append((done, total)),
        method="mismatch",
        each_leaf=True,
    )
    assert [done for done, _ in told] == [1000, 2000, 3000]
    assert {total for _, total in told} == {3000}


def test_evidence_of_files_adds_up(tmp_path: Path) -> None:
    frame = make_frame()
    make_table("glob", frame, tmp_path)
    tree = secateur.from_model(fit(frame))
    parts = [secateur.collect_evidence(tree, path, "y") for path in sorted(tmp_path.glob("*.parquet"))]
    assert len(parts) == 3
    merged = parts[0].merge(*parts[1:])
    assert secateur.simplify(tree, evidence=merged, method="mismatch", each_leaf=True) == secateur.simplify(
        tree, frame[FEATURES], frame["y"], method="mismatch", each_leaf=True
    )


@pytest.mark.parametrize("kind", fewer(["pandas", "polars", "lazy frame", "relation", "csv", "glob"]))
def test_predictions_are_written_beside_the_rows(kind: str, tmp_path: Path) -> None:
    frame = make_frame()
    rules = secateur.simplify(fit(frame), frame, y="y", method="mismatch", each_leaf=True)
    out = tmp_path / "out.parquet"
    (tmp_path / "in").mkdir()
    assert rules.write_predictions(make_table(kind, frame, tmp_path / "in"), out) == len(frame)
    written = pd.read_parquet(out)
    assert list(written.columns) == [*frame.columns, "prediction", "rule", "share"]
    pd.testing.assert_frame_equal(written[frame.columns], frame, check_dtype=False)
    winners = rules.apply(frame[FEATURES])
    np.testing.assert_array_equal(written["prediction"], rules.predict(frame[FEATURES]))
    np.testing.assert_array_equal(written["rule"], winners + 1)
    np.testing.assert_array_equal(written["share"], rules.reliability[winners])
    with pytest.raises(InputError, match=r"out\.parquet exists already"):
        rules.write_predictions(frame, out)
    with pytest.raises(InputError, match="already has a column 'prediction'"):
        rules.write_predictions(out, tmp_path / "more.parquet")
    connection = duckdb.connect()
    assert rules.write_predictions(make_table(kind, frame, tmp_path / "in"), (connection, "scored")) == len(frame)
    assert connection.sql("SELECT count(*) FROM scored WHERE prediction = 'yes'").fetchall() == [
        (int((written["prediction"] == "yes").sum()),)
    ]
    with pytest.raises(InputError, match="could not create the table 'scored'"):
        rules.write_predictions(frame, (connection, "scored"))


@pytest.mark.long
def test_methods_that_need_all_rows_say_how_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = make_frame()
    model = fit(frame)
    monkeypatch.setenv("SECATEUR_MAX_MEMORY", "100000")
    told = "3,000 rows of 7 columns, 164.1 KiB, and at most 97.7 KiB"
    for kind, size in (("parquet", told), ("csv", "more than 2,0?48 rows|3,000 rows")):
        path = make_table(kind, frame, tmp_path)
        with pytest.raises(InputError, match=rf"'budgeted' looks at rows one by one, but .* has .*({size})"):
            secateur.simplify(model, path, y="y", method="budgeted", each_leaf=True)
    deep = DecisionTreeClassifier(random_state=0).fit(frame[FEATURES], frame["y"])
    monkeypatch.setattr("secateur.counting.counted_evidence.MOST_NUMBERS", 1_000)
    with pytest.raises(InputError, match=r"would hold [\d.e+]+ numbers, more than the 1,000 .* conditions .* [KMG]iB"):
        secateur.simplify(deep, make_table("parquet", frame, tmp_path), y="y", method="mismatch", each_leaf=True)
    monkeypatch.undo()
    expected = secateur.simplify(deep, frame[FEATURES], frame["y"], method="mismatch", each_leaf=True)
    monkeypatch.setattr("secateur.counting.counted_evidence.MOST_NUMBERS", 1_000)
    assert (
        secateur.simplify(deep, make_table("parquet", frame, tmp_path), y="y", method="mismatch", each_leaf=True)
        == expected
    )


def test_weights_of_batches_may_all_be_zero(tmp_path: Path) -> None:
    frame = make_frame()
    frame["weight"] = (np.arange(len(frame)) >= 1_500).astype(float)
    model = fit(frame, sample_weight=frame["weight"])
    expected = secateur.simplify(
        model, frame[FEATURES], frame["y"], sample_weight=frame["weight"], method="mismatch", each_leaf=True
    )
    assert (
        secateur.simplify(
            model, make_table("glob", frame, tmp_path), y="y", sample_weight="weight", method="mismatch", each_leaf=True
        )
        == expected
    )
    path = make_table("parquet", frame.assign(weight=0.0), tmp_path)
    with pytest.raises(InputError, match="zero for every row"):
        secateur.simplify(model, path, y="y", sample_weight="weight", method="mismatch", each_leaf=True)


def test_facts_are_checked_in_every_batch(tmp_path: Path) -> None:
    frame = make_frame()
    frame["a"] = frame["a"].clip(-2, 2)
    model = fit(frame)
    told = {"method": "mismatch", "facts": ["-2 <= a <= 2"]}
    path = make_table("glob", frame, tmp_path)
    rules = secateur.simplify(model, path, y="y", each_leaf=True, **told)
    assert rules == secateur.simplify(model, frame[FEATURES], frame["y"], each_leaf=True, **told)
    assert rules.verify().ok
    frame.loc[2_900, "a"] = 3.0
    against = make_table("parquet", frame, tmp_path)  # which gets an answer, as rows in memory do
    np.testing.assert_array_equal(rules.predict(against), rules.predict(frame[FEATURES]))
    assert rules.audit(against, "y") == rules.audit(frame[FEATURES], frame["y"])
    assert "Row 2900 violates a stated fact" in str(rules.verify(against, "y"))
    with pytest.raises(InputError, match=r"Row 2900 of .* contradicts the fact"):
        secateur.simplify(model, make_table("glob", frame, tmp_path), y="y", each_leaf=True, **told)


def test_rules_from_a_file_are_checked_against_a_table(tmp_path: Path) -> None:
    frame = make_frame()
    path = make_table("glob", frame, tmp_path)
    stored = secateur.Rules.from_json(
        secateur.simplify(fit(frame), path, y="y", method="mismatch", each_leaf=True).to_json()
    )
    assert stored.verify(path, "y").ok
    np.testing.assert_array_equal(stored.predict(path), stored.predict(frame[FEATURES]))
    assert json.loads(stored.to_json())["method"] == "mismatch"


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "decimal", "int with blanks", "float with nulls"])
def test_numbers_of_every_type_are_read_as_in_memory(dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 100, 2_000)
    types: dict[str, Any] = {
        "int8": pa.array(whole, pa.int8()),
        "uint64": pa.array(whole.astype(np.uint64) << np.uint64(40), pa.uint64()),
        "float32": pa.array(rng.normal(size=2_000).astype(np.float32)),
        "decimal": pa.array(whole).cast(pa.decimal128(22, 3)),
        "int with blanks": pa.array([None if k % 7 == 0 else int(v) for k, v in enumerate(whole)], pa.int64()),
        "float with nulls": pa.array([None if k % 7 == 0 else float(v) / 3 for k, v in enumerate(whole)], pa.float64()),
    }
    column = types[dtype]
    values = np.array([np.nan if v is None else float(v) for v in column.to_pylist()])
    y = (np.nan_to_num(values, nan=1.0) > np.nanmedian(values)) ^ (rng.random(2_000) < 0.1)
    table = pa.table({"v": column, "w": rng.normal(size=2_000), "y": y.astype(np.int32)})
    X = pl.from_arrow(table.select(["v", "w"]))
    model = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0)
    model.fit(pd.DataFrame({"v": values, "w": table["w"].to_pandas()}), y.astype(int))
    expected = secateur.simplify(model, X, y.astype(int), method="mismatch", each_leaf=True)
    pq.write_table(table, tmp_path / "t.parquet")
    assert secateur.simplify(model, tmp_path / "t.parquet", y="y", method="mismatch", each_leaf=True) == expected
    assert (
        secateur.simplify(
            model,
            table.to_reader(),
            y="y",
            accepts_missing=bool(np.isnan(values).any()),
            method="mismatch",
            each_leaf=True,
        )
        == expected
    )


@pytest.mark.long
@pytest.mark.parametrize("row_group_size", [1_000, 400_000])
@pytest.mark.parametrize("writer", ["arrow", "duckdb"])
def test_numbers_of_a_parquet_file_are_those_that_duckdb_reads(
    writer: str, row_group_size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    n_rows, kinds = 300_000, ("int8", "uint16", "int32", "int64", "uint64", "float32", "float64", "bool")
    columns = {f'in.{kind} "x"': pa.array(rng.normal(size=n_rows) > 0.3).cast(kind) for kind in ("bool",)}
    for kind in kinds[:-1]:
        values = (rng.normal(size=n_rows) * 60).astype(kind)
        if values.dtype.kind == "f":
            values[rng.random(n_rows) < 0.1] = np.nan
        columns[f"in.{kind}"] = pa.array(values, mask=rng.random(n_rows) < 0.1)
    names = list(columns)[::-1]
    table = pa.table({"in": pa.array([{"int8": 7}] * n_rows), **columns, "text": pa.array(["x"] * n_rows)})
    path = tmp_path / "rows.parquet"
    if writer == "arrow":
        pq.write_table(table, path, row_group_size=row_group_size)
    else:
        duckdb.sql(f"COPY (SELECT * FROM \"table\") TO '{path}' (ROW_GROUP_SIZE {row_group_size})")

    def read(wanted: list[str]) -> pa.Table:
        with opening.open_files(path) as source:
            return pa.Table.from_batches(list(source.read(wanted)))

    opened = []
    find = opening._File._open_plain
    monkeypatch.setattr(opening._File, "_open_plain", lambda *given: opened.append(found := find(*given)) or found)
    fast = read(names)
    assert None not in opened
    assert len(opened) == 1
    mixed = read([*names, "text"])
    assert len(opened) == 1
    assert_frame_equal(pl.from_arrow(mixed.select(names)), pl.from_arrow(fast), check_exact=True)  # NaN equals NaN
    assert mixed.schema == fast.schema.append(pa.field("text", pa.string()))


def test_a_damaged_page_of_numbers_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = pa.table({"a": np.random.default_rng(0).normal(size=50_000)})
    pq.write_table(table, path, use_dictionary=False, compression="none", write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[200_000] ^= 1
    path.write_bytes(content)
    with (
        pytest.raises(InputError, match=r"rows\.parquet cannot be read: it is damaged"),
        opening.open_files(path) as source,
    ):
        list(source.read(["a"]))


def test_categories_that_look_like_numbers_stay_texts_in_a_csv(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"zip": rng.choice(["01", "1", "2", "10"], 600), "a": rng.normal(size=600)})
    frame["y"] = np.where((frame["zip"] == "01") ^ (frame["a"] > 0.3), "yes", "no")
    steps = ColumnTransformer([("c", OrdinalEncoder(), ["zip"])], remainder="passthrough")
    model = make_pipeline(steps, DecisionTreeClassifier(max_leaf_nodes=8, random_state=0))
    model.fit(frame[["zip", "a"]], frame["y"])
    expected = secateur.simplify(model, frame[["zip", "a"]], frame["y"], method="mismatch", each_leaf=True)
    path = make_table("csv", frame, tmp_path)
    rules = secateur.simplify(model, path, y="y", method="mismatch", each_leaf=True)
    assert rules == expected
    np.testing.assert_array_equal(rules.predict(path), model.predict(frame[["zip", "a"]]))
    stored = secateur.Rules.from_json(rules.to_json())
    assert stored.verify(path, "y").ok


def test_columns_that_only_the_pipeline_can_make_are_made_in_every_batch(tmp_path: Path) -> None:
    frame = make_frame()
    columns = ["a", "b", "c d"]
    model = make_pipeline(PCA(2), DecisionTreeClassifier(max_leaf_nodes=8, random_state=0))
    model.fit(frame[columns], frame["y"])
    expected = secateur.simplify(model, frame[columns], frame["y"], method="mismatch", each_leaf=True)
    path = make_table("glob", frame, tmp_path)
    rules = secateur.simplify(model, path, y="y", method="mismatch", each_leaf=True)
    assert rules == expected
    assert rules.verify().ok
    np.testing.assert_array_equal(rules.predict(path), expected.predict(frame[columns]))
    frame.loc[2_900, "b"] = np.nan
    with pytest.raises(InputError):
        rules.predict(make_table("glob", frame, tmp_path))
