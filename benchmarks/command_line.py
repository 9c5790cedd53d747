"""What a person waits for in a shell: the help, and a table of 10,000 rows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.result import Result, quartiles

__all__ = ["COMMANDS"]

SECATEUR = [sys.executable, "-c", "from secateur.cli.main import run; run()"]
BARE_HELP = [sys.executable, "-c", "import typer, rich"]
# What nobody can do without: the same table read, encoded and fitted by the libraries alone.
BARE_FIT = """
import sys, duckdb, numpy, pandas
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
table = duckdb.sql(f"SELECT * FROM '{sys.argv[1]}'").df()
y = table.pop("outcome").to_numpy(dtype=object)
encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["ward", "unit"]), remainder="passthrough")
make_pipeline(encode, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(table, y)
"""


def run_help(quick: bool) -> list[Result]:
    """``secateur --help`` beside the import of what it is made of, in turns."""
    wanted = ("simplify", "explain", "verify", "export", "report", "compare", "diff", "methods", "reproduce")
    shown = subprocess.run([*SECATEUR, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    result = Result("command/help", "fresh processes", right=all(name in shown for name in wanted))
    if result.right:
        _take_turns(result, [*SECATEUR, "--help"], BARE_HELP, "× import typer, rich", 1 if quick else 15)
        result.bars = {"× import typer, rich": "≤ 1.5"}
    return [result]


def run_simplify(quick: bool) -> list[Result]:
    """``secateur simplify`` on a CSV file, beside the same table read and fitted by the libraries alone."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "table.csv"
        table = make_table(1_000 if quick else 10_000)
        table.to_csv(path, index=False)
        ours = [*SECATEUR, "simplify", str(path), "--target", "outcome", "--method", "exact", "--json"]
        told = json.loads(subprocess.run(ours, stdout=subprocess.PIPE, check=True).stdout)
        counted = sum(sum(line["class_counts"]) for line in told["rules"]["lines"])
        counted += sum(map(sum, told["rules"]["unseen"]["line_counts"]))  # the quarter that is set aside
        right = told["verified"] and counted == len(table) and told["audit"]["agreement"] == 100.0
        about = (
            f"fresh processes, a CSV of {len(table):,} rows with text and blanks; reads, fits, deletes, audits, proves"
        )
        result = Result("command/simplify", about, right=right)
        if right:
            bare = [sys.executable, "-c", BARE_FIT, str(path)]
            _take_turns(result, ours, bare, "× read, encode and fit by duckdb and scikit-learn", 1 if quick else 7)
    return [result]


def make_table(n_rows: int) -> pd.DataFrame:
    """Numbers, two columns of text, blanks, and classes that depend on them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n_rows, 6)).round(3), columns=[f"m{i}" for i in range(6)])
    table["ward"] = rng.choice(["A", "B", "C", "D"], n_rows)
    table["unit"] = rng.choice(["day", "night"], n_rows)
    score = table["m0"] + table["m1"] * (table["ward"] == "A") - (table["unit"] == "day")
    table["outcome"] = np.where(score + rng.normal(size=n_rows) > 0, "back", "home")
    return table.mask(rng.random(table.shape) < 0.05).dropna(subset=["outcome"])


def _take_turns(result: Result, ours: list[str], theirs: list[str], name: str, n_rounds: int) -> None:
    """Time two commands in turns; the first of several rounds only reads the disk."""
    rounds = [(_seconds(ours), _seconds(theirs)) for _ in range(n_rounds)][n_rounds > 1 :]
    result.seconds = quartiles(own for own, _ in rounds)
    result.measures[name] = quartiles(own / other for own, other in rounds)


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


COMMANDS = {"command/help": run_help, "command/simplify": run_simplify}
