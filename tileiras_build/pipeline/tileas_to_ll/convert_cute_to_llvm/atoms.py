"""Architectural atoms: each is one instruction, on registers (``arch.`` operations) or on views (atom calls).

An atom call dispatches on the atom's type to the rewriter of ATOMS, which loads and stores the fragments of views; the
``arch.`` operations of ``cute_nvgpu`` name the atom in the attribute ``atom``. What a target lacks is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    VectorType,
    f16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.cute_nvgpu.types import AtomType
from ....dialects.nvvm import ops_copy, ops_matrix
from ....dialects.nvvm.attrs import (
    LoadCacheModifierAttr,
    LoadModeAttr,
    MatrixElementAttr,
    MatrixShapeAttr,
    MmaIntOverflowAttr,
    MmaLayoutAttr,
    MmaTypeAttr,
    ShapeAttr,
    WgmmaScaleInAttr,
    WgmmaScaleOutAttr,
    WgmmaTypeAttr,
)
from ....targets import TARGETS, TENSOR_MEMORY_ATOMS
from ..convert_nvgpu_and_gpu_to_nvvm.conversion import struct_of
from .conversion import Converter, Rewrite, View, attribute
from .descriptors import generic
from .memory import load_words, store_words

REWRITES: dict[str, Rewrite] = {}
AtomCall = Callable[[AtomType, list[Any], Converter], None]
ATOMS: dict[str, AtomCall] = {}
TILE = LoadModeAttr.new([StringAttr("tile")])
ROW, COLUMN = (MmaLayoutAttr.new([StringAttr(word)]) for word in ("row", "col"))


def rewrite(name: str, feature: str | None = None) -> Callable[[Rewrite], Rewrite]:
    """Register the rewrite of an operation of ``cute_nvgpu`` that needs a feature of the target."""

    def register(function: Rewrite) -> Rewrite:
        def run(op: Operation, cv: Converter) -> Sequence[Any]:
            require(feature, cv)
            return function(op, cv)

        REWRITES[f"cute_nvgpu.{name}"] = run
        return function

    return register


def atom(*names: str, feature: str | None = None) -> Callable[[AtomCall], AtomCall]:
    """Register what a call of an atom becomes."""

    def register(function: AtomCall) -> AtomCall:
        def run(kind: AtomType, operands: list[Any], cv: Converter) -> None:
            require(feature, cv)
            function(kind, operands, cv)

        ATOMS.update({f"cute_nvgpu.{name}": run for name in names})
        return function

    return register


def require(feature: str | None, cv: Converter) -> None:
    """Raise Unsupported, naming the GPUs that have it, where the target lacks a feature."""
    target = cv.job.target
    if feature is not None and not target.has(feature):
        able = ", ".join(row.name for row in TARGETS.values() if row.has(feature))
        raise cv.unsupported("atom-target", f"is not available on {target.name}", f"these GPUs have it: {able}")


def _words(kind: AtomType, count: int, cv: Converter) -> list[str]:
    if len(kind.words) < count:
        raise cv.invalid("atom-words", f"has the atom {kind}, which needs {count} words")
    return kind.words


def atom_of(op: Operation, cv: Converter) -> AtomType:
    """The attribute ``atom`` of an operation."""
    found = op.attributes.get("atom")
    if not isinstance(found, AtomType):
        raise cv.invalid("atom-missing", "needs the attribute atom")
    return found


# ---- calls -------------------------------------------------------------------------------------------
def make_atom(op: Operation, cv: Converter) -> Sequence[Any]:
    """An atom is its type; its operands (a barrier, a descriptor) go with its calls."""
    return [op.results[0].type if not op.operands else (op.results[0].type, *[cv[value] for value in op.operands])]


def call(op: Operation, cv: Converter) -> Sequence[Any]:
    """Dispatch on the atom's type."""
    held = cv[op.atom]
    kind, bound = (held[0], list(held[1:])) if isinstance(held, tuple) else (held, [])
    if not isinstance(kind, AtomType) or kind.name not in ATOMS:
        raise cv.unsupported("atom-call", f"has no rewriter for {op.atom.type}", "see convert_cute_to_llvm: ATOMS")
    ATOMS[kind.name](kind, [*bound, *(cv[value] for value in op.operands[1:])], cv)
    return []


