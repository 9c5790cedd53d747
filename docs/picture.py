"""Draw docs/demo.svg, the picture in the README, from what the command line prints: ``make picture``."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from secateur.cli.simplify import show

console = Console(width=112, record=True, file=io.StringIO(), force_terminal=True)
show(console, table="human-id", method="layered", tolerance=0.05, max_depth=None, seed=0)
drawing = console.export_svg(title="secateur simplify --table human-id")
# The picture must not fetch anything: it does with whatever monospaced font the reader has.
drawing = re.sub(r"@font-face \{.*?\}\s*", "", drawing, flags=re.DOTALL)
(Path(__file__).parent / "demo.svg").write_text(drawing, encoding="utf-8")
