"""Rules and their tree as SMT-LIB 2: a file in which any solver looks for a row on which the two differ.

The two sides are written apart, so that a fault in either shows: the tree node by node from its own arrays, the rules
from ``rules/decision_list.py``, as every export that runs. What a row may hold is written once, for both.

A number of the row is a Real variable. The tree rounds it to its dtype and compares: that is one comparison of the
double with the last double that is rounded to at most the threshold, so every test of a number is ``x <= d`` for a
double ``d``. Reals are more than doubles, hence ``unsat`` leaves out no double. And they are not too many: the least
double that is not below a real passes the same tests, so a row of reals that is found always stands for a row of
doubles. A column whose numbers have so many decimals at most is a whole number of its smallest steps instead.
"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from textwrap import wrap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.export.plain_names import one_line
from secateur.rules.decision_list import ColumnTest, check_ordered, double_limit, list_deciding, list_tests, make_column
from secateur.rules.rules import Rules
from secateur.tree.columns import find_cuts
from secateur.tree.facts import NO_FACTS, Claim, Facts
from secateur.tree.tree import Tree
from secateur.words.conditions import count_points

LINE = 110
ROUNDED = Fraction(1, 10**12)  # a share is stated as a float
PLAIN = str.maketrans({"≤": "<=", "≥": ">=", "–": "-", "…": "..."})
MEANT = {"number": "a number", "date": "days since 1970-01-01", "clock": "seconds since midnight"}
HEAD = """\
A decision tree and its rules, written by secateur, and the search for a row on which they differ. Any solver that \
reads SMT-LIB 2 can do it: "z3 rules.smt2" or "cvc5 rules.smt2". If the answer is sat, "z3 -model rules.smt2" or \
"cvc5 --dump-models rules.smt2" shows such a row."""
PROMISED = """\
Expected: unsat. That means: there is no possible row that a line of another class than the tree's answers, and none \
that no line answers{rest}. So every possible row gets the tree's class, whichever of the lines that hold \
answers.{also}"""
PROMISED_VALUES = """\
Expected: unsat. That means: there is no possible row for which a line that holds states a value further than {limit} \
from the tree's, and none that no line answers{rest}."""
REST = '; "otherwise" answers where no other line of its section holds'
SHARES = " And the share that such a line states lies within {points} of that of the row's leaf."
NOT_PROMISED = """\
Expected: sat or unsat; sat breaks no promise, because these rules promise less than equal answers on all possible \
rows: {guarantee} The file asks for a possible row whose answer, from the first line below that holds, \
differs from the tree's; unsat means that there is none."""
ROWS = """\
A possible row holds in every column what the tree accepts there, and satisfies the facts that are asserted below; \
columns that are not declared may hold anything that it accepts. x is a number of the row, as a double: the tree \
rounds it to {dtype} and compares, so the limits below are the last doubles that are rounded to at most the number in \
the comment. A real between two doubles passes the same tests as the next double, so none is lost and none is added. \
k is a number with few decimals, counted in its smallest steps; the row holds the double nearest to it. c is the code \
of a category, the last one for any that is not listed. m says that a value is missing, whatever x, k or c is then. \
g tells which column of a group is 1, the last code none of them. Classes are numbered from 0."""


class Line(NamedTuple):
    """A line: it gives its class to rows that pass all its tests; "otherwise" asks for its heading."""

    number: int  # as printed, from 1 on
    words: str
    class_id: int
    tests: tuple[ColumnTest, ...]  # their columns are features
    section: int = 0
    is_otherwise: bool = False
    share: float | None = None  # that it states


def rules_to_smtlib(rules: Rules) -> str:
    """Write the tree, the rules and the search for a row on which they differ."""
    return write_comparison(rules, list_lines(rules))


def list_lines(rules: Rules) -> list[Line]:
    """List the lines that some row can pass, in the order in which they decide."""
    if not _promises_answers(rules):
        check_ordered(rules)
    features = range(rules.tree.n_features)
    if not rules.is_list:
        leaves = rules.leaves if _promises_answers(rules) else rules.ranking
        found = list_tests(rules, rules.deleted, features, leaves)
        values = rules.answers.tolist() if rules.tree.is_regression else [None] * len(rules)
        return [
            Line(place + 1, rules[place].text, rules[place].class_id, tests, share=values[place])
            for place, tests in found
        ]
    answering = ((rules.lines[line], tests) for line, tests in list_deciding(rules, features))
    return [
        Line(one.index + 1, one.text, one.class_id, tests, one._section, one.is_otherwise, one.share)
        for one, tests in answering
    ]


