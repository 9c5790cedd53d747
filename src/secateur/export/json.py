"""Rule sets as versioned JSON: tree, rules, numbers, reasons, and a digest of it all.

The fields are specified in ``docs/rules-format.md``.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur import __version__
from secateur.annotation import DEFAULT_RF_TOL, annotate
from secateur.errors import FormatError, ParameterError
from secateur.methods import Deletions, Why, find_method
from secateur.rules import RuleSet, StoredContent
from secateur.tree_json import read_header, tree_from_dict, tree_to_dict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.annotation import Annotation
    from secateur.tree import Tree

__all__ = ["rules_from_json", "rules_to_json", "rules_to_record"]

FORMAT = "secateur-rules"
VERSION = 1


def rules_to_json(rules: RuleSet) -> str:
    """Write a rule set, with every reason in words."""
    content = _content(rules, __version__)
    return json.dumps({**content, "digest": _digest(content)}, ensure_ascii=False, allow_nan=False)


def rules_to_record(rules: RuleSet) -> dict[str, Any]:
    """What the verifier reads: the content of the JSON without the words, and whether a file told the truth."""
    stored = rules.stored
    return {
        "method": rules.method,
        "parameters": dict(rules.parameters),
        "digest_ok": stored is None or (stored.digest == stored.content_digest and _words_hold(rules, stored)),
        "rules": [_write_rule(rules, index, words=False) for index in range(len(rules))],
    }


def _words_hold(rules: RuleSet, stored: StoredContent) -> bool:
    """Whether a file's sentences are those that its tree and numbers give; another version may word them otherwise."""
    return stored.version != __version__ or stored.content_digest == _digest(_content(rules, stored.version))


def _content(rules: RuleSet, version: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "secateur": version,
        "method": rules.method,
        "parameters": dict(rules.parameters),
        "guarantee": rules.guarantee,
        "is_ranked": rules.is_ranked,
        "is_weighted": rules.is_weighted,
        "tree": tree_to_dict(rules.tree),
        "rules": [_write_rule(rules, index, words=True) for index in range(len(rules))],
    }


def rules_from_json(text: str) -> RuleSet:
    """Read a rule set; what cannot be a rule set of its tree is refused."""
    content = read_header(text, FORMAT, VERSION)
    stored = content.pop("digest", None)
    try:
        tree = tree_from_dict(content["tree"])
        method = find_method(content["method"]).name
        listed = content["rules"]
        parameters = dict(content["parameters"])
        notes = annotate(tree, float(parameters.get("rf_tol", DEFAULT_RF_TOL)))
        if len(listed) != notes.n_rules:
            raise FormatError(f"The rules JSON lists {len(listed)} rules, but its tree has {notes.n_rules} leaves.")
        deletions = Deletions.keep_all(notes, Why.UNTOUCHED)
        counts, source_counts = np.full((2, len(listed), tree.n_classes), np.nan)
        for index, rule in enumerate(listed):
            _read_rule(tree, notes, deletions, index, rule)
            for array, name in ((counts, "class_counts"), (source_counts, "source_class_counts")):
                if rule[name] is not None:
                    array[index] = rule[name]
        rules = RuleSet(
            tree=tree,
            method=method,
            parameters=parameters,
            deletions=deletions,
            class_counts=counts,
            source_class_counts=source_counts,
            is_ranked=bool(content["is_ranked"]),
            is_weighted=bool(content["is_weighted"]),
            stored=StoredContent(stored, _digest(content), str(content["secateur"])),
        )
        rules.guarantee  # noqa: B018  # a parameter that the sentence needs may be gone
    except KeyError as error:
        raise FormatError(f"The rules JSON has no field {error.args[0]!r}; it was cut or edited.") from error
    except (FormatError, ParameterError):
        raise
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise FormatError(f"A field of the rules JSON has the wrong type or length: {error}.") from error
    return rules


def _write_rule(rules: RuleSet, index: int, *, words: bool) -> dict[str, Any]:
    rule = rules[index]
    content: dict[str, Any] = {
        "leaf_id": rule.leaf_id,
        "prediction": rule.prediction,
        "kept_ids": list(rule.kept_ids),
        "deleted_ids": list(rule.deleted_ids),
        "class_counts": _known_list(rules.class_counts[index]),
        "source_class_counts": _known_list(rules.source_class_counts[index]),
    }
    span = rules.notes.entries(index)
    if not words:
        content["reasons"] = [
            {"link_id": int(link), "kind": Why(int(code)).kind, "number": float(number)}
            for link, code, number in zip(
                *(rules.notes.links[span], rules.deletions.why[span], rules.deletions.number[span]), strict=True
            )
        ]
        return content
    content |= {
        "support": rule.support,
        "reliability": rule.reliability,
        "source_support": rule.source_support,
        "source_reliability": rule.source_reliability,
        "conditions": [condition.text for condition in rule.conditions],
        "reasons": [
            {
                "link_id": reason.link_id,
                "deleted": reason.deleted,
                "kind": reason.kind,
                "text": reason.text,
                "before": reason.before,
                "after": reason.after,
                "number": reason.number,
                "node_id": reason.node_id,
                "witness_leaf": reason.witness_leaf,
                "witness_point": None if reason.witness_point is None else dict(reason.witness_point),
            }
            for reason in rule.reasons.values()
        ],
    }
    return content


def _read_rule(tree: Tree, notes: Annotation, deletions: Deletions, index: int, content: dict[str, Any]) -> None:
    span = notes.entries(index)
    path = notes.links[span].tolist()
    gone = set(content["deleted_ids"])
    leaf = int(notes.leaf_ids[index])
    label = tree.classes[notes.leaf_class[index]].item()
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
    for entry, reason in zip(range(span.start, span.stop), content["reasons"], strict=True):
        why = Why.from_kind(reason["kind"])
        if why is Why.DIRECTION_REFUTES and reason["node_id"] not in path:
            raise FormatError(f"rules[{index}] of the rules JSON has a reason that points outside its path.")
        deletions.deleted[entry] = reason["link_id"] in gone
        deletions.why[entry] = why
        for name in ("before", "after", "number"):
            getattr(deletions, name)[entry] = np.nan if reason[name] is None else reason[name]
        deletions.node[entry] = -1 if reason["node_id"] is None else reason["node_id"]


def _known_list(counts: NDArray[np.float64]) -> list[float] | None:
    values: list[float] = counts.tolist()
    return None if np.isnan(counts).any() else values


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
