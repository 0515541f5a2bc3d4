"""Every example through libNVVM: the same results as through LLVM's back end, bit for bit, in the emulator."""

import numpy as np
import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import CASES, DIFFERENT, bytecode_of, launch

# The one that both can make PTX of: sums of another instruction may be rounded elsewhere.
SHARED_STRATEGY = "unspecialize"
# libNVVM's two dialects: each has every other kernel, both have those of each sort of work.
BOTH = ("attention_f16_causal", "gelu_erf_f32", "histogram_i32", "layer_norm_f32", "softmax_f32")
# These have no LLVM operation and no instruction that others of their GPU lack.
REPEATED = (
    "attention_bf16_causal", "batch_matmul_f16", "gelu_erf_bf16", "linear_recurrence_f32", "matmul_bf16_nn", "matmul_f16_nt",
    "matmul_f16_nt_wide", "matmul_f32_nn", "prefix_sum_f32", "rms_norm_f32", "transpose_f32", "vector_add_f32", "matmul_tf32_nt",
    "matmul_f8e4m3_nt", "max_and_argmax_f32", "masked_saxpy_f32", "transpose_on_load_f32",
)  # fmt: skip
PAIRS = [
    (name, sm)
    for index, name in enumerate(CASES)
    for column, sm in enumerate(("sm_90", "sm_100"))
    if (index % 2 != column and name in DIFFERENT and name not in REPEATED) or name in BOTH
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
