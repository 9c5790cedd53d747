from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from secateur.errors import InputError
from secateur.rows.whole_files import stage_file, write_whole


def test_a_file_is_replaced_whole_and_has_ordinary_permissions(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.txt"
    write_whole(path, "one")
    write_whole(path, b"two")
    assert path.read_text() == "two"
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert [entry.name for entry in path.parent.iterdir()] == ["t.txt"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("old")
    path.chmod(0o600)
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_staged_file_appears_at_the_end_only(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with stage_file(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    with pytest.raises(InputError, match="exists already"), stage_file(path):
        pass
    with pytest.raises(ZeroDivisionError), stage_file(tmp_path / "other") as temporary:
        temporary.write_text(str(1 / 0))
    assert [entry.name for entry in tmp_path.iterdir()] == ["t"]
