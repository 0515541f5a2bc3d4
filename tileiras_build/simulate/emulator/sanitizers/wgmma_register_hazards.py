"""Register hazards of wgmma.mma_async (PTX ISA 9.0, sections 9.7.15.7 and 9.7.15.8).

A forward dataflow analysis, run once before execution, checks two rules:

- Before a wgmma.wait_group that covers an MMA, its D must not be read or written, and its A (in registers) must not be
  written. Exception: the ISA orders MMAs of the same shape with the same D.
- A wgmma.fence must separate an MMA from earlier writes of its registers, and from earlier reads of its D.

``mov`` between registers is treated as a rename: the copy is in flight, or fenced, like its source, because ptxas coalesces
the two registers if it can. A ``mov`` to a register in flight is a rename only if its source is in flight; otherwise it is a
write.

The state is a tuple of bit masks of register slots: written since the last fence, read since the last fence, D by age (0: not
committed, i: followed by i - 1 committed groups), A by age, then D by MMA shape. States of joining paths are united.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ..ptx.ast import Immediate, Register, Vector

UNFENCED = "wgmma-not-fenced"
MAX_PENDING_GROUPS = 9  # older groups share the last age; a wait_group that leaves more groups pending has no effect
_WRITTEN, _READ, _D = 0, 1, 2
_A = _D + MAX_PENDING_GROUPS
_SHAPES = _A + MAX_PENDING_GROUPS


@dataclass(frozen=True)
class Violation:
    """A message that names the registers; ``finding``: its name in ``finding_severities.py``, or None for a fault."""

    why: str
    finding: str | None = None


def find_violations(program) -> dict[int, Violation]:
    """The violations of a program by pc."""
    if not any(ins.op == "wgmma" for ins in program.code):
        return {}
    analysis = _HazardAnalysis(program)
    analysis.run()
    return analysis.report()


def _mask(operand) -> int:
    items = operand.items if isinstance(operand, Vector) else [operand]
    out = 0
    for item in items:
        if isinstance(item, Register):
            out |= 1 << item.index
    return out


class _HazardAnalysis:
    def __init__(self, program):
        self.program = program
        self.no_fence_bit = max(program.used, default=0) + 1  # set in _WRITTEN until the first fence
        self.entry: dict[int, tuple] = {}  # state at the start of each block
        shapes = {wgmma_shape(ins) for ins in program.code if is_wgmma_mma(ins)}
        self.shapes = {shape: _SHAPES + i for i, shape in enumerate(sorted(shapes))}

    def run(self) -> None:
        program = self.program
        start = program.starts[program.entry.name]
        self.entry[start] = (-1, *[0] * (_SHAPES - 1 + len(self.shapes)))
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
        new = state if old is None else _merge_states(old, state)
        self.entry[block] = new
        return new != old

    def report(self) -> dict[int, Violation]:
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
            after = self.step_wgmma(ins, list(state))
            return after if ins.predicate is None else _merge_states(state, after)
        if is_register_move(ins):
            return self.step_copy(ins, state)
        read, written = self.program.reads[pc], self.program.writes[pc]
        if not read and not written:
            return state
        return (state[_WRITTEN] | written, state[_READ] | read, *(mask & ~written for mask in state[_D:]))

    def step_wgmma(self, ins, state: list) -> tuple:
        form = ins.mods[0]
        if form == "fence":
            state[_WRITTEN] = state[_READ] = 0
        elif form == "commit_group":
            for first in (_D, _A):
                ages = state[first : first + MAX_PENDING_GROUPS]
                ages[-1] |= ages[-2]
                state[first : first + MAX_PENDING_GROUPS] = [0, *ages[:-2], ages[-1]]
        elif form == "wait_group":
            keep = ins.args[0].value
            for first in (_D, _A):
                for age in range(keep + 1, MAX_PENDING_GROUPS):
                    state[first + age] = 0
        else:
            d, a = _mask(ins.args[0]), _mask(ins.args[1]) if isinstance(ins.args[1], Vector) else 0
            for at in (*range(_D, _A), *self.shapes.values()):
                state[at] &= ~d
            state[_D] |= d
            state[_A] |= a
            state[self.shapes[wgmma_shape(ins)]] |= d
        return tuple(state)

    @staticmethod
    def step_copy(ins, state: tuple) -> tuple:
        target, source = 1 << ins.args[0].index, _mask(ins.args[1])
        keep = ins.predicate is not None
        after = [(mask if keep else mask & ~target) | (target if mask & source else 0) for mask in state]
        if isinstance(ins.args[1], Immediate):
            after[_WRITTEN] |= target
        return tuple(after)

    # -- rules ---------------------------------------------------------------------------------------
    def violation(self, pc: int, state: tuple) -> Violation | None:
        ins = self.program.code[pc]
        if is_wgmma_mma(ins):
            return self.violation_of_wgmma(ins, state)
        if ins.op == "wgmma":
            return None
        d, a = _union(state[_D:_A]), _union(state[_A:_SHAPES])
        read, touched = self.program.reads[pc] & d, self.program.writes[pc] & (d | a)
        if is_register_move(ins):
            read, touched = 0, 0 if _mask(ins.args[1]) & (d | a) else touched
        if read:
            return Violation(f"{self.names(read)} read before a wgmma.wait_group for the MMA that writes it")
        if touched:
            return Violation(f"{self.names(touched)} written before a wgmma.wait_group for the MMA that uses it")
        return None

    def violation_of_wgmma(self, ins, state: tuple) -> Violation | None:
        target, left = _mask(ins.args[0]), _mask(ins.args[1]) if isinstance(ins.args[1], Vector) else 0
        d, a = _union(state[_D:_A]), _union(state[_A:_SHAPES])
        if state[_WRITTEN] >> self.no_fence_bit & 1:
            return Violation("no wgmma.fence before this MMA on some path to it")
        if unfenced := state[_WRITTEN] & (target | left):
            return Violation(f"no wgmma.fence between writes of {self.names(unfenced)} and this MMA", UNFENCED)
        if unfenced := state[_READ] & target:
            why = f"no wgmma.fence between reads of {self.names(unfenced)} and this MMA, which writes it"
            return Violation(why, UNFENCED)
        if left & d:
            return Violation(f"A in {self.names(left & d)}, which an earlier MMA may still be writing")
        if target & a:
            return Violation(f"D in {self.names(target & a)}, which an earlier MMA may still be reading as A")
        shape = wgmma_shape(ins)
        others = d & target & _union(state[at] for other, at in self.shapes.items() if other != shape)
        why = f"D in {self.names(others)}, which an MMA of another shape may still be writing"
        return Violation(why) if others else None

    def names(self, mask: int) -> str:
        found = [register.name for slot, register in self.program.used.items() if mask >> slot & 1]
        return ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")


def _union(masks) -> int:
    out = 0
    for mask in masks:
        out |= mask
    return out


def _merge_states(one: tuple, other: tuple) -> tuple:
    return tuple(a | b for a, b in zip(one, other))


def is_wgmma_mma(ins) -> bool:
    return ins.op == "wgmma" and ins.mods[0] == "mma_async"


def wgmma_shape(ins) -> str:
    """The shape of an MMA, e.g. m64n128k16."""
    return next((mod for mod in ins.mods if mod.startswith("m64n")), "")


def is_register_move(ins) -> bool:
    """Whether an instruction only copies a register or an immediate into a register."""
    if ins.op != "mov" or not isinstance(ins.args[0], Register):
        return False
    source = ins.args[1]
    return isinstance(source, Immediate) or (isinstance(source, Register) and source.bits == ins.args[0].bits)
