"""Declare the options that several commands share; those that belong together are groups.

A command takes a group as the type of a parameter. :func:`spread` shows typer the group's options in its place, and
puts what typer parsed together again::

    @spread
    def command(data: str, reading: Reading) -> None: ...
"""

from __future__ import annotations

import inspect
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from secateur.errors import InputError, ParameterError, shorten

if TYPE_CHECKING:
    from secateur.cli.tables.table_file import TableFile
    from secateur.cli.tables.training_table import TrainingTable
    from secateur.tree.tree import Tree

NAMED = re.compile(r'^    name = "(.+)"$', re.MULTILINE)
DIALECTS = (
    *("duckdb", "postgres", "spark", "sqlite", "tsql", "bigquery", "snowflake"),
    *("databricks", "redshift", "mysql", "trino", "clickhouse", "oracle"),
)
# What a table and rules may be written as.
Format = StrEnum("Format", ["csv", "tsv", "json", "parquet", "arrow"])
Export = StrEnum(
    "Export",
    ["sql", "sql-check", "python", "numpy", "json", "markdown", "latex", "csv", "text", "html", "pmml", "onnx", "smt2"],
)


def complete_method(incomplete: str) -> list[str]:
    """List the methods that begin so, as their files name them: importing those takes longer than a person waits."""
    texts = (file.read_text(encoding="utf-8") for file in (Path(__file__).parents[1] / "methods").glob("*.py"))
    names = sorted(name for text in texts if "\nMETHODS = " in text for name in NAMED.findall(text))
    return [name for name in names if name.startswith(incomplete.lower())]


def complete_dialect(incomplete: str) -> list[str]:
    """List the SQL dialects that begin so."""
    return [name for name in DIALECTS if name.startswith(incomplete.lower())]


def complete_column(incomplete: str) -> list[str]:
    """List the columns that begin so of the CSV file on the line."""
    from secateur.rows.file_queries import read_header_names

    # The parser gives up on a line that ends in an option without a value, so read the words of the shell.
    words = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        listed = shlex.split(words)
    except ValueError:  # a quote is still open
        listed = words.split()
    # Rules and models stand before the table, and are not it.
    paths = (Path(word) for word in listed[1:])
    file = next((path for path in paths if path.suffix.lower() != ".json" and path.is_file()), None)
    names = [] if file is None else read_header_names(file)
    return [name for name in names if name.startswith(incomplete)]


RulesFile = Annotated[Path, typer.Argument(metavar="RULES", help="Rules as --export json wrote them.")]
NoFacts = Annotated[
    bool, typer.Option("--no-facts", help="Take no facts from the table: whole numbers, decimals, no blanks.")
]
FROM = "The table that the rules were made from, for numbers about its rows; - is standard input."
RulesData = Annotated[str | None, typer.Option(metavar="FILE", help=FROM)]
TABLE = typer.Argument(metavar="DATA", help="CSV, TSV, JSON lines, Parquet, Arrow, .xlsx or .ods; - is standard input.")
Data = Annotated[str, TABLE]
MaybeData = Annotated[str | None, TABLE]
MODEL = "A fitted model (.skops, a tree or rules as JSON, ONNX or PMML) instead of a tree fitted here."
Model = Annotated[Path | None, typer.Option(metavar="FILE", help=MODEL)]
Method = Annotated[
    str | None,
    typer.Option(help="How to delete; see `secateur methods`.  [default: exact]", autocompletion=complete_method),
]
Seed = Annotated[int, typer.Option(help="random_state of the tree.", min=0, max=2**32 - 1)]
Holdout = Annotated[float, typer.Option(metavar="SHARE", help="Share of the rows to measure on instead of fitting to.")]
HELD_OUT = "Share of the rows that was set aside.  [default: as the rules say]"
HeldOut = Annotated[float | None, typer.Option(metavar="SHARE", help=HELD_OUT)]
POLICY = "A policy to compare with, such as 'reject if dti > 45 and late >= 1; otherwise approve'."
Policy = Annotated[str | None, typer.Option(metavar="TEXT", help=POLICY)]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write; - is the screen.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines, and nothing else.")]


def is_screen(output: Path | None) -> bool:
    """Whether an output goes to standard output."""
    return output is None or str(output) == "-"


def option(help: str, *names: str, default: Any = None, **declared: Any) -> Any:
    """Declare an option of a group, with what typer is told of it; by default it is named as its field."""
    return field(default=default, metadata={"option": typer.Option(*names, help=help, **declared)})


def column_option(help: str, *names: str, metavar: str = "COLUMN") -> Any:
    """Declare an option that names columns of the table."""
    return option(help, *names, metavar=metavar, autocompletion=complete_column)


