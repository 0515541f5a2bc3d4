// Matrix multiplication and accumulation of packed finite values (gemm.py), and the sums that float64 does not hold exactly.
#include "kernels.h"
#ifdef __FMA__
#include <immintrin.h>
#endif

#ifdef __AVX512F__
#define LANES 8  // 32 registers of eight float64
#else
#define LANES 4
#endif
#define ROWS 4  // of a group of A
#define COLUMNS 8  // of a group of B
#define PARTS (COLUMNS / LANES)  // vectors of a row of a group of B

typedef double Wide __attribute__((vector_size(8 * LANES), aligned(8)));
typedef float Single __attribute__((vector_size(4 * LANES), aligned(4)));
typedef i64 Longs __attribute__((vector_size(8 * LANES)));

INLINE Wide multiply_add(double x, Wide y, Wide sum) {
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(_mm512_set1_pd(x), y, sum);
#elif defined(__FMA__)
    return _mm256_fmadd_pd(_mm256_set1_pd(x), y, sum);
#else
    return x * y + sum;
#endif
}

// ---- exact dot products (exact_dot_products.py) --------------------------------------------------------------------------
// The sum of two numbers, and its error (Knuth).
INLINE Wide two_sum(Wide x, Wide y, Wide *error) {
    Wide sum = x + y, from_y = sum - x, from_x = sum - from_y;
    *error = (x - from_x) + (y - from_y);
    return sum;
}

// Rounded to odd: an even sum with an error moves towards it.
INLINE Wide rounded_to_odd(Wide sum, Wide error) {
    Longs bits = (Longs)sum, is_toward = (error > 0) ^ (sum > 0);
    Longs moves = ((bits & 1) == 0) & (error != 0);
    return (Wide)(bits + (moves & ((is_toward & -2) + 1)));
}

// The sums over k of four rows of A and eight columns of B.
static __attribute__((noinline)) void add_exactly(const double *a, const double *b, Single *out, i64 k) {
    Wide terms[k];
    for (int q = 0; q < ROWS * PARTS; q++) {
        for (i64 n = 0; n < k; n++) {
            Wide rest = a[n * ROWS + q / PARTS] * ((const Wide *)b)[n * PARTS + q % PARTS];
            for (i64 g = 0; g < n; g++)
                rest = two_sum(rest, terms[g], &terms[g]);
            terms[n] = rest;
        }
        Wide below = {0}, error;
        for (i64 n = 0; n < k; n++) {
            Wide sum = two_sum(terms[n], below, &error);
            below = rounded_to_odd(sum, error);
        }
        out[q] = __builtin_convertvector(below, Single);
    }
}

// Of each group of values: the largest magnitude over a unit that all are multiples of; 0 where all are zero.
i64 find_ratios(double *out, const double *values, i64 groups, i64 count, i64 exponent) {
    for (i64 g = 0; g < groups; g++) {
        double most[16] = {0}, least[16], largest = 0, smallest = __builtin_inf();
        for (int lane = 0; lane < 16; lane++)
            least[lane] = smallest;
        for (i64 i = 0; i < count; i += 16)
            for (int lane = 0; lane < 16; lane++) {
                double size = __builtin_fabs(values[g * count + i + lane]), some = size == 0 ? __builtin_inf() : size;
                most[lane] = size > most[lane] ? size : most[lane];
                least[lane] = some < least[lane] ? some : least[lane];
            }
        for (int lane = 0; lane < 16; lane++) {
            largest = most[lane] > largest ? most[lane] : largest;
            smallest = least[lane] < smallest ? least[lane] : smallest;
        }
        double power = double_of(bits_of_double(smallest) & 0x7FF0000000000000);
        out[g] = largest / power * double_of((u64)exponent << 52);
    }
    return 0;
}

// ---- the tile ------------------------------------------------------------------------------------------------------------
typedef struct {
    float *out;
    const float **olds;  // null: zeros
    const double *as, *bs, *errors, *a_ratios, *b_ratios;  // no ratios: all sums are exact
    const i64 *rows, *rows_old, *rows_in, *columns, *columns_old, *columns_in;
    i64 steps, stacks, ms, ns, a_step, b_step, a_matrix, b_matrix, row, vector, vector_old, vector_in, chunk, k;
} Multiplication;

INLINE i64 least_of(i64 x, i64 y) { return x < y ? x : y; }

INLINE double largest_of(const double *ratios, i64 first, const int count) {
    double most = ratios[first];
    for (int n = 1; n < count; n++)
        most = ratios[first + n] > most ? ratios[first + n] : most;
    return most;
}

// Where four columns begin: of the result, and of the sums before.
INLINE float *place_of(const Multiplication *all, i64 r, i64 c, int quad) {
    return all->out + all->rows[r] + all->columns[c] + quad * all->vector;
}
INLINE const float *old_of(const Multiplication *all, i64 r, i64 c, int quad) {
    const float *array = all->olds[all->rows_old[r] + all->columns_old[c] + quad * all->vector_old];
    return array + all->rows_in[r] + all->columns_in[c] + quad * all->vector_in;
}

