"""Pictures and small tables for notebooks: well-formed, escaped, and about every rule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import ParameterError
from secateur.export.html import write_notebook_table
from secateur.tree.tree import Tree

HOSTILE = "<b>&\"'\x00"
SVG = "{http://www.w3.org/2000/svg}"


def hostile_problem() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), X, y


NAMES = {"feature_names": [f"a{HOSTILE}", "b"], "class_names": [f"no{HOSTILE}", "yes"]}


def read(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def words_of(svg: str) -> str:
    return " ".join("".join(text.itertext()) for text in read(svg).iter(f"{SVG}text"))


def count_lines(svg: str) -> int:
    """How many lines have their rows beside them."""
    return len(re.findall(r"\d of [\d,]+ \S+ in training\b|\bno row in training\b", words_of(svg)))


def test_the_list_shows_every_rule_and_otherwise(tmp_path: Path) -> None:
    model, X, y = hostile_problem()
    rules = secateur.simplify(model, X, y, **NAMES)
    picture = rules.plot()
    assert count_lines(picture.svg) == len(rules.lines) == len(rules) + 1
    assert "otherwise" in words_of(picture.svg)
    picture.save(tmp_path / "list.svg")
    with pytest.raises(ParameterError, match=r"ends with \.svg, found '.*list\.png'"):
        picture.save(tmp_path / "list.png")
    assert [path.name for path in tmp_path.iterdir()] == ["list.svg"]
    assert (tmp_path / "list.svg").read_text(encoding="utf-8") == picture.svg == picture._repr_svg_()
    untold = words_of(secateur.simplify(model, **NAMES).plot().svg)
    assert f"{rules.n_lines} lines with {rules.n_conditions} conditions; the tree has " in untold, (
        "the title, without rows"
    )


def test_a_picture_shrinks_with_its_frame_and_wraps_the_names_of_classes() -> None:
    model, X, y = hostile_problem()
    names = ["a class whose name is far too long for one line", "yes"]
    svg = secateur.simplify(model, X, y, class_names=names).plot().svg
    assert "max-width:100%" in str(read(svg).get("style"))
    chips = [text for text in read(svg).iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    assert names[0] in " ".join("".join(text.itertext()) for text in chips)


def test_one_rule_for_each_leaf_is_drawn_too() -> None:
    model, X, y = hostile_problem()
    rules = secateur.simplify(model, X, y, method="none", each_leaf=True, **NAMES)
    each = words_of(rules.plot().svg)
    assert count_lines(rules.plot().svg) == len(rules.lines) == len(rules)
    assert "otherwise" not in each
    untold = words_of(secateur.simplify(model, method="none", each_leaf=True, **NAMES).plot().svg)
    assert f"One rule for each of {len(rules)} leaves, by none" in untold


@given(tree=strategies.trees(max_leaves=12))
@settings(max_examples=40, deadline=None)
def test_the_tree_is_drawn_whole_or_folded(tree: Tree) -> None:
    rules = secateur.simplify(tree, method="none", each_leaf=True)
    whole = read(rules.plot_tree(max_depth=None).svg)
    boxes = [one for one in whole.iter(f"{SVG}rect") if one.get("rx") == "8"]
    assert len(boxes) == tree.n_leaves
    assert len(list(whole.iter(f"{SVG}path"))) == tree.n_nodes - 1
    folded = read(rules.plot_tree(max_depth=1).svg)
    assert len(list(folded.iter(f"{SVG}path"))) == (2 if tree.n_nodes > 1 else 0)


@pytest.mark.parametrize("depth", [0, -1, 1.5, True, "3"])
def test_a_depth_that_is_none_is_rejected(depth: Any) -> None:
    model, X, y = hostile_problem()
    with pytest.raises(ParameterError, match="Expected max_depth as a whole number from 1 on"):
        secateur.simplify(model, X, y, each_leaf=True).plot_tree(depth)


def test_notebooks_show_tables_in_which_names_are_escaped() -> None:
    model, X, y = hostile_problem()
    rules, few = (secateur.simplify(model, X, y, each_leaf=each_leaf, **NAMES) for each_leaf in (True, False))
    loose = secateur.simplify(model, X, y, method="quinlan", each_leaf=True, **NAMES)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    trees = secateur.simplify(forest, X, y, each_leaf=True, **NAMES)
    shown = [
        *(rules, few, trees, rules.audit(X, y), few.audit(X, y), trees.audit(X, y), rules.verify(), few.verify()),
        *(one.explain(row) for one in (rules, few) for row in X[:6]),
        *(loose.overlaps(X), secateur.diagnose(model, X, y, **NAMES)),
        secateur.select(model, X, y, over="budget", grid=[0.0, 0.01], cv=2),
    ]
    for one in shown:
        html = one._repr_html_()
        assert "<table" in html or "No two rules" in html or one is trees, type(one)  # of a forest, two sentences
        assert '<b>&"' not in html, type(one)


def test_a_table_escapes_every_text() -> None:
    html = write_notebook_table(["<t>"], [["<c>"]], before=["<first>", "<second>"], after=["<last>"])
    for name in ("t", "c", "first", "second", "last"):
        assert f"&lt;{name}&gt;" in html
        assert f"<{name}>" not in html
