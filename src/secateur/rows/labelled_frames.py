"""Rows in memory from a table: a frame that holds its labels too, or a table that is read whole."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters import from_model
from secateur.adapters.pipelines import is_pipeline
from secateur.errors import InputError, did_you_mean, shorten
from secateur.frames import frame_columns
from secateur.rows.labels import to_label_types
from secateur.rows.opening import is_frame, is_stream, open_source
from secateur.rows.table_columns import find_beside, find_texts, own_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rows.source import Source

__all__ = ["hold_rows", "load_table", "split_frame"]

# Bytes of a table that are taken into memory where a method needs its rows at once.
MOST_BYTES = 1 << 30


def split_frame(model: Any, frame: Any, y: str, sample_weight: Any) -> tuple[Any, Any, Any]:
    """The rows, the labels and the weights of a frame that holds them all.

    Parameters
    ----------
    model : fitted tree, pipeline, forest or Tree
    frame : data frame
    y : str
        The column of the labels.
    sample_weight : str, array-like or None
        The column of the weights, or the weights.

    Returns
    -------
    X : data frame
        The columns that the model was fitted on, in their order; without names all others than labels and weights.
    y : ndarray of labels, shape (n_rows,)
    sample_weight : array-like or None
    """
    import narwhals as nw

    if is_pipeline(model) and type(frame).__module__.startswith("pyarrow"):
        frame = frame.to_pandas()  # the steps of a pipeline take no Arrow
    names = frame_columns(frame) or []
    weight = sample_weight if isinstance(sample_weight, str) else None
    for column, what in ((y, "y"), (weight, "sample_weight")):
        if column is not None and column not in names:
            hint = did_you_mean(column, names) or f" Its columns are {shorten(names)}."
            raise InputError(f"{what} names column {column!r}, which X does not have.{hint}")
    own = own_columns(model)
    absent = [name for name in own or () if name not in names]
    if absent:
        raise InputError(f"X has no column {shorten(absent)}, which the model was fitted on.")
    rest = [name for name in names if name not in (y, weight)] if own is None else own
    wrapped = nw.from_native(frame, eager_only=True)
    labels = _read_labels(model, wrapped[y])
    return wrapped[rest].to_native(), labels, wrapped[weight].to_numpy() if weight else sample_weight


def hold_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Rows, labels and weights in memory, from whatever holds them; what is there already is returned as it is."""
    if is_stream(X):
        with open_source(X, partial(find_texts, model, y)) as source:
            return load_table(model, source, y, sample_weight, "All rows are needed at once")
    if isinstance(y, str) and is_frame(X):
        return split_frame(model, X, y, sample_weight)
    return X, y, sample_weight


def _read_labels(model: Any, column: Any) -> NDArray[Any]:
    classes = getattr(model, "classes_", None)
    classes = from_model(model).classes if classes is None else np.asarray(classes)
    if column.dtype.is_integer() and classes.dtype.kind in "iu":
        numbers: NDArray[Any] = column.to_numpy()
        return numbers
    labels = np.empty(len(column), dtype=object)
    labels[:] = column.to_list()
    return to_label_types(labels, classes.tolist())


def load_table(model: Any, source: Source, y: Any, weight: Any, why: str) -> tuple[Any, Any, Any]:
    """Take the columns of a model, labels and weights of a table into memory, if they are not too many.

    Parameters
    ----------
    model : fitted tree, pipeline, forest or Tree
    source : Source
    y : str
    weight : str or None
    why : str
        Who needs the rows at once, for the sentence that refuses.

    Returns
    -------
    X : data frame
    y : ndarray of labels, shape (n_rows,)
    sample_weight : ndarray or None
    """
    import pyarrow as pa

    beside = [find_beside(source, y, "y")] + ([] if weight is None else [find_beside(source, weight, "sample_weight")])
    own = own_columns(model)
    names = source.schema.names if own is None else [source.find(name, "the model was fitted on") for name in own]
    columns = list(dict.fromkeys([*names, *beside]))
    if source.n_rows is not None:
        _check_size(source.n_rows * len(columns) * 8, f"{source.n_rows:,} rows of {len(columns)} columns", source, why)
    batches, n_bytes, n_rows = [], 0, 0
    for batch in source.read(columns):
        batches.append(batch)
        n_bytes, n_rows = n_bytes + batch.nbytes, n_rows + batch.num_rows
        _check_size(n_bytes, f"more than {n_rows:,} rows of {len(columns)} columns", source, why)
    if n_rows == 0:
        raise source.refuse_empty()
    table = pa.Table.from_batches(batches)
    return split_frame(model, table, y, weight)


def _check_size(n_bytes: int, size: str, source: Source, why: str) -> None:
    if n_bytes > MOST_BYTES:
        raise InputError(
            f"{why}, but {source.name} has {size}, {n_bytes / 2**30:.1f} GiB, and at most {MOST_BYTES / 2**30:.0f} GiB "
            "are taken into memory. Pass rows in memory, or use a method that a summary serves, such as 'layered'."
        )
