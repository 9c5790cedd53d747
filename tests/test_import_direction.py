"""Imports run one way: a room imports only rooms of earlier layers, and nothing in a room imports in a circle.

An import under ``if TYPE_CHECKING:`` does not count. An import inside a function does, unless DEFERRED gives a reason.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

# From first to last; the rooms of one line do not import one another. docs/development.md says what each is for.
LAYERS = [
    ["errors"],
    ["frames", "limits"],
    ["tree"],
    ["facts", "kernels", "verify"],
    ["rows"],
    ["counting", "adapters"],
    ["methods"],
    ["words"],
    ["rules"],
    ["results"],
    ["export"],
    ["problem", "choosing", "surrogates"],
    ["simplification"],
    ["approximation"],
    ["tuning", "estimator", "report", "spark"],
    ["secateur", "datasets"],
    ["lab"],
    ["cli"],
    ["__main__"],
]

# Rooms that may import less than all earlier layers.
ONLY = {"adapters": {"errors", "frames", "limits", "tree", "facts", "rows"}, "verify": {"errors", "tree"}}

# Imports inside a function that may run against the order, each with its reason.
DEFERRED = {
    ("rows", "spark"): "open_rows takes Spark DataFrames",
    ("simplification", "approximation"): "simplify takes a model of several trees",
    ("rules", "approximation"): "Rules.verify asks the model that rules approximate",
    ("rules", "choosing"): "Rules.prefer chooses lines again",
    ("rules", "results"): "Rules.audit and its siblings",
    ("results", "export"): "the HTML of results in notebooks",
    ("rules", "export"): "Rules.to_text and its siblings",
    ("rules", "report"): "Rules.report",
    ("datasets", "lab"): "load finds the published data sets in the lab",
}

SOURCE = Path(__file__).parents[1] / "src" / "secateur"
ORDER = {room: position for position, layer in enumerate(LAYERS) for room in layer}


def name_of(path: Path) -> str:
    steps = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(steps[:-1] if steps[-1] == "__init__" else steps) or "secateur"


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports_of(module: str) -> Iterator[tuple[str, int, bool]]:
    """Each imported module of secateur, the line, and whether the import stands inside a function."""

    def walk(node: ast.AST, in_function: bool) -> Iterator[tuple[str, int, bool]]:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            return
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}:{node.lineno}: import by the full name"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            target = name.removeprefix("secateur.")
            if name.startswith("secateur.") and target != "__version__":
                yield target if target in MODULES else target.rpartition(".")[0] or "secateur", node.lineno, in_function
        for child in ast.iter_child_nodes(node):
            yield from walk(child, in_function or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))

    yield from walk(ast.parse(MODULES[module].read_text(encoding="utf-8")), False)


@cache
def all_imports() -> dict[str, list[tuple[str, int, bool]]]:
    return {module: list(imports_of(module)) for module in MODULES if module != "secateur"}


def room_of(module: str) -> str:
    return module.split(".")[0]


def why_not(room: str, target: str, in_function: bool) -> str | None:
    """The sentence that forbids an import, or None."""
    if room == target or (in_function and (room, target) in DEFERRED):
        return None
    if ORDER[target] >= ORDER[room]:
        return f"{target} does not come before {room}"
    if target not in ONLY.get(room, {target}):
        return f"{room} may import only {', '.join(sorted(ONLY[room]))}"
    return None


def test_every_room_is_listed_once() -> None:
    assert sorted(ORDER) == sorted({room_of(module) for module in MODULES})
    assert sum(map(len, LAYERS)) == len(ORDER)


def test_modules_import_only_earlier_layers() -> None:
    wrong = [
        f"{module}:{line} imports {target}, but {reason}."
        for module, found in all_imports().items()
        for target, line, in_function in found
        if (reason := why_not(room_of(module), room_of(target), in_function))
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_nothing_in_a_room_imports_in_a_circle() -> None:
    graph = {
        module: {target for target, _, in_function in found if not in_function and room_of(target) == room_of(module)}
        for module, found in all_imports().items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])), pytrace=False)


def test_methods_know_nothing_of_one_another() -> None:
    from secateur.methods import METHODS

    files = {type(method).__module__.removeprefix("secateur.") for method in METHODS.values()}
    found = {(module, target) for module in files for target, _, _ in all_imports()[module] if target in files}
    assert not found


def test_the_verifier_shares_no_code_with_what_it_checks() -> None:
    rooms = defaultdict(set)
    for module, found in all_imports().items():
        rooms[room_of(module)] |= {target for target, _, _ in found if room_of(target) != room_of(module)}
    assert rooms["verify"] <= {"tree.tree", "tree.facts", "errors"}


def test_every_exception_is_in_use() -> None:
    deferred = {
        (room_of(module), room_of(target))
        for module, found in all_imports().items()
        for target, _, inside in found
        if inside
    }
    assert set(DEFERRED) <= deferred, f"nobody makes these imports: {sorted(set(DEFERRED) - deferred)}"
