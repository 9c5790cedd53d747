"""Who tests the tests: change one thing in what proofs rest on, and see whether a test fails: ``make mutants N=200``.

A mutant is a copy of the package with one comparison, sign, number, truth value, `not`, `and`, `or` or statement
changed; messages, annotations and docstrings are left alone. Mutants are drawn by a seed and numbered. The tests of the
mutant's room run on a copy of the whole tree: first rules of random trees against brute force, then the room's own
tests until one fails, those of the mutant's file before all others. Nothing is compiled, so that no compiled code of
another mutant is taken for its own. What fails without a mutant would kill them all: so the tests of each room run on
the unchanged tree first.

``mutants.json`` says of each survivor why no test can tell it, or that a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[2]
WHY = Path(__file__).with_name("mutants.json")
CONTRACT = ["tests/methods/test_contract.py"]
TESTS = {
    "tree": ["tests/tree", *CONTRACT],
    "facts": ["tests/facts"],
    "kernels": [
        "tests/kernels",
        "tests/counting",
        *CONTRACT,
        "tests/methods/test_lists.py",
    ],
    "methods": ["tests/methods"],
    "rules": ["tests/rules"],
    "words": ["tests/words"],
    "results": ["tests/results", "tests/test_diagnosis.py"],
    "verify": ["tests/verify"],
}
# What takes minutes uncompiled.
SLOW = " and ".join(f"not {word}" for word in ("thousand", "large", "compiled", "many", "scikit", "one_pass"))
TREES = 15  # whose rules are judged before the tests run
SECONDS = 400  # of the processor's time, after which a mutant counts as killed: it does not end
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
    for room in TESTS:
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


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))


def try_mutant(mutant: dict[str, Any], place: Path, tests: list[str] | None = None) -> dict[str, Any]:
    """Run the tests of a mutant's room, or those that are named; tell which of them killed it."""
    told = write_mutant(mutant, place)
    told["killed_by"] = find_failure(mutant["file"].split("/")[2], place, tests, Path(mutant["file"]).stem)
    shutil.copy(ROOT / mutant["file"], place / mutant["file"])
    return told


def order_tests(room: str, place: Path, stem: str) -> list[str]:
    """List the files with tests of a room, those that are named like the mutant's file first."""
    folders = [place / name for name in TESTS[room]]
    found = [path for one in folders for path in (sorted(one.rglob("test_*.py")) if one.is_dir() else [one])]
    is_own = {path: stem.rstrip("s") in path.stem for path in found}
    return [str(path.relative_to(place)) for path in sorted(found, key=lambda path: not is_own[path])]


def find_failure(room: str, place: Path, tests: list[str] | None = None, stem: str = "") -> str | None:
    """Run the tests of a room, or those that are named, on a copy of the tree; tell what failed."""
    paths = os.pathsep.join(str(place / part) for part in ("src", "tests"))
    environment = {**os.environ, "PYTHONPATH": paths, "HYPOTHESIS_PROFILE": "quick", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["NUMBA_DISABLE_JIT"] = "1"
    slice_of_trees = f"from fuzz.rules_campaign import judge_some; judge_some({TREES})"
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not long and not program"]
    pytest += ["-k", SLOW, "-W", "ignore:overflow:RuntimeWarning"]  # sums of bits wrap, which only numpy tells of
    steps = {
        "brute force": [sys.executable, "-c", slice_of_trees],
        "tests": [*pytest, *(tests or order_tests(room, place, stem))],
    }
    if tests:
        del steps["brute force"]
    for name, command in steps.items():
        run = subprocess.run(command, cwd=place, env=environment, capture_output=True, preexec_fn=_limit, check=False)
        if run.returncode:
            return "it does not end" if run.returncode == -signal.SIGXCPU else name
    return None


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
    with tempfile.TemporaryDirectory(prefix="mutants-") as created:
        place = Path(created)
        for part in ("src", "tests", "benchmarks", "pyproject.toml", "docs"):
            source = ROOT / part
            (shutil.copytree if source.is_dir() else shutil.copy)(source, place / part)  # type: ignore[operator]
        if asked.again:
            explained = json.loads(WHY.read_text(encoding="utf-8"))
            for told in done:
                if told["killed_by"] is None and name_of(told) not in explained:
                    again = try_mutant({key: told[key] for key in ("file", "site", "kind")}, place, asked.tests)
                    print(f"{name_of(told)}: now {again['killed_by']}", flush=True)
                    told["killed_by"] = again["killed_by"] and f"{again['killed_by']}, added for it"
            log.write_text("".join(json.dumps(told) + "\n" for told in done), encoding="utf-8")
            return
        drawn = draw(asked.count, asked.seed)[len(done) :]
        for room in sorted({mutant["file"].split("/")[2] for mutant in drawn}):
            if (failed := find_failure(room, place)) is not None:
                sys.exit(f"In {room}, {failed} fail without a mutant, and would kill them all: mend that first.")
        for mutant in drawn:
            told = try_mutant(mutant, place)
            verdict = f"killed by {told['killed_by']}" if told["killed_by"] else "SURVIVES"
            print(f"{told['file']}:{told['line']} {told['before']} -> {told['after']}: {verdict}", flush=True)
            done.append(told)
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
