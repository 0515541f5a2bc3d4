"""Kernels that convert an array from one element type to another."""

import cuda.tile as ct

from tileiras_build.frontend.export_cutile import Array, Case


@ct.kernel
def cast(x, out, TILE: ct.Constant[int]):
    """out = x in the element type of out."""
    tile = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(out, (ct.bid(0),), tile.astype(out.dtype))


@ct.kernel
def cast_up(x, out, TILE: ct.Constant[int]):
    """The same, rounded up."""
    tile = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(out, (ct.bid(0),), ct.astype(tile, out.dtype, rounding_mode=ct.RoundingMode.RP))


@ct.kernel
def cast_toward_zero(x, out, TILE: ct.Constant[int]):
    """The same, rounded toward zero."""
    tile = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(out, (ct.bid(0),), ct.astype(tile, out.dtype, rounding_mode=ct.RoundingMode.RZ))


@ct.kernel
def through_tf32_ties_away(x, out, TILE: ct.Constant[int]):
    """out = x with the precision of tf32, ties rounded away from zero."""
    tile = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(out, (ct.bid(0),), ct.astype(tile, ct.tfloat32, rounding_mode=ct.RoundingMode.RA).astype(ct.float32))


@ct.kernel
def through_tf32(x, out, TILE: ct.Constant[int]):
    """out = x with the precision of tf32."""
    tile = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(out, (ct.bid(0),), tile.astype(ct.tfloat32).astype(ct.float32))


@ct.kernel
def through_tf32_toward_zero(x, out, TILE: ct.Constant[int]):
    """out = x with the precision of tf32, rounded toward zero."""
    tile = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(out, (ct.bid(0),), ct.astype(tile, ct.tfloat32, rounding_mode=ct.RoundingMode.RZ).astype(ct.float32))


@ct.kernel
def from_f4(x, out, TILE: ct.Constant[int]):
    """out = the f4 values whose bits are packed in the bytes of x."""
    tile = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(out, (ct.bid(0),), ct.unpack_from_bytes(tile, ct.float4_e2m1fn).astype(out.dtype))


@ct.kernel
def to_f4(x, out, TILE: ct.Constant[int]):
    """out = the bytes of x as f4, two in a byte."""
    tile = ct.load(x, (ct.bid(0),), (TILE,))
    ct.store(out, (ct.bid(0),), ct.pack_to_bytes(tile.astype(ct.float4_e2m1fn)))


def vector(dtype):
    return Array(dtype, 1, shape_divisible_by=16)


TILE = 256


@ct.kernel
def times_unit(x, unit, out, M: ct.Constant[int], N: ct.Constant[int]):
    """x @ unit, where threads read x from shared memory, and convert it."""
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=1, shape=(M, N))):
        acc = ct.mma(ct.load(x, (0, k), (M, N)).astype(unit.dtype), ct.load(unit, (k, 0), (N, N)), acc)
    ct.store(out, (0, 0), acc)


def _matrix(dtype: str) -> Array:
    return Array(dtype, 2, stride_divisible_by=16, shape_divisible_by=16)


