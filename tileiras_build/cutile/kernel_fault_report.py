"""What a kernel did wrong on the emulator, in the words of who wrote it: its Python line, its block, its array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.errors import InternalError, InvalidInput, Location, TileirasError, Unsupported
from ..simulate.emulator import errors
from ..simulate.emulator.ptx.source_locations import source_of
from .fakes.describe_arrays import GUARD

if TYPE_CHECKING:
    from .compiled_kernel_cache import CompiledKernel
    from .fakes.describe_arrays import ArrayDescription

NEAR_BYTES = 1 << 24  # bytes: an address further than this from every array is told as a number
OUT_OF_BOUNDS_MESSAGE = "address outside mapped memory"
REMEDIES = {errors.TIME_LIMIT: "look for a loop that does not end, or allow more time"}


class KernelFault(InvalidInput):
    """A kernel did what it may not. ``kernel`` is its name, ``block`` its block index, ``fault`` what the emulator said."""

    kernel: str
    block: tuple[int, int, int] | None
    fault: errors.EmulatorFault

    def __reduce__(self):
        # It crosses the pools of processes that a program or a test suite has.
        return (*super().__reduce__(), vars(self))


@dataclass(frozen=True)
class NamedArray:
    """An array that a launch was given, by the name of its parameter."""

    name: str
    array: ArrayDescription

    def __str__(self) -> str:
        return f'array "{self.name}" ({self.array.element}, shape {list(self.array.shape)})'

    def distance(self, address: int) -> int:
        """Bytes from the array's memory to an address; 0 inside."""
        return max(self.array.base - address, address - self.array.base - self.array.size + 1, 0)


@dataclass(frozen=True)
class NamedList(NamedArray):
    """The table of a list of arrays; ``array`` is its memory, of which only what lies about it is told apart."""

    count: int

    def __str__(self) -> str:
        return f'list "{self.name}" of {self.count} array{"s" * (self.count != 1)}'

    def distance(self, address: int) -> int:
        """0 for all that can be nothing else."""
        far = super().distance(address)
        return 0 if far <= GUARD else far + NEAR_BYTES


def name_of(entry: str) -> str:
    """The kernel that an entry point was compiled of: cuTile puts ``_K`` and the arguments' kinds behind its name."""
    return entry.rpartition("_K")[0] or entry


def explain(error: errors.EmulatorError, compiled: CompiledKernel, arrays: Sequence[NamedArray]) -> TileirasError:
    """What to raise for an error of the emulator: KernelFault, or what is no fault of the kernel's."""
    kernel = name_of(compiled.entry)
    if isinstance(error, errors.UnsupportedInstruction):
        return Unsupported("emulator-instruction", f"kernel {kernel} has what the emulator cannot run: {error}")
    if not isinstance(error, errors.EmulatorFault):
        return InternalError("emulator", f"kernel {kernel}: {error}")
    block = error.thread[0] if error.thread else None
    where = f"kernel {kernel}" + (f", block {tuple(int(at) for at in block)}" if block else "")
    message, location = f"{where}: {_fault_text(error, arrays)}", _location(compiled.ptx, error)
    made = KernelFault(f"kernel-{error.kind}", message, location=location, remedy=REMEDIES.get(error.kind))
    made.kernel, made.block, made.fault = kernel, block, error
    return made


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
        return f"{_access_text(fault)} at an address that is no multiple of as many, {_place(fault, arrays)}"
    if fault.kind == errors.ASSERTION:
        return fault.message.rpartition(" (")[0]  # the place stands before
    if fault.kind in (errors.TIME_LIMIT, errors.DEADLOCK):
        return fault.message
    return f"{fault.message} (PTX line {fault.line}: {fault.instruction})"


def _element_at(array: ArrayDescription, address: int) -> str:
    """What lies at an address in an array's memory: an element, or a byte of what the array is a view of."""
    index = array.index_at(address)
    return f"byte {address - array.base}" if index is None else f"element [{', '.join(map(str, index))}]"


def _shared(found: NamedArray, arrays: Sequence[NamedArray], address: int) -> str:
    """Whose memory it is besides, for a kernel may have been given an array twice."""
    names = {one.name: None for one in arrays if not one.distance(address)}  # in the order of the parameters
    names.pop(found.name)
    return f", which is memory of {' and '.join(names)} as well" if names else ""


def _access_text(fault: errors.EmulatorFault) -> str:
    verb = "writes" if fault.writes else "reads"
    return f"{verb} {fault.size} byte{'s' * (fault.size != 1)}" if fault.size else f"{verb} memory"


def _place(fault: errors.EmulatorFault, arrays: Sequence[NamedArray]) -> str:
    """Where an address lies among the arrays of the launch."""
    address = fault.address or 0
    nearest = min(arrays, key=lambda one: one.distance(address), default=None)
    if nearest is None or nearest.distance(address) > NEAR_BYTES:
        return f"at address {address:#x}, which is in no array"
    offset = address - nearest.array.base
    if offset < 0:
        return f"{-offset} bytes before the start of {nearest}"
    if offset < nearest.array.size:
        inside = nearest.array.size - offset
        beyond = ", beyond its end" if fault.size > inside else ""
        return f"at {_element_at(nearest.array, address)} of {nearest}{_shared(nearest, arrays, address)}{beyond}"
    past = offset - nearest.array.size
    return f"{past} bytes past the end of {nearest}" if past else f"right after the end of {nearest}"
