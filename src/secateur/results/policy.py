"""A policy that somebody types, such as ``refuse if dti > 45; otherwise approve``, as lines that answer rows.

The first line whose conditions all hold answers a row. A missing value satisfies ``is missing`` alone, and a condition
that ends in ``or missing``. Names and labels that hold a semicolon, an operator or one of the words ``if``, ``and`` and
``otherwise`` stand between backticks or quotes, unless they are columns of the table.
"""

import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, ParameterError, did_you_mean, shorten
from secateur.frames import frame_columns
from secateur.rows.encoding import as_label, is_missing

EXAMPLE = "such as 'refuse if dti > 45 and late >= 1; otherwise approve'"
QUOTED = r"""`[^`]*`|"[^"]*"|(?<!\w)'[^']*'(?!\w)"""
OPERATORS = r"<=|>=|!=|==|≤|≥|=|<|>|\b(?:is\s+not\s+in|not\s+in|is\s+in|in|is\s+not|is)\b"
CONFUSING = re.compile(rf";|\b(?:if|and|or|otherwise)\b|{OPERATORS}", re.IGNORECASE)
OR_MISSING = re.compile(r"\s+or\s+missing$", re.IGNORECASE)
NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:e[-+]?\d+)?", re.IGNORECASE)
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
# How else an operator may be written.
SAME = {"≤": "<=", "≥": ">=", "=": "in", "==": "in", "is": "in", "is in": "in"}
SAME |= {"!=": "not in", "is not": "not in", "is not in": "not in"}


