"""The program ``tileiras-build``: a command that a warm server may answer is handed to it, all others run here.

Nothing is imported before that: see ``server/address.py``.
"""

from __future__ import annotations

import sys

from .server.client import Unserved, run

IMAGE = "tileiras_build.warm_image"  # what a server imports
_FUNCTION = f"{IMAGE}:run_command"
_SERVED = frozenset(("as", "asm", "dis", "libdevice", "lower", "opt"))
_KERNEL_FILES = (".py", ".cu")  # whose own modules may hide ones that a server has loaded


def main() -> int:
    """Run the command of ``sys.argv``; returns the exit code."""
    if _is_served(sys.argv):
        try:
            return run(_FUNCTION, IMAGE)
        except Unserved:
            from .deferral import OWN, defer

            # These run nobody else's code.
            defer(*OWN)
    from .cli import main as run_here

    return run_here()


def _is_served(words: list[str]) -> bool:
    if words[0].rpartition("/")[2] == "tileiras":
        return True
    return words[1:2] != [] and words[1] in _SERVED and not any(word.endswith(_KERNEL_FILES) for word in words)
