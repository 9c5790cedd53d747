"""Print what a simplification found: the answer first, then how far to trust it, and the rest on request."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from secateur.cli.forms import show_compact

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from secateur.cli.simplify import Story

__all__ = ["show_answer"]

SHOWN_RULES = 50
SHORTER = "--budget 0.01 (shorter rules), "
MORE = "--reasons (why), --each-leaf (one rule per leaf), --verbose (proofs)"


def show_answer(story: Story, *, reasons: bool, verbose: bool, page: Path | None = None) -> None:
    """Print the answer; with ``verbose`` the numbers of the audit and the proofs as well; ``page`` was written."""
    from rich.text import Text

    from secateur.cli.console import out

    out.print(Text(story.opening, style="bold"))
    for warning in story.warnings:
        out.print(Text(f"Warning: {warning}", style="bold yellow"))
    for note in (*story.notes, *(story.granted if verbose else ())):
        out.print(Text(f"• {note}", style="dim"))
    out.print()
    if story.compact is None:
        _show_rules(out, story, reasons=reasons)
    else:
        show_compact(out, story.compact, reasons=reasons)
    out.print()
    for sentence in _say_trust(story, verbose=verbose):
        out.print(Text(sentence))
    if verbose or not story.proof.ok:
        _show_proofs(out, story)
    _show_next(out, story, page, verbose=verbose)


def _say_trust(story: Story, *, verbose: bool) -> list[str]:
    """Say how right the rules are, how far they are what the tree says, and what was saved."""
    from secateur.results.answer import find_limiting_facts, say_faithful, say_measured, warn_of_weights
    from secateur.words.conditions import count_of
    from secateur.words.plain_words import ROUNDED, rounds_a_number

    whole, few = story.whole, story.compact
    before, left = story.n_conditions
    sentences = [*warn_of_weights(whole)]
    if story.audit is not None:
        sentences.append(say_measured(story.audit, story.audited))
        if story.is_set_aside:
            sentences.append("The numbers beside the rules are of the training rows.")
    proved = ""
    if story.proof.ok:
        is_proof = whole.is_exact if few is None else few.is_exact
        proved = (
            " An independent check proved it." if is_proof else " An independent check recounted the training rows."
        )
    n_leaves = f"{len(whole):,} {'leaf' if len(whole) == 1 else 'leaves'}"
    if few is None:
        sentences.append(f"{whole.guarantee}{proved}")
        saved = f"{count_of(before - left, 'condition')} of {before:,} deleted"
        sentences.append(f"{count_of(len(whole), 'rule')}, one for each leaf of the tree: {saved}.")
    else:
        audits: Any = (story.audit, None) if story.is_set_aside else (None, story.audit)
        sentences.append(f"{say_faithful(few, *audits)}{proved}")
        size = f"{count_of(len(few), 'rule')} with {count_of(left, 'condition')}"
        sentences.append(f"{size} instead of {n_leaves} of a tree with {before:,}.")
    facts = find_limiting_facts(story.rules) if few is None or few.is_exact else ()
    if facts and not verbose:
        others = f" and {count_of(len(facts) - 1, 'more fact')}" if len(facts) > 1 else ""
        sentences.append(f"Known of the columns, as the table shows: {facts[0]}{others} (--verbose lists them).")
    if rounds_a_number(whole, whole if few is None else few):
        sentences.append(ROUNDED)
    return sentences


def _show_proofs(out: Console, story: Story) -> None:
    from rich.panel import Panel
    from rich.text import Text

    def show(title: str, words: Any, colour: str = "none") -> None:
        out.print(Panel(Text(str(words)), title=Text(title), title_align="left", border_style=colour))

    if story.audit is not None:
        show(f"Measured on {story.audited}", story.audit)
    show("What is preserved", story.rules.guarantee)
    show("Checked independently", story.proof, "green" if story.proof.ok else "red")


def _show_next(out: Console, story: Story, page: Path | None, *, verbose: bool) -> None:
    from rich.text import Text

    from secateur.tree.shown_text import show_text

    command = show_text("secateur simplify " + " ".join(shlex.quote(word) for word in story.again))
    step = f"open {show_text(str(page))} in a browser" if page is not None else command
    out.print(Text.assemble("\nNext: ", (step, "bold")), soft_wrap=True)
    if story.compact is not None and not verbose:
        out.print(Text(f"More: {'' if story.compact.budget else SHORTER}{MORE}", style="dim"))


def _show_rules(out: Console, story: Story, *, reasons: bool) -> None:
    """Print the first rules in words."""
    from rich.text import Text

    from secateur.export.text import COUNTED_TWICE, counts_rows_twice
    from secateur.words.conditions import read_evidence, read_link

    rules = story.whole
    out.print(Text(f"One rule for each leaf after {rules.method}, and below each what was deleted (✂):", style="bold"))
    for rule in rules[:SHOWN_RULES]:
        out.print(Text(f"{rule.index + 1:3d}. {rule.words}   ({read_evidence(rule)})"))
        read = [(link, read_link(rules.tree, rules.paths, link, rules._voice)) for link in rule.reasons]
        if not reasons and rule.deleted_ids:
            gone = "; ".join(words for link, words in read if link in rule.deleted_ids)
            out.print(Text(f"     ✂ {gone}", style="dim"))
        for (_, words), reason in zip(read, rule.reasons.values(), strict=True) if reasons else ():
            sign, style = ("✂", "red") if reason.deleted else ("•", "green")
            out.print(Text.assemble(f"       {sign}", f" {words}  {reason.text}", style=f"dim {style}"))
    if len(rules) > SHOWN_RULES:
        rest = f"… and {len(rules) - SHOWN_RULES:,} more rules: write them with --export or --report."
        out.print(Text(rest, style="dim"))
    if counts_rows_twice(rules):
        out.print(Text(COUNTED_TWICE, style="dim"))
    # A class that no rule predicts is warned of at the top.
    for remark in rules._told_remarks if story.warnings else rules.remarks:
        out.print(Text(f"Note: {remark}", style="dim"))
