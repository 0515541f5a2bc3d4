"""The diagnostic of an unexpected exception: one sentence, and the file with the traceback."""

from __future__ import annotations

import hashlib
import shlex
import traceback
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import InternalError, InvalidInput, TileirasError, describe_exception, exception_text, printable

PROGRAM = "tileiras-build"


def diagnostic_of(error: Exception, words: Sequence[str]) -> TileirasError:
    """The diagnostic for ``error``, raised by the command with these ``words``: a system error, or a bug."""
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return InvalidInput("system", f"system error: {named}{error.strerror or exception_text(error)}")
    if isinstance(error, MemoryError):
        return InvalidInput("system-memory", "out of memory", remedy="run on a machine with more memory")
    message = f"{PROGRAM} {words[0] if words else ''}".strip() + f" failed: {describe_exception(error)}"
    return InternalError("command-failed", message, remedy=_remedy(error, words))


def _remedy(error: Exception, words: Sequence[str]) -> str:
    command = printable(shlex.join([PROGRAM, *words]))
    try:
        path = _write_trace(error, command)
    except OSError as failure:
        return f"bug in tileiras_build (no dump written: {failure.strerror or failure})"
    except TileirasError as failure:
        return f"bug in tileiras_build (no dump written: {failure.message})"
    return f"bug in tileiras_build; traceback in {path}; reproduce with: {command}"


def _write_trace(error: Exception, command: str) -> Path:
    from ..core.file_io import replace_files
    from ..core.knobs import dump_folder
    from ..core.user_tmp import OTHERS_WRITE, owned_folder

    trace = "".join(traceback.format_exception(error))
    digest = hashlib.sha256(command.encode()).hexdigest()[:10]
    path = owned_folder(dump_folder() / f"command-{digest}", OTHERS_WRITE) / "error.txt"
    replace_files({path: f"{command}\n\n{trace}".encode(errors="backslashreplace")})
    return path
