"""Runs of element-by-element lines of a generated function, carried out together by machine code (``vector_vm.py``).

The emitter writes a line of NumPy for each instruction, and a tile of a register for each thread is often as small as what a
call of NumPy costs. Lines that follow each other, and whose expressions are all of rows of ``strips.ROWS``, become one call of a
``Run``. It has the lines as well: a process that has not computed enough, values of another type or of few threads, and the
strips that machine code could not do are theirs. So what a run makes are NumPy's bits.
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
from .lower_expressions import KINDS, NotVectorizableError, VectorProgram

MIN_SAVED_PASSES = 12  # passes of NumPy over its numbers that a run has to save
PASSES_OF_COMPOUND = 3  # passes, or more, that NumPy takes for these
_COMPOUND_OPS = frozenset({*OPERATIONS, "flush", "select"} - {"add", "sub", "mul"})
MIN_ELEMENTS = 32  # elements of a value for which machine code pays
_TARGET = re.compile(r"([rt]\d+(?:_[suf]\d+)?) = (.*)$")
_REGISTER = re.compile(r"r\d+$")
_STORE = re.compile(r"site_\d+\.store\(g, \w+, \[[^\]]*\]\)$")  # of a register of addresses, by all threads
_CAST = re.compile(r"\.(?:astype|view)\((f32|u32|s32|u16)\)$")
_HALF = re.compile(r"(?:lower|upper)_half\(")


# -- runs --------------------------------------------------------------------------------------------
class FusedRun:
    """Lines of a function that ``outputs`` of are used later: called with the group and the values of ``inputs``."""

    def __init__(self, program: VectorProgram, lines: list[str], outputs: list[str], space: dict[str, object]):
        self.lines, self.outputs, self.space = lines, outputs, space
        self.inputs = [name for name, value in program.inputs.items() if value.number not in program.constants]
        self.dtypes = [np.dtype(KINDS[program.inputs[name].kind]) for name in self.inputs]
        self.kinds = identities(self.dtypes)
        self.work = len(program.operations)
        self.by_lines: Callable[..., tuple] | None = None
        self.renumber(program)

    def renumber(self, program: VectorProgram) -> None:
        """Number the values anew: inputs, constants, results that are outputs by kind, others, which share room."""
        wanted = [program.variables[name] for name in self.outputs]
        kinds = {number: _result_kind(name) for name, number, _ in program.operations}
        places: dict[int, int] = {}
        for value in program.inputs.values():
            if value.number not in program.constants:
                places[value.number] = len(places)
        self.numbers = list(program.constants.values())
        self.constants = [np.full(vector_vm.STRIP_ELEMENTS, number) for number in self.numbers]
        for number in program.constants:
            places[number] = len(places)
        self.results: list[tuple[type[np.generic], np.ndarray]] = []  # of each kind their numbers from 0 on
        for kind, dtype in KINDS.items():
            some = list(dict.fromkeys(value.number for value in wanted if kinds.get(value.number) == kind))
            self.results += [(dtype, np.arange(len(some)))] if some else []
            for number in some:
                places[number] = len(places)
        first, count = len(places), self.reuse_slots(program, places)
        is_long = any(kind == "u64" and places[number] >= first for number, kind in kinds.items())
        self.slot_words = (2 if is_long else 1) * vector_vm.STRIP_ELEMENTS  # words
        self.slot_offsets = np.arange(count) * (4 * self.slot_words)  # where each begins
        self.program = np.array(
            [[vector_vm.OPCODES[name], places[out], *_three([places[i] for i in ins])] for name, out, ins in program.operations], np.int64
        )  # fmt: skip
        self.input_count = len(self.inputs) + len(self.constants)
        sizes = [dtype.itemsize * vector_vm.STRIP_ELEMENTS for dtype in self.dtypes] + [0] * len(self.constants)
        sizes += [
            np.dtype(dtype).itemsize * vector_vm.STRIP_ELEMENTS for dtype, numbers in self.results for _ in numbers
        ]
        self.steps = np.array(sizes + [0] * len(self.slot_offsets), np.int64)
        self.bases = np.zeros(len(self.steps), np.int64)  # of constants, which stay where they are
        self.bases[len(self.inputs) : self.input_count] = list(map(address, self.constants))
        self.wanted = [(places[value.number], KINDS[value.kind]) for value in wanted]
        made = [dtype for dtype, numbers in self.results for _ in numbers]
        self.as_made = [
            number - self.input_count
            if number >= self.input_count and made[number - self.input_count] == dtype
            else None
            for number, dtype in self.wanted
        ]  # the result that an output is, or None where it has to be looked at

    @staticmethod
    def reuse_slots(program: VectorProgram, places: dict[int, int]) -> int:
        """Give results that nobody wants later the numbers of rooms, of which there are so many."""
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
                if last.get(number, at) == at:  # a result that nobody reads is free at once
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
        for dtype, numbers in self.results:
            result = np.empty((len(numbers), *shape), dtype)
            bases[first : first + len(numbers)] = address(result) + numbers * (size * result.itemsize)
            results.extend(result)
            first += len(numbers)
        slot_words = np.empty((len(self.slot_offsets), self.slot_words), np.uint32)
        bases[first:] = address(slot_words) + self.slot_offsets
        bad = vector_vm.run(self.program, bases, steps, size)
        out = [
            self.output_value(*wanted, values, results) if number is None else results[number]
            for number, wanted in zip(self.as_made, self.wanted)
        ]
        del keep, slot_words
        return self.recompute_bad_strips(out, values, bad, shape) if is_any(bad) else out

    def input_addresses(
        self, values: tuple, shape: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None:
        """(addresses of all values, steps, arrays to be kept until they have been used); None where the lines have to be run."""
        bases, steps, keep = self.bases.copy(), self.steps, []
        if (none := addresses(values, self.kinds, shape, bases)) == len(values):
            return None  # a value for each thread is what machine code is for
        for i in np.flatnonzero(bases[: len(values)] == 0).tolist() if none else ():
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
        """A wanted value: an input or a result, as the kind of its variable."""
        if number < self.input_count:
            value = [*values, *self.numbers][number]
        else:
            value = found[number - self.input_count]
        return value if value.dtype == dtype else value.view(dtype)

    def recompute_bad_strips(self, out: list, values: Sequence, bad: np.ndarray, shape: tuple[int, int]) -> Sequence:
        """The outputs, those of bad strips by the lines."""
        if 2 * np.count_nonzero(bad) > len(bad):
            return self.run_lines(*values)
        some = np.flatnonzero(np.repeat(bad, vector_vm.STRIP_ELEMENTS)[: shape[0] * shape[1]])
        picked = [np.broadcast_to(value, shape).reshape(-1)[some] if value.ndim else value for value in values]
        for mine, theirs, (number, _) in zip(out, self.run_lines(*picked), self.wanted):
            if number >= self.input_count:
                mine.reshape(-1)[some] = theirs
        return out

    def run_lines(self, *values) -> Sequence:
        """The outputs by the lines."""
        if self.by_lines is None:
            body = delete_dead_variables([*self.lines, f"return {', '.join(self.outputs)},"])
            source = "\n    ".join([f"def run({', '.join(self.inputs)}):", *body])
            scope: dict[str, Callable[..., tuple]] = {}
            exec(compile(source, "<run>", "exec"), self.space, scope)  # the text is the emitter's own
            self.by_lines = scope["run"]
        return self.by_lines(*values)


def broadcast_strip(value: np.generic) -> tuple[np.ndarray, int]:
    """A strip of a number, and where it begins: the same numbers come again and again."""
    key = value.dtype, value.tobytes()
    found = _broadcast_strips.get(key)
    if found is None:
        if len(_broadcast_strips) >= MAX_CACHED_STRIPS:
            _broadcast_strips.clear()
        strip = np.full(vector_vm.STRIP_ELEMENTS, value)
        found = _broadcast_strips[key] = strip, address(strip)
    return found


MAX_CACHED_STRIPS = 1 << 10  # a MiB
_broadcast_strips: dict[tuple[np.dtype, bytes], tuple[np.ndarray, int]] = {}


def _three(numbers: list[int]) -> list[int]:
    return [*numbers, *[0] * (vector_vm.RECORD_WORDS - 2 - len(numbers))]


_RESULTS = {"float": "f32", "i32": "u32", "i16": "u16", "i8": "p", "i64": "u64"}


def _result_kind(name: str) -> str:
    return _RESULTS[vector_vm.VECTOR_OPS[name].result]


def numpy_pass_count(program: VectorProgram) -> int:
    """How many times NumPy would go through the numbers of a program."""
    return sum(PASSES_OF_COMPOUND if name in _COMPOUND_OPS else 1 for name, _, _ in program.operations)


# -- functions ---------------------------------------------------------------------------------------
class Fuser:
    """Finds the runs among the lines of one function, and writes calls for them. ``kinds``: those of registers' variables."""

    def __init__(self, kinds: dict[str, str], space: dict[str, object], name: Callable[[FusedRun], str]):
        self.registers, self.space, self.name = kinds, space, name
        self.kinds: dict[str, str] = {}  # of variables before the line that is looked at

    def fuse(self, lines: list[str], origin: list[int]) -> tuple[list[str], list[int]]:
        """The lines, and the pc of each, with runs replaced."""
        used = [set(VARIABLE.findall(line)) for line in lines]
        out: list[str] = []
        pcs: list[int] = []
        at = 0
        while at < len(lines):
            program, end, stores = self.longest_run(lines, at, used)
            if numpy_pass_count(program) < MIN_SAVED_PASSES:
                end = max(end, at + 1)
                for line in lines[at:end]:
                    self.note_kinds(line, program)
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
        """The program of as many lines as have one from number ``at`` on, the number of the line after them, and those of stores
        between them that can as well come after them: none of the lines behind gives a variable of theirs another value."""
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
        """Add a line to a program, if it can be."""
        found = _TARGET.match(line)
        if found is None:
            return False
        name, text = found.groups()
        kind = self.kind_of(name)
        inputs_before, count = dict(program.inputs), len(program.operations)
        if VARIABLE.fullmatch(text) and kind is not None and text not in program.variables and text not in self.kinds:
            self.kinds[text] = kind  # a copy: they are of one kind
        try:
            value = program.value(ast.parse(text, mode="eval").body)
        except NotVectorizableError:
            program.inputs = inputs_before
            del program.operations[count:]
            return False
        program.variables[name] = value
        return True

    def kind_of(self, name: str) -> str | None:
        """The kind of a register's variable, if it is one of ours."""
        kind = self.registers.get(name) if _REGISTER.match(name) else name.partition("_")[2]
        return kind if kind in KINDS else None

    def note_kinds(self, line: str, program: VectorProgram) -> None:
        """Know the kinds of what a line assigns."""
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
        """The call for the lines with some numbers, which others come after."""
        outputs = [name for name in program.variables if self.is_live_in(name, lines, later, used)]
        for name, value in program.variables.items():
            self.kinds[name] = value.kind
        run = FusedRun(program, [lines[number] for number in mine], outputs, self.space)
        arguments = ", ".join(["g", *run.inputs])
        targets = ", ".join(outputs) + ("," if len(outputs) == 1 else "")
        return f"{targets} = {self.name(run)}({arguments})" if outputs else "pass"

    @staticmethod
    def is_live_in(name: str, lines: list[str], later: list[int], used: list[set[str]]) -> bool:
        """Whether a variable is read in the lines with these numbers before it is assigned anew."""
        for number in later:
            if name in used[number]:
                found = _TARGET.match(lines[number])
                return found is None or found[1] != name or name in VARIABLE.findall(found[2])
        return False
