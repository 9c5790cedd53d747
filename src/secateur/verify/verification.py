"""Verification: what the independent checker found."""

from dataclasses import dataclass
from html import escape

SHOWN_FAILURES = 5  # of one kind
MOST_FAILURES = 20  # that are printed: a forest may have many
NOT_RECOUNTED = "not recounted: pass the training rows, verify(X, y), to prove them."
NOT_RECHECKED = "not re-checked: pass its rows, verify(X, y), to prove the certificate."


@dataclass(frozen=True)
class Verification:
    """What the independent checker found.

    Attributes
    ----------
    ok : bool
        Whether nothing is wrong and every promise was proved again. It says nothing of ``unchecked``.
    failures : tuple of str
        What is wrong or could not be proved, a sentence each.
    checks : tuple of str
        What was checked and holds.
    unchecked : tuple of str
        What people see in the rules and nobody checked, though no promise depends on it. Training rows and the model,
        if they are passed, let more be checked.
    """

    ok: bool
    failures: tuple[str, ...]
    checks: tuple[str, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether nothing is wrong, and everything that people see was checked: "Verified."."""
        return self.ok and not self.unchecked

    @property
    def is_refuted(self) -> bool:
        """Whether something is wrong; else it was only not looked at."""
        return not all(map(_lacks_rows, self.failures))

    @property
    def lacks_rows(self) -> bool:
        """Whether nothing was found wrong, but a promise can only be proved with the training rows."""
        return bool(self.failures) and not self.is_refuted

    def __bool__(self) -> bool:
        return self.ok

    def _repr_html_(self) -> str:
        *lines, verdict = str(self).split("\n")
        body = "".join(
            f"<tr><td>{line[0]}</td><td style='text-align:left'>{escape(line[2:])}</td></tr>" for line in lines
        )
        return f"<div><p><b>{escape(verdict)}</b></p><table><tbody>{body}</tbody></table></div>"

    def __str__(self) -> str:
        lines = [f"✓ {check}" for check in self.checks]
        lines += [f"– {item}" for item in self.unchecked]
        shown = self.failures[:MOST_FAILURES]
        lines += [f"{'?' if _lacks_rows(failure) else '✗'} {failure}" for failure in shown]
        lines += [f"… and {len(self.failures) - len(shown)} more"] if len(self.failures) > len(shown) else []
        verdict = "NOT verified." if self.is_refuted else "Nothing is wrong, but not everything was checked."
        return "\n".join([*lines, "Verified." if self.is_complete else verdict])


def _lacks_rows(failure: str) -> bool:
    """Whether a promise was not found broken, but not looked at either."""
    return failure.endswith((NOT_RECOUNTED, NOT_RECHECKED))
