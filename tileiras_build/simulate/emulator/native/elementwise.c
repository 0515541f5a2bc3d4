// Elementwise operations on float32 (elementwise.py). Each returns whether it rejects an element: a NaN, or a value too close to a
// rounding boundary.
#include "kernels.h"

#define STRIP 256  // elements that stay in the first-level cache

typedef i64 Operation(void *, const void *, const void *, const void *, i64);

// An operation of up to three operands: ``y`` and ``bad`` of an element from x0, x1, x2.
#define OPERATION(name, Result, ...) \
    static i64 do_##name(void *restrict out, const void *in0, const void *in1, const void *in2, i64 count) { \
        Result *ys = out; \
        const float *x0s = in0, *x1s = in1, *x2s = in2; \
        u32 any = 0; \
        for (i64 i = 0; i < count; i++) { \
            float x0 = x0s[i], x1 = x1s[i], x2 = x2s[i]; \
            Result y; \
            u32 bad; \
            (void)x1, (void)x2; \
            __VA_ARGS__; \
            ys[i] = y; \
            any |= bad; \
        } \
        return any; \
    }

#ifdef __FP_FAST_FMA
#define MULTIPLY_ADD(x, y, z) __builtin_fma(x, y, z)
#else
#define MULTIPLY_ADD(x, y, z) ((x) * (y) + (z))
#endif

// 2^x: the Taylor series of 2^(x - n) of degree 13, with n the integer nearest to x, times 2^n. The remainder is below 2^-57 of the
// sum. Horner's rule has an error below two units in the last place: half a unit by the last step, and less than half by each of the
// earlier steps and the last coefficients. Results within eight units of the midpoint of two float32 are bad, as are subnormal ones.
static const double SERIES[] = {
    0x1.0000000000000p+0, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58ep-3, 0x1.c6b08d704a0bfp-5,
    0x1.3b2ab6fba4e77p-7, 0x1.5d87fe78a6730p-10, 0x1.430912f86c786p-13, 0x1.ffcbfc588b0c5p-17,
    0x1.62c0223a5c822p-20, 0x1.b5253d395e7c1p-24, 0x1.e4cf5158b8ec7p-28, 0x1.e8cac7351bb22p-32,
    0x1.c3bd650fc2983p-36, 0x1.816193166d0f7p-40,
};

INLINE float power(float x0, float smallest, u32 *bad) {
    int is_low = x0 < -126.0f, is_high = x0 >= 128.0f, is_nan = x0 != x0;
    double x = is_low | is_high | is_nan ? 0.0f : x0, moved = x + 0x1.8p52, rest = x - (moved - 0x1.8p52), sum = SERIES[13];
#pragma GCC unroll 13
    for (int k = 12; k >= 0; k--)
        sum = MULTIPLY_ADD(sum, rest, SERIES[k]);
    u64 bits = bits_of_double(sum) + (bits_of_double(moved) << 52);
    int is_near = ((bits - 268435448) & 536870911) <= 16, is_subnormal = is_low & (x0 > smallest);
    *bad = is_near | is_subnormal | is_nan;
    float rounded = is_low ? 0.0f : (float)double_of(bits);
    return is_high ? __builtin_inff() : rounded;
}

OPERATION(ex2, float, y = power(x0, -160.0f, &bad))
OPERATION(ex2_ftz, float, y = power(x0, __builtin_inff(), &bad))
OPERATION(fma, float, y = __builtin_fmaf(x0, x1, x2); bad = y != y)
OPERATION(add, float, y = x0 + x1; bad = y != y)
OPERATION(sub, float, y = x0 - x1; bad = y != y)
OPERATION(mul, float, y = x0 * x1; bad = y != y)

// Equal operands may be zeros of different signs.
OPERATION(max, float, float one = x0 > x1 ? x0 : x1; float both = float_of(bits_of(x0) & bits_of(x1)); y = x0 == x1 ? both : one;
          bad = x0 != x0 || x1 != x1)
