"""Check rows, labels and weights, and bring them into the tree's own terms.

Rows become numbers of the tree's dtype, with codes in categorical columns, converted a block at a time; labels become
class indices. The rows of a tree behind a pipeline (``tree.columns``) are those that the pipeline takes: they hold
labels and never codes, and columns that the tree does not test may hold anything.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, shorten
from secateur.frames import check_unique, frame_columns
from secateur.kernels.running import map_in_threads
from secateur.rows import encoding
from secateur.rows.rows import Rows
from secateur.tree.tree import Tree

# Up to this many classes, comparing labels with each of them is faster than searching.
FEW_CLASSES = 16
NO_WEIGHT = "sample_weight is zero for every row; at least one row must count."
TOO_MUCH_WEIGHT = "The sum of sample_weight is too large for a float: divide all weights by a constant."
FITTED_WITHOUT = (
    "but as far as the tree shows, it was fitted without missing values in that column (a tree of scikit-learn before "
    "1.8 may not show it). Fill it in, or pass accepts_missing=True if it was fitted with them."
)
PIPELINE_FITTED_WITHOUT = (
    "which the pipeline and its tree were not fitted to take. Fill it in, or pass accepts_missing=True if they were "
    "fitted with such rows."
)
FEW_CELLS = 1 << 22  # so many may be copied to a matrix
HELD_CELLS = 1 << 24  # of a table of so many, columns are held as they were converted
SUMMED_ROWS = 1 << 16  # a task for a thread that only reads


def check_rows(tree: Tree, X: Any, *, name: str = "X", first: int = 0) -> Rows:
    """Return the rows in the tree's own terms, uncopied where they are so already, or say why they do not fit."""
    if isinstance(X, Rows):  # checked before
        return X
    if encoding.derives(tree):
        X = _derive_columns(tree, X, name)
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
        check_unique(names, what)
        _check_width(tree, len(names), what)
    else:
        check_names(tree.feature_names, names, what)


def check_labels(tree: Tree, y: Any, n_rows: int, *, name: str = "y", first: int = 0) -> NDArray[np.int64]:
    """Return the class index of each label, or name a label that the tree does not have."""
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
            f"{name} holds the label {labels[strange[:1]].tolist()[0]!r} (row {first + strange[0]}), which the model "
            f"never saw; its classes are {shorten(tree.classes.tolist())}. Pass labels as the model knows them."
        )
    return codes


