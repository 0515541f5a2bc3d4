"""A loaded kernel: its flattened code, its variables, control flow and liveness; nothing changes after loading.

The functions reachable from an entry are laid one after another; a pc is an index into that list. Calls keep a
stack of return pcs and, since PTX functions here do not recurse, every function's registers have fixed slots.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ....core.pause_gc import gc_paused
from ..errors import EmulatorError, PtxSyntaxError, UnsupportedInstruction, name_internal_errors
from ..isa.system_calls import SYSTEM_CALLS
from ..memory.address_space import PARAM_WINDOW
from ..sanitizers import wgmma_register_hazards
from ..simt.weak_topological_order import schedule_order
from .ast import Address, Function, Instruction, Name, Register, Variable, Vector
from .parser import MAX_BYTES, parse
from .register_liveness import RegisterLiveness
from .register_types import find_kinds
from .register_uses_defs import mask, registers_read, registers_written
from .verify_instruction_forms import verify_instruction

_BARRIERS = {"bar", "barrier", "setmaxnreg"}


class Program:
    """One kernel ready to run. Attributes of use elsewhere: ``threads`` (reqntid or None), ``params``
    (Variables with offsets into the parameter block), ``shared_static``, ``local_size``."""

    def __init__(self, module, entry: str, cluster=None, text: str = ""):
        if entry not in module.functions or not module.functions[entry].entry:
            names = ", ".join(n for n, f in module.functions.items() if f.entry)
            raise EmulatorError(f"no kernel {entry!r} in this PTX; it has: {names or 'none'}")
        self.module, self.entry = module, module.functions[entry]
        self.text = text
        required = self.entry.directives.get("reqnctapercluster")
        self.explicit_cluster = required is not None or cluster is not None
        self.cluster = (*(required if required and all(required) else cluster or (1,)), 1, 1)[:3]
        # PTX ISA 9.0, section 11.8, .blocksareclusters: the launch's grid counts clusters.
        self.blocks_are_clusters = "blocksareclusters" in self.entry.directives
        self.cluster_size = self.cluster[0] * self.cluster[1] * self.cluster[2]
        self.code: list[Instruction] = []
        self.starts: dict[str, int] = {}
        self.functions = self.reachable()
        self.check_forms()
        self.lay_out_variables()
        self.flatten()
        self.find_blocks()
        self.schedule_order = schedule_order(len(self.code), self.starts.values(), self.block_end, self.successors)
        results = list(map(registers_written, self.code))
        sources = list(map(registers_read, self.code, results))
        self.used = find_kinds(self.code, sources, results)
        self.reads, self.writes = list(map(mask, sources)), list(map(mask, results))
        self.lives = RegisterLiveness(self)
        self.violations = wgmma_register_hazards.find_violations(self)
        self.synchronises = any(
            ins.op in ("atom", "red", "multimem")
            or (ins.op == "ld" and {"acquire", "volatile", "relaxed"} & set(ins.mods))
            for ins in self.code
        )
        self.cancels_launches = any(ins.op == "clusterlaunchcontrol" for ins in self.code)
        self.waits = self.synchronises or any(ins.op == "mbarrier" for ins in self.code)

    # -- layout --------------------------------------------------------------------------------------
    def reachable(self) -> list[Function]:
        order, pending = [], [self.entry]
        while pending:
            function = pending.pop(0)
            if function in order:
                continue
            order.append(function)
            for ins in function.body:
                if ins.op == "call":
                    pending += self.callees(ins)
        return order

    def callees(self, ins: Instruction) -> list[Function]:
        out = []
        for arg in ins.args:
            if isinstance(arg, Name) and arg.name not in SYSTEM_CALLS:
                function = self.module.functions.get(arg.name)
                if function is None or not function.defined:
                    raise UnsupportedInstruction(
                        f"line {ins.line}: call of {arg.name!r}, which this PTX does not define: {ins.text}"
                    )
                out.append(function)
            elif isinstance(arg, Register):
                raise UnsupportedInstruction(f"line {ins.line}: indirect calls are not supported: {ins.text}")
        return out

    def lay_out_variables(self):
        """Offsets in the parameter block, in shared and in local memory; process addresses of the other variables."""
        self.params, at = self.entry.params, 0
        self.param_ids = set(map(id, self.params))
        for variable in self.params:
            at = -(-at // variable.align) * variable.align
            variable.offset = at
            at += variable.size
        self.param_size = at
        self.shared_static = self.local_size = 0
        self.dynamic: list[Variable] = []
        self.buffers: list[tuple[Variable, np.ndarray]] = []
        for function in self.functions:
            formals = [] if function is self.entry else function.params + function.results
            for variable in function.variables + formals:
                self.place(variable)
        for variable in self.module.variables.values():
            self.place(variable)
        self.check_sizes()
        align = max([v.align for v in self.dynamic], default=1)
        self.dynamic_base = -(-self.shared_static // align) * align
        for variable in self.dynamic:
            variable.offset = self.dynamic_base
        for variable, buffer in self.buffers:
            self.relocate(variable, buffer)

    def check_sizes(self):
        """Variables that fit alone may be too many."""
        sizes = {"shared": self.shared_static, "local": self.local_size, "param": self.param_size}
        sizes["global"] = sum(len(buffer) for _, buffer in self.buffers)
        for space, size in sizes.items():
            if size > MAX_BYTES[space]:
                raise PtxSyntaxError(f"its variables take {size} bytes of .{space}, which has {MAX_BYTES[space]}")

    def place(self, variable: Variable):
        if variable.space == "shared":
            if variable.extern or variable.size == 0:
                self.dynamic.append(variable)
                return
            self.shared_static = -(-self.shared_static // variable.align) * variable.align
            variable.offset = self.shared_static
            self.shared_static += variable.size
        elif variable.space in ("local", "param"):
            align = max(variable.align, 4)
            self.local_size = -(-self.local_size // align) * align
            variable.offset = self.local_size
            self.local_size += max(variable.size, 4)
        else:
            raw = np.zeros(variable.size + 256, np.uint8)
            skip = -raw.__array_interface__["data"][0] % 256
            buffer = raw[skip : skip + max(variable.size, 1)]
            variable.offset = buffer.__array_interface__["data"][0]
            self.buffers.append((variable, buffer))

    def relocate(self, variable: Variable, buffer: np.ndarray):
        data = bytearray(variable.init or b"")
        for at, name, addend, _ in variable.relocations:
            target = self.module.variables.get(name)
            if target is None:
                raise PtxSyntaxError(f"the initialiser of {variable.name} names {name}, which is not a variable")
            data[at : at + 8] = (target.offset + addend & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")
        variable.init = bytes(data)

    def reset_variables(self, memory) -> None:
        """Give module variables their initial values and map them; every launch starts from the initialisers."""
        for variable, buffer in self.buffers:
            buffer[:] = 0
            if variable.init:
                data = np.frombuffer(variable.init[: variable.size], np.uint8)
                buffer[: len(data)] = data
            memory.map(variable.offset, max(variable.size, 1), buffer)

    def in_own_shared(self, operand) -> bool:
        """Whether a symbol's address depends on the CTA: shared variables, in clusters of several CTAs."""
        if self.cluster_size == 1:
            return False
        base = operand.base if isinstance(operand, Address) else operand
        base = (self.lookup(base) or base) if isinstance(base, Name) else base
        return isinstance(base, Variable) and base.space == "shared"

    def address_of(self, operand, ins) -> int:
        """The numeric value of a symbol used as an operand (its address within its space)."""
        extra = 0
        if isinstance(operand, Address):
            operand, extra = operand.base, operand.offset
        if isinstance(operand, Variable):
            base = PARAM_WINDOW if operand.space == "param" and id(operand) in self.param_ids else 0
            return base + operand.offset + extra
        if isinstance(operand, Name):
            if operand.name in self.module.functions:
                return list(self.module.functions).index(operand.name) + 1
            found = self.lookup(operand)
            if isinstance(found, Variable):
                return self.address_of(found, ins) + extra
        raise UnsupportedInstruction(f"line {ins.line}: unknown name {getattr(operand, 'name', operand)!r}: {ins.text}")

    @staticmethod
    def lookup(name: Name):
        scope = name.scope
        while scope is not None:
            if name.name in scope.names:
                return scope.names[name.name]
            scope = scope.parent
        return None

    # -- control flow --------------------------------------------------------------------------------
    def flatten(self):
        """Lay out all functions; give predicated barriers and calls a branch of their own."""
        fixups, self.targets = [], {}
        for function in self.functions:
            self.starts[function.name] = len(self.code)
            place = {}
            for i, ins in enumerate(function.body):
                place[i] = len(self.code)
                self.expand(ins)
            place[len(function.body)] = len(self.code)
            if not function.body or can_fall_through(function):
                self.code.append(Instruction("ret", (), [], None, False, 0, "ret"))
            fixups.append((self.starts[function.name], len(self.code), place))
        for start, end, place in fixups:
            for pc in range(start, end):
                self.resolve_branch(pc, place)

    def expand(self, ins: Instruction):
        splits = self.is_barrier(ins)
        calls = ins.op == "call"
        collective = ins.op == "tcgen05" and "sync" in ins.mods
        if (splits or calls or collective or ins.op == "trap") and ins.predicate is not None:
            skip = Instruction("bra", (), [None], ins.predicate, not ins.negated, ins.line, ins.text)
            self.code.append(skip)
            ins = Instruction(ins.op, ins.mods, ins.args, None, False, ins.line, ins.text)
            self.expand(ins)
            self.targets[id(skip)] = len(self.code)
            return
        self.code.append(ins)
        if splits and "red" in ins.mods:
            self.code.append(Instruction("_barrier_result", ins.mods, ins.args, None, False, ins.line, ins.text))
        if calls:
            self.code.append(Instruction("_call_results", ins.mods, ins.args, None, False, ins.line, ins.text))

    def resolve_branch(self, pc: int, place: dict):
        ins = self.code[pc]
        if ins.op == "bra" and id(ins) not in self.targets:
            self.targets[id(ins)] = self.label(ins.args[0], place, ins)
        elif ins.op == "brx":
            listed = ins.args[1]
            if isinstance(listed, Name):
                listed = self.lookup(listed)
            if not isinstance(listed, Vector):
                raise PtxSyntaxError(f"line {ins.line}: unknown list of labels: {ins.text}")
            self.targets[id(ins)] = [self.label(n, place, ins) for n in listed.items]

    def label(self, name, place: dict, ins) -> int:
        scope = getattr(name, "scope", None)
        while scope is not None:
            if name.name in scope.labels:
                return place[scope.labels[name.name]]
            scope = scope.parent
        raise PtxSyntaxError(f"line {ins.line}: unknown label: {ins.text}")

    def check_forms(self):
        for function in self.functions:
            for ins in function.body:
                verify_instruction(ins)

    @staticmethod
    def ends_block(ins: Instruction) -> bool:
        return ins.op in ("bra", "brx", "ret", "exit", "trap", "call") or Program.is_barrier(ins)

    def ends_at(self, pc: int) -> bool:
        """Whether threads of the kernel do nothing more at this place."""
        return self.code[pc].op in ("ret", "exit") and self.code[pc].predicate is None

    @staticmethod
    def is_barrier(ins: Instruction) -> bool:
        """Whether threads of a CTA wait (or are counted) here."""
        if ins.op == "tcgen05":
            return ins.mods[0] == "alloc"
        if ins.op not in _BARRIERS or "warp" in ins.mods:
            return False
        return "cluster" not in ins.mods or "wait" in ins.mods

    def successors(self, pc: int) -> list[int]:
        ins = self.code[pc]
        if ins.op == "bra":
            target = self.targets[id(ins)]
            return [target] if ins.predicate is None else [target, pc + 1]
        if ins.op == "brx":
            return list(self.targets[id(ins)])
        if ins.op in ("ret", "exit", "trap"):
            return [] if ins.predicate is None else [pc + 1]
        return [pc + 1]

    def find_blocks(self):
        leaders = set(self.starts.values())
        for pc, ins in enumerate(self.code):
            if self.ends_block(ins):
                leaders.update(s for s in self.successors(pc) if s < len(self.code))
                leaders.add(pc + 1)
            if ins.op == "tcgen05" and self.is_barrier(ins):
                leaders.add(pc)  # a warp that waits for columns tries again from here
        first = sorted(p for p in leaders if p < len(self.code))
        self.block_end: dict[int, int] = dict(zip(first, [*first[1:], len(self.code)]))
        starts = np.array(first)
        self.leader_of = starts[np.searchsorted(starts, np.arange(len(self.code)), "right") - 1]


def can_fall_through(function: Function) -> bool:
    """Whether threads may come to the end of a function's text."""
    last = function.body[-1]
    leaves = last.op in ("ret", "exit", "trap", "bra") and last.predicate is None
    return not leaves or function.last_label == len(function.body)


@lru_cache(maxsize=256)
def load(text: str, entry: str, cluster: tuple | None = None) -> Program:
    """Parse and load a kernel, for clusters of a shape unless it says one; the same arguments give the same Program."""
    with gc_paused(), name_internal_errors(f"while it reads kernel {entry}"):
        return Program(parse(text), entry, cluster, text)
