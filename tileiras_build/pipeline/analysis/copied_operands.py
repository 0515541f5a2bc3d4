"""Operands of dots that TMA does not load, and that threads copy to shared memory by cp.async, iterations ahead of their dots."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...ir.casting import as_op, defining_op, parent_block, terminator, tile_size, tile_type, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import SharedLayout
from ...ir.layouts.tmem_layout import ALL_COLUMNS, PAIR, ROWS
from ..common.llvm_element_types import element_of
from ..mma.family import MmaFamily, Storage
from .access_vectorization import VECTOR_BYTES, ViewAccessInfo, dims_from, pointer_vector
from .axis_info import AxisAnalysis
from .chained_dots import is_computed_by_dot
from .dot_operand_chains import dot_operand_load, smem_layout_after_views
from .enclosing_control_flow import is_grid_wait, is_zero
from .memory_semantics import semantic_of
from .op_queries import DOT, LOADS, POINTER_LOAD, TILED_LOAD, is_outside, is_pure, may_divide_by_zero
from .scalar_slice import TOKEN, follows_no_write
from .stored_operands import fastest_first, is_invariant, placements, placements_of
from .tma_operands import is_overwritten_before_read

# cp.async copies 4, 8 or 16 bytes (PTX ISA 9.0, section 9.7.9.25).
MIN_CP_ASYNC_BYTES = 4
CTAS_THAT_COPY = 2  # per SM, each of which runs while threads of the other wait
CONVERT = "nv_tileas.convert_layout"
PERMUTE = "nv_tileas.permute"
RENAMING = ("nv_tileas.view", PERMUTE, CONVERT)


def renamed_load(value: SSAValue) -> tuple[TableOp, list[Operation]] | None:
    """The load of a tile that only becomes ``value``, of one use, with the operations between, which rename elements."""
    chain: list[Operation] = []
    while isinstance(op := value.owner, Operation) and op.name in RENAMING and len(op.operands) == 1:
        chain.insert(0, op)
        value = op.operands[0]
    if not isinstance(op, Operation) or op.name not in LOADS:
        return None
    tiles = [as_op(op).value, *(link.results[0] for link in chain)]
    return (as_op(op), chain) if all(len(list(tile.uses)) == 1 for tile in tiles) else None


def has_other_readers(tile: SSAValue) -> bool:
    """Whether anything but dots, which multiply it, reads a tile."""
    for use in tile.uses:
        user = use.operation
        if has_other_readers(user.results[0]) if user.name in RENAMING else user.name != DOT or use.index not in (0, 1):
            return True
    return False


def written_operands(dot: TableOp, direct: Collection[int], *, computes: bool = False) -> tuple[int, ...] | None:
    """The operands that threads write to shared memory as they are, beside ``direct`` ones, and a left one that follows from other
    dots; None where the loop computes one of them from what it loads, unless that is asked for (``computes``).
    """
    computed = (0,) if is_computed_by_dot(dot.lhs, parent_block(dot)) else ()
    written = tuple(index for index in (0, 1) if index not in (*direct, *computed))
    return (
        written if computes or all(_is_loaded_in_loop(dot, one) or is_invariant(dot, one) for one in written) else None
    )


def _is_loaded_in_loop(dot: TableOp, index: int) -> bool:
    """Whether the loop of a dot loads an operand as it is."""
    found = renamed_load(dot.operands[index])
    return found is not None and found[0].parent is dot.parent


def copyable_operands(
    dot: TableOp, indices: Iterable[int], family: MmaFamily, mn_major: tuple[str, ...]
) -> tuple[int, ...]:
    """Those of some operands that cp.async can copy to where a family reads them."""
    least = least_copied_bytes(family)
    return tuple(index for index in indices if is_copyable(dot, index, mn_major, least))


def least_copied_bytes(family: MmaFamily) -> int:
    """The fewest bytes that a cp.async copies at once to an operand of a family."""
    return VECTOR_BYTES if family.accumulator is Storage.TENSOR else MIN_CP_ASYNC_BYTES


def is_copyable(dot: TableOp, index: int, mn_major: tuple[str, ...], least: int) -> bool:
    """Whether cp.async can copy an operand that its loop loads, for a later iteration, at ``least`` so many bytes at once."""
    found = renamed_load(dot.operands[index])
    if found is None or not is_loaded_ahead(found[0], parent_block(dot), found[1]):
        return False
    return copied_bytes(found[0]) >= least and copied_placement(dot, index, mn_major) is not None


def leaves_columns(block: Block, family: MmaFamily) -> bool:
    """Whether the accumulators of a loop, if tensor memory has them, leave half of it, and space for left operands, to another CTA: it
    runs while the threads of one, which copy tiles, wait for MMAs.
    """
    if family.accumulator is not Storage.TENSOR:
        return True
    sizes = (tile_size(op.results[0]) for op in block.ops if op.name == DOT)
    return CTAS_THAT_COPY * sum(size // ROWS for size in sizes) < ALL_COLUMNS


def copied_bytes(load: TableOp) -> int:
    """The bytes that one cp.async copies of a tile, 0 where it copies none."""
    return _vector(load)[0] * element_of(load.value.type).bytes


def may_cp_async(dot: TableOp, index: int) -> bool:
    """Whether cp.async can copy the tile of a view that only becomes an operand of a dot."""
    found = dot_operand_load(dot, index)
    return found is not None and _vector(found[0])[0] > 0


def copied_placement(dot: TableOp, index: int, mn_major: tuple[str, ...]) -> SharedLayout | None:
    """Where an operand is copied: neighbors in memory stay neighbors; None where the instruction does not read that."""
    load, chain = unwrap(renamed_load(dot.operands[index]))
    shape, fastest = tile_type(load.value).get_shape(), _vector(load)[1]
    plain = SharedLayout.plain(shape, dims_from(fastest, len(shape)), element_of(load.value.type).bits)
    seen = smem_layout_after_views(chain, plain)
    if seen is None or len(seen.shape) != 2:
        return None
    wanted = fastest_first(seen)[0]
    return next((one for one in placements(dot, index, mn_major) if fastest_first(one)[0] == wanted), None)


def half_of_copied_rhs(dot: TableOp, mn_major: tuple[str, ...]) -> tuple[TableOp, list[tuple[SSAValue, int]]] | None:
    """The load of a right operand that cp.async copies, and the tiles from there to the dot, each with the dimension that is its columns;
    None where no instruction reads half of the columns where they would be copied.
    """
    load, chain = unwrap(renamed_load(dot.rhs))
    if load.name != TILED_LOAD or any(link.name != PERMUTE for link in chain):
        return None
    columns, tiles = 1, [(dot.rhs, 1)]
    for link in reversed(chain):
        columns = as_op(link).permutation[columns]
        tiles.append((link.operands[0], columns))
    view, shape = load.view.type, list(tile_type(dot.rhs).get_shape())
    shape[1] //= PAIR
    if view.kind.data == "gather" or view.steps[columns] % (view.tile[columns] // PAIR):
        return None
    whole = unwrap(copied_placement(dot, 1, mn_major))
    halves = placements_of(shape, element_of(load.value.type).bits, 0, mn_major)
    return (load, tiles) if any(fastest_first(half) == fastest_first(whole) for half in halves) else None


def placement_of_load(placement: SharedLayout, chain: list[Operation]) -> SharedLayout:
    """The placement of the tile that a load has, whose elements ``chain`` renames to an operand with a placement."""
    for link in reversed(chain):
        if link.name == "nv_tileas.permute":
            permutation = as_op(link).permutation
            placement = placement.permute_dims([permutation.index(dim) for dim in range(len(permutation))])
        elif link.name == "nv_tileas.view":
            placement = placement.reshape(tile_type(link.operands[0]).get_shape())
    return placement


def is_loaded_ahead(load: TableOp, block: Block, chain: list[Operation]) -> bool:
    """Whether a load of a loop's tile may be executed for a later iteration, and what is masked out is zero."""
    return fills_with_zeros(load) and may_load_ahead(load, block, chain)


