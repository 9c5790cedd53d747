"""What a command writes about rules, and where: a page, an export, all of it or nothing."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.cli.console import print_text, tell, working
from secateur.cli.options import Dialect, Export, Force, Output, SqlTable, is_screen, option
from secateur.errors import InputError, ParameterError
from secateur.rows.file_bytes import ENDING, has_packed_name, pack
from secateur.rows.whole_files import check_not_read, encode_text, is_device, stage_files, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secateur.rules.rules import Rules


def check_outputs(*outputs: Path | None, inputs: Sequence[str | Path | None] = (), force: bool = False) -> None:
    """Reject outputs that cannot be written, or are also read, before any work is done.

    With ``force`` a file may be replaced, but never one of the ``inputs``.
    """
    seen: set[str] = set()
    for path in outputs:
        if path is None or is_screen(path):
            continue
        if path.is_dir():
            raise InputError(f"{path} is a directory: name a file in it.")
        if not path.parent.is_dir():
            raise InputError(f"Cannot write {path}: there is no directory {path.parent}. Make it first.")
        check_not_read(path, inputs)
        if path.exists() and not is_device(path) and not force:
            raise InputError(f"{path} exists already: pass --force to replace it, or name another file.")
        if not os.access(path if is_device(path) else path.parent, os.W_OK):
            raise InputError(f"Cannot write {path}: you may not write to {path.parent}. Name another place.")
        if (place := os.path.realpath(path)) in seen and not is_device(path):
            raise InputError(f"Two outputs would go to {path}: name a file for each.")
        seen.add(place)


def make_export(rules: Rules, kind: Export, dialect: str, table: str) -> str | bytes:
    """Write rules in one of the formats."""
    from secateur.export.formats import write_format

    return write_format(rules, kind.value, {"dialect": dialect, "table": table})


def deliver(content: str | bytes, output: Path | None, *, force: bool = False, quiet: bool = False) -> None:
    """Put one result into a file or on standard output."""
    if output is not None and not is_screen(output):
        write_files({output: content}, force=force, quiet=quiet)
    elif isinstance(content, str):
        print_text(content)
    elif sys.stdout.isatty():
        raise InputError("This format is not text: name a file with --output.")
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def write_files(contents: Mapping[Path, str | bytes], *, force: bool = False, quiet: bool = False) -> None:
    """Write all files, or none if an error stops it, and say so; with ``force`` files may be replaced.

    Everything is written before anything is moved to its place; devices and pipes get theirs in between. A file whose
    name ends with ``.gz`` is packed.
    """
    data = {path: encode_text(path, _end_line(content)) for path, content in contents.items()}
    data = {path: pack(content) if has_packed_name(path) else content for path, content in data.items()}
    files = [path for path in data if not is_device(path)]
    with stage_files(files, replace=force) as staged:
        for path, temporary in zip(files, staged, strict=True):
            temporary.write_bytes(data[path])
        for path in data:
            if path not in files:
                write_whole(path, data[path])
    for path in contents:
        tell(f"Wrote {path}.", quiet=quiet)


def _end_line(content: str | bytes) -> str | bytes:
    return content if isinstance(content, bytes) or content.endswith("\n") else f"{content}\n"


def choose_export(export: Export | None, output: Path | None, option: str = "--export") -> Export | None:
    """Settle what to write: what was asked for, or what the output's ending says, which ``.gz`` may follow."""
    if export is not None or is_screen(output):
        return export
    from secateur.export.formats import FORMATS

    name = str(output).lower()
    ending = Path(name[: -len(ENDING)] if has_packed_name(name) else name).suffix
    found = next((name for name, known in FORMATS.items() if known.suffix == ending), None)
    if found is None:
        raise ParameterError(f"What should {output} hold? Say it with {option}, such as {option} sql.")
    return Export(found)


@dataclass(frozen=True)
class Writing:
    """What to write, and where."""

    report: Path | None = option("Write a page about the rules, one HTML file.", metavar="FILE")
    export: Export | None = option("Write the rules, and only them, to --output or the screen.")
    output: Output = None
    dialect: Dialect = "duckdb"
    sql_table: SqlTable = "rows"
    force: Force = False

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files that were asked for."""
        return self.output, self.report

    def check(self, *inputs: str | Path | None, as_json: bool) -> Export | None:
        """Reject what cannot be written, or is also read, and settle what to export."""
        export = choose_export(self.export, self.output)
        if as_json and export is not None and is_screen(self.output):
            raise ParameterError("--json and --export would both go to the screen: name a file with --output.")
        check_outputs(*self.files, inputs=inputs, force=self.force)
        return export

    def write(
        self, rules: Rules, export: Export | None, page: dict[str, Any], more: dict[Path, bytes], *, quiet: bool
    ) -> str | bytes | None:
        """Write the files, and ``more`` beside them, and return what is left for the screen.

        ``page`` are arguments of ``rules.report``.
        """
        files: dict[Path, str | bytes] = {}
        if self.report is not None:
            with working("Making the page", quiet=quiet):
                files[self.report] = rules.report(**page).to_html()
        files |= more
        made = None if export is None else make_export(rules, export, self.dialect, self.sql_table)
        if made is not None and self.output is not None and not is_screen(self.output):
            files[self.output], made = made, None
        write_files(files, force=self.force, quiet=quiet)
        return made
