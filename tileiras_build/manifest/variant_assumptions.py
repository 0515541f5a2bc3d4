"""What a variant of a kernel assumes beyond the kernel itself: the conditions under which a launcher takes the variant.

Both have the same parameters in the same places. The launcher has checked the kernel's own assumptions, so that only those
parameters are left whose assumptions differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .manifest_constants import POINTER

if TYPE_CHECKING:
    from .launch_manifest import Launch, Parameter

Conditions = tuple[tuple[int, "Parameter"], ...]
"""The index of a parameter of the caller, and the parameter as the variant assumes it."""


def variants_of(kernel: str, launches: Mapping[str, Launch]) -> dict[str, Launch]:
    """The variants of a kernel among those of its cubin, by symbol."""
    return {name: launch for name, launch in launches.items() if launch.variant_of == kernel}


def conditions(general: Launch, variant: Launch) -> Conditions:
    """The parameters of which the variant assumes more than its kernel."""
    rows = zip(general.caller_parameters, variant.caller_parameters, strict=True)
    return tuple((index, wanted) for index, (own, wanted) in enumerate(rows) if _assumed(own) != _assumed(wanted))


def hold(wanted: Conditions, packed: Sequence[bytes]) -> bool:
    """Whether packed parameters satisfy the conditions."""
    return all(_satisfies(param, packed[index]) for index, param in wanted)


def _assumed(param: Parameter) -> tuple[int | None, ...]:
    return param.divisible_by, param.minimum, param.maximum, param.value


def _satisfies(param: Parameter, data: bytes) -> bool:
    number = int.from_bytes(data, "little", signed=param.kind != POINTER)
    if param.value is not None:
        return number == param.value
    lowest, highest = (number if bound is None else bound for bound in (param.minimum, param.maximum))
    return number % param.divisible_by == 0 and lowest <= number <= highest
