"""Explain the prediction for one row: the winning rule, what it asks, and the other rules that cover the row."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError, did_you_mean, shorten
from secateur.facts.checking import find_broken_facts
from secateur.frames import frame_columns
from secateur.methods import METHODS
from secateur.results.own_path import find_share_interval, say_own_leaf, tell_share
from secateur.rows.checking import check_rows
from secateur.rows.encoding import category_code, cut_blanks, is_trimmed
from secateur.rows.leaves import apply_tree
from secateur.rows.memory_rows import MemoryRows
from secateur.rows.opening import open_rows
from secateur.rows.rows import Rows
from secateur.rows.table_columns import find_texts, tested_features
from secateur.rules.deciding import Deciding
from secateur.rules.decision_list import make_decision_list
from secateur.tree.pipeline_columns import find_cuts
from secateur.tree.regions import Region, pick_value
from secateur.words.conditions import read_link, read_value
from secateur.words.dates import read_moment
from secateur.words.plain_words import join_asked, read_asked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule import Rule
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Label, Tree
    from secateur.words.conditions import Condition
    from secateur.words.reasons import Reason

__all__ = [
    "Explanation",
    "as_value",
    "explain_row",
    "find_absent",
    "find_covering",
    "find_held",
    "find_needed",
    "find_unseen",
    "leave_out_absent",
    "list_reasons",
    "make_up",
    "pair_values",
    "read_row",
    "say_broken",
    "say_values",
    "warn_of_unseen",
]


@dataclass(frozen=True)
class Explanation:
    """Why one row gets its prediction.

    Attributes
    ----------
    prediction : label
        What the rule set predicts.
    tree_prediction : label
        What the source tree predicts.
    rule : Rule
        The rule that decides.
    covering : tuple of Rule
        All rules that cover the row: the deciding one first, then the others by rank.
    own_rule : Rule
        The rule of the row's own leaf, which another rule may have outranked.
    interval : tuple of float, or None
        Limits of the deciding rule's reliability at the level of 95 % (Clopper and Pearson), from its training rows;
        None without rows, or with weights.
    values : mapping of str to label or None
        The row's values in the columns that the deciding rule's path tests: numbers, categories, None for missing. A
        number that is asked by cell is given as its cell.
    asked : tuple of (str, str)
        What the deciding rule asks and what the row holds there, in words.
    text : str
        The explanation in words, also its ``str()``.
    broken_facts : tuple of str
        Known facts about the columns that this row contradicts. The guarantee does not cover the row if it rests on one
        of them, which the text says.
    """

    prediction: Label
    tree_prediction: Label
    rule: Rule
    covering: tuple[Rule, ...]
    own_rule: Rule
    interval: tuple[float, float] | None
    values: Mapping[str, Label | None]
    asked: tuple[tuple[str, str], ...]
    text: str = field(repr=False)
    broken_facts: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the explanation as plain values, for JSON."""
        rule = self.rule
        return {
            "prediction": self.prediction,
            "tree_prediction": self.tree_prediction,
            "rule": rule.index + 1,
            "text": rule.text,
            "conditions": [condition.text for condition in rule.conditions],
            "support": rule.support,
            "reliability": rule.reliability,
            "interval": None if self.interval is None else list(self.interval),
            "own_rule": self.own_rule.index + 1,
            "own_leaf": self.own_rule.leaf_id,
            "values": dict(self.values),
            "reasons": list_reasons(rule.reasons),
            "also_covered_by": [other.index + 1 for other in self.covering[1:]],
            "broken_facts": list(self.broken_facts),
            "explanation": self.text,
        }

    def _repr_html_(self) -> str:
        from secateur.export.notebook_tables import explanation_to_html

        return explanation_to_html(self)

    def __str__(self) -> str:
        return self.text


def list_reasons(reasons: Mapping[int, Reason]) -> list[dict[str, Any]]:
    """Give the reasons of a rule's links as plain values."""
    return [
        {"link": link, "deleted": reason.deleted, "kind": reason.kind, "text": reason.text}
        for link, reason in reasons.items()
    ]


