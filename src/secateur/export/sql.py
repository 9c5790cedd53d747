"""Rules as one SQL statement, which adds the rule, the class and the reliability to the rows of a table.

The statement is flat. The columns that rules ask for are typed once, one CASE finds the first rule that a row
satisfies, and the class and the reliability are read off the number of the rule::

    WITH typed AS (SELECT CAST(...) AS age_number, source.* FROM "rows" AS source),
    decided AS (SELECT CASE WHEN ... THEN 3 WHEN ... THEN 1 END AS "rule", typed.* EXCLUDE (age_number) FROM typed)
    SELECT CASE WHEN "rule" IN (1, 3) THEN 'yes' ... END AS "prediction", ..., decided.* FROM decided

Every node is built as a node of sqlglot's syntax tree, never pasted as text: names and labels cannot become code.
Conditions are joined by AND and OR alone, so that SQL's third truth value, which NULL brings in, counts as no.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from sqlglot import exp

from secateur.errors import ParameterError
from secateur.export.plain_names import FreeNames
from secateur.export.sql_columns import TypedTable, check_names
from secateur.export.sql_dialects import find_dialect
from secateur.export.sql_nodes import Node, comment, is_in, make_name, own_name, when
from secateur.rules.decision_list import make_decision_list

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secateur.export.sql_dialects import SqlDialect
    from secateur.rules.decision_list import ListedRule
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Label

__all__ = ["RESULT_NAMES", "rules_to_sql"]

RESULT_NAMES = ("rule", "prediction", "reliability")
HEAD_WORDS = 2000
LINE = 110


def rules_to_sql(
    rules: RuleSet,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    names: Sequence[str] = RESULT_NAMES,
) -> str:
    """Write the rules as a SELECT over a table that has the columns of the rows.

    The result has three columns before those of the table: the class, the reliability of the rule that decides, and its
    number, counted from 1. A row that the tree refuses has NULL in all three. NULL, and NaN where
    there is such a number, is a missing value.

    Parameters
    ----------
    rules : RuleSet
    dialect : str, default="duckdb"
        duckdb, postgres, spark, sqlite, tsql (SQL Server), bigquery or snowflake.
    table : str or sequence of str, default="rows"
        Name of the table; dots separate catalog, schema and table. A sequence holds these parts as they are.
    names : sequence of three str, default=("rule", "prediction", "reliability")
        What the added columns are called; underscores are added where a column of the tree has that name.

    Returns
    -------
    str
    """
    return _Statement(rules, find_dialect(dialect), table, names).write()


class _Statement:
    """One statement while it is written."""

    def __init__(self, rules: RuleSet, dialect: SqlDialect, table: str | Sequence[str], names: Sequence[str]) -> None:
        self._rules = rules
        self._dialect = dialect
        self._listed = listed = make_decision_list(rules)
        check_names(dialect, names, [rule.label for rule in listed.rules])
        if len(names) != len(RESULT_NAMES):
            raise ParameterError(f"Expected a name for each of {', '.join(RESULT_NAMES)}, found {len(names)} names.")
        taken = FreeNames([*(rules.tree.feature_names or ()), *(column.name for column in listed.columns)])
        self._rule, self._prediction, self._reliability = (taken.take(name) for name in names)
        self._table = TypedTable(listed.columns, dialect, table, taken)
        self._decided = taken.take("decided")

    def write(self) -> str:
        """The statement as text."""
        # Our columns come before those of the table, which may have the same names: a database takes the first then.
        final = exp.select(
            self._lookup(lambda rule: rule.label, self._prediction),
            self._lookup(lambda rule: rule.reliability, self._reliability),
            exp.Column(this=exp.Star(), table=own_name(self._decided)),
            copy=False,
        ).from_(exp.Table(this=own_name(self._decided)), copy=False)
        final = self._table.attach(final, self._decided, [self._find_rule(), self._table.own_columns()])
        return f"{self._head()}\n{final.sql(dialect=self._dialect.name, pretty=True, copy=False)}"

    def _head(self) -> str:
        """What the statement is, above it."""
        rules = self._rules
        words = f"{len(rules)} rules by secateur, method {rules.method}. {rules.guarantee}"
        lines = [line for part in (words, *rules.remarks) for line in wrap(comment(part, HEAD_WORDS), LINE)]
        return "\n".join(f"-- {line}" for line in lines)

    def _find_rule(self) -> Node:
        """The number of the first rule that a row satisfies."""
        case = exp.Case(ifs=[])
        places = range(len(self._listed.columns))
        refused = [condition for place in places for _, condition in self._table.refuse(place)]
        if refused:
            case.append("ifs", when(exp.or_(*refused, copy=False), exp.Null(), "refused: no rule is for such a row"))
        listed = ((rule.tests, exp.Literal.number(rule.index + 1), rule.text) for rule in self._listed.rules)
        return exp.Alias(this=self._table.find_first(listed, case), alias=make_name(self._rule))

    def _lookup(self, read: Callable[[ListedRule], Label | None], name: str) -> Node:
        """What follows from the number of the rule, equal answers together."""
        numbers: dict[Label, list[int]] = {}
        for rule in self._listed.rules:
            answer = read(rule)
            if answer is not None:
                numbers.setdefault(answer, []).append(rule.index + 1)
        case: Node = exp.Null()
        if numbers:
            case = exp.Case(ifs=[])
            for answer, of_rules in numbers.items():
                number = exp.Column(this=make_name(self._rule), table=own_name(self._decided))
                listed = is_in(number, [exp.Literal.number(index) for index in sorted(of_rules)])
                case.append("ifs", when(listed, self._table.write_label(answer)))
        if name == self._reliability:
            case = exp.Cast(this=case, to=exp.DataType.build("DOUBLE"))
        return exp.Alias(this=case, alias=make_name(name))
