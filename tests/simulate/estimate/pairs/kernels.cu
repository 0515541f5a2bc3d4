// Kernels of which publications have measured which is the faster one (pairs.py says where). Written for the tests.

#include <cuda_fp16.h>
#include <mma.h>

// ---- transposes --------------------------------------------------------------------------------------------------
constexpr int TILE = 32, ROWS = 8;

extern "C" __global__ void copy_matrix(float *out, const float *in, int n) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * n + x] = in[(y + j) * n + x];
}

extern "C" __global__ void transpose_plain(float *out, const float *in, int n) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[x * n + y + j] = in[(y + j) * n + x];
}

template <int WIDTH> __device__ void transpose_by_tiles(float *out, const float *in, int n) {
    __shared__ float tile[TILE][WIDTH];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
extern "C" __global__ void transpose_tiled(float *out, const float *in, int n) { transpose_by_tiles<TILE>(out, in, n); }
extern "C" __global__ void transpose_padded(float *out, const float *in, int n) { transpose_by_tiles<TILE + 1>(out, in, n); }

// ---- strides and vectors -----------------------------------------------------------------------------------------
extern "C" __global__ void strided(float *a, int stride) {
    int i = (blockDim.x * blockIdx.x + threadIdx.x) * stride;
    a[i] = a[i] + 1;
}

extern "C" __global__ void copy_words(int *out, const int *in, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = in[i];
}
extern "C" __global__ void copy_vectors(int4 *out, const int4 *in, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += blockDim.x * gridDim.x) out[i] = in[i];
}
extern "C" __global__ void copy_pairs(int2 *out, const int2 *in, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += blockDim.x * gridDim.x) out[i] = in[i];
}

template <int COUNT> __device__ void copy_some(float *out, const float *in) {
    int i = threadIdx.x + COUNT * blockDim.x * blockIdx.x;
    float held[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; j++) held[j] = in[i + j * blockDim.x];
#pragma unroll
    for (int j = 0; j < COUNT; j++) out[i + j * blockDim.x] = held[j];
}
extern "C" __global__ void copy_one(float *out, const float *in) { copy_some<1>(out, in); }
extern "C" __global__ void copy_four(float *out, const float *in) { copy_some<4>(out, in); }

// ---- arithmetic that waits for itself ----------------------------------------------------------------------------
template <int CHAINS, class T> __device__ void chains(T *out, T a, T b, int n) {
    T held[CHAINS];
#pragma unroll
    for (int j = 0; j < CHAINS; j++) held[j] = a + j;
#pragma unroll 8
    for (int i = 0; i < n / CHAINS; i++)
#pragma unroll
        for (int j = 0; j < CHAINS; j++) held[j] = held[j] * a + b;
    T sum = 0;
#pragma unroll
    for (int j = 0; j < CHAINS; j++) sum += held[j];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void one_chain(float *out, float a, float b, int n) { chains<1>(out, a, b, n); }
extern "C" __global__ void four_chains(float *out, float a, float b, int n) { chains<4>(out, a, b, n); }
extern "C" __global__ void four_chains_f64(double *out, double a, double b, int n) { chains<4>(out, a, b, n); }

// ---- reductions --------------------------------------------------------------------------------------------------
extern __shared__ int words[];

#define LOAD_ONE()                                                                                                     \
    unsigned t = threadIdx.x;                                                                                          \
    words[t] = in[blockIdx.x * blockDim.x + t];                                                                        \
    __syncthreads()
#define STORE()                                                                                                        \
    if (t == 0) out[blockIdx.x] = words[0]

extern "C" __global__ void reduce_interleaved(int *out, const int *in) {
    LOAD_ONE();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0) words[t] += words[t + s];
        __syncthreads();
    }
    STORE();
}
extern "C" __global__ void reduce_strided(int *out, const int *in) {
    LOAD_ONE();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        unsigned i = 2 * s * t;
        if (i < blockDim.x) words[i] += words[i + s];
        __syncthreads();
    }
    STORE();
}
extern "C" __global__ void reduce_sequential(int *out, const int *in) {
    LOAD_ONE();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) words[t] += words[t + s];
        __syncthreads();
    }
    STORE();
}
#define LOAD_TWO()                                                                                                     \
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;                                                     \
    words[t] = in[i] + in[i + blockDim.x];                                                                             \
    __syncthreads()
