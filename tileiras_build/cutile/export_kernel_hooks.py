"""Hooks of ``export_kernel``, which compiles without a launch: they replace cuTile's calls of NVIDIA's tileiras."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..core.file_io import read_file, write_files
from . import launch_hook
from .kernel_fingerprint import snapshot_first

Function = Callable[..., Any]


def make_compile_cubin(own: Function) -> Function:
    """The replacement of ``compile_cubin``: from a bytecode file to a cubin beside it."""

    def compile_cubin(fname_bytecode: str, compiler_options: Any, sm_arch: str, *more: Any, **named: Any) -> Path:
        session = launch_hook.session
        if session is None:
            return own(fname_bytecode, compiler_options, sm_arch, *more, **named)
        level = session.cutile.opt_level(compiler_options, sm_arch)
        made = session.compiler.compile_bytecode(read_file(fname_bytecode), Path(fname_bytecode).stem, sm_arch, level)
        path = Path(fname_bytecode).with_suffix(".cubin")
        write_files({path: made})
        return path

    return compile_cubin


def make_compile_tile(own: Function) -> Function:
    """The replacement of the front end's entry point: it notifies ``kernel_fingerprint``."""

    def compile_tile(ann_func: Any, *arguments: Any, **named: Any) -> Any:
        snapshot_first(getattr(ann_func, "pyfunc", ann_func))
        return own(ann_func, *arguments, **named)

    return compile_tile


def make_bytecode_version(own: Function) -> Function:
    """The replacement of the query for the newest bytecode version of NVIDIA's tileiras."""

    def _get_max_supported_bytecode_version(*arguments: Any, **named: Any) -> Any:
        session = launch_hook.session
        return own(*arguments, **named) if session is None else session.cutile.bytecode_version

    return _get_max_supported_bytecode_version


def make_supports_remarks(own: Function) -> Function:
    """The replacement of the query whether NVIDIA's tileiras writes remarks: this compiler does not."""

    def _tileiras_supports_remarks(*arguments: Any, **named: Any) -> bool:
        return own(*arguments, **named) if launch_hook.session is None else False

    return _tileiras_supports_remarks


def make_compiler_version(own: Function) -> Function:
    """The replacement of the compiler name in the keys of cuTile's own cache on disk, where images of two compilers must differ."""

    def _get_compiler_version_string() -> str | None:
        session = launch_hook.session
        return own() if session is None else session.compiler.name

    return _get_compiler_version_string
