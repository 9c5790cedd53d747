"""Conditions as regions of one feature: an interval or a set of categories, and whether missing is allowed.

These are the objects a person looks at, made on demand; walks over whole trees use the arrays of
:mod:`secateur.kernels`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secateur.annotation import Annotation
    from secateur.tree import Label, Tree

__all__ = ["Region", "domain_of", "pick_value", "region_of_link", "regions_of_links"]


@dataclass(frozen=True)
class Region:
    """The values of one feature that a conjunction of conditions allows.

    Attributes
    ----------
    low, high : float
        Numbers ``low < x <= high``, both rounded down to the tree's dtype; unused for a categorical feature.
    codes : frozenset of int, or None
        Allowed category codes of a categorical feature; None for a numeric one.
    missing : bool
        Whether NaN is allowed.
    """

    low: float = -math.inf
    high: float = math.inf
    codes: frozenset[int] | None = None
    missing: bool = False

    def meet(self, other: Region) -> Region:
        """What both regions allow."""
        return Region(
            low=max(self.low, other.low),
            high=min(self.high, other.high),
            codes=self.codes
            if other.codes is None
            else other.codes
            if self.codes is None
            else self.codes & other.codes,
            missing=self.missing and other.missing,
        )

    @property
    def has_listed_value(self) -> bool:
        """Whether a number or category is allowed, missing aside."""
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


def region_of_link(tree: Tree, notes: Annotation, link: int) -> Region:
    """What one link allows its feature."""
    node = int(notes.parent[link])
    domain = domain_of(tree, int(tree.feature[node]))
    left = bool(notes.is_left[link])
    missing = domain.missing and bool(tree.missing_left[node]) == left
    if domain.codes is not None:
        listed = frozenset(tree.left_codes(node).tolist())
        return Region(codes=listed if left else domain.codes - listed, missing=missing)
    limit = float(tree.upper[node])
    return Region(high=limit, missing=missing) if left else Region(low=limit, missing=missing)


def regions_of_links(tree: Tree, notes: Annotation, links: Iterable[int]) -> dict[int, Region]:
    """What the conjunction of the links allows each feature that it tests, in order of first appearance."""
    regions: dict[int, Region] = {}
    for link in links:
        feature = int(tree.feature[notes.parent[link]])
        regions[feature] = regions.get(feature, domain_of(tree, feature)).meet(region_of_link(tree, notes, int(link)))
    return regions


def pick_value(tree: Tree, feature: int, region: Region) -> Label | None:
    """A plain value from a region that is not empty: a number, a category label, or None for missing.

    A categorical region that leaves only unlisted values gives the text ``"(any other)"``.
    """
    if not region.has_listed_value:
        return None
    levels = tree.categories[feature]
    if levels is not None and region.codes is not None:
        code = min(region.codes)
        return levels[code] if code < len(levels) else "(any other)"
    return _plain_number(region.low, region.high, np.dtype(tree.dtype))


def _plain_number(low: float, high: float, dtype: np.dtype[Any]) -> float:
    """A number of dtype with few digits in ``low < x <= high``."""
    if low < 0 <= high:
        return 0.0
    if low < 1 <= high:  # so that a 0/1 column gets a value that it can have
        return 1.0
    if math.isinf(low):
        start, low = high, high - max(1.0, abs(high))
    else:
        high = high if math.isfinite(high) else low + max(1.0, abs(low))
        start = low / 2 + high / 2
    with np.errstate(over="ignore"):
        for digits in range(1, 18):
            value = float(dtype.type(f"{start:.{digits}g}"))
            if low < value <= high:
                return value
    with np.errstate(over="ignore"):
        above = float(np.nextafter(dtype.type(low), dtype.type(np.inf)))
    return above if math.isfinite(above) else high
