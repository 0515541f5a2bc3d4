"""Products of large tiles as loops of their own over k, in loops that hold not even one tile of each operand in shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....ir.casting import block_of, row, tile_type
from ....ir.dialects import arith
from ....ir.dialects.fast_xdsl import erase, walk
from ....ir.dialects.nv_tileas.ops import COUNTERPARTS
from ....ir.dialects.op_definition import TableOperation, location_of
from ....ir.dialects.op_traits import acts_outside
from ...analysis.integer_ranges import Check
from ...analysis.resource_model import two_stages_fit
from ...analysis.view_chains import kernel_of, load_behind, runs_free, runs_to_its_end, source_load
from ...common.llvm_element_types import element_of
from ...common.optimization_hints import occupancy
from ...job import Job
from ..k_tiled_operands import DeepOperand, deep_operand, k_dim_of, shorter
from ..rewriter import Insert, appender, binary, constant_i32, insert_before, inserter
from ..subtile_indices import ask_of_end, kept_index, times

# Bytes along k of an instruction of the tensor cores. Shorter lines along k are fetched in more and smaller pieces than the
# copies are worth.
LEAST_DEPTH_BYTES, LEAST_LINE_BYTES = 32, 64
# Of shared memory, beside all stages: for sums that change their layout, and slices.
BESIDE_BYTES = 16 * 1024
DOT = "nv_tileas.dot"
ContinueOp, CreateTokenOp, DotOp, ExtractSliceOp, ForOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("continue", "create_mem_token", "dot", "extract_slice", "for")
)


def nest(loop: TableOperation, job: Job) -> None:
    """Give products of a loop loops of their own, in which what is loaded for all of them fits twice, or nearly."""
    products = _products(loop)
    if sum(product.bytes_inside for product in products) <= job.target.max_shared_memory:
        return
    ctas = occupancy(kernel_of(loop), job) or 1
    while not two_stages_fit(ctas * sum(product.bytes for product in products), job, taken=ctas * BESIDE_BYTES):
        cut = [product for product in products if product.may_be_shorter]
        if not cut:
            break
        max(cut, key=lambda product: product.bytes).factor *= 2
    for product in products:
        if product.factor > 1:
            product.write()


@dataclass
class _Nested:
    """A product, what is loaded for it, and how many steps it shall take."""

    product: TableOperation
    loaded: dict[int, tuple[DeepOperand, list[Operation]]]
    factor: int = field(default=1)

    @property
    def bytes(self) -> int:
        """Of the tiles that one step loads."""
        return sum(operand.bytes for operand, _ in self.loaded.values()) // self.factor

    @property
    def bytes_inside(self) -> int:
        """Of the tiles that an iteration loads."""
        block = self.product.parent
        return sum(operand.bytes for operand, _ in self.loaded.values() if operand.load.parent is block)

    @property
    def may_be_shorter(self) -> bool:
        bits = min(element_of(value.type).bits for value in self.product.operands[:2])
        depth = self.product.lhs.type.get_shape()[-1] * bits // 8 // (2 * self.factor)
        lines = any(_is_line(operand) for operand, _ in self.loaded.values())
        return depth >= (LEAST_LINE_BYTES if lines else LEAST_DEPTH_BYTES)

    # ---- rewriting -------------------------------------------------------------------------------
    def write(self) -> None:
        """The product as a loop over k, in whose steps each operand is loaded or taken from its tile."""
        product, before = self.product, inserter(self.product)
        starts = {index: self._start(operand, before) for index, (operand, _) in self.loaded.items()}
        bounds = [before(constant_i32(number)) for number in (0, self.factor, 1)]
        body = Block(arg_types=[i32, product.acc.type])
        add, (step, sum) = appender(body), body.args
        operands = [
            self._load(index, add(binary(arith.AddiOp, starts[index], step)), add)
            if index in self.loaded
            else self._slice(index, step, add)
            for index in (0, 1)
        ]
        told = dict(product.attributes)
        made = add(DotOp.make([*operands, sum, None, None], [product.result.type], told))
        add(ContinueOp.make([[made]], []))
        loop = ForOp.make([*bounds, [product.acc]], [product.result.type], location_of(product), [Region(body)])
        product.result.replace_all_uses_with(insert_before(loop, product))
        erase(product)
        for operand, chain in self.loaded.values():
            _drop(operand.load, chain)

    def _start(self, operand: DeepOperand, before: Insert) -> SSAValue:
        """The number, in steps, of the first one."""
        return times(kept_index(operand.load, operand.k_dim, before), self.factor, before)

    def _load(self, index: int, at: SSAValue, add: Insert) -> SSAValue:
        operand, chain = self.loaded[index]
        load = row(operand.load.clone())
        load.operands[[name for name, _ in load.operand_groups].index("coords") + operand.k_dim] = at
        ask_of_end(load, [operand.k_dim], instead_of=Check.ANY)
        k_dims, current = {}, load.value
        ops: list[Operation] = [load]
        for link in chain:
            k_dims[current] = operand.k_dims[link.operands[0]]
            clone = link.clone()
            clone.operands[0] = current
            current = clone.results[0]
            ops.append(clone)
        k_dims[current] = k_dim_of(self.product, index)
        for op in ops:
            add(op)
        DeepOperand(load, k_dims).shorten(self.factor)
        return current

    def _slice(self, index: int, step: SSAValue, add: Insert) -> SSAValue:
        value, dim = self.product.operands[index], k_dim_of(self.product, index)
        zero = add(constant_i32(0))
        places = [step if place == dim else zero for place in range(len(tile_type(value).get_shape()))]
        return add(ExtractSliceOp.make([value, places], [shorter(tile_type(value), dim, self.factor)]))


def _products(loop: TableOperation) -> list[_Nested]:
    """The products of a loop's iteration that load tiles; none where something else in it acts on memory."""
    block = loop.regions[0].blocks[0]
    if not runs_to_its_end(loop) or any(acts_outside(op) for op in walk(block)):
        return []
    plain = [row(op) for op in block.ops if op.name == DOT and row(op).lhs_scale is None]
    found = [_Nested(product, dict(_loaded(product, loop))) for product in plain]
    return [one for one in found if one.loaded]


