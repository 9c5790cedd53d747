"""Rules as an ONNX model of plain operators, for whatever runs ONNX.

Every column that a rule asks for is an input of its own, of shape (rows, 1). The graph follows the decision list::

    columns -> atoms: one interval, one category, "missing", "not listed"   comparisons
            -> tests: any of some atoms                                     a product with a matrix of zeros and ones
            -> rules: all of some tests                                     another one
            -> the first rule that is satisfied                             ArgMax, which takes the first
            -> prediction, rule, share                                      looked up

A float32 input is rounded by the caller, as scikit-learn does, so limits are exact. Texts and whole numbers have
no NaN in ONNX: rules that take a missing value in such a column are rejected.
"""

import importlib
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ParameterError, need_library
from secateur.export.plain_names import FreeNames, check_characters, check_unread
from secateur.rules.decision_list import Column, ColumnTest, DecisionList, make_decision_list
from secateur.rules.rules import Rules
from secateur.tree.tree import Label

OPSET = 19  # the first in which texts can be compared
IR_VERSION = 9  # which came with it
REJECTED: dict[str, Label] = {"U": "", "i": 0, "f": float("nan"), "b": False}
HALF = np.float32(0.5)  # between the 0 and 1 of sums that count


def rules_to_onnx(rules: Rules) -> bytes:
    """Write the rules as an ONNX model, a serialized ``ModelProto``.

    Its outputs are ``prediction``, ``rule`` (counted from 1) and ``share`` (NaN where not known), one value for
    each row. A row that the tree rejects has rule 0 and share NaN; its prediction then means nothing.
    """
    need_library("onnx", "onnx", "An ONNX model")
    listed = make_decision_list(rules)
    check_unread(listed.columns, "ONNX")
    if not listed.columns:
        raise ParameterError("These rules ask for no column, but an ONNX model needs an input; they have one answer.")
    for column in listed.columns:
        _check_column(column)
        check_characters([column.name, *(column.labels or ())], "ONNX")
    check_characters([*rules.tree.classes.tolist(), rules.guarantee], "ONNX")
    return _Graph(listed).build(f"{len(rules)} rules, method {rules.method}. {rules.guarantee}")


def _check_column(column: Column) -> None:
    if not column.name:
        raise ParameterError("A rule asks for a column without a name, and an ONNX input needs one: rename it.")
    if column.labels is None:
        return
    if len({isinstance(label, str) for label in column.labels}) > 1:
        raise ParameterError(
            f"The categories of column {column.name!r} are of several types, but an ONNX input has one: fit the tree "
            "on labels of one type."
        )
    if column.takes_missing and np.array(column.labels).dtype.kind != "f":
        raise ParameterError(
            f"Column {column.name!r} may be missing, but ONNX has no missing value for categories. "
            "Fill it in before the tree is fitted, or export SQL or Python."
        )


