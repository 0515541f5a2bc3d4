"""Hand-written cute, cute_nvgpu and cutlass, run: through the passes to PTX, in the emulator, against NumPy."""

import numpy as np
import pytest

from tests.ir.dialects.nvvm.nvvm_kernels import translate
from tests.simulate.emulator.ptx_kernels import aligned
from tileiras_build.core.errors import Unsupported
from tileiras_build.ir.dialects.cute.ops import BY_NAME as CUTE_OPERATIONS
from tileiras_build.ir.dialects.cute_nvgpu.ops import BY_NAME as NVGPU_OPERATIONS
from tileiras_build.ir.dialects.cutlass.ops import BY_NAME as CUTLASS_OPERATIONS
from tileiras_build.pipeline import opt
from tileiras_build.pipeline.tileas_to_ll.convert_cute_to_llvm.passes import cute_rules, cutlass_rules
from tileiras_build.simulate import emulator

PASSES = ["convert-cute-and-cute-nvgpu-to-llvm", "convert-pipeline-to-nvvm", "convert-nvgpu-and-gpu-to-nvvm"]


def ptx_of(arguments: str, body: str, sm: str) -> str:
    """PTX of a kernel ``k``; ptxas has taken it."""
    text = f"gpu.module @m {{ gpu.func @k({arguments}) kernel {{\n{body}\ngpu.return }} }}"
    return translate(opt.run(text, PASSES, sm=sm), sm)


def launch(ptx: str, arrays: list[np.ndarray], threads: int) -> None:
    """Run it with one block on arrays."""
    memory = emulator.Memory()
    values = [memory.map_array(array).to_bytes(8, "little") for array in arrays]
    emulator.run_ptx(ptx, "k", 1, (threads, 1, 1), values, memory=memory)


def view(name: str, pointer: str, element: str, space: str, layout: str) -> str:
    """MLIR text that makes a view of a static layout."""
    return (
        f'%{name}_layout = cute.static : !cute.layout<"{layout}">\n'
        f"%{name} = cute.make_view {pointer}, %{name}_layout : (!cute.ptr<{element}, {space}>, "
        f'!cute.layout<"{layout}">) -> !cute.memref<{element}, {space}, "{layout}">\n'
    )


THREAD = "%tid = nvvm.read.ptx.sreg.tid.x : i32\n"


@pytest.mark.seed("lowering-overview", "companion-cute", "role-companions")
def test_every_thread_copies_its_partition():
    """A 16 x 32 matrix from rows to columns: each of 4 x 8 threads has 4 x 4 of its elements."""
    kinds = {
        name: f'!cute.memref<f32, gmem, "{layout}">'
        for name, layout in (("a", "(16,32):(32,1)"), ("b", "(16,32):(1,16)"))
    }
    parts = {"a": '!cute.memref<f32, gmem, "(4,4):(128,8)">', "b": '!cute.memref<f32, gmem, "(4,4):(4,128)">'}
    body = THREAD + view("a", "%p", "f32", "gmem", "(16,32):(32,1)") + view("b", "%q", "f32", "gmem", "(16,32):(1,16)")
    body += '%threads = cute.static : !cute.layout<"(4,8):(8,1)">\n'
    for name, part in parts.items():
        body += (
            f"%{name}_part = cute.local_partition %{name}, %threads, %tid : "
            f'({kinds[name]}, !cute.layout<"(4,8):(8,1)">, i32) -> {part}\n'
        )
    for row in range(4):
        for column in range(4):
            at = f"{row}{column}"
            body += f'%c{at} = cute.static : !cute.coord<"({row},{column})">\n'
            body += (
                f'%x{at} = cute.memref.load %a_part, %c{at} : ({parts["a"]}, !cute.coord<"({row},{column})">) -> f32\n'
            )
            body += f'cute.memref.store %x{at}, %b_part, %c{at} : (f32, {parts["b"]}, !cute.coord<"({row},{column})">) -> ()\n'
    ptx = ptx_of("%p: !cute.ptr<f32, gmem>, %q: !cute.ptr<f32, gmem>", body, "80")
    matrix, turned = aligned(np.arange(512, dtype=np.float32)), aligned(np.zeros(512, np.float32))
    launch(ptx, [matrix, turned], 32)
    np.testing.assert_array_equal(turned.reshape(32, 16), matrix.reshape(16, 32).T)


