"""secateur: short rules from decision trees, without making them lie."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0.dev0"

if TYPE_CHECKING:
    from secateur import datasets as datasets
    from secateur.adapters import from_model as from_model
    from secateur.approximation import approximate as approximate
    from secateur.errors import SecateurError as SecateurError
    from secateur.estimator import RuleClassifier as RuleClassifier
    from secateur.estimator import RuleRegressor as RuleRegressor
    from secateur.facts.groups import find_groups as find_groups
    from secateur.methods import METHODS as METHODS
    from secateur.problem import collect_evidence as collect_evidence
    from secateur.rules.rule import Rule as Rule
    from secateur.rules.rules import Rules as Rules
    from secateur.simplification import diagnose as diagnose
    from secateur.simplification import simplify as simplify
    from secateur.tree.builder import TreeBuilder as TreeBuilder
    from secateur.tree.tree import Tree as Tree
    from secateur.tuning import select as select

# Public names are loaded when they are first asked for, so that `import secateur` stays cheap.
_HOME = {
    "METHODS": "methods",
    **dict.fromkeys(("RuleClassifier", "RuleRegressor"), "estimator"),
    **dict.fromkeys(("diagnose", "simplify"), "simplification"),
    **{"Rule": "rules.rule", "Rules": "rules.rules", "Tree": "tree.tree", "TreeBuilder": "tree.builder"},
    **{"SecateurError": "errors", "approximate": "approximation", "collect_evidence": "problem"},
    **{"find_groups": "facts.groups", "from_model": "adapters", "select": "tuning"},
}
__all__ = sorted([*_HOME, "datasets"])


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
