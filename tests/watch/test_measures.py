"""What a save has changed: cells of numbers and sizes, kernels that are new and gone, what has not been read again."""

from pathlib import Path

from tests.examples.example_library import bytecode_of
from tileiras_build.driver import lower
from tileiras_build.pipeline.job import Job
from tileiras_build.targets import find_target
from tileiras_build.watch.measures import Measure, Measures, Problem, changes, header


def measure(registers: int = 29, spills: int = 0, microseconds: float | None = None) -> Measure:
    return Measure(registers, spills, 48 << 10, 0, 458, microseconds)


def test_a_row_says_what_a_number_was():
    before = {("a", "sm_90"): measure(), ("same", "sm_90"): measure(), ("gone", "sm_90"): measure()}
    now = {("a", "sm_90"): measure(40, 12), ("same", "sm_90"): measure(), ("new", "sm_90"): measure()}
    assert changes(before, now, False) == [
        ("a", "sm_90", "29 -> 40", "0 -> 12 B", "48 KiB", "0", "458"),
        ("new", "sm_90", "29", "0", "48 KiB", "0", "458"),
        ("gone", "sm_90", "29 -> gone", "0 -> gone", "48 KiB -> gone", "0 -> gone", "458 -> gone"),
    ]
    assert len(header(False)) == 7 and header(True)[-1] == "estimate"


def test_the_estimate_is_a_column_where_it_is_asked_for():
    before, now = ({("a", "sm_90"): measure(microseconds=time)} for time in (10.04, 12.5))
    assert changes(before, now, True)[0][-1] == "10.0 us -> 12.5 us"


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