# Thread and value to the place in a tile of columns (PTX ISA, fragments of mma.m16n8k16; CuTe's SM80_16x8_Row, ...).
FRAGMENTS = {
    "a": ("((4,8),(2,2,2)):((32,1),(16,8,128))", "(16,16):(16,1)", "((4,8),(2,2,2)):((2,16),(1,128,8))"),
    "b": ("((4,8),(2,2)):((16,1),(8,64))", "(8,16):(16,1)", "((4,8),(2,2)):((2,16),(1,8))"),
    "d": ("((4,8),(2,2)):((32,1),(16,8))", "(16,8):(8,1)", "((4,8),(2,2)):((2,8),(1,64))"),
}


@pytest.mark.seed("lowering-overview", "companion-cute", "role-companions")
@pytest.mark.parametrize("sm", ["80", "90"])
def test_an_mma_whose_fragments_come_from_composed_layouts(sm):
    """D = A B, 16 x 8 x 16, rows in memory: the fragments' offsets are compositions of two layouts."""
    body = THREAD + '%atom = cute.make_atom : () -> !cute_nvgpu.sm80.mma<"16x8x16 f16 f16 f32">\n'
    body += "%zero = llvm.mlir.constant(0.0 : f32) : f32\n"
    for name, (fragment, memory, composed) in FRAGMENTS.items():
        element, count = ("f32", 4) if name == "d" else ("f16", 8 if name == "a" else 4)
        body += _fragment(name, element, count, fragment, memory, composed)
        body += "".join(_element(name, element, count, v, store=False) for v in range(count))
    kinds = {
        name: f'!cute.memref<{"f32" if name == "d" else "f16"}, rmem, "{n}:1">'
        for name, n in (("a", 8), ("b", 4), ("d", 4))
    }
    body += (
        f"cute.mma_atom_call %atom, %d_reg, %a_reg, %b_reg, %d_reg : "
        f'(!cute_nvgpu.sm80.mma<"16x8x16 f16 f16 f32">, {kinds["d"]}, {kinds["a"]}, {kinds["b"]}, {kinds["d"]}) -> ()\n'
    )
    body += "".join(_element("d", "f32", 4, v, store=True) for v in range(4))
    pointers = "%pa: !cute.ptr<f16, gmem>, %pb: !cute.ptr<f16, gmem>, %pd: !cute.ptr<f32, gmem>"
    generator = np.random.default_rng(7)
    a, b = (aligned(generator.integers(-8, 9, n).astype(np.float16)) for n in (256, 128))
    d = aligned(np.zeros(128, np.float32))
    launch(ptx_of(pointers, body, sm), [a, b, d], 32)
    expected = a.reshape(16, 16).astype(np.float32) @ b.reshape(8, 16).astype(np.float32).T
    np.testing.assert_array_equal(d.reshape(16, 8), expected)


def _fragment(name: str, element: str, count: int, fragment: str, memory: str, composed: str) -> str:
    """The pointer to a thread's first element, a view of its elements, and registers for them."""
    values = composed.split("),(")
    shape, stride = values[1].split(")")[0], composed.rsplit("(", 1)[1].split(")")[0]
    part = f"({shape}):({stride})"
    return (
        f'%{name}_tv = cute.static : !cute.layout<"{fragment}">\n'
        f'%{name}_mem = cute.static : !cute.layout<"{memory}">\n'
        f"%{name}_all = cute.composition %{name}_mem, %{name}_tv : "
        f'(!cute.layout<"{memory}">, !cute.layout<"{fragment}">) -> !cute.layout<"{composed}">\n'
        f'%{name}_at = cute.make_coord %tid : (i32) -> !cute.coord<"(?,0)">\n'
        f"%{name}_off = cute.crd2idx %{name}_at, %{name}_all : "
        f'(!cute.coord<"(?,0)">, !cute.layout<"{composed}">) -> i32\n'
        f"%{name}_ptr = cute.add_offset %p{name}, %{name}_off : "
        f"(!cute.ptr<{element}, gmem>, i32) -> !cute.ptr<{element}, gmem>\n"
        + view(f"{name}_view", f"%{name}_ptr", element, "gmem", part)
        + f'%{name}_reg = cute.memref.alloca : () -> !cute.memref<{element}, rmem, "{count}:1">\n'
    )


