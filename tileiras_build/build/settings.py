"""``Settings``: the checked options of one environment, or of some kernels."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..config.build_options import CHOICES, choice, yes_no, yes_no_or_nothing
from ..config.build_options import DEFAULTS as BUILD_DEFAULTS
from ..core.errors import TileirasError
from ..core.warning_classes import NO_WARNINGS, WarningOptions, parse_warnings
from ..frontend.tilecpp.nvcc_flags import split_flags
from ..pipeline.job import LLVM_PIPELINES, SERIALIZERS, Job, check_debug
from ..pipeline.pipelining_strategies import AUTO
from ..pipeline.schedule.schedule_file import read_schedule, with_file_name
from ..pipeline.stages import Stage, load
from ..pipeline.tuning_parameters import parse_tuning
from ..target.isa.serializer_options import read_level
from ..target.targets import Target, is_native, parse_targets
from .always_build import INSTALL, PACKAGE, REPORT, is_requested
from .incremental.sconscript_trace import TRACE
from .scons_variables import option_text

DEFAULTS: dict[str, Any] = BUILD_DEFAULTS | {"instantiate": (), "schedule": ""}


@dataclass(frozen=True)
class Settings:
    """The options of one environment, checked. ``libdevice``, ``ptxas`` and ``nvcc`` are paths, None = the installed ones.

    ``schedule`` is the path of a schedule file, ``schedule_text`` its text. ``instantiate`` are C++ names of the template instances that nvcc compiles; ``tuning`` are values of ``TUNING`` by name.
    """

    targets: tuple[Target, ...]
    opt_level: int | str
    lineinfo: bool
    debug: bool
    build_dir: str
    libdevice: str | None
    ptxas: str | None
    strategy: str = AUTO
    serializer: str = SERIALIZERS[0]
    llvm_pipeline: str = LLVM_PIPELINES[0]
    nvcc: str | None = None
    nvcc_flags: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()
    tuning: tuple[tuple[str, int], ...] = ()
    schedule: str | None = None
    schedule_text: str = ""
    warnings: WarningOptions = NO_WARNINGS

    def choices(self, target: Target) -> Job:
        """The job for ``target``, without files."""
        level, strategy, serializer = self.opt_level, self.strategy, self.serializer
        job = Job(
            target,
            level,
            self.lineinfo,
            self.debug,
            strategy=strategy,
            serializer=serializer,
            schedule=self.schedule_text,
            llvm_pipeline=self.llvm_pipeline,
        )
        return job.with_tuning(dict(self.tuning))

    def job(self, target: Target, stage: Stage) -> Job:
        """The job of ``stage`` for ``target``, with the paths of its input files."""
        job = stage.job(self.choices(target))
        with TRACE.probing_installed():
            found = {file.option: load(file.find)(getattr(self, file.option)) for file in stage.inputs}
        paths: dict[str, Any] = {name: str(path) for name, path in found.items()}
        return replace(job, **paths)


def read_settings(env, **overrides: object) -> Settings:
    """The settings of a construction environment; ``given`` (sm="90", None = not given) take precedence. Raises InvalidInput."""
    option = {name: env.get(name, default) for name, default in DEFAULTS.items()}
    option |= {name: value for name, value in overrides.items() if value is not None}
    option |= {name: option_text(name, option[name]) for name in BUILD_DEFAULTS}
    targets = tuple(parse_targets(option["sm"]))
    if is_native(option["sm"]):
        TRACE.add_untraceable("sm=native asks the CUDA driver")
    paths = (_path(env, option["libdevice"]), _path(env, option["ptxas"]))
    choices = {name: choice(name, option[name]) for name in CHOICES}
    lines, debug = _wants_lines(option["lineinfo"]), yes_no("debug", option["debug"])
    level, folder = read_level(option["opt"]), str(option["build_dir"])
    nvcc, flags, kernels = _tilecpp(env, option)
    how = (choices["strategy"], choices["serializer"], choices["llvm_pipeline"])
    tuning = tuple(parse_tuning(option).items())
    schedule = _schedule(_path(env, str(option["schedule"])))
    warnings = WarningOptions(parse_warnings(option["warnings"]), yes_no("werror", option["werror"]))
    settings = Settings(
        targets, level, lines, debug, folder, *paths, *how, nvcc, flags, kernels, tuning, *schedule, warnings
    )
    check_debug(settings.choices(targets[0]))
    return settings


def _wants_lines(text: object) -> bool:
    """Whether machine code keeps source lines; without the option a report keeps them, unless it is also packaged."""
    given = yes_no_or_nothing("lineinfo", text)
    is_shipped = is_requested(PACKAGE) or is_requested(INSTALL)
    return is_requested(REPORT) and not is_shipped if given is None else given


def _tilecpp(env, option: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """The options for CUDA Tile C++: nvcc, its flags, and the template instances."""
    kernels = option["instantiate"]
    kernels = (kernels,) if isinstance(kernels, str) else tuple(map(str, kernels))
    return _path(env, option["nvcc"]), split_flags(option["nvcc_flags"]), kernels


def _schedule(path: str | None) -> tuple[str | None, str]:
    """The path and the text of a schedule file. The trace of the build scripts records that it is read."""
    if path is None:
        return None, ""
    try:
        return path, read_schedule(path)
    except TileirasError as error:
        raise with_file_name(error, path) from error


def _path(env, text: str) -> str | None:
    """Relative to the top folder: an option names the same file in an SConscript of a variant directory."""
    if not text:
        return None
    return env.File(text if text.startswith("#") or os.path.isabs(text) else f"#{text}").get_abspath()
