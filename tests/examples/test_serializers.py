"""Every example through libNVVM: the same numbers as through LLVM's back end, bit for bit, in the emulator."""

import numpy as np
import pytest
from example_library import CASES, bytecode_of, launch

from tests.compiled_once import compiled

# The one that both can make PTX of: sums of another instruction may be rounded elsewhere.
SHARED_STRATEGY = "unspecialize"
# libNVVM's two dialects: each has every other kernel, both have all where that is asked for.
PAIRS = [
    pytest.param(name, sm, marks=pytest.mark.exhaustive if index % 2 == column else ())
    for index, name in enumerate(CASES)
    for column, sm in enumerate(("sm_90", "sm_100"))
]


@pytest.mark.seed("lowering-overview", "option-serializer")
@pytest.mark.parametrize(("name", "sm"), PAIRS)
def test_both_serializers_compute_the_same(name, sm):
    results = []
    for serializer in ("nvptx", "libnvvm"):
        choices = {"serializer": serializer, "strategy": SHARED_STRATEGY}
        artifacts = compiled(bytecode_of(name), sm, **choices)
        assert ("NVIDIA NVVM Compiler" in artifacts.ptx) == (serializer == "libnvvm")
        results.append(launch(name, artifacts))
    for key, value in results[0].items():
        if isinstance(value, np.ndarray):
            assert value.tobytes() == results[1][key].tobytes(), key
