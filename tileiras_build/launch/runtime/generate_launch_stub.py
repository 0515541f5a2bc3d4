"""Launch stubs: a function generated for each kernel and each kind of arguments, without loops. The fast path of all launches.

A stub belongs to one loaded kernel and the types of an earlier launch's arguments. It checks that all that was checked for that
launch holds again; then it writes the values where the driver reads them. For two vectors and a scalar the code is

    def launch(grid, arguments, stream, programmatic=False):
        try:
            x0, x1, x2 = arguments
            handle = 0 if stream is None else stream if type(stream) is int else handle_of(stream)
            if type(x0) is not x0_kind or type(x1) is not x1_kind or type(x2) is not int:
                return False
            x0_p = x0.data_ptr()
            (x0_n0,) = x0.shape
            ...
            if x0.dtype is not x0_dtype or x0_p & 15 or x0_s0 != 1 or ...:
                return False
            ...
            pack_into(buffer, offset, gx, gy, gz, 128, 1, 1, 0, handle, attribute, programmatic, x0_p, x0_n0, x0_s0, ...)
        except (...):
            return False
        status = call(address, kernel, pointers, None)
        pool.append(block)
        return not status

The caller's slow path handles arguments for which it returns False, also if the driver refuses the launch (for one: in a thread
without a context): it makes the launch again, and raises the error. A superfluous check costs time, a missing one correctness.
The callers add the checks: of a manifest's parameters here (``package_stub``), of cuTile's constraints in
``cutile/devices/launch_stub.py``. The generated code contains only integers and names of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...manifest.manifest_constants import (
    MAX_GRID_CTAS,
    MAX_GRID_PROGRAMS,
    MAX_TILE_PROGRAMS,
    POINTER,
    READ_WRITE,
    WRITE,
)
from ...manifest.parameter_bounds import Bound, bounds
from ...target.element_types import ELEMENT_TYPES
from .array_unpackers import Names, Wanted, unpack_code
from .pack_arguments import ArrayView, is_array

if TYPE_CHECKING:
    from ...manifest.launch_manifest import Argument, Launch, Parameter, Programs
    from ...manifest.variant_assumptions import Choice, Conditions
    from .cuda_python_driver import Driver
    from .loaded_kernel import LoadedKernel

# (grid, arguments, stream, programmatic) -> whether it launched: False if the arguments do not match.
LaunchStub = Callable[..., bool]
View = Callable[[object, int], ArrayView]

SCALAR_KINDS = {"i1"} | {name for name, row in ELEMENT_TYPES.items() if row.struct is not None}
"""The kinds of scalars that ``struct`` packs."""
MAX_GRID = (MAX_GRID_PROGRAMS, *MAX_GRID_CTAS[1:])
"""The most tile blocks along x, y and z of a stub's launch; cuTile's limit along x, below the driver's."""
MORE_AXES = ((1, 1), (1,), ())
"""What completes a grid of 1, 2 and 3 axes."""
_ERRORS = (AttributeError, LookupError, OverflowError, RuntimeError, TypeError, ValueError, struct.error)
_MAX_STUBS = 64
_MAX_STUBS_PER_KEY = 4  # such as arrays of several libraries


class StubList:
    """The stubs of one kernel, latest first. For some arguments no stub ever matches: a key gets no more than four."""

    def __init__(self) -> None:
        self.stubs: list[LaunchStub] = []
        self._made: dict[Hashable, int] = {}

    def clear(self) -> None:
        """Forget all stubs."""
        self.stubs, self._made = [], {}

    def add(self, key: Hashable, make: Callable[[], LaunchStub | None]) -> None:
        """Add a stub for arguments that went the slow way."""
        self._made[key] = self._made.get(key, 0) + 1
        if self._made[key] <= _MAX_STUBS_PER_KEY and (stub := make()) is not None:
            self.stubs = [stub, *self.stubs[: _MAX_STUBS - 1]]


