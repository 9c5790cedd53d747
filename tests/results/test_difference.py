"""Differences of rules, compared with what the rules cover on a grid that has a row in every cell of both trees."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawing import fewer
from loans import make_loans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import secateur
from secateur import Rules, TreeBuilder
from secateur.cli.tables.fitted_table import fit_table, simplify_fitted
from secateur.cli.tables.table_file import TableFile
from secateur.errors import InputError
from secateur.results.difference import KINDS, RulesDifference, compare_rules
from secateur.words.plain_words import ROUNDED


def train(seed: int, method: str, *, missing: bool) -> Rules:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (80, 3)).astype(np.float64)
    y = (X[:, 0] + X[:, 1] > 5).astype(int) ^ (rng.random(80) < 0.1)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    model = DecisionTreeClassifier(max_depth=3, random_state=seed).fit(X, y)
    return secateur.simplify(model, X, y, method=method, feature_names=["a", "b", "c"], each_leaf=True)


def cells(*sets: Rules, missing: bool) -> np.ndarray[Any, Any]:
    """A row at every threshold of every column, one beyond all of them, and NaN."""
    axes = []
    for feature in range(3):
        ends = {float(t) for s in sets for t in s.tree.threshold[s.tree.feature == feature] if np.isfinite(t)}
        axes.append([*sorted(ends), max(ends, default=0.0) + 1, *([np.nan] if missing else [])])
    return np.array(list(product(*axes)))


def list_once(rules: Rules, held: Any) -> set[int]:
    """List the rules that say what no earlier rule says: the same class for the same rows."""
    said: dict[tuple[Any, bytes], int] = {}
    for rule in rules:
        said.setdefault((rule.prediction, held[:, rule.index].tobytes()), rule.index)
    return set(said.values())


def check_against_the_grid(old: Rules, new: Rules, rows: Any) -> RulesDifference:
    """Every claim of a difference, looked up in what the rules cover."""
    found = compare_rules(old, new)
    before, after = old.covers(rows), new.covers(rows)
    left_old, left_new = list_once(old, before), list_once(new, after)
    for change in found.changes:
        if change.kind == "removed":
            continue
        if change.kind == "added":
            continue
        assert change.old is not None
        assert change.new is not None
        left_old.remove(change.old.index)
        left_new.remove(change.new.index)
        one, other = before[:, change.old.index], after[:, change.new.index]
        is_equal, is_in, is_around = (one == other).all(), (~one | other).all(), (one | ~other).all()
        expected = {
            "same": is_equal,
            "class-changed": is_equal,
            "widened": is_in and not is_equal,
            "narrowed": is_around and not is_equal,
            "shifted": (one & other).any() and not is_in and not is_around,
        }
        assert expected[change.kind], change
        assert (change.old.prediction == change.new.prediction) == (change.kind != "class-changed")
    assert left_old == {change.old.index for change in found.changes if change.kind == "removed" and change.old}
    assert left_new == {change.new.index for change in found.changes if change.kind == "added" and change.new}
    for one, other in product(left_old, left_new):  # nothing that fits was left over
        if old[one].prediction == new[other].prediction:
            assert (before[:, one] & ~after[:, other]).any()
            assert (~before[:, one] & after[:, other]).any()
        else:
            assert (before[:, one] != after[:, other]).any()
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("missing", [False, True])
def test_every_change_is_what_a_grid_of_rows_shows(seed: int, missing: bool) -> None:
    old, new = train(seed, "exact", missing=missing), train(seed + 100, "mismatch", missing=missing)
    rows = cells(old, new, missing=missing)
    check_against_the_grid(old, new, rows)
    check_against_the_grid(train(seed, "none", missing=missing), old, rows)


@pytest.mark.parametrize("seed", range(4))
def test_categories_are_compared_by_their_labels(seed: int) -> None:
    sets, frames = [], []
    for place, left_out in enumerate(["car", "boat"]):  # each training lacks a category that the other knows
        frame = make_loans(300, seed)[["age", "purpose", "member", "outcome"]]
        frame = frame[frame["purpose"] != left_out].reset_index(drop=True)
        frame["purpose"] = frame["purpose"].astype(object).where(frame["purpose"].notna(), np.nan)
        kinds = {"age": "number", "purpose": "text", "member": "text", "outcome": "text"}
        fitted = fit_table(TableFile("t", frame, kinds, ("age",)), "outcome", max_depth=3, seed=place)
        sets.append(simplify_fitted(fitted, method="exact", each_leaf=True))
        frames.append(frame)
    labels = ["car", "boat", "travel", "spaceship", np.nan]
    grid = list(product(range(15, 82), labels, ["yes", "no", "maybe", np.nan]))
    rows = pd.DataFrame(grid, columns=["age", "purpose", "member"])
    check_against_the_grid(*sets, rows.astype({"purpose": object, "member": object}))


def train_binned(seed: int, n_bins: int, encode: str = "onehot-dense") -> Rules:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(0, 10, (200, 2)), columns=["a", "b"])
    y = ((X["a"] > 5) ^ (X["b"] > 6)) ^ (rng.random(200) < 0.1)
    bins = KBinsDiscretizer(n_bins, encode=encode, strategy="uniform", subsample=None)
    model = make_pipeline(bins, DecisionTreeClassifier(max_leaf_nodes=12, random_state=seed)).fit(X, y)
    return secateur.simplify(model, X, y, method="mismatch", each_leaf=True)


@pytest.mark.parametrize("seed", fewer(range(6)))
@pytest.mark.parametrize("encode", ["onehot-dense", "ordinal"])
def test_cells_of_a_number_are_compared_as_intervals(seed: int, encode: str) -> None:
    old, new = train_binned(seed, 4), train_binned(seed + 50, 8, encode)
    axes = []
    for feature in range(2):
        ends = [float(t) for s in (old, new) for t in s.tree.threshold[s.tree.feature == feature] if np.isfinite(t)]
        ends += [cut for s in (old, new) if s.tree.columns for cut in s.tree.columns.cuts[feature] or ()]
        axes.append([*sorted(set(ends)), 11.0])
    check_against_the_grid(old, new, pd.DataFrame(product(*axes), columns=["a", "b"]))


def test_a_cell_that_is_added_to_a_rule_widens_it() -> None:
    sets = []
    for limit in (5, 6):
        X = pd.DataFrame({"a": np.linspace(0, 10, 101)})
        bins = KBinsDiscretizer(10, encode="onehot-dense", strategy="uniform", subsample=None)
        model = make_pipeline(bins, DecisionTreeClassifier(random_state=0)).fit(X, X["a"] < limit)
        sets.append(
            secateur.simplify(model, X, X["a"] < limit, class_names=["high", "low"], method="mismatch", each_leaf=True)
        )
    widened = [change for change in compare_rules(*sets).changes if change.kind == "widened"]
    assert [change.old.class_name for change in widened if change.old] == ["low"]
    assert compare_rules(sets[0], sets[0]).is_same


def test_of_several_partners_the_one_that_agrees_in_most_columns_is_taken() -> None:
    old = TreeBuilder(classes=["no", "yes"], feature_names=["a", "b"])
    root = old.split("a", 5)
    inner = old.split("b", 5, parent=root, side="left")
    old.leaf([0, 9], parent=inner, side="left")
    old.leaf([9, 0], parent=inner, side="right")
    old.leaf([9, 0], parent=root, side="right")
    new = TreeBuilder(classes=["no", "yes"], feature_names=["a", "b"])
    root = new.split("a", 4)
    inner = new.split("b", 3, parent=root, side="left")
    new.leaf([0, 9], parent=inner, side="left")  # it comes first, and agrees in no column
    new.leaf([9, 0], parent=inner, side="right")
    beyond = new.split("a", 5, parent=root, side="right")
    inner = new.split("b", 5, parent=beyond, side="left")
    new.leaf([0, 9], parent=inner, side="left")
    new.leaf([9, 0], parent=inner, side="right")
    new.leaf([9, 0], parent=beyond, side="right")
    found = compare_rules(*(secateur.simplify(one.build(), method="none", each_leaf=True) for one in (old, new)))
    pairs = [(change.old.text, change.new.text) for change in found.changes if change.kind == "narrowed"]
    assert ("a <= 5 and b <= 5 => yes", "4 < a <= 5 and b <= 5 => yes") in pairs


def one_split(name: str, threshold: float, classes: tuple[str, str] = ("no", "yes")) -> Rules:
    builder = TreeBuilder(classes=list(classes), feature_names=[name])
    root = builder.split(name, threshold)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    return secateur.simplify(builder.build(), method="none", each_leaf=True)


def kinds_of(old: Rules, new: Rules) -> list[str]:
    return [change.kind for change in compare_rules(old, new).changes]


def test_a_threshold_that_moves_widens_one_rule_and_narrows_the_other() -> None:
    assert kinds_of(one_split("age", 30), one_split("age", 40)) == ["widened", "narrowed"]
    assert kinds_of(one_split("age", 30), one_split("age", 30)) == ["same", "same"]


def test_turned_classes_are_changes_of_class() -> None:
    assert kinds_of(one_split("age", 30), one_split("age", 30, ("yes", "no"))) == ["class-changed"] * 2


def test_rules_on_other_columns_are_removed_and_added() -> None:
    found = compare_rules(train_on(["age", "income"], ["no", "yes"]), train_on(["income", "age"], ["no", "yes"]))
    assert found.counts == dict.fromkeys(KINDS, 0) | {"removed": 2, "added": 2}
    assert not found.is_same


def test_whole_numbers_are_compared_as_whole_numbers() -> None:
    frame = pd.DataFrame({"age": [20, 30, 40, 50] * 5})
    y = ["no", "no", "yes", "yes"] * 5
    sets = []
    for shift in (0.0, 0.25):
        builder = TreeBuilder(classes=["no", "yes"], feature_names=["age"])
        root = builder.split("age", 35.5 + shift)
        builder.leaf([10, 0], parent=root, side="left")
        builder.leaf([0, 10], parent=root, side="right")
        sets.append(
            [
                secateur.simplify(builder.build(), frame, y, method="mismatch", each_leaf=True),
                secateur.simplify(builder.build(), method="none", each_leaf=True),
            ]
        )
    assert compare_rules(sets[0][0], sets[1][0]).is_same
    assert not compare_rules(sets[0][1], sets[1][1]).is_same


def test_a_column_of_numbers_that_became_labels_compares_only_where_it_is_not_asked() -> None:
    frame = pd.DataFrame(
        {"code": np.array(["1", "2", "3", "4"] * 9, dtype=object), "y": ["no", "no", "yes", "yes"] * 9}
    )
    fitted = fit_table(TableFile("t", frame, {"code": "text", "y": "text"}, ()), "y")
    found = compare_rules(one_split("code", 2), simplify_fitted(fitted, method="exact", each_leaf=True))
    assert set(kind for kind, number in found.counts.items() if number) == {"removed", "added"}


def test_a_difference_reads_and_serializes() -> None:
    found = compare_rules(one_split("age", 30), one_split("age", 40))
    assert str(found).splitlines()[0] == "widened: no if age ≤ 30 (the model counts 8 of 10 no, 80.0 %)"
    assert str(found).splitlines()[-1] == "1 widened, 1 narrowed."
    content = found.to_dict()
    assert content["counts"]["widened"] == 1
    assert content["changes"][0]["new"] == {
        **{"rule": 1, "text": "age <= 40 => no", "prediction": "no"},
        **{"support": 10.0, "reliability": 0.8},
    }
    same = compare_rules(one_split("age", 30), one_split("age", 30))
    assert str(same) == "The same 2 rules."
    assert same.is_same
    assert str(RulesDifference(same.changes[:1])) == "The same 1 rule."


def test_rules_that_people_read_alike_are_told_apart_by_all_digits() -> None:
    X = pd.DataFrame({"income": [1000.25] * 10 + [1500.75] * 10})
    y = ["no"] * 8 + ["yes"] * 3 + ["no"] + ["yes"] * 8
    near, next_to_it, far = (
        secateur.simplify(one_split("income", limit).tree, X, y, method="exact", each_leaf=True)
        for limit in (1234.5678, 1234.5999, 1300.123)
    )
    assert near[0].words == next_to_it[0].words
    assert str(compare_rules(near, next_to_it)).splitlines()[:2] == [
        "widened: income <= 1234.5678 => no (8 of 10 no in training, 80.0 %)",
        "  now: income <= 1234.5999 => no (8 of 10 no in training, 80.0 %)",
    ]
    assert str(compare_rules(near, far)).splitlines()[:2] == [
        "widened: no if income ≤ 1,235 (8 of 10 no in training, 80.0 %)",
        "  now: no if income ≤ 1,300 (8 of 10 no in training, 80.0 %)",
    ]
    assert ROUNDED in str(compare_rules(near, far))
    assert ROUNDED not in str(compare_rules(one_split("income", 1234.5), one_split("income", 1300.5)))


def test_rules_are_the_same_as_themselves_read_from_json() -> None:
    rules = train(0, "mismatch", missing=True)
    assert compare_rules(rules, Rules.from_json(rules.to_json())).is_same


def train_on(columns: list[str], classes: list[str]) -> secateur.Rules:
    builder = secateur.TreeBuilder(classes=classes, feature_names=columns)
    root = builder.split(columns[0], 30)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    return secateur.simplify(builder.build(), method="exact", each_leaf=True)


def test_rules_with_further_classes_or_columns_are_said_to_have_them_first() -> None:
    old = train_on(["age", "size"], ["no", "yes"])
    assert compare_rules(old, old).notes == ()
    found = compare_rules(old, train_on(["income", "size"], ["no", "good"]))
    assert str(found).splitlines()[:2] == [
        "The two predict different classes: 'no', 'yes' before, 'good', 'no' now.",
        "The two have different columns: only the old rules ask for 'age', only the new rules ask for 'income'.",
    ]
    assert found.to_dict()["notes"] == list(found.notes)


def test_rules_that_have_nothing_in_common_are_not_compared() -> None:
    old = train_on(["age"], ["no", "yes"])
    with pytest.raises(InputError, match="classes in common, found 'no', 'yes' in the old ones and 'bad', 'good'"):
        old.diff(train_on(["age"], ["bad", "good"]))
    with pytest.raises(InputError, match=r"columns in common, found 'age' in the old ones and 'income' in .* compare"):
        old.diff(train_on(["income"], ["no", "yes"]))
    X = np.arange(40.0)[:, None]
    values = secateur.simplify(DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0]), X, X[:, 0], feature_names=["age"])
    classes = secateur.simplify(DecisionTreeClassifier().fit(X, X[:, 0] > 9), X, X[:, 0] > 9, feature_names=["age"])
    with pytest.raises(InputError, match="found 'False', 'True' in the old ones and 'numbers' in the new"):
        classes.diff(values)
    assert values.diff(values).is_same


def test_turned_values_are_changes_of_value() -> None:
    X = np.arange(40.0)[:, None]
    made = [
        secateur.simplify(DecisionTreeRegressor(max_depth=1).fit(X, y), X, y, feature_names=["age"])
        for y in (np.where(X[:, 0] > 19, 9.0, 2.0), np.where(X[:, 0] > 19, 9.0, 5.0))
    ]
    found = made[0].diff(made[1])
    assert "value-changed" in [one.kind for one in found.changes] or not found.is_same
    old, new = (rules.each_leaf for rules in made)
    assert [one.kind for one in compare_rules(old, new).changes] == ["same", "value-changed"]
    assert "class-changed" not in str(compare_rules(old, new))


def test_regions_that_barely_overlap_are_removed_and_added() -> None:
    """At most 10 and above 9 have the numbers from 9 to 10 in common; from 3 to 8 and from 4 to 9, most."""

    def train(low: float, high: float, is_inside: bool) -> secateur.Rules:
        builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["stay"])
        root = builder.split("stay", high)
        inner = builder.split("stay", low, parent=root, side="left")
        builder.leaf([9, 0], parent=inner, side="left")
        builder.leaf([0, 9] if is_inside else [9, 0], parent=inner, side="right")
        builder.leaf([9, 0] if is_inside else [0, 9], parent=root, side="right")
        return secateur.simplify(builder.build(), method="exact", each_leaf=True)

    def find_yes(old: secateur.Rules, new: secateur.Rules) -> list[str]:
        changes = compare_rules(old, new).changes
        return [
            one.kind for one in changes if "yes" in {one.old and one.old.class_name, one.new and one.new.class_name}
        ]

    assert find_yes(train(3, 8, True), train(4, 9, True)) == ["shifted"]
    assert find_yes(train(3, 8, True), train(7, 12, True)) == ["removed", "added"]
    assert find_yes(train(3, 8, True), train(1, 7, False)) == ["removed", "added"]


def test_a_rule_that_several_leaves_have_is_one_change() -> None:
    def train_stump(column: str) -> Rules:
        builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age", "size"])
        root = builder.split(column, 30)
        for side in ("left", "right"):
            half = builder.split("size" if column == "age" else "age", 5, parent=root, side=side)
            for part in ("left", "right"):
                builder.leaf([8, 2] if side == "left" else [1, 9], parent=half, side=part)
        return secateur.simplify(builder.build(), method="exact", each_leaf=True)

    found = compare_rules(train_stump("age"), train_stump("size"))
    assert found.counts["removed"] == found.counts["added"] == 2
    assert len(str(found).splitlines()) == 5
    assert compare_rules(train_stump("age"), train_stump("age")).counts["same"] == 2


def test_what_is_not_rules_cannot_be_compared() -> None:
    with pytest.raises(secateur.SecateurError, match="Expected rules, a policy or a model to compare with, found str"):
        train(0, "exact", missing=False).diff("x")  # type: ignore[arg-type]


def test_columns_of_one_side_alone_are_named() -> None:
    both, one = train_on(["age", "size"], ["no", "yes"]), train_on(["size"], ["no", "yes"])
    assert "The two have different columns: only the old rules ask for 'age'." in both.diff(one).notes
    assert "The two have different columns: only the new rules ask for 'age'." in one.diff(both).notes
