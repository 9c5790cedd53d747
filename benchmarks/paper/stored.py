"""The results that the package carries: every split of the paper's experiments as we ran them.

``python -m benchmarks.paper.stored DIRECTORY`` takes them from the output directory of a finished run. What is in
``secateur/lab/expected`` was typed from the paper; nothing in ``secateur/lab/stored`` was typed.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from secateur.errors import InputError
from secateur.lab.protocol import DATASETS, N_SPLITS
from secateur.lab.summary import STORED
from secateur.rows.whole_files import write_whole

ARMS = ("cart", "optimal")
OWN_ARMS = {"te2rules": ("cart",), "sparse": ("streed", "contree")}  # TE2Rules takes scikit-learn's trees
STUDIES = ("splits", "beyond", "lists", "te2rules", "readings", "sparse")
COUNTED = ("runtime", "operations", "deterministic_states", "many_classes")
PART_STUDIES = ("sparse",)  # each data set has the splits that there was time for
DIGITS = 9  # kept of every number
VERSIONS = ("secateur", "scikit-learn", "te2rules", "pystreed", "pycontree")


@cache
def _load(study: str) -> dict[str, Any]:
    place = STORED / f"{study}.json.gz"
    if not place.is_file():
        raise InputError(f"Stored results of {study} are in a clone of the repository only; run the study again.")
    found: dict[str, Any] = json.loads(gzip.decompress(place.read_bytes()))
    return found


def load_versions(study: str) -> dict[str, str]:
    """Tell which versions of secateur, scikit-learn and, where it was asked, TE2Rules a study was run with."""
    return {name: _load(study)[name] for name in VERSIONS if name in _load(study)}


def load_study(study: str, arm: str) -> list[dict[str, Any]]:
    """List the splits of an arm in a study, as a run gives them."""
    columns = _load(study)["columns"]
    return [
        {
            "dataset": dataset,
            "split": number,
            "n_rules": split["n_rules"],
            "rows": [dict(zip(columns, row, strict=True)) for row in split["rows"]],
        }
        for dataset, splits in _load(study)["arms"][arm].items()
        for number, split in enumerate(splits)
    ]


def load_table(arm: str) -> list[dict[str, Any]]:
    """Read the means and standard deviations over the splits of the paper's four procedures."""
    with (STORED / f"{arm}_by_dataset.csv").open(encoding="utf-8") as file:
        rows: list[dict[str, Any]] = pd.read_csv(file, keep_default_na=False).to_dict("records")
    return rows


def store_run(output: Path, stored: Path) -> list[str]:
    """Take the splits that all data sets of an arm have from the output of a run; of proved trees, all there are."""
    taken = []
    for study in STUDIES:
        if (output / study).is_dir():
            content = json.dumps(_pack(output / study)).encode()
            write_whole(stored / f"{study}.json.gz", gzip.compress(content, mtime=0))
            taken.append(study)
    for name in (*(f"{arm}_by_dataset.csv" for arm in ARMS), *(f"{one}.json" for one in COUNTED), "regression.csv"):
        if (output / name).is_file():
            write_whole(stored / name, (output / name).read_bytes())
            taken.append(name)
    return taken


def _pack(directory: Path) -> dict[str, Any]:
    """Put all splits of a study into one object."""
    arms: dict[str, dict[str, list[dict[str, Any]]]] = {}
    columns: list[str] = []
    versions: dict[str, str] = {}
    for arm in OWN_ARMS.get(directory.name, ARMS):
        finished = {dataset: _count_finished(directory / arm / dataset) for dataset in DATASETS}
        if directory.name in PART_STUDIES:
            finished = {dataset: number for dataset, number in finished.items() if number}
        elif min(finished.values()) == 0:
            raise InputError(f"Expected finished splits of all data sets in {directory / arm}. Run the study first.")
        else:
            finished = dict.fromkeys(finished, min(finished.values()))
        arms[arm] = {dataset: [] for dataset in finished}
        for place, n_splits in ((directory / arm / dataset, number) for dataset, number in finished.items()):
            for number in range(n_splits):
                split = json.loads((place / f"{number:02d}.json").read_text(encoding="utf-8"))
                columns = columns or list(split["rows"][0])
                versions |= {name: split[name] for name in VERSIONS if name in split}
                rows = [[_round(row[column]) for column in columns] for row in split["rows"]]
                arms[arm][place.name].append({"n_rules": split["n_rules"], "rows": rows})
    return {**versions, "columns": columns, "arms": arms}


def _count_finished(place: Path) -> int:
    """Count the splits 0, 1, … up to the first that is missing."""
    return next((n for n in range(N_SPLITS) if not (place / f"{n:02d}.json").is_file()), N_SPLITS)


def _round(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) and math.isfinite(value) else value


if __name__ == "__main__":
    print("Stored:", ", ".join(store_run(Path(sys.argv[1]), Path(str(STORED)))))
