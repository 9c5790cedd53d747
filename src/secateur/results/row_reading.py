"""Read one row however it was passed, and find what it holds: values, conditions that hold, rules that cover it."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, did_you_mean, shorten
from secateur.frames import frame_columns
from secateur.rows.checking import check_rows
from secateur.rows.encoding import category_code, cut_blanks, is_trimmed
from secateur.rows.opening import open_rows
from secateur.rows.row_source import MemoryRows
from secateur.rows.rows import Rows
from secateur.rows.sources import find_texts, tested_features
from secateur.rules.decision_list import make_decision_list
from secateur.rules.lines import Deciding
from secateur.rules.rules import Rules
from secateur.tree.columns import find_cuts
from secateur.tree.regions import Region, pick_value
from secateur.tree.tree import Label, Tree
from secateur.words.dates import read_moment


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


def find_needed(rules: Rules) -> set[int] | None:
    """Find the features that decide alone; None if that may be all that the tree asks for."""
    if not rules.is_exact:
        return None
    return {column.feature for column in make_decision_list(rules).columns}


def find_unseen(tree: Tree, cells: NDArray[Any], row: Any, place: int = 0) -> dict[int, Any]:
    """Find what a row holds where the tree knows no such category, by feature; nothing if the row has no names.

    A table of rows has it at a place.
    """
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
    """Whether a row is a mapping, or a pandas Series."""
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
    if absent and (needed := find_needed(rules)) is not None:
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
    found: list[int] = rules.line_of_place[order[covers[order]]].tolist()
    return found


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
    held: NDArray[np.bool_] = left[paths.parent] == paths.is_left
    return held


def as_value(
    rules: Rules, feature: int, value: float, unseen: Mapping[int, Any] = MappingProxyType({})
) -> Label | None:
    """Turn a stored value back into what the user passed; values that the tree does not know are looked up."""
    if np.isnan(value):
        return None
    levels, cuts, reading = (
        rules.tree.categories[feature],
        find_cuts(rules.tree, feature),
        rules.tree.column_parser(feature),
    )
    if reading is not None and reading.is_moment:
        return read_moment(float(value), reading)
    if levels is None:
        return float(value)
    if int(value) < len(levels):
        return levels[int(value)]
    return unseen.get(feature, "(any other)") if cuts is None else f"> {cuts[-1]!r}"


def _as_table(rules: Rules, row: Any) -> Any:
    """Make a table of one row, however the row was passed; a table stays one."""
    if frame_columns(row) is not None:
        return row
    columns = rules.tree.columns
    if hasattr(row, "keys"):  # a mapping, or a pandas Series
        names = [rules.tree.feature_name(feature) for feature in range(rules.tree.n_features)]
        if columns is not None and columns.derive is not None and not set(columns.derived) <= set(row.keys()):
            names = names[: -len(columns.derived)]
        absent = [name for name in names if name not in row.keys()]  # noqa: SIM118  # a Series tests values, not keys
        if absent:
            raise InputError(f"The row has no value for {absent[0]!r}; give one for each of {names}.")
        if (
            columns is not None or rules.tree.column_parsers
        ):  # values stay as they are: labels, numbers, and anything that the tree does not test
            given = [
                cut_blanks([row[name]])[0] if is_trimmed(rules.tree, feature) else row[name]
                for feature, name in enumerate(names)
            ]
            if columns is None:  # a matrix holds codes of categories
                given = [
                    value if levels is None else category_code(value, levels)
                    for value, levels in zip(given, rules.tree.categories, strict=True)
                ]
            return _as_objects(given)
        codes = [_as_number(rules, feature, row[name]) for feature, name in enumerate(names)]
        return np.array([codes], dtype=np.float64)
    if (
        columns is not None
        and isinstance(row, (list, tuple))
        and not any(hasattr(value, "__len__") and not isinstance(value, str) for value in row)
    ):
        return _as_objects(row)
    values = np.asarray(row)
    return values if values.ndim == 2 else values.reshape(1, -1)


def _as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Make a table of one row of values of different types."""
    table = np.empty((1, len(values)), dtype=object)
    table[0, :] = values
    return table


def _as_number(rules: Rules, feature: int, value: Any) -> float:
    if value is None:
        return float("nan")
    levels = rules.tree.categories[feature]
    if levels is not None:
        return category_code(value, levels)
    try:
        return float(value)
    except (TypeError, ValueError):
        name = rules.tree.feature_name(feature)
        raise InputError(f"Expected a number for {name!r}, found {value!r}.") from None
