"""The page in a real browser: everything that can be moved is moved, and nothing may go wrong on the way.

Axe looks for barriers if its npm package is at hand: ``make axe`` puts it into ``node_modules``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import exported_rules
import numpy as np
import oracles
import pandas as pd
import pytest
import strategies
from browsing import CHROMIUM, wait_until
from drawing import further
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report.pages import quiet_page
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import ListForm, choose_lines
from secateur.export.listing import make_listing
from secateur.report import make_report
from secateur.report.page import TEMPLATES, _read_limits, _read_points, _shorten, _squeeze, _unbroken
from secateur.results.answer import describe_rows
from secateur.tree.columns import ColumnParser, Columns, show_text
from secateur.words.conditions import format_count, format_share
from secateur.words.plain_words import format_asked

pytest.importorskip("playwright.sync_api", reason="playwright drives the browser and is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")

Open = Callable[..., Any]
BUDGETS = (0.0025, 0.005, 0.01, 0.015, 0.02, 0.03)


@pytest.fixture
def open_report(browser: Any, tmp_path: Path) -> Iterator[Open]:
    from contextlib import ExitStack

    with ExitStack() as stack:

        def open_page(rules: Any, *rows: Any, title: str | None = None, **options: Any) -> Any:
            stack.close()  # the page before is done with, and can be this one
            path = tmp_path / "page.html"
            shared = [one for one in ("exact", "faithful", "quinlan") if cancer_rules(one) is rules]
            if shared and title is None:
                written = cancer_page(shared[0])
            else:
                written = make_report(rules, *rows, title=title, target="outcome", budgets=BUDGETS).to_html()
            path.write_text(written, encoding="utf-8", errors="replace")
            page = stack.enter_context(quiet_page(browser, path, **options))
            if options.get("java_script_enabled", True):
                page.evaluate("document.getElementById('analyst').open = true")
                settle(page)
            else:
                page.locator("#analyst > summary").click()
            return page

        yield open_page


PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


@cache
def cancer_model_and_rows() -> tuple[DecisionTreeClassifier, pd.DataFrame, pd.Series]:
    data = load_breast_cancer(as_frame=True)
    return DecisionTreeClassifier(max_depth=5, random_state=0).fit(data.data, data.target), data.data, data.target


@cache
def cancer_rules(method: str = "exact") -> secateur.Rules:
    given: dict[str, Any] = {"method": method, "each_leaf": True, "class_names": ["malignant", "benign"]}
    return secateur.simplify(*cancer_model_and_rows(), **given)


@cache
def cancer_page(method: str) -> str:
    """The page of these rules, which many tests open."""
    return make_report(cancer_rules(method), target="outcome", budgets=BUDGETS).to_html()


def lists_of(rules: secateur.Rules) -> list[secateur.Rules]:
    """The list of each position of the slider, from left to right."""
    exact = choose_lines(rules)
    alike = ListForm(exact.tolerance, len(exact.sections))
    budgets = [one["budget"] for one in make_report(rules, budgets=BUDGETS).summary["lists"]]
    return [choose_lines(rules, alike, budget=budget) if budget else exact for budget in budgets]


def asked(condition: Any) -> str:
    return " ".join(condition.split())


def shown_lines(page: Any) -> list[list[str]]:
    found: list[list[str]] = page.locator("#list tr[data-line] .asks").evaluate_all(
        "cells => cells.map(c => [...c.querySelectorAll('.asked')].map(e => e.textContent))"
    )
    return found


def show_all_lines(page: Any) -> None:
    while page.locator("#list .rest button").count():
        page.locator("#list .rest button").first.click()


def shown_leaves(page: Any) -> list[int]:
    return [int(text) for text in page.locator("#rule-rows th").all_text_contents()]


def decisions(page: Any, entries: list[list[float | None]], place: int) -> list[list[int]]:
    """The line that decides each row, and the class, by one list."""
    found: list[list[int]] = page.evaluate(
        """([rows, place]) => rows.map((row) => secateur.decide(row, place)).map((f) => [f.line, f.class])""",
        [entries, place],
    )
    return found


def settle(page: Any) -> None:
    """Wait until what was asked for is drawn."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def near_thresholds(tree: secateur.Tree, feature: int) -> list[float]:
    """Every threshold of a feature, and the doubles and singles beside it."""
    kind = np.dtype(tree.dtype).type
    found = {0.0}
    for limit in tree.threshold[tree.feature == feature].tolist():
        single = kind(limit)
        found |= {limit, math.nextafter(limit, math.inf), math.nextafter(limit, -math.inf), float(single)}
        found |= {float(np.nextafter(single, kind(side))) for side in (-math.inf, math.inf)}
    return sorted(found)


def test_the_first_screen_answers_what_grounds_how_right_against_what_and_how_faithful(
    browser: Any, tmp_path: Path
) -> None:
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X[::2], y[::2])
    rules = secateur.simplify(model, X[::2], y[::2], class_names=data.target_names)
    path = tmp_path / "page.html"
    make_report(rules, X[1::2], y[1::2], target="diagnosis").save(path)
    right, guess = (model.predict(X[1::2]) == y[1::2]).mean(), (y[1::2] == 1).mean()
    for size in (DESKTOP, PHONE):
        with quiet_page(browser, path, viewport=size) as page:
            page.screenshot(path=tmp_path / f"first-{size['width']}.png")
            top = page.locator("#answer")
            text = asked(top.inner_text())
            for words in (
                "What decides diagnosis",
                "A decision tree predicts diagnosis: malignant or benign",
                f"Right for {100 * right:.1f} % of 284 unseen rows",
                f"always saying benign is right for {100 * guess:.1f} %.",
                "Compared with the tree, no answer changes, and no probability moves by more than 10 points, for any",
            ):
                assert words in text
            answer = page.locator("#row-answer").bounding_box()
            assert answer["y"] + answer["height"] <= size["height"], "the case's answer is on the first screen"
            assert page.locator("#list tr[data-line]").first.bounding_box()["y"] < size["height"]
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_the_slider_changes_the_list_and_its_numbers(open_report: Open, tmp_path: Path) -> None:
    data = load_breast_cancer(as_frame=True)
    rules = cancer_rules()
    page = open_report(rules)
    lists = lists_of(rules)
    assert len(lists) > 3
    slider = page.locator("#slider")
    for place, made in enumerate(lists):
        slider.fill(str(place))
        show_all_lines(page)
        assert shown_lines(page) == [list(line.asks) for line in made.lines]
        audit = made.audit(data.data, data.target)
        right, same = (_unbroken(format_share(one / 100)) for one in (audit.accuracy, audit.agreement))
        assert page.locator("#fig-right").text_content() == right
        assert page.locator("#fig-same").text_content() == ("always" if made.is_exact else same)
        assert page.locator("#fig-rules").text_content() == f"{made.n_lines} lines"
        assert page.locator("#fig-sections").text_content() == f"in {len(made.sections)} sections, "
        assert page.locator("#fig-conditions").text_content() == str(made.n_conditions)
        assert page.locator("#guarantee").text_content() == made.guarantee
        said = page.locator("#slider-said").text_content()
        assert said.startswith("Exact" if made.is_exact else f"Up to {100 * made.budget:g} % may differ")
        decides = page.locator("#list .decides span").all_text_contents()
        assert decides == [_unbroken(describe_rows(line)) for line in made.lines]
        chips = page.locator("#list .asks .chip").all_text_contents()
        assert chips == [line.class_name for line in made.lines]
        assert page.locator("#positions tr.current td").first.text_content() == str(len(made))
    slider.press("ArrowLeft")
    assert page.locator("#fig-conditions").text_content() == str(lists[-2].n_conditions)
    assert slider.get_attribute("aria-valuetext") == page.locator("#slider-said").text_content()
    page.locator("#slider-back").click()
    assert page.locator("#fig-conditions").text_content() == str(lists[-1].n_conditions)


