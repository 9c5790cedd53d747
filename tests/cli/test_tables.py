"""The commands on a person's own files: what they print, write and return."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
import skops.io
from loans import make_loans
from typer.testing import CliRunner, Result

import secateur
from secateur.cli.app import COMMANDS, app, make_app
from secateur.cli.console import errors, out
from secateur.cli.options import DIALECTS, Export, Format, complete_dialect, complete_method
from secateur.cli.tables.table_file import read_table
from secateur.errors import FormatError, ParameterError
from secateur.export.formats import FORMATS
from secateur.export.listing import make_listing
from secateur.export.sql_dialects import DIALECTS as SQL_DIALECTS
from secateur.export.text import lay_out
from secateur.results.answer import describe_rows
from secateur.rows.file_bytes import FORMATS as files_formats
from secateur.rows.file_queries import MISSING
from secateur.tree.difference import find_tree_differences

SCRIPT = Path(sys.executable).with_name("secateur")
MISMATCH = ("--each-leaf", "--method", "mismatch")


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    for console in (out, errors):
        monkeypatch.setattr(console, "width", 250)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Loans, their rules by two methods and another training, short lists of both trainings, and the fitted model."""
    place = tmp_path_factory.mktemp("files")
    loans = make_loans().drop(columns="applied")  # dates have tests of their own, and PMML takes none
    loans.loc[[3, 7], "outcome"] = None
    loans.to_csv(place / "loans.csv", index=False)
    make_loans(seed=1).drop(columns="applied").to_csv(place / "later.csv", index=False)
    for name, options in {
        "rules.json": ("loans.csv", *MISMATCH, "--save-model", str(place / "model.skops")),
        "exact.json": ("loans.csv", "--each-leaf"),
        "later.json": ("later.csv", "--each-leaf"),
        "list.json": ("loans.csv",),
        "budget.json": ("loans.csv", "--budget", "0.02"),
        "later_list.json": ("later.csv",),
    }.items():
        data, *rest = options
        result = invoke(
            *("simplify", str(place / data), "--target", "outcome", "--output", str(place / name), "-q", *rest)
        )
        assert result.exit_code == 0, result.output
    return place


def invoke(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def load(path: Path) -> secateur.Rules:
    return secateur.Rules.from_json(path.read_text(encoding="utf-8"))


def run(files: Path) -> tuple[str | Path, ...]:
    """What a person types to begin with."""
    return "simplify", files / "loans.csv", "--target", "outcome"


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


# simplify


def test_simplify_tells_what_was_left_out_the_rules_and_what_is_preserved(files: Path) -> None:
    result = invoke("simplify", files / "loans.csv", "--target", "outcome", *MISMATCH, "--verbose")
    rules = load(files / "rules.json")
    assert result.exit_code == 0
    assert "loans.csv predicts outcome: of 298 training rows, " in one_line(result.stdout)
    aside = "Set aside 100 of 398 rows, drawn from each class (seed 0), to measure on; the tree has not seen them"
    assert f"{aside} (--holdout 0 uses all)." in one_line(result.stdout)
    assert "Left out 2 rows without a value of 'outcome'." in result.stdout
    assert "Left out 'bank': it has the same value in every row." in result.stdout
    for rule in rules:
        assert f"{rule.class_name} if {rule.asked}" in one_line(result.stdout)
    assert "of 100 unseen rows" in one_line(result.stdout)
    assert "; always saying repaid is right for 61.0 %." in one_line(result.stdout)
    assert "Verified." in result.stdout
    left = f"{rules.n_conditions} of {rules.tree_conditions} conditions left"
    assert f"One rule for each of {len(rules)} leaves, by {rules.method}: {left}." in result.stdout


@pytest.mark.long
def test_what_rules_of_leaves_change_is_told_beside_the_guarantee_of_their_method(files: Path) -> None:
    shown = invoke(*run(files), "--each-leaf", "--method", "quinlan").stdout
    content = json.loads(invoke(*run(files), "--each-leaf", "--method", "quinlan", "--json").stdout)
    told, audit = one_line(shown), content["audit"]
    assert f"Right for {audit['accuracy']:.1f} % of 100 unseen rows" in told
    differs = f"{100 - audit['agreement']:.1f} %"
    assert f"The answer differs from the tree's on {differs} of 100 unseen rows; on new rows, " in told
    assert "An independent check recounted the training rows." in told
    assert f"Guarantee: {content['guarantee']}" in told
    assert "no answer changes" not in told
    assert "More: --reasons (why), --verbose (proofs)" in told
    reasons = one_line(invoke(*run(files), "--each-leaf", "--method", "quinlan", "--reasons").stdout)
    for place, line in enumerate(content["rules"]["lines"][:5]):
        for reason in line["reasons"]:
            assert reason["text"] in reasons, place


@pytest.mark.long
@pytest.mark.parametrize(("file", "budget"), [("list.json", "0"), ("budget.json", "0.02")])
def test_simplify_prints_a_short_list(file: str, budget: str, files: Path) -> None:
    result = invoke("simplify", files / "loans.csv", "--target", "outcome", "--budget", budget)
    rules = load(files / file)
    assert result.exit_code == 0
    told = one_line(result.stdout)
    for line in lay_out(replace(make_listing(rules), before=(), after=())).splitlines():
        assert one_line(line) in told
    kept = (
        "Compared with the tree, no answer changes, and no probability moves by more than 10 points, for any possible "
    )
    assert (kept in told) == (budget == "0")
    spent = (
        "At most 2 % of the training rows, of all and of each class that the tree predicts, get another class than "
        "from the tree, or a "
    )
    assert (spent in told) == (budget != "0")
    assert len(rules.sections) > 1
    size = f"{rules.n_lines} lines in {len(rules.sections)} sections with {rules.n_conditions} conditions"
    assert f"{size}; the tree has {rules.tree_rules} rules with {rules.tree_conditions}." in told
    assert "Verified." not in told
    verbose = invoke(*run(files), "--budget", budget, "--verbose").stdout
    assert rules.guarantee in one_line(verbose.replace("│", " "))
    assert "differs from the tree on " in verbose
    assert ("Verified." in verbose) == (budget == "0")
    unpriced = "numbers behind these kinds of reasons are taken as stated: "
    assert (unpriced in one_line(verbose)) == (budget != "0")
    reasons = one_line(invoke(*run(files), "--budget", budget, "--reasons").stdout)
    assert all(reason.text in reasons for rule in rules for reason in rule.reasons.values())


def test_a_short_list_says_what_the_tree_says(files: Path) -> None:
    rules, exact, model = load(files / "list.json"), load(files / "exact.json"), files / "model.skops"
    rows = read_table(files / "loans.csv").frame[list(exact.tree.feature_names or ())]
    tree = skops.io.load(model, trusted=["sklearn.tree._tree.Tree"])
    assert rules.predict(rows).tolist() == exact.predict(rows).tolist() == tree.predict(rows).tolist()
    assert rules.n_conditions < exact.n_conditions / 2


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_short_list_fits_the_screen(width: int, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "width", width)
    shown = invoke(*run(files)).stdout
    start, end = shown.index("1. "), shown.index("Next: ")
    words = one_line(shown[start:end])
    for line in load(files / "list.json").lines:
        assert line.asked in words
        assert describe_rows(line) in words
    assert max(map(len, shown[start:end].splitlines())) <= width


@pytest.mark.long
def test_the_class_of_otherwise_is_chosen(files: Path) -> None:
    for label in ("repaid", "default"):
        content = json.loads(invoke(*run(files), "--otherwise", label, "--json").stdout)
        assert content["each_leaf"] is False
        leaves, tree = content["rules"]["leaves"], load(files / "list.json").tree
        for line in content["rules"]["lines"]:
            if line["leaf_id"] is None:  # of a section in which the class occurs
                node = content["rules"]["sections"][line["section"]]
                first, last = (int(runs[node]) for runs in tree.leaf_runs)
                assert line["prediction"] == label or label not in leaves["predictions"][first:last]
    rejected = invoke(*run(files), "--otherwise", "repayed")
    assert "Did you mean 'repaid'?" in str(rejected.exception)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--each-leaf", "--tolerance", "0.1"), "The method 'exact' reads no tolerance: leave tolerance out, or use"),
        (("--method", "none", "--tolerance", "0.1"), "--tolerance would do nothing: the method 'none' reads none."),
        (("--each-leaf", "--sections", "2"), "--sections is for a short list"),
        (("--each-leaf", "--of", "repaid"), "--of is for a short list"),
        (("--each-leaf", "--otherwise", "repaid"), "--otherwise is for a short list: leave it out, or leave out --eac"),
        (("--each-leaf", "--budget", "0.1"), "--budget is for a short list: leave it out, or leave out --each-leaf"),
        (("--each-leaf", "--budget", "0"), "--budget is for a short list"),
        (("--max-conflict", "0.1"), "The method 'exact' does not read max_conflict; 'budgeted' does."),
        (("--method", "budgeted", "--max-conflict", "2"), "Expected max_conflict as a number from 0 to 1, found 2"),
        (("--budget", "1.5"), "Expected budget as a number from 0 to 1, found 1.5"),
        (("--budget", "0.1", "--tolerance", "-1"), "Expected tolerance as a number that is not negative, found -1"),
        (("--budget", "0.1", "--tolerance", "1.5"), "Expected tolerance as a number from 0 to 1, found 1.5"),
    ],
)
def test_options_that_could_be_misread_are_rejected(options: tuple[str, ...], sentence: str, files: Path) -> None:
    rejected = invoke(*run(files), *options)
    assert isinstance(rejected.exception, ParameterError)
    assert sentence in str(rejected.exception)


