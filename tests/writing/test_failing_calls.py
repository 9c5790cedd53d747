"""Every command that writes, with the Nth of its system calls failing, or killing it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from writing.fork_server import KILL, TERM, Server, compile_faults
from writing.scenarios import NEXT, Scenario, make_scenarios

NAMES = [
    "simplify",
    "simplify-new",
    "simplify-apart",
    "export",
    "report",
    "diagnose",
    "predictions",
    "files",
    "files-new",
]
CALLS: dict[str, str] = {}  # of each scenario, a letter for each
QUICK = ["files", "files-new"]  # of which more calls are tried, unless --every-call asks for all of all
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    preload = compile_faults(tmp_path_factory.mktemp("faults"))
    if preload is None:
        pytest.skip("needs Linux and a C compiler")
    made = Server(preload=preload)
    yield made
    made.close()


@pytest.fixture(scope="module")
def scenarios(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scenario]:
    made = make_scenarios(tmp_path_factory.mktemp("inputs"))
    server.warm([made["simplify"].arguments, made["export"].arguments])
    return made


def run_clean(server: Server, scenario: Scenario, place: Path) -> str:
    """Run a scenario that nothing disturbs, once for all tests, and list its calls."""
    if not scenario.expected:
        scenario.prepare(place)
        ended = server.ask(scenario.arguments, place=place)
        assert ended.status == 0, ended.said
        assert scenario.list_leftovers(place) == []
        scenario.learn(place)
        assert scenario.judge(place) == "new"
        CALLS[scenario.name] = ended.calls
    return CALLS[scenario.name]


def choose_calls(scenario: Scenario, calls: str, request: pytest.FixtureRequest) -> list[int]:
    """Choose which calls fail, counted from 1: all, or of slow commands a write, a move, a sync and a deletion."""
    if request.config.getoption("--every-call"):
        return list(range(1, len(calls) + 1))
    moves = _find(calls, "rl")
    if scenario.name in QUICK:
        return sorted({*range(1, len(calls) + 1, 5), *(move + 1 for move in moves), *(move + 2 for move in moves)})
    return [calls.index("w") + 1, moves[-1] + 1, calls.index("s", moves[-1]) + 1, calls.rindex("u") + 1]


def _find(calls: str, kinds: str) -> list[int]:
    return [place for place, kind in enumerate(calls) if kind in kinds]


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_call_leaves_all_or_nothing_and_one_sentence(
    name: str, server: Server, scenarios: dict[str, Scenario], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    scenario, place = scenarios[name], tmp_path / "out"
    calls = run_clean(server, scenario, place)
    assert set("owsr" if scenario.replaces else "owsl") <= set(calls)
    for nth in choose_calls(scenario, calls, request):
        fault = (errno.ENOSPC, errno.EIO)[nth % 2]
        scenario.prepare(place)
        ended = server.ask(scenario.arguments, place=place, nth=nth, fault=fault)
        told = f"call {nth} of {calls}: status {ended.status}, {ended.said!r}"
        assert scenario.judge(place) in ("old", "new"), told
        if ended.status == 0:
            assert scenario.judge(place) == "new", told
        else:
            assert ended.status == 2, told
            assert scenario.judge(place) == "old", told
            lines = ended.said.splitlines()
            assert len(lines) == 1, told
            assert lines[0].startswith("Error: "), told
            assert "Cannot write" in lines[0], told
        if calls[nth - 1] not in "ud":  # what could not be deleted is there until the next run
            assert scenario.list_leftovers(place) == [], told


@pytest.mark.parametrize("name", NAMES)
def test_after_a_kill_the_next_run_finds_all_or_nothing(
    name: str, server: Server, scenarios: dict[str, Scenario], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    scenario, place = scenarios[name], tmp_path / "out"
    calls = run_clean(server, scenario, place)
    for nth in choose_calls(scenario, calls, request):
        scenario.prepare(place)
        assert server.ask(scenario.arguments, place=place, nth=nth, fault=KILL).status == -9
        told = f"killed before call {nth} of {calls}"
        for written in {(place / output).parent for output in scenario.outputs}:
            assert server.ask(NEXT, place=written).status == 0
            (written / "n").unlink()
        assert scenario.judge(place) in ("old", "new"), told
        assert scenario.list_leftovers(place) == [], told


@pytest.mark.parametrize("name", ["simplify", "simplify-apart", "report", "diagnose"])
def test_sigterm_ends_a_command_as_ctrl_c_does(
    name: str, server: Server, scenarios: dict[str, Scenario], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    scenario, place = scenarios[name], tmp_path / "out"
    calls = run_clean(server, scenario, place)
    for nth in choose_calls(scenario, calls, request):
        scenario.prepare(place)
        ended = server.ask(scenario.arguments, place=place, nth=nth, fault=TERM)
        told = f"ended before call {nth} of {calls}: {ended.said!r}"
        assert (ended.status, ended.said) == (143, "Stopped by a signal (SIGTERM).\n"), told
        assert scenario.judge(place) in ("old", "new"), told
        assert scenario.list_leftovers(place) == [], told


def test_what_a_broken_disk_left_mixed_is_put_right_by_the_next_run(
    server: Server, scenarios: dict[str, Scenario], tmp_path: Path
) -> None:
    """All calls fail from the second move on, those that would take the first one back too."""
    scenario, place = scenarios["files"], tmp_path / "out"
    calls = run_clean(server, scenario, place)
    second = _find(calls, "r")[2] + 1  # the first is the journal's
    scenario.prepare(place)
    ended = server.ask(scenario.arguments, place=place, nth=second, fault=errno.EIO, lasting=True)
    assert scenario.judge(place) == "mixed"
    assert ended.status == 2
    assert "may be new and others old (Input/output error): the next command that writes there" in ended.said
    assert server.ask(NEXT, place=place / "b").status == 0
    assert scenario.judge(place) == "old"
    (place / "b" / "n").unlink()
    assert scenario.list_leftovers(place) == []
