"""The boundaries of the cascade: after each edge the dialect before it is gone, at every level and for every target."""

import re
import subprocess
import sys
from functools import cache

import pytest

from tests.examples.example_library import bytecode_of
from tileiras_build import driver
from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.ir.dialects.nv_tileas.ops import NOT_CONVERTED
from tileiras_build.ir.dialects.op_definition import define
from tileiras_build.pipeline import tile_ir_text_format, tileas_to_ll
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import find_target

KERNELS = ("softmax_f32", "matmul_f16_nt", "histogram_i32", "prefix_sum_f32", "gather_f32")
TARGETS = ("sm_80", "sm_90", "sm_120")


@cache
def stage(name: str, suffix: str, target: str = "sm_90", opt_level: int = 3) -> bytes:
    return driver.lower(bytecode_of(name), "tilebc", suffix, Job(find_target(target), opt_level))[f".{suffix}"]


def dialects(name: str, suffix: str, target: str) -> dict[str, set[str]]:
    """The operations of an artifact, by dialect."""
    found: dict[str, set[str]] = {}
    for op in tile_ir_text_format.parse(stage(name, suffix, target)).walk():
        found.setdefault(op.name.partition(".")[0], set()).add(op.name)
    return found


@pytest.mark.seed("lowering-overview", "no-cuda-tile", "role-cuda-tile")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_no_public_operation_survives_the_first_conversion(name, target):
    found = dialects(name, "tileaa", target)
    assert "cuda_tile" not in found and found["nv_tileaa"]


@pytest.mark.seed("lowering-overview", "no-tileaa", "role-tileaa", "contract-tileas")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_only_functions_are_left_of_tileaa(name, target):
    found = dialects(name, "tileas", target)
    assert found["nv_tileaa"] <= NOT_CONVERTED and found["nv_tileas"] and "cuda_tile" not in found


@pytest.mark.seed("lowering-overview", "contract-tileas")
@pytest.mark.parametrize("name", KERNELS)
def test_scheduled_tiles_carry_layouts(name):
    for op in tile_ir_text_format.parse(stage(name, "tileas")).walk():
        tiles = [result.type for result in op.results if result.type.name == "tensor"]
        assert all(tile.encoding.name == "cute.layout" for tile in tiles), op.name


@pytest.mark.seed("lowering-overview", "contract-llvm", "role-tileas", "role-llvm")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_llvm_reads_what_is_left(name, target):
    import llvmlite.binding as llvm

    text = stage(name, "ll", target).decode()
    # A dot before would be part of an instruction's name, such as atom.acq_rel.gpu.
    assert not re.search(r"(?<![\w.])(?:cuda_tile|nv_tileaa|nv_tileas|cute|cute_nvgpu|cutlass|gpu)\.", text)
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        module.verify()
        [kernel] = [function for function in module.functions if not function.is_declaration]
        assert kernel.name == name and b"nvvm.reqntid" in b" ".join(kernel.attributes)


@pytest.mark.seed("lowering-overview", "serializable")
def test_serialization_needs_no_tile_dialect(tmp_path):
    path = tmp_path / "kernel.ll"
    path.write_bytes(stage("softmax_f32", "ll"))
    program = f"""
import sys
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import lower
from tileiras_build.target.targets import find_target
assert ".entry softmax_f32" in lower(open({str(path)!r}).read(), Job(find_target("sm_90")))
assert not [name for name in sys.modules if name.startswith(("tileiras_build.ir.dialects", "xdsl"))]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.seed("lowering-overview", "option-level")
@pytest.mark.parametrize("name", KERNELS[:2])
def test_the_level_never_removes_a_stage(name):
    for level in range(4):
        tileaa, tileas = (
            tile_ir_text_format.parse(stage(name, suffix, opt_level=level)) for suffix in ("tileaa", "tileas")
        )
        assert not [op.name for op in tileaa.walk() if op.name.startswith("cuda_tile.")]
        assert not [
            op.name for op in tileas.walk() if op.name.startswith("nv_tileaa.") and op.name not in NOT_CONVERTED
        ]
        assert b"define ptx_kernel" in stage(name, "ll", opt_level=level)
    assert stage(name, "ptx", opt_level=0) != stage(name, "ptx", opt_level=3)


@pytest.mark.seed("lowering-overview", "option-target")
def test_the_target_selects_instructions():
    assert "ldmatrix" in stage("matmul_f16_nt", "ll", "sm_80").decode()
    first, second = (stage("softmax_f32", "tileas", target).decode() for target in ("sm_80", "sm_90"))
    assert "nv_tileaa.compute_capability = 80 : i32" in first and "nv_tileaa.compute_capability = 90 : i32" in second


@pytest.mark.seed("lowering-overview", "companions-legal")
def test_an_operation_that_no_later_pass_takes_is_named():
    module = tile_ir_text_format.parse(stage("softmax_f32", "tileas"))
    kernel = next(op for op in module.walk() if op.name == "nv_tileaa.func")
    probe = define("cute.probe", "", "", "an operation without a conversion", pure=False).make([], [])
    block = kernel.regions[0].block
    block.insert_op_before(probe, block.last_op)
    with pytest.raises(InternalError, match="cute.probe"):
        tileas_to_ll.lower(module, Job(find_target("sm_90")))


@pytest.mark.seed("lowering-overview", "contract-producer")
def test_a_producers_mistake_surfaces_in_its_own_terms():
    data = bytearray(bytecode_of("softmax_f32"))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(InvalidInput):
        driver.lower(bytes(data), "tilebc", "tileaa", Job(find_target("sm_90")))


@pytest.mark.seed("lowering-overview", "atom-witnesses")
@pytest.mark.parametrize(
    ("name", "target", "chosen", "plain", "instruction"),
    [
        ("matmul_f16_nt", "sm_80", 'copy_atom = "ldmatrix"', 'copy_atom = "ld.shared"', "ldmatrix"),
        ("matmul_bf16_nt_bf16", "sm_90", 'copy_atom = "stmatrix"', 'copy_atom = "st.shared"', "stmatrix"),
        ("matmul_f16_nt", "sm_80", "vector = 8 : i32", "vector = 4 : i32", "cp.async.cg.shared.global"),
    ],
)
def test_what_scheduling_chose_is_what_moves_the_data(name, target, chosen, plain, instruction):
    """The other choice, written into the scheduled text, makes the other code: nothing chooses again."""
    scheduled = stage(name, "tileas", target).decode()
    assert chosen in scheduled
    changed = driver.lower(scheduled.replace(chosen, plain).encode(), "tileas", "ll", Job(find_target(target)))[".ll"]
    assert instruction in stage(name, "ll", target).decode() and instruction not in changed.decode()


@pytest.mark.seed("lowering-overview", "kernel-spec-mirrored")
@pytest.mark.parametrize("target", TARGETS)
def test_kernels_say_what_they_are_for(target):
    module = tile_ir_text_format.parse(stage("softmax_f32", "tileas", target))
    [kernel] = [op for op in module.walk() if op.name == "nv_tileaa.func"]
    spec = kernel.attributes["nv_tileaa.target_spec"]
    assert spec == module.attributes["nv_tileaa.target_spec"] and spec.data == find_target(target).arch
