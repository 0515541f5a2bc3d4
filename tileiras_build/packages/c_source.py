"""C99 (and C++) for a library: a header with one launch function per kernel, their bodies, and the image as an array.

The bodies are one table-driven launcher over the CUDA driver API (``launcher.c`` beside this file); the header needs
``cuda.h`` alone. ``@`` in the templates stands for the library's name.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from math import lcm
from pathlib import Path

from msgspec import structs

from ..c_names import c_names, is_mangled
from ..cpp_names import readable
from ..errors import InvalidInput, Location
from ..launch_manifest import Argument, Grid, Parameter, TensorMapRow, Value
from ..manifest_words import POINTER
from ..names import KERNEL, quoted_name
from ..runtime.arguments import words_of
from ..runtime.library_manifest import CUBIN, Image, LibraryManifest
from ..runtime.matching import order
from ..targets import COMMON_SHARED_MEMORY, TARGETS

# The C type of each parameter kind; floats without a C type travel as their bits.
SCALAR_TYPES = {
    "pointer": "CUdeviceptr", "i1": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "tf32": "float", "f64": "double", "f8E4M3FN": "uint8_t",
    "f8E5M2": "uint8_t", "f8E8M0FNU": "uint8_t",
}  # fmt: skip
_ELEMENTS = {
    "i8": "UINT8", "u8": "UINT8", "i16": "UINT16", "u16": "UINT16", "i32": "INT32", "u32": "UINT32", "i64": "INT64",
    "u64": "UINT64", "f16": "FLOAT16", "bf16": "BFLOAT16", "f32": "FLOAT32", "tf32": "TFLOAT32", "f64": "FLOAT64",
}  # fmt: skip
_L2 = {"none": "NONE", "64B": "L2_64B", "128B": "L2_128B", "256B": "L2_256B"}
_FILL = {"zero": "NONE", "nan": "NAN_REQUEST_ZERO_FMA"}
_NEWEST = 0x7FFFFFFF
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
# How the launcher reads a parameter, and where it is in a tensor's struct.
_ROLES = {"shape": "A_LENGTH", "stride": "A_STRIDE"}
_NUMBER_ROLES = dict.fromkeys(("i8", "i16", "i32", "i64"), "AN_INTEGER")
_MEMBERS = {"shape": "shape", "stride": "strides"}
# Of C and C++; a source may name its arguments so.
KEYWORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return co_yield compl "
    "concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else "
    "enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return short signed "
    "sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid "
    "typename union unsigned using virtual void volatile wchar_t while xor xor_eq unix linux errno stdin stdout stderr "
    "assert NULL INT_MAX grid stream".split()
)
_PARAMETER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Where a library has none: C knows no empty table, and C++ warns of a row that is not whole.
_NO_TENSOR_MAP = TensorMapRow(
    param=0, base=Value(param=0), element="u8", shape=[1], strides=[], box=[1], element_strides=[1],
    interleave="none", swizzle="none", l2_promotion="none", fill="zero",
)  # fmt: skip
_WORDS_PER_LINE = 6
_FOLDER = Path(__file__).parent
NOTE = "/* Written by tileiras_build. */\n"


def render_header(manifest: LibraryManifest) -> str:
    """``<name>.h``."""
    _check_names(manifest)
    calls = calls_of(manifest)
    ranks = sorted({argument.rank for call in calls for argument in call.arguments if argument.rank is not None})
    return NOTE + fill(
        (_FOLDER / "launcher.h").read_text(),
        manifest,
        tensors="\n\n".join(_tensor_type(manifest.name, rank) for rank in ranks) or "/* No kernel takes an array. */",
        functions="\n\n".join(_declaration(manifest.name, call) for call in calls),
    )


def render_source(manifest: LibraryManifest) -> str:
    """``<name>.c``: tables, the launcher, and one function per kernel."""
    _check_names(manifest)
    kernels = sorted(manifest.kernels.items())
    calls = calls_of(manifest)
    launches = [image.launch for _, images in kernels for image in images]
    return NOTE + fill(
        (_FOLDER / "launcher.c").read_text(),
        manifest,
        parameters="\n".join(row for call in calls for row in _parameter_rows(manifest.name, call)) or "    {0}",
        parameter_count=str(max([len(launch.params) for launch in launches] + [1])),
        block_size=str(max([param.offset + param.size for call in calls for param in call.params] + [1])),
        tensor_maps="\n".join(_tensor_map_rows(kernels)) or _tensor_map(_NO_TENSOR_MAP, [8]),
        images="\n".join(_image_rows(kernels)) or "    {0}",
        kernels="\n".join(_kernel_rows(calls)) or "    {0}",
        image_count=str(max(len(launches), 1)),
        kernel_count=str(max(len(kernels), 1)),
        map_count=str(max([len(launch.tensor_maps) for launch in launches] + [1])),
        common_shared_memory=str(COMMON_SHARED_MEMORY),
        shared_memory=", ".join(f"{{{one.number}, {one.max_shared_memory}u}}" for one in TARGETS.values()),
        embedded=", ".join(str(target.number) for target in TARGETS.values() if target.has("embedded")),
        functions="\n\n".join(_body(manifest.name, index, call) for index, call in enumerate(calls)),
    )


def render_image(manifest: LibraryManifest, image: bytes) -> str:
    """``<name>_image.c``: the image as 64-bit little-endian words, which compile faster than bytes."""
    words = struct.unpack(f"<{(len(image) + 7) // 8}Q", image + bytes(-len(image) % 8))
    lines = [
        "    " + " ".join(f"0x{word:x}," for word in words[start : start + _WORDS_PER_LINE])
        for start in range(0, len(words), _WORDS_PER_LINE)
    ]
    template = (_FOLDER / "image.c").read_text()
    return NOTE + fill(template, manifest, words="\n".join(lines) or "    0")


def fill(template: str, manifest: LibraryManifest, **parts: str) -> str:
    """The template for one library: ``@`` is its name, ``@@`` that in capitals, ``@{part}@`` a part."""
    parts |= {"targets": " ".join(manifest.targets), "size": str(manifest.size), "file": manifest.image}
    names = {"@@": manifest.name.upper(), "@": manifest.name}
    return re.sub(r"@\{(\w+)\}@|@@?", lambda found: parts[found[1]] if found[1] else names[found[0]], template)


def _check_names(manifest: LibraryManifest) -> None:
    owners: dict[str, str] = {}
    called = c_names(manifest.kernels)
    for entry, images in manifest.kernels.items():
        if owners.setdefault(called[entry], entry) != entry:
            message = f"kernels {owners[called[entry]]} and {entry} are both called {called[entry]} in C"
            raise InvalidInput(f"{KERNEL}-name", message, location=Location(f"{manifest.name}.h"), remedy="rename one")
        names = {row.name for image in images for row in (*image.launch.ordinary, *image.launch.arguments)}
        if wrong := {name for name in names if not _PARAMETER.fullmatch(name)}:
            message = f"kernel {entry} has a parameter named {quoted_name(min(wrong))}"
            raise InvalidInput("package-parameters", message, remedy="build it again, or pack it without C sources")
        kinds = {tuple(row.kind for row in image.launch.ordinary) for image in images}
        unknown = {kind for row in kinds for kind in row} - SCALAR_TYPES.keys()
        if len(kinds) > 1 or unknown:
            what = f"parameters of kind {', '.join(sorted(unknown))}" if unknown else "other parameters on other GPUs"
            raise InvalidInput("package-parameters", f"kernel {entry} has {what}", remedy="pack it without C sources")


# ---- functions -----------------------------------------------------------------------------------
def calls_of(manifest: LibraryManifest) -> list[Call]:
    """The library's kernels, in the order of their symbols."""
    called = c_names(manifest.kernels)
    return [Call(entry, called[entry], images) for entry, images in sorted(manifest.kernels.items())]


