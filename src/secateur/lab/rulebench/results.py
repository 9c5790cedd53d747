"""What RuleBench measured: rows, one Parquet file of them, and the stored ones to compare with."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from secateur.errors import InputError, ParameterError, did_you_mean
from secateur.lab.pages import Page
from secateur.lab.rulebench.statistics import Comparison, compare_pairs
from secateur.lab.rulebench.trees import NO_TREE
from secateur.rows.whole_files import write_whole

KEYS = ("dataset", "tree", "split", "method")
WHOLE = (*("leaves", "edges", "tree_conditions", "conditions", "lines", "columns"), "operations")
SCORES = ("accuracy", "auc", "brier", "calibration")
NUMBERS = (
    *("checks", "removed", "agreement", "off", "conflict", "macro_dev", "mean_abs_delta_p", "max_abs_delta_p"),
    *(*SCORES, *(f"tree_{name}" for name in SCORES), "unchanged", "seconds"),
)
COLUMNS = (*KEYS, *WHOLE, *NUMBERS, "failed")
KEPT = {f"{name}_kept": name for name in SCORES}  # differences from the tree's
METRICS = ("read", *WHOLE, *NUMBERS, *KEPT)
MORE_IS_BETTER = ("removed", "agreement", "unchanged", *("accuracy", "auc", "accuracy_kept", "auc_kept"))
DIGITS = {"auc": 4, "brier": 4, "calibration": 4, "mean_abs_delta_p": 4, "max_abs_delta_p": 3, "seconds": 4}
DECIMALS = {name: DIGITS.get(name.removeprefix("tree_"), 2) for name in (*WHOLE, *NUMBERS)}
VERSIONS = ("secateur", "commit", "sources", "python", "scikit-learn", "numpy")
FORMS = {
    **dict.fromkeys(("agreement", "conflict", "macro_dev"), ".2f"),
    **dict.fromkeys(("auc", "brier", "calibration"), ".3f"),
    **{"auc_kept": "+z.3f", "brier_kept": "+z.4f", "calibration_kept": "+z.4f", "accuracy_kept": "+z.1f"},
}
STORED = files("secateur.lab") / "stored" / "rulebench.parquet"


@dataclass(frozen=True)
class Results:
    """The rows of a run, and the versions that made them.

    Attributes
    ----------
    rows : list of dict
        One for each data set, tree, split and method: what was measured, None where it cannot be.
    versions : dict of str to list of str
        Of secateur, its commit, a digest of its sources, Python, scikit-learn and numpy.
    left_out : dict of str to str
        The data sets whose files were not found, and why; a file of results does not keep them.
    """

    rows: list[dict[str, Any]]
    versions: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def gather(cls, splits: Sequence[dict[str, Any]]) -> Results:
        """Gather the rows of finished splits; of rows of the same method, the last counts."""
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        versions: dict[str, list[str]] = {}
        for split in splits:
            for name in VERSIONS:
                if split.get(name) not in (None, *versions.setdefault(name, [])):
                    versions[name].append(split[name])
            named = {"dataset": split["dataset"], "tree": split["arm"], "split": split["split"]}
            for row in split["rows"]:
                whole = dict.fromkeys(COLUMNS) | named | row
                rows[tuple(whole[key] for key in KEYS)] = {name: whole[name] for name in COLUMNS}
        return cls(list(rows.values()), versions)

    def join(self, other: Results) -> Results:
        """Join the rows of two runs; of rows of the same method on the same split, the other's counts."""
        rows = {tuple(row[key] for key in KEYS): row for row in (*self.rows, *other.rows)}
        versions = {name: [*dict.fromkeys(self.versions.get(name, []) + seen)] for name, seen in other.versions.items()}
        return Results(list(rows.values()), self.versions | versions)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods, in the order of the rows."""
        return tuple(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rows of what raised, or had no tree."""
        return [row for row in self.rows if row["failed"]]

    @cached_property
    def _frames(self) -> dict[tuple[str, str], pd.DataFrame]:
        """The rows of each method and kind of tree by data set and split, with the metrics made of two columns."""
        frame = pd.DataFrame(self.rows, columns=list(COLUMNS))
        numbers = frame[[*WHOLE, *NUMBERS]].astype(np.float64).round(DECIMALS)  # as they are stored
        numbers["read"] = (100 * numbers["conditions"] / numbers["edges"]).mask(numbers["edges"] == 0, 100.0)
        for kept, name in KEPT.items():
            numbers[kept] = numbers[name] - numbers[f"tree_{name}"]
        numbers.index = pd.MultiIndex.from_frame(frame[["dataset", "split"]])
        parts = frame.groupby(["method", "tree"], sort=False).indices
        return {(str(method), str(tree)): numbers.iloc[places] for (method, tree), places in parts.items()}

    def values(self, method: str, metric: str, tree: str) -> pd.Series[float]:
        """One number of every data set and split; those without are left out."""
        if metric not in METRICS:
            raise ParameterError(f"There is no metric {metric!r} in RuleBench.{did_you_mean(metric, METRICS)}")
        empty = pd.DataFrame(columns=METRICS, index=pd.MultiIndex.from_arrays([[], []], names=["dataset", "split"]))
        return self._frames.get((method, tree), empty)[metric].dropna()

    def means(self, method: str, metric: str, tree: str) -> dict[str, float]:
        """The mean over splits of each data set."""
        by_dataset = self.values(method, metric, tree).groupby(level="dataset", sort=False)
        return {str(dataset): float(mean) for dataset, mean in by_dataset.mean().items()}

    def compare(self, method: str, other: str | float, metric: str = "read", tree: str = "cart-6") -> Comparison:
        """Compare two methods in one metric, paired by split; a method that was not run is taken from the stored ones.

        Splits count whose trees have the same number of edges: another release of scikit-learn may fit other trees.

        Parameters
        ----------
        method : str
            Name of a method.
        other : str or float
            Name of another, or a bound.
        metric : str, default="read"
            ``read`` is the conditions as they read in percent of the tree's edges; ``auc_kept`` and ``accuracy_kept``
            are differences from the tree's; others are columns of the rows.
        tree : str, default="cart-6"
            The kind of tree.
        """

        def find(name: str, column: str) -> pd.Series[float]:
            found = self if name in self.methods else load_stored()
            if name not in found.methods:
                known = tuple(dict.fromkeys((*self.methods, *found.methods)))
                raise ParameterError(f"There is no method {name!r} in RuleBench.{did_you_mean(name, known)}")
            return found.values(name, column, tree)

        difference = find(method, metric) - (find(other, metric) if isinstance(other, str) else other)
        if isinstance(other, str):
            edges = find(method, "edges") - find(other, "edges")
            difference = difference[~difference.index.isin(edges[edges != 0].index)]
        difference = difference.dropna()
        if difference.empty:
            raise InputError(f"Expected rows of {method!r} and {other!r} on {tree} trees with {metric}, found none.")
        pairs = {str(dataset): found.to_numpy() for dataset, found in difference.groupby(level="dataset", sort=False)}
        return compare_pairs(pairs, smaller_is_better=metric not in MORE_IS_BETTER)

    def to_page(self, tree: str = "cart-6") -> Page:
        """Show the means over data sets of what was run on a kind of tree."""
        columns = {"as read %": "read", "lines": "lines", "agrees %": "agreement", "conflict %": "conflict"}
        columns |= {"ΔAUC": "auc_kept", "unchanged %": "unchanged"}
        if tree == NO_TREE:
            columns = {name: name for name in ("conditions", "lines", "accuracy", "auc")}
        rows = tuple(
            (method, *(self.show_mean(method, metric, tree) for metric in columns.values()))
            for method in self.methods
            if self.means(method, "lines", tree)
        )
        n_datasets = len({row["dataset"] for row in self.rows if row["tree"] == tree})
        note = f"Means over splits, then over data sets ({n_datasets}). As read: conditions in percent of tree edges."
        return Page(f"RuleBench, {tree if tree == NO_TREE else f'{tree} trees'}", note, ("method", *columns), rows)

    def show_mean(self, method: str, metric: str, tree: str) -> str:
        """Write the mean over splits, then over data sets; a dash where nothing was measured."""
        found = list(self.means(method, metric, tree).values())
        return f"{np.mean(found):{FORMS.get(metric, '.1f')}}" if found else "–"

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows, with the versions and seeds in the metadata, whole or not at all."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        arrays: dict[str, Any] = {name: pa.array([row[name] for row in self.rows]) for name in (*KEYS, "failed")}
        for name in (*WHOLE, *NUMBERS):
            cells = [None if row[name] is None else round(row[name], DECIMALS[name]) for row in self.rows]
            if any(cell is not None for cell in cells):
                arrays[name] = pa.array(cells, pa.int64() if name in WHOLE else pa.float32())
        seeds = "split s is drawn, and its tree fitted, with random_state=s"
        table = pa.table(arrays).replace_schema_metadata({"versions": json.dumps(self.versions), "seeds": seeds})
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd", compression_level=19)
        write_whole(Path(path), buffer.getvalue())

    @classmethod
    def from_parquet(cls, path: Any) -> Results:
        """Read the rows of a run back."""
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        empty = dict.fromkeys(COLUMNS)
        return cls([empty | row for row in table.to_pylist()], json.loads(table.schema.metadata[b"versions"]))


@cache
def load_stored() -> Results:
    """Read the stored results of the full run."""
    if not STORED.is_file():
        raise InputError("There are no stored results of RuleBench in this installation.")
    return Results.from_parquet(io.BytesIO(STORED.read_bytes()))


if __name__ == "__main__":  # store every finished split in the output directory of a run, those of peers in it, too
    finished = sorted(Path(sys.argv[1]).rglob("rulebench/*/*/*.json"))
    again = Results.gather([json.loads(path.read_text(encoding="utf-8")) for path in finished])
    load_stored().join(again).to_parquet(str(STORED))
