"""Gather all that a report shows into a plain dict. ``docs/report.md`` lists its fields."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from secateur import __version__
from secateur.choosing import choose_lines
from secateur.errors import InputError, ParameterError, SecateurError
from secateur.methods import METHODS
from secateur.report.cells import describe_edits, describe_groups
from secateur.report.form import make_form
from secateur.report.material import RowsAtHand, Texts, find_rows, known_numbers
from secateur.report.rules import (
    BUDGETS,
    check_budgets,
    describe_effects,
    describe_list,
    describe_rules,
    make_lists,
    merge_conditions,
)
from secateur.report.tree import describe_splits, describe_tree
from secateur.report.values import summarize_values
from secateur.results import fidelity
from secateur.results.answer import COUNTED_TWICE, counts_rows_twice, find_target, name_target
from secateur.results.audit import Audit
from secateur.results.statistics import count_classes, round_outwards
from secateur.rows.rows import MANY_ROWS
from secateur.rules.rules import Rules
from secateur.tree.json import tree_to_dict
from secateur.words.conditions import count_of
from secateur.words.plain_words import ROUNDED, rounds_a_number
from secateur.words.reasons import list_facts

FORMAT = 3
MOST_PROVED = 300  # leaves; of more, a proof takes longer than the page
MOST_COPIED, LONGEST_COPY = 100, 40_000
LONGEST = 230_000  # of a summary with lists of other lengths, as JSON
SHARED = ("lists", "list", "parts", "splits")  # the trees of all lengths have their first nodes in common

# Up to FULLY_TOLD conditions every list and every leaf carries its reasons; up to MOST_TOLD
# the list that is shown first carries its reasons.
FULLY_TOLD, MOST_TOLD = 2_000, 10_000


def summarize(
    rules: Rules,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    target: str | None = None,
    title: str | None = None,
    budgets: Any = BUDGETS,
    notes: Sequence[str] = (),
    groups_by: Any = None,
    desk: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Gather all that a report shows into a plain dict, ready for JSON; ``docs/report.md`` lists its fields.

    The parameters are those of :meth:`Rules.report`; ``desk`` is what a page knows that is served with its rows.
    """
    if not hasattr(rules, "each_leaf"):  # the rules of a forest, or no rules at all
        raise InputError(
            f"Expected the rules of one tree, found {type(rules).__name__}. Of a forest, pass the rules of one of its "
            "trees, such as rules[0]."
        )
    for name, value in (("title", title), ("target", target)):
        if value is not None and not isinstance(value, str):
            raise ParameterError(f"Expected {name} as text, found {value!r}.")
    if isinstance(notes, str) or not all(isinstance(note, str) for note in notes):
        raise ParameterError(f"Expected notes as a list of sentences, found {notes!r}.")
    budgets = check_budgets(budgets)
    target = name_target(y) or find_target(rules) if target is None else target
    if rules.tree.is_regression:
        if groups_by is not None:
            raise ParameterError("'groups_by' compares classes, but these rules predict numbers: leave it out.")
        return summarize_values(rules, X, y, sample_weight=sample_weight, target=target, title=title, notes=notes)
    if rules.fidelity is not None or rules.making.edits is not None:
        budgets = ()  # the fidelity is that of the given list alone
    if X is None and rules.unseen is not None and rules.unseen.rows is not None:
        X, y, sample_weight = rules.unseen.rows
    given, at_hand = find_list(rules, X, y, sample_weight)
    whole = rules.each_leaf if at_hand.training is None else rules.each_leaf.change(training=at_hand.training)
    made, place, note = make_lists(given, at_hand, budgets)
    lists = [at_hand.measure(one) for one in made]
    given = lists[place]
    audits = [at_hand.audit(made) for made in lists]
    texts, n_conditions = Texts(), whole.tree_conditions
    told = [n_conditions <= (MOST_TOLD if made is given else FULLY_TOLD) for made in lists]
    form = make_form(whole, at_hand)
    leaf_rules = describe_rules(whole, texts if n_conditions <= FULLY_TOLD else None)
    for rule, example in zip(leaf_rules, form.pop("examples"), strict=True):
        rule["example"] = example
    method, fidelity = METHODS[whole.method], describe_fidelity(rules)
    untitled = "The rules of a decision tree" if fidelity is None else f"Rules that approximate {fidelity['model']}"
    minded = [COUNTED_TWICE] if counts_rows_twice(whole) else []
    minded += [ROUNDED] if rounds_a_number(whole, whole) else []
    of = given.making.of if whole.tree.n_classes == 2 else None
    answer = describe_answer(whole, at_hand, audits[place], target, len(form["fields"]), of)
    summary = {
        "format": FORMAT,
        "version": __version__,
        "title": title or (f"What decides {target}" if target else untitled),
        "meta": describe_origin(given, at_hand),
        "columns": _list_columns(whole, form["fields"]),
        "of": of,
        "copies": _write_copies(given),
        "target": target,
        "answer": answer if fidelity is None else {**answer, "predicted": fidelity["first"]},
        "fidelity": fidelity,
        "lists": [
            {**describe_list(made, at_hand, audit, texts if tell else None), "fidelity": fidelity}
            for made, audit, tell in zip(lists, audits, told, strict=True)
        ],
        "list": place,
        "list_note": note,
        "method": {name: getattr(method, name) for name in ("name", "summary", "preserves")},
        "guarantee": whole.guarantee,
        "is_exact": method.is_exact,
        "parameters": {
            name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
            for name, value in whole.parameters.items()
        },
        "size": {
            "n_rules": len(whole),
            "n_rules_changed": whole.n_shortened,
            "n_conditions_before": n_conditions,
            "n_conditions": whole.n_conditions,
            "depth": whole.tree.depth,
        },
        "notes": [*notes, *minded],
        "remarks": list(whole.own_remarks),  # a class that no rule predicts is among the cautions
        "facts": [{"text": text, "is_used": text in whole.facts_used.used} for text in list_facts(whole.tree)],
        "classes": list(whole.tree.class_names),
        "labels": whole.tree.classes.tolist(),
        "rows": {
            "n_rows": at_hand.n_rows,
            "n_training": None if at_hand.training is None else at_hand.training.X.n_rows,
            "is_training": at_hand.is_training,
            "is_unseen": given.unseen is not None,
            **{name: getattr(whole, name) for name in ("is_ranked", "is_weighted")},
            "note": at_hand.note,
        },
        "rules": leaf_rules,
        "diagnosis": describe_effects(whole, at_hand),
        "merged": merge_conditions(whole, [whole, *lists]),
        "edits": describe_edits(given, at_hand, with_rows=desk is not None),
        "groups": None if groups_by is None else describe_groups(given, X, at_hand, groups_by),
        "desk": desk,
        "tree": describe_tree(whole),
        "splits": describe_splits(whole, at_hand),
        "form": form,
        "reasons": texts.listed,
        "phrases": texts.phrases,
        "parts": None,
    }
    if rules.fidelity is not None and rules.fidelity.lengths:
        same: Any = {"sample_weight": sample_weight, "target": target, "title": title, "notes": notes}
        _add_lengths(summary, [summarize(one, X, y, **same) for one in rules.fidelity.lengths])
    return summary


