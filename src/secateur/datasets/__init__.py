"""The paper's ten data sets: two embedded tables, and eight published files that the lab finds and reads."""

from pathlib import Path

from secateur.datasets.dataset import TABLES, Dataset, load_table
from secateur.errors import ParameterError, did_you_mean

__all__ = ["DATASETS", "Dataset", "load"]

PUBLISHED = ("adult", "backache", "cancer", "EEG", "german", "heart-h", "ionosphere", "spambase")
DATASETS = (*TABLES, *PUBLISHED)
"""Names of all data sets."""


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
    if name in TABLES:
        return load_table(name)
    if name not in PUBLISHED:
        hint = did_you_mean(name, DATASETS)
        raise ParameterError(f"There is no data set {name!r}; the data sets are {', '.join(DATASETS)}.{hint}")
    from secateur.lab.published import load_published

    return load_published(name, data_dir)
