"""z3 finds no row on which exact rules differ from their tree, and finds one for rules that were changed."""

from __future__ import annotations

import math
import subprocess
import sysconfig
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
import solving
import strategies
import told_trees
from export.forms import both_forms, in_form
from exported_rules import hostile_rules, ward_rules
from fuzz.smt_campaign import as_table, fit_pipeline, judge_some
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import secateur
from secateur.cli.app import app
from secateur.errors import ParameterError
from secateur.export import smtlib
from secateur.export.smtlib import rules_to_smtlib
from secateur.methods.without_rows import Exact
from secateur.rules.decision_list import double_limit
from secateur.tree.facts import Facts

GOLDEN = Path(__file__).parent / "golden"


def is_unsat(rules: secateur.Rules) -> bool:
    return not solving.solve(rules.tree, rules.to_smtlib()).differ


@pytest.mark.parametrize(("form", "golden"), [("each leaf", "ward"), ("list", "ward_list")])
def test_a_file_reads_like_this(form: str, golden: str) -> None:
    rules = in_form(form, ward_rules())
    assert rules.to_smtlib() == (GOLDEN / f"{golden}.smt2.txt").read_text(encoding="ascii")
    assert is_unsat(rules)


# --- what z3 says -----------------------------------------------------------------------------------------------------


@both_forms
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_exact_rules_give_unsat_and_changed_ones_what_brute_force_says(form: str, data: st.DataObject) -> None:
    tree = data.draw(strategies.trees() | told_trees.told_trees())
    asked = {"each_leaf": True} if form == "each leaf" else {"sections": data.draw(st.sampled_from(["auto", 1, 4]))}
    rules = secateur.simplify(tree, **asked)
    rng = Random(data.draw(st.integers(0, 10**6)))
    assert not solving.judge_rules(rules, rng).differ
    for _ in range(2):
        mutant = solving.mutate(rules, rng)
        if mutant is not None:
            solving.judge(*mutant[1:], rng)


@pytest.mark.long
def test_rules_of_random_trees_are_what_z3_and_brute_force_say() -> None:
    done = judge_some(15)
    for name in ("list", "list in sections", "each leaf"):
        words = name.replace("list", "list of values") if "list" in name else f"{name} of values"
        assert done[f"{name}, unsat"] + done[f"{words}, unsat"] == 15
    assert done["list of values, unsat"]
    assert done["edited list, sat"]
    assert done["mutant share, sat"] + done["mutant otherwise, share, sat"] > 0
    changed = sum(count for name, count in done.items() if name.startswith("mutant") and name.endswith(", sat"))
    assert changed > 50


def test_one_condition_too_few_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Exact.delete

    def careless(method: Exact, problem: object) -> object:
        made = honest(method, problem)  # type: ignore[arg-type]
        made.deleted[np.flatnonzero(~made.deleted)[0]] = True
        return made

    monkeypatch.setattr(Exact, "delete", careless)
    X, y = load_iris(return_X_y=True)
    rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), X, y, each_leaf=True)
    with pytest.raises(solving.WrongAnswerError, match="rules that promise the tree's answers differ from it"):
        solving.judge_rules(rules, Random(0))


@pytest.mark.parametrize("towards", [-math.inf, math.inf])
def test_a_limit_that_is_off_by_one_double_is_found(monkeypatch: pytest.MonkeyPatch, towards: float) -> None:
    X, y = load_iris(return_X_y=True)
    rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), X, y)
    assert is_unsat(rules)
    monkeypatch.setattr(
        smtlib, "double_limit", lambda limit, dtype: math.nextafter(double_limit(limit, dtype), towards)
    )
    assert not is_unsat(rules)


def test_the_row_that_z3_finds_is_answered_differently_by_model_and_rules() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, budget=0.02)
    text = rules.to_smtlib()
    assert "; Expected: sat or unsat; sat breaks no promise" in text
    assert "at most 2 % get another class than from the tree" in " ".join(text.split("\n; "))
    row = solving.solve(rules.tree, text).row
    assert row is not None
    assert rules.predict([row]) != model.predict([row])


@pytest.mark.long
def test_a_row_before_a_pipeline_is_answered_differently_by_model_and_rules() -> None:
    model, table, y = fit_pipeline(Random(5))
    assert is_unsat(secateur.simplify(model, table, y))
    rules = secateur.simplify(model, table, y, budget=0.2)
    row = solving.solve(rules.tree, rules.to_smtlib()).row
    assert row is not None
    found = as_table(rules.tree, np.array([row]))[table.columns]
    assert rules.predict(found) != model.predict(found)


def test_only_the_facts_that_the_guarantee_names_are_asserted() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age", "dose"])
    root = builder.split("age", 30.5)
    builder.leaf([9, 1], parent=root, side="left")
    inner = builder.split("age", 30.7, parent=root, side="right")
    builder.leaf([1, 9], parent=inner, side="left")
    last = builder.split("dose", 1, parent=inner, side="right")
    builder.leaf([7, 1], parent=last, side="left")
    builder.leaf([8, 1], parent=last, side="right")
    known = ["age is a whole number", "dose <= 100"]
    rules = secateur.simplify(builder.build(), facts=known)
    assert rules.assumptions == ("age is a whole number",)
    text = rules.to_smtlib()
    assert "age is a whole number" in text
    assert "100" not in text
    assert is_unsat(rules)
    untold = rules.change()
    vars(untold)["assumptions"] = ()
    assert not is_unsat(untold), "without that fact, 30.6 is a row on which they differ"


