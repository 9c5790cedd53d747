from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from loans import make_loans

from secateur.cli.tables.table_file import TableFile, read_table
from secateur.errors import InputError
from secateur.rows.file_queries import read_header_names


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def as_texts(frame: pd.DataFrame) -> list[list[Any]]:
    """Every value as a plain one, so that frames of different libraries' types can be compared."""
    return [[None if pd.isna(value) else value for value in frame[column].tolist()] for column in frame.columns]


@pytest.fixture(scope="module")
def loans() -> pd.DataFrame:
    return make_loans()


@pytest.fixture(scope="module")
def csv(loans: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    loans.to_csv(path, index=False)
    return path


def test_true_and_false_alone_are_truth_values(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b,c,d\nTrue,true,True,1\nFalse,,no,0\n")
    table = read_table(path)
    assert table.kinds == {"a": "boolean", "b": "boolean", "c": "text", "d": "number"}
    assert table.frame["a"].dtype == bool
    assert table.frame["b"].tolist()[0] is True
    assert table.frame["b"].isna().tolist() == [False, True]
    assert read_table(path, text=["a"]).kinds["a"] == "text"


def test_equal_texts_are_one_object_and_blanks_are_nan(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    texts = ["north", "", "south", "north", "a word", "south"] * 2_000
    path.write_text('"a ""b""",x\n' + "".join(f"{text},{row}\n" for row, text in enumerate(texts)))
    found = read_table(path).frame['a "b"']
    assert found.dtype == object
    assert [value for value in found if isinstance(value, str)] == [text for text in texts if text]
    assert all((value is np.nan) == (text == "") for value, text in zip(found, texts, strict=True))
    assert len({id(value) for value in found}) == 4


def test_a_csv_is_read_as_pandas_reads_it(csv: Path) -> None:
    table = read_table(csv)
    expected = pd.read_csv(csv)
    assert list(table.frame.columns) == list(expected.columns)
    assert as_texts(table.frame) == as_texts(expected)
    assert table.kinds == {
        **{"number": "number", "name": "text", "age": "number", "income": "number", "children": "number"},
        **{"purpose": "text", "member": "text", "bank": "text", "applied": "text", "outcome": "text"},
    }
    assert table.whole == ("number", "age", "children")
    assert table.name == str(csv)


def test_numbers_are_int64_without_blanks_and_float64_with_them(csv: Path) -> None:
    frame = read_table(csv).frame
    assert frame["age"].dtype == np.int64
    assert frame["children"].dtype == np.float64
    assert frame["children"].isna().any()
    assert frame["purpose"].dtype == object
    assert {type(value) for value in frame["purpose"]} == {str, float}


@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz", "t.parquet", "t.feather", "t.jsonl", "t.json", "t.arrows"])
def test_every_format_gives_the_table_of_the_csv(name: str, loans: pd.DataFrame, csv: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    plain = loans.drop(columns="applied")
    if name == "t.tsv":
        plain.to_csv(path, sep="\t", index=False)
    elif name == "t.csv.gz":
        plain.to_csv(path, index=False)
    elif name == "t.parquet":
        plain.to_parquet(path)
    elif name == "t.feather":
        plain.to_feather(path)
    elif name == "t.arrows":
        pa = pytest.importorskip("pyarrow")
        batch = pa.Table.from_pandas(plain)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batch.schema) as writer:
            writer.write_table(batch)
    else:
        plain.to_json(path, orient="records", lines=name == "t.jsonl")
    table, expected = read_table(path), read_table(csv)
    assert as_texts(table.frame) == as_texts(expected.frame.drop(columns="applied"))
    assert table.kinds == {column: kind for column, kind in expected.kinds.items() if column != "applied"}
    assert table.whole == expected.whole


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_told_apart_like_a_file(packed: bool, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress(csv.read_bytes()) if packed else csv.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    table = read_table("-")
    assert table.name == "standard input"
    assert table.frame.equals(read_table(csv).frame)


def test_text_stays_as_it_is_written(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "flag,code\ntrue,a\nFALSE,b\nyes,#c\n")
    frame = read_table(path).frame
    assert frame["flag"].tolist() == ["true", "FALSE", "yes"]
    assert frame["code"].tolist() == ["a", "b", "#c"]


def test_a_text_after_many_numbers_makes_the_column_text(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\n" + "".join(f"{i},x\n" for i in range(30_000)) + "foo,y\n")
    assert read_table(path).kinds["a"] == "text"


def test_columns_can_be_kept_as_text(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "code,b\n7,1\n10,2\n")
    assert read_table(path).frame["code"].tolist() == [7, 10]
    assert read_table(path, text=["code"]).frame["code"].tolist() == ["7", "10"]


def test_the_usual_texts_and_named_ones_are_blanks(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\n1,x\nNA,?\n-,y\n3,\n")
    table = read_table(path, missing=["-"])
    assert table.frame["a"].tolist()[::3] == [1, 3]
    assert table.frame["a"].isna().tolist() == [False, True, True, False]
    assert table.frame["b"].isna().tolist() == [False, True, False, True]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_splits_the_header(delimiter: str, tmp_path: Path) -> None:
    lines = [["a", "b b", "c"], ["1", '"x, y; z"', "2"], ["3", "w", "4"]]
    path = write(tmp_path / "t.csv", "\n".join(delimiter.join(line) for line in lines) + "\n")
    frame = read_table(path).frame
    assert list(frame.columns) == lines[0]
    assert frame["b b"].tolist() == ["x, y; z", "w"]


def test_a_decimal_comma_is_read_and_said(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "t.csv", "a;b\n1,5;x\n2,25;y\n"))
    assert table.frame["a"].tolist() == [1.5, 2.25]
    assert table.notes == ("Numbers are read with a decimal comma.",)


def test_names_that_hold_anything_survive(tmp_path: Path) -> None:
    names = ['"; DROP TABLE x;--', "</script>", "new\nline", "é 🌳", "Age", "age", "a*b?[c]", "x" * 10_000]
    frame = pd.DataFrame([[1, 2, 3, 4, 5, 6, 7, 8]], columns=names)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert list(read_table(tmp_path / "t.csv").frame.columns) == names


def test_a_path_with_wildcards_is_one_file(tmp_path: Path) -> None:
    write(tmp_path / "t1.csv", "a,b\n1,2\n3,4\n5,6\n")
    path = write(tmp_path / "t[1].csv", "a,b\n7,8\n")
    assert read_table(path).frame["a"].tolist() == [7]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_directory_of_a_name_and_a_value_is_no_column(name: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    for directory in ("a=2024", "year=2024"):
        path = tmp_path / directory / name
        path.parent.mkdir()
        if name == "t.csv":
            frame.to_csv(path, index=False)
        elif name == "t.jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            frame.to_parquet(path)
        assert read_table(path).frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst", "t.json.gz", "t.json.zst"])
def test_a_name_that_says_packed_does_not_make_it_so(name: str, tmp_path: Path) -> None:
    content = '{"a": 1}\n{"a": 2}\n' if "json" in name else "a,b\n1,x\n2,y\n"
    assert read_table(write(tmp_path / name, content)).frame["a"].tolist() == [1, 2]


def test_a_file_whose_name_is_no_text_is_read(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv"))
    try:
        write(path, "a,b\n1,x\n")
    except OSError:
        pytest.skip("this file system rejects such names")
    table = read_table(path)
    assert table.frame["a"].tolist() == [1]
    assert table.name == f"{tmp_path}/caf\ufffd.csv"


def test_long_names_and_texts_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", f"{'n' * 200_000},b\n1,{'x' * 200_000}\n2,y\n")
    frame = read_table(path).frame
    assert list(frame.columns) == ["n" * 200_000, "b"]
    assert frame["b"].tolist() == ["x" * 200_000, "y"]


def test_a_column_without_a_name_gets_its_number(tmp_path: Path) -> None:
    assert list(read_table(write(tmp_path / "t.csv", ",b\n1,2\n")).frame.columns) == ["column_1", "b"]


def test_another_encoding_is_read_when_it_is_named(tmp_path: Path) -> None:
    for encoding in ("latin-1", "utf-16", "cp1252"):
        path = write(tmp_path / f"{encoding}.csv", "name,b\nJosé,1\nx,2\n".encode(encoding))
        assert read_table(path, encoding=encoding).frame["name"].tolist() == ["José", "x"]


def test_another_encoding_without_a_mark_packed_and_as_json(tmp_path: Path) -> None:
    packed = write(tmp_path / "t.csv.gz", gzip.compress("name,b\nJosé,1\nx,2\n".encode("utf-16-le")))
    assert read_table(packed, encoding="utf-16-le").frame["name"].tolist() == ["José", "x"]
    lines = write(tmp_path / "t.jsonl", '{"name": "José"}\n{"name": "x"}\n'.encode("cp1252"))
    assert read_table(lines, encoding="cp1252").frame["name"].tolist() == ["José", "x"]


def test_a_mark_of_utf8_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "\ufeffname,b\nJosé,1\n")
    assert list(read_table(path).frame.columns) == ["name", "b"]


def test_a_sample_is_drawn_the_same_twice(csv: Path) -> None:
    drawn = [read_table(csv, sample=50, seed=seed) for seed in (1, 1, 2)]
    assert len(drawn[0].frame) == 50
    assert drawn[0].frame.equals(drawn[1].frame)
    assert not drawn[0].frame.equals(drawn[2].frame)
    assert drawn[0].notes == ("50 rows were drawn at random.",)


def test_json_tells_truth_values_lists_and_mixtures_apart(tmp_path: Path) -> None:
    lines = '{"a":1,"b":true,"c":[1],"d":null,"e":1}\n{"a":2.5,"b":null,"c":[2],"d":null,"e":"x"}\n'
    table = read_table(write(tmp_path / "t.jsonl", lines))
    assert table.kinds == {"a": "number", "b": "boolean", "c": "nested", "d": "empty", "e": "mixed"}
    assert table.frame["b"].tolist()[0] is True


def test_nothing_is_left_in_the_directory(csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    read_table(csv)
    with pytest.raises(InputError):
        read_table(write(tmp_path / "bad.csv", "a,b\n1\n1,2,3\n"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.csv"]


LONG_GZIP = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(100_000)))
LONG_JSON_GZIP = gzip.compress(b"".join(b'{"a": %d}\n' % i for i in range(100_000)))
REJECTED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "t is empty: expected a table with a header line"),
    "a header only": (b"a,b\n", "t has a header but no rows"),
    "two names that are equal": (b"a,b,a\n1,2,3\n", "two columns named 'a'"),
    "two names that are equal after trimming": (b"a,b, a \n1,2,3\n", "two columns named 'a'"),
    "a line too long": (b"a,b\n1,2\n1,2,3\n4,5\n", "Line 3 of t has 3 fields, but the header has 2"),
    "a line too short": (b"a,b,c\n1,2,3\n4,5\n", "Line 3 of t has 2 fields, but the header has 3"),
    "Latin-1": ("a,b\nJosé,2\n".encode("latin-1"), "t is not in UTF-8 .*it looks like cp1252: .*--encoding cp1252"),
    "UTF-16": ("a,b\nJosé,2\n".encode("utf-16"), "it looks like utf-16: .*--encoding utf-16"),
    "JSON in Latin-1": ('{"a": "José"}\n{"a": "x"}\n'.encode("latin-1"), "t is not in UTF-8 .*--encoding cp1252"),
    "bytes": (bytes(range(256)) * 9, "t holds bytes that are not text"),
    "a workbook": (b"PK\x03\x04" + b"x" * 99, "t is a zip archive or an Excel workbook"),
    "a database": (b"SQLite format 3\0" + b"x" * 99, "t is an SQLite database"),
    "half of a gzip": (gzip.compress(bytes(range(256)) * 99)[:50], "t cannot be unpacked"),
    "a gzip cut behind its first MiB": (LONG_GZIP[:-9], "t cannot be unpacked: .*Copy or download it again"),
    "JSON cut in a gzip": (LONG_JSON_GZIP[:-9], "t cannot be unpacked: .*Copy or download it again"),
    "a line that is too long": (b"a,b\n1," + b"x" * 2_100_000 + b"\n2,y\n", "a line of more than 2,000,000 bytes"),
    "a long text in a line too short": (b"a,b,c\n1,2,3\n" + b"x" * 140_000 + b"\n", "Line 3 of t has 1 field, but"),
    "a header that does not end": (b"a," * 600_000, "The first line of t is longer than 1,048,576 bytes"),
    "half of a Parquet": (b"PAR1" + b"x" * 99, "t cannot be read: it is damaged"),
    "half of an Arrow": (b"ARROW1" + b"x" * 99, "t cannot be read: it is no Arrow file, or it is damaged"),
    "broken JSON": (b'{"a": 1}\n{"a" 2}\n', "t cannot be read: Malformed JSON"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_what_is_no_table_is_rejected_in_one_sentence(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, sentence = REJECTED[case]
    monkeypatch.chdir(tmp_path)
    write(Path("t"), content)
    with pytest.raises(InputError, match=sentence) as rejected:
        read_table("t")
    assert len(str(rejected.value).splitlines()) == 1


def test_a_file_that_is_not_there_is_not_guessed(tmp_path: Path) -> None:
    write(tmp_path / "loans.csv", "a,b\n1,2\n")
    with pytest.raises(InputError, match=r"There is no file .*loan\.csv\. Did you mean 'loans\.csv'\?"):
        read_table(tmp_path / "loan.csv")
    with pytest.raises(InputError, match="is a directory"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="Only files on this machine are read"):
        read_table("https://example.org/loans.csv")


def test_a_file_that_is_larger_than_the_memory_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.write(b"a,b\n1,2\n")
        file.truncate(1 << 43)
    with pytest.raises(InputError, match=r"would take about [\d,.]+ GiB of memory, .*--sample 100000"):
        read_table(path)


def test_an_unknown_encoding_and_format_are_named(csv: Path) -> None:
    with pytest.raises(InputError, match="There is no encoding 'klingon'"):
        read_table(csv, encoding="klingon")
    for encoding in ("rot13", "hex", "base64", "zip", "undefined"):
        with pytest.raises(InputError, match=f"There is no encoding '{encoding}'"):
            read_table(csv, encoding=encoding)
    with pytest.raises(InputError, match="is not in utf-16"):
        read_table(csv, encoding="utf-16")
    with pytest.raises(InputError, match="There is no format 'xls'"):
        read_table(csv, format="xls")


def test_a_gzip_that_is_cut_is_rejected_in_another_encoding_too(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv.gz", LONG_GZIP[:-9])
    with pytest.raises(InputError, match="cannot be unpacked"):
        read_table(path, encoding="latin-1")


def test_lines_that_end_in_two_ways_are_not_called_too_long(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,"b\nc",y\r\n' + b"1,2,no\r\n" * 40_000)
    with pytest.raises(InputError, match=r"do not all end the same way") as raised:
        read_table(path)
    assert "2,000,000" not in str(raised.value)


def test_the_names_of_a_header_are_read_without_the_rest(tmp_path: Path) -> None:
    assert read_header_names(write(tmp_path / "t.csv", "a; b ;c\n1;2;3\n")) == ["a", "b", "c"]
    assert read_header_names(tmp_path / "absent.csv") == []


def test_a_table_describes_itself_without_its_rows(csv: Path) -> None:
    assert isinstance(read_table(csv), TableFile)
    assert "person" not in repr(read_table(csv))
