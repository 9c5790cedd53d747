"""Conditions as regions of one feature: an interval or a set of categories, and whether a value may be missing.

They are made on demand, for what a person looks at; walks over whole trees use the arrays of
:mod:`secateur.kernels.walks`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Label, Tree


class Region(NamedTuple):
    """The values of one feature that a conjunction of conditions allows."""

    low: float = -math.inf  # numbers low < x <= high, both rounded down to the tree's dtype; unused for categories
    high: float = math.inf
    codes: frozenset[int] | None = None  # allowed codes of a categorical feature; None for a numeric one
    missing: bool = False  # whether NaN is allowed

    def meet(self, other: Region) -> Region:
        """Intersect two regions of one feature."""
        low, high, codes, missing = self
        other_low, other_high, other_codes, other_missing = other
        return Region(
            low if low > other_low else other_low,
            high if high < other_high else other_high,
            None if codes is None or other_codes is None else codes & other_codes,
            missing and other_missing,
        )

    @property
    def has_listed_value(self) -> bool:
        """Whether a number or category is allowed, leaving missing values aside."""
        return self.low < self.high if self.codes is None else bool(self.codes)

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is allowed."""
        return not self.missing and not self.has_listed_value


def domain_of(tree: Tree, feature: int) -> Region:
    """Everything that a row may hold in the feature's column."""
    levels = tree.categories[feature]
    codes = None if levels is None else frozenset(range(len(levels) + 1))
    return Region(codes=codes, missing=bool(tree.accepts_missing[feature]))


def regions_of_links(tree: Tree, paths: Paths, links: Iterable[int]) -> dict[int, Region]:
    """What the links together allow each feature that they test, in order of first appearance."""
    return meet_regions(read_links(tree, paths, links))


def meet_regions(tested: Iterable[tuple[int, Region]]) -> dict[int, Region]:
    """Intersect the regions of each feature, features in order of first appearance."""
    regions: dict[int, Region] = {}
    for feature, region in tested:
        regions[feature] = regions[feature].meet(region) if feature in regions else region
    return regions


def read_links(tree: Tree, paths: Paths, links: Iterable[int]) -> list[tuple[int, Region]]:
    """List the feature that each link tests, and what the link allows it."""
    chosen = np.array(links, dtype=np.int64)
    nodes = paths.parent[chosen]
    found = []
    for node, feature, limit, left, accepts, missing_left in zip(
        nodes.tolist(),
        tree.feature[nodes].tolist(),
        tree.upper[nodes].tolist(),
        paths.is_left[chosen].tolist(),
        tree.accepts_missing[tree.feature[nodes]].tolist(),
        tree.missing_left[nodes].tolist(),
        strict=True,
    ):
        missing = accepts and missing_left == left
        levels = tree.categories[feature]
        if levels is None:
            region = Region(-math.inf, limit, None, missing) if left else Region(limit, math.inf, None, missing)
        else:
            listed = frozenset(tree.left_codes(node).tolist())
            codes = listed if left else frozenset(range(len(levels) + 1)) - listed
            region = Region(codes=codes, missing=missing)
        found.append((feature, region))
    return found


def pick_value(tree: Tree, feature: int, region: Region) -> Label | None:
    """Pick a plain value from a region that is not empty: a number, a category label, or None for missing.

    A categorical region that leaves only unlisted values gives the text ``"(any other)"``.
    """
    if not region.has_listed_value:
        return None
    levels = tree.categories[feature]
    if levels is not None and region.codes is not None:
        code = min(region.codes)
        return levels[code] if code < len(levels) else "(any other)"
    facts, low, high = tree.facts, region.low, region.high
    if not facts:
        return _plain_number(low, high, tree.dtype)
    held = facts.region_of(feature)
    if held is not None:
        low, high = max(low, held.low), min(high, held.high)
    return pick_number(low, high, tree.dtype, facts.decimals_of.get(feature))


def pick_number(low: float, high: float, dtype: str, n_decimals: int | None) -> float:
    """Pick a number of dtype in ``low < x <= high``, with so many decimals at most or with few digits."""
    if n_decimals is None:
        return _plain_number(low, high, dtype)
    for favoured in (0.0, 1.0):  # so that a 0/1 column gets a value that it can have
        if low < favoured <= high:
            return favoured
    plain = _plain_number(low, high, dtype)
    if n_decimals > 0 and round(plain, n_decimals) == plain:
        return plain
    if math.isfinite(high):
        return round_down_to_decimals(high, n_decimals, dtype)
    return next_with_decimals(low, n_decimals, dtype)


@lru_cache(maxsize=65536)
def _plain_number(low: float, high: float, dtype: str) -> float:
    """Pick a number of dtype with few digits in ``low < x <= high``."""
    if low < 0 <= high:
        return 0.0
    if low < 1 <= high:  # so that a 0/1 column gets a value that it can have
        return 1.0
    if math.isinf(low):
        start, low = high, high - max(1.0, abs(high))
    else:
        high = high if math.isfinite(high) else low + max(1.0, abs(low))
        start = low / 2 + high / 2
    kind = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        for digits in range(1, 18):
            value = float(kind(f"{start:.{digits}g}"))
            if low < value <= high:
                return value
        above = float(np.nextafter(kind(low), kind(np.inf)))
    return above if math.isfinite(above) else high


MOST_DECIMALS = 15
_EXACT = Context(prec=1100, rounding=ROUND_FLOOR)  # enough digits to write out every float64


@lru_cache(maxsize=65536)
def last_with_decimals(limit: float, decimals: int, dtype: str) -> Decimal:
    """Find the largest number with so many decimals that, rounded to dtype, does not exceed a finite limit in dtype."""
    kind, step = np.dtype(dtype).type, Decimal(1).scaleb(-decimals)
    with np.errstate(over="ignore"):
        beyond = float(np.nextafter(kind(limit), kind(np.inf)))
        # A number between two neighbours in dtype is rounded to the nearer of them.
        exact = Decimal(limit)
        middle = exact if math.isinf(beyond) else _EXACT.divide(_EXACT.add(exact, Decimal(beyond)), Decimal(2))
        last = _EXACT.quantize(middle, step)

        def fits(n_steps: int) -> bool:
            moved = _EXACT.add(last, _EXACT.multiply(step, Decimal(n_steps)))
            return float(kind(float(moved))) <= limit

        # Rounding twice, to a double and then to dtype, may move the end by many steps.
        return _EXACT.add(last, _EXACT.multiply(step, Decimal(find_last(fits, 0))))


def find_last(fits: Callable[[int], bool], place: int) -> int:
    """Find the last whole number that fits, if all before it do, near a place: double the stride, then halve it."""
    jump = 1
    while not fits(place):
        place, jump = place - jump, 2 * jump
    jump = 1
    while fits(place + jump):
        place, jump = place + jump, 2 * jump
    while jump > 1:
        jump //= 2
        place += jump if fits(place + jump) else 0
    return place


def round_down_to_decimals(limit: float, decimals: int, dtype: str) -> float:
    """Round a limit down to :func:`last_with_decimals`, as a number of dtype; an infinite limit stays."""
    if math.isinf(limit):
        return limit
    return float(np.dtype(dtype).type(float(last_with_decimals(limit, decimals, dtype))))


def next_with_decimals(limit: float, decimals: int, dtype: str) -> float:
    """Find the first number with so many decimals that, rounded to dtype, exceeds a limit in dtype."""
    following = _EXACT.add(last_with_decimals(limit, decimals, dtype), Decimal(1).scaleb(-decimals))
    with np.errstate(over="ignore"):
        return float(np.dtype(dtype).type(float(following)))
