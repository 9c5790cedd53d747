"""Compiled and plain kernels give the same answers, and small trees never load numba."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from secateur import TreeBuilder, from_model, simplify
from secateur.counting.training_evidence import RowEvidence
from secateur.errors import InputError
from secateur.kernels import running, walks
from secateur.kernels.running import compile_module, is_soon_done
from secateur.methods import budgeted, row_mixture
from secateur.methods.budgeted import spend_budget
from secateur.rows import rows as rows_module
from secateur.rows.checking import check_rows
from secateur.rows.rows import LabelledRows, index_rows
from secateur.tree.paths import trace_paths
from secateur.tree.tree import Tree

about_the_compiler = pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="numba compiles nothing here")


@pytest.mark.parametrize("kernel", ["delete_links", "delete_features"])
@given(tree=strategies.trees(max_leaves=16))
@settings(max_examples=60, deadline=None)
def test_compiled_and_plain_deletion_agree(kernel: str, tree: Tree) -> None:
    paths = trace_paths(tree)
    plain, compiled = (run(running.run_deletion, kernel, tree, paths) for run in (run_plain, run_compiled))
    np.testing.assert_array_equal(plain, compiled)


@given(tree=strategies.trees(max_leaves=16))
@settings(max_examples=60, deadline=None)
def test_compiled_and_plain_witnesses_agree(tree: Tree) -> None:
    paths = trace_paths(tree)
    deleted = running.run_deletion("delete_links", tree, paths)
    for by_feature in (False, True):
        find = partial(running.run_witnesses, by_feature=by_feature)
        plain, compiled = (run(find, tree, paths, deleted) for run in (run_plain, run_compiled))
        np.testing.assert_array_equal(plain, compiled)


@pytest.mark.parametrize("by_feature", [False, True])
@given(tree=strategies.trees(max_leaves=10))
@settings(max_examples=100, deadline=None)
def test_a_witness_is_a_leaf_of_another_class_that_the_rule_would_meet(by_feature: bool, tree: Tree) -> None:
    paths = trace_paths(tree)
    deleted = running.run_deletion("delete_features" if by_feature else "delete_links", tree, paths)
    found = running.run_witnesses(tree, paths, deleted, by_feature=by_feature)
    tested = tree.feature[paths.parent]
    for entry in np.flatnonzero(~deleted).tolist():
        link, span = int(paths.links[entry]), paths.entries(int(paths.rule[entry]))
        kept = paths.links[span][~deleted[span]].tolist()
        rest = [one for one in kept if (tested[one] != tested[link] if by_feature else one != link)]
        foreign = [
            leaf
            for leaf in oracles.leaves(tree)
            if tree.leaf_class[leaf] != paths.leaf_class[paths.rule[entry]]
            and oracles.meets(tree, rest, oracles.path(tree, leaf))
        ]
        assert found[entry] in (foreign or [-1])


@given(
    problem=strategies.trees(max_leaves=8).flatmap(
        lambda tree: st.tuples(st.just(tree), strategies.labelled_rows(tree, weights=True, max_rows=20))
    ),
    budget=st.sampled_from([0.0, 0.1, 0.5]),
)
@settings(max_examples=60, deadline=None)
def test_a_budget_is_spent_alike_by_compiled_and_plain_walks(
    problem: tuple[Tree, tuple[Any, Any, Any]], budget: float
) -> None:
    tree, (X, y, weights) = problem
    for weight in (None, np.array(weights)):
        spent = []
        for most in (-1, sys.maxsize):
            with mock.patch.object(budgeted, "PLAIN_ENTRIES", most):
                spent.append(spend(tree, X, y, weight, budget))
        for name in spent[0]:
            np.testing.assert_array_equal(*(one[name] for one in spent), err_msg=name)


def spend(tree: Tree, X: Any, y: Any, weights: Any, budget: float, tolerance: float = 0.05) -> Any:
    """Spend a budget on the exact rules of a tree."""
    paths, rows = trace_paths(tree), check_rows(tree, X)
    deleted = running.run_deletion("delete_links", tree, paths)
    counted = RowEvidence(tree, rows, y, weights).count(paths, deleted)
    with mock.patch.object(row_mixture, "POOL_ROWS", 20):
        mixture = row_mixture.mix_rows(tree, paths, LabelledRows(rows, y, weights), 10)
    is_open = counted[1].sum(axis=1) > 0  # rules without rows have no reliability
    found, counts = spend_budget(tree, paths, mixture, counted, deleted, is_open, budget, tolerance)
    return {**vars(found), "counts": counts}


def test_more_rows_than_can_be_numbered_are_rejected() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 3)), rng.integers(0, 2, 400)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    with (
        mock.patch.object(row_mixture, "MOST_ROWS", 4_399),
        pytest.raises(
            InputError, match="on at most 4,399 rows, shuffled copies among them, but here are 4,400: pass a"
        ),
    ):
        simplify(model, X, y, method="budgeted", each_leaf=True)


@pytest.mark.parametrize("n_rows", [3, 32, 64, 65, 128])
def test_rows_that_only_a_missing_value_leads_to_cost_their_share(n_rows: int) -> None:
    """Behind two splits of one column there is only NaN, of another class than all around it."""
    builder = TreeBuilder(["no", "yes"], ["a", "f"], accepts_missing=["f"])
    root = builder.split("a", 0)
    builder.leaf([0, n_rows], parent=root, side="right")
    low = builder.split("f", 1, parent=root, side="left")
    builder.leaf([0, n_rows], parent=low, side="left")
    high = builder.split("f", np.inf, parent=low, side="right")
    builder.leaf([0, n_rows], parent=high, side="left")
    builder.leaf([n_rows, 0], parent=high, side="right")
    X = np.repeat([[1.0, 0.0], [-1.0, 0.0], [-1.0, 5.0], [-1.0, np.nan]], n_rows, axis=0)
    y = np.repeat([1, 1, 1, 0], n_rows)
    tree = builder.build()
    first = trace_paths(tree).links.tolist().index(int(tree.children_right[0]))
    for budget in (0.0, 0.1, 1.0):
        assert spend(tree, X, y, None, budget, 1.0)["deleted"][first] == (budget == 1.0)


@given(
    problem=strategies.trees(max_leaves=16).flatmap(
        lambda tree: st.tuples(st.just(tree), strategies.labelled_rows(tree, weights=False, max_rows=30))
    )
)
@settings(max_examples=60, deadline=None)
def test_every_node_has_the_run_of_rows_that_pass_it(problem: tuple[Tree, tuple[Any, Any, Any]]) -> None:
    tree, (X, _, _) = problem
    paths = trace_paths(tree)
    index = index_rows(tree, paths, check_rows(tree, X))
    with mock.patch.object(rows_module, "MANY_ROWS", 7):
        for whole, in_parts in zip(index, index_rows(tree, paths, check_rows(tree, X)), strict=True):
            assert np.array_equal(whole, in_parts)
    for node in range(tree.n_nodes):
        passing = [row for row in range(len(X)) if node in (0, *oracles.path(tree, oracles.walk(tree, X[row])))]
        assert sorted(index.order[index.first[node] : index.last[node]].tolist()) == passing


@about_the_compiler
def test_a_change_of_kernels_changes_the_name_in_the_cache() -> None:
    digest = hashlib.sha256(Path(walks.__file__).read_bytes()).hexdigest()[:12]
    assert compile_module(walks).find_above.py_func.__qualname__ == f"find_above_{digest}"


def test_a_set_of_130_categories_spans_several_words() -> None:
    levels = [f"level {number}" for number in range(150)]
    builder = TreeBuilder(["a", "b"], ["place", "x"], categories={"place": levels})
    root = builder.split_categories("place", levels[10:140], parent=None)
    low = builder.split("x", 0, parent=root, side="left")
    builder.leaf([3, 0], parent=low, side="left")
    builder.leaf([0, 3], parent=low, side="right")
    high = builder.split("x", 0, parent=root, side="right")
    builder.leaf([2, 0], parent=high, side="left")
    builder.leaf([0, 2], parent=high, side="right")
    tree = builder.build()
    assert [rule.text for rule in simplify(tree, method="exact", each_leaf=True)] == [
        "x <= 0 => a",
        "x > 0 => b",
        "x <= 0 => a",
        "x > 0 => b",
    ]
    paths = trace_paths(tree)
    assert run_compiled(running.run_deletion, "delete_links", tree, paths).tolist() == [True, False] * 4


@pytest.mark.parametrize("seed", range(20))
def test_sets_of_several_words_are_cut_as_single_categories_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = [f"level {number}" for number in range(150)]
    builder = TreeBuilder(["a", "b"], ["place"], categories={"place": levels})
    waiting: list[dict[str, Any]] = [{}]
    for _ in range(4):
        first, last = np.sort(rng.choice(150, 2, replace=False))  # neighbours, so that some words hold none of them
        root = builder.split_categories("place", levels[first : last + 1], **waiting.pop(0))
        waiting += [{"parent": root, "side": side} for side in ("left", "right")]
    for place in waiting:
        builder.leaf([1, 2] if rng.random() < 0.5 else [2, 1], **place)
    tree = builder.build()
    codes = np.arange(151.0)
    answers = np.array([oracles.tree_class(tree, (code,)) for code in codes])
    for rule in simplify(tree, method="exact", each_leaf=True):

        def implies(links: Any, c: int = int(tree.leaf_class[rule.leaf_id])) -> bool:
            return all(answers[int(code)] == c for code in codes if oracles.satisfies(tree, (code,), links))

        assert implies(rule.kept_ids)
        assert not any(implies([one for one in rule.kept_ids if one != link]) for link in rule.kept_ids)


def test_a_large_tree_is_walked_on_threads_as_in_plain_python() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 5)).round(1)
    y = (X[:, 0] * X[:, 1] + rng.standard_normal(3_000) > 0).astype(int)
    tree = from_model(DecisionTreeClassifier(random_state=0).fit(X, y))
    paths = trace_paths(tree)
    with mock.patch.object(running, "PART_ENTRIES", 1_000):
        plain, compiled = (run(running.run_deletion, "delete_links", tree, paths) for run in (run_plain, run_compiled))
        np.testing.assert_array_equal(plain, compiled)
        plain, compiled = (
            run(running.run_met, tree, paths, plain, np.arange(paths.n_rules)) for run in (run_plain, run_compiled)
        )
    np.testing.assert_array_equal(plain, compiled)


def test_who_walks_again_and_again_gets_compiled_code() -> None:
    for work, is_soon in ((3, True), (1, True), (1, False), (0, False)):
        assert is_soon_done("a walk of this test", work, 4) == is_soon
    assert is_soon_done("another walk of this test", 4, 4)


@pytest.mark.long
def test_a_small_tree_never_loads_numba() -> None:
    program = (
        "import sys, secateur\n"
        "from sklearn.datasets import load_iris\n"
        "from sklearn.tree import DecisionTreeClassifier\n"
        "X, y = load_iris(return_X_y=True)\n"
        "rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), method='exact')\n"
        "rules.to_json()\n"
        "sys.exit('numba' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def run_plain(run: Callable[..., Any], *arguments: Any) -> Any:
    """Walk in plain Python, however much was walked before."""
    with mock.patch.object(running, "PLAIN_ENTRIES", sys.maxsize):
        return run(*arguments)


def run_compiled(run: Callable[..., Any], *arguments: Any) -> Any:
    with mock.patch.object(running, "PLAIN_ENTRIES", -1):
        return run(*arguments)


def run_fresh(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh process, in which nothing is compiled yet."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )


ROUTE = """
import numpy as np
from secateur.kernels import routes
from secateur.kernels.running import compile_module, is_soon_done
goes_left = compile_module(routes).goes_left
print(goes_left(1.0, 2.0, False, -1, np.zeros(1, dtype=bool)))
"""


@pytest.mark.long
@about_the_compiler
def test_a_person_who_waits_for_the_compiler_is_told_once(tmp_path: Path) -> None:
    shown = "import sys; sys.stderr.isatty = lambda: True\n" + ROUTE
    cache = str(tmp_path)
    first, second = run_fresh(shown, NUMBA_CACHE_DIR=cache), run_fresh(shown, NUMBA_CACHE_DIR=cache)
    assert first.stdout == second.stdout == "True\n"
    assert first.stderr == "Compiling secateur.kernels.routes for this machine, once: some seconds …\n"
    assert second.stderr == "", "the second process finds the code that was kept"
    assert run_fresh(ROUTE, NUMBA_CACHE_DIR=str(tmp_path / "new")).stderr == "", "no terminal, nobody waits"


@pytest.mark.long
@about_the_compiler
def test_where_compiled_code_cannot_be_kept_it_is_said_once_and_goes_on() -> None:
    nowhere = "from numba.core import caching; caching.CacheImpl._locator_classes = []\n" + ROUTE
    found = run_fresh(nowhere)
    assert found.stdout == "True\n"
    assert found.stderr.count("set NUMBA_CACHE_DIR to a directory that can be written") == 1