@pytest.mark.long
def test_a_budget_is_of_the_list_and_a_conflict_of_the_method(files: Path) -> None:
    of_method = ("--method", "budgeted", "--max-conflict", "0.1", "--json")
    leaves = json.loads(invoke(*run(files), "--each-leaf", *of_method).stdout)
    assert (leaves["each_leaf"], leaves["budget"], leaves["parameters"]["max_conflict"]) == (True, 0, 0.1)
    few = json.loads(invoke(*run(files), "--budget", "0.1", "--tolerance", "0.2", "--json").stdout)
    assert (few["each_leaf"], few["method"], few["budget"], few["tolerance"]) == (False, "exact", 0.1, 0.2)
    assert few["audit"]["agreement"] >= 80
    assert few["tree_rules"] == leaves["tree_rules"] == leaves["n_rules"] > few["n_rules"]
    both = json.loads(invoke(*run(files), *of_method, "--budget", "0.2", "--holdout", "0").stdout)
    assert (both["method"], both["budget"], both["parameters"]["max_conflict"]) == ("budgeted", 0.2, 0.1)


def test_a_budget_without_rows_is_rejected(files: Path) -> None:
    rejected = invoke("simplify", "--model", files / "model.skops", "--budget", "0.01")
    assert str(rejected.exception) == "A budget is spent on training rows: name DATA, or leave out --budget."


@pytest.mark.parametrize("method", secateur.METHODS)
def test_the_short_list_of_every_method_is_verified(method: str, files: Path) -> None:
    result = invoke(*run(files), "--max-depth", "3", "--method", method, "--verbose")
    assert result.exit_code == 0, result.output
    unpriced = method in ("budgeted", "quinlan")
    assert ("Verified." in result.stdout) == (not unpriced)
    assert ("Nothing is wrong, but not everything was checked." in result.stdout) == unpriced


def test_the_model_that_is_saved_predicts_what_exact_rules_predict(files: Path) -> None:
    model = skops.io.load(files / "model.skops", trusted=["sklearn.tree._tree.Tree"])
    rules = load(files / "exact.json")
    table = read_table(files / "loans.csv")
    rows = table.frame[list(model.feature_names_in_)]
    assert (rules.predict(rows) == model.predict(rows)).all()
    assert {condition.name for rule in rules for condition in rule.conditions} <= set(model.feature_names_in_)


@pytest.mark.long
def test_a_model_that_is_brought_gives_the_same_rules(files: Path, tmp_path: Path) -> None:
    whole = (*run(files), "--each-leaf", "--holdout", "0", "--save-model", tmp_path / "whole.skops")
    assert invoke(*whole, "-o", tmp_path / "whole.json", "-q").exit_code == 0
    for source in ("whole.skops", "whole.json"):
        result = invoke(
            *("simplify", files / "loans.csv", "--target", "outcome", "--model", tmp_path / source),
            *("--each-leaf", "--export", "json", "--output", tmp_path / f"again-{source}"),
        )
        assert result.exit_code == 0, result.output
        found, expected = load(tmp_path / f"again-{source}"), load(tmp_path / "whole.json")
        assert found.leaf_support.tolist() == expected.leaf_support.tolist()
        assert find_tree_differences(found.tree, expected.tree) == []


