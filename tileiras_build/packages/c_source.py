"""C99 (and C++) for a library: a header with one launch function per kernel, their bodies, and the image as an array.

The bodies are one table-driven launcher over the CUDA driver API (``launcher.c`` beside this file); the header needs
``cuda.h`` alone. ``@`` in the templates stands for the library's name.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import InvalidInput, Location
from ..launch_manifest import Parameter, TensorMapRow, Value
from ..names import KERNEL, quoted_name
from ..runtime.library_manifest import CUBIN, Image, LibraryManifest
from ..runtime.matching import order
from ..targets import COMMON_SHARED_MEMORY, TARGETS

# The C type of each parameter kind; floats without a C type travel as their bits.
_TYPES = {
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
_PARAMETER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Where a library has none: C knows no empty table, and C++ warns of a row that is not whole.
_NO_TENSOR_MAP = TensorMapRow(
    param=0, base=Value(param=0), element="u8", shape=[1], strides=[], box=[1], element_strides=[1],
    interleave="none", swizzle="none", l2_promotion="none", fill="zero",
)  # fmt: skip
_WORDS_PER_LINE = 6
_FOLDER = Path(__file__).parent
_NOTE = "/* Written by tileiras_build. */\n"


def render_header(manifest: LibraryManifest) -> str:
    """``<name>.h``."""
    template = (_FOLDER / "launcher.h").read_text()
    functions = "\n\n".join(
        f"/* {_parameter_comment(images)} */\n{_signature(manifest.name, entry, images)};"
        for entry, images in sorted(manifest.kernels.items())
    )
    return _NOTE + _fill(template, manifest, functions=functions)


def render_source(manifest: LibraryManifest) -> str:
    """``<name>.c``: tables, the launcher, and one function per kernel."""
    _check_names(manifest)
    kernels = sorted(manifest.kernels.items())
    template = (_FOLDER / "launcher.c").read_text()
    most = max((len(image.launch.tensor_maps) for _, images in kernels for image in images), default=0)
    return _NOTE + _fill(
        template,
        manifest,
        tensor_maps="\n".join(_tensor_map_rows(kernels)) or _tensor_map(_NO_TENSOR_MAP, [8]),
        images="\n".join(_image_rows(kernels)) or "    {0}",
        kernels="\n".join(_kernel_rows(kernels)) or "    {0}",
        image_count=str(max(sum(len(images) for _, images in kernels), 1)),
        kernel_count=str(max(len(kernels), 1)),
        map_count=str(max(most, 1)),
        common_shared_memory=str(COMMON_SHARED_MEMORY),
        shared_memory=", ".join(f"{{{one.number}, {one.max_shared_memory}u}}" for one in TARGETS.values()),
        embedded=", ".join(str(target.number) for target in TARGETS.values() if target.has("embedded")),
        functions="\n\n".join(_body(manifest.name, index, *kernel) for index, kernel in enumerate(kernels)),
    )


def render_image(manifest: LibraryManifest, image: bytes) -> str:
    """``<name>_image.c``: the image as 64-bit little-endian words, which compile faster than bytes."""
    words = struct.unpack(f"<{(len(image) + 7) // 8}Q", image + bytes(-len(image) % 8))
    lines = [
        "    " + " ".join(f"0x{word:x}," for word in words[start : start + _WORDS_PER_LINE])
        for start in range(0, len(words), _WORDS_PER_LINE)
    ]
    template = (_FOLDER / "image.c").read_text()
    return _NOTE + _fill(template, manifest, words="\n".join(lines) or "    0")


def _fill(template: str, manifest: LibraryManifest, **parts: str) -> str:
    """The template for one library: ``@`` is its name, ``@@`` that in capitals, ``@{part}@`` a part."""
    parts |= {"targets": " ".join(manifest.targets), "size": str(manifest.size), "file": manifest.image}
    names = {"@@": manifest.name.upper(), "@": manifest.name}
    return re.sub(r"@\{(\w+)\}@|@@?", lambda found: parts[found[1]] if found[1] else names[found[0]], template)


def c_name(entry: str) -> str:
    """A kernel's name where C allows letters, digits and underscores only."""
    return re.sub(r"\W", "_", entry, flags=re.ASCII)


def _check_names(manifest: LibraryManifest) -> None:
    owners: dict[str, str] = {}
    for entry, images in manifest.kernels.items():
        if owners.setdefault(c_name(entry), entry) != entry:
            message = f"kernels {owners[c_name(entry)]} and {entry} are both called {c_name(entry)} in C"
            raise InvalidInput(f"{KERNEL}-name", message, location=Location(f"{manifest.name}.h"), remedy="rename one")
        if wrong := {row.name for image in images for row in ordinary(image) if not _PARAMETER.fullmatch(row.name)}:
            message = f"kernel {entry} has a parameter named {quoted_name(min(wrong))}"
            raise InvalidInput("package-parameters", message, remedy="build it again, or pack it without C sources")
        kinds = {tuple(row.kind for row in ordinary(image)) for image in images}
        unknown = {kind for row in kinds for kind in row} - _TYPES.keys()
        if len(kinds) > 1 or unknown:
            what = f"parameters of kind {', '.join(sorted(unknown))}" if unknown else "other parameters on other GPUs"
            raise InvalidInput("package-parameters", f"kernel {entry} has {what}", remedy="pack it without C sources")


def ordinary(image: Image) -> tuple[Parameter, ...]:
    """The parameters that a caller passes: all but tensor maps."""
    return image.launch.ordinary


# ---- functions -----------------------------------------------------------------------------------
def _signature(library: str, entry: str, images: Sequence[Image]) -> str:
    given = "".join(f", {_TYPES.get(row.kind, 'uint64_t')} {row.name}" for row in ordinary(images[0]))
    return f"CUresult {library}_launch_{c_name(entry)}({library}_library *library, {library}_grid grid, CUstream stream{given})"


def _parameter_comment(images: Sequence[Image]) -> str:
    kinds = ", ".join(row.kind for row in ordinary(images[0])) or "no parameters"
    return f"{kinds}; for {', '.join(image.target + ('' if image.kind == CUBIN else ' (PTX)') for image in images)}"


def _body(library: str, index: int, entry: str, images: Sequence[Image]) -> str:
    names = [f"&{row.name}" for row in ordinary(images[0])]
    most = max(len(image.launch.params) for image in images)
    filled = ", ".join([*names, *["NULL"] * max(most - len(names), 0)]) or "NULL"
    return (
        f"{_signature(library, entry, images)}\n{{\n"
        f"    void *params[] = {{{filled}}};\n    return launch(library, {index}, grid, stream, params);\n}}"
    )


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


def _kernel_rows(kernels) -> Iterator[str]:
    first = 0
    for entry, images in kernels:
        yield f'    {{"{entry}", {first}, {len(images)}}},'
        first += len(images)
