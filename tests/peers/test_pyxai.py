"""`exact` against PyXAI, which asks independently whether conditions of a tree imply its class.

PyXAI gives every pair of feature and threshold in the tree a Boolean variable, true where ``x > threshold``; a link is
a literal. A *reason* is a set of literals that the instance satisfies and that forces its class. Two things decide what
is the right question to ask:

- Without a *theory* the variables of one feature are independent, so ``x <= 3`` would not imply ``x <= 5``. The theory
  of numerical features holds these implications. secateur's boxes hold them, too, so every verdict here uses it.
- ``is_reason`` of a decision tree ignores the theory, even where it is activated; ``is_implicant`` closes the literals
  under it and then asks the same. Both are exact walks of the tree, without samples. So ``is_reason`` is asked about
  the closed literals here, and ``is_implicant`` must say the same. The closure is enough: a path that scikit-learn grew
  contradicts itself nowhere, and one that contradicts the literals contradicts a literal of their closure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

import secateur

# importorskip also hides the warnings of what these modules import: shap uses what matplotlib is about to deprecate.
Learning = pytest.importorskip("pyxai.Learning", reason="PyXAI is not installed: make pyxai")
Explaining = pytest.importorskip("pyxai.Explaining", reason="PyXAI is not installed: make pyxai")

LOADERS = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}
# Random splits leave more to delete than the best ones do.
TREES = {"unpruned": {}, "depth_4": {"max_depth": 4}, "random_splits": {"splitter": "random"}}


@dataclass
class Peer:
    """The rules of a tree, and PyXAI's explainer of the same tree."""

    rules: secateur.Rules
    explainer: Any
    literals: dict[int, int]  # of each link, by child node id
    instances: dict[int, NDArray[np.float32]]  # of each leaf

    def look_at(self, rule: secateur.Rule) -> None:
        """Make the instance of a rule's leaf the one that PyXAI explains."""
        self.explainer.set_instance(self.instances[rule.leaf_id])
        assert self.explainer.target_prediction == rule.prediction

    def accepts(self, links: list[int]) -> bool:
        """Whether PyXAI, knowing the theory, accepts links as a reason for the class of the instance."""
        literals = [self.literals[link] for link in links]
        assert set(literals) <= set(self.explainer.binary_representation)  # the instance satisfies them
        verdict = self.explainer.is_reason(self.explainer.extend_reason_with_theory(literals))
        assert verdict == self.explainer.is_implicant(literals)
        return verdict


def make_peer(name: str, parameters: dict[str, Any]) -> Peer:
    frame = LOADERS[name](as_frame=True).frame  # the last column is the label, as PyXAI wants it
    # PyXAI compares float64, scikit-learn float32; values that are float32 already are the same to both. The labels are
    # 0, 1, 2, …, because PyXAI compares a label with the index of a leaf's class.
    X, y = frame.iloc[:, :-1].to_numpy(np.float32), frame.iloc[:, -1].to_numpy()
    model = DecisionTreeClassifier(random_state=0, **parameters).fit(X, y)
    rules = secateur.simplify(model, method="exact", each_leaf=True)

    _, pyxai_tree = Learning.ModelIO.import_models(model, frame)
    explainer = Explaining.initialize(pyxai_tree, features_type={"numerical": Learning.DEFAULT})
    conditions = enumerate(pyxai_tree.map_id_binaries_to_features[1:], start=1)
    variables = {(feature - 1, threshold): variable for variable, (feature, _, threshold) in conditions}
    literals = {}
    source = model.tree_
    for node in np.flatnonzero(source.feature >= 0).tolist():
        variable = variables[int(source.feature[node]), float(source.threshold[node])]
        literals[int(source.children_left[node])] = -variable
        literals[int(source.children_right[node])] = variable

    leaves = model.apply(X)
    assert set(leaves.tolist()) == {rule.leaf_id for rule in rules}  # so that a training row reaches every leaf
    instances = {leaf: X[np.argmax(leaves == leaf)] for leaf in set(leaves.tolist())}
    return Peer(rules, explainer, literals, instances)


@pytest.fixture(scope="module", params=[(name, kind) for name in LOADERS for kind in TREES], ids="-".join)
def peer(request: pytest.FixtureRequest) -> Peer:
    name, kind = request.param
    return make_peer(name, TREES[kind])


def path(rule: secateur.Rule) -> list[int]:
    """Links from the root to the rule's leaf; scikit-learn numbers a child higher than its parent."""
    return sorted(rule.kept_ids + rule.deleted_ids)


def test_both_read_the_same_conditions(peer: Peer) -> None:
    tree = peer.rules.tree
    inner = np.flatnonzero(~tree.is_leaf).tolist()
    assert {abs(literal) for literal in peer.literals.values()} == set(
        range(1, peer.explainer.get_model().n_binary_variables() + 1)
    )
    # To PyXAI there is always a number between two thresholds, to secateur only where there is a float32: the verdicts
    # can be compared because no two thresholds of a feature are that close here.
    thresholds = {(int(tree.feature[node]), float(tree.threshold[node])) for node in inner}
    limits = {(int(tree.feature[node]), float(tree.upper[node])) for node in inner}
    assert len(limits) == len(thresholds)
    assert not tree.accepts_missing.any()  # PyXAI knows no missing values


def test_the_full_path_is_a_reason_and_the_one_that_pyxai_walks(peer: Peer) -> None:
    for rule in peer.rules:
        peer.look_at(rule)
        literals = [peer.literals[link] for link in path(rule)]
        assert set(literals) == set(peer.explainer.direct_reason()), rule
        assert peer.explainer.is_reason(literals), rule  # a whole path needs no theory
        assert peer.accepts(path(rule)), rule


def test_the_kept_conditions_are_a_reason(peer: Peer) -> None:
    for rule in peer.rules:
        peer.look_at(rule)
        assert peer.accepts(list(rule.kept_ids)), rule


def test_no_kept_condition_can_be_dropped(peer: Peer) -> None:
    for rule in peer.rules:
        peer.look_at(rule)
        for dropped in rule.kept_ids:
            assert not peer.accepts([link for link in rule.kept_ids if link != dropped]), (rule, dropped)


def test_deletion_root_to_leaf_with_pyxai_as_the_judge_gives_the_same_rules(peer: Peer) -> None:
    for rule in peer.rules:
        peer.look_at(rule)
        kept = path(rule)
        for link in path(rule):
            shorter = [other for other in kept if other != link]
            if peer.accepts(shorter):
                kept = shorter
        assert tuple(kept) == rule.kept_ids, rule


def test_pyxai_without_the_theory_rejects_rules_that_hold() -> None:
    peer = make_peer("digits", TREES["unpruned"])
    n_rejected = 0
    for rule in peer.rules:
        peer.look_at(rule)
        n_rejected += not peer.explainer.is_reason([peer.literals[link] for link in rule.kept_ids])
    assert 0 < n_rejected < len(peer.rules)
