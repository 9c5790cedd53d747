"""``secateur reproduce``: the paper's experiments beside its numbers."""

from __future__ import annotations

import json
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secateur.paper.report import Page

__all__ = ["command"]


class Experiment(StrEnum):
    """The experiments that can be run."""

    deterministic = "deterministic"
    cart = "cart"
    optimal = "optimal"
    runtime = "runtime"
    exhibits = "exhibits"
    beyond = "beyond"
    all = "all"


def command(
    experiment: Annotated[Experiment, typer.Argument(help="Which of the paper's experiments to run.")],
    datasets: Annotated[str | None, typer.Option(help="Data sets, comma-separated; by default all eight.")] = None,
    splits: Annotated[int, typer.Option(help="Number of train/test splits.", min=1, max=30)] = 30,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    output: Annotated[
        Path | None,
        typer.Option(help="Where results go, and finished splits are reused from.  [default: reproduction]"),
    ] = None,
    data_dir: Annotated[str | None, typer.Option(help="Directory of the published data files.")] = None,
    iai_dir: Annotated[
        str | None, typer.Option(help="Directory of saved trees (IAI or secateur JSON) for the optimal arm.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no tables.")] = False,
) -> None:
    """Run experiments of the paper again and print their numbers beside ours.

    `all` are those of the paper; `beyond` measures every method and knob of secateur on its data sets.

    A run that was stopped goes on where it was: finished splits are kept in the output directory.
    """
    chosen = _check_datasets(datasets)
    # The deterministic tables take a second and are read on the screen: files only where they were asked for.
    only_tables = experiment is Experiment.deterministic and output is None
    place = Path("reproduction") if output is None else output
    wanted = set(Experiment) - {Experiment.beyond} if experiment is Experiment.all else {experiment}
    code = 0
    pages: list[Page] = []
    if Experiment.deterministic in wanted:
        code = _deterministic(None if only_tables else place, quiet)
    finished: dict[str, list[dict[str, Any]]] = {}
    for name in ("cart", "optimal"):
        if name in wanted:
            finished[name] = _run(name, chosen, splits, jobs, place, data_dir, iai_dir, quiet, pages)
    if finished:
        _finish_arms(finished, place, pages)
    if Experiment.runtime in wanted:
        pages.append(_runtime(place, quiet))
    if Experiment.exhibits in wanted:
        pages.append(_exhibits(place))
    if Experiment.beyond in wanted:
        pages += _beyond(chosen, splits, jobs, place, data_dir, iai_dir, quiet)
    if pages:
        _write_report(pages, place / f"report_{experiment.value}.md", quiet)
    raise typer.Exit(code)


def _check_datasets(listed: str | None) -> tuple[str, ...]:
    from secateur.paper.protocol import DATASETS

    if listed is None:
        return DATASETS
    names = {name.lower(): name for name in DATASETS}
    chosen = [word.strip().lower() for word in listed.split(",") if word.strip()]
    strange = next((word for word in chosen if word not in names), None)
    if strange is not None or not chosen:
        raise ParameterError(f"There is no data set {strange or listed!r}; the data sets are {', '.join(DATASETS)}.")
    return tuple(names[word] for word in dict.fromkeys(chosen))


def _run(
    name: str,
    chosen: tuple[str, ...],
    splits: int,
    jobs: int,
    output: Path,
    data_dir: str | None,
    iai_dir: str | None,
    quiet: bool,
    pages: list[Page],
) -> list[dict[str, Any]]:
    from secateur.paper.experiment import run_arm
    from secateur.paper.protocol import TOLERANCES, find_arm
    from secateur.paper.report import make_pages
    from secateur.paper.summary import summarize, to_csv
    from secateur.rows.whole_files import write_whole

    arm = find_arm(name, iai_dir if name == "optimal" else None)
    with _progress(f"{name} arm", len(chosen) * splits, quiet) as advance:
        results = run_arm(arm, chosen, splits, output, n_jobs=jobs, data_dir=data_dir, progress=advance)
    table = summarize(results, arm.learner, TOLERANCES)
    write_whole(output / f"{name}_by_dataset.csv", to_csv(table))
    write_whole(output / f"{name}_by_dataset.json", json.dumps(table, indent=1))
    pages += make_pages(arm, table)
    return results


def _beyond(
    chosen: tuple[str, ...],
    splits: int,
    jobs: int,
    output: Path,
    data_dir: str | None,
    iai_dir: str | None,
    quiet: bool,
) -> list[Page]:
    from secateur.paper.beyond import BEYOND, beyond_page, draw_fronts, find_fronts, summarize_beyond
    from secateur.paper.experiment import run_arm
    from secateur.paper.protocol import find_arm
    from secateur.paper.summary import to_csv
    from secateur.rows.whole_files import write_whole

    _require_matplotlib("Beyond the paper")
    pages = []
    for name in ("cart", "optimal"):
        arm = find_arm(name, iai_dir if name == "optimal" else None)
        with _progress(f"beyond, {name} arm", len(chosen) * splits, quiet) as advance:
            results = run_arm(
                *(arm, chosen, splits, output), n_jobs=jobs, data_dir=data_dir, progress=advance, study=BEYOND
            )
        table = summarize_beyond(results)
        points = find_fronts(table)
        write_whole(output / f"beyond_{arm.name}_by_dataset.csv", to_csv(table))
        write_whole(output / f"beyond_{arm.name}.json", json.dumps([vars(point) for point in points], indent=1))
        draw_fronts(arm, points, output)
        pages.append(beyond_page(arm, points))
    return pages