def test_a_model_alone_gives_its_exact_rules(files: Path) -> None:
    result = invoke("simplify", "--model", files / "model.skops", "--export", "text", "--each-leaf")
    assert result.exit_code == 0
    assert result.stdout.count(" if ") == len(load(files / "exact.json"))
    few = invoke("simplify", "--model", files / "model.skops", "--export", "text").stdout
    assert 0 < few.count("rows unknown") < result.stdout.count(" if ")  # the tree counted leaves, not rules
    assert " otherwise" in few


def test_the_same_table_from_standard_input(files: Path) -> None:
    content = (files / "loans.csv").read_bytes()
    result = invoke("simplify", "-", "--target", "outcome", *MISMATCH, "--export", "json", stdin=content)
    assert json.loads(result.stdout) == json.loads((files / "rules.json").read_text())
    few = invoke("simplify", "-", "--target", "outcome", "--export", "json", stdin=content)
    assert json.loads(few.stdout) == json.loads((files / "list.json").read_text())


def test_json_is_one_document_and_nothing_else(files: Path) -> None:
    result = invoke("simplify", files / "loans.csv", "--target", "outcome", *MISMATCH, "--json")
    content = json.loads(result.stdout)
    assert content["verified"] is True
    assert content["each_leaf"] is True
    assert content["n_conditions"] == load(files / "rules.json").n_conditions
    assert content["rules"] == json.loads((files / "rules.json").read_text())
    assert content["audit"]["n_rows"] == 100
    assert any("bank" in note for note in content["notes"])
    few = json.loads(invoke("simplify", files / "loans.csv", "--target", "outcome", "--json").stdout)
    rules = load(files / "list.json")
    assert few["rules"] == json.loads((files / "list.json").read_text())
    found = (few["n_conditions"], few["n_rules"], few["audit"]["agreement"])
    assert found == (rules.n_conditions, len(rules), 100)


def test_quiet_prints_nothing(files: Path, tmp_path: Path) -> None:
    result = invoke("simplify", files / "loans.csv", "--target", "outcome", "-q", "-o", tmp_path / "rules.sql")
    assert result.exit_code == 0
    assert result.output == ""
    assert (tmp_path / "rules.sql").read_text().rstrip().endswith("FROM decided")


@pytest.mark.parametrize("more", [(), ("--each-leaf",)], ids=["list", "each leaf"])
def test_the_sql_of_a_table_is_run_on_the_file_itself(more: tuple[str, ...], files: Path) -> None:
    statement = invoke(
        *("simplify", files / "loans.csv", "--target", "outcome", "--export", "sql", "--sql-table", "loans", *more),
    ).stdout
    rules = load(files / "exact.json")  # which the short list agrees with
    with duckdb.connect() as connection:
        path = str(files / "loans.csv")
        # DuckDB alone would read yes and no as truth values.
        connection.execute(f"CREATE TABLE loans AS SELECT * FROM read_csv('{path}', types = {{'member': 'VARCHAR'}})")
        connection.execute(
            "ALTER TABLE loans ALTER member TYPE VARCHAR USING CASE WHEN member THEN 'yes' ELSE 'no' END"
        )
        found = connection.execute(statement).df().sort_values("number")
    table = read_table(files / "loans.csv")
    rows = table.frame[list(rules.tree.feature_names or ())]
    assert found["prediction"].tolist() == rules.predict(rows).tolist()


@pytest.mark.parametrize("kind", ["sql", "python", "json", "markdown", "latex", "csv", "text", "html"])
def test_an_export_goes_to_the_screen_alone_or_to_a_file(kind: str, files: Path, tmp_path: Path) -> None:
    rules = load(files / "exact.json")
    expected = {"json": rules.to_json, "text": rules.to_text, "csv": rules.to_csv}
    expected["sql"] = lambda: rules.to_sql(blanks=MISSING)  # the texts that the reader of tables takes for blanks
    shown = invoke("export", files / "exact.json", "--format", kind)
    assert shown.exit_code == 0, shown.output
    if kind in expected:
        assert shown.stdout.splitlines() == expected[kind]().splitlines()
    target = tmp_path / "out.file"
    assert invoke("export", files / "exact.json", "--format", kind, "-o", target, "-q").output == ""
    assert len(target.read_text(encoding="utf-8")) > 100


def test_the_ending_of_the_output_tells_the_format(files: Path, tmp_path: Path) -> None:
    invoke("export", files / "exact.json", "-o", tmp_path / "rules.py")
    assert "def predict" in (tmp_path / "rules.py").read_text()
    assert invoke("export", files / "exact.json", "-o", "-", "-f", "sql").stdout.startswith("-- 18 rules by secateur")


def test_rows_that_are_held_out_are_measured_on(files: Path) -> None:
    arguments = ("simplify", files / "loans.csv", "--target", "outcome", "--holdout", "0.25", "--json")
    content = json.loads(invoke(*arguments).stdout)
    assert content["audit"]["n_rows"] == 100
    assert content["audited_on"] == "100 unseen rows"
    assert content["measures"]["rows"] == "100 unseen rows"


@pytest.mark.long
def test_what_the_table_shows_is_a_stated_fact_unless_no_facts_are_taken(files: Path) -> None:
    command = ("simplify", files / "loans.csv", "--target", "outcome", "--max-depth", "3")
    options = ((), ("--no-facts",), ("--fact", "age <= 99"))
    taken, plain, stated = (invoke(*command, "--each-leaf", "--verbose", *more).stdout for more in options)
    asked = [line for line in plain.splitlines() if "age" in line and "or is missing" in line]
    assert asked  # else this would test nothing
    assert "Stated facts, as the table shows them: age is a whole number" in taken
    assert "age is not missing" in taken
    assert "Stated facts" not in plain
    assert not re.search(r"age [<>≤≥]+ [\d.]+ or is missing", taken)
    assert "age <= 99" in stated


def test_options_that_would_do_nothing_are_rejected(files: Path) -> None:
    for arguments, words in (
        (("report", files / "rules.json", "-o", files / "no.html", "--method", "exact"), "holds rules already"),
        (("simplify", "--table", "weather", "--holdout", "0.5"), "are about rows of DATA"),
        (("simplify", "--drop", "age"), "are about rows of DATA"),
        (
            *(
                (
                    "simplify",
                    files / "loans.csv",
                    "--target",
                    "outcome",
                    "--model",
                    files / "model.skops",
                    "--max-depth",
                    "1",
                ),
            ),
            "are for a tree that is fitted here",
        ),
    ):
        result = invoke(*arguments)
        assert isinstance(result.exception, ParameterError)
        assert words in str(result.exception)


