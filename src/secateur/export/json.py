"""Rules as versioned JSON: tree, what became of each leaf's rule, the lines with their words, and a digest of it all.

The fields are specified in ``docs/rules-format.md``.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur import __version__
from secateur.errors import FormatError, ParameterError, shorten
from secateur.export.plain_names import check_characters
from secateur.export.stored import (
    OF_A_LIST,
    check_reasons,
    check_spending,
    counts_to_list,
    deletions_to_columns,
    find_label,
    paths_to_columns,
    read_counts,
    read_deletions,
    read_fidelity,
    read_lines,
    read_moments,
    read_paths,
)
from secateur.facts.groups import label_columns
from secateur.limits import JSON_MARKS, check_memory, check_parsed_size
from secateur.methods import Deletions, Why, find_method
from secateur.methods.contract import check_amount, check_flag, check_share
from secateur.methods.leaves import CLASSES_ONLY
from secateur.results.fidelity import Fidelity
from secateur.rules.edits import Edits, Price, read_journal
from secateur.rules.lines import Layout
from secateur.rules.making import Choice, Making, Split, StoredContent, Unseen
from secateur.rules.rule import Rule
from secateur.rules.rules import Rules
from secateur.tree.json import read_header, tree_from_dict, tree_from_json, tree_to_dict, tree_to_json
from secateur.tree.paths import DEFAULT_RF_TOL, Paths, trace_paths
from secateur.tree.shares import none_if_nan
from secateur.tree.tree import Tree
from secateur.verify.boxes import Possible
from secateur.verify.fields import check_fields

FORMAT = "secateur-rules"
VERSION = 3
# Up to this many conditions of all leaves, lines are written with their conditions and reasons in words.
WORDED_CONDITIONS = 20_000
READ_BYTES = 216  # that the five numbers of a condition take at least once they are read again
VERSION_NUMBER = re.compile("[0-9][0-9A-Za-z.+]{0,30}")  # `verify` repeats it
FIELDS = (
    *("secateur", "method", "parameters", "budget", "tolerance", "guarantee", "is_ranked", "is_weighted", "of"),
    *("sections", "lines", "leaves", "written", "tree", "approximation", "unseen"),
)
# Fields of rules that are plain already, and those that are objects of plain fields.
PLAIN = ("leaf_counts", "covered_counts", "leaves", "decided_counts", "target_moments")
PARTS: dict[str, Any] = {
    "deletions": Deletions,
    "making": Making,
    "layout": Layout,
    "fidelity": Fidelity,
    "stored": StoredContent,
}


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
    paths, worded = rules.paths, len(rules.deleted) <= WORDED_CONDITIONS
    return {
        "format": FORMAT,
        "version": VERSION,
        "secateur": version,
        "method": rules.method,
        "parameters": dict(rules.parameters),
        **{name: getattr(rules, name) for name in ("budget", "tolerance", "guarantee", "is_ranked", "is_weighted")},
        "of": None if rules.making.of is None else rules.tree.classes[rules.making.of].item(),
        "sections": None if rules.layout is None else rules.layout.nodes.tolist(),
        "lines": [_write_line(line, worded=worded) for line in rules.lines],
        "leaves": {
            **paths_to_columns(rules.tree, paths),
            **deletions_to_columns(rules.each_leaf.deletions),
            "class_counts": counts_to_list(rules.each_leaf.covered_counts),
            "leaf_counts": counts_to_list(rules.leaf_counts),
        },
        "written": None
        if rules.layout is None
        else {
            **deletions_to_columns(_take(rules.deletions, _find_written(paths, rules.leaves))),
            "class_counts": counts_to_list(rules.covered_counts[rules.leaves]),
        },
        "tree": tree_to_dict(rules.tree),
        "approximation": None if rules.fidelity is None else rules.fidelity.to_dict(),
        "unseen": None if rules.unseen is None else _write_unseen(rules.unseen),
        **({} if rules.making.edits is None else {"edits": _write_edits(rules.making.edits)}),
    }


def _write_edits(edits: Edits) -> dict[str, Any]:
    prices = {"training": edits.training, "unseen": edits.unseen}
    told = {name: None if price is None else price.to_dict() for name, price in prices.items()}
    kept = {} if edits.tolerance >= CLASSES_ONLY else {"tolerance": edits.tolerance}
    return {"journal": [edit.to_dict() for edit in edits.journal], **told, **kept}


def _read_edits(tree: Tree, content: Any) -> Edits:
    given = (content[name] for name in ("training", "unseen"))
    prices = [None if one is None else Price.from_dict(one, tree.n_classes) for one in given]
    journal = tuple(read_journal(content["journal"]))
    if not journal or not all(0 <= node < tree.n_nodes for edit in journal for node, _ in edit.limits):
        raise ValueError("expected edits, and nodes of the tree in their limits")
    tolerance = check_share("tolerance", content.get("tolerance", CLASSES_ONLY))
    return Edits(journal, prices[0], prices[1], tolerance)


def _write_unseen(unseen: Unseen) -> dict[str, Any]:
    return {
        "line_counts": unseen.counts.tolist(),
        "leaf_counts": unseen.leaf_counts.tolist(),
        "squares": None if unseen.squares is None else unseen.squares.tolist(),
        "split": None if unseen.split is None else unseen.split._asdict(),
        **({} if unseen.moments is None else {"targets": [list(map(none_if_nan, line)) for line in unseen.moments]}),
    }


def _read_unseen(rules: Rules, content: dict[str, Any]) -> Unseen:
    n_classes, squares, split = rules.tree.n_classes, content["squares"], content["split"]
    counts = read_counts(content["line_counts"], rules.n_lines, n_classes)
    leaf_counts = read_counts(content["leaf_counts"], rules.tree_rules, n_classes)
    if np.isnan(counts).any() or np.isnan(leaf_counts).any() or not leaf_counts.sum() > 0:
        raise ValueError("expected rows in 'unseen'")
    if squares is not None:
        squares = read_counts([[one] for one in squares], rules.n_lines, 1)[:, 0]
    if squares is None and any((one != np.rint(one)).any() for one in (counts, leaf_counts)):
        raise FormatError("The rules JSON has fractions of unseen rows, but no weights (squares); it was edited.")
    if split is not None:
        given = Split(**split)
        names = all(one is None or isinstance(one, str) for one in (given.by, given.group))
        if type(given.seed) is not int or not names:
            raise ValueError("expected a seed and names of columns in 'split'")
        split = given._replace(share=check_share("share", given.share))
    targets = content.get("targets")
    lines = [] if targets is None else [{"target": one} for one in targets]
    if (targets is not None) != (rules.tree.is_regression and rules.is_list) or len(lines) not in (0, rules.n_lines):
        raise ValueError("expected mean and spread of the unseen targets of each line of a regression list")
    return Unseen(counts, leaf_counts, squares, split, moments=read_moments(rules.tree, lines))


def _find_written(paths: Paths, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the conditions of the paths of some leaves, leaf after leaf."""
    spans = [np.arange(paths.offsets[leaf], paths.offsets[leaf + 1]) for leaf in leaves.tolist()]
    return np.concatenate([np.zeros(0, dtype=np.int64), *spans])


