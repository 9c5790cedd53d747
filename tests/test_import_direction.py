"""Imports run one way: a module imports only modules of earlier layers.

An import under ``if TYPE_CHECKING:`` does not count. An import inside a function does, unless DEFERRED gives a reason.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

# From first to last; the modules of one line do not import one another. A sub-package is one entry.
# "secateur" is the package itself: what stands below it may use the public names.
LAYERS = [
    ["errors", "columns", "facts", "grid"],
    ["parameters", "files", "writing"],
    ["tree_check"],
    ["regions"],
    ["tree", "facts_json"],
    ["tree_json", "tree_builder", "model_check"],
    ["row_blocks", "threads", "column_terms", "labels"],
    ["rows", "feasible", "fact_words", "fact_rows"],
    ["groups"],
    ["knowledge"],
    ["annotation"],
    ["route_kernels"],
    ["kernels"],
    ["budget_kernels", "number_kernels", "tile_kernels"],
    ["compiled"],
    ["masks"],
    ["routing"],
    ["row_index"],
    ["pool", "literals"],
    ["tally"],
    ["tallies"],
    ["row_evidence", "coverage", "budget"],
    ["evidence"],
    ["methods"],
    ["witnesses", "grounds"],
    ["reading"],
    ["reasons"],
    ["rule"],
    ["rules"],
    ["decision_list"],
    ["audit", "explain", "verify", "export"],
    ["adapters"],
    ["problems", "merged_rules"],
    ["evidence_plan"],
    ["streams"],
    ["spark"],
    ["forest"],
    ["simplification"],
    ["diagnosis", "tuning", "estimator", "evidence_collection"],
    ["model_files", "difference"],
    ["tables"],
    ["report"],
    ["local_search_kernels"],
    ["local_search"],
    ["secateur"],
    ["datasets"],
    ["paper"],
    ["cli"],
]

# Parts that may import less than all earlier layers.
ONLY = {
    "adapters": {
        *("errors", "columns", "facts", "tree", "tree_check", "tree_json"),
        *("row_blocks", "rows", "column_terms", "knowledge", "routing"),
    },
    "verify": {"errors", "tree"},
}

# Which files of its own sub-package a file may import; "*" is any of them. An __init__.py may import all of its own.
INSIDE = {
    "methods": {"contract", "selection", "fisher"},
    "export": {"*"},
    "files": {"*"},
    "streams": {"*"},
    "report": {"*"},
    "spark": {"*"},
    "tables": {"*"},
    "verify": {"*"},
    "adapters": {"*"},
    "datasets": {"*"},
    "paper": {"*"},
    "cli": {"*"},
}

# Files of one sub-package that may import one another all the same, each with its reason.
BUILT_ON = {
    ("methods.layered", "methods.exact"): "its first layer is exact",
    ("methods.budgeted", "methods.exact"): "its first layer is exact",
}

# Imports inside a function that may run against the order, each with its reason.
DEFERRED = {
    ("tree", "tree_json"): "Tree.to_json and Tree.from_json belong to the class",
    ("rules", "audit"): "RuleSet.audit",
    ("rules", "explain"): "RuleSet.explain",
    ("rules", "export"): "RuleSet.to_text and its siblings",
    ("rules", "report"): "RuleSet.report",
    ("rules", "spark"): "RuleSet.predict and RuleSet.audit take DataFrames of Spark",
    ("rules", "streams"): "RuleSet.predict and its siblings take tables",
    ("rules", "verify"): "RuleSet.verify",
}

SOURCE = Path(__file__).parents[1] / "src" / "secateur"
ORDER = {part: position for position, layer in enumerate(LAYERS) for part in layer}


class Import(NamedTuple):
    """One imported module of secateur: its dotted name without the leading ``secateur.``."""

    target: str
    line: int
    in_function: bool


class ImportFinder(ast.NodeVisitor):
    """Collect the imports of secateur's own modules from one file."""

    def __init__(self, module: str, is_package: bool) -> None:
        here = ["secateur", *module.split(".")] if module != "secateur" else ["secateur"]
        self.package = here if is_package else here[:-1]
        self.function_depth = 0
        self.found: list[Import] = []

    def visit_If(self, node: ast.If) -> None:
        statements = node.orelse if ast.unparse(node.test).endswith("TYPE_CHECKING") else [*node.body, *node.orelse]
        for statement in statements:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.function_depth += 1
        self.generic_visit(node)
        self.function_depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = self.package[: len(self.package) - node.level + 1] if node.level else []
        origin = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            if (origin, alias.name) == ("secateur", "__version__"):  # set before anything else is imported
                continue
            whole = f"{origin}.{alias.name}"
            self.add(whole if whole.removeprefix("secateur.") in MODULES else origin, node.lineno)

    def add(self, name: str, line: int) -> None:
        if name.split(".")[0] == "secateur":
            self.found.append(Import(name.removeprefix("secateur."), line, self.function_depth > 0))


