"""Rules of random trees against brute force, for as long as you like: ``make oracle-run MINUTES=60``.

Tree ``n`` is always the same. For each, rules of all methods and lists are made, and every rule is judged by listing
rows: a row of every kind that the tree and its facts tell apart, and the training rows, one by one. Nothing of
the library is used for that but the arrays of the tree.

- ``sibling``, ``redundancy`` (without facts), ``exact``, ``faithful``, ``mismatch``, ``quinlan``,
  ``mismatch-certified`` on listed cases, and ``budgeted`` (every fifth tree of up to 16 leaves, without facts): the
  deleted conditions are those that the slow version deletes.
- exact methods, the first layer of others, monotone certificates and lists without a budget: no listed row that is
  possible is covered by a rule of another class than its own; lists decide each as the tree does.
- ``budgeted`` and lists with a budget: the training rows in conflict, or that differ from the tree, stay within it, and
  a rule that it shortened keeps its reliability.
- a tree that is not monotone is rejected, one that is monotone is not: every pair of listed rows is compared.
- lists of the rules of other methods: a possible row of a leaf that some line stands for is covered by that line, and
  one of a written class by a line of its class.
- the class counts of every rule, and what each line of a list decides, are those of the training rows.

``log.jsonl`` has a line for every chunk of trees; a run goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections import Counter
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any
from unittest import mock

import brute_force
import numpy as np
import oracles
from fuzz.random_trees import random_rows, random_tree, with_random_facts
from fuzz.tree_campaign import Chunks, add_up, describe_run, run_campaign
from scipy.stats import hypergeom

import secateur
import secateur.methods.row_mixture
from secateur.choosing import choose_lines
from secateur.errors import SecateurError
from secateur.tree.facts import NO_FACTS
from secateur.tree.tree import Tree

MOST_KINDS = 4_000  # rows of every kind; trees with more are drawn again
MOST_PAIRED = 400  # rows whose pairs are compared, for monotone signs
MOST_PRICED = 16  # leaves of a tree whose budget is spent slowly
TOLERANCES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5)
BUDGETS = (0.0, 0.015, 0.05, 0.1, 0.3, 0.5)
Deletion = dict[int, list[int]]


class Disagreement(AssertionError):
    """A rule is not what brute force says."""


def expect(is_right: bool, words: str, *shown: Any) -> None:
    if not is_right:
        raise Disagreement(f"{words}: {' | '.join(repr(one)[:600] for one in shown)}")


class Case:
    """A random tree with every kind of row, and training rows, each repeated as often as its weight says."""

    def __init__(self, number: int) -> None:
        rng = self.rng = Random(f"rules {number}")
        while True:
            tree = random_tree(rng)
            tree = with_random_facts(tree, rng) if rng.random() < 0.4 else tree
            kinds = brute_force.every_kind_of_row(tree, MOST_KINDS + 1)
            listed = brute_force.ListedRows(tree, kinds)
            if len(kinds) <= MOST_KINDS and listed.possible:
                break
        self.tree, self.listed = tree, listed
        flags = brute_force.as_flags(listed.possible, len(kinds))
        self.possible = [row for row, is_possible in zip(listed.rows, flags.tolist(), strict=True) if is_possible]
        classes = [oracles.tree_class(tree, row) for row in self.possible]
        self.X, self.y = random_rows(tree, self.possible, classes, rng)
        weighs = rng.random() < 0.4
        weights = [rng.randint(0 if rng.random() < 0.3 else 1, 3) for _ in self.y] if weighs else [1] * len(self.y)
        weights[0] = max(weights[0], 1)
        self.weights = np.array(weights, dtype=float) if weighs else None
        repeated = np.repeat(np.arange(len(self.y)), weights)
        self.rows = brute_force.ListedRows(tree, self.X[repeated])
        self.of_label = [brute_force.as_bits((self.y[repeated] == c).tolist()) for c in range(tree.n_classes)]
        self.filled = oracles.fill_counts(tree, self.X[repeated], self.y[repeated], None)

    @cached_property
    def mismatched(self) -> dict[int, list[int]]:
        """The mismatched links of each leaf, root to leaf."""
        return {leaf: oracles.mismatched_links(self.filled, leaf, oracles.RF_TOL) for leaf in self.listed.paths}

    @property
    def training(self) -> dict[str, Any]:
        return {"X": self.X, "y": self.tree.classes[self.y], "sample_weight": self.weights}

    def counts(self, links: list[int]) -> list[int]:
        """Training rows of each class that some links let through."""
        covered = self.rows.covered(links)
        return [(covered & rows).bit_count() for rows in self.of_label]

    def reliability(self, leaf: int, links: list[int]) -> Fraction | None:
        counts = [int(count) for count in self.counts(links)]
        return Fraction(counts[self.tree.leaf_class[leaf]], sum(counts)) if sum(counts) else None

    def is_within(self, leaf: int, links: list[int], tolerance: float) -> bool:
        """Whether the reliability of some links is no farther from the leaf's than the tolerance, as written."""
        before, after = self.reliability(leaf, self.listed.paths[leaf]), self.reliability(leaf, links)
        return before is not None and after is not None and oracles.is_at_most(abs(after - before), tolerance)

    def implies(self, leaf: int, links: list[int]) -> bool:
        return self.listed.implies(links, int(self.tree.leaf_class[leaf]))


