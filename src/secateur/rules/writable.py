"""What rules are written as: text, tables, code, models and pages."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.report import Report


LEAST_WIDTH = 40  # of a terminal, below which wrapped rules cannot be read


class Writable:
    """Rules that can be written in every format of :mod:`secateur.export.formats`."""

    def _write(self, format: str, **options: Any) -> Any:
        from secateur.export.formats import write_rules

        return write_rules(self, format, **options)  # type: ignore[arg-type]

    def to_text(self, *, reasons: bool = False, nested: bool = False, width: int | None = None) -> str:
        """Write the rules as plain text, a line each, with what is predicted above and how far to trust it below.

        Parameters
        ----------
        reasons : bool, default=False
            Also say why each condition was deleted or kept.
        nested : bool, default=False
            Write the tree instead, as if and else, with branches merged that one line could answer for. No text is
            shorter, but an answer depends on every test above it.
        width : int, default=None
            Wrap to so many characters; by default lines are as long as they are.
        """
        return self._write("text", reasons=reasons, nested=nested, width=width)  # type: ignore[no-any-return]

    def to_frame(self, library: str | None = None) -> Any:
        """Put the rules into a data frame, one row per line, "otherwise" last.

        Parameters
        ----------
        library : {"pandas", "polars"}, default=None
            By default one that is already imported, else one that is installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
        """
        return self._write("frame", library=library)

    def to_sql(
        self,
        dialect: str = "duckdb",
        *,
        table: str | Sequence[str] = "rows",
        names: Sequence[str] = ("rule", "prediction", "share"),
        plain: bool = False,
        numbers: Sequence[str] = (),
        blanks: Sequence[str] = (),
    ) -> str:
        """Write the rules as one flat SQL statement that adds prediction, share and rule to a table.

        The number of "otherwise" is one more than that of the last rule.

        Parameters
        ----------
        dialect : str, default="duckdb"
            A database, such as ``"postgres"``, ``"sqlite"`` or ``"tsql"``; docs/exports.md lists them.
        table : str or sequence of str, default="rows"
            The table that the statement reads; write its schema before a dot, or as the first of a sequence.
        names : sequence of three str, default=("rule", "prediction", "share")
            Names of the added columns; a plain statement adds the prediction only.
        plain : bool, default=False
            Write one ``CASE`` as a person would: a line for each rule, a nested ``CASE`` for each section, short
            limits. Columns must have the types that the rules compare; the first lines say which, and how far the
            limits were shortened.
        numbers : sequence of str, default=()
            Columns that hold numbers in the table, though the rules read amounts such as ``€ 1,200`` from texts. In a
            plain statement all of them do.
        blanks : sequence of str, default=()
            Texts that mean a blank beside NULL, such as ``"N/A"``.
        """
        asked = {"dialect": dialect, "table": table, "names": names}
        return self._write("sql", **asked, plain=plain, numbers=numbers, blanks=blanks)  # type: ignore[no-any-return]

    def to_sql_check(
        self,
        dialect: str = "duckdb",
        *,
        table: str | Sequence[str] = "rows",
        numbers: Sequence[str] = (),
        blanks: Sequence[str] = (),
    ) -> str:
        """Write a query for the rows of a table that :meth:`to_sql` cannot decide, or does not know.

        Its result has a line for each column and reason: what is wrong, how many rows have it, and one of their values.
        An empty result means that every row is decided by values that the rules know.

        Parameters
        ----------
        dialect : str, default="duckdb"
        table : str or sequence of str, default="rows"
        numbers, blanks : sequence of str, default=()
            As in :meth:`to_sql`.
        """
        asked = {"dialect": dialect, "table": table, "numbers": numbers, "blanks": blanks}
        return self._write("sql-check", **asked)  # type: ignore[no-any-return]

    def to_python(self, *, vectorized: bool = False, name: str = "predict") -> str:
        """Write the rules as a Python function that runs without secateur.

        Parameters
        ----------
        vectorized : bool, default=False
            Take the columns of many rows and use numpy; by default, take one row and import nothing.
        name : str, default="predict"
            Name of the function.
        """
        return self._write("numpy" if vectorized else "python", name=name)  # type: ignore[no-any-return]

    def to_markdown(self, *, reasons: bool = False) -> str:
        """Write the rules as a Markdown table.

        Parameters
        ----------
        reasons : bool, default=False
            Also list what was deleted and dropped, and why.
        """
        return self._write("markdown", reasons=reasons)  # type: ignore[no-any-return]

    def to_latex(self) -> str:
        """Write the rules as a LaTeX table for the package booktabs."""
        return self._write("latex")  # type: ignore[no-any-return]

    def to_pmml(self) -> str:
        """Write the rules as a PMML RuleSetModel."""
        return self._write("pmml")  # type: ignore[no-any-return]

    def to_onnx(self) -> bytes:
        """Write the rules as an ONNX model; needs ``secateur[onnx]``."""
        return self._write("onnx")  # type: ignore[no-any-return]

    def to_smtlib(self) -> str:
        """Write tree and rules as SMT-LIB 2, in which a solver such as z3 looks for a row on which they differ.

        The file begins with what the answer means.
        """
        return self._write("smt2")  # type: ignore[no-any-return]

    def to_csv(self) -> str:
        """Write the rules as CSV, one row per line, "otherwise" last."""
        return self._write("csv")  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """Write tree, rules, numbers and reasons as versioned JSON, for ``from_json`` and ``verify``."""
        return self._write("json")  # type: ignore[no-any-return]

    def to_html(self) -> str:
        """Write the page of :meth:`report` as text."""
        return self._write("html")  # type: ignore[no-any-return]

    def report(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        target: str | None = None,
        title: str | None = None,
        budgets: Sequence[float] = (0.01,),
        notes: Sequence[str] = (),
        groups_by: Any = None,
    ) -> Report:
        """Make a page about the rules, in one file that works offline; it begins with the list.

        Parameters
        ----------
        X, y : array-like, default=None
            Rows to measure on, set aside when the tree was fitted; by default those that the rules were made with,
            unless they were read from a file. Rows that give every leaf its counts are taken for the training rows.
        sample_weight : array-like of shape (n_rows,), default=None
        target : str, default=None
            What is predicted, in a word or two, for the title and the first sentence; by default the name of the column
            of ``y``, if it has one.
        title : str, default=None
            By default made from ``target``.
        budgets : sequence of float, default=(0.01,)
            The positions of the page's slider beside the exact one: fractions of training rows
            whose answer may differ from the tree's.
        notes : sequence of str, default=()
            What else a reader should know of the table and the model, a sentence each, such as columns left out.
        groups_by : str or array-like of shape (n_rows,), default=None
            A column of ``X``, or a value for each of its rows: the page shows what each of these groups is told.
        """
        from secateur.report import make_report

        words = {"target": target, "title": title, "notes": notes, "groups_by": groups_by}
        return make_report(self, X, y, sample_weight=sample_weight, budgets=budgets, **words)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is arrays

    def __str__(self) -> str:
        if sys.stdout is not None and sys.stdout.isatty():
            return self.to_text(width=max(LEAST_WIDTH, shutil.get_terminal_size().columns))
        return self.to_text()
