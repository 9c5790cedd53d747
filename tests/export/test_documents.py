"""Markdown, LaTeX and CSV: what a reader sees is the rule set, whatever its names are."""

from __future__ import annotations

import csv
import inspect
import io
import re
import shutil
import subprocess
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from export.forms import both_forms, in_form
from exported_rules import HOSTILE, hostile_rules, ward_rules
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

import secateur
from secateur.errors import ParameterError
from secateur.export.csv import guard_cell, rules_to_csv, write_csv
from secateur.export.formats import FORMATS, FRAME, Format, find_format, write_format, write_rules
from secateur.export.listing import make_listing
from secateur.export.plain_names import one_line
from secateur.export.text import escape_latex, escape_markdown, rules_to_latex, rules_to_markdown
from secateur.words.conditions import join_conditions
from secateur.words.plain_words import join_asked

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(("form", "golden"), [("each leaf", "ward"), ("list", "ward_list")])
def test_documents_read_like_this(form: str, golden: str) -> None:
    rules = in_form(form, ward_rules())
    assert f"{rules_to_markdown(rules, reasons=True)}\n" == (GOLDEN / f"{golden}.md").read_text()
    assert f"{rules_to_latex(rules)}\n" == (GOLDEN / f"{golden}.tex").read_text()
    assert rules_to_csv(rules).encode() == (GOLDEN / f"{golden}.csv").read_bytes()


# --- Markdown --------------------------------------------------------------------------------------------------------


def read_inline(tokens: list[Token]) -> list[str]:
    """What a reader sees of each piece of text; anything but text is a failure."""
    seen = []
    for token in tokens:
        if token.type == "inline":
            assert {child.type for child in token.children or ()} <= {"text", "text_special"}
            seen.append("".join(child.content for child in token.children or ()))
    return seen


def parse_markdown(text: str) -> list[Token]:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return parser.parse(text)


@both_forms
@pytest.mark.parametrize("numbers", [False, True])
def test_a_markdown_table_shows_hostile_names_as_they_are(numbers: bool, form: str) -> None:
    rules = in_form(form, hostile_rules(numbers=numbers))
    tokens = parse_markdown(rules_to_markdown(rules))
    assert {token.type.removesuffix("_open").removesuffix("_close") for token in tokens} == {
        *("paragraph", "inline", "table", "thead", "tbody", "tr", "th", "td", "bullet_list", "list_item")
    }
    below = next(place for place, token in enumerate(tokens) if token.type == "table_close")
    cells = read_inline(tokens[:below])[4:]
    assert len(cells) == 4 * len(rules.lines)
    for line, place in zip(rules.lines, range(0, len(cells), 4), strict=True):
        words = "otherwise" if line.is_otherwise else join_asked(line.asks)
        assert cells[place : place + 3] == [str(line.index + 1), plain(words), plain(line.class_name)]
    assert read_inline(tokens[below:]) == [plain(sentence) for sentence in make_listing(rules).after]


def plain(words: str) -> str:
    return one_line(words, len(words))


@both_forms
def test_markdown_with_reasons_lists_every_condition(form: str) -> None:
    rules = in_form(form, hostile_rules())
    tokens = parse_markdown(rules_to_markdown(rules, reasons=True))
    read_inline(tokens)
    items = [token for token in tokens if token.type == "list_item_open"]
    without = parse_markdown(rules_to_markdown(rules))
    below = [token for token in without if token.type == "list_item_open"]
    assert len(items) - len(below) == sum(len(rule.reasons) for rule in rules)


@given(words=st.text(alphabet=st.sampled_from("ab <>&|\\`*_[]()~$#!:/.w;\n-='\"{}é"), max_size=30))
def test_escaped_markdown_shows_any_text_as_it_is(words: str) -> None:
    tokens = parse_markdown(f"| a |\n|---|\n| ={escape_markdown(words)}= |")
    assert read_inline(tokens)[1:] == [f"={plain(words)}=".strip()]


# --- LaTeX -----------------------------------------------------------------------------------------------------------


def read_latex(text: str) -> str:
    """What LaTeX prints; a command or mark that escaping did not write is a failure."""
    known = {
        r"\textbackslash{}": "\\",
        r"\textasciicircum{}": "^",
        r"\textasciitilde{}": "~",
        r"\textless{}": "<",
        r"\textgreater{}": ">",
        r"\textbar{}": "|",
        r"\textasciigrave{}": "`",
        r"\textquotesingle{}": "'",
        r"\symbol{34}": '"',
        **{f"\\{mark}": mark for mark in "{}#$%&_"},
        r"$\leq$": "≤",
        r"$\geq$": "≥",
        "{}": "",
    }
    pattern = "|".join(re.escape(mark) for mark in sorted(known, key=len, reverse=True))
    parts = re.split(f"({pattern})", text)
    assert not re.search(r"[\\{}#$%&_^~<>|`'\"]", "".join(parts[::2]))
    return "".join(known.get(part, part) for part in parts)


