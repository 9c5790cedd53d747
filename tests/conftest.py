"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# The published data files are not part of the repository; development and CI keep them beside it.
BESIDE = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data_dir() -> str:
    """The directory of the published data files; tests that need it are skipped where there is none."""
    named = os.environ.get("SECATEUR_DATA")
    for place in (Path(named) if named else BESIDE, BESIDE):
        if (place / "german.data").is_file():
            return str(place)
    pytest.skip("the published data files are not here: name their directory in SECATEUR_DATA")
