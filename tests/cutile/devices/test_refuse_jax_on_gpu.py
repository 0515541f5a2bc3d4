"""Kernels in graphs of JAX for a GPU, which needs no GPU to be made."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from tileiras_build.core.errors import Unsupported
from tileiras_build.cutile.devices import refuse_jax_on_gpu


@pytest.fixture
def installed():
    def install(module):
        refuse_jax_on_gpu.install(module)
        refuse_jax_on_gpu.install(module)

    yield install
    refuse_jax_on_gpu.remove()


def test_cutile_has_its_function_back(installed, monkeypatch):
    module = ModuleType("cuda.tile.jax._jax")
    module.compile_kernel = own = lambda kernel, constraints: "compiled"
    monkeypatch.setitem(sys.modules, "cuda.tile.jax._jax", module)
    installed(module)
    function = SimpleNamespace(pyfunc=SimpleNamespace(__name__="copied"))
    with pytest.raises(Unsupported, match="kernel copied is inside a jitted JAX function"):
        module.compile_kernel(SimpleNamespace(_annotated_function=function), ())
    refuse_jax_on_gpu.remove()
    assert module.compile_kernel is own


def test_a_kernel_in_a_graph_is_refused_while_the_graph_is_made(installed):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
    calls = pytest.importorskip("cuda.tile.jax", reason="this cuda-tile has no cuda.tile.jax")

    @ct.kernel
    def copied(x, y):
        ct.store(y, (0,), ct.load(x, (0,), (16,)))

    installed(calls)
    graph = lambda x: calls.cutile_call((1,), copied, (x, calls.OutputPlaceholder(x.shape, x.dtype)))
    with pytest.raises(Unsupported, match="ct.launch on JAX's arrays outside of jit") as caught:
        jax.jit(graph).trace(jax.numpy.zeros(16)).lower(lowering_platforms=("cuda",))
    assert caught.value.id == "cutile-jax"
