// Kernels of measurements.csv whose structure a publication describes and no tile program has: matmuls by mma.sync with one
// or more cp.async stages, and streams.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern __shared__ __align__(128) unsigned char shared_memory[];

template <class T> struct Format;
template <> struct Format<__nv_bfloat16> { using Pair = __nv_bfloat162; };
template <> struct Format<half> { using Pair = half2; };
template <> struct Format<uint8_t> { using Pair = half2; };

template <class T> __device__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#define MMA(SHAPE)                                                                                                              \
    asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                            \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
    if constexpr (sizeof(T) == 1) {
#if __CUDA_ARCH__ >= 890
        MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
#endif
    } else if constexpr (sizeof(typename Format<T>::Pair) == 4 && __is_same(T, half)) {
        MMA("m16n8k16.row.col.f32.f16.f16.f32");
    } else {
        MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
    }
}

__device__ void load_matrices(uint32_t (&r)[4], uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address));
}

enum Placement { PLAIN, PADDED, SWIZZLED };

// Rows of BYTES in shared memory, in chunks of 16 bytes that are placed without bank conflicts, or not.
template <int BYTES, Placement PLACE> __device__ int place(int row, int chunk) {
    if (PLACE == PADDED) return row * (BYTES + 16) + chunk * 16;
    if (PLACE == PLAIN) return row * BYTES + chunk * 16;
    return row * BYTES + ((chunk ^ (BYTES >= 128 ? row % 8 : row / 2 % 4)) * 16);
}

template <int ROWS, int BYTES, Placement PLACE, int THREADS, bool ASYNC>
__device__ void copy_tile(uint32_t to, unsigned char *plain, const unsigned char *from, size_t pitch) {
    constexpr int CHUNKS = BYTES / 16;
#pragma unroll
    for (int i = 0; i < ROWS * CHUNKS / THREADS; i++) {
        int n = i * THREADS + threadIdx.x, row = n / CHUNKS, chunk = n % CHUNKS;
        if (ASYNC)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + place<BYTES, PLACE>(row, chunk)), "l"(from + row * pitch + chunk * 16));
        else
            *(int4 *)(plain + place<BYTES, PLACE>(row, chunk)) = *(const int4 *)(from + row * pitch + chunk * 16);
    }
}

