"""Index queries: one special register each, with its known range."""

from __future__ import annotations

from functools import cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntAttr, i32
from xdsl.dialects.gpu import DimensionAttr
from xdsl.ir import Operation

from ....ir.dialects import gpu_ext as gpu
from ....ir.dialects.checked_cast import cast
from ....ir.dialects.fast_xdsl import erase, replace_uses
from ....ir.dialects.llvm_ext import ConstantRangeAttr
from ....ir.dialects.nvvm.ops_thread import READS
from .rewriter import Emitter, rewrite

# Query -> (register, the function attribute that bounds it, whether the bound is its only value).
REGISTERS: dict[type[Operation], tuple[str, str | None, bool]] = {
    gpu.ThreadIdOp: ("tid", "known_block_size", False),
    gpu.BlockIdOp: ("ctaid", "known_grid_size", False),
    gpu.BlockDimOp: ("ntid", "known_block_size", True),
    gpu.GridDimOp: ("nctaid", "known_grid_size", True),
    gpu.ClusterIdOp: ("clusterid", None, False),
    gpu.ClusterDimOp: ("nclusterid", None, False),
    gpu.ClusterBlockIdOp: ("cluster.ctaid", "known_cluster_size", False),
    gpu.SubgroupSizeOp: ("warpsize", None, True),
    gpu.LaneIdOp: ("laneid", None, False),
}
WARP = 32
# Bounds that hold on every GPU (PTX ISA 9.0, sections 10.2 and 10.9).
FIXED_BOUNDS = {"warpsize": WARP, "laneid": WARP}
# NVVM's spelling of the same bounds on a function that another pass converted.
_ALIASES = {"known_block_size": "nvvm.reqntid", "known_cluster_size": "nvvm.cluster_dim"}


@rewrite(*REGISTERS)
def convert_index_query(emit: Emitter, op: Operation) -> None:
    """Read the register, then cast to ``index``, whose width is configurable; a cast back cancels."""
    register, attribute, exact = REGISTERS[type(op)]
    axis = op.properties.get("dimension")
    name = register if axis is None else f"{register}.{cast(DimensionAttr, axis).data}"
    bounds = _range(op, emit, register, attribute, exact)
    value = emit.create(READS[name], (), i32, None if bounds is None else {"range": bounds})
    [index] = op.results
    uses = [use.operation for use in index.uses]
    casts = [user for user in uses if isinstance(user, arith.IndexCastOp) and user.results[0].type == i32]
    for user in casts:
        replace_uses(user.results[0], value)
        erase(user)
    if not casts or len(casts) < len(uses):
        return emit.replace(arith.IndexCastOp(value, IndexType()))
    erase(op)


def _range(op, emit: Emitter, register: str, attribute: str | None, exact: bool) -> ConstantRangeAttr | None:
    bound = _function_bound(op, emit, attribute) if attribute else FIXED_BOUNDS.get(register)
    if bound is not None:
        lower = bound if exact else 0
        return _half_open(lower, bound + 1 if exact else bound)
    if op.upper_bound is None:
        return None
    # A size may equal its bound and is never 0; an index is below it.
    bound, is_size = op.upper_bound.value.data, register in ("ntid", "nctaid", "nclusterid", "warpsize")
    return _half_open(int(is_size), bound + int(is_size))


@cache
def _half_open(lower: int, upper: int) -> ConstantRangeAttr:
    return ConstantRangeAttr(i32, IntAttr(lower), IntAttr(upper))


def _function_bound(op, emit: Emitter, attribute: str) -> int | None:
    function = emit.function
    if function is None:
        return None
    names = (attribute, f"gpu.{attribute}", _ALIASES.get(attribute, attribute))
    sizes = next((function.attributes[name] for name in names if name in function.attributes), None)
    if not isinstance(sizes, DenseArrayBase):
        return None
    position = "xyz".index(op.dimension.data)
    values = sizes.get_values()
    return values[position] if position < len(values) else 1
