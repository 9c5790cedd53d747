"""Draw a list of rules: a class-coloured chip, what each rule asks, and a bar of the rows that it decides or covers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.export.compact_text import read_decided
from secateur.export.picture import PALE, Picture, draw_svg, pick_colour, wrap_words, write_svg_text
from secateur.results.answer import say_answer
from secateur.words.conditions import count_of, read_evidence
from secateur.words.plain_words import join_asked

if TYPE_CHECKING:
    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule_set import RuleSet

__all__ = ["draw_compact", "draw_rules"]

SHOWN_RULES = 60
WIDTH, MARGIN, LINE, GAP = 960, 16, 18, 12
CHIP, BAR = 120, 150  # widths of a class's chip and of the longest bar
ASKED = MARGIN + CHIP + 16
NUMBERS = WIDTH - MARGIN - BAR
ROOM = NUMBERS - ASKED - 24

Line = tuple[str, str, int, str, float]  # class, what is asked, class index, numbers, share of the rows


def draw_compact(rules: CompactRules) -> Picture:
    """Draw compact rules, and "otherwise"."""
    counts = rules.decided_counts.sum(axis=1)
    shares = np.nan_to_num(counts / max(float(np.nansum(counts)), 1e-300)).tolist()
    lines: list[Line] = [
        (
            rule.class_name,
            join_asked(rule.asks),
            int(rules.class_ids[rule.index]),
            read_decided(rules, rule.index),
            share,
        )
        for rule, share in zip(rules[:SHOWN_RULES], shares, strict=False)
    ]
    rest = rules.rest_word
    lines.append((rules.otherwise_name, rest, rules.otherwise_id, read_decided(rules, len(rules)), shares[-1]))
    before, after = say_answer(rules)
    return _draw(before, lines, len(rules) - SHOWN_RULES, after)


def draw_rules(rules: RuleSet) -> Picture:
    """Draw the rules of all leaves."""
    total = max(float(np.nansum(rules.source_support)), 1e-300)
    lines: list[Line] = [
        (
            *(rule.class_name, join_asked(rule.asks), int(rules.paths.leaf_class[rule.index])),
            *(read_evidence(rule), (rule.support or 0.0) / total),
        )
        for rule in rules[:SHOWN_RULES]
    ]
    return _draw([f"One rule for each leaf, by {rules.method}."], lines, len(rules) - SHOWN_RULES, [])


def _draw(before: list[str], lines: list[Line], n_more: int, after: list[str]) -> Picture:
    parts: list[str] = []
    y = float(MARGIN)

    def write(sentences: list[str], style: str) -> None:
        nonlocal y
        for sentence in sentences:
            for words in wrap_words(sentence, WIDTH - 2 * MARGIN):
                y += LINE
                parts.append(write_svg_text(MARGIN, y, words, style=style))

    write(before, "font-weight='600'")
    y += GAP
    for name, asked, class_id, numbers, share in lines:
        colour, ink = pick_colour(class_id)
        chip, folded = wrap_words(name, CHIP - 12)[0], wrap_words(asked, ROOM)
        parts.append(f"<rect x='{MARGIN}' y='{y:.1f}' width='{CHIP}' height='{LINE + 4}' rx='4' fill='{colour}'/>")
        shown = chip if chip == name else f"{chip[:-1]}…"
        parts.append(write_svg_text(MARGIN + CHIP / 2, y + LINE - 3, shown, anchor="middle", fill=ink))
        for place, words in enumerate(folded):
            parts.append(write_svg_text(ASKED, y + LINE - 3 + place * LINE, words))
        bar = f"x='{NUMBERS}' y='{y:.1f}' height='6'"
        parts.append(f"<rect {bar} width='{BAR}' fill='{PALE}'/>")
        parts.append(f"<rect {bar} width='{BAR * min(share, 1.0):.1f}' fill='{colour}'/>")
        told = wrap_words(numbers, BAR, 12)
        for place, words in enumerate(told):
            parts.append(write_svg_text(NUMBERS, y + 20 + place * 14, words, style="font-size='12'"))
        y += max(LINE * len(folded), 14 * len(told) + 10) + GAP
    if n_more > 0:
        write([f"… and {count_of(n_more, 'more rule')}"], "")
    write(after, "")
    return Picture(draw_svg(WIDTH, y + MARGIN, parts, " ".join(before) or "Rules"))
