// y = silu(gate) * x over vectors of any length: a template over the element type and the tile, instantiated three times.
//
// The last tile extends past the end: its loads are masked and padded with zeros, its stores are masked.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

template <typename T, int TILE>
__tile_global__ void gated_silu(const T* __restrict__ gate, const T* __restrict__ x, T* __restrict__ y, int length) {
    using Elements = ct::tile<T, ct::shape<TILE>>;
    auto where = ct::iota<ct::tile<int, ct::shape<TILE>>>() + int(ct::bid().x) * TILE;
    auto inside = where < length;
    auto read = [&](const T* values) {
        return ct::element_cast<float>(ct::load_masked(ct::assume_aligned<16>(values) + where, inside, ct::zeros<Elements>()));
    };
    auto opened = read(gate);
    auto result = opened / (1.0f + ct::exp(-opened)) * read(x);
    ct::store_masked(ct::assume_aligned<16>(y) + where, ct::element_cast<T>(result), inside);
}

template __tile_global__ void gated_silu<float, 1024>(const float*, const float*, float*, int);
template __tile_global__ void gated_silu<__half, 1024>(const __half*, const __half*, __half*, int);
template __tile_global__ void gated_silu<__nv_bfloat16, 512>(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, int);
