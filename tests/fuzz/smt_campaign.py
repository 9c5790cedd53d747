"""Rules of random trees against z3, for as many trees as you like: ``make smt-run N=500``.

Tree ``n`` is always the same. For each, lists and rules of single leaves are written as SMT-LIB 2 and z3 is asked for
a row on which they differ from the tree. Those that promise the tree's answers must give ``unsat``. Then one thing is
changed in their lines (a limit, a condition, a category, a class, a share, a line), and z3 must find a row for every
mutant that brute force finds one for. How each answer is judged is said at the top of ``tests/solving.py``.

``log.jsonl`` has a line for every chunk of trees; a run goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import solving
from fuzz.random_trees import random_rows, random_tree, with_random_facts
from fuzz.tree_campaign import Chunks, add_up, describe_run, run_campaign
from regression_trees import TOLERANCES, VALUES, as_regression
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import secateur
import secateur.methods.row_mixture
from secateur.errors import SecateurError
from secateur.tree.columns import Columns, find_cuts
from secateur.tree.tree import Tree

MUTANTS = 3  # of each rules
EXACT = ("none", "sibling", "redundancy", "exact", "faithful")
LESS = ("mismatch", "budgeted", "quinlan")
CUTS = (-0.5, 0.1, 1 / 3, 1.000000001)


def draw_tree(rng: Random) -> tuple[Tree, Any, Any]:
    """A tree of any kind, with rows and labels; the rows of a tree behind a pipeline are a frame."""
    if rng.random() < 0.1:
        model, table, y = fit_pipeline(rng)
        return secateur.from_model(model, table), table, y
    has_values = rng.random() < 0.2
    while True:
        tree = random_tree(rng)
        if rng.random() < 0.5:
            tree = with_random_facts(tree, rng)
        elif tree.dtype == "float64" or rng.random() < 0.3:
            tree = with_random_columns(tree, rng)
        if has_values:
            tree = as_regression(tree, [rng.choice(VALUES) for _ in range(tree.n_nodes)])
        possible = solving.make_grid(tree, [], rng)[0]
        if len(possible):
            break
    if has_values:
        X = random_rows(tree, possible.tolist(), [0] * len(possible), rng)[0]
        return tree, X if tree.columns is None else as_table(tree, X), draw_targets(tree, X, rng)
    classes = tree.leaf_class[solving.find_leaves(tree, possible)].tolist()
    X, y = random_rows(tree, possible.tolist(), classes, rng)
    return tree, X if tree.columns is None else as_table(tree, X), tree.classes[y]


def draw_targets(tree: Tree, X: Any, rng: Random) -> Any:
    """Targets about the values of the tree."""
    assert tree.values is not None
    return tree.values[solving.find_leaves(tree, X)] + [rng.choice((0.0, 0.0, -0.5, 2.0)) for _ in range(len(X))]


def as_table(tree: Tree, X: Any) -> pd.DataFrame:
    """Rows in the terms of whoever holds them: labels where the tree has codes."""
    columns = {}
    for feature, levels in enumerate(tree.categories):
        column = X[:, feature].tolist()
        if levels is not None and find_cuts(tree, feature) is None:
            known = [*levels, "a label that no tree lists"]
            column = [None if math.isnan(code) else known[int(code)] for code in column]
        columns[tree.feature_name(feature)] = column
    return pd.DataFrame(columns)


def with_random_columns(tree: Tree, rng: Random) -> Tree:
    """The tree as if behind a pipeline: numbers by cell, ends beyond which they are rejected, closed categories."""
    columns = Columns(
        cuts=tuple(CUTS[: len(levels)] if levels and rng.random() < 0.5 else None for levels in tree.categories),
        closed=(False,) * tree.n_features,
        ranges=tuple(
            None if levels else rng.choice((None, None, (-1.0, 1.5), (0.0, math.inf))) for levels in tree.categories
        ),
    )
    closed = tuple(
        levels is not None and cuts is None and rng.random() < 0.5
        for levels, cuts in zip(tree.categories, columns.cuts, strict=True)
    )
    names = tuple(f"column {feature}" for feature in range(tree.n_features))
    return replace(tree, dtype="float64", feature_names=names, columns=replace(columns, closed=closed))


def fit_pipeline(rng: Random) -> tuple[Any, Any, Any]:
    """A tree that scikit-learn fitted behind encoders, bins and scales, and its rows and labels."""
    draw = np.random.default_rng(rng.randrange(10**9))
    size = 60
    table = pd.DataFrame(
        {
            "ward": draw.choice(["A", "B", "C"], size),
            "age": draw.integers(0, 9, size),
            "dose": draw.normal(size=size).round(1),
            "pulse": draw.normal(size=size),
        }
    )
    y = draw.choice(["x", "y", "z"][: rng.choice((2, 3))], size)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown=rng.choice(("ignore", "error"))), ["ward"]),
        (KBinsDiscretizer(3, encode="ordinal"), ["dose"]),
        (StandardScaler(), ["pulse"]),
        remainder="passthrough",
    )
    tree = DecisionTreeClassifier(max_leaf_nodes=rng.choice((4, 8, 16)), random_state=0)
    return make_pipeline(encode, tree).fit(table, y), table, y


def describe(tree: Tree) -> list[str]:
    """What a tree has that others have not."""
    cuts = () if tree.columns is None else tree.columns.cuts
    told = {
        "float32": tree.dtype == "float32",
        "float64": tree.dtype == "float64",
        "missing values": bool(tree.accepts_missing.any()),
        "categories": any(levels is not None for levels in tree.categories),
        "three classes or four": tree.n_classes > 2,
        "values": tree.is_regression,
        "groups": bool(tree.facts.groups),
        "whole numbers or decimals": bool(tree.facts.decimals_of),
        "bounds and lists": bool(tree.facts.claims),
        "implications": bool(tree.facts.implications),
        "columns before a pipeline": tree.columns is not None,
        "numbers read by cell": any(limits is not None for limits in cuts),
    }
    return [words for words, is_so in told.items() if is_so]


def make_rules(tree: Tree, X: Any, y: Any, rng: Random) -> dict[str, secateur.Rules]:
    """Lists and rules of single leaves, by name."""
    if tree.is_regression:
        return make_values(tree, X, y, rng)
    method, less = rng.choice(EXACT), rng.choice(LESS)
    predicted = sorted({*tree.leaf_class[tree.is_leaf].tolist()})
    asked: dict[str, dict[str, Any]] = {
        "list": {"otherwise": rng.choice(("auto", *tree.classes[predicted].tolist()))},
        "list in sections": {"sections": rng.choice((2, 4)), "tolerance": rng.choice((None, 1))},
        "each leaf": {"method": method, "each_leaf": True},
        "each leaf of a method that promises less": {"method": less, "each_leaf": True},
        "list of a method that promises less": {"method": less},
        "list with a budget": {"budget": rng.choice((0.05, 0.2))},
    }
    made = {}
    with mock.patch.object(secateur.methods.row_mixture, "POOL_ROWS", 100):
        for name, settings in asked.items():
            try:
                made[name] = secateur.simplify(tree, X, y, **settings)
            except SecateurError as error:
                if "already" not in str(error) and "budget" not in str(error):
                    raise
        for name in ("list", "list in sections"):
            edited = edit(made[name], rng)
            if edited is not None:
                made["edited list"] = edited
        if tree.n_classes == 2:
            signs = [rng.choice((1, -1, 0)) if levels is None else 0 for levels in tree.categories]
            try:
                known = {"method": "mismatch-certified", "monotone": signs, "each_leaf": rng.random() < 0.5}
                made["certified by monotone signs"] = secateur.simplify(tree, X, y, **known)
            except SecateurError as error:  # most trees are not monotone
                if "monotone" not in str(error):
                    raise
    return made


def make_values(tree: Tree, X: Any, y: Any, rng: Random) -> dict[str, secateur.Rules]:
    """Lists of a regression tree, and its rules of single leaves, by name."""
    tolerance = rng.choice(TOLERANCES)
    asked: dict[str, dict[str, Any]] = {
        "list of values": {"tolerance": tolerance},
        "list of values in sections": {"tolerance": tolerance, "sections": rng.choice((1, 2, 4))},
        "each leaf of values": {"tolerance": tolerance, "each_leaf": True},
        "list of values with a budget": {"tolerance": tolerance, "budget": rng.choice((0.05, 0.2))},
    }
    with mock.patch.object(secateur.methods.row_mixture, "POOL_ROWS", 100):
        return {name: secateur.simplify(tree, X, y, **settings) for name, settings in asked.items()}


def edit(rules: secateur.Rules, rng: Random) -> secateur.Rules | None:
    """Edit a list once or twice; None where nothing could be edited."""
    names = [rules.tree.feature_name(feature) for feature in range(rules.tree.n_features)]
    for _ in range(rng.choice((1, 2))):
        line = rng.randrange(rules.n_lines)
        kind = rng.choice(("strike", "column", "without", "answer", "rounded"))
        try:
            if kind == "strike":
                rules = rules.strike(line)
            elif kind == "column":
                rules = rules.strike(line, rng.choice(names))
            elif kind == "without":
                rules = rules.without(rng.choice(names))
            elif kind == "answer":
                rules = rules.answer(line, rng.choice(rules.tree.classes.tolist()))
            else:
                rules = rules.rounded()
        except SecateurError:  # the line does not ask about the column, or is the only one
            continue
    return rules if rules.journal else None


def check_case(number: int) -> Counter[str]:
    """Judge all files of one tree; count them by what they are and what z3 said."""
    rng = Random(f"smt {number}")
    tree, X, y = draw_tree(rng)
    done: Counter[str] = Counter(f"tree, {words}" for words in describe(tree))
    for name, rules in make_rules(tree, X, y, rng).items():
        found = solving.judge_rules(rules, rng)
        done[f"{name}, {'sat' if found.differ else 'unsat'}"] += 1
        if not solving.promises_answers(rules):
            continue
        for _ in range(MUTANTS):
            mutant = solving.mutate(rules, rng)
            if mutant is not None:
                kind, *changed = mutant
                seen = solving.judge(*changed, rng)
                words = "sat" if seen.differ else "unchanged" if seen.is_complete else "unchanged as far as tried"
                done[f"mutant {kind}, {words}"] += 1
    return done


def judge_some(count: int, first: int = 1_000_000) -> Counter[str]:
    """Judge the rules of some trees that no run reaches; give the counts of all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sum((check_case(number) for number in range(first, first + count)), Counter())


# --- the run ----------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=500, help="end when so many were judged, earlier runs among them")
    run_campaign(
        *(parser, "smt-runs", check_case, sum_up),
        lambda asked, chunks: sum(chunk["trees"] for chunk in chunks) >= asked.trees,
    )


def sum_up(chunks: Chunks) -> dict[str, Any]:
    """Count files and mutants by what z3 said of them, and trees on which an answer was wrong."""
    found: dict[str, dict[str, dict[str, int]]] = {"rules": {}, "mutants": {}}
    kinds: dict[str, int] = {}
    for name, count in sorted(add_up(chunks).items()):
        what, _, said = name.rpartition(", ")
        if name.startswith("tree, "):
            kinds[said] = count
        else:
            part = "mutants" if what.startswith("mutant ") else "rules"
            found[part].setdefault(what.removeprefix("mutant "), {})[said] = count
    about = describe_run(chunks)
    found["version"] = secateur.__version__
    return {"trees": about["trees"], "wrong": about["failed"], "hours": about["hours"], "kinds": kinds, **found}


if __name__ == "__main__":
    main()
