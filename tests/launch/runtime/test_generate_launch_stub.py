"""Launches by stubs: the second and later ones with arguments of the same types."""

import threading
from collections import namedtuple

import numpy as np
import pytest
from msgspec import structs

from tests.launch.runtime.test_invalid_launches import kernel_of, right
from tests.launch.runtime.validated_kernel import KERNEL
from tileiras_build.core.errors import InvalidInput
from tileiras_build.launch.runtime.generate_launch_stub import StubList
from tileiras_build.launch.runtime.kernel_library import Kernel
from tileiras_build.launch.runtime.library_manifest import CUBIN, Image
from tileiras_build.manifest.launch_manifest import Programs

GridOf = namedtuple("GridOf", "x y")

_N = next(index for index, param in enumerate(KERNEL.params) if param.name == "n")


def with_variant() -> Kernel:
    """The validated kernel with a variant for multiples of 64."""
    params = list(KERNEL.params)
    params[_N] = structs.replace(params[_N], divisible_by=64)
    kernel = kernel_of(KERNEL)
    image = Image("sm_90a", CUBIN, 0, 0, KERNEL, {"k_64": structs.replace(KERNEL, params=params, variant_of="k")})
    kernel.library.manifest.kernels["k"] = (image,)
    return kernel


def test_arguments_choose_between_a_kernel_and_its_variant():
    kernel = with_variant()
    for n in (64, 16, 128, 8, 64):
        kernel.launch((4,), *(right() | {"n": n}).values())
    assert [entry for entry, _, _ in kernel.library.driver.of("launch")] == ["k_64", "k", "k_64", "k", "k_64"]
    assert len(kernel._stubs.stubs) == 2


def test_grids_choose_between_a_kernel_and_its_cluster_variant():
    kernel = kernel_of(KERNEL)
    clustered = structs.replace(KERNEL, variant_of="k", grid=structs.replace(KERNEL.grid, cluster=2))
    kernel.library.manifest.kernels["k"] = (Image("sm_90a", CUBIN, 0, 0, KERNEL, {"k_2": clustered}),)
    for columns in (4, 3, 2, 5):
        kernel.launch((columns,), *right().values())
    assert [entry for entry, _, _ in kernel.library.driver.of("launch")] == ["k_2", "k", "k_2", "k"]
    assert len(kernel._stubs.stubs) == 2


def test_numbers_of_tile_blocks_choose_a_variant_whose_loop_is_long_enough():
    kernel = kernel_of(KERNEL)
    programs = [Programs(most=6, param=_N, minimum=64), Programs(least=9, most=12, param=_N, minimum=96)]
    some = structs.replace(KERNEL, variant_of="k", grid=structs.replace(KERNEL.grid, programs=programs))
    even = structs.replace(KERNEL, variant_of="k", grid=structs.replace(KERNEL.grid, cluster=2))
    kernel.library.manifest.kernels["k"] = (Image("sm_90a", CUBIN, 0, 0, KERNEL, {"some": some, "even": even}),)
    launches = [
        *(((2, 3), 64, "some"), ((2, 3), 48, "even"), ((2, 4), 64, "even"), ((3, 3), 64, "k"), ((3, 1), 16, "k")),
        *(((3, 3), 96, "some"), ((4, 3), 96, "some"), ((13,), 96, "k")),
    ]
    for grid, n, _ in launches + launches:
        kernel.launch(grid, *(right() | {"n": n}).values())
    expected = [entry for _, _, entry in launches]
    assert [entry for entry, _, _ in kernel.library.driver.of("launch")] == expected + expected
    assert len(kernel._stubs.stubs) == 3


def test_keywords_and_whole_grids_go_by_stubs():
    kernel, values = kernel_of(KERNEL), right()
    kernel.launch((4,), *values.values())
    kernel._chosen = None  # a launch with all checks would need it
    kernel.launch(3, stream=7, **values)
    _, configuration, _ = kernel.library.driver.of("launch")[-1]
    assert (configuration.grid, configuration.stream) == ((3, 1, 1), 7)


SCALARS = [
    (16, 1, 1),
    (np.int64(16), np.float32(0.5), np.bool_(True)),
    (np.uint8(16), True, 1.0),
    (16, np.int32(2), False),
]


@pytest.mark.parametrize(("n", "eps", "flag"), SCALARS)
def test_scalars_of_any_type_go_by_stubs(n, eps, flag):
    kernel, values = kernel_of(KERNEL), right() | {"n": n, "eps": eps, "flag": flag}
    kernel.launch((4,), *values.values())
    kernel._chosen = None  # a launch with all checks would need it
    kernel.launch((4,), *values.values())
    checked, by_stub = kernel.library.driver.of("launch")
    assert checked == by_stub


@pytest.mark.parametrize(("n", "message"), [(1 << 40, "does not fit"), (8192, "more than 4096"), (12, "multiple of 8")])
def test_stubs_refuse_the_scalars_that_the_checks_refuse(n, message):
    kernel = kernel_of(KERNEL)
    kernel.launch((4,), *(right() | {"n": np.int64(16)}).values())
    with pytest.raises(InvalidInput, match=message):
        kernel.launch((4,), *(right() | {"n": np.int64(n)}).values())
    assert len(kernel._stubs.stubs) == 1


@pytest.mark.parametrize(
    ("grid", "blocks"), [([4], (4, 1, 1)), ([2, 3], (2, 3, 1)), (np.int64(3), (3, 1, 1)), (GridOf(5, 2), (5, 2, 1))]
)
def test_grids_of_any_form_are_accepted(grid, blocks):
    kernel, values = kernel_of(KERNEL), right()
    for _ in range(2):
        kernel.launch(grid, *values.values())
    assert [configuration.grid for _, configuration, _ in kernel.library.driver.of("launch")] == [blocks] * 2
    assert len(kernel._stubs.stubs) == 1


def test_a_launch_that_the_driver_refuses_is_made_again_with_all_checks(monkeypatch):
    kernel, values = kernel_of(KERNEL), right()
    monkeypatch.setattr(kernel.library.driver, "launch_function", lambda *_: 201)  # no context
    for _ in range(2):
        kernel.launch((4,), *values.values())
    assert len(kernel.library.driver.of("launch")) == 2


def test_stubs_of_another_device_do_not_launch(monkeypatch):
    kernel, values = kernel_of(KERNEL), right()
    driver = kernel.library.driver
    current = [0]
    monkeypatch.setattr(driver, "home_of", lambda address: 0)
    monkeypatch.setattr(driver, "current_device", lambda: current[0])
    monkeypatch.setattr(driver, "device", lambda: (current[0], 90))
    kernel.launch((4,), *values.values())
    current[0] = 1
    with pytest.raises(InvalidInput, match="a is on GPU 0, the kernel runs on GPU 1"):
        kernel.launch((4,), *values.values())


def test_threads_use_buffers_of_their_own():
    kernel, values = kernel_of(KERNEL), right()
    kernel.launch((4,), *values.values())
    launch = lambda: [kernel.launch((4,), *values.values()) for _ in range(50)]
    threads = [threading.Thread(target=launch) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    calls = kernel.library.driver.of("launch")
    assert len(calls) == 201 and all(call == calls[0] for call in calls)


def test_arguments_that_no_stub_takes_do_not_pile_up():
    stubs, made = StubList(), []
    for _ in range(9):
        stubs.add("key", lambda: made.append(1))
    assert len(made) == 4 and not stubs.stubs
