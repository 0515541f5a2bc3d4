"""Source positions as LLVM debug metadata: what each mode emits, and how locations become ``!dbg``.

| location                      | ``!dbg``                                                         |
|-------------------------------|------------------------------------------------------------------|
| file, line, column            | DILocation in the scope of the function                          |
| fused, with metadata          | the metadata's position; the children are its inlined-at chain   |
| fused, without                | the first child's position; the others are its inlined-at chain  |
| callee at caller              | the callee's position, inlinedAt the caller's                    |
| name and child                | the child's                                                      |
| unknown                       | none                                                             |

Line info asks LLVM for directives only: any more makes ptxas build without optimization.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation, Region

from ....ir.casting import cast
from ....ir.dialects.cuda_tile.location import (
    LOC,
    CallSiteLocAttr,
    DILocAttr,
    DISubprogramAttr,
    UnknownLocAttr,
    location_attr,
)
from ....ir.dialects.debuginfo.attrs import (
    DIBasicType,
    DICompileUnit,
    DIDerivedType,
    DIFile,
    DILexicalBlock,
    DILexicalBlockFile,
    DILocation,
    DISubprogram,
    DISubroutineType,
    Node,
)
from ....ir.dialects.debuginfo.llvm_debug_metadata import subprogram_of
from ....ir.dialects.nv_tileaa.types import PointerType
from ...common.llvm_element_types import POINTER, element_of
from ...job import Job

if TYPE_CHECKING:
    pass

PRODUCER = "tileiras-build"
DBG = "dbg"  # attribute with the debug node of an operation, function or module
# Start of the source region that contained an operation before the conversion to branches.
SCOPE = "debuginfo.scope"
CARRIED_LOCATION = (LOC, SCOPE)  # attributes that replacements of an operation inherit


# ---- modes -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Mode:
    """What is emitted: ``!dbg`` on instructions, variables with their values, and the kind of compile unit."""

    locations: bool
    variables: bool
    emission_kind: str
    subprogram_flags: str


# (lineinfo, debug) -> the debug info to emit.
MODES: dict[tuple[bool, bool], Mode] = {
    (False, False): Mode(False, False, "None", ""),
    (True, False): Mode(True, False, "DebugDirectivesOnly", "Definition|Optimized"),
    (False, True): Mode(True, True, "Full", "Definition"),
    (True, True): Mode(True, True, "Full", "Definition"),
}


def mode_of(job: Job) -> Mode:
    """The row of MODES for a job."""
    return MODES[bool(job.lineinfo), bool(job.debug)]


# ---- locations -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Position:
    """A source position, and the source function that contains it, if known."""

    file: str
    line: int
    column: int
    function: DISubprogramAttr | None = None


def _fused(location: FusedLoc) -> Iterator[Position]:
    # Metadata without a position (the name of a pass, for example) is skipped: then the first child leads.
    yield from positions(location.metadata)
    for child in cast(ArrayAttr, location.locations):
        yield from positions(child)


def _call_site(location: CallSiteLoc) -> Iterator[Position]:
    yield from positions(location.callee)
    yield from positions(location.caller)


def _flat_call_site(location: CallSiteLocAttr) -> Iterator[Position]:
    for entry in location.data:
        yield from positions(entry)


# Kind of location -> its positions, from the innermost to the outermost caller.
LOCATIONS: dict[type[Attribute], Any] = {
    FileLineColLoc: lambda loc: iter((Position(loc.filename.data, loc.line.data, loc.column.data),)),
    FusedLoc: _fused,
    CallSiteLoc: _call_site,
    NameLoc: lambda loc: positions(loc.location),
    UnknownLoc: lambda loc: iter(()),
    DILocAttr: lambda loc: iter((Position(loc.file, loc.line, loc.column, loc.scope.subprogram),)),
    CallSiteLocAttr: _flat_call_site,
    UnknownLocAttr: lambda loc: iter(()),
    DILocation: lambda loc: iter((Position(loc.scope.file.path, loc.line, loc.column),)),
}


def positions(location: Attribute) -> Iterator[Position]:
    """The positions of a location, from the innermost to the outermost caller; nothing where it is unknown."""
    row = LOCATIONS.get(type(location))
    return row(location) if row is not None else iter(())


# ---- scopes ----------------------------------------------------------------------------------------
class Scopes:
    """The debug nodes of one module: a compile unit, its files, a subprogram per function."""

    def __init__(self, mode: Mode):
        self.mode = mode
        self.unit: DICompileUnit | None = None
        self._subprograms: dict[tuple, DISubprogram] = {}

    def file(self, path: str) -> DIFile:
        # ptxas has no escape for a quote in a file name.
        folder, name = os.path.split(path.replace('"', "'"))
        return DIFile((name, folder))

    def _unit(self, file: DIFile) -> DICompileUnit:
        if self.unit is None:
            self.unit = DICompileUnit.of(
                id=0,
                sourceLanguage="DW_LANG_C",  # expected by debuggers of device code
                file=file,
                producer=PRODUCER,
                isOptimized=not self.mode.variables,
                emissionKind=self.mode.emission_kind,
            )
        return self.unit

    def subprogram(self, name: str, linkage_name: str, path: str, line: int) -> DISubprogram:
        """The function ``name`` at ``path``:``line``, the same node for the same function."""
        key = (linkage_name, path, line)
        if key not in self._subprograms:
            file = self.file(path)
            self._subprograms[key] = DISubprogram.of(
                id=len(self._subprograms) + 1,
                compileUnit=self._unit(file),
                scope=file,
                name=name,
                # Without variables, a subprogram only carries lines: a name and a line suffice.
                linkageName=linkage_name if self.mode.variables else None,
                file=file,
                line=line,
                scopeLine=line,
                subprogramFlags=self.mode.subprogram_flags,
                type=DISubroutineType((None,)),
            )
        return self._subprograms[key]

    def function(self, symbol: str, location: Attribute | None) -> DISubprogram | None:
        """The subprogram of the function ``symbol`` whose definition is at ``location``; None where that is unknown."""
        outer = list(positions(location))[-1:] if location is not None else []
        if not outer or not outer[0].file:
            return None
        source = outer[0].function
        if source is None:
            return self.subprogram(symbol, symbol, outer[0].file, outer[0].line)
        return self.subprogram(source.function_name, symbol, source.file.path, source.line)

    def block(self, function: DISubprogram, location: Attribute | None) -> Node:
        """The scope of a region that begins at ``location``; its parent is the function, never another block."""
        outer = list(positions(location))[-1:] if location is not None else []
        if not outer:
            return function
        file = self.file(outer[0].file)
        return DILexicalBlock.of(scope=function, file=file, line=outer[0].line, column=outer[0].column)

    def location(self, location: Attribute | None, scope: Node) -> DILocation | None:
        """The position of an operation in ``scope`` (of the function around it), with its chain of inlined calls."""
        result = None
        chain = list(positions(location)) if location is not None else []
        for position in reversed(chain):
            inner = scope if result is None else self._callee(position, scope)
            result = DILocation.of(
                line=position.line,
                column=position.column,
                scope=self._in_file(inner, position.file),
                inlinedAt=result,
            )
        return result

    def _callee(self, position: Position, scope: Node) -> Node:
        source = position.function
        if source is None:
            return subprogram_of(scope)
        return self.subprogram(source.function_name, source.linkage_name, source.file.path, source.line)

    def _in_file(self, scope: Node, path: str) -> Node:
        file = self.file(path)
        return scope if scope.file == file else DILexicalBlockFile.of(scope=scope, file=file, discriminator=0)


# ---- values ----------------------------------------------------------------------------------------
ENCODINGS = {"i": "DW_ATE_signed", "f": "DW_ATE_float", "b": "DW_ATE_float", "t": "DW_ATE_float"}


def debug_type(type: Attribute) -> Node:
    """How a debugger shows a value of a scalar type: an integer, a float or an address."""
    element = element_of(type)
    if element is POINTER:
        return DIDerivedType.of(
            tag="DW_TAG_pointer_type", baseType=debug_type(cast(PointerType, type).pointee), sizeInBits=64
        )
    encoding = "DW_ATE_boolean" if element.name == "i1" else ENCODINGS[element.name[0]]
    return DIBasicType.of(tag="DW_TAG_base_type", name=element.name, sizeInBits=element.bits, encoding=encoding)


def nested_region(op: Operation) -> Region | None:
    """The nearest enclosing region that is not the body of a function or module."""
    region = op.parent_region()
    parent = region.parent if region is not None else None
    return None if parent is None or parent.name.endswith((".func", ".module")) else region


def region_start(region: Region) -> Attribute | None:
    """The location of a region: that of its first operation with a known location."""
    for block in region.blocks:
        for op in block.ops:
            if (location := location_attr(op)) is not None:
                return location
    return None
