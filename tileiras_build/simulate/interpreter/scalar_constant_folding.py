"""Folds scalars of a kernel statically: to a constant, a parameter, or neither.

Front ends that do not optimize compute the size of a dimension by adding terms for all dimensions, all but one of which are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...ir.dialects.cuda_tile.enums import ComparisonPredicate, Signedness
from ...ir.dialects.cuda_tile.op_base import tile
from ...ir.dialects.cuda_tile.ops_conversion import ExtIOp, TruncIOp
from ...ir.dialects.cuda_tile.ops_integer import AddIOp, CmpIOp, MulIOp
from ...ir.dialects.cuda_tile.ops_shape import AssumeOp, BroadcastOp, ConstantOp, ReshapeOp
from .element_types import is_integer, storage_bits

# A constant, a parameter, or None.
FoldedScalar = int | BlockArgument | None
COMPARISONS: dict[ComparisonPredicate, Callable[[int, int], bool]] = {
    ComparisonPredicate.EQUAL: int.__eq__,
    ComparisonPredicate.NOT_EQUAL: int.__ne__,
}


class ScalarFolder:
    """The folded values of one kernel, memoized."""

    def __init__(self, parameters: Sequence[BlockArgument]):
        self.parameters = frozenset(parameters)
        self.known: dict[SSAValue, FoldedScalar] = {}

    def __call__(self, value: SSAValue) -> FoldedScalar:
        if value not in self.known:
            self.known[value] = self._term(value)
        return self.known[value]

    def _term(self, value: SSAValue) -> FoldedScalar:
        if isinstance(value, BlockArgument):
            return value if value in self.parameters else None
        op = value.owner
        if not isinstance(op, Operation) or (rule := FOLDERS.get(type(op))) is None:
            return None
        return rule(op, [self(operand) for operand in op.operands])


def _constant(op: ConstantOp, _: Sequence[FoldedScalar]) -> FoldedScalar:
    value = op.value
    return int(value.splat_value()) if value.is_splat and is_integer(tile(op, "result").element_type) else None


def _fold_identity(_: Operation, terms: Sequence[FoldedScalar]) -> FoldedScalar:
    return terms[0]


def _extended(op: ExtIOp, terms: Sequence[FoldedScalar]) -> FoldedScalar:
    """A sign-extended i1 changes its value."""
    is_bit = storage_bits(tile(op, "from_").element_type) < 8
    return None if is_bit and op.signedness.data is Signedness.SIGNED else terms[0]


def _compared(op: CmpIOp, terms: Sequence[FoldedScalar]) -> FoldedScalar:
    compare = COMPARISONS.get(op.comparison_predicate.data)
    left, right = terms
    if compare is None or not isinstance(left, int) or not isinstance(right, int):
        return None
    return int(compare(left, right))


def _fold_add(_: Operation, terms: Sequence[FoldedScalar]) -> FoldedScalar:
    left, right = terms
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return right if left == 0 else left if right == 0 else None


def _fold_multiply(_: Operation, terms: Sequence[FoldedScalar]) -> FoldedScalar:
    left, right = terms
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if 0 in terms:
        return 0
    return right if left == 1 else left if right == 1 else None


FOLDERS: dict[type[Operation], Callable[..., FoldedScalar]] = {
    ConstantOp: _constant, AssumeOp: _fold_identity, ReshapeOp: _fold_identity, BroadcastOp: _fold_identity, TruncIOp: _fold_identity, ExtIOp: _extended,
    CmpIOp: _compared, AddIOp: _fold_add, MulIOp: _fold_multiply,
}  # fmt: skip
