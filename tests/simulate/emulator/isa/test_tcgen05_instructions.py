"""Tensor memory: allocation, ld and st, cp, commit; fragments and copies by the ISA's formulas."""

import subprocess
from contextlib import nullcontext

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, aligned, run
from tests.simulate.emulator.tensor_kernels import (
    COMMIT,
    encode,
    k_major_address,
    place,
    random_matrix,
    row_bytes,
    run_tensor,
    scaled_instruction,
    tensor_program,
)
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.simulate.emulator import EmulatorFault, UnsupportedInstruction

# Figures 183 to 187: (lane, column) of register r of a thread, and registers per repetition.
FRAGMENTS = {
    "32x32b": (lambda t, r: (t, r), 1),
    "16x64b": (lambda t, r: (t // 4 + 8 * (t % 2), t // 2 % 2 + 2 * r), 1),
    "16x128b": (lambda t, r: (t // 4 + 8 * (r % 2), t % 4 + 4 * (r // 2)), 2),
    "16x256b": (lambda t, r: (t // 4 + 8 * (r // 2 % 2), r % 2 + 2 * (t % 4) + 8 * (r // 4)), 4),
    "16x32bx2": (lambda t, r: (t % 16, r + SPLIT * (t // 16)), 1),
}
SPLIT = 20
WIDTHS = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 1}  # columns per repetition
# Every other count of a shape packs two columns into a register, and the largest that its registers hold does not.
SHAPES = [
    (shape, count, packed)
    for row, (shape, (_, per)) in enumerate(FRAGMENTS.items())
    for place, count in enumerate((1, 2, 4, 8, 16, 32, 64, 128))
    for packed in (False, True)
    if packed == ((row + place) % 2 == 0) or count * per == 128
    if count * per <= 128 and count * WIDTHS[shape] * (1 + packed) < 500 and (shape != "16x32bx2" or count <= 8)
]


def transfer_kernel(body: str, registers: int, threads: int = 128, columns: int = 512) -> str:
    """PTX of k(cells in, registers in/out): all cells filled by column-wise stores, then ``body``; t2 = the warp's address."""
    fill = "\n".join(
        f"ld.global.b32 t3, [u3+{512 * c}]; add.u32 t4, t2, {c}; tcgen05.st.sync.aligned.32x32b.x1.b32 [t4], {{t3}};"
        for c in range(columns)
    )
    return f"""{HEADER}
.visible .entry k(.param .u64 k_0, .param .u64 k_1) .reqntid {threads}, 1, 1 {{
.reg .pred p<4>; .reg .b32 t<8>; .reg .b32 r<{registers}>; .reg .b64 u<8>; .shared .align 4 .b32 slot;
ld.param.u64 u0, [k_0]; ld.param.u64 u1, [k_1]; mov.u32 t0, %tid.x;
setp.ge.u32 p0, t0, 32; @!p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {columns};
bar.sync 0; ld.shared.b32 t1, [slot]; shr.u32 t2, t0, 5; and.b32 t2, t2, 3; shl.b32 t2, t2, 21; add.u32 t2, t2, t1;
and.b32 t5, t0, 127; mul.wide.u32 u2, t5, 4; add.u64 u3, u0, u2;
{fill}
tcgen05.wait::st.sync.aligned;
mul.wide.u32 u4, t0, {4 * registers}; add.u64 u5, u1, u4;
{body}
bar.sync 0;
@!p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 t1, {columns};
ret;
}}
"""


def registers_text(count: int) -> str:
    return "{" + ", ".join(f"r{i}" for i in range(count)) + "}"


def stores(count: int) -> str:
    return "\n".join(f"st.global.b32 [u5+{4 * i}], r{i};" for i in range(count))


def loads(count: int) -> str:
    return "\n".join(f"ld.global.b32 r{i}, [u5+{4 * i}];" for i in range(count))


@pytest.mark.parametrize("shape, count, packed", SHAPES, ids=str)
def test_ld(shape, count, packed):
    """Every register of every lane of four warps; 16-lane shapes from the upper half too."""
    formula, per = FRAGMENTS[shape]
    number, first = per * count, 4
    half = 0 if shape == "32x32b" else 16
    read = count * WIDTHS[shape] * (1 + packed) + (SPLIT if shape == "16x32bx2" else 0)
    columns = max(32, 1 << (first + read - 1).bit_length())  # what may be allocated; filling them all takes longest
    cells = aligned(np.arange(columns * 128, dtype=np.uint32).reshape(columns, 128) * np.uint32(2654435761))
    out = aligned(np.zeros((128, number), np.uint32))
    split = f", {SPLIT}" if shape == "16x32bx2" else ""
    pack = ".pack::16b" if packed else ""
    body = f"add.u32 t4, t2, {first + (half << 16)}; tcgen05.ld.sync.aligned.{shape}.x{count}{pack}.b32 {registers_text(number)}, [t4]{split}; tcgen05.wait::ld.sync.aligned; {stores(number)}"
    run(transfer_kernel(body, number, columns=columns), cells, out)
    thread, register = np.ogrid[:32, :number]
    lane, column = np.broadcast_arrays(*formula(thread, register))
    base = SPLIT * (thread // 16) if shape == "16x32bx2" else 0
    for warp in range(4):
        if packed:
            pair = first + base + 2 * (column - base)
            low, high = (cells[pair + i, 32 * warp + half + lane] & 0xFFFF for i in (0, 1))
            want = low | high << 16
        else:
            want = cells[first + column, 32 * warp + half + lane]
        np.testing.assert_array_equal(out[32 * warp : 32 * warp + 32], want)


def test_registers_may_be_read_before_the_wait():
    """Their use is ordered after the load as it is; what the wait orders is tensor memory (section 9.7.16.6.4.5)."""
    cells = aligned(np.arange(32 * 128, dtype=np.uint32).reshape(32, 128))
    out = aligned(np.zeros((128, 1), np.uint32))
    body = f"tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r0}}, [t2]; {stores(1)} tcgen05.wait::ld.sync.aligned;"
    run(transfer_kernel(body, 1, columns=32), cells, out)
    np.testing.assert_array_equal(out[:, 0], cells[0])


@pytest.mark.parametrize(
    "column, is_stored", [(0, True), (1, True), (2, False), (SPLIT, True), (SPLIT + 1, True), (SPLIT + 2, False)]
)
def test_both_spans_of_columns_need_a_wait(column, is_stored):
    cells, values = aligned(np.zeros((32, 128), np.uint32)), aligned(np.zeros((128, 2), np.uint32))
    body = f"""{loads(2)} tcgen05.st.sync.aligned.16x32bx2.x2.b32 [t2], {SPLIT}, {registers_text(2)}; add.u32 t4, t2, {column};
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r0}}, [t4]; tcgen05.wait::ld.sync.aligned; {stores(1)} tcgen05.wait::st.sync.aligned;"""
    with pytest.raises(EmulatorFault, match="has not been waited for") if is_stored else nullcontext():
        run(transfer_kernel(body, 2, columns=32), cells, values)


@pytest.mark.parametrize(
    "shape, count", [("32x32b", 16), ("16x64b", 8), ("16x128b", 4), ("16x256b", 2), ("16x32bx2", 4)]
)
@pytest.mark.parametrize("packed", [False, True])
def test_st_is_the_inverse_of_ld(shape, count, packed):
    number = FRAGMENTS[shape][1] * count
    cells = aligned(np.zeros((64, 128), np.uint32))
    data = np.random.default_rng(0).integers(0, 1 << 32, (128, number)).astype(np.uint32)
    values = aligned(data)
    split = f", {SPLIT}" if shape == "16x32bx2" else ""
    un, pack = (".unpack::16b", ".pack::16b") if packed else ("", "")
    body = f"""{loads(number)} tcgen05.st.sync.aligned.{shape}.x{count}{un}.b32 [t2]{split}, {registers_text(number)}; tcgen05.wait::st.sync.aligned;
    {"".join(f"mov.u32 r{i}, 0;" for i in range(number))}
    tcgen05.ld.sync.aligned.{shape}.x{count}{pack}.b32 {registers_text(number)}, [t2]{split}; tcgen05.wait::ld.sync.aligned; {stores(number)}"""
    run(transfer_kernel(body, number, columns=64), cells, values)
    np.testing.assert_array_equal(values, data)


REDUCTIONS = {
    "min.f32": lambda v: np.fmin.reduce(v.view(np.float32), axis=1),
    "min.NaN.f32": lambda v: np.minimum.reduce(v.view(np.float32), axis=1),
    "max.abs.f32": lambda v: np.fmax.reduce(np.abs(v.view(np.float32)), axis=1),
    "max.abs.NaN.f32": lambda v: np.maximum.reduce(np.abs(v.view(np.float32)), axis=1),
    "f32.max": lambda v: np.fmax.reduce(v.view(np.float32), axis=1),
    "max.u32": lambda v: v.max(axis=1),
    "min.u32": lambda v: v.min(axis=1),
    "min.s32": lambda v: v.view(np.int32).min(axis=1),
    "max.s32": lambda v: v.view(np.int32).max(axis=1),
}


def reduction(form: str, shape: str = "32x32b", count: int = 8, tail: str = "") -> str:
    return f"tcgen05.ld.red.sync.aligned.{shape}.x{count}.{form} {registers_text(count)}, r{count}, [t2]{tail};"


@pytest.mark.parametrize("count", [2, 8, 32])
@pytest.mark.parametrize("form", REDUCTIONS)
def test_ld_with_reduction(form, count):
    """Over the columns of each lane; a NaN loses without .NaN."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((32, 128)).astype(np.float32)
    if "f32" in form:
        values[1, ::3] = np.nan
    cells = aligned(values.view(np.uint32))
    out = aligned(np.zeros((128, count + 1), np.uint32))
    body = f"{reduction(form, count=count)} tcgen05.wait::ld.sync.aligned; {stores(count + 1)}"
    run(transfer_kernel(body, count + 1, columns=32), cells, out)
    np.testing.assert_array_equal(out[:, :count], cells[:count].T)
    want = REDUCTIONS[form](np.ascontiguousarray(cells[:count].T))
    np.testing.assert_array_equal(np.ascontiguousarray(out[:, count]).view(want.dtype), want)


@pytest.mark.parametrize(
    "text, why",
    [
        (reduction("max.u32", "16x32bx2", tail=", 16"), "the ISA does not specify whether the two accesses"),
        (reduction("max.u32", tail=", 16"), "the operands of tcgen05 are"),
        (reduction("max.u32", count=1), "unsupported form"),
        (reduction("max.abs.u32"), "unsupported form"),
        (reduction("pack::16b.max.u32"), "unsupported form"),
    ],
)
def test_unsupported_reductions(text, why):
    with pytest.raises(UnsupportedInstruction, match=why):
        run(transfer_kernel(text, 9, columns=32), np.zeros((32, 128), np.uint32), np.zeros((128, 9), np.uint32))


def test_ptxas_accepts_the_reductions(tmp_path):
    source = tmp_path / "k.ptx"
    body = "\n".join(reduction(form) for form in REDUCTIONS)
    declare = ".reg .b32 r<9>; .reg .b32 t<3>;"
    source.write_text(
        f".version 9.0\n.target sm_103a\n.address_size 64\n.visible .entry k() {{\n{declare}\n{body}\nret;\n}}\n"
    )
    command = [find_ptxas(), "-arch=sm_103a", "-O0", "-o", tmp_path / "k.cubin", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_one_cta_group_per_kernel():
    body = "@p0 bra E; tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned; E:"
    with pytest.raises(UnsupportedInstruction, match="same .cta_group"):
        run(transfer_kernel(body, 1, columns=32), np.zeros((32, 128), np.uint32), np.zeros(128, np.uint32))


def test_unpacked_stores_fill_low_halves():
    cells, values = aligned(np.zeros((32, 128), np.uint32)), aligned(np.full((128, 2), 0x22221111, np.uint32))
    body = f"""{loads(1)} tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [t2], {{r0}}; tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x2.b32 {registers_text(2)}, [t2]; tcgen05.wait::ld.sync.aligned; {stores(2)}"""
    run(transfer_kernel(body, 2, columns=32), cells, values)
    assert (values == [0x1111, 0x2222]).all()


FAULTS = [
    ("add.u32 t4, t2, 0x200000; tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t4];", "warp 0 may only access lanes 0 to 31"),
    ("add.u32 t4, t2, 0x100000; tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t4];", "warp 0 may only access lanes 0 to 31"),
    ("add.u32 t4, t2, 0x80000; tcgen05.ld.sync.aligned.16x64b.x1.b32 {r0}, [t4];", "warp 0 may only access lanes 0 to 31"),
    ("add.u32 t4, t2, 32; tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t4];", "columns 32 to 32 of tensor memory are not allocated"),
    ("add.u32 t4, t2, 31; tcgen05.st.sync.aligned.16x64b.x1.b32 [t4], {t0};", "columns 31 to 32 of tensor memory are not allocated"),
    ("add.u32 t4, t2, t0; tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t4];", "different operands"),
    ("tcgen05.st.sync.aligned.32x32b.x1.b32 [t2], {t0}; tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t2];", "wait::st"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t2]; bar.sync 0; @!p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 t1, 32;", "tcgen05.ld of these columns has not been waited for"),
    ("tcgen05.st.sync.aligned.32x32b.x1.b32 [t2], {t0}; bar.sync 0; @!p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 t1, 32;", "tcgen05.st to these columns has not been waited for"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t2]; tcgen05.st.sync.aligned.32x32b.x1.b32 [t2], {t0};", "wait::ld"),
    ("@!p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 t1, 64;", "no allocation of 64 columns"),
    ("@!p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 24;", "24 columns: must be a power of two"),
    ("@!p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;", "64 columns: more than the preceding allocation of 32"),
    ("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; @!p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;", "after tcgen05.relinquish_alloc_permit"),
    ("@!p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;", "32 columns of tensor memory are still allocated at exit"),
    ("setp.eq.u32 p1, t0, 3; @p1 exit; tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t2];", "not all 32 threads"),
]  # fmt: skip


@pytest.mark.parametrize("body, message", FAULTS, ids=[m[:40] for _, m in FAULTS])
def test_faults(body, message):
    with pytest.raises(EmulatorFault, match=message):
        run(
            transfer_kernel(body, 1, columns=32),
            aligned(np.zeros((32, 128), np.uint32)),
            aligned(np.zeros(128, np.uint32)),
        )


def test_alloc_blocks_until_columns_are_free():
    """Warp 1 wants all columns while warp 0 holds half of them; it goes on after the deallocation."""
    body = """.reg .b32 t<8>; .reg .pred p<4>; .reg .b64 u<4>; .shared .align 8 .b32 slot[2]; .shared .b32 flag;
    ld.param.u64 u0, [k_0]; mov.u32 t0, %tid.x; setp.ge.u32 p0, t0, 32; @p0 bra B;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512; bar.sync 1, 64;
    mov.u32 t3, 0; L: add.u32 t3, t3, 1; setp.lt.u32 p1, t3, 50; @p1 bra L;
    mov.u32 t4, 7; st.shared.b32 [flag], t4;
    ld.shared.b32 t1, [slot]; tcgen05.dealloc.cta_group::1.sync.aligned.b32 t1, 512; bra E;
    B: bar.sync 1, 64; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 256;
    ld.shared.b32 t5, [flag]; ld.shared.b32 t1, [slot+4]; st.global.b32 [u0], t5;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 t1, 256;
    E: ret;"""
    out = np.zeros(2, np.uint32)
    run(f"{HEADER}.visible .entry k(.param .u64 k_0) .reqntid 64, 1, 1 {{ {body} }}", out)
    assert out[0] == 7


def test_alloc_deadlock():
    body = """.reg .b32 t<4>; .shared .align 8 .b32 slot[2]; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 32; ret;"""
    with pytest.raises(EmulatorFault, match="deadlock: threads wait for free columns of tensor memory"):
        run(f"{HEADER}.visible .entry k() .reqntid 32, 1, 1 {{ {body} }}")


def test_two_allocations_do_not_overlap():
    body = """.reg .b32 t<4>; .reg .b64 u<4>; .shared .align 8 .b32 slot[2]; ld.param.u64 u0, [k_0];
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 256; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 64;
    ld.shared.v2.b32 {t1, t2}, [slot]; st.global.v2.b32 [u0], {t1, t2};
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 t2, 64; tcgen05.dealloc.cta_group::1.sync.aligned.b32 t1, 256; ret;"""
    out = aligned(np.zeros(2, np.uint32))
    run(f"{HEADER}.visible .entry k(.param .u64 k_0) .reqntid 32, 1, 1 {{ {body} }}", out)
    assert abs(int(out[0]) - int(out[1])) >= 64 and int(out[0]) + 256 <= 512


# -- cp ----------------------------------------------------------------------------------------------
# Shape, multicast -> destination lanes of a source row (section 9.7.16.9.2).
COPIES = {
    "128x256b": (128, 32, lambda row: [row]),
    "128x128b": (128, 16, lambda row: [row]),
    "4x256b": (4, 32, lambda row: [32 * row]),
    "64x128b.warpx2::02_13": (64, 16, lambda row: [row, row + 64]),
    "64x128b.warpx2::01_23": (64, 16, lambda row: [row % 32 + 64 * (row // 32) + 32 * i for i in (0, 1)]),
    "32x128b.warpx4": (32, 16, lambda row: [row + 32 * i for i in range(4)]),
}


def copy_text(form: str, word: int) -> str:
    return f"mov.u64 d0, {word}; add.u32 t9, t1, 8; tcgen05.cp.cta_group::1.{form} [t9], d0; {COMMIT}"


@pytest.mark.parametrize("form", COPIES)
@pytest.mark.parametrize("swizzle", [0, 32, 128])
def test_cp(form, swizzle):
    rows, width, lanes = COPIES[form]
    rng = np.random.default_rng(0)
    shared, cells = np.zeros(32768, np.uint8), np.zeros((1, 128, 32), np.uint32)
    data = rng.integers(0, 256, (rows, width)).astype(np.uint8)
    leading, stride = (2048, 128) if swizzle == 0 else (0, 8 * swizzle)
    place(shared, data, k_major_address, 1024, leading, stride, swizzle)
    out = run_tensor(shared, copy_text(form, encode(1024, leading, stride, swizzle)), cells)
    want = cells.copy()
    for row in range(rows):
        for lane in lanes(row):
            want[0, lane, 8 : 8 + width // 4] = data[row].view(np.uint32)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("type_, source", [("e2m1", "b4x16_p64"), ("e3m2", "b6x16_p32")])
def test_cp_decompresses(type_, source):
    """Codes of 4 bits go to bits 2 to 5 of a byte, codes of 6 bits to the low six."""
    codes = np.random.default_rng(0).integers(0, 16 if type_ == "e2m1" else 64, (128, 32)).astype(np.uint8)
    shared = np.zeros(32768, np.uint8)
    place(shared, row_bytes(codes, type_), k_major_address, 0, 2048, 128, 0)
    out = run_tensor(
        shared, copy_text(f"128x256b.b8x16.{source}", encode(0, 2048, 128)), np.zeros((1, 128, 32), np.uint32)
    )
    np.testing.assert_array_equal(out[0, :, 8:16].copy().view(np.uint8), codes << 2 if type_ == "e2m1" else codes)


def test_cp_races_with_stores_of_other_warps():
    """Racecheck requires a barrier between their tcgen05.st and the copy."""
    shared, cells = aligned(np.zeros((1, 32768), np.uint8)), aligned(np.zeros((1, 128, 32), np.uint32))
    ptx = tensor_program(32768, copy_text("32x128b.warpx4", encode(1024, 0, 128, 0)), 32)
    run(ptx, shared, cells, aligned(cells), check_races=True)
    meet = "tcgen05.fence::before_thread_sync; bar.sync 0;"
    assert ptx.count(meet) == 1
    with pytest.raises(
        EmulatorFault, match="race on tensor memory: no synchronization orders an access by warp 1 in columns 8 to 11"
    ):
        run(ptx.replace(meet, ""), shared, cells, aligned(cells), check_races=True)


def test_cp_is_ordered_before_a_later_mma():
    """Scale factors copied and used without a wait between (section 9.7.16.6.2)."""
    rng = np.random.default_rng(1)
    shared = np.zeros(49152, np.uint8)
    a_codes, a = random_matrix(rng, (128, 32), "e4m3")
    b_codes, b = random_matrix(rng, (32, 32), "e4m3")
    place(shared, row_bytes(a_codes, "e4m3"), k_major_address, 0, 0, 1024, 128)
    place(shared, row_bytes(b_codes, "e4m3"), k_major_address, 16384, 0, 1024, 128)
    factors = rng.integers(120, 130, 128).astype(np.uint8)  # of A: row r in lane r % 32, word r // 32, byte 0
    image = np.full((32, 4, 4), 127, np.uint8)
    image[:, :, 0] = factors.reshape(4, 32).T
    place(shared, image.reshape(32, 16), k_major_address, 32768, 0, 128, 0)
    place(shared, np.full((32, 16), 127, np.uint8), k_major_address, 40960, 0, 128, 0)
    text = f"""mov.u64 d0, {encode(32768, 0, 128)}; mov.u64 d1, {encode(40960, 0, 128)}; add.u32 t10, t1, 32; add.u32 t11, t1, 36;
    tcgen05.cp.cta_group::1.32x128b.warpx4 [t10], d0; tcgen05.cp.cta_group::1.32x128b.warpx4 [t11], d1;
    mov.u64 d0, {encode(0, 0, 1024, 128)}; mov.u64 d1, {encode(16384, 0, 1024, 128)}; mov.u32 t9, {scaled_instruction(128, 32, 0, 0, 1)};
    tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [t1], d0, d1, t9, [t10], [t11], 0; {COMMIT}"""
    out = run_tensor(shared, text, np.zeros((1, 128, 64), np.uint32))[0, :, :32].copy().view(np.float32)
    np.testing.assert_allclose(out, (a * np.exp2(factors.astype(float) - 127)[:, None]) @ b.T, rtol=1e-5)


def test_commit_without_operations_arrives():
    run_tensor(np.zeros(16, np.uint8), COMMIT, np.zeros((1, 128, 32), np.uint32))
