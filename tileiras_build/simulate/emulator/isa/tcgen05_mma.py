"""tcgen05.mma, .ws, .sp: D (M x N) = A (M x K) B (K x N) [+ D], D in tensor memory (PTX ISA 9.0, section 9.7.16.10).

The instruction descriptor specifies the shape and the exact types. K is 32 bytes of A and B; with .sp it is 64 bytes of B and
32 bytes of the compressed A (``tcgen05_sparsity_metadata.py``). A is in shared memory or tensor memory, B in shared memory,
scale factors and metadata in tensor memory. An MMA is divided into *blocks* (section 9.7.16.10.5): lanes of one CTA that
contain some rows and columns of D.

    A  M 256, two CTAs   lanes 0-127 of either CTA: its 128 rows
    B  M 128, two CTAs   lanes 0-63 the left, 64-127 the right half of N, of the CTA's 64 rows
    D  M 128             lanes 0-127
    E  M 64, .ws         as B, of one CTA
    F  M 64              lanes 0-15 (or 16-31) of every 32: 16 rows
    G  M 32, .ws         each 32 lanes a quarter of N

``matmul.py`` describes the rounding of accumulation. Consecutive MMAs with the same accumulator are executed as one matmul,
with the rounding of each step unchanged.
"""

from __future__ import annotations

import numpy as np

from ..errors import fault_at
from ..matmul import gemm, matmul, pack_operands
from ..matmul.matmul import accumulate
from ..matmul.operand_value_ranges import MatmulOperand, decode, make_operand
from ..memory.tensor_memory import COLUMNS, LANES, Span, TensorMemory, key_of
from ..native.native_code import address
from ..numerics import float_arithmetic, float_conversions, float_formats
from ..ptx.ast import Vector
from ..simt.broadcasting import are_all, is_any
from . import tcgen05_sparsity_metadata
from .handler_registry import helper
from .tcgen05_addresses_and_issuers import Issuers, mask_of, operation_ctas, require_usable, tensor_address
from .tcgen05_async_queue import Operation, async_queue_of
from .tcgen05_instruction_descriptors import InstructionDescriptor, MmaForm, read_form, read_instruction
from .tcgen05_instructions import TCGEN05_HANDLERS
from .tcgen05_operand_layouts import AccumulatorBlock, SharedMatrix, blocks_of, decode_cells, is_layout_f
from .tcgen05_pipeline_order import require_order

CACHED_FIELDS = ("blocks", "column", "half", "a", "b", "writes", "reads", "place_key")


