"""MLIR's text form of gpu, nvgpu, nvvm and llvm operations: what it says is read and printed, and reads back the same."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from xdsl.printer import Printer

from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.dialects.gpu_ext import GPU
from tileiras_build.ir.dialects.nvgpu.dialect import NVGPU
from tileiras_build.ir.dialects.nvvm import NVVM
from tileiras_build.ir.dialects.nvvm.intrinsic_or_inline_asm import INSTRUCTION_TABLE
from tileiras_build.pipeline.opt import context, parse_module

BAR = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>"
BARS = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>"
TILE = "memref<64x64xf16, #gpu.address_space<workgroup>>"
MAP = f"!nvgpu.tensormap.descriptor<tensor = {TILE}, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = nan, interleave = none>"
DESCRIPTOR = f"!nvgpu.warpgroup.descriptor<tensor = {TILE}>"
ACCUMULATOR = "!nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>"
TOKEN = "!nvgpu.device.async.token"
VALUES = {
    "bar": BAR, "bars": BARS, "i": "index", "p": "i1", "mask": "i16", "hint": "i64", "map": MAP, "tile": TILE,
    "global": "memref<64x64xf16>", "cluster": "memref<64x64xf16, 7>", "tensor": "memref<*xf16>", "desc": DESCRIPTOR, "acc": ACCUMULATOR,
    "out": "memref<64x64xf32>", "token": TOKEN, "phase": "!nvgpu.mbarrier.token", "a": "vector<4x2xf16>",
    "b": "vector<2x2xf16>", "c": "vector<2x2xf16>", "meta": "vector<2xi16>", "v": "vector<2xf32>", "f": "f32",
    "s": "!llvm.ptr<3>", "g": "!llvm.ptr<1>", "ptr": "!llvm.ptr", "w": "i32", "l": "i64", "hh": "vector<2xf16>",
    "regs": "!llvm.struct<(f32, f32, f32, f32)>",
}  # fmt: skip

# As MLIR's own test suite and documentation write them.
LINES = f"""
%r = gpu.thread_id x
%r = gpu.thread_id y upper_bound 64
%r = gpu.block_id z
%r = gpu.block_dim x
%r = gpu.grid_dim x
%r = gpu.cluster_id x
%r = gpu.cluster_dim x
%r = gpu.cluster_block_id x
%r = gpu.global_id x
%r = gpu.subgroup_size : index
%r = gpu.lane_id
gpu.barrier
gpu.printf "x = %d", %w : i32
gpu.printf "nothing"
%r = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
%r, %q = gpu.shuffle xor %f, %w, %w : f32
%r = gpu.subgroup_reduce add %f uniform : (f32) -> f32
%r = gpu.subgroup_reduce maxnumf %f cluster(size = 4, stride = 2) : (f32) -> f32
%r = nvgpu.mbarrier.create -> {BARS}
nvgpu.mbarrier.init %bar[%i], %i : {BAR}
nvgpu.mbarrier.init %bar[%i], %i, predicate = %p : {BAR}
%r = nvgpu.mbarrier.arrive %bar[%i] : {BAR} -> !nvgpu.mbarrier.token
nvgpu.mbarrier.arrive %bar[%i], predicate = %p : {BAR}
%r = nvgpu.mbarrier.arrive.nocomplete %bars[%i], %i : {BARS} -> !nvgpu.mbarrier.token
nvgpu.mbarrier.arrive.expect_tx %bar[%i], %i : {BAR}
%r = nvgpu.mbarrier.get %bar[%i] : {BAR} -> i32
%r = nvgpu.mbarrier.test.wait %bar[%i], %phase : {BAR}, !nvgpu.mbarrier.token
nvgpu.mbarrier.try_wait.parity %bar[%i], %p, %i : {BAR}
%r = nvgpu.mbarrier.try_wait.parity %bar[%i], %p : {BAR} -> i1
nvgpu.tma.async.load %map[%i, %i], %bar[%i] to %tile : {MAP}, {BAR} -> {TILE}
nvgpu.tma.async.load %map[%i, %i], %bar[%i] to %cluster {{pair}} : {MAP}, {BAR} -> memref<64x64xf16, 7>
nvgpu.tma.async.load %map[%i, %i], %bar[%i] to %tile multicast_mask = %mask, predicate = %p : {MAP}, {BAR} -> {TILE}
nvgpu.tma.async.store %tile to %map[%i, %i] : {TILE} -> {MAP}
nvgpu.tma.async.store %tile to %map[%i, %i], predicate = %p : {TILE} -> {MAP}
%r = nvgpu.tma.create.descriptor %tensor box[%i, %i] : memref<*xf16> -> {MAP}
nvgpu.tma.prefetch.descriptor %map : {MAP}
nvgpu.tma.prefetch.descriptor %map, predicate = %p : {MAP}
nvgpu.tma.fence.descriptor %map : {MAP}
nvgpu.tma.rebind.descriptor %map, %g dims[%i, %i] strides[%i] : {MAP}, !llvm.ptr<1>
%r = nvgpu.warpgroup.generate.descriptor %tile, %map : {TILE}, {MAP} -> {DESCRIPTOR}
%r = nvgpu.warpgroup.mma %desc, %desc, %acc {{transposeB}} : {DESCRIPTOR}, {DESCRIPTOR}, {ACCUMULATOR} -> {ACCUMULATOR}
nvgpu.warpgroup.mma.store %acc, %out : {ACCUMULATOR} to memref<64x64xf32>
%r = nvgpu.warpgroup.mma.init.accumulator -> {ACCUMULATOR}
%r = nvgpu.mma.sync(%a, %b, %c) {{mmaShape = [16, 8, 16]}} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
%r = nvgpu.mma.sp.sync(%a, %a, %c) metadata(%meta) {{mmaShape = [16, 8, 32]}} : (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
%r = nvgpu.ldmatrix %tile[%i, %i] {{numTiles = 4 : i32, transpose = false}} : {TILE} -> vector<4x2xf16>
%r = nvgpu.device_async_copy %global[%i, %i], %tile[%i, %i], 8 : memref<64x64xf16> to {TILE}
%r = nvgpu.device_async_copy %global[%i, %i], %tile[%i, %i], 8, %i {{bypassL1}} : memref<64x64xf16> to {TILE}
%r = nvgpu.device_async_create_group %token, %token
nvgpu.device_async_wait %token {{numGroups = 1 : i32}}
nvgpu.device_async_wait %token
%r = nvgpu.rcp %v {{rounding = approx, ftz}} : vector<2xf32>
%r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf8E4M3FN>
%r = nvgpu.cvt_fpext %hh : vector<2xf16> to vector<2xf32>
%r = nvgpu.fma.packed.f32x2 %v, %v, %v : vector<2xf32>, vector<2xf32>, vector<2xf32> -> vector<2xf32>
%r = nvgpu.mul.packed.f32x2 %v, %v : vector<2xf32>, vector<2xf32> -> vector<2xf32>
%r = nvvm.read.ptx.sreg.tid.x : i32
%r = nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32
%r = nvvm.read.ptx.sreg.cluster.ctaid.z : i32
%r = nvvm.read.ptx.sreg.warpsize : i32
nvvm.barrier0
%r = nvvm.shfl.sync bfly %w, %f, %w, %w : f32 -> f32
%r = nvvm.shfl.sync idx %w, %f, %w, %w {{return_value_and_is_valid}} : f32 -> !llvm.struct<(f32, i1)>
%r = nvvm.redux.sync umax %w, %w : i32 -> i32
nvvm.mbarrier.init.shared %s, %w : !llvm.ptr<3>, i32
nvvm.mbarrier.init.shared %s, %w, predicate = %p : !llvm.ptr<3>, i32
nvvm.mbarrier.inval.shared %s : !llvm.ptr<3>
%r = nvvm.mbarrier.arrive.shared %s : !llvm.ptr<3> -> i64
%r = nvvm.mbarrier.arrive.nocomplete.shared %s, %w : !llvm.ptr<3>, i32 -> i64
nvvm.mbarrier.arrive.expect_tx.shared %s, %w : !llvm.ptr<3>, i32
%r = nvvm.mbarrier.test.wait.shared %s, %l : !llvm.ptr<3>, i64 -> i1
nvvm.mbarrier.try_wait.parity.shared %s, %w, %w : !llvm.ptr<3>, i32, i32
%r = nvvm.mbarrier.try_wait.parity.shared %s, %p : !llvm.ptr<3>, i1 -> i1
nvvm.cp.async.shared.global %s, %g, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
nvvm.cp.async.shared.global %s, %g, 4, cache = ca, %w : !llvm.ptr<3>, !llvm.ptr<1>, i32
nvvm.cp.async.commit.group
nvvm.cp.async.wait.group 0
nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %ptr, %s, box[%w, %w] : !llvm.ptr<3>, !llvm.ptr
nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %ptr, %s, box[%w] multicast_mask = %mask l2_cache_hint = %l predicate = %p {{multicastEnable, cacheHintEnable}} : !llvm.ptr<3>, !llvm.ptr
nvvm.cp.async.bulk.tensor.global.shared.cta %ptr, %s, box[%w, %w, %w], predicate = %p : !llvm.ptr, !llvm.ptr<3>
nvvm.prefetch.tensormap %ptr : !llvm.ptr
nvvm.fence.proxy.acquire #nvvm.mem_scope<sys> %ptr, %w
nvvm.fence.proxy.release #nvvm.mem_scope<gpu>
nvvm.wgmma.fence.aligned
nvvm.wgmma.commit.group.sync.aligned
nvvm.wgmma.wait.group.sync.aligned 0
%r = nvvm.wgmma.mma_async %l, %l, %regs, <m = 64, n = 8, k = 16>, D[<f32>, <zero>], A[<f16>, <neg>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
%r = nvvm.mma.sync A[%hh, %hh] B[%hh] C[%hh, %hh] {{layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>}} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
%r = nvvm.ldmatrix %s {{num = 4 : i32, layout = #nvvm.mma_layout<row>}} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
%r = nvvm.rcp.approx.ftz.f %f : f32
%r = nvvm.fma.packed.f32x2 %v, %v, %v : vector<2xf32>
%r = nvvm.mul.packed.f32x2 %v, %v {{ftz}} : vector<2xf32>
%r = nvvm.convert.f32x2.packed %f, %f {{dstTy = "e4m3", rnd = #nvvm.fp_rnd_mode<rn>, satfinite}} : i16
%r = nvvm.convert.packed.f16x2 %mask {{srcTy = "e4m3"}} : i16 -> vector<2xf16>
%r = llvm.mlir.zero : !llvm.struct<(f32, f32, f32, f32)>
%r = llvm.extractvalue %regs[0] : !llvm.struct<(f32, f32, f32, f32)>
%r = llvm.addrspacecast %s : !llvm.ptr<3> to !llvm.ptr
llvm.inline_asm has_side_effects "nanosleep.u32 $0;", "r" %w : (i32) -> ()
%r = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%f) : (f32) -> f32
%r = vector.from_elements %f, %f : vector<2xf32>
%r = vector.extract %v[0] : f32 from vector<2xf32>
%r = math.isnan %f : f32
%r = math.sqrt %f fastmath<afn> : f32
""".strip().splitlines()


def kernel(line: str) -> str:
    """A module with the operation, and an argument for each value that it reads."""
    used = [name for name in VALUES if re.search(rf"%{name}\b", line)]
    arguments = ", ".join(f"%{name}: {VALUES[name]}" for name in used)
    return f"gpu.module @m {{\n gpu.func @k({arguments}) {{\n{line}\ngpu.return\n}}\n}}"


def printed(text: str) -> str:
    """The operation as it is printed, spelled as in LINES."""
    found = str(parse_module(text)).splitlines()[3].strip()
    # MLIR leaves out the type of a 64-bit integer; xDSL prints it, and both read both.
    return re.sub(r"(\d) : i64\b", r"\1", found)


def test_the_forms_are_read_and_printed():
    assert [printed(kernel(line)) for line in LINES] == LINES


def test_the_generic_form_is_the_same_module():
    for line in LINES:
        module = parse_module(kernel(line))
        generic = StringIO()
        Printer(stream=generic, print_generic_format=True).print_op(module)
        assert parse_module(generic.getvalue()).is_structurally_equivalent(module), line


def test_every_operation_has_a_line():
    names = {re.match(r"(?:%r(?:, %q)? = )?([\w.]+)", line)[1] for line in LINES}
    # The text of what a row alone defines is tested with the rows (tests/ir/dialects/nvvm/test_intrinsic_or_inline_asm.py).
    missing = {op.name for op in (*NVGPU.operations, *NVVM.operations) if op not in INSTRUCTION_TABLE} - names
    # All axes of a register are one row.
    assert {name for name in missing if not name.startswith("nvvm.read.ptx.sreg.")} == set()


def test_attributes_of_known_class_may_be_written_in_full():
    short = LINES[next(i for i, line in enumerate(LINES) if "nvvm.wgmma.mma_async" in line)]
    full = short.replace("<m = 64", "#nvvm.shape<m = 64").replace(
        "<f32>, <zero>", "#nvvm.wgmma_type<f32>, #nvvm.wgmma_scale_out<zero>"
    )
    assert full != short
    assert printed(kernel(full)) == short


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nvvm.mbarrier.inval.shared %ptr : !llvm.ptr", "operand #0 must be !llvm.ptr<3>, but got '!llvm.ptr'"),
        ("nvvm.cp.async.shared.global %s, %g, 6, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>", "either 4, 8 or 16, got 6"),
        ("nvvm.cp.async.shared.global %s, %g, 8, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>", "only support for 16 bytes"),
        (
            "nvvm.cp.async.bulk.tensor.global.shared.cta %ptr, %s, box[%w] {cacheHintEnable} : !llvm.ptr, !llvm.ptr<3>",
            "cacheHintEnable exactly if it has l2CacheHint",
        ),
        ("%r = nvvm.shfl.sync left %w, %w, %w, %w : i32 -> i32", "'left' must be one of bfly, up, down, idx"),
        ("%r = nvvm.read.ptx.sreg.tid.x range <i32, 4, 4> : i32", "range [4, 4) is empty"),
        ("%r = vector.from_elements %f : vector<2xf32>", "has 2 elements, got 1"),
    ],
)
def test_what_cannot_be_is_refused(line, message):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        parse_module(kernel(line))


def test_a_kernel_returns_nothing():
    with pytest.raises(InvalidInput, match="Expected void return type for kernel function"):
        parse_module("gpu.module @m { gpu.func @k(%x: f32) -> f32 kernel { gpu.return %x : f32 } }")


def test_the_dialects_are_ours():
    assert context().get_optional_op("gpu.barrier") in GPU.operations
