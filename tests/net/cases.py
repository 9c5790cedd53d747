"""Rules of every method and form, with and without facts, and what is wrong with their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from net import forms, tables
from numpy.typing import NDArray

WITHOUT_ROWS = ("none", "sibling", "redundancy", "exact")
EXACT = (*WITHOUT_ROWS, "faithful")
METHODS = (*EXACT, "mismatch", "budgeted", "quinlan", "mismatch-certified")
# Trees on which the methods that use facts delete what only facts imply. The first has three classes.
SEEDS, FURTHER_SEEDS = (239, 102), (1038, 922, 2000)

make_told = cache(tables.make_told)
FindWrong = Callable[[int, Any, tables.Told, pd.DataFrame], dict[str, NDArray[np.int64]]]


class Case(NamedTuple):
    """Which rules to make."""

    form: str
    method: str
    known: str  # of the columns
    from_rows: bool

    def __str__(self) -> str:
        return f"{self.form}, {self.method}{'' if self.from_rows else ' without rows'}, {self.known} known"

    def make_rules(self, told: tables.Told) -> Any:
        training = (told.X, told.y) if self.from_rows else ()
        known = {"method": self.method, "accepts_missing": True, **tables.KNOWN[self.known]}
        return forms.FORMS[self.form](told.model, *training, **known)

    def check(self, seeds: Iterable[int], find_wrong: FindWrong) -> None:
        """Fail where a door gets a row wrong."""
        for seed in seeds:
            told = make_told(seed)
            rows = pd.concat(told.rows.values(), ignore_index=True)
            assert not find_wrong(seed, self.make_rules(told), told, rows), f"seed {seed}"


def list_cases(*all_known: str, methods: Iterable[str] = METHODS) -> list[Any]:
    """Cases of both forms, as parameters of a test."""
    cases = [
        Case(form, method, known, from_rows)
        for from_rows in (True, False)
        for form in forms.FORMS
        for method in methods
        for known in all_known
        if from_rows or method in WITHOUT_ROWS
    ]
    return [pytest.param(case, id=str(case)) for case in cases]
