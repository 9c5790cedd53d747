"""Declare the options that several commands share; those that belong together are groups.

A command takes a group as the type of a parameter. :func:`spread` shows typer the group's options in its place, and
puts what typer parsed together again::

    @spread
    def command(data: str, reading: Reading) -> None: ...
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from secateur.cli.completion import complete_column, complete_dialect, complete_method
from secateur.errors import InputError, ParameterError, shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from secateur.cli.tables.table_file import TableFile
    from secateur.tree.tree import Tree

# What a table and rules may be written as.
Format = StrEnum("Format", ["csv", "tsv", "json", "parquet", "arrow"])
Export = StrEnum(
    "Export",
    ["sql", "sql-check", "python", "numpy", "json", "markdown", "latex", "csv", "text", "html", "pmml", "onnx", "smt2"],
)

Fact = Annotated[
    list[str] | None,
    typer.Option(metavar="FACT", help="A fact about a column, such as 'age is not missing' or '0 <= bmi <= 100'."),
]
NoFacts = Annotated[
    bool, typer.Option("--no-facts", help="Take no facts from the table: whole numbers, decimals, no blanks.")
]
TABLE = typer.Argument(metavar="DATA", help="CSV, TSV, JSON lines, Parquet or Arrow; - is standard input.")
Data = Annotated[str, TABLE]
MaybeData = Annotated[str | None, TABLE]
Model = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A fitted model (.skops, a tree or rules as JSON, ONNX or PMML) instead of a tree fitted here.",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(help="How to delete; see `secateur methods`.  [default: exact]", autocompletion=complete_method),
]
Seed = Annotated[int, typer.Option(help="random_state of the tree.", min=0, max=2**32 - 1)]
Holdout = Annotated[float, typer.Option(metavar="SHARE", help="Share of the rows to measure on instead of fitting to.")]
Cost = Annotated[
    list[str] | None,
    typer.Option(metavar="COST", help="What an error costs, such as 'missed default = 5'; else 1."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write; - is the screen.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines, and nothing else.")]
Dialect = Annotated[
    str,
    typer.Option(
        help="SQL dialect: duckdb, postgres, spark, sqlite, tsql, bigquery, snowflake, databricks, redshift, mysql, "
        "trino or clickhouse.",
        autocompletion=complete_dialect,
    ),
]
SqlTable = Annotated[str, typer.Option(metavar="NAME", help="The table that the SQL statement reads.")]


def is_screen(output: Path | None) -> bool:
    """Whether an output goes to standard output."""
    return output is None or str(output) == "-"


def option(help: str, *names: str, default: Any = None, **declared: Any) -> Any:
    """Declare an option of a group, with what typer is told of it; by default it is named as its field."""
    return field(default=default, metadata={"option": typer.Option(*names, help=help, **declared)})


def _list_types(group: Any) -> dict[str, Any]:
    """List the types of a group's options as typer takes them."""
    types = get_type_hints(group, include_extras=True)
    declared = {one.name: one.metadata["option"] for one in fields(group) if one.metadata}
    return types | {name: Annotated[types[name], shown] for name, shown in declared.items()}


@dataclass(frozen=True)
class Reading:
    """How to read a table."""

    format: Format | None = option("Format of the table; by default what its first bytes show.", "--format")
    encoding: str | None = option("Encoding of a CSV or JSON file.  [default: utf-8]")
    missing: list[str] | None = option("A text in a CSV file that means a blank, like NA and ?.", metavar="TEXT")
    text: list[str] | None = option(
        "Columns to take as text, though they look like numbers or dates.",
        metavar="COLUMNS",
        autocompletion=complete_column,
    )
    month_first: bool = option("Read 03/04/2021 as March 4, where no date tells.", "--month-first", default=False)
    header: bool | None = option(
        "Whether the first line of a CSV file holds names.  [default: the lines below tell]",
        "--header/--no-header",
        show_default=False,
    )
    sample: int | None = option("Number of rows to draw at random.", min=2)

    def open(self, data: str, *, tree: Tree | None = None, seed: int = 0, quiet: bool = False) -> TableFile:
        """Read a table; the text columns of a tree stay text."""
        from secateur.cli.console import working
        from secateur.cli.tables.table_file import read_table
        from secateur.rows.sources import find_texts

        text = [] if tree is None else find_texts(tree)
        for words in self.text or ():
            text += [words, *(word.strip() for word in words.split(","))]
        options: dict[str, Any] = {"format": self.format, "encoding": self.encoding, "missing": self.missing or ()}
        with working("Reading the table", quiet=quiet):
            table = read_table(data, **options, text=text, header=self.header, sample=self.sample, seed=seed)
        return replace(table, as_text=tuple(self.text or ()), month_first=self.month_first)


