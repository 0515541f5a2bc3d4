"""Divide the tiles of a kernel over the CTAs of a cluster, as its hint ``num_cta_in_cga`` asks.

In:    nv_tileas without layouts; a kernel whose hint asks for several CTAs for each tile program.
Out:   the program of one of them: divided tiles are that CTA's parts, loads and stores of them go to its part of the
       view's tile, what is not divided is computed in each CTA and stored by the first. ``num_ctas`` on the kernel, or
       ``num_ctas_declined``, the reason why one CTA has it all.
After: legalize_dot (operands of products are final). Before: order_tokens (its barriers are those of one CTA),
       assign_layouts.
Sound: a division follows the rules of analysis/cta_split, under which no CTA needs another's part. Memory that the
       program accesses in an order (by tokens) is accessed there by one CTA only: both tiles are the same part of
       the same view. Accesses that other programs may see in the middle (not weak), prints and atomics that would
       happen more than once leave the kernel whole.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    i1,
    i32,
)
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects import arith
from ...dialects.definition import TableOperation, location_of
from ...dialects.facts import is_entry, is_exchange, is_leave, is_store, is_structured
from ...dialects.ir import walk
from ...dialects.nv_tileaa.types import TiledViewType
from ...dialects.nv_tileas.ops import COUNTERPARTS, CtaRankOp
from ..analysis.axis_info import AxisAnalysis
from ..analysis.cta_split import VIEW_ACCESSES, Division, Undivided, is_remakable, part_type, relate, shape_of
from ..analysis.kinds import is_tile
from ..analysis.memory_access import ViewFacts
from ..analysis.memory_order import semantic_of
from ..analysis.token_order import ordered_pairs
from ..contracts import EdgePass
from ..job import Job
from ..shared.accessors import block_of, expect, given, owner, row, tile_type, type_of
from ..shared.eliminate_common import EliminateCommon
from ..shared.optimization_hints import hint

SERIALIZERS = ("nvptx",)  # libNVVM's LLVM 7 has neither the registers nor the directives of clusters
MOST_CTAS = 8  # of a cluster on every GPU that has them
ONCE = ("nv_tileas.print", "nv_tileas.alloca", "nv_tileas.fence_alias")
# Rows and columns from which on a product has the instruction of a kind (by the targets' names of the kinds), then
# those from which on it runs at full speed: tcgen05 takes as long for 64 rows as for 128.
STEPS = {"wgmma": ((64, 8),), "tcgen05": ((64, 16), (128, 16))}
FRAGMENTS = ((16, 8),)
SplatOp, BlockTileOp, IfOp, YieldOp, CreateTokenOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("splat", "block_tile", "if", "yield", "create_mem_token")
)


class DistributeOverCtas(EdgePass):
    """Clusters of CTAs for tile programs."""

    name = "tileas-distribute-over-ctas"

    def run(self, module: ModuleOp, job: Job) -> None:
        asking = [func for func in module.body.block.ops if _asked(func, job) > 1]
        if not asking or not job.target.has("cluster"):
            return
        for func in asking:
            _distribute(func, job)
        EliminateCommon().run(module, job)


def _asked(func: Operation, job: Job) -> int:
    return hint(func, job, "num_cta_in_cga") or 1 if is_entry(func) else 1


def _distribute(func: Operation, job: Job) -> None:
    _separate(func)
    try:
        if job.serializer not in SERIALIZERS:
            raise Undivided(f"{job.serializer} knows no clusters")
        division = _best_division(func, job, min(_asked(func, job), MOST_CTAS))
    except Undivided as reason:
        row(func).num_ctas_declined = str(reason)
    else:
        _Rewriter(func, division).run()
        row(func).num_ctas = division.ctas


def _separate(func: Operation) -> None:
    """Each place where control flow takes a tile that is cheap to compute gets a tile of its own."""
    for op in walk(func):
        if is_structured(op) or is_leave(op):
            for index, operand in enumerate(op.operands):
                if is_tile(operand) and is_remakable(operand):
                    op.operands[index] = _inserted(op, owner(operand).clone())


def _inserted(place: Operation, op: Operation) -> SSAValue:
    block_of(place).insert_op_before(op, place)
    return op.results[0]


# ---- what to divide ------------------------------------------------------------------------------
def _best_division(func: Operation, job: Job, most: int) -> Division:
    """A division over as many CTAs as possible, at most ``most``; raises Undivided for the reason that most fails."""
    _check_once(func)
    reason: Undivided | None = None
    while most > 1:
        try:
            return _division(func, job, most)
        except Undivided as failed:
            reason, most = reason or failed, most // 2
    raise given(reason)


def _check_once(func: Operation) -> None:
    """Nothing that must happen once may stand where every CTA does it."""
    for op in walk(func):
        if op.name in ONCE:
            raise Undivided(f"{op.name} would happen in each CTA")
        semantic = semantic_of(op)
        if semantic != "weak" and not (is_exchange(op) and semantic == "relaxed"):
            raise Undivided(f"{op.name} is {semantic}, not weak")


def _division(func: Operation, job: Job, ctas: int) -> Division:
    """From each tile that is written to all that it follows from."""
    division = Division(ctas)
    for op in walk(func):
        if (is_store(op) or is_exchange(op)) and is_tile(row(op).value) and op not in division.operations:
            division = _extended(division, op, job) or division
    for op in walk(func):
        if is_exchange(op) and op not in division.operations:
            raise Undivided(f"{op.name} would happen in each CTA")
        if op.name == "nv_tileas.dot":
            _check_product(row(op), division, job)
    if not division.operations:
        raise Undivided("no tile that the kernel writes has equal parts that can be computed apart")
    _check_order(func, division)
    return division


def _check_product(op: TableOperation, division: Division, job: Job) -> None:
    if op not in division.operations:
        raise Undivided("a product would be computed by each CTA")
    if _speed(_part_shape(op, division), job) < _speed(shape_of(op.result), job):
        raise Undivided(f"parts of a product are too small for {job.target.tier.matrix_product}")


def _extended(division: Division, op: TableOperation, job: Job) -> Division | None:
    """The division with what ``op`` writes divided along the best of its dimensions; None where none can be."""
    found = []
    for dim in range(len(shape_of(op.value))):
        attempt = division.copy()
        try:
            attempt.divide(op, op.value, dim)
        except Undivided:
            continue
        found.append((_fitness(attempt, job), shape_of(op.value)[dim], -dim, attempt))
    return max(found, key=lambda row: row[:3])[3] if found else None


def _fitness(division: Division, job: Job) -> tuple[int, int]:
    """How many products are divided, and how well the target's best instruction still fits them."""
    products = [row(op) for op in division.operations if op.name == "nv_tileas.dot"]
    return len(products), sum(_speed(_part_shape(op, division), job) for op in products)