# --- the slow versions, on listed rows --------------------------------------------------------------------------------


def delete_exact(case: Case, leaf: int) -> list[int]:
    kept = list(case.listed.paths[leaf])
    for link in case.listed.paths[leaf]:
        wider = [other for other in kept if other != link]
        if case.implies(leaf, wider):
            kept = wider
    return oracles.without(case.listed.paths[leaf], kept)


def delete_redundancy(case: Case, leaf: int) -> list[int]:
    links, parents = case.listed.paths[leaf], oracles.parents(case.tree)
    asked = {link: int(case.tree.feature[parents[link]]) for link in links}
    kept = list(links)
    for feature in dict.fromkeys(asked.values()):
        wider = [link for link in kept if asked[link] != feature]
        if case.implies(leaf, wider):
            kept = wider
    return oracles.without(links, kept)


def candidates(case: Case, leaf: int, *, inside: bool) -> list[int]:
    """Mismatched links inside H, or outside of it, root to leaf."""
    parents = oracles.parents(case.tree)
    nodes = oracles.nodes_below(case.tree, oracles.homogeneous_top(case.tree, leaf))
    return [link for link in case.mismatched[leaf] if (link in nodes and parents[link] in nodes) == inside]


def delete_faithful(case: Case, leaf: int, tolerance: float, *, protect: bool) -> list[int]:
    links = case.listed.paths[leaf]
    protected = candidates(case, leaf, inside=True) if protect else []
    kept, is_done = list(links), False
    while not is_done:
        is_done = True
        for link in links:
            if link not in kept or link in protected:
                continue
            wider = [other for other in kept if other != link]
            if case.is_within(leaf, wider, tolerance) and case.implies(leaf, wider):
                kept, is_done = wider, False
    return oracles.without(links, kept)


def select(case: Case, leaf: int, tolerance: float) -> list[int]:
    """ReliabilitySelect on the candidates of a leaf."""
    links = case.listed.paths[leaf]
    offered = candidates(case, leaf, inside=False)[::-1]

    def is_close(more: list[int]) -> bool:
        return case.is_within(leaf, oracles.without(links, more), tolerance)

    taken = offered if is_close(offered) else []
    if not taken:
        for link in offered:
            if is_close([*taken, link]):
                taken = [*taken, link]
    return [link for link in links if link in taken]


