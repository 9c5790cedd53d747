"""Code in the README and docs runs as it stands."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from loans import make_loans
from writing.fork_server import Server

import secateur

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# A block of text right below a block of code is what the code prints.
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", flags=re.DOTALL)
SHELL_BLOCK = re.compile(r"```console\n(.*?)```(?:\n\n```text\n(.*?)```)?", flags=re.DOTALL)


def blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run_and_print_what_is_shown(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some blocks write files
    if document.name == "spark.md":
        pytest.skip("its code needs a Spark session: tests/spark/test_spark_page.py runs it")
    run_blocks(document)


@cache
def run_blocks(document: Path) -> dict[str, Any]:
    """Run the blocks of a page one after another, compare what they print, and give the names that they define."""
    names: dict[str, Any] = {"secateur": secateur}
    for block, shown in PYTHON_BLOCK.findall(document.read_text(encoding="utf-8")):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block, document.name, "exec"), names)
        if shown:
            assert printed.getvalue().rstrip() == shown.rstrip()
    return names


SHELL_PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("index.md", "tour.md", "command-line.md", "diagnosis.md")),
]


Shell = Callable[[str], tuple[int, str]]
LOAD = """
import duckdb, pandas, pkgutil, secateur.cli, secateur.export, sklearn.tree
for room in (secateur.cli, secateur.export):
    for one in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        __import__(one.name)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A process that has loaded what commands need, so that each of them is a fork and not a start."""
    made = Server(columns=120)
    written = ["--report", "p.html", "--export", "sql", "-o", "r.sql", "--save-model", "m.skops"]
    made.warm([["-c", LOAD], ["simplify", *written], ["simplify", "--verbose"]])
    yield made
    made.close()


def make_shell(server: Server, place: Path) -> Shell:
    """Run a command in a directory, its output to a file after ``>``, and give its exit status and what it printed."""

    def run(line: str) -> tuple[int, str]:
        command, _, file = line.partition(" > ")
        done = server.ask(shlex.split(command)[1:], place=place)
        assert "Traceback" not in done.said, done.said
        if file:
            (place / file).write_text(done.printed, encoding="utf-8")
        return done.status, "" if file else done.printed

    return run


@pytest.fixture(scope="module")
def files(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files that the pages speak of."""
    place = tmp_path_factory.mktemp("files")
    for seed, name in enumerate(("patients", "applicants", "january", "february", "loans")):
        make_loans(seed=seed)[["age", "income", "purpose", "outcome"]].to_csv(place / f"{name}.csv", index=False)
    journal = [{"edit": "strike", "line": 1, "reason": "too few rows"}]
    (place / "edits.json").write_text(json.dumps(journal), encoding="utf-8")
    for month in ("january", "february"):
        made = f"secateur simplify {month}.csv --target outcome --otherwise repaid -o {month}.json"
        assert make_shell(server, place)(made)[0] == 0
    return place


