"""What commands write: checked before the work, made in memory, and put on disk whole at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from secateur.cli.console import print_text, tell
from secateur.cli.options import Export, is_screen
from secateur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secateur.rules.rule_set import RuleSet

__all__ = ["check_paths", "choose_export", "deliver", "make_export", "write_files"]


def check_paths(*paths: Path | None, force: bool) -> None:
    """Refuse outputs that cannot be written, before anything is done for them."""
    from secateur.rows.whole_files import check_outputs

    check_outputs([path for path in paths if path is not None and not is_screen(path)], force=force)


def make_export(rules: RuleSet, kind: Export, dialect: str, table: str) -> str | bytes:
    """Rules in one of the formats."""
    from secateur.export.formats import write_format

    return write_format(rules, kind.value, {"dialect": dialect, "table": table})


def deliver(content: str | bytes, output: Path | None, *, quiet: bool = False) -> None:
    """Put one result where it was asked for: a file, or standard output."""
    if output is not None and not is_screen(output):
        write_files({output: content}, quiet=quiet)
    elif isinstance(content, str):
        print_text(content)
    elif sys.stdout.isatty():
        raise InputError("This format is not text: name a file with --output.")
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def write_files(contents: Mapping[Path, str | bytes], *, quiet: bool = False) -> None:
    """Write files whole, all or none, and say so."""
    from secateur.rows import whole_files as writing

    writing.write_files(
        {
            path: content if isinstance(content, bytes) or content.endswith("\n") else f"{content}\n"
            for path, content in contents.items()
        }
    )
    for path in contents:
        tell(f"Wrote {path}.", quiet=quiet)


def choose_export(export: Export | None, output: Path | None, option: str = "--export") -> Export | None:
    """What is written: as it was asked for, or as the output's ending tells."""
    if export is not None or is_screen(output):
        return export
    from secateur.export.formats import FORMATS

    ending = Path(str(output)).suffix.lower()
    found = next((name for name, known in FORMATS.items() if known.suffix == ending), None)
    if found is None:
        raise ParameterError(f"What shall {output} hold? Say it with {option}, such as {option} sql.")
    return Export(found)
