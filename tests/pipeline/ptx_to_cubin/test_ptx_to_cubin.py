"""ptx_to_cubin: PTX becomes a cubin with a completed manifest, and ptxas' complaints become one sentence."""

import os
import subprocess
import sys

import pytest

from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import manifest_comment
from tileiras_build.pipeline.ptx_to_cubin import FEW_BYTES, find_ptxas, lower, read_cubin, run_ptxas
from tileiras_build.target.targets import TARGETS

SM90 = TARGETS["sm_90"]
MANIFEST = {"version": 1, "target": "sm_90a", "kernels": {"k": {"threads_per_cta": 128}}}
SOURCE = """.version VERSION
.target ARCH
.address_size 64
NOTE
.visible .entry k(.param .u64 p) .reqntid 128
{
  .shared .align 16 .b8 s[4096];
  .reg .b32 %r<5>;
  .reg .b64 %d<2>;
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, s;
  add.s32 %r3, %r3, %r2;
  st.shared.u32 [%r3], %r1;
  bar.sync 0;
  ld.shared.u32 %r4, [%r3];
  ld.param.u64 %d1, [p];
  st.global.u32 [%d1], %r4;
  ret;
}
"""


NOTE = manifest_comment(MANIFEST)


def source(target=SM90, note=NOTE):
    version = ".".join(map(str, target.ptx_version))
    return SOURCE.replace("VERSION", version).replace("ARCH", target.arch).replace("NOTE", note)


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def with_parameters(*sizes):
    params = [{"name": f"arg{n}", "kind": "pointer", "size": size, "offset": 64} for n, size in enumerate(sizes)]
    return manifest_comment({**MANIFEST, "kernels": {"k": {"params": params}}})


def test_parameters_lie_where_the_cubin_has_them():
    _, manifest = lower(source(note=with_parameters(8)), Job(SM90))
    assert [row["offset"] for row in manifest["kernels"]["k"]["params"]] == [0]


@pytest.mark.parametrize("sizes", [(4,), (8, 8)])
def test_parameters_that_the_cubin_does_not_have(sizes):
    with pytest.raises(InternalError, match="manifest-parameters"):
        lower(source(note=with_parameters(*sizes)), Job(SM90))


@pytest.mark.parametrize("name", list(TARGETS))
def test_every_gpu(name):
    target = TARGETS[name]
    cubin, manifest = lower(source(target), Job(target))
    assert read_cubin(cubin).number == target.number
    assert manifest["kernels"]["k"]["threads_per_cta"] == 128
    resources = manifest["kernels"]["k"]["resources"]
    assert resources == resources | {"spill_stores": 0, "spill_loads": 0, "stack": 0, "shared": 4096}
    assert 4 <= resources["registers"] <= 32


