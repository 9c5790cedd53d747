"""Pipelines that end in a tree -> Trees over the columns that go *into* the pipeline.

``trace`` finds which encoded column comes from which column, by what kind of step. ``probe`` and ``numbers`` ask the
fitted steps themselves where a split sends a number, a category, an unknown value or a missing one. ``columns`` settles
the answers, and ``reader`` assembles the trees and says what else a reader should know.
"""

from secateur.adapters.pipelines.reader import read_behind, read_trees, split_pipeline

__all__ = ["read_behind", "read_trees", "split_pipeline"]
