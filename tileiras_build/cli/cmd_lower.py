"""``tileiras-build lower``: files of any stage, and kernel files in Python and C++, to a later stage for some targets."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from ..config.build_options import CHECKS, DEFAULTS, project_values, yes_no
from ..core.errors import Diagnostics, ErrorGroup, InternalError, InvalidInput, Location, TileirasError
from ..core.file_io import read_file, write_files
from ..pipeline.job import Job, check_debug
from ..pipeline.stages import STAGES, Stage, between, find
from ..pipeline.tuning_parameters import BY_NAME, parse_tuning
from ..target.targets import Target, parse_targets, target_of_options

_STDOUT = "-"
PYTHON, TILECPP = ".py", ".cu"


@dataclass(frozen=True)
class Source:
    """One input of the command: an artifact of ``stage``; ``stem`` is what its outputs are named for."""

    stage: Stage
    data: bytes
    stem: str


@dataclass(frozen=True)
class Goal:
    """What is made: ``work`` is the function that makes it, ``name`` the stage or pass that it is asked for."""

    work: str
    name: str
    suffix: str


# What the command line does not say the project says: options of builds, and what they are called here.
_PROJECT_OPTIONS = {"lineinfo": "lineinfo", "debug": "device_debug"} | {
    name: name for name in ("sm", "opt", "strategy", "serializer", "ptxas", "libdevice", "nvcc", "nvcc_flags", *BY_NAME)
}


def lower_files(options: argparse.Namespace) -> None:
    """Write the goal's file of every kernel for every target; of what fails the errors come together, at the end."""
    _apply_project_defaults(options)
    goal, targets = _goal(options), _targets(options)
    jobs = [_job(options, target) for target in targets]
    made: dict[tuple[str, Target], dict[str, bytes]] = {}
    faults = Diagnostics()
    for job, sources in zip(jobs, _sources_for(options, targets)):
        for source in sources:
            try:
                made[source.stem, job.target] = _lower(options, source, goal, job)
            except TileirasError as error:
                for one in getattr(error, "errors", [error]):
                    faults.add(one)
    if made:
        _write(options, goal.suffix, made, len(jobs) > 1)
    faults.raise_if_any()


def _apply_project_defaults(options: argparse.Namespace) -> None:
    """Let each option that is not given be the project's, or the one that a build has. A target has to be named."""
    given = project_values(_PROJECT_OPTIONS)
    if options.sm is None and options.compute_capability is None:
        options.sm = given.get("sm")
    for name, here in _PROJECT_OPTIONS.items():
        if here != "sm" and getattr(options, here) is None:
            text = given.get(name, DEFAULTS[name])
            setattr(options, here, yes_no(name, text) if CHECKS[name] is yes_no else text)


def _goal(options: argparse.Namespace) -> Goal:
    source = STAGES[0] if _is_kernel_file(options.file) else stage_of_file(options.file)
    if options.until is not None:
        return Goal("tileiras_build.driver:lower_until", options.until, ".mlir")
    stage = find(options.to)
    between(source.name, stage.name)
    return Goal("tileiras_build.driver:lower", stage.name, stage.suffix)


def _targets(options: argparse.Namespace) -> list[Target]:
    if options.sm is not None and options.compute_capability is None and ("," in options.sm or "all" in options.sm):
        return parse_targets(options.sm)
    return [target_of_options(options.sm, options.compute_capability)]


def _job(options: argparse.Namespace, target: Target) -> Job:
    from ..target.isa.serializer_options import read_level

    level, lines, debug = read_level(options.opt), options.lineinfo, options.device_debug
    files = (options.libdevice or None, options.ptxas or None)
    job = Job(target, level, lines, debug, *files, options.serializer, options.strategy)
    return check_debug(job.with_tuning(parse_tuning(vars(options))))


def _lower(options: argparse.Namespace, source: Source, goal: Goal, job: Job) -> dict[str, bytes]:
    from ..workers.executor.forked_executor import ForkedExecutor
    from ..workers.executor.in_process_executor import InProcessExecutor

    executor = InProcessExecutor() if options.in_process else ForkedExecutor()
    arguments = (source.data, source.stage.name, goal.name, job, options.file)
    try:
        return executor.run(goal.work, *arguments, timeout=options.timeout)
    except TileirasError as error:
        if error.id == "worker-timeout":
            raise _timeout_error(goal.suffix, options) from None
        raise _blame_file(error, source.stage, options.file) from error


# ---- what is read
def _is_kernel_file(path: str) -> bool:
    return Path(path).suffix in (PYTHON, TILECPP)


def _sources_for(options: argparse.Namespace, targets: list[Target]) -> Iterator[list[Source]]:
    """The inputs for each target: C++ is compiled for each, all else is the same for all."""
    if Path(options.file).suffix == TILECPP:
        yield from (list(_sources(options, target)) for target in targets)
    else:
        yield from repeat(list(_sources(options, targets[0])), len(targets))


