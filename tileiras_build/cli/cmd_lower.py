"""``tileiras-build lower FILE --to STAGE``: compile files of any stage, cuTile Python or CUDA Tile C++ to a later stage."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from ..config.build_options import CHECKS, DEFAULTS, project_values, yes_no, yes_no_or_nothing
from ..core.errors import Diagnostics, ErrorGroup, InternalError, InvalidInput, Location, TileirasError
from ..core.file_io import read_file, write_files
from ..core.warning_classes import ALL, NONE, REMARKED, WARNINGS, WarningOptions, parse_warnings
from ..driver import SCHEDULED
from ..pipeline.job import LLVM_PIPELINES, SERIALIZERS, Job, check_debug
from ..pipeline.pipelining_strategies import AUTO
from ..pipeline.schedule.schedule_file import with_file_name
from ..pipeline.stages import STAGES, Stage, between, find, stage_of_file
from ..pipeline.tuning_parameters import BY_NAME, parse_tuning
from ..target.targets import Target, is_native, parse_targets, target_of_options
from .cmd_export import PYTHON, TILECPP, export_and_list_reads, export_kernels
from .command_options import (
    LIBDEVICE_HELP,
    add_compute_capability,
    add_json,
    add_nvcc,
    add_opt_level,
    add_schedule,
    add_tuning,
    positive_seconds,
    schedule_of,
)

_STDOUT = "-"
_SASS = "sass"
_LOWER, _EXPLAIN = "tileiras_build.driver:lower", "tileiras_build.driver:explain_schedule"
_ERROR = "error"  # -Werror
_SHOWN = 6  # names of files in one line


@dataclass(frozen=True)
class Source:
    """One input of the command: an artifact of ``stage``; its outputs are named after ``stem``."""

    stage: Stage
    data: bytes
    stem: str


@dataclass(frozen=True)
class Goal:
    """The output: ``function`` compiles a source to it, ``name`` is the requested stage or pass."""

    function: str
    name: str
    suffix: str


_CHOICES = ("opt", "strategy", "serializer", "llvm_pipeline")
# Build options whose value in pyproject.toml is the default here, and their names in this command.
_PROJECT_OPTIONS = {"lineinfo": "lineinfo", "debug": "device_debug"} | {
    name: name for name in ("sm", *_CHOICES, "ptxas", "libdevice", "nvcc", "nvcc_flags", *BY_NAME)
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``lower``."""
    suffixes = ", ".join(stage.suffix for stage in STAGES[:-1])
    what = f"input; the suffix selects the stage ({suffixes}), or .py (cuTile Python) or .cu (CUDA Tile C++)"
    parser.add_argument("file", metavar="FILE", help=what)
    _add_goal(parser)
    _add_code_options(parser)
    how = parser.add_mutually_exclusive_group()
    what = "time limit in seconds (default: none)"
    how.add_argument("--timeout", type=positive_seconds, metavar="SECONDS", help=what)
    what = "compile in this process (an LLVM crash then ends the command)"
    how.add_argument("--in-process", action="store_true", help=what)
    # None: the default of the project (``_apply_project_defaults``).
    parser.set_defaults(**dict.fromkeys((*_CHOICES, "nvcc_flags", *BY_NAME)))


def _add_goal(parser: argparse.ArgumentParser) -> None:
    goal = parser.add_mutually_exclusive_group(required=True)
    stages = ", ".join(stage.name for stage in STAGES[1:])
    goal.add_argument("--to", metavar="STAGE", help=f"one of {stages}, or {_SASS} (the text of nvdisasm)")
    what = "stop after this pass and write MLIR (`opt` can resume from it)"
    goal.add_argument("--until", metavar="PASS", help=what)
    what = "print the schedule of each kernel, the candidates of each knob, and what binds them"
    goal.add_argument("--explain-schedule", action="store_true", help=what)
    add_json(parser)
    what = (
        "comma-separated targets, or all; 90, 90a and sm_90 are synonyms (this and the options below default to "
        "[tool.tileiras] in pyproject.toml)"
    )
    parser.add_argument("--sm", metavar="SM", help=what)
    add_compute_capability(parser)
    what = "output file (default: FILE with the new suffix), a folder (must end with / unless it exists), or - for standard output"
    parser.add_argument("-o", "--output", metavar="OUT", help=what)
    what = "also write a dependency file for make and ninja, beside the output, with the suffix .d"
    parser.add_argument("-MD", dest="dependencies", action="store_true", help=what)
    what = "write the dependency file to FILE (implies -MD)"
    parser.add_argument("-MF", dest="dependency_file", metavar="FILE", help=what)
    what = "only this kernel of a .py or .cu file; repeatable (default: all)"
    parser.add_argument("--kernel", action="append", metavar="NAME", help=what)


