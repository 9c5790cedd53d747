"""Run an arm over data sets and splits, in parallel, with progress, reusing what is finished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from joblib import Parallel, delayed

from secateur.datasets import load
from secateur.paper.protocol import PAPER
from secateur.paper.store import load_split, save_split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from secateur.datasets import Dataset
    from secateur.paper.protocol import Arm, Study

__all__ = ["run_arm"]


def run_arm(
    arm: Arm,
    datasets: Sequence[str],
    n_splits: int,
    output: Path,
    *,
    n_jobs: int,
    data_dir: str | None,
    progress: Callable[[str], None],
    study: Study = PAPER,
) -> list[dict[str, Any]]:
    """Run all splits of an arm in a study; call ``progress`` with the data set's name after each."""
    results = []
    todo: list[tuple[Dataset, int]] = []
    for name in datasets:
        missing = []
        for split in range(n_splits):
            found = load_split(output, study, arm, name, split)
            if found is None:
                missing.append(split)
            else:
                results.append(found)
                progress(name)
        if missing:
            data = load(name, data_dir)
            todo += [(data, split) for split in missing]
    run = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for result in run(delayed(_run_and_save)(study, arm, data, split, output) for data, split in todo):
        results.append(result)
        progress(result["dataset"])
    return sorted(results, key=lambda result: (datasets.index(result["dataset"]), result["split"]))


def _run_and_save(study: Study, arm: Arm, data: Dataset, split: int, output: Path) -> dict[str, Any]:
    return save_split(output, study, arm, data.name, split, study.measure(arm, data, split))
