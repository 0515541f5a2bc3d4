"""Program ids, tokens, globals and storage."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....core.errors import InvalidInput
from ....core.symbols.check_symbol_names import quoted_name
from ....ir.casting import int_attr, str_attr
from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.cuda_tile.location import source_location
from ....ir.dialects.nvvm.cluster_sync_and_fences import GridDependencyLaunchOp, GridDependencyWaitOp
from ....ir.dialects.op_definition import TableOp
from ...common.llvm_type_constructors import GLOBAL, I8, I32, I64, pointer
from ..emission.kernel_emitter import Handler, KernelEmitter
from ..memory import heap_storage

AXES = "xyz"
GRID_DEPENDENCIES = {"launch_dependents": GridDependencyLaunchOp, "wait": GridDependencyWaitOp}


def emit_program_id(e: KernelEmitter, op: TableOp) -> None:
    e.values[op.result] = _of_programs(e, op, gpu.BlockIdOp)


def emit_num_programs(e: KernelEmitter, op: TableOp) -> None:
    e.values[op.result] = _of_programs(e, op, gpu.GridDimOp)


def _of_programs(e: KernelEmitter, op: TableOp, kind: type[Operation]) -> SSAValue:
    """Index or count of tile programs, from that of CTAs: clusters are along x, and ptxas needs 20 dependent
    instructions for a cluster's own index.
    """
    axis = AXES[int_attr(op, "axis")]
    with e.b.at_function_start():
        found = e.b.query(kind, axis)
        return e.b.binary("udiv", found, e.ctas, I32) if axis == "x" and e.ctas > 1 else found


def emit_cta_rank(e: KernelEmitter, op: TableOp) -> None:
    e.values[op.result] = e.threads.cta_rank


def emit_token(e: KernelEmitter, op: TableOp) -> None:
    """Operations are emitted in program order, so a token needs no value."""
    e.values[op.results[0]] = None


def emit_cast(e: KernelEmitter, op: Operation) -> None:
    """A bridge cast: the types before and after conversion have the same registers."""
    e.values[op.results[0]] = e.values[op.operands[0]]


def emit_get_global(e: KernelEmitter, op: TableOp) -> None:
    name = str_attr(op, "symbol")
    if name not in e.symbols.variables:
        message = f"the kernel {e.name} takes the address of {quoted_name(name)}, which is no global of its module"
        raise InvalidInput("global-unknown", message, location=source_location(op), remedy="define it")
    e.values[op.result] = e.b.address_of(name, GLOBAL)


def emit_alloca(e: KernelEmitter, op: TableOp) -> None:
    """Storage of the tile program in shared memory, as a generic address that all its threads can access."""
    offset = e.memory.buffers.places[op.result]
    if "global" in op.attributes:
        e.values[op.result] = heap_storage.allocate(e, op, offset)
        return
    with e.b.at_function_start():
        place = e.b.offset(e.memory.shared_memory, offset, I8, I32)
        generic = e.b.cast("ptrtoint", e.b.cast("addrspacecast", place, pointer()), I64)
        e.values[op.result] = e.b.cast("inttoptr", generic, pointer(GLOBAL))


def emit_grid_dependency(e: KernelEmitter, op: TableOp) -> None:
    """Programmatic dependent launch (PTX ISA 9.0, griddepcontrol); without it, launches are already in order."""
    if e.target.has("griddepcontrol"):
        e.b.issue(GRID_DEPENDENCIES[str_attr(op, "action")])
    if op.result_token is not None:
        e.values[op.result_token] = None


HANDLERS: dict[str, Handler] = {
    "nv_tileas.get_program_id": emit_program_id,
    "nv_tileas.get_num_programs": emit_num_programs,
    "nv_tileas.get_cta_rank": emit_cta_rank,
    "nv_tileas.create_mem_token": emit_token,
    "nv_tileas.join_mem_token": emit_token,
    "nv_tileas.fence_alias": emit_token,
    "builtin.unrealized_conversion_cast": emit_cast,
    "nv_tileas.get_global": emit_get_global,
    "nv_tileas.alloca": emit_alloca,
    "nv_tileas.grid_dependency": emit_grid_dependency,
}
