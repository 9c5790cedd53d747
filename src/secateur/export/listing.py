"""All that people are shown of rules, gathered once: every text, table and picture only lays it out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from secateur.results.answer import describe_answer, describe_assimilation, describe_rows, explain_reading, title_rows
from secateur.results.measures import describe_flags
from secateur.rules.rule import Rule
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of, format_link
from secateur.words.plain_words import ROUNDED, bracket_asked, join_asked, rounds_a_number


class ListedReason(NamedTuple):
    """A condition of a rule's path, whether it was deleted, and why."""

    deleted: bool
    condition: str
    text: str


@dataclass(frozen=True)
class ListedLine:
    """One line as people are shown it."""

    number: int  # from 1
    class_id: int
    class_name: str
    asked: str
    conditions: tuple[str, ...]  # what is asked, part by part
    rows: str  # with the share of its class, and with what a reader should mind
    part: float  # of all rows, for a bar
    exact: str  # the line with exact numbers
    is_otherwise: bool
    heading: str  # of the first line of a section; empty where there is one
    stands_for: str  # leaf or leaves
    deleted: tuple[str, ...] = ()  # with one rule for each leaf, what is no longer asked
    reasons: tuple[ListedReason, ...] = ()
    aside: str = ""

    @property
    def words(self) -> str:
        """The line in words: ``yes if age ≤ 30``, ``otherwise no``."""
        if self.asked in ("otherwise", "always"):
            return f"{self.asked} {self.class_name}"
        return f"{self.class_name} if {self.asked}"


@dataclass(frozen=True)
class Listing:
    """What is said before, in and after a list of rules."""

    title: str
    before: tuple[str, ...]  # what is predicted
    rows_title: str
    lines: tuple[ListedLine, ...]
    n_left_out: int  # lines that are not shown
    after: tuple[str, ...]  # how far to trust them, and what to mind


def make_listing(rules: Rules, *, reasons: bool = False, most: int | None = None) -> Listing:
    """Gather what people are shown of rules, once for all formats; of many lines the first ``most``."""
    made: dict[tuple[bool, int | None], Listing] = vars(rules).setdefault("_listings", {})
    if (reasons, most) not in made:
        made[reasons, most] = _make_listing(rules, reasons=reasons, most=most)
    return made[reasons, most]


def _make_listing(rules: Rules, *, reasons: bool, most: int | None) -> Listing:
    read = cache(partial(format_link, rules.tree, rules.paths, voice=rules.voice))  # an edge is on many paths
    unseen = rules.unseen
    beside, by_leaf = (rules.support, rules.leaf_support) if unseen is None else (unseen.support, unseen.sizes)
    parts = np.minimum(np.nan_to_num(beside) / max(float(np.nansum(by_leaf)), 1e-300), 1.0).tolist()
    shown = [line for line in rules.lines if most is None or line.index < most]
    before, after = describe_answer(rules)
    kept, every = rules.n_conditions, rules.tree_conditions
    if rules.is_list:
        sections = f" in {len(rules.sections)} sections" if len(rules.sections) > 1 else ""
        told = f"{count_of(len(rules.lines), 'line')}{sections} with {count_of(kept, 'condition')}"
        title = f"{told}; the tree has {count_of(rules.tree_rules, 'rule')} with {every}"
    else:
        title = f"One rule for each of {rules.tree_rules} leaves, by {rules.method}: {kept} of {every} conditions left"
    after += explain_reading(rules, shown)
    after += [ROUNDED] if rounds_a_number(rules, shown) else []
    after += describe_flags(rules)
    after += [f"Note: {remark}" for remark in rules.remarks]
    return Listing(
        title=title,
        before=tuple(before),
        rows_title=title_rows(rules),
        lines=tuple(
            _list_line(line, parts[line.index], read, reasons=reasons, begins=section != line._section)
            for section, line in zip([None, *(line._section for line in shown)], shown, strict=False)
        ),
        n_left_out=len(rules.class_ids) - len(shown),
        after=tuple(after),
    )


def _list_line(line: Rule, part: float, read: Callable[[int], str], *, reasons: bool, begins: bool) -> ListedLine:
    leaves, told = line.leaf_ids, line.reasons.items() if reasons else ()
    aside = describe_assimilation(line) if reasons and line.assimilated_into is not None else ""
    return ListedLine(
        number=line.index + 1,
        class_id=line.class_id,
        class_name=line.class_name,
        asked=line.asked,
        conditions=tuple(bracket_asked(line.asks)),
        rows=describe_rows(line),
        part=part,
        exact=line.text,
        is_otherwise=line.is_otherwise,
        heading=join_asked(line.heading) if begins and line.heading else "",
        stands_for=f"leaf {leaves[0]}" if len(leaves) == 1 else f"{len(leaves)} leaves",
        deleted=() if line._rules.is_list else tuple(map(read, line.deleted_ids)),
        reasons=tuple(ListedReason(why.deleted, read(link), why.text) for link, why in told),
        aside=aside,
    )
