"""What holds of every rewrite: what is illegal, what types values have, and how the instruction table spells what comes out."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects import arith, cf, llvm, math
from xdsl.dialects.builtin import IntegerType, StringAttr, i1, i32, i64
from xdsl.dialects.gpu import YieldOp
from xdsl.ir import BlockArgument, Operation
from xdsl.utils.exceptions import VerifyException

from tests.golden import GoldenCase, split_file
from tests.ir.dialects.nvvm.nvvm_kernels import translate
from tileiras_build.core.errors import InvalidInput, TileirasError, Unsupported
from tileiras_build.ir.dialects import gpu_ext as gpu
from tileiras_build.ir.dialects.gpu_launch_func import LaunchFuncOp
from tileiras_build.ir.dialects.nvgpu.types import MBarrierTokenType
from tileiras_build.ir.dialects.nvvm import ops_copy, ops_matrix, ops_mbarrier, ops_thread
from tileiras_build.ir.dialects.nvvm.intrinsic_or_inline_asm import INSTRUCTION_TABLE
from tileiras_build.ir.dialects.nvvm.llvm_lowering import MAPPING, instruction_row
from tileiras_build.ir.dialects.nvvm.tma_reduce import TensorMapReplaceOp
from tileiras_build.libdevice import find_libdevice
from tileiras_build.libdevice.split_library import Library
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.opt import find_pass, parse_module, run
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm import passes
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm.arith_to_llvm import REMAPPED
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm.libdevice_math import CALLEES, FAST
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm.llvm_type_helpers import convert_type
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm.rewriter import REWRITES
from tileiras_build.target.targets import find_target

DOCUMENT = "nvgpu-gpu-to-nvvm"
PASS = "convert-nvgpu-and-gpu-to-nvvm"
BAR = "!nvgpu.mbarrier.group<memorySpace = 3 : i64>"
MAP = (
    "!nvgpu.tensormap.descriptor<tensor = memref<2x4x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, "
    "interleave = none>"
)
DESCRIPTOR = "!nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>"


@cache
def cases() -> list[GoldenCase]:
    """The golden tests of this pass that are accepted."""
    files = sorted(Path(__file__).parent.glob("*.mlir"))
    found = [case for path in files for case in split_file(path.read_text())[1]]
    return [case for case in found if case.passes == (PASS,) and "error[" not in case.expected]


@pytest.mark.seed(DOCUMENT, "assert-unmaterialized")
@pytest.mark.parametrize("text", ["half a \ud83d pair", "\udc80"])
def test_an_assertion_that_no_string_can_be_made_of_is_not_legalized(text):
    module = parse_module('gpu.module @m { gpu.func @k(%c: i1) kernel {\ncf.assert %c, "x"\ngpu.return } }')
    [found] = (op for op in module.walk() if isinstance(op, cf.AssertOp))
    found.properties["msg"] = StringAttr(text)
    message = "failed to legalize operation 'cf.assert' that was explicitly marked illegal"
    with pytest.raises(Unsupported, match=message):
        find_pass(PASS)().run(module, Job(find_target("90")))


def operations(arguments: str, body: str) -> list[Operation]:
    """What a kernel of some operations becomes, in order."""
    module = parse_module(f"gpu.module @m {{ gpu.func @k({arguments}) kernel {{\n{body}\ngpu.return }} }}")
    find_pass(PASS)().run(module, Job(find_target("90")))
    module.verify()
    return list(module.walk())


def the(kind: type[Operation], found: list[Operation]) -> Operation:
    [only] = [op for op in found if isinstance(op, kind)]
    return only


# Legality -------------------------------------------------------------------------------------------------------------

# A launch is code of the host, arithmetic is legal.
passes.import_rewrites()
ROOTS = sorted(REWRITES.keys() - {LaunchFuncOp.name} - {kind.name for kind in REMAPPED})


@pytest.fixture
def without(monkeypatch):
    """Takes the rewrite of an operation away."""

    def remove(name: str) -> None:
        monkeypatch.delitem(REWRITES, name)
        passes.role_of.cache_clear()

    yield remove
    passes.role_of.cache_clear()


@pytest.mark.seed(DOCUMENT, "violation-uniform", "legality")
@pytest.mark.parametrize("root", ROOTS)
def test_an_operation_that_nothing_converts_fails_by_its_name(root, without):
    name = re.compile(rf'\b{re.escape(root)}"?[ (\n]')
    source = next(case.source for case in cases() if name.search(case.source) and "func.func" not in case.source)
    without(root)
    message = f"failed to legalize operation '{root}' that was explicitly marked illegal"
    with pytest.raises(TileirasError, match=re.escape(message)):
        find_pass(PASS)().run(parse_module(source), Job(find_target("100")))


@pytest.mark.seed(DOCUMENT, "legality")
def test_the_container_and_its_yield_are_legal():
    found = {passes.role_of(kind) for kind in (gpu.GPUModuleOp, YieldOp)}
    assert found == {None} and passes.role_of(gpu.ReturnOp) is not None
    text = (
        "gpu.module @m { llvm.func @k() {\n"
        '"scf.execute_region"() ({ "gpu.yield"() : () -> () }) : () -> ()\nllvm.return } }'
    )
    module = parse_module(text)
    find_pass(PASS)().run(module, Job(find_target("90")))
    assert "gpu.yield" in {op.name for op in module.walk()}


@pytest.mark.seed(DOCUMENT, "legality")
def test_math_of_libdevice_and_assertions_are_illegal():
    assert {passes.role_of(kind) for kind in CALLEES} == {passes.MATH}
    assert passes.role_of(cf.AssertOp) == passes.ROOT and passes.role_of(math.CtPopOp) is None
    with pytest.raises(Unsupported, match=r"'math.sin' op has no libdevice function for 'f128'"):
        operations("%x: f128", "%r = math.sin %x : f128")


@pytest.mark.seed(DOCUMENT, "math-division")
def test_libdevice_has_one_fast_division():
    symbols = Library.from_file(Path(find_libdevice())).symbols
    assert "__nv_unsafe_divf" not in symbols and "__nv_fast_fdividef" in symbols
    called = the(llvm.CallOp, operations("%x: f32", "%r = arith.divf %x, %x fastmath<fast> : f32"))
    assert called.callee.root_reference.data == FAST[arith.DivfOp][1] == "__nv_fast_fdividef"
    plain = operations("%x: f32", "%r = arith.divf %x, %x : f32")
    assert llvm.FDivOp in map(type, plain)


@pytest.mark.seed(DOCUMENT, "arith-bank")
def test_every_row_of_arithmetic_is_shown():
    shown = {op.name for case in cases() for op in parse_module(case.source).walk()}
    assert {kind.name for kind in REMAPPED} - shown == set()


# Values ---------------------------------------------------------------------------------------------------------------

QUERIES = [f"gpu.{name} x" for name in (
    "thread_id", "block_id", "block_dim", "grid_dim", "cluster_id", "cluster_dim", "cluster_block_id",
)]  # fmt: skip


@pytest.mark.seed(DOCUMENT, "index-cast")
@pytest.mark.parametrize("query", [*QUERIES, "gpu.subgroup_size : index", "gpu.lane_id"])
def test_a_query_is_one_read_and_one_cast(query):
    found = operations("%p: memref<8xf32>", f"%i = {query}\n%v = memref.load %p[%i] : memref<8xf32>")
    read = next(op for op in found if isinstance(op, ops_thread.ReadRegister))
    [cast] = [use.operation for use in read.results[0].uses]
    assert read.results[0].type == i32 and read.next_op is cast
    assert [type(op) for op in found].count(arith.IndexCastOp) == 1 and isinstance(cast, arith.IndexCastOp)


@pytest.mark.seed(DOCUMENT, "mbarrier-token")
def test_an_arrival_gives_a_token_of_64_bits():
    line = f"%z = arith.constant 0 : index\n%t = nvgpu.mbarrier.arrive %b[%z] : {BAR} -> !nvgpu.mbarrier.token"
    arrive = the(ops_mbarrier.MBarrierArriveSharedOp, operations(f"%b: {BAR}", line))
    assert arrive.res.type == i64 == convert_type(MBarrierTokenType())


@pytest.mark.seed(DOCUMENT, "mbarrier-parity-types", "parity-integer")
@pytest.mark.parametrize("ticks", [True, False])
def test_an_attempt_takes_the_parity_as_it_is(ticks):
    line = f"nvgpu.mbarrier.try_wait.parity %b[%n], %p{', %n' if ticks else ''} : {BAR} -> i1"
    found = operations(f"%b: {BAR}, %p: i1, %n: index", f"%done = {line}")
    wait = the(ops_mbarrier.MBarrierTryWaitParitySharedOp, found)
    assert [value.type for value in wait.operands[1:]] == [i1, i32][: 1 + ticks]
    assert wait.res is not None and wait.res.type == i1 and wait.phase.name_hint == "p"
    assert isinstance(wait.phase, BlockArgument)


@pytest.mark.seed(DOCUMENT, "async-wait-count")
@pytest.mark.parametrize(("attributes", "count"), [("", 0), *((f" {{numGroups = {n} : i32}}", n) for n in range(4))])
def test_a_wait_lets_as_many_groups_be_in_flight(attributes, count):
    text = f"%g = nvgpu.device_async_create_group\nnvgpu.device_async_wait %g{attributes}"
    wait = the(ops_copy.CpAsyncWaitGroupOp, operations("", text))
    assert wait.n.value.data == count


@pytest.mark.seed(DOCUMENT, "ldmatrix-verbatim")
@pytest.mark.parametrize("transpose", ["true", "false"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_shape_and_transpose_pass_as_they_are(count, transpose):
    line = (
        f"%v = nvgpu.ldmatrix %s[%i, %i] {{numTiles = {count} : i32, transpose = {transpose}}} : "
        f"memref<8x64xf16, 3> -> vector<{count}x2xf16>"
    )
    load = the(ops_matrix.LdMatrixOp, operations("%s: memref<8x64xf16, 3>, %i: index", line))
    trans = ".trans" if transpose == "true" else ""
    assert str(load.shape) == "#nvvm.ld_st_matrix_shape<m = 8, n = 8>" and load.num.value.data == count
    assert instruction_row(load).intrinsic(load) == f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{trans}.b16.p3"


# TMA ------------------------------------------------------------------------------------------------------------------

ARGUMENTS = f"%m: {MAP}, %b: {BAR}, %x: index, %k: i16, %h: i64"
OPTIONS = ["", "multicast_mask = %k", "l2_cache_hint = %h", "multicast_mask = %k l2_cache_hint = %h"]


def _load(options: str, space: int = 3, more: str = "") -> ops_copy.TensorLoadOp:
    place = f"memref<2x4x64xf16, {space}>"
    line = f"nvgpu.tma.async.load %m[%x, %x, %x], %b[%x] to %s {options} : {MAP}, {BAR} -> {place}"
    return the(ops_copy.TensorLoadOp, operations(f"{ARGUMENTS}, %s: {place}{more}", line))


@pytest.mark.seed(DOCUMENT, "load-slot-types")
def test_the_mask_has_16_bits_the_hint_64_and_the_map_128_bytes():
    load = _load(OPTIONS[-1])
    assert [value.type for value in load.operands[6:]] == [IntegerType(16), i64]
    for wrong in (["%k: i16", "%k: i32"], ["%h: i64", "%h: i32"]):
        with pytest.raises((InvalidInput, VerifyException)):
            operations(ARGUMENTS.replace(*wrong) + ", %s: memref<2x4x64xf16, 3>",
                       f"nvgpu.tma.async.load %m[%x, %x, %x], %b[%x] to %s {OPTIONS[-1]} : {MAP}, {BAR} -> memref<2x4x64xf16, 3>")  # fmt: skip
    made = operations("%t: memref<2x4x64xf16>, %x: index",
                      f"%m = nvgpu.tma.create.descriptor %t box[%x, %x, %x] : memref<2x4x64xf16> -> {MAP}")  # fmt: skip
    storage = the(llvm.AllocaOp, made)
    assert str(storage.elem_type) == "!llvm.array<128 x i8>" and load.tmaDescriptor.type == storage.res.type


@pytest.mark.seed(DOCUMENT, "load-hint-alone")
def test_a_hint_alone_moves_up_and_the_intrinsic_is_the_same():
    assert _load(OPTIONS[3]).operands[7].name_hint == "h"
    assert _load(OPTIONS[2]).operands[6].name_hint == "h" and len(_load(OPTIONS[2]).operands) == 7
    in_cluster = [_load(options, space=7) for options in OPTIONS]
    assert [len(load.operands) for load in in_cluster] == [6, 7, 7, 8]
    names = {instruction_row(load).intrinsic(load) for load in in_cluster}
    assert names == {"llvm.nvvm.cp.async.bulk.tensor.g2s.tile.3d"}


@pytest.mark.seed(DOCUMENT, "tma-mode")
def test_every_copy_of_a_box_is_a_tile():
    found = [op for case in cases() for op in parse_module(case.expected).walk()]
    copies = [op for op in found if isinstance(op, ops_copy.TensorLoadOp | ops_copy.TensorStoreOp)]
    assert {str(copy.mode) for copy in copies} == {"#nvvm.load_mode<tile>"} and len(copies) > 10
    assert all(
        ".tile." in instruction_row(copy).intrinsic(copy)
        for copy in copies
        if instruction_row(copy).kind == "intrinsic"
    )


@pytest.mark.seed(DOCUMENT, "descriptor-separate")
@pytest.mark.parametrize(
    "line",
    [f"nvgpu.tma.async.load %m[%x, %x, %x], %b[%x] to %s : {MAP}, {BAR} -> memref<2x4x64xf16, 3>",
     f"nvgpu.tma.async.store %s to %m[%x, %x, %x] : memref<2x4x64xf16, 3> -> {MAP}",
     f"nvgpu.tma.prefetch.descriptor %m : {MAP}", f"nvgpu.tma.fence.descriptor %m : {MAP}"],
    ids=["load", "store", "prefetch", "fence"],
)  # fmt: skip
def test_what_uses_a_map_takes_its_address(line):
    found = operations(f"{ARGUMENTS}, %s: memref<2x4x64xf16, 3>", line)
    function = the(llvm.FuncOp, found)
    [use] = function.body.blocks[0].args[0].uses
    assert use.operation.name.startswith("nvvm.")
    assert not any(isinstance(op, llvm.AllocaOp | llvm.StoreOp | llvm.GEPOp | llvm.LoadOp) for op in found)


@pytest.mark.seed(DOCUMENT, "rebind-counts")
@pytest.mark.parametrize("rank", range(1, 6))
def test_a_rebind_sets_every_size_and_every_stride_but_the_innermost(rank):
    sizes, strides = (", ".join(["%x"] * count) for count in (rank, rank - 1))
    line = f"nvgpu.tma.rebind.descriptor %m, %g dims[{sizes}] strides[{strides}] : !llvm.ptr<1>, !llvm.ptr<1>"
    found = operations("%m: !llvm.ptr<1>, %g: !llvm.ptr<1>, %x: index", line)
    replaced = [op for op in found if isinstance(op, TensorMapReplaceOp)]
    fields = [(op.attributes["field"].data, op.attributes.get("index")) for op in replaced]
    assert [name for name, _ in fields] == ["global_address", *["global_dim"] * rank, *["global_stride"] * (rank - 1)]
    assert [at.value.data for _, at in fields[1:]] == [*range(rank), *range(rank - 1)]


# Descriptors of matrices ----------------------------------------------------------------------------------------------

EXAMPLE = (
    "%d = nvgpu.warpgroup.generate.descriptor %s {leading_byte_offset = 16 : i64, matrix_stride = 64 : i64, "
    f"swizzle_base = 128 : i64, swizzle_mode = #nvgpu<swizzle 128B>}} : !llvm.ptr<3> -> {DESCRIPTOR}\n"
    f"%v = builtin.unrealized_conversion_cast %d : {DESCRIPTOR} to i64"
)
SHIFTS = {"leading_byte_offset = 16": 16, "matrix_stride = 64": 32, "swizzle_base = 128": 49, "swizzle 128B": 62}


def _bits(text: str) -> int:
    """The constant that a descriptor's address is joined to."""
    joined = the(
        llvm.OrOp, operations("%s: !llvm.ptr<3>, %o: !llvm.ptr<1>", f"{text}\nllvm.store %v, %o : i64, !llvm.ptr<1>")
    )
    return joined.operands[1].owner.value.value.data % (1 << 64)


