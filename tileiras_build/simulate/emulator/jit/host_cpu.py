"""Identifies the host CPU by CPUID and XGETBV, without LLVM.

Two short functions of native code execute the instructions (x86-64 Linux); other hosts need LLVM.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

from . import executable_memory

# void query(uint32_t leaf, uint32_t subleaf, uint32_t out[4]), System V AMD64 ABI 3.2.3: push rbx; mov r8, rdx; mov eax, edi; mov ecx, esi;
# cpuid; mov [r8], eax; mov [r8+4], ebx; mov [r8+8], ecx; mov [r8+12], edx; pop rbx; ret
_CPUID = "53 4989d0 89f8 89f1 0fa2 418900 41895804 41894808 4189500c 5b c3"
# The same parameters: mov r8, rdx; mov ecx, esi; xgetbv; mov [r8], eax; mov [r8+4], edx; ret
_XGETBV = "4989d0 89f1 0f01d0 418900 41895004 c3"
_EXTENDED = 0x8000_0000  # this leaf and leaf 0 return the last leaf of their range
_OSXSAVE = 1 << 27  # of leaf 1, ECX: the CPU has XGETBV
# (leaf, subleaf, which of EAX, EBX, ECX, EDX): vendor, family, model and all features. EBX of leaf 1 is left out: it differs
# between cores.
_LEAVES = (
    (0, 0, "abcd"), (1, 0, "acd"), (7, 0, "abcd"), (7, 1, "abcd"), (7, 2, "abcd"), (0xD, 1, "a"), (0x14, 0, "abcd"), (0x19, 0, "abcd"),
    (0x1E, 1, "abcd"), (0x24, 0, "abcd"), (_EXTENDED, 0, "abcd"), (_EXTENDED + 1, 0, "abcd"), (_EXTENDED + 8, 0, "abcd"),
)  # fmt: skip


@lru_cache
def host_cpu_id() -> tuple[int, ...] | None:
    """A key that differs between CPUs for which a compiler may generate different code; None where CPUID is unavailable."""
    cpuid, xgetbv = (
        (_cpuid_function(code) for code in (_CPUID, _XGETBV)) if executable_memory.IS_SUPPORTED else (None, None)
    )
    if cpuid is None or xgetbv is None:
        return None
    last = {base: cpuid(base, 0)[0] for base in (0, _EXTENDED)}
    known = [one for one in _LEAVES if one[0] <= last[one[0] & _EXTENDED]]
    numbers = [cpuid(leaf, subleaf)["abcd".index(word)] for leaf, subleaf, words in known for word in words]
    has_xgetbv = cpuid(1, 0)[2] & _OSXSAVE
    return (*numbers, *(xgetbv(0, 0)[:2] if has_xgetbv else ()))


def _cpuid_function(text: str):
    address = executable_memory.map_code(bytes.fromhex(text))
    if address is None:
        return None
    function = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(address)

    def query(leaf: int, subleaf: int) -> list[int]:
        out = (ctypes.c_uint32 * 4)()
        function(leaf, subleaf, ctypes.addressof(out))
        return list(out)

    return query
