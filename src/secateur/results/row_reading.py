"""Read one row however it was passed, and find what it holds, what covers it, and what would change its answer."""

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, ParameterError, did_you_mean, shorten
from secateur.frames import frame_columns
from secateur.rows.checking import check_rows
from secateur.rows.encoding import as_objects, category_code, cut_blanks, find_texts, is_trimmed, tested_features
from secateur.rows.opening import open_rows
from secateur.rows.row_source import MemoryRows
from secateur.rows.rows import Rows, apply_tree
from secateur.rules.decision_list import make_decision_list
from secateur.rules.editing import find_features
from secateur.rules.lines import Deciding
from secateur.rules.rules import Rules
from secateur.tree.columns import find_cuts
from secateur.tree.regions import Region, domain_of, pick_value, regions_of_links
from secateur.tree.tree import Label, Tree
from secateur.words.conditions import format_moment, format_region


def read_rows(rules: Rules, row: Any) -> Rows:
    """Read one row, or a table of them, in the tree's own terms, however it was passed.

    Of a mapping, columns that the tree never asks for may be absent; if only some are needed, others that the tree
    asks for may be, too, and get any value that is possible.
    """
    if _is_mapping(row):
        return check_rows(rules.tree, _as_table(rules, _fill(rules, row)), name="row")
    with open_rows(row, find_texts=partial(find_texts, rules.tree)) as source:
        if source.in_memory:
            return MemoryRows(_as_table(rules, row)).read(rules.tree, "row")
        return Rows.of(source.decide(rules.tree, Deciding(rules, "explain", lambda rows: rows.matrix)))


def find_unseen(tree: Tree, cells: NDArray[Any], row: Any, place: int = 0) -> dict[int, Any]:
    """Find what a row, at a place of a table, holds where the tree knows no such category; nothing without names."""
    if not any(levels is not None for levels in tree.categories):
        return {}
    if not _is_mapping(row):
        names = frame_columns(row)
        if names is None:
            return {}
        import narwhals as nw

        try:
            frame = nw.from_native(row, eager_only=True)
        except TypeError:  # rows that are not in memory
            return {}
        row = {name: frame[name].item(place) for name in names}
    return {
        feature: row[tree.feature_name(feature)]
        for feature in sorted(tested_features(tree))
        if (levels := tree.categories[feature]) is not None
        and find_cuts(tree, feature) is None
        and cells[feature] == len(levels)
        and tree.feature_name(feature) in row.keys()  # noqa: SIM118  # a Series tests values, not keys
    }


def leave_out_absent(values: dict[str, Label | None], row: Any) -> dict[str, Label | None]:
    """Leave out the values that a mapping did not have, so that nobody takes made-up ones for the row's."""
    given = set(row.keys()) if _is_mapping(row) else set(values)
    return {name: value for name, value in values.items() if name in given}


def find_absent(rules: Rules, own: int, row: Any) -> list[str]:
    """List the columns that the tree asks for on the way to a leaf, and that a mapping did not have."""
    links = rules.paths.links[rules.paths.entries(own)]
    asked = dict.fromkeys(rules.tree.feature[rules.paths.parent[links]].tolist())
    names = [rules.tree.feature_name(feature) for feature in asked]
    is_derived = rules.tree.columns is not None and rules.tree.columns.derived
    given = set(row.keys()) if _is_mapping(row) and not is_derived else set(names)
    return [name for name in names if name not in given]


def _is_mapping(row: Any) -> bool:
    return hasattr(row, "keys") and frame_columns(row) is None


def _fill(rules: Rules, row: Any) -> dict[str, Any]:
    """Give a row a value in each column, a possible one in those that need not be there."""
    tree = rules.tree
    names = [tree.feature_name(feature) for feature in range(tree.n_features)]
    given = dict(row.items())
    asked = tested_features(tree)
    if tree.columns is not None and tree.columns.derived:  # which may need any of them
        return given
    absent = [names[feature] for feature in sorted(asked) if names[feature] not in given]
    if absent and rules.is_exact:  # else all that the tree asks for may be needed
        needed = {column.feature for column in make_decision_list(rules).columns}
        absent = [names[feature] for feature in sorted(asked & needed) if names[feature] not in given]
    if absent:
        meant = did_you_mean(absent[0], [name for name in map(str, given) if name not in names])
        raise InputError(f"The row has no value for {shorten(absent)}, which the rules ask for.{meant}")
    return {name: given[name] if name in given else make_up(tree, feature) for feature, name in enumerate(names)}


def make_up(tree: Tree, feature: int) -> Any:
    """Make up a value that the tree's facts allow."""
    levels, cuts = tree.categories[feature], find_cuts(tree, feature)
    if cuts is not None:
        return cuts[0]
    return pick_value(tree, feature, Region()) if levels is None else levels[0]


def find_covering(rules: Rules, row: NDArray[Any]) -> list[int]:
    """Find the lines of the rules that cover one row, in the order in which they decide."""
    paths = rules.paths
    covers = np.ones(paths.n_rules, dtype=bool)
    covers[paths.rule[~find_held(rules, row)[paths.links] & ~rules.deleted]] = False
    order = rules.leaves if rules.is_list else rules.ranking
    return list(rules.line_of_place[order[covers[order]]].tolist())