// c (n, n) = a (n, depth) b^T (n, depth): tiles of M x N x K bytes, warps of WM x WN, STAGES tiles in flight or computed.
template <class T, int M, int N, int K, int WM, int WN, int STAGES, Placement PLACE, bool ASYNC = true>
__device__ void gemm(const void *a, const void *b, void *c, int n, int depth) {
    constexpr int THREADS = M / WM * (N / WN) * 32, PITCH = PLACE == PADDED ? K + 16 : K, STAGE = (M + N) * PITCH;
    uint32_t base = __cvta_generic_to_shared(shared_memory);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, columns = n / N;
    int row = blockIdx.x / columns * M, column = blockIdx.x % columns * N;
    size_t pitch = size_t(depth) * sizeof(T);
    const unsigned char *left = (const unsigned char *)a + row * pitch, *right = (const unsigned char *)b + column * pitch;
    int wm = warp / (N / WN) * WM, wn = warp % (N / WN) * WN, steps = int(pitch / K);
    float acc[WM / 16][WN / 8][4] = {};
    auto load = [&](int step) {
        int at = step % STAGES * STAGE;
        copy_tile<M, K, PLACE, THREADS, ASYNC>(base + at, shared_memory + at, left + size_t(step) * K, pitch);
        copy_tile<N, K, PLACE, THREADS, ASYNC>(base + at + M * PITCH, shared_memory + at + M * PITCH, right + size_t(step) * K, pitch);
    };
    for (int s = 0; s < STAGES - 1; s++) {
        load(s);
        if (ASYNC) asm volatile("cp.async.commit_group;");
    }
    for (int step = 0; step < steps; step++) {
        if (STAGES > 1) __syncthreads();
        if (step + STAGES - 1 < steps) load(step + STAGES - 1);
        if (ASYNC) asm volatile("cp.async.commit_group;\n cp.async.wait_group %0;" ::"n"(STAGES - 1));
        __syncthreads();
        uint32_t tile = base + step % STAGES * STAGE;
#pragma unroll
        for (int k = 0; k < K / 32; k++) {
            uint32_t ra[WM / 16][4], rb[WN / 16][4];
            for (int i = 0; i < WM / 16; i++)
                load_matrices(ra[i], tile + place<K, PLACE>(wm + i * 16 + lane % 16, k * 2 + lane / 16));
            for (int j = 0; j < WN / 16; j++)
                load_matrices(rb[j], tile + M * PITCH + place<K, PLACE>(wn + j * 16 + lane % 8 + lane / 16 * 8, k * 2 + lane / 8 % 2));
            for (int i = 0; i < WM / 16; i++)
                for (int j = 0; j < WN / 8; j++) multiply<T>(acc[i][j], ra[i], rb[j / 2][j % 2 * 2], rb[j / 2][j % 2 * 2 + 1]);
        }
        if (STAGES == 1) __syncthreads();
    }
    using Pair = typename Format<T>::Pair;
    Pair *out = (Pair *)c;
    for (int i = 0; i < WM / 16; i++)
        for (int j = 0; j < WN / 8; j++)
            for (int h = 0; h < 2; h++) {
                size_t at = size_t(row + wm + i * 16 + h * 8 + lane / 4) * n + column + wn + j * 8 + lane % 4 * 2;
                Pair pair;
                pair.x = acc[i][j][h * 2], pair.y = acc[i][j][h * 2 + 1];
                out[at / 2] = pair;
            }
}

#define GEMM(NAME, THREADS, ...)                                                                                                \
    extern "C" __global__ void __launch_bounds__(THREADS) NAME(const void *a, const void *b, void *c, int n, int depth) {      \
        gemm<__VA_ARGS__>(a, b, c, n, depth);                                                                                   \
    }
GEMM(gemm_bf16_128x128x64_vector_loads, 128, __nv_bfloat16, 128, 128, 128, 64, 64, 1, PLAIN, false)
GEMM(gemm_bf16_128x128x64_plain, 128, __nv_bfloat16, 128, 128, 128, 64, 64, 1, PLAIN)
GEMM(gemm_bf16_128x128x64_padded, 128, __nv_bfloat16, 128, 128, 128, 64, 64, 1, PADDED)
GEMM(gemm_bf16_128x128x64_swizzled, 128, __nv_bfloat16, 128, 128, 128, 64, 64, 1, SWIZZLED)
GEMM(gemm_bf16_128x128x64_2_stages, 128, __nv_bfloat16, 128, 128, 128, 64, 64, 2, SWIZZLED)
GEMM(gemm_bf16_256x128x64_2_stages, 256, __nv_bfloat16, 256, 128, 128, 64, 64, 2, SWIZZLED)
GEMM(gemm_f16_128x128x32_2_stages, 128, half, 128, 128, 64, 64, 64, 2, SWIZZLED)
GEMM(gemm_f16_128x128x32_3_stages, 128, half, 128, 128, 64, 64, 64, 3, SWIZZLED)
GEMM(gemm_f16_128x128x32_4_stages, 128, half, 128, 128, 64, 64, 64, 4, SWIZZLED)
GEMM(gemm_f16_128x128x32_16_warps_1_stage, 512, half, 128, 128, 64, 32, 32, 1, SWIZZLED)
GEMM(gemm_f16_128x128x32_16_warps_2_stages, 512, half, 128, 128, 64, 32, 32, 2, SWIZZLED)
GEMM(gemm_f16_128x64x64_3_stages, 128, half, 128, 64, 128, 64, 32, 3, SWIZZLED)
#if __CUDA_ARCH__ >= 890
GEMM(gemm_e4m3_128x128x64_2_stages, 128, uint8_t, 128, 128, 64, 64, 64, 2, SWIZZLED)
GEMM(gemm_e4m3_128x128x64_3_stages, 128, uint8_t, 128, 128, 64, 64, 64, 3, SWIZZLED)
#endif

