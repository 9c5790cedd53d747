"""A person's rows, labels and weights, checked and brought into the tree's own terms.

Rows become numbers of the tree's comparison dtype, with category codes in categorical columns, converted a block at a
time; labels become class indices. What does not fit is refused with one sentence.

The rows of a tree behind a pipeline (``tree.columns``) are those that the pipeline takes: they hold labels and never
codes, and columns that the tree does not test may hold anything.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError, shorten
from secateur.frames import frame_columns
from secateur.kernels.threads import map_in_threads
from secateur.rows.encoding import read_column, read_source, recode, to_terms
from secateur.rows.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from secateur.tree.pipeline_columns import Columns
    from secateur.tree.tree import Tree

__all__ = [
    "NO_WEIGHT",
    "MissingRefusedError",
    "asked_features",
    "check_columns",
    "check_finite",
    "check_labels",
    "check_names",
    "check_rows",
    "check_weights",
    "holds_missing",
    "mark_finite",
]

# Up to so many classes, labels are compared with each of them sooner than searched among them.
FEW_CLASSES = 16
NO_WEIGHT = "sample_weight is zero for every row; at least one row must count."
# A task for a thread that only reads.
SUMMED_ROWS = 1 << 16


def check_rows(tree: Tree, X: Any, *, name: str = "X", first: int = 0) -> Rows:
    """Return the rows in the tree's own terms, or say in a sentence why they do not fit.

    Parameters
    ----------
    tree : Tree
    X : array-like or data frame of shape (n_rows, n_features), or Rows
    name : str, default="X"
        What the rows are called in messages.
    first : int, default=0
        Number of the first row of a data frame, for messages.

    Returns
    -------
    Rows
        No copy is made of a matrix that already has the right dtype; others are converted when they are read.
    """
    if isinstance(X, Rows):  # checked before
        return X
    if tree.columns is not None and tree.columns.derive is not None:
        X = _derive_columns(tree, tree.columns, tree.columns.derive, X, name)
    names = frame_columns(X)
    if names is not None:
        check_columns(tree, names, name)
        rows = _from_frame(tree, X, name, first)
    else:
        rows = _from_array(tree, X, name)
    if rows.n_rows == 0:
        raise InputError(f"{name} has no rows; at least one is needed.")
    if rows.source is None or not isinstance(X, FiniteMatrix):
        check_finite(tree, rows, name, first=first)
    return rows


def check_columns(tree: Tree, names: Sequence[str], what: str = "X") -> None:
    """Raise if the columns of a frame do not fit a tree."""
    if tree.feature_names is None:
        _check_unique(names, what)
        _check_width(tree, len(names), what)
    else:
        check_names(tree.feature_names, names, what)


def check_labels(tree: Tree, y: Any, n_rows: int, *, name: str = "y", first: int = 0) -> NDArray[np.int64]:
    """Return the class index of each label, or name a label that the tree does not have.

    Parameters
    ----------
    tree : Tree
    y : array-like of shape (n_rows,)
        Labels as the model knows them.
    n_rows : int
    name : str, default="y"
        What the labels are called in messages.
    first : int, default=0
        Number of the first row, for messages.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        Labels that are class indices already are not copied.
    """
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise InputError(f"Expected {name} as one column of labels: {error}.") from error
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise InputError(f"Expected {name} as one column of labels, found shape {labels.shape}.")
    if len(labels) != n_rows:
        raise InputError(f"{name} has {len(labels)} labels, but there are {n_rows} rows. Pass one label per row.")
    codes = _class_indices(tree, labels)
    strange = np.flatnonzero(codes < 0)
    if len(strange):
        raise InputError(
            f"{name} holds the label "
            f"{labels[strange[:1]].tolist()[0]!r} "
            f"(row {first + strange[0]}), which the model never saw; its classes are {shorten(tree.classes.tolist())}. "
            "Pass labels as the model knows them."
        )
    return codes


def check_weights(
    weights: Any, n_rows: int, *, is_part: bool = False, name: str = "sample_weight", first: int = 0
) -> NDArray[np.float64] | None:
    """Return the row weights as floats; None stays None.

    Parameters
    ----------
    weights : array-like of shape (n_rows,), or None
    n_rows : int
    is_part : bool, default=False
        Whether there are more rows elsewhere, so that none of these need count.
    name : str, default="sample_weight"
        What the weights are called in messages.
    first : int, default=0
        Number of the first row, for messages.

    Returns
    -------
    ndarray of float64, shape (n_rows,), or None
    """
    if weights is None:
        return None
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Expected {name} as numbers, one per row: {error}.") from error
    if values.shape != (n_rows,):
        raise InputError(f"Expected one weight for each of the {n_rows} rows, found {name} of shape {values.shape}.")
    if not np.isfinite(values).all():
        row = first + np.flatnonzero(~np.isfinite(values))[0]
        raise InputError(f"{name} must be finite, but row {row} is not.")
    if (values < 0).any():
        row = np.flatnonzero(values < 0)[0]
        raise InputError(f"{name} must not be negative, but row {first + row} has {values[row]:g}.")
    if not is_part and not values.any():
        raise InputError(NO_WEIGHT)
    with np.errstate(over="ignore"):
        if not np.isfinite(values.sum()):
            raise InputError(f"The sum of {name} is too large for a float; divide all weights by a constant.")
    return values


def holds_missing(X: Any) -> bool:
    """Whether the rows hold a missing value; False where that cannot be told yet."""
    if frame_columns(X) is not None:
        import narwhals as nw

        try:
            frame = nw.from_native(X, eager_only=True)
        except (TypeError, ValueError):
            return False
        return any(
            bool(column.is_null().any()) or (column.dtype.is_float() and bool(column.is_nan().any()))
            for column in frame.iter_columns()
        )
    try:
        values = np.asarray(X)
    except ValueError:
        return False
    if values.dtype.kind != "f" or values.ndim == 0 or isinstance(X, FiniteMatrix):
        return False
    return not _is_finite(values) and bool(np.isnan(values).any())


class MissingRefusedError(InputError):
    """Rows hold a missing value where the tree, as it was read, takes none."""


class FiniteMatrix(np.ndarray[Any, np.dtype[np.floating[Any]]]):
    """A matrix that is known to hold finite numbers only, so that nobody needs to look again."""


def mark_finite(X: Any) -> Any:
    """The same rows, marked if they are a matrix of finite floats."""
    is_matrix = type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind == "f"
    return X.view(FiniteMatrix) if is_matrix and _is_finite(X) else X


def _is_finite(values: NDArray[Any]) -> bool:
    """Whether all values are finite; the sum of a block tells, but for rare sums that are too large."""

    def check(first: int) -> bool:
        block = values[first : first + SUMMED_ROWS]
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(block.sum()) or np.isfinite(block).all())

    return all(map_in_threads(check, range(0, len(values), SUMMED_ROWS)))


def check_names(expected: Sequence[str], names: Sequence[str], what: str = "X", model: str = "tree") -> None:
    """Raise if a frame's columns are not the expected ones in the expected order.

    Parameters
    ----------
    expected, names : sequence of str
    what : str, default="X"
        What the frame is called in messages.
    model : str, default="tree"
        What was fitted on the columns.
    """
    _check_unique(names, what)
    if list(names) == list(expected):
        return
    found, wanted = set(names), set(expected)
    missing = [column for column in expected if column not in found]
    unexpected = [column for column in names if column not in wanted]
    complaints = []
    if missing:
        complaints.append(f"missing {shorten(missing)}")
    if unexpected:
        complaints.append(f"unexpected {shorten(unexpected)}")
    if not complaints:
        moved = next(place for place, pair in enumerate(zip(names, expected, strict=True)) if pair[0] != pair[1])
        complaints.append(
            f"out of order from column {moved} on, where {expected[moved]!r} should be, not {names[moved]!r}"
        )
    raise InputError(
        f"The columns of {what} do not fit the {model}: {'; '.join(complaints)}. "
        f"Pass the {len(expected)} columns that the {model} was fitted on, in that order."
    )


def _check_unique(names: Sequence[str], what: str) -> None:
    twice = next((column for column, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"{what} has two columns of the name {twice!r}; rename one of them.")


def _derive_columns(tree: Tree, columns: Columns, derive: Callable[[Any], Any], X: Any, what: str) -> Any:
    """The rows with the columns that only the pipeline can make, unless they are there already."""
    names = frame_columns(X)
    n_own = tree.n_features - len(columns.derived)
    if names is not None:
        if not set(tree.feature_names or ()) <= set(names):
            check_names((tree.feature_names or ())[:n_own], names, what, "pipeline")
            return derive(X)
        return X
    values = _as_matrix(X, what)
    if values.shape[1] == tree.n_features:
        return X
    if values.shape[1] != n_own:
        raise InputError(f"{what} has {values.shape[1]} columns, but the pipeline was fitted on {n_own}.")
    return derive(values)


def _from_frame(tree: Tree, X: Any, what: str, first_row: int) -> Rows:
    import narwhals as nw

    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise InputError(f"Expected {what} as an array or an eager data frame: {error}.") from error
    asked = asked_features(tree)

    def read(first: int, last: int, features: NDArray[np.int64]) -> NDArray[Any]:
        part = frame if (first, last) == (0, len(frame)) else frame[first:last]
        matrix = np.empty((last - first, len(features)), dtype=tree.dtype, order="F")
        for place, feature in enumerate(features.tolist()):
            if tree.columns is None:
                matrix[:, place] = read_column(tree, part[:, feature], feature, what)
            elif feature in asked:
                matrix[:, place] = read_source(tree, tree.columns, part[:, feature], feature, first_row + first, what)
            else:
                matrix[:, place] = 0.0  # nobody looks at it, and it may hold anything
        return matrix

    return Rows(len(frame), tree.n_features, None, np.arange(tree.n_features), read)


def _from_array(tree: Tree, X: Any, what: str) -> Rows:
    values = _as_matrix(X, what)
    _check_width(tree, values.shape[1], what)
    if tree.columns is not None and (
        any(tree.categories) or any(tree.columns.ranges) or values.dtype.kind not in "fiub"
    ):
        return _from_source_array(tree, tree.columns, values, what)
    if values.dtype.kind not in "fiub":
        raise InputError(
            f"{what} is an array of {values.dtype}, but the tree compares numbers. "
            "Encode its columns as they were encoded for fitting, or convert them with astype(float)."
        )
    if values.dtype == tree.dtype and not any(tree.categories):
        return Rows.of(values)

    def read(first: int, last: int, features: NDArray[np.int64]) -> NDArray[Any]:
        matrix = np.empty((last - first, len(features)), dtype=tree.dtype)
        with np.errstate(over="ignore"):
            matrix[:] = values[first:last] if len(features) == tree.n_features else values[first:last, features]
        for place, feature in enumerate(features.tolist()):
            matrix[:, place] = recode(matrix[:, place], tree.categories[feature])
        return matrix

    return Rows(len(values), tree.n_features, None, np.arange(tree.n_features), read)


def _as_matrix(X: Any, what: str) -> NDArray[Any]:
    if hasattr(X, "toarray"):
        raise InputError(f"{what} is a sparse matrix; pass {what}.toarray().")
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise InputError(f"Expected {what} as a table of numbers: {error}.") from error
    if values.ndim != 2:
        raise InputError(
            f"Expected {what} with two dimensions (rows × columns), found {values.ndim}. "
            "Reshape a single row with .reshape(1, -1)."
        )
    return values


def _from_source_array(tree: Tree, columns: Columns, values: NDArray[Any], what: str) -> Rows:
    """An array of what a pipeline takes: numbers, texts or both."""
    asked = asked_features(tree)

    def read(first: int, last: int, features: NDArray[np.int64]) -> NDArray[Any]:
        matrix = np.zeros((last - first, len(features)), dtype=tree.dtype, order="F")
        for place, feature in enumerate(features.tolist()):
            if feature in asked:
                column = values[first:last, feature]
                matrix[:, place] = to_terms(tree, columns, column, str(column.dtype), feature, first, what)
        return matrix

    return Rows(len(values), tree.n_features, None, np.arange(tree.n_features), read)


def asked_features(tree: Tree) -> set[int]:
    """The features that somebody will look at: splits, other trees of a forest, facts."""
    return {*_tested_features(tree), *tree.facts.features(tree.n_features)}


def _tested_features(tree: Tree) -> set[int]:
    tested = np.unique(tree.feature[~tree.is_leaf]).tolist()
    return {*tested, *(() if tree.columns is None else tree.columns.asked)}


def _check_width(tree: Tree, width: int, what: str) -> None:
    if width != tree.n_features:
        raise InputError(f"{what} has {width} columns, but the tree was fitted on {tree.n_features}.")


def check_finite(tree: Tree, rows: Rows, what: str, *, first: int = 0, among: NDArray[np.int64] | None = None) -> None:
    """Refuse rows with an infinite value, or with a missing one where the tree takes none.

    Parameters
    ----------
    tree : Tree
    rows : Rows
    what : str
        What the rows are called in messages.
    first : int, default=0
        Number of the first of them, for messages.
    among : ndarray of int64, default=None
        The features that were read, if not all.
    """
    features = _checked_features(tree)
    features = features if among is None else np.intersect1d(features, among)
    everywhere = len(features) == tree.n_features

    def is_finite(span: tuple[int, int]) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):  # one pass; a NaN or an infinity would show in the sum
            in_place = rows.source is not None and everywhere
            block = rows.source[slice(*span)] if in_place else rows.read(*span, features)  # type: ignore[index]
            return bool(np.isfinite(block.sum()))

    for span, finite in zip(rows.spans(), map_in_threads(is_finite, rows.spans()), strict=True):
        if not finite:
            _check_block(tree, rows, features, span, what, first)


def _checked_features(tree: Tree) -> NDArray[np.int64]:
    """The columns that must be finite: all, or behind a pipeline those that the tree tests."""
    return np.arange(tree.n_features) if tree.columns is None else np.array(sorted(_tested_features(tree)), np.int64)


def _check_block(
    tree: Tree, rows: Rows, features: NDArray[np.int64], span: tuple[int, int], what: str, first: int
) -> None:
    """Name the first value of a block that is infinite, or missing where the tree takes no missing value."""
    block = rows.select(*span, features)
    for place, feature in enumerate(features.tolist()):
        column = block[:, place]
        infinite = np.flatnonzero(np.isinf(column))
        if len(infinite):
            raise InputError(
                f"{what} holds an infinite value, or one too large for {tree.dtype}, "
                f"in column {tree.feature_name(feature)!r} (row {first + span[0] + infinite[0]})."
            )
        missing = np.flatnonzero(np.isnan(column))
        if len(missing) and not tree.accepts_missing[feature]:
            if tree.columns is not None:
                raise MissingRefusedError(
                    f"{what} has a missing value in column {tree.feature_name(feature)!r} (row "
                    f"{first + span[0] + missing[0]}), which the pipeline and its tree were not fitted to take. "
                    "Fill it in."
                )
            raise MissingRefusedError(
                f"{what} has a missing value in column {tree.feature_name(feature)!r} (row "
                f"{first + span[0] + missing[0]}), but the tree was "
                "fitted without missing values. Fill it in, or pass accepts_missing=True if it was fitted with them."
            )


def _class_indices(tree: Tree, labels: NDArray[Any]) -> NDArray[np.int64]:
    classes = tree.classes
    whole = "iub"
    if len(labels) and labels.dtype.kind in whole and classes.dtype.kind in whole:
        lowest, highest = int(classes.min()), int(classes.max())
        within = lowest <= int(labels.min()) and int(labels.max()) <= highest
        is_run = highest - lowest + 1 == len(classes) and bool((classes[1:] > classes[:-1]).all())
        if within and is_run:  # codes but for the start
            return labels.astype(np.int64, copy=False) - lowest if lowest else labels.astype(np.int64, copy=False)
    numeric = labels.dtype.kind in "iufb" and classes.dtype.kind in "iufb"
    if numeric or (labels.dtype.kind == "U" and classes.dtype.kind == "U"):
        if len(classes) <= FEW_CLASSES:
            codes = np.full(len(labels), -1, dtype=np.int64)
            for code, label in enumerate(classes):
                codes[labels == label] = code
            return codes
        order = np.argsort(classes)
        place = np.searchsorted(classes, labels, sorter=order)
        found = order[np.minimum(place, len(classes) - 1)]
        return np.where(classes[found] == labels, found, -1).astype(np.int64)
    index: dict[Any, int] = {label: code for code, label in enumerate(classes.tolist())}
    plain = (label.item() if isinstance(label, np.generic) else label for label in labels.tolist())
    return np.array([index.get(label, -1) if _is_scalar(label) else -1 for label in plain], dtype=np.int64)


def _is_scalar(label: object) -> bool:
    return isinstance(label, (str, int, float, bool))
