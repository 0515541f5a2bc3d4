"""Host cost of ``ct.launch``: cuTile's own launcher and ours, both over the strict driver.

    python benchmarks/cutile_launch_cost.py [--release FOLDER] [--late]

Both launch the same kernels on the same arrays (``__cuda_array_interface__``), round by round in turn; the driver checks each
launch and runs nothing. cuTile's launcher gets a cubin that the driver takes for one of tileiras. FOLDER holds another
cuda-tile than the installed one; with --late, cuTile has asked for the driver's functions before ``enable()``. Times are
processor time, the least of many rounds, in microseconds a launch.
"""

import argparse
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS, CALLS, MAX_RATIO = 100, 200, 1.5
SPLIT, MAX_MICROSECONDS = "3 matrices, split-K", 2.5  # a variant that is chosen by the grid and a length
# What a kernel's _compile returns to cuTile's launcher behind the cubin and the entry point's name.
MORE = {"1.3": (), "1.4": (None, []), "1.5": (None, []), "1.6": (None, []), "1.7": (None, ())}
_META = "\n.visible .global .align 8 .b8 ___NV_TILE_LAUNCH_META_DATA___[64];\n"


def least(*works: Callable[[], object]) -> list[float]:
    """Microseconds of one call of each, taken in turn."""
    best = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for index, work in enumerate(works):
            start = time.thread_time()
            for _ in range(CALLS):
                work()
            best[index] = min(best[index], time.thread_time() - start)
    return [seconds / CALLS * 1e6 for seconds in best]


class OnGpu:
    """An array that has its interface at hand."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, kind: str):
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": kind, "data": (address, False), "strides": strides, "version": 3,
        }  # fmt: skip


def kernels() -> dict:
    """Name -> (kernel, arguments for arrays made by the function given)."""
    import cuda.tile as ct

    @ct.kernel
    def one_vector(x, tile: ct.Constant[int]):
        ct.store(x, (ct.bid(0),), ct.full((tile,), 1.0, ct.float32))

    @ct.kernel
    def three_vectors(x, y, z, factor, tile: ct.Constant[int]):
        i = ct.bid(0)
        ct.store(z, (i,), ct.load(x, (i,), (tile,)) + factor * ct.load(y, (i,), (tile,)))

    @ct.kernel
    def eight_matrices(a, b, c, d, e, f, g, h, tile: ct.Constant[int]):
        i = ct.bid(0)
        total = ct.load(a, (i, 0), (tile, tile)) + ct.load(b, (i, 0), (tile, tile)) + ct.load(c, (i, 0), (tile, tile))
        total = total + ct.load(d, (i, 0), (tile, tile)) + ct.load(e, (i, 0), (tile, tile))
        total = total + ct.load(f, (i, 0), (tile, tile)) + ct.load(g, (i, 0), (tile, tile))
        ct.store(h, (i, 0), total)

    @ct.kernel
    def matmul(a, b, c, tile: ct.Constant[int]):
        i, j = ct.bid(0), ct.bid(1)
        total = ct.zeros((tile, tile), ct.float32)
        for k in range(ct.cdiv(a.shape[1], tile)):
            total = ct.mma(ct.load(a, (i, k), (tile, tile)), ct.load(b, (k, j), (tile, tile)), total)
        ct.store(c, (i, j), total.astype(ct.float16))

    return {
        "1 vector": (one_vector, lambda array: (array((1024,)), 128)),
        "3 vectors, a number": (three_vectors, lambda array: (*[array((1024,)) for _ in range(3)], 2.0, 128)),
        "8 matrices": (eight_matrices, lambda array: (*[array((128, 64)) for _ in range(8)], 16)),
        "8 matrices with strides": (
            eight_matrices,
            lambda array: (*[array((128, 64), (512, 4)) for _ in range(8)], 16),
        ),
        "3 matrices": (matmul, lambda array: (*[array((512, 512), None, "<f2") for _ in range(3)], 64)),
        SPLIT: (matmul, lambda array: (*[array((2048, 2048), None, "<f2") for _ in range(3)], 128)),
    }


def as_tile_image(compiled, target: str) -> bytes:
    """The kernel in a cubin that the driver takes for one of tileiras, which is launched with blocks of one thread."""
    from tileiras_build.pipeline import ptx_to_cubin
    from tileiras_build.pipeline.job import Job
    from tileiras_build.target.targets import find_target

    head, *rest = _without_maps(compiled.ptx).partition(".visible")
    return ptx_to_cubin.lower(head + _META + "".join(rest), Job(find_target(target)))[0]


def _without_maps(ptx: str) -> str:
    """A kernel with the same parameters but for tensor maps, which cuTile's launcher passes none of, and no code."""
    head, entry, rest = ptx.partition(".visible .entry")
    if "tensor" not in rest:
        return ptx
    rest = rest[rest.rindex(entry) + len(entry) :] if entry in rest else rest  # the kernel follows its variants
    name, _, rest = rest.partition("(")
    parameters, _, rest = rest.partition(")")
    kept = [line.strip().rstrip(",") for line in parameters.splitlines() if line.strip() and "[128]" not in line]
    directives = [line for line in head.splitlines() if line.startswith((".version", ".target", ".address_size"))]
    return "\n".join(directives) + f"\n{entry}{name}({', '.join(kept)}) {{ ret; }}"


