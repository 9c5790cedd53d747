"""What a command writes about rules, and where: a page, an export, all of it or nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.cli.console import print_text, tell, working
from secateur.cli.options import DIALECTS, Export, Force, Output, complete_dialect, flag, is_screen, option
from secateur.errors import InputError, ParameterError
from secateur.rows.file_bytes import ENDING, has_packed_name, pack
from secateur.rows.whole_files import check_not_read, encode_text, is_device, stage_files, write_whole

if TYPE_CHECKING:
    from secateur.rules.rules import Rules


def check_outputs(*outputs: Path | None, inputs: Sequence[str | Path | None] = (), force: bool = False) -> None:
    """Reject outputs that cannot be written, or are also read, before any work; ``force`` replaces others."""
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


@dataclass(frozen=True)
class SqlWriting:
    """How SQL is written."""

    dialect: str = option(
        f"SQL dialect: {', '.join(DIALECTS[:-1])} or {DIALECTS[-1]}.", default="duckdb", autocompletion=complete_dialect
    )
    sql_table: str = option("The table that the SQL statement reads.", default="rows", metavar="NAME")
    plain: bool = flag("Write SQL as a plain CASE with short numbers; columns must have their types.", "--plain")
    numbers: list[str] | None = option(
        "Columns that hold numbers in the SQL table, though they were read from texts such as € 1,200.",
        metavar="COLUMNS",
    )

    def make_export(self, rules: Rules, kind: Export, missing: Sequence[str] | None) -> str | bytes:
        """Write rules in one of the formats; SQL takes the same texts for blanks as the reader of tables."""
        from secateur.export.formats import write_format
        from secateur.rows.file_queries import MISSING

        if kind not in (Export.sql, Export["sql-check"]) and (self.plain or self.numbers):
            raise ParameterError("--plain and --numbers are about SQL: leave them out, or export sql.")
        named = [word.strip() for words in self.numbers or () for word in words.split(",")]
        blanks = [*(() if self.plain else MISSING), *(missing or ())]
        options = {"dialect": self.dialect, "table": self.sql_table, "plain": self.plain, "numbers": named}
        return write_format(rules, kind.value, {**options, "blanks": blanks})


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
    """Write all files, or none if an error stops it, and say so; with ``force`` files may be replaced."""
    ended = {path: f"{one}\n" if isinstance(one, str) and one[-1:] != "\n" else one for path, one in contents.items()}
    data = {path: encode_text(path, content) for path, content in ended.items()}
    data = {path: pack(content) if has_packed_name(path) else content for path, content in data.items()}
    files = [path for path in data if not is_device(path)]
    # Everything is written before anything is moved to its place; devices and pipes get theirs in between.
    with stage_files(files, replace=force) as staged:
        for path, temporary in zip(files, staged, strict=True):
            temporary.write_bytes(data[path])
        for path in data:
            if path not in files:
                write_whole(path, data[path])
    for path in contents:
        tell(f"Wrote {path}.", quiet=quiet)


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
class Writing(SqlWriting):
    """What to write, and where."""

    report: Path | None = option("Write a page about the rules, one HTML file.", metavar="FILE")
    export: Export | None = option("Write the rules, and only them, to --output or the screen.")
    output: Output = None
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
        self,
        rules: Rules,
        export: Export | None,
        page: dict[str, Any],
        more: dict[Path, bytes],
        *,
        quiet: bool,
        missing: Sequence[str] | None = None,
    ) -> str | bytes | None:
        """Write the files, and ``more`` beside them; return what is left for the screen; ``page`` is for reports."""
        files: dict[Path, str | bytes] = {}
        if self.report is not None:
            with working("Making the page", quiet=quiet):
                files[self.report] = rules.report(**page).to_html()
        files |= more
        made = None if export is None else self.make_export(rules, export, missing)
        if made is not None and self.output is not None and not is_screen(self.output):
            files[self.output], made = made, None
        write_files(files, force=self.force, quiet=quiet)
        return made
