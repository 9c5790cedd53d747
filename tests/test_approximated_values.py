"""approximate for regressors: a list of values, and how far they are from the model's."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from forged_files import sign_again
from regression_trees import value_at
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from secateur import RuleRegressor, Rules, approximate, simplify
from secateur.errors import FormatError, InputError, ParameterError

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
FOREST = RandomForestRegressor(20, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def rules() -> Rules:
    return approximate(FOREST, X, Y, max_rules=6)


def resign(content: dict[str, Any]) -> str:
    sign_again(content)
    return json.dumps(content)


def steps(rows: Any) -> Any:
    """Three values, by two columns."""
    rows = np.asarray(rows, dtype=float)
    return np.where(rows[:, 0] > 0, np.where(rows[:, 1] > 0.5, 10.0, 4.5), -3.25)


def make_rows(n_rows: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n_rows, 4)).round(2)


@pytest.mark.parametrize("tolerance", [0, 5.0, "0.5sd", None])
def test_values_stay_within_the_tolerance_of_the_surrogate_on_fresh_rows(tolerance: Any) -> None:
    made = approximate(FOREST, X, tolerance=tolerance, n_queries=3_000)
    fresh = X.sample(300, replace=True, random_state=1) * np.random.default_rng(1).uniform(0.9, 1.1, (300, X.shape[1]))
    surrogate = [float(value_at(made.tree, row)) for row in fresh.to_numpy()]
    assert np.abs(made.predict(fresh) - surrogate).max() <= made.tolerance * (1 + 1e-12)
    answers = FOREST.predict(X)
    if tolerance is None:
        assert made.tolerance == pytest.approx(0.25 * np.std(answers), rel=0.1)  # of three quarters of the rows
    assert made.is_exact
    assert made.verify().ok


def test_a_simple_model_is_found_again() -> None:
    made = approximate(steps, make_rows(2_000), tolerance=0)
    assert len(made.lines) == 3
    assert sorted(line.prediction for line in made.lines) == [-3.25, 4.5, 10.0]
    assert made.fidelity is not None
    assert made.fidelity.r2 > 0.99
    assert made.fidelity.expected > 0.99


def test_fidelity_is_what_a_slow_count_gives(rules: Rules) -> None:
    held = np.sort(np.random.default_rng([0, 1]).permutation(len(X))[: round(0.25 * len(X))])
    said, own, truth = FOREST.predict(X.iloc[held]), rules.predict(X.iloc[held]), Y.iloc[held]
    found = rules.fidelity
    assert found is not None
    assert found.n_rows == len(held)
    assert found.distances == {
        "tolerance": rules.tolerance,
        "mean": pytest.approx(np.abs(own - said).mean()),
        "largest": pytest.approx(np.abs(own - said).max()),
        "r2": pytest.approx(r2_score(said, own)),
        "rules_r2": pytest.approx(r2_score(truth, own)),
        "model_r2": pytest.approx(r2_score(truth, said)),
    }
    near = np.abs(own - said) <= rules.tolerance
    assert found.share == near.mean()
    decided = rules.apply(X.iloc[held])
    for line, one in zip(rules.lines, found.by_rule, strict=True):
        assert (one.n_rows, one.n_same) == ((decided == line.index).sum(), near[decided == line.index].sum())


def test_held_out_rows_have_no_part_in_the_list() -> None:
    rows, other = make_rows(120), make_rows(60, seed=5)
    one, two = (approximate(steps, rows, held_out=held, tolerance="0.1sd") for held in (other, 1000 * other + 7))
    assert one.tree == two.tree
    assert [line.text for line in one.lines] == [line.text for line in two.lines]


@pytest.mark.long
def test_a_wanted_fidelity_is_r2_and_the_shortest_list_that_folds_allow() -> None:
    rows, targets = make_friedman1(300, random_state=0)
    model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(rows, targets)
    lists = [approximate(model, rows, fidelity=wanted, tolerance="0.1sd") for wanted in (0.3, 0.5, 0.7)]
    for made, wanted in zip(lists, (0.3, 0.5, 0.7), strict=True):
        assert made.fidelity is not None
        assert made.fidelity.expected >= wanted
        assert made.fidelity.is_reached == (made.fidelity.r2 >= wanted)
        assert f"You asked for R² {wanted}" in str(made)
    assert lists[0].n_conditions < lists[1].n_conditions < lists[2].n_conditions
    with pytest.warns(UserWarning, match="No list of the wanted length reaches a fidelity of 0.99"):
        approximate(model, rows, fidelity=0.99, max_rules=3)


@pytest.mark.long
def test_what_folds_promise_is_near_what_held_out_rows_show() -> None:
    """The list loses some of its tree's R², which a promise by trees alone would leave out."""
    rows, targets = make_friedman1(2_000, random_state=0)
    model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(rows, targets)
    for tolerance in ("0.1sd", "0.75sd"):
        found = approximate(model, rows, tolerance=tolerance, max_rules=30).fidelity
        assert found is not None
        assert found.r2 == pytest.approx(found.expected, abs=0.05)


@pytest.mark.long
@pytest.mark.parametrize("limit", [1, 3, 8])
def test_a_list_has_the_wanted_length(limit: int) -> None:
    assert len(approximate(FOREST, X, max_rules=limit, n_queries=2_000)) <= limit
    assert approximate(FOREST, X, max_conditions=limit, n_queries=2_000).n_conditions <= limit


