"""What the leaves of a tree say: a class and the share of it, or a value; and which of them one line may answer for.

Shares are fractions of counts, and the tolerance is the decimal number that was written, so that ties are decided
exactly; sums of weights are compared as floats with a slack of 1e-12. The values of a regression tree are compared as
the fractions that the floats are.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.methods.leaf_masks import list_places, make_mask

__all__ = ["CLASSES_ONLY", "LeafValues", "Stated", "Window"]

CLASSES_ONLY = 1.0  # the tolerance of a list that keeps classes, and not their shares
SLACK = 1e-12
NEAR = 1e-9  # so close to a tie, floats do not decide


class Window(NamedTuple):
    """Leaves of one class whose values lie close together."""

    class_id: int
    leaves: int  # a bit for each


class Stated(NamedTuple):
    """The share that a line states, and the least and the largest share of the leaves that it may answer for."""

    share: Any
    low: Any
    high: Any


class LeafValues:
    """The class, the share and the rows of each leaf, by place in source order.

    Parameters
    ----------
    class_ids : ndarray of int64, shape (n_leaves,)
    counts : ndarray of float64, shape (n_leaves, n_classes)
        (Weighted) rows of each leaf by class.
    weights : ndarray of float64, shape (n_leaves,)
        Training rows of each leaf.
    tolerance : float
        How far a line's share may lie from that of a leaf; 1 looks at classes only.
    values : ndarray of float64, shape (n_leaves,), default=None
        Of a regression tree: what each leaf predicts, which takes the place of the shares.
    """

    def __init__(
        self,
        class_ids: NDArray[np.int64],
        counts: NDArray[np.float64],
        weights: NDArray[np.float64],
        tolerance: float,
        values: NDArray[np.float64] | None = None,
    ) -> None:
        self.class_ids: list[int] = class_ids.tolist()
        self.weights: list[float] = weights.tolist()
        self.is_regression = values is not None
        self.has_shares = tolerance < CLASSES_ONLY or self.is_regression
        own, total = counts[np.arange(len(counts)), class_ids], counts.sum(axis=1)
        is_whole = values is not None or bool((counts == np.rint(counts)).all())
        self.tolerance: Any = Fraction(str(tolerance)) if is_whole else tolerance
        self._slack: Any = 0 if is_whole else SLACK  # sums of weights are rounded
        self._floats = np.divide(own, total, out=np.zeros(len(own)), where=total > 0)  # the nearest to the fractions
        self.values: list[Any] = [0] * len(self.class_ids)
        if values is not None:
            self._floats, self.values = values, list(map(Fraction, values.tolist()))
        elif self.has_shares and is_whole:
            pairs = list(zip(own.tolist(), total.tolist(), strict=True))
            # Leaves of a large tree have few shares, and making a fraction takes long.
            found = {pair: Fraction(int(pair[0]), int(pair[1])) if pair[1] else Fraction(0) for pair in set(pairs)}
            self.values = [found[pair] for pair in pairs]
        elif self.has_shares:
            self.values = self._floats.tolist()
        self._rows: list[Any] = self.weights
        self._products: list[Any] = (weights * self._floats).tolist()
        if self.has_shares and is_whole:  # exact, and whole numbers where they are, which are added up faster
            self._rows = [int(row) if row.is_integer() else Fraction(row) for row in self.weights]
            known = zip(self._rows, own.tolist(), total.tolist(), self.values, strict=True)
            self._products = [int(mine) if row == whole else row and row * value for row, mine, whole, value in known]
        self._class_ids = class_ids
        self._stated: dict[int, Stated] = {}  # lines of a large tree meet the same leaves

    def list_windows(self, places: Iterable[int]) -> list[Window]:
        """List the windows of some leaves, class by class; one that lies in another is left out."""
        by_class: dict[int, list[int]] = {}
        for place in places:
            by_class.setdefault(self.class_ids[place], []).append(place)
        found = []
        for class_id in sorted(by_class):
            listed = sorted(by_class[class_id], key=self.values.__getitem__)
            values = [self.values[place] for place in listed]
            last = 0
            for first, value in enumerate(values):
                end = bisect_right(values, value + 2 * self.tolerance + self._slack)
                if end > last:  # else it lies in the window before it
                    found.append(Window(class_id, make_mask(listed[first:end])))
                    last = end
                if end == len(values):
                    break
        return found

    def list_levels(self, places: Iterable[int], width: int = 2) -> list[Window]:
        """List windows that do not overlap, class by class, so many tolerances wide, from the lowest value up."""
        found: list[Window] = []
        floats, values = self._floats.tolist(), self.values
        # Fractions are compared where floats are equal.
        listed = sorted(places, key=lambda place: (self.class_ids[place], floats[place], values[place]))
        begin, most = 0, values[listed[0]] + width * self.tolerance + self._slack
        for place in range(1, len(listed) + 1):
            first, is_same = listed[begin], False
            if place < len(listed) and self.class_ids[listed[place]] == self.class_ids[first]:
                last = values[listed[place]]
                is_same = last is values[listed[place - 1]] or last <= most
            if not is_same:
                found.append(Window(self.class_ids[first], make_mask(listed[begin:place])))
                if place < len(listed):
                    begin, most = place, values[listed[place]] + width * self.tolerance + self._slack
        return found

    def state(self, leaves: int) -> Stated | None:
        """Find the share to state for some leaves of one window: their mean, moved as far as the tolerance asks."""
        if not self.has_shares or not leaves:
            return None
        if leaves not in self._stated:
            self._stated[leaves] = self._state(list_places(leaves))
        return self._stated[leaves]

    def _state(self, places: list[int]) -> Stated:
        rows, total = (sum(some[place] for place in places) for some in (self._rows, self._products))
        if not rows:
            rows, total = len(places), sum(self.values[place] for place in places)
        mean = Fraction(total) / rows if isinstance(self.tolerance, Fraction) else total / rows
        low, high = (self._find_end(places, end) for end in (min, max))
        return Stated(min(max(mean, high - self.tolerance), low + self.tolerance), low, high)

    def to_float(self, stated: Stated | None) -> float:
        """Round what a line states to a float; a value stays within the tolerance where a float does."""
        if stated is None:
            return math.nan
        near = float(stated.share)
        if self.is_regression:
            least, most = stated.high - self.tolerance, stated.low + self.tolerance
            for one in (near, math.nextafter(near, -math.inf), math.nextafter(near, math.inf)):
                if least <= Fraction(one) <= most:
                    return one
        return near

    def _find_end(self, places: list[int], end: Callable[..., Any]) -> Any:
        """Find the least or the largest value; those that floats do not tell apart are compared as they are."""
        floats = self._floats[places]
        at = end(floats)
        same = {id(value): value for value in (self.values[places[one]] for one in np.flatnonzero(floats == at))}
        return end(same.values())

    def find_off(self, class_id: int, stated: Stated | None) -> NDArray[np.bool_]:
        """Mark the leaves that a line is off for: of another class, or with a share beyond the tolerance of its own."""
        off: NDArray[np.bool_] = self._class_ids != class_id
        if stated is None:
            return off
        share, tolerance = float(stated.share), float(self.tolerance)
        distance = np.abs(self._floats - share) - tolerance
        scale = max(abs(share), tolerance) if self.is_regression else 1.0  # values may be of any size
        off |= distance > NEAR * scale
        for place in np.flatnonzero(np.abs(distance) <= NEAR * scale).tolist():
            # A share that was read back is rounded.
            slack = SLACK * scale if isinstance(stated.share, float) else self._slack
            off[place] |= abs(self.values[place] - stated.share) > self.tolerance + slack
        return off
