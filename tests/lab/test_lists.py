"""How short lists about the paper's trees are, and what they keep."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import further
from stored_results import skip_if_older

import secateur
from benchmarks.paper.stored import load_study, load_versions
from secateur.datasets import load
from secateur.lab import lists
from secateur.lab.lists import LIST, PRUNED, PRUNED_LEAVES, TE2RULES, LengthPoint, find_points, name_form
from secateur.lab.protocol import ARMS, DATASETS, N_SPLITS, split_rows
from secateur.lab.summary import load_counted

pytestmark = pytest.mark.long


BOTH_ARMS = pytest.mark.parametrize("arm", ARMS)


@functools.cache
def stored_points(arm: str = "cart") -> dict[tuple[str, str], LengthPoint]:
    return {(point.method, point.knob): point for point in find_points(load_study("lists", arm))}


def stored(tolerance: float, sections: Any, budget: float = 0.0, arm: str = "cart") -> LengthPoint:
    return stored_points(arm)[LIST, name_form(tolerance, sections, budget)]


@functools.cache
def split_of(dataset: str, data_dir: str) -> tuple[Any, Any, Any, Any, Any]:
    data = load(dataset, data_dir)
    X_train, X_test, y_train, y_test = split_rows(data, 0)
    return ARMS["cart"].fit(data, 0, X_train, y_train), X_train, y_train, X_test, y_test


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("arm", "dataset", "number"),
    [
        *[("cart", "german", 11), ("cart", "cancer", 5), ("optimal", "ionosphere", 8)],
        *further([("cart", "backache", 3), ("cart", "EEG", 7), ("cart", "adult", 29), ("optimal", "adult", 2)]),
    ],
)
def test_a_split_gives_the_stored_result(arm: str, dataset: str, number: int, data_dir: str) -> None:
    skip_if_older(load_versions("lists")["scikit-learn"])
    (kept,) = [split for split in load_study("lists", arm) if (split["dataset"], split["split"]) == (dataset, number)]
    found = lists.measure_lists(ARMS[arm], load(dataset, data_dir), number)
    assert found["n_rules"] == kept["n_rules"]
    for ours, theirs in zip(found["rows"], kept["rows"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize(("study", "arm"), [("lists", "cart"), ("lists", "optimal"), ("te2rules", "cart")])
def test_all_splits_of_all_data_sets_are_stored(study: str, arm: str) -> None:
    splits = load_study(study, arm)
    numbers = [{split["split"] for split in splits if split["dataset"] == dataset} for dataset in DATASETS]
    assert all(found == set(range(N_SPLITS)) for found in numbers)


def test_lists_are_as_short_as_they_were() -> None:
    assert stored(1.0, 1).conditions_left == pytest.approx(36.0, abs=0.3)  # the list of classes, in one section
    assert stored(0.1, 4).conditions_left <= 31.7
    assert stored(0.1, "auto").conditions_left <= 33.2
    assert stored(1.0, 4).conditions_left <= 25.2
    assert stored(0.1, 4, 0.01).conditions_left <= 24
    assert abs(stored(0.1, 4).delta_auc or 0) <= 0.006
    assert stored(0.1, 4, arm="optimal").conditions_left <= 30.3
    assert abs(stored(0.1, 4, arm="optimal").delta_auc or 0) <= 0.004


@pytest.mark.parametrize("name", ["iris", "wine", "LED", "quantiles"])
def test_a_table_of_many_classes_gives_the_stored_result(name: str) -> None:
    skip_if_older(load_versions("lists")["scikit-learn"])
    (kept,) = [row for row in load_counted("many_classes") if row["dataset"] == name]
    assert lists.measure_many_classes(name) == pytest.approx(kept, abs=1e-5)


def test_lists_of_many_classes_are_as_short_as_they_were() -> None:
    rows = load_counted("many_classes")
    assert [row["dataset"] for row in rows] == list(lists.MANY_CLASSES)
    left = {form: np.mean([row[name_form(*form, 0.0)] for row in rows]) for form in lists.MANY_FORMS}
    assert left[1.0, 4] <= 38
    assert left[1.0, 4] < 0.7 * left[1.0, 1]
    assert left[0.1, 4] < 0.7 * left[0.1, 1]


@BOTH_ARMS
def test_without_a_budget_no_answer_changes_and_nothing_is_off(arm: str) -> None:
    rows = [row for split in load_study("lists", arm) for row in split["rows"] if row["method"] == LIST]
    exact = [row for row in rows if "budget" not in row["knob"]]
    assert len(exact) == 14 * N_SPLITS * len(DATASETS)
    assert all(row["disagreement"] == row["delta_accuracy"] == row["off"] == 0 for row in exact)


@BOTH_ARMS
def test_a_budget_holds_on_unseen_rows_as_far_as_it_did(arm: str) -> None:
    assert (stored(0.1, 4, 0.01, arm).off or 0) <= 0.8
    assert (stored(0.1, 4, 0.01, arm).off_worst or 0) <= 1.3
    left = [stored(0.1, 4, budget, arm).conditions_left for budget in (0.0, *lists.BUDGETS)]
    assert left == sorted(left, reverse=True)


@BOTH_ARMS
def test_sections_and_a_tolerance_shorten(arm: str) -> None:
    for tolerance in lists.TOLERANCES:
        by_sections = [stored(tolerance, sections, arm=arm).conditions_left for sections in lists.SECTIONS]
        assert by_sections == sorted(by_sections, reverse=True)
    by_tolerance = [stored(tolerance, 4, arm=arm).conditions_left for tolerance in lists.TOLERANCES]
    assert by_tolerance == sorted(by_tolerance, reverse=True)
    assert (stored(0.1, 4, arm=arm).checks or 0) < (stored(1.0, 1, arm=arm).checks or 0)


def test_pruned_to_the_same_length_a_tree_read_leaf_by_leaf_decides_more_rows_otherwise() -> None:
    points = stored_points()
    for budget in lists.BUDGETS:
        short = stored(0.1, 4, budget)
        assert points[PRUNED_LEAVES, short.knob].disagreement > 3 * short.disagreement
        # Read as a list, a pruned tree keeps classes alone, and may keep more of them.
        assert points[PRUNED, short.knob].off is None


def test_te2rules_leaves_more_and_decides_more_rows_otherwise() -> None:
    (theirs,) = find_points(load_study("te2rules", "cart"))
    ours = stored(0.1, 4, 0.01)
    assert (theirs.method, theirs.n_splits) == (TE2RULES, N_SPLITS)
    assert theirs.conditions_left > ours.conditions_left
    assert theirs.disagreement > ours.disagreement
    assert load_versions("te2rules")["te2rules"] == "1.0.1"


def test_nothing_of_the_package_imports_te2rules() -> None:
    root = Path(secateur.__file__).parent
    assert not [path for path in root.rglob("*.py") if "import te2rules" in path.read_text(encoding="utf-8")]
    assert not [path for path in root.rglob("*.py") if "from te2rules" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("budget", [0.0, 0.02])
def test_rows_are_decided_by_the_lines_that_hold(budget: float, data_dir: str) -> None:
    model, X_train, y_train, X_test, _ = split_of("heart-h", data_dir)
    rules = secateur.simplify(model, X_train, y_train, budget=budget, sections=4)
    assert (lists._decide(rules, X_test) == rules.predict(X_test)).all()


def test_checks_are_counted_as_a_person_reads(data_dir: str) -> None:
    model, X_train, y_train, X_test, _ = split_of("heart-h", data_dir)
    rules = secateur.simplify(model, X_train, y_train, sections=4)

    def read(row: Any) -> int:
        """Read headings, then lines, each until a condition fails."""
        looked = 0

        def holds(conditions: Any) -> bool:
            nonlocal looked
            for condition in conditions:
                looked += 1
                if not all(held(link) for link in condition.link_ids):
                    return False
            return True

        def held(link: int) -> bool:
            node = int(rules.paths.parent[link])
            goes = np.float32(row[rules.tree.feature[node]]) <= rules.tree.upper[node]
            return bool(goes == rules.paths.is_left[link])

        for place, section in enumerate(rules.sections):
            if place + 1 == len(rules.sections) or holds(section.heading):
                for line in section.rules:
                    if holds(line.conditions):
                        break
                break
        return looked

    rows = np.asarray(X_test)
    assert lists.count_checks(rules, X_test) == pytest.approx(np.mean([read(row) for row in rows]))


def test_means_go_over_splits_then_equally_over_data_sets() -> None:
    row = {**dict.fromkeys(lists.METRICS, 0.0), "method": LIST, "knob": "0"}
    splits = [
        {"dataset": dataset, "rows": [{**row, "conditions_left": left}]}
        for dataset, left in (("german", 10.0), ("german", 20.0), ("adult", 45.0))
    ]
    (point,) = find_points(splits)
    assert (point.conditions_left, point.n_splits) == (30, 1)


@pytest.mark.parametrize(("dataset", "number"), [("backache", 3), ("german", 11)])
def test_merging_bounds_alone_is_what_the_trees_own_rules_read(dataset: str, number: int, data_dir: str) -> None:
    skip_if_older(load_versions("lists")["scikit-learn"])
    (kept,) = [s for s in load_study("lists", "cart") if (s["dataset"], s["split"]) == (dataset, number)]
    (merged,) = [row for row in kept["rows"] if row["method"] == lists.MERGED]
    data = load(dataset, data_dir)
    X_train, _, y_train, _ = split_rows(data, number)
    rules = secateur.simplify(ARMS["cart"].fit(data, number, X_train, y_train), method="none", each_leaf=True)
    read = sum(len({rules.tree.feature[rules.paths.parent[edge]] for edge in rule.kept_ids}) for rule in rules)
    assert merged["read_left"] == pytest.approx(100 * read / sum(len(rule.kept_ids) for rule in rules))


def test_a_line_of_the_figure_joins_texts_of_one_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(lists, "write_figures", lambda directory, name, figure, kinds: drawn.append(figure) or [])
    points = list(stored_points().values())
    lists.draw_lengths({"cart": (ARMS["cart"], points)}, tmp_path)
    found = {line.get_color(): sorted(line.get_ydata()) for line in drawn[0].axes[0].lines}
    budgets = (0.0, *lists.BUDGETS)
    wanted = [stored(0.1, 4, budget).conditions_left for budget in budgets]
    pruned = [stored_points()[PRUNED, name_form(0.1, 4, budget)].conditions_left for budget in budgets]
    assert found["tab:blue"] == sorted(wanted)
    assert found["tab:cyan"] == [stored(1.0, 4).conditions_left]
    assert found["tab:orange"] == sorted(pruned)
