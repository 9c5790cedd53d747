"""An ONNX file with one tree, as skl2onnx and onnxmltools write it -> Tree.

Three operators of ``ai.onnx.ml`` are read.

- ``TreeEnsembleClassifier``: ``nodes_*`` are parallel lists, a leaf has the mode LEAF, and ``class_*`` list the votes
  of the leaves. Its first output is the label.
- ``TreeEnsembleRegressor`` of one target: ``target_*`` list the weights of the leaves, whose sums are the values.
- ``TreeEnsemble`` (opset 5): ``nodes_*`` are the inner nodes, ``leaf_*`` the leaves, one vote each. It gives scores; an
  ArgMax behind it, and perhaps a LabelEncoder, make the label.

A test is BRANCH_LEQ, BRANCH_LT, BRANCH_GTE or BRANCH_GT; a NaN fails it, unless ``nodes_missing_value_tracks_true``
says that it passes. Rows are rounded to float32 where an input, a Cast or the operator does so, else compared as
float64. An operator that takes whole numbers compares them as float32.

ONNX leaves open how votes become a label; onnxruntime decides here:

- Votes are added up in the operator's type. With three classes or more, the first largest sum wins.
- With two classes and votes for one of them only, that sum is the second class's: it wins above 0.5 if no vote is
  negative, else above 0.
- With two classes and votes for both, onnxruntime takes the second one whenever its sum is above 0.

The file is rejected wherever onnxruntime and the largest sum differ, except for one column of votes. So are operators
that change what is compared or predicted.

Node ids are the file's if they count from 0 and grow from parent to child; else nodes are numbered in preorder, the
left child first.
"""

import math
import os
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.reading import Node, make_from_nodes, order_nodes, read_bytes, reject_damage
from secateur.errors import FormatError, ParameterError, UnsupportedModelError, need_library
from secateur.limits import check_memory
from secateur.tree.tree import Tree

CLASSIFIER, REGRESSOR, ENSEMBLE = "TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble"
UNTRANSFORMED = (None, b"NONE", "NONE")
DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
AFTER_SCORES = ("Identity", "Cast", "ZipMap", "Normalizer")  # what may follow the scores: it cannot reach the label
# The types of inputs, by their number in ONNX: how a value is rounded before it is compared.
KINDS = {1: "float32", 11: "float64", 6: "whole", 7: "whole"}
FLOAT, INT64, STRING, DOUBLE = 1, 7, 8, 11
MOST_COLUMNS = 100_000  # a file of a few bytes can ask for more than there is memory
MOST_MESSAGES = 100_000  # one tree has some hundred, and one of two bytes takes 350 in memory
GROWTH = 40  # times its size that a file of one tree takes in memory
VARINT, SIZED, FIXED = 0, 2, {1: 8, 5: 4}  # wire types of fields: a number, bytes after their length, so many bytes


class Source(NamedTuple):
    """A tree as an operator states it: its nodes by id, its labels, and whether some node tells where NaN goes."""

    root: int
    nodes: dict[int, Node]
    labels: list[Any]
    tells_missing: bool


@dataclass
class Inputs:
    """The columns that go into the operator."""

    kinds: list[str] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    is_open: bool = False  # the file does not say how many there are


