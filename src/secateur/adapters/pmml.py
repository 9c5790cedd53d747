"""A TreeModel of PMML 3 or 4, of classes or of values, as R's pmml, KNIME and SAS write it -> Tree.

A row goes to the first child whose predicate is true. Every child of a node must ask for the same column; then what the
node does with each value of that column is looked up, value by value, and written as a chain of splits:

- Numbers are compared as doubles. Between and at the limits of a node's predicates its decision is constant, so one
  number of each piece is tried. ``x < t`` is ``x <= nextafter(t)``.
- Categories are the values that the data dictionary lists, or else those that predicates name. If it lists some, what
  is not listed is invalid: such a row is rejected where ``invalidValueTreatment`` says "returnInvalid", which is the
  default, and goes with missing values for "asMissing". For "asIs" readers of PMML differ, so it is rejected unless
  that is where missing values go, too. Numbers beyond an ``Interval`` are rejected.
- A missing value makes a predicate unknown. Where it then goes is said by ``missingValueReplacement``, by isMissing, by
  a surrogate that is constant, or by ``missingValueStrategy``: "none", "defaultChild" and "lastPrediction" (which ends
  in a leaf of the node's own score). A column whose missing values end without a prediction, or are sent on by another
  column (surrogates, "weightedConfidence", "aggregateNodes"), takes none; all else of such a file is exact.

A number that no child takes ends in a leaf of the node's own score for ``noTrueChildStrategy`` "returnLastPrediction",
and is rejected elsewhere. So is a child that takes two separate ranges, everything that changes values before the
tree (transformations, outliers), and dataType "float", which readers round in different ways.

Nodes are numbered in preorder. ``Output``, ``ModelStats`` and the like are not read: they do not change the prediction.
"""

import math
import os
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from secateur.adapters import pmml_predicates as predicates
from secateur.adapters.pmml_predicates import MISSING, OTHER, Field, find_predicate, read_label, read_number
from secateur.adapters.reading import Node, make_from_nodes, read_bytes, reject_damage
from secateur.errors import FormatError, UnsupportedModelError, need_library
from secateur.limits import XML_MARKS, check_parsed_size
from secateur.tree.columns import Columns
from secateur.tree.tree import Label, Tree

NAMESPACE = "http://www.dmg.org/PMML-"
MOST_DEPTH = 200  # nodes and predicates within one another
NUMERIC_TYPES = ("double", "integer")
NOTHING, UNTOLD = "nothing", "untold"  # no prediction, and one that a Tree cannot tell
LAST = "last"  # the node's own score


class Piece(NamedTuple):
    """Numbers up to ``upper``, or a set of codes, that go to one target."""

    target: int | str
    upper: float
    codes: tuple[int, ...]


def read_pmml(source: Any) -> Tree:
    """Read a PMML file that holds one tree, of classes or of values.

    Parameters
    ----------
    source : path, str or bytes
        The file, or its content.

    Returns
    -------
    Tree
        With counts where every node has a ``ScoreDistribution``.

    Examples
    --------
    >>> text = '''<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
    ...   <DataDictionary>
    ...     <DataField name="age" optype="continuous" dataType="double"/>
    ...     <DataField name="pays" optype="categorical" dataType="string"/>
    ...   </DataDictionary>
    ...   <TreeModel functionName="classification" splitCharacteristic="binarySplit">
    ...     <MiningSchema><MiningField name="pays" usageType="target"/><MiningField name="age"/></MiningSchema>
    ...     <Node><True/>
    ...       <Node score="no"><SimplePredicate field="age" operator="lessThan" value="30"/></Node>
    ...       <Node score="yes"><SimplePredicate field="age" operator="greaterOrEqual" value="30"/></Node>
    ...     </Node>
    ...   </TreeModel>
    ... </PMML>'''
    >>> read_pmml(text)
    <Tree: 2 leaves, depth 1, 1 feature, classes no, yes>
    """
    root = _parse(source)
    with reject_damage("The PMML"):
        return _Reader(root).read()


