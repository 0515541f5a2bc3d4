"""The program ``tileiras-build``: sends a command to a compile server if possible, and runs it here otherwise.

Nothing is imported before that: see ``workers/server/environment_fingerprint.py``.
"""

from __future__ import annotations

import sys

from ..workers.server.run_on_server import IMAGE, NoServer, run

_FUNCTION = f"{IMAGE}:run_command"
_SERVED = frozenset(("as", "asm", "dis", "libdevice", "lower", "opt"))
_INTERRUPTED = 130
_ALLOCATIONS = 100_000  # of objects between garbage collections
_KERNEL_FILES = (".py", ".cu")  # whose own modules may shadow modules that a server has loaded


def main() -> int:
    """Run the command of ``sys.argv``; returns the exit code. An interrupt during the imports prints no traceback."""
    try:
        return _run()
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run() -> int:
    if _is_served(sys.argv):
        try:
            return run(_FUNCTION, IMAGE)
        except NoServer:
            _enable_lazy_definitions()
            return _run_alone()
    elif sys.argv[1:2] == ["run"]:
        _enable_lazy_definitions()
    from .dispatch import main as run_here

    return run_here()


def _run_alone() -> int:
    """Run a command that ends soon: what it imports stays, so collections among its objects find nothing, also the last one."""
    import gc

    gc.set_threshold(_ALLOCATIONS)
    from .dispatch import main as run_here

    status = run_here()
    gc.freeze()
    return status


def _enable_lazy_definitions() -> None:
    """For classes of this package only: a command may run user code."""
    from ..workers.lazy_class_creation import OWN, enable

    enable(*OWN)


def _is_served(words: list[str]) -> bool:
    if words[0].rpartition("/")[2] == "tileiras":
        return True
    return words[1:2] != [] and words[1] in _SERVED and not any(word.endswith(_KERNEL_FILES) for word in words)
