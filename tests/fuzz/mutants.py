"""Who tests the tests: change one thing in what proofs rest on, and see whether a test fails: ``make mutants N=200``.

A mutant is a copy of the package with one comparison, sign, number, truth value, `not`, `and`, `or` or statement
changed; messages, annotations and docstrings are left alone. Mutants are drawn by a seed and numbered. First the tests
of all rooms run on an unchanged copy of the tree, and ``reached-*.json`` keeps how long each takes and which functions
it reaches: what fails without a mutant would kill them all. Then each mutant meets the tests that reach the function
that it changes, the quickest first: those of a few seconds, rules of random trees against brute force, and others for
who is left, each until one fails. Nothing is compiled, so that no compiled code of another mutant is taken for its
own.

``mutants.json`` says of each survivor why no test can tell it, or that a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WHY = Path(__file__).with_name("mutants.json")
ROOMS = ("tree", "facts", "kernels", "methods", "rules", "words", "results", "verify")
TESTS = [*(f"tests/{room}" for room in ROOMS), "tests/counting", "tests/test_diagnosis.py"]
# What takes minutes uncompiled.
SLOW = " and ".join(f"not {word}" for word in ("thousand", "large", "compiled", "many", "scikit", "one_pass"))
TREES = 15  # whose rules are judged
FIRST = 5.0  # seconds that the tests of the first step take
MOST = 30.0  # of those of the last step, but for tests of the mutant's own room
PATIENCE = 4  # times as long as without the mutant, and 15 seconds: it counts as killed, for it does not end
MEMORY = 6 << 30
# What tests import beside secateur: loaded once, as each run is a fork. What pytest rewrites must not be among it.
LOADED = ("numpy", "pandas", "scipy.stats", "sklearn.tree", "sklearn.ensemble", "sklearn.datasets", "sklearn.pipeline")
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
SUMS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
# What changes no answer: messages, annotations, what is only for readers.
LEFT_ALONE = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.AnnAssign)


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def sites(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """List the nodes of a module that can be changed, and how."""
    if isinstance(tree, ast.keyword) and tree.arg == "strict":  # a guard of zip, which never bites
        return
    if isinstance(tree, LEFT_ALONE) or (isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.unparse(tree.test)):
        return
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in COMPARISONS:
        yield tree, "comparison"
    elif isinstance(tree, ast.BinOp) and type(tree.op) in SUMS:
        yield tree, "sign"
    elif isinstance(tree, ast.BoolOp):
        yield tree, "and/or"
    elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, (ast.Not, ast.Invert)):
        yield tree, "not"
    elif isinstance(tree, ast.Constant) and isinstance(tree.value, bool):
        yield tree, "truth"
    elif isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        yield tree, "number"
    elif isinstance(tree, (ast.AugAssign, ast.Continue, ast.Break)) or _is_call(tree):
        yield tree, "statement"
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from sites(child)


def change(node: Any, kind: str, rng: Random) -> None:
    """Change a node in place."""
    if kind == "comparison":
        node.ops = [COMPARISONS[type(node.ops[0])]()]
    elif kind == "sign":
        node.op = SUMS[type(node.op)]()
    elif kind == "and/or":
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif kind == "not":
        node.__class__, node.__dict__ = node.operand.__class__, node.operand.__dict__
    elif kind == "truth":
        node.value = not node.value
    elif kind == "number":
        node.value += rng.choice((1, -1))
    else:
        node.__class__, node.__dict__ = ast.Pass, {"lineno": node.lineno, "col_offset": node.col_offset}


def draw(count: int, seed: int) -> list[dict[str, Any]]:
    """Draw mutants: as many of each room as it has of all places."""
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / "src" / "secateur" / room).rglob("*.py")):
            parsed = ast.parse(path.read_text(encoding="utf-8"))
            name = path.relative_to(ROOT).as_posix()
            found += [{"file": name, "site": place, "kind": kind} for place, (_, kind) in enumerate(sites(parsed))]
    rng = Random(seed)
    rng.shuffle(found)
    return found[:count]


def write_mutant(mutant: dict[str, Any], place: Path) -> dict[str, Any]:
    """Write a mutant's file into a copy of the tree; tell the line before and after."""
    original = (ROOT / mutant["file"]).read_text(encoding="utf-8")
    parsed = ast.parse(original)
    node, kind = list(sites(parsed))[mutant["site"]]
    before = ast.unparse(copy.deepcopy(node))
    line = getattr(node, "lineno", 0)
    change(node, kind, Random(mutant["site"]))
    (place / mutant["file"]).write_text(ast.unparse(ast.fix_missing_locations(parsed)), encoding="utf-8")
    return {**mutant, "line": line, "before": before[:100], "after": ast.unparse(node)[:100]}


