"""Slow, obvious versions of every procedure, to judge the fast ones by.

Plain loops over rows, links and leaves; nothing is shared with the library but the arrays of its ``Tree``. A link is
named by the id of its child node. ``X`` is a 2-D float matrix whose categorical columns hold codes; ``y`` holds indices
into ``tree.classes``; ``w`` is a list of weights or None. A *deletion* maps each leaf, in source order, to the list of
its deleted links, root to leaf.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import fisher_exact

from secateur.tree.tree import Tree

RF_TOL = 1e-12
CERTAINTY_TOL = 1e-12

Row = Sequence[float] | NDArray[Any]
Rows = NDArray[Any]
Labels = Sequence[int] | NDArray[Any]
Weights = Sequence[float] | None
Deletion = dict[int, list[int]]


# --- one row, one tree ------------------------------------------------------------------------------------------------


def goes_left(tree: Tree, node: int, value: float) -> bool:
    """Whether a value of the tested feature goes left at an internal node."""
    if math.isnan(value):
        return bool(tree.missing_left[node])
    levels = tree.categories[tree.feature[node]]
    if levels is not None:
        return category_code(value, len(levels)) in tree.left_codes(node).tolist()
    # Both sides as Python floats: numpy would round a Python float to the float32 that it is compared with.
    return rounded(tree, value) <= float(tree.threshold[node])


def category_code(value: float, n_levels: int) -> int:
    """The code that a cell stands for; whatever is not 0 to ``n_levels - 1`` is the unlisted code ``n_levels``."""
    return int(value) if value in range(n_levels) else n_levels


def rounded(tree: Tree, value: float) -> float:
    """The number of the tree's dtype that is nearest to a value."""
    return _nearest(tree.dtype, value)


@lru_cache(maxsize=10_000)  # rows hold few values, and each is asked for at every split
def _nearest(dtype: str, value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.dtype(dtype).type(value))


def walk(tree: Tree, row: Row) -> int:
    """Leaf that a row ends in."""
    node = 0
    while tree.children_left[node] >= 0:
        left = goes_left(tree, node, float(row[tree.feature[node]]))
        node = int(tree.children_left[node] if left else tree.children_right[node])
    return node


def tree_class(tree: Tree, row: Row) -> int:
    """Class that the tree itself predicts for a row."""
    return int(tree.leaf_class[walk(tree, row)])


# --- the shape of the tree --------------------------------------------------------------------------------------------


def leaves(tree: Tree) -> list[int]:
    """Leaves in source order: left to right."""
    found = []
    stack = [0]
    while stack:
        node = stack.pop()
        if tree.children_left[node] < 0:
            found.append(node)
        else:
            stack += [int(tree.children_right[node]), int(tree.children_left[node])]  # the left child is popped first
    return found


# The same tree is asked for its parents once per row and link, so the last answer is kept.
_last_parents: list[tuple[Tree, dict[int, int]]] = []


def parents(tree: Tree) -> dict[int, int]:
    """Parent of every node but the root."""
    if not _last_parents or _last_parents[0][0] is not tree:
        found = {}
        for node in range(tree.n_nodes):
            if tree.children_left[node] >= 0:
                found[int(tree.children_left[node])] = node
                found[int(tree.children_right[node])] = node
        _last_parents[:] = [(tree, found)]
    return _last_parents[0][1]


def is_left(tree: Tree, link: int) -> bool:
    """Whether a link leads to a left child."""
    return int(tree.children_left[parents(tree)[link]]) == link


def other_child(tree: Tree, link: int) -> int:
    """The sibling of the node that a link leads to."""
    parent = parents(tree)[link]
    return int(tree.children_right[parent] if is_left(tree, link) else tree.children_left[parent])


def path(tree: Tree, leaf: int) -> list[int]:
    """Links from the root to a leaf."""
    upward = []
    node = leaf
    while node != 0:
        upward.append(node)
        node = parents(tree)[node]
    return upward[::-1]


def nodes_below(tree: Tree, node: int) -> set[int]:
    """Nodes of the subtree that is rooted at a node, the node included."""
    found = set()
    stack = [node]
    while stack:
        here = stack.pop()
        found.add(here)
        if tree.children_left[here] >= 0:
            stack += [int(tree.children_left[here]), int(tree.children_right[here])]
    return found


def labels_below(tree: Tree, node: int) -> set[int]:
    """Λ: the classes that the leaves below a node predict."""
    return {int(tree.leaf_class[below]) for below in nodes_below(tree, node) if tree.children_left[below] < 0}


def homogeneous_top(tree: Tree, leaf: int) -> int:
    """Root of H_c(L): the highest ancestor below which every leaf predicts the leaf's class, else the leaf."""
    top = node = leaf
    while node != 0:
        node = parents(tree)[node]
        if labels_below(tree, node) == {int(tree.leaf_class[leaf])}:
            top = node
    return top


