"""A virtual machine for programs of elementwise operations, in native code. It processes strips that fit the CPU's caches.

A program is a table of (opcode, result, three operands), as indices of values. A value has an address and a stride between
strips (0 if all strips share it). LLVM compiles the interpreter once, not each program. Like those of ``elementwise_f32.py``,
operations return correctly rounded results or reject an element; then the results of the strip are invalid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .elementwise_f32 import DECLARATIONS, LANES, OPERATIONS, TYPES, LoopOperand, loop
from .llvm_jit import address, compile_function, has_cpu_feature

STRIP_ELEMENTS = 256  # elements; a hundred strips fit into a second-level cache
COMPILE_COST = 1 << 23  # results that NumPy computes in the time of the compilation
RECORD_WORDS = 5  # words per operation
FEATURES = ("fma", "f16c")  # required, because the operations are slow without them

_results_done = 0  # results computed by NumPy so far


@dataclass(frozen=True)
class VectorOp:
    """``text``: IR that computes ``%y`` from vectors ``%x0``, ``%x1``, … of the types, and ``%bad``, the mask of rejected lanes."""

    text: str
    operands: tuple[str, ...]
    result: str


_NO_BAD_LANES = "\n  %bad = or <8 x i1> zeroinitializer, zeroinitializer"
_BITS = """  %y = bitcast <8 x float> %x0 to <8 x i32>
  %bad = fcmp uno <8 x float> %x0, zeroinitializer"""
_FLUSH = """  %bits = bitcast <8 x float> %x0 to <8 x i32>
  %magnitude = and <8 x i32> %bits, splat (i32 2147483647)
  %sign = and <8 x i32> %bits, splat (i32 -2147483648)
  %tiny = icmp ult <8 x i32> %magnitude, splat (i32 8388608)
  %y.bits = select <8 x i1> %tiny, <8 x i32> %sign, <8 x i32> %bits
  %y = bitcast <8 x i32> %y.bits to <8 x float>
  %bad = fcmp uno <8 x float> %x0, zeroinitializer"""
_QUOTIENT = """  %y = fdiv <8 x float> %x0, %x1
  %bad = fcmp uno <8 x float> %y, zeroinitializer"""
_SELECT = (
    """  %is = icmp ne <8 x i8> %x0, zeroinitializer
  %y = select <8 x i1> %is, <8 x i32> %x1, <8 x i32> %x2"""
    + _NO_BAD_LANES
)
_UPPER = (
    """  %moved = lshr <8 x i64> %x0, splat (i64 32)
  %y = trunc <8 x i64> %moved to <8 x i32>"""
    + _NO_BAD_LANES
)
_JOIN = (
    """  %lower = zext <8 x i32> %x0 to <8 x i64>
  %upper = zext <8 x i32> %x1 to <8 x i64>
  %moved = shl <8 x i64> %upper, splat (i64 32)
  %y = or <8 x i64> %lower, %moved"""
    + _NO_BAD_LANES
)


def _integer(name: str) -> VectorOp:
    return VectorOp(f"  %y = {name} <8 x i32> %x0, %x1" + _NO_BAD_LANES, ("i32", "i32"), "i32")


def _comparison(name: str, type_: str) -> VectorOp:
    return VectorOp(
        f"  %is = {name} <8 x {type_}> %x0, %x1\n  %y = zext <8 x i1> %is to <8 x i8>" + _NO_BAD_LANES,
        (type_,) * 2,
        "i8",
    )


VECTOR_OPS = {
    **{name: VectorOp(op.text, ("float",) * op.operands, TYPES[op.result]) for name, op in OPERATIONS.items()},
    "div": VectorOp(_QUOTIENT, ("float", "float"), "float"),
    "flush": VectorOp(_FLUSH, ("float",), "float"),
    "bits": VectorOp(_BITS, ("float",), "i32"),
    "select": VectorOp(_SELECT, ("i8", "i32", "i32"), "i32"),
    "extend": VectorOp("  %y = zext <8 x i16> %x0 to <8 x i32>" + _NO_BAD_LANES, ("i16",), "i32"),
    "or": _integer("or"), "and": _integer("and"), "xor": _integer("xor"), "shift": _integer("shl"),
    "shift.right": _integer("lshr"), "plus": _integer("add"), "unequal": _comparison("fcmp une", "float"),
    **{name: _comparison(f"icmp {name}", "i32") for name in ("slt", "sle", "sgt", "sge")},
    "either": VectorOp("  %y = or <8 x i8> %x0, %x1" + _NO_BAD_LANES, ("i8", "i8"), "i8"),
    "lower": VectorOp("  %y = trunc <8 x i64> %x0 to <8 x i32>" + _NO_BAD_LANES, ("i64",), "i32"), "upper": VectorOp(_UPPER, ("i64",), "i32"),
    "join": VectorOp(_JOIN, ("i32", "i32"), "i64"),
    "low": VectorOp("  %y = trunc <8 x i32> %x0 to <8 x i16>" + _NO_BAD_LANES, ("i32",), "i16"),
}  # fmt: skip
OPCODES = {name: number for number, name in enumerate(VECTOR_OPS)}


def is_profitable(results: int) -> bool:
    """Whether a process that will make so many results more has made enough for the translation, and a CPU for it."""
    return has_amortized_compile(results) and all(map(has_cpu_feature, FEATURES))


def has_amortized_compile(results: int) -> bool:
    """Whether a process that will make so many results more has made enough for the translation. LLVM is not asked."""
    global _results_done
    if _results_done > COMPILE_COST:
        return True
    _results_done += results
    return False


def run(program: np.ndarray, bases: np.ndarray, steps: np.ndarray, size: int) -> np.ndarray:
    """Which strips (bool) of ``size`` elements, a multiple of ``LANES``, are bad after a program (int64, rows of ``RECORD``).

    ``bases`` and ``steps`` (int64): the addresses of values, and how many bytes further they are in the next strip.
    """
    bad = np.empty(-(-size // STRIP_ELEMENTS), bool)
    _code()(address(program), address(bases), address(steps), address(bad), len(program), len(bad), size // LANES)
    return bad


# -- the code ----------------------------------------------------------------------------------------
_RUN = """
declare i64 @llvm.umin.i64(i64, i64)

