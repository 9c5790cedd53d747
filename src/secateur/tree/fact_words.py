"""Word stated facts from their numbers, so that the words of a fact never say anything else.

A bound is written as ``<``, ``<=``, ``>`` or ``>=``, whichever takes fewer digits: limits are rounded to the tree's
dtype, and ``age >= 18`` is stored as the number before 18.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from secateur.tree.facts import Claim, Facts, Group, Implication, Order

if TYPE_CHECKING:
    from secateur.tree.regions import Region
    from secateur.tree.tree import Label, Tree

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
    if PLAIN_LABEL.fullmatch(text):
        return text
    return f"'{text}'" if '"' in text else f'"{text}"'
