"""``secateur reproduce`` and ``bench``: the paper's experiments beside its numbers, and RuleBench."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli.console import tell
from secateur.cli.options import Quiet, flag, option, spread
from secateur.errors import InputError, ParameterError, first_line, need_library, shorten
from secateur.rows.whole_files import write_whole

if TYPE_CHECKING:
    from secateur.lab.pages import Page
    from secateur.lab.rulebench.results import Results

Experiment = StrEnum("Experiment", "deterministic cart optimal sparse runtime exhibits beyond regression all")
ARMS = ("cart", "optimal")
METRICS = ("read", "conflict", "auc_kept", "unchanged")
BESIDE = ("exact", "mismatch (M1-P)", "list")  # what a method of one's own is compared with
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
    quiet: bool = flag("Show no progress and no tables.", "--quiet")

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
        chosen = _split(self.datasets.lower())
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

    def run_arm(self, name: str, title: str, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
        """Run one arm of the experiments, with saved trees if there are; give it and the results of its splits."""
        from secateur.lab.protocol import find_arm, run_arm
        from secateur.lab.sparse import SOLVERS

        arm = SOLVERS[name] if name in SOLVERS else find_arm(name, self.iai_dir if name == "optimal" else None)
        chosen = self.choose_datasets()
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
def reproduce_command(
    experiment: Annotated[Experiment, typer.Argument(help="Which of the paper's experiments to run.")], *, study: Study
) -> None:
    """Run experiments of the paper again and print their numbers beside ours.

    `all` runs those of the paper. `sparse` deletes from trees that STreeD and ConTree prove optimal, and `beyond`
    measures every method and setting of secateur on its data sets, lists beside pruning, and the table of `regression`:
    lists of regression trees on ten targets. `exhibits` is the paper's table of entropies; its figures are drawn by
    `python -m benchmarks.paper.documents` of the repository.

    A run that was stopped goes on where it was: finished splits are kept in the output directory, and reused as long as
    no source file changes that decides results.
    """
    study.choose_datasets()  # find a slip before the work
    ours = {Experiment.sparse, Experiment.beyond, Experiment.regression}
    wanted = set(Experiment) - ours if experiment is Experiment.all else {experiment}
    code = 0
    pages: list[Page] = []
    if Experiment.deterministic in wanted:
        # These tables take a second and are read on the screen: write files only if asked to.
        code = _deterministic(study, write=experiment is not Experiment.deterministic or study.output is not None)
    pages += _arms(study, [name for name in ARMS if name in wanted])
    wanted |= {Experiment.regression} if Experiment.beyond in wanted else set()
    for run in (_sparse, _runtime, _exhibits, _beyond, _regression):
        if run.__name__[1:] in wanted:
            pages += run(study)
    if pages:
        _write_report(study, pages, f"report_{experiment.value}{study.mark}.md")
    raise typer.Exit(code)


def _arms(study: Study, names: list[str]) -> list[Page]:
    from secateur.lab.pages import make_pages, tolerance_page
    from secateur.lab.protocol import TOLERANCES
    from secateur.lab.summary import choose_tolerances, summarize

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


def _beyond(study: Study) -> list[Page]:
    from secateur.lab import beyond, lists
    from secateur.lab.summary import to_csv

    need_library("matplotlib", "lab", "Beyond the paper")
    pages, lengths = [], {}
    for name in ARMS:
        arm, results = study.run_arm(name, f"beyond, {name} arm", study=beyond.BEYOND)
        table = beyond.summarize_beyond(results)
        points = beyond.find_fronts(table)
        write_whole(study.place / f"beyond_{arm.name}_by_dataset.csv", to_csv(table))
        study.write_json(f"beyond_{arm.name}", [vars(point) for point in points])
        beyond.draw_fronts(arm, points, study.place)
        _, texts = study.run_arm(name, f"lists, {name} arm", study=lists.LISTS)
        lengths[name] = (arm, lists.find_points(texts))
        study.write_json(f"lists_{arm.name}", [vars(point) for point in lengths[name][1]])
        pages += [beyond.beyond_page(arm, points, study.splits), beyond.picks_page(arm, results)]
        pages.append(lists.lists_page(*lengths[name]))
    lists.draw_lengths(lengths, study.place)
    many = [lists.measure_many_classes(name) for name in lists.MANY_CLASSES]
    study.write_json("many_classes", many)
    return [*pages, lists.many_classes_page(many)]


def _regression(study: Study) -> list[Page]:
    from secateur.lab import regression

    rows: list[dict[str, Any]] = []
    n_splits = min(study.splits, regression.MOST_SPLITS)
    with show_progress("regression", len(regression.TARGETS) * n_splits, quiet=study.quiet) as advance:
        for part in regression.run_regression(n_splits, study.data_dir):
            rows += part
            advance(part[0]["target"])
    study.write_table("regression", rows)
    return [regression.regression_page(regression.summarize_regression(rows), n_splits)]


def _runtime(study: Study) -> list[Page]:
    from secateur.lab import runtime
    from secateur.lab.pages import Page

    need_library("matplotlib", "lab", "The runtime study")
    n_sizes = len(runtime.LEAF_TARGETS) + len(runtime.ROW_COUNTS)
    with show_progress("runtime study", n_sizes, quiet=study.quiet) as advance:
        timings = runtime.run_runtime(advance)
    machine = runtime.describe_machine()
    study.write_json("runtime", {"machine": machine, "timings": [vars(timing) for timing in timings]})
    runtime.draw_runtime(timings, study.place)
    rows = tuple((what, f"{ours:.1f} ×", f"{theirs:g} ×") for what, ours, theirs in runtime.ratios(timings))
    note = "medians of three seeds and three repetitions; all four procedures are ours, the slow ones too"
    return [Page("Runtime: how many times faster", note, ("what", "ours", "paper"), rows)]


def _exhibits(study: Study) -> list[Page]:
    from secateur.lab.exhibits import entropy_rows
    from secateur.lab.pages import Page

    note = "the C1 child has class-1 share 0.90; C1/C0 orientation is fixed, the sibling's entropy is not"
    header = ("C1 child", "C0 sibling", "sibling p0", "sibling entropy against the parent's")
    return [Page("Entropy asymmetry for parent counts (70, 30)", note, header, tuple(entropy_rows()))]


def _write_report(study: Study, pages: list[Page], name: str) -> None:
    from secateur.cli.console import out
    from secateur.lab.pages import to_markdown, to_terminal

    write_whole(study.place / name, "\n".join(to_markdown(page) for page in pages))
    if not study.quiet:
        for page in pages:
            out.print(to_terminal(page))
        out.print(f"Results are in {study.place}; {name} holds these tables.")


def _deterministic(study: Study, *, write: bool) -> int:
    from rich.table import Column, Table

    from secateur.cli.console import out
    from secateur.lab.deterministic import count_states, expected_rows, reproduce_deterministic
    from secateur.lab.summary import load_counted

    reproduced, expected = reproduce_deterministic(), expected_rows()
    if write:
        listed = [{**vars(row), "random_state": state} for row, state in reproduced]
        study.write_table("deterministic", listed)
        study.write_json("deterministic_states", count_states())
    differing = sum(ours != theirs for (ours, _), theirs in zip(reproduced, expected, strict=True))
    if study.quiet:
        return 1 if differing else 0
    titles = ("data set", "method", *(title for _, title, _ in COLUMNS), "state")
    title = "The paper's deterministic tables: ours, and below it (the paper's)"
    form: dict[str, Any] = {"title_justify": "left", "box": None, "padding": (0, 1, 0, 0), "pad_edge": False}
    table = Table(*(Column(title, no_wrap=True) for title in titles), title=title, **form)
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


def bench_command(
    method: Annotated[
        list[str] | None, typer.Option(metavar="FILE:NAME", help="A function of yours, such as mine.py:shorten.")
    ] = None,
    datasets: Annotated[str | None, typer.Option(help="Data sets, comma-separated; by default all 80.")] = None,
    trees: Annotated[
        str, typer.Option(help="cart-4, cart-6, cart-unpruned, cart-pruned, streed, contree; comma-separated.")
    ] = "cart-6",
    splits: Annotated[int, typer.Option(help="Number of train/test splits.", min=1)] = 10,
    jobs: Annotated[int, typer.Option(help="Number of processes.", min=1)] = 1,
    output: Annotated[
        Path, typer.Option(help="Directory for results.parquet; finished splits in it are reused.")
    ] = Path("rulebench"),
    data_dir: Annotated[Path | None, typer.Option(help="Directory of data files and of the wheel.")] = None,
    quiet: Quiet = False,
) -> None:
    """Run methods that shorten rules, or one of yours, on many data sets and trees.

    A function of (tree, X, y) gets a fitted tree and its training rows, one of (X, y) the rows alone. Either returns
    rules of secateur, or an object with `predict` and `lines`. It is compared with the stored results of secateur's
    methods on the same splits.

    For example:

    secateur bench --datasets iris,wine --splits 3
    secateur bench --method mine.py:shorten --trees cart-6,cart-unpruned
    """
    from secateur.lab.rulebench.data import SOURCES
    from secateur.lab.rulebench.run import bench

    methods = dict(_load(named) for named in method) if method else None
    chosen = _split(datasets) if datasets is not None else list(SOURCES)
    kinds = _split(trees)
    with show_progress("RuleBench", len(chosen) * splits * len(kinds), quiet=quiet) as advance:
        where: dict[str, Any] = {"output": output, "data_dir": data_dir, "n_jobs": jobs, "progress": advance}
        found = bench(methods, datasets=chosen, trees=kinds, splits=splits, **where)
    found.to_parquet(output / "results.parquet")
    if not quiet:
        _show_bench(found, list(methods or ()), output)
    for why in dict.fromkeys(found.left_out.values()):
        absent = [name for name, told in found.left_out.items() if told == why]
        tell(f"Left out {shorten(absent)}: {why}")
    raise typer.Exit(code=2 if found.left_out else int(len(found.failures) == len(found.rows)))


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _load(named: str) -> tuple[str, Any]:
    file, _, name = named.rpartition(":")
    if not file or not name:
        raise ParameterError(f"Expected FILE:NAME, such as mine.py:shorten, found {named!r}.")
    spec = spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None or not Path(file).is_file():
        raise InputError(f"Expected a Python file, found {file}.")
    module = module_from_spec(spec)
    sys.path.insert(0, str(Path(file).resolve().parent))  # as if the file were run
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{file} cannot be imported: {type(error).__name__}: {first_line(error)}") from error
    found = getattr(module, name, None)
    if not callable(found):
        raise InputError(f"{file} has no function {name!r}.")
    return name, found


def _show_bench(found: Results, own: list[str], output: Path) -> None:
    from secateur.cli.console import out
    from secateur.lab.pages import Page, to_terminal

    for tree in dict.fromkeys(row["tree"] for row in found.rows):
        out.print(to_terminal(found.to_page(tree)), "")
        rows = []
        for name, other, metric in product(own, BESIDE, METRICS):
            try:
                compared = found.compare(name, other, metric, tree)
            except InputError:  # nothing is stored of this kind, or it has no such number
                continue
            where = f"{compared.n_above} of {len(compared.by_dataset)}"
            rows.append((name, other, metric, f"{compared.typical:+.3g}", where, f"{compared.p:.2g}"))
        if rows:
            header = ("method", "minus", "metric", "typical", "above 0 on", "p")
            note = "Stored results of the same splits; p by Wilcoxon's signed ranks over data sets."
            out.print(to_terminal(Page("Beside secateur's methods", note, header, tuple(rows))), "")
    failed = found.failures
    if failed:
        out.print(f"{len(failed)} of {len(found.rows)} runs failed, first {failed[0]['method']}: {failed[0]['failed']}")
    out.print(f"Results are in {output / 'results.parquet'}.")
