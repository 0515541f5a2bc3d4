"""Results of scons verify are those of a build with line information, too: its code is the same."""

import pytest

from tests.compiled_once import once
from tests.examples.example_library import bytecode_of
from tileiras_build.driver import lower
from tileiras_build.manifest.ptx_code_digest import code_digest
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import find_target


def ptx(name: str, sm: str, lineinfo: bool) -> bytes:
    job = Job(find_target(sm), lineinfo=lineinfo)
    return once((name, sm, "ptx", lineinfo), lambda: lower(bytecode_of(name), "tilebc", "ptx", job))[".ptx"]


@pytest.mark.parametrize(
    ("name", "sm"), [("vector_add_f32", "sm_80"), ("softmax_f32", "sm_120"), ("matmul_f16_nt", "sm_90")]
)
def test_line_information_changes_no_code(name, sm):
    plain, lined = ptx(name, sm, False), ptx(name, sm, True)
    assert plain != lined and code_digest(plain) == code_digest(lined)


def test_names_of_inlined_functions_are_line_information():
    code = b".visible .entry k()\n{\n\tret;\n}\n"
    names = b"\t.section\t.debug_str\n\t{\n$L__inlined_names:\n.b8 110,111,0\n\t}\n"
    assert code_digest(code + names) == code_digest(code)


def test_other_code_has_another_digest():
    code = b".visible .entry k()\n{\n\tret;\n}\n"
    assert code_digest(code) != code_digest(code.replace(b"ret", b"trap"))
