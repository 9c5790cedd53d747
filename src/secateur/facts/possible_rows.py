"""Turn facts into a tree over possible rows only, which every walk understands.

The walks of :mod:`secateur.kernels.walks` ask one thing of a box: does it leave every feature a value? So a fact is
used by changing what the values are, and no walk needs to know of it. Nodes, edges and leaves stay as they are.

* Whole numbers, and numbers with a known number of decimals: a threshold is rounded down to one, so that 29.2 and 29.5
  are the same limit with nothing between them.
* Bounds: a threshold beyond them becomes infinite, so that one of its sides has no value.
* Columns that belong together, by a group or by an implication, become *one* categorical feature. Its codes are the
  states that these columns can be in together: a group of k columns has k + 1 of them, and an implication rules out
  those that contradict it. What a split asks of its column is a set of states.

Which of two possible rows is the larger is decided by a sign for each column: a row lies at or above another where
every column does. A column of sign +1 must not fall, one of sign -1 must not rise, one of sign 0 must not change. NaN
compares with NaN alone. A category compares with itself, and with those that a fact ranks beside it. Codes of states
are compared by a table: one state lies at or above another where each of its columns does.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ParameterError, shorten
from secateur.tree.columns import find_cuts
from secateur.tree.contract import freeze_tree
from secateur.tree.facts import Claim, Facts
from secateur.tree.regions import Region, domain_of, pick_number, round_down_to_decimals
from secateur.tree.tree import Label, Tree

# A set of states is stored for every split on their columns, so there must not be too many of them.
MOST_STATES = 1 << 16
MOST_COMPARED = 1 << 13  # whose pairs are all compared


@dataclass(frozen=True)
class Bundle:
    """Columns that are looked at together."""

    features: tuple[int, ...]
    values: Mapping[int, list[Label | None]]  # for each feature a value in each state; None stands for missing


@dataclass(frozen=True)
class Feasible:
    """A tree as it is for possible rows: the same nodes over possible values."""

    tree: Tree  # its facts are those that its thresholds do not tell
    bundles: Mapping[int, Bundle] = field(default_factory=dict)  # by their first feature, which stands for all of it

    def read_state(self, feature: int, value: Label | None) -> dict[int, Label | None]:
        """Read the values of the columns that a feature stands for from what was picked for it."""
        if feature not in self.bundles:
            return {feature: value}
        bundle = self.bundles[feature]
        if value is None:  # nothing could be picked
            return dict.fromkeys(bundle.features)
        state = value if isinstance(value, int) else len(self.tree.categories[feature] or ())
        return {member: bundle.values[member][state] for member in bundle.features}


@dataclass(frozen=True)
class _Atom:
    """One column, or one group, and the states that it can be in alone."""

    features: tuple[int, ...]
    values: Mapping[int, list[Label | None]]  # a value of each feature in each state
    regions: Mapping[int, list[Region]]  # what each feature holds in each state; no threshold or claim cuts one
    codes: list[int] | None = None  # for a group, the code of each state

    @property
    def size(self) -> int:
        return len(self.values[self.features[0]])

    def keep(self, states: NDArray[np.int64]) -> Self:
        """The same with some of its states."""
        values = {feature: [own[state] for state in states] for feature, own in self.values.items()}
        regions = {feature: [own[state] for state in states] for feature, own in self.regions.items()}
        codes = None if self.codes is None else [self.codes[state] for state in states]
        return replace(self, values=values, regions=regions, codes=codes)


class _TooTiedError(ParameterError):
    """Facts that may hold, but tie too many columns together to look at all they leave."""


def check_possible(tree: Tree) -> None:
    """Reject facts that no row can satisfy."""
    find_feasible(tree, linked=False)
    with suppress(_TooTiedError):  # methods that must look at all that they leave say so
        find_feasible(tree)


def find_feasible(tree: Tree, *, linked: bool = True) -> Feasible:
    """Turn a tree into one over the rows that its facts allow; unless ``linked``, implications are left out."""
    facts = tree.facts if linked else replace(tree.facts, implications=())
    closed = [] if tree.columns is None else [f for f, is_closed in enumerate(tree.columns.closed) if is_closed]
    if not facts.limits_rows and not closed:
        return Feasible(tree)
    claimed = _claimed_regions(tree, facts, closed)
    limit = np.array(tree.upper)
    bundled = facts.link_features(tree.n_features)
    alone = set(range(tree.n_features)).difference(*bundled)
    by_list = [f for f, region in claimed.items() if tree.categories[f] is not None or not region.has_listed_value]
    bundled += [(feature,) for feature in by_list if feature in alone]
    alone -= set(by_list)
    rounded = {feature: n_decimals for feature, n_decimals in facts.decimals_of.items() if feature in alone}
    for feature, n_decimals in rounded.items():
        nodes = np.flatnonzero(tree.feature == feature)
        limit[nodes] = [round_down_to_decimals(end, n_decimals, tree.dtype) for end in limit[nodes].tolist()]
    bounds = {feature: region for feature, region in claimed.items() if feature in alone}
    for feature, region in bounds.items():
        asked = tree.feature == feature
        limit[asked & (limit >= region.high)] = np.inf
        limit[asked & (limit <= region.low)] = -np.inf
    accepts = np.array(tree.accepts_missing)
    accepts[[feature for feature, region in claimed.items() if not region.missing]] = False
    known = Facts(
        integers=tuple(feature for feature in facts.integers if feature in rounded),
        decimals=tuple(pair for pair in facts.decimals if pair[0] in rounded),
        claims=tuple(Claim(feature, region, "") for feature, region in bounds.items()),
    )
    return _join_bundles(
        replace(tree, threshold=limit, accepts_missing=accepts, columns=None, facts=known),
        {features: _find_states(tree, facts, claimed, features) for features in bundled},
    )


def _round(region: Region, n_decimals: int, dtype: str) -> Region:
    """Keep the numbers of a region with so many decimals; the region is empty if it holds none."""
    low, high = (round_down_to_decimals(end, n_decimals, dtype) for end in region[:2])
    return region._replace(low=low, high=high)


def _claimed_regions(tree: Tree, facts: Facts, closed: Iterable[int]) -> dict[int, Region]:
    """Find what the claims leave each feature that they are about; rejected categories are left out too."""
    regions: dict[int, Region] = {}
    for feature in closed:
        levels = tree.categories[feature] or ()
        regions[feature] = domain_of(tree, feature)._replace(codes=frozenset(range(len(levels))))
    for claim in facts.claims:
        if claim.subject < tree.n_features:
            feature = claim.subject
            regions[feature] = regions.get(feature, domain_of(tree, feature)).meet(claim.region)
    for feature in regions.keys() & facts.decimals_of.keys():
        regions[feature] = _round(regions[feature], facts.decimals_of[feature], tree.dtype)
    for feature, region in regions.items():
        if region.is_empty:
            raise ParameterError(f"The facts leave {tree.feature_name(feature)!r} no value at all.")
    return regions


def _find_states(tree: Tree, facts: Facts, claimed: Mapping[int, Region], features: tuple[int, ...]) -> _Atom:
    """Find the states that some columns can be in together, with a region for each column."""
    groups = {facts.group_of[feature] for feature in features if feature in facts.group_of}
    atoms = [_group_atom(tree, facts, claimed, place) for place in sorted(groups)]
    atoms += [_column_atom(tree, facts, claimed, f) for f in features if f not in facts.group_of]
    sizes = [atom.size for atom in atoms]
    names = shorten([tree.feature_name(feature) for feature in features])
    if math.prod(sizes) > MOST_STATES:
        raise _TooTiedError(
            f"The facts tie {names} together, which the tree and the facts cut into {math.prod(sizes):,} combinations; "
            f"at most {MOST_STATES:,} can be looked at. Leave out an implication between them."
        )
    places = np.unravel_index(np.arange(math.prod(sizes)), sizes) if atoms else ()
    possible = np.ones(math.prod(sizes), dtype=bool)
    place_of = {feature: place for place, atom in enumerate(atoms) for feature in atom.features}
    for known in facts.implications:
        first = facts.members(known.premise, tree.n_features)[0]
        second = facts.members(known.conclusion, tree.n_features)[0]
        if first in place_of:
            premise = _holds(tree, atoms[place_of[first]], known.premise)[places[place_of[first]]]
            possible &= ~premise | _holds(tree, atoms[place_of[second]], known.conclusion)[places[place_of[second]]]
    if not possible.any():
        raise ParameterError(f"The facts contradict each other: no row can satisfy all that is said of {names}.")
    kept = [atom.keep(place[possible]) for atom, place in zip(atoms, places, strict=True)]
    return _Atom(
        features,
        {feature: values for atom in kept for feature, values in atom.values.items()},
        {feature: regions for atom in kept for feature, regions in atom.regions.items()},
    )


def _holds(tree: Tree, atom: _Atom, claim: Claim) -> NDArray[np.bool_]:
    """Mark the states of an atom in which a claim about it holds."""
    if claim.subject >= tree.n_features:
        return np.array([code in (claim.region.codes or ()) for code in atom.codes or ()])
    return np.array([_is_within(region, claim.region) for region in atom.regions[claim.subject]])


def _is_within(part: Region, whole: Region) -> bool:
    """Whether a state's region, which no claim runs through, lies in a claim's region."""
    if part.missing:
        return whole.missing
    if part.codes is not None:
        return part.codes <= (whole.codes or frozenset())
    return whole.low <= part.low and part.high <= whole.high


def _group_atom(tree: Tree, facts: Facts, claimed: Mapping[int, Region], place: int) -> _Atom:
    """List the states of a group: one of its columns is 1, or none."""
    group = facts.groups[place]
    ones = np.eye(len(group.features) + 1, len(group.features))
    values: dict[int, list[Any]] = dict(zip(group.features, ones.T.tolist(), strict=True))
    points = {value: Region(math.nextafter(value, -math.inf), value) for value in (0.0, 1.0)}
    regions = {feature: [points[value] for value in held] for feature, held in values.items()}
    atom = _Atom(group.features, values, regions, list(range(len(ones))))
    allowed = np.ones(len(ones), dtype=bool)
    for claim in facts.claims:
        if claim.subject == tree.n_features + place:
            allowed &= _holds(tree, atom, claim)
    for feature in group.features:
        if feature in claimed:
            allowed &= [_is_within(region, claimed[feature]) for region in atom.regions[feature]]
    if not allowed.any():
        raise ParameterError(f"The facts leave the group {group.name!r} no state at all.")
    return atom.keep(np.flatnonzero(allowed))


def _column_atom(tree: Tree, facts: Facts, claimed: Mapping[int, Region], feature: int) -> _Atom:
    """List the states of a column, cut where the tree or a fact asks."""
    held = claimed.get(feature, domain_of(tree, feature))
    regions: list[Region] = []
    values: list[Label | None] = []
    levels = tree.categories[feature]
    if levels is not None:
        for code in sorted(held.codes or ()):
            regions.append(Region(codes=frozenset([code])))
            values.append(levels[code] if code < len(levels) else "(any other)")
    else:
        n_decimals = facts.decimals_of.get(feature)
        cuts = {float(limit) for limit in tree.upper[tree.feature == feature]}
        cuts |= {end for claim in facts.all_claims if claim.subject == feature for end in claim.region[:2]}
        inside = sorted(cut for cut in cuts if held.low < cut < held.high)
        for low, high in zip([held.low, *inside], [*inside, held.high], strict=True):
            region = Region(low, high)
            held_there = region if n_decimals is None else _round(region, n_decimals, tree.dtype)
            if held_there.has_listed_value:
                regions.append(region)
                values.append(pick_number(low, high, tree.dtype, n_decimals))
    if held.missing:
        regions.append(Region(low=math.inf, missing=True))
        values.append(None)
    return _Atom((feature,), {feature: values}, {feature: regions})


def _join_bundles(tree: Tree, states: Mapping[tuple[int, ...], _Atom]) -> Feasible:
    """Replace each bundle by one categorical feature."""
    if not states:
        freeze_tree(tree)
        return Feasible(tree)
    feature, threshold = np.array(tree.feature), np.array(tree.threshold)
    accepts, categories = np.array(tree.accepts_missing), list(tree.categories)
    asked = np.flatnonzero(tree.is_categorical)
    lengths = np.diff(tree.category_offsets)[asked]
    of_node, codes = [np.repeat(asked, lengths)], [tree.category_codes]  # a code that goes left, and at which node
    for members, atom in states.items():
        first = members[0]
        for member in members:
            nodes = np.flatnonzero(tree.feature == member)
            if tree.categories[member] is not None:  # its codes become states
                is_other = tree.feature[of_node[0]] != member
                of_node[0], codes[0] = of_node[0][is_other], codes[0][is_other]
            place, state = np.nonzero(_sides(tree, nodes, member, atom.regions[member]))
            of_node.append(nodes[place])
            codes.append(state)
            feature[nodes], threshold[nodes] = first, np.nan
            accepts[member], categories[member] = False, None
        categories[first] = tuple(range(atom.size - 1))  # the last state takes the code of what is not listed
    at, code = np.concatenate(of_node), np.concatenate(codes)
    by_node = np.lexsort((code, at))
    joined = replace(
        tree,
        feature=feature,
        threshold=threshold,
        accepts_missing=accepts,
        categories=tuple(categories),
        category_offsets=np.concatenate([[0], np.cumsum(np.bincount(at, minlength=tree.n_nodes))]),
        category_codes=code[by_node],
    )
    freeze_tree(joined)  # compiled walks know their arguments by that, too
    return Feasible(joined, {members[0]: Bundle(members, atom.values) for members, atom in states.items()})


def _sides(tree: Tree, nodes: NDArray[np.int64], feature: int, regions: list[Region]) -> NDArray[np.bool_]:
    """Mark the states that go left at each of a feature's splits, shape (n_nodes, n_states)."""
    missing = np.array([region.missing for region in regions])
    if tree.categories[feature] is None:
        high = np.array([region.high for region in regions])
        goes = high <= tree.upper[nodes][:, None]
    else:
        code = np.array([next(iter(region.codes), -1) if region.codes else -1 for region in regions])
        goes = np.array([np.isin(code, tree.left_codes(node)) for node in nodes]).reshape(len(nodes), len(regions))
    return np.where(missing, tree.missing_left[nodes][:, None], goes)


