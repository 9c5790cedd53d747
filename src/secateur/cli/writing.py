"""What a command writes about rules, and where: a page, an export, all of it or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.cli.console import working
from secateur.cli.options import Dialect, Export, Force, Output, SqlTable, is_screen, option
from secateur.cli.outputs import check_outputs, choose_export, make_export, write_files
from secateur.errors import ParameterError

if TYPE_CHECKING:
    from secateur.rules.rules import Rules


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
