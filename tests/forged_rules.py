"""Rules that claim what they are not, for tests of the checker."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import secateur
from secateur.rules.making import Making

MAKING = {one.name for one in fields(Making)}


def forge(rules: secateur.Rules, **claims: Any) -> secateur.Rules:
    """Rules with other fields, or with another method or other settings than they were made with."""
    making = {name: value for name, value in claims.items() if name in MAKING}
    others = {name: value for name, value in claims.items() if name not in MAKING}
    return replace(rules, making=replace(rules.making, **making), **others)
