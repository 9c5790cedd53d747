"""Read a file that may be damaged, and judge what comes: a refusal in one sentence, or an answer that is right.

What "right" means, for each format:

- ``tree``: the class of every kind of row is what a plain walk over the fields of the JSON gives; what the rules and
  the compact rules of the tree say of it is checked by listing rows, and `verify` agrees.
- ``rules``, ``compact``: the same for the tree inside; each rule covers the rows that its listed links let through; the
  class given is the one of the rule that ranks first by the counts in the file; and wherever `verify` says that the
  promise holds, it holds for every listed row.
- ``packed``: the rules are those in what Python's ``gzip`` unpacks, and judged as such.
- ``skops``: the rules of the model that was read say what the model itself says.
- ``onnx``: the tree says what onnxruntime says of the file. ``iai``: what Interpretable AI's own reader says.
- ``pmml``: the tree says what a plain walk over the elements of the file gives.
- ``csv``: the cells are those of Python's ``csv`` module, for the delimiter that gives as many columns. ``jsonl``:
  those of Python's ``json``. ``arrow``, ``parquet``: those that Arrow reads. Where that reader refuses the file, or the
  file is not one that it can tell the meaning of, nothing is compared: the answer counts as "not compared".
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import struct
import tempfile
import warnings
import zlib
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import brute_force
import numpy as np
import oracles
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import secateur
from secateur.adapters import read_iai, read_onnx, read_pmml
from secateur.choosing import choose_lines
from secateur.cli.model_files import load_model, load_rules
from secateur.cli.tables.table_file import read_table
from secateur.errors import SecateurError
from secateur.export.formats import FORMATS, write_format
from secateur.rows.opening import open_source
from secateur.tree.tree import Tree

REFUSED, AGREED, UNCOMPARED = "refused", "agreed", "not compared"
LISTED_ROWS = 48
SLOW_FORMATS = ("html",)  # left out: they take longer than everything else together


class WrongAnswer(AssertionError):
    """Something was read, and it is not what is there."""


class BadRefusal(AssertionError):
    """A refusal that is not one sentence."""


def judge(kind: str, data: bytes, number: int) -> str:
    """Read the content of a file; give what came of it, or raise what must not happen."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return JUDGES[kind](data, Random(number))
    except SecateurError as error:
        check_sentence(str(error))
        return REFUSED


def check_sentence(text: str) -> None:
    """Refuse an error message that is not one line of words with an end."""
    if not text or len(text.splitlines()) != 1 or len(text) > 3_000 or text[-1] not in ".?!":
        raise BadRefusal(f"not a sentence: {text[:400]!r}")
    if "Traceback" in text or " object at 0x" in text:
        raise BadRefusal(f"not a sentence for people: {text[:400]!r}")


def expect(is_right: bool, words: str, *shown: Any) -> None:
    if not is_right:
        raise WrongAnswer(f"{words} {' | '.join(repr(one)[:300] for one in shown)}")


# --- trees and rules --------------------------------------------------------------------------------------------------


def judge_tree(data: bytes, rng: Random) -> str:
    text = _text(data)
    tree = Tree.from_json(text)
    listed = compare_tree(tree, json.loads(text))
    check_own_rules(tree, listed)
    expect(Tree.from_json(tree.to_json()) == tree, "the tree changes when it is written and read again")
    return AGREED


def judge_rules(data: bytes, rng: Random) -> str:
    text = _text(data)
    rules = secateur.Rules.from_json(text)
    content = json.loads(text)
    listed = compare_tree(rules.tree, content["tree"])
    check_coverage(rules, listed, [rule["kept_ids"] for rule in content["rules"]], content)
    if rules.verify().ok:
        check_exactness(rules, listed)
    write_some(rules, rng)
    return AGREED


