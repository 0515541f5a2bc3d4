// C = max(A B, 0) on tensor cores, A of shape (m, k), B (k, n), C (m, n), f16 with f32 accumulators; sizes need not be multiples of a tile.
//
// Two kernels in one file: relu_in_place is extern "C", and keeps its plain name.
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;
using namespace ct::literals;

constexpr int TILE_M = 64, TILE_N = 64, TILE_K = 32;

template <typename T>
__tile_global__ void matmul_relu(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n, int k) {
    auto in_tiles = [](auto* values, int rows, int columns, auto shape) {
        return ct::partition_view{ct::tensor_span{ct::assume_aligned<16>(values), ct::extents{rows, columns}}, shape};
    };
    auto left = in_tiles(a, m, k, ct::shape<TILE_M, TILE_K>{});
    auto right = in_tiles(b, k, n, ct::shape<TILE_K, TILE_N>{});
    auto out = in_tiles(c, m, n, ct::shape<TILE_M, TILE_N>{});
    int row = ct::bid().x, column = ct::bid().y;

    auto sum = ct::zeros<ct::tile<float, ct::shape<TILE_M, TILE_N>>>();
    for (auto step : ct::irange(0, (k + TILE_K - 1) / TILE_K)) {
        auto rows = left.template load_masked<ct::view_padding::zero>(row, step);
        auto columns = right.template load_masked<ct::view_padding::zero>(step, column);
        sum = ct::mma(rows, columns, sum);
    }
    out.store_masked(ct::element_cast<T>(ct::max(sum, 0.0f)), row, column);
}
template __tile_global__ void matmul_relu<__half>(const __half*, const __half*, __half*, int, int, int);

extern "C" __tile_global__ void relu_in_place(float* values, int length) {
    constexpr int TILE = 256;
    auto where = ct::iota<ct::tile<int, ct::shape<TILE>>>() + int(ct::bid().x) * TILE;
    auto inside = where < length;
    auto found = ct::load_masked(values + where, inside);
    ct::store_masked(values + where, ct::max(found, 0.0f), inside);
}
