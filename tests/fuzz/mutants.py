"""Who tests the tests: change one thing in what proofs rest on, and see whether a test fails: ``make mutants N=200``.

A mutant is the package with one comparison, sign, number, truth value, `not`, `and`, `or` or statement changed;
messages, annotations and docstrings are left alone. Mutants are drawn by a seed and numbered. First the tests of all
rooms run on an unchanged copy of the tree, and ``reached-*.json`` keeps how long each takes and which functions it
reaches: what fails without a mutant would kill them all. Then one process collects the tests, and each mutant is put
into a fork of it; what runs when a module is imported is tried in a process of its own. A mutant meets the tests that
reach the function that it changes, the quickest first: those of a few seconds, rules of random trees against brute
force, and others for who is left, each until one fails. A test that fails alone without a mutant kills none. Nothing is
compiled, so that no compiled code of another mutant is taken for its own.

``mutants.json`` says of each survivor why no test can tell it, or that a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import functools
import gc
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
import traceback
import types
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from importlib.metadata import version
from itertools import zip_longest
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
WAIT = 1200.0  # seconds after which a mutant does not end either
AT_A_TIME = 2
MEMORY = 6 << 30
# What tests import beside secateur: loaded once, as each run is a fork. What pytest rewrites must not be among it.
LOADED = ("numpy", "pandas", "scipy.stats", "sklearn.tree", "sklearn.ensemble", "sklearn.datasets", "sklearn.pipeline")
CACHE = type(functools.cache(len))
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


class Recorder:
    """Keeps how long each test takes, which functions it reaches, and which failed first."""

    def __init__(self, place: Path) -> None:
        self.start = str(place / "src") + os.sep
        self.reached: set[tuple[str, int]] = set()
        self.made: dict[tuple[str, str], list[str]] = {}  # what fixtures of several tests reach
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
        """What one test makes for others is reached by all that ask for it."""
        if fixturedef.scope == "function":
            return (yield)
        own, self.reached = self.reached, set()
        try:
            return (yield)
        finally:
            key = fixturedef.baseid, fixturedef.argname
            self.made[key] = sorted({*self.made.get(key, ()), *self.take()})
            self.reached = own

    def pytest_collection_finish(self) -> None:
        self.tests[""] = 0.0, self.take()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        begun = time.process_time()
        try:
            return (yield)
        finally:
            asked = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
            keys = [(one.baseid, one.argname) for several in asked.values() for one in several]
            of_fixtures = (self.made.get(key, ()) for key in keys)
            self.tests[item.nodeid] = time.process_time() - begun, sorted({*self.take()}.union(*of_fixtures))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid


class Collected:
    """Calls work instead of running the tests that were collected."""

    def __init__(self, work: Callable[[pytest.Session], None]) -> None:
        self.work = work

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.work(session)
        return True


def start_fork(work: Callable[[], Any], told: Path, *, speaks: bool = False) -> int:
    """Work in a fork, which writes what the work gave; give its process id."""
    told.unlink(missing_ok=True)
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in () if speaks else range(3):
            os.dup2(nothing, descriptor)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        told.write_text(json.dumps(work()), encoding="utf-8")
        status = 0
    except BaseException:
        told.with_suffix(".txt").write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(status)


def end_fork(child: int, told: Path, begun: float) -> tuple[int, Any] | None:
    """Tell how a fork ended and what its work gave; None while it works."""
    if time.monotonic() - begun > WAIT:
        os.killpg(child, signal.SIGKILL)
    ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        return None
    with contextlib.suppress(ProcessLookupError):  # what its tests started and left
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status), json.loads(told.read_text(encoding="utf-8")) if told.exists() else None


def in_fork(work: Callable[[], Any], told: Path) -> tuple[int, Any]:
    """Work in a fork, and wait for it."""
    child = start_fork(work, told)
    while (ended := end_fork(child, told, time.monotonic())) is None:
        time.sleep(0.05)
    return ended


def collect(place: Path, tests: list[str], work: Callable[[pytest.Session], None], *plugins: object) -> None:
    """Collect tests of a copy of the tree and call work; to be called in a fork."""
    os.chdir(place)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("fuzz", "secateur")]:
        del sys.modules[name]
    sys.path[:0] = [str(place / part) for part in ("src", "tests", ".")]
    options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["-m", "not long and not program", "-k", SLOW] if tests is TESTS else ["-m", "not program"]
    options += ["-W", "ignore:overflow:RuntimeWarning"]  # sums of bits wrap, which only numpy tells of
    pytest.main([*options, *tests], plugins=[Collected(work), *plugins])


def run_items(items: list[pytest.Item], seconds: dict[str, float], recorder: Recorder) -> str | None:
    """Run tests until one fails, and tell which; who takes many times as long as without the mutant is ended."""
    for item, following in zip_longest(items, items[1:]):
        may_take = 15 + PATIENCE * seconds.get(item.nodeid, 60.0)
        end = int(time.process_time() + may_take)
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if recorder.failed:
            break
    return recorder.failed


def find_reached(place: Path, kept: Path) -> dict[str, tuple[float, list[str]]]:
    """Find which functions each test reaches, once for the same sources and tests."""
    path = kept / f"reached-{digest('src', 'tests')}.json"

    def trace_all() -> dict[str, Any]:
        recorder = Recorder(place)

        def run_all(session: pytest.Session) -> None:
            run_items(session.items, {one.nodeid: 1e6 for one in session.items}, recorder)

        threading.settrace(recorder.trace)
        sys.settrace(recorder.trace)
        collect(place, TESTS, run_all, recorder)
        sys.settrace(None)
        return {"failed": recorder.failed, "tests": recorder.tests}

    if not path.exists():
        status, told = in_fork(trace_all, place / "told.json")
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
    chosen = {name for name, told in tests.items() if function in told[1]}
    if function is None or function in reached[""][1]:  # tests share what it makes
        start, own = f"{mutant['file']}:", f"tests/{mutant['file'].split('/')[2]}/"
        is_near = {name: any(one.startswith(start) for one in told[1]) for name, told in tests.items()}
        chosen |= {name for name in tests if is_near[name] or name.startswith(own)}
    return sorted(chosen, key=lambda name: tests[name][0])


def list_code(code: types.CodeType) -> Iterator[types.CodeType]:
    """List the code of a module and of all its functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from list_code(constant)


