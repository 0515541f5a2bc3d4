"""Operands of block-scaled dots whose results are exact, what they must give, and what the emulator gives."""

from pathlib import Path

import ml_dtypes
import numpy as np

from tests.emulated_kernels import aligned, cases, compiled, run
from tileiras_build.frontend.export_cutile import pack_arguments
from tileiras_build.simulate import emulator

KERNELS = Path(__file__).with_name("block_scaled_dots.py")
PARAMETERS = 5  # of a matrix: its address, lengths and strides
SIGNED = ("fp4_signed_scales",)


def sizes(name):
    return [argument for argument in cases(KERNELS)[name].arguments if isinstance(argument, int)]


def operands(name, shape, seed=0):
    """(a, a scales, b, b scales, result) for (…, m, n, k): exact sums, for the scales are near one."""
    rng = np.random.default_rng(seed)
    *batch, m, n, k = shape
    left, scale = cases(KERNELS)[name].arguments[:2]
    block = sizes(name)[-1]
    values, dtype = [0, 0.5, 1, -1, 1.5, -2, 3, -4, 6], "float4_e2m1fn" if in_bytes(name) else left.dtype
    a, b = (rng.choice(values, (*batch, *dims)) for dims in ((m, k), (n, k)))
    if scale.dtype == "float8_e8m0fnu":
        scales = [np.exp2(rng.integers(-2, 3, (*batch, rows, k // block))) for rows in (m, n)]
    else:
        factors = [0.5, -1, 1.5, 2] if name in SIGNED else [0.5, 1, 1.5, 2, 0, -0.0]
        scales = [rng.choice(factors, (*batch, rows, k // block)) for rows in (m, n)]
    a, b = (stored(value, dtype) for value in (a, b))
    scales = [value.astype(np.dtype(scale.dtype)) for value in scales]
    right = [value.swapaxes(-1, -2) for value in (b, scales[1])]
    if "across" in name:
        right = [np.ascontiguousarray(value) for value in right]
    return a, scales[0], *right, np.full((*batch, m, n), 7, np.float32)


def in_bytes(name):
    return cases(KERNELS)[name].arguments[0].dtype == "uint8"


def in_pairs(values):
    """fp4 as memory holds it, two to a byte along the last dimension."""
    codes = values.view(np.uint8)
    return codes[..., ::2] | codes[..., 1::2] << 4


def reordered(scales):
    """(lines / 128, k / 4, 32, 16): a line's four scales, those of lines 32 apart, 32 lines."""
    lines, along = scales.shape
    return np.ascontiguousarray(
        scales.reshape(lines // 128, 4, 32, along // 4, 4).transpose(0, 3, 2, 1, 4).reshape(-1, along // 4, 32, 16)
    )


def stored(values, dtype):
    return values.astype(np.dtype(getattr(ml_dtypes, dtype)))


def expected(name, a, a_scale, b, b_scale):
    block = sizes(name)[-1]
    left = a.astype(np.float64) * np.repeat(a_scale.astype(np.float64), block, axis=-1)
    return left @ (b.astype(np.float64) * np.repeat(b_scale.astype(np.float64), block, axis=-2))


def run_any(name, sm, given, grid=(1, 1, 1)):
    """The result; fp4 lies in memory two to a byte."""
    case = cases(KERNELS)[name]
    if in_bytes(name):
        turned, scales = given[2].swapaxes(-1, -2), [given[1], given[3].swapaxes(-1, -2)]
        if name.endswith("reordered"):
            scales = [reordered(one) for one in scales]
        given = [in_pairs(given[0]), scales[0], in_pairs(turned), scales[1], given[4]]
    if case.arguments[0].dtype != "float4_e2m1fn":
        return run(KERNELS, name, sm, given, grid)[4]
    copies = [aligned(value) for value in given]
    parameters, memory = pack_arguments(case, copies), emulator.Memory()
    halves = [value.ravel(order="K").view(np.uint8) for value in (copies[0], copies[2])]
    packed = [aligned(codes[::2] | codes[1::2] << 4) for codes in halves]
    for at, codes in zip((0, 2), packed):
        parameters[at * PARAMETERS] = codes.ctypes.data.to_bytes(8, "little")
    for array in (*packed, copies[1], copies[3], copies[4]):
        memory.map(array.ctypes.data, array.nbytes)
    emulator.launch(compiled(KERNELS, name, sm), name, grid, parameters, memory=memory, check_races=True)
    return copies[4]


def padded(scales):
    """A line of NaN behind the last scales, as far as vectors of 16 bytes reach."""
    codes = np.ascontiguousarray(scales).view(np.uint8)
    wide = np.pad(codes, ((0, 0), (0, -codes.shape[1] % 16)), constant_values=0xFF)
    return wide.view(scales.dtype)
