"""The case in the page: its answer, its grounds and what would change it are those of Python, for any tree.

What Python says is compared with a search over all values elsewhere: tests/results/test_changes.py for drawn trees, and
tests/rules/test_published_cases.py for published tables.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from browsing import CHROMIUM, quiet_page
from drawing import PROFILE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from published import TABLES, fit_frame

import secateur
from secateur.errors import ParameterError
from secateur.report import make_report
from secateur.results.row_reading import Change, find_changes, read_rows
from secateur.rows.rows import Rows
from secateur.tree.tree import Tree

pytest.importorskip("playwright.sync_api", reason="playwright drives the browser and is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")

N_CASES = {"quick": 10, "daily": 50, "thorough": 200}[PROFILE]  # of each table

CASES = """([rows, locks]) => rows.map((row, at) => {
  secateur.locked.clear();
  for (const place of locks[at]) secateur.locked.add(place);
  const found = secateur.decide(row);
  const rule = secateur.data.rules.findIndex((one) => one.leaf === found.leaf);
  return {
    line: found.line, class: found.class, leaf: found.leaf, grounds: secateur.keptLinks(rule),
    joined: secateur.joinWays(secateur.nearestChanges(row)),
    ways: secateur.nearestChanges(row).map((way) => [way.leaf, way.class, way.entries]),
  };
})"""


def enter(field: dict[str, Any], row: Any) -> float | None:
    """What a row holds, as an entry of the form."""
    if field["kind"] == "group":
        return next(
            (place for place, feature in enumerate(field["features"]) if row[feature] == 1), len(field["labels"])
        )
    value, n_labels = float(row[field["features"][0]]), len(field["labels"])
    if math.isnan(value):
        return None
    return value if field["kind"] == "number" or value in range(n_labels) else n_labels


Asked = dict[str, tuple[float, float, Any, bool]]  # by column: limits, codes, and whether a missing value will do


def of_page(way: dict[str, Any], fields: list[dict[str, Any]]) -> tuple[int, Asked]:
    rooms = {fields[change["place"]]["name"]: change["room"] for change in way["changes"]}
    return way["class"], {
        name: (room["low"], room["high"], None, room["missing"])
        if room["codes"] is None
        else (-math.inf, math.inf, room["codes"], room["missing"])
        for name, room in rooms.items()
    }


def of_python(change: Change, tree: Tree) -> tuple[int, Asked]:
    return tree.classes.tolist().index(change.prediction), {
        name: (region.low, region.high, None if region.codes is None else sorted(region.codes), region.missing)
        for name, region in zip(change.columns, change.regions, strict=True)
    }


def compare(page: Any, rules: secateur.Rules, rows: Any, random: np.random.Generator) -> list[int]:
    """Compare the page with Python for some rows, with columns locked at random; count the columns that change."""
    tree, leaf_ids = rules.tree, rules.paths.leaf_ids.tolist()
    rows = read_rows(rules, rows).matrix
    fields = page.evaluate("secateur.data.form.fields")
    entries = [[enter(field, row) for field in fields] for row in rows]
    locks = [random.permutation(len(fields))[: int(random.integers(0, min(3, len(fields))))].tolist() for _ in rows]
    lines = rules.find_lines(Rows.of(rows)).tolist()
    found = page.evaluate(CASES, [entries, locks])
    sizes = []
    for row, entered, locked, line, told in zip(rows, entries, locks, lines, found, strict=True):
        leaf = oracles.walk(tree, row)
        assert (told["line"], told["class"], told["leaf"]) == (line, rules.class_ids[line], leaf)
        assert told["grounds"] == list(rules.each_leaf[leaf_ids.index(leaf)].kept_ids)
        changes = find_changes(rules, row, [fields[place]["name"] for place in locked])
        ways = [of_page(way, fields) for way in told["joined"]]
        assert len(ways) == len(changes)
        assert all(of_python(change, tree) in ways for change in changes)
        for reached, own, made in told["ways"]:  # what "try it" enters
            other = np.array(row, dtype=float)
            for field, entry in zip(fields, made, strict=True):
                parts = [float(place == entry) for place in range(len(field["features"]))]
                other[field["features"]] = parts if field["kind"] == "group" else math.nan if entry is None else entry
            assert oracles.walk(tree, other) == reached
            assert tree.leaf_class[reached] == own != tree.leaf_class[leaf]
            assert all(made[place] == entered[place] for place in locked)
        sizes.append(len(changes[0].columns) if changes else 0)
    return sizes


@pytest.mark.long
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_case_of_any_tree_is_explained_as_in_python(browser: Any, tmp_path: Path, data: st.DataObject) -> None:
    tree = data.draw(strategies.trees(min_leaves=2, max_leaves=10, n_features=3))
    rows, y, _ = data.draw(strategies.labelled_rows(tree))
    rules = secateur.simplify(tree, rows, tree.classes[y], sections=data.draw(st.sampled_from(["auto", 1])))
    path = tmp_path / "page.html"
    make_report(rules, budgets=()).save(path, force=True)
    drawn = data.draw(strategies.rows(tree, 5, 10))
    with quiet_page(browser, path) as page:
        compare(page, rules, drawn, np.random.default_rng(0))


def complete(tree: Tree, row: Any, unknown: list[int]) -> Any:
    """The row with each value in its unknown columns that the tree tells apart."""
    kind = np.dtype(tree.dtype).type
    values = []
    for feature in unknown:
        known = [math.nan] if tree.accepts_missing[feature] else []
        levels = tree.categories[feature]
        limits = np.unique(tree.upper[(tree.feature == feature) & ~tree.is_leaf]) if levels is None else ()
        with np.errstate(over="ignore"):
            known += [value for limit in limits for value in (limit, float(np.nextafter(kind(limit), kind(np.inf))))]
        known += [0.0] if levels is None else list(range(len(levels) + 1))  # also beside a limit of infinity
        values.append([value for value in known if not math.isinf(value)])
    made = np.array([row] * math.prod(map(len, values)))
    made[:, unknown] = list(itertools.product(*values))
    return made.astype(tree.dtype)


@pytest.mark.long
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_case_is_certain_if_and_only_if_all_its_completions_agree(
    browser: Any, tmp_path: Path, data: st.DataObject
) -> None:
    tree = data.draw(strategies.trees(min_leaves=2, max_leaves=10, n_features=3))
    rows, y, _ = data.draw(strategies.labelled_rows(tree, min_rows=5))
    form = data.draw(st.sampled_from([{}, {"sections": 1}, {"budget": 0.2}, {"method": "mismatch"}, {"tolerance": 1}]))
    rules = secateur.simplify(tree, rows, tree.classes[y], **form)
    path = tmp_path / "page.html"
    make_report(rules, budgets=()).save(path, force=True)
    edit = {"edit": "strike", "line": 1}
    with quiet_page(browser, path) as page:
        fields = page.evaluate("secateur.data.form.fields")
        if data.draw(st.booleans()):
            try:
                rules = rules.replay([edit])
                page.evaluate("(edit) => secateur.showEdited([edit])", edit)
            except ParameterError:
                pass  # the only "otherwise"
        for row in read_rows(rules, data.draw(strategies.rows(tree, 3, 6))).matrix:
            unknown = data.draw(st.lists(st.sampled_from(range(len(fields))), min_size=1, unique=True))
            columns = [fields[place]["features"][0] for place in unknown]
            entries = [enter(field, row) for field in fields]
            told = page.evaluate(
                "([row, unknown]) => { for (const at of unknown) row[at] = undefined; return secateur.findOpen(row); }",
                [entries, unknown],
            )
            lines = set(rules.find_lines(Rows.of(complete(tree, row, columns))).tolist())
            assert set(told["lines"]) == lines
            assert set(told["classes"]) == set(rules.class_ids[list(lines)].tolist())
            assert (told["next"] is None) == (len(told["classes"]) == 1)
            assert told["next"] is None or told["next"] in unknown


@pytest.mark.drawn
@pytest.mark.parametrize("name", TABLES)
def test_cases_of_published_tables_are_explained_as_in_python(
    browser: Any, tmp_path: Path, name: str, data_dir: str
) -> None:
    rules, _, (aside, _) = fit_frame(name, data_dir)
    path = tmp_path / "page.html"
    make_report(rules, budgets=()).save(path, force=True)
    random = np.random.default_rng(0)
    with quiet_page(browser, path) as page:
        sizes = compare(page, rules, aside.iloc[random.choice(len(aside), N_CASES, replace=False)], random)
    assert {1, 2} <= set(sizes)
