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

# Passes that no edge runs by itself -> "module:Class"; ``registry`` adds those of the edges.
PASSES: dict[str, str] = {
    "scalarize-vector-math": f"{_NVVM}:ScalarizeVectorMath",
    "convert-math-to-libdevice": f"{_NVVM}:ConvertMathToLibdevice",
    "convert-nvgpu-and-gpu-to-nvvm": f"{_NVVM}:ConvertNVGPUAndGPUToNVVM",
    "convert-pipeline-to-nvvm": f"{_CUTE}:ConvertPipelineToNVVM",
    "convert-to-llvm": f"{_TILEAS_TO_LL}.convert_to_llvm:ConvertToLLVM",
    "reconcile-unrealized-casts": f"{_TILEAS_TO_LL}.reconcile_casts:ReconcileUnrealizedCasts",
}

# Dialects of MLIR, beside those of the text artifacts; a name of both is ours.
DIALECTS: dict[str, str] = tile_ir_text_format.DIALECTS | {
    "arith": "tileiras_build.ir.dialects.arith_ext:Arith",
    "cf": "xdsl.dialects.cf:Cf",
    "memref": "tileiras_build.ir.dialects.memref_ext:MemRef",
    "vector": "tileiras_build.ir.dialects.vector_ext:Vector",
    "math": "tileiras_build.ir.dialects.math_ext:Math",
    "gpu": "tileiras_build.ir.dialects.gpu_ext:GPU",
    "llvm": "tileiras_build.ir.dialects.llvm_ext:LLVM",
    "nvvm": "tileiras_build.ir.dialects.nvvm:NVVM",
    "nvgpu": "tileiras_build.ir.dialects.nvgpu:NVGPU",
    "cute": "tileiras_build.ir.dialects.cute.dialect:CuteAlgebra",
    "cute_nvgpu": "tileiras_build.ir.dialects.cute_nvgpu:CuteNvgpu",
    "cutlass": "tileiras_build.ir.dialects.cutlass:Cutlass",
    "debuginfo": "tileiras_build.ir.dialects.debuginfo:DebugInfo",
}
DEFAULT_TARGET = "90"
# Text with these is a text artifact: there arith and math work on tiles. A module's facts and the places of its source
# (#cuda_tile.di_loc) alone do not make it one.
_OP_TRAITS_MODULES = "compute_capability|target_spec|libnvvm_use_nvgpucomp"
_TILES = re.compile(rf"(?<!#)\b(?:cuda_tile|nv_tileaa|nv_tileas)\.(?!(?:{_OP_TRAITS_MODULES})\b)")


@cache
def context() -> Context:
    """The xDSL context with every dialect that a pass may read or make."""
    result = Context()
    for name, entry in DIALECTS.items():
        result.register_dialect(name, partial(_dialect, entry))
    result.load_registered_dialect("builtin")
    return result


def _dialect(entry: str) -> Dialect:
    return cast(Dialect, load(entry))


def registry() -> dict[str, type[EdgePass]]:
    """Every pass by name: those of PASSES, and those that the edges run."""
    found = {name: _pass(entry) for name, entry in PASSES.items()}
    for stage in STAGES[1:]:
        for entry in stage.passes:
            found.setdefault(entry.name, entry)
    return found


def _pass(entry: str) -> type[EdgePass]:
    found = load(entry)
    if isinstance(found, type) and issubclass(found, EdgePass):
        return found
    raise InternalError("pass-entry", f"{entry} is no pass")


def find_pass(name: str) -> type[EdgePass]:
    """The pass called ``name``; raises InvalidInput naming the valid ones."""
    passes = registry()
    if name not in passes:
        raise InvalidInput("pass-unknown", f"{name!r} is not a pass", remedy=suggest(name, sorted(passes)))
    return passes[name]


def parse_module(text: str, name: str | None = None) -> ModuleOp:
    """The verified module that MLIR text holds; raises InvalidInput with the line and column."""
    if _TILES.search(text):
        return tile_ir_text_format.parse(text.encode(), name)
    parser = tile_ir_text_format.StringParser
    module = parse_or_raise(lambda: parser(context(), text, name or "<input>"), parser.parse_module, text, name)
    tile_ir_text_format.verify_user_ir(module, name)
    return module


def run(
    text: str, passes: Sequence[str], *, sm: str = DEFAULT_TARGET, name: str | None = None, job: Job | None = None
) -> str:
    """MLIR text after ``passes`` (names, in order) for the target ``sm``; it parses back to the same module.

    ``job`` has all options at once, instead of ``sm``.
    """
    return tile_ir_text_format.render(transform(text, passes, job or Job(find_target(sm)), name)).decode()


def transform(text: str, passes: Sequence[str], job: Job, name: str | None = None) -> ModuleOp:
    """The module that MLIR text becomes by ``passes``."""
    classes = [find_pass(entry) for entry in passes]
    return run_passes(classes, parse_module(text, name), job, edge="opt")


def llvm_ir(module: ModuleOp, job: Job) -> str:
    """LLVM IR of a module, in place made one of llvm and nvvm operations alone."""
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
    """Verifiers do not know all that passes promise each other; here nobody but the user made the promise."""
    where = error.location or Location(path)
    remedy = error.remedy or "see what `tileiras-build passes` says that the pass takes"
    return InvalidInput(error.id, f"the passes cannot take this text: {error.message}", location=where, remedy=remedy)


def job_of(options: argparse.Namespace) -> Job:
    """The job that the options of the command ask for; raises InvalidInput for those that do not go together."""
    target = target_of_options(options.sm, options.compute_capability)
    level, width = read_level(options.opt), options.index_bitwidth
    return check_debug(Job(target, level, options.lineinfo, options.device_debug, index_width=width))
