"""ll_to_ptx/ptx_header.py: .version, .target and the manifest line."""

import pytest

from tileiras_build.core.errors import InternalError
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx.ptx_header import fix_header
from tileiras_build.pipeline.serialization_target import Serialization
from tileiras_build.target.targets import TARGETS

BODY = "\n.visible .entry k()\n{\n\tcvt.rn.bf16x2.e4m3x2 \t%r1, %rs1;\n\tret;\n}\n"


def ptx(target="sm_103a", version="9.0", body=BODY):
    return f"//\n// LLVM's words\n//\n\n.version {version}\n.target {target}\n.address_size 64\n{body}"


def for_job(target, **options):
    return Serialization.of_job(Job(target, **options))


def header(text):
    return [line for line in text.splitlines() if line.startswith((".version", ".target"))]


def test_unknown_gpus_are_renamed():
    fixed = fix_header(ptx(), for_job(TARGETS["sm_107"]), None, has_assembly=False)
    assert header(fixed) == [".version 9.4", ".target sm_107a"]
    assert fixed.endswith(BODY)


def test_debug_is_dropped_unless_asked_for():
    source = ptx("sm_90a, debug")
    assert header(fix_header(source, for_job(TARGETS["sm_90"]), None, False))[1] == ".target sm_90a"
    assert header(fix_header(source, for_job(TARGETS["sm_90"], debug=True), None, False))[1] == ".target sm_90a, debug"
    assert header(fix_header(ptx("sm_90a"), for_job(TARGETS["sm_90"], debug=True), None, False))[1] == ".target sm_90a"


@pytest.mark.parametrize(
    "instruction, version",
    [
        ("cvt.rn.bf16x2.e4m3x2 %r1, %rs1;", "9.2"),
        ("cvt.rn.relu.bf16x2.e2m1x2 %r1, %rs1;", "9.2"),
        ("cvt.rn.satfinite.e5m2x2.bf16x2 %rs1, %r1;", "9.1"),
        ("cvt.rn.satfinite.e2m1x2.f16x2 t, %r1;", "9.1"),
        ("cvt.rn.f16x2.e4m3x2 %r1, %rs1;", "9.0"),
        ("cvt.rn.bf16x2.f32 %r1, %f1, %f2;", "9.0"),
    ],
)
def test_assembly_raises_the_version(instruction, version):
    source = ptx("sm_100a", body=f"\n{instruction}\n")
    fixed = fix_header(source, for_job(TARGETS["sm_100"]), None, has_assembly=True)
    assert header(fixed)[0] == f".version {version}"


def test_the_manifest_follows_the_header():
    lines = fix_header(ptx(), for_job(TARGETS["sm_103"]), {"version": 1}, False).splitlines()
    assert lines[lines.index(".address_size 64") + 1] == '// tileiras.manifest: {"version":1}'


def test_no_header_is_an_internal_error():
    with pytest.raises(InternalError, match="ptx-header"):
        fix_header("nothing", for_job(TARGETS["sm_90"]), None, False)
