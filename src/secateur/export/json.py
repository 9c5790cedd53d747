"""Rules as versioned JSON: tree, what became of each leaf's rule, the lines with their words, and a digest of it all.

The fields are specified in ``docs/rules-format.md``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur import __version__
from secateur.errors import FormatError, ParameterError
from secateur.export.plain_names import check_characters
from secateur.export.stored_columns import (
    counts_to_list,
    deletions_to_columns,
    paths_to_columns,
    read_counts,
    read_deletions,
    read_paths,
)
from secateur.export.stored_fidelity import read_fidelity
from secateur.export.stored_reasons import OF_A_BUDGET, check_reasons, check_spending
from secateur.limits import JSON_MARKS, check_memory, check_parsed_size
from secateur.methods import Deletions, Why, find_method
from secateur.methods.settings import check_flag, check_share
from secateur.rules.making import Choice, Making, StoredContent
from secateur.rules.rule import Rule, UnwrittenRule
from secateur.rules.rules import Rules
from secateur.tree.json import read_header, tree_from_dict, tree_to_dict
from secateur.tree.paths import DEFAULT_RF_TOL, Paths, trace_paths
from secateur.tree.tree import Tree

__all__ = ["FORMAT", "VERSION", "rules_from_json", "rules_to_json", "rules_to_record"]

FORMAT = "secateur-rules"
VERSION = 3  # drafts had 1 and 2, and lists a format of their own
# Up to this many conditions of all leaves, lines are written with their conditions and reasons in words.
WORDED_CONDITIONS = 20_000
READ_BYTES = 216  # that the five numbers of a condition take at least once they are read again
COSTS = ("before", "after", "number")
FIELDS = (
    *("secateur", "method", "parameters", "budget", "tolerance", "guarantee", "is_ranked", "is_weighted", "lines"),
    *("unwritten", "leaves", "before_budget", "tree", "approximation"),
)
DRAFT_OF_LISTS = "'secateur-compact'"
OF_A_DRAFT = (
    "This file was written by an early draft of secateur, whose format is no longer read: make the rules again."
)


def rules_to_json(rules: Rules) -> str:
    """Write rules, with every reason in words unless there are very many."""
    told = f"The JSON of these rules, which have {len(rules.deleted):,} conditions,"
    check_memory(READ_BYTES * len(rules.deleted), told)
    content = _write(rules, __version__)
    try:
        digest = _digest(content)
    except UnicodeEncodeError:  # looked for only then, because a large tree has many numbers
        check_characters(_list_texts(content), "JSON")
        raise
    text = json.dumps({**content, "digest": digest}, ensure_ascii=False, allow_nan=False)
    check_parsed_size(text, JSON_MARKS, told)
    return text


def _write(rules: Rules, version: str) -> dict[str, Any]:
    choice, paths, n_written = rules.choice, rules.paths, len(rules.deleted)
    worded = n_written <= WORDED_CONDITIONS
    return {
        "format": FORMAT,
        "version": VERSION,
        "secateur": version,
        "method": rules.method,
        "parameters": dict(rules.parameters),
        "budget": rules.budget,
        "tolerance": rules.tolerance,
        "guarantee": rules.guarantee,
        "is_ranked": rules.is_ranked,
        "is_weighted": rules.is_weighted,
        "lines": [_write_line(line, worded=worded) for line in rules.lines],
        "unwritten": [_write_unwritten(rules, one) for one in rules.unwritten],
        "leaves": {
            **paths_to_columns(rules.tree, paths),
            **deletions_to_columns(rules.deletions),
            "class_counts": counts_to_list(rules.covered_counts),
            "leaf_counts": counts_to_list(rules.leaf_counts),
        },
        "before_budget": None
        if choice is None or not rules.budget
        else {**deletions_to_columns(choice.deletions), "class_counts": counts_to_list(choice.covered_counts)},
        "tree": tree_to_dict(rules.tree),
        "approximation": None if rules.fidelity is None else rules.fidelity.to_dict(),
    }


def _write_line(line: Rule, *, worded: bool) -> dict[str, Any]:
    written: dict[str, Any] = {
        "leaf_id": line.leaf_id,
        "prediction": line.prediction,
        "class_counts": None if line.class_counts is None else list(line.class_counts),
        "stands_for": None if line.is_otherwise else list(line.leaf_ids),
    }
    if worded:
        written["text"] = line.text
        written["reasons"] = [
            {"link_id": link, "deleted": reason.deleted, "text": reason.text} for link, reason in line.reasons.items()
        ]
    return written


def _write_unwritten(rules: Rules, one: UnwrittenRule) -> dict[str, Any]:
    """Name the covering rule by its leaf, as all rules of a file are named."""
    return {
        "leaf_id": one.rule.leaf_id,
        "covered_by": None if one.covered_by is None else rules[one.covered_by].leaf_id,
        **{name: getattr(one, name) for name in COSTS},
        "text": one.reason,
    }


def rules_to_record(rules: Rules) -> dict[str, Any]:
    """Give the verifier the content of the JSON without the words, and whether a file told the truth."""
    stored, paths, choice = rules.stored, rules.paths, rules.choice
    first = rules.before_choice
    record: dict[str, Any] = {
        "method": rules.method,
        "parameters": dict(rules.parameters),
        "digest_ok": stored is None or (stored.digest == stored.content_digest and _words_hold(rules, stored)),
        "worded_by": None if stored is None or stored.version == __version__ else stored.version,
        "leaf_ids": paths.leaf_ids,
        "predictions": rules.tree.classes[paths.leaf_class].tolist(),
        "class_counts": first.covered_counts,
        "leaf_counts": rules.leaf_counts,
        "offsets": paths.offsets,
        "links": paths.links,
        "deleted": first.deleted,
        "kinds": _list_kinds(first.deletions.why),
        "numbers": first.deletions.number,
        "list": None,
    }
    if choice is not None:
        record["list"] = {
            "leaves": rules.leaves,
            "default": rules.default,
            "budget": rules.budget,
            "tolerance": rules.tolerance,
            "deleted": rules.deleted,
            "kinds": _list_kinds(rules.deletions.why),
            "class_counts": rules.covered_counts[rules.leaves],
            "decided_counts": rules.decided_counts,
            "stands_for": [rules.stands_for(index).tolist() for index in range(len(rules))],
            "drop_costs": choice.drop_costs,
            "approximates": None if rules.fidelity is None else rules.fidelity.model,
        }
    return record


def _list_kinds(why: NDArray[np.uint8]) -> NDArray[np.object_]:
    """Name the reason of each condition."""
    kinds = np.array([Why(code).kind if code in set(Why) else None for code in range(max(Why) + 1)], dtype=object)
    return kinds[why]


def _words_hold(rules: Rules, stored: StoredContent) -> bool:
    """Whether a file's sentences are those that its numbers give; another version may word them differently."""
    return stored.version != __version__ or stored.content_digest == _digest(_write(rules, stored.version))