@dataclass(frozen=True)
class Rows:
    """Which rows and columns of a table to use, and what they are about."""

    target: str | None = option(
        "The column of the classes, or of the numbers, to predict.", metavar="COLUMN", autocompletion=complete_column
    )
    drop: list[str] | None = option(
        "Columns to leave out, separated by commas or one option each.",
        metavar="COLUMNS",
        autocompletion=complete_column,
    )
    drop_class: list[str] | None = option("A class to leave out with its rows.", "--drop-class", metavar="CLASS")
    classes: bool = option(
        "Take the numbers of the target for classes. Many different ones are predicted as numbers otherwise.",
        "--classes",
        default=False,
    )

    def require_target(self, data: str, columns: list[str] | None = None) -> str:
        """Return the target; if it was not named, list the columns, if they are known."""
        if self.target is None:
            listed = "" if columns is None else f"; its columns are {shorten(columns)}"
            raise InputError(f"Name the column of the classes of {data} with --target{listed}.")
        return self.target

    def take(self, table: TableFile) -> dict[str, Any]:
        """Make the arguments of functions that take rows of a table."""
        target = self.require_target(table.name, list(table.frame.columns))
        dropped = {"drop": self.drop or (), "drop_classes": self.drop_class or ()}
        return {"target": target, **dropped, "classes": self.classes}


@dataclass(frozen=True)
class Growing:
    """How to fit a tree."""

    max_depth: int | None = option("Depth limit of the tree.  [default: 5 for a table of your own]", min=1)
    min_rows: int | None = option("Fewest rows in a leaf.  [default: 5, and fewer for tables of under 100 rows]", min=1)
    balanced: bool = option(
        "Let every class count alike in fitting the tree, however rare it is.", "--balanced", default=False
    )
    keep: list[str] | None = option(
        "Columns to use, though they look like identifiers or free text.",
        metavar="COLUMNS",
        autocompletion=complete_column,
    )
    seed: Seed = 0

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of functions that fit a tree."""
        depth = {} if self.max_depth is None else {"max_depth": self.max_depth}
        asked = {"min_rows": self.min_rows, "balanced": self.balanced, "keep": self.keep or (), "seed": self.seed}
        return {**depth, **asked}

    def reject_with_model(self) -> None:
        """Reject what would do nothing to a tree that is fitted already; the seed also draws rows."""
        if replace(self, seed=0) != Growing():
            raise ParameterError(
                "--max-depth, --min-rows, --balanced and --keep are for a tree that is fitted here: leave them out."
            )


@dataclass(frozen=True)
class Splitting:
    """Which rows are set aside to measure on."""

    holdout: float | None = option(
        "Share of the rows to set aside, so that numbers hold for new rows; 0 uses all.  [default: 0.25 if a tree is "
        "fitted here to at least 200 rows]",
        metavar="SHARE",
        show_default=False,
    )
    split_by: str | None = option(
        "Set the last rows by this column aside, so that later rows judge earlier ones.",
        "--split-by",
        metavar="COLUMN",
        autocompletion=complete_column,
    )
    group: str | None = option(
        "Set whole groups of rows aside: those with one value of this column.",
        metavar="COLUMN",
        autocompletion=complete_column,
    )

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of functions that fit a tree."""
        return {"holdout": self.holdout, "split_by": self.split_by, "group": self.group}


@dataclass(frozen=True)
class Settings:
    """How far rules may depart from the tree, and what may be assumed of the columns."""

    budget: float | None = option(
        "Of a short list: fraction of the training rows of each class whose answer may differ from the "
        "tree's, or whose probability by more than the tolerance, 0 to 1.  [default: 0; compare also shows 0.01]",
        show_default=False,
    )
    tolerance: str | None = option(
        "Of a short list: how far a line's probability may lie from the tree's; 1 keeps classes only.  "
        "[default: 0.1]  Of other methods: how far a rule's training reliability may move.  [default: 0.05]  "
        "Of numbers: how far a value may lie from the tree's, in their units, or as 0.25sd.  [default: 0.25sd]",
        metavar="NUMBER",
        show_default=False,
    )
    max_conflict: float | None = option(
        "Of the method budgeted: share of rows that rules of different classes may cover, 0 to 1.  [default: 0.015]",
        show_default=False,
    )
    no_protect: bool = option(
        "Let faithful also delete conditions that point away from the class where all leaves have the class.",
        "--no-protect",
        default=False,
    )
    no_facts: NoFacts = False

    @property
    def given(self) -> dict[str, Any]:
        """Arguments of ``simplify`` that were given; raise unless the numbers are from 0 to 1."""
        from secateur.methods.contract import check_share

        named = {"budget": self.budget, "max_conflict": self.max_conflict}
        given: dict[str, Any] = {name: check_share(name, value) for name, value in named.items() if value is not None}
        if self.tolerance is not None:
            given["tolerance"] = _read_tolerance(self.tolerance)
        return given | ({"protect": False} if self.no_protect else {})


