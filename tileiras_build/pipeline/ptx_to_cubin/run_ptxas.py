"""Run ptxas on PTX text in memory and translate its messages."""

from __future__ import annotations

import os
import re
import shlex
import signal
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import InvalidInput, Location
from ...core.system_limit_errors import check_proc
from ...manifest.ptx_manifest import manifest_of_ptx
from ...target.isa.serializer_options import DEFAULT_LEVEL, find_level
from ..job import Job
from ..serialization_target import check_same_target, level_flags

_INPUT, _OUTPUT = "/proc/self/fd/0", "/proc/self/fd/1"
_COMPLAINT = re.compile(r"^ptxas (?:\S+, line (\d+); )?(error|fatal|warning)\s*: (.*)$", re.MULTILINE)
_FUNCTION = re.compile(r"Function properties for (\S+)\s+\d+ bytes stack frame, (\d+) bytes spill stores, (\d+) bytes")
_NOTE = re.compile(
    r"^ptxas (?:info|warning)\s*: (?:\(C\d+\) )?(Potential Performance Loss.*|.*setmaxnreg.*)$", re.MULTILINE
)
_TARGET = re.compile(r"^\.target (\w+)([^\n]*, debug)?", re.MULTILINE)
# A third of a short run of ptxas is page faults on small pages. On systems with huge pages on request, let the C
# library request them (glibc 2.35; others ignore the variable): benchmarks/ptxas_memory.py.
PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=33554432"}
_NO_MEMORY = "Memory allocation failure"
_SHOWN = 4  # messages quoted in a diagnostic


@dataclass(frozen=True)
class Assembled:
    """The results of one run of ptxas: the cubin, spilled bytes per function, and performance remarks."""

    cubin: bytes
    spills: dict[str, tuple[int, int]]  # function -> (stores, loads)
    notes: tuple[str, ...]


def options(ptx: str, job: Job) -> list[str]:
    """Command-line options of ptxas for PTX text, without program and files.

    PTX records its GPU, its level, and whether it has debug info or lines; hand-written PTX without a manifest is
    assembled with the job's options. Raises InvalidInput[target-mismatch] if they disagree.
    """
    level, arch = find_level(job.opt_level).ptxas, job.target.arch
    manifest, header = manifest_of_ptx(ptx), _TARGET.search(ptx)
    debug = job.debug
    if manifest is not None and header is not None:
        debug = header[2] is not None
        made_level = level if debug else manifest.get("opt_level", DEFAULT_LEVEL)
        check_same_target((header[1], level_flags(made_level)), (arch, level_flags(level)))
    if debug:
        return ["-arch", arch, "-v", "-g"]  # -g is only defined without optimization
    lines = ["-lineinfo"] if ".loc\t" in ptx or ".loc " in ptx else []
    return ["-arch", arch, "-v", f"-O{level}", *lines]


def assemble(ptx: str, job: Job, ptxas: Path) -> Assembled:
    """Assemble PTX text.

    Raises InvalidInput[no-proc] without ``/proc``, [ptxas] with ptxas' messages, [ptxas-crash] if a signal killed it,
    [ptxas-memory] if it ran out of memory, [ptxas-io] if the operating system denies memory or the process.
    """
    command = [str(ptxas), *options(ptx, job)]
    check_proc()
    try:
        status, cubin, text = _spawn(command, ptx.encode())
    except OSError as error:
        raise InvalidInput(
            "ptxas-io", f"cannot run {ptxas}: {error.strerror}", remedy="free memory or disk space and check the file"
        ) from error
    if status < 0:
        raise _crashed(-status, command)
    if status != 0 and _NO_MEMORY in text:
        remedy = f"free memory, or build with fewer jobs; repeat with `{repeat_command(command)}`"
        raise InvalidInput("ptxas-memory", "ptxas ran out of memory", remedy=remedy) from MemoryError()
    if status != 0 or not cubin:
        raise _refused(text, ptx, command)
    spills = {name: (int(stores), int(loads)) for name, stores, loads in _FUNCTION.findall(text)}
    return Assembled(cubin, spills, tuple(dict.fromkeys(_NOTE.findall(text))))


def _spawn(command: list[str], ptx: bytes) -> tuple[int, bytes, str]:
    """(exit status or -signal, output, messages) of ptxas with anonymous memory files for input and output.

    Without file names there is nothing to clean up, no pipe that can block, and no temporary path in the cubin.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(_memory_file(name)) for name in ("ptx", "cubin", "messages")]
        source, result, messages = files
        source.write(ptx)
        source.flush()
        process = os.posix_spawn(
            command[0],
            [*command, _INPUT, "-o", _OUTPUT],
            PAGES | os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, file.fileno(), number) for number, file in enumerate(files)],
            setsigdef=[signal.SIGPIPE],
        )
        _, status = os.waitpid(process, 0)
        return os.waitstatus_to_exitcode(status), _contents(result), _contents(messages).decode(errors="replace")


def _memory_file(name: str):
    return os.fdopen(os.memfd_create(name, os.MFD_CLOEXEC), "w+b")


def _contents(file) -> bytes:
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0)


def _crashed(number: int, command: list[str]) -> InvalidInput:
    name = signal.Signals(number).name if number in signal.valid_signals() else f"signal {number}"
    return InvalidInput(
        "ptxas-crash",
        f"ptxas was killed by {name}",
        remedy=f"keep the .ptx stage, repeat with `{repeat_command(command)}`, and try another ptxas=PATH",
    )


def _refused(text: str, ptx: str, command: list[str]) -> InvalidInput:
    complaints = [match.groups() for match in _COMPLAINT.finditer(text) if match[2] != "warning"]
    lines = (f"line {line}: {message}" if line else message for line, _, message in complaints)
    shown = list(dict.fromkeys(lines))[:_SHOWN]
    first = next((int(line) for line, _, _ in complaints if line), 0)
    quoted = f" (`{_line_of(ptx, first)}`)" if first else ""
    return InvalidInput(
        "ptxas",
        f"ptxas rejects the PTX{quoted}: {'; '.join(shown) or text.strip() or 'no reason given'}",
        location=Location(".ptx", first, 1) if first else None,
        remedy=f"look at that line of the .ptx stage and repeat with `{repeat_command(command)}`",
    )


def _line_of(ptx: str, number: int) -> str:
    lines = ptx.splitlines()
    return " ".join(lines[number - 1].split()) if number <= len(lines) else ""


def repeat_command(command: list[str]) -> str:
    """The command that reproduces this step from the written .ptx file."""
    return shlex.join([*command, "k.ptx", "-o", "k.cubin"])