class Tcgen05Mma(Operation):
    """A tcgen05.mma in some CTAs (or pairs) with the same operands."""

    def __init__(self, group, form: MmaForm, shape: InstructionDescriptor, ctas, tid: int, place: int, operands: dict):
        queue = async_queue_of(group)
        memory, self.rounding = queue.memory, queue.rounding
        self.ins, self.form, self.shape, self.place = form.ins, form, shape, place
        self.sides, self.issuers = operation_ctas(group, form.ins, ctas), (ctas, tid)
        self.rows = [memory.rows_of(side) for side in self.sides]
        self.accumulate, self.disabled, self.zero = operands["accumulate"], operands["disabled"], operands["zero"]
        self.scale_places, self.metadata = operands["scales"], operands["metadata"]
        self.a_place = operands["a"] if form.a_in_tensor_memory else None
        if (known := self.known(group.memories.shared_limit, operands)) is not None:
            self.__dict__ |= known
        else:
            self.describe(group, memory, ctas, tid, operands)
        self.sources_a, self.sources_b = (
            [matrix.source(group, form.ins, name, side, (ctas, tid)) for side in self.sides] if matrix else []
            for name, matrix in (("A", self.a), ("B", self.b))
        )
        require_usable(memory, self)
        require_order(queue, self, ctas, tid)
        if group.observers.racecheck is not None:
            group.observers.racecheck.tensor_memory.issue(form.ins, self.writes, self.reads, self.sides, ctas, tid)

    # -- operands ----------------------------------------------------------------------------------------
    def known(self, shared_limit: int, operands: dict) -> dict | None:
        """The cached description of an earlier MMA with the same instruction, operands and CTAs, or None."""
        self.key: tuple | None = None
        if len(self.rows) == 1:
            words = operands["a"], operands["b"], self.metadata, *self.scale_places, self.zero and self.zero.descriptor
            self.key = (
                operands["instruction"],
                self.place,
                *words,
                key_of(self.rows[0]),
                shared_limit,
            )
        return self.form.matrices.get(self.key)

    def describe(self, group, memory: TensorMemory, ctas, tid, operands: dict) -> None:
        """Compute and check the locations of all operands; caches only valid ones."""
        form, shape = self.form, self.shape
        self.blocks = blocks_of(shape.m, shape.n, form.cta_pair, form.weight_stationary)
        self.column, self.half, share = self.place & 0xFFFF, 0, len(self.sides)
        self.a: SharedMatrix | None = None
        self.check_place(memory, ctas, tid)
        if form.a_in_tensor_memory:
            self.check_operand_a(group.geometry, ctas, tid)
        else:
            self.a = SharedMatrix.of(group, form, shape, 0, operands["a"], shape.m // share, ctas, tid)
        shift = self.zero.shift if self.zero else 0
        self.b = SharedMatrix.of(group, form, shape, 1, operands["b"], shape.n // share + shift, ctas, tid, shift)
        self.span_columns()
        if self.key is not None:
            form.matrices[self.key] = {name: self.__dict__[name] for name in CACHED_FIELDS}

    def check_place(self, memory, ctas, tid):
        lane = self.place >> 16
        scattered = is_layout_f(self.shape, self.form)
        if lane not in ((0, 16) if scattered else (0,)):
            fault_at(memory.geometry, self.ins, (ctas[0], tid), f"lane {lane}: D of this layout cannot start there")
        self.half = lane // 16
        if self.form.sparse and (
            why := tcgen05_sparsity_metadata.invalid_metadata_address(
                self.form.kind, self.shape.selector, self.metadata
            )
        ):
            fault_at(memory.geometry, self.ins, (ctas[0], tid), why)

    @property
    def metadata_columns(self) -> tuple[int, int]:
        """(first column, number of columns) of the metadata."""
        return (self.metadata & 0xFFFF) + self.shape.selector, tcgen05_sparsity_metadata.METADATA_STORAGE[
            self.form.kind
        ].columns

    def check_operand_a(self, geometry, ctas, tid):
        """Check A in tensor memory: K-major, in the lanes of D."""
        lane = self.a_place >> 16
        if self.shape.transposed[0]:
            fault_at(geometry, self.ins, (ctas[0], tid), "A in tensor memory cannot be transposed")
        if lane != self.place >> 16:
            fault_at(geometry, self.ins, (ctas[0], tid), f"lane {lane}: A and D must start in the same lane")
        if self.form.weight_stationary and self.shape.m < 128:
            fault_at(geometry, self.ins, (ctas[0], tid), "A in tensor memory with .ws and M < 128 is not supported")

    def span_columns(self):
        scattered = is_layout_f(self.shape, self.form)
        halves = slice(self.half, self.half + 1) if scattered else slice(None)
        width = max(b.columns.stop - b.columns.start for b in self.blocks)
        writes, reads = [], []
        for rows in self.rows:
            writes.append(Span(rows, self.column, width, halves))
            if self.a_place is not None:
                reads.append(Span(rows, self.a_place & 0xFFFF, 8, halves))
            if self.form.sparse:
                reads.append(Span(rows, *self.metadata_columns))
            for place, count in zip(self.scale_places, self.scale_counts()):
                reads.append(Span(rows, place & 0xFFFF, -(-count // 32)))
        self.writes, self.reads = tuple(writes), tuple(reads)
        spans = *(span.key for span in writes), None, *(span.key for span in reads)
        if spans.count(None) == 1:
            self.place_key = self.place, self.shape.m, self.shape.n, self.form.kind, spans

    def scale_counts(self) -> tuple[int, int]:
        """(rows, columns) of a block that have scale factors."""
        block = self.blocks[0]
        return block.rows.stop - block.rows.start, block.columns.stop - block.columns.start

    def has_accumulators_of(self, other: Tcgen05Mma) -> bool:
        """Whether two MMAs have the same accumulators and shape."""
        shapes = [(one.shape.m, one.shape.n, one.form.kind) for one in (self, other)]
        return self.place == other.place and shapes[0] == shapes[1]

    # -- execution ----------------------------------------------------------------------------------
    def can_join(self, earlier) -> bool:
        if not isinstance(earlier, Tcgen05Mma) or earlier.place != self.place:
            return False
        if earlier.shape is not self.shape and earlier.shape != self.shape:
            return False
        if not self.accumulate or self.form.shift or self.shape.d == "f16" or self.shape.saturate:
            return False
        same = len(self.sides[0]) == len(earlier.sides[0]) and all(
            a is b or are_all(a == b) for a, b in zip(self.sides, earlier.sides)
        )
        plain = self.disabled is None and earlier.disabled is None and self.zero is None and earlier.zero is None
        return same and plain and self.form.kind == earlier.form.kind and self.form.cta_pair == earlier.form.cta_pair

    def run_joined(self, memory, others):
        """Execute this MMA and ``others`` as one matmul, added to D unless the first MMA overwrites D."""
        every = [self, *others]
        rights = [p.operand_b() for p in every]
        lefts = [None if p.form.a_in_tensor_memory else p.operand_a() for p in every]
        names = ("scaled",) * 2 if self.form.scale else (self.shape.a, self.shape.b)
        for block in self.blocks:
            factors = [p.scaled_operands(memory, block, left, right) for p, left, right in zip(every, lefts, rights)]
            pairs = self.pairs(factors, names, self.rounding)
            self.add(memory, block, pairs)

    def pairs(
        self, factors: list[tuple], names: tuple[str, str], rounding: str
    ) -> list[tuple[MatmulOperand, MatmulOperand]]:
        """Pairs of (columns of B, rows of A) whose matmuls are accumulated into D^T in order."""
        if rounding == matmul.BLAS_ORDER and self.shape.d != "s32":
            factors = [tuple(np.concatenate(matrices, axis=2) for matrices in zip(*factors))]
        return [(make_operand(b, names[1]), make_operand(a, names[0])) for a, b in factors]

    def operand_a(self) -> list[np.ndarray]:
        """A per CTA, (CTAs, rows, k)."""
        return [] if self.a is None else [self.a.values(source) for source in self.sources_a]

    def operand_b(self) -> np.ndarray:
        """All columns of B, (CTAs or pairs, N, k)."""
        b = [self.b.values(source) for source in self.sources_b]
        b = np.concatenate(b, axis=1) if len(b) > 1 else b[0]
        if self.zero is not None:
            b = np.where(self.zero.columns(self.shape)[:, None], b.dtype.type(0), b)
        return b

    def scaled_operands(self, memory, block: AccumulatorBlock, left, right):
        """(A, B) of a block, scaled: (CTAs, rows, k) and (CTAs, columns, k)."""
        if left is None:
            a = self.operand_a_cells(memory, block)
        else:
            start = block.rows.start - block.side * self.shape.m // len(self.sides)
            a = left[block.side][:, start : start + block.rows.stop - block.rows.start]
        b = right[:, block.columns]
        if self.form.sparse:
            a = self.expand_sparse_a(memory, block, a)
        if self.form.scale:
            a = self.scaled(memory, block, a, 0)
            b = self.scaled(memory, block, b, 1)
        return a, b

    def expand_sparse_a(self, memory, block: AccumulatorBlock, a: np.ndarray) -> np.ndarray:
        """The expanded sparse A."""
        first, count = self.metadata_columns
        cells = memory.cells[self.rows[block.side], first : first + count]
        found = tcgen05_sparsity_metadata.expand_sparse_tmem(self.form.kind, cells, decode(a, self.shape.a))
        if isinstance(found, str):
            fault_at(memory.geometry, self.ins, (self.sides[0][0], 0), found)
        return found

    def operand_a_cells(self, memory, block: AccumulatorBlock) -> np.ndarray:
        first = self.a_place & 0xFFFF
        cells = memory.cells[self.rows[block.side], first : first + 8]
        cells = self.lanes(cells, block)
        values = decode_cells(cells.reshape(*cells.shape[:2], -1).swapaxes(1, 2), self.shape.a, self.shape.k == 64)
        return -values if self.shape.negative[0] else values

    def lanes(self, cells: np.ndarray, block: AccumulatorBlock) -> np.ndarray:
        """The lanes of a block, a view (…, lanes) or, scattered, (…, 4, 16)."""
        if is_layout_f(self.shape, self.form):
            return cells.reshape(*cells.shape[:-1], 4, 32)[..., 16 * self.half : 16 * self.half + 16]
        return cells[..., block.lanes]

    def scaled(self, memory, block: AccumulatorBlock, matrix: np.ndarray, which: int) -> np.ndarray:
        """The matrix times its scale factors: those of row r are in lane r % 32, column r / 32 (section 9.7.16.10.7)."""
        count, first = matrix.shape[1], self.scale_places[which] & 0xFFFF
        words = memory.cells[self.rows[block.side], first : first + -(-count // 32), block.lanes]
        parts = words.reshape(*words.shape[:2], -1, 32)
        if is_any(parts != parts[:, :, :1]):
            fault_at(
                memory.geometry,
                self.ins,
                (self.sides[0][0], 0),
                "the scale factors differ between the 32-lane parts of tensor memory",
            )
        codes = np.ascontiguousarray(parts[:, :, 0]).reshape(len(words), -1, 1).view(np.uint8)[:, :count]
        start = self.shape.scale_ids[which]
        codes = codes[..., start : start + self.form.scale]
        if self.shape.scale_type == "ue8m0":
            factors = float_conversions.decode_scale(codes)
        else:
            factors = float_formats.table("e4m3")[codes & 0x7F]
        values = decode(matrix, (self.shape.a, self.shape.b)[which])
        return values * np.repeat(factors.astype(np.float64), matrix.shape[2] // self.form.scale, axis=2)

    def add(self, memory, block: AccumulatorBlock, pairs: list[tuple[MatmulOperand, MatmulOperand]]) -> None:
        """Accumulate matmuls (CTAs, columns, rows) into the cells of D, in order."""
        rows, rounding = self.rows[block.side], self.rounding
        first, count = self.column, pairs[0][0].shape[1]
        errors = None
        if self.result_layout() and rounding == matmul.ROUNDED_ONCE:
            errors = matmul.native_error_bounds(pairs, len(self.sides[block.side]))
        if errors is not None:
            return self.accumulate_natively(memory, block, pairs, errors)
        cells = memory.cells[rows, first : first + count]
        target = self.lanes(cells, block)
        if self.result_layout():
            accumulate_with_numpy(target.view(np.float32), pairs, rounding, fresh=not self.accumulate)
            canonicalize_nans(target)
        else:
            target[...] = self.combine(target, block, pairs, rounding)
        if not isinstance(rows, slice):
            memory.cells[rows, first : first + count] = cells

    def result_layout(self) -> bool:
        is_plain = self.shape.d == "f32" and not self.form.shift and self.disabled is None
        return is_plain and not is_layout_f(self.shape, self.form)

    def accumulate_natively(
        self, memory, block: AccumulatorBlock, pairs: list[tuple[MatmulOperand, MatmulOperand]], errors: np.ndarray
    ) -> None:
        """Like ``add``, in place."""
        ctas, (_, count, _), fresh = self.sides[block.side], pairs[0][0].shape, not self.accumulate
        firsts = (np.asarray(ctas) * COLUMNS + self.column) * LANES
        layout = gemm.strided_layout(firsts + block.lanes.start, count, block.lanes.stop - block.lanes.start, LANES)
        gemm.accumulate(memory.cells, [] if fresh else [memory.cells], layout, pairs, errors)
        if pack_operands.any_nan(address(memory.cells) + 4 * firsts, 4 * count * LANES):
            cells = memory.cells[ctas, self.column : self.column + count]
            canonicalize_nans(cells[..., block.lanes])
            memory.cells[ctas, self.column : self.column + count] = cells

    def combine(
        self,
        target: np.ndarray,
        block: AccumulatorBlock,
        pairs: list[tuple[MatmulOperand, MatmulOperand]],
        rounding: str,
    ) -> np.ndarray:
        """The new cells, from the old ones and the matmuls accumulated onto them."""
        old = np.array(target, order="C").reshape(len(target), target.shape[1], -1)
        new = (self.integers if self.shape.d == "s32" else self.floats)(old, pairs, rounding).reshape(target.shape)
        if self.disabled is None:
            return new
        off = np.broadcast_to(self.disabled[block.side], (LANES,))
        return np.where(self.lanes(off, block), target, new)

    def integers(self, old: np.ndarray, pairs: list[tuple[MatmulOperand, MatmulOperand]], rounding: str) -> np.ndarray:
        parts = [matmul.multiply(*pair, rounding).astype(np.int64) for pair in pairs]
        total = sum(parts[1:], parts[0])
        if self.accumulate:
            total = total + old.view(np.int32)
        if self.shape.saturate:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        return total.astype(np.int32).view(np.uint32)

    def floats(self, old: np.ndarray, pairs: list[tuple[MatmulOperand, MatmulOperand]], rounding: str) -> np.ndarray:
        half = self.shape.d == "f16"
        total = float_formats.widen("f16", (old & 0xFFFF).astype(np.uint16)) if half else old.view(np.float32)
        if self.form.shift:
            total = total * np.float32(2.0**-self.form.shift)
        accumulate(total, pairs, rounding, fresh=not self.accumulate)
        return float_formats.narrow("f16", total).astype(np.uint32) if half else float_arithmetic.bits32(total)


def accumulate_with_numpy(
    total: np.ndarray, pairs: list[tuple[MatmulOperand, MatmulOperand]], rounding: str, *, fresh: bool
) -> None:
    """Accumulate matmuls that native code does not support."""
    if rounding == matmul.BLAS_ORDER:
        accumulate(total, pairs, rounding, fresh=fresh)
    else:
        matmul.accumulate_in_slices(total, pairs, fresh=fresh)


def canonicalize_nans(cells: np.ndarray) -> None:
    """Replace NaNs among f32 bit patterns by the canonical NaN of MMA results."""
    nan = np.isnan(cells.view(np.float32))
    if is_any(nan):
        cells[nan] = float_arithmetic.NAN32.view(np.uint32)


# -- zero-column mask --------------------------------------------------------------------------------
class ZeroMask:
    """The zero-column mask descriptor (Table 45): columns of B treated as zero, and a shift of the columns."""

    def __init__(self, descriptor: int):
        self.descriptor, self.shift = descriptor, descriptor >> 56 & 63

    def columns(self, shape: InstructionDescriptor) -> np.ndarray:
        """A mask of the zero columns among N: runs of used and skipped columns, per sub-mask."""
        if not self.descriptor >> 39 & 1:
            return np.zeros(shape.n, bool)
        parts = LANES // shape.m
        skip, use = (self.descriptor >> 40 & 255) + 1, (self.descriptor >> 48 & 255) + 1
        return np.concatenate([self.sub_mask(i, shape.n // parts, skip, use) for i in range(parts)])

    def sub_mask(self, i: int, count: int, skip: int, use: int) -> np.ndarray:
        start, zero_first = self.descriptor >> 8 * i & 255, self.descriptor >> (32 + i) & 1
        place = (np.arange(count) + start) % (skip + use)
        return place < skip if zero_first else place >= use


def handle_mma(e, ins):
    form = read_form(e, ins)
    d, a, b, *rest = ins.args
    lanes, scales, zero, metadata = "[]", "[]", "None", "None"
    if form.sparse:
        metadata = tensor_address(e, rest.pop(0))
    idesc, *rest = rest
    if rest and isinstance(rest[0], Vector):
        if len(rest[0].items) != (8 if form.cta_pair else 4):
            e.fail("wrong number of words in disable-output-lane")
        lanes = "[" + ", ".join(e.use(i, "u32") for i in rest.pop(0).items) + "]"
    if form.scale:
        scales = f"[{tensor_address(e, rest.pop(0))}, {tensor_address(e, rest.pop(0))}]"
    keep = e.use(rest[0], "p")
    if form.weight_stationary and len(rest) > 1:
        zero = e.use(rest[1], "u64")
    left = tensor_address(e, a) if form.a_in_tensor_memory else e.use(a, "u64")
    operands = f"{tensor_address(e, d)}, {left}, {e.use(b, 'u64')}, {e.use(idesc, 'u32')}, {keep}"
    e.line(
        f"tcgen05_mma({e.constant(form, 'form')}, g, {mask_of(e)}, {operands}, {lanes}, {scales}, {zero}, {metadata})"
    )


@helper
def tcgen05_mma(form, group, mask, d, a, b, idesc, accumulate, lanes, scales, zero, metadata):
    queue = async_queue_of(group)
    zeros = [] if zero is None else [zero]
    places = [] if metadata is None else [metadata]
    issuers = Issuers(group, mask, d, a, b, idesc, accumulate, *lanes, *scales, *places, *zeros)
    for ctas, tid, (d_, a_, b_, idesc_, keep_, *more) in issuers.batches():
        shape = read_instruction(idesc_, form.kind, form.cta_pair, form.weight_stationary, form.scale, form.sparse)
        if isinstance(shape, str):
            fault_at(group.geometry, form.ins, (ctas[0], tid), shape)
        assert isinstance(shape, InstructionDescriptor)
        words, more = more[: len(lanes)], more[len(lanes) :]
        operands = {
            "instruction": idesc_, "a": a_, "b": b_, "accumulate": bool(keep_), "disabled": lane_mask(words), "scales": more[: len(scales)],
            "metadata": more[len(scales)] if places else None, "zero": ZeroMask(more[-1]) if zeros and more[-1] else None,
        }  # fmt: skip
        if (counters := group.observers.counters) is not None:
            counters.tensor_operations += 2 * shape.m * shape.n * shape.k * len(ctas)
        queue.issue(Tcgen05Mma(group, form, shape, ctas, tid, d_, operands))


def lane_mask(words: list[int]) -> np.ndarray | None:
    """Disabled lanes (CTAs of the pair, 128), or None."""
    if not any(words):
        return None
    bits = np.unpackbits(np.array(words, np.uint32).view(np.uint8), bitorder="little").astype(bool)
    return bits.reshape(-1, LANES)


TCGEN05_HANDLERS["mma"] = handle_mma