// ---- streams ---------------------------------------------------------------------------------------------------------------
extern "C" __global__ void stream_scale(double *a, const double *b) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    a[i] = b[i] * 1.1;
}
extern "C" __global__ void stream_triad(double *a, const double *b, const double *c) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    a[i] = b[i] + c[i] * 1.1;
}
extern "C" __global__ void copy_vectors(int4 *to, const int4 *from, int n) {
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) to[i] = from[i];
}
extern "C" __global__ void read_vectors(int4 *to, const int4 *from, int n) {
    int4 most = {0, 0, 0, 0};
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int4 one = __ldcs(from + i);
        most.x |= one.x, most.y |= one.y, most.z |= one.z, most.w |= one.w;
    }
    if ((most.x | most.y | most.z | most.w) == 1) to[0] = most;
}
extern "C" __global__ void write_vectors(int4 *to, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) to[i] = make_int4(1, 2, 3, 4);
}
extern "C" __global__ void add_floats(float *c, const float4 *a, const float4 *b) {
    size_t i = size_t(blockIdx.x) * 256 + threadIdx.x;
    float4 one[2] = {a[i], a[i + 128]}, two[2] = {b[i], b[i + 128]};
    for (int j = 0; j < 2; j++) {
        float4 sum = {one[j].x + two[j].x, one[j].y + two[j].y, one[j].z + two[j].z, one[j].w + two[j].w};
        ((float4 *)c)[i + 128 * j] = sum;
    }
}

// ---- f32 matmuls without tensor cores ----------------------------------------------------------------------------------------
extern "C" __global__ void matmul_scattered(const float *a, const float *b, float *c, int n, int depth) {
    int row = blockIdx.x * 32 + threadIdx.x % 32, column = blockIdx.y * 32 + threadIdx.x / 32;
    float acc = 0;
    for (int k = 0; k < depth; k++) acc += a[row * depth + k] * b[k * n + column];
    c[row * n + column] = acc;
}
extern "C" __global__ void matmul_coalesced(const float *a, const float *b, float *c, int n, int depth) {
    int row = blockIdx.x * 32 + threadIdx.x / 32, column = blockIdx.y * 32 + threadIdx.x % 32;
    float acc = 0;
    for (int k = 0; k < depth; k++) acc += a[row * depth + k] * b[k * n + column];
    c[row * n + column] = acc;
}
extern "C" __global__ void matmul_shared(const float *a, const float *b, float *c, int n, int depth) {
    __shared__ float left[32][32], right[32][32];
    int y = threadIdx.x / 32, x = threadIdx.x % 32, row = blockIdx.x * 32 + y, column = blockIdx.y * 32 + x;
    float acc = 0;
    for (int k = 0; k < depth; k += 32) {
        left[y][x] = a[row * depth + k + x];
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
    a += blockIdx.y * 64 * depth, b += blockIdx.x * 64, c += blockIdx.y * 64 * n + blockIdx.x * 64;
    float acc[8] = {};
    for (int k = 0; k < depth; k += 8) {
        left[ay * 8 + ax] = a[ay * depth + k + ax];
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
    a += blockIdx.y * 128 * depth, b += blockIdx.x * 128, c += blockIdx.y * 128 * n + blockIdx.x * 128;
    float acc[8][8] = {};
    for (int k = 0; k < depth; k += 8) {
        for (int j = threadIdx.x; j < 1024; j += 256) left[j] = a[j / 8 * depth + k + j % 8];
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
