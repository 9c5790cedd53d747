"""Rules as plain values: the lists of the slider, and one rule for each leaf.

There is a list for each budget: 0 for rules that change no answer, then the budgets that people ask for.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from secateur.choosing import ListForm, choose_lines, choose_lines_by_budget
from secateur.counting.training_evidence import RowEvidence, count_without_one
from secateur.errors import InputError, ParameterError
from secateur.methods.contract import DEFAULT_TOLERANCE, check_share
from secateur.report.material import RowsAtHand, Texts, known_numbers, pair_limits
from secateur.report.tree import MOST_EXACT, list_subjects
from secateur.results.answer import (
    describe_difference,
    describe_faithful,
    describe_measured,
    describe_measures,
    describe_rarer_line,
    describe_rows,
    find_cautions,
    warn_of_weights,
)
from secateur.results.audit import Audit
from secateur.results.fidelity import describe_fidelity
from secateur.results.measures import (
    FEW_ROWS,
    describe_flags,
    describe_highest,
    find_expected,
    find_highest,
    measure_rules,
)
from secateur.results.per_line import find_limits_of_d
from secateur.results.statistics import round_outwards
from secateur.rows.checking import check_labels
from secateur.rules.rules import Rules
from secateur.words.conditions import format_share, read_conditions
from secateur.words.plain_words import describe_unknown
from secateur.words.reasons import list_facts

Numbers = tuple[float | int | None, float | int | None, list[float] | None]

# The slider's positions beside the exact one.
BUDGETS = (0.01,)

# Beyond this many conditions a page would take long to make the lists of all budgets.
MOST_CONDITIONS = 2_000


def check_budgets(budgets: Any) -> tuple[float, ...]:
    """Check the slider's positions."""
    if isinstance(budgets, (str, bytes)) or not hasattr(budgets, "__iter__"):
        raise ParameterError(f"Expected budgets as a list of numbers from 0 to 1, found {budgets!r}.")
    return tuple(check_share("budgets", budget) for budget in budgets)


def make_lists(given: Rules, at_hand: RowsAtHand, budgets: Sequence[float]) -> tuple[list[Rules], int, str]:
    """Make the lists, find the place of the given one, and say why there are no more if that needs saying."""
    if at_hand.training is None:
        return [given], 0, "The rows that the rules were made from are not at hand, so there is no shorter list."
    wanted = sorted({budget for budget in budgets if budget > 0} - {given.budget})
    source = given.each_leaf.change(training=at_hand.training)
    of = None if given.making.of is None else given.tree.classes[given.making.of]
    alike = ListForm(given.tolerance, max(len(given.sections), 1), of=of)
    others = [choose_lines(source, alike)] if given.budget else []
    note = ""
    if source.n_conditions > MOST_CONDITIONS:
        note = (
            f"The rules have {source.n_conditions:,} conditions. Shorter lists of so many take long to make: ask for "
            "one, as with --budget 0.01."
        )
    elif wanted:
        try:
            unseen = given.unseen
            others += [
                made if unseen is None or unseen.rows is None else made.measure(*unseen.rows)
                for made in choose_lines_by_budget(source, wanted, alike)
            ]
        except InputError as error:
            note = str(error)
    made = sorted([given, *others], key=lambda rules: -rules.budget)
    lists = [
        rules
        for place, rules in enumerate(made)
        if rules is given or place + 1 == len(made) or not _says_the_same(rules, made[place + 1])
    ]
    return lists, next(place for place, rules in enumerate(lists) if rules is given), note


def _says_the_same(one: Rules, other: Rules) -> bool:
    """Tell whether two lists of one tree have the same lines, whatever they were allowed."""
    if one.layout is None or other.layout is None or not np.array_equal(one.leaves, other.leaves):
        return False
    written = np.isin(one.paths.rule, one.leaves)
    pairs = (one.layout.nodes, other.layout.nodes), (one.class_ids, other.class_ids)
    return all(np.array_equal(*pair) for pair in (*pairs, (one.deleted[written], other.deleted[written])))


