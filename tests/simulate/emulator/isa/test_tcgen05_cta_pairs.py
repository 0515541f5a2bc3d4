"""tcgen05 of CTA pairs (cta_group::2): one thread of the even CTA issues operations of both."""

import numpy as np
import pytest

from tests.simulate.emulator.tensor_kernels import (
    encode,
    instruction,
    k_major_address,
    place,
    random_matrix,
    row_bytes,
    run_tensor,
    scaled_instruction,
)
from tileiras_build.simulate.emulator import EmulatorFault

B_START = 32768
PAIR = {"grid": 2, "group": 2, "cluster": ".reqnctapercluster 2, 1, 1"}
COMMIT = (
    "mov.b16 h0, 3; tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], h0;"
)


def issue(text: str) -> str:
    """By the even CTA only."""
    return f"setp.ne.u32 p5, t6, 0; @p5 bra G; {text} {COMMIT}"


def mma(kind, a, b, word, keep=0, d="t1", scales="", extra=""):
    left = f"mov.u64 d0, {a};" if isinstance(a, int) else ""
    name = "d0" if isinstance(a, int) else a
    return issue(
        f"{left} mov.u64 d1, {b}; mov.u32 t9, {word}; tcgen05.mma.cta_group::2.{kind} [{d}], {name}, d1, t9, {extra}{scales}{keep};"
    )


