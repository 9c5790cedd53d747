"""The page in a real browser: everything that can be moved is moved, and nothing may go wrong on the way."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import exported_rules
import numpy as np
import pandas as pd
import pytest
import strategies
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.report import make_report
from secateur.tree.pipeline_columns import Columns

playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser and is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def quiet_page(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """A page of the report in a file; it may report no error, ask for nothing and open no dialog."""
    page = browser.new_page(viewport={"width": 1200, "height": 900}, **options)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert wrong == []
    assert requested == [path.as_uri()]


@pytest.fixture
def open_report(browser: Any, tmp_path: Path) -> Iterator[Open]:
    from contextlib import ExitStack

    with ExitStack() as stack:

        def open_page(rules: secateur.RuleSet, *rows: Any, title: str | None = None, **options: Any) -> Any:
            path = tmp_path / "page.html"
            make_report(rules, *rows, title=title).save(path, force=True)
            return stack.enter_context(quiet_page(browser, path, **options))

        yield open_page


def cancer_rules(**given: Any) -> secateur.RuleSet:
    data = load_breast_cancer(as_frame=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(data.data, data.target)
    given = {"method": "layered", **given}
    return secateur.simplify(model, data.data, data.target, class_names=data.target_names, **given)


def shown_rules(page: Any) -> list[int]:
    return [int(text) for text in page.locator("#rule-rows th").all_text_contents()]


def decisions(page: Any, entries: list[list[float | None]], step: int) -> list[int]:
    found: list[int] = page.evaluate(
        "([rows, step]) => rows.map((row) => secateur.decide(row, step).rule)", [entries, step]
    )
    return found


def wait_until(page: Any, expression: str, arg: Any = None) -> None:
    """Wait until an expression is true; playwright's own way evaluates text in the page, which its policy forbids."""
    for _ in range(200):
        if page.evaluate(expression, arg):
            return
        page.wait_for_timeout(25)
    pytest.fail(f"never true: {expression}")


def near_thresholds(tree: secateur.Tree, feature: int) -> list[float]:
    """Every threshold of a feature, and the doubles and singles beside it."""
    kind = np.dtype(tree.dtype).type
    found = {0.0}
    for limit in tree.threshold[tree.feature == feature].tolist():
        single = kind(limit)
        found |= {limit, math.nextafter(limit, math.inf), math.nextafter(limit, -math.inf), float(single)}
        found |= {float(np.nextafter(single, kind(side))) for side in (-math.inf, math.inf)}
    return sorted(found)


def test_the_slider_moves_rules_numbers_and_markers(open_report: Open, tmp_path: Path) -> None:
    data = load_breast_cancer(as_frame=True)
    rules = cancer_rules()
    page = open_report(rules)
    page.screenshot(path=tmp_path / "light.png", full_page=True)
    slider = page.locator("#knob")
    for step, value in enumerate((0, 0.01, 0.03, 0.05, 0.1, 0.2)):
        slider.fill(str(step))
        made = secateur.simplify(rules.tree, data.data, data.target, tolerance=value, method="layered")
        assert page.locator("#n-conditions").text_content() == str(int((~made.deleted).sum()))
        assert page.locator("#guarantee").text_content() == made.guarantee
        assert page.locator("#rule-rows del").count() == int(made.deleted.sum())
        kept = page.locator("#rule-rows .kept").evaluate_all(
            "cells => cells.map(c => [...c.querySelectorAll('.clip')].map(e => e.textContent))"
        )
        assert kept == [[condition.text for condition in rule.conditions] for rule in made]
        audit = made.audit(data.data, data.target)
        assert page.locator("#conflict").text_content() == secateur.rules.wording.read_share(audit.conflict / 100)
        assert page.locator("#knob-value").text_content() == f"{value:g}"
        for curve in page.locator(".curve").all():
            dot, marker = curve.locator(".dot").nth(step), curve.locator(".marker")
            assert [marker.get_attribute(a) for a in ("cx", "cy")] == [dot.get_attribute(a) for a in ("cx", "cy")]
    slider.press("ArrowLeft")
    assert page.locator("#knob-value").text_content() == "0.1"
    assert slider.get_attribute("aria-valuetext") == "ε = 0.1"
    page.locator("#knob-back").click()
    assert page.locator("#n-conditions").text_content() == str(int((~rules.deleted).sum()))


