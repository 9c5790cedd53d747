"""Gather all that a report shows into a plain dict. ``docs/report.md`` lists its fields."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur import __version__
from secateur.choosing import choose_lines
from secateur.errors import InputError, ParameterError, SecateurError
from secateur.methods import METHODS
from secateur.report.form import make_form
from secateur.report.material import Texts, find_rows, known_numbers
from secateur.report.rules import (
    BUDGETS,
    check_budgets,
    describe_effects,
    describe_list,
    describe_rules,
    make_lists,
)
from secateur.report.tree import describe_splits, describe_tree
from secateur.results import fidelity
from secateur.results.answer import COUNTED_TWICE, counts_rows_twice, find_target, name_target
from secateur.results.statistics import count_classes
from secateur.rules.rules import Rules
from secateur.tree.json import tree_to_dict
from secateur.words.assumptions import list_facts
from secateur.words.conditions import count_of, read_conditions
from secateur.words.plain_words import ROUNDED, rounds_a_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secateur.report.material import RowsAtHand
    from secateur.results.audit import Audit

__all__ = ["describe_answer", "describe_fidelity", "summarize"]

FORMAT = 3
MOST_PROVED = 300  # leaves; of more, a proof takes longer than the page
MOST_COPIED, LONGEST_COPY = 100, 40_000

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
) -> dict[str, Any]:
    """Gather all that a report shows into a plain dict, ready for JSON.

    Parameters
    ----------
    rules : Rules
        The page begins with this list; of one rule for each leaf, with the list that is chosen of them.
    X : array-like or data frame of shape (n_rows, n_features), default=None
        Rows to measure on, set aside when the tree was fitted. By default those that the rules were made from, if they
        are at hand.
    y, sample_weight : array-like of shape (n_rows,), default=None
        Their labels and weights.
    target : str, default=None
        What is predicted, in a word or two, such as the name of the column of ``y``.
    title : str, default=None
        By default made from ``target``.
    budgets : sequence of float, default=(0.01,)
        The positions of the slider beside the exact one.
    notes : sequence of str, default=()
        What else a reader should know of the table and the model, a sentence each.

    Returns
    -------
    dict
        Its fields are listed in ``docs/report.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> summary = summarize(secateur.simplify(model, X, y), target="species")
    >>> summary["title"], summary["lists"][summary["list"]]["n_conditions"]
    ('What decides species', 5)
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
    if rules.fidelity is not None or rules.making.edits is not None:
        budgets = ()  # the fidelity is that of the given list alone
    whole = rules.each_leaf
    target = name_target(y) or find_target(whole) if target is None else target
    if X is None and rules.unseen is not None and rules.unseen.rows is not None:
        X, y, sample_weight = rules.unseen.rows
    at_hand = find_rows(whole, X, y, sample_weight)
    whole = whole if at_hand.training is None else whole.change(training=at_hand.training)
    given = rules if rules.is_list else choose_lines(whole)
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
    of = given.making.of if whole.tree.n_classes == 2 else None
    answer = describe_answer(whole, at_hand, audits[place], target, len(form["fields"]), of)
    return {
        "format": FORMAT,
        "version": __version__,
        "title": title or _make_title(target, rules),
        "meta": describe_origin(given, at_hand),
        "columns": _list_columns(whole, form["fields"]),
        "of": of,
        "copies": _write_copies(given),
        "target": target,
        "answer": answer if fidelity is None else {**answer, "predicted": fidelity["first"]},
        "fidelity": fidelity,
        "lists": [
            describe_list(made, at_hand, audit, texts if tell else None)
            for made, audit, tell in zip(lists, audits, told, strict=True)
        ],
        "list": place,
        "list_note": note,
        "method": {"name": method.name, "summary": method.summary, "preserves": method.preserves},
        "guarantee": whole.guarantee,
        "is_exact": method.is_exact,
        "parameters": _plain(whole.parameters),
        "size": {
            "n_rules": len(whole),
            "n_rules_changed": whole.n_shortened,
            "n_conditions_before": n_conditions,
            "n_conditions": whole.n_conditions,
            "depth": whole.tree.depth,
        },
        "notes": [*notes, *_find_notes(whole)],
        "remarks": list(whole.own_remarks),  # a class that no rule predicts is among the cautions
        "facts": _list_facts(whole),
        "classes": list(whole.tree.class_names),
        "rows": _describe_rows(whole, at_hand, is_unseen=given.unseen is not None),
        "rules": leaf_rules,
        "diagnosis": describe_effects(whole, at_hand),
        "merged": _merge_conditions(whole, lists),
        "tree": describe_tree(whole),
        "splits": describe_splits(whole, at_hand),
        "form": form,
        "reasons": texts.listed,
        "phrases": texts.phrases,
    }


def describe_origin(rules: Rules, at_hand: RowsAtHand) -> dict[str, Any]:
    """Say what the page was made of and when, and whether the promise was proved again just now."""
    told = []
    if at_hand.training is not None:
        rows = at_hand.training.X
        found = hashlib.sha256(np.ascontiguousarray(rows.matrix).tobytes())
        found.update("\n".join(map(str, np.asarray(at_hand.training.y).tolist())).encode())
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
        proved = "" if alone.verify().is_refuted else "proved by an independent checker"
    return {"told": told, "proved": proved}