class _Graph:
    """A graph while it is built: nodes and constants, and the names that were given."""

    def __init__(self, listed: DecisionList) -> None:
        self._onnx: Any = importlib.import_module("onnx")
        self._columns, self._rules = listed.columns, listed.rules
        self._names = FreeNames(column.name for column in listed.columns)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        tests = [test for rule in listed.rules for test in rule.tests]
        # The intervals of each column that any rule asks for; at least one, because a tensor must not be empty.
        asked = [
            {one for test in tests if test.column == n for one in test.intervals} for n in range(len(self._columns))
        ]
        self._intervals = [sorted(intervals) or [(-np.inf, np.inf)] for intervals in asked]

    def build(self, words: str) -> bytes:
        """Serialize the model."""
        helper = self._onnx.helper
        labels = np.array([rule.label for rule in self._rules])
        labels = labels.astype(np.int64) if labels.dtype.kind in "iu" else labels
        # What follows from the place of the rule that wins; place 0 is for rows that are rejected.
        rejected = np.array([REJECTED[labels.dtype.kind]], dtype=labels.dtype)
        shares = [np.nan if rule.share is None else rule.share for rule in self._rules]
        tables = {
            self._names.take("prediction"): np.concatenate([rejected, labels]),
            self._names.take("rule"): np.array([0, *(rule.index + 1 for rule in self._rules)], dtype=np.int64),
            self._names.take("share"): np.array([np.nan, *shares]),
        }
        winner = self._find_winner()
        for name, table in tables.items():
            self._nodes.append(helper.make_node("Gather", [self._constant(table), winner], [name]))
        graph = helper.make_graph(
            self._nodes,
            "secateur",
            [helper.make_tensor_value_info(c.name, self._type(_dtype(c)), ["rows", 1]) for c in self._columns],
            [helper.make_tensor_value_info(n, self._type(table.dtype), ["rows"]) for n, table in tables.items()],
            self._constants,
            doc_string=words,
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, producer_name="secateur", opset_imports=opsets, ir_version=IR_VERSION)
        self._onnx.checker.check_model(model)
        return bytes(model.SerializeToString())

    def _find_winner(self) -> str:
        """Find the place of the first rule that each row satisfies, from 1; 0 for a row that is rejected."""
        atoms, rejected, sizes = [], [], []
        for place, column in enumerate(self._columns):
            own, outside = self._read_numbers(place) if column.labels is None else self._read_labels(column)
            atoms.append(own)
            rejected += outside
            sizes.append(len(self._intervals[place]) + 1 if column.labels is None else len(column.labels) + 2)
        starts = np.cumsum([0, *sizes])
        holds = self._float(self._add("Concat", *atoms, axis=1))
        tests = sorted({test for rule in self._rules for test in rule.tests}, key=repr)
        place_of = {test: number for number, test in enumerate(tests)}
        any_of = np.zeros((starts[-1], len(tests)), dtype=np.float32)
        for test, number in place_of.items():
            any_of[[starts[test.column] + atom for atom in self._atoms_of(test)], number] = 1
        all_of = np.zeros((len(tests), len(self._rules)), dtype=np.float32)
        for number, rule in enumerate(self._rules):
            all_of[[place_of[test] for test in rule.tests], number] = 1
        passed = self._add("MatMul", holds, self._constant(any_of))
        passed = self._float(self._add("Greater", passed, self._constant(HALF)))
        # A sum of so many ones is exact.
        needed = self._constant(all_of.sum(axis=0) - HALF)
        satisfied = self._add("Greater", self._add("MatMul", passed, self._constant(all_of)), needed)
        if not rejected:  # no row is rejected, but the answer for one keeps its place
            none = self._add("MatMul", holds, self._constant(np.zeros((starts[-1], 1), dtype=np.float32)))
            rejected = [self._add("Greater", none, self._constant(HALF))]
        first = reduce(lambda one, other: self._add("Or", one, other), rejected)
        ranked = self._float(self._add("Concat", first, satisfied, axis=1))
        return self._add("ArgMax", ranked, axis=1, keepdims=0)

    def _read_labels(self, column: Column) -> tuple[str, list[str]]:
        """Put the atoms of a column of categories side by side, and list which rows are rejected."""
        known = self._add("Equal", column.name, self._constant(np.array(column.labels, dtype=_dtype(column))))
        listed = self._add("ReduceMax", self._float(known), self._constant(np.array([1])), keepdims=1)
        other = self._add("Less", listed, self._constant(HALF))
        if _dtype(column).kind == "f":
            missing = self._add("IsNaN", column.name)
            other = self._add("And", other, self._add("Not", missing))
        else:
            missing = self._add("And", other, self._add("Not", other))  # never
        rejected = [*([] if column.takes_missing else [missing]), *([] if column.takes_unlisted else [other])]
        return self._add("Concat", known, other, missing, axis=1), rejected

    def _read_numbers(self, place: int) -> tuple[str, list[str]]:
        """Put the atoms of a column of numbers side by side, and list which rows are rejected."""
        column = self._columns[place]
        kind = np.dtype(column.dtype)
        lows, highs = (self._constant(np.array(ends, dtype=kind)) for ends in zip(*self._intervals[place], strict=True))
        above = self._add("Greater", column.name, lows)
        within = self._add("And", above, self._add("LessOrEqual", column.name, highs))
        missing = self._add("IsNaN", column.name)
        low, high = (self._constant(kind.type(end)) for end in column.ends)
        rejected = [self._add("Less", column.name, low), self._add("Greater", column.name, high)]
        if not column.takes_missing:
            rejected.append(missing)
        return self._add("Concat", within, missing, axis=1), rejected

    def _atoms_of(self, test: ColumnTest) -> list[int]:
        labels, intervals = self._columns[test.column].labels, self._intervals[test.column]
        if labels is None:
            return [*map(intervals.index, test.intervals), *[len(intervals)] * test.missing]
        passing = [code for code, label in enumerate(labels) if label in test.labels]
        return [*passing, *[len(labels)] * test.unlisted, *[len(labels) + 1] * test.missing]

    def _add(self, operator: str, *inputs: str, **attributes: int) -> str:
        """Add an operator, and name what it gives."""
        name = self._names.take(f"{operator.lower()}_{len(self._nodes)}")
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def _float(self, flags: str) -> str:
        return self._add("Cast", flags, to=self._onnx.TensorProto.FLOAT)

    def _constant(self, values: NDArray[Any] | np.generic) -> str:
        name = self._names.take(f"constant_{len(self._constants)}")
        array = np.asarray(values)
        if array.dtype.kind == "U":
            encoded = [text.encode() for text in array.ravel().tolist()]
            tensor = self._onnx.helper.make_tensor(name, self._onnx.TensorProto.STRING, array.shape, encoded)
        else:
            tensor = self._onnx.numpy_helper.from_array(array, name)
        self._constants.append(tensor)
        return name

    def _type(self, kind: np.dtype[Any]) -> int:
        if kind.kind == "U":
            return int(self._onnx.TensorProto.STRING)
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(kind))


def _dtype(column: Column) -> np.dtype[Any]:
    if column.labels is None:
        return np.dtype(column.dtype)
    kind = np.array(column.labels).dtype
    return np.dtype(np.int64) if kind.kind in "iu" else kind
