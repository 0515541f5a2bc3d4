"""Diagnostics of kernel faults in the emulator, with the Python line, the block and the array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.errors import InternalError, InvalidInput, Location, TileirasError, Unsupported
from ..core.plurals import count_text
from ..simulate.emulator import errors
from ..simulate.emulator.ptx.source_locations import source_of
from .fakes.array_info import GUARD

if TYPE_CHECKING:
    from .compiled_kernel_cache import CompiledKernel
    from .fakes.array_info import ArrayDescription

NEAR_BYTES = 1 << 24  # bytes; an address further from every array is printed as a number
OUT_OF_BOUNDS_MESSAGE = "address outside mapped memory"
REMEDIES = {errors.TIME_LIMIT: "look for an infinite loop, or raise the time limit"}


class KernelFault(InvalidInput):
    """A kernel made an invalid access. ``kernel`` is its name, ``block`` its block index, ``fault`` the emulator's error."""

    kernel: str
    block: tuple[int, int, int] | None
    fault: errors.EmulatorFault

    def __reduce__(self):
        # Pickled between processes of a pool.
        return (*super().__reduce__(), vars(self))


@dataclass(frozen=True)
class NamedArray:
    """An array argument of a launch, with the name of its parameter."""

    name: str
    array: ArrayDescription

    def __str__(self) -> str:
        return f'array "{self.name}" ({self.array.element}, shape {list(self.array.shape)})'

    def distance(self, address: int) -> int:
        """Bytes from the array's memory to an address; 0 inside."""
        return max(self.array.base - address, address - self.array.base - self.array.size + 1, 0)


@dataclass(frozen=True)
class NamedList(NamedArray):
    """The pointer table of a list of arrays; ``array`` is its memory."""

    count: int

    def __str__(self) -> str:
        return f'list "{self.name}" of {count_text(self.count, "array")}'

    def distance(self, address: int) -> int:
        """Bytes to the table; outside of its guard it counts as farther than every array."""
        far = super().distance(address)
        return 0 if far <= GUARD else far + NEAR_BYTES


def name_of(entry: str) -> str:
    """The kernel of an entry point: cuTile appends ``_K`` and the argument kinds to the name."""
    return entry.rpartition("_K")[0] or entry


def explain(error: errors.EmulatorError, compiled: CompiledKernel, arrays: Sequence[NamedArray]) -> TileirasError:
    """The diagnostic of an emulator error: KernelFault, or another one if the kernel is not at fault."""
    kernel = name_of(compiled.entry)
    if isinstance(error, errors.UnsupportedInstruction):
        return Unsupported(
            "emulator-instruction", f"kernel {kernel} uses an instruction that the emulator does not support: {error}"
        )
    if not isinstance(error, errors.EmulatorFault):
        return InternalError("emulator", f"kernel {kernel}: {error}")
    block = error.thread[0] if error.thread else None
    where = f"kernel {kernel}" + (f", block {tuple(int(at) for at in block)}" if block else "")
    message, location = f"{where}: {_fault_text(error, arrays)}", _location(compiled.ptx, error)
    diagnostic = KernelFault(f"kernel-{error.kind}", message, location=location, remedy=REMEDIES.get(error.kind))
    diagnostic.kernel, diagnostic.block, diagnostic.fault = kernel, block, error
    return diagnostic


def _location(ptx: str, fault: errors.EmulatorFault) -> Location | None:
    found = source_of(ptx, fault.line)
    return Location(found.file, found.line, found.column + 1) if found else None


def _fault_text(fault: errors.EmulatorFault, arrays: Sequence[NamedArray]) -> str:
    if fault.kind == errors.OUT_OF_BOUNDS:
        return f"{_access_text(fault)}, {_place(fault, arrays)}"
    if fault.kind == errors.UNINITIALISED:
        return f"{_access_text(fault)} {_place(fault, arrays)}, {fault.message}"
    if fault.kind in (errors.THREAD_RACE, errors.BLOCK_RACE):
        return f"{_access_text(fault)} {_place(fault, arrays)}; {fault.message}"
    if fault.kind == errors.MISALIGNED:
        return f"{_access_text(fault)} misaligned, {_place(fault, arrays)}"
    if fault.kind == errors.ASSERTION:
        return fault.message.rpartition(" (")[0]  # without the location, which is in front of the message
    if fault.kind in (errors.TIME_LIMIT, errors.DEADLOCK):
        return fault.message
    return f"{fault.message} (PTX line {fault.line}: {fault.instruction})"


def _element_at(array: ArrayDescription, address: int) -> str:
    """The element at an address in an array's memory, or the byte if the array is a view without it."""
    index = array.index_at(address)
    return f"byte {address - array.base}" if index is None else f"element [{', '.join(map(str, index))}]"


def _aliases(found: NamedArray, arrays: Sequence[NamedArray], address: int) -> str:
    """Other arrays with the same memory: a launch may pass an array twice."""
    names = {one.name: None for one in arrays if not one.distance(address)}  # in the order of the parameters
    names.pop(found.name)
    return f" (aliases {' and '.join(names)})" if names else ""


def _access_text(fault: errors.EmulatorFault) -> str:
    verb = "writes" if fault.writes else "reads"
    return f"{verb} {count_text(fault.size, 'byte')}" if fault.size else f"{verb} memory"


def _place(fault: errors.EmulatorFault, arrays: Sequence[NamedArray]) -> str:
    """The position of an address relative to the arrays of the launch."""
    address = fault.address or 0
    nearest = min(arrays, key=lambda one: one.distance(address), default=None)
    if nearest is None or nearest.distance(address) > NEAR_BYTES:
        return f"at address {address:#x} (not in any array)"
    offset = address - nearest.array.base
    if offset < 0:
        return f"{-offset} bytes before the start of {nearest}"
    if offset < nearest.array.size:
        inside = nearest.array.size - offset
        beyond = ", beyond its end" if fault.size > inside else ""
        return f"at {_element_at(nearest.array, address)} of {nearest}{_aliases(nearest, arrays, address)}{beyond}"
    past = offset - nearest.array.size
    return f"{past} bytes past the end of {nearest}" if past else f"right after the end of {nearest}"
