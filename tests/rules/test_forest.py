"""Forests: rules that vote as the forest does, and equal rules of different trees as one."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from strategies import THRESHOLDS, lists_of, sklearn_problems, trees

import secateur
from secateur.adapters.reading import is_forest
from secateur.adapters.scikit_learn import read_forest
from secateur.errors import InputError, ParameterError, UnsupportedModelError
from secateur.rules.forest import ForestRules
from secateur.tree.tree import Tree, make_tree

EXACT = [name for name, method in secateur.METHODS.items() if method.is_exact]
FORESTS = (RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier)


def simplify(forest: Any, X: Any = None, y: Any = None, **arguments: Any) -> ForestRules:
    return secateur.simplify(forest, X, y, each_leaf=True, **{"method": "mismatch", **arguments})  # type: ignore[return-value]


def rules_of(forest: list[Tree], **arguments: Any) -> ForestRules:
    """Rules of hand-made trees, which vote with the shares of their counts."""
    rule_sets = tuple(secateur.simplify(tree, each_leaf=True, **arguments) for tree in forest)
    shares = []
    for tree in forest:
        total = tree.counts.sum(axis=1, keepdims=True)
        shares.append(np.divide(tree.counts, total, out=np.eye(tree.n_classes)[tree.leaf_class], where=total > 0))
    return ForestRules(rule_sets, tuple(shares))


class FittedForest(NamedTuple):
    X: NDArray[np.float32]
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    model: Any


@st.composite
def fitted_forests(draw: st.DrawFn, kinds: tuple[type, ...] = FORESTS) -> FittedForest:
    """Forests with samples, weights, subsets of columns, and trees that miss a class."""
    X, y, weights, _ = draw(sklearn_problems())
    kind = draw(st.sampled_from(kinds))
    if kind is BaggingClassifier:
        weights = None  # some releases draw by weights, and reject those that they cannot draw by
    options: dict[str, Any] = {
        "n_estimators": draw(st.integers(1, 5)),
        "random_state": draw(st.integers(0, 9)),
        "bootstrap": draw(st.booleans()),
        "n_jobs": draw(st.sampled_from((None, None, 1))),
    }
    if options["bootstrap"]:
        options["max_samples"] = draw(st.integers(1, len(X)))
    class_weight = draw(st.sampled_from((None, "balanced")))
    depth = draw(st.sampled_from((None, 1, 3)))
    if kind is BaggingClassifier:
        own = draw(st.sampled_from((DecisionTreeClassifier, ExtraTreeClassifier)))
        options["estimator"] = own(max_depth=depth, class_weight=class_weight)
        options["max_features"] = draw(st.sampled_from((0.5, 1.0)))
        options["bootstrap_features"] = draw(st.booleans())
    else:
        options |= {"max_depth": depth, "class_weight": class_weight}
    return FittedForest(X, y, weights, kind(**options).fit(X, y, sample_weight=weights))


@settings(deadline=None)
@given(fitted=fitted_forests(), data=st.data())
def test_exact_rules_vote_like_the_forest_to_the_last_bit(fitted: FittedForest, data: st.DataObject) -> None:
    X, y, weights, model = fitted
    method = data.draw(st.sampled_from(EXACT))
    with_rows = secateur.METHODS[method].needs_rows or data.draw(st.booleans())
    passed = {"X": X, "y": y, "sample_weight": weights} if with_rows else {}
    takes_missing = bool(np.isnan(X).any())
    rules = simplify(model, method=method, accepts_missing=takes_missing, **passed)
    others = data.draw(st.permutations(range(len(X))))
    mixed = np.column_stack([X[:, 0], X[others, 1:]])
    for rows in (X, mixed, X.astype(np.float64)):
        np.testing.assert_array_equal(rules.predict_proba(rows), model.predict_proba(rows))
        np.testing.assert_array_equal(rules.predict(rows), model.predict(rows))
    assert rules.classes.tolist() == model.classes_.tolist()
    assert rules.audit(X, y).changed == 0


@settings(deadline=None)
@given(fitted=fitted_forests())
def test_rows_reach_the_leaves_of_the_forest_s_own_trees(fitted: FittedForest) -> None:
    X, _, _, model = fitted
    forest = read_forest(model, X)
    columns = getattr(model, "estimators_features_", [np.arange(X.shape[1])] * len(forest.trees))
    for tree, estimator, own in zip(forest.trees, model.estimators_, columns, strict=True):
        rules = secateur.simplify(tree, method="none", each_leaf=True)
        reached = [rules[i].leaf_id for i in rules.apply(X).tolist()]
        assert reached == estimator.apply(X[:, own]).tolist()
        classes = model.classes_[np.asarray(estimator.predict(X[:, own])).astype(int)]
        assert rules.predict(X).tolist() == classes.tolist()


@settings(deadline=None, max_examples=30)
@given(fitted=fitted_forests(), method=st.sampled_from(("mismatch", "budgeted", "quinlan")))
def test_other_rules_vote_with_the_shares_of_the_winning_rules(fitted: FittedForest, method: str) -> None:
    X, y, weights, model = fitted
    rules = simplify(model, X, y, sample_weight=weights, method=method)
    total = np.zeros((len(X), len(model.classes_)))
    for one in rules:
        total += one.predict_proba(X)
    np.testing.assert_array_equal(rules.predict_proba(X), total / len(rules))
    np.testing.assert_array_equal(rules.predict(X), model.classes_[total.argmax(axis=1)])
    np.testing.assert_array_equal(rules.apply(X), np.column_stack([one.apply(X) for one in rules]))


@settings(deadline=None, max_examples=30)
@given(fitted=fitted_forests(), method=st.sampled_from(("exact", "faithful", "mismatch")))
def test_each_tree_has_the_rules_that_it_would_have_alone(fitted: FittedForest, method: str) -> None:
    X, y, weights, model = fitted
    rules = simplify(model, X, y, sample_weight=weights, method=method)
    for one, tree in zip(rules, read_forest(model, X).trees, strict=True):
        assert one == secateur.simplify(tree, X, y, sample_weight=weights, method=method, each_leaf=True)
    assert rules.verify()


# Rules that are equal.


@st.composite
def hand_made_forests(draw: st.DrawFn) -> list[Tree]:
    """Trees of the same columns: one, and others of its shape whose tests and classes differ here and there."""
    base = draw(trees(max_leaves=8, n_classes=2))
    forest = [base]
    for _ in range(draw(st.integers(0, 3))):
        changed = set(draw(st.lists(st.integers(0, base.n_nodes - 1), max_size=3)))
        threshold, leaf_class, missing_left = base.threshold.copy(), base.leaf_class.copy(), base.missing_left.copy()
        codes = {int(node): base.left_codes(node).tolist() for node in np.flatnonzero(base.is_categorical)}
        for node in changed:
            if base.is_leaf[node]:
                leaf_class[node] = draw(st.integers(0, 1))
                continue
            missing_left[node] = draw(st.booleans())
            levels = base.categories[base.feature[node]]
            if levels is None:
                threshold[node] = draw(st.sampled_from((*THRESHOLDS, -0.0)))
            else:
                listed = st.sets(st.integers(0, len(levels)), min_size=1, max_size=len(levels))
                codes[node] = sorted(draw(listed))
        arrays = ("children_left", "children_right", "feature", "counts", "classes", "n_features", "accepts_missing")
        forest.append(
            make_tree(
                **{name: getattr(base, name) for name in (*arrays, "categories", "dtype")},
                threshold=threshold,
                leaf_class=leaf_class,
                missing_left=missing_left,
                left_categories=codes,
            )
        )
    return forest


# What a person sees and may do.


@pytest.fixture(scope="module")
def iris() -> tuple[NDArray[Any], NDArray[Any], RandomForestClassifier]:
    X, y = load_iris(return_X_y=True)
    return X, y, RandomForestClassifier(6, random_state=0).fit(X, y)


def test_they_read_as_a_sequence_of_the_rules_of_each_tree(iris: Any) -> None:
    X, y, forest = iris
    rules = simplify(forest, X, y, method="exact")
    assert len(rules) == 6
    assert [one.method for one in rules[:2]] == ["exact", "exact"]
    assert next(iter(rules)) is rules[0] is rules.rules[0]
    assert rules.trees[3] is rules[3].tree
    assert rules.guarantee.startswith("Each tree's predictions are preserved exactly")
    assert repr(rules) == (
        f"<ForestRules: {rules.n_rules} rules of 6 trees by 'exact', "
        f"{rules.n_conditions} of {rules.tree_conditions} conditions left>"
    )
    assert rules.guarantee in str(rules)
    assert rules._repr_html_().startswith("<div><p><b>")
    assert rules.parameters == {}
    wider = simplify(forest, X, y, tolerance=0.1)
    assert wider.method == "mismatch"
    assert wider.guarantee == f"Of each tree: {wider[0].guarantee}"


def test_an_audit_counts_over_all_trees(iris: Any) -> None:
    X, y, forest = iris
    rules = simplify(forest, X, y, method="mismatch", tolerance=0.3)
    weights = np.arange(len(X), dtype=float)
    audit = rules.audit(X, y, sample_weight=weights)
    assert (audit.n_trees, audit.n_rules, audit.n_rows) == (6, sum(map(len, rules)), 149)  # one row has weight 0
    gone, every = (sum(map(count, rules)) for count in (lambda one: one.deleted.sum(), lambda one: len(one.deleted)))
    assert audit.removed == pytest.approx(100 * gone / every)
    assert audit.n_conditions == sum(len(rule.conditions) for one in rules for rule in one)
    assert audit.changed == pytest.approx(100 * np.average(rules.predict(X) != forest.predict(X), weights=weights))
    assert audit.forest_accuracy == pytest.approx(100 * np.average(forest.predict(X) == y, weights=weights))
    assert audit.accuracy - audit.forest_accuracy == audit.delta_accuracy
    assert str(audit).splitlines()[0].endswith(f"in {audit.n_rules} rules of 6 trees")
    assert json.loads(json.dumps(audit.to_dict())) == vars(audit)
    large = replace(audit, n_rows=12345, n_trees=1, n_rules=1)
    assert "in 1 rule of 1 tree\n" in str(large)
    assert " on 12,345 rows;" in str(large)


def test_a_failed_verification_names_the_tree(iris: Any) -> None:
    X, y, forest = iris
    rules = simplify(forest, X, y, method="exact")
    seen: list[tuple[int, int]] = []
    assert rules.verify(progress=lambda done, total: seen.append((done, total))).ok
    assert seen == [(done, 6) for done in range(1, 7)]
    assert "6 of 6 trees proved" in str(rules.verify(X, y))
    everything = replace(rules[2].deletions, deleted=np.ones_like(rules[2].deleted))
    broken = list(rules)
    broken[2] = replace(rules[2], deletions=everything)
    found = replace(rules, rules=tuple(broken)).verify()
    assert not found
    assert all(text.startswith("Tree 2: ") for text in found.failures)
    lines = str(found).splitlines()
    assert (lines[0], lines[-1]) == ("✓ 5 of 6 trees proved", "NOT verified.")
    assert lines[-1 - len(found.failures) : -1] == [f"✗ {text}" for text in found.failures]


@pytest.mark.parametrize("method", ["exact", "mismatch"])
def test_pickled_rules_are_the_same(iris: Any, method: str) -> None:
    X, y, forest = iris
    rules = simplify(forest, X, y, method=method)
    again = pickle.loads(pickle.dumps(rules))
    assert again == rules
    np.testing.assert_array_equal(again.predict_proba(X), rules.predict_proba(X))
    assert again.verify(X, y)
    assert again != simplify(forest, X, y, method="none")
    assert again != "rules"


def test_progress_is_told_after_every_tree(iris: Any) -> None:
    X, y, forest = iris
    seen: list[tuple[int, int]] = []
    simplify(forest, X, y, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 6) for done in range(1, 7)]
    with pytest.raises(ParameterError, match="Expected progress as a function of two numbers, or None"):
        simplify(forest, X, y, progress=True)


def test_rows_are_checked_and_converted_once(iris: Any) -> None:
    X, y, forest = iris
    rules = simplify(forest, X, y)
    assert X.dtype == np.float64
    shared = rules[0].training.X
    assert shared.source.dtype == np.float32
    assert all(one.training.X is shared for one in rules)


def test_names_come_from_the_forest_or_the_frame() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    forest = RandomForestClassifier(3, random_state=0).fit(X, labels)
    rules = simplify(forest, X, labels, method="exact")
    assert rules.trees[2].feature_names == tuple(X.columns)
    assert rules.trees[2].class_names == ("setosa", "versicolor", "virginica")
    assert rules[1][0].prediction in labels
    np.testing.assert_array_equal(rules.predict(X), forest.predict(X))
    unnamed = RandomForestClassifier(3, random_state=0).fit(X.to_numpy(), y)
    assert simplify(unnamed, X, y).trees[1].feature_names == tuple(X.columns)
    named = simplify(unnamed, feature_names=list("abcd"), class_names=["s", "v", "w"], method="none")
    assert named.trees[2].feature_names == tuple("abcd")
    assert named.trees[2].class_names == ("s", "v", "w")


def test_what_is_known_of_the_columns_is_told_to_every_tree(iris: Any) -> None:
    X, y, _ = iris
    frame = pd.DataFrame(np.rint(10 * X).astype(int), columns=list("abcd"))
    forest = RandomForestClassifier(4, random_state=0).fit(frame, y)
    rules = simplify(forest, frame, y, method="exact", facts=["a <= 100"])
    assert {tree.facts.integers for tree in rules.trees} == {(0, 1, 2, 3)}
    assert {str(tree.facts.claims[0]) for tree in rules.trees} == {"a <= 100"}
    assert rules.guarantee.endswith("Holds for rows that satisfy the stated facts.")
    np.testing.assert_array_equal(rules.predict_proba(frame), forest.predict_proba(frame))
    unused = simplify(forest, frame, y, method="exact", domain_knowledge=False)
    assert unused.guarantee.endswith("as before.")
    with pytest.raises(InputError, match="a <= 50"):
        simplify(forest, frame, y, method="exact", facts=["a <= 50"])


def test_a_bagged_tree_may_know_some_columns_and_classes_only() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    forest = BaggingClassifier(DecisionTreeClassifier(), 4, max_features=2, random_state=0).fit(X, labels)
    # Trees that were fitted on drawn rows, not on weights, know the classes of these rows only.
    for place, some in enumerate((slice(50, 150), slice(100, 150))):
        columns = forest.estimators_features_[place]
        forest.estimators_[place] = DecisionTreeClassifier().fit(X.to_numpy()[some][:, columns], y[some])
    rules = simplify(forest, X, labels, method="exact")
    assert all(tree.feature_names == tuple(X.columns) for tree in rules.trees)
    assert [np.unique(one.predict(X)).tolist() for one in rules[:2]] == [["versicolor", "virginica"], ["virginica"]]
    np.testing.assert_array_equal(rules.predict_proba(X), forest.predict_proba(X))
    np.testing.assert_array_equal(rules.predict(X), forest.predict(X))


def test_missing_values_are_taken_where_the_forest_takes_them() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (80, 3)).astype(float)
    y = (X[:, 0] > 1).astype(int)
    holes = X.copy()
    holes[rng.random(X.shape) < 0.2] = np.nan
    full, holey = (RandomForestClassifier(4, random_state=0).fit(rows, y) for rows in (X, holes))
    assert not any(tree.accepts_missing.any() for tree in simplify(full, X, y).trees)
    assert all(tree.accepts_missing.all() for tree in simplify(holey, holes, y).trees)
    rules = simplify(holey, holes, y, method="exact")
    np.testing.assert_array_equal(rules.predict_proba(holes), holey.predict_proba(holes))
    with pytest.raises(InputError, match="X has a missing value"):
        simplify(full, X, y).predict(holes)
    assert simplify(full, accepts_missing=True, method="none").trees[0].accepts_missing.all()


def test_counts_of_drawn_rows_are_whole(iris: Any) -> None:
    rules = simplify(iris[2], method="none")
    assert not any(one.is_weighted for one in rules)
    assert {float(tree.counts[0].sum()) for tree in rules.trees} == {150.0}


def test_monotone_signs_follow_their_columns() -> None:
    X, y = load_iris(return_X_y=True)
    base = DecisionTreeClassifier(monotonic_cst=[1, -1])
    forest = BaggingClassifier(base, 12, max_features=2, bootstrap_features=True, random_state=0).fit(X, y > 0)
    for tree, columns in zip(read_forest(forest).trees, forest.estimators_features_, strict=True):
        expected = [0, 0, 0, 0]
        if columns[0] != columns[1]:
            expected[columns[0]], expected[columns[1]] = 1, -1
        assert tree.monotone.tolist() == expected


def test_a_domain_is_shared_by_the_trees(iris: Any) -> None:
    X, y, _ = iris
    listed, first = np.unique(X, axis=0, return_index=True)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    rules = simplify(forest, X, y, method="mismatch-certified", domain=(listed, y[first]))
    assert rules[0].domain.X is rules[2].domain.X
    assert rules.verify()
    with pytest.raises(ParameterError, match="Expected domain as a pair"):
        simplify(forest, X, y, method="mismatch-certified", domain=[X])


def two_outputs() -> Any:
    X, y = load_iris(return_X_y=True)
    return RandomForestClassifier(2).fit(X, np.column_stack([y, y]))


def emptied() -> Any:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(2).fit(X, y)
    forest.estimators_ = []
    return forest


def fit(model: Any) -> Any:
    return clone(model).fit(*load_iris(return_X_y=True))


REJECTED = {
    "an unfitted forest": (RandomForestClassifier, "This RandomForestClassifier is not fitted yet. Call fit first."),
    "a regression forest": (
        lambda: fit(RandomForestRegressor(2)),
        "found RandomForestRegressor. The trees of a regression forest are averaged",
    ),
    "bagged regressors": (lambda: fit(BaggingRegressor()), "found BaggingRegressor. The trees of a regression forest"),
    "bagged neighbours": (
        lambda: fit(BaggingClassifier(KNeighborsClassifier(), 2)),
        "This BaggingClassifier holds a KNeighborsClassifier, which has no leaves to make rules of. "
        "Bag DecisionTreeClassifier or ExtraTreeClassifier.",
    ),
    "two outputs": (two_outputs, "predicts 2 outputs, but a rule has one class. Fit one model for each output."),
    "no trees": (emptied, "This RandomForestClassifier has no trees. Fit it with n_estimators of at least 1."),
    "gradient boosting": (
        lambda: fit(GradientBoostingClassifier(n_estimators=2)),
        "found GradientBoostingClassifier. Boosting is no vote: each of its trees corrects those before it",
    ),
    "histogram boosting": (lambda: fit(HistGradientBoostingClassifier(max_iter=2)), "Boosting is no vote"),
    "ada boost": (lambda: fit(AdaBoostClassifier(n_estimators=2)), "Boosting is no vote"),
    "any vote": (
        lambda: fit(VotingClassifier([("tree", DecisionTreeClassifier())])),
        "found VotingClassifier. Pass a forest whose trees vote, or a single fitted tree.",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), REJECTED.values(), ids=REJECTED)
def test_what_is_no_forest_is_rejected_in_a_sentence(make: Any, sentence: str) -> None:
    model = make()
    assert is_forest(model)
    with pytest.raises(UnsupportedModelError) as caught:
        simplify(model)
    assert sentence in str(caught.value)


def test_only_ensembles_are_taken_for_forests() -> None:
    assert not is_forest(DecisionTreeClassifier())
    assert not is_forest(secateur.from_model(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])))
    assert not is_forest(None)


def test_rows_that_do_not_fit_are_rejected(iris: Any) -> None:
    X, y, forest = iris
    with pytest.raises(InputError, match="X was passed without y"):
        simplify(forest, X)
    with pytest.raises(InputError, match="y was passed without X"):
        simplify(forest, None, y)
    with pytest.raises(InputError, match="sample_weight was passed without X and y"):
        simplify(forest, sample_weight=np.ones(150))
    with pytest.raises(InputError, match="X has 3 columns, but the tree was fitted on 4"):
        simplify(forest, X[:, :3], y)
    with pytest.raises(InputError, match="y holds the label 7"):
        simplify(forest, X, np.full(150, 7))
    with pytest.raises(InputError, match="judges deletions by training rows"):
        simplify(forest)
    with pytest.raises(ParameterError, match="There is no method"):
        simplify(forest, method="nothing")


@settings(deadline=None, max_examples=20)
@given(drawn=lists_of(st.integers(0, 1), 30), seed=st.integers(0, 99))
def test_the_vote_does_not_depend_on_the_forest_s_own_jobs(drawn: list[int], seed: int) -> None:
    X = np.random.default_rng(seed).random((30, 3)).astype(np.float32)
    y = np.array([0, 1, *drawn[2:]])
    one, two = (RandomForestClassifier(4, random_state=seed, n_jobs=jobs).fit(X, y) for jobs in (None, 2))
    expected = simplify(one, method="exact").predict_proba(X)
    np.testing.assert_array_equal(simplify(two, method="exact").predict_proba(X), expected)
    np.testing.assert_array_equal(expected, one.predict_proba(X))


def test_a_forest_at_the_end_of_a_pipeline_is_read_in_the_columns_before_it() -> None:
    rng = np.random.default_rng(0)
    n_rows = 300
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows),
            "income": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(2000, 500, n_rows).round(2)),
            "city": rng.choice(["Oslo", "Paris", "Rome"], n_rows),
        }
    )
    y = np.where((X["city"] == "Paris") & (X["age"] > 40) | (X["income"] < 1800), "yes", "no")
    prepare = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "income"]),
            ("city", OneHotEncoder(handle_unknown="ignore"), ["city"]),
        ]
    )
    model = make_pipeline(prepare, RandomForestClassifier(n_estimators=7, random_state=0)).fit(X, y)
    rules = secateur.simplify(model, X, y, method="exact", each_leaf=True)
    assert isinstance(rules, ForestRules)
    assert rules.trees[0].feature_names == ("age", "income", "city")
    probe = X.sample(200, replace=True, random_state=1)
    probe.loc[probe.index[:20], "city"] = "Lima"
    np.testing.assert_array_equal(rules.predict(probe), model.predict(probe))
    np.testing.assert_array_equal(rules.predict_proba(probe), model.predict_proba(probe))
    assert rules.verify()
    assert any("city is Paris" in str(rule) for tree in rules for rule in tree)


def test_a_knob_is_not_selected_for_a_forest() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(UnsupportedModelError, match="not for a forest that votes"):
        secateur.select(RandomForestClassifier(3).fit(X, y), X, y, over="tolerance")


def test_what_is_about_one_tree_is_rejected_with_the_way_to_ask_for_it() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    rules = secateur.simplify(RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, y), X, y, each_leaf=True)
    for name in ("overlaps", "explain", "report", "to_json"):
        with pytest.raises(AttributeError, match=rf"the rules of one tree: .* such as forest_rules\[0\]\.{name}"):
            getattr(rules, name)
    with pytest.raises(AttributeError, match="'ForestRules' object has no attribute 'overlap'"):
        rules.overlap  # noqa: B018
    with pytest.raises(ParameterError, match=r"since compares rules one by one, .*forest_rules\[0\]\.audit"):
        rules.audit(X, y, since=rules.audit(X, y))
    assert copy.deepcopy(rules) == rules


def test_a_forest_that_is_not_monotone_names_the_tree() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    words = r"Of tree \d of the forest \(the first is 0\): The tree is not monotone"
    with pytest.raises(ParameterError, match=words):
        secateur.simplify(forest, X, y, method="mismatch-certified", monotone=[1] * 30, each_leaf=True)


def test_a_forest_may_be_wrong_on_every_row() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    rules = secateur.simplify(forest, X, y, each_leaf=True)
    assert rules.audit(X, 1 - rules.predict(X)).accuracy == 0
