"""Say what a part of a tree says in few lines: which rules of its leaves, and what is left to "otherwise".

A line may stand for leaves of one class whose values lie in one *window*: no two of them differ by more than twice the
tolerance. Its conditions are those of one of its leaves, deleted root to leaf while every leaf that they meet in the
section is such a leaf. Every leaf of the section lies in a line, or in the window of "otherwise". Where columns have
costs, a condition counts as much as its column costs; lines without conditions on dear columns are tried, too.

The cover is greedy: the line that contains the most further leaves per condition comes next; at the end, what became
superfluous goes. Ties go to the line with more leaves, then to source order. Of the windows that may be left to
"otherwise", the one wins that leaves the fewest conditions, then lines, then the most training rows in it.

A *cut* into sections is a set of nodes such that every path from the root meets exactly one. For each number of
sections the cut with the fewest conditions is found by dynamic programming over the first splits; a split between
sections prints two.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.kernels.running import run_deletion
from secateur.methods.contract import check_whole
from secateur.methods.leaves import (
    Allowed,
    LeafMasks,
    LeafValues,
    Stated,
    Window,
    flag_places,
    list_places,
    make_mask,
    pack_flags,
)
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

# Pairs of a leaf and a window that are tried in one section. Beyond, windows are thinned out.
MOST_TRIED = 200_000
MANY_LEAVES = 2_000  # nobody reads the rules of so many leaves one by one: they are made by walks


Prices = Callable[[int], float]  # what a condition on a feature costs


def count_one(feature: int) -> float:
    """Let every condition cost the same."""
    return 1


def sum_prices(tree: Tree, paths: Paths, kept: NDArray[np.bool_], prices: Prices) -> list[float]:
    """Add up what the kept conditions of each leaf's rule cost."""
    of_feature = np.array([prices(feature) for feature in range(tree.n_features)])
    own = of_feature[tree.feature[paths.parent[paths.links[kept]]]]
    costs: list[float] = np.bincount(paths.rule[kept], own, paths.n_rules).tolist()
    return costs


@dataclass(frozen=True, eq=False)
class Candidate:
    """A line that may be written: conditions, and the leaves that they meet and contain."""

    class_id: int
    met: int
    inside: int
    # By the place of a leaf that they come from: which edges of its path they are, and what they cost.
    kept: dict[int, tuple[tuple[int, ...], float]]

    @cached_property
    def places(self) -> list[int]:
        """The leaves that the conditions contain, by place."""
        return list_places(self.inside)

    @cached_property
    def first(self) -> int:
        """The first leaf that the conditions come from."""
        return next(iter(self.kept))

    @cached_property
    def cost(self) -> float:
        """What its conditions cost: their number, unless columns have costs of their own."""
        return self.kept[self.first][1]


class Line(NamedTuple):
    """A line that is written: a candidate, and the leaf whose conditions it takes; no two take those of one leaf."""

    place: int
    candidate: Candidate

    @property
    def kept(self) -> tuple[int, ...]:
        """Which edges of the leaf's path are kept, counted from the root."""
        return self.candidate.kept[self.place][0]

    @property
    def cost(self) -> float:
        """What its conditions cost."""
        return self.candidate.kept[self.place][1]


class Cover(NamedTuple):
    """What a section writes."""

    lines: tuple[Line, ...]  # in source order
    otherwise: Window
    left: int  # the leaves that no line contains; all of them are of the window
    possible: int  # the leaves of the section that some possible row reaches

    @property
    def to_state(self) -> int:
        """The leaves whose share "otherwise" states."""
        return self.left or self.otherwise.leaves

    @property
    def cost(self) -> tuple[float, int]:
        """What conditions cost, and lines beside "otherwise"."""
        return _sum(self.lines)


