"""Bulk copies: boxes of tensors, computed element by element by the ISA's rules, contiguous copies, and faults."""

import dataclasses
import itertools
import subprocess
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, aligned, kernel, run
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import EmulatorError, EmulatorFault, UnsupportedInstruction
from tileiras_build.simulate.emulator.tensor_map import Im2colParameters, TensorMap, decode

NAMES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "uint8": "u8", "int32": "i32", "uint32": "u32", "uint64": "u64",
         "float64": "f64", "uint16": "u16", "int64": "i64"}  # fmt: skip
SPAN = {"none": 0, "32B": 32, "64B": 64, "128B": 128, "128B_ATOM_32B": 128}
SHARED = 16384


def shared_offset(row, byte, row_bytes, swizzle, start=0):
    """The offset of a byte of a box: rows in order, 16-byte chunks XORed with the 128-byte row (section 5.5.6)."""
    span = SPAN[swizzle]
    address = start + row * (span or row_bytes) + byte
    if swizzle == "128B_ATOM_32B":
        return address ^ (address >> 7 & 3) << 5
    return address ^ ((address >> 7 & (span // 16 - 1)) << 4) if span else address


def box_image(tensor, box, corner, swizzle="none", steps=None, fill=0, image=None):
    """Shared memory after the load of one box, byte by byte. Arrays are C-ordered: the last axis is dimension 0."""
    steps = steps or [1] * tensor.ndim
    image = np.zeros(SHARED, np.uint8) if image is None else image
    counts = [box[0]] + [-(-b // s) for b, s in zip(box[1:], steps[1:])]
    size = tensor.itemsize
    for row, outer in enumerate(itertools.product(*(range(c) for c in counts[:0:-1]))):
        place = [corner[d] + j * steps[d] for d, j in zip(range(tensor.ndim - 1, 0, -1), outer)]
        for k in range(box[0]):
            index = (*place, corner[0] + k)
            inside = all(0 <= i < n for i, n in zip(index, tensor.shape))
            value = tensor[index] if inside else np.frombuffer(fill.to_bytes(size, "little"), tensor.dtype)[0]
            at = shared_offset(row, k * size, box[0] * size, swizzle)
            image[at : at + size] = np.frombuffer(value.tobytes(), np.uint8)
    return image


def tensor_map(tensor, box, swizzle="none", steps=None, fill="zero", element=None, shape=None):
    strides = tuple(reversed(tensor.strides[:-1]))
    return TensorMap(
        element or NAMES[tensor.dtype.name], tensor.__array_interface__["data"][0], tuple(reversed(shape or tensor.shape)),
        strides, tuple(box), tuple(steps or [1] * tensor.ndim), swizzle, fill,
    )  # fmt: skip


PTX = (
    HEADER
    + """.visible .entry k(.param .u64 k_0, .param .align 64 .b8 map[128]) .reqntid {threads}, 1, 1 {{
.reg .pred p<8>; .reg .b32 t<16>; .reg .b64 u<16>; .shared .align 1024 .b8 s[16384]; .shared .align 8 .b64 bar;
ld.param.u64 u0, [k_0]; mov.u32 t0, %tid.x; mov.u32 t1, s; mov.u32 t2, bar; setp.ne.u32 p0, t0, 0; mov.b64 u1, map; cvta.param.u64 u2, u1;
{body}
ret;
}}
"""
)
CLEAR = """mul.lo.u32 t3, t0, 4; mov.u32 t4, 0; CLEAR: add.u32 t5, t1, t3; st.shared.u32 [t5], t4; add.u32 t3, t3, {step}; setp.lt.u32 p1, t3, 16384; @p1 bra CLEAR;
@!p0 mbarrier.init.shared.b64 [t2], 1; fence.proxy.async; bar.sync 0;
"""
DUMP = """mul.lo.u32 t3, t0, 4; DUMP: add.u32 t5, t1, t3; ld.shared.u32 t6, [t5]; cvt.u64.u32 u5, t3; add.u64 u5, u5, u0; st.global.u32 [u5], t6;
add.u32 t3, t3, {step}; setp.lt.u32 p1, t3, 16384; @p1 bra DUMP;
"""
WAIT = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 p2, [t2], 0; @!p2 bra WAIT;\n"


def execute(body, tensor, descriptor, image=None, threads=32):
    """Run a body between clearing and dumping shared memory; returns what shared memory holds in the end."""
    out = aligned(np.zeros(SHARED, np.uint8) if image is None else image)
    memory = emulator.Memory()
    memory.map_array(tensor)
    params = [memory.map_array(out).to_bytes(8, "little"), descriptor.encode()]
    text = (CLEAR + body + DUMP).replace("{step}", str(4 * threads))
    emulator.run_ptx(PTX.format(body=text, threads=threads), "k", 1, None, params, memory=memory, findings="fault")
    return out


def load(tensor, descriptor, corner, more="", operands="", bytes_=None):
    rank = tensor.ndim
    at = ", ".join(str(c) for c in corner)
    body = f"""@!p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [t2], {descriptor.box_bytes if bytes_ is None else bytes_};
    @!p0 cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{more} [t1], [u2, {{{at}}}], [t2]{operands};\n"""
    return execute(body + WAIT, tensor, descriptor)


def random(rng, shape, dtype):
    return aligned(
        rng.integers(0, 256, (*shape[:-1], shape[-1] * np.dtype(dtype).itemsize)).astype(np.uint8).view(dtype)
    )


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B", "128B_ATOM_32B"])
@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.float32, np.uint64], ids=lambda d: d.__name__)
def test_swizzles(dtype, swizzle):
    rng = np.random.default_rng(1)
    columns = (SPAN[swizzle] or 48) // np.dtype(dtype).itemsize
    tensor = random(rng, (24, 2 * columns), dtype)
    box = [columns, 16]
    out = load(tensor, tensor_map(tensor, box, swizzle), (columns, 5))
    np.testing.assert_array_equal(out, box_image(tensor, box, (columns, 5), swizzle))


@pytest.mark.parametrize("corner", [(-8, -3), (24, 13), (-5, 2), (29, -2), (100, 0), (3, 40)])
@pytest.mark.parametrize("fill", ["zero", "nan"])
def test_out_of_bounds_fill(corner, fill):
    tensor = random(np.random.default_rng(2), (16, 32), np.float16)
    box = [16, 8]
    out = load(tensor, tensor_map(tensor, box, "32B", fill=fill), corner)
    np.testing.assert_array_equal(out, box_image(tensor, box, corner, "32B", fill=0x7FFF if fill == "nan" else 0))


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_every_rank(rank):
    rng = np.random.default_rng(rank)
    shape = (3, 4, 5, 3, 32)[-rank:]
    tensor = random(rng, shape, np.float32)
    box = [8, 2, 3, 2, 2][:rank]
    corner = (5, 1, -1, 2, 1)[:rank]
    out = load(tensor, tensor_map(tensor, box), corner, more=".L2::cache_hint", operands=", u9")
    np.testing.assert_array_equal(out, box_image(tensor, box, corner))


def test_element_strides():
    tensor = random(np.random.default_rng(3), (9, 20, 16), np.float16)
    box, steps = [8, 5, 6], [1, 2, 3]
    out = load(tensor, tensor_map(tensor, box, steps=steps), (4, 3, 1))
    np.testing.assert_array_equal(out, box_image(tensor, box, (4, 3, 1), steps=steps))


def test_map_of_a_part_of_a_tensor():
    """The map's shape, not the memory's, bounds the copy."""
    whole = random(np.random.default_rng(4), (12, 64), np.float16)
    out = load(whole, tensor_map(whole, [32, 8], "64B", shape=(7, 30)), (0, 2))
    np.testing.assert_array_equal(out, box_image(whole[:7, :30], [32, 8], (0, 2), "64B"))


def test_tf32_rounds():
    """Elements declared tf32 arrive rounded to 10 bits of fraction: ties to even, infinities and NaNs as they are."""
    values = [1 + 2**-11, 1 + 3 * 2**-11, -1 - 2**-11 - 2**-20, 2 - 2**-12, 3.0, np.inf, -np.inf, np.nan]
    tensor = aligned(np.array([values], np.float32))
    out = load(tensor, tensor_map(tensor, [8, 1], element="tf32"), (0, 0))
    expected = [1, 1 + 2**-9, -1 - 2**-10, 2, 3, np.inf, -np.inf, np.nan]
    np.testing.assert_array_equal(out[:32].view(np.float32), np.array(expected, np.float32))


def test_ctas_load_different_boxes():
    """Block b loads row b; a grid at once."""
    tensor = random(np.random.default_rng(5), (50, 32), np.float32)
    descriptor = tensor_map(tensor, [32, 1], "128B")
    out = aligned(np.zeros((50, 128), np.uint8))
    memory = emulator.Memory()
    memory.map_array(tensor)
    body = (
        """@!p0 mbarrier.init.shared.b64 [t2], 1; bar.sync 0; mov.u32 t7, %ctaid.x; @!p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [t2], 128;
    @!p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [t1], [map, {0, t7}], [t2];"""
        + WAIT
        + """
    mad.lo.u32 t3, t0, 4, t1; ld.shared.u32 t6, [t3]; mad.lo.u32 t8, t7, 32, t0; mul.wide.u32 u5, t8, 4; add.u64 u5, u5, u0; st.global.u32 [u5], t6;"""
    )
    params = [memory.map_array(out).to_bytes(8, "little"), descriptor.encode()]
    emulator.run_ptx(PTX.format(body=body, threads=32), "k", 50, None, params, memory=memory)
    np.testing.assert_array_equal(out, tensor.view(np.uint8))


@pytest.mark.parametrize("early", ["ld.shared.u32 t9, [t1+16];", "st.shared.u32 [t1+16], t3;"])
@pytest.mark.parametrize("line", [False, True])
def test_accesses_before_the_wait(early, line):
    tensor = random(np.random.default_rng(6), (8, 64), np.float16)
    copy = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [t1], [u2, {0, 0}], [t2];"
    if line:
        copy = f"mov.u64 u6, {tensor.ctypes.data}; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [t1], [u6], 1024, [t2];"
    copy = (
        "@!p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [t2], 1024; @!p0 "
        + copy.replace("; cp", "; @!p0 cp")
        + "bar.sync 0;\n"
    )
    descriptor = tensor_map(tensor, [64, 8], "128B")
    out = execute(copy + WAIT + ("" if "st." in early else early), tensor, descriptor)
    np.testing.assert_array_equal(
        out[:1024], tensor.view(np.uint8).reshape(-1) if line else box_image(tensor, [64, 8], (0, 0), "128B")[:1024]
    )
    with pytest.raises(
        EmulatorFault, match="shared memory (read|written) before a wait for the copy to it at line .*cp.async.bulk"
    ):
        execute(copy + early + WAIT, tensor, descriptor)


# -- stores and reductions ---------------------------------------------------------------------------
def store(tensor, descriptor, corner, data, form="cp.async.bulk.tensor", operation=""):
    """Fill shared memory with ``data`` (bytes) and copy a box of it to ``tensor``."""
    at = ", ".join(str(c) for c in corner)
    body = f"""mul.lo.u32 t3, t0, 4; FILL: cvt.u64.u32 u5, t3; add.u64 u5, u5, u0; ld.global.u32 t6, [u5]; add.u32 t5, t1, t3; st.shared.u32 [t5], t6;
    add.u32 t3, t3, 128; setp.lt.u32 p1, t3, 16384; @p1 bra FILL; fence.proxy.async.shared::cta; bar.sync 0; @p0 bra OUT;
    {form}.{tensor.ndim}d.global.shared::cta{operation}.tile.bulk_group [u2, {{{at}}}], [t1]; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; OUT:"""
    execute(body, tensor, descriptor, data)


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("corner", [(0, 0), (8, 3), (-3, -2), (40, 12)])
def test_stores(swizzle, corner):
    rng = np.random.default_rng(7)
    before = random(rng, (16, 64), np.float16)
    columns = (SPAN[swizzle] or 48) // 2
    data = rng.integers(0, 256, SHARED).astype(np.uint8)
    tensor, expected = aligned(before), before.copy()
    store(tensor, tensor_map(tensor, [columns, 8], swizzle), corner, data)
    for row, k in itertools.product(range(8), range(columns)):
        y, x = corner[1] + row, corner[0] + k
        if 0 <= y < 16 and 0 <= x < 64:
            at = shared_offset(row, 2 * k, 2 * columns, swizzle)
            expected[y, x] = data[at : at + 2].view(np.float16)[0]
    np.testing.assert_array_equal(tensor.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("wait", ["wait_group", "wait_group.read"])
@pytest.mark.parametrize("line", [False, True])
def test_wait_for_reads_does_not_make_writes_visible(wait, line):
    """The issuing thread sees the copy's writes after a full wait, not before."""
    tensor = aligned(np.full((8, 64), 5, np.uint16))
    address = f"mov.u64 u6, {tensor.__array_interface__['data'][0]};"
    copy = (
        "@!p0 cp.async.bulk.global.shared::cta.bulk_group [u6], [t1], 1024;"
        if line
        else "@!p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [u2, {0, 0}], [t1];"
    )
    body = f"""{address} {copy} @!p0 cp.async.bulk.commit_group; @!p0 cp.async.bulk.{wait} 0;
    mov.u32 t7, 99; @!p0 st.shared.u32 [t1], t7; @!p0 ld.global.u32 t8, [u6]; @!p0 st.shared.u32 [t1+4], t8; bar.sync 0;"""
    image = execute(body, tensor, tensor_map(tensor, [64, 8])).view(np.uint32)
    assert (image[0], image[1]) == (99, 0 if wait == "wait_group" else 0x50005)
    assert not tensor.any()  # the copy read shared memory before the write, at the latest at the thread's exit


def test_wait_group_excludes_the_newest_groups():
    """The older of two stores has completed, the newer one may be in flight."""
    tensor = aligned(np.full((16, 64), 5, np.uint16))
    address = f"mov.u64 u6, {tensor.__array_interface__['data'][0]};"
    store = "@!p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [u2, {{0, {}}}], [t1]; @!p0 cp.async.bulk.commit_group;"
    body = f"""{address} {store.format(0)} {store.format(8)} @!p0 cp.async.bulk.wait_group 1;
    @!p0 ld.global.u32 t7, [u6]; @!p0 ld.global.u32 t8, [u6+1024]; @!p0 cp.async.bulk.wait_group.read 0;
    @!p0 st.shared.u32 [t1], t7; @!p0 st.shared.u32 [t1+4], t8; bar.sync 0;"""
    image = execute(body, tensor, tensor_map(tensor, [64, 8])).view(np.uint32)
    assert image[:2].tolist() == [0, 0x50005]


@pytest.mark.parametrize("wait", ["", "@!p0 cp.async.bulk.wait_group.read 0; bar.sync 0;"])
def test_write_to_the_source_of_a_store_in_flight(wait):
    """Another thread overwrites the source: a race, unless the first thread has waited and both have synchronized."""
    tensor = random(np.random.default_rng(16), (8, 64), np.float16)
    body = f"""@!p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [u2, {{0, 0}}], [t1]; @!p0 cp.async.bulk.commit_group; bar.sync 0;
    {wait} mov.u32 t7, 1; setp.eq.u32 p3, t0, 40; @p3 st.shared.u32 [t1+64], t7; @!p0 cp.async.bulk.wait_group.read 0; bar.sync 0;"""
    memory = emulator.Memory()
    memory.map_array(tensor)
    out = aligned(np.zeros(SHARED, np.uint8))
    params = [memory.map_array(out).to_bytes(8, "little"), tensor_map(tensor, [64, 8], "128B").encode()]
    text = PTX.format(body=(CLEAR + body).replace("{step}", "256"), threads=64)
    if wait:
        emulator.run_ptx(text, "k", 1, None, params, memory=memory, check_races=True)
        assert not tensor.view(np.uint16).any()
        return
    with pytest.raises(EmulatorFault, match="a bulk copy read it .* with no barrier before this write"):
        emulator.run_ptx(text, "k", 1, None, params, memory=memory, check_races=True)


@pytest.mark.parametrize("rank", [1, 3, 4, 5])
def test_stores_of_every_rank(rank):
    """Clipped at either end of each dimension."""
    rng = np.random.default_rng(17)
    shape, box = (3, 2, 4, 3, 16)[-rank:], (2, 2, 3, 2, 16)[-rank:]
    corner = (-1, 1, 2, -1, 8)[-rank:]
    tensor = random(rng, shape, np.uint32)
    expected = tensor.copy()
    data = rng.integers(0, 256, SHARED).astype(np.uint8)
    store(tensor, tensor_map(tensor, box[::-1]), corner[::-1], data)
    values = data[: 4 * np.prod(box)].view(np.uint32).reshape(box)
    for place in itertools.product(*map(range, box)):
        index = tuple(first + step for first, step in zip(corner, place))
        if all(0 <= i < n for i, n in zip(index, shape)):
            expected[index] = values[place]
    np.testing.assert_array_equal(tensor, expected)


REDUCTIONS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "inc": lambda old, b: np.where(old >= b, 0, old + 1), "dec": lambda old, b: np.where((old == 0) | (old > b), b, old - 1),
}  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "dtype"),
    [("add", np.float16), ("add", ml_dtypes.bfloat16), ("add", np.float32), ("add", np.uint64), ("min", np.int32), ("max", np.float16),
     ("min", np.uint32), ("and", np.uint32), ("or", np.uint64), ("xor", np.int32), ("inc", np.uint32), ("dec", np.uint32)],
)  # fmt: skip
def test_reductions(operation, dtype):
    rng = np.random.default_rng(8)
    before = rng.integers(1, 20, (6, 32)).astype(dtype)
    values = rng.integers(1, 20, (4, 16)).astype(dtype)
    tensor, expected = aligned(before), before.copy()
    data = np.zeros(SHARED, np.uint8)
    data[: values.nbytes] = values.view(np.uint8).reshape(-1)
    store(tensor, tensor_map(tensor, [16, 4]), (24, 3), data, "cp.reduce.async.bulk.tensor", "." + operation)
    expected[3:6, 24:32] = REDUCTIONS[operation](expected[3:6, 24:32], values[:3, :8]).astype(dtype)
    np.testing.assert_array_equal(tensor.view(np.uint8), expected.view(np.uint8))


def test_reductions_of_many_ctas():
    tensor = aligned(np.zeros((4, 32), np.float32))
    memory = emulator.Memory()
    memory.map_array(tensor)
    body = """mad.lo.u32 t3, t0, 4, t1; mov.b32 t4, 0f3F800000; st.shared.u32 [t3], t4; fence.proxy.async; bar.sync 0; mov.u32 t7, %ctaid.x; and.b32 t7, t7, 3; @p0 bra OUT;
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [u2, {0, t7}], [t1]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; OUT:"""
    emulator.run_ptx(
        PTX.format(body=body, threads=32),
        "k",
        10,
        None,
        [bytes(8), tensor_map(tensor, [32, 1]).encode()],
        memory=memory,
    )
    np.testing.assert_array_equal(tensor, np.repeat([[3.0], [3], [2], [2]], 32, axis=1))


# -- contiguous copies -------------------------------------------------------------------------------------------
LINES = ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 bar; mov.u32 t0, %tid.x; mov.u32 t1, s; mov.u32 t2, bar; setp.ne.u32 p0, t0, 0; mad.lo.u32 t3, t0, 16, t1; mul.wide.u32 u5, t0, 16;\n"


def test_contiguous_copy_to_shared_and_back():
    source, out = aligned(np.arange(256, dtype=np.uint32)), aligned(np.zeros(256, np.uint32))
    body = (
        LINES
        + """@!p0 mbarrier.init.shared.b64 [t2], 1; bar.sync 0; @p0 bra WAIT; mbarrier.arrive.expect_tx.shared.b64 _, [t2], 992;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [t1], [u0+16], 512, [t2]; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [t1+512], [u0+528], 480, [t2];
    """
        + WAIT
        + "@p0 exit; cp.async.bulk.global.shared::cta.bulk_group [u1+32], [t1+16], 976; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    )
    run(kernel(body, 2), source, out)
    np.testing.assert_array_equal(out[8 : 8 + 244], source[8 : 8 + 244])
    assert not out[:8].any() and not out[252:].any()


def test_every_thread_issues_a_contiguous_copy():
    source, out = aligned(np.arange(128, dtype=np.uint32)), aligned(np.zeros((32, 4), np.uint32))
    body = (
        LINES
        + """@!p0 mbarrier.init.shared.b64 [t2], 32; bar.sync 0; mbarrier.arrive.expect_tx.shared.b64 _, [t2], 16; add.u64 u6, u0, u5;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [t3], [u6], 16, [t2];"""
        + WAIT
        + """
    xor.b32 t4, t0, 1; mad.lo.u32 t4, t4, 16, t1; ld.shared.v4.u32 {t5, t6, t7, t8}, [t4]; add.u64 u7, u1, u5; st.global.v4.u32 [u7], {t5, t6, t7, t8};"""
    )
    run(kernel(body, 2), source, out)
    np.testing.assert_array_equal(out, source.reshape(32, 4)[np.arange(32) ^ 1])


@pytest.mark.parametrize(
    ("operation", "type_", "dtype"),
    [("add", "u32", np.uint32), ("add.noftz", "f16", np.float16), ("max", "s32", np.int32), ("xor", "b64", np.uint64)],
)
def test_contiguous_reduction(operation, type_, dtype):
    rng = np.random.default_rng(9)
    values, before = rng.integers(0, 30, 64).astype(dtype), rng.integers(0, 30, 64).astype(dtype)
    source, out = aligned(values), aligned(before)
    size = values.nbytes
    body = (
        LINES
        + f"""@!p0 mbarrier.init.shared.b64 [t2], 1; bar.sync 0; @p0 exit; mbarrier.arrive.expect_tx.shared.b64 _, [t2], {size};
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [t1], [u0], {size}, [t2];"""
        + WAIT
        + f"""
    cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}.{type_} [u1], [t1], {size}; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
    )
    run(kernel(body, 2), source, out)
    function = {"add": np.add, "max": np.maximum, "xor": np.bitwise_xor}[operation.split(".")[0]]
    np.testing.assert_array_equal(out, function(before, values))


# -- tensor maps -------------------------------------------------------------------------------------
def test_map_created_on_the_device():
    """tensormap.replace fills zeros in shared memory; the copy to global memory is what the load takes."""
    tensor = random(np.random.default_rng(10), (8, 64), np.float16)
    fields = [
        ("elemtype", "b32", 6), ("rank", "b32", 1), ("swizzle_mode", "b32", 3), ("fill_mode", "b32", 0), ("interleave_layout", "b32", 0),
        ("swizzle_atomicity", "b32", 0),
    ]  # fmt: skip
    arrays = [
        ("global_dim", 0, 64),
        ("global_dim", 1, 8),
        ("box_dim", 0, 64),
        ("box_dim", 1, 8),
        ("element_stride", 0, 1),
        ("element_stride", 1, 1),
    ]
    place = "tensormap.replace.tile.{}.shared::cta.b1024.{} [m], {};"
    lines = [place.format(name, type_, value) for name, type_, value in fields]
    lines += [place.format(name, "b32", f"{i}, {value}") for name, i, value in arrays]
    lines += [place.format("global_stride", "b64", "0, 128"), place.format("global_address", "b64", "u1")]
    zeros = "".join(f"st.shared.u64 [m+{8 * i}], 0;" for i in range(16))
    body = f""".shared .align 128 .b8 m[128]; .shared .align 1024 .b8 s[1024]; .shared .align 8 .b64 bar; mov.u32 t0, %tid.x; mov.u32 t1, s; mov.u32 t2, bar; setp.ne.u32 p0, t0, 0;
    @p0 bra READY; {zeros} {" ".join(lines)} mbarrier.init.shared.b64 [t2], 1;\nREADY: mov.u32 t3, m; bar.sync 0;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [u2], [t3], 128;
    fence.proxy.tensormap::generic.acquire.gpu [u2], 128; @p0 bra WAIT; mbarrier.arrive.expect_tx.shared.b64 _, [t2], 1024; prefetch.tensormap [u2];
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [t1], [u2, {{0, 0}}], [t2];
    {WAIT} mul.lo.u32 t3, t0, 4; DUMP: add.u32 t5, t1, t3; ld.shared.u32 t6, [t5]; cvt.u64.u32 u5, t3; add.u64 u5, u5, u0; st.global.u32 [u5], t6; add.u32 t3, t3, 128; setp.lt.u32 p1, t3, 1024; @p1 bra DUMP;"""
    out, scratch = aligned(np.zeros(1024, np.uint8)), aligned(np.zeros(128, np.uint8))
    run(kernel(body, 3), out, tensor, scratch)
    np.testing.assert_array_equal(out, box_image(tensor, [64, 8], (0, 0), "128B")[:1024])
    made = decode(scratch.tobytes())
    assert made == tensor_map(tensor, [64, 8], "128B")


def replace_in_cluster(address):
    """Each CTA of a pair sets the rank of a map in shared memory and stores the map's second word."""
    body = f""".shared .align 128 .b8 pad[256]; .shared .align 128 .b8 m[128]; mov.u32 t0, %tid.x; setp.ne.u32 p0, t0, 0; @p0 bra OUT; mov.u32 t3, m; {address}
    mov.u32 t4, %cluster_ctarank; add.u32 t5, t4, 1; mov.u32 t6, 0; st.shared.u32 [m+4], t6;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [u4], t5; ld.shared.u32 t6, [m+4]; mul.wide.u32 u5, t4, 4; add.u64 u5, u5, u0; st.global.u32 [u5], t6; OUT:"""
    out = aligned(np.zeros(2, np.uint32))
    run(kernel(body).replace(".reqntid", ".reqnctapercluster 2, 1, 1 .reqntid"), out, grid=2)
    return out.view(np.uint8).reshape(2, 4)


def test_map_in_shared_memory_of_a_cluster():
    """The addresses of the second CTA have its rank in their upper bits."""
    found = replace_in_cluster("mapa.shared::cluster.u32 t3, t3, {}; cvt.u64.u32 u4, t3;".replace("{}", "t7").replace(
        "mapa", "mov.u32 t7, %cluster_ctarank; mapa"))  # fmt: skip
    assert found[:, 0].tolist() == [1, 2]
    with pytest.raises(EmulatorFault, match="shared memory of another CTA"):
        replace_in_cluster("mapa.shared::cluster.u32 t3, t3, 1; cvt.u64.u32 u4, t3;")


@pytest.mark.parametrize("more", ["cta_group::2.{}", "{}.cta_group::2"])
def test_positions_of_the_cta_group(more):
    """PTX ISA 9.0, section 9.7.9.25.5.2: .cta_group follows the dimensions; assemblers take it at the end, too."""
    tensor = random(np.random.default_rng(3), (8, 64), np.float16)
    form = more.format("shared::cluster.global.tile.mbarrier::complete_tx::bytes")
    body = f"{EXPECT} @!p0 cp.async.bulk.tensor.2d.{form} [t1], [u2, {{0, 0}}], [t2];\n" + WAIT
    np.testing.assert_array_equal(
        execute(body, tensor, tensor_map(tensor, [64, 8], "128B"))[:1024],
        box_image(tensor, [64, 8], (0, 0), "128B")[:1024],
    )


@pytest.mark.parametrize(("times", "corner"), [(1, 0), (3, 1)])
def test_stride_of_zero_repeats_a_tensor(times, corner):
    """Such as ``Tensor.expand`` gives; past the last repetition is outside."""
    tensor = random(np.random.default_rng(4), (1, 8, 64), np.float16)
    repeated = np.broadcast_to(tensor, (times, 8, 64))
    boxes = load(tensor, tensor_map(repeated, [64, 8, times], "128B"), (0, 0, corner))
    np.testing.assert_array_equal(boxes, box_image(repeated, [64, 8, times], (0, 0, corner), "128B"))
    assert tensor_map(repeated, [64, 8, 1]).strides[1] == 0


@pytest.mark.parametrize("corner", [0, 32, 96])
def test_4_bit_elements(corner):
    """Two to a byte: 192 elements in a row, of which a box has 128; coordinates count elements."""
    tensor = random(np.random.default_rng(5), (8, 96), np.uint8)
    packed = tensor_map(tensor, [64, 8], "64B", element="b4x16")
    found = load(tensor, packed, (corner, 2))
    np.testing.assert_array_equal(found, box_image(tensor, [64, 8], (corner // 2, 2), "64B"))


@pytest.mark.parametrize("rows", [(5, 0, 5, 7), (-1, 3, 8, 2)])
@pytest.mark.parametrize("swizzle", ["none", "128B"])
def test_gather4(rows, swizzle):
    """Rows in the order of the coordinates; zeros outside the tensor."""
    tensor = random(np.random.default_rng(6), (8, 96), np.float16)
    at = ", ".join(map(str, (16, *rows)))
    body = f"""@!p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [t2], 512;
    @!p0 cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [t1], [u2, {{{at}}}], [t2];\n"""
    found = execute(body + WAIT, tensor, tensor_map(tensor, [64, 1], swizzle))
    four = np.stack([tensor[r] if 0 <= r < 8 else np.zeros(96, np.float16) for r in rows])
    np.testing.assert_array_equal(found, box_image(four, [64, 4], (16, 0), swizzle))


def test_scatter4():
    tensor = random(np.random.default_rng(7), (8, 96), np.float16)
    expected, data = tensor.copy(), np.random.default_rng(8).integers(0, 256, SHARED).astype(np.uint8)
    memory = emulator.Memory()
    memory.map_array(tensor)
    image = aligned(data)
    fill = "mul.lo.u32 t3, t0, 4; FILL: cvt.u64.u32 u5, t3; add.u64 u5, u5, u0; ld.global.u32 t6, [u5]; add.u32 t5, t1, t3; st.shared.u32 [t5], t6; add.u32 t3, t3, 128; setp.lt.u32 p1, t3, 16384; @p1 bra FILL; fence.proxy.async; bar.sync 0;"
    body = (
        fill
        + """@p0 bra OUT; cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [u2, {32, 6, -1, 0, 3}], [t1];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; OUT:"""
    )
    params = [memory.map_array(image).to_bytes(8, "little"), tensor_map(tensor, [64, 1]).encode()]
    emulator.run_ptx(PTX.format(body=body, threads=32), "k", 1, None, params, memory=memory, findings="fault")
    values = data[:512].view(np.float16).reshape(4, 64)
    expected[6, 32:], expected[0, 32:], expected[3, 32:] = values[0], values[2], values[3]
    np.testing.assert_array_equal(tensor.view(np.uint16), expected.view(np.uint16))


def test_gather4_needs_rows_of_a_matrix():
    tensor = random(np.random.default_rng(6), (8, 64), np.float16)
    body = "@!p0 cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [t1], [u2, {0, 0, 1, 2, 3}], [t2];\n"
    assert "a box of 64x8 cannot be gathered" in faulty(body, tensor_map(tensor, [64, 8]), tensor)


# -- im2col -------------------------------------------------------------------------------
def pixel_map(tensor, lower, upper, channels, pixels, steps=None, swizzle="none"):
    plain = tensor_map(tensor, [1] * tensor.ndim, swizzle, steps)
    return dataclasses.replace(plain, columns=Im2colParameters(lower, upper, channels, pixels))


def pixel_image(tensor, lower, upper, channels, count, start, offsets, steps, swizzle="none"):
    """Shared memory after an im2col load, from the list of all pixels of all bounding boxes in order (section 5.5.5).

    ``start`` is (c, w, h, …, n). A pixel outside the tensor, and a channel too, reads as zero.
    """
    inner = tensor.ndim - 2
    sizes = tensor.shape[::-1]  # C, W, H, …, N
    axes = [range(lower[d], sizes[1 + d] + upper[d], steps[1 + d]) for d in range(inner)]
    boxes = [(*place[::-1], n) for n in range(sizes[-1] + 1) for place in itertools.product(*reversed(axes))]
    first = boxes.index(tuple(start[1:]))
    rows = np.zeros((count, channels), tensor.dtype)
    for row, place in zip(rows, boxes[first : first + count]):
        at = [p + o for p, o in zip(place, (*offsets, 0))]
        if all(0 <= i < n for i, n in zip(at, sizes[1:])):
            found = tensor[tuple(at[::-1])][start[0] : start[0] + channels]
            row[: len(found)] = found
    return box_image(rows, [channels, count], (0, 0), swizzle)


PIXELS = {  # shape N, …, W, C -> lower and upper corners, steps of C, W, …, start, offsets
    "a row": ((2, 10, 32), (-1,), (-1,), (1, 1, 1), (0, 3, 0), (2,)),
    "an image": ((2, 6, 7, 32), (-1, -1), (-1, -1), (1, 1, 1, 1), (16, 4, 2, 0), (1, 2)),
    "every other pixel": ((2, 9, 9, 32), (0, -1), (0, 0), (1, 2, 2, 1), (0, 2, 3, 0), (0, 0)),
    "a volume": ((2, 3, 4, 5, 32), (0, -1, -1), (-2, 0, 0), (1, 1, 1, 1, 1), (0, 1, 3, -1, 0), (2, 1, 0)),
}


@pytest.mark.parametrize("swizzle", ["none", "32B"])
@pytest.mark.parametrize("name", PIXELS)
def test_im2col_loads(name, swizzle):
    """Across the ends of rows, images and volumes, and past the last image."""
    shape, lower, upper, steps, start, offsets = PIXELS[name]
    tensor = random(np.random.default_rng(9), shape, np.float16)
    rank, at, more = len(shape), ", ".join(map(str, start)), ", ".join(map(str, offsets))
    body = f"""@!p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [t2], 2048;
    @!p0 cp.async.bulk.tensor.{rank}d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [t1], [u2, {{{at}}}], [t2], {{{more}}};\n"""
    found = execute(body + WAIT, tensor, pixel_map(tensor, lower, upper, 16, 64, steps, swizzle))
    expected = pixel_image(tensor, lower, upper, 16, 64, start, offsets, steps, swizzle)
    np.testing.assert_array_equal(found, expected)


def test_im2col_stores_have_no_offsets():
    tensor = random(np.random.default_rng(10), (2, 4, 5, 16), np.uint16)
    expected = tensor.copy()
    body = """st.shared.u32 [t1+96], 0x00070009; fence.proxy.async; bar.sync 0;
    @!p0 cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [u2, {0, 3, 1, 0}], [t1]; @!p0 cp.async.bulk.commit_group;
    @!p0 cp.async.bulk.wait_group 0;"""
    execute(body, tensor, pixel_map(tensor, (0, 0), (0, 0), 16, 4))
    expected.reshape(-1, 16)[8:12] = 0
    expected.reshape(-1, 16)[11, :2] = 9, 7
    np.testing.assert_array_equal(tensor, expected)


WIDE = {  # shape N, …, W, C -> lower and upper corner of W, steps of C, W, …, start, wOffset
    "a row": ((3, 10, 64), 0, 0, (1, 1, 1), (0, 3, 0), 0),
    "an image, moved": ((4, 6, 7, 64), -1, 0, (1, 1, 1, 1), (16, -1, 2, 1), 2),
    "every other pixel": ((4, 3, 67, 64), -1, 0, (1, 2, 1, 1), (0, -1, 2, 0), 1),
    "a volume": ((2, 3, 4, 5, 64), -2, 1, (1, 1, 1, 1, 1), (0, 1, 3, 2, 0), 0),
    "before the box": ((3, 4, 9, 64), 2, 0, (1, 1, 1, 1), (0, -1, 2, 0), 0),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["im2col::w", "im2col::w::128"])
@pytest.mark.parametrize("name", WIDE)
def test_im2col_w_loads(name, mode):
    """H and D are constant: after the last pixel of a row's box, the first pixel of the same row of the next image follows."""
    shape, lower, upper, steps, start, offset = WIDE[name]
    tensor = random(np.random.default_rng(9), shape, np.float16)
    rank, count = len(shape), 48 if mode == "im2col::w" else 128
    plain = tensor_map(tensor, [1] * rank, "64B", steps)
    descriptor = dataclasses.replace(plain, columns=Im2colParameters((lower,), (upper,), 32, 48, mode))
    at = ", ".join(map(str, start))
    body = f"""@!p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [t2], {64 * count};
    @!p0 cp.async.bulk.tensor.{rank}d.shared::cta.global.{mode}.mbarrier::complete_tx::bytes [t1], [u2, {{{at}}}], [t2], {{0, {offset}}};\n"""
    found = execute(body + WAIT, tensor, descriptor)
    rows = np.zeros((count, 32), tensor.dtype)
    w, n = start[1], start[-1]
    for row in rows:
        if 0 <= w + offset < shape[-2] and n < shape[0]:
            values = tensor[(n, *start[-2:1:-1], w + offset)][start[0] : start[0] + 32]
            row[: len(values)] = values
        w += steps[1]
        if w > shape[-2] - 1 + upper:
            w, n = lower, n + 1
    np.testing.assert_array_equal(found, box_image(rows, [32, count], (0, 0), "64B"))


def test_unsupported_halos_of_wide_modes():
    tensor = random(np.random.default_rng(9), (2, 6, 7, 64), np.float16)
    plain = tensor_map(tensor, [1] * 4, "64B")
    descriptor = dataclasses.replace(plain, columns=Im2colParameters((0,), (0,), 32, 16, "im2col::w"))
    load = "@!p0 cp.async.bulk.tensor.4d.shared::cta.global.{}.mbarrier::complete_tx::bytes [t1], [u2, {{0, 0, 0, 0}}], [t2], {{{}}};"
    assert "a wHalo of 2 is not supported" in faulty(load.format("im2col::w", "2, 0"), descriptor, tensor)
    assert "wOffset 32 is out of range" in faulty(load.format("im2col::w", "0, 32"), descriptor, tensor)
    assert "the mode of the tensor map differs from that of this copy (im2col::w::128)" in faulty(
        load.format("im2col::w::128", "0, 0"), descriptor, tensor
    )
    assert "differs from that of this copy (im2col)" in faulty(load.format("im2col", "0, 0"), descriptor, tensor)
    with pytest.raises(UnsupportedInstruction, match="expected 2 offsets"):
        execute(load.format("im2col::w", "0"), tensor, descriptor)


@pytest.mark.parametrize(
    ("swizzle", "lower", "why"), [("none", (0,), "needs a swizzling mode"), ("64B", (0, 0), "does not have 1 dimensions"), ("64B", (1 << 15,), "more than 16 bits")]
)  # fmt: skip
def test_invalid_wide_maps(swizzle, lower, why):
    tensor = random(np.random.default_rng(9), (2, 4, 5, 64), np.uint16)
    plain = tensor_map(tensor, [1] * 4, swizzle)
    columns = Im2colParameters((0,), (0,), 32, 4, "im2col::w")
    good = dataclasses.replace(plain, columns=columns, swizzle="64B")
    assert good.problem() is None and decode(good.encode()) == good
    assert why in dataclasses.replace(plain, columns=dataclasses.replace(columns, lower=lower)).problem()


@pytest.mark.parametrize(
    ("target", "modes"), [("sm_100a", ["im2col::w", "im2col::w::128"]), ("sm_120a", ["im2col::w"])]
)
def test_ptxas_accepts_the_wide_modes(target, modes, tmp_path):
    lines = [
        f"cp.async.bulk.tensor.4d.shared::cta.global.{mode}.mbarrier::complete_tx::bytes [t1], [u2, {{t3, t4, t5, t6}}], [t2], {{0, 1}};"
        for mode in modes
    ]
    source = tmp_path / "k.ptx"
    body = "\n".join([".reg .b32 t<8>; .reg .b64 u<4>;", *lines, "ret;"])
    source.write_text(f".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{\n{body}\n}}\n")
    command = [find_ptxas(), f"-arch={target}", "-O0", "-o", tmp_path / "k.cubin", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_maps_of_another_mode():
    tensor = random(np.random.default_rng(9), (2, 6, 64), np.float16)
    pixel = "@!p0 cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [t1], [u2, {0, 0, 0}], [t2], {0};"
    assert "the mode of the tensor map differs" in faulty(pixel, tensor_map(tensor, [64, 2, 1]), tensor)
    assert "the mode of the tensor map differs" in faulty(
        LOAD.format(3, 0, "0, 0, 0"), pixel_map(tensor, (0,), (0,), 16, 4), tensor
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"lower": (-129, 0)}, "more than 8 bits"), ({"channels": 264}, "264 channels"), ({"pixels": 1025}, "1025 pixels"),
     ({"upper": (0,)}, "does not have 2 dimensions")],
)  # fmt: skip
def test_invalid_im2col_maps(changes, why):
    tensor = random(np.random.default_rng(9), (2, 4, 5, 16), np.uint16)
    good = pixel_map(tensor, (0, 0), (0, 0), 16, 4)
    assert good.problem() is None and decode(good.encode()) == good
    assert why in dataclasses.replace(good, columns=dataclasses.replace(good.columns, **changes)).problem()


@pytest.mark.parametrize(("element", "packed"), [("b4x16_p64", 8), ("b6x16_p32", 12)])
@pytest.mark.parametrize("corner", [0, 128, -128])
@pytest.mark.parametrize("swizzle", ["none", "128B"])
def test_padded_elements(element, packed, corner, swizzle):
    """128 elements of 4 or 6 bits become 8 chunks of 16 bytes, each of 16 elements and undefined padding."""
    width = 8 * packed
    tensor = aligned(np.random.default_rng(5).integers(0, 256, (8, 2 * width)).astype(np.uint8))
    found = load(tensor, tensor_map(tensor, [width, 8], swizzle, element=element), (corner, 2))
    rows = np.zeros((8, 8, packed), np.uint8)
    first = corner * packed // 16
    for row in range(6):
        data = tensor[2 + row, first : first + width] if first >= 0 else tensor[2 + row, :0]
        rows[row].reshape(-1)[: len(data)] = data
    for row, chunk in itertools.product(range(8), range(8)):
        at = shared_offset(row, 16 * chunk, 128, swizzle)
        np.testing.assert_array_equal(found[at : at + packed], rows[row, chunk])


@pytest.mark.parametrize("corner", [0, 128, 256])
@pytest.mark.parametrize("swizzle", ["none", "128B"])
def test_stores_of_6_bit_elements(corner, swizzle):
    """.b6p2x16: the low 6 bits of each byte, packed; what lies past the tensor is left out."""
    tensor = aligned(np.random.default_rng(5).integers(0, 256, (8, 192)).astype(np.uint8))
    expected, data = tensor.copy(), np.random.default_rng(6).integers(0, 256, (4, 128)).astype(np.uint8)
    image = np.zeros(SHARED, np.uint8)
    for row, byte in itertools.product(range(4), range(128)):
        image[shared_offset(row, byte, 128, swizzle)] = data[row, byte]
    store_image(image, tensor, tensor_map(tensor, [96, 4], swizzle, element="b6x16_p32"), f"{corner}, 6")
    bits = (data[..., None] >> np.arange(6) & 1).astype(np.uint8).reshape(4, -1)
    packed = np.packbits(bits, axis=1, bitorder="little")
    first = corner * 6 // 8
    expected[6:, first : first + 96] = packed[:2, : 192 - first]
    np.testing.assert_array_equal(tensor, expected)


def store_image(image, tensor, descriptor, at: str) -> None:
    """Fill shared memory from ``image`` and store one box."""
    memory = emulator.Memory()
    memory.map_array(tensor)
    rank = at.count(",") + 1
    fill = "mul.lo.u32 t3, t0, 4; FILL: cvt.u64.u32 u5, t3; add.u64 u5, u5, u0; ld.global.u32 t6, [u5]; add.u32 t5, t1, t3; st.shared.u32 [t5], t6; add.u32 t3, t3, 128; setp.lt.u32 p1, t3, 16384; @p1 bra FILL; fence.proxy.async; bar.sync 0;"
    body = f"""{fill} @p0 bra OUT; cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [u2, {{{at}}}], [t1];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; OUT:"""
    params = [memory.map_array(aligned(image)).to_bytes(8, "little"), descriptor.encode()]
    emulator.run_ptx(PTX.format(body=body, threads=32), "k", 1, None, params, memory=memory, findings="fault")


@pytest.mark.parametrize("element", ["b4x16_p64", "b6x16_p32"])
def test_padded_elements_start_at_multiples_of_128(element):
    tensor = random(np.random.default_rng(5), (8, 192), np.uint8)
    width = 64 if element == "b4x16_p64" else 96
    descriptor = tensor_map(tensor, [width, 8], element=element)
    assert "must be a multiple of 128" in faulty(LOAD.format(2, 0, "64, 0"), descriptor, tensor)


def test_padded_elements_cannot_be_stored():
    tensor = random(np.random.default_rng(5), (8, 64), np.uint8)
    body = "@!p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [u2, {0, 0}], [t1];"
    assert "can only be loaded" in faulty(body, tensor_map(tensor, [64, 8], element="b4x16_p64"), tensor)


@pytest.mark.parametrize(
    ("box", "swizzle", "why"),
    [([32, 8], "none", "not 128 wide"), ([64, 8], "64B", "more than the swizzle")],
)
def test_width_of_boxes_of_padded_elements(box, swizzle, why):
    tensor = random(np.random.default_rng(5), (8, 64), np.uint8)
    assert why in tensor_map(tensor, box, swizzle, element="b4x16_p64").problem()


DESCRIPTION = {
    "param": 3, "element": "f16", "base": {"param": 0}, "shape": [{"param": 1}, {"param": 2}], "strides": [{"param": 1, "times": 2}],
    "box": [16, 4], "element_strides": [1, 1], "swizzle": "32B", "interleave": "none", "fill": "zero", "l2_promotion": "128B",
}  # fmt: skip


def launch(tensor, out, columns, rows, **changes):
    body = (
        """ld.param.u64 u3, [out]; mov.u32 t0, %tid.x; mov.u32 t1, s; mov.u32 t2, bar; setp.ne.u32 p0, t0, 0; @!p0 mbarrier.init.shared.b64 [t2], 1; bar.sync 0; @p0 bra WAIT;
    mbarrier.arrive.expect_tx.shared.b64 _, [t2], 128; cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [t1], [map, {8, 2}], [t2];
    """
        + WAIT
        + "mad.lo.u32 t3, t0, 4, t1; ld.shared.u32 t6, [t3]; mul.wide.u32 u5, t0, 4; add.u64 u5, u5, u3; st.global.u32 [u5], t6;"
    )
    ptx = (
        HEADER
        + f""".visible .entry k(.param .u64 in, .param .u32 columns, .param .u32 rows, .param .u64 out, .param .align 64 .b8 map[128]) .reqntid 32, 1, 1 {{
    .reg .pred p<8>; .reg .b32 t<16>; .reg .b64 u<16>; .shared .align 1024 .b8 s[128]; .shared .align 8 .b64 bar; {body} ret; }}"""
    )
    description = {**DESCRIPTION, "param": 4, **changes}
    names = [{"name": n} for n in ("in", "columns", "rows", "out", "tensor_map_0")]
    artifacts = SimpleNamespace(ptx=ptx, manifest={"kernels": {"k": {"params": names, "tensor_maps": [description]}}})
    memory = emulator.Memory()
    params = [memory.map_array(tensor).to_bytes(8, "little"), columns.to_bytes(4, "little"), rows.to_bytes(4, "little")]
    params.append(memory.map_array(out).to_bytes(8, "little"))
    emulator.launch(artifacts, "k", 1, params, memory=memory)


def test_launch_encodes_maps_from_the_manifest():
    tensor, out = random(np.random.default_rng(11), (5, 32), np.float16), aligned(np.zeros(128, np.uint8))
    launch(tensor, out, 32, 5)
    np.testing.assert_array_equal(out, box_image(tensor, [16, 4], (8, 2), "32B")[:128])


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"base": 8}, "base 0x8"), ({"strides": [{"param": 1}]}, "stride 33"), ({"box": [512, 4]}, "box dimension 512"),
     ({"box": [64, 4]}, "more than the swizzle of 32"), ({"shape": [-1, 4]}, "shape -1"), ({"element": "f12"}, "unknown element type"),
     ({"box": [4, 4]}, "not a multiple of 16"), ({"strides": [1 << 40]}, "stride 1099511627776"), ({"box": [16]}, "rank 2"),
     ({"element_strides": [1, 9]}, "element stride 9"), ({"element": "u32", "box": [8, 4], "fill": "nan"}, "no NaN")],
)  # fmt: skip
def test_maps_rejected_by_the_driver(changes, why):
    tensor = random(np.random.default_rng(12), (5, 32), np.float16)
    with pytest.raises(EmulatorError, match="kernel k: tensor map tensor_map_0 cannot be encoded") as caught:
        launch(tensor, aligned(np.zeros(128, np.uint8)), 33 if why == "stride 33" else 32, 5, **changes)
    assert why in str(caught.value)