@pytest.mark.long
def test_nobody_says_that_a_model_has_not_seen_the_rows_held_out(files: Path) -> None:
    command = ("simplify", files / "loans.csv", "--target", "outcome", "--holdout", "0.3")
    assert "of 120 unseen rows" in one_line(invoke(*command).stdout)
    brought = invoke(*command, "--model", files / "model.skops").stdout
    assert "has not seen" not in brought
    assert "unseen" not in brought
    assert "rows set aside, which the model may have seen" in one_line(brought)


def test_verify_tells_what_is_false_from_what_needs_rows(files: Path) -> None:
    result = invoke("verify", files / "rules.json")
    assert result.exit_code == 2
    assert "name the table that the rules were made from with --data FILE --target COLUMN" in one_line(result.output)
    assert "✓ one rule for each leaf" in result.stdout
    assert "? The reliabilities were not recounted: no rows were named." in result.stdout
    assert "Nothing is wrong, but not everything was checked." in result.stdout
    alone = invoke("verify", files / "exact.json")
    assert alone.exit_code == 2
    assert "– not recounted, because no training rows were passed: " in alone.stdout
    assert "– not compared, because no model was passed: the splits of the tree, " in one_line(alone.stdout)
    quiet = invoke("verify", files / "exact.json", "-q")
    assert (quiet.exit_code, quiet.stdout) == (2, "")
    assert "Not checked: not compared, because no model was passed: " in one_line(quiet.stderr)


def test_explain_says_that_a_row_is_outside_of_the_promise(files: Path) -> None:
    row = {"age": 30.5, "income": 1000, "purpose": "car", "member": "no", "children": 1}
    told = invoke("explain", files / "exact.json", "--row", json.dumps(row)).stdout
    is_assumed = "age is a whole number" in load(files / "exact.json").assumptions
    assert ("The guarantee does not apply to this row" in told) == is_assumed
    assert "violates stated facts" in told
    assert told.rstrip().endswith(": age is a whole number.")
    usual = invoke("explain", files / "exact.json", "--row", json.dumps({**row, "age": 30})).stdout
    assert "violates" not in usual


@pytest.mark.long
def test_explain_many_rows_names_the_rules_that_decide(files: Path) -> None:
    rules = load(files / "exact.json")
    told = json.loads(invoke("explain", files / "exact.json", files / "later.csv", "--json").stdout)
    rows = read_table(files / "later.csv").frame[list(rules.tree.feature_names or ())]
    assert [one["line"] for one in told] == (rules.apply(rows) + 1).tolist()
    assert [one["prediction"] for one in told] == rules.predict(rows).tolist()
    reasons = json.loads(invoke("explain", files / "exact.json", files / "later.csv", "--json", "--why").stdout)
    assert [one["line"] for one in reasons] == [one["line"] for one in told]
    assert reasons[0]["reasons"]


def test_the_lists_of_formats_agree() -> None:
    assert [kind.value for kind in Export] == list(FORMATS)
    assert [kind.value for kind in Format] == list(files_formats)
    assert list(DIALECTS) == list(SQL_DIALECTS)


def test_a_missing_target_and_dropped_columns(files: Path) -> None:
    shown = invoke("simplify", files / "loans.csv", "--target", "outcome", "--drop", "income,age", "--drop", "member")
    assert shown.exit_code == 0
    answer, _, again = shown.stdout.partition("Next: ")
    assert "income" not in answer
    assert "--drop income,age --drop member" in again, "the next command drops them, too"


def test_a_label_does_nothing_to_the_terminal(tmp_path: Path) -> None:
    rows = "".join(
        f"{n},{'x' if n < 20 else chr(27) + ']0;title' + chr(7) + chr(155) + '2J'}\n" for n in range(40, 0, -1)
    )
    (tmp_path / "t.csv").write_text(f"n\x1b[31m,y\n{rows}{rows}", encoding="utf-8")
    shown = invoke("simplify", tmp_path / "t.csv", "--target", "y")
    assert shown.exit_code == 0, shown.output
    assert r"\x1b]0;title" in shown.stdout
    assert r"n\x1b[31m" in shown.stdout
    assert not {chr(27), chr(7), chr(155)} & set(shown.output)


# explain


def test_explain_says_for_a_row_what_the_library_says(files: Path) -> None:
    rules = load(files / "rules.json")
    row = {"age": 25.0, "income": None, "children": 2.0, "purpose": "car", "member": "no"}
    expected = rules.explain(row)
    text = "age=25, income=, children=2, purpose=car, member=no"
    shown = invoke("explain", files / "rules.json", "--row", text)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.strip() == expected.text
    content = json.loads(invoke("explain", files / "rules.json", "--row", json.dumps(row), "--json").stdout)
    assert content["prediction"] == expected.prediction
    assert content["line"] == expected.rule.index + 1
    assert content["explanation"] == expected.text
    assert content["values"] == dict(expected.values)


def test_explain_goes_through_a_file_of_rows(files: Path) -> None:
    rules = load(files / "rules.json")
    rows = read_table(files / "later.csv").frame.head(5)
    path = files / "five.csv"
    rows.to_csv(path, index=False)
    predicted = rules.predict(rows[list(rules.tree.feature_names or ())]).tolist()
    shown = invoke("explain", files / "rules.json", path).stdout.splitlines()
    assert [line.split()[2] for line in shown] == predicted
    content = json.loads(invoke("explain", files / "rules.json", path, "--json").stdout)
    assert [one["prediction"] for one in content] == predicted
    assert "The tree says" in invoke("explain", files / "rules.json", path, "--why").stdout


def test_explain_takes_a_model(files: Path) -> None:
    row = "age=25,income=,children=2,purpose=car,member=no"
    shown = invoke("explain", files / "model.skops", "--row", row)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("Predicted ")


# verify


@pytest.mark.long
def test_verify_holds_with_the_model_and_the_data(files: Path) -> None:
    for rules in ("rules.json", "exact.json"):
        result = invoke(
            *("verify", files / rules, "--model", files / "model.skops"),
            *("--data", files / "loans.csv", "--target", "outcome"),
        )
        assert result.exit_code == 0, result.output
        assert "the rules belong to the model's tree" in result.stdout
        assert "supports and class counts recounted from the rows" in result.stdout
        assert result.stdout.rstrip().endswith("\nVerified.")


def test_verify_fails_with_other_data_and_another_model(files: Path) -> None:
    other_data = invoke("verify", files / "exact.json", "--data", files / "later.csv", "--target", "outcome", "--json")
    assert other_data.exit_code == 1
    content = json.loads(other_data.stdout)
    assert not content["ok"]
    assert content["failures"]
    other_model = invoke("verify", files / "exact.json", "--model", files / "later.json")
    assert other_model.exit_code == 1
    assert "✗ The model" in other_model.stdout
    assert other_model.stdout.rstrip().endswith("NOT verified.")


