"""Run one random program in the interpreter and, compiled, in the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import tileiras_build
from tests.fuzz.programs import ENTRY, STEPS, Program, SeededChoices, random_program
from tileiras_build.bytecode import read_module
from tileiras_build.errors import InternalError, Unsupported
from tileiras_build.interpreter.verify import Expectation, emulate

OPT_LEVELS = (0, 3)


@dataclass(frozen=True)
class Outcome:
    """What became of a program on a target: "agrees", "differs", "refused" (unsupported) or "fails" (an error)."""

    kind: str
    target: str
    opt_level: int
    detail: str = ""

    def with_culprit(self, culprit: str) -> Outcome:
        return replace(self, detail=f"{self.detail}; first wrong: {culprit}")

    def __str__(self) -> str:
        return f"{self.target} O{self.opt_level} {self.kind} {self.detail}".strip()


def compare_program(program: Program, seed: int, targets: Sequence[str]) -> list[Outcome]:
    """The outcome on each target at each optimization level."""
    bytecode = program.bytecode()
    inputs = program.inputs(seed)
    expected = Expectation(read_module(bytecode), ENTRY, inputs, seed)
    return [_compare(bytecode, inputs, expected, target, level) for target in targets for level in OPT_LEVELS]


def _compare(bytecode: bytes, inputs, expected: Expectation, target: str, level: int) -> Outcome:
    try:
        artifacts = tileiras_build.compile(bytecode, target, opt_level=level, stop_at="ptx")
        wrong = expected.compare(emulate(artifacts, ENTRY, inputs))
    except Unsupported as refusal:
        return Outcome("refused", target, level, str(refusal))
    except (InternalError, tileiras_build.emulator.EmulatorError) as problem:
        return Outcome("fails", target, level, f"{type(problem).__name__}: {problem}")
    return Outcome("differs" if wrong else "agrees", target, level, "; ".join(map(str, wrong)))


def find_culprit(seed: int, target: str, level: int, steps: Sequence = STEPS) -> str:
    """The first operation of a seeded program whose result is wrong when every result is stored."""
    program = random_program(SeededChoices(seed), steps, every_value=True)
    bytecode, inputs = program.bytecode(), program.inputs(seed)
    expected = Expectation(read_module(bytecode), ENTRY, inputs, seed)
    artifacts = tileiras_build.compile(bytecode, target, opt_level=level, stop_at="ptx")
    wrong = expected.compare(emulate(artifacts, ENTRY, inputs))
    if not wrong:
        return "none when every value is stored"
    op = program.stored.get(wrong[0].parameter)
    return f"{describe(op)}: {wrong[0]}" if op is not None else str(wrong[0])


def describe(op) -> str:
    """An operation in short: name, attributes, types."""
    shown = [f"{name}={value}".replace("#cuda_tile.", "") for name, value in op.properties.items()]
    types = [str(value.type).removeprefix("!cuda_tile.") for value in (*op.operands, *op.results)]
    return f"{op.name.removeprefix('cuda_tile.')} {' '.join(shown)} {' '.join(types)}"