def read_onnx(source: Any, *, accepts_missing: bool | None = None) -> Tree:
    """Read an ONNX file that holds one tree, of classes or of values.

    Parameters
    ----------
    source : path, bytes or onnx.ModelProto
    accepts_missing : bool, default=None
        Whether the tree takes NaN; by default, if some node says that NaN passes its test. Without such a node the
        file sends NaN somewhere, but perhaps by accident.

    Returns
    -------
    Tree
        Without counts: pass the training rows wherever counts are needed.

    Examples
    --------
    >>> from onnx import TensorProto, helper
    >>> node = helper.make_node(
    ...     "TreeEnsembleClassifier", ["X"], ["label", "scores"], domain="ai.onnx.ml", nodes_treeids=[0, 0, 0],
    ...     nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_values=[30.5, 0.0, 0.0],
    ...     nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
    ...     class_treeids=[0, 0], class_nodeids=[1, 2], class_ids=[0, 0], class_weights=[0.2, 0.9],
    ...     classlabels_strings=["no", "yes"],
    ... )
    >>> rows = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 1])
    >>> label = helper.make_tensor_value_info("label", TensorProto.STRING, [None])
    >>> read_onnx(helper.make_model(helper.make_graph([node], "tree", [rows], [label])))
    <Tree: 2 leaves, depth 1, 1 feature, classes no, yes>
    """
    need_library("onnx", "onnx", "An ONNX model")
    if accepts_missing is not None and not isinstance(accepts_missing, bool):
        raise ParameterError(f"Expected accepts_missing as True, False or None, found {accepts_missing!r}.")
    graph = _Graph(_load(source))
    with reject_damage("The ONNX model"):
        return _assemble(*graph.read(), accepts_missing)


def _load(source: Any) -> Any:
    onnx: Any = import_module("onnx")
    if isinstance(source, onnx.ModelProto):
        return source
    if isinstance(source, (str, os.PathLike)):
        source = read_bytes(source, "The ONNX model")
    if not isinstance(source, (bytes, bytearray, memoryview)):
        raise FormatError(f"Expected an ONNX model as a path, bytes or a ModelProto, found {type(source).__name__}.")
    data = bytes(source)
    check_memory(GROWTH * len(data), "The ONNX model")
    if _count_messages(data, onnx.ModelProto.DESCRIPTOR) > MOST_MESSAGES:
        raise FormatError(f"The ONNX model has more than {MOST_MESSAGES:,} parts: expected one tree.")
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf has errors of its own
        raise FormatError("Expected an ONNX model, but the bytes are none, or were cut.") from error
    if not model.graph.node:
        raise FormatError("Expected an ONNX model with a tree, but its graph holds no operator.")
    return model


def _count_messages(data: bytes, kind: Any) -> int:
    """Count the messages within a message, no further than one too many; a damaged one is left to the library."""
    waiting, found = [(0, len(data), kind)], 0
    with suppress(IndexError):  # it was cut
        while waiting:
            place, end, kind = waiting.pop()
            parts = {number: part.message_type for number, part in kind.fields_by_number.items() if part.message_type}
            while place < end and found <= MOST_MESSAGES:
                tag, place = _read_varint(data, place)
                wire = tag & 7
                size = FIXED.get(wire, 0)
                if wire in (VARINT, SIZED):
                    value, place = _read_varint(data, place)
                    size = value if wire == SIZED else 0
                if wire == SIZED and tag >> 3 in parts:
                    found += 1
                    waiting.append((place, min(place + size, end), parts[tag >> 3]))
                place += size
    return found


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    """Read a whole number of seven bits a byte; the last byte has no eighth."""
    value, shift = data[place], 0
    while data[place] > 127:
        place, shift = place + 1, shift + 7
        value += (data[place] - 1) << shift
    return value, place + 1


