"""Pipelines that end in a tree -> Trees over the columns that go *into* the pipeline.

Which encoded column comes from which column, by what kind of step, is traced (``trace``). Where a split sends a number,
a category, an unknown value or a missing one is asked of the fitted steps themselves (``probe``, ``numbers``): limits
and cells (``limits``), categories (``labels``), missing values (``missing``), all of it in ``columns``. What a reader
should know besides is put into sentences (``remarks``), and trees are assembled from it all (``reader``).
"""

from __future__ import annotations

from secateur.adapters.pipelines.reader import is_pipeline, read_behind, read_trees, split_pipeline

__all__ = ["is_pipeline", "read_behind", "read_trees", "split_pipeline"]
