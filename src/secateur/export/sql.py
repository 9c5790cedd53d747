"""Rules as one SQL statement, which adds the rule, the class and the reliability to the rows of a table.

The statement is flat. The columns that rules ask for are typed once, one CASE finds the first rule that a row
satisfies, and the class and the reliability are read off the number of the rule::

    WITH typed AS (SELECT CAST(...) AS age_number, source.* FROM "rows" AS source),
    decided AS (SELECT CASE WHEN ... THEN 3 WHEN ... THEN 1 END AS "rule", typed.* EXCLUDE (age_number) FROM typed)
    SELECT CASE WHEN "rule" IN (1, 3) THEN 'yes' ... END AS "prediction", ..., decided.* FROM decided

Every name, label and number is written by sqlglot, never pasted as text: names and labels cannot become code.
Conditions are joined by AND and OR alone, so that SQL's third truth value, which NULL brings in, counts as no.
"""

from collections.abc import Iterable, Sequence

from sqlglot import exp

from secateur.export.plain_names import FreeNames, head_lines
from secateur.export.sql_columns import TypedTable
from secateur.export.sql_dialects import find_dialect
from secateur.export.sql_names import RESULT_NAMES, check_names, check_result_names
from secateur.export.sql_nodes import Node, column_of, comment, join, make_name, named, own_name
from secateur.export.sql_writing import Writer
from secateur.rules.decision_list import DecisionList, make_decision_list
from secateur.rules.rules import Rules
from secateur.tree.tree import Label

MOST_WORDED = 2_000  # rules that have their words beside them; nobody reads more


def rules_to_sql(
    rules: Rules, dialect: str = "duckdb", table: str | Sequence[str] = "rows", names: Sequence[str] = RESULT_NAMES
) -> str:
    """Write the rules as a SELECT over a table that has the columns of the rows.

    The result has three columns before those of the table: the class, the share of it that the deciding line states,
    or else that its training rows have, and the line's number, counted from 1. A row that the tree refuses has NULL in
    all three. NULL, and NaN where there is such a number, is a missing value.
    """
    chosen = find_dialect(dialect)
    listed = make_decision_list(rules)
    check_names(chosen, names, [rule.label for rule in listed.rules])
    check_result_names(names)
    taken = FreeNames([*(rules.tree.feature_names or ()), *(column.name for column in listed.columns)])
    rule_name, prediction, reliability = (taken.take(name) for name in names)
    source = TypedTable(listed.columns, chosen, table, taken)
    decided = taken.take("decided")
    writer = Writer(chosen.name)
    number = writer.write(column_of(decided, make_name(rule_name)))
    labels = _look_up(number, source, writer, ((rule.index, rule.label) for rule in listed.rules))
    shares = _look_up(number, source, writer, ((rule.index, rule.reliability) for rule in listed.rules))
    # Our columns come before those of the table, which may have the same names: a database takes the first then.
    final = exp.select(
        named(labels, prediction),
        named(exp.Cast(this=shares, to=exp.DataType.build("DOUBLE")), reliability),
        column_of(decided, exp.Star()),
        copy=False,
    ).from_(exp.Table(this=own_name(decided)), copy=False)
    final = source.attach(final, decided, [named(_find_rule(listed, source), rule_name), source.own_columns()])
    unsaid = "" if len(listed.rules) <= MOST_WORDED else " (so many that their words are left out)"
    head = head_lines(rules, f" by secateur{unsaid}", "--", comment)
    return f"{head}\n{final.sql(dialect=chosen.name, pretty=True, copy=False)}"


def _find_rule(listed: DecisionList, source: TypedTable) -> Node:
    """Find the number of the first rule that a row satisfies."""
    refused = [condition for place in range(len(listed.columns)) for _, condition in source.refuse(place)]
    worded = len(listed.rules) <= MOST_WORDED
    rules = ((rule.tests, rule.index + 1, rule.text if worded else "") for rule in listed.rules)
    return source.find_first(rules, refused=join(exp.or_, refused) if refused else None)


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
