"""Kernels are compiled once: in memory, over threads, and on disk."""

import threading

import numpy as np
import pytest

import tileiras_build.cutile as hook
from tileiras_build import driver
from tileiras_build.core.errors import InvalidInput, Location, Unsupported
from tileiras_build.cutile.compiled_kernel_cache import key_of
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import find_target

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
N = 128


def make_kernel():
    """A new kernel object of the same program."""

    @ct.kernel
    def increased(x, tile: ct.Constant[int]):
        ct.store(x, (0,), ct.load(x, (0,), (tile,)) + 1.0)

    return increased


def launch(kernel, **options):
    with hook.enabled("sm_90", device="cpu", **options) as session:
        x = np.zeros(N, np.float32)
        for _ in range(2):
            ct.launch(0, (1,), kernel, (x, N))
        assert (x == 2).all()
        return session.compiler.compilations


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", str(tmp_path))
    return tmp_path


def test_what_is_on_disk_is_not_compiled(folder):
    assert [launch(make_kernel()) for _ in range(2)] == [1, 0]


def test_a_kernel_compiled_with_other_parameters_is_another_one(folder):
    parameters = [{}, {"fp8_promotion_interval": 64}, {"grid_swizzle": 8}, {"grid_swizzle": 8}]
    assert [launch(make_kernel(), **one) for one in parameters] == [1, 1, 1, 0]


def test_caches_of_cutile_tell_these_parameters_apart():
    names = []
    for parameters in ({}, {"grid_swizzle": 8}, {"grid_swizzle": 16}):
        with hook.enabled("sm_90", device="cpu", **parameters) as session:
            names.append(session.compiler.name)
    assert len(set(names)) == 3


def test_a_number_that_the_compiler_does_not_take(folder):
    with pytest.raises(InvalidInput, match="grid_swizzle=3 is not a valid value; use one of 0, 1, 2, 4"):
        hook.enable("sm_90", device="cpu", grid_swizzle=3)
    assert not hook.is_enabled()


def test_a_damaged_file_is_compiled_again(folder):
    launch(make_kernel())
    for file in folder.rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert [launch(make_kernel()) for _ in range(2)] == [1, 0]


def test_without_a_cache_nothing_is_written(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", "off")
    assert launch(make_kernel()) == 1 and not list(tmp_path.iterdir())


def test_the_folder_is_the_user_s_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TILEIRAS_CUTILE_CACHE", raising=False)
    launch(make_kernel())
    assert (tmp_path / "tileiras-build" / "cutile" / "ac").is_dir()


def test_threads_compile_once_together(folder):
    kernels = [make_kernel() for _ in range(4)]
    with hook.enabled("sm_90", device="cpu") as session:
        arrays = [np.zeros(N, np.float32) for _ in kernels]
        threads = [
            threading.Thread(target=ct.launch, args=(0, (1,), kernel, (x, N))) for kernel, x in zip(kernels, arrays)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.compiler.compilations == 1
    assert all((x == 1).all() for x in arrays)


def test_an_error_of_the_compiler_shows_the_python_line(monkeypatch, folder):
    line = make_kernel.__code__.co_firstlineno + 5

    def fail(*_, **__):
        raise Unsupported("no-row", "there is none", location=Location(__file__, line, 9))

    monkeypatch.setattr(driver, "compile", fail)
    with pytest.raises(Unsupported) as caught:
        launch(make_kernel())
    assert str(caught.value).startswith(f"{__file__}:{line}:9: error[no-row]: there is none")
    assert caught.value.__notes__ == ["    ct.store(x, (0,), ct.load(x, (0,), (tile,)) + 1.0)\n    ^"]


def test_all_that_decides_the_bytes_is_in_the_key():
    job = Job(find_target("sm_90"))
    keys = [
        key_of(b"one", job, "ptx"),
        key_of(b"two", job, "ptx"),
        key_of(b"one", job, "cubin"),
        key_of(b"one", Job(find_target("sm_80")), "ptx"),
        key_of(b"one", Job(job.target, opt_level=1), "ptx"),
        key_of(b"one", Job(job.target, lineinfo=True), "ptx"),
        key_of(b"one", Job(job.target, grid_swizzle=8), "ptx"),
    ]
    assert len(set(keys)) == len(keys) and key_of(b"one", Job(find_target("sm_90")), "ptx") == keys[0]
