"""Agents of one thread: slices of a program that fetch the tiles of its products, or issue the products.

A slice has the same loops as the program, with only the scalars that its own operations depend on, and a token for each
ring and each sum that it takes part in. ``Ring`` and ``Sum`` say what the agents of a kernel share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, FloatTF32Type, StringAttr, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import arith
from ...dialects.cute.shared import SharedLayoutAttr
from ...dialects.nv_tileas.ops import (
    COUNTERPARTS,
    AdvanceOp,
    AsyncTiledTmaLoadOp,
    AsyncUmmaOp,
    ConsumerWaitOp,
    ProducerAcquireOp,
    UmmaAcquireOp,
    UmmaCommitOp,
)
from ..analysis.axis_info import AxisAnalysis
from ..analysis.dot_atoms import k_of
from ..analysis.operand_chains import LOOP, ScalarSlice, loops_around, placement_after, source_load
from ..analysis.tensor_maps import TensorBox, tensor_box
from .pipeline_loads import constant_i32

# What a product is marked with, and its instruction is not.
CHOICES = ("warpgroup", "tensor_memory", "tensor_words", "warps")
tf32 = FloatTF32Type()
ForOp, YieldOp, ContinueOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "yield", "continue"))
Insert = Callable[[Operation], SSAValue | None]


# ---- what agents share ---------------------------------------------------------------------------
@dataclass(eq=False)
class Fetch:
    """One operand of a product: its load, the operations between, and where its tiles lie."""

    index: int
    load: Any
    chain: list[Operation]
    box: TensorBox
    buffer: SSAValue | None = None
    descriptor: SSAValue | None = None

    @property
    def element(self) -> Attribute:
        """What lies in shared memory."""
        return tf32 if self.box.rounds else self.load.value.type.element_type


@dataclass(eq=False)
class Sum:
    """The accumulators of one product in tensor memory; ``pipeline`` fills when they are complete.

    ``running``: they stay there for all of the innermost loop; ``waited``: but each product is waited for, since the next
    one's left operand takes the place of its own. ``held``: the left operand that stays in tensor memory. Where an agent
    of its own issues the products, the accumulators are a ring that the agents which compute release.
    """

    running: bool
    waited: bool
    pipeline: SSAValue
    tile: SSAValue
    left: SSAValue | None
    scales: list[SSAValue] = field(default_factory=list)
    held: SSAValue | None = None


@dataclass(eq=False)
class Stages:
    """Shared memory that fills and empties in turn; ``buffers``, and tensor maps, of each operand that is fetched."""

    pipeline: SSAValue
    buffers: list[SSAValue]
    descriptors: list[SSAValue]


@dataclass(eq=False)
class Ring:
    """The stages of one product, and its accumulators where they are in tensor memory.

    The same product of another loop, before or after this one's, has the same stages and accumulators (``used_again``).
    """

    product: Any
    fetches: list[Fetch]
    loops: list[Operation]
    stages: Stages | None = None
    loads: dict[Operation, Fetch] = field(default_factory=dict)
    sum: Sum | None = None
    used_again: bool = False

    @classmethod
    def of(cls, product: Any) -> Ring:
        """Of a product that reads what TMA fetches."""
        analysis = AxisAnalysis()
        fetches = []
        for index in (0, 1):
            found = source_load(product, index)
            if found is not None and "tma" in found[0].attributes:
                box = tensor_box(*found, analysis)
                fetches.append(Fetch(index, *found, box))
        return cls(product, fetches, loops_around(product), loads={fetch.load: fetch for fetch in fetches})

    @property
    def consumers(self) -> int | None:
        """Arrivals that empty a stage: one commit where tensor memory accumulates; None for one of each warp."""
        return 1 if "tensor_memory" in self.product.attributes else None

    @property
    def stage_bytes(self) -> int:
        return sum(fetch.box.tile_bytes for fetch in self.fetches)

    @property
    def pipeline(self) -> SSAValue:
        return self.stages.pipeline

    @property
    def sum_loops(self) -> list[Operation]:
        """The loops around where the accumulators are waited for."""
        return self.loops[:-1] if self.sum.running and not self.sum.waited else self.loops


# Where an agent stands in the stages of each ring, and in each sum.
State = Stages | Sum
Tokens = dict[State, SSAValue]


def stages_of(rings: list[Ring], loop: Operation | None = None) -> list[State]:
    """The stages that products use, or those of them that are inside ``loop``."""
    return list(dict.fromkeys(ring.stages for ring in rings if loop is None or loop in ring.loops))


def sums_of(rings: list[Ring], loop: Operation | None = None) -> list[State]:
    """The sums in tensor memory, or those that are waited for inside ``loop``."""
    summed = [ring for ring in rings if ring.sum is not None]
    return list(dict.fromkeys(ring.sum for ring in summed if loop is None or loop in ring.sum_loops))


def stage_operands(ring: Ring) -> dict[str, Attribute]:
    """How the instructions of a product find what lies in shared memory, and what else they are told."""
    product = ring.product
    kept = {key: value for key, value in product.attributes.items() if key not in CHOICES}
    for fetch in ring.fetches:
        placement = placement_after(fetch.chain, fetch.box.placement)
        kept[("lhs", "rhs")[fetch.index] + "_placement"] = SharedLayoutAttr(placement)
    return kept


def tensor_attributes(product: Any) -> dict[str, Attribute]:
    """The row of a product in tensor memory, and its extents."""
    m, n = product.result.type.get_shape()
    shape = DenseArrayBase.from_list(i64, [m, n, k_of(product)])
    return {"atom": product.attributes["tensor_memory"], "shape": shape}


def is_later(loop: Any, index: SSAValue) -> Operation:
    """Whether an iteration of a loop is not its first."""
    return arith.CmpiOp.make([index, loop.lower], [i1], {"predicate": StringAttr("ne")})


# ---- slices --------------------------------------------------------------------------------------
class AgentSlice:
    """Clones the slice of a program that an agent of one thread executes.

    A kind of agent says what it has tokens of (``states``), and what it does around loops and where the program has a
    load or a product.
    """

    def __init__(self, rings: list[Ring], slice: ScalarSlice):
        self.rings, self.slice = rings, slice
        self.values: dict[SSAValue, SSAValue] = {}

    def run(self, body: Block) -> Block:
        block = Block()
        insert = _appender(block)
        tokens = {state: insert(constant_i32(0)) for state in self.states()}
        self._block(body, block, tokens)
        block.add_op(YieldOp.make([[]], []))
        return block

    def states(self, loop: Operation | None = None) -> list[State]:
        """What the agent has tokens of, or what of it is inside ``loop``."""
        raise NotImplementedError

    def act(self, op: Any, insert: Insert, tokens: Tokens) -> None:
        """In place of an operation that is not cloned."""
        raise NotImplementedError

    def enter(self, loop: Any, insert: Insert, tokens: Tokens) -> None:
        """Before a loop."""

    def leave(self, loop: Any, insert: Insert, tokens: Tokens) -> None:
        """After a loop."""

    def _block(self, source: Block, target: Block, tokens: Tokens) -> None:
        insert = _appender(target)
        for op in source.ops:
            if op.name == LOOP and any(op in ring.loops for ring in self.rings):
                self.enter(op, insert, tokens)
                self._loop(op, insert, tokens)
                self.leave(op, insert, tokens)
            elif op in self.slice.needed:
                insert(self._clone(op))
            else:
                self.act(op, insert, tokens)

    def value(self, value: SSAValue) -> SSAValue:
        """What stands for a value of the program."""
        return self.values.get(value, value)

    def _clone(self, op: Operation) -> Operation:
        clone = type(op).create(
            operands=[self.value(operand) for operand in op.operands],
            result_types=[result.type for result in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        self.values.update(zip(op.results, clone.results))
        return clone

    def _loop(self, loop: Any, insert: Insert, tokens: Tokens) -> None:
        block = loop.regions[0].blocks[0]
        states = self.states(loop)
        kept = [arg.index - 1 for arg in block.args[1:] if arg in self.slice.arguments]
        types = [block.args[1 + index].type for index in kept] + [i32] * len(states)
        inner = Block(arg_types=[block.args[0].type, *types])
        self.values[block.args[0]] = inner.args[0]
        self.values.update((block.args[1 + index], arg) for index, arg in zip(kept, inner.args[1:]))
        carried = tokens | dict(zip(states, inner.args[1 + len(kept) :]))
        self._block(block, inner, carried)
        following = [self.value(block.last_op.operands[index]) for index in kept]
        inner.add_op(ContinueOp.make([[*following, *(carried[state] for state in states)]], []))
        initial = [self.value(loop.initial[index]) for index in kept] + [tokens[state] for state in states]
        bounds = [self.value(value) for value in (loop.lower, loop.upper, loop.step)]
        made = ForOp.make([*bounds, initial], types, dict(loop.attributes), [Region(inner)])
        insert(made)
        tokens.update(zip(states, made.results[len(kept) :]))


class FetchingAgent(AgentSlice):
    """Loads the tiles of all rings."""

    def states(self, loop: Operation | None = None) -> list[State]:
        return stages_of(self.rings, loop)

    def act(self, op: Any, insert: Insert, tokens: Tokens) -> None:
        ring = next((ring for ring in self.rings if op in ring.loads), None)
        if ring is None:
            return
        first, last = ring.fetches[0].load, ring.fetches[-1].load
        if len(ring.fetches) == 2 and not first.is_before_in_block(last):
            first, last = last, first
        if op is first:
            insert(ProducerAcquireOp.make([ring.pipeline, tokens[ring.stages]], []))
        fetch = ring.loads[op]
        coords = [self.value(coord) for coord in op.coords]
        operands = [op.view, fetch.descriptor, coords, fetch.buffer, ring.pipeline, tokens[ring.stages]]
        kept = {"loc": op.attributes["loc"]} if "loc" in op.attributes else {}
        insert(AsyncTiledTmaLoadOp.make(operands, [], kept))
        if op is last:
            tokens[ring.stages] = insert(AdvanceOp.make([ring.pipeline, tokens[ring.stages]], [i32]))


class IssuingAgent(AgentSlice):
    """Issues the products of all rings; each fills a sum in tensor memory, from zero, in the innermost loop around it."""

    def __init__(self, rings: list[Ring], slice: ScalarSlice):
        super().__init__(rings, slice)
        self.buffers: dict[Sum, SSAValue] = {}

    def states(self, loop: Operation | None = None) -> list[State]:
        return [*stages_of(self.rings, loop), *sums_of(self.rings, loop)]

    def enter(self, loop: Any, insert: Insert, tokens: Tokens) -> None:
        for sum in self._filled_by(loop):
            insert(UmmaAcquireOp.make([sum.pipeline, tokens[sum]], []))
            self.buffers[sum] = stage_of(insert, tokens[sum])

    def leave(self, loop: Any, insert: Insert, tokens: Tokens) -> None:
        for sum in self._filled_by(loop):
            insert(UmmaCommitOp.make([sum.pipeline, tokens[sum]], []))
            tokens[sum] = insert(AdvanceOp.make([sum.pipeline, tokens[sum]], [i32]))

    def _filled_by(self, loop: Any) -> list[Sum]:
        return [ring.sum for ring in self.rings if ring.loops[-1] is loop]

    def act(self, op: Any, insert: Insert, tokens: Tokens) -> None:
        ring = next((ring for ring in self.rings if op is ring.product), None)
        if ring is None:
            return
        token, loop = tokens[ring.stages], ring.loops[-1]
        insert(ConsumerWaitOp.make([ring.pipeline, token], []))
        stage = stage_of(insert, token)
        later = is_later(loop, loop.regions[0].blocks[0].args[0])
        later.operands = [self.value(operand) for operand in later.operands]
        operands = {fetch.index: fetch.buffer for fetch in ring.fetches}
        given = [operands[0], operands[1], ring.sum.tile, insert(later), stage, stage, ring.pipeline, token]
        attributes = stage_operands(ring) | tensor_attributes(op)
        insert(AsyncUmmaOp.make([*given, None, None, None, self.buffers[ring.sum]], [], attributes))
        tokens[ring.stages] = insert(AdvanceOp.make([ring.pipeline, token], [i32]))


def stage_of(insert: Insert, token: SSAValue) -> SSAValue:
    """The stage that a token names."""
    return insert(arith.ShRUIOp.make([token, insert(constant_i32(1))], [i32]))


def _appender(block: Block) -> Insert:
    def insert(op: Operation) -> SSAValue | None:
        block.add_op(op)
        return op.results[0] if op.results else None

    return insert
