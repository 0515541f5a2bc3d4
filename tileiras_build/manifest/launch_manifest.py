"""The launch manifest as classes: what a host must know to launch the kernels of a cubin; ``pipeline/launch_manifest_json.py`` tells of it.

msgspec reads it: one wheel of half a megabyte without dependencies, imported in 8 ms, whose structs are as light as tuples;
pydantic brings four packages of eight megabytes and 70 ms of imports, and every launcher pays for them.
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

# msgspec (0.22) looks into a class when it is first converted to; two threads that do so at once end the process.
_CONVERT_LOCK = threading.Lock()
Role = Literal["pointer", "shape", "stride", "scalar", "grid", "tensor_map"]
Access = Literal["loaded", "stored", "updated", "unused"]


class ManifestStruct(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A row of a manifest. What a newer writer adds is passed over; what is there is of its type."""


class Parameter(ManifestStruct, frozen=True):
    """One parameter of the kernel, as the driver takes it.

    ``kind`` is "pointer", "tensor_map" or a number's type ("i32", "f16", …); ``argument`` the index of the argument that it is
    of, ``axis`` the axis whose length or stride it is. Parameters of the role "grid" are the extents of the grid in tile
    programs, which the launcher gives; they are of no argument. ``element`` and ``access`` are a pointer's. The kernel is right only
    for multiples of ``divisible_by`` (pointers: bytes) from ``minimum`` to ``maximum``, and for ``value`` alone where there
    is one.
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
    """What the kernel takes a plain pointer for: an array's lengths and strides, null where only the launch knows them."""

    extents: list[int | None]
    strides: list[int | None]


class Argument(ManifestStruct, frozen=True):
    """What a caller passes: an array of ``rank`` (1 + 2n parameters from ``param`` on), a pointer or a number (one)."""

    name: str
    kind: Literal["array", "pointer", "scalar"]
    param: int
    rank: int | None = None
    view: View | None = None

    @property
    def parameters(self) -> int:
        """How many parameters it fills."""
        return 1 if self.rank is None else 1 + 2 * self.rank


class Grid(ManifestStruct, frozen=True):
    """The axes of the grid that the kernel asks its place or the extent of; ``meaning`` says in words what each counts.

    ``group`` rows of the grid begin together, where the kernel was built so; it takes any grid. ``persistent`` is how many CTAs
    of a kernel that was built to run tile programs one after the other a multiprocessor holds; 0 of all other kernels.
    """

    axes: list[int] = []
    meaning: list[str] = []
    group: int = 1
    persistent: int = 0


class SharedMemory(ManifestStruct, frozen=True):
    """Bytes of a block."""

    static: int = 0
    dynamic: int = 0


class Value(ManifestStruct, frozen=True):
    """An integer parameter, times a factor, divided."""

    param: int
    times: int = 1
    over: int = 1


class TensorMapSpec(ManifestStruct, frozen=True):
    """What ``cuTensorMapEncodeTiled`` takes, fastest dimension first; ``param`` is the parameter that it is written to."""

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


class Launch(ManifestStruct, frozen=True, dict=True):
    """One kernel."""

    threads_per_cta: int
    shared_memory: SharedMemory = SharedMemory()
    params: list[Parameter] = []
    param_sizes: list[int] = []
    arguments: list[Argument] = []
    grid: Grid = Grid()
    cluster: tuple[int, int, int] = (1, 1, 1)
    tensor_maps: list[TensorMapSpec] = []
    resources: dict[str, int] = {}

    def __post_init__(self):
        filled = sum(argument.parameters for argument in self.arguments)
        ordinary = self.caller_parameters
        starts = [argument.param for argument in self.arguments]
        if filled != len(ordinary) or starts != self._starts():
            raise ValueError(f"its arguments fill {filled} parameters in order, it has {len(ordinary)}")
        names = [argument.name for argument in self.arguments]
        if len(set(names)) != len(names) or not all(name.isidentifier() and name.isascii() for name in names):
            raise ValueError(f"its arguments are named {names!a}, which is not a name for each")
        if len(self.extents) != (AXES if self.grid.persistent else 0):
            raise ValueError(f"{len(self.extents)} of its parameters are the grid's, which is not what its grid says")
        if min(self.cluster) < 1:
            raise ValueError(f"its cluster is {self.cluster}, not three positive numbers")

    def _starts(self) -> list[int]:
        starts, index = [], 0
        for argument in self.arguments:
            starts.append(index)
            index += argument.parameters
        return starts

    @cached_property
    def caller_parameters(self) -> tuple[Parameter, ...]:
        """The parameters that a caller passes: all but the grid's extents and tensor maps."""
        return tuple(param for param in self.params if param.role != GRID and param.kind != TENSOR_MAP)

    @cached_property
    def extents(self) -> tuple[Parameter, ...]:
        """The parameters of a persistent kernel that are the extents of its grid in tile programs, along x, y and z."""
        return tuple(param for param in self.params if param.role == GRID)

    def blocks(self, programs: tuple[int, int, int], sm_count: int) -> tuple[int, int, int]:
        """The grid that is launched for a grid of tile programs on a GPU of so many multiprocessors."""
        if not self.grid.persistent:
            return programs
        clusters = sm_count * self.grid.persistent // math.prod(self.cluster)
        return min(math.prod(programs), max(clusters, 1)), 1, 1


class LaunchManifest(ManifestStruct, frozen=True):
    """The file beside a cubin."""

    version: Literal[2]
    target: str
    kernels: dict[str, Launch]
    opt_level: int | None = None


def read_launch_manifest(content: object) -> LaunchManifest:
    """The manifest that is ``content`` (JSON, parsed); raises ValueError in words."""
    found: LaunchManifest = convert(content, LaunchManifest, VERSION)
    for name, launch in found.kernels.items():
        check_launch(launch, f"kernels.{name}")
    return found


def check_launch(launch: Launch, where: str) -> None:
    """Raise ValueError where no launcher can use a row that came from a file."""
    for problem in problems(launch):
        raise ValueError(f"{where}: {problem}")


def parse_json(data: bytes) -> object:
    """What JSON says; raises ValueError for all that is none."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None


def convert(content: object, kind: type, version: int) -> Any:
    """``content`` as a ``kind``; raises ValueError that says in words what is wrong, and where."""
    if isinstance(content, Mapping) and content.get("version", version) != version:
        raise ValueError(f"it is of version {content['version']}, this program reads version {version}")
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it has half a character in a name") from None
    try:
        with _CONVERT_LOCK:
            return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_readable_error(str(error))) from None


def _readable_error(message: str) -> str:
    """msgspec's sentence with its path as a reader would follow it: ``Expected `int`, got `str` - at `$.a[0]` ``."""
    problem, _, path = message.replace("`", "").partition(" - at ")
    problem = problem[:1].lower() + problem[1:].rstrip(".")
    return f"{path.removeprefix('$.')}: {problem}" if path.startswith("$.") else problem


def schema() -> dict[str, Any]:
    """The JSON schema of the file."""
    return msgspec.json.schema(LaunchManifest)
