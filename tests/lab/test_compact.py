"""How short texts about the paper's trees are, and how many rows they decide otherwise."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_results import skip_if_older

import secateur
from secateur.datasets import load
from secateur.lab import compact
from secateur.lab.compact import COMPACT, FACTS, PRUNED, PRUNED_LEAVES, TE2RULES, LengthPoint, find_points
from secateur.lab.protocol import ARMS, DATASETS, N_SPLITS, split_rows
from secateur.lab.stored_results import load_study, load_versions

pytestmark = pytest.mark.long


@functools.cache
def stored_points(arm: str) -> dict[tuple[str, str], LengthPoint]:
    return {(point.method, point.knob): point for point in find_points(load_study("compact", arm))}


@functools.cache
def split_of(dataset: str, data_dir: str) -> compact._Split:
    data = load(dataset, data_dir)
    X_train, X_test, y_train, y_test = split_rows(data, 0)
    model = ARMS["cart"].fit(data, 0, X_train, y_train)
    source = secateur.simplify(model, X_train, y_train, method="none", each_leaf=True)
    return compact._Split(model, X_train, y_train, X_test, y_test, source)


@pytest.mark.parametrize(
    ("arm", "dataset", "number"),
    [
        *(
            ("cart", dataset, number)
            for dataset, number in (("backache", 3), ("german", 11), ("EEG", 7), ("adult", 29))
        ),
        *(("optimal", dataset, number) for dataset, number in (("cancer", 3), ("ionosphere", 20))),
    ],
)
def test_a_split_gives_the_stored_result(arm: str, dataset: str, number: int, data_dir: str) -> None:
    skip_if_older(load_versions("compact")["scikit-learn"])
    picked, stored = (one_split(study, arm, dataset, number) for study in ("by_folds", "compact"))
    found = compact.make_compact_study([picked]).measure(ARMS[arm], load(dataset, data_dir), number)
    assert found["n_rules"] == stored["n_rules"]
    for ours, theirs in zip(found["rows"], stored["rows"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


def one_split(study: str, arm: str, dataset: str, number: int) -> dict[str, Any]:
    (found,) = [split for split in load_study(study, arm) if (split["dataset"], split["split"]) == (dataset, number)]
    return found


@pytest.mark.parametrize(("study", "arm"), [("compact", "cart"), ("compact", "optimal"), ("te2rules", "cart")])
def test_all_splits_of_all_data_sets_are_stored(study: str, arm: str) -> None:
    splits = load_study(study, arm)
    numbers = [{split["split"] for split in splits if split["dataset"] == dataset} for dataset in DATASETS]
    assert all(found == set(range(N_SPLITS)) for found in numbers)


def test_exact_compact_rules_leave_a_third_of_the_conditions_and_decide_no_row_otherwise() -> None:
    point = stored_points("cart")[COMPACT, "0"]
    assert point.n_splits == N_SPLITS
    assert point.conditions_left == pytest.approx(36.0, abs=0.3)
    assert point.rules_left == pytest.approx(41, abs=1)
    for arm in ("cart", "optimal"):
        rows = [row for split in load_study("compact", arm) for row in split["rows"]]
        exact = [row for row in rows if (row["method"], row["knob"]) in ((COMPACT, "0"), ("exact", ""))]
        assert len(exact) == 2 * N_SPLITS * len(DATASETS)
        assert all(row["disagreement"] == row["delta_accuracy"] == 0 for row in exact)


@pytest.mark.parametrize(("budget", "most_left", "most_otherwise"), [("0.005", 22.2, 0.62), ("0.01", 18.6, 1.1)])
def test_a_budget_leaves_little_and_decides_few_rows_otherwise(
    budget: str, most_left: float, most_otherwise: float
) -> None:
    point = stored_points("cart")[COMPACT, budget]
    assert point.conditions_left <= most_left
    assert point.disagreement <= most_otherwise


@pytest.mark.parametrize("arm", ["cart", "optimal"])
def test_more_budget_leaves_less_and_folds_keep_to_their_ceiling(arm: str) -> None:
    points = stored_points(arm)
    listed = [points[COMPACT, f"{budget:g}"] for budget in compact.BUDGETS]
    left = [point.conditions_left for point in listed]
    otherwise = [point.disagreement for point in listed]
    assert left == sorted(left, reverse=True)
    assert otherwise == sorted(otherwise)
    assert points[COMPACT, "by folds"].disagreement < 1.1  # the ceiling is 1 %, on other rows


@pytest.mark.parametrize("arm", ["cart", "optimal"])
@pytest.mark.parametrize("method", [COMPACT, "budgeted"])
def test_no_rule_that_a_budget_shortened_breaks_its_promise(arm: str, method: str) -> None:
    rows = [row for split in load_study("compact", arm) for row in split["rows"] if row["method"] == method]
    assert sum(row["paid"] for row in rows) > 1000
    assert all(row["below_guard"] == row["not_commonest"] == row["twins"] == 0 for row in rows)


def test_pruned_to_the_same_length_a_tree_decides_more_rows_otherwise() -> None:
    points = stored_points("cart")
    for budget in ("0.0025", "0.005", "0.01", "0.015"):
        short, read, leaves = (points[method, budget] for method in (COMPACT, PRUNED, PRUNED_LEAVES))
        assert max(abs(short.conditions_left - other.conditions_left) for other in (read, leaves)) < 1.5
        assert 1.9 * short.disagreement < read.disagreement < leaves.disagreement
    assert not any(method in (PRUNED, PRUNED_LEAVES) for method, _ in stored_points("optimal"))


def test_te2rules_leaves_more_and_decides_more_rows_otherwise() -> None:
    (theirs,) = find_points(load_study("te2rules", "cart"))
    ours = stored_points("cart")[COMPACT, "0.01"]
    assert (theirs.method, theirs.n_splits) == (TE2RULES, N_SPLITS)
    assert theirs.conditions_left > ours.conditions_left
    assert theirs.disagreement > ours.disagreement
    assert load_versions("te2rules")["te2rules"] == "1.0.1"


def test_nothing_of_the_package_imports_te2rules() -> None:
    root = Path(secateur.__file__).parent
    assert not [path for path in root.rglob("*.py") if "import te2rules" in path.read_text(encoding="utf-8")]
    assert not [path for path in root.rglob("*.py") if "from te2rules" in path.read_text(encoding="utf-8")]


def test_a_rule_below_its_guard_is_counted(data_dir: str) -> None:
    split = split_of("german", data_dir)
    found = {}
    for tolerance in (0.05, 0.5):
        rules = secateur.simplify(split.model, split.X_train, split.y_train, budget=0.05, tolerance=tolerance)
        found[tolerance] = split.count_broken(rules.each_leaf, rules.leaves)
        by_hand = sum(
            any(reason.kind == "decided-otherwise" for reason in rule.reasons.values())
            and rule.source_reliability - rule.covered_reliability > 0.05 + 1e-9
            for rule in rules
        )
        assert found[tolerance]["below_guard"] == by_hand
    assert found[0.05]["below_guard"] == 0
    assert found[0.5]["below_guard"] > 0
    assert min(counts["paid"] for counts in found.values()) > 0


def test_rules_of_a_rare_class_and_contradictory_twins_are_counted(data_dir: str) -> None:
    split = split_of("german", data_dir)
    rules = secateur.simplify(split.model, split.X_train, split.y_train, method="quinlan", each_leaf=True)
    found = split.count_broken(rules, np.arange(len(rules)))
    assert found["not_commonest"] == sum(rule.reliability < 0.5 for rule in rules) > 0
    texts = [(tuple(map(str, rule.conditions)), rule.prediction) for rule in rules]
    assert found["twins"] == len({text for text, _ in texts if {(text, 0), (text, 1)} <= set(texts)})
    assert found["paid"] == found["below_guard"] == 0


@pytest.mark.parametrize("budget", [0.0, 0.02])
def test_rows_are_decided_by_the_rules_that_cover_them(budget: float, data_dir: str) -> None:
    split = split_of("heart-h", data_dir)
    rules = secateur.simplify(split.model, split.X_train, split.y_train, budget=budget)
    assert (compact._decide(rules, split.X_test) == rules.predict(split.X_test)).all()


def test_a_pruned_tree_is_as_long_as_the_path_allows(data_dir: str) -> None:
    split = split_of("heart-h", data_dir)
    total = int(split.source.n_edges)
    rows = compact._measure_pruned(split, {"all": total, "none": 0, "some": 30})
    found = {(row["method"], row["knob"]): row for row in rows}
    assert found[PRUNED_LEAVES, "all"]["conditions_left"] == 100
    assert found[PRUNED_LEAVES, "all"]["disagreement"] == found[PRUNED, "all"]["disagreement"] == 0
    assert found[PRUNED, "none"]["conditions_left"] == found[PRUNED, "none"]["rules_left"] == 0
    path = split.model.cost_complexity_pruning_path(split.X_train, split.y_train)
    lengths = []
    for alpha in path.ccp_alphas:
        pruned = type(split.model)(max_depth=6, random_state=0, ccp_alpha=max(alpha, 0)).fit(
            split.X_train, split.y_train
        )
        lengths.append(int(secateur.simplify(pruned, method="none", each_leaf=True).n_edges))
    nearest = min(lengths, key=lambda length: abs(length - 30))
    assert found[PRUNED_LEAVES, "some"]["conditions_left"] == pytest.approx(100 * nearest / total)


def test_means_go_over_splits_then_equally_over_data_sets() -> None:
    row = {**dict.fromkeys(compact.METRICS, 0.0), **dict.fromkeys(FACTS, 1), "method": COMPACT, "knob": "0"}
    splits = [
        {"dataset": dataset, "rows": [{**row, "conditions_left": left}]}
        for dataset, left in (("german", 10.0), ("german", 20.0), ("adult", 45.0))
    ]
    (point,) = find_points(splits)
    assert (point.conditions_left, point.n_splits, point.paid) == (30, 1, 3)
    splits[0]["rows"][0]["paid"] = None  # type: ignore[index]
    assert find_points(splits)[0].paid is None
