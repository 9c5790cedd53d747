"""What a person may get wrong at the command line: one sentence, exit status 2, and nothing left behind."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from loans import make_loans
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.cli.console import errors, out
from secateur.cli.main import run

SCRIPT = Path(sys.executable).with_name("secateur")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of files, good and bad."""
    place = tmp_path_factory.mktemp("bad")
    loans = make_loans(120)
    loans.to_csv(place / "loans.csv", index=False)
    loans.assign(outcome="repaid").to_csv(place / "constant.csv", index=False)
    loans.assign(outcome=np.linspace(0, 9, 120)).to_csv(place / "fractions.csv", index=False)
    loans.assign(outcome=range(120)).to_csv(place / "counts.csv", index=False)
    loans.assign(outcome=["odd", *loans["outcome"][1:]]).to_csv(place / "rare.csv", index=False)
    loans.assign(age=["old", *loans["age"][1:]]).to_csv(place / "mixed.csv", index=False)
    loans.head(1).to_csv(place / "one.csv", index=False)
    loans.head(0).to_csv(place / "header.csv", index=False)
    loans.rename(columns={"bank": " age "}).to_csv(place / "twice.csv", index=False)
    loans.assign(bank="Bänk").to_csv(place / "latin.csv", index=False, encoding="latin-1")
    text = (place / "loans.csv").read_bytes()
    for name, content in {
        "empty.csv": b"",
        "ragged.csv": text + b"1,2,3\n",
        "bytes.csv": bytes(range(256)) * 20,
        "book.xlsx": b"PK\x03\x04" + bytes(50),
        "cut.csv.gz": gzip.compress(text)[:200],
        "late.csv.gz": gzip.compress(text * 200)[:-9],
        "long.csv": b"x" * 140_000 + b",b\n1,2\n",
        "other.json": b'{"a": 1}',
        "broken.json": b'{"a": ',
        "future.json": b'{"format": "secateur-rules", "version": 99}',
        "draft.json": b'{"format": "secateur-compact", "version": 1}',
    }.items():
        (place / name).write_bytes(content)
    with (place / "huge.csv").open("wb") as file:
        file.truncate(1 << 43)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.random((30, 2)), columns=["age", "height"])
    named = DecisionTreeClassifier(max_depth=2).fit(rows, rng.choice(["default", "repaid"], 30))
    skops.io.dump(named, place / "named.skops")
    unnamed = DecisionTreeClassifier(max_depth=2).fit(rng.random((30, 3)), rng.choice(["default", "repaid"], 30))
    skops.io.dump(unnamed, place / "unnamed.skops")
    skops.io.dump(RandomForestClassifier(2).fit(rows, rng.choice(["a", "b"], 30)), place / "forest.skops")
    (place / "model.pkl").write_bytes(pickle.dumps(named))
    numbers = rng.integers(0, 9, (60, 2)).astype(float)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(numbers, numbers[:, 0] > 4)
    rules = secateur.simplify(tree, numbers, numbers[:, 0] > 4, each_leaf=True, feature_names=["age", "number"])
    (place / "rules.json").write_text(rules.to_json(), encoding="utf-8")
    return place


