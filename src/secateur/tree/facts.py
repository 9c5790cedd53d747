"""Stated facts about the columns: groups, whole numbers, bounds, implications, orders.

A fact says which rows are possible. Exact methods may then delete a condition that only keeps out impossible rows, and
their promise holds for possible rows: so every certificate names the facts that it assumes. An order of categories
rules out no row; it says which of two rows is the larger.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from secateur.tree.columns import show_text
from secateur.tree.regions import Region

if TYPE_CHECKING:
    from secateur.tree.tree import Label


@dataclass(frozen=True)
class Group:
    """Columns of zeros and ones that stand for one categorical: at most one of them is 1."""

    name: str  # of the categorical
    features: tuple[int, ...]
    labels: tuple[Label, ...]  # the category that each column stands for

    def __str__(self) -> str:
        return f"at most one of {show_text(self.name)}'s {len(self.features)} columns is 1"


@dataclass(frozen=True)
class Claim:
    """What one column, or one group, is said to hold."""

    subject: int  # a feature, or n_features + g for the g-th group
    region: Region  # the values; for a group the codes of its labels, and the code after the last for none of them
    text: str  # the claim in words

    def __str__(self) -> str:
        return show_text(self.text)


@dataclass(frozen=True)
class Implication:
    """Where the premise holds, the conclusion holds too."""

    premise: Claim
    conclusion: Claim

    def __str__(self) -> str:
        return f"{self.premise} => {self.conclusion}"


@dataclass(frozen=True)
class Order:
    """Categories of one column from the least to the greatest; categories that it leaves out compare with none."""

    feature: int
    codes: tuple[int, ...]  # of its categories, rising
    text: str  # the order in words

    def __str__(self) -> str:
        return show_text(self.text)


@dataclass(frozen=True)
class Facts:
    """All stated facts about a tree's columns."""

    integers: tuple[int, ...] = ()  # features that hold whole numbers only
    decimals: tuple[tuple[int, int], ...] = ()  # features and the most decimals that their numbers have
    claims: tuple[Claim, ...] = ()  # that hold for every row
    groups: tuple[Group, ...] = ()  # no feature is in two of them
    implications: tuple[Implication, ...] = ()
    orders: tuple[Order, ...] = ()  # at most one for each feature
    unused: tuple[str, ...] = field(
        default=(), compare=False
    )  # statements about columns that the tree does not ask for

    def __bool__(self) -> bool:
        return bool(self.limits_rows or self.orders)

    @property
    def limits_rows(self) -> bool:
        """Whether some row is impossible."""
        return bool(self.integers or self.decimals or self.claims or self.groups or self.implications)

    @cached_property
    def decimals_of(self) -> dict[int, int]:
        """The most decimals of a feature's numbers, where a fact states them; whole numbers have none."""
        return {**dict(self.decimals), **dict.fromkeys(self.integers, 0)}

    def describe_decimals(self, feature: int, name: str) -> str:
        """Describe the stated decimals of a feature."""
        n_decimals = self.decimals_of[feature]
        if n_decimals == 0:
            return f"{name} is a whole number"
        return f"{name} has at most {n_decimals} decimal{'s' if n_decimals > 1 else ''}"

    @property
    def all_claims(self) -> tuple[Claim, ...]:
        """Claims about every row, and the premises and conclusions of implications."""
        return (*self.claims, *(claim for known in self.implications for claim in (known.premise, known.conclusion)))

    def features(self, n_features: int) -> set[int]:
        """The features that some fact is about."""
        members = (feature for claim in self.all_claims for feature in self.members(claim, n_features))
        return {*members, *self.decimals_of, *self.group_of}

    def region_of(self, feature: int) -> Region | None:
        """What the claims about every row leave a feature; None where there are none."""
        found = None
        for claim in self.claims:
            if claim.subject == feature:
                found = claim.region if found is None else found.meet(claim.region)
        return found

    @cached_property
    def group_of(self) -> dict[int, int]:
        """The place of each grouped feature's group."""
        return {feature: place for place, group in enumerate(self.groups) for feature in group.features}

    def link_features(self, n_features: int) -> list[tuple[int, ...]]:
        """List the features that must be looked at together: those of a group, and those that implications connect."""
        bundle_of: dict[int, set[int]] = {}
        sets = [set(group.features) for group in self.groups]
        for known in self.implications:
            sets.append({*self.members(known.premise, n_features), *self.members(known.conclusion, n_features)})
        for together in sets:
            for feature in list(together):
                together |= bundle_of.get(feature, set())
            for feature in together:
                bundle_of[feature] = together
        return sorted({tuple(sorted(together)) for together in bundle_of.values()})

    def leave_out(self, fact: Claim | Implication | Group | int, n_features: int) -> Facts | None:
        """Drop one fact; None if another fact speaks of the group that was to go.

        An int stands for the stated decimals of that feature.
        """
        if isinstance(fact, Implication):
            return replace(self, implications=tuple(known for known in self.implications if known != fact))
        if isinstance(fact, Claim):
            return replace(self, claims=tuple(claim for claim in self.claims if claim != fact))
        if isinstance(fact, int):
            return replace(
                self,
                integers=tuple(feature for feature in self.integers if feature != fact),
                decimals=tuple(pair for pair in self.decimals if pair[0] != fact),
            )
        gone = n_features + self.groups.index(fact)
        if any(claim.subject == gone for claim in self.all_claims):
            return None

        def renumber(claim: Claim) -> Claim:
            return replace(claim, subject=claim.subject - 1) if claim.subject > gone else claim

        return replace(
            self,
            groups=tuple(group for group in self.groups if group != fact),
            claims=tuple(renumber(claim) for claim in self.claims),
            implications=tuple(
                Implication(renumber(known.premise), renumber(known.conclusion)) for known in self.implications
            ),
        )

    def members(self, claim: Claim, n_features: int) -> tuple[int, ...]:
        """The features that a claim is about: one, or those of a group."""
        if claim.subject >= n_features:
            return self.groups[claim.subject - n_features].features
        return (claim.subject,)


NO_FACTS = Facts()
