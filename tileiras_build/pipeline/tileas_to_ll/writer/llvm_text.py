"""The parts of LLVM IR text: types, constants, and the lines of one function."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from xdsl.dialects import builtin, llvm
from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....core.errors import Unsupported
from ....ir.casting import cast
from ....ir.dialects.debuginfo.attrs import Node
from ....ir.dialects.debuginfo.llvm_debug_metadata import DebugMetadata
from ...common.llvm_type_constructors import FLOATS
from ..debug.debug_info import DBG

EMPTY_NODE = 0  # the number of the metadata node without operands

_FLOATS = {type.__class__: name for name, type in FLOATS.items()}


def type_text(type: Attribute) -> str:
    """LLVM's spelling of a type; raises Unsupported for a type of another dialect."""
    if (known := _TYPE_TEXTS.get(id(type))) is None:
        if len(_TYPE_TEXTS) > MAX_CACHED_TYPES:
            _TYPE_TEXTS.clear()
        # A reference to the type keeps its identity from being reused.
        known = _TYPE_TEXTS[id(type)] = type, _type_text(type)
    return known[1]


_TYPE_TEXTS: dict[int, tuple[Attribute, str]] = {}
MAX_CACHED_TYPES = 4096


def _type_text(type: Attribute) -> str:
    if isinstance(type, IntegerType):
        return f"i{type.width.data}"
    if isinstance(type, llvm.LLVMPointerType):
        space = getattr(type.addr_space, "data", 0)
        return f"ptr addrspace({space})" if space else "ptr"
    if type.__class__ in _FLOATS:
        return _FLOATS[type.__class__]
    return _aggregate(type)


def _aggregate(type: Attribute) -> str:
    if isinstance(type, VectorType) and len(type.get_shape()) == 1:
        return f"<{type.element_count()} x {type_text(type.element_type)}>"
    if isinstance(type, llvm.LLVMArrayType):
        return f"[{type.size.data} x {type_text(type.type)}]"
    if isinstance(type, llvm.LLVMStructType):
        return f"{{ {', '.join(map(type_text, type.types))} }}"
    if isinstance(type, llvm.LLVMVoidType):
        return "void"
    raise Unsupported("ll-type", f"type {type} has no LLVM form", remedy="convert the operation that makes it")


def constant_text(value: Attribute, type: Attribute) -> str:
    """A constant as written after its type."""
    if isinstance(value, builtin.DenseIntOrFPElementsAttr):
        return _elements_text(list(value.iter_attrs()), type)
    if isinstance(value, builtin.IntegerAttr):
        return str(value.value.data) if type != builtin.i1 else "true" if value.value.data else "false"
    if isinstance(value, builtin.FloatAttr):
        # LLVM accepts every float constant as the bits of the double of the same value.
        return f"0x{struct.unpack('<Q', struct.pack('<d', value.value.data))[0]:016X}"
    raise Unsupported("ll-constant", f"constant {value} of type {type} has no LLVM form")


def _elements_text(elements: list[Attribute], type: Attribute) -> str:
    """The elements of a vector, or of the rows of an array, each after its type."""
    if isinstance(type, llvm.LLVMArrayType):
        size = len(elements) // max(type.size.data, 1)
        rows = [elements[row * size : (row + 1) * size] for row in range(type.size.data)]
        return f"[{', '.join(f'{type_text(type.type)} {_elements_text(row, type.type)}' for row in rows)}]"
    if not isinstance(type, VectorType):
        return constant_text(elements[0], type)
    element = type.element_type
    return f"<{', '.join(f'{type_text(element)} {constant_text(entry, element)}' for entry in elements)}>"


class _Names(dict[int, str]):
    """The names of values, by identity; an unknown value gets a new register."""

    count = 0

    def __missing__(self, value: int) -> str:
        self[value] = name = f"%v{self.count}"
        self.count += 1
        return name

    def fresh(self) -> str:
        name = f"%v{self.count}"
        self.count += 1
        return name


class FunctionWriter:
    """The lines of one function."""

    def __init__(self, debug: DebugMetadata):
        self.debug = debug
        self.lines: list[str] = []
        self.names = _Names()
        self.blocks: dict[Block, str] = {}

    def name(self, value: SSAValue) -> str:
        """The name of a value: a constant, a global, or a register."""
        return self.names[id(value)]

    def fresh(self) -> str:
        """A new register name."""
        return self.names.fresh()

    def typed(self, value: SSAValue) -> str:
        """Type and name."""
        type = value.type
        known = _TYPE_TEXTS.get(id(type))
        return f"{type_text(type) if known is None else known[1]} {self.names[id(value)]}"

    def typed_list(self, values: Iterable[SSAValue]) -> str:
        """Types and names, as arguments of a call."""
        return ", ".join([f"{type_text(value.type)} {self.names[id(value)]}" for value in values])

    def emit(self, op: Operation, text: str) -> None:
        """Append a line, with the result's name if there is one."""
        if op.attributes and (place := op.attributes.get(DBG)) is not None:
            text = f"{text}, !dbg !{self.debug.number(cast(Node, place))}"
        if op.results:
            [result] = op.results
            self.lines.append(f"  {self.names[id(result)]} = {text}")
        else:
            self.lines.append(f"  {text}")


def alignment_text(op: Operation) -> str:
    """``, align N`` of an operation with an alignment."""
    found = op.properties.get("alignment")
    return f", align {found.value.data}" if isinstance(found, builtin.IntegerAttr) else ""
