from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from loans import make_loans
from sklearn.base import clone

from secateur.cli.tables.fitted_table import (
    MAX_CATEGORIES,
    find_facts,
    fit_table,
    fit_tree,
    label_rows,
    simplify_fitted,
    split_table,
)
from secateur.cli.tables.table_file import TableFile, read_table
from secateur.cli.tables.training_table import TrainingTable, make_training_table, split_names
from secateur.errors import InputError, ParameterError, SecateurError
from secateur.rules.making import Split


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> TableFile:
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    loans = make_loans()
    loans.loc[[3, 7], "outcome"] = None
    loans.to_csv(path, index=False)
    return read_table(path)


def small(tmp_path: Path, **columns: Any) -> TableFile:
    path = tmp_path / "t.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return read_table(path)


def test_every_row_and_column_that_is_left_out_is_told(table: TableFile) -> None:
    used = make_training_table(table, "outcome")
    assert list(used.X.columns) == ["age", "income", "children", "purpose", "member", "applied"]
    assert used.categories == ("purpose", "member")
    assert used.whole == ("age", "children", "applied")
    assert used.decimals == {"income": 2}
    assert used.filled == tuple(column for column in used.X.columns if used.X[column].notna().all())
    assert len(used.X) == len(used.y) == 398
    assert used.notes == (
        "Left out 2 rows without a value of 'outcome'.",
        "Left out 'number': it only numbers the rows.",
        "Left out 'name': every row has a different value, like a name or an identifier.",
        "Left out 'bank': it has the same value in every row.",
        "Read as dates applied (yyyy-mm-dd) (--text COLUMN keeps one as text).",
    )


def test_columns_and_classes_can_be_dropped(table: TableFile) -> None:
    used = make_training_table(table, "purpose", drop=["name", "number", "applied"], drop_classes=["boat"])
    assert set(used.y) == {"car", "travel"}
    assert "number" not in used.X.columns
    assert any(note.startswith("Left out ") and note.endswith("rows of the classes boat.") for note in used.notes)


def test_names_with_commas_are_one_name_where_there_is_such_a_column() -> None:
    assert split_names(["a", "b", "a,b"], ["a,b"], "t") == ["a,b"]
    assert split_names(["a", "b", "c"], ["a, b", "c"], "t") == ["a", "b", "c"]


@pytest.mark.parametrize("method", ["none", "exact", "faithful", "budgeted", "quinlan"])
def test_the_rules_are_those_of_the_fitted_pipeline(method: str, table: TableFile) -> None:
    fitted = fit_table(table, "outcome")
    rules = simplify_fitted(fitted, method=method, each_leaf=True)
    rows, model = fitted.train.X, fitted.model
    leaves = model.named_steps["tree"].apply(model.named_steps["columns"].transform(rows))
    assert [rule.source_support for rule in rules] == [float((leaves == rule.leaf_id).sum()) for rule in rules]
    held = rules.covers(rows)
    assert [rule.support for rule in rules] == held.sum(axis=0).tolist()
    assert rules.verify().ok
    assert {condition.name for rule in rules for condition in rule.conditions} <= set(rows.columns)


def test_exact_rules_predict_what_the_pipeline_predicts_for_rows_that_it_never_saw(table: TableFile) -> None:
    fitted = fit_table(table, "outcome", max_depth=8)
    rules = simplify_fitted(fitted, each_leaf=True)
    rng = np.random.default_rng(1)
    rows = fitted.train.X.copy()
    for column in rows.columns:
        rows[column] = rows[column].sample(frac=1, random_state=2).to_numpy()
    rows["purpose"] = rows["purpose"].mask(rng.random(len(rows)) < 0.3, "spaceship")
    rows["member"] = rows["member"].mask(rng.random(len(rows)) < 0.3, np.nan)
    rows["income"] = rows["income"].mask(rng.random(len(rows)) < 0.3, np.nan)
    rows["age"] = rows["age"].astype(float).mask(rng.random(len(rows)) < 0.3, np.nan)
    assert (rules.predict(rows) == fitted.model.predict(rows)).all()