@given(words=st.text(alphabet=st.sampled_from("ab \\{}#$%&_^~<>|`'\"-,é\n"), max_size=30))
def test_escaped_latex_prints_any_text_as_it_is(words: str) -> None:
    assert read_latex(escape_latex(words)) == plain(words)
    assert "--" not in escape_latex(words)


@both_forms
@pytest.mark.parametrize("numbers", [False, True])
def test_a_latex_table_prints_hostile_names_as_they_are(numbers: bool, form: str) -> None:
    rules = in_form(form, hostile_rules(numbers=numbers))
    lines = rules_to_latex(rules).splitlines()
    body = lines[lines.index(r"\endfoot") + 1 : len(lines) - lines[::-1].index(r"\midrule") - 1]
    assert len(body) == len(rules.lines)
    for line, written in zip(rules.lines, body, strict=True):
        cells = re.split(r"(?<!\\) & ", written.removesuffix(r" \\"))
        assert len(cells) == 4
        assert read_latex(cells[1]) == plain("otherwise" if line.is_otherwise else join_asked(line.asks))
        assert read_latex(cells[2]) == plain(line.class_name)
        assert read_latex(cells[3])


@both_forms
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_a_latex_table_compiles(tmp_path: Path, form: str) -> None:
    table = rules_to_latex(in_form(form, hostile_rules())).encode("ascii", "replace").decode()
    document = (
        f"\\documentclass{{article}}\\usepackage{{booktabs,longtable}}\\begin{{document}}{table}\\end{{document}}"
    )
    (tmp_path / "rules.tex").write_text(document)
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "rules.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120, capture_output=True)


# --- CSV -------------------------------------------------------------------------------------------------------------


@both_forms
@pytest.mark.parametrize("numbers", [False, True])
def test_csv_reads_back(numbers: bool, form: str) -> None:
    rules = in_form(form, hostile_rules(numbers=numbers))
    text = rules_to_csv(rules)
    assert text.endswith("\r\n")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == len(rules.lines)
    for line, row in zip(rules.lines, rows, strict=True):
        assert row["rule"] == str(line.index + 1)
        assert row["conditions"] == ("otherwise" if line.is_otherwise else guard_cell(join_conditions(line.conditions)))
        assert row["prediction"] == guard_cell(line.prediction)
        assert row["leaf_id"] == ("" if line.is_otherwise else str(line.leaf_id))
        for name in ("support", "reliability", "covered_support", "source_support", "source_reliability"):
            cell = row[f"training_{name}"]
            assert (float(cell) if cell else None) == getattr(line, name)


@both_forms
def test_no_cell_of_the_csv_is_a_formula(form: str) -> None:
    rows = list(csv.reader(io.StringIO(rules_to_csv(in_form(form, hostile_rules())), newline="")))
    cells = [cell for row in rows for cell in row]
    assert any(cell.startswith("'=cmd") for cell in cells)
    assert not [cell for cell in cells if cell[:1] in ("=", "@", "\t", "\r")]


FORMULAS = ["=1+1", "+1+cmd", "-2+3|x", "@SUM(A1)", "--1", "＝1+1", '=HYPERLINK("x";"y")']
HIDDEN = ["", " ", "\ufeff", "\u200b", "\0", "\u00a0", "\u2028", "\u202e", "\u3164", '"', "\x1b \u200b\ufeff"]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("formula", FORMULAS)
def test_what_starts_like_a_formula_is_marked_as_text(formula: str, hidden: str) -> None:
    cell = guard_cell(hidden + formula)
    assert isinstance(cell, str)
    assert cell.startswith("'")
    assert cell.replace("'", "") == hidden + formula
    for delimiter in (";", "|", "\t", "\n", "\r\n"):
        cell = str(guard_cell(f"x{delimiter}{hidden}{formula}"))
        assert f"{delimiter}'{hidden}{formula}" in cell or f"{delimiter}{hidden}'{formula}" in cell


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_no_spreadsheet_finds_a_formula_whatever_separates_its_cells(hidden: str, delimiter: str) -> None:
    texts = [f"a{mark}{hidden}{formula}" for formula in FORMULAS for mark in ("", ";", "\t", "|", "\n", ';"')]
    written = write_csv(["rule", "text"], [(number, text) for number, text in enumerate(texts)])
    for doubled in (True, False):  # programs differ in how they read a quote inside a cell
        lines = written.replace("\0", "").splitlines()
        for row in csv.reader(lines, delimiter=delimiter, doublequote=doubled):
            for cell in row:
                assert not re.match(r"[=+@-]\s*[^\s\d]", cell.strip('\ufeff\u200b \xa0\x1b\u2028\u202e\u3164"')), row