def describe_list(rules: Rules, at_hand: RowsAtHand, audit: Audit | None, texts: Texts | None) -> dict[str, Any]:
    """Describe one list, audited on the rows if there are some, as plain values; without texts, without the reasons."""
    layout, partly = rules.list_layout, _find_deciding_leaves(rules, at_hand)
    lines: list[dict[str, Any]] = [
        {
            "rule": None if line.is_otherwise else line.place,
            "class": line.class_id,
            "section": int(layout.section_of_line[line.index]),
            "share": line.share,
            "text": line.text if rules.tree.n_nodes <= MOST_EXACT else None,
            "kept": list(line.kept_ids),
            "leaves": list(line.leaf_ids),
            "partly": sorted(partly[line.index] - set(line.leaf_ids)),
            "reasons": None if texts is None or line.is_otherwise else texts.place_reasons(line),
        }
        for line in rules.lines
    ]
    # Training rows would show what a surrogate was fitted to.
    numbers = _count_rows(rules)
    if rules.fidelity is not None:  # of held-out rows: all, those on which the model says the same, and the limits
        numbers = [
            (one.n_rows, one.n_same, None if one.interval is None else list(round_outwards(one.interval)))
            for one in rules.fidelity.by_rule
        ]
    for record, line, (n_rows, n_hits, limits) in zip(lines, rules.lines, numbers, strict=True):
        record |= {"rows": n_rows, "hits": n_hits, "limits": limits, "words": describe_rows(line)}
        record["counts"] = None if rules.fidelity or n_rows is None else known_numbers(rules.counts[line.index])
        record["unseen"] = None if rules.unseen is None else known_numbers(rules.unseen.counts[line.index])
    faithful, right = _describe_trust(rules, at_hand, audit)
    return {
        **{name: getattr(rules, name) for name in ("budget", "is_exact", "guarantee")},
        "facts": [one for one in list_facts(rules.tree) if rules.assumes([one])],
        "tolerance": rules.tolerance if rules.keeps_shares else None,
        "n_rules": len(rules),
        "n_conditions": rules.n_conditions,
        "sections": [rules.paths.list_path(node) for node in layout.nodes.tolist()],
        "lines": lines,
        "measured": None if audit is None else _measure(audit),
        "interest": _find_interest(rules),
        "unknown": " ".join(describe_unknown(rules, rules.lines)),
        "top": {"lines": [one.line - 1 for one in find_highest(rules)], "words": describe_highest(rules) or ""},
        "faithful": faithful,
        "right": right,
        "cautions": [*_tell_rows_apart(rules, at_hand, audit), *_find_cautions(rules, audit)],
    }


def _find_interest(rules: Rules) -> dict[str, Any] | None:
    """Find how much of the class of interest a list finds, and how much of what it names is of it, in percent."""
    found = measure_rules(rules)
    if found is None or found.of is None:
        return None
    own, named, hits = found.count_of(found.of)
    recall, precision = (100.0 * hits / rows if rows else None for rows in (own, named))
    return {"class": found.of, "recall": recall, "precision": precision, "rows": found.rows}


def _count_rows(rules: Rules) -> Iterable[Numbers]:
    """List the rows of each line, unseen ones if any, those in its class, and what to expect of as many new rows."""
    # Without rows, the numbers of one line beside none of the others would only make people wonder.
    counts = rules.counts if rules.is_ranked or rules.is_counted else np.full(rules.counts.shape, np.nan)
    counts = counts if rules.unseen is None else rules.unseen.counts
    hits = counts[np.arange(len(counts)), rules.class_ids]
    limits = [None if one is None else list(round_outwards(one)) for one in find_expected(rules)]
    return zip(known_numbers(counts.sum(axis=1)), known_numbers(hits), limits, strict=True)


