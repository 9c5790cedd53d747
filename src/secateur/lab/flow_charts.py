"""The paper's two flow charts, drawn as SVG: boxes and questions on a grid, and the arrows between them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

__all__ = ["Flow", "Step", "draw_flow", "mismatch_flow", "sibling_flow"]

COLUMN, ROW = 150, 96  # distance of places on the grid
WIDTH, HEIGHT = 230, 46  # of a box
LINE = 15


@dataclass(frozen=True)
class Step:
    """A box, or a question as a diamond; its place is in columns and rows."""

    text: str  # lines are separated by "\n"
    column: float
    row: float
    is_question: bool = False


@dataclass(frozen=True)
class Flow:
    """Steps by name, and arrows (from, to, label) between them."""

    title: str
    steps: dict[str, Step]
    arrows: tuple[tuple[str, str, str], ...]


def mismatch_flow() -> Flow:
    """Lay out Method 1: certified on listed cases or by signs (M1-D), or by training reliability (M1-P)."""
    return Flow(
        "Mismatch-guided procedure (Method 1)",
        {
            "start": Step("Rule of a leaf L, class c", 2, 0),
            "annotate": Step("Mark each link C1 or C0", 2, 1),
            "setting": Step("rule setting?", 2, 2, is_question=True),
            "all": Step("M1-D: collect all\nmismatched links", 0.5, 3.2),
            "home": Step("M1-P: find H, the subtree\naround L that predicts c only", 3.5, 3.2),
            "certificate": Step("complete set passes\na joint certificate?", 0.5, 4.5, is_question=True),
            "outside": Step("collect mismatched links\noutside H, leaf to root", 3.5, 4.5),
            "delete": Step("delete all of them", -0.35, 5.8),
            "keep": Step("keep the whole rule", 1.35, 5.8),
            "select": Step("ReliabilitySelect: delete while\nreliability stays within ε", 3.5, 5.8),
            "certified": Step("output of M1-D", 0.5, 7),
            "reliable": Step("output of M1-P", 3.5, 7),
        },
        (
            ("start", "annotate", ""),
            ("annotate", "setting", ""),
            ("setting", "all", "deterministic"),
            ("setting", "home", "class probability"),
            ("all", "certificate", ""),
            ("home", "outside", ""),
            ("outside", "select", ""),
            ("certificate", "delete", "yes"),
            ("certificate", "keep", "no"),
            ("delete", "certified", ""),
            ("keep", "certified", ""),
            ("select", "reliable", ""),
        ),
    )


def sibling_flow() -> Flow:
    """Lay out Method 2: one deletion for both settings."""
    return Flow(
        "Sibling-certified procedure (Method 2)",
        {
            "start": Step("Rule of a leaf L, class c", 1.2, 0),
            "find": Step("SIB: links whose other child\nis a leaf of class c", 1.2, 1),
            "delete": Step("delete all of them at once\n(rootmost divergence)", 1.2, 2),
            "setting": Step("rule setting?", 1.2, 3, is_question=True),
            "certain": Step("output of M2-D", 0, 4.2),
            "shares": Step("output of M2-P", 2.4, 4.2),
        },
        (
            ("start", "find", ""),
            ("find", "delete", ""),
            ("delete", "setting", ""),
            ("setting", "certain", "deterministic"),
            ("setting", "shares", "class probability"),
        ),
    )


def draw_flow(flow: Flow) -> str:
    """Draw a flow chart as SVG; it says everything without colour."""
    left = min(step.column for step in flow.steps.values())
    right = max(step.column for step in flow.steps.values())
    width = round((right - left) * COLUMN + WIDTH + 60)
    height = round(max(step.row for step in flow.steps.values()) * ROW + HEIGHT + 40)
    centre = {
        name: ((step.column - left) * COLUMN + WIDTH / 2 + 30, step.row * ROW + HEIGHT / 2 + 20)
        for name, step in flow.steps.items()
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" font-family="sans-serif" font-size="12">',
        f"<title>{escape(flow.title)}</title>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M 0 0 L 10 5 L 0 10 z" fill="#333"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for source, target, label in flow.arrows:
        parts += _draw_arrow(
            centre[source], _half_height(flow.steps[source]), centre[target], flow.steps[target], label
        )
    for name, step in flow.steps.items():
        parts += _draw_step(step, *centre[name])
    return "\n".join([*parts, "</svg>", ""])


def _half_height(step: Step) -> float:
    return HEIGHT / 2 + (16 if step.is_question else 0)


def _draw_arrow(
    source: tuple[float, float], half: float, target: tuple[float, float], aimed: Step, label: str
) -> list[str]:
    (x1, y1), (x2, y2) = (source[0], source[1] + half), (target[0], target[1] - _half_height(aimed))
    ends = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
    parts = [f'<line {ends} stroke="#333" stroke-width="1.5" marker-end="url(#tip)"/>']
    if label:
        anchor, beside = ("end", -8) if x2 < x1 else ("start", 8)
        place = f'x="{(x1 + x2) / 2 + beside:g}" y="{(y1 + y2) / 2 - 6:g}" text-anchor="{anchor}"'
        parts.append(f'<text {place} font-size="11">{escape(label)}</text>')
    return parts


def _draw_step(step: Step, x: float, y: float) -> list[str]:
    half = _half_height(step)
    if step.is_question:
        corners = f"{x - WIDTH / 2:g},{y:g} {x:g},{y - half:g} {x + WIDTH / 2:g},{y:g} {x:g},{y + half:g}"
        parts = [f'<polygon points="{corners}" fill="#fff7e0" stroke="#333"/>']
    else:
        corner = f'x="{x - WIDTH / 2:g}" y="{y - half:g}"'
        parts = [f'<rect {corner} width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#f2f2f2" stroke="#333"/>']
    lines = step.text.split("\n")
    for number, line in enumerate(lines):
        down = y + 4 + (number - (len(lines) - 1) / 2) * LINE
        parts.append(f'<text x="{x:g}" y="{down:g}" text-anchor="middle">{escape(line)}</text>')
    return parts
