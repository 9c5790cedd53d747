"""The page of long runs says what the runs stored, and the promises of SECURITY.md name tests that exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

from fuzz.campaign import FAILURES, SHARES

ROOT = Path(__file__).parents[2]


def load_page() -> Any:
    spec = importlib.util.spec_from_file_location("reliability_page", ROOT / "docs" / "reliability_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_says_what_the_runs_stored() -> None:
    module = load_page()
    assert module.PAGE.read_text(encoding="utf-8") == module.write_page(), "run: make reliability"
    assert set(module.FORMATS) == set(SHARES)
    assert set(module.FAILURES) == set(FAILURES)


def test_nothing_that_was_stored_failed() -> None:
    module = load_page()
    inputs, rules = module.load("inputs"), module.load("rules")
    assert sum(one[name] for one in inputs["formats"].values() for name in FAILURES) == 0
    assert rules["disagreements"] == 0
    smt = module.load("smt")
    assert smt["wrong"] == 0
    assert smt["trees"] >= 500
    assert all(set(smt["rules"][name]) == {"unsat"} for name in module.PROMISED)
    assert all(said["sat"] > 0 for said in smt["mutants"].values())


def test_every_promise_names_tests_that_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert len(named) > 15
    assert [name for name in named if not (ROOT / name).is_file()] == []
    promised = text.partition("## What is promised")[2].partition("## What is not promised")[0]
    for promise in promised.split("\n**")[1:]:
        assert "`tests/" in promise, promise