class Recorder:
    """Keeps how long each test takes, which functions it reaches, and which failed first."""

    def __init__(self, place: Path) -> None:
        self.start = str(place / "src") + os.sep
        self.reached: set[tuple[str, int]] = set()
        self.tests: dict[str, tuple[float, list[str]]] = {}
        self.failed: str | None = None

    def trace(self, frame: types.FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code.co_filename.startswith(self.start):
            self.reached.add((code.co_filename, code.co_firstlineno))

    def take(self) -> list[str]:
        taken = sorted(f"src/{name.removeprefix(self.start)}:{line}" for name, line in self.reached)
        self.reached.clear()
        return taken

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """What one test makes for others is reached by all."""
        own = self.reached
        if fixturedef.scope != "function":
            self.reached = set()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self.share()
                self.reached = own

    def share(self) -> None:
        seconds, shared = self.tests.get("", (0.0, []))
        self.tests[""] = seconds, sorted({*shared, *self.take()})

    def pytest_collection_finish(self) -> None:
        self.share()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        begun = time.process_time()
        try:
            return (yield)
        finally:
            self.tests[item.nodeid] = time.process_time() - begun, self.take()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid


def in_fork(place: Path, seconds: float, work: Callable[[], Any]) -> tuple[int, Any]:
    """Work in a fork that imports from a copy of the tree; give how it ended, and what the work gave."""
    told = place / "told.json"
    told.unlink(missing_ok=True)
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return status, json.loads(told.read_text(encoding="utf-8")) if told.exists() else None
    status = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        os.chdir(place)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("fuzz", "secateur")]:
            del sys.modules[name]
        sys.path[:0] = [str(place / part) for part in ("src", "tests", ".")]
        told.write_text(json.dumps(work()), encoding="utf-8")
        status = 0
    finally:
        os._exit(status)


def run_tests(place: Path, tests: list[str], *, traces: bool = False) -> dict[str, Any]:
    """Run tests until one fails; to be called in a fork."""
    recorder = Recorder(place)
    if traces:
        threading.settrace(recorder.trace)
        sys.settrace(recorder.trace)
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not long and not program", "-k", SLOW]
    options += ["-W", "ignore:overflow:RuntimeWarning"]  # sums of bits wrap, which only numpy tells of
    status = pytest.main([*options, *tests], plugins=[recorder])
    sys.settrace(None)
    if status and recorder.failed is None:
        recorder.failed = f"pytest ended with {status}"
    return {"failed": recorder.failed, "tests": recorder.tests}


def find_failure(place: Path, tests: list[str], seconds: float) -> str | None:
    """Run tests on a copy of the tree; tell which of them failed."""
    status, told = in_fork(place, 15 + PATIENCE * seconds, lambda: run_tests(place, tests))
    if told is None:
        return "it does not end" if status == -signal.SIGXCPU else f"the tests ended with {status}"
    failed: str | None = told["failed"]
    return failed


def judge_trees() -> None:
    from fuzz.rules_campaign import judge_some

    judge_some(TREES)


def find_reached(place: Path, kept: Path) -> dict[str, tuple[float, list[str]]]:
    """Find which functions each test reaches, once for the same sources and tests."""
    path = kept / f"reached-{digest('src', 'tests')}.json"
    if not path.exists():
        status, told = in_fork(place, 36_000, lambda: run_tests(place, TESTS, traces=True))
        if told is None or told["failed"]:
            sys.exit(f"{told['failed'] if told else status} fails without a mutant, and would kill them all.")
        path.write_text(json.dumps(told["tests"]), encoding="utf-8")
    reached: dict[str, tuple[float, list[str]]] = json.loads(path.read_text(encoding="utf-8"))
    return reached


