"""What several tests share, and which of them a run leaves out."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from drawing import EXAMPLES, PROFILE
from hypothesis import settings

from secateur.kernels import running

# Fixtures that start a program beside Python. Spark has a conftest of its own.
PROGRAMS = {"browser", "postgres", "pypmml"}

# What several files share and is dear to start: one worker runs all files of this directory.
ONE_WORKER = "tests/spark/"
# What takes long and waits for other programs comes first: at the end one worker would do it while the others are done.
FIRST = (ONE_WORKER, "tests/report/", "tests/writing/", "tests/test_documents.py", "tests/test_memory.py")

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


@pytest.fixture(scope="session")
def pypmml() -> Iterator[Any]:
    """PMML4S on Java, which reads PMML as others do."""
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    import pypmml

    yield pypmml
    pypmml.PMMLContext.shutdown()


@pytest.fixture(autouse=True, scope="session")
def commands_made_once() -> Iterator[None]:
    """Let typer make the commands of an app once, as a process does, and not for every call."""
    import typer.testing

    with mock.patch.object(typer.testing, "_get_command", cache(typer.testing._get_command)):
        yield


@pytest.fixture(autouse=True)
def no_work_done() -> None:
    """Let a test choose between plain and compiled code as a new process does, whatever ran before it."""
    running.done.clear()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let tests of writing do in minutes what they otherwise do in seconds."""
    parser.addoption("--every-call", action="store_true", help="let every system call of every writing command fail")
    parser.addoption("--soak", type=float, default=1.0, help="seconds of threads and processes on one output")


def pytest_configure() -> None:
    """Set the number of examples of tests that ask for none, and let each worker have one processor."""
    # Libraries that share the work of a small fit among threads wait for one another, and use up the processors in it.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if PROFILE not in EXAMPLES:
        raise pytest.UsageError(f"HYPOTHESIS_PROFILE must be one of {', '.join(EXAMPLES)}, not {PROFILE!r}.")
    # A change is judged by what it changes, not by the draw of the day.
    is_repeatable = PROFILE != "thorough"
    # One example may wait for the compiler, so that no deadline is fair.
    settings.register_profile(
        PROFILE, max_examples=EXAMPLES[PROFILE](settings().max_examples), derandomize=is_repeatable, deadline=None
    )
    settings.load_profile(PROFILE)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker whole files: what a module keeps for its tests is made once, and a program starts once."""
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return ONE_WORKER if nodeid.startswith(ONE_WORKER) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return Files(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while modules are imported: they stay, and each look at them all takes half a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that start a program, and set the number of examples of tests that ask for one."""
    items.sort(key=lambda item: next((n for n, start in enumerate(FIRST) if item.nodeid.startswith(start)), len(FIRST)))
    for item in items:
        if not PROGRAMS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.program)
    for test in {getattr(item, "function", None) for item in items}:
        asked = getattr(test, "_hypothesis_internal_use_settings", None)
        if asked is not None and asked.max_examples != settings().max_examples:
            test._hypothesis_internal_use_settings = settings(asked, max_examples=EXAMPLES[PROFILE](asked.max_examples))


def pytest_collection_finish() -> None:
    """Keep the modules and tests, which live to the end, out of every garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the end of the process collect everything, or extensions report what lives on as leaks."""
    gc.unfreeze()
