"""Run the launches of references in the emulator and in the interpreter, and compare both with the reference.

If the compiled code mismatches, the interpreter shows the cause, as it executes the semantics of Tile IR: if it matches the
reference, the compiler is wrong; if it mismatches too, the kernel or the reference is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core.errors import InternalError, InvalidInput, Location, TileirasError
from ..core.symbols.itanium_demangler import demangle
from ..core.tracing.audit_hooks import tracer
from ..frontend.cases_table_from_ast import display_path
from ..frontend.kernel_case import Case, Checked
from ..frontend.tuning_space import at_point, default_point
from ..ir.bytecode.reader import read_module
from ..manifest.launch_manifest import Launch, read_launch_manifest
from ..manifest.variant_assumptions import PackedValues, choice_of
from ..simulate import emulator
from ..simulate.interpreter import Memory, entry_names
from ..simulate.interpreter.compare_with_compiled import block_limit
from ..simulate.interpreter.tile_block_interpreter import launch as interpret
from ..simulate.interpreter.tile_block_interpreter import tile_block_ids
from ..simulate.interpreter.verify_kernels import compiled_entries
from .compare_arrays import ArrayMismatch, differences, flat_arrays, tolerance_used
from .estimate_settings import settings_of
from .find_references import load_references, reference_file
from .find_storing_block import Block, Element, storing_blocks
from .guarded_arrays import GuardedArguments
from .mismatch_report import DIFFERENT, MISCOMPILED, SAME_AS_INTERPRETER, UNKNOWN, mismatch_error
from .pack_parameters import pack
from .reference_launch import REMEDIES, ReferenceLaunch, make_reference_launch

OPERATION_LIMIT = 400_000  # operations of one run in the interpreter
MAX_SEPARATE_BLOCKS = 256  # most blocks that the emulator runs one by one to find the storing block


@dataclass(frozen=True)
class Outcome:
    """The result for one kernel. ``share``: the largest error divided by its tolerance (0: all equal); ``interpreter``: the
    same for the interpreter (None if it mismatches or did not finish). ``settings``: the launch's arguments for an estimate,
    None if it cannot take them.
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
    """One kernel: its symbol, its module, the artifacts compiled for ``target``, and its source file."""

    entry: str
    module: Any
    compiled: Any
    target: str
    source: str

    @property
    def name(self) -> str:
        """The demangled name."""
        return demangle(self.entry)

    @cached_property
    def launches(self) -> dict[str, Launch]:
        """The rows of the launch manifest."""
        return read_launch_manifest(self.compiled.manifest).kernels

    @property
    def launch(self) -> Launch:
        """Its row of the launch manifest."""
        return self.launches[self.entry]

    @property
    def general(self) -> str | None:
        """The kernel whose variant it is."""
        return self.compiled.manifest.get("kernels", {}).get(self.entry, {}).get("variant_of")

    @property
    def interpreted_entry(self) -> str:
        """Its symbol in the module; of a variant that the compiler has added, the kernel's."""
        return self.entry if self.general is None or self.entry in entry_names(self.module) else self.general


def check_kernels(bytecode: bytes, compiled: Any, target: str, source: str) -> list[Outcome]:
    """One Outcome per kernel of ``bytecode`` that has a reference; ``compiled`` has ``ptx`` and ``manifest`` for ``target``.

    A variant has the reference of its kernel; it is left out where the grid or the arguments of that do not satisfy its assumptions.

    ``source`` is the kernels' source file: Python, or a file with a Python file next to it (``find_references.py``). Raises
    InvalidInput[reference-mismatch] if the kernel itself does not match its reference, InternalError[verify-mismatch] if only
    the compiled code does not, InvalidInput[reference-launch] for an invalid launch, and what ``find_references.py`` and
    ``reference_launch.py`` raise.
    """
    # The files that this package and its libraries read are part of the step's signature already.
    with tracer().untraced():
        module = read_module(bytecode, source)
        names = [*compiled_entries(module, compiled), *_added_variants(module, compiled)]
        subjects = [KernelUnderTest(entry, module, compiled, target, source) for entry in names]
    with load_references(source, [subject.entry for subject in subjects if subject.general is None]) as rows:
        path, built = reference_file(source), {subject.entry: subject for subject in subjects}
        trials = {entry: make_reference_launch(_as_built(row, built[entry]), path) for entry, row in rows.items()}
    with tracer().untraced():
        launches = [(subject, trials.get(subject.general or subject.entry)) for subject in subjects]
        return [_check(subject, trial) for subject, trial in launches if trial and _accepts(subject, trial)]


