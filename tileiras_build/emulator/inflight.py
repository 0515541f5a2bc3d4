"""Which registers wgmma.mma_async may still be using at each instruction (PTX ISA 9.0, sections 9.7.15.7 and 9.7.15.8).

A forward analysis over the program, once, before it runs:

- a product's D may not be read or written, its A (in registers) not be written, before a wgmma.wait_group that covers it;
- registers that other instructions have written reach a product only over a wgmma.fence.

``mov`` between registers renames: the copy is in flight, or fenced, as its source was - assemblers allocate both to one
register where they can. A state is a tuple of bit masks of register slots: written since the last fence, then D by age
(0: not committed, i: followed by i - 1 committed groups), then A by age; paths join by union.
"""

from __future__ import annotations

from collections import deque

from .parse import Immediate, Register, Vector

AGES = 9  # a wait for all but more groups than this clears nothing
_D, _A = 1, 1 + AGES
_SIZE = 1 + 2 * AGES


def find_violations(program) -> dict[int, str]:
    """What is wrong at which pc; the message names the registers."""
    if not any(ins.op == "wgmma" for ins in program.code):
        return {}
    analysis = _Analysis(program)
    analysis.run()
    return analysis.report()


def _mask(operand) -> int:
    items = operand.items if isinstance(operand, Vector) else [operand]
    out = 0
    for item in items:
        if isinstance(item, Register):
            out |= 1 << item.index
    return out


class _Analysis:
    def __init__(self, program):
        self.program = program
        self.never = max(program.used, default=0) + 1  # the bit of no register: set until the first fence
        self.entry: dict[int, tuple] = {}  # state at the start of each block

    def run(self) -> None:
        program = self.program
        start = program.starts[program.entry.name]
        self.entry[start] = (-1, *[0] * (_SIZE - 1))
        work = deque([start])
        while work:
            block = work.popleft()
            state = self.entry[block]
            for pc in range(block, program.block_end[block]):
                state = self.step(pc, state)
            for after in program.successors(program.block_end[block] - 1):
                if after in program.block_end and self.join(after, state):
                    work.append(after)

    def join(self, block: int, state: tuple) -> bool:
        old = self.entry.get(block)
        new = state if old is None else tuple(a | b for a, b in zip(old, state))
        self.entry[block] = new
        return new != old

    def report(self) -> dict[int, str]:
        out = {}
        for block, state in self.entry.items():
            for pc in range(block, self.program.block_end[block]):
                why = self.violation(pc, state)
                if why is not None:
                    out[pc] = why
                state = self.step(pc, state)
        return out

    # -- instructions --------------------------------------------------------------------------------
    def step(self, pc: int, state: tuple) -> tuple:
        ins = self.program.code[pc]
        if ins.op == "wgmma":
            return self.step_wgmma(ins, list(state))
        if is_copy(ins):
            return self.step_copy(ins, state)
        written = self.program.writes[pc]
        if not written:
            return state
        return (state[0] | written, *(mask & ~written for mask in state[1:]))

    @staticmethod
    def step_wgmma(ins, state: list) -> tuple:
        form = ins.mods[0]
        if form == "fence":
            state[0] = 0
        elif form == "commit_group":
            for first in (_D, _A):
                ages = state[first : first + AGES]
                ages[-1] |= ages[-2]
                state[first : first + AGES] = [0, *ages[:-2], ages[-1]]
        elif form == "wait_group":
            keep = ins.args[0].value
            for first in (_D, _A):
                for age in range(keep + 1, AGES):
                    state[first + age] = 0
        else:
            d, a = _mask(ins.args[0]), _mask(ins.args[1]) if isinstance(ins.args[1], Vector) else 0
            for age in range(AGES):
                state[_D + age] &= ~d
            state[_D] |= d
            state[_A] |= a
        return tuple(state)

    @staticmethod
    def step_copy(ins, state: tuple) -> tuple:
        target, source = 1 << ins.args[0].index, _mask(ins.args[1])
        keep = ins.predicate is not None
        return tuple((mask if keep else mask & ~target) | (target if mask & source else 0) for mask in state)

    # -- rules ---------------------------------------------------------------------------------------
    def violation(self, pc: int, state: tuple) -> str | None:
        ins, program = self.program.code[pc], self.program
        d, a = _union(state[_D:_A]), _union(state[_A:])
        if ins.op == "wgmma":
            if ins.mods[0] != "mma_async":
                return None
            left = _mask(ins.args[1]) if isinstance(ins.args[1], Vector) else 0
            if state[0] >> self.never & 1:
                return "no wgmma.fence before this product, on some path to it"
            unfenced = state[0] & (_mask(ins.args[0]) | left)
            if unfenced:
                return f"no wgmma.fence between writes of {self.names(unfenced)} and this product"
            return None if not left & d else f"A in {self.names(left & d)}, which a product before may still be writing"
        if is_copy(ins):
            return None
        if program.reads[pc] & d:
            return f"{self.names(program.reads[pc] & d)} read before a wgmma.wait_group for the product that writes it"
        touched = program.writes[pc] & (d | a)
        if touched:
            return f"{self.names(touched)} written before a wgmma.wait_group for the product that uses it"
        return None

    def names(self, mask: int) -> str:
        found = [register.name for slot, register in self.program.used.items() if mask >> slot & 1]
        return ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")


def _union(masks) -> int:
    out = 0
    for mask in masks:
        out |= mask
    return out


def is_copy(ins) -> bool:
    """Whether an instruction only moves a register or a constant into a register."""
    if ins.op != "mov" or not isinstance(ins.args[0], Register):
        return False
    source = ins.args[1]
    return isinstance(source, Immediate) or (isinstance(source, Register) and source.bits == ins.args[0].bits)
