"""The command ``tileiras-build as``, a drop-in replacement of NVIDIA's ``tileiras``: bytecode to a cubin.

With a link named ``tileiras`` to ``tileiras-build``, first on PATH, cuTile Python compiles with this compiler; the link uses
only its arguments, because callers cache by these. ``tileiras-build as`` takes missing options from the project. Exit
codes are NVIDIA's: 0 done, 1 wrong usage or no input, 2 bad configuration, 3 not (valid) bytecode, 5 failed to compile.

In a process that was started under the emulator (``cutile/child_processes.py``) the cubin is an image for the emulator.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..config.build_options import project_values, yes_no
from ..config.nvidia_tileiras_options import OPT_LEVEL, PROGRAM, REMARK_KINDS, CommandLine, UsageError, help_text, parse
from ..config.pyproject_table import FILE_NAME
from ..core.errors import ErrorGroup, InternalError, InvalidInput, Location, TileirasError, describe_exception
from ..core.file_io import write_files
from ..core.knobs import is_on_cpu
from ..ir.bytecode.opcodes import VERSIONS
from ..pipeline.tuning_parameters import TUNING, VARIANTS
from ..target.isa.serializer_options import read_level
from ..target.targets import parse_targets

if TYPE_CHECKING:
    from ..pipeline.job import Job
    from ..reports.optimization_remarks import Remark

MAGIC, MLIR_MAGIC = b"\x7fTileIR\x00", b"ML\xefR"
USAGE, CONFIGURATION, BYTECODE, COMPILATION = 1, 2, 3, 5
LEVELS = range(4)
# Ids of diagnostics about this machine, not about the kernel.
CONFIGURATION_IDS = frozenset(("ptxas-missing", "libdevice-missing", "libdevice-broken", "write-failed"))


class Failure(Exception):
    """The message for standard error, and the exit code."""

    def __init__(self, code: int, text: str):
        super().__init__(code, text)
        self.code, self.text = code, text


def main(arguments: Sequence[str], program: str = PROGRAM, *, in_project: bool = False) -> int:
    """Run one command line, without the program's name; returns the exit code.

    ``in_project``: missing options come from pyproject.toml.
    """
    try:
        return _run(parse(arguments, program), in_project)
    except UsageError as error:
        print(error, file=sys.stderr)
        return USAGE
    except Failure as failure:
        print(failure.text, file=sys.stderr)
        return failure.code


def _apply_project_defaults(line: CommandLine) -> dict[str, str]:
    """Set missing options to the project's values; returns the values of options that NVIDIA's program lacks: fields of Job."""
    try:
        found = project_values((*_PROJECT_OPTIONS, *_JOB_OPTIONS))
        for name, (option, take) in _PROJECT_OPTIONS.items():
            if name in found and option not in line.specified:
                take(line, found[name])
    except TileirasError as error:
        raise Failure(CONFIGURATION, describe(error)) from error
    return {name: found[name] for name in _JOB_OPTIONS if found.get(name)}


def _take_target(line: CommandLine, text: str) -> None:
    targets = parse_targets(text)
    if len(targets) != 1:
        message = f"sm names {len(targets)} targets, but a cubin has one"
        raise InvalidInput(
            "output-not-single", message, location=Location(FILE_NAME), remedy="select one with --gpu-name"
        )
    line.texts["gpu-name"] = targets[0].name


def _take_level(line: CommandLine, text: str) -> None:
    level = read_level(text)
    if not isinstance(level, int):
        message = f"opt={text} is not supported by this command"
        raise InvalidInput("opt-level", message, location=Location(FILE_NAME), remedy="use --opt-level 0 to 3")
    line.level = level


def _take_lines(line: CommandLine, text: str) -> None:
    line.flags["lineinfo"] = yes_no("lineinfo", text)


def _take_debug(line: CommandLine, text: str) -> None:
    line.flags["device-debug"] = yes_no("debug", text)


# Options of builds, their names here, and the parsers of their values; then those that only a job has.
_PROJECT_OPTIONS: dict[str, tuple[str, Callable[[CommandLine, str], None]]] = {
    "sm": ("gpu-name", _take_target),
    "opt": (OPT_LEVEL, _take_level),
    "lineinfo": ("lineinfo", _take_lines),
    "debug": ("device-debug", _take_debug),
}
_TUNING = {row.name: row for row in TUNING if not row.affects_launch}  # a launcher of a cubin alone has no manifest
_JOB_OPTIONS = ("ptxas", "libdevice", "serializer", "llvm_pipeline", *_TUNING)


def _run(line: CommandLine, in_project: bool) -> int:
    for name, answer in INFO_FLAGS.items():
        if line.flags[name]:
            print(answer())
            return 0
    if line.file is None:
        print(help_text())
        raise Failure(USAGE, "error: no input file provided")
    data = _read(line.file)
    project = _apply_project_defaults(line) if in_project else {}
    _check(line, data)
    _compile(line, data, project)
    return 0


def version_text() -> str:
    """The output of ``--version``; cuTile Python's cache keys contain it, so it changes with the compiler."""
    from ..pipeline.stages import STAGES, library_version, source_digest

    digests = "".join(source_digest(stage)[:4] for stage in STAGES[1:])
    return (
        f"{PROGRAM}: tileiras_build, an open CUDA Tile IR assembler\n"
        f"Release {library_version('tileiras-build')}, bytecode {_version_text(VERSIONS[-1])}\nBuild {digests}"
    )


