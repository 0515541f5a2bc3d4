"""The machine code of a kernel: instructions with their operands, what ptxas says to wait for, and basic blocks.

nvdisasm prints the text and, asked to, the 128 bits of each instruction. What those above bit 105 say of scheduling is not
in NVIDIA's documents; where the fields lie has been found by Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
Microbenchmarking" (arXiv 1804.06826), section 2.1, and has stayed so since.
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
_NO_COMMA = re.compile(r"(?<=\w) +(?=[`-])")  # between a register and what a jump adds to it, or where it starts from
_STALL, _WRITES, _READS, _WAITS = 41, 46, 49, 52  # where fields of the upper 64 bits begin
NO_BARRIER = 7


@dataclass(frozen=True)
class Control:
    """Clocks until the warp's next instruction, the scoreboards that it sets (when its result is there, when its operands
    have been read), and a bit for each of the six that it waits for.
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
    """One instruction; ``guard`` is the predicate before it, ``target`` the number of the instruction that it jumps to,
    ``table`` those that a jump to a computed place may lead to.
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
        """Without modifiers."""
        return self.mnemonic.partition(".")[0]

    @cached_property
    def modifiers(self) -> tuple[str, ...]:
        """What stands behind the opcode's points."""
        return tuple(self.mnemonic.split(".")[1:])

    @cached_property
    def sources(self) -> tuple[Operand, ...]:
        """Operands behind the result and the predicates that follow it; predicates at the end are among them."""
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
        """Its sources that are no predicates."""
        return tuple(operand for operand in self.sources if not operand.is_predicate)

    @cached_property
    def predicate_sources(self) -> tuple[Operand, ...]:
        """Its sources that are predicates."""
        return tuple(operand for operand in self.sources if operand.is_predicate)

    @cached_property
    def ends_block(self) -> bool:
        """Whether another instruction than the next one may follow."""
        return self.opcode in (*BRANCH, *CALL, *CONTROL_TRANSFERS)

    @property
    def address(self) -> int:
        """In bytes from the start of the kernel."""
        return self.number * BYTES


@dataclass(frozen=True)
class MachineCode:
    """The instructions of one kernel."""

    name: str
    instructions: tuple[Instruction, ...]

    @cached_property
    def blocks(self) -> tuple[range, ...]:
        """The instructions that are executed together, in order of their numbers."""
        starts = {0} | {one.target for one in self.instructions if one.target is not None}
        starts |= {one.number + 1 for one in self.instructions if one.ends_block}
        starts |= {target for one in self.instructions for target in one.jump_table}
        ordered = sorted(start for start in starts if start < len(self.instructions))
        return tuple(map(range, ordered, [*ordered[1:], len(self.instructions)]))

    @cached_property
    def block_at(self) -> dict[int, int]:
        """The number of the block that begins with an instruction."""
        return {block.start: number for number, block in enumerate(self.blocks)}


def read_machine_code(text: str) -> dict[str, MachineCode]:
    """The kernels of what nvdisasm prints with encodings.

    Raises InvalidInput[nvdisasm] where a jump leads to no label of its kernel, or an instruction sets a scoreboard that is none.
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
        what = f"the instruction at {number * BYTES:#x} sets scoreboard {NO_BARRIER - 1}, which no warp has"
        raise InvalidInput("nvdisasm", f"{what}: the cubin is damaged", remedy="assemble it again")
    return Instruction(number, mnemonic, read, _guard(guard), target, control, table)


def _guard(text: str | None) -> Operand | None:
    """None where the instruction is always executed."""
    guard = None if text is None else read_operand(text)
    return None if guard is None or (guard.number == TRUE and not guard.inverted) else guard


def _target(operands: tuple[Operand, ...], labels: dict[str, int]) -> int | None:
    """What a jump leads to; None where that is no place of this kernel, as for a function of another object."""
    label = next((operand.text for operand in operands if operand.kind == LABEL), None)
    return None if label is None else labels.get(label)
