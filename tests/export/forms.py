"""Rules of both forms with rows that try them: one rule for each leaf, and a list that ends in "otherwise"."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import strategies as st
from method_settings import own_settings
from probing_rows import METHODS, Probe, asked_rows, make_probe, probes

import secateur
from secateur.choosing import choose_lines
from secateur.tree.tree import Tree

__all__ = ["FORMS", "both_forms", "in_form", "list_probes", "list_settings", "probe_in_form", "probes_of"]

FORMS = ("each leaf", "list")
both_forms = pytest.mark.parametrize("form", FORMS)


def probes_of(form: str, *, max_rows: int = 25) -> st.SearchStrategy[Probe]:
    """Rules of one form, of every kind of tree and method, and rows that try them."""
    return list_probes(max_rows=max_rows) if form == "list" else probes(max_rows=max_rows)


@st.composite
def list_settings(draw: st.DrawFn, tree: Tree, method: str, *, has_rows: bool) -> dict[str, Any]:
    """Settings of a list: a budget where there are rows; sections and shares where lines are its own."""
    asked: dict[str, Any] = {"of": draw(st.sampled_from([None, *tree.classes.tolist()]))}
    if has_rows:
        asked["budget"] = draw(st.sampled_from([0.0, 0.0, 0.02, 0.2]))
    if method == "exact":
        asked["sections"] = draw(st.sampled_from(["auto", 1, 4]))
        asked["tolerance"] = draw(st.sampled_from([None, 0.02, 1]))
    return asked


@st.composite
def list_probes(draw: st.DrawFn, *, max_rows: int = 25) -> Probe:
    """Lists of every kind of tree, with any class that a leaf predicts as "otherwise", and rows that try them."""
    tree = draw(strategies.trees())
    X, y, _ = draw(strategies.labelled_rows(tree))
    # The rules of other methods may exceed a budget before it is spent.
    method = draw(st.sampled_from(["exact", "exact", "exact", *METHODS]))
    asked = draw(list_settings(tree, method, has_rows=method == "exact"))
    if method != "exact":
        asked |= own_settings(method, tolerance=0.2)
    otherwise = draw(st.sampled_from(["auto", *np.unique(tree.classes[tree.leaf_class[tree.is_leaf]]).tolist()]))
    rules = secateur.simplify(tree, X, tree.classes[y], method=method, otherwise=otherwise, **asked)
    return make_probe(rules, draw(asked_rows(rules, max_rows)))


def in_form(form: str, rules: secateur.Rules) -> secateur.Rules:
    """Rules of all leaves as they are, or the list of lines chosen from them."""
    return choose_lines(rules) if form == "list" else rules


def probe_in_form(form: str, probe: Probe) -> Probe:
    """The rows of a probe, answered by its rules or by the list of lines chosen from them."""
    return make_probe(in_form(form, probe.rules), probe.rows)