def inside_h(tree: Tree, leaf: int, link: int) -> bool:
    """Whether both ends of a link belong to H_c(L)."""
    inside = nodes_below(tree, homogeneous_top(tree, leaf))
    return link in inside and parents(tree)[link] in inside


def sib(tree: Tree, leaf: int) -> list[int]:
    """SIB(L): links of the path into an internal node whose sibling is a leaf of L's class, root to leaf."""
    found = []
    for link in path(tree, leaf):
        other = other_child(tree, link)
        child_is_internal = tree.children_left[link] >= 0
        other_is_leaf = tree.children_left[other] < 0
        if child_is_internal and other_is_leaf and tree.leaf_class[other] == tree.leaf_class[leaf]:
            found.append(link)
    return found


# --- class shares -----------------------------------------------------------------------------------------------------


def fill_counts(tree: Tree, X: Rows, y: Labels, w: Weights) -> Tree:
    """The tree itself if it has counts, else a copy whose counts come from routing the rows."""
    if tree.counts is not None:
        return tree
    counts = np.zeros((tree.n_nodes, tree.n_classes))
    for i, row in enumerate(X):
        for node in [0, *path(tree, walk(tree, row))]:
            counts[node, y[i]] += 1.0 if w is None else w[i]
    return replace(tree, counts=counts)


def proportion(tree: Tree, node: int, c: int) -> float | None:
    """p_c(N): the share of a class in a node's counts; None at a node without rows."""
    if tree.counts is None:
        raise ValueError("This tree has no counts; pass it through fill_counts first.")
    counts = tree.counts[node].tolist()
    total = sum(counts)
    return counts[c] / total if total > 0 else None


def orientation(tree: Tree, link: int, c: int, rf_tol: float = RF_TOL) -> str:
    """Whether the share of class ``c`` rises (matched), falls (mismatched) or stays (neutral) along a link."""
    before = proportion(tree, parents(tree)[link], c)
    after = proportion(tree, link, c)
    if before is None or after is None:
        return "neutral"
    if after - before > rf_tol:
        return "matched"
    if after - before < -rf_tol:
        return "mismatched"
    return "neutral"


def mismatched_links(tree: Tree, leaf: int, rf_tol: float) -> list[int]:
    """Mismatched links of a leaf's path, root to leaf."""
    c = int(tree.leaf_class[leaf])
    return [link for link in path(tree, leaf) if orientation(tree, link, c, rf_tol) == "mismatched"]


# --- rules on rows ----------------------------------------------------------------------------------------------------


def satisfies(tree: Tree, row: Row, links: Iterable[int]) -> bool:
    """Whether a row satisfies the condition of every given link."""
    for link in links:
        parent = parents(tree)[link]
        if goes_left(tree, parent, float(row[tree.feature[parent]])) != is_left(tree, link):
            return False
    return True


def support_and_reliability(
    tree: Tree, X: Rows, y: Labels, w: Weights, links: Iterable[int], c: int
) -> tuple[float, float | None]:
    """Weight of the rows that satisfy the links, and the share of it in class ``c`` (None at support 0)."""
    links = list(links)
    support = right = 0.0
    for i, row in enumerate(X):
        if satisfies(tree, row, links):
            weight = 1.0 if w is None else float(w[i])
            support += weight
            if y[i] == c:
                right += weight
    return support, (right / support if support > 0 else None)


def reliability_without(tree: Tree, X: Rows, y: Labels, w: Weights, leaf: int, deleted: Iterable[int]) -> float | None:
    """Reliability of a leaf's rule without the deleted links."""
    kept = without(path(tree, leaf), deleted)
    return support_and_reliability(tree, X, y, w, kept, int(tree.leaf_class[leaf]))[1]


def find_move(tree: Tree, X: Rows, y: Labels, w: Weights, leaf: int, links: Iterable[int]) -> Fraction | float | None:
    """How far the share of a leaf's class moves from the leaf's rule to some links; a fraction where weights are whole.

    None where no row satisfies the one or the other.
    """
    c = int(tree.leaf_class[leaf])
    is_whole = w is None or all(float(weight).is_integer() for weight in w)
    shares = []
    for some in (list(links), path(tree, leaf)):
        inside = [i for i, row in enumerate(X) if satisfies(tree, row, some)]
        weights = [1 if w is None else w[i] for i in inside]
        hits = [weight for i, weight in zip(inside, weights, strict=True) if y[i] == c]
        if not sum(weights) > 0:
            return None
        shares.append(Fraction(int(sum(hits)), int(sum(weights))) if is_whole else sum(hits) / sum(weights))
    return shares[0] - shares[1]


def is_at_most(move: Fraction | float, tolerance: float) -> bool:
    """Whether a move is no larger than the tolerance, as written; a rounded one may be larger by 1e-12."""
    return move <= Fraction(repr(float(tolerance))) if isinstance(move, Fraction) else move <= tolerance + 1e-12