@pytest.mark.long
def test_audit_says_which_rules_moved_and_its_status_does(files: Path, tmp_path: Path) -> None:
    asked = "--target", "outcome"
    holds = invoke("audit", files / "rules.json", files / "loans.csv", *asked)
    assert holds.exit_code == 0, holds.output  # the rows that the rules were made from
    assert "0 of " in holds.stdout
    changed = make_loans(seed=2)
    kinds = changed["outcome"].unique()
    changed["outcome"] = np.random.default_rng(0).permutation(changed["outcome"])
    changed.to_parquet(tmp_path / "changed.parquet")
    moved = invoke("audit", files / "rules.json", tmp_path / "changed.parquet", *asked)
    assert moved.exit_code == 1
    assert " moved: " in moved.stdout
    told = invoke("audit", files / "rules.json", tmp_path / "changed.parquet", *asked, "--json")
    content = json.loads(told.stdout)
    assert (told.exit_code, content["ok"]) == (1, False)
    rules = load(files / "rules.json")
    found = rules.audit(tmp_path / "changed.parquet", "outcome").per_line
    assert [one["verdict"] for one in content["lines"]] == found.verdicts.tolist()
    assert {one["prediction"] for one in content["lines"]} <= set(kinds)
    quiet = invoke("audit", files / "rules.json", tmp_path / "changed.parquet", *asked, "-q")
    assert (quiet.exit_code, quiet.stdout) == (1, "")
    assert content["summary"] in quiet.stderr
    since = "--since", tmp_path / "changed.parquet"
    same = invoke("audit", files / "rules.json", tmp_path / "changed.parquet", *asked, *since)
    assert same.exit_code == 0, same.output
    many = invoke("audit", files / "rules.json", tmp_path / "*.parquet", *asked, "--json")  # in batches
    assert json.loads(many.stdout)["lines"] == content["lines"]
    unnamed = invoke("audit", files / "rules.json", files / "loans.csv")
    assert unnamed.exit_code != 0
    assert "--target" in str(unnamed.exception)


def test_audit_asks_for_since_where_training_tells_nothing(files: Path, tmp_path: Path) -> None:
    asked = files / "loans.csv", "--target", "outcome"
    tree = load(files / "exact.json").tree
    untold = tmp_path / "untold.json"
    untold.write_text(secateur.simplify(tree, each_leaf=True).to_json(), encoding="utf-8")
    result = invoke("audit", untold, *asked)
    assert isinstance(result.exception, ParameterError)  # which main ends with status 2
    assert "none of " in result.stdout
    assert str(result.exception) == (
        "No rule could be tested. The rules were made without rows, so their numbers in training are not known. "
        "Compare with an earlier audit instead (--since FILE)."
    )
    told = invoke("audit", untold, *asked, "--json")
    assert isinstance(told.exception, ParameterError)
    assert json.loads(told.stdout)["ok"] is None
    assert isinstance(invoke("audit", untold, *asked, "-q").exception, ParameterError)
    assert invoke("audit", untold, *asked, "--since", files / "loans.csv").exit_code == 0
    twice = invoke("audit", files / "rules.json", "-", "--target", "outcome", "--since", "-")
    assert isinstance(twice.exception, ParameterError)
    assert str(twice.exception).startswith("ROWS and --since are both -, but standard input can be read once")


@pytest.mark.long
def test_audit_without_since_says_that_a_fall_is_expected(files: Path, tmp_path: Path) -> None:
    assert invoke(*run(files), *MISMATCH, "--holdout", "0", "-o", tmp_path / "whole.json", "-q").exit_code == 0
    asked = tmp_path / "whole.json", files / "loans.csv", "--target", "outcome"
    alone, compared = invoke("audit", *asked), invoke("audit", *asked, "--since", files / "later.csv")
    said = "Training rows flatter"
    assert said in " ".join(alone.stdout.split())
    assert said not in " ".join(compared.stdout.split())
    assert " still hold (" in " ".join(alone.stdout.split())  # on how many rows
    assert "since=" not in alone.stdout  # which is Python
    assert "compare with an earlier audit on other rows (--since FILE)" in " ".join(alone.stdout.split())
    unseen = " ".join(invoke("audit", files / "rules.json", files / "loans.csv", "--target", "outcome").stdout.split())
    assert "Against the unseen rows that the rules were measured on: " in unseen
    assert said not in unseen


def test_verify_fails_on_a_file_that_was_edited(files: Path, tmp_path: Path) -> None:
    content = json.loads((files / "exact.json").read_text())
    path = tmp_path / "edited.json"
    content["lines"][0]["class_counts"][0] += 1  # beside the same number of its leaf
    path.write_text(json.dumps(content))
    assert isinstance(invoke("verify", path).exception, FormatError)  # which main ends with status 2
    content["leaves"]["class_counts"][0][0] += 1
    path.write_text(json.dumps(content))
    assert invoke("verify", path).exit_code == 1
    quiet = invoke("verify", path, "-q")
    assert quiet.exit_code == 1
    assert quiet.stdout == ""
    assert quiet.stderr != ""


@pytest.mark.long
def test_verify_takes_the_rows_that_were_fitted_where_some_were_held_out(files: Path, tmp_path: Path) -> None:
    options = ("--target", "outcome", "--holdout", "0.25", "--seed", "3")
    model = ("--model", tmp_path / "model.skops")
    made = ("-o", tmp_path / "rules.json", "--save-model", model[1], "-q")
    invoke("simplify", files / "loans.csv", *options, *made)
    assert invoke("verify", tmp_path / "rules.json", "--data", files / "loans.csv", *options, *model).exit_code == 0
    assert invoke("verify", tmp_path / "rules.json", "--data", files / "loans.csv", *options).exit_code == 2
    again = ("verify", tmp_path / "rules.json", "--data", files / "loans.csv", *options[:2], *model)
    assert invoke(*again).exit_code == 0, "the file says which rows were set aside"
    assert invoke(*again, "--holdout", "0").exit_code == 1
    for more in (("--split-by", "income"), ("--group", "age")):
        assert invoke("simplify", files / "loans.csv", *options[:2], *more, *made, "--force").exit_code == 0
        assert invoke(*again).exit_code == 0


# compare, diff, report


