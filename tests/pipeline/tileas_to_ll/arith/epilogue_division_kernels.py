"""Epilogues that divide each element of an accumulator by one of its own, beside more tiles than threads have registers for."""

import cuda.tile as ct

from tileiras_build.cases import Array, Case

FEATURES = {"stride_divisible_by": 16, "shape_divisible_by": 16}
MATRIX, BYTES = (Array(kind, 2, **FEATURES) for kind in ("float16", "float8_e4m3fn"))


def _silu(x):
    return x / (1.0 + ct.exp(-x))


@ct.kernel
def gated(a, gates, ups, gate_out, out, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    gate, up = ct.zeros((TM, TN), ct.float32), ct.zeros((TM, TN), ct.float32)
    for k in range(ct.cdiv(a.shape[1], TK)):
        rows = ct.load(a, (0, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        gate = ct.mma(rows, ct.load(gates, (k, 0), (TK, TN), padding_mode=ct.PaddingMode.ZERO), gate)
        up = ct.mma(rows, ct.load(ups, (k, 0), (TK, TN), padding_mode=ct.PaddingMode.ZERO), up)
    rounded = gate.astype(a.dtype)
    ct.store(gate_out, (0, 0), rounded)
    ct.store(out, (0, 0), _silu(rounded.astype(ct.float32)).astype(a.dtype) * up.astype(a.dtype))


@ct.kernel
def to_bytes(a, b, out, maxima, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.cdiv(a.shape[1], TK)):
        rows = ct.load(a, (0, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(rows, ct.load(b, (k, 0), (TK, TN), padding_mode=ct.PaddingMode.ZERO), acc)
    y = _silu(acc)
    ct.store(out, (0, 0), y.astype(out.dtype))
    ct.store(maxima, (0, 0), ct.max(ct.abs(y), axis=1, keepdims=True))


CASES = [
    Case("gated", gated, (*[MATRIX] * 5, 256, 128, 64)),
    Case("to_bytes", to_bytes, (MATRIX, MATRIX, BYTES, Array("float32", 2), 128, 128, 64)),
]
