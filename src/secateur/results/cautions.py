"""What a reader should know before relying on rules: a class left out, nothing gained over a guess, too few rows."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from secateur.rules.rules import Rules
from secateur.words.conditions import count_of, read_count, read_share

# The fewest rows from which a share says something: if a class were as likely as not, five rows would all be of it in
# 3 % of cases, four rows in 6 %.
FEW_ROWS = 5
# Rules that make nearly all the errors of a guess gain nothing over it.
LEAST_SPARED = 0.05
SHOWN_RULES = SHOWN_CLASSES = 5


class Caution(NamedTuple):
    """A warning: what it is about, and a sentence."""

    kind: str  # "unpredicted", "left-out", "guess" or "few-rows"
    text: str

    def __str__(self) -> str:
        return self.text


def find_cautions(rules: Rules, accuracy: float | None = None, guess: tuple[str, float] | None = None) -> list[Caution]:
    """Find what to warn of.

    ``accuracy`` is the share of some rows that the rules get right, ``guess`` the commonest class of these rows and its
    share of them.

    Examples
    --------
    >>> from secateur import TreeBuilder, simplify
    >>> builder = TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    >>> root = builder.split("age", 30)
    >>> _ = builder.leaf([8, 2], parent=root, side="left")
    >>> _ = builder.leaf([9, 1], parent=root, side="right")
    >>> for caution in find_cautions(simplify(builder.build(), method="none", each_leaf=True)):
    ...     print(caution)
    No rule predicts yes (3 of 20 rows): it is nowhere the commonest class.
    """
    return [*_find_unpredicted(rules), *_compare_with_guess(accuracy, guess), *_find_small(rules)]


def _find_unpredicted(rules: Rules) -> Iterator[Caution]:
    tree = rules.tree
    sizes = rules.leaf_counts.sum(axis=0) if rules.is_ranked else None
    if sizes is None and tree.counts is not None:
        sizes = tree.counts[0]
    by_tree, said = {*tree.leaf_class[tree.is_leaf].tolist()}, {*rules.class_ids.tolist()}
    unsaid = [place for place in range(tree.n_classes) if place not in said and (sizes is None or sizes[place] != 0)]
    for place in unsaid[:SHOWN_CLASSES]:
        of = "" if sizes is None else f" ({read_count(float(sizes[place]))} of {count_of(float(sizes.sum()), 'row')})"
        kind, why = "unpredicted", "it is nowhere the commonest class"
        if place in by_tree:
            kind, why = "left-out", "its rules were left out, within the budget"
        yield Caution(kind, f"No rule predicts {tree.class_names[place]}{of}: {why}.")
    if len(unsaid) > SHOWN_CLASSES:
        yield Caution("unpredicted", f"No rule predicts {len(unsaid) - SHOWN_CLASSES:,} more classes either.")


def _compare_with_guess(accuracy: float | None, guess: tuple[str, float] | None) -> Iterator[Caution]:
    if accuracy is None or guess is None or guess[1] >= 1:
        return
    name, share = guess
    if 1 - accuracy > (1 - LEAST_SPARED) * (1 - share):
        gained = "hardly more" if accuracy > share else "no more" if accuracy == share else "less"
        yield Caution(
            "guess",
            f"On the rows measured, the rules are right for {read_share(accuracy)}, {gained} often than always saying "
            f"{name} ({read_share(share)}).",
        )


def _find_small(rules: Rules) -> Iterator[Caution]:
    if not rules.is_ranked or rules.is_weighted:
        return
    small = [str(place + 1) for place in np.flatnonzero(rules.support < FEW_ROWS).tolist()]
    if small:
        listed = ", ".join(small[:SHOWN_RULES]) + (f" and {len(small) - SHOWN_RULES} more" * (len(small) > SHOWN_RULES))
        noun = "Line" if rules.is_list else "Rule"
        has, says = ("has", "its percentage says") if len(small) == 1 else ("have", "their percentages say")
        noun += "s" * (len(small) > 1)
        yield Caution("few-rows", f"{noun} {listed} {has} fewer than {FEW_ROWS} rows: {says} little.")
