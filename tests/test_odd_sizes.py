"""Trees of odd shape: ten thousand classes, and a chain that is as deep as it has leaves."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import secateur
from secateur.choosing import choose_lines
from secateur.results.audit import _find_precision_recall
from secateur.results.statistics import find_distances
from secateur.tree.tree import make_tree

MANY_CLASSES = """
import resource
import numpy as np
import secateur
K, L = 10_000, 32
X, y = np.arange(3 * K, dtype=float)[:, None] % L, np.arange(3 * K) % K
builder = secateur.TreeBuilder(classes=list(range(K)), feature_names=["a"])
waiting = [(0, L, {})]
while waiting:
    low, high, place = waiting.pop()
    if high - low == 1:
        builder.leaf(np.bincount(y[X[:, 0] == low], minlength=K), **place)
    else:
        middle = (low + high) // 2
        node = builder.split("a", middle - 0.5, **place)
        waiting += [(middle, high, {"parent": node, "side": "right"}), (low, middle, {"parent": node, "side": "left"})]
rules = secateur.simplify(builder.build(), X, y, each_leaf=True)
for some in (rules, secateur.simplify(builder.build(), X, y)):
    assert secateur.Rules.from_json(some.to_json()) == some
    assert some.verify().ok
    assert len(str(some)) > 1000
    assert some.audit(X, y).tree_accuracy > 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts memory as Linux does")
def test_ten_thousand_classes_take_less_than_two_gigabytes() -> None:
    ended = subprocess.run([sys.executable, "-c", MANY_CLASSES], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 2_000_000  # kB; it was 5.5 GB when there were tables of all pairs of classes


@pytest.fixture
def low_stack() -> Iterator[int]:
    """How many calls deep the test may go: fewer than Python allows, for a list of 1,500 leaves takes minutes."""
    usual, depth = sys.getrecursionlimit(), 250
    sys.setrecursionlimit(len(inspect.stack(0)) + depth)
    yield depth
    sys.setrecursionlimit(usual)


@pytest.mark.long
def test_a_chain_deeper_than_pythons_stack_is_written_read_and_verified(low_stack: int) -> None:
    n_splits = low_stack + 50
    place = np.arange(2 * n_splits + 1)
    is_split = (place % 2 == 0) & (place < 2 * n_splits)
    counts = np.where(place[:, None] // 2 % 2 == np.arange(2), 5.0, 1.0)
    tree = make_tree(
        children_left=np.where(is_split, place + 1, -1),
        children_right=np.where(is_split, place + 2, -1),
        feature=np.where(is_split, place // 2 % 10, -1),
        threshold=np.where(is_split, place // 20, np.nan),
        missing_left=[False] * len(place),
        leaf_class=np.where(is_split, -1, counts.argmax(axis=1)),
        counts=_add_up(counts, is_split),
        classes=["no", "yes"],
        n_features=10,
        accepts_missing=[False] * 10,
    )
    rules = secateur.simplify(tree, method="exact", each_leaf=True)
    again = secateur.Rules.from_json(rules.to_json())
    assert again.deleted.tolist() == rules.deleted.tolist()
    assert again.verify().ok
    assert secateur.Tree.from_json(tree.to_json()) == tree
    short = choose_lines(rules)
    assert secateur.Rules.from_json(short.to_json()).verify().ok
    assert short.to_text(nested=True).count("else:") > low_stack // 2


def _add_up(counts: np.ndarray, is_split: np.ndarray) -> np.ndarray:
    """Give each split of a chain the rows of its two children."""
    counts = counts.copy()
    for node in np.flatnonzero(is_split)[::-1]:
        counts[node] = counts[node + 1] + counts[node + 2]
    return counts


def test_what_needs_no_table_of_all_pairs_is_what_the_table_gives() -> None:
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 7):
        truth, predicted = rng.integers(0, n_classes, (2, 50))
        weights, table = rng.random(50), np.zeros((n_classes, n_classes))
        np.add.at(table, (truth, predicted), weights)
        with np.errstate(invalid="ignore"):
            expected = [np.nan_to_num(100 * np.diag(table) / total) for total in (table.sum(axis=0), table.sum(axis=1))]
        found = _find_precision_recall(truth, predicted, weights, n_classes)
        np.testing.assert_allclose(found, expected, atol=1e-9)
        one, other = rng.dirichlet(np.ones(n_classes), 4), rng.dirichlet(np.ones(n_classes), 5)
        rows, columns = rng.integers(0, 4, 30), rng.integers(0, 5, 30)
        apart = np.abs(one[rows] - other[columns]).sum(axis=1) / 2
        np.testing.assert_allclose(find_distances(one, rows, other, columns), apart, atol=1e-12)