@pytest.mark.seed(DOCUMENT, "wgmma-descriptor-inputs")
@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [("leading_byte_offset = 16", "leading_byte_offset = 32", 1 << 16), ("matrix_stride = 64", "matrix_stride = 80", 1 << 32),
     ("swizzle_base = 128", "swizzle_base = 256", 1 << 49), ("swizzle 128B", "swizzle 64B", 1 << 62)],
)  # fmt: skip
def test_each_input_has_its_field(old, new, difference):
    assert _bits(EXAMPLE) == 1 << 16 | 4 << 32 | 1 << 49 | 1 << 62
    assert _bits(EXAMPLE.replace(old, new)) - _bits(EXAMPLE) == difference


@pytest.mark.seed(DOCUMENT, "wgmma-descriptor-instructions")
def test_a_descriptor_is_two_instructions():
    ptx = _ptx(f"{EXAMPLE}\nllvm.store %v, %o : i64, !llvm.ptr<1>")
    body = [line.split()[0] for line in ptx[ptx.index("ld.param") :].splitlines() if line.endswith(";")]
    assert body == ["ld.param.b32", "ld.param.b64", "bfe.u64", "or.b64", "st.global.b64", "ret;"]


@pytest.mark.seed(DOCUMENT, "wgmma-descriptor-pure")
def test_a_descriptor_of_a_loop_is_packed_before_it():
    text = ["llvm.br ^loop", "^loop:", EXAMPLE, "nvvm.barrier0", "%n = llvm.load %o : !llvm.ptr<1> -> i64",
            "%total = llvm.mul %n, %v : i64", "llvm.store %total, %o : i64, !llvm.ptr<1>",
            '%again = llvm.icmp "ult" %total, %v : i64', "llvm.cond_br %again, ^loop, ^end", "^end:"]  # fmt: skip
    ptx = _ptx("\n".join(text))
    loop = ptx[ptx.index("$L__BB0_1:") :]
    assert "bar.sync" in loop and "or.b64" in ptx and "or.b64" not in loop and "bfe" not in loop


