"""Invalid launches from Python: each is refused before the driver is called, with one sentence that names the parameter."""

import inspect
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from tests.launch.runtime.fake_driver import FakeDriver
from tests.launch.runtime.validated_kernel import KERNEL, launch_of, scalar
from tileiras_build.core.errors import TileirasError
from tileiras_build.launch.runtime import Address, Library
from tileiras_build.launch.runtime.generate_launch_stub import StubList
from tileiras_build.launch.runtime.kernel_library import Kernel
from tileiras_build.launch.runtime.library_manifest import CUBIN, Image, LibraryManifest
from tileiras_build.launch.runtime.loaded_kernel import LoadedKernel
from tileiras_build.launch.runtime.python_signature import launcher
from tileiras_build.manifest.launch_manifest import Launch


class Records(FakeDriver):
    def view(self, array, stream):
        seen = super().view(getattr(array, "base_array", array), stream)
        return seen._replace(device=array.home) if isinstance(array, Elsewhere) else seen


class Elsewhere:
    """An array that is somewhere else."""

    def __init__(self, array, home):
        self.base_array, self.home = array, home

    def __dlpack__(self):
        raise NotImplementedError


def kernel_of(launch: Launch, driver=None) -> Kernel:
    """A kernel of a library that is nowhere on disk."""
    library = object.__new__(Library)
    library.manifest = LibraryManifest("l", "l.fatbin", 0, "", {"k": (Image("sm_90a", CUBIN, 0, 0, launch),)})
    library._driver, library._on_cpu = driver or Records(90), False
    library.kernel_on = lambda device, image, entry, launch: LoadedKernel(
        entry, launch, (0, entry), library._driver, device
    )
    return Kernel(library, "k")


