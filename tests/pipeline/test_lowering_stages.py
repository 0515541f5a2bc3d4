"""What each conversion of the cascade takes and leaves, pass by pass, as a kernel goes from bytecode to LLVM."""

import json
import re

import pytest
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.llvm import is_compatible_type

from tests.examples.example_library import bytecode_of
from tileiras_build import driver
from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.ir.bytecode import read_module
from tileiras_build.pipeline import opt, tileaa_to_tileas, tileas_to_ll, tilebc_to_tileaa
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tileaa_to_tileas.convert_tileaa_to_tileas import ConvertTileAAToTileAS
from tileiras_build.pipeline.tileas_to_ll.attach_nvvm_target import AttachNVVMTarget, target_of
from tileiras_build.pipeline.tileas_to_ll.convert_cute_to_llvm import ConvertCuteAndCuteNvgpuToLLVM
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm import ConvertNVGPUAndGPUToNVVM
from tileiras_build.pipeline.tileas_to_ll.convert_tile_as_to_llvm import ConvertTileASToLLVM
from tileiras_build.pipeline.tileas_to_ll.convert_tile_func_to_llvm import ConvertTileFuncToLLVM
from tileiras_build.pipeline.tileas_to_ll.debug.translate_debug_info import TranslateDebugInfo
from tileiras_build.pipeline.tilebc_to_tileaa.convert_cudatile_to_tileaa import ConvertCudaTileToTileAA
from tileiras_build.target.targets import TARGETS, find_target

# Each with a kernel and a target for which it has something to do.
CONVERSIONS = {
    ConvertCudaTileToTileAA: ("softmax_f32", "sm_80"),
    ConvertTileAAToTileAS: ("softmax_f32", "sm_80"),
    ConvertTileFuncToLLVM: ("softmax_f32", "sm_80"),
    ConvertTileASToLLVM: ("softmax_f32", "sm_80"),
    ConvertCuteAndCuteNvgpuToLLVM: ("matmul_f16_nt", "sm_80"),
    ConvertNVGPUAndGPUToNVVM: ("matmul_f16_nt", "sm_90"),
}
EIGHT = (*CONVERSIONS, AttachNVVMTarget, TranslateDebugInfo)


def passes_of(job: Job) -> list:
    return [*tilebc_to_tileaa.PASSES, *tileaa_to_tileas.passes_for(job), *tileas_to_ll.PASSES]


def module_before(stage, name: str, target: str):
    """A kernel as ``stage`` gets it."""
    job = Job(find_target(target))
    passes = passes_of(job)
    return run_passes(passes[: passes.index(stage)], read_module(bytecode_of(name)), job)


def module_after(stage, name: str, target: str):
    return run_passes([stage], module_before(stage, name, target), Job(find_target(target)))


def names(module) -> list[str]:
    return [op.name for op in module.walk()]


def dialects(module) -> set[str]:
    return {name.partition(".")[0] for name in names(module)}


def types(module):
    for op in module.walk():
        yield from (*op.operand_types, *op.result_types)
        yield from (type for region in op.regions for block in region.blocks for type in block.arg_types)


# ---- one shape for all -----------------------------------------------------------------------------
@pytest.mark.seed("lowering-overview", "stage-shape")
@pytest.mark.parametrize("stage", CONVERSIONS, ids=lambda stage: stage.name)
def test_a_conversion_says_what_it_leaves_illegal_and_is_held_to_it(stage):
    name, target = CONVERSIONS[stage]
    module = module_before(stage, name, target)
    assert any(entry.startswith(tuple(stage.illegal_ops)) for entry in names(module))
    left = names(run_passes([stage], module, Job(find_target(target))))
    assert not any(entry.startswith(tuple(stage.illegal_ops)) for entry in left)

    class Idle(stage):
        def run(self, module, job):
            """Converts nothing."""

    with pytest.raises(InternalError, match=f"pass-illegal-op.* survived pass {stage.name}, which removes it"):
        run_passes([Idle], module_before(stage, name, target), Job(find_target(target)))


