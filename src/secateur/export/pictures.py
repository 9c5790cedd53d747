"""Pictures of rules and of trees, as SVG."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ParameterError
from secateur.export.listing import make_listing
from secateur.methods.contract import check_whole
from secateur.rows.whole_files import write_whole
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of, format_count, format_link, format_share
from secateur.words.plain_words import format_amount

# Okabe and Ito's colours, which people with any kind of colour vision tell apart, and a dark and a light text for them.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
DARK_TEXT = {"#E69F00", "#56B4E9", "#F0E442", "#CC79A7", "#999999", "#009E73"}
INK, PAPER, PALE = "#1a1a1a", "#ffffff", "#e6e6e6"
FONT = "font-family='system-ui, -apple-system, Segoe UI, Roboto, sans-serif'"
LETTER = 0.56  # mean width of a letter, in font sizes


@dataclass(frozen=True)
class Picture:
    """An SVG picture, which a notebook shows.

    Attributes
    ----------
    svg : str
        The picture as text.
    """

    svg: str

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Such as ``"tree.svg"``.
        """
        if not str(path).lower().endswith(".svg"):
            raise ParameterError(
                f"A picture is SVG: expected a name that ends with .svg, found {str(path)!r}. For PNG or PDF, convert "
                "the file, for example with a browser or Inkscape."
            )
        write_whole(Path(path), self.svg.encode("utf-8"))

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture of {len(self.svg):,} characters: a notebook shows it, save() writes it>"


def draw_svg(width: float, height: float, parts: Iterable[str], title: str) -> str:
    """Put parts onto a white sheet, which shrinks with the frame that it stands in."""
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}' "
        f"viewBox='0 0 {width:.0f} {height:.0f}' style='max-width:100%;height:auto' role='img' {FONT} font-size='13'>"
    )
    sheet = f"<title>{_clean(title)}</title><rect width='100%' height='100%' fill='{PAPER}'/>"
    return "\n".join([head, sheet, *parts, "</svg>"])


def write_svg_text(x: float, y: float, words: str, *, anchor: str = "start", style: str = "", fill: str = INK) -> str:
    """Write one line of text."""
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{fill}' {style}>{_clean(words)}</text>"


def _clean(words: str) -> str:
    """Escape a text, and leave out what XML cannot hold."""
    return escape("".join(sign if sign.isprintable() else " " for sign in words), quote=True)


def pick_colour(class_id: int, of: int | None) -> tuple[str, str]:
    """Pick the colour of a class and of a text on it; the class of interest is warm."""
    place = class_id if of is None else {of: 1, 1: of}.get(class_id, class_id)
    colour = COLOURS[place % len(COLOURS)]
    return colour, INK if colour in DARK_TEXT else PAPER


def wrap_words(words: str, width: float, size: float = 13) -> list[str]:
    """Break a text into lines that fit a width; a word that is too long is broken, too."""
    return wrap(words, max(8, int(width / (LETTER * size))), break_on_hyphens=False) or [""]


SHOWN_RULES = 60
WIDTH, MARGIN, LINE, GAP = 960, 16, 18, 12
CHIP, BAR = 120, 210  # widths of a class's chip and of the longest bar
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
        colour, ink = pick_colour(line.class_id, rules.making.of)
        name, share = line.class_name, line.part
        chip, folded = wrap_words(name, CHIP - 12), wrap_words(line.asked, ROOM)
        tall = LINE * len(chip) + 4
        parts.append(f"<rect x='{MARGIN}' y='{y:.1f}' width='{CHIP}' height='{tall}' rx='4' fill='{colour}'/>")
        for place, words in enumerate(chip):
            at = y + LINE - 3 + place * LINE
            parts.append(write_svg_text(MARGIN + CHIP / 2, at, words, anchor="middle", fill=ink))
        for place, words in enumerate(folded):
            parts.append(write_svg_text(ASKED, y + LINE - 3 + place * LINE, words))
        bar = f"x='{NUMBERS}' y='{y:.1f}' height='6'"
        parts.append(f"<rect {bar} width='{BAR}' fill='{PALE}'/>")
        parts.append(f"<rect {bar} width='{BAR * share:.1f}' fill='{colour}'/>")
        told = wrap_words(line.rows, BAR, 12)
        for place, words in enumerate(told):
            parts.append(write_svg_text(NUMBERS, y + 20 + place * 14, words, style="font-size='12'"))
        y += max(tall, LINE * len(folded), 14 * len(told) + 10) + GAP
    if listing.n_left_out:
        write([f"… and {count_of(listing.n_left_out, 'more line')}"], "")
    write(listing.after, "")
    return Picture(draw_svg(WIDTH, y + MARGIN, parts, " ".join(before) or "Rules"))


