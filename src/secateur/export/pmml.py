"""Rules as a RuleSetModel of PMML 4.4, whose first rule that holds decides; values as a TreeModel of one level.

A RuleSetModel is for classes alone. In a tree, the first child whose predicate is true is taken, too.

It uses only elements that every program knows: comparisons joined by "and" and "or". A row that the tree rejects is
invalid by the data dictionary and the mining schema. Numbers are doubles, compared with the last double that rounds to
the limit, because PMML does not say how programs round.
"""

import math
import re
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from secateur import __version__
from secateur.errors import ParameterError
from secateur.export.plain_names import FreeNames, check_unread
from secateur.rules.decision_list import Column, ColumnTest, DecisionList, double_limit, make_decision_list
from secateur.rules.rules import Rules
from secateur.tree.tree import Label

TYPES = {bool: "boolean", int: "integer"}
NAMESPACE = "http://www.dmg.org/PMML-4_4"
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def rules_to_pmml(rules: Rules) -> str:
    """Write all rules in the order in which they win.

    The id of a rule is its number, counted from 1, and its confidence is its share: 0 where that is not known,
    because PMML takes a confidence that is not written, or is NaN, for 1.
    """
    listed = make_decision_list(rules)
    check_unread(listed.columns, "PMML")
    target = FreeNames(column.name for column in listed.columns).take("prediction")
    root = Element("PMML", xmlns=NAMESPACE, version="4.4")
    header = SubElement(root, "Header", description=f"{len(rules)} rules by secateur. {rules.guarantee}")
    SubElement(header, "Application", name="secateur", version=__version__)
    _add_dictionary(root, rules, listed, target)
    is_regression = rules.tree.is_regression
    how = {"functionName": "regression" if is_regression else "classification", "algorithmName": rules.method}
    if is_regression:
        how |= {"missingValueStrategy": "none", "noTrueChildStrategy": "returnNullPrediction"}
        how |= {"splitCharacteristic": "multiSplit"}
    model = SubElement(root, "TreeModel" if is_regression else "RuleSetModel", {"modelName": "secateur", **how})
    _add_schema(model, listed, target)
    chosen = SubElement(model, "Node" if is_regression else "RuleSet")
    SubElement(chosen, "True") if is_regression else SubElement(chosen, "RuleSelectionMethod", criterion="firstHit")
    for rule in listed.rules:
        known = {"id": str(rule.index + 1), "score": _write_label(rule.label)}
        if not is_regression:
            known["confidence"] = "0" if rule.share is None else repr(rule.share)
        written = SubElement(chosen, "Node" if is_regression else "SimpleRule", known)
        written.append(_join("and", [_ask(listed.columns[test.column], test) for test in rule.tests]))
    for value in (value for element in root.iter() for value in element.attrib.values()):
        if NOT_XML.search(value):
            raise ParameterError(f"{value[:40]!r} holds a character that XML cannot hold: rename it to export PMML.")
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}'


def _add_dictionary(root: Element, rules: Rules, listed: DecisionList, target: str) -> None:
    dictionary = SubElement(root, "DataDictionary", numberOfFields=str(len(listed.columns) + 1))
    for column in listed.columns:
        if any(isinstance(label, float) and not label.is_integer() for label in column.labels or ()):
            raise ParameterError(
                f"The categories of {column.name!r} are fractions, which programs that run PMML do not recognise: "
                "export another format, or fit the tree on texts."
            )
        if column.labels is not None:
            _add_labels(dictionary, column.name, column.labels, listed=not column.takes_unlisted)
            continue
        field = SubElement(dictionary, "DataField", name=column.name, optype="continuous", dataType="double")
        low, high = (repr(end) for end in column.ends)
        SubElement(field, "Interval", closure="closedClosed", leftMargin=low, rightMargin=high)
    if rules.tree.is_regression:
        SubElement(dictionary, "DataField", name=target, optype="continuous", dataType="double")
    else:
        _add_labels(dictionary, target, rules.tree.classes.tolist(), listed=True)


def _add_labels(dictionary: Element, name: str, labels: Sequence[Label], *, listed: bool) -> None:
    kinds = {"string" if isinstance(label, str) else TYPES.get(type(label), "double") for label in labels}
    if len(kinds) > 1:
        raise ParameterError(f"The labels of {name!r} are of several types, but a PMML field has one: use one type.")
    field = SubElement(dictionary, "DataField", name=name, optype="categorical", dataType=kinds.pop())
    for label in labels if listed else ():
        SubElement(field, "Value", value=_write_label(label))


def _add_schema(model: Element, listed: DecisionList, target: str) -> None:
    """Say what to do with a value that is missing, or that is not in the dictionary."""
    schema = SubElement(model, "MiningSchema")
    for column in listed.columns:
        unlisted = "asIs" if column.takes_unlisted else "returnInvalid"
        missing = "asIs" if column.takes_missing else "returnInvalid"
        treatment = {"invalidValueTreatment": unlisted, "missingValueTreatment": missing}
        SubElement(schema, "MiningField", {"name": column.name, "usageType": "active", **treatment})
    SubElement(schema, "MiningField", name=target, usageType="target")


def _ask(column: Column, test: ColumnTest) -> Element:
    """Write what a rule asks of one column; comparing a missing value gives unknown, which no rule takes."""
    parts = []
    for low, high in test.intervals:
        ends = [] if math.isinf(low) else [_compare(column, "greaterThan", double_limit(low, column.dtype))]
        ends += [] if math.isinf(high) else [_compare(column, "lessOrEqual", double_limit(high, column.dtype))]
        parts.append(_join("and", ends) if ends else _compare(column, "isNotMissing"))
    if test.unlisted:
        others = [label for label in column.labels or () if label not in test.labels]
        excluded = [_compare(column, "notEqual", label) for label in others]
        parts.append(_join("and", excluded) if excluded else _compare(column, "isNotMissing"))
    else:
        parts += [_compare(column, "equal", label) for label in test.labels]
    if test.missing:
        parts.append(_compare(column, "isMissing"))
    return _join("or", parts)


def _compare(column: Column, operator: str, value: Label | None = None) -> Element:
    asked = Element("SimplePredicate", field=column.name, operator=operator)
    if value is not None:
        asked.set("value", _write_label(value))
    return asked


def _join(operator: str, parts: list[Element]) -> Element:
    """Join predicates: all must hold ("and"), or one ("or"); none at all always holds."""
    if len(parts) < 2:
        return parts[0] if parts else Element("True")
    joined = Element("CompoundPredicate", booleanOperator=operator)
    joined.extend(parts)
    return joined


def _write_label(label: Label) -> str:
    if isinstance(label, bool):
        return "true" if label else "false"
    return label if isinstance(label, str) else repr(label)
