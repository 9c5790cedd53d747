"""The independent checker: prove a rule set's promise again from the tree and the rows.

It shares nothing with the code that deletes: it imports only the tree and numpy, works out paths, boxes and counts
anew, and decides exactness by comparing every rule's box with every leaf's box.
"""

from __future__ import annotations

from secateur.verify.checker import Verification, verify_rules
from secateur.verify.compact_checker import verify_compact

__all__ = ["Verification", "verify_compact", "verify_rules"]
