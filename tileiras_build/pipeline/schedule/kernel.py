"""What a kernel is, as far as its cost depends on it: dots, bytes that it loads and stores, and work on elements.

A tile program is described before layouts: one CTA's share of it, or all of it where no cluster divides it yet. All
counts are per tile program. Sizes of arrays are not known: loops without constant bounds run as if their arrays had ``ASSUMED_EXTENT``
elements along them, and a loop over tile programs (a persistent kernel's) once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import as_op, parent_op, tile_type
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_combiner_region, is_loop
from ...target.element_types import OPERAND_TYPES
from ...target.targets import Target
from ..analysis.chained_dots import find_chained_dots
from ..analysis.cluster_uniformity import is_rank_dependent
from ..analysis.dot_operand_chains import dot_operand_load, source_load_of
from ..analysis.loop_trips import loop_trips
from ..analysis.op_queries import DOT, ELEMENTWISE, LOADS, REDUCE, TILED_LOAD, dots_in, element_kind, has_dots, is_tile
from ..analysis.resource_model import choose_warps, is_program_dependent
from ..analysis.row_registers import late_words, row_words
from ..analysis.tma_tensor_maps import TMA_ALIGNMENT
from ..common.llvm_element_types import element_of
from ..job import Job
from ..mma.dots import FP4, FP4_PAIR, dot_shape, element_types
from ..mma.family import scales_in_instruction
from .schedule_attribute import schedule_of

STORES = ("nv_tileas.tiled_store", "nv_tileas.store")
REARRANGING = ("nv_tileas.broadcast", "nv_tileas.splat", "arith.constant")  # tiles with fewer different elements
MAXIMA = ("arith.maxnumf", "arith.minnumf", "arith.maximumf", "arith.minimumf", "arith.maxsi", "arith.minsi")
# Instructions of a conversion that a GPU has no instruction for, by what it lacks: from `estimate`, on sm_80; for fp4 on sm_90.
EMULATED: dict[str, dict[str, float]] = {
    "cvt_fp8": {"alu": 6.2},
    "cvt_tf32_rn": {"alu": 5.4},
    "cvt_fp4": {"alu": 4.5, "float32": 3.0},
}
# Of a byte that becomes a type wider than f16: its extraction from a word, its conversion to f16, and the conversion of that.
UNPACKED = {"alu": 2.0, "float32": 1.0}
# The instructions of an operation of one element by pipe, a field of ``SmRates``; others have one of ``float32`` or ``alu``.
INSTRUCTIONS = {
    "exp2": {"special": 1.0},
    "tanh": {"special": 1.0},
    **{name: {"special": 1.0, "float32": 1.0} for name in ("exp", "log", "log2", "sqrt", "rsqrt", "sin", "cos")},
    "divf": {"special": 1.0, "float32": 8.0},
    "powf": {"special": 2.0, "float32": 4.0},
    "fp_to_fp": {"alu": 0.5},  # two at once
    "sitofp": {"special": 1.0},
    "uitofp": {"special": 1.0},
}


@dataclass(frozen=True)
class Dot:
    """C (m, n) += A (m, k) B (k, n), ``trips`` times. ``a_bytes`` and ``b_bytes`` are loaded for each: 0 for an operand that is
    computed, or loaded before; ``is_computed``: the left one is no loaded tile. ``is_chained``: one of two dots, of which the
    second waits for the first. ``a_work`` and ``b_work``: instructions of single threads that convert the elements of an operand after
    their load, which each warp does for its fragments of a tile that is copied ahead. ``scale_bytes``: of block scales for each trip.
    ``transposed_bytes``: of what TMA loads, and threads read and write to another place in shared memory for each trip.
    Types have the names of ``OPERAND_TYPES``.
    """

    m: int
    n: int
    k: int
    a_type: str
    b_type: str
    c_type: str
    trips: float
    a_bytes: int = 0
    b_bytes: int = 0
    is_computed: bool = False
    is_scaled: bool = False
    is_chained: bool = False
    a_work: float = 0
    b_work: float = 0
    scale_bytes: int = 0
    transposed_bytes: float = 0

    def transposed(self) -> Dot:
        """B' A' for A B."""
        return replace(
            self,
            m=self.n,
            n=self.m,
            a_bytes=self.b_bytes,
            b_bytes=self.a_bytes,
            a_work=self.b_work,
            b_work=self.a_work,
            a_type=self.b_type,
            b_type=self.a_type,
        )

    def shrunk(self, factor: int) -> Dot:
        """A part of k, in so many times the trips."""
        return replace(
            self,
            k=self.k // factor,
            a_bytes=self.a_bytes // factor,
            b_bytes=self.b_bytes // factor,
            a_work=self.a_work / factor,
            b_work=self.b_work / factor,
            scale_bytes=self.scale_bytes // factor,
            transposed_bytes=self.transposed_bytes / factor,
            trips=factor * self.trips,
        )

    @property
    def multiply_adds(self) -> int:
        """Of one trip."""
        return self.m * self.n * self.k

    def a_size(self) -> float:
        """Bytes of the left operand."""
        return self.m * self.k * operand_bytes(self.a_type)

    def b_size(self) -> float:
        """Bytes of the right operand."""
        return self.k * self.n * operand_bytes(self.b_type)

    @property
    def written(self) -> float:
        """Bytes of the operands that threads compute from several loads, as those are laid out, and write to shared memory in each trip."""
        computes = (self.a_work and not self.a_bytes, self.b_work and not self.b_bytes)
        return sum(size for size, is_written in zip((self.a_size(), self.b_size()), computes) if is_written)

    @property
    def has_lhs_in_registers(self) -> bool:
        """Whether the left operand follows from other dots."""
        return self.is_computed and not self.a_work


def operand_bytes(name: str) -> float:
    """Bytes of an element of a dot's operand in shared memory."""
    return 0.5 if name == FP4_PAIR else OPERAND_TYPES[name].load_bits / 8


