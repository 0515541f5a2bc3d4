"""Parses SASS: instructions with their operands, scheduling control codes, and basic blocks.

nvdisasm prints the text and, with ``-hex``, the 128-bit encoding of each instruction. NVIDIA does not document the control
codes above bit 105; their layout is that of Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
Microbenchmarking" (arXiv 1804.06826), section 2.1, on all later architectures too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from ...core.errors import InvalidInput
from ...target.sass_listing import BRANCH
from .sass_operands import LABEL, TRUE, Operand, read_operand, read_operands

BYTES = 16  # of an instruction
CALL = ("CALL",)
INDIRECT_JUMPS = ("BRX", "BRXU", "JMX")
CONTROL_TRANSFERS = ("EXIT", "RET", "BRX", "JMX", "BRXU", "KILL", "RTT")
_KERNEL = re.compile(r"^\s*\.section\s+\.text\.([^\s,]+)")
_LABEL = re.compile(r"^(\S+):\s*$")
_LINE = re.compile(
    r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(\S+)\s+)?([A-Z]\w*(?:\.\w+)*)\s*(.*?)\s*;\s*/\*\s*0x([0-9a-f]{16})"
)
_UPPER = re.compile(r"^\s*/\*\s*0x([0-9a-f]{16})\s*\*/\s*$")
_NOTE = re.compile(r"\(\*.*?\*\)")
_TABLED = re.compile(r"\.L_\w+")
_NO_COMMA = re.compile(r"(?<=\w) +(?=[`-])")  # between a register and the offset or base of an indirect branch
_STALL, _WRITES, _READS, _WAITS = 41, 46, 49, 52  # where fields of the upper 64 bits begin
NO_BARRIER = 7


@dataclass(frozen=True)
class Control:
    """A control code: stall cycles, the scoreboards set when the result is written and when the operands are read, and a mask
    of the six scoreboards to wait for.
    """

    stall: int = 1
    writes: int = NO_BARRIER
    reads: int = NO_BARRIER
    waits: int = 0

    @classmethod
    def of(cls, upper: int) -> Control:
        """From the upper 64 bits of an instruction."""
        return cls(upper >> _STALL & 15, upper >> _WRITES & 7, upper >> _READS & 7, upper >> _WAITS & 63)


@dataclass(frozen=True)
class Instruction:
    """One instruction; ``guard`` is its predicate, ``target`` the number of the instruction that it branches to,
    ``jump_table`` the possible targets of an indirect branch.
    """

    number: int
    mnemonic: str
    operands: tuple[Operand, ...]
    guard: Operand | None = None
    target: int | None = None
    control: Control = Control()
    jump_table: tuple[int, ...] = ()

    @cached_property
    def opcode(self) -> str:
        """The mnemonic without modifiers."""
        return self.mnemonic.partition(".")[0]

    @cached_property
    def modifiers(self) -> tuple[str, ...]:
        """The modifiers: the dotted suffixes of the mnemonic."""
        return tuple(self.mnemonic.split(".")[1:])

    @cached_property
    def sources(self) -> tuple[Operand, ...]:
        """The operands after the result and its carry predicates, including trailing predicates."""
        rest = self.operands[1:]
        skipped = 0
        while (
            skipped < len(rest) and rest[skipped].is_predicate and not all(one.is_predicate for one in rest[skipped:])
        ):
            skipped += 1
        return rest[skipped:]

    @cached_property
    def carry_predicates(self) -> tuple[Operand, ...]:
        """The predicates between the result and the sources."""
        return self.operands[1 : len(self.operands) - len(self.sources)]

    @cached_property
    def words(self) -> tuple[Operand, ...]:
        """The sources that are not predicates."""
        return tuple(operand for operand in self.sources if not operand.is_predicate)

    @cached_property
    def predicate_sources(self) -> tuple[Operand, ...]:
        """The sources that are predicates."""
        return tuple(operand for operand in self.sources if operand.is_predicate)

    @cached_property
    def ends_block(self) -> bool:
        """Whether the instruction ends a basic block."""
        return self.opcode in (*BRANCH, *CALL, *CONTROL_TRANSFERS)

    @property
    def address(self) -> int:
        """Its byte offset in the kernel."""
        return self.number * BYTES


@dataclass(frozen=True)
class MachineCode:
    """The instructions of one kernel."""

    name: str
    instructions: tuple[Instruction, ...]

    @cached_property
    def blocks(self) -> tuple[range, ...]:
        """The basic blocks, as ranges of instruction indices."""
        starts = {0} | {one.target for one in self.instructions if one.target is not None}
        starts |= {one.number + 1 for one in self.instructions if one.ends_block}
        starts |= {target for one in self.instructions for target in one.jump_table}
        ordered = sorted(start for start in starts if start < len(self.instructions))
        return tuple(map(range, ordered, [*ordered[1:], len(self.instructions)]))

    @cached_property
    def block_at(self) -> dict[int, int]:
        """The number of the basic block that starts at an instruction."""
        return {block.start: number for number, block in enumerate(self.blocks)}


def read_machine_code(text: str) -> dict[str, MachineCode]:
    """The kernels in nvdisasm's output with encodings.

    Raises InvalidInput[nvdisasm] if encodings are missing or an instruction sets an invalid scoreboard.
    """
    sections: dict[str, list[str]] = {}
    rows: list[str] = []
    for row in text.splitlines():
        if section := _KERNEL.match(row):
            rows = sections.setdefault(section[1], [])
        rows.append(row)
    return {name: MachineCode(name, _instructions(rows)) for name, rows in sections.items()}


def _instructions(rows: list[str]) -> tuple[Instruction, ...]:
    labels: dict[str, int] = {}
    lines: list[re.Match] = []
    uppers: list[int] = []
    for row in rows:
        if label := _LABEL.match(row):
            labels[label[1]] = len(lines)
        elif line := _LINE.match(row):
            lines.append(line)
        elif upper := _UPPER.match(row):
            uppers.append(int(upper[1], 16))
    if len(uppers) != len(lines):
        raise InvalidInput("nvdisasm", f"nvdisasm printed {len(lines)} instructions and {len(uppers)} encodings")
    return tuple(
        _instruction(n, line, upper, labels) for n, (line, upper) in enumerate(zip(lines, uppers, strict=True))
    )


def _instruction(number: int, line: re.Match, upper: int, labels: dict[str, int]) -> Instruction:
    _, guard, mnemonic, operands, _ = line.groups()
    read = read_operands(_NO_COMMA.sub(", ", _NOTE.sub("", operands)))
    opcode = mnemonic.partition(".")[0]
    target = _target(read, labels) if opcode in (*BRANCH, *CALL) else None
    table = (
        tuple(labels[name] for name in _TABLED.findall(operands) if name in labels) if opcode in INDIRECT_JUMPS else ()
    )
    control = Control.of(upper)
    if NO_BARRIER - 1 in (control.writes, control.reads):
        what = f"instruction at {number * BYTES:#x} sets invalid scoreboard {NO_BARRIER - 1}"
        raise InvalidInput("nvdisasm", f"{what}: damaged cubin", remedy="reassemble it")
    return Instruction(number, mnemonic, read, _guard(guard), target, control, table)


def _guard(text: str | None) -> Operand | None:
    """The guard predicate; None if the instruction is unconditional."""
    guard = None if text is None else read_operand(text)
    return None if guard is None or (guard.number == TRUE and not guard.inverted) else guard


def _target(operands: tuple[Operand, ...], labels: dict[str, int]) -> int | None:
    """The target of a branch; None if it is outside this kernel, as for a call of another function."""
    label = next((operand.text for operand in operands if operand.kind == LABEL), None)
    return None if label is None else labels.get(label)
