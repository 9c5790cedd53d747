"""The paper's procedures in plain steps that count what they do, at the sizes of its runtime study.

Section 4.4 of the paper counts operations, and so does this: seconds depend on the machine and the program. Counted are

- entries: nodes of the tree and (rule, edge) pairs, looked at once;
- trials: sets of conditions that are judged by the rows that satisfy them;
- row tests: a row for the mask of an edge, and a row for each mask that a trial intersects;
- comparisons: a condition on the path of a leaf of another class, held against what is left of a rule.

``python -m benchmarks.paper.operations`` counts into ./reproduction, beside what ``secateur reproduce runtime`` wrote.

M2-P judges no rows. Whoever passes rows to it gets the support and the reliability of its rules, and pays for them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import secateur
from secateur.lab.runtime import FIXED_LEAVES, FIXED_ROWS, LEAF_TARGETS, ROW_COUNTS, SEEDS, make_problem
from secateur.methods.contract import DEFAULT_TOLERANCE
from secateur.methods.quinlan import CERTAINTY_TOLERANCE, P_TOLERANCE
from secateur.rows.whole_files import write_whole
from secateur.tree.paths import trace_paths
from secateur.tree.shares import fisher_greater
from secateur.tree.tree import Tree

WITH_ROWS = "M2-P with rows"
ALPHA = 0.01


@dataclass
class Work:
    """What a procedure did, the bound that the paper gives for it, and what it deleted."""

    entries: int = 0
    trials: int = 0
    row_tests: int = 0
    comparisons: int = 0
    bound: int = 0
    deleted: set[tuple[int, int]] = field(default_factory=set)  # (leaf, edge)

    @property
    def operations(self) -> int:
        """All that was counted, but for trials, which consist of row tests."""
        return self.entries + self.row_tests + self.comparisons


class _Twin:
    """A tree, its training rows, and the count of what is done with them."""

    def __init__(self, tree: Tree, X: Any, y: Any, tolerance: float) -> None:
        self.tree, self.paths, self.tolerance = tree, trace_paths(tree), Fraction(str(tolerance))
        self.X, self.y = np.asarray(X, dtype=np.float32), np.asarray(y)
        self.lengths = np.diff(self.paths.offsets)
        self.masks: dict[int, NDArray[np.bool_]] = {}
        size = tree.n_nodes + len(self.paths.links)
        self.work = Work(entries=size, bound=size)

    def make_masks(self, bound: int) -> None:
        """Make the mask of every edge; the bound is that of the masks that trials intersect."""
        tree, paths = self.tree, self.paths
        for link in range(1, tree.n_nodes):
            goes_left = self.X[:, tree.feature[paths.parent[link]]] <= tree.threshold[paths.parent[link]]
            self.masks[link] = goes_left if paths.is_left[link] else ~goes_left
        self.work.row_tests += len(self.X) * (tree.n_nodes - 1)
        self.work.bound += len(self.X) * (tree.n_nodes - 1 + bound)

    def judge(self, links: list[int], class_id: int) -> tuple[int, int]:
        """Count the rows of the class that satisfy conditions, and all such rows."""
        inside = np.ones(len(self.X), dtype=bool)
        for link in links:
            inside &= self.masks[link]
        self.work.trials += 1
        self.work.row_tests += len(self.X) * len(links)
        return int(np.count_nonzero(self.y[inside] == self.tree.classes[class_id])), int(np.count_nonzero(inside))

    def shorten(self, find: Callable[[list[int], int, list[int]], list[int]], offered: NDArray[np.bool_]) -> Work:
        """Delete from every rule what is found for its edges from root to leaf, its class, and the edges on offer."""
        for rule, leaf in enumerate(self.paths.leaf_ids.tolist()):
            entries = self.paths.entries(rule)
            links = self.paths.links[entries]
            gone = find(links.tolist(), int(self.paths.leaf_class[rule]), links[offered[entries]].tolist())
            self.work.deleted |= {(leaf, link) for link in gone}
        return self.work


def _without(links: list[int], gone: list[int]) -> list[int]:
    return [link for link in links if link not in gone]


def _sibling_with_rows(twin: _Twin) -> Work:
    def find(links: list[int], class_id: int, offered: list[int]) -> list[int]:
        twin.judge(_without(links, offered), class_id)
        return offered

    twin.make_masks(len(twin.paths.links))
    return twin.shorten(find, twin.paths.sibling_certified)


def _mismatch(twin: _Twin) -> Work:
    suspects = twin.paths.mismatched & ~twin.paths.inside_h

    def find(links: list[int], class_id: int, offered: list[int]) -> list[int]:
        def is_within(gone: list[int]) -> bool:
            right, total = twin.judge(_without(links, gone), class_id)
            return abs(Fraction(right, total) - own) <= twin.tolerance

        right, total = twin.judge(links, class_id) if offered else (0, 0)
        if total == 0:
            return []
        own = Fraction(right, total)
        if is_within(offered):
            return offered
        gone: list[int] = []
        for link in reversed(offered):
            if is_within([*gone, link]):
                gone.append(link)
        return gone

    n_offered = np.bincount(twin.paths.rule, suspects, twin.paths.n_rules).astype(np.int64)
    twin.make_masks(int((twin.lengths * (n_offered + 2)).sum()))
    return twin.shorten(find, suspects)


def _quinlan(twin: _Twin) -> Work:
    def find(links: list[int], class_id: int, offered: list[int]) -> list[int]:
        kept = list(links)
        right, total = twin.judge(kept, class_id)
        while total and kept:
            found = [twin.judge(_without(kept, [link]), class_id) for link in kept]
            wide_right, wide_total = np.array(found, dtype=np.float64).T
            certainty = wide_right / wide_total
            p = fisher_greater(*np.broadcast_arrays(right, total, wide_right - right, wide_total - total))
            may_go = (certainty >= right / total - CERTAINTY_TOLERANCE) | (p > ALPHA * (1 + P_TOLERANCE))
            if not may_go.any():
                break
            best = may_go & (certainty == certainty[may_go].max())
            chosen = int(np.argmax(best & (p >= p[best].max() * (1 - P_TOLERANCE))))
            right, total = found[chosen]
            del kept[chosen]
        return _without(links, kept)

    twin.make_masks(int((twin.lengths**3).sum()))
    return twin.shorten(find, np.ones(len(twin.paths.links), dtype=bool))


def _redundancy(twin: _Twin) -> Work:
    tree, paths = twin.tree, twin.paths
    limits, column = tree.threshold[paths.parent], tree.feature[paths.parent].tolist()
    sides = np.stack([np.where(paths.is_left, -np.inf, limits), np.where(paths.is_left, limits, np.inf)], axis=1)
    rules = [paths.links[paths.entries(rule)].tolist() for rule in range(paths.n_rules)]

    def narrow(box: dict[int, tuple[float, float]], link: int) -> tuple[float, float]:
        low, high = box.get(column[link], (-np.inf, np.inf))
        return max(low, sides[link, 0]), min(high, sides[link, 1])

    def meets(box: dict[int, tuple[float, float]], path: list[int]) -> bool:
        for link in path:
            twin.work.comparisons += 1
            low, high = narrow(box, link)
            if low >= high:
                return False
        return True

    def find(links: list[int], class_id: int, offered: list[int]) -> list[int]:
        box: dict[int, tuple[float, float]] = {}
        for link in links:
            box[column[link]] = narrow(box, link)
        foreign = [path for path, label in zip(rules, paths.leaf_class, strict=True) if label != class_id]
        for feature in list(box):
            wider = {other: bounds for other, bounds in box.items() if other != feature}
            if not any(meets(wider, path) for path in foreign):
                box = wider
        return [link for link in links if column[link] not in box]

    twin.work.bound += paths.n_rules**2 * tree.depth**2
    return twin.shorten(find, np.ones(len(paths.links), dtype=bool))


PROCEDURES: dict[str, Callable[[_Twin], Work]] = {
    "M1-P": _mismatch,
    "M2-P": lambda twin: twin.shorten(lambda links, class_id, offered: offered, twin.paths.sibling_certified),
    WITH_ROWS: _sibling_with_rows,
    "Quinlan": _quinlan,
    "Izza": _redundancy,
}


def count_work(tree: Tree, X: Any, y: Any, procedure: str, tolerance: float = DEFAULT_TOLERANCE) -> Work:
    """Run a procedure in plain steps on the training rows of a tree, and count what it does."""
    return PROCEDURES[procedure](_Twin(tree, X, y, tolerance))


def run_operations(progress: Callable[[str], None], row_counts: tuple[int, ...] = ROW_COUNTS) -> list[dict[str, Any]]:
    """Count both panels of the runtime study: leaves at 2,048 rows, and rows at 32 leaves."""
    problems = [
        ("leaves", leaves, make_problem(seed, leaves, FIXED_ROWS, FIXED_ROWS), FIXED_ROWS)
        for leaves in LEAF_TARGETS
        for seed in SEEDS
    ]
    sources = [make_problem(seed, FIXED_LEAVES, ROW_COUNTS[0], max(row_counts)) for seed in SEEDS]
    problems += [("rows", n_rows, source, n_rows) for n_rows in row_counts for source in sources]
    found = []
    for panel, size, (model, X, y), n_rows in problems:
        tree = secateur.from_model(model)
        for procedure in PROCEDURES:
            work = vars(count_work(tree, X[:n_rows], y[:n_rows], procedure))
            counts = {name: number for name, number in work.items() if name != "deleted"}
            found.append({"panel": panel, "size": size, "method": procedure, "depth": tree.depth, **counts})
        progress(f"{size:,} {panel}")
    return found


if __name__ == "__main__":
    write_whole(Path("reproduction") / "operations.json", json.dumps(run_operations(print), indent=1))
