"""Read and make data frames and lists of any library without importing one."""

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from secateur.errors import InputError, ParameterError

LIBRARIES = ("pandas", "polars")


def frame_columns(X: Any) -> list[str] | None:
    """List the column names of a data frame of any library; None for anything else."""
    if hasattr(X, "collect_schema"):  # frames of polars and narwhals; lazy ones warn when asked for their columns
        return [str(column) for column in X.collect_schema().names()]
    for attribute in ("column_names", "columns"):  # a pyarrow table has both; its columns are arrays
        names = getattr(X, attribute, None)
        if names is not None and not callable(names):
            return [str(column) for column in names]
    return None


def check_unique(names: Sequence[str], what: str, *, fold: Callable[[str], str] = str, but: str = "") -> None:
    """Reject two columns of one name, or of names that ``fold`` makes equal; ``but`` says which differences count."""
    counted = Counter(map(fold, names))
    twice = next((name for name in names if counted[fold(name)] > 1), None)
    if twice is not None:
        raise InputError(f"{what} has two columns named {twice!r}{but}: rename one of them.")


def make_frame(columns: Mapping[str, Sequence[Any]], library: str | None) -> Any:
    """Make a data frame of equally long columns with the wanted library, else one that is imported or installed."""
    if library is not None and library not in LIBRARIES:
        raise ParameterError(f"Expected library='pandas' or library='polars', found {library!r}.")
    choices = [library] if library else sorted(LIBRARIES, key=lambda name: name not in sys.modules)
    for name in choices:
        if find_spec(name) is not None:
            try:
                return importlib.import_module(name).DataFrame(dict(columns))
            except UnicodeEncodeError as error:
                half = error.object[error.start]
                raise ParameterError(
                    f"A data frame of {name} cannot hold {half!r}, half of a character, which is in a name or label: "
                    "rename it."
                ) from error
    raise ParameterError(
        f"A data frame needs {' or '.join(choices)}: pip install "
        f"'secateur[{'polars' if choices == ['polars'] else 'tables'}]'."
    )


def is_listing(value: Any) -> bool:
    """Whether a value is a list, tuple, array or the like, but no text, mapping or single number."""
    is_scalar = isinstance(value, (str, bytes, Mapping)) or getattr(value, "ndim", 1) == 0
    return not is_scalar and hasattr(value, "__iter__")
