"""The paper's two deterministic decision tables, small enough to be part of the package.

Weather: Quinlan's play table, 14 cases. human-id: eight persons described by height, hair and eyes.
"""

from __future__ import annotations

import numpy as np

from secateur.datasets.dataset import Dataset, encode

__all__ = ["TABLES", "load_table"]

WEATHER = """
Outlook  Temperature Humidity Windy Play
sunny    hot         high     false no
sunny    hot         high     true  no
overcast hot         high     false yes
rainy    mild        high     false yes
rainy    cool        normal   false yes
rainy    cool        normal   true  no
overcast cool        normal   true  yes
sunny    mild        high     false no
sunny    cool        normal   false yes
rainy    mild        normal   false yes
sunny    mild        normal   true  yes
overcast mild        high     true  yes
overcast hot         normal   false yes
rainy    mild        high     true  no
"""

HUMAN_ID = """
Height Hair  Eyes  Class
short  blond blue  +
tall   blond brown -
tall   red   blue  +
short  dark  blue  -
tall   dark  blue  -
tall   blond blue  +
tall   dark  brown -
short  blond brown -
"""

TABLES = {"weather": WEATHER, "human-id": HUMAN_ID}


def load_table(name: str) -> Dataset:
    """Load an embedded table; its labels are texts."""
    header, *lines = (line.split() for line in TABLES[name].strip().splitlines())
    cells = np.array(lines)
    X, names = encode(header[:-1], cells[:, :-1])
    labels = cells[:, -1]
    return Dataset(name, X, labels, names, header[-1], tuple(np.unique(labels).tolist()))
