"""Groups of columns that stand for one categorical: found in rows, or given by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError, ParameterError
from secateur.frames import frame_columns
from secateur.tree.facts import Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.tree.tree import Label, Tree

__all__ = ["find_groups", "read_groups"]

SEPARATORS = "=_:-. "
MOST_NAMED = 3  # columns that are listed in the name of a group that has none


def find_groups(X: Any, *, feature_names: Sequence[str] | None = None) -> dict[str, list[str] | list[int]]:
    """Find columns of zeros and ones that stand for one categorical.

    A group is a run of neighbouring columns of which exactly one is 1 in every row, as short as can be. That is how
    one-hot encoders write a categorical (with every level, none dropped); where a level was dropped, or where columns
    were shuffled, say the groups by hand.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
        The training rows. What no row contradicts may still be a coincidence when there are few.
    feature_names : sequence of str, default=None
        Column names, where X has none.

    Returns
    -------
    dict of str to list
        The columns of each group, by name, or by place where there are no names; what ``simplify(groups=...)`` takes.

    Examples
    --------
    >>> X = [[1, 0, 5.0, 1, 0, 0], [0, 1, 7.5, 0, 1, 0], [1, 0, 2.0, 0, 0, 1]]
    >>> names = ["sex_f", "sex_m", "dose", "city_Oslo", "city_Paris", "city_Rome"]
    >>> find_groups(X, feature_names=names)
    {'sex': ['sex_f', 'sex_m'], 'city': ['city_Oslo', 'city_Paris', 'city_Rome']}
    """
    names = frame_columns(X) if feature_names is None else [str(name) for name in feature_names]
    twice = next((name for name, times in Counter(names or ()).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"X has two columns of the name {twice!r}; rename one of them.")
    columns = _binary_columns(X)
    if names is not None and len(names) != len(columns):
        raise InputError(f"X has {len(columns)} columns, but feature_names lists {len(names)}.")
    runs: list[list[int]] = []
    first = 0
    while first < len(columns):
        last = _find_end(columns, first)
        if last - first > 1:
            runs.append(list(range(first, last)))
        first = max(last, first + 1)
    if names is None:
        return {f"columns {run[0]} to {run[-1]}": run for run in runs}
    found: dict[str, list[str] | list[int]] = {}
    for run in runs:
        named = [names[feature] for feature in run]
        name = _name_group(named)
        found[name if name not in found else ", ".join(named)] = named
    return found


def read_groups(tree: Tree, groups: Any) -> tuple[Group, ...]:
    """The groups that a caller named, with a label for each column."""
    has_names = True
    if not isinstance(groups, Mapping):
        if isinstance(groups, (str, bytes)) or not hasattr(groups, "__iter__"):
            raise ParameterError(
                f"Expected groups as a mapping of a name to its columns, or as lists of columns, found {groups!r}."
            )
        listed_groups = list(groups) if np.ndim(groups) else [groups]
        strange = next((one for one in listed_groups if not _is_list(one)), None)
        if strange is not None or len(listed_groups) == 0:
            raise ParameterError(f"Expected groups as lists of columns, found {strange!r} among them.")
        groups = {f"the {place + 1}. group": listed for place, listed in enumerate(listed_groups)}
        has_names = False
    names = {tree.feature_name(feature): feature for feature in range(tree.n_features)}
    found: list[Group] = []
    taken: dict[int, str] = {}
    for name, listed in groups.items():
        if not _is_list(listed):
            raise ParameterError(f"Expected the columns of the group {name!r} as a list, found {listed!r}.")
        features = [_find_feature(tree, names, column, name) for column in listed]
        named = [tree.feature_name(feature) for feature in features]
        if len(features) < 2:
            raise ParameterError(f"The group {name!r} has {len(features)} columns; a group needs at least two.")
        title = str(name) if has_names else _name_group(named)
        if title in names:
            raise ParameterError(f"The group {title!r} has the name of a column; name it otherwise.")
        for feature in features:
            if feature in taken:
                raise ParameterError(
                    f"The column {tree.feature_name(feature)!r} is in the group {taken[feature]!r} and in "
                    f"{title!r}; a column belongs to one group."
                )
            taken[feature] = title
        found.append(Group(title, tuple(features), tuple(_read_labels(title, named))))
    return tuple(found)


def _is_list(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    return hasattr(value, "__iter__") and hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping))


def _find_feature(tree: Tree, names: Mapping[str, int], column: Any, group: object) -> int:
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        feature = int(column)
        if not 0 <= feature < tree.n_features:
            raise ParameterError(f"The group {group!r} has column {feature}, but there are {tree.n_features} columns.")
    elif isinstance(column, str) and column in names:
        feature = names[column]
    else:
        hint = "" if tree.columns is None else " A pipeline's own encoders need not be named."
        raise ParameterError(f"The group {group!r} has the column {column!r}, which is none of the columns.{hint}")
    if tree.categories[feature] is not None:
        raise ParameterError(
            f"The group {group!r} has the column {tree.feature_name(feature)!r}, which holds categories; a group is "
            "made of columns of zeros and ones."
        )
    return feature


def _read_labels(name: str, columns: list[str]) -> list[Label]:
    """The category that each column stands for: what its name adds to the group's."""
    shared = _shared_start(columns)
    for prefix in (*(name + separator for separator in SEPARATORS), shared[: _prefix_length(shared)]):
        labels = [column[len(prefix) :] for column in columns]
        if prefix and all(column.startswith(prefix) for column in columns) and all(labels):
            return list(labels)
    return list(columns)