def _take(deletions: Deletions, entries: NDArray[np.int64]) -> Deletions:
    return Deletions(**{name: values[entries] for name, values in vars(deletions).items()})


def _write_line(line: Rule, *, worded: bool) -> dict[str, Any]:
    written: dict[str, Any] = {
        "leaf_id": line.leaf_id,
        "section": None if line.section.otherwise is None else line._section,
        "prediction": line.prediction,
        "share": line.share,
        "window": None if line.window is None else list(line.window),
        "class_counts": None if line.class_counts is None else list(line.class_counts),
        "stands_for": list(line.leaf_ids),
    }
    if line._rules.target_moments is not None:
        written["target"] = [line.target_mean, line.target_spread]
    if worded:
        reasons = ({"link_id": link, "deleted": one.deleted, "text": one.text} for link, one in line.reasons.items())
        written |= {"text": line.text, "reasons": list(reasons)}
    return written


def rules_to_record(rules: Rules) -> dict[str, Any]:
    """Give the verifier the content of the JSON without the words, and whether a file told the truth."""
    stored, paths, layout = rules.stored, rules.paths, rules.layout
    record: dict[str, Any] = {
        "method": rules.method,
        "parameters": dict(rules.parameters),
        "is_ranked": rules.is_ranked,
        "is_weighted": rules.is_weighted,
        "is_stored": stored is not None,
        "digest_ok": stored is None or stored.digest == stored.content_digest,
        "words_ok": stored is None or stored.told_digest == _digest_told(_write(rules, stored.version)),
        "worded_by": None if stored is None or stored.version == __version__ else stored.version,
        "leaf_ids": paths.leaf_ids,
        "predictions": rules.leaf_answers.tolist(),
        "tolerance": rules.tolerance,
        "class_counts": rules.each_leaf.covered_counts,
        "leaf_counts": rules.leaf_counts,
        **{name: getattr(paths, name) for name in ("offsets", "links")},
        **_list_edges(rules.each_leaf.deletions),
        "list": None,
        "unseen": None if rules.unseen is None else _write_unseen(rules.unseen),
    }
    if layout is not None:
        edges = _list_edges(rules.deletions)
        record["list"] = {
            "leaves": rules.leaves,
            **{name: getattr(layout, name) for name in ("nodes", "defaults", "starts", "shares", "windows")},
            "budget": rules.budget,
            "tolerance": rules.tolerance,
            **{"nodes_of_edges" if name == "nodes" else name: values for name, values in edges.items()},
            "class_counts": rules.covered_counts[rules.leaves],
            **{name: getattr(rules, name) for name in ("decided_counts", "target_moments")},
            "stands_for": [layout.stands_for(line).tolist() for line in range(rules.n_lines)],
            "approximates": None if rules.fidelity is None else rules.fidelity.model,
            "answers": rules.class_ids[layout.rule_lines],
            "edits": None if rules.making.edits is None else _write_edits(rules.making.edits),
        }
    return record


