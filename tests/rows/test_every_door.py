"""Whatever rows one function takes, all take: each gives what it gives for rows in memory, or says why not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from rows import doors
from rows.kinds import KINDS, make_table

import secateur

expected = cache(doors.expect)


@pytest.mark.parametrize("door", doors.DOORS)
def test_every_kind_of_rows_gives_what_rows_in_memory_give(door: str, tmp_path: Path) -> None:
    wrong = []
    for kind in KINDS:
        places = [tmp_path / f"{kind}-{n}" for n in range(2)]
        for place in places:
            place.mkdir()
        table = make_table(kind, doors.FRAME, places[0])
        alone = make_table(kind, doors.X, places[1])
        if kind == "reader" and door == "the rules' own report":
            with pytest.raises(secateur.InputError, match="A reader can be read only once"):
                doors.knock(door, table, alone)
        elif doors.knock(door, table, alone) != expected(door):
            wrong.append(kind)
    assert not wrong


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_any_kind_is_explained(kind: str, tmp_path: Path) -> None:
    row = make_table(
        kind, doors.X.iloc[[4]] if kind not in ("glob", "directory") else doors.X.iloc[[4, 5, 6]], tmp_path
    )
    if kind in ("glob", "directory"):
        with pytest.raises(secateur.InputError, match="Expected one row to explain, found 3"):
            doors.RULES.explain(row)
    else:
        assert doors.RULES.explain(row).to_dict() == doors.RULES.explain(doors.X.iloc[4]).to_dict()


@pytest.mark.parametrize("door", doors.LABELLED)
def test_labels_and_rows_come_together(door: str) -> None:
    with pytest.raises(ValueError, match="y"):
        doors.LABELLED[door](doors.X, None)


@pytest.mark.parametrize("door", doors.LABELLED)
def test_an_array_has_no_column_of_labels(door: str) -> None:
    with pytest.raises(ValueError, match=r"y names a column \('outcome'\), but X is an array without names"):
        doors.LABELLED[door](np.asarray(doors.X), doors.TARGET)


@pytest.mark.parametrize("door", doors.LABELLED)
def test_a_misspelt_column_of_labels_is_named(door: str, tmp_path: Path) -> None:
    for kind in ("pandas", "parquet"):
        with pytest.raises(ValueError, match=r"column 'outcom'.*Did you mean 'outcome'\?"):
            doors.LABELLED[door](make_table(kind, doors.FRAME, tmp_path), "outcom")
