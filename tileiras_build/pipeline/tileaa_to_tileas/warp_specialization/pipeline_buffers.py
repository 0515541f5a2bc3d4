"""What the agents of a kernel share: rings of stages in shared memory, and sums in tensor memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import FloatTF32Type, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.casting import given, type_of
from ....ir.dialects import arith
from ....ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from ....ir.dialects.nv_tileas.types import PipelineType
from ....ir.dialects.op_definition import TableOperation
from ....ir.layouts.tmem_layout import WARPS
from ...analysis.axis_info import AxisAnalysis
from ...analysis.chained_dots import resident_load
from ...analysis.mma_atom_selection import k_of, tensor_memory_tiles
from ...analysis.scale_factor_groups import groups_apart
from ...analysis.tma_tensor_maps import TensorBox, tensor_box
from ...analysis.view_chains import choices_around_loops, loops_around, placement_after, source_load
from ..rewriter import Insert, constant_i32
from .scale_load_candidates import ScaleCopy, scale_copies

# What a product is marked with, and its instruction is not.
CHOICES = ("warpgroup", "tensor_memory", "tensor_words", "warps", "rescaled", "resident")
tf32 = FloatTF32Type()


@dataclass(eq=False)
class Fetch:
    """One operand of a product: its load, the operations between, and where its tiles lie."""

    index: int
    load: TableOperation
    chain: list[Operation]
    box: TensorBox
    buffer: SSAValue | None = None
    descriptor: SSAValue | None = None

    @property
    def element(self) -> Attribute:
        """What lies in shared memory."""
        return tf32 if self.box.rounds else self.load.value.type.element_type


@dataclass(eq=False)
class Left:
    """A left operand that warps write to tensor memory in ``parts`` along k, each a stage of the pipeline."""

    pipeline: SSAValue
    parts: int


@dataclass(eq=False)
class Sum:
    """The accumulators of one product in tensor memory; ``pipeline`` fills when they are complete.

    ``running``: they stay there for all of the innermost loop; ``waited``: but each product is waited for, since the next
    one's left operand takes the place of its own. ``held``: the left operand that stays in tensor memory. Where an agent
    of its own issues the products, the accumulators are a ring that the agents which compute release, or ``written`` says
    how that agent learns of the left operand.
    """

    running: bool
    waited: bool
    pipeline: SSAValue
    tile: SSAValue
    left: SSAValue | None
    scales: list[SSAValue] = field(default_factory=list)
    held: SSAValue | None = None
    written: Left | None = None


@dataclass(eq=False)
class Stages:
    """Shared memory that fills and empties in turn; ``buffers``, and tensor maps, of each operand that is fetched."""

    pipeline: SSAValue
    buffers: list[SSAValue]
    descriptors: list[SSAValue]


@dataclass(eq=False)
class ScaleRing:
    """Stages of scales, each for the iterations of a group: of each operand's a buffer in shared memory, and columns."""

    pipeline: SSAValue
    buffers: list[SSAValue]
    tiles: list[SSAValue]


@dataclass(eq=False)
class Resident:
    """A left operand that TMA brings before the loops of its products, where it stays: a ring of one stage.

    ``loops``: those around its load, in each of which it is brought anew.
    """

    fetch: Fetch
    loops: list[TableOperation]
    allocated: Stages | None = None

    @property
    def stages(self) -> Stages:
        return given(self.allocated)

    @property
    def around(self) -> list[TableOperation]:
        return self.loops


@dataclass(eq=False)
class Ring:
    """The stages of one product, and its accumulators where they are in tensor memory.

    The same product of another loop, before or after this one's, has the same stages and accumulators (``used_again``).
    ``choices``: those around its loops.
    """

    product: TableOperation
    fetches: list[Fetch]
    loops: list[TableOperation]
    choices: list[TableOperation]
    allocated: Stages | None = None
    loads: dict[Operation, Fetch] = field(default_factory=dict)
    summed: Sum | None = None
    used_again: bool = False
    resident: Resident | None = None
    copies: list[ScaleCopy] = field(default_factory=list)
    scaled: ScaleRing | None = None

    @classmethod
    def of(cls, product: TableOperation) -> Ring:
        """Of a product that reads what TMA fetches."""
        analysis = AxisAnalysis()
        fetches = []
        for index in (0, 1):
            found = source_load(product, index)
            if found is not None and found[0].tma:
                box = given(tensor_box(*found, analysis))
                fetches.append(Fetch(index, *found, box))
        loops, copies = given(loops_around(product)), scale_copies(product)
        loads: dict[Operation, Fetch] = {fetch.load: fetch for fetch in fetches}
        return cls(product, fetches, loops, choices_around_loops(product), loads=loads, copies=copies)

    @property
    def consumers(self) -> int | None:
        """Arrivals that empty a stage: one commit where tensor memory accumulates; None for one of each warp."""
        return 1 if self.product.tensor_memory is not None else None

    @property
    def stage_bytes(self) -> int:
        return sum(fetch.box.tile_bytes for fetch in self.fetches)

    @property
    def stages(self) -> Stages:
        return given(self.allocated)

    @property
    def sum(self) -> Sum:
        return given(self.summed)

    @property
    def scale_groups(self) -> int:
        """Stages of scales that warps of their own bring: as many as come in time, and as the product has columns for."""
        sums = tensor_memory_tiles(self.product, WARPS)[1].total_words
        columns = (self.product.tensor_words - sums) // sum(copy.columns.words for copy in self.copies)
        return max(1, min(groups_apart(self.product.scale_steps), columns))

    @property
    def scales(self) -> ScaleRing:
        return given(self.scaled)

    @property
    def pipeline(self) -> SSAValue:
        return self.stages.pipeline

    @property
    def around(self) -> list[TableOperation]:
        """The loops and choices around its product."""
        return [*self.loops, *self.choices]

    @property
    def around_sum(self) -> list[TableOperation]:
        """Those around where the accumulators are waited for."""
        loops = self.loops[:-1] if self.sum.running and not self.sum.waited else self.loops
        return [*loops, *self.choices]

    def replace(self, old: Operation, new: TableOperation) -> None:
        """``new`` stands in place of a loop or choice around the product."""
        self.loops = [new if around is old else around for around in self.loops]
        self.choices = [new if around is old else around for around in self.choices]


