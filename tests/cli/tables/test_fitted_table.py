"""Trees are fitted to tables as scikit-learn fits them, and read from a part of the rows as from all."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.cli import console
from secateur.cli.tables import fitted_table
from secateur.cli.tables.fitted_table import fit_table, fit_tree, simplify_fitted, split_table
from secateur.cli.tables.table_file import TableFile, read_table
from secateur.cli.tables.training_table import _count_decimals, make_training_table, number_labels
from secateur.rules.making import Split

LABELS = {"texts": ["b", "a", "10", "9"], "numbers": [10, 9, 2, 100], "truths": [True, False, True, False]}


def make_table(path: Path, labels: list[Any], n_rows: int = 240, blank: str = "") -> TableFile:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.normal(size=(n_rows, 3)).round(2), columns=["a", "b", "c"])
    rows["ward"] = rng.choice(["A", "B", "C"], n_rows)
    place = (rows["a"] > 0).astype(int) + 2 * ((rows["b"] > 0) & (rows["ward"] == "A"))
    rows["y"] = np.array(labels)[place.to_numpy()]
    if blank:
        rows.loc[n_rows // 2 + 1, blank] = np.nan
    rows.to_csv(path, index=False)
    return read_table(path)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("drop", [(), ("ward",)])
def test_a_tree_is_fitted_as_scikit_learn_fits_it_to_the_labels(
    tmp_path: Path, kind: str, balanced: bool, drop: tuple[str, ...]
) -> None:
    table = make_training_table(make_table(tmp_path / "t.csv", LABELS[kind]), "y", drop=drop, classes=True)
    fitted = fit_tree(table, balanced=balanced, min_rows=2)
    own = fitted if drop else fitted.steps[-1][1]
    rows = table.X if drop else fitted.steps[0][1].transform(table.X)
    plain = DecisionTreeClassifier(
        max_depth=5, min_samples_leaf=2, random_state=0, class_weight="balanced" if balanced else None
    ).fit(rows, table.y)
    for name in ("feature", "threshold", "value", "children_left", "missing_go_to_left"):
        np.testing.assert_array_equal(getattr(own.tree_, name), getattr(plain.tree_, name))
    assert own.classes_.tolist() == plain.classes_.tolist()
    assert own.classes_.dtype == plain.classes_.dtype
    assert fitted.predict(table.X).tolist() == plain.predict(rows).tolist()


@pytest.mark.parametrize("kind", LABELS)
def test_rows_are_set_aside_as_by_the_texts_of_their_labels(tmp_path: Path, kind: str) -> None:
    table = make_training_table(make_table(tmp_path / "t.csv", LABELS[kind]), "y", classes=True)
    kept, held_out = train_test_split(
        np.arange(len(table.y)), test_size=0.25, stratify=table.y.astype(str), random_state=3
    )
    train, left = split_table(table, Split(0.25, 3))
    assert left is not None
    assert (train.places.tolist(), left.places.tolist()) == (sorted(kept.tolist()), sorted(held_out.tolist()))


@given(st.lists(st.sampled_from(["b", "a", "10", "9", "Ä"]), min_size=1, max_size=30))
def test_labels_are_numbered_in_order(labels: list[str]) -> None:
    values, places = number_labels(np.array(labels, dtype=object))
    assert values.tolist() == sorted(set(labels))
    assert values[places].tolist() == labels


@given(st.lists(st.decimals(-99, 99, places=5).map(float), min_size=600, max_size=620), st.integers(0, 4))
def test_decimals_are_counted_as_by_rounding_every_number(numbers: list[float], places: int) -> None:
    rounded = np.array([*np.round(numbers[:-1], places), numbers[-1]])  # the last may have more
    slow = [n for n in range(4) if all(round(one, n) == one for one in rounded.tolist())]
    if len(np.unique(rounded)) >= 40:
        assert _count_decimals(rounded) == min(slow, default=None)


@pytest.mark.parametrize("blank", ["", "a", "c", "ward"])
def test_a_pipeline_is_read_from_some_rows_as_from_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blank: str
) -> None:
    monkeypatch.setattr(fitted_table, "SHOWN_ROWS", 20)
    table = make_table(tmp_path / "t.csv", LABELS["texts"], blank=blank)
    fitted = fit_table(table, "y", holdout=0.0)
    shown, _ = fitted_table._show_model(fitted)
    assert len(shown) <= 20
    assert not shown.isna().any(axis=None)
    by_some = simplify_fitted(fitted)
    by_all = simplify_fitted(replace(fitted, min_rows=None))  # as a model that was given
    assert by_some.to_json() == by_all.to_json()
    assert (
        by_some.tree.accepts_missing.tolist()
        == secateur.from_model(fitted.model, fitted.train.X).accepts_missing.tolist()
    )


def test_work_is_done_beside_loading_and_its_errors_are_passed_on() -> None:
    assert console.import_during(threading.current_thread, ["secateur.datasets"]) is not threading.main_thread()
    with pytest.raises(ZeroDivisionError):
        console.import_during(lambda: 1 / 0, [])