def put_in(mutant: dict[str, Any], place: Path) -> bool:
    """Let the functions of this process, and what it imports later, be those of a mutant; False if one cannot be."""
    path = place / mutant["file"]
    changed = compile(mutant["parsed"], str(path), "exec", dont_inherit=True)
    read = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> types.CodeType | None:
        return changed if self.path == str(path) else read(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
    codes: dict[tuple[int, str], types.CodeType | None] = {}
    for code in list_code(changed):
        key = code.co_firstlineno, code.co_qualname
        codes[key] = None if key in codes else code  # None: two of one name, as lambdas in one line
    gc.unfreeze()
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType) and one.__code__.co_filename == str(path):
            code = codes.get((one.__code__.co_firstlineno, one.__code__.co_qualname))
            if code is None or code.co_freevars != one.__code__.co_freevars:
                return False
            one.__code__ = code
        elif isinstance(one, CACHE):
            code = getattr(one.__wrapped__, "__code__", None)
            if (
                code and code.co_filename.startswith(str(place)) and code.co_name != "_compile"
            ):  # its modules are changed
                one.cache_clear()  # what was kept while tests were collected
    return True


def make_mutant(mutant: dict[str, Any]) -> dict[str, Any]:
    """Change the syntax tree of a mutant's module; tell the line before and after."""
    parsed = ast.parse((ROOT / mutant["file"]).read_text(encoding="utf-8"))
    node, kind = list(sites(parsed))[mutant["site"]]
    before = ast.unparse(copy.deepcopy(node))
    line = getattr(node, "lineno", 0)
    change(node, kind, Random(mutant["site"]))
    told = {"line": line, "before": before[:100], "after": ast.unparse(node)[:100]}
    return {**mutant, **told, "parsed": ast.fix_missing_locations(parsed)}