def _list_columns(rules: Rules, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """List the columns that the tree asks for, and the others."""
    tree = rules.tree
    asked = {feature for field in fields for feature in field["features"]}
    unused = [tree.feature_name(feature) for feature in range(tree.n_features) if feature not in asked]
    used = [field["name"] for field in fields]
    return {"used": used, "unused": unused if tree.feature_names is not None else [], "n": len(used) + len(unused)}


def _write_copies(rules: Rules) -> dict[str, str]:
    """Write the list in the formats that the page copies, unless that is long."""
    copies: dict[str, str] = {}
    for name, write in (("text", rules.to_text), ("Markdown", rules.to_markdown), ("SQL", rules.to_sql)):
        with suppress(SecateurError):
            text = write() if rules.n_lines <= MOST_COPIED else ""
            copies |= {name: text} if 0 < len(text) <= LONGEST_COPY else {}
    return copies


def _make_title(target: str | None, rules: Rules) -> str:
    if target:
        return f"What decides {target}"
    found = rules.fidelity
    return "The rules of a decision tree" if found is None else f"Rules that approximate {found.model}"


def _merge_conditions(whole: Rules, lists: Iterable[Rules]) -> dict[str, str]:
    """Word the kept links on one column together, by their ids; a single link reads as itself.

    What reads differently under the heading of its section has the ids of the heading and a bar before its own.
    """
    seen: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {(rule.kept_ids, ()): None for rule in whole}
    for section in (one for rules in lists for one in rules.sections):
        heading = () if section.otherwise is None else section.otherwise.kept_ids
        seen[heading, ()] = None
        for rule in section.rules:
            seen |= {(rule.kept_ids, ()): None, (rule.kept_ids[len(heading) :], heading): None}
    merged: dict[str, str] = {}
    for kept, under in seen:
        alone = read_conditions(whole.tree, whole.paths, kept, whole.voice)
        merged |= {_join_ids(one.link_ids): one.text for one in alone if len(one.link_ids) > 1}
        if under:
            below = read_conditions(whole.tree, whole.paths, kept, whole.voice, under)
            pairs = zip(below, alone, strict=True)
            differ = (one for one, other in pairs if one.text != other.text)
            merged |= {f"{_join_ids(under)}|{_join_ids(one.link_ids)}": one.text for one in differ}
    return merged


def _join_ids(links: Iterable[int]) -> str:
    return ",".join(map(str, links))


def _find_notes(whole: Rules) -> list[str]:
    """Say what to mind of the numbers on the page."""
    twice = [COUNTED_TWICE] if counts_rows_twice(whole) else []
    return [*twice, *([ROUNDED] if rounds_a_number(whole, whole) else [])]


def _describe_rows(rules: Rules, at_hand: RowsAtHand, *, is_unseen: bool) -> dict[str, Any]:
    training = at_hand.training
    return {
        "n_rows": at_hand.n_rows,
        "n_training": None if training is None else training.X.n_rows,
        "is_training": at_hand.is_training,
        "is_unseen": is_unseen,
        "is_ranked": rules.is_ranked,
        "is_weighted": rules.is_weighted,
        "note": at_hand.note,
    }


def _list_facts(rules: Rules) -> list[dict[str, Any]]:
    """List the stated facts about the columns, and whether a deletion depends on each."""
    used = set(rules.facts_used.used)
    return [{"text": text, "is_used": text in used} for text in list_facts(rules.tree)]


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Write parameters for JSON."""
    return {
        name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        for name, value in parameters.items()
    }


FEW_CLASSES = 4


def describe_answer(
    rules: Rules, at_hand: RowsAtHand, audit: Audit | None, target: str | None, n_columns: int, of: int | None = None
) -> dict[str, Any]:
    """Describe what is predicted and how right the tree is, as plain values; None where no rows tell."""
    counts, names = count_classes(rules), rules.tree.class_names
    guess = None if counts is None else int(counts.argmax())
    if guess is None and audit is not None:
        guess = names.index(audit.baseline_class)
    return {
        "class_rows": None if counts is None else known_numbers(counts),
        "guess": guess,
        "tree_accuracy": None if audit is None else audit.tree_accuracy,
        "guess_accuracy": None if audit is None else audit.baseline,
        "predicted": _describe_predicted(target, names, n_columns) + _describe_base(counts, names, of),
        "measured_on": at_hand.words,
    }


def _describe_base(counts: Any, names: Sequence[str], of: int | None) -> str:
    """Say how many rows are of the class of interest."""
    if counts is None or of is None or not counts.sum() > 0:
        return ""
    return f" {100 * counts[of] / counts.sum():.0f} of 100 training rows are {names[of]}."


def _describe_predicted(target: str | None, classes: Sequence[str], n_columns: int) -> str:
    """Say what is predicted, from how much."""
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
        "interval": [100.0 * limit for limit in fidelity.round_outwards(found.interval)],
        "accuracy": None if found.n_right is None else 100.0 * found.n_right / found.n_rows,
        "model_accuracy": None if found.n_model_right is None else 100.0 * found.n_model_right / found.n_rows,
        "first": " ".join(before),
        "after": after,
    }