def _list_edges(deletions: Deletions) -> dict[str, NDArray[Any]]:
    """List what became of each condition, with the kinds of reasons by name."""
    kinds = np.array([Why(code).kind if code in set(Why) else None for code in range(max(Why) + 1)], dtype=object)
    numbers = {"before": deletions.before, "after": deletions.after, "numbers": deletions.number}
    return {"deleted": deletions.deleted, "kinds": kinds[deletions.why], **numbers, "nodes": deletions.node}


def _digest_told(content: dict[str, Any]) -> str:
    """Take the digest of what a file says; another version may word its sentences differently."""
    if content["secateur"] == __version__:
        return _digest(content)

    def strip(part: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in part.items() if name != "text"}

    lines = [{**strip(line), "reasons": [*map(strip, line.get("reasons", ()))]} for line in content["lines"]]
    return _digest({**content, "guarantee": None, "lines": lines})


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
    content = read_header(text, FORMAT, VERSION)
    if content["version"] < VERSION:
        raise FormatError(
            "An older version of secateur wrote this file, in a format that is no longer read: make the rules again."
        )
    check_fields(content)
    stored = content.pop("digest", None)
    try:
        version = content["secateur"]
        if not isinstance(version, str) or not VERSION_NUMBER.fullmatch(version):
            raise ValueError("expected a version number in 'secateur'")
        rules = _read(content, StoredContent(stored, _digest(content), version, _digest_told(content)))
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
    _check_names(tree)
    parameters = _read_parameters(content, tree)
    paths = trace_paths(tree, float(parameters.get("rf_tol", DEFAULT_RF_TOL)))
    budget = check_share("budget", content["budget"])
    tolerance = (check_amount if tree.is_regression else check_share)("tolerance", content["tolerance"])
    making = Making(
        method=find_method(content["method"]).name,
        parameters=parameters,
        is_ranked=_read_flag(content, "is_ranked"),
        is_weighted=_read_flag(content, "is_weighted"),
        budget=budget,
        tolerance=tolerance,
        of=_read_of(tree, content["of"]),
        edits=None if content.get("edits") is None else _read_edits(tree, content["edits"]),
    )
    columns, lines, written = content["leaves"], content["lines"], content["written"]
    read_paths(tree, paths, columns)
    source = read_deletions(paths.links, columns)
    check_reasons(making.method, paths, source)
    counts = [read_counts(columns[name], paths.n_rules, tree.n_classes) for name in ("class_counts", "leaf_counts")]
    leaves, layout = read_lines(tree, paths, content["sections"], lines, is_edited=making.edits is not None)
    beside = read_counts([line["class_counts"] for line in lines], len(lines), tree.n_classes)
    if layout is None:
        is_more = written is not None or budget or (tolerance < CLASSES_ONLY and not tree.is_regression)
        is_more = is_more or any("target" in line for line in lines)
        if is_more or not np.array_equal(beside, counts[0], equal_nan=True):
            raise FormatError("The rules JSON has one rule for each leaf, whose numbers are not those of its leaves.")
        rules = Rules(tree, making, source, counts[1], counts[0], leaves, stored=stored)
    else:
        entries = _find_written(paths, leaves)
        own = read_deletions(paths.links[entries], written)
        deletions = Deletions(**{name: np.array(values) for name, values in vars(source).items()})
        for name, values in vars(own).items():
            getattr(deletions, name)[entries] = values
        check_reasons(making.method, paths, deletions, OF_A_LIST)
        check_spending(deletions, budget)
        covered = np.array(counts[0])
        covered[leaves] = read_counts(written["class_counts"], len(leaves), tree.n_classes)
        rules = Rules(
            *(tree, making, deletions, counts[1], covered, leaves),
            layout=layout,
            decided_counts=beside,
            target_moments=read_moments(tree, lines),
            choice=Choice(source, counts[0]),
            stored=stored,
        )
    _check_origin(rules)
    if making.edits is not None and (layout is None or tree.is_regression or content["approximation"] is not None):
        raise FormatError("The rules JSON has edits, but is no list of the classes of one tree; it was edited.")
    if content["approximation"] is not None:
        rules = rules.change(fidelity=read_fidelity(rules, content["approximation"]))
    return rules if content["unseen"] is None else rules.change(unseen=_read_unseen(rules, content["unseen"]))