def judge_compact(data: bytes, rng: Random) -> str:
    text = _text(data)
    rules = secateur.Rules.from_json(text)
    content = json.loads(text)
    listed = compare_tree(rules.tree, content["source"]["tree"])
    covered = [listed.covered(rule["kept_ids"]) for rule in content["rules"]]
    matrix = as_matrix(listed)
    flags = np.array([brute_force.as_flags(rows, len(matrix)) for rows in covered]).reshape(len(covered), len(matrix)).T
    expect(np.array_equal(rules.covers(matrix), flags), "the compact rules cover other rows than their links")
    labels = np.array([*(rule["prediction"] for rule in content["rules"]), content["otherwise"]], dtype=object)
    first = np.where(flags.any(axis=1), flags.argmax(axis=1), -1) if len(covered) else np.full(len(matrix), -1)
    said = rules.predict(matrix).tolist()
    if rules.verify().ok:
        is_exact = content["budget"] == 0 and secateur.METHODS[content["source"]["method"]].is_exact
        possible = brute_force.as_flags(listed.possible, len(matrix))
        expect(
            labels[first[possible]].tolist() == np.array(said, dtype=object)[possible].tolist(), "another line decides"
        )
        if is_exact:
            own = own_classes(listed)
            expect(
                np.array(said, dtype=object)[possible].tolist() == rules.tree.classes[own[possible]].tolist(),
                "not exact",
            )
    write_some(rules, rng)
    return AGREED


def judge_packed(data: bytes, rng: Random) -> str:
    """Whatever the file holds is what Python's gzip finds in it, and is judged as if it were not packed."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rules.json.gz"
        path.write_bytes(data)
        rules = load_rules(path, takes_changed=True)
    try:
        text = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        # What is not packed at all is read as it is, whatever its name says.
        expect(not data.startswith(b"\x1f\x8b"), "damaged, but read", error)
        text = data
    expect(rules == type(rules).from_json(_text(text)), "the packed rules are others")
    return (judge_compact if isinstance(rules, secateur.Rules) else judge_rules)(text, rng)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


def compare_tree(tree: Tree, content: dict[str, Any]) -> brute_force.ListedRows:
    """List rows of a tree, and compare where each goes with a walk over the fields of its JSON."""
    listed = brute_force.ListedRows(tree, brute_force.every_kind_of_row(tree, LISTED_ROWS))
    own = own_classes(listed)
    for row, found in zip(listed.rows, own.tolist(), strict=True):
        expect(found == walk_json(content, row), "the tree says otherwise than its file", row)
    return listed


def walk_json(content: dict[str, Any], row: tuple[float, ...]) -> int:
    """The class of a row by the fields of a tree's JSON."""
    node = 0
    while content["children_left"][node] != -1:
        feature, value = content["feature"][node], row[content["feature"][node]]
        threshold, levels = content["threshold"][node], content["categories"][feature]
        if math.isnan(value):
            is_left = content["missing_left"][node]
        elif levels is not None:
            begin, end = content["category_offsets"][node : node + 2]
            is_left = min(int(value), len(levels)) in content["category_codes"][begin:end]
        else:
            value = struct.unpack("f", struct.pack("f", value))[0] if content["dtype"] == "float32" else value
            is_left = value <= float(threshold)
        node = content["children_left" if is_left else "children_right"][node]
    return int(content["leaf_class"][node])


def own_classes(listed: brute_force.ListedRows) -> Any:
    return np.array([oracles.tree_class(listed.tree, row) for row in listed.rows])


def is_plain(tree: Tree) -> bool:
    """Whether rows of numbers and codes are what a tree takes: no pipeline, and no texts that stand for numbers."""
    return tree.columns is None and not any(tree.readings)


def as_matrix(listed: brute_force.ListedRows) -> Any:
    """The listed rows as the library takes them: codes, or labels where a pipeline stood before the tree."""
    tree = listed.tree
    matrix = np.array(listed.rows, dtype=float).reshape(len(listed.rows), tree.n_features)
    if is_plain(tree):
        return matrix
    columns = {}
    for feature, levels in enumerate(tree.categories):
        column = matrix[:, feature]
        if levels is not None:
            known = [*levels, "?unlisted?"]
            column = [None if math.isnan(code) else known[min(int(code), len(levels))] for code in column]
        columns[tree.feature_name(feature)] = column
    return pd.DataFrame(columns)


