"""The paper's eight class-probability data sets: where each file is found, how it is read, and what must come out.

``published.csv`` lists the files: where each is, the sha256 of its bytes, the shape and the classes that it must give.
Every cell is read as text and encoded by :func:`secateur.datasets.encode`. Class 1 is the one under which the
paper's per-class columns agree with ours. A file is taken from a directory that the user names, from the cache or from
its public home, in this order.
"""

import csv
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from secateur.datasets import Dataset, encode
from secateur.errors import InputError

DATA_VARIABLE = "SECATEUR_DATA"

Table = tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class Published:
    """A published file and what it must hold."""

    file: str
    sha256: str
    url: str | None  # None when a login is needed
    home: str  # where a person finds it
    read: Callable[[Path, list[str]], Table]  # gives column names and rows of text cells, the label last
    names: list[str]  # of the columns, where the file has none; without them they are a01, a02, …
    class_one: str  # the label that is class 1
    class_zero: str
    n_rows: int
    n_features: int
    n_class_one: int


def load_published(name: str, data_dir: str | Path | None) -> Dataset:
    """Load a published data set, from wherever its file is found."""
    return read_published(name, find_file(name, PUBLISHED[name], data_dir))


def read_published(name: str, path: Path) -> Dataset:
    """Read a file whose digest was checked, and check the shape and class count that come out."""
    source = PUBLISHED[name]
    names, rows = source.read(path, list(source.names))
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


def find_file(name: str, source: Published, data_dir: str | Path | None) -> Path:
    """Find a published file whose bytes are right, by default where ``SECATEUR_DATA`` says; download it if need be."""
    named = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE) or None
    if named is not None:
        if not Path(named).is_dir():
            raise InputError(f"The data directory {named} does not exist.")
        path = Path(named) / source.file
        if path.is_file():
            return _check_digest(name, source, path)
    return _download(name, source)


def _check_digest(name: str, source: Published, path: Path) -> Path:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != source.sha256:
        raise InputError(
            f"{path} is not the published file of {name}: its sha256 starts with {digest[:12]}, expected "
            f"{source.sha256[:12]}. Replace it with the file from {source.home}."
        )
    return path


def find_cache() -> Path:
    """Find the directory for what is downloaded."""
    try:
        import pooch
    except ImportError as error:
        raise InputError(
            "The files of data sets are in no directory that you named, and downloading them needs pooch: install "
            f"secateur[lab], or name a directory with --data-dir or {DATA_VARIABLE}."
        ) from error
    return Path(pooch.os_cache("secateur"))


def _download(name: str, source: Published) -> Path:
    cache = find_cache()
    import pooch

    by_hand = (
        f"Get {source.file} from {source.home} and put it into {cache}, or into a directory named by --data-dir or "
        f"{DATA_VARIABLE}."
    )
    cached = cache / source.file
    if cached.is_file():
        return _check_digest(name, source, cached)
    if source.url is None:
        raise InputError(f"The file of {name} cannot be downloaded without a login. {by_hand}")
    try:
        found = pooch.retrieve(
            source.url, known_hash=f"sha256:{source.sha256}", fname=source.file, path=cache, progressbar=False
        )
    except ValueError as error:  # pooch removes what it downloaded when the digest is wrong
        raise InputError(f"The download of {name} is not the published file (wrong sha256). {by_hand}") from error
    except Exception as error:  # whatever the network and its library raise
        raise InputError(f"The file of {name} could not be downloaded ({type(error).__name__}). {by_hand}") from error
    return Path(found)


def _read_text(path: Path, names: list[str], *, has_header: bool = False) -> Table:
    """Read cells between commas or blanks; rows with an unknown cell and a first column ``id`` are left out."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    rows = [[cell.strip() for cell in line.split("," if "," in line else None)] for line in lines]
    if has_header:
        (*names, _), *rows = rows
    names = names or [f"a{number:02d}" for number in range(1, len(rows[0]))]
    first = int(names[0] == "id")
    return names[first:], [row[first:] for row in rows if "?" not in row]


def _read_arff(path: Path, names: list[str]) -> Table:
    """Read the dense part of ARFF: attribute names, then comma-separated rows with quoted cells."""
    rows, in_data = [], False
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


READERS: dict[str, Callable[[Path, list[str]], Table]] = {
    "arff": _read_arff,
    "header": partial(_read_text, has_header=True),
    "text": _read_text,
}


def _list_published() -> dict[str, Published]:
    listed = {}
    text = (files("secateur.lab") / "published.csv").read_text(encoding="utf-8")
    for texts in csv.DictReader(text.splitlines()):
        row: dict[str, Any] = {**texts, "url": texts["url"] or None, "read": READERS[texts["read"]]}
        row["names"] = texts["names"].split()
        row |= {name: int(row[name]) for name in ("n_rows", "n_features", "n_class_one")}
        name = row.pop("name")
        listed[name] = Published(**row)
    return listed


PUBLISHED = _list_published()
"""The eight data sets by name."""
