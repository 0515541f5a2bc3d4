"""Atoms of sm_80 and their later forms: mma.sync, ldmatrix and stmatrix, cp.async."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, VectorType, f16, f32, f64, i32
from xdsl.ir import Attribute, SSAValue

from ....ir.dialects.cute_nvgpu.atom_mnemonics import MMA, SignedAtom
from ....ir.dialects.cute_nvgpu.types import AtomType
from ....ir.dialects.nvvm import ops_copy
from ....ir.dialects.nvvm.arithmetic import MmaSyncAtomOp
from ....ir.dialects.nvvm.attrs import LoadCacheModifierAttr
from ....ir.dialects.nvvm.memory_access import LoadMatrixOp, StoreMatrixOp
from ....ir.dialects.op_definition import TableOp
from ....target.mma_atoms import MmaAtom
from ..convert_nvgpu_and_gpu_to_nvvm.llvm_type_helpers import struct_of
from .atoms import ATOMS, REWRITES, MmaShape, atom, atom_of, rewrite, type_parameters, view_of
from .converted_values import ConvertedValue, Converter, int_parameter, keyword_parameter
from .memory import load_registers, store_registers

# ---- mma.sync ----------------------------------------------------------------------------------------
PAIR = VectorType(f16, [2])
PIECES = {"f32": f32, "s32": i32, "f64": f64, "f16": PAIR}


def _register(name: str) -> Attribute:
    return {"f64": f64, "f16": PAIR}.get(name, i32)


def _row_of(kind: AtomType, cv: Converter) -> SignedAtom[MmaAtom]:
    """The row of an atom that the target has; raises InvalidInput or Unsupported."""
    found = MMA.get(kind.data)
    if found is None or not cv.job.target.has(found.row.capability):
        MmaShape.of(kind, cv)
        raise cv.unsupported("atom-target", f"multiplies {kind.data!r}, which {cv.job.target.name} does not")
    return found


def mma_sync(
    kind: AtomType, operands: Sequence[Sequence[SSAValue]], cv: Converter, *, saturates: bool = True
) -> list[SSAValue]:
    """Emit an MMA on registers of A, B, C and optional scales; return the registers of D."""
    row, a_signed, b_signed = _row_of(kind, cv)
    groups = [*operands, ()] if len(operands) == 3 else operands
    flags = {"unsigned_a": not a_signed, "unsigned_b": not b_signed, "satfinite": saturates and row.a_type == "i8"}
    type = struct_of([value.type for value in groups[2]])
    return cv.fields(cv.issue(MmaSyncAtomOp, *groups, type=type, atom=row.name, **flags))


@atom("sm80.mma", feature="mma_sync")
def sm80_mma(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
    """Load the fragments, emit the MMA, store the fragment of D."""
    d, a, b, c = map(view_of, operands)
    mma = MmaShape.of(kind, cv)
    counts = mma.registers()
    types = [_register(mma.a), _register(mma.b), PIECES[mma.c]]
    loaded = [load_registers(view, n, cv, type) for view, n, type in zip((a, b, c), counts, types)]
    store_registers(d, mma_sync(kind, loaded, cv), cv)


ATOMS["cute_nvgpu.sm89.mma"] = ATOMS["cute_nvgpu.sm80.mma"]


def arch_mma(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The same on values."""
    groups = [op.group(index) for index in range(len(op.operand_groups))]
    return mma_sync(atom_of(op, cv), groups, cv, saturates=keyword_parameter(op, "overflow") != "wrapped")


REWRITES.add({f"cute_nvgpu.arch.mma.{name}": arch_mma for name in ("SM80", "SM89", "SM120.block_scaled")})


# ---- ldmatrix and stmatrix ---------------------------------------------------------------------------
def _matrices(kind: AtomType, cv: Converter) -> tuple[int, bool]:
    words = type_parameters(kind, 2, cv)
    if words[0] != "8x8" or words[1] not in ("x1", "x2", "x4"):
        raise cv.unsupported("atom-parameters", f"copies {kind.data!r}", "use 8x8 and x1, x2 or x4, perhaps trans")
    return int(words[1][1:]), "trans" in words


def ldmatrix(kind: AtomType, address: SSAValue, offset: int, cv: Converter) -> list[SSAValue]:
    """ldmatrix: one word per matrix."""
    count, transposed = _matrices(kind, cv)
    type = i32 if count == 1 else struct_of([i32] * count)
    made = cv.issue(LoadMatrixOp, address, type=type, offset=offset, transposed=transposed)
    return [made] if count == 1 else cv.fields(made)


def stmatrix(kind: AtomType, address: SSAValue, values: Sequence[SSAValue], offset: int, cv: Converter) -> None:
    """stmatrix of the words of all matrices."""
    count, transposed = _matrices(kind, cv)
    if count != len(values):
        raise cv.invalid("atom-parameters", f"copies {kind.data!r} from {len(values)} registers")
    cv.issue(StoreMatrixOp, address, values, offset=offset, transposed=transposed)


@atom("atom.ldsm", feature="ldmatrix")
def ldsm(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
    """Load a matrix; the view of the source is this thread's row."""
    source, destination = map(view_of, operands)
    store_registers(destination, ldmatrix(kind, source.pointer, 0, cv), cv)


@atom("atom.stsm", feature="stmatrix")
def stsm(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
    """Store a matrix; the view of the destination is this thread's row."""
    source, destination = map(view_of, operands)
    stmatrix(kind, destination.pointer, load_registers(source, _matrices(kind, cv)[0], cv), 0, cv)


@rewrite("arch.copy.ldsm", "ldmatrix")
def arch_ldsm(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """ldmatrix on an address."""
    return ldmatrix(atom_of(op, cv), cv.operand(op.source), int_parameter(op, "offset"), cv)


@rewrite("arch.copy.stsm", "stmatrix")
def arch_stsm(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """stmatrix on an address."""
    address, values = cv.operand(op.destination), [cv.operand(value) for value in op.group(1)]
    stmatrix(atom_of(op, cv), address, values, int_parameter(op, "offset"), cv)
    return []


# ---- cp.async ----------------------------------------------------------------------------------------
def cp_async(size: int, source: SSAValue, destination: SSAValue, count: SSAValue | None, cv: Converter) -> None:
    """``nvvm.cp.async.shared.global``; 16 bytes bypass L1."""
    if size not in ops_copy.SIZES:
        raise cv.invalid("copy-size", f"copies 4, 8 or 16 bytes, not {size}")
    modifier = LoadCacheModifierAttr.new([StringAttr("cg" if size == 16 else "ca")])
    properties = {"size": IntegerAttr(size, i32), "modifier": modifier}
    operands = [destination, source, count]
    cv.insert(ops_copy.CpAsyncSharedGlobalOp.build(operands=operands, properties=properties))


@atom("atom.simt_async_copy", feature="cp_async")
def simt_async_copy(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
    """Copy the first bytes of the views."""
    source, destination = map(view_of, operands)
    cp_async(int(type_parameters(kind, 1, cv)[0]), source.pointer, destination.pointer, None, cv)


@rewrite("arch.copy.SM80.cp_async", "cp_async")
def arch_cp_async(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """cp.async on pointers, with an optional byte count."""
    count = cv.value(cv.leaf(op.bytes)) if op.bytes is not None else None
    cp_async(int_parameter(op, "size", 16), cv.operand(op.source), cv.operand(op.destination), count, cv)
    return []
