"""Functions with LLVM's ABI, kernels marked in two steps, and their shared memory."""

import json
import re

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.dialects.llvm import GlobalOp

from tests.examples.example_library import bytecode_of
from tests.pipeline.tileas_to_ll.modules import after, job, named, only
from tileiras_build import driver
from tileiras_build.core.errors import InternalError, InvalidInput, Unsupported
from tileiras_build.ir.dialects.nv_tileaa.kernel_spec import KernelSpecAttr
from tileiras_build.pipeline.opt import parse_module
from tileiras_build.pipeline.stages import STAGES

FUNCTIONS, ENTRY, SHARED = "convert-nv-tile-func-to-llvm", "convert-cute-kernel-to-nvvm", "emit-global-smem"
TARGET = "nv-tile-ir-convert-target-to-nvvm"


def function(attributes: str, arguments: str = "%p: !nv_tileaa.ptr<f32>, %n: i32", body: str = "") -> str:
    body = body or '"nv_tileaa.return"() : () -> ()'
    return f"""builtin.module attributes {{nv_tileaa.compute_capability = 90 : i32}} {{
      "nv_tileaa.func"() ({{ ^bb0({arguments}): {body} }}) {{sym_name = "k"{attributes}}} : () -> ()
    }}"""


def spec(text: str) -> str:
    return f", nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<{text}>"


def entry(attributes: str, *passes: str, target: str = "sm_90", **options):
    return only(after(function(attributes, **options), FUNCTIONS, *passes, target=target), "func.func")


# ---- signatures ------------------------------------------------------------------------------------
@pytest.mark.seed("lowering-overview", "func-bare-pointer", "abi-bare-pointer", "role-llvm")
def test_a_kernel_takes_bare_pointers():
    types = ("!nv_tileaa.ptr<f32>", "!nv_tileaa.memref<f16, [?, 64], [?, 1]>", "i32", "!nv_tileaa.mem_token")
    arguments = ", ".join(f"%{index}: {type}" for index, type in enumerate(types))
    kernel = entry(spec("numWarps=4"), arguments=arguments)
    assert str(kernel.function_type) == "(!llvm.ptr<1>, !llvm.ptr<1>, i32, i32) -> ()"
    assert kernel.body.block.arg_types == kernel.function_type.inputs.data


@pytest.mark.seed("lowering-overview", "func-helpers", "memref-descriptor")
def test_a_helper_takes_descriptors_and_returns_values():
    arguments = "%m: !nv_tileaa.memref<f16, [?], [1]>, %x: index"
    body = '"nv_tileaa.return"(%x, %m) : (index, !nv_tileaa.memref<f16, [?], [1]>) -> ()'
    helper = entry("", arguments=arguments, body=body)
    descriptor = "!llvm.struct<(!llvm.ptr<1>, !llvm.ptr<1>, i64, !llvm.array<1 x i64>, !llvm.array<1 x i64>)>"
    assert str(helper.function_type) == f"({descriptor}, i64) -> (i64, {descriptor})"
    [end] = named(helper, "func.return")
    assert tuple(end.operand_types) == helper.function_type.outputs.data
    assert not [key for key in helper.attributes if key.startswith(("nvvm.", "cute."))]


@pytest.mark.seed("lowering-overview", "diag-kernel-return")
def test_a_kernel_returns_nothing():
    body = '"nv_tileaa.return"(%n) : (i32) -> ()'
    with pytest.raises(InvalidInput) as caught:
        entry(spec("numWarps=4"), body=body)
    assert caught.value.message == "Kernel functions do not support return with operands"
    entry("", body=body)  # the same in a helper


EARLY = """"nv_tileas.if"(%c) ({ "nv_tileaa.return"(VALUES) : (TYPES) -> () }, { "nv_tileas.yield"() : () -> () })
      : (i1) -> ()
      "nv_tileaa.return"(VALUES) : (TYPES) -> ()"""