def delete_quinlan(case: Case, leaf: int, alpha: float) -> list[int]:
    links, c = case.listed.paths[leaf], int(case.tree.leaf_class[leaf])
    kept = list(links)

    def right_and_all(some: list[int]) -> tuple[int, int]:
        counts = case.counts(some)
        return counts[c], sum(counts)

    if right_and_all(kept)[1] == 0:
        return []
    while True:
        k, n = right_and_all(kept)
        deletable = []
        for link in kept:
            k_wide, n_wide = right_and_all([other for other in kept if other != link])
            # Of n_wide rows, k_wide of them right: at least k among n.
            p = float(hypergeom.sf(k - 1, n_wide, k_wide, n))
            if k_wide / n_wide >= k / n - oracles.CERTAINTY_TOL or p > alpha * (1 + 1e-9):
                deletable.append((k_wide / n_wide, p, link))
        if not deletable:
            return oracles.without(links, kept)
        best = max(certainty for certainty, _, _ in deletable)
        surest = [(p, link) for certainty, p, link in deletable if certainty == best]
        highest = max(p for p, _ in surest)
        kept.remove(next(link for p, link in surest if p >= highest * (1 - 1e-9)))


def delete_certified(case: Case, leaf: int) -> list[int]:
    """All mismatched links, if every listed case of the wider rule has its class, and some case reaches the leaf."""
    links = case.listed.paths[leaf]
    offered = case.mismatched[leaf]
    wider = case.counts(oracles.without(links, offered))
    is_pure = sum(wider) == wider[case.tree.leaf_class[leaf]]
    return offered if offered and sum(case.counts(links)) and is_pure else []


# --- judging ----------------------------------------------------------------------------------------------------------


def deletions(rules: secateur.Rules) -> Deletion:
    found = {}
    for index, leaf in enumerate(rules.paths.leaf_ids.tolist()):
        entries = rules.paths.entries(index)
        found[leaf] = rules.paths.links[entries][rules.deletions.deleted[entries]].tolist()
    return found


def check_rules(case: Case, rules: secateur.Rules, expected: Deletion | None, *, is_counted: bool = True) -> int:
    """Compare the deletions and the counts of rules; give the number of rules."""
    found = deletions(rules)
    expect(list(found) == list(case.listed.paths), "other leaves", rules.method)
    if expected is not None:
        expect(found == expected, f"{rules.method} {rules.parameters} deletes otherwise", found, expected)
    is_exact = secateur.METHODS[rules.method].is_exact
    for index, (leaf, gone) in enumerate(found.items()):
        kept = oracles.without(case.listed.paths[leaf], gone)
        expect(not is_exact or case.implies(leaf, kept), f"{rules.method} covers a row of another class", leaf, gone)
        if is_counted:
            counts = rules.covered_counts[index].tolist()
            expect(counts == case.counts(kept), f"{rules.method} counts otherwise", leaf, counts, case.counts(kept))
    return len(found)


def check_promises_of_a_budget(case: Case, rules: secateur.Rules, budget: float, tolerance: float) -> None:
    """No more than the budget of training rows is in conflict, and a rule that paid keeps its reliability."""
    covered = [0] * case.tree.n_classes
    gone = deletions(rules)
    for index, (leaf, links) in enumerate(case.listed.paths.items()):
        kept = oracles.without(links, gone[leaf])
        covered[case.tree.leaf_class[leaf]] |= case.rows.covered(kept)
        counts, own = case.counts(kept), int(case.tree.leaf_class[leaf])
        if any(reason.kind == "within-budget" for reason in rules[index].reasons.values()):
            base, share = case.reliability(leaf, links), case.reliability(leaf, kept)
            is_kept = base is not None and share is not None and oracles.is_at_most(base - share, tolerance)
            expect(is_kept and counts[own] == max(counts), "the budget took the reliability of a rule", leaf)
    conflict, once = 0, 0
    for rows in covered:
        conflict, once = conflict | (once & rows), once | rows
    share_in_conflict = Fraction(conflict.bit_count(), len(case.rows.rows))
    expect(share_in_conflict <= Fraction(str(budget)), "more rows in conflict than the budget", share_in_conflict)


