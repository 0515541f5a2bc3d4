"""Atoms of sm_100: tensor memory allocation, MMAs, copies to and from tensor memory (PTX ISA 9.0, section 9.7.16, tcgen05)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, VectorType, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from ....ir.dialects.cute_nvgpu.atom_mnemonics import TENSOR, SignedAtom
from ....ir.dialects.cute_nvgpu.types import AtomType
from ....ir.dialects.llvm_ext import ExtractElementOp
from ....ir.dialects.nvvm import tcgen05 as instructions
from ....ir.dialects.nvvm.cluster_sync_and_fences import ClusterRankOp
from ....ir.dialects.op_definition import TableOp
from ....target.mma_atoms import Tcgen05Atom
from ...common.llvm_type_constructors import TENSOR as TENSOR_SPACE
from ...common.llvm_type_constructors import pointer, vector
from .atoms import MmaShape, atom, atom_of, pointer_of, rewrite, type_parameters, value_of
from .converted_values import ConvertedValue, Converter, int_parameter, keyword_parameter

ADDRESS = pointer(TENSOR_SPACE)
COLUMNS = (32, 64, 128, 256, 512)


# ---- operands ----------------------------------------------------------------------------------------
def _group(op: TableOp, cv: Converter) -> int:
    group = int_parameter(op, "cta_group", 1)
    if group not in (1, 2):
        raise cv.invalid("cta-group", f"has cta_group {group}: use 1 or 2")
    return group


def _columns(op: TableOp, cv: Converter) -> int:
    columns = int_parameter(op, "columns")
    if columns not in COLUMNS:
        raise cv.invalid("tmem-columns", f"needs the attribute columns: 32, 64, 128, 256 or 512, not {columns}")
    return columns


def _int_value(value: SSAValue, cv: Converter) -> SSAValue:
    """A 32-bit address in tensor memory."""
    return value if value.type == i32 else cv.insert(llvm.PtrToIntOp(value, i32))


def _address(value: SSAValue, cv: Converter) -> SSAValue:
    """The same as a pointer to tensor memory."""
    return value if value.type == ADDRESS else cv.pointer(_int_value(value, cv), ADDRESS)


# ---- allocation --------------------------------------------------------------------------------------
@rewrite("arch.sm100.alloc_tmem", "tcgen05")
def alloc_tmem(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """One warp allocates columns; the hardware writes the address to shared memory."""
    holder, columns = cv.operand(op.holder), _columns(op, cv)
    cv.issue(instructions.AllocOp, holder, columns, group=f"cg{_group(op, cv)}")
    return []


@rewrite("arch.sm100.retrieve_tmem_ptr", "tcgen05")
def retrieve_tmem_ptr(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Load the address that the allocation wrote; volatile, as LLVM does not see that write."""
    loaded = llvm.LoadOp(cv.operand(op.holder), i32, alignment=4)
    loaded.attributes["volatile_"] = UnitAttr()
    wanted = cv.types.convert(op.results[0].type)
    address = cv.insert(loaded)
    return [cv.pointer(address, wanted) if isinstance(wanted, llvm.LLVMPointerType) else address]