def versions_text() -> str:
    """The output of ``--list-versions``: the supported bytecode versions, oldest first."""
    return "\n".join(map(_version_text, VERSIONS))


INFO_FLAGS = {"help": help_text, "version": version_text, "list-versions": versions_text}


def _version_text(version: Sequence[int]) -> str:
    return ".".join(map(str, tuple(version)[:2]))


# ---- checks --------------------------------------------------------------------------------------
def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise Failure(USAGE, f"error: unable to read input file '{file}': {error.strerror}") from error


def _check(line: CommandLine, data: bytes) -> None:
    """Check in the order of NVIDIA's program: the file, the GPU, the level, debugging, features."""
    if not data.startswith(MAGIC):
        hint = " (it looks like MLIR bytecode instead)" if data.startswith(MLIR_MAGIC) else ""
        raise Failure(BYTECODE, f"error: input does not correspond to Tile IR bytecode{hint}")
    version = tuple(data[len(MAGIC) : len(MAGIC) + 2])
    if version not in [tuple(known)[:2] for known in VERSIONS]:
        raise Failure(BYTECODE, f"error: unsupported Tile IR bytecode version: {_version_text(version)}")
    if line.lists["preview"]:
        raise Failure(
            USAGE,
            f"{PROGRAM}: for the --preview option: unknown preview feature '{line.lists['preview'][0]}'; "
            "no preview feature is supported",
        )
    _check_configuration(line, _version_text(version))


def _check_configuration(line: CommandLine, version: str) -> None:
    if not line.texts["gpu-name"]:
        raise Failure(
            CONFIGURATION,
            f"error: no GPU architecture given (bytecode in file is version {version}); use --gpu-name=sm_90 or another "
            "that --help lists",
        )
    if line.level not in LEVELS:
        raise Failure(CONFIGURATION, f"error: invalid optimization level: {line.level}")
    if line.flags["device-debug"] and line.level > 0:
        raise Failure(
            CONFIGURATION,
            "error: optimized debugging is currently not supported, change the optimization level to 0 or disable "
            "full debug info",
        )
    if line.lists["l"]:
        raise Failure(COMPILATION, "error: libraries require the 'simt' preview feature, which is not supported")


# ---- compiling -----------------------------------------------------------------------------------
def _compile(line: CommandLine, data: bytes, project: Mapping[str, str]) -> None:
    from ..pipeline.job import LLVM_PIPELINES, SERIALIZERS, Job
    from ..pipeline.pipelining_strategies import AUTO
    from ..target.targets import find_target
    from ..workers.executor.forked_executor import ForkedExecutor

    debug = line.flags["device-debug"]
    # A launcher of this command's cubin has no manifest, so the cubin must not need tensor maps.
    level, lines = line.level, line.flags["lineinfo"] and not debug
    files = (project.get("libdevice"), project.get("ptxas"), project.get("serializer", SERIALIZERS[0]))
    strategy, passes = "unspecialize" if level else AUTO, project.get("llvm_pipeline", LLVM_PIPELINES[0])
    job = Job(find_target(line.texts["gpu-name"]), level, lines, debug, *files, strategy, llvm_pipeline=passes)
    tuning = {name: row.read(project[name]) for name, row in _TUNING.items() if name in project}
    job = job.with_tuning(tuning | {VARIANTS.name: 0})
    categories, sanitize = remark_categories(line), line.texts["sanitize"]
    try:
        cubin, remarks = ForkedExecutor().run(
            "tileiras_build.cli.cmd_as:assemble", data, job, line.file, categories, sanitize
        )
    except TileirasError as error:
        raise Failure(exit_code(error), "\n".join(map(describe, _message_parts(error)))) from error
    except Exception as error:
        # Callers read an exit code and a line, not a traceback; tileiras-build lower shows where it happened.
        text = f"error: internal error: {describe_exception(error)}"
        raise Failure(COMPILATION, " ".join(text.split())) from error
    _write(line, cubin, remarks)


