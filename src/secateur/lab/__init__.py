"""The laboratory: the paper's experiments run again, its data sets, and optimal trees to compare with."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.lab.local_search import LocalSearchTreeClassifier

__all__ = ["LocalSearchTreeClassifier"]


def __getattr__(name: str) -> Any:
    """Load the classifier when it is asked for: adapters and data sets in here do without scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module 'secateur.lab' has no attribute {name!r}")
    from secateur.lab import local_search

    return getattr(local_search, name)
