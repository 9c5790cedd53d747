"""Check that rows satisfy the facts of a tree, and name the first that does not."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, ParameterError, did_you_mean
from secateur.tree.facts import Claim, Group, Implication
from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from secateur.rows.rows import Rows


def check_facts(tree: Tree, rows: Rows, *, typed: Collection[int] = (), name: str = "X", first_row: int = 0) -> None:
    """Raise :class:`~secateur.errors.InputError` for the first row that contradicts a fact of the tree.

    ``typed`` columns are known by their type to hold whole numbers, so that is not checked again.
    """
    facts = tree.facts
    rounded = [feature for feature in facts.decimals_of if feature not in typed]
    if not (rounded or facts.groups or facts.all_claims):
        return
    for first, last in rows.spans():
        block = _Block(tree, rows, (first, last), name, first_row + first)
        for group in facts.groups:
            block.check_group(group)
        for feature in rounded:
            block.check_decimals(feature)
        for claim in facts.claims:
            block.check_claim(claim)
        for known in facts.implications:
            block.check_claim(known)


def find_broken_facts(tree: Tree, rows: Rows) -> dict[str, int]:
    """Count the rows that contradict each fact of the tree, in words; facts that all of them satisfy are left out."""
    facts, broken = tree.facts, dict[str, int]()
    known: tuple[Claim | Implication, ...] = (*facts.implications, *facts.claims)
    for span in rows.spans() if facts else ():
        block = _Block(tree, rows, span)
        marks: list[tuple[str, NDArray[np.bool_]]] = [
            *((str(one), block.break_claim(one)) for one in known),
            *((str(group), block.break_group(group)) for group in facts.groups),
            *((tree.describe_decimals(f), block.break_decimals(f)) for f in facts.decimals_of),
        ]
        for words, mark in marks:
            if mark.any():
                broken[words] = broken.get(words, 0) + int(mark.sum())
    return broken


class _Block:
    """The columns that facts are about, of some rows."""

    def __init__(self, tree: Tree, rows: Rows, span: tuple[int, int], name: str = "X", first: int = 0) -> None:
        self.tree, self.name, self.first = tree, name, first
        features = np.array(sorted(tree.facts.features(tree.n_features)), dtype=np.int64)
        self.columns = dict(zip(features.tolist(), rows.read(*span, features).T, strict=True))

    def check_group(self, group: Group) -> None:
        """Check that a group's columns hold 0 and 1, and that at most one of them is 1."""
        broken = self.break_group(group)
        if not broken.any():
            return
        values = self._values(group)
        strange = ~((values == 0) | (values == 1))
        row = int(strange.any(axis=1).argmax() if strange.any() else broken.argmax())
        shown = [self.tree.feature_name(feature) for feature in group.features]
        if strange.any():
            column = int(strange[row].argmax())
            found = f"{shown[column]!r} is {values[row, column]:g}, neither 0 nor 1"
        else:
            one, other = np.flatnonzero(values[row])[:2]
            found = f"{shown[one]!r} and {shown[other]!r} are both 1"
        raise InputError(f"Row {self.first + row} of {self.name} is not one-hot in the group {group.name!r}: {found}.")

    def check_decimals(self, feature: int) -> None:
        broken, values = self.break_decimals(feature), self.columns[feature]
        if broken.any():
            row = int(broken.argmax())
            words = self.tree.facts.describe_decimals(feature, repr(self.tree.feature_name(feature)))
            raise InputError(
                f"The fact is that {words}, but row {self.first + row} of {self.name} has {values[row]!s}."
            )

    def check_claim(self, known: Claim | Implication) -> None:
        broken = self.break_claim(known)
        if broken.any():
            claims = (known.premise, known.conclusion) if isinstance(known, Implication) else (known,)
            row = int(broken.argmax())
            shown = ", ".join(self._show(claim, row) for claim in claims)
            raise InputError(f"Row {self.first + row} of {self.name} contradicts the fact {str(known)!r}: {shown}.")

    def break_group(self, group: Group) -> NDArray[np.bool_]:
        """Mark the rows that are not one-hot in a group."""
        values = self._values(group)
        return np.asarray(~((values == 0) | (values == 1)).all(axis=1) | (values.sum(axis=1) > 1))

    def break_decimals(self, feature: int) -> NDArray[np.bool_]:
        """Mark the rows whose number has more decimals than the fact states."""
        values, n_decimals = self.columns[feature], self.tree.facts.decimals_of[feature]
        # The decimal nearest to a number is the number itself, read back, if it has no more digits.
        rounded = np.round(values.astype(np.float64), n_decimals).astype(values.dtype)
        return np.asarray((rounded != values) & ~np.isnan(values))

    def break_claim(self, known: Claim | Implication) -> NDArray[np.bool_]:
        """Mark the rows for which a claim or an implication does not hold."""
        if isinstance(known, Implication):
            return self._holds(known.premise) & ~self._holds(known.conclusion)
        return ~self._holds(known)

    def _values(self, group: Group) -> NDArray[Any]:
        return np.column_stack([self.columns[feature] for feature in group.features])

    def _holds(self, claim: Claim) -> NDArray[np.bool_]:
        region = claim.region
        if claim.subject < self.tree.n_features:
            values = self.columns[claim.subject]
        else:
            ones = self._values(self.tree.facts.groups[claim.subject - self.tree.n_features])
            values = np.where(ones.any(axis=1), ones.argmax(axis=1), float(ones.shape[1]))
        codes = region.codes
        inside = (values > region.low) & (values <= region.high) if codes is None else np.isin(values, sorted(codes))
        return np.where(np.isnan(values), region.missing, inside)

    def _show(self, claim: Claim, row: int) -> str:
        """Show what a row holds in the column or group that a claim is about."""
        tree = self.tree
        if claim.subject >= tree.n_features:
            group = tree.facts.groups[claim.subject - tree.n_features]
            ones = [k for k, feature in enumerate(group.features) if self.columns[feature][row] == 1]
            return f"{group.name} = {group.labels[ones[0]] if ones else 'none of its labels'}"
        value, levels = self.columns[claim.subject][row], tree.categories[claim.subject]
        if np.isnan(value):
            shown = "missing"
        elif levels is None:
            shown = f"{value:g}"
        else:
            shown = str(levels[int(value)]) if value < len(levels) else "a category that is not listed"
        return f"{tree.feature_name(claim.subject)} = {shown}"


def find_columns(tree: Tree, columns: Any, who: str, held: str, table: Collection[str] = ()) -> list[int]:
    """Find columns by name or place that do not hold categories; other columns of the table are left out."""
    names = {tree.feature_name(feature): feature for feature in range(tree.n_features)}
    found = []
    for column in columns:
        is_place = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
        if is_place and 0 <= column < tree.n_features:
            feature = int(column)
        elif isinstance(column, str) and column in names:
            feature = names[column]
        elif not is_place and column in table:
            continue  # nothing depends on it
        elif is_place:
            raise ParameterError(f"{who} column {column}, but there are {tree.n_features} columns.")
        else:
            hint = did_you_mean(column, names)
            hint += "" if tree.columns is None else " Its own encoders need not be named."
            raise ParameterError(f"{who} the column {column!r}, which the tree does not have.{hint}")
        if tree.categories[feature] is not None:
            raise ParameterError(f"{who} the column {tree.feature_name(feature)!r}, which holds categories{held}")
        found.append(feature)
    return found