def test_guarding_a_long_cell_takes_as_long_as_reading_it() -> None:
    for text in ("\n" * 200_000, ";" * 200_000, "; " * 100_000, '"' * 200_000):
        assert guard_cell(text) == text


@pytest.mark.parametrize("cell", ["+", "-", "-1.5", "+2", "-1e-05", "yes", "a=b", "'=1", "", None, 7, -7, True, 0.5])
def test_signs_numbers_and_words_stay_as_they_are(cell: secateur.tree.tree.Label | None) -> None:
    assert guard_cell(cell) == cell


# --- Formats ---------------------------------------------------------------------------------------------------------


@both_forms
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "onnx" or find_spec("onnx")])
def test_every_format_is_written_by_its_name(name: str, form: str) -> None:
    content = write_format(in_form(form, hostile_rules()), name)
    assert isinstance(content, bytes if name == "onnx" else str)
    assert content
    assert find_format(name.upper()).suffix.startswith(".")


def test_options_reach_their_format() -> None:
    rules = ward_rules()
    options = {"dialect": "tsql", "table": "patients", "name": "decide", "reasons": True}
    assert "[patients]" in str(write_format(rules, "sql", options))
    assert "def decide(row)" in str(write_format(rules, "python", options))
    assert "def decide(columns)" in str(write_format(rules, "numpy", options))
    assert write_format(rules, "markdown", options) == rules_to_markdown(rules, reasons=True)
    assert write_format(rules, "text", options) == rules.to_text(reasons=True)
    assert write_format(rules, "json", options) == rules.to_json()


@pytest.mark.parametrize("written", [*FORMATS.values(), FRAME], ids=lambda written: written.name)
def test_the_table_names_writers_and_their_options(written: Format) -> None:
    module, _, function = written.writer.partition(":")
    parameters = inspect.signature(getattr(import_module(f"secateur.{module}"), function)).parameters
    assert {*written.options, *written.fixed, "rules"} | {"vectorized"} == {*parameters} | {"vectorized"}


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "html"])  # the report has a page of its own
def test_the_page_of_exports_lists_every_format(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "exports.md").read_text(encoding="utf-8")
    assert f"`{name}`" in page or f"`to_{name}()`" in page


def test_rules_are_written_by_keyword_options() -> None:
    rules = ward_rules()
    assert write_rules(rules, "sql", dialect="tsql", table="a") == rules.to_sql("tsql", table="a")
    assert write_rules(rules, "numpy", name="decide") == rules.to_python(vectorized=True, name="decide")
    assert write_rules(rules, "markdown", reasons=True) == rules.to_markdown(reasons=True)
    assert write_rules(rules, "frame", library="pandas").equals(rules.to_frame("pandas"))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "text",
            {"reason": True},
            "'text' has no option 'reason'; its options are reasons, nested, width. Did you mean 'reasons'",
        ),
        ("csv", {"table": "a"}, "'csv' has no option 'table'; it has none"),
        ("text", {"reasons": "no"}, "Expected reasons as True or False, found 'no'"),
        *(
            ("text", {"width": width}, "Expected width as a whole number from 1 on")
            for width in (0, -3, "a", 1.5, True)
        ),
        ("sql", {"dialect": "access"}, "no dialect 'access'"),
        ("sql", {"names": "abc"}, "Expected a name for each of rule, prediction, share, found the text 'abc'"),
        ("sql", {"table": "a..b"}, "found 'a..b'"),
        ("python", {"name": "class"}, "a name that a Python function can have"),
        ("frame", {"library": "arrow"}, "found 'arrow'"),
    ],
)
def test_an_option_that_does_not_fit_is_rejected(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        write_rules(ward_rules(), name, **options)


def test_an_unknown_format_is_rejected() -> None:
    with pytest.raises(ParameterError, match=r"no format 'excel'; choose one of sql, sql-check, python"):
        find_format("excel")
    with pytest.raises(ParameterError, match="Did you mean 'markdown'"):
        find_format("markdwon")


@both_forms
def test_hostile_names_survive_in_text_and_json(form: str) -> None:
    rules = in_form(form, hostile_rules())
    again = secateur.Rules.from_json(rules.to_json())
    assert again.tree.feature_names == HOSTILE
    assert again == rules
