"""Rows that the page counts, never so few that they tell of one: by cell of the tree's tests, and by group.

A cell is one side of every test. All rows of a cell get the same leaf, and the same line of any list of the tree, so
their number by class is all that the price of an edit takes. Cells of fewer than five rows are left out, and where most
rows lie in such cells, so are all: they would be the table itself.
"""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, ParameterError, SecateurError, did_you_mean, shorten
from secateur.frames import frame_columns
from secateur.report.material import RowsAtHand, known_numbers
from secateur.report.rules import merge_conditions
from secateur.rows.checking import check_labels
from secateur.rules.lines import MOST_LEAVES
from secateur.rules.rules import Rules
from secateur.tree.tree import Tree
from secateur.words.conditions import count_of, read_conditions

FEWEST = 5  # rows of a cell or group that is told
LEAST_TOLD = 0.9  # of the rows, or no cell is
MOST_CELLS = 20_000
MOST_NODES = 1_000  # of more, a page does not carry the conditions with rounded limits
MOST_GROUPS = 20
MOST_CLASSES = 8  # of groups
ASK_THE_ROWS = "`secateur open` counts what an edit costs with the rows behind it."


def describe_edits(rules: Rules, at_hand: RowsAtHand, *, with_rows: bool) -> dict[str, Any]:
    """Describe which edits the page can make, and what it knows of the rows; with rows behind it, it asks for them."""
    found: dict[str, Any] = {"note": "", "cells": None, "cells_note": "", "rounding": None, "with_rows": with_rows}
    if rules.fidelity is not None or rules.making.edits is not None or rules.paths.n_rules > MOST_LEAVES:
        return found | {"note": "This list cannot be edited here: edit the list of one tree, before other edits."}
    if with_rows:
        return found
    rounded = None
    if rules.training is not None and rules.tree.n_nodes <= MOST_NODES:
        with suppress(SecateurError):  # no limit has a shorter decimal
            rounded = rules.rounded()
            found["rounding"] = describe_limits(rounded, rules)
    cells, note = _describe_cells(rules.tree, None if rounded is None else rounded.tree, at_hand)
    return found | {"cells": cells, "cells_note": note}


def describe_limits(edited: Rules, rules: Rules) -> dict[str, Any]:
    """Describe limits that were rounded, by node as the page compares them, and how conditions of the list read."""
    tree, paths = edited.tree, edited.paths
    nodes = np.flatnonzero(~tree.is_leaf & (tree.upper != rules.tree.upper) & ~np.isnan(tree.upper)).tolist()
    links = [child for node in nodes for child in (tree.children_left[node].item(), tree.children_right[node].item())]
    return {
        "limit": {str(node): float(tree.upper[node]) for node in nodes},
        "conditions": {str(link): read_conditions(tree, paths, [link], edited.voice)[0].text for link in links},
        "merged": merge_conditions(edited, [edited]),
    }


def _describe_cells(tree: Tree, rounded: Tree | None, at_hand: RowsAtHand) -> tuple[dict[str, Any] | None, str]:
    """Count the rows of each cell by class; None, and a sentence, where that would be the table itself."""
    if at_hand.training is None:
        return None, f"The rows that the rules were made from are not at hand. {ASK_THE_ROWS}"
    parts = [at_hand.training, *([at_hand.measured] if at_hand.measured is not None and at_hand.is_new else ())]
    n_rows = sum(part.X.n_rows for part in parts)
    asked, cell = [], np.zeros(n_rows, dtype=np.int64)

    def read(feature: int) -> NDArray[Any]:
        return np.concatenate([part.X.read(0, part.X.n_rows, np.array([feature]))[:, 0] for part in parts])

    for feature in np.unique(tree.feature[~tree.is_leaf]).tolist():  # as digits of a number, first column first
        side, known = _find_sides(tree, rounded, feature, read(feature))
        asked.append({"feature": feature, "values": known, "is_number": tree.categories[feature] is None})
        cell *= int(side.max(initial=0)) + 1
        cell += side
        del side
        cell = np.searchsorted(np.unique(cell), cell)  # with less memory than the inverse of unique takes
    if not asked:
        return None, ""
    size = np.bincount(cell)
    told = np.flatnonzero(size >= FEWEST)
    if size[told].sum() < LEAST_TOLD * n_rows or len(told) > MOST_CELLS:
        return None, (
            f"{count_of(n_rows, 'row')} lie in {len(size):,} different cells of the tree’s tests: to store them would "
            f"be to store the table. {ASK_THE_ROWS}"
        )
    first = np.zeros(len(size), dtype=np.int64)
    first[cell] = np.arange(n_rows)
    told_sides = [_find_sides(tree, rounded, one["feature"], read(one["feature"])[first[told]])[0] for one in asked]
    counts, begin = [], 0
    for part in parts:
        own = cell[begin : begin + part.X.n_rows]
        begin += part.X.n_rows
        labels = check_labels(tree, part.y, part.X.n_rows)
        found = np.bincount(own * tree.n_classes + labels, part.sample_weight, len(size) * tree.n_classes)
        counts.append(found.reshape(len(size), -1))
    left_out = [float(found.sum() - found[told].sum()) for found in counts]
    note = ""
    if any(left_out):
        note = (
            f"Counted from the file, which leaves out cells of fewer than {FEWEST} rows: of "
            f"{count_of(n_rows, 'row')}, {n_rows - int(size[told].sum()):,}."
        )
    return {
        "asked": asked,
        "sides": np.stack(told_sides, axis=1).tolist(),
        "training": [known_numbers(row) for row in counts[0][told]],
        "unseen": [known_numbers(row) for row in counts[1][told]] if len(counts) > 1 else None,
        "left_out": known_numbers(left_out),
    }, note