def _find_deciding_leaves(rules: Rules, at_hand: RowsAtHand) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in rules.class_ids]
    if at_hand.training is not None:
        leaf, line = rules.find_places(at_hand.training.X)
        for pair in np.flatnonzero(np.bincount(line * rules.tree_rules + leaf)).tolist():
            found[pair // rules.tree_rules].add(int(rules.paths.leaf_ids[pair % rules.tree_rules]))
    return found


def _measure(audit: Audit) -> dict[str, Any]:
    """Take from an audit how often a list differs from the tree, and how often it is right, in percent."""
    apart = {"disagreement": 100.0 - audit.agreement, "disagreement_interval": list(audit.difference_interval)}
    return {**apart, "accuracy": audit.accuracy, "delta_accuracy": audit.delta_accuracy}


def _describe_trust(rules: Rules, at_hand: RowsAtHand, audit: Audit | None) -> tuple[str, str]:
    """Say how far a list agrees with the tree, and how often it is right; of an approximation, with its model."""
    if rules.fidelity is not None:
        _, (first, *others) = describe_fidelity(rules)
        return first, "\n".join(others)
    if audit is None:
        return describe_faithful(rules), "No rows are at hand, so how often this is right is unknown."
    is_told = rules.unseen is not None or at_hand.is_training
    right = "\n".join(describe_measures(rules) if is_told else ()) or describe_measured(audit, at_hand.words)
    if rules.is_exact:
        return describe_faithful(rules), right
    found = _measure(audit)
    limits = found["disagreement_interval"] if at_hand.is_new else None
    return describe_difference(found["disagreement"], at_hand.words, limits), right


def _tell_rows_apart(rules: Rules, at_hand: RowsAtHand, audit: Audit | None) -> list[str]:
    """Say so where lines count the rows that a file of rules was made with, and others are measured."""
    if audit is None or at_hand.training is not None or rules.fidelity is not None or not rules.is_counted:
        return []
    right = format_share(audit.accuracy / 100)
    return [
        "The numbers beside the lines are of the rows that the rules were made with. Those passed now are others: the "
        f"rules are right for {right} of {at_hand.words}."
    ]


def _find_cautions(rules: Rules, audit: Audit | None) -> list[str]:
    if rules.fidelity is None:
        measured = () if audit is None else (audit.accuracy / 100, (audit.baseline_class, audit.baseline / 100))
        return [*warn_of_weights(rules), *map(str, find_cautions(rules, *measured)), *describe_flags(rules)]
    few = [str(place) for place, one in enumerate(rules.fidelity.by_rule, start=1) if one.n_rows < FEW_ROWS]
    if not few:
        return []
    which = f"Line {few[0]} decides" if len(few) == 1 else f"Lines {', '.join(few)} decide"
    return [f"{which} fewer than {FEW_ROWS} held-out rows: too few to tell how often {rules.fidelity.agreeing}."]


# Up to this many conditions the page carries the effect of each; two numbers apiece, about a megabyte in all.
MOST_DIAGNOSED = 50_000
MOST_JOINED = 300  # leaves


def describe_rules(rules: Rules, texts: Texts | None) -> list[dict[str, Any]]:
    """Describe the rules in source order; without texts, without the reasons."""
    paths = rules.paths
    own = np.arange(len(rules)), paths.leaf_class
    asides = [describe_rarer_line(rule) for rule in rules]
    numbers: dict[str, list[Any]] = {
        "support": known_numbers(rules.support),
        "hits": known_numbers(rules.counts[own]),
        "source_support": known_numbers(rules.leaf_support),
        "source_hits": known_numbers(rules.leaf_counts[own]),
        "is_rarer": [bool(aside) for aside in asides],
        "aside": asides,
        "d_limits": pair_limits(find_limits_of_d(rules)),
    }
    return [
        {
            "leaf": rule.leaf_id,
            "class": rule.class_id,
            "links": paths.links[paths.entries(rule.place)].tolist(),
            "deleted": list(rule.deleted_ids),
            "reasons": None if texts is None else texts.place_reasons(rule),
            "assimilated_into": rule.assimilated_into,
            **{name: values[rule.index] for name, values in numbers.items()},
        }
        for rule in rules
    ]


def describe_effects(rules: Rules, at_hand: RowsAtHand) -> dict[str, Any]:
    """Count for each rule its training rows, and those in its class, without each condition alone, root to leaf.

    The lists are None, and a note says why, where there are no training rows or too many conditions.
    """
    tolerance = float(rules.parameters.get("tolerance", DEFAULT_TOLERANCE))
    found: dict[str, Any] = {"tolerance": tolerance, "support": None, "hits": None, "note": ""}
    training, paths = at_hand.training, rules.paths
    if training is None:
        why = "The rows that the rules were made from are not at hand, so what happens without a condition is unknown."
        return found | {"note": why}
    if rules.tree_conditions > MOST_DIAGNOSED:
        why = (
            f"The rules have {rules.tree_conditions:,} conditions, and this page carries what happens without each for "
            f"up to {MOST_DIAGNOSED:,}: ask secateur diagnose --rule NUMBER."
        )
        return found | {"note": why}
    class_ids = check_labels(rules.tree, training.y, training.X.n_rows)
    evidence = RowEvidence(rules.tree, training.X, class_ids, training.sample_weight)
    _, counts = count_without_one(evidence, paths)
    hits = counts[np.arange(len(counts)), paths.leaf_class_of_entry]
    lists = {"support": counts.sum(axis=1), "hits": hits}.items()
    return found | {name: [known_numbers(part) for part in np.split(one, paths.offsets[1:-1])] for name, one in lists}


def merge_conditions(whole: Rules, lists: Iterable[Rules]) -> dict[str, str]:
    """Word the kept links on one column together, by their ids; a single link reads as itself.

    What reads differently under the heading of its section has the ids of the heading and a bar before its own. An edit
    that joins sections leaves a heading its first links: of a large tree, such words are put together in the page.
    """
    tree, paths, is_small = whole.tree, whole.paths, whole.paths.n_rules <= MOST_JOINED
    seen: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    for section in (one for rules in lists for one in rules.sections):
        heading = () if section.otherwise is None else section.otherwise.kept_ids
        seen[heading, ()] = None
        for rule in section.rules:
            kept, depths = rule.kept_ids, range(len(heading) + 1) if is_small else (0, len(heading))
            seen |= {(kept[depth:], heading[:depth]): None for depth in depths}
    about = list_subjects(whole)

    @cache
    def read(links: tuple[int, ...], under: tuple[int, ...] = ()) -> str:
        return read_conditions(tree, paths, links, whole.voice, under)[0].text

    merged: dict[str, str] = {}
    for kept, under in seen:
        by_subject: dict[int, list[int]] = {}
        for link in kept:
            by_subject.setdefault(about[link], []).append(link)
        for links in map(tuple, by_subject.values()):
            key = ",".join(map(str, links))
            if len(links) > 1:
                merged[key] = read(links)
            # Only a missing value that the heading excludes goes unsaid below it.
            feature = tree.feature[paths.parent[links[0]]]
            if under and tree.accepts_missing[feature] and read(links, under) != read(links):
                merged[f"{','.join(map(str, under))}|{key}"] = read(links, under)
    return merged
