"""Modules, kernels and variables of cuda_tile, and queries of the grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i32
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import opt_prop_def, prop_def, region_def, result_def, traits_def
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface, SymbolTable

from ..fast_xdsl import block_operations, operands_of
from .attrs import DenseConstantAttr, OptimizationHintsAttr
from .enums import SymbolVisibilityAttr
from .location import LOC, CallSiteLocAttr, DILocAttr, DISubprogramAttr, subprogram_of
from .op_base import PureOperation, TileOperation, define, fail, pointer_type, pointers, scalars
from .types import TileType


def block_types(region: Region) -> tuple[Attribute, ...]:
    """Types of the arguments of a region's only block."""
    if len(region.blocks) != 1:
        fail(f"expected a region of one block, got {len(region.blocks)}")
    return tuple(argument.type for argument in region.block.args)


class Isolated(IsolatedFromAbove):
    """xDSL's trait IsolatedFromAbove, which walks up from each operand; this collects the inner definitions first."""

    def verify(self, op: Operation) -> None:
        users: list[Operation] = []
        defined: set[int] = set()
        pending = list(op.regions)
        while pending:
            for block in pending.pop().blocks:
                users += (inner := block_operations(block))
                defined.update(map(id, block.args), [id(result) for user in inner for result in user.results])
                pending += [region for user in inner if user.regions for region in _open_regions(user)]
        for user in users:
            if not defined.issuperset(map(id, operands_of(user))):
                fail(f"Operation using value defined out of its IsolatedFromAbove parent: {user}")


def _open_regions(op: Operation) -> tuple[Region, ...]:
    return () if op.has_trait(IsolatedFromAbove) else op.regions


@define
class ModuleOp(TileOperation):
    """The kernels and globals of one compilation."""

    name = "cuda_tile.module"
    sym_name = prop_def(StringAttr)
    producer = opt_prop_def(StringAttr)
    body = region_def()
    traits = traits_def(Isolated(), SymbolTable(), NoTerminator(), SymbolOpInterface())


@define
class EntryOp(TileOperation):
    """A kernel. Its arguments are scalar tiles; it returns nothing."""

    name = "cuda_tile.entry"
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    arg_attrs = opt_prop_def(ArrayAttr)
    res_attrs = opt_prop_def(ArrayAttr)
    optimization_hints = opt_prop_def(OptimizationHintsAttr)
    body = region_def()
    traits = traits_def(Isolated(), SymbolOpInterface())

    def _signature(self) -> None:
        if self.function_type.outputs.data:
            fail("entry op must not return values")
        for type in self.function_type.inputs.data:
            if not isinstance(type, TileType) or type.shape:
                fail(f"the arguments of an entry must be scalar tiles, got {type}")
        if tuple(self.function_type.inputs.data) != block_types(self.body):
            fail("the arguments of the body differ from the signature")

    def _scopes(self) -> None:
        """Tile IR's rules of debug scopes: an entry has a subprogram, which contains the scopes of its operations."""
        loc = self.attributes.get(LOC)
        if isinstance(loc, CallSiteLocAttr):
            fail("the location of an entry cannot be a call site")
        subprogram = loc.scope if isinstance(loc, DILocAttr) else None
        if subprogram is not None and not isinstance(subprogram, DISubprogramAttr):
            fail("the debug scope of an entry must be a subprogram, got a lexical block")
        if subprogram is not None and subprogram.linkage_name != self.sym_name.data:
            fail(f"the debug scope of entry {self.sym_name.data!r} has the linkage name {subprogram.linkage_name!r}")
        self._scopes_inside(subprogram)

    def _scopes_inside(self, subprogram: DISubprogramAttr | None) -> None:
        right: set[int] = set()  # checked locations, by identity: most are shared
        for op in self.body.walk():
            loc = op.attributes.get(LOC)
            if loc is None or id(loc) in right:
                continue
            found = subprogram_of(loc)
            if found is not None and subprogram is None:
                fail("an operation has a debug scope, the entry has none", op)
            if found is not None and found != subprogram:
                fail(f"the debug scope of an operation is in {found.linkage_name!r}, not in that of the entry", op)
            right.add(id(loc))

    CHECKS: ClassVar = (_signature, _scopes)


@define
class GlobalOp(TileOperation):
    """Static global memory with an initial value."""

    name = "cuda_tile.global"
    sym_name = prop_def(StringAttr)
    value = prop_def(DenseConstantAttr)
    alignment = prop_def(IntegerAttr)
    constant = opt_prop_def(UnitAttr)
    symbol_visibility = prop_def(SymbolVisibilityAttr)
    traits = traits_def(SymbolOpInterface())

    def _rank(self) -> None:
        if self.value.type.rank != 1:
            fail("type must have rank 1")

    CHECKS: ClassVar = (_rank,)


_GLOBALS: WeakKeyDictionary[Operation, dict[str, GlobalOp]] = WeakKeyDictionary()


def _find_global(module: Operation, name: str) -> GlobalOp | None:
    """The global called ``name``; a search for each of its users would be quadratic."""
    found = _GLOBALS.get(module, {}).get(name)
    if found is None or found.parent_op() is not module or found.sym_name.data != name:
        ops = [op for op in module.regions[0].block.ops if isinstance(op, GlobalOp)]
        _GLOBALS[module] = {op.sym_name.data: op for op in reversed(ops)}
        found = _GLOBALS[module].get(name)
    return found


@define
class GetGlobalOp(PureOperation):
    """The address of a global. The public attribute ``name`` is ``op.symbol`` here."""

    name = "cuda_tile.get_global"
    symbol = prop_def(SymbolRefAttr, prop_name="name")
    result = result_def()

    def _target(self) -> None:
        name = self.symbol.root_reference.data
        module = self.parent_op()
        while module is not None and not isinstance(module, ModuleOp):
            module = module.parent_op()
        if module is None:
            return
        target = _find_global(module, name)
        if target is None:
            fail(f"'{name}' does not reference a valid global")
        pointee = pointer_type(self.result, "result").pointee_type
        if target.value.type.element_type != pointee:
            fail(f"pointee type {pointee} does not match type {target.value.type.element_type} of the global @{name}")

    CHECKS: ClassVar = (pointers("result"), scalars("result"), _target)


class BlockQuery(PureOperation):
    """Three scalars, one per grid dimension."""

    def _types(self) -> None:
        if any(result.type != TileType((), i32) for result in self.results):
            fail("results must be scalar tiles of i32")

    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (_types,)


@define
class GetTileBlockIdOp(BlockQuery):
    """The coordinates of this tile block in the grid."""

    name = "cuda_tile.get_tile_block_id"
    block_id_x = result_def()
    block_id_y = result_def()
    block_id_z = result_def()


@define
class GetNumTileBlocksOp(BlockQuery):
    """The size of the grid in tile blocks."""

    name = "cuda_tile.get_num_tile_blocks"
    grid_size_x = result_def()
    grid_size_y = result_def()
    grid_size_z = result_def()
