"""Translate source locations and debuginfo operations to the LLVM dialect's debug metadata.

In:    gpu.module operations with functions; locations of operations (MLIR's own, or the attribute ``loc`` of our text
       artifacts); debuginfo.value and debuginfo.variable.
Out:   ``dbg`` attributes (#llvm.di_compile_unit on the module, #llvm.di_subprogram on functions, #llvm.di_location on
       operations), llvm.nvvm.move and llvm.intr.dbg.*, as selected by debug_info.MODES. No debuginfo operation.
After: the target is attached. Before: translation to LLVM IR.
Sound: besides pins, only extractvalue, extractelement and their constant indices are added. Only debug intrinsics use
       them, except that users of a parameter use its pin, which has the same value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    SymbolRefAttr,
    TupleType,
    UnknownLoc,
    UnrealizedConversionCastOp,
    i1,
    i32,
    i64,
)
from xdsl.dialects.llvm import ConstantOp, ExtractValueOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....core.errors import Diagnostics, InternalError, InvalidInput, Location, Unsupported
from ....ir.casting import cast, unwrap
from ....ir.dialects.debuginfo.attrs import DIExpression, DILocalVariable, DILocation, DISubprogram
from ....ir.dialects.debuginfo.ops import (
    DbgAddrOp,
    DbgDeclareOp,
    DbgValueOp,
    ExtractElementOp,
    MoveOp,
    PlaceholderOp,
    ValueOp,
    VariableAttr,
    VariableOp,
)
from ....ir.dialects.fast_xdsl import ops_of_kind, walk
from ...job import Job
from ...pass_manager import EdgePass
from ..attach_nvvm_target import device_modules
from .debug_info import CARRIED_LOCATION, DBG, SCOPE, Mode, Scopes, mode_of, nested_region, positions
from .debug_value_types import Leaf, aggregate_type, leaves, members_of, source_type

FUNCTIONS = ("gpu.func", "llvm.func", "func.func")
# Kind of debug value -> its intrinsic.
INTRINSICS = {"value": DbgValueOp, "declare": DbgDeclareOp, "addr": DbgAddrOp}


# ---- locations -------------------------------------------------------------------------------------
def location_of(op: Operation) -> Attribute:
    """The location of an operation: the attribute of our text artifacts, else MLIR's own."""
    return op.attributes.get("loc", op.location)


def diagnostic_location(op: Operation) -> Location | None:
    """The source location for diagnostics about an operation: its own, or that of its nearest ancestor with one."""
    current: Operation | None = op
    while current is not None:
        for position in positions(location_of(current)):
            return Location(position.file, position.line, position.column)
        current = current.parent_op()
    return None


def _first_location(region: Region) -> Attribute | None:
    for block in region.blocks:
        for op in block.ops:
            if next(positions(location_of(op)), None) is not None:
                return location_of(op)
    return None


# ---- the pass --------------------------------------------------------------------------------------
class TranslateDebugInfo(EdgePass):
    """Debug metadata of the LLVM dialect from locations and debug values."""

    name = "convert-debuginfo-to-llvm"
    illegal_ops = frozenset({"debuginfo."})

    def run(self, module: ModuleOp, job: Job) -> None:
        found = Diagnostics()
        for device_module in device_modules(module):
            if device_module is not module:
                _ModuleTranslator(device_module, mode_of(job), found).run()
        found.raise_if_any()


