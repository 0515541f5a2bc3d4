"""Kernels of a package as PyTorch operators: on a stub of ``torch.library``, and on PyTorch if it is installed."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.launch.packages.sample_library import NAME, PLAIN, TENSOR
from tests.launch.runtime.fake_driver import FakeDriver
from tileiras_build.core.errors import InvalidInput
from tileiras_build.launch.runtime import Library, register_torch_operators
from tileiras_build.launch.runtime.torch_operators import operator_schema
from tileiras_build.manifest.launch_manifest import Argument, Launch, Parameter


class StubOperator:
    """What ``torch.library.custom_op`` returns."""

    def __init__(self, name, run, *, mutates_args, schema):
        self.name, self.run, self.mutated, self.schema = name, run, mutates_args, schema
        self.fake = None

    def register_fake(self, function):
        self.fake = function


@pytest.fixture
def stub(monkeypatch):
    library = SimpleNamespace(custom_op=StubOperator)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(library=library, Tensor=type("Tensor", (), {})))
    monkeypatch.setitem(sys.modules, "torch.library", library)


def test_each_kernel_is_an_operator_that_declares_what_it_writes(package, stub):
    made = register_torch_operators(Library(package, FakeDriver(90)))
    assert {name: row.name for name, row in made.items()} == {name: f"{NAME}::{name}" for name in (PLAIN, TENSOR)}
    assert made[PLAIN].schema == "(SymInt[] grid, Tensor x, Tensor y, Tensor(a2!) out) -> ()"
    assert made[PLAIN].mutated == ("out",)
    assert made[PLAIN].fake((1,), None, None, None) is None


def test_an_operator_launches(package, stub):
    driver = FakeDriver(90)
    made = register_torch_operators(Library(package, driver), "mine")
    assert made[PLAIN].name == f"mine::{PLAIN}"
    made[PLAIN].run((4,), *[np.zeros(1000, np.float32) for _ in range(3)])
    assert [(config.grid, config.stream) for _, config, _ in driver.of("launch")] == [((4, 1, 1), 0)]


def parameter(name: str, kind: str, **more) -> Parameter:
    return Parameter(name=name, kind=kind, size=4, offset=0, **more)


def test_scalars_and_pointers_have_types_of_a_schema():
    rows = [parameter("n", "i32"), parameter("flag", "i1"), parameter("scale", "f32")]
    rows += [
        parameter(f"p{index}", "pointer", access=access) for index, access in enumerate(("loaded", "updated", None))
    ]
    kinds = ["scalar"] * 3 + ["pointer"] * 3
    arguments = [Argument(name=row.name, kind=kind, param=index) for index, (row, kind) in enumerate(zip(rows, kinds))]
    text, written = operator_schema(Launch(threads_per_cta=128, params=rows, arguments=arguments))
    assert text == (
        "(SymInt[] grid, SymInt n, bool flag, float scale, Tensor p0, Tensor(a4!) p1, Tensor(a5!) p2) -> ()"
    )
    assert written == ("p1", "p2")


def test_without_pytorch_the_error_says_so(package, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidInput, match=r"torch-missing"):
        register_torch_operators(Library(package, FakeDriver(90)))


def test_operators_run_in_graphs_of_pytorch(package):
    torch = pytest.importorskip("torch")
    register_torch_operators(Library(package, device="cpu"), "emulated")
    operator = getattr(torch.ops.emulated, PLAIN)

    def twice(x, y):
        out = torch.empty_like(x)
        operator((-(-x.shape[0] // 256),), x, y, out)
        return out * 2

    x, y = torch.arange(1000, dtype=torch.float32), torch.ones(1000)
    torch.testing.assert_close(twice(x, y), (x + y) * 2)
    torch.testing.assert_close(torch.compile(twice, backend="aot_eager", fullgraph=True)(x, y), (x + y) * 2)
