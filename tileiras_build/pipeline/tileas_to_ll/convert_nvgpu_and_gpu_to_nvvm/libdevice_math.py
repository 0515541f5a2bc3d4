"""``math`` operations: vectors are scalarized, then each scalar operation becomes a libdevice call (blobLinkedLib).

The callee depends on the operation and the element type; f16 and bf16 are computed in f32. The ``afn`` flag (``arcp``
for division) selects libdevice's fast variant if it exists. Operations without a row, such as ``math.ctpop``, are left
to LLVM's instruction selection.
"""

from __future__ import annotations

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathAttrBase, FastMathFlag
from xdsl.dialects.vector import ExtractOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....core.symbols.check_symbol_names import LIBDEVICE_NAME, LINKED_LIBRARY
from ....core.symbols.check_symbol_names import LIBDEVICE_PREFIX as PREFIX
from ....ir.dialects import arith_ext, math_ext
from ....ir.dialects.checked_cast import cast, type_as
from ....ir.dialects.llvm_ext import call_properties
from ....ir.dialects.vector_ext import FromElementsOp
from ...rewriting.dialect_conversion import Rule
from .rewriter import Emitter


def _pair(stem: str) -> dict[Attribute, str]:
    """The f32 and f64 functions that follow C's naming."""
    return {f32: f"{PREFIX}{stem}f", f64: f"{PREFIX}{stem}"}


CALLEES: dict[type[Operation], dict[Attribute, str]] = {
    math.AbsFOp: _pair("fabs"),
    math.AbsIOp: {i32: "__nv_abs", i64: "__nv_llabs"},
    math.AcosOp: _pair("acos"),
    math.AcoshOp: _pair("acosh"),
    math.AsinOp: _pair("asin"),
    math.AsinhOp: _pair("asinh"),
    math.AtanOp: _pair("atan"),
    math.AtanhOp: _pair("atanh"),
    math.Atan2Op: _pair("atan2"),
    math.CbrtOp: _pair("cbrt"),
    math.CeilOp: _pair("ceil"),
    math.CopySignOp: _pair("copysign"),
    math.CosOp: _pair("cos"),
    math.CoshOp: _pair("cosh"),
    math.ErfOp: _pair("erf"),
    math_ext.ErfcOp: _pair("erfc"),
    math.ExpOp: _pair("exp"),
    math.Exp2Op: _pair("exp2"),
    math.ExpM1Op: _pair("expm1"),
    math.FloorOp: _pair("floor"),
    math.FmaOp: _pair("fma"),
    math.FPowIOp: {f32: "__nv_powif", f64: "__nv_powi"},
    math.LogOp: _pair("log"),
    math.Log10Op: _pair("log10"),
    math.Log1pOp: _pair("log1p"),
    math.Log2Op: _pair("log2"),
    math.PowFOp: _pair("pow"),
    math.RoundOp: _pair("round"),
    math.RoundEvenOp: _pair("rint"),
    math.RsqrtOp: _pair("rsqrt"),
    math.SinOp: _pair("sin"),
    math.SinhOp: _pair("sinh"),
    math.SqrtOp: _pair("sqrt"),
    math.TanOp: _pair("tan"),
    math.TanhOp: _pair("tanh"),
    math.TruncOp: _pair("trunc"),
    math_ext.IsNaNOp: {f32: "__nv_isnanf", f64: "__nv_isnand"},
    math_ext.IsInfOp: {f32: "__nv_isinff", f64: "__nv_isinfd"},
    math_ext.IsFiniteOp: {f32: "__nv_finitef", f64: "__nv_isfinited"},
    arith_ext.RemfOp: _pair("fmod"),
    arith.MinnumfOp: _pair("fmin"),
    arith.MaxnumfOp: _pair("fmax"),
}

# Operation -> (the flag that permits it, fast f32 function).
FAST: dict[type[Operation], tuple[FastMathFlag, str]] = {
    math.CosOp: (FastMathFlag.APPROX_FUNC, "__nv_fast_cosf"),
    math.SinOp: (FastMathFlag.APPROX_FUNC, "__nv_fast_sinf"),
    math.TanOp: (FastMathFlag.APPROX_FUNC, "__nv_fast_tanf"),
    math.ExpOp: (FastMathFlag.APPROX_FUNC, "__nv_fast_expf"),
    math.LogOp: (FastMathFlag.APPROX_FUNC, "__nv_fast_logf"),
    math.Log2Op: (FastMathFlag.APPROX_FUNC, "__nv_fast_log2f"),
    math.Log10Op: (FastMathFlag.APPROX_FUNC, "__nv_fast_log10f"),
    math.PowFOp: (FastMathFlag.APPROX_FUNC, "__nv_fast_powf"),
    arith.DivfOp: (FastMathFlag.ALLOW_RECIP, "__nv_fast_fdividef"),
}
ROOTS = CALLEES.keys() | FAST.keys()
_NOT_EQUAL = IntegerAttr(llvm.ICmpPredicateFlag.NE.to_int(), i64)
_PROMOTED = (Float16Type, BFloat16Type)
_PREDICATES = (math_ext.IsNaNOp, math_ext.IsInfOp, math_ext.IsFiniteOp)