@pytest.mark.seed("lowering-overview", "stage-shape", "type-functors")
def test_types_go_with_their_operations():
    public = module_after(ConvertCudaTileToTileAA, "softmax_f32", "sm_80")
    assert not [type for type in types(public) if type.name.startswith("cuda_tile.")]
    function = next(
        op for op in module_after(ConvertTileFuncToLLVM, "softmax_f32", "sm_80").walk() if op.name == "func.func"
    )
    assert all(map(is_compatible_type, function.body.block.arg_types))
    final = module_after(ConvertNVGPUAndGPUToNVVM, "matmul_f16_nt", "sm_90")
    assert all(map(is_compatible_type, types(final)))


# ---- the sequence ----------------------------------------------------------------------------------
@pytest.mark.seed("lowering-overview", "sequence")
@pytest.mark.parametrize(
    "options", [{}, {"opt_level": 0}, {"opt_level": 0, "debug": True}, {"strategy": "none"}], ids=str
)
def test_eight_conversions_run_once_each_in_their_order(options, monkeypatch, capfd):
    """Seen from outside: the trace of a production build."""
    monkeypatch.setenv("TILEIRAS_DEBUG", "2")
    driver.lower(bytecode_of("softmax_f32"), "tilebc", "ll", Job(find_target("sm_90"), **options))
    ran = re.findall(r"ms  pass  (\S+)$", capfd.readouterr().err, re.M)
    wanted = [entry.name for entry in EIGHT]
    assert [name for name in ran if name in wanted] == wanted
    assert ran[0] == wanted[0] and ran[-1] == wanted[-1]


@pytest.mark.seed("lowering-overview", "sequence", "target-last")
@pytest.mark.parametrize(("name", "target"), [("softmax_f32", "sm_80"), ("matmul_f16_nt", "sm_90")])
def test_the_target_is_attached_to_lowered_code(name, target):
    module = module_before(AttachNVVMTarget, name, target)
    assert dialects(module) == {"builtin", "gpu", "llvm", "nvvm"}
    [device] = module.body.block.ops
    assert device.name == "gpu.module" and "nvvm.target" not in device.attributes


@pytest.mark.seed("lowering-overview", "func-helpers", "func-bare-pointer", "sequence")
def test_functions_are_converted_before_bodies():
    module = module_before(ConvertTileASToLLVM, "softmax_f32", "sm_80")
    assert "nv_tileaa.func" not in names(module) and "nv_tileas.reduce" in names(module)
    assert {"func.func", "func.return"} <= set(names(module))


# ---- hand-offs -------------------------------------------------------------------------------------
@pytest.mark.seed("lowering-overview", "tileas-preserves")
@pytest.mark.parametrize("name", ["softmax_f32", "histogram_i32"])
def test_the_second_conversion_leaves_arithmetic_and_functions_alone(name):
    before = names(module_before(ConvertTileAAToTileAS, name, "sm_90"))
    after = names(module_after(ConvertTileAAToTileAS, name, "sm_90"))
    kept = ("arith.", "math.", "builtin.", "nv_tileaa.func", "nv_tileaa.return")
    assert [entry for entry in before if entry.startswith(kept)] == [entry for entry in after if entry.startswith(kept)]
    renamed = [entry for entry in before if not entry.startswith(kept)]
    assert [entry.replace("nv_tileaa.", "nv_tileas.") for entry in renamed] == [
        entry for entry in after if not entry.startswith(kept)
    ]


@pytest.mark.seed("lowering-overview", "tileas-introduces", "handoff-tileas")
def test_scheduled_kernels_have_layouts_pipelines_and_tensor_maps():
    scheduled = list(module_before(ConvertTileFuncToLLVM, "matmul_f16_nt", "sm_90").walk())
    constant = next(op for op in scheduled if op.name == "nv_tileas.splat")
    assert constant.result.type.encoding.name == "cute.layout"
    [pipeline] = [op for op in scheduled if op.name == "nv_tileas.async.pipeline.create"]
    loads = [op for op in scheduled if op.name == "nv_tileas.async.tiled_tma_load"]
    assert len(loads) == 2 and {load.pipeline for load in loads} == {pipeline.result}
    maps = [op for op in scheduled if op.name == "nv_tileas.make_tiled_tma_desc"]
    assert {load.desc for load in loads} == {op.result for op in maps}
    assert all({"dims", "box", "swizzle_mode"} <= op.attributes.keys() for op in maps)
    [kernel] = [op for op in scheduled if op.name == "nv_tileaa.func"]
    assert {"num_warps", "producer_warps", "shared_bytes"} <= kernel.attributes.keys()


