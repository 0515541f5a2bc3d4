"""compile() on real kernels, and the same bytes through files: every stage can be entered from its file."""

import pytest

import tileiras_build
from tests.compiled_once import compiled
from tests.examples.example_library import bytecode_of
from tileiras_build import driver
from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.target.targets import find_target


def test_artifacts_of_a_kernel():
    artifacts = tileiras_build.compile(bytecode_of("vector_add_f32"), "90")
    assert "nv_tileaa.func" in artifacts.tileaa and "nv_tileas." in artifacts.tileas
    assert "define" in artifacts.ll and ".target sm_90a" in artifacts.ptx
    assert artifacts.cubin.startswith(b"\x7fELF")
    kernel = artifacts.manifest["kernels"]["vector_add_f32"]
    assert kernel["resources"]["registers"] > 0 and sum(kernel["param_sizes"]) > 0
    assert artifacts.manifest["target"] == "sm_90a"
    assert list(artifacts.seconds) == [stage.name for stage in STAGES]


def test_stop_at_leaves_the_rest_out():
    artifacts = tileiras_build.compile(bytecode_of("vector_add_f32"), "sm_80", stop_at="ptx")
    assert artifacts.cubin is None and artifacts.ptx
    assert "resources" not in artifacts.manifest["kernels"]["vector_add_f32"]
    early = tileiras_build.compile(bytecode_of("vector_add_f32"), "sm_80", stop_at="tileaa")
    assert early.tileas is None and early.ll is None and early.manifest == {} and early.tileaa


def test_same_input_gives_the_same_bytes():
    first, second = (tileiras_build.compile(bytecode_of("softmax_f32"), "90") for _ in range(2))
    assert (first.ll, first.ptx, first.cubin) == (second.ll, second.ptx, second.cubin)


# Together they have all operations of the examples on sm_90 with all their attributes, in .tileaa and in .tileas.
EACH_OPERATION = (
    "argmax_f32", "attention_f16_causal", "histogram_i32", "matmul_f16_nt_grouped", "gelu_erf_f32", "rms_norm_f32", "transpose_i8",
    "gelu_tanh_f32", "prefix_sum_i32", "scatter_f32", "masked_saxpy_f32", "matmul_f32_nn", "matmul_f16_nt_odd", "matmul_f8e4m3_nn",
    "batch_matmul_bf16_pairs",
)  # fmt: skip


@pytest.mark.parametrize("name", EACH_OPERATION)
def test_stages_through_files_give_the_same_bytes(name):
    job = Job(find_target("90"))
    whole = compiled(bytecode_of(name), "sm_90")
    data, source = bytecode_of(name), STAGES[0]
    for stage in STAGES[1:-1]:
        data, source = driver.lower(data, source.name, stage.name, job, name)[stage.suffix], stage
        if stage.name == "tileas":
            assert data.decode() == whole.tileas
    assert data.decode() == whole.ptx


@pytest.mark.parametrize("length", [1, 7, 8, 20, 100, -40, -1])
def test_truncated_bytecode_is_refused(length):
    with pytest.raises(InvalidInput) as caught:
        tileiras_build.compile(bytecode_of("vector_add_f32")[:length], "90", name="k.tilebc")
    assert str(caught.value).startswith("k.tilebc: byte 0x") and "\n" not in str(caught.value)


def test_text_is_no_bytecode():
    with pytest.raises(InvalidInput, match="k.tilebc: byte 0x0: error"):
        tileiras_build.compile(b"import cuda.tile as ct\n", "90", name="k.tilebc")
