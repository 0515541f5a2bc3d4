"""Give kernels their launch bounds.

In:    nv_tileaa.func with num_warps, and the entry's optimization hints.
Out:   the same with cute.kernel, nvvm.reqntid and, where occupancy was asked for, nvvm.maxnreg.
After: layouts are assigned (the number of warps is final). Before: the text of the kernel is written.
Sound: the register limit is what the register file gives each thread when that many CTAs are resident.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i32
from xdsl.ir import Operation

from ..contracts import EdgePass
from ..job import Job

# 64 Ki registers per multiprocessor on every target, allotted to warps in units of 8 per thread
# (CUDA Programming Guide, "Technical Specifications per Compute Capability").
REGISTER_FILE, REGISTER_UNIT, MAX_REGISTERS = 65536, 8, 255


class ConvertTileFuncToLLVM(EdgePass):
    """Launch bounds from the kernel's warps and hints."""

    name = "convert-nv-tile-func-to-llvm"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in module.body.block.ops:
            if op.name == "nv_tileaa.func":
                _convert(op, job)


def _convert(op: Operation, job: Job) -> None:
    threads = 32 * op.attributes["num_warps"].value.data
    op.attributes["cute.kernel"] = UnitAttr()
    op.attributes["nvvm.reqntid"] = IntegerAttr(threads, i32)
    occupancy = hint(op, job, "occupancy")
    if occupancy:
        limit = REGISTER_FILE // (occupancy * threads) // REGISTER_UNIT * REGISTER_UNIT
        op.attributes["nvvm.maxnreg"] = IntegerAttr(min(max(limit, 32), MAX_REGISTERS), i32)


def hint(op: Operation, job: Job, name: str) -> int | None:
    """An optimization hint of an operation for the job's target (its own row, else the default's); None where absent."""
    hints = op.attributes.get("optimization_hints")
    if hints is None:
        return None
    value = hints.for_target(job.target.name).get(name)
    return None if value is None else int(value)
