"""Open a Spark session, name its rows for SQL, and turn Spark's failures into sentences."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from uuid import uuid4

from secateur.errors import InputError, SecateurError

NO_PYSPARK = "Spark is not installed here: pip install 'secateur[spark]'."
NO_JAVA = (
    "Spark found no Java that it can run on: install Java 17, for example with apt-get install "
    "openjdk-17-jre-headless, or name its directory in JAVA_HOME."
)
SHOWN_CHARACTERS = 300
# Java compiles no method above this size, and Spark would write all rules into one: a large rule set runs several times
# faster in parts.
HUGE_METHOD = {"spark.sql.codegen.hugeMethodLimit": "8000"}
WHOLE_STAGE = "spark.sql.codegen.wholeStage"
LONG_STATEMENT = 20_000  # a longer statement does not become one method that Java compiles


def open_session(master: str | None = None, **settings: str) -> Any:
    """Open a Spark session or take the one that is open; say in a sentence why Spark cannot start.

    Parameters
    ----------
    master : str, default=None
        Such as ``"local[2]"``; by default what spark-submit or the configuration says.
    **settings : str
        Settings of Spark, such as ``**{"spark.sql.shuffle.partitions": "64"}``.

    Returns
    -------
    pyspark.sql.SparkSession
    """
    builder = _import_sql().SparkSession.builder
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):  # its workers are on this machine, so this Python suits them
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in {**HUGE_METHOD, **settings}.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:  # Spark fails in many ways when it starts
        if any(sign in str(error) for sign in ("JAVA_GATEWAY_EXITED", "JAVA_HOME", "Java gateway", "No such file")):
            raise InputError(NO_JAVA) from error
        raise InputError(f"Spark cannot start: {_first_words(error)}") from error


def check_frame(df: Any) -> None:
    """Reject anything but a Spark DataFrame."""
    sql = _import_sql()
    if not isinstance(df, sql.DataFrame):
        found = f"{type(df).__module__.split('.')[0]}.{type(df).__qualname__}"
        raise InputError(f"Expected df as a Spark DataFrame, found {found}; without Spark, call secateur itself.")


def check_rules(rules: Any) -> None:
    """Raise unless these are the rules of one tree."""
    if not hasattr(rules, "find_lines"):
        raise InputError(f"Expected Rules of one tree, as secateur.simplify makes them, found {type(rules).__name__}.")


def has_secateur(session: Any) -> bool:
    """Whether the Python of a worker has secateur."""
    from pyspark.sql import functions as F

    def look(_: int) -> bool:
        # It is sent as it is, for a worker may have nothing to import it from, nor Arrow.
        from importlib.util import find_spec

        return find_spec("secateur") is not None

    try:
        with spark_failures():
            found = session.range(1).select(F.udf(look, "boolean", useArrow=False)("id")).collect()
    except InputError:  # they have no Python that runs
        return False
    return bool(found[0][0])


@contextmanager
def in_small_methods(session: Any, statement: str) -> Iterator[None]:
    """Plan a long statement in many small methods.

    Spark would first try one large method in vain, with memory that grows with the square of its length. Other queries
    that the session plans meanwhile may run slower.
    """
    usual = session.conf.get(WHOLE_STAGE)
    if len(statement) > LONG_STATEMENT:
        session.conf.set(WHOLE_STAGE, "false")
    try:
        yield
    finally:
        session.conf.set(WHOLE_STAGE, usual)


@contextmanager
def spark_failures() -> Iterator[None]:
    """Turn what Spark raises into one sentence."""
    try:
        yield
    except SecateurError:
        raise
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("pyspark", "py4j"):
            raise
        raise InputError(f"Spark could not do it: {_first_words(error)}") from error


def _first_words(error: Exception) -> str:
    """Find the line of an error that says what happened, without Java's stack."""
    text = str(error)
    absent = re.search(r"No module named '([^']+)'", text)
    if absent is not None:
        return (
            f"the Python of its workers has no {absent[1]}. Install secateur on every worker, or name a Python that "
            "has it in PYSPARK_PYTHON."
        )
    # A task's own error comes last in what Python wrote; else the first line says it.
    raised = [line for line in re.findall(r"^\s*(\w[\w.]*(?:Error|Exception): .+)$", text, flags=re.MULTILINE)]
    own = [line for line in raised if not line.startswith(("org.apache.spark", "py4j"))]
    chosen = (own or raised or text.strip().splitlines() or [type(error).__name__])[0]
    return " ".join(chosen.split())[:SHOWN_CHARACTERS]


def _import_sql() -> Any:
    try:
        return import_module("pyspark.sql")
    except ImportError as error:
        raise InputError(NO_PYSPARK) from error


@contextmanager
def name_rows(rows: Any) -> Iterator[list[str]]:
    """Give a DataFrame a unique name, in parts; a statement that was parsed meanwhile outlives the name."""
    view = f"secateur_{uuid4().hex}"
    rows.createOrReplaceTempView(view)
    try:
        yield [view]
    finally:
        rows.sparkSession.catalog.dropTempView(view)
