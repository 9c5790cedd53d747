"""Rules, trees and models that are damaged or forged are rejected when they are read, in a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import Rules, Tree
from secateur.adapters import read_pmml
from secateur.cli.model_files import load_model
from secateur.errors import FormatError, InputError, ParameterError
from secateur.results import Evidence

CORPUS = Path(__file__).parent / "fuzz" / "corpus"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=80) > 0, "yes", "no")
MODEL = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
COUNTS = ("class_counts", "leaf_counts", "a line")


def test_rules_and_trees_of_the_corpus_are_rejected_when_they_are_read() -> None:
    named = {"rules-infinite-tolerance": Rules, "rules-count-beyond-floats": Rules, "tree-476-tp": Tree}
    for name, read in named.items():
        with pytest.raises(FormatError, match=r"Infinity|class count|expected a range"):
            read.from_json((CORPUS / f"{name}.json").read_text(encoding="utf-8"))  # type: ignore[attr-defined]


def test_drafts_of_the_corpus_are_rejected_as_drafts() -> None:
    drafts = sorted(CORPUS.glob("rules-draft-*.json"))
    assert len(drafts) > 3
    for draft in drafts:
        with pytest.raises(
            FormatError, match=r"Infinity|An older version of secateur wrote this|found .secateur-compact"
        ):
            Rules.from_json(draft.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        *((name, [1e308, 1e308], "a class count is negative, or more than") for name in COUNTS),
        *((name, [-1.0, 3.0], "a class count is negative, or more than") for name in COUNTS),
        *((name, [float("nan"), 1.0], "it holds NaN, which is not a number of JSON") for name in COUNTS),
        *((name, [float("-inf"), 1.0], "it holds -Infinity, which is not a number of JSON") for name in COUNTS),
        *((name, [10**400, 1.0], "wrong type or length: int too large") for name in COUNTS),
        ("before", "1e999", "the number 'before' of a reason is not finite"),
        ("after", "-1e999", "the number 'after' of a reason is not finite"),
    ],
)
def test_numbers_that_no_rows_give_are_rejected(field: str, value: Any, sentence: str) -> None:
    for each_leaf in (True, False):
        content = json.loads(secateur.simplify(MODEL, X, Y, each_leaf=each_leaf).to_json())
        if field in ("before", "after"):
            content["leaves"][field] = [value, *[None] * (len(content["leaves"]["links"]) - 1)]
        elif field == "a line":
            content["lines"][0]["class_counts"] = value
        else:
            content["leaves"][field][0] = value
        with pytest.raises(FormatError, match=sentence):
            Rules.from_json(json.dumps(content).replace(f'"{value}"', str(value)))


@pytest.mark.parametrize("ends", [[], [[]], [1.0], [2.0, 1.0], [1.0, 2.0, 3.0], None, "no"])
def test_a_range_has_two_ends(ends: Any) -> None:
    content = json.loads((CORPUS / "tree-476-tp.json").read_text(encoding="utf-8"))
    n_features = len(content["columns"]["ranges"])
    content["columns"]["ranges"] = [ends] * n_features if ends is not None else None
    with pytest.raises(FormatError, match="A field of the tree JSON has the wrong type"):
        Tree.from_json(json.dumps(content))


def test_a_pmml_node_whose_values_all_go_to_one_child_is_read() -> None:
    tree = read_pmml((CORPUS / "pmml-52-tree.pmml").read_bytes())
    rows = pd.DataFrame({"age": [10.0, 40.0, 10.0], "income": 0.0, "city": ["Oslo", "Oslo", "New York"]})
    assert secateur.simplify(tree, each_leaf=True).predict(rows).tolist() == ["no", "yes", "no"]


def test_a_skops_file_that_unpacks_to_too_much_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("schema.json", "{}")
        packed.writestr("array.npy", bytes(3_000_000))
    assert path.stat().st_size < 5_000
    monkeypatch.setenv("SECATEUR_MAX_MODEL", "1MiB")
    with pytest.raises(FormatError, match=r"unpacks to 2\.9 MiB, and at most 1 MiB .*SECATEUR_MAX_MODEL=4M"):
        load_model(path)
    evidence = secateur.collect_evidence(MODEL, X, Y).to_bytes()
    monkeypatch.setenv("SECATEUR_MAX_MODEL", "100")
    with pytest.raises(FormatError, match="The evidence unpacks to"):
        Evidence.from_bytes(evidence)


def test_devices_and_pipes_are_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="/dev/zero is a device, which may never end: expected a file"):
        load_model(Path("/dev/zero"))


def test_labels_beyond_signed_numbers_are_labels() -> None:
    labels = (X[:, 0] > 0).astype(np.uint64) + np.uint64(2**63 + 5)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, labels)
    rules = secateur.simplify(model, X, labels, each_leaf=True)
    assert rules.predict(X).tolist() == model.predict(X).tolist()
    assert Rules.from_json(rules.to_json()).predict(X).tolist() == model.predict(X).tolist()
    assert rules.audit(X, labels).accuracy == 100
    assert rules.verify(X, labels).ok


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int8, np.int64, bool])
@pytest.mark.parametrize("lowest", [0, 1, 3])
def test_labels_of_every_whole_type_are_told_apart(dtype: Any, lowest: int) -> None:
    labels = ((X[:, 0] > 0) + (0 if dtype is bool else lowest)).astype(dtype)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, labels)
    assert secateur.simplify(model, X, labels, each_leaf=True).audit(X, labels).accuracy == 100


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_half_a_character_is_in_no_frame(library: str) -> None:
    rules = secateur.simplify(MODEL, X, Y, feature_names=["a\ud800", "b"], each_leaf=True)
    assert "a\\ud800" in " ".join(rules.to_frame(library)["rule"]), "in a text for people it is written out"
    labels = np.where(Y[0] == Y, "a\ud800", "b").astype(object)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, labels)
    with pytest.raises(ParameterError, match=rf"frame of {library} cannot hold '\\ud800', half of a character"):
        secateur.simplify(model, X, labels, each_leaf=True).to_frame(library)


@pytest.mark.parametrize("row", [pd.Series(X[0]), X[0]])
def test_one_row_without_its_brackets_is_rejected(row: Any) -> None:
    with pytest.raises(InputError, match="Reshape a single row"):
        secateur.simplify(MODEL, X, Y, each_leaf=True).predict(row)


@pytest.mark.program
def test_the_command_line_works_without_docstrings_and_assertions() -> None:
    call = "from secateur.cli.main import run; run()"
    run = subprocess.run([sys.executable, "-OO", "-c", call, "methods"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


# Stops itself while the command line loads its libraries.
EARLY = """
import builtins, os, signal
from secateur.cli.main import run
true_import = builtins.__import__
def stop_at_first(name, *rest):
    if name == "typer":
        os.kill(os.getpid(), signal.SIGINT)
    return true_import(name, *rest)
builtins.__import__ = stop_at_first
run()
"""


def test_a_run_that_is_stopped_while_it_starts_says_so() -> None:
    run = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (130, "\nStopped.\n")


@pytest.mark.parametrize("error", [MemoryError(), ImportError("x.so: cannot allocate memory in static TLS block")])
def test_too_little_memory_is_said_in_a_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from secateur.cli import main

    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "_run_command", fail)
    with pytest.raises(SystemExit, match="2"):
        main.run()
    assert capsys.readouterr().err.startswith("Error: There is not enough memory: close other programs")
