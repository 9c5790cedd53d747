from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = [
    *("duckdb", "jinja2", "matplotlib", "numba", "pandas", "polars", "pyarrow", "pyspark", "rich", "skops", "sqlglot"),
    "typer",
]


@pytest.fixture(scope="module")
def loaded_modules() -> set[str]:
    """The modules that a fresh interpreter holds after ``import secateur``."""
    script = "import secateur, sys; print(*sys.modules)"
    output = subprocess.check_output([sys.executable, "-c", script], text=True)
    return set(output.split())


@pytest.mark.parametrize("library", HEAVY)
def test_importing_secateur_does_not_load(library: str, loaded_modules: set[str]) -> None:
    assert "secateur" in loaded_modules
    assert library not in loaded_modules
