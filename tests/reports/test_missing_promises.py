"""What a build without variants says: which promises of which arrays are missing, a few kernels by name."""

from tests.compiled_once import compiled
from tests.examples.example_library import bytecode_of
from tests.pipeline.test_variants import exported
from tileiras_build.pipeline.launch_manifest_json import render_manifest
from tileiras_build.reports.missing_promises import missing_promises


def manifests(folder, kernels):
    for name, data in kernels.items():
        made = compiled(data, "sm_90", stop_at="cubin", variants=0)
        (folder / f"{name}.json").write_bytes(render_manifest(made.manifest))
        yield folder / f"{name}.json"


def test_arrays_without_aligned_strides_are_named_with_the_promise(tmp_path):
    matmul, vectors, promised = exported()["matmul"], exported()["add"], bytecode_of("attention_f16")
    found = missing_promises(manifests(tmp_path, {"matmul": matmul, "add": vectors, "attention": promised}))
    assert found == [
        "matmul: 16-byte accesses and TMA need promises of stride_divisible_by=8 (a, b), stride_divisible_by=4 (out); "
        "or build with variants=1"
    ]


def test_many_kernels_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("tileiras_build.reports.missing_promises.MAX_LISTED", 1)
    kernels = {name: exported()[name] for name in ("matmul", "matmul_odd")}
    assert missing_promises(manifests(tmp_path, kernels))[1:] == ["and 1 more such kernel"]
