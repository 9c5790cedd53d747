"""The paper's runtime study: cost against leaves at 2,048 rows, and against rows at 32 leaves.

Three tree seeds, one warm-up, three timed repetitions, methods in rotating order; medians and quartiles. Row samples
are nested, and the smallest keeps every leaf of the source tree.
"""

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.lab.pages import load_pyplot, write_figures
from secateur.lab.protocol import METHODS
from secateur.methods import find_method

LEAF_TARGETS = (4, 8, 16, 32, 64, 128)
FIXED_ROWS = 2_048
ROW_COUNTS = (4_096, 16_384, 65_536, 262_144, 1_048_576)
FIXED_LEAVES = 32
SEEDS = (0, 1, 2)
REPETITIONS = 3
N_FEATURES = 20
# (panel, size, slower, faster) -> the paper's speed-up.
PAPER_RATIOS = {
    ("leaves", 128, "Izza", "M2-P"): 23.0,
    ("leaves", 128, "Quinlan", "M1-P"): 944.0,
    ("rows", 1_048_576, "Quinlan", "M1-P"): 239.0,
    ("rows", 1_048_576, "Izza", "M2-P"): 4.9,
}


@dataclass(frozen=True)
class Timing:
    """Seconds of one procedure at one size: every call, three repetitions of the first seed first."""

    panel: str
    size: int
    method: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of all calls."""
        return float(np.median(self.seconds))

    @property
    def quartiles(self) -> tuple[float, float]:
        """The lower and the upper quartile of all calls."""
        lower, upper = np.quantile(self.seconds, (0.25, 0.75))
        return float(lower), float(upper)


def run_runtime(progress: Callable[[str], None], *, row_counts: tuple[int, ...] = ROW_COUNTS) -> list[Timing]:
    """Time both panels."""
    timings = []
    for leaves in LEAF_TARGETS:
        problems = [make_problem(seed, leaves, FIXED_ROWS, FIXED_ROWS) for seed in SEEDS]
        timings += _measure("leaves", leaves, problems)
        progress(f"{leaves} leaves")
    sources = [make_problem(seed, FIXED_LEAVES, ROW_COUNTS[0], max(row_counts)) for seed in SEEDS]
    for n_rows in row_counts:
        timings += _measure("rows", n_rows, [(model, X[:n_rows], y[:n_rows]) for model, X, y in sources])
        progress(f"{n_rows} rows")
    return timings


def ratios(timings: list[Timing]) -> list[tuple[str, float, float]]:
    """List the paper's four speed-ups: what, ours, the paper's."""
    seconds = {(t.panel, t.size, t.method): t.median for t in timings}
    found = []
    for (panel, size, slow, fast), theirs in PAPER_RATIOS.items():
        if (panel, size, slow) in seconds:
            ours = seconds[panel, size, slow] / seconds[panel, size, fast]
            found.append((f"{fast} against {slow}, {size:,} {panel}", ours, theirs))
    return found


def draw_runtime(timings: list[Timing], directory: Path, kinds: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Draw the two-panel figure, as SVG and PNG."""
    figure, panels = load_pyplot().subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, panel in zip(panels, ("leaves", "rows"), strict=True):
        for method, marker in zip(METHODS, "osD^", strict=True):
            mine = [t for t in timings if (t.panel, t.method) == (panel, method)]
            sizes = [t.size for t in mine]
            axis.plot(sizes, [t.median for t in mine], marker=marker, label=method)
            axis.fill_between(sizes, *zip(*(t.quartiles for t in mine), strict=True), alpha=0.2)
        axis.set(xscale="log", yscale="log", ylabel="seconds")
    panels[0].set(title=f"{FIXED_ROWS:,} rows", xlabel="leaf rules")
    panels[1].set(title=f"{FIXED_LEAVES} leaves", xlabel="training rows")
    panels[0].legend()
    return write_figures(directory, "runtime", figure, kinds)


def make_problem(
    seed: int, n_leaves: int, n_fitted: int, n_rows: int
) -> tuple[DecisionTreeClassifier, NDArray[np.float32], NDArray[np.int64]]:
    """Make rows with interactions and noise, and fit a tree of that many leaves to the first of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] - X[:, 3] * X[:, 4] + 0.5 * X[:, 5]
    y = (score + 0.5 * rng.normal(size=n_rows) > 0).astype(np.int64)
    model = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=seed).fit(X[:n_fitted], y[:n_fitted])
    return model, X, y


def _measure(panel: str, size: int, problems: list[tuple[Any, Any, Any]]) -> list[Timing]:
    seconds: dict[str, list[float]] = {method: [] for method in METHODS}
    for model, X, y in problems:
        for repetition in range(REPETITIONS + 1):
            shift = repetition % len(METHODS)
            for method in (*METHODS[shift:], *METHODS[:shift]):
                rows = () if find_method(method).is_exact else (X, y)
                began = time.perf_counter()
                secateur.simplify(model, *rows, method=method, each_leaf=True)
                if repetition > 0:  # the first is the warm-up
                    seconds[method].append(time.perf_counter() - began)
    return [Timing(panel, size, method, tuple(values)) for method, values in seconds.items()]


def describe_machine() -> dict[str, Any]:
    """Name what the seconds depend on."""
    versions = {module.__name__: module.__version__ for module in (secateur, sklearn, np)}
    return {"cores": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version(), **versions}
