"""A PostgreSQL that lives as long as the tests: its own cluster in a temporary directory, on a local socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest


def _find_binaries() -> Path | None:
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A connection to a PostgreSQL of our own, or a skip that says what is missing."""
    psycopg = pytest.importorskip("psycopg")
    binaries = _find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed (Debian's package: postgresql)")
    as_owner: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL does not run as root
        if not any(user.pw_name == "postgres" for user in pwd.getpwall()):
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        as_owner = ["runuser", "-u", "postgres", "--"]
    home = Path(mkdtemp(prefix="secateur-postgres-"))
    if as_owner:
        shutil.chown(home, "postgres")

    def run(program: str, *arguments: str) -> None:
        # Its output goes to a file: a pipe would stay open as long as the server runs.
        with (home.parent / f"{home.name}.log").open("a") as log:
            command = [*as_owner, str(binaries / program), *arguments]
            subprocess.run(command, check=True, cwd="/", stdout=log, stderr=log, timeout=120)

    cluster = home / "data"
    options = f"-c listen_addresses='' -c unix_socket_directories={home} -c fsync=off -c jit=off"
    try:
        run("initdb", "-D", str(cluster), "-U", "secateur", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
        run("pg_ctl", "-D", str(cluster), "-w", "-l", str(home / "server.log"), "-o", options, "start")
        try:
            with psycopg.connect(host=str(home), user="secateur", dbname="postgres", autocommit=True) as connection:
                yield connection
        finally:
            run("pg_ctl", "-D", str(cluster), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)
        (home.parent / f"{home.name}.log").unlink(missing_ok=True)