@pytest.mark.long
def test_compare_has_every_method_with_the_numbers_of_its_audit(files: Path) -> None:
    content = json.loads(invoke("compare", files / "loans.csv", "--target", "outcome", "--json").stdout)
    assert [step["method"] for step in content["methods"]] == [*secateur.METHODS, "short list", "short list, 1 %"]
    assert content["measured_rows"] == 100
    *_, few, fewer = content["methods"]
    assert (few["agreement"], few["is_exact"], few["verified"], fewer["verified"]) == (100, True, True, True)
    assert fewer["n_conditions"] <= few["n_conditions"] < content["methods"][0]["n_conditions"]
    held_out = ("--holdout", "0.25", "--json")
    for step, budget in ((few, "0"), (fewer, "0.01")):
        alone = json.loads(invoke(*run(files), "--budget", budget, *held_out).stdout)
        assert step["n_rules"] == alone["n_rules"]
        for name in ("accuracy", "delta_accuracy", "agreement", "auc"):
            assert step[name] == alone["audit"][name]
    assert content["rows"] == 298
    by_name = {step["method"]: step for step in content["methods"]}
    assert by_name["none"]["removed"] == by_name["none"]["delta_accuracy"] == by_name["exact"]["conflict"] == 0
    alone = json.loads(
        invoke(
            *("simplify", files / "loans.csv", "--target", "outcome", "--holdout", "0.25"),
            *(*MISMATCH, "--json"),
        ).stdout
    )
    for name in ("removed", "accuracy", "delta_accuracy", "conflict"):
        assert by_name["mismatch"][name] == alone["audit"][name]
    shown = invoke("compare", files / "loans.csv", "--target", "outcome")
    assert shown.exit_code == 0
    assert all(method in shown.stdout for method in secateur.METHODS)


@pytest.mark.long
@pytest.mark.parametrize("command", ["simplify", "diagnose", "compare"])
def test_what_is_about_fitting_is_rejected_with_a_model(command: str, files: Path) -> None:
    asked = (command, files / "loans.csv", "--target", "outcome", "--model", files / "model.skops")
    for option in (("--max-depth", "3"), ("--min-rows", "9"), ("--balanced",), ("--keep", "age")):
        result = invoke(*asked, *option)
        assert result.exit_code == 2 or isinstance(result.exception, ParameterError)
        assert "--max-depth, --min-rows, --balanced and --keep are for a tree that is fitted here" in str(
            result.exception
        )
    drawn = [invoke(*asked, "--sample", "60", "--seed", seed, "--json") for seed in ("1", "2", "1")]
    assert [one.exit_code for one in drawn] == [0, 0, 0]
    assert drawn[0].stdout == drawn[2].stdout != drawn[1].stdout


@pytest.mark.long
def test_the_next_command_makes_the_same_rules(files: Path, tmp_path: Path) -> None:
    own = ("--max-depth", "3", "--min-rows", "9", "--drop", "age", "--method", "sibling", "--balanced", "--no-facts")
    shown = invoke("simplify", files / "loans.csv", "--target", "outcome", "--holdout", "0.4", *own).stdout
    (command,) = [line for line in shown.splitlines() if line.startswith("Next: secateur ")]
    words = shlex.split(command.removeprefix("Next: secateur "))
    assert words[-2:] == ["--report", "page.html"]
    for name in ("asked", "again"):
        asked = words[:-2] if name == "again" else ("simplify", files / "loans.csv", "--target", "outcome", *own)
        asked = [*asked, *(() if name == "again" else ("--holdout", "0.4")), "-o", tmp_path / f"{name}.json", "-q"]
        assert invoke(*asked).exit_code == 0
    assert (tmp_path / "asked.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    named = invoke("simplify", *run(files)[1:], "--model", files / "model.skops", "--budget", "0.02").stdout
    assert f"--model {files / 'model.skops'} --budget 0.02 --report" in named
    of_costs = invoke("simplify", *run(files)[1:], "--cost", "missed default = 5").stdout
    assert "--cost 'missed default = 5' --report" in of_costs


def test_compare_says_which_method_cannot_be_used(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 3, 200), "b": rng.integers(0, 3, 200), "y": rng.choice(["n", "j"], 200)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    content = json.loads(invoke("compare", tmp_path / "t.csv", "--target", "y", "--json").stdout)
    (certified,) = [step for step in content["methods"] if step["method"] == "mismatch-certified"]
    assert "contradicts itself" in certified["problem"]
    assert "not here: The domain contradicts itself" in invoke("compare", tmp_path / "t.csv", "--target", "y").stdout


def test_diff_ends_like_diff(files: Path) -> None:
    same = invoke("diff", files / "exact.json", files / "exact.json")
    assert same.exit_code == 0
    assert same.stdout.startswith("The same ")
    other = invoke("diff", files / "exact.json", files / "later.json")
    assert other.exit_code == 1
    content = json.loads(invoke("diff", files / "exact.json", files / "later.json", "--json").stdout)
    counted = ", ".join(f"{number} {kind}" for kind, number in content["counts"].items() if number)
    assert other.stdout.rstrip().endswith(f"{counted}.")
    assert invoke("diff", files / "exact.json", files / "later.json", "-q").stdout == ""
    assert "same: " in invoke("diff", files / "exact.json", files / "exact.json", "--all").stdout


def test_a_short_list_is_compared_with_a_short_list(files: Path) -> None:
    same = invoke("diff", files / "list.json", files / "list.json")
    assert same.exit_code == 0
    assert same.stdout.startswith("The same ")
    assert invoke("diff", files / "list.json", files / "later_list.json").exit_code == 1
    mixed = invoke("diff", files / "list.json", files / "exact.json")
    assert "list.json holds a short list, " in str(mixed.exception)
    assert "one rule for each leaf: make both with --each-leaf, or both without." in str(mixed.exception)


# files of short lists


@pytest.mark.parametrize("file", ["list.json", "budget.json"])
def test_a_file_of_a_short_list_is_explained(file: str, files: Path) -> None:
    rules = load(files / file)
    rows = read_table(files / "later.csv").frame[list(rules.tree.feature_names or ())]
    told = json.loads(invoke("explain", files / file, files / "later.csv", "--json").stdout)
    assert [one["line"] for one in told] == (rules.apply(rows) + 1).tolist()
    assert [one["prediction"] for one in told] == rules.predict(rows).tolist()
    shown = invoke("explain", files / file, files / "later.csv").stdout.splitlines()
    assert [line.split()[2] for line in shown] == rules.predict(rows).tolist()
    rests = [line.index for line in rules.lines if line.is_otherwise]
    assert sum(": otherwise " in line for line in shown) == np.isin(rules.apply(rows), rests).sum() > 0
    row = {"age": 25.0, "income": None, "children": 2.0, "purpose": "car", "member": "no"}
    one = invoke("explain", files / file, "--row", json.dumps(row))
    assert one.stdout.strip() == rules.explain(row).text


@pytest.mark.long
@pytest.mark.parametrize("file", ["list.json", "budget.json"])
def test_a_file_of_a_short_list_is_verified(file: str, files: Path, tmp_path: Path) -> None:
    given = ("--model", files / "model.skops", "--data", files / "loans.csv", "--target", "outcome")
    result = invoke("verify", files / file, *given)
    assert result.exit_code == (0 if file == "list.json" else 2), result.output
    rules = load(files / file)
    size = f"{rules.n_lines} lines in {len(rules.sections)} sections with {rules.n_conditions} conditions"
    said = f"{size}; the tree has {rules.tree_rules} rules with {rules.tree_conditions}."
    assert said in result.stdout
    assert "the rules belong to the model's tree" in result.stdout
    content = json.loads((files / file).read_text())
    content["lines"][0]["class_counts"][0] += 1
    (tmp_path / "edited.json").write_text(json.dumps(content))
    assert invoke("verify", tmp_path / "edited.json").exit_code in (1, 2)
    assert invoke("verify", tmp_path / "edited.json", *given).exit_code == 1
    alone = invoke("verify", files / file)
    assert alone.exit_code == 2
    if file == "budget.json":
        unproved = "Nothing is wrong, but not everything was checked. What the budget promises about rows"
        assert unproved in one_line(alone.stdout)
        assert json.loads(invoke("verify", files / file, "--json").stdout)["ok"] is None


@pytest.mark.long
@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind != "onnx"])  # which has no missing categories
def test_a_file_of_a_short_list_is_exported(kind: str, files: Path, tmp_path: Path) -> None:
    result = invoke("export", files / "budget.json", "--format", kind, "-o", tmp_path / "out.file", "-q")
    assert result.exit_code == 0, result.output
    rules = load(files / "budget.json")
    expected = {"sql": rules.to_sql, "json": rules.to_json, "text": rules.to_text, "markdown": rules.to_markdown}
    expected["sql"] = lambda: rules.to_sql(blanks=MISSING)  # the texts that the reader of tables takes for blanks
    if kind in expected:
        assert (tmp_path / "out.file").read_text(encoding="utf-8").rstrip("\n") == expected[kind]().rstrip("\n")
    direct = invoke(*run(files), "--budget", "0.02", "--export", kind, "-o", tmp_path / "direct.file", "-q")
    assert direct.exit_code == 0, direct.output
    if kind in ("sql", "python", "markdown", "csv", "text"):  # what is printed is what is written
        assert (tmp_path / "direct.file").read_text() == (tmp_path / "out.file").read_text()


