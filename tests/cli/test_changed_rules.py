"""Rules that somebody changed are rejected wherever their numbers would be shown or used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secateur.cli.main import app
from secateur.errors import FormatError


@pytest.fixture(scope="module", params=["list", "each-leaf"])
def changed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.json"
    form = ["--each-leaf"] if request.param == "each-leaf" else []
    assert CliRunner().invoke(app, ["simplify", "--quiet", *form, "-o", str(path)]).exit_code == 0
    content = json.loads(path.read_text())
    content["secateur"] = "0.0.1"  # what does not even change a rule
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    "call", [["export", "--format", "text"], ["explain", "--row", "x=1"], ["report"], ["diff"], ["audit"]]
)
def test_other_commands_reject_them(changed: Path, call: list[str], tmp_path: Path) -> None:
    more = {
        "diff": [str(changed)],
        "audit": [str(changed), "--target", "y"],
        "report": ["-o", str(tmp_path / "p.html")],
    }
    done = CliRunner().invoke(app, [call[0], str(changed), *call[1:], *more.get(call[0], [])])
    assert isinstance(done.exception, FormatError), done.output
    assert "rules.json was changed after it was written" in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_verify_says_what_is_wrong(changed: Path) -> None:
    done = CliRunner().invoke(app, ["verify", str(changed)])
    assert done.exit_code == 1
    assert "its digest does not fit its content" in " ".join(done.output.split())