@pytest.mark.parametrize(("attributes", "values", "types"), [(spec("numWarps=4"), "", ""), ("", "%n", "i32")])
def test_a_return_from_inside_a_branch_verifies(attributes, values, types):
    body = EARLY.replace("VALUES", values).replace("TYPES", types)
    function = entry(attributes, arguments="%c: i1, %n: i32", body=body)  # verified
    assert len(named(function, "llvm.return")) == len(named(function, "func.return")) == 1


def test_a_return_from_inside_a_branch_gives_one_value():
    body = EARLY.replace("VALUES", "%n, %n").replace("TYPES", "i32, i32")
    with pytest.raises(Unsupported, match="early-return.*at most one value, not 2; return at the end"):
        entry("", arguments="%c: i1, %n: i32", body=body)


@pytest.mark.seed("lowering-overview", "func-bare-pointer")
def test_the_body_reads_arguments_through_casts():
    body = """%q = "nv_tileaa.addptr"(%p, %n) : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.ptr<f32>
      "nv_tileaa.return"() : () -> ()"""
    kernel = entry(spec("numWarps=1"), body=body)
    [advance] = named(kernel, "nv_tileaa.addptr")
    cast = advance.operands[0].owner
    assert cast.name == "builtin.unrealized_conversion_cast" and cast.operands[0] is kernel.body.block.args[0]
    assert advance.operands[1] is kernel.body.block.args[1]


# ---- kernel attributes -----------------------------------------------------------------------------
@pytest.mark.seed("lowering-overview", "entry-kernel", "entry-staged", "metadata-staged")
def test_the_marker_is_set_in_two_steps():
    first, second = entry(spec("numWarps=4")), entry(spec("numWarps=4"), ENTRY)
    assert "cute.kernel" in first.attributes and "nvvm.kernel" not in first.attributes
    assert "nvvm.kernel" in second.attributes and "cute.kernel" not in second.attributes


@pytest.mark.seed("lowering-overview", "entry-staged", "metadata-staged")
def test_the_final_marker_needs_final_arguments():
    text = """builtin.module { func.func @k(%m : memref<8xf32>) attributes {cute.kernel, nvvm.reqntid = 32 : i32} {
      func.return } }"""
    with pytest.raises(InternalError, match="memref<8xf32>, which is not LLVM's"):
        after(text, ENTRY)
    after(text.replace("memref<8xf32>", "!llvm.ptr"), ENTRY)


@pytest.mark.seed("lowering-overview", "entry-required")
@pytest.mark.parametrize("marker", ["cute.kernel", "tile.kernel"])
def test_the_final_marker_needs_an_earlier_one(marker):
    text = "builtin.module { func.func @k(%x : i32) attributes {MARKER nvvm.reqntid = 32 : i32} { func.return } }"
    attributes = only(after(text.replace("MARKER", f"{marker},"), ENTRY), "func.func").attributes
    assert "nvvm.kernel" in attributes and marker not in attributes
    with pytest.raises(
        InternalError, match="entry-unmarked.*@k has launch bounds, but neither cute.kernel nor tile.ke"
    ):
        after(text.replace("MARKER", ""), ENTRY)
    assert not only(after(text.replace("MARKER nvvm.reqntid = 32 : i32", ""), ENTRY), "func.func").attributes


@pytest.mark.seed("lowering-overview", "entry-reqntid")
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_threads_are_32_for_each_warp(warps):
    assert entry(spec(f"numWarps={warps}")).attributes["nvvm.reqntid"] == IntegerAttr(32 * warps, i32)
    final = entry(spec(f"numWarps={warps}"), ENTRY).attributes["nvvm.reqntid"]
    assert str(final) == f"array<i32: {32 * warps}, 1, 1>"


@pytest.mark.seed("lowering-overview", "entry-minctasm")
def test_resident_blocks_come_from_the_specification():
    assert entry(spec("numWarps=4")).attributes["nvvm.minctasm"] == IntegerAttr(1, i32)
    assert entry(spec("numWarps=4, numCtas=2")).attributes["nvvm.minctasm"] == IntegerAttr(2, i32)


