"""What a document tells its reader to type, and what it says comes out: executed, and compared.

    ```console                      ```python title="kernels/axpy.py"
    $ command                       a file to write
    output                          ```
    ```

In the output ``...`` stands for anything, and spaces count as one. A command must succeed; one with ``# fails`` behind it must not,
and what it says of that belongs to its output.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_FAILS = re.compile(r"\s+# fails$")


@dataclass(frozen=True)
class File:
    """A file that the reader writes."""

    path: str
    text: str


@dataclass(frozen=True)
class Command:
    """A line that the reader types, and what comes out; ``fails`` is whether its exit status is not 0."""

    line: str
    output: str
    fails: bool


def steps(document: str) -> Iterator[File | Command]:
    """Everything in the order of the document."""
    for language, more, text in _BLOCK.findall(document):
        if language == "console":
            yield from commands(text)
        elif title := _TITLE.search(more):
            yield File(title[1], text)


def commands(text: str) -> Iterator[Command]:
    """The commands of one block."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield Command(_FAILS.sub("", line), output, bool(_FAILS.search(line)))


def execute(step: File | Command, folder: Path, shell: Callable[[str], subprocess.CompletedProcess]) -> str:
    """Do what the reader does, and return what a command prints; raises AssertionError where that is something else."""
    if isinstance(step, File):
        (folder / step.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / step.path).write_text(step.text)
        return ""
    done = shell(step.line)
    said = done.stdout + (done.stderr if step.fails else "")
    assert bool(done.returncode) == step.fails, f"{step.line}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
    assert agree(step.output, said), f"$ {step.line}\n--- the document says\n{step.output}--- what came out\n{said}"
    return done.stdout


def agree(expected: str, said: str) -> bool:
    """Whether the document says what came out."""
    parts = re.split(r" ?\.\.\. ?", " ".join(expected.split()))
    return re.fullmatch(".*".join(map(re.escape, parts)), " ".join(said.split())) is not None
