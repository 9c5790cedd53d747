"""Run an arm over data sets and splits, in parallel, with progress, reusing what is finished.

A finished split is a file of its own, written whole or not at all.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from secateur.datasets import Dataset
from secateur.errors import InputError
from secateur.lab.protocol import PAPER, Arm, Study
from secateur.rows.whole_files import write_whole


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
    left_out: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Run all splits of an arm in a study; data sets that cannot be loaded go to ``left_out``, with why, if given."""
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
        try:
            data = study.load(name, data_dir) if missing else None
        except InputError as error:
            if left_out is None:
                raise
            left_out[name] = str(error)
        else:
            todo += [(data, split) for split in missing if data is not None]
    run = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for result in run(delayed(_run_and_save)(study, arm, data, split, output) for data, split in todo):
        results.append(result)
        progress(result["dataset"])
    return sorted(results, key=lambda result: (datasets.index(result["dataset"]), result["split"]))


def _run_and_save(study: Study, arm: Arm, data: Dataset, split: int, output: Path) -> dict[str, Any]:
    return save_split(output, study, arm, data.name, split, study.measure(arm, data, split))


def load_split(output: Path, study: Study, arm: Arm, dataset: str, split: int) -> dict[str, Any] | None:
    """Load a finished split of the same study, arm, versions and sources; None if it must be run."""
    try:
        found = json.loads(_path(output, study, arm, dataset, split).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    wanted = _describe(study, arm, dataset, split)
    same = isinstance(found, dict) and "rows" in found and wanted.items() <= found.items()
    return found if same else None


def save_split(
    output: Path, study: Study, arm: Arm, dataset: str, split: int, measured: dict[str, Any]
) -> dict[str, Any]:
    """Store a finished split; return what was stored."""
    result = {**_describe(study, arm, dataset, split), **measured}
    write_whole(_path(output, study, arm, dataset, split), json.dumps(result))
    return result


def _describe(study: Study, arm: Arm, dataset: str, split: int) -> dict[str, Any]:
    return {**arm.describe(dataset, split), **study.settings, "dataset": dataset, "split": split}


def _path(output: Path, study: Study, arm: Arm, dataset: str, split: int) -> Path:
    return output / study.name / arm.name / dataset / f"{split:02d}.json"
