"""Sparse products of a warp (PTX ISA 9.0, section 9.7.14.6, mma.sp), which neither MLIR nor LLVM have an operation for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, VectorType
from xdsl.ir import Attribute

from ..definition import TableOperation
from ..narrowing import expect
from .rows import READ, Assembly, braced, instruction, number, result_registers, word


def _sparse(op: TableOperation) -> str:
    sums = result_registers(op)
    counts = [len(op.a), len(op.b), len(sums)]
    shape = expect(DenseArrayBase, op.attributes["shape"]).get_values()
    kinds = word(op, "a_type"), word(op, "b_type")
    return sparse_text(shape, kinds, _element(sums[0]), counts, number(op, "selector"))


def _element(register: Attribute) -> str:
    """The name of what an accumulator's register holds."""
    if isinstance(register, VectorType):
        return "f16"
    return "s32" if isinstance(register, IntegerType) else "f32"


def sparse_text(
    shape: Sequence[int | float], kinds: Sequence[str], accumulator: str, counts: Sequence[int], selector: int
) -> str:
    """The PTX text of a sparse product; ``counts`` are the registers of A, B and C."""
    m, n, k = shape
    a, b, c = counts
    groups, start = [], 0
    for count in (c, a, b, c):
        groups.append(braced(start, count))
        start += count
    overflow = ".satfinite" if accumulator == "s32" else ""
    types = f"{accumulator}.{kinds[0]}.{kinds[1]}.{accumulator}"
    name = f"mma.sp.sync.aligned.m{m}n{n}k{k}.row.col{overflow}.{types}"
    return f"{name} {', '.join(groups)}, ${start}, {selector:#x};"


SparseMmaOp = instruction(
    "mma.sp.sync",
    "a* b* c* metadata",
    "sums",
    "a product of `shape` m, n, k, of which A, of `a_type`, has two of four elements; B is of `b_type`. The metadata of the"
    " lanes that `selector` names says which",
    Assembly(_sparse, READ, convergent=True),
)
