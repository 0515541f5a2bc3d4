"""Source locations of per-thread code, as attributes that convert-debuginfo-to-llvm reads."""

from __future__ import annotations

from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ....ir.dialects.cuda_tile.location import LOC, location_attr
from ....ir.dialects.debuginfo.attrs import DIExpression
from ....ir.dialects.debuginfo.ops import ValueOp, VariableAttr
from ...job import Job
from ..debug.debug_info import SCOPE, debug_type, mode_of, nested_region, positions, region_start
from .value_map import ValueMap


class SourceLocations:
    """The locations of a kernel's operations; none unless line info is enabled and the kernel's own location is known."""

    def __init__(self, job: Job):
        self.mode = mode_of(job)
        self._function: Attribute | None = None
        self._attributes: dict[tuple[Attribute | None, Region | None], dict[str, Attribute]] = {}
        self._latest: Attribute | None = None  # of the last operation that has one

    def start_function(self, op: Operation) -> None:
        """Begin the kernel ``op``."""
        location = location_attr(op) if self.mode.locations else None
        around = list(positions(location))[-1:] if location is not None else []
        self._function = location if around and around[0].file else None
        self._attributes, self._latest = {}, None

    def function_attributes(self) -> dict[str, Attribute]:
        """The attributes of the kernel's own location."""
        return {} if self._function is None else {LOC: self._function}

    def attributes(self, op: Operation) -> dict[str, Attribute]:
        """The attributes of the instructions that an operation becomes."""
        if self._function is None:
            return {}
        # An operation that a pass added has the location of the operation before it.
        if LOC in op.attributes or self._latest is None:
            self._latest = location_attr(op)
        key = self._latest, nested_region(op) if self.mode.variables else None
        if key not in self._attributes:
            self._attributes[key] = _location_attribute(*key)
        return self._attributes[key]

    def show_parameters(self, values: ValueMap, arguments: tuple[SSAValue, ...]) -> None:
        """Describe the kernel's parameters as variables for the debugger."""
        if self._function is None or not self.mode.variables:
            return
        b = values.b
        with b.at_function_start():
            b.attributes = {LOC: self._function}
            for number, argument in enumerate(arguments, 1):
                type = debug_type(_source_type(argument))
                variable = VariableAttr.of(name=f"arg{number - 1}", arg=number, type=type)
                described: dict[str, Attribute] = {"variable": variable, "expression": DIExpression(())}
                b.operation(ValueOp, (b.uniqued(values.scalar(argument)),), (), described)


def _location_attribute(location: Attribute | None, region: Region | None) -> dict[str, Attribute]:
    found = {LOC: location, SCOPE: region_start(region) if region is not None else None}
    return {name: value for name, value in found.items() if value is not None}


def _source_type(argument: SSAValue) -> Attribute:
    """The type of an argument before its function was converted."""
    casts = (use.operation for use in argument.uses if isinstance(use.operation, UnrealizedConversionCastOp))
    return next((cast.results[0].type for cast in casts), argument.type)