def _add_code_options(parser: argparse.ArgumentParser) -> None:
    add_nvcc(parser)
    add_opt_level(parser)
    what = "emit line information for profilers and debuggers (like nvcc -lineinfo)"
    parser.add_argument("--lineinfo", action=argparse.BooleanOptionalAction, help=what)
    what = "emit full debug information (like nvcc -G); requires --opt 0"
    parser.add_argument("--device-debug", action=argparse.BooleanOptionalAction, help=what)
    parser.add_argument("--libdevice", metavar="PATH", help=LIBDEVICE_HELP)
    what = "ptxas program (default: the nvidia-cuda-nvcc package's)"
    parser.add_argument("--ptxas", metavar="PATH", help=what)
    what = "PTX backend: nvptx (LLVM) or libnvvm (NVIDIA) (default: nvptx)"
    parser.add_argument("--serializer", choices=SERIALIZERS, default=SERIALIZERS[0], help=what)
    what = "passes of LLVM: short (those that pay), or default (LLVM's own of the level) (default: short)"
    parser.add_argument("--llvm-pipeline", choices=LLVM_PIPELINES, default=LLVM_PIPELINES[0], help=what)
    what = (
        "software pipelining of loads: auto; none; unspecialize (multistage cp.async, all warps); "
        f"warp-specialize (TMA producer warp) (default: {AUTO})"
    )
    parser.add_argument("--strategy", default=AUTO, metavar="STRATEGY", help=what)
    add_schedule(parser)
    add_tuning(parser)
    what = f"warn about a class, or not about it (-Wno-CLASS): {', '.join(WARNINGS)}, {ALL}, {NONE}; -Werror makes warnings errors"
    parser.add_argument("-W", dest="warnings", action="append", default=[], metavar="CLASS", help=what)


def run(options: argparse.Namespace) -> None:
    """Write the output of every kernel for every target; errors are raised together, at the end."""
    _apply_project_defaults(options)
    goal, targets, warnings = _goal(options), _targets(options), _warnings(options)
    jobs = [_job(options, target) for target in targets]
    outputs: dict[tuple[str, Target], Any] = {}
    errors, reads = Diagnostics(), _named_inputs(options)
    for job, sources in zip(jobs, _sources_for(options, targets, reads)):
        for source in sources:
            try:
                outputs[source.stem, job.target] = _lower_and_warn(options, source, goal, job, warnings)
            except TileirasError as error:
                for single in getattr(error, "errors", [error]):
                    errors.add(single)
    if outputs and options.explain_schedule:
        _print_schedules(options, [one for found in outputs.values() for one in found])
    elif outputs:
        written = _write(options, goal.suffix, outputs, len(jobs) > 1, reads)
        _write_dependencies(options, written, reads)
    errors.raise_if_any()


def _apply_project_defaults(options: argparse.Namespace) -> None:
    """Set each option without a value to the project's value, or to a build's default. ``--sm`` has no such default."""
    project = project_values(_PROJECT_OPTIONS)
    if options.sm is None and options.compute_capability is None:
        options.sm = project.get("sm")
    for name, option in _PROJECT_OPTIONS.items():
        if option != "sm" and getattr(options, option) is None:
            text = project.get(name, DEFAULTS[name])
            check = CHECKS[name]
            setattr(options, option, bool(check(name, text)) if check in (yes_no, yes_no_or_nothing) else text)


