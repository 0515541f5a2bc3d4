"""OPTIONS: what ``scons name=value`` and ``[tool.tileiras]`` of pyproject.toml may say, each checked with one clear sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import SCons.Node.FS
import SCons.Script
from SCons.Variables import Variables

from ..book.serializers import LEVEL_NAMES, read_level
from ..errors import InvalidInput, TileirasError, one_of
from ..pipeline.job import SERIALIZERS
from ..pipeline.strategies import AUTO, NAMES
from ..targets import TARGETS, parse_targets
from ..terminal import coloured
from ..tilecpp.flags import split_flags
from .portable import check_ptx
from .project_file import read_table
from .reading import READING
from .running import LOCAL, YES_NO, check_cache, check_executor

CHOICES = {"strategy": NAMES, "serializer": SERIALIZERS}


def yes_no(name: str, text: object) -> bool:
    """What a text means; raises InvalidInput[option-value]."""
    if str(text).lower() in YES_NO:
        return YES_NO[str(text).lower()]
    raise InvalidInput("option-value", f"{name}={text} is neither yes nor no", remedy="use yes or no")


def _yes_no_or_nothing(name: str, text: str) -> None:
    if text:
        yes_no(name, text)


def choice(name: str, text: object) -> str:
    """One of ``CHOICES``; raises InvalidInput[option-value]."""
    if str(text) in CHOICES[name]:
        return str(text)
    raise InvalidInput("option-value", f"{name}={text} is not a valid value", remedy=one_of(str(text), CHOICES[name]))


def _check_folder(name: str, text: str) -> None:
    with READING.aside():
        good = text and (os.path.isdir(text) or not os.path.exists(text))
    if not good:
        raise InvalidInput("option-value", f"{name}={text} is not a folder", remedy="name a folder, or a new one")


def _check_file(name: str, text: str) -> None:
    if text and not os.path.isfile(text):
        raise InvalidInput("option-value", f"{name}={text} is not a file", remedy=f"give the path of {name}")


@dataclass(frozen=True)
class BuildOption:
    """One option: ``help`` is half a sentence; ``check(name, text)`` raises InvalidInput for a value that it cannot have."""

    name: str
    help: str
    default: str
    check: Callable[[str, str], object] = lambda name, text: None


OPTIONS: tuple[BuildOption, ...] = (
    BuildOption("sm", f"targets, separated by commas: {', '.join(TARGETS)}, or all", "sm_90", lambda _, text: parse_targets(text)),
    BuildOption("opt", f"optimization level: {', '.join(LEVEL_NAMES)}", "3", lambda _, text: read_level(text)),
    BuildOption("lineinfo", "keep source lines for profilers and debuggers: yes or no", "no", yes_no),
    BuildOption("debug", "keep source lines and variables for debuggers, with opt=0: yes or no", "no", yes_no),
    BuildOption("strategy", f"how copies overlap computation: {', '.join(NAMES)}", AUTO, choice),
    BuildOption("serializer", f"what makes the PTX: {' or '.join(SERIALIZERS)}", SERIALIZERS[0], choice),
    BuildOption("build_dir", "folder for everything that is built", "build", _check_folder),
    BuildOption("ptxas", "path of ptxas (empty: the one of nvidia-cuda-nvcc)", "", _check_file),
    BuildOption("libdevice", "path of libdevice.10.bc (empty: the one of nvidia-nvvm)", "", _check_file),
    BuildOption("nvcc", "path of nvcc for .cu files (empty: the one of nvidia-cuda-nvcc)", "", _check_file),
    BuildOption("nvcc_flags", "more flags for nvcc: include folders, macros", "", lambda _, text: split_flags(text)),
    BuildOption("cache", "shared build cache: a folder, http://host:port/path or s3://bucket/path (empty: none)", "", lambda _, text: check_cache(text)),
    BuildOption("explain", "say why each step runs: yes or no", "no", yes_no),
    BuildOption("prune", "remove what was built of kernels that do not exist any more: yes or no", "no", yes_no),
    BuildOption("executor", "where steps run: local, or tcp://host:8786, a Dask scheduler", LOCAL, lambda _, text: check_executor(text)),
    BuildOption("executor_ca", "who vouches for a cluster at tls://host:8786: a file in PEM (empty: as Dask's configuration says)", "", _check_file),
    BuildOption("executor_cert", "this build's certificate for the cluster, in PEM (empty: as Dask's configuration says)", "", _check_file),
    BuildOption("executor_key", "the key of executor_cert (empty: it is in that file)", "", _check_file),
    BuildOption("server", "let a warm server fork the workers: yes or no (empty: yes, but no in a CI)", "", _yes_no_or_nothing),
    BuildOption("pages", "`scons report` writes a page for each kernel, instead of all into one file: yes or no", "no", yes_no),
    BuildOption("keep", "`scons report` remembers this build by this name, for its kernels' history", ""),
    BuildOption("estimate", "`scons report` estimates the launches that `scons verify` has compared: yes or no", "no", yes_no),
    BuildOption("ptx", "whose PTX goes into packages for later GPUs: a target, auto or none", "auto", lambda _, text: check_ptx(text)),
    BuildOption("prefix", "folder that `scons install` puts packages into", "install"),
)  # fmt: skip
DEFAULTS: dict[str, str] = {row.name: row.default for row in OPTIONS}
CHECKS = {row.name: row.check for row in OPTIONS}
_made: list[Variables] = []  # of this run, with what the project has added to them


def variables(arguments: dict[str, str]) -> Variables:
    """The options for ``Environment(variables=…)``; ``arguments`` is SCons' ARGUMENTS. A project may add its own.

    Ends SCons with one sentence where pyproject.toml has a key or a value that is none of these options'.
    """
    try:
        project = project_defaults()
    except TileirasError as error:
        fail(error)
    result = Variables(args=arguments)
    rows = [(row.name, row.help, project.get(row.name, row.default), _validator) for row in OPTIONS]
    result.AddVariables(*rows)
    _made.append(result)
    return result


def project_defaults() -> dict[str, str]:
    """What pyproject.toml of the project's top folder says of OPTIONS; raises InvalidInput where it says anything else."""
    return read_table(SCons.Node.FS.get_default_fs().Dir("#").get_abspath(), CHECKS)


def complete(env) -> None:
    """Give ``env`` the options that it has no value for, as if it had been made with ``variables``."""
    if all(name in env for name in DEFAULTS):
        return
    given = {name: env[name] for name in DEFAULTS if name in env}
    variables(SCons.Script.ARGUMENTS).Update(env)
    for name, value in given.items():
        env[name] = value


def known_variables() -> list[Variables]:
    """All that were made, ours and the project's own in them."""
    return _made


def _validator(name: str, value: str, env) -> None:
    try:
        CHECKS[name](name, value)
    except TileirasError as error:
        fail(error)


def fail(error: TileirasError) -> NoReturn:
    """End SCons with one diagnostic. SCons' own UserError would add a stack line."""
    print(coloured(f"scons: *** {error}", sys.stderr), file=sys.stderr)
    sys.exit(error.exit_code)