def test_the_same_bytes_as_from_files(tmp_path):
    (tmp_path / "k.ptx").write_text(source())
    command = [str(find_ptxas()), *run_ptxas.options(source(), Job(SM90)), "k.ptx", "-o", "k.cubin"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert lower(source(), Job(SM90))[0] == (tmp_path / "k.cubin").read_bytes()


def test_without_a_manifest_only_resources_are_listed():
    _, manifest = lower(source(note=""), Job(SM90))
    assert manifest["target"] == "sm_90a" and set(manifest["kernels"]["k"]) == {"resources"}


def test_the_manifest_passed_in_the_ptx_is_not_shared():
    first, second = (lower(source(), Job(SM90))[1] for _ in range(2))
    assert first == second and first["kernels"]["k"] is not second["kernels"]["k"]


def test_a_kernel_that_no_sm_has_registers_for():
    """Nine warps, three of them in one partition; 177 registers of a thread are more than a third of its own."""
    wide = MANIFEST | {"kernels": {"k": {"threads_per_cta": 288}}}
    values = "\n".join(f"  ld.volatile.global.u32 %r{n}, [%d1+{4 * n}];" for n in range(200))
    stores = "\n".join(f"  st.volatile.global.u32 [%d1+{4 * n}], %r{199 - n};" for n in range(200))
    text = f"""{source(note=manifest_comment(wide)).split(".visible")[0]}
.visible .entry k(.param .u64 p) .reqntid 288 .maxnreg 224
{{
  .reg .b32 %r<200>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [p];
{values}
{stores}
  ret;
}}"""
    with pytest.raises(InternalError, match="launch-registers.*the 288 threads of kernel k"):
        lower(text, Job(SM90))
    assert lower(text.replace(".maxnreg 224", ""), Job(SM90))[1]["kernels"]["k"]["resources"]["registers"] <= 168


BOUNDS = ".maxntid 1024 .minnctapersm 2"
SPILLING = f""".version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p) {BOUNDS}
{{
  .reg .f32 %f<240>;
  .reg .b64 %d<2>;
  .reg .f64 %e<4>;
  ld.param.u64 %d1, [p];
LOADS
  bar.sync 0;
MMA
STORES
  ret;
}}
"""


def holding(values: int, bounds: str) -> str:
    """A kernel whose threads have so many values across a barrier."""
    loads = "\n".join(f"  ld.volatile.global.f32 %f{n}, [%d1+{4 * n}];" for n in range(values))
    stores = "\n".join(f"  st.volatile.global.f32 [%d1+{4 * n}], %f{n};" for n in range(values))
    text = SPILLING.replace("LOADS", loads).replace("STORES", stores).replace(BOUNDS, bounds)
    return text.replace(
        "MMA", "  mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e0, %e1}, {%e2}, {%e3}, {%e0, %e1};"
    )


def made(text: str) -> dict:
    """The resources of a kernel that this program wrote."""
    return lower(text.replace(".visible", f"{NOTE}\n.visible"), Job(SM90))[1]["kernels"]["k"]["resources"]


@pytest.mark.parametrize("bounds", [".maxntid 512 .minnctapersm 2", ".reqntid 512 .maxnreg 64"])
@pytest.mark.parametrize(("values", "most"), [(40, 64), (90, 128)])
def test_ctas_share_an_sm_unless_their_threads_would_spill(values, most, bounds):
    """Two CTAs of 512 threads have 64 registers for each of them, and one has 128."""
    text = holding(values, bounds)
    written = lower(text, Job(SM90))[1]["kernels"]["k"]["resources"]
    assert written["registers"] <= 64 and bool(written["spill_stores"]) == (most > 64)  # as somebody wrote it
    assert made(text)["registers"] <= most and made(text)["spill_stores"] == made(text)["spill_loads"] == 0


@pytest.mark.parametrize(("values", "most"), [(90, 96), (130, 168), (220, 255)])
def test_as_many_ctas_share_an_sm_as_have_the_registers(values, most):
    """Of the five CTAs of 128 threads that are asked for: five, three and two."""
    found = made(holding(values, ".reqntid 128 .maxnreg 96"))
    assert values < found["registers"] <= most and found["spill_stores"] == found["spill_loads"] == 0


def test_some_spills_are_kept():
    """A few bytes, those of warps that exchange registers, and of kernels without MMAs."""
    found = made(holding(60, ".reqntid 512 .maxnreg 64"))
    assert found["registers"] <= 64 and 0 < found["spill_stores"] + found["spill_loads"] <= FEW_BYTES
    text = holding(90, ".reqntid 512 .maxnreg 64")
    exchanging = text.replace("  bar.sync 0;", "  bar.sync 0;\n  setmaxnreg.dec.sync.aligned.u32 64;")
    others = "\n".join(line for line in text.splitlines() if "mma.sync" not in line)
    for kept in (exchanging, others):
        assert made(kept)["registers"] <= 64 and made(kept)["spill_stores"]


def test_spills_and_stack_are_reported():
    loads = "\n".join(f"  ld.volatile.global.f32 %f{n}, [%d1+{4 * n}];" for n in range(120))
    stores = "\n".join(f"  st.volatile.global.f32 [%d1+{4 * n}], %f{119 - n};" for n in range(120))
    _, manifest = lower(SPILLING.replace("LOADS", loads).replace("STORES", stores).replace("MMA", ""), Job(SM90))
    resources = manifest["kernels"]["k"]["resources"]
    assert resources["registers"] == 32
    assert resources["spill_stores"] > 100 and resources["spill_loads"] > 100 and resources["stack"] > 100


@pytest.mark.parametrize("job, words", [
    (Job(SM90), ["-O3"]), (Job(SM90, opt_level=1), ["-O1"]), (Job(SM90, opt_level="s"), ["-O3"]), (Job(SM90, debug=True), ["-g"]),
])  # fmt: skip
def test_options_of_ptx_written_by_hand(job, words):
    assert run_ptxas.options(source(note=""), job) == ["-arch", "sm_90a", "-v", *words]


@pytest.mark.parametrize("level", range(4))
def test_the_manifest_names_the_level(level):
    text = source(note=manifest_comment(MANIFEST | {"opt_level": level}))
    assert run_ptxas.options(text, Job(SM90, opt_level=level)) == ["-arch", "sm_90a", "-v", f"-O{level}"]


def test_the_header_asks_for_debugging():
    text = source().replace(".target sm_90a", ".target sm_90a, debug")
    assert run_ptxas.options(text, Job(SM90, opt_level=0)) == ["-arch", "sm_90a", "-v", "-g"]


def test_lines_are_kept_where_there_are_some():
    text = source().replace("  bar.sync", "\t.loc\t1 4 2\n  bar.sync")
    assert run_ptxas.options(text, Job(SM90)) == ["-arch", "sm_90a", "-v", "-O3", "-lineinfo"]


@pytest.mark.seed("target-and-debug-info", "consumer-assembler")
@pytest.mark.parametrize("job, words", [
    (Job(SM90, opt_level=1), "a module for optimization level 3 is serialized for optimization level 1"),
    (Job(TARGETS["sm_80"]), "a module for sm_90a is serialized for sm_80"),
])  # fmt: skip
def test_ptx_for_something_else_is_refused(job, words):
    with pytest.raises(InvalidInput, match=f"target-mismatch.*{words}"):
        run_ptxas.options(source(), job)


def test_a_refusal_quotes_the_line_and_the_command():
    with pytest.raises(InvalidInput) as caught:
        lower(source().replace("bar.sync 0;", "bar.sinc 0;"), Job(SM90))
    error = caught.value
    assert error.id == "ptxas" and error.location.line == 15
    assert "`bar.sinc 0;`" in error.message and "\n" not in str(error)
    assert "-arch sm_90a -v -O3 k.ptx -o k.cubin`" in error.remedy


def test_a_wrong_target_is_ptxas_own_sentence():
    with pytest.raises(InvalidInput, match=r"error\[ptxas\].*SM version"):
        lower(source(TARGETS["sm_100"], note=""), Job(SM90))


def test_a_crash_names_the_signal(tmp_path):
    with pytest.raises(InvalidInput) as caught:
        lower(source(), Job(SM90, ptxas=program(tmp_path / "ptxas", "kill -SEGV $$")))
    assert caught.value.id == "ptxas-crash" and "SIGSEGV" in str(caught.value)


def test_success_without_output_is_a_refusal(tmp_path):
    with pytest.raises(InvalidInput, match="no reason given"):
        lower(source(), Job(SM90, ptxas=program(tmp_path / "ptxas", "exit 0")))


def test_output_that_is_no_cubin(tmp_path):
    with pytest.raises(InvalidInput, match=r"error\[cubin\]"):
        lower(source(), Job(SM90, ptxas=program(tmp_path / "ptxas", "echo hello")))


def test_code_for_another_gpu(tmp_path):
    path = tmp_path / "other.cubin"
    path.write_bytes(lower(source(TARGETS["sm_100"]), Job(TARGETS["sm_100"]))[0])
    with pytest.raises(InternalError, match="sm_100 instead of sm_90"):
        lower(source(), Job(SM90, ptxas=program(tmp_path / "ptxas", f"cat {path}")))


def test_a_kernel_missing_from_the_cubin():
    note = manifest_comment({"version": 1, "kernels": {"other": {}}})
    with pytest.raises(InternalError, match="manifest-kernel"):
        lower(source(note=note), Job(SM90))


def test_a_program_that_cannot_start(tmp_path):
    path = tmp_path / "ptxas"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    with pytest.raises(InvalidInput, match=r"error\[ptxas-io\]: cannot run"):
        lower(source(), Job(SM90, ptxas=str(path)))


@pytest.mark.parametrize(("given", "seen"), [(None, "glibc.malloc.hugetlb=1:"), ("glibc.malloc.check=3", "check=3")])
def test_what_the_user_says_of_memory_holds_for_ptxas(monkeypatch, tmp_path, given, seen):
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    if given is not None:
        monkeypatch.setenv("GLIBC_TUNABLES", given)
    path = program(tmp_path / "ptxas", 'echo "ptxas fatal : $GLIBC_TUNABLES;" >&2; exit 1')
    with pytest.raises(InvalidInput) as caught:
        lower(source(), Job(SM90, ptxas=path))
    assert seen in str(caught.value)
    assert (f"{given};" in str(caught.value)) == (given is not None)


def test_no_memory_for_the_output(monkeypatch):
    def refuse(*arguments):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(run_ptxas.os, "memfd_create", refuse)
    with pytest.raises(InvalidInput) as caught:
        lower(source(), Job(SM90))
    assert caught.value.id == "ptxas-io" and os.strerror(28) in str(caught.value)


def test_no_files_stay_open():
    lower(source(), Job(SM90))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        lower(source(), Job(SM90))
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_temporary_files_are_needed(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "does-not-exist"))
    assert lower(source(), Job(SM90))[0]


SERIALIZED = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p) .reqntid 128
{
  .reg .b32 %r<3>;
  mov.u32 %r1, %tid.x;
  setmaxnreg.inc.sync.aligned.u32 160;
  ret;
}
"""


def test_remarks_are_kept():
    source = SERIALIZED.replace(".reqntid 128", "")
    _, manifest = lower(source, Job(SM90))
    assert any("setmaxnreg" in note for note in manifest["notes"])


def test_assembling_does_not_load_llvm():
    code = "import sys, tileiras_build.pipeline.ptx_to_cubin; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
