"""Edits of a list, each with its price: what a person changed, and on which rows it now differs from the tree.

An edited list is a list of the same tree, made of sections and lines that keep edges of it. It promises nothing but
what was counted after the edit. Limits that were rounded are those of the tree that the list holds; the journal knows
the limits that they had.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, shorten
from secateur.methods.leaves import CLASSES_ONLY, Stated
from secateur.rules.lines import without_facts
from secateur.words.conditions import count_of, count_points, format_count

if TYPE_CHECKING:
    from secateur.rows.row_source import GivenRows
    from secateur.rows.rows import LabelledRows
    from secateur.rules.rules import Rules
    from secateur.tree.tree import Tree

# What each edit needs, with an example.
NEEDS: dict[str, dict[str, Any]] = dict(
    strike={"line": 3}, without={"column": "age"}, answer={"line": 3, "to": "yes"}, rounded={}
)


class Edit(NamedTuple):
    """One entry of a journal."""

    edit: str  # "strike", "without", "answer" or "rounded"
    line: int | None = None  # its number as it was printed then: from 1
    column: str | None = None  # not asked any more
    to: Any = None  # label of the class that the line was given
    was: str | None = None  # the line then, with exact numbers, so that a journal is not replayed on another list
    reason: str = ""  # in the words of whoever edited
    limits: tuple[tuple[int, float], ...] = ()  # of rounded limits: each node, and the limit that it had

    def to_dict(self) -> dict[str, Any]:
        """Give the entry as plain values, without those that say nothing."""
        told = {name: value for name, value in self._asdict().items() if value is not None and value != ()}
        return told | ({"limits": [list(pair) for pair in self.limits]} if self.limits else {})


@dataclass(frozen=True, eq=False)
class Price:
    """What edits cost on some rows."""

    rows: float  # (weighted) number of them
    # (Weighted) rows by the class of the tree, that of the list and their own, where the first two differ.
    changed: NDArray[np.float64]
    # (Weighted) rows that get another class, or a share of the tree's beyond the tolerance of their leaf's, and how far
    # those shares move at most. None of lists that stated none, and where the rows of lines are not known.
    off: float | None = None
    largest: float | None = None

    @property
    def differs(self) -> float:
        """(Weighted) rows that get another class than from the tree."""
        return float(self.changed.sum())

    @property
    def caught(self) -> NDArray[np.float64]:
        """By class: (weighted) rows that the list answers rightly and the tree does not."""
        return np.einsum("ijj->j", self.changed)  # type: ignore[no-any-return]

    @property
    def lost(self) -> NDArray[np.float64]:
        """By class: (weighted) rows that the tree answers rightly and the list does not."""
        return np.einsum("iji->i", self.changed)  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values: of ``changed`` what is not 0, after its three places."""
        places = np.argwhere(self.changed).tolist()
        told = {"rows": self.rows, "changed": [[*place, float(self.changed[tuple(place)])] for place in places]}
        return told if self.off is None else told | {"off": self.off, "largest": self.largest}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], n_classes: int) -> Price:
        """Read what :meth:`to_dict` wrote."""
        changed = np.zeros((n_classes, n_classes, n_classes))
        for *place, rows in content["changed"]:
            if len(place) != 3 or not all(type(one) is int and 0 <= one < n_classes for one in place):
                raise ValueError("expected three classes in 'changed'")
            changed[tuple(place)] = rows
        rows = float(content["rows"])
        off, largest = (float(content[name]) if "off" in content else None for name in ("off", "largest"))
        most = rows * (1 + 1e-9)
        fits = 0 <= (off or 0) <= most and 0 <= (largest or 0) <= 1
        if not (fits and (changed >= 0).all() and changed.sum() <= most):
            raise ValueError("expected numbers of rows in 'edits'")
        return cls(rows, changed, off, largest)


@dataclass(frozen=True, eq=False)
class Edits:
    """The journal of a list, and what its edits cost together on the training rows and on unseen ones."""

    journal: tuple[Edit, ...]
    training: Price | None = None
    unseen: Price | None = None
    tolerance: float = CLASSES_ONLY  # of the list before it was edited

    def describe(self) -> str:
        """Say what an edited list promises: what was counted."""
        times = "once" if len(self.journal) == 1 else f"{len(self.journal)} times"
        priced = [(price, kind) for price, kind in ((self.training, "training"), (self.unseen, "unseen")) if price]
        if not priced:
            return f"Edited {times}: on how many rows the class differs from the tree's was not counted."
        told = " and on ".join(
            f"{format_count(price.differs)} of {count_of(price.rows, f'{kind} row')}" for price, kind in priced
        )
        told = f"Edited {times}: the class differs from the tree's on {told}; "
        if known := [(price.off, price.largest or 0.0) for price, _ in priced if price.off is not None]:
            off, most = " and ".join(format_count(off) for off, _ in known), 100 * max(moved for _, moved in known)
            points = count_points(self.tolerance)
            told += f"the class, or a probability by more than {points}, on {off} (at most {most:.3g} points); "
        return f"{told}nothing is promised about other rows."

    def restore(self, tree: Tree) -> Tree:
        """Give the tree its limits back that were rounded."""
        limits = [pair for edit in reversed(self.journal) for pair in edit.limits]
        if not limits:
            return tree
        threshold = np.array(tree.threshold)
        for node, limit in limits:
            threshold[node] = limit
        return replace(tree, threshold=threshold)


