"""The formats in which rules leave secateur, by name: what a file of it is called, and which method writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secateur.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["FORMATS", "Format", "find_format", "write_format"]


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes
    ----------
    name : str
    suffix : str
        How the name of such a file ends.
    words : str
        What it is, in a few words.
    method : str
        The method of a rule set that writes it.
    options : tuple of str
        The arguments of the method that a person may choose.
    fixed : mapping of str to object
        The arguments that make it this format.
    """

    name: str
    suffix: str
    words: str
    method: str
    options: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)


def find_format(name: str) -> Format:
    """The format of a name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Format

    Examples
    --------
    >>> find_format("sql").suffix
    '.sql'
    """
    found = FORMATS.get(str(name).strip().lower())
    if found is None:
        choices = ", ".join(FORMATS)
        raise ParameterError(f"There is no format {name!r}; choose one of {choices}.{did_you_mean(name, FORMATS)}")
    return found


def write_format(rules: RuleSet, name: str, options: Mapping[str, Any] | None = None) -> str | bytes:
    """Rules in the format of a name.

    Parameters
    ----------
    rules : RuleSet
    name : str
        A name of :data:`FORMATS`.
    options : mapping of str to object, default=None
        ``dialect`` and ``table`` of SQL, ``name`` of a Python function, ``reasons`` of text and Markdown.

    Returns
    -------
    str or bytes
    """
    chosen = find_format(name)
    given = {name: value for name, value in (options or {}).items() if name in chosen.options}
    written: str | bytes = getattr(rules, chosen.method)(**chosen.fixed, **given)
    return written


FORMATS = {
    written.name: written
    for written in (
        Format("sql", ".sql", "one SQL statement", "to_sql", ("dialect", "table")),
        Format("python", ".py", "a Python function without imports", "to_python", ("name",)),
        Format("numpy", ".py", "a Python function for columns", "to_python", ("name",), {"vectorized": True}),
        Format("json", ".json", "everything, to be read back and verified", "to_json"),
        Format("markdown", ".md", "a table for a page", "to_markdown", ("reasons",)),
        Format("latex", ".tex", "a table for a paper", "to_latex"),
        Format("csv", ".csv", "a table for a spreadsheet", "to_csv"),
        Format("text", ".txt", "a line a rule", "to_text", ("reasons",)),
        Format("html", ".html", "the report, one page", "to_html"),
        Format("pmml", ".pmml", "a RuleSetModel for programs that run PMML", "to_pmml"),
        Format("onnx", ".onnx", "a model for programs that run ONNX", "to_onnx"),
    )
}