def _list_texts(content: object) -> Iterator[str]:
    """List all texts in plain values, names of fields among them."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, (dict, list, tuple)):
        for part in content.items() if isinstance(content, dict) else content:
            yield from _list_texts(part)


def _digest(content: dict[str, Any]) -> str:
    """Take the sha256 of the canonical JSON, piece by piece: the whole text need not be held."""
    sha = hashlib.sha256()
    for name in sorted(content):
        sha.update(f"{name}:{_canonical(content[name])}\n".encode())
    return sha.hexdigest()


_canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def rules_from_json(text: str) -> Rules:
    """Read rules; reject what cannot be rules of their tree."""
    try:
        content = read_header(text, FORMAT, VERSION)
    except FormatError as error:
        if DRAFT_OF_LISTS in str(error):
            raise FormatError(OF_A_DRAFT) from error
        raise
    if content["version"] < VERSION:
        raise FormatError(OF_A_DRAFT)
    stored = content.pop("digest", None)
    try:
        rules = _read(content, StoredContent(stored, _digest(content), str(content["secateur"])))
        rules.guarantee  # noqa: B018  # a parameter that the sentence needs may be gone
    except KeyError as error:
        raise FormatError(f"The rules JSON has no field {error.args[0]!r}; it was cut or edited.") from error
    except (FormatError, ParameterError):
        raise
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise FormatError(f"A field of the rules JSON has the wrong type or length: {error}.") from error
    return rules


def _read(content: dict[str, Any], stored: StoredContent) -> Rules:
    absent = next((name for name in FIELDS if name not in content), None)
    if absent is not None:
        raise KeyError(absent)
    tree = tree_from_dict(content["tree"])
    parameters = _read_parameters(content)
    paths = trace_paths(tree, float(parameters.get("rf_tol", DEFAULT_RF_TOL)))
    budget, tolerance = (check_share(name, content[name]) for name in ("budget", "tolerance"))
    making = Making(
        method=find_method(content["method"]).name,
        parameters=parameters,
        is_ranked=_read_flag(content, "is_ranked"),
        is_weighted=_read_flag(content, "is_weighted"),
        budget=budget,
        tolerance=tolerance,
    )
    columns, lines = content["leaves"], content["lines"]
    read_paths(tree, paths, columns)
    deletions = read_deletions(paths, columns)
    check_reasons(making.method, paths, deletions, OF_A_BUDGET if budget else ())
    leaves, default = _read_lines(tree, paths, lines)
    counts = [read_counts(columns[name], paths.n_rules, tree.n_classes) for name in ("class_counts", "leaf_counts")]
    beside = read_counts([line["class_counts"] for line in lines], len(lines), tree.n_classes)
    rules = Rules(
        tree=tree,
        making=making,
        deletions=deletions,
        leaf_counts=counts[1],
        covered_counts=counts[0],
        leaves=leaves,
        default=default,
        decided_counts=None if default is None else beside,
        choice=None if default is None else _read_choice(content, making, paths, deletions, counts[0]),
        stored=stored,
    )
    if not budget and content["before_budget"] is not None:
        raise FormatError("The rules JSON has no budget, but rules before it was spent; it was edited.")
    if default is None and (budget or not np.array_equal(beside, counts[0], equal_nan=True)):
        raise FormatError("The rules JSON has one rule for each leaf, whose numbers are not those of its leaves.")
    if content["approximation"] is not None:
        rules = rules.change(fidelity=read_fidelity(rules, content["approximation"]))
    stated = [{name: one[name] for name in ("leaf_id", "covered_by", *COSTS)} for one in content["unwritten"]]
    known = [_write_unwritten(rules, one) for one in rules.unwritten]
    if (
        len(stated) != len(known)
        or [{**one, "text": own["text"]} for one, own in zip(stated, known, strict=True)] != known
    ):
        raise FormatError(
            "The unwritten rules of the rules JSON are not those of the leaves that no written rule is for, each with "
            "the rule that stands for it; it was edited."
        )
    return rules


def _read_parameters(content: dict[str, Any]) -> dict[str, Any]:
    """Read the parameters of a method; reject values that it does not take."""
    parameters, method = dict(content["parameters"]), find_method(content["method"])
    check_flag("domain_knowledge", parameters.get("domain_knowledge", True))
    in_words = ("domain", "monotone")  # which the checker reads
    own = {name: parameters[name] for name in method.parameters if name in parameters and name not in in_words}
    replace(method, **own)  # which checks them
    return parameters


def _read_flag(content: dict[str, Any], name: str) -> bool:
    if not isinstance(content[name], bool):
        raise ValueError(f"expected true or false in {name!r}")
    return bool(content[name])


def _read_lines(tree: Tree, paths: Paths, lines: list[dict[str, Any]]) -> tuple[NDArray[np.int64], int | None]:
    """Find the leaves of the written rules, and the class of "otherwise"; reject lines that are not their leaves'."""
    place_of = {leaf: place for place, leaf in enumerate(paths.leaf_ids.tolist())}
    labels, default = tree.classes.tolist(), None
    own = list(lines)
    if own and own[-1]["leaf_id"] is None:
        last = own.pop()["prediction"]
        default = next((c for c, label in enumerate(labels) if label == last and type(label) is type(last)), None)
        if default is None:
            raise FormatError(f"The class {last!r} of otherwise is not one of {labels}.")
    for line in own:
        leaf = line["leaf_id"]
        if type(leaf) is not int or leaf not in place_of:
            raise FormatError(f"The rules JSON has a rule of node {leaf!r}, which is not a leaf of its tree.")
        label = labels[paths.leaf_class[place_of[leaf]]]
        if line["prediction"] != label or type(line["prediction"]) is not type(label):
            raise FormatError(f"The rule of leaf {leaf} predicts {line['prediction']!r}, but its leaf {label!r}.")
    leaves = np.array([place_of[line["leaf_id"]] for line in own], dtype=np.int64)
    if len(np.unique(leaves)) < len(leaves):
        raise FormatError("The rules JSON writes the rule of a leaf twice; it was edited.")
    if default is None and not np.array_equal(leaves, np.arange(paths.n_rules)):
        raise FormatError(
            f"The rules JSON has {len(own)} rules and no otherwise, but not one for each of {paths.n_rules} leaves."
        )
    if default is None and any(line["stands_for"] != [line["leaf_id"]] for line in own):
        raise FormatError("The rules JSON has one rule for each leaf, but a rule that stands for another leaf.")
    return leaves, default


