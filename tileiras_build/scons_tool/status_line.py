"""The line that a terminal shows while a build runs: count, percent, time to go and the steps that are running."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

SURE = 1.0  # seconds; before, the time to go would be a guess


def status_line(done: int, total: int, running: Iterable[str], seconds: float, built: int, width: int) -> str:
    """``[ 12/345]   3%  0:42 to go  ptx sm_90 a | cubin sm_90 b``, at most ``width`` characters long.

    ``built`` of the ``done`` steps were built, in ``seconds``; the others came out of records. What is left is taken
    to be all built, at the same pace.
    """
    count = f"[{done:>{len(str(total))}}/{total}] {100 * done // max(total, 1):3}%"
    line = "  ".join((count, *_to_go(total - done, seconds, built), " | ".join(running)))
    return line if len(line) <= width else line[: width - 3] + "..."


def _to_go(left: int, seconds: float, built: int) -> tuple[str, ...]:
    if seconds < SURE or not built:
        return ()
    rest = round(left * seconds / built)
    hours, minutes = divmod(rest // 60, 60)
    clock = f"{hours}:{minutes:02}:{rest % 60:02}" if hours else f"{minutes}:{rest % 60:02}"
    return (f"{clock} to go",)


def is_terminal(stream: TextIO, environment=os.environ) -> bool:
    """Whether a line can be updated in place; logs of CI are no terminals, though some say that they are."""
    return stream.isatty() and not environment.get("CI") and environment.get("TERM") != "dumb"
