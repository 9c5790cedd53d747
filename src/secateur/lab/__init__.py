"""The laboratory: the paper's experiments run again, its data sets, RuleBench, and optimal trees to compare with."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.lab.local_search import LocalSearchTreeClassifier
    from secateur.lab.rulebench.run import bench

# Name -> module, loaded when it is asked for: adapters and data sets in here do without scikit-learn.
PUBLIC = {"LocalSearchTreeClassifier": "local_search", "bench": "rulebench.run"}
__all__ = ["LocalSearchTreeClassifier", "bench"]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'secateur.lab' has no attribute {name!r}")
    return getattr(import_module(f"secateur.lab.{PUBLIC[name]}"), name)