def flag(help: str, *names: str) -> Any:
    """Declare an option of a group that is on or off, and has no opposite."""
    return option(help, *names, default=False)


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
    text: list[str] | None = column_option(
        "Columns to take as text, though they look like numbers or dates.", metavar="COLUMNS"
    )
    blank_unreadable: float = option(
        "Share of a column's cells, such as 0.01, that count as blanks if they cannot be read.",
        **{"default": 0.0, "min": 0.0, "max": 0.1, "metavar": "SHARE", "show_default": False},
    )
    month_first: bool = flag("Read 03/04/2021 as March 4, where no date tells.", "--month-first")
    header: bool | None = option(
        "Whether the first line of a CSV file holds names.  [default: the lines below tell]", "--header/--no-header"
    )
    sheet: str | None = option("Sheet of a workbook.  [default: the first]", metavar="NAME", show_default=False)
    sample: int | None = option("Number of rows to draw at random.", min=2)

    def open(self, data: str, *, tree: Tree | None = None, seed: int = 0, quiet: bool = False) -> TableFile:
        """Read a table; the text columns of a tree stay text."""
        from secateur.cli.console import working
        from secateur.cli.tables.table_file import read_table
        from secateur.rows.encoding import find_texts

        text = [] if tree is None else find_texts(tree)
        for words in self.text or ():
            text += [words, *(word.strip() for word in words.split(","))]
        named: dict[str, Any] = {one: getattr(self, one) for one in ("format", "encoding", "header", "sheet", "sample")}
        with working("Reading the table", quiet=quiet):
            table = read_table(data, **named, missing=self.missing or (), text=text, seed=seed)
        asked: dict[str, Any] = {"month_first": self.month_first, "blank_unreadable": self.blank_unreadable}
        return replace(table, as_text=tuple(self.text or ()), **asked)

    def label(
        self, data: str, tree: Tree, used: Rows, *, seed: int = 0, quiet: bool = False
    ) -> tuple[TableFile, TrainingTable]:
        """Read a table, and its labelled rows as a tree takes them."""
        from secateur.cli.tables.fitted_table import label_rows

        table = self.open(data, tree=tree, seed=seed, quiet=quiet)
        return table, label_rows(table, tree, **used.take(table))