def test_a_change_of_hundredths_makes_no_cliff(open_report: Open) -> None:
    page = open_report(cancer_rules())
    page.locator("#positions > summary").click()
    figures = page.locator("#chart figure")
    assert figures.count() == 3
    accuracy = figures.nth(2)
    ticks = accuracy.locator(".tick").all_text_contents()
    assert ticks[0].startswith("−")
    assert ticks[2].startswith("+")
    changes = page.evaluate("secateur.data.lists.map((list) => list.measured.delta_accuracy)")
    reach = max(1, math.ceil(max(map(abs, changes))))
    assert ticks[:3] == [f"−{reach}", "0", f"+{reach}"]
    heights = [float(dot.get_attribute("cy")) for dot in accuracy.locator(".dot").all()]
    middle = (
        float(accuracy.locator(".grid").nth(0).get_attribute("y1"))
        + float(accuracy.locator(".grid").nth(1).get_attribute("y1"))
    ) / 2
    room = abs(float(accuracy.locator(".grid").nth(0).get_attribute("y1")) - middle)
    for height, change in zip(heights, changes, strict=True):
        assert height == pytest.approx(middle - room * change / reach, abs=0.1)


def test_a_line_says_why_and_its_leaves_light_up(open_report: Open, tmp_path: Path) -> None:
    rules = cancer_rules()
    *_, short, _ = lists_of(rules)
    page = open_report(rules)
    page.locator("#slider").press("ArrowLeft")
    page.locator("#tree-open").click()
    page.mouse.move(0, 0)  # or it points at a line when the page scrolls
    first, second = (rule.index for rule in short[:2])
    button = page.get_by_role("button", name=f"Why line {first + 1}", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    details = page.locator(f"#line-{first}")
    told = asked(details.inner_text())
    assert all(asked(reason.text) in told for reason in short[0].reasons.values())
    assert details.locator("del").count() == len(short[0].deleted_ids)
    settle(page)
    lit = page.locator("#tree-canvas .leaf.lit").evaluate_all("all => all.map((e) => Number(e.dataset.node))")
    assert sorted(lit) == sorted(short[0].leaf_ids)
    partly = set(
        page.locator("#tree-canvas .leaf.partly").evaluate_all("all => all.map((e) => Number(e.dataset.node))")
    )
    data = load_breast_cancer()
    leaves = rules.paths.leaf_ids[rules.find_leaves(secateur.rows.rows.Rows.of(data.data.astype(np.float32)))]
    decided = set(leaves[short.apply(data.data) == first].tolist())
    assert partly == decided - set(short[0].leaf_ids)
    page.locator("#tree").screenshot(path=tmp_path / "lit.png")
    details.get_by_text("Diagnosis of its conditions").click()
    details.locator(".diagnosed p.asked").first.wait_for()
    rows = secateur.diagnose(rules.tree, data.data, data.target).of_leaf(short[0].leaf_id)
    expected = [format_asked(rules, [row.link_id])[0] for row in rows]
    assert details.locator(".diagnosed p.asked").all_text_contents() == expected
    rests = [section.otherwise.index for section in short.sections if section.otherwise is not None]
    assert len(rests) > 1
    for line in (second, *rests):
        page.locator(f"#list tr[data-line='{line}']").hover()
        settle(page)
        other = page.locator("#tree-canvas .leaf.lit").evaluate_all("all => all.map((e) => Number(e.dataset.node))")
        assert sorted(other) == sorted(short.lines[line].leaf_ids)
    button.focus()
    page.keyboard.press("Space")
    assert page.locator(f"#line-{first}").count() == 0
    page.get_by_role("button", name=f"Why line {rests[0] + 1}", exact=True).click()
    n_leaves = len(short.lines[rests[0]].leaf_ids)
    told = asked(page.locator(f"#line-{rests[0]}").inner_text())
    assert f"It stands for {n_leaves} lea{'f' if n_leaves == 1 else 'ves'} of the tree" in told
    assert "It answers for the rows of its section that no rule covers." in told


def test_a_leaf_tells_the_lines_that_answer_for_it(open_report: Open) -> None:
    rules = secateur.simplify(*cancer_model_and_rows())
    page = open_report(rules)
    page.locator("#tree-open").click()
    page.locator("#tree-canvas").focus()
    page.keyboard.press("End")
    (leaf,) = re.findall(r"Leaf (\d+):", page.locator("#tree-path h3").inner_text())
    wanted = [line.index + 1 for line in rules.lines if int(leaf) in line.leaf_ids]
    assert wanted
    words = f"In the list: line{'s' * (len(wanted) > 1)} {', '.join(map(str, wanted))}."
    assert words in page.locator("#tree-path").inner_text()


STATUS_OF = {"matched": "it points to ", "mismatched": "it points away ", "neutral": "it points neither way"}
EFFECT_TERMS = {
    "positive-relevance": "positive relevance",
    "negative-relevance": "negative relevance",
    "probabilistic-irc": "probabilistic IRC",
}


def test_the_diagnosis_of_a_leafs_rule_opens_by_keyboard(open_report: Open) -> None:
    data = load_breast_cancer(as_frame=True)
    rules = cancer_rules("faithful")
    page = open_report(rules)
    page.locator("#leaves > summary").click()
    buttons = page.locator("#rule-rows .diagnose")
    buttons.last.wait_for()  # they are drawn when the part has opened
    assert buttons.count() == len(rules)
    found = secateur.diagnose(rules.tree, data.data, data.target)
    for place in (1, 3, 7):
        buttons.nth(place).focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
        items = page.locator(f"#diagnosis-{place + 1} li")
        rows = found.of_leaf(rules[place].leaf_id)
        assert items.locator(".asked").all_text_contents() == [format_asked(rules, [row.link_id])[0] for row in rows]
        for item, row in zip(items.all(), rows, strict=True):
            _, status, effect = item.locator("dd").all_text_contents()
            assert status.startswith(STATUS_OF[row.status])
            shown = secateur.results.deletion_effects.format_points(row.effect_size).replace("-", "−")
            assert f"({shown}, " in effect
            terms = [row.orientation, ", ".join(filter(None, [row.status, row.presumption])), EFFECT_TERMS[row.effect]]
            assert item.locator("dd").evaluate_all("all => all.map((e) => e.dataset.term)") == terms
    page.keyboard.press("Space")
    assert page.locator(".diagnosis").count() == 2


def test_an_assimilated_rule_says_whose_rule_it_became(open_report: Open) -> None:
    rules = cancer_rules("quinlan")
    expected = {rule.index + 1: rule.assimilated_into for rule in rules if rule.assimilated_into is not None}
    assert 0 in expected.values()
    assert len(set(expected.values())) > 1
    for options in ({}, {"java_script_enabled": False}):
        page = open_report(rules, **options)
        page.locator("#leaves > summary").click()
        told = {}
        for row in page.locator("#rule-rows tr").all():
            for words in row.locator(".conds .fine").all_text_contents():
                node = re.search(
                    r"Assimilated: it is now the rule of (?:node (\d+), an ancestor of its leaf|the root)", words
                )
                assert node is not None
                told[int(row.locator("th").text_content())] = int(node[1] or 0)
        assert told == expected


def test_reasons_show_under_the_pointer_and_on_focus(open_report: Open) -> None:
    rules = cancer_rules()
    page = open_report(rules)
    page.locator("#leaves > summary").click()
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


def test_rules_of_leaves_can_be_sorted_filtered_and_searched(open_report: Open) -> None:
    rules = cancer_rules("faithful")
    page = open_report(rules)
    page.locator("#leaves > summary").click()
    assert shown_leaves(page) == list(range(1, len(rules) + 1))
    page.get_by_role("button", name="In the class").click()
    assert shown_leaves(page) == [n + 1 for n in np.lexsort((np.arange(len(rules)), -rules.reliability)).tolist()]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Conditions", exact=True).click()
    assert shown_leaves(page) == [n + 1 for n in np.lexsort((np.arange(len(rules)), rules.lengths)).tolist()]
    page.get_by_role("button", name="Leaf", exact=True).click()
    tools = page.locator("#rule-tools")
    tools.get_by_label("Predicts").select_option("malignant")
    assert shown_leaves(page) == [rule.index + 1 for rule in rules if rule.class_name == "malignant"]
    tools.get_by_label("Show").select_option("unchanged")
    assert shown_leaves(page) == [
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
    assert shown_leaves(page) == searched
    tools.get_by_label("Search").fill("capital-gain > 5000")
    wait_until(page, "document.querySelector('#rule-rows .none') !== null")
    assert "No rule of a leaf says this" in page.locator("#rule-rows").inner_text()


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


def open_everything(page: Any) -> None:
    for summary in page.locator("summary").all():
        if summary.is_visible() and not summary.evaluate(
            "e => e.parentElement.id === 'analyst' && e.parentElement.open"
        ):
            summary.click()
    page.locator(".why-line").first.click()
    page.locator("#tree-open").click()
    page.locator("#tree-canvas").focus()
    page.keyboard.press("End")
    settle(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(open_report: Open, scheme: str) -> None:
    page = open_report(cancer_rules(), color_scheme=scheme)
    open_everything(page)
    assert page.evaluate(CONTRAST) == []


AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
IN_AXE = "document => axe.run(document, { resultTypes: ['violations'] })"


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: make axe")
@pytest.mark.drawn
@pytest.mark.parametrize(
    ("scheme", "size"), [("light", DESKTOP), ("dark", PHONE), *further([("light", PHONE), ("dark", DESKTOP)])]
)
def test_axe_finds_no_serious_barrier(browser: Any, tmp_path: Path, scheme: str, size: dict[str, int]) -> None:
    path = tmp_path / "page.html"
    make_report(cancer_rules(), target="outcome").save(path)
    # The page's policy forbids foreign scripts, and axe is one.
    page = browser.new_page(viewport=size, color_scheme=scheme, bypass_csp=True)
    page.goto(path.as_uri())
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for look in ("as it opens", "with everything open"):
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
        told = [(one["id"], one["impact"], [node["target"] for node in one["nodes"]][:3]) for one in found]
        assert [one for one in told if one[1] in ("serious", "critical")] == [], look
        open_everything(page)
    page.close()


def test_keys_alone_reach_everything(open_report: Open) -> None:
    page = open_report(cancer_rules())
    reached = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        at = page.evaluate(
            "document.activeElement.id || document.activeElement.getAttribute('aria-label')"
            " || document.activeElement.closest('[id]')?.id"
        )
        reached.add(at)
        if page.evaluate("document.activeElement === document.body"):
            break
    else:
        pytest.fail("the focus never leaves the page")
    wanted = {"theme", "slider", "Why line 1", "positions", "tree-canvas", "tree-save", "row-pick", "field-0", "leaves"}
    wanted |= {"case-new", "case-link", "case-print", "case-letter", "cuts-low", "cuts-cost", "copy", "print"}
    assert wanted | {"shortened", "notes", "analyst"} <= reached


def test_the_page_fits_a_narrow_window_and_a_sheet_of_paper(open_report: Open, tmp_path: Path) -> None:
    rules = cancer_rules()
    page = open_report(rules, viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    chip = page.locator("#dial-open")
    assert re.fullmatch(r"\d+ lines · exact · right [\d.]+\u00a0%", chip.text_content())
    assert page.locator("#dial").bounding_box()["height"] < 60
    assert not page.locator("#slider").is_visible()
    chip.click()
    assert page.locator("#slider").is_visible()
    page.locator("#slider").fill("0")
    assert re.fullmatch(r"\d+ lines? · differs on [\d.]+\u00a0% · right [\d.]+\u00a0%", chip.text_content())
    answer = page.locator("#row-answer")
    page.locator("#row-fields input").last.scroll_into_view_if_needed()
    box = answer.bounding_box()
    assert 0 <= box["y"] <= PHONE["height"] - box["height"], "the answer stays in sight"
    open_everything(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.screenshot(path=tmp_path / "narrow.png", full_page=True)
    page.emulate_media(media="print")
    assert not page.locator("#dial").is_visible()
    page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").stat().st_size > 10_000


def test_a_printed_page_shows_what_is_folded_away(open_report: Open) -> None:
    page = open_report(cancer_rules())
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for part in ("#shortened", "#leaves", "#notes"):
        assert page.locator(f"{part} > :not(summary)").first.is_visible()
    assert page.locator("#tree-print > svg .leaf").first.is_visible()
    assert not page.locator("#tree-canvas").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.fold[open]").count() == 0


def test_the_page_reads_without_javascript(open_report: Open) -> None:
    rules = cancer_rules()
    page = open_report(rules, java_script_enabled=False)
    assert shown_lines(page) == [list(line.asks) for line in choose_lines(rules).lines]
    assert not page.locator("#slider").is_visible()
    assert "needs JavaScript" in page.locator("#tree").inner_text()
    page.locator("#leaves > summary").click()
    assert page.locator("#rule-rows tr").count() == len(rules)
    struck = page.locator("#rule-rows .gone").first
    struck.hover()
    assert struck.locator(".why").is_visible()


def test_everything_with_a_role_in_the_form_has_a_name(open_report: Open) -> None:
    page = open_report(cancer_rules())
    named = "e => e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim()"
    for control in page.locator("input, select, button").all():
        assert control.evaluate(named), control.evaluate("e => e.outerHTML")
    assert page.locator("main").count() == page.locator("header.top").count() == page.locator("footer").count() == 1


def test_the_tree_opens_at_depth_three_and_fits_its_frame(open_report: Open, tmp_path: Path) -> None:
    rules = cancer_rules()
    page = open_report(rules)
    page.locator("#tree").screenshot(path=tmp_path / "tree.png")
    tree = rules.tree
    level, shown = [0], {0}
    for _ in range(3):
        level = [
            child
            for node in level
            if not tree.is_leaf[node]
            for child in (tree.children_left[node], tree.children_right[node])
        ]
        shown |= {int(node) for node in level}
    drawn = page.locator("#tree-canvas [data-node]").evaluate_all("all => all.map((e) => Number(e.dataset.node))")
    assert set(drawn) == shown
    frame = page.locator("#tree-canvas").bounding_box()
    for node in page.locator("#tree-canvas [data-node]").all():
        box = node.bounding_box()
        assert box["x"] >= frame["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
        assert box["y"] >= frame["y"]
        assert box["y"] + box["height"] <= frame["y"] + frame["height"] + 1


def test_the_tree_shows_classes_rows_and_operators(open_report: Open) -> None:
    rules = cancer_rules()
    page = open_report(rules)
    page.set_viewport_size({"width": 2400, "height": 2400})  # all of it is in sight
    page.locator("#tree-open").click()
    settle(page)
    tree = rules.tree
    for leaf in page.locator("#tree-canvas .leaf").all():
        node = int(leaf.get_attribute("data-node"))
        assert f"k{tree.leaf_class[node]}" in leaf.get_attribute("class").split()
    labels = page.evaluate(
        "[...document.querySelectorAll('#tree-canvas .ask')].map((e) => [Number(e.dataset.link), "
        "[...e.querySelectorAll('tspan')].map((t) => t.textContent).join(' ')])"
    )
    assert len(labels) == tree.n_nodes - 1
    for link, text in labels:
        whole = format_asked(rules, [link])[0]
        assert text == whole.removeprefix(tree.feature_name(int(tree.feature[rules.paths.parent[link]]))).strip()
        assert text.split()[0] in ("<=", ">", "≤", "≥")
    drawn = sorted(float(path.get_attribute("stroke-width")) for path in page.locator("#tree-canvas .branch").all())
    rows = page.evaluate("secateur.data.tree.rows")
    assert drawn == pytest.approx(sorted(1.2 + 14 * rows[node] / rows[0] for node in range(1, tree.n_nodes)), abs=0.01)
    assert rows[0] == rules.leaf_support.sum()


def test_a_long_condition_in_the_tree_wraps_and_keeps_its_operator(open_report: Open) -> None:
    names = ["a measured quantity with a very long name that nobody could read in one line of a small box", "b" * 300]
    X, y = make_classification(300, 2, n_informative=2, n_redundant=0, random_state=0)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    page = open_report(secateur.simplify(model, X, y, feature_names=names))
    for label in page.locator("#tree-canvas .ask").all():
        lines = label.locator("tspan").all_text_contents()
        assert lines[0].split()[0] in ("<=", ">", "≤")
        assert max(map(len, lines)) <= 20
        assert names[0] in label.locator("title").text_content() or "bbb" in label.locator("title").text_content()
    for name in page.locator("#tree-canvas .split .name").all():
        assert max(map(len, name.locator("tspan").all_text_contents())) <= 26


def test_a_split_shows_its_rows_by_class_with_the_threshold(open_report: Open) -> None:
    data = load_breast_cancer(as_frame=True)
    rules = cancer_rules()
    page = open_report(rules)
    page.locator("#tree-canvas").focus()
    page.keyboard.press("Home")
    said = page.locator("#tree-path")
    name, limit = rules.tree.feature_name(int(rules.tree.feature[0])), float(rules.tree.upper[0])
    n_left = int((data.data[name].astype(np.float32) <= limit).sum())
    text = asked(said.inner_text())
    assert f"Split on {name}: {len(data.data)} rows" in text
    assert f"({n_left} rows, {100 * n_left / len(data.data):.1f} %)" in text
    said.locator("summary").click()
    rows = said.locator("table.numbers tbody tr").all()
    table = [[cell.inner_text() for cell in row.locator("td").all()] for row in rows]
    upper = [[int(number.replace(",", "")) for number in row[:2]] for row in table if row[2] == "upper branch"]
    assert np.sum(upper) == n_left
    by_class = np.bincount(data.target[data.data[name].astype(np.float32) <= limit], minlength=2)
    assert np.sum(upper, axis=0).tolist() == by_class.tolist()
    heights = said.locator("svg.large rect.of-class").evaluate_all(
        "all => all.map((e) => Number(e.getAttribute('height')))"
    )
    assert heights
    assert said.locator("svg.large .cut-line").count() == 1


def test_the_tree_can_be_saved_as_a_picture(open_report: Open, tmp_path: Path) -> None:
    import xml.etree.ElementTree as ET

    rules = cancer_rules()
    page = open_report(rules)
    page.locator("#tree-open").click()
    with page.expect_download() as waiting:
        page.locator("#tree-save").click()
    waiting.value.save_as(tmp_path / "tree.svg")
    picture = ET.parse(tmp_path / "tree.svg").getroot()
    texts = ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert sum(text.startswith(("malignant", "benign")) for text in texts) == len(rules)
    assert not any("class" in element.attrib for element in picture.iter())
    fills = {element.get("fill") for element in picture.iter("{http://www.w3.org/2000/svg}rect")}
    assert len(fills) > 3
    width, height = float(picture.get("width")), float(picture.get("height"))
    for box in picture.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(box.get("width")) <= width
        assert float(box.get("height")) <= height


def test_the_tree_is_worked_by_keyboard(open_report: Open) -> None:
    page = open_report(cancer_rules())
    canvas = page.locator("#tree-canvas")
    canvas.focus()
    at = lambda: canvas.get_attribute("aria-activedescendant")  # noqa: E731

    def press(key: str) -> None:
        page.keyboard.press(key)
        settle(page)

    press("ArrowLeft")
    assert page.locator("#tree-canvas [data-node]").count() == 1
    assert page.locator("#node-0").get_attribute("aria-expanded") == "false"
    press("ArrowRight")
    press("ArrowRight")
    assert at() == "node-1"
    press("End")
    place = (at() or "").removeprefix("node-")
    assert page.locator(f"#node-{place}").get_attribute("role") == "treeitem"
    assert page.locator("#tree-path h3").is_visible()
    before = page.locator("#tree-canvas svg > g").get_attribute("transform")
    press("-")
    assert page.locator("#tree-canvas svg > g").get_attribute("transform") != before


@pytest.mark.parametrize("method", ["exact", "faithful", "quinlan"])
def test_a_tried_row_gets_what_each_list_says(open_report: Open, method: str) -> None:
    data = load_breast_cancer(as_frame=True)
    rules = cancer_rules(method)
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
    for place, made in enumerate(lists_of(rules)):
        found = decisions(page, entries, place)
        assert [line for line, _ in found] == made.apply(X).tolist()
        assert rules.tree.classes[[class_id for _, class_id in found]].tolist() == made.predict(X).tolist()


def enter(field: dict[str, Any], value: float) -> float | None:
    """A cell of a row as an entry of the form."""
    n_labels = len(field["labels"])
    if math.isnan(value):
        return None
    return value if field["kind"] == "number" or value in range(n_labels) else n_labels


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rows_of_any_tree_get_what_the_rules_say(browser: Any, tmp_path: Path, data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    with_rows = data.draw(st.booleans())
    form: dict[str, Any] = {"sections": data.draw(st.sampled_from(["auto", 1, 4]))}
    if with_rows:
        form |= {
            "budget": data.draw(st.sampled_from([0.0, 0.2])),
            "tolerance": data.draw(st.sampled_from([0.05, 0.1, 1])),
        }
    rules = secateur.simplify(tree, *((X, tree.classes[y]) if with_rows else ()), **form)
    path = tmp_path / "page.html"
    make_report(rules).save(path, force=True)
    rows = data.draw(strategies.rows(tree, 20))
    with quiet_page(browser, path) as page:
        fields, place = page.evaluate("[secateur.data.form.fields, secateur.data.list]")
        entries = [[enter(field, row[field["features"][0]]) for field in fields] for row in rows.tolist()]
        found = decisions(page, entries, place)
        assert [line for line, _ in found] == rules.apply(rows).tolist()
        assert tree.classes[[class_id for _, class_id in found]].tolist() == rules.predict(rows).tolist()
        holding = page.evaluate(
            "([rows, p]) => rows.map((r) => secateur.decide(r, p).holding.length)", [entries, place]
        )
        assert holding == rules.covers(rows).sum(axis=1).tolist()


def test_rows_of_a_group_get_what_the_rules_say(open_report: Open) -> None:
    rng = np.random.default_rng(1)
    kind, age = rng.integers(0, 4, 800), rng.integers(18, 80, 800)
    X = pd.DataFrame({"age": age} | {f"kind_{name}": (kind == code).astype(float) for code, name in enumerate("abcd")})
    y = ((kind == 1) & (age > 40) | (kind == 3) & (age < 60)) ^ (rng.random(800) < 0.1)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, groups={"kind": list(X)[1:]}, sections=4)
    assert len(rules.sections) > 1
    page = open_report(rules)
    fields = page.evaluate("secateur.data.form.fields")
    cells = {"age": age, "kind": kind}
    entries = np.column_stack([cells[field["name"]] for field in fields]).tolist()
    found = decisions(page, entries, page.evaluate("secateur.data.list"))
    assert [line for line, _ in found] == rules.apply(X).tolist()
    assert rules.tree.classes[[class_id for _, class_id in found]].tolist() == rules.predict(X).tolist()


def every_value(tree: secateur.Tree, feature: int) -> list[float]:
    """A value of each kind that the tree can tell apart in a column."""
    missing = [math.nan] if tree.accepts_missing[feature] else []
    levels = tree.categories[feature]
    if levels is not None:
        return [*map(float, range(len(levels) + 1)), *missing]
    kind = np.dtype(tree.dtype).type
    limits = tree.upper[(tree.feature == feature) & ~tree.is_leaf]
    found = {0.0}
    for limit in limits[np.isfinite(limits)].tolist():
        found |= {float(kind(limit)), float(np.nextafter(kind(limit), kind(math.inf)))}
    return [*sorted(value for value in found if math.isfinite(value)), *missing]


def fewest_changes(tree: secateur.Tree, row: np.ndarray) -> int | None:
    """How many columns must change for another class, by trying every change; None if none is enough."""
    own = tree.leaf_class[oracles.walk(tree, row)]
    tested = np.unique(tree.feature[~tree.is_leaf]).tolist()
    for n in range(1, len(tested) + 1):
        for columns in itertools.combinations(tested, n):
            for values in itertools.product(*(every_value(tree, column) for column in columns)):
                other = row.copy()
                other[list(columns)] = values
                if tree.leaf_class[oracles.walk(tree, other)] != own:
                    return n
    return None


@pytest.mark.parametrize(
    ("reading", "typed", "value", "kind"),
    [
        (ColumnParser("date", order="dmy"), "2024-08-15", 19950, "date"),
        (ColumnParser("date", step="minute"), "2024-08-15T12:00", 19950.5, "datetime-local"),
        (ColumnParser("clock", step="minute"), "06:30", 23400, "time"),
        (ColumnParser("date", step="minute"), "2024-08-15T12:00:30", 19950.5, "datetime-local"),
        (ColumnParser("clock", step="minute"), "06:30:59", 23400, "time"),
        (ColumnParser("clock", step="second"), "06:30:59.75", 23459, "time"),
    ],
)
def test_dates_and_times_are_entered_as_such(
    browser: Any, tmp_path: Path, reading: ColumnParser, typed: str, value: float, kind: str
) -> None:
    X = np.linspace(value - 100, value + 100, 41)[:, None]
    model = DecisionTreeClassifier(random_state=0).fit(X, (X[:, 0] > value - 7).astype(int))
    rules = secateur.simplify(replace(secateur.from_model(model), column_parsers=(reading,)))
    path = tmp_path / "page.html"
    make_report(rules).save(path, force=True)
    with quiet_page(browser, path) as page:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        field = page.locator("#field-0")
        assert field.get_attribute("type") == kind
        field.fill(typed)
        assert page.evaluate("secateur.entries()") == [value]
        page.evaluate("secateur.setEntries(secateur.entries())")
        typed = typed[: {"minute": 5, "second": 8}.get(reading.step, 10) + typed.find("T") + 1]
        assert field.input_value() == typed
        (way,) = page.evaluate("secateur.nearestChanges(secateur.entries())")
        assert str(int(value))[:4] not in way["changes"][0]["text"]
        shown = page.locator("#row-said").inner_text()
        assert f"now {typed.replace('T', ' ')}" in shown


def test_a_missing_value_may_change_to_a_number_with_one_limit(browser: Any, tmp_path: Path) -> None:
    X = np.array([[1.0], [1.0], [np.nan], [np.nan], [2e6], [2e6]])
    y = [0, 0, 0, 0, 1, 1]
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    path = tmp_path / "page.html"
    make_report(secateur.simplify(model, X, y)).save(path, force=True)
    with quiet_page(browser, path) as page:
        (way,) = page.evaluate("secateur.nearestChanges([null])")
    assert model.predict([way["entries"]]) == 1


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_nearest_changes_are_the_fewest_and_flip_the_answer(
    browser: Any, tmp_path: Path, data: st.DataObject
) -> None:
    tree = data.draw(strategies.trees(min_leaves=2, max_leaves=8, n_features=data.draw(st.integers(1, 4))))
    rules = secateur.simplify(tree)
    path = tmp_path / "page.html"
    make_report(rules).save(path, force=True)
    rows = data.draw(strategies.rows(tree, 3, 8))
    with quiet_page(browser, path) as page:
        fields = page.evaluate("secateur.data.form.fields")
        entries = [[enter(field, row[field["features"][0]]) for field in fields] for row in rows.tolist()]
        found = page.evaluate("rows => rows.map((row) => secateur.nearestChanges(row))", entries)
    for row, entered, ways in zip(rows, entries, found, strict=True):
        fewest = fewest_changes(tree, row)
        assert {len(way["changes"]) for way in ways} == (set() if fewest is None else {fewest})
        for way in ways:
            other = row.astype(float).copy()
            changed = [place for place, (a, b) in enumerate(zip(entered, way["entries"], strict=True)) if a != b]
            assert len(changed) == fewest
            assert changed == sorted(change["place"] for change in way["changes"])
            for place, entry in enumerate(way["entries"]):
                cell = math.nan if entry is None else entry
                kind = np.dtype(tree.dtype).type
                other[fields[place]["features"][0]] = kind(cell) if fields[place]["kind"] == "number" else cell
            assert oracles.walk(tree, other) == way["leaf"]
            assert tree.leaf_class[way["leaf"]] == way["class"] != tree.leaf_class[oracles.walk(tree, row)]


def test_a_nearest_change_is_told_in_words_and_can_be_tried(open_report: Open, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"gain": rng.integers(0, 10_000, 600), "years": rng.integers(8, 17, 600)})
    y = np.where((X["gain"] > 5095) | (X["years"] > 13), "high", "low")
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    page = open_report(secateur.simplify(model, X, y, facts=["gain is not missing"]))
    page.get_by_label("gain", exact=True).fill("100")
    page.get_by_label("years", exact=True).fill("10")
    said = page.locator("#row-said")
    assert page.locator("#row-answer h3").text_content() == "low"
    assert "One change is enough for another answer" in said.inner_text()
    ways = [asked(way) for way in said.locator(".ways li").all_inner_texts()]
    assert any("gain" in way and "(now 100)" in way for way in ways)
    assert any("years" in way and "(now 10)" in way for way in ways)
    page.locator("#try").screenshot(path=tmp_path / "ways.png")
    said.locator(".ways li", has_text="years").get_by_role("button").click()
    assert page.locator("#row-answer h3").text_content() == "high"
    assert page.locator("#field-1").input_value() in ("13.5", "14") or page.locator("#field-0").input_value() == "14"


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
    rules = secateur.simplify(model, X, y)
    page = open_report(rules)
    shown = page.locator("#row-answer")
    for place in range(25):
        row = X.iloc[place]
        page.get_by_label("age", exact=True).fill(repr(float(row["age"])))
        page.get_by_label("city", exact=True).select_option(row["city"])
        absent = page.locator("[data-field]", has_text="income").get_by_label("missing")
        absent.set_checked(bool(np.isnan(row["income"])))
        if not np.isnan(row["income"]):
            page.get_by_label("income", exact=True).fill(repr(float(row["income"])))
        line = rules.lines[int(rules.apply(X.iloc[[place]])[0])]
        assert shown.locator("h3").text_content() == rules.predict(X.iloc[[place]])[0]
        word = f", {line.asked}" if line.is_otherwise else ""
        assert shown.locator("p").text_content().startswith(f"line {line.index + 1}{word}: ")
        told = asked(page.locator("#row-said").inner_text())
        assert all(asked(words) in told for words in (*line.heading, *line.asks))
        assert page.locator("#row-said .section li .asked").all_text_contents() == list(line.heading)
        of_section = " of its section" if line.heading else ""
        assert (f"Because no rule{of_section} holds" in told) == (line.asked == "otherwise")
        missed = re.findall(r"Line (\d+) asks", page.locator("#row-said").text_content())
        own = {str(rule.index + 1) for rule in line.section.rules}
        assert set(missed) == (own if line.is_otherwise else set()), "no line of another section is told"
    page.get_by_label("city", exact=True).select_option("(any other)")
    elsewhere = X.iloc[[24]].assign(city="Paris")
    assert shown.locator("h3").text_content() == rules.predict(elsewhere)[0]
    for field in page.evaluate("secateur.data.form.fields"):
        assert field["name"] in ("age", "city", "income")
    page.locator("#try").screenshot(path=tmp_path / "try.png")


def test_a_row_is_told_only_what_is_true_of_it_and_what_its_leaf_says(open_report: Open) -> None:
    data = load_breast_cancer(as_frame=True)
    rules = cancer_rules()
    short = next(made for made in lists_of(rules) if made.budget >= 0.01)
    page = open_report(rules)
    place = page.evaluate("b => secateur.data.lists.findIndex((list) => list.budget === b)", short.budget)
    page.locator("#slider").fill(str(place))
    fields = page.evaluate("secateur.data.form.fields")
    differs = np.flatnonzero(short.predict(data.data) != rules.predict(data.data))
    assert len(differs)
    for row in [*differs[:2].tolist(), 0, 19, 100]:
        values = data.data.iloc[row].astype(np.float32).astype(float)
        for at, field in enumerate(fields):
            page.locator(f"#field-{at}").fill(repr(float(values.iloc[field["features"][0]])))
        line = short.lines[int(short.apply(data.data.iloc[[row]])[0])]
        told = asked(page.locator("#row-said").inner_text())
        assert page.locator("#row-said .section li").count() == len(line.heading)
        if not line.is_otherwise:
            met = page.locator("#row-said ul:not(.section)").first.locator("li").all()
            assert len(met) == len(line.conditions)
        own = data.target_names[rules.tree.leaf_class[oracles.walk(rules.tree, values.to_numpy())]]
        if row in differs:
            assert f"The tree itself says {own} here" in told
        else:
            assert "In the tree this row ends in leaf" in told
        answer = asked(page.locator("#row-answer").inner_text())
        assert answer.endswith(f": {describe_rows(line)}")


def test_a_value_that_cannot_be_used_is_named_and_decides_nothing(open_report: Open) -> None:
    page = open_report(cancer_rules())
    first = page.locator("#row-fields input").first
    first.fill("1e39")
    assert first.get_attribute("aria-invalid") == "true"
    assert "cannot be used" in page.locator("#row-answer").inner_text()
    assert page.locator("#row-said").inner_text() == ""
    assert "too large for float32" in page.locator("#row-fields .wrong").first.text_content()
    page.locator("#row-usual").click()
    assert page.locator("#row-answer h3").is_visible()


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
    page = open_report(secateur.simplify(tree))
    for beyond in (ends[0] - 1, ends[1] + 1):
        if np.isfinite(beyond):
            page.locator("#field-0").fill(repr(beyond))
            assert page.locator("#row-fields .wrong").text_content() == f"Enter a number {wanted}"


def test_a_row_that_violates_a_stated_fact_is_told_so(open_report: Open) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.integers(18, 90, 300), "dose": np.where(rng.random(300) < 0.1, np.nan, rng.random(300))}
    )
    y = np.where((X["age"] > 40) ^ (X["dose"] > 0.5), "a", "b")
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    facts = ["age is not missing", "age <= 120"]
    page = open_report(secateur.simplify(model, X, y, facts=facts, method="faithful"))
    said = page.locator("#row-said")
    page.locator("#field-0").fill("50")
    assert "violates" not in said.inner_text()
    for entry, words in (("50.5", "age is a whole number"), ("130", "age is never 130")):
        page.locator("#field-0").fill(entry)
        told = "This row violates stated facts that the guarantee does not depend on"
        assert f"{told}: {words}." in said.inner_text()
    page.locator("#field-0-absent").check()
    assert "age is never missing." in said.inner_text()
    page.locator("#field-0-absent").uncheck()
    page.locator("#field-0").fill("50")
    page.locator("#field-1-absent").check()
    assert "violates" not in said.inner_text()


def test_a_number_is_held_to_stated_facts_as_the_tree_holds_it(open_report: Open) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["a", "b"])
    root = builder.split("a", 0.5)
    builder.leaf([8, 2], parent=root, side="left")
    higher = builder.split("b", 0.35, parent=root, side="right")
    builder.leaf([1, 9], parent=higher, side="left")
    builder.leaf([9, 1], parent=higher, side="right")
    facts = ["a <= 0.7", "b has at most 1 decimal"]
    rules = secateur.simplify(builder.build(), facts=facts)
    page = open_report(rules)
    said = page.locator("#row-said")
    for a, b in itertools.product(("0.7", "0.6", "0.71", "0.70000001"), ("0.1", "0.3", "0.15")):
        page.locator("#field-0").fill(a)
        page.locator("#field-1").fill(b)
        broken = rules.explain([float(a), float(b)]).broken_facts
        shown = said.inner_text()
        assert ("a is never" in shown, "b has at most 1 decimal" in shown) == tuple(fact in broken for fact in facts)


def test_a_violated_fact_takes_the_guarantee_away_only_where_that_depends_on_it(open_report: Open) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age", "bmi"])
    root = builder.split("age", 29.8)
    younger = builder.split("age", 29.2, parent=root, side="left")
    slim = builder.split("bmi", 20, parent=younger, side="left")
    builder.leaf([8, 2], parent=slim, side="left")
    builder.leaf([2, 8], parent=slim, side="right")
    builder.leaf([2, 8], parent=younger, side="right")  # which no whole number reaches
    builder.leaf([9, 1], parent=root, side="right")
    facts = ["age is a whole number", "bmi <= 100"]
    rules = secateur.simplify(builder.build(), method="none", facts=facts, otherwise="no")
    page = open_report(rules)
    for row in ([29.5, 20], [29, 120], [29.5, 120]):
        page.locator("#field-0").fill(str(row[0]))
        page.locator("#field-1").fill(str(row[1]))
        told = rules.explain(row).text.splitlines()[-1].partition(":")[0]
        assert f"{told}: " in page.locator("#row-said").inner_text()


@pytest.mark.parametrize("java_script_enabled", [True, False])
@pytest.mark.parametrize(("form", "has_sections"), [({}, True), ({"sections": 1}, False), ({"tolerance": 1}, False)])
def test_the_list_is_laid_out_as_it_is_printed(
    open_report: Open, form: dict[str, Any], has_sections: bool, java_script_enabled: bool
) -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=3, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, **form)
    page = open_report(rules, **{} if java_script_enabled else {"java_script_enabled": False})
    if java_script_enabled:
        show_all_lines(page)
    shown = []
    for row in page.locator("#list tbody tr").all():
        if "head" in (row.get_attribute("class") or "").split():
            shown.append(asked(row.inner_text()))
        else:
            number, words = (row.locator(part).text_content() for part in ("th", ".asks"))
            shown.append(f"{number}. {asked(words)}")
    wanted = []
    for line in make_listing(rules).lines:
        wanted += [f"Among {line.heading}"] if line.heading else []
        word = "" if line.asked in ("otherwise", "always") else "if "
        wanted.append(f"{line.number}. {line.class_name} {word}{line.asked}")
    assert shown == wanted
    assert page.locator("#list tbody").count() == len(rules.sections)
    assert (page.locator("#list .head").count() > 1) == has_sections


def test_scripts_write_numbers_as_python_does(browser: Any, tmp_path: Path) -> None:
    source = (TEMPLATES / "words.js").read_text(encoding="utf-8")
    shares = [k / 16 for k in range(17)] + [k / 999 for k in range(0, 1000, 7)] + [0.0625 + 1e-12, 1e-9, 1 - 1e-9]
    counts = [0, 1, 1200, 2.5, 1234567.5, 12345.25, 0.1 + 0.2, 0.000123456789, 999999.5]
    texts = ["a" * 160, "b" * 161, "c " * 150, "x" * 79 + "  😀" * 60]
    changes = [-0.125, 0.125, 0.375, 0.004, -1.005, 2.675]
    path = tmp_path / "empty.html"
    path.write_text("<!doctype html>", encoding="utf-8")
    with quiet_page(browser, path) as page:
        found = page.evaluate(
            f"([shares, counts, changes, texts]) => {{ {source}\nreturn [shares.map(share), counts.map(count), "
            "changes.map(points), shares.map((one) => limits([one, one])), texts.map((one) => squeeze(one, 160)), "
            "texts.map((one) => shorten(one, 30))]; }",
            [shares, counts, changes, texts],
        )
    assert found == [
        *([_unbroken(format_share(one)) for one in shares], [format_count(one) for one in counts]),
        *([_read_points(one) for one in changes], [_read_limits([one, one]) for one in shares]),
        *([_squeeze(one) for one in texts], [_shorten(one, 30) for one in texts]),
    ]


def test_scripts_word_the_rows_of_a_line_as_python_does(open_report: Open) -> None:
    X, y = make_classification(1500, 4, weights=[0.8], flip_y=0.3, random_state=2)
    names = {"class_names": ["well", "a name that is too long for the narrow column of numbers"]}
    model = DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0).fit(X, y)
    for rules in (
        secateur.simplify(model, X, y, **names),
        secateur.simplify(model, X, y, sample_weight=np.linspace(0.1, 2, len(y)), **names),
        secateur.simplify(model, **names),
        secateur.simplify(DecisionTreeClassifier().fit(X, np.ones(len(X)))),
        secateur.approximate(lambda rows: model.predict(rows) + 5, X),
    ):
        page = open_report(rules)
        show_all_lines(page)
        long = names["class_names"][1]
        expected = [_unbroken(describe_rows(line)).replace(f"% {long}", f"% {long[:29]}…") for line in rules.lines]
        assert page.locator("#list .decides span").all_text_contents() == expected


