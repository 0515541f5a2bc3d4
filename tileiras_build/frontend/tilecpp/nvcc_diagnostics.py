"""nvcc's messages as diagnostics: one sentence each, with the file, line and column that nvcc names.

Three programs write messages: the host compiler's preprocessor (``k.cu:3:10: fatal error: …``), NVIDIA's front end
(``k.cu(10): error: …``, the line, a caret below it, notes, and the instantiation), and nvcc itself
(``nvcc fatal   : …``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ...core.errors import ErrorGroup, InvalidInput, Location, TileirasError
from .nvcc_toolchain import host_compiler_missing

SHOWN = 8  # errors of one file
_HEAD = re.compile(
    r"^(?P<file>[^\s(:][^(:\n]*?)(?:\((?P<line>\d+)\)|:(?P<gcc>\d+):(?P<column>\d+)): "
    r"(?P<kind>fatal error|catastrophic error|error|warning)(?: #(?P<number>[\w-]+))?: (?P<message>.*)$"
)
_FATAL = re.compile(r"^nvcc (?:fatal|error)\s*: (.*)$", re.MULTILINE)
_NOTE = re.compile(r"^\S.*: (?:note|remark)\b")
_INSTANTIATION = "detected during"
_CARET = re.compile(r"^\s*\^\s*$")
_NO_HOST = re.compile(r"host compiler|cannot execute .*cc1plus")
_CONTINUES = " " * 12  # the indent of a continued sentence


@dataclass(frozen=True)
class Message:
    """One message: ``kind`` is "error" or "warning"; ``via`` is the instantiation that caused it."""

    kind: str
    location: Location
    text: str
    via: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.via})" if self.via else self.text


def read_messages(output: str, root: str) -> Iterator[Message]:
    """The errors and warnings in nvcc's output; files below ``root`` are named relative to it."""
    lines = output.splitlines()
    heads = [index for index, line in enumerate(lines) if _HEAD.match(line)]
    for start, end in pairwise([*heads, len(lines)]):
        yield _message(lines[start:end], root)


def _message(block: list[str], root: str) -> Message:
    head = _HEAD.match(block[0])
    assert head is not None
    rest = block[1 : block.index("") if "" in block else len(block)]
    own = rest[: next((index for index, line in enumerate(rest) if _NOTE.match(line)), len(rest))]
    more = [line.strip() for line in own if line.startswith(_CONTINUES) and not _CARET.match(line)]
    # A source line may have the same indent: it is the line above the caret.
    caret = next((index for index, line in enumerate(own) if _CARET.match(line)), None)
    if caret and own[caret - 1].strip() in more:
        more.remove(own[caret - 1].strip())
    via = [line.strip() for line in rest if _INSTANTIATION in line]
    text = " ".join([head["message"], *(line for line in more if _INSTANTIATION not in line)])
    # The front end indents the source by two columns.
    column = int(head["column"] or 0) or (own[caret].index("^") - 1 if caret else 0)
    place = Location(_relative(head["file"], root), int(head["line"] or head["gcc"]), column)
    return Message("warning" if head["kind"] == "warning" else "error", place, text.strip(), " ".join(via[:1]))


def _relative(path: str, root: str) -> str:
    if not os.path.isabs(path):
        return path
    path = os.path.normpath(path)
    return os.path.relpath(path, root) if path.startswith(root + os.sep) else path


def warnings_of(output: str, root: str) -> tuple[str, ...]:
    """nvcc's warnings, each as one line."""
    found = (message for message in read_messages(output, root) if message.kind == "warning")
    return tuple(dict.fromkeys(f"{message.location}: warning[nvcc]: {message}" for message in found))


def nvcc_failure(output: str, status: int, path: str, root: str) -> TileirasError:
    """The error of a file that nvcc did not compile."""
    found = {(m.location, m.text): m for m in read_messages(output, root) if m.kind == "error"}
    errors: list[TileirasError] = [_error(message) for message in list(found.values())[:SHOWN]]
    if len(found) > SHOWN:
        message = f"nvcc finds {len(found) - SHOWN} more errors"
        errors.append(InvalidInput("nvcc", message, location=Location(path), remedy="correct the first ones"))
    fatal = _FATAL.search(output)
    last = fatal[1] if fatal else next((line for line in reversed(output.splitlines()) if line.strip()), "nothing")
    if _NO_HOST.search(last) or _NO_HOST.search(" ".join(message.text for message in found.values())):
        return host_compiler_missing(path, _first_line(output))
    if errors:
        return ErrorGroup(errors) if len(errors) > 1 else errors[0]
    if fatal:
        return InvalidInput("nvcc", f"nvcc: {last}", location=Location(path), remedy="correct nvcc_flags=")
    message = f"nvcc ended with status {status}; its last words are: {last.strip()}"
    return InvalidInput("nvcc", message, location=Location(path), remedy="run nvcc by hand to see more")


def _first_line(output: str) -> str:
    return next((line.strip() for line in output.splitlines() if line.strip()), "nothing")


def _error(message: Message) -> InvalidInput:
    remedy = "correct the file"
    if "No such file or directory" in message.text:
        remedy = "correct the name, or give its folder: nvcc_flags='-I FOLDER'"
    return InvalidInput("nvcc", str(message), location=message.location, remedy=remedy)
