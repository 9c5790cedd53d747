"""``secateur apply`` replays a journal, counts its price on rows that were set aside, too, and verifies it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

import secateur
from secateur.cli.main import app


@pytest.mark.long
def test_a_journal_is_replayed_priced_and_verified(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    load_breast_cancer(as_frame=True).frame.to_csv(table, index=False)
    rules, edits, edited = (tmp_path / name for name in ("rules.json", "edits.json", "edited.json"))
    used = ["--target", "target", "-q"]
    made = CliRunner().invoke(app, ["simplify", str(table), *used, "--export", "json", "-o", str(rules)])
    assert made.exit_code == 0, made.output
    edits.write_text(json.dumps([{"edit": "strike", "line": 1, "reason": "too few rows"}, {"edit": "rounded"}]))
    named = ["--data", str(table), *used]
    done = CliRunner().invoke(app, ["apply", str(rules), str(edits), *named, "-o", str(edited)])
    assert done.exit_code == 0, done.output
    found = secateur.Rules.from_json(edited.read_text())
    assert [edit.edit for edit in found.journal] == ["strike", "rounded"]
    assert found.price is not None
    assert found.unseen_price is not None
    assert found.price.rows + found.unseen_price.rows == 569
    again = CliRunner().invoke(app, ["verify", str(edited), *named])
    assert again.exit_code in (0, 2), again.output  # 2: without the model not everything is checked
    same = CliRunner().invoke(app, ["apply", str(rules), str(edited), *named, "-o", str(tmp_path / "same.json")])
    assert same.exit_code == 0, same.output
    assert (tmp_path / "same.json").read_text() == edited.read_text(), "edited rules hold their journal"
    every = CliRunner().invoke(app, ["apply", str(rules), str(edits), *named, "--holdout", "0", "--json"])
    price = secateur.Rules.from_json(every.stdout).price
    assert price is not None
    assert price.rows == 569, "no row is set aside"
    edits.write_text("strike 1")
    wrong = CliRunner().invoke(app, ["apply", str(rules), str(edits)])
    assert "is not JSON" in str(wrong.exception)
