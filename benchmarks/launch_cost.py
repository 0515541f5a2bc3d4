"""Host cost of a launch from Python, up to the driver's own functions.

    python benchmarks/launch_cost.py build/package/my_kernels 90 [KERNEL ...] [--strict]

The first argument is a package that ``env.KernelPackage`` made, the second a compute capability that it is for. The kernels
get contiguous arrays, and ones as scalars. Times are the least of many rounds, in microseconds of processor time a launch. --strict: over the
strict driver, which checks each launch and runs nothing, with arrays that have a CUDA array interface, and with such that
have the methods of torch tensors besides.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import types
from collections.abc import Callable

import numpy as np
from cutile_launch_cost import OnGpu, memory_and_stream, run_over_strict_driver

from tileiras_build.launch.runtime import Library
from tileiras_build.launch.runtime.cuda_python_driver import row_major
from tileiras_build.launch.runtime.pack_arguments import ELEMENT_TYPES, ArrayView
from tileiras_build.manifest.launch_manifest import Launch

ROUNDS, CALLS = 400, 50


class NoDriver:
    """Answers at once: what is left is the launcher's own work."""

    def __init__(self, number: int):
        self.number = number

    home_of = None

    def device(self):
        return 0, self.number

    def current_device(self):
        return 0

    def load(self, image):
        return 0

    def kernel(self, library, entry):
        return 0

    def allow_shared_memory(self, kernel, device, size):
        pass

    def encode(self, tensor_map):
        return bytes(128)

    def view(self, array, stream):
        return array.view

    def launch(self, kernel, block):
        pass

    def launch_function(self, *_):
        return 0


class Given:
    """An array that has been looked into already."""

    def __init__(self, element: str, rank: int):
        shape = (64,) * rank
        dtype = np.dtype(ELEMENT_TYPES[element][-1 if element.startswith(("bf", "f8")) else 0])
        self.view = ArrayView(0x10000, shape, row_major(shape), 0, dtype, False)

    def __dlpack__(self):
        raise NotImplementedError


def arguments_of(launch: Launch) -> list[Given | int]:
    """An array for each array and pointer of a kernel, and 1 for each scalar."""
    return [
        1 if one.kind == "scalar" else Given(launch.params[one.param].element or "i8", one.rank or 0)
        for one in launch.arguments
    ]


def least(work: Callable[[], object]) -> float:
    """Microseconds of one call."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.thread_time()
        for _ in range(CALLS):
            work()
        best = min(best, time.thread_time() - start)
    return best / CALLS * 1e6


def measure(library: Library, name: str) -> float:
    """A launch with arrays that have been looked into, by a driver that does nothing."""
    kernel = library[name]
    given = arguments_of(kernel.image().launch)
    return least(lambda: kernel.launch((4,), *given))


class TorchLike(OnGpu):
    """An array with the methods of a torch tensor, all in Python."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, kind: str):
        super().__init__(address, shape, strides, kind)
        self.address, self.shape, self.dtype, self.steps = address, shape, np.dtype(kind), row_major(shape)

    def data_ptr(self) -> int:
        return self.address

    def stride(self) -> tuple[int, ...]:
        return self.steps

    def get_device(self) -> int:
        return 0


def measure_strictly(library: Library, name: str, kind: type[OnGpu]) -> float:
    """A launch over the driver of this process, with arrays of this kind."""
    library.driver.device()
    (base, stream), kernel = memory_and_stream(), library[name]
    given = [
        one if isinstance(one, int) else kind(base + (place << 16), one.view.shape, None, one.view.dtype.str)
        for place, one in enumerate(arguments_of(kernel.image().launch))
    ]
    torch = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: stream)
    sys.modules["torch"] = types.SimpleNamespace(Tensor=TorchLike, _C=torch)  # type: ignore[assignment]
    return least(lambda: kernel.launch((4,), *given, stream=stream))


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package")
    parser.add_argument("capability", type=int)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="default: all of the package")
    parser.add_argument("--strict", action="store_true")
    return parser.parse_args()


def main() -> None:
    asked = options()
    if asked.strict and "STRICT_DRIVER_FOLDER" not in os.environ:
        sys.exit(run_over_strict_driver(str(asked.capability)))
    library = Library(asked.package, None if asked.strict else NoDriver(asked.capability))
    for name in asked.kernels or sorted(library):
        if asked.strict:
            faced, torch = (measure_strictly(library, name, kind) for kind in (OnGpu, TorchLike))
            print(f"{name:32} launch {faced:6.2f} us, of torch-like tensors {torch:6.2f} us, over the strict driver")
            continue
        print(f"{name:32} launch {measure(library, name):6.2f} us, without the driver")


if __name__ == "__main__":
    main()
