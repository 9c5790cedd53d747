"""Each rule on new rows, against slow versions; what moved, and what is said of it."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from method_settings import own_settings
from scipy.stats import fisher_exact
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import InputError
from secateur.tree.tree import Tree

METHODS = st.sampled_from(["none", "exact", "mismatch", "layered", "quinlan"])


def slow_holm(p_values: list[float | None]) -> list[float | None]:
    known = sorted(p for p in p_values if p is not None)
    return [
        None if p is None else min(1.0, max((len(known) - k) * one for k, one in enumerate(known) if one <= p))
        for p in p_values
    ]


@given(tree=strategies.trees(), method=METHODS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_each_rule_equals_its_slow_version(tree: Tree, method: str, data: st.DataObject) -> None:
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    X_new, y_new, w_new = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    own = own_settings(method, tolerance=0.2)
    rules = secateur.simplify(tree, X, tree.classes[y], method=method, **own)
    found = rules.audit(X_new, tree.classes[y_new], sample_weight=w_new).per_rule
    raw: list[float | None] = []
    for one, rule in zip(found, rules, strict=True):
        c = int(tree.leaf_class[rule.leaf_id])
        support, share = oracles.support_and_reliability(tree, X_new, y_new, w_new, rule.kept_ids, c)
        assert (one.rule, one.leaf_id, one.prediction, one.text) == (
            rule.index + 1,
            rule.leaf_id,
            rule.prediction,
            rule.text,
        )
        assert (one.training_support, one.training_reliability) == (rule.support, rule.reliability)
        assert one.support == support
        assert one.reliability == (None if share is None else pytest.approx(share))
        assert (one.verdict == "no rows") == (share is None or rule.reliability is None)
        if one.verdict == "no rows":
            assert one.change is None
            raw.append(None)
            continue
        assert one.low <= one.reliability <= one.high
        assert one.change == pytest.approx(share - rule.reliability)
        assert one.change_low <= one.change <= one.change_high
        assert (one.d is None) == (rule.source_reliability is None)
        if one.d is not None:
            assert one.d == pytest.approx(rule.reliability - rule.source_reliability)
            assert one.d_low - 1e-12 <= one.d <= one.d_high + 1e-12
        now, then = round(share * support), round(rule.reliability * rule.support)
        table = [[now, int(support) - now], [then, int(rule.support) - then]]
        if w_new is None:
            raw.append(min(1.0, 2 * min(fisher_exact(table, side).pvalue for side in ("greater", "less"))))
    if w_new is None:
        for one, expected in zip(found, slow_holm(raw), strict=True):
            assert one.p_value == (None if expected is None else pytest.approx(expected, rel=1e-6))
            assert (one.verdict == "moved") == (expected is not None and expected <= 0.05)


def make_rows(seed: int, n_rows: int, *, broken: bool = False) -> tuple[Any, Any]:
    """Two columns and a noisy rule of both; if broken, the rule no longer holds where the first is high."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 2))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)
    y = np.where(rng.random(n_rows) < 0.1, 1 - y, y)
    if broken:
        y = np.where((X[:, 0] > 0.5) & (rng.random(n_rows) < 0.5), 1 - y, y)
    return X, y


def make_rules(**given_weights: Any) -> secateur.RuleSet:
    X, y = make_rows(0, 600)
    model = DecisionTreeClassifier(max_leaf_nodes=4, random_state=1).fit(X, y)
    return secateur.simplify(model, X, y, feature_names=["dose", "age"], method="exact", **given_weights)


def test_rules_that_broke_are_found_and_the_others_still_hold() -> None:
    rules = make_rules()
    found = rules.audit(*make_rows(1, 400, broken=True)).per_rule
    high = [any("dose >" in str(condition) for condition in rule.conditions) for rule in rules]
    assert any(high)
    for one, is_high in zip(found, high, strict=True):
        if one.support > 50:
            assert one.verdict == ("moved" if is_high else "still holds"), str(one)
    assert {one.rule for one in found.moved} <= {place + 1 for place, is_high in enumerate(high) if is_high}
    assert [one.p_value for one in found.moved] == sorted(one.p_value for one in found.moved)
    assert "moved" in found.summary
    assert "corrected" in str(found.moved[0])


