"""Try secateur in fresh virtual environments: the core alone, versions of its dependencies, and what is built.

``make core``, ``make matrix``, ``make dist`` and ``make install-sizes`` run it; it needs no package but pip.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
EVERY_FUNCTION = ROOT / "tests/environments/every_function.py"
SIZES_PAGE = ROOT / "docs/install.md"
TABLE = re.compile(r"(?<=<!-- sizes -->\n).*?(?=<!-- end -->)", re.DOTALL)
EXTRAS = ("", "fast", "cli", "all")
SCIKIT_LEARN = ("1.6", "1.7", "1.8", "1.9")
TESTED = ("adapters/test_scikit_learn.py", "adapters/test_hist_gradient_boosting.py", "adapters/test_pipeline.py")
TOOLS = ("pytest>=8.3", "hypothesis>=6.120")
WHOLE_TOOLS = (*TOOLS, "xgboost-cpu>=3.2", "skrub>=0.11")
LIBRARIES = {
    "oldest": (
        *("numpy==2.0.*", "scipy==1.13.*", "pandas==2.2.*", "polars==1.20.*", "narwhals==2.0.1", "joblib==1.4.*"),
        *("duckdb==1.4.*", "numba==0.61.*", "pyarrow==21.*"),
    ),
    "newest": ("numpy>=2", "scipy", "pandas>=3", "polars==1.20.*", "narwhals", "joblib"),
}
MOST_BYTES = 1_200_000  # of a wheel
SMOKE = """
import secateur
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
X, y = load_iris(return_X_y=True)
rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), X, y)
assert rules.verify().ok
print(rules)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["core", "matrix", "dist", "sizes"])
    parser.add_argument("--only", default="", help="part of the name of an environment of the matrix")
    parser.add_argument("--whole", action="store_true", help="all tests of adapters, methods and rules")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="secateur-") as directory:
        place = Path(directory)
        if chosen.what == "core":
            return run(make(place / "core", str(ROOT)), EVERY_FUNCTION)
        if chosen.what == "matrix":
            return try_matrix(place, chosen.only, chosen.whole)
        return try_built(place) if chosen.what == "dist" else write_sizes(place)


def make(place: Path, *wanted: str) -> Path:
    """Make an environment with some packages, and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = place / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-qq", *wanted], check=True)
    return python


def run(python: Path, *arguments: str | Path, **variables: str) -> int:
    """Run Python away from the sources, so that what is installed is imported."""
    environment = {**os.environ, "PYTHONPATH": "", **variables}
    return subprocess.run([python, *arguments], cwd=python.parents[1], env=environment, check=False).returncode


def try_matrix(place: Path, only: str, is_whole: bool) -> int:
    """Run tests with several versions of scikit-learn, each with the oldest and newest libraries beside it."""
    tested = ("adapters", "methods", "rules") if is_whole else TESTED
    old = ["-W", "default"]  # old releases use what newer ones deprecate
    failed = []
    for version in SCIKIT_LEARN:
        for age, libraries in LIBRARIES.items():
            name = f"scikit-learn {version}, {age} numpy and pandas"
            if only not in name:
                continue
            print(f"== {name}", flush=True)
            ours = f"{ROOT}[test,catboost,lightgbm]" if is_whole else f"{ROOT}[all]"
            wanted = (ours, f"scikit-learn=={version}.*", *libraries, *(WHOLE_TOOLS if is_whole else TOOLS))
            python = make(place / name.replace(" ", "-"), *wanted)
            tests = [ROOT / "tests" / one for one in tested]
            options = ["-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT, *old]
            variables = {"HYPOTHESIS_PROFILE": "quick", "PYTHONPATH": str(ROOT / "tests")}
            ended = run(python, EVERY_FUNCTION), run(python, "-m", "pytest", *options, *tests, **variables)
            if any(ended):
                failed.append(name)
            shutil.rmtree(place / name.replace(" ", "-"))
    print("\n".join(f"FAILED: {name}" for name in failed) or "All passed.")
    return len(failed)


def try_built(place: Path) -> int:
    """Build the distributions, look at them, and install each into an environment of its own."""
    built = ROOT / "dist"
    for old in built.glob("*"):
        old.unlink()
    tools = make(place / "tools", "build", "twine", "readme_renderer[md]")
    subprocess.run([tools, "-m", "build", "--outdir", built, ROOT], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tools, "-m", "twine", "check", "--strict", *built.glob("*")], check=True)
    wheel, source = next(built.glob("*.whl")), next(built.glob("*.tar.gz"))
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size:,} bytes, {len(zipfile.ZipFile(wheel).namelist())} files")
    if size > MOST_BYTES:
        print(f"FAILED: the wheel is larger than {MOST_BYTES:,} bytes.")
        return 1
    failed = 0
    for one in (wheel, source):
        python = make(place / one.suffix[1:], f"{one}[cli]")
        failed += run(python, "-c", SMOKE) != 0
        failed += run(python, "-m", "secateur", "simplify") != 0
        print(f"{one.name}: {'FAILED' if failed else 'installed, simplified and verified'}")
    return failed


def write_sizes(place: Path) -> int:
    """Measure what each extra installs, and write the table of docs/install.md."""
    lines = ["| `pip install` | MB | seconds | packages |", "|---|---|---|---|"]
    for extra in EXTRAS:
        start = time.perf_counter()
        python = make(place / (extra or "core"), f"{ROOT}[{extra}]" if extra else str(ROOT))
        seconds = time.perf_counter() - start
        found = next(python.parents[1].glob("lib/*/site-packages"))
        names = [one.name for one in found.glob("*.dist-info") if not one.name.startswith(("pip-", "setuptools-"))]
        own = [one for one in found.iterdir() if not one.name.startswith(("pip", "setuptools"))]
        size = sum(file.stat().st_size for one in own for file in (one, *one.rglob("*")) if file.is_file()) / 1e6
        name = f"'secateur[{extra}]'" if extra else "secateur"
        lines.append(f"| `{name}` | {size:.0f} | {seconds:.0f} | {len(names)} |")
        print(lines[-1], flush=True)
    text = SIZES_PAGE.read_text(encoding="utf-8")
    SIZES_PAGE.write_text(TABLE.sub("\n".join(lines) + "\n", text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
