"""Data sets that come with secateur."""

from __future__ import annotations

from secateur.datasets.tables import DATASETS, Dataset, load

__all__ = ["DATASETS", "Dataset", "load"]
