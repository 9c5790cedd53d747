"""Rules as an ONNX model of plain operators, for whatever runs ONNX.

Every column that a rule asks for is an input of its own, of shape (rows, 1). The graph follows the decision list::

    columns -> atoms: one interval, one category, "missing", "not listed"   comparisons
            -> tests: any of some atoms                                     a product with a matrix of zeros and ones
            -> rules: all of some tests                                     another one
            -> the first rule that is satisfied                             ArgMax, which takes the first
            -> prediction, rule, reliability                                looked up

A float32 input is rounded by whoever makes it, as scikit-learn does, so limits are exact. Texts and whole numbers have
no NaN in ONNX: rules that take a missing value in such a column are refused.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import ParameterError
from secateur.export.plain_names import FreeNames, check_characters
from secateur.rules.decision_list import make_decision_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.rules.decision_list import Column, ColumnTest, DecisionList
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Label

__all__ = ["rules_to_onnx"]

OPSET = 19  # the first in which texts can be compared
IR_VERSION = 9  # which came with it
REFUSED: dict[str, Label] = {"U": "", "i": 0, "f": float("nan"), "b": False}


def rules_to_onnx(rules: RuleSet) -> bytes:
    """Write the rules as an ONNX model.

    Its outputs are ``prediction``, ``rule`` (counted from 1) and ``reliability`` (NaN where not known), one value for
    each row. A row that the tree refuses has rule 0 and reliability NaN; its prediction then means nothing.

    Parameters
    ----------
    rules : RuleSet

    Returns
    -------
    bytes
        A serialized ``ModelProto``.
    """
    if find_spec("onnx") is None:
        raise ParameterError(
            "An ONNX model needs onnx, which is not installed. Get it with: pip install secateur[onnx]."
        )
    listed = make_decision_list(rules)
    if not listed.columns:
        raise ParameterError("These rules ask for no column, and an ONNX model needs an input; they predict one class.")
    for column in listed.columns:
        _check_column(column)
        check_characters([column.name, *(column.labels or ())], "ONNX")
    check_characters([*rules.tree.classes.tolist(), rules.guarantee], "ONNX")
    return _Graph(listed, len(rules)).build(rules)


def _check_column(column: Column) -> None:
    if not column.name:
        raise ParameterError("A rule asks for a column without a name, which an ONNX input cannot have; rename it.")
    if column.labels is None:
        return
    kind = np.array(column.labels).dtype.kind
    if len({isinstance(label, str) for label in column.labels}) > 1:
        raise ParameterError(f"The categories of column {column.name!r} are of several types; an ONNX input has one.")
    if column.takes_missing and kind != "f":
        raise ParameterError(
            f"Column {column.name!r} may be missing, but ONNX has no missing value for categories. "
            "Fill it in before the tree is fitted, or export SQL or Python."
        )


class _Graph:
    """A graph while it is built: nodes and constants, and the names that were given."""

    def __init__(self, listed: DecisionList, n_rules: int) -> None:
        self._onnx: Any = importlib.import_module("onnx")
        self._listed = listed
        self._n_rules = n_rules
        self._names = FreeNames(column.name for column in listed.columns)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def build(self, rules: RuleSet) -> bytes:
        """The model, serialized."""
        helper, listed = self._onnx.helper, self._listed
        outputs = [self._names.take(name) for name in ("prediction", "rule", "reliability")]
        labels = np.array([rule.label for rule in listed.rules])
        labels = labels.astype(np.int64) if labels.dtype.kind in "iu" else labels
        numbers = np.array([0, *(rule.index + 1 for rule in listed.rules)], dtype=np.int64)
        shares = np.array([np.nan, *(_known(rule.reliability) for rule in listed.rules)])
        winner = self._find_winner()
        for name, table in zip(outputs, (_with_refused(labels), numbers, shares), strict=True):
            self._nodes.append(helper.make_node("Gather", [self._constant(table), winner], [name]))
        kinds = [labels.dtype, numbers.dtype, shares.dtype]
        graph = helper.make_graph(
            self._nodes,
            "secateur",
            [helper.make_tensor_value_info(c.name, self._type(_dtype(c)), ["rows", 1]) for c in listed.columns],
            [
                helper.make_tensor_value_info(name, self._type(kind), ["rows"])
                for name, kind in zip(outputs, kinds, strict=True)
            ],
            self._constants,
            doc_string=f"{self._n_rules} rules, method {rules.method}. {rules.guarantee}",
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, producer_name="secateur", opset_imports=opsets, ir_version=IR_VERSION)
        self._onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content

    def _find_winner(self) -> str:
        """The place of the first rule that each row satisfies, from 1; 0 for a row that is refused."""
        atoms, refused, sizes = [], [], []
        for column in self._listed.columns:
            own, outside = self._read_column(column)
            atoms.append(own)
            refused += outside
            sizes.append(_n_atoms(column, self._intervals(column)))
        starts = np.cumsum([0, *sizes])
        holds = self._float(self._add("Concat", *atoms, axis=1))
        tests = sorted({test for rule in self._listed.rules for test in rule.tests}, key=repr)
        place = {test: number for number, test in enumerate(tests)}
        any_of = np.zeros((starts[-1], len(tests)), dtype=np.float32)
        for test, number in place.items():
            for atom in self._atoms_of(test):
                any_of[starts[test.column] + atom, number] = 1
        all_of = np.zeros((len(tests), len(self._listed.rules)), dtype=np.float32)
        for number, rule in enumerate(self._listed.rules):
            all_of[[place[test] for test in rule.tests], number] = 1
        passed = self._add("MatMul", holds, self._constant(any_of))
        passed = self._float(self._add("Greater", passed, self._constant(np.float32(0.5))))
        # A sum of so many ones is exact.
        needed = self._constant(all_of.sum(axis=0) - np.float32(0.5))
        satisfied = self._add("Greater", self._add("MatMul", passed, self._constant(all_of)), needed)
        if not refused:  # no row is, but the answer for one that were has its place
            none = self._add("MatMul", holds, self._constant(np.zeros((starts[-1], 1), dtype=np.float32)))
            refused = [self._add("Greater", none, self._constant(np.float32(0.5)))]
        first = refused[0]
        for other in refused[1:]:
            first = self._add("Or", first, other)
        ranked = self._float(self._add("Concat", first, satisfied, axis=1))
        return self._add("ArgMax", ranked, axis=1, keepdims=0)

    def _read_column(self, column: Column) -> tuple[str, list[str]]:
        """The atoms of a column side by side, and what is refused of it."""
        if column.labels is None:
            return self._read_numbers(column)
        known = self._add("Equal", column.name, self._constant(np.array(column.labels, dtype=_dtype(column))))
        listed = self._add("ReduceMax", self._float(known), self._constant(np.array([1])), keepdims=1)
        other = self._add("Less", listed, self._constant(np.float32(0.5)))
        if _dtype(column).kind == "f":
            missing = self._add("IsNaN", column.name)
            other = self._add("And", other, self._add("Not", missing))
        else:
            missing = self._add("And", other, self._add("Not", other))  # never
        refused = [] if column.takes_missing else [missing]
        if not column.takes_unlisted:
            refused.append(other)
        return self._add("Concat", known, other, missing, axis=1), refused

    def _read_numbers(self, column: Column) -> tuple[str, list[str]]:
        kind = np.dtype(column.dtype)
        intervals = self._intervals(column)
        lows, highs = (self._constant(np.array(ends, dtype=kind)) for ends in zip(*intervals, strict=True))
        above = self._add("Greater", column.name, lows)
        within = self._add("And", above, self._add("LessOrEqual", column.name, highs))
        missing = self._add("IsNaN", column.name)
        low, high = (float(kind.type(end)) for end in column.ends)
        refused = [self._add("Less", column.name, self._constant(kind.type(low)))]
        refused.append(self._add("Greater", column.name, self._constant(kind.type(high))))
        if not column.takes_missing:
            refused.append(missing)
        return self._add("Concat", within, missing, axis=1), refused

    def _intervals(self, column: Column) -> list[tuple[float, float]]:
        """The intervals of a column that any rule asks for; at least one, because a tensor must not be empty."""
        place = self._listed.columns.index(column)
        tests = [test for rule in self._listed.rules for test in rule.tests if test.column == place]
        return sorted({interval for test in tests for interval in test.intervals}) or [(-np.inf, np.inf)]

    def _atoms_of(self, test: ColumnTest) -> list[int]:
        """The atoms of a test's column that pass it."""
        column = self._listed.columns[test.column]
        if column.labels is None:
            intervals = self._intervals(column)
            return [*map(intervals.index, test.intervals), *([len(intervals)] if test.missing else [])]
        passing = [code for code, label in enumerate(column.labels) if label in test.labels]
        n_labels = len(column.labels)
        return [*passing, *([n_labels] if test.unlisted else []), *([n_labels + 1] if test.missing else [])]

    def _add(self, operator: str, *inputs: str, **attributes: int) -> str:
        """The name of what an operator gives."""
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
    """The type of a column's input."""
    if column.labels is None:
        return np.dtype(column.dtype)
    kind = np.array(column.labels).dtype
    return np.dtype(np.int64) if kind.kind in "iu" else kind


def _n_atoms(column: Column, intervals: Sequence[Any]) -> int:
    """How many atoms a column has: intervals or categories, and what else it can be."""
    return len(intervals) + 1 if column.labels is None else len(column.labels) + 2


def _known(reliability: float | None) -> float:
    return float("nan") if reliability is None else reliability


def _with_refused(labels: NDArray[Any]) -> NDArray[Any]:
    """The labels after one for rows that are refused."""
    return np.concatenate([np.array([REFUSED[labels.dtype.kind]], dtype=labels.dtype), labels])