def check_own_rules(tree: Tree, listed: brute_force.ListedRows) -> None:
    """Make rules of a tree that was read, and check them by the listed rows."""
    rules = secateur.simplify(tree, each_leaf=True)
    for rule in rules:
        c = int(tree.leaf_class[rule.leaf_id])
        expect(listed.implies(rule.kept_ids, c), "a rule covers a row of another class", rule.leaf_id)
    expect(rules.verify().ok, "the rules of a tree that was read cannot be verified", str(rules.verify()))
    if is_plain(tree):
        matrix, own = as_matrix(listed), own_classes(listed)
        possible = brute_force.as_flags(listed.possible, len(matrix))
        compact = choose_lines(rules)
        for said in (rules.predict(matrix), compact.predict(matrix)):
            expect(said[possible].tolist() == tree.classes[own[possible]].tolist(), "another class than the tree's")


def check_coverage(
    rules: secateur.Rules, listed: brute_force.ListedRows, links: list[list[int]], content: dict[str, Any]
) -> None:
    """Compare which rules cover a row, and which of them decides it, with the links and counts of the file."""
    if not is_plain(rules.tree):
        return
    matrix = as_matrix(listed)
    flags = np.array([brute_force.as_flags(listed.covered(kept), len(matrix)) for kept in links]).T
    expect(np.array_equal(rules.covers(matrix), flags), "the rules cover other rows than their links let through")
    winners = rules.apply(matrix)
    if not content["is_ranked"] or secateur.METHODS[rules.method].is_exact:
        return  # the rule of a row's own leaf decides, or any: they agree

    def rank(index: int) -> tuple[float, float, int, int]:
        counts = content["rules"][index]["class_counts"]
        c = content["tree"]["classes"].index(content["rules"][index]["prediction"])
        support = sum(counts) if counts is not None else 0
        return (-counts[c] / support if support else 1, -support, len(links[index]), index)

    order = sorted(range(len(links)), key=rank)
    for place, winner in enumerate(winners.tolist()):
        expect(winner == next(index for index in order if flags[place, index]), "another rule decides", matrix[place])


def check_exactness(rules: secateur.Rules, listed: brute_force.ListedRows) -> None:
    """What `verify` proved holds for the listed rows."""
    if not secateur.METHODS[rules.method].is_exact:
        return
    for rule in rules:
        c = int(rules.tree.leaf_class[rule.leaf_id])
        expect(listed.implies(rule.kept_ids, c), "verified, and yet it covers a row of another class", rule.leaf_id)


def write_some(rules: Any, rng: Random) -> None:
    """Write rules in one of the formats, which may refuse them; every third time as JSON, and read that again."""
    str(rules)
    if rng.random() < 0.33:
        text = rules.to_json()
        expect(type(rules).from_json(text).to_json() == text, "written and read again, it differs")
        return
    name = rng.choice([name for name in FORMATS if name not in SLOW_FORMATS])
    try:
        write_format(rules, name)
    except SecateurError as error:
        check_sentence(str(error))


# --- models of other programs -----------------------------------------------------------------------------------------


def judge_skops(data: bytes, rng: Random) -> str:
    with tempfile.NamedTemporaryFile(suffix=".skops") as file:
        file.write(data)
        file.flush()
        model = load_model(Path(file.name))
    try:
        tree = secateur.from_model(model, accepts_missing=None)
        rules: Any = secateur.simplify(tree, each_leaf=True)
    except SecateurError as error:
        if not hasattr(model, "estimators_"):
            raise
        check_sentence(str(error))
        rules, tree = secateur.simplify(model, each_leaf=True), None
    names = getattr(model, "feature_names_in_", None)
    n_features = int(model.n_features_in_)
    draws = np.random.default_rng(rng.randrange(100))
    rows: Any = np.round(draws.normal(size=(20, n_features)) * 20, 2)
    if tree is not None and tree.n_features == n_features and is_plain(tree):
        own = brute_force.every_kind_of_row(tree, LISTED_ROWS)
        rows = np.array([row for row in own if not np.isnan(row).any() and np.abs(row).max() < 1e30] or rows)
    if names is not None:
        rows = pd.DataFrame(rows, columns=names)
    said = rules.predict(rows).tolist()  # before the model itself, which may believe anything
    try:
        theirs = model.predict(rows).tolist()
    except Exception:
        return UNCOMPARED
    expect(said == theirs, "another class than the model's", said, theirs)
    return AGREED


