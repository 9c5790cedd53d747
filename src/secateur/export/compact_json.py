"""Compact rules as versioned JSON: the rule set that they were chosen from, what was chosen, and a digest of it all.

The fields are specified in ``docs/rules-format.md``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur import __version__
from secateur.errors import FormatError, ParameterError
from secateur.export.json import list_kinds, rules_from_json, rules_to_json
from secateur.export.stored_numbers import read_counts, read_numbers
from secateur.export.stored_reasons import OF_A_BUDGET, check_reasons
from secateur.methods import METHODS, Deletions, Why
from secateur.methods.settings import check_share
from secateur.results.fidelity import Fidelity
from secateur.rules.compact_rules import CompactRules
from secateur.rules.rule_set import StoredContent
from secateur.tree.json import read_header

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.compact_rule import CompactRule
    from secateur.rules.dropped_rules import DroppedRule
    from secateur.rules.rule_set import RuleSet

__all__ = ["FORMAT", "compact_from_json", "compact_to_json", "compact_to_record"]

FORMAT = "secateur-compact"
VERSION = 2  # with the fidelity of an approximation; without one, 1
NUMBERS = ("before", "after", "number")
TINY = 1e-9  # shares are rounded


def compact_to_json(rules: CompactRules) -> str:
    """Write compact rules, with every reason in words."""
    content = _write(rules, __version__)
    return json.dumps({**content, "digest": _digest(content)}, ensure_ascii=False, allow_nan=False)


def _write(rules: CompactRules, version: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": 1 if rules.fidelity is None else VERSION,
        "secateur": version,
        "guarantee": rules.guarantee,
        "budget": rules.budget,
        "tolerance": rules.tolerance,
        "otherwise": rules.otherwise,
        "otherwise_counts": _list(rules.decided_counts[-1]),
        "rules": [_write_rule(rule, rules.decided_counts[rule.index]) for rule in rules],
        "dropped": [_write_dropped(dropped) for dropped in rules.dropped],
        "source": json.loads(rules_to_json(rules.source)),
        **({} if rules.fidelity is None else {"approximation": rules.fidelity.to_dict()}),
    }


def _write_rule(rule: CompactRule, decided: NDArray[np.float64]) -> dict[str, Any]:
    counts = rule.source.class_counts
    return {
        "leaf_id": rule.leaf_id,
        "prediction": rule.prediction,
        "kept_ids": list(rule.kept_ids),
        "deleted_ids": list(rule.deleted_ids),
        "class_counts": None if counts is None else list(counts),
        "decided_counts": _list(decided),
        "leaf_ids": list(rule.leaf_ids),
        "conditions": [condition.text for condition in rule.conditions],
        "reasons": [
            {
                "link_id": reason.link_id,
                "deleted": reason.deleted,
                "kind": reason.kind,
                "text": reason.text,
                **{name: getattr(reason, name) for name in NUMBERS},
                "node_id": reason.node_id,
            }
            for reason in rule.reasons.values()
        ],
    }


def _write_dropped(dropped: DroppedRule) -> dict[str, Any]:
    """Name the covering rule by its leaf, as all rules of a file are named."""
    index = dropped.covered_by
    return {
        "leaf_id": dropped.leaf_id,
        "covered_by": None if index is None else dropped._rules[index].leaf_id,
        **{name: getattr(dropped, name) for name in NUMBERS},
        "text": dropped.reason,
    }


def compact_to_record(rules: CompactRules) -> dict[str, Any]:
    """Give the verifier the content of the JSON without the words, and whether a file told the truth."""
    stored, deletions = rules.stored, rules.rules.deletions
    return {
        "chosen": rules.chosen,
        "otherwise": rules.otherwise_id,
        "budget": rules.budget,
        "tolerance": rules.tolerance,
        "deleted": deletions.deleted,
        "kinds": list_kinds(deletions.why),
        "class_counts": rules.rules.class_counts[rules.chosen],
        "decided_counts": rules.decided_counts,
        "stands_for": [rules.stands_for(index).tolist() for index in range(len(rules))],
        "drop_costs": rules.drop_costs,
        "approximates": None if rules.fidelity is None else rules.fidelity.model,
        "digest_ok": stored is None or (stored.digest == stored.content_digest and _words_hold(rules, stored)),
        "worded_by": None if stored is None or stored.version == __version__ else stored.version,
    }


def _words_hold(rules: CompactRules, stored: StoredContent) -> bool:
    """Whether a file's sentences are those that its tree and numbers give; another version may word them otherwise."""
    return stored.version != __version__ or stored.content_digest == _digest(_write(rules, stored.version))