define void @run(ptr noalias %program, ptr noalias %bases, ptr noalias %steps, ptr noalias %bad,
                 i64 %count, i64 %strips, i64 %vectors) {{
entry:
  br label %strip
strip:
  %s = phi i64 [0, %entry], [%s.next, %strip.end]
  %s.next = add i64 %s, 1
  %s.first = mul i64 %s, {vectors}
  %left = sub i64 %vectors, %s.first
  %some = call i64 @llvm.umin.i64(i64 %left, i64 {vectors})
  br label %operation
operation:
  %n = phi i64 [0, %strip], [%n.next, %operation.end]
  %found = phi i64 [0, %strip], [%found.next, %operation.end]
  %n.next = add i64 %n, 1
  %record = getelementptr [{record} x i64], ptr %program, i64 %n
  %opcode = load i64, ptr %record
{places}
  switch i64 %opcode, label %strip.end [
{cases}
  ]
{calls}
operation.end:
  %this = phi i64 {results}
  %found.next = or i64 %found, %this
  %is_last.n = icmp eq i64 %n.next, %count
  br i1 %is_last.n, label %strip.end, label %operation
strip.end:
  %all = phi i64 [%found.next, %operation.end], [1, %operation]
  %is_bad = trunc i64 %all to i8
  %bad.ptr = getelementptr i8, ptr %bad, i64 %s
  store i8 %is_bad, ptr %bad.ptr
  %is_last.s = icmp eq i64 %s.next, %strips
  br i1 %is_last.s, label %done, label %strip
done:
  ret void
}}
"""
_PLACE = """  %value.{i}.ptr = getelementptr i64, ptr %record, i64 {at}
  %value.{i} = load i64, ptr %value.{i}.ptr
  %base.{i}.ptr = getelementptr i64, ptr %bases, i64 %value.{i}
  %base.{i} = load i64, ptr %base.{i}.ptr
  %step.{i}.ptr = getelementptr i64, ptr %steps, i64 %value.{i}
  %step.{i} = load i64, ptr %step.{i}.ptr
  %from.{i} = mul i64 %s, %step.{i}
  %place.{i} = add i64 %base.{i}, %from.{i}
  %p.{i} = inttoptr i64 %place.{i} to ptr"""
_CALL = """case.{name}:
  %result.{name} = call i64 @do.{name}({pointers}, i64 %some)
  br label %operation.end"""


@lru_cache
def _code() -> Callable[..., int]:
    operations = [
        loop(f"do.{name}", "", list(map(LoopOperand, row.operands)), row.text, row.result)
        for name, row in VECTOR_OPS.items()
    ]
    text = _RUN.format(
        vectors=STRIP_ELEMENTS // LANES, record=RECORD_WORDS, places="\n".join(_PLACE.format(i=i, at=i + 1) for i in range(RECORD_WORDS - 1)),
        cases="\n".join(f"    i64 {number}, label %case.{name}" for name, number in OPCODES.items()),
        calls="\n".join(_CALL.format(name=name, pointers=_pointers(row)) for name, row in VECTOR_OPS.items()),
        results=", ".join(f"[%result.{name}, %case.{name}]" for name in VECTOR_OPS),
    )  # fmt: skip
    return compile_function("\n".join([text, DECLARATIONS, *operations]), "run", 4, 3)


def _pointers(operation: VectorOp) -> str:
    return ", ".join(f"ptr %p.{i}" for i in range(1 + len(operation.operands)))
