"""A pipelined matmul that also prints a small integer twice: every pass of the edge has something to do."""

from functools import cache

from xdsl.dialects.builtin import ModuleOp, StringAttr, i8
from xdsl.ir import Block, Operation

from tests.examples.example_library import bytecode_of
from tileiras_build import driver
from tileiras_build.ir.dialects import arith
from tileiras_build.pipeline import tile_ir_text_format
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tileas_to_ll import PASSES
from tileiras_build.pipeline.tileas_to_ll.convert_tile_as_to_llvm import ConvertTileASToLLVM
from tileiras_build.pipeline.tileas_to_ll.decompose_prints import PrintOp
from tileiras_build.target.targets import find_target

JOB = Job(find_target("sm_80"))
CONVERSION = PASSES.index(ConvertTileASToLLVM)


@cache
def _text() -> bytes:
    return driver.lower(bytecode_of("matmul_f16_nt"), "tilebc", "tileas", JOB)[".tileas"]


def scheduled() -> ModuleOp:
    """The module as the edge takes it."""
    made = tile_ir_text_format.parse(_text())
    block = body_of(made)
    number = next(op for op in block.ops if op.name == "nv_tileas.get_program_id").results[0]
    narrow = arith.TruncIOp.make([number], [i8])
    again = arith.TruncIOp.make([number], [i8])
    token = next(op for op in block.walk() if op.name == "nv_tileas.create_mem_token").results[0].type
    printing = PrintOp.make([[narrow.results[0], again.results[0]], None], [token], {"format": StringAttr("%d %u\n")})
    for op in (narrow, again, printing):
        block.insert_op_before(op, block.last_op)
    return made


def before_conversion() -> ModuleOp:
    """The module right before its kernels become thread code."""
    return run_passes(PASSES[:CONVERSION], scheduled(), JOB)


def converted() -> ModuleOp:
    """The module right after that."""
    return run_passes(PASSES[: CONVERSION + 1], scheduled(), JOB)


def body_of(module: ModuleOp) -> Block:
    """The first block of the only kernel."""
    [kernel] = [op for op in module.body.block.ops if op.name in ("nv_tileaa.func", "func.func")]
    return kernel.regions[0].block


def first(module: ModuleOp, name: str) -> Operation:
    """The first operation called ``name``."""
    return next(op for op in module.walk() if op.name == name)
