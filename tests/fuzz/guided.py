"""Let coverage guide the changes: ``python -m fuzz.guided tree -max_total_time=600``; atheris must be installed.

atheris changes bytes and keeps what reaches new lines of secateur. Each file is judged as in a campaign; one that fails
ends the run and is written to the current directory.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

READERS = ("adapters", "export.json", "export.stored", "rows.arrow_files")


def main() -> None:
    import atheris  # type: ignore[import-not-found]

    with atheris.instrument_imports(include=["secateur"]):
        for name in READERS:
            importlib.import_module(f"secateur.{name}")

    from fuzz.good_files import good_files
    from fuzz.judging import judge

    kind, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="guided-") as place:
        for number, data in enumerate(good_files(kind)):
            Path(place, str(number)).write_bytes(data)
        limits = ["-timeout=10", "-rss_limit_mb=2048"]
        atheris.Setup([sys.argv[0], *limits, *options, place], lambda data: judge(kind, data, len(data)) and None)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