def _read_choice(
    content: dict[str, Any], making: Making, paths: Paths, deletions: Deletions, counts: NDArray[np.float64]
) -> Choice:
    """Read what the lines of a list were chosen from."""
    place_of = {leaf: place for place, leaf in enumerate(paths.leaf_ids.tolist())}
    own = [line["stands_for"] for line in content["lines"][:-1]]
    unknown = next((leaf for stands in own for leaf in stands if leaf not in place_of), None)
    if unknown is not None:
        raise FormatError(f"A rule of the rules JSON stands for node {unknown!r}, which is not a leaf.")
    if any(sorted(set(stands), key=place_of.__getitem__) != stands for stands in own):
        raise FormatError("A rule of the rules JSON names a leaf that it stands for twice, or not in order.")
    costs = np.full((3, paths.n_rules), np.nan)
    for one in content["unwritten"]:
        costs[:, place_of[one["leaf_id"]]] = [_read_number(one[name]) for name in COSTS]
    before, before_counts = deletions, counts
    if making.budget:
        columns = content["before_budget"]
        if columns is None:
            raise FormatError("The rules JSON states a budget, but not the rules before it was spent; it was edited.")
        before = read_deletions(paths, columns)
        check_reasons(making.method, paths, before)
        check_spending(making.method, before, deletions, making.budget)
        before_counts = read_counts(columns["class_counts"], paths.n_rules, counts.shape[1])
    return Choice(
        deletions=before,
        covered_counts=before_counts,
        stand_ins=(
            np.concatenate([[0], np.cumsum([len(stands) for stands in own], dtype=np.int64)]),
            np.array([place_of[leaf] for stands in own for leaf in stands], dtype=np.int64),
        ),
        drop_costs=costs,
    )


def _read_number(value: Any) -> float:
    """Read a finite number; NaN for null."""
    if value is None:
        return float("nan")
    if type(value) not in (int, float) or not np.isfinite(value):
        raise ValueError(f"expected a number or null, found {value!r}")
    return float(value)