def images(rng, m, n, type_, k):
    """Shared memory of both CTAs (half of A's rows, half of B's columns each), and the values of A and B."""
    a_codes, a = random_matrix(rng, (m, k), type_)
    b_codes, b = random_matrix(rng, (n, k), type_)
    shared = np.zeros((2, B_START + 16384), np.uint8)
    for i in (0, 1):
        place(shared[i], row_bytes(a_codes[m // 2 * i : m // 2 * (i + 1)], type_), k_major_address, 0, 0, 1024, 128)
        place(
            shared[i], row_bytes(b_codes[n // 2 * i : n // 2 * (i + 1)], type_), k_major_address, B_START, 0, 1024, 128
        )
    return shared, a, b


WORDS = (encode(0, 0, 1024, 128), encode(B_START, 0, 1024, 128))


def gather(out, m, n):
    """D from the tensor memory of both CTAs (layouts A and B)."""
    cells = out.view(np.float32)
    if m == 256:
        return cells[:, :, :n].reshape(256, n)
    return np.concatenate([np.concatenate([c[:64, : n // 2], c[64:, : n // 2]], axis=1) for c in cells])


@pytest.mark.parametrize("m", [128, 256])
@pytest.mark.parametrize("n", [32, 64])
def test_layouts(m, n):
    rng = np.random.default_rng(0)
    shared, a, b = images(rng, m, n, "f16", 16)
    cells = rng.standard_normal((2, 128, 64)).astype(np.float32)
    out = run_tensor(shared, mma("kind::f16", *WORDS, instruction(m, n), keep=1), cells.view(np.uint32), **PAIR)
    want = gather(cells, m, n) + a @ b.T
    np.testing.assert_allclose(gather(out, m, n), want, rtol=1e-5, atol=1e-5)
    used = n if m == 256 else n // 2
    np.testing.assert_array_equal(out.view(np.float32)[:, :, used:], cells[:, :, used:])


@pytest.mark.parametrize("m", [128, 256])
def test_left_operand_in_tensor_memory(m):
    """In layout B, both halves of the lanes contain the rows of A."""
    rng = np.random.default_rng(1)
    shared, a, b = images(rng, m, 32, "f16", 16)
    cells = np.zeros((2, 128, 64), np.uint32)
    words = a.astype(np.float16).view(np.uint32).reshape(2, m // 2, 8)
    cells[:, :, 32:40] = words if m == 256 else np.concatenate([words, words], axis=1)
    text = "add.u32 t10, t1, 32;" + mma("kind::f16", "[t10]", WORDS[1], instruction(m, 32))
    out = run_tensor(shared, text, cells, **PAIR)
    np.testing.assert_allclose(gather(out, m, 32), a @ b.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("m", [128, 256])
def test_block_scaling(m):
    """Each CTA has the factors of its rows; those of B are in both, in layout B those of a half in the lanes of that half."""
    rng = np.random.default_rng(2)
    n = 64
    shared, a, b = images(rng, m, n, "e4m3", 32)
    factors_a, factors_b = (rng.integers(120, 134, rows).astype(np.uint8) for rows in (m, n))
    cells = np.full((2, 128, 96), 0x7F7F7F7F, np.uint32)
    codes = cells.view(np.uint8).reshape(2, 128, 96, 4)
    for cta in (0, 1):
        for lane in range(128):
            for r in range(lane % 32, m // 2, 32):
                codes[cta, lane, 64 + r // 32, 0] = factors_a[m // 2 * cta + r]
            start, count = (0, n) if m == 256 else (n // 2 * (lane // 64), n // 2)
            for c in range(lane % 32, count, 32):
                codes[cta, lane, 80 + c // 32, 0] = factors_b[start + c]
    text = "add.u32 t10, t1, 64; add.u32 t11, t1, 80;" + mma(
        "kind::mxf8f6f4.block_scale", *WORDS, scaled_instruction(m, n, 0, 0, 1), scales="[t10], [t11], "
    )
    out = run_tensor(shared, text, cells, **PAIR)
    scaled_a, scaled_b = (x * np.exp2(f.astype(float) - 127)[:, None] for x, f in ((a, factors_a), (b, factors_b)))
    np.testing.assert_allclose(gather(out, m, n), scaled_a @ scaled_b.T, rtol=1e-5, atol=1e-5)


def test_disabled_lanes_of_both_ctas():
    rng = np.random.default_rng(3)
    shared, a, b = images(rng, 256, 32, "f16", 16)
    masks = [1, 0, 0, 0, 0, 0, 0, 1 << 31]
    lanes = "".join(f"mov.u32 t{12 + i}, {m};" for i, m in enumerate(masks))
    names = ", ".join(f"t{12 + i}" for i in range(8))
    text = lanes + mma("kind::f16", *WORDS, instruction(256, 32), extra=f"{{{names}}}, ")
    out = run_tensor(shared, text, np.zeros((2, 128, 32), np.uint32), **PAIR).view(np.float32).reshape(256, 32)
    want = a @ b.T
    want[[0, 255]] = 0
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)


def test_copies_within_each_cta():
    shared = np.random.default_rng(4).integers(0, 256, (2, 4096)).astype(np.uint8)
    text = issue(f"mov.u64 d0, {encode(0, 0, 128)}; tcgen05.cp.cta_group::2.32x128b.warpx4 [t1], d0;")
    out = run_tensor(shared, text, np.zeros((2, 128, 32), np.uint32), **PAIR)
    rows = shared[:, :512].reshape(2, 4, 8, 16).reshape(2, 32, 16).copy().view(np.uint32)
    np.testing.assert_array_equal(out[:, :, :4], np.tile(rows, (1, 4, 1)))


def test_a_pair_needs_a_cluster():
    with pytest.raises(EmulatorFault, match="needs a cluster"):
        run_tensor(np.zeros((1, 16), np.uint8), issue(""), np.zeros((1, 128, 32), np.uint32), group=2)


def test_small_shapes_are_unsupported():
    shared = np.zeros((2, 65536), np.uint8)
    with pytest.raises(EmulatorFault, match="unsupported shape M = 64"):
        run_tensor(shared, mma("kind::f16", *WORDS, instruction(64, 32)), np.zeros((2, 128, 32), np.uint32), **PAIR)


@pytest.mark.parametrize("parted", [True, False])
def test_pair_deallocates_columns_that_the_peer_may_still_read(parted):
    """PTX ISA 9.0, section 9.7.16.5, table 47: the CTAs must synchronize before they deallocate columns of both."""
    cells = np.arange(2 * 128 * 32, dtype=np.uint32).reshape(2, 128, 32)
    options = {"grid": 2, "group": 2, "cluster": ".reqnctapercluster 2, 1, 1", "wait": False, "races": True}
    if parted:
        np.testing.assert_array_equal(run_tensor(np.zeros((2, 16), np.uint8), "", cells, **options), cells)
        return
    with pytest.raises(
        EmulatorFault,
        match="race on tensor memory: no synchronization orders an access by warp . in columns .* of the peer CTA before this deallocation",
    ):
        run_tensor(np.zeros((2, 16), np.uint8), "", cells, parted=False, **options)


def test_allocation_of_a_pair_needs_both_ctas():
    options = {"grid": 2, "group": 2, "cluster": ".reqnctapercluster 2, 1, 1", "wait": False, "races": True}
    cells = np.zeros((2, 128, 32), np.uint32)
    with pytest.raises(
        EmulatorFault,
        match=r"no synchronization guarantees that CTA .* has started .*peer-cta-not-running.*tcgen05\.alloc",
    ):
        run_tensor(np.zeros((2, 16), np.uint8), "", cells, met=False, **options)
    run_tensor(np.zeros((2, 16), np.uint8), "", cells, met=False, **(options | {"races": False}))
