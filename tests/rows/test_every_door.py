"""Whatever rows one function takes, all take: each gives what it gives for rows in memory, or says why not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import PROFILE, fewer
from rows import doors
from rows.kinds import KINDS, make_table

import secateur
from secateur.errors import InputError

WIDER = ("pandas", "polars", "arrow", "parquet", "csv")

expected = cache(doors.expect)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Any]]:
    """The rows with and without labels, as tables of every kind that can be read again."""
    return {
        kind: tuple(make_table(kind, frame, tmp_path_factory.mktemp("rows")) for frame in (doors.FRAME, doors.X))
        for kind in KINDS
        if kind != "reader"
    }


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("door", doors.DOORS)
def test_every_kind_of_rows_gives_what_rows_in_memory_give(
    door: str, tables: dict[str, tuple[Any, Any]], tmp_path: Path
) -> None:
    wrong = []
    # A fifth of the kinds for each door, another fifth for the next; all of them in a thorough run. A reader always.
    start, step = (0, 1) if PROFILE == "thorough" else (doors.DOORS.index(door) % 5, 5)
    for kind in {*KINDS[start::step], "reader"}:
        if kind == "reader":
            table, alone = (make_table(kind, frame, tmp_path) for frame in (doors.FRAME, doors.X))
        else:
            table, alone = tables[kind]
        if kind == "reader" and door == "the rules' own report":
            assert len(doors.knock(door, table, alone)) == 1, "a used-up reader leaves no slider"
        elif kind == "reader" and door == "compact":
            found = secateur.Rules.from_json(doors.knock(door, table, alone))
            assert {rule.text for rule in found} == {rule.text for rule in doors.COMPACT}
            assert all(rule.support is None for rule in found), "a used-up reader is not read again to count"
            assert found.lines[-1].support == doors.COMPACT.lines[-1].support
        elif doors.knock(door, table, alone) != expected(door):
            wrong.append(kind)
    assert not wrong


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_any_kind_is_explained(kind: str, tmp_path: Path) -> None:
    row = make_table(
        kind, doors.X.iloc[[4]] if kind not in ("glob", "directory") else doors.X.iloc[[4, 5, 6]], tmp_path
    )
    found = doors.RULES.explain(row)
    if kind in ("glob", "directory"):
        assert len(found) == 3
        found = found[0]
    assert found.to_dict() == doors.RULES.explain(doors.X.iloc[4]).to_dict()


@pytest.mark.parametrize("door", doors.LABELLED)
def test_labels_and_rows_come_together(door: str) -> None:
    with pytest.raises(ValueError, match="y"):
        doors.LABELLED[door](doors.X, None)


@pytest.mark.parametrize("door", doors.LABELLED)
def test_an_array_has_no_column_of_labels(door: str) -> None:
    with pytest.raises(ValueError, match=r"y names a column \('outcome'\), but X is an array without names"):
        doors.LABELLED[door](np.asarray(doors.X), doors.TARGET)


@pytest.mark.parametrize("door", fewer(doors.LABELLED))
def test_a_misspelt_column_of_labels_is_named(door: str, tmp_path: Path) -> None:
    for kind in ("pandas", "parquet"):
        with pytest.raises(ValueError, match=r"column 'outcom'.*Did you mean 'outcome'\?"):
            doors.LABELLED[door](make_table(kind, doors.FRAME, tmp_path), "outcom")


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("kind", WIDER)
def test_columns_that_the_model_does_not_know_are_left_aside(kind: str, tmp_path: Path) -> None:
    wider = doors.FRAME.assign(copy=(doors.FRAME[doors.TARGET] == "good").astype(float))[["copy", *doors.FRAME.columns]]
    table = make_table(kind, wider, tmp_path)
    # Every door has rows of one kind, the next door of the next; a thorough run tries all of them.
    for door in doors.DOORS if PROFILE == "thorough" else doors.DOORS[WIDER.index(kind) :: len(WIDER)]:
        if door not in ("RuleClassifier", "predict by a RuleClassifier"):  # which fits, or is asked, as scikit-learn is
            assert doors.knock(door, table, table) == expected(door), door


def test_weights_may_be_a_column_beside_labels_in_an_array() -> None:
    weighted = doors.X.assign(weight=np.arange(len(doors.X)) % 3)
    made = secateur.simplify(doors.TREE, weighted, doors.Y, sample_weight="weight", method="mismatch", each_leaf=True)
    assert (
        made.to_json()
        == secateur.simplify(
            doors.TREE, doors.X, doors.Y, sample_weight=weighted["weight"], method="mismatch", each_leaf=True
        ).to_json()
    )
    with pytest.raises(InputError, match=r"sample_weight names a column \('w'\), but X is an array"):
        secateur.simplify(
            doors.TREE, np.asarray(doors.X), doors.Y, sample_weight="w", method="mismatch", each_leaf=True
        )


@pytest.mark.parametrize("kind", ["pandas", "parquet", "csv"])
def test_listed_cases_may_be_of_any_kind(kind: str, tmp_path: Path) -> None:
    domain = make_table(kind, doors.FRAME, tmp_path), doors.TARGET
    rules = secateur.simplify(doors.TREE, method="mismatch-certified", domain=domain, each_leaf=True)
    assert rules == secateur.simplify(
        doors.TREE, method="mismatch-certified", domain=(doors.X, doors.Y), each_leaf=True
    )
    assert rules.verify().ok