BOX, LEVEL, EDGE, ROW = 150, 120, 24, 16  # sizes of a leaf's place, of a level, of the edge, and of a line of text
WIDEST_BRANCH = 14.0
DEFAULT_DEPTH = 3
MOST_LINES = 4  # of a split; the words for a long list of categories end in an ellipsis


@dataclass(frozen=True)
class _Shown:
    node: int
    depth: int
    children: tuple[int, ...]  # places of its children in the list, none where it is a leaf or folded
    x: float


def draw_tree(rules: Rules, max_depth: int | None = DEFAULT_DEPTH) -> Picture:
    """Draw the tree down to a depth; what lies below is folded into one box that says how many leaves it has."""
    tree, counts = rules.tree, _count_nodes(rules)
    deepest = tree.depth if max_depth is None else check_whole("max_depth", max_depth, also=", or None for all")
    shown = _place_nodes(rules, deepest)
    total = float(counts[0].sum())
    parts: list[str] = []
    for place in reversed(range(len(shown))):
        one = shown[place]
        y = EDGE + one.depth * LEVEL
        for word, child in zip(("yes", "no"), one.children, strict=False):
            share = float(counts[shown[child].node].sum()) / total if total else 0.0
            parts.append(_draw_branch(one.x, y, shown[child].x, y + LEVEL, share, word))
    for one in shown:
        parts += _draw_node(rules, counts, one, EDGE + one.depth * LEVEL)
    deepest = max(one.depth for one in shown)
    width = max(one.x for one in shown) + BOX / 2 + EDGE
    words = f"A decision tree with {tree.n_leaves:,} leaves"
    height = 2 * EDGE + deepest * LEVEL + 84
    told = "Rows are training rows" if rules.is_ranked else "The model counts rows"
    told += "." if tree.is_regression else "; a percentage is the share of the class in them."
    for line in wrap_words(told, width - 2 * EDGE) if total else ():
        parts.append(write_svg_text(EDGE, height, line, style="font-size='12'"))
        height += ROW
    return Picture(draw_svg(width, height, parts, words))


def _place_nodes(rules: Rules, max_depth: int) -> list[_Shown]:
    """Place leaves side by side, and each split above the middle of its branches; no recursion, for deep trees."""
    tree = rules.tree
    shown: dict[int, _Shown] = {}
    order: list[tuple[int, int]] = []
    stack = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        order.append((node, depth))
        if not tree.is_leaf[node] and depth < max_depth:
            stack += [(int(tree.children_right[node]), depth + 1), (int(tree.children_left[node]), depth + 1)]
    place_of = {node: place for place, (node, _) in enumerate(order)}
    n_ends = 0
    places: dict[int, float] = {}
    for node, depth in order:  # left to right
        if tree.is_leaf[node] or depth >= max_depth:
            places[node] = EDGE + BOX / 2 + n_ends * (BOX + 10)
            n_ends += 1
    for node, depth in reversed(order):
        children: tuple[int, ...] = ()
        if node not in places:
            left, right = int(tree.children_left[node]), int(tree.children_right[node])
            places[node], children = (places[left] + places[right]) / 2, (place_of[left], place_of[right])
        shown[node] = _Shown(node, depth, children, places[node])
    return [shown[node] for node, _ in order]


