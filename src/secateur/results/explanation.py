"""Explain the prediction for a row: the line that decides it, what that asks, and what the tree itself says.

Of many rows, leaf and line are found at once; words are made when somebody asks for them, and kept with the rules.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, did_you_mean, shorten
from secateur.facts.checking import find_broken_facts
from secateur.results import row_reading
from secateur.results.answer import describe_rows, find_shown_class
from secateur.results.fidelity import format_agreement
from secateur.results.measures import describe_rarer, find_expected
from secateur.rows.rows import Rows
from secateur.rules.rule import ArraySequence, Framed, Rule, written_by
from secateur.rules.rules import Rules
from secateur.tree.tree import Label, Tree
from secateur.words.conditions import (
    Condition,
    count_class,
    count_of,
    count_rows,
    format_count,
    format_link,
    format_share,
    format_value,
    name_class,
    read_conditions,
)
from secateur.words.plain_words import PlainVoice, format_amount, format_asked, join_asked

SHOWN_RULES = 20
MOST_REASONS = 4  # of a letter
SIGNS = {"<": "below", ">": "above", "≤": "at most", "≥": "at least"}
TINY = 1e-9  # values are rounded


class Explanation:
    """Why one row gets its prediction.

    Parameters
    ----------
    seen : object
        The row, made by :meth:`Rules.explain`.

    Attributes
    ----------
    prediction : label
        What the rules predict.
    rule : Rule
        The line that decides; "otherwise" of a list has no conditions.
    """

    def __init__(self, seen: _Seen) -> None:
        self._seen = seen
        self.rule = seen.line
        self.prediction: Label = seen.line.prediction

    @property
    def tree_prediction(self) -> Label:
        """What the source tree predicts."""
        said: Label = self._seen.rules.leaf_answers[self._seen.own].item()
        return said

    @property
    def own_rule(self) -> Rule:
        """The rule of the row's own leaf in the tree, before lines were chosen."""
        return self._seen.rules.each_leaf[self._seen.own]

    @cached_property
    def covering(self) -> tuple[Rule, ...]:
        """All rules that cover the row: the deciding one first, then the others in the order in which they decide."""
        return (*(() if self.rule.is_otherwise else (self.rule,)), *self._seen.others)

    @cached_property
    def failed(self) -> Mapping[int, tuple[str, ...]]:
        """For each rule of a list that does not cover the row, by index, what it asks that the row does not have."""
        tree, paths = self._seen.rules.tree, self._seen.rules.paths
        return {
            index: tuple(condition.text for condition in read_conditions(tree, paths, links))
            for index, links in self._seen.lacking.items()
        }

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """Limits of the share of its class that as many new rows of the line will have, at the level of 95 %.

        None without enough unseen rows.
        """
        return find_expected(self._seen.rules, np.array([self.rule.index]))[0]

    @cached_property
    def values(self) -> Mapping[str, Label | None]:
        """The row's values in the columns that rules ask for: numbers, or their cells, categories, None for missing."""
        rules, cells, unseen = self._seen.rules, self._seen.cells, self._seen.unseen
        shown = rules.leaves if rules.is_list else [self.rule.place]
        entries = np.isin(rules.paths.rule, shown)
        links = rules.paths.links[entries & ~rules.deleted if rules.is_list else entries]
        tested = dict.fromkeys(rules.tree.feature[rules.paths.parent[links]].tolist())
        held = {rules.tree.feature_name(one): row_reading.as_value(rules, one, cells[one], unseen) for one in tested}
        return row_reading.leave_out_absent(held, self._seen.given)

    @cached_property
    def asked(self) -> tuple[tuple[str, str], ...]:
        """What the deciding rule asks and what the row holds there; for "otherwise", what each rule asks in vain."""
        rules, told = self._seen.rules, list(self.rule.conditions)
        if self.rule.is_otherwise:
            lacking = self._seen.lacking.values()
            told = [one for links in lacking for one in read_conditions(rules.tree, rules.paths, links)]
        pairs = (
            (join_asked(format_asked(rules, one.link_ids)), ", ".join(_write_values(self._seen, [one]))) for one in told
        )
        return tuple(dict.fromkeys(pairs))

    @cached_property
    def text(self) -> str:
        """The explanation in words."""
        ways = () if self._seen.locked is None else _describe_changes(self.changes, self._seen.rules.is_exact)
        return "\n".join([*_warn_of_unseen(self._seen.rules.tree, self._seen.unseen), *_describe(self._seen), *ways])

    @cached_property
    def changes(self) -> tuple[row_reading.Change, ...]:
        """If asked for: all changes of the fewest columns that get the row another class from the tree."""
        seen = self._seen
        if seen.locked is None:
            return ()
        tree = seen.rules.tree
        asked = [tree.feature_name(feature) for feature in np.unique(tree.feature[~tree.is_leaf]).tolist()]
        absent = [name for name in asked if isinstance(seen.given, Mapping) and name not in seen.given]
        if absent:
            raise InputError(f"Changes need every column that the tree asks for; not given: {shorten(absent)}.")
        return row_reading.find_changes(seen.rules, seen.cells, seen.locked)

    @property
    def broken_facts(self) -> tuple[str, ...]:
        """Stated facts that this row violates; the text says whether the guarantee assumes one of them."""
        return tuple(self._seen.broken)

    def to_dict(self) -> dict[str, Any]:
        """Give the explanation as plain values, for JSON."""
        rule = self.rule
        return {
            "prediction": self.prediction,
            "tree_prediction": self.tree_prediction,
            "line": rule.index + 1,
            "text": rule.text,
            "section": [condition.text for condition in rule.section.heading],
            "conditions": [condition.text for condition in rule.conditions],
            "share": rule.share,
            **{name: getattr(rule, name) for name in ("support", "reliability")},
            "interval": None if self.interval is None else list(self.interval),
            "own_rule": self.own_rule.index + 1,
            "own_leaf": self.own_rule.leaf_id,
            "values": dict(self.values),
            "reasons": [
                {"link": link, "deleted": reason.deleted, "kind": reason.kind, "text": reason.text}
                for link, reason in rule.reasons.items()
            ],
            "also_covered_by": [other.index + 1 for other in self.covering[1:]],
            "failed": {str(index + 1): list(asked) for index, asked in self.failed.items()},
            "broken_facts": list(self.broken_facts),
            "changes": [
                {"prediction": one.prediction, "columns": list(one.columns), "asks": list(one.asks)}
                for one in self.changes
            ],
            "explanation": self.text,
        }

    def letter(self) -> str:
        """Write the answer with at most four reasons, and of an exact list, if asked for, with what would change it.

        The reasons are those of the row's own leaf, as its rule was shortened; of a list that may differ from the tree,
        those of the line.
        """
        rule = self.own_rule if self.rule._rules.is_exact or self.rule.is_otherwise else self.rule
        rule = rule if rule.whole_conditions else self.rule  # where all leaves say one class, no leaf's rule asks
        rules = rule._rules
        reasons = []
        for one, asked in zip(rule.whole_conditions, format_asked(rules, rule.kept_ids), strict=True):
            value = self.values.get(one.name)
            here = "" if one.name not in self.values else format_value(rules.tree, one.feature, value, rules.voice)
            told = _write_signs(asked)
            reasons.append(f"- {told}" if here in ("", asked) else f"- {here} (the rule: {told})")
        reasons = reasons or ["- The rules give every case this answer."]
        rest = [f"- and {count_of(len(reasons) - MOST_REASONS, 'further condition')}"] if reasons[MOST_REASONS:] else []
        lines = [f"Answer: {self.rule.class_name}", "", "Reasons:", *reasons[:MOST_REASONS], *rest]
        if self.changes and self.rule._rules.is_exact:  # of other lists, they may not change the answer
            ways = [(" and ".join(map(_write_signs, way.asks)), way.class_name) for way in self.changes[:MOST_REASONS]]
            lines += ["", "The answer would be another with:", *(f"- {asked}: {name}" for asked, name in ways)]
        return "\n".join(lines) + "\n"

    _repr_html_ = written_by("html:explanation_to_html")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Explanation: {self.rule.class_name}, by line {self.rule.index + 1}>"


