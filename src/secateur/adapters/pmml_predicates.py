"""Read the predicates of PMML: the column they ask for, what they compare it with, whether they hold for a value."""

import math
import operator as operators
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from secateur.errors import FormatError, UnsupportedModelError
from secateur.tree.tree import Label

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
TOKEN = re.compile(r'"([^"]*)"|(\S+)')
ORDERED = {
    "lessThan": operators.lt,
    "lessOrEqual": operators.le,
    "greaterThan": operators.gt,
    "greaterOrEqual": operators.ge,
}
MISSING, OTHER = object(), object()  # a missing value, and a category that is not listed


class Field(NamedTuple):
    """A column as the dictionary and the schema state it."""

    name: str
    place: int
    kind: str  # "number" or "category"
    data_type: str
    levels: tuple[Label, ...]
    is_listed: bool  # the dictionary has a list of valid values
    ends: tuple[float, float] | None
    invalid: str
    replacement: Any
    is_required: bool  # a missing value makes the row invalid


PREDICATES = ("SimplePredicate", "SimpleSetPredicate", "CompoundPredicate", "True", "False")


def find_predicate(element: Element) -> Element:
    """Find the one predicate of a node."""
    found = [one for one in element if one.tag in PREDICATES]
    if len(found) != 1:
        raise FormatError(f"A node of the PMML has {len(found)} predicates; expected one.")
    return found[0]


def list_parts(predicate: Element) -> list[Element]:
    """List the predicates that a compound is made of."""
    parts = [one for one in predicate if one.tag != "Extension"]
    unknown = next((one.tag for one in parts if one.tag not in PREDICATES), None)
    if unknown is not None:
        raise FormatError(f"A predicate of the PMML holds {unknown!r}, which is none.")
    return parts


def each_simple(predicate: Element) -> Iterator[Element]:
    """Yield the predicates that are compared; of a surrogate, only those of its first column."""
    if predicate.tag != "CompoundPredicate":
        if predicate.tag not in ("True", "False"):
            yield predicate
        return
    parts = list_parts(predicate)
    own = None
    for place, part in enumerate(parts):
        for one in each_simple(part):
            own = one.get("field") if place == 0 and own is None else own
            if predicate.get("booleanOperator") != "surrogate" or one.get("field") == own:
                yield one


def field_of(predicate: Element) -> str | None:
    """Find the column that a predicate asks for."""
    names = {one.attrib["field"] for one in each_simple(predicate)}
    if len(names) > 1:
        raise UnsupportedModelError(f"A predicate of the PMML asks for several columns: {', '.join(sorted(names))}.")
    return names.pop() if names else None


def compare(asked: Field, predicate: Element, operator: str, value: Any) -> bool:
    """Tell whether a predicate is true of a value that is not missing."""
    read = read_number if asked.kind == "number" else lambda text: read_label(text, asked.data_type)
    if operator in ("isIn", "isNotIn"):
        return (value is not OTHER and value in [read(text) for text in read_array(predicate)]) == (operator == "isIn")
    limit = read(predicate.attrib["value"])
    if operator in ("equal", "notEqual"):
        return (value is not OTHER and bool(value == limit)) == (operator == "equal")
    if operator not in ORDERED:
        raise UnsupportedModelError(f"The PMML has the operator {operator!r}, which is not known.")
    if asked.kind != "number":
        raise UnsupportedModelError(f"The PMML compares {asked.name!r} by {operator}, but it is no number.")
    return bool(ORDERED[operator](value, limit))


def named_values(predicates: Sequence[Element]) -> list[str]:
    """List the texts that predicates compare with."""
    found: list[str] = []
    for predicate in predicates:
        if predicate.tag == "SimpleSetPredicate":
            found += read_array(predicate)
        elif "value" in predicate.attrib:
            found.append(predicate.attrib["value"])
    return found


def read_array(predicate: Element) -> list[str]:
    """Read the texts of a set."""
    array = predicate.find("Array")
    if array is None:
        raise FormatError("A SimpleSetPredicate of the PMML has no Array; it was cut or edited.")
    if "\\" in (array.text or ""):
        raise UnsupportedModelError("The PMML has a backslash in an Array, which readers of PMML take differently.")
    found = [plain or quoted for quoted, plain in TOKEN.findall(array.text or "")]
    if array.get("n") is not None and array.get("n") != str(len(found)):
        raise FormatError(f"An Array of the PMML says that it has {array.get('n')} values, but {len(found)} are there.")
    return found


def read_number(text: str) -> float:
    """Read a finite number."""
    found = float(text) if NUMBER.fullmatch(text.strip()) else math.nan
    if not math.isfinite(found):
        raise FormatError(f"Expected a finite number in the PMML, found {text!r}.")
    return found


def read_label(text: str, data_type: str) -> Label:
    """Read a value of a type as a label of a Tree."""
    if data_type == "string":
        return text
    if data_type == "boolean" and text in ("true", "false", "1", "0"):
        return text in ("true", "1")
    if data_type == "integer" and WHOLE.fullmatch(text.strip()):
        return int(text)
    if data_type == "double":
        return read_number(text)
    raise UnsupportedModelError(f"The PMML has the value {text!r} of type {data_type}, which a Tree cannot hold.")