CALLS: dict[str, Rewrite] = {"cute.make_atom": make_atom, "cute.copy_atom_call": call, "cute.mma_atom_call": call}


@atom("atom.universal_copy")
def universal_copy(kind: AtomType, operands: list[Any], cv: Converter) -> None:
    """One load and one store of the bits that the atom names."""
    type = IntegerType(int(_words(kind, 1, cv)[0]))
    source, destination = operands
    store_words(destination, load_words(source, 1, cv, type), cv)


@atom("atom.universal_fma")
def universal_fma(kind: AtomType, operands: list[Any], cv: Converter) -> None:
    """fma of scalars."""
    types = {"f16": f16, "f32": f32, "f64": f64}
    type = types[_words(kind, 1, cv)[0]]
    d, a, b, c = operands
    values = [load_words(view, 1, cv, type)[0] for view in (a, b, c)]
    store_words(d, [cv.emit.add(llvm.CallIntrinsicOp(f"llvm.fma.{kind.words[0]}", values, [type]))], cv)


# ---- mma.sync ----------------------------------------------------------------------------------------
BITS = {
    "f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8,
    "s4": 4, "u4": 4,
}  # fmt: skip
# PTX's names -> those of the rows of targets.py, where they differ.
ROW_TYPES = {
    "s8": "i8", "u8": "i8", "s4": "i4", "u4": "i4", "s32": "i32", "e4m3": "f8E4M3FN", "e5m2": "f8E5M2",
}  # fmt: skip
PAIR = VectorType(f16, [2])
PIECES = {"f32": f32, "s32": i32, "f64": f64, "f16": PAIR}


@dataclass(frozen=True)
class Product:
    """M, N, K, and PTX's names of the elements of A, B and the accumulator."""

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str

    @classmethod
    def of(cls, kind: AtomType, cv: Converter) -> Product:
        """From an atom's words, such as ``16x8x16 f16 f16 f32``; raises InvalidInput."""
        words = _words(kind, 4, cv)
        try:
            m, n, k = map(int, words[0].split("x"))
            return cls(m, n, k, *words[1:4])
        except ValueError:
            raise cv.invalid("atom-words", f"has the atom {kind}: expected a shape such as 16x8x16") from None

    def registers(self) -> tuple[int, int, int]:
        """Registers of A, B and C that a thread of a warp holds."""
        a = self.m * self.k * BITS[self.a] // (32 * max(32, BITS[self.a]))
        b = self.n * self.k * BITS[self.b] // (32 * max(32, BITS[self.b]))
        c = self.m * self.n * BITS[self.c] // (32 * max(32, BITS[self.c]))
        return a, b, c


def _register(name: str) -> Attribute:
    return {"f64": f64, "f16": PAIR}.get(name, i32)


def mma_sync(kind: AtomType, a: list, b: list, c: list, cv: Converter) -> list[SSAValue]:
    """``nvvm.mma.sync``; its results one by one."""
    product = Product.of(kind, cv)
    wanted = (product.m, product.n, product.k, ROW_TYPES.get(product.a, product.a))
    if wanted not in {(row.m, row.n, row.k, row.a_type) for row in cv.job.target.all_mma_atoms}:
        raise cv.unsupported("atom-target", f"multiplies {kind.data!r}, which {cv.job.target.name} does not")
    properties: dict[str, Attribute] = {
        "shape": ShapeAttr(*map(IntAttr, (product.m, product.n, product.k))),
        "layoutA": ROW,
        "layoutB": COLUMN,
        "multiplicandAPtxType": MmaTypeAttr.new([StringAttr(product.a)]),
        "multiplicandBPtxType": MmaTypeAttr.new([StringAttr(product.b)]),
    }
    if product.c == "s32":
        properties["intOverflowBehavior"] = MmaIntOverflowAttr.new([StringAttr("satfinite")])
    result = struct_of([value.type for value in c])
    made = cv.emit.add(ops_matrix.MmaSyncOp.build(operands=[a, b, c], result_types=[result], properties=properties))
    return [cv.emit.field(made, index) for index in range(len(c))]


