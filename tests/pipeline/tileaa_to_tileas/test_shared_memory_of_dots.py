"""Loops one after another whose computed operands share the bytes that a GPU has, or whose results share its tensor memory: each dot has the
instruction that reads them there.
"""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run, scheduled_case
from tileiras_build.ir.casting import as_op, defining_op
from tileiras_build.ir.layouts.tmem_layout import ALL_COLUMNS
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.pipeline.verifiers.shared_memory_allocation import verify_shared_memory_allocation

KERNELS = Path(__file__).with_name("linear_attention_gradients.py")
STEPS, ROWS, DEPTH = 2, 64, 128


def test_each_dot_of_two_loops_reads_shared_memory():
    text = compiled(KERNELS, "halved", "sm_90").tileas
    assert text.count("nv_tileas.async.dot ") == 11 and "nv_tileas.dot " not in text
    module = scheduled_case(KERNELS, "halved", "sm_90")
    rings = [as_op(op) for op in module.walk() if op.name == "nv_tileas.alloc_tensor"]
    assert len({ring.shared_offset for ring in rings}) < len(rings)
    assert verify_shared_memory_allocation(module) > 0


def test_each_dot_of_two_loops_has_results_in_tensor_memory():
    """Those of each loop alone fit."""
    module = scheduled_case(KERNELS, "whole", "sm_100")
    dots = [as_op(op) for op in module.walk() if op.name == "nv_tileas.async.umma"]
    columns = [as_op(defining_op(tile)) for tile in dict.fromkeys(dot.acc for dot in dots)]
    assert len(dots) == 11 and not any(op.name == "nv_tileas.dot" for op in module.walk())
    assert sum(tile.result.type.columns.data for tile in columns) <= ALL_COLUMNS
    assert verify_pipelines(module) > 0


@pytest.mark.parametrize(("name", "sm"), [("halved", "sm_90"), ("halved", "sm_100"), ("whole", "sm_100")])
def test_results_of_two_loops_that_share_bytes(name, sm):
    shape = (STEPS * ROWS, DEPTH)
    q, k, v, do = (np.random.default_rng(seed).integers(-1, 2, shape).astype(ml_dtypes.bfloat16) for seed in range(4))
    outs = [np.zeros(shape, ml_dtypes.bfloat16) for _ in range(3)]
    found = run(KERNELS, name, sm, [q * (2 if name == "halved" else 1), k, v, do, *outs])[4:]
    q, k, v, do = (values.astype(np.float32) for values in (q, k, v, do))
    causal = np.tri(STEPS * ROWS, dtype=np.float32)
    weights, scores = causal * (q @ k.T), causal * (do @ v.T)
    for values, want in zip(found, (scores @ k, scores.T @ q, weights.T @ do), strict=True):
        np.testing.assert_allclose(values.astype(np.float32), want, rtol=2.0**-5, atol=2.0**-5 * np.abs(want).max())


WIDE_HEADS = Path(__file__).with_name("wide_head_gradients.py")
KEYS, HEAD = 128, 256


@pytest.mark.parametrize("name", ["gradients", "transposed"])
def test_fragments_have_no_stage_beside_operands_that_stay_in_shared_memory(name):
    draw = np.random.default_rng(0)
    q, k, v, do = (draw.integers(-1, 2, (KEYS, HEAD)).astype(ml_dtypes.bfloat16) for _ in range(4))
    of_rows = draw.integers(8, 12, (2, KEYS)).astype(np.float32)
    outs = [np.zeros((KEYS, HEAD), ml_dtypes.bfloat16) for _ in range(2)]
    found = run(WIDE_HEADS, name, "sm_100", [q / 8, k, v, do, of_rows, *outs])[5:]
    q, k, v, do = ((q / 8).astype(np.float32), *(values.astype(np.float32) for values in (k, v, do)))
    weights = np.exp2(k @ q.T - of_rows[0])
    scores = weights * (v @ do.T - of_rows[1])
    for values, want in zip(found, (scores @ q, weights @ do), strict=True):
        np.testing.assert_allclose(values.astype(np.float32), want, rtol=2.0**-5, atol=2.0**-5 * np.abs(want).max())
