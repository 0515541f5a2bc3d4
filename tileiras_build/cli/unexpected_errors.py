"""What a command says of an exception that is no diagnostic: one sentence, and where the rest is."""

from __future__ import annotations

import hashlib
import shlex
import traceback
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import InternalError, InvalidInput, TileirasError, describe_exception, exception_text, printable

PROGRAM = "tileiras-build"


def diagnostic_of(error: Exception, words: Sequence[str]) -> TileirasError:
    """The diagnostic for ``error``, raised by the command with these ``words``: the system's answer, or a fault of ours."""
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return InvalidInput("system", f"the system refuses: {named}{error.strerror or exception_text(error)}")
    if isinstance(error, MemoryError):
        return InvalidInput("system-memory", "there is not enough memory for this", remedy="run it where there is more")
    message = f"{PROGRAM} {words[0] if words else ''}".strip() + f" failed: {describe_exception(error)}"
    return InternalError("command-failed", message, remedy=_remedy(error, words))


def _remedy(error: Exception, words: Sequence[str]) -> str:
    command = printable(shlex.join([PROGRAM, *words]))
    try:
        path = _write_trace(error, command)
    except OSError as failure:
        return f"a fault of tileiras_build; no dump: {failure.strerror or failure}"
    except TileirasError as failure:
        return f"a fault of tileiras_build; no dump: {failure.message}"
    return f"a fault of tileiras_build, whose trace is in {path}; repeat it with: {command}"


def _write_trace(error: Exception, command: str) -> Path:
    from ..core.file_io import replace_files
    from ..core.knobs import dump_folder
    from ..core.user_tmp import OTHERS_WRITE, owned_folder

    trace = "".join(traceback.format_exception(error))
    digest = hashlib.sha256(command.encode()).hexdigest()[:10]
    path = owned_folder(dump_folder() / f"command-{digest}", OTHERS_WRITE) / "error.txt"
    replace_files({path: f"{command}\n\n{trace}".encode(errors="backslashreplace")})
    return path