def measure() -> bool:
    """Print a row for each kernel; whether none costs more than MAX_RATIO times what cuTile's launcher does, or MAX_MICROSECONDS."""
    import cuda.tile as ct

    import tileiras_build.cutile as hook

    own = ct.launch
    if "--late" in sys.argv:
        ct._cext.get_compute_capability()
    session = hook.enable(variants=0)
    base, stream = memory_and_stream()
    good = True
    for name, (kernel, arguments_of) in kernels().items():
        if name == SPLIT:
            session = hook.enable()
        places = iter(range(base, base + (1 << 24), 1 << 20))
        arguments = arguments_of(functools.partial(on_gpu, places))
        compiled = session.compile(kernel, arguments)
        name += f" ({len(compiled.launch.tensor_maps)})" if compiled.launch.tensor_maps else ""
        answer = (as_tile_image(compiled, session.device.target), compiled.entry, *MORE[session.cutile.release.release])
        kernel._compile = functools.partial(lambda answer, *_: answer, answer)
        launch = (stream, (4,), kernel, arguments)
        theirs, ours = least(launches(own, launch), launches(ct.launch, launch))
        good = good and (ours <= MAX_MICROSECONDS if name.startswith(SPLIT) else ours <= MAX_RATIO * theirs)
        print(f"{name:26} cuTile {theirs:7.2f} us   here {ours:7.2f} us   {ours / theirs:5.2f}x")
    return good


def memory_and_stream() -> tuple[int, int]:
    """The address of 16 MB in the GPU's memory, and a stream's handle."""
    from cuda.bindings import driver as cuda

    return int(cuda.cuMemAlloc(1 << 24)[1]), int(cuda.cuStreamCreate(0)[1])


def on_gpu(
    places: Iterator[int], shape: tuple[int, ...], strides: tuple[int, ...] | None = None, kind: str = "<f4"
) -> OnGpu:
    """An array at the next place."""
    return OnGpu(next(places), shape, strides, kind)


def launches(launch: Callable[..., None], arguments: tuple) -> Callable[[], None]:
    """A launch as it stands in a program."""
    stream, grid, kernel, given = arguments
    return lambda: launch(stream, grid, kernel, given)


def main() -> int:
    parser = argparse.ArgumentParser(description="what ct.launch costs, here and by cuTile's own launcher")
    parser.add_argument("--release", help="a folder with another cuda-tile")
    parser.add_argument("--late", action="store_true", help="enable() when cuTile has its driver's functions")
    options = parser.parse_args()
    if "STRICT_DRIVER_FOLDER" in os.environ:
        return 0 if measure() else 1
    paths = [*filter(None, [options.release]), str(ROOT)]
    return run_over_strict_driver("90", PYTHONPATH=os.pathsep.join(paths), TILEIRAS_CUTILE_CACHE="off")


def run_over_strict_driver(number: str, **more: str) -> int:
    """Run this program again, with the strict driver of a compute capability; the exit status."""
    sys.path.insert(0, str(ROOT))
    from tests.strict_driver.server import MEMORY_SIZE, build

    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        with open(Path(folder, "memory"), "wb") as file:
            file.truncate(MEMORY_SIZE)
        own = {"STRICT_DRIVER_FOLDER": folder, "STRICT_DRIVER_SM": number, "LD_LIBRARY_PATH": folder}
        return subprocess.run([sys.executable, *sys.argv], env=os.environ | own | more, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
