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

    from secateur.rules import RuleSet

__all__ = ["check_paths", "choose_export", "deliver", "make_export", "write_files"]

SUFFIXES = {
    ".sql": Export.sql,
    ".py": Export.python,
    ".json": Export.json,
    ".md": Export.markdown,
    ".tex": Export.latex,
    ".csv": Export.csv,
    ".txt": Export.text,
    ".html": Export.html,
    ".pmml": Export.pmml,
    ".onnx": Export.onnx,
}


def check_paths(*paths: Path | None, force: bool) -> None:
    """Refuse outputs that cannot be written, before anything is done for them."""
    from secateur.writing import check_outputs

    check_outputs([path for path in paths if path is not None and not is_screen(path)], force=force)


def make_export(rules: RuleSet, kind: Export, dialect: str, table: str) -> str | bytes:
    """Rules in one of the formats."""
    if kind is Export.sql:
        return rules.to_sql(dialect, table=table)
    makers = {
        Export.python: rules.to_python,
        Export.json: rules.to_json,
        Export.markdown: rules.to_markdown,
        Export.latex: rules.to_latex,
        Export.csv: rules.to_csv,
        Export.text: rules.to_text,
        Export.html: rules.to_html,
    }
    if kind in makers:
        return makers[kind]()
    from secateur.export.onnx import rules_to_onnx
    from secateur.export.pmml import rules_to_pmml

    return rules_to_onnx(rules) if kind is Export.onnx else rules_to_pmml(rules)


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
    from secateur import writing

    writing.write_files(
        {
            path: content if isinstance(content, bytes) or content.endswith("\n") else f"{content}\n"
            for path, content in contents.items()
        }
    )
    for path in contents:
        tell(f"Wrote {path}.", quiet=quiet)


def choose_export(export: Export | None, output: Path | None) -> Export | None:
    """What is written: as it was asked for, or as the output's ending tells."""
    if export is not None or output is None:
        return export
    found = SUFFIXES.get(output.suffix.lower())
    if found is None:
        raise ParameterError(f"What shall {output} hold? Say it with --export, such as --export sql.")
    return found
