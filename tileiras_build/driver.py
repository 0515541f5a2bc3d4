"""Runs stages: ``compile`` from bytecode with the IR kept in memory, ``lower`` from any stage's file to a later one."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from .core.errors import (
    ErrorGroup,
    InternalError,
    InvalidInput,
    Location,
    TileirasError,
    describe_exception,
    missing_package,
    suggest,
)
from .core.file_io import replace_files
from .core.knobs import CHECK, DEBUG, dump_folder
from .core.pause_gc import gc_paused
from .core.system_limit_errors import withheld
from .pipeline.job import Job, check_debug
from .pipeline.stages import STAGES, Stage, between, find, load
from .pipeline.tuning_parameters import TUNING, reject_former_names
from .target.isa.serializer_options import find_level
from .target.targets import find_target
from .workers.executor import written_modules
from .workers.executor.crash_isolation import run_isolated

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .pipeline.pass_manager import EdgePass

    # An artifact in memory: IR; LLVM IR or PTX text; bitcode of libdevice; a cubin with its manifest.
    Value = ModuleOp | str | bytes | tuple[bytes, dict]

T = TypeVar("T")
SCHEDULE_FILE = "schedule.json"  # of a dump
SCHEDULED = "tileas"  # the artifact whose kernels have schedules


@dataclass
class Artifacts:
    """The results of ``compile``; an artifact beyond ``stop_at`` is None.

    ``.tileaa``, ``.tileas`` (str) are printed on first use, which repeats the stages up to them: printing costs more
    than most stages. ``.ll``, ``.ptx`` (str) and ``.cubin`` (bytes) are available; ``.manifest`` (dict) is complete with
    a cubin and lacks ``resources`` before. ``.seconds`` maps each stage's name to its wall time.
    """

    bytecode: bytes
    job: Job
    stop_at: str
    name: str | None = None
    texts: dict[str, str] = field(default_factory=dict, repr=False)
    binary: tuple[bytes, dict] | None = field(default=None, repr=False)
    seconds: dict[str, float] = field(default_factory=dict, repr=False)

    @cached_property
    def tileaa(self) -> str | None:
        """The alias-aware IR as text."""
        return self._text("tileaa")

    @cached_property
    def tileas(self) -> str | None:
        """The scheduled IR as text."""
        return self._text("tileas")

    @property
    def ll(self) -> str | None:
        """The LLVM IR text."""
        return self.texts.get("ll")

    @property
    def ptx(self) -> str | None:
        """The PTX text."""
        return self.texts.get("ptx")

    @property
    def cubin(self) -> bytes | None:
        """The machine code."""
        return self.binary[0] if self.binary is not None else None

    @cached_property
    def manifest(self) -> dict:
        """The launch manifest (see ``pipeline/launch_manifest_json.py``), from the latest artifact that has one."""
        if self.binary is not None:
            return self.binary[1]
        from .manifest.ptx_manifest import manifest_of_ptx
        from .pipeline.ll_to_ptx.embedded_metadata import read_manifest

        if self.ptx is not None:
            return manifest_of_ptx(self.ptx) or {}
        return read_manifest(self.ll) or {} if self.ll is not None else {}

    def _text(self, name: str) -> str | None:
        stages = [stage.name for stage in STAGES]
        if stages.index(name) > stages.index(self.stop_at):
            return None
        return lower(self.bytecode, ".tilebc", name, self.job, name=self.name)[f".{name}"].decode()


def compile(
    bytecode: bytes,
    gpu_name: str,
    *,
    opt_level: int | str = 3,
    stop_at: str = "cubin",
    lineinfo: bool = False,
    debug: bool = False,
    libdevice: str | None = None,
    ptxas: str | None = None,
    name: str | None = None,
    serializer: str = "nvptx",
    strategy: str = "auto",
    schedule: str = "",
    llvm_pipeline: str = "short",
    **tuning: int,
) -> Artifacts:
    """Compile Tile IR bytecode for one GPU ("sm_90", "90a", ...) up to the artifact ``stop_at``.

    ``lineinfo`` keeps source lines, ``debug`` (at ``opt_level`` 0) lines and variables. ``libdevice`` and ``ptxas`` are paths
    (None = those of the installed wheels); ``name`` is the file name in diagnostics; ``serializer`` ("nvptx" or "libnvvm") is
    the PTX backend, ``llvm_pipeline`` ("short" or "default") LLVM's passes before it; ``strategy`` selects the software
    pipelining of loads (``pipelining_strategies.NAMES``); ``schedule`` is the
    text of a schedule file; ``tuning`` has tuning parameters by name (``tuning_parameters.TUNING``). Raises InvalidInput, Unsupported or InternalError. LLVM cannot
    end the calling process: a libdevice file of the caller is linked in another process.
    """
    reject_former_names(tuning)
    find_level(opt_level)
    target = find_target(gpu_name)
    how = (serializer, strategy, schedule, llvm_pipeline)
    job = check_debug(Job(target, opt_level, lineinfo, debug, libdevice, ptxas, *how).with_tuning(tuning))
    artifacts = Artifacts(bytecode, job, find(stop_at).name, name)
    run = _Compilation(bytecode, STAGES[0], job, name)
    with gc_paused():
        run.parse()
        for stage in between(STAGES[0].name, stop_at):
            value = run.step(stage)
            if isinstance(value, str):
                artifacts.texts[stage.name] = value
            elif isinstance(value, tuple):
                artifacts.binary = value
    artifacts.seconds = run.seconds
    return artifacts


def lower(
    data: bytes, source: str, target: str, job: Job, name: str | None = None, table: tuple[Stage, ...] = STAGES
) -> dict[str, bytes]:
    """The files of artifact ``target`` (".ptx" or "ptx") made from the bytes of artifact ``source``.

    Returns {suffix: bytes}: the artifact and its side outputs (".json" beside ".cubin"). Raises InvalidInput, Unsupported or
    InternalError. LLVM IR and libraries of the caller are read in another process, as LLVM may abort on them.
    """
    stages = between(source, target, table)
    run = _Compilation(data, find(source, table), job, name)
    with gc_paused():
        run.parse()
        for stage in stages:
            run.step(stage)
        files = run.render(stages[-1])
        run.hand_on(files)
        return files


def lower_until(data: bytes, source: str, last: str, job: Job, name: str | None = None) -> dict[str, bytes]:
    """The module after the pass ``last``, as MLIR text that ``tileiras-build opt`` accepts: {".mlir": text}.

    ``data`` are the bytes of artifact ``source``. Raises InvalidInput for a pass that the pipeline from there does not have, or
    that the job's strategy leaves out; otherwise like ``lower``.
    """
    stage, passes = _stage_of_pass(last, source, job)
    run = _Compilation(data, find(source), job, name)
    run.parse()
    for earlier in STAGES[STAGES.index(run.source) + 1 : STAGES.index(stage)]:
        run.step(earlier)
    return run.render_until(stage, passes)


def explain_schedule(data: bytes, source: str, job: Job, name: str | None = None) -> list[dict[str, object]]:
    """The schedule of each kernel made from the bytes of artifact ``source``, with the candidates of each knob.

    Each is the object of a schedule file. Raises like ``lower``; InvalidInput for an artifact that is already scheduled.
    """
    from .pipeline.schedule.choose import listening
    from .pipeline.schedule.explain import allow_what_compiles, carry_out, explain

    def scheduled(job: Job) -> ModuleOp:
        run = _Compilation(data, find(source), job, name)
        run.parse()
        for stage in between(source, SCHEDULED):
            run.step(stage)
        return cast("ModuleOp", run.value)

    with gc_paused():
        with listening() as heard:
            explained = explain(scheduled(job), heard, job)
        if len(explained) == 1:  # a file is for one kernel
            allow_what_compiles(explained[0], scheduled, job)
            carry_out(explained[0], heard, scheduled, job)
    return explained


def _stage_of_pass(last: str, source: str, job: Job) -> tuple[Stage, tuple[type[EdgePass], ...]]:
    """The stage whose edge runs the pass ``last``, and the passes of that edge up to it."""
    offered: list[str] = []
    for stage in STAGES[STAGES.index(find(source)) + 1 :]:
        passes = stage.passes_for(stage.job(job))
        names = [entry.name for entry in passes]
        if last in names:
            return stage, passes[: names.index(last) + 1]
        offered += names
    raise InvalidInput(
        "until-pass",
        f"{last!r} is not a pass of the pipeline from .{source.removeprefix('.')}",
        remedy=suggest(last, offered),
    )


@dataclass
class _Compilation:
    """One run of the stages: ``value`` is the latest artifact, ``data`` the input file."""

    data: bytes
    source: Stage
    job: Job
    name: str | None = None
    value: Value | None = None
    reached: Stage | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def parse(self) -> None:
        if not self.data:
            raise InvalidInput("empty-file", "the file is empty", location=Location(self.name))
        self.value = written_modules.take(self.source.suffix, self.data)
        if self.value is None:
            self.value = self._guard(self.source, lambda: load(self.source.parse)(self.data, self.name))
        self.reached = self.source

    def hand_on(self, files: Mapping[str, bytes]) -> None:
        """Leave the module of the last artifact, written as ``files``, to a later run of this process; this run ends with it."""
        stage, value = self.reached, self.value
        if stage is not None and value is not None and not isinstance(value, (str, bytes, tuple)):
            written_modules.put(stage.suffix, files[stage.suffix], value)

    def step(self, stage: Stage) -> Value:
        self.value = value = self._guard(stage, lambda: self._make(stage, stage.job(self.job)))
        self.reached = stage
        if CHECK.read() >= 1:
            self._guard(stage, lambda: _verify(value, stage))
        if DEBUG.read() >= 5:
            self._dump_artifacts(stage, value)
        return value

    def _make(self, stage: Stage, job: Job) -> Value:
        """The value of ``stage``, made in another process if LLVM reads input that this process did not write."""
        if not stage.may_abort or self.reached is not self.source and not _has_own_files(stage, job):
            return load(stage.edge)(self.value, job)
        made = run_isolated(stage.edge, self.value, job)
        assert isinstance(made, (str, bytes)), (
            f"{stage.name} is neither text nor bytes: it cannot be sent between processes"
        )
        return made

    def render(self, stage: Stage) -> dict[str, bytes]:
        return self._guard(stage, lambda: render(stage, self.value))

    def render_until(self, stage: Stage, passes: tuple[type[EdgePass], ...]) -> dict[str, bytes]:
        """The text of the module after ``passes``, the first ones of the edge to ``stage``."""
        from .pipeline.pass_manager import run_passes
        from .pipeline.tile_ir_text_format import render as render_module

        module = self.value
        assert module is not None and not isinstance(module, (str, bytes, tuple)), (
            f"the edge to {stage.name} has passes, but its input is not a module"
        )
        return self._guard(stage, lambda: {".mlir": render_module(run_passes(passes, module, stage.job(self.job)))})

    def _guard(self, stage: Stage, work: Callable[[], T]) -> T:
        """The result of ``work``; internal errors write a dump, and name a command that reproduces them."""
        start = time.perf_counter()
        try:
            return work()
        except InternalError as error:
            raise self._reproducible(error, stage) from error
        except TileirasError as error:
            raise self._located(error) from error
        except Exception as error:
            if isinstance(error, ImportError) and (missing := missing_package(error)) is not None:
                raise missing from error
            if (limit := withheld(error)) is not None:
                raise limit from error
            message = f"stage {stage.name} failed: {describe_exception(error)}"
            raise self._reproducible(InternalError("stage-failed", message), stage) from error
        finally:
            elapsed = time.perf_counter() - start
            self.seconds[stage.name] = self.seconds.get(stage.name, 0.0) + elapsed
            if DEBUG.read() >= 1:
                print(f"{elapsed * 1e3:9.2f} ms  stage {stage.name}  {self.name or ''}", file=sys.stderr)

    def _reproducible(self, error: InternalError, stage: Stage) -> InternalError:
        try:
            path = self._write_dump(error)
        except OSError as failure:
            remedy = f"no dump: {failure.strerror or failure}"
        except TileirasError as failure:
            remedy = f"no dump: {failure.message}"
        else:
            remedy = f"bug in tileiras_build; reproduce with: {reproducer(path, self._goal(stage), self.job)}"
        remedy = f"{error.remedy}; {remedy}" if error.remedy else remedy
        located = self._located(error)
        return InternalError(located.id, located.message, location=located.location, remedy=remedy)

    def _located(self, error: TileirasError) -> TileirasError:
        """Stages that read text name it by its suffix (".ll:4:3"); if it is the input file, use the file's name."""
        if isinstance(error, ErrorGroup):
            return ErrorGroup([self._located(one) for one in error.errors])
        where = error.location
        if self.name is None or where is None or where.file != self.source.suffix or self.reached is not self.source:
            return error
        location = where._replace(file=self.name)
        return type(error)(error.id, error.message, location=location, remedy=error.remedy)

    def _goal(self, stage: Stage) -> Stage:
        """The target that reproduces an error in ``stage``: parsing a file needs a later stage."""
        return STAGES[1] if stage is STAGES[0] else stage

    def _write_dump(self, error: BaseException) -> Path:
        import hashlib
        import traceback

        from .core.user_tmp import OTHERS_WRITE, owned_folder

        name = f"{self._stem()}-{hashlib.sha256(self.data).hexdigest()[:10]}"
        folder = owned_folder(dump_folder() / name, OTHERS_WRITE)
        path = folder / f"input{self.source.suffix}"
        files = {path: self.data}
        if isinstance(self.value, str) and self.reached is not None:
            # A failing pass may leave IR half changed; text is unchanged.
            path = folder / f"input{self.reached.suffix}"
            files[path] = self.value.encode()
        if self.job.schedule:
            files[folder / SCHEDULE_FILE] = self.job.schedule.encode()
        text = "".join(traceback.format_exception(sys.exc_info()[1] or error))
        replace_files(files | {folder / "error.txt": text.encode(errors="replace")})
        return path

    def _dump_artifacts(self, stage: Stage, value: Value) -> None:
        folder, stem = dump_folder(), f"{self._stem()}-{self.job.target.name}"
        replace_files({folder / f"{stem}{suffix}": data for suffix, data in render(stage, value).items()})

    def _stem(self) -> str:
        """The base name of dumps: a valid path component on every file system, whatever the input's name."""
        return re.sub(r"[^\w.-]", "_", Path(self.name).stem)[:60] if self.name else "kernel"


