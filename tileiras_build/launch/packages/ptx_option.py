"""Values of ``ptx=``: a GPU whose PTX is forward-compatible, ``auto`` or ``none``."""

from __future__ import annotations

from ...core.errors import InvalidInput
from ...target.targets import TARGETS, Target, find_target

AUTO, NONE = "auto", "none"


def ptx_target(text: str) -> Target:
    """The target; raises InvalidInput[package-ptx] if its PTX is not forward-compatible."""
    target = find_target(text)
    if target.portable:
        return target
    remedy = f"use ptx={', '.join(str(row.number) for row in TARGETS.values() if row.portable)}, auto or none"
    raise InvalidInput(
        "package-ptx", f"{target.arch} PTX is not forward-compatible (runs on {_runs_on(target)} only)", remedy=remedy
    )


def _runs_on(target: Target) -> str:
    return ", ".join(f"sm_{number}" for number in sorted(target.members))


def check_ptx(text: str) -> None:
    """Raises InvalidInput unless ``ptx=text`` is auto, none or a GPU with forward-compatible PTX."""
    if text not in (AUTO, NONE):
        ptx_target(text)
