from __future__ import annotations

import os
from pathlib import Path

import pytest

from secateur import InputError
from secateur.cli.outputs import check_outputs, write_files


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
            raise IsADirectoryError(21, "Is a directory")
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


def test_half_of_a_character_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"b: its text holds '\\ud800', half of a character"):
        write_files({tmp_path / "a": "a", tmp_path / "b": "x\ud800"})
    assert not list(tmp_path.iterdir())


def test_two_names_of_one_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "t")
    with pytest.raises(InputError, match="Two outputs would go to"):
        check_outputs(tmp_path / "t", tmp_path / "link")
    assert [entry.name for entry in tmp_path.iterdir()] == ["link"]


def test_outputs_that_cannot_be_written_are_refused_before_the_work(tmp_path: Path) -> None:
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
