"""Hand-written gpu and nvgpu kernels, run: MLIR to PTX by our passes, PTX in the emulator, results against NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.ir.dialects.nvvm.nvvm_kernels import translate
from tests.simulate.emulator.ptx_kernels import aligned
from tileiras_build.core.errors import TileirasError
from tileiras_build.pipeline import opt
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import lower
from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm.mma_sparse import sparse_text
from tileiras_build.simulate import emulator
from tileiras_build.target.targets import find_target

DOCUMENT = "nvgpu-gpu-to-nvvm"
PASSES = ["convert-nvgpu-and-gpu-to-nvvm"]


def compile_kernel(text: str, sm: str = "90") -> str:
    return translate(opt.run(text, PASSES, sm=sm), sm)


def launch(ptx: str, params: list, arrays: dict[int, np.ndarray], threads: int = 128) -> None:
    """Run kernel ``k`` of one block; ``arrays`` are the parameters that are pointers, by position."""
    memory = emulator.Memory()
    mapped = {index: memory.map_array(array).to_bytes(8, "little") for index, array in arrays.items()}
    values = [mapped.get(index, value) for index, value in enumerate(params)]
    emulator.run_ptx(ptx, "k", 1, (threads, 1, 1), values, memory=memory)


@pytest.mark.seed(DOCUMENT, "warpgroup-mma-store")
def test_each_register_is_stored_where_the_isa_says():
    acc = "!nvgpu.warpgroup.accumulator<fragmented = vector<64x16xf32>>"
    ptx = compile_kernel(
        f"gpu.module @m {{ gpu.func @k(%c: {acc}, %o: memref<64x16xf32, strided<[20, 1], offset: 3>>) kernel {{\n"
        f"nvgpu.warpgroup.mma.store %c, %o : {acc} to memref<64x16xf32, strided<[20, 1], offset: 3>>\ngpu.return }} }}"
    )
    out = aligned(np.zeros(64 * 20, np.float32))
    launch(ptx, [np.arange(1, 9, dtype=np.float32).tobytes(), None], {1: out})
    # Every thread holds 1, 2, … in its registers. PTX ISA, fragment D of wgmma: registers 0 and 1 are neighbors in a
    # row, 2 and 3 are 8 rows below, 4 and on are 8 columns to the right.
    row, column = np.indices((64, 16))
    expected = 1 + column % 2 + 2 * (row % 16 // 8) + 4 * (column // 8)
    stored = out[3:].copy()
    stored.resize(64, 20)
    np.testing.assert_array_equal(stored[:, :16], expected)
    assert not stored[:, 16:].any() and not out[:3].any()


TILE_A, TILE_B = "memref<64x16xf16, 3>", "memref<16x8xf16, 3>"
COPY = """
%base_{0} = builtin.unrealized_conversion_cast %s{0} : {1} to !llvm.ptr<3>
%to_{0} = llvm.getelementptr %base_{0}[%place_{0}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
%from_{0} = llvm.getelementptr %g{0}[%place_{0}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
%chunk_{0} = llvm.load %from_{0} : !llvm.ptr<1> -> {2}
llvm.store %chunk_{0}, %to_{0} : {2}, !llvm.ptr<3>
"""
MAP = "!nvgpu.tensormap.descriptor<tensor = {}, swizzle = none, l2promo = none, oob = zero, interleave = none>"
MATMUL = f"""
gpu.module @m {{
  gpu.func @k(%ga: !llvm.ptr<1>, %gb: !llvm.ptr<1>, %o: memref<64x8xf32>, %ma: {MAP.format(TILE_A)},
              %mb: {MAP.format(TILE_B)}) workgroup(%sa: {TILE_A}, %sb: {TILE_B}) kernel {{
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %sixteen = llvm.mlir.constant(16 : i32) : i32
    %place_a = llvm.mul %tid, %sixteen : i32
    {COPY.format("a", TILE_A, "vector<4xi32>")}
    %small = llvm.mlir.constant(32 : i32) : i32
    %first = llvm.icmp "ult" %tid, %small : i32
    llvm.cond_br %first, ^copy, ^go
  ^copy:
    %eight = llvm.mlir.constant(8 : i32) : i32
    %place_b = llvm.mul %tid, %eight : i32
    {COPY.format("b", TILE_B, "i64")}
    llvm.br ^go
  ^go:
    llvm.inline_asm has_side_effects "fence.proxy.async;", "~{{memory}}" : () -> ()
    gpu.barrier
    %da = nvgpu.warpgroup.generate.descriptor %sa, %ma {{leading_byte_offset = 128 : i64, matrix_stride = 256 : i64}}
      : {TILE_A}, {MAP.format(TILE_A)} -> !nvgpu.warpgroup.descriptor<tensor = {TILE_A}>
    %db = nvgpu.warpgroup.generate.descriptor %sb, %mb {{leading_byte_offset = 128 : i64, matrix_stride = 256 : i64}}
      : {TILE_B}, {MAP.format(TILE_B)} -> !nvgpu.warpgroup.descriptor<tensor = {TILE_B}>
    %c = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
    %d = nvgpu.warpgroup.mma %da, %db, %c
      : !nvgpu.warpgroup.descriptor<tensor = {TILE_A}>, !nvgpu.warpgroup.descriptor<tensor = {TILE_B}>,
        !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
      -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>
    nvgpu.warpgroup.mma.store %d, %o : !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>> to memref<64x8xf32>
    gpu.return
  }}
}}
"""


def core_matrices(matrix: np.ndarray) -> np.ndarray:
    """Rows of 16 f16 as blocks of 8 rows by 16 bytes: along k 128 bytes apart, down the rows 256."""
    rows = matrix.shape[0] // 8
    return np.ascontiguousarray(matrix.reshape(rows, 8, 2, 8).transpose(0, 2, 1, 3)).reshape(-1)


@pytest.mark.seed(
    DOCUMENT, "warpgroup-generate-descriptor", "wgmma-descriptor-bits", "warpgroup-mma", "warpgroup-mma-init",
    "warpgroup-mma-store", "wgmma-sequence",
)  # fmt: skip
def test_a_warpgroup_multiplies():
    ptx = compile_kernel(MATMUL)
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (64, 16)).astype(np.float16)
    b = rng.integers(-4, 5, (16, 8)).astype(np.float16)
    out = aligned(np.zeros((64, 8), np.float32))
    arrays = {0: aligned(core_matrices(a)), 1: aligned(core_matrices(b.T.copy())), 2: out}
    launch(ptx, [None, None, None, bytes(8), bytes(8)], arrays)
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.seed(DOCUMENT, "warpgroup-mma", "wgmma-order", "wgmma-sequence")
def test_an_mma_is_fenced_issued_committed_and_waited_for():
    found = re.findall(r"wgmma\.(\w+)\S*( 0;)?", compile_kernel(MATMUL))
    # Accumulators in a struct are moved to their registers behind the first fence: each MMA has one more.
    assert [*dict.fromkeys(found)] == [("fence", ""), ("mma_async", ""), ("commit_group", ""), ("wait_group", " 0;")]


ASSERTION = (
    'gpu.module @m { gpu.func @k(%c: i1) kernel {\ncf.assert %c, "broken rule" loc("rules.py":7:1)\ngpu.return } }'
)


@pytest.mark.seed(DOCUMENT, "concept-assert", "assert-guard", "assert-preserved")
def test_an_assertion_stops_where_its_predicate_is_false():
    ptx = compile_kernel(ASSERTION)
    launch(ptx, [bytes([1])], {}, threads=32)
    with pytest.raises(Exception, match=r"broken rule"):
        launch(ptx, [bytes([0])], {}, threads=32)


@pytest.mark.seed(DOCUMENT, "concept-printf")
def test_printf_prints_what_c_would(capfd):
    ptx = compile_kernel(
        "gpu.module @m { gpu.func @k(%a: i8, %b: f32, %c: i64, %t: i1) kernel {\n"
        'gpu.printf "%d %.2f %lld %u\\n", %a, %b, %c, %t : i8, f32, i64, i1\ngpu.return } }'
    )
    params = [np.int8(-3).tobytes(), np.float32(1.5).tobytes(), np.int64(1 << 40).tobytes(), bytes([1])]
    launch(ptx, params, {}, threads=1)
    assert capfd.readouterr().out == f"-3 1.50 {1 << 40} 1\n"


@pytest.mark.seed(DOCUMENT, "subgroup-reduce")
@pytest.mark.parametrize("kind", ["add", "maxui", "xor", "mul"])
def test_a_warp_reduces(kind):
    ptx = compile_kernel(
        "gpu.module @m { gpu.func @k(%o: !llvm.ptr<1>) kernel {\n"
        "%tid = nvvm.read.ptx.sreg.tid.x : i32\n"
        f"%r = gpu.subgroup_reduce {kind} %tid uniform : (i32) -> i32\n"
        "%place = llvm.getelementptr %o[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
        "llvm.store %r, %place : i32, !llvm.ptr<1>\ngpu.return } }"
    )
    out = aligned(np.zeros(64, np.uint32))
    launch(ptx, [None], {0: out}, threads=64)
    reduce = {"add": np.sum, "maxui": np.max, "xor": np.bitwise_xor.reduce, "mul": np.multiply.reduce}[kind]
    lanes = np.arange(64, dtype=np.uint32).reshape(2, 32)
    reduced = [[reduce(half)] * 32 for half in lanes]
    np.testing.assert_array_equal(out.reshape(2, 32), np.array(reduced).astype(np.uint32))


@pytest.mark.seed(DOCUMENT, "shuffle")
@pytest.mark.parametrize(
    ("mode", "source"), [("xor", lambda i: i ^ 5), ("up", lambda i: i - 5), ("down", lambda i: i + 5)]
)
def test_a_shuffle_says_which_lanes_read(mode, source):
    ptx = compile_kernel(
        "gpu.module @m { gpu.func @k(%o: !llvm.ptr<1>, %n: i32, %w: i32) kernel {\n"
        "%tid = nvvm.read.ptx.sreg.tid.x : i32\n"
        f"%r, %ok = gpu.shuffle {mode} %tid, %n, %w : i32\n"
        "%flag = llvm.zext %ok : i1 to i32\n"
        "%hundred = llvm.mlir.constant(100 : i32) : i32\n"
        "%scaled = llvm.mul %flag, %hundred : i32\n"
        "%total = llvm.add %scaled, %r : i32\n"
        "%place = llvm.getelementptr %o[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
        "llvm.store %total, %place : i32, !llvm.ptr<1>\ngpu.return } }"
    )
    out = aligned(np.zeros(32, np.int32))
    launch(ptx, [None, np.int32(5).tobytes(), np.int32(32).tobytes()], {0: out}, threads=32)
    lanes = [source(i) for i in range(32)]
    assert out.tolist() == [100 + lane if 0 <= lane < 32 else i for i, lane in enumerate(lanes)]


# Of -7 and 3, and of 2.5 and 3: what each operation gives; a comparison chooses between them.
LARGE = 2**32 - 7
INTEGERS = {
    "addi": -4, "subi": -10, "muli": -21, "divsi": -2, "divui": LARGE // 3, "remsi": -1, "remui": LARGE % 3, "andi": 1,
    "ori": -5, "xori": -6, "shli": -56, "shrui": LARGE >> 3, "shrsi": -1, "minsi": -7, "maxsi": 3, "minui": 3, "maxui": -7,
    "cmpi slt,": -7, "cmpi ult,": 3, "cmpi uge,": -7, "cmpi eq,": 3,
}  # fmt: skip
FLOATS = {
    "addf": 5.5, "subf": -0.5, "mulf": 7.5, "divf": 2.5 / 3, "minimumf": 2.5, "maximumf": 3, "cmpf olt,": 2.5,
    "cmpf ogt,": 3, "cmpf une,": 2.5,
}  # fmt: skip


def slot(index: int, operation: str, type: str) -> str:
    """An operation whose result goes to a place of its own."""
    made = f"arith.{operation} %a, %b : {type}"
    if operation.startswith("cmp"):
        made = f"{made}\n%r{index} = arith.select %c{index}, %a, %b : {type}"
    return (
        f"%{'c' if operation.startswith('cmp') else 'r'}{index} = {made}\n"
        f"%p{index} = llvm.getelementptr %o[{index}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, {type}\n"
        f"llvm.store %r{index}, %p{index} : {type}, !llvm.ptr<1>"
    )


@pytest.mark.seed(DOCUMENT, "arith-bank")
@pytest.mark.parametrize(
    ("type", "dtype", "values", "expected"),
    [("i32", np.int32, (-7, 3), INTEGERS), ("f32", np.float32, (2.5, 3), FLOATS)],
    ids=["integers", "floats"],
)
def test_arithmetic_computes(type, dtype, values, expected):
    body = "\n".join(slot(index, operation, type) for index, operation in enumerate(expected))
    arguments = f"%o: !llvm.ptr<1>, %a: {type}, %b: {type}"
    ptx = compile_kernel(f"gpu.module @m {{ gpu.func @k({arguments}) kernel {{\n{body}\ngpu.return }} }}")
    out = aligned(np.zeros(len(expected), dtype))
    launch(ptx, [None, *(dtype(value).tobytes() for value in values)], {0: out}, threads=1)
    np.testing.assert_array_equal(out, np.array([*expected.values()]).astype(dtype))


@pytest.mark.seed(DOCUMENT, "concept-math", "math-promotion", "math-fast")
@pytest.mark.parametrize(
    ("operation", "type", "reference", "tolerance"),
    [
        ("math.sin %x", "f32", np.sin, 1e-6),
        ("math.sin %x fastmath<afn>", "f32", np.sin, 1e-5),
        ("math.exp %x", "f64", np.exp, 1e-14),
        ("math.sqrt %x", "f16", np.sqrt, 1e-3),
        ("math.roundeven %x", "f32", np.rint, 0),
    ],
)
def test_libdevice_computes(operation, type, reference, tolerance):
    ptx = compile_kernel(
        f"gpu.module @m {{ gpu.func @k(%o: !llvm.ptr<1>, %x: {type}) kernel {{\n"
        f"%r = {operation} : {type}\nllvm.store %r, %o : {type}, !llvm.ptr<1>\ngpu.return }} }}"
    )
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[type]
    out, x = aligned(np.zeros(1, dtype)), dtype(1.75)
    launch(ptx, [None, x.tobytes()], {0: out}, threads=1)
    np.testing.assert_allclose(out[0], reference(x.astype(np.float64)), rtol=tolerance)


@pytest.mark.seed(DOCUMENT, "mma-sp-sync", "concept-sparse", "assembly-only-sparse")
@pytest.mark.parametrize(
    ("shape", "kind", "accumulator", "counts"),
    [
        ((16, 8, 16), "f16", "f32", [2, 2, 4]),
        ((16, 8, 32), "f16", "f32", [4, 4, 4]),
        ((16, 8, 32), "f16", "f16", [4, 4, 2]),
        ((16, 8, 32), "bf16", "f32", [4, 4, 4]),
        ((16, 8, 8), "tf32", "f32", [2, 2, 4]),
        ((16, 8, 16), "tf32", "f32", [4, 4, 4]),
        ((16, 8, 32), "s8", "s32", [2, 2, 4]),
        ((16, 8, 64), "s8", "s32", [4, 4, 4]),
    ],
)
def test_the_assembler_takes_a_sparse_mma(shape, kind, accumulator, counts):
    text = sparse_text(shape, [kind, kind], accumulator, counts, 0)
    a, b, c = counts
    type, letter = ("f32", "f") if accumulator == "f32" else ("i32", "r")
    constraints = ",".join(["=" + letter] * c + ["r"] * (a + b) + [letter] * c + ["r"])
    struct = f"!llvm.struct<({', '.join([type] * c)})>"
    operands = ", ".join(["%i"] * (a + b) + ["%c"] * c + ["%i"])
    types = ", ".join(["i32"] * (a + b) + [type] * c + ["i32"])
    ptx = compile_kernel(
        f"gpu.module @m {{ gpu.func @k(%o: !llvm.ptr<1>, %i: i32, %c: {type}) kernel {{\n"
        f'%r = llvm.inline_asm has_side_effects "{text}", "{constraints}" {operands} {{convergent}} : ({types}) -> {struct}\n'
        f"llvm.store %r, %o : {struct}, !llvm.ptr<1>\ngpu.return }} }}"
    )
    assert text.split(" ")[0] in ptx


@pytest.mark.seed(DOCUMENT, "rebind-sequence")
@pytest.mark.parametrize(("space", "spelled"), [(1, "global"), (3, "shared::cta")])
def test_the_assembler_takes_a_rebind_in_its_order(space, spelled):
    ptx = compile_kernel(
        f"gpu.module @m {{ gpu.func @k(%m: !llvm.ptr<{space}>, %g: !llvm.ptr<1>, %x: index, %y: index, %s: index) kernel {{\n"
        f"nvgpu.tma.rebind.descriptor %m, %g dims[%x, %y] strides[%s] : !llvm.ptr<{space}>, !llvm.ptr<1>\ngpu.return }} }}"
    )
    words = [
        "generic.acquire.cta",
        "global_address",
        "global_dim",
        "global_dim",
        "global_stride",
        "generic.release.cta",
    ]
    lines = [line for line in ptx.splitlines() if "tensormap" in line]
    assert [word in line for word, line in zip(words, lines, strict=True)] == [True] * 6
    assert all(f".{spelled}.b1024" in line for line in lines[1:-1])
    assert [line.split("], ")[1][0] for line in lines[2:5]] == ["0", "1", "0"]


# Reductions of the block ----------------------------------------------------------------------------------------------

BY_BODY = "{{\n^bb0(%a: {0}, %b: {0}):\n%c = arith.xori %a, %b : {0}\ngpu.yield %c : {0}\n}}"
REDUCED = {
    "f32": ("add", "{{}}", np.float32, np.add), "f64": ("mul", "{{}}", np.float64, np.multiply),
    "f16": ("maxnumf", "{{}}", np.float16, np.maximum), "i32": ("", BY_BODY, np.int32, np.bitwise_xor),
    "i64": ("minsi", "{{}}", np.int64, np.minimum), "i8": ("maxui", "{{}}", np.uint8, np.maximum),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(1, 1, 1), (33, 1, 1), (96, 1, 1), (7, 5, 3), (1024, 1, 1)])
@pytest.mark.parametrize("type", REDUCED)
def test_every_thread_gets_what_all_threads_gave(type, shape):
    word, body, dtype, function = REDUCED[type]
    # Twice: nobody may overwrite a result that another thread still has to read.
    ptx = compile_to_llvm(
        "gpu.module @m attributes {nv_tileaa.compute_capability = 90 : i32} {\n"
        f"gpu.func @k(%o: memref<?x{type}>, %i: memref<?x{type}>) kernel {{\n"
        "%x = gpu.thread_id x\n%y = gpu.thread_id y\n%z = gpu.thread_id z\n%w = gpu.block_dim x\n%h = gpu.block_dim y\n"
        "%zh = arith.muli %z, %h : index\n%zy = arith.addi %zh, %y : index\n%zw = arith.muli %zy, %w : index\n"
        f"%t = arith.addi %zw, %x : index\n%v = memref.load %i[%t] : memref<?x{type}>\n"
        f"%r = gpu.all_reduce {word} %v uniform {body.format(type)} : ({type}) -> ({type})\n"
        f"memref.store %r, %o[%t] : memref<?x{type}>\n%s = gpu.all_reduce {word} %r {body.format(type)} : ({type}) -> ({type})\n"
        f"%n = arith.muli %w, %h : index\n%d = gpu.block_dim z\n%all = arith.muli %n, %d : index\n"
        f"%u = arith.addi %t, %all : index\nmemref.store %s, %o[%u] : memref<?x{type}>\ngpu.return }} }}"
    )
    count = int(np.prod(shape))
    values = (np.random.default_rng(count).integers(1, 3, count)).astype(dtype)
    if function is np.multiply:
        values[3:] = 1
    out, given = aligned(np.zeros(2 * count, dtype)), aligned(values)
    memory = emulator.Memory()
    arguments = [memory.map_array(array).to_bytes(8, "little") for array in (out, given)]
    emulator.run_ptx(ptx, "k", 1, shape, arguments, memory=memory)
    once = function.reduce(values)
    twice = function.reduce(np.full(count, once, dtype))
    np.testing.assert_array_equal(out[:count], once)
    np.testing.assert_array_equal(out[count:], twice)


def compile_to_llvm(text: str) -> str:
    """PTX of a module that says its target, by way of ``opt --ll``."""
    job = Job(find_target("90"))
    return lower(opt.llvm_ir(opt.transform(text, ["nv-tile-ir-convert-target-to-nvvm", *PASSES], job), job), job)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("gpu.all_reduce and %f uniform {} : (f32) -> (f32)", "cannot reduce 'f32' by and"),
        ("gpu.all_reduce %f uniform {} : (f32) -> (f32)", "either an op attribute or a non-empty body"),
        ("gpu.all_reduce add %f {\n^bb0(%a: f32, %b: f32):\ngpu.yield %a : f32\n} : (f32) -> (f32)", "either an op"),
        ("gpu.all_reduce %f {\n^bb0(%a: f32):\ngpu.yield %a : f32\n} : (f32) -> (f32)", "takes two values"),
        ("gpu.all_reduce add %p : (i1) -> (i1)", "cannot parse"),
        ("gpu.all_reduce add %p {} : (i1) -> (i1)", "8 to 64 bits"),
    ],
)
def test_a_reduction_that_is_none_is_refused(operation, message):
    with pytest.raises(TileirasError, match=message):
        opt.run(f"gpu.module @m {{ gpu.func @k(%f: f32, %p: i1) kernel {{\n%r = {operation}\ngpu.return }} }}", PASSES)