class Call:
    """A kernel as C and C++ call it, by ``name``: what its images agree on. The driver calls it ``entry``."""

    def __init__(self, entry: str, name: str, images: Sequence[Image]):
        self.entry, self.images, self.name = entry, images, name
        self.arguments = tuple(images[0].launch.arguments)
        self.params = [_strictest(rows) for rows in zip(*(image.launch.ordinary for image in images))]

    def of(self, argument: Argument) -> list[Parameter]:
        """The parameters of an argument."""
        return self.params[argument.param : argument.param + argument.parameters]

    @property
    def title(self) -> str:
        """What comments call it, and the GPUs of its images."""
        return f"{readable(self.entry)} for {self.targets}"

    @property
    def shown(self) -> str:
        """What sentences call it."""
        return self.name if is_mangled(self.entry) else self.entry

    @property
    def targets(self) -> str:
        """Of its images, for people."""
        return ", ".join(image.target + ("" if image.kind == CUBIN else " (PTX)") for image in self.images)


def _strictest(rows: Sequence[Parameter]) -> Parameter:
    """A parameter that every image of the kernel is right for."""
    values = [row.value for row in rows if row.value is not None]
    return structs.replace(
        rows[0],
        value=values[0] if values else None,
        divisible_by=lcm(*(row.divisible_by for row in rows)),
        minimum=max((row.minimum for row in rows if row.minimum is not None), default=None),
        maximum=min((row.maximum for row in rows if row.maximum is not None), default=None),
    )