class Explanations(Framed, ArraySequence[Explanation]):
    """Why each of many rows gets its prediction: a sequence of :class:`Explanation`, made when they are asked for.

    Parameters
    ----------
    rules : Rules
    rows : object
        The rows in the tree's own terms.
    given : object
        The rows as they were passed.
    locked : tuple of str or int, default=None
        Columns that cannot change; None if nobody asks what would change an answer.

    Attributes
    ----------
    leaf : ndarray of int64, shape (n_rows,)
        Place of the leaf of the tree that each row reaches, in source order.
    line : ndarray of int64, shape (n_rows,)
        The line that decides each row, as an index into ``rules.lines``.
    """

    nouns = "rows"

    def __init__(self, rules: Rules, rows: Rows, given: Any, locked: tuple[str | int, ...] | None = None) -> None:
        self._rules, self._rows, self._given, self._locked = rules, rows, given, locked
        self.leaf, self.line = rules.find_places(rows)

    def __len__(self) -> int:
        return len(self.line)

    def _make(self, place: int) -> Explanation:
        rules, own, line = self._rules, int(self.leaf[place]), int(self.line[place])
        coded = [(at, levels) for at, levels in enumerate(rules.tree.categories) if levels is not None]
        cells = self._rows.read(place, place + 1, np.array([at for at, _ in coded], dtype=np.int64))[0]
        if any(cell >= len(levels) for cell, (_, levels) in zip(cells.tolist(), coded, strict=True)):
            rules = rules.change()  # in words that are true of a label that the tree does not know
            vars(rules)["voice"] = vars(rules.each_leaf)["voice"] = PlainVoice(self._rules.voice.neighbours, 0)
        return Explanation(_Seen(rules, self._rows, place, own, Rule(rules, line), self._given, self._locked))

    def _list_columns(self) -> Mapping[str, Sequence[Any]]:
        told = [
            (one.prediction, one.tree_prediction, one.rule.index + 1, one.rule.share, one.rule.words) for one in self
        ]
        names = ("prediction", "tree_prediction", "line", "share", "because")
        return {name: [one[place] for one in told] for place, name in enumerate(names)}

    def __repr__(self) -> str:
        return f"<Explanations: {count_of(len(self), 'row')}, by {count_of(len(np.unique(self.line)), 'line')}>"

    def __str__(self) -> str:
        return "\n\n".join(f"Row {place + 1}: {one.text}" for place, one in enumerate(self))


