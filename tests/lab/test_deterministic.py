"""The paper's deterministic table: an unpruned CART on Weather and human-id, M1-D, M2-D and Izza."""

from __future__ import annotations

from typing import Any

import pytest
from drawing import PROFILE
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import Rules, datasets
from secateur.datasets import TABLES
from secateur.lab import deterministic
from secateur.lab.deterministic import DeterministicRow, expected_rows, reproduce_deterministic
from secateur.lab.summary import load_counted

# Typed from the paper: data set, method, rules, conditions, deleted conditions, changed rules.
COUNTS = [
    ("Weather", "M1-D", 7, 23, 7, 5),
    ("Weather", "M2-D", 7, 23, 5, 4),
    ("Weather", "Izza", 7, 23, 7, 5),
    ("human-id", "M1-D", 3, 5, 1, 1),
    ("human-id", "M2-D", 3, 5, 1, 1),
    ("human-id", "Izza", 3, 5, 1, 1),
]

# Typed from the paper: removed %, rules modified %, Δ length, reliability 1, coverage %, conflict %.
CELLS = {
    ("Weather", "M1-D"): (30.43, 71.43, 1.00, "7/7", 100.0, 0.0),
    ("Weather", "M2-D"): (21.74, 57.14, 0.71, "7/7", 100.0, 0.0),
    ("Weather", "Izza"): (30.43, 71.43, 1.00, "7/7", 100.0, 0.0),
    ("human-id", "M1-D"): (20.00, 33.33, 0.33, "3/3", 100.0, 0.0),
    ("human-id", "M2-D"): (20.00, 33.33, 0.33, "3/3", 100.0, 0.0),
    ("human-id", "Izza"): (20.00, 33.33, 0.33, "3/3", 100.0, 0.0),
}

METHODS = ("M1-D", "M2-D", "Izza")


@pytest.fixture(scope="module")
def reproduced() -> dict[tuple[str, str], tuple[DeterministicRow, int]]:
    return {(row.dataset, row.method): (row, state) for row, state in reproduce_deterministic()}


def simplified(title: str, method: str, state: int) -> tuple[datasets.Dataset, Any, Rules]:
    data = datasets.load(title.lower())
    model = DecisionTreeClassifier(random_state=state).fit(data.X, data.y)
    return (
        data,
        model,
        secateur.simplify(model, data.X, data.y, method=method, feature_names=data.feature_names, each_leaf=True),
    )


def cells_of(row: DeterministicRow) -> tuple[Any, ...]:
    return (
        row.removed_pct,
        row.rules_modified_pct,
        row.delta_length,
        row.reliability_one,
        row.coverage_pct,
        row.conflict_pct,
    )


def test_the_table_has_the_papers_rows_in_the_papers_order() -> None:
    wanted = [(dataset, method) for dataset, method, *_ in COUNTS]
    assert [(row.dataset, row.method) for row in expected_rows()] == wanted
    assert [(row.dataset, row.method) for row, _ in reproduce_deterministic()] == wanted


def test_the_expected_cells_are_the_papers() -> None:
    for row in expected_rows():
        assert cells_of(row) == CELLS[row.dataset, row.method]


@pytest.mark.parametrize(("title", "method", "rules", "conditions", "deleted", "changed"), COUNTS)
def test_every_count_is_the_papers(
    reproduced: dict[tuple[str, str], tuple[DeterministicRow, int]],
    title: str,
    method: str,
    rules: int,
    conditions: int,
    deleted: int,
    changed: int,
) -> None:
    row, state = reproduced[title, method]
    _, _, found = simplified(title, method, state)
    assert row.rules == len(found) == rules
    assert sum(len(rule.kept_ids) + len(rule.deleted_ids) for rule in found) == conditions
    assert sum(len(rule.deleted_ids) for rule in found) == deleted
    assert sum(bool(rule.deleted_ids) for rule in found) == changed


@pytest.mark.parametrize("cell", range(6), ids=["removed", "modified", "length", "reliability", "coverage", "conflict"])
@pytest.mark.parametrize(("title", "method"), CELLS)
def test_every_cell_is_the_papers(
    reproduced: dict[tuple[str, str], tuple[DeterministicRow, int]], title: str, method: str, cell: int
) -> None:
    row, _ = reproduced[title, method]
    assert cells_of(row)[cell] == CELLS[title, method][cell]