CASES = [
    Case("e4m3_to_f32", cast, (vector("float8_e4m3fn"), vector("float32"), TILE)),
    Case("e5m2_to_f32", cast, (vector("float8_e5m2"), vector("float32"), TILE)),
    Case("e8m0_to_f32", cast, (vector("float8_e8m0fnu"), vector("float32"), TILE)),
    Case("e4m3_to_f16", cast, (vector("float8_e4m3fn"), vector("float16"), TILE)),
    Case("e5m2_to_bf16", cast, (vector("float8_e5m2"), vector("bfloat16"), TILE)),
    Case("e4m3_to_e5m2", cast, (vector("float8_e4m3fn"), vector("float8_e5m2"), TILE)),
    Case("f16_to_e4m3", cast, (vector("float16"), vector("float8_e4m3fn"), TILE)),
    Case("f16_to_e5m2", cast, (vector("float16"), vector("float8_e5m2"), TILE)),
    Case("f32_to_e4m3", cast, (vector("float32"), vector("float8_e4m3fn"), TILE)),
    Case("f32_to_e5m2", cast, (vector("float32"), vector("float8_e5m2"), TILE)),
    Case("f32_to_e8m0_up", cast_up, (vector("float32"), vector("float8_e8m0fnu"), TILE)),
    Case("f32_to_e8m0_zero", cast_toward_zero, (vector("float32"), vector("float8_e8m0fnu"), TILE)),
    Case("f32_to_tf32", through_tf32, (vector("float32"), vector("float32"), TILE)),
    Case("f32_to_tf32_zero", through_tf32_toward_zero, (vector("float32"), vector("float32"), TILE)),
    Case("f32_to_tf32_away", through_tf32_ties_away, (vector("float32"), vector("float32"), TILE)),
    Case("f32_to_bool", cast, (vector("float32"), vector("bool_"), TILE)),
    Case("f64_to_bool", cast, (vector("float64"), vector("bool_"), TILE)),
    Case("e5m2_to_bool", cast, (vector("float8_e5m2"), vector("bool_"), TILE)),
    Case("f4_to_f32", from_f4, (vector("uint8"), vector("float32"), TILE)),
    Case("f4_to_f16", from_f4, (vector("uint8"), vector("float16"), TILE)),
    Case("f32_to_f4", to_f4, (vector("float32"), vector("uint8"), TILE)),
    Case("f32_to_f16", cast, (vector("float32"), vector("float16"), TILE)),
    Case("f32_to_bf16", cast, (vector("float32"), vector("bfloat16"), TILE)),
    Case("f16_to_bf16", cast, (vector("float16"), vector("bfloat16"), TILE)),
    Case("bf16_to_f16", cast, (vector("bfloat16"), vector("float16"), TILE)),
    Case("f64_to_f16", cast, (vector("float64"), vector("float16"), TILE)),
    Case("f64_to_bf16", cast, (vector("float64"), vector("bfloat16"), TILE)),
    Case("f64_to_e4m3", cast, (vector("float64"), vector("float8_e4m3fn"), TILE)),
    Case("f64_to_f32", cast, (vector("float64"), vector("float32"), TILE)),
    Case("i8_to_f16", cast, (vector("int8"), vector("float16"), TILE)),
    *(
        Case(f"i8_times_{name}", times_unit, (_matrix("int8"), _matrix(dtype), _matrix("float32"), 128, 64))
        for name, dtype in (("f16", "float16"), ("bf16", "bfloat16"))
    ),
    Case("u8_to_bf16", cast, (vector("uint8"), vector("bfloat16"), TILE)),
    Case("i32_to_f16", cast, (vector("int32"), vector("float16"), TILE)),
    Case("i64_to_f32", cast, (vector("int64"), vector("float32"), TILE)),
    Case("u64_to_f64", cast, (vector("uint64"), vector("float64"), TILE)),
    Case("i32_to_bf16", cast, (vector("int32"), vector("bfloat16"), TILE)),
    Case("u64_to_bf16", cast, (vector("uint64"), vector("bfloat16"), TILE)),
    Case("i32_to_e4m3", cast, (vector("int32"), vector("float8_e4m3fn"), TILE)),
    Case("f16_to_i8", cast, (vector("float16"), vector("int8"), TILE)),
    Case("f32_to_i32", cast, (vector("float32"), vector("int32"), TILE)),
    Case("f32_to_u8", cast, (vector("float32"), vector("uint8"), TILE)),
    Case("f64_to_i64", cast, (vector("float64"), vector("int64"), TILE)),
    Case("i32_to_i8", cast, (vector("int32"), vector("int8"), TILE)),
    Case("i8_to_i64", cast, (vector("int8"), vector("int64"), TILE)),
    Case("u8_to_i32", cast, (vector("uint8"), vector("int32"), TILE)),
]