def _added_variants(module: Any, compiled: Any) -> list[str]:
    """The variants that the compiler has added to the kernels of a module."""
    entries, kernels = entry_names(module), compiled.manifest.get("kernels", {})
    return [name for name, row in kernels.items() if name not in entries and row.get("variant_of") in entries]


def _as_built(row: Checked, subject: KernelUnderTest) -> Checked:
    """The row with the constants that the kernel was compiled with, which its grid depends on."""
    tuning = subject.launch.tuning
    if not isinstance(row, Case) or row.tune is None or tuning is None:
        return row
    return at_point(row, default_point(row) | tuning.point)


def _accepts(subject: KernelUnderTest, trial: ReferenceLaunch) -> bool:
    """Whether the grid and the arguments satisfy what a variant assumes beyond its kernel."""
    if subject.general is None:
        return True
    _, params = _place(subject, trial)
    choice = choice_of(subject.entry, subject.launch, subject.launches[subject.general])
    return choice.allows(trial.grid, PackedValues(subject.launch, params))


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
    if modified := by_emulator.changed_guards():
        message = (
            f"{subject.name} on {subject.target}: out-of-bounds write: padding of {', '.join(modified)} was modified"
        )
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
    """The arguments after a launch in the interpreter, block by block."""
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
        subject.interpreted_entry,
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
    """The arguments after a launch in the emulator; block by block if ``started`` is given."""
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


# ---- errors
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
    """Whether the results of two runs match, within the reference's tolerance."""
    arrays = dict(flat_arrays(one.values))
    return not differences(trial.spec, arrays, one.values, other.values)


def _storing_blocks(
    subject: KernelUnderTest, trial: ReferenceLaunch, wrong: Sequence[ArrayMismatch], by_interpreter: bool
) -> dict[Element, Block] | None:
    """The block that stored each element that the message lists; None if it cannot be determined."""
    elements = [(one.array, element.index) for one in wrong for element in (*one.first, one.worst, one.worst_relative)]
    run = _interpreted if by_interpreter else _emulated
    if not by_interpreter and np.prod(trial.grid) > MAX_SEPARATE_BLOCKS:
        return None
    try:
        return storing_blocks(list(dict.fromkeys(elements)), lambda begin, started: run(subject, trial, begin, started))
    except TileirasError:
        # Blocks that wait for each other cannot run one by one.
        return None


def _launch_error(subject: KernelUnderTest, trial: ReferenceLaunch, problem: TileirasError) -> TileirasError:
    if problem.id.startswith("reference-") or not isinstance(problem, InvalidInput):
        return problem
    message = f"cannot launch {subject.name} with this reference: {problem.message}"
    where = problem.location or place_of(subject, trial.spec)
    return InvalidInput("reference-launch", message, location=where, remedy="fix the kernel, inputs or grid")


def place_of(subject: KernelUnderTest, spec: Checked) -> Location:
    """The location of the kernel's definition, or its file if that is unknown."""
    code = getattr(getattr(getattr(spec, "kernel", None), "_pyfunc", None), "__code__", None)
    if code is None:
        return Location(display_path(subject.source))
    return Location(display_path(code.co_filename), code.co_firstlineno, 1)