@dataclass(frozen=True)
class Ordering:
    """Which values of a feasible tree's features favour the second class more."""

    feasible: Feasible
    signs: NDArray[np.int8]  # of each feature that holds numbers; 0 for all others
    # Of each feature that holds codes: whether code b lies at or above code a, at [a, b]. Features whose codes compare
    # with themselves alone are left out.
    above: Mapping[int, NDArray[np.bool_]]


def find_ordering(tree: Tree, signs: Sequence[int], feasible: Feasible) -> Ordering:
    """Order the values of a feasible tree's features by the signs of the tree's columns."""
    above: dict[int, NDArray[np.bool_]] = {}
    own = np.zeros(tree.n_features, dtype=np.int8)
    tied = {member for bundle in feasible.bundles.values() for member in bundle.features}
    effective = [
        0 if tree.categories[feature] is not None and find_ranks(tree, feature) is None else int(sign)
        for feature, sign in enumerate(signs)
    ]
    for first, bundle in feasible.bundles.items():
        if any(effective[member] for member in bundle.features):
            above[first] = _compare_states(tree, effective, bundle)
    for feature, sign in enumerate(effective):
        if not sign or feature in tied:
            continue
        ranks = find_ranks(tree, feature)
        if ranks is None:
            own[feature] = sign
        else:
            above[feature] = _compare(ranks, np.arange(len(ranks)), sign)
    return Ordering(feasible, own, above)