@pytest.mark.seed(DOCUMENT, "wgmma-descriptor-pure")
def test_packing_is_the_same_every_time():
    text = f"gpu.module @m {{ gpu.func @k(%s: !llvm.ptr<3>, %o: !llvm.ptr<1>) kernel {{\n{EXAMPLE}\ngpu.return }} }}"
    assert run(text, [PASS], sm="90") == run(text, [PASS], sm="90")
    unused = run(text, ["cse", PASS], sm="90")
    assert "llvm.or" not in unused or "unrealized" not in unused


def _ptx(body: str) -> str:
    text = f"gpu.module @m {{ gpu.func @k(%s: !llvm.ptr<3>, %o: !llvm.ptr<1>) kernel {{\n{body}\ngpu.return }} }}"
    return translate(run(text, [PASS], sm="90"), "90")


# Spelling -------------------------------------------------------------------------------------------------------------

# What the instruction table spells as assembly of all that comes out here, and why no intrinsic of LLVM 22 does.
ALWAYS = {
    "nvvm.cp.async.shared.global.fill": "no intrinsic has its operand that ignores the source, or a predicate",
    "nvvm.wgmma.mma_async": "no intrinsic",
    "nvvm.wgmma.group": "LLVM would copy accumulators between one intrinsic and the next",
    "nvvm.tensormap.replace": "the document asks for it",
    "nvvm.fma.packed.f32x2": "no intrinsic",
    "nvvm.mul.packed.f32x2": "no intrinsic",
    "nvvm.redux.sync": "libNVVM knows no intrinsic of it",
    "nvvm.mbarrier.init.shared": "the intrinsic takes the count in a register: 8 instructions more in a matmul of 304",
    "nvvm.mbarrier.arrive": "no intrinsic takes the predicate",
    "nvvm.prefetch.tensormap": "LLVM writes the intrinsic twice",
}
SOMETIMES = {
    "nvvm.mbarrier.arrive.expect_tx.shared": "under a predicate",
    "nvvm.mbarrier.try_wait.parity.shared": "the loop around it is no intrinsic",
    "nvvm.cp.async.bulk.tensor.shared.cluster.global": "under a predicate",
    "nvvm.cp.async.bulk.tensor.global.shared.cta": "under a predicate",
}