def without(links: Iterable[int], deleted: Iterable[int]) -> list[int]:
    """The links that are not deleted, in their order."""
    gone = set(deleted)
    return [link for link in links if link not in gone]


# --- regions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Region:
    """What some conditions leave of one feature.

    Numeric (``codes`` is None): the numbers above ``low`` (None: no bound, so that -inf counts) and not above ``high``.
    Categorical: the codes. Either way NaN too, if ``missing``.
    """

    low: float | None
    high: float
    codes: frozenset[int] | None
    missing: bool


def whole_region(tree: Tree, feature: int) -> Region:
    """Every possible value of a feature."""
    levels = tree.categories[feature]
    codes = None if levels is None else frozenset(range(len(levels) + 1))
    return Region(None, math.inf, codes, bool(tree.accepts_missing[feature]))


def box_of(tree: Tree, links: Iterable[int]) -> dict[int, Region]:
    """Region of each feature that the links test; the others are free."""
    box: dict[int, Region] = {}
    for link in links:
        node = parents(tree)[link]
        left = is_left(tree, link)
        feature = int(tree.feature[node])
        region = box.get(feature, whole_region(tree, feature))
        missing = region.missing and bool(tree.missing_left[node]) == left
        low, high, codes = region.low, region.high, region.codes
        if codes is not None:
            listed = frozenset(tree.left_codes(node).tolist())
            codes = codes & listed if left else codes - listed
        elif left:
            high = min(high, float(tree.threshold[node]))
        else:
            threshold = float(tree.threshold[node])
            low = threshold if low is None else max(low, threshold)
        box[feature] = Region(low, high, codes, missing)
    return box


def number_not_above(tree: Tree, bound: float) -> float:
    """The largest number of the tree's dtype that is not above a bound."""
    kind = np.dtype(tree.dtype).type
    nearest = rounded(tree, bound)
    with np.errstate(over="ignore"):
        return nearest if nearest <= bound else float(np.nextafter(kind(nearest), kind(-np.inf)))


def number_above(tree: Tree, bound: float) -> float | None:
    """The smallest number of the tree's dtype above a bound; None above +inf."""
    if bound == math.inf:
        return None
    kind = np.dtype(tree.dtype).type
    nearest = rounded(tree, bound)
    with np.errstate(over="ignore"):
        return nearest if nearest > bound else float(np.nextafter(kind(nearest), kind(np.inf)))


def has_number(tree: Tree, region: Region) -> bool:
    """Whether a numeric region holds a number of the tree's dtype (-inf and +inf are numbers)."""
    if region.low is None:
        return True
    smallest = number_above(tree, region.low)
    return smallest is not None and smallest <= region.high


def is_empty(tree: Tree, region: Region) -> bool:
    """Whether a region holds no value at all."""
    if region.missing:
        return False
    return not region.codes if region.codes is not None else not has_number(tree, region)


def meets(tree: Tree, links_a: Iterable[int], links_b: Iterable[int]) -> bool:
    """Whether some possible row satisfies all the links of both sets."""
    # Features vary freely, so a row exists exactly when every feature has a value left.
    box = box_of(tree, [*links_a, *links_b])
    return not any(is_empty(tree, region) for region in box.values())


def same_values(tree: Tree, links_a: Iterable[int], links_b: Iterable[int]) -> bool:
    """Whether two sets of links that some rows satisfy allow the same values of every feature."""
    box_a, box_b = box_of(tree, links_a), box_of(tree, links_b)

    def values(box: dict[int, Region], feature: int) -> tuple[Any, ...]:
        region = box.get(feature, whole_region(tree, feature))
        if region.codes is not None or not has_number(tree, region):
            return region.codes, region.missing
        low = None if region.low is None else number_above(tree, region.low)
        return low, number_not_above(tree, region.high), region.missing

    return all(values(box_a, feature) == values(box_b, feature) for feature in box_a.keys() | box_b.keys())


def implies_class(tree: Tree, links: Iterable[int], c: int) -> bool:
    """Whether no leaf of another class meets the box of the links."""
    links = list(links)
    return not any(meets(tree, links, path(tree, leaf)) for leaf in leaves(tree) if tree.leaf_class[leaf] != c)


# --- methods that need no rows ----------------------------------------------------------------------------------------


def delete_none(tree: Tree) -> Deletion:
    """Delete nothing."""
    return {leaf: [] for leaf in leaves(tree)}


def delete_sibling(tree: Tree) -> Deletion:
    """M2: delete the whole of SIB(L)."""
    return {leaf: sib(tree, leaf) for leaf in leaves(tree)}


def delete_exact(tree: Tree) -> Deletion:
    """Link by link, root to leaf: delete it if what is left still meets no leaf of another class."""
    result = {}
    for leaf in leaves(tree):
        deleted: list[int] = []
        for link in path(tree, leaf):
            kept = without(path(tree, leaf), [*deleted, link])
            if implies_class(tree, kept, int(tree.leaf_class[leaf])):
                deleted.append(link)
        result[leaf] = deleted
    return result