class Judge:
    """Tries mutants on the tests that reach what they change."""

    def __init__(self, place: Path, reached: dict[str, tuple[float, list[str]]], named: list[str] | None) -> None:
        self.place, self.reached, self.named = place, reached, named
        self.seconds = {name: told[0] for name, told in reached.items()}
        self.recorder = Recorder(place)
        self.unsound: set[str] = set()  # tests that fail alone without a mutant
        self.sound: set[str] = set()

    def try_all(self, mutants: list[dict[str, Any]], log: Callable[[dict[str, Any], str | None], None]) -> None:
        """Try mutants in forks of one process that has collected the tests; the others each in a new process."""
        inside = [one for one in mutants if find_function(one["file"], one["site"]) is not None]
        alone = [one for one in mutants if one not in inside]
        kept = self.place / "alone.json"

        def try_inside(session: pytest.Session) -> None:
            items = {item.nodeid: item for item in session.items}
            kept.write_text(json.dumps([mutants.index(one) for one in self.try_in_forks(inside, items, log)]))

        child = start_fork(
            lambda: collect(self.place, self.named or TESTS, try_inside, self.recorder),
            self.place / "collector.json",
            speaks=True,
        )
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if ended:
            sys.exit(f"The process that collects the tests ended with {ended}.")
        for mutant in [*alone, *(mutants[place] for place in json.loads(kept.read_text()))]:
            made = make_mutant(mutant)

            def work(made: dict[str, Any] = made) -> str | None:
                put_in(made, self.place)
                found: list[str | None] = []
                collect(
                    *(self.place, self.named or TESTS),
                    lambda session: found.append(self.find_killer(made, {one.nodeid: one for one in session.items})),
                    self.recorder,
                )
                return found[0] if found else self.recorder.failed or "the tests cannot be collected"

            log(made, tell_end(*in_fork(work, self.place / "told.json")))

    def try_in_forks(
        self,
        mutants: list[dict[str, Any]],
        items: dict[str, pytest.Item],
        log: Callable[[dict[str, Any], str | None], None],
    ) -> list[dict[str, Any]]:
        """Try mutants, several at a time; give those that cannot be put into a process that imported the package."""
        importlib.import_module("fuzz.rules_campaign")
        told = [self.place / f"told-{place}.json" for place in range(AT_A_TIME)]
        todo, running, left = mutants[::-1], {}, []
        while todo or running:
            for place in range(AT_A_TIME):
                if todo and place not in running:
                    mutant = todo.pop()
                    made = make_mutant(mutant)

                    def work(made: dict[str, Any] = made) -> str | None:
                        return self.find_killer(made, items) if put_in(made, self.place) else ELSEWHERE

                    running[place] = mutant, made, start_fork(work, told[place]), time.monotonic()
            time.sleep(0.02)
            for place, (mutant, made, child, begun) in list(running.items()):
                ended = end_fork(child, told[place], begun)
                if ended is None:
                    continue
                del running[place]
                killer = tell_end(*ended)
                if killer == ELSEWHERE or (killer is None and find_function(**where(mutant)) in self.reached[""][1]):
                    left.append(mutant)
                elif killer in items and not self.is_sound(items[killer]):
                    todo.append(mutant)
                else:
                    log(made, killer)
        return left

    def is_sound(self, item: pytest.Item) -> bool:
        """Whether a test passes without a mutant when it runs alone."""
        name = item.nodeid
        if name not in self.sound:
            failed = in_fork(lambda: run_items([item], {}, self.recorder), self.place / "sound.json")
            (self.unsound if failed != (0, None) else self.sound).add(name)
        return name in self.sound

    def find_killer(self, mutant: dict[str, Any], items: dict[str, pytest.Item]) -> str | None:
        """Run the quick tests, then brute force, then the others; tell what failed."""
        if self.named:
            return run_items(list(items.values()), self.seconds, self.recorder)
        tests = [name for name in choose_tests(mutant, self.reached) if name in items and name not in self.unsound]
        seconds, first = 0.0, 0
        while first < len(tests) and seconds < FIRST:
            seconds += self.seconds[tests[first]]
            first += 1
        if failed := self.run_named(tests[:first], items):
            return failed
        from fuzz.rules_campaign import judge_some

        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 120, resource.RLIM_INFINITY))
        try:
            judge_some(TREES)
        except Exception:
            return "brute force"
        # Half of the tests reach what every rule needs: those of its own room run whole, others as long as they may.
        own = f"tests/{mutant['file'].split('/')[2]}/"
        run, seconds = [], 0.0
        for name in sorted(tests[first:], key=lambda name: (not name.startswith(own), self.seconds[name])):
            if name.startswith(own) or seconds < MOST:
                run.append(name)
                seconds += self.seconds[name]
        return self.run_named(run, items)

    def run_named(self, names: list[str], items: dict[str, pytest.Item]) -> str | None:
        """Run tests file by file, as their modules keep what several share."""
        order = {name: place for place, name in enumerate(items)}
        files = {name.partition("::")[0]: place for place, name in reversed(list(enumerate(names)))}
        run = sorted(names, key=lambda name: (files[name.partition("::")[0]], order[name]))
        return run_items([items[name] for name in run], self.seconds, self.recorder)