def _count_nodes(rules: Rules) -> NDArray[np.float64]:
    """Count the training rows of each class at every node; without rows, what the model counted."""
    tree, paths = rules.tree, rules.paths
    if not rules.is_ranked and tree.counts is not None:
        return np.asarray(tree.counts, dtype=np.float64)
    counts = np.zeros((tree.n_nodes, tree.n_classes))
    counts[paths.leaf_ids] = np.nan_to_num(rules.leaf_counts)
    for node in range(tree.n_nodes - 1, 0, -1):  # children come after their parents
        counts[paths.parent[node]] += counts[node]
    return counts


def _draw_branch(x: float, y: float, to_x: float, to_y: float, share: float, word: str) -> str:
    width = max(1.0, WIDEST_BRANCH * share)
    start = y + 10  # behind the box of the split
    middle = (start + to_y) / 2
    path = f"M {x:.1f} {start:.1f} C {x:.1f} {middle:.1f}, {to_x:.1f} {middle:.1f}, {to_x:.1f} {to_y:.1f}"
    label = write_svg_text((x + to_x) / 2, middle - 2, word, anchor="middle", style="font-size='11'")
    return f"<path d='{path}' fill='none' stroke='#9a9a9a' stroke-width='{width:.1f}' opacity='0.7'/>{label}"


def _draw_node(rules: Rules, counts: NDArray[np.float64], one: _Shown, y: float) -> list[str]:
    tree, own = rules.tree, counts[one.node]
    total = float(own.sum())
    if one.children:
        words = wrap_words(format_link(tree, rules.paths, int(tree.children_left[one.node]), rules.voice), BOX + 40, 12)
        words = words if len(words) <= MOST_LINES else [*words[: MOST_LINES - 1], f"{words[MOST_LINES - 1]} …"]
        height = 10 + ROW * len(words)
        box = (
            f"<rect x='{one.x - BOX / 2 - 20:.1f}' y='{y:.1f}' width='{BOX + 40}' height='{height}' rx='4' "
            f"fill='#ffffff' stroke='{INK}'/>"
        )
        return [box, *_write_middle(one.x, y, words, INK)]
    is_folded = not tree.is_leaf[one.node]
    class_id = int(own.argmax()) if is_folded else int(tree.leaf_class[one.node])
    colour, ink = pick_colour(class_id, rules.making.of)
    name = tree.class_names[class_id] if tree.values is None else format_amount(_find_value(rules, counts, one.node))
    unit = "row" if rules.is_ranked and not rules.is_weighted else "weight"
    size = (count_of(total, "row") if unit == "row" else f"weight {format_count(total)}") if total else "no row"
    share = [size if tree.is_regression else f"{size}, {format_share(float(own[class_id]) / total)}"] if total else []
    lines = [*wrap_words(name, BOX - 12)[:2], *share]
    if is_folded:
        first, last = (int(ends[one.node]) for ends in tree.leaf_runs)
        lines = [f"… {last - first:,} leaves below", *share, wrap_words(name, BOX - 12)[0]]
    dashed = " stroke-dasharray='4 3'" if is_folded else ""
    fill, text = (PALE, INK) if is_folded else (colour, ink)
    box = (
        f"<rect x='{one.x - BOX / 2:.1f}' y='{y:.1f}' width='{BOX}' height='{10 + ROW * len(lines)}' rx='8' "
        f"fill='{fill}' stroke='{colour}' stroke-width='2'{dashed}/>"
    )
    return [box, *_write_middle(one.x, y, lines, text)]


def _write_middle(x: float, y: float, lines: list[str], fill: str) -> Iterator[str]:
    for place, line in enumerate(lines, start=1):
        yield write_svg_text(x, y + ROW * place, line, anchor="middle", fill=fill, style="font-size='12'")


def _find_value(rules: Rules, counts: NDArray[np.float64], node: int) -> float:
    """Find the value of a leaf of a regression tree, or the mean of those below a node, by rows."""
    first, last = (int(ends[node]) for ends in rules.tree.leaf_runs)
    rows = counts[rules.paths.leaf_ids[first:last], 0]
    return float(np.average(rules.leaf_answers[first:last], weights=rows if rows.sum() > 0 else None))
