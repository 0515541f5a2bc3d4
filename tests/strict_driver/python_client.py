"""Launches the case in a folder (launch_case.py) by ``runtime.Library``: python_client.py PACKAGE CASE [captured]

The case's files hold the arrays afterwards. ``captured``: the first launch is one of a graph, which runs then.
"""

import json
import sys
from functools import partial
from pathlib import Path

from cuda.bindings import driver as cuda

try:
    from tileiras_build_runtime import Address, Library
except ModuleNotFoundError:
    from tileiras_build.launch.runtime import Address, Library


class DeviceArray:
    """An array in the GPU's memory, as the CUDA array interface shows it: ``data`` spans it, its first element lies
    ``offset`` bytes in."""

    def __init__(self, data: bytes, shape, strides, kind: str, offset: int = 0):
        self.size, self.base = len(data), int(checked(cuda.cuMemAlloc(len(data))))
        checked(cuda.cuMemcpyHtoD(self.base, data, len(data)))
        self.__cuda_array_interface__ = {
            "shape": tuple(shape), "strides": tuple(strides), "typestr": kind, "data": (self.base + offset, False), "version": 3,
        }  # fmt: skip

    def fetch(self) -> bytes:
        data = bytearray(self.size)
        checked(cuda.cuMemcpyDtoH(data, self.base, len(data)))
        return bytes(data)


def checked(answer):
    status, *results = answer
    if int(status):
        raise RuntimeError(f"CUDA: {status}")
    return results[0] if results else None


def argument(folder: Path, row):
    """An argument of a case."""
    if not isinstance(row, dict):
        return row
    return DeviceArray((folder / row["file"]).read_bytes(), row["shape"], row["strides"], row["type"], row["offset"])


def kernel_arguments(row, value) -> list:
    """What a launch gets: an array, or its address, lengths and strides where they are others."""
    return [Address(value), *row["layout"]] if isinstance(row, dict) and "layout" in row else [value]


def run_captured(launch, stream) -> None:
    """What ``launch`` puts into a graph."""
    checked(cuda.cuStreamBeginCapture(stream, cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
    launch()
    runs = checked(cuda.cuGraphInstantiate(checked(cuda.cuStreamEndCapture(stream)), 0))
    checked(cuda.cuGraphLaunch(runs, stream))


def main() -> None:
    package, folder = sys.argv[1], Path(sys.argv[2])
    library = Library(package)
    library.driver.device()
    case = json.loads((folder / "case.json").read_text())
    arguments = [argument(folder, row) for row in case["arguments"]]
    stream = checked(cuda.cuStreamCreate(0))
    flat = [one for row, value in zip(case["arguments"], arguments) for one in kernel_arguments(row, value)]
    launch = partial(library[case["kernel"]].launch, tuple(case["grid"]), *flat, stream=stream)
    if sys.argv[3:] == ["captured"]:
        library.load_all()
        launch = partial(run_captured, launch, stream)
    launch()
    checked(cuda.cuStreamSynchronize(stream))
    library.close()
    for row, array in zip(case["arguments"], arguments):
        if isinstance(array, DeviceArray):
            (folder / row["file"]).write_bytes(array.fetch())


if __name__ == "__main__":
    main()
