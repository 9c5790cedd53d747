"""Edits in the page are those of Python: the same lines, the same rows, the same regions."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
import strategies
from browsing import CHROMIUM, quiet_page, wait_until
from drawing import PROFILE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from published import TABLES, fit_frame
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import InputError, ParameterError
from secateur.report import make_report
from secateur.report.desk import Desk, DeskServer, Training
from secateur.results.row_reading import read_rows
from secateur.rows.rows import apply_tree
from secateur.words.plain_words import format_asked

pytest.importorskip("playwright.sync_api", reason="playwright drives the browser and is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")

N_EDITS = {"quick": 10, "daily": 12, "thorough": 150}[PROFILE]  # journals of each table

PRICE = """(journal) => {
  try {
    const found = secateur.priceHere(journal);
    return { ...found, lines: found.list.lines, regions: secateur.changedRegions(found.list) };
  } catch (error) { return { error: error.message }; }
}"""


@st.composite
def edits(draw: st.DrawFn, rules: secateur.Rules) -> dict[str, Any]:
    kind = draw(st.sampled_from(["strike", "strike", "column", "answer", "without", "rounded"]))
    if kind == "rounded":
        return {"edit": "rounded"}
    number = draw(st.integers(1, rules.n_lines))
    tested = np.unique(rules.tree.feature[~rules.tree.is_leaf]).tolist()
    name = rules.tree.feature_name(draw(st.sampled_from(tested)))
    if kind == "answer":
        return {"edit": "answer", "line": number, "to": draw(st.sampled_from(rules.tree.classes.tolist()))}
    if kind == "without":
        return {"edit": "without", "column": name}
    return {"edit": "strike", "line": number} | ({"column": name} if kind == "column" else {})


@pytest.mark.long
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_page_edits_and_counts_as_python_does(browser: Any, tmp_path: Path, data: st.DataObject) -> None:
    tree = data.draw(strategies.trees(min_leaves=2))
    rows, y, _ = data.draw(strategies.labelled_rows(tree))
    new, truth, _ = data.draw(strategies.labelled_rows(tree, min_rows=3))
    repeated = [np.repeat(one, 5, axis=0) for one in (rows, tree.classes[y], new, tree.classes[truth])]
    asked = data.draw(st.sampled_from([{}, {"tolerance": 1}, {"sections": 3}, {"method": "mismatch"}]))
    rules = secateur.simplify(tree, repeated[0], repeated[1], **asked)
    try:
        rules = rules.measure(repeated[2], repeated[3])
    except InputError:
        return  # the drawn rows are the training rows
    path = tmp_path / "page.html"
    make_report(rules, budgets=()).save(path, force=True)
    with quiet_page(browser, path) as page:
        journal: list[dict[str, Any]] = []
        edited = rules
        for _ in range(3):
            one = data.draw(edits(edited))
            try:
                edited, said = edited.replay([one]), None
            except ParameterError as error:
                said = str(error)
            found = page.evaluate(PRICE, [*journal, one])
            assert ("error" in found) == (said is not None), (one, found, said)
            if said is not None:
                continue
            journal.append(one)
            assert [line["class"] for line in found["lines"]] == edited.class_ids.tolist()
            assert [line["kept"] for line in found["lines"]] == [list(line.kept_ids) for line in edited.lines]
            assert all(line["text"] in (None, own.text) for line, own in zip(found["lines"], edited.lines, strict=True))
            for kind, price in (("training", edited.price), ("unseen", edited.unseen_price)):
                assert price is not None
                told = found["price"].get(kind)
                if told is None:  # the new rows give every leaf its counts: they are the training rows again
                    continue
                assert told["left_out"] == 0
                assert told["rows"] == price.rows
                assert told["differs"] == price.differs
                assert told["caught"] == price.caught.tolist()
                assert told["lost"] == price.lost.tolist()
                assert (told.get("off"), told.get("largest")) == (price.off, pytest.approx(price.largest))
            decided = edited.class_ids[edited.apply(new)]
            for row, told_class in zip(new, decided.tolist(), strict=True):
                own = oracles.tree_class(tree, row)
                inside = [
                    one
                    for one in found["regions"]
                    if oracles.satisfies(tree, row, one["leaf"]) and oracles.satisfies(edited.tree, row, one["links"])
                ]
                expected = [(own, told_class)] if own != told_class else []
                assert [(one["tree"], one["list"]) for one in inside] == expected


@pytest.mark.drawn
@pytest.mark.parametrize("name", TABLES)
def test_the_page_edits_published_tables_as_python_does(browser: Any, tmp_path: Path, name: str, data_dir: str) -> None:
    rules, _, (aside, _) = fit_frame(name, data_dir)
    tree, random = rules.tree, np.random.default_rng(2)
    names = [tree.feature_name(feature) for feature in np.unique(tree.feature[~tree.is_leaf]).tolist()]
    path = tmp_path / "page.html"
    make_report(rules, budgets=()).save(path)
    rows = read_rows(rules, aside.iloc[random.choice(len(aside), 300, replace=False)])
    said = tree.leaf_class[apply_tree(tree, rows)].tolist()
    n_rounded = 0
    with quiet_page(browser, path) as page:
        for _ in range(N_EDITS):
            edited, journal = rules, list[dict[str, Any]]()
            for _ in range(int(random.integers(1, 4))):
                line = int(random.integers(1, edited.n_lines + 1))
                one: dict[str, Any] = [
                    {"edit": "strike", "line": line},
                    {"edit": "strike", "line": line, "column": str(random.choice(names))},
                    {"edit": "without", "column": str(random.choice(names))},
                    {"edit": "answer", "line": line, "to": tree.classes[int(random.integers(2))].item()},
                    {"edit": "rounded"},
                ][int(random.integers(5))]
                try:
                    edited = edited.replay([one])
                except ParameterError:
                    assert "error" in page.evaluate(PRICE, [*journal, one])
                else:
                    journal.append(one)
            if not journal:
                continue
            n_rounded += {"edit": "rounded"} in journal
            found = page.evaluate(PRICE, journal)
            assert [line["class"] for line in found["lines"]] == edited.class_ids.tolist()
            assert [line["kept"] for line in found["lines"]] == [list(line.kept_ids) for line in edited.lines]
            assert ("training" in found["price"]) == (name == "adult")  # of german, cells would be the table
            for kind, price in (("training", edited.price), ("unseen", edited.unseen_price)):
                told = found["price"].get(kind)
                assert price is not None
                if told is not None:
                    assert told["rows"] == price.rows
                    assert told["differs"] <= price.differs <= told["differs"] + told["left_out"]
                    assert all(
                        least <= one <= least + told["left_out"]
                        for least, one in zip(told["caught"] + told["lost"], [*price.caught, *price.lost], strict=True)
                    )
            if len(found["regions"]) > 500:
                continue  # the page says that there are more
            given = edited.class_ids[edited.find_lines(rows)].tolist()
            for row, own, now in zip(np.asarray(rows.matrix, dtype=float), said, given, strict=True):
                inside = [
                    (one["tree"], one["list"])
                    for one in found["regions"]
                    if oracles.satisfies(tree, row, one["leaf"]) and oracles.satisfies(edited.tree, row, one["links"])
                ]
                assert inside == ([(own, now)] if own != now else [])
    assert n_rounded


def cancer_rows() -> tuple[Any, ...]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, y, slice(0, 400), slice(400, None)


def test_edits_are_made_undone_and_saved_by_hand(browser: Any, tmp_path: Path) -> None:
    X, y, seen, new = cancer_rows()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[seen], y[seen])
    rules = secateur.simplify(model, X[seen], y[seen], class_names=["malignant", "benign"])
    path = tmp_path / "page.html"
    rules.report(X[new], y[new], target="diagnosis").save(path)
    with quiet_page(browser, path) as page:
        before = page.locator("#list tr[data-line]").count()
        page.locator("#edits > summary").click()
        assert "to store them would be to store the table" in page.locator("#edit-note").inner_text()
        page.locator("#edit-kind").select_option("strike")
        page.locator("#edit-reason").fill("too few rows")
        page.locator("#edit-form button").click()
        assert page.locator("#list tr[data-line]").count() == before - 1
        assert "does not know" in page.locator("#edit-price").inner_text()
        page.locator("#edit-where > summary").click()
        assert page.locator("#edit-regions li").count() > 0
        page.locator("#edit-kind").select_option("rounded")
        page.locator("#edit-form button").click()
        edited = rules.strike(0).rounded()
        shown = page.locator("#list .asks .asked").all_text_contents()
        assert len(edited.sections) == 1
        assert shown == [asked for line in edited for asked in format_asked(edited, line.kept_ids)]
        assert page.evaluate("secateur.listNow().limit") == [
            None if not np.isfinite(limit) else limit for limit in edited.tree.upper.tolist()
        ]
        with page.expect_download() as saved:
            page.locator("#edit-save").click()
        content = json.loads(Path(saved.value.path()).read_text())
        assert [one["edit"] for one in content["journal"]] == ["strike", "rounded"]
        assert content["journal"][0] == edited.journal[0].to_dict() | {"reason": "too few rows"}  # with what it was
        shallow = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[seen], y[seen])
        other = secateur.simplify(shallow, X[seen], y[seen], class_names=["malignant", "benign"])
        with pytest.raises(InputError, match="it was made for another list"):
            other.replay(content["journal"])
        assert rules.replay(content["journal"]).class_ids.tolist() == edited.class_ids.tolist()
        page.locator("#edit-undo").click()
        page.locator("#edit-undo").click()
        assert page.locator("#list tr[data-line]").count() == before
        assert page.locator("#edit-undo").is_disabled()
        page.locator("#edit-kind").select_option("answer")
        page.locator("#edit-to").select_option(str(rules.class_ids[0]))
        page.locator("#edit-form button").click()
        assert "already" in page.locator("#edit-wrong").inner_text()


def test_the_served_page_edits_with_the_rows_behind_it(browser: Any) -> None:
    X, y, seen, new = cancer_rows()

    def train(without: list[str]) -> Training:
        columns = [one for one in X.columns if one not in without]
        model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[columns][seen], y[seen])
        rules = secateur.simplify(model, X[columns][seen], y[seen], class_names=["malignant", "benign"])
        groups = pd.Series(np.where(X["mean radius"][new] > 15, "large", "small"), name="size")
        page = {"target": "diagnosis", "groups_by": groups}
        return Training("without some" if without else "all", rules, X[columns][new], y[new], tuple(columns), page)

    desk = Desk([train([])], train)
    with DeskServer(desk) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        with quiet_page(browser, server.address) as page:
            rules = desk.trainings[0].rules.measure(X[new], y[new])
            page.locator("#edits > summary").click()
            page.locator("#edit-form button").click()
            price = rules.strike(0).price
            assert price is not None
            told = page.locator("#edit-price li").first
            told.wait_for()
            assert told.inner_text().startswith(f"{price.differs:.0f} of 400 training rows")
            page.locator("#edit-kind").select_option("limit")
            page.locator("#edit-lines").fill("2")
            page.locator("#edit-form button").click()
            wait_until(page, "document.querySelectorAll('#list tr[data-line]').length === 2")
            page.locator("#groups > summary").click()
            assert "large" in page.locator("#groups-table").inner_text()
            page.locator("#trainings > summary").click()
            page.locator("#refit-columns input").first.uncheck()
            used = rules.tree.feature_name(int(rules.tree.feature[0]))
            page.locator(f"#refit-columns input[value='{used}']").uncheck()
            page.locator("#refit button[type=submit]").click()
            page.wait_for_url("**/1/")
            page.locator("#trainings > summary").click()
            page.locator("#beside-show").click()
            page.locator("#beside-told").wait_for()
            assert "change their answer" in page.locator("#beside-told").inner_text()
            assert page.locator(".pair pre").count() == 2
        server.shutdown()
        thread.join()


def test_a_list_of_many_classes_has_an_index_and_a_search(browser: Any, tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y)
    path = tmp_path / "page.html"
    rules.report(target="digit", budgets=()).save(path)
    with quiet_page(browser, path) as page:
        shown = page.locator("#list tr[data-line]")
        page.locator("#list-index button", has_text="7").first.click()
        expected = [line.index for line in rules.lines if line.prediction == 7]
        assert [int(one.get_attribute("data-line")) for one in shown.all()] == expected
        page.locator("#list-index button").first.click()
        name = rules[0].conditions[0].name
        page.locator("#list-search").fill(name)
        found = [int(one.get_attribute("data-line")) for one in shown.all()]
        assert found
        assert len(found) < rules.n_lines
        assert all(name in rules.lines[line].words for line in found)
        page.locator("#list-search").fill("no such word")
        assert "No line has all these words" in page.locator("#list").inner_text()


def test_a_line_is_edited_from_its_own_place(browser: Any, tmp_path: Path) -> None:
    X, y, seen, _ = cancer_rows()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[seen], y[seen])
    path = tmp_path / "page.html"
    secateur.simplify(model, X[seen], y[seen]).report().save(path)
    with quiet_page(browser, path) as page:
        page.locator("#list .why-line").nth(1).click()
        page.locator("#list .opened button", has_text="Edit it").click()
        assert page.evaluate("document.activeElement.id") == "edit-kind"
        assert page.locator("#edit-line").input_value() == "2"
