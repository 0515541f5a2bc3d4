// mma.sync, sparse products and ldmatrix.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- mma_f16_f32
// seed: nvgpu-gpu-to-nvvm concept-mma mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>


// ---- mma_f16_f16
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}
// ==>


// ---- mma_bf16
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x2xbf16>, %b: vector<2x2xbf16>, %c: vector<2x2xf32>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>


// ---- mma_tf32
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x1xf32>, %b: vector<2x1xf32>, %c: vector<2x2xf32>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 8], tf32Enabled} : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>


// ---- mma_s8
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x4xi8>, %b: vector<2x4xi8>, %c: vector<2x2xi32>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 32]} : (vector<4x4xi8>, vector<2x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    gpu.return
  }
}
// ==>


// ---- mma_f64
// seed: nvgpu-gpu-to-nvvm mma-sync
gpu.module @m {
  gpu.func @k(%a: vector<1x1xf64>, %b: vector<1x1xf64>, %c: vector<1x2xf64>) kernel {
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [8, 8, 4]} : (vector<1x1xf64>, vector<1x1xf64>, vector<1x2xf64>) -> vector<1x2xf64>
    gpu.return
  }
}
// ==>


// ---- ldmatrix_of_one
// seed: nvgpu-gpu-to-nvvm concept-mma ldmatrix ldmatrix-1 ldmatrix-repack
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 1 : i32, transpose = false} : memref<64x64xf16, 3> -> vector<1x2xf16>
    gpu.return
  }
}
// ==>


// ---- ldmatrix_of_two
// seed: nvgpu-gpu-to-nvvm ldmatrix ldmatrix-2 ldmatrix-repack
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 2 : i32, transpose = false} : memref<64x64xf16, 3> -> vector<2x2xf16>
    gpu.return
  }
}
// ==>


// ---- ldmatrix_of_four
// seed: nvgpu-gpu-to-nvvm ldmatrix ldmatrix-4 ldmatrix-repack
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 4 : i32, transpose = false} : memref<64x64xf16, 3> -> vector<4x2xf16>
    gpu.return
  }
}
// ==>


// ---- ldmatrix_transposed
// seed: nvgpu-gpu-to-nvvm ldmatrix
gpu.module @m {
  gpu.func @k(%s: memref<64x64xf16, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 4 : i32, transpose = true} : memref<64x64xf16, 3> -> vector<4x2xf16>
    gpu.return
  }
}
// ==>


// ---- ldmatrix_of_words
// seed: nvgpu-gpu-to-nvvm ldmatrix-4 ldmatrix-repack
gpu.module @m {
  gpu.func @k(%s: memref<64x64xi32, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 4 : i32, transpose = false} : memref<64x64xi32, 3> -> vector<4xi32>
    gpu.return
  }
}
// ==>


// ---- ldmatrix_with_strides
// seed: nvgpu-gpu-to-nvvm ldmatrix
gpu.module @m {
  gpu.func @k(%s: memref<8x8xf16, strided<[16, 1], offset: 4>, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, strided<[16, 1], offset: 4>, 3> -> vector<1x2xf16>
    gpu.return
  }
}
// ==>


// ---- ldmatrix_with_strides_of_run_time
// seed: nvgpu-gpu-to-nvvm ldmatrix
gpu.module @m {
  gpu.func @k(%s: memref<8x8xf16, strided<[?, 1], offset: ?>, 3>, %i: index, %j: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %j] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, strided<[?, 1], offset: ?>, 3> -> vector<1x2xf16>
    gpu.return
  }
}
// ==>


// ---- sparse_f16
// seed: nvgpu-gpu-to-nvvm concept-sparse mma-sp-sync assembly-only-sparse
gpu.module @m {
  gpu.func @k(%a: vector<4x2xf16>, %b: vector<4x2xf16>, %c: vector<2x2xf32>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 32]} : (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>


// ---- sparse_with_a_selector
// seed: nvgpu-gpu-to-nvvm mma-sp-sync
gpu.module @m {
  gpu.func @k(%a: vector<2x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 16], sparsitySelector = 1 : i32} : (vector<2x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
    gpu.return
  }
}
// ==>


// ---- sparse_s8
// seed: nvgpu-gpu-to-nvvm mma-sp-sync
gpu.module @m {
  gpu.func @k(%a: vector<4x4xi8>, %b: vector<4x4xi8>, %c: vector<2x2xi32>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 64]} : (vector<4x4xi8>, vector<4x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    gpu.return
  }
}
// ==>


// ---- sparse_tf32
// seed: nvgpu-gpu-to-nvvm mma-sp-sync
gpu.module @m {
  gpu.func @k(%a: vector<2x1xf32>, %b: vector<2x1xf32>, %c: vector<2x2xf32>, %m: vector<2xi16>) kernel {
    %d = nvgpu.mma.sp.sync(%a, %b, %c) metadata(%m) {mmaShape = [16, 8, 8], tf32Enabled} : (vector<2x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return
  }
}
// ==>