# -- faults ------------------------------------------------------------------------------------------
def faulty(body, descriptor=None, tensor=None):
    tensor = random(np.random.default_rng(13), (8, 64), np.float16) if tensor is None else tensor
    with pytest.raises(EmulatorFault) as caught:
        execute(body, tensor, descriptor or tensor_map(tensor, [64, 8], "128B"))
    return str(caught.value)


EXPECT = "@!p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [t2], 1024;\n"
LOAD = "@!p0 cp.async.bulk.tensor.{0}d.shared::cluster.global.mbarrier::complete_tx::bytes [t1+{1}], [u2, {{{2}}}], [t2];\n"


def test_a_misaligned_box():
    assert "misaligned address (needs 128 bytes)" in faulty(EXPECT + LOAD.format(2, 64, "0, 0") + WAIT)


def test_a_box_past_the_end():
    assert "exceeds the shared memory" in faulty(EXPECT + LOAD.format(2, 16384 - 512, "0, 0") + WAIT)


def test_the_wrong_rank():
    assert "rank 2, but the copy has 3 coordinates" in faulty(EXPECT + LOAD.format(3, 0, "0, 0, 0") + WAIT)


def test_missing_map():
    assert "not a tensor map" in faulty("mov.u64 u2, u0;" + EXPECT + LOAD.format(2, 0, "0, 0") + WAIT)