@cache
def spelled() -> dict[str, set[str]]:
    """Of all golden tests: how the instruction table spells each operation that comes out."""
    found: dict[str, set[str]] = {}
    for name, kind in {row for case in cases() for row in spellings(case.expected) if row[1]}:
        found.setdefault(name, set()).add(kind)
    return found


@cache
def spellings(text: str) -> set[tuple[str, str | None]]:
    """The operations of a module, each with how the instruction table spells it: None for one that it does not know."""
    known = MAPPING.keys() | INSTRUCTION_TABLE.keys()
    return {(op.name, instruction_row(op).kind if type(op) in known else None) for op in parse_module(text).walk()}


@pytest.mark.seed(DOCUMENT, "assembly-only-sparse")
def test_the_sparse_mma_alone_is_written_as_assembly():
    made = {case.title for case in cases() if "llvm.inline_asm" in {name for name, _ in spellings(case.expected)}}
    assert made == {case.title for case in cases() if "nvgpu.mma.sp.sync" in case.source}
    assert len(made) == 4


@pytest.mark.seed(DOCUMENT, "assembly-table", "assembly-only-sparse")
def test_the_instruction_table_spells_as_assembly_only_what_no_intrinsic_says():
    kinds = spelled()
    assert {name for name, found in kinds.items() if found == {"assembly"}} == ALWAYS.keys()
    assert {name for name, found in kinds.items() if len(found) == 2} == SOMETIMES.keys()
    assert len(kinds) > 45


# PTX ------------------------------------------------------------------------------------------------------------------


@pytest.mark.seed(DOCUMENT, "barrier-aligned")
def test_a_barrier_is_the_aligned_one_and_nothing_else():
    ptx = _ptx("gpu.barrier")
    # PTX ISA: bar.sync is barrier.sync.aligned.
    body = ptx[ptx.index("{\n") :].split()
    assert body == ["{", "bar.sync", "0;", "ret;", "}"]


@pytest.mark.seed(DOCUMENT, "tma-fence-acquire")
def test_the_fence_of_a_map_acquires_what_the_host_wrote():
    text = f"gpu.module @m {{ gpu.func @k(%m: {MAP}) kernel {{\nnvgpu.tma.fence.descriptor %m : {MAP}\ngpu.return }} }}"
    ptx = translate(run(text, [PASS], sm="90"), "90")
    assert re.findall(r"fence\S+ .*;", ptx) == ["fence.proxy.tensormap::generic.acquire.sys [%rd1], 128;"]