@dataclass(frozen=True)
class _Seen:
    """One row, and what is found of it when somebody asks."""

    rules: Rules
    rows: Rows
    place: int  # of the row among them
    own: int  # place of its own leaf
    line: Rule
    given: Any
    locked: tuple[str | int, ...] | None  # columns that cannot change; None if nobody asks for changes

    @property
    def cells(self) -> NDArray[Any]:
        """Its values in the tree's own terms."""
        return self.rows.matrix[self.place]  # type: ignore[no-any-return]

    @cached_property
    def unseen(self) -> Mapping[int, Any]:
        """Values that the tree does not know, by feature."""
        return row_reading.find_unseen(self.rules.tree, self.cells, self.given, self.place)

    @cached_property
    def others(self) -> list[Rule]:
        """Rules that cover it, too."""
        covering = row_reading.find_covering(self.rules, self.cells)
        return [Rule(self.rules, index) for index in covering if index != self.line.index]

    @cached_property
    def lacking(self) -> Mapping[int, tuple[int, ...]]:
        """Of a list: the edges of each rule of its section that it does not pass."""
        rules, paths, layout = self.rules, self.rules.paths, self.rules.layout
        if layout is None:
            return {}
        section = self.line._section
        first, last = layout.starts[section] + section, layout.starts[section + 1] + section
        missed = np.flatnonzero(~rules.deleted & ~row_reading.find_held(rules, self.cells)[paths.links])
        line = rules.line_of_place[paths.rule[missed]]
        own = np.flatnonzero((line >= first) & (line < last))
        own = own[np.argsort(line[own], kind="stable")]
        found: dict[int, tuple[int, ...]] = {}
        for index, link in zip(line[own].tolist(), paths.links[missed[own]].tolist(), strict=True):
            found[index] = (*found.get(index, ()), link)
        return found

    @cached_property
    def absent(self) -> Sequence[str]:
        """Columns that the way to its leaf asks for, and that were not given."""
        return row_reading.find_absent(self.rules, self.own, self.given)

    @cached_property
    def broken(self) -> Sequence[str]:
        """Stated facts that it violates."""
        return tuple(find_broken_facts(self.rules.tree, Rows.of(self.cells[None, :])))

    @property
    def differs(self) -> bool:
        """Whether the tree says another class, or a value beyond the tolerance."""
        if self.rules.tree.is_regression:
            said, line, limit = self.rules.leaf_answers[self.own], self.line.prediction, self.rules.tolerance
            return bool(abs(said - line) > limit + TINY * max(abs(said), limit))
        return int(self.rules.paths.leaf_class[self.own]) != self.line.class_id