@atom("sm80.mma", feature="mma_sync")
def sm80_mma(kind: AtomType, operands: list[Any], cv: Converter) -> None:
    """Fragments from registers, the product, the fragment of D."""
    d, a, b, c = operands
    product = Product.of(kind, cv)
    counts = product.registers()
    types = [_register(product.a), _register(product.b), PIECES[product.c]]
    loaded = [load_words(view, n, cv, type) for view, n, type in zip((a, b, c), counts, types)]
    store_words(d, mma_sync(kind, *loaded, cv), cv)


ATOMS["cute_nvgpu.sm89.mma"] = ATOMS["cute_nvgpu.sm80.mma"]


def arch_mma(op: Operation, cv: Converter) -> Sequence[Any]:
    """The same on values."""
    return mma_sync(atom_of(op, cv), list(op.a), list(op.b), list(op.c), cv)


REWRITES |= {"cute_nvgpu.arch.mma.SM80": arch_mma, "cute_nvgpu.arch.mma.SM89": arch_mma}


# ---- matrices between shared memory and registers ----------------------------------------------------
def _matrices(kind: AtomType, cv: Converter) -> tuple[int, bool]:
    words = _words(kind, 2, cv)
    if words[0] != "8x8" or words[1] not in ("x1", "x2", "x4"):
        raise cv.unsupported("atom-words", f"copies {kind.data!r}", "use 8x8 and x1, x2 or x4, perhaps trans")
    return int(words[1][1:]), "trans" in words


def ldmatrix(kind: AtomType, pointer: SSAValue, cv: Converter) -> list[SSAValue]:
    """``nvvm.ldmatrix``"""
    count, transposed = _matrices(kind, cv)
    properties = {
        "num": IntegerAttr(count, i32),
        "layout": COLUMN if transposed else ROW,
        "shape": MatrixShapeAttr(IntAttr(8), IntAttr(8)),
        "eltType": MatrixElementAttr.new([StringAttr("b16")]),
    }
    result = i32 if count == 1 else struct_of([i32] * count)
    made = cv.emit.add(ops_matrix.LdMatrixOp.build(operands=[pointer], result_types=[result], properties=properties))
    return [made] if count == 1 else [cv.emit.field(made, index) for index in range(count)]


def stmatrix(kind: AtomType, pointer: SSAValue, values: Sequence[SSAValue], cv: Converter) -> None:
    """LLVM's intrinsic: the dialect has no operation for it."""
    count, transposed = _matrices(kind, cv)
    name = f"llvm.nvvm.stmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.b16"
    cv.emit.add(llvm.CallIntrinsicOp(f"{name}.p3", [pointer, *values], []))


@atom("atom.ldsm", feature="ldmatrix")
def ldsm(kind: AtomType, operands: list[Any], cv: Converter) -> None:
    """The view of the source is this thread's row."""
    source, destination = operands
    store_words(destination, ldmatrix(kind, source.pointer, cv), cv)


@atom("atom.stsm", feature="stmatrix")
def stsm(kind: AtomType, operands: list[Any], cv: Converter) -> None:
    """The view of the destination is this thread's row."""
    source, destination = operands
    stmatrix(kind, destination.pointer, load_words(source, _matrices(kind, cv)[0], cv), cv)


@rewrite("arch.copy.ldsm", "ldmatrix")
def arch_ldsm(op: Operation, cv: Converter) -> Sequence[Any]:
    """ldmatrix on a pointer."""
    return ldmatrix(atom_of(op, cv), _pointer(cv[op.source]), cv)


@rewrite("arch.copy.stsm", "stmatrix")
def arch_stsm(op: Operation, cv: Converter) -> Sequence[Any]:
    """stmatrix on a pointer."""
    stmatrix(atom_of(op, cv), _pointer(cv[op.destination]), [cv.value(cv[value]) for value in op.group(1)], cv)
    return []


