"""What an .ll says about its target: written, read, and compared with the job."""

import pytest

from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx.embedded_metadata import read_serialization
from tileiras_build.pipeline.serialization_target import Serialization
from tileiras_build.target.targets import TARGETS

SM90 = TARGETS["sm_90"]
KERNEL = """define ptx_kernel void @k(ptr addrspace(1) %p) #1 {
  store i32 1, ptr addrspace(1) %p
  ret void
}
attributes #1 = { "target-cpu"="CPU" "target-features"="+ptx90" }
"""


def marked(note: str, cpu: str = "sm_90a") -> str:
    return f'{KERNEL.replace("CPU", cpu)}!tileiras.target = !{{!0}}\n!0 = !{{!"{note}"}}\n'


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(
    "options", [{}, {"opt_level": 1}, {"opt_level": "s"}, {"opt_level": "z"}, {"opt_level": 0, "debug": True}]
)
def test_the_note_is_read_as_it_was_written(name, options):
    made_for = Serialization.of_job(Job(TARGETS[name], **options))
    assert Serialization.parse(made_for.note) == made_for
    assert made_for.check(Job(TARGETS[name], **options)) is made_for
    assert made_for.opt_level == options.get("opt_level", 3)


def test_the_notes_text():
    note = Serialization.of_job(Job(SM90, opt_level=0, debug=True)).note
    assert note == "sm_90 -opt=0 -g -Xopt -pragma-unroll-threshold=9900000 -fma=0"


@pytest.mark.parametrize("note", ["", "sm_90", "sm_75 -opt=3", "sm_90 -opt=9", "-opt=3 sm_90"])
def test_other_notes_are_refused(note):
    with pytest.raises(InternalError, match="target-note"):
        Serialization.parse(note)


@pytest.mark.parametrize("job, words", [
    (Job(TARGETS["sm_80"]), "a module for sm_90 is serialized for sm_80"),
    (Job(SM90, opt_level=1), "a module for optimization level 3 is serialized for optimization level 1"),
    (Job(SM90, opt_level="z"), "a module for optimization level 3 is serialized for optimization level z"),
    (Job(TARGETS["sm_100"], opt_level=0, debug=True),
     "a module for sm_90 and optimization level 3 and no device debugging is serialized for sm_100 and optimization level 0 "
     "and device debugging"),
])  # fmt: skip
def test_a_job_that_disagrees_is_reported_in_one_sentence(job, words):
    with pytest.raises(InvalidInput) as caught:
        ll_to_ptx.lower(marked("sm_90 -opt=3"), job)
    assert (caught.value.id, caught.value.message) == ("target-mismatch", words)


def test_functions_for_another_machine_are_refused():
    with pytest.raises(InvalidInput, match="target-mismatch.*a module for sm_80 is serialized for sm_90a"):
        ll_to_ptx.lower(marked("sm_90 -opt=3", "sm_80"), Job(SM90))


def test_text_without_a_note_is_for_the_job():
    text = KERNEL.replace("CPU", "sm_75")
    for job in (Job(SM90), Job(TARGETS["sm_80"], opt_level=1)):
        assert read_serialization(text, job) == Serialization.of_job(job)
        ptx = ll_to_ptx.lower(text, job)
        assert f".target {job.target.arch}\n" in ptx and "tileiras.manifest" not in ptx


def test_the_level_reaches_the_ptx():
    assert '"opt_level":1' in ll_to_ptx.lower(marked("sm_90 -opt=1"), Job(SM90, opt_level=1))
    assert "opt_level" not in ll_to_ptx.lower(marked("sm_90 -opt=3"), Job(SM90))