@dataclass(frozen=True)
class Kernel:
    """``loop``: instructions by pipe in the loops of dots, ``rest`` those outside, both times their trips; ``maxima`` are those of the ALU
    that reduce. ``loaded`` and ``stored``: bytes of tiles besides the operands of dots that loops load; ``reused``: of those that other
    tile programs load, too.
    ``reductions``: one after the other, outside of the loops of dots; ``row_words``: 32-bit words of the tiles that wait for one,
    in kernels without dots; ``late_words``: of those that are loaded afterwards. ``warps``: those that it has unless a schedule says
    otherwise. ``ctas`` of a cluster have divided its tiles, or have tile programs of their own; ``shares_left``: these load the same
    left operand, else the same right one. ``split_k``: each of so many CTAs has a part of the trips. ``slices`` of rows are computed one
    after the other. ``is_persistent``: a loop over tile programs is around the dots. ``rounds``: iterations that load tiles, in kernels
    without dots. ``has_short_rows``: a loop of dots loads tiles whose rows TMA cannot load.
    """

    dots: tuple[Dot, ...]
    loop: Mapping[str, float] = field(default_factory=dict)
    rest: Mapping[str, float] = field(default_factory=dict)
    loaded: float = 0
    reused: float = 0
    stored: float = 0
    reductions: int = 0
    row_words: float = 0
    late_words: float = 0
    warps: int = 4
    ctas: int = 1
    is_persistent: bool = False
    shares_left: bool = False
    split_k: int = 1
    slices: int = 1
    rounds: float = 0
    has_short_rows: bool = False

    @property
    def trips(self) -> float:
        """Trips of the loops of dots."""
        return max((dot.trips for dot in self.dots), default=0)

    @property
    def is_chained(self) -> bool:
        """Whether a dot waits for another one."""
        return any(dot.is_chained for dot in self.dots)

    @property
    def stage_bytes(self) -> int:
        """Bytes of one stage of what the dots load."""
        return sum(dot.a_bytes + dot.b_bytes for dot in self.dots)

    def transposed(self) -> Kernel:
        """The kernel as it computes the transpose of each result."""
        return replace(self, dots=tuple(dot.transposed() for dot in self.dots))

    def with_two_stages(self, most: int) -> Kernel:
        """The kernel with k tiles that are short enough for two stages in so many bytes, in more trips."""
        factor = 1
        while 2 * self.stage_bytes > factor * most:
            factor *= 2
        return self if factor == 1 else replace(self, dots=tuple(dot.shrunk(factor) for dot in self.dots))

    def divided(self, ctas: int) -> Kernel:
        """One CTA's share where so many divide the rows of each result, and each of them needs all columns."""
        share = 1 / ctas
        dots = (
            replace(dot, m=dot.m // ctas, a_bytes=dot.a_bytes // ctas, a_work=share * dot.a_work) for dot in self.dots
        )
        return replace(self._share(share), dots=tuple(dots), ctas=self.ctas * ctas)

    def with_slices(self, slices: int) -> Kernel:
        """The kernel as it computes so many slices of its rows one after the other: each loads all that it multiplies them with."""
        old, new = self.slices, slices
        dots = (
            replace(
                dot,
                m=dot.m * old // new,
                a_bytes=dot.a_bytes * old // new,
                a_work=dot.a_work * old / new,
                trips=dot.trips * new / old,
            )
            for dot in self.dots
        )
        return self if new == old else replace(self, dots=tuple(dots), slices=new)

    def with_trips(self, trips: float) -> Kernel:
        """The kernel with so many trips of its loop of dots."""
        factor = trips / self.trips
        loop = {pipe: factor * count for pipe, count in self.loop.items()}
        return replace(self, loop=loop, dots=tuple(replace(dot, trips=factor * dot.trips) for dot in self.dots))

    def with_split_k(self, ctas: int) -> Kernel:
        """One CTA's share where so many divide the trips of the loop, and then its results."""
        share = self.split_k / ctas
        dots = tuple(replace(dot, trips=share * dot.trips) for dot in self.dots)
        return replace(self._share(share), dots=dots, ctas=round(self.ctas / share), split_k=ctas)

    def _share(self, share: float) -> Kernel:
        """A part of all that is besides the dots."""
        return replace(
            self,
            loop={pipe: share * count for pipe, count in self.loop.items()},
            rest={pipe: share * count for pipe, count in self.rest.items()},
            loaded=share * self.loaded,
            reused=share * self.reused,
            stored=share * self.stored,
            row_words=share * self.row_words,
            late_words=share * self.late_words,
        )


def describe(func: TableOp, job: Job) -> Kernel:
    """The description of a kernel before layouts."""
    split_k = (schedule_of(func).split_k or 1) if func.num_ctas else 1
    found = _Description(job.target, split_k)
    found.add(func.regions[0].blocks[0], 1.0)
    return Kernel(
        tuple(found.dots),
        dict(found.loop),
        dict(found.rest),
        found.loaded,
        found.reused,
        found.stored,
        found.reductions,
        row_words(func),
        late_words(func),
        choose_warps(func, job),
        func.num_ctas or 1,
        is_persistent=found.is_persistent,
        shares_left=func.grid_cluster is not None and _shares_left(func),
        split_k=split_k,
        slices=schedule_of(func).tile_slices or 1,
        rounds=0 if found.dots else found.rounds,
        has_short_rows=found.has_short_rows,
    )


def work_of_iteration(loop: Operation, target: Target) -> float:
    """Instructions of single threads on the elements of one iteration of a loop without dots."""
    found = _Description(target, 1)
    found.add(loop.regions[0].blocks[0], 1.0)
    return sum(found.rest.values())


def _shares_left(func: TableOp) -> bool:
    """Whether the CTAs of a cluster load the same tiles for the left operand of a dot, and others for the right one."""
    dots = dots_in(func)
    loads = [[dot_operand_load(dot, index) for index in (0, 1)] for dot in dots]
    differ = [[load is not None and is_rank_dependent(as_op(load[0])) for load in both] for both in loads]
    return [False, True] in differ


class _Description:
    def __init__(self, target: Target, split_k: int) -> None:
        self.target, self.split_k = target, split_k
        self.dots: list[Dot] = []
        self.loop: Counter[str] = Counter()
        self.rest: Counter[str] = Counter()
        self.loaded = self.reused = self.stored = 0.0
        self.reductions, self.rounds = 0, 0.0
        self.is_persistent = self.has_short_rows = False

    def add(self, block: Block, trips: float) -> None:
        """Add the operations of a block that runs so often."""
        dots = [as_op(op) for op in block.ops if op.name == DOT]
        is_chained = bool(dots) and find_chained_dots(parent_op(dots[0])) is not None
        self.dots += [_dot(dot, trips, is_chained, self.target) for dot in dots]
        fed = {load[0] for dot in dots for index in (0, 1) if (load := dot_operand_load(dot, index)) is not None}
        work = self.loop if dots else self.rest
        for op in block.ops:
            self._add_operation(op, trips, work, op in fed, bool(dots))

    def _add_operation(self, op: Operation, trips: float, work: Counter[str], is_fed: bool, in_dot_loop: bool) -> None:
        if op.name in LOADS and not is_fed:
            self.loaded += trips * _bytes(op.results[0])
            self.reused += trips * _bytes(op.results[0]) * (in_dot_loop or _is_same_for_all(as_op(op)))
            self.has_short_rows |= in_dot_loop and _bytes_of_row(op.results[0]) < TMA_ALIGNMENT
        elif op.name in STORES:
            self.stored += trips * _bytes(as_op(op).value)
        for pipe, count in _instructions(op, self.target).items():
            work[pipe] += trips * count  # type: ignore[assignment]
        self.reductions += op.name == REDUCE and not in_dot_loop
        if not is_combiner_region(op):
            inner = trips * loop_trips(op) / (self.split_k if _multiplies(op) else 1) if is_loop(op) else trips
            if is_loop(op) and any(one.name in LOADS for one in op.regions[0].blocks[0].ops):
                self.rounds += inner
            self.is_persistent |= is_loop(op) and any(map(_has_dots, op.regions[0].blocks[0].ops))
            for region in op.regions:
                for block in region.blocks:
                    self.add(block, inner)


def _multiplies(loop: Operation) -> bool:
    """Whether a loop has dots of its own."""
    return any(op.name == DOT for op in loop.regions[0].blocks[0].ops)


def _has_dots(loop: Operation) -> bool:
    """Whether a loop inside of another one multiplies."""
    return is_loop(loop) and has_dots(loop)


def _is_same_for_all(load: TableOp) -> bool:
    """Whether all tile programs load the same tile."""
    place = load.coords if load.name == TILED_LOAD else load.operands[:1]
    return not any(map(is_program_dependent, place))


def _dot(op: TableOp, trips: float, is_chained: bool, target: Target) -> Dot:
    batch, m, n, k = dot_shape(op)
    a, b, c = element_types(op)
    is_scaled, is_computed = op.lhs_scale is not None, source_load_of(op.lhs) is None
    if op.packed or (is_scaled and a == FP4 and scales_in_instruction(op, target, packed_fp4=True)):
        a, b, k = FP4_PAIR, FP4_PAIR, 2 * k if op.packed else k
    dot = Dot((batch or 1) * m, n, k, a, b, c, trips, 0, 0, is_computed, is_scaled, is_chained)
    loads = [dot_operand_load(op, index) for index in (0, 1)]
    loaded = [0 if load is None else _size(load[0].value) * element_of(load[0].value.type).bits // 8 for load in loads]
    work = [_conversions(value, target) for value in (op.lhs, op.rhs)]
    scales = _bytes(op.lhs_scale) + _bytes(op.rhs_scale) if is_scaled else 0
    return replace(dot, a_bytes=loaded[0], b_bytes=loaded[1], a_work=work[0], b_work=work[1], scale_bytes=scales)


def _conversions(value: SSAValue, target: Target) -> float:
    """The instructions between the loads of an operand and its dot; 0 where it is computed from reductions or other dots."""
    total, waiting, seen = 0.0, [value], set()
    while waiting:
        op = waiting.pop().owner
        if not isinstance(op, Operation) or op in seen or op.name in LOADS or not is_tile(op.results[0]):
            continue
        if op.regions or op.name == DOT:
            return 0.0
        seen.add(op)
        total += sum(_instructions(op, target).values())
        waiting += op.operands
    return total


def _bytes(value: SSAValue) -> int:
    return _size(value) * element_of(value.type).bytes if isinstance(value.type, TensorType) else 0


def _bytes_of_row(value: SSAValue) -> int:
    return tile_type(value).get_shape()[-1] * element_of(value.type).bytes if is_tile(value) else 0


def _size(value: SSAValue) -> int:
    return prod(tile_type(value).get_shape())


# ---- work on elements --------------------------------------------------------------------------
def _instructions(op: Operation, target: Target) -> dict[str, float]:
    """Instructions of single threads by pipe, of all elements of an operation together."""
    if op.name == REDUCE:
        pipe = "maxima" if any(inner.name in MAXIMA for inner in walk(op)) else "float32"
        return {pipe: float(_size(op.operands[0]))}
    if not op.results or not is_tile(op.results[0]) or element_kind(op) is not ELEMENTWISE:
        return {}
    if all(_is_rearranged(value) for value in op.operands):
        return {}
    return {pipe: _size(op.results[0]) * count for pipe, count in instructions_of_element(op, target).items()}


def _is_rearranged(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name in REARRANGING


def instructions_of_element(op: Operation, target: Target) -> dict[str, float]:
    """Instructions by pipe on one element of an element-wise operation."""
    name, element = op.name.partition(".")[2], element_of(op.results[0].type)
    if name == "fp_to_fp" and (needed := _conversion(op)) is not None and not target.has(needed):
        return EMULATED[needed]
    if name == "fp_to_fp" and element_of(op.operands[0].type).bits == 8 and element.name != "f16":
        return UNPACKED
    if name in INSTRUCTIONS:
        return INSTRUCTIONS[name]
    if not element.is_float or op.name in MAXIMA:
        return {"alu": 1.0}
    return {_FLOAT_PIPES.get(element.bits, "float32"): 0.5 if element.bits == 16 else 1.0}


def _conversion(op: Operation) -> str | None:
    """What a GPU needs to convert an element by an instruction, where not each has it."""
    source, result = element_of(op.operands[0].type), element_of(op.results[0].type)
    if 8 in (source.bits, result.bits):
        return "cvt_fp4" if 2 in (source.per_byte, result.per_byte) else "cvt_fp8"
    return "cvt_tf32_rn" if result.name == "tf32" else None


_FLOAT_PIPES = {16: "half2", 32: "float32", 64: "float64"}