def _list(counts: NDArray[np.float64]) -> list[float] | None:
    return None if np.isnan(counts).any() else counts.tolist()


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def compact_from_json(text: str) -> CompactRules:
    """Read compact rules; refuse what cannot have been chosen from their rule set."""
    content = read_header(text, FORMAT, VERSION)
    stored = content.pop("digest", None)
    try:
        source = rules_from_json(json.dumps(content["source"], ensure_ascii=False))
        listed = content["rules"]
        chosen = _find_chosen(source, listed)
        budget, tolerance = check_share("budget", content["budget"]), check_share("tolerance", content["tolerance"])
        labels = source.tree.classes.tolist()
        if content["otherwise"] not in labels:
            raise FormatError(f"The class {content['otherwise']!r} of otherwise is not one of {labels}.")
        default = labels.index(content["otherwise"])
        counts = [*(rule["decided_counts"] for rule in listed), content["otherwise_counts"]]
        rules = CompactRules(
            source=source,
            rules=_shorten(source, chosen, listed, budget),
            chosen=chosen,
            otherwise_id=default,
            decided_counts=read_counts(counts, source.tree.n_classes),
            stand_ins=_read_leaves(source, listed),
            drop_costs=_read_dropped(source, content["dropped"]),
            budget=budget,
            tolerance=tolerance,
            stored=StoredContent(stored, _digest(content), str(content["secateur"])),
        )
        if content["version"] > 1:
            rules = replace(rules, fidelity=_read_fidelity(rules, content["approximation"]))
        _check_dropped(rules, content["dropped"])
    except KeyError as error:
        raise FormatError(f"The compact rules JSON has no field {error.args[0]!r}; it was cut or edited.") from error
    except (FormatError, ParameterError):
        raise
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise FormatError(f"A field of the compact rules JSON has the wrong type or length: {error}.") from error
    return rules


def _read_fidelity(rules: CompactRules, stated: dict[str, Any]) -> Fidelity:
    """Read how far rules say what a model says; refuse numbers that cannot have been counted together."""
    counts, of_leaves = _read_whole(stated["counts"]), _read_whole(stated["leaf_counts"])
    leaf_ids = np.array(rules.rules.paths.leaf_ids)
    guess, right = stated["guess"], (stated["n_right"], stated["n_model_right"])
    fidelity = Fidelity(
        model=str(stated["model"]),
        counts=counts,
        class_ids=np.append(rules.class_ids, rules.otherwise_id),
        leaf_counts=of_leaves,
        leaf_ids=leaf_ids,
        n_building=int(stated["n_building"]),
        n_neighbours=int(stated["n_neighbours"]),
        expected=check_share("expected", stated["expected"]),
        wanted=None if stated["wanted"] is None else check_share("wanted", stated["wanted"]),
        n_right=right[0],
        n_model_right=right[1],
        guess=None if guess is None else (str(guess[0]), int(guess[1])),
    )
    shapes = counts.shape == (len(rules) + 1, rules.tree.n_classes + 1) and of_leaves.shape == (len(leaf_ids), 2)
    if not shapes or not counts.sum() or (of_leaves[:, 1] > of_leaves[:, 0]).any():
        raise ValueError("the counts of held-out rows do not fit the rules")
    if any(one is not None and not 0 <= int(one) <= counts.sum() for one in right):
        raise ValueError("more held-out rows are right than there are")
    sums = [fidelity.n_rows, fidelity.overall.n_same]
    if of_leaves.sum(axis=0).tolist() != sums or fidelity.to_dict() != stated:
        raise FormatError(
            "The numbers of held-out rows in the compact rules JSON do not add up to its fidelity; it was edited."
        )
    return fidelity


def _read_whole(numbers: Any) -> NDArray[np.int64]:
    read = np.array(numbers, dtype=np.float64)
    if read.ndim != 2 or not (read >= 0).all() or (read != np.floor(read)).any():
        raise ValueError("expected numbers of rows")
    return read.astype(np.int64)


def _find_chosen(source: RuleSet, listed: list[dict[str, Any]]) -> NDArray[np.int64]:
    """Find the places of the written rules, and refuse rules that are not those of their leaves."""
    paths = source.paths
    place_of = {leaf: place for place, leaf in enumerate(paths.leaf_ids.tolist())}
    for rule in listed:
        leaf = rule["leaf_id"]
        if leaf not in place_of:
            raise FormatError(f"The compact rules JSON has a rule of node {leaf!r}, which is no leaf of its tree.")
        path = paths.links[paths.entries(place_of[leaf])].tolist()
        gone = set(rule["deleted_ids"])
        if rule["kept_ids"] != [link for link in path if link not in gone] or not gone <= set(path):
            raise FormatError(f"The links of the rule of leaf {leaf} in the compact rules JSON are not its path's.")
        if [reason["link_id"] for reason in rule["reasons"]] != path:
            raise FormatError(f"The rule of leaf {leaf} in the compact rules JSON has not one reason for each link.")
        label = source.tree.classes[paths.leaf_class[place_of[leaf]]].item()
        if rule["prediction"] != label:
            raise FormatError(f"The rule of leaf {leaf} predicts {rule['prediction']!r}, but its leaf {label!r}.")
    return np.array([place_of[rule["leaf_id"]] for rule in listed], dtype=np.int64)


