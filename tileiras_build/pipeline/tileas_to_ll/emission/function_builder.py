"""Insertion points of one function: blocks, the prologue, constants, and available values.

A value is a Python int (a known integer, whose type depends on its use) or an SSA value. A pure value is reused if an
equal one was computed before in an enclosing block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, FloatAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....core.errors import InternalError
from ....ir.casting import cast
from ....ir.dialects.fast_xdsl import add_arguments, append, create, integer_attr, move_operations, segments
from ....ir.dialects.llvm_ext import BRANCH_WEIGHTS
from ...common.llvm_type_constructors import GENERIC, I1, I32, pointer
from ...rewriting.folding_builder import FoldingBuilder, Value

Kind = TypeVar("Kind", bound=Attribute)
Branch = TypeVar("Branch")
Edge = tuple[Sequence[Value], Block]
BranchWeights = tuple[int, int]

# Key of an available value: the operation's class, operands, type and properties.
Entry = tuple[object, ...]


class FunctionBuilder(FoldingBuilder):
    """Operations of one function body: the entry block's first part is the prologue, which dominates everything."""

    def __init__(self):
        self.region = Region()
        self.prologue, body = Block(), Block()
        self.region.add_block(self.prologue)
        self.block = body
        self._blocks: list[Block] = [body]
        # The values available in the prologue, those available at the insertion point, and those added in the current
        # scope.
        self._common: dict[Entry, Any] = {}
        self._appended: dict[Block, dict[Entry, Any]] = {}  # values added to a finished block
        self._known: dict[Entry, Any] = {}
        self._added: list[Entry] = []
        self._constants: dict[tuple[object, int], SSAValue[Any]] = {}
        # Attributes of every new operation: its debug location.
        self.attributes: dict[str, Attribute] = {}

    def finish(self) -> Region:
        """The body as a region; the builder is not used any more."""
        first, *others = self._blocks
        move_operations(first, self.prologue)
        for block in others:
            self.region.add_block(block)
        for known in (self._common, self._known, self._added, self._appended):
            known.clear()  # the keys reference this builder: without this, only the cyclic collector could free it
        return self.region

    # ---- operations --------------------------------------------------------------------------------
    def operation(
        self,
        kind: type[Operation],
        operands: tuple[SSAValue, ...],
        types: tuple[Attribute, ...] = (),
        properties: dict[str, Attribute] | None = None,
        successors: Sequence[Block] = (),
    ) -> Operation:
        """Append an operation to the current block."""
        op = create(kind, operands, types, properties, self.attributes.copy(), successors)
        append(self.block, op)
        return op

    def value(
        self,
        kind: type[Operation],
        operands: tuple[SSAValue, ...],
        type: Kind,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue[Kind]:
        """The result of a new operation."""
        results: Sequence[SSAValue[Any]] = self.operation(kind, operands, (type,), properties).results
        (result,) = results
        return result

    def pure(
        self,
        kind: type[Operation],
        operands: tuple[SSAValue, ...],
        type: Kind,
        properties: dict[str, Attribute] | None = None,
        key: object = None,
    ) -> SSAValue[Kind]:
        """``value``, reused if an equal one is available; ``key`` replaces the properties in the lookup."""
        # Keyed by identity: hashing an attribute costs more than creating the operation.
        entry: Entry
        if len(operands) == 2:
            left, right = operands
            entry = (kind, id(type), key, id(left), id(right))
        else:
            entry = (kind, id(type), key, *map(id, operands))
        if (known := self._common.get(entry)) is not None or (known := self._known.get(entry)) is not None:
            return known
        op = create(kind, operands, (type,), properties, self.attributes.copy())
        append(self.block, op)
        results: Sequence[SSAValue[Any]] = op.results
        [result] = results
        self._known[entry] = result
        self._added.append(entry)
        return result

    def get_or_create(self, key: Entry, make: Callable[[], Branch]) -> Branch:
        """The result of ``make``, several pure operations, reused if the same ``key`` is available."""
        if (known := self._known.get(key)) is None:
            known = self._known[key] = make()
            self._added.append(key)
        return known

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Values computed inside are not reused outside: they need not dominate later code."""
        outside, self._added = self._added, []
        yield
        for entry in self._added:
            del self._known[entry]
        self._added = outside

    @contextmanager
    def at_function_start(self) -> Iterator[None]:
        """Insert code that depends only on thread indices once, at the start of the function."""
        with self._inside(self.prologue, self._common):
            yield

    @contextmanager
    def at_end_of(self, block: Block) -> Iterator[None]:
        """Insert pure code before the terminator of a finished block."""
        last = cast(Operation, block.last_op)
        last.detach()
        with self._inside(block, self._appended.setdefault(block, {})):
            yield
        append(block, last)

    @contextmanager
    def _inside(self, block: Block, known: dict[Entry, Any]) -> Iterator[None]:
        kept = self.block, self._known, self._added, self.attributes
        self.block, self._known, self._added, self.attributes = block, known, [], {}
        yield
        self.block, self._known, self._added, self.attributes = kept

    # ---- constants ---------------------------------------------------------------------------------
    def constant(self, value: int, type: Attribute = I32) -> SSAValue:
        """An integer constant."""
        if (known := self._constants.get((value, id(type)))) is None:
            known = self._once(llvm.ConstantOp, type, value, {"value": integer_attr(value, type)})
        return known

    def float_constant(self, value: float, type: Attribute) -> SSAValue:
        """A floating-point constant of ``type``, in which ``value`` must be exact, and not NaN."""
        return self._once(llvm.ConstantOp, type, repr(float(value)), {"value": _float(value, type)})

    def undefined(self, type: Kind) -> SSAValue[Kind]:
        """An undefined value."""
        return self._once(llvm.UndefOp, type, "undef", {})

    def null(self, type: Attribute) -> SSAValue:
        """The null pointer, or zero of an aggregate."""
        return self._once(llvm.ZeroOp, type, "zero", {})

    def address_of(self, symbol: str, space: int = GENERIC) -> SSAValue:
        """The address of a global or function."""
        return self._once(llvm.AddressOfOp, pointer(space), f"@{symbol}", {"global_name": SymbolRefAttr(symbol)})

    def _once(self, kind: type[Operation], type: Kind, key: object, properties: dict[str, Attribute]) -> SSAValue[Kind]:
        """A value without operands in the entry block, shared by equal requests."""
        if (known := self._constants.get((key, id(type)))) is None:
            op = create(kind, (), (type,), properties)
            append(self.prologue, op)
            results: Sequence[SSAValue[Any]] = op.results
            [known] = results
            self._constants[key, id(type)] = known
        return known

    # ---- blocks ------------------------------------------------------------------------------------
    def label(self) -> Block:
        """A block to be started later."""
        return Block()

    def start(self, block: Block) -> None:
        """Set the insertion point to the start of ``block``."""
        self._blocks.append(block)
        self.block = block

    def branch(self, block: Block) -> None:
        self.operation(llvm.BrOp, (), successors=(block,))

    def branch_if(self, condition: Value, then: Block, otherwise: Block, weights: BranchWeights | None = None) -> None:
        """Branch to one of two blocks. ``weights``: how often to each of them, for LLVM's block frequencies."""
        sizes = {"operandSegmentSizes": segments(1, 0, 0)}
        op = self.operation(llvm.CondBrOp, (self.of(condition, I1),), (), sizes, (then, otherwise))
        if weights is not None:
            op.attributes[BRANCH_WEIGHTS] = DenseArrayBase.from_list(I32, weights)

    def arguments(self, types: Sequence[Attribute]) -> Sequence[SSAValue]:
        """New arguments of the current block; every branch to it must supply them (``give``)."""
        return add_arguments(self.block, types)

    def branch_with_values(
        self, values: Sequence[Value], types: Sequence[Attribute], source: Block, target: Block
    ) -> None:
        """The arguments of ``target`` that the branch at the end of ``source`` supplies."""
        last = source.last_op
        supplied = [self.of(value, type) for value, type in zip(values, types)]
        if isinstance(last, llvm.BrOp):
            last.operands = [*last.operands, *supplied]
            return
        last = cast(llvm.CondBrOp, last)
        condition, *others = last.operands
        then_count = len(last.then_arguments)
        then, otherwise = others[:then_count], others[then_count:]
        then += supplied if last.then_block is target else []
        otherwise += supplied if last.else_block is target else []
        last.operands = [condition, *then, *otherwise]
        last.properties["operandSegmentSizes"] = segments(1, len(then), len(otherwise))

    def phis(self, types: Sequence[Attribute], edges: Sequence[Edge]) -> list[Value]:
        """Phis of the current block; each of ``edges`` has its values and its source block."""
        if len(edges) == 1:
            return list(edges[0][0])
        columns = list(zip(*(values for values, _ in edges))) if types else []
        varying = [index for index, column in enumerate(columns) if not _is_one_integer(column)]
        kinds = [types[index] for index in varying]
        result = [column[0] for column in columns]
        for index, argument in zip(varying, self.arguments(kinds)):
            result[index] = argument
        for values, source in edges:
            self.branch_with_values([values[index] for index in varying], kinds, source, self.block)
        return result

    def if_else(
        self, condition: Value, then: Callable[[], Branch], otherwise: Callable[[], Branch]
    ) -> list[tuple[Branch, Block]]:
        """Emit two branches of a condition; return the result and the last block of each.

        The current block follows both.
        """
        labels, merge = (self.label(), self.label()), self.label()
        self.branch_if(condition, *labels)
        ends = []
        for label, emit_branch in zip(labels, (then, otherwise)):
            self.start(label)
            with self.scope():
                ends.append((emit_branch(), self.block))
            self.branch(merge)
        self.start(merge)
        return ends

    @contextmanager
    def if_then(self, condition: Value) -> Iterator[None]:
        """Code that executes only if a condition holds."""
        inside, done = self.label(), self.label()
        self.branch_if(condition, inside, done)
        self.start(inside)
        with self.scope():
            yield
            self.branch(done)
        self.start(done)

    def return_(self) -> None:
        self.operation(llvm.ReturnOp, ())


def _float(value: float, type: Attribute) -> Attribute:
    if isinstance(type, AnyFloat):
        return FloatAttr(value, type)
    raise InternalError("float-constant", f"{type} is not a floating-point type")


def _is_one_integer(column: Sequence[Value]) -> bool:
    first = column[0]
    return isinstance(first, int) and all(isinstance(value, int) and value == first for value in column)
