"""Pack the fp4 operands of dots two to a byte, as memory and the MMA instructions hold them.

In:    block-scaled nv_tileas dots of fp4 tiles that are loaded with k as the fastest dimension in memory, or unpacked
       from bytes along k.
Out:   loads of bytes, half as many along k, and dots of pairs, marked ``packed``. Copies, shared memory and registers
       never split a pair.
After: legalize_dot (dots keep their scales). Before: plan_cta_cluster, select_mma_and_tma, assign_layouts, and
       expand_block_scales, which unpacks pairs that no instruction reads.
Sound: pairs begin at even elements in memory and in the tile, and the tensor ends between two pairs, so both elements
       of a byte are in bounds or neither is. Zero padding is zero in packed form, too.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, IntegerType, TensorType, i8
from xdsl.ir import Attribute, Operation, SSAValue

from ...ir.casting import (
    as_op,
    cast,
    defining_op,
    defining_table_op,
    memref_type,
    parent_block,
    tile_type,
    unwrap,
    view_type,
)
from ...ir.dialects import arith
from ...ir.dialects.cuda_tile.attrs import DivByAttr
from ...ir.dialects.nv_tileaa.types import MemRefType, PointerType, TiledViewType
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..analysis.access_vectorization import ViewAccessInfo
from ..analysis.axis_info import AxisAnalysis
from ..analysis.kernel_target import kernel_target
from ..analysis.op_queries import TILED_LOAD
from ..job import Job
from ..mma.dots import FP4
from ..mma.family import scales_in_instruction
from ..pass_manager import EdgePass
from ..rewriting.dialect_conversion import RuleTable
from ..rewriting.rewriter import Rewriter

PERMUTE, VIEW, REINTERPRET = (f"nv_tileas.{name}" for name in ("permute", "view", "reinterpret"))
BitcastOp, AssumeOp, MakeMemRefOp, BlockTileOp, TiledLoadOp, PermuteOp, ViewOp, DotOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"]
    for name in ("bitcast", "assume", "make_memref", "block_tile", "tiled_load", "permute", "view", "dot")
)


def _is_packable(op: TableOp, job: Job) -> bool:
    if op.lhs_scale is None or str(op.lhs.type.element_type) != FP4:
        return False
    if not scales_in_instruction(op, kernel_target(op, job), packed_fp4=True):
        return False
    analysis = AxisAnalysis()
    rank = len(op.lhs.type.get_shape())
    return all(
        _is_contiguous_in_pairs(value, k_dim, analysis) for value, k_dim in ((op.lhs, rank - 1), (op.rhs, rank - 2))
    )


def _source(value: SSAValue, k_dim: int) -> tuple[Operation, TableOp | None, int] | None:
    """The operation that produces an operand, the permute after it if there is one, and the dimension of its result
    along k.
    """
    made_by, permute = value.owner, None
    if isinstance(made_by, Operation) and made_by.name == PERMUTE:
        permute, value = as_op(made_by), made_by.operands[0]
        k_dim = permute.permutation[k_dim]
        made_by = value.owner
    return (made_by, permute, k_dim) if isinstance(made_by, Operation) else None


def _is_contiguous_in_pairs(value: SSAValue, k_dim: int, analysis: AxisAnalysis) -> bool:
    """Whether the elements of an operand are pairs along k in bytes of memory or of another tile."""
    found = _source(value, k_dim)
    if found is None:
        return False
    owner, permute, dim = found
    if owner.name != TILED_LOAD:
        return _bytes_before(owner) is not None and _is_last(tile_type(owner.results[0]), dim)
    single = len(list(as_op(owner).value.uses)) == 1 and (permute is None or len(list(permute.results[0].uses)) == 1)
    return single and _loads_contiguous_pairs(as_op(owner), dim, analysis)


def _bytes_before(op: Operation) -> SSAValue | None:
    """The bytes that a tile of fp4 was unpacked from; views in between do not change the order of elements."""
    while op.name == VIEW and isinstance(op.operands[0].owner, Operation):
        op = op.operands[0].owner
    if op.name != REINTERPRET or str(tile_type(op.operands[0]).element_type) != "i8":
        return None
    value = op.operands[0]
    while isinstance(value.owner, Operation) and value.owner.name == VIEW:
        value = value.owner.operands[0]
    return value


def _is_last(type: TensorType, dim: int) -> bool:
    shape = type.get_shape()
    return dim == len(shape) - 1 and shape[dim] % 2 == 0


def _loads_contiguous_pairs(load: TableOp, dim: int, analysis: AxisAnalysis) -> bool:
    """Whether a load of fp4 can be a load of bytes."""
    view = load.view.type
    if view.kind.data == "gather" or view.padding.data not in ("none", "zero") or view.tile[dim] % 2:
        return False
    if load.mem_semantic != "weak" or view.steps[dim] % 2 or not isinstance(load.view.owner, Operation):
        return False
    facts, fastest = ViewAccessInfo(load.view, analysis), view.dim_map[dim]
    others = [stride for at, stride in enumerate(facts.strides) if at != fastest]
    even = facts.sizes[fastest] % 2 == 0 and all(stride % 2 == 0 for stride in others)
    return even and view.source.strides[fastest] == 1


def _pack(rewriter: Rewriter, op: TableOp) -> None:
    if not _is_packable(op, rewriter.job):
        return
    rank = len(op.lhs.type.get_shape())
    operands = [_packed(op.lhs, rank - 1), _packed(op.rhs, rank - 2), op.acc, op.lhs_scale, op.rhs_scale]
    dot = DotOp.make(operands, [op.result.type], op.attributes, packed=True)
    parent_block(op).insert_op_before(dot, op)
    op.result.replace_all_uses_with(dot.result)
    gone = [op.lhs, op.rhs]
    op.detach()
    op.erase()
    for value in gone:
        _drop(value)


def _drop(value: SSAValue) -> None:
    """Erase the operations that produced a tile without uses."""
    while isinstance(op := value.owner, Operation) and op.parent is not None:
        if op.name not in (PERMUTE, VIEW, REINTERPRET, TILED_LOAD) or any(list(result.uses) for result in op.results):
            return
        value = op.operands[0]
        op.detach()
        op.erase()


def _packed(value: SSAValue, k_dim: int) -> SSAValue:
    source, permute, dim = unwrap(_source(value, k_dim))
    new_op = _byte_load(as_op(source), dim) if source.name == TILED_LOAD else _byte_tile(source)
    if permute is None:
        return new_op
    order = permute.permutation
    turned = TensorType(i8, [tile_type(new_op).get_shape()[at] for at in order])
    return _after(permute, PermuteOp.make([new_op], [turned], dict(permute.attributes)))


def _byte_tile(owner: Operation) -> SSAValue:
    """The bytes of an unpacked tile, in its shape with the last dimension halved."""
    source = unwrap(_bytes_before(owner))
    *outer, last = tile_type(owner.results[0]).get_shape()
    shape = (*outer, last // 2)
    if tuple(tile_type(source).get_shape()) == shape:
        return source
    return _after(owner, ViewOp.make([source], [TensorType(i8, shape)]))


def _byte_load(load: TableOp, dim: int) -> SSAValue:
    view = _byte_view(load.view, dim)
    shape = list(load.value.type.get_shape())
    shape[dim] //= 2
    types: list[Attribute] = [TensorType(i8, shape), *(result.type for result in load.results[1:])]
    new_op = TiledLoadOp.make([view, list(load.coords), load.token], types, dict(load.attributes))
    parent_block(load).insert_op_before(new_op, load)
    for old, new in zip(load.results[1:], new_op.results[1:]):
        old.replace_all_uses_with(new)
    return new_op.results[0]


def _byte_view(view: SSAValue, dim: int) -> SSAValue:
    """The view of the same memory as bytes, halved along the tile's dimension ``dim``."""
    block, type = defining_table_op(view), view_type(view)
    memref = defining_table_op(block.operands[0])
    fastest = type.dim_map[dim]
    source = _byte_memref(memref, fastest)
    halved = [[n // 2 if at == dim else n for at, n in enumerate(sizes)] for sizes in (type.tile, type.steps)]
    new_op = TiledViewType.of(
        type.kind.data,
        memref_type(source),
        halved[0],
        type.dim_map,
        halved[1],
        sparse=type.sparse.data,
        padding=type.padding.data,
    )
    return _after(block, BlockTileOp.make([source], [new_op], dict(block.attributes)))


def _byte_memref(memref: TableOp, fastest: int) -> SSAValue:
    type, analysis = memref.result.type, AxisAnalysis()
    base = _after(memref, BitcastOp.make([memref.base], [PointerType(i8)]))
    place = defining_op(base)
    sizes, strides = iter(memref.sizes), iter(memref.strides)
    dynamic: list[list[SSAValue]] = [[], []]
    static: list[list[int | None]] = [[], []]
    for at, (size, stride) in enumerate(zip(type.shape, type.strides)):
        for kind, (number, values, halves) in enumerate(
            ((size, sizes, at == fastest), (stride, strides, at != fastest))
        ):
            static[kind].append(number // 2 if halves and number is not None else number)
            if number is None:
                value = next(values)
                value = _half(place, value, analysis) if halves else value
                place = defining_op(value) if halves else place
                dynamic[kind].append(value)
    new_op = MemRefType.of(i8, *static)
    return _after(place, MakeMemRefOp.make([base, *dynamic], [new_op], dict(memref.attributes)))


def _half(place: Operation, value: SSAValue, analysis: AxisAnalysis) -> SSAValue:
    """Half of an even integer, with its divisibility."""
    one = _after(
        place,
        arith.ConstantOp.create(
            result_types=[value.type], properties={"value": IntegerAttr(1, cast(IntegerType, value.type))}
        ),
    )
    half = _after(defining_op(one), arith.ShRSIOp.make([value, one], [value.type]))
    divisor = analysis(value).divisibility // 2
    if divisor < 2:
        return half
    return _after(defining_op(half), AssumeOp.make([half], [value.type], {"predicate": DivByAttr(divisor)}))


def _after(place: Operation, op: Operation) -> SSAValue:
    parent_block(place).insert_op_after(op, place)
    return op.results[0]


class PackFp4(EdgePass):
    """Bytes instead of fp4 elements."""

    name = "tileas-pack-fp4"
    rules = RuleTable({"nv_tileas.dot": _pack})
