"""Triton without a GPU: a module with the functions that the fake replaces."""

import types

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.cutile.fakes import triton_driver
from tileiras_build.target.targets import find_target


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    raise AssertionError("the stand-in's is called")


class Mark:
    def _run(self, bench, save_path):
        return bench.x_vals, save_path


class JITFunction:
    __name__ = "kernel"

    def run(self, *args, **kwargs):
        raise AssertionError("the stand-in's is called")


@pytest.fixture
def triton(capsys):
    config = types.SimpleNamespace(_active=None)
    made = types.SimpleNamespace(
        runtime=types.SimpleNamespace(driver=config, jit=types.SimpleNamespace(JITFunction=JITFunction)),
        testing=types.SimpleNamespace(do_bench=do_bench, Mark=Mark),
    )
    triton_driver.install(find_target("sm_100"), made)
    yield made
    triton_driver.remove()
    assert config._active is None and made.testing.do_bench is do_bench


@pytest.mark.parametrize(
    ("how", "kind"),
    [({}, float), ({"return_mode": "all"}, list), ({"quantiles": [0.5]}, float), ({"quantiles": [0.2, 0.8]}, list)],
)
def test_what_is_benchmarked_is_called_once(triton, capsys, how, kind):
    calls, tensor = [], types.SimpleNamespace(grad=1)
    triton_driver._notice_shown = False
    for _ in range(2):
        assert type(triton.testing.do_bench(lambda: calls.append(tensor.grad), 5, grad_to_none=[tensor], **how)) is kind
    assert calls == [None, None]
    assert capsys.readouterr().err.count("no GPU: ") == 1


@pytest.mark.parametrize(("keep", "kept"), [(None, [1, 2, 3]), (2, [1, 2]), (9, [1, 2, 3])])
def test_reports_are_of_the_first_sizes(triton, keep, kept):
    triton_driver.limit_benchmark_sizes(keep)
    bench = types.SimpleNamespace(x_vals=[1, 2, 3])
    try:
        assert triton.testing.Mark()._run(bench, "folder") == (kept, "folder") and bench.x_vals == [1, 2, 3]
    finally:
        triton_driver.limit_benchmark_sizes(None)


def test_the_driver_knows_of_the_device(triton):
    driver = triton.runtime.driver._active
    assert driver.get_device_capability() == (10, 0) and driver.get_current_device() == 0
    assert driver.get_current_stream(0) == 0 and driver.get_benchmarker() is triton.testing.do_bench
    assert not hasattr(driver, "_cached")
    with pytest.raises(InvalidInput, match=r"error\[triton-unsupported\].*utils of its driver needs a GPU"):
        driver.utils  # noqa: B018 - looking at it is the test


def test_its_own_kernels_are_refused(triton):
    with pytest.raises(InvalidInput, match=r"error\[triton-unsupported\].*kernel is one; launch kernels of cuTile"):
        JITFunction().run(1, grid=(1,), warmup=False)