def write_comparison(rules: Rules, lines: list[Line]) -> str:
    """Write the search for a row on which some lines, and the "otherwise" of the rules, differ from their tree."""
    tree, facts = rules.tree, _find_facts(rules)
    columns = _Columns(tree, facts)
    stated = "value" if tree.is_regression else "share of its class"
    states = rules.keeps_shares or tree.is_regression
    described = [line for words in _describe(rules) for line in ("", *wrap(_plain(words, 4_000), LINE))][1:]
    parts = [
        *(f"; {line}".rstrip() for line in described),
        *("(set-option :produce-models true)", "(set-logic QF_LIRA)"),
        *("", "; What a row may hold", *columns.declare()),
        *("", "; The stated facts that count", *_assert_facts(tree, facts, columns)) * facts.limits_rows,
        *("", "; The tree, node by node: the class of a row that comes there", *_define_nodes(rules, columns)),
        *("", f"; The {stated} that each leaf has", *_define_shares(rules)) * states,
        *("", "; The rules", *_define_lines(lines, columns)),
        *("", "; A row on which they differ (without this assertion, sat: some row is possible)"),
        *_assert_difference(rules, lines),
        *("(check-sat)", ""),
    ]
    return "\n".join(parts)


def _promises_answers(rules: Rules) -> bool:
    """Whether rules promise the tree's class for every possible row, from whichever of them covers it."""
    is_whole = rules.budget == 0 and rules.making.edits is None
    return rules.is_exact or (is_whole and "monotone" in rules.parameters)


def _find_facts(rules: Rules) -> Facts:
    """Find the facts that the guarantee is about; for rules that promise less, all of them."""
    facts = rules.tree.facts
    if not rules.is_exact:
        ignored = _promises_answers(rules) and not rules.parameters.get("domain_knowledge", True)
        return NO_FACTS if ignored else facts
    for words, fact in rules.facts_used.stated:
        if words not in rules.assumptions:
            fewer = facts.leave_out(fact, rules.tree.n_features)
            facts = facts if fewer is None else fewer
    return facts


def _describe(rules: Rules) -> Iterator[str]:
    """Say what the file is, what an answer means and what the variables stand for."""
    yield HEAD
    if rules.fidelity is not None:
        yield f"The tree is a surrogate; nothing here is about the model that it stands for, {rules.fidelity.model}."
    if _promises_answers(rules):
        also = SHARES.format(points=count_points(rules.tolerance)) if rules.keeps_shares else ""
        rest = REST if rules.is_list else ""
        if rules.tree.is_regression:
            yield PROMISED_VALUES.format(limit=repr(float(rules.tolerance)), rest=rest)
        else:
            yield PROMISED.format(rest=rest, also=also)
    else:
        yield NOT_PROMISED.format(guarantee=rules.guarantee)
    yield ROWS.format(dtype=rules.tree.dtype)


def _plain(words: str, longest: int = 240) -> str:
    """Make words fit for a comment: one line of ASCII, with everything else escaped."""
    return one_line(words.translate(PLAIN), longest).translate(PLAIN).encode("ascii", "backslashreplace").decode()


def _number_names(names: Iterable[object]) -> str:
    return _plain(", ".join(f"{number} {name}" for number, name in enumerate(names)))