def delete_redundancy(tree: Tree) -> Deletion:
    """Feature by feature, by first appearance: delete all its links if what is left meets no leaf of another class."""
    result = {}
    for leaf in leaves(tree):
        links = path(tree, leaf)
        tested = [int(tree.feature[parents(tree)[link]]) for link in links]
        dropped: list[int] = []
        for feature in dict.fromkeys(tested):
            kept = [link for link, f in zip(links, tested, strict=True) if f not in [*dropped, feature]]
            if implies_class(tree, kept, int(tree.leaf_class[leaf])):
                dropped.append(feature)
        result[leaf] = [link for link, f in zip(links, tested, strict=True) if f in dropped]
    return result


# --- methods that judge by rows ---------------------------------------------------------------------------------------


def reliability_select(
    tree: Tree, X: Rows, y: Labels, w: Weights, leaf: int, candidates: list[int], tolerance: float
) -> list[int]:
    """Accept all candidates together, or else one by one in the given order."""

    def close(deleted: list[int]) -> bool:
        move = find_move(tree, X, y, w, leaf, without(path(tree, leaf), deleted))
        return move is not None and is_at_most(abs(move), tolerance)

    if close(candidates):
        return candidates
    accepted: list[int] = []
    for link in candidates:
        if close([*accepted, link]):
            accepted.append(link)
    return accepted


def delete_mismatch(tree: Tree, X: Rows, y: Labels, w: Weights, tolerance: float, rf_tol: float = RF_TOL) -> Deletion:
    """M1-P: ReliabilitySelect on the mismatched links outside H_c(L), leaf to root."""
    tree = fill_counts(tree, X, y, w)
    result = {}
    for leaf in leaves(tree):
        candidates = [link for link in mismatched_links(tree, leaf, rf_tol) if not inside_h(tree, leaf, link)][::-1]
        accepted = reliability_select(tree, X, y, w, leaf, candidates, tolerance)
        result[leaf] = [link for link in path(tree, leaf) if link in accepted]
    return result


def delete_faithful(
    tree: Tree,
    X: Rows,
    y: Labels,
    w: Weights,
    tolerance: float,
    *,
    protect: bool = True,
    rf_tol: float = RF_TOL,
    implies: Callable[[Tree, Iterable[int], int], bool] | None = None,
) -> Deletion:
    """Link by link, root to leaf and over again: delete it if the class is still implied and reliability holds.

    ``implies`` tells whether some links imply a class, by default for all rows that the boxes allow.
    """
    tree = fill_counts(tree, X, y, w)
    implies = implies or implies_class
    result = {}
    for leaf in leaves(tree):
        links = path(tree, leaf)
        protected = [link for link in mismatched_links(tree, leaf, rf_tol) if inside_h(tree, leaf, link)]
        deleted: list[int] = []
        is_done = find_move(tree, X, y, w, leaf, links) is None
        while not is_done:
            is_done = True
            for link in links:
                trial = [*deleted, link]
                if link in deleted or (protect and link in protected):
                    continue
                left = without(links, trial)
                if is_at_most(abs(find_move(tree, X, y, w, leaf, left)), tolerance) and implies(
                    tree, left, int(tree.leaf_class[leaf])
                ):
                    deleted, is_done = trial, False
        result[leaf] = [link for link in links if link in deleted]
    return result


def delete_quinlan(tree: Tree, X: Rows, y: Labels, w: Weights, alpha: float = 0.01, ties: str = "root") -> Deletion:
    """Quinlan 1987: delete the best deletable condition until none is deletable; whole-number weights only."""
    return {leaf: _quinlan_rule(tree, X, y, w, leaf, alpha, ties) for leaf in leaves(tree)}


def _quinlan_rule(tree: Tree, X: Rows, y: Labels, w: Weights, leaf: int, alpha: float, ties: str) -> list[int]:
    def right_and_covered(links: list[int]) -> tuple[int, int]:
        right = covered = 0.0
        for i, row in enumerate(X):
            if satisfies(tree, row, links):
                weight = 1.0 if w is None else float(w[i])
                covered += weight
                right += weight if y[i] == tree.leaf_class[leaf] else 0.0
        if not (right.is_integer() and covered.is_integer()):
            raise ValueError("Fisher's test counts rows: the weights must be whole numbers.")
        return int(right), int(covered)

    kept = path(tree, leaf)
    if right_and_covered(kept)[1] == 0:
        return []
    while True:
        k, n = right_and_covered(kept)
        deletable: list[tuple[float, float, int]] = []  # certainty left, p value, link; root to leaf
        for link in kept:
            k_wide, n_wide = right_and_covered(without(kept, [link]))
            k_new, n_new = k_wide - k, n_wide - n
            p = float(fisher_exact([[k, n - k], [k_new, n_new - k_new]], alternative="greater")[1])
            if k_wide / n_wide >= k / n - CERTAINTY_TOL or p > alpha * (1 + 1e-9):  # 3/10 is not above 0.3
                deletable.append((k_wide / n_wide, p, link))
        if not deletable:
            return [link for link in path(tree, leaf) if link not in kept]
        best_certainty = max(certainty for certainty, _, _ in deletable)
        surest = [(p, link) for certainty, p, link in deletable if certainty == best_certainty]
        best_p = max(p for p, _ in surest)
        # Two ways to add up the same p value differ in the last digits; such values are equal.
        tied = [link for p, link in surest if p >= best_p * (1 - 1e-9)]
        kept = without(kept, [tied[0] if ties == "root" else tied[-1]])


