"""Launches every kernel of examples/project's package, which Python finds on its path, twice, all in one process."""

import numpy as np
from cuda.bindings import driver as cuda
from my_kernels import library

from tests.strict_driver.python_client import DeviceArray, checked

FACTOR, LENGTH, SHAPE = 2.5, 1000, (37, 130)  # neither is a multiple of a tile
WANTED = {"add_f32": lambda x, y: x + y, "scale_f32": lambda x: x * x.dtype.type(FACTOR)}
WANTED["scale_f16"] = WANTED["scale_f32"]
GRIDS = {"add_f32": (3, 3), "scale_f32": (4,), "scale_f16": (4,)}


def launch(name: str, stream) -> None:
    """Launch a kernel on odd sizes and compare; its result was NaN before."""
    matrices = name == "add_f32"
    shape, dtype = (SHAPE, LENGTH)[not matrices], np.dtype(f"float{name[-2:]}")
    inputs = [np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype) for seed in range(1 + matrices)]
    arrays = [*inputs, np.full(shape, np.nan, dtype)]
    on_gpu = [DeviceArray(array.tobytes(), array.shape, array.strides, array.dtype.str) for array in arrays]
    arguments = on_gpu if matrices else [on_gpu[0], FACTOR, on_gpu[1]]
    library[name].launch(GRIDS[name], *arguments, stream=stream)
    checked(cuda.cuStreamSynchronize(stream))
    np.testing.assert_array_equal(np.frombuffer(on_gpu[-1].fetch(), dtype).reshape(shape), WANTED[name](*inputs))


def main() -> None:
    library.driver.device()
    stream = checked(cuda.cuStreamCreate(0))
    assert sorted(library) == sorted(WANTED), list(library)
    for name in [*WANTED, *WANTED]:
        launch(name, stream)
    library.close()


if __name__ == "__main__":
    main()