def _write_signs(asked: str) -> str:
    asked = re.sub(r"^(\S+(?: %)?) < (.+) ≤ (\S+(?: %)?)$", r"\2 > \1 and ≤ \3", asked)
    told = re.sub(r" ([<>≤≥]) (?=[-−\d])", lambda found: f" {SIGNS[found[1]]} ", asked)
    return told if told == asked else told.replace(" or is missing", " or missing")


def explain_rows(
    rules: Rules, row: Any, *, changes: bool = False, locked: Collection[str | int] = ()
) -> Explanation | Explanations:
    """Explain the prediction for one row, or for each of several; on request, what would change it."""
    row_reading.find_subjects(rules.tree, locked)
    found = Explanations(rules, row_reading.read_rows(rules, row), row, tuple(locked) if changes else None)
    return found[0] if len(found) == 1 else found


def _describe_changes(ways: Sequence[row_reading.Change], is_exact: bool) -> list[str]:
    if not ways:
        return ["No change of the columns that may change gets another class."]
    n = len(ways[0].columns)
    first = "One change is enough" if n == 1 else f"It takes {n} changes"
    whose = "" if is_exact else " from the tree"
    return [f"{first} for another class{whose}:", *(f"  {' and '.join(way.asks)}: {way.class_name}" for way in ways)]


def _warn_of_unseen(tree: Tree, unseen: Mapping[int, Any]) -> list[str]:
    """Say which values of a row the tree does not know, and what they may have been meant to be."""
    return [
        f"Caution: {tree.feature_name(feature)} is {value!r}, which is not among the values that the tree knows "
        f"({shorten(tree.categories[feature] or ())}), so it counts as any other."
        f"{did_you_mean(value, map(str, tree.categories[feature] or ()))}"
        for feature, value in unseen.items()
    ]


def _describe(seen: _Seen) -> list[str]:
    rules, line = seen.rules, seen.line
    name = line.class_name
    if line.is_otherwise:
        where = f"among {join_asked(line.heading)}, " if line.heading else ""
        lines = [f"Predicted {name}, because {where}no rule holds:" if seen.lacking else f"Predicted {name}, as always"]
        lines[0] += "" if seen.lacking else f" {where.rstrip(', ')}." if where else "."
        for index, links in list(seen.lacking.items())[:SHOWN_RULES]:
            conditions = read_conditions(rules.tree, rules.paths, links, rules.voice)
            asked, held = join_asked([one.text for one in conditions]), ", ".join(_write_values(seen, conditions))
            lines.append(f"  line {index + 1} ({Rule(rules, index).class_name}) asks {asked}; this row: {held}")
        if len(seen.lacking) > SHOWN_RULES:
            more = count_of(len(seen.lacking) - SHOWN_RULES, "more rule")
            lines.append(f"  and {more} ask what it does not have, either")
    else:
        holds = f"{rules.line_word} {line.index + 1} holds"
        asked = f": {join_asked(format_asked(rules, line.kept_ids))}" if line.kept_ids else " for every row"
        lines = [f"Predicted {name}, because {holds}{asked}."]
        held_there = _write_values(seen, line.whole_conditions)
        lines += [f"  This row: {', '.join(held_there)}."] if held_there else []
    lines += _describe_rows(seen)
    lines += [] if rules.is_list else _list_reasons(seen)
    if seen.others:
        word = rules.line_word
        told = join_asked([f"{word} {rule.index + 1} ({name_class(rule.class_name)})" for rule in seen.others])
        lines.append(f"{told[0].upper()}{told[1:]} {'covers' if len(seen.others) == 1 else 'cover'} the row, too.")
        if any(rule.prediction != line.prediction for rule in seen.others) and not rules.tree.is_regression:
            ranked = "the highest training reliability decides, then support, fewer conditions and order"
            lines[-1] += f" The {word}s disagree; {'the first that holds decides' if rules.is_list else ranked}."
    if rules.fidelity is None or seen.differs:
        lines.append(_describe_own_leaf(seen))
    if seen.differs and rules.is_list and not rules.assumes(seen.broken):
        lines.append(_describe_difference(seen))
    return [*lines, *_describe_broken(seen)]


