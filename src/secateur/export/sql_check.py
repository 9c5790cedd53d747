"""A query for the rows of a table that exported rules cannot decide, or decide without knowing their values.

A statement cannot stop in the middle of a table, so a row that the tree refuses gets no rule; and a category that the
training table did not have counts as "any other". Both may be as they should, or come from a column that was read
otherwise: this query tells how many rows it concerns, before anyone relies on the result.
"""

from collections.abc import Sequence

from sqlglot import exp

from secateur.export.plain_names import FreeNames, head_lines
from secateur.export.sql_columns import MISSING, STRANGE, UNLISTED, TypedTable
from secateur.export.sql_dialects import find_dialect
from secateur.export.sql_nodes import Node, column_of, comment, is_null, make_number, named, own_name, when
from secateur.rules.decision_list import make_decision_list
from secateur.rules.rules import Rules

WORDS = {
    MISSING: "not decided: a blank, which the tree was not fitted to take",
    STRANGE: "not decided: not a value that the rules can read",
    UNLISTED: "not decided: not a category that the tree was fitted on",
}
OTHER = "decided as any other: not a category of the training table"


def rules_to_sql_check(rules: Rules, dialect: str = "duckdb", table: str | Sequence[str] = "rows") -> str:
    """Write a query that counts the rows of each column that the rules cannot decide, or do not know.

    Examples
    --------
    >>> import duckdb, pandas as pd
    >>> from secateur import TreeBuilder, simplify
    >>> builder = TreeBuilder(classes=["stay", "go"], feature_names=["rain"])
    >>> root = builder.split("rain", 0.5)
    >>> _ = builder.leaf([2, 8], parent=root, side="left")
    >>> _ = builder.leaf([9, 1], parent=root, side="right")
    >>> days = pd.DataFrame({"rain": [0.0, None, 2.0]})
    >>> duckdb.sql(rules_to_sql_check(simplify(builder.build()), table="days")).fetchall()
    [('rain', 'not decided: a blank, which the tree was not fitted to take', 1, None)]
    """
    chosen = find_dialect(dialect)
    listed = make_decision_list(rules)
    taken = FreeNames([*(rules.tree.feature_names or ()), *(column.name for column in listed.columns)])
    source = TypedTable(listed.columns, chosen, table, taken)
    step = taken.take("checked")
    made: list[Node] = []
    parts: list[exp.Select] = []
    for place, column in enumerate(listed.columns):
        problems = [(WORDS[why], condition) for why, condition in source.refuse(place)]
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
            flag = exp.Case(ifs=[when(condition, make_number(1))], default=make_number(0))
            made.append(exp.Alias(this=flag, alias=own_name(mark)))
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
    texts = exp.Literal.string(name), exp.Literal.string(words)
    return [
        named(made, label)
        for made, label in zip((*texts, counted, value), ("column", "problem", "rows", "example"), strict=True)
    ]
