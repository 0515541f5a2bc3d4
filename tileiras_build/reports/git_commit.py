"""The commit of a project's checkout, for the title of its report."""

from __future__ import annotations

import subprocess
from pathlib import Path

_SECONDS = 5.0
_COMMAND = ("git", "describe", "--always", "--dirty", "--exclude", "*")


def git_commit(folder: Path) -> str:
    """The abbreviated commit, with "-dirty" if files differ from it; "" outside of a checkout, or without git."""
    try:
        done = subprocess.run(
            _COMMAND,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
