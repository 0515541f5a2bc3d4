"""The launch manifest as classes: what a host needs to launch the kernels of a cubin (``pipeline/launch_manifest_json.py`` writes it).

msgspec parses it: one wheel of half a megabyte without dependencies, imported in 8 ms. pydantic would add four packages of
eight megabytes and 70 ms of imports to every launcher.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec

from .manifest_constants import AXES, GRID, TENSOR_MAP, VERSION
from .validate_launch_manifest import problems

# msgspec (0.22) inspects a class at its first conversion; two threads that do so at once crash the process.
_CONVERT_LOCK = threading.Lock()
Role = Literal["pointer", "shape", "stride", "scalar", "grid", "tensor_map"]
Access = Literal["loaded", "stored", "updated", "unused"]


class ManifestStruct(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A struct of a manifest. Unknown fields of newer writers are ignored; known fields are type-checked."""


class Parameter(ManifestStruct, frozen=True):
    """One parameter of the kernel, as the driver takes it.

    ``kind`` is "pointer", "tensor_map" or a scalar type ("i32", "f16", …). ``argument`` is the index of its argument, ``axis``
    the axis of a length or stride. Parameters of the role "grid" are the extents of the grid in tile blocks: the launcher
    sets them, they belong to no argument. ``element`` and ``access`` describe a pointer. The kernel assumes a multiple of
    ``divisible_by`` (pointers: bytes) from ``minimum`` to ``maximum``, or exactly ``value`` if that is set.
    """

    name: str
    kind: str
    size: int
    offset: int
    role: Role = "scalar"
    argument: int | None = None
    axis: int | None = None
    element: str | None = None
    access: Access | None = None
    divisible_by: int = 1
    minimum: int | None = None
    maximum: int | None = None
    value: int | None = None


class View(ManifestStruct, frozen=True):
    """The array that the kernel assumes behind a plain pointer: its lengths and strides, null if known at launch only."""

    extents: list[int | None]
    strides: list[int | None]


class Argument(ManifestStruct, frozen=True):
    """An argument of the caller: an array of ``rank`` n (1 + 2n parameters from ``param`` on), a pointer or a scalar (one)."""

    name: str
    kind: Literal["array", "pointer", "scalar"]
    param: int
    rank: int | None = None
    view: View | None = None

    @property
    def parameters(self) -> int:
        """The number of parameters that it fills."""
        return 1 if self.rank is None else 1 + 2 * self.rank


class Programs(ManifestStruct, frozen=True):
    """Grids of ``least`` to ``most`` tile blocks of all axes together, where the integer parameter ``param`` is at least ``minimum``."""

    most: int
    least: int = 1
    param: int | None = None
    minimum: int = 0


class SplitK(ManifestStruct, frozen=True):
    """A variant that is compiled when a launch asks for it: ``ctas`` divide the loop along k of a tile block, for some grids."""

    ctas: int
    programs: list[Programs]


class Grid(ManifestStruct, frozen=True):
    """The grid axes whose block index or extent the kernel uses; ``meaning`` describes each.

    ``group``: rows per group of a grouped (swizzled) block order. ``reversed``: the axis along which the kernel counts tile
    blocks from the last one. ``persistent``: CTAs per SM of a persistent kernel; 0 for
    all other kernels. ``cluster``: tile blocks along axis 0 that form a cluster; the extent of each launch is a multiple of it.
    ``programs``: the grids that a variant is faster for; empty: any. ``most``: the same in files of older compilers, which
    had one row from 1 on; 0: any.
    """

    axes: list[int] = []
    meaning: list[str] = []
    group: int = 1
    reversed: int | None = None
    cluster: int = 1
    programs: list[Programs] = []
    most: int = 0
    persistent: int = 0

    @property
    def faster_for(self) -> list[Programs]:
        """``programs``, of any file."""
        return self.programs or ([Programs(most=self.most)] if self.most else [])


class SharedMemory(ManifestStruct, frozen=True):
    """Shared memory of a CTA in bytes."""

    static: int = 0
    dynamic: int = 0


class Value(ManifestStruct, frozen=True):
    """The value of an integer parameter, times ``times``, divided by ``over``."""

    param: int
    times: int = 1
    over: int = 1


class TensorMapSpec(ManifestStruct, frozen=True):
    """The operands of ``cuTensorMapEncodeTiled``, fastest dimension first; ``param`` is the parameter of the encoded map."""

    param: int
    element: str
    base: Value
    shape: list[int | Value]
    strides: list[int | Value]
    box: list[int]
    element_strides: list[int]
    swizzle: str
    interleave: str
    fill: str
    l2_promotion: str


