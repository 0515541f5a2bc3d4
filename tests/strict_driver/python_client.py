"""Launches the case in a folder (launch_case.py) by ``runtime.Library``: python_client.py PACKAGE CASE

The case's files hold the arrays afterwards.
"""

import json
import sys
from pathlib import Path

from cuda.bindings import driver as cuda

from tileiras_build.runtime import Library


class DeviceArray:
    """An array of a case in the GPU's memory, as the CUDA array interface shows it."""

    def __init__(self, folder: Path, row: dict):
        self.path, self.row, data = folder / row["file"], row, (folder / row["file"]).read_bytes()
        self.base = int(checked(cuda.cuMemAlloc(len(data))))
        checked(cuda.cuMemcpyHtoD(self.base, data, len(data)))
        self.__cuda_array_interface__ = {
            "shape": tuple(row["shape"]), "strides": tuple(row["strides"]), "typestr": row["type"],
            "data": (self.base + row["offset"], False), "version": 3,
        }  # fmt: skip

    def fetch(self) -> None:
        data = bytearray(self.row["size"])
        checked(cuda.cuMemcpyDtoH(data, self.base, len(data)))
        self.path.write_bytes(data)


def checked(answer):
    status, *results = answer
    if int(status):
        raise RuntimeError(f"CUDA: {status}")
    return results[0] if results else None


def main() -> None:
    package, folder = sys.argv[1], Path(sys.argv[2])
    library = Library(package)
    library.driver.device()
    told = json.loads((folder / "case.json").read_text())
    arguments = [DeviceArray(folder, row) if isinstance(row, dict) else row for row in told["arguments"]]
    stream = checked(cuda.cuStreamCreate(0))
    library[told["kernel"]].launch(tuple(told["grid"]), *arguments, stream=stream)
    checked(cuda.cuStreamSynchronize(stream))
    library.close()
    for array in arguments:
        if isinstance(array, DeviceArray):
            array.fetch()


if __name__ == "__main__":
    main()