class _Graph:
    """The graph of a model, looked at operator by operator."""

    def __init__(self, model: Any) -> None:
        self._onnx: Any = import_module("onnx")
        self._graph = model.graph
        self._made = {name: (place, node) for place, node in enumerate(model.graph.node) for name in node.output}
        self._traced: dict[str, Inputs] = {}
        self._seen: set[int] = set()  # places of the operators that are accounted for
        self._is_own = model.producer_name == "secateur"

    def read(self) -> tuple[Source, Inputs]:
        nodes = list(self._graph.node)
        trees = [place for place, node in enumerate(nodes) if node.op_type.startswith(ENSEMBLE)]
        if len(trees) != 1 or nodes[trees[0]].op_type not in (CLASSIFIER, REGRESSOR, ENSEMBLE):
            found = ", ".join(sorted({node.op_type for node in nodes}))
            hint = "Only a file of one tree is read."
            if not trees and self._is_own:
                hint = "It holds rules that secateur wrote, and no tree. Keep the tree as JSON, with Tree.to_json."
            raise UnsupportedModelError(
                f"Expected an ONNX model with one {CLASSIFIER} or {REGRESSOR}, found {found}. {hint}"
            )
        tree = nodes[trees[0]]
        self._seen.add(trees[0])
        inputs = self._trace(tree.input[0])
        number = np.float64 if self._element_type(tree.input[0]) == "float64" else np.float32
        fields = self._attributes(tree)
        if tree.op_type == REGRESSOR:
            source = _read_regressor(fields, number)
            self._follow_value({tree.output[0]})
        elif tree.op_type == CLASSIFIER:
            source = _read_classifier(fields, number)
            source = self._follow({tree.output[0]} - {""}, set(tree.output[1:]), source, from_scores=False)
        else:
            source = self._follow(set(), {tree.output[0]}, _read_ensemble(fields), from_scores=True)
        for place, node in enumerate(nodes):
            if place not in self._seen:
                raise _operator_error(node, "beside its tree")
        return source, inputs

    def _value(self, attribute: Any) -> Any:
        value = self._onnx.helper.get_attribute_value(attribute)
        if isinstance(value, self._onnx.TensorProto):
            if value.data_location == self._onnx.TensorProto.EXTERNAL:
                raise UnsupportedModelError("The ONNX model keeps numbers in another file. Save it as one file.")
            return self._onnx.numpy_helper.to_array(value)
        return value

    def _attributes(self, node: Any) -> dict[str, Any]:
        return {one.name: self._value(one) for one in node.attribute}

    def _input_type(self, name: str) -> Any:
        given = {one.name for one in self._graph.initializer}
        found = [one for one in self._graph.input if one.name == name and name not in given]
        if not found:
            raise UnsupportedModelError(f"The tree of the ONNX model reads {name!r}, which is no input of the graph.")
        return found[0].type.tensor_type

    def _element_type(self, name: str) -> str:
        made = self._made.get(name)
        if made is None:
            return KINDS[self._input_type(name).elem_type]
        node = made[1]
        is_cast = node.op_type == "Cast"
        return KINDS[self._attributes(node)["to"]] if is_cast else self._element_type(node.input[0])

    def _trace(self, name: str, depth: int = 0) -> Inputs:
        """Find the columns that a tensor is made of, each with its rounding."""
        if name not in self._traced:
            self._traced[name] = self._trace_step(name, depth)
        return self._traced[name]

    def _trace_step(self, name: str, depth: int) -> Inputs:
        made = self._made.get(name)
        if made is None:
            return self._read_input(name)
        place, node = made
        self._seen.add(place)
        fields = self._attributes(node)
        operator = node.op_type if node.domain in DOMAINS else None
        if depth > len(self._graph.node):
            raise FormatError("The operators of the ONNX model feed one another in a circle.")
        if operator == "Identity":
            return self._trace(node.input[0], depth + 1)
        if operator == "Concat" and fields["axis"] in (1, -1):
            parts = [self._trace(one, depth + 1) for one in node.input]
            if any(part.is_open for part in parts):
                raise UnsupportedModelError("An input of the ONNX model does not say how many columns it has.")
            _check_width(sum(len(part.kinds) for part in parts))
            return Inputs([one for part in parts for one in part.kinds], [one for part in parts for one in part.names])
        if operator == "Cast" and fields["to"] in (FLOAT, DOUBLE):
            before = self._trace(node.input[0], depth + 1)
            return Inputs([_cast(kind, fields["to"]) for kind in before.kinds], before.names, before.is_open)
        raise _operator_error(node, "between its rows and its tree")

    def _read_input(self, name: str) -> Inputs:
        kind = self._input_type(name)
        if kind.elem_type not in KINDS:
            found = self._onnx.TensorProto.DataType.Name(kind.elem_type)
            raise UnsupportedModelError(f"The input {name!r} of the ONNX model holds {found}, not numbers.")
        sizes = list(kind.shape.dim)
        if len(sizes) != 2:
            raise UnsupportedModelError(f"The input {name!r} of the ONNX model is no table of rows and columns.")
        width = int(sizes[1].dim_value)
        _check_width(width)
        names: list[str | None] = [name] if width == 1 else [None] * max(width, 1)
        return Inputs([KINDS[kind.elem_type]] * max(width, 1), names, is_open=width < 1)

    def _follow(self, labels: set[str], scores: set[str], source: Source, *, from_scores: bool) -> Source:
        """Follow label and scores to the outputs of the graph; reject what changes the label on the way."""
        may_encode = from_scores
        for place, node in enumerate(self._graph.node):
            if place in self._seen or not {*node.input} & (labels | scores):
                continue
            self._seen.add(place)
            fields = self._attributes(node)
            operator = node.op_type if node.domain in DOMAINS else f"{node.domain}.{node.op_type}"
            is_first_of_row = fields.get("axis", 0) in (1, -1) and not fields.get("select_last_index", 0)
            if {*node.input} & labels:
                label_type = STRING if isinstance(source.labels[0], str) else INT64
                is_same = operator == "Identity" or (operator == "Cast" and fields["to"] == label_type)
                if operator == "LabelEncoder" and may_encode:
                    source = source._replace(labels=_encode_labels(source.labels, fields))
                    labels, may_encode = set(), False
                elif not is_same:
                    raise _operator_error(node, "behind the label")
                labels = labels | {*node.output}
            elif operator == "ArgMax" and from_scores and not labels and is_first_of_row:
                labels = {*node.output}
            elif operator in AFTER_SCORES:
                scores = scores | {*node.output}
            else:
                raise _operator_error(node, "behind the scores")
        if not labels & {one.name for one in self._graph.output}:
            raise UnsupportedModelError("The ONNX model gives scores but no label: nothing says what it predicts.")
        return source

    def _follow_value(self, values: set[str]) -> None:
        """Follow the value to the outputs of the graph; reject what changes it on the way."""
        for place, node in enumerate(self._graph.node):
            if place not in self._seen and {*node.input} & values:
                self._seen.add(place)
                if node.op_type != "Identity":
                    raise _operator_error(node, "behind the value")
                values = values | {*node.output}


