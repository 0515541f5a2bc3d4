"""Take shorter steps along k where two tiles of a product's operands do not fit in shared memory.

In:    counted loops that load the tiles of one product, at the loop's index along k, and add it to a sum they carry.
Out:   where the two tiles of two iterations are more than the target's shared memory, the loop runs a power of two times as
       often over tiles of so much less depth: two of them fit, so the next ones are copied while a product is computed.
       In a loop over tiles, TMA fills a ring again while results leave: they fit beside what these pass through.
After: legalize_dot (operand types are the target's), distribute_over_ctas (tiles are one CTA's). Before: order_tokens, and
       all passes that choose copies.
Sound: step i of the old loop is steps i f to i f + f - 1 of the new one, which load what it loaded, in order of k, and the
       sum of a product over k is that of its parts in that order. Nothing else in the loop depends on its index, writes
       memory or changes what the loop carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects import arith
from ...dialects.definition import TableOperation
from ...dialects.facts import acts_outside, is_counted_loop, is_entry
from ...dialects.ir import walk
from ...dialects.nv_tileaa.types import TiledViewType
from ...dialects.nv_tileas.ops import COUNTERPARTS
from ..analysis.axis_info import AxisAnalysis
from ..analysis.budget import two_stages_fit
from ..analysis.memory_access import ViewFacts
from ..analysis.operand_chains import TOKEN, only_accumulates, runs_to_its_end, source_load
from ..contracts import EdgePass
from ..job import Job
from ..savings import saving_of
from ..shared.accessors import block_of, expect, parent, row, tile_type
from ..shared.element_types import element_of

# Shorter lines along k are fetched in more and smaller pieces than the copies are worth.
LEAST_LINE_BYTES = 64
UPPER = 1  # operand of a loop, after its lower bound
BlockTileOp = COUNTERPARTS["nv_tileaa.block_tile"]


class SplitProducts(EdgePass):
    """Tiles of less depth, in more steps."""

    name = "tileas-split-products"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in walk(module):
            if op.name == "nv_tileas.dot" and (operands := _operands(row(op))) is not None:
                factor = _factor(row(op), operands, job)
                if factor > 1:
                    _split(row(op), operands, factor)


@dataclass(frozen=True)
class _Operand:
    """A load, and which dimension of each tile on its way to the product is k."""

    load: TableOperation
    k_dims: dict[SSAValue, int]

    @property
    def k_dim(self) -> int:
        """Of the loaded tile."""
        return self.k_dims[self.load.value]

    @property
    def bytes(self) -> int:
        return prod(self.load.value.type.get_shape()) * element_of(self.load.value.type).bits // 8


def _operands(product: TableOperation) -> list[_Operand] | None:
    """Both operands of a product whose loop may take shorter steps."""
    loop = product.parent_op()
    if loop is None or not is_counted_loop(loop) or product.lhs_scale is not None or not _only_adds(product, loop):
        return None
    found = [operand for index in (0, 1) if (operand := _operand(product, index)) is not None]
    if len(found) < 2 or not _decides_depth_alone(loop, found):
        return None
    return found


def _only_adds(product: TableOperation, loop: TableOperation) -> bool:
    """Whether a loop counts by ones, does not change anything but the sum, and orders nothing."""
    if not runs_to_its_end(loop) or not only_accumulates(product) or not _is_one(loop.step):
        return False
    carried = [value for value in loop.initial if value.type.name != TOKEN]
    return len(carried) == 1 and not any(op.regions or acts_outside(op) for op in loop.regions[0].blocks[0].ops)


def _is_one(value: SSAValue) -> bool:
    constant = value.owner.properties.get("value") if isinstance(value.owner, Operation) else None
    return isinstance(constant, IntegerAttr) and constant.value.data == 1


def _operand(product: TableOperation, index: int) -> _Operand | None:
    found = source_load(product, index)
    if found is None:
        return None
    load, chain = found
    rank = len(tile_type(product.operands[index]).get_shape())
    dim: int = rank - 1 if index == 0 else rank - 2
    k_dims = {product.operands[index]: dim}
    for link in reversed(chain):
        before = _dim_before(link, dim)
        if before is None:
            return None
        dim = before
        k_dims[link.operands[0]] = dim
    view = load.view.type
    cut = view.kind.data != "gather" and view.steps[dim] == view.tile[dim]
    return _Operand(load, k_dims) if cut else None


def _dim_before(link: Operation, dim: int) -> int | None:
    """The dimension of a link's operand that is dimension ``dim`` of its result."""
    if link.name == "nv_tileas.permute":
        return row(link).permutation[dim]
    if link.name != "nv_tileas.view":
        return dim
    before, after = (tile_type(value).get_shape() for value in (link.operands[0], link.results[0]))
    inner = prod(after[dim + 1 :])
    places = [
        place for place, extent in enumerate(before) if extent == after[dim] and prod(before[place + 1 :]) == inner
    ]
    return places[0] if places else None