@pytest.mark.long
def test_a_file_of_a_short_list_is_audited(files: Path, tmp_path: Path) -> None:
    asked = "--target", "outcome"
    holds = invoke("audit", files / "list.json", files / "loans.csv", *asked)
    assert holds.exit_code == 0, holds.output
    changed = make_loans(seed=2)
    changed["outcome"] = np.random.default_rng(0).permutation(changed["outcome"])
    changed.to_parquet(tmp_path / "changed.parquet")
    moved = invoke("audit", files / "list.json", tmp_path / "changed.parquet", *asked, "--json")
    content = json.loads(moved.stdout)
    assert (moved.exit_code, content["ok"]) == (1, False)
    rules = load(files / "list.json")
    assert len(content["lines"]) == rules.n_lines
    assert content["lines"][-1]["text"] == rules.lines[-1].text
    found = rules.audit(tmp_path / "changed.parquet", "outcome").per_line
    assert [one["verdict"] for one in content["lines"]] == found.verdicts.tolist()
    many = invoke("audit", files / "list.json", tmp_path / "*.parquet", *asked, "--json")  # in batches
    assert json.loads(many.stdout)["lines"] == content["lines"]
    since = "--since", tmp_path / "changed.parquet"
    assert invoke("audit", files / "list.json", tmp_path / "changed.parquet", *asked, *since).exit_code == 0


def test_a_model_is_taken_from_a_file_of_a_short_list(files: Path, tmp_path: Path) -> None:
    assert invoke(*run(files), "--holdout", "0", "-o", tmp_path / "list.json", "-q").exit_code == 0
    again = invoke(*run(files), "--model", tmp_path / "list.json", "-o", tmp_path / "again.json", "-q")
    assert again.exit_code == 0, again.output
    assert load(tmp_path / "again.json").predict is not None
    found, expected = load(tmp_path / "again.json"), load(tmp_path / "list.json")
    assert [rule.text for rule in found] == [rule.text for rule in expected]


@pytest.mark.long
def test_report_is_a_page_of_a_table_or_of_rules(files: Path, tmp_path: Path) -> None:
    for name, source in {
        "a.html": (files / "loans.csv", "--target", "outcome"),
        "b.html": (files / "rules.json", "--data", files / "loans.csv", "--target", "outcome"),
        "c.html": (files / "exact.json",),
        "e.html": (files / "list.json",),
        "f.html": (files / "budget.json", "--data", files / "loans.csv", "--target", "outcome"),
        "g.html": (files / "loans.csv", "--target", "outcome", "--each-leaf"),
    }.items():
        result = invoke("report", *source, "-o", tmp_path / name, "--title", "Loans <&>")
        assert result.exit_code == 0, result.output
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert "Loans &lt;&amp;&gt;" in page
        assert "purpose" in page
    result = invoke("simplify", files / "loans.csv", "--target", "outcome", "--report", tmp_path / "d.html", "-q")
    assert result.exit_code == 0
    assert (tmp_path / "d.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")


# help, completion, start


def test_methods_as_json() -> None:
    assert [method["name"] for method in json.loads(invoke("methods", "--json").stdout)] == list(secateur.METHODS)


def test_completion_knows_the_names(files: Path) -> None:
    assert complete_method("") == sorted(secateur.METHODS)
    assert complete_method("mis") == ["mismatch", "mismatch-certified"]
    assert complete_dialect("s") == ["spark", "sqlite", "snowflake"]
    rules = load(files / "exact.json")
    assert all("SELECT" in rules.to_sql(dialect, plain=dialect == "oracle") for dialect in DIALECTS)


