"""Read a file that may be damaged, and judge what comes: a rejection in one sentence, or an answer that is right.

What "right" means, for each format:

- ``tree``: the class of every kind of row is what a plain walk over the fields of the JSON gives; what the rules of the
  tree say of it, one for each leaf and as a list, is checked by listing rows, and `verify` agrees.
- ``rules``: the same for the tree inside; each line covers the rows that the edges listed for its leaf let through; the
  line that decides is the first of a list, or the one that ranks first by the counts in the file; the held-out rows of
  an approximation add up; and wherever `verify` says that the promise holds, it holds for every listed row, also that
  leaves lie in the rules which stand for them.
- ``packed``: the rules are those in what Python's ``gzip`` unpacks, and judged as such.
- ``skops``: the rules of the model that was read say what the model itself says.
- ``onnx``: the tree says what onnxruntime says of the file. ``iai``: what Interpretable AI's own reader says.
- ``pmml``: the tree says what a plain walk over the elements of the file gives.
- ``csv``: the cells are those of Python's ``csv`` module, for the delimiter that gives as many columns. ``jsonl``:
  those of Python's ``json``. ``arrow``, ``parquet``: those that Arrow reads. Where that reader rejects the file, or the
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

REJECTED, AGREED, UNCOMPARED = "rejected", "agreed", "not compared"
LISTED_ROWS = 48
SLOW_FORMATS = ("html",)  # left out: they take longer than everything else together


class WrongAnswer(AssertionError):
    """Something was read, and it is not what is there."""


class BadRefusal(AssertionError):
    """A rejection that is not one sentence."""


def judge(kind: str, data: bytes, number: int) -> str:
    """Read the content of a file; give what came of it, or raise what must not happen."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return JUDGES[kind](data, Random(number))
    except SecateurError as error:
        check_sentence(str(error))
        return REJECTED


def check_sentence(text: str) -> None:
    """Reject an error message that is not one line of words with an end."""
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
    stored = StoredRules(json.loads(text), rules.method)
    listed = compare_tree(rules.tree, stored.tree)
    check_lines(rules, stored)
    check_held_out(rules, stored)
    if is_plain(rules.tree):
        check_deciding(rules, listed, stored)
    if rules.verify().ok:
        check_promise(rules, listed, stored)
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
    expect(rules == secateur.Rules.from_json(_text(text)), "the packed rules are others")
    return judge_rules(text, rng)


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
    return tree.columns is None and not any(tree.column_parsers)


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
    lines = choose_lines(rules)
    for made in (rules, lines):
        expect(made.verify().ok, "the rules of a tree that was read cannot be verified", str(made.verify()))
    if is_plain(tree):
        matrix, own = as_matrix(listed), own_classes(listed)
        possible = brute_force.as_flags(listed.possible, len(matrix))
        for made in (rules, lines):
            answers = [made.lines[line].prediction for line in made.apply(matrix)[possible].tolist()]
            for said in (made.predict(matrix)[possible].tolist(), answers):
                expect(said == tree.classes[own[possible]].tolist(), "another class than the tree's")


FIELDS = (
    *("format", "version", "secateur", "method", "parameters", "budget", "tolerance", "guarantee", "is_ranked"),
    *("is_weighted", "of", "sections", "lines", "leaves", "written", "tree", "approximation", "unseen"),
)


