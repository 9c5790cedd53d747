"""The same rules wherever the rows are: numpy, pandas, polars, Arrow, Parquet files, Spark; each beside numpy."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

import secateur
from benchmarks.race import FULL, race
from benchmarks.result import Result, quartiles
from benchmarks.scale import N_FEATURES, fit, make_files, take

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SOURCES"]

METHODS = ("mismatch", "quinlan", "mismatch-certified", "budgeted")
AUDITED_ROWS = 4_000_000
SIGNS = [1] + [0] * (N_FEATURES - 1)
# What the types of a frame tell, and those of a matrix do not.
WHOLE = [f"x{place}" for place in (9, 10)]


def run_sources(quick: bool) -> list[Result]:
    """Compare the rules from every source with those from a matrix, and time them."""
    n_rows = 60_000 if quick else 5_000_000
    with tempfile.TemporaryDirectory(prefix="secateur-sources-") as directory:
        pattern = make_files(Path(directory), n_rows)
        model = fit(pattern)
        frame = take(pattern, n_rows)
        rows, labels = frame.drop(columns="y"), frame["y"].to_numpy()
        matrix = rows.to_numpy(dtype=np.float64)
        with spark_session(quick) as spark:
            tables: dict[str, Any] = {
                "pandas": frame,
                "polars": pl.from_pandas(frame),
                "Arrow": pa.Table.from_pandas(frame, preserve_index=False),
                "Parquet files": pattern,
            }
            if spark is not None:
                tables["Spark"] = spark.read.parquet(*sorted(str(path) for path in Path(directory).glob("*.parquet")))
            nameless = _without_names(model)
            expected, seconds = {}, {}
            for method in METHODS[:2] if quick else METHODS:
                told = {"integers": WHOLE, "feature_names": list(rows.columns), **_tell(method)}
                _caller(nameless, matrix[:20_000], labels[:20_000], method, told)()  # compiles what it needs
                expected[method], seconds[method] = _time(_caller(nameless, matrix, labels, method, told))
            return [_compare(name, table, model, n_rows, expected, seconds) for name, table in tables.items()]


def _compare(
    name: str, table: Any, model: Any, n_rows: int, expected: dict[str, str], seconds: dict[str, float]
) -> Result:
    result = Result(f"scale/sources/{name}", f"{n_rows:,} rows × 12 columns; the rules of {', '.join(expected)}")
    ratios = []
    for method in expected:
        if name == "Spark" and method == "budgeted":
            continue  # which refuses, for it looks at rows one by one
        found, took = _time(_caller(model, table, "y", method, _tell(method)))
        result.right &= found == expected[method]
        ratios.append(took / seconds[method])
    result.measures["× numpy in memory"] = quartiles(ratios)
    return result


def _caller(model: Any, X: Any, y: Any, method: str, told: dict[str, Any]) -> Callable[[], str]:
    return lambda: secateur.simplify(model, X, y, method=method, **told, each_leaf=True).to_json()


def _time(call: Callable[[], str]) -> tuple[str, float]:
    began = time.perf_counter()
    return call(), time.perf_counter() - began


def _tell(method: str) -> dict[str, Any]:
    return {"monotone": SIGNS} if method == "mismatch-certified" else {}


def _without_names(model: Any) -> Any:
    """The same tree, which does not know the names of its columns, so that it takes a matrix."""
    from copy import copy

    nameless = copy(model)
    del nameless.feature_names_in_
    return nameless


@contextmanager
def spark_session(quick: bool) -> Iterator[Any]:
    """A session on two processors, where Spark is installed and there is time for it; else None."""
    if quick:
        yield None
        return
    from secateur.spark import open_session

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = open_session("local[2]", **{"spark.ui.enabled": "false", "spark.driver.memory": "4g"})
            session.sparkContext.setLogLevel("OFF")
    except secateur.errors.InputError:
        yield None
        return
    try:
        yield session
    finally:
        session.stop()


def run_spark_audit(quick: bool) -> list[Result]:
    """Audit a list and one rule for each leaf on Spark, beside Spark's own sums of the columns that the audit reads."""
    results = []
    with tempfile.TemporaryDirectory(prefix="secateur-spark-") as directory, spark_session(quick) as spark:
        if spark is None:
            return []
        from pyspark.sql import functions as F

        pattern = make_files(Path(directory), AUDITED_ROWS)
        model, frame = fit(pattern), take(pattern, AUDITED_ROWS)
        df = spark.read.parquet(*sorted(str(path) for path in Path(directory).glob("*.parquet")))
        rows, labels = frame.drop(columns="y"), frame["y"]
        asked = [*(f"x{feature}" for feature in np.unique(model.tree_.feature) if feature >= 0), "y"]
        sums = [F.sum(name) for name in asked]
        for form in (False, True):
            rules = secateur.simplify(model, frame[:200_000], y="y", each_leaf=form)
            about = f"{AUDITED_ROWS:,} rows in Parquet, {len(rules)} rules, {len(asked)} columns are read"
            result = Result(f"scale/spark/audit of {'each leaf' if form else 'a list'}", about)
            result.right = rules.audit(df, "y").to_dict() == rules.audit(rows, labels).to_dict()
            calls = {"ours": partial(rules.audit, df, "y"), "sum": partial(_collect, df, sums)}
            seconds = race(calls, FULL)
            result.seconds = quartiles(seconds["ours"][1:])  # in the first round, Java compiles
            pairs = list(zip(seconds["ours"], seconds["sum"], strict=True))[1:]
            result.measures["× Spark's own sum"] = quartiles(own / other for own, other in pairs)
            result.bars = {"× Spark's own sum": "≤ 5"}
            results.append(result)
    return results


def _collect(df: Any, sums: list[Any]) -> Any:
    return df.agg(*sums).collect()


SOURCES = {"scale/sources": run_sources, "scale/spark": run_spark_audit}