def _element(name: str, element: str, count: int, number: int, *, store: bool) -> str:
    """Element ``number`` of a thread's fragment, from or to memory."""
    _, _, composed = FRAGMENTS[name]
    shape = composed.split("),(")[1].split(")")[0]
    part = f'!cute.memref<{element}, gmem, "({shape}):({composed.rsplit("(", 1)[1].split(")")[0]})">'
    registers, at, tag = (
        f'!cute.memref<{element}, rmem, "{count}:1">',
        f'!cute.coord<"{number}">',
        f"{name}{number}{int(store)}",
    )
    source, from_, target, to = (
        (f"{name}_reg", registers, f"{name}_view", part) if store else (f"{name}_view", part, f"{name}_reg", registers)
    )
    text = f"%c{tag} = cute.static : {at}\n"
    if name == "d" and not store:
        return text + f"cute.memref.store %zero, %d_reg, %c{tag} : (f32, {registers}, {at}) -> ()\n"
    text += f"%x{tag} = cute.memref.load %{source}, %c{tag} : ({from_}, {at}) -> {element}\n"
    return text + f"cute.memref.store %x{tag}, %{target}, %c{tag} : ({element}, {to}, {at}) -> ()\n"


@pytest.mark.seed("lowering-overview", "role-companions")
def test_a_pipeline_hands_stages_over():
    """One warp fills stages, another empties them; two stages, five rounds."""
    pipeline, state, buffer = (
        "!cutlass.pipeline<2>",
        "!cutlass.pipeline.state",
        '!cute.memref<i32, smem, "(32,2):(1,32)">',
    )
    rounds = 5
    body = THREAD + "%storage = cute_nvgpu.arch.alloc_smem {size = 32 : i32} : () -> !llvm.ptr<3>\n"
    body += f"%s = cute.memref.alloc_smem : () -> {buffer}\n"
    body += f"%p = cutlass.pipeline.create %storage : (!llvm.ptr<3>) -> {pipeline}\n"
    body += view("o", "%out", "i32", "gmem", f"(32,{rounds}):(1,32)")
    body += """%thirty_two = llvm.mlir.constant(32 : i32) : i32
%zero = llvm.mlir.constant(0 : i32) : i32
%lane = llvm.urem %tid, %thirty_two : i32
%is_first = llvm.icmp "eq" %tid, %zero : i32
llvm.cond_br %is_first, ^init, ^start
^init:
"""
    body += f"cutlass.pipeline.init %p {{num_producers = 32 : i32, num_consumers = 32 : i32}} : ({pipeline}) -> ()\n"
    body += """llvm.br ^start
^start:
gpu.barrier
%produces = llvm.icmp "ult" %tid, %thirty_two : i32
llvm.cond_br %produces, ^producer, ^consumer
^producer:
"""
    body += f'%w0 = cutlass.pipeline.state.create {{role = "producer"}} : () -> {state}\n'
    for number in range(rounds):
        here, both = f"%w{number}", f"({pipeline}, {state})"
        body += f"cutlass.pipeline.producer_acquire %p, {here} : {both} -> ()\n"
        body += f"%wc{number} = llvm.mlir.constant({100 * number} : i32) : i32\n%wv{number} = llvm.add %wc{number}, %lane : i32\n"
        body += _place(f"w{number}", here, state)
        body += f'cute.memref.store %wv{number}, %s, %w{number}_at : (i32, {buffer}, !cute.coord<"(?,?)">) -> ()\n'
        body += f"cutlass.pipeline.producer_commit %p, {here} : {both} -> ()\n"
        body += f"%w{number + 1} = cutlass.pipeline.state.increment {here} {{stages = 2 : i32}} : {state}\n"
    body += f"cutlass.pipeline.producer_tail %p, %w{rounds} : ({pipeline}, {state}) -> ()\n"
    body += f'llvm.br ^end\n^consumer:\n%r0 = cutlass.pipeline.state.create {{role = "consumer"}} : () -> {state}\n'
    for number in range(rounds):
        here, both = f"%r{number}", f"({pipeline}, {state})"
        body += f"cutlass.pipeline.consumer_wait %p, {here} : {both} -> ()\n" + _place(f"r{number}", here, state)
        body += f'%rx{number} = cute.memref.load %s, %r{number}_at : ({buffer}, !cute.coord<"(?,?)">) -> i32\n'
        body += f"cutlass.pipeline.consumer_release %p, {here} : {both} -> ()\n"
        body += f'%ro{number} = cute.make_coord %lane : (i32) -> !cute.coord<"(?,{number})">\n'
        body += (
            f"cute.memref.store %rx{number}, %o, %ro{number} : "
            f'(i32, !cute.memref<i32, gmem, "(32,{rounds}):(1,32)">, !cute.coord<"(?,{number})">) -> ()\n'
        )
        body += f"%r{number + 1} = cutlass.pipeline.state.increment {here} {{stages = 2 : i32}} : {state}\n"
    out = aligned(np.zeros(32 * rounds, np.int32))
    launch(ptx_of("%out: !cute.ptr<i32, gmem>", body + "llvm.br ^end\n^end:", "90"), [out], 64)
    np.testing.assert_array_equal(out.reshape(rounds, 32), 100 * np.arange(rounds)[:, None] + np.arange(32))


