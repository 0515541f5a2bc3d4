"""Parse nvdisasm's listing of a cubin's SASS: count instructions by kind, and find loops.

Opcodes are those of the CUDA Binary Utilities manual, section "Instruction Set Reference".
"""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from cuda.pathfinder import find_nvidia_binary_utility

from ..core.errors import InvalidInput
from ..core.user_tmp import scratch_folder

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)(.*);")
_LABEL = re.compile(r"^(\.L_\w+):")
_TARGET = re.compile(r"`\((\.L_\w+)\)")
_KERNEL = re.compile(r"^\s*\.section\s+\.text\.([\w$]+)")
_SHOWN_LINES = re.compile(r"^\.L_\w+:|^\s*/\*[0-9a-f]{4,}\*/|^\s*//## ")

# Kind -> prefixes of its opcodes.
TENSOR = ("HMMA", "IMMA", "DMMA", "QMMA", "OMMA", "BMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTCHMMA", "UTCIMMA",
          "UTCQMMA", "UTCOMMA", "UTCMXQMMA")  # fmt: skip
ASYNC_COPY = ("LDGSTS", "UTMALDG", "UBLKCP")
SPILL = ("LDL", "STL")
BRANCH = ("BRA", "BRX", "JMP")
# Fences of GPU scope and invalidations of L1: opcode and first modifiers.
GPU_FENCES = ("MEMBAR.ALL.GPU", "MEMBAR.SC.GPU", "MEMBAR.ALL.SYS", "MEMBAR.SC.SYS", "ERRBAR", "CCTL.IVALL")
LEAVES = (*BRANCH, "EXIT", "RET")
_CONDITION = re.compile(r"!?U?P\w+,")


@dataclass(frozen=True)
class Line:
    """One instruction: its opcode with modifiers, its operands as printed, and the label that it branches to.

    ``guarded``: it has a predicate.
    """

    mnemonic: str
    text: str
    jumps_to: str | None = None
    guarded: bool = False

    @cached_property
    def opcode(self) -> str:
        """The opcode without modifiers."""
        return self.mnemonic.partition(".")[0]

    @property
    def falls_through(self) -> bool:
        """Whether the next instruction may be executed after this one."""
        return self.guarded or self.opcode not in LEAVES or _CONDITION.match(self.text) is not None


@dataclass(frozen=True)
class Listing:
    """The instructions of one kernel; ``labels`` maps a label to the index of the next instruction."""

    name: str
    lines: tuple[Line, ...]
    labels: dict[str, int]

    def count(self, *opcodes: str) -> int:
        """The number of instructions with one of the opcodes."""
        return sum(line.opcode in opcodes for line in self.lines)

    @property
    def total(self) -> int:
        """The number of instructions except NOPs, which pad a kernel to whole cache lines."""
        return len(self.lines) - self.count("NOP")

    @property
    def loops(self) -> list[range]:
        """The instructions between each backward branch and its target, in order of their ends."""
        found = []
        for index, line in enumerate(self.lines):
            start = self.labels.get(line.jumps_to) if line.opcode in BRANCH and line.jumps_to else None
            # A kernel ends in a branch to itself.
            if start is not None and start < index:
                found.append(range(start, index + 1))
        return found

    @cached_property
    def natural_loops(self) -> list[frozenset[int]]:
        """The instructions of each loop, by the index of its header; a wait loop after the kernel's end counts.

        The header is the target of a back edge; the body is all instructions that reach the source of that edge without
        passing the header.
        """
        before: dict[int, set[int]] = {}
        for index in range(len(self.lines)):
            for successor in self._successors(index):
                before.setdefault(successor, set()).add(index)
        bodies: dict[int, frozenset[int]] = {}
        for source, header in _retreating(self._successors):
            bodies[header] = bodies.get(header, frozenset()) | _reaching(source, header, before)
        return [bodies[header] for header in sorted(bodies)]

    @property
    def fences_in_loops(self) -> list[str]:
        """The mnemonics of the GPU-scope fences inside loops, in order."""
        return [mnemonic for index in self.repeated if (mnemonic := self.lines[index].mnemonic) in GPU_FENCES]

    @cached_property
    def repeated(self) -> list[int]:
        """The indices of the instructions in cycles of more than one instruction."""
        targets = [sorted(self._successors(index)) for index in range(len(self.lines))]
        return sorted(index for loop in cycles(targets) for index in loop)

    def mma_loop(self) -> range | None:
        """The innermost loop with the most tensor instructions, or the shortest of several; None if no loop has any."""
        counted = {loop: sum(self.lines[index].opcode in TENSOR for index in loop) for loop in self.loops}
        found = [loop for loop, count in counted.items() if count]
        inner = [loop for loop in found if not any(_holds(loop, other) for other in found)]
        return max(inner, key=lambda loop: (counted[loop], -len(loop)), default=None)

    def reached_from(self, *opcodes: str) -> set[str]:
        """The opcodes that a thread may execute after an instruction with one of these opcodes."""
        waiting = [index for index, line in enumerate(self.lines) if line.opcode in opcodes]
        seen: set[int] = set()
        while waiting:
            new = self._successors(waiting.pop()) - seen
            seen |= new
            waiting.extend(new)
        return {self.lines[index].opcode for index in seen}

    def _successors(self, index: int) -> set[int]:
        line = self.lines[index]
        found = {index + 1} if line.falls_through else set()
        if line.opcode in BRANCH and line.jumps_to in self.labels:
            found.add(self.labels[line.jumps_to])
        return {other for other in found if other < len(self.lines)}

    @property
    def loads_ahead(self) -> bool:
        """Whether copies are in flight before the MMA loop starts: some are before it, or all outside of it.

        A kernel without such a loop has nothing to prefetch.
        """
        loop = self.mma_loop()
        if loop is None:
            return True
        copies = [index for index, line in enumerate(self.lines) if line.opcode in ASYNC_COPY]
        return bool(copies) and any(index < loop.start or index >= loop.stop for index in copies)


