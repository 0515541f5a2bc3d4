"""Deletes variables of generated lines after their last use.

The next result then reuses memory that is still in the CPU's cache.
"""

from __future__ import annotations

import re

VARIABLE = re.compile(r"\b[rt]\d+(?:_[suf]\d+)?\b")


def delete_dead_variables(lines: list[str]) -> list[str]:
    """The lines, each followed by the deletion of the variables that no later line uses."""
    last: dict[str, int] = {}
    for at, line in enumerate(lines):
        for name in VARIABLE.findall(line):
            last[name] = at
    dying: dict[int, list[str]] = {}
    for name, at in last.items():
        dying.setdefault(at, []).append(name)
    out = []
    for at, line in enumerate(lines):
        is_single = not line.startswith(("return", "if "))
        out.append(f"{line}; del {', '.join(dying[at])}" if at in dying and is_single else line)
    return out
