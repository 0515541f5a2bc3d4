"""Launches the case in a folder (launch_case.py): python_client.py library|runner WHERE CASE

"library": through ``runtime.Library`` of the package WHERE. "runner": through ``Image`` of benchmarks/gpu/run.py, of the
plan in the folder WHERE. The case's files hold the arrays afterwards.
"""

import importlib.util
import json
import sys
from pathlib import Path

from cuda.bindings import driver as cuda

from tileiras_build.runtime.driver import CudaDriver

RUNNER = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu" / "run.py"


class DeviceArray:
    """An array of a case in the GPU's memory, as torch and the CUDA array interface show theirs."""

    def __init__(self, folder: Path, row: dict):
        self.path, self.row, data = folder / row["file"], row, (folder / row["file"]).read_bytes()
        self.base = int(checked(cuda.cuMemAlloc(len(data))))
        checked(cuda.cuMemcpyHtoD(self.base, data, len(data)))
        self.shape = tuple(row["shape"])
        kind = row["type"]
        self.__cuda_array_interface__ = {
            "shape": self.shape, "strides": tuple(row["strides"]), "typestr": kind, "data": (self.data_ptr(), False),
            "version": 3,
        }  # fmt: skip

    def data_ptr(self) -> int:
        return self.base + self.row["offset"]

    def stride(self) -> list[int]:
        return [stride // int(self.row["type"][2:]) for stride in self.row["strides"]]

    def fetch(self) -> None:
        data = bytearray(self.row["size"])
        checked(cuda.cuMemcpyDtoH(data, self.base, len(data)))
        self.path.write_bytes(data)


def checked(answer):
    status, *results = answer
    if int(status):
        raise RuntimeError(f"CUDA: {status}")
    return results[0] if results else None


def by_library(where: str, told: dict, arguments: list, stream) -> None:
    from tileiras_build.runtime import Library

    with_kernels = Library(where)
    with_kernels[told["kernel"]].launch(tuple(told["grid"]), *arguments, stream=stream)
    checked(cuda.cuStreamSynchronize(stream))
    with_kernels.close()


def by_runner(where: str, told: dict, arguments: list, stream) -> None:
    spec = importlib.util.spec_from_file_location("gpu_run", RUNNER)
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    plan = json.loads(Path(where, "plan.json").read_text())
    [row] = [row for row in plan["kernels"] if row["name"] == told["kernel"]]
    row["grid"] = told["grid"]
    image = run.Image(cuda, row, "ours", Path(where, f"{row['name']}.ours.cubin").read_bytes())
    arrays = [one for one in arguments if isinstance(one, DeviceArray)]
    image.bind(run.parameters(arrays, [one for one in arguments if not isinstance(one, DeviceArray)]))
    image.launch(int(stream))


def main() -> None:
    by, where, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    CudaDriver().device()
    told = json.loads((folder / "case.json").read_text())
    arguments = [DeviceArray(folder, row) if isinstance(row, dict) else row for row in told["arguments"]]
    {"library": by_library, "runner": by_runner}[by](where, told, arguments, checked(cuda.cuStreamCreate(0)))
    checked(cuda.cuCtxSynchronize())
    for array in arguments:
        if isinstance(array, DeviceArray):
            array.fetch()


if __name__ == "__main__":
    main()
