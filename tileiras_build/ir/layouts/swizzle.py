"""The XOR swizzle of CuTe, as a function and as a matrix.

``Swizzle(B, M, S)`` XORs the B bits of an offset that start at bit M + S into the B bits that start at bit M, and
leaves all other bits unchanged. Offsets count elements here. Example: 64 columns of 16-bit elements are rows of 128
bytes; ``Swizzle(3, 3, 3)`` XORs the row index modulo 8 (bits 6 to 8) into the index of the 16-byte chunk (bits 3 to 5),
so that a column of chunks covers all banks.
"""

from __future__ import annotations

from dataclasses import dataclass

OFFSET_BITS = 64


@dataclass(frozen=True)
class Swizzle:
    """``bits`` (B), ``base`` (M) and ``shift`` (S >= B unless B is 0) of CuTe's Swizzle<B, M, S>, over element
    offsets of 64 bits. Raises ValueError for others.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0 or self.shift < self.bits:
            raise ValueError(f"{self} needs 0 <= B <= S and 0 <= M")
        if self.bits + self.base + self.shift > OFFSET_BITS:
            raise ValueError(f"{self} exceeds the bits of an offset: B + M + S is at most {OFFSET_BITS}")

    def __str__(self) -> str:
        return f"swizzle<{self.bits},{self.base},{self.shift}>"

    def __call__(self, offset: int) -> int:
        source = offset >> self.shift & ((1 << self.bits) - 1) << self.base
        return offset ^ source

    def columns(self, count: int) -> list[int]:
        """The images of the ``count`` lowest bits. The matrix is its own inverse."""
        return [self(1 << bit) for bit in range(count)]


NO_SWIZZLE = Swizzle(0, 0, 0)