def _retreating(successors: Callable[[int], set[int]]) -> Iterator[tuple[int, int]]:
    """The back edges of a control-flow graph, by a depth-first walk from instruction 0."""
    path_stack, seen = [(0, iter(sorted(successors(0))))], {0}
    path = {0}
    while path_stack:
        index, rest = path_stack[-1]
        successor = next(rest, None)
        if successor is None:
            path_stack.pop()
            path.discard(index)
        elif successor in path:
            yield index, successor
        elif successor not in seen:
            seen.add(successor)
            path.add(successor)
            path_stack.append((successor, iter(sorted(successors(successor)))))


def _reaching(source: int, header: int, before: Mapping[int, set[int]]) -> frozenset[int]:
    found, waiting = {header}, [source]
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            waiting.extend(before.get(index, ()))
    return frozenset(found)


def _holds(loop: range, other: range) -> bool:
    """Whether a loop contains another loop."""
    return loop != other and loop.start <= other.start and other.stop <= loop.stop


# CPU seconds: nvdisasm takes half a second to start, and one second per 100 KB.
_MIN_SECONDS, _BYTES_A_SECOND = 5, 20_000


def disassemble(cubin: bytes, *options: str) -> str:
    """nvdisasm's text with labels. Raises InvalidInput[nvdisasm] if it is not installed or rejects the cubin."""
    with scratch_folder() as folder:
        path = folder / "k.cubin"
        path.write_bytes(cubin)
        command = [_find_nvdisasm(), "-c", *options, str(path)]
        status, text, errors = _run(command, _MIN_SECONDS + len(cubin) // _BYTES_A_SECOND)
    if status:
        message = " ".join(errors.split()) or f"it ended with status {status}"
        raise InvalidInput("nvdisasm", f"nvdisasm rejects the cubin: {message}", remedy="assemble it again")
    return text


def _run(command: list[str], seconds: int) -> tuple[int, str, str]:
    """The status and the output of a program with a limit of CPU seconds, as it may not terminate on a damaged cubin."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "errors": "backslashreplace"}
    with subprocess.Popen(command, **pipes) as process:
        if sys.platform == "linux":
            with suppress(ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds, seconds))
        text, errors = process.communicate()
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        errors = f"it has not ended after {seconds} seconds of processor time"
    return process.returncode, text, errors


@cache
def _find_nvdisasm() -> str:
    found = find_nvidia_binary_utility("nvdisasm")
    if found is None:
        raise InvalidInput("nvdisasm", "no nvdisasm is installed", remedy="pip install nvidia-cuda-nvdisasm")
    return found


def read_listings(text: str) -> list[Listing]:
    """The kernels of nvdisasm's text, in its order."""
    found: list[tuple[str, list[Line], dict[str, int]]] = []
    for row in text.splitlines():
        if section := _KERNEL.match(row):
            found.append((section[1], [], {}))
        elif found and (label := _LABEL.match(row)):
            found[-1][2][label[1]] = len(found[-1][1])
        elif found and (instruction := _INSTRUCTION.match(row)):
            found[-1][1].append(_read_line(instruction))
    return [Listing(name, tuple(lines), labels) for name, lines, labels in found]


def read_section(text: str, kernel: str) -> Iterator[str]:
    """The lines of nvdisasm's text that are labels, instructions and source lines, per kernel."""
    inside = False
    for row in text.splitlines():
        if row.split(maxsplit=1)[:1] == [".section"]:  # not .sectioninfo, which sm_80 has
            found = _KERNEL.match(row)
            inside = found is not None and found[1] == kernel
        elif inside and _SHOWN_LINES.match(row):
            yield row.rstrip()


def _read_line(instruction: re.Match) -> Line:
    guard, mnemonic, operands = instruction.groups()
    target = _TARGET.search(operands)
    return Line(mnemonic, operands.strip(), target and target[1], guard is not None)


def cycles(targets: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The strongly connected components of more than one node (Kosaraju's algorithm).

    ``targets[n]``: the successors of node n.
    """
    sources: list[list[int]] = [[] for _ in targets]
    for index, successors in enumerate(targets):
        for target in successors:
            sources[target].append(index)
    seen: set[int] = set()
    ends = [index for start in range(len(targets)) for index in _postorder(start, targets, seen)]
    seen = set()
    for start in reversed(ends):
        if len(found := list(_postorder(start, sources, seen))) > 1:
            yield found


def _postorder(start: int, targets: Sequence[Sequence[int]], seen: set[int]) -> Iterator[int]:
    """The nodes reached from ``start`` and not in ``seen``, in postorder; adds them to ``seen``."""
    if start in seen:
        return
    seen.add(start)
    path = [(start, iter(targets[start]))]
    while path:
        index, successors = path[-1]
        if (new := next((target for target in successors if target not in seen), None)) is None:
            path.pop()
            yield index
        else:
            seen.add(new)
            path.append((new, iter(targets[new])))