def _parse(source: Any) -> Element:
    need_library("defusedxml", "pmml", "PMML")
    is_text = isinstance(source, str) and source.lstrip("\ufeff \t\r\n")[:1] == "<"
    is_path = isinstance(source, (str, os.PathLike)) and not is_text
    data = read_bytes(source, "The PMML") if is_path else source
    if not isinstance(data, (str, bytes)):
        raise FormatError(f"Expected PMML as a path, text or bytes, found {type(source).__name__}.")
    if isinstance(data, str):  # a declaration of another encoding would not be true of it
        data = re.sub(r"^\s*<\?xml.*?\?>", "", data.lstrip("\ufeff"), count=1, flags=re.DOTALL).encode()
    check_parsed_size(data, XML_MARKS, "The PMML")
    parser: Any = import_module("defusedxml.ElementTree")
    try:
        root: Element = parser.fromstring(data, forbid_dtd=True, forbid_entities=True, forbid_external=True)
    except parser.ParseError as error:
        raise FormatError(f"Expected PMML, but it is no XML, or was cut: {error}.") from error
    except (LookupError, ValueError) as error:  # what defusedxml forbids, and unknown encodings
        raise FormatError(
            "The PMML holds a document type, an entity or an encoding that is not read, because such a file can reach "
            "for others or fill the memory."
        ) from error
    _check_depth(root)
    return root


def _check_depth(root: Element) -> None:
    """Reject elements nested too deep, and take the namespace off the tags."""
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > MOST_DEPTH:
            raise FormatError(f"The PMML has more than {MOST_DEPTH} elements within one another.")
        for element in level:
            space, _, name = element.tag.rpartition("}")
            if space and not space.lstrip("{").startswith(NAMESPACE):
                name = element.tag  # of another vocabulary
            element.tag = name
        level = [child for element in level for child in element]


