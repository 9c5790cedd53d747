"""Misspelt methods and settings are found by a checker of types, before anything runs."""

from __future__ import annotations

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


def test_the_typed_names_are_those_of_the_methods() -> None:
    names = {one for part in get_args(MethodName) for one in get_args(part) or (part,)}
    assert {*METHODS, *(alias for method in METHODS.values() for alias in method.aliases)} <= names
    assert {find_method(name).name for name in names} == {*METHODS}


def test_the_typed_settings_are_those_of_the_methods() -> None:
    read = {one.name for method in METHODS.values() for one in fields(method)}
    assert {*Settings.__annotations__, "tolerance"} == read


@pytest.mark.long
def test_a_checker_rejects_the_marked_calls_and_no_others() -> None:
    pytest.importorskip("mypy", reason="mypy is not installed: pip install 'secateur[dev]'")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", CALLS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = {
        int(line): code for line, code in re.findall(rf"{CALLS.name}:(\d+): error: .*\[([\w-]+)\]", ran.stdout, re.M)
    }
    wanted = {
        number: line.rpartition("# ")[2]
        for number, line in enumerate(CALLS.read_text(encoding="utf-8").splitlines(), 1)
        if "  # " in line
    }
    assert found == wanted, ran.stdout
