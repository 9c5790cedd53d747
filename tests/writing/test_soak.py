"""Many threads and processes on one rule set, one output and one cache of compiled kernels.

``pytest tests/writing/test_soak.py --soak 600`` goes on for so many seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.cli.writing import write_files

# A process of the soak: it makes the same rules with the kernels of one cache, and replaces the same outputs.
WORKER = """
import sys, time
from pathlib import Path
import numpy as np
from sklearn.tree import DecisionTreeClassifier
import secateur
from secateur.cli.writing import write_files
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4)); y = (X[:, 0] + X[:, 1] > 0).astype(int)
model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
ends = time.monotonic() + float(sys.argv[2])
while True:
    rules = secateur.simplify(model, X, y, method="mismatch", each_leaf=True)
    assert rules.verify().ok
    files = {Path(sys.argv[1]) / "a.json": rules.to_json(), Path(sys.argv[1]) / "b.txt": rules.to_text()}
    write_files({path: f"{sys.argv[3]}\\n{text}" for path, text in files.items()}, force=True, quiet=True)
    if time.monotonic() > ends:
        break
"""


@pytest.fixture(scope="module")
def made() -> tuple[secateur.Rules, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    return (
        secateur.simplify(
            DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y), X, y, method="mismatch", each_leaf=True
        ),
        X,
        y,
    )


def is_of_one_writer(place: Path, of: secateur.Rules) -> bool:
    """Whether both outputs are whole and come from one run; read while nobody moves files."""
    from secateur.rows.whole_files import lock_directories

    with lock_directories([place]):
        texts = [(place / name).read_text() for name in ("a.json", "b.txt")]
    (first, content), (second, words) = (text.split("\n", 1) for text in texts)
    return first == second and json.loads(content)["lines"] is not None and words.strip() == of.to_text().strip()


@pytest.mark.long
def test_threads_and_processes_share_rules_outputs_and_a_cache(
    made: tuple[secateur.Rules, np.ndarray, np.ndarray], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rules, X, y = made
    seconds = float(request.config.getoption("--soak"))
    place, cache = tmp_path / "out", tmp_path / "kernels"
    place.mkdir()
    write_files({place / "a.json": f"0\n{rules.to_json()}", place / "b.txt": f"0\n{rules.to_text()}"}, quiet=True)
    expected = rules.predict(X).tolist(), str(rules.audit(X, y)), rules.to_json()
    # To compile all kernels takes a minute; a longer soak lets the processes do it at once, into one empty cache.
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": str(cache)} if seconds > 60 else {})}
    command = [sys.executable, "-c", WORKER, str(place), str(seconds)]
    runs = [subprocess.Popen([*command, f"process {n}"], env=environment) for n in range(2)]
    ends, over = time.monotonic() + seconds, threading.Event()

    def use(number: int) -> int:
        turns = 0
        while not turns or (time.monotonic() < ends and not over.is_set()):
            texts = {place / "a.json": rules.to_json(), place / "b.txt": rules.to_text()}
            assert (rules.predict(X).tolist(), str(rules.audit(X, y)), rules.to_json()) == expected
            write_files({path: f"thread {number}\n{text}" for path, text in texts.items()}, force=True, quiet=True)
            assert is_of_one_writer(place, rules)
            turns += 1
        return turns

    try:
        with ThreadPoolExecutor(4) as threads:
            turns = list(threads.map(use, range(4)))
    finally:
        over.set()
        statuses = [run.wait(timeout=300) for run in runs]
    assert min(turns) >= 1
    assert statuses == [0, 0]
    assert is_of_one_writer(place, rules)
    assert sorted(path.name for path in place.iterdir()) == ["a.json", "b.txt"]
