"""Dots that shared memory or tensor memory does not hold one beside the other in the fastest way."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case

ZERO = ct.PaddingMode.ZERO
M, N, K = 128, 32, 64


def tile(array, row, column, shape):
    return ct.load(array, (row, column), shape, padding_mode=ZERO).astype(ct.tfloat32)


@ct.kernel
def in_three_places(a, b, c, d, e, f, out):
    """A stage of the dots of both loops fits in the shared memory of sm_120, but not one of the dot between them, too."""
    acc = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(tile(a, 0, k, (M, K)), ct.load(b, (k, 0), (K, N), order=(1, 0)).astype(ct.tfloat32), acc)
    acc = ct.mma(tile(c, 0, 0, (M, K)), tile(d, 0, 0, (K, N)), acc)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(ct.transpose(tile(e, k, 0, (K, M))), tile(f, k, 0, (K, N)), acc)
    ct.store(out, (0, 0), acc)


@ct.kernel
def transposed(a, b, c, d, e, f, out):
    """Threads write the right operands of two dots to shared memory, beside the stages from which they read them."""
    acc = ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        weight = ct.mma(tile(a, 0, k, (M, K)), tile(b, 0, 0, (K, K)), ct.zeros((M, K), ct.float32))
        acc = acc + ct.sum(weight, axis=1, keepdims=True)
        acc = ct.mma(tile(c, 0, k, (M, K)), tile(d, k, 0, (K, 128)), acc)
        acc = ct.mma(tile(e, 0, k, (M, K)), tile(f, k, 0, (K, 128)), acc)
    ct.store(out, (0, 0), acc)


@ct.kernel
def interrupted(a, b, c, d, e, out):
    """Three dots add to one accumulator; the right operand of the last is from before the loop, and its left one follows from another dot."""
    acc = ct.zeros((64, 256), ct.float32)
    rows, columns = ct.arange(32, dtype=ct.int32)[:, None], ct.arange(256, dtype=ct.int32)[None, :]
    for k in range(ct.num_tiles(a, axis=1, shape=(64, 32))):
        x = ct.load(a, (0, k), (64, 32), padding_mode=ZERO, allow_tma=False)
        acc = ct.mma(x, ct.gather(b, (k * 32 + rows, columns), padding_value=0), acc)
        acc = ct.mma(ct.where(x > 0, x, -x), ct.load(c, (k, 0), (32, 256), padding_mode=ZERO), acc)
        y = ct.mma(x, ct.load(d, (k, 0), (32, 128), padding_mode=ZERO), ct.zeros((64, 128), ct.float32))
        sign = ct.where(y > 0, 1, 0).astype(ct.float16)
        acc = ct.mma(sign, ct.load(e, (0, 0), (128, 256), padding_mode=ZERO), acc)
    ct.store(out, (0, 0), acc)


@ct.kernel
def carried_state(weights, keys, values, out):
    """Shared memory has no space for a stage of all five dots, but for the first two, whose right operand is the state."""
    state = ct.zeros((128, 128), ct.float32)
    for step in range(ct.num_tiles(weights, axis=0, shape=(64, 128))):
        w, k = tile(weights, step, 0, (64, 128)), ct.load(keys, (step, 0), (64, 128), padding_mode=ZERO)
        before, zeros = state.astype(ct.tfloat32), ct.zeros((64, 128), ct.float32)
        new = ct.load(values, (step, 0), (64, 128), padding_mode=ZERO) - ct.mma(w, before, zeros)
        new = new.astype(ct.tfloat32)
        result = ct.mma((k * 2.0).astype(ct.tfloat32), before, zeros)
        scores = ct.mma(w, ct.transpose(k).astype(ct.tfloat32), ct.zeros((64, 64), ct.float32))
        ct.store(out, (step, 0), ct.mma(scores.astype(ct.tfloat32), new, result))
        state = ct.mma(ct.transpose(k * 4.0).astype(ct.tfloat32), new, state)


@ct.kernel
def scaled(a, b, scale, out):
    """Threads compute the right operands of two dots; those and two others take all shared memory."""
    total = ct.zeros((64, 128), ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, 64, 128))):
        for place in ct.static_iter(range(5)):
            x = ct.load(a, (place, 0, k), (1, 64, 128), padding_mode=ZERO).reshape((64, 128))
            y = ct.load(b, (place, k, 0), (1, 128, 128), padding_mode=ZERO).reshape((128, 128))
            if place < 2:
                y = y * ct.load(scale, (place, k), (1, 128)).reshape((128, 1))
            part = ct.mma(x, y, ct.zeros((64, 128), ct.float32))
            total = total + ct.where(part > 0, part, 0)
    ct.store(out, (0, 0), total)


@ct.kernel
def rounded(a, b, out, K: ct.Constant[int]):
    """out = f16(a) @ b: threads compute the left operand."""
    total = ct.zeros((128, 32), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(128, K))):
        left = ct.load(a, (0, k), (128, K), padding_mode=ZERO).astype(ct.float16)
        total = ct.mma(left, ct.load(b, (k, 0), (K, 32), padding_mode=ZERO), total)
    ct.store(out, (0, 0), total)


@ct.kernel
def kept(a, b, out):
    """The right operand is from before both loops; it is transposed in a branch, which becomes a bound of the inner one."""
    right, total = ct.load(b, (0, 0), (64, 64)), ct.zeros((64, 64), ct.float32)
    for row in range(2):
        for k in range(ct.num_tiles(a, axis=1, shape=(64, 64))):
            if k >= ct.bid(0):
                part = ct.mma(ct.load(a, (row, k), (64, 64)), ct.transpose(right), ct.zeros((64, 64), ct.float32))
                total = total + ct.where(part > 0, part, 0)
    ct.store(out, (0, 0), total)


HALVES = Array("float16", 2, stride_divisible_by=8, shape_divisible_by=(8, 8))
FLOATS = Array("float32", 2, stride_divisible_by=4, shape_divisible_by=(4, 4))
BATCHES = Array("float16", 3, stride_divisible_by=8, shape_divisible_by=(1, 8, 8))
SCALES = Array("float16", 2, stride_divisible_by=8, shape_divisible_by=(1, 8))
CASES = [
    Case("scaled", scaled, (BATCHES, BATCHES, SCALES, FLOATS)),
    Case("in_three_places", in_three_places, (FLOATS,) * 7),
    Case("transposed", transposed, (FLOATS,) * 7),
    Case("carried_state", carried_state, (FLOATS,) * 4),
    Case("kept", kept, (HALVES, HALVES, FLOATS)),
    Case("rounded_32", rounded, (FLOATS, HALVES, FLOATS, 32)),
    Case("rounded_64", rounded, (FLOATS, HALVES, FLOATS, 64)),
    Case("interrupted", interrupted, (HALVES,) * 5 + (FLOATS,)),
]
