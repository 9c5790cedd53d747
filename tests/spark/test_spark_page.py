"""The code of docs/spark.md runs, and what Spark lacks is said in a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import test_documents

import secateur.spark
from secateur.errors import InputError

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


@pytest.mark.filterwarnings("ignore")
def test_the_code_of_the_page_runs(spark: Any) -> None:
    test_documents.run_blocks(PAGE)


def test_without_pyspark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    for call in (secateur.spark.open_session, lambda: secateur.spark.collect_evidence(None, None, "y")):
        with pytest.raises(InputError, match=r"pip install 'secateur\[spark\]'"):
            call()


def test_without_java_it_says_what_to_install(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'secateur[spark]'")
    code = "import secateur.spark as s\ntry: s.open_session('local[1]')\nexcept ValueError as error: print(error)"
    environment = {**os.environ, "JAVA_HOME": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "install Java 17, for example with apt-get install openjdk-17-jre-headless" in done.stdout
