"""The page as text: nothing executes but its own script, nothing is lost, and it reads without JavaScript."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import exported_rules
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines
from secateur.report import Report, make_report
from secateur.report.page import _unbroken
from secateur.results.answer import describe_rows
from secateur.tree.columns import show_text
from secateur.words.plain_words import format_asked


class Reader(HTMLParser):
    """Collects the elements of a page, and the text of some of them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "input", "link", "br", "img", "col"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, text: str) -> None:
        self.texts.append((tuple(self._open), text))

    def inside(self, tag: str) -> list[str]:
        return [text for opened, text in self.texts if tag in opened]


@cache
def cancer_rules() -> secateur.Rules:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    return secateur.simplify(model, X, y, method="faithful", each_leaf=True)


@cache
def cancer_report() -> Report:
    return make_report(cancer_rules(), title="Cancer")


@cache
def hostile_report(numbers: bool) -> Report:
    return make_report(exported_rules.hostile_rules(numbers=numbers), title="</title><script>alert(1)</script>")


def island_of(page: str) -> str:
    found = re.search(r'<script type="application/json" id="secateur-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("numbers", [True, False])
def test_hostile_names_come_back_whole_and_open_no_element(numbers: bool) -> None:
    report = hostile_report(numbers)
    page = report.to_html()
    reader = Reader(page)
    assert json.loads(island_of(page)) == json.loads(report.to_json()) == report.summary
    assert report.summary["classes"] == [show_text(name) for name in exported_rules.HOSTILE]
    tags = [tag for tag, _ in reader.tags]
    assert tags.count("script") == 2
    assert "img" not in tags
    assert set(tags) <= {tag for tag, _ in Reader(cancer_report().to_html()).tags} | {"label", "select", "option"}
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)
    assert reader.inside("title") == ["</title><script>alert(1)</script>"]
    assert not re.search("[<&\u2028\u2029]", island_of(page))


def test_the_policy_names_the_style_and_the_script_and_nothing_else() -> None:
    page = cancer_report().to_html()
    policy = next(a["content"] for tag, a in Reader(page).tags if tag == "meta" and "http-equiv" in a)

    def digest(pattern: str) -> str:
        found = re.search(pattern, page, re.DOTALL)
        assert found is not None
        return base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()

    style, script = digest("<style>(.*?)</style>"), digest("<script>(.*?)</script>")
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_nothing_points_outside_the_file() -> None:
    page = cancer_report().to_html()
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}
    links = [a["href"] for _, a in Reader(page).tags if "href" in a]
    assert links
    assert all((link or "").startswith("#") for link in links)
    assert not any("src" in attributes or "style" in attributes for _, attributes in Reader(page).tags)


def test_rules_and_reasons_read_without_javascript() -> None:
    report = cancer_report()
    page = report.to_html().replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'")
    rules = cancer_rules()
    struck = Reader(report.to_html()).inside("del")
    assert struck == [format_asked(rules, [link])[0] for rule in rules for link in rule.deleted_ids]
    static = page[: page.index('id="secateur-data"')]
    for rule in rules:
        assert all(asked in static for asked in format_asked(rules, rule.kept_ids))
        assert all(reason.text in static for reason in rule.reasons.values())
    listed = static[static.index('id="list"') : static.index('id="tree"')]
    for line in choose_lines(rules).lines:
        assert all(asked in listed for asked in (*line.heading, *line.asks))
    assert rules.guarantee in static


