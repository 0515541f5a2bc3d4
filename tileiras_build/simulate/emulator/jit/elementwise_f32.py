"""Elementwise float32 operations in native code, for those that take NumPy several passes.

An operation of ``OPERATIONS`` returns correctly rounded results, or rejects an element (a NaN, or a value too close to a
rounding boundary); then NumPy computes all elements. The bits are therefore NumPy's on every CPU. A process compiles an
operation after enough elements to amortize the compilation or the import of LLVM.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .llvm_jit import address, cached_function, compile_function, has_cpu_feature, is_imported

LANES = 8  # float32 per vector
MIN_ELEMENTS = 4096  # elements from which a call pays off
IMPORT_COST = 8  # compilations in the time of LLVM's import
CACHE_HITS_PER_COMPILE = 16  # cached functions that are loaded in the time of a compilation
_elements_done: Counter[str] = Counter()  # elements computed by NumPy in this process, by operation


@dataclass(frozen=True)
class Operation:
    """``text``: IR that computes ``%y`` from vectors ``%x0``, ``%x1``, …, and ``%bad``, the mask of rejected lanes.

    ``before``: elements that NumPy computes in the time of a compilation; ``feature``: the required CPU feature.
    """

    text: str
    before: int
    operands: int = 1
    feature: str | None = None
    result: type[np.generic] = np.float32


def try_apply(name: str, *operands: np.ndarray | np.generic) -> np.ndarray | None:
    """An operation on float32 arrays of one shape, or scalars; None if NumPy must do it."""
    largest = operands[0]
    for operand in operands:
        if operand.size > largest.size:
            largest = operand
    size, shape = largest.size, largest.shape
    if size < MIN_ELEMENTS or size % LANES:
        return None
    alike = tuple(operand.shape == shape for operand in operands)
    if not _is_profitable(name, alike, size):
        return None
    given: list[np.ndarray] = []
    for operand, is_alike in zip(operands, alike):
        if operand.dtype != np.float32 or not (operand.flags.c_contiguous if is_alike else operand.ndim == 0):
            return None
        given.append(np.asarray(operand))
    operation = OPERATIONS[name]
    if operation.feature and not has_cpu_feature(operation.feature):
        return None
    out = np.empty(shape, operation.result)
    bad = _compiled(name, alike)(address(out), *map(address, given), size // LANES)
    return None if bad else out


def _is_profitable(name: str, alike: tuple[bool, ...], size: int) -> bool:
    """Whether this process has computed an operation often enough to compile it."""
    before, done = OPERATIONS[name].before, _elements_done[name]
    if done > before * (1 if is_imported() else IMPORT_COST) or (
        done > before // CACHE_HITS_PER_COMPILE and _cached(name, alike) is not None
    ):
        return True
    _elements_done[name] += size
    return False


# The loop over vectors; ``before`` is its preheader.
_LOOP = """
define i64 @{name}({pointers}, i64 %vectors) {{
entry:
{before}
  br label %some
some:
  %v = phi i64 [0, %entry], [%v.next, %some]
  %bad.all = phi <8 x i1> [zeroinitializer, %entry], [%bad.next, %some]
  %v.next = add i64 %v, 1
{loads}
{text}
  %bad.next = or <8 x i1> %bad.all, %bad
  %out.ptr = getelementptr <8 x {type}>, ptr %out, i64 %v
  store <8 x {type}> %y, ptr %out.ptr, align 1
  %is_last = icmp eq i64 %v.next, %vectors
  br i1 %is_last, label %done, label %some
done:
  %any = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %bad.next)
  %result = zext i1 %any to i64
  ret i64 %result
}}
"""
# Intrinsics of the loops and operations.
DECLARATIONS = """
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x double> @llvm.fmuladd.v8f64(<8 x double>, <8 x double>, <8 x double>)
"""
_LOAD_VECTOR = """  %x{i}.ptr = getelementptr <8 x {type}>, ptr %in{i}, i64 %v
  %x{i} = load <8 x {type}>, ptr %x{i}.ptr, align 1"""
_LOAD_SCALAR = """  %x{i}.one = load {type}, ptr %in{i}, align 1
  %x{i}.first = insertelement <8 x {type}> poison, {type} %x{i}.one, i64 0
  %x{i} = shufflevector <8 x {type}> %x{i}.first, <8 x {type}> poison, <8 x i32> zeroinitializer"""


@lru_cache
def _compiled(name: str, alike: tuple[bool, ...]) -> Callable[..., int]:
    return _cached(name, alike) or compile_function(_text(name, alike), *_shape(name))


@lru_cache
def _cached(name: str, alike: tuple[bool, ...]) -> Callable[..., int] | None:
    return cached_function(_text(name, alike), *_shape(name))


def _shape(name: str) -> tuple[str, int, int, type]:
    return "apply", 1 + OPERATIONS[name].operands, 1, ctypes.c_int64


def _text(name: str, alike: tuple[bool, ...]) -> str:
    operation = OPERATIONS[name]
    given = [LoopOperand("float", is_alike) for is_alike in alike]
    return loop("apply", "noalias", given, operation.text, TYPES[operation.result]) + DECLARATIONS


@dataclass(frozen=True)
class LoopOperand:
    """An operand: the type of an element, and whether it is an array or a scalar."""

    type: str
    is_uniform: bool = True


def loop(name: str, result: str, operands: Sequence[LoopOperand], text: str, type_: str) -> str:
    """IR of ``name(result, operands, vectors)``, which executes ``text`` per vector; returns whether a lane was bad (i64).

    ``result``: attributes of the pointer to the results, elements of ``type_``.
    """
    lines: dict[bool, list[str]] = {True: [], False: []}
    for i, operand in enumerate(operands):
        lines[operand.is_uniform].append(
            (_LOAD_VECTOR if operand.is_uniform else _LOAD_SCALAR).format(i=i, type=operand.type)
        )
    pointers = [f"ptr {result} %out", *(f"ptr %in{i}" for i in range(len(operands)))]
    return _LOOP.format(
        name=name, pointers=", ".join(pointers), before="\n".join(lines[False]), loads="\n".join(lines[True]),
        text=text, type=type_,
    )  # fmt: skip


# Types of the results in IR.
TYPES: dict[type[np.generic], str] = {np.float32: "float", np.uint16: "i16"}


# -- the operations ----------------------------------------------------------------------------------
def _double(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _power(smallest: str) -> str:
    """IR of 2^x: the Taylor series of 2^(x - n) of degree 13, with n the integer nearest to x, times 2^n.

    The remainder is below 2^-57 of the sum. Horner's rule with fused multiply-adds has an error below two units in the last
    place: half a unit by the last step, and less than half by each of the earlier steps and the last coefficients. Results
    within eight units of the midpoint of two float32 are bad. ``smallest``: IR for results below 2^-126.
    """
    lines = [
        f"  %p13 = fadd <8 x double> splat (double {_double(math.log(2) ** 13 / math.factorial(13))}), zeroinitializer"
    ]
    for k in range(12, -1, -1):
        term = f"splat (double {_double(math.log(2) ** k / math.factorial(k))})"
        lines.append(
            f"  %p{k} = call <8 x double> @llvm.fmuladd.v8f64(<8 x double> %p{k + 1}, <8 x double> %rest, <8 x double> {term})"
        )
    return _POWER.format(series="\n".join(lines), smallest=smallest, magic=_double(1.5 * 2.0**52))


_POWER = """  %nan = fcmp uno <8 x float> %x0, zeroinitializer
  %low = fcmp olt <8 x float> %x0, splat (float -126.0)
  %high = fcmp oge <8 x float> %x0, splat (float 128.0)
  %out.of = or <8 x i1> %low, %high
  %outside = or <8 x i1> %out.of, %nan
  %x = select <8 x i1> %outside, <8 x float> zeroinitializer, <8 x float> %x0
  %wide = fpext <8 x float> %x to <8 x double>
  %moved = fadd <8 x double> %wide, splat (double {magic})
  %whole = fsub <8 x double> %moved, splat (double {magic})
  %rest = fsub <8 x double> %wide, %whole
{series}
  %moved.bits = bitcast <8 x double> %moved to <8 x i64>
  %exponent = shl <8 x i64> %moved.bits, splat (i64 52)
  %p0.bits = bitcast <8 x double> %p0 to <8 x i64>
  %bits = add <8 x i64> %p0.bits, %exponent
  %power = bitcast <8 x i64> %bits to <8 x double>
  %rounded = fptrunc <8 x double> %power to <8 x float>
  %from.middle = sub <8 x i64> %bits, splat (i64 268435448)
  %dropped = and <8 x i64> %from.middle, splat (i64 536870911)
  %near = icmp ule <8 x i64> %dropped, splat (i64 16)
  %at.low = select <8 x i1> %low, <8 x float> zeroinitializer, <8 x float> %rounded
  %y = select <8 x i1> %high, <8 x float> splat (float 0x7FF0000000000000), <8 x float> %at.low
{smallest}
  %doubtful = or <8 x i1> %near, %subnormal
  %bad = or <8 x i1> %doubtful, %nan"""
_SUBNORMALS_FLUSHED = "  %subnormal = and <8 x i1> %low, zeroinitializer"
_SUBNORMALS_KEPT = """  %not.zero = fcmp ogt <8 x float> %x0, splat (float -160.0)
  %subnormal = and <8 x i1> %low, %not.zero"""
_FMA = """  %y = call <8 x float> @llvm.fma.v8f32(<8 x float> %x0, <8 x float> %x1, <8 x float> %x2)
  %bad = fcmp uno <8 x float> %y, zeroinitializer"""
_TO_HALF = """  %half = fptrunc <8 x float> %x0 to <8 x half>
  %y = bitcast <8 x half> %half to <8 x i16>
  %bad = fcmp uno <8 x float> %x0, zeroinitializer"""
_TO_BFLOAT16 = """  %bits = bitcast <8 x float> %x0 to <8 x i32>
  %upper = lshr <8 x i32> %bits, splat (i32 16)
  %odd = and <8 x i32> %upper, splat (i32 1)
  %half = add <8 x i32> %odd, splat (i32 32767)
  %sum = add <8 x i32> %bits, %half
  %kept = lshr <8 x i32> %sum, splat (i32 16)
  %y = trunc <8 x i32> %kept to <8 x i16>
  %bad = fcmp uno <8 x float> %x0, zeroinitializer"""
_BINARY = """  %y = {name} <8 x float> %x0, %x1
  %bad = fcmp uno <8 x float> %y, zeroinitializer"""
# Equal operands may be zeros of different signs.
_MIN_MAX = """  %first = fcmp {wins} <8 x float> %x0, %x1
  %same = fcmp oeq <8 x float> %x0, %x1
  %bits.0 = bitcast <8 x float> %x0 to <8 x i32>
  %bits.1 = bitcast <8 x float> %x1 to <8 x i32>
  %both = {join} <8 x i32> %bits.0, %bits.1
  %both.float = bitcast <8 x i32> %both to <8 x float>
  %one = select <8 x i1> %first, <8 x float> %x0, <8 x float> %x1
  %y = select <8 x i1> %same, <8 x float> %both.float, <8 x float> %one
  %bad = fcmp uno <8 x float> %x0, %x1"""

OPERATIONS = {
    "ex2": Operation(_power(_SUBNORMALS_KEPT), 1 << 21, feature="fma"),
    "ex2.ftz": Operation(_power(_SUBNORMALS_FLUSHED), 1 << 21, feature="fma"),
    "fma": Operation(_FMA, 1 << 22, 3, "fma"),
    "f16": Operation(_TO_HALF, 1 << 22, feature="f16c", result=np.uint16),
    "bf16": Operation(_TO_BFLOAT16, 1 << 22, result=np.uint16),
    "add": Operation(_BINARY.format(name="fadd"), 1 << 24, 2),
    "sub": Operation(_BINARY.format(name="fsub"), 1 << 24, 2),
    "mul": Operation(_BINARY.format(name="fmul"), 1 << 24, 2),
    "max": Operation(_MIN_MAX.format(wins="ogt", join="and"), 1 << 24, 2),
    "min": Operation(_MIN_MAX.format(wins="olt", join="or"), 1 << 24, 2),
}