def _pointer(held: Any) -> SSAValue:
    return held.pointer if isinstance(held, View) else held


# ---- cp.async ----------------------------------------------------------------------------------------
def cp_async(size: int, source: SSAValue, destination: SSAValue, count: SSAValue | None, cv: Converter) -> None:
    """``nvvm.cp.async.shared.global``; 16 bytes go past L1."""
    if size not in ops_copy.SIZES:
        raise cv.invalid("copy-size", f"copies 4, 8 or 16 bytes, not {size}")
    modifier = LoadCacheModifierAttr.new([StringAttr("cg" if size == 16 else "ca")])
    properties = {"size": IntegerAttr(size, i32), "modifier": modifier}
    operands = [destination, source, count]
    cv.emit.add(ops_copy.CpAsyncSharedGlobalOp.build(operands=operands, properties=properties))


@atom("atom.simt_async_copy", feature="cp_async")
def simt_async_copy(kind: AtomType, operands: list[Any], cv: Converter) -> None:
    """The first bytes of the views."""
    source, destination = operands
    cp_async(int(_words(kind, 1, cv)[0]), source.pointer, destination.pointer, None, cv)


@rewrite("arch.copy.SM80.cp_async", "cp_async")
def arch_cp_async(op: Operation, cv: Converter) -> Sequence[Any]:
    """On pointers, perhaps of fewer bytes."""
    count = cv.value(cv.integer(op.bytes)) if op.bytes is not None else None
    cp_async(attribute(op, "size", 16), _pointer(cv[op.source]), _pointer(cv[op.destination]), count, cv)
    return []


# ---- wgmma -------------------------------------------------------------------------------------------
def wgmma(kind: AtomType, a: SSAValue, b: SSAValue, accumulator: SSAValue, cv: Converter) -> SSAValue:
    """The fence that orders registers, then the product; committing and waiting are the caller's."""
    product = Product.of(kind, cv)
    cv.emit.add(ops_matrix.WgmmaFenceAlignedOp.build())
    one = WgmmaScaleInAttr.new([StringAttr("one")])
    properties: dict[str, Attribute] = {
        "shape": ShapeAttr(*map(IntAttr, (product.m, product.n, product.k))),
        "typeA": WgmmaTypeAttr.new([StringAttr(product.a)]),
        "typeB": WgmmaTypeAttr.new([StringAttr(product.b)]),
        "typeD": WgmmaTypeAttr.new([StringAttr(product.c)]),
        "scaleD": WgmmaScaleOutAttr.new([StringAttr("one")]),
        "scaleA": one,
        "scaleB": one,
        "layoutA": ROW,
        "layoutB": COLUMN,
    }
    operands = [accumulator, a, b]
    return cv.emit.add(
        ops_matrix.WgmmaMmaAsyncOp.build(operands=operands, result_types=[accumulator.type], properties=properties)
    )


@atom("sm90.mma", feature="wgmma")
def sm90_mma(kind: AtomType, operands: list[Any], cv: Converter) -> None:
    """Descriptors of A and B, the accumulator in registers; the call waits, since its result is read from memory."""
    d, a, b, c = operands
    product = Product.of(kind, cv)
    register = {"f32": f32, "s32": i32, "f16": i32}[product.c]
    count = product.m * product.n * BITS[product.c] // (128 * 32)
    made = wgmma(kind, a, b, cv.emit.struct(load_words(c, count, cv, register)), cv)
    cv.emit.add(ops_matrix.WgmmaCommitGroupOp.build())
    cv.emit.add(ops_matrix.WgmmaWaitGroupOp.build(properties={"group": IntegerAttr(0, i64)}))
    store_words(d, [cv.emit.field(made, index) for index in range(count)], cv)


@rewrite("arch.mma.SM90", "wgmma")
def arch_wgmma(op: Operation, cv: Converter) -> Sequence[Any]:
    """On descriptors and a struct of registers."""
    return [wgmma(atom_of(op, cv), cv[op.a], cv[op.b], cv[op.c], cv)]