@pytest.mark.seed("lowering-overview", "entry-cluster-dim", "entry-blocksareclusters")
@pytest.mark.parametrize(
    ("target", "cluster", "given"),
    [("sm_90", "2, 1, 1", True), ("sm_100", "2, 4, 1", True), ("sm_90", "1, 1, 1", False), ("sm_89", "2, 1, 1", False)],
)
def test_clusters_where_the_target_has_them(target, cluster, given):
    attributes = entry(spec(f"numWarps=4, clusterDim=[{cluster}]"), ENTRY, target=target).attributes
    assert ("nvvm.cluster_dim" in attributes) == ("nvvm.blocksareclusters" in attributes) == given
    if given:
        assert str(attributes["nvvm.cluster_dim"]) == f"array<i32: {cluster}>"


@pytest.mark.seed("lowering-overview", "entry-maxnreg")
def test_a_register_limit_where_one_is_given():
    assert "nvvm.maxnreg" not in entry(spec("numWarps=4")).attributes
    assert entry(spec("numWarps=4, maxRegisters=96")).attributes["nvvm.maxnreg"] == IntegerAttr(96, i32)


@pytest.mark.parametrize(
    ("warps", "ctas", "limit"), [(8, 1, 255), (9, 1, 168), (12, 1, 168), (17, 1, 96), (9, 2, 96), (5, 2, 168)]
)
def test_no_thread_has_more_registers_than_its_partition_holds(warps, ctas, limit):
    """ptxas gives as many where they are asked for, and no GPU starts the kernel."""
    kernel = entry(f", schedule = {{occupancy = {ctas} : i32}}" + spec(f"numWarps={warps}"))
    assert kernel.attributes["nvvm.maxnreg"] == IntegerAttr(limit, i32)


@pytest.mark.parametrize(
    ("attributes", "limit"),
    [
        ("shared_bytes = 115712 : i32", 128),
        ("shared_bytes = 115713 : i32", 255),
        ("shared_bytes = 115713 : i32, partition_registers = array<i32: 24, 104>", 128),
    ],
)
def test_registers_are_limited_for_the_ctas_that_shared_memory_holds(attributes, limit):
    kernel = entry(f", schedule = {{occupancy = 2 : i32}}, {attributes}" + spec("numWarps=8"))
    assert kernel.attributes["nvvm.maxnreg"] == IntegerAttr(limit, i32)


@pytest.mark.seed("lowering-overview", "entry-grid-constant")
def test_marks_of_arguments_become_nvvms():
    marks = ", arg_attrs = [{cute_nvgpu.grid_constant, llvm.align = 64 : i64}, {}]"
    first, second = entry(spec("numWarps=4") + marks), entry(spec("numWarps=4") + marks, ENTRY)
    assert list(first.arg_attrs.data[0].data) == ["cute_nvgpu.grid_constant", "llvm.align"]
    assert list(second.arg_attrs.data[0].data) == ["nvvm.grid_constant", "llvm.align"]
    assert not second.arg_attrs.data[1].data


def test_a_specification_checks_itself():
    bad = {"clusterDim=[3, 1, 1]": "extents", "clusterDim=[8, 4, 1]": "32 blocks", "numWarps=0": "warp"}
    for text, reason in bad.items():
        with pytest.raises(InvalidInput, match=reason):
            parse_module(function(spec(text)))
    assert str(KernelSpecAttr.of(8, (2, 1, 1))) == "#nv_tileaa.kernel_spec<numWarps=8, clusterDim=[2, 1, 1], numCtas=1>"


# ---- shared memory ---------------------------------------------------------------------------------
@pytest.mark.seed("lowering-overview", "global-smem")
def test_shared_memory_is_declared_where_asked_for():
    module = after(function(spec("numWarps=4") + ", shared_bytes = 4096 : i32"), FUNCTIONS, SHARED)
    [variable] = [op for op in module.walk() if isinstance(op, GlobalOp)]
    assert variable is module.body.block.first_op
    assert variable.sym_name.data == "global_smem" and variable.linkage.linkage.data == "internal"
    assert str(variable.global_type) == "!llvm.array<4096 x i8>" and variable.addr_space.value.data == 3
    assert variable.alignment.value.data % 16 == 0
    assert not named(after(function(spec("numWarps=4")), FUNCTIONS, SHARED), "llvm.mlir.global")