def _check_width(width: int) -> None:
    if width > MOST_COLUMNS:
        raise UnsupportedModelError(f"The ONNX model has {width} columns; at most {MOST_COLUMNS} are read.")


def _operator_error(node: Any, where: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"The ONNX model has the operator {node.op_type} {where}, which a Tree cannot hold. Convert the tree alone."
    )


def _cast(kind: str, to: int) -> str:
    if kind == "float32" or to == DOUBLE:
        return "doubled" if kind == "whole" else kind
    if kind == "doubled":  # rounded to a double, and then once more
        raise UnsupportedModelError("The ONNX model rounds whole numbers twice on their way to the tree.")
    return "float32"


def _encode_labels(places: list[Any], fields: dict[str, Any]) -> list[Any]:
    """Look up the labels that an encoder gives for the places of the largest score."""
    keys = _listed(fields, "keys_int64s", "keys_tensor")
    known = dict(zip(keys, _listed(fields, "values_strings", "values_int64s", "values_tensor"), strict=True))
    absent = [place for place in places if place not in known]
    if absent:
        raise UnsupportedModelError(f"The LabelEncoder of the ONNX model has no label for class {absent[0]}.")
    return [known[place] for place in places]


def _listed(fields: dict[str, Any], *names: str) -> list[Any]:
    """Return the first of some fields that is there, as plain values."""
    found = next((fields[name] for name in names if len(fields.get(name, ()))), None)
    if found is None:
        raise KeyError(names[0])
    listed = found.tolist() if isinstance(found, np.ndarray) else list(found)
    return [one.decode() if isinstance(one, bytes) else one for one in listed]


