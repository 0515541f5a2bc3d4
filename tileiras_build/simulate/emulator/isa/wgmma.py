"""Warpgroup-level MMA: wgmma.mma_async, .sp, fence, commit_group, wait_group (PTX ISA 9.0, section 9.7.15).

A warpgroup is four warps in a row, the first at a multiple of four; it computes D (64 x n) = A (64 x k) B (k x n) [+ D].
Lane = 4 * row + t of warp w, with ``E`` elements per register:

    A (registers): register r holds row 16 w + row + 8 (r % 2), columns E t + e + 4 E (r / 2)
    D (32-bit):    register i holds row 16 w + row + 8 (i / 2 % 2), column 8 (i / 4) + 2 t + i % 2
    D (f16):       register i holds row 16 w + row + 8 (i % 2), columns 8 (i / 2) + 2 t + (0, 1)

With .sp, k doubles, and the compressed A, 64 x k / 2, has the layout of a dense A of that size. Each warp has the metadata
of its 16 rows, as for mma.sp (``mma_sparsity_metadata.py``).

An MMA is computed at its issue: in float32 like mma.sync (integers exactly), and for fp8 with the reduced precision of
``fp8_accumulation.py``. ``wgmma_register_hazards.py`` and racecheck report accesses before the wait.
"""

from __future__ import annotations

import re

import numpy as np

from ..codegen.emit_block import vector_items
from ..errors import EmulatorFault
from ..matmul import fp8_accumulation, matmul
from ..matmul.operand_value_ranges import CODE_DTYPES, MatmulOperand, make_operand
from ..memory.load_store import Site
from ..native import smem_chunk_copies
from ..native.native_code import is_ready
from ..numerics import float_formats
from ..ptx.ast import Vector
from ..simt.broadcasting import are_all, is_any
from ..simt.thread_group import WARP_SYNC, SchedulerEvent
from .handler_registry import CONVERGENT_GROUP_OPS, RESULT_KINDS, WARP_WIDE, handles, helper
from .mma_accumulation_chains import is_deferrable, warpgroup_accumulator_registers
from .mma_sparsity_metadata import SELECTORS, read_selector
from .mma_sync import _DECODE, _WIDTH, fragment
from .smem_matrix_descriptors import (
    BYTES_32,
    CHUNK,
    ROW_CHUNKS,
    WGMMA_SWIZZLES,
    apply_swizzle,
    k_major_offsets,
    mn_major_offsets,
)

WARPGROUP_THREADS = 128
_SHAPE = re.compile(r"m64n(\d+)k(\d+)$")
_SHARED_K = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
_PAIRS = {"f16": {"f16"}, "bf16": {"bf16"}, "tf32": {"tf32"}, "e4m3": {"e4m3", "e5m2"}, "e5m2": {"e4m3", "e5m2"},
          "s8": {"s8", "u8"}, "u8": {"s8", "u8"}}  # fmt: skip
_RESULTS = {"f16": {"f16", "f32"}, "e4m3": {"f16", "f32"}, "e5m2": {"f16", "f32"}, "s8": {"s32"}, "u8": {"s32"}}
WARP_WIDE.add("wgmma")
CONVERGENT_GROUP_OPS.add("wgmma")


# -- the warpgroup -----------------------------------------------------------------------------------
@helper
def require_warpgroups(group):
    """None if the group consists of whole warpgroups, else a SchedulerEvent that waits for the missing threads."""
    found = group.__dict__.get("_warpgroups")
    if found is None:
        found = group._warpgroups = whole_warpgroups(group)
    return None if found else SchedulerEvent(WARP_SYNC)


def whole_warpgroups(group) -> bool:
    flat, per_cta = group.flat, group.geometry.threads
    if len(flat) % WARPGROUP_THREADS:
        return False
    rows = flat.reshape(-1, WARPGROUP_THREADS)
    return are_all(rows[:, 0] % per_cta % WARPGROUP_THREADS == 0) and are_all(
        rows[:, -1] - rows[:, 0] == WARPGROUP_THREADS - 1
    )