def test_the_rows_of_a_line_read_as_everywhere() -> None:
    """Rows, weights, the model's own counts, none: each in the words of the texts."""
    X, y = make_classification(1500, 4, weights=[0.8], flip_y=0.3, random_state=2)
    model = DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0).fit(X, y)
    named = {"class_names": ["well", "ill"]}
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:9], np.zeros(9, dtype=int))
    made = [
        secateur.simplify(model, X, y, **named),
        secateur.simplify(model, X, y, sample_weight=np.linspace(0.1, 2, len(y)), **named),
        secateur.simplify(model, **named),
        secateur.simplify(stump),
    ]
    told = set()
    for rules in made:
        page = make_report(rules).to_html()
        found = re.findall(r'<td class="decides">.*?<span>(.*?)</span>', page)
        words = [unescape(re.sub("<.*?>", "", one)) for one in found]
        assert words == [_unbroken(describe_rows(line)) for line in rules.lines]
        told |= {re.sub(r"[\d.,]+", "#", one) for one in words}
    assert any("; most of its rows are well" in one for one in told)
    for words in ("# of # ill in training; states #\u00a0%", "weight # of # ill in training; states #\u00a0%"):
        assert words in told
    for words in ("rows unknown; states #\u00a0%", "the model counts # of # #; states #\u00a0%"):
        assert words in told


def test_a_long_page_says_what_needs_javascript() -> None:
    X, y = make_classification(2000, 8, n_informative=6, flip_y=0.2, random_state=0)
    model = DecisionTreeClassifier(max_leaf_nodes=230, random_state=0).fit(X, y)
    rules = secateur.simplify(model)
    page = make_report(rules).to_html()
    assert "These are 60 of 230 rules; the others need JavaScript." in page
    assert f"… and {rules.n_lines - 60} more lines, which need JavaScript" in page


@pytest.mark.long
def test_a_page_of_2000_leaves_is_smaller_than_2_mb() -> None:
    X, y = make_classification(20_000, 20, n_informative=12, flip_y=0.2, random_state=0)
    model = DecisionTreeClassifier(max_leaf_nodes=2000, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y)
    assert rules.tree_rules == 2000
    assert len(make_report(rules).to_html().encode()) < 2_000_000


@pytest.mark.parametrize("method", ["exact", "mismatch", "budgeted"])
def test_a_report_of_64_rules_is_smaller_than_500_kb(method: str) -> None:
    X, y = make_classification(5000, 20, n_informative=12, flip_y=0.1, random_state=0)
    model = DecisionTreeClassifier(max_leaf_nodes=64, random_state=0).fit(X, y)
    names = [f"measured quantity {place}" for place in range(20)]
    rules = secateur.simplify(model, X, y, method=method, feature_names=names, each_leaf=True)
    page = make_report(rules).to_html()
    assert len(page.encode()) < 500_000


def test_save_keeps_a_file_that_exists(tmp_path: Path) -> None:
    report, path = cancer_report(), tmp_path / "page.html"
    report.save(path)
    assert path.read_text(encoding="utf-8") == report.to_html()
    path.write_text("precious")
    with pytest.raises(secateur.SecateurError, match=r"exists already\. Pass force=True"):
        report.save(path)
    assert path.read_text() == "precious"
    report.save(str(path), force=True)
    assert path.read_text(encoding="utf-8") == report.to_html()
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(secateur.SecateurError, match="file"):
        cancer_report().save(tmp_path / "file" / "page.html")


def test_a_notebook_shows_the_page_in_a_frame_of_its_own() -> None:
    report = cancer_report()
    ((tag, attributes),) = Reader(report._repr_html_()).tags
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == report.to_html()


def test_half_a_character_does_not_stop_a_page(tmp_path: Path) -> None:
    tree = secateur.TreeBuilder(classes=["a", "b\udc80"], feature_names=["x\ud800"])
    root = tree.split("x\ud800", 1)
    tree.leaf([1, 0], parent=root, side="left")
    tree.leaf([0, 1], parent=root, side="right")
    report = make_report(secateur.simplify(tree.build()))
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert json.loads(island_of(page))["classes"] == ["a", r"b\udc80"]


def test_a_condition_that_says_or_stands_in_brackets_beside_another() -> None:
    page = make_report(choose_lines(exported_rules.ward_rules())).to_html()
    assert '(<span class="asked">ward is A or B</span>)' in page