def _print_schedules(options: argparse.Namespace, explained: list[dict[str, Any]]) -> None:
    """Print the schedules of all kernels; one alone is the object of a schedule file."""
    from ..pipeline.schedule.explain import render_text

    text = json.dumps(explained if len(explained) > 1 else explained[0], indent=2) if options.json else None
    print(text or render_text(explained))


def _goal(options: argparse.Namespace) -> Goal:
    source = STAGES[0] if _is_kernel_file(options.file) else stage_of_file(options.file)
    if options.until is not None:
        return Goal("tileiras_build.driver:lower_until", options.until, ".mlir")
    if options.json and not options.explain_schedule:
        raise InvalidInput("option-value", "--json needs --explain-schedule", remedy="drop --json")
    if options.explain_schedule:
        between(source.name, SCHEDULED)
        return Goal(_EXPLAIN, SCHEDULED, ".json")
    if options.to == _SASS:
        return Goal(f"{__name__}:lower_to_sass", _SASS, f".{_SASS}")
    stage = find(options.to, more=(_SASS,))
    between(source.name, stage.name)
    return Goal(_LOWER, stage.name, stage.suffix)


def lower_to_sass(data: bytes, source: str, goal: str, job: Job, file: str) -> dict[str, bytes]:
    """As ``driver.lower`` to a cubin, and its disassembly in the cubin's place."""
    from ..driver import lower
    from ..target.sass_listing import disassemble

    cubin = data if source == STAGES[-1].name else lower(data, source, STAGES[-1].name, job, file)[STAGES[-1].suffix]
    return {f".{goal}": disassemble(cubin).encode()}


def _targets(options: argparse.Namespace) -> list[Target]:
    if (
        options.sm is not None
        and options.compute_capability is None
        and ("," in options.sm or "all" in options.sm or is_native(options.sm))
    ):
        return parse_targets(options.sm)
    return [target_of_options(options.sm, options.compute_capability)]


def _job(options: argparse.Namespace, target: Target) -> Job:
    from ..target.isa.serializer_options import read_level

    level, lines, debug = read_level(options.opt), options.lineinfo, options.device_debug
    files = (options.libdevice or None, options.ptxas or None)
    how = (options.serializer, options.strategy, schedule_of(options), options.llvm_pipeline)
    job = Job(target, level, lines, debug, *files, *how)
    return check_debug(job.with_tuning(parse_tuning(vars(options))))


def _warnings(options: argparse.Namespace) -> WarningOptions:
    """The project's warnings, then those of the command line."""
    project = project_values(("warnings", "werror"))
    are_errors = yes_no("werror", project.get("werror", DEFAULTS["werror"]))
    for word in options.warnings:
        are_errors = {_ERROR: True, f"no-{_ERROR}": False}.get(word, are_errors)
    words = [word for word in options.warnings if word.removeprefix("no-") != _ERROR]
    return WarningOptions(parse_warnings(",".join([project.get("warnings", ""), *words]), "-W"), are_errors)


def _lower_and_warn(options: argparse.Namespace, source: Source, goal: Goal, job: Job, warnings: WarningOptions) -> Any:
    """As ``_lower``, with warnings on the way: remarks are read from the artifact of their stage."""
    from ..core.terminal import coloured
    from ..reports import compiler_warnings

    if not warnings.classes or goal.function == _EXPLAIN or options.until is not None:
        return _lower(options, source, goal, job)
    remarked, found = find(REMARKED), []
    start = source
    if warnings.of_remarks and _passes(source.stage, remarked, goal):
        through = Goal(_LOWER, remarked.name, remarked.suffix)
        data = source.data if source.stage is remarked else _lower(options, source, through, job)[remarked.suffix]
        start = Source(remarked, data, source.stem)
        found += compiler_warnings.of_tileas(data, job.target.name, warnings.of_remarks)
    last = STAGES[-1]
    # The text of machine code has no manifest, which is beside the cubin.
    assembled = Goal(_LOWER, last.name, last.suffix) if goal.name == _SASS and start.stage is not last else goal
    files = (
        {goal.suffix: start.data}
        if start.stage.suffix == assembled.suffix
        else _lower(options, start, assembled, job, source)
    )
    for manifest in filter(files.get, last.side_outputs):
        found += compiler_warnings.of_manifest(files[manifest], job.target.name, warnings.of_manifest)
    if assembled is not goal:
        files = _lower(options, Source(last, files[last.suffix], source.stem), goal, job, source)
    compiler_warnings.report(found, warnings, lambda text: print(coloured(text, sys.stderr), file=sys.stderr))
    return files


