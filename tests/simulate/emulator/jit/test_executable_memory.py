"""Executable memory: code is mapped, runs, and can no longer be written."""

import ctypes
import mmap
from pathlib import Path

import pytest

from tileiras_build.simulate.emulator.jit import executable_memory

pytestmark = pytest.mark.skipif(not executable_memory.IS_SUPPORTED, reason="this is x86-64 under Linux only")
SEVEN = bytes.fromhex("b807000000 c3")  # mov eax, 7; ret


def mode_of(place: int) -> str:
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(bound, 16) for bound in line.split()[0].split("-"))
        if start <= place < end:
            return line.split()[1]
    raise LookupError(hex(place))


def test_mapped_code_runs_and_is_read_only():
    place = executable_memory.map_code(SEVEN)
    assert place is not None and ctypes.CFUNCTYPE(ctypes.c_int)(place)() == 7
    assert mode_of(place) == "r-xp" and place % mmap.PAGESIZE == 0


def test_map_code_returns_none_where_mprotect_fails(monkeypatch):
    monkeypatch.setattr(executable_memory, "_protect", lambda: lambda *_: -1)
    assert executable_memory.map_code(SEVEN) is None