def cover_leaves(
    masks: LeafMasks,
    paths: Sequence[Conjunction],
    depth: int,
    places: range,
    leaves: LeafValues,
    default: int | None = None,
    prices: Prices = count_one,
) -> Cover:
    """Cover the leaves of a section by lines of its own.

    ``paths`` are those of the leaves from the root on; the first ``depth`` of them lead to the section, whose leaves
    are ``places``. "Otherwise" is of the class ``default`` if that occurs.
    """
    possible = [place for place in places if masks.possible >> place & 1]
    windows = leaves.list_windows(possible)
    section = make_mask(possible)
    if not windows:  # no possible row comes here
        return Cover((), Window(leaves.class_ids[places[0]], 0), 0, 0)
    if len(windows) == 1:
        return Cover((), windows[0], section, section)
    candidates = _find_candidates(masks, paths, depth, section, windows, possible, prices)
    return cover_by(candidates, possible, windows, leaves, default)


def cover_by(
    candidates: Iterable[Candidate],
    possible: Sequence[int],
    windows: Sequence[Window],
    leaves: LeafValues,
    default: int | None = None,
) -> Cover:
    """Cover the possible leaves of a section by some of the given lines, but for one window."""
    section = make_mask(possible)
    by_class: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        by_class.setdefault(candidate.class_id, []).append(candidate)
    of_class = {c: make_mask([place for place in possible if leaves.class_ids[place] == c]) for c in by_class}
    heaps = {c: _rate(own, of_class[c]) for c, own in by_class.items()}
    whole = {c: _choose(own, of_class[c], heaps[c]) for c, own in by_class.items()}
    allowed = [one for one in windows if one.class_id == default] or windows
    sums = {c: _sum(lines) for c, lines in whole.items()}
    # No cover of some leaves can cost less than each leaf's share of the cheapest line that contains it.
    least = {c: _share_costs(own, section.bit_length()) for c, own in by_class.items()}
    wholes = {c: shares.sum() for c, shares in least.items()}

    def find_others(window: Window) -> tuple[float, int]:
        others = [own for c, own in sums.items() if c != window.class_id]
        return sum(cost for cost, _ in others), sum(n_lines for _, n_lines in others)

    def find_least(window: Window) -> float:
        spared = least[window.class_id][list_places(window.leaves)].sum()
        return float(find_others(window)[0] + wholes[window.class_id] - spared)

    best: tuple[Any, Window, list[Line]] | None = None
    for least_cost, _, window in sorted((find_least(one), number, one) for number, one in enumerate(allowed)):
        if best is not None and least_cost > best[0][0] + 1e-9:
            break
        c = window.class_id
        own = _choose(by_class[c], of_class[c] & ~window.leaves, heaps[c])
        (cost, n_lines), (others, n_others) = _sum(own), find_others(window)
        rows = math.fsum(leaves.weights[place] for place in list_places(window.leaves))
        rated = others + cost, n_others + n_lines, -rows, window.class_id
        if best is None or rated < best[0]:
            best = rated, window, own
    assert best is not None
    _, window, own = best
    lines = [*own, *(line for c, some in whole.items() if c != window.class_id for line in some)]
    contained = 0
    for line in lines:
        contained |= line.candidate.inside
    return Cover(tuple(sorted(lines, key=lambda line: line.place)), window, section & ~contained, section)


