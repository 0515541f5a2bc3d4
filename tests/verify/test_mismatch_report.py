"""The error for a kernel that does not match its reference."""

import numpy as np
import pytest

from tileiras_build.core.errors import Location
from tileiras_build.verify.compare_arrays import ArrayMismatch, WrongElement, compare
from tileiras_build.verify.mismatch_report import SAME_AS_INTERPRETER, mismatch_error


def test_an_element_is_named_once_though_it_is_no_number():
    wrong = compare("x", np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    error = mismatch_error("k", "sm_90", Location("k.py", 1, 1), [wrong], None, SAME_AS_INTERPRETER, (1, 1, 1))
    assert str(error).count("x[1]: got nan, expected 2.0") == 1


@pytest.mark.parametrize(
    ("actual", "allowed", "remedy"),
    [
        (1.3, 1.0, "largest error is 1.3x the tolerance: loosen it, or fix the kernel or the reference"),
        (40.0, 1.0, "largest error is 40x the tolerance: fix the kernel or the reference"),
        (1.0, 0.0, "fix the kernel or the reference"),
    ],
)
def test_the_remedy_depends_on_how_far_the_largest_error_is_beyond_the_tolerance(actual, allowed, remedy):
    element = WrongElement((0,), actual, 0.0, allowed)
    wrong = ArrayMismatch("x", 1, 1, (element,), element, element)
    error = mismatch_error("k", "sm_90", Location("k.py", 1, 1), [wrong], None, SAME_AS_INTERPRETER, (1, 1, 1))
    assert error.remedy.splitlines()[0] == remedy
