"""Words of tiles that wait for a reduction, and of those that are loaded afterwards."""

from pathlib import Path

import pytest

from tests.emulated_kernels import bytecode
from tileiras_build import driver
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.schedule.choose import listening
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).parents[1] / "schedule" / "row_kernels.py"


@pytest.mark.parametrize(
    ("name", "row", "late"),
    [
        ("long", 16384, 2 * 16384 / 2),  # a row in f32, and two vectors of f16
        ("one_row", 0, 0),  # nothing is read again
        ("looped", 4096 / 2, 0),
        ("updated", 64 * 128, 1),  # stored, then reduced
    ],
)
def test_words_of_all_threads(name, row, late):
    with listening() as heard:
        driver.lower(bytecode(KERNELS, name), ".tilebc", "tileas", Job(find_target("sm_90")))
    kernel = heard.kernels[name]
    assert (kernel.row_words, kernel.late_words) == (row, late)
