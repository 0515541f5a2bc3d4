"""Atoms of sm_90: warpgroup MMA and TMA copies."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, IntegerAttr, StringAttr, f32, i32, i64
from xdsl.ir import Attribute, SSAValue

from ....ir.dialects.cute_nvgpu.types import AtomType
from ....ir.dialects.nvvm import ops_copy, ops_matrix
from ....ir.dialects.nvvm.attrs import (
    LoadModeAttr,
    MmaLayoutAttr,
    ShapeAttr,
    WgmmaScaleInAttr,
    WgmmaScaleOutAttr,
    WgmmaTypeAttr,
)
from ....ir.dialects.nvvm.tma_reduce import MODES, REDUCTIONS, TensorReduceOp
from ....ir.dialects.op_definition import TableOp
from .atoms import ATOMS, BITS, AtomCall, MmaShape, atom, atom_of, rewrite, value_of, view_of
from .converted_values import ConvertedValue, Converter, keyword_parameter
from .descriptors import generic
from .memory import load_registers, store_registers

Operands = list[SSAValue | list[SSAValue] | None]
TILE = LoadModeAttr.new([StringAttr("tile")])
ROW, COLUMN = (MmaLayoutAttr.new([StringAttr(word)]) for word in ("row", "col"))


# ---- wgmma -------------------------------------------------------------------------------------------
def wgmma(kind: AtomType, a: SSAValue, b: SSAValue, accumulator: SSAValue, cv: Converter) -> SSAValue:
    """Emit wgmma.fence and the MMA; the caller commits and waits."""
    mma = MmaShape.of(kind, cv)
    cv.insert(ops_matrix.WgmmaFenceAlignedOp.build())
    one = WgmmaScaleInAttr.new([StringAttr("one")])
    properties: dict[str, Attribute] = {
        "shape": ShapeAttr(*map(IntAttr, (mma.m, mma.n, mma.k))),
        "typeA": WgmmaTypeAttr.new([StringAttr(mma.a)]),
        "typeB": WgmmaTypeAttr.new([StringAttr(mma.b)]),
        "typeD": WgmmaTypeAttr.new([StringAttr(mma.c)]),
        "scaleD": WgmmaScaleOutAttr.new([StringAttr("one")]),
        "scaleA": one,
        "scaleB": one,
        "layoutA": ROW,
        "layoutB": COLUMN,
    }
    operands = [accumulator, a, b]
    return cv.insert(
        ops_matrix.WgmmaMmaAsyncOp.build(operands=operands, result_types=[accumulator.type], properties=properties)
    )


@atom("sm90.mma", feature="wgmma")
def sm90_mma(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
    """Descriptors of A and B, the accumulator in registers; the call waits, since its result is stored to a fragment."""
    d, a, b, c = operands
    mma = MmaShape.of(kind, cv)
    register = {"f32": f32, "s32": i32, "f16": i32}[mma.c]
    count = mma.m * mma.n * BITS[mma.c] // (128 * 32)
    words = cv.struct(load_registers(view_of(c), count, cv, register))
    made = wgmma(kind, value_of(a), value_of(b), words, cv)
    cv.insert(ops_matrix.WgmmaCommitGroupOp.build())
    cv.insert(ops_matrix.WgmmaWaitGroupOp.build(properties={"group": IntegerAttr(0, i64)}))
    store_registers(view_of(d), [cv.field(made, index) for index in range(count)], cv)


@rewrite("arch.mma.SM90", "wgmma")
def arch_wgmma(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """wgmma on descriptors and a struct of registers."""
    return [wgmma(atom_of(op, cv), cv.plain(op.a), cv.plain(op.b), cv.plain(op.c), cv)]


# ---- TMA ---------------------------------------------------------------------------------------------
def _coordinates(op: TableOp, cv: Converter) -> list[SSAValue]:
    return [cv.value(cv.leaf(value)) for value in op.coords]


@rewrite("arch.copy.SM100.tma_load", "tma")
def tma_load(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """``nvvm.cp.async.bulk.tensor`` to shared memory."""
    coords, place, descriptor = _coordinates(op, cv), cv.operand(op.destination), generic(cv, cv.plain(op.descriptor))
    operands: Operands = [place, descriptor, coords, cv.plain(op.barrier), None, None, None]
    cv.insert(ops_copy.TensorLoadOp.build(operands=operands, properties={"mode": TILE}))
    return []


@rewrite("arch.copy.SM100.tma_store", "tma")
def tma_store(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """``nvvm.cp.async.bulk.tensor`` from shared memory."""
    coords = _coordinates(op, cv)
    operands: Operands = [generic(cv, cv.plain(op.descriptor)), coords, cv.operand(op.source), None, None]
    cv.insert(ops_copy.TensorStoreOp.build(operands=operands, properties={"mode": TILE}))
    return []


@rewrite("arch.copy.SM100.tma_reduce", "tma")
def tma_reduce(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """``nvvm.cp.async.bulk.tensor.reduce``: the operands of a store; combines a box with the destination."""
    coords = _coordinates(op, cv)
    kind, mode = keyword_parameter(op, "kind"), keyword_parameter(op, "mode", "tile")
    if kind not in REDUCTIONS or len(coords) not in MODES.get(mode, ()):
        forms = " or ".join(f"{form} with {ranks[0]} to {ranks[-1]} coordinates" for form, ranks in MODES.items())
        raise cv.invalid("tma-reduce", f"needs a kind of {', '.join(REDUCTIONS)} and the mode {forms}")
    hint = None if op.hint is None else cv.plain(op.hint)
    descriptor = generic(cv, cv.plain(op.descriptor))
    cv.issue(TensorReduceOp, descriptor, coords, cv.operand(op.source), hint, red_op=kind, mode=mode)
    return []


def tma_call(form: str) -> AtomCall:
    """A call of a TMA atom; its operands are those of the ``arch.`` operation, bound by ``make_atom``."""

    def run(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
        message = f"has no rewriter for {kind}: its descriptor and coordinates are operands of {form}"
        raise cv.unsupported("atom-call", message, f"use {form}")

    return run


for _word in ("load", "store", "reduce"):
    ATOMS[f"cute_nvgpu.atom.tma_{_word}"] = tma_call(f"cute_nvgpu.arch.copy.SM100.tma_{_word}")
