"""Split dots into loops over k, if not even one tile of each operand fits in shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ....ir.casting import as_op, parent_block, tile_type
from ....ir.dialects.fast_xdsl import erase, walk
from ....ir.dialects.nv_tileas.ops import COUNTERPARTS
from ....ir.dialects.op_definition import TableOp, location_of
from ....ir.dialects.op_traits import has_side_effects
from ...analysis.dot_operand_chains import dot_operand_load, source_load_of
from ...analysis.enclosing_control_flow import enclosing_kernel, has_no_early_exit
from ...analysis.integer_ranges import BoundsCheck
from ...analysis.op_queries import DOT
from ...analysis.resource_model import two_stages_fit
from ...analysis.scalar_slice import is_unordered_token
from ...common.llvm_element_types import element_of
from ...common.optimization_hints import occupancy
from ...job import Job
from ..k_tiled_operands import KTiledOperand, k_dim_of, k_tiled_operand, with_shorter_dim
from ..op_insertion import Inserter, insert_before, insertion_at_end, insertion_before
from ..subtile_indices import clamped_index, relax_checks_past_end, scaled_index

# Bytes along k of a tensor core instruction. Shorter lines along k need more and smaller copies than they are worth.
MIN_K_BYTES, MIN_LINE_BYTES = 32, 64
OPERANDS = 2  # of a dot, besides its accumulator
# Shared memory reserved besides all stages: for layout conversions of accumulators, and slices.
SMEM_OVERHEAD = 16 * 1024
RING_STAGES = 4  # of tiles in flight: more than two stages of each operand have where there are few
ContinueOp, CreateTokenOp, DotOp, ExtractSliceOp, ForOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("continue", "create_mem_token", "dot", "extract_slice", "for")
)


def tile_k_loops(loop: TableOp, job: Job) -> None:
    """Split dots of a loop into loops over k, so that two stages of all operands fit, or nearly."""
    dots = _dots_of(loop)
    if sum(dot.bytes_inside for dot in dots) <= job.target.max_shared_memory:
        return
    ctas = occupancy(enclosing_kernel(loop), job) or 1
    while not _stages_fit(dots, ctas, job):
        cut = [dot for dot in dots if dot.may_shrink]
        if not cut:
            break
        max(cut, key=lambda dot: dot.bytes).factor *= 2
    for dot in dots:
        if dot.factor > 1:
            dot.write()


def _stages_fit(dots: list[_KLoop], ctas: int, job: Job) -> bool:
    """Whether two stages of all operands fit, or some stages of one ring that dots share whose tiles are alike (``united_rings.py``)."""
    overhead = ctas * SMEM_OVERHEAD
    if two_stages_fit(ctas * sum(dot.bytes for dot in dots), job, used_bytes=overhead):
        return True
    ring = RING_STAGES * max(dot.bytes for dot in dots)
    is_shared = job.target.has("tma") and len({dot.tile_bytes for dot in dots}) == 1 < len(dots)
    return is_shared and ctas * ring + overhead <= job.target.max_shared_memory


def tile_k_of_dot(dot: TableOp, job: Job) -> None:
    """Split a dot into a loop over k if its block loads both operands, two stages of them do not fit, and no loop around it is over k."""
    one = _KLoop(dot, dict(_loaded_just_before(dot)))
    if isinstance(dot.acc, BlockArgument) or len(one.loaded) < OPERANDS or two_stages_fit(one.bytes, job):
        return
    while one.may_shrink and not two_stages_fit(one.bytes, job, used_bytes=SMEM_OVERHEAD):
        one.factor *= 2
    if one.factor > 1:
        one.write()


@dataclass
class _KLoop:
    """A dot, its loads, and the number of its k steps."""

    dot: TableOp
    loaded: dict[int, tuple[KTiledOperand, list[Operation]]]
    factor: int = field(default=1)

    @property
    def bytes(self) -> int:
        """Bytes of the tiles that one k step loads."""
        return sum(operand.bytes for operand, _ in self.loaded.values()) // self.factor

    @property
    def tile_bytes(self) -> int:
        """Those of the largest one."""
        return max(operand.bytes for operand, _ in self.loaded.values()) // self.factor

    @property
    def bytes_inside(self) -> int:
        """Bytes of the tiles that an iteration loads."""
        block = self.dot.parent
        return sum(operand.bytes for operand, _ in self.loaded.values() if operand.load.parent is block)

    @property
    def may_shrink(self) -> bool:
        bits = min(element_of(value.type).bits for value in self.dot.operands[:2])
        depth = self.dot.lhs.type.get_shape()[-1] * bits // 8 // (2 * self.factor)
        lines = any(_is_k_contiguous(operand) for operand, _ in self.loaded.values())
        return depth >= (MIN_LINE_BYTES if lines else MIN_K_BYTES)

    # ---- rewriting -------------------------------------------------------------------------------
    def write(self) -> None:
        """Rewrite the dot as a loop over k, in which each operand is loaded or sliced from its tile."""
        dot, before = self.dot, insertion_before(self.dot)
        starts = {index: self._start(operand, before) for index, (operand, _) in self.loaded.items()}
        bounds = [before.constant(number) for number in (0, self.factor, 1)]
        body = Block(arg_types=[i32, dot.acc.type])
        add, (step, acc) = insertion_at_end(body), body.args
        operands = [
            self._load(index, add.binary("add", starts[index], step), add)
            if index in self.loaded
            else self._slice(index, step, add)
            for index in (0, 1)
        ]
        attributes = dict(dot.attributes)
        new_op = add(DotOp.make([*operands, acc, None, None], [dot.result.type], attributes))
        add(ContinueOp.make([[new_op]], []))
        loop = ForOp.make([*bounds, [dot.acc]], [dot.result.type], location_of(dot), [Region(body)])
        dot.result.replace_all_uses_with(insert_before(loop, dot))
        erase(dot)
        for operand, chain in self.loaded.values():
            _drop(operand.load, chain)

    def _start(self, operand: KTiledOperand, before: Inserter) -> SSAValue:
        """The index of the first k step."""
        return scaled_index(clamped_index(operand.load, operand.k_dim, before), self.factor, before)

    def _load(self, index: int, at: SSAValue, add: Inserter) -> SSAValue:
        operand, chain = self.loaded[index]
        load = as_op(operand.load.clone())
        load.operands[[name for name, _ in load.operand_groups].index("coords") + operand.k_dim] = at
        relax_checks_past_end(load, [operand.k_dim], replaced_check=BoundsCheck.ANY)
        k_dims, current = {}, load.value
        ops: list[Operation] = [load]
        for link in chain:
            k_dims[current] = operand.k_dims[link.operands[0]]
            clone = link.clone()
            clone.operands[0] = current
            current = clone.results[0]
            ops.append(clone)
        k_dims[current] = k_dim_of(self.dot, index)
        for op in ops:
            add(op)
        KTiledOperand(load, k_dims).split_k(self.factor)
        return current

    def _slice(self, index: int, step: SSAValue, add: Inserter) -> SSAValue:
        value, dim = self.dot.operands[index], k_dim_of(self.dot, index)
        zero = add.constant(0)
        indices = [step if place == dim else zero for place in range(len(tile_type(value).get_shape()))]
        return add(ExtractSliceOp.make([value, indices], [with_shorter_dim(tile_type(value), dim, self.factor)]))


def _dots_of(loop: TableOp) -> list[_KLoop]:
    """The dots of a loop's iteration whose operands are loaded; none where other operations have side effects."""
    block = loop.regions[0].blocks[0]
    if not has_no_early_exit(loop) or any(has_side_effects(op) for op in walk(block)):
        return []
    plain = [as_op(op) for op in block.ops if op.name == DOT and as_op(op).lhs_scale is None]
    found = [_KLoop(dot, dict(_loaded(dot, loop))) for dot in plain]
    return [one for one in found if one.loaded]


