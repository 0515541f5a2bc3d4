"""Kernels in graphs of JAX on the CPU."""

import numpy as np
import pytest

import tileiras_build.cutile as hook

jax = pytest.importorskip("jax", reason="JAX is not installed")
ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")


@ct.kernel
def scaled(x, y, factor, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (tile,)) * factor)


@ct.kernel
def copied(x, y, tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (tile,)))


def test_a_graph_launches_kernels_with_outputs_and_updates():
    with hook.enabled("sm_90", device="cpu"):
        calls = pytest.importorskip("cuda.tile.jax", reason="this cuda-tile has no cuda.tile.jax")

        @jax.jit
        def graph(x):
            y = calls.cutile_call((2,), scaled, (x, calls.OutputPlaceholder(x.shape, x.dtype), 3.0, 16))
            return calls.cutile_call((2,), scaled, (y, calls.InputOutput(y), 2.0, 16))

        x = jax.numpy.arange(32, dtype=jax.numpy.float32)
        np.testing.assert_array_equal(graph(x), 6 * np.arange(32))


def test_what_cutile_refuses_to_compile_is_its_own_error_while_the_graph_is_made():
    with hook.enabled("sm_90", device="cpu"):
        calls = pytest.importorskip("cuda.tile.jax", reason="this cuda-tile has no cuda.tile.jax")
        exponents = jax.numpy.ones(32, jax.numpy.float8_e8m0fnu)
        graph = jax.jit(lambda x: calls.cutile_call((2,), copied, (x, calls.OutputPlaceholder(x.shape, x.dtype), 16)))
        with pytest.raises(ct.TileUnsupportedFeatureError, match="float8_e8m0fnu is not supported on sm_90"):
            graph.lower(exponents)


def test_an_array_of_jax_is_a_device_array():
    with hook.enabled("sm_90", device="cpu"):
        x, y = jax.numpy.arange(32, dtype=jax.numpy.bfloat16), np.zeros(32, np.float32)
        ct.launch(0, (2,), scaled, (x, y, 1.0, 16))
    np.testing.assert_array_equal(y, np.arange(32))