def _name_group(columns: list[str]) -> str:
    shared = _shared_start(columns)
    prefix = shared[: _prefix_length(shared)].rstrip(SEPARATORS)
    if prefix:
        return prefix
    more = len(columns) - MOST_NAMED
    return "/".join(columns[:MOST_NAMED]) + (f"/… {more} more" if more > 0 else "")


def _shared_start(columns: list[str]) -> str:
    """What all names start with."""
    first, last = min(columns), max(columns)  # what these two share, all between them share
    length = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]


def _prefix_length(shared: str) -> int:
    """Where the last separator of what column names share ends; an "=" comes before all others."""
    if "=" in shared:
        return shared.index("=") + 1
    return max(shared.rfind(separator) for separator in SEPARATORS) + 1


def _binary_columns(X: Any) -> list[NDArray[np.bool_] | None]:
    """Where each column is 1; None for a column that holds anything but 0 and 1."""
    if frame_columns(X) is not None:
        import narwhals as nw

        try:
            frame = nw.from_native(X, eager_only=True)
        except TypeError as error:
            raise InputError("Expected X as an array or a data frame in memory; collect a lazy one first.") from error
        columns: list[Any] = [
            column.to_numpy() if column.dtype.is_numeric() or column.dtype == nw.Boolean else None
            for column in frame.iter_columns()
        ]
    else:
        try:
            matrix = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"Expected X as a table of numbers: {error}.") from error
        if matrix.ndim != 2:
            raise InputError(f"Expected X with two dimensions (rows × columns), found {matrix.ndim}.")
        columns = list(matrix.T)
    found: list[NDArray[np.bool_] | None] = []
    for column in columns:
        try:
            values = None if column is None else np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):  # a missing value that is no NaN
            values = None
        is_binary = values is not None and bool(((values == 0) | (values == 1)).all())
        found.append(values == 1 if is_binary and values is not None else None)
    if not found or not len(columns[0] if columns[0] is not None else [0]):
        raise InputError("X has no columns or no rows, so there is nothing to find groups in.")
    return found


def _find_end(columns: Sequence[NDArray[np.bool_] | None], first: int) -> int:
    """The end of the shortest run from a column on with exactly one 1 in every row; its start if there is none."""
    column = columns[first]
    covered = np.zeros(0 if column is None else len(column), dtype=bool)
    for last in range(first, len(columns)):
        column = columns[last]
        if column is None or bool((covered & column).any()):
            return first
        covered = covered | column
        if covered.all():
            return last + 1
    return first