def _read_classifier(fields: dict[str, Any], number: type[np.floating[Any]]) -> Source:
    """Read a TreeEnsembleClassifier; ``number`` is the type that it adds votes up in."""
    labels = _listed(fields, "classlabels_strings", "classlabels_int64s")
    root, nodes, votes, tells = _read_votes(fields, number, "class", len(labels))
    winners = _find_winners(labels, votes, _numbers(fields, "base_values", number), number)
    return Source(root, nodes | {node: Node(leaf_class=one) for node, one in winners.items()}, labels, tells)


def _read_regressor(fields: dict[str, Any], number: type[np.floating[Any]]) -> Source:
    """Read a TreeEnsembleRegressor of one target, whose value is what the weights of a leaf add up to."""
    if int(fields.get("n_targets", 1)) != 1:
        raise UnsupportedModelError(f"The ONNX model predicts {fields['n_targets']} values, but a line states one.")
    if fields.get("post_transform") not in UNTRANSFORMED:
        raise UnsupportedModelError("The TreeEnsembleRegressor of the ONNX model transforms its values.")
    root, nodes, votes, tells = _read_votes(fields, number, "target", 1)
    base = _numbers(fields, "base_values", number)
    for leaf, listed in votes.items():
        total = number(0)
        for _, weight in listed:
            total += number(weight)
        total = total + base[0] if len(base) else total
        _check_finite(total)
        nodes[leaf] = Node(leaf_class=0, value=float(total))
    return Source(root, nodes, [], tells)


def _read_votes(
    fields: dict[str, Any], number: type[np.floating[Any]], kind: str, n_kinds: int
) -> tuple[int, dict[int, Node], dict[int, list[tuple[int, float]]], bool]:
    """Read the root, the splits, the votes of each leaf and whether some split tells where NaN goes."""
    _check_one(len(set(fields["nodes_treeids"])))
    ids = [int(one) for one in fields["nodes_nodeids"]]
    values = _numbers(fields, "nodes_values", number)
    tracks = list(fields.get("nodes_missing_value_tracks_true", ())) or [0] * len(ids)
    columns = [fields[f"nodes_{name}"] for name in ("featureids", "truenodeids", "falsenodeids")]
    nodes: dict[int, Node] = {}
    votes: dict[int, list[tuple[int, float]]] = {}
    rows = _pair_up(ids, _listed(fields, "nodes_modes"), values, tracks, *columns)
    for node, mode, value, track, feature, passed, failed in rows:
        if mode == "LEAF":
            votes[node] = []
        else:
            nodes[node] = _read_split(feature, mode, float(value), passed, failed, track == 1)
    if len(set(ids)) < len(ids):
        raise FormatError("Two nodes of the tree of the ONNX model have the same id.")
    weights = _numbers(fields, f"{kind}_weights", number)
    for node, chosen, weight in _pair_up(fields[f"{kind}_nodeids"], fields[f"{kind}_ids"], weights):
        if node not in votes or not 0 <= chosen < n_kinds:
            raise FormatError(f"A vote of the ONNX model is for leaf {node} and class {chosen}, which do not exist.")
        votes[node].append((int(chosen), weight))
    return ids[0], nodes, votes, any(row[1] != "LEAF" and row[3] == 1 for row in rows)


def _check_one(n_trees: int) -> None:
    if n_trees != 1:
        raise UnsupportedModelError(f"The ONNX model adds up {n_trees} trees, but a Tree is one.")


def _pair_up(*columns: Any) -> list[Any]:
    try:
        return list(zip(*columns, strict=True))
    except ValueError as error:
        raise FormatError("The lists of nodes or votes of the ONNX model are not all of one length.") from error


def _numbers(fields: dict[str, Any], name: str, number: type[np.floating[Any]]) -> NDArray[Any]:
    """Read a list of floats, or a tensor of doubles, which only an operator of doubles takes."""
    tensor = fields.get(f"{name}_as_tensor")
    if tensor is None:
        return np.array(fields.get(name, ()) if name == "base_values" else fields[name], dtype=number)
    if number != np.float64 or tensor.dtype != np.float64 or name in fields:
        raise UnsupportedModelError(f"The ONNX model has {name} as a tensor, but its rows are no doubles.")
    return np.asarray(tensor).ravel()


