"""Matches that must exist, in text that LLVM printed."""

from __future__ import annotations

import re

from ...core.errors import InternalError


def require_match(match: re.Match[str] | None) -> re.Match[str]:
    """Return a match that must exist; raises InternalError[ll-form] if it is None."""
    if match is None:
        raise InternalError("ll-form", "the module is not in the form that LLVM prints")
    return match