def test_what_the_table_shows_is_a_stated_fact_unless_no_facts_are_taken(table: TableFile) -> None:
    fitted = fit_table(table, "outcome", max_depth=8, min_rows=1, drop=["applied"])
    rules, plain = (simplify_fitted(fitted, each_leaf=True, takes_facts=taken) for taken in (True, False))
    whole, facts = find_facts(rules.tree, fitted.train)
    assert whole == ["age", "children"]
    assert facts == ["income has 2 decimals", "age is not missing", "member is not missing"]
    assert {str(claim) for claim in rules.tree.facts.claims} == set(facts[1:])
    assert not plain.tree.facts.claims
    assert rules.verify().ok
    assert rules.deleted.sum() >= plain.deleted.sum()
    assert (rules.predict(fitted.train.X) == plain.predict(fitted.train.X)).all()


def test_rare_categories_count_as_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    city = rng.integers(0, 60, 2000)
    table = small(tmp_path, city=[f"c{i}" for i in city], y=np.where(city % 2 == 0, "even", "odd"))
    fitted = fit_table(table, "y")
    encoder = fitted.model.named_steps["columns"].named_transformers_["categories"]
    assert encoder.transform(fitted.train.X).shape[1] == MAX_CATEGORIES + 1
    counted = fitted.train.X["city"].value_counts()
    rare = set(encoder.infrequent_categories_[0])
    assert len(set(counted.index) - rare) == MAX_CATEGORIES
    assert counted[counted.index.isin(rare)].max() <= counted[~counted.index.isin(rare)].min()
    assert any("count as one" in remark for remark in simplify_fitted(fitted, each_leaf=True).remarks)


def test_columns_are_judged_by_the_rows_that_are_used(tmp_path: Path) -> None:
    """The rows without a label are the only ones with another value, or with a value at all."""
    n_rows = 40
    labels = [None, None, *["x", "z"] * 19]
    table = small(
        tmp_path,
        constant=[1.5, 2.5, *[3.5] * 38],
        blank=[1.5, 2.5, *[None] * 38],
        blank_text=["p", "q", *[None] * 38],
        number=range(n_rows),
        good=[1.5, 2.5] * 20,
        y=labels,
    )
    used = make_training_table(table, "y")
    assert list(used.X.columns) == ["good"]
    assert used.notes == (
        "Left out 2 rows without a value of 'y'.",
        "Left out 'constant': it has the same value in every row that is used.",
        "Left out 'blank': it is blank in every row that is used.",
        "Left out 'blank_text': it is blank in every row that is used.",
        "Left out 'number': it only numbers the rows.",
    )
    assert list(used.X.index) == list(range(38))


def test_a_column_of_one_value_and_blanks_is_used(tmp_path: Path) -> None:
    table = small(tmp_path, flag=["yes", None] * 20, part=[7.5, None, None, None] * 10, y=["x", "z"] * 20)
    fitted = fit_table(table, "y")
    assert list(fitted.train.X.columns) == ["flag", "part"]
    assert (fitted.model.predict(fitted.train.X) == fitted.train.y).all()


def test_rows_are_counted_as_in_the_file(tmp_path: Path) -> None:
    """Messages name the row of the file, also where rows above it have no label."""
    labels = [None, None, None, *["x", "z"] * 20]
    large = small(tmp_path, a=[*range(41), 1e300, 5], y=labels)
    with pytest.raises(InputError, match=r"'a' holds '1e\+300' \(row 42\)"):
        make_training_table(large, "y")
    mixed = small(tmp_path, a=[*range(41), "much", 5], y=labels)
    with pytest.raises(InputError, match=r"'a' holds 'much' \(row 42\)"):
        make_training_table(mixed, "y")


