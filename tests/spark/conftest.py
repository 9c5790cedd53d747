"""One Spark session for all tests; they are skipped where there is no pyspark or no Java."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SETTINGS = {
    # Short jobs end before code is optimized, and before threads that collect garbage are worth it.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'secateur[spark]'")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java 17: apt-get install openjdk-17-jre-headless")
    from secateur.spark import open_session

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark and pandas disagree about their versions, and leave files open
        session = open_session("local[2,4]", **SETTINGS)
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say that these tests start a program."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.program)
            item.add_marker(pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"))