@pytest.mark.seed("lowering-overview", "phase-5-cute", "companion-cute", "role-companions", "handoff-llvm")
@pytest.mark.parametrize(
    ("target", "atoms", "instructions"),
    [
        ("sm_80", {"cute_nvgpu.arch.mma.SM80"}, {"nvvm.mma.sync.atom"}),
        (
            "sm_100",
            {"cute_nvgpu.arch.mma.SM100.umma", "cute_nvgpu.arch.copy.SM100.tmem_load"},
            {"nvvm.tcgen05.mma", "nvvm.tcgen05.ld"},
        ),
    ],
)
def test_atoms_of_a_kernel_are_left_for_the_companion_pass(target, atoms, instructions):
    before = set(names(module_before(ConvertCuteAndCuteNvgpuToLLVM, "matmul_f16_nt", target)))
    after = set(names(module_after(ConvertCuteAndCuteNvgpuToLLVM, "matmul_f16_nt", target)))
    assert atoms <= before and instructions.isdisjoint(before)
    assert instructions <= after and not any(name.startswith(("cute.", "cute_nvgpu.")) for name in after)


@pytest.mark.seed("lowering-overview", "phase-4-bulk", "phase-6-async")
@pytest.mark.parametrize(
    ("tile", "thread", "final"),
    [
        ("nv_tileas.async.tiled_tma_load", "nvgpu.tma.async.load", "nvvm.cp.async.bulk.tensor.shared.cluster.global"),
        ("nv_tileas.async.pipeline.create", "nvgpu.mbarrier.init", "nvvm.mbarrier.init.shared"),
        ("nv_tileas.async.pipeline.producer_acquire", "nvgpu.mbarrier.arrive.expect_tx", "nvvm.mbarrier.arrive.expect_tx.shared"),
        ("nv_tileas.async.pipeline.consumer_wait", "nvgpu.mbarrier.try_wait.parity", "nvvm.mbarrier.try_wait.parity.shared"),
        ("nv_tileas.async.pipeline.consumer_release", "nvgpu.mbarrier.arrive", "nvvm.mbarrier.arrive"),
    ],
)  # fmt: skip
def test_what_copies_and_pipelines_become(tile, thread, final):
    seen = [
        set(names(module_before(stage, "matmul_f16_nt", "sm_90")))
        for stage in (ConvertTileASToLLVM, ConvertNVGPUAndGPUToNVVM, AttachNVVMTarget)
    ]
    assert [[name in found for name in (tile, thread, final)] for found in seen] == [
        [True, False, False], [False, True, False], [False, False, True],
    ]  # fmt: skip


@pytest.mark.seed("lowering-overview", "phase-8-casts")
def test_bridging_casts_are_gone_with_the_last_conversion():
    cast = "builtin.unrealized_conversion_cast"
    assert cast in names(module_before(ConvertNVGPUAndGPUToNVVM, "matmul_f16_nt", "sm_90"))
    assert cast not in names(module_after(ConvertNVGPUAndGPUToNVVM, "matmul_f16_nt", "sm_90"))


@pytest.mark.seed("lowering-overview", "contract-companion", "handoff-llvm", "role-gpu")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("name", ["softmax_f32", "matmul_f16_nt"])
def test_before_serialization_there_is_one_target_and_nothing_but_llvm_and_nvvm(name, target):
    module = module_after(TranslateDebugInfo, name, target)
    [device] = module.body.block.ops
    assert device.name == "gpu.module" and target_of(device).chip.data == target
    assert len(device.attributes["nvvm.target"].data) == 1
    assert {name.partition(".")[0] for name in names(device)[1:]} == {"llvm", "nvvm"}