def check_list(case: Case, rules: secateur.Rules, budget: float) -> int:
    """Compare what a list decides with the tree, on rows of every kind or on the training rows; count its lines."""
    tree = case.tree
    lines = [(list(line.kept_ids), line.class_id) for line in rules.lines]
    decided: list[int] = []
    for rows in (case.listed, case.rows):
        left, decided = rows.all, []
        answers = [0] * tree.n_classes
        for kept, c in lines:
            mine = rows.covered(kept) & left
            decided.append(mine)
            answers[c] |= mine
            left &= ~mine
        expect(not left, "a row that no line answers", left)
        if rows is case.listed and budget == 0:
            for c in range(tree.n_classes):
                wrong = (answers[c] ^ rows.of_class[c]) & rows.possible
                expect(not wrong, "a list decides otherwise than the tree", c)
            for rule in rules:
                expect(rows.implies(rule.kept_ids, rule.class_id), "a rule covers a row of another class", rule.text)
            check_shares(rules, rows, decided)
    check_budget(case, rules, answers, budget)
    for place, rows_of_line in enumerate(decided):
        counts = [(rows_of_line & rows).bit_count() for rows in case.of_label]
        expect(rules.counts[place].tolist() == counts, "a line decides otherwise than it says", place, counts)
    return len(lines)


def check_shares(rules: secateur.Rules, rows: brute_force.ListedRows, decided: list[int]) -> None:
    """Check that each line states a share within the tolerance of that of every leaf whose rows it decides."""
    if not rules.keeps_shares:
        return
    for place, leaf in enumerate(rules.paths.leaf_ids.tolist()):
        counts = [Fraction(str(float(count))) for count in rules.value_counts[place]]
        share = counts[rules.tree.leaf_class[leaf]] / sum(counts) if sum(counts) else Fraction(0)
        own = rows.covered(rows.paths[leaf]) & rows.possible
        for line, mine in zip(rules.lines, decided, strict=True):
            far = abs(Fraction(line.share or 0.0) - share) > Fraction(str(rules.tolerance)) + Fraction(1, 10**9)
            expect(not (own & mine and far), "a share is further from its leaf's than the tolerance", line.text, leaf)


def check_budget(case: Case, rules: secateur.Rules, answers: list[int], budget: float) -> None:
    """Check that of the training rows, of all and of each class, no more get another class than a budget allows."""
    groups = [case.rows.all, *case.rows.of_class]
    differ = [answers[c] & ~case.rows.of_class[c] for c in range(case.tree.n_classes)]
    for group in groups:
        wrong = sum((rows & group).bit_count() for rows in differ)
        within = Fraction(str(budget)) * group.bit_count()
        expect(wrong <= within, "more rows differ from the tree than the budget allows", wrong, within)


def check_stand_ins(case: Case, rules: secateur.Rules) -> int:
    """Check that leaves lie in the lines which stand for them, and that no written class is left to "otherwise"."""
    rows = case.listed
    for line in rules.lines:
        covered = rows.covered(line.kept_ids)
        for leaf in line.leaf_ids:
            mine = rows.covered(rows.paths[leaf]) & rows.possible
            expect(not mine & ~covered, "a leaf does not lie in the line that stands for it", leaf)
    for section in rules.sections:
        assert section.otherwise is not None
        inside = rows.covered(section.otherwise.kept_ids) & rows.possible
        for c in range(case.tree.n_classes):
            if c != section.otherwise.class_id:
                spoken = 0
                for rule in section.rules:
                    spoken |= rows.covered(rule.kept_ids) if rule.class_id == c else 0
                expect(not rows.of_class[c] & inside & ~spoken, "no line is for a row of a written class", c)
    return len(rules.lines)