# --- a budget of conflicting rows -------------------------------------------------------------------------------------


class SharedRow(NamedTuple):
    """A training row or a shuffled one, and its share of all rows: among the mixed ones, among the training ones."""

    cells: NDArray[Any]
    mixed: Fraction
    real: Fraction


class BudgetStep(NamedTuple):
    """A deletion beyond the exact ones, and the shares of the rows that it newly brought into conflict."""

    leaf: int
    link: int
    mixed: Fraction
    real: Fraction


class Guard(NamedTuple):
    """What a deletion may do to a rule: the training rows' own classes, and how much reliability it may cost."""

    y: Labels
    tolerance: float


def delete_budgeted(
    tree: Tree, X: Rows, w: Weights, budget: float, smoothing: float, guard: Guard | None, *, pool: int = 4000
) -> Deletion:
    """Exact first, then the cheapest single deletion again and again, while the conflicting rows fit the budget."""
    beyond = {(step.leaf, step.link) for step in budgeted_steps(tree, X, w, budget, smoothing, guard, pool=pool)}
    return {
        leaf: [link for link in path(tree, leaf) if link in gone or (leaf, link) in beyond]
        for leaf, gone in delete_exact(tree).items()
    }


def budgeted_steps(
    tree: Tree, X: Rows, w: Weights, budget: float, smoothing: float, guard: Guard | None, *, pool: int = 4000
) -> list[BudgetStep]:
    """What ``delete_budgeted`` deletes beyond the exact deletions, in their order; without a guard if it is None."""
    rows = mixed_rows(tree, X, w, smoothing, pool)
    labels = [tree_class(tree, row.cells) for row in rows]
    passing = {link: {i for i, row in enumerate(rows) if satisfies(tree, row.cells, [link])} for link in parents(tree)}

    def mixed(some: set[int]) -> Fraction:
        return sum((rows[i].mixed for i in some), Fraction(0))

    def real(some: set[int]) -> Fraction:
        return sum((rows[i].real for i in some), Fraction(0))

    @cache
    def n_foreign(leaf: int, links: tuple[int, ...]) -> int:
        others = [other for other in leaves(tree) if tree.leaf_class[other] != tree.leaf_class[leaf]]
        return sum(meets(tree, links, path(tree, other)) for other in others)

    share = Fraction(str(float(budget)))  # the decimal number that was typed, not the binary one beside it
    mixed_limit, real_limit = share * mixed(set(range(len(rows)))), share * real(set(range(len(rows))))
    supported = [
        leaf for leaf in leaves(tree) if any(row.real and satisfies(tree, row.cells, path(tree, leaf)) for row in rows)
    ]
    kept = {leaf: without(path(tree, leaf), gone) for leaf, gone in delete_exact(tree).items()}
    conflicting: set[int] = set()
    steps: list[BudgetStep] = []
    while True:
        best: tuple[tuple[Fraction, int], BudgetStep, set[int]] | None = None
        for leaf in supported:  # what no row satisfies is left as it is
            foreign = {i for i, label in enumerate(labels) if label != tree.leaf_class[leaf]}
            for link in kept[leaf]:
                wider = without(kept[leaf], [link])
                new = (foreign - conflicting).intersection(*(passing[other] for other in wider))
                step = BudgetStep(leaf, link, mixed(new), real(new))
                if mixed(conflicting) + step.mixed > mixed_limit or real(conflicting) + step.real > real_limit:
                    continue
                if guard is not None and not is_honest(tree, X, w, guard, kept, leaf, wider):
                    continue
                price = (step.mixed, n_foreign(leaf, tuple(wider)) - n_foreign(leaf, tuple(kept[leaf])))
                # Of equal prices the first one stays: leaves come in source order, links root to leaf.
                if best is None or price < best[0]:
                    best = (price, step, new)
        if best is None:
            return steps
        _, step, new = best
        steps.append(step)
        kept[step.leaf] = without(kept[step.leaf], [step.link])
        conflicting |= new


