"""Indices of tiles that a pass computes anew for smaller tiles, so that those of tiles outside of a tensor stay outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import SSAValue

from ...ir.casting import type_of
from ...ir.dialects import arith
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOperation
from ..analysis.integer_ranges import Check, width
from .rewriter import Insert, binary, constant

GetTileCountOp = COUNTERPARTS["nv_tileaa.get_tile_count"]


def checks_of(access: TableOperation) -> Sequence[int]:
    """What is asked of each index of an access."""
    return access.index_checks or (Check.ANY,) * len(access.coords)


def kept_index(access: TableOperation, dim: int, insert: Insert) -> SSAValue:
    """An index with which one may compute: it is that of a tile of the tensor, or past the end by few."""
    index = access.coords[dim]
    if checks_of(access)[dim] != Check.ANY:
        return index
    if width(index) < i32.width.data:
        index = insert(arith.ExtUIOp.make([index], [i32]))
    counts = GetTileCountOp.make([access.view], [index.type] * len(access.coords))
    insert(counts)
    return insert(binary(arith.MinUIOp, index, counts.results[dim]))


def times(index: SSAValue, factor: int, insert: Insert) -> SSAValue:
    """The index of the first of so many smaller tiles."""
    return insert(binary(arith.MuliOp, index, insert(constant(factor, type_of(index, IntegerType)))))


def ask_of_end(access: TableOperation, dims: Iterable[int], *, instead_of: Check) -> None:
    """Indices of which ``instead_of`` is asked along these dimensions are now those of tiles that may be past the end."""
    checks, dims = checks_of(access), set(dims)
    access.index_checks = [
        Check.END if dim in dims and check == instead_of else check for dim, check in enumerate(checks)
    ]
