"""The parameters of atoms as text, and the rows of ``target/mma_atoms.py`` of MMA atoms.

16x8x16 f16 f16 f32              M x N x K, then PTX's names of the elements of A, B and the accumulator
16x8x64 e2m1 e2m1 f32 ue4m3      with scales, whose type is last
128x64x64 e2m1 e2m1 f32 ue8m0 32    in tensor memory, also the number of elements along k per scale
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from ....target.mma_atoms import MMA_ATOMS, PTX_TYPE, TCGEN05_ATOMS, MmaAtom, Tcgen05Atom
from ..op_definition import TableOp
from .ops import BY_NAME
from .types import ATOMS, AtomType

SIGNS = [(a, b) for a in (True, False) for b in (True, False)]
_SIZE = re.compile(r"m(\d+)n(\d+)k(\d+)")
# Tile elements are pairs of fp4; PTX counts single fp4.
_PAIRS = {"f4E2M1FNx2": "f4E2M1FN"}
# Capability of a row -> the operation and the atom of its generation; the default is sm_80.
_GENERATIONS = {
    "mma_fp8": ("arch.mma.SM89", "sm89.mma"),
    "mma_f8f6f4": ("arch.mma.SM89", "sm89.mma"),
    "mma_block_scale": ("arch.mma.SM120.block_scaled", "SM120.mma_bs"),
}


R = TypeVar("R", MmaAtom, Tcgen05Atom)


class SignedAtom(NamedTuple, Generic[R]):
    """A row, and whether integer elements of A and B are signed."""

    row: R
    a: bool
    b: bool


# ---- warp MMA ----------------------------------------------------------------------------------------
def mma_type_parameters(row: MmaAtom, a_signed: bool, b_signed: bool) -> str:
    """The parameters of an ``mma.sync`` row, from its mnemonic."""
    name = row.ptx_name(a_signed, b_signed)
    types = [part for part in name.partition(".row.col.")[2].split(".") if "::" not in part and part != "block_scale"]
    _, a, b, accumulator, *scale = types
    size = _SIZE.search(name)
    assert size is not None, f"{name} has no size"
    return " ".join(["x".join(size.groups()), a, b, accumulator, *scale])


# Parameters -> the first row of the table with these.
MMA: dict[str, SignedAtom[MmaAtom]] = {
    mma_type_parameters(row, *signs): SignedAtom(row, *signs)
    for row in reversed(MMA_ATOMS)
    for signs in reversed(SIGNS)
}


@lru_cache
def mma_of(row: MmaAtom, a_signed: bool, b_signed: bool) -> tuple[type[TableOp], AtomType]:
    """The operation of a row on registers, and its atom."""
    operation, atom = _GENERATIONS.get(row.capability, ("arch.mma.SM80", "sm80.mma"))
    return BY_NAME[f"cute_nvgpu.{operation}"], ATOMS[atom](mma_type_parameters(row, a_signed, b_signed))


@lru_cache
def matrices_atom(name: str, count: int, transposed: bool) -> AtomType:
    """``ldsm`` or ``stsm`` of ``count`` 8 x 8 matrices."""
    return ATOMS[f"atom.{name}"](f"8x8 x{count}{' trans' if transposed else ''}")


# ---- tcgen05 MMA -------------------------------------------------------------------------------------
def _tensor_types(row: Tcgen05Atom, a_signed: bool, b_signed: bool) -> Iterator[str]:
    for type, signed in ((row.a_type, a_signed), (row.b_type, b_signed)):
        yield ("s8" if signed else "u8") if type == "i8" else PTX_TYPE[_PAIRS.get(type, type)]
    yield PTX_TYPE[row.accumulator_type]
    if row.scale_type is not None:
        yield "ue4m3" if row.scale_type == "f8E4M3FN" else PTX_TYPE[row.scale_type]
        yield str(row.scale_block * _per_element(row))


def _per_element(row: Tcgen05Atom) -> int:
    return 2 if row.a_type in _PAIRS else 1


# The types after the shape -> the row.
TENSOR: dict[str, SignedAtom[Tcgen05Atom]] = {
    " ".join(_tensor_types(row, *signs)): SignedAtom(row, *signs) for row in TCGEN05_ATOMS for signs in reversed(SIGNS)
}


@lru_cache
def tensor_atom(row: Tcgen05Atom, m: int, n: int, a_signed: bool = True, b_signed: bool = True) -> AtomType:
    """The atom of a row for M rows and N columns."""
    atom = ATOMS["sm100.mma" if row.scale_type is None else "sm100.mma_bs"]
    return atom(" ".join([f"{m}x{n}x{row.k * _per_element(row)}", *_tensor_types(row, a_signed, b_signed)]))