def is_honest(
    tree: Tree, X: Rows, w: Weights, guard: Guard, kept: dict[int, list[int]], leaf: int, wider: list[int]
) -> bool:
    """Whether a leaf's rule may be widened: reliable, of the commonest class, and contradicted by no equal rule."""
    own = int(tree.leaf_class[leaf])
    _, trial = support_and_reliability(tree, X, guard.y, w, wider, own)
    move = find_move(tree, X, guard.y, w, leaf, wider)
    if move is None or not is_at_most(-move, guard.tolerance):
        return False
    shares = [support_and_reliability(tree, X, guard.y, w, wider, c)[1] for c in range(tree.n_classes)]
    if any(share is not None and share > trial for share in shares):
        return False
    return not any(
        tree.leaf_class[other] != own and same_values(tree, wider, links)
        for other, links in kept.items()
        if any(satisfies(tree, row, links) for row in X)
    )


def mixed_rows(tree: Tree, X: Rows, w: Weights, smoothing: float, pool: int = 4000) -> list[SharedRow]:
    """The training rows of positive weight, then the shuffled ones; unused features of those are 0."""
    weights = np.ones(len(X)) if w is None else np.array(w, dtype=np.float64)
    X, weights = X[weights > 0], weights[weights > 0]
    n = len(X)
    copies = -(-pool // n)  # rounded up
    predicted = [tree_class(tree, row) for row in X]
    members = {c: [i for i in range(n) if predicted[i] == c] for c in range(tree.n_classes) if c in predicted}
    shuffled = shuffled_rows(tree, X, weights, members, copies)

    equal = len(set(weights.tolist())) == 1
    total = math.fsum(weights)
    real = [Fraction(1, n) if equal else to_52_bits(weights[i] / total) for i in range(n)]
    if equal and float(smoothing).is_integer():
        n0 = int(smoothing)
        of_row = [Fraction(1, n) * Fraction(n, n + n0)] * n
        of_shuffled = {
            c: Fraction(len(ids), n) / (copies * len(ids)) * Fraction(n0, n + n0) for c, ids in members.items()
        }
    else:
        n0 = float(smoothing)
        of_row = [to_52_bits((weights[i] / total) * (n / (n + n0))) for i in range(n)]
        of_shuffled = {
            c: to_52_bits((np.cumsum(weights[ids])[-1] / total) / (copies * len(ids)) * (n0 / (n + n0)))
            for c, ids in members.items()
        }
    return [
        *(SharedRow(X[i], of_row[i], real[i]) for i in range(n)),
        *(SharedRow(cells, of_shuffled[c], Fraction(0)) for c, cells in shuffled),
    ]


def shuffled_rows(
    tree: Tree, X: Rows, weights: NDArray[np.float64], members: dict[int, list[int]], copies: int
) -> list[tuple[int, NDArray[np.float64]]]:
    """Copies of the rows, each tested feature shuffled within each predicted class: (that class, cells)."""
    tested = sorted({int(feature) for feature in tree.feature if feature >= 0})
    sources = {c: np.array(systematic_sample(weights, ids)) for c, ids in members.items()}
    draw = np.random.RandomState(0)
    made = []
    for _ in range(copies):
        for c, source in sources.items():  # in the order of tree.classes
            block = np.zeros((len(source), tree.n_features))
            for feature in tested:
                block[:, feature] = X[source[draw.permutation(len(source))], feature]
            made += [(c, cells) for cells in block]
    return made


def systematic_sample(weights: NDArray[np.float64], ids: list[int]) -> list[int]:
    """As many rows as there are ids, each as often as its weight asks for: the middles of equal steps of weight."""
    if len(set(weights.tolist())) == 1:
        return ids
    m = len(ids)
    reached = np.cumsum(weights[ids])
    middles = [(k + 0.5) * (reached[-1] / m) for k in range(m)]
    # The first row whose cumulated weight is above the middle; the last row if rounding leaves none.
    return [next((i for i, end in zip(ids, reached, strict=True) if end > middle), ids[-1]) for middle in middles]


def to_52_bits(share: float) -> Fraction:
    """The multiple of 2**-52 that is nearest to a share (of two, the even one)."""
    return Fraction(int(np.rint(share * 2.0**52)), 2**52)


# --- the two certificates of M1-D -------------------------------------------------------------------------------------


def delete_mismatch_certified(tree: Tree, domain_X: Rows, domain_y: Labels, rf_tol: float = RF_TOL) -> Deletion:
    """M1-D on a finite domain: all mismatched links, if every listed row of the wider rule has the leaf's class."""

    def passes(leaf: int, candidates: list[int]) -> bool:
        rule = path(tree, leaf)
        if not any(satisfies(tree, row, rule) for row in domain_X):
            return False
        wider = without(rule, candidates)
        return all(
            domain_y[i] == tree.leaf_class[leaf] for i, row in enumerate(domain_X) if satisfies(tree, row, wider)
        )

    return _delete_all_or_nothing(tree, rf_tol, passes)


def delete_mismatch_monotone(tree: Tree, signs: Sequence[int], rf_tol: float = RF_TOL) -> Deletion:
    """M1-D by monotonicity: all mismatched links, if every row of the wider rule can be moved into the rule itself.

    Larger values of feature ``f`` favour class 1 where ``signs[f]`` is +1, class 0 where it is -1. Values are moved in
    the *unfavourable* direction, so that the row's own class is at least as favourable; NaN and categories stay.
    """
    if tree.n_classes != 2:
        raise ValueError("The monotone certificate is about two classes.")

    def passes(leaf: int, candidates: list[int]) -> bool:
        rule = path(tree, leaf)
        if any(is_empty(tree, region) for region in box_of(tree, rule).values()):
            return False
        for feature in box_of(tree, candidates):
            links = [link for link in rule if tree.feature[parents(tree)[link]] == feature]
            values = values_that_matter(tree, feature)
            admitted, own = (
                [value for value in values if satisfies(tree, [value] * tree.n_features, some)]
                for some in (without(links, candidates), links)
            )
            sign = signs[feature] if tree.leaf_class[leaf] == 1 else -signs[feature]
            sign = sign if tree.categories[feature] is None else 0
            for value in admitted:
                is_own = value in own or (math.isnan(value) and any(map(math.isnan, own)))
                if not is_own and not any(sign * to < sign * value for to in own):
                    return False
        return True

    return _delete_all_or_nothing(tree, rf_tol, passes)


def _delete_all_or_nothing(tree: Tree, rf_tol: float, passes: Callable[[int, list[int]], bool]) -> Deletion:
    result: Deletion = {}
    for leaf in leaves(tree):
        candidates = mismatched_links(tree, leaf, rf_tol)
        result[leaf] = candidates if candidates and passes(leaf, candidates) else []
    return result


# --- rules -----------------------------------------------------------------------------------------------------------


def kept_links(tree: Tree, deleted: Deletion) -> list[list[int]]:
    """Kept links of each rule, in source order of the rules, root to leaf."""
    return [without(path(tree, leaf), deleted[leaf]) for leaf in leaves(tree)]


def covers(tree: Tree, deleted: Deletion, X: Rows) -> list[list[bool]]:
    """Whether each rule (column) covers each row."""
    rules = kept_links(tree, deleted)
    return [[satisfies(tree, row, links) for links in rules] for row in X]


def winning_rule(tree: Tree, deleted: Deletion, X_train: Rows, y_train: Labels, w: Weights, X: Rows) -> list[int]:
    """Index of the rule that decides each row: the most reliable, then widest supported, then shortest, then first."""

    def rank(index: int) -> tuple[float, float, int, int]:
        links = kept_links(tree, deleted)[index]
        c = int(tree.leaf_class[leaves(tree)[index]])
        support, reliability = support_and_reliability(tree, X_train, y_train, w, links, c)
        return (1.0 if reliability is None else -reliability, -support, len(links), index)

    ranking = sorted(range(len(leaves(tree))), key=rank)
    # Deletion only widens rules, so each row is covered by the rule of its own leaf at least.
    return [next(index for index in ranking if covered[index]) for covered in covers(tree, deleted, X)]


def predict(tree: Tree, deleted: Deletion, X_train: Rows, y_train: Labels, w: Weights, X: Rows) -> list[int]:
    """Class index that the winning rule predicts for each row."""
    return [int(tree.leaf_class[leaves(tree)[index]]) for index in winning_rule(tree, deleted, X_train, y_train, w, X)]


def metrics(
    tree: Tree, deleted: Deletion, X_train: Rows, y_train: Labels, w: Weights, X_test: Rows, y_test: Labels
) -> dict[str, Any]:
    """Metrics of one rule for each leaf against their tree, in percent or percentage points."""
    rules = leaves(tree)
    paths = {leaf: path(tree, leaf) for leaf in rules}
    changed = [leaf for leaf in rules if deleted[leaf]]
    n_conditions = sum(len(links) for links in paths.values())
    n_deleted = sum(len(deleted[leaf]) for leaf in rules)
    shares = [len(deleted[leaf]) / len(paths[leaf]) for leaf in changed]

    by_rules = predict(tree, deleted, X_train, y_train, w, X_test)
    by_tree = [tree_class(tree, row) for row in X_test]
    answers = [int(label) for label in y_test]
    covering = [
        [int(tree.leaf_class[leaf]) for leaf, covered in zip(rules, row, strict=True) if covered]
        for row in covers(tree, deleted, X_test)
    ]
    precision = [abs(_precision(by_rules, answers, c) - _precision(by_tree, answers, c)) for c in range(tree.n_classes)]
    recall = [abs(_recall(by_rules, answers, c) - _recall(by_tree, answers, c)) for c in range(tree.n_classes)]
    return {
        "rule_irc": 100 * len(changed) / len(rules),
        "irc_per_rule": 100 * sum(shares) / len(shares) if shares else math.nan,
        "removed": 100 * n_deleted / n_conditions if n_conditions else 0.0,
        "delta_accuracy": 100 * (_share_right(by_rules, answers) - _share_right(by_tree, answers)),
        "conflict": 100 * sum(len(set(classes)) > 1 for classes in covering) / len(covering),
        "coverage": 100 * sum(len(classes) > 0 for classes in covering) / len(covering),
        "assimilated": 100
        * sum(_is_assimilated(tree, leaf, deleted[leaf], X_train, y_train, w) for leaf in rules)
        / len(rules),
        "abs_delta_precision": [100 * value for value in precision],
        "abs_delta_recall": [100 * value for value in recall],
        "macro_dev": 100 * sum(precision + recall) / len(precision + recall),
    }


def _is_assimilated(tree: Tree, leaf: int, deleted: list[int], X: Rows, y: Labels, w: Weights) -> bool:
    whole = path(tree, leaf)
    kept = without(whole, deleted)
    is_proper_prefix = len(kept) < len(whole) and kept == whole[: len(kept)]
    c = int(tree.leaf_class[leaf])
    before, _ = support_and_reliability(tree, X, y, w, whole, c)
    after, _ = support_and_reliability(tree, X, y, w, kept, c)
    return is_proper_prefix and after > before


def _share_right(predicted: list[int], answers: list[int]) -> float:
    return sum(p == a for p, a in zip(predicted, answers, strict=True)) / len(answers)


def _precision(predicted: list[int], answers: list[int], c: int) -> float:
    called = [a for p, a in zip(predicted, answers, strict=True) if p == c]
    return called.count(c) / len(called) if called else 0.0


def _recall(predicted: list[int], answers: list[int], c: int) -> float:
    present = [p for p, a in zip(predicted, answers, strict=True) if a == c]
    return present.count(c) / len(present) if present else 0.0


# --- brute force ------------------------------------------------------------------------------------------------------


def values_that_matter(tree: Tree, feature: int) -> list[float]:
    """One value or more in every cell that the tree's splits cut a feature into, NaN and unlisted included."""
    levels = tree.categories[feature]
    if levels is not None:
        values = [float(code) for code in range(len(levels) + 1)]
    else:
        found = {0.0}
        for node in range(tree.n_nodes):
            if tree.feature[node] == feature and tree.threshold[node] < math.inf:
                above = number_above(tree, float(tree.threshold[node]))
                found.add(number_not_above(tree, float(tree.threshold[node])))
                found.update([] if above is None else [above])
        found.update([rounded(tree, min(found) - 1), rounded(tree, max(found) + 1)])
        values = sorted(found)
    return [*values, math.nan] if tree.accepts_missing[feature] else values


def values_at_and_beside(tree: Tree, feature: int) -> list[float]:
    """What a user may hold: thresholds, their neighbours among the float64 and the tree's numbers, and between them.

    Many of these are no numbers of the tree's dtype. Codes that do not exist, and no codes at all, are unlisted. Every
    cell has a value here, too.
    """
    found = {value for value in values_that_matter(tree, feature) if not math.isnan(value)}
    nan = [math.nan] if tree.accepts_missing[feature] else []
    levels = tree.categories[feature]
    if levels is not None:
        return [*sorted(found), len(levels) + 3.0, -1.0, 0.5, *nan]
    kind = np.dtype(tree.dtype).type
    for node in range(tree.n_nodes):
        if tree.feature[node] == feature and tree.threshold[node] < math.inf:
            threshold = float(tree.threshold[node])
            below = kind(number_not_above(tree, threshold))
            found.update(float(np.nextafter(below, kind(towards))) for towards in (-np.inf, np.inf))
            found.update([threshold, *(float(np.nextafter(threshold, towards)) for towards in (-np.inf, np.inf))])
    middles = [low / 2 + high / 2 for low, high in itertools.pairwise(sorted(found))]
    return [*sorted({*found, *middles}), *nan]


def grid_rows(
    tree: Tree, limit: int = 20000, values_of: Callable[[Tree, int], list[float]] = values_that_matter
) -> NDArray[np.float64]:
    """Every combination of some values, or a fixed random sample of ``limit`` of them; unused features 0."""
    used = sorted({int(feature) for feature in tree.feature if feature >= 0})
    values = [values_of(tree, feature) for feature in used]
    if math.prod(len(column) for column in values) <= limit:
        combinations = list(itertools.product(*values))
    else:
        draw = random.Random(0)
        combinations = [tuple(draw.choice(column) for column in values) for _ in range(limit)]
    rows = np.zeros((len(combinations), tree.n_features))
    for i, combination in enumerate(combinations):
        rows[i, used] = combination
    return rows
