"""Fast paths of NumPy's broadcasting and reductions."""

import subprocess
import sys

import numpy as np
import pytest

from tileiras_build.simulate.emulator.simt.broadcasting import unique_integers


@pytest.mark.parametrize(
    "values",
    [
        np.array([[3, 1], [3, -2]]),
        np.array([], np.int64),
        np.array([2**64 - 1, 0], np.uint64),
        np.array(5),
        np.int32(7),
    ],
)
def test_unique_integers_equal_numpys(values):
    found, expected = unique_integers(values), np.unique(values)
    assert found.tolist() == expected.tolist() and found.dtype == expected.dtype


def test_unique_integers_import_no_masked_arrays():
    program = (
        "import sys, numpy as np; from tileiras_build.simulate.emulator.simt.broadcasting import unique_integers\n"
        "unique_integers(np.arange(8)); assert 'numpy.ma' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
