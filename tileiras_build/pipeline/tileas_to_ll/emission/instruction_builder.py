"""Creates the code of one thread: operations of the ``llvm`` and ``nvvm`` dialects, one typed method for each kind.

Known integers are folded. FunctionBuilder manages insertion points and the reuse of values.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from functools import cache
from typing import overload

from xdsl.dialects import llvm
from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    UnrealizedConversionCastOp,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import Pure

from ....core.errors import InternalError
from ....ir.casting import defining_op
from ....ir.dialects.fast_xdsl import GROUP, VALUES, integer_attr, segments
from ....ir.dialects.gpu_ext import (
    AddressSpace,
    AddressSpaceAttr,
    DynamicSharedMemoryOp,
    ReduceKindAttr,
    ShuffleMode,
    ShuffleModeAttr,
    ShuffleOp,
    SubgroupReduceOp,
)
from ....ir.dialects.gpu_reductions import ReduceKind
from ....ir.dialects.llvm_ext import BINARY, CASTS, NO_FAST_MATH, ExtractElementOp, call_properties
from ....ir.dialects.op_definition import TableOp
from ...common.llvm_type_constructors import I1, I8, I32, I64, SHARED, pointer
from .attribute_builders import Plain, attributes_of, field_position
from .function_builder import FunctionBuilder, Kind, Value

# The operands of one group of an instruction.
Operand = Value | None | Sequence[Value]
_ONE = (int, *VALUES)

_FLAGGED = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem"})
_INTEGER_PREDICATES = {str(flag): IntegerAttr(flag.to_int(), i64) for flag in llvm.ICmpPredicateFlag}
_FLOAT_PREDICATES = {str(flag): IntegerAttr(flag.to_int(), i64) for flag in llvm.FCmpPredicateFlag}
_NO_WRAP: Attribute = IntegerAttr(0, i32)
INDEX = IndexType()
DYNAMIC: Attribute = DenseArrayBase.from_list(i32, [llvm.GEP_USE_SSA_VAL])
WARP = 32
DYNAMIC_SHARED_MEMORY = MemRefType(I8, [DYNAMIC_INDEX], memory_space=AddressSpaceAttr(AddressSpace.WORKGROUP))
_MODES: dict[ShuffleMode, Attribute] = {mode: ShuffleModeAttr(mode) for mode in ShuffleMode}


class InstructionBuilder(FunctionBuilder):
    """The code of one function, by a typed method for each kind of operation; known integers are folded."""

    # ---- integers ----------------------------------------------------------------------------------
    def binary(self, opcode: str, a: Value, b: Value, type: Attribute = I32) -> SSAValue:
        """An LLVM instruction of two operands of ``type``."""
        properties = {"fastmathFlags": NO_FAST_MATH} if opcode in _FLAGGED else None
        left = self.constant(a, type) if isinstance(a, int) else a
        right = self.constant(b, type) if isinstance(b, int) else b
        return self.pure(BINARY[opcode], (left, right), type, properties)

    def compare(self, predicate: str, a: Value, b: Value, type: Attribute = I32) -> SSAValue:
        """``icmp``"""
        properties: dict[str, Attribute] = {"predicate": _INTEGER_PREDICATES[predicate]}
        return self.pure(llvm.ICmpOp, (self.of(a, type), self.of(b, type)), I1, properties, predicate)

    def compare_floats(self, predicate: str, a: Value, b: Value) -> SSAValue:
        """``fcmp``"""
        properties: dict[str, Attribute] = {"predicate": _FLOAT_PREDICATES[predicate], "fastmathFlags": NO_FAST_MATH}
        return self.pure(llvm.FCmpOp, (self.uniqued(a), self.uniqued(b)), I1, properties, predicate)

    def select(self, condition: Value, then: Value, otherwise: Value, type: Attribute) -> SSAValue:
        operands = (self.of(condition, I1), self.of(then, type), self.of(otherwise, type))
        return self.pure(llvm.SelectOp, operands, type, {"fastmathFlags": NO_FAST_MATH})

    def all_of(self, conditions: Sequence[Value | None]) -> Value | None:
        """The conjunction of conditions; None where there is none (always true)."""
        result: Value | None = None
        for condition in conditions:
            if condition is not None:
                result = condition if result is None else self.binary("and", result, condition, I1)
        return result

    def all_lanes(self, condition: Value, *others: Value | None) -> Value:
        """The conjunction of a condition and the other conditions that are not None."""
        for other in others:
            if other is not None:
                condition = self.binary("and", condition, other, I1)
        return condition

    def linear(self, source: Value, images: Sequence[int]) -> Value:
        """The linear map over F2 that takes bit i of ``source`` (i32) to ``images[i]``, as one i32.

        Runs of bits that move together become one mask and one shift.
        """
        result: Value = 0
        position = 0
        while position < len(images):
            if images[position] == 0:
                position += 1
                continue
            length = _run_length(images, position)
            result = self.xor(result, self._shifted_bits(source, position, length, images[position]))
            position += length
        return result

    def _shifted_bits(self, source: Value, position: int, length: int, image: int) -> Value:
        field = self.and_(source, ((1 << length) - 1) << position)
        if image & (image - 1) == 0:
            return self.shift(field, image.bit_length() - 1 - position)
        return self.mul(self.shift(field, -position), image)

    def uniqued(self, value: Value) -> SSAValue:
        """A value as an SSA value; raises InternalError for a known integer."""
        if isinstance(value, int):
            raise InternalError("known-integer", f"a non-integer instruction has the integer operand {value}")
        return value

    # ---- conversions -------------------------------------------------------------------------------
    def cast(self, opcode: str, value: Value, target: Kind, source: Attribute = I32) -> SSAValue[Kind]:
        """A conversion to ``target``; ``source`` is the type of a known integer."""
        return self.pure(CASTS[opcode], (self.of(value, source),), target)

    def widen(self, a: Value) -> Value:
        """A signed 32-bit value as 64 bits."""
        return a if isinstance(a, int) else self.cast("sext", a, I64)

    def pointer(self, address: Value, space: int) -> SSAValue:
        """A 32-bit address as a pointer into an address space."""
        return self.cast("inttoptr", address, pointer(space))

    def bitcast(self, value: Value, target: Attribute, source: Attribute = I32) -> Value:
        """Reinterpret the bits as another type; an integer of the same type is returned as it is."""
        if (source if isinstance(value, int) else value.type) == target:
            return value
        return self.cast("bitcast", value, target, source)

    def negate(self, value: SSAValue) -> SSAValue:
        """``fneg``"""
        return self.pure(llvm.FNegOp, (value,), value.type, {"fastmathFlags": NO_FAST_MATH})

    def bridge(self, value: Value, type: Kind, source: Attribute = I32) -> SSAValue[Kind]:
        """The value bridged to the type of an operation that is converted later; ``source`` is the type of a known
        integer.
        """
        return self.pure(UnrealizedConversionCastOp, (self.of(value, source),), type)

    def concatenated(self, registers: Sequence[Value], type: Kind) -> SSAValue[Kind]:
        """``bridge`` of the registers that hold a value; known integers have 32 bits."""
        return self.value(UnrealizedConversionCastOp, tuple([self.of(value, I32) for value in registers]), type)

    # ---- vectors and structs -----------------------------------------------------------------------
    def element(self, vector: SSAValue[VectorType], index: int) -> SSAValue:
        """``extractelement``"""
        return self.pure(ExtractElementOp, (vector, self.constant(index, I32)), vector.type.element_type)

    def vector(self, values: Sequence[Value], type: VectorType) -> SSAValue[VectorType]:
        """A vector of type ``type`` of the values."""
        result = self.undefined(type)
        for index, value in enumerate(values):
            operands = (result, self.of(value, type.element_type), self.constant(index, I32))
            result = self.pure(llvm.InsertElementOp, operands, type)
        return result

    def field(self, struct: SSAValue[llvm.LLVMStructType], index: int) -> SSAValue:
        """``extractvalue``"""
        position = {"position": field_position(index)}
        return self.value(llvm.ExtractValueOp, (struct,), struct.type.types.data[index], position)

    def unpack(self, struct: SSAValue[llvm.LLVMStructType]) -> list[SSAValue]:
        """All fields of a struct."""
        types = struct.type.types.data
        return [
            self.value(llvm.ExtractValueOp, (struct,), type, {"position": field_position(index)})
            for index, type in enumerate(types)
        ]

    # ---- memory ------------------------------------------------------------------------------------
    def offset(self, base: SSAValue, index: Value, element: Attribute, index_type: Attribute = I64) -> SSAValue:
        """``getelementptr``: the address of ``base[index]``."""
        properties = {"elem_type": element, "rawConstantIndices": DYNAMIC, "noWrapFlags": _NO_WRAP}
        return self.pure(llvm.GEPOp, (base, self.of(index, index_type)), base.type, properties, id(element))

    def load(self, type: Attribute, address: SSAValue, alignment: int, **flags: Attribute) -> SSAValue:
        """``load``; flags are those of the operation: ``volatile_``, ``invariant``."""
        op = self.operation(llvm.LoadOp, (address,), (type,), _access(alignment))
        op.attributes |= flags
        return op.results[0]

    def load_invariant(self, type: Attribute, address: SSAValue, alignment: int) -> SSAValue:
        """A load of invariant memory, reused like a pure value."""
        result = self.pure(llvm.LoadOp, (address,), type, _access(alignment), "invariant")
        defining_op(result).attributes["invariant"] = UnitAttr()
        return result

    def store(self, value: Value, address: SSAValue, alignment: int, type: Attribute = I64) -> None:
        self.operation(llvm.StoreOp, (self.of(value, type), address), (), _access(alignment))

    # ---- instructions --------------------------------------------------------------------------------
    @overload
    def issue(
        self, kind: builtins.type[TableOp], *operands: Operand, type: Kind, **attributes: Plain
    ) -> SSAValue[Kind]: ...

    @overload
    def issue(
        self, kind: builtins.type[TableOp], *operands: Operand, type: None = None, **attributes: Plain
    ) -> None: ...

    def issue(
        self,
        kind: builtins.type[TableOp],
        *operands: Operand,
        type: Attribute | None = None,
        **attributes: Plain,
    ) -> SSAValue | None:
        """Emit an instruction of the instruction tables; ``operands`` has one entry per operand group. Returns its result, if any.

        Integers among the operands are constants of 32 bits. Attributes that are False or None are left out. An
        instruction without effects is reused where an equal one is known.
        """
        if type is None or not _is_pure(kind):
            results = self.issue_several(kind, *operands, types=() if type is None else (type,), **attributes)
            return next(iter(results), None)
        flat, sizes = self._flat(operands)
        properties: dict[str, Attribute] | None = {"operandSegmentSizes": segments(*sizes)} if kind.segmented else None
        result = self.pure(kind, flat, type, properties, (sizes, tuple(attributes.items())))
        if attributes:
            defining_op(result).attributes |= attributes_of(attributes)
        return result

    def issue_several(
        self,
        kind: builtins.type[TableOp],
        *operands: Operand,
        types: Sequence[Attribute],
        **attributes: Plain,
    ) -> Sequence[SSAValue]:
        """An operation with one result for each of ``types``."""
        flat, sizes = self._flat(operands)
        groups = {"operandSegmentSizes": segments(*sizes)} if kind.segmented else None
        op = self.operation(kind, flat, tuple(types), groups)
        if attributes:
            op.attributes |= attributes_of(attributes)
        return op.results

    def issue_in_group(
        self,
        kind: builtins.type[Operation],
        *operands: Operand,
        types: tuple[Attribute, ...] = (),
        properties: dict[str, Attribute] | None = None,
    ) -> Operation:
        """An operation of an MLIR dialect, with one entry per operand group."""
        flat, sizes = self._flat(operands)
        groups = {"operandSegmentSizes": segments(*sizes)}
        return self.operation(kind, flat, types, groups if properties is None else properties | groups)

    def _flat(self, operands: Sequence[Operand]) -> tuple[tuple[SSAValue, ...], tuple[int, ...]]:
        """The operands of all groups, and the size of each group."""
        flat: list[SSAValue] = []
        sizes: list[int] = []
        for entry in operands:
            if entry is None:
                sizes.append(0)
            elif not isinstance(entry, GROUP) and isinstance(entry, _ONE):
                flat.append(self.of(entry, I32))
                sizes.append(1)
            else:
                flat += [self.of(value, I32) for value in entry]
                sizes.append(len(entry))
        return tuple(flat), tuple(sizes)

    def query(self, kind: type[Operation], axis: str = "x") -> SSAValue:
        """A position in the grid, by an index query of ``gpu``, as 32 bits."""
        index = self.pure(kind, (), INDEX, {"dimension": DimensionAttr(DimensionEnum(axis))}, axis)
        return self.pure(IndexCastOp, (index,), I32)

    def dynamic_shared_memory(self) -> SSAValue:
        """A pointer to the start of dynamic shared memory."""
        memory = self.pure(DynamicSharedMemoryOp, (), DYNAMIC_SHARED_MEMORY)
        return self.bridge(memory, pointer(SHARED))

    def shuffle(self, mode: ShuffleMode, register: Value, argument: Value, type: Attribute = I32) -> SSAValue:
        """A register, i32 or f32, of another lane; ``argument`` selects it, as defined by the mode."""
        operands = (self.of(register, type), self.of(argument, I32), self.constant(WARP, I32))
        return self.operation(ShuffleOp, operands, (type, I1), {"mode": _MODES[mode]}).results[0]

    def subgroup_reduce(self, kind: ReduceKind, value: Value, type: Attribute) -> SSAValue:
        """Reduce the values of all lanes of the warp, with the result in each lane."""
        return self.value(SubgroupReduceOp, (self.of(value, type),), type, {"op": ReduceKindAttr(kind)})

    # ---- calls -------------------------------------------------------------------------------------
    @overload
    def call(self, symbol: str, operands: Sequence[SSAValue], type: Attribute) -> SSAValue: ...

    @overload
    def call(self, symbol: str, operands: Sequence[SSAValue], type: None = None) -> None: ...

    def call(self, symbol: str, operands: Sequence[SSAValue], type: Attribute | None = None) -> SSAValue | None:
        """Call a declared function; return its result, if any."""
        types = () if type is None else (type,)
        op = self.operation(llvm.CallOp, tuple(operands), types, call_properties(symbol, len(operands)))
        return op.results[0] if op.results else None


def _access(alignment: int) -> dict[str, Attribute]:
    """The properties of an unordered memory access."""
    return {"alignment": integer_attr(alignment, i64), "ordering": integer_attr(0, i64)}


@cache
def _is_pure(kind: builtins.type[TableOp]) -> bool:
    return kind.has_trait(Pure)


def _run_length(images: Sequence[int], position: int) -> int:
    """The number of bits from ``position`` on that move by the same distance: the image doubles with each."""
    first = images[position]
    if first & (first - 1):
        return 1  # several target bits: a multiplication by the image spreads one source bit
    length = 1
    while position + length < len(images) and images[position + length] == first << length:
        length += 1
    return length
