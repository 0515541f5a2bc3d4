"""Fuses runs of elementwise lines of a generated function into calls of native code (``vector_vm.py``).

The emitter writes one line of NumPy per instruction. For small tiles, the overhead of a NumPy call dominates. Consecutive
lines whose operations are all in ``vector_vm.VECTOR_OPS`` become one call of a ``FusedRun``. The run falls back to the lines
themselves in a process that has not computed enough, for values of another type or of few threads, and for strips that native
code cannot compute exactly. The results are bitwise those of NumPy.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

import numpy as np

from ..jit import vector_vm
from ..jit.elementwise_f32 import OPERATIONS
from ..jit.llvm_jit import address, addresses, identities
from ..simt.broadcasting import is_any
from .delete_dead_variables import VARIABLE, delete_dead_variables
from .lower_to_vector_vm import KINDS, NotVectorizableError, VectorProgram

MIN_SAVED_PASSES = 12  # passes of NumPy over the elements that a run must save
PASSES_OF_COMPOUND = 3  # at least; of an operation in _COMPOUND_OPS
_COMPOUND_OPS = frozenset({*OPERATIONS, "flush", "select"} - {"add", "sub", "mul"})
MIN_ELEMENTS = 32  # elements of a value from which native code is faster
_TARGET = re.compile(r"([rt]\d+(?:_[suf]\d+)?) = (.*)$")
_REGISTER = re.compile(r"r\d+$")
_STORE = re.compile(r"site_\d+\.store\(g, \w+, \[[^\]]*\]\)$")  # to a register of addresses, by all threads
_CAST = re.compile(r"\.(?:astype|view)\((f32|u32|s32|u16)\)$")
_HALF = re.compile(r"(?:lower|upper)_half\(")


# -- runs --------------------------------------------------------------------------------------------
class FusedRun:
    """Fused lines of a function. Called with the group and the values of ``inputs``; returns those of ``outputs``, which later lines read."""

    def __init__(self, program: VectorProgram, lines: list[str], outputs: list[str], space: dict[str, object]):
        self.lines, self.outputs, self.space = lines, outputs, space
        self.inputs = [name for name, value in program.inputs.items() if value.number not in program.constants]
        self.dtypes = [np.dtype(KINDS[program.inputs[name].kind]) for name in self.inputs]
        self.kinds = identities(self.dtypes)
        self.work = len(program.operations)
        self.numpy_function: Callable[..., tuple] | None = None
        self.assign_slots(program)

    def assign_slots(self, program: VectorProgram) -> None:
        """Assign slots to inputs, constants, results that are outputs (by kind), and temporaries, which reuse slots."""
        wanted = [program.variables[name] for name in self.outputs]
        kinds = {number: _result_kind(name) for name, number, _ in program.operations}
        places: dict[int, int] = {}
        for value in program.inputs.values():
            if value.number not in program.constants:
                places[value.number] = len(places)
        self.constant_values = list(program.constants.values())
        self.constants = [np.full(vector_vm.STRIP_ELEMENTS, value) for value in self.constant_values]
        for number in program.constants:
            places[number] = len(places)
        self.results: list[tuple[type[np.generic], np.ndarray]] = []  # by kind: dtype, indices of the outputs
        for kind, dtype in KINDS.items():
            some = list(dict.fromkeys(value.number for value in wanted if kinds.get(value.number) == kind))
            self.results += [(dtype, np.arange(len(some)))] if some else []
            for number in some:
                places[number] = len(places)
        first, count = len(places), self.reuse_slots(program, places)
        is_long = any(kind == "u64" and places[number] >= first for number, kind in kinds.items())
        self.slot_words = (2 if is_long else 1) * vector_vm.STRIP_ELEMENTS  # words
        self.slot_offsets = np.arange(count) * (4 * self.slot_words)  # byte offsets
        self.program = np.array(
            [[vector_vm.OPCODES[name], places[out], *_padded([places[i] for i in ins])] for name, out, ins in program.operations], np.int64
        )  # fmt: skip
        self.input_count = len(self.inputs) + len(self.constants)
        sizes = [dtype.itemsize * vector_vm.STRIP_ELEMENTS for dtype in self.dtypes] + [0] * len(self.constants)
        sizes += [
            np.dtype(dtype).itemsize * vector_vm.STRIP_ELEMENTS for dtype, indices in self.results for _ in indices
        ]
        self.steps = np.array(sizes + [0] * len(self.slot_offsets), np.int64)
        self.bases = np.zeros(len(self.steps), np.int64)  # addresses of the constants, which do not move
        self.bases[len(self.inputs) : self.input_count] = list(map(address, self.constants))
        self.wanted = [(places[value.number], KINDS[value.kind]) for value in wanted]
        result_dtypes = [dtype for dtype, indices in self.results for _ in indices]
        # The result that an output equals, or None for an input or a view of another kind (``output_value``).
        self.direct_outputs = [
            number - self.input_count
            if number >= self.input_count and result_dtypes[number - self.input_count] == dtype
            else None
            for number, dtype in self.wanted
        ]

    @staticmethod
    def reuse_slots(program: VectorProgram, places: dict[int, int]) -> int:
        """Assign slots to temporaries, reusing those of dead results; returns the number of slots."""
        last = {number: at for at, (_, _, operands) in enumerate(program.operations) for number in operands}
        free: list[int] = []
        held: set[int] = set()
        first, count = len(places), 0
        for at, (_, out, operands) in enumerate(program.operations):
            if out not in places:
                if not free:
                    free.append(first + count)
                    count += 1
                places[out] = free.pop()
                held.add(out)
            for number in {*operands, out} & held:
                if last.get(number, at) == at:  # an unused result frees its slot at once
                    free.append(places[number])
                    held.discard(number)
        return count

    def __call__(self, group, *values) -> Sequence:
        shape, size = group.shape, group.size
        if size < MIN_ELEMENTS or size % vector_vm.LANES or not vector_vm.is_profitable(self.work * size):
            return self.run_lines(*values)
        found = self.input_addresses(values, shape)
        if found is None:
            return self.run_lines(*values)
        bases, steps, keep = found
        results: list[np.ndarray] = []
        first = self.input_count
        for dtype, indices in self.results:
            result = np.empty((len(indices), *shape), dtype)
            bases[first : first + len(indices)] = address(result) + indices * (size * result.itemsize)
            results.extend(result)
            first += len(indices)
        slot_words = np.empty((len(self.slot_offsets), self.slot_words), np.uint32)
        bases[first:] = address(slot_words) + self.slot_offsets
        bad = vector_vm.run(self.program, bases, steps, size)
        out = [
            self.output_value(*wanted, values, results) if number is None else results[number]
            for number, wanted in zip(self.direct_outputs, self.wanted)
        ]
        del keep, slot_words
        return self.recompute_bad_strips(out, values, bad, shape) if is_any(bad) else out

    def input_addresses(
        self, values: tuple, shape: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None:
        """(addresses of all values, steps, arrays to keep alive during the run); None if the lines must run instead."""
        bases, steps, keep = self.bases.copy(), self.steps, []
        if (missing := addresses(values, self.kinds, shape, bases)) == len(values):
            return None  # no value varies between threads, so NumPy is faster
        for i in np.flatnonzero(bases[: len(values)] == 0).tolist() if missing else ():
            value = values[i]
            if value.dtype != self.dtypes[i]:
                return None
            if value.ndim:
                value = np.ascontiguousarray(np.broadcast_to(value, shape))
                bases[i] = address(value)
            else:
                steps = steps.copy() if steps is self.steps else steps
                steps[i], (value, bases[i]) = 0, broadcast_strip(value)
            keep.append(value)
        return bases, steps, keep

    def output_value(self, number: int, dtype: type[np.generic], values: Sequence, found: list[np.ndarray]):
        """An output: an input or a result, viewed as the kind of its variable."""
        if number < self.input_count:
            value = [*values, *self.constant_values][number]
        else:
            value = found[number - self.input_count]
        return value if value.dtype == dtype else value.view(dtype)

    def recompute_bad_strips(self, out: list, values: Sequence, bad: np.ndarray, shape: tuple[int, int]) -> Sequence:
        """The outputs, with bad strips recomputed by the lines."""
        if 2 * np.count_nonzero(bad) > len(bad):
            return self.run_lines(*values)
        some = np.flatnonzero(np.repeat(bad, vector_vm.STRIP_ELEMENTS)[: shape[0] * shape[1]])
        picked = [np.broadcast_to(value, shape).reshape(-1)[some] if value.ndim else value for value in values]
        for output, recomputed, (number, _) in zip(out, self.run_lines(*picked), self.wanted):
            if number >= self.input_count:
                output.reshape(-1)[some] = recomputed
        return out

    def run_lines(self, *values) -> Sequence:
        """The outputs as computed by the lines."""
        if self.numpy_function is None:
            body = delete_dead_variables([*self.lines, f"return {', '.join(self.outputs)},"])
            source = "\n    ".join([f"def run({', '.join(self.inputs)}):", *body])
            scope: dict[str, Callable[..., tuple]] = {}
            exec(compile(source, "<run>", "exec"), self.space, scope)  # source generated by the emitter
            self.numpy_function = scope["run"]
        return self.numpy_function(*values)


def broadcast_strip(value: np.generic) -> tuple[np.ndarray, int]:
    """(a strip filled with a value, its address); cached, because most runs use the same few values."""
    key = value.dtype, value.tobytes()
    found = _broadcast_strips.get(key)
    if found is None:
        if len(_broadcast_strips) >= MAX_CACHED_STRIPS:
            _broadcast_strips.clear()
        strip = np.full(vector_vm.STRIP_ELEMENTS, value)
        found = _broadcast_strips[key] = strip, address(strip)
    return found


MAX_CACHED_STRIPS = 1 << 10  # 1 MiB
_broadcast_strips: dict[tuple[np.dtype, bytes], tuple[np.ndarray, int]] = {}


def _padded(indices: list[int]) -> list[int]:
    return [*indices, *[0] * (vector_vm.RECORD_WORDS - 2 - len(indices))]


_RESULTS = {"float": "f32", "i32": "u32", "i16": "u16", "i8": "p", "i64": "u64"}


def _result_kind(name: str) -> str:
    return _RESULTS[vector_vm.VECTOR_OPS[name].result]


def numpy_pass_count(program: VectorProgram) -> int:
    """How many passes over the elements NumPy would take for a program."""
    return sum(PASSES_OF_COMPOUND if name in _COMPOUND_OPS else 1 for name, _, _ in program.operations)


# -- functions ---------------------------------------------------------------------------------------
class Fuser:
    """Replaces runs of lines of one function by calls. ``kinds``: the kinds of registers' variables."""

    def __init__(self, kinds: dict[str, str], space: dict[str, object], name: Callable[[FusedRun], str]):
        self.registers, self.space, self.name = kinds, space, name
        self.kinds: dict[str, str] = {}  # of variables before the current line

    def fuse(self, lines: list[str], origin: list[int]) -> tuple[list[str], list[int]]:
        """The lines, and the pc of each, after fusing runs."""
        used = [set(VARIABLE.findall(line)) for line in lines]
        out: list[str] = []
        pcs: list[int] = []
        at = 0
        while at < len(lines):
            program, end, stores = self.longest_run(lines, at, used)
            if numpy_pass_count(program) < MIN_SAVED_PASSES:
                end = max(end, at + 1)
                for line in lines[at:end]:
                    self.record_kinds(line, program)
                out, pcs = out + lines[at:end], pcs + origin[at:end]
            else:
                mine = [number for number in range(at, end) if number not in stores]
                later = [*stores, *range(end, len(lines))]
                out.append(self.emit_call(program, lines, mine, later, used))
                pcs.append(origin[at])
                out, pcs = out + [lines[number] for number in stores], pcs + [origin[number] for number in stores]
            at = end
        return out, pcs

    def longest_run(self, lines: list[str], at: int, used: list[set[str]]) -> tuple[VectorProgram, int, list[int]]:
        """(the program of the longest run from line ``at`` on, the line after it, the stores within it).

        These stores move behind the run, so no later line of the run may assign a variable that they read.
        """
        program, end = VectorProgram(self.kinds, self.space), at
        stores: list[int] = []
        held: set[str] = set()
        for number in range(at, len(lines)):
            if _STORE.match(lines[number]) and number > at:
                stores.append(number)
                held |= used[number]
            elif lines[number].partition(" = ")[0] in held or not self.add(program, lines[number]):
                break
            else:
                end = number + 1
        return program, end, [number for number in stores if number < end]

    def add(self, program: VectorProgram, line: str) -> bool:
        """Add a line to a program; False if it has no vector operation."""
        found = _TARGET.match(line)
        if found is None:
            return False
        name, text = found.groups()
        kind = self.kind_of(name)
        inputs_before, count = dict(program.inputs), len(program.operations)
        if VARIABLE.fullmatch(text) and kind is not None and text not in program.variables and text not in self.kinds:
            self.kinds[text] = kind  # a copy has the kind of its source
        try:
            value = program.value(ast.parse(text, mode="eval").body)
        except NotVectorizableError:
            program.inputs = inputs_before
            del program.operations[count:]
            return False
        program.variables[name] = value
        return True

    def kind_of(self, name: str) -> str | None:
        """The kind of a variable, if the vector VM supports it."""
        kind = self.registers.get(name) if _REGISTER.match(name) else name.partition("_")[2]
        return kind if kind in KINDS else None

    def record_kinds(self, line: str, program: VectorProgram) -> None:
        """Record the kinds of the variables that a line assigns."""
        targets, _, text = line.rpartition(" = ")
        cast = _CAST.search(text)
        for name in VARIABLE.findall(targets):
            found = program.variables.get(name)
            kind = found.kind if found is not None else self.kind_of(name) or (cast[1] if cast else None)
            kind = "u32" if kind is None and _HALF.match(text) else kind
            self.kinds.pop(name, None)
            if kind is not None:
                self.kinds[name] = kind

    def emit_call(
        self, program: VectorProgram, lines: list[str], mine: list[int], later: list[int], used: list[set[str]]
    ) -> str:
        """The call that replaces lines ``mine``; lines ``later`` follow it."""
        outputs = [name for name in program.variables if self.is_live_in(name, lines, later, used)]
        for name, value in program.variables.items():
            self.kinds[name] = value.kind
        run = FusedRun(program, [lines[number] for number in mine], outputs, self.space)
        arguments = ", ".join(["g", *run.inputs])
        targets = ", ".join(outputs) + ("," if len(outputs) == 1 else "")
        return f"{targets} = {self.name(run)}({arguments})" if outputs else "pass"

    @staticmethod
    def is_live_in(name: str, lines: list[str], later: list[int], used: list[set[str]]) -> bool:
        """Whether lines ``later`` read a variable before they assign it."""
        for number in later:
            if name in used[number]:
                found = _TARGET.match(lines[number])
                return found is None or found[1] != name or name in VARIABLE.findall(found[2])
        return False
