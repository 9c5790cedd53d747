"""Deleting conditions and dropping rules under one budget, against a version that weighs every move anew."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines
from secateur.errors import InputError
from secateur.methods import row_mixture
from secateur.tree.tree import Tree

POOL = 60


@dataclass
class Slow:
    """The state of the slow version: kept links by leaf, of the rules that are still written."""

    kept: dict[int, list[int]]
    disagreement: Fraction


def slow_joint(
    tree: Tree, X: oracles.Rows, y: oracles.Labels, w: oracles.Weights, budget: float, tolerance: float, default: int
) -> Slow:
    """Weigh every move on every row, take the cheapest, and begin again."""
    rows = oracles.mixed_rows(tree, X, w, 1000, POOL)
    labels = [oracles.tree_class(tree, row.cells) for row in rows]
    passing = {
        link: np.array([oracles.satisfies(tree, row.cells, [link]) for row in rows]) for link in oracles.parents(tree)
    }
    trained = {link: np.array([oracles.satisfies(tree, row, [link]) for row in X]) for link in oracles.parents(tree)}
    weights = np.ones(len(X)) if w is None else np.array(w)
    share = Fraction(str(float(budget)))
    limits = [
        share * sum((row.mixed for row in rows), Fraction(0)),
        share * sum((row.real for row in rows), Fraction(0)),
    ]

    def covers(links: list[int], of: dict[int, np.ndarray], size: int) -> np.ndarray:
        found = np.ones(size, dtype=bool)
        for link in links:
            found &= of[link]
        return found

    def spent(kept: dict[int, list[int]]) -> list[Fraction]:
        own, other = np.zeros((2, len(rows)), dtype=int)
        for leaf, links in kept.items():
            covered = covers(links, passing, len(rows))
            is_own = np.array(labels) == tree.leaf_class[leaf]
            own += covered & is_own
            other += covered & ~is_own
        wrong = (other > 0) | ((own == 0) & (np.array(labels) != default))
        return [
            sum((rows[i].mixed for i in np.flatnonzero(wrong)), Fraction(0)),
            sum((rows[i].real for i in np.flatnonzero(wrong)), Fraction(0)),
        ]

    def class_weights(links: list[int]) -> np.ndarray:
        covered = covers(links, trained, len(X))
        return np.bincount(np.array(y)[covered], weights=weights[covered], minlength=tree.n_classes)

    def may_go(leaf: int, wider: list[int]) -> bool:
        c = int(tree.leaf_class[leaf])
        leaf_counts, counts = class_weights(oracles.path(tree, leaf)), class_weights(wider)
        if not leaf_counts.sum():
            return False
        base, trial = leaf_counts[c] / leaf_counts.sum(), counts[c] / counts.sum()
        return bool(base - trial <= tolerance and counts[c] >= counts.max())

    kept = {
        leaf: oracles.without(oracles.path(tree, leaf), gone)
        for leaf, gone in oracles.delete_exact(tree).items()
        if tree.leaf_class[leaf] != default
    }
    while True:
        now = spent(kept)
        drops = {leaf: spent({other: links for other, links in kept.items() if other != leaf}) for leaf in kept}
        free = [leaf for leaf, then in drops.items() if then[0] <= now[0] and then[1] <= now[1]]
        if free:
            del kept[max(free, key=lambda leaf: len(kept[leaf]))]
            continue
        best: tuple[Fraction, int, int | None] | None = None
        for leaf, links in kept.items():
            for link in links:
                wider = oracles.without(links, [link])
                then = spent({**kept, leaf: wider})
                fits = then[0] <= limits[0] and then[1] <= limits[1]
                if fits and may_go(leaf, wider) and (best is None or then[0] - now[0] < best[0]):
                    best = (then[0] - now[0], leaf, link)
        for leaf, then in drops.items():
            price = (then[0] - now[0]) / (len(kept[leaf]) + 1)
            if then[0] <= limits[0] and then[1] <= limits[1] and (best is None or price < best[0]):
                best = (price, leaf, None)
        if best is None:
            return Slow(kept, now[1])
        _, leaf, link = best
        if link is None:
            del kept[leaf]
        else:
            kept[leaf] = oracles.without(kept[leaf], [link])


@settings(deadline=None, max_examples=60)
@given(tree=strategies.trees(max_leaves=6), data=st.data())
def test_the_moves_are_those_of_the_slow_version(tree: Tree, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=True))
    w = None if w is None or not np.any(w) else w
    budget = data.draw(st.sampled_from([0.001, 0.02, 0.1, 0.3]))
    tolerance = data.draw(st.sampled_from([0.0, 0.05, 0.5]))
    default = data.draw(st.integers(0, tree.n_classes - 1))
    label = tree.classes[default].item()
    labels = tree.classes[y]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_mixture, "POOL_ROWS", POOL)
        exact = secateur.simplify(tree, X, labels, method="exact", sample_weight=w, each_leaf=True)
        rules = choose_lines(exact, budget=budget, tolerance=tolerance, otherwise=label)
    slow = slow_joint(tree, X, y, w, budget, tolerance, default)
    found = {rule.leaf_id: list(rule.kept_ids) for rule in rules}
    assert found == slow.kept
    # The promise, on the training rows, by what the rules predict.
    weights = np.ones(len(X)) if w is None else np.array(w)
    other = rules.predict(X) != tree.classes[[oracles.tree_class(tree, row) for row in X]]
    assert weights[other].sum() <= budget * weights.sum() * (1 + 1e-9)
    # Two rules that say the same of a row for different classes: the second would be dropped for nothing.
    said = [frozenset(map(str, rule.conditions)) for rule in rules]
    assert len(set(said)) == len(said)
    decided = rules.apply(X)
    for place, rule in enumerate(rules):
        mine = decided == place
        assert rule.support == pytest.approx(weights[mine].sum())
    assert rules.lines[-1].support == pytest.approx(weights[decided == len(rules)].sum())


def test_otherwise_is_the_commonest_class_of_what_is_left() -> None:
    X, y = make_classification(200, 8, n_informative=5, n_classes=2, weights=[0.7], flip_y=0.1, random_state=1)
    model = DecisionTreeClassifier(max_depth=4, random_state=1).fit(X, y)
    for budget in (0.3, 0.5, 0.8):
        rules = secateur.simplify(model, X, y, budget=budget)
        left = np.bincount(y[rules.apply(X) == len(rules)], minlength=2)
        assert left[rules.default] == left.max()
    rare = secateur.simplify(model, X, y, budget=1.0, otherwise=1)  # who names a class gets it, and is told
    assert "1. 1 always   200 rows, 32.5% 1; most of its rows are 0" in rare.to_text()


def test_a_rule_whose_remaining_rows_are_of_another_class_moves_up_or_says_what_it_covers() -> None:
    # Of "yes", the rule of more rows would leave the other only rows of "no".
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["a", "b"])
    root = builder.split("a", 0)
    builder.leaf([0, 9], parent=root, side="right")
    left = builder.split("b", 0, parent=root, side="left")
    builder.leaf([9, 0], parent=left, side="left")
    builder.leaf([1, 2], parent=left, side="right")
    X = np.array([[1.0, 1.0]] * 5 + [[1.0, -1.0]] * 4 + [[-1.0, -1.0]] * 9 + [[-1.0, 1.0]] * 2)
    y = ["yes"] * 9 + ["no"] * 9 + ["no", "yes"]
    rules = secateur.simplify(builder.build(), X, [*y[:-1], "no"], otherwise="no")
    assert [rule.asked for rule in rules] == ["b > 0", "a > 0"]
    assert rules.decided_counts.tolist() == [[2.0, 5.0], [0.0, 4.0], [9.0, 0.0]]
    rare = rules.change(decided_counts=np.array([[2.0, 0.0], [0.0, 9.0], [9.0, 0.0]]))
    aside = "; most of its rows are no (of 7 rows that it covers, 71.4% yes)"
    assert f"2 rows, 0.0% yes{aside}" in rare.to_text()
    assert aside in rare.report().to_html()  # on the page, too
    assert aside not in rules.report().to_html()


def test_a_budget_needs_rows() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    root = builder.split("age", 30)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    with pytest.raises(InputError, match="A budget is spent on training rows"):
        secateur.simplify(builder.build(), budget=0.1)
