"""Whether rows keep to the facts: the first that does not is named."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from secateur.rows.rows import Rows
    from secateur.tree.facts import Claim, Group
    from secateur.tree.regions import Region
    from secateur.tree.tree import Tree

__all__ = ["check_facts", "find_broken_facts"]


def check_facts(tree: Tree, rows: Rows, *, typed: Collection[int] = (), name: str = "X", first_row: int = 0) -> None:
    """Raise :class:`~secateur.errors.InputError` for the first row that contradicts a fact of the tree.

    Columns whose type says already that they hold whole numbers need not be looked at for that.
    """
    facts = tree.facts
    gridded = [feature for feature in facts.grid_of if feature not in typed]
    if not (gridded or facts.groups or facts.all_claims):
        return
    features = np.array(sorted(facts.features(tree.n_features)), dtype=np.int64)
    for first, last in rows.spans():
        read = rows.select(first, last, features)
        block = _Block(tree, {int(f): read[:, place] for place, f in enumerate(features)}, first_row + first, name)
        for group in facts.groups:
            block.check_group(group)
        for feature in gridded:
            block.check_grid(feature)
        for claim in facts.claims:
            block.check_claim(claim)
        for known in facts.implications:
            broken = block.holds(known.premise) & ~block.holds(known.conclusion)
            block.refuse(broken, f"contradicts the fact {str(known)!r}", known.premise, known.conclusion)


def find_broken_facts(tree: Tree, rows: Rows) -> list[str]:
    """The facts of the tree that some of a few rows do not keep to, in words."""
    facts = tree.facts
    features = np.array(sorted(facts.features(tree.n_features)), dtype=np.int64)
    if not len(features):
        return []
    read = rows.select(0, rows.n_rows, features)
    block = _Block(tree, {int(f): read[:, place] for place, f in enumerate(features)}, 0, "X")
    broken = [
        str(known)
        for known in facts.implications
        if (block.holds(known.premise) & ~block.holds(known.conclusion)).any()
    ]
    broken += [str(claim) for claim in facts.claims if not block.holds(claim).all()]
    for check, words in (
        *((partial(block.check_group, group), str(group)) for group in facts.groups),
        *((partial(block.check_grid, f), facts.describe_grid(f, tree.feature_name(f))) for f in facts.grid_of),
    ):
        try:
            check()
        except InputError:
            broken.append(words)
    return broken


class _Block:
    """Some columns of some rows."""

    def __init__(self, tree: Tree, columns: dict[int, NDArray[Any]], first: int, name: str) -> None:
        self.tree, self.columns, self.first, self.name = tree, columns, first, name

    def check_group(self, group: Group) -> None:
        """Every row has zeros in a group's columns, and a 1 in one of them at most."""
        values = np.column_stack([self.columns[feature] for feature in group.features])
        strange = ~((values == 0) | (values == 1))
        if strange.any():
            row, column = np.argwhere(strange)[0]
            raise InputError(
                f"Row {self.first + row} of {self.name} is not one-hot in the group {group.name!r}: "
                f"{self.tree.feature_name(group.features[column])!r} is {values[row, column]:g}, neither 0 nor 1."
            )
        several = values.sum(axis=1) > 1
        if several.any():
            row = int(np.flatnonzero(several)[0])
            ones = [self.tree.feature_name(group.features[column]) for column in np.flatnonzero(values[row])]
            raise InputError(
                f"Row {self.first + row} of {self.name} is not one-hot in the group {group.name!r}: "
                f"{ones[0]!r} and {ones[1]!r} are both 1."
            )

    def check_grid(self, feature: int) -> None:
        """A column holds numbers with as many decimals as is known of it."""
        values, n_decimals = self.columns[feature], self.tree.facts.grid_of[feature]
        # The decimal nearest to a number is the number itself, read back, if it has no more digits.
        broken = (np.round(values.astype(np.float64), n_decimals).astype(values.dtype) != values) & ~np.isnan(values)
        if broken.any():
            row = int(np.flatnonzero(broken)[0])
            words = self.tree.facts.describe_grid(feature, repr(self.tree.feature_name(feature)))
            raise InputError(
                f"The fact is that {words}, but row {self.first + row} of {self.name} has {values[row]!s}."
            )

    def check_claim(self, claim: Claim) -> None:
        """A claim holds for every row."""
        self.refuse(~self.holds(claim), f"contradicts the fact {str(claim)!r}", claim)

    def holds(self, claim: Claim) -> NDArray[np.bool_]:
        """For which rows a claim holds."""
        if claim.subject < self.tree.n_features:
            return _is_in(self.columns[claim.subject], claim.region)
        group = self.tree.facts.groups[claim.subject - self.tree.n_features]
        values = np.column_stack([self.columns[feature] for feature in group.features])
        codes = np.where(values.any(axis=1), values.argmax(axis=1), len(group.features))
        return np.isin(codes, sorted(claim.region.codes or ()))

    def refuse(self, broken: NDArray[np.bool_], what: str, *claims: Claim) -> None:
        """Show the first row that breaks a fact."""
        if broken.any():
            row = int(np.flatnonzero(broken)[0])
            shown = ", ".join(self._show(claim, row) for claim in claims)
            raise InputError(f"Row {self.first + row} of {self.name} {what}: {shown}.")

    def _show(self, claim: Claim, row: int) -> str:
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


def _is_in(values: NDArray[Any], region: Region) -> NDArray[np.bool_]:
    if region.codes is None:
        inside = (values > region.low) & (values <= region.high)
    else:
        inside = np.isin(values, sorted(region.codes))
    return np.where(np.isnan(values), region.missing, inside)
