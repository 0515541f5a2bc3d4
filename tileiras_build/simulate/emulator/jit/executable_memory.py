"""Machine code in this process's memory, where nobody writes it any more, and what the CPU says of itself.

For x86-64 under Linux: the CPU is asked by two pieces of machine code, and elsewhere LLVM has to be.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from functools import lru_cache

IS_SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64"
_code_pages: list[mmap.mmap] = []  # memory whose code is in use


def map_code(code: bytes) -> int | None:
    """The address of a copy of code; None where the system lets a process execute nothing that it has written."""
    try:
        memory = mmap.mmap(-1, len(code), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
    except OSError:
        return None
    memory.write(code)
    place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if _protect()(place, len(memory), mmap.PROT_READ | mmap.PROT_EXEC):
        return None
    _code_pages.append(memory)
    return place


@lru_cache
def _protect():
    function = ctypes.CDLL(None).mprotect
    function.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return function


# -- the CPU -----------------------------------------------------------------------------------------
# void ask(uint32_t leaf, uint32_t subleaf, uint32_t out[4]), System V AMD64 ABI 3.2.3: push rbx; mov r8, rdx; mov eax, edi; mov ecx, esi;
# cpuid; mov [r8], eax; mov [r8+4], ebx; mov [r8+8], ecx; mov [r8+12], edx; pop rbx; ret
_CPUID = "53 4989d0 89f8 89f1 0fa2 418900 41895804 41894808 4189500c 5b c3"
# The same parameters: mov r8, rdx; mov ecx, esi; xgetbv; mov [r8], eax; mov [r8+4], edx; ret
_XGETBV = "4989d0 89f1 0f01d0 418900 41895004 c3"
_EXTENDED = 0x8000_0000  # leaf 0 and this one say the last leaf of their kind
_OSXSAVE = 1 << 27  # of leaf 1, ECX: XGETBV is there
# (leaf, subleaf, which of EAX, EBX, ECX, EDX): who made the CPU, its family and model, and all features. Not EBX of leaf 1, which is
# another on each core.
_LEAVES = (
    (0, 0, "abcd"), (1, 0, "acd"), (7, 0, "abcd"), (7, 1, "abcd"), (7, 2, "abcd"), (0xD, 1, "a"), (0x14, 0, "abcd"), (0x19, 0, "abcd"),
    (0x1E, 1, "abcd"), (0x24, 0, "abcd"), (_EXTENDED, 0, "abcd"), (_EXTENDED + 1, 0, "abcd"), (_EXTENDED + 8, 0, "abcd"),
)  # fmt: skip


@lru_cache
def host_cpu_id() -> tuple[int, ...] | None:
    """Numbers that tell CPUs apart for which a compiler makes different code; None where the CPU cannot be asked."""
    ask, extents = (_cpuid_function(code) for code in (_CPUID, _XGETBV)) if IS_SUPPORTED else (None, None)
    if ask is None or extents is None:
        return None
    last = {base: ask(base, 0)[0] for base in (0, _EXTENDED)}
    known = [one for one in _LEAVES if one[0] <= last[one[0] & _EXTENDED]]
    numbers = [ask(leaf, subleaf)["abcd".index(word)] for leaf, subleaf, words in known for word in words]
    has_extents = ask(1, 0)[2] & _OSXSAVE
    return (*numbers, *(extents(0, 0)[:2] if has_extents else ()))


def _cpuid_function(text: str):
    place = map_code(bytes.fromhex(text))
    if place is None:
        return None
    function = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(place)

    def ask(leaf: int, subleaf: int) -> list[int]:
        out = (ctypes.c_uint32 * 4)()
        function(leaf, subleaf, ctypes.addressof(out))
        return list(out)

    return ask