def _part_shape(op: TableOperation, division: Division) -> tuple[int, ...]:
    return tuple(part_type(op.result.type, division.dims[op.result], division.ctas).get_shape())


def _speed(shape: tuple[int, ...], job: Job) -> int:
    """How many of the steps of the target's kind of product a tile of a result has passed."""
    steps = STEPS.get(job.target.tier.matrix_product, FRAGMENTS)
    return sum(shape[-2] % rows == 0 and shape[-1] % columns == 0 for rows, columns in steps)


def _check_order(func: Operation, division: Division) -> None:
    for first, second in ordered_pairs(func):
        if not _same_part(first, second, division):
            raise Undivided(f"{second.name} comes after {first.name}, whose bytes another CTA may have")


def _same_part(first: TableOperation, second: TableOperation, division: Division) -> bool:
    """Whether whatever bytes two accesses share, one CTA accesses in both."""
    if any(op.name not in VIEW_ACCESSES or op not in division.operations for op in (first, second)):
        return False
    types, dims = [op.view.type for op in (first, second)], [_dim(op, division) for op in (first, second)]
    key = [(type.kind.data, type.tile, type.dim_map, type.steps, dim) for type, dim in zip(types, dims)]
    apart = types[0].kind.data != "gather" and types[0].steps[dims[0]] >= types[0].tile[dims[0]]
    return apart and key[0] == key[1] and first.view.owner.operands[0] is second.view.owner.operands[0]


def _dim(op: TableOperation, division: Division) -> int:
    if op.value in division.dims:
        return division.dims[op.value]
    return next(dim for (user, index), dim in division.remade.items() if user is op and op.operands[index] is op.value)


