"""The paper's ten data sets: two embedded tables, and eight published files that the lab finds and reads.

Weather: Quinlan's play table, 14 cases. human-id: eight persons described by height, hair and eyes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ParameterError, did_you_mean

__all__ = ["DATASETS", "Dataset", "load"]

TABLES = {
    name: (files("secateur.datasets") / f"{name}.txt").read_text(encoding="utf-8") for name in ("weather", "human-id")
}
PUBLISHED = ("adult", "backache", "cancer", "EEG", "german", "heart-h", "ionosphere", "spambase")
DATASETS = (*TABLES, *PUBLISHED)
"""Names of all data sets."""


@dataclass(frozen=True)
class Dataset:
    """A table, ready for a tree.

    Attributes
    ----------
    name : str
    X : ndarray of float32, shape (n_rows, n_features)
        Numeric columns first, then one 0/1 column for each level of each other attribute, levels in alphabetical order.
    y : ndarray, shape (n_rows,)
        Labels; for the published data sets 0 and 1, in the paper's coding.
    feature_names : tuple of str
        A numeric column's own name, ``attribute=level`` for a 0/1 column.
    target_name : str
    class_names : tuple of str
        How the classes read, in sorted order of the labels.
    """

    name: str
    X: NDArray[np.float32] = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    target_name: str
    class_names: tuple[str, ...]


def load(name: str, data_dir: str | Path | None = None) -> Dataset:
    """Load a data set of the paper.

    ``weather`` and ``human-id`` are part of the package. The others are taken from a directory, from the cache or from
    their public home, in this order; their bytes, shapes and class counts are checked.

    Parameters
    ----------
    name : str
        A name in ``DATASETS``.
    data_dir : str or Path, default=None
        A directory that holds the published files; by default the one that the environment variable ``SECATEUR_DATA``
        names, if any.

    Examples
    --------
    >>> load("weather").X.shape
    (14, 10)
    >>> load("human-id").feature_names[:3]
    ('Height=short', 'Height=tall', 'Hair=blond')
    """
    if name in TABLES:
        return load_table(name)
    if name not in PUBLISHED:
        hint = did_you_mean(name, DATASETS)
        raise ParameterError(f"There is no data set {name!r}; the data sets are {', '.join(DATASETS)}.{hint}")
    from secateur.lab.published import load_published

    return load_published(name, data_dir)


def encode(names: Sequence[str], cells: NDArray[np.str_]) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """Turn texts into numbers: a column of numbers stays one, every other becomes full one-hot columns.

    Examples
    --------
    >>> X, names = encode(["age", "eyes"], np.array([["30", "blue"], ["41", "?"]]))
    >>> names
    ('age', 'eyes=?', 'eyes=blue')
    >>> X.tolist()
    [[30.0, 0.0, 1.0], [41.0, 1.0, 0.0]]
    """
    numeric: list[NDArray[np.float32]] = []
    indicators: list[NDArray[np.float32]] = []
    numeric_names, indicator_names = [], []
    for name, column in zip(names, cells.T, strict=True):
        try:
            numeric.append(column.astype(np.float64).astype(np.float32))
            numeric_names.append(name)
        except ValueError:
            for level in np.unique(column):
                indicators.append((column == level).astype(np.float32))
                indicator_names.append(f"{name}={level}")
    return np.column_stack([*numeric, *indicators]), (*numeric_names, *indicator_names)


def load_table(name: str) -> Dataset:
    """Load an embedded table; its labels are texts."""
    header, *lines = (line.split() for line in TABLES[name].strip().splitlines())
    cells = np.array(lines)
    X, names = encode(header[:-1], cells[:, :-1])
    labels = cells[:, -1]
    return Dataset(name, X, labels, names, header[-1], tuple(np.unique(labels).tolist()))
