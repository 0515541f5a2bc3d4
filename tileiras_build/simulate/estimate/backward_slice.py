"""The backward slice of control flow and addresses: the instructions that must be evaluated; the others are only counted.

A register is needed before an instruction if a later instruction of the slice reads it. Needed registers propagate backwards
through the control flow graph to a fixed point, like liveness (Aho, Lam, Sethi and Ullman, "Compilers", section 9.2.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .memory_transactions import read_predicate
from .sass_operands import MEMORY, PREDICATE, PROGRAM_COUNTER, REGISTER, TRUE, UNIFORM, UNIFORM_PREDICATE, ZERO, Operand
from .sass_parser import Instruction, MachineCode

# The first bit of each kind of register in a register set.
_BASES = {REGISTER: 0, UNIFORM: 256, PREDICATE: 512, UNIFORM_PREDICATE: 520, PROGRAM_COUNTER: 528}
_NOWHERE = {REGISTER: ZERO, UNIFORM: ZERO, PREDICATE: TRUE, UNIFORM_PREDICATE: TRUE}
# Opcodes without a result operand.
_NO_RESULT = (
    "ST", "STG", "STS", "STL", "STSM", "RED", "REDG", "REDAS", "BRA", "EXIT", "BAR", "MEMBAR", "BSSY", "BSYNC", "LDGSTS",
    "NOP", "RET", "BRX", "DEPBAR", "ARRIVES", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UBLKCP", "UBLKRED", "UTCHMMA",
    "UTCQMMA", "UTCIMMA", "UTCOMMA", "UTCBAR", "UTCCP", "STTM", "CCTL", "WARPSYNC", "CALL", "STAS", "BPT", "FENCE",
)  # fmt: skip
_VOTES = ("VOTE", "VOTEU")  # the last operand is the source
_PREDICATE_RESULTS = ("ISETP", "FSETP", "DSETP", "HSETP2", "PLOP3", "FCHK", "SYNCS", "USETMAXREG", "R2P", "ELECT")
_BARRIER_OPERAND = ("UTMALDG", "UBLKCP")  # the register after the shared memory address is the mbarrier
_WIDE = frozenset({"WIDE", "HI", "64", "U64", "S64"})
_SIZES = {"64": 2, "128": 4, "256": 8}
_PAIRS = frozenset({"FADD2", "FMUL2", "FFMA2"})  # of 32-bit elements, in two registers
_WORDS_OF_SHAPE = {"16dp128bit": 2, "16dp256bit": 4}  # of a thread in tensor memory; other shapes have one


def _bit(operand: Operand, further: int = 0) -> int:
    base = _BASES.get(operand.kind)
    if base is None or operand.number == _NOWHERE.get(operand.kind):
        return 0
    return 1 << base + operand.number + further


def results_of(one: Instruction) -> tuple[Operand, ...]:
    """The operands that an instruction writes."""
    name = one.opcode.removeprefix("U")
    if one.opcode in _NO_RESULT or not one.operands:
        return ()
    if one.opcode in _VOTES:
        return one.operands[:-1]
    leading = 0
    while leading < len(one.operands) and one.operands[leading].is_predicate:
        leading += 1
    if name in _PREDICATE_RESULTS:
        return one.operands[: min(leading, 2)]
    if leading:
        return one.operands[: leading + 1]
    return (one.operands[0], *(() if one.predicate_sources == one.operands[1:] else one.carry_predicates))


def written(one: Instruction) -> int:
    """The registers that an instruction writes, as a bit set."""
    if one.opcode == "R2P":
        return sum(1 << _BASES[PREDICATE] + number for number in range(7))
    found = 0
    for operand in results_of(one):
        for further in range(width_of(one) if operand.is_register else 1):
            found |= _bit(operand, further)
    return found


def width_of(one: Instruction) -> int:
    """The number of registers of each result."""
    if one.opcode in _PAIRS:
        return 2
    if one.opcode == "LDTM":
        return tensor_memory_words(one)
    if (one.opcode == "CS2R" and "32" not in one.modifiers) or "WIDE" in one.modifiers:
        return 2
    return next((count for size, count in _SIZES.items() if size in one.modifiers), 1)


def tensor_memory_words(one: Instruction) -> int:
    """The 32-bit words of each thread that LDTM and STTM move."""
    repeats = next((int(modifier[1:]) for modifier in one.modifiers if modifier[:1] == "x"), 1)
    return repeats * next((words for shape, words in _WORDS_OF_SHAPE.items() if shape in one.modifiers), 1)


def read(one: Instruction) -> int:
    """The registers that an instruction reads, including its guard, as a bit set."""
    found = _bit(one.guard) if one.guard else 0
    if one.opcode == "P2R":
        found |= sum(1 << _BASES[PREDICATE] + number for number in range(7))
    wide = bool(_WIDE & set(one.modifiers)) or one.opcode in (*_BARRIER_OPERAND, *_PAIRS)
    results = results_of(one)
    for operand in one.operands[0 if one.opcode in _NO_RESULT else len(results) :]:
        found |= _reads(operand, wide)
    return found


def _reads(operand: Operand, wide: bool) -> int:
    found = _bit(operand) | (_bit(operand, 1) if wide and operand.is_register else 0)
    for part in (*operand.parts, *((operand.bank,) if operand.bank else ())):
        found |= _reads(part, wide or "64" in part.selected)
    return found


def addresses(one: Instruction) -> int:
    """The registers of memory operands' addresses, the guard, and ``read_predicate``, as a bit set."""
    found = predicates(one)
    for operand in one.operands:
        if operand.kind == MEMORY:
            found |= _reads(operand, False)
    return found