class _ModuleTranslator:
    """One device module: its compile unit, the subprograms of its functions."""

    def __init__(self, module: Operation, mode: Mode, found: Diagnostics):
        self.module, self.mode, self.found = module, mode, found
        self.scopes = Scopes(mode)
        self.placeholders: list[PlaceholderOp] = []
        self.variables = {op.sym_name.data: op.variable for op in self._top() if isinstance(op, VariableOp)}

    def _top(self) -> list[Operation]:
        return list(self.module.regions[0].block.ops)

    def run(self) -> None:
        for op in self._top():
            if op.name in FUNCTIONS and op.regions[0].blocks:
                self._function(op)
        for op in self._top():
            if isinstance(op, VariableOp):
                Rewriter.erase_op(op)
        if self.scopes.unit is not None:
            self.module.attributes[DBG] = self.scopes.unit
        self._diagnose()

    def _function(self, function: Operation) -> None:
        scope = None
        if self.mode.locations:
            start: Attribute | None = location_of(function)
            if isinstance(start, UnknownLoc):
                start = _first_location(function.regions[0])
            scope = self.scopes.function(_symbol(function), start)
        everything = walk(function)
        if scope is not None:
            self._locations(everything, scope)
            function.attributes[DBG] = scope
        for op in everything:
            if op.attributes:
                for name in CARRIED_LOCATION:
                    op.attributes.pop(name, None)
        for op in ops_of_kind(everything, ValueOp):
            if self.mode.variables:
                self._value(op, scope)
            else:
                Rewriter.erase_op(op)

    def _locations(self, everything: list[Operation], function: DISubprogram) -> None:
        # Keyed by identity: operations with one origin share their location, and hashing it costs more than creating a
        # node.
        known: dict[tuple[int, int], DILocation | None] = {}
        for op in everything:
            place, start = location_of(op), self._scope_start(op)
            if (key := (id(place), id(start))) not in known:
                scope = function if start is None else self.scopes.block(function, start)
                known[key] = self.scopes.location(place, scope)
            if (node := known[key]) is not None:
                op.attributes[DBG] = node

    def _scope_start(self, op: Operation) -> Attribute | None:
        """The start of the region that contains an operation, or contained it before the conversion to branches."""
        if not self.mode.variables or (start := op.attributes.get(SCOPE)) is not None:
            return start if self.mode.variables else None
        region = nested_region(op)
        return None if region is None else _first_location(region)

    # ---- debug values ------------------------------------------------------------------------------
    def _value(self, op: ValueOp, function: DISubprogram | None) -> None:
        variable = self._variable(op, function)
        if variable is None:
            Rewriter.erase_op(op)
            return
        every = list(leaves(op.value.type))
        unresolved = [leaf for leaf in every if leaf.type is None]
        for leaf in unresolved:
            if leaf.path:
                self._placeholder(op, _reason(leaf))
            else:
                self.found.add(_unsupported(op, leaf.source))
        if not unresolved:
            _describe(op, every, variable)
        Rewriter.erase_op(op)

    def _placeholder(self, op: Operation, reason: str) -> None:
        placeholder = PlaceholderOp(reason, i64)
        _before(op, placeholder)
        self.placeholders.append(placeholder)

    def _variable(self, op: ValueOp, function: DISubprogram | None) -> DILocalVariable | None:
        described = self._described(op)
        if described is None:
            return None
        if function is None:
            self._placeholder(op, f"variable {described.source_name} is in a function whose source is unknown")
            return None
        node = op.attributes.get(DBG)
        place = node if isinstance(node, DILocation) else None
        # A parameter is declared at the line of its function.
        declared = function if described.arg is not None or place is None else place
        scope = declared.scope if isinstance(declared, DILocation) else function
        line = described.line if described.line is not None else declared.line
        return DILocalVariable.of(
            scope=scope,
            name=_variable_name(op, described),
            file=scope.file,
            line=line,
            arg=described.arg,
            type=described.type or source_type(op.value.type),
        )

    def _described(self, op: ValueOp) -> VariableAttr | None:
        """The variable of a debug value; None if its symbol is undefined."""
        if not isinstance(op.variable, SymbolRefAttr):
            return cast(VariableAttr, op.variable)
        symbol = op.variable.string_value()
        if symbol not in self.variables:
            self._placeholder(op, f"variable @{symbol} is not defined")
        return self.variables.get(symbol)

    def _diagnose(self) -> None:
        """Report every operand that is still a placeholder, at its source line."""
        for op in self.placeholders:
            self.found.add(
                InvalidInput(
                    "debug-unresolved",
                    f"unresolved debug metadata: {op.reason.data}",
                    location=diagnostic_location(op),
                    remedy="define the variable in the same gpu.module, or drop the debug value",
                )
            )


