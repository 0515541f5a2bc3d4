"""What ``ptx=`` may name: a GPU whose PTX later ones run, or a word."""

from __future__ import annotations

from ...core.errors import InvalidInput
from ...target.targets import TARGETS, Target, find_target

AUTO, NONE = "auto", "none"


def ptx_target(text: str) -> Target:
    """Raises InvalidInput[package-ptx] for a GPU whose PTX no other one runs."""
    target = find_target(text)
    if target.portable:
        return target
    remedy = f"use ptx={', '.join(str(row.number) for row in TARGETS.values() if row.portable)}, auto or none"
    raise InvalidInput("package-ptx", f"PTX of {target.arch} runs on no other GPU than {target.name}", remedy=remedy)


def check_ptx(text: str) -> None:
    """Raises InvalidInput where ``ptx=text`` is neither auto nor none nor a GPU whose PTX runs on later ones."""
    if text not in (AUTO, NONE):
        ptx_target(text)
