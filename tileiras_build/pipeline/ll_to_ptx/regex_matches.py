"""Texts of LLVM that have the form which an earlier look at them has found."""

from __future__ import annotations

import re

from ...core.errors import InternalError


def require_match(match: re.Match[str] | None) -> re.Match[str]:
    """A match where there must be one; raises InternalError[ll-form] where there is none."""
    if match is None:
        raise InternalError("ll-form", "the module is not written as LLVM writes it")
    return match
