// Three kernels of two templates and one function, for tests that have no nvcc: kernels.tilebc is what nvcc 13.5 makes of
// it (-tilebc --tile-only -std=c++20 -arch=sm_90 -lineinfo).
#include <cuda_tile.h>

namespace ct = cuda::tiles;

template <typename T, int TILE>
__tile_global__ void scale(const T* __restrict__ x, T* __restrict__ y, T factor) {
    auto offsets = ct::iota<ct::tile<int, ct::shape<TILE>>>() + int(ct::bid().x) * TILE;
    ct::store(y + offsets, ct::load(x + offsets) * factor);
}
template __tile_global__ void scale<float, 256>(const float*, float*, float);
template __tile_global__ void scale<double, 64>(const double*, double*, double);

extern "C" __tile_global__ void negate(float* x) {
    auto offsets = ct::iota<ct::tile<int, ct::shape<64>>>() + int(ct::bid().x) * 64;
    ct::store(x + offsets, -ct::load(x + offsets));
}