def may_load_ahead(load: TableOp, block: Block, chain: list[Operation]) -> bool:
    """Whether a load of a loop's tile may be executed for a later iteration."""
    if load.parent is not block or not isinstance(load.value.type, TensorType):
        return False
    if is_overwritten_before_read(load, chain) or any(map(is_grid_wait, walk(block))):
        return False
    return depends_on_index_alone(load, block)


def depends_on_index_alone(load: TableOp, block: Block) -> bool:
    """Whether a load of a loop's body follows no write of the loop, and what it loads can be computed for a later iteration."""
    if semantic_of(load) != "weak" or not follows_no_write_in(block, load.token):
        return False
    operands = [value for value in load.operands if value.type.name != TOKEN]
    return all(is_computable_ahead(value, block) for value in operands)


def follows_no_write_in(block: Block, token: SSAValue | None) -> bool:
    """Whether a token follows no write or acquire, or only such as a barrier ends before a loop (``insert_token_barriers.py``)."""
    return follows_no_write(token) or token is not None and is_outside(token, block)


def fills_with_zeros(load: TableOp) -> bool:
    """Whether a load has zeros where it is out of bounds or masked out."""
    if load.name == POINTER_LOAD:
        return load.other is None or is_zero(load.other)
    type = load.view.type
    return type.kind.data != "gather" and type.padding.data in ("none", "zero")


def _vector(load: TableOp) -> tuple[int, int]:
    """The elements that one cp.async copies, 0 where it copies none, and the dimension along which they are contiguous."""
    analysis, element = AxisAnalysis(), element_of(load.value.type)
    if load.name == POINTER_LOAD:
        vector, fastest = pointer_vector(load, analysis)
    else:
        facts = ViewAccessInfo(load.view, analysis)
        vector, fastest = facts.vector(load.coords, facts.in_bounds(), has_boundary_tile=True), facts.order[0]
    return vector if element.per_byte == 1 and vector * element.bytes >= MIN_CP_ASYNC_BYTES else 0, fastest


def is_computable_ahead(value: SSAValue, block: Block, seen: frozenset[SSAValue] = frozenset()) -> bool:
    """Whether a value of a loop's body can be computed for a later iteration."""
    if is_outside(value, block) or value in seen:
        return True
    seen |= {value}
    if isinstance(value, BlockArgument):
        return value.index == 0 or is_computable_ahead(terminator(block).operands[value.index - 1], block, seen)
    op = defining_op(value)
    if not is_pure(op) or op.regions or may_divide_by_zero(op) or op.name == CONVERT:
        return False
    return all(is_computable_ahead(operand, block, seen) for operand in op.operands)
