"""Two runs in one place, and what a dead one left: ours is cleaned, everything else stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from secateur.errors import InputError
from secateur.rows import whole_files
from secateur.rows.whole_files import stage_file, stage_files, write_whole

DIE = """
import os, sys
from pathlib import Path
from secateur.rows import whole_files
moved = []
def move(source, target, really=os.replace):
    if target.suffix == ".txt" and moved:
        os.kill(os.getpid(), 9)
    really(source, target)
    moved.append(target) if target.suffix == ".txt" else None
os.replace = move
with whole_files.stage_files([Path(name) for name in sys.argv[1:]], replace=True) as staged:
    for path in staged:
        path.write_text("new")
"""


def die_between_two_moves(*paths: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", DIE, *map(str, paths)], check=False)
    assert ended.returncode == -9


def test_what_a_killed_run_moved_is_taken_back_by_the_next_one(tmp_path: Path) -> None:
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text("before")
    die_between_two_moves(new, old)
    assert new.read_text() == "new"  # and old.txt is still old
    write_whole(tmp_path / "other", "x")
    assert old.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["old.txt", "other"]


def test_a_run_in_another_directory_of_the_dead_one_puts_all_of_it_right(tmp_path: Path) -> None:
    paths = [tmp_path / name / "t.txt" for name in "abc"]
    for path in paths:
        path.parent.mkdir()
        path.write_text("before")
    die_between_two_moves(*paths)
    assert [path.read_text() for path in paths] == ["new", "before", "before"]
    write_whole(paths[2].with_name("other"), "x")
    assert [path.read_text() for path in paths] == ["before"] * 3
    assert not list(tmp_path.rglob(".secateur-*"))


def test_a_file_that_somebody_wrote_after_the_kill_stays(tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    die_between_two_moves(first, second)
    first.write_text("by hand, and longer")
    write_whole(tmp_path / "other", "x")
    assert first.read_text() == "by hand, and longer"
    assert sorted(os.listdir(tmp_path)) == ["first.txt", "other"]


def test_a_live_run_is_left_alone(tmp_path: Path) -> None:
    with stage_file(tmp_path / "slow") as staged:
        staged.write_text("slow")
        write_whole(tmp_path / "fast", "fast")
        assert staged.read_text() == "slow"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"slow": "slow", "fast": "fast"}


def test_nothing_is_deleted_that_is_not_ours(tmp_path: Path) -> None:
    lock = json.dumps([whole_files.MARK, whole_files._find_machine(), str(tmp_path)])
    strange = {
        ".secateur-0123456789abcdef/notes.txt": "mine",  # no lock
        ".secateur-1123456789abcdef/lock": "not ours",
        ".secateur-2123456789abcdef/lock": json.dumps(["another mark", whole_files._find_machine(), str(tmp_path)]),
        ".secateur-3123456789abcdef/lock": json.dumps([whole_files.MARK, ["another machine", "boot"], str(tmp_path)]),
        ".secateur-4123456789abcdef/keep": "beside a lock",
        ".secateur-notes": "a file",
        ".secateur-5123456789abcdef": "a file",
        ".secateur.0123456789abcdef": "a file of before",
    }
    for name, content in strange.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / ".secateur-4123456789abcdef" / "lock").write_text(lock)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "lock").write_text(lock)
    (tmp_path / ".secateur-6123456789abcdef").symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".secateur-7123456789abcdef").mkdir()  # ours: killed before it wrote
    write_whole(tmp_path / "t", "x")
    assert {name: (tmp_path / name).read_text() for name in strange} == strange
    assert (tmp_path / "elsewhere" / "lock").read_text() == lock
    assert not (tmp_path / ".secateur-7123456789abcdef").exists()


def test_of_eight_threads_and_eight_processes_one_creates_a_file(tmp_path: Path) -> None:
    start = threading.Barrier(8)

    def create(number: int) -> bool:
        start.wait()
        try:
            with stage_file(tmp_path / "t") as staged:
                staged.write_text(f"thread {number}")
        except InputError as error:
            assert "exists already" in str(error)  # noqa: PT017 - the winner raises nothing
            return False
        return True

    with ThreadPoolExecutor(8) as workers:
        won = list(workers.map(create, range(8)))
    assert won.count(True) == 1
    assert (tmp_path / "t").read_text() == f"thread {won.index(True)}"
    code = "import sys; from pathlib import Path; from secateur.rows.whole_files import stage_file; sys.stdin.read()\n"
    code += "with stage_file(Path(sys.argv[1])) as staged: staged.write_text('x')"
    with ExitStack() as stack:
        command = [sys.executable, "-c", code, str(tmp_path / "p")]
        pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        runs = [stack.enter_context(subprocess.Popen(command, **pipes)) for _ in range(8)]  # type: ignore[call-overload]
        for run in runs:
            run.stdin.close()
        assert sorted(run.wait() for run in runs) == [0] + [1] * 7
    assert sorted(os.listdir(tmp_path)) == ["p", "t"]


def test_files_that_are_replaced_together_by_many_threads_are_of_one_of_them(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]

    def replace(number: int) -> None:
        with stage_files(paths, replace=True) as staged:
            for path in staged:
                path.write_text(str(number))

    with ThreadPoolExecutor(8) as workers:
        for _ in range(5):
            list(workers.map(replace, range(8)))
            assert len({path.read_text() for path in paths}) == 1
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]


def test_without_locks_files_are_written_and_nothing_is_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_between_two_moves(tmp_path / "a.txt", tmp_path / "b.txt")
    left = next(tmp_path.glob(".secateur-*"))
    monkeypatch.setattr(whole_files, "fcntl", None)
    write_whole(tmp_path / "t", "x")
    assert (tmp_path / "t").read_text() == "x"
    assert left.exists()
    monkeypatch.undo()
    write_whole(tmp_path / "t", "y")
    assert os.listdir(tmp_path) == ["t"]


def test_a_file_system_without_second_names_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", reject)
    paths = [tmp_path / "a", tmp_path / "b"]
    for replace, text in ((False, "one"), (True, "two")):
        with stage_files(paths, replace=replace) as staged:
            for path in staged:
                path.write_text(text)
        assert [path.read_text() for path in paths] == [text, text]
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_planted_journal_deletes_nothing_elsewhere(tmp_path: Path) -> None:
    """A staging directory that came with somebody's archive names files that never waited in one."""
    victim, planted = tmp_path / "victim", tmp_path / "work" / ".secateur-0123456789abcdef"
    victim.mkdir()
    planted.mkdir(parents=True)
    for name in ("lock", "journal", "0.old"):
        (victim / name).write_text("mine")
    (planted / "lock").write_text(json.dumps([whole_files.MARK, whole_files._find_machine(), str(planted.parent)]))
    moves = [[str(victim / "0.new"), str(victim / "0.old"), str(victim / "target"), [1, 2, 3]]]
    (planted / "journal").write_text(json.dumps(moves))
    write_whole(planted.parent / "t", "x")
    assert sorted(os.listdir(victim)) == ["0.old", "journal", "lock"]