# ---- TMA ---------------------------------------------------------------------------------------------
@rewrite("arch.copy.SM100.tma_load", "tma")
def tma_load(op: Operation, cv: Converter) -> Sequence[Any]:
    """``nvvm.cp.async.bulk.tensor`` to shared memory."""
    coords = [cv.value(cv.integer(value)) for value in op.coords]
    operands = [_pointer(cv[op.destination]), generic(cv, cv[op.descriptor]), coords, cv[op.barrier], None, None, None]
    cv.emit.add(ops_copy.TensorLoadOp.build(operands=operands, properties={"mode": TILE}))
    return []


@rewrite("arch.copy.SM100.tma_store", "tma")
def tma_store(op: Operation, cv: Converter) -> Sequence[Any]:
    """``nvvm.cp.async.bulk.tensor`` from shared memory."""
    coords = [cv.value(cv.integer(value)) for value in op.coords]
    operands = [generic(cv, cv[op.descriptor]), coords, _pointer(cv[op.source]), None, None]
    cv.emit.add(ops_copy.TensorStoreOp.build(operands=operands, properties={"mode": TILE}))
    return []


KINDS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


@rewrite("arch.copy.SM100.tma_reduce", "tma")
def tma_reduce(op: Operation, cv: Converter) -> Sequence[Any]:
    """Inline assembly: the dialect has no operation for it (PTX ISA 9.0, cp.reduce.async.bulk.tensor)."""
    coords = [cv.value(cv.integer(value)) for value in op.coords]
    kind = attribute(op, "kind")
    if kind not in KINDS or not 1 <= len(coords) <= 5:
        raise cv.invalid("tma-reduce", f"needs 1 to 5 coordinates and a kind of {', '.join(KINDS)}")
    places = ", ".join(f"${index + 2}" for index in range(len(coords)))
    name = f"cp.reduce.async.bulk.tensor.{len(coords)}d.global.shared::cta.{kind}.tile.bulk_group"
    operands = [generic(cv, cv[op.descriptor]), _pointer(cv[op.source]), *coords]
    constraints = ",".join(["l", "r", *"r" * len(coords), "~{memory}"])
    cv.emit.add(llvm.InlineAsmOp(f"{name} [$0, {{{places}}}], [$1];", constraints, operands, [], has_side_effects=True))
    return []


def tma_call(form: str) -> AtomCall:
    """A call of a TMA atom; its operands are those of the ``arch.`` operation, bound by ``make_atom``."""

    def run(kind: AtomType, operands: list[Any], cv: Converter) -> None:
        message = f"has no rewriter for {kind}: its descriptor and coordinates are operands of {form}"
        raise cv.unsupported("atom-call", message, f"use {form}")

    return run


for _word in ("load", "store", "reduce"):
    ATOMS[f"cute_nvgpu.atom.tma_{_word}"] = tma_call(f"cute_nvgpu.arch.copy.SM100.tma_{_word}")


# ---- tensor memory -----------------------------------------------------------------------------------
def _assembly(cv: Converter, text: str, constraints: str, operands: Sequence[SSAValue], results=()) -> SSAValue | None:
    made = llvm.InlineAsmOp(text, constraints, list(operands), list(results), has_side_effects=True)
    made.attributes["convergent"] = UnitAttr()
    return cv.emit.add(made)


def _group(op: Operation, cv: Converter) -> int:
    group = attribute(op, "cta_group", 1)
    if group not in (1, 2):
        raise cv.invalid("cta-group", f"has cta_group {group}: use 1 or 2")
    return group


