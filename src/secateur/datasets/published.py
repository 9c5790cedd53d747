"""The paper's eight class-probability data sets: where each file is, how it is read, and what must come out.

Every cell is read as text and encoded by :func:`secateur.datasets.dataset.encode`. Class 1 is the one under which the
paper's per-class columns agree with ours.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.datasets.dataset import Dataset, encode
from secateur.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["PUBLISHED", "Published", "read_published"]

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
OPENML = "https://www.openml.org/data/v1/download"

ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
]
GERMAN_COLUMNS = [
    "checking",
    "duration",
    "credit-history",
    "purpose",
    "amount",
    "savings",
    "employment",
    "installment-rate",
    "personal-status",
    "debtors",
    "residence-since",
    "property",
    "age",
    "other-plans",
    "housing",
    "credits",
    "job",
    "dependents",
    "telephone",
    "foreign-worker",
]
CANCER_COLUMNS = [f"a{number}" for number in range(2, 11)]

Table = tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class Published:
    """A published file and what it must hold.

    Attributes
    ----------
    file, sha256 : str
        File name and digest of its bytes.
    url : str or None
        Where it can be fetched; None when a login is needed.
    home : str
        Where a person finds it.
    read : callable
        From path to column names and rows of text cells, the label last.
    class_one, class_zero : str
        The label that is class 1, and how the other reads.
    n_features, n_rows, n_class_one : int
        The shape and class count that must come out.
    """

    file: str
    sha256: str
    url: str | None
    home: str
    read: Callable[[Path], Table]
    class_one: str
    class_zero: str
    n_rows: int
    n_features: int
    n_class_one: int


def read_published(name: str, path: Path) -> Dataset:
    """Read a file whose digest was checked, and check the shape and class count that come out."""
    source = PUBLISHED[name]
    names, rows = source.read(path)
    cells = np.array(rows)
    y = (cells[:, -1] == source.class_one).astype(np.int64)
    X, feature_names = encode(names, cells[:, :-1])
    found, wanted = (*X.shape, int(y.sum())), (source.n_rows, source.n_features, source.n_class_one)
    if found != wanted:
        raise InputError(
            f"{path} gives {found[0]} rows, {found[1]} features and {found[2]} rows of class 1, but {name} has "
            f"{wanted[0]}, {wanted[1]} and {wanted[2]}."
        )
    return Dataset(name, X, y, feature_names, "class", (source.class_zero, source.class_one))


def _split(path: Path, delimiter: str | None = ",") -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split(delimiter)] for line in lines if line.strip()]


def _known(rows: list[list[str]]) -> list[list[str]]:
    return [row for row in rows if "?" not in row]


def _adult(path: Path) -> Table:
    return ADULT_COLUMNS, _known(_split(path))


def _backache(path: Path) -> Table:
    header, *rows = _split(path)
    return header[:-1], rows


def _cancer(path: Path) -> Table:
    return CANCER_COLUMNS, [row[1:] for row in _known(_split(path))]  # the first column is an id


def _german(path: Path) -> Table:
    return GERMAN_COLUMNS, _split(path, None)


def _unnamed(path: Path) -> Table:
    rows = _split(path)
    return [f"a{number:02d}" for number in range(1, len(rows[0]))], rows


def _arff(path: Path) -> Table:
    """The dense part of ARFF: attribute names, then comma-separated rows with quoted cells."""
    names, rows, in_data = [], [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("%"):
            continue
        word = line.split(None, 1)[0].lower()
        if word == "@attribute":
            names.append(line.split()[1].strip("'\""))
        elif word == "@data":
            in_data = True
        elif in_data:
            rows.append([cell.strip() for cell in next(csv.reader([line], quotechar="'", skipinitialspace=True))])
    return names[:-1], rows


PUBLISHED = {
    "adult": Published(
        file="adult.data",
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        url=f"{UCI}/adult/adult.data",
        home="UCI data set 2 (Adult)",
        read=_adult,
        class_one="<=50K",
        class_zero=">50K",
        n_rows=30_162,
        n_features=104,
        n_class_one=22_654,
    ),
    "backache": Published(
        file="backache.csv",
        sha256="eeead09cd7d0c4d2ec603df48d62d141ac36b0fd1df726b87d33409605ad2df4",
        url=None,
        home="Kaggle, Lower Back Pain Symptoms Dataset (310 rows)",
        read=_backache,
        class_one="Abnormal",
        class_zero="Normal",
        n_rows=310,
        n_features=12,
        n_class_one=210,
    ),
    "cancer": Published(
        file="cancer.data",
        sha256="402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64",
        url=f"{UCI}/breast-cancer-wisconsin/breast-cancer-wisconsin.data",
        home="UCI data set 15 (Breast Cancer Wisconsin, Original)",
        read=_cancer,
        class_one="4",
        class_zero="2",
        n_rows=683,
        n_features=9,
        n_class_one=239,
    ),
    "EEG": Published(
        file="EEG.arff",
        sha256="693c689be416df0b487b45b5b58a44896fbcd0be72b4ef161d5cc34e2c66c928",
        url=f"{OPENML}/1587924/eeg-eye-state.arff",
        home="OpenML data set 1471 (eeg-eye-state)",
        read=_arff,
        class_one="1",
        class_zero="0",
        n_rows=14_980,
        n_features=14,
        n_class_one=6_723,
    ),
    "german": Published(
        file="german.data",
        sha256="b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
        url=f"{UCI}/statlog/german/german.data",
        home="UCI data set 144 (Statlog German Credit)",
        read=_german,
        class_one="2",
        class_zero="1",
        n_rows=1_000,
        n_features=61,
        n_class_one=300,
    ),
    "heart-h": Published(
        file="heart-h.arff",
        sha256="5d90c99b417dedec985b9a90df7d2f01ec1c49dea418fa613efe7f3ee491a291",
        url=f"{OPENML}/51/heart-h.arff",
        home="OpenML data set 51 (heart-h)",
        read=_arff,
        class_one=">50_1",
        class_zero="<50",
        n_rows=294,
        n_features=286,
        n_class_one=106,
    ),
    "ionosphere": Published(
        file="ionosphere.data",
        sha256="46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd",
        url=f"{UCI}/ionosphere/ionosphere.data",
        home="UCI data set 52 (Ionosphere)",
        read=_unnamed,
        class_one="b",
        class_zero="g",
        n_rows=351,
        n_features=34,
        n_class_one=126,
    ),
    "spambase": Published(
        file="spambase.data",
        sha256="b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
        url=f"{UCI}/spambase/spambase.data",
        home="UCI data set 94 (Spambase)",
        read=_unnamed,
        class_one="1",
        class_zero="0",
        n_rows=4_601,
        n_features=57,
        n_class_one=1_813,
    ),
}
"""The eight data sets by name."""