def _find_sides(
    tree: Tree, rounded: Tree | None, feature: int, values: NDArray[Any]
) -> tuple[NDArray[np.int64], list[float]]:
    """Number the cells of a column, and give for each a value that lies in it, but for the last ones.

    Of numbers, one more cell lies beyond the largest limit; in either case one more holds missing values.
    """
    nodes = np.flatnonzero((tree.feature == feature) & ~tree.is_leaf)
    if tree.categories[feature] is None:
        limits = np.concatenate([one.upper[nodes] for one in (tree, rounded) if one is not None])
        limits = np.unique(limits[np.isfinite(limits)])
        side = np.searchsorted(limits, values, side="left")
        side[np.isnan(values)] = len(limits) + 1
        return side, limits.tolist()
    starts, table = tree.category_table
    n_codes = len(tree.categories[feature] or ()) + 1
    goes_left = np.stack([table[starts[node] : starts[node] + n_codes] for node in nodes.tolist()])
    _, first, kind = np.unique(goes_left, axis=1, return_index=True, return_inverse=True)
    is_missing = np.isnan(values)
    codes = np.where(is_missing, 0, values).astype(np.int64)
    return np.where(is_missing, len(first), kind.ravel()[codes]), first.tolist()


def find_groups(groups_by: Any, X: Any, n_rows: int) -> tuple[str, NDArray[Any]]:
    """Find the group of each row, and what groups are called: a column of X by name, or a value for each row."""
    name = str(getattr(groups_by, "name", None) or "group")
    if isinstance(groups_by, str):
        columns = frame_columns(X)
        if columns is None or groups_by not in columns:
            hint = "" if columns is None else did_you_mean(groups_by, list(columns))
            listed = "" if columns is None else f"; its columns are {shorten(list(columns))}"
            raise ParameterError(
                f"There is no column {groups_by!r} in the rows measured on{listed}: pass their groups as an array."
                f"{hint}"
            )
        name, groups_by = groups_by, X[groups_by]
    values = np.asarray(groups_by, dtype=object)
    if values.shape != (n_rows,):
        raise InputError(f"Expected a group for each of {n_rows:,} rows, found an array of shape {values.shape}.")
    return name, np.array(["(missing)" if one is None or one != one else str(one) for one in values], dtype=object)


def describe_groups(rules: Rules, X: Any, at_hand: RowsAtHand, groups_by: Any) -> dict[str, Any]:
    """Count by group, of the rows measured on: all, those told each class, those of it, and both; no few rows."""
    rows = at_hand.measured
    if rows is None:
        raise InputError("There are no rows to count by group: pass X and y.")
    name, group_of = find_groups(groups_by, X, rows.X.n_rows)
    told = rules.class_ids[rules.find_lines(rows.X)]
    own = check_labels(rules.tree, rows.y, rows.X.n_rows)
    n_classes, of, right = rules.tree.n_classes, rules.making.of, told == own
    classes = np.argsort(-np.bincount(own, minlength=n_classes), kind="stable")[:MOST_CLASSES].tolist()
    classes = [of] if of is not None and n_classes == 2 else sorted(classes)
    names, place = np.unique(group_of.astype(str), return_inverse=True)
    sizes = np.bincount(place)
    shown = [one for one in np.argsort(-sizes, kind="stable").tolist() if sizes[one] >= FEWEST][:MOST_GROUPS]

    def count(mask: NDArray[np.bool_]) -> list[int | None]:
        found = np.bincount(place[mask], minlength=len(names))[shown].tolist()
        return [one if one >= FEWEST else None for one in found]

    return {
        "by": name,
        "rows": at_hand.words,
        "names": [str(names[one]) for one in shown],
        "sizes": sizes[shown].tolist(),
        "n_left_out": len(names) - len(shown),
        "classes": [
            {"class": one, "told": count(told == one), "own": count(own == one), "found": count(right & (own == one))}
            for one in classes
        ],
    }
