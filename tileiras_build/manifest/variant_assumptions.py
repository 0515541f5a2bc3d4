"""What a variant of a kernel assumes beyond the kernel itself: the conditions under which a launcher takes the variant.

Both have the same parameters in the same places. The launcher has checked the kernel's own assumptions, so that only those
are left that a variant adds, and the grid. Launchers of packages and ``ct.launch`` choose by ``Choice``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec.structs import replace

from .manifest_constants import POINTER
from .parameter_bounds import satisfies

if TYPE_CHECKING:
    from .launch_manifest import Launch, Parameter

Conditions = tuple[tuple[int, "Parameter"], ...]
"""The index of a parameter of the caller, and the parameter with what the variant adds to the kernel's assumptions."""


class Packed(Protocol):
    """Packed parameters by index."""

    def __getitem__(self, index: int, /) -> bytes:
        """The bytes of one parameter."""


def variants_of(kernel: str, launches: Mapping[str, Launch]) -> dict[str, Launch]:
    """The variants of a kernel among those of its cubin, by symbol."""
    return {name: launch for name, launch in launches.items() if launch.variant_of == kernel}


def takes_same_parameters(general: Launch, variant: Launch) -> bool:
    """Whether parameters that are packed for a kernel are also those of its variant."""
    places = lambda launch: [(param.kind, param.size, param.offset) for param in launch.caller_parameters]
    return places(general) == places(variant)


def fits_grid(variant: Launch, grid: Sequence[int]) -> bool:
    """Whether the clusters of a variant divide a grid of tile blocks, and these are few enough."""
    return grid[0] % variant.grid.cluster == 0 and (not variant.grid.most or prod(grid) <= variant.grid.most)


class Choice(NamedTuple):
    """A kernel or a variant of it: its symbol, its launch manifest, and what it assumes of parameters beyond the kernel."""

    symbol: str
    launch: Launch
    wanted: Conditions

    def fits(self, programs: Sequence[int], values: Sequence[Any]) -> bool:
        """Whether it may be launched over a grid of tile blocks with these values of the parameters."""
        return fits_grid(self.launch, programs) and all(satisfies(param, values[place]) for place, param in self.wanted)

    def covers(self, other: Choice) -> bool:
        """Whether it fits all grids and lengths that another one, of a kernel for other arguments, fits."""
        fewer = not self.launch.grid.most or 0 < other.launch.grid.most <= self.launch.grid.most
        promised = {param.name: param for _, param in other.wanted}
        implied = all(_implies(promised.get(param.name), param) for _, param in self.wanted)
        return fewer and other.launch.grid.cluster % self.launch.grid.cluster == 0 and implied


def choices(symbol: str, general: Launch, variants: Mapping[str, Launch]) -> tuple[Choice, ...]:
    """A kernel's variants in order of preference, then itself. A launch takes the first one that fits."""
    rows = (*variants.items(), (symbol, general))
    return tuple(Choice(name, launch, conditions(general, launch)) for name, launch in rows)


def conditions(general: Launch, variant: Launch) -> Conditions:
    """The parameters of which the variant assumes more than its kernel."""
    rows = zip(general.caller_parameters, variant.caller_parameters, strict=True)
    return tuple((index, _added(own, one)) for index, (own, one) in enumerate(rows) if _assumed(own) != _assumed(one))


def hold(wanted: Conditions, packed: Packed) -> bool:
    """Whether packed parameters satisfy the conditions."""
    return all(satisfies(param, _integer(param, packed[index])) for index, param in wanted)


def _integer(param: Parameter, data: bytes) -> int:
    return int.from_bytes(data, "little", signed=param.kind != POINTER)


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