def _add_lengths(summary: dict[str, Any], others: list[dict[str, Any]]) -> None:
    """Put lists of other lengths beside the given one, with what else their trees change, as long as that is short."""
    room, parts = LONGEST - len(json.dumps(summary)), [(summary["lists"], dict[str, Any]())]
    for other in others:
        changed = {name: own for name, own in other.items() if name not in SHARED and own != summary[name]}
        room -= len(json.dumps([other["lists"], changed]))
        parts += [(other["lists"], changed)] if room > 0 else []
    parts.sort(key=lambda part: part[0][0]["n_conditions"])
    summary |= {"lists": [one for (one,), _ in parts], "parts": [part for _, part in parts]}
    summary["list"] = summary["parts"].index({})
    summary["splits"] = max((summary, *others), key=lambda one: len(one["splits"]))["splits"]


def find_list(rules: Rules, X: Any = None, y: Any = None, sample_weight: Any = None) -> tuple[Rules, RowsAtHand]:
    """Find the list that a page begins with, and the rows at hand."""
    at_hand = find_rows(rules.each_leaf, X, y, sample_weight)
    given = rules if at_hand.training is None else rules.change(training=at_hand.training)
    return given if rules.is_list else choose_lines(given), at_hand


def describe_origin(rules: Rules, at_hand: RowsAtHand) -> dict[str, Any]:
    """Say what the page was made of and when, and whether the promise was proved again just now."""
    told = []
    if at_hand.training is not None:
        rows, labels = at_hand.training.X, np.asarray(at_hand.training.y)
        found = hashlib.sha256()
        for begin in range(0, rows.n_rows, MANY_ROWS):
            found.update(rows.matrix[begin : begin + MANY_ROWS].tobytes())
        for begin in range(0, rows.n_rows, MANY_ROWS):
            some = "\n".join(map(str, labels[begin : begin + MANY_ROWS].tolist()))
            found.update(f"\n{some}"[begin == 0 :].encode())
        told.append(f"{count_of(rows.n_rows, 'training row')}, data {found.hexdigest()[:8]}")
    if rules.unseen is not None:
        told.append(count_of(float(rules.unseen.sizes.sum()), "unseen row"))
    tree = json.dumps(tree_to_dict(rules.tree), sort_keys=True).encode()
    told.append(f"tree {hashlib.sha256(tree).hexdigest()[:8]}")
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    made = datetime.fromtimestamp(int(epoch), tz=UTC) if epoch else datetime.now(tz=UTC)
    told.append(f"made {made.day} {made:%b %Y}")
    proved = ""
    if rules.is_exact and rules.fidelity is None and len(rules.paths.leaf_ids) <= MOST_PROVED:
        alone = rules.change(training=None, domain=None, unseen=None)
        proved = "" if alone.verify().is_refuted else "same answers as the tree: proved by an independent checker"
    return {"told": told, "proved": proved}