def explain_row(rules: RuleSet, row: Any) -> Explanation:
    """Explain the prediction for one row."""
    tree, paths = rules.tree, rules.paths
    rows = read_row(rules, row, find_needed(rules))
    cells, unseen = rows.matrix[0], find_unseen(tree, rows.matrix[0], row)
    leaf = int(apply_tree(tree, rows)[0])
    covers = find_covering(rules, rows.matrix[0])
    covering = rules.ranking[covers[rules.ranking]].tolist()
    # The same as `rules.apply`, which is made for many rows.
    winner = covering[0] if rules.is_ranked else int(rules._rule_of_leaf[leaf])
    ranked = [rules[winner], *(rules[index] for index in covering if index != winner)]
    tested = dict.fromkeys(tree.feature[paths.parent[paths.links[paths.entries(winner)]]].tolist())
    broken, own = find_broken_facts(tree, rows), int(rules._rule_of_leaf[leaf])
    values = {tree.feature_name(one): as_value(rules, one, cells[one], unseen) for one in tested}
    return Explanation(
        prediction=rules[winner].prediction,
        tree_prediction=tree.classes[int(tree.leaf_class[leaf])].item(),
        rule=rules[winner],
        covering=tuple(ranked),
        own_rule=rules[own],
        interval=find_share_interval(rules, rules.class_counts[winner], int(paths.leaf_class[winner])),
        values=leave_out_absent(values, row),
        asked=pair_values(rules, rules[winner].conditions, cells, unseen),
        text="\n".join(
            [
                *warn_of_unseen(tree, unseen),
                *_tell(rules, ranked, cells, unseen, own, find_absent(rules, own, row), broken),
            ]
        ),
        broken_facts=tuple(broken),
    )


def read_row(rules: RuleSet, row: Any, needed: Collection[int] | None = None) -> Rows:
    """Read one row in the tree's own terms, however it was passed.

    Of a mapping, columns that the tree never asks for may be absent; if only some are ``needed``, others that the tree
    asks for may be, too, and get any value that is possible.
    """
    if _is_mapping(row):
        return check_rows(rules.tree, _as_table(rules, _fill(rules.tree, row, needed)), name="row")
    with open_rows(row, find_texts=partial(find_texts, rules.tree)) as source:
        if source.in_memory:
            return MemoryRows(_as_table(rules, row)).read(rules.tree, "row")
        table = source.decide(rules.tree, Deciding(rules, "explain", lambda rows: rows.matrix))
    _check_one(table)
    return Rows.of(table)


def find_needed(rules: RuleSet | CompactRules) -> set[int] | None:
    """Find the features that decide whatever the others are; None if that may be all that the tree asks for."""
    if not METHODS[rules.method].is_exact or getattr(rules, "budget", False):
        return None
    return {column.feature for column in make_decision_list(rules).columns}


def find_unseen(tree: Tree, cells: NDArray[Any], row: Any) -> dict[int, Any]:
    """Find what a row holds where the tree knows no such category, by feature; nothing if the row has no names."""
    if not _is_mapping(row):
        names = frame_columns(row)
        if names is None:
            return {}
        import narwhals as nw

        try:
            frame = nw.from_native(row, eager_only=True)
        except TypeError:  # rows that are not in memory
            return {}
        row = {name: frame[name].to_list()[0] for name in names}
    return {
        feature: row[tree.feature_name(feature)]
        for feature in sorted(tested_features(tree))
        if (levels := tree.categories[feature]) is not None
        and find_cuts(tree, feature) is None
        and cells[feature] == len(levels)
        and tree.feature_name(feature) in row.keys()  # noqa: SIM118  # a Series tests values, not keys
    }


def warn_of_unseen(tree: Tree, unseen: Mapping[int, Any]) -> list[str]:
    """Say which values of a row the tree does not know, and what they may have been meant to be."""
    return [
        f"Caution: {tree.feature_name(feature)} is {value!r}, which is not among the values that the tree knows "
        f"({shorten(tree.categories[feature] or ())}), so it counts as any other."
        f"{did_you_mean(value, map(str, tree.categories[feature] or ()))}"
        for feature, value in unseen.items()
    ]


def leave_out_absent(values: dict[str, Label | None], row: Any) -> dict[str, Label | None]:
    """Leave out the values that a mapping did not have, so that nobody takes made-up ones for the row's."""
    given = set(row.keys()) if _is_mapping(row) else set(values)
    return {name: value for name, value in values.items() if name in given}


def find_absent(rules: RuleSet, own: int, row: Any) -> list[str]:
    """List the columns that the tree asks for on the way to a leaf, and that a mapping did not have."""
    links = rules.paths.links[rules.paths.entries(own)]
    asked = dict.fromkeys(rules.tree.feature[rules.paths.parent[links]].tolist())
    names = [rules.tree.feature_name(feature) for feature in asked]
    is_derived = rules.tree.columns is not None and rules.tree.columns.derived
    given = set(row.keys()) if _is_mapping(row) and not is_derived else set(names)
    return [name for name in names if name not in given]


