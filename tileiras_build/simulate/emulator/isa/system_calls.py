"""Device runtime functions: vprintf, __assertfail, malloc, free (PTX writers guide, "System Calls")."""

from __future__ import annotations

import re

import numpy as np

from ..errors import ASSERTION, fault_at
from ..memory.device_heap import DeviceHeap
from ..memory.load_store import Site
from .handler_registry import helper

# Supported functions -> bytes of their results and parameters.
SYSTEM_CALLS = {
    "vprintf": ((4,), (8, 8)),
    "__assertfail": ((), (8, 8, 4, 8, 8)),
    "malloc": ((8,), (8,)),
    "free": ((), (8,)),
}
ORDERED_SYSTEM_CALLS = {"vprintf", "malloc", "free"}  # the order of calls is observable

MAX_PRINTF_WIDTH, MAX_PRINTF_DIGITS = 4096, 9  # of a printed value; digits of the width in a format
_FORMAT = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|j|z|t|L)?([diouxXeEfFgGaAcsp%])")


def read_bytes(group, ins, address: int, size: int) -> bytes:
    """Bytes at a generic address, for the first thread of a one-thread group."""
    site = Site(ins, "generic", 1, 1, 0)
    out = bytearray()
    for k in range(size):
        out.append(int(np.ravel(site.load(group, np.uint64(address + k & 0xFFFFFFFFFFFFFFFF))[0])[0]))
    return bytes(out)


def read_string(group, ins, address: int) -> str:
    out = bytearray()
    while len(out) < 65536:
        byte = read_bytes(group, ins, address + len(out), 1)
        if byte == bytes(1):
            break
        out += byte
    return out.decode("utf-8", "replace")


def argument(group, variable) -> np.ndarray:
    """The value of a .param variable of a call for every thread of the group."""
    memories = group.memories
    dtype = {4: np.uint32, 8: np.uint64}[variable.size]
    view = memories.local_view(dtype).reshape(-1, memories.local_size // variable.size)
    return view[group.flat, variable.offset // variable.size]


def set_result(group, variables, value: int) -> None:
    memories = group.memories
    for variable in variables:
        view = memories.local_view(np.uint32).reshape(-1, memories.local_size // 4)
        view[group.flat, variable.offset // 4] = value


def each_thread(group):
    """One-thread groups, in order."""
    for i in range(group.shape[0]):
        for j in range(group.shape[1]):
            mask = np.zeros(group.shape, bool)
            mask[i, j] = True
            yield group.split_off(mask)


def format_c(text: str, fetch) -> str:
    """printf formatting; ``fetch(size)`` returns the next argument's bytes."""

    def count(given: str | None) -> int | None:
        if given is None:
            return None
        value = int.from_bytes(fetch(4), "little", signed=True) if given == "*" else int(given[:MAX_PRINTF_DIGITS])
        return max(-MAX_PRINTF_WIDTH, min(value, MAX_PRINTF_WIDTH))

    def convert(match):
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        width, precision = (count(given) for given in (width, precision))
        # A negative precision is ignored; a negative width left-justifies.
        spec = f"%{flags}{width or ''}" + (f".{precision}" if precision is not None and precision >= 0 else "")
        if kind in "eEfFgGaA":
            value = np.frombuffer(fetch(8), np.float64)[0]
            return (spec + kind) % value if kind not in "aA" else float(value).hex()
        if kind == "s":
            return (spec + "s") % fetch("s")
        size = 8 if length in ("l", "ll", "j", "z", "t") or kind == "p" else 4
        value = int.from_bytes(fetch(size), "little", signed=kind in "di")
        if kind == "p":
            return f"{value:#x}"
        if kind == "c":
            return (spec + "c") % chr(value & 0xFF)
        bits = {"hh": 8, "h": 16}.get(length)
        if bits and kind not in "di":
            value &= (1 << bits) - 1
        return (spec + {"i": "d", "u": "d"}.get(kind, kind)) % value

    return _FORMAT.sub(convert, text)


@helper
def call_vprintf(group, ins, results, arguments):
    """vprintf(format, buffer): the buffer has the arguments at their natural alignment."""
    for one in each_thread(group):
        text = read_string(one, ins, int(argument(one, arguments[0])[0]))
        buffer, position = int(argument(one, arguments[1])[0]), 0

        def fetch(size, one=one, buffer=buffer):
            nonlocal position
            string = size == "s"
            width = 8 if string else size
            position = -(-position // width) * width
            data = read_bytes(one, ins, buffer + position, width)
            position += width
            return read_string(one, ins, int.from_bytes(data, "little")) if string else data

        group.prints.add(int(one.flat[0]), format_c(text, fetch))
    set_result(group, results, 0)


@helper
def call_assertfail(group, ins, results, arguments):
    """__assertfail(message, file, line, function, charsize)."""
    one = next(each_thread(group))
    message, file = (read_string(one, ins, int(argument(one, a)[0])) for a in arguments[:2])
    line = int(argument(one, arguments[2])[0])
    fault_at(group.geometry, ins, one.flat[0], f"assertion failed: {message} ({file}:{line})", kind=ASSERTION)


def _heap(memories) -> DeviceHeap:
    memory = memories.address_space
    memory.heap = memory.heap or DeviceHeap(memory)
    return memory.heap


@helper
def call_malloc(group, ins, results, arguments):
    """malloc(size): an address in the device heap; 0 if it is full."""
    memories = group.memories
    for one in each_thread(group):
        view = memories.local_view(np.uint64).reshape(-1, memories.local_size // 8)
        view[one.flat, results[0].offset // 8] = _heap(memories).allocate(int(argument(one, arguments[0])[0]))


@helper
def call_free(group, ins, results, arguments):
    """free(address) of an allocation of malloc; free(0) has no effect."""
    for one in each_thread(group):
        address = int(argument(one, arguments[0])[0])
        if not _heap(one.memories).free(address):
            why = f"free of {address:#x}, which is not allocated by malloc or already freed"
            fault_at(group.geometry, ins, one.flat[0], why)