class StoredRules:
    """What the JSON of rules says, by its fields alone."""

    def __init__(self, content: dict[str, Any], method: str) -> None:
        expect({*content} >= {*FIELDS}, "read, though it lacks", {*FIELDS} - {*content})
        self.content, self.tree = content, content["tree"]
        self.all_lines, self.leaves = content["lines"], content["leaves"]
        self.is_list = content["sections"] is not None
        self.lines = [line for line in self.all_lines if line["leaf_id"] is not None]
        self.method = secateur.METHODS[method]  # which the file may call by another name
        self.place_of = {leaf: place for place, leaf in enumerate(self.leaves["leaf_ids"])}

    def path(self, leaf: int) -> list[int]:
        """The edges of the path of a leaf."""
        first, last = self.leaves["offsets"][self.place_of[leaf] :][:2]
        return list(self.leaves["links"][first:last])

    def kept(self, leaf: int) -> list[int]:
        """The edges that the method left on the path of a leaf."""
        first = self.leaves["offsets"][self.place_of[leaf]]
        return [link for k, link in enumerate(self.path(leaf), first) if not self.leaves["deleted"][k]]

    @property
    def written(self) -> list[list[int]]:
        """The edges that each line with conditions asks, those of its heading among them."""
        if not self.is_list:
            return [self.kept(line["leaf_id"]) for line in self.lines]
        found, k = [], 0
        for line in self.lines:
            path = self.path(line["leaf_id"])
            gone = self.content["written"]["deleted"][k : k + len(path)]
            found.append([link for link, is_gone in zip(path, gone, strict=True) if not is_gone])
            k += len(path)
        return found

    @property
    def asked(self) -> list[list[int]]:
        """The edges that each line asks; "otherwise" those of its heading."""
        rules, found = iter(self.written), []
        parents = {
            child: node
            for side in ("children_left", "children_right")
            for node, child in enumerate(self.tree[side])
            if child >= 0
        }
        for line in self.all_lines:
            if line["leaf_id"] is not None:
                found.append(next(rules))
                continue
            path, node = [], self.content["sections"][line["section"]]
            while node in parents:
                path.append(node)
                node = parents[node]
            found.append(path[::-1])
        return found

    def class_of(self, leaf: int) -> int:
        return int(self.tree["leaf_class"][leaf])

    def label_of(self, leaf: int) -> Any:
        return self.tree["classes"][self.class_of(leaf)]

    @property
    def order(self) -> list[int] | None:
        """Places of lines in the order in which the first that covers a row decides it; None where none is known."""
        if self.is_list:
            return list(range(len(self.all_lines)))
        is_exact = self.method.is_exact and self.content["budget"] == 0
        if not self.content["is_ranked"] and not is_exact and len({line["prediction"] for line in self.lines}) > 1:
            return None

        def rank(place: int) -> tuple[float, float, int, int]:
            line = self.lines[place]
            counts, length = line["class_counts"], len(self.kept(line["leaf_id"]))
            support = 1.0 if counts is None else -sum(counts)
            share = -counts[self.class_of(line["leaf_id"])] / sum(counts) if counts and sum(counts) else 1.0
            return (share, support, length, place)

        return sorted(range(len(self.lines)), key=rank)


def check_lines(rules: secateur.Rules, stored: StoredRules) -> None:
    """Compare the lines that were read with those of the file: leaves, classes, counts, shares, edges."""
    lines = stored.all_lines
    expect(len(rules.lines) == len(lines), "another number of lines", len(rules.lines), len(lines))
    expect(rules.is_list == stored.is_list, "another form")
    for line, said, asked in zip(rules.lines, lines, stored.asked, strict=True):
        counts = None if line.class_counts is None else list(line.class_counts)
        expect(counts == said["class_counts"], "other counts", line.index, counts, said["class_counts"])
        expect(line.prediction == said["prediction"], "another class", line.index, said["prediction"])
        unseen = None if rules.unseen is None else stored.content["unseen"]["line_counts"][line.index]
        expect(line.unseen == (unseen and (sum(unseen), unseen[line.class_id])), "other unseen rows", line.index)
        expect(line.leaf_id == said["leaf_id"], "another leaf", line.index)
        expect(line.share == said["share"], "another share", line.index)
        expect(list(line.leaf_ids) == said["stands_for"], "it stands for other leaves", line.index)
        expect(list(line.kept_ids) == asked, "a line asks other edges than the file says", line.index)
        if not line.is_otherwise:
            expect(line.prediction == stored.label_of(line.leaf_id or 0), "another class than its leaf's", line.index)


def check_held_out(rules: secateur.Rules, stored: StoredRules) -> None:
    """Add up the held-out rows of an approximation."""
    said = stored.content["approximation"]
    expect((said is None) == (rules.fidelity is None), "an approximation came or went")
    if said is None or rules.fidelity is None:
        return
    labels = [line["prediction"] for line in stored.all_lines]
    places = [stored.tree["classes"].index(label) for label in labels]
    total = sum(sum(row) for row in said["counts"])
    same = sum(row[c] for row, c in zip(said["counts"], places, strict=True))
    expect(said["n_held_out"] == total and rules.fidelity.n_rows == total, "another number of held-out rows", total)
    expect(math.isclose(said["fidelity"], same / total), "another share of held-out rows", same, total)
    by_leaf = [sum(row[k] for row in said["leaf_counts"]) for k in range(2)]
    expect(by_leaf == [total, same], "the rows of leaves do not add up", by_leaf)