def _loaded(dot: TableOp, loop: TableOp) -> Iterator[tuple[int, tuple[KTiledOperand, list[Operation]]]]:
    """The operands of a dot that are loaded in each iteration, and the other one where it may be loaded then."""
    inside = {index: found for index in (0, 1) if (found := dot_operand_load(dot, index)) is not None}
    for index in (0, 1):
        found = inside.get(index) or (_load_before(dot.operands[index], loop) if inside else None)
        if found is not None and (operand := _steps_by_i32(dot, index, found)) is not None:
            yield index, (operand, found[1])


def _steps_by_i32(dot: TableOp, index: int, found: tuple[TableOp, list[Operation]]) -> KTiledOperand | None:
    """An operand that can be loaded in steps along k, with a coordinate of the type of a loop's index; None for others."""
    operand = k_tiled_operand(dot, index, *found)
    return operand if operand is not None and operand.load.coords[operand.k_dim].type == i32 else None


def _loaded_just_before(dot: TableOp) -> Iterator[tuple[int, tuple[KTiledOperand, list[Operation]]]]:
    """The operands of a dot that its block loads, after no write, and with none before the dot."""
    for index in range(OPERANDS):
        found = dot_operand_load(dot, index)
        if found is None or found[0].mem_semantic != "weak" or not is_unordered_token(found[0].token):
            continue
        operand = _steps_by_i32(dot, index, found)
        if operand is not None and _is_quiet(found[0], dot):
            yield index, (operand, found[1])


def _is_quiet(first: Operation, last: Operation) -> bool:
    """Whether no operation between two of a block has side effects."""
    between = (op for op in parent_block(first).ops if first.is_before_in_block(op) and op.is_before_in_block(last))
    return not any(has_side_effects(inner) for op in between for inner in walk(op))


def _load_before(value: SSAValue, loop: TableOp) -> tuple[TableOp, list[Operation]] | None:
    """The load before the loop whose tile its dots read, with the operations in between, if it could be in the loop."""
    found = source_load_of(value)
    if found is None or not is_unordered_token(found[0].token):
        return None
    load = found[0]
    around: Operation = loop
    while around.parent is not load.parent:
        if (outer := around.parent_op()) is None or any(has_side_effects(op) for op in walk(outer)):
            return None
        around = outer
    return found if _is_quiet(load, around) and load.mem_semantic == "weak" else None


def _is_k_contiguous(operand: KTiledOperand) -> bool:
    """Whether k is contiguous in memory."""
    strides = operand.load.view.type.source.strides
    return strides[operand.load.view.type.dim_map[operand.k_dim]] == 1


def _drop(load: TableOp, chain: list[Operation]) -> None:
    """Erase a load of which only its token is used. Users of the token depend on the load's own token."""
    for op in (*reversed(chain), load):
        if any(result.uses for result in op.results if result is not load.result_token):
            return
        if op is load and load.result_token is not None and load.result_token.uses:
            token = load.token
            if token is None:
                token = insert_before(CreateTokenOp.make([], [load.result_token.type]), load)
            load.result_token.replace_all_uses_with(token)
        erase(op)
