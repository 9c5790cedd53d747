"""Rules as texts, numbers and arrays, for savers that reject unknown classes.

pickle could store rules as they are. skops asks its user to trust every class that it meets, so an estimator saves its
rules in this form. A step of a pipeline is kept as an object only where it cannot be put into words.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from secateur.methods import Deletions
from secateur.results.fidelity import Fidelity
from secateur.rules.lines import Layout
from secateur.rules.making import Choice, Making, StoredContent
from secateur.rules.rules import Rules
from secateur.tree.columns import Columns
from secateur.tree.json import tree_from_json, tree_to_json
from secateur.tree.tree import Tree

# Fields of rules that are plain already, and those that are objects of plain fields.
PLAIN = ("leaf_counts", "covered_counts", "leaves", "decided_counts", "target_moments")
PARTS: dict[str, Any] = {
    "deletions": Deletions,
    "making": Making,
    "layout": Layout,
    "fidelity": Fidelity,
    "stored": StoredContent,
}


def rules_to_state(rules: Rules) -> dict[str, Any]:
    """Take rules apart, without the rows that they were made from."""
    columns, choice = rules.tree.columns, rules.choice
    return {
        **{name: getattr(rules, name) for name in PLAIN},
        **{name: _take_apart(getattr(rules, name)) for name in PARTS},
        "choice": None if choice is None else {**vars(choice), "deletions": dict(vars(choice.deletions))},
        "tree": tree_to_json(rules.tree),
        "columns": None if columns is None else _kept_columns(columns),
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
