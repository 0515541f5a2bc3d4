"""Move fp4 operands of products two to a byte, as memory and the instructions hold them.

In:    block-scaled nv_tileas products of fp4 tiles that are loaded with k as memory's fastest dimension.
Out:   the loads are of bytes, half as many along k, and the product, marked ``packed``, is of pairs; so copies, shared
       memory and registers never take an element from its pair.
After: legalize_dot (the product scales by itself), distribute_over_ctas. Before: select_async, assign_layouts.
Sound: pairs begin on even elements in memory and in the tile, and the tensor ends between two of them, so a byte is
       inside the tensor with both of its elements or with none; zeros that pad a tile are zeros in pairs, too.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, UnitAttr, i8
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import arith
from ...dialects.cuda_tile.attrs import DivByAttr
from ...dialects.nv_tileaa.types import MemRefType, PointerType, TiledViewType
from ...dialects.nv_tileas.ops import COUNTERPARTS
from ..analysis.axis_info import AxisAnalysis
from ..analysis.dot_atoms import PAIR, scaled_atom
from ..analysis.memory_access import ViewFacts
from ..contracts import EdgePass
from ..job import Job

FP4, PERMUTE = "f4E2M1FN", "nv_tileas.permute"
BitcastOp, AssumeOp, MakeMemRefOp, BlockTileOp, TiledLoadOp, PermuteOp, DotOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"]
    for name in ("bitcast", "assume", "make_memref", "block_tile", "tiled_load", "permute", "dot")
)


class PackFp4(EdgePass):
    """Bytes in place of fp4 elements."""

    name = "tileas-pack-fp4"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in list(module.walk()):
            if op.name == "nv_tileas.dot" and _wants_pairs(op, job):
                _pack(op)


def _wants_pairs(op: Any, job: Job) -> bool:
    if op.lhs_scale is None or str(op.lhs.type.element_type) != FP4:
        return False
    atom = scaled_atom(job.target, op)
    if atom is None or not job.target.mma_atoms(PAIR, PAIR, "f32", atom.scale_type) or not atom.packed_bits:
        return False
    analysis = AxisAnalysis()
    rank = len(op.lhs.type.get_shape())
    return all(_has_pairs(value, k_dim, analysis) for value, k_dim in ((op.lhs, rank - 1), (op.rhs, rank - 2)))


def _source(value: SSAValue, k_dim: int) -> tuple[Any, Any, int] | None:
    """The load of an operand, the permute between if there is one, and which dimension of the loaded tile is k."""
    owner, permute = value.owner, None
    if isinstance(owner, Operation) and owner.name == PERMUTE:
        permute, value = owner, owner.operands[0]
        k_dim = list(permute.attributes["permutation"].get_values())[k_dim]
        owner = value.owner
    is_load = isinstance(owner, Operation) and owner.name == TiledLoadOp.name
    if not is_load or len(list(value.uses)) != 1 or permute is not None and len(list(permute.results[0].uses)) != 1:
        return None
    return owner, permute, k_dim


def _has_pairs(value: SSAValue, k_dim: int, analysis: AxisAnalysis) -> bool:
    """Whether the elements of an operand come from memory in pairs along k."""
    found = _source(value, k_dim)
    if found is None:
        return False
    load, _, dim = found
    view = load.view.type
    if view.kind.data == "gather" or view.padding.data not in ("none", "zero") or view.tile[dim] % 2:
        return False
    if (
        load.attributes["mem_semantic"].data != "weak"
        or view.steps[dim] % 2
        or not isinstance(load.view.owner, Operation)
    ):
        return False
    facts, fastest = ViewFacts(load.view, analysis), view.dim_map[dim]
    others = [stride for at, stride in enumerate(facts.strides) if at != fastest]
    even = facts.sizes[fastest] % 2 == 0 and all(stride % 2 == 0 for stride in others)
    return even and view.source.strides[fastest] == 1


def _pack(op: Any) -> None:
    rank = len(op.lhs.type.get_shape())
    operands = [_packed(op.lhs, rank - 1), _packed(op.rhs, rank - 2), op.acc, op.lhs_scale, op.rhs_scale]
    product = DotOp.make(operands, [op.result.type], dict(op.attributes) | {"packed": UnitAttr()})
    op.parent.insert_op_before(product, op)
    op.result.replace_all_uses_with(product.result)
    gone = [op, *(link for value in (op.lhs, op.rhs) for link in _links(value))]
    for old in gone:
        old.detach()
        old.erase()


def _links(value: SSAValue) -> list[Operation]:
    owner = value.owner
    return [owner, owner.operands[0].owner] if owner.name == PERMUTE else [owner]


def _packed(value: SSAValue, k_dim: int) -> SSAValue:
    load, permute, dim = _source(value, k_dim)
    view = _byte_view(load.view, dim)
    shape = list(load.value.type.get_shape())
    shape[dim] //= 2
    types: list[Attribute] = [TensorType(i8, shape), *(result.type for result in load.results[1:])]
    made = TiledLoadOp.make([view, list(load.coords), load.token], types, dict(load.attributes))
    load.parent.insert_op_before(made, load)
    for old, new in zip(load.results[1:], made.results[1:]):
        old.replace_all_uses_with(new)
    if permute is None:
        return made.results[0]
    order = list(permute.attributes["permutation"].get_values())
    turned = TensorType(i8, [shape[at] for at in order])
    return _after(permute, PermuteOp.make([made.results[0]], [turned], dict(permute.attributes)))


def _byte_view(view: SSAValue, dim: int) -> SSAValue:
    """The view of the same memory as bytes, halved along the tile's dimension ``dim``."""
    block, type = view.owner, view.type
    memref = block.operands[0].owner
    fastest = type.dim_map[dim]
    source = _byte_memref(memref, fastest)
    halved = [[n // 2 if at == dim else n for at, n in enumerate(numbers)] for numbers in (type.tile, type.steps)]
    made = TiledViewType.of(
        type.kind.data,
        source.type,
        halved[0],
        type.dim_map,
        halved[1],
        sparse=type.sparse.data,
        padding=type.padding.data,
    )
    return _after(block, BlockTileOp.make([source], [made], dict(block.attributes)))


def _byte_memref(memref: Any, fastest: int) -> SSAValue:
    type, analysis = memref.result.type, AxisAnalysis()
    base = _after(memref, BitcastOp.make([memref.base], [PointerType(i8)]))
    place = base.owner
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
                place = value.owner if halves else place
                dynamic[kind].append(value)
    made = MemRefType.of(i8, *static)
    return _after(place, MakeMemRefOp.make([base, *dynamic], [made], dict(memref.attributes)))


def _half(place: Operation, value: SSAValue, analysis: AxisAnalysis) -> SSAValue:
    """Half of an even number, and what divides it."""
    one = _after(
        place, arith.ConstantOp.create(result_types=[value.type], properties={"value": IntegerAttr(1, value.type)})
    )
    half = _after(one.owner, arith.ShRUIOp.make([value, one], [value.type]))
    divisor = analysis(value).divisibility // 2
    if divisor < 2:
        return half
    return _after(half.owner, AssumeOp.make([half], [value.type], {"predicate": DivByAttr(divisor)}))


def _after(place: Operation, op: Operation) -> SSAValue:
    place.parent.insert_op_after(op, place)
    return op.results[0]
