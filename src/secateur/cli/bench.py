"""``secateur bench``: methods that shorten rules on the data sets and trees of RuleBench."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli.options import Quiet
from secateur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from secateur.lab.rulebench.results import Results

METRICS = ("read", "conflict", "auc_kept", "unchanged")
BESIDE = ("exact", "mismatch (M1-P)", "list")  # what a method of one's own is compared with


def command(
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
    from secateur.cli.reproduce import show_progress
    from secateur.lab.rulebench.data import SOURCES
    from secateur.lab.rulebench.run import bench

    methods = dict(_load(named) for named in method) if method else None
    chosen = _split(datasets) if datasets is not None else list(SOURCES)
    kinds = _split(trees)
    with show_progress("RuleBench", len(chosen) * splits * len(kinds), quiet=quiet) as advance:
        found = bench(
            *(methods,),
            datasets=chosen,
            trees=kinds,
            splits=splits,
            output=output,
            data_dir=data_dir,
            n_jobs=jobs,
            progress=advance,
        )
    found.to_parquet(output / "results.parquet")
    if not quiet:
        _show(found, list(methods or ()), output)


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _load(named: str) -> tuple[str, Any]:
    """Load a function from a file of the user."""
    file, _, name = named.rpartition(":")
    if not file or not name:
        raise ParameterError(f"Expected FILE:NAME, such as mine.py:shorten, found {named!r}.")
    spec = spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None or not Path(file).is_file():
        raise InputError(f"Expected a Python file, found {file}.")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not callable(found):
        raise InputError(f"{file} has no function {name!r}.")
    return name, found


def _show(found: Results, own: list[str], output: Path) -> None:
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
