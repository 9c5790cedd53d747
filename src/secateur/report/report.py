"""Report: a summary, and the page that shows it."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError
from secateur.report.page import render_page
from secateur.report.summarize import summarize
from secateur.rows.whole_files import write_whole
from secateur.words.conditions import count_of

if TYPE_CHECKING:
    import os

    from secateur.rules.rules import Rules

__all__ = ["Report", "make_report", "rules_to_page"]


class Report:
    """Rules as a page: made by :meth:`Rules.report`.

    Parameters
    ----------
    summary : dict
        What the page shows, as :func:`summarize` gives it.

    Attributes
    ----------
    summary : dict
        The same: plain numbers, texts, lists and dicts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> report = make_report(secateur.simplify(model, X, y), title="Iris")
    >>> report
    <Report: 'Iris', 3 rules and otherwise, of 5 leaves>
    >>> report.to_html().startswith("<!doctype html>")
    True
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary

    def to_html(self) -> str:
        """Write the page: one file that needs no network.

        Returns
        -------
        str
        """
        return render_page(self.summary)

    def to_json(self) -> str:
        """Write the summary as JSON.

        Returns
        -------
        str
        """
        return json.dumps(self.summary, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            Name of the file; one that exists is kept.
        force : bool, default=False
            Overwrite a file that exists.
        """
        target = Path(path)
        if target.exists() and not force:
            raise InputError(f"{target} exists already. Pass force=True to overwrite it, or choose another name.")
        write_whole(target, self.to_html().encode("utf-8", errors="replace"))

    def _repr_html_(self) -> str:
        # A frame of its own keeps the page's style and script apart from the notebook's.
        return (
            f'<iframe title="{escape(self.summary["title"], quote=True)}" sandbox="allow-scripts" '
            f'style="width:100%;height:780px;border:1px solid #8884" srcdoc="{escape(self.to_html(), quote=True)}">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        summary = self.summary
        shown = summary["lists"][summary["list"]]
        n_sections = len(shown["sections"])
        listed = count_of(shown["n_rules"], "rule") + (
            f" in {n_sections} sections" if n_sections > 1 else " and otherwise"
        )
        return f"<Report: {summary['title']!r}, {listed}, of {summary['size']['n_rules']} leaves>"


def make_report(rules: Rules, X: Any = None, y: Any = None, **options: Any) -> Report:
    """Make the report of rules; the parameters are those of :func:`summarize`."""
    return Report(summarize(rules, X, y, **options))


def rules_to_page(rules: Rules) -> str:
    """Write the page of rules."""
    return make_report(rules).to_html()
