"""exp in pairs gives the bits of libdevice's function, which other targets call."""

from pathlib import Path

import numpy as np

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("exponential_kernels.py")


def _inputs():
    """All exponents with both signs, the range of results and what lies around its ends, and special values."""
    generator = np.random.default_rng(0)
    anywhere = generator.integers(0, 1 << 32, 2048, dtype=np.uint64).astype(np.uint32).view(np.float32)
    results = generator.uniform(-110, 95, 5 * 256).astype(np.float32)
    ends = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        88.72283,
        88.72284,
        -87.33654,
        -103.9720,
        -103.9721,
        -104.0,
        1e-45,
        -1e-45,
    ]
    halves = np.log(2) * (np.arange(-126, 127) + 0.5)
    found = np.concatenate([anywhere, results, ends, halves, np.nextafter(halves.astype(np.float32), 0)])
    return np.resize(found, -(-found.size // 256) * 256).astype(np.float32)


def test_pairs_have_the_bits_of_libdevice():
    x = _inputs()
    grid = (x.size // 256, 1, 1)
    single, paired = (run(KERNELS, "exp_f32", sm, [x, np.zeros_like(x)], grid=grid)[1] for sm in ("sm_90", "sm_100"))
    np.testing.assert_array_equal(single.view(np.uint32), paired.view(np.uint32))


def test_pairs_are_used():
    text = compiled(KERNELS, "exp_f32", "sm_100").ptx
    assert text.count("fma.rm.f32x2") * 2 == text.count("ex2.approx.ftz.f32")
