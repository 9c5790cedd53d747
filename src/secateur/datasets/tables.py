"""The paper's two deterministic decision tables, as full one-hot columns.

Weather: Quinlan's play table, 14 cases. human-id: eight persons described by height, hair and eyes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from secateur.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DATASETS", "Dataset", "load"]

WEATHER = """
Outlook  Temperature Humidity Windy Play
sunny    hot         high     false no
sunny    hot         high     true  no
overcast hot         high     false yes
rainy    mild        high     false yes
rainy    cool        normal   false yes
rainy    cool        normal   true  no
overcast cool        normal   true  yes
sunny    mild        high     false no
sunny    cool        normal   false yes
rainy    mild        normal   false yes
sunny    mild        normal   true  yes
overcast mild        high     true  yes
overcast hot         normal   false yes
rainy    mild        high     true  no
"""

HUMAN_ID = """
Height Hair  Eyes  Class
short  blond blue  +
tall   blond brown -
tall   red   blue  +
short  dark  blue  -
tall   dark  blue  -
tall   blond blue  +
tall   dark  brown -
short  blond brown -
"""

DATASETS = {"weather": WEATHER, "human-id": HUMAN_ID}


@dataclass(frozen=True)
class Dataset:
    """A small table, ready for a tree.

    Attributes
    ----------
    name : str
    X : ndarray of float32, shape (n_rows, n_features)
        One 0/1 column for each level of each attribute: attributes as they come, levels in alphabetical order.
    y : ndarray of str, shape (n_rows,)
    feature_names : tuple of str
        ``attribute=level`` for each column.
    target_name : str
    cells : tuple of tuple of str
        The table as it reads, without the target.
    """

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.str_]
    feature_names: tuple[str, ...]
    target_name: str
    cells: tuple[tuple[str, ...], ...] = field(repr=False)


def load(name: str) -> Dataset:
    """Load an embedded table.

    Parameters
    ----------
    name : {"weather", "human-id"}

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load("weather").X.shape
    (14, 10)
    >>> load("human-id").feature_names[:3]
    ('Height=short', 'Height=tall', 'Hair=blond')
    """
    if name not in DATASETS:
        raise ParameterError(f"There is no data set {name!r}; the data sets are {', '.join(DATASETS)}.")
    header, *lines = (line.split() for line in DATASETS[name].strip().splitlines())
    cells = np.array(lines)
    columns, names = [], []
    for attribute, values in zip(header[:-1], cells.T[:-1], strict=True):
        for level in sorted(set(values.tolist())):
            columns.append(values == level)
            names.append(f"{attribute}={level}")
    return Dataset(
        name=name,
        X=np.column_stack(columns).astype(np.float32),
        y=cells[:, -1],
        feature_names=tuple(names),
        target_name=header[-1],
        cells=tuple(tuple(row) for row in cells[:, :-1].tolist()),
    )