@rewrite("arch.sm100.alloc_tmem", "tcgen05")
def alloc_tmem(op: Operation, cv: Converter) -> Sequence[Any]:
    """One warp asks for columns; the address comes to shared memory (PTX ISA 9.0, tcgen05.alloc)."""
    columns = attribute(op, "columns", 0)
    if columns not in (32, 64, 128, 256, 512):
        raise cv.invalid("tmem-columns", f"needs the attribute columns: 32, 64, 128, 256 or 512, not {columns}")
    text = f"tcgen05.alloc.cta_group::{_group(op, cv)}.sync.aligned.shared::cta.b32 [$0], {columns};"
    _assembly(cv, text, "r,~{memory}", [_pointer(cv[op.holder])])
    return []


@rewrite("arch.sm100.retrieve_tmem_ptr", "tcgen05")
def retrieve_tmem_ptr(op: Operation, cv: Converter) -> Sequence[Any]:
    """What the allocation has written."""
    loaded = cv.emit.add(llvm.LoadOp(_pointer(cv[op.holder]), i32))
    wanted = cv.types.convert(op.results[0].type)
    return [loaded if wanted == i32 else cv.emit.add(llvm.IntToPtrOp(loaded, wanted))]


@rewrite("arch.sm100.relinquish_tmem_alloc_permit", "tcgen05")
def relinquish(op: Operation, cv: Converter) -> Sequence[Any]:
    """tcgen05.relinquish_alloc_permit"""
    _assembly(cv, f"tcgen05.relinquish_alloc_permit.cta_group::{_group(op, cv)}.sync.aligned;", "~{memory}", [])
    return []


@rewrite("arch.sm100.dealloc_tmem", "tcgen05")
def dealloc_tmem(op: Operation, cv: Converter) -> Sequence[Any]:
    """tcgen05.dealloc"""
    columns = attribute(op, "columns", 0)
    text = f"tcgen05.dealloc.cta_group::{_group(op, cv)}.sync.aligned.b32 $0, {columns};"
    _assembly(cv, text, "r,~{memory}", [tensor_address(cv[op.pointer], cv)])
    return []


def tensor_address(held: Any, cv: Converter) -> SSAValue:
    """The 32-bit address of tensor memory."""
    value = cv.value(_pointer(held))
    return value if value.type == i32 else cv.emit.add(llvm.PtrToIntOp(value, i32))


# The instruction's kind as LLVM numbers it -> as PTX spells it.
UMMA_KINDS = {0: "f16", 1: "tf32", 2: "f8f6f4", 3: "i8"}


def umma(kind: AtomType, d: SSAValue, a: SSAValue, b: SSAValue, accumulate: SSAValue, group: int, cv: Converter) -> None:
    """tcgen05.mma on descriptors of A and B, contiguous in k; integers are the kind i8 (IMMA)."""
    product = Product.of(kind, cv)
    types = tuple(ROW_TYPES.get(name, name) for name in (product.a, product.b, product.c))
    rows = {(row.a_type, row.b_type, row.accumulator_type): row for row in TENSOR_MEMORY_ATOMS}
    if (row := rows.get(types)) is None:
        raise cv.unsupported("umma-type", f"multiplies {kind.data!r}", "see targets.py: TENSOR_MEMORY_ATOMS")
    if not cv.job.target.has(row.capability):
        raise cv.invalid("umma-kind", "INT8 type is supported only on arch-conditional variants.")
    text = f"tcgen05.mma.cta_group::{group}.kind::{UMMA_KINDS[row.kind]} [$0], $1, $2, $3, $4;"
    signs = (product.a != "u8", product.b != "u8")
    descriptor = cv.emit.constant(row.descriptor(product.m, product.n, False, False, signs))
    _assembly(cv, text, "r,l,l,r,b,~{memory}", [d, a, b, descriptor, accumulate])


@atom("sm100.mma", feature="tcgen05")
def sm100_mma(kind: AtomType, operands: list[Any], cv: Converter) -> None:
    """D and C are one place in tensor memory."""
    d, a, b, c = operands
    if _pointer(d) is not _pointer(c):
        raise cv.invalid("umma-accumulator", "needs C and D at one place in tensor memory")
    umma(kind, tensor_address(d, cv), a, b, cv.emit.constant(1, i1), 1, cv)


