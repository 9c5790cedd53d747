"""Rules as one SQL statement, which adds rule, class and share to the rows of a table; its check, and an audit.

The statement is flat. The columns that rules ask for are typed once, one CASE finds the first rule that a row
satisfies, and the class and the share are read off the number of the rule::

    WITH typed AS (SELECT CAST(...) AS age_number, source.* FROM "rows" AS source),
    decided AS (SELECT CASE WHEN ... THEN 3 WHEN ... THEN 1 END AS "rule", typed.* EXCLUDE (age_number) FROM typed)
    SELECT CASE WHEN "rule" IN (1, 3) THEN 'yes' ... END AS "prediction", ..., decided.* FROM decided

Every name, label and number is written by sqlglot, never pasted as text: names and labels cannot become code.
Conditions are joined by AND and OR alone, so that SQL's third truth value, which NULL brings in, counts as no.

A statement cannot stop in the middle of a table, so a row that the tree rejects gets no rule; and a category that the
training table did not have counts as "any other". Both may be as they should, or come from a column that was read
otherwise: the check tells how many rows it concerns, before anyone relies on the result.

For an audit, rows are grouped by their class, the rule of their leaf, the rule that decides them, and how rules cover
them. Its result has a few rows for each leaf and class, however many rows the table has.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise

import numpy as np
from sqlglot import exp

from secateur.errors import ParameterError, did_you_mean
from secateur.export.plain_names import FreeNames, head_lines, take_names
from secateur.export.sql_columns import (
    FLOAT64_END,
    MISSING,
    STRANGE,
    UNLISTED,
    Node,
    TypedTable,
    Writer,
    column_of,
    comment,
    is_beyond,
    is_null,
    join,
    make_name,
    make_number,
    named,
    own_name,
    when,
)
from secateur.export.sql_dialects import RESULT_NAMES, TableName, check_names, check_result_names, find_dialect
from secateur.rules.decision_list import (
    Column,
    ColumnTest,
    DecisionList,
    list_deciding,
    list_links,
    list_tests,
    make_column,
    make_decision_list,
)
from secateur.rules.lines import MOST_LEAVES, find_open
from secateur.rules.rules import Rules
from secateur.tree.tree import Label

MOST_WORDED = 2_000  # rules that have their words beside them; nobody reads more
# The columns of the result that rows are grouped by, and what is counted of each group.
GROUPED = ("rejected", "truth", "place", "conflict", "covers")
N_ROWS, WEIGHT, SQUARES = "n_rows", "weight", "squares"
ODD_WEIGHTS, N_COUNTED = "odd_weights", "n_counted"
N_CLASSES = "n_classes"
UNKNOWN = -1
MOST_NESTED = 40  # levels of a tree, beyond which a planner may run out of stack


def rules_to_sql(
    rules: Rules,
    dialect: str = "duckdb",
    table: TableName = "rows",
    names: Sequence[str] = RESULT_NAMES,
    *,
    plain: bool = False,
    numbers: Sequence[str] = (),
    blanks: Sequence[str] = (),
) -> str:
    """Write the rules as a SELECT over a table that has the columns of the rows.

    The result has three columns before those of the table: the class, the share of it that the deciding line states,
    or else that its training rows have, and the line's number, counted from 1. A row that the tree rejects has NULL in
    all three. NULL, and NaN where there is such a number, is a missing value, and so are the texts ``blanks``. Columns
    named by ``numbers`` hold numbers, though the rules read them from texts. A plain statement assumes that of all.
    """
    chosen = find_dialect(dialect)
    listed = take_numbers(rules, make_decision_list(rules), numbers)
    check_names(chosen, names, [rule.label for rule in listed.rules])
    check_result_names(names)
    if plain:
        from secateur.export.sql_plain import rules_to_plain_sql

        return rules_to_plain_sql(rules, listed, chosen, table, names[1], blanks)
    taken = take_names(rules, listed)
    source = TypedTable(listed.columns, chosen, table, taken, blanks)
    rule_name, prediction, share = (taken.take(name) for name in names)
    decided = taken.take("decided")
    writer = Writer(chosen.name)
    number = writer.write(column_of(decided, make_name(rule_name)))
    labels = _look_up(number, source, writer, ((rule.index, rule.label) for rule in listed.rules))
    shares = _look_up(number, source, writer, ((rule.index, rule.share) for rule in listed.rules))
    # Our columns come before those of the table, which may have the same names: a database takes the first then.
    final = exp.select(
        named(labels, prediction),
        named(exp.Cast(this=shares, to=exp.DataType.build("DOUBLE")), share),
        column_of(decided, exp.Star()),
        copy=False,
    ).from_(exp.Table(this=own_name(decided)), copy=False)
    final = source.attach(final, decided, [named(_find_rule(listed, source), rule_name), source.own_columns()])
    unsaid = "" if len(listed.rules) <= MOST_WORDED else " (so many that their words are left out)"
    head = head_lines(rules, f" by secateur{unsaid}", "--", comment)
    return f"{head}\n{final.sql(dialect=chosen.name, pretty=True, copy=False)}"


def take_numbers(rules: Rules, listed: DecisionList, numbers: Sequence[str]) -> DecisionList:
    """Take some columns for numbers, though the rules read amounts from their texts."""
    for name in numbers:
        known = [rules.tree.feature_name(feature) for feature in range(rules.tree.n_features)]
        if name not in known:
            raise ParameterError(
                f"The rules have no column {name!r} that could hold numbers.{did_you_mean(name, known)}"
            )
        parser = rules.tree.column_parser(known.index(name))
        if rules.tree.categories[known.index(name)] is not None or (parser is not None and parser.kind != "number"):
            raise ParameterError(f"The rules compare the column {name!r} with dates, times or texts, not with numbers.")
    columns = (replace(one, reading=None) if one.name in numbers else one for one in listed.columns)
    return replace(listed, columns=tuple(columns))


def _find_rule(listed: DecisionList, source: TypedTable) -> Node:
    """Find the number of the first rule that a row satisfies."""
    rejected = [condition for place in range(len(listed.columns)) for _, condition in source.reject(place)]
    worded = len(listed.rules) <= MOST_WORDED
    rules = ((rule.tests, rule.index + 1, rule.text if worded else "") for rule in listed.rules)
    return source.find_first(rules, rejected=join(exp.or_, rejected) if rejected else None)


def _look_up(number: str, source: TypedTable, writer: Writer, answers: Iterable[tuple[int, Label | None]]) -> Node:
    """Read an answer off the number of the rule, equal answers together."""
    rules_of: dict[Label, list[int]] = {}
    for index, answer in answers:
        if answer is not None:
            rules_of.setdefault(answer, []).append(index + 1)
    if not rules_of:
        return exp.Null()
    branches: list[str] = []
    for answer, indices in rules_of.items():
        is_one = writer.write_is_in(number, list(map(str, sorted(indices))))
        branches += writer.write_branch(is_one, writer.write(source.write_label(answer)))
    return writer.join_case(branches)


WORDS = {
    MISSING: "not decided: a blank, which the tree was not fitted to take",
    STRANGE: "not decided: not a value that the rules can read",
    UNLISTED: "not decided: not a category that the tree was fitted on",
}
OTHER = "decided as any other: not a category of the training table"


def rules_to_sql_check(
    rules: Rules,
    dialect: str = "duckdb",
    table: TableName = "rows",
    *,
    numbers: Sequence[str] = (),
    blanks: Sequence[str] = (),
) -> str:
    """Write a query that counts the rows of each column that the rules cannot decide, or do not know."""
    chosen = find_dialect(dialect)
    listed = take_numbers(rules, make_decision_list(rules), numbers)
    taken = take_names(rules, listed)
    source = TypedTable(listed.columns, chosen, table, taken, blanks)
    step = taken.take("checked")
    made: list[Node] = []
    parts: list[exp.Select] = []
    for place, column in enumerate(listed.columns):
        problems = [(WORDS[why], condition) for why, condition in source.reject(place)]
        if column.labels is not None and column.takes_unlisted:
            known = exp.Not(this=is_null(source.value(place)))
            decided = [exp.Not(this=exp.Paren(this=condition.copy())) for _, condition in problems]
            is_other = exp.Not(this=source.is_in(place, column.labels))
            problems.append((OTHER, exp.and_(known, is_other, *decided, copy=False)))
        value = taken.take(f"value_{place + 1}")
        if problems:
            made.append(exp.Alias(this=source.write_own(place), alias=own_name(value)))
        for words, condition in problems:
            mark = taken.take(f"problem_{len(parts) + 1}")
            made.append(exp.Alias(this=_flag(condition), alias=own_name(mark)))
            parts.append(_count(step, column.name, words, mark, value))
    head = head_lines(rules, " by secateur: the rows that they cannot decide", "--", comment)
    if not parts:
        nothing = exp.select(*_name("", "", make_number(0), exp.Null()), copy=False).where("1 = 0", copy=False)
        return f"{head}\n{nothing.sql(dialect=chosen.name, pretty=True)}"
    final: Node = parts[0] if len(parts) == 1 else exp.union(*parts, distinct=False, copy=False)
    return f"{head}\n{source.attach(final, step, made).sql(dialect=chosen.name, pretty=True, copy=False)}"


def _count(step: str, name: str, words: str, mark: str, value: str) -> exp.Select:
    """Count the rows of a step that have a mark, if there are any."""
    counted = exp.Count(this=exp.Star())
    chosen = exp.EQ(this=column_of(step, own_name(mark)), expression=make_number(1))
    return (
        exp.select(*_name(name, words, counted, exp.Min(this=column_of(step, own_name(value)))), copy=False)
        .from_(exp.Table(this=own_name(step)), copy=False)
        .where(chosen, copy=False)
        .having(exp.GT(this=counted.copy(), expression=make_number(0)), copy=False)
    )


def _name(name: str, words: str, counted: Node, value: Node) -> list[Node]:
    made = {"column": exp.Literal.string(name), "problem": exp.Literal.string(words), "rows": counted, "example": value}
    return [named(node, label) for label, node in made.items()]


def _flag(condition: Node) -> Node:
    """Write a condition as 0 or 1: not all databases have bools."""
    return exp.Case(ifs=[when(condition, make_number(1))], default=make_number(0))


# What an audit counts.


@dataclass(frozen=True)
class Rejection:
    """A reason to reject a row."""

    column: Column
    what: str  # "missing", "strange" (a number it must not hold) or "unlisted" (a category it must not hold)


@dataclass(frozen=True)
class AuditStatement:
    """A statement that counts rows for an audit.

    Its result has these columns behind those that were asked for: ``rejected`` (index of the first rejection that
    holds, else NULL), ``truth`` (class of the label; -1 for one that is not known, NULL for none), ``place`` (the
    place of the leaf times the number of lines, plus the line), ``conflict`` (0 or 1; left out where it is always 0),
    ``covers`` (bit ``k`` says whether the ``k``-th rule asked for covers the rows; left out without any), ``n_rows``;
    and with weights ``weight`` (their sum), ``squares`` (the sum of their squares), ``odd_weights`` (rows whose weight
    is negative, infinite or missing) and ``n_counted`` (rows whose weight is above 0).
    """

    text: str
    rejections: tuple[Rejection, ...]  # what ``rejected`` counts


def audit_to_sql(
    rules: Rules,
    y: str,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    *,
    sample_weight: str | None = None,
    labels: Sequence[Label] | None = None,
    by: Sequence[str] = (),
    asked: Sequence[int] = (),
) -> AuditStatement:
    """Write a SELECT that counts the rows of a table for an audit of the rules.

    ``labels`` says how the column of labels writes the classes, where it does not hold the tree's own; columns named by
    ``by`` come first in the result. The rows are also counted by which of the ``asked`` rules cover them, by the places
    of their leaves, at most 60.
    """
    # Nobody reads these limits, so numbers are compared as they are, with the last double that rounds to a limit.
    tree, chosen = rules.tree, replace(find_dialect(dialect), single=None)
    known: tuple[Label, ...] = tuple(tree.classes.tolist() if labels is None else labels)
    features = sorted({*tree.feature[~tree.is_leaf].tolist(), *(() if tree.columns is None else tree.columns.asked)})
    columns = [make_column(tree, feature) for feature in features]
    # Labels and weights are typed as the columns of the tree are; a missing one is NULL there, too.
    others = [_make_other(y, known), *([] if sample_weight is None else [_make_other(sample_weight, None)])]
    check_names(chosen, by)
    taken = FreeNames([*(tree.feature_names or ()), *(column.name for column in (*columns, *others)), *by])
    source, decided = TypedTable([*columns, *others], chosen, table, taken), taken.take("decided")
    rejected, rejections = _find_rejection(source, columns)
    made = {name: source.own_column(name) for name in by}
    made |= {"rejected": rejected, "truth": _find_truth(source, len(columns), known)}
    made["place"] = _find_place(source, rules, features)
    if len(asked):
        listed = dict(list_tests(rules, rules.deleted, features, np.array(asked, dtype=np.int64)))
        made["covers"] = _find_covers(source, columns, {1 << bit: listed.get(rule) for bit, rule in enumerate(asked)})
    keys = list(made)

    def own(name: str) -> Node:
        return column_of(decided, make_name(name))

    final = exp.select(*(named(own(name), name) for name in keys), copy=False)
    if not rules.is_clear:
        ranked = list_tests(rules, rules.deleted, features, rules.leaves if rules.is_list else rules.ranking)
        made[N_CLASSES] = _count_classes(source, ranked, rules.class_ids[rules.line_of_place].tolist())
        conflict = _flag(exp.GT(this=own(N_CLASSES), expression=make_number(1)))
        final = final.select(named(conflict, "conflict"), copy=False).group_by(conflict.copy(), copy=False)
    counted: dict[str, Node] = {N_ROWS: exp.Count(this=exp.Star())}
    if sample_weight is not None:
        made[WEIGHT] = source.value(len(columns) + 1)
        odd = exp.or_(is_null(own(WEIGHT)), is_beyond(own(WEIGHT), 0.0, FLOAT64_END), copy=False)
        counted |= {
            WEIGHT: exp.Sum(this=own(WEIGHT)),
            SQUARES: exp.Sum(this=exp.Mul(this=own(WEIGHT), expression=own(WEIGHT))),
            ODD_WEIGHTS: exp.Sum(this=_flag(odd)),
            N_COUNTED: exp.Sum(this=_flag(exp.GT(this=own(WEIGHT), expression=make_number(0)))),
        }
    final = final.select(*(named(node, name) for name, node in counted.items()), copy=False)
    final = final.from_(exp.Table(this=own_name(decided)), copy=False).group_by(*map(own, keys), copy=False)
    final = source.attach(final, decided, [named(node, name) for name, node in made.items()])
    text = final.sql(dialect=chosen.name, pretty=True, copy=False)
    return AuditStatement(f"-- Rows for an audit of {len(rules)} rules by secateur\n{text}", rejections)


def _find_rejection(source: TypedTable, columns: Sequence[Column]) -> tuple[Node, tuple[Rejection, ...]]:
    case = exp.Case(ifs=[])
    rejections: list[Rejection] = []
    for place, column in enumerate(columns):
        for what, condition in source.reject(place):
            case.append("ifs", when(condition, make_number(len(rejections)), f"{what}: {column.name}"))
            rejections.append(Rejection(column, what))
    return (case if rejections else exp.cast(exp.Null(), exp.DataType.Type.INT)), tuple(rejections)


def _find_place(source: TypedTable, rules: Rules, features: Sequence[int]) -> Node:
    """Find the leaf of a row times the number of lines, plus the line that decides it.

    The splits of the tree are nested, and below a leaf what it leaves open of the lines is asked; of deep trees, whose
    nests no planner takes, leaves and lines are asked one by one.
    """
    tree, n_lines = rules.tree, rules.n_lines
    is_ordered = rules.is_list or rules.is_ordered  # else the rule of its own leaf decides a row
    if len(tree.inner_levels) > MOST_NESTED or rules.tree_rules > MOST_LEAVES:
        leaves = list_tests(rules, np.zeros_like(rules.deleted), features, np.arange(rules.tree_rules))
        own = n_lines if is_ordered else n_lines + 1
        found = source.find_first((tests, place * own, "") for place, tests in leaves)
        line = source.find_first((tests, line, "") for line, tests in list_deciding(rules, features))
        return exp.Add(this=found, expression=line) if is_ordered else found
    last, asked = find_open(rules) if is_ordered else (range(n_lines), {})
    opened = [(place, line, links) for place, some in asked.items() for line, links in some]
    tests_of = dict(list_links(rules, [links for *_, links in opened], features))
    listed: dict[int, list[tuple[tuple[ColumnTest, ...], int, str]]] = {}
    for number, (place, line, _) in enumerate(opened):
        if number in tests_of:
            listed.setdefault(place, []).append((tests_of[number], place * n_lines + line, ""))
    made = {
        node: source.find_first(listed.get(place, []), default=place * n_lines + last[place])
        for place, node in enumerate(rules.paths.leaf_ids.tolist())
    }
    splits = np.flatnonzero(~tree.is_leaf).tolist()
    goes_left = dict(list_links(rules, [[int(tree.children_left[node])] for node in splits], features))
    return source.nest(tree, {node: goes_left.get(number) for number, node in enumerate(splits)}, made)


def _find_covers(
    source: TypedTable, columns: Sequence[Column], rules: Mapping[int, Sequence[ColumnTest] | None]
) -> Node:
    """Find the bits of the rules that a row satisfies, given their tests by bit; None is passed by no row.

    A value is looked up once among the limits of its column: it allows some rules, and a row what all its values allow.
    """
    asked: dict[int, dict[int, ColumnTest]] = {}
    for bit, tests in rules.items():
        for test in tests or ():
            asked.setdefault(test.column, {})[bit] = test
    every, masks = sum(bit for bit, tests in rules.items() if tests is not None), []
    for place, tests_of in sorted(asked.items()):
        none, labels = ColumnTest(place, (), (), False, False), columns[place].labels
        allow = partial(_allow, every, tests_of)
        if labels is None:
            cuts = {end for test in tests_of.values() for interval in test.intervals for end in interval}
            ends = list(pairwise(sorted(cuts | {-math.inf, math.inf})))
            pieces = [none._replace(intervals=(both,)) for both in ends]
            asks = [none._replace(intervals=((-math.inf, high),)) for _, high in ends[:-1]] + pieces[-1:]
            found = list(zip(asks, map(allow, pieces), strict=True))
        else:
            by_mask: dict[int, list[Label]] = {}
            for label in labels:
                by_mask.setdefault(allow(none._replace(labels=(label,))), []).append(label)
            found = [(none._replace(labels=tuple(some)), mask) for mask, some in by_mask.items()]
            found.append((none._replace(labels=tuple(labels), unlisted=True), allow(none._replace(unlisted=True))))
        blank = allow(none._replace(missing=True))
        masks.append(source.find_first([((test,), mask, "") for test, mask in found], default=blank))
    return reduce(lambda one, other: exp.BitwiseAnd(this=one, expression=other), masks) if masks else make_number(every)


def _allow(every: int, tests_of: Mapping[int, ColumnTest], piece: ColumnTest) -> int:
    """Leave the bits of the rules whose test all values of a piece of the column pass."""

    def passes(test: ColumnTest) -> bool:
        if test.unlisted < piece.unlisted or test.missing < piece.missing or not {*piece.labels} <= {*test.labels}:
            return False
        return all(any(low <= one and other <= high for low, high in test.intervals) for one, other in piece.intervals)

    return every - sum(bit for bit, test in tests_of.items() if not passes(test))


def _find_truth(source: TypedTable, place: int, labels: Sequence[Label]) -> Node:
    ifs = [when(source.is_in(place, [label]), make_number(class_id)) for class_id, label in enumerate(labels)]
    known = exp.Not(this=is_null(source.value(place)))
    return exp.Case(ifs=[*ifs, when(known, make_number(UNKNOWN))])


def _count_classes(
    source: TypedTable, listed: Sequence[tuple[int, tuple[ColumnTest, ...]]], classes: Sequence[int]
) -> Node:
    """Count the classes that have a rule which a row satisfies."""
    by_class: dict[int, list[tuple[ColumnTest, ...]]] = {}
    for index, tests in listed:
        by_class.setdefault(classes[index], []).append(tests)
    marks = []
    for covering in by_class.values():
        asked = covering if all(covering) else [()]  # a rule that asks nothing is enough
        marks.append(source.find_first(((tests, 1, "") for tests in asked), default=0))
    return _add(marks)


def _add(numbers: Sequence[Node]) -> Node:
    return reduce(lambda one, other: exp.Add(this=one, expression=other), numbers) if numbers else make_number(0)


def _make_other(name: str, labels: tuple[Label, ...] | None) -> Column:
    return Column(-1, name, labels, "float64", True, True, -math.inf, math.inf)