def _describe(op: ValueOp, every: list[Leaf], variable: DILocalVariable) -> None:
    """Add an intrinsic for each scalar of the value, which reads it through a pin."""
    intrinsic = _intrinsic(op)
    value = op.value
    if isinstance(value.type, TupleType):
        value = _bridge(op, value, aggregate_type(value.type))
    for leaf in every:
        source = _materialize(op, value, leaf)
        # An i1 is the result of a comparison: there is no register to pin.
        pinned = source if leaf.type == i1 else _before(op, MoveOp(source))
        if variable.arg is not None and source is op.value and op.parent is _first_block(op):
            _read_through(op, pinned)
        steps = op.expression.data
        if leaf.path:
            steps += DIExpression.fragment(leaf.offset, leaf.size).data
        _before(op, intrinsic(pinned, variable, DIExpression(steps)))


def _first_block(op: Operation) -> Block | None:
    region = op.parent_region()
    return None if region is None else region.first_block


def _read_through(op: ValueOp, pinned: SSAValue) -> None:
    """Replace later uses of a parameter by its pin, whose register is the variable."""
    earlier: set[Operation] = {op}
    current: Operation | None = op.prev_op
    while current is not None:
        earlier.add(current)
        current = current.prev_op
    for use in list(op.value.uses):
        if use.operation not in earlier:
            use.operation.operands[use.index] = pinned


def _symbol(function: Operation) -> str:
    return cast(StringAttr, function.properties["sym_name"]).data


def _variable_name(op: ValueOp, described: VariableAttr) -> str:
    """The variable's own name, else the name in the operation's location."""
    place = location_of(op)
    if described.source_name or not isinstance(place, NameLoc):
        return described.source_name
    return place.desc.data


def _intrinsic(op: ValueOp) -> Callable:
    kind = op.kind_name
    if kind not in INTRINSICS:
        raise InternalError(
            "debug-operation",
            f"Building op `llvm.intr.dbg.{kind}` but it isn't known in this MLIRContext",
            location=diagnostic_location(op),
            remedy=f"use the kind {', '.join(INTRINSICS)}",
        )
    return INTRINSICS[kind]


def _unsupported(op: ValueOp, type: Attribute) -> Unsupported:
    return Unsupported(
        "debug-type",
        f"unsupported debug value type {type}",
        location=diagnostic_location(op),
        remedy="describe an integer, a float, a pointer, or a vector or struct of these",
    )


def _reason(leaf: Leaf) -> str:
    where = "".join(f"[{index}]" for _, index in leaf.path)
    return f"member {where} of the value has type {leaf.source}, which has no debug operand form"


def _before(op: Operation, made: Operation) -> Any:
    """Insert ``made`` before ``op``, at the same source position; its result where it has one."""
    if DBG in op.attributes:
        made.attributes[DBG] = op.attributes[DBG]
    made.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
    return made.results[0] if made.results else None


def _materialize(op: ValueOp, value: SSAValue, leaf: Leaf) -> SSAValue:
    """Extract the scalar of a leaf from the debugged value."""
    for kind, index in leaf.path:
        if kind == "lane":
            position = _before(op, ConstantOp(IntegerAttr(index, i32), i32))
            value = _before(op, ExtractElementOp(value, position))
        else:
            _, types = unwrap(members_of(value.type))
            value = _before(op, ExtractValueOp(DenseArrayBase.from_list(i64, [index]), value, types[index]))
    return value if value.type == leaf.type else _bridge(op, value, unwrap(leaf.type))


def _bridge(op: ValueOp, value: SSAValue, type: Attribute) -> SSAValue:
    """The value in its register type, bridged by a cast until casts are reconciled."""
    owner = value.owner
    if isinstance(owner, UnrealizedConversionCastOp) and owner.inputs.types == (type,):
        return owner.inputs[0]
    return _before(op, UnrealizedConversionCastOp.cast_one(value, type)[0])
