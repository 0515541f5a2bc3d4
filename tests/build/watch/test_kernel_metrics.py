"""Metrics of cubins, and their cache."""

from pathlib import Path

from tests.estimated_kernel import GRID, SETTINGS, write_vector_add
from tileiras_build.build.watch.kernel_metrics import MetricsReader
from tileiras_build.simulate.estimate.estimate_kernel import Problem


def test_cubins_are_measured_once(tmp_path: Path):
    write_vector_add(tmp_path)
    problem = Problem.read(SETTINGS, GRID)
    measures = MetricsReader(tmp_path, problem)
    ((key, found),) = measures.read().items()
    assert key == ("vector_add_f32", "sm_90") and found.registers > 0 and found.spills == 0 and found.microseconds > 0
    # What fills code up is not counted.
    assert 10 < found.instructions < 200 and found.instructions % 8
    measures._read_metrics = None
    assert measures.read() == {key: found}
    (tmp_path / "sm_90/vector_add_f32.json").unlink()
    assert MetricsReader(tmp_path).read() == {}
