"""Declare a method's settings with their bounds, and check them."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any

import numpy as np

from secateur.errors import ParameterError

__all__ = ["amount", "check_amount", "check_flag", "check_share", "choice", "flag", "is_number", "share"]


def is_number(value: Any) -> bool:
    """Whether a value is a plain number; a bool is not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_share(name: str, value: Any) -> float:
    """Check a number between 0 and 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError(f"Expected {name} as a number from 0 to 1, found {value!r}.")
    return float(value)


def check_amount(name: str, value: Any) -> float:
    """Check a finite number that is not negative."""
    if not is_number(value) or not 0 <= value < math.inf:
        raise ParameterError(f"Expected {name} as a number that is not negative, found {value!r}.")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """Check a choice between yes and no."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"Expected {name} as True or False, found {value!r}.")
    return bool(value)


def share(default: float) -> float:
    """Declare a setting between 0 and 1, as a field of a method's dataclass."""
    return field(default=default, metadata={"check": check_share})


def amount(default: float) -> float:
    """Declare a setting that is not negative, as a field of a method's dataclass."""
    return field(default=default, metadata={"check": check_amount})


def flag(default: bool) -> bool:
    """Declare a setting that is on or off, as a field of a method's dataclass."""
    return field(default=default, metadata={"check": check_flag})


def choice(default: str, *others: str) -> str:
    """Declare a setting that is one of a few words, as a field of a method's dataclass."""

    def check(name: str, value: Any) -> str:
        if value not in (default, *others):
            listed = " or ".join(repr(word) for word in (default, *others))
            raise ParameterError(f"Expected {name} as {listed}, found {value!r}.")
        return str(value)

    return field(default=default, metadata={"check": check})
