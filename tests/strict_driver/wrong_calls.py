"""Calls that the driver must refuse, each made on purpose: WRONG, and a program that makes them all.

    python wrong_calls.py FOLDER      FOLDER holds the images of ``images``; prints {name: [status, reason]} as JSON

The calls are made through ctypes, which checks nothing itself.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

U, P, L = ctypes.c_uint, ctypes.c_void_p, ctypes.c_uint64
INVALID, NO_CONTEXT, NO_IMAGE, BAD_HANDLE = 1, 201, 200, 400
BAD = 0x1230  # the address of nothing, and no handle


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", U * 3), ("block", U * 3), ("shared", U), ("stream", P), ("attributes", P), ("count", U),
    ]  # fmt: skip


class Gpu:
    """The driver through ctypes; ``status`` is that of the last call."""

    def __init__(self, folder: Path):
        self.folder, self.library, self.held = folder, ctypes.CDLL("libcuda.so.1"), []

    def __call__(self, name: str, *arguments) -> int:
        return getattr(self.library, name)(*arguments)

    def made(self, name: str, *arguments, kind=P) -> int:
        """What a call that succeeds stores through its first argument."""
        value = kind()
        assert self(name, ctypes.byref(value), *arguments) == 0, name
        return value.value

    def image(self, name: str, shift: int = 0) -> P:
        """The address of an image of the folder, ``shift`` bytes beside a multiple of 64."""
        data = (self.folder / name).read_bytes()
        place = self.place(len(data) + 64, shift)
        ctypes.memmove(place.value, data, len(data))
        return place

    def place(self, size: int, shift: int = 0) -> P:
        """Host memory at a multiple of 64 and ``shift``."""
        self.held.append(ctypes.create_string_buffer(size + 128))
        return P(-(-ctypes.addressof(self.held[-1]) // 64) * 64 + shift)

    def start(self) -> None:
        """A context, memory, and the kernels of the images."""
        assert self("cuInit", 0) == 0
        context = self.made("cuDevicePrimaryCtxRetain", 0)
        assert self("cuCtxSetCurrent", P(context)) == 0
        self.memory = self.made("cuMemAlloc_v2", ctypes.c_size_t(1 << 20), kind=L)

    def function(self, image: str, entry: str) -> P:
        module = self.made("cuModuleLoadData", self.image(image))
        return P(self.made("cuModuleGetFunction", P(module), entry.encode()))

    def encode(self, **change) -> int:
        """A tensor map of 64 x 32 f16 with boxes of 64 x 8, but for ``change``."""
        operands = dict(
            map=self.place(128), element=6, rank=2, address=P(self.memory), shape=(64, 32), strides=(128,), box=(64, 8),
            steps=(1, 1), interleave=0, swizzle=3, promotion=2, fill=0,
        ) | change  # fmt: skip
        for name, kind in (("shape", L), ("strides", L), ("box", U), ("steps", U)):
            operands[name] = operands[name] and (kind * 5)(*operands[name])
        return self("cuTensorMapEncodeTiled", *operands.values())

    def launch(
        self, function: P, sizes, grid=(1, 1, 1), block=(32, 1, 1), shared=0, stream=0, attributes=(), params=(), **more
    ) -> int:
        """A launch; parameters are zeros of these sizes but for ``params``."""
        held = [ctypes.create_string_buffer(size) for size in sizes]
        pointers = (P * max(len(held), 1))(*map(ctypes.addressof, held))
        for index, pointer in dict(params).items():
            pointers[index] = pointer
        rows = b"".join(row.ljust(72, b"\0") for row in attributes)
        config = Config((U * 3)(*grid), (U * 3)(*block), shared, stream, None, len(attributes))
        kept = ctypes.create_string_buffer(rows)
        config.attributes = ctypes.addressof(kept) if rows else more.get("attribute_place")
        config.count = more.get("count", len(attributes))
        return self(
            "cuLaunchKernelEx", ctypes.byref(config), function, more.get("pointers", pointers), more.get("extra")
        )


@dataclass(frozen=True)
class Wrong:
    """One call: its status, a part of the reason, and how it is made."""

    name: str
    status: int
    reason: str
    call: Callable[[Gpu], int]


def attribute(number: int, *values: int) -> bytes:
    """CUlaunchAttribute."""
    return number.to_bytes(8, "little") + b"".join(value.to_bytes(4, "little") for value in values)


def released_context(gpu: Gpu) -> int:
    context = gpu.made("cuDevicePrimaryCtxRetain", 0)
    assert gpu("cuDevicePrimaryCtxRelease_v2", 0) == 0
    return gpu("cuCtxSetCurrent", P(context))


def copy_out(gpu: Gpu) -> int:
    return gpu("cuMemcpyDtoH_v2", gpu.place(64), L(gpu.memory + (1 << 20) - 32), ctypes.c_size_t(64))


def dead_stream(gpu: Gpu) -> int:
    stream = gpu.made("cuStreamCreate", 0)
    assert gpu("cuStreamDestroy_v2", P(stream)) == 0
    return gpu("cuStreamSynchronize", P(stream))


def dead_function(gpu: Gpu) -> int:
    module = gpu.made("cuModuleLoadData", gpu.image("large.cubin"))
    function = gpu.made("cuModuleGetFunction", P(module), b"plain")
    assert gpu("cuModuleUnload", P(module)) == 0
    return gpu.launch(P(function), [8])


def unrecorded(gpu: Gpu) -> int:
    events = [P(gpu.made("cuEventCreate", 0)) for _ in range(2)]
    return gpu("cuEventElapsedTime", ctypes.byref(ctypes.c_float()), *events)


def timeless(gpu: Gpu) -> int:
    events = [P(gpu.made("cuEventCreate", 2)) for _ in range(2)]
    assert [gpu("cuEventRecord", event, None) for event in events] == [0, 0]
    return gpu("cuEventElapsedTime", ctypes.byref(ctypes.c_float()), *events)


def get_function(gpu: Gpu, name) -> int:
    module = gpu.made("cuModuleLoadData", gpu.image("large.cubin"))
    return gpu("cuModuleGetFunction", ctypes.byref(P()), P(module), name)


def kernel_as_function(gpu: Gpu) -> int:
    library = gpu.made("cuLibraryLoadData", gpu.image("large.cubin"), None, None, 0, None, None, 0)
    kernel = gpu.made("cuLibraryGetKernel", P(library), b"plain")
    return gpu("cuFuncSetAttribute", P(kernel), 8, 1 << 16)


def load_library(gpu: Gpu, *counts: int) -> int:
    return gpu(
        "cuLibraryLoadData", ctypes.byref(P()), gpu.image("large.cubin"), None, None, counts[0], None, None, counts[1]
    )


def launch(entry: str, sizes=(8,), **more) -> Callable[[Gpu], int]:
    return lambda gpu: gpu.launch(gpu.function("large.cubin", entry), list(sizes), **more)


def encode(**change) -> Callable[[Gpu], int]:
    return lambda gpu: gpu.encode(**{name: value(gpu) if callable(value) else value for name, value in change.items()})


def load(name: str, shift: int = 0) -> Callable[[Gpu], int]:
    return lambda gpu: gpu("cuModuleLoadData", ctypes.byref(P()), gpu.image(name, shift) if name else None)


def allowed(size: int) -> Callable[[Gpu], int]:
    return lambda gpu: gpu("cuFuncSetAttribute", gpu.function("large.cubin", "plain"), 8, size)


def during_capture(gpu: Gpu, call: Callable[[int], int]) -> int:
    """A call, given the stream, while that stream is captured."""
    stream = gpu.made("cuStreamCreate", 0)
    assert gpu("cuStreamBeginCapture_v2", P(stream), 0) == 0
    status = call(stream)
    assert gpu("cuStreamEndCapture", P(stream), ctypes.byref(P())) == 0
    return status


def launch_plain(gpu: Gpu) -> Callable[[int], int]:
    """A launch on the legacy stream, of a kernel that is loaded now."""
    function = gpu.function("large.cubin", "plain")
    return lambda _: gpu.launch(function, [8])


def captured(gpu: Gpu, module: P) -> P:
    """An executable graph of one launch of a kernel of a module."""
    stream, function = P(gpu.made("cuStreamCreate", 0)), P(gpu.made("cuModuleGetFunction", module, b"plain"))
    assert gpu("cuStreamBeginCapture_v2", stream, 0) == 0
    assert gpu.launch(function, [8], stream=stream.value) == 0
    graph = P()
    assert gpu("cuStreamEndCapture", stream, ctypes.byref(graph)) == 0
    return P(gpu.made("cuGraphInstantiateWithFlags", graph, L(0)))


def graph_of_the_dead(gpu: Gpu) -> int:
    module = P(gpu.made("cuModuleLoadData", gpu.image("large.cubin")))
    runs = captured(gpu, module)
    assert gpu("cuModuleUnload", module) == 0
    return gpu("cuGraphLaunch", runs, None)


def graph_into_a_graph(gpu: Gpu) -> int:
    runs = captured(gpu, P(gpu.made("cuModuleLoadData", gpu.image("large.cubin"))))
    return during_capture(gpu, lambda stream: gpu("cuGraphLaunch", runs, P(stream)))


BEFORE = [
    Wrong("flags of cuInit", INVALID, "flags are 1", lambda gpu: gpu("cuInit", 1)),
    Wrong("a call before cuInit", 3, "cuInit was not called", lambda gpu: gpu("cuDeviceGetCount", gpu.place(4))),
]
WITHOUT_CONTEXT = [
    Wrong(
        "memory without a context",
        NO_CONTEXT,
        "no context is current",
        lambda gpu: gpu("cuMemAlloc_v2", gpu.place(8), L(64)),
    ),
    Wrong("a context that is none", BAD_HANDLE, "is no live context", lambda gpu: gpu("cuCtxSetCurrent", P(BAD))),
    Wrong("a context that was released", NO_CONTEXT, "is not retained", released_context),
    Wrong("a release too many", NO_CONTEXT, "was not retained", lambda gpu: gpu("cuDevicePrimaryCtxRelease_v2", 0)),
]
ORDINARY = [
    Wrong("no second device", 101, "there is no device 1", lambda gpu: gpu("cuDeviceGet", gpu.place(4), 1)),
    Wrong("a result that is NULL", INVALID, "device is NULL", lambda gpu: gpu("cuDeviceGet", None, 0)),
    Wrong("an attribute of devices", INVALID, "attribute 9999 is none",
          lambda gpu: gpu("cuDeviceGetAttribute", gpu.place(4), 9999, 0)),
    Wrong("a bus address without space", INVALID, "the buffer of the bus address holds 4 bytes",
          lambda gpu: gpu("cuDeviceGetPCIBusId", gpu.place(4), 4, 0)),
    Wrong("a name without space", INVALID, "holds 0 bytes", lambda gpu: gpu("cuDeviceGetName", gpu.place(4), 0, 0)),
    Wrong("no bytes", INVALID, "0 bytes are asked for", lambda gpu: gpu("cuMemAlloc_v2", gpu.place(8), L(0))),
    Wrong("free within", INVALID, "the start of no allocation", lambda gpu: gpu("cuMemFree_v2", L(gpu.memory + 256))),
    Wrong("copy past the end", INVALID, "not within one allocation", copy_out),
    Wrong("copy to nowhere", INVALID, "not within one", lambda gpu: gpu("cuMemcpyHtoD_v2", L(BAD), gpu.place(8), L(8))),
    Wrong("copy from nowhere", INVALID, "not within one",
          lambda gpu: gpu("cuMemcpyDtoDAsync_v2", L(gpu.memory), L(BAD), L(8), None)),
    Wrong("fill past the end", INVALID, "not within one",
          lambda gpu: gpu("cuMemsetD8Async", L(gpu.memory), 0, L(2 << 20), None)),
    Wrong("fill on no stream", BAD_HANDLE, "is no live stream",
          lambda gpu: gpu("cuMemsetD8Async", L(gpu.memory), 0, L(8), P(BAD))),
    Wrong("a pointer of the host", INVALID, "is in no allocation",
          lambda gpu: gpu("cuPointerGetAttribute", gpu.place(8), 2, L(BAD))),
    Wrong("an attribute of pointers", INVALID, "99 is no attribute",
          lambda gpu: gpu("cuPointerGetAttribute", gpu.place(8), 99, L(gpu.memory))),
    Wrong("flags of streams", INVALID, "flags are 0x8", lambda gpu: gpu("cuStreamCreate", gpu.place(8), 8)),
    Wrong("a stream that is none", BAD_HANDLE, "is no live stream", lambda gpu: gpu("cuStreamSynchronize", P(BAD))),
    Wrong("a stream that is gone", BAD_HANDLE, "is no live stream", dead_stream),
    Wrong("flags of events", INVALID, "flags are 0x10", lambda gpu: gpu("cuEventCreate", gpu.place(8), 16)),
    Wrong("an event that is none", BAD_HANDLE, "is no live event", lambda gpu: gpu("cuEventRecord", P(BAD), None)),
    Wrong("events without a time", BAD_HANDLE, "was not recorded", unrecorded),
    Wrong("events made without time", BAD_HANDLE, "was made without time", timeless),
    Wrong("an event of processes that has a time", INVALID, "has no time", lambda gpu: gpu("cuEventCreate", gpu.place(8), 4)),
    Wrong("flags of waits", INVALID, "flags are 0x2",
          lambda gpu: gpu("cuStreamWaitEvent", None, P(gpu.made("cuEventCreate", 0)), 2)),
    Wrong("a version of no driver", INVALID, "version 0",
          lambda gpu: gpu("cuGetProcAddress_v2", b"cuInit", gpu.place(8), 0, L(0), None)),
    Wrong("no image", INVALID, "the image is NULL", load("")),
    Wrong("an image anywhere", INVALID, "is not on 8 bytes", load("large.cubin", 4)),
    Wrong("an image of text", NO_IMAGE, "no cubin, no fat binary and no PTX", load("text")),
    Wrong("an image of the host", NO_IMAGE, "for machine 62", load("host.elf")),
    Wrong("an image of another GPU", 209, "the cubin is for sm_80, this GPU is sm_90", load("other.cubin")),
    Wrong("a fat binary of another GPU", 209, "has nothing for sm_90", load("other.fatbin")),
    Wrong("broken PTX", 218, "ptxas: ", load("broken.fatbin")),
    Wrong("options of the compiler", INVALID, "1 options of the compiler are NULL",
          lambda gpu: load_library(gpu, 1, 0)),
    Wrong("options of a library", INVALID, "1 options of the library are NULL", lambda gpu: load_library(gpu, 0, 1)),
    Wrong("a kernel that is not there", 500, "has no kernel absent", lambda gpu: get_function(gpu, b"absent")),
    Wrong("a kernel without a name", INVALID, "the name is NULL", lambda gpu: get_function(gpu, None)),
    Wrong("a module that is none", BAD_HANDLE, "is no live module", lambda gpu: gpu("cuModuleUnload", P(BAD))),
    Wrong("a library that is none", BAD_HANDLE, "is no live library", lambda gpu: gpu("cuLibraryUnload", P(BAD))),
    Wrong("a kernel as a function", BAD_HANDLE, "is no live function", kernel_as_function),
    Wrong("an attribute of functions", INVALID, "attribute 1 cannot be set",
          lambda gpu: gpu("cuFuncSetAttribute", gpu.function("large.cubin", "plain"), 1, 0)),
    Wrong("more shared memory than there is", INVALID, "beside its 0 static bytes there are 232448", allowed(232449)),
    Wrong("less than no shared memory", INVALID, "asks for -1 bytes", allowed(-1)),
]  # fmt: skip
MAPS = [
    Wrong("a map at 48 of 64", INVALID, "is not on 64 bytes", encode(map=lambda gpu: gpu.place(128, 48))),
    Wrong("no map", INVALID, "map is NULL", encode(map=None)),
    Wrong("a data type", INVALID, "99 is no data type", encode(element=99)),
    Wrong("an interleave", INVALID, "7 is no interleave", encode(interleave=7)),
    Wrong("rank 0", INVALID, "the rank is 0", encode(rank=0)),
    Wrong("rank 6", INVALID, "the rank is 6", encode(rank=6)),
    Wrong("interleaved rank 2", INVALID, "the rank is 2", encode(interleave=1)),
    Wrong("a tensor on 8 bytes", INVALID, "is not on 16 bytes", encode(address=lambda gpu: P(gpu.memory + 8))),
    Wrong("an array that is NULL", INVALID, "an array is NULL", encode(box=None)),
    Wrong("a swizzle", INVALID, "9 is no swizzle", encode(swizzle=9)),
    Wrong("a promotion", INVALID, "4 is no promotion", encode(promotion=4)),
    Wrong("a fill", INVALID, "2 is no fill", encode(fill=2)),
    Wrong("integers filled with NaN", INVALID, "has no NaN", encode(element=1, fill=1)),
    Wrong("an empty tensor", INVALID, "dimension 1 has 0 elements", encode(shape=(64, 0))),
    Wrong("an empty box", INVALID, "0 elements along dimension 1", encode(box=(64, 0))),
    Wrong("a box of 257", INVALID, "257 elements along dimension 1", encode(box=(64, 257))),
    Wrong("a step of 9", INVALID, "the step along dimension 0 is 9", encode(steps=(9, 1))),
    Wrong("a stride of 8", INVALID, "the stride of dimension 1 is 8 bytes", encode(strides=(8,))),
    Wrong("a stride of 2^40", INVALID, "is 1099511627776 bytes", encode(strides=(1 << 40,))),
    Wrong("a stride of 0", INVALID, "is 0 for 32 elements", encode(strides=(0,))),
    Wrong("interleaved without its swizzle", INVALID, "needs the swizzle of 32",
          encode(interleave=2, rank=3, shape=(64, 32, 2), strides=(128, 4096), box=(8, 8, 1), steps=(1, 1, 1))),
    Wrong("a box of 8 bytes", INVALID, "8 bytes along dimension 0, no multiple", encode(box=(4, 8), swizzle=0)),
    Wrong("a box wider than its swizzle", INVALID, "128 bytes along dimension 0, the swizzle 64", encode(swizzle=2)),
    Wrong("a tensor past its memory", INVALID, "are not within one allocation", encode(shape=(64, 1 << 20))),
]  # fmt: skip
LAUNCHES = [
    Wrong("a function that is none", BAD_HANDLE, "is no live function", lambda gpu: gpu.launch(P(BAD), [8])),
    Wrong("a function whose module is gone", BAD_HANDLE, "is no live function", dead_function),
    Wrong("no configuration", INVALID, "config is NULL", lambda gpu: gpu("cuLaunchKernelEx", None, P(BAD), None, None)),
    Wrong("a launch on no stream", BAD_HANDLE, "is no live stream", launch("plain", stream=BAD)),
    Wrong("no blocks", INVALID, "0 blocks along axis 1", launch("plain", grid=(1, 0, 1))),
    Wrong("too many blocks", INVALID, "65536 blocks along axis 1", launch("plain", grid=(1, 65536, 1))),
    Wrong("too many blocks of clusters", INVALID, "65536 blocks along axis 1", launch("tall", grid=(1, 32768, 1))),
    Wrong("part of a cluster", INVALID, "3 blocks along axis 0 are no whole clusters of 2",
          launch("pairs", grid=(3, 1, 1))),
    Wrong("no threads", INVALID, "0 threads along axis 1", launch("plain", block=(32, 0, 1))),
    Wrong("too many threads along z", INVALID, "65 threads along axis 2", launch("plain", block=(1, 1, 65))),
    Wrong("other threads than compiled for", INVALID, "64 threads along axis 0, it was compiled for 32",
          launch("required", block=(64, 1, 1))),
    Wrong("a tile kernel with threads", INVALID, "tile kernel required: 32 threads along axis 0",
          lambda gpu: gpu.launch(gpu.function("tile.cubin", "required"), [8])),
    Wrong("too many threads", INVALID, "2048 threads in a block", launch("plain", block=(1024, 2, 1))),
    Wrong("more threads than compiled for", INVALID, "128 threads in a block", launch("bounded", block=(128, 1, 1))),
    Wrong("more registers than there are", 701, "1024 threads of", launch("wide", block=(1024, 1, 1))),
    Wrong("more registers than a partition has", 701, "544 threads of", launch("wide", block=(544, 1, 1))),
    Wrong("a cluster of sixteen", 912, "a cluster of 16 blocks", launch("sixteen", grid=(16, 1, 1))),
    Wrong("static shared memory", INVALID, "65536 bytes of static shared memory, more than 49152", launch("static")),
    Wrong("dynamic shared memory that was not asked for", INVALID, "49153 bytes of dynamic shared memory, 49152 were allowed",
          launch("plain", shared=49153)),
    Wrong("attributes that are NULL", INVALID, "1 attributes are NULL", launch("plain", count=1)),
    Wrong("an attribute of launches", INVALID, "launch attribute 77", launch("plain", attributes=[attribute(77)])),
    Wrong("another cluster", 912, "clusters of 4 x 1 x 1",
          launch("pairs", grid=(4, 1, 1), attributes=[attribute(4, 4, 1, 1)])),
    Wrong("parameters as extra", INVALID, "to come as kernelParams",
          lambda gpu: launch("plain", extra=gpu.place(64))(gpu)),
    Wrong("no parameters", INVALID, "takes 1 parameters and gets none", launch("plain", pointers=None)),
    Wrong("a parameter that is NULL", INVALID, "parameter 0 of 8 bytes is NULL", launch("plain", params=[(0, None)])),
    Wrong("a tensor map that is none", INVALID, "parameter 0 is to be a tensor map", launch("mapped", sizes=(128,))),
]  # fmt: skip
CAPTURES = [
    Wrong("memory during a capture", 900, "a stream is being captured", lambda gpu: during_capture(gpu, lambda _: gpu("cuMemAlloc_v2", gpu.place(8), L(64)))),
    Wrong("a launch that waits for a capture", 906, "on the legacy stream waits", lambda gpu: during_capture(gpu, launch_plain(gpu))),
    Wrong("waiting for a captured stream", 900, "is being captured", lambda gpu: during_capture(gpu, lambda stream: gpu("cuStreamSynchronize", P(stream)))),
    Wrong("asking a captured stream", 900, "is being captured", lambda gpu: during_capture(gpu, lambda stream: gpu("cuStreamQuery", P(stream)))),
    Wrong("a graph whose kernel is gone", BAD_HANDLE, "kernel plain was unloaded since", graph_of_the_dead),
    Wrong("a graph within a graph", 900, "captures launches only", graph_into_a_graph),
    Wrong("a programmatic launch of 2", INVALID, "programmatic serialization is 2",
          launch("plain", attributes=[attribute(6, 2)])),
]  # fmt: skip
FAULT = [
    Wrong(
        "a store to nowhere", 719, "launch: kernel plain: ", lambda gpu: launch("plain")(gpu) or gpu("cuCtxSynchronize")
    ),
    Wrong("whatever comes after it", 719, "", lambda gpu: gpu("cuMemAlloc_v2", gpu.place(8), L(64))),
]
WRONG = [*BEFORE, *WITHOUT_CONTEXT, *ORDINARY, *MAPS, *LAUNCHES, *CAPTURES, *FAULT]


def results(gpu: Gpu) -> Iterator[tuple[str, int, str]]:
    """Each call's name, status, and what the driver said of it."""
    said = Path(os.environ["STRICT_DRIVER_FOLDER"]) / "refusals"
    for group in ([*BEFORE], [*WITHOUT_CONTEXT], [*ORDINARY, *MAPS, *LAUNCHES, *CAPTURES, *FAULT]):
        if group[0] is WITHOUT_CONTEXT[0]:
            assert gpu("cuInit", 0) == 0
        if group[0] is ORDINARY[0]:
            gpu.start()
        for wrong in group:
            said.write_text("")
            status = wrong.call(gpu)
            yield wrong.name, status, said.read_text()


if __name__ == "__main__":
    print(json.dumps({name: [status, reason] for name, status, reason in results(Gpu(Path(sys.argv[1])))}))