@dataclass(frozen=True)
class Rows:
    """Which rows and columns of a table to use, and what they are about."""

    target: str | None = column_option("The column of the classes, or of the numbers, to predict.")
    drop: list[str] | None = column_option(
        "Columns to leave out, separated by commas or one option each.", metavar="COLUMNS"
    )
    drop_class: list[str] | None = option("A class to leave out with its rows.", "--drop-class", metavar="CLASS")
    classes: bool = flag(
        "Take the numbers of the target for classes. Many different ones are predicted as numbers otherwise.",
        "--classes",
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


def require_both(data: str | None, used: Rows) -> None:
    """Raise unless a table and its target were both named, or neither."""
    if (data is None) != (used.target is None):
        raise ParameterError("Name the table and the column of its classes: --data FILE --target COLUMN.")


@dataclass(frozen=True)
class Growing:
    """How to fit a tree."""

    max_depth: int | None = option("Depth limit of the tree.  [default: 5 for a table of your own]", min=1)
    min_rows: int | None = option("Fewest rows in a leaf.  [default: 5, and fewer for tables of under 100 rows]", min=1)
    balanced: bool = flag("Let every class count alike in fitting the tree, however rare it is.", "--balanced")
    keep: list[str] | None = column_option(
        "Columns to use, though they look like identifiers or free text.", metavar="COLUMNS"
    )
    seed: Seed = 0

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of functions that fit a tree."""
        depth = {} if self.max_depth is None else {"max_depth": self.max_depth}
        asked = {"min_rows": self.min_rows, "balanced": self.balanced, "keep": self.keep or (), "seed": self.seed}
        return {**depth, **asked}


@dataclass(frozen=True)
class Splitting:
    """Which rows are set aside to measure on."""

    holdout: float | None = option(
        "Share of the rows to set aside, so that numbers hold for new rows; 0 uses all.  [default: 0.25 if a tree is "
        "fitted here to at least 200 rows]",
        metavar="SHARE",
    )
    split_by: str | None = column_option(
        "Set the last rows by this column aside, so that later rows judge earlier ones.", "--split-by"
    )
    group: str | None = column_option("Set whole groups of rows aside: those with one value of this column.")


@dataclass(frozen=True)
class Settings:
    """How far rules may depart from the tree, and what may be assumed of the columns."""

    budget: float | None = option(
        "Of a short list: fraction of the training rows of each class whose answer may differ from the "
        "tree's, or whose probability by more than the tolerance, 0 to 1.  [default: 0; compare also shows 0.01]"
    )
    tolerance: str | None = option(
        "Of a short list: how far a line's probability may lie from the tree's; 1 keeps classes only.  "
        "[default: 0.1]  Of other methods: how far a rule's training reliability may move.  [default: 0.05]  "
        "Of numbers: how far a value may lie from the tree's, in their units, or as 0.25sd.  [default: 0.25sd]",
        metavar="NUMBER",
    )
    max_conflict: float | None = option(
        "Of the method budgeted: share of rows that rules of different classes may cover, 0 to 1.  [default: 0.015]"
    )
    no_protect: bool = flag(
        "Let faithful also delete conditions that point away from the class where all leaves have the class.",
        "--no-protect",
    )
    no_facts: NoFacts = False

    @property
    def given(self) -> dict[str, Any]:
        """Arguments of ``simplify`` that were given; raise unless the numbers are from 0 to 1."""
        from secateur.methods.contract import check_share

        named = {"budget": self.budget, "max_conflict": self.max_conflict}
        given: dict[str, Any] = {name: check_share(name, value) for name, value in named.items() if value is not None}
        if (text := self.tolerance) is not None:
            try:
                given["tolerance"] = text.strip() if text.strip().endswith("sd") else float(text)
            except ValueError:
                told = f"Expected --tolerance as a number, or for numbers such as 0.25sd, found {text!r}."
                raise ParameterError(told) from None
        return given | ({"protect": False} if self.no_protect else {})


def _read_cost(text: str) -> tuple[str, float]:
    name, _, cost = text.rpartition("=")
    try:
        return name.strip().strip("`"), float(cost)
    except ValueError:
        raise ParameterError(
            f"Expected --prefer as a column and its cost, such as 'age = 10', found {text!r}."
        ) from None


@dataclass(frozen=True)
class Making(Settings):
    """How rules are made: as a short list, or one for each leaf."""

    each_leaf: bool = flag("Give one rule for each leaf, instead of a short list.", "--each-leaf")
    sections: int | None = option(
        "Of a short list: the most sections.  [default: up to 4, as long as each saves conditions]", min=1
    )
    otherwise: str | None = option(
        "Of a short list: the class of “otherwise”.  [default: the one that leaves the fewest conditions]",
        metavar="CLASS",
    )
    of: str | None = option(
        "The class of interest: lines of a short list are listed by its share.  [default: the rarer of two]",
        metavar="CLASS",
    )
    prefer: list[str] | None = option(
        "Of a short list: what asking a column costs, such as 'biopsy = 10'; else 1.", metavar="COST"
    )
    max_columns: int | None = option("Of a short list: the most columns that it may ask.", min=1)
    method: Method = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of ``simplify``; options that would do nothing are rejected."""
        from secateur.methods import find_method

        given = self.given
        chosen = find_method("exact" if self.method is None else self.method)
        named = {name: getattr(self, name) for name in ("sections", "otherwise", "of", "max_columns")}
        named["prefer"] = dict(map(_read_cost, self.prefer)) if self.prefer else None
        named = {name: value for name, value in named.items() if value is not None}
        of_list = next((name for name in ("budget", *named) if name in named or name in given), "").replace("_", "-")
        if self.each_leaf and of_list:
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

    trust_pickle: bool = flag("Open a pickle, which can run any code.", "--trust-pickle")
    trust: list[str] | None = option("A type that a .skops file may hold, such as my.module.Step.", metavar="TYPE")

    def load(self, path: Path, growing: Growing | None = None, *, quiet: bool = False) -> Any:
        """Load a model; reject what would do nothing to a tree that is fitted already: the seed also draws rows."""
        from secateur.cli.console import working
        from secateur.cli.model_files import load_model

        if growing is not None and replace(growing, seed=0) != Growing():
            raise ParameterError(
                "--max-depth, --min-rows, --balanced and --keep are for a tree that is fitted here: leave them out."
            )
        with working("Loading the model", quiet=quiet):
            return load_model(path, trust_pickle=self.trust_pickle, trust=self.trust or ())


def spell(*groups: Any) -> tuple[str, ...]:
    """Write the options of groups that differ from their defaults, as on a command line."""
    words: list[str] = []
    for made, one in [pair for group in groups for pair in product([group], fields(group))]:
        value = getattr(made, one.name)
        if value == one.default:
            continue
        option = _list_types(type(made))[one.name].__metadata__[0]
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