class _Columns:
    """The variables of a row: what they may be, and tests of them."""

    def __init__(self, tree: Tree, facts: Facts) -> None:
        self.tree, self.facts = tree, facts
        asked = {*tree.feature[~tree.is_leaf].tolist(), *facts.features(tree.n_features)}
        self.columns = {feature: make_column(tree, feature) for feature in sorted(asked)}
        self.decimals = {f: n for f, n in facts.decimals_of.items() if f not in facts.group_of}

    def declare(self) -> Iterator[str]:
        """Declare each variable and what the tree accepts there."""
        for place, group in enumerate(self.facts.groups):
            yield from (f"; {_plain(str(group))}", f"(declare-const g{place} Int)")
            yield f"(assert (<= 0 g{place} {len(group.features)}))"
        for feature, column in self.columns.items():
            yield f"; {_plain(column.name)}{self._describe_labels(feature)}"
            if feature in self.facts.group_of:
                place = self.facts.group_of[feature]
                code = self.facts.groups[place].features.index(feature)
                yield f"(define-fun x{feature} () Real (ite (= g{place} {code}) 1.0 0.0))"
                continue
            if column.takes_missing:
                yield f"(declare-const m{feature} Bool)"
            if column.labels is not None:
                yield f"(declare-const c{feature} Int)"
                yield f"(assert (<= 0 c{feature} {len(column.labels) - (not column.takes_unlisted)}))"
                continue
            low, high = column.ends
            if feature in self.decimals:
                first, last = (self._last_step(feature, end) for end in (-low, high))
                yield f"(declare-const k{feature} Int)"
                yield f"(assert (<= {_whole(-first)} k{feature} {_whole(last)}))"
                continue
            yield f"(declare-const x{feature} Real)"
            yield f"(assert (<= {_real(low)} x{feature} {_real(high)}))"
            cuts = find_cuts(self.tree, feature)
            if cuts is not None:
                cells = "".join(f"(ite (<= x{feature} {_real(cut)}) {code} " for code, cut in enumerate(cuts))
                yield f"(define-fun c{feature} () Int {cells}{len(cuts)}{')' * len(cuts)})"

    def at_most(self, feature: int, limit: float) -> str:
        """Test that a number is not above a double."""
        if math.isinf(limit):
            return "true" if limit > 0 else "false"
        if feature in self.decimals:
            return f"(<= k{feature} {_whole(self._last_step(feature, limit))})"
        return f"(<= x{feature} {_real(limit)})"

    def between(self, feature: int, low: float, high: float) -> str:
        """Test that a number is above a double and not above another."""
        below = self.at_most(feature, low)
        above = {"true": "false", "false": "true"}.get(below, f"(not {below})")
        return _all_of([above, self.at_most(feature, high)])

    def has_code(self, feature: int, codes: Iterable[int]) -> str:
        """Test that a category, or the cell of a number, is one of some."""
        return _any_of([f"(= c{feature} {code})" for code in codes])

    def with_missing(self, feature: int, test: str, passes: bool) -> str:
        """Add to a test of a value whether a missing one passes."""
        if not self.columns[feature].takes_missing or feature in self.facts.group_of:
            return test
        return _any_of([f"m{feature}", test]) if passes else _all_of([f"(not m{feature})", test])

    def _last_step(self, feature: int, limit: float) -> int:
        """Count the smallest steps of the last number with so many decimals whose double is not above a double."""
        following = math.nextafter(limit, math.inf)
        beyond = Fraction(following) if math.isfinite(following) else Fraction(2) ** 1024
        middle = (Fraction(limit) + beyond) / 2 * 10 ** self.decimals[feature]
        is_odd = int(math.frexp(limit)[0] * 2**53) % 2 == 1
        steps: int = math.floor(middle)
        return steps - (middle.denominator == 1 and is_odd)  # a tie goes to the even one

    def _describe_labels(self, feature: int) -> str:
        column = self.columns[feature]
        if feature in self.decimals:
            return f": {_plain(self.tree.describe_decimals(feature))}"
        if column.reading is not None and not column.reading.is_trim:
            return f": {MEANT[column.reading.kind]}, read from {_plain(column.reading.example)}"
        return "" if column.labels is None else f": {_number_names(column.labels)}"


def _assert_facts(tree: Tree, facts: Facts, columns: _Columns) -> Iterator[str]:
    """Assert claims and implications; groups and decimals are in the declarations."""

    def holds(claim: Claim) -> str:
        subject, (low, high, codes, missing) = claim.subject, claim.region
        if subject >= tree.n_features:
            return _any_of([f"(= g{subject - tree.n_features} {code})" for code in sorted(codes or ())])
        if codes is None:
            test = columns.between(subject, *_last_doubles(np.array([low, high]), tree.dtype).tolist())
        else:
            test = columns.has_code(subject, sorted(codes))
        return columns.with_missing(subject, test, missing)

    for claim in facts.claims:
        yield from (f"; {_plain(str(claim))}", f"(assert {holds(claim)})")
    for known in facts.implications:
        yield from (f"; {_plain(str(known))}", f"(assert (=> {holds(known.premise)} {holds(known.conclusion)}))")


def _define_nodes(rules: Rules, columns: _Columns) -> Iterator[str]:
    """Define what the tree says at each node, children first; no edit rounded its limits."""
    tree = rules.source_tree
    limits = _last_doubles(tree.threshold, tree.dtype).tolist()
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.is_leaf[node]:
            yield f"(define-fun n{node} () Int {tree.leaf_class[node]})"
            continue
        feature = int(tree.feature[node])
        if tree.categories[feature] is None:
            yield f"; {_plain(tree.feature_name(feature))} <= {float(tree.threshold[node])!r}"
            test = columns.at_most(feature, limits[node])
        else:
            test = columns.has_code(feature, tree.left_codes(node).tolist())
        test = columns.with_missing(feature, test, bool(tree.missing_left[node]))
        yield f"(define-fun t{node} () Bool {test})"
        yield f"(define-fun n{node} () Int (ite t{node} n{tree.children_left[node]} n{tree.children_right[node]}))"


