"""What cubins are like, and what has not been read again."""

from pathlib import Path

from tests.examples.example_library import bytecode_of
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.targets import find_target
from tileiras_build.watch.measures import Measures, Problem


def test_cubins_are_measured_once(tmp_path: Path):
    made = lower(bytecode_of("vector_add_f32"), "tilebc", "cubin", Job(find_target("sm_90")))
    (tmp_path / "sm_90").mkdir()
    for suffix, data in made.items():
        (tmp_path / f"sm_90/vector_add_f32{suffix}").write_bytes(data)
    problem = Problem(("a=65536", "b=65536", "c=65536"), "256")
    measures = Measures(tmp_path, problem)
    ((key, found),) = measures.read().items()
    assert key == ("vector_add_f32", "sm_90") and found.registers > 0 and found.spills == 0
    # What fills code up is not counted.
    assert 10 < found.instructions < 200 and found.instructions % 8
    measures._measured = None
    assert measures.read() == {key: found}
    (tmp_path / "sm_90/vector_add_f32.json").unlink()
    assert Measures(tmp_path).read() == {}
