"""The build's options: read from the command line (``scons sm=90,100 opt=3``), each checked with one clear sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from SCons.Variables import Variables

from ..book.serializers import LEVEL_NAMES, read_level
from ..errors import InvalidInput, TileirasError
from ..pipeline.job import SERIALIZERS, Job, check_debug
from ..pipeline.stages import Stage, load
from ..pipeline.strategies import AUTO, NAMES
from ..targets import TARGETS, Target, parse_targets
from ..tilecpp.flags import split_flags
from .portable import check_ptx
from .reading import READING
from .running import LOCAL, YES_NO, check_cache, check_executor

_NUMBERS = ", ".join(str(target.number) for target in TARGETS.values())
DEFAULTS = {
    "sm": "90", "opt": "3", "lineinfo": "no", "debug": "no", "strategy": AUTO, "serializer": SERIALIZERS[0], "build_dir": "build",
    "ptxas": "", "libdevice": "", "nvcc": "", "nvcc_flags": "", "instantiate": (), "ptx": "auto", "prefix": "install",
}  # fmt: skip
CHOICES = {"strategy": NAMES, "serializer": SERIALIZERS}


def variables(arguments: dict[str, str]) -> Variables:
    """The options for ``Environment(variables=…)``; ``arguments`` is SCons' ARGUMENTS."""
    result = Variables(args=arguments)
    result.AddVariables(
        ("sm", f"targets, separated by commas: {_NUMBERS}, or all", DEFAULTS["sm"], _check_sm),
        ("opt", f"optimization level: {', '.join(LEVEL_NAMES)}", DEFAULTS["opt"], _check_opt),
        ("lineinfo", "keep source lines for profilers and debuggers: yes or no", DEFAULTS["lineinfo"], _check_yes_no),
        (
            "debug",
            "keep source lines and variables for debuggers, with opt=0: yes or no",
            DEFAULTS["debug"],
            _check_yes_no,
        ),
        ("strategy", f"how copies overlap computation: {', '.join(NAMES)}", DEFAULTS["strategy"], _check_choice),
        ("serializer", f"what makes the PTX: {' or '.join(SERIALIZERS)}", DEFAULTS["serializer"], _check_choice),
        ("build_dir", "folder for everything that is built", DEFAULTS["build_dir"], _check_build_dir),
        ("ptxas", "path of ptxas (empty: the one of nvidia-cuda-nvcc)", DEFAULTS["ptxas"], _check_file),
        ("libdevice", "path of libdevice.10.bc (empty: the one of nvidia-nvvm)", DEFAULTS["libdevice"], _check_file),
        ("nvcc", "path of nvcc for .cu files (empty: the one of nvidia-cuda-nvcc)", DEFAULTS["nvcc"], _check_file),
        ("nvcc_flags", "more flags for nvcc: include folders, macros", DEFAULTS["nvcc_flags"], _check_flags),
        ("cache", "shared build cache: a folder, or http://host:port/path (empty: none)", "", _check_cache),
        ("explain", "say why each step runs: yes or no", "no", _check_yes_no),
        ("prune", "remove what was built of kernels that do not exist any more: yes or no", "no", _check_yes_no),
        ("executor", "where steps run: local, or tcp://host:8786, a Dask scheduler", LOCAL, _check_executor),
        ("server", "let a warm server fork the workers: yes or no (empty: yes, but no in a CI)", "", _check_maybe),
        ("ptx", "whose PTX goes into packages for later GPUs: a number, auto or none", DEFAULTS["ptx"], _check_ptx),
        ("prefix", "folder that `scons install` puts packages into", DEFAULTS["prefix"]),
    )
    return result


def refuse_unknown(known: Variables) -> None:
    """End the build if the command line has an option that is not one of ``known`` (``scons ms=90``)."""
    for name in known.UnknownVariables():
        fail(InvalidInput("option-unknown", f"unknown option {name}=", remedy=f"use one of {', '.join(known.keys())}"))


def fail(error: TileirasError) -> NoReturn:
    """End SCons with one diagnostic. SCons' own UserError would add a stack line."""
    print(f"scons: *** {error}", file=sys.stderr)
    sys.exit(error.exit_code)