def _list_columns(rules: Rules, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    tree = rules.tree
    asked = {feature for field in fields for feature in field["features"]}
    unused = [tree.feature_name(feature) for feature in range(tree.n_features) if feature not in asked]
    used = [field["name"] for field in fields]
    return {"used": used, "unused": unused if tree.feature_names is not None else [], "n": len(used) + len(unused)}


def _write_copies(rules: Rules) -> dict[str, str]:
    """Write the list in the formats that the page copies, unless that is long."""
    copies: dict[str, str] = {}
    plain_sql = partial(rules.to_sql, plain=True)
    for name, write in (("text", rules.to_text), ("Markdown", rules.to_markdown), ("SQL", plain_sql)):
        with suppress(SecateurError):
            text = write() if rules.n_lines <= MOST_COPIED else ""
            copies |= {name: text} if 0 < len(text) <= LONGEST_COPY else {}
    return copies


FEW_CLASSES = 4


def describe_answer(
    rules: Rules, at_hand: RowsAtHand, audit: Audit | None, target: str | None, n_columns: int, of: int | None = None
) -> dict[str, Any]:
    """Describe what is predicted and how right the tree is, as plain values; None where no rows tell."""
    counts, names = count_classes(rules), rules.tree.class_names
    guess = None if counts is None else int(counts.argmax())
    if guess is None and audit is not None:
        guess = names.index(audit.baseline_class)
    base = ""
    if counts is not None and of is not None and counts.sum() > 0:
        base = f" {100 * counts[of] / counts.sum():.0f} of 100 training rows are {names[of]}."
    return {
        "class_rows": None if counts is None else known_numbers(counts),
        "guess": guess,
        "tree_accuracy": None if audit is None else audit.tree_accuracy,
        "guess_accuracy": None if audit is None else audit.baseline,
        "predicted": _describe_predicted(target, names, n_columns) + base,
        "measured_on": at_hand.words,
    }


def _describe_predicted(target: str | None, classes: Sequence[str], n_columns: int) -> str:
    what = "A decision tree predicts" + (f" {target}: " if target else " ")
    if len(classes) == 1:
        return f"{what}{classes[0]}, always."
    named = f"{', '.join(classes[:-1])} or {classes[-1]}" if len(classes) <= FEW_CLASSES else f"{len(classes)} classes"
    columns = "one column" if n_columns == 1 else f"{n_columns} columns"
    return f"{what}{named}, from {columns}." if n_columns else f"{what}{named}."


def describe_fidelity(rules: Rules) -> dict[str, Any] | None:
    """Describe the fidelity of an approximation as plain values; None for rules of a tree."""
    found = rules.fidelity
    if found is None:
        return None
    before, after = fidelity.describe_fidelity(rules)
    return {
        "model": found.model,
        "n_rows": found.n_rows,
        "share": 100.0 * found.share,
        "interval": [100.0 * limit for limit in round_outwards(found.interval)],
        "n_leaves": rules.tree_rules,
        "by_class": [
            {"rows": one.n_rows, "share": one.share, "limits": one.interval and list(round_outwards(one.interval))}
            for one in found.by_class
        ],
        "accuracy": None if found.n_right is None else 100.0 * found.n_right / found.n_rows,
        "model_accuracy": None if found.n_model_right is None else 100.0 * found.n_model_right / found.n_rows,
        "first": " ".join(before),
        "after": after,
    }
