"""Atomics: final values, and old values that fit some serial order."""

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import kernel, run
from tileiras_build.simulate.emulator import EmulatorFault

INTEGER = {
    "add": lambda x, b: x + b, "and": lambda x, b: x & b, "or": lambda x, b: x | b, "xor": lambda x, b: x ^ b,
    "exch": lambda x, b: b, "inc": lambda x, b: 0 if x >= b else x + 1, "dec": lambda x, b: b if x == 0 or x > b else x - 1,
}  # fmt: skip


def atom(op, values, places, memory, space="global", width=4):
    """Thread i applies ``op`` with values[i] at memory[places[i]]; returns old values."""
    b = "b64" if width == 8 else "b32"
    r = "u" if width == 8 else "t"
    body = f"""mov.u32 t0, %tid.x; mul.wide.u32 u4, t0, {width}; add.u64 u5, u1, u4; ld.global.{b} {r}7, [u5]; mul.wide.u32 u6, t0, 4; add.u64 u6, u2, u6; ld.global.u32 t2, [u6];
    mul.wide.u32 u6, t2, {width}; add.u64 u8, u0, u6; atom.{op} {r}9, [u8], {r}7; add.u64 u10, u3, u4; st.global.{b} [u10], {r}9;"""
    old = np.zeros_like(values)
    run(kernel(body, 4, len(values)), memory, values, places.astype(np.uint32), old)
    return old


@pytest.mark.parametrize("pattern", ["one", "few", "distinct"])
@pytest.mark.parametrize(
    "name, width",
    [(n, 4) for n in (*INTEGER, "min", "max")] + [(n, 8) for n in ("add", "and", "or", "xor", "exch", "min", "max")],
)
def test_integers(name, width, pattern):
    rng = np.random.default_rng(0)
    n, bits = 96, 8 * width
    places = {"one": np.zeros(n, int), "few": rng.integers(0, 5, n), "distinct": rng.permutation(n)}[pattern]
    values = rng.integers(0, 50 if name in ("inc", "dec") else (1 << bits) - 1, n, dtype=f"u{width}")
    memory = rng.integers(0, 40, n, dtype=f"u{width}")
    start = memory.copy()
    type_ = {"and": "b", "or": "b", "xor": "b", "exch": "b"}.get(name, "s" if name in ("min", "max") else "u")
    old = atom(f"relaxed.gpu.global.{name}.{type_}{bits}", values, places, memory, width=width)
    view = f"i{width}" if type_ == "s" else f"u{width}"
    function = INTEGER.get(name) or {"min": min, "max": max}[name]
    state = [int(v) for v in start.view(view)]
    for i in range(n):  # the emulator's serial order is ascending threads
        assert int(old.view(view)[i]) == state[places[i]], i
        new = function(state[places[i]], int(values.view(view)[i]))
        state[places[i]] = new if type_ == "s" else new & ((1 << bits) - 1)
    assert [int(v) for v in memory.view(view)] == state


@pytest.mark.parametrize("type_, dtype", [("f32", np.float32), ("f64", np.float64)])
def test_float_add(type_, dtype):
    rng = np.random.default_rng(1)
    values, memory = rng.standard_normal(64).astype(dtype), np.zeros(4, dtype)
    places = np.arange(64) % 4
    old = atom(f"global.add.{type_}", values, places, memory, width=dtype().itemsize)
    for k in range(4):
        running = np.add.accumulate(np.concatenate([[dtype(0)], values[k::4]]), dtype=dtype)
        np.testing.assert_array_equal(old[k::4], running[:-1])
        assert memory[k] == running[-1]


