"""Launches that rows describe, in the emulator and in the interpreter: both must leave what the reference says.

Where the compiled code does not, the interpreter tells whose fault it is. It runs the kernel as Tile IR means it: where it
agrees with the reference the compiler is wrong, where it differs too the kernel, or the reference, is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..core.errors import InternalError, InvalidInput, Location, TileirasError
from ..core.symbols.itanium_demangler import demangle
from ..core.tracing.audit_hooks import tracer
from ..frontend.kernel_case import Checked
from ..frontend.kernel_case_table import display_path
from ..ir.bytecode.reader import read_module
from ..manifest.launch_manifest import Launch, read_launch_manifest
from ..simulate import emulator
from ..simulate.interpreter import Memory, entry_names
from ..simulate.interpreter.compare_with_compiled import block_limit
from ..simulate.interpreter.tile_block_interpreter import launch as interpret
from ..simulate.interpreter.tile_block_interpreter import tile_block_ids
from .compare_arrays import ArrayMismatch, differences, flat_arrays, tolerance_used
from .estimate_settings import settings_of
from .find_references import load_references, reference_file
from .find_storing_block import Block, Element, storing_blocks
from .guarded_arrays import GuardedArguments
from .mismatch_report import DIFFERENT, MISCOMPILED, SAME_AS_INTERPRETER, UNKNOWN, mismatch_error
from .pack_parameters import pack
from .reference_launch import REMEDIES, ReferenceLaunch, make_reference_launch

OPERATION_LIMIT = 400_000  # operations of one run in the interpreter
MAX_SEPARATE_BLOCKS = 256  # that the emulator runs one after the other to see who has stored something


@dataclass(frozen=True)
class Outcome:
    """How one kernel fared: ``share`` is the largest difference from the reference over what was allowed (0: all equal),
    ``interpreter`` the same for the interpreter (None where it differs by more, or has not ended). ``settings`` are the launch's
    arguments as an estimate takes them, None where it cannot.
    """

    entry: str
    grid: tuple[int, ...]
    arrays: int
    elements: int
    share: float
    interpreter: float | None
    settings: dict[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


@dataclass(frozen=True)
class KernelUnderTest:
    """One kernel: its symbol, its module and what was compiled for ``target`` of it, and the file that it is made from."""

    entry: str
    module: Any
    compiled: Any
    target: str
    source: str

    @property
    def name(self) -> str:
        """What people call it."""
        return demangle(self.entry)

    @property
    def launch(self) -> Launch:
        """How it is launched."""
        return read_launch_manifest(self.compiled.manifest).kernels[self.entry]


def check_kernels(bytecode: bytes, compiled: Any, target: str, source: str) -> list[Outcome]:
    """One Outcome per kernel of ``bytecode`` that has a row; ``compiled`` has its ``ptx`` and ``manifest`` for ``target``.

    ``source`` is the file that the kernels are made from: Python, or a file with a Python file beside it (``rows.py``). Raises
    InvalidInput[reference-mismatch] where a kernel's algorithm does not compute its reference, InternalError
    [verify-mismatch] where the compiled code alone does not, InvalidInput[reference-launch] where the launch breaks a rule, and
    what ``rows.py`` and ``trial.py`` raise.
    """
    # What this package and its libraries read on the way is in the signature of the step.
    with tracer().untraced():
        module = read_module(bytecode, source)
        subjects = [KernelUnderTest(entry, module, compiled, target, source) for entry in entry_names(module)]
    with load_references(source, [subject.entry for subject in subjects]) as rows:
        path = reference_file(source)
        trials = {entry: make_reference_launch(row, path) for entry, row in rows.items()}
    with tracer().untraced():
        return [_check(subject, trials[subject.entry]) for subject in subjects if subject.entry in trials]


def _check(subject: KernelUnderTest, trial: ReferenceLaunch) -> Outcome:
    by_interpreter: GuardedArguments | None = None
    problem: TileirasError | None = None
    try:
        by_interpreter = _interpreted(subject, trial)
    except TileirasError as found:
        problem = found
    if problem is not None and problem.id != "too-long":
        raise _launch_error(subject, trial, problem)
    by_emulator = _emulated(subject, trial)
    wrong = _differences(trial, by_emulator)
    if wrong:
        raise _mismatch(subject, trial, wrong, by_emulator, by_interpreter)
    if beside := by_emulator.changed_guards():
        message = f"{subject.name} on {subject.target}: memory between the elements of {', '.join(beside)} has changed"
        raise InvalidInput("reference-launch", message, location=place_of(subject, trial.spec))
    agrees = by_interpreter is not None and not _differences(trial, by_interpreter)
    arrays = dict(flat_arrays(by_emulator.values))
    compared = sum(array.size for array in trial.expected.values())
    shares = _share(trial, by_interpreter) if agrees and by_interpreter else None
    settings = settings_of(subject.launch, trial.values)
    return Outcome(subject.name, trial.grid, len(arrays), compared, _share(trial, by_emulator), shares, settings)


# ---- runs
def _place(subject: KernelUnderTest, trial: ReferenceLaunch) -> tuple[GuardedArguments, list[bytes]]:
    placed = GuardedArguments(trial.values)
    try:
        return placed, pack(trial.spec, subject.launch, placed)
    except ValueError as error:
        where, remedy = place_of(subject, trial.spec), REMEDIES["reference-inputs"]
        message = f"inputs of {trial.spec.name!r}: {str(error).removeprefix(f'{trial.spec.name}: ')}"
        raise InvalidInput("reference-inputs", message, location=where, remedy=remedy) from None


def _interpreted(
    subject: KernelUnderTest, trial: ReferenceLaunch, begin: Callable | None = None, started: Callable | None = None
) -> GuardedArguments:
    """The arguments after a launch in the interpreter, block after block."""
    placed, params = _place(subject, trial)
    memory = Memory()
    placed.map_into(memory)
    if begin is not None:
        begin(dict(flat_arrays(placed.values)))

    def order():
        for block in tile_block_ids(trial.grid):
            if started is not None:
                started(block)
            yield block

    silent = lambda text: None
    interpret(
        subject.module,
        subject.entry,
        trial.grid,
        params,
        memory=memory,
        order=order(),
        output=silent,
        limit=OPERATION_LIMIT,
    )
    return placed


def _emulated(
    subject: KernelUnderTest, trial: ReferenceLaunch, begin: Callable | None = None, started: Callable | None = None
) -> GuardedArguments:
    """The arguments after a launch in the emulator; with ``started`` block after block."""
    placed, params = _place(subject, trial)
    memory = emulator.Memory()
    placed.map_into(memory)
    if begin is not None:
        begin(dict(flat_arrays(placed.values)))
    try:
        emulator.launch(
            subject.compiled, subject.entry, trial.grid, params,
            memory=memory, started=started, block_limit=block_limit(OPERATION_LIMIT),
        )  # fmt: skip
    except emulator.EmulatorError as problem:
        raise InternalError("verify-emulator", f"{subject.name} on {subject.target}: {problem}") from problem
    return placed


def _differences(trial: ReferenceLaunch, placed: GuardedArguments) -> list[ArrayMismatch]:
    return differences(trial.spec, trial.expected, trial.values, placed.values)


def _share(trial: ReferenceLaunch, placed: GuardedArguments) -> float:
    arrays = dict(flat_arrays(placed.values))
    close = trial.spec.tolerance_of
    return max(
        (tolerance_used(arrays[name], array, close(name)) for name, array in trial.expected.items()), default=0.0
    )


# ---- what is said
def _mismatch(
    subject: KernelUnderTest,
    trial: ReferenceLaunch,
    wrong: Sequence[ArrayMismatch],
    emulated: GuardedArguments,
    interpreted: GuardedArguments | None,
) -> TileirasError:
    also = _differences(trial, interpreted) if interpreted is not None else []
    blocks = _storing_blocks(subject, trial, wrong, bool(also))
    verdict = (
        MISCOMPILED
        if not also
        else SAME_AS_INTERPRETER
        if interpreted and _same(emulated, interpreted, trial)
        else DIFFERENT
    )
    if interpreted is None:
        verdict = UNKNOWN
    return mismatch_error(
        subject.name, subject.target, place_of(subject, trial.spec), wrong, blocks, verdict, trial.grid
    )


def _same(one: GuardedArguments, other: GuardedArguments, trial: ReferenceLaunch) -> bool:
    """Whether two runs have left the same numbers, within the tolerance of the row."""
    arrays = dict(flat_arrays(one.values))
    return not differences(trial.spec, arrays, one.values, other.values)


def _storing_blocks(
    subject: KernelUnderTest, trial: ReferenceLaunch, wrong: Sequence[ArrayMismatch], by_interpreter: bool
) -> dict[Element, Block] | None:
    """Which block has stored each element that will be named; None where that cannot be told."""
    elements = [(one.array, element.index) for one in wrong for element in (*one.first, one.worst, one.worst_relative)]
    run = _interpreted if by_interpreter else _emulated
    if not by_interpreter and np.prod(trial.grid) > MAX_SEPARATE_BLOCKS:
        return None
    try:
        return storing_blocks(list(dict.fromkeys(elements)), lambda begin, started: run(subject, trial, begin, started))
    except TileirasError:
        # Blocks that wait for each other do not run one after the other.
        return None


def _launch_error(subject: KernelUnderTest, trial: ReferenceLaunch, problem: TileirasError) -> TileirasError:
    if problem.id.startswith("reference-") or not isinstance(problem, InvalidInput):
        return problem
    message = f"{subject.name} cannot be launched as its row says: {problem.message}"
    where = problem.location or place_of(subject, trial.spec)
    return InvalidInput(
        "reference-launch", message, location=where, remedy="correct the kernel, its inputs or its grid"
    )


def place_of(subject: KernelUnderTest, spec: Checked) -> Location:
    """Where the kernel begins; its file where that is not known."""
    code = getattr(getattr(getattr(spec, "kernel", None), "_pyfunc", None), "__code__", None)
    if code is None:
        return Location(display_path(subject.source))
    return Location(display_path(code.co_filename), code.co_firstlineno, 1)
