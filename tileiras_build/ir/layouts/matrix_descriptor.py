"""Matrix descriptors of wgmma and tcgen05: the canonical layout of a tile in shared memory, and its strides.

An operand of R rows (of M or N) by K is a repetition of a pattern of 8 lines of 32, 64 or 128 bytes whose 16-byte
chunks are swizzled (PTX ISA 9.0, section 9.7.15.5.1, "Shared Memory Matrix Layout"; the byte address bits 4 to 6 are
XORed with bits 7 to 9). With e elements in a line:

    K-major    a line is e neighbors along K, the 8 lines are rows;    8 further rows are ``stride`` bytes later
    MN-major   a line is e neighbors along the rows, the 8 lines are k; 8 further k are ``stride`` bytes later,
               e further rows ``leading`` bytes later

Lines of 16 bytes are not swizzled; then ``leading`` is of the next line along K, ``stride`` of further rows, in both orders.

tcgen05 has a fourth pattern, for MN-major elements of 32 bits: 4 lines of 128 bytes whose 32-byte chunks are swizzled
(address bits 5 and 6 are XORed with bits 7 and 8; section 9.7.16.4, "Canonical Layouts").

A placement without further rows has the stride 0: an instruction that reads more of them reads the same again.
A placement is canonical if its matrix has one of these forms. Elements beyond one instruction's K (or rows) may be
anywhere: each instruction has its own start address.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from .linear_layout import dim_bases, log2_exact
from .shared_layout import VECTOR_BYTES, SharedLayout

PATTERN_LINES, WIDE_PATTERN_LINES = 8, 4
WIDE_CHUNK = 32
# Bit positions of descriptors (PTX ISA 9.0, section 9.7.15.5.1, "Matrix-descriptor layout"; section 9.7.16.4.1,
# "Shared memory descriptor"). Addresses and offsets are in units of 16 bytes.
ADDRESS_BITS, ADDRESS_MASK = 14, 0x3FFFF
UNIT_SHIFT, LEADING_SHIFT, STRIDE_SHIFT, BASE_OFFSET_SHIFT = 4, 16, 32, 49
# Swizzle -> the descriptor's mode: wgmma's bits 62 and 63, tcgen05's bits 61 to 63.
WGMMA_MODES = {0: 0, 128: 1, 64: 2, 32: 3}
WIDE, UNSWIZZLED = "128B_ATOM_32B", "none"
TCGEN05_MODES = {UNSWIZZLED: 0, WIDE: 1, "128B": 2, "64B": 4, "32B": 6}
TCGEN05_VERSION = 1 << 46


def wgmma_descriptor(leading: int, stride: int, base_offset: int, swizzle: int, address: int = 0) -> int:
    """A matrix descriptor of wgmma; offsets, the swizzle width and the address in bytes."""
    return _descriptor_fields(leading, stride, address) | base_offset << BASE_OFFSET_SHIFT | WGMMA_MODES[swizzle] << 62


def tcgen05_descriptor(leading: int, stride: int, swizzle: str) -> int:
    """A shared memory descriptor of tcgen05, without its address."""
    return _descriptor_fields(leading, stride) | TCGEN05_VERSION | TCGEN05_MODES[swizzle] << 61


def plain_descriptor(stride: int) -> int:
    """The descriptor of a K-major matrix of one 16-byte chunk in each row, without swizzle: ``stride`` bytes per 8 rows."""
    return _descriptor_fields(0, stride) | TCGEN05_VERSION


def _descriptor_fields(leading: int, stride: int, address: int = 0) -> int:
    strides = (leading >> UNIT_SHIFT) << LEADING_SHIFT | (stride >> UNIT_SHIFT) << STRIDE_SHIFT
    return strides | (address & ADDRESS_MASK) >> UNIT_SHIFT


@dataclass(frozen=True)
class MatrixOperand:
    """``leading`` and ``stride`` in bytes (0 where unused or without further rows); ``row_offsets``, ``k_offsets``: bytes of each coordinate bit,
    before swizzling."""

    swizzle: str
    k_major: bool
    leading: int
    stride: int
    row_offsets: tuple[int, ...]
    k_offsets: tuple[int, ...]

    def offset(self, row: int, k: int) -> int:
        """Bytes from the tile's start to the pattern that starts with (row, k)."""
        bits = [(row, self.row_offsets), (k, self.k_offsets)]
        return sum(offset for value, offsets in bits for bit, offset in enumerate(offsets) if value >> bit & 1)

    @property
    def tcgen05_descriptor(self) -> int:
        """The descriptor without its start address."""
        return tcgen05_descriptor(self.leading, self.stride, self.swizzle)


