"""What is said of unseen rows is what an obvious count, or scikit-learn, says of them."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
import strategies
from drawing import further
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import accuracy_score, confusion_matrix, precision_score, recall_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import secateur
from benchmarks import unseen_rows
from secateur.errors import InputError, ParameterError
from secateur.results import difference
from secateur.results.measures import find_cutoff, find_expected, measure_rules, measure_values, parse_costs, rank_lines
from secateur.results.shifts import ColumnShift, TableShift, find_psi
from secateur.results.statistics import expect_share

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
Y = pd.Series(np.where(Y == 1, "benign", "malignant"), name="finding")
MODEL = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[:300], Y[:300])
RULES = secateur.simplify(MODEL, X[:300], Y[:300])
MEASURED = RULES.measure(X[300:], Y[300:])


def test_measures_are_those_of_scikit_learn() -> None:
    found = measure_rules(MEASURED)
    assert found is not None
    said, own = MEASURED.predict(X[300:]), Y[300:]
    assert found.rows == "269 unseen rows"
    assert found.names[found.of or 0] == "malignant"
    assert found.accuracy == pytest.approx(accuracy_score(own, said))
    counted, named, hits = found.count_of(found.of or 0)
    assert hits / counted == pytest.approx(recall_score(own, said, pos_label="malignant"))
    assert hits / named == pytest.approx(precision_score(own, said, pos_label="malignant"))
    column = list(MODEL.classes_).index("malignant")
    assert found.auc == pytest.approx(roc_auc_score(own == "malignant", MEASURED.predict_proba(X[300:])[:, column]))
    assert found.tree_auc == pytest.approx(roc_auc_score(own == "malignant", MODEL.predict_proba(X[300:])[:, column]))
    assert found.confusion.T.tolist() == confusion_matrix(own, said, labels=list(found.names)).tolist()
    text = str(MEASURED)
    assert f"malignant: finds {hits:.0f} of {counted:.0f} unseen" in text
    assert "in training; always saying" in text


def test_every_training_share_is_called_so() -> None:
    for text in (str(RULES), RULES.to_markdown(), RULES.to_latex(), RULES._repr_html_(), RULES.plot().svg):
        assert "in training" in text
        assert "unseen" not in text
    assert "of 300 training rows" in str(RULES)
    assert "New rows usually do worse than training rows" in str(RULES)
    written = RULES.to_csv().splitlines()[0]
    assert "training_support" in written
    assert '"support"' not in written


def test_an_audit_says_how_many_of_the_class_of_interest_are_found() -> None:
    said, own = MEASURED.predict(X[300:]) == "malignant", Y[300:] == "malignant"
    told = str(MEASURED.audit(X[300:], Y[300:]))
    assert f"malignant: finds {(said & own).sum()} of {own.sum()} (" in told
    assert f"of {said.sum()} that it names, {(said & own).sum()} are malignant" in told
    assert told.count("AUC") == 1


def test_values_say_which_numbers_are_of_training_rows() -> None:
    rows, targets = load_diabetes(return_X_y=True, as_frame=True)
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(rows[:300], targets[:300])
    for each_leaf in (False, True):
        rules = secateur.simplify(model, rows[:300], targets[:300], each_leaf=each_leaf)
        measured = rules.measure(rows[300:], targets[300:])
        texts = (measured.to_text(), measured.to_markdown(), measured.to_latex(), measured._repr_html_())
        for text in (*texts, measured.plot().svg, measured.to_html()):
            assert re.search(r"\d unseen rows?[^(]*\(\d+ training rows", text)
        for text in (rules.to_text(), rules.to_markdown(), rules.to_latex(), rules._repr_html_(), rules.plot().svg):
            assert "training rows" in text
            assert "unseen" not in text
        assert all(name.startswith("training_") for name in rules.to_frame().columns if "mean" in name)
        assert "Rows are training rows" in rules.plot_tree().svg
    found = measure_values(secateur.simplify(model, rows[:300], targets[:300]).measure(rows[300:], targets[300:]))
    assert found is not None
    assert "New rows usually do worse" in str(secateur.simplify(model, rows[:300], targets[:300]))
    page = secateur.simplify(model, rows[:300], targets[:300]).measure(rows[300:], targets[300:]).to_html()
    assert "on 142 unseen rows" in page[page.index("Off by") :][:80]


def test_lines_are_ranked_by_what_they_state() -> None:
    ranked = rank_lines(MEASURED)
    column = list(MODEL.classes_).index("malignant")
    assert [one.line - 1 for one in ranked] == np.argsort(-MEASURED.shares[:, column], kind="stable").tolist()
    assert ranked[-1].caught_so_far == ranked[-1].rows_so_far == pytest.approx(1)
    assert sum(one.hits for one in ranked) == int((Y[300:] == "malignant").sum())


@given(st.integers(1, 40), st.data())
def test_expected_shares_are_those_that_a_test_would_not_tell_apart(n: int, data: st.DataObject) -> None:
    from scipy.stats import hypergeom

    k = data.draw(st.integers(0, n))
    low, high = expect_share([k], [n])
    within = [
        other
        for other in range(n + 1)
        if hypergeom.sf(k - 1, 2 * n, k + other, n) > 0.025 and hypergeom.sf(other - 1, 2 * n, k + other, n) > 0.025
    ]
    assert (round(low[0] * n), round(high[0] * n)) == (within[0], within[-1])


def test_few_rows_have_no_expectation() -> None:
    for line, expected in zip(MEASURED.lines, find_expected(MEASURED), strict=True):
        assert line.unseen is not None
        assert (expected is None) == (line.unseen[0] < 5)
        if expected is not None:
            assert expected[0] <= line.unseen[1] / line.unseen[0] <= expected[1]


@given(st.data())
def test_the_cheapest_cut_off_is_found_by_trying_all(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    if tree.n_classes != 2:
        return
    rows, labels, _ = data.draw(strategies.labelled_rows(tree))
    rules = secateur.simplify(tree, rows, tree.classes[labels])
    costs = {0: float(data.draw(st.integers(1, 9))), 1: float(data.draw(st.integers(1, 9)))}
    found = find_cutoff(rules, costs)
    of = rules.tree.class_names.index(found.of)
    given_share = rules.shares[rules.apply(rows), of]

    def price(said: np.ndarray) -> float:
        return float(np.where(said == (labels == of), 0.0, np.where(labels == of, costs[of], costs[1 - of])).mean())

    every = [price(given_share >= limit) for limit in (*rules.shares[:, of].tolist(), 2.0)]
    assert found.price == pytest.approx(min(every))
    assert found.price == pytest.approx(price(given_share >= found.share))
    assert found.price_always == pytest.approx(price(np.ones(len(rows), dtype=bool)))
    assert found.price_never == pytest.approx(price(np.zeros(len(rows), dtype=bool)))
    assert found.price <= min(found.price_always, found.price_never) + 1e-12
    said = "the list's own classes are already the cheapest" in str(found)
    assert said == (found.price_of_classes < found.price + 1e-9) != ("this cut-off is the cheapest" in str(found))


def test_costs_that_cannot_be_read_are_named() -> None:
    assert parse_costs(RULES, ["missed Malignant = 5"]) == {0: 1.0, 1: 5.0}
    for stated, words in {
        "malignant = 5": 'Expected a cost such as "missed default = 5"',
        "missed maligant = 5": "No class is called 'maligant'. Did you mean 'malignant'",
        "missed malignant = cheap": "found 'cheap' for a number above 0",
        "missed malignant = 0": "found '0' for a number above 0",
    }.items():
        with pytest.raises(ParameterError) as caught:
            parse_costs(RULES, [stated])
        assert words in str(caught.value)
    with pytest.raises(InputError, match="between two classes, on the lines of a list"):
        find_cutoff(RULES.each_leaf, {0: 1.0, 1: 1.0})


def test_a_changed_unit_is_noticed_and_the_same_rows_are_not() -> None:
    table = X[300:].copy()
    assert MEASURED.audit(table, Y[300:]).shifts == ()
    assert MEASURED.audit(table, Y[300:]).per_line.psi == 0
    assert MEASURED.audit(table, Y[300:]).per_line.moved == []
    assert "Against the unseen rows that the rules were measured on" in MEASURED.audit(table, Y[300:]).per_line.summary
    asked = RULES.tree.feature_name(int(RULES.tree.feature[0]))
    table[asked] /= 1000
    found = MEASURED.audit(table, Y[300:])
    assert found.shifts[0].startswith(f"{asked}: all 269 rows are at most ")
    assert found.per_line.psi > 0.25
    assert find_psi(np.array([5.0, 5.0]), np.array([50.0, 50.0])) == pytest.approx(0)


def test_any_one_thing_that_moved_moves_a_table() -> None:
    column = ColumnShift("age", None, None, 0.0, 1.0, True)  # type: ignore[arg-type]
    same = column._replace(psi=0.0)
    assert column.moved
    assert not same.moved
    assert TableShift(100, (same, column), {}, {}).moved
    assert TableShift(100, (same,), {"age >= 18": 100}, {}).moved
    assert TableShift(100, (same,), {}, {"age": "all 100 rows are at most 1."}).moved
    assert not TableShift(100, (same,), {"age >= 18": 0}, {}).moved


def test_percent_written_as_fractions_is_named() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"debt": rng.uniform(0, 95, 500)})
    labels = np.where(rows.debt > 45, "default", "repaid")
    rules = secateur.simplify(DecisionTreeClassifier(max_depth=1).fit(rows, labels), rows, labels)
    rows.loc[0, "debt"] = 0.0
    (told,) = rules.audit(rows / 100, labels).shifts
    assert told.endswith("Is it written as fractions instead of percent?")
    assert rules.audit(rows, labels).shifts == ()


def test_swap_sets_equal_a_count_by_hand() -> None:
    later = secateur.simplify(
        DecisionTreeClassifier(max_depth=2, random_state=1).fit(X[200:], Y[200:]), X[200:], Y[200:]
    )
    found = RULES.diff(later, X, Y).swaps
    assert found is not None
    before, after = RULES.predict(X), later.predict(X)
    assert found.n_changed == int((before != after).sum()) > 0
    for one in found.swaps:
        rows = (before == one.old) & (after == one.new)
        assert one.rows == rows.sum()
        assert one.old_right == (rows & (one.old == Y)).sum()
        assert one.new_right == (rows & (one.new == Y)).sum()
        assert one.examples == tuple((np.flatnonzero(rows)[:3] + 1).tolist())
    for old, new, rows in found.moves:
        both = (RULES.apply(X) == old - 1) & (later.apply(X) == new - 1) & (before != after)
        assert rows == both.sum()
    assert sum(one.rows for one in found.moves) == found.n_changed
    assert len(found.moves) > 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(difference, "SHOWN_SWAPS", 1)
        left = found.n_changed - found.moves[0].rows
        assert f"\n  and {len(found.moves) - 1} more, with {left} rows\n" in str(found)
    assert found.gain is not None
    gain, low, high = found.gain
    assert gain == pytest.approx((after == Y).mean() - (before == Y).mean())
    assert low <= gain <= high
    assert found.still_holds == (not low > 0)
    assert ("Nothing shows that the new rules are better" in str(found)) == (low <= 0 <= high)
    assert ("better on these rows, beyond chance" in str(found)) == (low > 0)
    assert ("worse on these rows, beyond chance" in str(found)) == (high < 0)
    same = RULES.diff(RULES, X, Y).swaps
    assert same is not None
    assert (same.n_changed, same.gain, same.still_holds) == (0, (0.0, 0.0, 0.0), True)
    assert RULES.diff(later).swaps is None
    assert RULES.diff(later, X).swaps.gain is None  # type: ignore[union-attr]


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("name", "n_times"),
    [
        ("german", 4),
        *(pytest.param(one, 20, marks=pytest.mark.long) for one in ("german", "cancer", "heart-h")),
        *further([pytest.param("adult", 20, marks=pytest.mark.long)]),  # twice as long as all others
    ],
)
def test_printed_intervals_hold_on_a_fresh_part(name: str, n_times: int, data_dir: str) -> None:
    """Half of the rows to fit, a quarter to measure, a quarter that nobody saw, a number of times."""
    found = unseen_rows.count_held(name, n_times, data_dir)
    assert found["held"] >= 0.94 * found["lines"] > 20, found
    if n_times == unseen_rows.SPLITS:
        assert found in json.loads(unseen_rows.STORED.read_text(encoding="utf-8"))["intervals"]


@pytest.mark.parametrize("n_times", [5, pytest.param(20, marks=pytest.mark.long)])
def test_the_cut_off_of_german_costs_less_than_rejecting_everybody(n_times: int, data_dir: str) -> None:
    """On rows that did not choose it, too."""
    found = unseen_rows.price_cutoffs(n_times, data_dir)
    assert found["chosen"] < found["fresh"] < found["all"] < min(found["classes"], found["none"]), found


def test_the_stored_intervals_and_prices_are_within_their_bars() -> None:
    stored = json.loads(unseen_rows.STORED.read_text(encoding="utf-8"))
    assert [one["dataset"] for one in stored["intervals"]] == list(unseen_rows.DATASETS)
    assert all(one["held"] >= 0.94 * one["lines"] for one in stored["intervals"])
    assert stored["costs"]["fresh"] < stored["costs"]["all"] < stored["costs"]["classes"]


def test_a_class_is_priced_by_its_own_name_before_one_of_another_case() -> None:
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, np.where(Y == "benign", "Yes", "yes"))
    rules = secateur.simplify(model, X, np.where(Y == "benign", "Yes", "yes"))
    assert rules.tree.class_names == ("Yes", "yes")
    assert parse_costs(rules, ["missed yes = 5"]) == {0: 1.0, 1: 5.0}
    assert parse_costs(rules, ["missed Yes = 5"]) == {0: 5.0, 1: 1.0}
    with pytest.raises(ParameterError, match="No class is called 'YES'"):
        parse_costs(rules, ["missed YES = 5"])
