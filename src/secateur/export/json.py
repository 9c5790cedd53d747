"""Rule sets as versioned JSON: tree, rules, numbers, reasons, and a digest of it all.

The fields are specified in ``docs/rules-format.md``.
"""

from __future__ import annotations

import hashlib
import json
import math
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur import __version__
from secateur.errors import FormatError, ParameterError
from secateur.export.plain_names import check_characters
from secateur.export.rule_columns import WORDED_CONDITIONS, columns_to_json, read_columns
from secateur.export.stored_numbers import read_counts, read_numbers
from secateur.export.stored_reasons import check_reasons
from secateur.methods import Deletions, Why, find_method
from secateur.rules.rule_set import RuleSet, StoredContent
from secateur.tree.json import read_header, tree_from_dict, tree_to_dict
from secateur.tree.paths import DEFAULT_RF_TOL, trace_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from secateur.tree.paths import Paths
    from secateur.tree.tree import Label, Tree
    from secateur.words.reasons import Reason

__all__ = ["rules_from_json", "rules_to_json", "rules_to_record"]

FORMAT = "secateur-rules"
VERSION = 2
WORDED_VERSION = 1  # of rules with their reasons in words, which older releases can read


def rules_to_json(rules: RuleSet) -> str:
    """Write a rule set, with every reason in words unless there are very many."""
    is_worded = len(rules.deleted) <= WORDED_CONDITIONS
    head = _head(rules, __version__, is_worded=is_worded)
    try:
        digest = _Digest(head)
    except UnicodeEncodeError:  # looked for only then, because a large tree has many numbers
        check_characters(_list_texts(head), "JSON")
        raise
    start = json.dumps(head, ensure_ascii=False, allow_nan=False).removesuffix("}")
    if not is_worded:
        columns = columns_to_json(rules)
        digest.add(columns)
        return f'{start}, "rules": {columns}, "digest": "{digest.finish()}"}}'
    written = []
    for spaced, bare in _write_rules(rules):
        written.append(spaced)
        digest.add_rule(bare)
    return f'{start}, "rules": [{", ".join(written)}], "digest": "{digest.finish_rules()}"}}'


def rules_to_record(rules: RuleSet) -> dict[str, Any]:
    """Give the verifier the content of the JSON without the words, and whether a file told the truth."""
    stored, paths, deletions = rules.stored, rules.paths, rules.deletions
    return {
        "method": rules.method,
        "parameters": dict(rules.parameters),
        "digest_ok": stored is None or (stored.digest == stored.content_digest and _words_hold(rules, stored)),
        "worded_by": None if stored is None or stored.version == __version__ else stored.version,
        "leaf_ids": paths.leaf_ids,
        "predictions": rules.tree.classes[paths.leaf_class].tolist(),
        "class_counts": rules.class_counts,
        "source_class_counts": rules.source_class_counts,
        "offsets": paths.offsets,
        "links": paths.links,
        "deleted": deletions.deleted,
        "kinds": list_kinds(deletions.why),
        "numbers": deletions.number,
    }


def list_kinds(why: NDArray[np.uint8]) -> NDArray[np.object_]:
    """Name the reason of each condition."""
    kinds = np.array([Why(code).kind if code in set(Why) else None for code in range(max(Why) + 1)], dtype=object)
    return kinds[why]


def _words_hold(rules: RuleSet, stored: StoredContent) -> bool:
    """Whether a file's sentences are those that its tree and numbers give; another version may word them otherwise."""
    if stored.version != __version__:
        return True
    digest = _Digest(_head(rules, stored.version, is_worded=stored.is_worded))
    if not stored.is_worded:
        digest.add(columns_to_json(rules))
        return stored.content_digest == digest.finish()
    for _, bare in _write_rules(rules):
        digest.add_rule(bare)
    return stored.content_digest == digest.finish_rules()