@lru_cache(maxsize=256)
def matrix_operand(shared: SharedLayout, k_dim: int) -> MatrixOperand | None:
    """The canonical layout of a two-dimensional placement whose dimension ``k_dim`` is K; None if it has none."""
    if len(shared.shape) != 2 or shared.swizzle is None or shared.element_bits < 8:
        return None
    places, swizzle = shared.swizzle
    bytes = shared.element_bits // 8
    rows, ks = ([bytes << places[log2_exact(unit)] for unit in dim_bases(shared.shape)[d]] for d in (1 - k_dim, k_dim))
    if (swizzle.bits, swizzle.base, swizzle.shift) == (2, log2_exact(max(1, WIDE_CHUNK // bytes)), 2):
        return _mn_major(WIDE, bytes, rows, ks, WIDE_PATTERN_LINES)
    if not swizzle.bits:
        return _unswizzled(bytes, rows, ks)
    line = VECTOR_BYTES << swizzle.bits
    name = f"{line}B"
    if (swizzle.base, swizzle.shift) != (log2_exact(VECTOR_BYTES // bytes), 3) or line not in WGMMA_MODES:
        return None
    return _k_major(line, bytes, rows, ks) or _mn_major(name, bytes, rows, ks, PATTERN_LINES)


def _unswizzled(bytes: int, rows: list[int], ks: list[int]) -> MatrixOperand | None:
    """Lines of 16 bytes along K, or else along the rows; 8 of them follow each other."""
    inside, pattern = log2_exact(VECTOR_BYTES // bytes), log2_exact(PATTERN_LINES)
    for k_major in (True, False):
        along, across = (ks, rows) if k_major else (rows, ks)
        if _doubles(along[:inside], bytes, inside) and _doubles(across[:pattern], VECTOR_BYTES, pattern):
            further = rows[pattern if k_major else inside :]
            next_k = ks[inside if k_major else pattern :]
            if not _doubles(further) or not next_k:
                return None
            return MatrixOperand(UNSWIZZLED, k_major, next_k[0], (*further, 0)[0], tuple(rows), tuple(ks))
    return None


def _k_major(line: int, bytes: int, rows: list[int], ks: list[int]) -> MatrixOperand | None:
    inside = log2_exact(line // bytes)
    if not _doubles(ks[:inside], bytes, inside) or not _doubles(rows[:3], line, 3) or not _doubles(rows[3:]):
        return None
    stride = rows[3] if len(rows) > 3 else 0
    return MatrixOperand(f"{line}B", True, 0, stride, tuple(rows), tuple(ks))


def _mn_major(swizzle: str, bytes: int, rows: list[int], ks: list[int], lines: int) -> MatrixOperand | None:
    line, pattern = int(swizzle.partition("B")[0]), log2_exact(lines)
    inside = log2_exact(line // bytes)
    if not _doubles(rows[:inside], bytes, inside) or not _doubles(ks[:pattern], line, pattern):
        return None
    if not _doubles(ks[pattern:]) or not _doubles(rows[inside:]):
        return None
    stride = ks[pattern] if len(ks) > pattern else lines * line
    leading = rows[inside] if len(rows) > inside else 0
    return MatrixOperand(swizzle, False, leading, stride, tuple(rows), tuple(ks))


def _doubles(offsets: list[int], first: int | None = None, count: int | None = None) -> bool:
    """Whether there are ``count`` offsets from ``first`` on, each twice the one before."""
    if count is not None and len(offsets) != count or first is not None and offsets and offsets[0] != first:
        return False
    return all(after == 2 * before for before, after in pairwise(offsets))
