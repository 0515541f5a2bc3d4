"""Checks of MMA shapes: fragments must match the registers of the threads of a warp or a warpgroup.

A warp multiplies tiles of 8 rows by 16 bytes along k; for f64, by 4 elements. A thread has one register of each tile of
A and B, and two elements of each tile of C (PTX ISA 9.0, section 9.7.14.5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    FixedBitwidthType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    VectorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..checked_cast import cast, type_as
from .types import WarpgroupAccumulatorType

if TYPE_CHECKING:
    from .ops_matrix import MmaSparseSyncOp, MmaSyncOp, WarpgroupMmaOp

LANES = 32
TILE, TILE_BITS, REGISTER_BITS = 8, 128, 32
TILE_OF_DOUBLES = 4  # along k
_F8 = (Float8E4M3FNType, Float8E5M2Type)


def check_mma_shapes(op: MmaSyncOp | MmaSparseSyncOp, sparse_k: int) -> None:
    """Raise unless the fragments of a warp MMA are those of its shape; A has one of ``kept`` elements."""
    if len(op.mmaShape) != 3:
        raise VerifyException(f"'{op.name}' op expected mmaShape to have three integers m, n, k")
    m, n, k = (cast(IntegerAttr, size).value.data for size in op.mmaShape)
    fragments = {
        "A": _fragment(op, "A", op.matrixA),
        "B": _fragment(op, "B", op.matrixB),
        "C": _fragment(op, "C", op.matrixC),
    }
    element = fragments["A"].element_type
    if element != fragments["B"].element_type and not isinstance(element, _F8):
        raise VerifyException(f"'{op.name}' op matrixA and matrixB must have one element type")
    if op.res.type != op.matrixC.type:
        raise VerifyException(f"'{op.name}' op result must have the type of matrix C")
    if op.tf32Enabled is not None and not isinstance(element, Float32Type):
        raise VerifyException(f"'{op.name}' op expected tf32 tensor cores only for F32 operands")
    depth, held = _tile(op, element)
    for name, elements in (("A", m * k // sparse_k), ("B", k * n), ("C", m * n)):
        found = fragments[name].element_count() * LANES
        if found != elements:
            raise VerifyException(
                f"'{op.name}' op expected {elements} warp-wide matrix {name} elements, but got {found}"
            )
    rows, columns, steps = m // TILE, n // TILE, k // depth
    wanted = {"A": (rows * steps // sparse_k, held), "B": (columns * steps, held), "C": (rows * columns, 2)}
    for name, shape in wanted.items():
        if fragments[name].get_shape() != shape:
            text = f"({shape[0]} x {shape[1]}), but got '{fragments[name]}'"
            raise VerifyException(f"'{op.name}' op expected matrix {name} to be shaped {text}")


def _fragment(op: MmaSyncOp | MmaSparseSyncOp, name: str, matrix: SSAValue) -> VectorType:
    type = type_as(matrix, VectorType)
    if len(type.get_shape()) != 2:
        raise VerifyException(f"'{op.name}' op matrix{name} must be 2 dimensional vector, but got '{type}'")
    return type


def _tile(op: MmaSyncOp | MmaSparseSyncOp, element: Attribute) -> tuple[int, int]:
    """The elements of a tile along k, and the number per thread."""
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 0
    if isinstance(element, Float64Type):
        return TILE_OF_DOUBLES, 1
    if bits not in (4, 8, 16, 32):
        raise VerifyException(f"'{op.name}' op expected elements of 4 to 32 bits or f64, but got '{element}'")
    return TILE_BITS // bits, REGISTER_BITS // bits


def check_warpgroup_types(op: WarpgroupMmaOp) -> None:
    """Raise unless A and B are of one type, or both of 8-bit floats."""
    (_, a), b = op.matrix_a, op.matrix_b
    if a != b and not (isinstance(a, _F8) and isinstance(b, _F8)):
        accumulator = type_as(op.matrixC, WarpgroupAccumulatorType).fragmented.element_type
        raise VerifyException(f"'{op.name}' op '{accumulator}' += '{a}' * '{b}', it is not supported")