@dataclass(frozen=True)
class _PriceCounter:
    """Counts what edits cost."""

    rules: Rules
    features = None  # those that the tree tests

    @cached_property
    def own(self) -> NDArray[np.float64]:
        """The share of its class in each leaf."""
        return np.nan_to_num(self.rules.find_shares(self.rules.value_counts, self.rules.paths.leaf_class))

    @cached_property
    def off(self) -> NDArray[np.bool_] | None:
        """Mark for each line the leaves that it is off for; None where lines stated no shares, or have no rows."""
        rules, edits = self.rules, self.rules.making.edits
        if edits is None or edits.tolerance >= CLASSES_ONLY or not rules.is_counted:
            return None
        values, every = rules.make_leaf_values(edits.tolerance), np.arange(rules.n_lines)
        shares = rules.shares[every, rules.class_ids].tolist()
        lines = zip(rules.class_ids.tolist(), shares, strict=True)
        return np.array([values.find_off(class_id, Stated(share, share, share)) for class_id, share in lines])

    def count(self, listed: LabelledRows) -> Price:
        """Count some rows."""
        rules, n_classes = self.rules, self.rules.tree.n_classes
        rows, truth, weights = listed.rows, listed.class_ids, listed.weights
        heavy = np.ones(rows.n_rows) if weights is None else weights
        leaf, line = rules.find_places(rows)
        said, given = rules.paths.leaf_class[leaf], rules.class_ids[line]
        differs = said != given
        cell = (said * n_classes + given) * n_classes + truth
        changed = np.bincount(cell[differs], heavy[differs], n_classes**3).astype(np.float64)
        price = Price(float(heavy.sum()), changed.reshape((n_classes,) * 3))
        if self.off is None:
            return price
        moved = np.abs(rules.shares[line, said] - self.own[leaf])
        return replace(price, off=float(heavy[self.off[line, leaf]].sum()), largest=float(moved.max(initial=0.0)))

    def add(self, total: Price, part: Price) -> Price:
        """Add the counts of a further piece."""
        price = Price(total.rows + part.rows, total.changed + part.changed)
        if total.off is None or part.off is None:
            return price
        return replace(price, off=total.off + part.off, largest=max(total.largest or 0, part.largest or 0))


def count_price(rules: Rules, given: GivenRows) -> Price:
    """Count what the edits of a list cost on some rows."""
    with rules._open(*given) as rows:
        return rows.fold(without_facts(rules.tree), _PriceCounter(rules))  # type: ignore[no-any-return]


def price_unseen(rules: Rules, given: GivenRows) -> Rules:
    """Count what edits cost on rows that had no part in making the rules."""
    edits = rules.making.edits
    if edits is None:
        return rules
    return rules.change(making=replace(rules.making, edits=replace(edits, unseen=count_price(rules, given))))


def read_edit(content: Any) -> Edit:
    """Read an entry of a journal, also as ``json.dumps`` writes an Edit; reject what no edit has."""
    if isinstance(content, list | tuple) and len(content) == len(Edit._fields):
        content = dict(zip(Edit._fields, content, strict=True))
    if not isinstance(content, Mapping) or content.get("edit") not in [*NEEDS]:
        raise InputError(f'Expected an edit such as {{"edit": "strike", "line": 3}}, found {shorten([content])}.')
    if unknown := set(content) - set(Edit._fields):
        raise InputError(f"An edit has no field {min(unknown)!r}; its fields are {', '.join(Edit._fields)}.")
    for name in (needs := NEEDS[content["edit"]]):
        if content.get(name) is None:
            form = json.dumps({"edit": content["edit"], **needs})
            raise InputError(f"The edit {content['edit']!r} needs {name!r}, as in {form}.")
    kinds: dict[str, Any] = {"line": int, "column": str, "was": str, "reason": str}
    for name, kind in kinds.items():
        if content.get(name) is not None and type(content[name]) is not kind:
            raise InputError(f"Expected {name!r} of an edit as {kind.__name__}, found {content[name]!r}.")
    if isinstance(content.get("to"), float) and not math.isfinite(content["to"]):
        raise InputError(f"Expected 'to' of an edit as a label, found {content['to']!r}.")
    limits = content.get("limits") or ()
    if not (isinstance(limits, list | tuple) and all(map(_is_limit, limits))):
        raise InputError("Expected the limits of an edit as pairs of a node and a number.")
    return Edit(**{**content, "limits": tuple((node, float(limit)) for node, limit in limits)})


def _is_limit(pair: Any) -> bool:
    is_pair = isinstance(pair, list | tuple) and [type(one) for one in pair] in ([int, int], [int, float])
    return is_pair and abs(pair[1]) <= sys.float_info.max


def read_journal(content: Any) -> list[Edit]:
    """Read a journal: a list of edits, or an object that has one."""
    listed = content.get("journal") if isinstance(content, Mapping) else content
    if not isinstance(listed, list):
        raise InputError('Expected a list of edits, such as [{"edit": "strike", "line": 3, "reason": "…"}].')
    return [read_edit(one) for one in listed]
