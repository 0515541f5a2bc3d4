"""Timed launches in a process of their own: one that is right, one that never ends, another right one, one that faults."""

import cuda.tile as ct
import numpy as np
from cuda.bindings import driver as cuda
from cuda.tile.tune import _tune_utils

import tileiras_build.cutile as hook
from tests.cutile.gpu_arrays import Interface
from tests.strict_driver.python_client import checked


@ct.kernel
def add(x, many, z, offset: int):
    i = 0
    while ct.load(x, (0,), ()) == 7:
        i = i + 1
    ct.store(z, (0,), ct.load(x, (0,), (16,)) + ct.load(many[1], (0,), (16,)) + offset + i)


session = hook.enable()
session.device.synchronize()
x, y = (Interface(np.arange(16, dtype=np.int32)) for _ in range(2))
z = Interface(np.zeros(16, np.int32))


def launch(offset: int) -> None:
    taken, _ = _tune_utils.benchmark_with_timeout(0, (1,), add, (x, [y, y], z, offset), 10.0, True)
    assert taken > 0
    np.testing.assert_array_equal(z.fetch(), 2 * np.arange(16) + offset)


launch(1)
first = session.device._elsewhere._process
launch(2)
assert session.device._elsewhere._process is first
seven = np.full(16, 7, np.int32)
checked(cuda.cuMemcpyHtoD(x.address, seven.ctypes.data, seven.nbytes))
try:
    _tune_utils.benchmark_with_timeout(0, (1,), add, (x, [y, y], z, 0), 1.0, True)
    raise SystemExit("a launch that never ends has ended")
except _tune_utils.TileLaunchTimeoutError:
    assert first.poll() is not None
checked(cuda.cuMemcpyHtoD(x.address, y.host.ctypes.data, x.host.nbytes))
launch(3)
last = session.device._elsewhere._process
hook.disable()
assert last.poll() is not None
print("right")