def _shorten(source: RuleSet, chosen: NDArray[np.int64], listed: list[dict[str, Any]], budget: float) -> RuleSet:
    """Give the written rules what was deleted under the budget; without one they are those of their rule set."""
    paths = source.paths
    arrays = {name: np.array(values) for name, values in vars(source.deletions).items()}
    counts = np.array(source.class_counts)
    for place, rule in zip(chosen.tolist(), listed, strict=True):
        span, reasons = paths.entries(place), rule["reasons"]
        gone = set(rule["deleted_ids"])
        arrays["deleted"][span] = [reason["link_id"] in gone for reason in reasons]
        arrays["why"][span] = [Why.from_kind(reason["kind"]) for reason in reasons]
        arrays["node"][span] = [-1 if reason["node_id"] is None else reason["node_id"] for reason in reasons]
        for name in NUMBERS:
            arrays[name][span] = read_numbers([reason[name] for reason in reasons], name)
    counts[chosen] = read_counts([rule["class_counts"] for rule in listed], source.tree.n_classes)
    deletions = Deletions(**arrays)
    if budget > 0:
        check_reasons(source.method, paths, deletions, OF_A_BUDGET)
        _check_spending(source, deletions, budget)
        return replace(source, deletions=deletions, class_counts=counts)
    same = [np.array_equal(counts, source.class_counts, equal_nan=True)]
    same += [np.array_equal(arrays[name], one, equal_nan=True) for name, one in vars(source.deletions).items()]
    if not all(same):
        raise FormatError(
            "The compact rules JSON has no budget, but a rule of it is not the one of the rule set that it was chosen "
            "from; it was edited."
        )
    return source


def _check_spending(source: RuleSet, deletions: Deletions, budget: float) -> None:
    """Refuse earlier deletions with another reason than before, and later ones that went beyond the budget."""
    before = source.deleted
    stated, known = vars(deletions), vars(source.deletions)
    if not all(np.array_equal(stated[name][before], known[name][before], equal_nan=True) for name in known):
        raise FormatError(
            "The compact rules JSON gives a condition that was deleted before the budget another reason than the rule "
            "set that it was chosen from; it was edited."
        )
    paid = deletions.why == Why.DECIDED_OTHERWISE
    shares = np.stack([deletions.before[paid], deletions.after[paid]])
    starts_within = METHODS[source.method].is_exact  # rules of other methods may begin beyond it
    if not ((shares >= 0) & (shares <= 1)).all() or (starts_within and (shares > budget + TINY).any()):
        raise FormatError(
            f"The compact rules JSON has a deletion that went beyond its budget of {100 * budget:.6g} %; it was edited."
        )


def _check_dropped(rules: CompactRules, listed: list[dict[str, Any]]) -> None:
    """Refuse a list of dropped rules that is not the rest of the leaves, or that names another rule for one."""
    stated = [(rule["leaf_id"], rule["covered_by"]) for rule in listed]
    known = [(one["leaf_id"], one["covered_by"]) for one in map(_write_dropped, rules.dropped)]
    if stated != known:
        raise FormatError(
            "The dropped rules of the compact rules JSON are not those of the leaves that no written rule is for, each "
            "with the rule that stands for it; it was edited."
        )


def _read_leaves(source: RuleSet, listed: list[dict[str, Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    place_of = {leaf: place for place, leaf in enumerate(source.paths.leaf_ids.tolist())}
    unknown = next((leaf for rule in listed for leaf in rule["leaf_ids"] if leaf not in place_of), None)
    if unknown is not None:
        raise FormatError(f"A rule of the compact rules JSON stands for node {unknown!r}, which is no leaf.")
    lengths = [len(rule["leaf_ids"]) for rule in listed]
    if any(sorted(set(rule["leaf_ids"]), key=place_of.__getitem__) != rule["leaf_ids"] for rule in listed):
        raise FormatError("A rule of the compact rules JSON names a leaf that it stands for twice, or not in order.")
    places = [place_of[leaf] for rule in listed for leaf in rule["leaf_ids"]]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), np.array(places, dtype=np.int64)


def _read_dropped(source: RuleSet, listed: list[dict[str, Any]]) -> NDArray[np.float64]:
    place_of = {leaf: place for place, leaf in enumerate(source.paths.leaf_ids.tolist())}
    costs = np.full((3, len(source)), np.nan)
    for name, row in zip(NUMBERS, costs, strict=True):
        row[[place_of[rule["leaf_id"]] for rule in listed]] = read_numbers([rule[name] for rule in listed], name)
    return costs
