"""A table larger than anyone wants in memory: rules from Parquet files, beside DuckDB's own scan of them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import secateur
from benchmarks.race import FULL, QUICK, race
from benchmarks.result import Quartiles, Result, quartiles

__all__ = ["SCALE"]

N_FILES = 5
N_FEATURES = 11
FITTED_ROWS = 200_000
METHODS = ("mismatch",)
# Kinds of columns as tables have them: doubles, floats, and whole numbers.
EXPRESSIONS = (
    *(f"(hash(i * 31 + {k}) % 2000003) / 1000001.5 - 1" for k in range(5)),
    *(f"((hash(i * 31 + {k}) % 200003) / 100001.5 - 1)::FLOAT" for k in range(5, 9)),
    *(f"(hash(i * 31 + {k}) % 90)::INTEGER" for k in range(9, N_FEATURES)),
)
SCORE = "x0 + 2 * x1 * x2 + CASE WHEN x3 > 0 THEN x4 ELSE -x5 END + x6 + x7 * x8 + (x9 - 45) / 60 - x10 / 90"
# A process of its own, so that its peak is nobody else's.
PEAK = """
import json, resource, sys
import joblib, secateur
model = joblib.load(sys.argv[1])
rules = secateur.simplify(model, sys.argv[2], y="y", method=sys.argv[3], each_leaf=True)
counted = sum(int(rule.source_support) for rule in rules)
print(json.dumps({"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "rows": counted}))
"""


def run_scale(quick: bool) -> list[Result]:
    """Rules of a tree of 32 leaves from Parquet files."""
    n_rows = 400_000 if quick else 50_000_000
    with tempfile.TemporaryDirectory(prefix="secateur-scale-") as directory:
        pattern = make_files(Path(directory), n_rows)
        model = fit(pattern)
        return [_run(method, model, pattern, Path(directory), n_rows, quick) for method in METHODS]


def make_files(directory: Path, n_rows: int) -> str:
    """Write a table as several Parquet files; return the pattern that names them."""
    columns = ", ".join(f"{expression} AS x{place}" for place, expression in enumerate(EXPRESSIONS))
    with duckdb.connect() as connection:
        for part in range(N_FILES):
            first, last = n_rows * part // N_FILES, n_rows * (part + 1) // N_FILES
            label = f"({SCORE} + (hash(i) % 2001)::DOUBLE / 1000 - 1 > 0)::INTEGER AS y"
            rows = f"SELECT *, {label} FROM (SELECT i, {columns} FROM range({first}, {last}) t(i))"
            target = directory / f"part-{part}.parquet"
            connection.execute(f"COPY (SELECT * EXCLUDE (i) FROM ({rows})) TO '{target}' (FORMAT parquet)")
    return str(directory / "part-*.parquet")


def fit(pattern: str) -> DecisionTreeClassifier:
    """A tree of 32 leaves, fitted to the first rows."""
    head = take(pattern, FITTED_ROWS)
    return DecisionTreeClassifier(max_leaf_nodes=32, random_state=0).fit(head.drop(columns="y"), head["y"])


def take(pattern: str, n_rows: int) -> pd.DataFrame:
    """The first rows of the table, in memory."""
    with duckdb.connect() as connection:
        frame: pd.DataFrame = connection.sql(f"SELECT * FROM '{pattern}' LIMIT {n_rows}").df()
    return frame


def scan(pattern: str, columns: list[str]) -> list[Any]:
    """DuckDB's own sum of some columns."""
    with duckdb.connect() as connection:
        return connection.sql(f"SELECT {', '.join(f'sum({c})' for c in columns)} FROM '{pattern}'").fetchall()


def _run(method: str, model: Any, pattern: str, directory: Path, n_rows: int, quick: bool) -> Result:
    asked = [f"x{feature}" for feature in np.unique(model.tree_.feature) if feature >= 0]
    about = f"{n_rows:,} rows × 12 columns in {N_FILES} Parquet files, 32 leaves, {len(asked) + 1} columns are read"
    first = str(directory / "part-0.parquet")
    some = take(first, 2_000_000)
    in_memory = secateur.simplify(model, some, y="y", method=method, each_leaf=True)
    streamed = secateur.simplify(model, _limit(first, len(some)), y="y", method=method, each_leaf=True)
    told = _measure(model, pattern, directory, method)
    result = Result(f"scale/{method}", about, right=in_memory == streamed and told["rows"] == n_rows)
    if result.right:
        simplify = partial(secateur.simplify, model, pattern, y="y", method=method)
        calls = {"ours": simplify, "scan": partial(scan, pattern, [*asked, "y"])}
        seconds = race(calls, QUICK if quick else FULL)
        result.seconds = quartiles(seconds["ours"])
        pairs = zip(seconds["ours"], seconds["scan"], strict=True)
        result.measures["× DuckDB's scan"] = quartiles(own / other for own, other in pairs)
        result.measures["peak GB"] = Quartiles(*[told["peak"] / 1e9] * 3)
        result.bars = {"× DuckDB's scan": "≤ 4", "peak GB": "≤ 1.5"}
    return result


def _limit(path: str, n_rows: int) -> Any:
    return duckdb.connect().sql(f"SELECT * FROM '{path}' LIMIT {n_rows}")


def _measure(model: Any, pattern: str, directory: Path, method: str) -> dict[str, int]:
    """Peak memory of a process that does nothing else, and how many rows it counted."""
    import joblib

    path = directory / "model.joblib"
    joblib.dump(model, path)
    shown = subprocess.run([sys.executable, "-c", PEAK, str(path), pattern, method], stdout=subprocess.PIPE, check=True)
    found: dict[str, int] = json.loads(shown.stdout)
    return found


SCALE = {"scale/parquet": run_scale}
