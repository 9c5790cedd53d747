"""Kill writing commands, and look at what the next run finds: all outputs old or all new, and nothing left over.

``python tests/writing/kills.py --kills 2000 --log kills.jsonl --summary docs/reliability_kills.json``

Half of the kills come at a random moment, half before a random system call below the place that is written to, so that
every moment between two moves of files is met. What is drawn for a kill depends on the seed and its number only. Each
is a line of the log; a run that was stopped goes on after the last line.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from writing.fork_server import KILL, Server, compile_faults
from writing.scenarios import NEXT, Scenario, make_scenarios


def kill_once(
    server: Server, scenario: Scenario, place: Path, usual: tuple[float, int], number: int, seed: int
) -> dict[str, Any]:
    """Start a command, kill it, start the next one, and tell what was found."""
    drawn = random.Random(f"{seed} {number}")
    seconds, n_calls = usual
    at_call = number % 2 == 0
    how: dict[str, Any] = (
        {"nth": drawn.randint(1, n_calls), "fault": KILL} if at_call else {"kill_after": drawn.uniform(0, seconds)}
    )
    scenario.prepare(place)
    ended = server.ask(scenario.arguments, place=place, **how)
    found = scenario.judge(place)
    left = scenario.list_leftovers(place)
    for written in {(place / output).parent for output in scenario.outputs}:
        after = server.ask(NEXT, place=written)
        assert after.status == 0, after.said
        (written / "n").unlink()
    return {
        "number": number,
        "scenario": scenario.name,
        **({"call": how["nth"]} if at_call else {"seconds": round(how["kill_after"], 4)}),
        "status": ended.status,
        "found": found,
        "left": len(left),
        "then": scenario.judge(place),
        "then_left": scenario.list_leftovers(place),
    }


def measure(server: Server, scenario: Scenario, place: Path) -> tuple[float, int]:
    """Run a command undisturbed: how long it takes, and how many calls it makes."""
    for _ in range(2):
        scenario.prepare(place)
        begin = time.monotonic()
        ended = server.ask(scenario.arguments, place=place)
        seconds = time.monotonic() - begin
        assert ended.status == 0, ended.said
    scenario.learn(place)
    assert scenario.judge(place) == "new"
    return seconds, len(ended.calls)


def sum_up(log: Path, seed: int) -> dict[str, Any]:
    """Count what the log tells."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    killed = [line for line in lines if line["status"] == -9]
    return {
        "version": version("secateur"),
        "command": "python tests/writing/kills.py",
        "seed": seed,
        "runs": len(lines),
        "killed": len(killed),
        "ended_before_the_signal": len(lines) - len(killed),
        "killed_by_scenario": dict(Counter(line["scenario"] for line in killed)),
        "killed_before_a_system_call": sum("call" in line for line in killed),
        "killed_at_a_random_moment": sum("seconds" in line for line in killed),
        "found_right_after_the_kill": dict(Counter(line["found"] for line in killed)),
        "runs_that_left_files_behind": sum(line["left"] > 0 for line in killed),
        "found_after_the_next_run": dict(Counter(line["then"] for line in killed)),
        "mixed_or_damaged_after_the_next_run": sum(line["then"] not in ("old", "new") for line in lines),
        "leftovers_after_the_next_run": sum(bool(line["then_left"]) for line in lines),
    }


def main() -> int:
    """Kill until there are as many kills as asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--log", type=Path, default=Path("kills.jsonl"))
    parser.add_argument("--summary", type=Path)
    asked = parser.parse_args()
    asked.log.touch()
    done = [json.loads(line) for line in asked.log.read_text().splitlines()]
    number, n_killed = len(done), sum(line["status"] == -9 for line in done)
    with tempfile.TemporaryDirectory() as room, asked.log.open("a") as log:
        place = Path(room) / "out"
        scenarios = list(make_scenarios(Path(room) / "in").values())
        server = Server(preload=compile_faults(Path(room)))
        server.warm([scenarios[0].arguments, scenarios[3].arguments])
        usual = {scenario.name: measure(server, scenario, place) for scenario in scenarios}
        while n_killed < asked.kills:
            scenario = scenarios[number // 2 % len(scenarios)]
            line = kill_once(server, scenario, place, usual[scenario.name], number, asked.seed)
            log.write(json.dumps(line) + "\n")
            log.flush()
            number += 1
            n_killed += line["status"] == -9
        server.close()
    summary = sum_up(asked.log, asked.seed)
    text = json.dumps(summary, indent=1)
    print(text)
    if asked.summary is not None:
        asked.summary.write_text(text + "\n")
    return 1 if summary["mixed_or_damaged_after_the_next_run"] or summary["leftovers_after_the_next_run"] else 0


if __name__ == "__main__":
    sys.exit(main())
