"""The lines that a wrong kernel leads to."""

import numpy as np

from tileiras_build.core.errors import Location
from tileiras_build.verify.compare_arrays import compare
from tileiras_build.verify.mismatch_report import SAME_AS_INTERPRETER, mismatch_error


def test_an_element_is_named_once_though_it_is_no_number():
    wrong = compare("x", np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    error = mismatch_error("k", "sm_90", Location("k.py", 1, 1), [wrong], None, SAME_AS_INTERPRETER, (1, 1, 1))
    assert str(error).count("x[1]: got nan, expected 2.0") == 1
