"""A table that is damaged, mixed, changing or wrong gives one clear sentence, and nothing half-written."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import InputError
from secateur.rows.opening import open_source


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2_000, 3)), columns=list("abc"))
    frame["y"] = (frame["a"] + frame["b"] > 0).astype(int)
    return frame


@pytest.fixture
def model(frame: pd.DataFrame) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[list("abc")], frame["y"])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_parquet_file_is_rejected_by_name(share: float, frame: Any, model: Any, tmp_path: Path) -> None:
    whole = tmp_path / "t.parquet"
    frame.to_parquet(whole)
    content = whole.read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(content[: int(len(content) * share)])
    rules = secateur.simplify(model, whole, y="y", method="mismatch", each_leaf=True)
    out = tmp_path / "out.parquet"
    for work in (
        lambda: secateur.simplify(model, cut, y="y", method="mismatch", each_leaf=True),
        lambda: rules.predict(cut),
        lambda: rules.audit(cut, "y"),
        lambda: rules.verify(cut, "y"),
        lambda: rules.write_predictions(cut, out),
        lambda: secateur.simplify(model, str(tmp_path / "*t.parquet"), y="y", method="mismatch", each_leaf=True),
    ):
        with pytest.raises(InputError, match=r"cut\.parquet (cannot be read|is empty)"):
            work()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.parquet", "t.parquet"]


def test_a_damaged_page_stops_everything(frame: Any, model: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(pd.concat([frame] * 20)), path, compression="zstd", row_group_size=4_000)
    rules = secateur.simplify(model, path, y="y", method="mismatch", each_leaf=True)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4_000] = bytes(4_000)
    path.write_bytes(content)
    out = tmp_path / "out.parquet"
    with pytest.raises(InputError, match=r"t\.parquet cannot be read"):
        rules.write_predictions(path, out)
    with pytest.raises(InputError, match=r"t\.parquet cannot be read"):
        secateur.simplify(model, path, y="y", method="mismatch", each_leaf=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.parquet"]


def test_files_of_one_table_must_be_alike(frame: Any, model: Any, tmp_path: Path) -> None:
    pattern = str(tmp_path / "*.parquet")
    frame.to_parquet(tmp_path / "1.parquet")
    frame.drop(columns="b").to_parquet(tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet has no column 'b', which .*1\.parquet has"):
        secateur.simplify(model, pattern, y="y", method="mismatch", each_leaf=True)
    frame.assign(b=frame["b"].astype(str)).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"column 'b' is string in .*2\.parquet, but double in .*1\.parquet"):
        secateur.simplify(model, pattern, y="y", method="mismatch", each_leaf=True)
    frame.assign(b=frame["b"].astype("float32")).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"column 'b' is float in .*2\.parquet, but double"):
        secateur.simplify(model, pattern, y="y", method="mismatch", each_leaf=True)
    frame[["y", "c", "b", "a"]].assign(more="x").to_parquet(tmp_path / "2.parquet")
    twice = pd.concat([frame, frame])
    assert secateur.simplify(model, pattern, y="y", method="mismatch", each_leaf=True) == secateur.simplify(
        model, twice[list("abc")], twice["y"], method="mismatch", each_leaf=True
    )
    (tmp_path / "3.parquet").mkdir()  # a directory is no file
    assert secateur.simplify(model, pattern, y="y", method="mismatch", each_leaf=True) == secateur.simplify(
        model, twice[list("abc")], twice["y"], method="mismatch", each_leaf=True
    )
    with pytest.raises(InputError, match=r"No file matches .*\*\.orc"):
        secateur.simplify(model, str(tmp_path / "*.orc"), y="y", method="mismatch", each_leaf=True)


def test_a_name_with_marks_of_a_pattern_is_one_file(frame: Any, model: Any, tmp_path: Path) -> None:
    expected = secateur.simplify(model, frame, y="y", method="mismatch", each_leaf=True)
    frame.to_csv(tmp_path / "t[1].csv", index=False)
    frame.to_parquet(tmp_path / "t*.parquet")
    frame.to_parquet(tmp_path / "table.parquet")
    for name in ("t[1].csv", "t*.parquet"):
        assert secateur.simplify(model, tmp_path / name, y="y", method="mismatch", each_leaf=True) == expected


def test_a_file_that_changes_while_it_is_read_is_rejected(frame: Any, model: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)

    def read_while_it_changes() -> None:
        with open_source(path) as source:
            reading = source.read(["a"])
            next(reading)
            frame.iloc[:100].to_parquet(path)
            list(reading)

    with pytest.raises(InputError, match=r"t\.parquet changed while it was read"):
        read_while_it_changes()
    frame.to_csv(tmp_path / "t.csv", index=False)

    def append(done: int, total: int | None) -> None:
        with (tmp_path / "t.csv").open("a") as file:
            file.write("1,1,1,1\n")

    with pytest.raises(InputError, match=r"t\.csv changed while it was read, so nothing was made of it"):
        secateur.simplify(model, tmp_path / "t.csv", y="y", progress=append, method="mismatch", each_leaf=True)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"y": "z"},
            r"has no column 'z', which y names\. Is|has no column 'z', which y names\. Its columns are 'a', 'b'",
        ),
        ({"sample_weight": "a"}, "cannot be both the tree's and the labels or weights"),
        ({"y": None}, "X was passed without y: pass both, or neither"),
        ({"y": [0, 1]}, "Expected y as the name of a column of the table, found list"),
        ({"sample_weight": np.ones(3)}, "Expected sample_weight as the name of a column of the table, found ndarray"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(
    change: Any, sentence: str, frame: Any, model: Any, tmp_path: Path
) -> None:
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    with pytest.raises(InputError, match=sentence):
        secateur.simplify(model, path, each_leaf=True, **{"y": "y", **change})


def test_bad_values_are_named_by_row_and_column(frame: Any, model: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"

    def reject(changed: pd.DataFrame, sentence: str, **options: Any) -> None:
        changed.to_parquet(path)
        with pytest.raises(InputError, match=sentence):
            secateur.simplify(model, path, each_leaf=True, **{"y": "y", **options})

    bad = frame.copy()
    bad.loc[1_234, "b"] = np.inf
    reject(bad, r"infinite value, or one too large for float32, in column 'b' \(row 1234\)")
    reject(frame.assign(b="x"), r"Column 'b' of .*t\.parquet holds String, but the tree compares numbers")
    bad = frame.copy()
    bad.loc[1_234, "y"] = 7
    reject(bad, r"column 'y' of .* holds the label 7 \(row 1234\), which the model never saw; its classes are 0, 1")
    reject(frame.assign(y=frame["y"].astype(float).where(frame.index != 9)), r"holds the label (nan|None) \(row 9\)")
    blank = r"column 'w' of .* (holds null, but weights are numbers|has a blank \(row 0\))"  # the latter: DuckDB 1.4
    reject(frame.assign(w=None), blank, sample_weight="w")
    reject(
        frame.assign(w=np.where(frame.index == 5, np.nan, 1.0)),
        r"(must be finite, but row 5|has a blank \(row 5\))",
        sample_weight="w",
    )
    reject(frame.drop(columns="a").rename(columns={"b": "bb"}), r"has no column 'a', which the tree was fitted on")
    reject(frame.iloc[:0], r"t\.parquet has no rows")
    reject(frame.assign(w=-1.0), r"column 'w' of .* must not be negative, but row 0 has -1", sample_weight="w")


def test_queries_and_tables_that_are_none(frame: Any, model: Any) -> None:
    connection = duckdb.connect()
    for query, sentence in (
        ("SELECT * FROM nowhere", "DuckDB rejected the query: .*nowhere"),
        ("SELEKT", "DuckDB rejected the query"),
        (5, "with the SQL as text, found int"),
    ):
        with pytest.raises(InputError, match=sentence):
            secateur.simplify(model, (connection, query), y="y", method="mismatch", each_leaf=True)
    import sqlite3

    with (
        contextlib.closing(sqlite3.connect(":memory:")) as lite,
        pytest.raises(InputError, match=r"with a connection of DuckDB, found one of sqlite3"),
    ):
        secateur.simplify(model, (lite, "SELECT 1"), y="y", method="mismatch", each_leaf=True)
    rules = secateur.simplify(model, frame, y="y", method="mismatch", each_leaf=True)
    with pytest.raises(InputError, match=r"Expected a table: a path, .* found ndarray"):
        rules.write_predictions(frame.to_numpy(), "nowhere.parquet")
    with pytest.raises(InputError, match="Expected the path of a Parquet file or"):
        rules.write_predictions(frame, 5)


WRITER = """
import pathlib, signal, sys
import secateur
rules = secateur.Rules.from_json(pathlib.Path(sys.argv[1]).read_text())
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a run in the background does not have
print("ready", flush=True)
try:
    rules.write_predictions(sys.argv[2], sys.argv[3])