def _passes(source: Stage, middle: Stage, goal: Goal) -> bool:
    """Whether a stage lies on the way from ``source`` to the goal."""
    last = STAGES[-1] if goal.name == _SASS else find(goal.name)
    return STAGES.index(source) <= STAGES.index(middle) <= STAGES.index(last)


def _lower(options: argparse.Namespace, source: Source, goal: Goal, job: Job, given: Source | None = None) -> Any:
    """The files of a goal; errors name ``given``, which ``source`` was made from."""
    from ..workers.executor.forked_executor import ForkedExecutor
    from ..workers.executor.in_process_executor import InProcessExecutor

    executor = InProcessExecutor() if options.in_process else ForkedExecutor()
    what = () if options.explain_schedule else (goal.name,)
    arguments = (source.data, source.stage.name, *what, job, options.file)
    try:
        return executor.run(goal.function, *arguments, timeout=options.timeout)
    except TileirasError as error:
        if error.id == "worker-timeout":
            raise _timeout_error(goal.suffix, options) from None
        raise with_file_name(_blame_file(error, (given or source).stage, options.file), options.schedule) from error


# ---- inputs
def _is_kernel_file(path: str) -> bool:
    return Path(path).suffix in (PYTHON, TILECPP)


def _sources_for(options: argparse.Namespace, targets: list[Target], reads: set[str]) -> Iterator[list[Source]]:
    """The inputs for each target: C++ and tuned kernels are compiled for each target, all others are the same for all."""
    if _differs_by_target(options.file):
        yield from (list(_sources(options, target, reads)) for target in targets)
    else:
        yield from repeat(list(_sources(options, targets[0], reads)), len(targets))


def _differs_by_target(path: str) -> bool:
    if Path(path).suffix != PYTHON:
        return Path(path).suffix == TILECPP
    from ..frontend.tuning_choices import choice_file

    return choice_file(path).exists()


def _sources(options: argparse.Namespace, target: Target, reads: set[str]) -> Iterator[Source]:
    path = options.file
    if not _is_kernel_file(path):
        yield Source(stage_of_file(path), read_file(path), Path(path).stem)
        return
    read_file(path)
    if _wants_dependencies(options):
        kernels, found = export_and_list_reads(options, target)
        reads.update(map(os.path.relpath, found))
    else:
        kernels = export_kernels(options, target)
    for name, data in kernels.items():
        yield Source(STAGES[0], data, name)


# ---- dependencies
def _wants_dependencies(options: argparse.Namespace) -> bool:
    return options.dependencies or options.dependency_file is not None


def _named_inputs(options: argparse.Namespace) -> set[str]:
    """The files that the command line names."""
    return {
        os.path.relpath(path) for path in (options.file, options.schedule, options.libdevice, options.ptxas) if path
    }


def _write_dependencies(options: argparse.Namespace, written: list[Path], reads: set[str]) -> None:
    """A rule of make: the outputs depend on what was read; each input is a target, too, as one may be deleted later."""
    if not _wants_dependencies(options):
        return
    if options.dependency_file is None and not written:
        raise InvalidInput("option-value", "-MD has no output to stand beside", remedy="name the file with -MF")
    path = Path(options.dependency_file) if options.dependency_file else written[0].with_suffix(".d")
    inputs = sorted(map(_escaped, reads))
    rule = f"{' '.join(_escaped(str(one)) for one in written) or _escaped(str(path))}: {' '.join(inputs)}\n"
    write_files({path: (rule + "".join(f"{one}:\n" for one in inputs)).encode()})


