"""A former parameter of a public function is refused with its present name."""

import pytest

from tileiras_build.core.renamed_parameters import renamed_parameters
from tileiras_build.simulate import emulator


@renamed_parameters(old="new")
def function(first, *, new=0):
    return first, new


def test_a_former_parameter_is_refused():
    with pytest.raises(TypeError, match=r"^function\(\): parameter old was renamed to new$"):
        function(1, old=2)


def test_other_calls_are_unchanged():
    assert function(1, new=2) == (1, 2) and function(first=3) == (3, 0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        function(1, other=2)


@pytest.mark.parametrize("name", ["launch", "run_ptx"])
def test_the_rounding_of_matmuls_has_a_former_name(name):
    with pytest.raises(TypeError, match="sums was renamed to matmul_rounding"):
        getattr(emulator, name)("", "kernel", 1, sums="exact")
