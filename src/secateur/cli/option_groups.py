"""Options that belong together: each group is declared once, and commands take it as one argument.

A command names a group as the type of a parameter; :func:`spread` replaces that parameter by the group's options for
typer, and puts what it parsed together again::

    @spread
    def command(data: str, reading: Reading) -> None: ...
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from secateur.cli.options import (
    Budget,
    Drop,
    DropClass,
    Encoding,
    MaxDepth,
    MinRows,
    Missing,
    NoFacts,
    Sample,
    Seed,
    TableFormat,
    Target,
    Tolerance,
    Trust,
    TrustPickle,
)
from secateur.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secateur.cli.tables.table_file import TableFile
    from secateur.tree.tree import Tree

__all__ = ["Growing", "Knobs", "Reading", "Rows", "Trusting", "spread"]


@dataclass(frozen=True)
class Reading:
    """How a table is read."""

    format: TableFormat = None
    encoding: Encoding = None
    missing: Missing = None
    sample: Sample = None

    def open(self, data: str, *, tree: Tree | None = None, seed: int = 0, quiet: bool = False) -> TableFile:
        """Read a table; the text columns of a tree stay text."""
        from secateur.cli.console import working
        from secateur.cli.tables.table_file import read_table
        from secateur.rows.table_columns import find_texts

        with working("Reading the table", quiet=quiet):
            return read_table(
                data,
                format=None if self.format is None else self.format.value,
                encoding=self.encoding,
                missing=self.missing or (),
                text=() if tree is None else find_texts(tree),
                sample=self.sample,
                seed=seed,
            )


@dataclass(frozen=True)
class Rows:
    """Which rows and columns of a table are used, and what they are about."""

    target: Target = None
    drop: Drop = None
    drop_class: DropClass = None

    def require_target(self, table: TableFile) -> str:
        """The target; where it was not named, say which columns there are."""
        if self.target is None:
            from secateur.errors import shorten

            raise InputError(
                f"Name the column of the classes with --target; {table.name} has {shorten(list(table.frame.columns))}."
            )
        return self.target

    def require_name(self, data: str) -> str:
        """The target of a table that is not read yet."""
        if self.target is None:
            raise InputError(f"Name the column of the classes of {data} with --target.")
        return self.target

    def take(self, table: TableFile) -> dict[str, Any]:
        """The arguments of functions that take rows of a table."""
        return {
            "target": self.require_target(table),
            "drop": self.drop or (),
            "drop_classes": self.drop_class or (),
        }


@dataclass(frozen=True)
class Growing:
    """How a tree is fitted."""

    max_depth: MaxDepth = None
    min_rows: MinRows = 1
    seed: Seed = 0

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of functions that fit a tree."""
        depth = {} if self.max_depth is None else {"max_depth": self.max_depth}
        return {**depth, "min_rows": self.min_rows, "seed": self.seed}


@dataclass(frozen=True)
class Knobs:
    """How much the methods may delete, and what they may take for granted."""

    tolerance: Tolerance = None
    budget: Budget = None
    no_facts: NoFacts = False

    @property
    def settings(self) -> dict[str, float]:
        """The settings of methods that were named."""
        named = {"tolerance": self.tolerance, "budget": self.budget}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Trusting:
    """What a model's file may hold."""

    trust_pickle: TrustPickle = False
    trust: Trust = None

    def load(self, path: Path, *, quiet: bool = False) -> Any:
        """Load a model."""
        from secateur.cli.console import working
        from secateur.cli.model_files import load_model

        with working("Loading the model", quiet=quiet):
            return load_model(path, trust_pickle=self.trust_pickle, trust=self.trust or ())


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Let typer see the options of each group that a command takes."""
    hints = get_type_hints(command, include_extras=True)
    shown: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            shown.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = kind  # type: ignore[assignment]
        types = get_type_hints(kind, include_extras=True)
        shown += [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=types[one.name])
            for one in fields(kind)
        ]

    def call(**parsed: Any) -> None:
        gathered = {
            name: group(**{one.name: parsed.pop(one.name) for one in fields(group)}) for name, group in groups.items()
        }
        command(**parsed, **gathered)

    call.__doc__ = command.__doc__
    call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return call