extern "C" __global__ void reduce_first_add(int *out, const int *in) {
    LOAD_TWO();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) words[t] += words[t + s];
        __syncthreads();
    }
    STORE();
}
__device__ void last_warp(volatile int *held, unsigned t) {
#pragma unroll
    for (int s = 32; s > 0; s >>= 1) held[t] += held[t + s];
}
extern "C" __global__ void reduce_last_warp(int *out, const int *in) {
    LOAD_TWO();
    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (t < s) words[t] += words[t + s];
        __syncthreads();
    }
    if (t < 32) last_warp(words, t);
    STORE();
}
__device__ void of_128(unsigned t) {
    if (t < 64) words[t] += words[t + 64];
    __syncthreads();
    if (t < 32) last_warp(words, t);
}
extern "C" __global__ void reduce_many(int *out, const int *in, int n) {
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t, step = blockDim.x * 2 * gridDim.x;
    int sum = 0;
    for (; i < n; i += step) sum += in[i] + in[i + blockDim.x];
    words[t] = sum;
    __syncthreads();
    of_128(t);
    STORE();
}

// ---- matmuls ----------------------------------------------------------------------------------------------------
extern "C" __global__ void matmul_scattered(const float *a, const float *b, float *c, int n, int depth) {
    int row = blockIdx.x * 32 + threadIdx.x % 32, column = blockIdx.y * 32 + threadIdx.x / 32;
    float acc = 0;
    for (int k = 0; k < depth; k++) acc += a[row * n + k] * b[k * n + column];
    c[row * n + column] = acc;
}
extern "C" __global__ void matmul_coalesced(const float *a, const float *b, float *c, int n, int depth) {
    int row = blockIdx.x * 32 + threadIdx.x / 32, column = blockIdx.y * 32 + threadIdx.x % 32;
    float acc = 0;
    for (int k = 0; k < depth; k++) acc += a[row * n + k] * b[k * n + column];
    c[row * n + column] = acc;
}
extern "C" __global__ void matmul_shared(const float *a, const float *b, float *c, int n, int depth) {
    __shared__ float left[32][32], right[32][32];
    int y = threadIdx.x / 32, x = threadIdx.x % 32, row = blockIdx.x * 32 + y, column = blockIdx.y * 32 + x;
    float acc = 0;
    for (int k = 0; k < depth; k += 32) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 32; i++) acc += left[y][i] * right[i][x];
        __syncthreads();
    }
    c[row * n + column] = acc;
}
// Tiles of 64 x 64, eight results of a column for each of 512 threads.
extern "C" __global__ void matmul_columns(const float *a, const float *b, float *c, int n, int depth) {
    __shared__ float left[64 * 8], right[8 * 64];
    int x = threadIdx.x % 64, y = threadIdx.x / 64, ax = threadIdx.x % 8, ay = threadIdx.x / 8;
    a += blockIdx.y * 64 * n, b += blockIdx.x * 64, c += blockIdx.y * 64 * n + blockIdx.x * 64;
    float acc[8] = {};
    for (int k = 0; k < depth; k += 8) {
        left[ay * 8 + ax] = a[ay * n + k + ax];
        right[y * 64 + x] = b[(k + y) * n + x];
        __syncthreads();
        for (int i = 0; i < 8; i++) {
            float factor = right[i * 64 + x];
            for (int j = 0; j < 8; j++) acc[j] += left[(y * 8 + j) * 8 + i] * factor;
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; j++) c[(y * 8 + j) * n + x] = acc[j];
}
// Tiles of 128 x 128, eight by eight results for each of 256 threads.
extern "C" __global__ void __launch_bounds__(256, 2) matmul_squares(const float *a, const float *b, float *c, int n, int depth) {
    __shared__ float left[8 * 128], right[8 * 128];
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    a += blockIdx.y * 128 * n, b += blockIdx.x * 128, c += blockIdx.y * 128 * n + blockIdx.x * 128;
    float acc[8][8] = {};
    for (int k = 0; k < depth; k += 8) {
        for (int j = threadIdx.x; j < 1024; j += 256) left[j] = a[j / 8 * n + k + j % 8];
        for (int j = threadIdx.x; j < 1024; j += 256) right[j] = b[(k + j / 128) * n + j % 128];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float column[8], row[8];
            for (int j = 0; j < 8; j++) column[j] = left[(y * 8 + j) * 8 + i], row[j] = right[i * 128 + x * 8 + j];
            for (int j = 0; j < 8; j++)
                for (int l = 0; l < 8; l++) acc[j][l] += column[j] * row[l];
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; j++)
        for (int l = 0; l < 8; l++) c[(y * 8 + j) * n + x * 8 + l] = acc[j][l];
}
// The same, by tensor cores: eight warps with 32 x 64 results each.
extern "C" __global__ void matmul_tensor(const half *a, const half *b, float *c, int n, int depth) {
    using namespace nvcuda::wmma;
    __shared__ half left[128 * 24], right[16 * 136];
    int warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 64;
    a += blockIdx.y * 128 * n, b += blockIdx.x * 128, c += blockIdx.y * 128 * n + blockIdx.x * 128;
    fragment<accumulator, 16, 16, 16, float> acc[2][4];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) fill_fragment(acc[i][j], 0.0f);
    for (int k = 0; k < depth; k += 16) {
        int t = threadIdx.x;
        *(int4 *)&left[t / 2 * 24 + t % 2 * 8] = *(const int4 *)&a[t / 2 * n + k + t % 2 * 8];
        *(int4 *)&right[t / 16 * 136 + t % 16 * 8] = *(const int4 *)&b[(k + t / 16) * n + t % 16 * 8];
        __syncthreads();
        fragment<matrix_a, 16, 16, 16, half, row_major> lefts[2];
        fragment<matrix_b, 16, 16, 16, half, row_major> rights[4];
        for (int i = 0; i < 2; i++) load_matrix_sync(lefts[i], &left[(row + 16 * i) * 24], 24);
        for (int j = 0; j < 4; j++) load_matrix_sync(rights[j], &right[column + 16 * j], 136);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++) mma_sync(acc[i][j], lefts[i], rights[j], acc[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            store_matrix_sync(&c[(row + 16 * i) * n + column + 16 * j], acc[i][j], n, mem_row_major);
}

// ---- softmax of rows, a block for each ---------------------------------------------------------------------------
__device__ float2 across(float peak, float sum) {
    __shared__ float2 held[32];
    for (int s = 16; s > 0; s >>= 1) {
        float other = __shfl_xor_sync(~0u, peak, s), more = __shfl_xor_sync(~0u, sum, s), most = fmaxf(peak, other);
        sum = sum * __expf(peak - most) + more * __expf(other - most), peak = most;
    }
    if (threadIdx.x % 32 == 0) held[threadIdx.x / 32] = make_float2(peak, sum);
    __syncthreads();
    float2 found = held[0];
    for (int w = 1; w < blockDim.x / 32; w++) {
        float most = fmaxf(found.x, held[w].x);
        found.y = found.y * __expf(found.x - most) + held[w].y * __expf(held[w].x - most), found.x = most;
    }
    __syncthreads();
    return found;
}
extern "C" __global__ void softmax_three_passes(float *out, const float *in, int n) {
    const float *x = in + (size_t)blockIdx.x * n;
    float peak = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) peak = fmaxf(peak, x[i]);
    peak = across(peak, 0).x;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += __expf(x[i] - peak);
    sum = across(peak, sum).y;
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[(size_t)blockIdx.x * n + i] = __expf(x[i] - peak) / sum;
}
extern "C" __global__ void softmax_online(float *out, const float *in, int n) {
    const float *x = in + (size_t)blockIdx.x * n;
    float peak = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float most = fmaxf(peak, x[i]);
        sum = sum * __expf(peak - most) + __expf(x[i] - most), peak = most;
    }
    float2 found = across(peak, sum);
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[(size_t)blockIdx.x * n + i] = __expf(x[i] - found.x) / found.y;
}