def lies_above(tree: Tree, signs: list[int], rows: Any) -> Any:
    """Whether row j lies at or above row i, at [i, j], column by column."""
    above = np.ones((len(rows), len(rows)), dtype=bool)
    for feature, sign in enumerate(signs):
        low, high = rows[:, feature][:, None], rows[:, feature]
        same = (low == high) | (np.isnan(low) & np.isnan(high))
        ordered = np.zeros_like(same)
        if tree.categories[feature] is None and sign:
            ordered = low < high if sign > 0 else low > high
        for order in tree.facts.orders:
            if order.feature == feature and sign:
                rank = {float(code): place for place, code in enumerate(order.codes)}
                ranks = np.array([rank.get(value, math.nan) for value in rows[:, feature].tolist()]) * sign
                ordered = ranks[:, None] < ranks
        above &= same | ordered
    return above


def check_monotone(case: Case, rng: Random) -> int:
    """A tree is rejected exactly if two possible rows are in the wrong order; what is certified is implied."""
    tree = case.tree
    ordered = {order.feature for order in tree.facts.orders}
    signs = [
        rng.choice((1, 1, -1, 0)) if tree.categories[feature] is None or feature in ordered else 0
        for feature in range(tree.n_features)
    ]
    grid = np.array(case.possible, dtype=float)
    answers = np.array([oracles.tree_class(tree, row) for row in case.possible])
    is_wrong = (lies_above(tree, signs, grid) & (answers[:, None] == 1) & (answers == 0)).any()
    try:
        rules = secateur.simplify(tree, method="mismatch-certified", monotone=signs, each_leaf=True)
    except SecateurError as error:
        expect(bool(is_wrong), "a monotone tree was rejected", signs, str(error))
        return 0
    expect(not is_wrong, "a tree that is not monotone was taken", signs)
    found = deletions(rules)
    for leaf, gone in found.items():
        expect(
            case.implies(leaf, oracles.without(case.listed.paths[leaf], gone)), "a certificate is wrong", leaf, signs
        )
    return len(found)