def check_answers(
    tree: Tree, y: Any, n_rows: int, *, name: str = "y", first: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return the class index of each label; for a regression tree noughts, and the targets as floats."""
    if not tree.is_regression:
        return check_labels(tree, y, n_rows, name=name, first=first), None
    found = np.asarray(y)
    try:
        if found.dtype.kind in "mMSU" or (found.dtype == object and any(isinstance(one, str) for one in found.flat)):
            raise ValueError("found texts or dates")
        targets = found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Expected {name} as numbers, because the tree predicts numbers: {error}.") from error
    targets = targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets
    if targets.shape != (n_rows,):
        raise InputError(f"Expected {name} as one number for each of the {n_rows} rows, found shape {targets.shape}.")
    if not np.isfinite(targets).all():
        raise InputError(
            f"{name} must hold finite numbers, but row {first + np.isfinite(targets).argmin()} does not: leave such "
            "rows out."
        )
    return np.zeros(n_rows, dtype=np.int64), targets


def check_weights(
    weights: Any, n_rows: int, *, is_part: bool = False, name: str = "sample_weight", first: int = 0
) -> NDArray[np.float64] | None:
    """Return the row weights as floats; None stays None. In a part of the rows all of them may be zero."""
    if weights is None:
        return None
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Expected {name} as numbers, one per row: {error}.") from error
    if values.shape != (n_rows,):
        raise InputError(f"Expected one weight for each of the {n_rows} rows, found {name} of shape {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError(f"{name} must be finite, but row {first + np.isfinite(values).argmin()} is not.")
    if (values < 0).any():
        row = (values < 0).argmax()
        raise InputError(f"{name} must not be negative, but row {first + row} has {values[row]:g}.")
    if not is_part and not values.any():
        raise InputError(NO_WEIGHT)
    with np.errstate(over="ignore"):
        if not np.isfinite(values.sum()):
            raise InputError(TOO_MUCH_WEIGHT.replace("sample_weight", name))
    return values


def holds_missing(X: Any, features: Collection[int] | None = None) -> bool:
    """Whether the rows hold a missing value in these columns, or in any; False if they are rejected later."""
    if frame_columns(X) is not None:
        import narwhals as nw

        try:
            frame = nw.from_native(X, eager_only=True)
        except (TypeError, ValueError):
            return False
        return any(
            bool(column.is_null().any()) or (column.dtype.is_float() and bool(column.is_nan().any()))
            for place, column in enumerate(frame.iter_columns())
            if features is None or place in features
        )
    try:
        values = np.asarray(X)
    except ValueError:
        return False
    if values.dtype.kind != "f" or values.ndim == 0 or isinstance(X, FiniteMatrix):
        return False
    if _is_finite(values):
        return False
    if features is not None and values.ndim == 2:
        values = values[:, [feature for feature in features if 0 <= feature < values.shape[1]]]
    return bool(np.isnan(values).any())


class MissingRejectedError(InputError):
    """Rows hold a missing value where the tree, as read, takes none."""


class FiniteMatrix(np.ndarray[Any, np.dtype[np.floating[Any]]]):
    """A matrix of finite numbers only, so that nobody checks that again."""


def mark_finite(X: Any) -> Any:
    """Mark rows that are a matrix of finite floats."""
    is_matrix = type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind == "f"
    return X.view(FiniteMatrix) if is_matrix and _is_finite(X) else X


def _is_finite(values: NDArray[Any]) -> bool:
    """Whether all values are finite: the sum of a block tells, unless it overflows."""

    def check(first: int) -> bool:
        block = values[first : first + SUMMED_ROWS]
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(block.sum()) or np.isfinite(block).all())

    return all(map_in_threads(check, range(0, len(values), SUMMED_ROWS)))


def check_names(expected: Sequence[str], names: Sequence[str], what: str = "X", model: str = "tree") -> None:
    """Raise if a frame's columns are not the expected ones in the expected order."""
    check_unique(names, what)
    if list(names) == list(expected):
        return
    found, wanted = set(names), set(expected)
    strange = {
        "missing": [column for column in expected if column not in found],
        "unexpected": [column for column in names if column not in wanted],
    }
    complaints = [f"{how} {shorten(columns)}" for how, columns in strange.items() if columns]
    if not complaints:
        moved = next(place for place, pair in enumerate(zip(names, expected, strict=True)) if pair[0] != pair[1])
        complaints = [f"out of order from column {moved} on, where {expected[moved]!r} should be, not {names[moved]!r}"]
    raise InputError(
        f"The columns of {what} do not fit the {model}: {'; '.join(complaints)}. "
        f"Pass the {len(expected)} columns that the {model} was fitted on, in that order."
    )


def _derive_columns(tree: Tree, X: Any, what: str) -> Any:
    """Add the columns that only the pipeline can make, unless they are there already."""
    names, n_own = frame_columns(X), len(encoding.own_features(tree))
    if names is not None:
        if set(tree.feature_names or ()) <= set(names):
            return X
        check_names((tree.feature_names or ())[:n_own], names, what, "pipeline")
    else:
        X = _as_matrix(X, what)
        if X.shape[1] == tree.n_features:
            return X
        if X.shape[1] != n_own:
            raise InputError(f"{what} has {X.shape[1]} columns, but the pipeline was fitted on {n_own}.")
    return tree.columns.derive(X)  # type: ignore[union-attr, misc]


def _from_frame(tree: Tree, X: Any, what: str, first_row: int) -> Rows:
    import narwhals as nw

    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise InputError(f"Expected {what} as an array or an eager data frame: {error}.") from error

    if frame.implementation.is_pandas() and (matrix := _as_plain_matrix(tree, X)) is not None:
        return _from_array(tree, matrix, what)
    tested = encoding.tested_features(tree)
    names = frame.columns  # once: a frame of many columns takes long to list them

    def convert(part: Any, feature: int, first: int) -> NDArray[Any]:
        column = part.get_column(names[feature])
        return encoding.read_column(tree, column, feature, what, first=first_row + first, asked=feature in tested)

    return _convert_by_column(tree, frame, convert)


def _as_plain_matrix(tree: Tree, X: Any) -> NDArray[Any] | None:
    """Turn a small pandas frame of numbers into a matrix: thousands of columns, one by one, take seconds."""
    if tree.columns is not None or tree.column_parsers or any(tree.categories):
        return None
    kinds = np.array([kind.kind if isinstance(kind, np.dtype) else "?" for kind in X.dtypes])
    if not np.isin(kinds, ["f", "i", "u"]).all() or X.size > FEW_CELLS:
        return None
    values: NDArray[Any] = X.to_numpy()
    whole = values[:, kinds != "f"]
    # Large whole numbers may be rounded, or rejected by the name of their column.
    is_large = bool(whole.size) and max(-float(whole.min()), float(whole.max())) >= encoding.EXACT
    return None if is_large or values.dtype.kind not in "fiu" else values


def _convert_by_column(tree: Tree, table: Any, convert: Callable[[Any, int, int], NDArray[Any]]) -> Rows:
    """Convert the columns of a part of a table one by one when that part is read; of a small table, each once."""
    asked = range(tree.n_features) if tree.columns is None else encoding.asked_features(tree)  # others hold anything
    is_held, held, lock = len(table) * tree.n_features <= HELD_CELLS, dict[int, NDArray[Any]](), threading.Lock()

    def hold(feature: int) -> NDArray[Any]:
        with lock:
            if feature not in held:
                held[feature] = convert(table, feature, 0).astype(tree.dtype)
        return held[feature]

    def read(first: int, last: int, features: NDArray[np.int64]) -> NDArray[Any]:
        part = table if is_held or (first, last) == (0, len(table)) else table[first:last]
        matrix = np.zeros((last - first, len(features)), dtype=tree.dtype, order="F")
        for place, feature in enumerate(features.tolist()):
            if feature in asked:
                matrix[:, place] = hold(feature)[first:last] if is_held else convert(part, feature, first)
        return matrix

    return Rows(len(table), tree.n_features, None, np.arange(tree.n_features), read)


def _from_array(tree: Tree, X: Any, what: str) -> Rows:
    values, columns = _as_matrix(X, what), tree.columns
    _check_width(tree, values.shape[1], what)
    if tree.column_parsers and values.dtype.kind not in "fiub":
        values = encoding.read_objects(tree, values, what)
    if columns is not None and (any(tree.categories) or any(columns.ranges) or values.dtype.kind not in "fiub"):

        def convert(part: NDArray[Any], feature: int, first: int) -> NDArray[Any]:
            return encoding.to_terms(tree, columns, part[:, feature], str(part.dtype), feature, first, what)

        return _convert_by_column(tree, values, convert)
    if values.dtype.kind not in "fiub":
        raise InputError(
            f"{what} is an array of {values.dtype}, but the tree compares numbers. "
            "Encode its columns as they were encoded for fitting, or convert them with astype(float)."
        )
    if values.dtype == tree.dtype and not any(tree.categories):
        return Rows.of(values)

    wide = encoding.tested_features(tree) if values.dtype.kind in "iu" and encoding.rounds_twice(tree) else set()

    def read(first: int, last: int, features: NDArray[np.int64]) -> NDArray[Any]:
        matrix = np.empty((last - first, len(features)), dtype=tree.dtype)
        for feature in wide.intersection(features.tolist()):
            encoding.check_whole(values[first:last, feature], tree.feature_name(feature), what, first)
        with np.errstate(over="ignore"):
            matrix[:] = values[first:last] if len(features) == tree.n_features else values[first:last, features]
        for place, feature in enumerate(features.tolist()):
            matrix[:, place] = encoding.recode(matrix[:, place], tree.categories[feature])
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


def _check_width(tree: Tree, width: int, what: str) -> None:
    if width != tree.n_features:
        raise InputError(f"{what} has {width} columns, but the tree was fitted on {tree.n_features}.")


def check_finite(tree: Tree, rows: Rows, what: str, *, first: int = 0, among: NDArray[np.int64] | None = None) -> None:
    """Reject an infinite value in the features that were read, or a missing one where the tree takes none."""
    # Behind a pipeline, columns that no split tests may hold anything.
    tested = range(tree.n_features) if tree.columns is None else sorted(encoding.tested_features(tree))
    features = np.array(tested, dtype=np.int64) if among is None else np.intersect1d(tested, among).astype(np.int64)
    whole = rows.source if len(features) == tree.n_features else None

    def is_finite(span: tuple[int, int]) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):  # one pass; a NaN or an infinity would show in the sum
            return bool(np.isfinite((rows.read(*span, features) if whole is None else whole[slice(*span)]).sum()))

    asked = encoding.tested_features(tree)
    for span, finite in zip(rows.spans(), map_in_threads(is_finite, rows.spans()), strict=True):
        if finite:
            continue
        for feature, column in zip(features.tolist(), rows.read(*span, features).T, strict=True):
            name, infinite, missing = repr(tree.feature_name(feature)), np.isinf(column), np.isnan(column)
            if infinite.any():
                raise InputError(
                    f"{what} holds an infinite value, or one too large for {tree.dtype}, in column {name} (row "
                    f"{first + span[0] + infinite.argmax()})."
                )
            if missing.any() and not tree.accepts_missing[feature] and feature in asked:
                raise MissingRejectedError(
                    f"{what} has a missing value in column {name} (row {first + span[0] + missing.argmax()}), "
                    + (FITTED_WITHOUT if tree.columns is None else PIPELINE_FITTED_WITHOUT)
                )


def _class_indices(tree: Tree, labels: NDArray[Any]) -> NDArray[np.int64]:
    classes = tree.classes
    whole = "iub"
    if len(labels) and labels.dtype.kind in whole and classes.dtype.kind in whole:
        lowest, highest = int(classes.min()), int(classes.max())
        within = lowest <= int(labels.min()) and int(labels.max()) <= highest
        is_run = highest - lowest + 1 == len(classes) and bool((classes[1:] > classes[:-1]).all())
        if within and is_run:  # codes but for the start
            start = labels - labels.dtype.type(lowest) if labels.dtype.kind == "u" and lowest > 0 else labels
            codes = start.astype(np.int64, copy=False)
            return codes - lowest if lowest and start is labels else codes  # labels from 2^63 on are no int64
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
    listed = labels.tolist()
    if all(isinstance(label, str) for label in index):
        with suppress(KeyError, TypeError):  # nothing but a text equals a text, so no label needs a look of its own
            return np.array(list(map(index.__getitem__, listed)), np.int64)
    plain = (label.item() if isinstance(label, np.generic) else label for label in listed)
    return np.array([index.get(label, -1) if isinstance(label, (str, int, float)) else -1 for label in plain], np.int64)
