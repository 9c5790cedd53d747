"""Stated facts about the columns: groups, whole numbers, bounds, implications, orders; and their words.

A fact says which rows are possible. Exact methods may then delete a condition that only keeps out impossible rows, and
their promise holds for possible rows: so every certificate names the facts that it assumes. An order of categories
rules out no row; it says which of two rows is the larger.

The words of a fact are made from its numbers, so that they never say anything else. A bound is written as ``<``,
``<=``, ``>`` or ``>=``, whichever takes fewer digits: limits are rounded to the tree's dtype, and ``age >= 18`` is
stored as the number before 18.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np

from secateur.tree.columns import show_text
from secateur.tree.regions import Region

if TYPE_CHECKING:
    from secateur.tree.tree import Label, Tree


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
    # Statements about columns that the tree does not ask for.
    unused: tuple[str, ...] = field(default=(), compare=False)

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
        regions = [claim.region for claim in self.claims if claim.subject == feature]
        return reduce(Region.meet, regions) if regions else None

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
            bundle_of |= dict.fromkeys(together, together)
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
        subject = claim.subject
        return (subject,) if subject < n_features else self.groups[subject - n_features].features


NO_FACTS = Facts()


# A name with an operator stands between backticks, as in a fact that a person writes.
PLAIN = re.compile(r"(?!.*(?:[<>=`{}]|\b(?:in|is|not|implies)\b))\S(?:.*\S)?")
PLAIN_LABEL = re.compile(r"""[^\s,"'{}<][^,"'{}<]*(?<!\s)""")
TRUE_OR_FALSE = (-1.0, 1.0, None)  # of whole numbers, 0 and 1


def word_facts(tree: Tree, facts: Facts) -> Facts:
    """Give facts about a tree's columns the words that their numbers say; equal ones become one."""

    def word(claim: Claim, known: Facts | None) -> Claim:
        return replace(claim, text=_describe_claim(tree, facts.groups, claim, known))

    implications = (Implication(word(one.premise, None), word(one.conclusion, None)) for one in facts.implications)
    return replace(
        facts,
        claims=tuple(dict.fromkeys(word(claim, facts) for claim in facts.claims)),
        implications=tuple(dict.fromkeys(implications)),
        orders=tuple(replace(order, text=_describe_order(tree, order)) for order in facts.orders),
    )


def find_false_words(tree: Tree) -> str | None:
    """Find the first fact of a tree whose text is not what its numbers say, and say so."""
    own = word_facts(tree, tree.facts)
    listed = zip(tree.facts.all_claims + tree.facts.orders, own.all_claims + own.orders, strict=False)
    false = next(((one.text, other.text) for one, other in listed if one.text != other.text), None)
    if false is not None:
        return f"a fact says {false[0]!r}, but its numbers say {false[1]!r}"
    return None if own == tree.facts else "a fact is stated twice"


def _describe_claim(tree: Tree, groups: Sequence[Group], claim: Claim, facts: Facts | None) -> str:
    """Word a claim about every row, with all facts, or without them a part of an implication.

    Of every row, a bound leaves open whether a value may be missing. In an implication it does not.
    """
    region, is_group = claim.region, claim.subject >= tree.n_features
    group = groups[claim.subject - tree.n_features] if is_group else None
    name = _quote(tree.feature_name(claim.subject) if group is None else group.name)
    labels = tree.categories[claim.subject] if group is None else group.labels
    asked = _describe_codes(name, labels, region) if labels is not None else _describe_bounds(name, region, tree.dtype)
    if facts is not None and region[:3] == TRUE_OR_FALSE and claim.subject in facts.integers:
        asked = f"{name} is true or false"
    if asked is None:
        return f"{name} is any value or missing" if region.missing else f"{name} is not missing"
    if not region.has_listed_value:
        return f"{name} is missing"
    if facts is None:
        return f"{asked} or missing" if region.missing else asked
    return asked if region.missing else f"{asked} and is not missing"


def _describe_order(tree: Tree, order: Order) -> str:
    labels = tree.categories[order.feature] or ()
    ranked = " < ".join(_quote_label(labels[code]) for code in order.codes)
    return f"{_quote(tree.feature_name(order.feature))} is ordered: {ranked}"


def _describe_bounds(name: str, region: Region, dtype: str) -> str | None:
    """Word an interval; None if every number lies in it."""
    kind = np.dtype(dtype).type
    low, high = kind(region.low) + kind(0), kind(region.high) + kind(0)
    with np.errstate(over="ignore"):
        first, beyond = (np.nextafter(end, kind(np.inf)) + kind(0) for end in (low, high))  # never -0
    above, below = None, None
    if region.low > -math.inf:
        above = min((_write(first), "<="), (_write(low), "<"), key=lambda pair: len(pair[0]))
    if region.high < math.inf:
        below = min((_write(high), "<="), (_write(beyond), "<"), key=lambda pair: len(pair[0]))
    if above is not None and below is not None:
        if first == high:
            return f"{name} = {_write(high)}"
        return f"{above[0]} {above[1]} {name} {below[1]} {below[0]}"
    if above is not None:
        return f"{name} {above[1].replace('<', '>')} {above[0]}"
    return None if below is None else f"{name} {below[1]} {below[0]}"


def _describe_codes(name: str, labels: Sequence[Label], region: Region) -> str | None:
    """Word a set of categories; None if all are in it. The code after the last label stands for all others."""
    codes, n_labels = region.codes or frozenset(), len(labels)
    is_open = n_labels in codes
    listed = sorted(set(range(n_labels)) - codes if is_open else codes)
    shown = [_quote_label(labels[code]) for code in listed]
    if is_open and not listed:
        return None
    if len(shown) == 1:
        return f"{name} {'!=' if is_open else '='} {shown[0]}"
    return f"{name} {'not in' if is_open else 'in'} {{{', '.join(shown)}}}"


def _write(number: np.floating) -> str:
    if not np.isfinite(number):
        return str(number)
    size = abs(float(number))
    plain = size == 0 or 1e-5 <= size < 1e16
    return np.format_float_positional(number, trim="-") if plain else np.format_float_scientific(number, trim="-")


def _quote(name: str) -> str:
    return name if PLAIN.fullmatch(name) else f"`{name}`"


def _quote_label(label: Label) -> str:
    text = str(label)
    return text if PLAIN_LABEL.fullmatch(text) else f"'{text}'" if '"' in text else f'"{text}"'