// Accumulates a tile of groups of rows and columns in registers over all steps. Prefetches the sums of the next rows, which
// are far apart in memory if they are in registers of many threads.
INLINE void multiply_tile(const Multiplication *all, i64 s, i64 m, i64 c, const int fours, const int eights, const int is_checked) {
    const int vectors = PARTS * eights, lanes = LANES;
    i64 r = s * all->ms + m, k = all->k, r_next = least_of(r + fours, all->stacks * all->ms - fours);
    Single x[8][4];
#pragma GCC unroll 8
    for (int i = 0; i < fours * ROWS; i++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            x[i][v] = (Single){0};
            for (int quad = 0; all->olds && quad < lanes / 4; quad++) {
                int four = v * lanes / 4 + quad;
                memcpy((float *)&x[i][v] + 4 * quad, old_of(all, r + i / ROWS, c + four / 2, four % 2) + i % ROWS * all->row, 16);
            }
        }
    for (int g = 0; g < fours; g++)
        for (int four = 0; four < 2 * eights; four++) {
            __builtin_prefetch(place_of(all, r_next + g, c + four / 2, four % 2), 1);
            if (all->olds)
                __builtin_prefetch(old_of(all, r_next + g, c + four / 2, four % 2), 0);
        }
    for (i64 t = 0; t < all->steps; t++) {
        const double *a = all->as + t * all->a_step + s * all->a_matrix + m * ROWS * k;
        const double *b = all->bs + t * all->b_step + s * all->b_matrix + c * COLUMNS * k;
        Wide sums[8][4];
#pragma GCC unroll 8
        for (int i = 0; i < fours * ROWS; i++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                sums[i][v] = (Wide){0};
        for (i64 d = 0; d < k; d++) {
            Wide factors[4];
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                factors[v] = ((const Wide *)(b + v / PARTS * COLUMNS * k + d * COLUMNS))[v % PARTS];
#pragma GCC unroll 8
            for (int i = 0; i < fours * ROWS; i++)
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++)
                    sums[i][v] = multiply_add(a[i / ROWS * ROWS * k + d * ROWS + i % ROWS], factors[v], sums[i][v]);
        }
        double error = 0;
        if (is_checked) {
            i64 a_number = (a - all->as) / (ROWS * k), b_number = (b - all->bs) / (COLUMNS * k);
            double ratio = largest_of(all->a_ratios, a_number, fours) * largest_of(all->b_ratios, b_number, eights);
            error = ratio * (double)k <= 9007199254740992.0 ? 0 : all->errors[s * all->steps + t];
        }
        Single exact[8 * 4];
        int is_doubtful = 0;
        if (is_checked && error != 0) {
            Single nearest[8][4];
            u32 differs = 0;
            for (int i = 0; i < fours * ROWS; i++)
                for (int v = 0; v < vectors; v++) {
                    nearest[i][v] = __builtin_convertvector(sums[i][v] + error, Single);
                    Single low = __builtin_convertvector(sums[i][v] - error, Single);
                    for (int lane = 0; lane < lanes; lane++)
                        differs |= low[lane] != nearest[i][v][lane];
                }
            is_doubtful = differs != 0;
            for (int g = 0; is_doubtful && g < fours; g++)
                for (int e = 0; e < eights; e++)
                    add_exactly(a + g * ROWS * k, b + e * COLUMNS * k, exact + (g * eights + e) * ROWS * PARTS, k);
        }
#pragma GCC unroll 8
        for (int i = 0; i < fours * ROWS; i++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                Single sum = __builtin_convertvector(sums[i][v], Single);
                if (is_checked && is_doubtful)
                    sum = exact[((i / ROWS * eights + v / PARTS) * ROWS + i % ROWS) * PARTS + v % PARTS];
                x[i][v] += sum + (Single){0};  // a zero is a positive one, as in matmul._add_first
            }
    }
#pragma GCC unroll 8
    for (int i = 0; i < fours * ROWS; i++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            for (int quad = 0; quad < lanes / 4; quad++) {
                int four = v * lanes / 4 + quad;
                memcpy(place_of(all, r + i / ROWS, c + four / 2, four % 2) + i % ROWS * all->row, (float *)&x[i][v] + 4 * quad, 16);
            }
}

// The factors of a chunk of rows stay in the first-level cache.
INLINE i64 multiply_all(const Multiplication *all, const int fours, const int eights, const int is_checked) {
    for (i64 s = 0; s < all->stacks; s++)
        for (i64 first = 0; first < all->ms; first += all->chunk)
            for (i64 c = 0; c < all->ns; c += eights)
                for (i64 m = first; m < least_of(first + all->chunk, all->ms); m += fours)
                    multiply_tile(all, s, m, c, fours, eights, is_checked);
    return 0;
}

i64 multiply(const Multiplication *all) {
    const int is_checked = all->a_ratios != 0;
#if LANES == 8  // sixteen accumulators of float64, whose float32 are in memory
    if (all->ms % 2 == 0 && all->chunk % 2 == 0 && all->ns % 2 == 0)
        return is_checked ? multiply_all(all, 2, 2, 1) : multiply_all(all, 2, 2, 0);
#endif
    return is_checked ? multiply_all(all, 1, 1, 1) : multiply_all(all, 1, 1, 0);
}
