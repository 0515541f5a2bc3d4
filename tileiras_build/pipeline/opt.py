"""``tileiras-build opt FILE.mlir --pass NAME``: run passes by name over MLIR text, and print the result."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from functools import cache, partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect

from ..core.errors import InternalError, InvalidInput, Location, suggest
from ..core.file_io import read_file
from ..ir.casting import cast
from ..ir.dialects.checked_mlir_parser import parse_or_raise
from ..target.isa.serializer_options import read_level
from ..target.targets import find_target, target_of_options
from . import tile_ir_text_format
from .job import Job, check_debug
from .pass_manager import EdgePass, run_passes
from .stages import STAGES, load
from .text_encoding import decode

_TILEAS_TO_LL = "tileiras_build.pipeline.tileas_to_ll"
_NVVM = f"{_TILEAS_TO_LL}.convert_nvgpu_and_gpu_to_nvvm"
_CUTE = f"{_TILEAS_TO_LL}.convert_cute_to_llvm"

# Passes that no stage runs by default -> "module:Class"; ``registry`` adds those of the stages.
PASSES: dict[str, str] = {
    "scalarize-vector-math": f"{_NVVM}:ScalarizeVectorMath",
    "convert-math-to-libdevice": f"{_NVVM}:ConvertMathToLibdevice",
    "convert-nvgpu-and-gpu-to-nvvm": f"{_NVVM}:ConvertNVGPUAndGPUToNVVM",
    "convert-pipeline-to-nvvm": f"{_CUTE}:ConvertPipelineToNVVM",
    "convert-to-llvm": f"{_TILEAS_TO_LL}.convert_to_llvm:ConvertToLLVM",
    "reconcile-unrealized-casts": f"{_TILEAS_TO_LL}.reconcile_casts:ReconcileUnrealizedCasts",
}

# MLIR dialects besides those of the text artifacts; ours take precedence for a name of both.
DIALECTS: dict[str, str] = tile_ir_text_format.DIALECTS | {
    "arith": "tileiras_build.ir.dialects.arith_ext:Arith",
    "cf": "xdsl.dialects.cf:Cf",
    "memref": "tileiras_build.ir.dialects.memref_ext:MemRef",
    "vector": "tileiras_build.ir.dialects.vector_ext:Vector",
    "math": "tileiras_build.ir.dialects.math_ext:Math",
    "gpu": "tileiras_build.ir.dialects.gpu_ext:GPU",
    "llvm": "tileiras_build.ir.dialects.llvm_ext:LLVM",
    "nvvm": "tileiras_build.ir.dialects.nvvm:NVVM",
    "nvgpu": "tileiras_build.ir.dialects.nvgpu.dialect:NVGPU",
    "cute": "tileiras_build.ir.dialects.cute.dialect:CuteAlgebra",
    "cute_nvgpu": "tileiras_build.ir.dialects.cute_nvgpu:CuteNvgpu",
    "cutlass": "tileiras_build.ir.dialects.cutlass.dialect:Cutlass",
    "debuginfo": "tileiras_build.ir.dialects.debuginfo:DebugInfo",
}
DEFAULT_TARGET = "90"
# Text with these is a text artifact, in which arith and math operate on tiles. A module's attributes and source
# locations (#cuda_tile.di_loc) alone do not make it one.
_OP_TRAITS_MODULES = "compute_capability|target_spec|libnvvm_use_nvgpucomp"
_TILES = re.compile(rf"(?<!#)\b(?:cuda_tile|nv_tileaa|nv_tileas)\.(?!(?:{_OP_TRAITS_MODULES})\b)")


@cache
def context() -> Context:
    """The xDSL context with every dialect that a pass may read or create."""
    result = Context()
    for name, entry in DIALECTS.items():
        result.register_dialect(name, partial(_dialect, entry))
    result.load_registered_dialect("builtin")
    return result


def _dialect(entry: str) -> Dialect:
    return cast(Dialect, load(entry))


def registry() -> dict[str, type[EdgePass]]:
    """Every pass by name: those of PASSES, and those of the stages."""
    found = {name: _pass(entry) for name, entry in PASSES.items()}
    for stage in STAGES[1:]:
        for entry in stage.passes:
            found.setdefault(entry.name, entry)
    return found


def _pass(entry: str) -> type[EdgePass]:
    found = load(entry)
    if isinstance(found, type) and issubclass(found, EdgePass):
        return found
    raise InternalError("pass-entry", f"{entry} is not a pass")


def find_pass(name: str) -> type[EdgePass]:
    """The pass ``name``; raises InvalidInput with the valid names."""
    passes = registry()
    if name not in passes:
        raise InvalidInput("pass-unknown", f"{name!r} is not a pass", remedy=suggest(name, sorted(passes)))
    return passes[name]


def parse_module(text: str, name: str | None = None) -> ModuleOp:
    """The verified module of MLIR text; raises InvalidInput with the line and column."""
    if _TILES.search(text):
        return tile_ir_text_format.parse(text.encode(), name)
    parser = tile_ir_text_format.StringParser
    module = parse_or_raise(lambda: parser(context(), text, name or "<input>"), parser.parse_module, text, name)
    tile_ir_text_format.verify_user_ir(module, name)
    return module


def run(
    text: str, passes: Sequence[str], *, sm: str = DEFAULT_TARGET, name: str | None = None, job: Job | None = None
) -> str:
    """MLIR text after ``passes`` (names, in order) for the target ``sm``; parsing it returns the same module.

    ``job`` has all options at once, instead of ``sm``.
    """
    return tile_ir_text_format.render(transform(text, passes, job or Job(find_target(sm)), name)).decode()


def transform(text: str, passes: Sequence[str], job: Job, name: str | None = None) -> ModuleOp:
    """Parse MLIR text and run ``passes`` on it."""
    classes = [find_pass(entry) for entry in passes]
    return run_passes(classes, parse_module(text, name), job, edge="opt")


def llvm_ir(module: ModuleOp, job: Job) -> str:
    """Lower a module in place to llvm and nvvm operations, and return its LLVM IR."""
    from .tileas_to_ll.attach_nvvm_target import check_serializable
    from .tileas_to_ll.convert_to_llvm import ConvertToLLVM
    from .tileas_to_ll.writer.write_llvm_dialect import write

    run_passes([ConvertToLLVM], module, job, edge="opt")
    check_serializable(module, job)
    return write(module)


def run_file(options: argparse.Namespace) -> None:
    """``opt FILE.mlir --pass NAME … [--ll]``: print the module after the passes."""
    data = sys.stdin.buffer.read() if options.file == "-" else read_file(options.file)
    text, job = decode(data, options.file), job_of(options)
    try:
        module = transform(text, options.passes, job, options.file)
        result = llvm_ir(module, job) if options.ll else tile_ir_text_format.render(module).decode()
    except InternalError as error:
        raise _as_text_error(error, options.file) from error
    sys.stdout.write(result)


def _as_text_error(error: InternalError, path: str) -> InvalidInput:
    """Convert an internal error to one of the input: verifiers do not check all preconditions of passes."""
    where = error.location or Location(path)
    remedy = error.remedy or "see the preconditions in `tileiras-build passes`"
    return InvalidInput(
        error.id, f"the passes do not support this text: {error.message}", location=where, remedy=remedy
    )


def job_of(options: argparse.Namespace) -> Job:
    """The job of the command's options; raises InvalidInput for inconsistent ones."""
    target = target_of_options(options.sm, options.compute_capability)
    level, width = read_level(options.opt), options.index_bitwidth
    return check_debug(Job(target, level, options.lineinfo, options.device_debug, index_width=width))
