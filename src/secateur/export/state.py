"""Rules as texts, numbers and arrays, for savers that refuse unknown classes.

pickle could store a rule set as it is. skops asks its user to trust every class that it meets, so an estimator saves
its rules in this form. A step of a pipeline is kept as an object only where it cannot be put into words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from secateur.methods import Deletions
from secateur.results.fidelity import Fidelity
from secateur.rules.compact_rules import CompactRules
from secateur.rules.rule_set import RuleSet, StoredContent
from secateur.tree.json import tree_from_json, tree_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secateur.tree.pipeline_columns import Columns
    from secateur.tree.tree import Tree

__all__ = ["rules_from_state", "rules_to_state"]

# Fields of a rule set that are plain already.
PLAIN = ("method", "class_counts", "source_class_counts", "is_ranked", "is_weighted")
COMPACT = ("chosen", "otherwise_id", "decided_counts", "stand_ins", "drop_costs", "budget", "tolerance")


def rules_to_state(rules: RuleSet | CompactRules) -> dict[str, Any]:
    """Take rules apart, without the rows that they were made from."""
    if isinstance(rules, CompactRules):
        return _compact_to_state(rules)
    columns, stored = rules.tree.columns, rules.stored
    return {
        **{name: getattr(rules, name) for name in PLAIN},
        "tree": tree_to_json(rules.tree),
        "columns": None if columns is None else _kept_columns(columns),
        "parameters": dict(rules.parameters),
        "deletions": dict(vars(rules.deletions)),
        "stored": None if stored is None else dict(vars(stored)),
    }


def _compact_to_state(rules: CompactRules) -> dict[str, Any]:
    """Take compact rules apart; the set after the budget shares all but deletions and counts with the one before."""
    stored, shortened = rules.stored, rules.rules
    return {
        **{name: getattr(rules, name) for name in COMPACT},
        "source": rules_to_state(rules.source),
        "deletions": dict(vars(shortened.deletions)),
        "class_counts": shortened.class_counts,
        "stored": None if stored is None else dict(vars(stored)),
        "fidelity": None if rules.fidelity is None else dict(vars(rules.fidelity)),
    }


def _compact_from_state(state: Mapping[str, Any]) -> CompactRules:
    source, stored = _rules_from_state(state["source"]), state["stored"]
    shortened = replace(source, deletions=Deletions(**state["deletions"]), class_counts=state["class_counts"])
    plain: dict[str, Any] = {name: state[name] for name in COMPACT}
    measured = state.get("fidelity")  # earlier versions had none
    return CompactRules(
        **{**plain, "stand_ins": tuple(plain["stand_ins"])},
        source=source,
        rules=shortened if state["budget"] else source,
        stored=None if stored is None else StoredContent(**stored),
        fidelity=None if measured is None else Fidelity(**measured),
    )


def rules_from_state(state: Mapping[str, Any]) -> RuleSet | CompactRules:
    """Put together the rules that :func:`rules_to_state` took apart."""
    return _compact_from_state(state) if "chosen" in state else _rules_from_state(state)


def _rules_from_state(state: Mapping[str, Any]) -> RuleSet:
    stored = state["stored"]
    return RuleSet(
        **{name: state[name] for name in PLAIN},
        tree=_read_tree(state["tree"], state["columns"]),
        parameters=state["parameters"],
        deletions=Deletions(**state["deletions"]),
        stored=None if stored is None else StoredContent(**stored),
    )


def _kept_columns(columns: Columns) -> dict[str, Any]:
    """Keep what the JSON of a tree leaves out of its columns."""
    encoded = None if columns.encoded is None else tree_to_json(columns.encoded)
    return {"asked": list(columns.asked), "encoded": encoded, "derive": columns.derive}


def _read_tree(text: str, kept: Mapping[str, Any] | None) -> Tree:
    tree = tree_from_json(text)
    if kept is None or tree.columns is None:
        return tree
    encoded = None if kept["encoded"] is None else tree_from_json(kept["encoded"])
    columns = replace(tree.columns, asked=tuple(kept["asked"]), encoded=encoded, derive=kept["derive"])
    return replace(tree, columns=columns)
