"""Small kernels for the emulator's tests: one thread per element, or a whole kernel body."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tileiras_build.simulate import emulator

HEADER = ".version 9.0\n.target sm_120a\n.address_size 64\n"
SCRATCH = (
    ".reg .pred p<8>; .reg .b16 h<8>; .reg .b32 t<16>; .reg .f32 f<16>; .reg .b64 u<16>; .reg .f64 g<8>; .reg .b8 e<4>;"
)


def kernel(body: str, params: int = 1, threads: int = 32, extra: str = "", declare: str = SCRATCH) -> str:
    """PTX of a kernel ``k`` with 64-bit parameters in u0, u1, …; ``body`` may end in ret itself."""
    formals = ", ".join(f".param .u64 k_{i}" for i in range(params))
    loads = "\n".join(f"ld.param.u64 u{i}, [k_{i}];" for i in range(params))
    return f"{HEADER}{extra}\n.visible .entry k({formals}) .reqntid {threads}, 1, 1 {{\n{declare}\n{loads}\n{body}\nret;\n}}\n"


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy whose first byte lies at a multiple of 64."""
    raw = np.zeros(array.nbytes + 64, np.uint8)
    skip = -raw.__array_interface__["data"][0] % 64
    out = raw[skip : skip + array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def run(ptx: str, *arrays, grid=1, **options) -> None:
    """Run kernel ``k`` on arrays (mapped, passed as pointers) and integers (as 64-bit values)."""
    memory = emulator.Memory()
    params = []
    for value in arrays:
        number = memory.map_array(value) if isinstance(value, np.ndarray) else int(value)
        params.append(number.to_bytes(8, "little"))
    emulator.run_ptx(ptx, "k", grid, None, params, memory=memory, **{"findings": "fault"} | options)


def evaluate(body: str, *inputs, out):
    """Run ``body`` once per element. Inputs are in registers a, b, c, d; results in x (and y, …).

    ``out`` is a dtype or a tuple of dtypes. Returns an array, or a tuple of them.
    """
    outs = out if isinstance(out, tuple) else (out,)
    inputs = [np.ascontiguousarray(i) for i in inputs]
    n = len(inputs[0])
    results = [np.zeros(n, o) for o in outs]
    lines = ["mov.u32 t0, %ctaid.x; mov.u32 t1, %tid.x; mad.lo.u32 t2, t0, 64, t1;"]
    lines.append(f"setp.ge.u32 p7, t2, {n}; @p7 exit; cvt.u64.u32 u10, t2;")
    declare = SCRATCH
    for i, array in enumerate(inputs):
        bits = array.dtype.itemsize * 8
        declare += f" .reg .b{bits} {'abcd'[i]};"
        lines.append(f"mad.lo.u64 u11, u10, {bits // 8}, u{i}; ld.global.b{bits} {'abcd'[i]}, [u11];")
    lines.append(body)
    for i, array in enumerate(results):
        bits = array.dtype.itemsize * 8
        declare += f" .reg .b{bits} {'xyzw'[i]};"
        at = i + len(inputs)
        lines.append(f"mad.lo.u64 u11, u10, {bits // 8}, u{at}; st.global.b{bits} [u11], {'xyzw'[i]};")
    ptx = kernel("\n".join(lines), len(inputs) + len(results), 64, declare=declare)
    run(ptx, *inputs, *results, grid=-(-n // 64))
    return tuple(results) if isinstance(out, tuple) else results[0]


# -- exact rounding, by rationals --------------------------------------------------------------------
FORMATS = {"f32": (24, -149, 127), "f64": (53, -1074, 1023), "f16": (11, -24, 15), "bf16": (8, -133, 127)}


def exponent_of(magnitude: Fraction) -> int:
    """The largest integer whose power of two is not above a positive number."""
    found = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return found - (Fraction(2) ** found > magnitude)


def exact_round(value: Fraction, fmt: str, mode: str = "rn") -> Fraction | float:
    """``value`` rounded to a binary format (precision, exponent of the last subnormal bit, largest exponent)."""
    precision, lowest, highest = FORMATS[fmt]
    if value == 0:
        return value
    quantum = Fraction(2) ** max(exponent_of(abs(value)) - precision + 1, lowest)
    scaled = value / quantum
    low = scaled.numerator // scaled.denominator
    rest = scaled - low
    if mode == "rn":
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1)
    else:
        up = rest > 0 and (mode == "rp" or (mode == "rz" and value < 0))
    rounded = (low + up) * quantum
    limit = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** highest
    if abs(rounded) <= limit:
        return rounded
    outward = mode == "rn" or (mode == "rp" and value > 0) or (mode == "rm" and value < 0)
    return (float("inf") if value > 0 else float("-inf")) if outward else (limit if value > 0 else -limit)


def bits(values, fmt: str) -> np.ndarray:
    """Bit patterns of exactly representable values."""
    floats = [float(v) for v in values]
    dtype = {"f32": np.float32, "f64": np.float64}[fmt]
    return np.array(floats, dtype).view(f"u{np.dtype(dtype).itemsize}")
