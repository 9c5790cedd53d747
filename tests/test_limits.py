"""Limits stand in one place, in the docs as in the code, and a variable replaces each."""

from __future__ import annotations

from pathlib import Path

import pytest

from secateur.errors import ParameterError
from secateur.limits import LIMITS, MAX_COLUMNS, MAX_MODEL, Limit

DOCS = Path(__file__).parents[1] / "docs" / "limits.md"


def test_the_docs_list_every_limit_with_its_default() -> None:
    listed = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| `SECATEUR")]
    assert listed == [f"| `{limit.variable}` | {limit.told} | {limit.what} |" for limit in LIMITS]


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), (" 2GiB ", 2 << 30), ("2 gb", 2 << 30), ("3K", 3 << 10), ("7B", 7), ("1TiB", 1 << 40), ("", 1 << 30)],
)
def test_a_variable_replaces_a_limit(text: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECATEUR_MAX_MODEL", text)
    assert MAX_MODEL.value == value


@pytest.mark.parametrize(
    ("limit", "text"),
    [(MAX_MODEL, "0"), (MAX_MODEL, "-1"), (MAX_MODEL, "1.5G"), (MAX_MODEL, "many"), (MAX_COLUMNS, "2G")],
)
def test_what_is_no_number_is_rejected(limit: Limit, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limit.variable, text)
    with pytest.raises(ParameterError, match=rf"{limit.variable} as a whole number above 0.*found '{text}'"):
        _ = limit.value


def test_the_advice_is_enough_for_what_was_found() -> None:
    assert "SECATEUR_MAX_MODEL=8GiB," in MAX_MODEL.advise(5 << 30)
    assert "SECATEUR_MAX_COLUMNS=160000," in MAX_COLUMNS.advise(100_000)
