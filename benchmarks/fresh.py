"""What a fresh process waits for: the import, and the first call with an empty and with a filled cache of kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sklearn.tree import DecisionTreeClassifier

import secateur
from benchmarks.problems import Problem, make_rows
from benchmarks.result import Result, quartiles

__all__ = ["FIRST_CALLS", "IMPORT", "call_once", "run_first_call", "run_import"]

IMPORT = "fresh/import"
# Method and kind of tree by name.
FIRST_CALLS = {
    "fresh/exact-small": ("exact", "small"),
    "fresh/exact-large": ("exact", "large"),
    "fresh/mismatch": ("mismatch", "small"),
    "fresh/budgeted": ("budgeted", "small"),
    "fresh/mismatch-many": ("mismatch", "many"),
    "fresh/budgeted-many": ("budgeted", "wide"),
}
SKLEARN, NUMBA = "× import sklearn.tree", "numba loaded (0 no, 1 yes)"
FIT_EMPTY = "× fit, empty cache"
BARS = {  # some are done before numba would be imported
    "fresh/exact-small": {NUMBA: "≤ 0"},
    "fresh/budgeted-many": {NUMBA: "≤ 0"},
    "fresh/mismatch-many": {FIT_EMPTY: "≤ 3"},
}
TIMED_IMPORT = "import time; began = time.perf_counter(); {}; seconds = time.perf_counter() - began;"
FIRST_CALL = (
    TIMED_IMPORT.format("import sklearn.tree") + "from benchmarks.fresh import call_once; call_once({}, seconds)"
)


def run_import(quick: bool) -> list[Result]:
    """``import secateur`` beside ``import sklearn.tree``, in turns."""
    statements = ("import secateur", "from secateur import simplify", "import sklearn.tree")
    codes = [f"{TIMED_IMPORT.format(statement)} print(seconds)" for statement in statements]
    # The first round of a full run only reads the disk.
    rounds = [[json.loads(_python(code)) for code in codes] for _ in range(1 if quick else 12)][not quick :]
    result = Result(IMPORT, "fresh processes; public names are loaded on demand")
    result.seconds = quartiles(bare for bare, _, _ in rounds)
    result.measures[SKLEARN] = quartiles(bare / theirs for bare, _, theirs in rounds)
    result.measures[f"{SKLEARN}, with simplify"] = quartiles(full / theirs for _, full, theirs in rounds)
    result.bars = {SKLEARN: "≤ 1.2"}
    return [result]


def run_first_call(name: str, quick: bool) -> list[Result]:
    """The first call of fresh processes: one that must compile, unless the run is quick, then some that need not."""
    from benchmarks.answers import SLOW  # here, so that a fresh process does not load what the slow versions need

    method, kind = FIRST_CALLS[name]
    if quick and kind in ("wide", "many"):  # small ones would be those of the other cases
        return []
    with tempfile.TemporaryDirectory() as cache:
        environment = {} if quick else {"NUMBA_CACHE_DIR": cache}
        code = FIRST_CALL.format(f"{method!r}, {kind!r}")
        found = [json.loads(_python(code, environment)) for _ in range(1 if quick else 4)]
    problem = make_problem(kind)
    leaves = [leaf for leaf, _ in found[0]["deleted"]]
    slow = SLOW[method](problem, secateur.from_model(problem.model), leaves)
    wanted = {leaf: slow[leaf] for leaf in leaves}  # some slow versions give all leaves
    right = all(dict(report["deleted"]) == wanted for report in found)
    result = Result(name, f"first call, {problem.about}", right, bars=BARS.get(name, {}))
    result.seconds = quartiles(report["seconds"] for report in found[not quick :])
    for label, reports in (("empty cache", found[: not quick]), ("filled cache", found[not quick :])):
        if reports:
            ratios = quartiles(report["seconds"] / report["sklearn"] for report in reports)
            result.measures[f"{SKLEARN}, {label}"] = ratios
        if reports and label == "empty cache":
            result.measures[FIT_EMPTY] = quartiles(report["seconds"] / report["fit"] for report in reports)
    result.measures[NUMBA] = quartiles(report["numba"] for report in found)
    return [result]


def make_problem(kind: str) -> Problem:
    """A tree of 16 leaves on 2,000 rows, an unpruned one on 20,000, or 32 leaves on 20,000 or 2²⁰ rows."""
    sizes = {"small": (2_000, 10, 16), "large": (20_000, 10, None), "wide": (20_000, 20, 32), "many": (1 << 20, 20, 32)}
    n_rows, n_columns, n_leaves = sizes[kind]
    X, y = make_rows(n_rows, n_columns)
    limits: dict[str, Any] = {} if n_leaves is None else {"max_leaf_nodes": n_leaves}
    return Problem(DecisionTreeClassifier(random_state=0, **limits).fit(X, y), X, y)


def call_once(method: str, kind: str, sklearn_seconds: float) -> None:
    """In the fresh process: time the first call, and print also what it deleted from up to 16 rules."""
    began = time.perf_counter()
    problem = make_problem(kind)
    fit = time.perf_counter() - began
    rows = () if method == "exact" else (problem.X, problem.y)
    began = time.perf_counter()
    rules = secateur.simplify(problem.model, *rows, method=method, each_leaf=True)
    report: dict[str, Any] = {"seconds": time.perf_counter() - began, "numba": int("numba" in sys.modules)}
    sample = list(rules)[:: -(-len(rules) // 16)]
    report |= {"fit": fit, "sklearn": sklearn_seconds, "deleted": [(rule.leaf_id, rule.deleted_ids) for rule in sample]}
    print(json.dumps(report))


def _python(code: str, environment: dict[str, str] | None = None) -> str:
    """What a fresh process prints."""
    command, root = [sys.executable, "-c", code], Path(__file__).parent.parent
    variables = os.environ | (environment or {})
    return subprocess.run(command, cwd=root, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout
