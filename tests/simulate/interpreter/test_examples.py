"""Every example in the interpreter, against the example's own NumPy reference."""

import numpy as np
import pytest

from tests.examples.example_library import CASES, bytecode_of, inputs_of
from tileiras_build.frontend.export_cutile import pack_arguments
from tileiras_build.simulate import interpreter
from tileiras_build.verify import find_faults


@pytest.mark.parametrize("name", CASES)
def test_kernel_computes_its_reference(name):
    case, values, memory = CASES[name], inputs_of(name), interpreter.Memory()
    for array in values.values():
        if isinstance(array, np.ndarray):
            memory.map_array(array)
    parameters = pack_arguments(case, list(values.values()))
    interpreter.launch(bytecode_of(name), name, case.grid(values), parameters, memory=memory)
    assert find_faults(case, inputs_of(name), values) == []
