"""Print rules, how far to trust them and what to warn of, and the command to try next."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from secateur.cli.simplify import Story
    from secateur.export.listing import Listing
    from secateur.results.answer import Caution
    from secateur.results.audit import Audit
    from secateur.rules.rules import Rules

SHOWN_RULES = 50
SET_ASIDE = "New rows usually do worse than training rows."
SHORTER = "--budget 0.01 (shorter), "
OF_A_LIST = "--reasons (why), --each-leaf (one rule per leaf), --verbose (proofs)"
OF_LEAVES = "--reasons (what was deleted, and why), --verbose (proofs)"


def show_answer(
    story: Story, *, reasons: bool, verbose: bool, confusion: bool = False, page: Path | None = None
) -> None:
    """Print the answer; with ``verbose`` the numbers of the audit and the proofs as well; ``page`` was written."""
    from rich.panel import Panel
    from rich.text import Text

    from secateur.cli.console import out
    from secateur.export.listing import make_listing
    from secateur.results.measures import measure_rules

    rules = story.rules
    listing = make_listing(rules, reasons=reasons, most=SHOWN_RULES)
    listing = replace(listing, before=(story.opening,), after=tuple(_describe_trust(story, listing, verbose=verbose)))
    show_listing(listing, warnings=story.warnings, notes=(*story.notes, *(story.facts if verbose else ())))

    def show(title: str, words: Any, colour: str = "none") -> None:
        out.print(Panel(Text(str(words)), title=Text(title), title_align="left", border_style=colour))

    found = measure_rules(rules) if confusion or verbose else None
    if found is not None:
        show(f"Rows by what is said and what they are, {found.rows}", found.describe_confusion())
    if verbose or not story.proof.ok:
        if story.audit is not None:
            show(f"Measured on {story.audited}", story.audit)
        show("What is guaranteed", rules.guarantee)
        show("Checked independently", story.proof, "green" if story.proof.ok else "red")
    show_next(("simplify", *story.again), page)
    if not verbose:
        shorter = "" if rules.budget or story.audit is None else SHORTER  # a budget is spent on rows
        out.print(Text(f"More: {f'{shorter}{OF_A_LIST}' if rules.is_list else OF_LEAVES}", style="dim"))


def show_listing(listing: Listing, *, notes: Iterable[str] = (), warnings: Iterable[str] = ()) -> None:
    """Print a listing as wide as the screen, with what to know of the table before the rules."""
    from rich.text import Text

    from secateur.cli.console import out
    from secateur.export.text import lay_out

    for sentence in listing.before:
        out.print(Text(sentence, style="bold"))
    for warning in warnings:
        out.print(Text(f"Warning: {warning}", style="bold yellow"))
    for note in notes:
        out.print(Text(f"• {note}", style="dim"))
    cut = ("Write all rules with --export or --report.",) if listing.n_left_out else ()
    words = lay_out(replace(listing, before=(), after=(*cut, *listing.after)), width=out.width)
    out.print(Text(f"\n{words}"), soft_wrap=True)


def show_next(words: Iterable[str], page: Path | None = None) -> None:
    """Print what to do next: open a page that was written, else a command."""
    from rich.text import Text

    from secateur.cli.console import out
    from secateur.tree.columns import show_text

    command = "secateur " + " ".join(shlex.quote(word) for word in words)
    step = show_text(command) if page is None else f"open {show_text(str(page))} in a browser"
    out.print(Text.assemble("\nNext: ", (step, "bold")), soft_wrap=True)


def _describe_trust(story: Story, listing: Listing, *, verbose: bool) -> list[str]:
    """Say how often the rules are right, how far they agree with the tree, and how short they are."""
    from secateur.results.answer import (
        FLATTER,
        describe_accuracy,
        describe_answer,
        describe_faithful,
        describe_measured,
        describe_measures,
        find_limiting_facts,
        warn_of_weights,
    )
    from secateur.words.conditions import count_of

    rules, audit = story.rules, story.audit
    sentences = [*warn_of_weights(rules)]
    is_measured = rules.unseen is not None or not story.is_set_aside
    if rules.is_list and is_measured and not rules.tree.is_regression:
        sentences += [SET_ASIDE if one == FLATTER else one for one in describe_measures(rules)]
    elif audit is not None:
        sentences.append(describe_measured(audit, story.audited))
    if (crossed := story.crossed) is not None:
        shares = crossed.accuracy, crossed.rows, crossed.names[crossed.guess], crossed.guess_accuracy
        sentences = [one for one in sentences if one != SET_ASIDE]
        sentences += ["New rows: " + describe_accuracy(*shares), *filter(None, [crossed.describe_class()])]
    sentences += [] if story.cutoff is None else [str(story.cutoff)]
    faithful = describe_faithful(rules, *((audit, None) if story.is_set_aside else (None, audit)))
    if story.proof.ok:
        proved = "proved it" if rules.is_exact else "recounted the training rows"
        faithful += f" An independent check {proved}."
    guarantee = () if rules.is_list or verbose else (f"Guarantee: {rules.guarantee}",)
    sentences += [faithful, *guarantee, f"{listing.title}."]
    facts = find_limiting_facts(rules)
    if facts and not verbose:
        others = f" and {count_of(len(facts) - 1, 'more fact')}" if len(facts) > 1 else ""
        sentences.append(f"Stated facts, as the table shows them: {facts[0]}{others} (--verbose lists them).")
    # The rest of what the listing says: a class that no rule predicts is warned of at the top.
    told = {*describe_answer(rules)[1]}
    told |= {f"Note: {one}" for one in rules.remarks[len(rules.own_remarks) :]} if story.warnings else set()
    return [*sentences, *(one for one in listing.after if one not in told)]


BALANCED = " --balanced lets rare classes count as much as common ones."
BALANCED_GUESS = " That is the price of --balanced, which finds rare classes."
OTHER_COLUMNS = " Other columns may tell more."
TELLING = 0.65  # an AUC from which on probabilities rank rows


def warn_of_rules(rules: Rules, audit: Audit, *, min_rows: int | None, balanced: bool) -> tuple[str, ...]:
    """Find what to warn of, by an audit; ``min_rows`` is the fewest rows in a leaf of a tree that was fitted here."""
    from secateur.results.answer import find_cautions
    from secateur.results.measures import FEW_ROWS, measure_rules

    def advise(caution: Caution) -> str:
        if min_rows is None:
            return ""
        if caution.kind == "guess":
            measures = measure_rules(rules)
            if measures is not None and measures.auc >= TELLING:
                told = f" Its probabilities still tell rows apart (AUC {measures.auc:.2f}): see what each line states."
                return f"{BALANCED_GUESS if balanced else ''}{told}"
            return BALANCED_GUESS if balanced else OTHER_COLUMNS
        if caution.kind == "unpredicted":
            return "" if balanced else BALANCED
        if caution.kind != "few-rows" or min_rows >= FEW_ROWS:
            return ""
        # A line of a short list may decide few rows though each leaf has many.
        return f" --min-rows {FEW_ROWS} {'may avoid that' if rules.is_list else 'avoids them'}."

    if rules.tree.is_regression:
        return ()
    found = find_cautions(rules, audit.accuracy / 100, (audit.baseline_class, audit.baseline / 100))
    return tuple(f"{one.text}{advise(one)}" for one in found)