@dataclass(frozen=True)
class Settings:
    """The options of one environment, checked. ``libdevice``, ``ptxas`` and ``nvcc`` are paths, None = the installed ones.

    ``instantiate`` names kernels, as C++ does, which nvcc makes of a file's templates.
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
    nvcc: str | None = None
    nvcc_flags: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()

    def choices(self, target: Target) -> Job:
        """What is asked for ``target``, without files."""
        level, strategy, serializer = self.opt_level, self.strategy, self.serializer
        return Job(target, level, self.lineinfo, self.debug, strategy=strategy, serializer=serializer)

    def job(self, target: Target, stage: Stage) -> Job:
        """What ``stage`` is asked to do for ``target``, with the paths of its input files found."""
        job = stage.job(self.choices(target))
        with READING.looking_up():
            found = {file.option: load(file.find)(getattr(self, file.option)) for file in stage.inputs}
        paths: dict[str, Any] = {name: str(path) for name, path in found.items()}
        return replace(job, **paths)


def read_settings(env, **given: object) -> Settings:
    """The settings of a construction environment; ``given`` (sm="90", None = not given) win. Raises InvalidInput."""
    option = {name: env.get(name, default) for name, default in DEFAULTS.items()}
    option |= {name: value for name, value in given.items() if value is not None}
    targets = tuple(parse_targets(option["sm"]))
    paths = (_path(env, option["libdevice"]), _path(env, option["ptxas"]))
    choices = {name: _choice(name, option[name]) for name in CHOICES}
    lines, debug = (_yes_no(option[name], name) for name in ("lineinfo", "debug"))
    level, folder = read_level(option["opt"]), str(option["build_dir"])
    nvcc, flags, kernels = _tilecpp(env, option)
    how = (choices["strategy"], choices["serializer"])
    settings = Settings(targets, level, lines, debug, folder, *paths, *how, nvcc, flags, kernels)
    check_debug(settings.choices(targets[0]))
    return settings


def _tilecpp(env, option: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """The options for CUDA Tile C++: nvcc, its flags, and what it instantiates."""
    kernels = option["instantiate"]
    kernels = (kernels,) if isinstance(kernels, str) else tuple(map(str, kernels))
    return _path(env, option["nvcc"]), split_flags(option["nvcc_flags"]), kernels


def _path(env, text: str) -> str | None:
    """Seen from the top folder: in an SConscript of a variant directory too the option names one file."""
    if not text:
        return None
    return env.File(text if text.startswith("#") or os.path.isabs(text) else f"#{text}").get_abspath()


def is_explaining(env) -> bool:
    """Whether the build says why each step runs (``explain=1``)."""
    return _yes_no(env.get("explain", "no"), "explain")


def is_pruning(env) -> bool:
    """Whether the build removes what kernels have left that do not exist any more (``prune=1``)."""
    return _yes_no(env.get("prune", "no"), "prune")


def _yes_no(text: object, name: str) -> bool:
    if str(text).lower() in YES_NO:
        return YES_NO[str(text).lower()]
    raise InvalidInput("option-value", f"{name}={text} is neither yes nor no", remedy="use yes or no")


def _choice(name: str, text: object) -> str:
    if str(text) in CHOICES[name]:
        return str(text)
    valid = ", ".join(CHOICES[name])
    raise InvalidInput("option-value", f"{name}={text} is not a valid value", remedy=f"use one of {valid}")


def _check(check, value) -> None:
    try:
        check(value)
    except TileirasError as error:
        fail(error)


def _check_sm(name, value, env) -> None:
    _check(parse_targets, value)


def _check_ptx(name, value, env) -> None:
    _check(check_ptx, value)


def _check_flags(name, value, env) -> None:
    _check(split_flags, value)


def _check_opt(name, value, env) -> None:
    _check(read_level, value)


def _check_choice(name, value, env) -> None:
    _check(lambda text: _choice(name, text), value)


def _check_yes_no(name, value, env) -> None:
    _check(lambda text: _yes_no(text, name), value)


def _check_maybe(name, value, env) -> None:
    if value:
        _check_yes_no(name, value, env)


def _check_build_dir(name, value, env) -> None:
    with READING.aside():
        good = value and (os.path.isdir(value) or not os.path.exists(value))
    if not good:
        fail(InvalidInput("option-value", f"build_dir={value} is not a folder", remedy="name a folder, or a new one"))


def _check_cache(name, value, env) -> None:
    _check(check_cache, value)


def _check_executor(name, value, env) -> None:
    _check(check_executor, value)


def _check_file(name, value, env) -> None:
    if value and not os.path.isfile(value):
        fail(InvalidInput("option-value", f"{name}={value} is not a file", remedy=f"give the path of {name}"))
