"""Read large files, directories and patterns in batches."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from functools import partial
from glob import has_magic
from typing import TYPE_CHECKING, Any

from secateur.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secateur.cli.options import Reading, Rows
    from secateur.rows.sources import Source
    from secateur.tree.tree import Tree

# Larger files, in bytes, are read in batches; docs/command-line.md says so too.
LARGE_FILE = 256 << 20


def in_batches(data: str, tree: Tree | None) -> bool:
    """Whether to read a table in batches; a tree that must be fitted first needs all rows in memory."""
    is_many = os.path.isdir(data) or (has_magic(data) and not os.path.exists(data))
    if tree is None:
        if is_many:
            raise ParameterError(
                f"{data} names several files, which are read in batches, but a tree is fitted in memory: name one "
                "file, or pass a tree with --model."
            )
        return False
    return is_many or (os.path.isfile(data) and os.path.getsize(data) > LARGE_FILE)


def check_batch_options(data: str, used: Rows, reading: Reading, holdout: float) -> None:
    """Reject options that need all rows at once."""
    asked = {
        "--holdout": holdout,
        "--drop": used.drop,
        "--drop-class": used.drop_class,
        "--sample": reading.sample,
        "--encoding": reading.encoding,
        "--missing": reading.missing,
        "--text": reading.text,
        "--month-first": reading.month_first,
    }
    unread = next((name for name, value in asked.items() if value), None)
    if unread is not None:
        raise ParameterError(
            f"{data} is read in batches (as directories, patterns and files over {LARGE_FILE >> 20} MiB are), where "
            f"{unread} does not work: leave it out, or make a smaller file."
        )


@contextmanager
def open_batches(
    data: str, tree: Tree, target: str, reading: Reading, *, no_facts: bool = False
) -> Iterator[tuple[Source, list[str]]]:
    """Open the labelled rows of a table to read in batches, and a list that has notes about it at the end."""
    from secateur.rows.duckdb_sources import open_files
    from secateur.rows.table_columns import find_texts

    skipped: Counter[str] = Counter()
    stated = "no fact" if no_facts else "no fact but the types of its columns"
    notes = [f"The table was read in batches; {stated} is taken from it."]
    asked: dict[str, Any] = {"format": reading.format, "header": reading.header}
    with open_files(data, find_texts=partial(find_texts, tree, target), **asked) as source:
        labelled = source.without_blanks(source.find(target, "--target names"), skipped)
        yield labelled.as_floats(target) if no_facts else labelled, notes
    if skipped[target]:
        notes.append(f"{skipped[target]:,} rows without a value of {target!r} were left out.")