class StubWriter:
    """Collects the lines that check the arguments, and the expressions of the parameters (``values``). ``wanted``: what the kernel
    assumes beyond the one that it is a variant of; ``others`` are launched instead where the grid and the arguments fit them.
    """

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.lines: list[str] = []
        self.guards: list[str] = []
        self.values: list[str] = []
        self.wanted: Conditions = ()
        self.others: Sequence[Choice] = ()
        # A grid without axes is an error, except for cuTile.
        self.names: dict[str, object] = {"more_axes": (None, *MORE_AXES)}

    def check_type(self, name: str, argument: object) -> None:
        """The argument must have the type of this one."""
        self.names[f"{name}_kind"] = type(argument)
        self.kinds.append(f"type({name}) is not {name}_kind")

    def check_kinds(self) -> None:
        """What follows reads arguments whose types have been checked."""
        self.lines += [f"if {' or '.join(self.kinds)}:", " return False"] if self.kinds else []
        self.kinds = []

    def add_scalar(self, name: str, kind: str, argument: object) -> None:
        """An argument like this one that is the value of a parameter of this kind; ``struct`` packs any number that fits."""
        self.check_type(name, argument)
        if _is_integer(kind) and type(argument) is not int:  # the guards compute with it
            self.check_kinds()
            self.lines.append(f"{name} = {name}.__index__()")
        self.values.append(name)

    def add_array(self, name: str, argument: object, seen: ArrayView, rank: int | None, wanted: Wanted) -> Names:
        """An array like this one, seen so: its address, and its lengths and strides unless ``rank`` is None."""
        shape, strides = (tuple(f"{name}_{part}{axis}" for axis in range(rank or 0)) for part in "ns")
        names = Names(name, f"{name}_p", shape, strides, rank is not None)
        reading = unpack_code(argument, seen, names, wanted)
        self.check_type(name, argument)
        self.check_kinds()
        self.names |= reading.names
        self.lines += reading.lines
        self.guards += reading.guards
        self.values += [names.address, *shape, *strides]
        return names


def _is_integer(kind: str) -> bool:
    return kind != "i1" and ELEMENT_TYPES[kind].format is None


def make_launch_stub(
    loaded: LoadedKernel,
    writer: StubWriter,
    count: int,
    device: int,
    view: View,
    handle_of: Callable[[object], int],
    *,
    programmatic: bool = False,
) -> LaunchStub:
    """The stub for ``count`` arguments that ``writer`` has seen, on one device; ``programmatic`` launches are allowed.

    ``view`` returns the view of an array for a stream's handle, ``handle_of`` a stream's handle.
    """
    driver = loaded.driver
    scope: dict[str, Any] = writer.names | {
        "view": view, "handle_of": handle_of, "current_device": driver.current_device, "pack_into": loaded.layout.pack_into,
        "pool": loaded.pool, "new": loaded.layout.new, "call": driver.launch_function, "kernel": loaded.kernel,
        "maps": loaded.maps, "encode": loaded.encode, "errors": _ERRORS,
    }  # fmt: skip
    # The code is only what this package and its callers generate: integers and names.
    exec(_text(loaded, writer, count, device, programmatic), scope)
    return scope["launch"]


