"""Give every tile a layout, and change layouts where operations ask for different ones.

In:    nv_tileas operations on tiles without layouts.
Out:   every tile has a #cute.layout encoding; convert_layout where layouts meet; vector, in_bounds, atom and warps on
       the operations that need them; num_warps on kernels.
After: convert_tileaa_to_tileas. Before: scratch memory is assigned (it follows from the layouts).
Sound: an operation's operands and results have the layouts its rule in ``layout_rules.py`` relates; the writer of
       LLVM IR refuses any other.

Tiles that work element by element together share a layout (a class). Anchors vote for the layout they want: products
their accumulator fragment, memory accesses the coalesced one. Classes are decided by the heaviest vote first, and each
decision is passed through views, broadcasts and reductions as a vote for its neighbors.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i32,
)
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.cute import LayoutAttr
from ...dialects.nv_tileas.ops import ConvertLayoutOp
from ...layouts import LinearLayout, coalesced, split_warps, spread_vector
from ..analysis.axis_info import AxisAnalysis
from ..analysis.dot_atoms import choose_atom, layout_atom, padded_shape, product_shape, tiling_for
from ..analysis.kinds import ELEMENTWISE, FREE, POINTER, SHAPE, is_cheap, is_tile, kind_of, tiles
from ..analysis.memory_access import ViewFacts, pointer_vector
from ..analysis.operand_chains import LOOPS, RENAMES, source_load
from ..contracts import EdgePass
from ..job import Job
from ..shared.element_types import element_of
from . import layout_rules as rules
from .choose_warps import choose_warps

# How strongly anchors ask, per element: a product's accumulators are used every iteration, memory once.
FIRST_SCALE = 3  # operand of a product, after its factors and the sum before
DOT_WEIGHT, MEMORY_WEIGHT, SCAN_WEIGHT, PASSED_ON = 1000, 10, 5, 0.5
# An element moved from the accumulator fragment costs less than a trip through shared memory if stores stay this wide.
DIRECT_STORE_BYTES = 8
SECTOR_BYTES = 32  # what the lanes of a store must fill together: memory is written in sectors
MAX_REMATERIALIZED = 16


class AssignLayouts(EdgePass):
    """Votes, decisions, conversions."""

    name = "tileas-assign-layouts"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in module.body.block.ops:
            if op.name == "nv_tileaa.func":
                warps = choose_warps(op, job)
                op.attributes["num_warps"] = IntegerAttr(warps, i32)
                _Kernel(op, job, warps).run()


class _Kernel:
    def __init__(self, func: Operation, job: Job, num_warps: int):
        self.func, self.job, self.num_warps = func, job, num_warps
        self.analysis = AxisAnalysis()
        self.parent: dict[SSAValue, SSAValue] = {}
        self.votes: dict[SSAValue, list[tuple[float, int, LinearLayout]]] = {}
        self.layouts: dict[SSAValue, LinearLayout] = {}
        self.links: dict[SSAValue, list[tuple[SSAValue, SSAValue, Any]]] = {}
        self.ports: dict[Operation, LinearLayout] = {}
        self.order = count()
        self.ops = [op for op in func.walk() if op is not func]

    def run(self) -> None:
        for op in self.ops:
            self._unify(op)
        for op in self.ops:
            self._anchor(op)
        self._decide()
        _Rewriter(self).run()

    # ---- classes -----------------------------------------------------------------------------------
    def find(self, value: SSAValue) -> SSAValue:
        root = value
        while (above := self.parent.get(root, root)) is not root:
            root = above
        while (above := self.parent.get(value, root)) is not root:
            self.parent[value], value = root, above
        return root

    def union(self, values: list[SSAValue]) -> None:
        for value in values[1:]:
            first, other = self.find(values[0]), self.find(value)
            if first is not other:
                self.parent[other] = first

    def _unify(self, op: Operation) -> None:
        kind = kind_of(op)
        if kind in (ELEMENTWISE, POINTER):
            bound = [value for value in tiles(op.operands) if not _is_free(value)]
            self.union(bound + tiles(op.results))
        elif op.name in LOOPS:
            self._unify_loop(op)
        elif op.name in YIELDS:
            for value, target in _targets(op):
                if is_tile(value):
                    self.union([target] + ([] if _is_free(value) else [value]))

    def _unify_loop(self, op: Operation) -> None:
        counted = op.name.endswith("for")
        arguments = op.regions[0].blocks[0].args[1 if counted else 0 :]
        for start, argument in zip(op.operands[3 if counted else 0 :], arguments):
            if is_tile(argument):
                self.union([argument] + ([] if _is_free(start) else [start]))
        if counted:
            for argument, result in zip(arguments, op.results):
                if is_tile(argument):
                    self.union([argument, result])

    # ---- votes -------------------------------------------------------------------------------------
    def vote(self, value: SSAValue, layout: LinearLayout, weight: float) -> None:
        root = self.find(value)
        self.votes.setdefault(root, []).append((weight, next(self.order), layout))

    def _size(self, value: SSAValue) -> int:
        size = 1
        for extent in value.type.get_shape():
            size *= extent
        return size

    def _anchor(self, op: Operation) -> None:
        if (anchor := ANCHORS.get(op.name)) is not None:
            anchor(self, op)

    def _link(self, source: SSAValue, target: SSAValue, map: Any) -> None:
        self.links.setdefault(self.find(source), []).append((source, target, map))

    def memory_layout(self, value: SSAValue, order: list[int], vector: int) -> LinearLayout:
        """The coalesced layout of a tile whose fastest dimension is ``order[0]``."""
        shape = tuple(value.type.get_shape())
        vector = min(vector, spread_vector(self._size(value), self.num_warps, vector))
        return coalesced(shape, tuple(order), vector, self.num_warps)

    def default_layout(self, value: SSAValue) -> LinearLayout:
        shape = tuple(value.type.get_shape())
        vector = max(16 // element_of(value.type).bytes, 1)
        return self.memory_layout(value, list(range(len(shape) - 1, -1, -1)), vector)

    # ---- decisions ---------------------------------------------------------------------------------
    def _decide(self) -> None:
        heap = [
            (-weight, number, root, layout)
            for root, votes in self.votes.items()
            for weight, number, layout in _tally(votes)
        ]
        heapq.heapify(heap)
        while heap:
            weight, _, root, layout = heapq.heappop(heap)
            if root in self.layouts:
                continue
            self.layouts[root] = layout
            for source, target, map in self.links.get(root, ()):
                passed = map(layout)
                if passed is not None and self.find(target) not in self.layouts:
                    heapq.heappush(heap, (weight * PASSED_ON, next(self.order), self.find(target), passed))

    def layout(self, value: SSAValue) -> LinearLayout:
        """The layout of a value's class; a class without votes takes the default of its shape."""
        root = self.find(value)
        if root not in self.layouts:
            self.layouts[root] = self.default_layout(root)
        return self.layouts[root]


