"""Each rule on new rows, against slow versions; what moved, and what is said of it."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Iterator
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
from secateur.errors import InputError
from secateur.results import Audit
from secateur.results.audit_counts import SUMS, AuditCounts, CellCounts
from secateur.tree.tree import Tree

METHODS = st.sampled_from(["none", "exact", "faithful", "mismatch", "quinlan"])


def slow_holm(p_values: list[float | None]) -> list[float | None]:
    known = sorted(p for p in p_values if p is not None)
    return [
        None if p is None else min(1.0, max((len(known) - k) * one for k, one in enumerate(known) if one <= p))
        for p in p_values
    ]


def slow_tail(k: float, n: float, other_k: float, other_n: float) -> float:
    """Fisher's p of "the first share is larger", its binomial coefficients extended by gamma functions."""
    right, total = k + other_k, n + other_n
    least, most = max(0.0, right - other_n), min(n, right)
    if k <= least + 1e-9:
        return 1.0

    def choose(of: float, some: float) -> float:
        return math.lgamma(of + 1) - math.lgamma(some + 1) - math.lgamma(of - some + 1)

    def term(i: float) -> float:
        return math.exp(choose(n, i) + choose(other_n, right - i) - choose(total, right))

    if k > n * right / total:
        return min(1.0, sum(term(k + step) for step in range(int(most - k + 1e-9) + 1)))
    return max(0.0, 1.0 - sum(term(k - 1 - step) for step in range(int(k - 1 - least + 1e-9) + 1)))


