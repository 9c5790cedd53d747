"""Report: a summary, and the page that shows it."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError
from secateur.report.lists import BUDGETS
from secateur.report.page import render_page
from secateur.report.summarize import summarize
from secateur.rows.whole_files import write_whole
from secateur.words.conditions import count_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule_set import RuleSet

__all__ = ["Report", "make_report", "rules_to_page"]


class Report:
    """A rule set as a page: made by :meth:`RuleSet.report` or :meth:`CompactRules.report`.

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
    >>> report = make_report(secateur.compact(model, X, y), title="Iris")
    >>> report
    <Report: 'Iris', 2 rules and otherwise, of 5 leaves>
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
        listed = count_of(len(summary["lists"][summary["list"]]["rules"]), "rule")
        return f"<Report: {summary['title']!r}, {listed} and otherwise, of {summary['size']['n_rules']} leaves>"


def make_report(
    rules: RuleSet | CompactRules,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    target: str | None = None,
    title: str | None = None,
    budgets: Any = BUDGETS,
    notes: Sequence[str] = (),
) -> Report:
    """Make the report of a rule set, or of compact rules.

    Parameters
    ----------
    rules : RuleSet or CompactRules
    X : array-like or data frame of shape (n_rows, n_features), default=None
        Rows to measure on, set aside when the tree was fitted; by default those that the rules were made from, if they
        are at hand.
    y : array-like of shape (n_rows,), default=None
        Their labels.
    sample_weight : array-like of shape (n_rows,), default=None
        Their weights.
    target : str, default=None
        What is predicted, in a word or two; by default the name of the column of ``y``, if it has one.
    title : str, default=None
        The report's title; by default made from ``target``.
    budgets : sequence of float, default=(0.0025, 0.005, 0.01, 0.015, 0.02, 0.03)
        The positions of the slider beside the exact one.
    notes : sequence of str, default=()
        What else a reader should know of the table and the model, a sentence each.

    Returns
    -------
    Report
    """
    words: dict[str, Any] = {"target": target, "title": title, "notes": notes}
    return Report(summarize(rules, X, y, sample_weight=sample_weight, budgets=budgets, **words))


def rules_to_page(rules: RuleSet | CompactRules) -> str:
    """Write the page of a rule set, or of compact rules."""
    return make_report(rules).to_html()