def test_unmapped_tensor():
    tensor = random(np.random.default_rng(14), (8, 64), np.float16)
    wide = TensorMap("f16", tensor.__array_interface__["data"][0], (64, 4096), (128,), (64, 8), (1, 1), "128B")
    assert "outside mapped memory" in faulty(EXPECT + LOAD.format(2, 0, "0, 2000") + WAIT, wide, tensor)


def test_fewer_bytes_than_expected_are_a_deadlock():
    message = faulty(EXPECT.replace("1024", "2048") + LOAD.format(2, 0, "0, 0") + WAIT)
    assert message.startswith("deadlock") and "1024 bytes pending" in message


def test_load_without_a_wait():
    assert "in flight" in faulty(EXPECT + LOAD.format(2, 0, "0, 0") + "ret;")


def test_load_without_a_wait_next_to_a_load_with_a_wait():
    """The second warp waits for the copy to the other mbarrier."""
    body = """@!p0 mbarrier.init.shared.b64 [t1+8192], 1; fence.proxy.async; bar.sync 0;
    setp.lt.u32 p3, t0, 32; @p3 bra ISSUE;
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 p2, [t1+8192], 0; @!p2 bra WAIT;
    bar.sync 0; ret;
    ISSUE:
    """
    other = "[t1+8192]"
    body += "".join(
        (EXPECT + LOAD.format(2, at, "0, 0")).replace("[t2]", bar) for at, bar in ((0, "[t2]"), (1024, other))
    )
    tensor = random(np.random.default_rng(13), (8, 64), np.float16)
    with pytest.raises(EmulatorFault, match="a CTA exits while this copy .* in flight"):
        execute(body + "bar.sync 0; ret;", tensor, tensor_map(tensor, [64, 8], "128B"), threads=64)


def test_store_without_a_wait():
    body = "@!p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [u2, {0, 0}], [t1]; @!p0 cp.async.bulk.commit_group;"
    assert "exits before its bulk copy has read shared memory" in faulty(body)


def test_commit_without_active_threads():
    """The store is not committed, so a wait for all groups leaves it in flight."""
    body = """@!p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [u2, {0, 0}], [t1]; setp.ne.u32 p3, t0, t0;
    @p3 cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
    assert "exits before its bulk copy has read shared memory" in faulty(body)
    tensor = random(np.random.default_rng(13), (8, 64), np.float16)
    execute(body.replace("@p3", "@!p0"), tensor, tensor_map(tensor, [64, 8], "128B"))
    assert not tensor.view(np.uint16).any()  # shared memory held zeros


def test_size_that_is_not_a_multiple_of_16():
    body = (
        LINES
        + "@!p0 mbarrier.init.shared.b64 [t2], 1; bar.sync 0; @!p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [t1], [u0], 24, [t2];"
    )
    with pytest.raises(EmulatorFault, match="not a multiple of 16"):
        run(kernel(body), aligned(np.zeros(64, np.uint8)))
