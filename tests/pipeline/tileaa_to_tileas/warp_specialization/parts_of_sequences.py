"""Decoding of a part of a sequence, in one or two steps, for eight rows of queries; and of a whole sequence."""

import cuda.tile as ct

from tileiras_build.cases import Array, Case, Scalar

ConstInt = ct.Constant[int]
KEYS, WIDTH, ROWS, PART = 128, 128, 8, 256


def _attend(q, k, v, out, start, stop, place):
    query = ct.load(q, (ct.bid(0), 0, 0), (1, ROWS, WIDTH)).reshape((ROWS, WIDTH))
    total, weights = ct.zeros((KEYS, ROWS), ct.float32), ct.zeros((KEYS, ROWS), ct.float32)
    for step in range(ct.cdiv(stop - start, KEYS)):
        first = start + step * KEYS
        keys = ct.load(k, (ct.bid(0), first // KEYS, 0), (1, KEYS, WIDTH), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(keys.reshape((KEYS, WIDTH)), query.transpose(), ct.zeros((KEYS, ROWS), ct.float32))
        inside = first + ct.arange(KEYS, dtype=ct.int32) < stop
        weight = ct.where(inside[:, None], ct.exp2(scores), 0.0)
        weights = weights + weight
        values = ct.load(v, (ct.bid(0), first // KEYS, 0), (1, KEYS, WIDTH), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(values.reshape((KEYS, WIDTH)).transpose(), weight.astype(v.dtype), total)
    result = (total / ct.sum(weights, axis=0)[None, :]).transpose()
    ct.store(out, (ct.bid(0), place, 0, 0), result.reshape((1, 1, ROWS, WIDTH)).astype(out.dtype))


@ct.kernel
def part(q, k, v, out, length):
    start = ct.bid(1) * PART
    stop = min(start + PART, length)
    if start >= stop:
        return
    _attend(q, k, v, out, start, stop, ct.bid(1))


@ct.kernel
def whole(q, k, v, out, length):
    _attend(q, k, v, out, 0, length, 0)


ARRAY, OUT = Array("float16", 3, stride_divisible_by=8), Array("float32", 4, stride_divisible_by=8)
CASES = [
    Case(name, one, (ARRAY, ARRAY, ARRAY, OUT, Scalar("int32"))) for name, one in (("part", part), ("whole", whole))
]
