"""Shortening lines under a budget, against a version that weighs every move on every row anew."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import BUDGETS, ListForm, _Choosing, choose_lines, choose_lines_by_budget
from secateur.errors import InputError
from secateur.methods import joint_deletion, row_mixture
from secateur.methods.covering import Cut
from secateur.methods.joint_deletion import GAINS, NO_MOVE, _Section
from secateur.tree.tree import Tree

POOL = 60


class Slow:
    """The lines of a cut, shortened move by move; each line is its section, links, class and share."""

    def __init__(self, chosen: _Choosing, cut: Cut, X: Any, w: Any, tolerance: float) -> None:
        self.tree, self.tolerance = chosen.tree, Fraction(str(tolerance))
        values, paths = chosen.values, chosen.paths
        self.shares = dict(zip(paths.leaf_ids.tolist(), values.values, strict=True))
        self.has_shares = tolerance < 1
        self.rows = oracles.mixed_rows(self.tree, X, w, 1000, POOL)
        self.leaf = [oracles.walk(self.tree, row.cells) for row in self.rows]
        self.says = [int(self.tree.leaf_class[leaf]) for leaf in self.leaf]
        self.headings = [oracles.path(self.tree, node) for node in cut.nodes]
        self.lines: dict[int, tuple[int, list[int], int, Any]] = {}
        self.rest: list[tuple[int, Any]] = []
        for section, cover in enumerate(cut.covers):
            stated = values.state(cover.left or cover.otherwise.leaves)
            self.rest.append((cover.otherwise.class_id, None if stated is None else stated.share))
            for line in cover.lines:
                path = oracles.path(self.tree, int(paths.leaf_ids[line.place]))
                stated = values.state(line.candidate.met)
                share = None if stated is None else stated.share
                links = [path[place] for place in line.kept]
                self.lines[len(self.lines)] = section, links, line.candidate.class_id, share

    def is_off(self, row: int, class_id: int, share: Any) -> bool:
        if self.says[row] != class_id:
            return True
        return share is not None and abs(share - self.shares[self.leaf[row]]) > self.tolerance

    def find_off(self, lines: dict[int, tuple[int, list[int], int, Any]]) -> list[bool]:
        found = []
        for place, row in enumerate(self.rows):
            (section,) = (s for s, h in enumerate(self.headings) if oracles.satisfies(self.tree, row.cells, h))
            holding = [
                line
                for line in lines.values()
                if line[0] == section and oracles.satisfies(self.tree, row.cells, line[1])
            ]
            answers = [(line[2], line[3]) for line in holding] or [self.rest[section]]
            found.append(any(self.is_off(place, *answer) for answer in answers))
        return found

    def fits(self, off: list[bool], budget: Fraction) -> bool:
        """Whether the rows off keep to the budget: of all, and of each class; mixed and real."""
        for class_id in (None, *set(self.says)):
            own = [place for place, says in enumerate(self.says) if class_id is None or says == class_id]
            for kind in ("mixed", "real"):
                spent = sum((getattr(self.rows[place], kind) for place in own if off[place]), Fraction(0))
                if spent > budget * sum((getattr(self.rows[place], kind) for place in own), Fraction(0)):
                    return False
        return True

    def weigh(self, off: list[bool]) -> Fraction:
        return sum((row.mixed for row, is_off in zip(self.rows, off, strict=True) if is_off), Fraction(0))

    def spend(self, budget: float) -> dict[int, list[int]]:
        limit = Fraction(str(budget))
        while True:
            now = self.weigh(self.find_off(self.lines))
            best: tuple[Fraction, bool, int, int] | None = None
            for index, (section, links, class_id, share) in self.lines.items():
                trials = [(place, oracles.without(links, [link])) for place, link in enumerate(links)]
                for place, wider in trials:
                    off = self.find_off({**self.lines, index: (section, wider, class_id, share)})
                    price = (self.weigh(off) - now, False, index, place)
                    if self.fits(off, limit) and (best is None or price < best):
                        best = price
                off = self.find_off({other: line for other, line in self.lines.items() if other != index})
                price = ((self.weigh(off) - now) / (len(links) + 1), True, index, -1)
                if self.fits(off, limit) and (best is None or price < best):
                    best = price
            if best is None:
                return {index: line[1] for index, line in self.lines.items()}
            _, is_drop, index, place = best
            if is_drop:
                del self.lines[index]
            else:
                section, links, class_id, share = self.lines[index]
                self.lines[index] = section, oracles.without(links, [links[place]]), class_id, share


@settings(deadline=None, max_examples=40)
@given(tree=strategies.trees(max_leaves=7), data=st.data())
def test_the_moves_are_those_of_the_slow_version(tree: Tree, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=True))
    w = None if w is None or not np.any(w) else w
    budgets = data.draw(st.sampled_from([[0.02], [0.1, 0.3], [0.5]]))
    form = ListForm(data.draw(st.sampled_from([0.05, 0.2, 1.0])), data.draw(st.sampled_from([1, 3])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_mixture, "POOL_ROWS", POOL)
        patch.setattr(joint_deletion, "MOST_KINDS", data.draw(st.sampled_from([4, 1 << 62])))
        patch.setattr(joint_deletion, "MANY_ROWS", data.draw(st.sampled_from([3, 1 << 17])))
        exact = secateur.simplify(tree, X, tree.classes[y], sample_weight=w, each_leaf=True)
        if not len(exact.paths.links):
            return
        chosen = _Choosing(exact, form)
        ways = chosen.ways
        patch.setattr(joint_deletion, "MOST_PAIRS", data.draw(st.sampled_from([1, 1 << 17])))
        for way in ways:
            way.spend(max(budgets))
    for way in ways:
        slow = Slow(chosen, way.cut, X, w, form.tolerance or 0.1)
        steps = sorted({*(one for one in BUDGETS if one < max(budgets)), *budgets})
        starts = dict(slow.lines)
        for budget in steps:
            kept = slow.spend(budget)
            if budget in budgets:
                found = way.spend(budget)
                assert {index for index, stays in enumerate(found.stays) if stays} == set(kept)
                for index, links in kept.items():
                    is_deleted = found.is_deleted[found.begin[index] : found.begin[index + 1]]
                    assert np.array(starts[index][1], dtype=np.int64)[~is_deleted].tolist() == links


def test_the_first_of_the_cheapest_moves_is_chosen() -> None:
    section = SimpleNamespace(_n_entries=3, _number=7)
    for rated, place in (([0.5, 0.5, 2, 1], 0), ([np.inf, 2, 1, 1], 2), ([np.inf, 2, 2, 1], 3)):
        assert _Section._choose(section, np.array(rated, dtype=np.float64)) == (min(rated), place >= 3, 7, place)  # type: ignore[arg-type]
    for rated in ([], [np.inf] * 4):
        assert _Section._choose(section, np.array(rated, dtype=np.float64)) == NO_MOVE  # type: ignore[arg-type]


@pytest.mark.parametrize("rest", [False, True])
def test_what_a_cell_adds_to_a_move_is_the_change_in_those_off(rest: bool) -> None:
    def is_off(n_covering: int, n_off: int) -> bool:
        return n_off > 0 or (n_covering == 0 and rest)

    for n_covering in range(5):
        for n_off in range(n_covering + 1):
            gains = GAINS[6 * min(n_covering, 2) + 2 * min(n_off, 2) + rest].tolist()
            moves = [(n_covering + 1, n_off), (n_covering + 1, n_off + 1), (n_covering - 1, n_off)]
            for place, after in enumerate([*moves, (n_covering - 1, n_off - 1)]):
                if 0 <= after[1] <= after[0]:
                    assert gains[place] == is_off(*after) - is_off(n_covering, n_off), (n_covering, n_off, place)


@pytest.mark.parametrize("tolerance", [0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_budget_holds_for_all_rows_and_for_each_class(tolerance: float, weighted: bool) -> None:
    X, y = make_classification(600, 8, n_informative=5, n_classes=3, weights=[0.7, 0.25], flip_y=0.1, random_state=1)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X)) if weighted else None
    model = DecisionTreeClassifier(max_depth=5, random_state=1).fit(X, y, sample_weight=weights)
    heavy = np.ones(len(X)) if weights is None else weights
    rules = secateur.simplify(model, X, y, each_leaf=True, sample_weight=weights)
    leaf = rules.place_of_leaf[model.apply(X)]
    values = _Choosing(rules, ListForm(tolerance)).values
    for budget, found in zip(
        (0.005, 0.02, 0.1), choose_lines_by_budget(rules, (0.005, 0.02, 0.1), ListForm(tolerance)), strict=True
    ):
        line = found.apply(X)
        off = found.class_ids[line] != rules.paths.leaf_class[leaf]
        if tolerance < 1:
            own = np.array([float(share) for share in values.values])[leaf]
            off |= np.abs(found.layout.shares[line] - own) > tolerance + 1e-12  # type: ignore[union-attr]
        said = model.predict(X)
        assert heavy[off].sum() <= budget * heavy.sum() * (1 + 1e-9)
        for label in np.unique(said):
            assert heavy[off & (said == label)].sum() <= budget * heavy[said == label].sum() * (1 + 1e-9)
        assert set(found.predict(X)) == set(said), "no class vanishes"
        assert found.n_conditions < rules.n_conditions


def test_one_run_gives_what_each_budget_gives_alone() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, each_leaf=True)
    for found, budget in zip(choose_lines_by_budget(rules, (0.005, 0.013, 0.05)), (0.005, 0.013, 0.05), strict=True):
        alone = secateur.simplify(model, X, y, budget=budget)
        assert [line.text for line in found.lines] == [line.text for line in alone.lines]
        assert found.budget == budget


def test_a_budget_needs_rows() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    root = builder.split("age", 30)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    with pytest.raises(InputError, match="A budget is spent on training rows"):
        secateur.simplify(builder.build(), budget=0.1)


def count_printed(rules: secateur.Rules) -> int:
    """Count the conditions that a person reads: of each line as it is printed, and of each heading once."""
    headings = sum(len(section.heading) for section in rules.sections)
    return headings + sum(len(rule.conditions) for rule in rules)


def never_prints_more(each_leaf: secateur.Rules, form: ListForm) -> None:
    lists = [choose_lines(each_leaf, form), *choose_lines_by_budget(each_leaf, BUDGETS, form)]
    printed = [count_printed(rules) for rules in lists]
    assert [rules.n_conditions for rules in lists] == printed
    assert printed == sorted(printed, reverse=True)


@settings(deadline=None, max_examples=40)
@given(tree=strategies.trees(max_leaves=12), data=st.data())
def test_a_larger_budget_never_prints_more(tree: Tree, data: st.DataObject) -> None:
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    each_leaf = secateur.simplify(tree, X, tree.classes[y], each_leaf=True)
    form = ListForm(data.draw(st.sampled_from([0.05, 0.2, 1.0])), data.draw(st.sampled_from([1, 4, "auto"])))
    never_prints_more(each_leaf, form)


@pytest.mark.parametrize(("seed", "tolerance"), [(1, 1.0), (3, 0.1), (9, 0.1), (32, 1.0), (36, 0.1)])
def test_cuts_are_compared_as_they_are_printed(seed: int, tolerance: float) -> None:
    X, y = make_classification(
        300, 8, n_informative=5, n_classes=2 + seed % 3, n_clusters_per_class=1, flip_y=0.1, random_state=seed
    )
    model = DecisionTreeClassifier(max_depth=4 + seed % 4, random_state=seed).fit(X, y)
    never_prints_more(secateur.simplify(model, X, y, each_leaf=True), ListForm(tolerance))