def _loaded(product: TableOperation, loop: TableOperation) -> Iterator[tuple[int, tuple[DeepOperand, list[Operation]]]]:
    """The operands of a product that are loaded in each iteration; with one such, also the other where it may be."""
    inside = {index: found for index in (0, 1) if (found := source_load(product, index)) is not None}
    for index in (0, 1):
        found = inside.get(index) or (_load_before(product.operands[index], loop) if inside else None)
        operand = None if found is None else deep_operand(product, index, *found)
        if found is not None and operand is not None and operand.load.coords[operand.k_dim].type == i32:
            yield index, (operand, found[1])


def _load_before(value: SSAValue, loop: TableOperation) -> tuple[TableOperation, list[Operation]] | None:
    """The load whose tile a loop's products read in each iteration, and what is between, if it might as well be in the loop."""
    found = load_behind(value)
    if found is None or not runs_free(found[0].token):
        return None
    load = found[0]
    around: Operation = loop
    while around.parent is not load.parent:
        if (outer := around.parent_op()) is None or any(acts_outside(op) for op in walk(outer)):
            return None
        around = outer
    between = (op for op in block_of(load).ops if load.is_before_in_block(op) and op.is_before_in_block(around))
    quiet = not any(acts_outside(inner) for op in between for inner in walk(op))
    return found if quiet and load.mem_semantic == "weak" else None


def _is_line(operand: DeepOperand) -> bool:
    """Whether neighbors along k are neighbors in memory."""
    strides = operand.load.view.type.source.strides
    return strides[operand.load.view.type.dim_map[operand.k_dim]] == 1


def _drop(load: TableOperation, chain: list[Operation]) -> None:
    """Erase a load of which only its token is used; what that ordered follows what it followed."""
    for op in (*reversed(chain), load):
        if any(result.uses for result in op.results if result is not load.result_token):
            return
        if op is load and load.result_token is not None and load.result_token.uses:
            token = load.token
            if token is None:
                token = insert_before(CreateTokenOp.make([], [load.result_token.type]), load)
            load.result_token.replace_all_uses_with(token)
        erase(op)
