"""The table of formats: every way to write rules, what it is called and which function writes it.

``Rules.to_*``, the command line's ``--export`` and the table in ``docs/exports.md`` follow this one.
``docs/development.md`` says how to add one. Writers are named as text: sqlglot, onnx and jinja2 load slowly.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from secateur.errors import ParameterError, did_you_mean, need_library
from secateur.export.python import check_function_name
from secateur.export.sql_dialects import check_result_names, find_dialect, split_table
from secateur.methods.contract import check_flag, check_whole
from secateur.rules.rules import Rules

Options: TypeAlias = Mapping[str, Callable[[Any], object] | None]


@dataclass(frozen=True)
class Format:
    """One way to write rules."""

    name: str
    suffix: str  # how the name of such a file ends
    words: str  # what it is
    writer: str  # module and function, which takes the rules and the options
    # Options that a person may choose, each with a function that raises for a bad value, if the writer does not.
    options: Options = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)  # arguments of the writer that make it this format
    needs: tuple[str, str] | None = None  # a library that is not always there, and the extra that installs it

    def check(self, options: Mapping[str, Any]) -> None:
        """Reject options that the format does not have, and values that they cannot take."""
        for name, value in options.items():
            if name not in self.options:
                known = f"its options are {', '.join(self.options)}" if self.options else "it has none"
                hint = did_you_mean(name, self.options)
                raise ParameterError(f"The format {self.name!r} has no option {name!r}; {known}.{hint}")
            if (check := self.options[name]) is not None:
                check(value)

    def write(self, rules: Rules, options: Mapping[str, Any]) -> Any:
        """Check the options and write the rules."""
        self.check(options)
        if self.needs is not None:
            need_library(*self.needs, f"The format {self.name!r}")
        module, _, function = self.writer.partition(":")
        return getattr(import_module(f"secateur.{module}"), function)(rules, **self.fixed, **options)


def find_format(name: str) -> Format:
    """Find a format of files by its name, in any case."""
    found = FORMATS.get(str(name).strip().lower())
    if found is None:
        choices = ", ".join(FORMATS)
        raise ParameterError(f"There is no format {name!r}; choose one of {choices}.{did_you_mean(name, FORMATS)}")
    return found


def write_format(rules: Rules, name: str, options: Mapping[str, Any] | None = None) -> str | bytes:
    """Write rules in a format of files; options of other formats are left aside."""
    chosen = find_format(name)
    own = {option: value for option, value in (options or {}).items() if option in chosen.options}
    written: str | bytes = chosen.write(rules, own)
    return written


def write_rules(rules: Rules, name: str, /, **options: Any) -> Any:
    """Write rules in a format of files, or as a ``"frame"``; an option that the format does not have is rejected."""
    return (FRAME if name == FRAME.name else find_format(name)).write(rules, options)


def _check_width(width: Any) -> None:
    if width is not None:
        check_whole("width", width, also=", or None")


def _check_texts(name: str, texts: Any) -> None:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise ParameterError(f"Expected {name} as a list of texts, found {texts!r}.")


SQLGLOT = ("sqlglot", "sql")
SQL_CHECK: Options = {
    "dialect": find_dialect,
    "table": split_table,
    "numbers": partial(_check_texts, "numbers"),
    "blanks": partial(_check_texts, "blanks"),
}
SQL: Options = {**SQL_CHECK, "names": check_result_names, "plain": partial(check_flag, "plain")}
PYTHON = {"name": check_function_name}
REASONS = {"reasons": partial(check_flag, "reasons")}
NESTED = {"nested": partial(check_flag, "nested")}
TEXT: Options = {**REASONS, **NESTED, "width": _check_width}

FORMATS = {
    written.name: written
    for written in (
        Format("sql", ".sql", "one SQL statement", "export.sql:rules_to_sql", SQL, needs=SQLGLOT),
        Format(
            *("sql-check", ".sql", "a query for the rows that SQL cannot decide", "export.sql:rules_to_sql_check"),
            SQL_CHECK,
            needs=SQLGLOT,
        ),
        Format("python", ".py", "a Python function without imports", "export.python:rules_to_python", PYTHON),
        Format(
            *("numpy", ".py", "a Python function for columns", "export.python:rules_to_python", PYTHON),
            fixed={"vectorized": True},
        ),
        Format("json", ".json", "everything, to be read back and verified", "export.json:rules_to_json"),
        Format("markdown", ".md", "a table for a page", "export.text:rules_to_markdown", REASONS),
        Format("latex", ".tex", "a table for a paper", "export.text:rules_to_latex"),
        Format("csv", ".csv", "a table for a spreadsheet", "export.csv:rules_to_csv"),
        Format("text", ".txt", "one line per rule", "export.text:rules_to_text", TEXT),
        Format("html", ".html", "the report, one page", "report.page:rules_to_page"),
        Format("pmml", ".pmml", "a model for programs that run PMML", "export.pmml:rules_to_pmml"),
        Format("onnx", ".onnx", "a model for programs that run ONNX", "export.onnx:rules_to_onnx"),
        Format("smt2", ".smt2", "tree and rules for a solver to compare", "export.smtlib:rules_to_smtlib"),
    )
}
FRAME = Format("frame", "", "a pandas or polars data frame", "export.csv:rules_to_frame", {"library": None})