def _finish_arms(finished: dict[str, list[dict[str, Any]]], output: Path, pages: list[Page]) -> None:
    from secateur.paper.report import tolerance_page
    from secateur.paper.tolerances import choose_tolerances
    from secateur.rows.whole_files import write_whole

    choices = choose_tolerances(list(finished.values()))
    write_whole(output / "tolerances.json", json.dumps({c.dataset: c.picked for c in choices}, indent=1))
    pages.append(tolerance_page(choices, " and ".join(finished)))


def _runtime(output: Path, quiet: bool) -> Page:
    from secateur.paper.report import Page
    from secateur.paper.runtime import LEAF_TARGETS, ROW_COUNTS, draw_runtime, ratios, run_runtime
    from secateur.rows.whole_files import write_whole

    _require_matplotlib("The runtime study")
    with _progress("runtime study", len(LEAF_TARGETS) + len(ROW_COUNTS), quiet) as advance:
        timings = run_runtime(advance)
    write_whole(output / "runtime.json", json.dumps([vars(timing) for timing in timings], indent=1))
    draw_runtime(timings, output)
    rows = tuple((what, f"{ours:.1f} ×", f"{theirs:g} ×") for what, ours, theirs in ratios(timings))
    return Page(
        "Runtime: how many times faster",
        "medians of three seeds and three repetitions; all four procedures are ours, the slow ones too",
        ("what", "ours", "paper"),
        rows,
        tuple((None,) * 3 for _ in rows),
    )


def _require_matplotlib(what: str) -> None:
    if find_spec("matplotlib") is None:
        raise ParameterError(f"{what} draws a figure with matplotlib: pip install secateur[reproduce].")


def _exhibits(output: Path) -> Page:
    from secateur.paper.exhibits import assimilated_rule, assimilation_tree, draw_tree, entropy_rows, orientation_tree
    from secateur.paper.report import Page
    from secateur.rows.whole_files import write_whole

    write_whole(output / "c1c0.svg", draw_tree(orientation_tree()))
    write_whole(output / "assimilation.svg", draw_tree(assimilation_tree(), assimilated_rule()))
    rows = tuple(entropy_rows())
    return Page(
        "Entropy asymmetry for parent counts (70, 30)",
        "the C1 child has class-1 share 0.90; C1/C0 orientation is fixed, the sibling's entropy is not",
        ("C1 child", "C0 sibling", "sibling p0", "sibling entropy against the parent's"),
        rows,
        tuple((None,) * 4 for _ in rows),
    )


def _write_report(pages: list[Page], path: Path, quiet: bool) -> None:
    from secateur.cli.console import out
    from secateur.paper.report import to_markdown, to_terminal
    from secateur.rows.whole_files import write_whole

    write_whole(path, "\n".join(to_markdown(page) for page in pages))
    if not quiet:
        for page in pages:
            out.print(to_terminal(page))
        out.print(f"Results are in {path.parent}; {path.name} holds these tables.")


@contextmanager
def _progress(title: str, total: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from secateur.cli.console import errors

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, disable=quiet, transient=True) as bar:
        task = bar.add_task(title, total=total)

        def advance(what: str) -> None:
            bar.update(task, advance=1, description=f"{title}: {what}")

        yield advance


def _deterministic(output: Path | None, quiet: bool) -> int:
    from rich.table import Table

    from secateur.cli.console import out
    from secateur.paper.deterministic import expected_rows, reproduce_deterministic
    from secateur.paper.summary import to_csv
    from secateur.rows.whole_files import write_whole

    table = Table(
        title="The paper's deterministic tables: ours, and below it (the paper's)",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for name in ("data set", "method", "rules", "removed", "modified", "Δlength", "rel. 1", "coverage", "conflict"):
        table.add_column(name, no_wrap=True)
    table.add_column("state", no_wrap=True)
    differing = 0
    reproduced = reproduce_deterministic()
    if output is not None:
        listed = [{**vars(row), "random_state": state} for row, state in reproduced]
        write_whole(output / "deterministic.csv", to_csv(listed))
        write_whole(output / "deterministic.json", json.dumps(listed, indent=1))
    for (ours, state), theirs in zip(reproduced, expected_rows(), strict=True):
        differing += ours != theirs
        pairs = [
            (f"{ours.rules}", f"{theirs.rules}"),
            (f"{ours.removed_pct:.2f}", f"{theirs.removed_pct:.2f}"),
            (f"{ours.rules_modified_pct:.2f}", f"{theirs.rules_modified_pct:.2f}"),
            (f"{ours.delta_length:.2f}", f"{theirs.delta_length:.2f}"),
            (ours.reliability_one, theirs.reliability_one),
            (f"{ours.coverage_pct:.1f}", f"{theirs.coverage_pct:.1f}"),
            (f"{ours.conflict_pct:.1f}", f"{theirs.conflict_pct:.1f}"),
        ]
        cells = [f"{one}\n({other})" for one, other in pairs]
        table.add_row(ours.dataset, ours.method, *cells, str(state))
    if not quiet:
        out.print(table)
        out.print(
            "removed, modified, coverage and conflict are in percent. state is the smallest random_state whose tree "
            "gives the paper's row for all three methods: scikit-learn breaks ties between equally good splits by it."
        )
        out.print("Every cell agrees." if not differing else f"{differing} rows differ from the paper.")
    return 1 if differing else 0
