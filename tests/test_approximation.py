"""approximate: any classifier as few rules, and how far they say what it says."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from drawing import further
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.stats import beta
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from secateur import Rules, approximate, approximation
from secateur.errors import FormatError, InputError, ParameterError, UnsupportedModelError
from secateur.results import Agreement
from secateur.surrogates.growing import name_model


def make_rows(n_rows: int = 240, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(n_rows, 4)).round(2)


def two_bends(X: Any) -> Any:
    """Say "yes" in two corners."""
    X = np.asarray(X, dtype=float)
    return np.where(((X[:, 0] > 0) & (X[:, 1] > 0.5)) | (X[:, 2] < -1), "yes", "no")


def make_table(n_rows: int = 400, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": random.integers(18, 80, n_rows),
            "income": np.where(random.random(n_rows) < 0.1, np.nan, random.lognormal(7.6, 0.5, n_rows).round(2)),
            "outlook": random.choice(np.array(["sunny", "rain", "overcast", None], dtype=object), n_rows),
            "smoker": random.random(n_rows) < 0.4,
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 99, n_rows), unit="D"),
        }
    )


def say_ill(rows: pd.DataFrame) -> Any:
    """Say "ill" by categories, truth values, whole numbers and numbers with blanks."""
    hot = (rows["outlook"] == "sunny") & (rows["age"] > 40)
    return np.where(hot | (rows["smoker"] & (rows["income"].fillna(2000) < 2500)), "ill", "well")


# What is made.


@pytest.mark.parametrize("random_state", range(3))
def test_the_list_equals_its_surrogate_on_fresh_rows(random_state: int) -> None:
    rules = approximate(two_bends, make_rows(), max_rules=6, random_state=random_state)
    fresh = make_rows(5_000, seed=100 + random_state)
    tree = rules.tree

    def walk(row: Any) -> Any:
        node = 0
        while tree.children_left[node] >= 0:
            goes_left = row[tree.feature[node]] <= tree.threshold[node]
            node = (tree.children_left if goes_left else tree.children_right)[node]
        return tree.classes[tree.leaf_class[node]]

    assert rules.predict(fresh).tolist() == [walk(row) for row in fresh]
    assert rules.is_exact
    assert rules.verify()


def test_a_simple_model_is_found_again() -> None:
    rules = approximate(two_bends, make_rows(2_000), max_rules=3)
    assert len(rules) == 2
    assert rules.fidelity is not None
    assert rules.fidelity.share > 0.98
    asked = {condition.name for rule in rules for condition in rule.conditions}
    assert asked == {"x0", "x1", "x2"}


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**20), st.integers(0, 3))
def test_held_out_rows_have_no_part_in_the_list(seed: int, random_state: int) -> None:
    """Whatever a model says about them, the list is the same."""
    X = make_rows(80)
    first = approximate(two_bends, X, max_rules=4, n_queries=400, random_state=random_state)
    listed = {tuple(row) for row in X}
    building: set[Any] = set()

    def note(rows: Any) -> Any:
        building.update(map(tuple, rows))
        return two_bends(rows)

    n_held = first.fidelity.n_rows  # type: ignore[union-attr]
    approximate(note, X, max_rules=4, n_queries=400, random_state=random_state)
    parts: list[int] = []

    def lie_at_the_end(rows: Any) -> Any:
        """Answer at random where rows are the held-out ones: those that are asked last."""
        parts.append(len(rows))
        said = two_bends(rows)
        if sum(parts) == first.fidelity.n_queries and len(rows) == n_held:  # type: ignore[union-attr]
            return np.random.default_rng(seed).choice(np.array(["no", "yes", "perhaps"]), len(rows))
        return said

    second = approximate(lie_at_the_end, X, max_rules=4, n_queries=400, random_state=random_state)
    assert building >= listed
    assert first.tree == second.tree
    assert [rule.text for rule in first] == [rule.text for rule in second]
    assert second.fidelity.share < first.fidelity.share  # type: ignore[union-attr]


def test_the_values_of_held_out_rows_have_no_part_in_the_list_either() -> None:
    X, other = make_rows(120), make_rows(60, seed=5)
    one = approximate(two_bends, X, held_out=other)
    two = approximate(two_bends, X, held_out=1000 * other + 7)
    assert one.tree == two.tree


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("limit", [1, 5, *further([2, 20])])
def test_a_list_has_the_wanted_length(limit: int) -> None:
    data = load_breast_cancer()
    forest = RandomForestClassifier(30, random_state=0).fit(data.data, data.target)
    assert len(approximate(forest, data.data, max_rules=limit, n_queries=4_000)) <= limit
    assert approximate(forest, data.data, max_conditions=limit, n_queries=4_000).n_conditions <= limit


def test_without_a_wish_the_list_has_at_most_ten_rules() -> None:
    rules = approximate(lambda X: (np.sin(3 * X[:, 0]) * np.cos(3 * X[:, 1]) > 0).astype(int), make_rows(2_000))
    assert 5 < len(rules) <= 10


def test_of_lists_that_are_as_good_as_equal_the_shorter_is_made() -> None:
    """Two conditions say all of it: on folds, a longer list differs by where a limit falls, and no more."""
    X = np.column_stack([np.arange(100.0), np.tile([0.0, 1.0], 50)])
    rules = approximate(lambda rows: (rows[:, 0] > 50) & (rows[:, 1] > 0), X)
    assert (len(rules), rules.n_conditions) == (1, 2)


@pytest.mark.long
def test_a_wanted_fidelity_gives_the_shortest_list_that_folds_allow() -> None:
    X = make_rows(1_000)
    lists = [approximate(two_bends, X, fidelity=wanted) for wanted in (0.6, 0.8, 0.9, 0.99)]
    lengths = [rules.n_conditions for rules in lists]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]
    for wanted, rules in zip((0.6, 0.8, 0.9, 0.99), lists, strict=True):
        assert rules.fidelity.expected >= wanted  # type: ignore[union-attr]


@pytest.mark.long
def test_a_fidelity_out_of_reach_is_said_and_the_most_faithful_list_is_made() -> None:
    random = np.random.default_rng(0)
    noise: dict[Any, int] = {}

    def guess(rows: Any) -> Any:
        return np.array([noise.setdefault(tuple(row), int(random.integers(2))) for row in np.asarray(rows)])

    with pytest.warns(UserWarning, match="No list reaches a fidelity of 0.95"):
        rules = approximate(guess, make_rows(), fidelity=0.95)
    assert "You asked for 95.0 %, which is not reached." in str(rules)
    with pytest.warns(UserWarning, match="No list of the wanted length reaches"):
        approximate(guess, make_rows(), fidelity=0.95, max_rules=2)


def test_many_rows_are_estimated_by_one_fold() -> None:
    X = make_rows(28_000)
    rules = approximate(two_bends, X, n_queries=30_000)
    assert rules.fidelity is not None
    assert rules.fidelity.n_building == 21_000
    assert rules.fidelity.expected == pytest.approx(rules.fidelity.share, abs=0.01)


def test_the_result_is_the_same_each_time_and_another_for_another_seed() -> None:
    X = make_rows()
    one, again, other = (approximate(two_bends, X, random_state=seed) for seed in (3, 3, 4))
    assert one == again
    assert one.fidelity.to_dict() != other.fidelity.to_dict()  # type: ignore[union-attr]


# What is asked.


@pytest.mark.parametrize("n_queries", [60, 240, 241, 1_000])
def test_the_model_is_never_asked_about_more_rows_than_allowed(n_queries: int) -> None:
    asked = 0

    def count(rows: Any) -> Any:
        nonlocal asked
        asked += len(rows)
        return two_bends(rows)

    rules = approximate(count, make_rows(240), n_queries=n_queries)
    assert asked == rules.fidelity.n_queries <= n_queries  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("n_rows", "n_neighbours"), [(20, 10_000), (240, 10_000), (2_000, 15_000), (2_668, 20_000), (4_000, 20_000)]
)
def test_the_model_is_asked_in_few_calls(n_rows: int, n_neighbours: int) -> None:
    """About ten neighbours of each row to learn from, in small tables more, in large ones fewer."""
    sizes = []

    def count(rows: Any) -> Any:
        sizes.append(len(rows))
        return two_bends(rows)

    approximate(count, make_rows(n_rows), max_rules=2)
    assert sizes == [n_rows * 3 // 4, n_neighbours, n_rows // 4]


def test_neighbours_keep_the_types_and_values_of_columns() -> None:
    table = make_table()
    table["ward"] = pd.Categorical(np.resize(["a", "b"], len(table)))
    seen = []

    def look(rows: Any) -> Any:
        seen.append(rows)
        return say_ill(rows)

    approximate(look, table)
    for rows in seen:
        assert rows.dtypes.equals(table.dtypes)
        for column in table:
            assert set(rows[column].dropna()) <= set(table[column].dropna())
    assert len(seen[1]) == 10_000


def add_a_column(rows: Any) -> Any:
    rows["e"] = rows["a"] * rows["b"]
    return np.asarray(rows["e"] > 0)


def sort_in_place(rows: Any) -> Any:
    rows.sort(axis=0)
    return rows[:, 0] > 0


def insert_in_place(rows: Any) -> Any:
    rows.insert_column(0, (rows["a"] * rows["b"]).alias("e"))
    return np.asarray(rows["e"] > 0)


@pytest.mark.parametrize("held_out", ["some", "others"])
@pytest.mark.parametrize("model", [add_a_column, sort_in_place, insert_in_place])
def test_a_model_that_changes_its_rows_changes_no_others(model: Any, held_out: str) -> None:
    def careful(rows: Any) -> Any:
        return model(rows.clone() if isinstance(rows, pl.DataFrame) else rows.copy())

    def make(seed: int) -> Any:
        rows = make_rows(200, seed)
        frame = pd.DataFrame(rows, columns=list("abcd"))
        return {add_a_column: frame, sort_in_place: rows, insert_in_place: pl.from_pandas(frame)}[model]

    X, other = make(0), make(1)
    rules = approximate(model, X, held_out=0.25 if held_out == "some" else other)
    told = approximate(careful, make(0), held_out=0.25 if held_out == "some" else make(1))
    assert rules.tree == told.tree
    assert rules.fidelity.counts.tolist() == told.fidelity.counts.tolist()  # type: ignore[union-attr]
    for rows, seed in ((X, 0), (other, 1)):
        assert np.asarray(rows).tolist() == make_rows(200, seed).tolist()


# What is measured.


def test_fidelity_is_what_a_slow_count_gives() -> None:
    data = load_iris()
    model = RandomForestClassifier(20, random_state=0).fit(data.data[::2], data.target[::2])
    new, truth = data.data[1::2], data.target[1::2]
    rules = approximate(model, data.data[::2], held_out=(new, truth), n_queries=900, class_names=data.target_names)
    found = rules.fidelity
    assert found is not None
    said, meant, decider = rules.predict(new), model.predict(new), rules.apply(new)
    assert found.overall[:2] == (len(new), sum(a == b for a, b in zip(said, meant, strict=True)))
    for place, one in enumerate(found.by_rule):
        mine = [row for row in range(len(new)) if decider[row] == place]
        assert one[:2] == (len(mine), sum(said[row] == meant[row] for row in mine))
    assert len(found.by_class) == len(rules.tree.classes)
    for place, one in enumerate(found.by_class):
        mine = [row for row in range(len(new)) if meant[row] == place]
        assert one[:2] == (len(mine), sum(said[row] == meant[row] for row in mine))
    assert found.n_right == (said == truth).sum()
    assert found.n_model_right == (meant == truth).sum()
    n_same, n_rows = found.overall.n_same, found.overall.n_rows
    assert found.interval == pytest.approx(
        (beta.ppf(0.025, n_same, n_rows - n_same + 1), beta.ppf(0.975, n_same + 1, n_rows - n_same))
    )
    leaves = {leaf: [0, 0] for leaf in found.leaf_ids.tolist()}
    for row in range(len(new)):
        leaf = rules.explain(new[row]).own_rule.leaf_id
        leaves[leaf][0] += 1
        leaves[leaf][1] += int(said[row] == meant[row])
    assert found.leaf_counts.tolist() == list(leaves.values())


def test_the_weakest_region_has_enough_rows_and_an_interval_that_allows_for_the_choice() -> None:
    X = make_rows(1_200)
    model = RandomForestClassifier(20, random_state=0).fit(X, two_bends(X))
    rules = approximate(model, X, max_rules=1)
    found = rules.fidelity
    assert found is not None
    weakest = found.weakest
    assert weakest is not None
    large = found.leaf_counts[found.leaf_counts[:, 0] >= 10]
    assert weakest.n_regions == len(large)
    assert weakest.agreement.share == (large[:, 1] / large[:, 0]).min()
    assert weakest.agreement.level == pytest.approx(1 - 0.05 / len(large))
    plain = Agreement(weakest.agreement.n_rows, weakest.agreement.n_same)
    assert weakest.agreement.interval[0] < plain.interval[0]  # type: ignore[index]
    assert f"the lowest of {len(large)} regions" in str(rules)


@pytest.mark.long
def test_the_interval_covers_the_fidelity_on_a_large_fresh_sample() -> None:
    """benchmarks/approximate_coverage.py has the large run; this one is small, and the same every time."""
    large = make_rows(5_000, seed=9)
    wanted, covered = two_bends(large), 0
    for seed in range(100):
        X = make_rows(120, seed=1_000 + seed)
        rules = approximate(two_bends, X, max_rules=1 + seed % 3, n_queries=240, random_state=seed)
        low, high = rules.fidelity.interval  # type: ignore[union-attr]
        covered += low <= (rules.predict(large) == wanted).mean() <= high
    assert covered >= 94


def test_nothing_is_said_to_be_explained() -> None:
    rules = approximate(two_bends, make_rows(), two_bends(make_rows()), fidelity=0.9)
    for text in (str(rules), repr(rules), rules.guarantee, rules._repr_html_(), rules.to_markdown(), rules.to_html()):
        assert "approximate" in text
        assert "explains" not in text.split("<script")[0]


# Models and rows of all kinds.


def test_a_pipeline_with_categories_is_told_in_its_own_columns() -> None:
    table = make_table()
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["outlook"]), ("passthrough", ["age", "income", "smoker"])
    )
    model = make_pipeline(encode, RandomForestClassifier(30, random_state=0)).fit(table, say_ill(table))
    rules = approximate(model, table, say_ill(table), max_rules=4)
    text = str(rules)
    assert "These rules approximate a RandomForestClassifier" in text
    assert "outlook is sunny" in text
    assert "smoker is True" in text
    assert "seen" not in text
    fresh = make_table(300, seed=7)
    assert (rules.predict(fresh) == model.predict(fresh)).mean() > 0.85
    assert rules.verify()


def test_blanks_are_told_apart_and_unknown_categories_are_taken() -> None:
    def model(rows: Any) -> Any:
        return (rows["income"].isna() | (rows["outlook"].isna())).astype(int)

    table = make_table(800)
    rules = approximate(model, table)
    assert rules.fidelity.share == 1  # type: ignore[union-attr]
    strange = table.head(5).assign(outlook="fog", income=1.0)
    assert rules.predict(strange).tolist() == [0] * 5


def test_a_blank_that_only_held_out_rows_have_is_taken() -> None:
    X = make_rows(100)
    other = X[:30].copy()
    other[3, 0] = np.nan
    rules = approximate(lambda rows: (np.nan_to_num(rows[:, 0]) > 0).astype(int), X, held_out=other)
    assert rules.fidelity.n_rows == 30  # type: ignore[union-attr]


def test_frames_of_polars_are_asked_about_as_they_are() -> None:
    table = pl.DataFrame({"x": np.arange(100.0), "who": ["ann", "bob"] * 50, "flag": [True, False, None, True] * 25})
    kinds = []

    def model(rows: Any) -> Any:
        kinds.append((type(rows), tuple(rows.schema.items())))
        return (rows["x"].to_numpy() > 50) & (rows["who"].to_numpy() == "ann")

    rules = approximate(model, table)
    assert set(kinds) == {(pl.DataFrame, tuple(table.schema.items()))}
    assert "False if who is bob" in str(rules)
    assert rules.fidelity.share > 0.9  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "catboost"])
def test_boosted_models_of_other_libraries_are_approximated(kind: str) -> None:
    pytest.importorskip(kind)
    X = pd.DataFrame(make_rows(400), columns=list("abcd"))
    y = (two_bends(X) == "yes").astype(int)
    if kind == "xgboost":
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=20, n_jobs=1)
    elif kind == "lightgbm":
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1)
    else:
        from catboost import CatBoostClassifier

        model = CatBoostClassifier(iterations=20, verbose=False, thread_count=1, allow_writing_files=False)
    rules = approximate(model.fit(X, y), X, y)
    assert rules.tree.classes.tolist() == [0, 1]
    assert rules.fidelity.share > 0.85  # type: ignore[union-attr]
    assert type(model).__name__ in str(rules)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        LogisticRegression(),
        MLPClassifier((5,), max_iter=50, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_any_classifier_of_scikit_learn_is_approximated(model: Any) -> None:
    X = make_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, two_bends(X))
    rules = approximate(model, X, feature_names=["a", "b", "c", "d"], class_names=["No", "Yes"])
    assert rules.tree.classes.tolist() == ["no", "yes"]
    assert rules.tree.class_names == ("No", "Yes")
    assert rules.tree.feature_names == ("a", "b", "c", "d")


def test_a_table_with_labels_in_it_and_more_columns_than_the_model_takes() -> None:
    table = make_table().assign(who=range(400))
    table["state"] = say_ill(table)
    model = make_pipeline(
        make_column_transformer(("passthrough", ["age", "smoker"])), RandomForestClassifier(10, random_state=0)
    ).fit(table[["age", "smoker"]], table["state"])
    rules = approximate(model, table, "state")
    assert rules.tree.feature_names == ("age", "smoker")
    assert rules.fidelity.n_right is not None  # type: ignore[union-attr]


@pytest.mark.long
def test_a_table_in_a_file_is_read(tmp_path: Any) -> None:
    X = pd.DataFrame(make_rows(), columns=list("abcd"))
    model = RandomForestClassifier(10, random_state=0).fit(X, two_bends(X))
    X.assign(said=two_bends(X)).to_parquet(tmp_path / "rows.parquet")
    rules = approximate(model, str(tmp_path / "rows.parquet"), "said")
    assert rules == approximate(model, X, two_bends(X))
    with pytest.raises(InputError, match="taken with the column of their labels: pass y"):
        approximate(model, str(tmp_path / "rows.parquet"))


def test_arrays_of_objects_truth_values_and_small_and_large_numbers() -> None:
    X = np.column_stack([make_rows(100).astype(object), np.resize(np.array(["a", "b"], dtype=object), 100)])
    rules = approximate(lambda rows: rows[:, 4] == "a", X)
    assert "x4 is not b" in str(rules) or "x4 is a" in str(rules)
    assert rules.fidelity.share == 1  # type: ignore[union-attr]
    flags = np.random.default_rng(0).random((100, 3)) < 0.5
    assert approximate(lambda rows: rows[:, 1], flags).fidelity.share == 1  # type: ignore[union-attr]
    tiny = 1e-30 * make_rows(200)
    assert approximate(lambda rows: rows[:, 0] > 0, tiny).fidelity.share == 1  # type: ignore[union-attr]
    huge = 1e300 * make_rows(200)
    assert approximate(lambda rows: rows[:, 0] > 0, huge).fidelity.share == 1  # type: ignore[union-attr]


def test_a_model_that_says_one_class_gets_one_line() -> None:
    rules = approximate(lambda rows: np.full(len(rows), "no"), make_rows())
    assert len(rules) == 0
    assert "1. no always" in str(rules)
    assert rules.fidelity.share == 1  # type: ignore[union-attr]
    assert Rules.from_json(rules.to_json()) == rules


def test_a_class_that_only_held_out_rows_get_counts_as_another() -> None:
    X = make_rows(100)
    rules = approximate(lambda rows: np.where(rows[:, 0] > 50, "far", "near"), X, held_out=X[:30] + 100)
    assert rules.fidelity.overall[:2] == (30, 0)  # type: ignore[union-attr]
    assert rules.fidelity.by_class[-1][:2] == (30, 0)  # type: ignore[union-attr]
    assert "another class" not in str(rules)  # one class among the held-out rows: nothing to tell apart


@pytest.mark.long
def test_a_thousand_classes() -> None:
    X = np.random.default_rng(0).random((3_000, 2))
    rules = approximate(lambda rows: (1000 * rows[:, 0]).astype(int), X, max_rules=20, n_queries=4_000)
    assert len(rules) <= 20
    assert rules.fidelity.share < 0.2  # type: ignore[union-attr]
    assert "other classes" in str(rules)


def test_columns_that_rules_cannot_ask_about_leave_one_line() -> None:
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60)})
    rules = approximate(lambda rows: (rows["day"].dt.day > 15).astype(int), days)
    assert len(rules) == 0


@pytest.mark.parametrize(
    ("kind", "article"),
    [
        *(("XGBClassifier", "an"), ("LGBMClassifier", "an"), ("MLPClassifier", "an"), ("SVC", "an"), ("HMM", "an")),
        *(("KNeighborsClassifier", "a"), ("CatBoostClassifier", "a"), ("NuSVC", "a"), ("GaussianNB", "a")),
        *(("ExtraTreesClassifier", "an"), ("AdaBoostClassifier", "an"), ("LinearSVC", "a"), ("TabNetClassifier", "a")),
    ],
)
def test_a_model_is_named_as_it_is_said_aloud(kind: str, article: str) -> None:
    model = type(kind, (), {"predict": lambda self, X: X})()
    assert name_model(model) == f"{article} {kind}"


# What is rejected.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fidelity": 0}, "Expected fidelity as a share above 0 and up to 1"),
        ({"fidelity": "0.9"}, "Expected fidelity as a share"),
        ({"max_rules": 0}, "Expected max_rules as a whole number from 1 on, found 0"),
        ({"max_conditions": 2.5}, "Expected max_conditions as a whole number"),
        ({"n_queries": -1}, "Expected n_queries as a whole number"),
        ({"held_out": 1.5}, "Expected held_out as a share between 0 and 1"),
        ({"random_state": None}, "Expected random_state as a whole number"),
        ({"feature_names": ["a"]}, "Expected feature_names as a list of 4 names"),
        ({"otherwise": "perhaps"}, "no class .perhaps. to leave to otherwise"),
        ({"class_names": ["one"]}, "Expected 2 different class_names"),
    ],
)
def test_a_wrong_argument_is_rejected(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        approximate(two_bends, make_rows(), **arguments)


def fail(rows: Any) -> Any:
    raise KeyError("income")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (fail, "The model could not answer for the rows: 'income'. Pass rows as the model takes them"),
        (lambda X: np.zeros((len(X), 3)), r"Expected one class for each of 180 rows .* shape \(180, 3\). If these are"),
        (lambda X: [1], r"Expected one class for each of 180 rows from the model, found an array of shape \(1,\)"),
        (lambda X: np.full(len(X), 0.25), "numbers such as 0.25, and rules say classes: pass a function"),
        (lambda X: np.full(len(X), np.nan), "The model answered NaN"),
        (lambda X: [None] * len(X), "The model answered None"),
        (lambda X: np.where(X[:, 0] > 0, np.inf, 0), "numbers such as inf, and rules say classes"),
        (lambda X: np.where(X[:, 0] > 0, 1e30, 0), r"numbers such as 1e\+30, and rules say classes"),
        (lambda X: [[1]] + [[1, 2]] * (len(X) - 1), "found lists of different lengths"),
        (lambda X: None, r"found an array of shape \(\)"),
        (lambda X: [("a", 1)] * len(X), r"found an array of shape \(180, 2\)"),
        (lambda X: np.array(["a", 1] * 90, dtype=object), "classes of several types"),
    ],
)
def test_a_model_that_gives_no_classes_is_told_so_in_a_sentence(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        approximate(model, make_rows())


@pytest.mark.parametrize("model", [None, "forest", RandomForestClassifier, 3])
def test_what_cannot_be_asked_is_rejected(model: Any) -> None:
    with pytest.raises(UnsupportedModelError, match="Expected a fitted classifier or regressor with predict, or a fun"):
        approximate(model, make_rows())


def test_a_model_that_is_not_fitted_says_so() -> None:
    with pytest.raises(InputError, match="not fitted yet"):
        approximate(RandomForestClassifier(), make_rows())


def test_the_columns_that_a_model_lacks_are_named() -> None:
    X = pd.DataFrame(make_rows(), columns=list("abcd"))
    model = RandomForestClassifier(5, random_state=0).fit(X, two_bends(X))
    with pytest.raises(
        InputError, match=r"could not answer .*\. It was fitted on columns that the rows lack: 'b', 'd'"
    ):
        approximate(model, X[["a", "c"]])


def test_a_model_of_another_input_is_told_to_be_wrapped() -> None:
    xgboost = pytest.importorskip("xgboost")
    X = make_rows()
    booster = xgboost.train({}, xgboost.DMatrix(X, two_bends(X) == "yes"), 2)
    with pytest.raises(InputError, match=r"DMatrix .* or a function that makes its input of them"):
        approximate(booster, X)
    rules = approximate(lambda rows: booster.predict(xgboost.DMatrix(rows)) > 0.5, X)
    assert rules.fidelity.share > 0.8  # type: ignore[union-attr]


def test_too_few_rows_are_rejected_and_few_held_out_rows_have_a_wide_interval() -> None:
    with pytest.raises(InputError, match=r"Expected at least 20 rows, .* found 19"):
        approximate(two_bends, make_rows(19))
    with pytest.raises(InputError, match=r"Expected at least 10 rows to learn from, found 3: .*n_queries"):
        approximate(two_bends, make_rows(100), n_queries=4)
    with pytest.raises(InputError, match="Expected at least 10 rows to learn from, found 5"):
        approximate(two_bends, make_rows(5), held_out=make_rows(50))
    rules = approximate(two_bends, make_rows(20))
    low, high = rules.fidelity.interval  # type: ignore[union-attr]
    assert high - low > 0.4
    assert "too few to tell" in str(rules)


def test_rows_of_other_columns_and_labels_of_other_classes_are_rejected() -> None:
    X = make_rows()
    with pytest.raises(InputError, match="held_out has other columns than X: 3 without names instead of 4 without"):
        approximate(two_bends, X, held_out=X[:, :3])
    with pytest.raises(InputError, match="held_out has no rows"):
        approximate(two_bends, X, held_out=X[:0])
    with pytest.raises(InputError, match="No label of y is a class of the model: y holds"):
        approximate(two_bends, X, np.resize([1, 2], len(X)))
    with pytest.raises(InputError, match="Expected one label for each of the 240 rows"):
        approximate(two_bends, X, [1, 2])
    with pytest.raises(InputError, match="sparse matrix"):
        approximate(two_bends, csr_matrix(X))
    with pytest.raises(InputError, match="infinite"):
        approximate(lambda rows: np.isfinite(rows[:, 0]), np.where(X > 2, np.inf, X))


@pytest.mark.parametrize(
    ("column", "other"),
    [
        ([1.5, 2.5], ["a", "b"]),
        ([1.5, 2.5], [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-02")]),
        ([True, False], [1.5, 2.5]),
        ([True, False, None], ["yes", "no", None]),
    ],
)
def test_held_out_values_of_another_kind_are_rejected(column: list[Any], other: list[Any]) -> None:
    X, held = (pd.DataFrame({"a": values * 30, "b": range(30 * len(values))}) for values in (column, other))
    with pytest.raises(InputError, match="Column 'a' of held_out holds other values than that of X"):
        approximate(lambda rows: np.asarray(rows["b"] > 9), X, held_out=held)


def test_held_out_blanks_and_truth_values_as_zeros_and_ones_are_taken() -> None:
    numbers, flags = (pd.DataFrame({"a": values}) for values in ([2.0, 0.0, 1.0] * 20, [True, False, True] * 20))
    blank = pd.DataFrame({"a": np.full(9, np.nan)})
    for X, held, n_same in [(numbers, blank, 0), (numbers, flags, 60), (flags, flags.astype(int), 60)]:
        rules = approximate(lambda rows: np.asarray(rows["a"].astype(float) > 0), X, held_out=held, otherwise=True)
        assert rules.fidelity.overall[:2] == (len(held), n_same)  # type: ignore[union-attr]


def test_held_out_columns_are_taken_by_name() -> None:
    X = pd.DataFrame(make_rows(), columns=list("abcd"))
    told = approximate(two_bends, X, held_out=X)
    assert approximate(two_bends, X, held_out=X[list("dbca")]) == told
    assert approximate(two_bends, X, held_out=pl.from_pandas(X)[list("dbca")]) == told
    with pytest.raises(InputError, match=r"held_out has other columns than X: 'A', 'b', 'c', 'd' instead of 'a', 'b'"):
        approximate(two_bends, X, held_out=X.rename(columns={"a": "A"}))


@pytest.mark.parametrize("held_out", [None, True, 0, "half"])
def test_what_is_neither_a_share_nor_rows_is_not_held_out(held_out: Any) -> None:
    with pytest.raises((ParameterError, InputError), match=r"held_out as a share between 0 and 1|no file half"):
        approximate(two_bends, make_rows(), held_out=held_out)


def test_held_out_rows_of_different_lengths_are_told_by_name() -> None:
    X = make_rows(60)
    with pytest.raises(InputError, match="Expected held_out as a table, with the same number of values in each row"):
        approximate(two_bends, X, held_out=[X.tolist(), two_bends(X)])


@pytest.mark.parametrize(
    "labels",
    [
        np.where(np.arange(60) < 5, None, "yes"),
        np.where(np.arange(60) < 5, np.nan, 1.0),
        pd.Series(["yes"] * 60, dtype="string").mask(np.arange(60) < 5),
    ],
)
def test_rows_without_a_label_are_rejected_rather_than_counted_as_wrong(labels: Any) -> None:
    with pytest.raises(InputError, match=r"y holds no label for 5 of 60 rows. Leave these rows out, or leave y out"):
        approximate(two_bends, make_rows(60), labels)


# What is stored.


@pytest.fixture(scope="module")
def rules() -> Rules:
    table = make_table()
    return approximate(say_ill, table, say_ill(table), fidelity=0.9)


def test_json_brings_everything_back(rules: Rules) -> None:
    again = Rules.from_json(rules.to_json())
    assert again == rules
    assert again.fidelity.to_dict() == rules.fidelity.to_dict()  # type: ignore[union-attr]
    assert str(again).replace(",", "") == str(rules).replace(",", "")
    assert again.verify()
    assert any("cannot be counted again without the model" in text for text in again.verify().unchecked)


def test_a_fidelity_that_was_edited_is_rejected(rules: Rules) -> None:
    content = json.loads(rules.to_json())
    content["approximation"]["fidelity"] = 0.999
    with pytest.raises(FormatError, match="do not add up to its fidelity; it was edited"):
        Rules.from_json(json.dumps(content))
    content = json.loads(rules.to_json())
    content["approximation"]["counts"][0] = [0] * len(content["approximation"]["counts"][0])
    with pytest.raises(FormatError):
        Rules.from_json(json.dumps(content))
    content = json.loads(rules.to_json())
    content["approximation"]["model"] = "a BetterOne"
    content["approximation"]["n_building"] += 1
    content["approximation"]["n_queries"] += 1
    altered = Rules.from_json(json.dumps(content)).verify()
    assert not altered
    assert any("digest" in failure for failure in altered.failures)


def test_every_form_tells_of_held_out_rows(rules: Rules) -> None:
    frame = rules.to_frame("pandas")
    assert frame["held_out_rows"].sum() == rules.fidelity.n_rows  # type: ignore[union-attr]
    assert (frame["fidelity_low"] <= frame["fidelity"]).all()
    for written in (rules._repr_html_(), rules.to_markdown(), rules.to_latex()):
        assert "held-out rows" in written.lower()
        assert "training rows" not in written
    assert "held_out_rows" in rules.to_csv().splitlines()[0]
    assert "which was not asked about this row" in str(rules.explain(make_table(1, seed=3)))


def test_the_rows_held_do_not_change_what_is_told(rules: Rules) -> None:
    assert rules.without_rows().fidelity is rules.fidelity


def test_a_wide_table_gets_fewer_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    monkeypatch.setattr(approximation, "MOST_CELLS", 4 * 500)
    rules = approximate(lambda rows: (np.asarray(rows)[:, 0] > 0).astype(int), X, max_rules=3)
    assert rules.fidelity is not None
    assert rules.fidelity.n_neighbours == 500


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("seed", [0, *further([1, 2])])
def test_a_class_that_is_rare_is_found(seed: int) -> None:
    """36 of 5,000 rows: agreement over all rows would be 99 % for saying "no" to everyone."""
    X = np.random.default_rng(seed).normal(size=(5_000, 8))
    y = np.zeros(len(X), dtype=int)
    y[np.argsort(0.3 * np.maximum(X[:, 2], 0) - np.minimum(X[:, 0], X[:, 1]))[:36]] = 1
    X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    model = GradientBoostingClassifier(random_state=0).fit(X_train, y_train)
    said = approximate(model, X_train).predict(X_new)
    assert y_new.sum() == 11
    assert (said & y_new).sum() >= 8
    assert (said & (1 - y_new)).sum() <= 8


def test_a_model_that_says_one_class_on_all_held_out_rows_is_compared_with_saying_it_always() -> None:
    learned, held = make_rows(), make_rows(seed=1)
    held = held[two_bends(held) == "no"]
    rules = approximate(two_bends, learned, held_out=held, max_rules=3)
    assert rules.fidelity is not None
    assert [one.n_rows for one in rules.fidelity.by_class] == [len(held), 0]
    text = " ".join(str(rules).split())
    assert "; always saying no would for 100.0 %." in text
    assert f"The model says yes for none of {len(held)} held-out rows, so nothing is known about yes." in text