def _is_mapping(row: Any) -> bool:
    """Whether a row is a mapping, or a pandas Series."""
    return hasattr(row, "keys") and frame_columns(row) is None


def _fill(tree: Tree, row: Any, needed: Collection[int] | None) -> dict[str, Any]:
    """Give a row a value in each column, whatever is possible in those that need not be there."""
    names = [tree.feature_name(feature) for feature in range(tree.n_features)]
    given = dict(row.items())
    asked = tested_features(tree)
    if tree.columns is not None and tree.columns.derived:  # which may need any of them
        return given
    required = asked if needed is None else asked.intersection(needed)
    absent = [names[feature] for feature in sorted(required) if names[feature] not in given]
    if absent:
        meant = did_you_mean(absent[0], [name for name in map(str, given) if name not in names])
        raise InputError(f"The row has no value for {shorten(absent)}, which the rules ask for.{meant}")
    return {name: given[name] if name in given else make_up(tree, feature) for feature, name in enumerate(names)}


def make_up(tree: Tree, feature: int) -> Any:
    """Make up a value that the tree's facts allow."""
    levels, cuts = tree.categories[feature], find_cuts(tree, feature)
    if cuts is not None:
        return cuts[0]
    return pick_value(tree, feature, Region()) if levels is None else levels[0]


def _check_one(table: Any) -> None:
    if len(table) != 1:
        raise InputError(f"Expected one row to explain, found {len(table)}. Pass them one at a time.")


def find_covering(rules: RuleSet, row: NDArray[Any]) -> NDArray[np.bool_]:
    """Find the rules that cover one row."""
    paths = rules.paths
    covers = np.ones(paths.n_rules, dtype=bool)
    covers[paths.rule[~find_held(rules, row)[paths.links] & ~rules.deleted]] = False
    return covers