def _list_texts(content: object) -> Iterator[str]:
    """List all texts in plain values, names of fields among them."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, (dict, list, tuple)):
        for part in content.items() if isinstance(content, dict) else content:
            yield from _list_texts(part)


def _head(rules: RuleSet, version: str, *, is_worded: bool) -> dict[str, Any]:
    """Gather all fields but the rules and the digest."""
    return {
        "format": FORMAT,
        "version": WORDED_VERSION if is_worded else VERSION,
        "secateur": version,
        "method": rules.method,
        "parameters": dict(rules.parameters),
        "guarantee": rules.guarantee,
        "is_ranked": rules.is_ranked,
        "is_weighted": rules.is_weighted,
        "tree": tree_to_dict(rules.tree),
    }


def rules_from_json(text: str) -> RuleSet:
    """Read a rule set; refuse what cannot be a rule set of its tree."""
    content = read_header(text, FORMAT, VERSION)
    stored = content.pop("digest", None)
    try:
        tree = tree_from_dict(content["tree"])
        method = find_method(content["method"]).name
        listed = content["rules"]
        parameters = dict(content["parameters"])
        paths = trace_paths(tree, float(parameters.get("rf_tol", DEFAULT_RF_TOL)))
        is_worded = content["version"] == WORDED_VERSION
        if is_worded:
            deletions, counts, source_counts = _read_rules(tree, paths, listed)
        else:
            deletions, counts, source_counts = read_columns(tree, paths, listed)
        if not len(counts) == len(source_counts) == paths.n_rules:
            raise ValueError(f"expected class counts for each of {paths.n_rules} rules")
        check_reasons(method, paths, deletions)
        rules = RuleSet(
            tree=tree,
            method=method,
            parameters=parameters,
            deletions=deletions,
            class_counts=counts,
            source_class_counts=source_counts,
            is_ranked=bool(content["is_ranked"]),
            is_weighted=bool(content["is_weighted"]),
            stored=StoredContent(stored, _digest(content), str(content["secateur"]), is_worded),
        )
        rules.guarantee  # noqa: B018  # a parameter that the sentence needs may be gone
    except KeyError as error:
        raise FormatError(f"The rules JSON has no field {error.args[0]!r}; it was cut or edited.") from error
    except (FormatError, ParameterError):
        raise
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise FormatError(f"A field of the rules JSON has the wrong type or length: {error}.") from error
    return rules


def _read_rules(
    tree: Tree, paths: Paths, listed: list[dict[str, Any]]
) -> tuple[Deletions, NDArray[np.float64], NDArray[np.float64]]:
    """Read rules with their reasons in words; the words are not looked at."""
    if len(listed) != paths.n_rules:
        raise FormatError(f"The rules JSON lists {len(listed)} rules, but its tree has {paths.n_rules} leaves.")
    for index, rule in enumerate(listed):
        _check_rule(tree, paths, index, rule)
    counts, source_counts = (
        read_counts([rule[name] for rule in listed], tree.n_classes) for name in ("class_counts", "source_class_counts")
    )
    return _read_deletions(paths, listed), counts, source_counts


class _Digest:
    """The sha256 of the canonical JSON of a rule set, taken piece by piece: the whole text need not be held."""

    def __init__(self, head: dict[str, Any]) -> None:
        before = {name: value for name, value in head.items() if name < "rules"}
        after = {name: value for name, value in head.items() if name > "rules"}
        self._sha = hashlib.sha256(f'{_canonical(before)[:-1]},"rules":'.encode())
        self._end = f",{_canonical(after)[1:]}".encode()
        self._before_rule = "["

    def add(self, rules: str) -> None:
        """Take in the canonical JSON of all rules."""
        self._sha.update(rules.encode())

    def add_rule(self, rule: str) -> None:
        """Take in the canonical JSON of the next rule of a list."""
        self._sha.update(f"{self._before_rule}{rule}".encode())
        self._before_rule = ","

    def finish(self) -> str:
        """Give the digest."""
        self._sha.update(self._end)
        return self._sha.hexdigest()

    def finish_rules(self) -> str:
        """Give the digest, after the last rule of a list."""
        self._sha.update(b"[]" if self._before_rule == "[" else b"]")
        return self.finish()


def _digest(content: dict[str, Any]) -> str:
    """Take the digest of parsed JSON."""
    digest = _Digest({name: value for name, value in content.items() if name != "rules"})
    if not isinstance(content["rules"], list):
        digest.add(_canonical(content["rules"]))
        return digest.finish()
    for rule in content["rules"]:
        digest.add_rule(_canonical(rule))
    return digest.finish_rules()


_canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_text = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class _Shape:
    """How an object with these fields is written: spaced and in order for readers, bare and sorted for the digest."""

    def __init__(self, *names: str) -> None:
        self._spaced = "{" + ", ".join(f'"{name}": %s' for name in names) + "}"
        self._bare = "{" + ",".join(f'"{name}":%s' for name in sorted(names)) + "}"
        self._sort = itemgetter(*sorted(range(len(names)), key=names.__getitem__))

    def write(self, spaced: Sequence[str], bare: Sequence[str]) -> tuple[str, str]:
        """Write the object as ``to_json`` does, and as the digest reads it."""
        return self._spaced % tuple(spaced), self._bare % self._sort(bare)


class _Pieces(dict["Label | None", tuple[str, str]]):
    """A feature's values in a point, with its name, spaced and bare.

    Values are told apart by equality, which is enough within one feature: numbers, or labels that are all different.
    """

    def __init__(self, name: str) -> None:
        self._name = _text(name)

    def __missing__(self, value: Label | None) -> tuple[str, str]:
        written = _write_number(value) if isinstance(value, float) else _text(value)
        self[value] = f"{self._name}: {written}", f"{self._name}:{written}"
        return self[value]


RULE = _Shape(
    *("leaf_id", "prediction", "kept_ids", "deleted_ids", "class_counts", "source_class_counts", "support"),
    *("reliability", "source_support", "source_reliability", "conditions", "reasons"),
)
REASON = _Shape(
    "link_id", "deleted", "kind", "text", "before", "after", "number", "node_id", "witness_leaf", "witness_point"
)


def _write_rules(rules: RuleSet) -> Iterator[tuple[str, str]]:
    """Write each rule as JSON, spaced and bare; by hand, as the reasons of a large tree hold millions of values."""
    tree = rules.tree
    pieces = {tree.feature_name(feature): _Pieces(tree.feature_name(feature)) for feature in range(tree.n_features)}
    labels = [_text(label) for label in tree.classes.tolist()]
    for rule in rules:
        reasons = [_write_reason(reason, pieces) for reason in rule.reasons.values()]
        source = rules.source_class_counts[rule.index]
        source_counts = None if np.isnan(source).any() else source.tolist()
        listed = [*map(_write_numbers, (rule.kept_ids, rule.deleted_ids, rule.class_counts, source_counts))]
        support, source_support = (rule.support, rule.reliability), (rule.source_support, rule.source_reliability)
        alone = [*map(_write_number, (*support, *source_support))]
        conditions = [_text(condition.text) for condition in rule.conditions]
        first = str(rule.leaf_id), labels[rules.paths.leaf_class[rule.index]]
        ends = [f"[{', '.join(conditions)}]", f"[{', '.join([spaced for spaced, _ in reasons])}]"]
        bare_ends = [f"[{','.join(conditions)}]", f"[{','.join([bare for _, bare in reasons])}]"]
        bare_listed = [numbers.replace(" ", "") for numbers in listed]
        yield RULE.write((*first, *listed, *alone, *ends), (*first, *bare_listed, *alone, *bare_ends))


def _write_reason(reason: Reason, pieces: Mapping[str, _Pieces]) -> tuple[str, str]:
    spaced = bare = "null"
    if reason.witness_point is not None:
        point = reason.witness_point
        spaced = f"{{{', '.join([pieces[name][value][0] for name, value in point.items()])}}}"
        bare = f"{{{','.join([pieces[name][point[name]][1] for name in sorted(point)])}}}"
    numbers = reason.before, reason.after, reason.number, reason.node_id, reason.witness_leaf
    deleted = "true" if reason.deleted else "false"
    fields = (str(reason.link_id), deleted, f'"{reason.kind}"', _text(reason.text), *map(_write_number, numbers))
    return REASON.write((*fields, spaced), (*fields, bare))


def _write_number(value: float | None) -> str:
    if value is None:
        return "null"
    return repr(value) if math.isfinite(value) else _text(value)  # which refuses it


def _write_numbers(values: Sequence[float] | None) -> str:
    return "null" if values is None else f"[{', '.join([_write_number(value) for value in values])}]"


def _check_rule(tree: Tree, paths: Paths, index: int, content: dict[str, Any]) -> None:
    """Refuse a rule that cannot be the one of its leaf."""
    path = paths.links[paths.entries(index)].tolist()
    gone = set(content["deleted_ids"])
    leaf = int(paths.leaf_ids[index])
    label = tree.classes[paths.leaf_class[index]].item()
    if content["leaf_id"] != leaf or content["prediction"] != label:
        raise FormatError(
            f"rules[{index}] of the rules JSON is for leaf {content['leaf_id']} and predicts "
            f"{content['prediction']!r}, but in its tree it must be for leaf {leaf} and predict {label!r}."
        )
    if content["kept_ids"] != [link for link in path if link not in gone] or not gone <= set(path):
        raise FormatError(
            f"The kept and deleted links of rules[{index}] in the rules JSON are not the links of its path."
        )
    if [reason["link_id"] for reason in content["reasons"]] != path:
        raise FormatError(f"The reasons of rules[{index}] in the rules JSON are not one for each link of its path.")


def _read_deletions(paths: Paths, listed: list[dict[str, Any]]) -> Deletions:
    """Read the codes and numbers behind the reasons of rules that were checked."""
    reasons = [reason for rule in listed for reason in rule["reasons"]]
    why = {kind: Why.from_kind(kind) for kind in {reason["kind"] for reason in reasons}}
    gone = [set(rule["deleted_ids"]) for rule in listed]
    deleted = [link in gone[rule] for rule, link in zip(paths.rule.tolist(), paths.links.tolist(), strict=True)]
    numbers = {name: read_numbers([reason[name] for reason in reasons], name) for name in ("before", "after", "number")}
    return Deletions(
        deleted=np.array(deleted, dtype=bool),
        why=np.array([why[reason["kind"]] for reason in reasons], dtype=np.uint8),
        node=np.array([-1 if reason["node_id"] is None else reason["node_id"] for reason in reasons], dtype=np.int32),
        **numbers,
    )
