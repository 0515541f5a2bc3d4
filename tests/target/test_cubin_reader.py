"""target/cubin_reader.py: what the ELF reader says equals what NVIDIA's cuobjdump says; damage is refused."""

import re
import subprocess

import pytest
from cuda import pathfinder
from hypothesis import given, settings
from hypothesis import strategies as st

from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ptx_to_cubin import lower, read_cubin
from tileiras_build.target.targets import TARGETS

SOURCE = """.version 9.4
.target ARCH
.address_size 64
.func (.param .b32 r) helper(.param .b32 a)
{
  .reg .b32 %r<2>;
  ld.param.b32 %r1, [a];
  mul.lo.s32 %r1, %r1, %r1;
  st.param.b32 [r], %r1;
  ret;
}
.visible .entry first(.param .u64 p)
{
  .shared .align 16 .b8 s[512];
  .local .align 16 .b8 l[64];
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [p];
  mov.u32 %r1, %tid.x;
  st.shared.u32 [s], %r1;
  mov.u64 %d2, l;
  mul.wide.u32 %d3, %r1, 4;
  add.s64 %d2, %d2, %d3;
  st.local.u32 [%d2], %r1;
  ld.local.u32 %r2, [l];
  st.global.u32 [%d1], %r2;
  ret;
}
.visible .entry second(.param .u64 p)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [p];
  ld.global.u32 %r1, [%d1];
  {
    .param .b32 a;
    .param .b32 r;
    st.param.b32 [a], %r1;
    call (r), helper, (a);
    ld.param.b32 %r2, [r];
  }
  st.global.u32 [%d1], %r2;
  ret;
}
"""
USAGE = re.compile(r"Function (\w+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)")


def cubin_for(name, level=3):
    target = TARGETS[name]
    return lower(SOURCE.replace("ARCH", target.arch), Job(target, opt_level=level))[0]


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", ["sm_80", "sm_89", "sm_90", "sm_100", "sm_107", "sm_121"])
def test_agrees_with_cuobjdump(name, level, tmp_path):
    path = tmp_path / "k.cubin"
    path.write_bytes(cubin_for(name, level))
    tool = pathfinder.find_nvidia_binary_utility("cuobjdump")
    text = subprocess.run([tool, "-res-usage", path], capture_output=True, text=True, check=True).stdout
    expected = {entry: tuple(map(int, counts)) for entry, *counts in USAGE.findall(text) if entry != "helper"}
    cubin = read_cubin(path.read_bytes())
    system = 1024 if TARGETS[name].has("shared_reserved") else 0
    actual = {
        entry: (taken.registers, taken.stack, taken.shared + (system if taken.shared else 0))
        for entry, taken in cubin.kernels.items()
    }
    assert actual == expected and set(actual) == {"first", "second"}
    assert cubin.number == TARGETS[name].number
    assert cubin.kernels["first"].shared == 512 and cubin.kernels["first"].stack >= 64


ALIGNED = """.version 9.4
.target ARCH
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n, .param .align 128 .b8 map[128], .param .u16 h, .param .b8 more[MORE])
{
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [p];
  st.global.u64 [%d1], 0;
  ret;
}
"""
PARAMETER = re.compile(r"Ordinal : (0x\w+)\s+Offset  : (0x\w+)\s+Size    : (0x\w+)")


@pytest.mark.parametrize("more", [1, 20_000])
@pytest.mark.parametrize("name", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_places_of_parameters_agree_with_cuobjdump(name, more, tmp_path):
    """An aligned one lies elsewhere than in PTX where the constant bank's parameters start at no multiple of 128. Kernels with
    many bytes of parameters have records of another kind."""
    target, path = TARGETS[name], tmp_path / "k.cubin"
    ptx = ALIGNED.replace("ARCH", target.arch).replace("MORE", str(more))
    path.write_bytes(lower(ptx, Job(target))[0])
    tool = pathfinder.find_nvidia_binary_utility("cuobjdump")
    text = subprocess.run([tool, "-elf", path], capture_output=True, text=True, check=True).stdout
    rows = sorted(tuple(int(number, 16) for number in row) for row in PARAMETER.findall(text))
    found = read_cubin(path.read_bytes()).kernels["k"].parameters
    assert [(number, one.offset, one.size) for number, one in enumerate(found)] == rows
    assert [one.size for one in found] == [8, 4, 128, 2, more]
    assert name != "sm_90" or found[2].offset == 112


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"MZ" + bytes(200), b"\x7fELF\x02\x01" + bytes(100)])
def test_other_files_are_refused(data):
    with pytest.raises(InvalidInput, match=r"error\[cubin\]"):
        read_cubin(data)


GOOD = cubin_for("sm_90")


@settings(max_examples=150)
@given(st.integers(0, len(GOOD) - 1))
def test_truncation_is_refused_or_harmless(length):
    try:
        read_cubin(GOOD[:length])
    except InvalidInput:
        pass


@settings(max_examples=300)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_damage_is_refused_or_harmless(offset, value):
    try:
        read_cubin(GOOD[:offset] + bytes([value]) + GOOD[offset + 1 :])
    except InvalidInput:
        pass
