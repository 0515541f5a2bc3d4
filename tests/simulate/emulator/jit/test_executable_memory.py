"""Memory that a process executes, and what the CPU says of itself."""

import ctypes
import mmap
import os
import subprocess
import sys
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


def test_code_runs_and_nobody_writes_it():
    place = executable_memory.map_code(SEVEN)
    assert place is not None and ctypes.CFUNCTYPE(ctypes.c_int)(place)() == 7
    assert mode_of(place) == "r-xp" and place % mmap.PAGESIZE == 0


def test_a_system_that_lets_nothing_be_executed(monkeypatch):
    monkeypatch.setattr(executable_memory, "_protect", lambda: lambda *_: -1)
    assert executable_memory.map_code(SEVEN) is None


def test_a_processor_is_the_same_on_each_core():
    program = "from tileiras_build.simulate.emulator.jit.executable_memory import processor; print(processor())"
    cores = sorted(os.sched_getaffinity(0))
    found = {
        subprocess.run(
            [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{core}]); {program}"],
            check=True, capture_output=True, text=True,
        ).stdout
        for core in (cores[0], cores[-1])
    }  # fmt: skip
    assert found == {f"{executable_memory.host_cpu_id()}\n"}


def test_a_processor_tells_who_made_it():
    numbers = executable_memory.host_cpu_id()
    assert numbers is not None
    maker = b"".join(numbers[i].to_bytes(4, "little") for i in (1, 3, 2)).decode()
    vendors = {
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("vendor_id")
    }
    assert vendors == {maker}


def test_elsewhere_no_processor_is_asked(monkeypatch):
    monkeypatch.setattr(executable_memory, "IS_SUPPORTED", False)
    assert executable_memory.host_cpu_id.__wrapped__() is None