def _text(loaded: LoadedKernel, writer: StubWriter, count: int, device: int, programmatic: bool) -> str:
    launch = loaded.launch
    names = "".join(f"x{index}, " for index in range(count))
    x, y, z = (limit // size for limit, size in zip(MAX_GRID, launch.cluster, strict=True))
    body = [
        f"{names or '()'} = arguments",
        "handle = 0 if stream is None else stream if type(stream) is int else handle_of(stream)",
        *writer.lines,
    ]
    stricter = _stricter(writer.wanted, writer.values)
    if conditions := [*writer.kinds, *writer.guards, *filter(None, [stricter])]:
        body += [f"if {' or '.join(conditions)}:", " return False"]
    body += [
        "if type(grid) is not tuple:",
        " return False",
        "gx, gy, gz = grid + more_axes[len(grid)]",
        f"if not (0 < gx <= {x} and 0 < gy <= {y} and 0 < gz <= {z}):",
        " return False",
        *(["programs = gx * gy * gz"] if _counts_programs(loaded, writer) else []),
        *[line for other in writer.others for line in (f"if {fits_code(other, writer.values)}:", " return False")],
        *_blocks(loaded, writer.values),
        *([f"if current_device() != {device:d}:", " return False"] if loaded.driver.home_of is not None else []),
        *_maps(loaded, writer.values),
        "block = pool.pop() if pool else new()",
        "buffer, offset, address, pointers, attribute = block",
        f"pack_into({_packed(loaded, writer.values, programmatic)})",
    ]
    lines = ["def launch(grid, arguments, stream, programmatic=False):", " try:", *[f"  {line}" for line in body]]
    lines += [
        " except errors:",
        "  return False",
        " status = call(address, kernel, pointers, None)",
        " pool.append(block)",
    ]
    return "\n".join([*lines, " return not status"])


def _counts_programs(loaded: LoadedKernel, writer: StubWriter) -> bool:
    """Whether the stub asks for the number of tile blocks."""
    grids = [loaded.launch.grid, *(other.launch.grid for other in writer.others)]
    return bool(grids[0].persistent) or any(grid.faster_for for grid in grids)


def _blocks(loaded: LoadedKernel, values: Sequence[str]) -> list[str]:
    """The launched blocks of a persistent kernel; other kernels are launched on the caller's grid."""
    grid = loaded.launch.grid
    fits = _fits_grid(loaded.launch, values)
    whole = [f"if not ({fits}):", " return False"] if fits else []
    if not grid.persistent:
        return whole
    (most, _, _) = loaded.launch.blocks((MAX_TILE_PROGRAMS, 1, 1), loaded.sm_count)
    return [
        *whole,
        f"if programs > {MAX_TILE_PROGRAMS:d}:",
        " return False",
        f"blocks = min(programs, {most:d})",
    ]


def _fits_grid(launch: Launch, values: Mapping[int, str] | Sequence[str]) -> str:
    """An expression: whether a kernel may be launched on a grid, and a variant is faster for it; empty for any grid."""
    multiple = [f"gx % {launch.grid.cluster:d} == 0"] if launch.grid.cluster > 1 else []
    rows = " or ".join(_programs_code(row, values) for row in launch.grid.faster_for)
    return " and ".join([*multiple, *([f"({rows})"] if rows else [])])


def _programs_code(row: Programs, values: Mapping[int, str] | Sequence[str]) -> str:
    """An expression of ``programs``, the number of tile blocks: whether they are a row's."""
    least = f"{row.least:d} <= " if row.least > 1 else ""
    longer = "" if row.param is None else f" and {values[row.param]} >= {row.minimum:d}"
    return f"{least}programs <= {row.most:d}{longer}"


def fits_code(choice: Choice, values: Mapping[int, str] | Sequence[str]) -> str:
    """An expression of ``gx``, ``programs`` and ``values`` of parameters: whether a variant is launched (``Choice.fits``)."""
    stricter = _stricter(choice.wanted, values)
    return " and ".join(filter(None, (_fits_grid(choice.launch, values), f"not ({stricter})" if stricter else "")))


def _stricter(wanted: Conditions, values: Mapping[int, str] | Sequence[str]) -> str:
    """An expression: whether parameters do not satisfy the conditions of a variant; empty without conditions."""
    return " or ".join(bound.code(values[place]) for place, param in wanted for bound in bounds(param))


def _maps(loaded: LoadedKernel, values: list[str]) -> list[str]:
    if not loaded.mapped:
        return []
    key = "".join(f"{values[index]}, " for index in loaded.mapped)
    found = "".join(f"m{index}, " for index in range(len(loaded.launch.tensor_maps)))
    every = "".join(f"{value}, " for value in values)
    return [f"key = ({key})", f"{found} = maps.get(key) or encode(key, ({every}))"]


def _packed(loaded: LoadedKernel, values: list[str], programmatic: bool) -> str:
    launch = loaded.launch
    grid = ["gx", "gy", "gz"]
    blocks, extents = (["blocks", "1", "1"], grid) if launch.grid.persistent else (grid, [])
    head = ["buffer", "offset", *blocks, f"{launch.threads_per_cta:d}", "1", "1"]
    head += [f"{launch.shared_memory.dynamic:d}", "handle", "attribute", "programmatic" if programmatic else "0"]
    return ", ".join([*head, *values, *extents, *(f"m{index}" for index in range(len(launch.tensor_maps)))])


# ---- packages ------------------------------------------------------------------------------------------------------
def package_stub(
    loaded: LoadedKernel,
    launch: Launch,
    choice: Choice,
    arguments: Sequence[object],
    handle: int,
    handle_of: Callable[[object], int],
    others: Sequence[Choice] = (),
) -> LaunchStub | None:
    """The stub for arguments that the packer of ``launch`` has accepted; None if some are passed in another form.

    ``loaded`` is ``choice`` of the kernel and its variants; ``others`` come before it.
    """
    driver = loaded.driver
    if driver.launch_function is None or len(arguments) != len(launch.arguments):
        return None
    device, writer = driver.current_device(), StubWriter()
    writer.wanted, writer.others = choice.wanted, others
    for index, (row, argument) in enumerate(zip(launch.arguments, arguments, strict=True)):
        if not _add(writer, f"x{index}", row, launch, argument, driver, handle):
            return None
    for param, value in zip(launch.caller_parameters, writer.values, strict=True):
        is_length = param.role == "shape"  # never negative
        writer.guards += [bound.code(value) for bound in bounds(param) if not (is_length and bound == Bound("<", 0))]
    return make_launch_stub(loaded, writer, len(arguments), device, driver.view, handle_of)


def _add(
    writer: StubWriter, name: str, row: Argument, launch: Launch, argument: Any, driver: Driver, handle: int
) -> bool:
    """Whether the argument has a form that a stub reads."""
    first: Parameter = launch.params[row.param]
    if is_array(argument) and first.kind == POINTER:
        wanted = Wanted(first.access in (WRITE, READ_WRITE), True, driver.home_of)
        writer.add_array(name, argument, driver.view(argument, handle), row.rank, wanted)
        return True
    if row.rank is not None or first.kind not in SCALAR_KINDS:
        return False
    writer.add_scalar(name, first.kind, argument)
    return True
