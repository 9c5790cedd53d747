"""Random trees of every kind that the contract knows, and rows for them, from a number: always the same.

As ``strategies.trees`` and ``told_trees`` draw them, but without Hypothesis, which is made to find and shrink one
failure, not to make a million examples.
"""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import strategies
import told_trees

from secateur.errors import SecateurError
from secateur.facts.groups import label_columns
from secateur.tree.contract import check_tree
from secateur.tree.facts import Claim, Facts, Group, Implication, Order, word_facts
from secateur.tree.regions import Region, domain_of
from secateur.tree.tree import Tree, make_tree


def random_tree(rng: Random, *, n_classes: int | None = None) -> Tree:
    """A checked tree: numbers, categories and missing values; paths may contradict themselves, and classes tie."""
    n_classes = n_classes or rng.choice((2, 2, 2, 3, 4))
    n_features = rng.choice((1, 2, 2, 3, 3, 4, 5))
    may_miss, may_be_category = rng.random() < 0.4, rng.random() < 0.5
    accepts = [may_miss and rng.random() < 0.5 for _ in range(n_features)]
    kinds = [
        rng.choice(("number", "binary", "category") if may_be_category else ("number", "number", "binary"))
        for _ in range(n_features)
    ]
    levels = [strategies.LEVELS[: rng.randint(1, 4)] if kind == "category" else None for kind in kinds]
    left, right, feature, threshold, missing_left = [-1], [-1], [-1], [math.nan], [False]
    codes: dict[int, list[int]] = {}
    open_leaves = [0]
    n_leaves = rng.choice((2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64))
    while len(open_leaves) < n_leaves:
        node = open_leaves.pop(rng.randrange(len(open_leaves)))
        children = [len(left), len(left) + 1]
        open_leaves += children
        left[node], right[node] = children if rng.random() < 0.5 else children[::-1]
        feature[node] = asked = rng.randrange(n_features)
        missing_left[node] = accepts[asked] and rng.random() < 0.5
        listed = levels[asked]
        if listed is not None:
            codes[node] = sorted(rng.sample(range(len(listed) + 1), rng.randint(1, len(listed))))
        elif kinds[asked] == "binary":
            threshold[node] = 0.5
        else:
            infinite = (math.inf,) * 3 if accepts[asked] else ()
            threshold[node] = rng.choice((*strategies.THRESHOLDS, *infinite))
        for column, value in ((left, -1), (right, -1), (feature, -1), (threshold, math.nan), (missing_left, False)):
            column += [value, value]
    counts = np.zeros((len(left), n_classes))
    weight = rng.choice((1.0, 1.0, 0.1))
    own_classes = rng.random() < 0.25
    leaf_class = [-1] * len(left)
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            counts[node] = counts[left[node]] + counts[right[node]]
        else:
            counts[node] = [rng.randint(0, 4) * weight for _ in range(n_classes)]
            leaf_class[node] = rng.randrange(n_classes) if own_classes else int(np.argmax(counts[node]))
    return make_tree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        left_categories=codes,
        categories=levels,
        leaf_class=leaf_class,
        counts=counts if rng.random() < 0.9 else None,
        classes=rng.choice((list(range(n_classes)), list(strategies.TEXT_LABELS[:n_classes]))),
        n_features=n_features,
        accepts_missing=accepts,
        dtype=rng.choice(("float32", "float32", "float64")),
    )


def with_random_facts(tree: Tree, rng: Random) -> Tree:
    """The tree with facts about its columns; the tree itself where those that were drawn cannot be stated."""
    numeric = [place for place, levels in enumerate(tree.categories) if levels is None]
    rng.shuffle(numeric)
    size = rng.choice((0, *range(2, len(numeric) + 1))) if len(numeric) > 1 else 0
    names = [tree.feature_name(feature) for feature in numeric[:size]]
    groups = (Group("g", tuple(numeric[:size]), tuple(label_columns("g", names))),) if size else ()
    grids = {place: rng.choice((None, None, 0, 1)) for place in numeric[size:]}
    claims = tuple(_claim(tree, groups, rng) for _ in range(rng.choice((0, 1, 2))))
    pairs = [(_claim(tree, groups, rng), _claim(tree, groups, rng)) for _ in range(rng.choice((0, 1, 1, 2)))]
    orders = []
    for place, levels in enumerate(tree.categories):
        if levels is not None and len(levels) > 1 and rng.random() < 0.5:
            codes = rng.sample(range(len(levels)), rng.randint(2, len(levels)))
            words = " < ".join(str(levels[code]) for code in codes)
            orders.append(Order(place, tuple(codes), f"x{place} is ordered: {words}"))
    facts = Facts(
        integers=tuple(sorted(place for place, n_decimals in grids.items() if n_decimals == 0)),
        decimals=tuple(sorted((place, 1) for place, n_decimals in grids.items() if n_decimals == 1)),
        claims=tuple(claim for claim in claims if claim is not None),
        groups=groups,
        implications=tuple(
            Implication(one, other)
            for one, other in pairs
            if one is not None and other is not None and one.subject != other.subject
        ),
        orders=tuple(orders),
    )
    told = replace(tree, facts=word_facts(tree, facts))
    try:
        check_tree(told)
    except SecateurError:
        return tree
    return told


def _claim(tree: Tree, groups: tuple[Group, ...], rng: Random) -> Claim | None:
    subject = rng.randrange(tree.n_features + len(groups))
    if subject >= tree.n_features:
        domain = Region(codes=frozenset(range(len(groups[0].labels) + 1)))
    else:
        domain = domain_of(tree, subject)
    missing = domain.missing and rng.random() < 0.5
    if domain.codes is not None:
        codes = rng.sample(sorted(domain.codes), rng.randint(1, len(domain.codes)))
        return Claim(subject, Region(codes=frozenset(codes), missing=missing), f"claim {subject} {sorted(codes)}")
    kind = told_trees.kind_of(tree)
    low, high = (float(kind(end)) for end in sorted(rng.sample((-math.inf, *told_trees.ENDS, math.inf), 2)))
    if not low < high:
        return None
    return Claim(subject, Region(low, high, missing=missing), f"claim {low} < {subject} <= {high}")


def random_rows(tree: Tree, possible: list[Any], classes: list[int], rng: Random) -> tuple[Any, Any]:
    """Rows among some, and classes that often agree with the tree."""
    places = [rng.randrange(len(possible)) for _ in range(rng.choice((1, 5, 12, 25, 40)))]
    y = [classes[place] if rng.random() < 0.6 else rng.randrange(tree.n_classes) for place in places]
    return np.array([possible[place] for place in places], dtype=float), np.array(y)