@rewrite("arch.mma.SM100.umma", "tcgen05")
def arch_umma(op: Operation, cv: Converter) -> Sequence[Any]:
    """``accumulate`` (i1) says whether D counts."""
    d, a, b = tensor_address(cv[op.d], cv), cv[op.a], cv[op.b]
    umma(atom_of(op, cv), d, a, b, op.accumulate, _group(op, cv), cv)
    return []


@atom("atom.s2t_copy", feature="tcgen05")
def s2t_copy(kind: AtomType, operands: list[Any], cv: Converter) -> None:
    """On a descriptor and a place in tensor memory."""
    source, destination = operands
    copy_s2t(_words(kind, 1, cv)[0], tensor_address(destination, cv), source, 1, cv)


S2T_SHAPES = ("128x256b", "4x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23", "32x128b.warpx4")


def copy_s2t(shape: str, destination: SSAValue, source: SSAValue, group: int, cv: Converter) -> None:
    """tcgen05.cp; of a group of CTAs only the first copies."""
    if shape not in S2T_SHAPES:
        raise cv.invalid("s2t-shape", f"copies {shape!r}: use one of {', '.join(S2T_SHAPES)}")
    text = f"tcgen05.cp.cta_group::{group}.{shape} [$0], $1;"
    if group == 1:
        _assembly(cv, text, "r,l,~{memory}", [destination, source])
        return
    rank = _assembly(cv, "mov.u32 $0, %cluster_ctarank;", "=r", [], [i32])
    inside = cv.emit.add(llvm.AndOp(cv.rem(rank, group), cv.emit.constant(group - 1)))
    first = cv.emit.add(llvm.ICmpOp(inside, cv.emit.constant(0), IntegerAttr(0, i64)))
    _assembly(cv, f"@$2 {text}", "r,l,b,~{memory}", [destination, source, first])


@rewrite("arch.copy.SM100.copy_s2t", "tcgen05")
def arch_copy_s2t(op: Operation, cv: Converter) -> Sequence[Any]:
    """The shape is an attribute."""
    shape = attribute(op, "shape", "128x256b")
    copy_s2t(shape, tensor_address(cv[op.destination], cv), cv[op.source], _group(op, cv), cv)
    return []


def _tmem_text(op: Operation, word: str, count: int, cv: Converter) -> str:
    if count not in (1, 2, 4, 8, 16, 32, 64, 128):
        raise cv.invalid("tmem-registers", f"moves {count} registers: use a power of two up to 128")
    return f"tcgen05.{word}.sync.aligned.32x32b.x{count}.b32"


@rewrite("arch.copy.SM100.tmem_load", "tcgen05")
def tmem_load(op: Operation, cv: Converter) -> Sequence[Any]:
    """A lane's row of columns, and the wait until they are there."""
    count = len(op.results)
    text = _tmem_text(op, "ld", count, cv)
    names = ", ".join(f"${index}" for index in range(count))
    result = i32 if count == 1 else struct_of([i32] * count)
    wait = "tcgen05.wait::ld.sync.aligned;"
    constraints = ",".join(["=r"] * count + ["r", "~{memory}"])
    loaded = _assembly(
        cv, f"{text} {{{names}}}, [${count}]; {wait}", constraints, [tensor_address(cv[op.source], cv)], [result]
    )
    return [loaded] if count == 1 else [cv.emit.field(loaded, index) for index in range(count)]


@rewrite("arch.copy.SM100.tmem_store", "tcgen05")
def tmem_store(op: Operation, cv: Converter) -> Sequence[Any]:
    """A lane's row of columns, and the wait until they are written."""
    values = [cv.value(cv[value]) for value in op.group(1)]
    text = _tmem_text(op, "st", len(values), cv)
    names = ", ".join(f"${index + 1}" for index in range(len(values)))
    constraints = ",".join(["r"] * (len(values) + 1) + ["~{memory}"])
    operands = [tensor_address(cv[op.destination], cv), *values]
    _assembly(cv, f"{text} [$0], {{{names}}}; tcgen05.wait::st.sync.aligned;", constraints, operands)
    return []