def aligned(shape, dtype):
    """Zeros at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = np.zeros(size + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + size].view(dtype).reshape(shape)


def right():
    return {
        "a": aligned((4, 16), np.float16), "b": aligned(32, ml_dtypes.bfloat16), "out": aligned((4, 16), np.float32),
        "n": 16, "eps": 0.5, "p": aligned(3, np.int64), "flag": True,
    }  # fmt: skip


def frozen(array):
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class Wrong:
    """One wrong launch: how the right arguments are changed, and the sentence."""

    name: str
    sentence: str
    change: dict | None = None
    call: object = None
    grid: object = (4,)


def fails(*_):
    raise RuntimeError("no lengths here")


class Odd:
    """A number that is none, and a stream that is none."""

    __index__ = fails

    def __repr__(self):
        return "Odd()"

    def __cuda_stream__(self):
        raise KeyError("no stream\n here")


class Unseen(Odd):
    __repr__ = fails


def on(stream):
    return lambda kernel, values: kernel.launch(4, *values.values(), stream=stream)


A, B, OUT = partial(aligned, (4, 16), np.float16), partial(aligned, 32), partial(aligned, (4, 16), np.float32)
TAKES = "kernel k takes 7 arguments (a: 2-d array, b: 1-d array, out: 2-d array, n, eps, p, flag), got"
DIFFER = "Address(array), its lengths and its strides in elements"
WRONG = [
    Wrong("element of a", "a has dtype float32, expected float16; convert it to float16, or launch a kernel "
          "built for float32", {"a": aligned((4, 16), np.float32)}),
    Wrong("integers for floats", "a has dtype int16, expected float16", {"a": A().view(np.int16)}),
    Wrong("another 16-bit float", "b has dtype float16, expected bfloat16", {"b": B(np.float16)}),
    Wrong("element of the output", "out has dtype float64, expected float32", {"out": aligned((4, 16), np.float64)}),
    Wrong("element behind an address", "p has dtype int32, expected int64", {"p": aligned(4, np.int32)}),
    Wrong("rank too low", "a has 1 dimension, expected 2; reshape it to 2 dimensions", {"a": A().reshape(-1)}),
    Wrong("rank too high", "b has 2 dimensions, expected 1; reshape it to 1 dimension",
          {"b": B(ml_dtypes.bfloat16).reshape(4, 8)}),
    Wrong("no dimensions", "out has 0 dimensions, expected 2", {"out": aligned((), np.float32)}),
    Wrong("transposed", "the stride of axis 0 of a is 1 element, not a multiple of 8; pass a contiguous copy",
          {"a": aligned((16, 4), np.float16).T}),
    Wrong("every second column", "the stride of axis 1 of out is 2 elements, expected 1",
          {"out": aligned((4, 32), np.float32)[:, ::2]}),
    Wrong("stride not in eights", "the stride of axis 0 of a is 20 elements, not a multiple of 8; pass a contiguous copy",
          {"a": aligned((4, 20), np.float16)}),
    Wrong("negative stride", "the stride of axis 0 of a is -16 elements, less than 0", {"a": aligned((5, 16), np.float16)[::-1]}),
    Wrong("reversed vector", "the stride of axis 0 of b is -1 element, expected 1",
          {"b": aligned(40, ml_dtypes.bfloat16)[32:0:-1]}),
    Wrong("length not in eights", "the length of axis 0 of b is 30, not a multiple of 8; pad it",
          {"b": aligned(30, ml_dtypes.bfloat16)}),
    Wrong("address of an input", "of a is not a multiple of 16 bytes; pass an aligned array or a copy",
          {"a": aligned((4, 24), np.float16)[:, 4:20]}),
    Wrong("address of an output", "of out is not a multiple of 16 bytes", {"out": aligned((4, 20), np.float32)[:, 1:17]}),
    Wrong("address alone", "of p is not a multiple of 8 bytes", {"p": Address(aligned(25, np.uint8)[1:].view(np.int64))}),
    Wrong("address as a number", "the address 0x1004 of p is not a multiple of 8 bytes", {"p": 0x1004}),
    Wrong("read-only output", "kernel writes to read-only array out; pass a writable array", {"out": frozen(OUT())}),
    Wrong("read-only memory to update", "kernel writes to read-only array p", {"p": frozen(aligned(3, np.int64))}),
    Wrong("read-only behind Address", "kernel writes to read-only array p", {"p": Address(frozen(aligned(3, np.int64)))}),
    Wrong("host memory", "a is in host memory, the kernel runs on GPU 0; copy it to GPU 0", {"a": Elsewhere(A(), None)}),
    Wrong("another GPU", "out is on GPU 1, the kernel runs on GPU 0", {"out": Elsewhere(OUT(), 1)}),
    Wrong("address on another GPU", "p is on GPU 2, the kernel runs on GPU 0", {"p": Elsewhere(aligned(3, np.int64), 2)}),
    Wrong("number for an array", "a must be an array of 2 dimensions, got an int; pass an array, or Address(array)", {"a": 3}),
    Wrong("array for a number", "n must be a scalar (i32), got an array", {"n": aligned(1, np.int32)}),
    Wrong("text for a number", "eps must be a scalar (f32), got a str; pass arrays (DLPack) and scalars", {"eps": "0.5"}),
    Wrong("none for an address", "p must be an address, got a NoneType", {"p": None}),
    Wrong("fraction for an integer", "invalid value 16.5 for n (i32): not an integer", {"n": 16.5}),
    Wrong("integer too large", "invalid value 4294967296 for n (i32): it does not fit 32 bits", {"n": 1 << 32}),
    Wrong("integer not in eights", "n is 20, not a multiple of 8", {"n": 20}),
    Wrong("integer too small", "n is 0, less than 8", {"n": 0}),
    Wrong("integer above the bound", "n is 4104, more than 4096", {"n": 4104}),
    Wrong("float too large", "invalid value 1e+300 for eps (f32): float too large to pack", {"eps": 1e300}),
    Wrong("argument too few", f"{TAKES} 6; an array may also be passed as {DIFFER}", call=lambda k, v: k.launch(4, *list(v.values())[:-1])),
    Wrong("argument too many", f"{TAKES} 8", call=lambda k, v: k.launch(4, *v.values(), 1)),
    Wrong("name that is none", "kernel k: argument c is unknown (arguments: a, b, out, n, eps, p, flag)", call=lambda k, v: k.launch(4, **v, c=1)),
    Wrong("name that is missing", "kernel k: argument eps is missing",
          call=lambda k, v: k.launch(4, **{name: one for name, one in v.items() if name != "eps"})),
    Wrong("given twice", "kernel k: argument a is also passed by position", call=lambda k, v: k.launch(4, v["a"], **v)),
    Wrong("grid of zero", "invalid grid (0, 1) for kernel k; use 1 to 3 positive integers", grid=(0, 1)),
    Wrong("grid of four", "invalid grid (1, 1, 1, 1) for kernel k", grid=(1, 1, 1, 1)),
    Wrong("grid too tall", "invalid grid (1, 65536) for kernel k", grid=(1, 65536)),
    Wrong("endless grid", "invalid grid (1, 1, 1, 1, 1, 1, 1, 1)", grid=repeat(1)),
    Wrong("grid that raises", "invalid grid for kernel k: no lengths here",
          call=lambda k, v: k.launch(map(fails, (1,)), *v.values())),
    Wrong("number that raises", "invalid value Odd() for n (i32): no lengths here", {"n": Odd()}),
    Wrong("number that cannot be shown", "invalid value a Unseen for n (i32): no lengths here", {"n": Unseen()}),
    Wrong("negative stream", "invalid stream handle -0x1; pass a stream of cuda.core, torch or CuPy", call=on(-1)),
    Wrong("stream beyond 64 bits", "invalid stream handle 0x400000000000000000", call=on(2**70)),
    Wrong("true for a stream", "bool is not a stream", call=on(True)),
    Wrong("fraction for a stream", "float is not a stream", call=on(1.5)),
    Wrong("stream that raises", "cannot get a stream handle from Odd: no stream here", call=on(Odd())),
    Wrong("stream with odd words", "cannot get a stream handle from SimpleNamespace: invalid literal", call=on(SimpleNamespace(ptr="x"))),
    Wrong("stream of text", "str is not a stream", call=lambda k, v: k.launch(4, *v.values(), stream="s")),
]  # fmt: skip


def test_there_are_forty():
    assert len(WRONG) >= 40 and len({wrong.name for wrong in WRONG}) == len(WRONG)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name.replace(" ", "_"))
@pytest.mark.parametrize("used", [False, True], ids=["first", "later"])
def test_wrong_launch_is_refused(wrong, used):
    """The first launch of a kernel, and one after others that were right: those go another way."""
    kernel = kernel_of(KERNEL)
    driver = kernel.library.driver
    if used:
        kernel.launch((4,), *right().values())
        driver.calls.clear()
    values = right() | (wrong.change or {})
    with pytest.raises(TileirasError) as caught:
        wrong.call(kernel, values) if wrong.call else kernel.launch(wrong.grid, *values.values())
    assert wrong.sentence in str(caught.value) and "\n" not in str(caught.value)
    assert driver.of("launch") == []


def test_right_launches_say_the_same_first_and_later():
    kernel, values = kernel_of(KERNEL), right()
    for _ in range(3):
        kernel.launch((4,), *values.values())
    kernel.launch((4,), **values)
    assert len(kernel._stubs.stubs) == 1  # for all but the first
    a, b, out = (values[name] for name in ("a", "b", "out"))
    kernel.launch(4, Address(a), 4, 16, 16, 1, b, Address(out), 4, 16, 16, 1, 16, 0.5, Address(values["p"]), True)
    calls = kernel.library.driver.of("launch")
    assert len(calls) == 5 and all(call == calls[0] for call in calls)


@pytest.mark.parametrize("shape", [(1, 16), (4, 1), (0, 16)])
def test_strides_along_one_element_are_any(shape):
    """NumPy and torch give such an axis any stride, and no element is that far away."""
    kernel = kernel_of(KERNEL)
    a = np.lib.stride_tricks.as_strided(A(), shape, (2 * 7 if shape[0] <= 1 else 32, 2 * 3 if shape[1] == 1 else 2))
    kernel.launch(4, *(right() | {"a": a}).values())
    [(_, _, params)] = kernel.library.driver.of("launch")
    strides = [int.from_bytes(part, "little", signed=True) for part in params[3:5]]
    assert strides[1] == 1 and strides[0] % 8 == 0


@pytest.mark.parametrize("name", ["uint16", "int16", "bfloat16"])
def test_bits_stand_for_an_element_that_few_libraries_name(name):
    kernel = kernel_of(KERNEL)
    kernel.launch(4, *(right() | {"b": B(ml_dtypes.bfloat16).view(name)}).values())
    assert len(kernel.library.driver.of("launch")) == 1


def test_signature_and_docstring_name_the_parameters():
    made = kernel_of(KERNEL).launch
    assert list(inspect.signature(made).parameters) == ["grid", "a", "b", "out", "n", "eps", "p", "flag", "stream"]
    assert str(inspect.signature(made).parameters["a"]) == "a: 'f16[:, :]'"
    for sentence in (
        "Enqueue k on ``stream``",
        "a: f16 array of 2 dimensions, read, at a multiple of 16 bytes, stride of axis 0 a multiple of 8",
        "out: f32 array of 2 dimensions, written, at a multiple of 16 bytes, contiguous along axis 1",
        "n: i32, a multiple of 8",
        "p: i64 address, read and written, at a multiple of 8 bytes",
    ):
        assert sentence in made.__doc__


def test_a_parameter_named_like_python_s_own():
    launch = launch_of([("lambda", "scalar", None)], [scalar("lambda", 0, "i32", 4)])
    seen = []
    launcher("k", launch, StubList(), lambda grid, arguments, stream: seen.append(arguments))(1, lambda_=3)
    assert seen == [(3,)]


def test_a_parameter_named_like_the_launch_s_own():
    launch = launch_of(
        [("grid", "scalar", None), ("stream", "scalar", None)],
        [scalar("grid", 0, "i32", 4), scalar("stream", 1, "i32", 4)],
    )
    made = launcher("k", launch, StubList(), lambda grid, arguments, stream: seen.append((grid, arguments, stream)))
    seen = []
    made(1, 2, stream_=3, stream=4)
    assert seen == [((1,), (2, 3), 4)]
