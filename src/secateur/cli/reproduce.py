"""``secateur reproduce``: the paper's experiments beside its numbers."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli.options import option, spread
from secateur.errors import ParameterError, need_library
from secateur.rows.whole_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secateur.lab.pages import Page

Experiment = StrEnum(
    "Experiment",
    "deterministic cart optimal sparse runtime exhibits readings beyond regression all",
)
ARMS = ("cart", "optimal")
# The columns of the deterministic tables: the field of a row, its title, and how it is shown.
COLUMNS = (
    ("rules", "rules", "d"),
    ("removed_pct", "removed", ".2f"),
    ("rules_modified_pct", "modified", ".2f"),
    ("delta_length", "Δlength", ".2f"),
    ("reliability_one", "rel. 1", "s"),
    ("coverage_pct", "coverage", ".1f"),
    ("conflict_pct", "conflict", ".1f"),
)


@dataclass(frozen=True)
class Study:
    """What to run on which data sets, and where results go."""

    datasets: str | None = option("Data sets, comma-separated; by default all eight.")
    splits: int = option("Number of train/test splits.", default=30, min=1, max=30)
    jobs: int = option("Number of processes.", default=2, min=1)
    output: Path | None = option("Directory for results; finished splits in it are reused.  [default: reproduction]")
    data_dir: str | None = option("Directory of the published data files.")
    iai_dir: str | None = option("Directory of saved trees (IAI or secateur JSON) for the optimal arm.")
    quiet: bool = option("Show no progress and no tables.", "--quiet", default=False)

    @property
    def place(self) -> Path:
        """The directory for results."""
        return Path("reproduction") if self.output is None else self.output

    def choose_datasets(self) -> tuple[str, ...]:
        """Find the data sets that are named, or take all."""
        from secateur.lab.protocol import DATASETS

        if self.datasets is None:
            return DATASETS
        names = {name.lower(): name for name in DATASETS}
        chosen = [word.strip().lower() for word in self.datasets.split(",") if word.strip()]
        strange = next((word for word in chosen if word not in names), None)
        if strange is not None or not chosen:
            raise ParameterError(
                f"There is no data set {strange or self.datasets!r}; the data sets are {', '.join(DATASETS)}."
            )
        return tuple(names[word] for word in dict.fromkeys(chosen))

    @property
    def mark(self) -> str:
        """What the files of a run with saved trees are marked with, so that they replace none of the stand-in's."""
        return "" if self.iai_dir is None else "_saved"

    def find_arm(self, name: str) -> Any:
        """Find an arm; saved trees take the place of the stand-in's."""
        from secateur.lab.protocol import find_arm
        from secateur.lab.sparse import SOLVERS

        return SOLVERS[name] if name in SOLVERS else find_arm(name, self.iai_dir if name == "optimal" else None)

    def run_arm(self, name: str, title: str, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
        """Run one arm of the experiments; give it and the results of its splits."""
        from secateur.lab.experiment import run_arm

        arm, chosen = self.find_arm(name), self.choose_datasets()
        with show_progress(title, len(chosen) * self.splits, quiet=self.quiet) as advance:
            options |= {"n_jobs": self.jobs, "data_dir": self.data_dir, "progress": advance}
            return arm, run_arm(arm, chosen, self.splits, self.place, **options)

    def write_json(self, name: str, content: Any) -> None:
        """Write a JSON file of results."""
        write_whole(self.place / f"{name}.json", json.dumps(content, indent=1))

    def write_table(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Write results as CSV and as JSON."""
        from secateur.lab.summary import to_csv

        write_whole(self.place / f"{name}.csv", to_csv(rows))
        self.write_json(name, rows)


@contextmanager
def show_progress(title: str, total: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show how much of the work is done; the function that is given says what was done last."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from secateur.cli.console import errors

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, disable=quiet, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda what: bar.update(task, advance=1, description=f"{title}: {what}")


@spread
def command(
    experiment: Annotated[Experiment, typer.Argument(help="Which of the paper's experiments to run.")], *, study: Study
) -> None:
    """Run experiments of the paper again and print their numbers beside ours.

    `all` runs those of the paper. `sparse` deletes from trees that STreeD and ConTree prove optimal, `readings`
    measures other readings of what the paper leaves open, and `beyond` every method and setting of secateur on its data
    sets, lists beside pruning, and the table of `regression`: lists of regression trees on ten targets.

    A run that was stopped goes on where it was: finished splits are kept in the output directory, and reused as long as
    no source file changes that decides results.
    """
    study.choose_datasets()  # find a slip before the work
    ours = {Experiment.sparse, Experiment.readings, Experiment.beyond, Experiment.regression}
    wanted = set(Experiment) - ours if experiment is Experiment.all else {experiment}
    code = 0
    pages: list[Page] = []
    if Experiment.deterministic in wanted:
        # These tables take a second and are read on the screen: write files only if asked to.
        code = _deterministic(study, write=experiment is not Experiment.deterministic or study.output is not None)
    pages += _arms(study, [name for name in ARMS if name in wanted])
    if Experiment.sparse in wanted:
        pages += _sparse(study)
    if Experiment.runtime in wanted:
        pages.append(_runtime(study))
    if Experiment.exhibits in wanted:
        pages.append(_exhibits(study))
    if Experiment.readings in wanted:
        pages += _readings(study)
    if Experiment.beyond in wanted:
        pages += _beyond(study)
    if wanted & {Experiment.beyond, Experiment.regression}:
        pages.append(_regression(study))
    if pages:
        _write_report(study, pages, f"report_{experiment.value}{study.mark}.md")
    raise typer.Exit(code)


def _arms(study: Study, names: list[str]) -> list[Page]:
    from secateur.lab.pages import make_pages, tolerance_page
    from secateur.lab.protocol import TOLERANCES
    from secateur.lab.summary import summarize
    from secateur.lab.tolerances import choose_tolerances

    pages: list[Page] = []
    finished = []
    for name in names:
        arm, results = study.run_arm(name, f"{name} arm")
        table = summarize(results, arm.learner, TOLERANCES)
        study.write_table(f"{arm.name}_by_dataset", table)
        pages += make_pages(arm, table)
        finished.append(results)
    if finished:
        choices = choose_tolerances(finished)
        study.write_json(f"tolerances{study.mark}", {choice.dataset: choice.picked for choice in choices})
        pages.append(tolerance_page(choices, " and ".join(names)))
    return pages


def _sparse(study: Study) -> list[Page]:
    from secateur.lab.sparse import SOLVERS, SPARSE, require_solver, sparse_page

    pages = []
    for name in SOLVERS:
        require_solver(name)
        arm, results = study.run_arm(name, f"trees of {name}", study=SPARSE)
        pages.append(sparse_page(arm, results))
    return pages


def _readings(study: Study) -> list[Page]:
    from secateur.lab.protocol import TOLERANCES
    from secateur.lab.readings import READINGS, fit_readings, readings_page
    from secateur.lab.summary import summarize

    pages = []
    for name in ARMS:
        arm, ours = study.run_arm(name, f"{name} arm")
        _, others = study.run_arm(name, f"readings, {name} arm", study=READINGS)
        pages.append(readings_page(arm, fit_readings(arm, others, summarize(ours, arm.learner, TOLERANCES))))
    return pages


def _beyond(study: Study) -> list[Page]:
    from secateur.lab import beyond, lists
    from secateur.lab.by_folds import BY_FOLDS
    from secateur.lab.summary import to_csv

    need_library("matplotlib", "lab", "Beyond the paper")
    pages, lengths = [], {}
    for name in ARMS:
        _, picked = study.run_arm(name, f"knobs by folds, {name} arm", study=BY_FOLDS)
        arm, results = study.run_arm(name, f"beyond, {name} arm", study=beyond.make_study(picked))
        table = beyond.summarize_beyond(results)
        points = beyond.find_fronts(table)
        write_whole(study.place / f"beyond_{arm.name}_by_dataset.csv", to_csv(table))
        study.write_json(f"beyond_{arm.name}", [vars(point) for point in points])
        beyond.draw_fronts(arm, points, study.place)
        _, texts = study.run_arm(name, f"lists, {name} arm", study=lists.LISTS)
        _, merged = study.run_arm(name, f"bounds alone, {name} arm", study=lists.BOUNDS)
        lengths[name] = (arm, lists.find_points(lists.count_in_edges(texts, merged)))
        study.write_json(f"lists_{arm.name}", [vars(point) for point in lengths[name][1]])
        pages += [beyond.beyond_page(arm, points, study.splits), beyond.picks_page(arm, picked)]
        pages.append(lists.lists_page(*lengths[name]))
    lists.draw_lengths(lengths, study.place)
    many = [lists.measure_many_classes(name) for name in lists.MANY_CLASSES]
    study.write_json("many_classes", many)
    return [*pages, lists.many_classes_page(many)]


def _regression(study: Study) -> Page:
    from secateur.lab.regression import MOST_SPLITS, TARGETS, regression_page, run_regression, summarize_regression

    rows: list[dict[str, Any]] = []
    n_splits = min(study.splits, MOST_SPLITS)
    with show_progress("regression", len(TARGETS) * n_splits, quiet=study.quiet) as advance:
        for part in run_regression(n_splits, study.data_dir):
            rows += part
            advance(part[0]["target"])
    table = summarize_regression(rows)
    study.write_json("regression", table)
    return regression_page(table, n_splits)


def _runtime(study: Study) -> Page:
    from secateur.lab.operations import run_operations
    from secateur.lab.pages import Page
    from secateur.lab.runtime import (
        LEAF_TARGETS,
        ROW_COUNTS,
        SEEDS,
        describe_machine,
        draw_runtime,
        ratios,
        run_runtime,
    )

    need_library("matplotlib", "lab", "The runtime study")
    with show_progress("runtime study", len(LEAF_TARGETS) + len(ROW_COUNTS), quiet=study.quiet) as advance:
        timings = run_runtime(advance)
    n_problems = len(SEEDS) * (len(LEAF_TARGETS) + len(ROW_COUNTS))
    with show_progress("operations", n_problems, quiet=study.quiet) as advance:
        study.write_json("operations", run_operations(advance))
    study.write_json("runtime", {"machine": describe_machine(), "timings": [vars(timing) for timing in timings]})
    draw_runtime(timings, study.place)
    rows = tuple((what, f"{ours:.1f} ×", f"{theirs:g} ×") for what, ours, theirs in ratios(timings))
    return Page(
        "Runtime: how many times faster",
        "medians of three seeds and three repetitions; all four procedures are ours, the slow ones too",
        ("what", "ours", "paper"),
        rows,
        tuple((None,) * 3 for _ in rows),
    )


def _exhibits(study: Study) -> Page:
    from secateur.lab.exhibits import FIGURES, entropy_rows
    from secateur.lab.pages import Page

    for name, draw in FIGURES.items():
        write_whole(study.place / name, draw())
    rows = tuple(entropy_rows())
    return Page(
        "Entropy asymmetry for parent counts (70, 30)",
        "the C1 child has class-1 share 0.90; C1/C0 orientation is fixed, the sibling's entropy is not",
        ("C1 child", "C0 sibling", "sibling p0", "sibling entropy against the parent's"),
        rows,
        tuple((None,) * 4 for _ in rows),
    )


def _write_report(study: Study, pages: list[Page], name: str) -> None:
    from secateur.cli.console import out
    from secateur.lab.pages import to_markdown, to_terminal

    write_whole(study.place / name, "\n".join(to_markdown(page) for page in pages))
    if not study.quiet:
        for page in pages:
            out.print(to_terminal(page))
        out.print(f"Results are in {study.place}; {name} holds these tables.")


def _deterministic(study: Study, *, write: bool) -> int:
    """Run the deterministic tables; give the exit status."""
    from rich.table import Column, Table

    from secateur.cli.console import out
    from secateur.lab.deterministic import count_states, expected_rows, reproduce_deterministic
    from secateur.lab.stored_results import load_counted

    reproduced, expected = reproduce_deterministic(), expected_rows()
    if write:
        listed = [{**vars(row), "random_state": state} for row, state in reproduced]
        study.write_table("deterministic", listed)
        study.write_json("deterministic_states", count_states())
    differing = sum(ours != theirs for (ours, _), theirs in zip(reproduced, expected, strict=True))
    if study.quiet:
        return 1 if differing else 0
    titles = ("data set", "method", *(title for _, title, _ in COLUMNS), "state")
    table = Table(
        *(Column(title, no_wrap=True) for title in titles),
        title="The paper's deterministic tables: ours, and below it (the paper's)",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for (ours, state), theirs in zip(reproduced, expected, strict=True):
        cells = [f"{getattr(ours, name):{form}}\n({getattr(theirs, name):{form}})" for name, _, form in COLUMNS]
        table.add_row(ours.dataset, ours.method, *cells, str(state))
    out.print(table)
    found = load_counted("deterministic_states")["Weather"]
    out.print(
        "removed, modified, coverage and conflict are in percent. state is the smallest random_state whose tree gives "
        "the paper's row for all three methods: scikit-learn breaks ties between equally good splits by it. It was "
        f"searched for: {found['as printed']} of {found['states']} states give the paper's rows for Weather."
    )
    out.print("Every cell agrees." if not differing else f"{differing} rows differ from the paper.")
    return 1 if differing else 0
