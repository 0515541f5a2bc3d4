"""libdevice/extract_subset.py: what is cut holds what was asked for, has bytes of its own making only, and links as it is."""

import llvmlite.binding as llvm
import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.libdevice import extract_subset
from tileiras_build.libdevice.locate_libdevice import find_libdevice
from tileiras_build.libdevice.resolve_linked_library import Blob
from tileiras_build.pipeline.ll_to_ptx.target_machine import library_machine

SLOW_PATH = "__internal_trig_reduction_slowpathd"


def new_store():
    return extract_subset.ClosureStore(Blob.of_file(find_libdevice()), library_machine())


@pytest.fixture
def store():
    return new_store()


def defined(data: bytes) -> dict[str, str]:
    with llvm.create_context() as context, llvm.parse_bitcode(data, context=context) as module:
        assert "__nvvm_reflect" not in str(module)
        return {f.name: f.linkage.name for f in module.functions if not f.is_declaration}


def test_a_cut_defines_its_functions_and_drops_what_was_inlined(store):
    assert defined(store.cut(["__nv_sin"], 90)) == {"__nv_sin": "external", SLOW_PATH: "linkonce_odr"}


def test_functions_of_a_set_share_their_helpers(store):
    made = store.cut(["__nv_sin", "__nv_cos"], 90)
    assert defined(made) == {"__nv_sin": "external", "__nv_cos": "external", SLOW_PATH: "linkonce_odr"}
    assert len(made) < len(store.cut(["__nv_sin"], 90)) + len(store.cut(["__nv_cos"], 90))


def test_what_the_library_lacks_is_left_out(store):
    assert store.cut(["__nv_expf", "__nv_nonsense"], 90) == store.cut(["__nv_expf"], 90)
    assert defined(store.cut([], 90)) == {}


def test_bytes_depend_on_the_set_alone(store):
    made = store.cut(["__nv_sinf", "__nv_fast_tanhf", "__nv_expf"], 90)
    other = new_store()
    other.cut(["__nv_cosf"], 90)
    other.cut(["__nv_fast_tanhf"], 80)
    other.cut(["__nv_expf"], 80)
    assert other.cut(["__nv_expf", "__nv_sinf", "__nv_fast_tanhf"], 90) == made


def test_the_first_request_reads_a_part_of_the_library_and_the_next_one_all(store):
    assert store.missing(["__nv_sin", "__nv_nonsense"]) == ["__nv_nonsense"]
    assert store._library.definitions.keys() == {"__nv_sin", SLOW_PATH}
    made = store.cut(["__nv_sin"], 90)
    assert store.missing(["__nv_cos"]) == [] and len(store._library.definitions) > 300
    again = new_store()
    again.cut(["__nv_cos", "__nv_sinf"], 90)
    assert again.cut(["__nv_sin"], 90) == made


def test_only_functions_that_ask_for_the_gpu_are_made_per_gpu(store):
    for number in (80, 90):
        store.cut(["__nv_expf", "__nv_fast_tanhf"], number)
    assert store._closures.keys() == {("__nv_expf", None), ("__nv_fast_tanhf", 80), ("__nv_fast_tanhf", 90)}


def test_what_is_cut_is_a_library_of_that_gpu(store, tmp_path):
    made = store.cut(["__nv_sin"], 90)
    assert (
        extract_subset.is_cut(made)
        and not extract_subset.is_cut(find_libdevice().read_bytes())
        and not extract_subset.is_cut(b"BC")
    )
    (tmp_path / "own.libdevice.bc").write_bytes(made)
    cut = extract_subset.CutLibrary(Blob.of_file(tmp_path / "own.libdevice.bc"))
    assert cut.symbols == {"__nv_sin"}, "a helper is nobody's to call"
    assert cut.cut(["__nv_sin"], 90) == made
    with pytest.raises(InvalidInput, match="libdevice-target.*for sm_90, and not for sm_80; name a whole"):
        cut.cut(["__nv_sin"], 80)


def test_a_cut_that_is_no_bitcode_is_broken(store):
    made = store.cut(["__nv_expf"], 90)
    damaged = extract_subset.CutLibrary(Blob("own", data=made[: extract_subset._HEADER.size] + b"?" * 400))
    with pytest.raises(InvalidInput, match="libdevice-broken"):
        _ = damaged.symbols