def digest(*parts: str) -> str:
    """Name the Python files of some directories by what they hold."""
    files = sorted(path for part in parts for path in (ROOT / part).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def find_function(file: str, site: int) -> str | None:
    """Name the function in which a place of a module is, as what runs names it; None outside of all."""
    parsed = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    node = list(sites(parsed))[site][0]
    found = None
    for one in ast.walk(parsed):  # outer ones come first
        if isinstance(one, ast.FunctionDef) and any(part is node for body in one.body for part in ast.walk(body)):
            found = f"{file}:{min([one.lineno, *(decorator.lineno for decorator in one.decorator_list)])}"
    return found


def choose_tests(mutant: dict[str, Any], reached: dict[str, tuple[float, list[str]]]) -> list[str]:
    """List the tests that reach what a mutant changes, the quickest first."""
    function = find_function(mutant["file"], mutant["site"])
    tests = {name: told for name, told in reached.items() if name}
    chosen = [name for name, told in tests.items() if function in told[1]]
    if not chosen and (function is None or function in reached[""][1]):  # tests share what it makes
        start, own = f"{mutant['file']}:", f"tests/{mutant['file'].split('/')[2]}/"
        is_near = {name: any(one.startswith(start) for one in told[1]) for name, told in tests.items()}
        chosen = [name for name in tests if is_near[name] or name.startswith(own)]
    return sorted(chosen, key=lambda name: tests[name][0])


def try_mutant(
    mutant: dict[str, Any], place: Path, reached: dict[str, tuple[float, list[str]]], named: list[str] | None
) -> dict[str, Any]:
    """Run the tests that reach what a mutant changes, or those that are named; tell which of them killed it."""
    told = write_mutant(mutant, place)
    told["killed_by"] = find_failure(place, named, 600) if named else find_killer(mutant, place, reached)
    shutil.copy(ROOT / mutant["file"], place / mutant["file"])
    return told


def find_killer(mutant: dict[str, Any], place: Path, reached: dict[str, tuple[float, list[str]]]) -> str | None:
    """Run the quick tests, then brute force, then the others; tell what failed."""
    tests = choose_tests(mutant, reached)
    seconds, first = 0.0, 0
    while first < len(tests) and seconds < FIRST:
        seconds += reached[tests[first]][0]
        first += 1
    if first and (failed := find_failure(place, tests[:first], seconds)):
        return failed
    if in_fork(place, 120, judge_trees)[0]:
        return "brute force"
    # Half of the tests reach what every rule needs: those of its own room run whole, others as long as they may.
    own = f"tests/{mutant['file'].split('/')[2]}/"
    rest = sorted(tests[first:], key=lambda name: (not name.startswith(own), reached[name][0]))
    run, seconds = [], 0.0
    for name in rest:
        if name.startswith(own) or seconds < MOST:
            run.append(name)
            seconds += reached[name][0]
    return find_failure(place, run, seconds) if run else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--place", type=Path, default=Path("mutant-runs"), help="where the log is; a run goes on there")
    parser.add_argument("--again", action="store_true", help="only try survivors once more that have no explanation")
    parser.add_argument("--tests", nargs="*", help="with --again: the tests to run, instead of all of the room")
    parser.add_argument("--store", type=Path, help="only write the sums of the log to this file")
    asked = parser.parse_args()
    asked.place.mkdir(parents=True, exist_ok=True)
    log = asked.place / f"seed-{asked.seed}.jsonl"
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if asked.store is not None:
        asked.store.write_text(json.dumps(sum_up(done, asked.seed), indent=1) + "\n", encoding="utf-8")
        return
    source = digest(*(f"src/secateur/{room}" for room in ROOMS))
    if any(told.get("source") != source for told in done):
        sys.exit(f"The mutants in {log} are of other sources, whose places have moved: name another --place.")
    os.environ |= {"HYPOTHESIS_PROFILE": "quick", "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in LOADED:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as created:
        place = Path(created)
        for part in ("src", "tests", "benchmarks", "pyproject.toml", "docs"):
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, place / part)  # type: ignore[operator]
        reached = {} if asked.again and asked.tests else find_reached(place, asked.place)
        if asked.again:
            explained = json.loads(WHY.read_text(encoding="utf-8"))
            for told in done:
                if told["killed_by"] is None and name_of(told) not in explained:
                    again = try_mutant(told, place, reached, asked.tests)
                    print(f"{name_of(told)}: now {again['killed_by']}", flush=True)
                    told["killed_by"] = again["killed_by"] and f"{again['killed_by']}, added for it"
            log.write_text("".join(json.dumps(told) + "\n" for told in done), encoding="utf-8")
            return
        for mutant in draw(asked.count, asked.seed)[len(done) :]:
            told = {**try_mutant(mutant, place, reached, None), "source": source}
            verdict = f"killed by {told['killed_by']}" if told["killed_by"] else "SURVIVES"
            print(f"{told['file']}:{told['line']} {told['before']} -> {told['after']}: {verdict}", flush=True)
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(told) + "\n")


def name_of(told: dict[str, Any]) -> str:
    """How a survivor is named where it is explained."""
    return f"{told['file'].removeprefix('src/secateur/')}:{told['line']} {told['before']} -> {told['after']}"


def sum_up(done: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    """Count the mutants by room, and list the survivors with why they survive."""
    why = json.loads(WHY.read_text(encoding="utf-8")) if WHY.exists() else {}
    rooms: dict[str, dict[str, int]] = {}
    for told in done:
        counts = rooms.setdefault(told["file"].split("/")[2], {"mutants": 0, "killed": 0, "cannot change an answer": 0})
        counts["mutants"] += 1
        counts["killed"] += told["killed_by"] is not None
        is_same = told["killed_by"] is None and why.get(name_of(told), {}).get("changes_an_answer") is False
        counts["cannot change an answer"] += is_same
    survivors = {
        name_of(told): why.get(name_of(told), {}).get("why", "not looked at yet")
        for told in done
        if told["killed_by"] is None
    }
    added = sum("added for it" in (told["killed_by"] or "") for told in done)
    return {
        "version": version("secateur"),
        "seed": seed,
        "mutants": len(done),
        "killed_by_added_tests": added,
        "rooms": dict(sorted(rooms.items())),
        "survivors": survivors,
    }


if __name__ == "__main__":
    main()