@pytest.mark.seed("lowering-overview", "contract-companion", "target-before-serialization")
def test_without_its_target_a_kernel_is_not_written(monkeypatch):
    rest = tuple(entry for entry in tileas_to_ll.PASSES if entry is not AttachNVVMTarget)
    monkeypatch.setattr(tileas_to_ll, "PASSES", rest)
    with pytest.raises(InvalidInput, match="no target attribute"):
        driver.lower(bytecode_of("softmax_f32"), "tilebc", "ll", Job(find_target("sm_90")))


# ---- the ABI ---------------------------------------------------------------------------------------
@pytest.mark.seed("lowering-overview", "abi-beside-pointers")
def test_sizes_strides_and_launches_are_beside_bare_pointers():
    """A matrix of the program is a pointer, two sizes and its strides, each a parameter; the rest are attributes."""
    [function] = [
        op for op in module_after(ConvertTileFuncToLLVM, "softmax_f32", "sm_90").walk() if op.name == "func.func"
    ]
    sizes = [op for op in function.walk() if op.name == "nv_tileas.make_memref"]
    assert isinstance(function.function_type, FunctionType)
    inputs = [str(type) for type in function.function_type.inputs]
    assert inputs.count("!llvm.ptr<1>") == len(sizes) and set(inputs) == {"!llvm.ptr<1>", "i32"}
    assert {"nvvm.reqntid", "nvvm.minctasm"} <= function.attributes.keys()
    files = driver.lower(bytecode_of("softmax_f32"), "tilebc", "cubin", Job(find_target("sm_90")))
    kernel = json.loads(files[".json"])["kernels"]["softmax_f32"]
    kinds = {"pointer": "!llvm.ptr<1>", "i32": "i32"}
    assert [kinds[parameter["kind"]] for parameter in kernel["params"]] == inputs
    assert kernel["threads_per_cta"] == function.attributes["nvvm.reqntid"].value.data


# ---- provenance and options ------------------------------------------------------------------------
GATED = """gpu.module @m {
  gpu.func @k(%x: i32, %s: memref<8x8xf16, 3>, %i: index) -> i32 {
    %b = gpu.block_id x
    gpu.barrier
    %v = nvgpu.ldmatrix %s[%b, %i] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, 3> -> vector<1x2xf16>
    %r = gpu.subgroup_reduce add %x uniform : (i32) -> i32
    gpu.return %r : i32
  }
}"""


@pytest.mark.seed("lowering-overview", "provenance")
def test_patterns_are_the_same_for_all_targets():
    """What differs between GPUs and between kernels and functions is asked of the target and of the converter."""
    passes = [ConvertNVGPUAndGPUToNVVM.name]
    assert len({opt.run(GATED, passes, sm=name) for name in TARGETS}) == 1


@pytest.mark.seed("lowering-overview", "option-ptx-version")
@pytest.mark.parametrize("name", ["sm_80", "sm_90", "sm_100", "sm_107"])
def test_the_target_names_the_version_of_ptx(name):
    target = find_target(name)
    ll, ptx = (driver.lower(bytecode_of("softmax_f32"), "tilebc", suffix, Job(target)) for suffix in ("ll", "ptx"))
    assert f'"target-features"="{target.llvm_features}"'.encode() in ll[".ll"] and "+ptx" in target.llvm_features
    assert b".version %d.%d\n" % target.ptx_version in ptx[".ptx"]


@pytest.mark.seed("lowering-overview", "target-before-serialization")
@pytest.mark.seed("target-and-debug-info", "consumer-serializer")
def test_a_file_for_one_gpu_is_not_serialized_for_another():
    made = driver.lower(bytecode_of("softmax_f32"), "tilebc", "tileas", Job(find_target("sm_90")))[".tileas"]
    with pytest.raises(InvalidInput, match=r"sm_90 is serialized for sm_80"):
        driver.lower(made, "tileas", "ll", Job(find_target("sm_80")))
