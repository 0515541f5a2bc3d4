"""The inline assembly of accesses: the words, masks and constraints of each element width."""

import re

import pytest

from tileiras_build.ir.dialects.nvvm.intrinsic_or_inline_asm import INSTRUCTION_TABLE, constraint
from tileiras_build.ir.dialects.nvvm.memory_access import (
    AtomLoopOp,
    AtomOp,
    CopyOp,
    LoadMatrixOp,
    LoadOp,
    MultimemLoadReduceOp,
    MultimemReductionOp,
    MultimemStoreOp,
    ReductionOp,
    StoreMatrixOp,
    StoreOp,
)
from tileiras_build.pipeline.common.llvm_element_types import ELEMENTS, POINTER
from tileiras_build.pipeline.common.llvm_type_constructors import (
    FLOAT,
    GLOBAL,
    HALF,
    I1,
    I16,
    I32,
    I64,
    SHARED,
    pointer,
    struct,
)
from tileiras_build.pipeline.tileas_to_ll.emission.instruction_builder import InstructionBuilder
from tileiras_build.pipeline.tileas_to_ll.writer.llvm_text import FunctionWriter
from tileiras_build.pipeline.tileas_to_ll.writer.write_instructions import write_operation

F32, F16, F64, I8, BOOL = (ELEMENTS[name] for name in ("f32", "f16", "f64", "i8", "i1"))


def spelled(kind, *operands, type=None, **attributes) -> tuple[str, str]:
    """Template and constraints of one operation; types among the operands stand for values of theirs."""
    b = InstructionBuilder()

    def value(entry):
        if isinstance(entry, list):
            return [value(one) for one in entry]
        return entry if entry is None or isinstance(entry, int) else b.undefined(entry)

    b.issue(kind, *map(value, operands), type=type, **attributes)
    op, row = b.block.last_op, INSTRUCTION_TABLE[kind]
    op.verify()
    return " ".join(row.text(op).split()), row.constraints(op)


def load(element, count, masked, fill, offset=0, **modifiers):
    type = element.crossing_type
    type = type if count == 1 else struct(*[type] * count)
    predicate = I1 if masked else None
    return spelled(LoadOp, pointer(GLOBAL), predicate, type=type, fill=fill, offset=offset, space="global", **modifiers)


def store(element, count, masked, **modifiers):
    values, predicate = [element.crossing_type] * count, I1 if masked else None
    return spelled(StoreOp, pointer(GLOBAL), values, predicate, space="global", **modifiers)


@pytest.mark.parametrize(
    ("element", "count", "masked", "fill", "offset", "template", "constraints"),
    [
        (F32, 1, False, 0, 0, "ld.global.b32 $0, [$1];", "=&f,l"),
        (F32, 4, False, 0, 16, "ld.global.v4.b32 {$0, $1, $2, $3}, [$4+16];", "=&f,=&f,=&f,=&f,l"),
        (F32, 1, True, 0, 0, "mov.b32 $0, 0x0; @$2 ld.global.b32 $0, [$1];", "=&f,l,b"),
        (F64, 2, False, 0, -8, "ld.global.v2.b64 {$0, $1}, [$2-8];", "=&d,=&d,l"),
        (I8, 1, True, 255, 0, "mov.b16 $0, 0xff; @$2 ld.global.b8 $0, [$1];", "=&h,l,b"),
        (I8, 1, True, -1, 0, "mov.b16 $0, 0xff; @$2 ld.global.b8 $0, [$1];", "=&h,l,b"),
        (POINTER, 1, False, 0, 0, "ld.global.b64 $0, [$1];", "=&l,l"),
        (F16, 2, False, 0, 0, "{ .reg .b32 w0; ld.global.b32 w0, [$2]; mov.b32 {$0, $1}, w0; }", "=&h,=&h,l"),
        (F16, 2, True, 0x3C00, 0, "{ .reg .b32 w0; mov.b32 w0, 0x3c003c00; @$3 ld.global.b32 w0, [$2]; "
         "mov.b32 {$0, $1}, w0; }", "=&h,=&h,l,b"),
    ],
)  # fmt: skip
def test_loads(element, count, masked, fill, offset, template, constraints):
    assert load(element, count, masked, fill, offset) == (template, constraints)


