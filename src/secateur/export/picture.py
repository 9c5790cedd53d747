"""A picture of rules or of a tree: SVG text that notebooks show and files keep."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from secateur.errors import ParameterError
from secateur.rows.whole_files import write_whole

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
    """Put parts onto a white sheet."""
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}' "
        f"viewBox='0 0 {width:.0f} {height:.0f}' role='img' {FONT} font-size='13'>"
    )
    sheet = f"<title>{_clean(title)}</title><rect width='100%' height='100%' fill='{PAPER}'/>"
    return "\n".join([head, sheet, *parts, "</svg>"])


def write_svg_text(x: float, y: float, words: str, *, anchor: str = "start", style: str = "", fill: str = INK) -> str:
    """Write one line of text."""
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{fill}' {style}>{_clean(words)}</text>"


def _clean(words: str) -> str:
    """Escape a text, and leave out what XML cannot hold."""
    return escape("".join(sign if sign.isprintable() else " " for sign in words), quote=True)


def pick_colour(class_id: int) -> tuple[str, str]:
    """Pick the colour of a class and of a text on it."""
    colour = COLOURS[class_id % len(COLOURS)]
    return colour, INK if colour in DARK_TEXT else PAPER


def wrap_words(words: str, width: float, size: float = 13) -> list[str]:
    """Break a text into lines that fit a width; a word that is too long is broken, too."""
    import textwrap

    return textwrap.wrap(words, max(8, int(width / (LETTER * size))), break_on_hyphens=False) or [""]
