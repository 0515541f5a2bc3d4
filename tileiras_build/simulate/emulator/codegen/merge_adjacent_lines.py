"""Lines of a generated function that follow each other and do the same, as one call."""

from __future__ import annotations

from collections.abc import Callable

LineParts = tuple[str, str, str]  # what a line names: of a load or store a register, its site, an address


def merge_adjacent(
    lines: list[str],
    origin: list[int],
    match: Callable[[str], LineParts | None],
    call: Callable[[list[LineParts]], str],
    can_follow: Callable[[list[LineParts], LineParts], bool] = lambda before, parts: True,
) -> tuple[list[str], list[int]]:
    """The lines, and the pc of each, with two or more in a row that have ``parts_of`` as the one line that ``call`` makes of them.

    A line that does not go on with the ones ``before`` begins a row of its own.
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
