"""The census table: the same rules from numpy, frames, Arrow and Parquet files, for every method by rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rows.census import ALONE, SERVED, expect, load_census
from rows.kinds import make_table

import secateur

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def census(data_dir: str) -> Any:
    return load_census(data_dir)


@pytest.mark.parametrize("method", [*SERVED, *ALONE])
def test_every_kind_of_table_gives_the_rules_of_the_matrix(method: str, census: Any, tmp_path: Path) -> None:
    frame, model = census
    expected, told = expect(frame, model, method)
    assert expected.deleted.any()
    for kind in ("pandas", "polars", "arrow", "glob"):
        rules = secateur.simplify(
            model, make_table(kind, frame, tmp_path), y="label", method=method, each_leaf=True, **told
        )
        assert rules.to_json() == expected.to_json(), kind