@pytest.mark.parametrize(
    ("element", "count", "masked", "template", "constraints"),
    [
        (F32, 1, False, "st.global.b32 [$0], $1;", "l,f,~{memory}"),
        (F32, 2, True, "@$3 st.global.v2.b32 [$0], {$1, $2};", "l,f,f,b,~{memory}"),
        (BOOL, 1, False, "st.global.b8 [$0], $1;", "l,h,~{memory}"),
        (F16, 2, False, "{ .reg .b32 w0; mov.b32 w0, {$1, $2}; st.global.b32 [$0], w0; }", "l,h,h,~{memory}"),
    ],
)
def test_stores(element, count, masked, template, constraints):
    assert store(element, count, masked) == (template, constraints)


@pytest.mark.parametrize(
    ("modifiers", "opcode"),
    [
        ({}, "global"),
        ({"semantics": "relaxed", "scope": "sys"}, "relaxed.sys.global"),
        ({"semantics": "acquire", "scope": "gpu"}, "acquire.gpu.global"),
    ],
)
def test_order_scope_and_space_are_written_in_this_order(modifiers, opcode):
    assert load(F32, 1, False, 0, **modifiers)[0] == f"ld.{opcode}.b32 $0, [$1];"
    assert store(F32, 1, False, **modifiers)[0] == f"st.{opcode}.b32 [$0], $1;"


def test_an_address_without_a_space_is_generic_and_one_of_shared_memory_has_32_bits():
    assert spelled(LoadOp, pointer(), None, type=I32) == ("ld.b32 $0, [$1];", "=&r,l")
    assert spelled(LoadOp, I32, None, type=I32, space="shared") == ("ld.shared.b32 $0, [$1];", "=&r,r")


@pytest.mark.parametrize("name", ELEMENTS)
def test_every_element_crosses_the_border_in_a_register_of_its_width(name):
    element = ELEMENTS[name]
    type = element.crossing_type
    assert constraint(type) in "hrlfd"
    assert type.bitwidth == element.bits


@pytest.mark.parametrize(
    ("name", "count"),
    # An access moves 16 bytes at most.
    [(name, count) for name in ("i8", "f16", "i1") for count in (2, 4, 8, 16) if ELEMENTS[name].bits * count <= 128],
)
def test_packed_accesses_name_every_element_once(name, count):
    element = ELEMENTS[name]
    text, constraints = load(element, count, False, 0)
    stored, _ = store(element, count, False)
    for number in range(count):
        assert text.count(f"${number},") + text.count(f"${number}}}") == 1
        assert stored.count(f"${number + 1},") + stored.count(f"${number + 1}}}") + stored.count(f"${number + 1};") == 1
    assert constraints.count("=&h") == count


ORDER = {"semantics": "acq_rel", "scope": "gpu", "space": "global"}