class _Reader:
    def __init__(self, root: Element) -> None:
        version = root.get("version", "")
        if root.tag != "PMML" or version.split(".")[0] not in ("3", "4"):
            raise UnsupportedModelError(
                f"Expected PMML of version 3 or 4, found {root.tag} of version {version or 'none'}."
            )
        self._model = _find_model(root)
        _check_transformations(root, self._model)
        self._strategy = self._model.get("missingValueStrategy", "none")
        self._no_child = self._model.get("noTrueChildStrategy", "returnNullPrediction")
        dictionary = root.find("DataDictionary")
        if dictionary is None:
            raise FormatError("The PMML has no DataDictionary; it was cut or edited.")
        self._dictionary = {one.attrib["name"]: one for one in dictionary.findall("DataField")}
        self._predicates: dict[str, list[Element]] = {}  # those that ask for each column
        self._fields: dict[str, Field] = {}
        self._accepts: dict[str, bool] = {}
        self._takes_other: dict[str, bool] = {}  # whether categories that are not listed have a prediction
        self._is_regression = self._model.get("functionName") == "regression"
        self._classes: list[Label] = []  # of a regression tree, the values of the nodes
        self._target_type = "string"
        self._nodes: list[Node] = []
        self._links: set[int] = set()  # splits that the file does not have

    def read(self) -> Tree:
        top = self._model.find("Node")
        if top is None:
            raise FormatError("The TreeModel of the PMML has no Node; it was cut or edited.")
        if find_predicate(top).tag != "True":
            raise UnsupportedModelError("The first node of the PMML has a condition, so some rows have no prediction.")
        for element in top.iter("Node"):
            for predicate in predicates.each_simple(find_predicate(element)):
                self._predicates.setdefault(predicate.attrib["field"], []).append(predicate)
        self._read_schema(top)
        for element in top.iter("Node"):
            if (asked := self._asked(element)) is not None:
                goes = self._decide(element, asked, MISSING)
                self._accepts[asked.name] &= goes not in (NOTHING, UNTOLD)
                if asked.kind == "category":
                    # Some readers take an unlisted value for missing, even if it is to be taken as it is.
                    other = self._decide(element, asked, OTHER)
                    agreed = not asked.is_listed or other == goes
                    self._takes_other[asked.name] &= agreed and other not in (NOTHING, UNTOLD)
        self._grow(top)
        return self._assemble()

    # The schema.

    def _read_schema(self, top: Element) -> None:
        schema = self._model.find("MiningSchema")
        if schema is None:
            raise FormatError("The TreeModel of the PMML has no MiningSchema; it was cut or edited.")
        targets = []
        for mining in schema.findall("MiningField"):
            usage = mining.get("usageType", "active")
            if usage in ("target", "predicted"):
                targets.append(mining.attrib["name"])
            elif usage == "active":
                name = mining.attrib["name"]
                if name in self._fields:
                    raise FormatError(f"The schema of the PMML names {name!r} twice.")
                found = self._fields[name] = self._read_field(mining, len(self._fields))
                self._accepts[name] = not found.is_required
                is_closed = found.is_listed and found.invalid == "returnInvalid"
                self._takes_other[name] = found.kind == "category" and not is_closed
        if len(targets) > 1:
            raise UnsupportedModelError(f"The PMML predicts {len(targets)} fields, but a rule has one class.")
        unknown = next((name for name in self._predicates if name not in self._fields), None)
        if unknown is not None:
            raise FormatError(f"A predicate of the PMML asks for {unknown!r}, which is no active field of its schema.")
        scores = [element.attrib["score"] for element in top.iter("Node") if "score" in element.attrib]
        listed: list[str] = []
        if targets:
            declared = self._declared(targets[0])
            self._target_type = declared.get("dataType", "string")
            listed = _valid_values(declared)
        if self._is_regression:
            if self._target_type not in ("string", *NUMERIC_TYPES):
                raise UnsupportedModelError(
                    f"The PMML predicts values of type {self._target_type}, which readers round in different ways."
                )
            self._target_type, listed = "double", []
        votes = [one.attrib["value"] for one in top.iter("ScoreDistribution")]
        labels = (read_label(text, self._target_type) for text in [*listed, *scores, *votes])
        self._classes = list(dict.fromkeys(labels))

    def _declared(self, name: str) -> Element:
        if name not in self._dictionary:
            raise FormatError(f"The schema of the PMML names {name!r}, which its DataDictionary does not hold.")
        return self._dictionary[name]

    def _read_field(self, mining: Element, place: int) -> Field:
        name = mining.attrib["name"]
        declared = self._declared(name)
        is_asked = name in self._predicates
        data_type, kind = declared.get("dataType", "string"), declared.get("optype", "categorical")
        kind = mining.get("optype", kind)
        if mining.get("outliers", "asIs") != "asIs":
            raise UnsupportedModelError(f"The PMML changes outliers of {name!r} before the tree sees them.")
        if any(value.get("property", "valid") != "valid" for value in declared.findall("Value")):
            raise UnsupportedModelError(f"The PMML has a text of its own for missing or invalid values of {name!r}.")
        is_number = kind == "continuous"
        if is_asked and (data_type == "float" or (is_number and data_type not in NUMERIC_TYPES)):
            reason = "which readers of PMML round in different ways" if data_type == "float" else "which is no number"
            raise UnsupportedModelError(f"Column {name!r} of the PMML is {kind} of type {data_type}, {reason}.")
        listed = _valid_values(declared)
        invalid = mining.get("invalidValueTreatment", "returnInvalid")
        if invalid not in ("returnInvalid", "asIs", "asMissing"):
            raise UnsupportedModelError(f"The PMML replaces invalid values of {name!r} ({invalid}).")
        if is_number and listed and invalid != "asIs":
            raise UnsupportedModelError(f"The PMML lists the numbers that {name!r} may be, which a Tree cannot hold.")
        ends = _read_ends(declared, name) if is_number and invalid != "asIs" else None
        if ends is not None and invalid == "asMissing":
            raise UnsupportedModelError(f"The PMML takes numbers of {name!r} beyond an interval for missing ones.")
        levels: list[Label] = []
        if not is_number:
            named = predicates.named_values(self._predicates.get(name, ()))
            texts = listed if listed and invalid != "asIs" else [*listed, *named]
            if is_asked or listed:
                levels = list(dict.fromkeys(read_label(text, data_type) for text in texts))
            if is_asked and not levels:
                raise UnsupportedModelError(f"The PMML asks whether {name!r} is missing, but names no value of it.")
        replaced: Any = mining.get("missingValueReplacement")
        if replaced is not None and is_asked:
            replaced = read_number(replaced) if is_number else read_label(replaced, data_type)
        return Field(
            *(name, place, "number" if is_number else "category", data_type, tuple(levels), bool(listed), ends),
            invalid,
            replaced,
            mining.get("missingValueTreatment") == "returnInvalid" and replaced is None,
        )

    # What a node does.

    def _asked(self, element: Element) -> Field | None:
        """Find the one column that the children of a node ask for; None where they ask for none."""
        asked = (predicates.field_of(find_predicate(child)) for child in element.findall("Node"))
        names = {name for name in asked if name is not None}
        if len(names) > 1:
            raise UnsupportedModelError(
                f"The children of a node of the PMML ask for different columns: {', '.join(sorted(names))}."
            )
        return self._fields[names.pop()] if names else None

    def _decide(self, element: Element, asked: Field | None, value: Any) -> int | str:
        """Find where a node sends a value: a child's place, LAST, NOTHING or UNTOLD."""
        if value is OTHER and asked is not None and asked.is_listed and asked.invalid == "asMissing":
            value = MISSING
        if value is MISSING and asked is not None and asked.replacement is not None:
            value = asked.replacement
        last: str = LAST if "score" in element.attrib else NOTHING
        children = element.findall("Node")
        for place, child in enumerate(children):
            holds = self._holds(find_predicate(child), asked, value)
            if holds is True:
                return place
            if holds == UNTOLD:
                return UNTOLD
            if holds is None and self._strategy != "none":
                if self._strategy == "defaultChild":
                    ids = [one.get("id") for one in children]
                    default = element.get("defaultChild")
                    return ids.index(default) if default is not None and default in ids else NOTHING
                return {"lastPrediction": last, "nullPrediction": NOTHING}.get(self._strategy, UNTOLD)
        return last if self._no_child == "returnLastPrediction" else NOTHING

    def _holds(self, predicate: Element, asked: Field | None, value: Any) -> bool | str | None:
        """Tell whether a predicate is true of a value of its column; None where that is unknown."""
        if predicate.tag in ("True", "False"):
            return predicate.tag == "True"
        if predicate.tag == "CompoundPredicate":
            return self._holds_compound(predicate, asked, value)
        if asked is None or predicate.attrib["field"] != asked.name:
            return UNTOLD
        operator = predicate.get("operator") or predicate.attrib["booleanOperator"]
        if operator in ("isMissing", "isNotMissing"):
            return (value is MISSING) == (operator == "isMissing")
        return None if value is MISSING else predicates.compare(asked, predicate, operator, value)

    def _holds_compound(self, predicate: Element, asked: Field | None, value: Any) -> bool | str | None:
        operator = predicate.attrib["booleanOperator"]
        parts = predicates.list_parts(predicate)
        if operator == "surrogate":
            answers: Iterator[Any] = (self._holds(part, asked, value) for part in parts)
            return next((answer for answer in answers if answer is not None), None)
        found = [self._holds(part, asked, value) for part in parts]
        if UNTOLD in found:
            return UNTOLD
        if operator == "xor":
            return None if None in found else sum(map(bool, found)) % 2 == 1
        decisive = {"and": False, "or": True}.get(operator)
        if decisive is None:
            raise UnsupportedModelError(f"The PMML joins predicates by {operator!r}, which is not known.")
        return decisive if decisive in found else None if None in found else not decisive

    def _pieces(self, element: Element, asked: Field) -> list[Piece]:
        """Cut the values of a column into pieces that go to one target each."""
        if asked.kind == "category":
            return self._category_pieces(element, asked)
        pieces: list[Piece] = []
        for start, number, upper in _number_pieces(self._limits(element, asked)):
            if asked.ends is not None and (upper < asked.ends[0] or start >= asked.ends[1]):
                continue
            target = self._check_target(self._decide(element, asked, number), asked, number)
            if pieces and pieces[-1].target == target:
                pieces.pop()
            pieces.append(Piece(target, upper, ()))
        if len({piece.target for piece in pieces}) < len(pieces):
            raise UnsupportedModelError(
                f"A child of the PMML takes two separate ranges of {asked.name!r}, which one leaf of a Tree cannot."
            )
        return pieces

    def _category_pieces(self, element: Element, asked: Field) -> list[Piece]:
        codes: dict[int | str, list[int]] = {}
        for code, label in enumerate(asked.levels):
            codes.setdefault(self._check_target(self._decide(element, asked, label), asked, label), []).append(code)
        if self._takes_other[asked.name]:
            target = self._check_target(self._decide(element, asked, OTHER), asked, "a value that is not listed")
            codes.setdefault(target, []).append(len(asked.levels))
        return [Piece(target, math.inf, tuple(listed)) for target, listed in codes.items()]

    def _check_target(self, target: int | str, asked: Field, value: Any) -> int | str:
        if target in (NOTHING, UNTOLD):
            raise UnsupportedModelError(
                f"A node of the PMML has no child for {asked.name!r} = {value}, so a row has no prediction."
            )
        return target

    def _limits(self, element: Element, asked: Field) -> list[float]:
        every = [one for child in element.findall("Node") for one in predicates.each_simple(find_predicate(child))]
        own = [one for one in every if one.get("field") == asked.name]
        return sorted({read_number(text) for text in predicates.named_values(own)})

    # The nodes of the tree.

    def _grow(self, element: Element) -> int:
        """Add a node and what is below it; return its id."""
        children = element.findall("Node")
        if element.find("Regression") is not None or element.find("DecisionTree") is not None:
            raise UnsupportedModelError("A node of the PMML holds a model of its own, which a Tree cannot.")
        if not children:
            return self._add(Node(leaf_class=self._score(element), counts=_counts(element)))
        asked = self._asked(element)
        if asked is None:
            target = self._decide(element, None, OTHER)
            if not isinstance(target, int):
                raise UnsupportedModelError("A node of the PMML has children, but none of them takes a row.")
            return self._grow(children[target])
        pieces = self._pieces(element, asked)
        missing = self._decide(element, asked, MISSING) if self._accepts[asked.name] else None
        return self._chain(element, asked, pieces, missing)

    def _chain(self, element: Element, asked: Field, pieces: list[Piece], missing: Any) -> int:
        """Add a split for each piece but the last, each to the right of the one before; return the first one's id."""
        links: list[int] = []
        while True:
            first, *pieces = pieces
            if not pieces:
                if missing is None or missing == first.target:
                    last = self._land(element, first.target)
                    break
                # Every value goes left.
                codes = tuple(range(len(asked.levels) + 1)) if asked.kind == "category" else ()
                first = first._replace(upper=math.inf, codes=codes)
            goes_left = missing is not None and missing == first.target
            counts = None if links else _counts(element)
            node = Node(-1, -1, asked.place, first.upper, goes_left, first.codes or None, counts=counts)
            links.append(self._add(node))
            self._nodes[links[-1]] = node._replace(left=self._land(element, first.target))
            if not pieces:
                last = self._land(element, missing)
                break
            missing = None if goes_left else missing
        self._links |= {*links[1:]}
        for place, right in pairwise([*links, last]):  # none if all values go to one child
            self._nodes[place] = self._nodes[place]._replace(right=right)
        return [*links, last][0]

    def _land(self, element: Element, target: int | str) -> int:
        if target == LAST:
            return self._add(Node(leaf_class=self._score(element), counts=_counts_left(element)))
        return self._grow(element.findall("Node")[int(target)])

    def _add(self, node: Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _score(self, element: Element) -> int:
        text = element.get("score")
        if text is None:
            raise UnsupportedModelError("A leaf of the PMML has no score, where readers of PMML differ.")
        return self._classes.index(read_label(text, self._target_type))

    def _assemble(self) -> Tree:
        fields = list(self._fields.values())
        closed = tuple(bool(field.levels) and not self._takes_other[field.name] for field in fields)
        ends = tuple(field.ends for field in fields)
        checked = tuple(field.place for field in fields if closed[field.place] or field.ends or field.is_required)
        is_plain = all(field.kind == "number" for field in fields) and not any(ends)
        columns = Columns((None,) * len(fields), closed, ends, asked=checked)
        counts = None if self._is_regression else self._all_counts()
        if self._is_regression:
            values = [math.nan, *map(float, self._classes)]  # the first of a split
            self._nodes = [node._replace(value=values[node.leaf_class + 1]) for node in self._nodes]
        return make_from_nodes(
            [node._replace(counts=None if counts is None else counts[k]) for k, node in enumerate(self._nodes)],
            categories=[field.levels or None for field in fields],
            **({} if self._is_regression else {"classes": self._classes}),
            n_features=len(fields),
            accepts_missing=[self._accepts[field.name] for field in fields],
            feature_names=[field.name for field in fields],
            dtype="float64",
            columns=None if is_plain else columns,
        )

    def _all_counts(self) -> Any:
        """Count the classes of all nodes; None where one of them has no counts."""
        table = np.zeros((len(self._nodes), len(self._classes)))
        for place, node in reversed(list(enumerate(self._nodes))):
            if place in self._links:
                table[place] = table[node.left] + table[node.right]
                continue
            if node.counts is None:
                return None
            for value, count in node.counts.items():
                table[place, self._classes.index(read_label(value, self._target_type))] += count
        return table


def _find_model(root: Element) -> Element:
    models = [one for one in root if one.find("MiningSchema") is not None]
    found = ", ".join(one.tag for one in models) or "none"
    header = root.find("Header/Application")
    is_own = header is not None and header.get("name") == "secateur"
    if len(models) != 1 or models[0].tag != "TreeModel" or is_own:
        hint = "Only a file of one tree is read."
        if is_own:
            hint = "It holds rules that secateur wrote, and no tree. Keep the tree as JSON, with Tree.to_json."
        raise UnsupportedModelError(f"Expected PMML with one TreeModel, found {found}. {hint}")
    model = models[0]
    if model.get("functionName") not in ("classification", "regression"):
        raise UnsupportedModelError(
            f"Expected a TreeModel for classification or regression, found {model.get('functionName')}."
        )
    if model.get("isScorable", "true") in ("false", "0"):
        raise UnsupportedModelError("The TreeModel of the PMML says that it is not meant to predict.")
    return model


def _check_transformations(root: Element, model: Element) -> None:
    for parent, name in ((root, "TransformationDictionary"), (model, "LocalTransformations")):
        found = parent.find(name)
        if found is not None and any(one.tag in ("DerivedField", "DefineFunction") for one in found):
            raise UnsupportedModelError(f"The PMML has a {name}, which changes values before the tree sees them.")
    for target in model.findall("Targets/Target"):
        strange = {*target.attrib} - {"field", "optype"}
        for value in target.findall("TargetValue"):
            strange |= {*value.attrib} - {"value", "displayValue", "priorProbability"}
        if strange:
            raise UnsupportedModelError(
                f"The PMML changes what is predicted: its Target has {', '.join(sorted(strange))}."
            )


def _valid_values(declared: Element) -> list[str]:
    return [one.attrib["value"] for one in declared.findall("Value") if one.get("property", "valid") == "valid"]


def _read_ends(declared: Element, name: str) -> tuple[float, float] | None:
    """Read the least and the largest number that a field may be."""
    intervals = declared.findall("Interval")
    if not intervals:
        return None
    if len(intervals) > 1:
        raise UnsupportedModelError(f"The PMML has several intervals for {name!r}, and a Tree holds one.")
    one = intervals[0]
    left, right = one.get("leftMargin"), one.get("rightMargin")
    low = -math.inf if left is None else read_number(left)
    high = math.inf if right is None else read_number(right)
    closure = one.attrib["closure"]
    low = math.nextafter(low, math.inf) if closure.startswith("open") and left is not None else low
    high = math.nextafter(high, -math.inf) if closure.endswith("Open") and right is not None else high
    return low, high


def _number_pieces(limits: list[float]) -> Iterator[tuple[float, float, float]]:
    """Cut the numbers at some limits; yield what is below a piece, a number in it, and its largest."""
    start = -math.inf
    for limit in limits:
        below = math.nextafter(limit, -math.inf)
        if below > start:
            yield start, below, below
        yield below, limit, limit
        start = limit
    beyond = math.nextafter(start, math.inf) if limits else 0.0
    if beyond < math.inf:
        yield start, beyond, math.inf


def _counts(element: Element) -> dict[str, float] | None:
    """Read the rows of each class of a node; None where it does not say."""
    found = element.findall("ScoreDistribution")
    if not found or any("recordCount" not in one.attrib for one in found):
        return None
    return {one.attrib["value"]: read_number(one.attrib["recordCount"]) for one in found}


def _counts_left(element: Element) -> dict[str, float] | None:
    """Count the rows of a node that none of its children has."""
    own = _counts(element)
    below = [_counts(child) for child in element.findall("Node")]
    if own is None or any(one is None for one in below):
        return None
    return {value: max(0.0, count - sum((one or {}).get(value, 0.0) for one in below)) for value, count in own.items()}