def _check_finite(values: Any) -> None:
    if not np.isfinite(values).all():
        raise FormatError("A vote of the tree of the ONNX model is not finite.")


def _find_winners(
    labels: list[Any], votes: dict[int, list[tuple[int, float]]], base: NDArray[Any], number: type[np.floating[Any]]
) -> dict[int, int]:
    """Find the class that the votes of each leaf become."""
    n_classes, cast = len(labels), [one for listed in votes.values() for one in listed]
    if n_classes < 2:
        raise UnsupportedModelError("The ONNX model has one class only, so there is nothing to decide.")
    _check_finite([*(weight for _, weight in cast), *base])
    voted = {chosen for chosen, _ in cast}
    is_single = n_classes == 2 and len(voted) == 1
    fits = len(base) == 0 or (is_single and voted == {0} and len(base) == 1)
    if not fits and not (n_classes > 2 and len(base) == n_classes):
        raise UnsupportedModelError(
            f"The ONNX model has {len(base)} base_values for {n_classes} classes, which readers of ONNX add in "
            "different ways."
        )
    if n_classes == 2 and not is_single and not isinstance(labels[0], str) and labels != [0, 1]:
        raise UnsupportedModelError(
            f"The ONNX model votes for both of the classes {labels}, where readers of ONNX give other labels."
        )
    limit = 0.5 if all(weight >= 0 for _, weight in cast) else 0
    winners = {}
    for leaf, listed in votes.items():
        sums, has_sum = np.zeros(n_classes, dtype=number), np.zeros(n_classes, dtype=bool)
        for chosen, weight in listed:
            sums[chosen] += number(weight)
            has_sum[chosen] = True
        if is_single:
            winners[leaf] = int(sums[min(voted)] + (base[0] if len(base) else number(0)) > limit)
            continue
        if len(base):
            sums += base
            has_sum[:] = True
        winners[leaf] = int(sums.argmax())
        if n_classes == 2:
            told = int(sums[1 if has_sum[1] else 0] > 0)
        else:
            told = int(np.where(has_sum, sums, -np.inf).argmax()) if has_sum.any() else -1
        if told != winners[leaf]:
            raise UnsupportedModelError(
                f"A leaf of the ONNX model has the scores {sums.tolist()}, from which readers of ONNX make different "
                "labels. Convert it with votes for one class of two, or as TreeEnsemble with an ArgMax."
            )
    return winners


def _read_ensemble(fields: dict[str, Any]) -> Source:
    """Read a TreeEnsemble, whose leaves become nodes of their own."""
    _check_one(len(fields["tree_roots"]))
    if fields.get("post_transform", 0) != 0 or fields.get("aggregate_function", 1) not in (0, 1):
        raise UnsupportedModelError(
            "The TreeEnsemble of the ONNX model transforms its scores, or takes an extreme one, which may change the "
            "label. Convert it without."
        )
    n_classes = int(fields["n_targets"])
    if n_classes < 2:
        raise UnsupportedModelError("The TreeEnsemble of the ONNX model gives one score, which chooses no class.")
    winners = []
    for target, weight in _pair_up(fields["leaf_targetids"], np.ravel(fields["leaf_weights"]).tolist()):
        _check_finite(weight)
        scores = np.zeros(n_classes)
        scores[_check_place(target, n_classes)] = weight
        winners.append(int(scores.argmax()))
    modes = [MODES[int(mode)] for mode in np.ravel(fields["nodes_modes"])]
    n_inner = len(modes)
    tracks = list(fields.get("nodes_missing_value_tracks_true", ())) or [0] * n_inner
    names = ("featureids", "truenodeids", "trueleafs", "falsenodeids", "falseleafs")
    limits = np.ravel(fields["nodes_splits"]).tolist()
    rows = _pair_up(modes, limits, tracks, *(fields[f"nodes_{name}"] for name in names))
    splits: dict[int, Node] = {}
    leaves: list[Node] = []
    for node, (mode, limit, track, feature, *sides) in enumerate(rows):
        children = []
        for child, is_leaf in (sides[:2], sides[2:]):
            if is_leaf:
                children.append(n_inner + len(leaves))
                leaves.append(Node(leaf_class=winners[_check_place(child, len(winners))]))
            else:
                children.append(_check_place(child, n_inner))
        passed, failed = children
        splits[node] = _read_split(feature, mode, float(limit), passed, failed, track == 1)
    nodes = splits | dict(enumerate(leaves, n_inner))
    return Source(_check_place(fields["tree_roots"][0], n_inner), nodes, list(range(n_classes)), 1 in tracks)