def test_categories_and_blanks_are_told_in_the_models_columns() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"city": random.choice(["Rome", "Oslo", "Lima"], 400), "size": random.normal(size=400)})
    table.loc[::9, "size"] = np.nan
    targets = 10.0 * (table["city"] == "Oslo") + 3.0 * (table["size"].fillna(2) > 0.5)
    first = make_column_transformer((OneHotEncoder(sparse_output=False), ["city"]), remainder="passthrough")
    model = make_pipeline(first, HistGradientBoostingRegressor(random_state=0)).fit(table, targets)
    made = approximate(model, table, targets, tolerance=1)
    assert {condition.name for rule in made for condition in rule.conditions} == {"city", "size"}
    assert made.fidelity is not None
    assert made.fidelity.r2 > 0.95
    assert made.verify(table, targets, model=model)


def test_a_model_of_one_value_gets_one_line() -> None:
    made = approximate(lambda rows: np.full(len(rows), 2.5), make_rows(60), tolerance=0.1)
    assert [line.prediction for line in made.lines] == [2.5]
    assert made.fidelity is not None
    assert made.fidelity.r2 is None
    assert made.fidelity.share == 1
    assert Rules.from_json(made.to_json()) == made
    assert "None" not in str(made)


@pytest.mark.long
def test_several_trees_of_values_go_to_approximate() -> None:
    named = {"tolerance": "0.1sd"}
    made = simplify(FOREST, X, Y, **named)
    assert made == approximate(FOREST, X, Y, **named)
    with pytest.raises(ParameterError, match="approximated, and 'budget' is for one tree"):
        simplify(FOREST, X, Y, budget=0.1)
    fitted = RuleRegressor(RandomForestRegressor(20), max_rules=4, tolerance=20, random_state=0).fit(X, Y)
    assert len(fitted.rules_) <= 4
    assert fitted.rules_.fidelity.r2 > 0.3
    assert fitted.rules_.tolerance == 20
    assert fitted.predict(X[:5]).dtype == np.float64


def test_json_brings_everything_back_and_a_model_recounts_it(rules: Rules) -> None:
    again = Rules.from_json(rules.to_json())
    assert again == rules
    assert again.fidelity.to_dict() == rules.fidelity.to_dict()  # type: ignore[union-attr]
    assert again.verify(X, Y, model=FOREST).ok
    told = again.verify(X, model=FOREST)
    assert any("right" in text for text in told.unchecked)
    other = RandomForestRegressor(20, random_state=1).fit(X, Y)
    assert any("not as far apart" in text for text in again.verify(X, Y, model=other).failures)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tolerance", 1.0),
        ("mean", -1.0),
        ("mean", 1e9),
        ("largest", float("1e400")),
        ("r2", 1.5),
        ("r2", "0.9"),
        ("model_r2", True),
    ],
)
def test_distances_that_cannot_be_are_rejected(rules: Rules, name: str, value: Any) -> None:
    content = json.loads(rules.to_json())
    content["approximation"]["distances"][name] = value
    with pytest.raises(FormatError):
        Rules.from_json(resign(content))


@pytest.mark.parametrize("name", ["mean", "r2", "rules_r2", "model_r2"])
def test_a_flattering_distance_is_found_with_the_model(rules: Rules, name: str) -> None:
    content = json.loads(rules.to_json())
    content["approximation"]["distances"][name] *= 0.9
    forged = Rules.from_json(resign(content))
    assert any("not as far apart" in text for text in forged.verify(X, Y, model=FOREST).failures)
    assert forged.verify().unchecked


def test_every_form_tells_of_held_out_rows(rules: Rules) -> None:
    for written in (
        str(rules),
        rules._repr_html_(),
        rules.to_markdown(),
        rules.to_latex(),
        rules.report()._repr_html_(),
    ):
        assert "held" in written
        assert "R" in written
    told = " ".join(str(rules).split())
    assert "R² 0." in told
    assert "apart on average" in told
    assert "training rows" not in told
    assert "Mean and spread" not in told
    assert "which was not asked about this row" in str(rules.explain(X.iloc[[0]]))
    assert rules.to_frame("pandas")["held_out_rows"].sum() == rules.fidelity.n_rows  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (FOREST, {"otherwise": 1}, "otherwise and class_names are about classes"),
        (FOREST, {"class_names": ["a"]}, "otherwise and class_names are about classes"),
        (FOREST, {"tolerance": -1}, "tolerance as a number that is not negative"),
        (FOREST, {"tolerance": "sd"}, "tolerance as a number"),
        (FOREST, {"fidelity": 1.5}, "Expected fidelity as a share above 0"),
        (FOREST, {"y": Y.astype(str)}, "Expected y as numbers"),
        (lambda rows: np.full(len(rows), np.nan), {"tolerance": 1}, "a finite number for each row from the model, fo"),
        (lambda rows: np.full(len(rows), "a"), {"tolerance": 1}, "a finite number for each row from the model, found"),
        (lambda rows: np.zeros((len(rows), 2)), {"tolerance": 1}, r"one value for each of 332 rows .* \(332, 2\)\.$"),
    ],
)
def test_what_values_do_not_have_is_rejected(model: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, ParameterError), match=message), warnings.catch_warnings():
        approximate(model, X, **arguments)


def test_any_regressor_of_scikit_learn_is_approximated() -> None:
    made = approximate(LinearRegression().fit(X, Y), X, Y, max_rules=8)
    assert made.fidelity is not None
    assert made.fidelity.r2 > 0.5
    assert str(made.fidelity).startswith("On 110 held-out rows the rules follow a LinearRegression: R² 0.")
