"""How the numbers of a column that was read from texts are written."""

from __future__ import annotations

import pytest

from secateur.tree.columns import ColumnParser


@pytest.mark.parametrize(
    ("unit", "unit_first", "number", "written"),
    [
        ("$", True, "1,245.3", "$1,245.30"),
        ("$", True, "-0.5", "-$0.50"),
        ("€", False, "12.5", "12.50€"),
        ("$", True, "1,245", "$1,245"),
        ("$", True, "1,245.38", "$1,245.38"),
        ("$", True, "1245.375", "$1245.375"),
        ("$", True, "7", "$7"),
        ("%", False, "21.1", "21.1 %"),
        ("kg", False, "21.1", "21.1 kg"),
        ("", False, "21.1", "21.1"),
    ],
)
def test_money_has_two_decimals_or_none(unit: str, unit_first: bool, number: str, written: str) -> None:
    assert ColumnParser("number", unit=unit, unit_first=unit_first).write_unit(number) == written