@dataclass(frozen=True)
class PolicyCondition:
    """What a line of a policy asks of one column."""

    column: str
    operator: str  # "<", "<=", ">" or ">=" with a number; "in" or "not in" with labels; "missing" or "not missing"
    value: float | tuple[str, ...] | None  # the number, in days since 1970 if a date was written; or the labels
    missing: bool  # whether a missing value satisfies it
    text: str  # as it was written

    def holds(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark the values of the column that satisfy it."""
        if values.dtype.kind == "M":  # as days, which is what rules compare
            ticks = values.astype("datetime64[us]")
            values = np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / 86_400e6)
        is_number = values.dtype.kind in "biuf"
        # Of texts each label is looked at once, and the rows are looked up.
        listed = [] if is_number else values.tolist()
        distinct = [] if is_number else [*dict.fromkeys(listed)]
        missing = np.isnan(values.astype(np.float64)) if is_number else _look_up(listed, filter(is_missing, distinct))
        if self.value is None:
            return missing if self.missing else ~missing
        if isinstance(self.value, float):
            numbers = values if is_number else _to_numbers(listed, missing, self)
            return np.where(missing, self.missing, COMPARISONS[self.operator](numbers, self.value))
        if is_number:
            among = np.isin(values.astype(np.float64), [_read_code(label, self) for label in self.value])
        else:
            among = _look_up(listed, (one for one in distinct if as_label(one).strip() in self.value))
        return np.where(missing, self.missing, among if self.operator == "in" else ~among)


@dataclass(frozen=True)
class PolicyLine:
    """One line of a policy: its label, what it is called, and conditions that must all hold; none of "otherwise"."""

    label: Any
    name: str
    conditions: tuple[PolicyCondition, ...]

    @property
    def text(self) -> str:
        """The line in words."""
        asked = " and ".join(one.text for one in self.conditions)
        return f"{self.name} if {asked}" if asked else f"otherwise {self.name}"

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Policy:
    """Lines that answer rows, the first that holds; made by :func:`parse_policy`.

    Attributes
    ----------
    lines : tuple of PolicyLine
        In the order in which they were written, "otherwise" last.
    columns : tuple of str
        The columns of the rows that it answers, by which an array without names is read.
    """

    lines: tuple[PolicyLine, ...]
    columns: tuple[str, ...] = field(repr=False)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the line that answers each row, as an index into ``lines``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of int64, shape (n_rows,)
        """
        values, n_rows = self._read(X)
        found = np.full(n_rows, len(self.lines) - 1, dtype=np.int64)
        for place in reversed(range(len(self.lines) - 1)):
            marks = [one.holds(values[one.column]) for one in self.lines[place].conditions]
            found[np.logical_and.reduce(marks)] = place
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Give each row the label of its line.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of labels, shape (n_rows,)
        """
        return np.array([line.label for line in self.lines])[self.apply(X)]

    def _read(self, X: Any) -> tuple[dict[str, NDArray[Any]], int]:
        """Read the columns that are asked for, and how many rows there are."""
        asked = dict.fromkeys(one.column for line in self.lines for one in line.conditions)
        names = frame_columns(X)
        if names is None:
            matrix = np.asarray(X)
            if matrix.ndim != 2 or matrix.shape[1] != len(self.columns):
                raise InputError(
                    f"Expected rows with the {len(self.columns)} columns of the policy's table, found an array of "
                    f"shape {matrix.shape}: pass a data frame, whose columns have names."
                )
            return {name: matrix[:, self.columns.index(name)] for name in asked}, len(matrix)
        absent = [name for name in asked if name not in names]
        if absent:
            raise InputError(
                f"The policy asks for {shorten(absent)}, which X does not have.{did_you_mean(absent[0], names)}"
            )
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        return {name: frame[name].to_numpy() for name in asked}, len(frame)

    def __str__(self) -> str:
        return "; ".join(line.text for line in self.lines)


def parse_policy(
    text: str, columns: Iterable[str] | Mapping[str, Any], labels: Iterable[Any] | Mapping[str, Any]
) -> Policy:
    """Read a policy of lines such as ``refuse if dti > 45 and late >= 1``, between semicolons, and ``otherwise``.

    Parameters
    ----------
    text : str
        Each line is a label, ``if``, and conditions joined by ``and``: a column, ``<``, ``<=``, ``>`` or ``>=`` and a
        number or a date such as 2026-09-27; a column, ``is``, ``=``, ``in`` or their negation and labels; ``is
        missing`` or ``is not missing``. The last line is ``otherwise`` and a label.
    columns : iterable of str, or mapping of str to sequence of labels or None
        The columns of the table; of a mapping, with the labels that each may hold, None for one of numbers.
    labels : iterable of labels, or mapping of str to label
        What may be answered; of a mapping, by the name that the policy calls it.

    Examples
    --------
    >>> written = "refuse if dti > 45 and late >= 1; otherwise approve"
    >>> policy = parse_policy(written, columns=["dti", "late"], labels=["approve", "refuse"])
    >>> policy.predict([[50, 1], [50, 0], [20, 3]]).tolist()
    ['refuse', 'approve', 'approve']
    """
    if not isinstance(text, str):
        raise ParameterError(f"Expected a policy as text, {EXAMPLE}, found {type(text).__name__}.")
    known = columns if isinstance(columns, Mapping) else dict.fromkeys(columns, ...)
    named = labels if isinstance(labels, Mapping) else {as_label(label): label for label in labels}
    parser = _Parser(known, named)
    written = [part for part in parser.split(text, r";|\n") if part]
    lines = [parser.read_line(part) for part in written]
    if not lines or lines[-1].conditions:
        raise ParameterError(f"Expected a policy that ends with “otherwise” and a label, {EXAMPLE}, found {text!r}.")
    early = next((part for part, line in zip(written, lines[:-1], strict=False) if not line.conditions), None)
    if early is not None:
        raise ParameterError(f"“otherwise” is the last line of a policy, and {early!r} is followed by others.")
    return Policy(tuple(lines), tuple(known))


class _Parser:
    def __init__(self, columns: Mapping[str, Any], labels: Mapping[str, Any]) -> None:
        self.columns, self.labels = columns, labels
        odd = sorted(filter(CONFUSING.search, columns), key=len, reverse=True)
        self.hidden = re.compile("|".join([QUOTED, *(rf"(?<!\w){re.escape(name)}(?!\w)" for name in odd)]))

    def find(self, text: str, pattern: str) -> Iterator[re.Match[str]]:
        """Find a pattern outside of quotes, and of names that hold words of the language."""
        masked = self.hidden.sub(lambda match: "\0" * len(match.group()), text)
        return re.finditer(pattern, masked, re.IGNORECASE)

    def split(self, text: str, pattern: str) -> list[str]:
        """Split a text at such places."""
        ends = [(0, 0), *(match.span() for match in self.find(text, pattern)), (len(text), len(text))]
        return [text[start:stop].strip() for (_, start), (stop, _) in pairwise(ends)]

    def read_line(self, text: str) -> PolicyLine:
        if (rest := re.match(r"otherwise\b\s*:?\s*", text, re.IGNORECASE)) is not None:
            return self.make_line(text[rest.end() :], text, ())
        label, *asked = self.split(text, r"\bif\b")
        if len(asked) != 1:
            raise ParameterError(f"Expected a label, “if” and conditions, {EXAMPLE}, found {text!r}.")
        return self.make_line(label, text, [self.read_condition(one) for one in self.split(asked[0], r"\band\b")])

    def make_line(self, label: str, text: str, conditions: Sequence[PolicyCondition]) -> PolicyLine:
        known = _pick(_unquote(label), self.labels, "label", "labels", text)
        return PolicyLine(self.labels[known], label, tuple(conditions))

    def read_condition(self, text: str) -> PolicyCondition:
        asked = OR_MISSING.sub("", text)
        found = next(self.find(asked, OPERATORS), None)
        if found is None:
            raise ParameterError(
                f"Expected a column, an operator and a value, {EXAMPLE}, found {text!r}; the columns are "
                f"{shorten(list(self.columns))}."
            )
        column = _pick(_unquote(asked[: found.start()]), self.columns, "column", "columns", text)
        written, value = " ".join(found.group().lower().split()), asked[found.end() :].strip()
        kind, or_missing = SAME.get(written, written), asked != text
        if value.lower() == "missing" and written in ("is", "is not"):
            return PolicyCondition(column, "missing" if written == "is" else "not missing", None, written == "is", text)
        if kind in COMPARISONS:
            return PolicyCondition(column, kind, self.read_number(column, value, text), or_missing, text)
        comma = "," if value.startswith(("{", "(", "[")) else r",(?!\d{3}\b)"  # else "1,200" is one number
        listed = [_unquote(one) for one in self.split(value.strip("{}()[]"), rf"{comma}|\bor\b")]
        if not all(listed):
            raise ParameterError(f"Expected a label after {found.group().strip()!r}, found {text!r}.")
        if (own := self.columns[column]) is not None and own is not ...:
            named = {as_label(label): label for label in own}
            listed = [_pick(one, named, "label of " + repr(column), "labels", text) for one in listed]
        return PolicyCondition(column, kind, tuple(listed), or_missing, text)

    def read_number(self, column: str, value: str, text: str) -> float:
        if self.columns[column] not in (None, ...):
            raise ParameterError(f"Column {column!r} holds labels, not numbers: write “is” or “in”, found {text!r}.")
        try:
            return float((date.fromisoformat(_unquote(value)) - date(1970, 1, 1)).days)
        except ValueError:
            pass
        if not value or NUMBER.fullmatch(value) is None or not any(one.isdigit() for one in value):
            raise ParameterError(f"Expected a number or a date such as 2026-09-27, found {value!r} in {text!r}.")
        return float(value.replace(",", ""))


def _pick(name: str, known: Mapping[str, Any], what: str, many: str, text: str) -> str:
    """Find a name among known ones, whatever its case if that leaves no doubt."""
    if name in known:
        return name
    alike = [one for one in known if one.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    hint = did_you_mean(name, known) or f" The {many} are {shorten(list(known))}."
    raise ParameterError(f"No {what} is called {name!r} (in {text!r}).{hint}")


def _unquote(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "`\"'" else text


def _look_up(values: list[Any], wanted: Iterable[Any]) -> NDArray[np.bool_]:
    found = set(wanted)
    return np.fromiter((one in found for one in values), dtype=bool, count=len(values))


def _to_numbers(values: list[Any], missing: NDArray[np.bool_], condition: PolicyCondition) -> NDArray[np.float64]:
    numbers = np.full(len(values), np.nan)
    try:
        numbers[~missing] = [float(one) for one, is_gone in zip(values, missing, strict=True) if not is_gone]
    except (TypeError, ValueError):
        raise InputError(
            f"The policy compares {condition.column!r} with a number ({condition.text!r}), but the column holds texts."
        ) from None
    return numbers


def _read_code(label: str, condition: PolicyCondition) -> float:
    """Read a label of a column of numbers or truth values."""
    written = {"true": "1", "yes": "1", "false": "0", "no": "0"}.get(label.lower(), label)
    if NUMBER.fullmatch(written) is None or not any(one.isdigit() for one in written):
        raise InputError(f"The policy asks whether {condition.column!r} is {label!r}, but the column holds numbers.")
    return float(written.replace(",", ""))