def by_warpgroup(group, value):
    """A register value as (warpgroups, 128)."""
    return np.broadcast_to(value, group.shape).reshape(-1, WARPGROUP_THREADS)


def wait_for_warpgroup(e):
    """Wait for the rest of the warpgroup, if the function starts with this instruction."""
    if "warpgroup" not in e.memo:
        e.memo["warpgroup"] = True
        e.line("wait = require_warpgroups(g)")
        e.line("if wait is not None: return wait")


@helper
def report_hazard(group, ins, violation, predicate):
    """Report a hazard found by ``wgmma_register_hazards.py`` if any thread executes the instruction."""
    active = np.broadcast_to(True if predicate is None else predicate, group.shape)
    if not is_any(active):
        return
    position = tuple(int(i) for i in np.argwhere(active)[0])
    try:
        Site(ins, "shared", 1).fault(group, violation.why, position)
    except EmulatorFault as found:
        if violation.finding is None:
            raise
        group.observers.findings.report(violation.finding, found)


# -- descriptors -------------------------------------------------------------------------------------
_RESERVED = ~((0x3FFF << 0) | (0x3FFF << 16) | (0x3FFF << 32) | (7 << 49) | (3 << 62)) & 0xFFFFFFFFFFFFFFFF


class SharedOperand:
    """Operand A or B of an instruction in shared memory: ``rows`` of M or N, ``depth`` times 32 bytes of k."""

    def __init__(self, ins, name: str, type_: str, rows: int, transposed: bool, negative: bool, depth: int = 1):
        self.name, self.type, self.rows, self.transposed, self.negative = name, type_, rows, transposed, negative
        self.depth, self.once = depth, False
        self.cached_chunks: dict[int, tuple[np.ndarray, int]] = {}
        self.site = Site(ins, "shared", CHUNK)

    def load(self, group, descriptor):
        """The matrix (warpgroups, rows, k); B is (CTAs, rows, k) if the warpgroups of each CTA share it."""
        found = self.read_natively(group, descriptor)
        if found is not None:
            return self.decode(found)
        words = by_warpgroup(group, descriptor)
        if np.ndim(descriptor) and is_any(words != words[:, :1]):
            self.site.fault(group, f"the threads of a warpgroup have different descriptors of {self.name}")
        index = self.index(group, words[:, 0])
        if group.observers.async_copy_marks is not None:
            group.observers.async_copy_marks.check_chunks(self.site, group, index)
        if group.observers.racecheck is not None:
            group.observers.racecheck.shared_memory.wgmma_reads(self.site, group, index)
        return self.decode(group.memories.shared_view(np.complex128)[self.shared(group, index)])

    def read_natively(self, group, descriptor) -> np.ndarray | None:
        """The chunks read by native code; None if CTAs have different descriptors, or with observers."""
        if not group.is_rectangular or group.observers.racecheck is not None or not is_ready():
            return None
        different = self.descriptors_of(group, descriptor)
        if different is None:
            return None
        if self.once and len(set(different)) == 1:
            different = different[:1]
        places = [self.places(group, descriptor) for descriptor in different]
        together = places[0] if len(places) == 1 else np.stack(places)
        out = np.empty((len(group.cta), *together.shape), np.complex128)
        marks = None if group.observers.async_copy_marks is None else group.observers.async_copy_marks.marks[CHUNK]
        starts = group.cta[:, 0] * (group.memories.shared_size // CHUNK)
        is_whole = smem_chunk_copies.gather(group.memories.shared, marks, starts, together, out)
        return out.reshape(-1, *places[0].shape) if is_whole else None

    @staticmethod
    def descriptors_of(group, descriptor) -> list[int] | None:
        """The descriptor of each warpgroup of a CTA; None if CTAs, or the threads of a warpgroup, have different descriptors."""
        each = group.shape[1] // WARPGROUP_THREADS
        if np.ndim(descriptor) == 0:
            return [int(descriptor)] * each
        if is_any(descriptor != descriptor[:1]):
            return None
        if descriptor.shape[1] == 1:
            return [int(descriptor[0, 0])] * each
        words = descriptor[0].reshape(each, WARPGROUP_THREADS)
        return None if is_any(words != words[:, :1]) else words[:, 0].tolist()

    def shared(self, group, index):
        """Chunk indices (warpgroups, …) reduced to (CTAs, …) if the warpgroups of each CTA read the same chunks."""
        each = group.shape[1] // WARPGROUP_THREADS
        if not self.once or not group.is_rectangular or each == 1:
            return index
        per_cta = index.reshape(-1, each, *index.shape[1:])
        return per_cta[:, 0] if are_all(per_cta == per_cta[:, :1]) else index

    def index(self, group, descriptors):
        """Chunk indices (warpgroups, …) in the batch's shared memory, in the order of ``smem_matrix_descriptors.py``."""
        first = descriptors[0]
        if are_all(descriptors == first):
            places = self.places(group, int(first))
        else:
            different, which = np.unique(descriptors, return_inverse=True)
            places = np.stack([self.places(group, descriptor) for descriptor in different.tolist()])[which]
        cta = group.flat[::WARPGROUP_THREADS] // group.geometry.threads
        return places + (cta * (group.memories.shared_size // CHUNK))[:, None, None]

    def places(self, group, descriptor: int):
        """Chunk indices in a CTA's shared memory, cached by descriptor."""
        found = self.cached_chunks.get(descriptor)
        if found is None:
            found = self.cached_chunks[descriptor] = self.places_of(group, descriptor)
        places, bytes_ = found
        if bytes_ > group.memories.shared_limit:
            self.outside(group, bytes_)
        return places

    def places_of(self, group, descriptor: int):
        """(chunk indices, the end of the last chunk in bytes)."""
        if descriptor >> 16 << 16 & _RESERVED:
            self.site.fault(group, f"the descriptor of {self.name} ({descriptor:#x}) has bits in reserved fields")
        start, leading, stride = (descriptor >> shift & 0x3FFF for shift in (0, 16, 32))
        base, swizzle = descriptor >> 49 & 7, WGMMA_SWIZZLES[descriptor >> 62]
        if self.transposed:
            offsets = mn_major_offsets(swizzle, leading, stride, 16 * self.depth, self.rows // 8)
        else:
            self.check_depth(group, swizzle)
            offsets = k_major_offsets(swizzle, leading, stride, self.rows, ROW_CHUNKS * self.depth)
        places = np.ascontiguousarray(apply_swizzle(swizzle, start + offsets, base), np.int64)
        return places, (int(places.max()) + 1) * CHUNK

    def check_depth(self, group, swizzle):
        """Reject rows of 64 bytes with the 32-byte swizzle, whose layout section 9.7.15.5.1.2.1.3 does not specify."""
        if self.depth > 1 and swizzle is BYTES_32:
            self.site.fault(group, f"{self.name} of a sparse MMA cannot be K-major in the 32-byte swizzling mode")

    def outside(self, group, end: int):
        self.site.fault(
            group,
            f"matrix {self.name} exceeds the shared memory ({group.memories.shared_limit} bytes)",
            address=end - CHUNK,
        )

    def decode(self, matrix):
        whole = np.ascontiguousarray(matrix)[..., None]
        if self.type in CODE_DTYPES and not self.negative:
            values = whole.view(CODE_DTYPES[self.type])
        else:
            values = _DECODE[self.type](whole.view(np.uint32))
        values = values.reshape(*whole.shape[:2], -1)
        if self.transposed:
            values = values.swapaxes(1, 2)
        return make_operand(-values if self.negative else values, self.type)


@helper
def warpgroup_fragment(group, a, type_, negative):
    """Four fragments of 16 rows (warps, 16, k) as A of the warpgroups (n, 64, k)."""
    folded = a.folded(WARPGROUP_THREADS // 32)
    return MatmulOperand(-folded.values, type_) if negative else folded


@helper
def warpgroup_multiply(group, a, b, integers):
    """A (n, 64, k) times B (n, columns, k), as the registers of D, each of the group's shape."""
    result = matmul.multiply(a, b, group.options.matmul_rounding)
    if integers:
        result = result.astype(np.int32)
    return warpgroup_accumulator_registers(group, result)


@helper
def accumulate_fp8(group, a, b, olds, accumulate, type_):
    """The registers of D for fp8 operands; ``olds``: those of C; ``accumulate``: scale-d."""
    words = np.stack([np.broadcast_to(np.where(accumulate, old, old.dtype.type(0)), group.shape) for old in olds])
    if type_ == "f16":
        halves = (words & np.uint32(0xFFFF), words >> np.uint32(16))
        words = np.stack([float_formats.widen("f16", half.astype(np.uint16)) for half in halves], 1)
    parts = words.reshape(-1, 2, 2, len(a.values), 4, 8, 4)  # as in warpgroup_multiply
    total = parts.transpose(3, 4, 1, 5, 0, 6, 2).reshape(len(a.values), 64, -1)
    rounding = group.options.matmul_rounding
    if rounding == matmul.ROUNDED_ONCE:
        fp8_accumulation.accumulate_fp8(total, a, b, type_)
    else:
        total = matmul.multiply(a, b, rounding) + total
    out = warpgroup_accumulator_registers(group, total)
    if type_ == "f32":
        return tuple(out)
    codes = [float_formats.narrow("f16", part) for part in out]
    return tuple(float_formats.pack16(low, high) for low, high in zip(codes[::2], codes[1::2]))


@helper
def accumulate_f16(matmul_f32, words, accumulate):
    """f16 results, two per register; ``accumulate``: scale-d."""
    out = []
    for i, word in enumerate(words):
        low, high = matmul_f32[2 * i], matmul_f32[2 * i + 1]
        if np.any(accumulate):
            old = np.where(accumulate, word, np.uint32(0))
            low = float_formats.widen("f16", (old & np.uint32(0xFFFF)).astype(np.uint16)) + low
            high = float_formats.widen("f16", (old >> np.uint32(16)).astype(np.uint16)) + high
        out.append(float_formats.pack16(float_formats.narrow("f16", low), float_formats.narrow("f16", high)))
    return tuple(out)


# -- instructions ------------------------------------------------------------------------------------
class WgmmaMma:
    """The fields of one wgmma.mma_async."""

    def __init__(self, e, ins):
        shape = next((_SHAPE.match(m) for m in ins.mods if _SHAPE.match(m)), None)
        at = next((i for i, m in enumerate(ins.mods) if _SHAPE.match(m)), 0)
        types = [m for m in ins.mods[at + 1 :] if m != "satfinite"]
        if shape is None or len(types) != 3 or types[1] not in _SHARED_K:
            e.fail("not supported")
        self.d, self.a, self.b = types
        self.n, self.k = int(shape[1]), int(shape[2])
        self.sparse = "sp" in ins.mods
        self.integers = self.d == "s32"
        columns = self.n % 8 == 0 and 8 <= self.n <= 256 and not (self.integers and self.n > 32 and self.n % 16)
        if self.k != _SHARED_K[self.a] * self.depth or not columns:
            e.fail("unsupported shape")
        if self.b not in _PAIRS[self.a] or self.d not in _RESULTS.get(self.a, {"f32"}):
            e.fail("unsupported combination of types")
        self.saturates = "satfinite" in ins.mods
        self.read_operands(e, ins)

    @property
    def depth(self) -> int:
        """The extent of k in B, in units of 32 bytes."""
        return 2 if self.sparse else 1

    def read_operands(self, e, ins):
        self.targets, self.left, self.right, *rest = [*result_registers(ins), *ins.args[1:]]
        if self.sparse:
            self.metadata, selector, *rest = rest
            self.selector = read_selector(e, selector, SELECTORS[self.a][self.k])
        self.accumulate, *rest = rest
        registers = self.n // (4 if self.d == "f16" else 2)
        from_registers = isinstance(self.left, Vector)
        count = 0 if self.integers else 2 + (2 - from_registers if _WIDTH[self.a] == 16 else 0)
        if len(self.targets) != registers or len(rest) != count or (from_registers and len(self.left.items) != 4):
            e.fail("wrong number of operands")
        immediates = [r.value for r in rest]
        negative = [n == -1 for n in immediates[:2]] or [False, False]
        if any(n not in (1, -1) for n in immediates[:2]) or any(n not in (0, 1) for n in immediates[2:]):
            e.fail("an immediate is out of range")
        transposed = [bool(n) for n in immediates[2:]]
        transposed = [False] * (2 - len(transposed)) + transposed
        self.negative, self.transposed = negative, transposed

    def matrix(self, e, ins, name: str, operand, type_: str, rows: int, side: int) -> str:
        if isinstance(operand, Vector):
            part = fragment(e, operand, "u32", ("a", type_, 16), f"fragment_a(g, {type_!r}, 16, [{{}}])")
            return e.temp(f"warpgroup_fragment(g, {part}, {type_!r}, {self.negative[side]})")
        depth = self.depth if side else 1
        matrix = SharedOperand(ins, name, type_, rows, self.transposed[side], self.negative[side], depth)
        matrix.once = bool(side) and self.can_be_deferred(e)
        return e.temp(f"{e.constant(matrix, 'operand')}.load(g, {e.use(operand, 'u64')})")

    def can_be_deferred(self, e) -> bool:
        """Whether the MMA may be deferred and combined with later ones (``mma_accumulation_chains.py``)."""
        return self.d == "f32" and is_deferrable(e, self.targets)

    def expand_sparse_a(self, e, ins, a: str) -> str:
        """Source of the expanded A."""
        word = e.use(self.metadata, "u32")
        return e.temp(
            f"expand_sparse_operand(g, {e.constant(ins, 'ins')}, {a}, {word}, {self.selector}, {_WIDTH[self.a]}, 'any')"
        )


def result_registers(ins) -> list:
    return [vector_items(ins.args[0])]


@handles("wgmma")
def handle_wgmma(e, ins):
    wait_for_warpgroup(e)
    if ins.mods[0] == "commit_group":
        return e.line("if g.observers.racecheck is not None: g.observers.racecheck.shared_memory.commit_wgmma(g)")
    if ins.mods[0] == "wait_group":
        return e.line(
            f"if g.observers.racecheck is not None: g.observers.racecheck.shared_memory.wait_wgmma(g, {ins.args[0].value})"
        )
    if ins.mods[0] == "fence":
        return None
    if ins.mods[0] != "mma_async":
        e.fail("not supported")
    p = WgmmaMma(e, ins)
    a = p.matrix(e, ins, "A", p.left, p.a, 64, 0)
    if p.sparse:
        a = p.expand_sparse_a(e, ins, a)
    b = p.matrix(e, ins, "B", p.right, p.b, p.n, 1)
    keep = e.temp(e.use(p.accumulate, "p"))
    if p.can_be_deferred(e):
        return e.pending_mmas.add(e, "wgmma", (p.n, p.a, p.b), p.targets, p.targets, (a, b, keep))
    if p.a in fp8_accumulation.KINDS:
        kind = "u32" if p.d == "f16" else "f32"
        olds = ", ".join(e.use(c, kind) for c in p.targets)
        return e.set_tuple(p.targets, kind, f"accumulate_fp8(g, {a}, {b}, [{olds}], {keep}, {p.d!r})")
    parts = e.temp(f"warpgroup_multiply(g, {a}, {b}, {p.integers})")
    if p.d == "f16":
        words = ", ".join(e.use(c, "u32") for c in p.targets)
        return e.set_tuple(p.targets, "u32", f"accumulate_f16({parts}, [{words}], {keep})")
    olds = [e.use(c, p.d) for c in p.targets]
    add = "add_saturating({p}, {c})" if p.saturates else "{p} + {c}"
    for i, (target, old) in enumerate(zip(p.targets, olds)):
        new = f"{parts}[{i}]"
        e.set(target, p.d, f"choose({keep}, {add.format(p=new, c=old)}, {new})")


def _result_kind(ins, position: int) -> str:
    return "f32" if ins.mods[0] == "mma_async" and ins.mods[4 if "sp" not in ins.mods else 5] == "f32" else "bits"


RESULT_KINDS["wgmma"] = _result_kind
