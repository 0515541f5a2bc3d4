"""The rules of this conversion, and the rewriter that they and other conversions to LLVM use.

    @rewrite(gpu.BarrierOp)
    def convert_barrier(emit, op):
        emit.replace_with(create(Barrier0Op))

Operations that are not converted still see the old types through ``builtin.unrealized_conversion_cast``; inverse pairs of
casts cancel.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from itertools import product
from typing import overload

from xdsl.dialects import arith, builtin, llvm
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    UnrealizedConversionCastOp,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.vector import ExtractOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import SymbolTable

from ....core.errors import InternalError
from ....ir.casting import unwrap
from ....ir.dialects.checked_cast import cast, type_as
from ....ir.dialects.fast_xdsl import create, item, operands_of
from ....ir.dialects.llvm_ext import BINARY, AddrSpaceCastOp, make_function, make_global
from ....ir.dialects.op_definition import TableOp
from ...common.llvm_type_constructors import GENERIC, GLOBAL, array
from ...rewriting.dialect_conversion import RuleTable
from ...rewriting.rewriter import Rewriter
from ..debug.debug_info import CARRIED_LOCATION
from ..emission.attribute_builders import Plain, attributes_of, field_position
from ..type_converter import ALIGNED, ALLOCATED, BYTE, OFFSET, SIZES, STRIDES, LLVMTypeConverter
from .llvm_type_helpers import (
    GLOBAL_POINTER,
    POINTER,
    convert_type,
    converter_of,
    elements_in_byte,
    is_memory_of_kernel,
    static_strides,
    struct_of,
)
from .symbols import has_stem, symbol

CONSTANTS = (llvm.ConstantOp, arith.ConstantOp)
REWRITES = RuleTable()
rewrite = REWRITES.rule


class Emitter(Rewriter):
    """A rewriter whose operations are those of ``llvm`` and ``nvvm``."""

    operations = BINARY
    constants = llvm.ConstantOp
    inherited = CARRIED_LOCATION

    @property
    def symbols(self) -> Operation:
        """The symbol table of this code: its gpu.module, or the module."""
        operation = self.root.parent_op()
        while operation is not None and not operation.has_trait(SymbolTable):
            operation = operation.parent_op()
        if operation is None:
            raise InternalError("no-symbol-table", f"{self.root.name} is in no module")
        return operation

    @property
    def types(self) -> LLVMTypeConverter:
        """The type converter."""
        return converter_of(self.job.index_width)

    @property
    def function(self) -> Operation | None:
        """The function that contains the root."""
        operation = self.root.parent_op()
        while operation is not None and operation.name not in ("gpu.func", "llvm.func", "func.func"):
            operation = operation.parent_op()
        return operation

    @overload
    def issue(
        self,
        kind: builtins.type[TableOp],
        *operands: SSAValue | int | Sequence[SSAValue] | None,
        type: Attribute,
        **attributes: Plain,
    ) -> SSAValue: ...

    @overload
    def issue(
        self,
        kind: builtins.type[TableOp],
        *operands: SSAValue | int | Sequence[SSAValue] | None,
        type: None = None,
        **attributes: Plain,
    ) -> None: ...

    def issue(
        self,
        kind: builtins.type[TableOp],
        *operands: SSAValue | int | Sequence[SSAValue] | None,
        type: Attribute | None = None,
        **attributes: Plain,
    ) -> SSAValue | None:
        """Emit an instruction of the instruction tables, as ``InstructionBuilder.issue`` does; return its result."""
        groups = [self.constant(entry) if isinstance(entry, int) else entry for entry in operands]
        return self.insert(kind.make(groups, [] if type is None else [type], attributes_of(attributes)))

    def constant(self, value: int | float, type: Attribute = i32) -> SSAValue:
        """An LLVM constant."""
        if isinstance(value, int) and isinstance(type, IntegerType):
            return super().constant(value, type)
        if not isinstance(type, builtin.AnyFloat):
            raise InternalError("constant-type", f"a constant of type {type}")
        return self.insert(llvm.ConstantOp(builtin.FloatAttr(float(value), type), type))

    def constant_of(self, value: SSAValue) -> int | None:
        """The constant integer of a value; None if it is not constant."""
        owner = value.owner
        if isinstance(owner, UnrealizedConversionCastOp) and len(operands_of(owner)) == 1:
            return self.constant_of(item(operands_of(owner), 0))
        constant = owner.properties["value"] if isinstance(owner, CONSTANTS) else None
        return constant.value.data if isinstance(constant, IntegerAttr) else None

    def pointer(self, address: SSAValue, type: llvm.LLVMPointerType) -> SSAValue:
        """Convert an integer to a pointer."""
        return self.insert(create(llvm.IntToPtrOp, (address,), (type,)))

    def converted(self, value: SSAValue) -> SSAValue:
        """``value`` in its LLVM form."""
        if isinstance(value.type, MemRefType) and (bare := self._bare_pointer(value)) is not None:
            return self._described(bare, value.type)
        return self.as_type(value, self.types.convert(value.type))

    def base_address(self, value: SSAValue) -> SSAValue:
        """The address of a memref's first element; any other value in its LLVM form."""
        if not isinstance(type := value.type, MemRefType):
            return self.converted(value)
        known = static_strides(type)
        start = self.field(self.converted(value), OFFSET) if known is None else known[1]
        return self.offset(self.aligned(value), start, type.element_type)

    def integer(self, value: SSAValue, type: IntegerType = i32) -> SSAValue:
        """Convert an index to an integer; constants are folded, and a cast from an integer cancels."""
        owner = value.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
            return self.constant(owner.value.value.data, type)
        if (source := self.source(value, type)) is not None:
            return source
        return self.insert(arith.IndexCastOp(value, type)) if isinstance(value.type, IndexType) else value

    def as_i64(self, value: SSAValue) -> SSAValue:
        """A signed integer in 64 bits."""
        return value if value.type == i64 else self.insert(llvm.SExtOp(value, i64))

    def field(self, aggregate: SSAValue, *position: int) -> SSAValue:
        """One field of a struct."""
        type = aggregate.type
        for index in position:
            if isinstance(type, llvm.LLVMStructType):
                type = type.types.data[index]
            else:
                type = cast(llvm.LLVMArrayType, type).type
        positions = builtin.DenseArrayBase.from_list(i64, position)
        return self.insert(llvm.ExtractValueOp(positions, aggregate, type))

    def fields(self, aggregate: SSAValue) -> list[SSAValue]:
        """All fields of a struct of registers."""
        types = type_as(aggregate, llvm.LLVMStructType).types.data
        made = [_member(aggregate, index, type) for index, type in enumerate(types)]
        return [self.insert(operation) for operation in made]

    def with_field(self, aggregate: SSAValue, value: SSAValue, *position: int) -> SSAValue:
        """The struct with one field set."""
        positions = builtin.DenseArrayBase.from_list(i64, position)
        return self.insert(llvm.InsertValueOp(positions, aggregate, value))

    def struct(self, values: Sequence[SSAValue]) -> SSAValue:
        """A struct of values."""
        result = self.insert(llvm.UndefOp(struct_of([value.type for value in values])))
        for index, value in enumerate(values):
            result = self.with_field(result, value, index)
        return result

    def lanes(self, vector: SSAValue) -> list[SSAValue]:
        """The elements of a vector, the last dimension fastest."""
        type = type_as(vector, VectorType)
        positions = product(*map(range, type.get_shape()))
        return [self.insert(ExtractOp(vector, position, type.element_type)) for position in positions]

    def rows(self, matrix: SSAValue) -> list[SSAValue]:
        """The rows of a two-dimensional vector; a row of one element is that element."""
        type = type_as(matrix, VectorType)
        (rows, columns), element = type.get_shape(), type.element_type
        if columns == 1:
            return [self.insert(ExtractOp(matrix, [row, 0], element)) for row in range(rows)]
        return [self.insert(ExtractOp(matrix, [row], VectorType(element, [columns]))) for row in range(rows)]

    def offset(self, pointer: SSAValue, index: SSAValue | int, element: Attribute) -> SSAValue:
        """The address of ``pointer[index]``."""
        if index == 0:
            return pointer
        if (count := elements_in_byte(element)) > 1:
            index, element = self._in_bytes(index, count), IntegerType(BYTE)
        step = convert_type(element)
        type = type_as(pointer, llvm.LLVMPointerType)
        return self.insert(llvm.GEPOp.from_mixed_indices(pointer, [index], step, result_type=type))

    def _in_bytes(self, index: SSAValue | int, count: int) -> SSAValue | int:
        """The index of the byte that contains an element, with ``count`` elements per byte."""
        if isinstance(index, int):
            return index // count
        return self.binary("sdiv", index, count, index.type)

    # Memory references

    def aligned(self, buffer: SSAValue) -> SSAValue:
        """The aligned pointer of a memref, the base of its offset and strides."""
        bare = self._bare_pointer(buffer)
        return self.field(self.converted(buffer), ALIGNED) if bare is None else bare

    def _bare_pointer(self, buffer: SSAValue) -> SSAValue | None:
        """The pointer of a memref that is represented by it alone: kernel arguments and buffers, and casts of them."""
        type = self.types.memory_pointer(type_as(buffer, MemRefType))
        return self.as_type(buffer, type) if is_memory_of_kernel(buffer) else self.source(buffer, type)

    def _described(self, pointer: SSAValue, type: MemRefType) -> SSAValue:
        """The descriptor of a memref with this pointer and type."""
        known = static_strides(type)
        if known is None or not type.has_static_shape():
            raise self.unsupported("memref-sizes", f"needs the sizes of a '{type}' of which there is a pointer alone")
        result = self.insert(llvm.UndefOp(cast(llvm.LLVMStructType, self.types.convert(type))))
        for place in (ALLOCATED, ALIGNED):
            result = self.with_field(result, pointer, place)
        known_entries: dict[tuple[int, ...], int] = {(OFFSET,): known[1]}
        known_entries |= {(SIZES, position): size for position, size in enumerate(type.get_shape())}
        known_entries |= {(STRIDES, position): stride for position, stride in enumerate(known[0])}
        for position, entry in known_entries.items():
            result = self.with_field(result, self.constant(entry, self.types.index), *position)
        return result

    def address(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """The address of an element of a memref."""
        type = type_as(buffer, MemRefType)
        known = static_strides(type)
        if known is None:
            return self._dynamic_address(buffer, indices)
        return self.offset(self.aligned(buffer), self.position(indices, *known), type.element_type)

    def position(self, indices: Sequence[SSAValue], strides: Sequence[int], start: int) -> SSAValue | int:
        """The linear index of an element in a memref."""
        total: SSAValue | None = None
        for index, stride in zip(indices, strides, strict=True):
            if (constant := self.constant_of(index)) is not None:
                start += constant * stride
                continue
            term = self.integer(index, i64)
            if stride != 1:
                term = self.binary("mul", term, stride, i64)
            total = term if total is None else self.binary("add", total, term, i64)
        if total is None:
            return start
        return self.binary("add", total, start, i64) if start else total

    def _dynamic_address(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        descriptor = self.converted(buffer)
        total = self.as_i64(self.field(descriptor, OFFSET))
        for position, index in enumerate(indices):
            stride = self.as_i64(self.field(descriptor, STRIDES, position))
            total = self.binary("add", total, self.binary("mul", self.integer(index, i64), stride, i64), i64)
        return self.offset(self.field(descriptor, ALIGNED), total, type_as(buffer, MemRefType).element_type)

    # Symbols

    def declare(self, name: str, type: llvm.LLVMFunctionType) -> None:
        """Declare an external function once; raises Unsupported if the symbol is already taken."""
        known = symbol(self.symbols, name)
        if known is None:
            self._insert_at_module_start(make_function(name, type))
        elif not isinstance(known, llvm.FuncOp) or known.function_type != type:
            raise self.unsupported("symbol-taken", f"calls @{name} of type {type}, but the module defines another one")

    def fresh_symbol(self, stem: str) -> str:
        """``stem``, or the first of stem_0, stem_1, … that is free."""
        name, count = stem, 0
        while symbol(self.symbols, name) is not None:
            name, count = f"{stem}_{count}", count + 1
        return name

    def add_global(self, operation: llvm.GlobalOp) -> llvm.GlobalOp:
        """Put a global at the start of the module."""
        self._insert_at_module_start(operation)
        return operation

    def _insert_at_module_start(self, operation: Operation) -> None:
        block = self.symbols.regions[0].blocks[0]
        block.insert_op_before(operation, unwrap(block.first_op))

    def host_string(self, stem: str, text: str) -> SSAValue:
        """The address of a constant NUL-terminated string; equal strings of one stem share a global."""
        return self.insert(llvm.AddressOfOp(self._string(stem, text), POINTER))

    def device_string(self, stem: str, text: str) -> SSAValue:
        """The same in global memory, as a generic address."""
        place = self.insert(llvm.AddressOfOp(self._string(stem, text, GLOBAL, alignment=1), GLOBAL_POINTER))
        return self.insert(AddrSpaceCastOp(place, POINTER))

    def _string(self, stem: str, text: str, space: int = GENERIC, alignment: int | None = None) -> str:
        value = StringAttr(text + "\0")
        for operation in self.symbols.regions[0].blocks[0].ops:
            if isinstance(operation, llvm.GlobalOp) and operation.value == value and has_stem(operation, stem):
                return operation.sym_name.data
        type = array(len(value.data.encode()), IntegerType(8))
        name = self.fresh_symbol(stem)
        self.add_global(make_global(type, name, "internal", space, constant=True, value=value, alignment=alignment))
        return name

    def stack(self, type: Attribute, alignment: int) -> SSAValue:
        """A stack object of the function, shared by all users of this type."""
        entry = unwrap(self.function).regions[0].blocks[0]
        if (entry, type) not in self.shared:
            self.shared[entry, type] = self.object(type, alignment)
        return self.shared[entry, type]

    def object(self, type: Attribute, alignment: int) -> SSAValue:
        """A stack object, allocated at function entry so that loops around the root do not allocate more."""
        inside = self.at(unwrap(unwrap(self.function).regions[0].blocks[0].first_op))
        return inside.insert(llvm.AllocaOp(inside.constant(1), type, alignment))


def _member(aggregate: SSAValue, index: int, type: Attribute) -> llvm.ExtractValueOp:
    return create(llvm.ExtractValueOp, (aggregate,), (type,), {"position": field_position(index)})