@pytest.fixture
def shell(server: Server, files: Path, tmp_path: Path) -> Shell:
    """Run a line of shell beside copies of the files."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    return make_shell(server, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("document", SHELL_PAGES, ids=lambda path: path.name)
def test_commands_run_one_after_another_and_print_what_is_shown(document: Path, shell: Shell) -> None:
    printed = ""
    for block, shown in SHELL_BLOCK.findall(document.read_text(encoding="utf-8")):
        for command in re.findall(r"^secateur .*", block, flags=re.MULTILINE):
            status, told = shell(command)
            # The months differ; against the rows that rules were fitted to, a rule may move though nothing changed.
            may_move = " audit " in command and "--since" not in command
            assert status in ((0, 1) if may_move else (int(" diff " in command),)), command
            printed += told
        for part in re.split(r"^ *…\n", shown, flags=re.MULTILINE):  # "…" stands for lines that are left out
            assert part in printed
    assert printed


def test_the_performance_page_shows_the_last_stored_run() -> None:
    from benchmarks.page import PAGE, fill_page

    stored = sorted((ROOT / "benchmarks" / "history").glob("*.json"))[-1]
    text = PAGE.read_text(encoding="utf-8")
    assert fill_page(text, json.loads(stored.read_text(encoding="utf-8"))) == text
    measured = text.partition("<!-- measured: begin -->")[2]
    assert not re.search(r"compact|merged|\bbar\b|MISSED", measured)


def test_the_performance_page_shows_the_stored_grid() -> None:
    from benchmarks.grid import MARKS, read_stored, to_page
    from benchmarks.page import PAGE, put_between

    text = PAGE.read_text(encoding="utf-8")
    assert put_between(text, to_page(read_stored()), *MARKS) == text


def test_there_is_no_more_to_read_than_somebody_would() -> None:
    text = "\n\n".join(page.read_text(encoding="utf-8") for page in DOCUMENTS)
    prose = re.sub(r"^```.*?^```|<!--.*?-->|^\|.*?$|(?<=\])\([^)]*\)", "", text, flags=re.DOTALL | re.MULTILINE)
    assert len(prose.split()) < 35_000
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_list_at_the_top_of_the_readme_is_half_of_its_example() -> None:
    rules = run_blocks(ROOT / "README.md")["rules"]
    before, after = blocks(ROOT / "README.md", "text")[0].removeprefix("before\n").split("after\n")
    leaves = secateur.simplify(rules.tree, method="none", each_leaf=True)
    assert before.splitlines() == [f"  {line.text}" for line in leaves.lines[7:]]
    heading, *lines = after.splitlines()
    printed = [re.sub(r"^ *\d+\. ", "  ", one) for one in str(rules).splitlines()]
    own = printed[printed.index(heading) + 1 :]
    assert all(one.startswith(line) for line, one in zip(lines, own[:4], strict=True))
    assert not own[4].startswith("  ")  # the section has no further line
    assert f"```text\nbefore\n{before}after\n{after}```" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_the_notebooks_of_the_gallery_hold_what_runs() -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'secateur[docs]'")
    found = importlib.util.spec_from_file_location("site_pages", ROOT / "docs" / "site_pages.py")
    assert found is not None
    assert found.loader is not None
    pages = importlib.util.module_from_spec(found)
    found.loader.exec_module(pages)
    assert len(pages.list_examples()) >= 5
    for page in pages.list_examples():
        notebook = json.loads(pages.make_notebook(page))
        assert {cell["cell_type"] for cell in notebook["cells"]} == {"code", "markdown"}
        codes = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert page in DOCUMENTS, "its blocks run above, one after another and from nothing, as the cells do"
        assert codes == [block.rstrip() for block in blocks(page, "python")]


def test_the_tree_of_the_format_page_is_a_tree() -> None:
    (example,) = blocks(ROOT / "docs" / "tree-format.md", "json")
    tree = secateur.Tree.from_json(example)
    assert json.loads(tree.to_json()) == json.loads(example)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_the_page_of_guarantees_lists_every_method() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z-]+)`", text, flags=re.MULTILINE) == list(secateur.METHODS)


def test_the_rules_format_page_lists_every_reason() -> None:
    from secateur.methods import Why

    text = (ROOT / "docs" / "rules-format.md").read_text(encoding="utf-8")
    assert [why.kind for why in Why if f"`{why.kind}`" not in text] == []


HOME = "https://github.com/secateur/secateur/blob/main/"
RAW = "https://raw.githubusercontent.com/secateur/secateur/main/"


def test_links_of_the_readme_work_wherever_it_is_shown() -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(targets) > 20
    for target in targets:
        assert target.startswith("https://"), f"{target} is dead outside the repository"
        for home in (HOME, RAW):
            if target.startswith(home):
                assert (ROOT / target.removeprefix(home).partition("#")[0]).exists(), target
