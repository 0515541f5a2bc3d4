"""multimem: every copy is read or written, reductions over the copies, addresses outside of the object."""

import ml_dtypes
import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel
from tileiras_build.simulate import emulator

COPIES = 3


def run(body: str, copies: list[np.ndarray], out: np.ndarray, threads: int) -> None:
    """Kernel ``body``: u0 is the object, u1 the array ``out``; u4 and u5 are the addresses of the thread's 16 bytes in them."""
    memory = emulator.Memory()
    addresses = memory.map_multicast(copies), memory.map_array(out)
    places = "mov.u32 t0, %tid.x; mul.wide.u32 u3, t0, 16; add.u64 u4, u0, u3; add.u64 u5, u1, u3;"
    params = [address.to_bytes(8, "little") for address in addresses]
    emulator.run_ptx(kernel(places + body, 2, threads), "k", 1, None, params, memory=memory, findings="fault", jobs=1)


def copies_of(dtype, count: int, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [aligned(random.integers(-9, 9, count).astype(dtype)) for _ in range(COPIES)]


@pytest.mark.parametrize("reduction, function", [
    ("add.u32", np.add), ("min.s32", np.minimum), ("max.u32", np.maximum), ("and.b32", np.bitwise_and),
    ("or.b32", np.bitwise_or), ("xor.b32", np.bitwise_xor),
])  # fmt: skip
def test_words_of_all_copies_are_reduced_and_updated(reduction, function):
    dtype = np.int32 if reduction.endswith("s32") else np.uint32
    copies, out = copies_of(np.int32, 8), aligned(np.zeros(8, dtype))
    before = [copy.view(dtype).copy() for copy in copies]
    run(
        f"multimem.ld_reduce.relaxed.sys.global.{reduction} t1, [u4]; st.global.b32 [u5], t1;"
        f"mov.u32 t2, 5; multimem.red.relaxed.sys.global.{reduction} [u4], t2;",
        copies, out, 2,
    )  # fmt: skip
    np.testing.assert_array_equal(out[::4], function(function(before[0], before[1]), before[2])[::4])
    for copy, old in zip(copies, before):
        np.testing.assert_array_equal(copy.view(dtype)[::4], function(old, dtype(5))[::4])


@pytest.mark.parametrize("dtype, name", [(np.float16, "f16x2"), (ml_dtypes.bfloat16, "bf16x2")])
def test_sums_of_halves_are_rounded_once_where_f32_accumulates(dtype, name):
    copies = [aligned(np.array(row, dtype)) for row in ([256] * 8, [0.6] * 8, [0.6] * 8)]
    out = [aligned(np.zeros(8, dtype)) for _ in range(2)]
    for result, accumulator in zip(out, (".acc::f32", "")):
        body = f"multimem.ld_reduce.weak.global.add{accumulator}.v4.{name} {{t1, t2, t3, t4}}, [u4]; st.global.v4.b32 [u5], {{t1, t2, t3, t4}};"
        run(body, copies, result, 1)
    narrow = (copies[0] + copies[1]) + copies[2]
    wide = sum(copy.astype(np.float32) for copy in copies).astype(dtype)
    assert (narrow != wide).all()
    np.testing.assert_array_equal(out[0], wide)
    np.testing.assert_array_equal(out[1], narrow)


def test_a_vector_is_stored_to_each_copy():
    copies, out = copies_of(np.float32, 4), aligned(np.arange(4, dtype=np.float32))
    run(
        "ld.global.v4.b32 {t1, t2, t3, t4}, [u5]; multimem.st.relaxed.sys.global.v4.f32 [u4], {t1, t2, t3, t4};",
        copies, out, 1,
    )  # fmt: skip
    assert all(copy.tolist() == [0, 1, 2, 3] for copy in copies)


def test_threads_that_are_masked_off_access_nothing():
    copies, out = copies_of(np.float32, 8), aligned(np.full(8, 7, np.float32))
    wanted = sum(copy[0] for copy in copies)
    run(
        "setp.eq.u32 p0, t0, 0; mov.b32 t1, 0; @!p0 add.u64 u4, u4, 4096; @p0 multimem.ld_reduce.global.add.f32 t1, [u4];"
        "st.global.b32 [u5], t1;",
        copies, out, 2,
    )  # fmt: skip
    assert (out[0], out[4]) == (wanted, 0)


@pytest.mark.parametrize("body, reason", [
    ("multimem.st.global.b32 [u4+16], t0;", "not an address of a multicast object"),
    ("multimem.st.global.b32 [u5], t0;", "not an address of a multicast object"),
    ("st.global.b32 [u4], t0;", "not a global address"),
])  # fmt: skip
def test_only_multimem_instructions_access_the_object_and_only_the_object(body, reason):
    copies, out = copies_of(np.float32, 4), aligned(np.zeros(4, np.float32))
    with pytest.raises(emulator.EmulatorFault, match=reason):
        run(body, copies, out, 1)


def test_copies_have_one_size():
    with pytest.raises(ValueError, match="same size"):
        emulator.Memory().map_multicast([np.zeros(4), np.zeros(5)])
