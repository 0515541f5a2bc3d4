"""One launch as files, for programs of any language: ``case.json`` and the bytes of each array, before and afterwards.

    {"kernel": name, "grid": [x, y, z], "arguments": [3, 0.5, {"file": "0.bin", "size": bytes, "offset": bytes,
     "shape": [...], "strides": [bytes...], "type": "<f4"}]}

``offset`` is where the first element lies in the file, which spans the array from its lowest byte to its highest. A row may
say what a kernel is passed as the layout of the array, where that differs from its own: "layout": [lengths and strides in elements].
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.launch.runtime.fake_libcuda import cuda_include

FILE = "case.json"


@dataclass(frozen=True)
class WithLayout:
    """An array passed with other lengths and strides, in elements: fp4, with two elements per byte."""

    array: np.ndarray
    shape: Sequence[int]
    strides: Sequence[int]


def write(folder: Path, kernel: str, grid: Sequence[int], values: Iterable) -> Path:
    """Write a launch into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [_row(folder / f"{index}.bin", value) for index, value in enumerate(values)]
    grid = [*grid, 1, 1][:3]
    (folder / FILE).write_text(json.dumps({"kernel": kernel, "grid": grid, "arguments": rows}))
    return folder


def _row(path: Path, value) -> dict | int | float:
    if isinstance(value, WithLayout):
        return {**_write_array(path, value.array), "layout": [*value.shape, *value.strides]}
    if isinstance(value, np.ndarray):
        return _write_array(path, value)
    return value.item() if isinstance(value, np.generic) else value


def _write_array(path: Path, array: np.ndarray) -> dict:
    path.write_bytes(_span(array))
    low, high = np.lib.array_utils.byte_bounds(array)
    kind = array.dtype.str if array.dtype.kind in "fiu" else f"<u{array.itemsize}"
    return {"file": path.name, "size": high - low, "offset": array.ctypes.data - low, "shape": array.shape,
            "strides": array.strides, "type": kind}  # fmt: skip


def _span(array: np.ndarray) -> ctypes.Array:
    low, high = np.lib.array_utils.byte_bounds(array)
    return (ctypes.c_uint8 * (high - low)).from_address(low)


def fetch(folder: Path, values: Iterable) -> None:
    """Bring the arrays up to what the program has written."""
    for index, value in enumerate(values):
        value = value.array if isinstance(value, WithLayout) else value
        if isinstance(value, np.ndarray):
            ctypes.memmove(_span(value), (folder / f"{index}.bin").read_bytes(), len(_span(value)))


# ---- in C --------------------------------------------------------------------------------------------------------
_PROGRAM = """
#include "{library}.h"
#include <stdio.h>
#include <stdlib.h>

static void check(CUresult status, const char *what)
{{
    if (status) {{
        fprintf(stderr, "%s: %d\\n", what, (int)status);
        exit(1);
    }}
}}

static void transfer(const char *name, CUdeviceptr address, size_t size, int back)
{{
    FILE *file = fopen(name, back ? "wb" : "rb");
    char *data = (char *)malloc(size);
    if (back)
        check(cuMemcpyDtoH(data, address, size), "cuMemcpyDtoH");
    if ((back ? fwrite(data, 1, size, file) : fread(data, 1, size, file)) != size)
        exit(2);
    if (!back)
        check(cuMemcpyHtoD(address, data, size), "cuMemcpyHtoD");
    fclose(file);
    free(data);
}}

static CUresult launch({library}_library *library, {library}_grid grid, CUstream stream, const CUdeviceptr *a)
{{
    const {library}_{kernel}_arguments arguments = {{{arguments}}};
    return {library}_launch_{kernel}(library, grid, stream, &arguments);
}}

int main(int count, char **words)
{{
    {library}_library *library;
    {library}_grid grid = {{{grid}}};
    CUdeviceptr a[{arrays}];
    CUcontext context;
    CUstream stream;
    CUresult status;
    (void)count;
    check(cuInit(0), "cuInit");
    check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuStreamCreate(&stream, 0), "cuStreamCreate");
    check({library}_open_file(&library, words[1]), "open");
{before}
    status = launch(library, grid, stream, a);
    if (status) {{
        fprintf(stderr, "launch: %d: %s\\n", (int)status, {library}_error_string(status));
        exit(1);
    }}
    check(cuCtxSynchronize(), "cuCtxSynchronize");
{after}
    {library}_close(library);
    return 0;
}}
"""


def c_program(library: str, case: Path) -> str:
    """A program in C and C++ that runs the case in its working folder; its argument is the library's image."""
    document = json.loads((case / FILE).read_text())
    arrays = [row for row in document["arguments"] if isinstance(row, dict)]
    before = [
        f'    check(cuMemAlloc(&a[{i}], {row["size"]}), "cuMemAlloc");\n'
        f'    transfer("{row["file"]}", a[{i}], {row["size"]}, 0);'
        for i, row in enumerate(arrays)
    ]
    after = [f'    transfer("{row["file"]}", a[{i}], {row["size"]}, 1);' for i, row in enumerate(arrays)]
    return _PROGRAM.format(
        library=library, kernel=document["kernel"], grid=", ".join(map(str, document["grid"])), arrays=max(len(arrays), 1),
        before="\n".join(before), after="\n".join(after),
        arguments=", ".join(_c_arguments(document["arguments"])),
    )  # fmt: skip


def _c_arguments(rows: Sequence) -> Iterable[str]:
    arrays = 0
    for row in rows:
        if not isinstance(row, dict):
            yield repr(row)
            continue
        size = int(row["type"][2:])
        found = row.get("layout", (*row["shape"], *(stride // size for stride in row["strides"])))
        halves = (found[: len(found) // 2], found[len(found) // 2 :])
        dimensions = "".join(f", {{{', '.join(map(str, half))}}}" for half in halves if half)
        yield f"{{a[{arrays}] + {row['offset']}{dimensions}}}"
        arrays += 1


def c_options(driver: Path, package: Path) -> list:
    """What a compiler needs to make a program of ``c_program`` and the package's source."""
    return [f"-I{package / 'include'}", "-isystem", cuda_include(), f"-L{driver}", "-lcuda"]
