"""tcgen05.mma, .ws, .sp: D (M x N) = A (M x K) B (K x N) [+ D], D in tensor memory (PTX ISA 9.0, section 9.7.16.10).

The instruction descriptor gives the shape and the exact types, K is 32 bytes of A and B; with .sp it is 64 bytes of B, and A
without its zeros has 32 (``tcgen05_sparse.py``). A lies in shared memory or in tensor memory, B in shared memory, scale
factors and metadata in tensor memory. A product falls into *blocks* (section 9.7.16.10.5):
some lanes of one CTA that hold some rows of D and some of its columns.

    A  M 256, two CTAs   lanes 0-127 of either CTA: its 128 rows
    B  M 128, two CTAs   lanes 0-63 the left, 64-127 the right half of N, of the CTA's 64 rows
    D  M 128             lanes 0-127
    E  M 64, .ws         as B, of one CTA
    F  M 64              lanes 0-15 (or 16-31) of every 32: 16 rows
    G  M 32, .ws         each 32 lanes a quarter of N

``products.py`` says how products are summed. Consecutive ones that add to the same D are carried out in one go, exact ones
each rounded as if it were alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import descriptor, numerics, products
from ..parse import Address, Immediate, Vector
from ..tensor import LANES, Operation, Source, Span, fault, rows_of, tensor_of
from . import tcgen05_sparse
from .matrix import _DECODE, decompress_fp6
from .registry import helper
from .tcgen05 import (
    FORMS,
    Issuers,
    inside_shared,
    is_pair,
    mask_of,
    read_fields,
    require_usable,
    sides,
    tensor_address,
)

# -- kinds -------------------------------------------------------------------------------------------
_SMALL = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}


@dataclass(frozen=True)
class Kind:
    """Tables 42 to 44: ``types`` and ``results`` by their code in the descriptor; ``bits`` of an element of A and B."""

    types: dict
    results: dict
    k: int
    scales: tuple = ()  # vector sizes, the default first
    negates: bool = True
    turns: bool = True
    scale_types: dict | None = None
    ids: tuple = (0,)


KINDS = {
    "f16": Kind({0: "f16", 1: "bf16"}, {0: "f16", 1: "f32"}, 16),
    "tf32": Kind({2: "tf32"}, {1: "f32"}, 8),
    "f8f6f4": Kind(_SMALL, {0: "f16", 1: "f32"}, 32),
    "i8": Kind({0: "u8", 1: "s8"}, {2: "s32"}, 32, negates=False),
    "mxf8f6f4": Kind(_SMALL, {}, 32, scales=(1,), scale_types={1: "ue8m0"}, ids=(0, 1, 2, 3)),
    "mxf4": Kind({1: "e2m1"}, {}, 64, scales=(2,), turns=False, scale_types={1: "ue8m0"}, ids=(0, 2)),
    "mxf4nvf4": Kind({1: "e2m1"}, {}, 64, scales=(None, 2, 4), turns=False, scale_types={0: "ue4m3", 1: "ue8m0"},
                     ids=(0, 2)),
}  # fmt: skip
PADDED = {"e2m3", "e3m2", "e2m1"}  # 16 elements and padding fill 16 bytes of shared memory


@dataclass(frozen=True)
class Form:
    """What the text of an instruction says."""

    ins: object
    kind: str
    pair: bool
    stationary: bool
    scale: int  # factors per row of A and column of B, 0 without block scaling
    left_in_tensor: bool
    shift: int  # scale-input-d
    sparse: bool


@dataclass(frozen=True)
class Shape:
    """What the instruction descriptor says."""

    m: int
    n: int
    k: int  # numbers in 32 bytes of a row of A, K without a sparse A
    a: str
    b: str
    d: str
    negative: tuple
    turned: tuple  # A, B are MN-major
    saturates: bool
    scale_type: str | None
    scale_ids: tuple
    selector: int | None  # of metadata, with a sparse A

    @property
    def depth(self) -> int:
        """How many times 32 bytes a row of B has."""
        return 1 if self.selector is None else 2


class Wrong(Exception):
    """What is wrong with a descriptor."""


def choice(table: dict, code: int, what: str):
    if code not in table:
        raise Wrong(f"{what} {code} in the instruction descriptor does not exist for this kind")
    return table[code]


@lru_cache(maxsize=1024)
def read_instruction(word: int, kind: str, pair: bool, stationary: bool, scale: int, sparse: bool) -> Shape | str:
    """The fields of an instruction descriptor, or what is wrong with it."""
    try:
        return _read(word, kind, pair, stationary, scale, sparse)
    except Wrong as wrong:
        return f"{wrong} ({word:#010x})"


def _read(word: int, name: str, pair: bool, stationary: bool, scale: int, sparse: bool) -> Shape:
    kind, scaled = KINDS[name], bool(scale)
    packed = kind.k == 64
    if bool(word >> 2 & 1) != sparse:
        raise Wrong(f"the instruction descriptor asks for a {'dense' if sparse else 'sparse'} A")
    reserved = (0x0700004B | (1 << 12) * packed) if scaled else 0x20800040
    if word & reserved:
        raise Wrong("reserved bits of the instruction descriptor must be 0")
    if scaled and word >> 31 & 1:
        raise Wrong("K = 96 is not supported")
    if not scaled and word >> 30 and not stationary:
        raise Wrong("a maximum shift in the instruction descriptor is for .ws only")
    turned = (bool(word >> 15 & 1), bool(word >> 16 & 1))
    negative = (bool(word >> 13 & 1), bool(word >> 14 & 1))
    if any(turned) and not kind.turns or any(negative) and not kind.negates:
        raise Wrong("this kind has no transposed or negated operands")
    m = (word >> 27 & 3) << 7 if scaled else (word >> 24 & 31) << 4
    n = (word >> 17 & 63) << 3
    a = choice(kind.types, word >> 7 & 7, "type of A")
    b = choice(kind.types, word >> 10 & (3 if packed else 7), "type of B")
    check_shape(name, pair, stationary, scaled, m, n, turned, (a, b))
    if sparse and (wrong := tcgen05_sparse.wrong_shape(m, n, pair, stationary, scaled)):
        raise Wrong(wrong)
    d = "f32" if scaled else choice(kind.results, word >> 4 & 3, "type of D")
    saturates = bool(word >> 3 & 1) and not scaled
    if saturates and name != "i8":
        raise Wrong("only integers saturate")
    factors = read_scales(kind, word, scale) if scaled else (None, (0, 0))
    selector = (0 if scaled else word & 3) if sparse else None
    return Shape(m, n, kind.k, a, b, d, negative, turned, saturates, *factors, selector)


def read_scales(kind: Kind, word: int, scale: int):
    type_ = choice(kind.scale_types, word >> 23 & 1, "scale type")
    if type_ == "ue4m3" and scale != 4:
        raise Wrong("scale factors of type ue4m3 need scale_vec::4X")
    ids = (word >> 29 & 3, word >> 4 & 3)
    allowed = (0,) if scale == 4 else kind.ids
    if any(i not in allowed for i in ids):
        raise Wrong(f"the scale factor ids must be in {allowed}")
    return type_, ids


def check_shape(name, pair, stationary, scaled, m, n, turned, types):
    """Tables 39 and 50."""
    rows = (32, 64, 128) if stationary else (128, 256) if pair else (128,) if scaled else (64, 128)
    step = 16 if pair else 8
    if name == "i8":
        step = 32 if pair else 8 if n <= 32 else 16
    if turned[1] and any(t in ("e4m3", "e5m2", "u8", "s8") for t in types):
        step = 32 if pair else 16
    columns = n in (64, 128, 256) if stationary else n % step == 0 and step <= n <= 256
    if m not in rows or not columns:
        raise Wrong(f"there is no product of M = {m} and N = {n} in this form")


# -- blocks ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Block:
    """``rows`` of D and ``columns`` of it (slices), in ``lanes`` of the CTA ``side`` of a pair."""

    side: int
    lanes: slice
    rows: slice
    columns: slice


def halves_of(side: int, rows: slice, n: int) -> list[Block]:
    return [
        Block(side, slice(0, 64), rows, slice(0, n // 2)),
        Block(side, slice(64, 128), rows, slice(n // 2, n)),
    ]


@lru_cache(maxsize=512)
def blocks_of(m: int, n: int, pair: bool, stationary: bool) -> list[Block]:
    whole, columns = slice(0, 128), slice(0, n)
    if pair and m == 256:
        return [Block(i, whole, slice(128 * i, 128 * i + 128), columns) for i in (0, 1)]
    if pair:
        return halves_of(0, slice(0, 64), n) + halves_of(1, slice(64, 128), n)
    if m == 128:
        return [Block(0, whole, whole, columns)]
    if m == 32:
        return [
            Block(0, slice(32 * i, 32 * i + 32), slice(0, 32), slice(n // 4 * i, n // 4 * (i + 1))) for i in range(4)
        ]
    return halves_of(0, slice(0, 64), n) if stationary else [Block(0, whole, slice(0, 64), columns)]


def is_scattered(shape: Shape, form: Form) -> bool:
    """Layout F: 64 rows in 16 of every 32 lanes."""
    return shape.m == 64 and not form.stationary


# -- elements ----------------------------------------------------------------------------------------
def nibbles(data: np.ndarray) -> np.ndarray:
    """Codes of 4 bits, low first."""
    return np.stack([data & 15, data >> 4], axis=-1).reshape(*data.shape[:-1], -1)


def decode_chunks(data: np.ndarray, type_: str, packed: bool) -> np.ndarray:
    """Values (…, elements) of bytes (…, chunks, 16)."""
    if packed:
        return numerics.table("e2m1")[nibbles(data.reshape(*data.shape[:-2], -1))]
    if type_ in PADDED:
        codes = nibbles(data[..., :8]) if type_ == "e2m1" else decompress_fp6(data)
        return numerics.table(type_)[codes].reshape(*data.shape[:-2], -1)
    words = np.ascontiguousarray(data).reshape(*data.shape[:-2], -1).view(np.uint32)
    return _DECODE[type_](words).reshape(*words.shape[:-1], -1)


def decode_cells(words: np.ndarray, type_: str, packed: bool) -> np.ndarray:
    """Values (…, elements) of tensor memory cells (…, 8): small types lie in containers of 8 bits."""
    words = np.ascontiguousarray(words)
    return _DECODE["e2m1_packed" if packed else type_](words).reshape(*words.shape[:-1], -1)


class SharedMatrix:
    """A (rows of M) or B (rows of N) of one CTA in shared memory."""

    def __init__(
        self, machine, form: Form, shape: Shape, side: int, word: int, rows: int, ctas, tid: int, skip: int = 0
    ):
        self.type, self.packed = (shape.a, shape.b)[side], shape.k == 64
        self.turned, self.negative, self.skip = shape.turned[side], shape.negative[side], skip
        fields = read_fields(machine, form.ins, word, ctas, tid)
        depth = shape.depth if side else 1
        self.check_swizzle(machine, form, fields, depth, ctas, tid)
        if self.turned:
            per = descriptor.CHUNK * shape.k // 32  # elements along M or N in a chunk
            chunks = descriptor.mn_major_chunks(fields, shape.k * depth, -(-rows // per))
        else:
            chunks = descriptor.k_major_chunks(fields, rows, descriptor.ROW_CHUNKS * depth)
        self.rows = rows
        self.chunks = inside_shared(machine, form.ins, chunks, ctas, tid)

    def check_swizzle(self, machine, form, fields, depth, ctas, tid):
        """Table 52: which types may be MN-major in which mode; rows of 64 bytes do not fit a pattern of 32."""
        if not self.turned:
            if depth > 1 and fields.swizzle is descriptor.BYTES_32:
                why = "B of a sparse product cannot be K-major in the 32-byte swizzling mode"
                fault(machine, form.ins, why, ctas[0], tid)
            return
        wide = fields.swizzle is descriptor.WIDE_ATOMS
        if self.type in PADDED or wide != (self.type == "tf32"):
            why = f"a transposed matrix of {self.type} cannot have this swizzling mode"
            fault(machine, form.ins, why, ctas[0], tid)

    def source(self, machine, ins, name: str, ctas, issuers) -> Source:
        return Source(machine, ins, f"matrix {name}", ctas, self.chunks, issuers)

    def values(self, source: Source) -> np.ndarray:
        """Values (CTAs, rows, k)."""
        values = decode_chunks(source.read(), self.type, self.packed)
        if self.turned:
            values = values.swapaxes(1, 2)
        values = values[:, self.skip : self.rows]
        return -values if self.negative else values


# -- the operation -----------------------------------------------------------------------------------
class Product(Operation):
    """One tcgen05.mma of some CTAs (or pairs) with the same operands."""

    def __init__(self, memory, form: Form, shape: Shape, ctas, tid: int, place: int, operands: dict):
        machine = memory.machine
        self.ins, self.form, self.shape, self.place = form.ins, form, shape, place
        self.sides = sides(machine, form.ins, ctas)
        self.rows = [rows_of(side) for side in self.sides]
        self.blocks = blocks_of(shape.m, shape.n, form.pair, form.stationary)
        self.keep, self.disabled, self.zero = operands["keep"], operands["disabled"], operands["zero"]
        self.scale_places, self.metadata = operands["scales"], operands["metadata"]
        self.column, self.half = place & 0xFFFF, 0
        self.check_place(memory, ctas, tid)
        share = len(self.sides)
        self.a_place = operands["a"] if form.left_in_tensor else None
        if form.left_in_tensor:
            self.check_left(machine, ctas, tid)
        else:
            self.a = SharedMatrix(machine, form, shape, 0, operands["a"], shape.m // share, ctas, tid)
        shift = self.zero.shift if self.zero else 0
        self.b = SharedMatrix(machine, form, shape, 1, operands["b"], shape.n // share + shift, ctas, tid, shift)
        matrices = {"B": self.b} if form.left_in_tensor else {"A": self.a, "B": self.b}
        sources = {
            name: [matrix.source(machine, form.ins, name, side, (ctas, tid)) for side in self.sides]
            for name, matrix in matrices.items()
        }
        self.sources_a, self.sources_b = sources.get("A", []), sources["B"]
        self.span_columns()
        require_usable(memory, self)
        self.require_order(memory, ctas, tid)
        if machine.race is not None:
            machine.race.tensor_overwritten(form.ins, self.writes, self.sides, ctas, tid)

    # -- places ----------------------------------------------------------------------------------------
    def check_place(self, memory, ctas, tid):
        lane = self.place >> 16
        scattered = is_scattered(self.shape, self.form)
        if lane not in ((0, 16) if scattered else (0,)):
            fault(memory.machine, self.ins, f"lane {lane}: D of this layout cannot start there", ctas[0], tid)
        self.half = lane // 16
        if self.form.sparse and (why := tcgen05_sparse.wrong_place(self.form.kind, self.shape.selector, self.metadata)):
            fault(memory.machine, self.ins, why, ctas[0], tid)

    @property
    def metadata_columns(self) -> tuple[int, int]:
        """The first column of metadata, and how many there are."""
        return (self.metadata & 0xFFFF) + self.shape.selector, tcgen05_sparse.STORAGE[self.form.kind].columns

    def check_left(self, machine, ctas, tid):
        """A in tensor memory: K-major, the lanes of D."""
        lane = self.a_place >> 16
        if self.shape.turned[0]:
            fault(machine, self.ins, "A in tensor memory cannot be transposed", ctas[0], tid)
        if lane != self.place >> 16:
            fault(machine, self.ins, f"lane {lane}: A and D must start in the same lane", ctas[0], tid)
        if self.form.stationary and self.shape.m < 128:
            fault(machine, self.ins, "A in tensor memory with .ws and M < 128 is not supported", ctas[0], tid)

    def span_columns(self):
        scattered = is_scattered(self.shape, self.form)
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

    def scale_counts(self) -> tuple[int, int]:
        """Rows and columns of a block: each has its scale factors."""
        block = self.blocks[0]
        return block.rows.stop - block.rows.start, block.columns.stop - block.columns.start

    def require_order(self, memory, ctas, tid):
        """Products that write what this one reads are not ordered before it (section 9.7.16.6.2)."""
        for span in self.reads:
            if span.of(memory.writing).any() and any(
                span.overlaps(other, memory.machine.ctas)
                for earlier in memory.queue if isinstance(earlier, Product) for other in earlier.writes
            ):  # fmt: skip
                why = "an earlier tcgen05.mma still writes what this one reads from tensor memory"
                fault(memory.machine, self.ins, why, ctas[0], tid, span.first)

    # -- carrying out ----------------------------------------------------------------------------------
    def joins(self, earlier) -> bool:
        if not isinstance(earlier, Product) or earlier.place != self.place or earlier.shape != self.shape:
            return False
        if not self.keep or self.form.shift or self.shape.d == "f16" or self.shape.saturates:
            return False
        same = len(self.sides[0]) == len(earlier.sides[0]) and all(
            (a == b).all() for a, b in zip(self.sides, earlier.sides)
        )
        plain = self.disabled is None and earlier.disabled is None and self.zero is None and earlier.zero is None
        return same and plain and self.form.kind == earlier.form.kind and self.form.pair == earlier.form.pair

    def run_all(self, memory, others):
        """The sum of the products of this operation and the others, added to D (or D where the first does not keep it)."""
        every = [self, *others]
        rights = [p.right() for p in every]
        lefts = [None if p.form.left_in_tensor else p.left() for p in every]
        names = ("scaled",) * 2 if self.form.scale else (self.shape.a, self.shape.b)
        for block in self.blocks:
            factors = [p.factors(memory, block, left, right) for p, left, right in zip(every, lefts, rights)]
            self.add(memory, block, self.multiply(factors, names, memory.machine.options.sums))

    def multiply(self, factors: list[tuple], names: tuple[str, str], sums: str) -> list[np.ndarray]:
        """The products (CTAs, columns, rows) of pairs (A, B), to be added one after the other."""
        if sums == products.BY_BLAS and self.shape.d != "s32":
            factors = [tuple(np.concatenate(matrices, axis=2) for matrices in zip(*factors))]
        return [products.multiply(products.Factor(b, names[1]), products.Factor(a, names[0]), sums) for a, b in factors]

    def left(self) -> list[np.ndarray]:
        """A of each CTA (CTAs, its rows, k)."""
        return [self.a.values(source) for source in self.sources_a]

    def right(self) -> np.ndarray:
        """B of all columns (CTAs or pairs, N, k)."""
        b = [self.b.values(source) for source in self.sources_b]
        b = np.concatenate(b, axis=1) if len(b) > 1 else b[0]
        if self.zero is not None:
            b = np.where(self.zero.columns(self.shape)[:, None], b.dtype.type(0), b)
        return b

    def factors(self, memory, block: Block, left, right):
        """(A, B) of a block, scaled: (CTAs, rows, k) and (CTAs, columns, k)."""
        if left is None:
            a = self.left_cells(memory, block)
        else:
            start = block.rows.start - block.side * self.shape.m // len(self.sides)
            a = left[block.side][:, start : start + block.rows.stop - block.rows.start]
        b = right[:, block.columns]
        if self.form.sparse:
            a = self.spread(memory, block, a)
        if self.form.scale:
            a = self.scaled(memory, block, a, 0)
            b = self.scaled(memory, block, b, 1)
        return a, b

    def spread(self, memory, block: Block, a: np.ndarray) -> np.ndarray:
        """A with its zeros."""
        first, count = self.metadata_columns
        found = tcgen05_sparse.spread(self.form.kind, memory.cells[self.rows[block.side], first : first + count], a)
        if isinstance(found, str):
            fault(memory.machine, self.ins, found, self.sides[0][0])
        return found

    def left_cells(self, memory, block: Block) -> np.ndarray:
        first = self.a_place & 0xFFFF
        cells = memory.cells[self.rows[block.side], first : first + 8]
        cells = self.lanes(cells, block)
        values = decode_cells(cells.reshape(*cells.shape[:2], -1).swapaxes(1, 2), self.shape.a, self.shape.k == 64)
        return -values if self.shape.negative[0] else values

    def lanes(self, cells: np.ndarray, block: Block) -> np.ndarray:
        """The lanes of a block, a view (…, lanes) or, scattered, (…, 4, 16)."""
        if is_scattered(self.shape, self.form):
            return cells.reshape(*cells.shape[:-1], 4, 32)[..., 16 * self.half : 16 * self.half + 16]
        return cells[..., block.lanes]

    def scaled(self, memory, block: Block, matrix: np.ndarray, which: int) -> np.ndarray:
        """The matrix times its scale factors: row r has them in lane r % 32, column r / 32 (section 9.7.16.10.7)."""
        count, first = matrix.shape[1], self.scale_places[which] & 0xFFFF
        words = memory.cells[self.rows[block.side], first : first + -(-count // 32), block.lanes]
        parts = words.reshape(*words.shape[:2], -1, 32)
        if (parts != parts[:, :, :1]).any():
            fault(
                memory.machine,
                self.ins,
                "the scale factors differ between the 32-lane parts of tensor memory",
                self.sides[0][0],
            )
        codes = np.ascontiguousarray(parts[:, :, 0]).reshape(len(words), -1, 1).view(np.uint8)[:, :count]
        start = self.shape.scale_ids[which]
        codes = codes[..., start : start + self.form.scale]
        if self.shape.scale_type == "ue8m0":
            factors = numerics.decode_scale(codes)
        else:
            factors = numerics.table("e4m3")[codes & 0x7F]
        return matrix * np.repeat(factors.astype(np.float64), matrix.shape[2] // self.form.scale, axis=2)

    def add(self, memory, block: Block, parts: list[np.ndarray]) -> None:
        """Add products (CTAs, columns, rows) to the cells of D, one after the other."""
        rows = self.rows[block.side]
        first, count = self.column, parts[0].shape[1]
        cells = memory.cells[rows, first : first + count]
        target = self.lanes(cells, block)
        product, *later = [part.reshape(target.shape) for part in parts]
        new = self.combine(target, product, later)
        if self.disabled is not None:
            off = np.broadcast_to(self.disabled[block.side], (LANES,))
            new = np.where(self.lanes(off, block), target, new)
        target[...] = new
        if not isinstance(rows, slice):
            memory.cells[rows, first : first + count] = cells

    def combine(self, old: np.ndarray, product: np.ndarray, later: list[np.ndarray]) -> np.ndarray:
        """New cells from old ones, a product and those to be added after it."""
        d = self.shape.d
        if d == "s32":
            total = sum((part.astype(np.int64) for part in later), product.astype(np.int64))
            if self.keep:
                total = total + old.view(np.int32)
            if self.shape.saturates:
                total = np.clip(total, -(1 << 31), (1 << 31) - 1)
            return total.astype(np.int32).view(np.uint32)
        if self.keep:
            value = old.view(np.float32) if d == "f32" else numerics.widen("f16", (old & 0xFFFF).astype(np.uint16))
            if self.form.shift:
                value = value * np.float32(2.0**-self.form.shift)
            product += value
        for part in later:
            product += part
        if d == "f16":
            return numerics.narrow("f16", np.ascontiguousarray(product)).astype(np.uint32)
        return numerics.bits32(np.ascontiguousarray(product))


# -- zero-column mask --------------------------------------------------------------------------------
class ZeroMask:
    """Zero-column mask descriptor (Table 45): columns of B taken as zero, and a shift of the columns."""

    def __init__(self, word: int):
        self.word, self.shift = word, word >> 56 & 63

    def columns(self, shape: Shape) -> np.ndarray:
        """Which of the N columns are zero: runs of used and skipped columns, per sub-mask."""
        if not self.word >> 39 & 1:
            return np.zeros(shape.n, bool)
        parts = LANES // shape.m
        skip, use = (self.word >> 40 & 255) + 1, (self.word >> 48 & 255) + 1
        return np.concatenate([self.part(i, shape.n // parts, skip, use) for i in range(parts)])

    def part(self, i: int, count: int, skip: int, use: int) -> np.ndarray:
        start, zero_first = self.word >> 8 * i & 255, self.word >> (32 + i) & 1
        place = (np.arange(count) + start) % (skip + use)
        return place < skip if zero_first else place >= use


# -- instructions ------------------------------------------------------------------------------------
def scale_count(e, ins, kind: str) -> int:
    """Scale factors per row: .scale_vec::NX, or .block16 / .block32 for the K of the kind."""
    allowed = KINDS[kind].scales
    for mod in ins.mods:
        found = re.fullmatch(r"scale_vec::(\d)X|block(16|32)", mod)
        if found:
            count = int(found[1]) if found[1] else KINDS[kind].k // int(found[2])
            return count if count in allowed else e.fail("no such scale vector size for this kind")
    return allowed[0] or e.fail("the scale vector size must be given")


def read_form(e, ins) -> Form:
    kind = next((m.split("::")[1] for m in ins.mods if m.startswith("kind::")), None)
    scaled = "block_scale" in ins.mods
    if kind not in KINDS or scaled != bool(KINDS[kind].scales):
        e.fail("no such kind")
    if "ashift" in ins.mods:
        e.fail("shifted forms are not supported")
    stationary, sparse = "ws" in ins.mods, "sp" in ins.mods
    if stationary and (scaled or is_pair(ins)):
        e.fail("no such .ws form")
    rest = ins.args[5 if sparse else 4 :]
    shift = 0
    if not stationary and len(rest) > 1 and isinstance(rest[-1], Immediate) and not scaled:
        shift = rest[-1].value
        if kind not in ("f16", "tf32") or not 0 <= shift <= 15:
            e.fail("scale-input-d must be 0 to 15, for kinds f16 and tf32")
    count = scale_count(e, ins, kind) if scaled else 0
    return Form(ins, kind, is_pair(ins), stationary, count, isinstance(ins.args[1], Address), shift, sparse)


def handle_mma(e, ins):
    form = read_form(e, ins)
    d, a, b, *rest = ins.args
    lanes, scales, zero, metadata = "[]", "[]", "None", "None"
    if form.sparse:
        metadata = tensor_address(e, rest.pop(0))
    idesc, *rest = rest
    if rest and isinstance(rest[0], Vector):
        if len(rest[0].items) != (8 if form.pair else 4):
            e.fail("wrong number of words in disable-output-lane")
        lanes = "[" + ", ".join(e.use(i, "u32") for i in rest.pop(0).items) + "]"
    if form.scale:
        scales = f"[{tensor_address(e, rest.pop(0))}, {tensor_address(e, rest.pop(0))}]"
    keep = e.use(rest[0], "p")
    if form.stationary and len(rest) > 1:
        zero = e.use(rest[1], "u64")
    left = tensor_address(e, a) if form.left_in_tensor else e.use(a, "u64")
    operands = f"{tensor_address(e, d)}, {left}, {e.use(b, 'u64')}, {e.use(idesc, 'u32')}, {keep}"
    e.line(
        f"tensor_product({e.constant(form, 'form')}, g, {mask_of(e)}, {operands}, {lanes}, {scales}, {zero}, {metadata})"
    )


@helper
def tensor_product(form, group, mask, d, a, b, idesc, keep, lanes, scales, zero, metadata):
    memory = tensor_of(group.machine)
    zeros = [] if zero is None else [zero]
    places = [] if metadata is None else [metadata]
    issuers = Issuers(group, mask, d, a, b, idesc, keep, *lanes, *scales, *places, *zeros)
    for ctas, tid, (d_, a_, b_, idesc_, keep_, *more) in issuers.batches():
        shape = read_instruction(idesc_, form.kind, form.pair, form.stationary, form.scale, form.sparse)
        if isinstance(shape, str):
            fault(group.machine, form.ins, shape, ctas[0], tid)
        words, more = more[: len(lanes)], more[len(lanes) :]
        operands = {
            "a": a_, "b": b_, "keep": bool(keep_), "disabled": lane_mask(words), "scales": more[: len(scales)],
            "metadata": more[len(scales)] if places else None, "zero": ZeroMask(more[-1]) if zeros and more[-1] else None,
        }  # fmt: skip
        memory.issue(Product(memory, form, shape, ctas, tid, d_, operands))


def lane_mask(words: list[int]) -> np.ndarray | None:
    """Disabled lanes (CTAs of the pair, 128), or None."""
    if not any(words):
        return None
    bits = np.unpackbits(np.array(words, np.uint32).view(np.uint8), bitorder="little").astype(bool)
    return bits.reshape(-1, LANES)


FORMS["mma"] = handle_mma