T = ("--target", "outcome")
CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "no file": (("simplify", "lons.csv", *T), r"There is no file lons\.csv\. Did you mean 'loans\.csv'\?"),
    "a directory": (("simplify", ".", *T), r"\. names several files.* name one file, or pass a tree with --model"),
    "empty": (("simplify", "empty.csv", *T), "empty.csv is empty"),
    "header only": (("simplify", "header.csv", *T), "has a header but no rows"),
    "one row": (("simplify", "one.csv", *T), "One row has a value of 'outcome'"),
    "huge": (("simplify", "huge.csv", *T), r"would take about 8,192\.0 GiB of memory"),
    "bytes": (("simplify", "bytes.csv", *T), "holds bytes that are not text"),
    "a workbook": (("simplify", "book.xlsx", *T), "an Excel workbook.*Save it as CSV"),
    "half a gzip": (("simplify", "cut.csv.gz", *T), "cannot be unpacked"),
    "a gzip cut late": (("simplify", "late.csv.gz", *T), "cannot be unpacked.*download it again"),
    "a long name": (("simplify", "long.csv", *T), "has no column 'outcome'"),
    "ragged": (("simplify", "ragged.csv", *T), "Line 122 of ragged.csv has 3 fields, but the header has 10"),
    "encoding": (("simplify", "latin.csv", *T), "is not in UTF-8.*pass --encoding cp1252"),
    "no encoding": (("simplify", "loans.csv", *T, "--encoding", "x"), "There is no encoding 'x'"),
    "no encoding of text": (("simplify", "loans.csv", *T, "--encoding", "rot13"), "There is no encoding 'rot13'"),
    "two names": (("simplify", "twice.csv", *T), "two columns named 'age'"),
    "no target": (
        ("simplify", "loans.csv"),
        "Name the column of the classes of loans.csv with --target; its columns are 'number'",
    ),
    "absent target": (("simplify", "loans.csv", "--target", "Outcom"), "no column 'Outcom'. Did you mean 'outcome'?"),
    "constant": (("simplify", "constant.csv", *T), "is repaid in every row: at least two classes"),
    "numbers as classes": (("simplify", "counts.csv", *T, "--classes"), "expected a few classes"),
    "a class of numbers": (("simplify", "counts.csv", *T, "--drop-class", "1"), "leave out --drop-class"),
    "rare class": (("simplify", "rare.csv", *T), "The class odd of 'outcome' has only one row.*--drop-class 'odd'"),
    "mixed": (("simplify", "mixed.csv", *T), r"1 cell of mixed.csv cannot be read: 'age' holds 'old' \(row 1\)"),
    "a column to drop": (("simplify", "loans.csv", *T, "--drop", "agee"), "no column 'agee'. Did you mean 'age'?"),
    "method": (("simplify", "loans.csv", *T, "--method", "exakt"), "There is no method 'exakt'. Did you mean 'exact'?"),
    "tolerance": (("simplify", "loans.csv", *T, "--tolerance", "2"), "Expected tolerance as a number from 0 to 1"),
    "holdout": (("simplify", "loans.csv", *T, "--holdout", "1"), "number from 0 to less than 1, found 1"),
    "fact": (("simplify", "loans.csv", *T, "--fact", "agee > 3"), "agee"),
    "target without data": (("simplify", *T), "--target names a column of DATA"),
    "data and table": (("simplify", "loans.csv", *T, "--table", "weather"), "not both: leave out --table"),
    "json twice": (("simplify", "loans.csv", *T, "--json", "--export", "sql"), "would both go to the screen"),
    "output exists": (("simplify", "loans.csv", *T, "-o", "rules.json"), "rules.json exists already: pass --force"),
    "report exists": (("simplify", "loans.csv", *T, "--report", "rules.json"), "exists already: pass --force"),
    "no directory": (("simplify", "loans.csv", *T, "-o", "no/rules.sql"), "there is no directory no. Make it first"),
    "output is a directory": (("simplify", "loans.csv", *T, "--export", "sql", "-o", "."), "is a directory"),
    "unknown ending": (("simplify", "loans.csv", *T, "-o", "rules.doc"), r"What should rules\.doc hold\?"),
    "dialect": (("simplify", "loans.csv", *T, "--export", "sql", "--dialect", "x"), "There is no dialect 'x'"),
    "two outputs": (("simplify", "loans.csv", *T, "-o", "a.html", "--report", "a.html"), "Two outputs would go to"),
    "pickle": (("simplify", "loans.csv", *T, "--model", "model.pkl"), "can run any code.*--trust-pickle"),
    "no model": (("simplify", "loans.csv", *T, "--model", "loans.csv"), "loans.csv is no model"),
    "absent model": (("simplify", "loans.csv", *T, "--model", "m.skops"), "There is no file m.skops"),
    "forest": (("simplify", "--model", "forest.skops"), "several trees, and this is about one tree"),
    "budget of a forest": (
        ("simplify", "loans.csv", *T, "--model", "forest.skops", "--budget", "0.01"),
        "forest.skops is of several trees, which a short list approximates",
    ),
    "forest of other columns": (("approximate", "forest.skops", "loans.csv", *T), "it has no column 'height'"),
    "model of other columns": (
        ("simplify", "loans.csv", *T, "--model", "named.skops"),
        "does not fit the model: it has no column 'height'",
    ),
    "model of other width": (
        ("simplify", "loans.csv", *T, "--model", "unnamed.skops"),
        "fitted on 3 columns without names, but loans.csv has 9",
    ),
    "rows needed": (
        ("simplify", "--model", "named.skops", "--method", "faithful"),
        "judges deletions by training rows",
    ),
    "no rules": (("verify", "other.json"), "is JSON, but no rules"),
    "rules of a draft": (
        ("verify", "draft.json"),
        "draft.json is JSON, but no rules: expected rules that --export json wrote",
    ),
    "model of a draft": (("simplify", "--model", "draft.json"), "draft.json is JSON, but neither rules nor a tree"),
    "budget of leaves": (
        ("simplify", "loans.csv", *T, "--each-leaf", "--budget", "0.1"),
        "--budget is for a short list: leave it out, or leave out --each-leaf",
    ),
    "broken rules": (("verify", "broken.json"), "is not JSON"),
    "rules of the future": (("verify", "future.json"), "has version 99, but this secateur reads up to version 3"),
    "data without target": (("verify", "rules.json", "--data", "loans.csv"), "--data FILE --target COLUMN"),
    "labels of another kind": (
        ("verify", "rules.json", "--data", "loans.csv", *T),
        r"The column 'outcome' of loans.csv holds '\w+' \(row 1\), which the model never saw: its classes are 'false'",
    ),
    "nothing to explain": (("explain", "rules.json"), "Name a table of rows, or one row"),
    "a row without a value": (("explain", "rules.json", "--row", "number=3"), "has no value for 'age'"),
    "a row of no pairs": (("explain", "rules.json", "--row", "3;4"), "Expected NAME=VALUE, found '3;4'"),
    "a row of broken JSON": (("explain", "rules.json", "--row", '{"age": '), "The row is not a JSON object"),
    "a row that is no number": (
        ("explain", "rules.json", "--row", "age=x,number=2"),
        r"'age' holds 'x' \(row 1\) in place of numbers",
    ),
    "rows of other columns": (
        ("explain", "rules.json", "other.json"),
        "has none of the columns that the model was fitted on",
    ),
    "export of a table": (("export", "loans.csv", "-f", "sql"), "loans.csv is not JSON"),
    "export of nothing": (("export", "rules.json"), "Say what to write with --format"),
    "report of two tables": (
        ("report", "loans.csv", "--data", "loans.csv", *T, "-o", "page.html"),
        "does not hold rules: name one table only",
    ),
    "diff of no rules": (("diff", "rules.json", "other.json"), "other.json is JSON, but no rules"),
    "compare with a wrong share": (("compare", "loans.csv", *T, "--tolerance", "7"), "Expected tolerance as a number"),
    "diff with a draft": (("diff", "rules.json", "draft.json"), "draft.json is JSON, but no rules"),
    "compare without target": (("compare", "loans.csv"), "Name the column of the classes of loans.csv with --target"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_one_sentence_and_leaves_nothing_behind(
    case: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, sentence = CASES[case]
    monkeypatch.chdir(place)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for console in (out, errors):
        monkeypatch.setattr(console, "width", 80)
    before = {entry: entry.stat().st_mtime_ns for entry in place.iterdir()}
    monkeypatch.setattr(sys, "argv", ["secateur", *arguments])
    with pytest.raises(SystemExit) as ended:
        run()
    captured = capsys.readouterr()
    assert ended.value.code == 2, captured
    assert re.search(sentence, captured.err), captured.err
    assert captured.err.startswith("Error: ")
    assert len(captured.err.strip().splitlines()) == 1
    assert captured.out == ""
    assert {entry: entry.stat().st_mtime_ns for entry in place.iterdir()} == before
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read and write everything")
def test_files_that_may_not_be_read_or_written_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("secret.csv").write_text("a,b\n1,2\n")
    Path("secret.csv").chmod(0)
    monkeypatch.setattr(sys, "argv", ["secateur", "simplify", "secret.csv", "--target", "b"])
    with pytest.raises(SystemExit):
        run()
    assert "secret.csv cannot be read: Permission denied" in capsys.readouterr().err


def run_here(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["secateur", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        run()
    return int(ended.value.code or 0)


def test_force_replaces_what_is_there(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "rules.json"
    target.write_text("old")
    status = run_here(monkeypatch, "simplify", place / "loans.csv", *T, "-o", target, "--force", "-q")
    assert (status, *capfd.readouterr()) == (0, "", "")
    assert json.loads(target.read_text())["format"] == "secateur-rules"


def test_notes_go_beside_an_export_that_is_redirected(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_here(monkeypatch, "simplify", place / "loans.csv", *T, "--export", "json") == 0
    printed, said = capfd.readouterr()
    assert json.loads(printed)["format"] == "secateur-rules"
    assert "Left out 'bank'" in said


@pytest.mark.long
def test_a_reader_that_goes_away_gets_no_traceback(place: Path) -> None:
    arguments = [SCRIPT, "simplify", place / "loans.csv", *T]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
        process.wait()
    assert complaint == b""


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "status", "words"),
    [(signal.SIGINT, 130, b"\nStopped.\n"), (signal.SIGTERM, 143, b"Stopped by a signal (SIGTERM).\n")],
)
def test_a_stopped_command_says_so_and_leaves_nothing(
    how: signal.Signals, status: int, words: bytes, tmp_path: Path
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    arguments = [SCRIPT, "simplify", "-", *T]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        waited = 0.0
        while not list(tmp_path.glob("secateur-*/stdin")) and waited < 60:  # it waits for its standard input now
            time.sleep(0.1)
            waited += 0.1
        process.send_signal(how)
        shown, complaint = process.communicate()
    assert process.returncode == status
    assert shown == b""
    assert complaint == words
    assert not list(tmp_path.iterdir())
