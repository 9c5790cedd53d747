"""Rules that share rows, and rules that became an ancestor's, against slow versions."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import oracles
import pandas as pd
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.counting import coverage, masks
from secateur.errors import InputError
from secateur.tree.tree import Tree


def slow_overlaps(rules: secateur.Rules, X: Any, w: Any) -> dict[tuple[int, int], float]:
    """Walk one row and one pair of rules at a time."""
    tree = rules.tree
    shared: dict[tuple[int, int], float] = {}
    for place, row in enumerate(X):
        firing = [rule for rule in rules if oracles.satisfies(tree, row, rule.kept_ids)]
        for number, one in enumerate(firing):
            for other in firing[number + 1 :]:
                if one.prediction != other.prediction:
                    key = one.index, other.index
                    shared[key] = shared.get(key, 0.0) + (1.0 if w is None else w[place])
    return {key: weight for key, weight in shared.items() if weight}


@pytest.mark.parametrize("cost", [0, 256, 1 << 40])
@pytest.mark.parametrize("most_pairs", [3, 1 << 22])
@given(tree=strategies.trees(max_leaves=10), data=st.data())
@settings(max_examples=40, deadline=None)
def test_pairs_that_share_rows_are_those_of_one_row_at_a_time(
    most_pairs: int, cost: int, tree: Tree, data: st.DataObject
) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans()), max_rows=150))
    method = data.draw(st.sampled_from(["quinlan", "mismatch", "exact"]))
    settings = {"tolerance": 0.4} if method == "mismatch" else {}
    rules = secateur.simplify(tree, X, tree.classes[y], sample_weight=w, method=method, each_leaf=True, **settings)
    # Blocks of 64 rows, and pairs in pieces, listed or multiplied.
    sizes = {"MOST_PAIRS": most_pairs, "MOST_MARKS": 10 * most_pairs, "LISTED_COST": cost}
    with mock.patch.multiple(coverage, **sizes), mock.patch.object(masks, "MASK_BYTES", 1):
        found = rules.overlaps(X, sample_weight=w)
    assert {(one.first, one.second): one.rows for one in found} == slow_overlaps(rules, X, w)
    total = len(X) if w is None else sum(w)
    assert found.total == total
    assert [one.share for one in found] == [rows / total for rows in found.rows.tolist()]
    assert found.rows.tolist() == sorted(found.rows.tolist(), reverse=True)
    for one in found:
        assert one.first < one.second
        assert (one.first_prediction, one.second_prediction) == (
            rules[one.first].prediction,
            rules[one.second].prediction,
        )
    if method == "exact":
        assert len(found) == 0


def cancer_rules() -> tuple[Any, Any, secateur.Rules]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    return X, y, secateur.simplify(model, X, y, method="quinlan", class_names=["malignant", "benign"], each_leaf=True)


def test_batches_and_weights_in_a_column_give_the_same(tmp_path: Path) -> None:
    X, _, rules = cancer_rules()
    weights = np.arange(len(X)) % 4
    X.assign(weight=weights).to_parquet(tmp_path / "t.parquet", row_group_size=100)
    whole = rules.overlaps(X, sample_weight=weights)
    read = rules.overlaps(tmp_path / "t.parquet", sample_weight="weight")
    framed = rules.overlaps(X.assign(weight=weights), sample_weight="weight")
    for found in (read, framed):
        assert list(found) == list(whole)
        assert found.total == weights.sum()
    assert "weight" in str(read)
    with pytest.raises(InputError, match="sample_weight is zero for every row"):
        rules.overlaps(X, sample_weight=np.zeros(len(X)))


def test_of_a_list_only_rules_that_are_written_share_rows() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="quinlan", sections=1)
    assert len(rules) < rules.paths.n_rules
    shared = slow_overlaps(rules, X, None)
    assert {(one.first, one.second): one.rows for one in rules.overlaps(X)} == shared


def test_they_read_as_a_list_of_pairs_of_rules() -> None:
    X, _, rules = cancer_rules()
    found = rules.overlaps(X)
    lines = found.to_text(3).splitlines()
    first = found[0]
    assert lines[0] == f"{len(found)} pairs of rules of different classes with rows in common:"
    names = [rules[place].class_name for place in (first.first, first.second)]
    expected = f"  rule {first.first + 1} ({names[0]}) and rule {first.second + 1} ({names[1]}): {first.rows:g} rows, "
    assert lines[1] == f"{expected}{100 * first.share:.1f} % of all"
    assert lines[-1] == f"  … and {len(found) - 3} more"
    frame = found.to_frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    numbered = [vars(one) | {"first": one.first + 1, "second": one.second + 1} for one in found]
    named = [
        {"first_class_name": rules[one.first].class_name, "second_class_name": rules[one.second].class_name}
        for one in found
    ]
    assert frame.to_dict("records") == [one | names for one, names in zip(numbered, named, strict=True)]
    assert lines[1].startswith(f"  rule {frame['first'][0]} ({frame['first_class_name'][0]}) and rule")
    with pytest.raises(IndexError, match="found index"):
        found[len(found)]
    assert str(secateur.simplify(rules.tree, method="exact", each_leaf=True).overlaps(X)) == (
        "No two rules of different classes share a row."
    )


def test_rows_in_conflict_are_those_that_some_pair_shares() -> None:
    X, y, rules = cancer_rules()
    found = rules.overlaps(X)
    covers = rules.covers(X)
    shared = np.zeros(len(X), dtype=bool)
    for one in found:
        both = covers[:, one.first] & covers[:, one.second]
        assert both.sum() == one.rows
        shared |= both
    assert 100 * shared.mean() == pytest.approx(rules.audit(X, y).conflict)


@given(tree=strategies.trees(max_leaves=10), data=st.data())
@settings(max_examples=80, deadline=None)
def test_an_assimilated_rule_is_the_rule_of_an_ancestor(tree: Tree, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    method = data.draw(st.sampled_from(["quinlan", "mismatch", "exact", "none"]))
    settings = {"tolerance": 0.5} if method == "mismatch" else {}
    rules = secateur.simplify(tree, X, tree.classes[y], sample_weight=w, method=method, each_leaf=True, **settings)
    text = rules.to_text(reasons=True)
    for rule in rules:
        ancestors = [0, *oracles.path(tree, rule.leaf_id)][:-1]
        same = [node for node in ancestors if oracles.path(tree, node) == list(rule.kept_ids)]
        grew = (rule.support or 0) > (rule.source_support or 0)
        assert rule.assimilated_into == (same[0] if same and grew else None)
    into = rules.assimilated_into
    assert 100 * (into >= 0).mean() == pytest.approx(rules.audit(X, tree.classes[y], sample_weight=w).assimilated)
    assert text.count("     = assimilated: ") == (into >= 0).sum()
    assert "assimilated" not in rules.to_text()


def test_without_rows_nobody_knows_what_became_of_a_rule() -> None:
    _, _, rules = cancer_rules()
    alone = secateur.simplify(rules.tree, method="exact", each_leaf=True)
    assert all(rule.assimilated_into is None for rule in alone)


def test_pairs_of_a_list_in_sections_are_named_by_their_lines() -> None:
    X, y = load_digits(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, budget=0.1, tolerance=1, sections=3)
    first = rules.sections[0].otherwise
    assert first is not None
    found = rules.overlaps(X)
    assert found.second.max() > first.index  # from there on, a line's number is not its rule's
    for one in found:
        lines = rules.lines[one.first], rules.lines[one.second]
        assert (one.first_prediction, one.second_prediction) == tuple(line.prediction for line in lines)
        assert one.first_prediction != one.second_prediction
        told = [f"line {line.index + 1} ({line.class_name})" for line in lines]
        assert f"  {' and '.join(told)}: " in found.to_text()
        assert lines[0].words in html.unescape(found._repr_html_())