def _escaped(path: str) -> str:
    """A file name as make and ninja read it."""
    return path.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")


# ---- outputs
def _write(
    options: argparse.Namespace,
    suffix: str,
    outputs: dict[tuple[str, Target], dict[str, bytes]],
    named: bool,
    reads: set[str],
) -> list[Path]:
    """Write the files, and return their paths; several go into a folder, and with several targets (``named``) their names have the target's.

    InvalidInput ``output-is-input``: one of them is a file of ``reads``; nothing is written.
    """
    if options.output == _STDOUT:
        sys.stdout.buffer.write(_only(options, outputs)[suffix])
        return []
    stems = {(stem, target): f"{stem}.{target.name}" if named else stem for stem, target in outputs}
    several = len(outputs) > 1 or named
    files = {
        _path(options, stems[key], ending, suffix, several): data
        for key, contents in outputs.items()
        for ending, data in contents.items()
    }
    _check_inputs_stay(files, reads)
    write_files(files)
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    print(f"wrote {', '.join(map(str, [*files][:_SHOWN]))}{more}")
    return [*files]


def _check_inputs_stay(files: Iterable[Path], reads: set[str]) -> None:
    """A launch manifest is named after its cubin: k.json, as a schedule file may be."""
    inputs = {os.path.realpath(path) for path in reads}
    for path in files:
        if os.path.realpath(path) in inputs:
            message = f"the output {path} would replace an input of this command"
            raise InvalidInput("output-is-input", message, remedy="rename the input, or name the output with -o")


def _only(options: argparse.Namespace, outputs: dict[tuple[str, Target], dict[str, bytes]]) -> dict[str, bytes]:
    if len(outputs) == 1:
        return next(iter(outputs.values()))
    message = f"{options.file} produces {len(outputs)} files"
    raise InvalidInput("output-not-single", message, remedy="use -o FOLDER, or select one kernel and one target")


def _path(options: argparse.Namespace, stem: str, ending: str, suffix: str, several: bool) -> Path:
    """Where a file is written: ``--output`` is the file with ``suffix``, or the folder of all."""
    if options.output is None:
        return Path(options.file).with_name(f"{stem}{ending}")
    if several or options.output.endswith("/") or Path(options.output).is_dir():
        return Path(options.output, f"{stem}{ending}")
    return Path(options.output) if ending == suffix else Path(options.output).with_suffix(ending)


# ---- diagnostics
def _timeout_error(suffix: str, options: argparse.Namespace) -> InvalidInput:
    return InvalidInput(
        "timeout",
        f"timed out after {options.timeout:g} s before producing {suffix}",
        location=Location(options.file),
        remedy="raise or drop --timeout",
    )


# Internal errors that name the failing pass, not the fault in the text.
_TEXT_FAULT_IDS = ("stage-failed", "pass-failed", "pass-illegal-op", "ir-invalid", "worker-died")


def _blame_file(error: TileirasError, source: Stage, path: str) -> TileirasError:
    """Report an internal error as invalid input if the source is IR text that the user passed.

    Bytecode is fully verified, so a later failure is a bug. IR text is checked only by the verifiers of its operations,
    which do not cover every invariant that passes and LLVM rely on.
    """
    if isinstance(error, ErrorGroup):
        return ErrorGroup([_blame_file(one, source, path) for one in error.errors])
    if source is STAGES[0] or not isinstance(error, InternalError) or getattr(error, "from_outside", False):
        return error
    if error.id not in _TEXT_FAULT_IDS:
        return InvalidInput(error.id, error.message, location=error.location or Location(path))
    message = f"invalid {source.suffix} text: {error.message}"
    remedy = "regenerate it from the .tilebc; if the file was not edited, report a bug in tileiras_build"
    return InvalidInput(f"{source.name}-text", message, location=Location(path), remedy=remedy)
