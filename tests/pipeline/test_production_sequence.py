"""What a build runs: the conversions of the cascade in their order, and the module of LLVM and NVVM that they leave."""

from functools import cache

import pytest

from tests.examples.example_library import bytecode_of
from tileiras_build import driver
from tileiras_build.errors import InvalidInput
from tileiras_build.pipeline import contracts, text_format, tileas_to_ll
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tileas_to_ll.attach_nvvm_target import target_of
from tileiras_build.targets import find_target

# Each owns one boundary; what prepares one stands before it.
CASCADE = (
    "convert-cudatile-to-tileaa",
    "convert-tileaa-to-tileas",
    "convert-nv-tile-func-to-llvm",
    "convert-tile-as-to-llvm",
    "convert-cute-and-cute-nvgpu-to-llvm",
    "convert-nvgpu-and-gpu-to-nvvm",
    "nv-tile-ir-convert-target-to-nvvm",
    "convert-debuginfo-to-llvm",
)
TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")


@pytest.mark.seed("lowering-overview", "sequence")
@pytest.mark.parametrize("options", [{}, {"opt_level": 0}, {"lineinfo": True}, {"serializer": "libnvvm"}], ids=str)
def test_a_build_runs_the_conversions_once_and_in_order(options, monkeypatch):
    ran, run_one = [], contracts._run_one

    def recording(entry, *more):
        ran.append(entry.name)
        return run_one(entry, *more)

    monkeypatch.setattr(contracts, "_run_one", recording)
    driver.compile(bytecode_of("vector_add_f32"), "sm_90", stop_at="ll", **options)
    assert tuple(name for name in ran if name in CASCADE) == CASCADE


@cache
def scheduled(name: str, target: str) -> bytes:
    return driver.lower(bytecode_of(name), "tilebc", "tileas", Job(find_target(target)))[".tileas"]


@pytest.mark.seed("lowering-overview", "contract-companion", "target-before-serialization")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["matmul_f16_nt", "softmax_f32"])
def test_what_is_serialized_is_llvm_and_nvvm_for_one_target(name, target):
    module = text_format.parse(scheduled(name, target))
    contracts.run_passes(tileas_to_ll.PASSES, module, Job(find_target(target)))
    [device] = module.body.block.ops
    made = target_of(device)
    assert (made.chip.data, made.level.data, made.triple.data) == (target, 3, "nvptx64-nvidia-cuda")
    assert "-Xopt" in made.options() and made.features.data == ""
    inside = {op.name.partition(".")[0] for op in device.walk() if op is not device}
    assert inside == {"llvm", "nvvm"}


@pytest.mark.seed("lowering-overview", "target-before-serialization")
@pytest.mark.seed("target-and-debug-info", "diag-no-target", "consumer-serializer")
def test_without_its_target_a_kernel_is_not_written(monkeypatch):
    passes = [entry for entry in tileas_to_ll.PASSES if entry.name != "nv-tile-ir-convert-target-to-nvvm"]
    monkeypatch.setattr(tileas_to_ll, "PASSES", passes)
    with pytest.raises(InvalidInput, match="no target attribute"):
        tileas_to_ll.lower(text_format.parse(scheduled("softmax_f32", "sm_90")), Job(find_target("sm_90")))


@pytest.mark.seed("lowering-overview", "target-before-serialization")
@pytest.mark.seed("target-and-debug-info", "consumer-serializer")
def test_a_file_for_one_gpu_is_not_serialized_for_another():
    with pytest.raises(InvalidInput, match=r"sm_90 is serialized for sm_80|sm_90.*sm_80"):
        driver.lower(scheduled("softmax_f32", "sm_90"), "tileas", "ll", Job(find_target("sm_80")))
