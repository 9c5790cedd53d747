"""A damaged, endless or lying file is one sentence: no crash, no other file, no memory without limit."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from drawing import draw

import secateur
import secateur.adapters
from secateur.cli.tables.table_file import read_table
from secateur.errors import FormatError, InputError
from secateur.results import Evidence
from secateur.rows.file_bytes import check_ends, copy_stream, read_whole
from secateur.rows.file_queries import connect, read_header_names
from secateur.rows.opening import open_source
from secateur.rows.sources import measure_arrow, open_arrow

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"

# Reads tables both ways, in a process of its own: what ends it would end the tests.
READER = """
import json, sys
from secateur.cli.tables.table_file import read_table
from secateur.errors import SecateurError
from secateur.rows.opening import open_source

def batches(path):
    with open_source(path) as source:
        source.n_rows
        return [column.to_pylist() for batch in source.read(source.schema.names) for column in batch.columns]

for path in sys.argv[1:]:
    for read in (read_table, batches):
        try:
            read(path)
            print(json.dumps("read"))
        except SecateurError as error:
            print(json.dumps(str(error)), flush=True)
"""


def read_apart(paths: list[Path]) -> list[str]:
    run = subprocess.run([sys.executable, "-c", READER, *map(str, paths)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2_000:]
    return [json.loads(line) for line in run.stdout.splitlines()]


def some_rows(n: int = 200) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "income": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
            "city": rng.choice(["Paris", "Roma", "Köln"], n),
            "kind": pa.array(rng.choice(["a", "b"], n)).dictionary_encode(),
            "outcome": rng.choice(["no", "yes"], n),
        }
    )


def arrow_bytes(table: pa.Table, *, is_stream: bool = False, packed: str | None = None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=packed)
    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=80)
    return sink.getvalue()


@pytest.mark.long
def test_damaged_arrow_and_parquet_files_are_rejected_in_a_sentence() -> None:
    paths = sorted([*CORPUS.glob("*.arrow"), *CORPUS.glob("*.parquet")])
    assert len(paths) >= 6
    for path, sentence in zip(sorted(paths * 2), read_apart(paths), strict=True):
        assert str(path) in sentence
        assert "damaged" in sentence


@pytest.mark.long
@pytest.mark.drawn
def test_one_changed_byte_of_an_arrow_file_never_ends_the_process(tmp_path: Path) -> None:
    paths = []
    for is_stream in (False, True):
        content = arrow_bytes(some_rows(), is_stream=is_stream)
        rng = np.random.default_rng(1)
        for place in draw(rng.choice(len(content), 40, replace=False).tolist(), 20):
            changed = bytearray(content)
            changed[place] ^= int(rng.integers(1, 256))
            paths.append(tmp_path / f"{place} {is_stream}.arrow")
            paths[-1].write_bytes(changed)
    told = read_apart(paths)
    assert len(told) == 2 * len(paths)
    assert {"read"} < set(told)


@pytest.mark.parametrize("packed", [None, "lz4", "zstd"])
@pytest.mark.parametrize("is_stream", [False, True])
def test_an_arrow_file_is_read_as_arrow_reads_it(is_stream: bool, packed: str | None, tmp_path: Path) -> None:
    table, path = some_rows(), tmp_path / "t.arrow"
    path.write_bytes(arrow_bytes(table, is_stream=is_stream, packed=packed))
    with open_arrow(path, "t.arrow") as (schema, batches):
        assert pa.Table.from_batches(batches, schema) == table
    with open_arrow(path, "t.arrow", ["outcome", "age"]) as (_, batches):
        assert pa.Table.from_batches(batches) == table.select(["outcome", "age"])
    # A packed batch takes what it takes unpacked; small buffers are padded, or longer when packed.
    largest = max(batch.nbytes for batch in table.to_batches(80))
    assert largest <= max(measure_arrow(path, "t.arrow")) <= 1.2 * largest


def test_notes_of_pandas_in_an_arrow_file_are_not_believed(tmp_path: Path) -> None:
    table = some_rows().replace_schema_metadata({b"pandas": b"{not json"})
    path = tmp_path / "t.arrow"
    path.write_bytes(arrow_bytes(table))
    with open_source(path) as source:
        assert next(source.read(["age"])).to_pandas()["age"].tolist() == table["age"].to_pylist()[:80]


def test_a_batch_that_unpacks_to_more_than_the_limit_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"age": np.zeros(4_000_000), "outcome": np.zeros(4_000_000)})
    path = tmp_path / "bomb.arrow"
    with pa.ipc.new_file(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    assert path.stat().st_size < 100_000
    monkeypatch.setenv("SECATEUR_MAX_MEMORY", "32MiB")
    sentence = r"A batch of .*bomb\.arrow takes 61 MiB, and at most 32 MiB .* SECATEUR_MAX_MEMORY=64MiB, to take more"
    with pytest.raises(InputError, match=sentence), open_source(path):
        pass
    monkeypatch.setenv("SECATEUR_MAX_MEMORY", "64MiB")
    with open_source(path) as source:
        assert sum(batch.num_rows for batch in source.read(["age"])) == 4_000_000


@pytest.mark.parametrize("name", ["./~/t.csv", "~t.csv", "file:/t.csv", "a/../t.csv", "link/../t.csv", "s3:/b/t.csv"])
def test_the_file_that_is_checked_is_the_file_that_is_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    for place in (work / "~", work / "file:", work / "a", work / "s3:" / "b", home / "deep"):
        place.mkdir(parents=True)
    (work / "link").symlink_to(home / "deep")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(work)
    for place in (home, work, home / "deep"):
        (place / "t.csv").write_text("wrong\n1\n")
    right = home / "t.csv" if name.startswith("link") else Path(name)
    right.write_text("right\n1\n")
    with open_source(name) as source:
        assert source.schema.names == ["right"]
        assert [batch.num_rows for batch in source.read(["right"])] == [1]


def test_our_connection_reads_the_named_file_and_nothing_else(tmp_path: Path) -> None:
    mine, other, room = tmp_path / "it's.csv", tmp_path / "other.csv", tmp_path / "room"
    room.mkdir()
    for path in (mine, other):
        path.write_text("a\n1\n")
    attempts = (
        f"SELECT * FROM read_csv('{other}')",
        f"SELECT * FROM '{other}'",
        f"SELECT * FROM read_text('{other}')",
        f"SELECT * FROM glob('{tmp_path}/*')",
        f"COPY (SELECT 1) TO '{tmp_path}/new.csv'",
        f"ATTACH '{tmp_path}/new.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_paths = ['/']",
        "SET lock_configuration = false",
        "RESET enable_external_access",
        "SELECT * FROM attempts",  # a variable of Python
    )
    with connect(room, [mine]) as connection:
        assert connection.execute("SELECT * FROM read_csv($path)", {"path": str(mine)}).fetchall() == [(1,)]
        for cursor in (connection, connection.cursor()):
            for attempt in attempts:
                with pytest.raises(duckdb.Error):
                    cursor.execute(attempt).fetchall()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it's.csv", "other.csv", "room"]
    assert list(room.iterdir()) == []


def test_a_table_larger_than_duckdbs_memory_still_spills_to_its_room(tmp_path: Path) -> None:
    with connect(tmp_path, []) as connection:
        assert connection.execute("SELECT current_setting('temp_directory')").fetchall() == [(str(tmp_path),)]


def test_names_of_columns_that_are_not_text_are_rejected(tmp_path: Path) -> None:
    frame = pd.DataFrame({"price": [1.0], "outcome": [0]})
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    path.write_bytes(path.read_bytes().replace(b"price", b"pr\xc5ce"))
    with pytest.raises(InputError, match=r"t\.parquet .*damaged"):
        secateur.simplify(_any_model(), path, y="outcome", each_leaf=True)


def _any_model() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=1).fit(pd.DataFrame({"price": [0.0, 1.0]}), [0, 1])


def test_a_device_and_a_pipe_without_a_writer_are_rejected(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"pipe is a named pipe, whose other end may never be opened: expected a file"):
        secateur.simplify(_any_model(), pipe, y="outcome", each_leaf=True)
    with pytest.raises(InputError, match=r"/dev/zero is a device, which may never end: expected a file"):
        secateur.simplify(_any_model(), "/dev/zero", y="outcome", each_leaf=True)
    for read in (secateur.adapters.read_iai, secateur.adapters.read_pmml, secateur.adapters.read_onnx):
        with pytest.raises(FormatError, match=r"/dev/zero is a device"):
            read(Path("/dev/zero"))
        with pytest.raises(FormatError, match=r"pipe is a named pipe"):
            read(pipe)
    with pytest.raises(InputError, match=r"pipe is a named pipe"):
        Evidence.load(pipe)


def test_a_pipe_that_the_shell_opened_is_read(tmp_path: Path) -> None:
    end, start = os.pipe()
    os.write(start, b"a,b\n1,2\n")
    os.close(start)
    with open_source(f"/dev/fd/{end}") as source:
        assert source.schema.names == ["a", "b"]
    os.close(end)


def test_a_pipe_that_does_not_end_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECATEUR_MAX_INPUT", "3MiB")
    sentence = r"standard input gives more than 3 MiB.*SECATEUR_MAX_INPUT=6MiB"
    with pytest.raises(InputError, match=sentence):
        copy_stream(io.BytesIO(bytes(4 << 20)), tmp_path / "copy", "standard input")
    with Path("/dev/zero").open("rb") as stream, pytest.raises(InputError, match="is a device, which may never end"):
        check_ends(stream, "standard input")
    with Path("/dev/null").open("rb") as stream:
        check_ends(stream, "standard input")


def test_a_model_file_is_read_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(FormatError, match=r"huge\.json has 5 GiB, and at most 1 GiB .*SECATEUR_MAX_MODEL=8GiB"):
        secateur.adapters.read_iai(path)
    monkeypatch.setenv("SECATEUR_MAX_MODEL", "10")
    path.write_bytes(b"12345678901")
    with pytest.raises(InputError, match=r"has 11 B, and at most 10 B are read .*SECATEUR_MAX_MODEL=20,"):
        read_whole(path)
    path.write_bytes(b"1234567890")
    assert read_whole(path) == b"1234567890"


@pytest.mark.long
def test_a_packed_table_that_holds_far_more_than_it_takes_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secateur.rows.file_bytes.SMALL", 1 << 20)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,outcome\n" + b"1,yes\n" * 1_000_000))
    with pytest.raises(InputError, match=r"unpacks to more than .* at most 200 times .*SECATEUR_MAX_GROWTH=400"):
        secateur.simplify(_any_model(), path, y="outcome", each_leaf=True)
    monkeypatch.setenv("SECATEUR_MAX_GROWTH", "2000")
    with open_source(path) as source:
        assert sum(batch.num_rows for batch in source.read(["a"])) == 1_000_000


@pytest.mark.long
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_line_that_does_not_end_takes_no_memory(
    is_packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECATEUR_MAX_GROWTH", "100000")
    path = tmp_path / "t.csv"
    content = b"price,outcome\n1,0\n" + b"x" * 30_000_000 + b"\n"
    path.write_bytes(gzip.compress(content) if is_packed else content)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"has a line of more than 2,000,000 bytes.*SECATEUR_MAX_LINE=4000000"):
        secateur.simplify(_any_model(), path, y="outcome", each_leaf=True)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_a_longer_line_is_read_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"price,note\n1,short\n2," + b"x" * 2_500_000 + b"\n")
    monkeypatch.setenv("SECATEUR_MAX_LINE", "3000000")
    with open_source(path) as source:
        assert [len(text) for batch in source.read(["note"]) for text in batch["note"].to_pylist()] == [5, 2_500_000]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "json"])
def test_too_many_columns_are_rejected(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECATEUR_MAX_COLUMNS", "10")
    names = [f"c{place}" for place in range(30)]
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        path.write_text(",".join(names) + "\n" + ",".join("1" * 30) + "\n")
    elif kind == "json":
        path.write_text(json.dumps(dict.fromkeys(names, 1)) + "\n")
    elif kind == "parquet":
        pd.DataFrame({name: [1] for name in names}).to_parquet(path)
    else:
        path.write_bytes(arrow_bytes(pa.table({name: [1] for name in names})))
    sentence = r"t\.\w+ has 30 columns, and at most 10 are taken.*SECATEUR_MAX_COLUMNS=40"
    with pytest.raises(InputError, match=sentence), open_source(path):
        pass
    with pytest.raises(InputError, match=sentence):
        read_table(path)


def test_a_parquet_file_of_very_many_rows_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.zeros(1_000_000)}), path)  # which takes a few hundred bytes
    assert len(read_table(path).frame) == 1_000_000
    monkeypatch.setattr("secateur.cli.tables.table_file.CELL", 1 << 30)
    with pytest.raises(InputError, match=r"t\.parquet would take about 1,000,000.0 GiB of memory"):
        read_table(path)


def test_a_directory_that_links_to_itself_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "data"
    (place / "deep").mkdir(parents=True)
    (place / "deep" / "t.csv").write_text("a\n1\n")
    monkeypatch.chdir(place)
    for fine in ("../data", ".", "deep/..", str(place), "**/*.csv", "../data/*/*.csv"):  # the same directory, once
        with open_source(fine) as source:
            assert sum(batch.num_rows for batch in source.read(["a"])) == 1
    (place / "deep" / "again").symlink_to(place)
    for name in (str(place), ".", f"{place}/**/*.csv", "**/*.csv"):
        with pytest.raises(InputError, match=r"is a link to a directory above it.*remove the link"), open_source(name):
            pass


def test_records_within_records_without_end_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"a": ' * 50_000 + "1" + "}" * 50_000 + "\n")
    for read in (read_table, lambda path: secateur.simplify(_any_model(), path, y="outcome", each_leaf=True)):
        with pytest.raises(InputError, match=r"t\.json"):
            read(path)


def test_completing_the_names_of_columns_waits_for_no_pipe(tmp_path: Path) -> None:
    pipe, table = tmp_path / "pipe", tmp_path / "t.csv"
    os.mkfifo(pipe)
    table.write_text("\ufeffage,ward\n1,A\n")
    assert read_header_names(table) == ["age", "ward"]
    for path in (pipe, Path("/dev/zero"), tmp_path / "absent", tmp_path):
        assert read_header_names(path) == []


@pytest.mark.parametrize("kind", ["reader", "dataset"])
def test_damaged_batches_of_readers_and_datasets_are_rejected(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    content = arrow_bytes(some_rows(), is_stream=kind == "reader")
    path.write_bytes(content.replace("Köln".encode(), b"K\xf6\xf6ln"))
    opened = pa.ipc.open_stream(path.read_bytes()) if kind == "reader" else pyarrow.dataset.dataset(path, format="ipc")
    with pytest.raises(InputError, match=f"The {kind} cannot be read: .*UTF8"), open_source(opened) as source:
        list(source.read(["city"]))
