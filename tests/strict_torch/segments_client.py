"""Blocks of torch_memory.c, asked for by a library of the name of PyTorch's own: segments_client.py LIBRARY BASE SIZE."""

import ctypes
import sys

own, base, size = ctypes.CDLL(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
memory, driver = ctypes.CDLL("torch_memory.so"), ctypes.CDLL("libcuda.so.1")
own.take.restype, own.take.argtypes = ctypes.c_uint64, [ctypes.c_size_t]
own.give.restype, own.give.argtypes = None, [ctypes.c_uint64]
segments = ctypes.c_size_t.in_dll(memory, "strict_torch_segments")
MIB = 1 << 20


def is_on_gpu(address: int) -> bool:
    return base <= address < base + size


def word(address: int) -> ctypes.c_uint64:
    return ctypes.c_uint64.from_address(address)


before = own.take(4096)
assert before and not is_on_gpu(before)
assert memory.strict_torch_begin(ctypes.c_uint64(base), ctypes.c_uint64(size)) == 0
own.give(before)  # of the C library, now as before

small = [own.take(length) for length in (1, 4, 512, 513, 3000)]
assert all(map(is_on_gpu, small)) and all(one % 512 == 0 for one in small) and segments.value == 1
ends = [one + size for one, size in zip(small, (512, 512, 512, 1024, 3072))]
assert all(end <= start for end, start in zip(ends, small[1:]))  # in one segment, behind each other
own.give(small[1])
assert own.take(300) == small[1] and segments.value == 1

large = [own.take(3 * MIB), own.take(MIB + 1)]
assert all(map(is_on_gpu, large)) and segments.value == 3
word(large[0]).value = word(large[0] + 3 * MIB - 8).value = 7
own.give(large[0])
assert own.take(3 * MIB) == large[0] and segments.value == 3
assert word(large[0]).value == word(large[0] + 3 * MIB - 8).value == 0  # its pages were given back

# Each segment is one allocation of the driver's, and a thread without a context gets one, too.
found, length = ctypes.c_uint64(), ctypes.c_size_t()
context = ctypes.c_void_p()
assert driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and not context.value
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxSetCurrent(context) == 0
for address in (small[0], small[4], *large):
    for attribute, into in ((11, found), (12, length)):
        assert driver.cuPointerGetAttribute(ctypes.byref(into), attribute, ctypes.c_uint64(address)) == 0
    assert found.value <= address < found.value + length.value

# A capture does not keep PyTorch from memory.
stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
assert driver.cuStreamCreate(ctypes.byref(stream), 0) == 0 and driver.cuStreamBeginCapture_v2(stream, 0) == 0
assert is_on_gpu(own.take(40 * MIB))
assert driver.cuStreamEndCapture(stream, ctypes.byref(graph)) == 0
assert not own.take(size)
print("right")
