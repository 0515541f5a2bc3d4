"""FORMER_NAMES: renamed options of a build. A former name is refused with the present one."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.errors import renamed, suggest
from ..pipeline import tuning_parameters

FORMER_NAMES = tuning_parameters.FORMER_NAMES | {"keep": "report_label"}


def suggest_option(name: str, known: Iterable[str]) -> str:
    """The remedy for an unknown option ``name``: its new name, or the nearest of ``known``."""
    if name in FORMER_NAMES:
        return renamed(name, FORMER_NAMES[name])
    return suggest(name, known)
