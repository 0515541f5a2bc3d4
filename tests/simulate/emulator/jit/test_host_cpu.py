"""The identity of the host CPU, read by CPUID."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tileiras_build.simulate.emulator.jit import executable_memory, host_cpu

pytestmark = pytest.mark.skipif(not executable_memory.IS_SUPPORTED, reason="this is x86-64 under Linux only")


def test_every_core_has_the_same_id():
    program = "from tileiras_build.simulate.emulator.jit.host_cpu import host_cpu_id; print(host_cpu_id())"
    cores = sorted(os.sched_getaffinity(0))
    found = {
        subprocess.run(
            [sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{core}]); {program}"],
            check=True, capture_output=True, text=True,
        ).stdout
        for core in (cores[0], cores[-1])
    }  # fmt: skip
    assert found == {f"{host_cpu.host_cpu_id()}\n"}


def test_the_id_contains_the_vendor():
    words = host_cpu.host_cpu_id()
    assert words is not None
    vendor = b"".join(words[i].to_bytes(4, "little") for i in (1, 3, 2)).decode()
    vendors = {
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("vendor_id")
    }
    assert vendors == {vendor}


def test_no_id_on_other_platforms(monkeypatch):
    monkeypatch.setattr(executable_memory, "IS_SUPPORTED", False)
    assert host_cpu.host_cpu_id.__wrapped__() is None
