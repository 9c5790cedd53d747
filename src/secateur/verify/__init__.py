"""The independent checker: prove what rules promise again, from the tree and the rows.

It shares nothing with the code that deletes and chooses: it imports only the tree, its facts, errors and numpy, works
out paths, boxes and counts anew, and decides exactness by comparing every rule's box with every leaf's box.
"""

from secateur.verify.case import Verification
from secateur.verify.checker import verify_rules

__all__ = ["Verification", "verify_rules"]