def find_held(rules: RuleSet, row: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the links whose conditions one row satisfies, by testing all splits at once."""
    tree, paths = rules.tree, rules.paths
    values = row[tree.feature]  # at leaves, which test nothing, any value
    left = values <= tree.upper
    start, table = tree.category_table
    missing = np.isnan(values)
    sets = (start >= 0) & ~missing
    left[sets] = table[start[sets] + values[sets].astype(np.int64)]
    left[missing] = tree.missing_left[missing]
    held: NDArray[np.bool_] = left[paths.parent] == paths.is_left
    return held


def as_value(
    rules: RuleSet, feature: int, value: float, unseen: Mapping[int, Any] = MappingProxyType({})
) -> Label | None:
    """Turn a stored value back into what the user passed; values that the tree does not know are looked up."""
    if np.isnan(value):
        return None
    levels, cuts, reading = rules.tree.categories[feature], find_cuts(rules.tree, feature), rules.tree.reading(feature)
    if reading is not None and reading.is_moment:
        return read_moment(float(value), reading)
    if levels is None:
        return float(value)
    if int(value) < len(levels):
        return levels[int(value)]
    return unseen.get(feature, "(any other)") if cuts is None else f"> {cuts[-1]!r}"


def _as_table(rules: RuleSet, row: Any) -> Any:
    """Make a table of one row, however the row was passed."""
    if frame_columns(row) is not None:
        _check_one(row)
        return row
    columns = rules.tree.columns
    if hasattr(row, "keys"):  # a mapping, or a pandas Series
        names = [rules.tree.feature_name(feature) for feature in range(rules.tree.n_features)]
        if columns is not None and columns.derive is not None and not set(columns.derived) <= set(row.keys()):
            names = names[: -len(columns.derived)]
        absent = [name for name in names if name not in row.keys()]  # noqa: SIM118  # a Series tests values, not keys
        if absent:
            raise InputError(f"The row has no value for {absent[0]!r}; give one for each of {names}.")
        if (
            columns is not None or rules.tree.readings
        ):  # values stay as they are: labels, numbers, and anything that the tree does not test
            given = [
                cut_blanks([row[name]])[0] if is_trimmed(rules.tree, feature) else row[name]
                for feature, name in enumerate(names)
            ]
            if columns is None:  # a matrix holds codes of categories
                given = [
                    value if levels is None else category_code(value, levels)
                    for value, levels in zip(given, rules.tree.categories, strict=True)
                ]
            return _as_objects(given)
        codes = [_as_number(rules, feature, row[name]) for feature, name in enumerate(names)]
        return np.array([codes], dtype=np.float64)
    if (
        columns is not None
        and isinstance(row, (list, tuple))
        and not any(hasattr(value, "__len__") and not isinstance(value, str) for value in row)
    ):
        return _as_objects(row)
    values = np.asarray(row)
    if values.ndim == 2:
        _check_one(values)
    return values.reshape(1, -1)


def _as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Make a table of one row of values of different types."""
    table = np.empty((1, len(values)), dtype=object)
    table[0, :] = values
    return table


def _as_number(rules: RuleSet, feature: int, value: Any) -> float:
    if value is None:
        return float("nan")
    levels = rules.tree.categories[feature]
    if levels is not None:
        return category_code(value, levels)
    try:
        return float(value)
    except (TypeError, ValueError):
        name = rules.tree.feature_name(feature)
        raise InputError(f"Expected a number for {name!r}, found {value!r}.") from None


def say_values(
    rules: RuleSet,
    conditions: Iterable[Condition],
    row: NDArray[Any],
    unseen: Mapping[int, Any] = MappingProxyType({}),
) -> list[str]:
    """Write what a row holds in the columns that conditions are about."""
    features = dict.fromkeys(
        feature
        for condition in conditions
        for feature in (rules.tree.feature[rules.paths.parent[list(condition.link_ids)]].tolist())
    )
    group_of, seen = rules.tree.facts.group_of, {}
    for feature in features:
        if feature in group_of:  # of a category's columns of zeros and ones, the one that the row has
            members = rules.tree.facts.groups[group_of[feature]].features
            feature = next((member for member in members if row[member] == 1), feature)
        seen[feature] = read_value(rules.tree, feature, as_value(rules, feature, row[feature], unseen), rules._voice)
    return list(dict.fromkeys(seen.values()))


def pair_values(
    rules: RuleSet,
    conditions: Iterable[Condition],
    row: NDArray[Any],
    unseen: Mapping[int, Any] = MappingProxyType({}),
) -> tuple[tuple[str, str], ...]:
    """Put what conditions ask beside what a row holds there, in words."""
    pairs = (
        (join_asked(read_asked(rules, condition.link_ids)), ", ".join(say_values(rules, [condition], row, unseen)))
        for condition in conditions
    )
    return tuple(dict.fromkeys(pairs))


def _tell(
    rules: RuleSet,
    covering: list[Rule],
    row: NDArray[Any],
    unseen: Mapping[int, Any],
    own: int,
    absent: Sequence[str],
    broken: list[str],
) -> list[str]:
    winner = covering[0]
    class_id = int(rules.paths.leaf_class[winner.index])
    if winner.kept_ids:
        lines = [f"Predicted {winner.class_name}, because rule {winner.index + 1} holds: {join_asked(winner.asks)}."]
        lines.append(f"  This row: {', '.join(say_values(rules, winner.conditions, row, unseen))}.")
    else:
        lines = [f"Predicted {winner.class_name}, because rule {winner.index + 1} holds for every row."]
    lines += tell_share(rules, rules.class_counts[winner.index], class_id, "Rows like it")
    held = find_held(rules, row)
    for link, reason in winner.reasons.items():
        if held[link]:  # what is not true of this row would only confuse
            asked = "not asked" if reason.deleted else "asked"
            lines.append(f"  {asked}: {read_link(rules.tree, rules.paths, link, rules._voice)} ({reason.text})")
    others = covering[1:]
    if others:
        lines.append("Also covered by " + "; ".join(f"rule {rule.index + 1} ({rule.class_name})" for rule in others))
    if any(rule.prediction != winner.prediction for rule in others):
        lines.append(
            "These rules disagree; the one that ranks first decides: by training reliability, then support, "
            "fewer conditions and source order."
        )
    differs = rules.tree.leaf_class[rules.paths.leaf_ids[own]] != class_id
    lines.append(say_own_leaf(rules, own, absent, differs=bool(differs)))
    return [*lines, *say_broken(rules, broken)]


def say_broken(rules: RuleSet | CompactRules, broken: Sequence[str]) -> list[str]:
    """Say that a row contradicts what is known, if it does, and whether the guarantee is about it nevertheless."""
    if not broken:
        return []
    said = "This row contradicts what is known, but the guarantee does not rest on it"
    if rules._rests_on(broken):
        said = "The guarantee does not cover this row, which contradicts what is known"
    return [f"{said}: {'; '.join(broken)}."]
