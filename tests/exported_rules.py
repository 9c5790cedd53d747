"""Rule sets to export: a small one to read, and one whose names try to break out of where they are written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import secateur
from secateur.tree.tree import make_tree

HOSTILE = (
    '"; DROP TABLE x;--',
    "</script><script>alert(1)</script>",
    '\'; DROP TABLE "rows"; --',
    "back\\slash\\' and `tick` and ]bracket[ and |bar|",
    "two\nlines\r\nand\ttab",
    "*/ DROP TABLE x; /* -- # coding: utf-7",
    "🌳 ünïcödé \u202e right to left",
    "%s {0} {{ jinja }} ${shell} $1 :name ?",
    "=cmd|' /C calc'!A0",
    "x" * 10_000,
    "trailing",
    "trailing ",
    " ",
    "\\N",
    "NULL",
    "__import__('os').system('false')",
    '""" + exec(\'1/0\') + """',
    "\\end{document}\\input{/etc/passwd} 100% $x^2_1$ {~}",
    "<!-- & &amp; &lt; --> [link](http://example.org) **bold** _it_ www.example.org",
)


def ward_rules(**changes: Any) -> secateur.Rules:
    """Three rules over a number and a category that may be missing."""
    tree = make_tree(
        children_left=[1, 2, -1, -1, -1],
        children_right=[4, 3, -1, -1, -1],
        feature=[0, 1, -1, -1, -1],
        threshold=[float(np.float32(0.8)), np.nan, np.nan, np.nan, np.nan],
        missing_left=[False] * 5,
        left_categories={1: [0, 1]},
        categories=[None, ("A", "B", "C")],
        leaf_class=[-1, -1, 1, 0, 0],
        counts=[[15, 4], [10, 4], [1, 3], [9, 1], [5, 0]],
        classes=["back", "home"],
        n_features=2,
        accepts_missing=[False, True],
        dtype="float32",
    )
    return secateur.simplify(replace(tree, feature_names=("age", "ward"), **changes), method="none", each_leaf=True)


def hostile_rules(*, numbers: bool = True) -> secateur.Rules:
    """A tree that asks for every hostile name once, as a column of numbers or of hostile categories."""
    n = len(HOSTILE)
    # A chain: node 2k asks for column k; its left child 2k + 1 is a leaf.
    left = [k + 1 if k % 2 == 0 and k < 2 * n else -1 for k in range(2 * n + 1)]
    right = [k + 2 if k % 2 == 0 and k < 2 * n else -1 for k in range(2 * n + 1)]
    feature = [k // 2 if side >= 0 else -1 for k, side in enumerate(left)]
    leaves = [k for k, side in enumerate(left) if side < 0]
    counts = np.zeros((2 * n + 1, n))
    for place, leaf in enumerate(leaves):
        counts[leaf, place % n] = place + 1
    for node in range(2 * n, -1, -1):
        if left[node] >= 0:
            counts[node] = counts[left[node]] + counts[right[node]]
    tree = make_tree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=[0.5 if numbers and side >= 0 else np.nan for side in left],
        missing_left=[False] * len(left),
        left_categories={} if numbers else {2 * k: [k] for k in range(n)},
        categories=[None if numbers else HOSTILE] * n,
        leaf_class=[-1 if side >= 0 else leaves.index(k) % n for k, side in enumerate(left)],
        counts=counts,
        classes=list(HOSTILE),
        n_features=n,
        accepts_missing=[False] * n,
        dtype="float32",
    )
    tree = replace(tree, feature_names=HOSTILE, class_names=HOSTILE)
    return secateur.simplify(tree, method="none", each_leaf=True)