def find_ranks(tree: Tree, feature: int) -> NDArray[np.float64] | None:
    """Rank the codes of a column whose categories are ordered, NaN for those that are not; None for other columns."""
    cuts = find_cuts(tree, feature)
    if cuts is not None:  # its codes are the cells of a number, from the lowest to the highest
        return np.arange(len(cuts) + 1, dtype=np.float64)
    order = next((order for order in tree.facts.orders if order.feature == feature), None)
    if order is None:
        return None
    ranks = np.full(len(tree.categories[feature] or ()) + 1, np.nan)
    ranks[list(order.codes)] = np.arange(len(order.codes))
    return ranks


def _compare_states(tree: Tree, signs: Sequence[int], bundle: Bundle) -> NDArray[np.bool_]:
    n_states = len(bundle.values[bundle.features[0]])
    if n_states > MOST_COMPARED:
        names = shorten([tree.feature_name(feature) for feature in bundle.features])
        raise ParameterError(
            f"The facts tie {names} together in {n_states:,} states, some by columns with a sign; at most "
            f"{MOST_COMPARED:,} can be compared. Leave out a sign or a fact."
        )
    above = np.ones((n_states, n_states), dtype=bool)
    for member in bundle.features:
        values = _number_values(tree, member, bundle.values[member])
        ranks = find_ranks(tree, member)
        if ranks is None:
            ranked = values
        else:
            ranked = np.where(np.isnan(values), np.nan, ranks[np.nan_to_num(values).astype(np.int64)])
        above &= _compare(ranked, values, signs[member])
    return above


def _compare(ranks: NDArray[np.float64], values: NDArray[Any], sign: int) -> NDArray[np.bool_]:
    """Whether the value of each column is equal to that of each row, or ranks above it; NaN equals NaN."""
    missing = np.isnan(values)
    same: NDArray[np.bool_] = (values[:, None] == values) | (missing[:, None] & missing)
    if sign == 0:
        return same
    low, high = (ranks[:, None], ranks) if sign > 0 else (ranks, ranks[:, None])
    same |= low <= high  # a comparison with NaN is false
    return same


def _number_values(tree: Tree, feature: int, values: list[Any]) -> NDArray[np.float64]:
    """Turn the values of a column in each state into numbers: categories into codes, missing ones into NaN."""
    levels = tree.categories[feature]
    if levels is None:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    codes = {label: code for code, label in enumerate(levels)}
    return np.array([np.nan if value is None else codes.get(value, len(levels)) for value in values], dtype=np.float64)
