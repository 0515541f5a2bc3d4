"""Registers of the tiles that are live at once in a loop of dots, before layouts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import ancestor_in, as_op, parent_block, tile_shape
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_traits import is_counted_loop, is_rematerializable, is_view_like
from ...target.targets import Target
from ..common.llvm_element_types import element_of
from ..mma.family import Storage, fastest_family
from .dot_loop_registers import tile_registers
from .dot_operand_chains import rounds_to_tf32
from .enclosing_control_flow import enclosing_loops, only_accumulates
from .op_queries import DOT, ELEMENTWISE, LOADS, element_kind, is_tile

BROADCAST = "nv_tileas.broadcast"
WARPGROUP_THREADS = 128  # as many as tensor memory has lanes


def peak_registers(func: Operation, target: Target) -> int:
    """Registers of all threads for the tiles that are live at once, at the place with the most in a loop of several dots; 0 where
    there is none.
    """
    return max((peak_of_block(block, target) for block in _blocks_of_dots(func)), default=0)


def peak_by_element(func: Operation) -> int:
    """The same where threads compute element by element, so that what they compute takes the registers of what it is computed from."""
    return _peak_with_rows(_blocks_of_dots(func))


def _blocks_of_dots(func: Operation) -> Iterator[Block]:
    for loop in filter(is_counted_loop, walk(func)):
        block = loop.regions[0].blocks[0]
        if sum(op.name == DOT for op in block.ops) > 1:
            yield block


def peak_of_block(block: Block, target: Target, *, counts_inner: bool = True) -> int:
    """The most registers that are live after an operation of a block, such as a loop's body."""
    return max(live_registers(block, target, counts_inner=counts_inner))


def registers_beside_loops(dot: Operation, target: Target) -> int:
    """The most registers of all threads that tiles need at once around the loops of a dot whose result is in tensor memory; 0 for other
    families, whose result is in registers all the time.
    """
    if fastest_family(target).accumulator is not Storage.TENSOR:
        return 0
    return _peak_with_rows(parent_block(loop) for loop in enclosing_loops(dot))


def registers_of_epilogues(func: Operation, target: Target) -> int:
    """The most registers of all threads that tiles need at once around the loops of dots whose results are in registers; 0 for families with
    results in tensor memory, which threads read as they use them.
    """
    if fastest_family(target).accumulator is Storage.TENSOR:
        return 0
    loops = {loop for op in walk(func) if op.name == DOT for loop in enclosing_loops(op)}
    return max((_peak_of_elements(parent_block(loop), {}) for loop in loops), default=0)


def _peak_with_rows(blocks: Iterable[Block]) -> int:
    """The most registers that are live in one of some blocks, where each thread of a warpgroup has its copy of a row that is broadcast."""
    return max((_peak_of_elements(block, dict(_elements_of_rows(block))) for block in blocks), default=0)


def _peak_of_elements(block: Block, rows: Mapping[SSAValue, int]) -> int:
    """The most registers that are live after an operation of a block, without what inner blocks define: threads compute element by element,
    and keep what they compute from until the result is used otherwise. ``rows``: registers of values of which threads have copies.
    """
    positions: dict[Operation | Block, int] = {op: position for position, op in enumerate(block.ops)}
    last_use: dict[SSAValue, int] = {}
    for op in reversed(list(block.ops)):
        position = positions[op]
        end = max([position, *(last_use.get(_holder(one), 0) for one in op.results if _is_passed_on(one))])
        for value in {_holder(value) for inner in walk(op) for value in inner.operands}:
            last_use[value] = max(last_use.get(value, 0), end)
    changes = [0] * (len(positions) + 1)
    for value, last in last_use.items():
        begin = positions.get(value.owner)
        if begin is not None and not (_is_passed_on(value) or _is_recomputed(value)):
            size = max(tile_registers(value), rows.get(value, 0))
            changes[begin] += size
            changes[last] -= size
    return max(accumulate(changes))


def _elements_of_rows(block: Block) -> Iterator[tuple[SSAValue, int]]:
    """The rows that a block broadcasts to tiles of several, and the registers of all threads if each of a warpgroup has a row of the tile."""
    for op in (as_op(op) for op in block.ops if op.name == BROADCAST):
        row, tile = tile_shape(op.operands[0]), tile_shape(op.results[0])
        if len(tile) > 1 and row[-2] < tile[-2] and 1 < row[-1] == tile[-1]:
            yield _holder(op.results[0]), tile[-1] * WARPGROUP_THREADS