def needs_libdevice(op: Operation) -> bool:
    """Whether an operation becomes a call: all rows of CALLEES, and division if its flag permits it."""
    if type(op) in CALLEES:
        return True
    return type(op) in FAST and _fast_callee(op, scalar_type(op)) is not None


def scalar_type(op: Operation) -> Attribute:
    """The element type of the first operand; f32 for a type that is promoted."""
    type = op.operands[0].type
    element = type.element_type if isinstance(type, VectorType) else type
    return f32 if isinstance(element, _PROMOTED) else element


def _fast_callee(op: Operation, compute: Attribute) -> str | None:
    flags = op.properties.get("fastmath")
    if compute != f32 or type(op) not in FAST or flags is None:
        return None
    needed, name = FAST[type(op)]
    return name if needed in cast(FastMathAttrBase, flags).data else None


def callee(op: Operation) -> str | None:
    """The libdevice function of an operation, by element type and flags; None where the table has no row."""
    compute = scalar_type(op)
    return _fast_callee(op, compute) or CALLEES.get(type(op), {}).get(compute)


def scalarize(op: Operation, emit: Emitter) -> bool:
    """Scalarize a vector operation to one scalar operation per lane; False for scalable vectors."""
    type = type_as(op.results[0], VectorType)
    if any(type.scalable_dims.data[i].value.data for i in range(len(type.scalable_dims))):
        return False
    lanes = [_lane(op, emit, position) for position in _positions(type.get_shape())]
    emit.replace(FromElementsOp(lanes, type))
    return True


def _positions(shape: tuple[int, ...]) -> list[list[int]]:
    positions: list[list[int]] = [[]]
    for size in shape:
        positions = [[*position, index] for position in positions for index in range(size)]
    return positions


def _lane(op: Operation, emit: Emitter, position: list[int]) -> SSAValue:
    operands = [
        emit.insert(ExtractOp(value, position, type_as(value, VectorType).element_type)) for value in op.operands
    ]
    result = type_as(op.results[0], VectorType).element_type
    scalar = type(op).create(
        operands=operands, result_types=[result], properties=dict(op.properties), attributes=dict(op.attributes)
    )
    return emit.insert(scalar)


def convert_math(emit: Emitter, op: Operation) -> None:
    """Call libdevice for a scalar; raises Unsupported for a vector, and for a type without a row."""
    if any(isinstance(value.type, VectorType) for value in op.operands):
        raise emit.unsupported(
            "math-vector",
            f"on '{op.operands[0].type}' reaches libdevice, whose functions are scalar",
            "scalarize it first (pass scalarize-vector-math)",
        )
    name = callee(op)
    if name is None:
        raise emit.unsupported("math-no-row", f"has no libdevice function for '{op.operands[0].type}'")
    arguments = [_widened(value, emit) for value in op.operands]
    result = i32 if isinstance(op, _PREDICATES) else arguments[0].type
    emit.symbols.attributes.setdefault(LINKED_LIBRARY, StringAttr(LIBDEVICE_NAME))
    emit.declare(name, llvm.LLVMFunctionType([value.type for value in arguments], result))
    value = emit.create(llvm.CallOp, arguments, result, call_properties(name, len(arguments)))
    emit.replace(_narrowed(value, op.results[0].type, emit))


def _widened(value: SSAValue, emit: Emitter) -> SSAValue:
    return emit.insert(llvm.FPExtOp(value, f32)) if isinstance(value.type, _PROMOTED) else value


def _narrowed(value: SSAValue, wanted: Attribute, emit: Emitter) -> SSAValue:
    if value.type == wanted:
        return value
    if wanted == i1 and isinstance(value.type, IntegerType):
        # libdevice's predicates return an int.
        return emit.insert(llvm.ICmpOp(value, emit.constant(0), _NOT_EQUAL))
    return emit.insert(llvm.FPTruncOp(value, wanted))


RULES: dict[str, Rule] = {kind.name: convert_math for kind in ROOTS}
