"""Loaded operands of dots, and loads of shorter tiles along k that replace them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...ir.casting import as_op, tile_type
from ...ir.dialects.fast_xdsl import set_type
from ...ir.dialects.op_definition import TableOp
from ..analysis.scale_lines import FIRST_SCALE
from ..common.llvm_element_types import element_of
from .subtile_indices import cut_view

FACTORS, SCALES = (0, 1), (FIRST_SCALE, FIRST_SCALE + 1)  # operands of a dot


@dataclass(frozen=True)
class KTiledOperand:
    """A load, and the dimension along k of each tile between it and the dot."""

    load: TableOp
    k_dims: dict[SSAValue, int]

    @property
    def k_dim(self) -> int:
        """Of the loaded tile."""
        return self.k_dims[self.load.value]

    @property
    def bytes(self) -> int:
        return prod(self.load.value.type.get_shape()) * element_of(self.load.value.type).bits // 8

    def split_k(self, factor: int) -> None:
        """Load a k tile that is ``factor`` times shorter. The coordinate along k then counts shorter tiles."""
        cut_view(self.load, {self.k_dim: factor})
        for value, dim in self.k_dims.items():
            set_type(value, with_shorter_dim(tile_type(value), dim, factor))


def k_dim_of(dot: TableOp, index: int) -> int:
    """The dimension of operand ``index`` of a dot, a factor or its scales, that is k."""
    rank = len(tile_type(dot.operands[index]).get_shape())
    return rank - 1 if index in (FACTORS[0], SCALES[0]) else rank - 2


def k_tiled_operand(dot: TableOp, index: int, load: TableOp, chain: list[Operation]) -> KTiledOperand | None:
    """Operand ``index`` of a dot, loaded and then renamed by ``chain``; None where its k tile cannot be shortened."""
    dim = k_dim_of(dot, index)
    k_dims = {dot.operands[index]: dim}
    for link in reversed(chain):
        before = _source_dim(link, dim)
        if before is None:
            return None
        dim = before
        k_dims[link.operands[0]] = dim
    view = load.view.type
    cut = view.kind.data != "gather" and view.steps[dim] == view.tile[dim]
    return KTiledOperand(load, k_dims) if cut else None


def _source_dim(link: Operation, dim: int) -> int | None:
    """The dimension of a link's operand that is dimension ``dim`` of its result."""
    if link.name == "nv_tileas.permute":
        return as_op(link).permutation[dim]
    if link.name != "nv_tileas.view":
        return dim
    before, after = (tile_type(value).get_shape() for value in (link.operands[0], link.results[0]))
    inner = prod(after[dim + 1 :])
    places = [
        place for place, extent in enumerate(before) if extent == after[dim] and prod(before[place + 1 :]) == inner
    ]
    return places[0] if places else None


def with_shorter_dim(type: TensorType, dim: int, factor: int) -> TensorType:
    """The type of a tile with a dimension divided by ``factor``."""
    shape = list(type.get_shape())
    shape[dim] //= factor
    return TensorType(type.element_type, shape)