def _is_passed_on(value: SSAValue) -> bool:
    """Whether an element of a tile is computed from elements, and used at once: by one operation, or for other elements."""
    op = value.owner
    if not isinstance(op, Operation) or not is_tile(value) or element_kind(op) != ELEMENTWISE:
        return False
    users = {use.operation for use in value.uses}
    return len(users) == 1 or all(user.parent is op.parent and element_kind(user) == ELEMENTWISE for user in users)


def live_registers(block: Block, target: Target, *, counts_inner: bool = True) -> list[int]:
    """The registers of all threads that are live after each operation of a block, and behind the last one. What operations with regions
    define inside counts at their places, all at once.
    """
    positions = {op: position for position, op in enumerate(block.ops)}
    last_use = {
        _holder(value): position for op, position in positions.items() for inner in walk(op) for value in inner.operands
    }
    changes = [0] * (len(positions) + 2)
    for value in last_use.keys() - set(_kept_elsewhere(block, target)):
        if not counts_inner and _is_inner(value, block):
            continue
        begin, end = _live_range(value, last_use[value], positions, block)
        size = 0 if _is_recomputed(value) else tile_registers(value)
        changes[begin] += size
        changes[end] -= size
    return list(accumulate(changes))


def divides_each_element(op: Operation) -> bool:
    """Whether an operation divides tiles, each element by one of its own, and rounds the quotients correctly."""
    return _divides_exactly(op) and tile_registers(_holder(op.operands[1])) == tile_registers(op.results[0])


def divides_by_shared_elements(op: Operation) -> bool:
    """Whether an operation divides tiles, several elements by the same one, and rounds the quotients correctly: threads may take branches."""
    return _divides_exactly(op) and not divides_each_element(op)


def _divides_exactly(op: Operation) -> bool:
    if op.name != "nv_tileas.divf" or not is_tile(op.results[0]):
        return False
    mode = op.attributes.get("rounding_mode")
    return not isinstance(mode, StringAttr) or mode.data not in ("approx", "full")


def _live_range(value: SSAValue, last_use: int, positions: dict[Operation, int], block: Block) -> tuple[int, int]:
    """From where to where a tile is counted: after its operation, and before its last user, which may reuse its registers."""
    op = value.owner
    if op is block:
        return 0, last_use
    inner = op if isinstance(op, Operation) else op.parent_op()
    if op is inner and inner in positions:
        return positions[inner], last_use
    around = None if inner is None else ancestor_in(inner, block)
    if around is None:
        return 0, len(positions)  # defined before the loop
    return positions[around], positions[around] + 1  # inside of an operation with regions: all of it at once


def _is_inner(value: SSAValue, block: Block) -> bool:
    """Whether the regions of an operation of the block define a value."""
    where = value.owner if isinstance(value.owner, Block) else value.owner.parent
    op = where.parent_op() if where is not None and where is not block else None
    return op is not None and ancestor_in(op, block) is not None


def _holder(value: SSAValue) -> SSAValue:
    """The tile whose registers a view of it has."""
    op = value.owner
    while isinstance(op, Operation) and (is_view_like(op) or op.name == BROADCAST):
        value = op.operands[0]
        op = value.owner
    return value


def _is_recomputed(value: SSAValue) -> bool:
    """Whether no registers hold a value for long: it has addresses, offsets or predicates, which are computed where they are used, or is
    recomputed from such.
    """
    if not is_tile(value) or element_of(value.type).bits in (1, 64):
        return True
    op = value.owner
    return isinstance(op, Operation) and is_rematerializable(op) and all(map(_is_recomputed, op.operands))


def _kept_elsewhere(block: Block, target: Target) -> Iterator[SSAValue]:
    """Tiles of dots that are in tensor memory or shared memory: accumulators that nothing else reads, and loaded operands."""
    in_tensor_memory = fastest_family(target).accumulator is Storage.TENSOR
    for dot in (as_op(op) for op in block.ops if op.name == DOT):
        if in_tensor_memory and only_accumulates(dot):
            yield from (dot.result, dot.acc)
        for operand in (dot.lhs, dot.rhs):
            yield from _loaded(operand)


def _loaded(operand: SSAValue) -> Iterator[SSAValue]:
    """An operand of a dot that is loaded as it is: it goes to shared memory, or is read for each step."""
    links, value = [], operand
    while isinstance(op := value.owner, Operation) and (is_view_like(op) or rounds_to_tf32(op)):
        links.append(value)
        value = op.operands[0]
    if isinstance(value.owner, Operation) and value.owner.name in LOADS:
        yield from (*links, value)
