"""What RuleBench measured: rows, one Parquet file of them, and the stored ones to compare with."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from secateur.errors import InputError
from secateur.lab.pages import Page
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
VERSIONS = ("secateur", "commit", "sources", "python", "scikit-learn", "numpy")
FORMS = {
    **dict.fromkeys(("agreement", "conflict", "macro_dev"), ".2f"),
    **dict.fromkeys(("auc", "brier", "calibration"), ".3f"),
    **{"auc_kept": "+z.3f", "brier_kept": "+z.4f", "calibration_kept": "+z.4f", "accuracy_kept": "+z.1f"},
}
STORED = "rulebench.parquet"


@dataclass(frozen=True)
class Results:
    """The rows of a run, and the versions that made them.

    Attributes
    ----------
    rows : list of dict
        One for each data set, tree, split and method: what was measured, None where it cannot be.
    versions : dict of str to list of str
        Of secateur, its commit, a digest of its sources, Python, scikit-learn and numpy.
    """

    rows: list[dict[str, Any]]
    versions: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def gather(cls, splits: Sequence[dict[str, Any]]) -> Results:
        """Gather the rows of finished splits; of rows of the same method, the last counts."""
        columns = (*KEYS, *WHOLE, *NUMBERS, "failed")
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        versions: dict[str, list[str]] = {}
        for split in splits:
            for name in VERSIONS:
                if split.get(name) not in (None, *versions.setdefault(name, [])):
                    versions[name].append(split[name])
            named = {"dataset": split["dataset"], "tree": split["arm"], "split": split["split"]}
            for row in split["rows"]:
                whole = {column: {**named, **row}.get(column) for column in columns}
                rows[tuple(whole[key] for key in KEYS)] = whole
        return cls(list(rows.values()), versions)

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods, in the order of the rows."""
        return tuple(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rows of what raised, or had no tree."""
        return [row for row in self.rows if row["failed"]]

    def values(self, method: str, metric: str, tree: str) -> dict[tuple[str, int], float]:
        """One number of every data set and split; those without are left out."""
        return {key: value for key, (value, _) in self._find(method, metric, tree).items()}

    def _find(self, method: str, metric: str, tree: str) -> dict[tuple[str, int], tuple[float, int | None]]:
        """The same, each with the edges of its tree."""
        rows = [row for row in self.rows if (row["method"], row["tree"]) == (method, tree)]
        found = {(row["dataset"], row["split"]): (measure(row, metric), row["edges"]) for row in rows}
        return {key: (value, edges) for key, (value, edges) in found.items() if value is not None}

    def compare(self, method: str, other: str, metric: str = "read", tree: str = "cart-6") -> Comparison:
        """Compare two methods in one metric, paired by split; a method that was not run is taken from the stored ones.

        Splits count whose trees have the same number of edges: another release of scikit-learn may fit other trees.

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
            (self if name in self.methods else load_stored())._find(name, metric, tree) for name in (method, other)
        )
        both = [key for key in ours if key in theirs and ours[key][1] == theirs[key][1]]
        if not both:
            raise InputError(f"Expected rows of {method!r} and {other!r} on {tree} trees with {metric}, found none.")
        pairs: dict[str, list[float]] = {}
        for dataset, split in both:
            pairs.setdefault(dataset, []).append(ours[dataset, split][0] - theirs[dataset, split][0])
        return compare_pairs({dataset: np.array(found) for dataset, found in pairs.items()})

    def to_page(self, tree: str = "cart-6") -> Page:
        """Show the means over data sets of what was run on a kind of tree."""
        columns = {"as read %": "read", "lines": "lines", "agrees %": "agreement", "conflict %": "conflict"}
        columns |= {"ΔAUC": "auc_kept", "unchanged %": "unchanged"}
        rows = tuple(
            (method, *(self.show_mean(method, metric, tree) for metric in columns.values()))
            for method in self.methods
            if self.values(method, "lines", tree)
        )
        n_datasets = len({row["dataset"] for row in self.rows if row["tree"] == tree})
        note = f"Means over splits, then over data sets ({n_datasets}). As read: conditions in percent of tree edges."
        return Page(f"RuleBench, {tree} trees", note, ("method", *columns), rows)

    def show_mean(self, method: str, metric: str, tree: str) -> str:
        """Write the mean over splits, then over data sets; a dash where nothing was measured."""
        found = list(by_dataset(self.values(method, metric, tree)).values())
        return f"{np.mean(found):{FORMS.get(metric, '.1f')}}" if found else "–"

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
        empty = dict.fromkeys((*KEYS, *WHOLE, *NUMBERS, "failed"))
        return cls([empty | row for row in table.to_pylist()], json.loads(table.schema.metadata[b"versions"]))


def measure(row: dict[str, Any], metric: str) -> float | None:
    """Take a metric from a row, or make it; None where a part is missing."""
    name = metric.removesuffix("_kept")
    value, other = row["conditions" if metric == "read" else name], None
    if metric == "read":
        other = row["edges"]
    elif name != metric:
        other = row[f"tree_{name}"]
    else:
        return None if value is None else float(value)
    if value is None or other is None:
        return None
    return float(value - other) if metric != "read" else 100 * value / other if other else 100.0


def by_dataset(values: dict[tuple[str, int], float]) -> dict[str, float]:
    """Average over the splits of each data set."""
    found: dict[str, list[float]] = {}
    for (dataset, _), value in values.items():
        found.setdefault(dataset, []).append(value)
    return {dataset: float(np.mean(one)) for dataset, one in found.items()}


@cache
def load_stored() -> Results:
    """Read the stored results of the full run."""
    place = files("secateur.lab") / "stored" / STORED
    if not place.is_file():
        raise InputError("There are no stored results of RuleBench in this installation.")
    return Results.from_parquet(io.BytesIO(place.read_bytes()))


def gather_directory(place: Path) -> Results:
    """Gather every finished split in the output directory of a run, those of peers in it, too."""
    found = sorted(place.rglob("rulebench/*/*/*.json"))
    return Results.gather([json.loads(path.read_text(encoding="utf-8")) for path in found])


if __name__ == "__main__":
    gather_directory(Path(sys.argv[1])).to_parquet(str(files("secateur.lab") / "stored" / STORED))
