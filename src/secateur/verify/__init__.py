"""The independent checker: proves a rule set's promise again from the tree and the rows.

Nothing here is shared with the code that deletes: only the tree and numpy are imported, paths, boxes and counts are
worked out anew, and exactness is decided by comparing every rule's box with every leaf's box.
"""

from __future__ import annotations

from secateur.verify.checker import Verification, verify_rules

__all__ = ["Verification", "verify_rules"]