def _has_own_files(stage: Stage, job: Job) -> bool:
    """Whether the caller passes other files for the stage than the installed ones."""
    named = [(file, getattr(job, file.option)) for file in stage.inputs]
    return any(path is not None and load(file.find)(path) != load(file.find)(None) for file, path in named)


def render(stage: Stage, value: object) -> dict[str, bytes]:
    """The files, by suffix, of the artifact ``value`` that ``stage`` made."""
    files = load(stage.render)(value)
    return files if isinstance(files, dict) else {stage.suffix: files}


def reproducer(path: Path, stage: Stage, job: Job) -> str:
    """The shell command that runs the file at ``path`` up to ``stage`` again."""
    from .config.build_options import DEFAULTS, project_values

    try:
        project = project_values(DEFAULTS)
    except InvalidInput:
        # The message of the first error matters more.
        project = {}
    schedule = path.parent / SCHEDULE_FILE if job.schedule else None
    return shlex.join(lower_command(path, stage, job, project, schedule))


def lower_command(
    path: Path | str, stage: Stage, job: Job, project: Container[str] = (), schedule: Path | str | None = None
) -> list[str]:
    """The same as a list of words, without the paths of libdevice and ptxas; ``schedule`` is the path of its schedule file.

    Options that have defaults in the ``project`` are written even if they have their usual value.
    """
    # A file name may begin with a dash.
    file = f"./{path}" if str(path).startswith("-") else str(path)
    command = ["tileiras-build", "lower", file, "--to", stage.name, "--sm", job.target.name]
    rows = (
        ("opt", job.opt_level != 3, ["--opt", str(job.opt_level)]),
        ("lineinfo", job.lineinfo, ["--lineinfo" if job.lineinfo else "--no-lineinfo"]),
        ("debug", job.debug, ["--device-debug" if job.debug else "--no-device-debug"]),
        ("serializer", job.serializer != "nvptx", ["--serializer", job.serializer]),
        ("llvm_pipeline", job.llvm_pipeline != "short", ["--llvm-pipeline", job.llvm_pipeline]),
        ("strategy", job.strategy != "auto", ["--strategy", job.strategy]),
        ("schedule", schedule is not None, ["--schedule", str(schedule)]),
        *(
            (row.name, value != row.default, [row.flag, str(value)])
            for row, value in zip(TUNING, job.tuning.values(), strict=True)
        ),
    )
    return command + [word for name, is_unusual, words in rows if is_unusual or name in project for word in words]


def _verify(value: Value, stage: Stage) -> None:
    if isinstance(value, (str, bytes, tuple)):
        return
    from .pipeline.pass_manager import verify

    verify(value, f"after stage {stage.name}")