def predicates(one: Instruction) -> int:
    """The guard, and the ``read_predicate``, as a bit set."""
    return sum(_bit(operand) for operand in {one.guard, read_predicate(one)} if operand is not None)


def coordinate_count(one: Instruction) -> int:
    """The coordinates of a copy of a tensor's tile by TMA; 0 of other instructions."""
    return int(one.modifiers[0][0]) if one.opcode == "UTMALDG" else 0


def coordinates(one: Instruction) -> int:
    """The registers of the coordinates of a copy by TMA, after those of its addresses, and of its tensor map, as a bit set."""
    if not (count := coordinate_count(one)):
        return 0
    base, tensor_map = one.operands[0].parts[0], one.operands[1].parts[0]
    return sum(_bit(base, 2 + axis) for axis in range(count)) | _bit(tensor_map, 0)


def backward_slice(code: MachineCode, wanted: Callable[[Instruction], int]) -> frozenset[int]:
    """The indices of the instructions in the slice; ``wanted`` returns the registers that each instruction needs as a root."""
    blocks = [_Block(code, block, wanted) for block in code.blocks]
    leads = [list(_next_blocks(code, number)) for number in range(len(blocks))]
    needed = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(blocks))):
            after = 0
            for target in leads[number]:
                after |= needed[target]
            before = blocks[number].before(after)
            changed |= before != needed[number]
            needed[number] = before
    return frozenset(one for block in blocks for one in block.followed)


class _Block:
    """One basic block of the data-flow analysis."""

    def __init__(self, code: MachineCode, block: range, wanted: Callable[[Instruction], int]):
        self.transfer_functions = [
            (code.instructions[n], *_slice_rules(code.instructions[n], wanted)) for n in reversed(block)
        ]
        self.followed: set[int] = set()

    def before(self, needed: int) -> int:
        """The registers needed before the block, from those ``needed`` after it."""
        for one, writes, reads, roots in self.transfer_functions:
            if writes & needed:
                self.followed.add(one.number)
                # A predicated write leaves the other lanes' values needed.
                needed = (needed if one.guard else needed & ~writes) | reads
            needed |= roots
        return needed


def _slice_rules(one: Instruction, wanted: Callable[[Instruction], int]) -> tuple[int, int, int]:
    return written(one), read(one), wanted(one)


def _next_blocks(code: MachineCode, number: int) -> Iterator[int]:
    block = code.blocks[number]
    last = code.instructions[block[-1]]
    targets = [last.target] if last.target is not None else list(last.jump_table)
    if last.opcode == "RET":
        targets = [one.number + 1 for one in code.instructions if one.opcode == "CALL"]
    goes_on = not last.ends_block or last.guard is not None or last.opcode == "CALL" or _is_conditional(last)
    targets += [block[-1] + 1] if goes_on else []
    yield from (code.block_at[target] for target in targets if target in code.block_at)


def _is_conditional(one: Instruction) -> bool:
    """Whether a branch has a condition operand, as in ``BRA P0, …`` and ``BRA.U UP0, …``."""
    return one.target is not None and any(operand.is_predicate for operand in one.operands)