def _describe_rows(seen: _Seen) -> list[str]:
    """Tell of the training rows of the deciding line; of an approximation, that the model itself was not asked."""
    rules, line = seen.rules, seen.line
    where = "Rows like it"
    if rules.is_list:
        rest = "Rows of this section" if line.heading else "Rows"
        rest += " that no rule covers" if line.section.rules else ""
        where = rest if line.is_otherwise else "Rows that this rule decides"
    if rules.fidelity is not None:
        return [
            f"  {where}: {format_agreement(rules.fidelity, line.index)}.",
            f"These rules approximate {rules.fidelity.model}, which was not asked about this row.",
        ]
    return [f"  {where}: {describe_rows(line)}."]


def _list_reasons(seen: _Seen) -> list[str]:
    """List the conditions of the rule that are true of the row, asked or not, with the reason of each."""
    rules, held = seen.rules, row_reading.find_held(seen.rules, seen.cells)
    return [
        f"  {'not asked' if reason.deleted else 'asked'}: {format_link(rules.tree, rules.paths, link, rules.voice)} "
        f"({reason.text})"
        for link, reason in seen.line.reasons.items()
        if held[link]  # what is not true of this row would only confuse
    ]


def _describe_own_leaf(seen: _Seen) -> str:
    """Say where the row ends in the tree itself, and what its own leaf says; every condition is true of the row."""
    rules, place = seen.rules, seen.own
    links = rules.paths.links[rules.paths.entries(place)]
    class_id = int(rules.paths.leaf_class[place])
    name = rules.tree.class_names[class_id]
    where = f"leaf {int(rules.paths.leaf_ids[place])}: {join_asked(format_asked(rules.each_leaf, links))}"
    said = f"But the tree itself says {name}" if seen.differs else f"The tree says {name} too"
    if rules.tree.is_regression:
        value = format_amount(float(rules.leaf_answers[place]))
        said = f"{'But the' if seen.differs else 'The'} tree itself says {value}"
    if seen.absent and not seen.differs:  # it ends in one of several leaves
        return f"{said}; in which leaf depends on what is not given: {shorten(seen.absent)}."
    shown = find_shown_class(seen.line)  # the class that the rows of the line are told of
    share = _describe_share(rules, rules.leaf_counts[place], class_id, shown)
    return f"{said}, in {where}." if share is None else f"{said}, in {where} ({share})."


def _describe_difference(seen: _Seen) -> str:
    rules = seen.rules
    if rules.making.edits is not None:
        return "This row is among those for which an edit changed the answer."
    if rules.budget:
        return "This row is among those whose answer the budget allows to differ from the tree's."
    return f"This row is among those that {rules.method!r} may answer differently from the tree."


def _describe_broken(seen: _Seen) -> list[str]:
    """Say that a row violates stated facts, if it does, and whether the guarantee applies to it nevertheless."""
    if not seen.broken:
        return []
    said = "This row violates stated facts that the guarantee does not depend on"
    if seen.rules.assumes(seen.broken):
        said = "The guarantee does not apply to this row, which violates stated facts"
    return [f"{said}: {'; '.join(seen.broken)}."]


def _describe_share(rules: Rules, counts: NDArray[np.float64], class_id: int, shown: int) -> str | None:
    """Write the number of a leaf's training rows and the share of the shown class among them; None without rows."""
    total = float(counts.sum())
    if not total > 0:
        return None
    if not rules.is_ranked:
        rows = f"the model's own count of {format_count(total)}"
    else:
        rows = count_rows(total, "training", is_weighted=rules.is_weighted)
    if rules.tree.is_regression:
        return rows
    share = count_class(format_share(float(counts[shown]) / total), rules.tree.class_names[shown])
    return f"{rows}, {share}{describe_rarer(counts, class_id, rules.tree.class_names)}"


def _write_values(seen: _Seen, conditions: Iterable[Condition]) -> list[str]:
    rules, row = seen.rules, seen.cells
    links = [link for condition in conditions for link in condition.link_ids]
    group_of, written = rules.tree.facts.group_of, {}
    for feature in dict.fromkeys(rules.tree.feature[rules.paths.parent[links]].tolist()):
        if feature in group_of:  # of a category's columns of zeros and ones, the one that the row has
            members = rules.tree.facts.groups[group_of[feature]].features
            feature = next((member for member in members if row[member] == 1), feature)
        value = row_reading.as_value(rules, feature, row[feature], seen.unseen)
        written[feature] = format_value(rules.tree, feature, value, rules.voice)
    return list(dict.fromkeys(written.values()))
