// Types of the kernels. Each kernel takes pointers and int64_t alone, and returns int64_t (native_code.py).
#pragma once
#include <stdint.h>
#include <string.h>

typedef int64_t i64;
typedef int32_t i32;
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;

#define INLINE static inline __attribute__((always_inline))

INLINE u32 bits_of(float value) { u32 bits; memcpy(&bits, &value, 4); return bits; }
INLINE float float_of(u32 bits) { float value; memcpy(&value, &bits, 4); return value; }
INLINE u64 bits_of_double(double value) { u64 bits; memcpy(&bits, &value, 8); return bits; }
INLINE double double_of(u64 bits) { double value; memcpy(&value, &bits, 8); return value; }

// The columns of 8 rows of 16 bits, which are turned in place by perfect shuffles.
typedef u16 row16 __attribute__((vector_size(16), aligned(2)));
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (row16){__VA_ARGS__})
#endif
INLINE void transpose(row16 *rows) {
#pragma GCC unroll 3
    for (int turn = 0; turn < 3; turn++) {
        row16 found[8];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            found[2 * i] = SHUFFLE(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            found[2 * i + 1] = SHUFFLE(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        memcpy(rows, found, sizeof found);
    }
}

// What is known of Python: the size of an object's head, which its type ends, the types of NumPy's arrays and of float32 scalars,
// and the dtype of the latter.
typedef struct { i64 head, array, scalar, float32; } Python;
extern Python python;

// The fields of NumPy's arrays after the head (NumPy C API, PyArrayObject).
typedef struct {
    i64 data;
    int nd;
    const i64 *dimensions, *strides;
    void *base;
    i64 descr;
    int flags;  // bit 0: C-contiguous
} Array;

INLINE i64 type_of(i64 object) { return *(const i64 *)(object + python.head - 8); }
INLINE const Array *array_of(i64 object) {
    return type_of(object) == python.array ? (const Array *)(object + python.head) : 0;
}
