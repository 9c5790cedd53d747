"""The nearest changes of a row that get it another class from the tree: the fewest columns, and how far each must go.

A row reaches a leaf when each column keeps to what the leaf's path asks of it. So the columns that must change are
those with a condition on the path that the row fails, and the fewest of them over all leaves of another class is exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ParameterError, did_you_mean
from secateur.rows.rows import Rows, apply_tree
from secateur.tree.regions import Region, domain_of, regions_of_links
from secateur.words.conditions import read_region

if TYPE_CHECKING:
    from secateur.rules.rules import Rules
    from secateur.tree.tree import Label, Tree

__all__ = ["Change", "find_changes", "find_subjects"]

Box = dict[int, Region]  # by subject: a column, or the columns of a group together, what it must hold


class Change(NamedTuple):
    """One way to another class.

    Attributes
    ----------
    prediction : label
        The class that the tree then gives.
    columns : tuple of str
        The columns that change; all others stay as they are.
    asks : tuple of str
        What each must hold, in words; neighbouring intervals are merged.
    regions : tuple of Region
        The same as limits (``low < x <= high``), codes of categories, and whether a missing value does.
    """

    prediction: Label
    columns: tuple[str, ...]
    asks: tuple[str, ...]
    regions: tuple[Region, ...]


def find_changes(rules: Rules, cells: NDArray[Any], locked: Collection[str | int] = ()) -> tuple[Change, ...]:
    """Find all changes of the fewest columns that get a row another class from the tree.

    Parameters
    ----------
    rules : Rules
    cells : ndarray of shape (n_features,)
        The row in the tree's terms: numbers, codes of categories, NaN.
    locked : collection of str or int, default=()
        Columns that cannot change, by name or index.

    Returns
    -------
    tuple of Change
        By class, then by column; empty if no change of the other columns does it.
    """
    tree, paths = rules.tree, rules.paths
    tree.require_classes("Finding changes of a row")
    fixed = find_subjects(tree, locked)
    own = int(tree.leaf_class[int(apply_tree(tree, Rows.of(np.asarray(cells)[None, :]))[0])])
    values = np.asarray(cells, dtype=tree.dtype).astype(np.float64).tolist()
    fewest, found = len(values) + 1, dict[tuple[int, tuple[int, ...]], list[Box]]()
    for place in np.flatnonzero(paths.leaf_class != own).tolist():
        asked = regions_of_links(tree, paths, paths.links[paths.entries(place)])
        failed = {
            _subject_of(tree, feature) for feature, region in asked.items() if not _holds(region, values[feature])
        }
        if failed & fixed or len(failed) > fewest:
            continue
        box = {subject: _meet(tree, asked, subject) for subject in sorted(failed)}
        if any(region.is_empty for region in box.values()):
            continue
        if len(failed) < fewest:
            fewest, found = len(failed), {}
        found.setdefault((int(paths.leaf_class[place]), tuple(box)), []).append(box)
    return tuple(
        Change(
            tree.classes[class_id].item(),
            tuple(_name(tree, subject) for subject in box),
            tuple(read_region(tree, subject, region, rules.voice) for subject, region in box.items()),
            tuple(box.values()),
        )
        for (class_id, _), boxes in sorted(found.items())
        for box in _merge(boxes)
    )


def _subject_of(tree: Tree, feature: int) -> int:
    group = tree.facts.group_of.get(feature)
    return feature if group is None else tree.n_features + group


def _name(tree: Tree, subject: int) -> str:
    is_group = subject >= tree.n_features
    return tree.facts.groups[subject - tree.n_features].name if is_group else tree.feature_name(subject)


def find_subjects(tree: Tree, columns: Collection[str | int]) -> set[int]:
    """Find columns, or the groups that they belong to, by name or index."""
    return {_find_subject(tree, column) for column in columns}


def _find_subject(tree: Tree, column: str | int) -> int:
    if isinstance(column, (int, np.integer)) and 0 <= column < tree.n_features:
        return _subject_of(tree, int(column))
    names = {_name(tree, subject): subject for subject in range(tree.n_features + len(tree.facts.groups))}
    if column not in names:
        hint = did_you_mean(column, list(names)) if isinstance(column, str) else ""
        raise ParameterError(f"There is no column {column!r} to lock.{hint}")
    subject = names[str(column)]
    return subject if subject >= tree.n_features else _subject_of(tree, subject)


def _holds(region: Region, value: float) -> bool:
    if value != value:
        return region.missing
    return region.low < value <= region.high if region.codes is None else int(value) in region.codes


def _meet(tree: Tree, asked: Box, subject: int) -> Region:
    """What a path asks of a subject; of a group, the labels (one more for none of them) that all its columns allow."""
    if subject < tree.n_features:
        return asked[subject].meet(domain_of(tree, subject))
    members = tree.facts.groups[subject - tree.n_features].features
    own = [(members.index(feature), region) for feature, region in asked.items() if feature in members]
    codes = (
        code for code in range(len(members) + 1) if all(_holds(region, float(code == member)) for member, region in own)
    )
    return Region(codes=frozenset(codes))


def _merge(boxes: Iterable[Box]) -> list[Box]:
    """Join boxes that differ in one column alone and touch there, until none do."""
    left = list(boxes)
    merged: list[Box] = []
    while left:
        box = left.pop(0)
        for place, other in enumerate(left):
            differing = [subject for subject in box if box[subject] != other[subject]]
            joined = _join(box[differing[0]], other[differing[0]]) if len(differing) == 1 else None
            if not differing or joined is not None:
                left[place] = box if joined is None else {**box, differing[0]: joined}
                break
        else:
            merged.append(box)
    return merged


def _join(one: Region, other: Region) -> Region | None:
    """Join two regions of a column that touch; None where a gap lies between them."""
    if one.codes is not None and other.codes is not None:
        return Region(codes=one.codes | other.codes, missing=one.missing or other.missing)
    if not (one.has_listed_value and other.has_listed_value):
        whole = one if one.has_listed_value else other
        return whole._replace(missing=one.missing or other.missing)
    if max(one.low, other.low) > min(one.high, other.high):
        return None
    return Region(min(one.low, other.low), max(one.high, other.high), None, one.missing or other.missing)
