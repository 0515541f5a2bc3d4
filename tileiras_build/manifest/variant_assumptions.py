"""What a variant of a kernel assumes beyond the kernel itself: the conditions under which a launcher takes the variant.

Both have the same parameters in the same places. The launcher has checked the kernel's own assumptions, so that only those
parameters are left whose assumptions differ, and the grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Protocol

from .manifest_constants import POINTER
from .parameter_bounds import satisfies

if TYPE_CHECKING:
    from .launch_manifest import Launch, Parameter

Conditions = tuple[tuple[int, "Parameter"], ...]
"""The index of a parameter of the caller, and the parameter as the variant assumes it."""


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


def covers(variant: Launch, other: Launch) -> bool:
    """Whether a variant fits all grids that another one, of a kernel for other arguments, fits."""
    fewer = not variant.grid.most or 0 < other.grid.most <= variant.grid.most
    return fewer and other.grid.cluster % variant.grid.cluster == 0


def conditions(general: Launch, variant: Launch) -> Conditions:
    """The parameters of which the variant assumes more than its kernel."""
    rows = zip(general.caller_parameters, variant.caller_parameters, strict=True)
    return tuple((index, wanted) for index, (own, wanted) in enumerate(rows) if _assumed(own) != _assumed(wanted))


def hold(wanted: Conditions, packed: Packed) -> bool:
    """Whether packed parameters satisfy the conditions."""
    return all(satisfies(param, _integer(param, packed[index])) for index, param in wanted)


def _integer(param: Parameter, data: bytes) -> int:
    return int.from_bytes(data, "little", signed=param.kind != POINTER)


def _assumed(param: Parameter) -> tuple[int | None, ...]:
    return param.divisible_by, param.minimum, param.maximum, param.value
