"""Rewrite a kernel by its sharding: each CTA, by its rank, loads, computes and stores its shards of tiles."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerType,
    TensorType,
    i32,
)
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import Rewriter

from ...ir.casting import as_op, cast, defining_op, parent_block, tile_type, type_as, unwrap
from ...ir.dialects import arith
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileaa.types import TiledViewType
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp, location_of
from ...ir.dialects.op_traits import is_store
from ..analysis.access_vectorization import ViewAccessInfo
from ..analysis.axis_info import AxisAnalysis
from ..analysis.integer_ranges import BoundsCheck
from ..analysis.sharding_propagation import VIEW_ACCESSES, Sharding, propagate, shard_type
from .op_insertion import insert_before, insertion_before
from .sharding_plan import sharded_dim
from .subtile_indices import clamped_index, relax_checks_past_end, scaled_index

SplatOp, BlockTileOp, IfOp, YieldOp, CreateTokenOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("splat", "block_tile", "if", "yield", "create_mem_token")
)


class ShardedProgram:
    """Rewrites ``func`` to the program of one CTA, or one slice; ``rank`` is its index."""

    def __init__(self, func: Operation, sharding: Sharding, rank: SSAValue):
        self.func, self.sharding, self.ctas, self.rank = func, sharding, sharding.ctas, rank
        self.shards: dict[tuple[SSAValue, int], SSAValue] = {}

    def run(self) -> None:
        whole = [op for op in walk(self.func) if is_store(op) and op not in self.sharding.operations]
        self.shard_tiles()
        for op in whole:
            self._on_first_cta(op)

    def shard_tiles(self) -> None:
        """Let accesses and sharded tiles be of shards."""
        for (op, index), dim in self.sharding.remade.items():
            op.operands[index] = self._shard(op.operands[index], dim)
        for op in self.sharding.operations:
            if op.name in VIEW_ACCESSES:
                self._access(as_op(op))
        for value, dim in self.sharding.dims.items():
            Rewriter.replace_value_with_new_type(value, shard_type(tile_type(value), dim, self.ctas))

    # ---- rematerialized tiles
    def _shard(self, value: SSAValue, dim: int) -> SSAValue:
        if (value, dim) not in self.shards:
            self.shards[value, dim] = self._compute(value, dim)
        return self.shards[value, dim]

    def _compute(self, value: SSAValue, dim: int) -> SSAValue:
        op = defining_op(value)
        dims = dict(unwrap(propagate(op, value, dim, self.ctas)))
        clone = op.clone()
        for index, operand in enumerate(op.operands):
            if (where := dims.get(operand)) is not None:
                clone.operands[index] = self._shard(operand, where)
        if op.name == "arith.constant":
            type = shard_type(tile_type(value), dim, self.ctas)
            clone.properties["value"] = _repeated(
                cast(DenseIntOrFPElementsAttr, op.properties["value"]), type, self.ctas
            )
        for result in clone.results:
            Rewriter.replace_value_with_new_type(result, shard_type(tile_type(result), dim, self.ctas))
        parent_block(op).insert_op_after(clone, op)
        new_op = clone.results[cast(OpResult, value).index]
        return self._shifted(new_op) if op.name == "nv_tileas.make_range" else new_op

    def _shifted(self, value: SSAValue) -> SSAValue:
        """Shard n of 0, 1, 2, ... starts where the shards before it end."""
        place, type = unwrap(defining_op(value).next_op), tile_type(value)
        start = self._times_rank(type.get_shape()[0], cast(IntegerType, type.element_type), place)
        tile = insert_before(SplatOp.make([start], [value.type]), place)
        return insertion_before(place).binary("add", value, tile)

    def _times_rank(self, count: int, type: IntegerType, place: Operation) -> SSAValue:
        """The rank times a constant, as a value of an integer type."""
        rank = self.rank
        if type != i32:
            resize = arith.ExtUIOp if type.width.data > 32 else arith.TruncIOp
            rank = insert_before(resize.make([rank], [type]), place)
        if count == 1:
            return rank
        return insertion_before(place).binary("mul", rank, count)

    # ---- memory
    def _access(self, op: TableOp) -> None:
        """The access of the CTA's shard: a smaller tile, whose coordinate is offset by the rank."""
        dim, old = sharded_dim(op, self.sharding), op.view.type
        kind = old.kind.data
        if kind == "partition" and not ViewAccessInfo(op.view, AxisAnalysis()).in_bounds()[dim]:
            kind = "strided"  # a tile begins in bounds, but its second half may be out of bounds
            relax_checks_past_end(op, [dim], replaced_check=BoundsCheck.NONE)
        tile, steps = list(old.tile), list(old.steps)
        tile[dim] //= self.ctas
        if kind != "gather":
            self._rescale_coordinate(op, dim, old.steps[dim] // tile[dim], 1)
            steps[dim] = tile[dim]
        elif dim != old.sparse.data:
            self._rescale_coordinate(op, dim, 1, tile[dim])
        type = TiledViewType.of(
            kind, old.source, tile, old.dim_map, steps, sparse=old.sparse.data, padding=old.padding.data
        )
        op.operands[0] = insert_before(BlockTileOp.make([op.view.owner.operands[0]], [type], location_of(op)), op)

    def _rescale_coordinate(self, op: TableOp, dim: int, factor: int, per_rank: int) -> None:
        """Replace the coordinate along ``dim`` by factor * coordinate + per_rank * rank."""
        index = [name for name, _ in op.operand_groups].index("coords") + dim
        scaled = scaled_index(clamped_index(op, dim, insertion_before(op)), factor, insertion_before(op))
        start = self._times_rank(per_rank, type_as(scaled, IntegerType), op)
        op.operands[index] = insertion_before(op).binary("add", scaled, start)
        relax_checks_past_end(op, [dim], replaced_check=BoundsCheck.ANY)

    def _on_first_cta(self, op: Operation) -> None:
        """Only the first CTA writes a replicated tile."""
        first = insertion_before(op).compare("eq", self.rank, 0)
        write, skip = Block(), Block()
        types = [result.type for result in op.results]
        around = IfOp.make([first], types, location_of(op), [Region(write), Region(skip)])
        parent_block(op).insert_op_before(around, op)
        for old, new in zip(op.results, around.results):
            old.replace_all_uses_with(new)
        op.detach()
        write.add_ops([op, YieldOp.make([list(op.results)], [])])
        token = CreateTokenOp.make([], types)
        held = as_op(op).token
        tokens = [held] if held is not None else token.results
        skip.add_ops([token, YieldOp.make([tokens], [])])


def _repeated(value: DenseIntOrFPElementsAttr, type: TensorType[Any], ctas: int) -> DenseIntOrFPElementsAttr:
    """One shard of a tile of equal elements."""
    data = value.data.data
    return DenseIntOrFPElementsAttr(type, BytesAttr(data[: len(data) // ctas]))