def _decides_depth_alone(loop: TableOperation, operands: list[_Operand]) -> bool:
    """Whether a loop's index says where the tiles are along k, and nothing else."""
    index = loop.regions[0].blocks[0].args[0]
    if any(operand.load.coords[operand.k_dim] is not index for operand in operands):
        return False
    return len(list(index.uses)) == len(operands)


def _factor(product: TableOperation, operands: list[_Operand], job: Job) -> int:
    """How many times shorter the steps must be for two of them to fit; 1 where they need not or cannot be."""
    beside = [0] if is_entry(parent(parent(product))) or job.target.copies != "tma" else [saving_of(job).part_bytes, 0]
    return next((factor for taken in beside if (factor := _fitting(product, operands, taken, job))), 1)


def _fitting(product: TableOperation, operands: list[_Operand], beside: int, job: Job) -> int | None:
    """The same beside so many bytes; None where it cannot be."""
    size, factor = sum(operand.bytes for operand in operands), 1
    k = product.lhs.type.get_shape()[-1]
    line = min(k * element_of(operand.load.value.type).bits // 8 for operand in operands)
    while not two_stages_fit(size, job, factor, beside):
        factor *= 2
        if line // factor < LEAST_LINE_BYTES:
            return None
    return factor


# ---- rewriting -----------------------------------------------------------------------------------
def _split(product: TableOperation, operands: list[_Operand], factor: int) -> None:
    loop = parent(product)
    for operand in operands:
        _cut_view(operand, factor)
        for value, dim in operand.k_dims.items():
            value._type = _shorter(tile_type(value), dim, factor)
    for index in (0, UPPER):
        loop.operands[index] = _times(loop, loop.operands[index], factor)


def _cut_view(operand: _Operand, factor: int) -> None:
    load, dim = operand.load, operand.k_dim
    old, view = load.view.type, load.view.owner
    tile, steps = list(old.tile), list(old.steps)
    tile[dim], steps[dim] = tile[dim] // factor, steps[dim] // factor
    # Where an old tile stuck out, a new one may lie outside.
    kind = old.kind.data if ViewFacts(load.view, AxisAnalysis()).in_bounds()[dim] else "strided"
    type = TiledViewType.of(kind, old.source, tile, old.dim_map, steps, padding=old.padding.data)
    made = BlockTileOp.make([view.operands[0]], [type], dict(view.attributes))
    view.parent.insert_op_after(made, view)
    load.operands[0] = made.results[0]


def _shorter(type: TensorType, dim: int, factor: int) -> TensorType:
    shape = list(type.get_shape())
    shape[dim] //= factor
    return TensorType(type.element_type, shape)


def _times(loop: Operation, value: SSAValue, factor: int) -> SSAValue:
    count = arith.ConstantOp.create(
        result_types=[value.type], properties={"value": IntegerAttr(factor, expect(IntegerType, value.type))}
    )
    made = arith.MuliOp.make([value, count.results[0]], [value.type])
    for op in (count, made):
        block_of(loop).insert_op_before(op, loop)
    return made.results[0]