@given(tree=strategies.trees(), method=METHODS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_each_rule_equals_its_slow_version(tree: Tree, method: str, data: st.DataObject) -> None:
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    X_new, y_new, w_new = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    own = own_settings(method, tolerance=0.2)
    rules = secateur.simplify(tree, X, tree.classes[y], method=method, each_leaf=True, **own)
    found = rules.audit(X_new, tree.classes[y_new], sample_weight=w_new).per_line
    raw: list[float | None] = []
    for one, rule in zip(found, rules, strict=True):
        c = int(tree.leaf_class[rule.leaf_id])
        support, share = oracles.support_and_reliability(tree, X_new, y_new, w_new, rule.kept_ids, c)
        assert (one.line, one.leaf_id, one.prediction, one.text) == (
            rule.index + 1,
            rule.leaf_id,
            rule.prediction,
            rule.text,
        )
        assert (one.training_support, one.training_reliability) == (rule.support, rule.reliability)
        assert one.support == support
        assert one.reliability == (None if share is None else pytest.approx(share))
        assert (one.verdict == "no rows") == (share is None)
        assert (one.verdict == "not comparable") == (share is not None and rule.reliability is None)
        if one.verdict in ("no rows", "not comparable"):
            assert (one.change, one.p_value) == (None, None)
            raw.append(None)
            continue
        assert one.low <= one.reliability <= one.high
        assert one.change == pytest.approx(share - rule.reliability)
        assert one.change_low <= one.change <= one.change_high
        assert (one.d is None) == (rule.source_reliability is None)
        if one.d is not None:
            assert one.d == pytest.approx(rule.reliability - rule.source_reliability)
            gained = rule.support - rule.source_support
            is_shown = not gained or min(gained, rule.source_support) >= 5
            assert (one.d_low is not None, one.d_high is not None) == (is_shown, is_shown)
            assert not is_shown or one.d_low - 1e-12 <= one.d <= one.d_high + 1e-12
        if w_new is None:
            now, then = round(share * support), round(rule.reliability * rule.support)
            table = [[now, int(support) - now], [then, int(rule.support) - then]]
            raw.append(min(1.0, 2 * min(fisher_exact(table, side).pvalue for side in ("greater", "less"))))
            continue
        covered = [k for k, row in enumerate(X_new) if rules.covers(row.reshape(1, -1))[0, rule.index]]
        weights = [float(w_new[k]) for k in covered]
        n_rows = sum(weights) ** 2 / sum(weight**2 for weight in weights)
        assert (one.effective_rows, one.effective_rows_before) == pytest.approx((n_rows, rule.support))
        sizes = [share * n_rows, n_rows, rule.reliability * rule.support, rule.support]
        sizes = [round(size, 9) for size in sizes]  # products of shares are near whole numbers
        tails = slow_tail(*sizes), slow_tail(*sizes[2:], *sizes[:2])
        raw.append(min(1.0, 2 * min(tails)))
    for one, expected in zip(found, slow_holm(raw), strict=True):
        assert one.p_value == (None if expected is None else pytest.approx(expected, rel=1e-6, abs=1e-9))
        if expected is not None and abs(expected - 0.05) > 1e-6:
            assert (one.verdict == "moved") == (expected <= 0.05)


def make_rows(seed: int, n_rows: int, *, broken: bool = False) -> tuple[Any, Any]:
    """Two columns and a noisy rule of both; if broken, the rule no longer holds where the first is high."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 2))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)
    y = np.where(rng.random(n_rows) < 0.1, 1 - y, y)
    if broken:
        y = np.where((X[:, 0] > 0.5) & (rng.random(n_rows) < 0.5), 1 - y, y)
    return X, y


def make_rules(**given_weights: Any) -> secateur.Rules:
    X, y = make_rows(0, 600)
    model = DecisionTreeClassifier(max_leaf_nodes=4, random_state=1).fit(X, y)
    return secateur.simplify(
        model, X, y, feature_names=["dose", "age"], method="exact", each_leaf=True, **given_weights
    )


def test_rules_that_broke_are_found_and_the_others_still_hold() -> None:
    rules = make_rules()
    found = rules.audit(*make_rows(1, 400, broken=True)).per_line
    high = [any("dose >" in str(condition) for condition in rule.conditions) for rule in rules]
    assert any(high)
    for one, is_high in zip(found, high, strict=True):
        assert one.support > 50
        assert one.verdict == ("moved" if is_high else "still holds"), str(one)
    assert 0 < len(found.moved) <= sum(high)
    assert {one.line for one in found.moved} <= {place + 1 for place, is_high in enumerate(high) if is_high}
    assert [one.p_value for one in found.moved] == sorted(one.p_value for one in found.moved)
    assert "moved" in found.summary
    assert "corrected" in str(found.moved[0])


def test_an_earlier_audit_is_what_a_later_one_is_compared_with() -> None:
    rules = make_rules()
    earlier = rules.audit(*make_rows(2, 400, broken=True))
    later = rules.audit(*make_rows(3, 400, broken=True), since=earlier)
    assert earlier.per_line.moved
    assert not later.per_line.moved
    assert "the earlier audit" in later.per_line.summary
    assert later.per_line[0].earlier_support == earlier.per_line[0].support
    assert later != rules.audit(*make_rows(3, 400, broken=True))
    stored = secateur.Rules.from_json(rules.to_json())
    assert stored.audit(*make_rows(3, 400, broken=True), since=earlier) == later
    X, y = make_rows(0, 600)
    other = secateur.simplify(
        DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), X, y, method="mismatch", each_leaf=True
    )
    with pytest.raises(InputError, match=r"^The earlier audit is of other rules: audit these rules on"):
        other.audit(*make_rows(3, 400), since=earlier)
    with pytest.raises(InputError, match=r"^Expected since as an earlier audit of these rules, found str\.$"):
        rules.audit(*make_rows(3, 400), since="last month")


def test_equal_weights_count_as_rows_whatever_their_size() -> None:
    rules = make_rules()
    X, y = make_rows(4, 300)
    plain, weighted = rules.audit(X, y).per_line, rules.audit(X, y, sample_weight=np.full(300, 0.25)).per_line
    assert weighted.support.tolist() == (plain.support / 4).tolist()
    for one, other in zip(plain, weighted, strict=True):
        assert (one.low, one.high, one.p_value) == pytest.approx((other.low, other.high, other.p_value), abs=1e-9)
    rng = np.random.default_rng(0)
    unequal = rules.audit(X, y, sample_weight=rng.lognormal(size=300)).per_line
    assert (unequal.n_effective < plain.n_effective).all()
    assert ((unequal.interval[1] - unequal.interval[0]) > (plain.interval[1] - plain.interval[0])).any()


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1000.0])
def test_rules_made_with_weights_are_not_compared_with_their_training_rows(unit: float) -> None:
    """Sums of weights do not tell how many rows there are: the verdict must not depend on the unit."""
    rules = make_rules(sample_weight=np.full(600, unit))
    audit = rules.audit(*make_rows(5, 200, broken=True))
    found = audit.per_line
    assert set(found.verdicts.tolist()) == {"not comparable"}
    assert np.isnan(found.p_values).all()
    assert np.isnan(found.change_interval).all()
    assert not np.isnan(found.change).any()
    assert "made with weights" in found.notes[-1]
    assert "none of 4 rules could be tested" in found.summary
    assert "expected" not in found.summary
    assert "rows of weight" in str(found[0])
    assert found[0].d_low is None
    later = rules.audit(*make_rows(5, 200), since=audit)
    assert later.per_line.moved  # two audits carry the numbers of their rows
    assert set(later.per_line.verdicts.tolist()) <= {"moved", "still holds"}


def test_rules_made_without_rows_have_nothing_to_be_compared_with() -> None:
    X, y = make_rows(0, 600)
    model = DecisionTreeClassifier(max_leaf_nodes=4, random_state=1, class_weight={0: 1, 1: 5}).fit(X, y)
    rules = secateur.simplify(model, method="none", each_leaf=True)
    audit = rules.audit(*make_rows(1, 400, broken=True))
    found = audit.per_line
    assert set(found.verdicts.tolist()) == {"not comparable"}
    assert np.isnan(found.before[0]).all()
    assert np.isnan(found.d).all()
    one = found[0]
    assert (one.training_support, one.training_reliability, one.change, one.d_low) == (None, None, None, None)
    assert "not known in training" in str(one)
    assert found.notes == (
        "The rules were made without rows, so their numbers in training are not known. Compare with an earlier audit "
        "instead (since=…; --since on the command line).",
    )
    assert found.summary == "Against the training rows: none of 4 rules could be tested, 4 are not comparable."
    plain = secateur.simplify(
        DecisionTreeClassifier(max_leaf_nodes=4, random_state=1).fit(X, y), method="exact", each_leaf=True
    )
    assert set(plain.audit(X, y).per_line.verdicts.tolist()) == {"not comparable"}
    assert plain.audit(*make_rows(2, 400), since=plain.audit(*make_rows(1, 400, broken=True))).per_line.moved


def draw_audits(n_audits: int) -> Iterator[tuple[Audit, Audit]]:
    """Audits of fitted trees on fresh rows of the same kind: against the training rows, and against other rows."""
    rng = np.random.default_rng(0)

    def draw(n_rows: int) -> tuple[Any, Any]:
        X = rng.normal(size=(n_rows, 5))
        return X, (X[:, 0] + rng.normal(size=n_rows) > 0).astype(int)

    for _ in range(n_audits):
        train, first, second = draw(600), draw(600), draw(600)
        model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(*train)
        rules = secateur.simplify(model, *train, method="none", each_leaf=True)
        against_training = rules.audit(*first)
        yield against_training, rules.audit(*second, since=against_training)


@pytest.mark.long
def test_only_an_earlier_audit_keeps_false_alarms_rare_and_the_other_comparison_says_so() -> None:
    """Nothing changes here but the rows. Against training rows a fall is found all the same: trees are fitted."""
    audits = list(draw_audits(100))
    against_training, since = (
        np.mean([bool(one.per_line.moved) for one in side]) for side in zip(*audits, strict=True)
    )
    assert since <= 0.05
    assert against_training > 0.2
    for flattered, fair in audits[:3]:
        assert flattered.per_line.summary.startswith("Against the training rows, to which the rules were fitted: ")
        assert "Training rows flatter" in flattered.per_line.notes[-1]
        assert fair.per_line.summary.startswith("Against the earlier audit: ")
        assert not any("flatter" in note for note in fair.per_line.notes)


@pytest.mark.long
@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_with_weights_false_alarms_stay_rare(spread: float) -> None:
    """The test of effective rows is approximate; by simulation, it alarms less often than it may."""
    rules, alarms = make_rules(), []
    rng = np.random.default_rng(12)
    for seed in range(150):
        draws = [(*make_rows(1_000 + 2 * seed + half, 300), rng.lognormal(0.0, spread, 300)) for half in (0, 1)]
        before, now = draws
        earlier = rules.audit(before[0], before[1], sample_weight=before[2])
        found = rules.audit(now[0], now[1], sample_weight=now[2], since=earlier).per_line
        alarms.append(bool(found.moved))
        assert any("approximate" in note for note in found.notes)
    assert np.mean(alarms) <= 0.05


def test_a_rule_that_still_holds_says_on_how_many_rows_and_why_its_limits_may_leave_out_zero() -> None:
    rules = make_rules()
    earlier = rules.audit(*make_rows(7, 400))
    found = rules.audit(*make_rows(8, 60), since=earlier).per_line
    holding = [one for one in found if one.verdict == "too few rows to tell"]
    few = [one for one in holding if min(one.effective_rows, one.effective_rows_before) < 30]
    assert 0 < len(few) == len(holding)
    rows = [int(one.support) for one in holding]
    assert found.summary.endswith(": 0 of 4 rules moved, 4 have too few rows to tell.")
    assert all("too few rows to tell:" in str(one) for one in few)
    assert not any("limits in brackets" in note for note in found.notes)  # none is printed with them
    assert str(found).count("not corrected, so a line may still hold although its limits leave out 0") == 1
    assert "Fisher's exact test, corrected for 4 tested lines." in found.notes[0]
    assert f"lines 1 ({rows[0]} rows), 2 ({rows[1]} rows)" in found.notes[1]
    many = rules.audit(*make_rows(9, 400), since=earlier).per_line
    rows = [int(one.support) for one in many if one.verdict == "still holds"]
    assert f"{len(rows)} still hold ({min(rows)} to {max(rows)} rows each)." in many.summary
    assert "so few" not in str(many)


def test_numbers_and_words_agree() -> None:
    X, y = make_rows(0, 200)
    rules = secateur.simplify(
        DecisionTreeClassifier(max_depth=1).fit(X, np.zeros(200)), X, np.zeros(200), each_leaf=True
    )
    found = rules.audit(X[:1], np.zeros(1)).per_line
    assert found.summary.endswith(": 0 of 1 rule moved, 1 has too few rows to tell.")
    assert "corrected for 1 tested line." in found.notes[0]
    assert "line 1 (1 row)." in found.notes[1]
    rules = make_rules()
    found = rules.audit(X[:1], y[:1]).per_line
    assert ", 3 have no rows here." in found.summary
    assert "1. no rows: " in str(found) or "2. no rows: " in str(found)


def test_a_table_of_lines_can_be_read_and_stored() -> None:
    rules = make_rules()
    audit = rules.audit(*make_rows(6, 30))
    found = audit.per_line
    frame = found.to_frame("pandas")
    assert frame["verdict"].tolist() == [one.verdict for one in found]
    assert frame["line"].tolist() == list(range(1, len(rules) + 1))
    assert json.loads(json.dumps(found.to_dicts(), allow_nan=False))[0]["text"] == rules[0].text
    assert frame["class_name"].tolist() == [rule.class_name for rule in rules]
    assert found[-1] == found[len(found) - 1]
    assert [one.line for one in found[1:3]] == [2, 3]
    with pytest.raises(IndexError):
        found[len(found)]
    assert pickle.loads(pickle.dumps(audit)) == audit
    html = found._repr_html_()
    assert html.count("<tr>") == len(rules) + 1
    assert "&lt;=" in html
    assert repr(found).startswith("<LineAudits: ")
    assert "nan" not in str(found)


def test_audits_of_rules_are_equal_by_their_counts_and_by_their_weights() -> None:
    rules = make_rules()
    X, y = make_rows(6, 30)
    once = rules.audit(X, y).per_line
    assert once == rules.audit(X, y).per_line
    assert once != rules.audit(X[:-1], y[:-1]).per_line
    split = rules.audit(np.repeat(X, 2, axis=0), np.repeat(y, 2), sample_weight=np.full(60, 0.5)).per_line
    np.testing.assert_array_equal(split.counts, once.counts)
    assert once != split  # of which only the squares of the weights tell


def test_counts_that_are_listed_by_place_are_read_in_any_order() -> None:
    rules, rng = make_rules(), np.random.default_rng(0)
    shape = len(rules), rules.tree.n_classes
    counts = AuditCounts(
        30,
        CellCounts.of(np.array([7, 0, 5]), np.array([1.0, 4.0, 2.0])),
        rng.random(len(SUMS)),
        rng.integers(0, 3, shape).astype(np.float64),
        rng.random(len(rules)),
    )
    places, numbers = counts.to_cells()
    order = rng.permutation(len(places))
    back = AuditCounts.from_cells(rules, 30, places[order], numbers[order])
    for name in ("sums", "by_line", "squares"):
        np.testing.assert_array_equal(getattr(back, name), getattr(counts, name))
    np.testing.assert_array_equal(back.decided.cells, counts.decided.cells)
    np.testing.assert_array_equal(back.decided.counts, counts.decided.counts)


def test_a_rule_without_rows_is_not_judged() -> None:
    rules = make_rules()
    X = np.array([[0.1, 0.1]])
    found = rules.audit(X, rules.predict(X)).per_line
    verdicts = [one.verdict for one in found]
    assert verdicts.count("no rows") == len(rules) - int(rules.covers(X).sum())
    assert "none of these rows; in training" in str(found)
    assert "no rows here" in found.summary
    back = rules.audit(*make_rows(1, 100), since=rules.audit(X, rules.predict(X))).per_line
    assert [one.verdict == "not comparable" for one in back] == [verdict == "no rows" for verdict in verdicts]
    assert "no rows in the earlier audit" in str(back)


def test_an_audit_says_that_the_outcome_is_more_frequent_than_before() -> None:
    X = np.repeat([[0.0], [1.0]], [900, 100], axis=0)
    y = np.array(["no"] * 860 + ["yes"] * 40 + ["no"] * 68 + ["yes"] * 32)
    rules = secateur.simplify(DecisionTreeClassifier(max_depth=1).fit(X, y), X, y)
    more = np.array(["no"] * 830 + ["yes"] * 70 + ["no"] * 48 + ["yes"] * 52)
    found = rules.audit(X, more)
    assert found.class_shares == pytest.approx((87.8, 12.2))
    assert found.class_shares_before == pytest.approx((92.8, 7.2))
    assert "share of yes: 12.2 % of these rows, 7.2 % in training" in str(found)
    again = rules.audit(X, more, since=found)
    assert again.class_shares_before == again.class_shares
    assert "share of yes" not in str(again)
    assert "share of yes: 7.2 % of these rows, 12.2 % in the earlier audit" in str(rules.audit(X, y, since=found))
    assert "finds none of 122, because no line says yes." in str(found)


def test_an_audit_of_the_rows_that_rules_were_made_from_says_so() -> None:
    X, y = make_rows(7, 400)
    rules = secateur.simplify(
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:300], y[:300]), X[:300], y[:300]
    )
    told = "These rows fall into the leaves exactly as the {} did: they are not new."
    stored = secateur.Rules.from_json(rules.measure(X[300:], y[300:]).to_json())
    for rows, words in (
        (slice(0, 300), "training rows"),
        (slice(300, 400), "unseen rows"),
        (slice(0, 400), "training and the unseen rows together"),
    ):
        found = stored.audit(X[rows], y[rows])
        assert found.seen == told.format(words)
        assert str(found).startswith(found.seen)
    assert rules.audit(X[100:], y[100:]).seen == ""
