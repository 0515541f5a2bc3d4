"""Launches of every kind through enable() on a GPU: gpu_client.py [--by-python] [--late] CHECK …

Runs over the strict driver (test_cutile_gpu.py), or on a real GPU. Each check is a function below; what fails is an
assertion. At the end a line of JSON says how many kernels were compiled.
"""

import gc
import io
import json
import sys
import threading

import cuda.tile as ct
import numpy as np
from cuda.bindings import driver as cuda
from cuda.tile import _cext
from cuda.tile import launch as launch_of_the_import

import tileiras_build.cutile as hook
from tests.cutile.gpu_arrays import DLPack, Interface
from tests.cutile.matmul_kernel import matmul
from tests.strict_driver.python_client import checked
from tileiras_build.core.errors import InvalidInput
from tileiras_build.cutile.native_launcher import can_launch_natively

N, TILE = 512, 128
GRID = (N // TILE,)
MANY = 300  # arrays whose addresses, extents and strides are more than 4,352 bytes of parameters
RELEASE = tuple(map(int, ct.__version__.split(".")[:2]))


@ct.kernel
def scaled_add(x, y, z, factor, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(z, (i,), ct.load(x, (i,), (tile,)) + factor * ct.load(y, (i,), (tile,)))


@ct.kernel
def sum_of_list(xs, z, tile: ct.Constant[int]):
    i = ct.bid(0)
    total = ct.load(z, (i,), (tile,))
    for k in range(len(xs)):
        total = total + ct.load(xs[k], (i,), (tile,))
    ct.store(z, (i,), total)


@ct.kernel
def of_pair(pair, z, negate: ct.Constant[bool], tile: ct.Constant[int]):
    i = ct.bid(0)
    value = ct.load(pair[0], (i,), (tile,)) * pair[1]
    if negate:
        value = -value
    ct.store(z, (i,), value)


@ct.kernel
def sum_of_many(xs, z, tile: ct.Constant[int]):
    i = ct.bid(0)
    total = ct.load(z, (i,), (tile,))
    for k in ct.static_iter(range(MANY)):
        total = total + ct.load(xs[k], (i,), (tile,))
    ct.store(z, (i,), total)


@ct.kernel
def printing(x):
    ct.printf("first of %d\n", ct.load(x, (3,), ()))


def vectors(kind=Interface, count=3):
    return [kind(np.arange(N, dtype=np.float32) + index) for index in range(count)]


def is_known(kernel, ways: int) -> bool:
    """Whether the kernel's launches go by cuTile's launcher, or by so many ways of our own."""
    kept = kernel._tileiras_build
    return kept.native is not None if native(kernel) else len(kept.stubs.stubs) == ways


def native(kernel) -> bool:
    session = hook.monkeypatch_cutile.current()
    [compiled, *_] = kernel._tileiras_build.compiled.values()
    return can_launch_natively(session, compiled)


def check_scaled_add(launch, kind=Interface, factor=2.0, stream=0, kernel=scaled_add, **more):
    x, y, z = vectors(kind)
    launch(stream, GRID, kernel, (x, y, z, factor, TILE), **more)
    checked(cuda.cuCtxSynchronize())
    np.testing.assert_array_equal(z.fetch(), x.host + np.float32(factor) * y.host)


class Part:
    """What an interface says."""

    def __init__(self, face: dict):
        self.__cuda_array_interface__ = face


# ---- checks --------------------------------------------------------------------------------------------------------
def arrays():
    """Both interfaces, launched slowly first and fast then; a reference taken before enable()."""
    for kind in (Interface, DLPack):
        for factor in (2.0, 3.0, -0.5):
            check_scaled_add(ct.launch, kind, factor)
    assert is_known(scaled_add, 2) and launch_of_the_import is ct.launch
    check_scaled_add(launch_of_the_import, factor=7.0)
    assert is_known(scaled_add, 2)
    ways, arguments = scaled_add._tileiras_build.stubs.stubs, (*vectors(), 2.0, TILE)
    assert native(scaled_add) or any(way((), arguments, 0, False) for way in ways)  # a grid without axes is one block


def streams():
    """Handles and objects."""

    class Stream:
        ptr = int(checked(cuda.cuStreamCreate(0)))

    for stream in (Stream.ptr, Stream(), cuda.CUstream(Stream.ptr)):
        for factor in (1.0, 2.0):
            check_scaled_add(ct.launch, factor=factor, stream=stream)


def specialization():
    """What an earlier launch has found out is looked at again: address, length, stride."""
    x, y, z = vectors()
    values = x.host
    ct.launch(0, GRID, scaled_add, (Part(x.__cuda_array_interface__), y, z, 1.0, TILE))

    def part(array, start, length, step=1):
        face = dict(array.__cuda_array_interface__)
        face["data"] = (array.address + 4 * start, False)
        face["shape"], face["strides"] = (length,), (4 * step,)
        return Part(face)

    before = len(scaled_add._tileiras_build.compiled)
    for start, length, step in ((1, 384, 1), (0, 383, 1), (0, 256, 2), (0, 384, 1), (1, 384, 1), (0, 256, 2)):
        ct.launch(0, (length // TILE,), scaled_add, (part(x, start, length, step), y, z, 0.0, TILE))
        count = length // TILE * TILE
        checked(cuda.cuCtxSynchronize())
        np.testing.assert_array_equal(z.fetch()[:count], values[start : start + count * step : step])
    assert len(scaled_add._tileiras_build.compiled) == before + 3


def constants_and_scalars():
    """Another constant is another kernel; values of both types; a float beyond f32 is infinite."""
    x, y, z = vectors()
    for tile in (64, 128, 64):
        ct.launch(0, (N // tile,), scaled_add, (x, y, z, 2.0, tile))
        np.testing.assert_array_equal(z.fetch(), x.host + 2 * y.host)
    ct.launch(0, GRID, scaled_add, (x, y, z, 3, TILE))
    ct.launch(0, GRID, scaled_add, (x, y, z, -4, TILE))
    np.testing.assert_array_equal(z.fetch(), x.host - 4 * y.host)
    for factor in (2.0, 1e300):
        ct.launch(0, GRID, scaled_add, (x, y, z, factor, TILE))
    assert np.isinf(z.fetch()).all()


def lists():
    x, y, z = vectors()
    for count in (1, 3, 2):
        before = z.fetch().copy()
        ct.launch(0, GRID, sum_of_list, ([x, y, x][:count], z, TILE))
        np.testing.assert_array_equal(z.fetch(), before + sum(one.host for one in [x, y, x][:count]))


def tuples():
    """Since 1.5."""
    if RELEASE < (1, 5):
        return
    x, _, z = vectors()
    for factor, negate in ((2.0, False), (3.0, False), (3.0, True), (4.0, True)):
        ct.launch(0, GRID, of_pair, ((x, factor), z, negate, TILE))
        np.testing.assert_array_equal(z.fetch(), x.host * np.float32(-factor if negate else factor))
    assert is_known(of_pair, 2)


def many_parameters():
    x, y, z = vectors()
    for _ in range(3):
        before = z.fetch().copy()
        ct.launch(0, GRID, sum_of_many, ((x, y, x) * (MANY // 3), z, TILE))
        np.testing.assert_array_equal(z.fetch(), before + np.float32(MANY // 3) * (2 * x.host + y.host))


def tensor_maps():
    """A matmul by wgmma; maps of other arrays are other maps."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        a, b = (Interface(rng.integers(-4, 4, (128, 128)).astype(np.float16)) for _ in range(2))
        c = Interface(np.zeros((128, 128), np.float32))
        for _ in range(2):
            ct.launch(0, (2, 2), matmul, (a, b, c, 64))
        np.testing.assert_array_equal(c.fetch(), a.host.astype(np.float32) @ b.host.astype(np.float32))
    [compiled] = matmul._tileiras_build.compiled.values()
    assert compiled.launch.tensor_maps and is_known(matmul, 1)


def cluster_variants():
    """A grid that clusters divide takes the variant, each way of launching it; others the kernel."""
    rng = np.random.default_rng(4)
    for rows in (1, 2, 2, 3, 4, 1):
        a, b = (Interface(rng.integers(-4, 4, (128 * size, 128)).astype(np.float16)) for size in (rows, 1))
        c = Interface(np.full((128 * rows, 128), np.nan, np.float32))
        ct.launch(0, (rows, 1), matmul, (a, b, c, 128))
        np.testing.assert_array_equal(c.fetch(), a.host.astype(np.float32) @ b.host.astype(np.float32))
    [compiled] = matmul._tileiras_build.compiled.values()
    assert len([one for one in compiled.variants if one]) == 1 and is_known(matmul, 2)


def split_variants():
    """A grid of few tile blocks takes a variant if the loop is long, each way of launching it, and for other types, too. The first launch
    that asks for one has it compiled."""
    rng = np.random.default_rng(5)
    with hook.enabled():
        grids = ((1, 1024), (1, 128), (40, 1024), (80, 1024), (1, 2048), (1, 128))
        launches = [(np.float16, *one) for one in grids] + [(np.float32, *one) for one in grids[:2]]
        for kind, blocks, depth in launches:
            a = Interface(rng.integers(-2, 3, (128 * blocks, depth)).astype(kind))
            b = Interface(rng.integers(-2, 3, (depth, 128)).astype(kind))
            c = Interface(np.full((128 * blocks, 128), np.nan, np.float32))
            ct.launch(0, (blocks, 1), matmul, (a, b, c, 128))
            np.testing.assert_array_equal(c.fetch(), a.host.astype(np.float32) @ b.host.astype(np.float32))
        names = [one.entry.rpartition("__")[2] for one in matmul._tileiras_build.compiled.values()]
        assert sorted(name for name in names if "split" in name) == ["split2", "split4", "split4"]


def persistent():
    """Grids of more tile programs than blocks run together, and of fewer; launched slowly first and fast then."""
    rng = np.random.default_rng(2)
    kernel = matmul.replace_hints(occupancy=1)
    with hook.enabled(persistent=1):
        for tiles in (4, 1, 4):
            a, b = (Interface(rng.integers(-4, 4, (64 * tiles, 64 * tiles)).astype(np.float16)) for _ in range(2))
            for _ in range(2):
                c = Interface(np.full((64 * tiles, 64 * tiles), np.nan, np.float32))
                ct.launch(0, (tiles, tiles), kernel, (a, b, c, 64))
                np.testing.assert_array_equal(c.fetch(), a.host.astype(np.float32) @ b.host.astype(np.float32))
        variants = kernel._tileiras_build.compiled.values()
        assert (
            all(one.launch.grid.persistent for one in variants)
            and not native(kernel)
            and kernel._tileiras_build.stubs.stubs
        )


def many_tensor_maps():
    """More sets of arrays than are remembered, in turn; then a kernel in the place of one that is gone."""
    rng = np.random.default_rng(1)
    kernel = matmul.replace_hints(occupancy=1)
    sets = [[Interface(rng.integers(-4, 4, (64, 64)).astype(np.float16)) for _ in range(2)] for _ in range(18)]
    for a, b in [*sets, *sets[:3], *sets[:2]]:
        c = Interface(np.full((64, 64), np.nan, np.float32))
        ct.launch(0, (1, 1), kernel, (a, b, c, 64))
        np.testing.assert_array_equal(c.fetch(), a.host.astype(np.float32) @ b.host.astype(np.float32))
    del kernel
    gc.collect()
    for other in (scaled_add, matmul):
        check = other.replace_hints(occupancy=6)
        if other is matmul:
            ct.launch(0, (1, 1), check, (a, b, c, 64))
            np.testing.assert_array_equal(c.fetch(), a.host.astype(np.float32) @ b.host.astype(np.float32))
        else:
            check_scaled_add(ct.launch, kernel=check)


def hints():
    """Kernels with other hints are other kernels."""
    faster = scaled_add.replace_hints(occupancy=4, num_ctas=ct.ByTarget(sm_100=2, default=1))
    check_scaled_add(ct.launch, kernel=faster)
    check_scaled_add(ct.launch, kernel=faster.replace_hints(opt_level=1))


def programmatic():
    """A launch that may begin before the one ahead of it is over; since 1.6."""
    import ctypes

    counted = ctypes.CDLL("libcuda.so.1")
    before = ctypes.c_uint.in_dll(counted, "strict_driver_programmatic").value
    for factor in (1.0, 2.0):
        check_scaled_add(ct.launch, factor=factor, programmatic_dependent_launch=True)
    check_scaled_add(ct.launch)
    assert ctypes.c_uint.in_dll(counted, "strict_driver_programmatic").value == before + 2


def graphs():
    """Launches of loaded kernels and of new ones are captured; a list is not."""
    stream = checked(cuda.cuStreamCreate(0))
    handle = int(stream)
    x, y, z = vectors()
    ct.launch(handle, GRID, scaled_add, (x, y, z, 2.0, TILE))
    new = scaled_add.replace_hints(occupancy=3)
    checked(cuda.cuStreamBeginCapture(stream, cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
    ct.launch(handle, GRID, scaled_add, (x, z, z, 1.0, TILE))
    ct.launch(handle, GRID, new, (z, y, z, 10.0, TILE))
    try:
        ct.launch(handle, GRID, sum_of_list, ([x], z, TILE))
        raise AssertionError("a list was captured")
    except RuntimeError as error:
        assert isinstance(error, InvalidInput) and error.id == "cutile-capture", error
        assert "List argument in CUDAGraph isn't supported yet" in str(error), error
    graph = checked(cuda.cuStreamEndCapture(stream))
    first = x.host + 2 * y.host
    np.testing.assert_array_equal(z.fetch(), first)
    runs = checked(cuda.cuGraphInstantiate(graph, 0))
    checked(cuda.cuGraphLaunch(runs, stream))
    checked(cuda.cuStreamSynchronize(stream))
    np.testing.assert_array_equal(z.fetch(), x.host + first + 10 * y.host)


def prints():
    """What kernels print comes once somebody waits for the GPU."""
    x = Interface(np.arange(4, dtype=np.int32))
    ct.launch(0, (1,), printing, (x,))
    print("launched", flush=True)
    checked(cuda.cuCtxSynchronize())
    print("waited", flush=True)


def threads():
    """Threads without a context, all of the same new kernel: one compilation."""
    kernel, failed = scaled_add.replace_hints(occupancy=5), []
    session = hook.monkeypatch_cutile.current()
    before = session.compiler.compilations

    def work():
        try:
            x, y, z = given.pop()
            for factor in (1.0, 2.0, 3.0):
                ct.launch(0, GRID, kernel, (x, y, z, factor, TILE))
        except BaseException as error:
            failed.append(error)

    given = [vectors() for _ in range(4)]
    every = list(given)
    running = [threading.Thread(target=work) for _ in every]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert not failed, failed
    for x, y, z in every:
        np.testing.assert_array_equal(z.fetch(), x.host + 3 * y.host)
    assert session.compiler.compilations <= before + 1


def tuning():
    """What cuTile's search measures with."""
    from cuda.tile.tune import _tune

    x, y, z = vectors()
    taken = _tune._benchmark(0, GRID, scaled_add, (x, y, z, 5.0, TILE))
    assert taken > 0
    np.testing.assert_array_equal(z.fetch(), x.host + 5 * y.host)
    if hasattr(_tune, "benchmark_with_timeout"):
        more = (True,) if RELEASE >= (1, 7) else ()
        taken, _ = _tune.benchmark_with_timeout(0, GRID, scaled_add, (x, y, z, 6.0, TILE), 60.0, *more)
        assert taken > 0
    if hasattr(_tune, "_synchronize_context"):
        _tune._synchronize_context()


def exports():
    """A cubin without a launch, and no NVIDIA compiler for it."""
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    signature = KernelSignature.from_kernel_args(
        scaled_add, (*vectors(), 2.0, TILE), CallingConvention.cutile_python_v1()
    )
    file = io.BytesIO()
    export_kernel(scaled_add, [signature], file, gpu_code="sm_90", output_format="cubin")
    assert file.getvalue().startswith(b"\x7fELF")


def errors():
    """Wrong arguments, as cuTile reports them or clearer."""
    x, y, z = vectors()
    for wrong, kind, words in (
        ((x, y, z, 1.0), TypeError, "expects 5 arguments but 4 were given"),
        ((x, y, z, "one", TILE), TypeError, ""),
        (
            (x, y, np.zeros(N, np.float32), 1.0, TILE),
            ValueError,
            "not on a CUDA device: z is in host memory; copy it",
        ),
    ):
        try:
            ct.launch(0, GRID, scaled_add, wrong)
            raise AssertionError(f"{wrong} was launched")
        except kind as error:
            assert words in str(error), error


def main() -> None:
    if "--late" in sys.argv:
        _cext.get_compute_capability()  # asks the driver: cuTile has its functions from now on
    session = hook.enable()
    session.device.synchronize()
    assert session.driver_hook is not None and session.driver_hook.is_in_use == ("--late" in sys.argv)
    checks = [name for name in sys.argv[1:] if not name.startswith("--")]
    session.device.has_native_launcher = "--by-python" not in sys.argv
    for name in checks:
        globals()[name]()
    print(json.dumps({"release": ct.__version__, "compilations": session.compiler.compilations}))


if __name__ == "__main__":
    main()