def test_the_example_of_a_leaf_can_be_picked(open_report: Open) -> None:
    rules = cancer_rules()
    page = open_report(rules)
    for place, rule in enumerate(rules):
        page.locator("#row-pick").select_option(str(place))
        assert f"leaf {rule.leaf_id}:" in page.locator("#row-said").inner_text()
        assert page.locator("#row-answer h3").text_content() == rule.class_name


@cache
def large_rules() -> tuple[np.ndarray, secateur.Rules]:
    X, y = make_classification(14_000, 10, n_informative=8, flip_y=0.3, random_state=0)
    model = DecisionTreeClassifier(max_leaf_nodes=2000, random_state=0).fit(X, y)
    return X, secateur.simplify(model, X, y)


def test_a_tree_of_2000_leaves_opens_and_responds(open_report: Open, tmp_path: Path) -> None:
    X, rules = large_rules()
    assert rules.tree_rules == 2000
    page = open_report(rules)
    assert page.locator("#list tr[data-line]").count() == sum(
        1 + (5 if len(section.rules) > 7 else len(section.rules)) for section in rules.sections
    )
    show_all_lines(page)
    assert page.locator("#list tr[data-line]").count() == rules.n_lines
    page.locator("#leaves > summary").click()
    assert page.locator("#rule-rows tr").count() == 100
    page.locator("#more-rules").click()
    assert page.locator("#rule-rows tr").count() == 200
    drawn = "document.querySelectorAll('#tree-canvas svg *').length"
    assert page.evaluate(drawn) < 2000
    page.locator("#tree-open").click()
    assert "2,000 branches shown" in page.locator("#tree-shown").text_content()
    wait_until(page, f"{drawn} > 20")
    assert page.evaluate(drawn) < 4000  # what is out of sight is not drawn
    page.locator("#tree-fit").click()
    page.locator("#tree-canvas").screenshot(path=tmp_path / "whole.png")
    page.locator("#tree-in").click()
    canvas = page.locator("#tree-canvas")
    canvas.focus()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    moved = "b => document.querySelector('#tree-canvas svg > g').getAttribute('transform') !== b"
    before = page.locator("#tree-canvas svg > g").get_attribute("transform")
    page.mouse.wheel(0, -900)
    wait_until(page, moved, arg=before)
    before = page.locator("#tree-canvas svg > g").get_attribute("transform")
    page.mouse.down()
    page.mouse.move(box["x"] + 350, box["y"] + 260)
    page.mouse.up()
    wait_until(page, moved, arg=before)
    page.locator("#tree-close").click()
    assert "2 branches shown" in page.locator("#tree-shown").text_content()
    wait_until(page, "document.querySelectorAll('#tree-canvas [data-node]').length === 3")
    page.locator("#tree-canvas [data-node='0']").click()
    wait_until(page, "document.querySelectorAll('#tree-canvas [data-node]').length === 1")
    page.locator("#search").fill("2000")
    wait_until(page, "document.querySelector('#rules-shown').textContent.includes(' of ')")
    assert 2000 in shown_leaves(page)
    rows = X[:50].astype(np.float32).astype(float)
    fields = page.evaluate("secateur.data.form.fields")
    entries = [[row[field["features"][0]] for field in fields] for row in rows.tolist()]
    assert [line for line, _ in decisions(page, entries, 0)] == rules.apply(rows).tolist()