def member_name(argument: Argument) -> str:
    """An argument's name where the language has not taken it."""
    return f"{argument.name}_" if argument.name in KEYWORDS else argument.name


def _tensor_type(library: str, rank: int) -> str:
    dimensions = f"    int64_t shape[{rank}], strides[{rank}]; /* strides in elements */\n" if rank else ""
    return (
        f"/* An array of {rank} dimension{'s' * (rank != 1)} in the GPU's memory. */\n"
        f"typedef struct {{\n    CUdeviceptr pointer;\n{dimensions}}} {library}_tensor_{rank};"
    )


def struct_name(library: str, call: Call) -> str:
    """The struct of a kernel's arguments."""
    return f"{library}_{call.name}_arguments"


def _declaration(library: str, call: Call) -> str:
    members = [
        f"    {_member_type(library, call, argument)} {member_name(argument)}; /* {words_of(argument, call.params)} */"
        for argument in call.arguments
    ]
    comment = f"/* {call.title}; {_grid_words(call.images[0].launch.grid)} */"
    struct = ["typedef struct {", *(members or ["    int none;"]), f"}} {struct_name(library, call)};", ""]
    return "\n".join([comment, *struct, f"{_signature(library, call)};"])


def _grid_words(grid: Grid) -> str:
    """What the axes of a launch's grid count, where the export has said so; it has no end of a comment in it."""
    if grid.meaning:
        counted = ", ".join(f"{axis} counts {meaning}" for axis, meaning in zip("xyz", grid.meaning))
        return f"grid: {counted}".replace("*/", "* /")
    axes = ", ".join("xyz"[axis] for axis in grid.axes) or "none"
    return f"of the grid it tells apart: {axes}"


def _member_type(library: str, call: Call, argument: Argument) -> str:
    return f"{library}_tensor_{argument.rank}" if argument.kind == "array" else SCALAR_TYPES[call.of(argument)[0].kind]


def _signature(library: str, call: Call) -> str:
    return (
        f"CUresult {library}_launch_{call.name}({library}_library *library, {library}_grid grid, CUstream stream,\n"
        f"    const {struct_name(library, call)} *arguments)"
    )


def _body(library: str, index: int, call: Call) -> str:
    return f"{_signature(library, call)}\n{{\n    return launch(library, {index}, grid, stream, arguments);\n}}"


# ---- parameters ----------------------------------------------------------------------------------
def _parameter_rows(library: str, call: Call) -> Iterator[str]:
    for argument in call.arguments:
        for param in call.of(argument):
            yield _parameter_row(f"offsetof({struct_name(library, call)}, {member_name(argument)}", argument, param)


