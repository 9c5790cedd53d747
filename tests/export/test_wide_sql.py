"""Statements over a thousand columns: databases limit how deep an expression may be."""

from __future__ import annotations

import sqlite3
from functools import cache

import duckdb
import numpy as np
import pandas as pd
import pytest
from sqlglot import exp, parse_one

import secateur
from secateur.export.sql_columns import MOST_JOINED, join


@cache
def make_wide_rules(shape: str, n_columns: int) -> secateur.Rules:
    """Rules that ask every column: many short ones, or a single one that asks all."""
    names = [f"g{place}" for place in range(n_columns)]
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=names)
    if shape == "one long rule":
        at = builder.split(names[0], 0.5)
        for name in names[1:]:
            builder.leaf([5, 1], parent=at, side="left")
            at = builder.split(name, 0.5, parent=at, side="right")
        builder.leaf([5, 1], parent=at, side="left")
        builder.leaf([1, 5], parent=at, side="right")
        return secateur.simplify(builder.build(), otherwise="no", sections=1)
    root = builder.split(names[0], 0.5)
    open_ends = [(root, "left"), (root, "right")]
    for name in names[1:]:
        parent, side = open_ends.pop(0)
        node = builder.split(name, 0.5, parent=parent, side=side)
        open_ends += [(node, "left"), (node, "right")]
    for place, (parent, side) in enumerate(open_ends):
        builder.leaf([5, 1] if place % 3 else [1, 5], parent=parent, side=side)
    return secateur.simplify(builder.build(), method="exact", each_leaf=True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("shape", "database", "n_columns"),
    [
        *(("one long rule", "sqlite", 250), ("one long rule", "duckdb", 250)),
        *(("many short rules", "sqlite", 1000), ("many short rules", "duckdb", 250)),
    ],
)
def test_rules_over_many_columns_run(shape: str, database: str, n_columns: int) -> None:
    rules = make_wide_rules(shape, n_columns)
    drawn = np.random.default_rng(0).random((40, n_columns))
    rows = pd.DataFrame((drawn < 0.5).astype(float), columns=rules.tree.feature_names)
    rows.iloc[:5] = 1.0
    rows.iloc[4, -1] = 0.0
    expected = rules.predict(rows).tolist()
    assert set(expected) == {"no", "yes"}
    if database == "duckdb":
        found = duckdb.sql(rules.to_sql("duckdb")).fetchall()
    else:
        connection = sqlite3.connect(":memory:")
        # By default it takes 1,000 levels, and a list for a rule of 1,000 conditions is long in the making.
        connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, n_columns)
        rows.to_sql("rows", connection, index=False)
        connection.execute("INSERT INTO rows (g1) VALUES ('not a number')")
        found = connection.execute(rules.to_sql("sqlite")).fetchall()
        connection.close()
        expected.append(None)
    assert [row[0] for row in found] == expected


@pytest.mark.parametrize("n_parts", [1, 2, MOST_JOINED, MOST_JOINED + 1, 5 * MOST_JOINED])
def test_conditions_in_groups_mean_the_same(n_parts: int) -> None:
    made = join(exp.or_, [exp.EQ(this=exp.column("x"), expression=exp.Literal.number(k)) for k in range(n_parts)])
    listed = [found.expression.name for found in parse_one(made.sql()).find_all(exp.EQ, bfs=False)]
    assert sorted(map(int, listed)) == list(range(n_parts))
    assert ("(" in made.sql()) == (n_parts > MOST_JOINED)
