"""What a variant of a kernel assumes beyond the kernel itself: the conditions under which a launcher takes the variant.

Both have the same parameters in the same places. The launcher has checked the kernel's own assumptions, so that only those
are left that a variant adds, and the grid. Launchers of packages and ``ct.launch`` choose by ``Choice``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec.structs import replace

from .manifest_constants import POINTER, split_name
from .parameter_bounds import satisfies

if TYPE_CHECKING:
    from .launch_manifest import Launch, Parameter, Programs

Conditions = tuple[tuple[int, "Parameter"], ...]
"""The index of a parameter of the caller, and the parameter with what the variant adds to the kernel's assumptions."""


class Values(Protocol):
    """Values of a caller's parameters by index."""

    def __getitem__(self, index: int, /) -> Any:
        """The value of one parameter."""


def variants_of(kernel: str, launches: Mapping[str, Launch]) -> dict[str, Launch]:
    """The variants of a kernel among those of its cubin, by symbol."""
    return {name: launch for name, launch in launches.items() if launch.variant_of == kernel}


def takes_same_parameters(general: Launch, variant: Launch) -> bool:
    """Whether parameters that are packed for a kernel are also those of its variant."""
    places = lambda launch: [(param.kind, param.size, param.offset) for param in launch.caller_parameters]
    return places(general) == places(variant)


class NamedGrids(NamedTuple):
    """``Programs`` with the name of the parameter, which kernels for other arguments have elsewhere."""

    least: int
    most: int
    parameter: str | None
    minimum: int

    def includes(self, other: NamedGrids) -> bool:
        """Whether each grid and length of another row is one of this."""
        is_longer = self.parameter is None or (self.parameter == other.parameter and self.minimum <= other.minimum)
        return self.least <= other.least and other.most <= self.most and is_longer


class Choice(NamedTuple):
    """A kernel or a variant of it: its symbol, its launch manifest, and what it assumes of parameters beyond the kernel."""

    symbol: str
    launch: Launch
    wanted: Conditions

    def fits(self, grid: Sequence[int], values: Values) -> bool:
        """Whether it is launched over a grid of tile blocks with these values of the parameters: it is allowed, and faster."""
        rows, count = self.launch.grid.faster_for, prod(grid)
        return self.allows(grid, values) and (not rows or any(_holds(row, count, values) for row in rows))

    def allows(self, grid: Sequence[int], values: Values) -> bool:
        """Whether it computes the same as the kernel there, if not faster."""
        divides = grid[0] % self.launch.grid.cluster == 0
        return divides and all(satisfies(param, values[place]) for place, param in self.wanted)

    def covers(self, other: Choice) -> bool:
        """Whether it fits all grids and lengths that another one, of a kernel for other arguments, fits."""
        own, theirs = self.grids, other.grids
        fewer = not own or (bool(theirs) and all(any(one.includes(each) for one in own) for each in theirs))
        promised = {param.name: param for _, param in other.wanted}
        implied = all(_implies(promised.get(param.name), param) for _, param in self.wanted)
        return fewer and other.launch.grid.cluster % self.launch.grid.cluster == 0 and implied

    @property
    def by_grids(self) -> tuple[Choice, ...]:
        """The same for one row of grids each."""
        grid = self.launch.grid
        ones = (replace(grid, programs=[row], most=0) for row in grid.faster_for)
        return tuple(self._replace(launch=replace(self.launch, grid=one)) for one in ones) or (self,)

    @property
    def grids(self) -> tuple[NamedGrids, ...]:
        """The grids that it is faster for."""
        names = [param.name for param in self.launch.params]
        rows = self.launch.grid.faster_for
        return tuple(
            NamedGrids(row.least, row.most, None if row.param is None else names[row.param], row.minimum)
            for row in rows
        )


def lazy_variants(symbol: str, general: Launch) -> dict[str, Launch]:
    """The variants of a kernel that are compiled when a launch asks for them, as far as choices need them."""
    made = {}
    for one in general.split_k:
        grid = replace(general.grid, programs=one.programs)
        made[split_name(symbol, one.ctas)] = replace(general, cluster=(one.ctas, 1, 1), grid=grid, split_k=[])
    return made


def choices(symbol: str, general: Launch, variants: Mapping[str, Launch]) -> tuple[Choice, ...]:
    """A kernel's variants in order of preference, then itself. A launch takes the first one that fits."""
    rows = (*variants.items(), (symbol, general))
    return tuple(choice_of(name, launch, general) for name, launch in rows)


def choice_of(symbol: str, launch: Launch, general: Launch) -> Choice:
    """A variant of a kernel, or the kernel itself."""
    return Choice(symbol, launch, conditions(general, launch))


def conditions(general: Launch, variant: Launch) -> Conditions:
    """The parameters of which the variant assumes more than its kernel."""
    rows = zip(general.caller_parameters, variant.caller_parameters, strict=True)
    return tuple((index, _added(own, one)) for index, (own, one) in enumerate(rows) if _assumed(own) != _assumed(one))


class PackedValues:
    """The values of integer parameters, each of whose bytes are ``packed`` for a launch."""

    def __init__(self, launch: Launch, packed: Sequence[bytes]):
        self._params, self._packed = launch.caller_parameters, packed

    def __getitem__(self, index: int) -> int:
        return int.from_bytes(self._packed[index], "little", signed=self._params[index].kind != POINTER)


def _holds(row: Programs, count: int, values: Values) -> bool:
    """Whether a grid of so many tile blocks is one of a row."""
    return row.least <= count <= row.most and (row.param is None or values[row.param] >= row.minimum)


def _added(own: Parameter, wanted: Parameter) -> Parameter:
    """The parameter of a variant without what its kernel assumes, too."""
    return replace(
        wanted,
        divisible_by=1 if wanted.divisible_by == own.divisible_by else wanted.divisible_by,
        minimum=None if wanted.minimum == own.minimum else wanted.minimum,
        maximum=None if wanted.maximum == own.maximum else wanted.maximum,
    )


def _implies(promised: Parameter | None, wanted: Parameter) -> bool:
    """Whether each value that is promised is one that is wanted."""
    if promised is None:
        return False
    if promised.value is not None:
        return satisfies(wanted, promised.value)
    at_least = wanted.minimum is None or (promised.minimum is not None and promised.minimum >= wanted.minimum)
    at_most = wanted.maximum is None or (promised.maximum is not None and promised.maximum <= wanted.maximum)
    return wanted.value is None and at_least and at_most and promised.divisible_by % wanted.divisible_by == 0


def _assumed(param: Parameter) -> tuple[int | None, ...]:
    return param.divisible_by, param.minimum, param.maximum, param.value
