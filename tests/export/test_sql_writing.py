"""Pieces that are joined as text read as the whole syntax tree would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from secateur.export.sql_columns import Node, Writer, join, make_name, make_number, when

COMPARISONS = (exp.GT, exp.LTE, exp.EQ)
conditions = st.recursive(
    st.builds(
        lambda compare, name, number: compare(this=exp.Column(this=make_name(name)), expression=make_number(number)),
        st.sampled_from(COMPARISONS),
        st.text(min_size=1, max_size=12).filter(lambda name: "\0" not in name),
        st.floats(-1e6, 1e6, allow_nan=False),
    ),
    lambda parts: st.lists(parts, min_size=2, max_size=3).map(lambda some: exp.or_(*some)),
    max_leaves=4,
)


@given(st.lists(st.tuples(st.lists(conditions, min_size=1, max_size=5), st.text(max_size=20)), min_size=1, max_size=5))
def test_a_case_is_written_as_sqlglot_writes_it(rules: list[tuple[list[Node], str]]) -> None:
    case = exp.Case(ifs=[])
    for number, (asked, words) in enumerate(rules):
        case.append("ifs", when(join(exp.and_, [part.copy() for part in asked]), make_number(number), words.strip()))
    case.set("default", make_number(7))
    for dialect in ("duckdb", "postgres", "sqlite", "tsql", "spark"):
        writer, branches = Writer(dialect), []
        for number, (asked, words) in enumerate(rules):
            branches += writer.write_branch(writer.join_by_and(asked), str(number), words.strip())
        written = exp.select(writer.join_case(branches, "7")).sql(dialect=dialect, pretty=True)
        assert written == exp.select(case).sql(dialect=dialect, pretty=True), dialect


def test_many_conditions_are_joined_in_groups() -> None:
    asked = [exp.EQ(this=exp.column("x"), expression=make_number(place)) for place in range(450)]
    written = Writer("sqlite").join_by_and([part.copy() for part in asked])
    assert written == join(exp.and_, asked).sql(dialect="sqlite", pretty=True)


def test_a_long_list_of_numbers_has_lines() -> None:
    writer = Writer("duckdb")
    assert writer.write_is_in("x", ["3"]) == "x = 3"
    assert writer.write_is_in("x", ["3", "5"]) == "x IN (3, 5)"
    lines = writer.write_is_in("x", [str(number) for number in range(45)]).split("\n")
    assert (lines[0], lines[1][:8], lines[-1], len(lines)) == ("x IN (", "  0, 1, ", ")", 5)