@rewrite("arch.sm100.relinquish_tmem_alloc_permit", "tcgen05")
def relinquish(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """tcgen05.relinquish_alloc_permit"""
    cv.issue(instructions.RelinquishAllocPermitOp, group=f"cg{_group(op, cv)}")
    return []


@rewrite("arch.sm100.dealloc_tmem", "tcgen05")
def dealloc_tmem(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """tcgen05.dealloc"""
    address, columns = _address(cv.operand(op.pointer), cv), _columns(op, cv)
    cv.issue(instructions.DeallocOp, address, columns, group=f"cg{_group(op, cv)}")
    return []


# ---- MMA ---------------------------------------------------------------------------------------------
def _row_of(kind: AtomType, cv: Converter) -> tuple[MmaShape, SignedAtom[Tcgen05Atom]]:
    """The shape and the row of an atom that the target has; raises InvalidInput or Unsupported."""
    mma = MmaShape.of(kind, cv)
    found = TENSOR.get(" ".join(kind.parameters[1:]))
    if found is None:
        raise cv.unsupported("umma-type", f"multiplies {kind.data!r}", "see target/mma_atoms.py: TCGEN05_ATOMS")
    if not cv.job.target.has(found.row.capability):
        raise cv.invalid("umma-kind", "INT8 type is supported only on arch-conditional variants.")
    return mma, found


def umma(
    kind: AtomType,
    operands: Sequence[SSAValue],
    cv: Converter,
    *,
    group: int = 1,
    mn_major: tuple[bool, bool] = (False, False),
) -> None:
    """tcgen05.mma on ``operands``: D, A, B and whether to accumulate into D; integers use the kind i8 (IMMA)."""
    mma, (row, a_signed, b_signed) = _row_of(kind, cv)
    d, a, b, accumulate = operands
    descriptor = row.descriptor(mma.m, mma.n, *mn_major, (a_signed, b_signed))
    place = _address(d, cv)
    cv.issue(instructions.MmaOp, place, a, b, descriptor, accumulate, mma_kind=row.kind, ctas=group)


@atom("sm100.mma", feature="tcgen05")
def sm100_mma(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
    """D and C must be the same tile in tensor memory."""
    d, a, b, c = operands
    place = pointer_of(d)
    if place is not pointer_of(c):
        raise cv.invalid("umma-accumulator", "needs C and D at one place in tensor memory")
    umma(kind, [place, value_of(a), value_of(b), cv.constant(1, i1)], cv)


def _mn_major(op: TableOp) -> tuple[bool, bool]:
    return "a_mn_major" in op.attributes, "b_mn_major" in op.attributes


@rewrite("arch.mma.SM100.umma", "tcgen05")
def arch_umma(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """``accumulate`` (i1): whether to accumulate into D."""
    operands = [*map(cv.operand, (op.d, op.a, op.b)), op.accumulate]
    umma(atom_of(op, cv), operands, cv, group=_group(op, cv), mn_major=_mn_major(op))
    return []


@rewrite("arch.mma.SM100.umma_block_scaled", "tcgen05")
def arch_umma_block_scaled(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """The scales of both operands are in tensor memory: in each CTA of a pair those of its rows, and of all columns."""
    mma, (row, *_) = _row_of(atom_of(op, cv), cv)
    if row.scale_type is None:
        raise cv.invalid("umma-scales", f"has the atom {atom_of(op, cv)}, which has no scales")
    descriptor = row.scaled_descriptor(mma.m, mma.n, *_mn_major(op), int_parameter(op, "scale_byte"))
    scales = [_address(cv.operand(value), cv) for value in (op.a_scales, op.b_scales)]
    operands = _address(cv.operand(op.d), cv), *map(cv.operand, (op.a, op.b)), descriptor, op.accumulate, *scales
    cv.issue(instructions.BlockScaledMmaOp, *operands, mma_kind=row.scaled_kind, ctas=_group(op, cv))
    return []


# ---- from shared memory ------------------------------------------------------------------------------
@atom("atom.s2t_copy", feature="tcgen05")
def s2t_copy(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
    """Copy from a descriptor to an address in tensor memory."""
    source, destination = operands
    copy_s2t(type_parameters(kind, 1, cv)[0], _int_value(pointer_of(destination), cv), value_of(source), 1, cv)


S2T_SHAPES = ("128x256b", "4x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23", "32x128b.warpx4")


def copy_s2t(shape: str, destination: SSAValue, source: SSAValue, group: int, cv: Converter) -> None:
    """tcgen05.cp; in a group of CTAs only the first one copies."""
    if shape not in S2T_SHAPES:
        raise cv.invalid("s2t-shape", f"copies {shape!r}: use one of {', '.join(S2T_SHAPES)}")
    first = None
    if group > 1:
        rank = cv.issue(ClusterRankOp, type=i32)
        inside = cv.binary("and", cv.rem(rank, group), group - 1)
        first = cv.insert(llvm.ICmpOp(inside, cv.constant(0), IntegerAttr(0, i64)))
    cv.issue(instructions.CopyOp, destination, source, first, shape=shape, group=f"cg{group}")


@rewrite("arch.copy.SM100.copy_s2t", "tcgen05")
def arch_copy_s2t(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """tcgen05.cp with the shape in an attribute."""
    shape = keyword_parameter(op, "shape", "128x256b")
    copy_s2t(shape, _int_value(cv.operand(op.destination), cv), cv.operand(op.source), _group(op, cv), cv)
    return []


# ---- registers ---------------------------------------------------------------------------------------
ROW_OF_COLUMNS = "32x32b"


def _form(op: TableOp, types: Sequence[Attribute], cv: Converter) -> tuple[str, int]:
    """The shape and the repetitions of a copy; by default one row of columns per lane."""
    count = types[0].element_count() if isinstance(types[0], VectorType) else len(types)
    if count not in (1, 2, 4, 8, 16, 32, 64, 128):
        raise cv.invalid("tmem-registers", f"moves {count} registers: use a power of two up to 128")
    return keyword_parameter(op, "shape", ROW_OF_COLUMNS), int_parameter(op, "repetitions", count)


@rewrite("arch.copy.SM100.tmem_load", "tcgen05")
def tmem_load(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Load the words, wait, then unpack them after the wait."""
    types = [result.type for result in op.results]
    shape, repetitions = _form(op, types, cv)
    together, source = types[0] if len(types) == 1 else vector(len(types), i32), _address(cv.operand(op.source), cv)
    loaded = cv.issue(instructions.LoadOp, source, type=together, shape=shape, repetitions=repetitions)
    if "async" not in op.attributes:
        cv.issue(instructions.WaitLoadOp)
    if len(types) == 1:
        return [loaded]
    return [cv.insert(ExtractElementOp(loaded, cv.constant(index))) for index in range(len(types))]


@rewrite("arch.copy.SM100.tmem_store", "tcgen05")
def tmem_store(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Store the words, and wait until they are written."""
    values = [cv.operand(value) for value in op.group(1)]
    shape, repetitions = _form(op, [value.type for value in values], cv)
    words = values[0] if len(values) == 1 else _packed_vector(values, cv)
    place = _address(cv.operand(op.destination), cv)
    cv.issue(instructions.StoreOp, place, words, shape=shape, repetitions=repetitions)
    if "async" not in op.attributes:
        cv.issue(instructions.WaitStoreOp)
    return []


def _inserted(vector: SSAValue, value: SSAValue, index: SSAValue) -> llvm.InsertElementOp:
    return llvm.InsertElementOp.build(operands=[vector, value, index], result_types=[vector.type])


def _packed_vector(values: Sequence[SSAValue], cv: Converter) -> SSAValue:
    result = cv.insert(llvm.UndefOp(vector(len(values), i32)))
    for index, value in enumerate(values):
        result = cv.insert(_inserted(result, value, cv.constant(index)))
    return result