def test_an_earlier_audit_is_what_a_later_one_is_compared_with() -> None:
    rules = make_rules()
    earlier = rules.audit(*make_rows(2, 400, broken=True))
    later = rules.audit(*make_rows(3, 400, broken=True), since=earlier)
    assert earlier.per_rule.moved
    assert not later.per_rule.moved
    assert "the earlier audit" in later.per_rule.summary
    assert later.per_rule[0].earlier_support == earlier.per_rule[0].support
    assert later != rules.audit(*make_rows(3, 400, broken=True))
    stored = secateur.RuleSet.from_json(rules.to_json())
    assert stored.audit(*make_rows(3, 400, broken=True), since=earlier) == later
    X, y = make_rows(0, 600)
    other = secateur.simplify(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), X, y, method="layered")
    with pytest.raises(InputError, match=r"^The earlier audit is of other rules: audit these rules on"):
        other.audit(*make_rows(3, 400), since=earlier)
    with pytest.raises(InputError, match=r"^Expected since as an earlier audit of these rules, found str\.$"):
        rules.audit(*make_rows(3, 400), since="last month")


def test_equal_weights_count_as_rows_whatever_their_size() -> None:
    rules = make_rules()
    X, y = make_rows(4, 300)
    plain, weighted = rules.audit(X, y).per_rule, rules.audit(X, y, sample_weight=np.full(300, 0.25)).per_rule
    assert weighted.support.tolist() == (plain.support / 4).tolist()
    for one, other in zip(plain, weighted, strict=True):
        assert (one.low, one.high, one.p_value) == pytest.approx((other.low, other.high, other.p_value), abs=1e-9)
    rng = np.random.default_rng(0)
    unequal = rules.audit(X, y, sample_weight=rng.lognormal(size=300)).per_rule
    assert (unequal.n_effective < plain.n_effective).all()
    assert ((unequal.interval[1] - unequal.interval[0]) > (plain.interval[1] - plain.interval[0])).any()


def test_rules_made_with_weights_say_that_the_sums_are_taken_for_rows() -> None:
    rules = make_rules(sample_weight=np.full(600, 2.0))
    audit = rules.audit(*make_rows(5, 200))
    assert "weights" in audit.per_rule.notes[-1]
    assert audit.per_rule[0].d_low is None


def test_a_table_of_rules_can_be_read_and_stored() -> None:
    rules = make_rules()
    audit = rules.audit(*make_rows(6, 30))
    found = audit.per_rule
    frame = found.to_frame("pandas")
    assert frame["verdict"].tolist() == [one.verdict for one in found]
    assert frame["rule"].tolist() == list(range(1, len(rules) + 1))
    assert json.loads(json.dumps(found.to_dicts(), allow_nan=False))[0]["text"] == rules[0].text
    assert found[-1] == found[len(found) - 1]
    assert [one.rule for one in found[1:3]] == [2, 3]
    with pytest.raises(IndexError):
        found[len(found)]
    assert pickle.loads(pickle.dumps(audit)) == audit
    html = found._repr_html_()
    assert html.count("<tr>") == len(rules) + 1
    assert "&lt;=" in html
    assert repr(found).startswith("<RuleAudits: ")
    assert "nan" not in str(found)


def test_a_rule_without_rows_is_not_judged() -> None:
    rules = make_rules()
    X = np.array([[0.1, 0.1]])
    found = rules.audit(X, rules.predict(X)).per_rule
    verdicts = [one.verdict for one in found]
    assert verdicts.count("no rows") == len(rules) - int(rules.covers(X).sum())
    assert "satisfied by none of these rows" in str(found)
    assert "cannot be compared" in found.summary