def delete_near(tree: Tree, paths: Paths, leaves: LeafValues) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Delete conditions root to leaf while every leaf met is near: its value lies within the tolerance of the leaf's.

    Also tell for each kept condition a leaf that it keeps out, by place, and -1 elsewhere. The tree is one over
    possible rows. In a large tree, leaves are near whose values lie between the same two limits, so more is kept.
    """
    witness = np.full(len(paths.links), -1, dtype=np.int64)
    if paths.n_rules > MANY_LEAVES:
        levels = leaves.list_levels(range(paths.n_rules), 1)
        return run_deletion("delete_links", *_relabel(tree, paths, levels)), witness
    masks, deleted = LeafMasks(tree, paths), np.ones(len(paths.links), dtype=bool)
    offsets, links = paths.offsets.tolist(), paths.links.tolist()
    far: dict[Any, int] = {}
    for place, (first, last) in enumerate(pairwise(offsets)):
        value = leaves.values[place]
        off = far.get(value)
        if off is None:
            off = far[value] = pack_flags(leaves.find_off(leaves.class_ids[place], Stated(value, value, value)))
        edges = [masks.edge(link) for link in links[first:last]]
        kept = _Shortening(Conjunction(masks, edges), 0, masks.possible).delete(off).kept
        deleted[[first + edge for edge in kept]] = False
        for edge, met in zip(kept, masks.met_without_each([edges[edge] for edge in kept]), strict=True):
            witness[first + edge] = (met & off & -(met & off)).bit_length() - 1
    return deleted, witness


def _relabel(tree: Tree, paths: Paths, levels: Sequence[Window]) -> tuple[Tree, Paths]:
    """Make the tree whose classes are the numbers of some windows that do not overlap."""
    labels = np.array(tree.leaf_class)
    for number, level in enumerate(levels):
        labels[paths.leaf_ids[list_places(level.leaves)]] = number
    relabelled = replace(tree, leaf_class=labels)
    return relabelled, Paths(relabelled, paths.rf_tol)


def cover_large(
    tree: Tree, paths: Paths, leaves: LeafValues, default: int | None = None, prices: Prices = count_one
) -> Cover:
    """Cover all leaves of a large tree by walks: each leaf is tried for one window, and windows do not overlap."""
    masks, levels = LeafMasks(tree, paths), leaves.list_levels(range(paths.n_rules))
    met_at = [level.leaves & masks.possible for level in levels]
    allowed = [number for number, met in enumerate(met_at) if met]
    if len(allowed) < 2:
        own = Window(levels[allowed[0]].class_id if allowed else leaves.class_ids[0], masks.possible)
        return Cover((), own, masks.possible, masks.possible)
    relabelled, own_paths = _relabel(tree, paths, levels)
    labels = relabelled.leaf_class[paths.leaf_ids]
    kept = ~run_deletion("delete_links", relabelled, own_paths)
    del relabelled, own_paths
    costs = np.array(sum_prices(tree, paths, kept, prices))
    is_possible = flag_places(masks.possible, paths.n_rules)
    rules, inside = masks.find_inside(kept)
    rules, inside = rules[is_possible[rules]], inside[is_possible[rules]]
    begin, n_inside = np.searchsorted(rules, np.arange(paths.n_rules + 1)), np.bincount(rules, minlength=paths.n_rules)
    # Most rules contain their own leaf alone, and no other rule contains it: these are written.
    is_alone = is_possible & (n_inside == 1) & (np.bincount(inside, minlength=paths.n_rules) == 1)
    shared = np.flatnonzero(is_possible & ~is_alone).tolist()
    edges = np.flatnonzero(kept)
    first = np.searchsorted(edges, paths.offsets).tolist()
    edges -= paths.offsets[paths.rule[edges]]

    def make(place: int) -> Candidate:
        # Which leaves a line meets is not listed; all of them are of its level, whose share and window it states.
        own = tuple(edges[first[place] : first[place + 1]].tolist())
        places = inside[begin[place] : begin[place + 1]].tolist()
        mask = 0 if is_alone[place] else make_mask(places)
        one = Candidate(leaves.class_ids[place], met_at[labels[place]], mask, {place: (own, costs[place])})
        vars(one)["places"] = places
        return one

    candidates, needed = [make(place) for place in shared], make_mask(shared)
    chosen = {line.place: line for line in _choose(candidates, needed, _rate(candidates, needed))}
    written = np.array(sorted([*chosen, *np.flatnonzero(is_alone).tolist()]), dtype=np.int64)
    spared = np.bincount(labels[written], costs[written], len(levels))
    n_spared = np.bincount(labels[written], minlength=len(levels))

    def rate(number: int) -> tuple[Any, ...]:
        rows = math.fsum(leaves.weights[place] for place in list_places(met_at[number]))
        return -spared[number], -n_spared[number], -rows, levels[number].class_id

    rest = min([number for number in allowed if levels[number].class_id == default] or allowed, key=rate)
    lines = [chosen.get(place) or Line(place, make(place)) for place in written[labels[written] != rest].tolist()]
    return Cover(tuple(lines), Window(levels[rest].class_id, met_at[rest]), met_at[rest], masks.possible)


def _sum(lines: Iterable[Line]) -> tuple[float, int]:
    costs = [line.cost for line in lines]
    return sum(costs), len(costs)


def _find_candidates(
    masks: LeafMasks,
    paths: Sequence[Conjunction],
    depth: int,
    section: int,
    windows: Sequence[Window],
    places: Sequence[int],
    prices: Prices,
) -> list[Candidate]:
    """Shorten the conditions of each leaf for each window that it lies in; equal conditions are one candidate.

    They are deleted root to leaf, and once more with those on dear columns first.
    """
    found: dict[tuple[int, frozenset[Allowed]], Candidate] = {}
    tried = _thin(windows, len(places))
    bad_of: dict[tuple[int, int], list[int]] = {}  # leaves that a leaf's lines must not meet, by window
    for window in tried:
        bad = section & ~window.leaves
        for place in list_places(window.leaves):
            bad_of.setdefault((place, window.class_id), []).append(bad)
    for place, class_id in sorted(bad_of):
        edges, from_root = paths[place].edges, range(depth, len(paths[place].edges))
        costs = [prices(edge.feature) for edge in edges]
        ways: list[tuple[Sequence[int], _Shortening]] = [(range(len(edges)), _Shortening(paths[place], depth, section))]
        if min(costs) < max(costs):
            dear_first = sorted(from_root, key=lambda edge, costs=costs: -costs[edge])  # type: ignore[misc]
            ways.append((dear_first, _Shortening(Conjunction(masks, [edges[edge] for edge in dear_first]), 0, section)))
        for order, shortening in ways:
            for short in shortening.delete_all(bad_of[place, class_id]):
                kept = tuple(sorted([order[edge] for edge in short.kept]))
                key = class_id, short.conditions
                if key not in found:
                    inside = masks.inside(short.conditions) & section
                    found[key] = Candidate(class_id, short.met, inside, {})
                if place not in found[key].kept:
                    found[key].kept[place] = kept, sum([costs[edge] for edge in kept])
    return list(found.values())


def _thin(windows: Sequence[Window], n_leaves: int) -> Sequence[Window]:
    """Leave out windows where there are too many to try: every leaf stays in one, as its neighbours are tried."""
    if sum(window.leaves.bit_count() for window in windows) <= MOST_TRIED:
        return windows
    chosen, reached = set[int](), 0
    wanted = max(MOST_TRIED / n_leaves, 1.0)  # so many windows for each leaf
    for window in windows:
        new = (window.leaves & ~reached).bit_count()
        if new * wanted >= window.leaves.bit_count() or window is windows[-1]:
            chosen.add(id(window))
            reached |= window.leaves
    left = make_mask(place for window in windows for place in list_places(window.leaves & ~reached))
    for window in windows:
        if window.leaves & left:
            chosen.add(id(window))
            left &= ~window.leaves
    return [window for window in windows if id(window) in chosen]


class _Shortened(NamedTuple):
    """What deletion left of the conditions of a leaf."""

    kept: tuple[int, ...]  # which edges
    met: int  # the leaves that they meet
    conditions: frozenset[Allowed]  # what they allow each feature that they ask
    witnesses: list[int]  # leaves that must not be met, one set of them for each edge that keeps such leaves out

    def changes(self, outside: int, also_outside: int) -> bool:
        """Whether a window from one up to another may leave other conditions, given the leaves outside these two.

        Those between lie in the two together, and contain what both contain. While what was deleted meets no leaf
        outside, and each kept edge keeps some out, the same decisions are taken.
        """
        bad = outside & also_outside
        return bool(self.met & (outside | also_outside)) or not all([witness & bad for witness in self.witnesses])


class Conjunction:
    """Edges one after another, and what those after each allow its feature."""

    def __init__(self, masks: LeafMasks, edges: Sequence[Allowed]) -> None:
        self.masks, self.edges = masks, edges
        self.later: list[Allowed] = []  # what later edges allow
        self.whole: list[Allowed] = []  # what they allow together with the edge
        found: dict[int, Allowed] = {}
        for edge in reversed(edges):
            self.later.append(found.get(edge.feature) or masks.domain(edge.feature))
            found[edge.feature] = masks.meet(self.later[-1], edge)
            self.whole.append(found[edge.feature])
        self.later.reverse()
        self.whole.reverse()


class _Shortening:
    """Delete conditions of one leaf after its first edges, for one set of leaves after another that must not be met."""

    def __init__(self, path: Conjunction, depth: int, section: int) -> None:
        self._path, self._depth, self._section = path, depth, section
        self._allowed = {one.feature: one for one in reversed(path.whole[depth:])}

    def delete_all(self, outside: Sequence[int]) -> Iterator[_Shortened]:
        """Delete for one window after another, given the leaves outside each; those left the same come once."""
        start, last = 0, len(outside) - 1
        while start <= last:
            short = self.delete(outside[start])
            yield short
            changes = partial(short.changes, outside[start])
            if not changes(outside[last]):
                return
            start = bisect_left(outside, True, start + 1, last, key=changes)

    def delete(self, bad: int) -> _Shortened:
        """Delete root to leaf while no bad leaf is met."""
        path, allowed, meet = self._path, dict(self._allowed), self._path.masks.meet
        earlier: dict[int, Allowed] = {}
        kept_edges, witnesses = [], []
        for place in range(self._depth, len(path.edges)):
            edge, rest = path.edges[place], path.later[place]
            feature = edge.feature
            before = earlier.get(feature)
            if before is not None:
                rest = meet(before, rest)
            if rest is allowed[feature]:
                continue
            met = rest.met & bad
            for other in allowed.values():
                if not met:
                    break
                if other.feature != feature:
                    met &= other.met
            if not met:
                allowed[feature] = rest
                continue
            earlier[feature] = edge if before is None else meet(before, edge)
            kept_edges.append(place)
            witnesses.append(met)
        met = self._section
        for one in allowed.values():
            met &= one.met
        return _Shortened(tuple(kept_edges), met, frozenset(earlier.values()), witnesses)


def _share_costs(candidates: Iterable[Candidate], n_places: int) -> NDArray[np.float64]:
    """Find the least cost per leaf of a line that contains each leaf; 0 where none does."""
    listed = [(candidate.cost, candidate.places) for candidate in candidates if candidate.places]
    sizes, least = [len(places) for _, places in listed], np.full(n_places, np.inf)
    shares = np.array([cost for cost, _ in listed]) / sizes
    at = np.array([place for _, places in listed for place in places], dtype=np.int64)
    np.minimum.at(least, at, np.repeat(shares, np.array(sizes, dtype=np.int64)))
    return np.where(least < np.inf, least, 0.0)


Rated = tuple[float, int, int, int]  # leaves for each condition, leaves, the first leaf, the number; the best is least


def _rate_one(candidate: Candidate, number: int, n_leaves: int) -> Rated:
    cost = candidate.cost
    return (-n_leaves / cost if cost else -math.inf, -n_leaves, candidate.first, number)


def _rate(candidates: Sequence[Candidate], needed: int) -> list[Rated]:
    """Rate lines by the needed leaves that they contain; the result is a heap."""
    sizes = [(candidate.inside & needed).bit_count() for candidate in candidates]
    heap = [_rate_one(candidates[number], number, size) for number, size in enumerate(sizes) if size]
    heapq.heapify(heap)
    return heap


def _choose(candidates: Sequence[Candidate], needed: int, rated: list[Rated]) -> list[Line]:
    """Choose lines that together contain every needed leaf.

    They were rated by these leaves, or by more: a line is rated again when it is the best.
    """
    every, heap = needed, rated.copy()
    chosen: list[Line] = []
    taken: set[int] = set()
    while needed:
        listed = heapq.heappop(heap)
        number = listed[-1]
        one = candidates[number]
        n_further = (one.inside & needed).bit_count()
        if not n_further:
            continue
        now = _rate_one(one, number, n_further)
        if now > listed:  # others were chosen since; it may not be the best any more
            heapq.heappush(heap, now)
            continue
        place = next((place for place in one.kept if place not in taken), None)
        if place is None:  # each leaf's conditions are written once; a leaf that is left has some of its own
            continue
        taken.add(place)
        chosen.append(Line(place, one))
        needed &= ~one.inside
    return _drop_superfluous(sorted(chosen, key=lambda line: line.place), every)


def _drop_superfluous(chosen: list[Line], needed: int) -> list[Line]:
    """Drop lines all of whose needed leaves others contain, the dearest first."""
    own = {line.place: line.candidate.inside & needed for line in chosen}
    once = several = 0
    for leaves in own.values():
        several |= once & leaves
        once |= leaves
    doubtful = [line for line in chosen if not own[line.place] & ~several]
    times = Counter(place for leaves in own.values() for place in list_places(leaves & several) if doubtful)
    for line in sorted(doubtful, key=lambda line: -line.cost):
        places = list_places(own[line.place])
        if all(times[place] > 1 for place in places):
            times.subtract(places)
            del own[line.place]
    return [line for line in chosen if line.place in own]


FEW_SECTIONS, MOST_SECTIONS = 4, 8  # with "auto": as many as there are classes, between these
HEADING = 2  # conditions that a split between sections prints
LEAST_SAVING = 3  # printed conditions that a split must save with "auto"


class Sections(NamedTuple):
    """How many sections there may be, and how many conditions each split between them must save."""

    most: int
    saving: int


def count_sections(asked: Any, n_classes: int) -> Sections:
    """Check the number of sections that was asked for, or find one."""
    if isinstance(asked, str) and asked == "auto":
        return Sections(min(max(n_classes, FEW_SECTIONS), MOST_SECTIONS), LEAST_SAVING)
    return Sections(check_whole("sections", asked, also=", or 'auto'"), 0)


class Cut(NamedTuple):
    """Sections, by the node that each begins at, left to right, and what each of them writes."""

    nodes: tuple[int, ...]
    covers: tuple[Cover, ...]
    n_conditions: float  # headings among them; what they cost, where columns have costs
    n_lines: int

    @property
    def cost(self) -> tuple[float, int]:
        """Conditions, then lines."""
        return self.n_conditions, self.n_lines


def find_cuts(
    masks: LeafMasks,
    tree: Tree,
    paths: Paths,
    leaves: LeafValues,
    most: int,
    default: int | None = None,
    prices: Prices = count_one,
) -> dict[int, Cut]:
    """Find the shortest cut for each number of sections up to a most; the tree is one over possible rows."""
    offsets, links = paths.offsets.tolist(), paths.links.tolist()
    edges = [Conjunction(masks, [masks.edge(link) for link in links[first:last]]) for first, last in pairwise(offsets)]
    first_leaf, last_leaf = tree.leaf_runs

    def cover(node: int, depth: int) -> Cut:
        places = range(int(first_leaf[node]), int(last_leaf[node]))
        found = cover_leaves(masks, edges, depth, places, leaves, default, prices)
        n_conditions, n_lines = found.cost
        return Cut((node,), (found,), n_conditions, n_lines + 1)

    return _find_cuts(tree, 0, 0, most, cover, prices)


def _find_cuts(
    tree: Tree, node: int, depth: int, most: int, cover: Callable[[int, int], Cut], prices: Prices
) -> dict[int, Cut]:
    """Find the shortest cut of the part of a tree below a node, for each number of sections."""
    found = {1: cover(node, depth)}
    if most < 2 or not found[1].n_conditions:
        return found
    left, right = (
        _find_cuts(tree, int(children[node]), depth + 1, most - 1, cover, prices)
        for children in (tree.children_left, tree.children_right)
    )
    heading = HEADING * prices(int(tree.feature[node]))
    for i, one in left.items():
        for j, other in right.items():
            joined = Cut(*map(add, one, other))
            joined = joined._replace(n_conditions=joined.n_conditions + heading)
            if i + j <= most and (i + j not in found or joined.cost < found[i + j].cost):
                found[i + j] = joined
    return found


def choose_cut(cuts: dict[int, Cut], *, saving: int) -> Cut:
    """Choose the shortest cut, where each split between sections must save so many conditions."""
    costs = {number: cut.n_conditions + saving * (number - 1) for number, cut in cuts.items()}
    return cuts[min(cuts, key=lambda number: (costs[number], -number if saving else number, cuts[number].n_lines))]