def _sources(options: argparse.Namespace, target: Target) -> Iterator[Source]:
    path = options.file
    if not _is_kernel_file(path):
        yield Source(stage_of_file(path), read_file(path), Path(path).stem)
        return
    read_file(path)
    for name, data in export_kernels(options, target).items():
        yield Source(STAGES[0], data, name)


def export_kernels(options: argparse.Namespace, target: Target, root: str | None = None) -> dict[str, bytes]:
    """The bytecode of the kernels of a Python file by name, or of a CUDA Tile C++ file, for ``target``, by its stem."""
    if Path(options.file).suffix == TILECPP:
        made, stem = _compile_tilecpp(options, target, root or os.curdir), Path(options.file).stem
        if not options.kernel:
            return {stem: made}
        from ..frontend.tilecpp.kernel_symbols import select_named

        return select_named(made, options.kernel, stem, options.file, target.name)
    from ..core.user_tmp import tempdir_in_scratch
    from ..frontend.export_cutile import export_kernels as export

    with tempdir_in_scratch():
        return export(options.file, options.kernel, source_root=root)


def _compile_tilecpp(options: argparse.Namespace, target: Target, root: str) -> bytes:
    from ..frontend.tilecpp.compile_and_check import compile_checked
    from ..frontend.tilecpp.nvcc_flags import split_flags
    from ..frontend.tilecpp.run_nvcc import BYTECODE, Request
    from ..workers.executor.traced_call import run_traced

    root = os.path.realpath(root)
    path = os.path.relpath(options.file, root)
    flags, kernels = split_flags(options.nvcc_flags), tuple(options.instantiate)
    nvcc = os.path.abspath(options.nvcc) if options.nvcc else None
    request = Request(path, target.number, nvcc, flags, kernels)
    made = run_traced(lambda: compile_checked(request, root), options.file, root)
    for remark in made.remarks:
        print(remark, file=sys.stderr)
    return made.files[BYTECODE]


# ---- what is written
def _write(
    options: argparse.Namespace, suffix: str, made: dict[tuple[str, Target], dict[str, bytes]], named: bool
) -> None:
    """Several files go into a folder, and where they are for several targets their names say for which."""
    if len(made) == 1 and not named:
        ((stem, _), files) = next(iter(made.items()))
        _write_one(options, suffix, files, stem)
        return
    if options.output == _STDOUT:
        message = f"{options.file} gives {len(made)} files, and standard output takes one"
        raise InvalidInput("output-not-single", message, remedy="name a folder with -o, or one kernel and one target")
    folder = Path(options.output or Path(options.file).parent)
    stems = {(stem, target): f"{stem}.{target.name}" if named else stem for stem, target in made}
    write_files({folder / f"{stems[key]}{end}": data for key, files in made.items() for end, data in files.items()})


def _write_one(options: argparse.Namespace, suffix: str, files: dict[str, bytes], stem: str) -> None:
    if options.output == _STDOUT:
        sys.stdout.buffer.write(files[suffix])
        return
    output = Path(options.output or Path(options.file).with_name(f"{stem}{suffix}"))
    write_files({output if ending == suffix else output.with_suffix(ending): files[ending] for ending in files})


# ---- what is said
def _timeout_error(suffix: str, options: argparse.Namespace) -> InvalidInput:
    return InvalidInput(
        "timeout",
        f"no {suffix} after {options.timeout:g} seconds",
        location=Location(options.file),
        remedy="give it longer with --timeout SECONDS, or without that option any time",
    )


# Faults that say where they showed, not what is wrong with the text.
_TEXT_FAULT_IDS = ("stage-failed", "pass-failed", "pass-illegal-op", "ir-invalid", "worker-died")


def _blame_file(error: TileirasError, source: Stage, path: str) -> TileirasError:
    """A stage's text is ours, so a fault in it is internal; but here the text is a file that the user gave.

    Bytecode is verified in full, so what fails after that is our fault. Text is checked by the verifiers of its
    operations, which do not know all that passes promise each other, and that LLVM takes for granted.
    """
    if isinstance(error, ErrorGroup):
        return ErrorGroup([_blame_file(one, source, path) for one in error.errors])
    if source is STAGES[0] or not isinstance(error, InternalError) or getattr(error, "from_outside", False):
        return error
    if error.id not in _TEXT_FAULT_IDS:
        return InvalidInput(error.id, error.message, location=error.location or Location(path))
    message = f"this is not {source.suffix} as the compiler writes it: {error.message}"
    remedy = "lower its .tilebc again; where nobody changed the file, report it as a fault of tileiras_build"
    return InvalidInput(f"{source.name}-text", message, location=Location(path), remedy=remedy)


def stage_of_file(path: str) -> Stage:
    """The stage that the suffix of ``path`` names; raises InvalidInput for a suffix of no stage."""
    for stage in STAGES:
        if stage.suffix == Path(path).suffix:
            return stage
    valid = ", ".join(stage.suffix for stage in STAGES)
    # A missing file or a directory is said first: a wrong suffix would only distract.
    read_file(path)
    raise InvalidInput(
        "file-suffix",
        f"the suffix {Path(path).suffix!r} names no stage",
        location=Location(path),
        remedy=f"files end in one of {valid}",
    )
