"""Merges adjacent similar lines of a generated function into one call."""

from __future__ import annotations

from collections.abc import Callable

LineParts = tuple[str, str, str]  # (register, site, address) of a load or store


def merge_adjacent(
    lines: list[str],
    origin: list[int],
    match: Callable[[str], LineParts | None],
    call: Callable[[list[LineParts]], str],
    can_follow: Callable[[list[LineParts], LineParts], bool] = lambda before, parts: True,
) -> tuple[list[str], list[int]]:
    """The lines, and the pc of each; two or more adjacent lines that ``match`` are replaced by the line that ``call`` returns.

    A line that ``can_follow`` rejects starts a new sequence.
    """
    out: list[str] = []
    pcs: list[int] = []
    found: list[LineParts] = []

    def end() -> None:
        if len(found) > 1:
            out[-len(found) :] = [call(found)]
            del pcs[1 - len(found) :]
        found.clear()

    for line, pc in zip(lines, origin):
        parts = match(line)
        if parts is None or not can_follow(found, parts):
            end()
        out.append(line)
        pcs.append(pc)
        if parts is not None:
            found.append(parts)
    end()
    return out, pcs