def module_name(path: Path) -> str:
    steps = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(steps[:-1] if steps[-1] == "__init__" else steps) or "secateur"


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports_of(module: str) -> list[Import]:
    path = MODULES[module]
    finder = ImportFinder(module, path.name == "__init__.py")
    finder.visit(ast.parse(path.read_text(encoding="utf-8")))
    return finder.found


def part_of(module: str) -> str:
    return module.split(".")[0]


def why_not(module: str, found: Import) -> str | None:
    """The sentence that forbids an import, or None."""
    part, target = part_of(module), part_of(found.target)
    if target == part:
        allowed = INSIDE.get(part, set())
        file = found.target.partition(".")[2]
        if module == part or "*" in allowed or file in allowed or (module, found.target) in BUILT_ON:
            return None
        return f"a file of {part} may import of its own package only {', '.join(sorted(allowed)) or 'nothing'}"
    if target not in ORDER:
        return f"{target} is not in LAYERS of {Path(__file__).name}: add it where it belongs"
    if found.in_function and (part, target) in DEFERRED:
        return None
    if ORDER[target] >= ORDER[part]:
        return f"{target} does not come before {part}"
    if part in ONLY and target not in ONLY[part]:
        return f"{part} may import only {', '.join(sorted(ONLY[part]))}"
    return None


@pytest.mark.parametrize("module", [name for name in MODULES if name != "secateur"])
def test_a_module_imports_only_earlier_layers(module: str) -> None:
    if part_of(module) not in ORDER:
        pytest.fail(f"{part_of(module)} is new: add it to LAYERS of {Path(__file__).name}, where it belongs.", False)
    wrong = [
        f"{MODULES[module].name}:{found.line} imports {found.target}, but {reason}."
        for found in imports_of(module)
        if (reason := why_not(module, found))
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_the_verifier_shares_no_code_with_what_it_checks() -> None:
    files = [module for module in MODULES if part_of(module) == "verify"]
    imported = {found.target for module in files for found in imports_of(module)}
    assert imported - set(files) <= {"tree", "errors"}


def test_every_entry_of_the_tables_is_in_use() -> None:
    parts = {part_of(module) for module in MODULES}
    assert set(ORDER) <= parts, f"LAYERS lists modules that do not exist: {sorted(set(ORDER) - parts)}"
    made = {(module, found.target, found.in_function) for module in MODULES for found in imports_of(module)}
    deferred = {(part_of(module), part_of(target)) for module, target, in_function in made if in_function}
    assert set(DEFERRED) <= deferred, f"DEFERRED lists imports that nobody makes: {sorted(set(DEFERRED) - deferred)}"
    built_on = {(module, target) for module, target, _ in made}
    assert set(BUILT_ON) <= built_on, f"BUILT_ON lists imports that nobody makes: {sorted(set(BUILT_ON) - built_on)}"
