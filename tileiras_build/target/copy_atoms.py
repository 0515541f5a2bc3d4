"""The copy instructions of all GPUs, one row each: ldmatrix, stmatrix, cp.async and bulk copies (TMA)."""

from __future__ import annotations

from dataclasses import dataclass

from .capabilities import CAPABILITIES


@dataclass(frozen=True)
class CopyAtom:
    """One copy instruction family.

    ``source`` and ``destination`` are "registers", "shared" or "global"; ``widths`` are the possible bytes of one lane
    (for matrix copies, of one 8x8 matrix row; for TMA 0 = set by the tensor map); ``counts`` the matrices or, for TMA,
    the tensor ranks. ``intrinsic`` has ``{count}``, ``{width}`` or ``{cache}`` fields.
    """

    name: str
    source: str
    destination: str
    widths: tuple[int, ...]
    counts: tuple[int, ...]
    intrinsic: str
    capability: str

    def __post_init__(self) -> None:
        spaces = {"registers", "shared", "global"}
        if {self.source, self.destination} - spaces or self.source == self.destination:
            raise ValueError(f"{self.name}: bad copy from {self.source} to {self.destination}")
        if self.capability not in CAPABILITIES:
            raise ValueError(f"{self.name}: unknown capability {self.capability}")


_LDMATRIX = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}"
_STMATRIX = "llvm.nvvm.stmatrix.sync.aligned.m8n8.x{count}"
COPY_ATOMS: tuple[CopyAtom, ...] = (
    CopyAtom("ldmatrix", "shared", "registers", (16,), (4, 2, 1), f"{_LDMATRIX}.b16.p3", "ldmatrix"),
    CopyAtom("ldmatrix_trans", "shared", "registers", (16,), (4, 2, 1), f"{_LDMATRIX}.trans.b16.p3", "ldmatrix"),
    CopyAtom("stmatrix", "registers", "shared", (16,), (4, 2, 1), f"{_STMATRIX}.b16.p3", "stmatrix"),
    CopyAtom("stmatrix_trans", "registers", "shared", (16,), (4, 2, 1), f"{_STMATRIX}.trans.b16.p3", "stmatrix"),
    CopyAtom("cp_async", "global", "shared", (16, 8, 4), (1,),
             "llvm.nvvm.cp.async.{cache}.shared.global.{width}", "cp_async"),
    CopyAtom("tma_load", "global", "shared", (0,), (1, 2, 3, 4, 5),
             "llvm.nvvm.cp.async.bulk.tensor.g2s.tile.{count}d", "tma"),
    CopyAtom("tma_store", "shared", "global", (0,), (1, 2, 3, 4, 5),
             "llvm.nvvm.cp.async.bulk.tensor.s2g.tile.{count}d", "tma"),
    CopyAtom("bulk_load", "global", "shared", (0,), (1,),
             "llvm.nvvm.cp.async.bulk.global.to.shared.cluster", "tma"),
    CopyAtom("bulk_store", "shared", "global", (0,), (1,),
             "llvm.nvvm.cp.async.bulk.shared.cta.to.global", "tma"),
)  # fmt: skip
