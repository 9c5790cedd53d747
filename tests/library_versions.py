"""What the tests need to know about the installed libraries' versions."""

from __future__ import annotations

from typing import Any

import sklearn
from sklearn.preprocessing import KBinsDiscretizer

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def make_bins(n_bins: int, encode: str) -> KBinsDiscretizer:
    """Make bins by quantiles; without a method, scikit-learn 1.7 and later warn, and 1.6 knows none."""
    options: dict[str, Any] = {"quantile_method": "averaged_inverted_cdf"} if SKLEARN >= (1, 7) else {}
    return KBinsDiscretizer(n_bins, encode=encode, **options)
