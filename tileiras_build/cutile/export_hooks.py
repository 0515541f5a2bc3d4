"""What cuTile compiles without a launch (``export_kernel``): its function that runs NVIDIA's tileiras is taken over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..core.file_io import read_file, write_files
from . import launch_hook
from .kernel_fingerprint import snapshot_first

Function = Callable[..., Any]


def make_compile_cubin(own: Function) -> Function:
    """The function that takes the place of ``compile_cubin``: from a file of bytecode to a cubin beside it."""

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
    """The function that takes the place of the front end's entry: it tells who knows kernels by what they are made of."""

    def compile_tile(ann_func: Any, *arguments: Any, **named: Any) -> Any:
        snapshot_first(getattr(ann_func, "pyfunc", ann_func))
        return own(ann_func, *arguments, **named)

    return compile_tile


def make_bytecode_version(own: Function) -> Function:
    """The function that takes the place of what asks NVIDIA's tileiras for its newest bytecode."""

    def _get_max_supported_bytecode_version(*arguments: Any, **named: Any) -> Any:
        session = launch_hook.session
        return own(*arguments, **named) if session is None else session.cutile.bytecode_version

    return _get_max_supported_bytecode_version


def make_supports_remarks(own: Function) -> Function:
    """The function that takes the place of what asks NVIDIA's tileiras whether it writes remarks: we do not."""

    def _tileiras_supports_remarks(*arguments: Any, **named: Any) -> bool:
        return own(*arguments, **named) if launch_hook.session is None else False

    return _tileiras_supports_remarks


def make_compiler_version(own: Function) -> Function:
    """The function that takes the place of what names the compiler in the keys of cuTile's own cache on disk, where images of
    two compilers must not meet."""

    def _get_compiler_version_string() -> str | None:
        session = launch_hook.session
        return own() if session is None else session.compiler.name

    return _get_compiler_version_string
