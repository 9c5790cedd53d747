"""The core alone, with every optional library out of sight; ``make core`` does the same in a fresh environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from environments import every_function

OPTIONAL = (
    *("defusedxml", "duckdb", "jinja2", "markupsafe", "matplotlib", "numba", "onnx", "pandas", "polars", "pyarrow"),
    *("rich", "skops", "sqlglot", "typer"),
)
HIDING = f"""
import sys
for finder in list(sys.meta_path):
    def find_spec(name, *place, _found=finder.find_spec, **more):
        return None if name.split(".")[0] in {OPTIONAL} else _found(name, *place, **more)
    sys.meta_path[sys.meta_path.index(finder)] = type("Hiding", (), {{"find_spec": staticmethod(find_spec)}})
"""


@pytest.mark.long
def test_without_its_extras_every_public_function_works_or_names_the_one_it_needs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    ran = subprocess.run(
        [sys.executable, every_function.__file__], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = dict(line.split(": ", 1) for line in ran.stdout.splitlines())
    assert {"needs cli", "needs report", "needs sql", "needs tables", "works"} <= told.keys()
    assert int(told["works"]) > 250
    assert "Rules.to_sql" in told["needs sql"].split(", ")