def test_reasons_show_under_the_pointer_and_on_focus(open_report: Open) -> None:
    rules = cancer_rules()
    page = open_report(rules)
    place = next(place for place, rule in enumerate(rules) if rule.deleted_ids)
    reason = rules[place].reasons[rules[place].deleted_ids[0]].text
    struck = page.locator("#rule-rows tr").nth(place).locator(".gone").first
    told = struck.locator(".why")
    assert not told.is_visible()
    struck.hover()
    assert told.is_visible()
    assert reason in told.text_content()
    page.mouse.move(0, 0)
    assert not told.is_visible()
    struck.focus()
    assert told.is_visible()
    assert struck.get_attribute("aria-describedby") == told.get_attribute("id")
    page.keyboard.press("Escape")
    assert not told.is_visible()


def test_rules_can_be_sorted_filtered_and_searched(open_report: Open) -> None:
    rules = cancer_rules()
    page = open_report(rules)
    everything = list(range(1, len(rules) + 1))
    assert shown_rules(page) == everything
    page.get_by_role("button", name="Reliability").click()
    assert shown_rules(page) == [n + 1 for n in np.lexsort((np.arange(len(rules)), -rules.reliability)).tolist()]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Conditions").click()
    assert shown_rules(page) == [n + 1 for n in np.lexsort((np.arange(len(rules)), rules.n_conditions)).tolist()]
    page.get_by_role("button", name="Rule", exact=True).click()
    tools = page.locator("#rule-tools")
    tools.get_by_label("Predicts").select_option("malignant")
    assert shown_rules(page) == [rule.index + 1 for rule in rules if rule.class_name == "malignant"]
    tools.get_by_label("Show").select_option("unchanged")
    assert shown_rules(page) == [
        rule.index + 1 for rule in rules if rule.class_name == "malignant" and not rule.deleted_ids
    ]
    tools.get_by_label("Predicts").select_option("any class")
    tools.get_by_label("Show").select_option("shortened")
    tools.get_by_label("Search").fill("Worst TEXTURE")
    searched = [
        rule.index + 1
        for rule in rules
        if rule.deleted_ids and any("worst texture" in condition.text for condition in rule.source_conditions)
    ]
    assert searched
    wait_until(page, "n => document.querySelectorAll('#rule-rows tr').length === n", arg=len(searched))
    assert shown_rules(page) == searched


