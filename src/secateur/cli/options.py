"""Declare the options that several commands share; those that belong together are groups.

A command takes a group as the type of a parameter. :func:`spread` shows typer the group's options in its place, and
puts what typer parsed together again::

    @spread
    def command(data: str, reading: Reading) -> None: ...
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields, is_dataclass, replace
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
    typer.Option(
        help="How to delete; see `secateur methods`.  [default: exact]",
        autocompletion=complete_method,
    ),
]
Seed = Annotated[int, typer.Option(help="random_state of the tree.", min=0, max=2**32 - 1)]
Holdout = Annotated[float, typer.Option(metavar="SHARE", help="Share of the rows to measure on instead of fitting to.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write; - is the screen.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines, and nothing else.")]
Dialect = Annotated[
    str,
    typer.Option(
        help="SQL dialect: duckdb, postgres, spark, sqlite, tsql, bigquery or snowflake.",
        autocompletion=complete_dialect,
    ),
]
SqlTable = Annotated[str, typer.Option(metavar="NAME", help="The table that the SQL statement reads.")]


def is_screen(output: Path | None) -> bool:
    """Whether an output goes to standard output."""
    return output is None or str(output) == "-"


@dataclass(frozen=True)
class Reading:
    """How to read a table."""

    format: Annotated[
        Format | None, typer.Option("--format", help="Format of the table; by default what its first bytes show.")
    ] = None
    encoding: Annotated[str | None, typer.Option(help="Encoding of a CSV or JSON file.  [default: utf-8]")] = None
    missing: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A text in a CSV file that means a blank, like NA and ?.")
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns to take as text, though they look like numbers or dates.",
            autocompletion=complete_column,
        ),
    ] = None
    month_first: Annotated[
        bool, typer.Option("--month-first", help="Read 03/04/2021 as March 4, where no date tells.")
    ] = False
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a CSV file holds names.  [default: the lines below tell]",
            show_default=False,
        ),
    ] = None
    sample: Annotated[int | None, typer.Option(help="Number of rows to draw at random.", min=2)] = None

    def open(self, data: str, *, tree: Tree | None = None, seed: int = 0, quiet: bool = False) -> TableFile:
        """Read a table; the text columns of a tree stay text."""
        from secateur.cli.console import working
        from secateur.cli.tables.table_file import read_table
        from secateur.rows.table_columns import find_texts

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

    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of the classes.", autocompletion=complete_column)
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns to leave out, separated by commas or one option each.",
            autocompletion=complete_column,
        ),
    ] = None
    drop_class: Annotated[
        list[str] | None, typer.Option("--drop-class", metavar="CLASS", help="A class to leave out with its rows.")
    ] = None

    def require_target(self, data: str, columns: list[str] | None = None) -> str:
        """Return the target; if it was not named, list the columns, if they are known."""
        if self.target is None:
            listed = "" if columns is None else f"; its columns are {shorten(columns)}"
            raise InputError(f"Name the column of the classes of {data} with --target{listed}.")
        return self.target

    def take(self, table: TableFile) -> dict[str, Any]:
        """Make the arguments of functions that take rows of a table."""
        target = self.require_target(table.name, list(table.frame.columns))
        return {"target": target, "drop": self.drop or (), "drop_classes": self.drop_class or ()}


@dataclass(frozen=True)
class Growing:
    """How to fit a tree."""

    max_depth: Annotated[
        int | None, typer.Option(help="Depth limit of the tree.  [default: 5 for a table of your own]", min=1)
    ] = None
    min_rows: Annotated[
        int | None,
        typer.Option(help="Fewest rows in a leaf.  [default: 5, and fewer for tables of under 100 rows]", min=1),
    ] = None
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let every class count alike in fitting the tree, however rare it is.")
    ] = False
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns to use, though they look like identifiers or free text.",
            autocompletion=complete_column,
        ),
    ] = None
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
class Settings:
    """How far rules may depart from the tree, and what may be assumed of the columns."""

    budget: Annotated[
        float | None,
        typer.Option(
            help="Of a short list: fraction of the training rows of each class whose answer may differ from the "
            "tree's, or whose probability by more than the tolerance, 0 to 1.  [default: 0; compare also shows 0.01]",
            show_default=False,
        ),
    ] = None
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Of a short list: how far a line's probability may lie from the tree's; 1 keeps classes only.  "
            "[default: 0.1]  Of other methods: how far a rule's training reliability may move.  [default: 0.05]",
            show_default=False,
        ),
    ] = None
    max_conflict: Annotated[
        float | None,
        typer.Option(
            help="Of the method budgeted: share of rows that rules of different classes may cover, 0 to 1.  "
            "[default: 0.015]",
            show_default=False,
        ),
    ] = None
    no_protect: Annotated[
        bool,
        typer.Option(
            "--no-protect",
            help="Let faithful also delete conditions that point away from the class where all leaves have the class.",
        ),
    ] = False
    no_facts: NoFacts = False

    @property
    def given(self) -> dict[str, Any]:
        """Arguments of ``simplify`` that were given; raise unless the numbers are from 0 to 1."""
        from secateur.methods.settings import check_share

        named = {"budget": self.budget, "tolerance": self.tolerance, "max_conflict": self.max_conflict}
        given: dict[str, Any] = {name: check_share(name, value) for name, value in named.items() if value is not None}
        return given | ({"protect": False} if self.no_protect else {})


@dataclass(frozen=True)
class Making(Settings):
    """How rules are made: as a short list, or one for each leaf."""

    each_leaf: Annotated[
        bool, typer.Option("--each-leaf", help="Give one rule for each leaf, instead of a short list.")
    ] = False
    sections: Annotated[
        int | None,
        typer.Option(
            help="Of a short list: the most sections.  [default: up to 4, as long as each saves conditions]",
            min=1,
            show_default=False,
        ),
    ] = None
    otherwise: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Of a short list: the class of “otherwise”.  [default: the one that leaves the fewest conditions]",
            show_default=False,
        ),
    ] = None
    of: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="The class of interest: lines of a short list are listed by its share.  [default: the rarer of two]",
            show_default=False,
        ),
    ] = None
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
        is_own = chosen.name == "exact" and not self.each_leaf
        if "tolerance" in given and not is_own and "tolerance" not in chosen.parameters:
            raise ParameterError(
                f"--tolerance would do nothing: the method {chosen.name!r} reads none. Leave it out, or choose a "
                "--method such as faithful."
            )
        return {**given, **named, "method": chosen.name, "each_leaf": self.each_leaf}


@dataclass(frozen=True)
class Trusting:
    """What a model's file may hold."""

    trust_pickle: Annotated[bool, typer.Option("--trust-pickle", help="Open a pickle, which can run any code.")] = False
    trust: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE", help="A type that a .skops file may hold, such as my.module.Step."),
    ] = None

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
    hints = get_type_hints(type(group), include_extras=True)
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
        types = get_type_hints(groups[name], include_extras=True) if name in groups else hints
        shown += [one.replace(annotation=types[one.name], kind=inspect.Parameter.KEYWORD_ONLY) for one in own]

    def call(**parsed: Any) -> None:
        for name, group in groups.items():
            parsed[name] = group(**{one.name: parsed.pop(one.name) for one in fields(group)})
        command(**parsed)

    call.__doc__ = command.__doc__
    call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return call