def find_held(rules: Rules, row: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the edges whose conditions one row satisfies, by testing all splits at once."""
    tree, paths = rules.tree, rules.paths
    values = row[tree.feature]  # at leaves, which test nothing, any value
    left = values <= tree.upper
    start, table = tree.category_table
    missing = np.isnan(values)
    sets = (start >= 0) & ~missing
    left[sets] = table[start[sets] + values[sets].astype(np.int64)]
    left[missing] = tree.missing_left[missing]
    return np.asarray(left[paths.parent] == paths.is_left)


def as_value(
    rules: Rules, feature: int, value: float, unseen: Mapping[int, Any] = MappingProxyType({})
) -> Label | None:
    """Turn a stored value back into what the user passed; values that the tree does not know are looked up."""
    if np.isnan(value):
        return None
    tree = rules.tree
    levels, cuts, reading = tree.categories[feature], find_cuts(tree, feature), tree.column_parser(feature)
    if reading is not None and reading.is_moment:
        return format_moment(float(value), reading)
    if levels is None:
        return float(value)
    if int(value) < len(levels):
        return levels[int(value)]
    return unseen.get(feature, "(any other)") if cuts is None else f"> {cuts[-1]!r}"


def _as_table(rules: Rules, row: Any) -> Any:
    """Make a table of one row, however the row was passed; a table stays one."""
    if frame_columns(row) is not None:
        return row
    tree, columns = rules.tree, rules.tree.columns
    if hasattr(row, "keys"):  # a mapping, or a pandas Series
        names = [tree.feature_name(feature) for feature in range(tree.n_features)]
        if columns is not None and columns.derive is not None and not set(columns.derived) <= set(row.keys()):
            names = names[: -len(columns.derived)]
        absent = [name for name in names if name not in row.keys()]  # noqa: SIM118  # a Series tests values, not keys
        if absent:
            raise InputError(f"The row has no value for {absent[0]!r}; give one for each of {names}.")
        given = [row[name] for name in names]
        if columns is None and not tree.column_parsers:
            return np.array([[_as_number(tree, feature, one) for feature, one in enumerate(given)]], dtype=np.float64)
        # Values stay as they are: labels, numbers, and anything that the tree does not test.
        given = [cut_blanks([one])[0] if is_trimmed(tree, feature) else one for feature, one in enumerate(given)]
        if columns is None:  # a matrix holds codes of categories
            pairs = zip(given, tree.categories, strict=True)
            given = [value if levels is None else category_code(value, levels) for value, levels in pairs]
        return as_objects(given)[None]
    is_listed = columns is not None and isinstance(row, (list, tuple))
    if is_listed and not any(hasattr(one, "__len__") and not isinstance(one, str) for one in row):
        return as_objects(row)[None]
    values = np.asarray(row)
    return values if values.ndim == 2 else values.reshape(1, -1)


def _as_number(tree: Tree, feature: int, value: Any) -> float:
    if value is None:
        return float("nan")
    levels = tree.categories[feature]
    if levels is not None:
        return category_code(value, levels)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"Expected a number for {tree.feature_name(feature)!r}, found {value!r}.") from None


Box = dict[int, Region]  # by subject: a column, or the columns of a group together, what it must hold


class Change(NamedTuple):
    """One way to another class."""

    prediction: Label  # the class that the tree then gives
    columns: tuple[str, ...]  # those that change; all others stay as they are
    asks: tuple[str, ...]  # what each must hold, in words; neighbouring intervals are merged
    regions: tuple[Region, ...]  # the same as limits (low < x <= high), codes of categories, and whether missing does
    class_name: str  # how that class is shown


def find_changes(rules: Rules, cells: NDArray[Any], locked: Collection[str | int] = ()) -> tuple[Change, ...]:
    """Find all changes of the fewest columns that get a row another class from the tree, by class, then by column.

    A row reaches a leaf when each column keeps to what the leaf's path asks of it. So the columns that must change are
    those with a condition on the path that the row fails, and the fewest of them over all leaves of another class is
    exact. Locked columns, by name or index, cannot change.
    """
    tree, paths = rules.source_tree, rules.paths
    tree.require_classes("Finding changes of a row")
    fixed = find_subjects(tree, locked)
    own = int(tree.leaf_class[int(apply_tree(tree, Rows.of(np.asarray(cells)[None, :]))[0])])
    values = np.asarray(cells, dtype=tree.dtype).astype(np.float64).tolist()
    fewest, found = len(values) + 1, dict[tuple[int, tuple[int, ...]], list[Box]]()
    for place in np.flatnonzero(paths.leaf_class != own).tolist():
        asked = regions_of_links(tree, paths, paths.links[paths.entries(place)])
        failed = {_subject_of(tree, one) for one, region in asked.items() if not _holds(region, values[one])}
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
            tuple(format_region(tree, subject, region, rules.voice) for subject, region in box.items()),
            tuple(box.values()),
            tree.class_names[class_id],
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
    if isinstance(columns, str) or not isinstance(columns, Collection):
        raise ParameterError(f"Expected locked as a list of columns, found {columns!r}.")
    return {_subject_of(tree, feature) for column in columns for feature in find_features(tree, column)}


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
    every = range(len(members) + 1)
    return Region(codes=frozenset(code for code in every if all(_holds(one, float(code == n)) for n, one in own)))


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
