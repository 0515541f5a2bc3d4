"""Rows of the instruction table: the form of an operation of ``nvvm`` in LLVM IR.

An ``Intrinsic`` row names the LLVM intrinsic of a single instruction. An ``Assembly`` row is a PTX template with LLVM's
constraints, if there is no intrinsic: for sequences, predicates, and modifiers that depend on operands. The effects of
a row are those of its instruction; a call without effects may be moved or dropped. The required capability follows from
its name or template (``target/isa/llvm_intrinsics.py``, ``ptx_instructions.py``).
Sources: PTX ISA 9.0 for templates, LLVM's IntrinsicsNVVM.td for names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FixedBitwidthType, IntegerAttr, IntegerType, StringAttr, VectorType, i32
from xdsl.dialects.llvm import ConstantOp, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Operation, SSAValue

from ....core.errors import InternalError
from ..fast_xdsl import operands_of
from ..op_definition import TableOp, define

NONE, READ, WRITE, ALL = "none", "read", "write", "readwrite"
GLOBAL, SHARED, CLUSTER = 1, 3, 7

Text = str | Callable[..., str]


@dataclass(frozen=True)
class Extended:
    """An argument that is zero-extended to a wider integer type."""

    value: SSAValue
    type: IntegerType


@dataclass(frozen=True)
class Address:
    """An argument that is a pointer to an address space: an address, possibly an integer, plus an offset in bytes."""

    address: SSAValue
    offset: int
    space: int


# An integer is a constant of the row's width, or of its own type.
Argument = SSAValue | int | IntegerAttr | Extended | Address


@dataclass(frozen=True)
class Intrinsic:
    """A call of ``llvm.nvvm.<name>``; ``arguments`` default to the operands, integers among them are ``constants``."""

    name: Text
    effects: str = NONE
    convergent: bool = False
    arguments: Callable[..., Sequence[Argument]] | None = None
    result: Attribute | None = None  # of the intrinsic, if the operation has none
    constants: Attribute = i32

    kind = "intrinsic"

    def intrinsic(self, op: Operation) -> str:
        """The full name for one operation."""
        name = self.name if isinstance(self.name, str) else self.name(op)
        return name if name.startswith("llvm.") else f"llvm.nvvm.{name}"

    def values(self, op: Operation) -> Sequence[Argument]:
        """The arguments of the call."""
        return operands_of(op) if self.arguments is None else self.arguments(op)


@dataclass(frozen=True)
class Assembly:
    """Inline assembly; the first ``tied`` operands share the registers of the results. ``early``: results are written
    before all operands are read (LLVM's ``&``). ``immediates``: constant operands are printed in the text.
    """

    template: Text
    effects: str = ALL
    convergent: bool = False
    operands: Callable[..., Sequence[SSAValue]] | None = None
    tied_operands: int | Callable[..., int] = 0
    early_clobber: bool = False
    immediates: bool = False

    kind = "assembly"

    def text(self, op: Operation) -> str:
        """The PTX template for one operation."""
        return self.template if isinstance(self.template, str) else self.template(op)

    def values(self, op: Operation) -> Sequence[SSAValue]:
        """The operands in the order of the template."""
        return operands_of(op) if self.operands is None else self.operands(op)

    def constraints(self, op: Operation) -> str:
        """One letter per result and operand; memory is clobbered if the instruction accesses it."""
        mark = "=&" if self.early_clobber else "="
        results = [f"{mark}{constraint(type)}" for type in result_registers(op)]
        tied = self.tied_operands if isinstance(self.tied_operands, int) else self.tied_operands(op)
        inputs = [str(index) for index in range(len(results))] if tied else []
        letters = [constraint(value.type) for value in self.values(op)[tied:]]
        if self.immediates:
            letters = ["n" if constant else letter for letter, constant in zip(letters, constants(op)[tied:])]
        inputs += letters
        memory = ["~{memory}"] if self.effects in (WRITE, ALL) else []
        return ",".join([*results, *inputs, *memory])


Row = Intrinsic | Assembly


def constants(op: Operation) -> tuple[bool, ...]:
    """Which operands are constants."""
    return tuple([isinstance(value.owner, ConstantOp) for value in operands_of(op)])


_INTEGER_LETTERS = {1: "b", 8: "h", 16: "h", 32: "r", 64: "l", 128: "q"}
_FLOAT_LETTERS = {16: "h", 32: "f", 64: "d"}


def constraint(type: Attribute) -> str:
    """LLVM's constraint letter of an operand: shared addresses have 32 bits."""
    if isinstance(type, LLVMPointerType):
        return "r" if space_of(type) in (SHARED, CLUSTER) else "l"
    if isinstance(type, VectorType):
        return _INTEGER_LETTERS[bits_of(type.element_type) * type.element_count()]
    letters = _INTEGER_LETTERS if isinstance(type, IntegerType) else _FLOAT_LETTERS
    return letters[bits_of(type)]


def space_of(type: LLVMPointerType) -> int:
    """The address space of a pointer."""
    return getattr(type.addr_space, "data", 0)


def bits_of(type: Attribute) -> int:
    """The width of a scalar type."""
    if isinstance(type, FixedBitwidthType):
        return type.bitwidth
    raise InternalError("nvvm-width", f"{type} is no scalar type")


def result_registers(op: Operation) -> list[Attribute]:
    """The types of the registers that an operation writes."""
    if not op.results:
        return []
    type = op.results[0].type
    return list(type.types) if isinstance(type, LLVMStructType) else [type]


# Operations that are defined only by their row -> the row.
INSTRUCTION_TABLE: dict[type[Operation], Row] = {}


def define_instruction(name: str, operands: str, results: str, meaning: str, row: Row) -> type[TableOp]:
    """Define the operation ``nvvm.<name>`` of one row; groups of operands are marked as in ``op_definition.define``."""
    pure = row.effects == NONE and not row.convergent
    # The row reads the attributes itself.
    made = define(f"nvvm.{name}", operands, results, meaning, pure=pure, attributes=None)
    INSTRUCTION_TABLE[made] = row
    return made


def keyword_attr(op: Operation, key: str, default: str = "") -> str:
    """A string attribute."""
    found = op.attributes.get(key)
    return found.data if isinstance(found, StringAttr) else default


def int_attr(op: Operation, key: str, default: int = 0) -> int:
    """An integer attribute."""
    found = op.attributes.get(key)
    return found.value.data if isinstance(found, IntegerAttr) else default


def braced(start: int, count: int) -> str:
    """``{$2, $3}``: operands of a template as one vector."""
    return "{" + ", ".join(f"${index}" for index in range(start, start + count)) + "}"
