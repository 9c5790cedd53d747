"""What lists say of themselves holds in every way of asking them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from drawing import draw
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines
from secateur.rules import lines
from secateur.rules.decision_list import make_decision_list
from secateur.tree.paths import trace_paths
from secateur.words.conditions import read_conditions


@pytest.fixture(scope="module")
def problem() -> tuple[DecisionTreeClassifier, np.ndarray, np.ndarray]:
    X, y = make_classification(600, 6, n_informative=4, flip_y=0.2, random_state=3)
    return DecisionTreeClassifier(max_depth=7, random_state=0).fit(X, y), X, y


@pytest.mark.parametrize("most_masked", [0, 1 << 26])
def test_what_many_rules_decide_is_counted_as_for_few(
    problem: tuple[DecisionTreeClassifier, np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch, most_masked: int
) -> None:
    model, X, y = problem
    few = secateur.simplify(model, X, y)
    weights = np.random.default_rng(0).random(len(y))
    weighted = secateur.simplify(model, X, y, sample_weight=weights)
    monkeypatch.setattr(lines, "FEW_RULES", 3)
    monkeypatch.setattr(lines, "MOST_MASKED", most_masked)
    rules = secateur.simplify(model, X, y)
    assert len(rules) > 3
    assert np.isnan(rules.covered_counts[rules.leaves]).all()
    many = secateur.simplify(model, X, y, sample_weight=weights)
    assert np.array_equal(many.decided_counts, weighted.decided_counts)
    assert [line.support for line in rules.lines] == [line.support for line in few.lines]
    decided = rules.apply(X)
    for index in range(rules.n_lines):
        assert rules.decided_counts[index].tolist() == np.bincount(y[decided == index], minlength=2).tolist()
    assert rules.verify(X, y).ok


def test_probabilities_without_rows_are_those_of_the_tree(
    problem: tuple[DecisionTreeClassifier, np.ndarray, np.ndarray],
) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, tolerance=1)
    assert not rules.is_counted
    np.testing.assert_allclose(rules.predict_proba(X), model.predict_proba(X))
    found = rules.audit(X, y)
    assert found.brier == found.tree_brier
    assert found.mean_abs_delta_p == 0


@pytest.mark.parametrize("each_leaf", [False, True])
def test_a_row_that_violates_a_fact_gets_one_answer(each_leaf: bool) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["a"])
    root = builder.split("a", 0)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    X = np.array([[2.0], [3.0], [4.0]])
    rules = secateur.simplify(builder.build(), X, ["yes", "yes", "no"], facts=["a > 1"], each_leaf=each_leaf)
    row = np.array([[-1.0]])
    label = rules.lines[rules.apply(row)[0]].prediction
    assert rules.predict(row).tolist() == [label] == [rules.explain(row[0]).prediction]
    assert rules.predict_proba(row).argmax() == ["no", "yes"].index(label)
    namespace: dict[str, object] = {}
    exec(rules.to_python(), namespace)
    assert namespace["predict"]({"a": -1.0})[0] == label  # type: ignore[operator]


@pytest.mark.parametrize("method", ["budgeted", "mismatch", "faithful"])
def test_reasons_keep_the_settings_of_their_method(
    method: str, problem: tuple[DecisionTreeClassifier, np.ndarray, np.ndarray]
) -> None:
    model, X, y = problem
    setting = {"max_conflict": 0.03} if method == "budgeted" else {"tolerance": 0.2}
    source = secateur.simplify(model, X, y, method=method, each_leaf=True, **setting)  # type: ignore[arg-type]
    for rule in choose_lines(source):
        own = source[rule.place].reasons
        assert {link: reason.text for link, reason in rule.reasons.items()} == {
            link: reason.text for link, reason in own.items()
        }


def test_exports_give_the_share_that_is_printed(
    problem: tuple[DecisionTreeClassifier, np.ndarray, np.ndarray],
) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, X, y)
    listed = make_decision_list(rules).rules
    assert [rule.share for rule in listed] == [line.share for line in rules.lines]
    shares = rules.predict_proba(X)
    decided = rules.apply(X)
    assert len(set(decided)) > 5
    for line in rules.lines:
        mine = decided == line.index
        if mine.any():
            assert shares[mine][0][line.prediction] == line.share
    classes_only = secateur.simplify(model, X, y, tolerance=1)
    shares, decided = classes_only.predict_proba(X), classes_only.apply(X)
    for line in classes_only.lines:
        mine = decided == line.index
        if mine.any():
            assert shares[mine][0][line.prediction] == line.reliability


def test_explain_names_a_budget_only_where_there_is_one(
    problem: tuple[DecisionTreeClassifier, np.ndarray, np.ndarray],
) -> None:
    model, X, y = problem
    for method, words in (("mismatch", "'mismatch' may answer differently from the tree"), ("exact", "budget")):
        source = secateur.simplify(model, X, y, method=method, each_leaf=True)
        rules = choose_lines(source, budget=0.05 if method == "exact" else 0.0)
        differ = np.flatnonzero(rules.predict(X) != model.predict(X))
        assert len(differ)
        assert words in str(rules.explain(X[differ[0]]))


def test_a_leaf_that_only_missing_values_reach_is_found_in_a_rule() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["x", "y"], accepts_missing=["x"])
    root = builder.split("x", 5, missing="right")
    builder.leaf([9, 0], parent=root, side="left")
    only_missing = builder.split("x", 3, parent=root, side="right", missing="left")
    builder.leaf([9, 0], parent=only_missing, side="right")
    below = builder.split("y", 0, parent=only_missing, side="left")
    again = builder.split("x", 2, parent=below, side="left", missing="left")
    builder.leaf([1, 5], parent=again, side="left")
    builder.leaf([1, 0], parent=again, side="right")
    builder.leaf([0, 9], parent=below, side="right")
    X = np.array([[np.nan, -1]] * 6 + [[np.nan, 1]] * 9 + [[1, 0]] * 9 + [[9, 0]] * 9, dtype=float)
    y = ["no"] + ["yes"] * 14 + ["no"] * 18
    rules = secateur.simplify(builder.build(), X, y, method="mismatch", tolerance=0.2, otherwise="no")
    assert rules.verify().ok


def test_sentences_of_another_version_are_said_not_to_be_compared(
    problem: tuple[DecisionTreeClassifier, np.ndarray, np.ndarray],
) -> None:
    from secateur.export.json import _digest

    model, X, y = problem
    content = json.loads(secateur.simplify(model, X, y).to_json())
    content.pop("digest")
    content["secateur"] = "0.0.1"
    content["digest"] = _digest(content)
    found = secateur.Rules.from_json(json.dumps(content)).verify(X, y)
    assert "the sentences of the file were written by secateur 0.0.1: not compared" in found.unchecked


def slow_ranking(rules: secateur.Rules, chosen: list[int]) -> list[int]:
    """The chosen rules by reliability, support, number of conditions and place."""

    def key(place: int) -> tuple[float, float, int, int]:
        rule = rules[place]
        return -(rule.reliability or 0.0), -(rule.support or 0.0), len(rule.kept_ids), place

    return sorted(chosen, key=key)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", draw(range(6), 2))
@pytest.mark.parametrize("many", [False, True])
def test_the_upper_line_decides_and_is_of_the_class_that_ranks_highest(
    seed: int, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = make_classification(700, 6, n_informative=5, n_redundant=0, n_classes=4, flip_y=0.1, random_state=seed)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    monkeypatch.setattr("secateur.choosing.MOST_COMPARED", 0 if many else 512)
    sources = [
        secateur.simplify(model, X, y, method=method, each_leaf=True)
        for method in ("exact", "faithful", "mismatch", "quinlan")
    ]
    made = [secateur.simplify(model, X, y, budget=budget) for budget in (0.0, 0.02, 0.08, 0.2)]
    made += [secateur.simplify(model, X, y, budget=0.08, tolerance=1, sections=1)]
    grid = np.random.default_rng(seed).normal(size=(3000, 6)) * 3
    for rules in [*(choose_lines(source) for source in sources), *made]:
        for rows in (X, grid):
            covered = rules.covers(rows)
            found = rules.apply(rows)
            is_covered = covered.any(axis=1)
            of_rules = np.array([rule.index for rule in rules])
            assert (of_rules[covered[is_covered].argmax(axis=1)] == found[is_covered]).all()
            assert all(rules.lines[index].is_otherwise for index in set(found[~is_covered].tolist()))
            labels = np.array([line.prediction for line in rules.lines])
            assert (labels[found] == rules.predict(rows)).all()
            if rules.method == "exact":  # whose lines are not those of leaves, and need no rank
                continue
            ranked = slow_ranking(rules.each_leaf, rules.leaves.tolist())
            place_of = {place: index for index, place in enumerate(rules.leaves.tolist())}
            by_rank = np.array([place_of[place] for place in ranked], dtype=int)
            best = by_rank[covered[:, by_rank].argmax(axis=1)]
            assert (labels[of_rules[best]] == labels[found])[is_covered].all()


@pytest.mark.parametrize("settings", [{}, {"tolerance": 1, "sections": 1}, {"budget": 0.03}])
def test_rules_of_a_section_stay_together_by_class(settings: dict[str, float]) -> None:
    X, y = make_classification(900, 6, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.05, random_state=1)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, **settings)  # type: ignore[arg-type]
    assert max(len(section.rules) for section in rules.sections) > 3
    for section in rules.sections:
        assert (np.diff([rule.class_id for rule in section.rules]) >= 0).all()


@pytest.mark.parametrize("budget", [0.0, 0.05])
def test_what_lines_were_chosen_from_is_kept(
    budget: float, problem: tuple[DecisionTreeClassifier, np.ndarray, np.ndarray]
) -> None:
    model, X, y = problem
    every = secateur.simplify(model, X, y, each_leaf=True)
    rules = secateur.simplify(model, X, y, budget=budget)
    assert (every.is_list, every.each_leaf) == (False, every)
    assert rules.is_list
    assert rules.each_leaf == every
    classes_only = secateur.simplify(model, X, y, budget=budget, tolerance=1, sections=1)
    for rule in classes_only:
        assert set(rule.kept_ids) <= set(every[rule.place].kept_ids)
        assert budget or rule.kept_ids == every[rule.place].kept_ids
    for rule in rules:
        holds = rules.covers(X)[:, list(rules.leaves).index(rule.place)]
        assert (rule.covered_support, rule.covered_reliability) == (
            holds.sum(),
            pytest.approx((y[holds] == rule.prediction).mean()),
        )
        assert rule.source_support == every.leaf_support[rule.place]
    headings = [len(section.heading) for section in rules.sections]
    assert len(headings) > 1
    assert rules.n_conditions == sum(headings) + sum(len(rule.conditions) for rule in rules)
    paths = [len(section.otherwise.kept_ids) for section in rules.sections]  # type: ignore[union-attr]
    own = [len(rule.kept_ids) - len(rule.section.otherwise.kept_ids) for rule in rules]  # type: ignore[union-attr]
    assert rules.n_edges == 2 * (len(paths) - 1) + sum(own)
    assert every.n_conditions == every.read_lengths.sum() <= every.tree_conditions == rules.tree_conditions


def test_lines_are_rules_and_otherwise(problem: tuple[DecisionTreeClassifier, np.ndarray, np.ndarray]) -> None:
    model, X, y = problem
    rules, every = secateur.simplify(model, X, y), secateur.simplify(model, X, y, each_leaf=True)
    assert len(rules.sections) > 1
    printed = [line for section in rules.sections for line in (*section.rules, section.otherwise)]
    assert [line.index for line in printed if line] == [line.index for line in rules.lines] == [*range(rules.n_lines)]
    assert [rule.index for rule in rules] == [line.index for line in rules.lines if not line.is_otherwise]
    assert sum(section.support or 0 for section in rules.sections) == len(X)
    for section in rules.sections:
        last = section.otherwise
        assert last is not None
        assert section.heading
        assert last.text.endswith(f", {last.asked} => {last.class_name}")
        assert last.asked == ("otherwise" if section.rules else "always")
        assert section.support == sum(line.support or 0 for line in (*section.rules, last))
        assert (last.is_otherwise, last.conditions, last.leaf_id, last.place, last.reasons) == (True, (), None, -1, {})
        assert last.prediction == rules.tree.classes[last.class_id]
    (whole,) = secateur.simplify(model, X, y, sections=1).sections
    assert whole.heading == ()
    assert whole.otherwise is not None
    assert whole.otherwise.text == f"otherwise => {whole.otherwise.class_name}"
    assert every.sections[0].otherwise is None
    assert [line.index for line in every.lines] == [rule.index for rule in every]
    assert every.class_ids.tolist() == every.paths.leaf_class.tolist()


def test_rules_with_another_field_keep_what_depends_on_the_tree_alone(
    problem: tuple[DecisionTreeClassifier, np.ndarray, np.ndarray],
) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, X, y, budget=0.05)
    assert rules.each_leaf.budget == 0  # which looks at the paths
    other = rules.without_rows()
    assert other.training is None
    assert other.paths is rules.paths
    assert other == rules
    assert other.each_leaf.paths is rules.paths


def test_what_a_heading_does_not_let_be_missing_is_not_said_to_be() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age", "income"], accepts_missing=True)
    root = builder.split("age", 30, missing="right")
    low = builder.split("income", 10, parent=root, side="left")
    builder.leaf([9, 1], parent=low, side="left")
    deep = builder.split("age", 20, missing="left", parent=low, side="right")
    builder.leaf([1, 9], parent=deep, side="left")
    builder.leaf([8, 2], parent=deep, side="right")
    builder.leaf([5, 6], parent=root, side="right")
    tree = builder.build()
    heading, own = int(tree.children_left[root]), int(tree.children_left[deep])
    assert [one.text for one in read_conditions(tree, trace_paths(tree), [own])] == ["age <= 20 or missing"]
    assert [one.text for one in read_conditions(tree, trace_paths(tree), [own], under=[heading])] == ["age <= 20"]