def check_case(number: int) -> Counter[str]:
    """Judge all rules of one tree; count them by method."""
    case = Case(number)
    rng, tree, leaves = case.rng, case.tree, list(case.listed.paths)
    simplify, training = secateur.simplify, case.training
    has_facts = tree.facts != NO_FACTS
    tolerance, protect = rng.choice(TOLERANCES), rng.random() < 0.5
    alpha, budget = rng.choice((0.0, 0.01, 0.05, 0.3, 1.0)), rng.choice(BUDGETS)
    done: Counter[str] = Counter()

    slow = {leaf: delete_exact(case, leaf) for leaf in leaves}
    made = simplify(tree, each_leaf=True, **training)
    done["exact"] += check_rules(case, made, slow)
    if number % 5 == 0:
        expect(made.verify().ok, "verify disagrees", str(made.verify()))
    expected: Deletion | None = {leaf: oracles.sib(tree, leaf) for leaf in leaves}
    done["sibling"] += check_rules(case, simplify(tree, method="sibling", each_leaf=True, **training), expected)
    # With facts, redundancy drops the columns of a group together and looks at no implication.
    expected = None if has_facts else {leaf: delete_redundancy(case, leaf) for leaf in leaves}
    done["redundancy"] += check_rules(case, simplify(tree, method="redundancy", each_leaf=True, **training), expected)
    expected = {leaf: delete_faithful(case, leaf, tolerance, protect=protect) for leaf in leaves}
    made = simplify(tree, method="faithful", tolerance=tolerance, protect=protect, each_leaf=True, **training)
    done["faithful"] += check_rules(case, made, expected)
    expected = {leaf: select(case, leaf, tolerance) for leaf in leaves}
    made = simplify(tree, method="mismatch", tolerance=tolerance, each_leaf=True, **training)
    done["mismatch"] += check_rules(case, made, expected)
    done["mismatch, as a list"] += check_stand_ins(case, choose_lines(made))
    expected = {leaf: delete_quinlan(case, leaf, alpha) for leaf in leaves}
    done["quinlan"] += check_rules(
        case, simplify(tree, method="quinlan", alpha=alpha, each_leaf=True, **training), expected
    )

    # One label for each listed case: the first one that it has.
    labels: dict[str, int] = {}
    numbers = case.X.astype(tree.dtype) + 0.0
    first = np.array([labels.setdefault(str(row.tolist()), int(c)) for row, c in zip(numbers, case.y, strict=True)])
    listed = Case.__new__(Case)
    listed.tree, listed.listed, listed.filled = tree, case.listed, case.tree
    listed.rows = brute_force.ListedRows(tree, case.X)
    listed.of_label = [brute_force.as_bits((first == c).tolist()) for c in range(tree.n_classes)]
    listed.filled = oracles.fill_counts(tree, case.X, first, None)
    made = simplify(tree, case.X, tree.classes[first], method="mismatch-certified", each_leaf=True)
    done["mismatch-certified, listed"] += check_rules(
        listed, made, {leaf: delete_certified(listed, leaf) for leaf in leaves}
    )
    if tree.n_classes == 2 and len(case.possible) <= MOST_PAIRED:
        done["mismatch-certified, monotone"] += check_monotone(case, rng)

    if number % 5 == 0 and len(leaves) <= MOST_PRICED:
        with mock.patch.object(secateur.methods.row_mixture, "POOL_ROWS", 20):
            made = simplify(
                tree, method="budgeted", max_conflict=budget, tolerance=tolerance, each_leaf=True, **training
            )
        expected = None
        if not has_facts:  # with a group, its columns are shuffled together
            weights = None if case.weights is None else case.weights.tolist()
            guard = oracles.Guard(case.y, tolerance)
            steps = oracles.budgeted_steps(tree, case.X, weights, budget, 1000, guard, pool=20)
            gone = {(step.leaf, step.link) for step in steps}
            expected = {
                leaf: [link for link in links if link in slow[leaf] or (leaf, link) in gone]
                for leaf, links in case.listed.paths.items()
            }
        done["budgeted"] += check_rules(case, made, expected)
        check_promises_of_a_budget(case, made, budget, tolerance)
    made = simplify(tree, **training)
    done["list"] += check_list(case, made, 0.0) and check_stand_ins(case, made)
    if number % 5 == 0:
        expect(made.verify().ok, "verify disagrees", str(made.verify()))
    with mock.patch.object(secateur.methods.row_mixture, "POOL_ROWS", 200):
        made = simplify(tree, budget=budget, **training)
    done["list, with a budget"] += check_list(case, made, budget)
    if number % 5 == 0:
        expect(made.verify().ok, "verify disagrees", str(made.verify()))
    return done


def judge_some(count: int, first: int = 1_000_000) -> int:
    """Judge the rules of some trees that no run reaches; give the number of rules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sum(sum(check_case(number).values()) for number in range(first, first + count))


# --- the run ----------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument(
        "--rules", type=int, default=10**9, help="end when so many were judged, earlier runs among them"
    )
    begun = time.monotonic()
    run_campaign(
        *(parser, "oracle-runs", check_case, sum_up),
        lambda asked, chunks: (
            time.monotonic() - begun > 60 * asked.minutes or sum(add_up(chunks).values()) >= asked.rules
        ),
    )


def sum_up(chunks: Chunks) -> dict[str, Any]:
    """Count rules by method, and trees on which something disagreed."""
    rules, about = add_up(chunks), describe_run(chunks)
    return {
        "rules": sum(rules.values()),
        "trees": about["trees"],
        "disagreements": about["failed"],
        "version": secateur.__version__,
        "hours": about["hours"],
        "methods": dict(sorted(rules.items())),
    }


if __name__ == "__main__":
    main()