def _parameter_row(struct: str, argument: Argument, param: Parameter) -> str:
    rank, axis = argument.rank or 0, param.axis or 0
    member = (
        "" if argument.kind != "array" else ".pointer" if param.role == POINTER else f".{_MEMBERS[param.role]}[{axis}]"
    )
    role = _ROLES.get(param.role) or (
        "AN_ADDRESS" if param.kind == POINTER else _NUMBER_ROLES.get(param.kind, "A_NUMBER")
    )
    least = 0 if param.role == "shape" else _LEAST
    least = param.value if param.value is not None else max(least, _LEAST if param.minimum is None else param.minimum)
    most = _MOST if param.maximum is None else param.maximum
    return (
        f'    {{"{argument.name}", {role}, {axis}, {rank}, {param.size}, {int(param.value is not None)}, {struct}{member}), '
        f"{param.offset}, {param.divisible_by}, {_long(least)}, {_long(most)}}},"
    )


def _long(number: int) -> str:
    """A number in C, where the least one has no literal."""
    return f"(-{_MOST}LL - 1)" if number == _LEAST else f"{number}LL"


# ---- tables --------------------------------------------------------------------------------------
def _tensor_map_rows(kernels) -> Iterator[str]:
    for _, images in kernels:
        for image in order(images):
            sizes = [row.size for row in image.launch.params]
            yield from (_tensor_map(row, sizes) for row in image.launch.tensor_maps)


def _tensor_map(row: TensorMapRow, sizes: Sequence[int]) -> str:
    rank = len(row.shape)
    values = [_values(row.shape, sizes), _values(row.strides, sizes)]
    numbers = [", ".join(map(str, numbers)) for numbers in (row.box, row.element_strides)]
    names = (
        f"CU_TENSOR_MAP_DATA_TYPE_{_ELEMENTS[row.element]}",
        f"CU_TENSOR_MAP_INTERLEAVE_{row.interleave.upper()}",
        f"CU_TENSOR_MAP_SWIZZLE_{row.swizzle.upper()}",
        f"CU_TENSOR_MAP_L2_PROMOTION_{_L2[row.l2_promotion]}",
        f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{_FILL[row.fill]}",
    )
    held = ", ".join(f"{{{part}}}" for part in (*values, *numbers))
    return f"    {{{row.param}, {row.base.param}, {rank}, {', '.join(names)}, {held}}},"


def _values(rows: Sequence[int | Value], sizes: Sequence[int]) -> str:
    """Each value as {parameter, its bytes, factor, divisor}; a number has no parameter (-1) and is the factor."""
    parts = [
        f"{{-1, 0, {row}LL, 1}}"
        if isinstance(row, int)
        else f"{{{row.param}, {sizes[row.param]}, {row.times}LL, {row.over}}}"
        for row in rows
    ]
    return ", ".join(parts) or "{-1, 0, 0LL, 1}"


def _image_rows(kernels) -> Iterator[str]:
    first = 0
    for _, images in kernels:
        for image in order(images):
            launch, maps = image.launch, len(image.launch.tensor_maps)
            yield (
                f"    {{{image.gpu.number}, {_highest(image)}, {image.offset}u, {image.size}u, {launch.threads_per_cta}, "
                f"{image.shared_memory}, {first}, {maps}}},"
            )
            first += maps


def _highest(image: Image) -> int:
    """The last GPU that the image runs on, by the rules of ``runtime/matching.py``."""
    if not image.gpu.portable:
        return image.gpu.number
    if image.kind != CUBIN:
        return _NEWEST
    return image.gpu.number if image.gpu.has("embedded") else image.gpu.number // 10 * 10 + 9


def _kernel_rows(calls: Sequence[Call]) -> Iterator[str]:
    first = parameter = 0
    for call in calls:
        yield f'    {{"{call.shown}", "{call.entry}", {first}, {len(call.images)}, {parameter}, {len(call.params)}}},'
        first += len(call.images)
        parameter += len(call.params)