def test_a_tree_of_one_leaf_is_shown_too(open_report: Open) -> None:
    X, y = [[0.0], [1.0]], ["only", "only"]
    page = open_report(secateur.simplify(DecisionTreeClassifier().fit(X, y), X, y, each_leaf=True))
    assert asked(page.locator("#list .asks").inner_text()) == "only always"
    assert page.locator("#row-answer h3").text_content() == "only"
    page.locator("#tree-canvas [data-node='0']").click()
    assert "the rule asks nothing" in page.locator("#tree-path").inner_text()
    assert "The tree has only this answer." in page.locator("#row-said").inner_text()
    page.locator("#tree-close").click()
    page.locator("#tree-open").click()


@pytest.mark.parametrize("numbers", [True, False])
def test_hostile_names_stay_names(open_report: Open, tmp_path: Path, numbers: bool) -> None:
    rules = exported_rules.hostile_rules(numbers=numbers)
    page = open_report(rules, title="</title><script>alert(1)</script>" + "long" * 3000)
    assert page.title().startswith("</title><script>alert(1)</script>")
    assert page.evaluate("secateur.data.classes") == [show_text(name) for name in exported_rules.HOSTILE]
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#tree-open").click()
    open_everything(page)
    for place in (0, 1, 9, 18):
        page.locator("#row-pick").select_option(str(place))
        page.locator("#by-class").select_option(str(place))
    page.locator("#search").fill("</script>")
    page.screenshot(path=tmp_path / "hostile.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.scripts.length") == 2