@pytest.mark.parametrize(
    ("typed", "found"), [("--target o", ["outcome"]), ("--target ", None), ("--drop in", ["income"])]
)
def test_the_shell_completes_columns_of_the_file_on_the_line(typed: str, found: list[str] | None, files: Path) -> None:
    line = f"secateur simplify {files / 'loans.csv'} {typed}"
    asked = {"_SECATEUR_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "4"}
    shown = subprocess.run([SCRIPT], env={**os.environ, **asked}, capture_output=True, text=True, check=False).stdout
    assert shown.split() == (found or list(make_loans(1).drop(columns="applied").columns))


def test_the_shell_completes_columns_of_the_table_behind_the_rules(files: Path) -> None:
    line = f"secateur audit {files / 'rules.json'} {files / 'loans.csv'} --target o"
    asked = {"_SECATEUR_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "5"}
    shown = subprocess.run([SCRIPT], env={**os.environ, **asked}, capture_output=True, text=True, check=False).stdout
    assert shown.split() == ["outcome"]


def test_the_words_of_every_command_are_listed() -> None:
    shown = invoke("--help").stdout
    for name, words in COMMANDS.items():
        assert f"  {name}" in shown
        assert words in " ".join(shown.split())
        assert "For example:" in invoke(name, "--help").stdout or name in ("methods", "reproduce")
        assert "Exit status: 0 " in invoke(name, "--help").stdout


def test_the_page_about_the_command_line_names_what_there_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    shown = {name: invoke(name, "--help").stdout for name in COMMANDS}
    for name in COMMANDS:
        assert f"secateur {name}" in page
    known = set(re.findall(r"--[a-z-]+", " ".join(shown.values())))
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page)) <= known | {"--version", "--install-completion"}
    for line in re.findall(r"^secateur (.*)$", page, flags=re.MULTILINE):
        name = line.split()[0]
        if name in COMMANDS:
            assert set(re.findall(r" (--[a-z-]+)", line)) <= set(re.findall(r"--[a-z-]+", shown[name])), line


def test_a_command_line_made_for_one_command_is_the_whole_one_for_it() -> None:
    for name in COMMANDS:
        short = CliRunner().invoke(make_app(name), [name, "--help"])
        assert short.stdout == invoke(name, "--help").stdout


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['secateur', '--help']\n"
        "from secateur.cli.main import run\n"
        "try: run()\nexcept SystemExit: pass\n"
        "print('LOADED', *sys.modules)"
    )
    shown = subprocess.check_output([sys.executable, "-c", script], text=True)
    loaded = set(shown.rpartition("LOADED")[2].split())
    assert "secateur.cli.main" in loaded
    typer_loads = subprocess.check_output([sys.executable, "-c", "import sys, typer; print(*sys.modules)"], text=True)
    for heavy in ("numpy", "rich.console", "rich.markdown", "duckdb", "pandas", "sklearn", "secateur.cli.studies"):
        assert heavy not in loaded - set(typer_loads.split())


def test_sql_reads_true_and_false_as_databases_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 90, 400), "autopay": rng.choice([True, False], 400)})
    table["churned"] = np.where((table["age"] > 50) ^ table["autopay"], "yes", "no")
    path = tmp_path / "churn.csv"
    table.to_csv(path, index=False)
    assert invoke("simplify", path, "--target", "churned", "--each-leaf", "-o", tmp_path / "rules.json").exit_code == 0
    rules = load(tmp_path / "rules.json")
    assert "autopay" in str(rules)
    wanted = rules.predict(table[["age", "autopay"]]).tolist()
    statement = rules.to_sql(table="churn")
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE churn AS SELECT * FROM read_csv('{path}')")
        assert [row[0] for row in database.execute(statement).fetchall()] == wanted
    with sqlite3.connect(":memory:") as lite:
        table.to_sql("churn", lite, index=False)
        assert [row[0] for row in lite.execute(rules.to_sql("sqlite", table="churn")).fetchall()] == wanted
    lite.close()


def test_text_that_no_split_asks_for_stays_as_the_model_got_it(tmp_path: Path) -> None:
    lines = [
        {"age": 20 + i, "member": "true" if i % 3 else "false", "outcome": "good" if i > 25 else "bad"}
        for i in range(60)
    ]
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    made = invoke(
        "simplify", path, "--target", "outcome", "-o", tmp_path / "d.json", "--save-model", tmp_path / "d.skops"
    )
    assert made.exit_code == 0
    checked = invoke(
        "verify", tmp_path / "d.json", "--model", tmp_path / "d.skops", "--data", path, "--target", "outcome"
    )
    assert checked.exit_code == 0, checked.output


@pytest.mark.long
def test_what_the_system_rejects_is_one_sentence(tmp_path: Path) -> None:
    done = subprocess.run([SCRIPT, "verify", "x" * 300], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


# what results depend on


@pytest.mark.long
def test_diagnose_and_compare_say_which_facts_they_state(files: Path) -> None:
    for command in ("diagnose", "compare"):
        told = invoke(command, files / "loans.csv", "--target", "outcome")
        assert "Stated facts, as the table shows them: " in told.stderr
        notes = json.loads(invoke(command, files / "loans.csv", "--target", "outcome", "--json").stdout)["notes"]
        assert any(note.startswith("Stated facts") for note in notes)
        alone = invoke(command, files / "loans.csv", "--target", "outcome", "--no-facts")
        assert "Stated facts" not in alone.stderr
    told = invoke("diagnose", files / "loans.csv", "--target", "outcome").stdout
    assert "Certificates are about rows that satisfy: " in told


def test_a_rules_file_is_diagnosed_before_deletion(files: Path) -> None:
    told = invoke("diagnose", "--model", files / "rules.json")
    assert "rules.json holds rules: the tree that they were made from is diagnosed, before any deletion." in told.stderr
    assert len(json.loads(invoke("diagnose", "--model", files / "rules.json", "--json").stdout)["rules"]) == len(
        load(files / "rules.json")
    )


def test_text_in_a_column_of_numbers_is_named_with_its_row(files: Path, tmp_path: Path) -> None:
    loans = pd.read_csv(files / "loans.csv").astype({"age": object})
    loans.loc[4, "age"] = "old"
    loans.to_csv(tmp_path / "texts.csv", index=False)
    found = invoke("verify", files / "rules.json", "--data", tmp_path / "texts.csv", "--target", "outcome")
    assert "texts.csv cannot be read: 'age' holds 'old' (row 5) among its numbers" in str(found.exception)


def test_explain_tells_how_reliable_rules_are(files: Path) -> None:
    rules = load(files / "exact.json")
    told = invoke("explain", files / "exact.json", files / "loans.csv", "--json").stdout
    for record in json.loads(told)[:20]:
        rule = rules[record["line"] - 1]
        assert (record["support"], record["reliability"]) == (rule.support, rule.reliability)
    assert re.match(
        r"Row 1: \w+ by rule \d+: .* \(\d+ of \d+ \w+, .* in training\)\)\n",
        invoke("explain", files / "exact.json", files / "loans.csv").stdout,
    )