def _tally(votes: list[tuple[float, int, LinearLayout]]) -> list[tuple[float, int, LinearLayout]]:
    """One entry per layout with the sum of its weights."""
    totals: dict[LinearLayout, tuple[float, int]] = {}
    for weight, number, layout in votes:
        before = totals.get(layout, (0.0, number))
        totals[layout] = (before[0] + weight, before[1])
    return [(weight, number, layout) for layout, (weight, number) in totals.items()]


def _is_free(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and kind_of(value.owner) == FREE


YIELDS = ("nv_tileas.yield", "nv_tileas.break", "nv_tileas.continue")
REGIONS = ("nv_tileas.reduce", "nv_tileas.scan")


def _targets(op: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """What a terminator's operands become: the next iteration's arguments, or results of the operation around it."""
    target = op.parent_op()
    while op.name != "nv_tileas.yield" and target.name not in LOOPS:
        target = target.parent_op()
    if target.name in REGIONS:
        return []
    if op.name != "nv_tileas.continue":
        return list(zip(op.operands, target.results))
    arguments = target.regions[0].blocks[0].args
    return list(zip(op.operands, arguments[1:] if target.name.endswith("for") else arguments))


# ---- anchors -------------------------------------------------------------------------------------
def _anchor_tiled(kernel: _Kernel, op: Any) -> None:
    """A load or store of a view: as wide as alignment and bounds allow, lanes along the fastest dimension."""
    facts = ViewFacts(op.view, kernel.analysis)
    in_bounds = facts.in_bounds()
    vector = facts.vector(op.coords, in_bounds)
    if op.attributes["mem_semantic"].data != "weak" or op.name.endswith("rmw"):
        vector = 1
    elif (aligned := facts.vector(op.coords, in_bounds, ragged=True)) > vector and facts.type.kind.data != "gather":
        op.attributes["ragged"] = UnitAttr()
        vector = aligned
    op.attributes["vector"] = IntegerAttr(vector, i32)
    op.attributes["in_bounds"] = DenseArrayBase.from_list(i1, in_bounds)
    layout = kernel.memory_layout(op.value, facts.order, vector)
    kernel.vote(op.value, layout, MEMORY_WEIGHT * kernel._size(op.value))
    kernel.ports[op] = layout


def _anchor_pointer(kernel: _Kernel, op: Any) -> None:
    if not is_tile(op.value):
        return
    vector, fastest = pointer_vector(op, kernel.analysis)
    op.attributes["vector"] = IntegerAttr(vector, i32)
    rank = len(op.value.type.get_shape())
    order = (
        [fastest] + [dim for dim in range(rank - 1, -1, -1) if dim != fastest]
        if fastest >= 0
        else list(range(rank - 1, -1, -1))
    )
    kernel.vote(op.value, kernel.memory_layout(op.value, order, vector), MEMORY_WEIGHT * kernel._size(op.value))


def _anchor_atomic(kernel: _Kernel, op: Any) -> None:
    if is_tile(op.value):
        rank = len(op.value.type.get_shape())
        order = list(range(rank - 1, -1, -1))
        kernel.vote(op.value, kernel.memory_layout(op.value, order, 1), MEMORY_WEIGHT * kernel._size(op.value))


def _anchor_dot(kernel: _Kernel, op: Any) -> None:
    """The accumulator's fragment; operands are converted, unless a fused multiply-add reads them from shared memory."""
    batch, m, n, k = product_shape(op)
    kernel.union([op.acc, op.result] if not _is_free(op.acc) else [op.result])
    if "warpgroup" in op.attributes:
        kernel.vote(op.result, rules.warpgroup_layouts(op, kernel.num_warps)[1], DOT_WEIGHT * kernel._size(op.result))
        return
    if "tensor_memory" in op.attributes:
        kernel.vote(
            op.result, rules.tensor_memory_layouts(op, kernel.num_warps)[1], DOT_WEIGHT * kernel._size(op.result)
        )
        _vote_for_scales(kernel, op)
        return
    atom = choose_atom(kernel.job.target, op)
    if atom is None:
        kernel.vote(op.result, kernel.default_layout(op.result), DOT_WEIGHT * kernel._size(op.result))
        return
    rows, columns, _ = padded_shape(m, n, k, atom)
    warps = split_warps(kernel.num_warps, rows, columns, layout_atom(atom), batch or 1)
    if _feeds_product(kernel, op):
        warps = (kernel.num_warps // warps[2], 1, warps[2])
    op.attributes["atom"] = StringAttr(atom.name)
    op.attributes["warps"] = DenseArrayBase.from_list(i32, warps)
    layout = rules.restricted(tiling_for(op, atom, warps).c, tuple(op.result.type.get_shape()))
    kernel.vote(op.result, layout, DOT_WEIGHT * kernel._size(op.result))
    _vote_for_scales(kernel, op)


def _vote_for_scales(kernel: _Kernel, op: Any) -> None:
    if op.lhs_scale is None:
        return
    layouts = rules.scale_layouts(op, kernel.job.target, kernel.num_warps)
    for scale, layout in zip((op.lhs_scale, op.rhs_scale), layouts):
        kernel.vote(scale, layout, DOT_WEIGHT * kernel._size(scale))


def _feeds_product(kernel: _Kernel, op: Any) -> bool:
    """Whether one product's result becomes another's left operand: then warps divide rows only, and it need not move."""
    dots = [other for other in kernel.ops if other.name == "nv_tileas.dot"]
    if len(dots) < 2:
        return False
    results = {kernel.find(dot.result) for dot in dots}
    return any(kernel.find(dot.lhs) in results for dot in dots)


def _anchor_scan(kernel: _Kernel, op: Any) -> None:
    axis = op.attributes["axis"].value.data
    shape = tuple(op.sources[0].type.get_shape())
    kernel.vote(
        op.sources[0], rules.scan_layout(shape, axis, kernel.num_warps), SCAN_WEIGHT * kernel._size(op.sources[0])
    )


def _anchor_view(kernel: _Kernel, op: Any) -> None:
    shapes = tuple(op.source.type.get_shape()), tuple(op.result.type.get_shape())
    kernel._link(op.source, op.result, lambda layout: layout.reshape(shapes[1]))
    kernel._link(op.result, op.source, lambda layout: layout.reshape(shapes[0]))


def _anchor_permute(kernel: _Kernel, op: Any) -> None:
    permutation = list(op.attributes["permutation"].get_values())
    inverse = [permutation.index(dim) for dim in range(len(permutation))]
    kernel._link(op.source, op.result, lambda layout: layout.permute_dims(permutation))
    kernel._link(op.result, op.source, lambda layout: layout.permute_dims(inverse))


def _anchor_broadcast(kernel: _Kernel, op: Any) -> None:
    source, target = tuple(op.source.type.get_shape()), tuple(op.result.type.get_shape())
    kernel._link(op.source, op.result, lambda layout: rules.broadcast_result(layout, target))
    kernel._link(op.result, op.source, lambda layout: rules.broadcast_source(layout, source))


def _anchor_reduce(kernel: _Kernel, op: Any) -> None:
    axis = op.attributes["axis"].value.data
    kernel.union(list(op.sources))
    if not is_tile(op.results[0]):
        return
    kernel.union(list(op.results))
    kernel._link(op.sources[0], op.results[0], lambda layout: rules.reduce_result(layout, axis))


def _anchor_cat(kernel: _Kernel, op: Any) -> None:
    dim = op.attributes["dim"].value.data
    kernel._link(op.lhs, op.result, lambda layout: layout.cat(dim))


def _anchor_reinterpret(kernel: _Kernel, op: Any) -> None:
    narrow = rules.narrow_ratio(op)
    kernel._link(op.source, op.result, lambda layout: rules.reinterpreted(layout, narrow))


ANCHORS = {
    "nv_tileas.tiled_load": _anchor_tiled,
    "nv_tileas.tiled_store": _anchor_tiled,
    "nv_tileas.tiled_atomic_rmw": _anchor_tiled,
    "nv_tileas.load": _anchor_pointer,
    "nv_tileas.store": _anchor_pointer,
    "nv_tileas.atomic_rmw": _anchor_atomic,
    "nv_tileas.atomic_cas": _anchor_atomic,
    "nv_tileas.dot": _anchor_dot,
    "nv_tileas.scan": _anchor_scan,
    "nv_tileas.view": _anchor_view,
    "nv_tileas.permute": _anchor_permute,
    "nv_tileas.broadcast": _anchor_broadcast,
    "nv_tileas.reduce": _anchor_reduce,
    "nv_tileas.cat": _anchor_cat,
    "nv_tileas.reinterpret": _anchor_reinterpret,
}


# ---- rewriting -----------------------------------------------------------------------------------
class _Rewriter:
    """Writes the layouts into the types, in program order, and inserts conversions."""

    def __init__(self, kernel: _Kernel):
        self.kernel = kernel
        self.made: dict[tuple[SSAValue, LinearLayout, Block], SSAValue] = {}

    def run(self) -> None:
        for op in self.kernel.ops:
            if op.name in REGIONS or op.parent_op().name not in REGIONS:
                self._rewrite(op)

    def _rewrite(self, op: Operation) -> None:
        if op.name in LOOPS:
            for argument in tiles(op.regions[0].blocks[0].args):
                set_layout(argument, self.kernel.layout(argument))
        handler = REWRITES.get(op.name) or KIND_REWRITES.get(kind_of(op))
        if handler is not None:
            handler(self, op)

    def require(self, op: Operation, index: int, layout: LinearLayout, *, exact: bool = True) -> None:
        """Make operand ``index`` have ``layout``; if not ``exact``, registers may also be renamed or repeated."""
        value = op.operands[index]
        held = layout_of(value)
        if held == layout or (not exact and held.register_permutation(layout) is not None):
            return
        op.operands[index] = self.converted(value, layout, op)

    def converted(self, value: SSAValue, layout: LinearLayout, user: Operation) -> SSAValue:
        """``value`` in another layout: computed again if that is cheap, else converted near its user or its definition."""
        anchor = _place_before(value, user)
        key = (value, layout, anchor.parent)
        if (known := self.made.get(key)) is not None and _dominates(known, user):
            return known
        budget = [MAX_REMATERIALIZED]
        if _can_repeat(value, budget):
            new = self._repeat(value, layout, user)
        else:
            op = ConvertLayoutOp.make([[value]], [typed(value, layout)])
            _copy_location(user, op)
            anchor.parent.insert_op_before(op, anchor)
            new = op.results[0]
        self.made[key] = new
        return new

    def _repeat(self, value: SSAValue, layout: LinearLayout, user: Operation) -> SSAValue:
        """The operations that make ``value`` again, in ``layout``."""
        if layout_of(value) == layout:
            return value
        op = value.owner
        clone = type(op).create(
            operands=list(op.operands),
            result_types=[typed(value, layout)],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        for index, operand in enumerate(op.operands):
            if is_tile(operand):
                wanted = rules.operand_layout(op, operand, layout)
                held = layout_of(operand)
                if held != wanted and (kind_of(op) == ELEMENTWISE or held.register_permutation(wanted) is None):
                    clone.operands[index] = self._repeat(operand, wanted, user)
        user.parent.insert_op_before(clone, user)
        return clone.results[0]

    def produce(self, value: SSAValue, layout: LinearLayout) -> None:
        """``value`` comes out in ``layout``; users that expect its class's layout get a conversion after it."""
        wanted = self.kernel.layout(value)
        set_layout(value, layout)
        if layout == wanted:
            return
        op = value.owner
        conversion = ConvertLayoutOp.make([[value]], [typed(value, wanted)])
        _copy_location(op, conversion)
        op.parent.insert_op_after(conversion, op)
        value.replace_uses_with_if(conversion.results[0], lambda use: use.operation is not conversion)


def _place_before(value: SSAValue, user: Operation) -> Operation:
    """Where a conversion goes: before the user if the value is of the same block, else right after its definition."""
    owner = value.owner
    if isinstance(owner, Block):
        return user if owner is user.parent else (owner.first_op or user)
    if owner.parent is user.parent:
        return user
    return owner.next_op or user


def _dominates(value: SSAValue, user: Operation) -> bool:
    """Whether ``value`` is defined wherever ``user`` stands: what was made inside one loop is unknown to the next."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    place: Operation | None = user
    while place is not None and place.parent is not block:
        place = place.parent_op()
    return place is not None and (isinstance(owner, Block) or owner.is_before_in_block(place))


def _can_repeat(value: SSAValue, budget: list[int]) -> bool:
    budget[0] -= 1
    op = value.owner
    if budget[0] < 0 or not isinstance(op, Operation) or not is_cheap(op) or op.regions:
        return False
    return all(_can_repeat(operand, budget) for operand in tiles(op.operands))


def _copy_location(source: Operation, target: Operation) -> None:
    if "loc" in source.attributes:
        target.attributes["loc"] = source.attributes["loc"]


def layout_of(value: SSAValue) -> LinearLayout:
    return value.type.encoding.data


def typed(value: SSAValue, layout: LinearLayout) -> TensorType:
    """The type of ``value`` with a layout."""
    return TensorType(value.type.element_type, value.type.get_shape(), LayoutAttr(layout))


def set_layout(value: SSAValue, layout: LinearLayout) -> None:
    value._type = typed(value, layout)
    if isinstance(value.owner, ConstantOp):
        # The elements' type is the result's: text has one for both.
        value.owner.properties["value"] = DenseIntOrFPElementsAttr(value.type, value.owner.properties["value"].data)


def _rewrite_elementwise(rw: _Rewriter, op: Operation) -> None:
    produced = tiles(op.results)
    involved = produced + tiles(op.operands)
    if not involved:
        return
    reference = produced[0] if produced else next((v for v in involved if not _is_free(v)), involved[0])
    layout = rw.kernel.layout(reference)
    for index, operand in enumerate(op.operands):
        if is_tile(operand):
            rw.require(op, index, layout)
    for result in produced:
        set_layout(result, layout)


def _rewrite_free(rw: _Rewriter, op: Operation) -> None:
    for result in tiles(op.results):
        set_layout(result, rw.kernel.layout(result))


def _rewrite_shape(rw: _Rewriter, op: Operation) -> None:
    layout = rw.kernel.layout(op.results[0])
    rw.require(op, 0, rules.operand_layout(op, op.operands[0], layout), exact=False)
    set_layout(op.results[0], layout)


def _rewrite_tiled_load(rw: _Rewriter, op: Any) -> None:
    layout = rw.kernel.ports[op]
    wanted = rw.kernel.layout(op.value)
    if rw.kernel._size(op.value) <= 32 * rw.kernel.num_warps or _only_scales(op.value):
        layout = wanted  # one element a thread at most, or bytes of few lines: any layout reads as well
    _require_index(rw, op, layout)
    rw.produce(op.value, layout)


def _only_scales(value: SSAValue) -> bool:
    """Whether products multiply by a tile, whatever its elements are called by then, and nothing else reads it."""
    for use in value.uses:
        op = use.operation
        if op.name in RENAMES and not _only_scales(op.results[0]):
            return False
        if op.name not in RENAMES and (op.name != "nv_tileas.dot" or use.index < FIRST_SCALE):
            return False
    return True


def _require_index(rw: _Rewriter, op: Any, layout: LinearLayout) -> None:
    """The index tile of a gather has the tile's layout along the sparse dimension."""
    sparse = op.view.type.sparse.data
    if sparse < 0:
        return
    wanted = layout
    for dim in range(layout.rank - 1, -1, -1):
        if dim != sparse:
            wanted = wanted.drop_dim(dim)
    index = list(op.operands).index(op.coords[sparse])
    rw.require(op, index, wanted.distinct_registers()[0], exact=False)


def _rewrite_tiled_store(rw: _Rewriter, op: Any) -> None:
    layout = rw.kernel.ports[op]
    index = list(op.operands).index(op.value)
    held = layout_of(op.value)
    element = element_of(op.value.type)
    facts_order = ViewFacts(op.view, rw.kernel.analysis).order
    width = min(held.contiguous(facts_order), op.attributes["vector"].value.data) * element.bytes
    sector = width << (held.bits_along(facts_order[0])["lane"].bit_count() if facts_order else 0)
    small = rw.kernel._size(op.value) <= 32 * rw.kernel.num_warps
    narrow = width < DIRECT_STORE_BYTES or sector < SECTOR_BYTES or element.bytes < 4
    if element.per_byte > 1 or not small and narrow:
        rw.require(op, index, layout)
    _require_index(rw, op, layout_of(op.value))


def _rewrite_dot(rw: _Rewriter, op: Any) -> None:
    layout = rw.kernel.layout(op.result)
    if "warpgroup" in op.attributes:
        return _rewrite_fetching_dot(rw, op, rules.warpgroup_layouts(op, rw.kernel.num_warps))
    if "tensor_memory" in op.attributes:
        return _rewrite_fetching_dot(rw, op, rules.tensor_memory_layouts(op, rw.kernel.num_warps))
    if "atom" in op.attributes:
        layout = rules.dot_layouts(op, rw.kernel.job.target)
        rw.require(op, 0, layout[0], exact=False)
        rw.require(op, 1, layout[1], exact=False)
        rw.require(op, 2, layout[2], exact=False)
        _require_scales(rw, op)
        rw.produce(op.result, layout[2])
        return
    rw.require(op, 2, layout)
    set_layout(op.result, layout)


def _rewrite_fetching_dot(rw: _Rewriter, op: Any, layouts: tuple[LinearLayout | None, LinearLayout]) -> None:
    """The right operand, and the left one where it is fetched and not scattered, stay in shared memory: any layout will do."""
    left, accumulators = layouts
    source = source_load(op, 0)
    if source is None or "tma" not in source[0].attributes or "scattered_rows" in op.attributes:
        rw.require(op, 0, left, exact=False)
    rw.require(op, 2, accumulators)
    _require_scales(rw, op)
    rw.produce(op.result, accumulators)


def _require_scales(rw: _Rewriter, op: Any) -> None:
    if op.lhs_scale is None:
        return
    layouts = rules.scale_layouts(op, rw.kernel.job.target, rw.kernel.num_warps)
    for index, layout in enumerate(layouts, FIRST_SCALE):
        rw.require(op, index, layout, exact=False)


def _rewrite_reduce(rw: _Rewriter, op: Any) -> None:
    axis = op.attributes["axis"].value.data
    layout = layout_of(op.sources[0])
    if not layout.is_separable(axis):
        layout = rw.kernel.default_layout(op.sources[0])
    for index in range(len(op.sources)):
        rw.require(op, index, layout)
    for result in tiles(op.results):
        rw.produce(result, rules.reduce_result(layout, axis))


def _rewrite_scan(rw: _Rewriter, op: Any) -> None:
    axis = op.attributes["axis"].value.data
    layout = layout_of(op.sources[0])
    if not rules.can_scan(layout, axis):
        layout = rules.scan_layout(tuple(op.sources[0].type.get_shape()), axis, rw.kernel.num_warps)
    for index in range(len(op.sources)):
        rw.require(op, index, layout)
    for result in op.results:
        rw.produce(result, layout)


def _rewrite_cat(rw: _Rewriter, op: Any) -> None:
    dim = op.attributes["dim"].value.data
    part = layout_of(op.lhs).distinct_registers()[0]
    rw.require(op, 0, part)
    rw.require(op, 1, part)
    rw.produce(op.result, part.cat(dim))


def _rewrite_slice(rw: _Rewriter, op: Any) -> None:
    """Through shared memory: any layouts, as long as the slice's registers and threads do not share bits."""
    for result in tiles(op.results):
        layout = rw.kernel.layout(result)
        rw.produce(result, layout if rules.is_additive(layout) else rw.kernel.default_layout(result))
    if op.name.endswith("insert_slice"):
        rw.require(op, 0, rw.kernel.default_layout(op.operands[0]))
        rw.require(op, 1, layout_of(op.results[0]))


def _rewrite_reinterpret(rw: _Rewriter, op: Any) -> None:
    ratio = rules.narrow_ratio(op)
    layout = layout_of(op.source).distinct_registers()[0]
    if ratio < 1:
        wide = rules.widened_source(layout, ratio, rw.kernel.layout(op.result))
        rw.require(op, 0, wide)
        layout = wide
    else:
        rw.require(op, 0, layout)
    rw.produce(op.result, rules.reinterpreted(layout, ratio))


def _rewrite_loop(rw: _Rewriter, op: Any) -> None:
    counted = op.name.endswith("for")
    arguments = op.regions[0].blocks[0].args[1 if counted else 0 :]
    for index, argument in enumerate(arguments):
        if is_tile(argument):
            rw.require(op, index + (3 if counted else 0), rw.kernel.layout(argument))
    for result in tiles(op.results):
        set_layout(result, rw.kernel.layout(result))


def _rewrite_yield(rw: _Rewriter, op: Any) -> None:
    for index, (value, target) in enumerate(_targets(op)):
        if is_tile(value):
            rw.require(op, index, rw.kernel.layout(target))


def _rewrite_if(rw: _Rewriter, op: Any) -> None:
    for result in tiles(op.results):
        set_layout(result, rw.kernel.layout(result))


def _rewrite_print(rw: _Rewriter, op: Any) -> None:
    shapes: dict[tuple, LinearLayout] = {}
    for index, value in enumerate(op.operands):
        if is_tile(value):
            shape = tuple(value.type.get_shape())
            rw.require(op, index, shapes.setdefault(shape, layout_of(value)))


REWRITES = {
    "nv_tileas.tiled_load": _rewrite_tiled_load,
    "nv_tileas.tiled_store": _rewrite_tiled_store,
    "nv_tileas.tiled_atomic_rmw": _rewrite_tiled_store,
    "nv_tileas.dot": _rewrite_dot,
    "nv_tileas.reduce": _rewrite_reduce,
    "nv_tileas.scan": _rewrite_scan,
    "nv_tileas.cat": _rewrite_cat,
    "nv_tileas.extract_slice": _rewrite_slice,
    "nv_tileas.insert_slice": _rewrite_slice,
    "nv_tileas.reinterpret": _rewrite_reinterpret,
    "nv_tileas.for": _rewrite_loop,
    "nv_tileas.loop": _rewrite_loop,
    "nv_tileas.if": _rewrite_if,
    "nv_tileas.yield": _rewrite_yield,
    "nv_tileas.break": _rewrite_yield,
    "nv_tileas.continue": _rewrite_yield,
    "nv_tileas.print": _rewrite_print,
}
KIND_REWRITES = {
    ELEMENTWISE: _rewrite_elementwise,
    POINTER: _rewrite_elementwise,
    FREE: _rewrite_free,
    SHAPE: _rewrite_shape,
}
