"""``secateur approximate``, and the commands that lead to it."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from forged_files import word_again
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from secateur import Rules
from secateur.cli.main import run as run_main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call a command, and give its status and what it prints to either side, each in one line."""

    def call(*words: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["secateur", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            run_main()
        told = capsys.readouterr()
        code = int(ended.value.code or 0)
        return code, told.out, re.sub(r"\s+", " ", told.err)

    return call


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and forests for it: behind a pipeline, and of numbers without names."""
    place = tmp_path_factory.mktemp("approximate")
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": random.integers(18, 80, 300),
            "income": random.lognormal(7.6, 0.5, 300).round(2),
            "outlook": random.choice(["sunny", "rain", "overcast"], 300),
        }
    )
    state = np.where((table["outlook"] == "sunny") & (table["age"] > 40), "ill", "well")
    table.assign(state=state).to_csv(place / "rows.csv", index=False)
    encode = make_column_transformer((OneHotEncoder(), ["outlook"]), ("passthrough", ["age", "income"]))
    model = make_pipeline(encode, RandomForestClassifier(10, random_state=0)).fit(table, state)
    skops.io.dump(model, place / "forest.skops")
    joblib.dump(model, place / "forest.joblib")
    numbers = RandomForestClassifier(10, random_state=0).fit(table[["age", "income"]].to_numpy(), state)
    skops.io.dump(numbers, place / "numbers.skops")
    return place


def test_the_answer_is_printed_with_its_fidelity(run: Any, files: Path) -> None:
    code, told, _ = run("approximate", files / "forest.skops", files / "rows.csv", "--target", "state")
    words = re.sub(r"\s+", " ", told)
    assert code == 0
    assert words.startswith("These rules approximate a RandomForestClassifier: on 75 rows held out")
    assert "outlook is sunny" in words
    assert "held-out rows, the model says the same for" in words
    assert "They are not the model." in words
    assert "The rules are right for" in words
    assert "Next: secateur approximate" in words


def test_the_next_command_makes_the_same_list(run: Any, files: Path, tmp_path: Path) -> None:
    """All that was given is in it, and --report besides."""
    words = ("approximate", files / "forest.joblib", files / "rows.csv", "--target", "state", "--trust-pickle")
    code, told, _ = run(*words, "--max-rules", 2, "--seed", 3, "--missing", "unknown")
    assert code == 0
    *again, last = shlex.split(re.sub(r"\s+", " ", told).split("Next: secateur ")[1])
    assert last == "page.html"
    code, once_more, _ = run(*again, tmp_path / last)
    assert code == 0
    assert once_more.split("Next")[0] == told.split("Next")[0]


def test_a_tree_is_told_to_have_rules_of_its_own(run: Any, files: Path, tmp_path: Path) -> None:
    table = pd.read_csv(files / "rows.csv")
    tree = DecisionTreeClassifier(max_depth=2).fit(table[["age", "income"]], table["state"])
    skops.io.dump(tree, tmp_path / "tree.skops")
    code, told, _ = run("approximate", tmp_path / "tree.skops", files / "rows.csv", "--max-rules", 2)
    assert code == 0
    assert "This model is one tree, and its own rules say exactly what it does" in re.sub(r"\s+", " ", told)
    assert (
        run("simplify", files / "rows.csv", "--target", "state", "--export", "json", "-o", tmp_path / "r.json")[0] == 0
    )
    code, _, complaint = run("approximate", tmp_path / "r.json", files / "rows.csv")
    assert code == 2
    assert "r.json holds a tree, and its own rules say exactly what it does: see `secateur simplify" in complaint


def test_files_of_boosting_libraries_are_told_apart(run: Any, files: Path, tmp_path: Path) -> None:
    catboost, lightgbm, xgboost = (pytest.importorskip(name) for name in ("catboost", "lightgbm", "xgboost"))
    table = pd.read_csv(files / "rows.csv")
    X, y = table[["age", "income"]], (table["state"] == "ill").astype(int)
    boosted = xgboost.XGBClassifier(n_estimators=3).fit(X, y)
    for name in ("boosted.json", "boosted.ubj"):
        boosted.save_model(tmp_path / name)
    light = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, y)
    light.booster_.save_model(tmp_path / "light.txt")
    cat = catboost.CatBoostClassifier(iterations=3, verbose=0, allow_writing_files=False).fit(X, y)
    cat.save_model(str(tmp_path / "cat.cbm"))
    for name, program in [
        *(("boosted.json", "XGBoost"), ("boosted.ubj", "XGBoost")),
        *(("light.txt", "LightGBM"), ("cat.cbm", "CatBoost")),
    ]:
        code, _, complaint = run("approximate", tmp_path / name, files / "rows.csv")
        assert code == 2
        assert f"{name} is a model in {program}'s own format: load it with {program} in Python" in complaint
    # skops names all that must be trusted, and CatBoost loses its trees there.
    skops.io.dump(boosted, tmp_path / "boosted.skops")
    code, _, complaint = run("approximate", tmp_path / "boosted.skops", files / "rows.csv")
    trusted = re.findall(r"--trust ([\w.]+\w)", complaint)
    assert trusted == ["xgboost.core.Booster", "xgboost.sklearn.XGBClassifier"]
    options = [word for name in trusted for word in ("--trust", name)]
    code, told, _ = run("approximate", tmp_path / "boosted.skops", files / "rows.csv", *options)
    assert code == 0
    assert "approximate an XGBClassifier" in told
    skops.io.dump(cat, tmp_path / "cat.skops")
    options = ["--trust", "catboost.core.CatBoostClassifier"]
    code, _, complaint = run("approximate", tmp_path / "cat.skops", files / "rows.csv", *options)
    assert code == 2
    assert "The model is not fitted, or its file does not hold all of it" in complaint


def test_labels_are_not_needed_and_wishes_are_heard(run: Any, files: Path) -> None:
    code, told, _ = run(
        *("approximate", files / "numbers.skops", files / "rows.csv", "--drop", "outlook,state"),
        *("--fidelity", 0.999, "--max-rules", 2, "--n-queries", 400),
    )
    assert code == 0
    assert "are right for" not in told
    words = re.sub(r"\s+", " ", told)
    assert "No list of the wanted length reaches a fidelity of 0.999" in words
    assert "the model was asked 400 questions" in words
    assert "age" in told


def test_rules_and_page_are_written(run: Any, files: Path, tmp_path: Path) -> None:
    page, rules = tmp_path / "page.html", tmp_path / "rules.json"
    code, _, told = run(
        *("approximate", files / "forest.joblib", files / "rows.csv", "--trust-pickle", "--target", "state"),
        *("--report", page, "--export", "json", "-o", rules),
    )
    assert code == 0
    assert "Wrote" in told
    assert "approximate a RandomForestClassifier" in page.read_text(encoding="utf-8")
    stored = Rules.from_json(rules.read_text(encoding="utf-8"))
    assert stored.fidelity is not None
    code, told, _ = run("verify", rules)
    assert code == 2
    assert "cannot be counted again without the model" in re.sub(r"\s+", " ", told)


@pytest.mark.long
def test_verify_asks_the_model_again(run: Any, files: Path, tmp_path: Path) -> None:
    model, rows, rules = files / "forest.skops", files / "rows.csv", tmp_path / "rules.json"
    run("approximate", model, rows, "--target", "state", "--seed", 5, "--export", "json", "-o", rules)
    asked = ("--model", model, "--data", rows)
    for labelled in ((), ("--target", "state")):
        code, told, _ = run("verify", rules, *asked, *labelled)
        assert code == 2
        assert "✓ how often the rules agree with the model recounted" in told
        assert "✓ supports and class counts recounted from the rows" in told
        assert ("how often rules and model are right" in re.sub(r"\s+", " ", told)) == (not labelled)
        assert "how the surrogate was made" in re.sub(r"\s+", " ", told)
    code, _, told = run("verify", rules, "--model", model)
    assert code == 2
    assert told.startswith(
        "Error: The model is asked about the rows that the rules were made from: name them, --data FILE."
    )
    forged = tmp_path / "forged.json"
    seeded = json.loads(rules.read_text(encoding="utf-8"))
    seeded["approximation"]["seed"] = 6
    forged.write_text(word_again(seeded), encoding="utf-8")
    code, told, _ = run("verify", forged, *asked)
    assert code == 1
    assert "The rules agree with the model on other held-out rows than the file states." in re.sub(r"\s+", " ", told)


def test_machines_get_one_document(run: Any, files: Path) -> None:
    code, told, _ = run("approximate", files / "forest.skops", files / "rows.csv", "--target", "state", "--json")
    found = json.loads(told)
    assert code == 0
    assert found["approximation"]["n_held_out"] == 75
    assert found["verified"] is True
    assert Rules.from_json(json.dumps(found["rules"])).fidelity is not None


@pytest.mark.long
def test_simplify_takes_a_forest_here_or_names_the_command(run: Any, files: Path) -> None:
    model, rows = files / "forest.skops", files / "rows.csv"
    code, told, _ = run("simplify", rows, "--target", "state", "--model", model)
    assert code == 0
    assert told.startswith("These rules approximate")
    code, _, complaint = run("simplify", rows, "--target", "state", "--model", model, "--budget", 0.01)
    assert code == 2
    assert (
        "forest.skops is of several trees, which a short list approximates: leave out what is about one tree"
        in complaint
    )
    code, _, complaint = run("simplify", rows, "--target", "state", "--model", model, "--holdout", "0")
    assert code == 2
    assert "Expected held_out as a share between 0 and 1" in complaint
    code, _, complaint = run("simplify", "--model", model)
    assert code == 2
    assert "`secateur approximate MODEL DATA` approximates it by a short list" in complaint


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("forest.joblib", "rows.csv"), "is a pickle, and opening a pickle can run any code"),
        (("numbers.skops", "rows.csv"), "The model was fitted on 2 columns without names, but .* has 4"),
        (("forest.skops", "rows.csv", "--target", "stat"), "no column 'stat'. Did you mean 'state'?"),
        (("forest.skops", "rows.csv", "--drop", "age"), "The model was fitted on 'age', and cannot do without"),
        (("forest.skops", "rows.csv", "--fidelity", "2"), "Expected fidelity as a share above 0"),
        (("forest.skops", "rows.csv", "--holdout", "0"), "Expected held_out as a share between 0 and 1"),
        (("forest.skops", "rows.csv", "--max-rules", "0"), "Invalid value for '--max-rules'"),
        (("nothing.skops", "rows.csv"), "nothing.skops"),
    ],
)
def test_bad_input_is_told_in_a_sentence(run: Any, files: Path, words: tuple[str, ...], message: str) -> None:
    places = [files / word if "." in word and not word[0].isdigit() else word for word in words]
    code, _, complaint = run("approximate", *places)
    assert code == 2
    assert re.search(message.replace("?", r"\?"), complaint), complaint
    assert "Traceback" not in complaint


def test_a_table_without_the_models_columns_is_told(run: Any, files: Path, tmp_path: Path) -> None:
    pd.read_csv(files / "rows.csv").drop(columns="age").to_csv(tmp_path / "short.csv", index=False)
    code, _, complaint = run("approximate", files / "forest.skops", tmp_path / "short.csv")
    assert code == 2
    assert "it has no column 'age', which the model was fitted on" in complaint


def test_an_audit_does_not_take_the_models_answers_for_labels(run: Any, files: Path, tmp_path: Path) -> None:
    written = tmp_path / "rules.json"
    table = ("--trust-pickle", "--target", "state")
    status, _, said = run("approximate", files / "forest.joblib", files / "rows.csv", *table, "-o", written)
    assert status == 0, said
    status, words, said = run("audit", written, files / "rows.csv", "--target", "state")
    told = " ".join(words.split())
    assert (status, "moved" in told.replace("PSI 0.000 (little moved;", "")) == (2, False)
    assert "none of 2 lines (1 rule and 1 × “otherwise”) could be tested, 2 are not comparable." in told
    assert "No rule could be tested. The rules approximate a model and were made from its answers" in said
    rules = Rules.from_json(written.read_text(encoding="utf-8"))
    rows = pd.read_csv(files / "rows.csv")
    assert {one.verdict for one in rules.audit(rows, rows["state"]).per_line} <= {"not comparable", "no rows"}