def test_many_classes_have_colours_and_names(open_report: Open, tmp_path: Path) -> None:
    wine = load_wine()
    model = DecisionTreeClassifier(random_state=0).fit(wine.data, wine.target)
    names = ["<b>one", "two & 2", 'three "3"']
    rules = secateur.simplify(model, wine.data, wine.target, class_names=names)
    page = open_report(rules)
    page.screenshot(path=tmp_path / "classes.png", full_page=True)
    assert page.locator(".shares .chip").all_text_contents() == names
    assert page.locator("#list .asks .chip").all_text_contents() == [line.class_name for line in rules.lines]
    colours = page.locator(".shares .chip").evaluate_all("all => all.map((e) => getComputedStyle(e).borderColor)")
    assert len(set(colours)) == 3


def test_a_report_without_rows_says_so(open_report: Open) -> None:
    stored = secateur.Rules.from_json(cancer_rules().to_json())
    page = open_report(stored)
    assert "are not at hand" in page.locator("#analyst").inner_text()
    assert page.locator("#slider").count() == 0
    assert "not measured" in page.locator(".figures").inner_text()
    assert "how often this is right is unknown" in page.locator(".trust").inner_text()


def test_a_notebook_frame_runs_the_page(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><body>{make_report(cancer_rules())._repr_html_()}</body>", encoding="utf-8")
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#analyst > summary").click()
    frame.locator("#slider").fill("0")
    frame.locator("#slider-said", has_text=re.compile("^Up to ")).wait_for(state="attached")
    page.close()
    assert wrong == []


@cache
def write_measured() -> tuple[secateur.Rules, str]:
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target
    model = DecisionTreeClassifier(max_depth=5, min_samples_leaf=5, random_state=0).fit(X[::2], y[::2])
    rules = secateur.simplify(model, X[::2], y[::2], class_names=data.target_names).measure(X[1::2], y[1::2])
    return rules, make_report(rules, target="diagnosis").to_html()


DESK = {"width": 1400, "height": 900}


@contextmanager
def measured_page(browser: Any, tmp_path: Path, size: dict[str, int] = DESK) -> Iterator[tuple[secateur.Rules, Any]]:
    rules, written = write_measured()
    path = tmp_path / "desk.html"
    path.write_text(written, encoding="utf-8")
    with quiet_page(browser, path, viewport=size) as page:
        yield rules, page


def split_by_cuts(page: Any, shares: list[float], counts: Any) -> list[Any]:
    """Add up the rows of the lines that pass, that a person looks at, and that are flagged, by class."""
    low, high = (float(page.locator(name).input_value()) / 100 for name in ("#cuts-low", "#cuts-high"))
    bands = np.array([0 if part <= low else 2 if part >= high else 1 for part in shares])
    return [counts[bands == band].sum(axis=0) for band in range(3)]


def test_cut_offs_begin_where_they_separate_the_rows_shown(browser: Any, tmp_path: Path) -> None:
    """Lines that state least are no reason to let rows pass that turned out worse than the others."""
    X = np.repeat(np.arange(4.0), 50).reshape(-1, 1)
    hits = np.concatenate([np.arange(50) < n for n in (0, 3, 5, 12)])
    model = DecisionTreeClassifier(random_state=0).fit(X, hits)
    rules = secateur.simplify(model, X, hits, tolerance=0, sections=1, class_names=["stayed", "back"])
    for unseen, passes, flags in (((20, 2, 5, 12), 0, 0), ((0, 3, 5, 13), 100, 50), ((9, 9, 9, 9), 0, 0)):
        rows = np.concatenate([np.arange(50) < n for n in unseen])
        path = tmp_path / "cuts.html"
        make_report(rules.measure(X, rows)).save(path, force=True)
        with quiet_page(browser, path) as page:
            told = page.locator("#cuts-bands b").all_text_contents()
        assert (told[0], told[2]) == (f"let pass {passes}", f"flag as back {flags}"), unseen


def test_the_desk_shows_list_case_and_cut_offs_at_once(browser: Any, tmp_path: Path) -> None:
    with measured_page(browser, tmp_path) as (rules, page):
        for part in ("#cuts-bands", "#list tr[data-line='0']", "#row-answer", "#field-0"):
            box = page.locator(part).bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= 900, part
        assert not page.locator("#tree").is_visible()
        counts = rules.unseen_counts
        assert counts is not None
        shown = page.locator("#list .decides b.count").all_text_contents()
        assert shown == [f"{own:.0f} of {own + other:.0f}" for own, other in counts.tolist()]
        shares = [
            line.share if line.class_id == 0 else 1 - line.share for line in rules.lines if line.share is not None
        ]
        base, (let_pass, _, flagged) = counts[:, 0].sum() / counts.sum(), split_by_cuts(page, shares, counts)
        assert let_pass[0] / let_pass.sum() <= base / 2
        assert flagged[0] / flagged.sum() >= min(2 * base, 0.5)
        for low, high in ((10, 50), (0, 100), (40, 41)):
            page.locator("#cuts-low").fill(str(low))
            page.locator("#cuts-high").fill(str(high))
            page.locator("#cuts-low").fill(str(low))
            bands = [0 if part <= low / 100 else 2 if part >= high / 100 else 1 for part in shares]
            rows = [sum(counts[place] for place, one in enumerate(bands) if one == band) for band in range(3)]
            told = page.locator("#cuts-bands b").all_text_contents()
            assert [int(text.rsplit(" ", 1)[1]) for text in told] == [int(np.sum(one)) for one in rows]
            missed, total = 0 if np.ndim(rows[0]) == 0 else int(rows[0][0]), int(counts[:, 0].sum())
            flagged = 0 if np.ndim(rows[2]) == 0 else int(rows[2][1])
            said = page.locator("#cuts-said").text_content()
            assert said.startswith(f"misses {missed} of {total} malignant · flags {flagged} that are not")
            by_hand = int(np.sum(rows[1]))
            not_priced = f", looking at {by_hand} by hand not counted" if by_hand else ""
            assert said.endswith(f"cost {5 * missed + flagged:,}{not_priced}")
        answered = page.evaluate(
            "(({ line }) => secateur.listNow().lines[line].share)(secateur.decide(secateur.entries()))"
        )
        assert answered is not None
        assert page.locator("#row-answer .action").text_content() in (
            " → let pass",
            " → look by hand",
            " → flag as malignant",
        )
        assert page.locator("#said-first").text_content() == page.locator("#said-right").text_content().split("\n")[0]
        piles = [one.get_attribute("class") for one in page.locator("#list tr[data-line] th").all()]
        assert piles == [f"pile band-{bands[place]}" for place in range(rules.n_lines)]
        assert page.locator(".example-only").is_visible()  # until a person types
        page.locator("#field-0").fill("1")
        assert not page.locator(".example-only").is_visible()


def test_a_case_is_asked_only_what_is_needed_and_answered_when_certain(browser: Any, tmp_path: Path) -> None:
    with measured_page(browser, tmp_path) as (rules, page):
        fields = page.evaluate("secateur.data.form.fields")
        data, rng = load_breast_cancer(), np.random.default_rng(0)
        for row in data.data[::60]:
            page.locator("#case-new").click()
            known: dict[int, float] = {}
            while page.locator(".field.next").count():
                place = int(page.locator(".field.next").get_attribute("data-field"))
                assert place not in known, "nothing is asked twice"
                known[place] = float(np.float32(row[fields[place]["features"][0]]))
                page.locator(f"#field-{place}").fill(repr(known[place]))
                assert len(known) <= len(fields)
            label = rules.tree.class_names[int(rules.predict([row])[0])]
            assert page.locator("#row-answer h3").text_content() == label
            for _ in range(20):  # no completion gets another answer
                other = data.data[rng.integers(len(data.data))].copy()
                for place, value in known.items():
                    other[fields[place]["features"][0]] = value
                assert rules.predict([other])[0] == rules.predict([row])[0]


def test_a_locked_column_stays_and_a_link_and_a_letter_hold_the_case(browser: Any, tmp_path: Path) -> None:
    with measured_page(browser, tmp_path) as (_, page):
        entries = page.evaluate("secateur.entries()")
        ways = page.evaluate("secateur.nearestChanges(secateur.entries())")
        moved = ways[0]["changes"][0]["place"]
        page.locator(f"#field-{moved}-lock").check()
        for way in page.evaluate("secateur.nearestChanges(secateur.entries())"):
            assert moved not in [change["place"] for change in way["changes"]]
        page.locator(f"#field-{moved}").fill("99999")
        assert "Outside the training range" in page.locator("#row-said").inner_text()
        page.locator("#case-link").click()
        address = page.evaluate("location.href")
        assert "#case=" in address
        other = browser.new_page()
        other.goto(address)
        entries[moved] = 99999
        assert other.evaluate("secateur.entries()") == entries
        other.close()
        page.locator("#case-letter").click()
        letter = page.locator("#letter-text").input_value()
        assert letter.startswith(f"Answer: {page.locator('#row-answer h3').text_content()}")
        assert 1 <= letter.partition("The answer would")[0].count("\n- ") <= 5


def test_a_letter_of_the_page_writes_signs_as_words(open_report: Open) -> None:
    X = np.linspace(0, 100, 401)[:, None]
    model = DecisionTreeClassifier(random_state=0).fit(X, ((X[:, 0] > 30) & (X[:, 0] <= 60)).astype(int))
    tree = replace(secateur.from_model(model), column_parsers=(ColumnParser("number", unit="%"),))
    page = open_report(secateur.simplify(tree))
    page.locator("#field-0").fill("40")
    page.locator("#case-letter").click()
    letter = page.locator("#letter-text").input_value()
    assert "(the rule: x0 above 30.125 % and at most 60.125 %)" in letter
    assert "- x0 at most 30.125 %: 0" in letter


@pytest.mark.parametrize("size", [{"width": 1400, "height": 900}, PHONE])
def test_the_line_that_the_first_screen_names_is_marked_in_the_list(
    browser: Any, tmp_path: Path, size: dict[str, int]
) -> None:
    with measured_page(browser, tmp_path, size) as (rules, page):
        ranked = [
            (float(share), place)
            for place, (share, rows) in enumerate(zip(rules.shares[:, 0], rules.unseen.support, strict=True))
            if rows >= 5
        ]
        top = [place for share, place in ranked if f"{share:.1%}" == f"{max(ranked)[0]:.1%}"]
        said = page.locator("#said-top")
        numbers = re.match(r"Lines? ([\d, and]+?) states? the highest probability", said.text_content())
        assert numbers is not None
        assert [int(one) - 1 for one in re.findall(r"\d+", numbers[1])] == top
        assert said.bounding_box()["y"] + said.bounding_box()["height"] < size["height"]
        marked = page.locator("#list tr[data-line]:has(.top-mark)")
        show_all_lines(page)
        assert [int(one.get_attribute("data-line")) for one in marked.all()] == top
        assert set(marked.locator(".top-mark").all_text_contents()) == {"highest probability of malignant"}
        said.locator("a").click()
        assert page.locator(f"#list tr[data-line='{top[0]}'] .why-line").evaluate(
            "one => one === document.activeElement"
        )
        box = page.locator(f"#at-{top[0] + 1}").bounding_box()
        assert 0 <= box["y"] < size["height"]


def count_printed(page: Any, path: Path) -> int:
    page.pdf(path=path, format="A4")
    return path.read_bytes().count(b"/Type /Page\n")


@pytest.mark.parametrize("given", [{}, {"tolerance": 0.02, "sections": 1}])
def test_a_list_of_64_leaves_prints_on_one_page_beside_its_case(
    browser: Any, tmp_path: Path, given: dict[str, Any]
) -> None:
    X, y = make_classification(3000, 12, n_informative=8, flip_y=0.2, random_state=0)
    model = DecisionTreeClassifier(max_leaf_nodes=64, random_state=0).fit(X, y)
    names = [f"measure {place}" for place in range(12)]
    rules = secateur.simplify(model, X, y, feature_names=names, class_names=["repaid", "default"], **given)
    path = tmp_path / "long.html"
    make_report(rules, target="outcome").save(path)
    with quiet_page(browser, path) as page:
        assert count_printed(page, tmp_path / "long.pdf") == 2
        assert page.locator("#list tr[data-line]").count() == rules.n_lines >= 36
        page.emulate_media(media="print")
        own = "all => all.map((e) => parseFloat(getComputedStyle(e).fontSize))"
        sizes = page.locator("#list .asks").evaluate_all(own)
        assert min(sizes) >= 7 * 96 / 72 - 0.01  # points


def test_the_list_and_the_case_print_on_two_pages_and_2000_leaves_on_five(browser: Any, tmp_path: Path) -> None:
    with measured_page(browser, tmp_path) as (_, page):
        assert count_printed(page, tmp_path / "desk.pdf") == 2
    path = tmp_path / "large.html"
    make_report(large_rules()[1]).save(path)
    with quiet_page(browser, path) as page:
        assert count_printed(page, tmp_path / "large.pdf") <= 5
