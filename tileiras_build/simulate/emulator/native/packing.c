// Numbers of any type become float64, side by side as matmul.c multiplies them (pack_operands.py).
#include "kernels.h"

enum { F16, BF16, TF32, F32, E4M3, E5M2 };  // kinds, in the order of pack_operands.KINDS

// A finite number of a kind, of its bits, sign-extended. Exponent and fraction, ``magnitude`` bits, are moved to those of a
// float32, which is then 2^(127 - bias) times too small.
INLINE double small(i32 bits, const int fraction, const int magnitude, const int bias) {
    u32 kept = (((1u << magnitude) - 1) << (23 - fraction)) | 1u << 31;
    return (double)float_of(((u32)bits << (23 - fraction)) & kept) * double_of((u64)(1023 + 127 - bias) << 52);
}

INLINE double number_of(const char *from, const int kind) {
    u32 word = 0;
    memcpy(&word, from, kind < TF32 ? 2 : kind < E4M3 ? 4 : 1);
    switch (kind) {
    case F16: return small((i32)(int16_t)word, 10, 15, 15);
    case BF16: return float_of(word << 16);
    case TF32: return float_of(word & ~8191u);
    case F32: return float_of(word);
    case E4M3: return small((i32)(int8_t)word, 3, 7, 7);
    default: return small((i32)(int8_t)word, 2, 7, 15);
    }
}

INLINE int bytes_of(const int kind) { return kind < TF32 ? 2 : kind < E4M3 ? 4 : 1; }

// ---- blocks of eight rows, of a register of a warp or of an array ------------------------------------------------------------
typedef struct {
    const i64 *sources, *places, *order;
    i64 blocks, first, warps, warp, group, row_bytes, warp_bytes;
} Blocks;

#define BLOCK 8

INLINE void pack_block(const Blocks *all, const char *from, double *to, const int kind, const int width) {
    const int numbers = bytes_of(kind) == 4 ? 4 : 8;
    char rows[BLOCK * 16] __attribute__((aligned(16)));
    for (int row = 0; row < BLOCK; row++)
        memcpy(rows + row * numbers * bytes_of(kind), from + all->order[row] * all->row_bytes, numbers * bytes_of(kind));
    if (bytes_of(kind) == 2)
        transpose((row16 *)rows);
    for (int k = 0; k < numbers; k++)
        for (int row = 0; row < BLOCK; row++) {
            int number = bytes_of(kind) == 2 ? k * BLOCK + row : row * numbers + k;
            to[row / width * all->group + k * width + row % width] = number_of(rows + number * bytes_of(kind), kind);
        }
}

INLINE i64 pack_all_blocks(const Blocks *all, const int kind, const int width) {
    for (i64 b = 0; b < all->blocks; b++)
        for (i64 w = 0; w < all->warps; w++) {
            const char *from = (const char *)all->sources[b] + (w + all->first) * all->warp_bytes;
            pack_block(all, from, (double *)all->places[b] + w * all->warp, kind, width);
        }
    return 0;
}

// ---- rows of arrays, anywhere --------------------------------------------------------------------------------------------
typedef struct {
    const i64 *sources, *places, *order;
    i64 arrays, skip, groups, stacks, k, stride, row, column;  // strides in bytes, from a matrix, row and column to the next
} Rows;

INLINE i64 pack_all_rows(const Rows *all, const int kind, const int width, const int is_adjacent) {
    for (i64 n = 0; n < all->arrays; n++) {
        double *to = (double *)all->places[n];
        for (i64 s = 0; s < all->stacks; s++)
            for (i64 g = 0; g < all->groups; g++)
                for (i64 i = 0; i < all->k; i++, to += width) {
                    const i64 row = is_adjacent ? bytes_of(kind) : all->row;
                    const char *from = (const char *)all->sources[n] + all->skip + s * all->stride + g * width * row + i * all->column;
                    double numbers[BLOCK];
                    for (int j = 0; j < width; j++)
                        numbers[j] = number_of(from + j * row, kind);
                    for (int j = 0; j < width; j++)
                        to[j] = numbers[all->order[j]];
                }
    }
    return 0;
}

// A function of each kind.
#define FOR_EACH_KIND(what, ...) \
    switch (kind) { \
    case F16: return what(all, F16, __VA_ARGS__); \
    case BF16: return what(all, BF16, __VA_ARGS__); \
    case TF32: return what(all, TF32, __VA_ARGS__); \
    case F32: return what(all, F32, __VA_ARGS__); \
    case E4M3: return what(all, E4M3, __VA_ARGS__); \
    default: return what(all, E5M2, __VA_ARGS__); \
    }

i64 pack_blocks(const Blocks *all, i64 kind, i64 width) {
    if (width == 4)
        FOR_EACH_KIND(pack_all_blocks, 4)
    FOR_EACH_KIND(pack_all_blocks, 8)
}

i64 pack_rows(const Rows *all, i64 kind, i64 width) {
    const int is_adjacent = all->row == bytes_of(kind);
    if (width == 4 && is_adjacent)
        FOR_EACH_KIND(pack_all_rows, 4, 1)
    if (width == 4)
        FOR_EACH_KIND(pack_all_rows, 4, 0)
    if (is_adjacent)
        FOR_EACH_KIND(pack_all_rows, 8, 1)
    FOR_EACH_KIND(pack_all_rows, 8, 0)
}

// ---- the largest magnitude of each group of blocks, and the smallest but zero (0 if there is none) ---------------------------
#define EXTREMES(type, mask) \
    for (i64 g = 0; g < groups; g++) { \
        type most = 0, least = (type)-1; \
        for (i64 b = 0; b < blocks; b++) { \
            const type *values = (const type *)sources[g * blocks + b]; \
            for (i64 i = 0; i < bytes / (i64)sizeof(type); i++) { \
                type magnitude = values[i] & mask, less = magnitude - 1; \
                most = magnitude > most ? magnitude : most; \
                least = less < least ? less : least; \
            } \
        } \
        ((type *)out)[2 * g] = most; \
        ((type *)out)[2 * g + 1] = least + 1; \
    }

i64 find_extremes(void *out, const i64 *sources, i64 groups, i64 blocks, i64 bytes, i64 kind) {
    if (kind < TF32)
        EXTREMES(u16, 0x7FFF)
    else if (kind == TF32)
        EXTREMES(u32, 0x7FFFE000)
    else if (kind == F32)
        EXTREMES(u32, 0x7FFFFFFF)
    else
        EXTREMES(u8, 0x7F)
    return 0;
}