# Where an agent stands in the stages of each ring, of scales, and in each sum.
State = Stages | Sum | ScaleRing | Left
Tokens = dict[State, SSAValue]


def residents_of(rings: list[Ring]) -> list[Resident]:
    """The left operands that stay in shared memory, which several products may read."""
    return list(dict.fromkeys(ring.resident for ring in rings if ring.resident is not None))


def set_residents(rings: list[Ring]) -> None:
    """Tell the rings of products with a ``resident`` left operand which that is."""
    made: dict[Operation, Resident] = {}
    analysis = AxisAnalysis()
    for ring in (ring for ring in rings if ring.product.resident):
        load, chain = given(resident_load(ring.product))
        if load not in made:
            fetch = Fetch(0, load, chain, given(tensor_box(load, chain, analysis)))
            made[load] = Resident(fetch, given(loops_around(load)))
        ring.resident = made[load]


def stages_of(rings: list[Ring], place: Operation | None = None) -> list[State]:
    """The stages that products use, or those of them that are filled inside ``place``, a loop or a choice."""
    users: list[Ring | Resident] = [*residents_of(rings), *rings]
    return list(dict.fromkeys(user.stages for user in users if place is None or place in user.around))


def sums_stay(rings: list[Ring]) -> bool:
    """Whether sums stay in tensor memory while they are scaled: then all products of the kernel are those of chains."""
    return any(ring.product.rescaled for ring in rings)


def sums_of(rings: list[Ring], place: Operation | None = None) -> list[State]:
    """The sums in tensor memory, or those that are waited for inside ``place``."""
    summed = [ring for ring in rings if ring.summed is not None]
    return list(dict.fromkeys(ring.sum for ring in summed if place is None or place in ring.around_sum))


def lefts_of(rings: list[Ring], loop: Operation | None = None) -> list[State]:
    """The left operands that warps write part by part, or those of them that are written inside ``loop``."""
    written = [(ring, ring.sum.written) for ring in rings if ring.summed is not None]
    return list(dict.fromkeys(left for ring, left in written if left and (loop is None or loop in ring.loops)))


def scales_of(rings: list[Ring], loop: Operation | None = None) -> list[State]:
    """The scales that agents of their own bring, or those of them that come inside ``loop``."""
    return list(dict.fromkeys(ring.scales for ring in rings if ring.copies and (loop is None or loop in ring.loops)))


def stage_operands(ring: Ring) -> dict[str, Attribute]:
    """How the instructions of a product find what lies in shared memory, and what else they are told."""
    product = ring.product
    kept = {key: value for key, value in product.attributes.items() if key not in CHOICES}
    for fetch in [*ring.fetches, *([ring.resident.fetch] if ring.resident else [])]:
        placement = given(placement_after(fetch.chain, fetch.box.placement))
        kept[("lhs", "rhs")[fetch.index] + "_placement"] = SharedLayoutAttr(placement)
    return kept


def tensor_values(product: TableOperation) -> dict[str, Any]:
    """The row of a product in tensor memory, and its extents: attributes of what issues it."""
    m, n = product.result.type.get_shape()
    return {"atom": product.tensor_memory, "shape": (m, n, k_of(product))}


def stage_of(insert: Insert, pipeline: SSAValue, token: SSAValue) -> SSAValue:
    """The stage of a pipeline that a token names."""
    if type_of(pipeline, PipelineType).stages.data == 1:
        return insert(constant_i32(0))
    return insert(arith.ShRUIOp.make([token, insert(constant_i32(1))], [i32]))
