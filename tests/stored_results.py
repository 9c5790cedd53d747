"""Results that were stored with some version of scikit-learn, and when a test may compare with them."""

from __future__ import annotations

import pytest
import sklearn

__all__ = ["skip_if_older"]


def skip_if_older(version: str) -> None:
    """Skip a test that recomputes stored results with an older scikit-learn than they were stored with."""
    if _parts(sklearn.__version__) < _parts(version):
        pytest.skip(f"results were stored with scikit-learn {version}; older ones break ties otherwise")


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.split(".")[:2]]