def _check_place(place: Any, size: int) -> int:
    if not 0 <= place < size:
        raise IndexError(f"{place} is none of {size} places")
    return int(place)


def _read_split(feature: Any, mode: str, limit: float, passed: Any, failed: Any, missing_passes: bool) -> Node:
    """Write a test as ``x <= threshold``, with the children on their sides."""
    if mode not in MODES[:4]:
        raise UnsupportedModelError(
            f"The tree of the ONNX model tests {mode}, which no threshold says. Encode its categories as columns."
        )
    if math.isnan(limit):
        raise FormatError("A limit of the tree of the ONNX model is NaN.")
    passes_below = mode in ("BRANCH_LEQ", "BRANCH_LT")
    left, right = (int(passed), int(failed)) if passes_below else (int(failed), int(passed))
    missing_left = missing_passes == passes_below
    threshold = limit if mode in ("BRANCH_LEQ", "BRANCH_GT") else math.nextafter(limit, -math.inf)
    if threshold == -math.inf:  # no number is on the left
        return Node(right, left, int(feature), math.inf, not missing_left)
    return Node(left, right, int(feature), threshold, missing_left)


def _assemble(source: Source, inputs: Inputs, accepts_missing: bool | None) -> Tree:
    def children_of(node: int) -> tuple[int, ...]:
        if node not in source.nodes:
            raise FormatError(f"The tree of the ONNX model has a child {node}, which does not exist.")
        found = source.nodes[node]
        return () if found.leaf_class >= 0 else (found.left, found.right)

    order = order_nodes(source.root, children_of, "the tree of the ONNX model", len(source.nodes))
    if len(order) < len(source.nodes):  # readers of ONNX make different trees of such a file
        raise FormatError(
            f"No path of the tree of the ONNX model leads to {len(source.nodes) - len(order)} of its nodes."
        )
    new_id = {node: number for number, node in enumerate(order)} | {-1: -1}
    width = max(0, *(node.feature for node in source.nodes.values())) + 1
    if inputs.is_open:
        _check_width(width)
        inputs = Inputs(inputs.kinds * width, [None] * width)
    kinds = {"float32" if kind == "whole" else "float64" if kind == "doubled" else kind for kind in inputs.kinds}
    if len(kinds) != 1:
        raise UnsupportedModelError("The ONNX model rounds some of its columns to float32 and others not.")
    takes_missing = source.tells_missing if accepts_missing is None else accepts_missing
    is_whole = np.array([kind in ("whole", "doubled") for kind in inputs.kinds])
    named = [name for name in inputs.names if name is not None]
    nodes = [source.nodes[node] for node in order]
    return make_from_nodes(
        [node._replace(left=new_id[node.left], right=new_id[node.right]) for node in nodes],
        **({"classes": source.labels} if source.labels else {}),
        n_features=len(inputs.kinds),
        accepts_missing=takes_missing & ~is_whole,
        feature_names=named if len(named) == len(set(named)) == len(inputs.kinds) > 1 else None,
        dtype=kinds.pop(),
    )
