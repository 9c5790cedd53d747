"""Compiled and plain kernels give the same answers, and small trees never load numba."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import strategies
from hypothesis import given, settings

from secateur import compiled
from secateur.annotation import annotate
from secateur.tree import Tree


@pytest.mark.parametrize("kernel", ["delete_links", "delete_features"])
@given(tree=strategies.trees(max_leaves=16))
@settings(max_examples=60, deadline=None)
def test_compiled_and_plain_deletion_agree(kernel: str, tree: Tree) -> None:
    notes = annotate(tree)
    plain = compiled.run_deletion(kernel, tree, notes)
    assert np.array_equal(plain, run_compiled(kernel, tree, notes, np.zeros(len(notes.links), dtype=bool)))


@given(tree=strategies.trees(max_leaves=16))
@settings(max_examples=60, deadline=None)
def test_compiled_and_plain_witnesses_agree(tree: Tree) -> None:
    notes = annotate(tree)
    deleted = compiled.run_deletion("delete_links", tree, notes)
    for by_feature in (False, True):
        plain = compiled.run_witnesses(tree, notes, deleted, by_feature=by_feature)
        witness = np.full(len(notes.links), -1, dtype=np.int64)
        assert np.array_equal(plain, run_compiled("find_witnesses", tree, notes, deleted.copy(), by_feature, witness))


def test_many_categories_need_several_words() -> None:
    """More than 64 categories: the left set of the split spans words."""
    from secateur import TreeBuilder, simplify

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
    assert [rule.text for rule in simplify(tree, method="exact")] == [
        "x <= 0 => a",
        "x > 0 => b",
        "x <= 0 => a",
        "x > 0 => b",
    ]
    notes = annotate(tree)
    deleted = np.zeros(len(notes.links), dtype=bool)
    assert run_compiled("delete_links", tree, notes, deleted).tolist() == [True, False] * 4


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


def run_compiled(kernel: str, tree: Tree, notes: object, *state: object) -> np.ndarray:  # type: ignore[type-arg]
    module = compiled.compiled_kernels()
    walk, box = compiled.make_walkable(tree, notes), compiled.make_box(tree)  # type: ignore[arg-type]
    getattr(module, kernel)(walk, box, notes.offsets, notes.links, notes.leaf_class, *state)  # type: ignore[attr-defined]
    return np.asarray(state[-1])
