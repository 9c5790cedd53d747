"""Misspelt methods and settings are found by a checker of types, before anything runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from environments import typed_calls

from secateur.methods import METHODS, find_method
from secateur.methods.contract import MethodName, Settings

CALLS = Path(typed_calls.__file__)
ROOT = Path(__file__).parents[2]
PYRIGHT = ROOT / "node_modules" / ".bin" / "pyright"


def test_the_typed_names_are_those_of_the_methods() -> None:
    names = {one for part in get_args(MethodName) for one in get_args(part) or (part,)}
    assert {*METHODS, *(alias for method in METHODS.values() for alias in method.aliases)} <= names
    assert {find_method(name).name for name in names} == {*METHODS}


def test_the_typed_settings_are_those_of_the_methods() -> None:
    read = {one.name for method in METHODS.values() for one in fields(method)}
    assert {*Settings.__annotations__, "tolerance"} == read


@pytest.mark.long
def test_mypy_rejects_the_marked_calls_and_no_others() -> None:
    pytest.importorskip("mypy", reason="mypy is not installed: pip install 'secateur[dev]'")
    printed = run_checker(sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", CALLS)
    found = re.findall(rf"{CALLS.name}:(\d+): error: .*\[([\w-]+)\]", printed)
    assert {int(line): code for line, code in found} == marked_calls(), printed


@pytest.mark.long
@pytest.mark.skipif(not PYRIGHT.is_file(), reason="pyright is not installed: make axe")
def test_pyright_rejects_the_marked_calls_and_no_others() -> None:
    printed = run_checker(PYRIGHT, "--pythonpath", sys.executable, "--outputjson", CALLS)
    found = [one for one in json.loads(printed)["generalDiagnostics"] if one["severity"] == "error"]
    assert sorted(one["range"]["start"]["line"] + 1 for one in found) == sorted(marked_calls()), printed


def run_checker(*command: str | Path) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def marked_calls() -> dict[int, str]:
    """The lines that a checker must reject, and mypy's word for why."""
    lines = CALLS.read_text(encoding="utf-8").splitlines()
    return {number: line.rpartition("# ")[2] for number, line in enumerate(lines, 1) if "  # " in line}