class Tuning(ManifestStruct, frozen=True):
    """The constants and hints that a kernel with a space of them was compiled with, and who chose them; ``stale``: the space
    has changed since."""

    point: dict[str, bool | int | float]
    by: str
    stale: bool = False


class Launch(ManifestStruct, frozen=True, dict=True):
    """How one kernel is launched.

    A kernel with ``variant_of`` may be launched in place of the kernel of that name, with the same arguments, if they satisfy
    all assumptions of its parameters, and the grid is one that ``grid.cluster`` divides, and one of ``grid.programs`` if there are any.
    """

    threads_per_cta: int
    shared_memory: SharedMemory = SharedMemory()
    params: list[Parameter] = []
    param_sizes: list[int] = []
    arguments: list[Argument] = []
    grid: Grid = Grid()
    cluster: tuple[int, int, int] = (1, 1, 1)
    tensor_maps: list[TensorMapSpec] = []
    resources: dict[str, int] = {}
    variant_of: str | None = None
    split_k: list[SplitK] = []
    tuning: Tuning | None = None

    def __post_init__(self):
        filled = sum(argument.parameters for argument in self.arguments)
        ordinary = self.caller_parameters
        starts = [argument.param for argument in self.arguments]
        if filled != len(ordinary) or starts != self._starts():
            raise ValueError(f"arguments fill {filled} parameters in order, kernel has {len(ordinary)}")
        names = [argument.name for argument in self.arguments]
        if len(set(names)) != len(names) or not all(name.isidentifier() and name.isascii() for name in names):
            raise ValueError(f"argument names are not unique identifiers: {names!a}")
        if len(self.extents) != (AXES if self.grid.persistent else 0):
            raise ValueError(f"{len(self.extents)} grid extent parameters do not match grid.persistent")
        if min(self.cluster) < 1:
            raise ValueError(f"invalid cluster {self.cluster}")

    def _starts(self) -> list[int]:
        starts, index = [], 0
        for argument in self.arguments:
            starts.append(index)
            index += argument.parameters
        return starts

    @cached_property
    def caller_parameters(self) -> tuple[Parameter, ...]:
        """The parameters that a caller passes: all except grid extents and tensor maps."""
        return tuple(param for param in self.params if param.role != GRID and param.kind != TENSOR_MAP)

    @cached_property
    def extents(self) -> tuple[Parameter, ...]:
        """The parameters of a persistent kernel with the extents of its grid in tile blocks, along x, y and z."""
        return tuple(param for param in self.params if param.role == GRID)

    def blocks(self, programs: tuple[int, int, int], sm_count: int) -> tuple[int, int, int]:
        """The launched grid for a grid of tile blocks on a GPU with ``sm_count`` SMs."""
        if not self.grid.persistent:
            return programs
        clusters = sm_count * self.grid.persistent // math.prod(self.cluster)
        return min(math.prod(programs), max(clusters, 1)), 1, 1


class LaunchManifest(ManifestStruct, frozen=True):
    """The file next to a cubin."""

    version: Literal[2]
    target: str
    kernels: dict[str, Launch]
    opt_level: int | None = None


def read_launch_manifest(content: object) -> LaunchManifest:
    """The manifest in ``content`` (parsed JSON); raises ValueError with a message for the user."""
    found: LaunchManifest = convert(content, LaunchManifest, VERSION)
    for name, launch in found.kernels.items():
        check_launch(launch, f"kernels.{name}")
    return found


def check_launch(launch: Launch, where: str) -> None:
    """Raise ValueError for a kernel of a file that no launcher can use."""
    for problem in problems(launch):
        raise ValueError(f"{where}: {problem}")


def parse_json(data: bytes) -> object:
    """The parsed JSON; raises ValueError if it is invalid."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("brackets nested too deeply") from None


def convert(content: object, kind: type, version: int) -> Any:
    """``content`` converted to ``kind``; raises ValueError with the error and its path."""
    if isinstance(content, Mapping) and content.get("version", version) != version:
        raise ValueError(f"unsupported version {content['version']} (expected {version})")
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("invalid Unicode in a name") from None
    try:
        with _CONVERT_LOCK:
            return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_readable_error(str(error))) from None


def _readable_error(message: str) -> str:
    """msgspec's message with the path in front; msgspec prints ``Expected `int`, got `str` - at `$.a[0]` ``."""
    problem, _, path = message.replace("`", "").partition(" - at ")
    problem = problem[:1].lower() + problem[1:].rstrip(".")
    return f"{path.removeprefix('$.')}: {problem}" if path.startswith("$.") else problem


def schema() -> dict[str, Any]:
    """The JSON schema of the manifest."""
    return msgspec.json.schema(LaunchManifest)
