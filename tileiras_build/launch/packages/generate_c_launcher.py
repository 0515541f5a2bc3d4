"""Generates the C99 and C++17 interface of a library: headers, the launcher's source, and the image as an array.

The source is a table-driven launcher over the CUDA driver API (``launcher.c.jinja``), whose table rows are the NamedTuples
here. The headers include only ``cuda.h`` and standard headers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from ...manifest.launch_manifest import Launch, Parameter, Programs, TensorMapSpec, Value
from ...manifest.manifest_constants import MAX_TILE_PROGRAMS, POINTER
from ...manifest.parameter_bounds import WORDS
from ...manifest.variant_assumptions import conditions
from ...target.element_types import MAP_TYPES
from ...target.sm_limits import COMMON_SHARED_MEMORY
from ...target.targets import TARGETS
from ..runtime.library_manifest import CUBIN, Image, LibraryManifest
from ..runtime.select_image import by_preference
from .c_function_signatures import KernelFunction, Member, kernel_functions
from .render_templates import INT64_MAX, INT64_MIN, render

_L2 = {"none": "NONE", "64B": "L2_64B", "128B": "L2_128B", "256B": "L2_256B"}
_FILL = {"zero": "NONE", "nan": "NAN_REQUEST_ZERO_FMA"}
_ANY_LATER_GPU = 0x7FFFFFFF
# The launcher's enumerators for the source of a parameter.
_ROLES = {"shape": "A_LENGTH", "stride": "A_STRIDE"}
_KINDS = {POINTER: "AN_ADDRESS"} | dict.fromkeys(("i8", "i16", "i32", "i64"), "AN_INTEGER")
# A placeholder row: C has no empty arrays, and C++ warns about incomplete initializers.
_NO_TENSOR_MAP = TensorMapSpec(
    param=0, base=Value(param=0), element="u8", shape=[1], strides=[], box=[1], element_strides=[1],
    interleave="none", swizzle="none", l2_promotion="none", fill="zero",
)  # fmt: skip
_WORDS_PER_LINE = 6


def render_header(manifest: LibraryManifest) -> str:
    """``<name>.h``."""
    calls = kernel_functions(manifest)
    members = [member for call in calls for member in call.members]
    ranks = sorted({member.rank for member in members if member.rank is not None})
    names = sorted({member.name for member in members})
    return render("launcher.h", manifest, calls=calls, ranks=ranks, names=names)


def render_source(manifest: LibraryManifest) -> str:
    """``<name>.c``: tables, the launcher, and one function per kernel."""
    calls = kernel_functions(manifest)
    images = [(call.symbol, image) for call in calls for image in by_preference(call.images)]
    rows = list(_image_rows(images))
    launches = [row.launch for row in rows]
    return render(
        "launcher.c",
        manifest,
        calls=calls,
        parameters=[row for call in calls for row in _parameter_rows(call)],
        parameter_count=max([len(launch.params) for launch in launches] + [1]),
        block_size=max([param.offset + param.size for call in calls for param in call.params] + [1]),
        tensor_maps=[one for row in rows for one in _tensor_maps(row.launch)] or [_tensor_map(_NO_TENSOR_MAP, [8])],
        conditions=[condition for row in rows for condition in row.conditions],
        programs=[one for row in rows for one in row.programs],
        images=rows,
        kernels=list(_kernel_rows(calls)),
        map_count=max([len(launch.tensor_maps) for launch in launches] + [1]),
        common_shared_memory=COMMON_SHARED_MEMORY,
        max_programs=MAX_TILE_PROGRAMS,
        words=WORDS,
        gpus=list(TARGETS.values()),
        embedded=[target for target in TARGETS.values() if target.has("embedded")],
    )


def render_cpp_header(manifest: LibraryManifest) -> str:
    """``<name>.hpp``: a C++17 wrapper of the C header, with typed arrays and a RAII library class."""
    return render("launcher.hpp", manifest, calls=kernel_functions(manifest))


def render_image(manifest: LibraryManifest, image: bytes) -> str:
    """``<name>_image.c``: the image as 64-bit little-endian words, which compile faster than bytes."""
    words = struct.unpack(f"<{(len(image) + 7) // 8}Q", image + bytes(-len(image) % 8))
    # Joined here: a library has millions, and a template's loop takes four times as long.
    lines = [
        "".join(f" 0x{word:x}," for word in words[start : start + _WORDS_PER_LINE])
        for start in range(0, len(words), _WORDS_PER_LINE)
    ]
    return render("image.c", manifest, lines=lines)


class BoundsRow(NamedTuple):
    """``value_bounds`` of the launcher: multiples of ``factor`` from ``minimum`` to ``maximum``, or only ``minimum`` if it is ``fixed``."""

    fixed: int
    factor: int
    minimum: int
    maximum: int


def _bounds_row(param: Parameter, lowest: int = INT64_MIN) -> BoundsRow:
    """The values that a kernel assumes of a parameter, from ``lowest`` on (``manifest/parameter_bounds.py``)."""
    if param.value is not None:
        return BoundsRow(1, param.divisible_by, param.value, INT64_MAX)
    minimum = max(lowest, INT64_MIN if param.minimum is None else param.minimum)
    return BoundsRow(0, param.divisible_by, minimum, INT64_MAX if param.maximum is None else param.maximum)


class ParameterRow(NamedTuple):
    """``parameter_row`` of the launcher; ``source``: offset in the struct of arguments; ``offset``: in the parameter block."""

    name: str
    role: str
    axis: int
    rank: int
    size: int
    source: int
    offset: int
    bounds: BoundsRow


def _parameter_rows(call: KernelFunction) -> Iterator[ParameterRow]:
    for member in call.members:
        for param in member.params:
            yield _parameter_row(member, param)


def _parameter_row(member: Member, param: Parameter) -> ParameterRow:
    role = _ROLES.get(param.role) or _KINDS.get(param.kind, "A_NUMBER")
    return ParameterRow(
        name=member.argument.name,
        role=role,
        axis=param.axis or 0,
        rank=member.rank or 0,
        size=param.size,
        source=member.place_of(param),
        offset=param.offset,
        bounds=_bounds_row(param, 0 if param.role == "shape" else INT64_MIN),
    )


class MapValue(NamedTuple):
    """``value`` of the launcher: a parameter of ``size`` bytes, times ``factor``, over ``divisor``; without a parameter (-1): the factor."""

    param: int
    size: int
    factor: int
    divisor: int = 1


class MapRow(NamedTuple):
    """``tensor_map_row`` of the launcher; ``driver_enums`` are the enumerators of ``cuda.h``."""

    row: TensorMapSpec
    driver_enums: tuple[str, ...]
    shape: list[MapValue]
    strides: list[MapValue]


def _tensor_maps(launch: Launch) -> Iterator[MapRow]:
    sizes = [row.size for row in launch.params]
    yield from (_tensor_map(row, sizes) for row in launch.tensor_maps)


def _tensor_map(row: TensorMapSpec, sizes: Sequence[int]) -> MapRow:
    words = (
        f"DATA_TYPE_{MAP_TYPES[row.element].driver}",
        f"INTERLEAVE_{row.interleave.upper()}",
        f"SWIZZLE_{row.swizzle.upper()}",
        f"L2_PROMOTION_{_L2[row.l2_promotion]}",
        f"FLOAT_OOB_FILL_{_FILL[row.fill]}",
    )
    shape, strides = (
        [_map_value(value, sizes) for value in values] or [MapValue(-1, 0, 0)] for values in (row.shape, row.strides)
    )
    return MapRow(row, words, shape, strides)


def _map_value(value: int | Value, sizes: Sequence[int]) -> MapValue:
    if isinstance(value, int):
        return MapValue(-1, 0, value)
    return MapValue(value.param, sizes[value.param], value.times, value.over)


class ConditionRow(NamedTuple):
    """``condition_row`` of the launcher."""

    parameter: int
    size: int
    bounds: BoundsRow


class ProgramsRow(NamedTuple):
    """``programs_row`` of the launcher; ``size``: 0 for grids that depend on no parameter."""

    least: int
    most: int
    parameter: int
    size: int
    minimum: int


def _programs_row(launch: Launch, row: Programs) -> ProgramsRow:
    size = 0 if row.param is None else launch.params[row.param].size
    return ProgramsRow(row.least, row.most, row.param or 0, size, row.minimum)


class ImageRow(NamedTuple):
    """``image_row`` of the launcher: an image's kernel, or a variant of it, which precedes that.

    ``home``: the row of the kernel, which holds the loaded image. ``multiple``: of it is the grid's first extent where a variant
    is launched.
    """

    image: Image
    launch: Launch
    symbol: str
    home: int
    highest: int
    first_map: int
    cluster: int
    multiple: int
    first_condition: int
    conditions: list[ConditionRow]
    first_programs: int
    programs: list[ProgramsRow]


def _image_rows(images: Sequence[tuple[str, Image]]) -> Iterator[ImageRow]:
    first_map = first_condition = first_programs = home = 0
    for symbol, image in images:
        home += len(image.variants)
        for name, launch in (*image.variants.items(), (symbol, image.launch)):
            rows = [ConditionRow(at, param.size, _bounds_row(param)) for at, param in conditions(image.launch, launch)]
            cluster, multiple = prod(launch.cluster), 1 if launch is image.launch else launch.grid.cluster
            programs = [_programs_row(launch, row) for row in launch.grid.faster_for]
            yield ImageRow(
                image, launch, name, home, _highest(image), first_map, cluster, multiple,
                first_condition, rows, first_programs, programs,
            )  # fmt: skip
            first_map += len(launch.tensor_maps)
            first_condition += len(rows)
            first_programs += len(programs)
        home += 1


def _highest(image: Image) -> int:
    """The highest compute capability that runs the image, by the rules of ``launch/runtime/select_image.py``."""
    if not image.gpu.portable:
        return max(image.gpu.members)
    if image.kind != CUBIN:
        return _ANY_LATER_GPU
    return image.gpu.number if image.gpu.has("embedded") else image.gpu.number // 10 * 10 + 9


class KernelRow(NamedTuple):
    """``kernel_row`` of the launcher."""

    call: KernelFunction
    first_image: int
    images: int
    first_parameter: int


def _kernel_rows(calls: Sequence[KernelFunction]) -> Iterator[KernelRow]:
    image = parameter = 0
    for call in calls:
        count = sum(1 + len(one.variants) for one in call.images)
        yield KernelRow(call, image, count, parameter)
        image += count
        parameter += len(call.params)
