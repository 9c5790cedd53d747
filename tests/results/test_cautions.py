"""Rules that mean less than they seem to are warned of."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines
from secateur.results.answer import find_cautions
from secateur.results.measures import measure_rules


def fit(labels: list[str], **options: object) -> secateur.Rules:
    X = np.arange(len(labels), dtype=float).reshape(-1, 1)
    model = DecisionTreeClassifier(random_state=0, **options).fit(X, labels)
    return secateur.simplify(model, X, np.array(labels), each_leaf=True)


def kinds(rules: secateur.Rules, *numbers: object) -> list[str]:
    return [caution.kind for caution in find_cautions(rules, *numbers)]  # type: ignore[arg-type]


def test_a_class_that_no_rule_predicts_is_named_in_either_form() -> None:
    rules = fit(["a"] * 10 + ["b", "c", "c"] * 5, max_depth=1)
    for form in (rules, choose_lines(rules)):
        (caution,) = find_cautions(form)  # type: ignore[arg-type]
        assert caution.text == "No rule predicts b (5 of 25 rows): it is nowhere the commonest class."


def test_without_rows_the_trees_own_counts_tell_how_common_a_class_is() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes", "never"], feature_names=["age"])
    root = builder.split("age", 30)
    builder.leaf([8, 2, 0], parent=root, side="left")
    builder.leaf([9, 1, 0], parent=root, side="right")
    tree = builder.build()
    (caution,) = find_cautions(secateur.simplify(tree, method="none", each_leaf=True))
    assert caution.text == "No rule predicts yes (3 of 20 rows): it is nowhere the commonest class."
    uncounted = find_cautions(secateur.simplify(replace(tree, counts=None), method="none", each_leaf=True))
    assert [one.text for one in uncounted] == [
        f"No rule predicts {name}: it is nowhere the commonest class." for name in ("yes", "never")
    ]


def test_rules_of_few_rows_are_listed() -> None:
    assert kinds(fit(["a"] * 10 + ["b"] * 4)) == ["few-rows"]
    assert kinds(fit(["a"] * 10 + ["b"] * 5)) == []
    (caution,) = find_cautions(fit(["a"] * 10 + ["b"] * 4))
    assert caution.text == "Rule 2 has fewer than 5 rows: its percentage says little."


def test_rules_as_good_as_a_guess_are_told_from_better_ones() -> None:
    rules = fit(["a"] * 10 + ["b"] * 10)
    assert kinds(rules, 0.8182, ("a", 0.8169)) == ["guess"]
    assert kinds(rules, 0.624, ("a", 0.7)) == ["guess"]
    assert kinds(rules, 0.995, ("a", 0.99)) == []  # half of the errors are spared
    assert kinds(rules, 1.0, ("a", 1.0)) == []
    assert "62.4 %, less often than always saying a (70.0 %)" in find_cautions(rules, 0.624, ("a", 0.7))[0].text


def test_of_many_classes_that_no_rule_predicts_a_few_are_named() -> None:
    labels = [f"c{place:03d}" for place in range(100)]
    rules = fit(labels * 5, max_depth=2, min_samples_leaf=50)
    n_said = len(np.unique(rules.tree.leaf_class[rules.tree.is_leaf]))
    found = find_cautions(rules)
    assert [one.kind for one in found] == ["unpredicted"] * 6
    assert found[-1].text == f"No rule predicts {95 - n_said} more classes either."


def make_rare(n_rows: int = 6_000) -> tuple[np.ndarray, np.ndarray]:
    """Make rows of which 4 in 100 are ill, more where either column is large."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4)).round(2)
    risk = 0.01 + 0.05 * (X[:, 0] > 0) + 0.12 * (X[:, 1] > 1)
    return X, np.where(rng.random(n_rows) < risk, "ill", "well")


def test_a_tolerance_that_is_wide_beside_a_rare_class_is_told() -> None:
    X, y = make_rare()
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=50, random_state=0).fit(X, y)
    measured = [secateur.simplify(model, X, y, tolerance=one) for one in (0.1, 0.02)]
    told = re.search(
        r"The list is coarser than the tree: its AUC is (0\.\d{3}) lower than the tree's; a tolerance below 0\.1, such "
        r"as (0\.\d+), keeps more\.",
        str(measured[0]),
    )
    assert told is not None
    found, narrow = measure_rules(measured[0]), measure_rules(measured[1])
    assert found is not None
    assert narrow is not None
    assert float(told[1]) == round(found.tree_auc - found.auc, 3)
    assert float(told[2]) == float(f"{np.mean(y == 'ill') / 2:.1g}")
    assert narrow.tree_auc - narrow.auc < found.tree_auc - found.auc
    assert "is coarser" not in str(measured[1])
    # Classes alone are what was asked for.
    assert "is coarser" not in str(secateur.simplify(model, X, y, tolerance=1))


def test_lists_that_are_no_better_than_a_guess_say_so_wherever_they_are_printed() -> None:
    X, y = make_rare()
    model = DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y)
    for text in (str(rules), rules.to_markdown(), rules._repr_html_()):
        assert re.search(r"Right for [\d.]+ % of 6,000 training rows; always saying well is .* %, more often\.", text)
    fair = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), X, y)
    assert ", more often" not in str(fair)


def test_a_list_that_states_far_more_than_there_is_says_so() -> None:
    X, y = make_rare()
    rarer = np.where((y == "ill") & (np.arange(len(y)) % 3 > 0), "well", y)
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=20, random_state=0).fit(X, rarer)
    rules = secateur.simplify(model, X, rarer)
    told = re.search(r"it states (.+) % ill on average, where (.+) % are; a tolerance below 0\.1", str(rules))
    assert told is not None
    stated = rules.predict_proba(X)[:, 0].mean()
    assert (float(told[1]), float(told[2])) == (round(100 * stated, 1), round(100 * np.mean(rarer == "ill"), 1))


def test_an_otherwise_that_no_row_can_reach_is_not_warned_of() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=5, max_features=3, random_state=1).fit(X[:, :10], y)
    rules = secateur.simplify(model, X[:, :10], y, budget=0.1)
    assert rules.support[3] == 0
    assert rules.lines[3].is_otherwise
    assert not rules.lines[3].leaf_ids
    assert "fewer than" not in " ".join(map(str, find_cautions(rules)))
    for line in rules.lines[3].section.rules:  # whatever the row, a rule of the section holds
        assert line.support
    several = np.random.default_rng(0).uniform(X[:, :10].min(axis=0), X[:, :10].max(axis=0), (20_000, 10))
    assert 3 not in rules.apply(several)
