"""The methods that ask the tree alone and need no row: `none`, `sibling`, `redundancy` and `exact`."""

from dataclasses import dataclass

import numpy as np

from secateur.kernels.running import run_deletion
from secateur.methods.contract import EXACT_GUARANTEE, Deletions, Method, Problem, Why
from secateur.methods.covering import delete_near
from secateur.methods.leaves import LeafValues


@dataclass(frozen=True)
class NoDeletion(Method):
    """The tree's own rules, the baseline that everything is compared with."""

    name = "none"
    summary = "deletes nothing: the paths of the tree as they are"
    preserves = "everything"
    guarantee = "Nothing was deleted: each row is covered by the rule of its own leaf and by no other."
    source = "the tree itself"
    is_exact = True
    witness = "link"
    strictness = 0
    gives = frozenset({Why.UNTOUCHED})

    def delete(self, problem: Problem) -> Deletions:
        """Keep every condition."""
        return Deletions.keep_all(problem.paths, Why.UNTOUCHED, has_numbers=False)


@dataclass(frozen=True)
class Sibling(Method):
    """The paper's M2-D and M2-P, certified by a sibling leaf of the same class: delete SIB(L) of every leaf.

    A link (p, b) on the path of leaf L is deleted when b is internal and p's other child is a leaf that predicts L's
    class. All such links go together: a row that leaves the path at a deleted link arrives at once in a leaf of the
    same class (theorem "joint sibling deletion by rootmost divergence"). O(n_nodes + n_entries).
    """

    name = "sibling"
    aliases = ("M2-D", "M2-P")
    summary = "deletes conditions into a subtree whose sibling is a leaf of the same class"
    preserves = "the tree's predictions, exactly"
    guarantee = EXACT_GUARANTEE
    source = "Hong, Lee, Sim & Hwang (M2-D, M2-P)"
    is_exact = True
    witness = "link"
    strictness = 10
    gives = frozenset({Why.SIBLING_LEAF, Why.NOT_CERTIFIED})

    def delete(self, problem: Problem) -> Deletions:
        """Delete SIB(L) for every leaf."""
        paths = problem.paths
        result = Deletions.keep_all(paths, Why.NOT_CERTIFIED)
        certified = np.flatnonzero(paths.sibling_certified)
        result.delete(certified, Why.SIBLING_LEAF)
        result.node[certified] = paths.sibling[paths.links[certified]]
        return result


@dataclass(frozen=True)
class Redundancy(Method):
    """Delete path-redundant features (Izza, Ignatiev and Marques-Silva, 2022).

    Features of the path are tried in the order in which the path first tests them, root to leaf. All of the path's
    conditions on a feature go at once if no leaf of another class meets the box that is left. Whether one does is found
    by walking the tree with the box, never by comparing all pairs of leaves.
    """

    name = "redundancy"
    aliases = ("Izza",)
    summary = "deletes all conditions on a feature that the class does not depend on"
    preserves = "the tree's predictions, exactly"
    guarantee = EXACT_GUARANTEE
    source = "Izza, Ignatiev & Marques-Silva (2022)"
    is_exact = True
    witness = "feature"
    strictness = 30
    gives = frozenset({Why.FEATURE_REDUNDANT, Why.NOT_CERTIFIED})

    def delete(self, problem: Problem) -> Deletions:
        """Delete redundant features from every rule."""
        result = Deletions.keep_all(problem.paths, Why.NOT_CERTIFIED, has_numbers=False)
        # An implication ties features together, and this method asks of each feature alone.
        walked = problem.feasible_tree(linked=False)
        result.delete(run_deletion("delete_features", walked, problem.paths), Why.FEATURE_REDUNDANT)
        return result


@dataclass(frozen=True)
class Exact(Method):
    """Delete every single link that the class does not depend on.

    Links are tried root to leaf; each is deleted when no leaf of another class meets the box of what is left, which a
    walk of the tree with that box decides. The result is subset-minimal: a box only grows by deletion, so a condition
    that once kept a leaf out keeps it out for good. Of a regression tree, the leaves that may be met are those whose
    value lies within the tolerance of the rule's own leaf.
    """

    name = "exact"
    summary = "deletes every single condition that the class does not depend on"
    preserves = "the tree's predictions, exactly"
    guarantee = EXACT_GUARANTEE
    is_exact = True
    witness = "link"
    strictness = 40
    gives = frozenset({Why.NO_FOREIGN_LEAF, Why.NOT_CERTIFIED, Why.KEEPS_OUT})

    def delete(self, problem: Problem) -> Deletions:
        """Delete single links from every rule while its class is implied."""
        paths, of_nodes = problem.paths, problem.tree.values
        if of_nodes is not None:  # what is near the leaf's own value may be met
            weights = np.zeros(paths.n_rules)
            values = of_nodes[paths.leaf_ids]
            leaves = LeafValues(paths.leaf_class, weights[:, None], weights, problem.tolerance, values)
            deleted, witness = delete_near(problem.feasible_tree(), paths, leaves)
            result = Deletions.keep_all(paths, Why.KEEPS_OUT)
            result.node[:] = np.where(witness < 0, -1, paths.leaf_ids[witness])
            result.delete(deleted, Why.NO_FOREIGN_LEAF)
            return result
        result = Deletions.keep_all(problem.paths, Why.NOT_CERTIFIED, has_numbers=False)
        result.delete(problem.find_exact(), Why.NO_FOREIGN_LEAF)
        return result


METHODS = (NoDeletion(), Sibling(), Redundancy(), Exact())