# --- what the file says of itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [True, False])
@both_forms
def test_hostile_names_stay_in_comments(form: str, numbers: bool) -> None:
    rules = in_form(form, hostile_rules(numbers=numbers))
    text = rules.to_smtlib()
    assert text.isascii()
    commands = ("(set-", "(declare-const ", "(define-fun ", "(assert ", "(check-sat)")
    for line in text.split("\n"):
        assert line.startswith((";", *commands)) or not line, line
        assert line.isprintable()
    assert is_unsat(rules)


@pytest.mark.long
def test_a_surrogate_is_not_taken_for_its_model() -> None:
    X, y = load_iris(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    rules = secateur.approximate(model, X, y)
    words = " ".join(rules.to_smtlib().split("\n; "))
    assert "The tree is a surrogate; nothing here is about the model that it stands for" in words
    assert is_unsat(rules)


def test_a_forest_is_written_tree_by_tree() -> None:
    X, y = load_iris(return_X_y=True)
    forest = secateur.simplify(RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y), X, y, each_leaf=True)
    with pytest.raises(AttributeError, match=r"ask those of one tree, such as forest_rules\[0\].to_smtlib"):
        forest.to_smtlib()
    assert all(is_unsat(rules) for rules in forest)


def test_rules_without_an_order_are_rejected() -> None:
    X, y = load_iris(return_X_y=True)
    tree = secateur.from_model(DecisionTreeClassifier(random_state=0).fit(X, y))
    rules = replace(secateur.simplify(tree, X, y, method="mismatch", each_leaf=True))
    unranked = replace(rules, making=replace(rules.making, is_ranked=False))
    with pytest.raises(ParameterError, match="without training rows they have no ranking"):
        unranked.to_smtlib()


def test_a_tree_of_one_leaf_is_written() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    builder.leaf([9, 1])
    for each_leaf in (False, True):
        assert is_unsat(secateur.simplify(builder.build(), each_leaf=each_leaf))


def test_a_number_that_is_read_from_text_says_what_it_means(tmp_path: Path) -> None:
    days, amounts = pd.date_range("2020-01-01", periods=300), np.random.default_rng(0).integers(100, 9_000, 300)
    late = np.where((days > "2020-06-01") & (amounts > 3_000), "late", "paid")
    table = pd.DataFrame({"since": days.strftime("%d.%m.%Y"), "amount": [f"€{one:,}" for one in amounts], "y": late})
    table.to_csv(tmp_path / "loans.csv", index=False)
    asked = ["simplify", str(tmp_path / "loans.csv"), "--target", "y", "-o", str(tmp_path / "rules.json")]
    assert CliRunner().invoke(app, asked).exit_code == 0
    rules = secateur.Rules.from_json((tmp_path / "rules.json").read_text(encoding="utf-8"))
    text = rules.to_smtlib()
    assert "; since: days since 1970-01-01, read from dd/mm/yyyy" in text
    assert "; amount: a number, read from \\u20ac" in text
    assert is_unsat(rules)


def test_the_command_line_and_the_solver_run_as_the_file_says(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), X, y)
    (tmp_path / "rules.json").write_text(rules.to_json(), encoding="utf-8")
    asked = ["export", str(tmp_path / "rules.json"), "-o", str(tmp_path / "rules.smt2")]
    assert CliRunner().invoke(app, asked).exit_code == 0
    assert (tmp_path / "rules.smt2").read_text(encoding="utf-8") == rules_to_smtlib(rules)
    solver = Path(sysconfig.get_path("scripts")) / "z3"  # of the package that the tests ask
    ran = subprocess.run([solver, "rules.smt2"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "unsat\n"


# --- the bounds -------------------------------------------------------------------------------------------------------

LIMITS = st.floats(allow_nan=False) | st.sampled_from(
    [0.1, 1 / 3, 2.0**128, -(2.0**128), 3.4028235677973366e38, 1e-46, -1e-46, 0.0, -0.0, math.inf]
)


@given(limits=st.lists(LIMITS, min_size=1, max_size=5), dtype=st.sampled_from(["float32", "float64"]))
@settings(deadline=None)
def test_the_last_double_is_the_last(limits: list[float], dtype: str) -> None:
    kind = np.dtype(dtype).type
    for limit, last in zip(limits, smtlib._last_doubles(np.array(limits), dtype).tolist(), strict=True):
        with np.errstate(over="ignore"):
            assert float(kind(last)) <= limit
            following = math.nextafter(last, math.inf)
            assert last == math.inf or float(kind(following)) > limit
            if math.isfinite(limit) and float(kind(limit)) == limit:
                assert double_limit(limit, dtype) == last


@given(limit=st.floats(allow_nan=False, allow_infinity=False), n_decimals=st.integers(0, 15))
@settings(deadline=None)
def test_the_last_step_is_the_last(limit: float, n_decimals: int) -> None:
    tree = ward_rules().tree
    facts = Facts(integers=(0,)) if n_decimals == 0 else Facts(decimals=((0, n_decimals),))
    steps = smtlib._Columns(tree, facts)._last_step(0, limit)

    def read(count: int) -> float:
        try:
            return float(Fraction(count, 10**n_decimals))
        except OverflowError:
            return math.inf if count > 0 else -math.inf

    assert read(steps) <= limit < read(steps + 1)