def _define_lines(lines: list[Line], columns: _Columns) -> Iterator[str]:
    for line in lines:
        tests = _all_of([_ask(columns, test) for test in line.tests])
        if line.is_otherwise:
            others = [one for one in lines if one.section == line.section and not one.is_otherwise]
            tests = _all_of([tests, *(f"(not r{one.number})" for one in others)])
        yield from (f"; {line.number}. {_plain(line.words)}", f"(define-fun r{line.number} () Bool {tests})")


def _ask(columns: _Columns, test: ColumnTest) -> str:
    feature, column = test.column, columns.columns[test.column]
    if column.labels is None:
        ends = [(double_limit(low, column.dtype), double_limit(high, column.dtype)) for low, high in test.intervals]
        asked = _any_of([columns.between(feature, *both) for both in ends])
    else:
        codes = [code for code, label in enumerate(column.labels) if label in test.labels]
        asked = columns.has_code(feature, [*codes, *[len(column.labels)] * test.unlisted])
    return columns.with_missing(feature, asked, test.missing)


def _assert_difference(rules: Rules, lines: list[Line]) -> Iterator[str]:
    """Assert that the guarantee fails for the row, or, where it is about fewer rows, that the answers differ."""
    yield f"; Classes: {_number_names(rules.tree.class_names)}"
    if not _promises_answers(rules):
        if rules.tree.is_regression:
            beyond = "".join(f"(ite r{line.number} {_differs(line, rules.tolerance)} " for line in lines)
            yield f"(assert {beyond}true{')' * len(lines)})"
            return
        answers = "".join(f"(ite r{line.number} {line.class_id} " for line in lines)
        yield f"(assert (not (= n0 {answers}(- 1){')' * len(lines)})))"
        return
    wrong = [f"(and r{line.number} {_differs(line, rules.tolerance)})" for line in lines]
    unanswered = _all_of([f"(not r{line.number})" for line in lines])
    yield f"(assert {_any_of([*wrong, unanswered])})"


def _differs(line: Line, tolerance: float) -> str:
    """Test that the tree does not say the class of a line, or a share beyond the tolerance of the line's."""
    other = f"(not (= n0 {line.class_id}))"
    if line.share is None:
        return other
    within = Fraction(str(tolerance)) + ROUNDED * max(Fraction(1), abs(Fraction(line.share)))
    ends = (Fraction(line.share) - within, Fraction(line.share) + within)
    return f"(or {other} (< v0 {_real(ends[0])}) (> v0 {_real(ends[1])}))"


def _define_shares(rules: Rules) -> Iterator[str]:
    """Define the share of its class that a row's leaf has, children first; n0 tells which way a row goes."""
    tree, counts, place = rules.tree, rules.value_counts, rules.place_of_leaf
    for node in range(tree.n_nodes - 1, -1, -1):
        if not tree.is_leaf[node]:
            left, right = tree.children_left[node], tree.children_right[node]
            yield f"(define-fun v{node} () Real (ite t{node} v{left} v{right}))"
            continue
        if tree.values is not None:
            yield f"(define-fun v{node} () Real {_real(float(tree.values[node]))})"
            continue
        own = [Fraction(float(count)) for count in counts[place[node]]]
        share = own[tree.leaf_class[node]] / sum(own) if sum(own) else Fraction(0)
        yield f"(define-fun v{node} () Real {_real(share)})"


def _last_doubles(limits: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """Find the largest double that, rounded to dtype, does not exceed each limit, by halving; NaN for NaN."""

    def numbers(place: NDArray[np.int64]) -> NDArray[np.float64]:
        """Doubles by their place in rising order; 0 is at 0."""
        return np.sign(place) * np.abs(place).view(np.float64)

    infinite = int(np.float64(np.inf).view(np.int64))
    low, high = np.full(limits.shape, -infinite), np.full(limits.shape, infinite)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(64):
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            fits = numbers(middle).astype(dtype).astype(np.float64) <= limits
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.where(np.isnan(limits) | (limits == np.inf), limits, numbers(low))


def _real(number: float | Fraction) -> str:
    """Write a double or a fraction exactly."""
    top, bottom = abs(Fraction(number)).as_integer_ratio()
    written = f"{top}.0" if bottom == 1 else f"(/ {top}.0 {bottom}.0)"
    return f"(- {written})" if number < 0 else written


def _whole(number: int) -> str:
    return f"(- {-number})" if number < 0 else str(number)


def _all_of(tests: list[str]) -> str:
    return _join("and", "true", "false", tests)


def _any_of(tests: list[str]) -> str:
    return _join("or", "false", "true", tests)


def _join(word: str, neutral: str, absorbing: str, tests: list[str]) -> str:
    """Join tests; those that decide nothing are left out."""
    kept = [test for test in tests if test != neutral]
    if absorbing in kept:
        return absorbing
    return f"({word} {' '.join(kept)})" if len(kept) > 1 else (kept or [neutral])[0]
