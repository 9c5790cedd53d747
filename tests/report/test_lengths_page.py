"""Lists of several lengths that approximate a model: what is measured, and the slider over them in a real browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browsing import CHROMIUM, launch, quiet_page
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import secateur
from secateur.report import make_report, summarize
from secateur.report.summarize import LONGEST

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")


def make_table(n_rows: int = 500) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": random.integers(18, 80, n_rows),
            "income": np.where(random.random(n_rows) < 0.1, np.nan, random.lognormal(7.6, 0.5, n_rows).round(2)),
            "purpose": random.choice(np.array(["car", "boat", "travel"], dtype=object), n_rows),
            "debts": random.normal(size=n_rows).round(3),
        }
    )


def answer(rows: pd.DataFrame) -> Any:
    risk = (rows["income"].fillna(2000) < 1900) * 1.0 + (rows["purpose"] == "boat") * (rows["age"] < 40)
    return np.where(risk + 0.3 * rows["debts"] + np.sin(rows["age"] / 5) > 1, "default", "repaid")


@pytest.fixture(scope="module")
def rules() -> secateur.Rules:
    table = make_table()
    return secateur.approximate(answer, table, answer(table))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright.sync_api", reason="playwright drives the browser and is not installed")
    with launch() as browser:
        yield browser


def all_lengths(rules: secateur.Rules) -> list[secateur.Rules]:
    assert rules.fidelity is not None
    return sorted([*rules.fidelity.lengths, rules], key=lambda one: one.n_conditions)


def test_every_length_is_measured_on_the_same_held_out_rows(rules: secateur.Rules) -> None:
    table = make_table()
    own = rules.fidelity
    assert own is not None
    order = np.random.default_rng([0, 1]).permutation(len(table))
    held = table.iloc[np.sort(order[: own.n_rows])]
    said = answer(held)
    lengths = all_lengths(rules)
    assert len(lengths) >= 5
    assert len({one.n_conditions for one in lengths}) == len(lengths)
    for one in lengths:
        found = one.fidelity
        assert found is not None
        same = one.predict(held) == said
        assert (found.n_rows, found.overall.n_same) == (own.n_rows, int(same.sum()))
        for name, by_class in zip(one.tree.class_names, found.by_class, strict=False):
            assert by_class[:2] == (int((said == name).sum()), int(same[said == name].sum()))
        assert found.n_building == own.n_building
        assert one.verify()
        assert one is rules or found.lengths == ()


def test_trees_of_all_lengths_are_one_tree_cut_back(rules: secateur.Rules) -> None:
    for one in all_lengths(rules):
        n_both = min(one.tree.n_nodes, rules.tree.n_nodes)
        inner = ~(one.tree.is_leaf[:n_both] | rules.tree.is_leaf[:n_both])
        assert inner[0]
        for name in ("feature", "upper", "children_left", "missing_left"):
            own, other = (getattr(tree, name)[:n_both][inner] for tree in (one.tree, rules.tree))
            assert np.array_equal(own, other, equal_nan=own.dtype.kind == "f")


def test_the_page_holds_every_length_and_stays_small(rules: secateur.Rules) -> None:
    summary, lengths = summarize(rules), all_lengths(rules)
    assert [one["n_conditions"] for one in summary["lists"]] == [one.n_conditions for one in lengths]
    assert summary["lists"][summary["list"]]["n_conditions"] == rules.n_conditions
    assert summary["parts"][summary["list"]] == {}
    for shown, one in zip(summary["lists"], lengths, strict=True):
        assert one.fidelity is not None
        assert shown["fidelity"]["share"] == 100 * one.fidelity.share
        assert [part["share"] for part in shown["fidelity"]["by_class"]] == [
            part.share for part in one.fidelity.by_class
        ]
        assert len(shown["lines"]) == one.n_lines
    stored = summarize(secateur.Rules.from_json(rules.to_json()))
    assert (len(stored["lists"]), stored["parts"]) == (1, None)


def test_lists_that_would_make_the_page_long_are_left_out_and_the_given_one_stays(
    rules: secateur.Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_report(rules).to_html()
    assert len(whole) < LONGEST + 300_000
    monkeypatch.setattr(sys.modules["secateur.report.summarize"], "LONGEST", 0)
    summary = summarize(rules)
    assert (len(summary["lists"]), summary["list"]) == (1, 0)
    assert summary["lists"][0]["n_conditions"] == rules.n_conditions
    page = make_report(rules).to_html()
    assert len(page) < len(whole)
    assert 'id="slider"' not in page


def test_the_page_says_on_which_rows_the_lengths_are_chosen(rules: secateur.Rules) -> None:
    page = make_report(rules).to_html()
    assert "The one shown first was chosen without them" in page
    assert "you choose on the rows that they were measured on" in page


def save(rules: secateur.Rules, tmp_path: Path) -> Path:
    path = tmp_path / "lengths.html"
    make_report(rules, target="outcome").save(path)
    return path


@needs_browser
@pytest.mark.parametrize("size", [{"width": 1400, "height": 900}, {"width": 390, "height": 844}])
def test_the_slider_shows_each_list_whole_and_answers_by_it(
    browser: Any, tmp_path: Path, rules: secateur.Rules, size: dict[str, int]
) -> None:
    table, lengths = make_table()[:60], all_lengths(rules)
    with quiet_page(browser, save(rules, tmp_path), viewport=size) as page:
        page.evaluate("document.getElementById('analyst').open = true")
        slider = page.locator("#slider")
        assert slider.bounding_box()["y"] < size["height"]
        slider.focus()
        page.keyboard.press("Home")
        for place, one in enumerate(lengths):
            assert slider.input_value() == str(place)
            assert one.fidelity is not None
            low, high = one.fidelity.interval
            said = slider.get_attribute("aria-valuetext")
            assert said.startswith(f"{one.n_lines} line{'s' * (one.n_lines != 1)} · same answer as the model for ")
            assert f"{100 * one.fidelity.share:.1f}\u00a0%" in said
            assert f"({np.floor(1000 * low) / 10:.1f} to {np.ceil(1000 * high) / 10:.1f})" in said
            for more in page.locator("#list .rest button").all():
                more.click()
            shown = page.locator("#list tr[data-line] .asks").evaluate_all(
                "cells => cells.map(c => [...c.querySelectorAll('.asked')].map(e => e.textContent))"
            )
            assert shown == [[] if line.is_otherwise else list(line.asks) for line in one.lines]
            assert page.locator("#fig-same").text_content() == f"{100 * one.fidelity.share:.1f}\u00a0%"
            assert page.locator("[data-size=n_rules]").text_content() == str(one.tree_rules)
            assert page.locator("#positions tr.current th").text_content() == str(one.n_lines)
            assert f"of {one.tree_rules} lea" in page.locator("#tree-shown").text_content()
            fields = page.evaluate("secateur.data.form.fields.map(({ name, labels }) => [name, labels])")
            entries = [
                [
                    None if row[name] != row[name] else labels.index(row[name]) if labels else float(row[name])
                    for name, labels in fields
                ]
                for row in table.to_dict("records")
            ]
            answered = page.evaluate("(rows) => rows.map((row) => secateur.decide(row).line)", entries)
            assert answered == one.apply(table).tolist()
            page.evaluate("(entries) => secateur.setEntries(entries)", entries[0])
            assert page.locator("#row-answer h3").text_content() == one.predict(table)[0]
            page.keyboard.press("ArrowRight")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator("#slider-back").click()
        assert page.evaluate("secateur.listNow().n_conditions") == rules.n_conditions
        assert page.locator("#row-answer h3").text_content() == rules.predict(table)[0]


@needs_browser
def test_what_was_entered_stays_while_lists_ask_for_other_columns(
    browser: Any, tmp_path: Path, rules: secateur.Rules
) -> None:
    with quiet_page(browser, save(rules, tmp_path)) as page:
        place = page.evaluate("secateur.data.form.fields.findIndex((field) => field.name === 'age')")
        page.locator(f"#field-{place}").fill("33")
        page.locator(f"#field-{place}-lock").check()
        slider = page.locator("#slider")
        slider.focus()
        page.keyboard.press("Home")
        page.keyboard.press("End")
        page.locator("#slider-back").click()
        assert page.locator(f"#field-{place}").input_value() == "33"
        assert page.locator(f"#field-{place}-lock").is_checked()


@needs_browser
def test_without_javascript_the_chosen_list_stands_beside_a_table_of_all_lengths(
    browser: Any, tmp_path: Path, rules: secateur.Rules
) -> None:
    with quiet_page(browser, save(rules, tmp_path), java_script_enabled=False) as page:
        rows = [one.text_content() for one in page.locator("#positions tbody tr th").all()]
        assert rows == [str(one.n_lines) for one in all_lengths(rules)]
        assert page.locator("#positions tbody tr").first.is_visible()
        assert not page.locator("#slider").is_visible()
        assert page.locator("#list tr[data-line]").count() == rules.n_lines


@needs_browser
def test_lists_of_values_of_other_lengths_open_below_the_chosen_one(browser: Any, tmp_path: Path) -> None:
    data = load_diabetes(as_frame=True, scaled=False)
    forest = RandomForestRegressor(20, random_state=0).fit(data.data, data.target)
    rules = secateur.approximate(forest, data.data, max_rules=6)
    assert rules.fidelity is not None
    with quiet_page(browser, save(rules, tmp_path), java_script_enabled=False) as page:
        folds = page.locator("details")
        assert folds.count() == len(rules.fidelity.lengths) >= 3
        for fold, one in zip(folds.all(), rules.fidelity.lengths, strict=True):
            assert one.fidelity is not None
            assert f"R² {one.fidelity.r2:.3f}" in fold.locator("summary").text_content()
            fold.locator("summary").click()
            assert fold.locator("tbody td:first-child").count() == one.n_lines


@needs_browser
def test_a_forest_of_many_classes_has_a_slider_too(browser: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(400, 3))
    y = np.digitize(X[:, 0] + X[:, 1], [-1.5, -0.5, 0.5, 1.5])
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    rules = secateur.approximate(forest, X)
    with quiet_page(browser, save(rules, tmp_path), viewport={"width": 390, "height": 844}) as page:
        page.locator("#positions > summary").click()
        assert page.locator("#positions thead th").count() == 3 + 5
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator("#slider").fill("0")
        assert page.evaluate("secateur.listNow().lines.length") == all_lengths(rules)[0].n_lines