@pytest.mark.parametrize("type_, dtype", [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_packed_and_16_bit_add(type_, dtype):
    body = f"""mov.u32 t0, %tid.x; atom.global.add.noftz.{type_}x2 t1, [u0], t2; and.b32 t3, t0, 1; mul.wide.u32 u3, t3, 2; add.u64 u3, u1, u3; mov.b32 {{h0, h1}}, t2;
    atom.global.add.noftz.{type_} h2, [u3], h0; red.global.add.noftz.{type_} [u3], h1;"""
    one_two = int(np.array([1, 2], dtype).view(np.uint32)[0])
    pair, single = np.zeros(2, dtype), np.zeros(2, dtype)
    run(kernel(f"mov.u32 t2, {one_two}; {body}", 2), pair.view(np.uint16), single.view(np.uint16))
    assert pair.astype(float).tolist() == [32, 64] and single.astype(float).tolist() == [48, 48]


def test_compare_and_swap():
    memory, out = np.array([5], np.uint32), np.zeros(32, np.uint32)
    body = "mov.u32 t0, %tid.x; add.u32 t1, t0, 5; add.u32 t2, t0, 6; atom.acq_rel.gpu.global.cas.b32 t3, [u0], t1, t2; mul.wide.u32 u2, t0, 4; add.u64 u2, u2, u1; st.global.u32 [u2], t3;"
    run(kernel(body, 2), memory, out)
    assert memory[0] == 37 and out.tolist() == list(range(5, 37))


@pytest.mark.parametrize("places, values", [(1, 2), (2, 3), (5, 2), (96, 2)])
def test_contended_compare_and_swap(places, values):
    """Threads execute in ascending order: each reads the value of the last swap before it."""
    rng = np.random.default_rng(places)
    n = 96
    at = rng.integers(0, places, n).astype(np.uint32)
    compare, new = (rng.integers(0, values, n).astype(np.uint32) for _ in range(2))
    memory, old = rng.integers(0, values, places).astype(np.uint32), np.zeros(n, np.uint32)
    state, expected = memory.tolist(), []
    for place, wanted, value in zip(at, compare, new):
        expected.append(state[place])
        state[place] = int(value) if state[place] == wanted else state[place]
    body = """mov.u32 t0, %tid.x; mul.wide.u32 u5, t0, 4; add.u64 u6, u1, u5; ld.global.u32 t1, [u6]; add.u64 u6, u2, u5; ld.global.u32 t2, [u6];
    add.u64 u6, u3, u5; ld.global.u32 t3, [u6]; mul.wide.u32 u7, t1, 4; add.u64 u7, u0, u7; atom.relaxed.gpu.global.cas.b32 t4, [u7], t2, t3; add.u64 u6, u4, u5; st.global.u32 [u6], t4;"""
    run(kernel(body, 5, n), memory, at, compare, new, old)
    assert old.tolist() == expected and memory.tolist() == state


def test_shared_memory_atomics_stay_in_the_cta():
    body = """.shared .align 4 .b8 s[4]; mov.u32 t0, %tid.x; mov.u32 t1, s; setp.eq.u32 p1, t0, 0; @p1 st.shared.u32 [t1], 0; bar.sync 0;
    mov.u32 t2, %ctaid.x; add.u32 t2, t2, 1; red.shared.add.u32 [t1], t2; bar.sync 0; ld.shared.u32 t3, [t1]; mov.u32 t4, %ctaid.x; mul.wide.u32 u1, t4, 4; add.u64 u1, u1, u0; st.global.u32 [u1], t3;"""
    out = np.zeros(5, np.uint32)
    run(kernel(body, threads=64), out, grid=5)
    np.testing.assert_array_equal(out, 64 * (1 + np.arange(5)))


def test_vector_reductions():
    a, h = np.zeros(4, np.float32), np.zeros(8, np.float16)
    body = """mov.f32 f0, 0f3F800000; mov.f32 f1, 0f40000000; mov.b32 t0, 0x40003C00;
    red.relaxed.gpu.global.add.v4.f32 [u0], {f0, f1, f0, f1}; red.relaxed.gpu.global.add.noftz.v4.f16x2 [u1], {t0, t0, t0, t0}; atom.global.add.v2.f32 {f2, f3}, [u0], {f0, f0};"""
    run(kernel(body, 2), a, h.view(np.uint16))
    assert a.tolist() == [64, 96, 32, 64] and h.tolist() == [32, 64] * 4


def test_vector_additions_without_old_values():
    a, h = np.zeros(4, np.float32), np.zeros(2, np.float16)
    body = """mov.f32 f0, 0f3F800000; mov.b32 t0, 0x40003C00; mov.u32 t1, %tid.x; setp.lt.u32 p1, t1, 3;
    @p1 atom.relaxed.gpu.global.add.v4.f32 _, [u0], {f0, f0, f0, f0}; atom.global.add.noftz.f16x2 _, [u1], t0;"""
    run(kernel(body, 2), a, h.view(np.uint16))
    assert a.tolist() == [3] * 4 and h.tolist() == [32, 64]


@pytest.mark.parametrize(
    "instruction",
    ["red.global.add.v4.f32 [u0+8], {f0, f0, f0, f0};", "red.global.add.noftz.v2.f16x2 [u0+4], {t0, t0};", "red.global.add.noftz.f16x2 [u0+2], t0;"],
)  # fmt: skip
def test_vectors_are_aligned_to_their_size(instruction):
    with pytest.raises(EmulatorFault, match="misaligned address"):
        run(kernel(instruction, 1, threads=1), np.zeros(16, np.float32))


def test_128_bit_exchange_and_compare():
    memory, out = np.array([1, 2], np.uint64), np.zeros(4, np.uint64)
    body = """{ .reg .b128 q<4>; mov.u64 u2, 7; mov.u64 u3, 8; mov.b128 q0, {u2, u3}; atom.global.exch.b128 q1, [u0], q0; mov.b128 {u4, u5}, q1; st.global.v2.u64 [u1], {u4, u5};
    mov.b128 q2, {u3, u2}; atom.global.cas.b128 q3, [u0], q0, q2; mov.b128 {u4, u5}, q3; st.global.v2.u64 [u1+16], {u4, u5}; }"""
    run(kernel(body, 2, threads=1), memory, out)
    assert out.tolist() == [1, 2, 7, 8] and memory.tolist() == [8, 7]


def test_masked_atomics():
    memory = np.zeros(1, np.uint32)
    run(
        kernel(
            "mov.u32 t0, %tid.x; setp.lt.u32 p1, t0, 10; @p1 red.global.add.u32 [u0], 1; @!p1 atom.global.max.u32 t1, [u0], 3;"
        ),
        memory,
    )
    assert memory[0] == 10


def test_generic_atomics_reach_shared_memory():
    body = """.shared .align 4 .b8 s[4]; .reg .b64 v<2>; mov.u64 v0, s; cvta.shared.u64 v1, v0; mov.u32 t0, %tid.x; setp.eq.u32 p1, t0, 0; @p1 st.u32 [v1], 5; bar.sync 0;
    atom.add.u32 t1, [v1], 2; bar.sync 0; ld.u32 t2, [v1]; st.global.u32 [u0], t2;"""
    out = np.zeros(1, np.uint32)
    run(kernel(body), out)
    assert out[0] == 69
