"""Lists of regression trees: no possible row gets a value further than the tolerance from the tree's."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import brute_force
import list_oracles
import numpy as np
import oracles
import pytest
import told_trees
from drawing import draw
from forged_files import sign_again
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from regression_trees import TOLERANCES, as_regression, regression_trees, value_at
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

import secateur
from secateur import choosing
from secateur.errors import FormatError, InputError, InvalidTreeError, ParameterError
from secateur.methods import covering
from secateur.methods.covering import Conjunction, _find_candidates, count_one, cover_leaves
from secateur.methods.leaves import LeafMasks, LeafValues
from secateur.tree.tree import Tree

DIABETES = load_diabetes(as_frame=True)
X, Y = DIABETES.data, DIABETES.target
MODEL = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, Y)
ULP = Fraction(1, 2**52)


def is_near(stated: float, value: Fraction, tolerance: float) -> bool:
    """Whether a value lies within a tolerance as written; where no float does, the nearest one is stated."""
    return abs(Fraction(stated) - value) <= Fraction(repr(float(tolerance))) + ULP * abs(Fraction(stated))


def check_everywhere(rules: secateur.Rules, *, limit: int = 400) -> None:
    """Every line that holds for a possible row, and "otherwise" where none does, is near what the tree says."""
    tree = rules.tree
    for row in brute_force.every_kind_of_row(tree, limit):
        if not told_trees.is_possible(tree, tree.facts, row):
            continue
        said = value_at(tree, row)
        found = list_oracles.covering(rules, row)
        if rules.is_list:
            found = found or [list_oracles.deciding(rules, row)]
        assert found
        assert all(is_near(rules.lines[line].prediction, said, rules.tolerance) for line in found)


def simplify_possible(tree: Tree, **asked: Any) -> secateur.Rules:
    """Rules; facts that contradict each other leave no row to be near."""
    try:
        return secateur.simplify(tree, **asked)
    except ParameterError as rejected:
        if "contradict each other" not in str(rejected):
            raise
        reject()


@given(st.data(), st.booleans(), st.sampled_from(TOLERANCES), st.sampled_from(("auto", 1, 3)))
def test_every_line_that_holds_is_near_the_tree(
    data: st.DataObject, facts: bool, tolerance: float, sections: Any
) -> None:
    tree = data.draw(regression_trees(facts=facts))
    rules = simplify_possible(tree, tolerance=tolerance, sections=sections)
    check_everywhere(rules)
    for line in rules.lines:
        low, high = line.window or (0.0, 0.0)
        assert Fraction(high) - Fraction(low) <= 2 * Fraction(str(tolerance))
        assert low <= high
    assert rules.verify().ok, rules.verify()
    again = secateur.Rules.from_json(rules.to_json())
    assert again.to_json() == rules.to_json()
    assert again.verify().ok


@given(st.data(), st.booleans(), st.sampled_from(TOLERANCES))
def test_each_leaf_loses_what_keeps_no_far_leaf_out(data: st.DataObject, facts: bool, tolerance: float) -> None:
    tree = data.draw(regression_trees(facts=facts))
    rules = simplify_possible(tree, tolerance=tolerance, each_leaf=True)
    check_everywhere(rules)
    assert rules.verify().ok, rules.verify()
    assert secateur.Rules.from_json(rules.to_json()).to_json() == rules.to_json()
    assert [rule.prediction for rule in rules] == [tree.values[leaf] for leaf in oracles.leaves(tree)]
    if not facts:
        assert [list(rule.deleted_ids) for rule in rules] == delete_slowly(tree, tolerance)


@given(st.data(), st.sampled_from(TOLERANCES), st.booleans())
def test_the_facts_that_are_named_suffice(data: st.DataObject, tolerance: float, each_leaf: bool) -> None:
    tree = data.draw(regression_trees(facts=True))
    assume(any(told_trees.is_possible(tree, tree.facts, row) for row in told_trees.all_rows(tree)))
    rules = secateur.simplify(tree, tolerance=tolerance, each_leaf=each_leaf)
    facts = tree.facts
    for words, fact in rules.facts_used.stated:
        fewer = facts if words in rules.assumptions else facts.leave_out(fact, tree.n_features)
        facts = facts if fewer is None else fewer
    for row in told_trees.all_rows(tree):
        if told_trees.is_possible(tree, facts, row):
            found = list_oracles.covering(rules, row)
            found = [list_oracles.deciding(rules, row)] if rules.is_list else found
            assert all(is_near(rules.lines[line].prediction, value_at(tree, row), tolerance) for line in found)


def test_the_guarantee_of_each_leaf_names_a_fact() -> None:
    tree = secateur.TreeBuilder(classes=["value"], feature_names=["age"])
    root = tree.split("age", 18)
    tree.leaf([5], parent=root, side="left")
    tree.leaf([5], parent=root, side="right")
    told = as_regression(tree.build(), [0.0, 1.0, 2.0])
    rules = secateur.simplify(told, each_leaf=True, tolerance=0.5, facts=["age > 18"])
    assert rules[1].text == "always => 2.0"
    assert rules.guarantee.endswith(" Holds for rows that satisfy: age > 18.")


def test_a_value_that_a_float_puts_beyond_the_tolerance_is_kept_out() -> None:
    """0.2 and 0.1 are floats that differ by more than a tenth."""
    builder = secateur.TreeBuilder(classes=["value"], feature_names=["x"])
    root = builder.split("x", 1)
    low = builder.split("x", 0, parent=root, side="left")
    builder.leaf([5], parent=low, side="left")
    builder.leaf([5], parent=low, side="right")
    high = builder.split("x", 2, parent=root, side="right")
    builder.leaf([5], parent=high, side="left")
    builder.leaf([5], parent=high, side="right")
    tree = builder.build()
    values = np.zeros(tree.n_nodes)
    values[oracles.leaves(tree)] = 0.1, -2.0, 0.2, -2.0
    rules = secateur.simplify(as_regression(tree, values), tolerance=0.1, sections=1)
    assert rules.verify().ok, rules.verify()


def delete_slowly(tree: Tree, tolerance: float) -> list[list[int]]:
    """Delete root to leaf while every leaf that is met is near, leaf by leaf."""
    assert tree.values is not None
    found, leaves = [], oracles.leaves(tree)
    for leaf in leaves:
        own, deleted = Fraction(float(tree.values[leaf])), []
        far = [one for one in leaves if abs(Fraction(float(tree.values[one])) - own) > Fraction(str(tolerance))]
        links = oracles.path(tree, leaf)
        for link in links:
            left = oracles.without(links, [*deleted, link])
            if not any(oracles.meets(tree, left, oracles.path(tree, one)) for one in far):
                deleted.append(link)
        found.append(deleted)
    return found


@given(st.data(), st.sampled_from((0.02, 0.1, 0.5)), st.booleans())
def test_a_budget_is_kept_on_the_training_rows(data: st.DataObject, budget: float, is_weighted: bool) -> None:
    tree = data.draw(regression_trees(min_leaves=2, categorical=False, missing=False))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows = rng.choice([-1.0, 0.0, 0.5, 0.7, 1.0, 2.0, 3.0, 4.0], size=(60, tree.n_features))
    weights = rng.integers(1, 5, 60) / 4 if is_weighted else None
    targets = rng.normal(size=60)
    rules = secateur.simplify(tree, rows, targets, tolerance=0.2, budget=budget, sample_weight=weights)
    assert rules.verify().ok, rules.verify()
    off = [
        any(
            not is_near(rules.lines[line].prediction, value_at(tree, row), 0.2)
            for line in list_oracles.covering(rules, row) or [list_oracles.deciding(rules, row)]
        )
        for row in rows
    ]
    heavy = np.ones(60) if weights is None else weights
    assert heavy[off].sum() <= budget * heavy.sum() + 1e-9


@given(st.data(), st.booleans())
def test_rows_means_and_spreads_are_those_of_a_loop(data: st.DataObject, is_weighted: bool) -> None:
    tree = data.draw(regression_trees(categorical=False, missing=False))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows, targets = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0], size=(40, tree.n_features)), 1e6 + rng.normal(size=40)
    weights = rng.integers(0, 4, 40) / 2 if is_weighted else None
    heavy = np.ones(40) if weights is None else weights
    if not heavy.any():
        return
    rules = secateur.simplify(tree, rows, targets, tolerance=0.2, sample_weight=weights)
    decided = np.array([list_oracles.deciding(rules, row) for row in rows])
    for line in rules.lines:
        own = decided == line.index
        assert line.support == heavy[own].sum()
        if not line.support:
            assert line.target_mean is None
            continue
        mean = np.average(targets[own], weights=heavy[own])
        assert line.target_mean == pytest.approx(mean, rel=1e-12)
        spread = np.average((targets[own] - mean) ** 2, weights=heavy[own]) ** 0.5
        assert line.target_spread == pytest.approx(spread, abs=1e-3)  # the tree's values may be a million away
    assert rules.predict(rows).tolist() == [rules.lines[line].prediction for line in decided.tolist()]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, ExtraTreeRegressor])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_trees_of_every_criterion_are_read_exactly(kind: Any, criterion: str, is_weighted: bool) -> None:
    weights = np.random.default_rng(0).random(len(Y)) if is_weighted else None
    model = kind(max_depth=5, criterion=criterion, random_state=0).fit(X, Y, weights)
    tree = secateur.from_model(model)
    assert tree.is_regression
    assert np.array_equal(tree.values[model.apply(X)], model.predict(X))
    rules = secateur.simplify(model, X, Y, sample_weight=weights)
    mean = np.average(Y, weights=weights)
    assert rules.tolerance == pytest.approx(0.25 * np.average((Y - mean) ** 2, weights=weights) ** 0.5, rel=1e-12)
    assert np.abs(rules.predict(X) - model.predict(X)).max() <= rules.tolerance * (1 + 1e-12)
    assert rules.verify(model=model).ok


def test_missing_values_go_where_the_tree_sends_them() -> None:
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = DecisionTreeRegressor(max_depth=5, random_state=0).fit(holes, Y)
    rules = secateur.simplify(model, holes, Y)
    assert np.abs(rules.predict(holes) - model.predict(holes)).max() <= rules.tolerance * (1 + 1e-12)
    assert rules.verify().ok


def test_a_tolerance_ties_as_it_was_written() -> None:
    """0.3 - 0.1 is more than 0.2 among floats; both leaves lie within 0.1 of 0.2 only where 0.1 is the decimal."""
    builder = secateur.TreeBuilder(None, ["x"])
    root = builder.split("x", 0.5)
    builder.leaf(prediction=0.5, parent=root, side="left")
    builder.leaf(prediction=1.0, parent=root, side="right")
    tree = builder.build()
    assert len(secateur.simplify(tree, tolerance=0.25)) == 0
    assert secateur.simplify(tree, tolerance=0.25).predict([[0], [1]]).tolist() == [0.75, 0.75]
    assert len(secateur.simplify(tree, tolerance=0.2499999)) == 1
    assert secateur.simplify(tree, tolerance=0).predict([[0], [1]]).tolist() == [0.5, 1.0]


def test_equal_values_are_one_and_one_leaf_is_always() -> None:
    builder = secateur.TreeBuilder(None, ["x", "z"])
    root = builder.split("x", 0.5)
    below = builder.split("z", 1, parent=root, side="left")
    builder.leaf([3], prediction=7, parent=below, side="left")
    builder.leaf([4], prediction=8, parent=below, side="right")
    builder.leaf([5], prediction=7, parent=root, side="right")
    rules = secateur.simplify(builder.build(), tolerance=0)
    assert [str(line) for line in rules.lines] == ["8 if x ≤ 0.5 and z > 1", "otherwise 7"]
    alone = secateur.TreeBuilder(None, ["x"])
    alone.leaf([9], prediction=1.5)
    assert [str(line) for line in secateur.simplify(alone.build(), tolerance=3).lines] == ["always about 1.5"]


def test_the_tolerance_may_be_a_part_of_the_spread() -> None:
    half, number = (secateur.simplify(MODEL, X, Y, tolerance=one) for one in ("0.5sd", 12.5))
    assert half.tolerance == pytest.approx(Y.std(ddof=0) / 2, rel=1e-12)
    assert number.tolerance == 12.5
    for wrong in ("0.5 sd!", "sd", "-1sd", -1.0, "nansd", True, float("nan")):
        with pytest.raises(ParameterError, match="tolerance"):
            secateur.simplify(MODEL, X, Y, tolerance=wrong)
    with pytest.raises(InputError, match="tolerance in the units of the target"):
        secateur.simplify(MODEL)
    with pytest.raises(ParameterError, match="from 0 to 1"):
        secateur.simplify(DecisionTreeClassifier(max_depth=1).fit([[0], [1]], [0, 1]), tolerance=2.0)


@pytest.mark.parametrize("method", [name for name in secateur.METHODS if name not in ("exact", "none")])
def test_other_methods_are_rejected_with_the_reason(method: str) -> None:
    with pytest.raises(ParameterError, match="says nothing about single rows"):
        secateur.simplify(MODEL, X, Y, method=method, each_leaf=True)


def test_the_trees_own_rules_are_rules_too() -> None:
    rules = secateur.simplify(MODEL, X, Y, method="none", each_leaf=True)
    assert rules.n_conditions == rules.tree_conditions
    assert np.array_equal(rules.predict(X), MODEL.predict(X))
    assert rules.verify().ok
    with pytest.raises(ParameterError, match="simplify a regression tree by 'exact'"):
        secateur.simplify(MODEL, X, Y, method="none")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: secateur.simplify(MODEL, X, Y, of=1), "'of' names a class"),
        (lambda: secateur.simplify(MODEL, X, Y, otherwise=1), "'otherwise' names a class"),
        (lambda: secateur.simplify(MODEL, X, Y.astype(str)), "Expected y as numbers"),
        (lambda: secateur.simplify(MODEL, X, Y.mask(Y > 300)), "finite numbers"),
        (lambda: secateur.simplify(MODEL, X, Y).predict_proba(X), "no probabilities"),
        (lambda: secateur.simplify(MODEL, X, Y).overlaps(X), "overlaps needs classes, but these rules predict numbers"),
        (lambda: secateur.diagnose(MODEL, X, Y), "A diagnosis needs classes"),
        (lambda: secateur.simplify(MODEL, X, Y).limit(lines=2), "Editing needs classes"),
        (lambda: secateur.simplify(MODEL, X, Y).changed(), "needs classes"),
    ],
)
def test_what_is_about_classes_is_rejected(call: Any, sentence: str) -> None:
    with pytest.raises((InputError, ParameterError), match=sentence):
        call()


def test_values_that_are_not_finite_are_no_tree() -> None:
    tree = secateur.from_model(MODEL)
    with pytest.raises(InvalidTreeError, match="finite value"):
        as_regression(tree, np.full(tree.n_nodes, np.inf))
    text = json.loads(tree.to_json())
    text["values"][0] = 1.0
    with pytest.raises(FormatError, match="finite value if it is a leaf"):
        Tree.from_json(json.dumps(text))
    assert Tree.from_json(tree.to_json()) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree


def test_a_forged_value_is_found() -> None:
    rules = secateur.simplify(MODEL, X, Y)
    content = json.loads(rules.to_json())
    line = content["lines"][0]
    line["prediction"] = line["share"] = line["share"] + 3 * rules.tolerance
    sign_again(content)
    assert not secateur.Rules.from_json(json.dumps(content)).verify().ok
    content = json.loads(rules.to_json())
    content["lines"][0]["target"][0] += 1.0
    sign_again(content)
    found = secateur.Rules.from_json(json.dumps(content)).verify(X, Y)
    assert any("states a mean" in one for one in found.failures)


def test_large_trees_are_made_by_walks_and_keep_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (covering, choosing):
        monkeypatch.setattr(module, "MANY_LEAVES", 400)
    walks = mock.Mock(wraps=covering.cover_large)
    monkeypatch.setattr(choosing, "cover_large", walks)
    rows, targets = make_friedman1(800, 6, noise=1.0, random_state=0)
    model = DecisionTreeRegressor(random_state=0).fit(rows, targets)
    assert model.get_n_leaves() > 500
    for form in ({}, {"each_leaf": True}):
        rules = secateur.simplify(model, rows, targets, tolerance="0.5sd", **form)
        new = make_friedman1(2000, 6, random_state=1)[0]
        assert np.abs(rules.predict(new) - model.predict(new)).max() <= rules.tolerance * (1 + 1e-12)
        assert rules.n_conditions < rules.tree_conditions
    assert walks.call_count == 1


@pytest.mark.drawn
def test_the_cover_is_nearly_as_short_as_the_shortest() -> None:
    """Greedy covers of many trees against mixed-integer programming over the same lines and windows."""
    greedy = best = 0
    for seed in draw(range(100), 30):
        rows, targets = make_friedman1(150, 5, noise=1.0, random_state=seed)
        tree = secateur.from_model(DecisionTreeRegressor(max_depth=4, random_state=seed).fit(rows, targets))
        rules = secateur.simplify(tree, tolerance=float(0.25 * targets.std()), sections=1)
        paths, values = rules.paths, rules.make_leaf_values(rules.tolerance)
        masks = LeafMasks(tree, paths)
        edges = [
            Conjunction(masks, [masks.edge(link) for link in paths.links[paths.entries(leaf)].tolist()])
            for leaf in range(paths.n_rules)
        ]
        own = cover_leaves(masks, edges, 0, range(paths.n_rules), values).cost[0]
        shortest = _find_shortest(masks, edges, values, paths.n_rules)
        assert own >= shortest
        greedy, best = greedy + own, best + shortest
    assert greedy <= 1.02 * best


def _find_shortest(masks: LeafMasks, edges: Any, values: LeafValues, n_leaves: int) -> int:
    places = list(range(n_leaves))
    windows = values.list_windows(places)
    if len(windows) == 1:
        return 0
    lines = _find_candidates(masks, edges, 0, masks.possible, windows, places, count_one)
    # One variable for each line, and one for each window that "otherwise" may have.
    covers = [
        [bool(one.inside >> leaf & 1) for one in lines] + [bool(w.leaves >> leaf & 1) for w in windows]
        for leaf in places
    ]
    one_window = [[0] * len(lines) + [1] * len(windows)]
    cost = np.array([one.cost for one in lines] + [0] * len(windows))
    constraints = [
        LinearConstraint(csr_array(np.array(covers, dtype=float)), 1, np.inf),
        LinearConstraint(np.array(one_window), 1, 1),
    ]
    found = milp(cost, constraints=constraints, integrality=np.ones(len(cost)), bounds=Bounds(0, 1))
    return round(found.fun)


@pytest.mark.long
def test_rows_in_files_and_queries_give_the_same_rules(tmp_path: Any) -> None:
    frame = X.assign(y=Y, w=np.arange(len(Y)) % 3)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    here = secateur.simplify(MODEL, X, Y, sample_weight=frame.w)
    duckdb = pytest.importorskip("duckdb")
    tables = [str(tmp_path / "rows.parquet"), str(tmp_path / "rows.csv"), duckdb.from_df(frame), frame]
    for table in tables:
        there = secateur.simplify(MODEL, table, "y", sample_weight="w")
        assert there.tolerance == pytest.approx(here.tolerance, rel=1e-12)
        assert [line.text for line in there.lines] == [line.text for line in here.lines]
        assert np.array_equal(there.counts, here.counts)
        assert np.allclose(there.target_moments, here.target_moments, equal_nan=True)
        one, other = (rules.audit(*rows).to_dict() for rules, rows in ((there, (table, "y")), (here, (X, Y))))
        assert one == pytest.approx(other, rel=1e-9)
        assert there.verify(table, "y", sample_weight="w").ok
    evidence = secateur.collect_evidence(MODEL, X, Y)
    counted = secateur.simplify(MODEL, evidence=evidence, tolerance=10.0)
    assert counted.support.sum() == len(Y) or np.isnan(counted.support).any()
    with pytest.raises(InputError, match="rows that can be read twice"):
        secateur.simplify(MODEL, evidence=evidence)


def test_the_page_shows_the_targets_of_each_line(tmp_path: Any) -> None:
    rules = secateur.simplify(MODEL, X, Y)
    report = rules.report(X[:100], Y[:100], title="<Progress> & more")
    counts = np.array(report.summary["spread"]["counts"])
    assert counts.sum(axis=1).tolist() == np.bincount(rules.apply(X[:100]), minlength=rules.n_lines).tolist()
    page = report.to_html()
    assert "&lt;Progress&gt; &amp; more" in page
    assert page.count("<svg") == rules.n_lines
    assert "http" not in page.replace("http-equiv", "")
    report.save(tmp_path / "page.html")
    assert json.loads(report.to_json())["n_rules"] == len(rules)
    assert "<svg" not in rules.without_rows().report().to_html()
    for words, said in (
        ({"notes": "hello"}, "Expected notes as a list of sentences"),
        ({"budgets": [2]}, "Expected budgets as a number from 0 to 1"),
        ({"title": 5}, "Expected title as text"),
        ({"groups_by": "sex"}, "compares classes, but these rules predict numbers"),
    ):
        with pytest.raises(ParameterError, match=said):
            rules.report(**words)
    assert rules.to_html().startswith("<!doctype html>")


@pytest.mark.parametrize("is_weighted", [False, True])
def test_unseen_rows_come_first_and_are_recounted(is_weighted: bool) -> None:
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X[:300], Y[:300])
    weights = np.arange(len(Y) - 300) % 4 if is_weighted else None
    rules = secateur.simplify(model, X[:300], Y[:300]).measure(X[300:], Y[300:], weights)
    heavy = np.ones(len(Y) - 300) if weights is None else weights
    decided = rules.apply(X[300:])
    assert rules.unseen is not None
    for line in rules.lines:
        own = decided == line.index
        assert rules.unseen.support[line.index] == heavy[own].sum()
        if heavy[own].sum():
            mean = np.average(Y[300:][own], weights=heavy[own])
            assert rules.unseen.moments[line.index, 0] == pytest.approx(mean)
    assert "unseen" in str(rules)
    error = np.average((rules.predict(X[300:]) - Y[300:]) ** 2, weights=heavy) ** 0.5
    assert f"Off by {error:.2f}"[:9] in str(rules)
    assert rules.verify().ok
    again = secateur.Rules.from_json(rules.to_json())
    assert again.to_json() == rules.to_json()
    wrong = np.array(rules.unseen.moments) + 1.0
    forged = rules.change(unseen=replace(rules.unseen, moments=wrong)).verify()
    assert any("states a mean" in one for one in forged.failures)


@pytest.mark.parametrize("form", [{}, {"each_leaf": True}, {"sections": 1}])
@pytest.mark.parametrize("tolerance", ["0.1sd", "0.5sd"])
def test_errors_grow_by_at_most_the_tolerance_on_any_targets(form: dict[str, Any], tolerance: str) -> None:
    """Of all targets that could be, the worst lie on the tree's side of each value."""
    rules = secateur.simplify(MODEL, X, Y, tolerance=tolerance, **form)
    rows = X.sample(frac=1.0, random_state=0).apply(np.roll, shift=7)  # no training rows
    said, own = rules.predict(rows), MODEL.predict(rows)
    for targets in (own, own - 1e3 * np.sign(said - own), own + 1e3 * np.sign(said - own), np.asarray(Y)):
        found = rules.audit(rows, targets)
        assert abs(found.mae - found.tree_mae) <= rules.tolerance * (1 + 1e-9)
        assert abs(found.rmse - found.tree_rmse) <= rules.tolerance * (1 + 1e-9)
        assert found.max_distance <= rules.tolerance * (1 + 1e-9)