def _place(name: str, state: str, type: str) -> str:
    return (
        f"%{name}_stage = cutlass.pipeline.state.get_index {state} : ({type}) -> i32\n"
        f'%{name}_at = cute.make_coord %lane, %{name}_stage : (i32, i32) -> !cute.coord<"(?,?)">\n'
    )


SHARED = "%s = cute_nvgpu.arch.alloc_smem {size = 1024 : i32, alignment = 1024 : i64} : () -> !cute.ptr<i32, smem>\n"


@pytest.mark.seed("lowering-overview", "companion-cute")
@pytest.mark.parametrize(
    ("sm", "body", "instruction"),
    [
        ("100", SHARED + "cute_nvgpu.arch.sm100.alloc_tmem %s {columns = 64 : i32} : (!cute.ptr<i32, smem>) -> ()", "tcgen05.alloc"),
        (
            "100",
            '%s = cute.memref.alloc_smem : () -> !cute.memref<f16, smem, "S<3,3,3> o 0 o (128,64):(64,1)">\n'
            '%d = cute_nvgpu.smem_desc_view %s {version = "tcgen05"} : (!cute.memref<f16, smem, '
            '"S<3,3,3> o 0 o (128,64):(64,1)">) -> !cute_nvgpu.smem_desc\n'
            'cute_nvgpu.arch.mma.SM100.umma %i, %d, %d, %b {atom = !cute_nvgpu.sm100.mma<"128x128x16 f16 f16 f32">} : '
            "(i32, !cute_nvgpu.smem_desc, !cute_nvgpu.smem_desc, i1) -> ()",
            "tcgen05.mma.cta_group::1.kind::f16",
        ),
        (
            "100",
            '%s = cute.memref.alloc_smem : () -> !cute.memref<i8, smem, "S<3,4,3> o 0 o (128,128):(128,1)">\n'
            '%d = cute_nvgpu.smem_desc_view %s {version = "tcgen05"} : (!cute.memref<i8, smem, '
            '"S<3,4,3> o 0 o (128,128):(128,1)">) -> !cute_nvgpu.smem_desc\n'
            'cute_nvgpu.arch.mma.SM100.umma %i, %d, %d, %b {atom = !cute_nvgpu.sm100.mma<"128x128x32 s8 u8 s32">} : '
            "(i32, !cute_nvgpu.smem_desc, !cute_nvgpu.smem_desc, i1) -> ()\n"
            "cute_nvgpu.arch.copy.SM100.copy_s2t %i, %d : (i32, !cute_nvgpu.smem_desc) -> ()",
            "tcgen05.cp.cta_group::1.128x256b",
        ),
        (
            "100",
            'cute_nvgpu.arch.copy.SM100.copy_s2t %i, %l {shape = "4x256b", cta_group = 2 : i32} : '
            "(i32, !cute_nvgpu.smem_desc) -> ()",
            "tcgen05.cp.cta_group::2.4x256b",
        ),
        (
            "100",
            "%x, %y = cute_nvgpu.arch.copy.SM100.tmem_load %i : (i32) -> (i32, i32)\n"
            "cute_nvgpu.arch.copy.SM100.tmem_store %i registers(%y, %x) : (i32, i32, i32) -> ()\n"
            "cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit : () -> ()\n"
            "cute_nvgpu.arch.sm100.dealloc_tmem %i {columns = 32 : i32} : (i32) -> ()",
            "tcgen05.ld.sync.aligned.32x32b.x2.b32",
        ),
        (
            "90",
            SHARED + "cute_nvgpu.arch.copy.SM100.tma_reduce %m, %s coords(%i, %i) {kind = \"max\"} : "
            "(!cute_nvgpu.tma_desc, !cute.ptr<i32, smem>, i32, i32) -> ()\n"
            "cute_nvgpu.arch.copy.SM100.tma_store %m, %s coords(%i, %i) : "
            "(!cute_nvgpu.tma_desc, !cute.ptr<i32, smem>, i32, i32) -> ()",
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.max",
        ),
        (
            "90",
            SHARED + '%u = cute_nvgpu.arch.make_warp_uniform %i : (i32) -> i32\n'
            'cute_nvgpu.arch.copy.stsm %s registers(%u, %u) {atom = !cute_nvgpu.atom.stsm<"8x8 x2 trans">} : '
            "(!cute.ptr<i32, smem>, i32, i32) -> ()",
            "stmatrix.sync.aligned.m8n8.x2.trans.shared",
        ),
        (
            "90",
            '%s = cute.memref.alloc_smem : () -> !cute.memref<f16, smem, "S<3,3,3> o 0 o (64,64):(64,1)">\n'
            "%d = cute_nvgpu.smem_desc_view %s : "
            '(!cute.memref<f16, smem, "S<3,3,3> o 0 o (64,64):(64,1)">) -> !cute_nvgpu.smem_desc\n'
            '%c = cute.memref.alloca : () -> !cute.memref<f32, rmem, "32:1">\n'
            '%atom = cute.make_atom : () -> !cute_nvgpu.sm90.mma<"64x64x16 f16 f16 f32">\n'
            'cute.mma_atom_call %atom, %c, %d, %d, %c : (!cute_nvgpu.sm90.mma<"64x64x16 f16 f16 f32">, '
            '!cute.memref<f32, rmem, "32:1">, !cute_nvgpu.smem_desc, !cute_nvgpu.smem_desc, !cute.memref<f32, rmem, "32:1">)'
            " -> ()\n"
            '%v = cute.memref.load_vec %c : (!cute.memref<f32, rmem, "32:1">) -> vector<32xf32>\n'
            "llvm.store %v, %p : vector<32xf32>, !llvm.ptr",
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
        ),
    ],
)  # fmt: skip
def test_the_assembler_takes_the_atoms(sm, body, instruction):
    arguments = "%i: i32, %b: i1, %m: !cute_nvgpu.tma_desc, %l: !cute_nvgpu.smem_desc, %p: !llvm.ptr"
    assert instruction in ptx_of(arguments, body, sm)


@pytest.mark.seed("lowering-overview", "role-companions", "companion-cute")
@pytest.mark.parametrize(
    "name", sorted({*CUTE_OPERATIONS, *NVGPU_OPERATIONS, *CUTLASS_OPERATIONS} - {*cute_rules(), *cutlass_rules()})
)
def test_what_has_no_rewrite_is_named(name):
    text = f"func.func @k(%x: i32) {{\n{name} %x : (i32) -> ()\nfunc.return\n}}\n"
    with pytest.raises(Unsupported, match=f"failed to legalize operation '{name}'"):
        opt.run(text, PASSES[:2])


def test_every_rewrite_has_an_operation():
    assert {*cute_rules()} <= {*CUTE_OPERATIONS, *NVGPU_OPERATIONS} and {*cutlass_rules()} <= {*CUTLASS_OPERATIONS}