def remark_categories(line: CommandLine) -> dict[str, tuple[str, ...]]:
    """The requested categories of each kind of remark; empty if none is requested."""
    general = line.texts["remarks"]
    asked = {kind: (general, line.texts[f"remarks-{kind}"]) for kind in REMARK_KINDS}
    chosen = {kind: tuple(name for name in names if name not in ("", "none")) for kind, names in asked.items()}
    return {kind: names for kind, names in chosen.items() if names}


def assemble(
    data: bytes, job: Job, file: str, categories: Mapping[str, tuple[str, ...]], sanitize: str = ""
) -> tuple[bytes, list[Remark]]:
    """(cubin, the remarks of the requested categories) for the contents of a bytecode file.

    ``sanitize`` "memcheck" makes the kernels check the indices of the tiles that they access.
    """
    from ..driver import lower

    stage = "tilebc"
    if sanitize:
        stage, data = "tileaa", _instrumented(lower(data, stage, "tileaa", job, name=file)[".tileaa"])
    remarks: list[Remark] = []
    if categories:
        data = lower(data, stage, "tileas", job, name=file)[".tileas"]
        stage, remarks = "tileas", _remarks(data, job, categories)
    name = file if stage == "tilebc" else None
    if is_on_cpu():
        return _image(data, stage, job, name), remarks
    return lower(data, stage, "cubin", job, name=name)[".cubin"], remarks


def _image(data: bytes, stage: str, job: Job, name: str | None) -> bytes:
    """The emulator's image in place of a cubin, with line information."""
    from ..driver import lower
    from ..simulate.emulator.ptx_bundle import pack

    ptx = lower(data, stage, "ptx", replace(job, lineinfo=not job.debug), name=name)[".ptx"]
    return pack(ptx.decode(), json.loads(lower(ptx, "ptx", "cubin", job)[".json"]))


def _instrumented(text: bytes) -> bytes:
    from ..pipeline.common.insert_memcheck_asserts import insert_bounds_checks
    from ..pipeline.tile_ir_text_format import parse as parse_module
    from ..pipeline.tile_ir_text_format import render

    module = parse_module(text)
    insert_bounds_checks(module)
    return render(module)


def _remarks(text: bytes, job: Job, categories: Mapping[str, tuple[str, ...]]) -> list[Remark]:
    from ..pipeline.tile_ir_text_format import parse as parse_module
    from ..reports.optimization_remarks import collect, select

    return select(collect(parse_module(text), job.target), categories)


def _write(line: CommandLine, cubin: bytes, remarks: list[Remark]) -> None:
    files: dict[Path, bytes] = {}
    if line.texts["output-file"] == "-":
        sys.stdout.buffer.write(cubin)
    else:
        files[Path(line.texts["output-file"])] = cubin
    if remarks:
        from ..reports.optimization_remarks import render_text, render_yaml

        if line.texts["remark-format"] == "yaml":
            files[Path(line.texts["remarks-output-file"])] = render_yaml(remarks).encode()
        else:
            print(render_text(remarks))
    try:
        write_files(files)
    except TileirasError as error:
        raise Failure(CONFIGURATION, describe(error)) from error


# ---- diagnostics ---------------------------------------------------------------------------------
def _message_parts(error: TileirasError) -> list[TileirasError]:
    return error.errors if isinstance(error, ErrorGroup) else [error]


def exit_code(error: TileirasError) -> int:
    """NVIDIA's exit code for one of our diagnostics."""
    first = _message_parts(error)[0]
    if first.location is not None and first.location.offset is not None:
        return BYTECODE
    return CONFIGURATION if first.id in CONFIGURATION_IDS else COMPILATION


def describe(error: TileirasError) -> str:
    """One line in the format that cuTile Python parses: ``loc("file":line:column): error: text``."""
    remedy = f"; {error.remedy}" if error.remedy else ""
    kind = "internal error: " if isinstance(error, InternalError) else ""
    return f"{_place(error.location)}error: {kind}{error.message} [{error.id}]{remedy}"


def _place(location: Location | None) -> str:
    if location is None or not location.file:
        return ""
    if location.offset is not None:
        return f'loc("{location.file}"): error at offset {location.offset}: '
    if not location.line:
        return f'loc("{location.file}"): '
    return f'loc("{location.file}":{location.line}:{location.column}): '
