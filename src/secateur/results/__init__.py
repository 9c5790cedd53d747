"""What is found out about rules: audits, explanations, diagnoses, differences, and the sentences that tell of them.

Here are the types of results, by name; functions and methods make them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.counting.counted_evidence import Evidence as Evidence
    from secateur.export.pictures import Picture as Picture
    from secateur.report import Report as Report
    from secateur.results.audit import Audit as Audit
    from secateur.results.deletion_effects import Overlap as Overlap
    from secateur.results.deletion_effects import Overlaps as Overlaps
    from secateur.results.deletion_effects import PairEffect as PairEffect
    from secateur.results.deletion_effects import PairEffects as PairEffects
    from secateur.results.deletion_effects import SetEffect as SetEffect
    from secateur.results.diagnosis import Diagnosis as Diagnosis
    from secateur.results.diagnosis import DiagnosisRow as DiagnosisRow
    from secateur.results.diagnosis import ForestDiagnosis as ForestDiagnosis
    from secateur.results.difference import RuleChange as RuleChange
    from secateur.results.difference import RulesDifference as RulesDifference
    from secateur.results.explanation import Explanation as Explanation
    from secateur.results.explanation import Explanations as Explanations
    from secateur.results.fidelity import Agreement as Agreement
    from secateur.results.fidelity import Fidelity as Fidelity
    from secateur.results.fidelity import WeakestRegion as WeakestRegion
    from secateur.results.per_line import LineAudit as LineAudit
    from secateur.results.per_line import LineAudits as LineAudits
    from secateur.results.policy import Policy as Policy
    from secateur.results.policy import parse_policy as parse_policy
    from secateur.rules.forest import ForestAudit as ForestAudit
    from secateur.rules.forest import ForestRules as ForestRules
    from secateur.rules.making import Choice as Choice
    from secateur.rules.making import Making as Making
    from secateur.rules.rule import Section as Section
    from secateur.tuning import Selection as Selection
    from secateur.tuning import SelectionPoint as SelectionPoint
    from secateur.verify import Verification as Verification
    from secateur.words.conditions import Condition as Condition
    from secateur.words.reasons import Reason as Reason

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
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'secateur.results' has no attribute {name!r}")
    return getattr(import_module(f"secateur.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
