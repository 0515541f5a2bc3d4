"""One public operation in a kernel, converted to alias-aware tile IR.

Types are written short: ``f32:8`` is a tile of 8 floats, ``ptr f32`` a pointer, ``token`` and ``memref`` stand for
themselves.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tile_ir_text_format import context
from tileiras_build.pipeline.tilebc_to_tileaa.convert_cudatile_to_tileaa import ConvertCudaTileToTileAA
from tileiras_build.target.targets import find_target

NAMED = {
    "token": "!cuda_tile.token",
    "memref": "!cuda_tile.tensor_view<?x16xf32, strides=[16,1]>",
    "partition": "!cuda_tile.partition_view<tile=(4x8), padding_value = zero, "
    "!cuda_tile.tensor_view<?x16xf32, strides=[16,1]>>",
    "strided": "!cuda_tile.strided_view<tile=(4x8), traversal_strides=[2,8], "
    "!cuda_tile.tensor_view<?x16xf32, strides=[16,1]>>",
    "gather": "!cuda_tile.gather_scatter_view<tile=(4x8), "
    "!cuda_tile.tensor_view<?x16xf32, strides=[16,1]>, sparse_dim=0>",
}


def type_text(short: str) -> str:
    """The type that a short spelling stands for."""
    if short in NAMED:
        return NAMED[short]
    element, _, shape = short.partition(":")
    if element.startswith("ptr "):
        element = f"!cuda_tile.ptr<{element[4:]}>"
    return f"!cuda_tile.tile<{shape + 'x' if shape else ''}{element}>"


def kernel_text(name: str, operands: list[str], results: list[str], properties: str = "", region: str = "") -> str:
    """A module with one entry whose parameters are the operands of its one operation."""
    operands, results = [type_text(short) for short in operands], [type_text(short) for short in results]
    values = [f"%a{number}" for number in range(len(operands))]
    names = ", ".join(f"%r{number}" for number in range(len(results)))
    parameters = ", ".join(f"{value}: {type}" for value, type in zip(values, operands))
    entry = f"^bb0({parameters}):" if operands else ""
    outputs = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"""builtin.module {{
      "cuda_tile.module"() <{{sym_name = "kernels"}}> ({{
        "cuda_tile.entry"() <{{sym_name = "k", function_type = ({", ".join(operands)}) -> ()}}> ({{
        {entry}
          {names + " = " if results else ""}"cuda_tile.{name}"({", ".join(values)}) {f"<{{{properties}}}>" if properties else ""}
            {f"({region})" if region else ""} : ({", ".join(operands)}) -> {outputs}
          "cuda_tile.return"() : () -> ()
        }}) : () -> ()
      }}) : () -> ()
    }}"""


def parse_kernel(text: str) -> ModuleOp:
    """The module; the entry is not verified, whose parameters may not be tiles, but its operations are."""
    module = Parser(context(), text).parse_module()
    [entry] = [op for op in module.walk() if op.name == "cuda_tile.entry"]
    for op in entry.regions[0].blocks[0].ops:
        op.verify()
    return module


def convert(
    name: str, operands: list[str], results: list[str], properties: str = "", region: str = ""
) -> list[Operation]:
    """The operations that the public one becomes, without the return."""
    module = parse_kernel(kernel_text(name, operands, results, properties, region))
    run_passes((ConvertCudaTileToTileAA,), module, Job(find_target("sm_90")))
    kernel = next(op for op in module.body.block.ops if op.name == "nv_tileaa.func")
    return list(kernel.regions[0].blocks[0].ops)[:-1]