except KeyboardInterrupt:
    print("stopped", flush=True)
    sys.exit(130)
"""


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_or_killed_run_leaves_no_output(how: signal.Signals, frame: Any, model: Any, tmp_path: Path) -> None:
    small = tmp_path / "small.parquet"
    frame.to_parquet(small)
    rules = tmp_path / "rules.json"
    rules.write_text(secateur.simplify(model, frame, y="y").to_json())
    many = tmp_path / "many"
    many.mkdir()
    for place in range(400):
        os.link(small, many / f"{place}.parquet")
    out = tmp_path / "out" / "scored.parquet"
    out.parent.mkdir()
    run = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(rules), str(many), str(out)], stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    while not any(out.parent.iterdir()) and run.poll() is None:  # until it writes
        time.sleep(0.01)
    run.send_signal(how)
    told, _ = run.communicate(timeout=60)
    assert run.returncode == (130 if how == signal.SIGINT else -how)
    assert not out.exists()
    if how == signal.SIGINT:
        assert told == "stopped\n"
        assert list(out.parent.iterdir()) == []


def test_a_directory_holds_one_format(frame: Any, model: Any, tmp_path: Path) -> None:
    place = tmp_path / "loans"
    (place / "year=2020").mkdir(parents=True)
    frame.to_parquet(place / "year=2020" / "a.parquet")
    (place / "_SUCCESS").write_text("")
    assert secateur.simplify(model, place, y="y", method="mismatch", each_leaf=True) == secateur.simplify(
        model, frame, y="y", method="mismatch", each_leaf=True
    )
    (place / "README.txt").write_text("hi\n")
    with pytest.raises(InputError, match=r"README\.txt is csv and .*a\.parquet is parquet: the files of one table"):
        secateur.simplify(model, place, y="y", method="mismatch", each_leaf=True)


def test_predictions_go_to_the_connection_that_is_read_and_to_no_csv(frame: Any, model: Any, tmp_path: Path) -> None:
    rules = secateur.simplify(model, frame, y="y", method="mismatch", each_leaf=True)
    connection = duckdb.connect()
    connection.register("loans", frame)
    connection.execute("CREATE SCHEMA s")
    assert rules.write_predictions((connection, "SELECT * FROM loans"), (connection, "s.scored")) == len(frame)
    assert connection.sql("SELECT count(*) FROM s.scored").fetchall() == [(len(frame),)]
    with pytest.raises(InputError, match=r"written as Parquet, not \.csv"):
        rules.write_predictions(frame, tmp_path / "out.csv")
