"""Every field of stored rules, and who checks it: ``fields.csv`` for the reader, the checker and the documentation.

``reasons.csv`` lists the kinds of reasons, and who checks the numbers behind each.

A field that is not listed here is rejected when a file is read. What people see of a field that nobody checked is named
in ``Verification.unchecked``.
"""

import csv
from collections.abc import Iterator, Mapping
from enum import Enum
from importlib.resources import files
from itertools import islice
from typing import Any, NamedTuple

from secateur.errors import FormatError


class Check(Enum):
    """Who checks a field."""

    PROVED = "proved"  # rejected when the file is read, or refuted by the checker, from the file alone
    RECOUNTED = "recounted (with rows)"
    COMPARED = "compared (with the model)"
    STATED = "taken as stated"


class Field(NamedTuple):
    """One field of a file."""

    check: Check
    meaning: str
    seen: str = ""  # what people see of it, as `unchecked` names it; empty if they see nothing


class Behind(NamedTuple):
    """Who checks the numbers behind reasons of a kind, and the node that they point at; None where there is none."""

    before: Check | None = None
    after: Check | None = None
    number: Check | None = None
    node: Check | None = None
    meaning: str = ""


def _read(file: str) -> Iterator[list[str]]:
    """Read the rows of a table that lies beside this file, without its header."""
    text = (files("secateur.verify") / file).read_text(encoding="utf-8")
    return islice(csv.reader(text.splitlines()), 1, None)


# By path; "[]" stands for each element of a list.
FIELDS: Mapping[str, Field] = {path: Field(Check[name.upper()], *told) for path, name, *told in _read("fields.csv")}
_CHECKS = {"": None, **{check.name.lower(): check for check in Check}}
REASONS: Mapping[str, Behind] = {
    kind: Behind(_CHECKS[before], _CHECKS[after], _CHECKS[number], _CHECKS[node], meaning)
    for kind, before, after, number, node, meaning in _read("reasons.csv")
}


def check_fields(content: Mapping[str, Any], path: str = "") -> None:
    """Reject a field that is not in the table."""
    for name, value in content.items():
        inside = f"{path}{name}"
        if inside not in FIELDS:
            raise FormatError(f"The rules JSON has a field {inside!r} that no version of it has; it was edited.")
        if isinstance(value, Mapping):
            check_fields(value, f"{inside}.")
        elif isinstance(value, list) and f"{inside}[]" in LISTS:
            for one in value:
                if isinstance(one, Mapping):
                    check_fields(one, f"{inside}[].")


LISTS = {path[: path.index("[]", start) + 2] for path in FIELDS for start in range(len(path)) if "[]" in path[start:]}