def judge_onnx(data: bytes, rng: Random) -> str:
    import onnxruntime

    tree = read_onnx(data)
    listed = brute_force.ListedRows(tree, brute_force.every_kind_of_row(tree, LISTED_ROWS))
    check_own_rules(tree, listed)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(data, options)
        found = session.get_inputs()
        kind = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}[found[0].type]
        matrix = np.array(listed.rows, dtype=np.float64).astype(kind)
        columns = [matrix] if len(found) == 1 else [matrix[:, [place]] for place in range(len(found))]
        feed = {one.name: column for one, column in zip(found, columns, strict=True)}
        theirs = np.ravel(session.run([session.get_outputs()[0].name], feed)[0]).tolist()
    except Exception:
        return UNCOMPARED
    ours = [tree.classes[oracles.tree_class(tree, row)].item() for row in matrix.astype(np.float64)]
    expect(ours == theirs, "another class than onnxruntime's", ours, theirs)
    return AGREED


def judge_iai(data: bytes, rng: Random) -> str:
    tree = read_iai(json.loads(data)) if rng.random() < 0.5 and _is_json(data) else _read_file(data, ".json", read_iai)
    listed = brute_force.ListedRows(tree, brute_force.every_kind_of_row(tree, LISTED_ROWS))
    check_own_rules(tree, listed)
    try:
        import interpretableai

        predictor = _read_file(data, ".json", lambda path: interpretableai.Predictor(str(path)))
        frame = pd.DataFrame(
            {
                tree.feature_name(feature): [_as_level(row[feature], levels) for row in listed.rows]
                for feature, levels in enumerate(tree.categories)
            }
        )
        theirs = list(predictor.predict(frame))
    except Exception:
        return UNCOMPARED
    ours = [tree.classes[oracles.tree_class(tree, row)].item() for row in listed.rows]
    expect(ours == theirs, "another class than the vendor's reader", ours, theirs)
    return AGREED


def _as_level(value: float, levels: Any) -> Any:
    if levels is None:
        return value
    return None if math.isnan(value) else (*levels, "?unlisted?")[min(int(value), len(levels))]


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _read_file(data: bytes, suffix: str, read: Callable[[Path], Any]) -> Any:
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(data)
        file.flush()
        return read(Path(file.name))


def judge_pmml(data: bytes, rng: Random) -> str:
    tree = read_pmml(data)
    listed = brute_force.ListedRows(tree, brute_force.every_kind_of_row(tree, LISTED_ROWS))
    check_own_rules(tree, listed)
    root = ElementTree.fromstring(data)
    outcome = UNCOMPARED
    for row in listed.rows:
        cells: dict[str, Any] = {}
        for feature, levels in enumerate(tree.categories):
            value: Any = row[feature]
            missing = math.isnan(value)
            if levels is not None and not missing:
                value = levels[int(value)] if int(value) < len(levels) else None
            cells[tree.feature_name(feature)] = None if missing else value
            if levels is not None and not missing and value is None:
                cells = {}
                break
        if not cells or is_refused(tree, row):
            continue  # what is not listed: readers of PMML differ
        theirs = walk_pmml(root, cells)
        if theirs is not None:
            ours = tree.classes[oracles.tree_class(tree, row)].item()
            expect(
                str(ours).lower() == str(theirs).lower() or _same(ours, theirs), "another class than the file's", cells
            )
            outcome = AGREED
    return outcome


def is_refused(tree: Tree, row: tuple[float, ...]) -> bool:
    """Whether a row has a number that the file does not allow."""
    ranges = tree.columns.ranges if tree.columns is not None else ()
    return any(ends is not None and not ends[0] <= value <= ends[1] for value, ends in zip(row, ranges, strict=False))


def _same(ours: Any, theirs: str) -> bool:
    try:
        return float(ours) == float(theirs)
    except ValueError:
        return False


