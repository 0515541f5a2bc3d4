"""OPTIONS: the options of ``scons name=value`` and ``[tool.tileiras]`` of pyproject.toml, each with a check.

Commands for one file use them as defaults (``project_values``). Modules for a check are imported on use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..core.errors import InvalidInput, suggest
from ..core.warning_classes import WARNINGS, parse_warnings
from ..pipeline.job import LLVM_PIPELINES, SERIALIZERS
from ..pipeline.pipelining_strategies import AUTO, NAMES
from ..pipeline.tuning_parameters import TUNING
from ..target.isa.serializer_options import LEVEL_NAMES, read_level
from ..target.targets import TARGETS, parse_targets
from .pyproject_table import read_table

CHOICES = {
    "strategy": NAMES,
    "serializer": SERIALIZERS,
    "llvm_pipeline": LLVM_PIPELINES,
    "tune_by": ("model", "gpu"),
}
YES_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
LOCAL = "local"
_PROTOCOLS = ("tcp", "tls")  # of Dask schedulers


def yes_no(name: str, text: object) -> bool:
    """The boolean of a text; raises InvalidInput[option-value]."""
    if str(text).lower() in YES_NO:
        return YES_NO[str(text).lower()]
    raise InvalidInput("option-value", f"{name}= must be yes or no, got {str(text)!r}")


def yes_no_or_nothing(name: str, text: object) -> bool | None:
    """The same, and None for an empty text."""
    return None if text == "" else yes_no(name, text)


def choice(name: str, text: object) -> str:
    """One of ``CHOICES``; raises InvalidInput[option-value]."""
    if str(text) in CHOICES[name]:
        return str(text)
    raise InvalidInput("option-value", f"{name}={text} is not a valid value", remedy=suggest(str(text), CHOICES[name]))


def _check_folder(name: str, text: str) -> None:
    if not text or os.path.exists(text) and not os.path.isdir(text):
        raise InvalidInput("option-value", f"{name}={text} is not a folder")


def _check_file(name: str, text: str) -> None:
    if text and not os.path.isfile(text):
        raise InvalidInput("option-value", f"{name}={text}: no such file")


def _check_flags(name: str, text: str) -> None:
    from ..frontend.tilecpp.nvcc_flags import split_flags

    split_flags(text)


def _check_cache(name: str, text: str) -> None:
    if text:
        from ..workers.executor.cache import open_store

        open_store(text)


def check_executor(name: str, text: str) -> None:
    """Raises InvalidInput[executor-value] unless ``text`` is a valid value of ``executor=``."""
    if text == LOCAL:
        return
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        if parts.scheme in _PROTOCOLS and parts.hostname and parts.port:
            return
    except ValueError:
        pass
    message = f"{name}= must be local or a Dask scheduler such as tcp://host:8786, got {text!r}"
    raise InvalidInput("executor-value", message)


def _check_ptx(name: str, text: str) -> None:
    from ..launch.packages.ptx_option import check_ptx

    check_ptx(text)


@dataclass(frozen=True)
class BuildOption:
    """One option: ``help`` is a phrase; ``check(name, text)`` raises InvalidInput for an invalid value."""

    name: str
    help: str
    default: str
    check: Callable[[str, str], object] = lambda name, text: None


OPTIONS: tuple[BuildOption, ...] = (
    BuildOption("sm", f"targets, separated by commas: {', '.join(TARGETS)}, GPUs (h100), native or all", "sm_90", lambda _, text: parse_targets(text)),
    BuildOption("opt", f"optimization level: {', '.join(LEVEL_NAMES)}", "3", lambda _, text: read_level(text)),
    BuildOption("lineinfo", "emit source line information for profilers, debuggers and the report (yes/no; empty: yes for scons report without package)", "", yes_no_or_nothing),
    BuildOption("debug", "emit full debug information, with opt=0 (yes/no)", "no", yes_no),
    BuildOption("strategy", f"software pipelining of loads: {', '.join(NAMES)}", AUTO, choice),
    BuildOption("serializer", f"PTX backend: {' or '.join(SERIALIZERS)}", SERIALIZERS[0], choice),
    BuildOption("llvm_pipeline", f"passes of LLVM: {' or '.join(LLVM_PIPELINES)} (LLVM's own)", LLVM_PIPELINES[0], choice),
    *(BuildOption(row.name, f"{row.help}: {row.values_text}", str(row.default), row.check) for row in TUNING),
    BuildOption("warnings", f"classes of warnings, separated by commas: {', '.join(WARNINGS)}, all, no-tma and so on", "", lambda _, text: parse_warnings(text)),
    BuildOption("werror", "make warnings errors (yes/no)", "no", yes_no),
    BuildOption("build_dir", "build folder", "build", _check_folder),
    BuildOption("ptxas", "path to ptxas (empty: from the nvidia-cuda-nvcc wheel)", "", _check_file),
    BuildOption("libdevice", "path to libdevice.10.bc (empty: from the nvidia-nvvm wheel)", "", _check_file),
    BuildOption("nvcc", "path to nvcc for .cu files (empty: from the nvidia-cuda-nvcc wheel)", "", _check_file),
    BuildOption("nvcc_flags", "extra nvcc flags (-I, -D)", "", _check_flags),
    BuildOption("cache", "shared build cache: a folder, http://host:port/path or s3://bucket/path (empty: none)", "", _check_cache),
    BuildOption("explain", "print why each step runs (yes/no)", "no", yes_no),
    BuildOption("prune", "delete artifacts of kernels that no longer exist (yes/no)", "no", yes_no),
    BuildOption("executor", "where steps run: local, or tcp://host:8786, a Dask scheduler", LOCAL, check_executor),
    BuildOption("executor_ca", "CA certificate (PEM) for tls:// schedulers (empty: from Dask's configuration)", "", _check_file),
    BuildOption("executor_cert", "client certificate (PEM) for tls:// schedulers (empty: from Dask's configuration)", "", _check_file),
    BuildOption("executor_key", "private key of executor_cert (empty: in the same file)", "", _check_file),
    BuildOption("server", "use a background compile server (yes/no; empty: yes, but no if CI is set)", "", yes_no_or_nothing),
    BuildOption("pages", "scons report: one HTML page per kernel instead of a single file (yes/no)", "no", yes_no),
    BuildOption("report_label", "scons report: label of this build in the history", ""),
    BuildOption("estimate", "scons report: estimate run times and rooflines of the launches that the cases name (yes/no)", "yes", yes_no),
    BuildOption("tune_by", "scons tune: what times the points of a space: model, or gpu (this machine's)", CHOICES["tune_by"][0], choice),
    BuildOption("ptx", "PTX to embed in packages for forward compatibility: a target, auto or none", "auto", _check_ptx),
    BuildOption("prefix", "install folder for packages", "install"),
)  # fmt: skip
DEFAULTS: dict[str, str] = {row.name: row.default for row in OPTIONS}
CHECKS = {row.name: row.check for row in OPTIONS}


def project_values(names: Iterable[str]) -> dict[str, str]:
    """The values in pyproject.toml of the current folder for the options ``names``.

    Other folders are not searched: the file may name programs, and parent folders may belong to others. Raises InvalidInput if
    scons would refuse the file.
    """
    found = read_table("", CHECKS)
    return {name: found[name] for name in names if name in found}
