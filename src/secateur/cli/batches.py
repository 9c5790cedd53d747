"""Large tables on the command line: files over a size, directories and patterns are read in batches."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from functools import partial
from glob import has_magic
from typing import TYPE_CHECKING, Any

from secateur.cli.option_groups import Rows
from secateur.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secateur.cli.option_groups import Reading
    from secateur.rows.source import Source
    from secateur.tree.tree import Tree

__all__ = ["LARGE_FILE", "check_batch_options", "in_batches", "open_batches"]

# Bytes of a file that is read in batches; docs/command-line.md says so too.
LARGE_FILE = 256 << 20


def in_batches(data: str, tree: Tree | None) -> bool:
    """Whether a table is read in batches; a tree that must be fitted first needs its rows in memory."""
    is_many = os.path.isdir(data) or (has_magic(data) and not os.path.exists(data))
    if tree is None:
        if is_many:
            raise ParameterError(
                f"{data} names several files, which are read in batches, but a tree is fitted in memory: name one "
                "file, or bring a tree with --model."
            )
        return False
    return is_many or (os.path.isfile(data) and os.path.getsize(data) > LARGE_FILE)


def check_batch_options(data: str, used: Rows, reading: Reading, holdout: float) -> None:
    """Refuse options that need all rows at once."""
    asked = {
        "--holdout": holdout,
        "--drop": used.drop,
        "--drop-class": used.drop_class,
        "--sample": reading.sample,
        "--encoding": reading.encoding,
        "--missing": reading.missing,
    }
    unread = next((name for name, value in asked.items() if value), None)
    if unread is not None:
        raise ParameterError(
            f"{data} is read in batches, as directories, patterns and files over {LARGE_FILE >> 20} MiB are, and "
            f"{unread} does not work there: leave it out, or make a smaller file."
        )


@contextmanager
def open_batches(
    data: str, tree: Tree, target: str, reading: Reading, *, no_facts: bool = False
) -> Iterator[tuple[Source, Callable[[], tuple[str, ...]]]]:
    """A table to be read in batches, without the rows that have no label; and what is to be said of it at the end."""
    from secateur.rows.duckdb_sources import open_files
    from secateur.rows.table_columns import find_texts

    skipped: Counter[str] = Counter()

    def tell() -> tuple[str, ...]:
        granted = "nothing is" if no_facts else "only the types of its columns are"
        told: list[Any] = [f"The table was read in batches; {granted} taken for granted."]
        if skipped[target]:
            told.append(f"{skipped[target]:,} rows without a value of {target!r} were left out.")
        return tuple(told)

    format = None if reading.format is None else reading.format.value
    with open_files(data, format=format, find_texts=partial(find_texts, tree, target)) as source:
        labelled = source.without_blanks(source.find(target, "--target names"), skipped)
        yield labelled.as_floats(target) if no_facts else labelled, tell
