"""Find groups of columns that stand for one categorical, or read them from a caller."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, ParameterError
from secateur.facts.checking import find_columns
from secateur.frames import check_unique, frame_columns, is_listing
from secateur.tree.facts import Group
from secateur.tree.tree import Label, Tree

SEPARATORS = "=_:-. "
MOST_NAMED = 3  # columns that make up the name of a group whose columns share no prefix


def find_groups(X: Any, *, feature_names: Sequence[str] | None = None) -> dict[str, list[str] | list[int]]:
    """Find columns of zeros and ones that stand for one categorical.

    A group is the shortest run of neighbouring columns with exactly one 1 in every row. That is how one-hot
    encoders write a categorical (with every level, none dropped). Where a level was dropped, or where columns were
    shuffled, list the groups by hand.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
        The training rows. Among few rows a group may be a coincidence.
    feature_names : sequence of str, default=None
        Column names, where X has none.

    Returns
    -------
    dict of str to list
        The columns of each group, by name, or by place where there are no names: what ``simplify(groups=...)`` takes.

    Examples
    --------
    >>> X = [[1, 0, 5.0, 1, 0, 0], [0, 1, 7.5, 0, 1, 0], [1, 0, 2.0, 0, 0, 1]]
    >>> names = ["sex_f", "sex_m", "dose", "city_Oslo", "city_Paris", "city_Rome"]
    >>> find_groups(X, feature_names=names)
    {'sex': ['sex_f', 'sex_m'], 'city': ['city_Oslo', 'city_Paris', 'city_Rome']}
    """
    names = frame_columns(X) if feature_names is None else [str(name) for name in feature_names]
    check_unique(names or (), "X")
    columns = _binary_columns(X)
    if names is not None and len(names) != len(columns):
        raise InputError(f"X has {len(columns)} columns, but feature_names lists {len(names)}.")
    found: dict[str, list[str] | list[int]] = {}
    first = 0
    while first < len(columns):
        last = _find_end(columns, first)
        if last - first > 1 and names is None:
            found[f"columns {first} to {last - 1}"] = list(range(first, last))
        elif last - first > 1 and names is not None:
            named = names[first:last]
            name = _name_group(named)
            found[name if name not in found else ", ".join(named)] = named
        first = max(last, first + 1)
    return found


def read_groups(tree: Tree, groups: Any) -> tuple[Group, ...]:
    """Read the groups that a caller lists, and give each column a label."""
    listed: list[tuple[str, str | None, Any]]
    if isinstance(groups, Mapping):
        listed = [(f"The group {str(name)!r}", str(name), columns) for name, columns in groups.items()]
    elif is_listing(groups) and (groups := list(groups)):
        listed = [(f"Group {place}", None, columns) for place, columns in enumerate(groups, 1)]
    else:
        raise ParameterError(
            f"Expected groups as a mapping of names to lists of columns, or as lists of columns, found {groups!r}."
        )
    names = {tree.feature_name(feature) for feature in range(tree.n_features)}
    found: list[Group] = []
    group_of: dict[int, str] = {}
    for who, name, columns in listed:
        if not is_listing(columns):
            raise ParameterError(f"{who} must be a list of columns, found {columns!r}.")
        features = find_columns(tree, columns, f"{who} has", "; a group consists of columns of zeros and ones.")
        if len(features) < 2:
            raise ParameterError(f"{who} has {'one column' if features else 'no columns'}; a group needs two or more.")
        own = [tree.feature_name(feature) for feature in features]
        title = _name_group(own) if name is None else name
        if title in names:
            raise ParameterError(f"The group {title!r} has the name of a column; give it another name.")
        for feature, column in zip(features, own, strict=True):
            if feature in group_of:
                raise ParameterError(
                    f"The column {column!r} is in the group {group_of[feature]!r} and in {title!r}; a column belongs "
                    "to one group."
                )
            group_of[feature] = title
        found.append(Group(title, tuple(features), tuple(label_columns(title, own))))
    return tuple(found)


def label_columns(name: str, columns: list[str]) -> list[Label]:
    """Label each column by what its name adds to the group's."""
    for prefix in (*(name + separator for separator in SEPARATORS), _find_prefix(columns)):
        labels = [column[len(prefix) :] for column in columns]
        if prefix and all(column.startswith(prefix) for column in columns) and all(labels):
            return list(labels)
    return list(columns)


def _name_group(columns: list[str]) -> str:
    prefix = _find_prefix(columns).rstrip(SEPARATORS)
    if prefix:
        return prefix
    more = len(columns) - MOST_NAMED
    return "/".join(columns[:MOST_NAMED]) + (f"/… {more} more" if more > 0 else "")


def _find_prefix(columns: list[str]) -> str:
    """Cut what all names start with after its first "=", else after its last separator."""
    first, last = min(columns), max(columns)  # what these two share, all between them share
    differ = (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    shared = first[: next(differ, min(len(first), len(last)))]
    if "=" in shared:
        return shared[: shared.index("=") + 1]
    return shared[: max(shared.rfind(separator) for separator in SEPARATORS) + 1]


def _binary_columns(X: Any) -> list[NDArray[np.bool_] | None]:
    """Mark where each column is 1; None for a column that holds anything but 0 and 1."""
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
        except (TypeError, ValueError):  # a missing value other than NaN
            values = None
        found.append(values == 1 if values is not None and ((values == 0) | (values == 1)).all() else None)
    if not found or not len(columns[0] if columns[0] is not None else [0]):
        raise InputError("X has no columns or no rows, so there is nothing to find groups in.")
    return found


def _find_end(columns: Sequence[NDArray[np.bool_] | None], first: int) -> int:
    """Find the end of the shortest run from a column on with exactly one 1 in every row; its start if there is none."""
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