def test_large_whole_numbers_are_labels_only_where_they_are_exact(tmp_path: Path) -> None:
    exact = small(tmp_path, a=[1, 2] * 20, y=[2**53, 2**53 + 1] * 20)
    assert set(make_training_table(exact, "y").y.tolist()) == {2**53, 2**53 + 1}
    below = small(tmp_path, a=[1, 2, 3] * 20, y=pd.array([2**53 - 1, 2**53 - 2, None] * 20, dtype="Int64"))
    assert set(make_training_table(below, "y").y.tolist()) == {2**53 - 1, 2**53 - 2}


def test_facts_of_blanks_are_told_only_of_columns_that_may_be_blank(table: TableFile) -> None:
    fitted = fit_table(table, "outcome", max_depth=8)
    tree = simplify_fitted(fitted, each_leaf=True).tree
    assert "age is not missing" in find_facts(tree, fitted.train)[1]
    accepts = tree.accepts_missing.copy()
    accepts[tree.feature_names.index("age")] = False
    missing_left = tree.missing_left & accepts[tree.feature]
    closed = replace(tree, accepts_missing=accepts, missing_left=missing_left)
    facts = find_facts(closed, fitted.train)[1]
    assert "age is not missing" not in facts
    assert "member is not missing" in facts


def test_numbers_alone_need_no_pipeline(tmp_path: Path) -> None:
    table = small(tmp_path, a=[1.5, 2.5, 3.5, 4.5] * 9, y=["no", "no", "yes", "yes"] * 9)
    fitted = fit_table(table, "y")
    assert type(fitted.model).__name__ == "DecisionTreeClassifier"
    assert fitted.min_rows == 1


@pytest.mark.parametrize(
    ("labels", "kind"), [(["0", "1"], "i"), (["true", "false"], "b"), (["yes", "no"], "O"), (["a", "b"], "O")]
)
def test_labels_are_numbers_or_texts_as_they_are_written(labels: list[str], kind: str, tmp_path: Path) -> None:
    table = small(tmp_path, a=range(20), b=[1, 2] * 10, y=labels * 10)
    assert make_training_table(table, "y").y.dtype.kind == kind


def test_truth_values_of_a_parquet_file_are_categories_and_labels(tmp_path: Path) -> None:
    frame = pd.DataFrame({"flag": pd.array([True, False, None, True] * 9, dtype="boolean"), "n": range(36)})
    frame["y"] = [False, True, True, False] * 9
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    fitted = fit_table(table, "y")
    assert fitted.train.categories == ("flag",)
    rules = simplify_fitted(fitted, each_leaf=True)
    assert {type(rule.prediction) for rule in rules} == {bool}
    assert (rules.predict(fitted.train.X) == fitted.train.y).all()


def test_a_class_on_both_sides_of_a_holdout(table: TableFile) -> None:
    used = make_training_table(table, "outcome")
    kept, held_out = split_table(used, Split(0.25, seed=3))
    assert held_out is not None
    assert len(kept.y) + len(held_out.y) == len(used.y)
    assert set(kept.y) == set(held_out.y)
    assert len(held_out.y) == 100
    again = split_table(used, Split(0.25, seed=3))[1]
    assert again is not None
    assert again.X.equals(held_out.X)
    assert split_table(used, Split(0.0, seed=0)) == (used, None)
    with pytest.raises(ParameterError, match="from 0 to less than 1, found 1"):
        split_table(used, Split(1.0, seed=0))
    with pytest.raises(InputError, match=r"Cannot hold out a share of .* of 398 rows"):
        split_table(used, Split(0.001, seed=0))


def test_rows_for_a_model_keep_its_columns_and_labels(table: TableFile) -> None:
    fitted = fit_table(table, "outcome")
    rules = simplify_fitted(fitted, each_leaf=True)
    labelled = label_rows(table, rules.tree, "outcome")
    assert labelled.X.equals(fitted.train.X)
    assert labelled.y.tolist() == fitted.train.y.tolist()


def test_depth_and_least_rows_reach_the_tree(table: TableFile) -> None:
    used = make_training_table(table, "outcome")
    assert fit_tree(used).named_steps["tree"].get_depth() == 5
    assert fit_tree(used, max_depth=2).named_steps["tree"].get_depth() == 2
    assert fit_tree(used, min_rows=50).named_steps["tree"].tree_.n_node_samples.min() >= 50