@pytest.mark.seed("lowering-overview", "global-smem")
def test_a_symbol_that_is_there_is_kept():
    text = function(spec("numWarps=4") + ", shared_bytes = 64 : i32")
    once = after(text, FUNCTIONS, SHARED)
    assert str(after(text, FUNCTIONS, SHARED, SHARED)) == str(once)
    small = str(once).replace("64 x i8", "32 x i8")
    with pytest.raises(InternalError, match="32 bytes, but a kernel needs 64"):
        after(small, SHARED)


# ---- in the pipeline -------------------------------------------------------------------------------
@pytest.mark.seed("lowering-overview", "sequence", "global-smem", "role-llvm")
def test_the_pipeline_runs_them_in_order():
    [edge] = [stage for stage in STAGES if stage.name == "ll"]
    names = [entry.name for entry in edge.passes]
    assert names[:3] == [FUNCTIONS, ENTRY, SHARED] and names[-2:] == [TARGET, "convert-debuginfo-to-llvm"]
    assert names.index(SHARED) < names.index("tileas-decompose-prints") < names.index("convert-tile-as-to-llvm")


@pytest.mark.seed("lowering-overview", "entry-kernel", "entry-reqntid", "global-smem", "entry-maxnreg")
def test_a_real_kernel(tmp_path):
    tileas = driver.lower(bytecode_of("matmul_f16_nt"), "tilebc", "tileas", job())[".tileas"].decode()
    kernel = only(after(tileas, FUNCTIONS, ENTRY, SHARED, TARGET), "func.func")
    assert "nvvm.kernel" in kernel.attributes and isinstance(kernel, func.FuncOp)
    warps = sum(
        kernel.attributes[key].value.data for key in ("num_warps", "producer_warps") if key in kernel.attributes
    )
    ll = driver.lower(tileas.encode(), "tileas", "ll", job())[".ll"].decode()
    assert f'"nvvm.reqntid"="{32 * warps}"' in ll
    size = kernel.attributes["shared_bytes"].value.data
    # More than the 48 KB that every kernel may take: the launch asks for it.
    assert size > 48 * 1024 and "@global_smem = external addrspace(3) global [0 x i8], align 1024" in ll
    assert f'shared_memory\\22: {{\\22static\\22: 0, \\22dynamic\\22: {size}}}' in ll


@pytest.mark.seed(
    "lowering-overview",
    "entry-minctasm",
    "entry-cluster-dim",
    "entry-blocksareclusters",
    "entry-reqntid",
    "option-target",
)
def test_a_specification_reaches_the_kernel():
    """A .tileas whose kernel asks for clusters: PTX that ptxas takes, and a manifest that says so."""
    text = driver.lower(bytecode_of("softmax_f32"), "tilebc", "tileas", job())[".tileas"].decode()
    warps = int(re.search(r"num_warps = (\d+) : i32", text)[1])
    asked = f"#nv_tileaa.kernel_spec<numWarps={warps}, clusterDim=[2, 1, 1], numCtas=2>"
    text = text.replace("num_warps = ", f"nv_tileaa.kernel_spec = {asked}, num_warps = ", 1)
    ptx = driver.lower(text.encode(), "tileas", "ptx", job())[".ptx"].decode()
    for directive in (f".reqntid {32 * warps}", ".minnctapersm 2", ".reqnctapercluster 2, 1, 1", ".blocksareclusters"):
        assert directive in ptx
    files = driver.lower(ptx.encode(), "ptx", "cubin", job())
    assert json.loads(files[".json"])["kernels"]["softmax_f32"]["cluster"] == [2, 1, 1]
