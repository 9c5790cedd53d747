"""What is found out about rules: audits, explanations, diagnoses, differences, and the sentences that tell of them.

Here are the types of results, by name; functions and methods make them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.counting.counted_evidence import Evidence
    from secateur.export.pictures import Picture
    from secateur.report import Report
    from secateur.results.audit import Audit
    from secateur.results.deletion_effects import Overlap, Overlaps, PairEffect, PairEffects, SetEffect
    from secateur.results.diagnosis import Diagnosis, DiagnosisRow, ForestDiagnosis
    from secateur.results.difference import RuleChange, RulesDifference
    from secateur.results.explanation import Explanation, Explanations
    from secateur.results.fidelity import Agreement, Fidelity, WeakestRegion
    from secateur.results.per_line import LineAudit, LineAudits
    from secateur.results.policy import Policy, parse_policy
    from secateur.rules.forest import ForestAudit, ForestRules
    from secateur.rules.making import Choice, Making
    from secateur.rules.rule import Section
    from secateur.tuning import Selection, SelectionPoint
    from secateur.verify import Verification
    from secateur.words.conditions import Condition
    from secateur.words.reasons import Reason

__all__ = [
    "Agreement",
    "Audit",
    "Choice",
    "Condition",
    "Diagnosis",
    "DiagnosisRow",
    "Evidence",
    "Explanation",
    "Explanations",
    "Fidelity",
    "ForestAudit",
    "ForestDiagnosis",
    "ForestRules",
    "LineAudit",
    "LineAudits",
    "Making",
    "Overlap",
    "Overlaps",
    "PairEffect",
    "PairEffects",
    "Picture",
    "Policy",
    "Reason",
    "Report",
    "RuleChange",
    "RulesDifference",
    "Section",
    "Selection",
    "SelectionPoint",
    "SetEffect",
    "Verification",
    "WeakestRegion",
    "parse_policy",
]

# Loaded when first asked for, some from rooms that come later.
_HOME = {
    **dict.fromkeys(("Agreement", "Fidelity", "WeakestRegion"), "results.fidelity"),
    **dict.fromkeys(("Choice", "Making"), "rules.making"),
    **dict.fromkeys(("Diagnosis", "DiagnosisRow", "ForestDiagnosis"), "results.diagnosis"),
    **dict.fromkeys(("Explanation", "Explanations"), "results.explanation"),
    **dict.fromkeys(("ForestAudit", "ForestRules"), "rules.forest"),
    **dict.fromkeys(("LineAudit", "LineAudits"), "results.per_line"),
    **dict.fromkeys(("Overlap", "Overlaps", "PairEffect", "PairEffects", "SetEffect"), "results.deletion_effects"),
    **dict.fromkeys(("Policy", "parse_policy"), "results.policy"),
    **dict.fromkeys(("RuleChange", "RulesDifference"), "results.difference"),
    **dict.fromkeys(("Selection", "SelectionPoint"), "tuning"),
    "Audit": "results.audit",
    "Condition": "words.conditions",
    "Evidence": "counting.counted_evidence",
    "Picture": "export.pictures",
    "Reason": "words.reasons",
    "Report": "report",
    "Section": "rules.rule",
    "Verification": "verify",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'secateur.results' has no attribute {name!r}")
    return getattr(import_module(f"secateur.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