def check_deciding(rules: secateur.Rules, listed: brute_force.ListedRows, stored: StoredRules) -> None:
    """Compare which lines cover a row, and which of them decides it, with the edges and counts of the file."""
    matrix, own = as_matrix(listed), own_classes(listed)
    covered = [brute_force.as_flags(listed.covered(kept), len(matrix)) for kept in stored.written]
    flags = np.array(covered, dtype=bool).reshape(len(covered), len(matrix)).T
    expect(np.array_equal(rules.covers(matrix), flags), "the lines cover other rows than their edges let through")
    deciding = rules.apply(matrix).tolist()
    order = stored.order
    holding = [brute_force.as_flags(listed.covered(asked), len(matrix)) for asked in stored.asked]
    for place, line in enumerate(deciding):
        if order is None:  # which of the rules wins is not known: that of the row's own leaf
            expected = stored.place_of[oracles.walk(rules.tree, listed.rows[place])]
        else:
            expected = next((one for one in order if holding[one][place]), None)
            if expected is None:  # the sections of a forged list leave rows out
                expect(not rules.verify().ok, "verify does not find that a row has no line", matrix[place])
                return
        expect(line == expected, "another line decides", matrix[place], line, expected)
    labels = [line["prediction"] for line in stored.all_lines]
    answers = [labels[line] for line in deciding]
    is_exact = stored.method.is_exact and stored.content["budget"] == 0
    if is_exact and not rules.tree.facts:  # the tree itself answers
        answers = [stored.tree["classes"][c] for c in own.tolist()]
    said = rules.predict(matrix).tolist()
    expect(said == answers, "another class is predicted than the deciding line's", said, answers)


def check_promise(rules: secateur.Rules, listed: brute_force.ListedRows, stored: StoredRules) -> None:
    """What `verify` proved holds for the listed rows."""
    for leaf in stored.place_of if stored.method.is_exact else ():
        kept = stored.kept(leaf)
        expect(listed.implies(kept, stored.class_of(leaf)), "verified, and yet it covers a row of another class", leaf)
    if not stored.is_list:
        return
    covered = [listed.covered(asked) for asked in stored.asked]
    of_leaf = {leaf: listed.covered(listed.paths[leaf]) & listed.possible for leaf in stored.place_of}
    for line, rows in zip(stored.all_lines, covered, strict=True):
        for leaf in line["stands_for"]:
            expect(not of_leaf[leaf] & ~rows, "verified, and yet a leaf does not lie in its line", leaf)
    if stored.content["budget"] or not stored.method.is_exact:
        return
    left, answers = listed.all, [0] * len(stored.tree["classes"])
    for line, rows in zip(stored.all_lines, covered, strict=True):
        answers[stored.tree["classes"].index(line["prediction"])] |= rows & left
        left &= ~rows
    expect(not left, "a row that no line answers")
    for c, rows in enumerate(answers):
        expect(not (rows ^ listed.of_class[c]) & listed.possible, "verified, and yet not exact", c)


def write_some(rules: Any, rng: Random) -> None:
    """Write rules in one of the formats, which may reject them; every third time as JSON, and read that again."""
    str(rules)
    if rng.random() < 0.33:
        text = rules.to_json()
        expect(secateur.Rules.from_json(text).to_json() == text, "written and read again, it differs")
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
        if not cells or is_rejected(tree, row):
            continue  # what is not listed: readers of PMML differ
        theirs = walk_pmml(root, cells)
        if theirs is not None:
            ours = tree.classes[oracles.tree_class(tree, row)].item()
            expect(
                str(ours).lower() == str(theirs).lower() or _same(ours, theirs), "another class than the file's", cells
            )
            outcome = AGREED
    return outcome


def is_rejected(tree: Tree, row: tuple[float, ...]) -> bool:
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
            # A column of several types is rejected further on, unless it is left out.
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
        records = [json.loads(line, parse_constant=_reject_constant) for line in lines]
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


def _reject_constant(name: str) -> None:
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
