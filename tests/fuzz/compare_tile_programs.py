"""Run one random program in the interpreter and, compiled, in the emulator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

import tileiras_build
from tests.fuzz.grid_programs import GRID_STEPS, random_grid_program
from tests.fuzz.tile_program_builder import ENTRY, Program, SeededChoices
from tests.fuzz.tile_programs import LATER_STEPS, STEPS, random_program
from tileiras_build.core.errors import InternalError, Unsupported
from tileiras_build.ir.bytecode import read_module
from tileiras_build.pipeline.pipelining_strategies import NAMES
from tileiras_build.pipeline.tuning_parameters import TUNING
from tileiras_build.simulate import emulator
from tileiras_build.simulate.interpreter.compare_with_compiled import ExpectedMemory, run_compiled
from tileiras_build.simulate.interpreter.derive_inputs import Inputs

# Kinds of programs: what makes one of choices (``every_value=True``: with every value stored).
KINDS = {
    "first": partial(random_program, steps=STEPS),
    "later": partial(random_program, steps=LATER_STEPS),
    "grid": partial(random_grid_program, steps=GRID_STEPS),
}


@dataclass(frozen=True)
class Way:
    """How a program is compiled."""

    opt_level: int
    strategy: str = "auto"
    tuning: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        options = self.tuning if self.strategy == "auto" else {"strategy": self.strategy, **self.tuning}
        return " ".join([f"O{self.opt_level}", *(f"{name}={value}" for name, value in options.items())])


WAYS = (Way(0), Way(3))


def tuned_way(seed: int) -> Way:
    """A way that a seed makes up; a target that cannot refuses it."""
    choose = random.Random(f"{seed} tuned")
    tuning = {row.name: choose.choice(row.values) for row in TUNING if choose.random() < 0.5}
    return Way(choose.choice((1, 2, 3, 3)), choose.choice((*NAMES, "auto", "auto")), tuning)


@dataclass(frozen=True)
class Outcome:
    """What became of a program on a target: "agrees", "differs", "refused" (unsupported) or "fails" (an error)."""

    kind: str
    target: str
    way: Way
    detail: str = ""

    def with_culprit(self, culprit: str) -> Outcome:
        return replace(self, detail=f"{self.detail}; first wrong: {culprit}")

    def __str__(self) -> str:
        return f"{self.target} {self.way} {self.kind} {self.detail}".strip()


def compare_program(
    program: Program, seed: int, targets: Sequence[str], ways: Sequence[Way] = WAYS, races: bool = False
) -> list[Outcome]:
    """The outcome on each target in each way. ``races``: of accesses, too, that nothing orders."""
    bytecode = program.bytecode()
    inputs = program.inputs(seed)
    expected = ExpectedMemory(read_module(bytecode), ENTRY, inputs, seed)
    return [_compare(bytecode, inputs, expected, target, way, races) for target in targets for way in ways]


def _compare(bytecode: bytes, inputs: Inputs, expected: ExpectedMemory, target: str, way: Way, races: bool) -> Outcome:
    try:
        wrong = expected.compare(_run(bytecode, inputs, target, way, races))
    except Unsupported as refusal:
        return Outcome("refused", target, way, str(refusal))
    except (InternalError, emulator.EmulatorError) as problem:
        return Outcome("fails", target, way, f"{type(problem).__name__}: {problem}")
    return Outcome("differs" if wrong else "agrees", target, way, "; ".join(map(str, wrong)))


def _run(bytecode: bytes, inputs: Inputs, target: str, way: Way, races: bool) -> list[np.ndarray]:
    """What compiled code leaves in each buffer."""
    artifacts = tileiras_build.compile(
        bytecode, target, opt_level=way.opt_level, strategy=way.strategy, stop_at="ptx", **way.tuning
    )
    memory = emulator.Memory()
    for buffer in inputs.buffers:
        memory.map(buffer.address, buffer.bytes.size, buffer.bytes)
    checks = {"check_races": True, "cta_racecheck": True} if races else {}
    return run_compiled(
        inputs, lambda: emulator.launch(artifacts, ENTRY, inputs.grid, inputs.params, memory=memory, **checks)
    )


def find_culprit(seed: int, target: str, way: Way, kind: str = "first") -> str:
    """The first operation of a seeded program whose result is wrong when every result is stored."""
    program = KINDS[kind](SeededChoices(seed), every_value=True)
    bytecode, inputs = program.bytecode(), program.inputs(seed)
    expected = ExpectedMemory(read_module(bytecode), ENTRY, inputs, seed)
    wrong = expected.compare(_run(bytecode, inputs, target, way, races=False))
    if not wrong:
        return "none when every value is stored"
    op = program.stored.get(wrong[0].parameter)
    return f"{describe(op)}: {wrong[0]}" if op is not None else str(wrong[0])


def describe(op) -> str:
    """An operation in short: name, attributes, types."""
    shown = [f"{name}={value}".replace("#cuda_tile.", "") for name, value in op.properties.items()]
    types = [str(value.type).removeprefix("!cuda_tile.") for value in (*op.operands, *op.results)]
    return f"{op.name.removeprefix('cuda_tile.')} {' '.join(shown)} {' '.join(types)}"
