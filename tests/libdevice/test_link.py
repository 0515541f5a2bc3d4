"""libdevice/link.py: a module gets the functions it calls, internal, and nothing else."""

from contextlib import contextmanager

import llvmlite.binding as llvm
import pytest

from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.libdevice import find_libdevice
from tileiras_build.libdevice.extract_subset import ClosureStore, CutLibrary
from tileiras_build.libdevice.link import called_symbols, link_needed, store_for
from tileiras_build.libdevice.resolve_linked_library import Blob
from tileiras_build.pipeline.ll_to_ptx.target_machine import data_layout, library_machine

LAYOUT = f'target datalayout = "{data_layout()}"\n'
CALLS = """
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %x = load double, ptr addrspace(1) %p
  %s = call double @__nv_sin(double %x)
  %c = call double @__nv_cos(double %s)
  store double %c, ptr addrspace(1) %p
  ret void
}
declare double @__nv_sin(double)
declare double @__nv_cos(double)
"""


FUNCTIONS = ("__nv_cos", "__nv_expf", "__nv_sin")


@pytest.fixture(params=["whole", "cut"])
def store(request):
    whole = ClosureStore(Blob.of_file(find_libdevice()), library_machine())
    return whole if request.param == "whole" else CutLibrary(Blob("cut", data=whole.cut(FUNCTIONS, 90)))


@contextmanager
def opened(text):
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        yield module, context


def test_only_what_is_called_is_linked(store):
    with llvm.create_context() as context, llvm.parse_assembly(LAYOUT + CALLS, context=context) as module:
        assert called_symbols(module) == ["__nv_sin", "__nv_cos"]
        link_needed(module, context, called_symbols(module), store, 90)
        assert called_symbols(module) == []
        defined = {f.name: f.linkage.name for f in module.functions if not f.is_declaration}
        module.verify()
    assert defined.pop("k") == "external"
    # What was cut for more kernels than this one brings more, which dies as dead code does.
    defined.pop("__nv_expf", None)
    assert defined == dict.fromkeys(("__nv_sin", "__nv_cos", "__internal_trig_reduction_slowpathd"), "internal")


def test_a_changed_file_gets_a_new_store(tmp_path):
    path = tmp_path / "own.bc"
    path.write_bytes(find_libdevice().read_bytes())
    first = store_for(path, library_machine())
    assert store_for(path, library_machine()) is first
    path.write_bytes(b"BC\xc0\xde broken now")
    second = store_for(path, library_machine())
    assert second is not first
    with pytest.raises(InvalidInput, match="libdevice-broken"):
        second.cut(["__nv_expf"], 90)


def test_all_missing_names_are_reported(store):
    with opened(LAYOUT + CALLS) as (module, context), pytest.raises(InvalidInput) as caught:
        link_needed(module, context, ["__nv_nonsense", "__nv_expf", "__nv_bogus"], store, 90)
    assert caught.value.id == "unresolved-libdevice"
    assert "__nv_bogus, __nv_nonsense" in str(caught.value)


def test_a_cut_for_another_layout_is_refused(store):
    text = f'target datalayout = "e-p:32:32"\n{CALLS}'
    with opened(text) as (module, context), pytest.raises(InvalidInput, match="libdevice-target"):
        link_needed(module, context, ["__nv_sin"], store, 90)


def test_a_wrong_declaration_is_refused(store):
    text = LAYOUT + "declare float @__nv_sin(float)"
    with opened(text) as (module, context), pytest.raises(InternalError) as caught:
        link_needed(module, context, ["__nv_sin"], store, 90)
    assert str(caught.value).startswith("internal error[libdevice-signature]: __nv_sin is declared as float (float)")
