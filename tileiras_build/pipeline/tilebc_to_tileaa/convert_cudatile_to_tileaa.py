"""Convert the public tile dialect to alias-aware tile IR.

In:    cuda_tile.* as the bytecode reader builds it.
Out:   nv_tileaa + arith + math; no cuda_tile operation or type remains. Rank-0 tiles are scalars, tiles are tensors.
After: nothing (first pass). Before: every other pass.
Sound: each operation becomes one operation of the same meaning, or a short sequence, by a row of its family's table.
       Operations without a row are reported as unsupported, all of a module at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Operation

from ...frontend.argument_names_in_producer import signature_note
from ...ir.casting import str_attr
from ...ir.dialects.fast_xdsl import release
from ..job import Job
from ..pass_manager import EdgePass
from ..rewriting.dialect_conversion import Rule, RuleTable
from . import arithmetic, control_flow, matmul_reduce_scan, memory, shapes
from .op_converter import Converter, refuse

# The parts of the table: arithmetic and control flow; memory, pointers, tokens and views; operations that use both.
POPULATORS: tuple[tuple[dict[str, Rule], ...], ...] = (
    (arithmetic.RULES, control_flow.RULES),
    (memory.RULES, shapes.RULES),
    (matmul_reduce_scan.RULES,),
)


def populate(parts: Iterable[tuple[dict[str, Rule], ...]]) -> RuleTable:
    """The union of the rules, by full names."""
    table = RuleTable(otherwise=refuse)
    for rows in (rows for part in parts for rows in part):
        table.add({f"cuda_tile.{name}": rule for name, rule in rows.items()})
    return table


RULES = populate(POPULATORS)


class ConvertCudaTileToTileAA(EdgePass):
    """The first lowering: all kernels of a module."""

    name = "convert-cudatile-to-tileaa"
    illegal_ops = frozenset({"cuda_tile."})

    def run(self, module: ModuleOp, job: Job) -> None:
        public = next(op for op in module.body.block.ops if op.name == "cuda_tile.module")
        converter = Converter(RULES)
        converter.convert(public.regions[0].blocks[0], module.body.block)
        converter.diagnostics.raise_if_any()
        _preserve_names(public, module)
        public.detach()
        release(public)
        module.attributes["nv_tileaa.compute_capability"] = IntegerAttr(job.target.number, i32)
        module.attributes["nv_tileaa.target_spec"] = StringAttr(job.target.arch)


def _preserve_names(public: Operation, module: ModuleOp) -> None:
    """Record the producer's names of a kernel's arguments, for its launch manifest."""
    producer = public.properties.get("producer")
    if not isinstance(producer, StringAttr):
        return
    for op in module.body.block.ops:
        if op.name == "nv_tileaa.func" and (note := signature_note(producer.data, str_attr(op, "sym_name"))):
            op.attributes["signature"] = StringAttr(note)
