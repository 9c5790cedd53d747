"""The paper's lemma and theorems as properties of trees."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import oracles
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.tree import paths as paths_module
from secateur.tree import tree as tree_module
from secateur.tree.paths import trace_paths
from secateur.tree.tree import Tree


@given(tree=strategies.trees(n_classes=2))
@settings(max_examples=150, deadline=None)
def test_class_ratio_complementarity(tree: Tree) -> None:
    """If the share of class 1 rises into one child, it falls into the other (both non-empty)."""
    assert tree.counts is not None
    totals = tree.counts.sum(axis=1)
    paths = trace_paths(tree)
    assert paths.share is not None
    for link in range(1, tree.n_nodes):
        other, parent = paths.sibling[link], paths.parent[link]
        if totals[link] == 0 or totals[other] == 0:
            continue
        if paths.share[link, 1] > paths.share[parent, 1] + 1e-9:
            assert paths.share[other, 1] < paths.share[parent, 1]
            assert paths.share[other, 0] > paths.share[parent, 0]


@given(data=st.data(), tree=strategies.trees(max_leaves=8))
@settings(max_examples=100, deadline=None)
def test_joint_sibling_deletion(data: st.DataObject, tree: Tree) -> None:
    """Any set of links whose other child is a leaf of the class may go together, internal child or not."""
    grid = oracles.grid_rows(tree, limit=300)
    for leaf in oracles.leaves(tree):
        path = oracles.path(tree, leaf)
        certified = [
            link
            for link in path
            if tree.is_leaf[oracles.other_child(tree, link)]
            and tree.leaf_class[oracles.other_child(tree, link)] == tree.leaf_class[leaf]
        ]
        chosen = data.draw(st.sets(st.sampled_from(certified))) if certified else set()
        kept = [link for link in path if link not in chosen]
        for row in grid:
            if oracles.satisfies(tree, row, kept):
                assert oracles.tree_class(tree, row) == tree.leaf_class[leaf]


@given(tree=strategies.trees())
@settings(max_examples=150, deadline=None)
def test_annotations_equal_their_slow_versions(tree: Tree) -> None:
    check_annotations(tree, trace_paths(tree))
    large = replace(tree)  # nothing of it is computed yet
    with mock.patch.object(tree_module, "SMALL_TREE_NODES", 0):
        check_annotations(large, trace_paths(large))


def check_annotations(tree: Tree, paths: paths_module.Paths) -> None:
    assert paths.leaf_ids.tolist() == oracles.leaves(tree)
    for node in range(tree.n_nodes):
        classes = oracles.labels_below(tree, node)
        assert paths.homogeneous[node] == (classes.pop() if len(classes) == 1 else -1)
    for rule, leaf in enumerate(paths.leaf_ids.tolist()):
        span = paths.entries(rule)
        links = paths.links[span].tolist()
        assert links == oracles.path(tree, leaf)
        assert paths.homogeneous_top[leaf] == oracles.homogeneous_top(tree, leaf)
        assert paths.inside_h[span].tolist() == [oracles.inside_h(tree, leaf, link) for link in links]
        certified = [link for link, flag in zip(links, paths.sibling_certified[span], strict=True) if flag]
        assert certified == oracles.sib(tree, leaf)
        status = [
            "matched" if matched else "mismatched" if mismatched else "neutral"
            for matched, mismatched in zip(paths.matched[span], paths.mismatched[span], strict=True)
        ]
        assert status == [oracles.orientation(tree, link, tree.leaf_class[leaf]) for link in links]
