from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secateur.cli.main import app
from secateur.cli.writing import check_outputs, write_files
from secateur.errors import InputError


def test_all_files_are_written_or_none(tmp_path: Path) -> None:
    (tmp_path / "dir" / "inside").mkdir(parents=True)
    with pytest.raises(InputError, match=r"Cannot write .*dir"):
        write_files({tmp_path / "a": "a", tmp_path / "dir": "b"}, force=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["dir"]


def test_files_that_were_replaced_come_back_when_a_later_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move of the last file fails, as it does when somebody makes a directory of its name meanwhile."""
    old, new, last = tmp_path / "old", tmp_path / "new", tmp_path / "last"
    old.write_text("before")
    move = os.replace

    def fail_at_last(source: Path, target: Path) -> None:
        if target == last:
            raise IsADirectoryError(21, "Is a directory", str(source), None, str(target))
        move(source, target)

    monkeypatch.setattr(os, "replace", fail_at_last)
    with pytest.raises(InputError, match=r"Cannot write .*last: Is a directory\. Name another place\."):
        write_files({old: b"after", new: b"new", last: b"last"}, force=True)
    assert old.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["old"]
    monkeypatch.undo()
    write_files({old: b"after", new: b"new", last: b"last"}, force=True)
    assert {entry.name: entry.read_text() for entry in tmp_path.iterdir()} == {
        **{"old": "after", "new": "new", "last": "last"}
    }


def test_files_come_back_when_a_device_cannot_be_written(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    with pytest.raises(InputError, match="Cannot write /dev/full: No space left on device"):
        write_files({Path("/dev/full"): "x", tmp_path / "t": "y"})
    assert not list(tmp_path.iterdir())


def test_nothing_to_write_is_no_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files({})
    assert not list(tmp_path.iterdir())


def test_half_of_a_character_is_rejected_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"b: its text holds '\\ud800', half of a character"):
        write_files({tmp_path / "a": "a", tmp_path / "b": "x\ud800"})
    assert not list(tmp_path.iterdir())


def test_two_names_of_one_file_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "t")
    with pytest.raises(InputError, match="Two outputs would go to"):
        check_outputs(tmp_path / "t", tmp_path / "link")
    assert [entry.name for entry in tmp_path.iterdir()] == ["link"]


def test_outputs_that_cannot_be_written_are_rejected_before_the_work(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.touch()
    check_outputs(there, force=True)
    check_outputs(None, Path("-"), Path(os.devnull), tmp_path / "new")
    for paths, sentence in (
        ([there], "exists already: pass --force to replace it"),
        ([tmp_path], "is a directory"),
        ([tmp_path / "no" / "t"], "there is no directory .*no. Make it first"),
        ([tmp_path / "t", tmp_path / "t"], "Two outputs would go to"),
    ):
        with pytest.raises(InputError, match=sentence):
            check_outputs(*paths)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_directory_that_is_closed_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="you may not write to"):
        check_outputs(tmp_path / "t")


def test_no_output_is_an_input_by_whatever_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a\n1\n")
    (tmp_path / "soft").symlink_to(table)
    os.link(table, tmp_path / "hard")
    (tmp_path / "d").mkdir()
    monkeypatch.chdir(tmp_path)
    for output in (table, Path("t.csv"), Path("./d/../t.csv"), tmp_path / "soft", tmp_path / "hard"):
        for force in (True, False):
            with pytest.raises(InputError, match="is a file that is read"):
                check_outputs(None, output, inputs=(None, str(table)), force=force)
        with pytest.raises(InputError, match="is a file that is read"):
            check_outputs(output, inputs=("*.csv",), force=True)
    with pytest.raises(InputError, match=r"new\.html would be in \., where every file is read"):
        check_outputs(Path("d/new.html"), inputs=(".",))
    with table.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        with pytest.raises(InputError, match=r"t\.csv is a file that is read \(-\)"):
            check_outputs(table, inputs=("-",), force=True)
    check_outputs(Path("new"), inputs=("t.csv", Path("absent"), "-", None))
    assert table.read_text() == "a\n1\n"


@pytest.mark.parametrize(
    "arguments",
    [
        "simplify in.csv --target y --export json -o {}",
        "simplify in.csv --target y --report {}",
        "simplify in.csv --target y --save-model {}",
        "simplify rows.csv --target y --model in.json --save-model {}",
        "report in.csv --target y -o {}",
        "report in.json -o {}",
        "report rules.json --data in.csv --target y -o {}",
        "export in.json -o {} --format sql",
        "diagnose in.csv --target y -o {}",
        "diagnose --model in.json -o {}",
    ],
)
def test_every_command_that_writes_rejects_to_write_over_what_it_reads(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    read = next(word for word in arguments.split() if word.startswith("in."))
    Path(read).write_text("neither a table nor rules: it is rejected before anything is read")
    other = "same" + (".csv" if "diagnose" in arguments else ".json" if "json" in arguments else ".html")
    os.link(read, other)
    ended = CliRunner().invoke(app, [*arguments.format(other).split(), "--force"])
    assert isinstance(ended.exception, InputError)
    assert (
        str(ended.exception) == f"{other} is a file that is read ({read}), so it is not written: name another output."
    )
