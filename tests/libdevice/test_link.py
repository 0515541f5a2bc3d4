"""libdevice/link.py: a module gets the functions it calls, internal, and nothing else."""

import llvmlite.binding as llvm
import pytest

from tileiras_build.errors import InternalError, InvalidInput
from tileiras_build.libdevice import find_libdevice
from tileiras_build.libdevice.closures import ClosureStore
from tileiras_build.libdevice.link import called_symbols, link_needed, store_for
from tileiras_build.pipeline.ll_to_ptx.machine import library_machine

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


@pytest.fixture
def store(tmp_path):
    return ClosureStore(find_libdevice(), library_machine(), tmp_path)


def test_only_what_is_called_is_linked(store):
    with llvm.create_context() as context, llvm.parse_assembly(CALLS, context=context) as module:
        assert called_symbols(module) == ["__nv_sin", "__nv_cos"]
        link_needed(module, context, called_symbols(module), store, 90)
        assert called_symbols(module) == []
        defined = {f.name: f.linkage.name for f in module.functions if not f.is_declaration}
        module.verify()
    # Both closures bring the slow path; equal copies merge.
    assert defined.pop("k") == "external"
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
        second.bitcode("__nv_expf", 90)


def test_a_wrong_declaration_is_refused(store):
    text = "declare float @__nv_sin(float)"
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        with pytest.raises(InternalError) as caught:
            link_needed(module, context, ["__nv_sin"], store, 90)
    assert str(caught.value).startswith("internal error[libdevice-signature]: __nv_sin is declared as float (float)")
