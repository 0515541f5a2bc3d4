// Additions of fp8 products with few bits (fp8_accumulation.py), of finite operands: eight columns at a time, in two passes over k.
// The first finds the largest exponent of the terms, the second adds the terms as multiples of the last place that is kept. These
// are below 2^15 each, so the conversions to integers are defined, and truncate like NumPy's ``trunc``.
#include "kernels.h"

#define LANES 8

typedef float Single __attribute__((vector_size(4 * LANES), aligned(4)));
typedef i32 Words __attribute__((vector_size(4 * LANES), aligned(4)));

INLINE Words chosen(Words mask, Words x, Words y) { return (mask & x) | (~mask & y); }
INLINE Words larger(Words x, Words y) { return chosen(x > y, x, y); }
INLINE Single power_of_two(Words exponents) { return (Single)((exponents + 127) << 23); }

typedef struct {
    Single *total;
    const float *as;
    const i32 *a_exponents;
    const Single *bs;
    const Words *b_exponents;
    i64 stacks, rows, vectors, k, a_matrix, b_matrix;  // how far matrices are from each other: numbers of A, vectors of B
    i64 bits, lowest, mask, mask_alone, least;
} Accumulation;

INLINE Single sum_of(const Accumulation *all, Single old, i64 a, i64 b) {
    const i32 bits = all->bits, lowest = all->lowest, least = all->least;
    Words old_bits = (Words)old, field = old_bits >> 23 & 255, zeros = {0};
    Words most = zeros + 2 * least - 2000;
    for (i64 i = 0; i < all->k; i++)
        most = larger(most, all->a_exponents[a + i] + all->b_exponents[b + i * all->vectors]);
    Words is_alone = most < least;
    Words old_exponent = chosen(field == 0, zeros - 126, larger(field - 127, zeros + lowest));
    Words largest = larger(larger(most, old_exponent), zeros + least);
    Single scale = power_of_two(bits - largest);
    Words sum = __builtin_convertvector(old * scale, Words);
    for (i64 i = 0; i < all->k; i++)
        sum += __builtin_convertvector(all->as[a + i] * all->bs[b + i * all->vectors] * scale, Words);
    Words cut = (Words)(__builtin_convertvector(sum, Single) * power_of_two(largest - bits)) & (i32)all->mask;
    return (Single)chosen(is_alone, old_bits & (i32)all->mask_alone, cut) + (Single){0};  // a zero becomes positive
}

i64 accumulate_fp8(const Accumulation *all) {
    Single *total = all->total;
    for (i64 s = 0; s < all->stacks; s++)
        for (i64 r = 0; r < all->rows; r++)
            for (i64 v = 0; v < all->vectors; v++, total++)
                *total = sum_of(all, *total, s * all->a_matrix + r * all->k, s * all->b_matrix + v);
    return 0;
}
