"""Rules of every method and form, with and without facts, and what is wrong with their answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from net import fails_today, forms, tables
from numpy.typing import NDArray

WITHOUT_ROWS = ("none", "sibling", "redundancy", "exact")
EXACT = (*WITHOUT_ROWS, "faithful")
METHODS = (*EXACT, "mismatch", "budgeted", "quinlan", "mismatch-certified")
# Trees on which the methods that use facts delete what only facts imply. The first has three classes.
SEEDS, FURTHER_SEEDS = (239, 102), (1038, 922, 2000)

make_told = cache(tables.make_told)
FindWrong = Callable[[int, Any, tables.Told, pd.DataFrame], dict[str, NDArray[np.int64]]]


class TwoAnswersError(Exception):
    """Doors that a fault of today names say something else of rows that contradict the facts; all others agree."""


class Case(NamedTuple):
    """Which rules to make."""

    form: str
    method: str
    known: str  # of the columns
    from_rows: bool

    def __str__(self) -> str:
        return f"{self.form}, {self.method}{'' if self.from_rows else ' without rows'}, {self.known} known"

    @property
    def fault(self) -> fails_today.Fault | None:
        """What is wrong with these rules today."""
        return fails_today.ONE_ANSWER.get(tuple(self))

    def expect(self, doors: Collection[str]) -> list[pytest.MarkDecorator]:
        """The mark of a test of some doors that must fail today, in no other way than the fault says."""
        if self.fault is None or set(doors).isdisjoint(self.fault.doors):
            return []
        return [pytest.mark.xfail(strict=True, raises=TwoAnswersError, reason=self.fault.reason)]

    def make_rules(self, told: tables.Told) -> Any:
        training = (told.X, told.y) if self.from_rows else ()
        known = {"method": self.method, "accepts_missing": True, **tables.KNOWN[self.known]}
        return forms.FORMS[self.form](told.model, *training, **known)

    def check(self, seeds: Iterable[int], find_wrong: FindWrong) -> None:
        """Raise AssertionError where a door gets a row wrong, TwoAnswersError where it does so as the fault says."""
        n_expected = 0
        for seed in seeds:
            told = make_told(seed)
            rows, n_possible = pd.concat(told.rows.values(), ignore_index=True), len(told.rows["possible"])
            wrong = find_wrong(seed, self.make_rules(told), told, rows)
            expected = [door for door in wrong if self.fault is not None and door in self.fault.doors]
            assert not {door: places for door, places in wrong.items() if door not in expected}, f"seed {seed}"
            assert all((wrong[door] >= n_possible).all() for door in expected), f"possible rows of seed {seed}: {wrong}"
            n_expected += len(expected)
        if n_expected:
            raise TwoAnswersError


def list_cases(*all_known: str, doors: Collection[str], methods: Iterable[str] = METHODS) -> list[Any]:
    """Cases of both forms, as parameters of a test of some doors."""
    cases = [
        Case(form, method, known, from_rows)
        for from_rows in (True, False)
        for form in forms.FORMS
        for method in methods
        for known in all_known
        if from_rows or method in WITHOUT_ROWS
    ]
    return [pytest.param(case, marks=case.expect(doors), id=str(case)) for case in cases]
