"""The nearest changes of a row are those that trying every value of every column finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from net.tables import GROUPS, make_told
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import ParameterError
from secateur.results.explanation import _write_signs
from secateur.results.row_reading import Change, find_changes, read_rows
from secateur.tree.columns import ColumnParser
from secateur.tree.tree import Tree


def list_values(tree: Tree, feature: int) -> list[float]:
    """A value of each kind that the tree could tell apart: on and beside each limit, each category, missing."""
    levels = tree.categories[feature]
    found: list[float] = [np.nan] if tree.accepts_missing[feature] else []
    if levels is not None:
        return [*found, *map(float, range(len(levels) + 1))]
    kind = np.dtype(tree.dtype).type
    for limit in np.unique(tree.upper[(tree.feature == feature) & ~tree.is_leaf]).tolist():
        with np.errstate(over="ignore"):
            found += [limit, float(np.nextafter(kind(limit), kind(np.inf)))]
    return [value for value in found if not np.isinf(value)]


def allows(change: Change, tree: Tree, row: Any, tried: Any) -> bool:
    names = [tree.feature_name(feature) for feature in range(tree.n_features)]
    moved = {
        names[f] for f in range(len(row)) if not (row[f] == tried[f] or (row[f] != row[f] and tried[f] != tried[f]))
    }
    if not moved <= set(change.columns):
        return False
    for column, region in zip(change.columns, change.regions, strict=True):
        value = tried[names.index(column)]
        if value != value:
            fits = region.missing
        else:
            fits = region.low < value <= region.high if region.codes is None else int(value) in region.codes
        if not fits:
            return False
    return True


@settings(max_examples=200)
@given(st.data())
def test_the_fewest_columns_and_every_value_are_found_and_locked_columns_stay(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees(max_leaves=8, n_features=3))
    rules = secateur.simplify(tree)
    row = data.draw(strategies.rows(tree, 1, 1))[0]
    row = np.array(
        [oracles.rounded(tree, value) if tree.categories[f] is None else value for f, value in enumerate(row)]
    )
    locked = data.draw(st.sets(st.integers(0, 2), max_size=2))
    changes = find_changes(rules, row, locked)
    own = oracles.tree_class(tree, row)
    free = [feature for feature in range(3) if feature not in locked]
    for size in range(1, len(free) + 1):
        flipped = []
        for some in combinations(free, size):
            for values in product(*(list_values(tree, feature) for feature in some)):
                tried = row.copy()
                tried[list(some)] = values
                if (found := oracles.tree_class(tree, tried)) != own:
                    flipped.append((tried, found))
        if flipped:
            break
    else:
        assert changes == ()
        return
    assert {len(change.columns) for change in changes} == {size}
    for tried, found in flipped:
        told = {change.prediction for change in changes if allows(change, tree, row, tried)}
        assert told == {tree.classes[found].item()}
    names = {tree.feature_name(feature) for feature in locked}
    assert not names & {column for change in changes for column in change.columns}
    for change in changes:  # every value of a region flips, not only some
        places = [[tree.feature_name(f) for f in range(3)].index(column) for column in change.columns]
        for values in product(*(list_values(tree, feature) for feature in places)):
            tried = row.copy()
            tried[places] = values
            if allows(change, tree, row, tried):
                assert tree.classes[oracles.tree_class(tree, tried)].item() == change.prediction


def test_neighbouring_intervals_are_told_as_one() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age", "sum"])
    root = builder.split("age", 30)
    builder.leaf([9, 1], parent=root, side="left")
    right = builder.split("age", 40, parent=root, side="right")
    builder.leaf([1, 9], parent=right, side="left")
    builder.leaf([2, 8], parent=right, side="right")
    rules = secateur.simplify(builder.build())
    (change,) = rules.explain([20.0, 0.0], changes=True).changes
    assert (change.prediction, change.columns, change.asks) == ("yes", ("age",), ("age > 30",))
    assert rules.explain([20.0, 0.0], changes=True, locked=["age"]).changes == ()
    assert "age > 30" in rules.explain([20.0, 0.0], changes=True).text
    with pytest.raises(ParameterError, match="no column 'aeg'"):
        rules.explain([20.0, 0.0], changes=True, locked=["aeg"])
    for locked, said in (
        ("age", "Expected locked as a list of columns, found 'age'"),
        ([["age"]], r"no column \['age'\]"),
    ):
        with pytest.raises(ParameterError, match=said):
            rules.explain([20.0, 0.0], changes=True, locked=locked)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no column True"):
        rules.explain([20.0, 0.0], locked=[True])


def test_the_changes_of_real_rows_flip_the_model() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y)
    for row in X[::20]:
        for change in rules.explain(row, changes=True).changes:
            moved = row.copy()
            for column, region in zip(change.columns, change.regions, strict=True):
                low = region.low if np.isfinite(region.low) else region.high - 1
                high = region.high if np.isfinite(region.high) else region.low + 1
                moved[int(column.removeprefix("x"))] = np.float32((low + high) / 2)
            assert model.predict([moved])[0] == change.prediction != model.predict([row])[0]


def test_a_letter_has_at_most_four_reasons_and_what_would_change_it() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, class_names=["malignant", "benign"])
    for row in X[::40]:
        one = rules.explain(row, changes=True)
        text = one.letter()
        reasons, _, more = text.partition("The answer would be another with:")
        assert reasons.startswith(f"Answer: {one.rule.class_name}\n\nReasons:\n")
        told = [line for line in reasons.splitlines() if line.startswith("- ")]
        n_asked = len(one.own_rule.whole_conditions)
        assert len(told) == min(n_asked, 4) + (n_asked > 4)
        assert more.count("\n- ") == min(len(one.changes), 4)


def test_a_letter_says_what_the_row_has_and_writes_signs_as_words() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age", "sum"])
    root = builder.split("age", 30)
    builder.leaf([9, 1], parent=root, side="left")
    right = builder.split("age", 40.5, parent=root, side="right")
    builder.leaf([1, 9], parent=right, side="left")
    builder.leaf([9, 1], parent=right, side="right")
    rules = secateur.simplify(builder.build(), sections=1)
    assert rules.explain([20.0, 0.0], changes=True).letter() == (
        "Answer: no\n\nReasons:\n- age is 20 (the rule: age at most 30)\n\n"
        "The answer would be another with:\n- age above 30 and at most 40.5: yes\n"
    )
    used = replace(builder.build(), column_parsers=(ColumnParser("number", unit="%"), None))
    assert secateur.simplify(used, sections=1).explain(["20%", 0.0], changes=True).letter() == (
        "Answer: no\n\nReasons:\n- age is 20 % (the rule: age at most 30 %)\n\n"
        "The answer would be another with:\n- age above 30 % and at most 40.5 %: yes\n"
    )


def test_changes_and_letters_name_classes_as_they_are_shown() -> None:
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    told = secateur.simplify(model, X, y, class_names=["malignant", "benign"]).explain(X[0], changes=True)
    assert told.changes[0].prediction == 1
    assert ": benign" in str(told)
    assert told.letter().endswith(": benign\n")


def test_a_group_is_one_column_that_can_change() -> None:
    told = make_told(239)
    rules = secateur.simplify(told.model, told.X, told.y, accepts_missing=True, groups=GROUPS)
    rows = read_rows(rules, told.rows["possible"]).matrix
    n_alone = 0
    for row in rows[:20]:
        for change in find_changes(rules, row):
            assert set(change.columns) <= {*GROUPS, "n", "z", "w"}
            if len(change.columns) == 1 and change.columns[0] in GROUPS:
                places = [list(told.X).index(name) for name in GROUPS[change.columns[0]]]
                (region,) = change.regions
                assert region.codes is not None
                for code in range(len(places) + 1):
                    other = row.copy()
                    other[places] = np.arange(len(places)) == code
                    reached = rules.source_tree.classes[rules.source_tree.leaf_class[oracles.walk(rules.tree, other)]]
                    assert (code in region.codes) == (reached == change.prediction), (change, code)
                n_alone += 1
    assert n_alone


def test_a_letter_says_missing_without_a_second_verb() -> None:
    assert _write_signs("age ≤ 30 or is missing") == "age at most 30 or missing"
    assert _write_signs("ward is not A or is missing") == "ward is not A or is missing"