def _read_tolerance(text: str) -> float | str:
    """Read a number, or a part of the standard deviation of the target, such as 0.25sd."""
    if text.strip().endswith("sd"):
        return text.strip()  # which simplify checks
    try:
        return float(text)
    except ValueError:
        raise ParameterError(
            f"Expected --tolerance as a number, or for numbers such as 0.25sd, found {text!r}."
        ) from None


@dataclass(frozen=True)
class Making(Settings):
    """How rules are made: as a short list, or one for each leaf."""

    each_leaf: bool = option("Give one rule for each leaf, instead of a short list.", "--each-leaf", default=False)
    sections: int | None = option(
        "Of a short list: the most sections.  [default: up to 4, as long as each saves conditions]",
        min=1,
        show_default=False,
    )
    otherwise: str | None = option(
        "Of a short list: the class of “otherwise”.  [default: the one that leaves the fewest conditions]",
        metavar="CLASS",
        show_default=False,
    )
    of: str | None = option(
        "The class of interest: lines of a short list are listed by its share.  [default: the rarer of two]",
        metavar="CLASS",
        show_default=False,
    )
    method: Method = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of ``simplify``; options that would do nothing are rejected."""
        from secateur.methods import find_method

        given = self.given
        chosen = find_method("exact" if self.method is None else self.method)
        named = {name: getattr(self, name) for name in ("sections", "otherwise", "of")}
        named = {name: value for name, value in named.items() if value is not None}
        of_list = next((name for name in ("budget", *named) if name in named or name in given), None)
        if self.each_leaf and of_list is not None:
            raise ParameterError(f"--{of_list} is for a short list: leave it out, or leave out --each-leaf.")
        if "tolerance" in given and chosen.name != "exact" and "tolerance" not in chosen.parameters:
            raise ParameterError(
                f"--tolerance would do nothing: the method {chosen.name!r} reads none. Leave it out, or choose a "
                "--method such as faithful."
            )
        return {**given, **named, "method": chosen.name, "each_leaf": self.each_leaf}


@dataclass(frozen=True)
class Trusting:
    """What a model's file may hold."""

    trust_pickle: bool = option("Open a pickle, which can run any code.", "--trust-pickle", default=False)
    trust: list[str] | None = option("A type that a .skops file may hold, such as my.module.Step.", metavar="TYPE")

    def load(self, path: Path, *, quiet: bool = False) -> Any:
        """Load a model."""
        from secateur.cli.console import working
        from secateur.cli.model_files import load_model

        with working("Loading the model", quiet=quiet):
            return load_model(path, trust_pickle=self.trust_pickle, trust=self.trust or ())


def spell(group: Any) -> tuple[str, ...]:
    """Write the options of a group that differ from their defaults, as on a command line.

    Examples
    --------
    >>> spell(Growing(max_depth=3, balanced=True))
    ('--max-depth', '3', '--balanced')
    """
    hints = _list_types(type(group))
    words: list[str] = []
    for one in fields(group):
        value = getattr(group, one.name)
        if value == one.default:
            continue
        option = hints[one.name].__metadata__[0]
        named = [name for name in (option.default, *(option.param_decls or ())) if str(name).startswith("--")]
        name, _, opposite = (named[0] if named else f"--{one.name.replace('_', '-')}").partition("/")
        if isinstance(value, bool):
            words.append(name if value else opposite)
        else:
            for single in value if isinstance(value, list) else [value]:
                words += [name, str(single)]
    return tuple(words)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Show typer the options of each group that a command takes."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    shown: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        own = inspect.signature(groups[name]).parameters.values() if name in groups else (parameter,)
        types = _list_types(groups[name]) if name in groups else hints
        shown += [one.replace(annotation=types[one.name], kind=inspect.Parameter.KEYWORD_ONLY) for one in own]

    def call(**parsed: Any) -> None:
        for name, group in groups.items():
            parsed[name] = group(**{one.name: parsed.pop(one.name) for one in fields(group)})
        command(**parsed)

    call.__doc__ = command.__doc__
    call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return call