def _check_names(tree: Tree) -> None:
    """Reject classes that go by each other's labels, and labels of a group that its columns do not go by."""
    labels = [str(label) for label in tree.classes.tolist()]
    if list(tree.class_names) != labels and sorted(tree.class_names) == sorted(labels):
        raise FormatError(
            f"The rules JSON shows the classes {', '.join(labels)} as {', '.join(tree.class_names)}; it was edited."
        )
    for group in tree.facts.groups:
        own = label_columns(group.name, [tree.feature_name(feature) for feature in group.features])
        if list(group.labels) != own:
            raise FormatError(
                f"The rules JSON labels the columns of the group {group.name!r} {list(group.labels)}, but their names "
                f"say {own}; it was edited."
            )


def _check_origin(rules: Rules) -> None:
    """Reject counts that are not those of the tree if none were taken from rows, and unknown ones if they were."""
    paths, counts, of_tree = rules.paths, rules.each_leaf.covered_counts, rules.tree.counts
    if rules.is_ranked:
        fits = not (np.isnan(rules.leaf_counts).any() or np.isnan(counts).any())
    else:
        own = np.full(counts.shape, np.nan) if of_tree is None else of_tree[paths.leaf_ids]
        widened = paths.count(rules.each_leaf.deleted) > 0
        known = np.where(widened[:, None], np.nan, own)
        fits = np.array_equal(own, rules.leaf_counts, equal_nan=True) and np.array_equal(known, counts, equal_nan=True)
    if not fits:
        raise FormatError("The counts of the rules JSON do not come from where it says (is_ranked); it was edited.")
    if not rules.is_weighted and (np.abs(rules.leaf_counts - np.rint(rules.leaf_counts)) > 0).any():
        raise FormatError("The rules JSON has fractions of rows, but no weights (is_weighted); it was edited.")


