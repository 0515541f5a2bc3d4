"""Dots of tf32 whose operands were f16, and others that share memory with them: instructions, and results without a race."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("tf32_dots.py")
T = 64


def gated_delta_rule(q, k, w, u, gates):
    """The results of each chunk in f64."""
    state, found = np.zeros((q.shape[1], u.shape[1])), []
    for rows in (slice(start, start + T) for start in range(0, len(q), T)):
        queries, keys, gate = q[rows].astype(float), k[rows].astype(float), gates[rows, None].astype(float)
        new = u[rows] - w[rows] @ state
        found.append(np.tril(queries @ keys.T) @ new + (queries * gate) @ state)
        state = state * gate[-1] + (keys * gate).T @ new
    return np.concatenate(found)


@pytest.mark.parametrize(
    ("sm", "name", "chunks"),
    [
        *[(sm, "gated_delta_rule", 3) for sm in ("sm_80", "sm_90", "sm_100")],
        ("sm_90", "gated_delta_rule_wide", 2),
        ("sm_100", "gated_delta_rule_wide", 1),
        ("sm_100", "gated_delta_rule_wide", 3),
    ],
)
def test_results_of_the_gated_delta_rule(sm, name, chunks):
    rng, width = np.random.default_rng(chunks), 128 if name.endswith("wide") else 64
    q, k, w, u = ((rng.integers(-2, 3, (T * chunks, width)) / 16).astype(np.float16) for _ in range(4))
    gates = rng.uniform(0.25, 1, T * chunks).astype(np.float32)
    out = np.full((T * chunks, width), np.nan, np.float32)
    found = run(KERNELS, name, sm, [q, k, w, u, gates, out])[-1]
    np.testing.assert_allclose(found, gated_delta_rule(q, k, w, u, gates), rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_100"])
def test_extended_operands_are_multiplied_as_they_were(sm):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(64, 192)).astype(np.float16) for _ in range(2))
    a[0, :4] = [2.0**-24, -3 * 2.0**-24, 65504, -0.0]  # subnormals, and the largest number
    found = run(KERNELS, "extended", sm, [a, b, np.zeros((64, 64), np.float32)])[2]
    np.testing.assert_allclose(found, a.astype(float) @ b.T.astype(float), rtol=1e-4, atol=1e-3)
    assert "tf32" not in compiled(KERNELS, "extended", sm).ptx


def test_dots_of_a_wide_state_share_what_threads_write():
    """The state and the new values, each written once for two dots; and no load of a tile is left to threads but that of gates."""
    text = compiled(KERNELS, "gated_delta_rule_wide", "sm_100").tileas
    loop = text[text.rindex("nv_tileas.for ") : text.rindex("nv_tileas.continue")]
    assert re.findall(r"mma = \"(tcgen05|mma)_\w*?(k\d+_\w+?)_", loop) == [
        *[("tcgen05", "k8_tf32")] * 2,
        ("tcgen05", "k16_f16"),
        *[("tcgen05", "k8_tf32")],
        ("mma", "k8_tf32"),
    ]
    assert loop.count("nv_tileas.local_store") == 4
    assert "x128xf16> " not in "".join(line for line in loop.splitlines() if "nv_tileas.tiled_load" in line)
