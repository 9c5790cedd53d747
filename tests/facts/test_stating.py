"""What a person says of the columns: groups, whole numbers, facts in words, and rows that contradict them."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import find_groups, simplify
from secateur.errors import InputError, ParameterError
from secateur.facts.groups import read_groups
from secateur.facts.stating import parse_facts, state_facts
from secateur.methods.row_mixture import _find_bundles
from secateur.tree.facts import Group
from secateur.tree.regions import Region, last_with_decimals, next_with_decimals
from secateur.tree.tree import Tree, make_tree

CITIES = ["Bern", "Oslo", "Paris", "Rome"]


def patients(n_rows: int = 300) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """A frame with a one-hot city, an integer, a bool and numbers, where pregnant implies female."""
    rng = np.random.default_rng(0)
    city, female = rng.integers(0, 4, n_rows), rng.integers(0, 2, n_rows)
    frame = pd.DataFrame({f"city_{name}": (city == place).astype(float) for place, name in enumerate(CITIES)})
    frame["age"] = rng.integers(18, 90, n_rows)
    frame["bmi"] = rng.normal(25, 4, n_rows).clip(12, 60)
    frame["smoker"] = rng.random(n_rows) < 0.4
    frame["female"] = female.astype(float)
    frame["pregnant"] = (rng.random(n_rows) < 0.4) * female.astype(float)
    risk = (city == 2) & (frame["age"] > 40) | (city == 1) & (frame["bmi"] > 24) | (frame["pregnant"] == 1)
    return frame, (risk ^ (rng.random(n_rows) < 0.1)).to_numpy(dtype=np.int64)


def fitted(depth: int = 7) -> tuple[DecisionTreeClassifier, pd.DataFrame, NDArray[np.int64]]:
    """A tree on the patients."""
    X, y = patients()
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y), X, y


def small_tree() -> Tree:
    """A tree over a number, a category that may be missing, and a number with an odd name."""
    return make_tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[0.5, np.nan, np.nan],
        leaf_class=[-1, 0, 1],
        classes=["no", "yes"],
        n_features=3,
        feature_names=["bmi", "city", "a <= b"],
        categories=[None, ["Paris", "Rome", "a, b"], None],
        accepts_missing=[False, True, False],
        dtype="float64",
    )


# --- groups -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, lambda frame: pl.DataFrame(frame.to_dict("list"))])
def test_groups_are_found_in_frames(make: Any) -> None:
    X, _ = patients()
    assert find_groups(make(X)) == {"city": [f"city_{name}" for name in CITIES]}


def test_groups_are_found_in_arrays_by_place() -> None:
    X, _ = patients()
    assert find_groups(X.to_numpy(dtype=float)) == {"columns 0 to 3": [0, 1, 2, 3]}
    names = [f"town={name}" for name in CITIES] + list(X.columns[4:])
    assert find_groups(X.to_numpy(dtype=float), feature_names=names) == {"town": names[:4]}


def test_a_column_of_ones_is_no_group() -> None:
    X = np.column_stack([np.ones(6), np.arange(6.0), [1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]])
    assert find_groups(X) == {"columns 2 to 3": [2, 3]}
    assert find_groups(X, feature_names=["one", "age", "sex_f", "sex_m"]) == {"sex": ["sex_f", "sex_m"]}


def test_neighbouring_groups_are_kept_apart_and_what_is_no_group_stays_out() -> None:
    eye = np.eye(3)[np.arange(30) % 3]
    pair = np.eye(2)[np.arange(30) // 15]
    flags = np.column_stack([np.arange(30) % 5 == 0, np.arange(30) % 7 == 1]).astype(float)
    X = np.hstack([flags, eye, pair, eye * 2])
    assert list(find_groups(X).values()) == [[2, 3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.zeros((0, 3)), "no columns or no rows"),
        ([1, 2], "Expected X with two dimensions"),
        ([["a"]], "Expected X as a table of numbers"),
        (pd.DataFrame(), "no columns or no rows"),
        (pd.DataFrame([[1, 0]], columns=["a", "a"]), "two columns named 'a'"),
    ],
)
def test_rows_without_groups_to_find_are_rejected(X: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        find_groups(X)


def test_a_group_reads_as_one_categorical() -> None:
    model, X, y = fitted()
    rules = simplify(model, X, y, method="exact", groups=find_groups(X), each_leaf=True)
    words = " ".join(str(condition) for rule in rules for condition in rule.source_conditions)
    assert "city = Paris" in words
    assert "city_Paris" not in words
    assert "city not in {" in words
    listed = [c for rule in rules for c in rule.conditions if c.name == "city"]
    assert {c.text: c.categories for c in listed if c.text == "city = Paris"} == {"city = Paris": ("Paris",)}


def test_groups_delete_more_and_say_so() -> None:
    model, X, y = fitted()
    alone = simplify(model, X, y, method="exact", groups=find_groups(X), domain_knowledge=False, each_leaf=True)
    rules = simplify(model, X, y, method="exact", groups=find_groups(X), each_leaf=True)
    assert rules.deleted.sum() > alone.deleted.sum()
    assert "at most one of city's 4 columns is 1" in rules.guarantee
    assert "at most one" not in alone.guarantee
    given_that = [str(reason) for rule in rules for reason in rule.reasons.values() if "given that" in str(reason)]
    assert any("at most one of city's 4 columns is 1" in words for words in given_that)
    assert rules.verify()


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        ({"a": ["city_Paris", "city_Rome"], "b": ["city_Rome", "city_Oslo"]}, "'city_Rome' is in the group 'a' and in"),
        ([["city_Paris", "city_Lima"]], "Group 1 has the column 'city_Lima', which the tree does not have"),
        ([[0, 99]], "column 99, but there are 9 columns"),
        ([["city_Paris"]], r"^Group 1 has one column; a group needs two or more\.$"),
        ([["city_Paris", "city_Rome"], []], r"^Group 2 has no columns; a group needs two or more\.$"),
        ({"a": ["city_Paris"]}, r"^The group 'a' has one column; a group needs two or more\.$"),
        ([["city_Paris", "city_Rom"]], r"^Group 1 has the column 'city_Rom', which .* Did you mean 'city_Rome'\?$"),
        ({"age": ["city_Paris", "city_Rome"]}, "'age' has the name of a column"),
        ({"a": "city_Paris"}, "^The group 'a' must be a list of columns, found 'city_Paris'"),
        ("city", "Expected groups as a mapping"),
    ],
)
def test_groups_that_cannot_be_are_rejected(groups: Any, sentence: str) -> None:
    model, X, y = fitted()
    with pytest.raises(ParameterError, match=sentence):
        simplify(model, X, y, groups=groups, method="mismatch", each_leaf=True)


def test_groups_in_a_list_may_differ_in_length() -> None:
    model, X, _ = fitted()
    groups = read_groups(secateur.from_model(model), [X.columns[:2], [2, 3, 4]])
    assert [group.features for group in groups] == [(0, 1), (2, 3, 4)]


def test_rows_that_are_not_one_hot_are_named() -> None:
    model, X, y = fitted()
    groups = find_groups(X)
    X.loc[17, ["city_Paris", "city_Rome"]] = 1.0
    with pytest.raises(InputError, match=r"Row 17 of X is not one-hot in the group 'city': .* are both 1"):
        simplify(model, X, y, groups=groups, method="mismatch", each_leaf=True)
    X.loc[3, "city_Bern"] = 0.5
    with pytest.raises(InputError, match=r"Row 3 of X .* 'city_Bern' is 0.5, neither 0 nor 1"):
        simplify(model, X, y, groups=groups, method="mismatch", each_leaf=True)


# --- whole numbers ----------------------------------------------------------------------------------------------------


def test_whole_numbers_and_bools_of_a_frame_read_as_such() -> None:
    model, X, y = fitted()
    rules = simplify(model, X, y, method="none", each_leaf=True)
    words = {c.text for rule in rules for c in rule.conditions if c.name in ("age", "smoker")}
    assert words
    assert not any("." in text or " > " in text for text in words)
    assert {text for text in words if text.startswith("smoker")} <= {"smoker = 0", "smoker = 1"}


def test_an_array_has_one_type_and_says_nothing_of_a_column() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 9, (80, 2)), rng.integers(0, 2, 80)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert simplify(model, X, y, method="mismatch", each_leaf=True).tree.facts == secateur.tree.facts.NO_FACTS
    told = simplify(model, X, y, integers=[1], method="mismatch", each_leaf=True)
    assert told.tree.facts.integers == (1,)
    texts = [c.text for rule in told for c in rule.conditions if c.feature == 1]
    assert texts
    assert not any("." in text for text in texts)


@pytest.mark.parametrize(
    ("integers", "error", "sentence"),
    [
        (["height"], ParameterError, "names the column 'height', which the tree does not have"),
        ("age", ParameterError, "Expected integers as a list"),
        (["bmi"], InputError, "The fact is that 'bmi' is a whole number, but row 0 of X has"),
    ],
)
def test_integers_that_are_none_are_rejected(integers: Any, error: type[Exception], sentence: str) -> None:
    model, X, y = fitted()
    with pytest.raises(error, match=sentence):
        simplify(model, X, y, integers=integers, method="mismatch", each_leaf=True)


def test_facts_that_are_told_twice_are_kept_once() -> None:
    model, X, y = fitted()
    rules = simplify(model, X, y, method="exact", facts=["bmi <= 70"], each_leaf=True)
    assert simplify(rules.tree, X, y, method="exact", facts=["bmi <= 70"], each_leaf=True).tree == rules.tree


def test_the_types_of_a_frame_are_taken_by_name() -> None:
    model, X, y = fitted()
    tree = secateur.from_model(model, X[X.columns[::-1]], facts=["bmi <= 70"])
    assert tree.facts.integers == ()
    with pytest.raises(InputError, match="out of order"):
        simplify(model, X[X.columns[::-1]], y, method="mismatch", each_leaf=True)


@pytest.mark.parametrize("limit", [3e22, -3e22, 2.0**30, 1.0, -0.3])
@pytest.mark.parametrize("decimals", [0, 2, 13])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_last_number_on_a_grid_is_the_last(limit: float, decimals: int, dtype: str) -> None:
    kind = np.dtype(dtype).type
    end = float(kind(limit))
    last = last_with_decimals(end, decimals, dtype)
    step = Decimal(1).scaleb(-decimals)
    with localcontext(prec=400):
        assert float(kind(float(last))) <= end < float(kind(float(last + step)))
    assert next_with_decimals(end, decimals, dtype) > end


@pytest.mark.parametrize("limit", [2**24, 2**24 + 2, 2**25 + 4, -(2**24), -(2**25) - 4, 2**30])
def test_a_large_whole_number_is_on_the_side_that_its_text_says(limit: int) -> None:
    threshold = float(np.float32(limit))
    tree = make_tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[threshold, np.nan, np.nan],
        leaf_class=[-1, 0, 1],
        classes=[0, 1],
        n_features=1,
        feature_names=["n"],
    )
    rules = simplify(tree, method="none", integers=["n"], each_leaf=True)
    last = int(rules[0].text.split()[2])
    assert rules[1].text.split()[:3] == ["n", ">=", str(last + 1)]
    for number in range(last - 300, last + 301):
        assert (float(np.float32(number)) <= threshold) == (number <= last)


# --- facts in words ---------------------------------------------------------------------------------------------------

GROUPS = [Group("town", (0, 2), ("x", "y"))]


@pytest.mark.parametrize(
    ("words", "subject", "region"),
    [
        ("bmi <= 3", 0, Region(high=3.0)),
        ("bmi<3", 0, Region(high=np.nextafter(3, 0))),
        ("bmi >= 3", 0, Region(low=np.nextafter(3, 0))),
        ("3 < bmi", 0, Region(low=3.0)),
        ("-1 <= bmi < 2.5", 0, Region(np.nextafter(-1, -2), np.nextafter(2.5, 0))),
        ("bmi = 0", 0, Region(np.nextafter(0, -1), 0.0)),
        ("city = Rome", 1, Region(codes=frozenset({1}))),
        ("city != Rome", 1, Region(codes=frozenset({0, 2, 3}))),
        ('city in {Paris, "a, b"}', 1, Region(codes=frozenset({0, 2}))),
        ("city not in {Paris, Rome}", 1, Region(codes=frozenset({2, 3}))),
        ("city is not missing", 1, Region(codes=frozenset({0, 1, 2, 3}))),
        ("`a <= b` > 1", 2, Region(low=1.0)),
        ("a <= b > 1", 2, Region(low=1.0)),
        ("town = y", 3, Region(codes=frozenset({1}))),
    ],
)
def test_a_fact_is_read_as_a_condition_is_written(words: str, subject: int, region: Region) -> None:
    (claim,) = parse_facts(small_tree(), GROUPS, [words]).claims
    assert claim.subject == subject
    # A bound or a list says nothing of missing values; "is not missing" does.
    assert claim.region == region._replace(missing="missing" not in words)


def test_facts_about_decimals_are_read() -> None:
    facts = parse_facts(small_tree(), GROUPS, ["bmi has at most 2 decimals", "`a <= b` is a whole number"])
    assert (facts.decimals, facts.integers) == (((0, 2),), (2,))


def test_numbers_have_at_most_15_decimals() -> None:
    assert parse_facts(small_tree(), GROUPS, ["bmi has at most 15 decimals"]).decimals == ((0, 15),)
    with pytest.raises(ParameterError, match="at most 15 decimals"):
        parse_facts(small_tree(), GROUPS, ["bmi has at most 16 decimals"])


def test_numbers_with_few_decimals_read_so() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.normal(1800, 300, 400).round(2)})
    y = (X["income"] > 1800) ^ (rng.random(400) < 0.1)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    rules = simplify(model, X, y, method="none", facts=["income has 2 decimals"], each_leaf=True)
    values = [float(word) for rule in rules for word in rule.text.split() if word[0].isdigit()]
    assert values
    assert all(round(value, 2) == value for value in values)
    for rule in rules:  # what is written, taken by its word, is what the rule covers
        (condition,) = rule.conditions
        kept = X.eval(condition.text.replace("income =", "income =="))
        assert kept.tolist() == rules.covers(X)[:, rule.index].tolist()
    with pytest.raises(InputError, match=r"'income' has at most 1 decimal, but row 0 of X has \d+\.\d\d"):
        simplify(model, X, y, facts=["income has 1 decimal"], method="mismatch", each_leaf=True)


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("city is ordered: Rome < Paris", (1, 0)),
        ('city is ordered: Paris < "a, b" < Rome', (0, 2, 1)),
    ],
)
def test_orders_of_categories_are_read_and_kept_by_a_file(words: str, codes: tuple[int, ...]) -> None:
    told = state_facts(small_tree(), None, facts=[words])
    (order,) = told.facts.orders
    assert (order.feature, order.codes, str(order)) == (1, codes, words)
    assert not told.facts.limits_rows
    again = Tree.from_json(told.to_json())
    assert again == told
    assert state_facts(again, None, facts=["city is ordered: Paris < Rome"]).facts.orders[0].codes == (0, 1)


@pytest.mark.parametrize(
    ("sentence", "codes"),
    [
        ('size is ordered: "<10" < "10-20" < ">20"', (0, 2, 3)),
        ("size is ordered: '<10'<'10-20'<'a < b'", (0, 2, 4)),
        ("size is ordered: <10 < 10 < 10-20 < >20", (0, 1, 2, 3)),
        ("size is ordered: 10<10-20<'it is <'", (1, 2, 5)),
        ("size is ordered: child's < 10", (6, 1)),
    ],
)
def test_labels_that_hold_an_operator_can_be_ordered(sentence: str, codes: tuple[int, ...]) -> None:
    labels = ["<10", "10", "10-20", ">20", "a < b", "it is <", "child's"]
    builder = secateur.TreeBuilder(classes=[0, 1], feature_names=["size"], categories={"size": labels})
    root = builder.split_categories("size", ["<10"])
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([2, 8], parent=root, side="right")
    assert state_facts(builder.build(), None, facts=[sentence]).facts.orders[0].codes == codes


def test_an_implication_has_two_sides() -> None:
    for arrow in ("=>", "⇒", "implies"):
        (known,) = parse_facts(small_tree(), GROUPS, f"bmi > 2 {arrow} city = Rome or missing").implications
        assert known.premise.region == Region(low=2.0)
        assert known.conclusion.region == Region(codes=frozenset({1}), missing=True)
        assert str(known) == "bmi > 2 => city = Rome or missing"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("height > 3", r"Cannot read the fact 'height > 3'.* the columns are 'bmi', 'city'"),
        ("bmmi > 3", r"Cannot read the fact 'bmmi > 3'.* Did you mean 'bmi'\?"),
        ("bmi", r"Cannot read the fact 'bmi'.*'\.$"),
        ("bmi > tall", "'bmi' holds numbers, found 'tall'"),
        ("bmi != 3", "'bmi' holds numbers; give bounds"),
        ("city > Paris", "'city' holds categories; use '=' or 'in'"),
        ("city = Lima", "speaks of 'Lima', but 'city' holds 'Paris', 'Rome'"),
        ("5 <= bmi <= 3", "leaves 'bmi' no value"),
        ("bmi <= 3 or missing", "speaks of a missing 'bmi', but the tree takes none"),
        ("bmi > 1 => bmi > 0", "is about one column alone"),
        ("city is red", "'is' goes with 'missing' only"),
        (3, "Expected a fact as text"),
        ("height has 2 decimals", "Cannot read the fact 'height has 2 decimals'"),
        ("city has 2 decimals", "expected a column of numbers and at most 15 decimals"),
        ("bmi has 99 decimals", "expected a column of numbers and at most 15 decimals"),
        ("bmi is ordered: 1 < 2", "expected a column of categories, but 'bmi' holds numbers, which are ordered"),
        ("town is ordered: x < y", "expected a column of categories, but 'town' is a group of columns"),
        ("city is ordered: Paris < Lima", "speaks of 'Lima', but 'city' holds 'Paris', 'Rome'"),
        ("city is ordered: Paris", "expected two categories or more, each once, such as 'S < M < L'"),
        ("city is ordered: Paris < Rome < Paris", "expected two categories or more, each once"),
        ("place is ordered: Paris < Rome", "Cannot read the fact 'place is ordered: Paris < Rome'"),
    ],
)
def test_words_that_are_no_fact_are_rejected(words: Any, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        parse_facts(small_tree(), GROUPS, [words])


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (["bmi <= 20"], r"Row \d+ of X contradicts the fact 'bmi <= 20': bmi = "),
        (
            ["pregnant = 0 => female = 1"],
            r"contradicts the fact 'pregnant = 0 => female = 1': pregnant = 0, female = 0",
        ),
        (["city = Paris"], r"contradicts the fact 'city = Paris': city = (Bern|Oslo|Rome)"),
    ],
)
def test_a_row_that_contradicts_a_fact_is_shown(facts: list[str], sentence: str) -> None:
    model, X, y = fitted()
    with pytest.raises(InputError, match=sentence):
        simplify(model, X, y, groups=find_groups(X), facts=facts, method="mismatch", each_leaf=True)


def test_facts_that_contradict_each_other_are_rejected() -> None:
    model, _, _ = fitted()
    with pytest.raises(ParameterError, match="The facts leave 'bmi' no value at all"):
        simplify(model, method="exact", facts=["bmi <= 20", "bmi > 30"], each_leaf=True)
    with pytest.raises(ParameterError, match="The facts contradict each other: no row can satisfy all"):
        simplify(
            model,
            method="exact",
            facts=["bmi <= 20", "bmi <= 20 => female = 1", "female = 1 => pregnant = 1", "pregnant = 0"],
            each_leaf=True,
        )


def test_an_implication_makes_a_condition_irrelevant_and_is_named() -> None:
    tree = make_tree(
        children_left=[1, -1, 3, -1, -1],
        children_right=[2, -1, 4, -1, -1],
        feature=[0, -1, 1, -1, -1],
        threshold=[0.5, np.nan, 0.5, np.nan, np.nan],
        leaf_class=[-1, 0, -1, 0, 1],
        classes=["no", "yes"],
        n_features=2,
        feature_names=["pregnant", "female"],
    )
    assert simplify(tree, method="exact", each_leaf=True)[2].text == "pregnant > 0.5 and female > 0.5 => yes"
    rules = simplify(
        tree, method="exact", facts=["pregnant = 1 => female = 1", "0 <= pregnant <= 1"], integers=[0], each_leaf=True
    )
    assert rules[2].text == "pregnant = 1 => yes"
    assert str(rules[2].reasons[4]) == (
        "without it the tree still says yes wherever the rule holds, given that "
        "pregnant = 1 => female = 1; 0 <= pregnant <= 1; pregnant is a whole number"
    )
    assert rules.verify()
    assert rules.verify(np.array([[1.0, 1.0], [0.0, 0.0]]), ["yes", "no"])
    refuted = rules.verify(np.array([[1.0, 1.0], [1.0, 0.0]]), ["yes", "no"])
    assert "Row 1 violates a stated fact: pregnant = 1 => female = 1." in refuted.failures


def test_columns_of_a_group_are_shuffled_as_one() -> None:
    model, X, y = fitted()
    rules = simplify(
        model,
        X,
        y,
        method="budgeted",
        groups=find_groups(X),
        facts=["pregnant = 1 => female = 1"],
        max_conflict=0.05,
        each_leaf=True,
    )
    assert rules.verify()
    columns = np.arange(rules.tree.n_features)
    assert _find_bundles(rules.tree, columns) == [[0, 1, 2, 3], [4], [5], [6], [7, 8]]
    assert _find_bundles(rules.tree, np.array([1, 3, 5, 8])) == [[0, 1], [2], [3]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"class_names": 5},
        {"feature_names": 5},
        {"groups": [None]},
        {"groups": [1]},
        {"groups": {"g": [["a", "b"]]}},
        {"groups": np.array(3)},
        {"integers": [["age"]]},
        {"integers": np.array(3)},
        {"facts": np.array(3)},
        {"accepts_missing": []},
        {"domain_knowledge": "no"},
    ],
)
def test_an_argument_of_another_kind_is_one_clear_sentence(wrong: dict[str, Any]) -> None:
    model, X, y = fitted(2)
    with pytest.raises(ParameterError, match=r"^[^\n]+$"):
        simplify(model, X, y, method="exact", each_leaf=True, **wrong)


def test_a_lazy_frame_is_to_be_collected() -> None:
    X, _ = patients()
    with pytest.raises(InputError, match="collect a lazy one first"):
        find_groups(pl.DataFrame(X.to_dict("list")).lazy())


@pytest.mark.parametrize("method", secateur.METHODS)
@pytest.mark.parametrize("facts", [["a <= 1", "a >= 2"], ["a <= 0.5 => b > 3", "a > 0.5 => b > 3", "b <= 2"]])
def test_facts_that_no_row_keeps_to_are_rejected_by_every_method(method: str, facts: list[str]) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["a", "b"])
    root = builder.split("a", 0.5)
    builder.leaf([1, 2], parent=root, side="left")
    builder.leaf([2, 1], parent=root, side="right")
    rows = ([[0.0, 1.0], [1.0, 4.0]], ["no", "yes"]) if secateur.METHODS[method].needs_rows else ()
    with pytest.raises(ParameterError, match=r"no value at all|contradict each other"):
        secateur.simplify(builder.build(), *rows, method=method, facts=facts, each_leaf=True)