OPERATION(min, float, float one = x0 < x1 ? x0 : x1; float both = float_of(bits_of(x0) | bits_of(x1)); y = x0 == x1 ? both : one;
          bad = x0 != x0 || x1 != x1)

// To nearest even. The unit of subnormal float16 is that of float32 from 1/2 to 1.
INLINE u16 half_of(float x) {
    u32 bits = bits_of(x), magnitude = bits & 0x7FFFFFFF;
    u32 normal = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    u32 subnormal = bits_of(float_of(magnitude) + 0.5f) - 0x3F000000;
    u32 finite = magnitude < 0x38800000 ? subnormal : normal;
    return (magnitude < 0x47800000 ? finite : 0x7C00) | (bits >> 16 & 0x8000);
}
OPERATION(f16, u16, y = half_of(x0); bad = x0 != x0)
OPERATION(bf16, u16, u32 bits = bits_of(x0); y = (bits + (bits >> 16 & 1) + 0x7FFF) >> 16; bad = x0 != x0)

static const struct { Operation *apply; i64 bytes; } OPERATIONS[] = {  // in the order of elementwise.OPERATIONS; bytes of a result
    {do_ex2, 4}, {do_ex2_ftz, 4}, {do_fma, 4}, {do_f16, 2}, {do_bf16, 2}, {do_add, 4}, {do_sub, 4}, {do_mul, 4}, {do_max, 4}, {do_min, 4},
};

typedef struct { const float *values; i64 row_step, column_step; } Operand;

// An operand that NumPy would broadcast to ``out``; no values for others.
INLINE Operand operand_of(i64 object, const Array *out) {
    const Array *array = array_of(object);
    if (!array)
        return (Operand){type_of(object) == python.scalar ? (const float *)(object + python.head) : 0, 0, 0};
    if (array->descr != python.float32 || !(array->flags & 1) || (array->nd && array->nd != out->nd))
        return (Operand){0};
    i64 steps[2] = {0}, step = 1;
    for (int axis = array->nd - 1; axis >= 0; step *= array->dimensions[axis--]) {
        if (array->dimensions[axis] != out->dimensions[axis] && array->dimensions[axis] != 1)
            return (Operand){0};
        steps[axis] = array->dimensions[axis] == 1 ? 0 : step;
    }
    return (Operand){(const float *)array->data, out->nd == 2 ? steps[0] : 0, steps[out->nd - 1]};
}

// Applies an operation to three objects, scalars or arrays of up to two axes; returns whether NumPy has to do it.
i64 apply(i64 operation, i64 result, i64 x0, i64 x1, i64 x2) {
    const Array *out = array_of(result);
    i64 rows = out->nd == 2 ? out->dimensions[0] : 1, columns = out->dimensions[out->nd - 1];
    Operand operands[3] = {operand_of(x0, out), operand_of(x1, out), operand_of(x2, out)};
    for (int i = 0; i < 3; i++)
        if (!operands[i].values)
            return 1;
    int is_flat = 1;
    for (int i = 0; i < 3; i++)
        is_flat &= operands[i].row_step == operands[i].column_step * columns;
    if (is_flat)
        columns *= rows, rows = 1;
    float strips[3][STRIP];
    char *to = (char *)out->data;
    for (i64 r = 0; r < rows; r++)
        for (i64 first = 0, size; first < columns; first += size, to += size * OPERATIONS[operation].bytes) {
            size = columns - first < STRIP ? columns - first : STRIP;
            const float *in[3];
            for (int i = 0; i < 3; i++) {
                in[i] = operands[i].values + r * operands[i].row_step + first * operands[i].column_step;
                if (operands[i].column_step)
                    continue;
                for (int lane = 0; !first && lane < size; lane++)  // once for each row
                    strips[i][lane] = *in[i];
                in[i] = strips[i];
            }
            if (OPERATIONS[operation].apply(to, in[0], in[1], in[2], size))
                return 1;
        }
    return 0;
}