ELSEWHERE = "it cannot be put in"


def where(mutant: dict[str, Any]) -> dict[str, Any]:
    """The place of a mutant."""
    return {"file": mutant["file"], "site": mutant["site"]}


def tell_end(status: int, told: str | None) -> str | None:
    """Tell what killed a mutant, from how its process ended."""
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return "it does not end"
    return f"the tests ended with {status}" if status else told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--place", type=Path, default=Path("mutant-runs"), help="where the log is; a run goes on there")
    parser.add_argument("--again", action="store_true", help="only try survivors once more that have no explanation")
    parser.add_argument("--tests", nargs="*", help="with --again: the tests to run, instead of all that reach it")
    parser.add_argument("--added", action="store_true", help="with --again: these tests were written for survivors")
    parser.add_argument("--store", type=Path, help="only write the sums of the log to this file")
    asked = parser.parse_args()
    asked.place.mkdir(parents=True, exist_ok=True)
    asked.place = asked.place.resolve()  # work goes on in other directories
    kept = asked.place / f"seed-{asked.seed}.jsonl"
    lines = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = list({(told["file"], told["site"]): told for told in lines}.values())  # the last verdict on each
    if asked.store is not None:
        asked.store.write_text(json.dumps(sum_up(done, asked.seed), indent=1) + "\n", encoding="utf-8")
        return
    source = digest(*(f"src/secateur/{room}" for room in ROOMS))
    if any(told.get("source") != source for told in done):
        sys.exit(f"The mutants in {kept} are of other sources, whose places have moved: name another --place.")
    os.environ.setdefault("HYPOTHESIS_PROFILE", "quick")
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in LOADED:
        importlib.import_module(name)
    if asked.again:
        explained = json.loads(WHY.read_text(encoding="utf-8"))
        mutants = [told for told in done if told["killed_by"] is None and name_of(told) not in explained]
    else:
        judged = {(told["file"], told["site"]) for told in done}
        mutants = [one for one in draw(asked.count, asked.seed) if (one["file"], one["site"]) not in judged]

    def log(made: dict[str, Any], killer: str | None) -> None:
        told = {name: value for name, value in made.items() if name != "parsed"} | {"source": source}
        told["killed_by"] = killer and f"{killer}, added for it" if asked.added else killer
        verdict = f"killed by {told['killed_by']}" if killer else "SURVIVES"
        print(f"{told['file']}:{told['line']} {told['before']} -> {told['after']}: {verdict}", flush=True)
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")

    with tempfile.TemporaryDirectory(prefix="mutants-") as created:
        place = Path(created)
        for part in ("src", "tests", "benchmarks", "pyproject.toml", "docs"):
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, place / part)  # type: ignore[operator]
        reached = {"": (0.0, [])} if asked.again and asked.tests else find_reached(place, asked.place)
        Judge(place, reached, asked.tests if asked.again else None).try_all(mutants, log)


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