@pytest.mark.parametrize(
    ("kind", "operands", "type", "attributes", "template", "constraints"),
    [
        (AtomOp, [[I32], None], I32, {"operation": "add.u32", "offset": 8},
         "atom.acq_rel.gpu.global.add.u32 $0, [$1+8], $2;", "=&r,l,r,~{memory}"),
        (AtomOp, [[I32], I1], I32, {"operation": "add.u32"},
         "mov.b32 $0, 0; @$3 atom.acq_rel.gpu.global.add.u32 $0, [$1], $2;", "=&r,l,r,b,~{memory}"),
        (AtomOp, [[I64, I64], I1], I64, {"operation": "cas.b64"},
         "mov.b64 $0, $2; @$4 atom.acq_rel.gpu.global.cas.b64 $0, [$1], $2, $3;", "=&l,l,l,l,b,~{memory}"),
        (AtomLoopOp, [I16, I1], I16, {"operation": "add.bf16"},
         "mov.b16 $0, 0; { .reg .pred lost; .reg .b16 old, new; @!$3 bra DONE; ld.relaxed.gpu.global.b16 $0, [$1]; "
         "AGAIN: mov.b16 old, $0; { .reg .b16 one; mov.b16 one, 0x3F80; fma.rn.bf16 new, old, one, $2; } "
         "atom.acq_rel.gpu.global.cas.b16 $0, [$1], old, new; setp.ne.b16 lost, $0, old; @lost bra AGAIN; DONE: }",
         "=&h,l,h,b,~{memory}"),
        (ReductionOp, [I32, I1], None, {"operation": "and.b32", "offset": -4},
         "@$2 red.acq_rel.gpu.global.and.b32 [$0-4], $1;", "l,r,b,~{memory}"),
        (MultimemLoadReduceOp, [None], struct(FLOAT, FLOAT), {"operation": "add", "word": "f32", "offset": 8},
         "multimem.ld_reduce.acq_rel.gpu.global.add.v2.f32 {$0, $1}, [$2+8];", "=&f,=&f,l"),
        (MultimemReductionOp, [[HALF, HALF], I1], None, {"operation": "max", "word": "f16x2"},
         "{ .reg .b32 w0; mov.b32 w0, {$1, $2}; @$3 multimem.red.acq_rel.gpu.global.max.f16x2 [$0], w0; }",
         "l,h,h,b,~{memory}"),
        (MultimemStoreOp, [[I64], None], None, {"word": "b64"},
         "multimem.st.acq_rel.gpu.global.b64 [$0], $1;", "l,l,~{memory}"),
    ],
)  # fmt: skip
def test_updates(kind, operands, type, attributes, template, constraints):
    assert spelled(kind, pointer(GLOBAL), *operands, type=type, **ORDER, **attributes) == (template, constraints)


@pytest.mark.parametrize(
    ("kind", "operands", "type", "attributes", "template", "constraints"),
    [
        (CopyOp, [I32, pointer(GLOBAL), I1, None], None, {"size": 16, "offset": 128, "bypass": True},
         "cp.async.cg.shared.global [$0+128], [$1+0], 16, $2;", "r,l,b,~{memory}"),
        (CopyOp, [I32, pointer(GLOBAL), I32, I1], None, {"size": 8, "source_offset": 32},
         "@$3 cp.async.ca.shared.global [$0+0], [$1+32], 8, $2;", "r,l,r,b,~{memory}"),
        (StoreMatrixOp, [I32, [I32, I32]], None, {"offset": 32},
         "stmatrix.sync.aligned.m8n8.x2.shared.b16 [$0+32], {$1, $2};", "r,r,r,~{memory}"),
    ],
)  # fmt: skip
def test_matrices_and_copies(kind, operands, type, attributes, template, constraints):
    assert spelled(kind, *operands, type=type, **attributes) == (template, constraints)


@pytest.mark.parametrize(
    ("kind", "operands", "type", "attributes", "lines"),
    [
        (LoadMatrixOp, [I32], struct(I32, I32), {"transposed": True},
         ["inttoptr i32 @ to ptr addrspace(3)",
          "call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3) @)"]),
        (LoadMatrixOp, [pointer(SHARED)], I32, {"offset": 32},
         ["getelementptr i8, ptr addrspace(3) @, i32 32",
          "call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3) @)"]),
        (CopyOp, [I32, pointer(GLOBAL), I32, None], None, {"size": 16, "offset": 128, "source_offset": 64, "bypass": True},
         ["inttoptr i32 @ to ptr addrspace(3)", "getelementptr i8, ptr addrspace(3) @, i32 128",
          "getelementptr i8, ptr addrspace(1) @, i32 64",
          "call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) @, ptr addrspace(1) @, i32 @)"]),
    ],
)  # fmt: skip
def test_what_llvm_has_an_intrinsic_for_is_one(kind, operands, type, attributes, lines):
    """The offset becomes one of the address, which LLVM folds into the instruction."""
    w, b = FunctionWriter(None), InstructionBuilder()
    b.issue(kind, *[one if one is None else b.undefined(one) for one in operands], type=type, **attributes)
    op = b.block.last_op
    for operand in op.operands:
        w.names[id(operand)] = "%x"
    write_operation(w, op)
    assert [re.sub(r"%\w+", "@", re.sub(r"^%\w+ = ", "", line.strip())) for line in w.lines] == lines
