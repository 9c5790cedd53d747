"""secateur: short rules from decision trees, without making them lie."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from secateur import datasets
    from secateur.adapters import from_model
    from secateur.approximation import approximate
    from secateur.compaction import compact
    from secateur.counting.counted_evidence import Evidence
    from secateur.diagnosis import diagnose
    from secateur.errors import (
        FormatError,
        InputError,
        InvalidTreeError,
        ParameterError,
        SecateurError,
        UnsupportedModelError,
    )
    from secateur.estimator import RuleClassifier
    from secateur.evidence_collection import collect_evidence
    from secateur.export.picture import Picture
    from secateur.facts.groups import find_groups
    from secateur.methods import METHODS
    from secateur.report import Report
    from secateur.results.audit import Audit
    from secateur.results.compact_audit import CompactAudit
    from secateur.results.compact_explanation import CompactExplanation
    from secateur.results.decided_audits import DecidedAudits
    from secateur.results.deletion_effects import PairEffect, PairEffects, SetEffect
    from secateur.results.diagnosis import Diagnosis, DiagnosisRow, ForestDiagnosis
    from secateur.results.explanation import Explanation
    from secateur.results.fidelity import Agreement, Fidelity, WeakestRegion
    from secateur.results.overlaps import Overlap, Overlaps
    from secateur.results.per_rule import RuleAudit, RuleAudits
    from secateur.rules.compact_rule import CompactRule
    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.dropped_rules import DroppedRule, DroppedRules
    from secateur.rules.forest import ForestAudit, ForestRules, ForestVerification
    from secateur.rules.merged import MergedRule, MergedRules
    from secateur.rules.rule import Rule
    from secateur.rules.rule_set import RuleSet
    from secateur.selection import Selection, SelectionPoint
    from secateur.simplification import simplify
    from secateur.tree.builder import TreeBuilder
    from secateur.tree.contract import check_tree
    from secateur.tree.tree import Tree
    from secateur.tuning import select_budget, select_tolerance
    from secateur.verify import Verification
    from secateur.words.conditions import Condition
    from secateur.words.reasons import Reason

__all__ = [
    "Agreement",
    "Audit",
    "CompactAudit",
    "CompactExplanation",
    "CompactRule",
    "CompactRules",
    "Condition",
    "DecidedAudits",
    "Diagnosis",
    "DiagnosisRow",
    "DroppedRule",
    "DroppedRules",
    "Evidence",
    "Explanation",
    "Fidelity",
    "ForestAudit",
    "ForestDiagnosis",
    "ForestRules",
    "ForestVerification",
    "FormatError",
    "InputError",
    "InvalidTreeError",
    "METHODS",
    "MergedRule",
    "MergedRules",
    "Overlap",
    "Overlaps",
    "PairEffect",
    "PairEffects",
    "ParameterError",
    "Picture",
    "Reason",
    "Report",
    "Rule",
    "RuleAudit",
    "RuleAudits",
    "RuleClassifier",
    "RuleSet",
    "SecateurError",
    "Selection",
    "SelectionPoint",
    "SetEffect",
    "Tree",
    "TreeBuilder",
    "UnsupportedModelError",
    "Verification",
    "WeakestRegion",
    "approximate",
    "check_tree",
    "collect_evidence",
    "compact",
    "datasets",
    "diagnose",
    "find_groups",
    "from_model",
    "select_budget",
    "select_tolerance",
    "simplify",
]

# Public names are loaded when they are first asked for, so that `import secateur` stays cheap.
_HOME = {
    "METHODS": "methods",
    "Agreement": "results.fidelity",
    "Audit": "results.audit",
    "Condition": "words.conditions",
    "CompactAudit": "results.compact_audit",
    "CompactExplanation": "results.compact_explanation",
    "CompactRule": "rules.compact_rule",
    "CompactRules": "rules.compact_rules",
    "DecidedAudits": "results.decided_audits",
    "Diagnosis": "results.diagnosis",
    "DiagnosisRow": "results.diagnosis",
    "DroppedRule": "rules.dropped_rules",
    "DroppedRules": "rules.dropped_rules",
    "Evidence": "counting.counted_evidence",
    "Explanation": "results.explanation",
    "Fidelity": "results.fidelity",
    "ForestAudit": "rules.forest",
    "ForestDiagnosis": "results.diagnosis",
    "ForestRules": "rules.forest",
    "ForestVerification": "rules.forest",
    "FormatError": "errors",
    "InputError": "errors",
    "InvalidTreeError": "errors",
    "ParameterError": "errors",
    "MergedRule": "rules.merged",
    "MergedRules": "rules.merged",
    "Overlap": "results.overlaps",
    "Overlaps": "results.overlaps",
    "PairEffect": "results.deletion_effects",
    "PairEffects": "results.deletion_effects",
    "Picture": "export.picture",
    "Reason": "words.reasons",
    "Report": "report",
    "Rule": "rules.rule",
    "RuleAudit": "results.per_rule",
    "RuleAudits": "results.per_rule",
    "RuleClassifier": "estimator",
    "RuleSet": "rules.rule_set",
    "SecateurError": "errors",
    "Selection": "selection",
    "SelectionPoint": "selection",
    "SetEffect": "results.deletion_effects",
    "Tree": "tree.tree",
    "TreeBuilder": "tree.builder",
    "UnsupportedModelError": "errors",
    "Verification": "verify",
    "WeakestRegion": "results.fidelity",
    "approximate": "approximation",
    "check_tree": "tree.contract",
    "collect_evidence": "evidence_collection",
    "compact": "compaction",
    "diagnose": "diagnosis",
    "find_groups": "facts.groups",
    "from_model": "adapters",
    "select_budget": "tuning",
    "select_tolerance": "tuning",
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
