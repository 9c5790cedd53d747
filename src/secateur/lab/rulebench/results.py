"""What RuleBench measured: rows, one Parquet file of them, and the stored ones to compare with."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from secateur.errors import InputError
from secateur.lab.pages import Page
from secateur.lab.protocol import PACKAGE
from secateur.lab.rulebench.statistics import Comparison, compare_pairs
from secateur.rows.whole_files import write_whole

KEYS = ("dataset", "tree", "split", "method")
WHOLE = (*("leaves", "edges", "tree_conditions", "conditions", "lines", "columns"), "operations")
SCORES = ("accuracy", "auc", "brier", "calibration")
NUMBERS = (
    *("checks", "removed", "agreement", "off", "conflict", "macro_dev", "mean_abs_delta_p", "max_abs_delta_p"),
    *(*SCORES, *(f"tree_{name}" for name in SCORES), "unchanged", "seconds"),
)
DIGITS = {"auc": 4, "brier": 4, "calibration": 4, "mean_abs_delta_p": 4, "max_abs_delta_p": 3, "seconds": 4}
VERSIONS = ("secateur", "sources", "scikit-learn", "numpy", "rulebench")
STORED = "results.parquet"


@dataclass(frozen=True)
class Results:
    """The rows of a run, and the versions that made them.

    Attributes
    ----------
    rows : list of dict
        One for each data set, tree, split and method: what was measured, None where it cannot be.
    versions : dict
        Of secateur, its sources, scikit-learn and numpy.
    """

    rows: list[dict[str, Any]]
    versions: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def gather(cls, splits: Sequence[dict[str, Any]]) -> Results:
        """Gather the rows of finished splits."""
        columns = (*KEYS, *WHOLE, *NUMBERS, "failed")
        rows, versions = [], {}
        for split in splits:
            versions |= {name: split[name] for name in VERSIONS if name in split}
            named = {"dataset": split["dataset"], "tree": split["arm"], "split": split["split"]}
            for row in split["rows"]:
                rows.append({column: {**named, **row}.get(column) for column in columns})
        return cls(rows, versions | _find_commit())

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods, in the order of the rows."""
        return tuple(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rows of what raised, or had no tree."""
        return [row for row in self.rows if row["failed"]]

    def of_tree(self, tree: str) -> Results:
        """Keep the rows of one kind of tree."""
        return Results([row for row in self.rows if row["tree"] == tree], self.versions)

    def values(self, method: str, metric: str, tree: str) -> dict[tuple[str, int], float]:
        """One number of every data set and split; those without are left out."""
        found = {}
        for row in self.rows:
            if (row["method"], row["tree"]) == (method, tree):
                value = measure(row, metric)
                if value is not None:
                    found[row["dataset"], row["split"]] = value
        return found

    def compare(self, method: str, other: str, metric: str = "read", tree: str = "cart-6") -> Comparison:
        """Compare two methods in one metric, paired by split; a method that was not run is taken from the stored ones.

        Parameters
        ----------
        method, other : str
            Names of methods.
        metric : str, default="read"
            ``read`` is the conditions as they read in percent of the tree's edges; ``auc_kept`` and ``accuracy_kept``
            are differences from the tree's; others are columns of the rows.
        tree : str, default="cart-6"
            The kind of tree.

        Returns
        -------
        Comparison
        """
        ours, theirs = (
            (self if name in self.methods else load_stored()).values(name, metric, tree) for name in (method, other)
        )
        both = [key for key in ours if key in theirs]
        if not both:
            raise InputError(f"Expected rows of {method!r} and {other!r} on {tree} trees with {metric}, found none.")
        pairs: dict[str, list[float]] = {}
        for dataset, split in both:
            pairs.setdefault(dataset, []).append(ours[dataset, split] - theirs[dataset, split])
        return compare_pairs({dataset: np.array(found) for dataset, found in pairs.items()})

    def to_page(self, tree: str = "cart-6") -> Page:
        """Show the means over data sets of what was run on a kind of tree."""
        columns = {"as read %": "read", "lines": "lines", "agreement %": "agreement", "conflict %": "conflict"}
        columns |= {"ΔAUC": "auc_kept", "accuracy %": "accuracy", "unchanged %": "unchanged", "seconds": "seconds"}
        rows = []
        for method in self.methods:
            found = [by_dataset(self.values(method, metric, tree)) for metric in columns.values()]
            if found[1]:
                shown = (f"{np.mean(list(one.values())):.4g}" if one else "–" for one in found)
                rows.append((method, str(len(found[1])), *shown))
        note = "means over splits, then over data sets; as read: conditions in percent of the tree's edges"
        return Page(f"RuleBench, {tree} trees", note, ("method", "data sets", *columns), tuple(rows))

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows, with the versions and seeds in the metadata, whole or not at all."""
        write_whole(Path(path), self._pack())

    def _pack(self) -> bytes:
        import pyarrow as pa
        import pyarrow.parquet as pq

        def is_used(name: str) -> bool:
            return any(row[name] is not None for row in self.rows)

        arrays: dict[str, Any] = {name: pa.array([row[name] for row in self.rows]) for name in (*KEYS, "failed")}
        for name in (*WHOLE, *NUMBERS):
            if is_used(name):
                kind = pa.int32() if name in WHOLE else pa.float32()
                digits = DIGITS.get(name.removeprefix("tree_"), 2)
                cells = [None if row[name] is None else round(row[name], digits) for row in self.rows]
                arrays[name] = pa.array(cells, kind)
        seeds = "split s is drawn, and its tree fitted, with random_state=s"
        told = {"versions": json.dumps(self.versions), "seeds": seeds}
        table = pa.table(arrays).replace_schema_metadata(told)
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd", compression_level=19)
        return buffer.getvalue()

    @classmethod
    def from_parquet(cls, path: Any) -> Results:
        """Read the rows of a run back."""
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        columns = (*KEYS, *WHOLE, *NUMBERS, "failed")
        read = {name: table[name].to_pylist() if name in table.column_names else None for name in columns}
        rows = [{name: None if read[name] is None else read[name][n] for name in columns} for n in range(len(table))]
        return cls(rows, json.loads(table.schema.metadata[b"versions"]))


def _find_commit() -> dict[str, str]:
    """Name the commit of the sources, where they are a checkout."""
    ran = subprocess.run(["git", "-C", str(PACKAGE), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {"commit": ran.stdout.strip()[:12]} if ran.returncode == 0 else {}


def measure(row: dict[str, Any], metric: str) -> float | None:
    """Take a metric from a row, or make it; None where a part is missing."""
    parts = {
        "read": ("conditions", "edges", lambda a, b: 100 * a / b if b else 100.0),
        "auc_kept": ("auc", "tree_auc", lambda a, b: a - b),
        "brier_kept": ("brier", "tree_brier", lambda a, b: a - b),
        "calibration_kept": ("calibration", "tree_calibration", lambda a, b: a - b),
        "accuracy_kept": ("accuracy", "tree_accuracy", lambda a, b: a - b),
    }
    if metric not in parts:
        return None if row[metric] is None else float(row[metric])
    first, second, make = parts[metric]
    return None if row[first] is None or row[second] is None else float(make(row[first], row[second]))


def by_dataset(values: dict[tuple[str, int], float]) -> dict[str, float]:
    """Average over the splits of each data set."""
    found: dict[str, list[float]] = {}
    for (dataset, _), value in values.items():
        found.setdefault(dataset, []).append(value)
    return {dataset: float(np.mean(one)) for dataset, one in found.items()}


@cache
def load_stored() -> Results:
    """Read the stored results of the full run."""
    place = files("secateur.lab.rulebench") / STORED
    if not place.is_file():
        raise InputError("There are no stored results of RuleBench in this installation.")
    return Results.from_parquet(io.BytesIO(place.read_bytes()))
