"""What a cubin's machine code is made of: nvdisasm's listing, counted by kind of instruction.

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

# Kind -> what an opcode of that kind begins with.
TENSOR = ("HMMA", "IMMA", "DMMA", "QMMA", "OMMA", "BMMA", "HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTCHMMA", "UTCIMMA",
          "UTCQMMA", "UTCOMMA", "UTCMXQMMA")  # fmt: skip
ASYNC_COPY = ("LDGSTS", "UTMALDG", "UBLKCP")
SPILL = ("LDL", "STL")
BRANCH = ("BRA", "BRX", "JMP")
# What waits for all that a thread wrote to reach the whole GPU, or drops what L1 holds; opcode and first modifiers.
GPU_FENCES = ("MEMBAR.ALL.GPU", "MEMBAR.SC.GPU", "MEMBAR.ALL.SYS", "MEMBAR.SC.SYS", "ERRBAR", "CCTL.IVALL")
LEAVES = (*BRANCH, "EXIT", "RET")
_CONDITION = re.compile(r"!?U?P\w+,")


@dataclass(frozen=True)
class Line:
    """One instruction: its opcode with modifiers, its operands as printed, and the label that it jumps to.

    ``guarded``: a predicate before it says whether it is executed.
    """

    mnemonic: str
    text: str
    jumps_to: str | None = None
    guarded: bool = False

    @cached_property
    def opcode(self) -> str:
        """Without modifiers."""
        return self.mnemonic.partition(".")[0]

    @property
    def falls_through(self) -> bool:
        """Whether the next instruction may be executed after this one."""
        return self.guarded or self.opcode not in LEAVES or _CONDITION.match(self.text) is not None


@dataclass(frozen=True)
class Listing:
    """The instructions of one kernel; ``labels`` maps a label to the number of the instruction behind it."""

    name: str
    lines: tuple[Line, ...]
    labels: dict[str, int]

    def count(self, *opcodes: str) -> int:
        """How many instructions have one of the opcodes."""
        return sum(line.opcode in opcodes for line in self.lines)

    @property
    def total(self) -> int:
        """All instructions but NOPs, which pad a kernel to whole cache lines."""
        return len(self.lines) - self.count("NOP")

    @property
    def loops(self) -> list[range]:
        """The instructions between each backward jump and where it leads, in order of their ends."""
        found = []
        for number, line in enumerate(self.lines):
            start = self.labels.get(line.jumps_to) if line.opcode in BRANCH and line.jumps_to else None
            # A kernel ends in a jump to itself.
            if start is not None and start < number:
                found.append(range(start, number + 1))
        return found

    @cached_property
    def natural_loops(self) -> list[frozenset[int]]:
        """The instructions of each loop, those of a wait that stands behind the kernel's end among them, by its header's number.

        A loop's header is where a path leads back to; in the loop is what reaches the header without passing it.
        """
        before: dict[int, set[int]] = {}
        for number in range(len(self.lines)):
            for follower in self._following(number):
                before.setdefault(follower, set()).add(number)
        bodies: dict[int, frozenset[int]] = {}
        for source, header in _retreating(self._following):
            bodies[header] = bodies.get(header, frozenset()) | _reaching(source, header, before)
        return [bodies[header] for header in sorted(bodies)]

    @property
    def fences_in_loops(self) -> list[str]:
        """The mnemonics of the fences of the whole GPU that a thread may pass again and again, in order."""
        return [mnemonic for number in self.repeated if (mnemonic := self.lines[number].mnemonic) in GPU_FENCES]

    @cached_property
    def repeated(self) -> list[int]:
        """The numbers of the instructions from which a path leads back to them, of more than a jump to itself."""
        targets = [sorted(self._following(number)) for number in range(len(self.lines))]
        return sorted(number for loop in cycles(targets) for number in loop)

    def mma_loop(self) -> range | None:
        """Of the innermost loops of tensor instructions the shortest one that holds the most; None where no loop holds any."""
        counted = {loop: sum(self.lines[number].opcode in TENSOR for number in loop) for loop in self.loops}
        found = [loop for loop, count in counted.items() if count]
        inner = [loop for loop in found if not any(_holds(loop, other) for other in found)]
        return max(inner, key=lambda loop: (counted[loop], -len(loop)), default=None)

    def reached_from(self, *opcodes: str) -> set[str]:
        """The opcodes of what the same thread may execute after an instruction of one of these."""
        waiting = [number for number, line in enumerate(self.lines) if line.opcode in opcodes]
        seen: set[int] = set()
        while waiting:
            new = self._following(waiting.pop()) - seen
            seen |= new
            waiting.extend(new)
        return {self.lines[number].opcode for number in seen}

    def _following(self, number: int) -> set[int]:
        line = self.lines[number]
        found = {number + 1} if line.falls_through else set()
        if line.opcode in BRANCH and line.jumps_to in self.labels:
            found.add(self.labels[line.jumps_to])
        return {other for other in found if other < len(self.lines)}

    @property
    def loads_ahead(self) -> bool:
        """Whether copies are under way before the loop of products starts: some stand ahead of it, or all elsewhere.

        A kernel without such a loop has nothing to load ahead of.
        """
        loop = self.mma_loop()
        if loop is None:
            return True
        copies = [number for number, line in enumerate(self.lines) if line.opcode in ASYNC_COPY]
        return bool(copies) and any(number < loop.start or number >= loop.stop for number in copies)


def _retreating(following: Callable[[int], set[int]]) -> Iterator[tuple[int, int]]:
    """The edges of a control flow graph that lead back, of a depth-first walk from instruction 0."""
    walked, seen = [(0, iter(sorted(following(0))))], {0}
    path = {0}
    while walked:
        number, rest = walked[-1]
        follower = next(rest, None)
        if follower is None:
            walked.pop()
            path.discard(number)
        elif follower in path:
            yield number, follower
        elif follower not in seen:
            seen.add(follower)
            path.add(follower)
            walked.append((follower, iter(sorted(following(follower)))))


def _reaching(source: int, header: int, before: Mapping[int, set[int]]) -> frozenset[int]:
    found, waiting = {header}, [source]
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting.extend(before.get(number, ()))
    return frozenset(found)


def _holds(loop: range, other: range) -> bool:
    """Whether another loop is inside a loop."""
    return loop != other and loop.start <= other.start and other.stop <= loop.stop


# Of processor time: nvdisasm takes half a second to start, and one for some 100 KB.
_MIN_SECONDS, _BYTES_A_SECOND = 5, 20_000


def disassemble(cubin: bytes, *options: str) -> str:
    """nvdisasm's text with labels. Raises InvalidInput[nvdisasm] where it is not installed or refuses the cubin."""
    with scratch_folder() as folder:
        path = folder / "k.cubin"
        path.write_bytes(cubin)
        command = [_find_nvdisasm(), "-c", *options, str(path)]
        status, text, errors = _run(command, _MIN_SECONDS + len(cubin) // _BYTES_A_SECOND)
    if status:
        said = " ".join(errors.split()) or f"it ended with status {status}"
        raise InvalidInput("nvdisasm", f"nvdisasm refuses the cubin: {said}", remedy="assemble it again")
    return text


def _run(command: list[str], seconds: int) -> tuple[int, str, str]:
    """The status and the output of a program that may use so many seconds of processor time: on a damaged cubin it may never end."""
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
    """The lines of nvdisasm's text that are labels, instructions and what it says of their source, of one kernel."""
    inside = False
    for row in text.splitlines():
        if row.lstrip().startswith(".section"):
            found = _KERNEL.match(row)
            inside = found is not None and found[1] == kernel
        elif inside and _SHOWN_LINES.match(row):
            yield row.rstrip()


def _read_line(instruction: re.Match) -> Line:
    guard, mnemonic, operands = instruction.groups()
    target = _TARGET.search(operands)
    return Line(mnemonic, operands.strip(), target and target[1], guard is not None)


def cycles(targets: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The sets of more than one node of a graph that all reach each other (Kosaraju's algorithm).

    ``targets[n]``: the nodes that node n leads to.
    """
    sources: list[list[int]] = [[] for _ in targets]
    for number, following in enumerate(targets):
        for target in following:
            sources[target].append(number)
    seen: set[int] = set()
    ends = [number for start in range(len(targets)) for number in _postorder(start, targets, seen)]
    seen = set()
    for start in reversed(ends):
        if len(found := list(_postorder(start, sources, seen))) > 1:
            yield found


def _postorder(start: int, targets: Sequence[Sequence[int]], seen: set[int]) -> Iterator[int]:
    """The nodes reached from one that are not in ``seen``, which they enter, each after those that it leads to."""
    if start in seen:
        return
    seen.add(start)
    path = [(start, iter(targets[start]))]
    while path:
        number, following = path[-1]
        if (new := next((target for target in following if target not in seen), None)) is None:
            path.pop()
            yield number
        else:
            seen.add(new)
            path.append((new, iter(targets[new])))
