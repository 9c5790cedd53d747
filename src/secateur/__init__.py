"""secateur: short rules from decision trees, without making them lie."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0.dev0"

if TYPE_CHECKING:
    from secateur import datasets
    from secateur.adapters import from_model
    from secateur.approximation import approximate
    from secateur.errors import SecateurError
    from secateur.estimator import RuleClassifier, RuleRegressor
    from secateur.evidence_collection import collect_evidence
    from secateur.facts.groups import find_groups
    from secateur.methods import METHODS
    from secateur.rules.rule import Rule
    from secateur.rules.rules import Rules
    from secateur.simplification import diagnose, simplify
    from secateur.tree.builder import TreeBuilder
    from secateur.tree.tree import Tree
    from secateur.tuning import select

__all__ = [
    "METHODS",
    "Rule",
    "RuleClassifier",
    "RuleRegressor",
    "Rules",
    "SecateurError",
    "Tree",
    "TreeBuilder",
    "approximate",
    "collect_evidence",
    "datasets",
    "diagnose",
    "find_groups",
    "from_model",
    "select",
    "simplify",
]

# Public names are loaded when they are first asked for, so that `import secateur` stays cheap.
_HOME = {
    "METHODS": "methods",
    "Rule": "rules.rule",
    "RuleClassifier": "estimator",
    "RuleRegressor": "estimator",
    "Rules": "rules.rules",
    "SecateurError": "errors",
    "Tree": "tree.tree",
    "TreeBuilder": "tree.builder",
    "approximate": "approximation",
    "collect_evidence": "evidence_collection",
    "diagnose": "simplification",
    "find_groups": "facts.groups",
    "from_model": "adapters",
    "select": "tuning",
    "simplify": "simplification",
}


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("secateur.datasets")
    if name not in _HOME:
        raise AttributeError(f"module 'secateur' has no attribute {name!r}")
    value = getattr(import_module(f"secateur.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
