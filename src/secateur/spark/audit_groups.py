"""Add up the groups of rows that the SQL of an audit returns, or say which rows do not fit.

Imported only when SQL is used, like sqlglot.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, shorten
from secateur.export.sql import GROUPED, UNKNOWN, Rejection
from secateur.export.sql_columns import MISSING, UNLISTED
from secateur.results.audit_counts import AuditCounts, CellCounts, cross, find_cells
from secateur.rows.checking import TOO_MUCH_WEIGHT
from secateur.rules.rules import Rules
from secateur.tree.tree import Tree

SHOWN_REJECTIONS = 3
Groups = Sequence[Mapping[str, Any]]


def count_groups(rules: Rules, rejections: Sequence[Rejection], groups: Groups, *, what: str = "df") -> AuditCounts:
    """Add up groups, the rows of a statement's result by column, or say which rows of the table do not fit.

    A line of a list gets the rows that it decides. With one rule for each leaf, each gets the rows of its leaf;
    :func:`count_covered` counts those of rules that were widened.
    """
    if not groups:
        raise InputError(f"{what} has no rows; at least one is needed.")
    _check_rejected(rules.tree, rejections, groups, what)
    _check_labels(rules.tree, groups, what)
    odd = sum(int(group.get("odd_weights") or 0) for group in groups)
    if odd:
        raise InputError(f"sample_weight must be finite and not negative, but {_rows(odd)} of {what} hold another.")
    listed = _in_order(groups)
    n_rows = np.array([group["n_rows"] for group in listed], dtype=np.float64)
    weights, squares, n_counted = (
        np.array([group.get(name, group["n_rows"]) for group in listed], dtype=np.float64)
        for name in ("weight", "squares", "n_counted")
    )
    place, truth, conflict = (
        np.array([group.get(name, 0) for group in listed], dtype=np.int64) for name in ("place", "truth", "conflict")
    )
    leaf, line = np.divmod(place, rules.n_lines)
    covered = np.ones(len(line), dtype=bool) if rules.layout is None else ~np.isin(line, rules.layout.rest_lines)
    if not math.isfinite(weights.sum()):
        raise InputError(TOO_MUCH_WEIGHT)
    sums = weights.sum(), weights[conflict == 1].sum(), weights[covered].sum(), squares.sum(), n_counted.sum()
    beside = line if rules.is_list else leaf
    return AuditCounts(
        int(n_rows.sum()),
        CellCounts.of(find_cells(rules, leaf, line, truth), weights),
        np.array(sums, dtype=np.float64),
        cross(beside, truth, weights, (rules.n_lines, rules.tree.n_classes)),
        np.bincount(beside, squares, rules.n_lines).astype(np.float64),
    )


def count_covered(
    rules: Rules, asked: Sequence[int], groups: Sequence[Groups]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count the rows of each class that each rule covers, and add up their squared weights.

    So many rules were asked for in each statement, and these groups were its result.
    """
    found, squared, first = np.zeros((sum(asked), rules.tree.n_classes)), np.zeros(sum(asked)), 0
    for n_asked, counted in zip(asked, groups, strict=True):
        for group in _in_order(counted if n_asked else []):
            for rule in (first + bit for bit in range(n_asked) if group["covers"] >> bit & 1):
                found[rule, group["truth"]] += float(group.get("weight", group["n_rows"]))
                squared[rule] += float(group.get("squares", group["n_rows"]))
        first += n_asked
    return found, squared


def _in_order(groups: Groups) -> list[Mapping[str, Any]]:
    """Sort groups: sums of fractions depend on the order, and Spark gives groups in any."""
    return sorted(groups, key=lambda group: tuple(-1 if group.get(name) is None else group[name] for name in GROUPED))


def _check_rejected(tree: Tree, rejections: Sequence[Rejection], groups: Groups, what: str) -> None:
    """Raise if the rules reject some rows, and name the most frequent reasons first."""
    rejected: Counter[int] = Counter()
    for group in sorted((one for one in groups if one["rejected"] is not None), key=lambda one: one["rejected"]):
        rejected[group["rejected"]] += int(group["n_rows"])
    if not rejected:
        return
    most = rejected.most_common(SHOWN_REJECTIONS)
    said = [f"{_describe_rejection(tree, rejections[place])} in {_rows(number)}" for place, number in most]
    if len(rejected) > SHOWN_REJECTIONS:
        said.append("and so on")
    raise InputError(
        f"{what} has {_rows(rejected.total())} that the rules reject: {', '.join(said)}. "
        "Fill in what is missing, correct the others, or leave these rows out."
    )


def _describe_rejection(tree: Tree, rejection: Rejection) -> str:
    column = rejection.column
    if rejection.what == MISSING:
        return f"column {column.name!r} has a missing value, for which the tree was not fitted,"
    if rejection.what == UNLISTED:
        return (
            f"column {column.name!r} holds a category that the pipeline's encoder rejects (it knows "
            f"{shorten(column.labels or ())})"
        )
    if math.isinf(column.lowest) and math.isinf(column.highest):
        return f"column {column.name!r} holds an infinite value, or one too large for {tree.dtype},"
    return (
        f"column {column.name!r} holds an infinite value, or one that is not between {column.lowest + 0.0:.6g} and "
        f"{column.highest:.6g},"
    )


def _check_labels(tree: Tree, groups: Groups, what: str) -> None:
    unknown = [group for group in groups if group["truth"] == UNKNOWN]
    if unknown:
        label = min(group["label"] for group in unknown)
        raise InputError(
            f"y holds the label {label!r} or others which the model never saw, in "
            f"{_rows(sum(int(group['n_rows']) for group in unknown))} of {what}; its classes are "
            f"{shorten(tree.classes.tolist())}. Pass y in the model's own labels."
        )
    absent = sum(int(group["n_rows"]) for group in groups if group["truth"] is None)
    if absent:
        raise InputError(f"y holds no label in {_rows(absent)} of {what}. Leave these rows out.")


def _rows(number: int) -> str:
    return f"{number} {'row' if number == 1 else 'rows'}"
