"""Draw a list of rules: a class-coloured chip, what each rule asks, and a bar of the rows that it decides or covers."""

from collections.abc import Sequence

from secateur.export.listing import make_listing
from secateur.export.picture import PALE, Picture, draw_svg, pick_colour, wrap_words, write_svg_text
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of

SHOWN_RULES = 60
WIDTH, MARGIN, LINE, GAP = 960, 16, 18, 12
CHIP, BAR = 120, 150  # widths of a class's chip and of the longest bar
ASKED = MARGIN + CHIP + 16
NUMBERS = WIDTH - MARGIN - BAR
ROOM = NUMBERS - ASKED - 24


def draw_rules(rules: Rules) -> Picture:
    """Draw the lines, what is predicted above them, and how far to trust them below."""
    listing = make_listing(rules, most=SHOWN_RULES)
    before = listing.before or (f"{listing.title}.",)
    parts: list[str] = []
    y = float(MARGIN)

    def write(sentences: Sequence[str], style: str) -> None:
        nonlocal y
        for sentence in sentences:
            for words in wrap_words(sentence, WIDTH - 2 * MARGIN):
                y += LINE
                parts.append(write_svg_text(MARGIN, y, words, style=style))

    write(before, "font-weight='600'")
    y += GAP
    for line in listing.lines:
        if line.heading:
            write([f"Among {line.heading}"], "font-weight='600'")
            y += GAP
        colour, ink = pick_colour(line.class_id)
        name, share = line.class_name, line.part
        chip, folded = wrap_words(name, CHIP - 12)[0], wrap_words(line.asked, ROOM)
        parts.append(f"<rect x='{MARGIN}' y='{y:.1f}' width='{CHIP}' height='{LINE + 4}' rx='4' fill='{colour}'/>")
        shown = chip if chip == name else f"{chip[:-1]}…"
        parts.append(write_svg_text(MARGIN + CHIP / 2, y + LINE - 3, shown, anchor="middle", fill=ink))
        for place, words in enumerate(folded):
            parts.append(write_svg_text(ASKED, y + LINE - 3 + place * LINE, words))
        bar = f"x='{NUMBERS}' y='{y:.1f}' height='6'"
        parts.append(f"<rect {bar} width='{BAR}' fill='{PALE}'/>")
        parts.append(f"<rect {bar} width='{BAR * share:.1f}' fill='{colour}'/>")
        told = wrap_words(line.rows, BAR, 12)
        for place, words in enumerate(told):
            parts.append(write_svg_text(NUMBERS, y + 20 + place * 14, words, style="font-size='12'"))
        y += max(LINE * len(folded), 14 * len(told) + 10) + GAP
    if listing.n_left_out:
        write([f"… and {count_of(listing.n_left_out, 'more line')}"], "")
    write(listing.after, "")
    return Picture(draw_svg(WIDTH, y + MARGIN, parts, " ".join(before) or "Rules"))