# ---- the program of one CTA ----------------------------------------------------------------------
class _Rewriter:
    def __init__(self, func: Operation, division: Division):
        self.func, self.division, self.ctas = func, division, division.ctas
        entry = func.regions[0].blocks[0]
        self.rank = _inserted(given(entry.first_op), CtaRankOp.make([], [i32]))
        self.made: dict[tuple[SSAValue, int], SSAValue] = {}

    def run(self) -> None:
        for (op, index), dim in self.division.remade.items():
            op.operands[index] = self._part(op.operands[index], dim)
        whole = [op for op in walk(self.func) if is_store(op) and op not in self.division.operations]
        for op in self.division.operations:
            if op.name in VIEW_ACCESSES:
                self._access(row(op))
        for value, dim in self.division.dims.items():
            Rewriter.replace_value_with_new_type(value, part_type(tile_type(value), dim, self.ctas))
        for op in whole:
            self._once(op)

    # ---- tiles that are computed again
    def _part(self, value: SSAValue, dim: int) -> SSAValue:
        if (value, dim) not in self.made:
            self.made[value, dim] = self._compute(value, dim)
        return self.made[value, dim]

    def _compute(self, value: SSAValue, dim: int) -> SSAValue:
        op = owner(value)
        dims = dict(given(relate(op, value, dim, self.ctas)))
        clone = op.clone()
        for index, operand in enumerate(op.operands):
            if (where := dims.get(operand)) is not None:
                clone.operands[index] = self._part(operand, where)
        if op.name == "arith.constant":
            type = part_type(tile_type(value), dim, self.ctas)
            clone.properties["value"] = _repeated(
                expect(DenseIntOrFPElementsAttr, op.properties["value"]), type, self.ctas
            )
        for result in clone.results:
            Rewriter.replace_value_with_new_type(result, part_type(tile_type(result), dim, self.ctas))
        block_of(op).insert_op_after(clone, op)
        made = clone.results[expect(OpResult, value).index]
        return self._shifted(made) if op.name == "nv_tileas.make_range" else made

    def _shifted(self, value: SSAValue) -> SSAValue:
        """A part of 0, 1, 2, … starts where the parts before it end."""
        place, type = given(owner(value).next_op), tile_type(value)
        start = self._times_rank(type.get_shape()[0], expect(IntegerType, type.element_type), place)
        tile = _inserted(place, SplatOp.make([start], [value.type]))
        return _inserted(place, arith.AddiOp.make([value, tile], [value.type]))

    def _times_rank(self, count: int, type: IntegerType, place: Operation) -> SSAValue:
        """The CTA's rank times a number, as a value of an integer type."""
        rank = self.rank
        if type != i32:
            resize = arith.ExtUIOp if type.width.data > 32 else arith.TruncIOp
            rank = _inserted(place, resize.make([rank], [type]))
        if count == 1:
            return rank
        return _inserted(place, arith.MuliOp.make([rank, _constant(count, type, place)], [type]))

    # ---- memory
    def _access(self, op: TableOperation) -> None:
        """The CTA's part of the tile: a smaller tile, found that many steps further."""
        dim, old = _dim(op, self.division), op.view.type
        kind = old.kind.data
        if kind == "partition" and not ViewFacts(op.view, AxisAnalysis()).in_bounds()[dim]:
            kind = "strided"  # a tile begins inside its tensor, but its second half may not
        tile, steps = list(old.tile), list(old.steps)
        tile[dim] //= self.ctas
        if kind != "gather":
            self._move(op, dim, old.steps[dim] // tile[dim], 1)
            steps[dim] = tile[dim]
        elif dim != old.sparse.data:
            self._move(op, dim, 1, tile[dim])
        type = TiledViewType.of(
            kind, old.source, tile, old.dim_map, steps, sparse=old.sparse.data, padding=old.padding.data
        )
        op.operands[0] = _inserted(op, BlockTileOp.make([op.view.owner.operands[0]], [type], location_of(op)))

    def _move(self, op: TableOperation, dim: int, factor: int, per_rank: int) -> None:
        """The coordinate along ``dim`` becomes factor * coordinate + per_rank * rank."""
        index = [name for name, _ in op.operand_groups].index("coords") + dim
        coord, type = op.operands[index], type_of(op.operands[index], IntegerType)
        scaled = _inserted(op, arith.MuliOp.make([coord, _constant(factor, type, op)], [type]))
        start = self._times_rank(per_rank, type, op)
        op.operands[index] = _inserted(op, arith.AddiOp.make([scaled, start], [type]))

    def _once(self, op: Operation) -> None:
        """A tile that every CTA has: the first one writes it."""
        zero = _constant(0, i32, op)
        first = _inserted(op, arith.CmpiOp.make([self.rank, zero], [i1], predicate="eq"))
        write, skip = Block(), Block()
        types = [result.type for result in op.results]
        around = IfOp.make([first], types, location_of(op), [Region(write), Region(skip)])
        block_of(op).insert_op_before(around, op)
        for old, new in zip(op.results, around.results):
            old.replace_all_uses_with(new)
        op.detach()
        write.add_ops([op, YieldOp.make([list(op.results)], [])])
        token = CreateTokenOp.make([], types)
        held = row(op).token
        tokens = [held] if held is not None else token.results
        skip.add_ops([token, YieldOp.make([tokens], [])])


def _constant(value: int, type: IntegerType, place: Operation) -> SSAValue:
    return _inserted(
        place, arith.ConstantOp.create(result_types=[type], properties={"value": IntegerAttr(value, type)})
    )


def _repeated(value: DenseIntOrFPElementsAttr, type: TensorType[Any], ctas: int) -> DenseIntOrFPElementsAttr:
    """One part of a tile of equal elements."""
    data = value.data.data
    return DenseIntOrFPElementsAttr(type, BytesAttr(data[: len(data) // ctas]))