def test_the_theme_can_be_changed_and_follows_the_system_first(open_report: Open, tmp_path: Path) -> None:
    page = open_report(cancer_rules(), color_scheme="dark")

    def brightness() -> float:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return float(np.mean([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]))

    assert brightness() < 60
    page.screenshot(path=tmp_path / "dark.png", full_page=True)
    page.get_by_role("button", name="Use light colours").click()
    assert brightness() > 200
    page.get_by_role("button", name="Use dark colours").click()
    assert brightness() < 60


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => {
    const [r, g, b] = c.map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const c = rgba(getComputedStyle(at).backgroundColor);
      if (c[3] === 255) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest("svg, script, :disabled") || !element.checkVisibility()) continue;
    const [a, b] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push([element.tagName, element.className, ratio]);
  }
  return found;
}"""


STATUS_OF = {"matched": "matched: ", "mismatched": "mismatched, ", "neutral": "neutral: "}
EFFECT_TAGS = {
    "positive-relevance": "positive relevance",
    "negative-relevance": "negative relevance",
    "probabilistic-irc": "probabilistic IRC",
}


def test_the_diagnosis_of_a_rule_opens_by_keyboard_and_follows_the_slider(open_report: Open, tmp_path: Path) -> None:
    data = load_breast_cancer(as_frame=True)
    rules = cancer_rules()
    page = open_report(rules)
    buttons = page.locator("#rule-rows .diagnose")
    assert buttons.count() == len(rules)
    assert page.locator(".diagnosis").count() == 0
    for place in (1, 3, 7):
        buttons.nth(place).focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    for step, value in ((3, 0.05), (0, 0.0)):
        page.locator("#knob").fill(str(step))
        assert page.locator(".diagnosis").count() == 3, "what was open stays open"
        found = secateur.diagnose(rules.tree, data.data, data.target, tolerance=value)
        for place in (1, 3, 7):
            items = page.locator(f"#diagnosis-{place + 1} li")
            rows = found.of_leaf(rules[place].leaf_id)
            assert items.locator(".asked").all_text_contents() == [row.condition for row in rows]
            for item, row in zip(items.all(), rows, strict=True):
                orientation, status, effect = item.locator("dd").all_text_contents()
                assert orientation.endswith(f"({row.orientation})")
                assert status.startswith(STATUS_OF[row.status])
                assert status.endswith(row.presumption or "")
                assert ("presumed" in status) == (row.presumption is not None)
                assert ("inside H" in status) == (row.inside_h and row.status == "mismatched")
                shown = secateur.rules.deletion_effects.read_points(row.effect_size).replace("-", "−")
                assert f"D = {shown}, " in effect
                assert effect.endswith(EFFECT_TAGS[row.effect])
                assert f"→ {secateur.rules.wording.read_share(row.reliability_without)}: " in effect
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.locator("#diagnosis-4").screenshot(path=tmp_path / "narrow-diagnosis.png")
    assert page.evaluate(CONTRAST) == []
    buttons.nth(3).focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
    assert page.locator(".diagnosis").count() == 2


def test_an_assimilated_rule_says_whose_rule_it_became(open_report: Open) -> None:
    rules = cancer_rules(method="quinlan")
    expected = {rule.index + 1: rule.assimilated_into for rule in rules if rule.assimilated_into is not None}
    assert 0 in expected.values()
    assert len(set(expected.values())) > 1
    for options in ({}, {"java_script_enabled": False}):
        page = open_report(rules, **options)
        told = {}
        for row in page.locator("#rule-rows tr").all():
            for words in row.locator(".conds .fine").all_text_contents():
                node = re.search(
                    r"Assimilated: it is now the rule of (?:node (\d+), an ancestor of its leaf|the root)", words
                )
                assert node is not None
                told[int(row.locator("th").text_content())] = int(node[1] or 0)
        assert told == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(open_report: Open, scheme: str) -> None:
    page = open_report(cancer_rules(), color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []


def test_the_page_fits_a_narrow_window_and_a_sheet_of_paper(open_report: Open, tmp_path: Path) -> None:
    page = open_report(cancer_rules())
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.screenshot(path=tmp_path / "narrow.png", full_page=True)
    page.emulate_media(media="print")
    page.locator("#rule-rows .gone .why").first.wait_for(state="visible")
    assert not page.locator("#knob").is_visible()
    assert len(page.pdf()) > 10_000


def test_the_page_reads_without_javascript(open_report: Open) -> None:
    rules = cancer_rules()
    page = open_report(rules, java_script_enabled=False)
    assert page.locator("#rule-rows tr").count() == len(rules)
    assert not page.locator("#knob").is_visible()
    assert page.locator(".marker").first.is_visible()
    assert "needs JavaScript" in page.locator("#tree").inner_text()
    struck = page.locator("#rule-rows .gone").first
    struck.hover()
    assert struck.locator(".why").is_visible()


def test_everything_with_a_role_in_the_form_has_a_name(open_report: Open) -> None:
    page = open_report(cancer_rules())
    named = "e => e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim()"
    for control in page.locator("input, select, button").all():
        assert control.evaluate(named), control.evaluate("e => e.outerHTML")
    assert page.locator("main").count() == page.locator("header.top").count() == page.locator("footer").count() == 1


def test_the_leaf_in_question_shows_its_path(open_report: Open) -> None:
    rules = cancer_rules()
    page = open_report(rules)
    paths = rules.paths
    place = next(place for place, rule in enumerate(rules) if rule.deleted_ids)
    leaf, span = rules[place].leaf_id, paths.entries(place)
    page.locator(f"#node-{leaf}").hover()
    page.wait_for_selector(".on-path")
    shown = {
        int(link.get_attribute("data-link")): link.get_attribute("data-status")
        for link in page.locator(".on-path").all()
    }
    expected = {}
    for entry in range(span.start, span.stop):
        match = "matched" if paths.matched[entry] else "mismatched" if paths.mismatched[entry] else "neutral"
        words = [match, *(["inside H"] if paths.inside_h[entry] else []), "deleted" if rules.deleted[entry] else "kept"]
        expected[int(paths.links[entry])] = " · ".join(words)
    assert shown == expected
    assert page.locator(".on-path .slash").count() == len(rules[place].deleted_ids)
    said = page.locator("#tree-path").inner_text()
    assert all(reason.text in said for reason in rules[place].reasons.values())
    root_left = page.locator("path.link.rise, path.link.fall")
    assert root_left.count() > 0


def test_the_tree_is_worked_by_keyboard(open_report: Open) -> None:
    page = open_report(cancer_rules())
    canvas = page.locator("#tree-canvas")
    canvas.focus()
    at = lambda: canvas.get_attribute("aria-activedescendant")  # noqa: E731

    def press(key: str) -> None:
        page.keyboard.press(key)
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    press("ArrowLeft")
    assert page.locator("#tree-canvas [data-node]").count() == 1
    assert page.locator("#node-0").get_attribute("aria-expanded") == "false"
    press("ArrowRight")
    press("ArrowRight")
    assert at() == "node-1"
    press("End")
    leaf = (at() or "").removeprefix("node-")
    assert page.locator("#tree-path h3").text_content().startswith(f"Leaf {leaf}, rule ")
    before = page.locator("#tree-canvas g").first.get_attribute("transform")
    press("-")
    assert page.locator("#tree-canvas g").first.get_attribute("transform") != before


@pytest.mark.parametrize("method", ["layered", "quinlan", "budgeted"])
def test_a_tried_row_gets_the_rule_that_predict_uses(open_report: Open, method: str) -> None:
    data = load_breast_cancer(as_frame=True)
    rules = cancer_rules(method=method)
    page = open_report(rules)
    fields = page.evaluate("secateur.data.form.fields")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(data.data.sample(300, random_state=0))
    probes = X.copy()
    for field in fields:  # half of the rows sit on or beside a threshold
        feature = field["features"][0]
        probes.iloc[:, feature] = rng.choice(near_thresholds(rules.tree, feature), len(probes))
    X = pd.concat([X, probes])
    entries = [[row[field["features"][0]] for field in fields] for row in X.to_numpy().tolist()]
    knob = page.evaluate("secateur.data.knob")
    for step, value in enumerate([None] if knob is None else knob["values"][::3]):
        made = rules
        if knob is not None:
            step = 3 * step
            made = secateur.simplify(rules.tree, data.data, data.target, method=method, **{knob["parameter"]: value})
        assert decisions(page, entries, step) == made.apply(X).tolist()


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rows_of_any_tree_get_the_rule_that_predict_uses(browser: Any, tmp_path: Path, data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    method = data.draw(st.sampled_from(["layered", "faithful", "mismatch", "quinlan", "exact", "budgeted"]))
    with_rows = method != "exact" or data.draw(st.booleans())
    rules = secateur.simplify(tree, *((X, tree.classes[y]) if with_rows else ()), method=method)
    path = tmp_path / "page.html"
    make_report(rules).save(path, force=True)
    rows = data.draw(strategies.rows(tree, 20))

    def enter(field: dict[str, Any], value: float) -> float | None:
        n_labels = len(field["labels"])
        if math.isnan(value):
            return None
        return value if field["kind"] == "number" or value in range(n_labels) else n_labels

    with quiet_page(browser, path) as page:
        fields, step = page.evaluate("[secateur.data.form.fields, secateur.data.step]")
        entries = [[enter(field, row[field["features"][0]]) for field in fields] for row in rows.tolist()]
        assert decisions(page, entries, step) == rules.apply(rows).tolist()
        firing = page.evaluate("([rows, s]) => rows.map((r) => secateur.decide(r, s).firing.length)", [entries, step])
        assert firing == rules.covers(rows).sum(axis=1).tolist()


def mixed_table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, 400),
            "income": np.where(rng.random(400) < 0.2, np.nan, rng.normal(3, 1, 400)),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], 400),
        }
    )
    likes = (X["age"] > 52) & (X["city"] != "Oslo") | (X["income"] > 4) | X["income"].isna() & (X["age"] > 45)
    return X, np.where(likes ^ (rng.random(400) < 0.05), "yes", "no")


def test_the_form_takes_categories_cells_and_missing_values(open_report: Open, tmp_path: Path) -> None:
    X, y = mixed_table()
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
        (KBinsDiscretizer(8, encode="ordinal", strategy="uniform"), ["age"]),
        remainder="passthrough",
    )
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=6, random_state=0)).fit(X, y)
    rules = secateur.simplify(model, X, y, tolerance=0.1, method="layered")
    page = open_report(rules)
    shown = page.locator("#row-said")
    for place in range(25):
        row = X.iloc[place]
        page.get_by_label("age", exact=True).fill(repr(float(row["age"])))
        page.get_by_label("city").select_option(row["city"])
        absent = page.locator("[data-field]", has_text="income").get_by_label("missing")
        absent.set_checked(bool(np.isnan(row["income"])))
        if not np.isnan(row["income"]):
            page.get_by_label("income", exact=True).fill(repr(float(row["income"])))
        rule = int(rules.apply(X.iloc[[place]])[0])
        assert shown.locator("h3").text_content() == rules.predict(X.iloc[[place]])[0]
        assert shown.locator("p").first.text_content().startswith(f"Rule {rule + 1} decides")
        fires = int(rules.covers(X.iloc[[place]]).sum())
        others = (
            ["No other rule fires", "1 other rule fires"][fires - 1] if fires < 3 else f"{fires - 1} other rules fire"
        )
        assert others in shown.inner_text()
    page.get_by_label("city").select_option("(any other)")
    elsewhere = X.iloc[[24]].assign(city="Paris")
    assert shown.locator("h3").text_content() == rules.predict(elsewhere)[0]
    page.locator("#try").screenshot(path=tmp_path / "try.png")


def test_a_value_that_cannot_be_used_is_named_and_decides_nothing(open_report: Open) -> None:
    page = open_report(cancer_rules())
    first = page.locator("#row-fields input").first
    first.fill("")
    assert page.locator("#row-fields .wrong").first.text_content() == "Enter a number."
    assert first.get_attribute("aria-invalid") == "true"
    assert "cannot be used" in page.locator("#row-said").inner_text()
    first.fill("1e39")
    assert "too large for float32" in page.locator("#row-fields .wrong").first.text_content()
    page.locator("#row-usual").click()
    assert page.locator("#row-said h3").is_visible()


@pytest.mark.parametrize(
    ("ends", "wanted"),
    [
        ((-1.0, np.inf), "that is at least -1."),
        ((-np.inf, 2.5), "that is at most 2.5."),
        ((0.0, 0.1234567), "between 0 and 0.1234567."),
    ],
)
def test_a_number_beyond_an_end_is_told_the_ends_there_are(
    open_report: Open, ends: tuple[float, float], wanted: str
) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["a"], dtype="float64")
    root = builder.split("a", 0)
    builder.leaf([1, 0], parent=root, side="left")
    builder.leaf([0, 1], parent=root, side="right")
    tree = replace(builder.build(), columns=Columns((None,), (False,), (ends,)))
    page = open_report(secateur.simplify(tree, method="exact"))
    for beyond in (ends[0] - 1, ends[1] + 1):
        if np.isfinite(beyond):
            page.locator("#row-fields input").fill(repr(beyond))
            assert page.locator("#row-fields .wrong").text_content() == f"Enter a number {wanted}"


def test_a_row_that_no_promise_is_about_is_told_so(open_report: Open) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.integers(18, 90, 300), "dose": np.where(rng.random(300) < 0.1, np.nan, rng.random(300))}
    )
    y = np.where((X["age"] > 40) ^ (X["dose"] > 0.5), "a", "b")
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    facts = ["age is not missing", "age <= 120"]
    page = open_report(secateur.simplify(model, X, y, facts=facts, method="layered"))
    said = page.locator("#row-said")
    page.locator("#field-0").fill("50")
    assert "No promise" not in said.inner_text()
    for entry, words in (("50.5", "age is a whole number"), ("130", "age is never 130")):
        page.locator("#field-0").fill(entry)
        assert f"The guarantee does not cover this row, which contradicts what is known: {words}." in said.inner_text()
    page.locator("#field-0-absent").check()
    assert "age is never missing." in said.inner_text()
    page.locator("#field-0-absent").uncheck()
    page.locator("#field-0").fill("50")
    page.locator("#field-1-absent").check()
    assert "No promise" not in said.inner_text()


def test_the_example_of_a_rule_can_be_picked(open_report: Open) -> None:
    rules = cancer_rules(method="exact")
    page = open_report(rules)
    for place, rule in enumerate(rules):
        page.locator("#row-pick").select_option(str(place))
        assert f"(leaf {rule.leaf_id}, rule {place + 1})" in page.locator("#row-said").inner_text()
        assert page.locator("#row-said h3").text_content() == rule.class_name


def test_a_tree_of_2000_leaves_opens_and_responds(open_report: Open, tmp_path: Path) -> None:
    X, y = make_classification(20_000, 20, n_informative=12, flip_y=0.2, random_state=0)
    model = DecisionTreeClassifier(max_leaf_nodes=2000, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="layered")
    assert len(rules) == 2000
    page = open_report(rules)
    assert page.locator("#rule-rows tr").count() == 100
    page.locator("#more-rules").click()
    assert page.locator("#rule-rows tr").count() == 200
    drawn = "document.querySelectorAll('#tree-canvas svg *').length"
    assert page.evaluate(drawn) < 2000
    page.locator("#tree-open").click()
    assert "2,000 branches shown" in page.locator("#tree-shown").text_content()
    wait_until(page, f"{drawn} > 20")
    assert page.evaluate(drawn) < 2000  # what is out of sight is not drawn
    page.locator("#tree-fit").click()
    page.locator("#tree-canvas").screenshot(path=tmp_path / "whole.png")
    page.locator("#tree-in").click()
    canvas = page.locator("#tree-canvas")
    canvas.focus()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    before = page.locator("#tree-canvas g").first.get_attribute("transform")
    page.mouse.wheel(0, -900)
    wait_until(page, "b => document.querySelector('#tree-canvas g').getAttribute('transform') !== b", arg=before)
    before = page.locator("#tree-canvas g").first.get_attribute("transform")
    page.mouse.down()
    page.mouse.move(box["x"] + 350, box["y"] + 260)
    page.mouse.up()
    wait_until(page, "b => document.querySelector('#tree-canvas g').getAttribute('transform') !== b", arg=before)
    page.locator("#tree-close").click()
    assert "2 branches shown" in page.locator("#tree-shown").text_content()
    wait_until(page, "document.querySelectorAll('#tree-canvas [data-node]').length === 3")
    page.locator("#node-0").click()
    wait_until(page, "document.querySelectorAll('#tree-canvas [data-node]').length === 1")
    page.locator("#knob").fill("5")
    assert page.locator("#knob-value").text_content() == "0.2"
    page.locator("#search").fill("2000")
    wait_until(page, "document.querySelector('#rules-shown').textContent.includes(' of ')")
    assert 2000 in shown_rules(page)
    rows = X[:50].astype(np.float32).astype(float)
    fields = page.evaluate("secateur.data.form.fields")
    entries = [[row[field["features"][0]] for field in fields] for row in rows.tolist()]
    step = page.evaluate("secateur.data.step")
    assert decisions(page, entries, step) == rules.apply(rows).tolist()


def test_a_tree_of_one_leaf_is_shown_too(open_report: Open) -> None:
    X, y = [[0.0], [1.0]], ["only", "only"]
    page = open_report(secateur.simplify(DecisionTreeClassifier().fit(X, y), X, y, method="layered"))
    assert page.locator("#rule-rows .kept").text_content() == "always"
    assert page.locator("#row-said h3").text_content() == "only"
    page.locator("#node-0").click()
    assert "the rule asks nothing" in page.locator("#tree-path").inner_text()
    page.locator("#tree-close").click()
    page.locator("#tree-open").click()
    page.locator("#knob").fill("0")


@pytest.mark.parametrize("numbers", [True, False])
def test_hostile_names_stay_names(open_report: Open, tmp_path: Path, numbers: bool) -> None:
    rules = exported_rules.hostile_rules(numbers=numbers)
    page = open_report(rules, title="</title><script>alert(1)</script>" + "long" * 3000)
    assert page.title().startswith("</title><script>alert(1)</script>")
    assert page.evaluate("secateur.data.classes") == list(exported_rules.HOSTILE)
    for width in (1200, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#tree-open").click()
    for place in (0, 1, 9, 18):
        page.locator("#row-pick").select_option(str(place))
        page.locator("#by-class").select_option(str(place))
    assert page.locator("#rule-rows .class").first.text_content() == exported_rules.HOSTILE[18]
    page.locator("#search").fill("</script>")
    page.screenshot(path=tmp_path / "hostile.png", full_page=True)
    assert page.evaluate("document.scripts.length") == 2


def test_links_of_many_classes_are_drawn_for_the_class_in_question(open_report: Open) -> None:
    wine = load_wine()
    model = DecisionTreeClassifier(random_state=0).fit(wine.data, wine.target)
    rules = secateur.simplify(
        model, wine.data, wine.target, class_names=["<b>one", "two & 2", 'three "3"'], method="layered"
    )
    page = open_report(rules)
    signs = page.evaluate("secateur.data.tree.orientation")
    tree_class = page.locator("#tree-class")
    for class_id in (0, 2):
        tree_class.select_option(str(class_id))
        page.wait_for_timeout(60)
        words = page.locator("#tree-canvas .sign").all_text_contents()
        assert words.count("C1 ") == signs[class_id][1:].count("+")
        assert words.count("C0 ") == signs[class_id][1:].count("-")


def test_a_report_without_rows_says_so(open_report: Open) -> None:
    stored = secateur.RuleSet.from_json(cancer_rules().to_json())
    page = open_report(stored)
    assert "are not at hand" in page.locator("#shorten").inner_text()
    assert page.locator("#knob").count() == 0
    assert "not measured" in page.locator(".figures").inner_text()


def test_a_notebook_frame_runs_the_page(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><body>{make_report(cancer_rules())._repr_html_()}</body>", encoding="utf-8")
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#knob").fill("0")
    assert frame.locator("#knob-value").text_content() == "0"
    page.close()
    assert wrong == []
