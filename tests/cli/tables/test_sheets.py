"""A sheet of a workbook gives the table that it gives once saved as CSV."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from secateur.cli.tables.table_file import read_table
from secateur.errors import InputError, ParameterError

pytest.importorskip("python_calamine")

SHEETS: dict[str, list[list[Any]]] = {
    "Loans": [
        ["code", "age", "rate", "opened", "paid", "note"],
        ["007", 34, 1.5, "2024-01-02", True, "a, b"],
        ["010", "", 2.25, "2024-03-04", False, 'q"z & <x>'],
        ["", 51, 3.0, "", True, ""],
    ],
    "Old & gone": [["x"], [1]],
}
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns"


def escape(text: object) -> str:
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def write_excel(path: Path) -> None:
    """Write a workbook as Excel does, by hand."""

    def cell(value: Any) -> str:
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>' if value else "<c/>"
        return f"<c><v>{value}</v></c>"

    with zipfile.ZipFile(path, "w") as packed:
        named = "".join(f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(SHEETS, 1))
        workbook = f'<workbook xmlns="{MAIN}" xmlns:r="{RELATED}"><sheets>{named}</sheets></workbook>'
        packed.writestr("xl/workbook.xml", workbook)
        root = f'<Relationship Id="r0" Type="{RELATED}/officeDocument" Target="xl/workbook.xml"/>'
        packed.writestr("_rels/.rels", f'<Relationships xmlns="{PACKAGE}/relationships">{root}</Relationships>')
        links = "".join(
            f'<Relationship Id="r{n}" Type="{RELATED}/worksheet" Target="worksheets/s{n}.xml"/>' for n in (1, 2)
        )
        related = f'<Relationships xmlns="{PACKAGE}/relationships">{links}</Relationships>'
        packed.writestr("xl/_rels/workbook.xml.rels", related)
        for n, lines in enumerate(SHEETS.values(), 1):
            rows = "".join(f"<row>{''.join(map(cell, line))}</row>" for line in lines)
            packed.writestr(
                f"xl/worksheets/s{n}.xml", f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
            )


def write_office(path: Path) -> None:
    """Write a workbook as LibreOffice does, by hand."""

    def cell(value: Any) -> str:
        if value == "":
            return "<table:table-cell/>"
        kind = "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "float"
        field = {"boolean": "boolean-value", "string": "string-value", "float": "value"}[kind]
        told = (
            f'office:value-type="{kind}" office:{field}="{escape(str(value).lower() if kind == "boolean" else value)}"'
        )
        return f"<table:table-cell {told}><text:p>{escape(value)}</text:p></table:table-cell>"

    tables = ""
    for name, lines in SHEETS.items():
        rows = "".join(f"<table:table-row>{''.join(map(cell, line))}</table:table-row>" for line in lines)
        tables += f'<table:table table:name="{escape(name)}">{rows}</table:table>'
    spaces = " ".join(f'xmlns:{one}="{OFFICE}:{one}:1.0"' for one in ("office", "table", "text"))
    body = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("mimetype", kind)
        packed.writestr("content.xml", f"<office:document-content {spaces}>{body}</office:document-content>")
        entry = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        listed = f'<manifest:manifest xmlns:manifest="{OFFICE}:manifest:1.0">{entry}</manifest:manifest>'
        packed.writestr("META-INF/manifest.xml", listed)


@pytest.fixture(params=["xlsx", "ods"])
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"book.{request.param}"
    {"xlsx": write_excel, "ods": write_office}[request.param](path)
    return path


def test_a_sheet_is_read_as_its_csv_file(book: Path, tmp_path: Path) -> None:
    header, *lines = SHEETS["Loans"]
    pd.DataFrame(lines, columns=header).to_csv(tmp_path / "t.csv", index=False)
    table, as_csv = read_table(book), read_table(tmp_path / "t.csv", text=["code"])
    pd.testing.assert_frame_equal(table.frame, as_csv.frame)
    assert (table.kinds, table.whole) == (as_csv.kinds, as_csv.whole)
    assert table.kinds["code"] == "text"  # its digits are texts in the workbook
    assert table.notes == ("Read the sheet 'Loans' of 2 (--sheet names another).",)
    assert read_table(book, sheet="Old & gone").frame["x"].tolist() == [1]


def test_a_slip_is_one_sentence(book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"has no sheet 'loan'. Did you mean 'Loans'\? Its sheets: 'Loans'"):
        read_table(book, sheet="loan")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"t.csv is no workbook \(.xlsx or .ods\): leave out --sheet"):
        read_table(tmp_path / "t.csv", sheet="Loans")
    with zipfile.ZipFile(tmp_path / "broken.xlsx", "w") as packed:
        packed.writestr("xl/workbook.xml", "<workbook>")
    with pytest.raises(InputError, match=r"cannot be read as a workbook.*Save it as CSV"):
        read_table(tmp_path / "broken.xlsx")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    monkeypatch.setattr("secateur.errors.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"A workbook needs python_calamine: pip install 'secateur\[sheets\]'"):
        read_table(book)