def _read_parameters(content: dict[str, Any], tree: Tree) -> dict[str, Any]:
    parameters, method = dict(content["parameters"]), find_method(content["method"])
    known = {*method.parameters, "domain_knowledge", *(("certificate",) if "certificate" in method.guarantee else ())}
    foreign = next((name for name in parameters if name not in known), None)
    if foreign is not None:
        raise FormatError(f"The rules JSON has the setting {foreign!r}, which {method.name!r} does not have.")
    check_flag("domain_knowledge", parameters.get("domain_knowledge", True))
    in_words = ("domain", "monotone")  # which the checker reads
    own = {name: parameters[name] for name in method.parameters if name in parameters and name not in in_words}
    replace(method, **own)  # which checks them
    if "certificate" in known and not _is_certificate(tree, parameters):
        raise FormatError("The rules JSON names a certified domain that no method certifies; it was edited.")
    return parameters


def _is_certificate(tree: Tree, parameters: dict[str, Any]) -> bool:
    """Whether a domain is worded as one of listed cases, or of monotone signs, is: a guarantee repeats the words."""
    said = parameters["certificate"]
    if "monotone" not in parameters:
        listed = re.fullmatch("the [0-9]+ listed rows", said) is not None
        return listed and parameters["domain"] in ("training rows", "listed cases")
    facts = shorten(Possible(tree, tree.facts).words)
    rows = ("all rows", f"all rows that satisfy the facts {facts}")
    return said in [f"{one}, for which the tree was proved to be monotone in the stated signs" for one in rows]


def _read_flag(content: dict[str, Any], name: str) -> bool:
    if not isinstance(content[name], bool):
        raise ValueError(f"expected true or false in {name!r}")
    return bool(content[name])


def _read_of(tree: Tree, label: Any) -> int | None:
    place = None if label is None else find_label(tree, label)
    if place is None and label is not None:
        raise FormatError(f"The class of interest {label!r} is not one of {tree.classes.tolist()}.")
    return place


def rules_to_state(rules: Rules) -> dict[str, Any]:
    """Take rules apart into texts, numbers and arrays, without the rows that they were made from.

    pickle could store rules as they are. skops asks its user to trust every class that it meets, so an estimator saves
    its rules in this form. A step of a pipeline is kept as an object only where it cannot be put into words.
    """
    columns, choice, kept = rules.tree.columns, rules.choice, None
    if columns is not None:  # what the JSON of a tree leaves out of them
        encoded = None if columns.encoded is None else tree_to_json(columns.encoded)
        kept = {"asked": list(columns.asked), "encoded": encoded, "derive": columns.derive}
    return {
        **{name: getattr(rules, name) for name in PLAIN},
        **{name: _take_apart(getattr(rules, name)) for name in PARTS},
        "choice": None if choice is None else {**vars(choice), "deletions": dict(vars(choice.deletions))},
        "tree": tree_to_json(rules.tree),
        "columns": kept,
    }


def rules_from_state(state: Mapping[str, Any]) -> Rules:
    """Put together the rules that :func:`rules_to_state` took apart."""
    parts: dict[str, Any] = {name: None if state[name] is None else kind(**state[name]) for name, kind in PARTS.items()}
    choice = state["choice"]
    if choice is not None:
        choice = Choice(**{**choice, "deletions": Deletions(**choice["deletions"])})
    parts |= {name: state[name] for name in PLAIN}
    return Rules(tree=_read_tree(state["tree"], state["columns"]), choice=choice, **parts)


def _take_apart(part: Any) -> dict[str, Any] | None:
    if part is None:
        return None
    kept = {one.name: getattr(part, one.name) for one in fields(part)}  # not what was found of them since
    return {**kept, "parameters": dict(kept["parameters"])} if "parameters" in kept else kept


def _read_tree(text: str, kept: Mapping[str, Any] | None) -> Tree:
    tree = tree_from_json(text)
    if kept is None or tree.columns is None:
        return tree
    encoded = None if kept["encoded"] is None else tree_from_json(kept["encoded"])
    columns = replace(tree.columns, asked=tuple(kept["asked"]), encoded=encoded, derive=kept["derive"])
    return replace(tree, columns=columns)