def walk_pmml(root: Any, cells: dict[str, Any]) -> str | None:
    """The score that the elements of a PMML file give to a row; None where this walk cannot tell."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    model = root.find("TreeModel")
    fields = {one.get("name"): one for one in model.find("MiningSchema").findall("MiningField")}
    if any(cells.get(name) is None and one.get("missingValueReplacement") for name, one in fields.items()):
        return None
    strategy = model.get("missingValueStrategy", "none")
    node = model.find("Node")
    while True:
        following = None
        for child in node.findall("Node"):
            holds = holds_pmml(next(part for part in child if part.tag in PREDICATES), cells)
            if holds == "unknown":
                if strategy == "defaultChild":
                    following = next(
                        (one for one in node.findall("Node") if one.get("id") == node.get("defaultChild")), None
                    )
                    if following is None or node.get("defaultChild") is None:
                        return None
                elif strategy == "lastPrediction":
                    return str(node.get("score"))
                elif strategy != "none":
                    return None
                else:
                    continue
                break
            if holds is None:
                return None
            if holds is True:
                following = child
                break
        if following is None:
            is_last = not node.findall("Node") or model.get("noTrueChildStrategy") == "returnLastPrediction"
            return node.get("score") if is_last else None
        node = following


PREDICATES = ("True", "False", "SimplePredicate", "CompoundPredicate", "SimpleSetPredicate")


def holds_pmml(predicate: Any, cells: dict[str, Any]) -> bool | str | None:
    """Whether a predicate is true; "unknown" for a missing value; None where this walk cannot tell."""
    if predicate.tag in ("True", "False"):
        return bool(predicate.tag == "True")
    if predicate.tag == "CompoundPredicate":
        parts = [holds_pmml(part, cells) for part in predicate if part.tag in PREDICATES]
        operator = predicate.get("booleanOperator")
        if None in parts or operator not in ("and", "or"):
            return None
        decisive = operator == "or"
        return decisive if decisive in parts else "unknown" if "unknown" in parts else not decisive
    value = cells.get(predicate.get("field"))
    operator = predicate.get("operator") or predicate.get("booleanOperator")
    if operator in ("isMissing", "isNotMissing"):
        return (value is None) == (operator == "isMissing")
    if value is None:
        return "unknown"
    if predicate.tag == "SimpleSetPredicate":
        words = str(predicate.find("Array").text or "")
        if '"' in words or "\\" in words or not isinstance(value, str):
            return None
        return (value in words.split()) == (operator == "isIn")
    limit: Any = predicate.get("value")
    if isinstance(value, str):
        return {"equal": value == limit, "notEqual": value != limit}.get(operator)
    if isinstance(value, bool):
        return None
    limit = float(limit)
    return {
        **{
            "equal": value == limit,
            "notEqual": value != limit,
            "lessThan": value < limit,
            "lessOrEqual": value <= limit,
        },
        **{"greaterThan": value > limit, "greaterOrEqual": value >= limit},
    }.get(operator)


# --- tables -----------------------------------------------------------------------------------------------------------

Column = list[Any]
MIXED: Column = []


def read_columns(data: bytes, suffix: str, rng: Random) -> dict[str, Column]:
    """Read a table through one of the two doors: whole, or batch by batch."""

    def read(path: Path) -> dict[str, Column]:
        if rng.random() < 0.5:
            table = read_table(path)
            # A column of several types is refused further on, unless it is left out.
            return {
                name: table.frame[name].tolist() if kind != "mixed" else MIXED for name, kind in table.kinds.items()
            }
        with open_source(path) as source:
            source.n_rows  # noqa: B018  # which only some formats tell
            names = source.schema.names
            columns: dict[str, Column] = {name: [] for name in names}
            for batch in source.read(names):
                for name, column in zip(names, batch.columns, strict=True):
                    columns[name] += column.to_pylist()
            return columns

    found: dict[str, Column] = _read_file(data, suffix, read)
    return found


def judge_csv(data: bytes, rng: Random) -> str:
    found = read_columns(data, ".csv", rng)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return UNCOMPARED
    if any(mark in text for mark in '"\\\x00\r\u2028\x85\x0b\x0c\x1c\x1d\x1e') or text.count("\ufeff"):
        return UNCOMPARED  # of which readers make different cells
    for delimiter in (",", ";", "\t", "|"):
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if line]
        header = [name.strip() for name in lines[0]] if lines else []
        if header == list(found) and {len(line) for line in lines} == {len(header)}:
            compare_columns(found, {name: [line[k] for line in lines[1:]] for k, name in enumerate(header)}, same_cell)
            return AGREED
    return UNCOMPARED


def judge_json_lines(data: bytes, rng: Random) -> str:
    found = read_columns(data, ".jsonl", rng)
    try:
        lines = [line for line in data.decode("utf-8").split("\n") if line.strip()]
        records = [json.loads(line, parse_constant=_refuse_constant) for line in lines]
    except (ValueError, RecursionError):
        return UNCOMPARED
    if len(records) == 1 and isinstance(records[0], list):
        records = records[0]
    if not all(isinstance(record, dict) for record in records):
        return UNCOMPARED
    if {name for record in records for name in record} != set(found):
        return UNCOMPARED
    compare_columns(found, {name: [record.get(name) for record in records] for name in found}, same_value)
    return AGREED


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def judge_parquet(data: bytes, rng: Random) -> str:
    return judge_table(read_columns(data, ".parquet", rng), lambda: pq.read_table(io.BytesIO(data)))


def judge_arrow(data: bytes, rng: Random) -> str:
    open_data = pa.ipc.open_file if data[:6] == b"ARROW1" else pa.ipc.open_stream
    return judge_table(read_columns(data, ".arrow", rng), lambda: open_data(pa.BufferReader(data)).read_all())


def judge_table(found: dict[str, Column], read: Callable[[], Any]) -> str:
    """Compare columns with those of a table that Arrow reads, if it does."""
    try:
        table = read()
        table.validate(full=True)
        theirs = {name: table.column(place).to_pylist() for place, name in enumerate(table.column_names)}
    except Exception:
        return UNCOMPARED
    if "" in theirs:  # DuckDB gives such a column a name
        return UNCOMPARED
    compare_columns(found, theirs, same_value)
    return AGREED


def compare_columns(found: dict[str, Column], theirs: dict[str, Column], same: Callable[[Any, Any], bool]) -> None:
    expect(list(found) == list(theirs), "other columns", list(found), list(theirs))
    for name, column in found.items():
        if column is MIXED:
            continue
        expect(len(column) == len(theirs[name]), "another number of rows", name, len(column), len(theirs[name]))
        for place, (ours, other) in enumerate(zip(column, theirs[name], strict=True)):
            expect(same(ours, other), "another value", name, place, ours, other)


BLANKS = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?")


def _is_blank(value: Any) -> bool:
    return value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def same_cell(ours: Any, text: str) -> bool:
    """Whether a value is what a cell of a CSV file says."""
    if _is_blank(ours):
        return text.strip() in BLANKS
    if isinstance(ours, bool):
        return text.strip().lower() == str(ours).lower()
    if isinstance(ours, str):
        return ours == text or ours == text.strip()
    try:
        is_hexadecimal = text.strip().lower().startswith(("0x", "-0x", "+0x"))
        return float(ours) == float(int(text, 16) if is_hexadecimal else text)
    except ValueError:
        return False


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def same_value(ours: Any, theirs: Any) -> bool:
    """Whether a value is the one that another reader found."""
    if _is_blank(theirs):
        return _is_blank(ours)
    if isinstance(theirs, (int, float)) and not isinstance(theirs, bool) and isinstance(ours, (int, float)):
        return float(ours) == _as_float(theirs)
    if isinstance(ours, (list, dict)) or isinstance(theirs, (list, dict, bytes, Decimal)):
        return True  # which no tree asks for
    if isinstance(ours, str) and not isinstance(theirs, str):  # a column of several types is read as text
        return ours.strip() == json.dumps(theirs) or _same(theirs, ours)
    if isinstance(theirs, str) and not isinstance(ours, str):  # a date
        return str(ours).removesuffix(" 00:00:00") == theirs or str(pd.Timestamp(ours)) == str(pd.Timestamp(theirs))
    if isinstance(theirs, (date, datetime, timedelta, time)):
        return str(ours).removesuffix(" 00:00:00") == str(theirs).removesuffix(" 00:00:00")
    return bool(ours == theirs)


JUDGES: dict[str, Callable[[bytes, Random], str]] = {
    "rules": judge_rules,
    "compact": judge_compact,
    "packed": judge_packed,
    "tree": judge_tree,
    "iai": judge_iai,
    "skops": judge_skops,
    "onnx": judge_onnx,
    "pmml": judge_pmml,
    "csv": judge_csv,
    "jsonl": judge_json_lines,
    "parquet": judge_parquet,
    "arrow": judge_arrow,
}
