"""libdevice/closures.py: closures are kept in memory and on disk, and damaged files are made again."""

import os

import llvmlite.binding as llvm
import pytest

from tileiras_build.errors import InvalidInput
from tileiras_build.libdevice import closures
from tileiras_build.libdevice.find import find_libdevice
from tileiras_build.pipeline.ll_to_ptx.machine import library_machine
from tileiras_build.pipeline.stages import find, source_files
from tileiras_build.sources import PACKAGE, installed


@pytest.fixture
def store(tmp_path):
    return closures.ClosureStore(find_libdevice(), library_machine(), tmp_path)


def again(tmp_path):
    """A store as a new process would see it, which must not take the library apart."""
    return closures.ClosureStore(find_libdevice(), library_machine(), tmp_path)


def files(tmp_path):
    return sorted(path.name for path in tmp_path.rglob("*") if path.is_file())


def test_closure_defines_the_function_and_drops_what_was_inlined(store):
    made = store.bitcode("__nv_sin", 90)
    with llvm.create_context() as context, llvm.parse_bitcode(made, context=context) as module:
        defined = {f.name: f.linkage.name for f in module.functions if not f.is_declaration}
        assert defined == dict.fromkeys(("__nv_sin", "__internal_trig_reduction_slowpathd"), "linkonce_odr")
        assert "__nvvm_reflect" not in str(module)


def test_a_second_process_reads_the_cache(store, tmp_path):
    made = store.bitcode("__nv_expf", 90)
    assert files(tmp_path) == ["__nv_expf.bc"]
    second = again(tmp_path)
    assert second.bitcode("__nv_expf", 80) == made
    assert second._library is None


def test_only_functions_that_ask_for_the_gpu_are_kept_per_gpu(store, tmp_path):
    fast = {number: store.bitcode("__nv_fast_tanhf", number) for number in (80, 90)}
    store.bitcode("__nv_expf", 80)
    assert files(tmp_path) == ["__nv_expf.bc", "__nv_fast_tanhf.sm_80.bc", "__nv_fast_tanhf.sm_90.bc"]
    assert again(tmp_path).bitcode("__nv_fast_tanhf", 90) == fast[90]


def test_bytes_do_not_depend_on_the_cache(store, tmp_path):
    fresh = closures.ClosureStore(find_libdevice(), library_machine(), tmp_path / "other")
    fresh.bitcode("__nv_cosf", 90)  # another history
    assert fresh.bitcode("__nv_sinf", 90) == store.bitcode("__nv_sinf", 90)


@pytest.mark.parametrize("what", ["code_digest", "library_version"])
def test_closures_of_other_code_are_made_again(store, tmp_path, monkeypatch, what):
    store.bitcode("__nv_expf", 90)
    monkeypatch.setattr(closures, what, lambda *names: f"another {names}")
    assert again(tmp_path)._read(("__nv_expf", None)) is None
    again(tmp_path).bitcode("__nv_expf", 90)
    assert files(tmp_path) == ["__nv_expf.bc", "__nv_expf.bc"]


def test_the_code_of_closures_is_all_that_makes_them():
    code = installed().code_of(closures._CODE)
    assert {"libdevice/closures.py", "libdevice/library.py", "pipeline/ll_to_ptx/machine.py", "targets.py"} <= code
    assert code <= {path.relative_to(PACKAGE).as_posix() for path in source_files(find("ptx"))}


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 4000])
def test_a_damaged_cache_file_is_made_again(store, tmp_path, damage):
    made = store.bitcode("__nv_expf", 90)
    (path,) = (path for path in tmp_path.rglob("*.bc"))
    path.write_bytes(damage)
    assert again(tmp_path).bitcode("__nv_expf", 90) == made
    assert path.read_bytes().endswith(made)


def test_an_unwritable_cache_only_costs_time(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    store = closures.ClosureStore(find_libdevice(), library_machine(), blocked)
    assert store.bitcode("__nv_expf", 90)


def test_all_missing_names_are_reported(store):
    with pytest.raises(InvalidInput) as caught:
        store.resolve(["__nv_nonsense", "__nv_expf", "__nv_bogus"], 90)
    assert caught.value.id == "unresolved-libdevice"
    assert "__nv_bogus, __nv_nonsense" in str(caught.value)
    with pytest.raises(InvalidInput, match="__nv_nonsense"):
        store.bitcode("__nv_nonsense", 90)


def test_cache_directory_follows_the_environment(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert closures.cache_directory() == closures.Path("/somewhere/tileiras_build/libdevice")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert str(closures.cache_directory()).startswith(os.path.expanduser("~"))