@pytest.mark.parametrize(("title", "method"), CELLS)
def test_coverage_conflict_and_reliability_hold_row_by_row(
    reproduced: dict[tuple[str, str], tuple[DeterministicRow, int]], title: str, method: str
) -> None:
    _, state = reproduced[title, method]
    data, _, rules = simplified(title, method, state)
    covers = rules.covers(data.X)
    for row, label in enumerate(data.y.tolist()):
        predictions = {rule.prediction for rule in rules if covers[row, rule.index]}
        assert predictions == {label}
    for rule in rules:
        inside = covers[:, rule.index]
        assert rule.support == inside.sum() > 0
        assert rule.reliability == (data.y[inside] == rule.prediction).mean() == 1.0
    assert rules.predict(data.X).tolist() == data.y.tolist()
    assert rules.verify().ok


def test_the_random_state_is_the_smallest_that_gives_all_three_rows(
    reproduced: dict[tuple[str, str], tuple[DeterministicRow, int]],
) -> None:
    for title in ("Weather", "human-id"):
        states = {state for (dataset, _), (_, state) in reproduced.items() if dataset == title}
        assert len(states) == 1
        used = states.pop()
        wanted = [(rules, deleted, changed) for name, _, rules, _, deleted, changed in COUNTS if name == title]
        for state in range(used + 1):
            found = [simplified(title, method, state)[2] for method in METHODS]
            counts = [
                (len(rules), int(rules.deleted.sum()), sum(bool(rule.deleted_ids) for rule in rules)) for rules in found
            ]
            assert (counts == wanted) == (state == used)


def test_where_no_state_gives_the_papers_rows_the_first_tree_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deterministic, "MOST_STATES", 1)
    rows = deterministic.reproduce_deterministic()
    assert [state for _, state in rows] == [0] * 6
    assert [row for row, _ in rows] != deterministic.expected_rows()


@pytest.mark.long
@pytest.mark.drawn
def test_the_stored_states_are_those_of_a_run() -> None:
    """Of the first states, which must be among those that were stored; of all of them in a thorough run."""
    n_states = deterministic.N_STATES if PROFILE == "thorough" else deterministic.N_STATES // 10
    for title, counts in deterministic.count_states(n_states).items():
        stored = load_counted("deterministic_states")[title]
        assert counts["states"] == n_states
        for statement in set(counts) - {"states"}:
            left = stored[statement] - counts[statement]
            assert 0 <= left <= deterministic.N_STATES - n_states, (title, statement)


def test_states_are_counted_one_by_one(reproduced: dict[tuple[str, str], tuple[DeterministicRow, int]]) -> None:
    _, used = reproduced["Weather", "M1-D"]
    found = deterministic.count_states(used + 1)["Weather"]
    assert (found["states"], found["as printed"]) == (used + 1, 1)  # the smallest state is the only one so far
    counts = [[int(simplified("Weather", m, state)[2].deleted.sum()) for m in METHODS] for state in range(used + 1)]
    assert found["M1-D more than Izza"] == sum(ours > izza for ours, _, izza in counts)
    assert found["M1-D as many as Izza"] == sum(ours == izza for ours, _, izza in counts)
    assert found["M1-D more than M2-D"] == sum(ours > sibling for ours, sibling, _ in counts)


# The two tables themselves.


def cells_in(name: str) -> list[tuple[str, ...]]:
    return [tuple(line.split()[:-1]) for line in TABLES[name].strip().splitlines()[1:]]


def test_weather_is_quinlans_table() -> None:
    data = datasets.load("weather")
    assert data.X.shape == (14, 10)
    assert sorted(data.y.tolist()) == ["no"] * 5 + ["yes"] * 9
    assert data.target_name == "Play"
    assert cells_in("weather")[0] == ("sunny", "hot", "high", "false")
    # Overcast days are always played.
    overcast = data.X[:, data.feature_names.index("Outlook=overcast")] == 1
    assert set(data.y[overcast].tolist()) == {"yes"}


def test_human_id_describes_eight_persons() -> None:
    data = datasets.load("human-id")
    assert data.X.shape == (8, 7)
    assert sorted(data.y.tolist()) == ["+"] * 3 + ["-"] * 5
    assert cells_in("human-id")[2] == ("tall", "red", "blue")


@pytest.mark.parametrize("name", ["weather", "human-id"])
def test_the_columns_are_full_one_hot(name: str) -> None:
    data = datasets.load(name)
    assert set(data.X.ravel().tolist()) == {0.0, 1.0}
    attributes = [column.split("=")[0] for column in data.feature_names]
    for attribute in set(attributes):
        block = data.X[:, [column == attribute for column in attributes]]
        assert (block.sum(axis=1) == 1).all()
    for row, cells in enumerate(cells_in(name)):
        lit = [column.split("=")[1] for column, value in zip(data.feature_names, data.X[row], strict=True) if value]
        assert lit == list(cells)


def test_an_unknown_table_is_rejected() -> None:
    with pytest.raises(
        secateur.errors.ParameterError, match="no data set 'wether'; the data sets are weather, human-id"
    ):
        datasets.load("wether")
