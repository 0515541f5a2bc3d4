"""The functions generated from one program: made on demand, and shared by all its launches."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ....core.pause_gc import gc_paused
from .. import isa
from ..errors import name_internal_errors
from ..numerics import directed_rounding, float_arithmetic, float_conversions, float_formats
from ..ptx.ast import Instruction
from ..ptx.program import Program
from ..ptx.register_uses_defs import slots_of
from . import runtime_support
from .emit_block import DTYPES, Emitter
from .function_body import FunctionBody, GeneratedFunction

if TYPE_CHECKING:
    from ..native.split_merge_thread_groups import RegisterBatch

_MODULES = isa, float_conversions, float_formats, float_arithmetic, directed_rounding, runtime_support
_NAMESPACES = *(module.NAMESPACE for module in _MODULES), DTYPES


class FunctionCache:
    """``register_template`` has the initial values of the registers, ``word_registers`` the types of those of 32 bits."""

    def __init__(self, program: Program):
        self.program = program
        self.cache: dict[tuple, GeneratedFunction] = {}
        self.codegen_seconds = 0.0  # of processor time so far
        self.constants: dict = {}
        self.namespace: dict = {}  # the globals of the functions
        for names in _NAMESPACES:
            self.namespace.update(names)
        self.convergence_cache: dict[int, bool] = {}  # by pc: ``needs_convergence``
        self.live_slots: dict[int, list[int]] = {}  # by pc: ``slots_at``
        self.register_batches: dict[tuple[int, ...], RegisterBatch] = {}  # registers that have been moved together
        used = program.used
        self.word_registers = {
            slot: np.dtype(DTYPES[register.kind]) for slot, register in used.items() if register.bits == 32
        }
        self.register_template: list[np.generic | tuple[np.generic, ...] | None] = [None] * (max(used, default=-1) + 1)
        for slot, register in used.items():
            is_wide = register.bits == 128
            self.register_template[slot] = (np.uint64(0), np.uint64(0)) if is_wide else DTYPES[register.kind](0)

    # -- functions -----------------------------------------------------------------------------------
    def function_at(self, pc: int, diverged: bool, options) -> GeneratedFunction:
        """The generated function that starts at ``pc``; if ``diverged``, it ends before each warp-wide instruction."""
        key = (pc, diverged, options)
        found = self.cache.get(key)
        return found or self.make(key, pc, diverged)

    def make(self, key: tuple, pc: int, diverged: bool) -> GeneratedFunction:
        """Generate the function of a key."""
        start = time.process_time()
        with gc_paused():
            found = self.cache[key] = self.generate(pc, diverged).function()
        self.codegen_seconds += time.process_time() - start
        return found

    def generate(self, pc: int, diverged: bool) -> FunctionBody:
        program = self.program
        leader = int(program.leader_of[pc])
        end = self.function_end(pc, program.block_end[leader], diverged)
        emitter = Emitter(self, pc, diverged)
        tail = None
        for at in range(pc, end):
            ins = program.code[at]
            emitter.ins, emitter.pc = ins, at
            tail = self.emit_instruction(emitter, ins, at)
        if tail is None:
            tail = f"return {end}"
        is_inside = end < len(program.code) and not program.ends_block(program.code[end - 1])
        live = program.lives.at(end) if is_inside else program.lives.behind[leader]
        return emitter.finish(live, tail, f"<ptx {program.entry.name}:{pc}>", end)

    def needs_convergence(self, pc: int) -> bool:
        """Whether the function at ``pc`` has a warp-wide instruction, so that a group with incomplete warps needs the ``diverged`` one."""
        found = self.convergence_cache.get(pc)
        if found is None:
            program = self.program
            end = self.function_end(pc, program.block_end[int(program.leader_of[pc])], False)
            found = self.convergence_cache[pc] = any(map(isa.is_warp_wide, program.code[pc:end]))
        return found

    def function_end(self, pc: int, end: int, diverged: bool) -> int:
        """Where to end a function so that an instruction that may have to wait for other threads starts its own."""
        together = self.program.code[pc].op in isa.CONVERGENT_GROUP_OPS
        for at in range(pc + 1, end):
            if isa.starts_function(self.program.code[at], together, diverged):
                return at
        return end

    def emit_instruction(self, emitter: Emitter, ins: Instruction, pc: int):
        """Emit one instruction; control flow returns the function's last line."""
        emitter.predicate = None
        if ins.predicate is not None:
            name = emitter.use(ins.predicate, "p")
            emitter.predicate = f"(~{name})" if ins.negated else name
            if ins.negated and ins.op not in ("bra", "ret", "exit"):
                emitter.predicate = emitter.temp(f"~{name}")
        if pc in self.program.violations:
            what = f"{emitter.constant(ins, 'ins')}, {emitter.constant(self.program.violations[pc], 'violation')}"
            emitter.line(f"report_hazard(g, {what}, {emitter.predicate})")
        with name_internal_errors(f"at line {ins.line}: {ins.text}"):
            return isa.HANDLERS[ins.op](emitter, ins)

    # -- registers and constants ---------------------------------------------------------------------
    def slots_at(self, pc: int) -> list[int]:
        """The registers that are live before an instruction, as a list of slots."""
        found = self.live_slots.get(pc)
        if found is None:
            live, used = slots_of(self.program.lives.at(pc)), self.program.used
            found = self.live_slots[pc] = [slot for slot in live if slot in used]
        return found

    def float_constant(self, emitter: Emitter, kind: str, number) -> str:
        """The name of a floating-point constant, distinguished by its bits."""
        key = ("float", kind, number.tobytes())
        name = self.constants.get(key)
        if name is None:
            name = self.constants[key] = emitter.constant(number, f"k_{kind}")
        return name


@lru_cache(maxsize=256)
def function_cache_of(program: Program) -> FunctionCache:
    """The functions of a program, shared by all its launches in this process."""
    return FunctionCache(program)