ROWS = 40
REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "infinity": ({"a": [1, 2] * 20, "y": [1, np.inf] * 20}, "holds inf: expected finite numbers"),
    "one number": ({"a": [1, 2] * 20, "y": [0.5] * 40}, "fewer than two different numbers"),
    "no such target": ({"a": range(ROWS), "yy": ["n", "j"] * 20}, "has no column 'y'. Did you mean 'yy'?"),
    "one class": ({"a": [1, 2] * 20, "y": ["x"] * ROWS}, "'y' is x in every row: at least two classes"),
    "names": ({"a": [1, 2] * 20, "y": [f"n{i}" for i in range(ROWS)]}, "40 different values in 40 rows"),
    "a class with one row": (
        {"a": range(5), "y": ["x"] * 2 + ["y"] * 2 + ["z"]},
        "The class z of 'y' has only one row",
    ),
    "blanks only": ({"a": [1, 2] * 20, "y": [None] * ROWS}, "'y' holds nothing but blanks"),
    "one row": ({"a": [1], "y": ["x"]}, "One row has a value of 'y'"),
    "no other column": ({"y": ["x", "z"] * 20}, "has no column to predict 'y' from"),
    "no column left": ({"a": [1] * ROWS, "y": ["x", "z"] * 20}, "has no column to predict 'y' from. Left out 'a'"),
    "mixed": ({"a": [*range(39), "much"], "y": ["x", "z"] * 20}, r"'a' holds 'much' \(row 40\) among its numbers"),
    "too large": ({"a": [1e300, *range(39)], "y": ["x", "z"] * 20}, r"'a' holds '1e\+300' \(row 1\) among its numbers"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_what_cannot_be_learned_from_is_rejected_in_one_sentence(case: str, tmp_path: Path) -> None:
    columns, sentence = REJECTED[case]
    with pytest.raises(SecateurError, match=sentence) as rejected:
        make_training_table(small(tmp_path, **columns), "y")
    assert len(str(rejected.value).splitlines()) == 1


def test_the_target_cannot_be_left_out(table: TableFile) -> None:
    with pytest.raises(InputError, match="The target 'outcome' cannot be left out"):
        make_training_table(table, "outcome", drop=["outcome"])
    with pytest.raises(InputError, match="has no class 'lost' to leave out"):
        make_training_table(table, "outcome", drop_classes=["lost"])


@pytest.mark.parametrize("kind", ["object", "str", "category"])
@pytest.mark.parametrize("n_labels", [3, 21, 40])
def test_the_encoder_learns_the_same_from_a_short_table(kind: str, n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    labels = np.array([f"label {number}" for number in range(n_labels)])
    shares = rng.dirichlet(np.ones(n_labels))
    words = rng.choice(labels, 3000, p=shares).astype(object)
    words[::50] = None
    X = pd.DataFrame({"word": words, "flag": rng.random(3000) < 0.5, "age": rng.normal(size=3000)})
    X["word"] = X["word"].astype(kind)
    table = TrainingTable(X, rng.choice(np.array(["a", "b"], dtype=object), 3000), "y", ("word", "flag"), ("age",))
    made = fit_tree(table)
    slow = clone(made).fit(table.X, table.y)
    ours, theirs = (model[0].named_transformers_["categories"] for model in (made, slow))
    for mine, its in zip(ours.categories_, theirs.categories_, strict=True):
        assert mine.dtype == its.dtype
        assert list(map(str, mine)) == list(map(str, its))
    assert list(map(str, ours.infrequent_categories_)) == list(map(str, theirs.infrequent_categories_))
    assert made[0].transform(X).tolist() == slow[0].transform(X).tolist()
    assert made.predict(X).tolist() == slow.predict(X).tolist()
    assert made.feature_names_in_.tolist() == slow.feature_names_in_.tolist()
